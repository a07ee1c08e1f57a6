/*
 * writes: which pages of another process were written to in an epoch, by the
 * kernel's asynchronous write protection (userfaultfd(2) and PAGEMAP_SCAN, Linux 6.7
 * and later).
 *
 * The first write to a protected page makes a fault in the kernel, which takes the
 * protection away and goes on: there is no signal and no message, and a system call
 * that writes to the page succeeds.  A look at the page table tells the pages that
 * have lost their protection, and protects them again in the same step: no write is
 * counted twice or missed.
 *
 * Only the process itself can make the descriptor.  It makes one when it is asked to
 * (RING_CUT_WRITES in stream/ring.h), sends it to the node and closes its own.  All
 * protection goes with the node's descriptor, also if the node is killed.
 *
 * A whole mapping is registered, so that it stays one mapping; only pages of the
 * ranges are protected.
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
 * Owns the descriptor, also on failure; it is outside data.  -EBADF: it is no fresh
 * userfaultfd; -ESRCH, -ENOMEM, and errors of open(2).
 */
int writes_open(struct writes **, pid_t, int descriptor);
/* The process is as if nothing had been protected. */
void writes_close(struct writes *);

/*
 * Begins an epoch of the REFCNT_WP ranges: protects those that are new, and frees
 * those that are gone.  -ESRCH: the process has ended or executes another program;
 * -ENOMEM; errors of read(2).
 */
int writes_begin(struct writes *, const struct refcnt *counted);
/* Pages of the ranges whose mappings the kernel does not protect; of the last epoch. */
uint64_t writes_left_out(const struct writes *);

/*
 * Ends it: calls wrote() for each page that was written to, by address, and begins the
 * next epoch for these pages.  Errors as above.
 */
int writes_end(struct writes *, refcnt_touched *wrote, void *arg);

#endif
