/*
 * The door: what is the same for all kinds of list.
 */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commit.h"
#include "list.h"

/*
 * Pairs are looked for when at least this part of the records is in one.  To look
 * costs about 7 ns of each record, and each that is in a pair saves about 10 where
 * there are few blocks, 30 where there are many: this lies between, and loses 4 ns
 * of a record with few blocks at most, 2 with many.  After a verdict against it,
 * it is tried again after a while: a program's habits change.
 */
#define ADAPT_PERCENT 30
#define ADAPT_WINDOW (2 * LIST_CHUNK)
#define ADAPT_SKIP (32 * LIST_CHUNK)

/*
 * Address space for a record with all that belongs to it, and seven times as
 * much for the rest of the program: a bound where pointers have 32 bits, below
 * which no size of ours wraps.
 */
#define RECORD_SPACE 512

static const struct list_ops *const kinds[] = {
	[BLKLIST_INDEXED] = &list_indexed,
	[BLKLIST_LITERAL] = &list_literal,
	[BLKLIST_WINDOWED] = &list_windowed,
};

static int
take_memory(struct blklist *l)
{
	if (l->memory != NULL)
		return list_kept_take(l);
	l->limbo = list_map(LIST_THREADS * sizeof(*l->limbo));
	return l->limbo == NULL ? -ENOMEM : 0;
}

/* What is kept stays. */
static void
give_memory(struct blklist *l)
{
	if (l->memory == NULL)
		list_unmap(l->limbo, LIST_THREADS * sizeof(*l->limbo));
}

int
list_begin(struct blklist **out, enum blklist_kind kind, uint32_t aRecMax,
    struct kept *memory)
{
	struct blklist *l;
	int err;

	if (aRecMax == 0 || aRecMax > BLKLIST_MAX ||
	    (unsigned)kind >= sizeof(kinds) / sizeof(kinds[0]))
		return -EINVAL;
	if ((uint64_t)aRecMax * RECORD_SPACE > SIZE_MAX)
		return -ENOMEM;
	l = calloc(1, sizeof(*l));
	if (l == NULL)
		return -ENOMEM;
	l->ops = kinds[kind];
	l->key_mask = LIST_KEY_MASK;
	l->counts.aRecMax = aRecMax;
	memset(l->legal, 0xff, sizeof(l->legal));
	list_set_plain(l);
	l->memory = memory;
	err = take_memory(l);
	if (err == 0)
		err = l->ops->open(l);
	if (err != 0) {
		give_memory(l);
		free(l);
		return err;
	}
	*out = l;
	return 0;
}

int
blklist_new(struct blklist **out, enum blklist_kind kind, uint32_t aRecMax)
{
	return list_begin(out, kind, aRecMax, NULL);
}

int
blklist_new_most(struct blklist **out, enum blklist_kind kind, uint32_t aRecMax)
{
	int err;

	do
		err = blklist_new(out, kind, aRecMax);
	while (err == -ENOMEM && (aRecMax /= 2) > 0);
	return err;
}

/* The estimates in whole blocks and bytes, for whoever looks. */
static void
publish_counts(struct blklist *l)
{
	struct blklist_counts *n = &l->counts;
	uint64_t half = UINT64_C(1) << (LIST_EST_SHIFT - 1);

	if (l->period == 0) {
		n->est_blocks = n->aRecActive;
		n->est_bytes = n->live_bytes;
		n->est_peak_bytes = n->peak_bytes;
		return;
	}
	n->est_blocks = (l->est.blocks + half) >> LIST_EST_SHIFT;
	n->est_bytes = (l->est.bytes + half) >> LIST_EST_SHIFT;
	n->est_peak_bytes = (l->est.peak_bytes + half) >> LIST_EST_SHIFT;
}

void
blklist_set_legal(struct blklist *l, const uint8_t legal[32])
{
	memset(l->legal, 0, sizeof(l->legal));
	for (unsigned i = 0; i < 256; i++)
		if (legal[i / 8] >> (i % 8) & 1)
			l->legal[i / 64] |= UINT64_C(1) << (i % 64);
	list_set_plain(l);
}

void
list_set_plain(struct blklist *l)
{
	memcpy(l->plain, l->legal, sizeof(l->plain));
	if (l->moves != NULL)
		l->plain[TYPE_REALLOC / 64] &=
		    ~(UINT64_C(1) << TYPE_REALLOC % 64);
}

void
list_odd_alloc(struct blklist *l, const struct list_chunk *c, unsigned i)
{
	unsigned type = rec_type(&c->rec[i]);

	if (!(l->legal[type >> 6] >> (type & 63) & 1))
		l->counts.illegal_type++;
	if (type == TYPE_REALLOC)
		list_reallocs_alloc(l, c, i);
}

void
blklist_set_since_click(struct blklist *l, bool on)
{
	l->since_click = on;
}

void
blklist_set_opaque(struct blklist *l, bool on)
{
	assert(l->counts.aRecActive == 0);
	l->opaque = on;
	l->key_mask = on ? REC_ADDR_MASK : LIST_KEY_MASK;
}

void
blklist_sample(struct blklist *l, uint64_t period_bytes)
{
	assert(l->counts.aRecActive == 0);
	/* With it a block of any size, in parts, is below 2^58. */
	l->period = period_bytes > BLKLIST_SAMPLE_MAX ? BLKLIST_SAMPLE_MAX :
	    period_bytes;
	l->aside |= l->period != 0;
	l->est = (struct list_estimate){ 0 };
	publish_counts(l);
}

bool
blklist_is_sample(const struct blklist *l)
{
	return l->period != 0;
}

static double
weight_of(const struct blklist *l, uint64_t key, uint64_t size)
{
	if (l->period == 0 || key >> LIST_LAYER_BIT != 0)
		return 1;
	return -1 / expm1(-(double)(size > 0 ? size : 1) / (double)l->period);
}

double
blklist_weight(const struct blklist *l, const struct blk *b)
{
	return weight_of(l, list_blk_key(l, b), b->size);
}

static void
estimate_add(struct blklist *l, uint64_t key, uint64_t size)
{
	double weight = weight_of(l, key, size) * (1 << LIST_EST_SHIFT);

	l->est.blocks += (uint64_t)weight;
	l->est.bytes += (uint64_t)(weight * (double)size);
	if (l->est.bytes > l->est.peak_bytes)
		l->est.peak_bytes = l->est.bytes;
}

static void
estimate_sub(struct blklist *l, uint64_t key, uint64_t size)
{
	double weight = weight_of(l, key, size) * (1 << LIST_EST_SHIFT);

	l->est.blocks -= (uint64_t)weight;
	l->est.bytes -= (uint64_t)(weight * (double)size);
}

/* --- rises by thread ------------------------------------------------------- */

/*
 * By how much each thread's records have raised the bytes held.
 *
 * Where events of several threads have no order, the bytes that they held at once
 * are not known; they were at most the bytes held before plus each thread's own
 * peak.
 */

int
blklist_follow_rises(struct blklist *l)
{
	if (l->rises == NULL)
		l->rises = calloc(1, sizeof *l->rises);
	if (l->rises == NULL)
		return -ENOMEM;
	l->rises->round = 1;
	l->aside = true;
	return 0;
}

uint64_t
blklist_rises(const struct blklist *l)
{
	return l->rises != NULL ? l->rises->all : 0;
}

void
blklist_rises_begin(struct blklist *l)
{
	if (l->rises == NULL)
		return;
	l->rises->all = 0;
	l->rises->round++;
}

/* A false record may make a sum wrap. */
static void
add_to_rise(struct list_rises *rises, unsigned thread, int64_t bytes)
{
	int64_t sum;

	if (rises->of[thread].round != rises->round) {
		rises->of[thread].round = rises->round;
		rises->of[thread].sum = rises->of[thread].highest = 0;
	}
	sum = (int64_t)((uint64_t)rises->of[thread].sum + (uint64_t)bytes);
	rises->of[thread].sum = sum;
	if (sum <= rises->of[thread].highest)
		return;
	rises->all += (uint64_t)(sum - rises->of[thread].highest);
	rises->of[thread].highest = sum;
}

/* --- what only some lists count -------------------------------------------- */

void
list_aside_add(struct blklist *l, const struct rec *r, uint64_t key,
    uint64_t size)
{
	if (l->period != 0)
		estimate_add(l, key, size);
	if (l->rises != NULL && r != NULL)
		add_to_rise(l->rises, rec_thread(r), (int64_t)size);
}

void
list_aside_sub(struct blklist *l, const struct rec *r, uint64_t key,
    uint64_t size)
{
	if (l->period != 0)
		estimate_sub(l, key, size);
	if (l->rises != NULL && r != NULL)
		add_to_rise(l->rises, rec_thread(r), -(int64_t)size);
}

/* Whether to look for pairs in the next n records. */
static bool
adapt_try(struct list_adapt *a, unsigned n)
{
	if (a->skip == 0)
		return true;
	a->skip -= n < a->skip ? n : a->skip;
	return false;
}

static void
adapt_learn(struct list_adapt *a, unsigned n, unsigned pairs)
{
	a->tried += n;
	a->paired += 2 * pairs;
	if (a->tried < ADAPT_WINDOW)
		return;
	if ((uint64_t)a->paired * 100 < (uint64_t)a->tried * ADAPT_PERCENT)
		a->skip = ADAPT_SKIP;
	a->tried = 0;
	a->paired = 0;
}

void
blklist_apply(struct blklist *l, const struct blklist_batch *b)
{
	struct list_chunk c = {
		.near_ms = b->near_ms,
		.info = b->info,
		.ninfo = b->ninfo,
		.left_out = b->left_out,
	};

	assert(l->ops->apply != NULL);
	list_reallocs_batch(l, b->gaps);
	for (size_t at = 0; at < b->n; at += c.n) {
		c.n = b->n - at < LIST_CHUNK ? (unsigned)(b->n - at) : LIST_CHUNK;
		c.at = at;
		c.rec = b->rec + at;
		c.seq = b->seq + at;
		c.seqs = b->seqs != NULL ? b->seqs + at : NULL;
		c.ms = b->ms != NULL ? b->ms + at : NULL;
		/* The two halves of a pair may be two threads'. */
		c.cancel = b->cancel && l->rises == NULL &&
		    adapt_try(&l->adapt, c.n);
		unsigned pairs = l->ops->apply(l, &c);
		if (c.cancel)
			adapt_learn(&l->adapt, c.n, pairs);
		l->counts.records += c.n;
	}
	publish_counts(l);
}

void
blklist_ahead(struct blklist *l)
{
	if (l->ops->ahead != NULL)
		l->ops->ahead(l);
}

bool
blklist_mend(struct blklist *l, uint32_t work)
{
	return l->ops->mend == NULL || l->ops->mend(l, work);
}

static void
reverse_rows(struct blk *row, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct blk t = row[i];

		row[i] = row[n - 1 - i];
		row[n - 1 - i] = t;
	}
}

size_t
blklist_window(const struct blklist *l, enum blklist_order order,
    bool reverse, uint64_t offs, struct blk *out, size_t n)
{
	uint32_t active = l->counts.aRecActive, first;

	if (offs >= active)
		return 0;
	if (n > active - offs)
		n = active - offs;
	first = (uint32_t)(reverse ? active - offs - n : offs);
	if (l->ops->clip != NULL)
		l->ops->clip(l, order, reverse, &first, &n);
	if (n == 0)
		return 0;
	n = l->ops->window(l, order, first, out, n);
	if (reverse)
		reverse_rows(out, n);
	return n;
}

size_t
blklist_after(const struct blklist *l, bool from_start, unsigned layer,
    uint64_t addr, struct blk *out, size_t n)
{
	if (n == 0)
		return 0;
	return l->ops->after(l, from_start, list_key_of(l, layer, addr), out,
	    n);
}

int
blklist_get(const struct blklist *l, unsigned layer, uint64_t addr,
    struct blk *out)
{
	return l->ops->get(l, list_key_of(l, layer, addr), out);
}

bool
blklist_has(const struct blklist *l, const struct blk *b, struct blk *now)
{
	struct blk found;

	if (blklist_get(l, blk_layer(b), b->addr, &found) < 0 ||
	    found.seq != b->seq)
		return false;
	if (now != NULL)
		*now = found;
	return true;
}

int64_t
blklist_rank(const struct blklist *l, enum blklist_order order,
    unsigned layer, uint64_t addr)
{
	return l->ops->rank(l, order, list_key_of(l, layer, addr));
}

/* What no record did has no number by which it could be taken back. */
static void
say_outside(struct blklist *l)
{
	if (l->kept == NULL)
		return;
	l->kept->outside++;
	list_in_order();
}

int
blklist_put(struct blklist *l, const struct blk *b)
{
	int err;

	say_outside(l);
	err = l->ops->put(l, list_blk_key(l, b), b);
	if (err == 0) {
		l->counts.inherited++;
		list_live_add(l, NULL, list_blk_key(l, b), list_blk_size(b));
		publish_counts(l);
	} else if (err == -ENOSPC)
		l->counts.full++;
	return err;
}

int
blklist_take(struct blklist *l, unsigned layer, uint64_t addr)
{
	uint64_t key = list_key_of(l, layer, addr), size;
	int err;

	say_outside(l);
	err = l->ops->take(l, key, &size);
	if (err == 0) {
		list_live_sub(l, NULL, key, size);
		publish_counts(l);
	}
	return err;
}

static void
removed_free(struct blklist *l)
{
	if (l->memory == NULL)
		list_unmap(l->removed, l->removed_cap * sizeof(*l->removed));
	l->removed = NULL;
	l->removed_cap = 0;
	l->removed_n = 0;
}

void
blklist_clear(struct blklist *l)
{
	size_t limbos = LIST_THREADS * sizeof(*l->limbo);
	uint32_t max = l->counts.aRecMax;

	say_outside(l);
	l->ops->clear(l);
	l->counts = (struct blklist_counts){ .aRecMax = max };
	l->est = (struct list_estimate){ 0 };
	l->adapt = (struct list_adapt){ 0 };
	l->removed_n = 0;
	list_reallocs_clear(l);
	l->limbo_used = 0;
	if (l->kept == NULL) {
		list_zero(l->limbo, limbos);
		return;
	}
	l->kept->limbo_used = 0;
	l->kept->removed_from = 0;
	kept_zero(l->memory, l->limbo, limbos);
	kept_zero(l->memory, l->removed, l->removed_cap * sizeof(*l->removed));
}

void
blklist_free(struct blklist *l)
{
	if (l == NULL)
		return;
	l->ops->close(l);
	removed_free(l);
	list_reallocs_fini(l);
	list_infos_fini(l);
	free(l->rises);
	give_memory(l);
	free(l);
}

int
list_removed_take(struct blklist *l, uint32_t n)
{
	struct list_removed *removed;
	size_t bytes;

	assert(n != 0 && (n & (n - 1)) == 0);
	assert(l->memory == NULL || l->removed == NULL);
	bytes = n * sizeof(*removed);
	removed = l->memory != NULL ? kept_take(l->memory, bytes) :
	    list_map(bytes);
	if (removed == NULL)
		return -ENOMEM;
	removed_free(l);
	l->removed = removed;
	l->removed_cap = n;
	return 0;
}

int
blklist_remember(struct blklist *l, uint32_t n)
{
	int err = list_removed_take(l, n);

	if (err == 0 && l->kept != NULL)
		l->kept->removed_cap = n;
	return err;
}

void
list_removed_row(struct blklist *l, uint64_t seq, const struct blk *b)
{
	struct list_removed r = {
		.seq = seq,
		.w = { rec_w0(b->addr, b->flags, b->type),
		    rec_w1(b->size, b->thread) },
		.w3 = rec_w3(b->caller, b->overhead),
		.blk_seq = b->seq,
		.ms = b->ms,
		.rest = b->ticket | (uint64_t)b->info << 32,
	};

	list_removed(l, &r);
}

void
list_removed_blk(const struct list_removed *r, struct blk *out)
{
	const struct rec rec = { { r->w[0], r->w[1], 0, r->w3 } };

	*out = (struct blk){
		.addr = rec_addr(&rec),
		.size = rec_size(&rec),
		.seq = r->blk_seq,
		.ms = r->ms,
		.caller = rec_caller(&rec),
		.ticket = (uint32_t)r->rest,
		.thread = (uint16_t)rec_thread(&rec),
		.overhead = (uint16_t)rec_overhead(&rec),
		.info = (uint16_t)(r->rest >> 32),
		.flags = (uint8_t)rec_flags(&rec),
		.type = (uint8_t)rec_type(&rec),
	};
}

int
blklist_removed_get(const struct blklist *l, uint32_t k,
    struct blklist_removed *out)
{
	uint64_t from = l->kept != NULL ? l->kept->removed_from : 0;
	const struct list_removed *r;

	if (k >= l->removed_cap || l->removed_n < from ||
	    k >= l->removed_n - from)
		return -ENOENT;
	r = &l->removed[(l->removed_n - 1 - k) & (l->removed_cap - 1)];
	out->seq = r->seq;
	list_removed_blk(r, &out->blk);
	return 0;
}

const struct blklist_removed *
blklist_removed(struct blklist *l, uint32_t k)
{
	return blklist_removed_get(l, k, &l->asked) == 0 ? &l->asked : NULL;
}

uint64_t
blklist_removals(const struct blklist *l)
{
	return l->removed_n;
}

const struct blklist_counts *
blklist_counts(const struct blklist *l)
{
	return &l->counts;
}

size_t
blklist_memory(const struct blklist *l)
{
	uint64_t kept = l->removed_n < l->removed_cap ? l->removed_n :
	    l->removed_cap;

	return sizeof(*l) + l->ops->memory(l) + kept * sizeof(*l->removed) +
	    l->limbo_used * sizeof(*l->limbo) + list_reallocs_memory(l) +
	    list_infos_memory(&l->infos);
}

int
blklist_check(const struct blklist *l, char *why, size_t cap)
{
	return l->ops->check(l, why, cap);
}

/* Of a kept list how it was at the commit is written down before it changes. */
static struct limbo *
limbo_to_change(struct blklist *l, unsigned thread)
{
	struct limbo *limbo = &l->limbo[thread];

	if (thread >= l->limbo_used)
		l->limbo_used = thread + 1;
	if (l->kept == NULL)
		return limbo;
	l->kept->limbo_used = l->limbo_used;
	if (limbo->generation != l->kept->generation) {
		l->limbo_was[thread] = *limbo;
		list_in_order();
		limbo->generation = l->kept->generation;
	}
	list_in_order();
	return limbo;
}

void
list_limbo_keep(struct blklist *l, const struct rec *r, uint64_t key,
    enum limbo_state state, const struct blk *b)
{
	struct limbo *limbo = limbo_to_change(l, rec_thread(r));

	limbo->key = key;
	limbo->state = state;
	if (state == LIMBO_BLOCK)
		limbo->blk = *b;
	list_reallocs_free(l, r, state == LIMBO_BLOCK ? b : NULL);
}

enum limbo_state
list_limbo_take(struct blklist *l, const struct rec *undo, uint64_t key,
    struct blk *b)
{
	struct limbo *limbo = &l->limbo[rec_thread(undo)];
	enum limbo_state state = limbo->state;

	if (state == LIMBO_NONE || limbo->key != key)
		return LIMBO_NONE;
	limbo_to_change(l, rec_thread(undo))->state = LIMBO_NONE;
	list_reallocs_undo(l, undo);
	l->counts.frees--;
	if (state == LIMBO_BLOCK)
		*b = limbo->blk;
	else if (state == LIMBO_UNKNOWN)
		l->counts.unknown_free--;
	else if (state == LIMBO_EARLIER)
		l->counts.earlier--;
	else
		l->counts.late--;
	return state;
}

/* --- requesters ------------------------------------------------------------ */

/*
 * Requesters, each once: aInfo of a block is an index into this table.
 */

/* A target cannot know which names collide: the table lies anywhere. */
static uint32_t
info_hash(const struct list_infos *t, const struct blklist_info *info)
{
	return hash_of_key(hash_of_bytes((uintptr_t)t->entry, info,
	    sizeof(*info)));
}

static bool
info_same(const void *of, uint32_t number, const void *key)
{
	return memcmp((const struct blklist_info *)of + number, key,
	    sizeof(struct blklist_info)) == 0;
}

/* A copy for memcmp: zeros behind the name's end. */
static struct blklist_info
info_plain(const struct blklist_info *info)
{
	struct blklist_info plain;

	memset(&plain, 0, sizeof(plain));
	memcpy(plain.name, info->name, strnlen(info->name,
	    sizeof(info->name) - 1));
	if (plain.name[0] == '\0')
		plain.node = info->node;
	return plain;
}

uint16_t
blklist_info_intern(struct blklist *l, const struct blklist_info *info)
{
	struct list_infos *t = &l->infos;
	struct blklist_info plain = info_plain(info);
	uint32_t hash;
	int64_t found;

	if (plain.name[0] == '\0' && plain.node == 0)
		return 0;
	if (t->entry == NULL) {
		t->entry = list_map(LIST_INFO_MAX * sizeof(*t->entry));
		if (t->entry == NULL)
			return 0;
	}
	if (t->n == 0)
		t->n = 1;
	hash = info_hash(t, &plain);
	found = hashindex_find(&t->index, hash, info_same, t->entry, &plain);
	if (found >= 0)
		return (uint16_t)found;
	if (t->n == LIST_INFO_MAX || hashindex_put(&t->index, hash, t->n) < 0)
		return 0;
	t->entry[t->n] = plain;
	return (uint16_t)t->n++;
}

const struct blklist_info *
blklist_info_get(const struct blklist *l, uint16_t i)
{
	return i == 0 || i >= l->infos.n ? NULL : &l->infos.entry[i];
}

uint16_t
list_info_find(struct blklist *l, struct list_chunk *c, unsigned i)
{
	while (c->ninfo > 0 && c->info->at < c->at + i) {
		c->info++;
		c->ninfo--;
	}
	if (c->ninfo == 0 || c->info->at != c->at + i)
		return 0;
	return blklist_info_intern(l, &c->info->info);
}

void
list_infos_fini(struct blklist *l)
{
	struct list_infos *t = &l->infos;

	hashindex_fini(&t->index);
	if (l->memory == NULL)
		list_unmap(t->entry, LIST_INFO_MAX * sizeof(*t->entry));
}

int
list_infos_reopen(struct blklist *l, uint32_t n)
{
	struct list_infos *t = &l->infos;

	for (uint32_t i = 1; i < n; i++) {
		const struct blklist_info *e = &t->entry[i];

		if (e->name[sizeof(e->name) - 1] != '\0')
			return -ESTALE;
		if (hashindex_find(&t->index, info_hash(t, e), info_same,
		    t->entry, e) >= 0)
			return -ESTALE;
		if (hashindex_put(&t->index, info_hash(t, e), i) < 0)
			return -ENOMEM;
	}
	t->n = n;
	return 0;
}

size_t
list_infos_memory(const struct list_infos *t)
{
	return t->n * sizeof(*t->entry) + hashindex_memory(&t->index);
}
