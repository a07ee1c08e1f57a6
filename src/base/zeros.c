#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base.h"

/* Idle mappings are only address space, but some systems count it as used. */
#define IDLE 32
#define IDLE_BYTES ((size_t)256 << 20)

static struct idle {
	void *p;			/* NULL: empty */
	size_t bytes, huge;
} idle[IDLE];

static _Atomic bool reuse;
static size_t idle_bytes;
static unsigned oldest;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *
take_idle(size_t bytes, size_t huge)
{
	void *p = NULL;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < IDLE && p == NULL; i++)
		if (idle[i].p != NULL && idle[i].bytes == bytes &&
		    idle[i].huge == huge) {
			p = idle[i].p;
			idle[i] = (struct idle){ 0 };
			idle_bytes -= bytes;
		}
	pthread_mutex_unlock(&lock);
	return p;
}

static void
drop_one(struct idle *one)
{
	if (one->p != NULL)
		munmap(one->p, one->bytes);
	idle_bytes -= one->bytes;
	*one = (struct idle){ 0 };
}

/* Replaces the oldest, and drops more while there would be too many bytes. */
static void
put_idle(void *p, size_t bytes, size_t huge)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < IDLE && bytes > IDLE_BYTES - idle_bytes; i++)
		drop_one(&idle[(oldest + i) % IDLE]);
	drop_one(&idle[oldest]);
	idle[oldest] = (struct idle){ p, bytes, huge };
	oldest = (oldest + 1) % IDLE;
	idle_bytes += bytes;
	pthread_mutex_unlock(&lock);
}

static bool
drop_idle(void)
{
	bool any;

	pthread_mutex_lock(&lock);
	any = idle_bytes > 0;
	for (size_t i = 0; i < IDLE; i++)
		drop_one(&idle[i]);
	pthread_mutex_unlock(&lock);
	return any;
}

size_t
zeros_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

static void *
map_small(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *
map_huge(size_t bytes, size_t huge)
{
	char *p = map_small(bytes + BASE_HUGE);
	size_t head;

	if (p == NULL)
		return NULL;
	head = -(uintptr_t)p & (BASE_HUGE - 1);
	if (head > 0)
		munmap(p, head);
	munmap(p + head + bytes, BASE_HUGE - head);
	p += head;
	/* Only faster: failure does no harm. */
	(void)madvise(p + huge, bytes - huge, MADV_HUGEPAGE);
	return p;
}

static bool
is_limited(int what)
{
	struct rlimit limit;

	return getrlimit(what, &limit) < 0 || limit.rlim_cur != RLIM_INFINITY;
}

static pthread_once_t pagemap_once = PTHREAD_ONCE_INIT;
static int pagemap = -1;	/* /proc/self/pagemap */

static void
open_pagemap(void)
{
	pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
}

void
zeros_keep(void)
{
	reuse = !is_limited(RLIMIT_AS) && !is_limited(RLIMIT_DATA);
	(void)pthread_once(&pagemap_once, open_pagemap);
}

bool
zeros_are_kept(void)
{
	return reuse;
}

#define PAGE_PRESENT (UINT64_C(1) << 63)
#define PAGE_EXCLUSIVE (UINT64_C(1) << 56)

bool
zeros_page_is_alone(const void *p)
{
	const uint64_t both = PAGE_PRESENT | PAGE_EXCLUSIVE;
	uint64_t word;
	off_t at = (off_t)((uintptr_t)p / zeros_pages(1) * sizeof word);

	return pagemap >= 0 &&
	    pread(pagemap, &word, sizeof word, at) == sizeof word &&
	    (word & both) == both;
}

/* PAGEMAP_SCAN of Linux 6.7; older headers lack it. */
struct scan {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages,
	    inverted, mask, any_of, result;
};
struct scan_region {
	uint64_t start, end, what;
};
#define SCAN _IOWR('f', 16, struct scan)
#define SCAN_USED (UINT64_C(3) << 3)	/* present or swapped */

#define ZERO_PAGES 64			/* maximum of regions that are zeroed */

/*
 * Zeroes the used pages if they are few, which is faster than to release them and to
 * get others.  False: release them.
 */
static bool
zero_used(char *p, size_t bytes)
{
	struct scan_region region[ZERO_PAGES];
	struct scan scan = { .size = sizeof scan, .start = (uintptr_t)p,
		.end = (uintptr_t)p + bytes, .vec = (uintptr_t)region,
		.vec_len = ZERO_PAGES, .max_pages = ZERO_PAGES,
		.any_of = SCAN_USED, .result = SCAN_USED };
	int n = pagemap >= 0 ? ioctl(pagemap, SCAN, &scan) : -1;

	if (n < 0 || scan.walk_end != scan.end)
		return false;
	for (int i = 0; i < n; i++)
		memset(p + (region[i].start - scan.start), 0,
		    region[i].end - region[i].start);
	return true;
}

void *
zeros_map(size_t bytes, size_t huge)
{
	void *p;

	bytes = zeros_pages(bytes);
	if (huge >= bytes)
		huge = ZEROS_SMALL;
	p = take_idle(bytes, huge);
	if (p != NULL)
		return p;
	/* Idle mappings may take what a limited address space lacks. */
	do
		p = huge == ZEROS_SMALL ? map_small(bytes) :
		    map_huge(bytes, huge);
	while (p == NULL && drop_idle());
	return p;
}

void
zeros_unmap(void *p, size_t bytes, size_t huge)
{
	if (p == NULL)
		return;
	bytes = zeros_pages(bytes);
	if (huge >= bytes)
		huge = ZEROS_SMALL;
	/* Locked memory cannot be emptied. */
	if (!reuse || bytes > IDLE_BYTES || (!zero_used(p, bytes) &&
	    madvise(p, bytes, MADV_DONTNEED) != 0))
		munmap(p, bytes);
	else
		put_idle(p, bytes, huge);
}
