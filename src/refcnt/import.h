/*
 * import: exact counts of a run's memory accesses, as another program's text.
 *
 * Two kinds of lines are read, in any mixture; empty lines, lines that begin
 * with '#', and valgrind's own ("==123== ... mean nothing:
 *
 *	valgrind --tool=lackey --trace-mem=yes
 *		" L 1ffeffe7a0,8", " S ...", " M ...": a load, a store, a load and
 *		a store, at that address (hexadecimal), of so many bytes.  Fetches of
 *		instructions ("I  ...") are no references.
 *	our plugin of QEMU (share/refcnt_qemu.c)
 *		"401000 0 1000 101": page, processor, reads, writes.  The address is
 *		hexadecimal.  A processor is a thread of the program in user mode.
 *
 * Other lines are bad: counted and skipped; so is a last line without end,
 * whose number may be cut.
 *
 * Example
 *	struct refcnt_import how = { .all = true, .now_ms = now };
 *	r = refcnt_import(counted, "trace", &how, &sums);
 *	if (r == 0 && sums.bad > 0)
 *		complain(sums.first_bad);
 */
#ifndef REFCNT_IMPORT_H
#define REFCNT_IMPORT_H

#include <stdio.h>

#include "refcnt.h"

struct refcnt_import {
	bool all;	/* enables each page that is met; otherwise only ranges count */
	int64_t now_ms;
	/* The node of a processor.  NULL: node 0. */
	unsigned (*node_of)(void *arg, unsigned cpu);
	void *arg;
};

struct refcnt_imported {
	uint64_t lines;		/* read, of any kind */
	uint64_t references;	/* counted: reads and writes */
	uint64_t outside;	/* not counted: of other pages, or of a processor without a node */
	uint64_t bad;		/* lines that were skipped */
	uint64_t first_bad;	/* number of the first of these, from 1 */
};

#define REFCNT_IMPORT_BLIND (UINT64_C(64) << 20)

/*
 * "-": standard input.  Errors of open(2) and read(2), -ENOMEM; -EBADMSG: no
 * good line in REFCNT_IMPORT_BLIND bytes.
 */
int refcnt_import(struct refcnt *, const char *path, const struct refcnt_import *,
    struct refcnt_imported *);

/* The same of an open file, from where it stands. */
int refcnt_import_from(struct refcnt *, FILE *, const struct refcnt_import *,
    struct refcnt_imported *);

#endif
