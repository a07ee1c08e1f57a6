/*
 * Traces for listbench: what a heap does, with the addresses that the C
 * library's malloc gives, so that what lies beside what is as in a program.
 *
 *	sizes	60 % up to 64 bytes, 25 % to 256, 12 % to 1 KiB, 3 % to 8 KiB,
 *		and one in a thousand from 128 KiB on, which is mapped.
 *	mix	80 % of the replacements are in a pool of 256 young blocks, six
 *		in ten of them of the youngest; the others are of a block
 *		chosen at random from all: the heap of a long-lived program.
 *	rand	each replacement is of a block chosen at random: the worst case.
 *	churn	64 blocks, one at random replaced.
 *	realloc	the same, by realloc: its free cancels nothing, and goes into
 *		limbo.
 *
 * A trace has three parts: `live` allocations, as many replacements to age the
 * heap (not of churn), and the events that are timed.  It is made by a child,
 * whose heap is gone when the list is measured, in memory that both share or
 * in a file.
 */
#ifndef BENCH_LIST_TRACE_H
#define BENCH_LIST_TRACE_H

#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../src/blklist/blklist.h"

#define TRACE_YOUNG 256
#define TRACE_CHURN 64

/* An event: address 48, size in units of 16 saturating 15, alloc 1. */
#define TRACE_ALLOC (UINT64_C(1) << 63)
#define TRACE_SIZE(ev) (((ev) >> 48 & 0x7fff) * 16)

struct trace {
	char kind[8];
	uint64_t live;
	uint64_t n;		/* events in all ... */
	uint64_t timed;		/* ... and where those begin that are timed */
	uint64_t event[];
};

static uint64_t trace_seed = 88172645463325252u;

static inline uint64_t
trace_rng(void)
{
	trace_seed ^= trace_seed << 13;
	trace_seed ^= trace_seed >> 7;
	trace_seed ^= trace_seed << 17;
	return trace_seed;
}

static inline size_t
trace_size(void)
{
	uint64_t r = trace_rng(), part = r % 1000, any = r >> 20;

	if (part == 0)
		return 128 * 1024 + any % (384 * 1024);
	if (part < 601)
		return 8 + any % 57;
	if (part < 851)
		return 64 + any % 193;
	if (part < 970)
		return 256 + any % 769;
	return 1024 + any % 7169;
}

static inline void
trace_alloc(struct trace *t, void **slot)
{
	size_t size = trace_size(), units = (size + 15) / 16;

	*slot = malloc(size);
	if (*slot == NULL)
		abort();
	t->event[t->n++] = TRACE_ALLOC |
	    (uint64_t)(units > 0x7fff ? 0x7fff : units) << 48 |
	    (uint64_t)(uintptr_t)*slot;
}

static inline void
trace_replace(struct trace *t, void **slot)
{
	t->event[t->n++] = (uint64_t)(uintptr_t)*slot;
	free(*slot);
	trace_alloc(t, slot);
}

/* One of the young, which are the last of the slots. */
static inline void **
trace_young(void **slot, uint64_t live, uint64_t r)
{
	uint64_t young = live < TRACE_YOUNG ? live : TRACE_YOUNG;

	if (r % 10 < 6)
		return &slot[live - 1];
	return &slot[live - 1 - (r >> 8) % young];
}

static inline void
trace_step(struct trace *t, void **slot, bool mix)
{
	uint64_t r = trace_rng();

	if (mix && r % 10 < 8)
		trace_replace(t, trace_young(slot, t->live, r >> 16));
	else
		trace_replace(t, &slot[(r >> 20) % t->live]);
}

static inline void
trace_fill(struct trace *t, uint64_t timed)
{
	bool mix = strcmp(t->kind, "mix") == 0;
	bool aged = mix || strcmp(t->kind, "rand") == 0;
	void **slot = mmap(NULL, t->live * sizeof(*slot),
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (slot == MAP_FAILED)
		abort();
	mallopt(M_MMAP_THRESHOLD, 128 * 1024);
	for (uint64_t i = 0; i < t->live; i++)
		trace_alloc(t, &slot[i]);
	for (uint64_t i = 0; aged && i < t->live; i++)
		trace_step(t, slot, mix);
	t->timed = t->n;
	while (t->n < t->timed + timed)
		trace_step(t, slot, mix);
}

static inline size_t
trace_bytes(uint64_t live, uint64_t timed)
{
	return sizeof(struct trace) +
	    (3 * live + timed + 2) * sizeof(uint64_t);
}

/* In memory of its own, or in a file that is made unless it is there. */
static inline const struct trace *
trace_make(const char *kind, uint64_t live, uint64_t timed, const char *file)
{
	size_t bytes = trace_bytes(live, timed);
	int fd = -1, status;
	struct stat st;
	struct trace *t;
	pid_t pid;

	if (file != NULL) {
		fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
		if (fd < 0 || fstat(fd, &st) != 0)
			return NULL;
		if ((size_t)st.st_size != bytes && ftruncate(fd, (off_t)bytes) != 0)
			return NULL;
	}
	t = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	if (fd >= 0)
		close(fd);
	if (t == MAP_FAILED)
		return NULL;
	if (t->live == live && t->timed != 0 && strcmp(t->kind, kind) == 0)
		return t;
	*t = (struct trace){ .live = live };
	strncpy(t->kind, kind, sizeof(t->kind) - 1);
	pid = fork();
	if (pid == 0) {
		trace_fill(t, timed);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status != 0)
		return NULL;
	return t;
}

static inline void
trace_drop(const struct trace *t, uint64_t timed)
{
	munmap((void *)(uintptr_t)t, trace_bytes(t->live, timed));
}

/* The records of n events, from the one at `at` on. */
static inline void
trace_records(const struct trace *t, uint64_t at, size_t n, struct rec *out)
{
	bool by_realloc = strcmp(t->kind, "realloc") == 0 && at >= t->live;
	unsigned type_alloc = by_realloc ? TYPE_REALLOC : TYPE_MALLOC;
	unsigned type_free = by_realloc ? TYPE_BY_REALLOC : TYPE_FREE;

	for (size_t i = 0; i < n; i++) {
		uint64_t ev = t->event[at + i];
		bool alloc = ev & TRACE_ALLOC;

		out[i] = (struct rec){ {
		    rec_w0(ev & REC_ADDR_MASK,
			REC_FLAGS(alloc ? REC_ALLOC : REC_FREE, 0),
			alloc ? type_alloc : type_free),
		    rec_w1(TRACE_SIZE(ev), 1),
		    rec_w2((uint32_t)(at + i), (uint32_t)(at >> 10)),
		    rec_w3(0x555555554000 + (ev >> 44 & 0xff0), 1),
		} };
	}
}

#endif
