/*
 * Pairs of a chunk.
 */
#include <string.h>

#include "cancel.h"

#define INDEX_BITS 12
#define GENERATIONS (UINT32_C(1) << (32 - INDEX_BITS))

static void
next_generation(struct cancel *c)
{
	if (++c->generation < GENERATIONS)
		return;
	memset(c->slot, 0, sizeof(c->slot));
	c->generation = 1;
}

/* A table of at least twice n: its size as a shift of a 64-bit hash. */
static unsigned
table_shift(unsigned n)
{
	unsigned shift = 64 - 6;

	while (UINT64_C(1) << (64 - shift) < 2 * n)
		shift--;
	return shift;
}

/* Of an allocation with that key. */
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
 * As pairs come out of a ring: each free right behind its allocation, and nobody
 * else asks for these.  Tells the two of each, from i on; returns the first that
 * is none.  In a function of its own, for it is what most records of a busy
 * target are.
 */
static __attribute__((noinline)) unsigned
whole_pairs(uint16_t *mate, const struct blklist *l, const struct rec *rec,
    unsigned i, unsigned n)
{
	const uint64_t key_mask = l->key_mask;

	for (; i + 1 < n; i += 2) {
		const struct rec *r = &rec[i];

		if ((r->w[0] & REC_OP_MASK) != rec_op_bits(REC_ALLOC) ||
		    !is_pair(r, r + 1, r->w[0] & key_mask, key_mask) ||
		    list_is_failed(l, r))
			break;
		mate[i] = (uint16_t)(i + 1);
		mate[i + 1] = (uint16_t)i;
	}
	return i;
}

unsigned
cancel_pairs(struct cancel *c, const struct blklist *l, const struct rec *rec,
    unsigned n, uint64_t seed)
{
	const uint64_t key_mask = l->key_mask;
	const unsigned shift = table_shift(n);
	const uint32_t mask = (uint32_t)((UINT64_C(1) << (64 - shift)) - 1);
	unsigned pairs = 0;

	memset(c->mate, 0xff, n * sizeof(c->mate[0]));
	next_generation(c);
	for (unsigned i = 0, at; i < n; i++) {
		const struct rec *r;
		uint64_t key, x;
		unsigned op, j;
		uint32_t p, s;

		at = i;
		i = whole_pairs(c->mate, l, rec, at, n);
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
		x = (key ^ seed) * UINT64_C(0x9e3779b97f4a7c15);
		x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
		for (p = (uint32_t)(x >> shift);; p = (p + 1) & mask) {
			s = c->slot[p];
			if (s >> INDEX_BITS != c->generation)
				break;
			j = s & (LIST_CHUNK - 1);
			if ((rec[j].w[0] & key_mask) != key)
				continue;
			if (rec_op(&rec[j]) == REC_ALLOC &&
			    is_pair(&rec[j], r, key, key_mask)) {
				c->mate[i] = (uint16_t)j;
				c->mate[j] = (uint16_t)i;
				pairs++;
			}
			break;
		}
		c->slot[p] = c->generation << INDEX_BITS | i;
	}
	return pairs;
}
