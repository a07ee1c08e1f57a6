/*
 * rules: what cfi_find() has said of an address, for the next time.  Private
 * to stack.c and walk.c.
 *
 * Vocabulary
 *	rule		as in cfi.h, and the number of the module.
 *	generation	counted up when all that is known becomes void.
 *
 * A table of fixed size that all threads and signal handlers share, without a
 * lock.  An address without a table is not remembered: code may come to lie
 * there.
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
 * Those of them that a thread has used lately, close together: a line of cache
 * holds the last four of some addresses, and calls that lie side by side share
 * one.  All zeros: none.  Void when the generation has changed.
 */
#define RULES_SETS 1024
#define RULES_WAYS 4
struct rules_near {
	uint32_t generation;
	struct {
		_Alignas(64) struct {
			uintptr_t pc;
			uint64_t word;
		} way[RULES_WAYS];	/* the latest first */
	} set[RULES_SETS];
};

/* Empties it, for this generation. */
void rules_near_void(struct rules_near *, uint32_t generation);

/*
 * The rule for a return address or, when exact, for an address itself.  As
 * cfi_find(); rule->module is set in any case.  `near` may be NULL.
 */
int rules_find(struct rules_near *, uintptr_t pc, bool exact, struct rule *);

/* Forgets everything. */
void rules_forget(void);

extern _Atomic uint32_t rules_generation;

#pragma GCC visibility pop

#endif
