/*
 * chance: numbers that differ from run to run of a loop, and are the same each
 * time that the same run is made.
 *
 * Example
 *	chance_begin(_i);
 *	if (any(3) == 0)	in one of three cases
 */
#ifndef TESTS_CHANCE_H
#define TESTS_CHANCE_H

#include <stdint.h>

static uint64_t chance;

static inline void
chance_begin(int run)
{
	chance = UINT64_C(0x9e3779b97f4a7c15) * (uint64_t)(run + 1);
}

/* xorshift64*. */
static inline unsigned
any(unsigned below)
{
	chance ^= chance << 13;
	chance ^= chance >> 7;
	chance ^= chance << 17;
	return (unsigned)((chance * UINT64_C(0x2545f4914f6cdd1d)) >> 33) %
	    below;
}

#endif
