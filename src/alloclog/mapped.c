/*
 * Asking which pages are there.
 *
 * Known limit
 *	A stack of a coroutine that has been unmapped and has made room for a
 *	smaller one, in whose frames a damaged rbp points to where the first one
 *	was: that reads what is gone.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mapped.h"

#define PAGE ((uintptr_t)4096)
#define GAP_PAGES 64		/* a frame may skip as many pages before each is asked for apart */

extern void *__libc_stack_end __attribute__((weak));

/*
 * True when the kernel can read 8 bytes there: it copies a signal set before
 * it refuses what to do with it.
 */
static bool
asked(uintptr_t at)
{
	int saved = errno;
	bool ok = syscall(SYS_rt_sigprocmask, -1, at, NULL, 8) == -1 &&
	    errno != EFAULT;

	errno = saved;
	return ok;
}

/*
 * The program's own stack is one mapping from any frame up to where it began,
 * and nothing else lies below it as far as it may grow.
 */
static bool
on_main_stack(uintptr_t sp)
{
	uintptr_t top;

	if (&__libc_stack_end == NULL)
		return false;
	top = (uintptr_t)__libc_stack_end;
	return sp < top && top - sp < (uintptr_t)8 << 20;
}

void
mapped_begin(struct mapped *k, uintptr_t frame)
{
	uintptr_t page = frame & ~(PAGE - 1);

	if (frame - k->lo < k->hi - k->lo)
		return;
	if (on_main_stack(frame)) {
		k->lo = page;
		k->hi = (uintptr_t)__libc_stack_end;
		return;
	}
	if (frame < k->lo && k->lo - page <= GAP_PAGES * PAGE) {
		/* Deeper than before; a page that is missing is another stack's end. */
		while (k->lo > page && asked(k->lo - PAGE))
			k->lo -= PAGE;
		if (k->lo <= page)
			return;
	}
	k->lo = page;
	k->hi = page + PAGE;
}

bool
mapped_ask(struct mapped *k, uintptr_t at)
{
	uintptr_t page = at & ~(PAGE - 1);

	if (at < k->lo || page - k->hi > GAP_PAGES * PAGE)
		return asked(at);
	while (k->hi <= page) {
		if (!asked(k->hi & ~(PAGE - 1)))
			return asked(at);
		k->hi = (k->hi & ~(PAGE - 1)) + PAGE;
	}
	return true;
}
