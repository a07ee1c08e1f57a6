/*
 * Asking which pages are mapped.
 *
 * A range that lasts is part of a stack that stays as long as its thread: the
 * program's own, which is one mapping from any frame up to where it began, and
 * a thread's, which libc lays out below the thread's descriptor.  Any other
 * stack, of a signal handler or a coroutine, and whatever lies beside it, may
 * be gone at the next event: what is known of it holds for one walk.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mapped.h"

#define PAGE ((uintptr_t)4096)
#define MAIN_SIZE ((uintptr_t)8 << 20)	/* nothing else lies within that below its top */
#define THREAD_PAGES 2048	/* of a thread's stack that are looked at */
#define TRIES 8			/* to find that this is the thread's own */

extern void *__libc_stack_end __attribute__((weak));

/*
 * True when the kernel can read 8 bytes there: it copies a signal set before
 * it refuses what to do with it.
 */
static bool
is_readable(uintptr_t at)
{
	int saved = errno;
	bool ok = syscall(SYS_rt_sigprocmask, -1, at, NULL, 8) == -1 &&
	    errno != EFAULT;

	errno = saved;
	return ok;
}

static inline uintptr_t
page_of(uintptr_t at)
{
	return at & ~(PAGE - 1);
}

static bool
on_main_stack(uintptr_t sp)
{
	uintptr_t top;

	if (&__libc_stack_end == NULL)
		return false;
	top = (uintptr_t)__libc_stack_end;
	return sp < top && top - sp < MAIN_SIZE;
}

/* The thread's descriptor, which lies above its stack; 0 not known. */
static uintptr_t
descriptor(void)
{
	uintptr_t tp = 0;

#ifdef __x86_64__
	__asm__("mov %%fs:0, %0" : "=r"(tp));
#endif
	return tp;
}

/* Every page of [lo, hi) is mapped; false too when there are too many. */
static bool
are_readable(uintptr_t lo, uintptr_t hi)
{
	if (lo >= hi || hi - lo > THREAD_PAGES * PAGE)
		return false;
	for (uintptr_t at = lo; at < hi; at += PAGE)
		if (!is_readable(at))
			return false;
	return true;
}

/* Deeper on the thread's own stack than before: pages down to here are its too. */
static bool
own_deeper(struct mapped *m, uintptr_t page)
{
	if (m->own_lo == 0 || page >= m->own_lo ||
	    !are_readable(page, m->own_lo))
		return false;
	m->own_lo = page;
	return true;
}

/* Of the program's first thread; 0 where we were loaded by another one. */
static uintptr_t first_descriptor;

__attribute__((constructor)) static void
note_first(void)
{
	if (syscall(SYS_gettid) == syscall(SYS_getpid))
		first_descriptor = descriptor();
}

/*
 * The thread's own stack reaches from here without a gap to its descriptor.
 * That of the first thread does not lie above its stack, though other mappings
 * may reach so far.  Which thread it is cannot be asked any more: a program may
 * have forbidden itself getpid(2), and be killed for it.
 */
static bool
own_found(struct mapped *m, uintptr_t page)
{
	uintptr_t top = descriptor();

	if (m->own_lo != 0 || m->tries == TRIES)
		return false;
	m->tries++;
	if (first_descriptor == 0 || top == first_descriptor ||
	    !are_readable(page, top))
		return false;
	m->own_lo = page;
	m->own_hi = top;
	return true;
}

void
mapped_look(struct mapped *m, uintptr_t frame)
{
	uintptr_t page = page_of(frame);

	if (on_main_stack(frame)) {
		m->own_lo = page;
		m->own_hi = (uintptr_t)__libc_stack_end;
	} else if (!own_deeper(m, page) && !own_found(m, page)) {
		m->lo = page;
		m->hi = page + PAGE;
		return;
	}
	m->lo = m->own_lo;
	m->hi = m->own_hi;
}

bool
mapped_ask(struct mapped *m, uintptr_t at)
{
	if (at - m->own_lo < m->own_hi - m->own_lo)
		return true;
	/* Also below the program's stack: it might not be allowed to grow there. */
	if (!is_readable(at))
		return false;
	/* The next page of a stack that is nobody's own. */
	if (m->hi != m->own_hi && at - m->hi < PAGE)
		m->hi += PAGE;
	return true;
}
