/*
 * chance: random numbers of a test, the same for the same seed.
 *
 * Example
 *	chance_begin(_i);	or CHECK_SEED; see harness.h
 *	if (any(3) == 0)	in one of three cases
 */
#ifndef TESTS_CHANCE_H
#define TESTS_CHANCE_H

#include <stdint.h>

#include "harness.h"

/* xorshift64; the state is not 0. */
static inline uint64_t
chance_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static uint64_t chance_state;

static inline void
chance_begin(int run)
{
	chance_state = UINT64_C(0x9e3779b97f4a7c15) *
	    (check_seed((uint64_t)run) + 1);
}

/* xorshift64*. */
static inline unsigned
any(unsigned below)
{
	return (unsigned)((chance_next(&chance_state) *
	    UINT64_C(0x2545f4914f6cdd1d)) >> 33) % below;
}

#endif
