/*
 * rules: remembers the rules that cfi_find() has found.  Private to this room.
 *
 * Vocabulary
 *	rule		as in cfi.h, and the number of the module.
 *	generation	counted up when all rules become void.
 *	near rules	those of one thread, each in one word.
 *
 * A table of fixed size, shared by threads and signal handlers without a lock.
 * Addresses without a rule are not remembered: code may be mapped later.
 */
#ifndef ALLOCLOG_RULES_H
#define ALLOCLOG_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cfi.h"

#pragma GCC visibility push(hidden)

struct rule {
	struct cfi_rule cfi;
	unsigned module;	/* 0 not known */
};

/*
 * The common rules that a thread has used lately.  Neighbouring calls share a
 * line of cache.  Void when the generation has changed.
 */
#define RULES_SETS 4096		/* as many as 12 bits of an address tell apart */
struct rules_near {
	uint32_t generation;
	struct cfi_place place;
	_Alignas(64) struct {
		_Alignas(16) uint64_t way[2];	/* the latest first */
	} set[RULES_SETS];
};

/*
 * A near rule has 29 bits: offset of the CFA in words (13; 0: outermost), of
 * rbp below the CFA (5; 0: not saved), CFA from rbp instead of rsp (1), module
 * (10, never 0).
 *
 * Bits 4 to 15 of an address select the set.  In a word the other 35 stand
 * above the rule, which is xored with the rest of the key: with its own
 * address's key a word gives the rule, with another of the set bits above it
 * are left.
 */
#define NEAR_BITS 29
#define NEAR_MODULE_BITS 10
#define NEAR_MODULE ((UINT64_C(1) << NEAR_MODULE_BITS) - 1)
#define NEAR_BY_RBP (UINT64_C(1) << NEAR_MODULE_BITS)

/* True if the address's key is unique. */
static inline bool
near_may(uintptr_t pc)
{
	return (uint64_t)pc - 0x10000 < (UINT64_C(1) << 47) - 0x10000;
}

static inline uintptr_t
near_cfa(uint64_t rule)
{
	return rule >> 16 << 3;
}

static inline uintptr_t
near_rbp(uint64_t rule)
{
	return (rule >> 11 & 0x1f) << 3;
}

static inline unsigned
near_set(uintptr_t pc)
{
	return (unsigned)(pc >> 4) % RULES_SETS;
}

static inline uint64_t
near_key(uintptr_t pc)
{
	return (uint64_t)pc << 13 ^ (uint64_t)pc << 60;
}

/* True when the rule is known and not outermost. */
static inline bool
near_leads(uint64_t rule)
{
	return rule - (1 << 16) < (UINT64_C(1) << NEAR_BITS) - (1 << 16);
}

/* Valid if near_may() is true. */
static inline uint64_t
rules_near(const struct rules_near *near, uintptr_t pc)
{
	const uint64_t *way = near->set[near_set(pc)].way;
	uint64_t key = near_key(pc), a = way[0] ^ key, b = way[1] ^ key;

	return a < b ? a : b;
}

void rules_near_void(struct rules_near *, uint32_t generation);

/* Like cfi_find(); always sets rule->module.  `near` (or NULL) remembers it. */
int rules_find(struct rules_near *, uintptr_t pc, bool exact, struct rule *);

void rules_forget(void);

extern _Atomic uint32_t rules_generation;

#pragma GCC visibility pop

#endif
