/* See pages.h. */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pages.h"
#include "ready.h"

/*
 * Pages that are not huge are taken by a sixteenth of what there is, and at most
 * so many bytes of them.  Tables of some size have them taken by another thread,
 * which may take milliseconds for it: so it is asked while there is still a
 * part left, or half a megabyte at the most.
 */
#define READY_PART 16
#define READY_MAX (UINT32_C(256) << 10)
#define READY_BESIDE LIST_HUGE
#define READY_EARLY_PART 64
#define READY_EARLY_MAX (UINT32_C(512) << 10)

void *
list_map(size_t bytes)
{
	return zeros_map(bytes, ZEROS_SMALL);
}

void *
list_map_huge(size_t bytes, size_t huge)
{
	return zeros_map(bytes, huge);
}

/*
 * How much is taken next: pages that are not huge by their part of what there
 * is, huge ones whole.
 */
static size_t
ready_more(size_t bytes, size_t huge, size_t ready)
{
	size_t more;

	if (ready >= huge) {
		more = LIST_HUGE - (ready & (LIST_HUGE - 1));
	} else {
		more = ready / READY_PART;
		if (more > READY_MAX)
			more = READY_MAX;
		more = zeros_pages(more);
	}
	return more < bytes - ready ? more : bytes - ready;
}

/* Small pieces are there in no time; for large ones there is somebody else. */
static size_t
make_ready(void *p, size_t bytes, size_t huge, size_t ready, bool kept)
{
	size_t more;

	ready = zeros_pages(ready);
	more = ready_more(zeros_pages(bytes), huge, ready);
	if (more == 0)
		return ready;
	(ready < READY_BESIDE ? ready_now : ready_ask)((char *)p + ready, more,
	    kept);
	return ready + more;
}

size_t
list_make_ready(void *p, size_t bytes, size_t huge, size_t ready)
{
	return make_ready(p, bytes, huge, ready, false);
}

size_t
list_make_ready_kept(void *piece, size_t bytes, size_t huge, size_t ready)
{
	return make_ready(piece, bytes, huge, ready, true);
}

uint64_t
list_ready_early(size_t ready)
{
	size_t early = ready / READY_EARLY_PART;

	return early < READY_EARLY_MAX ? early : READY_EARLY_MAX;
}

void
list_unmap_huge(void *p, size_t bytes, size_t huge)
{
	if (p != NULL)
		ready_forget(p, bytes);
	zeros_unmap(p, bytes, huge);
}

void
list_unmap(void *p, size_t bytes)
{
	list_unmap_huge(p, bytes, ZEROS_SMALL);
}

/* Locked memory cannot be given back, and must read as zeros all the same. */
void
list_zero(void *p, size_t bytes)
{
	ready_forget(p, bytes);
	if (madvise(p, bytes, MADV_DONTNEED) != 0)
		memset(p, 0, bytes);
}

void
list_release(void *from, void *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t end = (uintptr_t)to & ~(page - 1);
	size_t head = -(uintptr_t)from & (page - 1);
	char *begin = (char *)from + head;

	if ((uintptr_t)begin < end)
		list_zero(begin, end - (uintptr_t)begin);
}
