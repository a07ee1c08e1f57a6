/*
 * The indexed list against the literal one: the same random records into
 * both, and after each batch everything that can be asked is asked of both.
 * Every row of `shapes` is a kind of program, good or bad.
 */
#include "harness.h"

#include <string.h>

#include "blklist_both.h"

struct shape {
	const char *name;
	uint32_t aRecMax;
	unsigned batches;
	unsigned batch_max;
	unsigned slots;			/* addresses that blocks can have */
	uint64_t (*address)(uint64_t slot);
	unsigned layers;		/* 1 or 2 */
	unsigned bad;			/* of 1,000 events, ones that lie */
	unsigned reallocs;		/* of 1,000 */
	unsigned ranges;		/* of 1,000 */
	unsigned puts;			/* after each batch */
	unsigned swing;			/* batches between mostly alloc and mostly free */
	bool cancel;
	bool opaque;
	uint64_t period;		/* of a sample, or 0 */
	bool leaps;			/* of numbers and of time, past 32 bits */
	bool infos;			/* requesters, ever new ones */
};

static uint64_t
heap_like(uint64_t slot)
{
	return 0x555500000000 + slot * 16 * (1 + slot % 5);
}

static uint64_t
eight_aligned(uint64_t slot)
{
	return 0x8e0000 + slot * 8;
}

static uint64_t
odd_ones(uint64_t slot)
{
	return 0x7fffff00 + slot * 3;
}

static uint64_t
mapped_ones(uint64_t slot)
{
	return 0x7f0000000010 + slot * 0x201000;
}

static uint64_t
all_over(uint64_t slot)
{
	return (slot * UINT64_C(0x9e3779b97f4a7c15)) & REC_ADDR_MASK;
}

static uint64_t
at_the_top(uint64_t slot)
{
	return REC_ADDR_MASK - slot * (slot % 3 == 0 ? 1 : 4096);
}

static uint64_t
far_apart(uint64_t slot)
{
	return all_over(slot % 50) + slot / 50 * 32;
}

/* All kinds, a sixth each: regions change what they are kept as. */
static uint64_t
mixture(uint64_t slot)
{
	static uint64_t (*const kinds[])(uint64_t) = {
		heap_like, eight_aligned, odd_ones, mapped_ones, far_apart,
		at_the_top,
	};

	return kinds[slot % 6](slot / 6);
}

static const struct shape shapes[] = {
	{ .name = "tiny", .aRecMax = 4, .batches = 3000, .batch_max = 6,
	    .slots = 7, .address = heap_like, .layers = 1, .bad = 20,
	    .reallocs = 100, .puts = 1,
	    .infos = true },
	{ .name = "heap", .aRecMax = 4096, .batches = 400, .batch_max = 300,
	    .slots = 6000, .address = heap_like, .layers = 1, .reallocs = 50,
	    .swing = 40, .cancel = true },
	{ .name = "heap that lies", .aRecMax = 3000, .batches = 400,
	    .batch_max = 300, .slots = 6000, .address = heap_like,
	    .layers = 2, .bad = 100, .reallocs = 100, .ranges = 1,
	    .puts = 5, .swing = 30, .cancel = true, .period = 65536,
	    .infos = true },
	{ .name = "aligned to eight", .aRecMax = 4096, .batches = 300,
	    .batch_max = 200, .slots = 4000, .address = eight_aligned,
	    .layers = 1, .bad = 10, .swing = 25, .opaque = true },
	{ .name = "odd", .aRecMax = 4096, .batches = 300, .batch_max = 200,
	    .slots = 3000, .address = odd_ones, .layers = 2, .bad = 10,
	    .ranges = 5, .swing = 25, .cancel = true },
	{ .name = "mapped", .aRecMax = 4096, .batches = 300,
	    .batch_max = 200, .slots = 3000, .address = mapped_ones,
	    .layers = 1, .bad = 10, .swing = 25, .cancel = true },
	{ .name = "all over", .aRecMax = 4096, .batches = 200,
	    .batch_max = 100, .slots = 400, .address = all_over,
	    .layers = 2, .bad = 10, .ranges = 1, .swing = 25 },
	{ .name = "top", .aRecMax = 4096, .batches = 300, .batch_max = 200,
	    .slots = 3000, .address = at_the_top, .layers = 2, .bad = 10,
	    .ranges = 2, .puts = 3, .swing = 25, .cancel = true },
	{ .name = "mixture", .aRecMax = 8192, .batches = 150,
	    .batch_max = 400, .slots = 8000, .address = mixture,
	    .layers = 2, .bad = 50, .reallocs = 50, .ranges = 2, .puts = 20,
	    .swing = 40, .cancel = true,
	    .infos = true },
	{ .name = "long batches", .aRecMax = 3000, .batches = 12,
	    .batch_max = 12000, .slots = 4000, .address = heap_like,
	    .layers = 1, .bad = 5, .reallocs = 20, .cancel = true },
	{ .name = "for years", .aRecMax = 2048, .batches = 500,
	    .batch_max = 200, .slots = 1000, .address = heap_like,
	    .layers = 1, .swing = 60, .leaps = true },
	{ .name = "for years, with forks", .aRecMax = 4096, .batches = 600,
	    .batch_max = 100, .slots = 3000, .address = heap_like,
	    .layers = 1, .bad = 20, .reallocs = 50, .puts = 5, .swing = 60,
	    .leaps = true },
};

/* What the trace believes to be listed: events are mostly true to it. */
struct model {
	const struct shape *shape;
	unsigned char *live;		/* for each slot and layer */
	uint32_t *ticket;		/* of each slot */
	uint64_t seq;
	int64_t near_ms;
	unsigned batch;
	int pending;			/* of a realloc by thread `thread`; or -1 */
	unsigned thread;
};

static struct rec
event(struct model *m, const struct shape *s, unsigned slot, unsigned layer,
    bool alloc)
{
	unsigned which = slot * 2 + layer;
	bool lie = below(1000) < s->bad;
	struct say say = {
		.addr = s->address(slot),
		.size = below(8) == 0 ? rng() & 0xfffffff : below(4096),
		.caller = rng() & REC_ADDR_MASK,
		.low = layer * REC_LAYER_API + (s->opaque ? below(16) : 2),
		.thread = below(5),
		.ms = (uint32_t)m->batch * 3 + below(2000),
		.type = TYPE_MALLOC + below(3),
		.op = REC_ALLOC,
	};

	if (lie && below(3) == 0)
		say.ticket = m->ticket[slot] - 1 - below(3);
	else
		say.ticket = ++m->ticket[slot];
	if (lie && below(8) == 0)
		say.low = REC_LEVEL_FAILED;
	if (lie && below(8) == 0)
		say.op = below(16);
	else if (!alloc) {
		say.op = REC_FREE;
		say.type = TYPE_FREE;
		say.size = 0;
		if (below(1000) < s->reallocs) {
			say.type = TYPE_BY_REALLOC;
			m->pending = (int)which;
			m->thread = say.thread;
		}
	}
	m->live[which] = alloc;
	return rec_of(&say);
}

/* A realloc's free has come; its undo may follow, at once or not. */
static struct rec
undo(struct model *m, const struct shape *s)
{
	unsigned slot = (unsigned)m->pending / 2;
	struct say say = {
		.op = REC_UNDO,
		.addr = s->address(slot),
		.low = (unsigned)m->pending % 2 * REC_LAYER_API,
		.thread = m->thread + (below(1000) < s->bad),
		.ticket = ++m->ticket[slot],
	};

	m->live[m->pending] = 1;
	m->pending = -1;
	return rec_of(&say);
}

static struct rec
any_record(struct model *m)
{
	const struct shape *s = m->shape;
	unsigned slot = below(s->slots), layer = below(s->layers);
	bool alloc;

	if (m->pending >= 0 && below(3) == 0) {
		if (below(2) == 0)
			return undo(m, s);
		m->pending = -1;
	}
	if (below(1000) < s->ranges)
		return REC(.op = REC_RANGE, .low = REC_LAYER_API,
		    .addr = s->address(slot), .size = below(1u << 20));
	alloc = !m->live[slot * 2 + layer];
	/* In its turn the program mostly grows, or mostly shrinks. */
	if (s->swing != 0 && below(4) != 0 &&
	    alloc != (m->batch / s->swing % 2 == 0)) {
		slot = below(s->slots);
		alloc = !m->live[slot * 2 + layer];
	}
	if (below(1000) < s->bad)
		alloc = !alloc;
	return event(m, s, slot, layer, alloc);
}

/* Requesters of some of the batch's records, unlike ones before or not. */
static void
add_infos(struct blklist_batch *b, struct blklist_batch_info *info,
    unsigned batch)
{
	for (size_t i = below(3); i < b->n; i += 1 + below(4))
		info[b->ninfo++] = (struct blklist_batch_info){ .at = i,
			.info.node = (uint16_t)(1 + below(batch * 4 + 9)) };
	b->info = info;
}

static void
same_infos(const struct both *l)
{
	const struct blklist_info *a, *b;
	uint16_t i = 0;

	do {
		i++;
		a = blklist_info_get(l->lit, i);
		b = blklist_info_get(l->ix, i);
		ck_assert_msg((a == NULL) == (b == NULL),
		    "requester %u is in one of the tables only", i);
		if (a != NULL)
			ck_assert_mem_eq(a, b, sizeof(*a));
	} while (a != NULL);
}

static void
same_all(const struct both *l, const struct model *m)
{
	const struct shape *s = m->shape;

	sound_both(l);
	same_infos(l);
	for (int i = 0; i < 2; i++)
		for (int order = 0; order < 4; order++)
			same_window(l, order & 1 ? BLKLIST_BY_AGE :
			    BLKLIST_BY_ADDRESS, order & 2);
	for (int i = 0; i < 3; i++)
		same_block(l, below(2), s->address(below(s->slots)) +
		    (below(4) == 0));
	for (uint32_t k = 0; k < 8; k++) {
		const struct blklist_removed *a = blklist_removed(l->lit, k);
		const struct blklist_removed *b = blklist_removed(l->ix, k);

		ck_assert((a == NULL) == (b == NULL));
		if (a == NULL)
			continue;
		ck_assert_uint_eq(a->seq, b->seq);
		same_rows(&a->blk, &b->blk, 1, "removed");
	}
}

/* Blocks in and out by hand; old numbers in no order, as after a fork. */
static void
by_hand(const struct both *l, const struct model *m)
{
	const struct shape *s = m->shape;

	for (unsigned i = 0; i < s->puts; i++) {
		struct blk b = {
			.addr = s->address(below(s->slots)),
			.size = below(1000),
			.seq = m->seq - (s->leaps ? rng() >> 28 :
			    below(100000)),
			.ms = s->leaps ? (int64_t)rng() : below(5000),
			.flags = (uint8_t)(0xa0 + below(s->layers) * 8),
			.type = TYPE_MALLOC,
			.info = (uint16_t)below(9),
		};

		ck_assert_int_eq(blklist_put(l->lit, &b),
		    blklist_put(l->ix, &b));
		b.addr = s->address(below(s->slots));
		ck_assert_int_eq(blklist_take(l->lit, 0, b.addr),
		    blklist_take(l->ix, 0, b.addr));
	}
}

CASE("traces", .seconds = 120);

LOOP_TEST(indexed_list_is_the_literal_one, 0, NELEM(shapes))
{
	const struct shape *s = &shapes[_i];
	static struct rec r[12000];
	static struct blklist_batch_info info[NELEM(r)];
	struct model m = {
		.shape = s, .seq = 1, .near_ms = 1000000, .pending = -1,
		.live = calloc(s->slots, 2),
		.ticket = calloc(s->slots, sizeof(*m.ticket)),
	};
	struct both l;
	uint8_t legal[32] = { 0 };
	unsigned batches = (unsigned)check_rounds((int)s->batches);

	seed = check_seed(88172645463325252u + (uint64_t)_i * 7919);
	both_new(&l, s->aRecMax);
	legal[TYPE_MALLOC / 8] = 3;
	blklist_set_legal(l.lit, legal);
	blklist_set_legal(l.ix, legal);
	blklist_set_opaque(l.lit, s->opaque);
	blklist_set_opaque(l.ix, s->opaque);
	blklist_sample(l.lit, s->period);
	blklist_sample(l.ix, s->period);
	ck_assert_int_eq(blklist_remember(l.lit, 64), 0);
	ck_assert_int_eq(blklist_remember(l.ix, 64), 0);
	for (unsigned i = 0; i < s->slots; i++)
		m.ticket[i] = below(2) ? UINT32_MAX - below(8) : below(100);
	for (m.batch = 0; m.batch < batches; m.batch++) {
		struct blklist_batch b = {
			.rec = r, .n = 1 + below(s->batch_max), .seq = m.seq,
			.near_ms = m.near_ms + m.batch * 67,
			.cancel = s->cancel,
		};

		for (size_t i = 0; i < b.n; i++)
			r[i] = any_record(&m);
		if (s->infos)
			add_infos(&b, info, m.batch);
		both_apply(&l, &b);
		m.seq += b.n;
		if (s->leaps && below(8) == 0) {
			m.seq += rng() >> 31;
			m.near_ms += (int64_t)(rng() >> 31);
		}
		same_all(&l, &m);
		by_hand(&l, &m);
		if (below(400) == 0) {
			blklist_clear(l.lit);
			blklist_clear(l.ix);
			memset(m.live, 0, s->slots * 2);
		}
	}
	same_all(&l, &m);
	both_free(&l);
	free(m.live);
	free(m.ticket);
}
