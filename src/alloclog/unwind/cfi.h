/*
 * cfi: from a return address to the rule that leads on to the caller.
 *
 * Vocabulary
 *	CFA		the stack pointer of the caller before its call pushed
 *			the return address.
 *	rule		where the CFA, the return address and the caller's rbp
 *			are, given rsp and rbp as they are in the frame.  One
 *			rule holds for one address of code for as long as that
 *			code is mapped.
 *	table		.eh_frame_hdr and .eh_frame of a loaded object, found
 *			by _dl_find_object(3), which takes no lock.
 *
 * Example
 *	switch (cfi_find(pc, false, &rule, &object)) {
 *	case 0:		cfa = rule.base == CFI_RSP ? rsp + rule.cfa : ...
 *	case -ENOENT:	no table
 *	case -ENOTSUP:	a rule that we do not follow
 *	}
 *
 * x86-64 only; elsewhere there is never a table.  Everything here may be
 * called from a signal handler: no lock, no allocation, no system call, a
 * fixed amount of stack (1 kB).  Tables are read where they are mapped and
 * believed only within the segment that they lie in, for an object's mapping
 * may have holes; damaged ones give -ENOTSUP.
 *
 * Written by hand because it runs inside malloc: no packaged unwinder gives
 * rules instead of steps, or does without locks and memory.
 */
#ifndef ALLOCLOG_CFI_H
#define ALLOCLOG_CFI_H

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
	CFI_RBP_SAME,		/* the caller's rbp is this one's */
	CFI_RBP_AT_CFA,		/* *(CFA + rbp_off) */
	CFI_RBP_AT_RSP,		/* *(rsp + rbp_off) */
	CFI_RBP_AT_RBP,		/* *(rbp + rbp_off) */
	CFI_RBP_LOST,		/* not to be had any more */
};

struct cfi_rule {
	uint8_t base;		/* enum cfi_base */
	uint8_t rbp;		/* enum cfi_rbp */
	bool outermost;		/* nobody called this function: nothing else is set */
	bool signal;		/* a signal frame: the address it leads to is exact, not behind a call */
	bool ra_at_rsp;		/* return address at *(rsp + ra), else at *(CFA + ra) */
	int32_t cfa;
	int32_t rbp_off;
	int32_t ra;		/* -8 nearly always */
};

struct link_map;

/* The object that code lies in. */
struct cfi_object {
	uintptr_t start, end;
	uintptr_t bias;			/* address minus that in the file's tables */
	const struct link_map *map;	/* the loader's; valid while the object is loaded */
};

/*
 * The rule for `pc`: of the call before it or, when exact, of pc itself.  0;
 * -ENOENT when pc lies in no object (then *object is untouched), the object
 * has no table, or its table no function there; -ENOTSUP.  The rule is
 * untouched by an error.  *object is set whenever pc lies in one: preset map
 * to NULL to tell.
 */
int cfi_find(uintptr_t pc, bool exact, struct cfi_rule *, struct cfi_object *);

/*
 * The same in tables of the caller's own: eh_frame_hdr lies at `hdr`, mapped
 * where the tables think they are, and nothing is read outside [lo, hi).  For
 * cfi_find() and the tests.
 */
int cfi_find_in(const uint8_t *hdr, const uint8_t *lo, const uint8_t *hi,
    uintptr_t pc, bool exact, struct cfi_rule *);

#pragma GCC visibility pop

#endif
