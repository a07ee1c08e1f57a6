#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "indexed.h"

static void indexed_row(const struct indexed *, uint32_t i, struct blk *out);
static void indexed_trim(struct blklist *, struct indexed *);

/*
 * The rules of literal.c: a free cancels the allocation that is the latest
 * record of the same block, unless it is by realloc or older; a range ends a
 * generation.  The pair is dissolved if the address turns out to be listed when
 * the allocation is applied.
 */

#define INDEX_BITS 12
#define GENERATIONS (UINT32_C(1) << (32 - INDEX_BITS))

static inline uint64_t
scatter(uint64_t key)
{
	return key * UINT64_C(0x9e3779b97f4a7c15);
}

static inline uint64_t *
open_word(struct cancel *c, uint64_t key)
{
	return &c->open[scatter(key) >> (64 - OPEN_BITS + 6)];
}

static inline uint64_t
open_bit(uint64_t key)
{
	return UINT64_C(1) << (scatter(key) >> (64 - OPEN_BITS) & 63);
}

static void
next_generation(struct cancel *c)
{
	memset(c->open, 0, sizeof(c->open));
	if (++c->generation < GENERATIONS)
		return;
	memset(c->slot, 0, sizeof(c->slot));
	c->generation = 1;
}

/*
 * The slot of the key's latest record, or the free slot where the search ends.
 */
static inline uint32_t *
latest_slot(struct cancel *c, const struct rec *rec, uint64_t key,
    uint64_t key_mask)
{
	const uint32_t mask = (uint32_t)((UINT64_C(1) << (64 - c->shift)) - 1);
	uint64_t x = (key ^ c->seed) * UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
	for (uint32_t p = (uint32_t)(x >> c->shift);; p = (p + 1) & mask) {
		uint32_t s = c->slot[p];

		if (s >> INDEX_BITS != c->generation ||
		    (rec[s & (LIST_CHUNK - 1)].w[0] & key_mask) == key)
			return &c->slot[p];
	}
}

/* The key's latest record, or NULL. */
static inline const struct rec *
latest_in(const struct cancel *c, const uint32_t *slot, const struct rec *rec)
{
	return *slot >> INDEX_BITS == c->generation ?
	    &rec[*slot & (LIST_CHUNK - 1)] : NULL;
}

static unsigned
table_shift(unsigned n)
{
	unsigned shift = 64 - 6;

	while (UINT64_C(1) << (64 - shift) < 2 * n)
		shift--;
	return shift;
}

static inline bool
is_pair(const struct rec *alloc, const struct rec *r, uint64_t key,
    uint64_t key_mask)
{
	return ((r->w[0] ^ key) & (key_mask | REC_OP_MASK)) ==
	    rec_op_bits(REC_FREE) &&
	    rec_type(r) != TYPE_BY_REALLOC &&
	    !list_older(rec_ticket(r), rec_ticket(alloc));
}

/*
 * True if the table may have an allocation of the key whose free is not known
 * yet.
 */
static inline bool
is_open(struct cancel *c, const struct rec *rec, uint64_t key, uint64_t key_mask)
{
	const struct rec *r = latest_in(c, latest_slot(c, rec, key, key_mask),
	    rec);

	return r != NULL && rec_op(r) == REC_ALLOC;
}

/*
 * Marks pairs of adjacent records from i on, as they come out of a ring;
 * returns the first record that is in none.  Such pairs are not put into the
 * table, unless that may have an allocation at the same address.  A function of
 * its own, because most records of a busy target are such pairs.
 */
static __attribute__((noinline)) unsigned
adjacent_pairs(struct cancel *c, const struct blklist *l, const struct rec *rec,
    unsigned i, unsigned n)
{
	const uint64_t key_mask = l->key_mask;

	for (; i + 1 < n; i += 2) {
		const struct rec *r = &rec[i];
		uint64_t key = r->w[0] & key_mask;

		if ((r->w[0] & REC_OP_MASK) != rec_op_bits(REC_ALLOC) ||
		    !is_pair(r, r + 1, key, key_mask) ||
		    list_is_failed(l, r) ||
		    ((*open_word(c, key) & open_bit(key)) != 0 &&
		    is_open(c, rec, key, key_mask)))
			break;
		c->mate[i] = (uint16_t)(i + 1);
		c->mate[i + 1] = (uint16_t)i;
	}
	return i;
}

unsigned
cancel_pairs(struct cancel *c, const struct blklist *l, const struct rec *rec,
    unsigned n, uint64_t seed)
{
	const uint64_t key_mask = l->key_mask;
	unsigned pairs = 0;

	memset(c->mate, 0xff, n * sizeof(c->mate[0]));
	next_generation(c);
	c->shift = table_shift(n);
	c->seed = seed;
	for (unsigned i = 0, at; i < n; i++) {
		const struct rec *r, *latest;
		uint32_t *slot;
		uint64_t key;
		unsigned op;

		at = i;
		i = adjacent_pairs(c, l, rec, at, n);
		pairs += (i - at) / 2;
		if (i == n)
			break;
		r = &rec[i];
		key = r->w[0] & key_mask;
		op = rec_op(r);
		if (op == REC_RANGE)
			next_generation(c);
		if ((op != REC_ALLOC && op != REC_FREE && op != REC_UNDO) ||
		    (op == REC_ALLOC && list_is_failed(l, r)))
			continue;
		slot = latest_slot(c, rec, key, key_mask);
		latest = latest_in(c, slot, rec);
		if (latest != NULL && rec_op(latest) == REC_ALLOC &&
		    is_pair(latest, r, key, key_mask)) {
			c->mate[i] = (uint16_t)(latest - rec);
			c->mate[latest - rec] = (uint16_t)i;
			pairs++;
		}
		*slot = c->generation << INDEX_BITS | i;
		if (op == REC_ALLOC)
			*open_word(c, key) |= open_bit(key);
	}
	return c->pairs = pairs;
}

/*
 * From this many blocks on the tables do not fit the near caches and
 * prefetching pays.  It has three steps, each needing what the one before has
 * fetched; the constants are records ahead.
 */
#define DEEP 65536
#define DEEPER (UINT32_C(1) << 21)	/* nor do the bits of ages */
#define FETCH_SLOT 24
#define FETCH_NODE 14
#define FETCH_AGE 7
#define RANGE_BATCH 64

/* gcc 12 drops calls of functions that only prefetch unless inlined. */
#define FETCH static inline __attribute__((always_inline)) void

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

FETCH
fetch_bucket(const struct indexed *ix, uint32_t tag)
{
	const struct hash_table *t = hash_table(&ix->hash, tag);

	__builtin_prefetch(&t->bucket[hash_home(t, tag)], 1);
}

/* The record `i` of a bucket that has been fetched, and where its search ends. */
FETCH
fetch_found(const struct indexed *ix, uint32_t tag, uint32_t i)
{
	const struct store_node *n = &ix->store.node[i];

	__builtin_prefetch(hash_ends_in(&ix->hash, tag), 1);
	__builtin_prefetch(&n->w[0], 1);
	__builtin_prefetch(&n->pos, 1);
}

static int
indexed_open(struct blklist *l)
{
	struct indexed *ix = calloc(1, sizeof(*ix));
	uint64_t seed = 0;
	int err = -ENOMEM;

	if (ix == NULL)
		return -ENOMEM;
	/* Keys scatter without it, too, but predictably. */
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) < 0)
		seed = (uint64_t)(uintptr_t)ix;
	if (store_init(&ix->store, l) != 0)
		goto no_store;
	if (age_init(&ix->age, l) != 0)
		goto no_age;
	if (regions_init(&ix->regions) != 0)
		goto no_regions;
	err = hash_init(&ix->hash, l->counts.aRecMax, seed);
	if (err != 0)
		goto no_hash;
	l->impl = ix;
	return 0;
no_hash:
	regions_fini(&ix->regions);
no_regions:
	age_fini(&ix->age);
no_age:
	store_fini(&ix->store);
no_store:
	free(ix);
	return err;
}

static void
indexed_close(struct blklist *l)
{
	struct indexed *ix = l->impl;

	hash_fini(&ix->hash);
	regions_fini(&ix->regions);
	age_fini(&ix->age);
	store_fini(&ix->store);
	free(ix);
}

static void
indexed_clear(struct blklist *l)
{
	struct indexed *ix = l->impl;

	hash_clear(&ix->hash);
	regions_clear(&ix->regions);
	age_clear(&ix->age);
	store_cut(&ix->store, 0);
}

static inline uint32_t *
find_record(const struct blklist *l, const struct indexed *ix, uint64_t key,
    uint32_t tag)
{
	return hash_find(&ix->hash, tag, ix->store.node, key, l->key_mask);
}

/* Takes a record, to be filled before link_in(), and enters the key. */
static inline uint32_t
claim_record(struct indexed *ix, uint64_t key)
{
	uint32_t i = store_peek(&ix->store);

	if (UNLIKELY(i == STORE_NONE) ||
	    UNLIKELY(regions_add(&ix->regions, key) != 0))
		return STORE_NONE;
	store_take(&ix->store, i);
	return i;
}

static inline void
link_in(struct blklist *l, struct indexed *ix, uint32_t *slot, uint32_t tag,
    uint32_t i, uint64_t seq, int64_t ms)
{
	hash_insert(&ix->hash, slot, tag, i);
	age_append(&ix->age, ix->store.node, i, seq, ms);
	l->counts.aRecActive++;
}

static inline void
take_out(struct blklist *l, struct indexed *ix, uint64_t key, uint32_t *slot)
{
	uint32_t i = hash_index(slot), pos = ix->store.node[i].pos;

	/* First: the rest may end the run of its position. */
	store_give(&ix->store, i);
	hash_erase(&ix->hash, slot);
	age_remove(&ix->age, pos);
	regions_del(&ix->regions, key);
	l->counts.aRecActive--;
}

static int
indexed_put(struct blklist *l, uint64_t key, const struct blk *b)
{
	struct indexed *ix = l->impl;
	uint32_t tag = hash_tag(&ix->hash, key), i;
	bool room = hash_room(&ix->hash);
	uint32_t *slot = find_record(l, ix, key, tag);

	if (*slot != 0)
		return -EEXIST;
	i = room ? claim_record(ix, key) : STORE_NONE;
	if (i == STORE_NONE)
		return -ENOSPC;
	store_fill(&ix->store, i, b);
	link_in(l, ix, slot, tag, i, b->seq, b->ms);
	return 0;
}

static inline void
fill_record(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at, uint32_t i)
{
	struct store_node *n = &ix->store.node[i];
	const struct rec *r = &c->rec[at];

	n->w[0] = r->w[0];
	n->w[1] = r->w[1];
	n->ticket = rec_ticket(r);
	n->w3 = r->w[3];
	n->seq = (uint32_t)list_seq(c, at);
	n->ms = (uint32_t)list_ms(c, at);
	store_set_info(&ix->store, i, list_info_at(l, c, at));
}

static __attribute__((noinline)) void
replace_record(struct blklist *l, struct list_chunk *c, unsigned at, uint32_t i)
{
	struct indexed *ix = l->impl;
	const struct rec *r = &c->rec[at];
	uint64_t key = list_key(l, r);
	uint32_t pos = ix->store.node[i].pos;
	struct blk was;

	if (list_older(rec_ticket(r), store_ticket(&ix->store, i))) {
		l->counts.late++;
		list_tell_unlisted(l, r);
		return;
	}
	indexed_row(ix, i, &was);
	list_removed_row(l, list_seq(c, at), &was);
	list_count_duplicate(l, c, at);
	list_live_sub(l, r, key, was.size);
	list_live_add(l, r, key, rec_size(r));
	/* Not listed while it is neither of the two. */
	store_set_pos(&ix->store.node[i], STORE_NONE);
	age_remove(&ix->age, pos);
	list_in_order();
	fill_record(l, ix, c, at, i);
	age_append(&ix->age, ix->store.node, i, list_seq(c, at),
	    list_ms(c, at));
}

static inline void
apply_alloc(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at, uint32_t tag)
{
	const struct rec *r = &c->rec[at];
	uint64_t key = list_key(l, r);
	bool room = hash_room(&ix->hash);
	uint32_t *slot, i;

	list_count_alloc(l, c, at);
	slot = find_record(l, ix, key, tag);
	if (UNLIKELY(*slot != 0)) {
		replace_record(l, c, at, hash_index(slot));
		return;
	}
	i = LIKELY(room) ? claim_record(ix, key) : STORE_NONE;
	if (UNLIKELY(i == STORE_NONE)) {
		l->counts.full++;
		list_tell_unlisted(l, r);
		return;
	}
	fill_record(l, ix, c, at, i);
	link_in(l, ix, slot, tag, i, list_seq(c, at), list_ms(c, at));
	list_live_add(l, r, key, rec_size(r));
}

static __attribute__((noinline)) void
free_nothing(struct blklist *l, const struct rec *r, uint64_t key, bool late)
{
	enum undo_state did;

	if (late) {
		did = UNDO_LATE;
		l->counts.late++;
	} else if (l->since_click) {
		did = UNDO_EARLIER;
		l->counts.earlier++;
	} else {
		did = UNDO_UNKNOWN;
		l->counts.unknown_free++;
	}
	list_tell(l, BLKLIST_FREE_UNKNOWN, NULL, r);
	if (rec_type(r) == TYPE_BY_REALLOC)
		list_undo_store(l, r, key, did, NULL);
}

static inline void
remember_removed(struct blklist *l, const struct indexed *ix, uint64_t seq,
    uint32_t i)
{
	const struct store_node *n = &ix->store.node[i];
	uint64_t info = ix->store.any_info ? ix->store.info[i] : 0;
	struct list_removed r = {
		.seq = seq,
		.w = { n->w[0], n->w[1] },
		.w3 = n->w3,
		.blk_seq = age_seq(&ix->age, n),
		.ms = age_ms(&ix->age, n),
		.rest = n->ticket | info << 32,
	};

	list_removed(l, &r);
}

static __attribute__((noinline)) void
store_undo(struct blklist *l, const struct rec *r, uint64_t key, uint32_t i)
{
	struct blk b;

	indexed_row(l->impl, i, &b);
	list_undo_store(l, r, key, UNDO_BLOCK, &b);
}

static inline void
apply_free(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at, uint32_t tag)
{
	const struct rec *r = &c->rec[at];
	uint64_t key = list_key(l, r);
	uint32_t *slot = find_record(l, ix, key, tag);
	uint32_t i;
	bool late;

	l->counts.frees++;
	late = *slot != 0 && list_older(rec_ticket(r),
	    store_ticket(&ix->store, hash_index(slot)));
	if (UNLIKELY(*slot == 0 || late)) {
		free_nothing(l, r, key, late);
		return;
	}
	i = hash_index(slot);
	if (l->removed.cap != 0)
		remember_removed(l, ix, list_seq(c, at), i);
	else
		l->removed.n++;
	if (UNLIKELY(rec_type(r) == TYPE_BY_REALLOC))
		store_undo(l, r, key, i);
	list_live_sub(l, r, key, store_size(&ix->store, i));
	take_out(l, ix, key, slot);
}

static __attribute__((noinline)) void
apply_undo(struct blklist *l, struct indexed *ix, const struct rec *r,
    uint32_t tag)
{
	uint64_t key = list_key(l, r);
	uint32_t *slot = find_record(l, ix, key, tag);
	enum undo_state did;
	struct blk b;

	if (*slot != 0) {
		if (list_older(rec_ticket(r),
		    store_ticket(&ix->store, hash_index(slot))))
			l->counts.late++;
		else
			l->counts.unknown_undo++;
		return;
	}
	did = list_undo_take(l, r, key, &b);
	if (did == UNDO_NONE)
		l->counts.unknown_undo++;
	else if (did == UNDO_BLOCK && indexed_put(l, key, &b) == 0)
		list_live_add(l, r, key, b.size);
	else if (did == UNDO_BLOCK) {
		l->counts.full++;
		list_tell(l, BLKLIST_UNDO_UNLISTED, &b, r);
	}
}

static inline void
end_in_range(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at, uint64_t key, uint32_t tag)
{
	uint32_t *slot = find_record(l, ix, key, tag);
	uint32_t i = hash_index(slot);

	l->counts.frees++;
	list_live_sub(l, &c->rec[at], key, store_size(&ix->store, i));
	if (l->removed.cap != 0)
		remember_removed(l, ix, list_seq(c, at), i);
	else
		l->removed.n++;
	take_out(l, ix, key, slot);
}

/*
 * Neighbours lie anywhere in the hash table: their buckets are fetched together,
 * so that a range of a million blocks ends within a cycle.
 */
static __attribute__((noinline)) void
apply_range(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at)
{
	const struct rec *r = &c->rec[at];
	uint64_t from = list_key_of(l, 1, rec_addr(r)), next = from;
	uint64_t key[RANGE_BATCH];
	uint32_t tag[RANGE_BATCH];
	unsigned n;

	do {
		for (n = 0; n < RANGE_BATCH && next - from < rec_size(r) &&
		    regions_next(&ix->regions, next, &next) &&
		    next - from < rec_size(r); n++) {
			key[n] = next++;
			tag[n] = hash_tag(&ix->hash, key[n]);
			fetch_bucket(ix, tag[n]);
		}
		for (unsigned i = 0; i < n; i++)
			fetch_found(ix, tag[i], hash_likely(&ix->hash, tag[i]));
		for (unsigned i = 0; i < n; i++)
			end_in_range(l, ix, c, at, key[i], tag[i]);
	} while (n == RANGE_BATCH);
}

static inline void
apply_one(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at, uint32_t tag)
{
	const struct rec *r = &c->rec[at];

	switch (rec_op(r)) {
	case REC_ALLOC:
		if (UNLIKELY(list_is_failed(l, r)))
			l->counts.failed++;
		else
			apply_alloc(l, ix, c, at, tag);
		break;
	case REC_FREE:
		apply_free(l, ix, c, at, tag);
		break;
	case REC_UNDO:
		apply_undo(l, ix, r, tag);
		break;
	case REC_RANGE:
		apply_range(l, ix, c, at);
		break;
	default:
		break;
	}
}

static inline uint32_t
tag_of(const struct blklist *l, const struct indexed *ix,
    const struct rec *r)
{
	return hash_tag(&ix->hash, list_key(l, r));
}

/* Most addresses of pairs are not listed: their bits are found with less work. */
static inline bool
is_listed(const struct blklist *l, const struct indexed *ix, const struct rec *r)
{
	return regions_may_have(&ix->regions, list_key(l, r)) &&
	    *find_record(l, ix, list_key(l, r), tag_of(l, ix, r)) != 0;
}

/* Counts adjacent pairs from i on; only one block is live at a time. */
static inline unsigned
apply_adjacent(struct blklist *l, struct indexed *ix,
    const struct list_chunk *c, unsigned i, unsigned end)
{
	const uint16_t *mate = ix->cancel.mate;
	uint64_t most = 0, n = 0;

	for (; i + 1 < end && mate[i] == i + 1; i += 2, n++) {
		const struct rec *alloc = &c->rec[i];

		if (UNLIKELY(is_listed(l, ix, alloc)))
			break;
		list_alloc_type(l, c, i);
		if (rec_size(alloc) > most)
			most = rec_size(alloc);
		if (UNLIKELY(l->extra)) {
			list_live_add(l, alloc, list_key(l, alloc),
			    rec_size(alloc));
			list_pair_sub(l, alloc, alloc + 1);
		}
	}
	l->counts.allocs += n;
	l->counts.frees += n;
	l->counts.cancelled += n;
	if (l->counts.live_bytes + most > l->counts.peak_bytes)
		l->counts.peak_bytes = l->counts.live_bytes + most;
	return i;
}

/* For a pair whose allocation replaces a listed block. */
static __attribute__((noinline)) void
dissolve_pair(struct cancel *c, unsigned alloc)
{
	c->mate[c->mate[alloc]] = CANCEL_NONE;
	c->mate[alloc] = CANCEL_NONE;
	c->pairs--;
}

/*
 * Applies the records from `at` on that are halves of pairs; returns the first
 * that is not.
 */
static inline unsigned
apply_pairs(struct blklist *l, struct indexed *ix, const struct list_chunk *c,
    unsigned at, unsigned end)
{
	const uint16_t *mate = ix->cancel.mate;

	for (;;) {
		at = apply_adjacent(l, ix, c, at, end);
		if (at == end || mate[at] == CANCEL_NONE)
			return at;
		if (at > mate[at])
			list_pair_free(l, &c->rec[mate[at]], &c->rec[at]);
		else if (!is_listed(l, ix, &c->rec[at]))
			list_pair_alloc(l, c, at);
		else {
			dissolve_pair(&ix->cancel, at);
			return at;
		}
		at++;
	}
}

static void
apply_simple(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned pairs)
{
	const uint16_t *mate = ix->cancel.mate;

	for (unsigned i = 0; i < c->n; i++) {
		if (pairs > 0 && mate[i] != CANCEL_NONE)
			i = apply_pairs(l, ix, c, i, c->n);
		if (i < c->n)
			apply_one(l, ix, c, i, tag_of(l, ix, &c->rec[i]));
	}
}

FETCH
fetch_slot(const struct blklist *l, struct indexed *ix, const struct rec *r,
    uint32_t *tag)
{
	*tag = tag_of(l, ix, r);
	fetch_bucket(ix, *tag);
	regions_prefetch(&ix->regions, list_key(l, r));
}

/* The record in the home bucket, or any; by arithmetic, without a branch. */
static inline uint32_t
likely_record(const struct indexed *ix, const struct rec *r, uint32_t tag)
{
	return hash_likely(&ix->hash, tag) & -(uint32_t)(rec_op(r) != REC_ALLOC);
}

FETCH
fetch_node(const struct indexed *ix, const struct rec *r, uint32_t tag)
{
	fetch_found(ix, tag, likely_record(ix, r, tag));
}

FETCH
fetch_age(const struct indexed *ix, const struct rec *r, uint32_t tag)
{
	/* In a free record pos is anything; prefetching is harmless. */
	uint32_t pos = ix->store.node[likely_record(ix, r, tag)].pos & ~STORE_FREE;

	__builtin_prefetch(&ix->age.bits[pos >> 6], 1);
}

static __attribute__((noinline)) void
apply_dissolved(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at)
{
	apply_one(l, ix, c, at, tag_of(l, ix, &c->rec[at]));
}

/* Applies pairs up to the next record that was in none; returns that record. */
static __attribute__((noinline)) unsigned
apply_pairs_until(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at, unsigned end)
{
	while ((at = apply_pairs(l, ix, c, at, end)) < end)
		apply_dissolved(l, ix, c, at++);
	return at;
}

static void
apply_prefetching(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned pairs)
{
	const uint16_t *mate = ix->cancel.mate;
	uint16_t *todo = ix->todo;
	uint32_t *tag = ix->tag;
	bool deeper = l->counts.aRecActive >= DEEPER;
	unsigned n = 0, at = 0;

	for (unsigned i = 0; i < c->n; i++) {
		todo[n] = (uint16_t)i;
		n += pairs == 0 || mate[i] == CANCEL_NONE;
	}
	for (unsigned t = 0; t < FETCH_SLOT && t < n; t++)
		fetch_slot(l, ix, &c->rec[todo[t]], &tag[t]);
	for (unsigned t = 0; t < n; t++) {
		if (t + FETCH_SLOT < n)
			fetch_slot(l, ix, &c->rec[todo[t + FETCH_SLOT]],
			    &tag[t + FETCH_SLOT]);
		if (t + FETCH_NODE < n)
			fetch_node(ix, &c->rec[todo[t + FETCH_NODE]],
			    tag[t + FETCH_NODE]);
		if (deeper && t + FETCH_AGE < n)
			fetch_age(ix, &c->rec[todo[t + FETCH_AGE]],
			    tag[t + FETCH_AGE]);
		if (at < todo[t])
			at = apply_pairs_until(l, ix, c, at, todo[t]);
		apply_one(l, ix, c, at++, tag[t]);
	}
	if (at < c->n)
		(void)apply_pairs_until(l, ix, c, at, c->n);
}

/* A bit for each of four in a pair: only CANCEL_NONE has the high bit. */
static uint64_t
pair_bits(const uint16_t mate[4])
{
	uint64_t four = (uint64_t)mate[0] | (uint64_t)mate[1] << 16 |
	    (uint64_t)mate[2] << 32 | (uint64_t)mate[3] << 48;

	return ((~four >> 15 & UINT64_C(0x0001000100010001)) *
	    UINT64_C(0x0001000200040008)) >> 48 & 0xf;
}

static void
mark_left_out(struct indexed *ix, const struct list_chunk *c)
{
	uint16_t *mate = ix->cancel.mate;

	for (unsigned i = c->n; i % 4 != 0; i++)
		mate[i] = CANCEL_NONE;
	for (unsigned i = 0; i < c->n; i += 4)
		c->left_out[(c->at + i) / 64] |= pair_bits(mate + i) <<
		    (c->at + i) % 64;
}

static unsigned
indexed_apply(struct blklist *l, struct list_chunk *c)
{
	struct indexed *ix = l->impl;
	unsigned pairs = 0;

	if (c->cancel && c->n > 1)
		pairs = cancel_pairs(&ix->cancel, l, c->rec, c->n,
		    ix->hash.seed);
	if (l->counts.aRecActive >= DEEP)
		apply_prefetching(l, ix, c, pairs);
	else
		apply_simple(l, ix, c, pairs);
	if (pairs > 0) {
		pairs = ix->cancel.pairs;
		if (c->left_out != NULL)
			mark_left_out(ix, c);
	}
	if (UNLIKELY(indexed_is_loose(l, ix)))
		indexed_trim(l, ix);
	return pairs;
}

static int
indexed_take(struct blklist *l, uint64_t key, uint64_t *size)
{
	struct indexed *ix = l->impl;
	uint32_t *slot = find_record(l, ix, key, hash_tag(&ix->hash, key));

	if (*slot == 0)
		return -ENOENT;
	*size = store_size(&ix->store, hash_index(slot));
	take_out(l, ix, key, slot);
	return 0;
}

static void
indexed_prefault(struct blklist *l)
{
	struct indexed *ix = l->impl;

	(void)store_prefault_ahead(&ix->store);
	(void)age_prefault_ahead(&ix->age);
	(void)hash_prefault_ahead(&ix->hash);
}

static bool
indexed_restore_order(struct blklist *l, uint32_t work)
{
	struct indexed *ix = l->impl;

	return age_restore_part(&ix->age, ix->store.node, l->key_mask, work);
}

static void
indexed_row(const struct indexed *ix, uint32_t i, struct blk *out)
{
	const struct store_node *n = &ix->store.node[i];
	const struct rec r = { { n->w[0], n->w[1], 0, n->w3 } };

	*out = (struct blk){
		.addr = rec_addr(&r),
		.size = rec_size(&r),
		.seq = age_seq(&ix->age, n),
		.ms = age_ms(&ix->age, n),
		.caller = rec_caller(&r),
		.ticket = n->ticket,
		.thread = (uint16_t)rec_thread(&r),
		.overhead = (uint16_t)rec_overhead(&r),
		.info = ix->store.any_info ? ix->store.info[i] : 0,
		.flags = (uint8_t)rec_flags(&r),
		.type = (uint8_t)rec_type(&r),
	};
}

static struct indexed *
in_order(const struct blklist *l)
{
	struct indexed *ix = l->impl;

	if (age_is_unsorted(&ix->age))
		age_restore(&ix->age, ix->store.node, l->key_mask);
	return ix;
}

static uint32_t
index_of(const struct blklist *l, uint64_t key)
{
	const struct indexed *ix = l->impl;
	const uint32_t *slot = hash_find(&ix->hash, hash_tag(&ix->hash, key),
	    ix->store.node, key, l->key_mask);

	return *slot != 0 ? hash_index(slot) : STORE_NONE;
}

/* The next key; keys of layer 0 end before the layer's bit. */
static uint64_t
key_after(uint64_t key)
{
	if ((key & REC_ADDR_MASK) != REC_ADDR_MASK)
		return key + 1;
	return key >> LIST_LAYER_BIT & 1 ? UINT64_MAX :
	    UINT64_C(1) << LIST_LAYER_BIT;
}

#define AT_A_TIME 16		/* rows: memory for them is fetched in parallel */

static void
rows_of(const struct indexed *ix, const uint32_t *index, size_t n,
    struct blk *out)
{
	for (size_t i = 0; i < n; i++)
		indexed_row(ix, index[i], &out[i]);
}

static void
fetch_record(const struct indexed *ix, uint32_t i)
{
	const struct store_node *n = &ix->store.node[i];

	__builtin_prefetch(&n->w[0]);
	__builtin_prefetch(&n->ms);
}

/* Up to n keys from *key on; *key becomes where to go on, or UINT64_MAX. */
static size_t
keys_from(const struct indexed *ix, uint64_t *key, uint64_t *out, size_t n)
{
	size_t i = 0;

	while (i < n && *key != UINT64_MAX) {
		uint32_t tag;
		const struct hash_table *t;

		if (!regions_next(&ix->regions, *key, &out[i])) {
			*key = UINT64_MAX;
			break;
		}
		tag = hash_tag(&ix->hash, out[i]);
		t = hash_table(&ix->hash, tag);
		__builtin_prefetch(&t->bucket[hash_home(t, tag)]);
		*key = key_after(out[i++]);
	}
	return i;
}

static size_t
rows_from(const struct blklist *l, uint64_t key, struct blk *out, size_t n)
{
	const struct indexed *ix = l->impl;
	uint64_t keys[AT_A_TIME];
	uint32_t index[AT_A_TIME];
	size_t done = 0, count;

	do {
		count = n - done < AT_A_TIME ? n - done : AT_A_TIME;
		count = keys_from(ix, &key, keys, count);
		for (size_t i = 0; i < count; i++)
			fetch_record(ix, hash_likely(&ix->hash,
			    hash_tag(&ix->hash, keys[i])));
		for (size_t i = 0; i < count; i++)
			index[i] = index_of(l, keys[i]);
		rows_of(ix, index, count, out + done);
		done += count;
	} while (done < n && key != UINT64_MAX);
	return done;
}

static size_t
indexed_window(const struct blklist *l, enum blklist_order order,
    uint32_t first, struct blk *out, size_t n)
{
	const struct indexed *ix;
	uint32_t pos;

	if (order == BLKLIST_BY_ADDRESS) {
		ix = l->impl;
		return rows_from(l, regions_select(&ix->regions, first), out,
		    n);
	}
	ix = in_order(l);
	pos = age_select(&ix->age, first);
	for (size_t done = 0, count; done < n; done += count) {
		uint32_t index[AT_A_TIME];

		count = n - done < AT_A_TIME ? n - done : AT_A_TIME;
		for (size_t i = 0; i < count; i++) {
			pos = age_next(&ix->age, pos);
			index[i] = ix->age.ord[pos++];
			fetch_record(ix, index[i]);
		}
		rows_of(ix, index, count, out + done);
	}
	return n;
}

static size_t
indexed_after(const struct blklist *l, bool from_start, uint64_t key,
    struct blk *out, size_t n)
{
	return rows_from(l, from_start ? 0 : key_after(key), out, n);
}

static int
indexed_get(const struct blklist *l, uint64_t key, struct blk *out)
{
	const struct indexed *ix = l->impl;
	uint32_t i = index_of(l, key);

	if (i == STORE_NONE)
		return -ENOENT;
	indexed_row(ix, i, out);
	return 0;
}

static int64_t
indexed_rank(const struct blklist *l, enum blklist_order order, uint64_t key)
{
	const struct indexed *ix = l->impl;
	uint32_t i = index_of(l, key);

	if (i == STORE_NONE)
		return -ENOENT;
	if (order == BLKLIST_BY_ADDRESS)
		return regions_rank(&ix->regions, key);
	ix = in_order(l);
	return age_rank(&ix->age, ix->store.node[i].pos);
}

static size_t
indexed_memory(const struct blklist *l)
{
	const struct indexed *ix = l->impl;

	return sizeof(*ix) + store_memory(&ix->store) +
	    hash_memory(&ix->hash) + age_memory(&ix->age) +
	    regions_memory(&ix->regions);
}

static const char *
check_store(const struct blklist *l, const struct indexed *ix)
{
	const struct store *s = &ix->store;
	uint64_t nfree = s->max - s->fresh;

	for (uint32_t p = s->free, i; p != STORE_NONE; p = s->node[i].pos) {
		i = p & ~STORE_FREE;
		if (i >= s->fresh || (p & STORE_FREE) == 0)
			return "the free list leaves what has been used";
		if (++nfree > s->max)
			return "the free list has no end";
	}
	return nfree + l->counts.aRecActive == s->max ? NULL :
	    "aRecActive and free are not aRecMax";
}

/* Bits, counts, ord and records agree, in order unless it is unsorted. */
static const char *
check_age(const struct blklist *l, const struct indexed *ix)
{
	const struct age *a = &ix->age;
	uint64_t last_seq = 0, last_key = 0;
	uint32_t live = 0, in_chunk = 0;
	uint64_t bytes = 0;

	if (a->next >= a->end)
		return "positions have run out";
	for (uint32_t pos = 0; pos < a->end; pos++) {
		if (a->bits[pos >> 6] == 0 && (pos & 63) == 0)
			pos += 63;
		else if (age_is_live(a, pos)) {
			const struct store_node *n = &ix->store.node[a->ord[pos]];

			if (pos >= a->next)
				return "a position beyond the last is live";
			if (n->pos != pos)
				return "a record does not know its position";
			uint64_t seq = age_seq(a, n), key = n->w[0] & l->key_mask;

			if (!age_is_unsorted(a) && live > 0 &&
			    (int64_t)seq <= (int64_t)last_seq &&
			    (seq != last_seq || key <= last_key))
				return "positions are not in the order of age";
			if ((int64_t)seq > a->newest)
				return "a block is newer than the newest";
			last_seq = seq;
			last_key = key;
			bytes += n->w[1] & REC_ADDR_MASK;
			live++;
			in_chunk++;
		}
		if ((pos & (AGE_CHUNK - 1)) == AGE_CHUNK - 1) {
			if (in_chunk != a->chunk[pos >> AGE_CHUNK_SHIFT])
				return "a chunk of ages is miscounted";
			in_chunk = 0;
		}
	}
	if (live != l->counts.aRecActive || live != a->live)
		return "not all blocks have an age, or some have two";
	return bytes == l->counts.live_bytes ? NULL :
	    "live bytes are not those of the blocks";
}

/* Every key in address order is in the hash, and no others. */
static const char *
check_keys(const struct blklist *l, const struct indexed *ix)
{
	const char *bad = regions_check(&ix->regions);
	uint64_t key = 0;
	uint32_t n = 0, i;

	if (bad != NULL)
		return bad;
	while (key != UINT64_MAX && regions_next(&ix->regions, key, &key)) {
		i = index_of(l, key);
		if (i == STORE_NONE)
			return "a block in address order is not in the hash";
		if (!age_is_live(&ix->age, ix->store.node[i].pos))
			return "a block in address order has no age";
		n++;
		key = key_after(key);
	}
	if (n != l->counts.aRecActive)
		return "not all blocks are in address order";
	return ix->hash.n == n ? NULL : "the hash is miscounted";
}

/* True if the search for this tag comes to bucket p. */
static bool
comes_by(const struct hash_table *t, uint32_t tag, const struct hash_bucket *p)
{
	const struct hash_bucket *b = &t->bucket[hash_home(t, tag)];

	if (b < p)
		return false;
	while (b > p)
		if (hash_match(b--, 0) != 0)
			return false;
	return true;
}

/* The search for every key of a bucket comes to it. */
static const char *
check_bucket(const struct hash *h, const struct hash_bucket *p, uint32_t *n)
{
	for (unsigned i = 0; i < HASH_WIDTH; i++) {
		uint32_t tag = p->word[i];

		if ((tag == 0) != (p->word[HASH_WIDTH + i] == 0))
			return "half an entry of the hash is free";
		if (tag == 0)
			continue;
		if (!comes_by(hash_table(h, tag), tag, p))
			return "a search ends before its entry";
		++*n;
	}
	return NULL;
}

static const char *
check_table(const struct hash *h, const struct hash_table *t, uint32_t *n)
{
	const struct hash_bucket *p = t->bucket + t->n;
	const char *bad = NULL;

	do
		bad = check_bucket(h, --p, n);
	while (bad == NULL && (p > t->bucket || hash_match(p, 0) == 0));
	return bad;
}

static const char *
check_hash(const struct indexed *ix)
{
	const struct hash *h = &ix->hash;
	const char *bad = NULL;
	uint32_t n = 0;

	if (h->old.bucket != NULL && !hash_in_place(h))
		bad = check_table(h, &h->old, &n);
	if (bad == NULL)
		bad = check_table(h, &h->now, &n);
	if (bad == NULL && n != h->n)
		bad = "entries of the hash are miscounted";
	return bad;
}

static int
indexed_check(const struct blklist *l, char *why, size_t cap)
{
	const struct indexed *ix = l->impl;
	const char *bad = check_store(l, ix);

	if (bad == NULL)
		bad = check_age(l, ix);
	if (bad == NULL)
		bad = check_hash(ix);
	if (bad == NULL)
		bad = check_keys(l, ix);
	if (bad == NULL)
		return 0;
	snprintf(why, cap, "%s", bad);
	return -EFAULT;
}

/*
 * When a long list has become short, the records in use move to the front of
 * the store and positions close up, and the pages behind them are given back:
 * at most one move for 31 frees.
 */

static bool
in_use(const struct indexed *ix, uint32_t i)
{
	uint32_t pos = ix->store.node[i].pos;

	return pos < ix->age.next && age_is_live(&ix->age, pos) &&
	    ix->age.ord[pos] == i;
}

static void
move_record(const struct blklist *l, struct indexed *ix, uint32_t from,
    uint32_t to)
{
	struct store_node *node = ix->store.node, moved = node[from];
	uint64_t key = node[from].w[0] & l->key_mask;
	uint32_t *slot;

	slot = hash_find(&ix->hash, hash_tag(&ix->hash, key), node, key,
	    l->key_mask);
	assert(*slot != 0 && hash_index(slot) == from);
	moved.pos = node[to].pos;
	node[to] = moved;
	if (ix->store.any_info)
		ix->store.info[to] = ix->store.info[from];
	/* Until the cut it is there twice. */
	store_set_pos(&node[to], node[from].pos);
	*slot = to + 1;
	ix->age.ord[node[to].pos] = to;
}

static void
indexed_trim(struct blklist *l, struct indexed *ix)
{
	struct age *a = &ix->age;
	uint32_t active = l->counts.aRecActive, to = 0, pos = 0;

	for (uint32_t n = 0; n < active; n++) {
		pos = age_next(a, pos);
		if (a->ord[pos] >= active) {
			while (in_use(ix, to))
				to++;
			move_record(l, ix, a->ord[pos], to++);
		}
		pos++;
	}
	store_cut(&ix->store, active);
	age_restore(a, ix->store.node, l->key_mask);
}

/*
 * Brings the list of a killed process back to its commit.
 *
 * Records tell whether they are listed, at any instruction: one that is being
 * filled is not yet; one that is being replaced or removed is in the ring of
 * removed blocks already.  The rest is done as in any list, so a kill while
 * resuming leaves a list that can be resumed in the same way.
 */
#define RESUME_AHEAD 16		/* records fetched ahead */

/* A block that a realloc had removed at the commit: not in the list. */
struct pending_block {
	uint64_t key, seq;
};

struct pending_blocks {
	struct pending_block *of;
	size_t n;
};

static int
compare_pending(const void *va, const void *vb)
{
	const struct pending_block *a = va, *b = vb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int
pending_blocks_init(struct pending_blocks *a, const struct blklist *l)
{
	*a = (struct pending_blocks){ 0 };
	a->of = calloc(l->undo.used + 1, sizeof(*a->of));
	if (a->of == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < l->undo.used; i++)
		if (l->undo.of[i].state == UNDO_BLOCK)
			a->of[a->n++] = (struct pending_block){
				l->undo.of[i].key, l->undo.of[i].blk.seq };
	qsort(a->of, a->n, sizeof(*a->of), compare_pending);
	return 0;
}

static bool
is_pending(const struct pending_blocks *a, uint64_t key, uint64_t seq)
{
	struct pending_block one = { key, seq };

	return bsearch(&one, a->of, a->n, sizeof(one), compare_pending) != NULL;
}

static void
drop_record(struct indexed *ix, uint32_t i)
{
	store_set_pos(&ix->store.node[i], STORE_NONE);
}

static void
fetch_record_of(const struct blklist *l, struct indexed *ix, uint32_t i)
{
	const struct store_node *n = &ix->store.node[i];
	uint64_t key = n->w[0] & l->key_mask;
	uint32_t tag = hash_tag(&ix->hash, key);
	const struct hash_table *t = hash_table(&ix->hash, tag);

	__builtin_prefetch(&t->bucket[hash_home(t, tag)], 1);
	regions_prefetch(&ix->regions, key);
	__builtin_prefetch(&ix->age.ord[n->pos & (STORE_FREE - 1)], 1);
}

/* Adds a listed record older than the commit to the tables. */
static int
adopt_record(struct blklist *l, struct indexed *ix, uint32_t i, uint64_t seq)
{
	const struct store_node *n = &ix->store.node[i];
	uint64_t key = n->w[0] & l->key_mask;
	uint32_t tag = hash_tag(&ix->hash, key), *slot;

	if (!hash_room(&ix->hash))
		return -ENOMEM;
	slot = hash_find(&ix->hash, tag, ix->store.node, key, l->key_mask);
	if (*slot != 0) {
		/* It was being moved, and is there twice. */
		if (age_seq(&ix->age, &ix->store.node[hash_index(slot)]) != seq)
			return -ESTALE;
		drop_record(ix, i);
		return 0;
	}
	if (!age_adopt(&ix->age, n, i))
		return -ESTALE;
	if (regions_add(&ix->regions, key) != 0)
		return -ENOMEM;
	hash_insert(&ix->hash, slot, tag, i);
	ix->store.fresh = i + 1;
	l->counts.aRecActive++;
	l->counts.live_bytes += store_size(&ix->store, i);
	return 0;
}

static int
adopt_all(struct blklist *l, struct indexed *ix, uint64_t next)
{
	uint32_t end = ix->store.present;

	for (uint32_t i = 0; i < end; i++) {
		const struct store_node *n = &ix->store.node[i];
		uint64_t seq;
		int r;

		if (i + RESUME_AHEAD < end)
			fetch_record_of(l, ix, i + RESUME_AHEAD);
		if (!store_is_listed(n))
			continue;
		if (n->pos >= ix->age.cap)
			return -ESTALE;
		seq = age_seq(&ix->age, n);
		if ((int64_t)seq >= (int64_t)next) {
			drop_record(ix, i);
			continue;
		}
		r = adopt_record(l, ix, i, seq);
		if (r != 0)
			return r;
	}
	return 0;
}

/* Chains the free records before the last listed one, the first one first. */
static void
chain_free(struct indexed *ix)
{
	struct store *s = &ix->store;

	for (uint32_t i = s->fresh; i-- > 0;)
		if (!store_is_listed(&s->node[i]))
			store_give(s, i);
}

static int
remove_pending(struct blklist *l, const struct pending_blocks *a)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct pending_block *one = &a->of[i];
		uint64_t size;
		struct blk b;

		if (l->ops->get(l, one->key, &b) != 0 || b.seq != one->seq)
			continue;
		if (l->ops->take(l, one->key, &size) != 0)
			return -ESTALE;
		l->counts.live_bytes -= size;
	}
	return 0;
}

static int
restore_removed(struct blklist *l, const struct pending_blocks *a,
    const struct list_removed *r, uint64_t next)
{
	uint64_t key = r->w[0] & l->key_mask;
	struct blk b, there;
	int e;

	list_removed_blk(r, &b);
	if ((int64_t)b.seq >= (int64_t)next || is_pending(a, key, b.seq))
		return 0;
	if (l->ops->get(l, key, &there) == 0)
		return there.seq == b.seq ? 0 : -ESTALE;
	e = l->ops->put(l, key, &b);
	if (e != 0)
		return e == -ENOMEM ? e : -ESTALE;
	l->counts.live_bytes += list_blk_size(&b);
	return 0;
}

static int
revert_changes(struct blklist *l, const struct list_slot *s, uint32_t since,
    uint64_t next)
{
	struct pending_blocks a;
	int r = pending_blocks_init(&a, l);

	if (r == 0)
		r = remove_pending(l, &a);
	for (uint32_t i = 0; r == 0 && i < since; i++)
		r = restore_removed(l, &a, &l->removed.ring[(s->removed_n + i) &
		    (l->removed.cap - 1)], next);
	free(a.of);
	return r;
}

static int
indexed_reopen(struct blklist *l, const struct list_slot *s, uint32_t since,
    uint64_t next)
{
	struct indexed *ix = l->impl;
	int r;

	store_reopen(&ix->store);
	r = age_reopen(&ix->age, ix->store.node, ix->store.present, l->key_mask);
	if (r == 0)
		r = adopt_all(l, ix, next);
	if (r != 0)
		return r;
	chain_free(ix);
	age_close(&ix->age, ix->store.node, l->key_mask);
	r = revert_changes(l, s, since, next);
	if (r == 0 && ix->age.unsorted)
		age_restore(&ix->age, ix->store.node, l->key_mask);
	return r;
}

const struct list_ops list_indexed = {
	.open = indexed_open,
	.close = indexed_close,
	.apply = indexed_apply,
	.prefault = indexed_prefault,
	.restore_order = indexed_restore_order,
	.window = indexed_window,
	.after = indexed_after,
	.get = indexed_get,
	.rank = indexed_rank,
	.put = indexed_put,
	.take = indexed_take,
	.clear = indexed_clear,
	.memory = indexed_memory,
	.check = indexed_check,
	.reopen = indexed_reopen,
};
