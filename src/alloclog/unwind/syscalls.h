/*
 * syscalls: system calls by number, so that no function of the program or
 * another library comes between.  Private to the target side.
 *
 * In the library syscall(2) is functions.c's.  A program's close(2) may take a
 * lock that is held at a fork; a library before us may have a getuid(2) that
 * lies (fakeroot).  With 32-bit pointers, where nothing is watched, some are
 * left to libc.
 */
#ifndef ALLOCLOG_SYSCALLS_H
#define ALLOCLOG_SYSCALLS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "libc.h"

static inline void
call_close(int fd)
{
	(void)syscall(SYS_close, fd);
}

static inline int
call_socket(int domain, int type, int protocol)
{
	return (int)syscall(SYS_socket, domain, type, protocol);
}

static inline int
call_connect(int fd, const struct sockaddr *to, socklen_t len)
{
	return (int)syscall(SYS_connect, fd, to, len);
}

static inline int
call_fcntl(int fd, int what, long with)
{
	return (int)syscall(SYS_fcntl, fd, what, with);
}

static inline int
call_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	return (int)syscall(SYS_getsockopt, fd, level, name, value, len);
}

static inline ssize_t
call_send(int fd, const void *bytes, size_t len, int flags)
{
	return syscall(SYS_sendto, fd, bytes, len, flags, NULL, 0);
}

static inline ssize_t
call_sendmsg(int fd, const struct msghdr *msg, int flags)
{
	return syscall(SYS_sendmsg, fd, msg, flags);
}

static inline ssize_t
call_recvmsg(int fd, struct msghdr *msg, int flags)
{
	return syscall(SYS_recvmsg, fd, msg, flags);
}

/* The kernel writes the rest into *ts. */
static inline int
call_ppoll(struct pollfd *fds, nfds_t n, struct timespec *ts)
{
	return (int)syscall(SYS_ppoll, fds, n, ts, NULL, 8);
}

/* The file's size; its position moves there. */
static inline off_t
call_end_of(int fd)
{
	return (off_t)syscall(SYS_lseek, fd, 0, SEEK_END);
}

static inline void *
call_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
#ifdef __LP64__
	return (void *)syscall(SYS_mmap, at, size, prot, flags, fd, offset);
#else
	return mmap(at, size, prot, flags, fd, offset);
#endif
}

static inline int
call_munmap(void *at, size_t size)
{
	return (int)syscall(SYS_munmap, at, size);
}

static inline int
call_madvise(void *at, size_t size, int advice)
{
	return (int)syscall(SYS_madvise, at, size, advice);
}

static inline int
call_mprotect(void *at, size_t size, int prot)
{
	return (int)syscall(SYS_mprotect, at, size, prot);
}

/*
 * Private memory that RLIMIT_DATA does not count, because the kernel treats it
 * as a stack.  The page below it has no access, so that it never grows.  NULL:
 * no memory.  Keeps errno, as the next two functions do.
 */
static inline void *
call_map_private(size_t size)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	size_t page = libc_page();
	int saved = errno;
	char *below = call_mmap(NULL, page + size, PROT_NONE, flags, -1, 0);
	void *p = NULL;

	if (below != MAP_FAILED) {
		p = call_mmap(below + page, size, PROT_READ | PROT_WRITE,
		    flags | MAP_GROWSDOWN | MAP_FIXED, -1, 0);
		if (p == MAP_FAILED) {
			call_munmap(below, page + size);
			p = NULL;
		} else if (libc_unlocks) {
			(void)syscall(SYS_munlock, below, page + size);
		}
	}
	errno = saved;
	return p;
}

static inline void
call_unmap_private(void *at, size_t size)
{
	size_t page = libc_page();
	int saved = errno;

	call_munmap((char *)at - page, page + size);
	errno = saved;
}

/* The same; any fork wipes the first `wiped` bytes. */
static inline void *
call_map_wiped(size_t size, size_t wiped)
{
	int saved = errno;
	void *p = call_map_private(size);

	if (p != NULL && call_madvise(p, wiped, MADV_WIPEONFORK) != 0) {
		call_unmap_private(p, size);
		p = NULL;
	}
	errno = saved;
	return p;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/*
 * Populates the range's pages in one call, for a range that will be written to almost
 * completely: one fault for each page costs several times as much.  Has no effect before
 * Linux 5.14.  Keeps errno.
 */
static inline void
call_populate(void *at, size_t size)
{
	uintptr_t page = libc_page(), from = (uintptr_t)at & ~(page - 1);
	int saved = errno;

	(void)call_madvise((void *)from, (uintptr_t)at + size - from,
	    MADV_POPULATE_WRITE);
	errno = saved;
}

/* libc's function would leave two of its own signals unblocked. */
static inline void
call_block_signals(uint64_t *old)
{
	const uint64_t all = ~UINT64_C(0);

	(void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, old, sizeof(all));
}

static inline void
call_restore_signals(const uint64_t *old)
{
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, old, NULL, sizeof(*old));
}

static inline int
call_lstat(const char *path, struct stat *st)
{
#ifdef __LP64__
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, st,
	    AT_SYMLINK_NOFOLLOW);
#else
	return lstat(path, st);
#endif
}

static inline uid_t
call_getuid(void)
{
	return (uid_t)syscall(SYS_getuid);
}

static inline uid_t
call_geteuid(void)
{
	return (uid_t)syscall(SYS_geteuid);
}

#endif
