/*
 * perf_ring: records of perf_event_open(2), in a ring buffer shared with the kernel.
 *
 * Vocabulary
 *	ring	the buffer for the events of one processor.  When it is full, the
 *		kernel drops records and later writes PERF_RECORD_LOST with their number.
 *
 * Example
 *	struct perf_event_attr attr = { .size = sizeof attr, ... };
 *	struct perf_ring ring = PERF_RING_NONE;
 *	perf_ring_open(&ring, &attr, pid, cpu, 64 << 10);
 *	perf_ring_read(&ring, perf_ring_head(&ring), take_record, arg);
 *	perf_ring_close(&ring);
 */
#ifndef PERF_RING_H
#define PERF_RING_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct perf_ring {
	int fd;
	struct perf_event_mmap_page *head;	/* the records follow; NULL: no records */
	size_t bytes;				/* of the records */
};

#define PERF_RING_NONE ((struct perf_ring){ .fd = -1 })

/*
 * Opens an event with a ring of its own; bytes: the ring's size, a power of two, at least
 * a page.  On error, nothing is open; -ENODEV: the processor is offline.
 */
int perf_ring_open(struct perf_ring *, struct perf_event_attr *, pid_t, int cpu,
    size_t bytes);
/* Opens another event that uses this ring; returns its descriptor or a negative errno. */
int perf_ring_join(const struct perf_ring *, struct perf_event_attr *, pid_t, int cpu);
/* Does nothing if the ring is not open. */
void perf_ring_close(struct perf_ring *);

#define PERF_RING_RECORD 64	/* bytes; of longer records only the header is valid */

/* The position after the last record that the kernel has written. */
uint64_t perf_ring_head(const struct perf_ring *);
/* Passes the records before `head` to take() and frees their space. */
void perf_ring_read(struct perf_ring *, uint64_t head,
    void (*take)(void *arg, const struct perf_event_header *), void *arg);

#endif
