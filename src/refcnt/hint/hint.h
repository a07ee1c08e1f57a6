/*
 * hint: references to pages that the kernel samples in order to place memory
 * near its users (automatic NUMA balancing).
 *
 *	faults.c	page faults of a process, with address and processor: perf
 *	balancing.c	the machine's settings that make the kernel sample
 *
 * From time to time, the kernel removes some pages' access rights.  The next
 * reference causes a fault, a *sample*, with page and processor, and restores
 * them. perf_event_open(2) reports all page faults: a first touch and a copy
 * on write are samples as well.
 *
 * The kernel moves pages to the node that refers to them, in all processes.
 *
 * Known limits
 *	In each scan, a page has one sample at most, however often it is referenced.
 *	The kernel leaves out memory that is bound to a node (mbind(2)), read-only
 *	memory of files, and memory that the thread does not use.
 *	A huge page has one sample for all of its pages, which are *coarse*.
 *
 * Example
 *	balancing_begin(&balancing, "/", "/run/pagek/numa_balancing", why);
 *	hints_open(&h, pid, topology);
 *	hints_begin(h);
 *	... some 100 ms later, and again ...
 *	hints_read(h, count_sample, NULL);
 *	hints_close(h);
 *	balancing_end(balancing);
 */
#ifndef HINT_H
#define HINT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../refcnt.h"

/* --- the machine's settings (balancing.c) ---------------------------------------- */

struct balancing;

/*
 * Makes the kernel sample: kernel.numa_balancing on, scans as often as it can
 * (scan_period_max_ms gets scan_period_min_ms). root: "/", or a folder with
 * copies.
 *
 * file: the former settings, for the last process to restore, made if need be
 * in a folder that no other user can write.  Any number of processes.
 *
 * 0; `why` is "", or a sentence if samples will be rare.  -EOPNOTSUPP: no
 * balancing; -EBUSY: another process has been changing settings for a second;
 * errors of open(2), write(2); `why` is a sentence.
 */
int balancing_begin(struct balancing **, const char *root, const char *file,
    char why[REFCNT_WHY]);
/* The last process restores settings that nobody else has changed.  NULL: nothing. */
void balancing_end(struct balancing *);
/* False: another program has switched balancing off. */
bool balancing_is_on(const struct balancing *);
/* As balancing_begin(), without changes: 0 if balancing can be switched on. */
int balancing_check(const char *root, char why[REFCNT_WHY]);
/* Restores settings that killed processes have changed, unless a process uses them. */
void balancing_restore(const char *root, const char *file);

/* --- faults (faults.c) ----------------------------------------------------------- */

struct hints;

/*
 * 0, or a negative errno with a sentence in `why`: no such faults here, or a
 * right is missing.  Changes nothing.
 */
int hints_supported(pid_t, const char *root, unsigned nodes, char why[REFCNT_WHY]);

/*
 * Attaches to the process's threads, also later ones.  The topology must
 * outlive it.  -ESRCH: ended; -EMFILE: too many threads; -ENOMEM; errors of
 * perf_event_open(2).
 */
int hints_open(struct hints **, pid_t, const struct refcnt_topology *);
void hints_close(struct hints *);

/* Finds the mappings with huge pages.  -ESRCH, -ENOMEM, errors of open(2). */
int hints_begin(struct hints *);

typedef void hints_sample(void *arg, uint64_t vaddr, unsigned node, bool coarse);

/*
 * Reports faults since the last call, at any address.  HINTS_RING bytes for
 * each processor hold some 8,000.  -ESRCH: ended, or executed another program.
 */
#define HINTS_RING (256u << 10)
int hints_read(struct hints *, hints_sample *, void *arg);
/* The number of samples that did not fit into the buffer so far. */
uint64_t hints_lost(const struct hints *);

#endif
