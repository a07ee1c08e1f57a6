/*
 * perf_ring: records of perf_event_open(2), in the memory that the kernel shares.
 *
 * Vocabulary
 *	ring	records of the events of one processor.  When it is full the kernel
 *		drops records and writes PERF_RECORD_LOST with their number later.
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
	struct perf_event_mmap_page *head;	/* the records follow; NULL: there is none */
	size_t bytes;				/* of the records */
};

#define PERF_RING_NONE ((struct perf_ring){ .fd = -1 })

/*
 * An event that is written to a ring of its own of so many bytes, a power of two, or of
 * a page.  A negative errno, with nothing open; -ENODEV: the processor is offline.
 */
int perf_ring_open(struct perf_ring *, struct perf_event_attr *, pid_t, int cpu,
    size_t bytes);
/* The descriptor of another event that is written to this ring, or a negative errno. */
int perf_ring_join(const struct perf_ring *, struct perf_event_attr *, pid_t, int cpu);
/* Also one that is not open. */
void perf_ring_close(struct perf_ring *);

#define PERF_RING_RECORD 64	/* bytes; of longer records only the header is valid */

/* The end of what the kernel has written so far. */
uint64_t perf_ring_head(const struct perf_ring *);
/* Reads the records up to that end, which is from perf_ring_head(), and frees their room. */
void perf_ring_read(struct perf_ring *, uint64_t head,
    void (*take)(void *arg, const struct perf_event_header *), void *arg);

#endif
