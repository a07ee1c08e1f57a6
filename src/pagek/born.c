/* See born.h. */
#include "../nodes/nodes.h"
#include "born.h"

#define SECOND_MS 1000

int64_t
page_born_cycle(const struct blk *b)
{
	/* Seconds apart from the rest: no time is too far away to be multiplied. */
	int64_t s = b->ms / SECOND_MS, rest = b->ms % SECOND_MS;

	/* Division goes towards 0, cycles go down. */
	if (rest < 0) {
		rest += SECOND_MS;
		s--;
	}
	return s * NODES_HZ + rest * NODES_HZ / SECOND_MS;
}

bool
page_born_together(const struct blk *a, const struct blk *b)
{
	return a->thread == b->thread && a->caller == b->caller &&
	    page_born_cycle(a) == page_born_cycle(b);
}

/* One to one, and each bit of x moves about half of them. */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t
page_born_key(const struct blk *b)
{
	uint64_t who = b->caller | (uint64_t)b->thread << REC_ADDR_BITS;
	uint64_t key = mix(mix((uint64_t)page_born_cycle(b)) ^ mix(~who));

	return key != 0 ? key : 1;
}
