/* See zeros.h. */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "zeros.h"

/*
 * Empty ones that are kept, no more than a few targets of the usual size have:
 * it is address space alone, but a system may count it as if it were used.
 */
#define IDLE 32
#define IDLE_BYTES ((size_t)256 << 20)

static struct idle {
	void *p;			/* NULL: there is none */
	size_t bytes, huge;
} idle[IDLE];

static size_t idle_bytes;
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
			idle[i].p = NULL;
			idle_bytes -= bytes;
		}
	pthread_mutex_unlock(&lock);
	return p;
}

/* False: there are as many as are kept. */
static bool
put_idle(void *p, size_t bytes, size_t huge)
{
	bool room = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < IDLE && !room &&
	    bytes <= IDLE_BYTES - idle_bytes; i++)
		if (idle[i].p == NULL) {
			idle[i] = (struct idle){ p, bytes, huge };
			idle_bytes += bytes;
			room = true;
		}
	pthread_mutex_unlock(&lock);
	return room;
}

/* False: there was none. */
static bool
drop_idle(void)
{
	bool any;

	pthread_mutex_lock(&lock);
	any = idle_bytes > 0;
	for (size_t i = 0; i < IDLE; i++)
		if (idle[i].p != NULL)
			munmap(idle[i].p, idle[i].bytes);
	memset(idle, 0, sizeof idle);
	idle_bytes = 0;
	pthread_mutex_unlock(&lock);
	return any;
}

static size_t
whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) & ~(page - 1);
}

static void *
map(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void *
map_huge(size_t bytes, size_t huge)
{
	char *p = map(bytes + ZEROS_HUGE);
	size_t head;

	if (p == NULL)
		return NULL;
	head = -(uintptr_t)p & (ZEROS_HUGE - 1);
	if (head > 0)
		munmap(p, head);
	munmap(p + head + bytes, ZEROS_HUGE - head);
	p += head;
	/* Without them it is as good, and slower. */
	(void)madvise(p + huge, bytes - huge, MADV_HUGEPAGE);
	return p;
}

void *
zeros_map(size_t bytes, size_t huge)
{
	void *p;

	bytes = whole_pages(bytes);
	if (huge >= bytes)
		huge = ZEROS_SMALL;
	p = take_idle(bytes, huge);
	if (p != NULL)
		return p;
	/* Where address space is limited, what is kept may be what is lacking. */
	do
		p = huge == ZEROS_SMALL ? map(bytes) : map_huge(bytes, huge);
	while (p == NULL && drop_idle());
	return p;
}

void
zeros_unmap(void *p, size_t bytes, size_t huge)
{
	if (p == NULL)
		return;
	bytes = whole_pages(bytes);
	if (huge >= bytes)
		huge = ZEROS_SMALL;
	/* Locked memory cannot be emptied. */
	if (madvise(p, bytes, MADV_DONTNEED) != 0 || !put_idle(p, bytes, huge))
		munmap(p, bytes);
}
