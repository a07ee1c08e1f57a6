#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "profile_tables.h"

#define TAKE_ROWS 256
#define AGE_MAX 1e18		/* of all blocks together */

int
text_intern(struct intern *t, const char *s, size_t len, const char **out)
{
	int64_t no;

	if (len == 0 || s[0] == '\0') {
		*out = "";
		return 0;
	}
	no = intern_put(t, s, strnlen(s, len));
	if (no < 0)
		return -ENOMEM;
	*out = intern_text(t, (size_t)no);
	return 0;
}

uint64_t
text_hash(uint64_t seed, const char *s)
{
	return hash_of_bytes(seed, s, strlen(s));
}

const char *
text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

void
sums_add(struct sums *to, const struct sums *s)
{
	if (s->blocks == 0)
		return;
	if (to->blocks == 0 || s->oldest_ms < to->oldest_ms)
		to->oldest_ms = s->oldest_ms;
	to->blocks += s->blocks;
	to->bytes += s->bytes;
	to->listed += s->listed;
	to->listed_bytes += s->listed_bytes;
	to->ms_sum += s->ms_sum;
}

uint64_t
sums_whole(uint64_t parts)
{
	return (parts + PROFILE_PART / 2) >> PROFILE_SHIFT;
}

struct profile_sum
sums_out(const struct sums *s)
{
	return (struct profile_sum){ .blocks = sums_whole(s->blocks),
		.bytes = sums_whole(s->bytes), .listed = s->listed,
		.listed_bytes = s->listed_bytes, .oldest_ms = s->oldest_ms };
}

uint64_t
sums_measure(const struct sums *s, enum profile_measure by, int64_t now_ms)
{
	if (s->blocks == 0)
		return 0;
	switch (by) {
	case PROFILE_BLOCKS:
		return s->blocks;
	case PROFILE_AGE:
		return now_ms > s->oldest_ms ?
		    (uint64_t)now_ms - (uint64_t)s->oldest_ms : 0;
	case PROFILE_NAME:
	case PROFILE_OF_MODULE:
	case PROFILE_OF_FILE:
	case PROFILE_OF_LINE:
	case PROFILE_TYPE:
	case PROFILE_THREAD:
		return 0;
	case PROFILE_BYTES:
	case PROFILE_SELF:
		break;
	}
	return s->bytes;
}

uint64_t
sums_age(const struct profile *p, const struct sums *s, int64_t now_ms)
{
	double age = (double)s->blocks / PROFILE_PART *
	    ((double)now_ms - (double)p->base_ms) - s->ms_sum;

	/* Blocks may be newer than now_ms. */
	if (!(age > 0))
		return 0;
	return age < AGE_MAX ? (uint64_t)(age + 0.5) : (uint64_t)AGE_MAX;
}

int
profile_new(struct profile **out)
{
	struct profile *p = calloc(1, sizeof *p);

	if (p == NULL)
		return -ENOMEM;
	p->callers.size = sizeof(struct profile_caller);
	p->frames.size = sizeof(struct frame);
	p->functions.size = sizeof(struct function);
	*out = p;
	return 0;
}

void
profile_clear(struct profile *p)
{
	hashmap_clear(&p->callers);
	hashmap_clear(&p->frames);
	hashmap_clear(&p->functions);
	intern_fini(&p->texts);
	p->total = p->pending = (struct sums){ 0 };
	p->ncaller = 0;
	p->nstack = p->nframe_of = p->nline = 0;
	p->next = 0;
	p->last = 0;
	p->round = p->mark = 0;
}

void
profile_restart(struct profile *p)
{
	for (size_t i = 0; i < p->callers.n; i++)
		profile_caller(p, i)->sums = (struct sums){ 0 };
	p->total = (struct sums){ 0 };
	p->ncaller = 0;
}

void
profile_free(struct profile *p)
{
	if (p == NULL)
		return;
	hashmap_fini(&p->callers);
	hashmap_fini(&p->frames);
	hashmap_fini(&p->functions);
	intern_fini(&p->texts);
	free(p->stack);
	free(p->frame_of);
	free(p->line);
	free(p);
}

static inline int64_t
index_of(struct profile *p, uint64_t caller)
{
	int64_t i;

	/* Blocks come in runs of one caller. */
	if (p->callers.n > 0 && profile_caller(p, p->last)->caller == caller)
		return p->last;
	i = hashmap_find(&p->callers, caller);
	if (i < 0)
		i = hashmap_put(&p->callers, caller, NULL);
	if (i >= 0)
		p->last = (uint32_t)i;
	return i;
}

int64_t
profile_caller_index(struct profile *p, uint64_t caller)
{
	return index_of(p, caller);
}

static inline int
add_entry(struct profile *p, uint64_t caller, const struct sums *one)
{
	int64_t i = index_of(p, caller);
	struct sums *to;

	if (i < 0)
		return -ENOMEM;
	to = &profile_caller(p, (size_t)i)->sums;
	p->ncaller += to->blocks == 0;
	sums_add(to, one);
	sums_add(&p->total, one);
	return 0;
}

int
profile_add_sum(struct profile *p, uint64_t caller, uint64_t blocks,
    uint64_t bytes, int64_t ms)
{
	struct sums sum = { .bytes = bytes << PROFILE_SHIFT,
		.blocks = blocks << PROFILE_SHIFT, .listed = blocks,
		.listed_bytes = bytes, .oldest_ms = ms };

	if (p->total.blocks == 0)
		p->base_ms = ms;
	sum.ms_sum = (double)blocks * ((double)ms - (double)p->base_ms);
	return add_entry(p, caller, &sum);
}

int
profile_add(struct profile *p, uint64_t caller, uint64_t bytes, int64_t ms)
{
	return profile_add_sum(p, caller, 1, bytes, ms);
}

struct sums
sums_of(const struct blk *b, const struct blklist *list, bool sampled,
    int64_t base_ms)
{
	double weight = sampled ? blklist_weight(list, b) : 1;
	struct sums one = {
		.bytes = b->size << PROFILE_SHIFT,
		.blocks = PROFILE_PART,
		.listed = 1,
		.listed_bytes = b->size,
		.oldest_ms = b->ms,
		.ms_sum = weight * ((double)b->ms - (double)base_ms),
	};

	if (sampled) {
		one.bytes = (uint64_t)(weight * PROFILE_PART *
		    (double)b->size);
		one.blocks = (uint64_t)(weight * PROFILE_PART);
	}
	return one;
}

int
profile_take(struct profile *p, const struct blklist *list)
{
	bool sampled = blklist_is_sample(list);
	struct blk rows[TAKE_ROWS];
	uint64_t offs = 0;
	size_t n, i;
	struct sums one;
	int r;

	while ((n = blklist_window(list, BLKLIST_BY_AGE, false, offs, rows,
	    TAKE_ROWS)) > 0) {
		if (p->total.blocks == 0)
			p->base_ms = rows->ms;
		for (i = 0; i < n; i++) {
			one = sums_of(&rows[i], list, sampled, p->base_ms);
			r = add_entry(p, rows[i].caller, &one);
			if (r < 0)
				return r;
		}
		offs += n;
	}
	return 0;
}

void
profile_pending_begin(struct profile *p)
{
	if (p->pending.blocks > 0)
		for (size_t i = 0; i < p->callers.n; i++)
			profile_caller(p, i)->pending = (struct sums){ 0 };
	p->pending = (struct sums){ 0 };
}

int
profile_pending_add(struct profile *p, const struct blklist *list,
    const struct blk *blk, size_t n)
{
	bool sampled = blklist_is_sample(list);
	struct sums one;
	int64_t at;

	if (n > 0 && p->pending.blocks == 0)
		p->pending_base_ms = blk->ms;
	for (size_t i = 0; i < n; i++) {
		at = index_of(p, blk[i].caller);
		if (at < 0)
			return -ENOMEM;
		one = sums_of(&blk[i], list, sampled, p->pending_base_ms);
		sums_add(&profile_caller(p, (size_t)at)->pending, &one);
		sums_add(&p->pending, &one);
	}
	return 0;
}

void
profile_pending_end(struct profile *p)
{
	p->ncaller = 0;
	for (size_t i = 0; i < p->callers.n; i++) {
		struct profile_caller *c = profile_caller(p, i);

		c->sums = c->pending;
		c->pending = (struct sums){ 0 };
		p->ncaller += c->sums.blocks > 0;
	}
	p->total = p->pending;
	p->base_ms = p->pending_base_ms;
	p->pending = (struct sums){ 0 };
}

size_t
profile_callers(const struct profile *p)
{
	return p->ncaller;
}

struct profile_sum
profile_total(const struct profile *p)
{
	return sums_out(&p->total);
}

bool
profile_caller_at(const struct profile *p, size_t i, uint64_t *caller,
    struct profile_sum *sum)
{
	if (i >= p->callers.n)
		return false;
	*caller = profile_caller(p, i)->caller;
	*sum = sums_out(&profile_caller(p, i)->sums);
	return true;
}

void
profile_set_wrappers(struct profile *p, const struct symbol_wrappers *w)
{
	p->wrappers = w;
	for (size_t i = 0; i < p->functions.n; i++) {
		struct function *f = profile_function(p, i);

		f->wrapper = f->named && w != NULL &&
		    symbol_wrappers_match(w, f->name);
	}
}
