/* See limits.h. */
#include <errno.h>
#include <stdint.h>
#include <sys/resource.h>

#include "unwind/syscalls.h"
#include "limits.h"

#define SHARES 8	/* of what is left to the program; we take one at most */

/* Bytes of addresses that are taken; UINT64_MAX when it is not known. */
static uint64_t
taken(void)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/statm",
	    O_RDONLY | O_CLOEXEC);
	uint64_t pages = 0;
	char text[32];
	ssize_t n;

	if (fd == -1)
		return UINT64_MAX;
	n = syscall(SYS_read, fd, text, sizeof(text));
	call_close(fd);
	/* Its first number. */
	for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(text[i] - '0');
	return pages != 0 ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : UINT64_MAX;
}

bool
limits_cramp(size_t bytes)
{
	struct rlimit limit;
	int saved = errno;
	uint64_t now;
	bool cramp = false;

	if (syscall(SYS_prlimit64, 0, RLIMIT_AS, NULL, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY) {
		now = taken();
		cramp = now > limit.rlim_cur ||
		    (limit.rlim_cur - now) / SHARES < bytes;
	}
	errno = saved;
	return cramp;
}
