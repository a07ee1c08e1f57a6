/*
 * The indexed list: records in.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "indexed.h"

/*
 * From this many blocks on the tables no longer fit the near caches and
 * fetching ahead pays; below it only costs.  A record is made ready in three
 * looks, each needing what the one before has brought.
 */
#define DEEP 65536
#define DEEPER (UINT32_C(1) << 21)	/* and the bits of ages no longer do */
#define AHEAD_SLOT 24
#define AHEAD_NODE 14
#define AHEAD_AGE 7

/*
 * gcc 12 takes a function that only fetches ahead for one without effect and
 * drops the call, unless it has been inlined by then.
 */
#define AHEAD static inline __attribute__((always_inline)) void

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

static int
indexed_open(struct blklist *l)
{
	struct indexed *ix = calloc(1, sizeof(*ix));
	uint64_t seed = 0;
	int err = -ENOMEM;

	if (ix == NULL)
		return -ENOMEM;
	/* Without it keys still scatter; it only is no secret how. */
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

/* The entry of the key, a free one if it is not listed. */
static inline uint32_t *
find(const struct blklist *l, const struct indexed *ix, uint64_t key,
    uint32_t tag)
{
	return hash_find(&ix->hash, tag, ix->store.node, key, l->key_mask);
}

/*
 * Makes room for a block of this key in the orders and takes its record,
 * which the caller fills before link_in().  STORE_NONE when there is none.
 */
static inline uint32_t
claim(struct indexed *ix, uint64_t key)
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

	/* First of all, for it may end the runs that its age is known by. */
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
	uint32_t *slot = find(l, ix, key, tag);

	if (*slot != 0)
		return -EEXIST;
	i = room ? claim(ix, key) : STORE_NONE;
	if (i == STORE_NONE)
		return -ENOSPC;
	store_fill(&ix->store, i, b);
	link_in(l, ix, slot, tag, i, b->seq, b->ms);
	return 0;
}

static inline void
fill(struct blklist *l, struct indexed *ix, struct list_chunk *c, unsigned at,
    uint32_t i)
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

/* An allocation of a key that is listed. */
static __attribute__((noinline)) void
replace(struct blklist *l, struct list_chunk *c, unsigned at, uint32_t i)
{
	struct indexed *ix = l->impl;
	const struct rec *r = &c->rec[at];
	uint64_t key = list_key(l, r);
	uint32_t pos = ix->store.node[i].pos;
	struct blk was;

	if (list_older(rec_ticket(r), store_ticket(&ix->store, i))) {
		l->counts.late++;
		return;
	}
	indexed_row(ix, i, &was);
	list_removed_row(l, list_seq(c, at), &was);
	l->counts.duplicate++;
	list_live_sub(l, r, key, was.size);
	list_live_add(l, r, key, rec_size(r));
	/* While it is neither of the two it is not listed. */
	store_set_pos(&ix->store.node[i], STORE_NONE);
	age_remove(&ix->age, pos);
	list_in_order();
	fill(l, ix, c, at, i);
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
	slot = find(l, ix, key, tag);
	if (UNLIKELY(*slot != 0)) {
		replace(l, c, at, hash_index(slot));
		return;
	}
	i = LIKELY(room) ? claim(ix, key) : STORE_NONE;
	if (UNLIKELY(i == STORE_NONE)) {
		l->counts.full++;
		return;
	}
	fill(l, ix, c, at, i);
	link_in(l, ix, slot, tag, i, list_seq(c, at), list_ms(c, at));
	list_live_add(l, r, key, rec_size(r));
}

/* A free that finds no block, or a younger one. */
static __attribute__((noinline)) void
free_nothing(struct blklist *l, const struct rec *r, uint64_t key, bool late)
{
	enum limbo_state did;

	if (late) {
		did = LIMBO_LATE;
		l->counts.late++;
	} else if (l->since_click) {
		did = LIMBO_EARLIER;
		l->counts.earlier++;
	} else {
		did = LIMBO_UNKNOWN;
		l->counts.unknown_free++;
	}
	if (rec_type(r) == TYPE_BY_REALLOC)
		list_limbo_keep(l, r, key, did, NULL);
}

/* The block that a record ends, for whoever may ask for it. */
static inline void
keep_removed(struct blklist *l, const struct indexed *ix, uint64_t seq,
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

/* The realloc that this free begins may yet be taken back. */
static __attribute__((noinline)) void
keep_limbo(struct blklist *l, const struct rec *r, uint64_t key, uint32_t i)
{
	struct blk b;

	indexed_row(l->impl, i, &b);
	list_limbo_keep(l, r, key, LIMBO_BLOCK, &b);
}

static inline void
apply_free(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at, uint32_t tag)
{
	const struct rec *r = &c->rec[at];
	uint64_t key = list_key(l, r);
	uint32_t *slot = find(l, ix, key, tag);
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
	if (l->removed_cap != 0)
		keep_removed(l, ix, list_seq(c, at), i);
	else
		l->removed_n++;
	if (UNLIKELY(rec_type(r) == TYPE_BY_REALLOC))
		keep_limbo(l, r, key, i);
	list_live_sub(l, r, key, store_size(&ix->store, i));
	take_out(l, ix, key, slot);
}

static __attribute__((noinline)) void
apply_undo(struct blklist *l, struct indexed *ix, const struct rec *r,
    uint32_t tag)
{
	uint64_t key = list_key(l, r);
	uint32_t *slot = find(l, ix, key, tag);
	enum limbo_state did;
	struct blk b;

	if (*slot != 0) {
		if (list_older(rec_ticket(r),
		    store_ticket(&ix->store, hash_index(slot))))
			l->counts.late++;
		else
			l->counts.unknown_undo++;
		return;
	}
	did = list_limbo_take(l, r, key, &b);
	if (did == LIMBO_NONE)
		l->counts.unknown_undo++;
	else if (did == LIMBO_BLOCK && indexed_put(l, key, &b) == 0)
		list_live_add(l, r, key, b.size);
	else if (did == LIMBO_BLOCK)
		l->counts.full++;
}

static __attribute__((noinline)) void
apply_range(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned at)
{
	const struct rec *r = &c->rec[at];
	uint64_t from = list_key_of(l, 1, rec_addr(r)), key = from;
	uint32_t *slot, i;

	while (regions_next(&ix->regions, key, &key) &&
	    key - from < rec_size(r)) {
		slot = find(l, ix, key, hash_tag(&ix->hash, key));
		i = hash_index(slot);
		l->counts.frees++;
		list_live_sub(l, r, key, store_size(&ix->store, i));
		if (l->removed_cap != 0)
			keep_removed(l, ix, list_seq(c, at), i);
		else
			l->removed_n++;
		take_out(l, ix, key, slot);
	}
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

/*
 * Halves of pairs, from `at` on, before `end`; returns the first that is none.
 * As pairs come out of a ring, nearly all of them are whole ones.
 */
static inline unsigned
apply_pairs(struct blklist *l, const struct list_chunk *c, const uint16_t *mate,
    unsigned at, unsigned end)
{
	for (;;) {
		at = list_pairs(l, c, mate, at, end);
		if (at == end || mate[at] == CANCEL_NONE)
			return at;
		if (at < mate[at])
			list_pair_alloc(l, c, at);
		else
			list_pair_free(l, &c->rec[mate[at]]);
		at++;
	}
}

static inline uint32_t
tag_of(const struct blklist *l, const struct indexed *ix,
    const struct rec *r)
{
	return hash_tag(&ix->hash, list_key(l, r));
}

/* --- few blocks: record by record --------------------------------------- */

static void
apply_shallow(struct blklist *l, struct indexed *ix, struct list_chunk *c,
    unsigned pairs)
{
	const uint16_t *mate = ix->cancel.mate;

	for (unsigned i = 0; i < c->n; i++) {
		if (pairs > 0 && mate[i] != CANCEL_NONE)
			i = apply_pairs(l, c, mate, i, c->n);
		if (i < c->n)
			apply_one(l, ix, c, i, tag_of(l, ix, &c->rec[i]));
	}
}

/* --- many blocks: what a record needs is fetched ahead ------------------- */

AHEAD
ahead_slot(const struct blklist *l, struct indexed *ix, const struct rec *r,
    uint32_t *tag)
{
	const struct hash_table *t;

	*tag = tag_of(l, ix, r);
	t = hash_table(&ix->hash, *tag);
	__builtin_prefetch(&t->bucket[hash_home(t, *tag)], 1);
	regions_prefetch(&ix->regions, list_key(l, r));
}

/*
 * The record is in the home bucket, as a rule; where it is not, some other is
 * as good.  An allocation has none yet: it gets the one that is known to be
 * near, by arithmetic, for no branch could be foretold here.
 */
static inline const struct store_node *
ahead_find(const struct indexed *ix, const struct rec *r, uint32_t tag)
{
	uint32_t found = hash_likely(&ix->hash, tag);

	return &ix->store.node[found & -(uint32_t)(rec_op(r) != REC_ALLOC)];
}

AHEAD
ahead_node(const struct indexed *ix, const struct rec *r, uint32_t tag)
{
	const struct store_node *n = ahead_find(ix, r, tag);

	__builtin_prefetch(hash_ends_in(&ix->hash, tag), 1);
	__builtin_prefetch(&n->w[0], 1);
	__builtin_prefetch(&n->pos, 1);
}

AHEAD
ahead_age(const struct indexed *ix, const struct rec *r, uint32_t tag)
{
	/* Of a free record, pos is anything; fetching ahead is harmless. */
	uint32_t pos = ahead_find(ix, r, tag)->pos & ~STORE_FREE;

	__builtin_prefetch(&ix->age.bits[pos >> 6], 1);
}

static void
apply_deep(struct blklist *l, struct indexed *ix, struct list_chunk *c,
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
	for (unsigned t = 0; t < AHEAD_SLOT && t < n; t++)
		ahead_slot(l, ix, &c->rec[todo[t]], &tag[t]);
	for (unsigned t = 0; t < n; t++) {
		if (t + AHEAD_SLOT < n)
			ahead_slot(l, ix, &c->rec[todo[t + AHEAD_SLOT]],
			    &tag[t + AHEAD_SLOT]);
		if (t + AHEAD_NODE < n)
			ahead_node(ix, &c->rec[todo[t + AHEAD_NODE]],
			    tag[t + AHEAD_NODE]);
		if (deeper && t + AHEAD_AGE < n)
			ahead_age(ix, &c->rec[todo[t + AHEAD_AGE]],
			    tag[t + AHEAD_AGE]);
		if (at < todo[t])
			at = apply_pairs(l, c, mate, at, todo[t]);
		apply_one(l, ix, c, at++, tag[t]);
	}
	if (at < c->n)
		(void)apply_pairs(l, c, mate, at, c->n);
}

/*
 * Four at a time: an index in the chunk has no high bit, CANCEL_NONE has.  A
 * multiplication brings the four bits together.
 */
static uint64_t
in_pairs(const uint16_t mate[4])
{
	uint64_t four = (uint64_t)mate[0] | (uint64_t)mate[1] << 16 |
	    (uint64_t)mate[2] << 32 | (uint64_t)mate[3] << 48;

	return ((~four >> 15 & UINT64_C(0x0001000100010001)) *
	    UINT64_C(0x0001000200040008)) >> 48 & 0xf;
}

static void
tell_left_out(struct indexed *ix, const struct list_chunk *c)
{
	uint16_t *mate = ix->cancel.mate;

	for (unsigned i = c->n; i % 4 != 0; i++)
		mate[i] = CANCEL_NONE;
	for (unsigned i = 0; i < c->n; i += 4)
		c->left_out[(c->at + i) / 64] |= in_pairs(mate + i) <<
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
	if (pairs > 0 && c->left_out != NULL)
		tell_left_out(ix, c);
	if (l->counts.aRecActive >= DEEP)
		apply_deep(l, ix, c, pairs);
	else
		apply_shallow(l, ix, c, pairs);
	if (UNLIKELY(indexed_is_loose(l, ix)))
		indexed_trim(l, ix);
	return pairs;
}

static int
indexed_take(struct blklist *l, uint64_t key, uint64_t *size)
{
	struct indexed *ix = l->impl;
	uint32_t *slot = find(l, ix, key, hash_tag(&ix->hash, key));

	if (*slot == 0)
		return -ENOENT;
	*size = store_size(&ix->store, hash_index(slot));
	take_out(l, ix, key, slot);
	return 0;
}

static void
indexed_ahead(struct blklist *l)
{
	struct indexed *ix = l->impl;

	(void)store_ahead(&ix->store);
	(void)age_ahead(&ix->age);
	(void)hash_ahead(&ix->hash);
}

static bool
indexed_mend(struct blklist *l, uint32_t work)
{
	struct indexed *ix = l->impl;

	return age_mend_part(&ix->age, ix->store.node, l->key_mask, work);
}

const struct list_ops list_indexed = {
	.open = indexed_open,
	.close = indexed_close,
	.apply = indexed_apply,
	.ahead = indexed_ahead,
	.mend = indexed_mend,
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
