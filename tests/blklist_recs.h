/*
 * Records for the tests of the block list, made one call each, and lists that
 * are checked after every one of them.
 */
#ifndef TESTS_BLKLIST_RECS_H
#define TESTS_BLKLIST_RECS_H

#include <stdint.h>

#include "../src/blklist/blklist.h"
#include "harness.h"

/* What a record of the test says; the rest is 0 or plain. */
struct say {
	uint64_t addr, size, caller;
	uint32_t ticket, ms;
	unsigned op, low, type, thread;
};

static inline struct rec
rec_of(const struct say *s)
{
	return (struct rec){ {
	    rec_w0(s->addr, REC_FLAGS(s->op, s->low), s->type),
	    rec_w1(s->size, s->thread),
	    rec_w2(s->ticket, s->ms),
	    rec_w3(s->caller, 0),
	} };
}

#define REC(...) rec_of(&(struct say){ __VA_ARGS__ })
#define ALLOC(a, ...) \
	REC(.op = REC_ALLOC, .type = TYPE_MALLOC, .addr = (a), .size = 16, __VA_ARGS__)
#define FREE(a, ...) REC(.op = REC_FREE, .type = TYPE_FREE, .addr = (a), __VA_ARGS__)

#define NELEM(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t next_seq;	/* of the list under test */

static inline struct blklist *
list_of(enum blklist_kind kind, uint32_t aRecMax)
{
	struct blklist *l;

	next_seq = 1;
	ck_assert_int_eq(blklist_new(&l, kind, aRecMax), 0);
	return l;
}

static inline void
sound(const struct blklist *l)
{
	char why[200] = "";

	ck_assert_msg(blklist_check(l, why, sizeof(why)) == 0, "%s", why);
}

static inline void
apply_batch(struct blklist *l, const struct rec *r, size_t n, bool cancel)
{
	struct blklist_batch b = {
		.rec = r, .n = n, .seq = next_seq, .near_ms = 1000,
		.cancel = cancel,
	};

	blklist_apply(l, &b);
	next_seq += n;
	sound(l);
}

#define APPLY(l, ...) \
	do { \
		const struct rec apply_r[] = { __VA_ARGS__ }; \
		for (size_t apply_i = 0; apply_i < NELEM(apply_r); apply_i++) \
			apply_batch(l, &apply_r[apply_i], 1, false); \
	} while (0)

#define APPLY_PAIRS(l, ...) \
	do { \
		const struct rec apply_r[] = { __VA_ARGS__ }; \
		apply_batch(l, apply_r, NELEM(apply_r), true); \
	} while (0)

static inline bool
listed(const struct blklist *l, unsigned layer, uint64_t addr)
{
	struct blk b;

	return blklist_get(l, layer, addr, &b) == 0;
}

#define COUNT(l, name) (blklist_counts(l)->name)

#endif
