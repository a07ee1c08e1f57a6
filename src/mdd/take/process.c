/*
 * The first copies are made without a stop.  If root and shards are the same
 * before and after one, and no shard was in an update, the copy is of one
 * moment.  Otherwise the process is stopped by PTRACE_SEIZE and
 * PTRACE_INTERRUPT, which send no signal; the kernel resumes it when we end, in
 * whatever way.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../base/base.h"
#include "take.h"

#define TRIES 2			/* without a stop */
#define STOP_NS (50 * INT64_C(1000000))
#define ARRIVE_NS (20 * INT64_C(1000000))	/* until all threads have stopped */
#define MARGIN_NS (5 * INT64_C(1000000))	/* to let them go */
#define LATE_NS (2000 * INT64_C(1000000))
#define MAPS_MAX ((size_t)256 << 20)

struct stopped_thread {
	pid_t tid;
	bool arrived;			/* it has stopped */
	int signal;			/* for when it resumes; 0: none */
};

struct process {
	pid_t pid;
	struct stopped_thread *thread;
	size_t n, cap;
	struct mono since;		/* of the stop */
	size_t late;			/* threads that had not stopped in time */
	bool stopped;
};

static size_t
process_read(void *arg, uint64_t address, void *out, size_t n)
{
	const struct process *p = arg;
	struct iovec to = { out, n };
	struct iovec from = { (void *)(uintptr_t)address, n };
	ssize_t got;

	if (address > UINTPTR_MAX || n > UINTPTR_MAX - address)
		return 0;
	got = process_vm_readv(p->pid, &to, 1, &from, 1, 0);
	return got < 0 ? 0 : (size_t)got;
}

int
process_write(struct take *t, uint64_t address, const void *bytes, size_t n)
{
	char copy[8];
	struct iovec from = { copy, n };
	struct iovec to = { (void *)(uintptr_t)address, n };

	memcpy(copy, bytes, n);
	return process_vm_writev(t->process->pid, &from, 1, &to, 1, 0) ==
	    (ssize_t)n ? 0 : -errno;
}

static int64_t
stopped_ns(const struct process *p)
{
	return mono_diff_ns(mono_now(), p->since);
}

static bool
is_known(const struct process *p, pid_t tid)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->thread[i].tid == tid)
			return true;
	return false;
}

/* 0 also if the thread has ended. */
static int
stop_thread(struct process *p, pid_t tid)
{
	void *array = p->thread;
	int r = base_grow(&array, &p->cap, p->n + 1, sizeof *p->thread);

	if (r < 0)
		return r;
	p->thread = array;
	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
		return errno == ESRCH ? 0 : -errno;
	p->thread[p->n++] = (struct stopped_thread){ .tid = tid };
	(void)ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 0;
}

/* Stops threads that are not in the list; *more: there were some. */
static int
stop_threads(struct process *p, bool *more)
{
	char path[64];
	struct dirent *entry;
	int r = 0;
	DIR *dir;

	*more = false;
	snprintf(path, sizeof path, "/proc/%ld/task", (long)p->pid);
	dir = opendir(path);
	if (dir == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	while (r == 0 && (entry = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !is_known(p, tid)) {
			*more = true;
			r = stop_thread(p, tid);
		}
	}
	closedir(dir);
	return r;
}

static void
wait_for_thread(struct process *p, size_t i)
{
	struct stopped_thread *s = &p->thread[i];
	int status;
	pid_t r = waitpid(s->tid, &status, __WALL | WNOHANG);

	if (r == 0)
		return;
	if (r < 0 || !WIFSTOPPED(status)) {
		p->thread[i] = p->thread[--p->n];
		return;
	}
	s->arrived = true;
	/* A signal, not our interrupt: it is delivered at the end. */
	if (status >> 16 != PTRACE_EVENT_STOP)
		s->signal = WSTOPSIG(status);
}

/* A thread in the kernel does not change the tables. */
static void
wait_for_threads(struct process *p)
{
	const struct timespec pause = { 0, 50000 };
	size_t missing;

	for (;;) {
		missing = 0;
		for (size_t i = p->n; i-- > 0;) {
			if (!p->thread[i].arrived)
				wait_for_thread(p, i);
			if (i < p->n && !p->thread[i].arrived)
				missing++;
		}
		p->late = missing;
		if (missing == 0 || stopped_ns(p) > ARRIVE_NS)
			return;
		nanosleep(&pause, NULL);
	}
}

static size_t
detach_arrived(struct process *p)
{
	size_t late = 0;

	for (size_t i = p->n; i-- > 0;) {
		if (!p->thread[i].arrived)
			wait_for_thread(p, i);
		if (i >= p->n)
			continue;
		if (!p->thread[i].arrived) {
			late++;
			continue;
		}
		(void)ptrace(PTRACE_DETACH, p->thread[i].tid, NULL,
		    (void *)(intptr_t)p->thread[i].signal);
		p->thread[i] = p->thread[--p->n];
	}
	return late;
}

/* A thread that stops even later resumes when we end. */
static void
let_go(struct process *p)
{
	const struct timespec pause = { 0, 1000000 };

	if (!p->stopped)
		return;
	while (detach_arrived(p) > 0 && stopped_ns(p) < LATE_NS)
		nanosleep(&pause, NULL);
	p->n = 0;
	p->stopped = false;
}

static int
stop(struct process *p)
{
	bool more;
	int r;

	p->since = mono_now();
	p->stopped = true;
	do {
		r = stop_threads(p, &more);
		if (r == 0 && more)
			wait_for_threads(p);
	} while (r == 0 && more && stopped_ns(p) < ARRIVE_NS);
	if (r < 0)
		let_go(p);
	return r;
}

static bool
has_time(struct take *t)
{
	return stopped_ns(t->process) < STOP_NS - MARGIN_NS;
}

static bool
is_same(struct take *t)
{
	const struct take_root *r = &t->root;
	size_t n = r->at.root.bytes, m = r->shards_bytes;
	uint64_t shards = r->word_bytes == 0 ? 0 : take_shards(t);
	uint8_t *now;
	bool same;

	now = malloc(n + m + 1);
	if (now == NULL)
		return false;
	same = process_read(t->process, r->address, now, n) == n &&
	    memcmp(now, r->bytes, n) == 0 &&
	    process_read(t->process, shards, now, m) == m &&
	    memcmp(now, r->shards, m) == 0;
	free(now);
	return same;
}

static int
copy_running(struct take *t)
{
	int r = take_plan(t);

	if (r == 0)
		r = take_copy_areas(t, &t->tables, NULL);
	return r;
}

/* When the time is up, the process resumes, and the rest is copied. */
static int
copy_stopped(struct take *t)
{
	int r = take_plan(t);

	if (r == 0)
		r = take_copy_areas(t, &t->tables, has_time);
	/* A thread that did not stop may have left the kernel meanwhile. */
	t->moved = t->process->late > 0 && !is_same(t);
	let_go(t->process);
	t->stopped_ns = (uint64_t)stopped_ns(t->process);
	if (r == -ECANCELED) {
		t->moved = true;
		t->problems.n = 0;
		r = take_copy_areas(t, &t->tables, NULL);
	}
	return r;
}

int
process_copy(struct take *t)
{
	int r = 0;

	for (int try = 0; try < TRIES; try++) {
		r = copy_running(t);
		if (r < 0 || (t->root.busy == 0 && is_same(t)))
			return r;
	}
	r = stop(t->process);
	if (r == -EPERM)
		return take_fail(t, r, "pid %ld cannot be stopped: another "
		    "debugger traces it, or ptrace is not allowed; use mdd_dump "
		    "in that debugger", (long)t->process->pid);
	if (r < 0)
		return take_fail(t, r, "pid %ld cannot be stopped: %s",
		    (long)t->process->pid, strerror(-r));
	return copy_stopped(t);
}

/* Reads a file of /proc, whose size is unknown.  Heap, or NULL and errno. */
static char *
read_proc(pid_t pid, const char *name)
{
	char path[64];
	void *text = NULL;
	size_t len = 0, cap = 0;
	ssize_t n = 1;
	int fd, r = 0;

	snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	while (r == 0 && n > 0 && len < MAPS_MAX) {
		r = base_grow(&text, &cap, len + 65536, 1);
		if (r == 0)
			n = read(fd, (char *)text + len, cap - len - 1);
		if (n > 0)
			len += (size_t)n;
	}
	if (n < 0)
		r = -errno;
	close(fd);
	if (r < 0) {
		free(text);
		errno = -r;
		return NULL;
	}
	((char *)text)[len] = '\0';
	return text;
}

static int
refuse(struct take *t, int error)
{
	long pid = (long)t->process->pid;

	if (error == -ENOENT || error == -ESRCH)
		return take_fail(t, -ESRCH, "there is no process %ld", pid);
	if (error == -EACCES || error == -EPERM)
		return take_fail(t, -EACCES, "the memory of pid %ld may not be "
		    "read; run pagek as its user or as root, see "
		    "kernel.yama.ptrace_scope in ptrace(2)", pid);
	return take_fail(t, error, "cannot read pid %ld: %s", pid,
	    strerror(-error));
}

static int
try_memory(const struct take *t)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { NULL, 1 };

	for (size_t i = 0; i < t->maps.n; i++)
		if (t->maps.at[i].readable) {
			from.iov_base = (void *)(uintptr_t)t->maps.at[i].lo;
			return process_vm_readv(t->process->pid, &to, 1, &from,
			    1, 0) < 0 ? -errno : 0;
		}
	/* A zombie, or a thread of the kernel. */
	return -ESRCH;
}

int
take_open_process(struct take *t, pid_t pid)
{
	char path[64];
	ssize_t n;
	int r;

	*t = (struct take){ .process = calloc(1, sizeof *t->process),
		.pid = (uint32_t)pid };
	if (t->process == NULL)
		return take_fail(t, -ENOMEM, "there is not enough memory");
	t->process->pid = pid;
	t->source = (struct take_source){ process_read, t->process };
	snprintf(path, sizeof path, "/proc/%ld/exe", (long)pid);
	n = readlink(path, t->program, sizeof t->program - 1);
	t->program[n > 0 ? n : 0] = '\0';
	t->maps_text = read_proc(pid, "maps");
	if (t->maps_text == NULL)
		return refuse(t, -errno);
	r = take_maps_parse(&t->maps, t->maps_text);
	if (r == 0)
		r = try_memory(t);
	return r < 0 ? refuse(t, r) : 0;
}

void
process_close(struct process *p)
{
	if (p == NULL)
		return;
	let_go(p);
	free(p->thread);
	free(p);
}
