/*
 * cfi: from a return address to the rule that leads to the caller.
 *
 * Vocabulary
 *	CFA		the caller's stack pointer before its call pushed the
 *			return address.
 *	rule		where the CFA, the return address and the caller's rbp
 *			are, given a frame's rsp and rbp; for one address of code.
 *	table		.eh_frame_hdr and .eh_frame of a loaded object, found
 *			by _dl_find_object(3), which takes no lock.
 *
 * Example
 *	switch (cfi_find(NULL, pc, false, &rule, &object)) {
 *	case 0:		cfa = rule.base == CFI_RSP ? rsp + rule.cfa : ...
 *	case -ENOENT:	no table
 *	case -ENOTSUP:	a rule that we do not follow
 *	}
 *
 * x86-64 only; elsewhere there is no table.  Callable from signal handlers: no
 * lock, allocation or system call, 1 kB of stack.  Tables are read in place and
 * only within their segment, for a mapping may have holes; damaged ones give
 * -ENOTSUP.
 *
 * Written by hand because it runs inside malloc: no packaged unwinder gives
 * rules instead of steps, or does without locks and memory.
 */
#ifndef ALLOCLOG_CFI_H
#define ALLOCLOG_CFI_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum cfi_base {
	CFI_RSP,	/* CFA = rsp + cfa */
	CFI_RBP,	/* CFA = rbp + cfa */
	CFI_AT_RSP,	/* CFA = *(rsp + cfa): signal frames */
	CFI_AT_RBP,	/* CFA = *(rbp + cfa): realigned stacks */
};

enum cfi_rbp {
	CFI_RBP_SAME,		/* the caller's is this frame's */
	CFI_RBP_AT_CFA,		/* *(CFA + rbp_off) */
	CFI_RBP_AT_RSP,		/* *(rsp + rbp_off) */
	CFI_RBP_AT_RBP,		/* *(rbp + rbp_off) */
	CFI_RBP_LOST,		/* not recoverable */
};

struct cfi_rule {
	uint8_t base;		/* enum cfi_base */
	uint8_t rbp;		/* enum cfi_rbp */
	bool outermost;		/* a function that was not called: nothing else is set */
	bool signal;		/* a signal frame: the next address is exact, not behind a call */
	bool ra_at_rsp;		/* return address at *(rsp + ra), else *(CFA + ra) */
	int32_t cfa;
	int32_t rbp_off;
	int32_t ra;		/* -8 nearly always */
};

/* The object that contains code. */
struct cfi_object {
	uintptr_t start, end;
	uintptr_t bias;			/* address minus that in the file's tables */
	const struct link_map *map;	/* the loader's; valid while the object is loaded */
};

/*
 * Where a search has ended.  The next one goes on from there if its address is further on
 * in the same function, which may have thousands of calls.  Zeros are no place, and its owner
 * zeroes it when an object has been loaded or unloaded.
 */
struct cfi_place {
	_Alignas(8) unsigned char held[408];
};

/*
 * The rule for the call before `pc` or, when exact, for pc itself.  -ENOENT: pc
 * lies in no object (*object is untouched), or has no table entry; -ENOTSUP.
 * On error the rule is untouched; *object is set if pc lies in one.  The
 * place may be NULL.
 */
int cfi_find(struct cfi_place *, uintptr_t pc, bool exact, struct cfi_rule *,
    struct cfi_object *);

/* Reads the caller's tables: eh_frame_hdr at `hdr`, all within [lo, hi). */
int cfi_find_in(struct cfi_place *, const uint8_t *hdr, const uint8_t *lo,
    const uint8_t *hi, uintptr_t pc, bool exact, struct cfi_rule *);

/* The program headers, if in the ELF header's page at `start`; or NULL. */
const ElfW(Phdr) *cfi_headers(uintptr_t start, uintptr_t end, unsigned *n);

#pragma GCC visibility pop

#endif
