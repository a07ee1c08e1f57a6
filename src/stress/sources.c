/* The sources of the six counts, from the best to the worst. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "../base/base.h"
#include "stress.h"

/* The file has one line of at most 126 bytes; mainline's is longer. */
#define SIX_BYTES 512
#define FILE_BYTES ((size_t)64 << 10)
/* Requests that may come between the readings of the file and of /proc/vmstat. */
#define STOLEN_LEAST 64

const struct stress_level stress_levels[STRESS_LEVELS] = {
	{ "default criteria", "satisfied at once" },
	{ "after background wake", "normal, if few beside level 1" },
	{ "lowest watermarks", "taken from the reserves" },
	{ "synchronous reclaim", "the request freed memory itself" },
	{ "after an OOM kill", "a process was killed to free memory" },
	{ "failed", "harmless if it could not wait, or asked for huge pages" },
};

#define ALL(t) { t, t, t, t, t, t }

const struct stress_source_row stress_sources[STRESS_NONE + 1] = {
	[STRESS_PATCH] = { "patch", "heap_stress of /proc/vmstat, exact",
	    ALL(STRESS_EXACT), true },
	[STRESS_FILE] = { "file", "the kernel's six counts, exact",
	    ALL(STRESS_EXACT), false },
	[STRESS_VMSTAT] = { "vmstat", "/proc/vmstat, estimates", { STRESS_CLOSE, STRESS_UNKNOWN, STRESS_UNKNOWN,
	    STRESS_FAR_OVER, STRESS_CLOSE, STRESS_UNKNOWN }, true },
	[STRESS_NONE] = { "none", "no source", ALL(STRESS_UNKNOWN), false },
};

const char *const stress_truths[STRESS_FAR_OVER + 1] = {
	[STRESS_UNKNOWN] = "unknown",
	[STRESS_EXACT] = "exact",
	[STRESS_CLOSE] = "close",
	[STRESS_FAR_OVER] = "far over",
};

struct stress {
	char *root;
	enum stress_source source;	/* in use, or to be tried */
	bool used;			/* a sample was taken from it */
	bool based[STRESS_LEVELS];	/* raw has its last count of this level */
	uint64_t raw[STRESS_LEVELS];
	int file;			/* of STRESS_FILE: open and locked; -1 */
	const char *file_name;
	uint64_t requests;		/* at the last reading of it */
	bool requests_known;
	struct stress_sample total;
	char kernel[STRESS_KERNEL];
	char why[STRESS_NONE * STRESS_WHY];
};

/* --- files --------------------------------------------------------------------------- */

/* -ENAMETOOLONG. */
static int
path_of(const struct stress *s, const char *name, char path[PATH_MAX])
{
	int n = snprintf(path, PATH_MAX, "%s/%s", s->root, name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

/* A temporary error: the source is tried again. */
static bool
is_passing(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE ||
	    err == -EINTR || err == -EAGAIN;
}

static int
open_file(const struct stress *s, const char *name)
{
	char path[PATH_MAX];
	int err = path_of(s, name, path), fd;

	if (err < 0)
		return err;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Reads until the end, or `cap` bytes.  buf is the caller's. */
static int
read_file(const struct stress *s, const char *name, char *buf, size_t cap,
    size_t *len)
{
	int fd = open_file(s, name), err = 0;
	size_t at = 0;
	ssize_t n;

	if (fd < 0)
		return fd;
	while (at < cap && (n = read(fd, buf + at, cap - at)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			err = -errno;
			break;
		}
		at += (size_t)n;
	}
	close(fd);
	if (err == 0)
		*len = at;
	return err;
}

static int
read_vmstat(const struct stress *s, struct stress_vmstat *out)
{
	char *buf = malloc(FILE_BYTES);
	size_t len;
	int err;

	if (buf == NULL)
		return -ENOMEM;
	err = read_file(s, "proc/vmstat", buf, FILE_BYTES, &len);
	if (err == 0)
		stress_read_vmstat(buf, len, out);
	free(buf);
	return err;
}

/* With vm.numa_stat=0 the kernel does not count them. */
static bool
counts_requests(const struct stress *s)
{
	char buf[8];
	size_t len;

	return read_file(s, "proc/sys/vm/numa_stat", buf, sizeof buf, &len) < 0 ||
	    len == 0 || buf[0] != '0';
}

/* --- sentences --------------------------------------------------------------------------- */

static void
say(struct stress *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void
say(struct stress *s, const char *fmt, ...)
{
	char sentence[STRESS_WHY];
	size_t len = strlen(s->why);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(sentence, sizeof sentence, fmt, ap);
	va_end(ap);
	base_append(s->why, sizeof s->why, &len, "%s%s", len > 0 ? "; " : "",
	    sentence);
}

/* Goes to the next source; the totals stay. */
static void
step_down(struct stress *s)
{
	if (s->file >= 0)
		close(s->file);
	s->file = -1;
	if (s->used)
		s->total.changes++;
	s->used = false;
	memset(s->based, 0, sizeof s->based);
	s->source++;
}

/* --- totals ---------------------------------------------------------------------------------- */

static void
add(uint64_t *total, uint64_t n)
{
	*total = n > UINT64_MAX - *total ? UINT64_MAX : *total + n;
}

/*
 * The growth of a counter.  If it is a little lower than before, it was summed over
 * processors that went on counting: its highest value stays the last one.  If it is
 * far lower, it began again.
 */
static uint64_t
grown(struct stress *s, uint64_t *last, uint64_t now)
{
	uint64_t more = 0;

	if (now >= *last) {
		more = now - *last;
		*last = now;
	} else {
		s->total.backwards++;
		if (now < *last / 2)
			*last = now;
	}
	return more;
}

/* Counts that only grow.  The very first ones are totals since the boot. */
static void
take_growing(struct stress *s, const uint64_t now[STRESS_LEVELS],
    const bool known[STRESS_LEVELS])
{
	struct stress_sample *t = &s->total;

	for (size_t i = 0; i < STRESS_LEVELS; i++) {
		if (known[i] && s->based[i])
			add(&t->level[i], grown(s, &s->raw[i], now[i]));
		else if (known[i] && !s->used && t->changes == 0)
			t->level[i] = now[i];
		if (!s->based[i])
			s->raw[i] = now[i];
		s->based[i] = t->known[i] = known[i];
	}
	s->used = true;
}

/* --- the sources: 0: taken; 1: not available; -errno: later ------------------------------------ */

static int
take_patch(struct stress *s, const struct stress_vmstat *v)
{
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		if (!v->known[STRESS_KEY_LEVEL + i]) {
			if (s->used)
				say(s, "/proc/vmstat has no heap_stress any "
				    "more");
			return 1;
		}
	take_growing(s, &v->n[STRESS_KEY_LEVEL], &v->known[STRESS_KEY_LEVEL]);
	return 0;
}

static const char *const six_files[] = { "proc/heapstress", "proc/allocinfo" };

/* Opens and locks the file: reading it resets the counts for all readers. */
static int
open_six(struct stress *s, const char *name)
{
	int fd = open_file(s, name);

	if (fd == -ENOENT)
		return 1;
	if (fd < 0) {
		if (!is_passing(fd))
			say(s, "cannot read /%s: %s", name, strerror(-fd));
		return is_passing(fd) ? fd : 1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		say(s, "another pagek has locked /%s: reading resets its counts",
		    name);
		close(fd);
		return 1;
	}
	s->file = fd;
	s->file_name = name;
	return 0;
}

/*
 * Reads the file once.  Its numbers are gone afterwards, so a file of another shape
 * is not read again.
 */
static int
read_six(struct stress *s, uint64_t n[STRESS_LEVELS])
{
	const char *name = s->file_name;
	char buf[SIX_BYTES];
	ssize_t len;

	do
		len = pread(s->file, buf, sizeof buf, 0);
	while (len < 0 && errno == EINTR);
	if (len < 0) {
		say(s, "cannot read /%s: %s", name, strerror(errno));
		return 1;
	}
	switch (stress_read_six(buf, (size_t)len, n)) {
	case STRESS_SIX:
		return 0;
	case STRESS_SITES:
		say(s, "/%s lists call sites: it is the kernel's own file of "
		    "that name", name);
		return 1;
	default:
		say(s, "/%s does not have six numbers on one line", name);
		return 1;
	}
}

/* Levels 1 to 5 are the requests that /proc/vmstat counts. */
static void
look_for_readers(struct stress *s, const uint64_t n[STRESS_LEVELS])
{
	const struct stress_sample *t = &s->total;
	uint64_t had = 0, happened;

	for (size_t i = 0; i < STRESS_LEVELS - 1; i++)
		add(&had, n[i]);
	if (s->used && s->requests_known && t->requests_known &&
	    t->requests > s->requests) {
		happened = t->requests - s->requests;
		if (happened > had && happened - had > STOLEN_LEAST)
			add(&s->total.stolen, happened - had);
	}
	s->requests = t->requests;
	s->requests_known = t->requests_known;
}

/* The module says how often it could not follow; without it there is no file. */
static uint64_t
missed_hits(const struct stress *s)
{
	char buf[32];
	size_t len;
	uint64_t n;

	if (read_file(s, "sys/module/heapstress/parameters/missed", buf,
	    sizeof buf - 1, &len) < 0)
		return 0;
	buf[len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	return base_parse_count(buf, UINT64_MAX, &n) == 0 ? n : 0;
}

static int
take_six(struct stress *s, const struct stress_vmstat *v)
{
	uint64_t n[STRESS_LEVELS];
	int r = 1;

	(void)v;
	for (size_t i = 0; i < BASE_NELEM(six_files) && r == 1; i++) {
		r = s->file >= 0 ? 0 : open_six(s, six_files[i]);
		if (r != 0)
			continue;
		r = read_six(s, n);
		if (r == 0)
			break;
		if (s->used)
			return 1;
		close(s->file);
		s->file = -1;
	}
	if (r != 0)
		return r;
	look_for_readers(s, n);
	s->total.missed = missed_hits(s);
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		add(&s->total.level[i], n[i]);
	memset(s->total.known, true, sizeof s->total.known);
	s->used = true;
	return 0;
}

static int
take_vmstat(struct stress *s, const struct stress_vmstat *v)
{
	bool known[STRESS_LEVELS] = {
		[0] = s->total.requests_known,
		[3] = v->known[STRESS_KEY_ALLOCSTALL],
		[4] = v->known[STRESS_KEY_OOM_KILL],
	};
	uint64_t now[STRESS_LEVELS] = {
		[0] = s->total.requests,
		[3] = v->n[STRESS_KEY_ALLOCSTALL],
		[4] = v->n[STRESS_KEY_OOM_KILL],
	};

	if (!known[0] && !known[3] && !known[4]) {
		say(s, "/proc/vmstat has none of numa_hit, allocstall and "
		    "oom_kill");
		return 1;
	}
	add(&now[3], v->n[STRESS_KEY_COMPACT_STALL]);
	s->total.kswapd_known = v->known[STRESS_KEY_PAGEOUTRUN];
	s->total.kswapd_runs = v->n[STRESS_KEY_PAGEOUTRUN];
	take_growing(s, now, known);
	return 0;
}

static int
take_none(struct stress *s, const struct stress_vmstat *v)
{
	(void)v;
	memset(s->total.known, false, sizeof s->total.known);
	return 0;
}

static int (*const take[])(struct stress *, const struct stress_vmstat *) = {
	[STRESS_PATCH] = take_patch,
	[STRESS_FILE] = take_six,
	[STRESS_VMSTAT] = take_vmstat,
	[STRESS_NONE] = take_none,
};

/* --- a sample ----------------------------------------------------------------------------------- */

static void
take_requests(struct stress *s, const struct stress_vmstat *v)
{
	struct stress_sample *t = &s->total;

	t->requests_known = v->known[STRESS_KEY_HIT] &&
	    v->known[STRESS_KEY_MISS] && counts_requests(s);
	t->requests = 0;
	if (!t->requests_known)
		return;
	add(&t->requests, v->n[STRESS_KEY_HIT]);
	add(&t->requests, v->n[STRESS_KEY_MISS]);
}

static void
take_pressure(struct stress *s)
{
	struct stress_sample *t = &s->total;
	char buf[512];
	size_t len;

	t->pressure_known = read_file(s, "proc/pressure/memory", buf, sizeof buf,
	    &len) == 0 && stress_read_pressure(buf, len, &t->some_us,
	    &t->full_us);
}

int
stress_take(struct stress *s, struct stress_sample *out)
{
	struct stress_vmstat v = { 0 };
	int r = read_vmstat(s, &v);

	if (r < 0 && is_passing(r))
		return r;
	if (r < 0 && s->why[0] == '\0')
		say(s, "cannot read %s/proc/vmstat: %s", s->root, strerror(-r));
	take_requests(s, &v);
	s->total.kswapd_known = false;
	while ((r = take[s->source](s, &v)) > 0)
		step_down(s);
	if (r < 0)
		return r;
	s->total.source = s->source;
	take_pressure(s);
	*out = s->total;
	return 0;
}

/* --- begin and end ------------------------------------------------------------------------------- */

static void
read_kernel(struct stress *s)
{
	char buf[STRESS_KERNEL];
	size_t len;

	if (read_file(s, "proc/sys/kernel/osrelease", buf, sizeof buf - 1,
	    &len) < 0)
		return;
	buf[len] = '\0';
	buf[strcspn(buf, "\n")] = '\0';
	base_safe_text(s->kernel, sizeof s->kernel, buf, strlen(buf), true);
}

int
stress_open(struct stress **out, const char *root)
{
	struct stress *s = calloc(1, sizeof *s);
	size_t len = strlen(root);

	if (s == NULL)
		return -ENOMEM;
	if (len > PATH_MAX / 2) {
		free(s);
		return -ENAMETOOLONG;
	}
	while (len > 0 && root[len - 1] == '/')
		len--;
	s->root = strndup(root, len);
	if (s->root == NULL) {
		free(s);
		return -ENOMEM;
	}
	s->file = -1;
	read_kernel(s);
	*out = s;
	return 0;
}

void
stress_close(struct stress *s)
{
	if (s == NULL)
		return;
	if (s->file >= 0)
		close(s->file);
	free(s->root);
	free(s);
}

const char *
stress_why(const struct stress *s)
{
	return s->why;
}

const char *
stress_kernel(const struct stress *s)
{
	return s->kernel;
}
