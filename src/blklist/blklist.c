#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"

/*
 * Pairs are looked for when at least this part of the records is in one: a look
 * costs about 7 ns a record, a record in a pair saves 10 with few blocks, 30
 * with many.  After ADAPT_SKIP records it is tried again.
 */
#define ADAPT_PERCENT 30
#define ADAPT_WINDOW (2 * LIST_CHUNK)
#define ADAPT_SKIP (32 * LIST_CHUNK)

/*
 * Address space for a record with all tables, and seven times as much for the
 * rest of the program: below this bound no size wraps where pointers have 32
 * bits.
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
		return list_persistent_take(l);
	l->undo.of = list_map(LIST_THREADS * sizeof(*l->undo.of));
	return l->undo.of == NULL ? -ENOMEM : 0;
}

/* Persistent memory stays. */
static void
give_memory(struct blklist *l)
{
	if (l->memory == NULL)
		list_unmap(l->undo.of, LIST_THREADS * sizeof(*l->undo.of));
}

int
list_begin(struct blklist **out, enum blklist_kind kind, uint32_t aRecMax,
    struct pmem *memory)
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
	if (l->reallocs != NULL)
		l->plain[TYPE_REALLOC / 64] &=
		    ~(UINT64_C(1) << TYPE_REALLOC % 64);
}

void
list_special_alloc(struct blklist *l, const struct list_chunk *c, unsigned i)
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
	/* So a block of any size, in parts, is below 2^58. */
	l->period = period_bytes > BLKLIST_SAMPLE_MAX ? BLKLIST_SAMPLE_MAX :
	    period_bytes;
	l->extra |= l->period != 0;
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

/*
 * Events of several threads without an order do not tell the bytes held at
 * once: at most the bytes held before plus each thread's own peak.
 */

int
blklist_follow_thread_peaks(struct blklist *l)
{
	if (l->peaks == NULL)
		l->peaks = calloc(1, sizeof *l->peaks);
	if (l->peaks == NULL)
		return -ENOMEM;
	l->peaks->round = 1;
	l->extra = true;
	return 0;
}

uint64_t
blklist_thread_peaks(const struct blklist *l)
{
	return l->peaks != NULL ? l->peaks->sum : 0;
}

void
blklist_thread_peaks_begin(struct blklist *l)
{
	if (l->peaks == NULL)
		return;
	l->peaks->sum = 0;
	l->peaks->round++;
}

/* False records may make the sum wrap. */
static void
add_to_peak(struct list_thread_peaks *peaks, unsigned thread, int64_t bytes)
{
	int64_t sum;

	if (peaks->of[thread].round != peaks->round) {
		peaks->of[thread].round = peaks->round;
		peaks->of[thread].sum = peaks->of[thread].peak = 0;
	}
	sum = (int64_t)((uint64_t)peaks->of[thread].sum + (uint64_t)bytes);
	peaks->of[thread].sum = sum;
	if (sum <= peaks->of[thread].peak)
		return;
	peaks->sum += (uint64_t)(sum - peaks->of[thread].peak);
	peaks->of[thread].peak = sum;
}

int
blklist_watch(struct blklist *l, blklist_watch_fn *fn, void *arg)
{
	if (fn != NULL && l->watch != NULL)
		return -EBUSY;
	l->watch = fn;
	l->watch_arg = arg;
	l->extra = l->period != 0 || l->peaks != NULL || fn != NULL;
	return 0;
}

static void
tell_listed(struct blklist *l, enum blklist_event event, uint64_t key,
    const struct rec *r)
{
	struct blk b;

	if (l->ops->get(l, key, &b) == 0)
		l->watch(l->watch_arg, event, &b, r);
}

/* The block of an allocation need not be listed: it may be of a pair. */
static void
tell_added(struct blklist *l, uint64_t key, const struct rec *r)
{
	struct blk b;

	if (r == NULL || rec_op(r) != REC_ALLOC) {
		tell_listed(l, r == NULL ? BLKLIST_PUT : BLKLIST_UNDO, key, r);
		return;
	}
	b = blk_of_rec(r, 0, 0);
	l->watch(l->watch_arg, BLKLIST_ALLOC, &b, r);
}

void
list_tell_unlisted(struct blklist *l, const struct rec *r)
{
	struct blk b;

	if (l->watch == NULL)
		return;
	b = blk_of_rec(r, 0, 0);
	l->watch(l->watch_arg, BLKLIST_UNLISTED, &b, r);
}

void
list_extra_add(struct blklist *l, const struct rec *r, uint64_t key,
    uint64_t size)
{
	if (l->period != 0)
		estimate_add(l, key, size);
	if (l->peaks != NULL && r != NULL)
		add_to_peak(l->peaks, rec_thread(r), (int64_t)size);
	if (l->watch != NULL)
		tell_added(l, key, r);
}

void
list_extra_sub(struct blklist *l, const struct rec *r, uint64_t key,
    uint64_t size)
{
	if (l->period != 0)
		estimate_sub(l, key, size);
	if (l->peaks != NULL && r != NULL)
		add_to_peak(l->peaks, rec_thread(r), -(int64_t)size);
	if (l->watch != NULL && r != NULL)
		tell_listed(l, rec_op(r) == REC_ALLOC ? BLKLIST_REPLACED :
		    BLKLIST_FREE, key, r);
}

void
list_extra_pair(struct blklist *l, const struct rec *alloc,
    const struct rec *free)
{
	struct blk b;

	if (l->period != 0)
		estimate_sub(l, list_key(l, alloc), rec_size(alloc));
	if (l->watch == NULL)
		return;
	/* Only the low bits of its time are known, as of its end. */
	b = blk_of_rec(alloc, 0, rec_ms(alloc));
	l->watch(l->watch_arg, BLKLIST_FREE, &b, free);
}

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
		.replaced = b->replaced,
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
		/* The halves of a pair may be of two threads. */
		c.cancel = b->cancel && l->peaks == NULL &&
		    adapt_try(&l->adapt, c.n);
		unsigned pairs = l->ops->apply(l, &c);
		if (c.cancel)
			adapt_learn(&l->adapt, c.n, pairs);
		l->counts.records += c.n;
	}
	publish_counts(l);
}

void
blklist_prefault(struct blklist *l)
{
	if (l->ops->prefault != NULL)
		l->ops->prefault(l);
}

bool
blklist_restore_order(struct blklist *l, uint32_t work)
{
	return l->ops->restore_order == NULL || l->ops->restore_order(l, work);
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
	if (n == 0 || l->ops->after == NULL)
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

/* A change without a record has no number by which it could be reverted. */
static void
note_unrecorded(struct blklist *l)
{
	if (l->persistent == NULL)
		return;
	l->persistent->unrecorded++;
	list_in_order();
}

int
blklist_put(struct blklist *l, const struct blk *b)
{
	int err;

	if (l->ops->put == NULL)
		return -ENOTSUP;
	note_unrecorded(l);
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

	if (l->ops->take == NULL)
		return -ENOTSUP;
	note_unrecorded(l);
	if (l->watch != NULL)
		tell_listed(l, BLKLIST_TAKEN, key, NULL);
	err = l->ops->take(l, key, &size);
	if (err == 0) {
		list_live_sub(l, NULL, key, size);
		publish_counts(l);
	}
	return err;
}

void
blklist_set_past(struct blklist *l, const struct blklist_counts *past)
{
	struct blklist_counts *n = &l->counts;

	n->inherited = 0;
	n->records = past->records;
	n->allocs = past->allocs;
	n->frees = past->frees;
	n->failed = past->failed;
	n->unknown_free = past->unknown_free;
	n->duplicate = past->duplicate;
	n->unknown_undo = past->unknown_undo;
	if (past->peak_bytes > n->peak_bytes)
		n->peak_bytes = past->peak_bytes;
	publish_counts(l);
}

static void
removed_free(struct blklist *l)
{
	if (l->memory == NULL)
		list_unmap(l->removed.ring,
		    l->removed.cap * sizeof(*l->removed.ring));
	l->removed.ring = NULL;
	l->removed.cap = 0;
	l->removed.n = 0;
}

void
blklist_clear(struct blklist *l)
{
	size_t bytes = LIST_THREADS * sizeof(*l->undo.of);
	uint32_t max = l->counts.aRecMax;

	note_unrecorded(l);
	l->ops->clear(l);
	l->counts = (struct blklist_counts){ .aRecMax = max };
	l->est = (struct list_estimate){ 0 };
	l->adapt = (struct list_adapt){ 0 };
	l->removed.n = 0;
	list_reallocs_clear(l);
	l->undo.used = 0;
	if (l->persistent == NULL) {
		list_zero(l->undo.of, bytes);
		return;
	}
	l->persistent->undo_used = 0;
	l->persistent->removed_from = 0;
	pmem_zero(l->memory, l->undo.of, bytes);
	pmem_zero(l->memory, l->removed.ring,
	    l->removed.cap * sizeof(*l->removed.ring));
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
	free(l->peaks);
	give_memory(l);
	free(l);
}

int
list_removed_take(struct blklist *l, uint32_t n)
{
	struct list_removed *removed;
	size_t bytes;

	assert(n != 0 && (n & (n - 1)) == 0);
	assert(l->memory == NULL || l->removed.ring == NULL);
	bytes = n * sizeof(*removed);
	removed = l->memory != NULL ? pmem_take(l->memory, bytes) :
	    list_map(bytes);
	if (removed == NULL)
		return -ENOMEM;
	removed_free(l);
	l->removed.ring = removed;
	l->removed.cap = n;
	return 0;
}

int
blklist_remember(struct blklist *l, uint32_t n)
{
	int err = list_removed_take(l, n);

	if (err == 0 && l->persistent != NULL)
		l->persistent->removed_cap = n;
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
	uint64_t from = l->persistent != NULL ? l->persistent->removed_from : 0;
	const struct list_removed *r;

	if (k >= l->removed.cap || l->removed.n < from ||
	    k >= l->removed.n - from)
		return -ENOENT;
	r = &l->removed.ring[(l->removed.n - 1 - k) & (l->removed.cap - 1)];
	out->seq = r->seq;
	list_removed_blk(r, &out->blk);
	return 0;
}

const struct blklist_removed *
blklist_removed(struct blklist *l, uint32_t k)
{
	return blklist_removed_get(l, k, &l->removed.last) == 0 ?
	    &l->removed.last : NULL;
}

uint64_t
blklist_removals(const struct blklist *l)
{
	return l->removed.n;
}

const struct blklist_counts *
blklist_counts(const struct blklist *l)
{
	return &l->counts;
}

size_t
blklist_memory(const struct blklist *l)
{
	uint64_t removed = l->removed.n < l->removed.cap ? l->removed.n :
	    l->removed.cap;

	return sizeof(*l) + l->ops->memory(l) +
	    removed * sizeof(*l->removed.ring) +
	    l->undo.used * sizeof(*l->undo.of) + list_reallocs_memory(l) +
	    list_infos_memory(&l->infos);
}

int
blklist_check(const struct blklist *l, char *why, size_t cap)
{
	return l->ops->check(l, why, cap);
}

/* The thread's undo; a persistent list's committed state is saved first. */
static struct list_undo *
undo_to_change(struct blklist *l, unsigned thread)
{
	struct list_undo *undo = &l->undo.of[thread];

	if (thread >= l->undo.used)
		l->undo.used = thread + 1;
	if (l->persistent == NULL)
		return undo;
	l->persistent->undo_used = l->undo.used;
	if (undo->generation != l->persistent->generation) {
		l->undo.committed[thread] = *undo;
		list_in_order();
		undo->generation = l->persistent->generation;
	}
	list_in_order();
	return undo;
}

void
list_undo_store(struct blklist *l, const struct rec *r, uint64_t key,
    enum undo_state state, const struct blk *b)
{
	struct list_undo *undo = undo_to_change(l, rec_thread(r));

	undo->key = key;
	undo->state = state;
	if (state == UNDO_BLOCK)
		undo->blk = *b;
	list_reallocs_free(l, r, state == UNDO_BLOCK ? b : NULL);
}

enum undo_state
list_undo_take(struct blklist *l, const struct rec *undo, uint64_t key,
    struct blk *b)
{
	struct list_undo *last = &l->undo.of[rec_thread(undo)];
	enum undo_state state = last->state;

	if (state == UNDO_NONE || last->key != key)
		return UNDO_NONE;
	undo_to_change(l, rec_thread(undo))->state = UNDO_NONE;
	list_reallocs_undo(l, undo);
	l->counts.frees--;
	if (state == UNDO_BLOCK) {
		*b = last->blk;
		return state;
	}
	list_tell(l, BLKLIST_UNDO_UNKNOWN, NULL, undo);
	if (state == UNDO_UNKNOWN)
		l->counts.unknown_free--;
	else if (state == UNDO_EARLIER)
		l->counts.earlier--;
	else
		l->counts.late--;
	return state;
}

/* The seed is the table's address: a target cannot know which names collide. */
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

/* A copy for memcmp(): zeros behind the name's end. */
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
