/* See own_use.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "own_use.h"

int
own_use_memory(uint64_t *bytes)
{
	char text[128];
	unsigned long long pages;
	ssize_t n;
	int fd, r;

	fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, sizeof text - 1);
	r = n < 0 ? -errno : 0;
	close(fd);
	if (r < 0)
		return r;
	text[n] = '\0';
	if (sscanf(text, "%*u %llu", &pages) != 1)
		return -EPROTO;
	*bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}
