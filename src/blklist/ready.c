/*
 * Memory that is made present, by whoever asks or by somebody beside.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/kept.h"
#include "ready.h"

const struct ready_ops *ready_ops;

/*
 * Whoever the memory belongs to may write to it at the same time: only an
 * atomic operation leaves every byte as it is.  One that adds nothing would do,
 * but clang makes a load of it, which takes no page, or nothing at all.
 */
void
ready_touch(void *piece, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned char *p = piece, zero;

	for (size_t at = 0; at < bytes; at += page) {
		zero = 0;
		(void)__atomic_compare_exchange_n(p + at, &zero, 0, false,
		    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
}

void
ready_now(void *piece, size_t bytes, bool kept)
{
	int had = errno;

	if (kept)
		kept_populate(piece, bytes);
	/* Before Linux 5.14.  For want of memory it is left to who uses it. */
	else if (madvise(piece, bytes, MADV_POPULATE_WRITE) != 0 &&
	    errno == EINVAL)
		ready_touch(piece, bytes);
	errno = had;
}

void
ready_ask(void *piece, size_t bytes, bool kept)
{
	if (ready_ops == NULL || !ready_ops->ask(piece, bytes, kept))
		ready_now(piece, bytes, kept);
}

void
ready_forget(void *p, size_t bytes)
{
	if (ready_ops != NULL)
		ready_ops->forget(p, bytes);
}
