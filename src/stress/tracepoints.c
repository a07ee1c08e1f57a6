/*
 * Of each processor, or of the threads of a process.  A counter with
 * exclude_kernel can be opened without privileges and then counts 0 for ever,
 * so it is not tried.
 */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../base/base.h"
#include "stress.h"

#define FORMAT_BYTES ((size_t)64 << 10)
#define ONLINE_BYTES 512
#define FILTER_BYTES 128
/* Descriptors that the rest of the process may need. */
#define SPARE_FILES 64
/* Rounds in which the threads of a process are looked for. */
#define THREAD_ROUNDS 16

static const struct {
	const char *folder;	/* in tracefs */
	const char *name;	/* in a folder with copies */
	const char *filter;	/* behind "the request failed" */
	bool needs_wait_bit;
} rows[STRESS_EVENTS_COUNT] = {
	[STRESS_EVENT_REQUEST] = { .folder = "kmem/mm_page_alloc",
	    .name = "requests" },
	[STRESS_EVENT_FAILED + STRESS_FAILED] = {
	    .folder = "kmem/mm_page_alloc", .name = "failed",
	    .filter = " && order <= 3 && gfp_flags & ", .needs_wait_bit = true },
	[STRESS_EVENT_FAILED + STRESS_FAILED_LARGE] = {
	    .folder = "kmem/mm_page_alloc", .name = "failed_large",
	    .filter = " && order > 3 && gfp_flags & ", .needs_wait_bit = true },
	[STRESS_EVENT_FAILED + STRESS_FAILED_NO_WAIT] = {
	    .folder = "kmem/mm_page_alloc", .name = "failed_no_wait",
	    .filter = " && order <= 3 && !(gfp_flags & ", .needs_wait_bit = true },
	[STRESS_EVENT_FAILED + STRESS_FAILED_NO_WAIT_LARGE] = {
	    .folder = "kmem/mm_page_alloc", .name = "failed_no_wait_large",
	    .filter = " && order > 3 && !(gfp_flags & ", .needs_wait_bit = true },
	[STRESS_EVENT_ALL_FAILED] = { .folder = "kmem/mm_page_alloc",
	    .name = "all_failed", .filter = "" },
	[STRESS_EVENT_WAKE] = { .folder = "vmscan/mm_vmscan_wakeup_kswapd",
	    .name = "wakeups" },
	[STRESS_EVENT_RECLAIM] = {
	    .folder = "vmscan/mm_vmscan_direct_reclaim_begin",
	    .name = "reclaims" },
	[STRESS_EVENT_COMPACT] = {
	    .folder = "compaction/mm_compaction_try_to_compact_pages",
	    .name = "compactions" },
	[STRESS_EVENT_VICTIM] = { .folder = "oom/mark_victim",
	    .name = "victims" },
	[STRESS_EVENT_RETRY] = { .folder = "oom/reclaim_retry_zone",
	    .name = "retries" },
};

struct unit {
	int cpu;			/* -1: any */
	pid_t thread;			/* -1: any */
	int fd[STRESS_EVENTS_COUNT];	/* -1: none */
	uint64_t last[STRESS_EVENTS_COUNT];
};

struct stress_events {
	const char *root;		/* the caller's */
	bool copies;			/* of a folder: no counter is opened */
	bool on_exec;
	bool known[STRESS_EVENTS_COUNT];
	uint64_t id[STRESS_EVENTS_COUNT];
	char filter[STRESS_EVENTS_COUNT][FILTER_BYTES];
	struct unit *units;
	size_t n_units, cap_units;
	char online[ONLINE_BYTES];	/* the processors that have units */
	uint64_t gone[STRESS_EVENTS_COUNT];	/* of units that were closed */
	bool late;			/* a processor came on line */
};

static const char *const tracefs[] = { "sys/kernel/tracing",
    "sys/kernel/debug/tracing" };

static int
read_event_file(const struct stress_events *t, size_t e, const char *file,
    char *buf, size_t cap)
{
	char name[128];
	size_t len;
	int err = -ENOENT;

	for (size_t i = 0; i < BASE_NELEM(tracefs) && err == -ENOENT; i++) {
		snprintf(name, sizeof name, "%s/events/%s/%s", tracefs[i],
		    rows[e].folder, file);
		err = stress_read_file(t->root, name, buf, cap - 1, &len);
		if (err == 0)
			buf[len] = '\0';
	}
	return err;
}

/* The bytes of a field of an event, 0 if it has no such field. */
static unsigned
field_size(const char *format, const char *field)
{
	const char *at = strstr(format, field), *size;

	size = at != NULL ? strstr(at, "size:") : NULL;
	return size != NULL ? (unsigned)strtoul(size + 5, NULL, 10) : 0;
}

/*
 * The bit of a request that may wait, as the format prints it: "{... 0x400u
 * ..., "__GFP_DIRECT_RECLAIM"}" or "{... << (10) ..., ...}"; 0: it does not.
 */
static uint64_t
wait_bit(const char *format)
{
	const char *name = strstr(format, "\"__GFP_DIRECT_RECLAIM\""), *at;
	uint64_t bit = 0;
	unsigned long shift;

	if (name == NULL)
		return 0;
	for (at = name; at > format && *at != '{'; at--)
		if (at[0] == '0' && at[1] == 'x') {
			bit = strtoull(at, NULL, 16);
		} else if (at[0] == '<' && at[1] == '<') {
			shift = strtoul(at + 2 + strspn(at + 2, " ("), NULL, 10);
			bit = shift < 63 ? (uint64_t)1 << shift : 0;
		}
	return bit;
}

/* A failed request has the page number -1. */
static void
make_filters(struct stress_events *t, const char *format)
{
	unsigned bytes = field_size(format, " pfn;");
	uint64_t bit = field_size(format, " gfp_flags;") > 0 &&
	    field_size(format, " order;") > 0 ? wait_bit(format) : 0;

	for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++) {
		size_t len = 0;

		if (rows[e].filter == NULL)
			continue;
		t->known[e] = bytes > 0 && rows[e].needs_wait_bit == (bit != 0);
		base_append(t->filter[e], FILTER_BYTES, &len, "pfn == 0x%s%s",
		    bytes == 4 ? "ffffffff" : "ffffffffffffffff",
		    rows[e].filter);
		if (bit != 0 && rows[e].needs_wait_bit)
			base_append(t->filter[e], FILTER_BYTES, &len, "0x%llx%s",
			    (unsigned long long)bit,
			    strchr(rows[e].filter, '(') != NULL ? ")" : "");
	}
}

/* Requests are necessary; a kernel may lack the others. */
static int
find_events(struct stress_events *t, char why[STRESS_WHY])
{
	char *buf = malloc(FORMAT_BYTES), id[32];
	int err = 0;

	if (buf == NULL)
		return -ENOMEM;
	for (size_t e = 0; e < STRESS_EVENTS_COUNT && err == 0; e++) {
		int r = read_event_file(t, e, "id", id, sizeof id);

		id[r == 0 ? strcspn(id, "\n") : 0] = '\0';
		if (r == 0)
			r = base_parse_count(id, UINT32_MAX, &t->id[e]);
		t->known[e] = r == 0;
		if (r < 0 && e == STRESS_EVENT_REQUEST) {
			err = r;
			snprintf(why, STRESS_WHY, "no counts of tracepoints: "
			    "cannot read /%s/events/%s/id: %s%s", tracefs[0],
			    rows[e].folder, strerror(-r), r == -ENOENT ?
			    " (is tracefs mounted?)" : "");
		}
	}
	if (err == 0 && read_event_file(t, STRESS_EVENT_REQUEST, "format", buf,
	    FORMAT_BYTES) < 0)
		buf[0] = '\0';
	if (err == 0)
		make_filters(t, buf);
	free(buf);
	return err;
}

/*
 * A processor's counters are a group, begun and read at once by its leader,
 * the first.  Those that children inherit cannot be one.
 */
static int
open_counter(const struct stress_events *t, size_t e, const struct unit *u)
{
	bool grouped = u->thread < 0, leads = e == STRESS_EVENT_REQUEST;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof attr,
		.config = t->id[e],
		.disabled = !grouped || leads,
		.inherit = !grouped,
		.enable_on_exec = t->on_exec,
		.read_format = grouped ? PERF_FORMAT_GROUP : 0,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, u->thread, u->cpu,
	    grouped && !leads ? u->fd[STRESS_EVENT_REQUEST] : -1,
	    PERF_FLAG_FD_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	if ((rows[e].filter != NULL &&
	    ioctl(fd, PERF_EVENT_IOC_SET_FILTER, t->filter[e]) < 0) ||
	    (!grouped && !t->on_exec &&
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

static void
close_unit(struct unit *u)
{
	for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++)
		if (u->fd[e] >= 0)
			close(u->fd[e]);
}

/* The file with copies of a processor's counts: lines "NAME COUNT". */
static int
read_copies(const struct stress_events *t, int cpu, uint64_t n[STRESS_EVENTS_COUNT])
{
	char buf[1024], name[32], *line, *rest = buf, *blank;
	size_t len;
	int err;

	snprintf(name, sizeof name, "perf/cpu%d", cpu);
	err = stress_read_file(t->root, name, buf, sizeof buf - 1, &len);
	if (err < 0)
		return err;
	buf[len] = '\0';
	while ((line = strsep(&rest, "\n")) != NULL) {
		blank = strchr(line, ' ');
		if (blank == NULL)
			continue;
		*blank = '\0';
		for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++)
			if (strcmp(line, rows[e].name) == 0)
				base_parse_count(blank + 1, UINT64_MAX, &n[e]);
	}
	return 0;
}

/* As read(); -errno. */
static ssize_t
read_counter(int fd, void *buf, size_t cap)
{
	ssize_t len;

	do
		len = read(fd, buf, cap);
	while (len < 0 && errno == EINTR);
	return len < 0 ? -errno : len;
}

/* The values follow their number, in the order in which they were opened. */
static int
read_group(struct unit *u)
{
	uint64_t n[1 + STRESS_EVENTS_COUNT] = { 0 };
	ssize_t len = read_counter(u->fd[STRESS_EVENT_REQUEST], n, sizeof n);
	size_t have = len > 0 ? (size_t)len / sizeof n[0] : 0, at = 1;

	for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++)
		if (u->fd[e] >= 0 && at < have && at <= n[0])
			u->last[e] = n[at++];
	return len < 0 ? (int)len : 0;
}

/* A counter that the kernel no longer has keeps its last value. */
static int
read_unit(const struct stress_events *t, struct unit *u)
{
	if (t->copies)
		return read_copies(t, u->cpu, u->last);
	if (u->thread < 0)
		return read_group(u);
	for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++) {
		uint64_t n;
		ssize_t len = u->fd[e] < 0 ? 0 :
		    read_counter(u->fd[e], &n, sizeof n);

		if (len < 0)
			return (int)len;
		if (len == (ssize_t)sizeof n)
			u->last[e] = n;
	}
	return 0;
}

static int
open_counters(struct stress_events *t, struct unit *u)
{
	for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++) {
		u->fd[e] = t->known[e] ? open_counter(t, e, u) : -1;
		if (u->fd[e] == -EINVAL && rows[e].filter != NULL)
			t->known[e] = false;	/* no such field or operator */
		else if (u->fd[e] < 0 && t->known[e])
			return u->fd[e];
	}
	if (u->thread < 0 && ioctl(u->fd[STRESS_EVENT_REQUEST],
	    PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP) < 0)
		return -errno;
	return 0;
}

static int
add_unit(struct stress_events *t, int cpu, pid_t thread)
{
	struct unit u = { .cpu = cpu, .thread = thread };
	int err = base_grow((void **)&t->units, &t->cap_units, t->n_units + 1,
	    sizeof u);

	if (err < 0)
		return err;
	memset(u.fd, -1, sizeof u.fd);
	err = t->copies ? read_unit(t, &u) : open_counters(t, &u);
	if (err < 0) {
		close_unit(&u);
		return err;
	}
	t->units[t->n_units++] = u;
	return 0;
}

/* The next range of "0-3,8,10-11". */
static bool
take_range(const char **at, unsigned *from, unsigned *to)
{
	char *end;

	*at += strspn(*at, ",");
	if (**at < '0' || **at > '9')
		return false;
	*from = *to = (unsigned)strtoul(*at, &end, 10);
	if (*end == '-')
		*to = (unsigned)strtoul(end + 1, &end, 10);
	*at = end;
	return *to >= *from && *to < INT_MAX;
}

static bool
has_cpu(const char *list, unsigned cpu)
{
	unsigned from, to;

	while (take_range(&list, &from, &to))
		if (cpu >= from && cpu <= to)
			return true;
	return false;
}

static bool
has_unit(const struct stress_events *t, int cpu)
{
	for (size_t i = 0; i < t->n_units; i++)
		if (t->units[i].cpu == cpu)
			return true;
	return false;
}

static size_t
count_cpus(const char *list)
{
	unsigned from, to;
	size_t n = 0;

	while (take_range(&list, &from, &to))
		n += to - from + 1;
	return n;
}

/* The counts of processors that are off line stay in the sums. */
static void
drop_units(struct stress_events *t, const char *online)
{
	size_t left = 0;

	for (size_t i = 0; i < t->n_units; i++) {
		struct unit *u = &t->units[i];

		if (has_cpu(online, (unsigned)u->cpu)) {
			t->units[left++] = *u;
			continue;
		}
		(void)read_unit(t, u);
		for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++)
			t->gone[e] += u->last[e];
		close_unit(u);
	}
	t->n_units = left;
}

static int
add_units(struct stress_events *t, const char *online)
{
	unsigned from, to;
	int err = 0;

	for (const char *at = online; err == 0 && take_range(&at, &from, &to);)
		for (unsigned cpu = from; cpu <= to && err == 0; cpu++)
			if (!has_unit(t, (int)cpu))
				err = add_unit(t, (int)cpu, -1);
	return err;
}

static int
follow_processors(struct stress_events *t)
{
	char online[ONLINE_BYTES];
	size_t len, before;
	int err = stress_read_file(t->root, "sys/devices/system/cpu/online",
	    online, sizeof online - 1, &len);

	if (err < 0)
		return err;
	online[len] = '\0';
	if (strcmp(online, t->online) == 0)
		return 0;
	drop_units(t, online);
	before = t->n_units;
	err = add_units(t, online);
	if (t->online[0] != '\0' && t->n_units > before)
		t->late = true;
	if (err == 0)
		strcpy(t->online, online);
	return err;
}

static int
allow_files(const struct stress_events *t, char why[STRESS_WHY])
{
	char online[ONLINE_BYTES];
	struct rlimit limit;
	size_t len, need = SPARE_FILES, known = 0;

	if (t->copies || stress_read_file(t->root, "sys/devices/system/cpu/online",
	    online, sizeof online - 1, &len) < 0 ||
	    getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return 0;
	online[len] = '\0';
	for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++)
		known += t->known[e];
	need += known * count_cpus(online);
	if (need <= limit.rlim_cur)
		return 0;
	snprintf(why, STRESS_WHY, "no counts of tracepoints: they need %zu "
	    "descriptors, the limit is %llu (ulimit -n)", need,
	    (unsigned long long)limit.rlim_cur);
	return -E2BIG;
}

static void
say_refusal(const struct stress_events *t, int err, char why[STRESS_WHY])
{
	if (t->copies)
		snprintf(why, STRESS_WHY, "no counts of tracepoints: cannot read "
		    "%s/perf: %s", t->root, strerror(-err));
	else if (err == -EACCES || err == -EPERM)
		snprintf(why, STRESS_WHY, "no counts of tracepoints: perf is "
		    "refused: it needs CAP_PERFMON, or "
		    "/proc/sys/kernel/perf_event_paranoid of at most 1");
	else
		snprintf(why, STRESS_WHY, "no counts of tracepoints: perf: %s",
		    strerror(-err));
}

static int
begin_events(struct stress_events **out, const char *root, char why[STRESS_WHY])
{
	struct stress_events *t;
	int err;

	/* The filter may kill this process for the call. */
	if (root[0] == '\0' && prctl(PR_GET_SECCOMP) != 0) {
		snprintf(why, STRESS_WHY, "no counts of tracepoints: a filter of "
		    "system calls (seccomp) may end this process for "
		    "perf_event_open(2)");
		return -EPERM;
	}
	t = calloc(1, sizeof *t);
	if (t == NULL)
		return -ENOMEM;
	t->root = root;
	t->copies = root[0] != '\0';
	err = find_events(t, why);
	if (err < 0) {
		free(t);
		return err;
	}
	*out = t;
	return 0;
}

int
stress_events_open(struct stress_events **out, const char *root,
    char why[STRESS_WHY])
{
	struct stress_events *t;
	int err = begin_events(&t, root, why);

	if (err < 0)
		return err;
	err = allow_files(t, why);
	if (err == 0) {
		err = follow_processors(t);
		if (err < 0)
			say_refusal(t, err, why);
	}
	if (err < 0) {
		stress_events_close(t);
		return err;
	}
	*out = t;
	return 0;
}

static bool
has_thread(const struct stress_events *t, pid_t thread)
{
	for (size_t i = 0; i < t->n_units; i++)
		if (t->units[i].thread == thread)
			return true;
	return false;
}

/* A thread that has ended meanwhile is none.  *more: there was a new one. */
static int
add_threads(struct stress_events *t, pid_t pid, bool *more)
{
	char path[64];
	struct dirent *d;
	int err = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (dir == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	while (err == 0 && (d = readdir(dir)) != NULL) {
		pid_t thread = (pid_t)strtol(d->d_name, NULL, 10);

		if (thread <= 0 || has_thread(t, thread))
			continue;
		*more = true;
		err = add_unit(t, -1, thread);
		if (err == -ESRCH)
			err = 0;
	}
	closedir(dir);
	return err;
}

int
stress_events_of(struct stress_events **out, pid_t pid, bool on_exec,
    char why[STRESS_WHY])
{
	struct stress_events *t;
	bool more = true;
	int err = begin_events(&t, "", why);

	if (err < 0)
		return err;
	t->on_exec = on_exec;
	for (unsigned i = 0; more && err == 0 && i < THREAD_ROUNDS; i++) {
		more = false;
		err = add_threads(t, pid, &more);
	}
	if (err == 0 && t->n_units == 0)
		err = -ESRCH;
	if (err < 0) {
		say_refusal(t, err, why);
		stress_events_close(t);
		return err;
	}
	*out = t;
	return 0;
}

void
stress_events_close(struct stress_events *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->n_units; i++)
		close_unit(&t->units[i]);
	free(t->units);
	free(t);
}

int
stress_events_read(struct stress_events *t, struct stress_event_counts *out)
{
	int err = t->n_units > 0 && t->units[0].thread >= 0 ? 0 :
	    follow_processors(t);

	for (size_t i = 0; i < t->n_units && err == 0; i++)
		err = read_unit(t, &t->units[i]);
	if (err < 0)
		return err;
	memcpy(out->known, t->known, sizeof out->known);
	memcpy(out->n, t->gone, sizeof out->n);
	for (size_t i = 0; i < t->n_units; i++)
		for (size_t e = 0; e < STRESS_EVENTS_COUNT; e++)
			out->n[e] += t->units[i].last[e];
	out->late = t->late;
	return 0;
}
