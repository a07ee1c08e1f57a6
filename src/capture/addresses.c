/*
 * Sets of addresses in their order: a word of 64 bits for each 64 addresses of
 * which one is in the set, a word above it for each 64 words, and so on.
 */
#include <errno.h>

#include "format.h"

#define LEVELS 8		/* of 6 bits each: all bits of an address */

/* The bits below a prefix of the address; the key has the prefix. */
struct word {
	uint64_t key, bits;
};

static uint64_t
key_of(unsigned level, uint64_t addr)
{
	return (uint64_t)level << REC_ADDR_BITS | addr >> (6 * level + 6);
}

static unsigned
bit_of(unsigned level, uint64_t addr)
{
	return (unsigned)(addr >> 6 * level) & 63;
}

static uint64_t
bits_at(const struct addresses *a, unsigned level, uint64_t addr)
{
	const struct word *w = hashmap_get(&a->words, key_of(level, addr));

	return w != NULL ? w->bits : 0;
}

static void
remove_below(struct addresses *a, uint64_t addr, unsigned levels)
{
	for (unsigned level = 0; level < levels; level++) {
		int64_t at = hashmap_find(&a->words, key_of(level, addr));
		struct word *w;

		if (at < 0)
			return;
		w = hashmap_item(&a->words, (size_t)at);
		w->bits &= ~(UINT64_C(1) << bit_of(level, addr));
		if (w->bits != 0)
			return;
		hashmap_remove(&a->words, (size_t)at);
	}
}

int
addresses_add(struct addresses *a, uint64_t addr)
{
	a->words.size = sizeof(struct word);
	for (unsigned level = 0; level < LEVELS; level++) {
		struct word *w = hashmap_add(&a->words, key_of(level, addr));
		bool is_new;

		if (w == NULL) {
			remove_below(a, addr, level);
			return -ENOMEM;
		}
		is_new = w->bits == 0;
		w->bits |= UINT64_C(1) << bit_of(level, addr);
		if (!is_new)
			break;
	}
	return 0;
}

void
addresses_remove(struct addresses *a, uint64_t addr)
{
	remove_below(a, addr, LEVELS);
}

bool
addresses_next(const struct addresses *a, uint64_t from, uint64_t *addr)
{
	uint64_t bits = bits_at(a, 0, from) & UINT64_MAX << bit_of(0, from);
	unsigned level = 0;

	/* Up to a word with a later bit, then down by the first bits. */
	while (bits == 0 && ++level < LEVELS)
		bits = bits_at(a, level, from) &
		    (UINT64_MAX << 1) << bit_of(level, from);
	if (bits == 0)
		return false;
	*addr = from >> 6 * level >> 6 << 6 | (unsigned)__builtin_ctzll(bits);
	while (level-- > 0) {
		bits = bits_at(a, level, *addr << (6 * level + 6));
		*addr = *addr << 6 | (unsigned)__builtin_ctzll(bits);
	}
	return true;
}

void
addresses_fini(struct addresses *a)
{
	hashmap_fini(&a->words);
}
