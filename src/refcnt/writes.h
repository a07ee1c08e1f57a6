/*
 * writes: pages of another process written in an epoch, by the kernel's
 * asynchronous write protection (userfaultfd(2), PAGEMAP_SCAN, Linux 6.7).
 *
 * The first write to a protected page faults in the kernel, which takes the
 * protection away and goes on, without signal or message, also in system
 * calls.  A look at the page table tells unprotected pages and protects them
 * in one step: no write is counted twice or missed.
 *
 * Only the process can make the descriptor: when asked (RING_CUT_WRITES in
 * stream/ring.h) it sends one and closes its own.  All protection goes with
 * the node's, also after a kill.
 *
 * A whole mapping is registered, so that it stays one; only pages of ranges
 * are protected.
 *
 * Known limits
 *	Memory that is mapped within a range is counted from the next epoch on.
 *	Devices that write to pinned pages, and other processes that write to
 *	shared memory, are not seen.
 *	A mapping that has a userfaultfd of the program's own is not counted; as
 *	long as one is counted the program cannot register it.
 *
 * Example
 *	writes_open(&w, pid, descriptor);
 *	writes_begin(w, counted);
 *	... a second later ...
 *	writes_end(w, note_page, NULL);
 *	writes_close(w);
 */
#ifndef REFCNT_WRITES_H
#define REFCNT_WRITES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "refcnt.h"

struct writes;

/* 0; -EOPNOTSUPP: this kernel has no asynchronous write protection; or why not. */
int writes_supported(void);

/*
 * Owns the descriptor, also on failure; outside data.  -EBADF: no fresh
 * userfaultfd; -ESRCH, -ENOMEM, errors of open(2).
 */
int writes_open(struct writes **, pid_t, int descriptor);
/* The process is as if nothing had been protected. */
void writes_close(struct writes *);

/*
 * Protects new REFCNT_WP ranges, frees gone ones.  -ESRCH: ended or executes
 * another program; -ENOMEM; errors of read(2).
 */
int writes_begin(struct writes *, const struct refcnt *counted);
/* Pages of the ranges whose mappings the kernel does not protect; of the last epoch. */
uint64_t writes_left_out(const struct writes *);

/*
 * Calls wrote() for each written page, by address, and begins its next epoch.
 * Errors as above.
 */
int writes_end(struct writes *, refcnt_touched *wrote, void *arg);

#endif
