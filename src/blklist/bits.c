/*
 * Counting bits.  Machines without the instruction for it are so rare that
 * the choice is made at each call, which counts hundreds of words.
 */
#include "bits.h"

static inline __attribute__((always_inline)) uint32_t
select_in(const uint64_t *w, uint32_t k)
{
	uint32_t i, n;
	uint64_t rest;

	for (i = 0; k >= (n = (uint32_t)__builtin_popcountll(w[i])); i++)
		k -= n;
	for (rest = w[i]; k > 0; k--)
		rest &= rest - 1;
	return i * 64 + (uint32_t)__builtin_ctzll(rest);
}

static inline __attribute__((always_inline)) uint32_t
rank_in(const uint64_t *w, uint32_t end)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < end / 64; i++)
		n += (uint32_t)__builtin_popcountll(w[i]);
	if (end % 64 != 0)
		n += (uint32_t)__builtin_popcountll(w[end / 64] &
		    ((UINT64_C(1) << end % 64) - 1));
	return n;
}

#ifdef __x86_64__

__attribute__((target("popcnt"))) static uint32_t
select_popcnt(const uint64_t *w, uint32_t k)
{
	return select_in(w, k);
}

__attribute__((target("popcnt"))) static uint32_t
rank_popcnt(const uint64_t *w, uint32_t end)
{
	return rank_in(w, end);
}

#define HAVE_POPCNT __builtin_cpu_supports("popcnt")
#else
#define HAVE_POPCNT 0
#define select_popcnt select_in
#define rank_popcnt rank_in
#endif

uint32_t
bits_select(const uint64_t *w, uint32_t k)
{
	return HAVE_POPCNT ? select_popcnt(w, k) : select_in(w, k);
}

uint32_t
bits_rank(const uint64_t *w, uint32_t end)
{
	return HAVE_POPCNT ? rank_popcnt(w, end) : rank_in(w, end);
}
