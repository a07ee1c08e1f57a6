#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../../base/perf_ring.h"
#include "../refs.h"
#include "hint.h"

#define THREADS_MAX 4096
#define PASSES 10		/* maximum of searches for new threads */

/* A thread with events of its own, in addition to those inherited from its creator. */
struct thread {
	pid_t tid;
	uint64_t *id;			/* id of its event on each processor */
};

struct hints {
	pid_t pid;
	int pagemap;			/* of this image; unreadable after an exec */
	const struct refcnt_topology *topology;
	unsigned processors;
	struct perf_ring *ring;		/* one for each processor, opened for the first thread */
	uint64_t *head;
	int *fd;			/* events of the other threads */
	size_t nfds, fds_cap;
	struct thread *thread;		/* sorted by id */
	size_t nthreads, threads_cap;
	struct mappings maps;
	uint64_t lost;
	hints_sample *sample;		/* set during hints_read() */
	void *arg;
};

static struct perf_event_attr
page_faults(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_ADDR |
		    PERF_SAMPLE_ID | PERF_SAMPLE_CPU,
		.inherit = 1,
	};
}

int
hints_supported(pid_t pid, const char *root, unsigned nodes, char why[REFCNT_WHY])
{
	struct perf_event_attr attr = page_faults();
	struct perf_ring probe = PERF_RING_NONE;
	int err;

	if (nodes < 2) {
		snprintf(why, REFCNT_WHY, "this machine has one memory node: the "
		    "kernel samples references only on machines with several");
		return -EOPNOTSUPP;
	}
	err = balancing_check(root, why);
	if (err < 0)
		return err;
	/* A filter may kill this process for the call. */
	if (prctl(PR_GET_SECCOMP) != 0) {
		snprintf(why, REFCNT_WHY, "the node is in a sandbox (seccomp), "
		    "which may end it for perf_event_open(2)");
		return -EPERM;
	}
	attr.inherit = 0;
	err = perf_ring_open(&probe, &attr, pid, -1, 0);
	if (err < 0)
		snprintf(why, REFCNT_WHY, "perf_event_open(2) fails for the target's "
		    "page faults (it needs CAP_PERFMON): %s", strerror(-err));
	perf_ring_close(&probe);
	return err;
}

/* The index of the first thread with that id or a higher one. */
static size_t
find_place(const struct hints *h, pid_t tid)
{
	size_t i;

	BASE_FIND_FIRST(i, h->nthreads, h->thread[i].tid >= tid);
	return i;
}

static const struct thread *
find_thread(const struct hints *h, pid_t tid)
{
	size_t i = find_place(h, tid);

	return i < h->nthreads && h->thread[i].tid == tid ? &h->thread[i] : NULL;
}

static int
open_event(struct hints *h, struct thread *t, unsigned cpu)
{
	struct perf_event_attr attr = page_faults();
	int fd, err;

	if (h->ring[cpu].head == NULL) {
		err = perf_ring_open(&h->ring[cpu], &attr, t->tid, (int)cpu,
		    HINTS_RING);
		fd = err < 0 ? err : h->ring[cpu].fd;
	} else {
		fd = perf_ring_join(&h->ring[cpu], &attr, t->tid, (int)cpu);
		if (fd >= 0)
			h->fd[h->nfds++] = fd;
	}
	if (fd < 0)
		return fd == -ENODEV ? 0 : fd;		/* the processor is offline */
	return ioctl(fd, PERF_EVENT_IOC_ID, &t->id[cpu]) < 0 ? -errno : 0;
}

static int
add_thread(struct hints *h, pid_t tid, struct thread **out)
{
	size_t i = find_place(h, tid);
	uint64_t *id = NULL;
	int err = h->nthreads < THREADS_MAX ? 0 : -EMFILE;

	if (err == 0)
		err = base_grow((void **)&h->thread, &h->threads_cap,
		    h->nthreads + 1, sizeof h->thread[0]);
	if (err == 0)
		err = base_grow((void **)&h->fd, &h->fds_cap,
		    h->nfds + h->processors, sizeof h->fd[0]);
	if (err == 0 && (id = calloc(h->processors, sizeof *id)) == NULL)
		err = -ENOMEM;
	if (err < 0)
		return err;
	memmove(&h->thread[i + 1], &h->thread[i],
	    (h->nthreads++ - i) * sizeof h->thread[0]);
	h->thread[i] = (struct thread){ tid, id };
	*out = &h->thread[i];
	return 0;
}

static int
attach(struct hints *h, pid_t tid)
{
	struct thread *t;
	int err = add_thread(h, tid, &t);

	for (unsigned cpu = 0; err == 0 && cpu < h->processors; cpu++)
		err = open_event(h, t, cpu);
	return err == -ESRCH ? 0 : err;		/* the thread has ended */
}

/* *more: new threads were found. */
static int
attach_threads(struct hints *h, bool *more)
{
	const struct dirent *e;
	char path[32];
	DIR *dir;
	int err = 0;

	*more = false;
	snprintf(path, sizeof path, "/proc/%d/task", (int)h->pid);
	dir = opendir(path);
	if (dir == NULL)
		return errno == ENOENT ? -ESRCH : -errno;
	while (err == 0 && (e = readdir(dir)) != NULL) {
		pid_t tid = (pid_t)atol(e->d_name);

		if (tid <= 0 || find_thread(h, tid) != NULL)
			continue;
		*more = true;
		err = attach(h, tid);
	}
	closedir(dir);
	return err;
}

int
hints_open(struct hints **out, pid_t pid, const struct refcnt_topology *topology)
{
	struct hints *h = calloc(1, sizeof *h);
	char path[32];
	bool more = true;
	int err;

	if (h == NULL)
		return -ENOMEM;
	h->pid = pid;
	h->topology = topology;
	snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
	h->pagemap = open(path, O_RDONLY | O_CLOEXEC);
	err = h->pagemap >= 0 ? 0 : errno == ENOENT ? -ESRCH : -errno;
	h->ring = calloc((size_t)sysconf(_SC_NPROCESSORS_CONF), sizeof h->ring[0]);
	h->head = calloc((size_t)sysconf(_SC_NPROCESSORS_CONF), sizeof h->head[0]);
	if (h->ring == NULL || h->head == NULL)
		err = -ENOMEM;
	else
		h->processors = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	for (unsigned i = 0; i < h->processors; i++)
		h->ring[i] = PERF_RING_NONE;
	/* A thread created by one without events has none either, so search again. */
	for (unsigned i = 0; err == 0 && more && i < PASSES; i++)
		err = attach_threads(h, &more);
	if (err < 0)
		hints_close(h);
	else
		*out = h;
	return err;
}

void
hints_close(struct hints *h)
{
	if (h == NULL)
		return;
	for (unsigned i = 0; i < h->processors; i++)
		perf_ring_close(&h->ring[i]);
	for (size_t i = 0; i < h->nfds; i++)
		close(h->fd[i]);
	if (h->pagemap >= 0)
		close(h->pagemap);
	free(h->ring);
	free(h->head);
	free(h->fd);
	for (size_t i = 0; i < h->nthreads; i++)
		free(h->thread[i].id);
	free(h->thread);
	free(h->maps.at);
	free(h);
}

int
hints_begin(struct hints *h)
{
	char path[32];
	int fd, err;

	snprintf(path, sizeof path, "/proc/%d/smaps", (int)h->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	err = mappings_read(fd, &h->maps);
	close(fd);
	return err == 0 && !pagemap_has_image(h->pagemap) ? -ESRCH : err;
}

static bool
is_huge(const struct hints *h, uint64_t vaddr)
{
	size_t i;

	BASE_FIND_FIRST(i, h->maps.n, h->maps.at[i].to > vaddr);
	return i < h->maps.n && h->maps.at[i].from <= vaddr &&
	    h->maps.at[i].huge != 0;
}

/* The kernel's records for the sample_type of page_faults(). */
union record {
	struct perf_event_header head;
	struct {
		struct perf_event_header head;
		uint32_t pid, tid;
		uint64_t vaddr, id;
		uint32_t cpu, unused;
	} fault;
	struct {
		struct perf_event_header head;
		uint64_t id, lost;
	} loss;
};

/*
 * A thread with events of its own may have inherited its creator's, which
 * report the fault again.
 */
static bool
is_told_once(const struct hints *h, const union record *r)
{
	const struct thread *t = find_thread(h, (pid_t)r->fault.tid);

	return r->fault.cpu < h->processors &&
	    (t == NULL || t->id[r->fault.cpu] == r->fault.id);
}

static void
take_record(void *arg, const struct perf_event_header *head)
{
	const union record *r = (const union record *)head;
	struct hints *h = arg;
	int32_t node;

	if (head->type == PERF_RECORD_LOST)
		h->lost += r->loss.lost;
	/* Child processes inherit the events; skip them. */
	if (head->type != PERF_RECORD_SAMPLE || (pid_t)r->fault.pid != h->pid ||
	    !is_told_once(h, r))
		return;
	node = refcnt_node_of_cpu(h->topology, r->fault.cpu);
	if (node >= 0)
		h->sample(h->arg, r->fault.vaddr, (unsigned)node,
		    is_huge(h, r->fault.vaddr));
}

int
hints_read(struct hints *h, hints_sample *sample, void *arg)
{
	for (unsigned i = 0; i < h->processors; i++)
		h->head[i] = perf_ring_head(&h->ring[i]);
	/* Checked after the heads: records before them belong to this image. */
	if (!pagemap_has_image(h->pagemap))
		return -ESRCH;
	h->sample = sample;
	h->arg = arg;
	for (unsigned i = 0; i < h->processors; i++)
		perf_ring_read(&h->ring[i], h->head[i], take_record, h);
	return 0;
}

uint64_t
hints_lost(const struct hints *h)
{
	return h->lost;
}
