#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../keeper/node.h"
#include "images.h"

#define RING_BYTES (16u << 10)	/* of each processor: some 500 programs */
#define WAITING_MAX 4096
#define GONE_MS 500		/* after its end, a hello has been read */

static const char LOST[] =
    "more programs were executed at once than the kernel could tell of";

/* A program whose process has not said hello since it executed it. */
struct waiting {
	pid_t pid;
	int64_t since_ms;
	char comm[16];
};

struct executions {
	long processors;
	struct processor {
		int fd;
		struct perf_event_mmap_page *head;	/* its ring follows */
		uint64_t recent;	/* a bit for each of the last 64 records: a program */
	} *processor;
	struct waiting *waiting;
	size_t nwaiting;
};

static size_t
page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* A power of two of pages. */
static size_t
ring_bytes(void)
{
	return page_bytes() > RING_BYTES ? page_bytes() : RING_BYTES;
}

static int
open_processor(struct processor *p, pid_t parent, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_DUMMY,
		.inherit = 1,
		.comm = 1,
		.comm_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	void *at;

	p->fd = (int)syscall(SYS_perf_event_open, &attr, parent, cpu, -1,
	    PERF_FLAG_FD_CLOEXEC);
	if (p->fd < 0)
		return errno == ENODEV ? 0 : -errno;	/* it is offline */
	at = mmap(NULL, page_bytes() + ring_bytes(), PROT_READ | PROT_WRITE,
	    MAP_SHARED, p->fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	p->head = at;
	return 0;
}

void
executions_close(struct node *node)
{
	struct executions *e = node->images->executions;

	if (e == NULL)
		return;
	for (long i = 0; e->processor != NULL && i < e->processors; i++) {
		if (e->processor[i].head != NULL)
			munmap(e->processor[i].head,
			    page_bytes() + ring_bytes());
		if (e->processor[i].fd >= 0)
			close(e->processor[i].fd);
	}
	free(e->processor);
	free(e->waiting);
	free(e);
	node->images->executions = NULL;
}

void
executions_open(struct node *node, pid_t parent)
{
	struct executions *e;
	int err;

	/* A filter may kill us for the call.  /proc may be another namespace's. */
	if (prctl(PR_GET_SECCOMP) != 0)
		return;
	e = calloc(1, sizeof *e);
	node->images->executions = e;
	if (e == NULL)
		return;
	e->processors = sysconf(_SC_NPROCESSORS_CONF);
	e->processor = calloc((size_t)e->processors, sizeof *e->processor);
	e->waiting = calloc(WAITING_MAX, sizeof *e->waiting);
	err = e->processor == NULL || e->waiting == NULL ? -ENOMEM : 0;
	for (long i = 0; e->processor != NULL && i < e->processors; i++)
		e->processor[i].fd = -1;
	for (long i = 0; err == 0 && i < e->processors; i++)
		err = open_processor(&e->processor[i], parent, (int)i);
	if (err < 0)
		executions_close(node);
}

static void
add_waiting(struct node *node, pid_t pid, const char *comm)
{
	struct executions *e = node->images->executions;
	struct waiting w = { .pid = pid, .since_ms = mono_ms(mono_now()) };

	snprintf(w.comm, sizeof w.comm, "%.15s", comm);
	if (e->nwaiting < WAITING_MAX)
		e->waiting[e->nwaiting++] = w;
	else
		images_count_missed(node, 1, IMAGES_NOT_SEEN);
}

union record {
	struct perf_event_header head;
	struct {
		struct perf_event_header head;
		uint32_t pid, tid;
		char comm[16];
	} name;
	struct {
		struct perf_event_header head;
		uint64_t id, lost;
	} loss;
	unsigned char bytes[64];
};

/* Most records may be names of threads: programs have their share of the lost ones. */
static void
take_lost(struct node *node, const struct processor *p, uint64_t lost)
{
	uint64_t programs = (uint64_t)__builtin_popcountll(p->recent);

	if (programs > 0)
		images_count_missed(node, (lost * programs + 63) / 64, LOST);
}

static void
take_record(struct node *node, struct processor *p, const union record *r)
{
	bool program = (r->head.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;

	if (r->head.type == PERF_RECORD_LOST)
		take_lost(node, p, r->loss.lost);
	if (r->head.type != PERF_RECORD_COMM)
		return;
	p->recent = p->recent << 1 | program;
	if (program)
		add_waiting(node, (pid_t)r->name.pid, r->name.comm);
}

static void
read_processor(struct node *node, struct processor *p)
{
	const unsigned char *ring = (const unsigned char *)p->head + page_bytes();
	size_t room = ring_bytes();
	uint64_t head = __atomic_load_n(&p->head->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = p->head->data_tail;

	while (tail < head) {
		union record r = { .bytes = { 0 } };
		size_t size = sizeof r.head;

		for (size_t i = 0; i < size; i++) {
			r.bytes[i] = ring[(tail + i) % room];
			if (i + 1 == sizeof r.head && r.head.size <= sizeof r)
				size = r.head.size;
		}
		take_record(node, p, &r);
		tail += r.head.size >= sizeof r.head ? r.head.size : head - tail;
	}
	__atomic_store_n(&p->head->data_tail, tail, __ATOMIC_RELEASE);
}

static void
read_all(struct node *node)
{
	struct executions *e = node->images->executions;

	for (long i = 0; i < e->processors; i++)
		if (e->processor[i].head != NULL)
			read_processor(node, &e->processor[i]);
}

static void
remove_waiting(struct executions *e, size_t i)
{
	memmove(&e->waiting[i], &e->waiting[i + 1],
	    (--e->nwaiting - i) * sizeof e->waiting[0]);
}

void
executions_arrived(struct node *node, pid_t pid)
{
	struct executions *e = node->images->executions;
	size_t i;

	if (e == NULL)
		return;
	read_all(node);
	for (i = 0; i < e->nwaiting && e->waiting[i].pid != pid; i++)
		continue;
	if (i < e->nwaiting)
		remove_waiting(e, i);
}

void
executions_check(struct node *node, bool over)
{
	struct executions *e = node->images->executions;
	int64_t now = mono_ms(mono_now());
	struct waiting w;

	if (e == NULL)
		return;
	read_all(node);
	for (size_t i = 0; i < e->nwaiting;) {
		w = e->waiting[i];
		/* A scan finds it while it lives. */
		if (!over && (kill(w.pid, 0) == 0 || errno == EPERM))
			e->waiting[i].since_ms = now;
		if (!over && now - e->waiting[i].since_ms < GONE_MS) {
			i++;
			continue;
		}
		remove_waiting(e, i);
		images_add_gone(node, w.pid, w.comm, IMAGES_NOT_SEEN);
	}
}
