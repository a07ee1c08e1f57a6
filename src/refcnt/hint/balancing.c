/*
 * A process with samples holds a shared lock on the file with the former
 * settings, which change under an exclusive lock: the first and last process
 * get it.  The kernel releases a killed one's.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "hint.h"

#define TRIES 200		/* attempts to lock, TRY_MS apart */
#define TRY_MS 5
#define TEXT 256		/* maximum size of the file */
#define PATH 512

enum {
	SWITCH,			/* kernel.numa_balancing: bit 0 */
	SCAN_MOST,
	KEPT,			/* the settings before this are changed */
	SCAN_LEAST = KEPT,
	SETTINGS,
};

static const struct setting {
	const char *name;
	const char *path;
	const char *old_path;		/* before Linux 5.13 */
} settings[SETTINGS] = {
	[SWITCH] = { "numa_balancing", "proc/sys/kernel/numa_balancing", NULL },
	[SCAN_MOST] = { "scan_period_max_ms",
	    "sys/kernel/debug/sched/numa_balancing/scan_period_max_ms",
	    "proc/sys/kernel/numa_balancing_scan_period_max_ms" },
	[SCAN_LEAST] = { "scan_period_min_ms",
	    "sys/kernel/debug/sched/numa_balancing/scan_period_min_ms",
	    "proc/sys/kernel/numa_balancing_scan_period_min_ms" },
};

struct change {
	bool made;
	int was, is;
};

struct balancing {
	char root[PATH];
	int fd;
};

static int
open_setting(const char *root, unsigned no, int flags)
{
	const char *path[] = { settings[no].path, settings[no].old_path };
	char full[PATH + 64];
	int fd = -1;

	for (unsigned i = 0; i < 2 && fd < 0 && path[i] != NULL; i++) {
		snprintf(full, sizeof full, "%s/%s", root, path[i]);
		fd = open(full, flags | O_CLOEXEC);
		if (fd < 0 && errno != ENOENT)
			break;
	}
	return fd < 0 ? -errno : fd;
}

/* The value, or a negative errno. */
static int
read_setting(const char *root, unsigned no)
{
	int fd = open_setting(root, no, O_RDONLY);
	char text[32], *end;
	ssize_t n;
	long value;

	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof text - 1);
	close(fd);
	if (n <= 0)
		return -EBADMSG;
	text[n] = '\0';
	value = strtol(text, &end, 10);
	return end == text || value < 0 || value > INT_MAX ? -EBADMSG : (int)value;
}

static int
write_setting(const char *root, unsigned no, int value)
{
	int fd = open_setting(root, no, O_WRONLY | O_TRUNC), err = 0;
	char text[32];
	int len = snprintf(text, sizeof text, "%d\n", value);

	if (fd < 0)
		return fd;
	if (write(fd, text, (size_t)len) != len)
		err = errno == 0 ? -EIO : -errno;
	close(fd);
	return err;
}

/* False: the file has no change, or is damaged. */
static bool
read_kept(int fd, struct change c[KEPT])
{
	char text[TEXT], name[32], *line, *rest = text;
	ssize_t n = pread(fd, text, sizeof text - 1, 0);
	int was, is;
	bool any = false;

	memset(c, 0, KEPT * sizeof c[0]);
	if (n <= 0)
		return false;
	text[n] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL)
		for (unsigned i = 0; i < KEPT; i++)
			if (sscanf(line, "%31s %d %d", name, &was, &is) == 3 &&
			    strcmp(name, settings[i].name) == 0) {
				c[i] = (struct change){ true, was, is };
				any = true;
			}
	return any;
}

static int
keep(int fd, const struct change c[KEPT])
{
	char text[TEXT];
	size_t len = 0;

	for (unsigned i = 0; i < KEPT; i++)
		if (c[i].made)
			len += (size_t)snprintf(text + len, sizeof text - len,
			    "%s %d %d\n", settings[i].name, c[i].was, c[i].is);
	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, len, 0) != (ssize_t)len)
		return errno == 0 ? -EIO : -errno;
	return 0;
}

/* Needs the exclusive lock.  Leaves a setting that another program has changed since. */
static void
put_back(const char *root, int fd)
{
	struct change c[KEPT];

	if (!read_kept(fd, c))
		return;
	for (unsigned i = 0; i < KEPT; i++)
		if (c[i].made && c[i].was != c[i].is &&
		    read_setting(root, i) == c[i].is)
			(void)write_setting(root, i, c[i].was);
	(void)!ftruncate(fd, 0);
}

/* Keeps the former value that a killed process has saved, if its change is in effect. */
static void
plan(struct change *c, int now, int is)
{
	if (c->made && c->is == now)
		return;
	*c = (struct change){ true, now, is };
}

/*
 * Under the exclusive lock: saves the settings, then changes them.  The file
 * is not empty afterwards.
 */
static int
change(const struct balancing *b, char why[REFCNT_WHY])
{
	int on = read_setting(b->root, SWITCH), err;
	int most = read_setting(b->root, SCAN_MOST);
	int least = read_setting(b->root, SCAN_LEAST);
	struct change c[KEPT];

	if (on < 0)
		return on;
	(void)read_kept(b->fd, c);
	plan(&c[SWITCH], on, on | 1);
	if (most > least && least > 0)
		plan(&c[SCAN_MOST], most, least);
	err = keep(b->fd, c);
	if (err == 0 && c[SWITCH].is != on)
		err = write_setting(b->root, SWITCH, c[SWITCH].is);
	if (err < 0)
		return err;
	err = most < 0 ? most : least < 0 ? least : 0;
	if (err == 0 && c[SCAN_MOST].made && c[SCAN_MOST].is != most)
		err = write_setting(b->root, SCAN_MOST, c[SCAN_MOST].is);
	if (err < 0)
		snprintf(why, REFCNT_WHY, "samples may be rare: the kernel's scan "
		    "period cannot be set (%s): %s", settings[SCAN_MOST].path,
		    strerror(-err));
	return 0;
}

static void
explain(int err, char why[REFCNT_WHY])
{
	if (err == -ENOENT)
		snprintf(why, REFCNT_WHY, "this kernel has no automatic NUMA "
		    "balancing (kernel.numa_balancing)");
	else if (err == -EBUSY)
		snprintf(why, REFCNT_WHY, "another node has not finished changing "
		    "the settings of automatic NUMA balancing");
	else
		snprintf(why, REFCNT_WHY, "automatic NUMA balancing cannot be "
		    "switched on: %s", strerror(-err));
}

/* Takes the shared lock; changes the settings before if it gets the exclusive one. */
static int
hold(const struct balancing *b, char why[REFCNT_WHY])
{
	const struct timespec pause = { .tv_nsec = TRY_MS * 1000000 };
	struct change c[KEPT];
	int err;

	for (unsigned i = 0; i < TRIES; i++) {
		if (flock(b->fd, LOCK_EX | LOCK_NB) == 0) {
			err = change(b, why);
			if (err < 0) {
				put_back(b->root, b->fd);
				return err;
			}
		}
		/* Another process may have restored the settings in between. */
		if (flock(b->fd, LOCK_SH | LOCK_NB) == 0 && read_kept(b->fd, c))
			return 0;
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

int
balancing_begin(struct balancing **out, const char *root, const char *file,
    char why[REFCNT_WHY])
{
	struct balancing *b = calloc(1, sizeof *b);
	int err = 0;

	why[0] = '\0';
	if (b == NULL)
		return -ENOMEM;
	snprintf(b->root, sizeof b->root, "%s", root);
	b->fd = open(file, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (b->fd < 0)
		err = errno == ENOENT ? -ENOTDIR : -errno;
	if (err == 0)
		err = hold(b, why);
	if (err == 0) {
		*out = b;
		return 0;
	}
	explain(err, why);
	if (b->fd >= 0)
		close(b->fd);
	free(b);
	return err == -ENOENT ? -EOPNOTSUPP : err;
}

void
balancing_end(struct balancing *b)
{
	if (b == NULL)
		return;
	if (flock(b->fd, LOCK_EX | LOCK_NB) == 0)
		put_back(b->root, b->fd);
	close(b->fd);
	free(b);
}

bool
balancing_is_on(const struct balancing *b)
{
	int on = read_setting(b->root, SWITCH);

	return on < 0 || (on & 1) != 0;
}

void
balancing_restore(const char *root, const char *file)
{
	int fd = open(file, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		put_back(root, fd);
	close(fd);
}

int
balancing_check(const char *root, char why[REFCNT_WHY])
{
	int on = read_setting(root, SWITCH), fd, err = on < 0 ? on : 0;

	if (on >= 0 && (on & 1) == 0) {
		fd = open_setting(root, SWITCH, O_WRONLY);
		err = fd < 0 ? fd : 0;
		if (fd >= 0)
			close(fd);
	}
	if (err < 0)
		explain(err, why);
	return err;
}
