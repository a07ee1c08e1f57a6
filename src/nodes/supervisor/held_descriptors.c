/* See held_descriptors.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../base/base.h"
#include "held_descriptors.h"

void
held_add(struct held *h, int fd, const char *name)
{
	size_t len = strlen(name) + 1;

	/* More than can be passed on cannot be held. */
	if (len > FDSTORE_NAME || h->n == h->max ||
	    h->names + len > INHERITED_NAMES) {
		close(fd);
		return;
	}
	h->entry[h->n].fd = fd;
	memcpy(h->entry[h->n++].name, name, len);
	h->names += len;
}

static bool
is_named(const struct held_entry *e, const char *name)
{
	return strcmp(e->name, name) == 0;
}

static bool
is_other(const struct held_entry *e, const char *name)
{
	return !is_named(e, name);
}

static void
drop(struct held *h, bool (*goes)(const struct held_entry *, const char *),
    const char *name)
{
	int kept = h->passed;

	for (int i = h->passed; i < h->n; i++) {
		struct held_entry *e = &h->entry[i];

		if (goes(e, name)) {
			close(e->fd);
			h->names -= strlen(e->name) + 1;
		} else {
			h->entry[kept++] = *e;
		}
	}
	h->n = kept;
}

void
held_drop(struct held *h, const char *name)
{
	drop(h, is_named, name);
}

void
held_drop_deadly(struct held *h)
{
	drop(h, is_other, KEPT_REPORT);
}

static void
take_passed(void *arg, const char *name, int fd)
{
	held_add(arg, fd, name);
}

void
held_limit(struct held *h)
{
	struct rlimit limit;

	h->max = INHERITED_MAX;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	    limit.rlim_cur / 2 < INHERITED_MAX)
		h->max = (int)(limit.rlim_cur / 2);
	if (h->max < h->n)
		h->max = h->n;
}

int
held_begin(struct held *h)
{
	int r;

	h->max = INHERITED_MAX;
	r = inherited_each(take_passed, h);
	h->passed = h->n;
	held_limit(h);
	return r;
}

/* Whoever has a descriptor where another is to be. */
static int
move_away(struct held *h, int from, int place)
{
	for (int i = from; i < h->n; i++) {
		if (h->entry[i].fd != place)
			continue;
		h->entry[i].fd = fcntl(place, F_DUPFD_CLOEXEC,
		    INHERITED_FIRST + h->n + 1);
		return h->entry[i].fd;
	}
	return 0;
}

static int
arrange(struct held *h, int channel)
{
	int last = INHERITED_FIRST + h->n;

	/* Out of the way of them all. */
	channel = fcntl(channel, F_DUPFD_CLOEXEC, last + 1);
	for (int i = 0; channel >= 0 && i < h->n; i++) {
		int place = INHERITED_FIRST + i, fd = h->entry[i].fd;

		if (fd == place) {
			if (fcntl(fd, F_SETFD, 0) < 0)
				return -1;
			continue;
		}
		if (move_away(h, i + 1, place) < 0 || dup2(fd, place) < 0)
			return -1;
		close(fd);
	}
	return channel < 0 ? -1 : dup2(channel, last);
}

static int
tell_passed(const struct held *h)
{
	static char names[INHERITED_NAMES];
	char number[16];
	size_t len = 0;

	for (int i = 0; i < h->n; i++)
		base_append(names, sizeof names, &len, "%s%s",
		    i > 0 ? ":" : "", h->entry[i].name);
	if (h->n == 0)
		return 0;
	snprintf(number, sizeof number, "%d", h->n);
	if (setenv("LISTEN_FDS", number, 1) < 0 ||
	    setenv("LISTEN_FDNAMES", names, 1) < 0)
		return -1;
	snprintf(number, sizeof number, "%d", (int)getpid());
	return setenv("LISTEN_PID", number, 1);
}

int
held_pass(struct held *h, int fd)
{
	fd = arrange(h, fd);
	return fd >= 0 && tell_passed(h) == 0 ? fd : -1;
}
