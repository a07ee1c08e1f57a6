/*
 * Asking which pages are mapped.
 *
 * A thread's own stack stays as long as the thread: the program's is one
 * mapping from any frame up to where it began, and libc's lie below the
 * thread's descriptor.  Any other stack, of a handler or coroutine, may be gone
 * at the next event: what is known of it holds for one walk.
 */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc.h"
#include "mapped.h"

#define PAGE ((uintptr_t)4096)
#define MAIN_SIZE ((uintptr_t)8 << 20)	/* nothing else lies that close below its top */
#define THREAD_PAGES 2048	/* of a thread's stack that are tested */
#define TRIES 8			/* to recognise the thread's own */

/* The kernel copies the signal set before it refuses the rest. */
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
	uintptr_t top = (uintptr_t)libc_stack_end();

	return sp < top && top - sp < MAIN_SIZE;
}

/* Lies above the thread's stack; 0 not known. */
static uintptr_t
descriptor(void)
{
	uintptr_t tp = 0;

#ifdef __x86_64__
	__asm__("mov %%fs:0, %0" : "=r"(tp));
#endif
	return tp;
}

/* False too when there are too many pages. */
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

/* Pages from here to the known part of the stack are the thread's too. */
static bool
extend_stack(struct mapped *m, uintptr_t page)
{
	if (m->stack_lo == 0 || page >= m->stack_lo ||
	    !are_readable(page, m->stack_lo))
		return false;
	m->stack_lo = page;
	return true;
}

/* The descriptor of the first thread; 0: another thread loaded us. */
static uintptr_t first_descriptor;

__attribute__((constructor)) static void
note_first(void)
{
	if (syscall(SYS_gettid) == syscall(SYS_getpid))
		first_descriptor = descriptor();
}

/*
 * The thread's own stack reaches to its descriptor without a gap, except for
 * the first thread.  Not found by getpid(2), which a program may have forbidden
 * itself.
 */
static bool
find_stack(struct mapped *m, uintptr_t page)
{
	uintptr_t top = descriptor();

	if (m->stack_lo != 0 || m->tries == TRIES)
		return false;
	m->tries++;
	if (first_descriptor == 0 || top == first_descriptor ||
	    !are_readable(page, top))
		return false;
	m->stack_lo = page;
	m->stack_hi = top;
	return true;
}

void
mapped_begin_slow(struct mapped *m, uintptr_t frame)
{
	uintptr_t page = page_of(frame);

	if (on_main_stack(frame)) {
		m->stack_lo = page;
		m->stack_hi = (uintptr_t)libc_stack_end();
	} else if (!extend_stack(m, page) && !find_stack(m, page)) {
		m->lo = page;
		m->hi = page + PAGE;
		return;
	}
	m->lo = m->stack_lo;
	m->hi = m->stack_hi;
}

bool
mapped_has_slow(struct mapped *m, uintptr_t at)
{
	if (at - m->stack_lo < m->stack_hi - m->stack_lo)
		return true;
	/* Also below the program's stack, which may not be allowed to grow. */
	if (!is_readable(at))
		return false;
	/* The next page of a foreign stack. */
	if (m->hi != m->stack_hi && at - m->hi < PAGE)
		m->hi += PAGE;
	return true;
}
