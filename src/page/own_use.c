/* See own_use.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "own_use.h"

#define WRITTEN "\nwchar: "

/* The whole file as a string; it is made anew for each reading from its start. */
static int
read_start(int fd, char *out, size_t cap)
{
	ssize_t n = pread(fd, out, cap - 1, 0);

	if (n < 0)
		return -errno;
	out[n] = '\0';
	return 0;
}

int
own_use_written(struct own_use *use, uint64_t *bytes)
{
	char text[512];
	const char *at;
	unsigned long long n;
	int r;

	if (use->none)
		return -ENOENT;
	if (use->fd < 0)
		use->fd = open("/proc/thread-self/io", O_RDONLY | O_CLOEXEC);
	r = use->fd < 0 ? -errno : read_start(use->fd, text, sizeof text);
	if (r == 0) {
		at = strstr(text, WRITTEN);
		if (at == NULL || sscanf(at + strlen(WRITTEN), "%llu",
		    &n) != 1)
			r = -EPROTO;
	}
	if (r < 0) {
		own_use_close(use);
		use->none = true;
		return r;
	}
	*bytes = n;
	return 0;
}

void
own_use_close(struct own_use *use)
{
	if (use->fd >= 0)
		close(use->fd);
	use->fd = -1;
}

int
own_use_memory(uint64_t *bytes)
{
	char text[128];
	unsigned long long pages;
	int fd, r;

	fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = read_start(fd, text, sizeof text);
	close(fd);
	if (r < 0)
		return r;
	if (sscanf(text, "%*u %llu", &pages) != 1)
		return -EPROTO;
	*bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}
