#include <errno.h>
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
/* The kernel sums both up over its processors, which go on meanwhile. */
#define STOLEN_LEAST 64

const struct stress_level stress_levels[STRESS_LEVELS] = {
	{ "default criteria", "satisfied at once" },
	{ "after background wake", "normal, if few beside level 1" },
	{ "lowest watermarks", "taken from the reserves" },
	{ "synchronous reclaim", "the request freed memory itself" },
	{ "after an OOM kill", "a process was killed to free memory" },
	{ "failed", "harmless if it could not wait, or asked for huge pages" },
};

const struct stress_failure stress_failures[STRESS_FAILURES] = {
	[STRESS_FAILED] = { "failed", "that could wait, of at most 8 pages" },
	[STRESS_FAILED_LARGE] = { "failed_large", "that could wait, of more" },
	[STRESS_FAILED_NO_WAIT] = { "failed_no_wait",
	    "that could not wait, of at most 8 pages" },
	[STRESS_FAILED_NO_WAIT_LARGE] = { "failed_no_wait_large",
	    "that could not wait, of more" },
};

#define ALL(t) { t, t, t, t, t, t }

const struct stress_source_row stress_sources[STRESS_NONE + 1] = {
	[STRESS_PATCH] = { "patch", "heap_stress of /proc/vmstat, exact",
	    ALL(STRESS_EXACT), true },
	[STRESS_FILE] = { "file", "the kernel's six counts, exact",
	    ALL(STRESS_EXACT), false },
	[STRESS_EBPF] = { "ebpf", "eBPF on tracepoints, close",
	    { STRESS_CLOSE, STRESS_CLOSE, STRESS_CLOSE, STRESS_CLOSE,
	    STRESS_FAR_UNDER, STRESS_EXACT }, false },
	[STRESS_EVENTS] = { "events", "perf counts of tracepoints, estimates",
	    { STRESS_CLOSE, STRESS_FAR_UNDER, STRESS_UNKNOWN, STRESS_FAR_OVER,
	    STRESS_CLOSE, STRESS_EXACT }, false },
	[STRESS_VMSTAT] = { "vmstat", "/proc/vmstat, estimates", { STRESS_CLOSE, STRESS_UNKNOWN, STRESS_UNKNOWN,
	    STRESS_FAR_OVER, STRESS_CLOSE, STRESS_UNKNOWN }, true },
	[STRESS_NONE] = { "none", "no source", ALL(STRESS_UNKNOWN), false },
};

const char *const stress_truths[STRESS_TRUTHS] = {
	[STRESS_UNKNOWN] = "unknown",
	[STRESS_EXACT] = "exact",
	[STRESS_CLOSE] = "close",
	[STRESS_FAR_UNDER] = "far under",
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
	uint64_t requests;		/* after the last reading of it */
	bool requests_known;
	uint64_t stalls, kills;	/* of /proc/vmstat */
	bool stalled;			/* requests stalled before the last sample */
	bool wants_boot;
	pid_t process;			/* whose requests are counted; 0: all */
	char *program;			/* of STRESS_EBPF; NULL: it is not used */
	bool wait;			/* until it runs */
	struct stress_ebpf *ebpf;
	struct stress_events *events;	/* of STRESS_EVENTS */
	uint64_t event[STRESS_EVENTS_COUNT];	/* of either, at the last sample */
	bool late;			/* it was said that processors came late */
	struct stress_group group;
	struct stress_sample total;
	char kernel[STRESS_KERNEL];
	char why[STRESS_NONE * STRESS_WHY];
};

static bool
is_passing(int err)
{
	return err == -ENOMEM || err == -EMFILE || err == -ENFILE ||
	    err == -EINTR || err == -EAGAIN;
}

static int
read_vmstat(const struct stress *s, struct stress_vmstat *out)
{
	char *buf = malloc(FILE_BYTES);
	size_t len;
	int err;

	if (buf == NULL)
		return -ENOMEM;
	err = stress_read_file(s->root, "proc/vmstat", buf, FILE_BYTES, &len);
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

	return stress_read_file(s->root, "proc/sys/vm/numa_stat", buf, sizeof buf, &len) < 0 ||
	    len == 0 || buf[0] != '0';
}

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
	if (strstr(s->why, sentence) != NULL)
		return;
	base_append(s->why, sizeof s->why, &len, "%s%s", len > 0 ? "; " : "",
	    sentence);
}

static void
step_down(struct stress *s)
{
	if (s->file >= 0)
		close(s->file);
	s->file = -1;
	stress_ebpf_close(s->ebpf);
	s->ebpf = NULL;
	stress_events_close(s->events);
	s->events = NULL;
	if (s->used)
		s->total.changes++;
	s->used = false;
	memset(s->based, 0, sizeof s->based);
	s->source++;
}

static void
add(uint64_t *total, uint64_t n)
{
	*total = n > UINT64_MAX - *total ? UINT64_MAX : *total + n;
}

/*
 * A counter's growth.  A little lower: it was summed over processors that went
 * on counting, and its highest value stays.  Far lower: it began again.
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

/* Counts that only grow; the very first are totals since the boot. */
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
	int fd = stress_open_file(s->root, name);

	if (fd == -ENOENT)
		return 1;
	if (fd < 0) {
		if (!is_passing(fd))
			say(s, "cannot read %s/%s: %s", s->root, name,
			    strerror(-fd));
		return is_passing(fd) ? fd : 1;
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		say(s, "another pagek has locked %s/%s: reading resets its counts",
		    s->root, name);
		close(fd);
		return 1;
	}
	s->file = fd;
	s->file_name = name;
	return 0;
}

/*
 * Reads the file once: its numbers are gone afterwards, so one of another
 * shape is not read again.
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
		say(s, "cannot read %s/%s: %s", s->root, name, strerror(errno));
		return 1;
	}
	switch (stress_read_six(buf, (size_t)len, n)) {
	case STRESS_SIX:
		return 0;
	case STRESS_SITES:
		say(s, "%s/%s lists call sites: it is the kernel's own file of "
		    "that name", s->root, name);
		return 1;
	default:
		say(s, "%s/%s does not have six numbers on one line", s->root,
		    name);
		return 1;
	}
}

/* The satisfied requests; false: the kernel does not count them. */
static bool
requests_of(const struct stress *s, const struct stress_vmstat *v, uint64_t *n)
{
	*n = 0;
	if (!v->known[STRESS_KEY_HIT] || !v->known[STRESS_KEY_MISS] ||
	    !counts_requests(s))
		return false;
	add(n, v->n[STRESS_KEY_HIT]);
	add(n, v->n[STRESS_KEY_MISS]);
	return true;
}

/*
 * Levels 1 to 5 are the requests that /proc/vmstat counts.  The file was read after it,
 * and on a busy machine much later, so /proc/vmstat is read again: the next reading of
 * the file has at least the requests from then on until its own reading of /proc/vmstat.
 */
static void
look_for_readers(struct stress *s, const uint64_t n[STRESS_LEVELS])
{
	const struct stress_sample *t = &s->total;
	struct stress_vmstat after = { 0 };
	uint64_t had = 0, happened;

	for (size_t i = 0; i < STRESS_LEVELS - 1; i++)
		add(&had, n[i]);
	if (s->used && s->requests_known && t->requests_known &&
	    t->requests > s->requests) {
		happened = t->requests - s->requests;
		if (happened > had && happened - had > STOLEN_LEAST)
			add(&s->total.stolen, happened - had);
	}
	s->requests_known = read_vmstat(s, &after) == 0 &&
	    requests_of(s, &after, &s->requests);
}

/* The module says how often it could not follow; without it there is no file. */
static uint64_t
missed_hits(const struct stress *s)
{
	char buf[32];
	size_t len;
	uint64_t n;

	if (stress_read_file(s->root, "sys/module/heapstress/parameters/missed", buf,
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

/*
 * Kills that limits of cgroups caused, which are no level: the page allocator
 * kills only where requests stalled, in this period or the one before.
 */
static uint64_t
kills_of_limits(struct stress *s, uint64_t kills, bool stalled)
{
	bool lately = stalled || s->stalled;

	s->stalled = stalled;
	if (lately)
		return 0;
	add(&s->total.limit_kills, kills);
	return kills;
}

static int
open_ebpf(struct stress *s)
{
	char why[STRESS_WHY];
	int err = stress_ebpf_open(&s->ebpf, s->root, s->program, why);

	if (err == -ENOMEM)
		return err;
	/* Copies of a kernel's files need not have it. */
	if (err < 0 && (err != -ENOENT || s->root[0] == '\0'))
		say(s, "%s", why);
	return err < 0 ? 1 : 0;
}

static int
take_ebpf(struct stress *s, const struct stress_vmstat *v)
{
	struct stress_sample *t = &s->total;
	struct stress_ebpf_counts now;
	char why[STRESS_WHY];
	int r;

	(void)v;
	if (s->program == NULL && s->root[0] == '\0')
		return 1;
	if (s->wants_boot && s->root[0] == '\0') {
		say(s, "counts of eBPF begin when it is loaded: they have no totals");
		return 1;
	}
	r = s->ebpf != NULL ? 0 : open_ebpf(s);
	if (r != 0)
		return r;
	r = stress_ebpf_read(s->ebpf, s->wait, &now, why);
	if (r == -EAGAIN)
		return r;
	if (r < 0) {
		say(s, "%s", why);
		return 1;
	}
	for (size_t i = 0; i < STRESS_FAILURES; i++) {
		uint64_t *last = &s->event[STRESS_EVENT_FAILED + i];

		if (!s->used)
			*last = 0;
		add(&t->failed[i], grown(s, last, now.failed[i]));
	}
	t->split_known = true;
	t->missed = now.missed;
	take_growing(s, now.level, now.known);
	return 0;
}

static int
open_events(struct stress *s)
{
	char why[STRESS_WHY] = "no counts of tracepoints";
	int err;

	if (s->wants_boot) {
		say(s, "counts of tracepoints begin when they are opened: they have "
		    "no totals");
		return 1;
	}
	err = stress_events_open(&s->events, s->root, why);
	if (err == -ENOMEM || err == -EINTR)
		return err;
	if (err < 0)
		say(s, "%s", why);
	return err < 0 ? 1 : 0;
}

/* The level that a request had reached follows from what happened beside it. */
static void
add_events(struct stress *s, const uint64_t more[STRESS_EVENTS_COUNT])
{
	struct stress_sample *t = &s->total;
	uint64_t level[STRESS_LEVELS] = {
		[1] = more[STRESS_EVENT_WAKE],
		[3] = more[STRESS_EVENT_RECLAIM] + more[STRESS_EVENT_COMPACT],
		[4] = more[STRESS_EVENT_VICTIM],
		[5] = more[STRESS_EVENT_ALL_FAILED],
	}, beside = 0;

	level[4] -= kills_of_limits(s, level[4], more[STRESS_EVENT_RETRY] > 0);
	for (size_t i = 0; i < STRESS_FAILURES; i++) {
		add(&level[5], more[STRESS_EVENT_FAILED + i]);
		add(&t->failed[i], more[STRESS_EVENT_FAILED + i]);
	}
	for (size_t i = 1; i < STRESS_LEVELS; i++)
		add(&beside, level[i]);
	if (more[STRESS_EVENT_REQUEST] > beside)
		level[0] = more[STRESS_EVENT_REQUEST] - beside;
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		if (t->known[i])
			add(&t->level[i], level[i]);
	if (s->process != 0)
		add(&t->requests, level[5] > more[STRESS_EVENT_REQUEST] ? 0 :
		    more[STRESS_EVENT_REQUEST] - level[5]);
}

static int
take_events(struct stress *s, const struct stress_vmstat *v)
{
	struct stress_event_counts now;
	uint64_t more[STRESS_EVENTS_COUNT] = { 0 };
	struct stress_sample *t = &s->total;
	int r = s->events != NULL ? 0 : open_events(s);

	(void)v;
	if (r != 0)
		return r;
	r = stress_events_read(s->events, &now);
	if (r < 0) {
		say(s, "cannot read the counts of tracepoints: %s", strerror(-r));
		return 1;
	}
	if (now.late && !s->late)
		say(s, "processors came on line: their first requests are not "
		    "counted");
	s->late = now.late;
	for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++)
		if (s->used)
			more[e] = grown(s, &s->event[e], now.n[e]);
		else
			s->event[e] = now.n[e];
	t->split_known = now.known[STRESS_EVENT_FAILED];
	t->known[0] = true;
	t->known[1] = now.known[STRESS_EVENT_WAKE];
	t->known[2] = false;
	t->known[3] = now.known[STRESS_EVENT_RECLAIM];
	t->known[4] = now.known[STRESS_EVENT_VICTIM] &&
	    now.known[STRESS_EVENT_RETRY];
	t->known[5] = t->split_known || now.known[STRESS_EVENT_ALL_FAILED];
	add_events(s, more);
	s->used = true;
	return 0;
}

/* The growth of /proc/vmstat's kills that limits of cgroups caused. */
static void
look_for_limits(struct stress *s, const struct stress_vmstat *v)
{
	uint64_t stalls = v->n[STRESS_KEY_ALLOCSTALL],
	    kills = v->n[STRESS_KEY_OOM_KILL];

	if (!v->known[STRESS_KEY_ALLOCSTALL] || !v->known[STRESS_KEY_OOM_KILL])
		return;
	if (s->used || s->total.changes == 0)
		kills_of_limits(s, kills > s->kills ? kills - s->kills : 0,
		    stalls > s->stalls);
	s->stalls = stalls;
	s->kills = kills;
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
	look_for_limits(s, v);
	now[4] -= now[4] < s->total.limit_kills ? now[4] : s->total.limit_kills;
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
	[STRESS_EBPF] = take_ebpf,
	[STRESS_EVENTS] = take_events,
	[STRESS_VMSTAT] = take_vmstat,
	[STRESS_NONE] = take_none,
};

static void
take_requests(struct stress *s, const struct stress_vmstat *v)
{
	struct stress_sample *t = &s->total;

	t->requests_known = requests_of(s, v, &t->requests);
}

static void
take_pressure(struct stress *s)
{
	struct stress_sample *t = &s->total;
	char buf[512];
	size_t len;

	t->pressure_known = stress_read_file(s->root, "proc/pressure/memory", buf, sizeof buf,
	    &len) == 0 && stress_read_pressure(buf, len, &t->some_us,
	    &t->full_us);
}

int
stress_take(struct stress *s, struct stress_sample *out)
{
	struct stress_vmstat v = { 0 };
	int r = s->process != 0 ? 0 : read_vmstat(s, &v);

	if (r < 0 && is_passing(r))
		return r;
	if (r < 0 && s->why[0] == '\0')
		say(s, "cannot read %s/proc/vmstat: %s", s->root, strerror(-r));
	if (s->process == 0)
		take_requests(s, &v);
	s->total.kswapd_known = false;
	s->total.split_known = false;
	/* It needs no file to be open, and counts nothing twice. */
	if (s->source == STRESS_NONE && s->process == 0)
		s->source = STRESS_VMSTAT;
	while ((r = take[s->source](s, &v)) > 0) {
		step_down(s);
		if (s->process != 0)
			s->source = STRESS_NONE;
	}
	if (r < 0)
		return r;
	s->total.source = s->source;
	if (s->process == 0)
		take_pressure(s);
	stress_read_charge(s->root, &s->group, &s->total.charge);
	*out = s->total;
	return 0;
}

static void
read_kernel(struct stress *s)
{
	char buf[STRESS_KERNEL];
	size_t len;

	if (stress_read_file(s->root, "proc/sys/kernel/osrelease", buf, sizeof buf - 1,
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
	(void)stress_find_group(s->root, 0, &s->group);
	*out = s;
	return 0;
}

void
stress_want_boot(struct stress *s)
{
	s->wants_boot = true;
}

int
stress_use_ebpf(struct stress *s, const char *program, bool wait)
{
	char *copy = strdup(program);

	if (copy == NULL)
		return -ENOMEM;
	free(s->program);
	s->program = copy;
	s->wait = wait;
	return 0;
}

int
stress_of_process(struct stress *s, pid_t pid, bool on_exec)
{
	char why[STRESS_WHY] = "no counts of tracepoints";
	int err = s->root[0] != '\0' ? -ENOTSUP :
	    stress_events_of(&s->events, pid, on_exec, why);

	if (err < 0) {
		say(s, "%s", why);
		return err;
	}
	s->process = pid;
	s->source = STRESS_EVENTS;
	s->total.requests_known = true;
	(void)stress_find_group(s->root, pid, &s->group);
	return 0;
}

void
stress_close(struct stress *s)
{
	if (s == NULL)
		return;
	if (s->file >= 0)
		close(s->file);
	stress_ebpf_close(s->ebpf);
	stress_events_close(s->events);
	free(s->program);
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

const char *
stress_group(const struct stress *s)
{
	return s->group.name;
}
