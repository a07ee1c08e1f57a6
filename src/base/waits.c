/*
 * Own clock_gettime(), poll() and epoll_wait(), which call libc: faketime(1)
 * replaces them in a preloaded library, where clocks may stand still and waits
 * with them, so no timer of ours or of libuv would end.  A symbol of the
 * program comes first, also for libraries.  The time of day stays that of
 * faketime.
 *
 * faketime(1) preloads a library that replaces them.  Its clocks may stand still,
 * and its waits are as slow as its clocks: no timer of ours or of libuv would end.
 * A symbol of the program comes before those of libraries, also for calls by
 * libraries.  The time of day stays that of faketime.
 *
 * Sanitizers replace these functions themselves, and 32-bit programs call others:
 * both get none of these.
 */
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__LP64__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !__has_feature(address_sanitizer) && \
    !__has_feature(thread_sanitizer) && !__has_feature(memory_sanitizer)

/* Weak: a test may have its own. */
#define EXPORTED __attribute__((visibility("default"), weak))

static struct {
	__typeof__(clock_gettime) *clock_gettime, *next_clock;
	__typeof__(poll) *poll;
	__typeof__(epoll_wait) *epoll_wait;
	__typeof__(epoll_pwait) *epoll_pwait;
} libc;
static atomic_bool found;		/* all of them */

/* The function of libc; if libc has another file name, that of the next library. */
static void *
find(const char *name)
{
	void *lib = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *at = dlsym(lib != NULL ? lib : RTLD_NEXT, name);

	if (lib != NULL)
		dlclose(lib);
	return at;
}

/*
 * Before main(): later calls may be in a signal handler.  The loader allocates,
 * and a preloaded allocator may ask for the time meanwhile: until all are found,
 * calls go to the system.
 */
static __attribute__((constructor)) void
find_all(void)
{
	*(void **)&libc.next_clock = dlsym(RTLD_NEXT, "clock_gettime");
	*(void **)&libc.clock_gettime = find("clock_gettime");
	*(void **)&libc.poll = find("poll");
	*(void **)&libc.epoll_wait = find("epoll_wait");
	*(void **)&libc.epoll_pwait = find("epoll_pwait");
	atomic_store(&found, true);
}

EXPORTED int
clock_gettime(clockid_t id, struct timespec *ts)
{
	if (!atomic_load(&found))
		return (int)syscall(SYS_clock_gettime, id, ts);
	if (id == CLOCK_REALTIME && libc.next_clock(id, ts) == 0)
		return 0;
	return libc.clock_gettime(id, ts);
}

EXPORTED int
poll(struct pollfd *fds, nfds_t n, int ms)
{
	struct timespec wait = { ms / 1000, ms % 1000 * 1000000L };

	if (!atomic_load(&found))
		return (int)syscall(
		    SYS_ppoll, fds, n, ms < 0 ? NULL : &wait, NULL, 8);
	return libc.poll(fds, n, ms);
}

EXPORTED int
epoll_wait(int fd, struct epoll_event *events, int n, int ms)
{
	if (!atomic_load(&found))
		return (int)syscall(SYS_epoll_pwait, fd, events, n, ms, NULL, 8);
	return libc.epoll_wait(fd, events, n, ms);
}

EXPORTED int
epoll_pwait(int fd, struct epoll_event *events, int n, int ms,
    const sigset_t *mask)
{
	if (!atomic_load(&found))
		return (int)syscall(SYS_epoll_pwait, fd, events, n, ms, mask, 8);
	return libc.epoll_pwait(fd, events, n, ms, mask);
}

#endif
