/*
 * hint: references to pages that the kernel samples in order to place memory near its
 * users (automatic NUMA balancing).
 *
 *	faults.c	page faults of a process, with address and processor: perf
 *	balancing.c	the machine's settings that make the kernel sample
 *
 * The kernel takes the rights of some pages away from time to time.  The next reference
 * to such a page makes a fault, which tells the page and the processor, and gives the
 * rights back: a *sample*.  perf_event_open(2) tells all page faults, so the first
 * touch of a page and a copy on write are samples as well.
 *
 * The observer changes what it observes: the kernel moves pages to the node that
 * refers to them, in all processes of the machine.
 *
 * Known limits
 *	A page that is referenced all the time has one sample a scan, as one that is
 *	referenced once.
 *	The kernel leaves out memory that is bound to a node (mbind(2)), read-only
 *	memory of files, and memory that the thread does not use.
 *	A huge page has one sample for all of its pages: those are *coarse*.
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
 * Lets the kernel sample: switches kernel.numa_balancing on if it is off, and keeps it
 * from scanning less often than it may (scan_period_max_ms becomes scan_period_min_ms).
 * root: "/", or a folder with copies of these files.
 *
 * file: keeps what the settings were, for whoever ends last; it is made if need be, in
 * a folder to which nobody else may write.  Any number of processes may share it.
 *
 * 0, with a sentence in why if samples will be rare, or "".  -EOPNOTSUPP: this kernel
 * has no balancing; -EBUSY: another process changes them for a second; errors of
 * open(2) and write(2); with a sentence in why.
 */
int balancing_begin(struct balancing **, const char *root, const char *file,
    char why[REFCNT_WHY]);
/*
 * The last one puts back what was changed, unless somebody has changed it since.
 * NULL does nothing.
 */
void balancing_end(struct balancing *);
/* Somebody may have switched it off. */
bool balancing_is_on(const struct balancing *);
/* 0, or why balancing is not there or cannot be switched on; changes nothing. */
int balancing_check(const char *root, char why[REFCNT_WHY]);
/* Puts back what processes that were killed have changed; nothing while one lives. */
void balancing_restore(const char *root, const char *file);

/* --- faults (faults.c) ----------------------------------------------------------- */

struct hints;

/*
 * 0; or a negative errno and a sentence why this process cannot be counted so: this
 * kernel or machine has no such faults, or we have not the right.  Changes nothing.
 */
int hints_supported(pid_t, const char *root, unsigned nodes, char why[REFCNT_WHY]);

/*
 * Attaches to all threads of the process, and those that they make.  topology outlives
 * it.  -ESRCH: it has ended; -EMFILE: it has too many threads; -ENOMEM; errors of
 * perf_event_open(2).
 */
int hints_open(struct hints **, pid_t, const struct refcnt_topology *);
void hints_close(struct hints *);

/* Reads which mappings have huge pages.  -ESRCH, -ENOMEM, errors of open(2). */
int hints_begin(struct hints *);

typedef void hints_sample(void *arg, uint64_t vaddr, unsigned node, bool coarse);

/*
 * Tells the faults since the last call, at any address.  The kernel's room for them,
 * HINTS_RING bytes for each processor, is full after some 8,000.  -ESRCH: the process
 * has ended, or has executed another program.
 */
#define HINTS_RING (256u << 10)
int hints_read(struct hints *, hints_sample *, void *arg);
/* Samples for which there was no room, so far. */
uint64_t hints_lost(const struct hints *);

#endif
