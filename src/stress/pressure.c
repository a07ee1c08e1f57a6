#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../base/base.h"
#include "stress.h"

/* The number behind "total=" in the line that begins with that word. */
static bool
total_of(const char *text, size_t len, const char *word, uint64_t *us)
{
	static const char total[] = "total=";
	const char *end = text + len, *line = text, *newline, *at;
	size_t n = strlen(word);

	for (; line < end && (newline = memchr(line, '\n',
	    (size_t)(end - line))) != NULL; line = newline + 1) {
		if ((size_t)(newline - line) < n || memcmp(line, word, n) != 0)
			continue;
		at = memmem(line, (size_t)(newline - line), total,
		    sizeof total - 1);
		if (at == NULL)
			return false;
		at += sizeof total - 1;
		return stress_take_number(&at, newline, us) && at == newline;
	}
	return false;
}

bool
stress_read_pressure(const char *text, size_t len, uint64_t *some_us,
    uint64_t *full_us)
{
	uint64_t some, full;

	if (!total_of(text, len, "some ", &some) ||
	    !total_of(text, len, "full ", &full))
		return false;
	*some_us = some;
	*full_us = full;
	return true;
}

static const char *
why_no_trigger(int err)
{
	switch (err) {
	case -ENOENT:
	case -EOPNOTSUPP:
		return "this kernel does not measure pressure (CONFIG_PSI, psi=1)";
	case -EACCES:
	case -EPERM:
		return "the kernel lets root alone wait for pressure";
	case -EINVAL:
		return "the kernel refuses this window: without privileges it must "
		    "be a multiple of 2 seconds";
	default:
		return strerror(-err);
	}
}

int
stress_watch_pressure(const char *root, bool full, uint64_t wait_us,
    uint64_t window_us, const char **why)
{
	char path[PATH_MAX], text[64];
	int n, fd, err = 0;

	n = snprintf(path, sizeof path, "%s/proc/pressure/memory",
	    strcmp(root, "/") == 0 ? "" : root);
	if (n < 0 || n >= (int)sizeof path) {
		*why = why_no_trigger(-ENAMETOOLONG);
		return -ENAMETOOLONG;
	}
	/* The kernel wants the text's NUL too. */
	n = snprintf(text, sizeof text, "%s %llu %llu", full ? "full" : "some",
	    (unsigned long long)wait_us, (unsigned long long)window_us);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		err = -errno;
	else if (write(fd, text, (size_t)n + 1) < 0)
		err = -errno;
	if (err == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	*why = why_no_trigger(err);
	return err;
}
