/*
 * zeros: address space that reads as zeros, as large as a table may ever get,
 * whose pages come when they are used.
 *
 * A node keeps what is given back, emptied, for the next of its kind: where
 * programs of a few milliseconds come and go, each with its tables, mapping and
 * unmapping them would take a third of what it does for one, for each time
 * threads that only touch memory wait, and processors are interrupted.
 *
 * A page that is read before it is written is the system's one of zeros, and it
 * costs an interrupt of all processors to put another in its place then: what is
 * sure to be written is written first.
 *
 * Example
 *	struct table *t = zeros_map(sizeof *t, ZEROS_SMALL);
 *	...
 *	zeros_unmap(t, sizeof *t, ZEROS_SMALL);
 *
 * For any thread.
 */
#ifndef ZEROS_H
#define ZEROS_H

#include <stddef.h>

#define ZEROS_SMALL ((size_t)-1)	/* no huge pages */

/*
 * huge: what lies from that byte on may have huge pages; it begins where one can,
 * then.  NULL for want of memory.
 */
void *zeros_map(size_t bytes, size_t huge);
/* As many as are mapped for so many: whole pages. */
size_t zeros_pages(size_t bytes);

/*
 * From now on some of what is given back is kept, where no limit on address space
 * or data counts it: malloc(3) would lack what is idle here.
 */
void zeros_keep(void);

/* Both numbers are those of zeros_map().  p: NULL is no mapping. */
void zeros_unmap(void *p, size_t bytes, size_t huge);

#endif
