#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "../../base/perf_ring.h"
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
		struct perf_ring ring;
		uint64_t recent;	/* a bit for each of the last 64 records: a program */
	} *processor;
	struct waiting *waiting;
	size_t nwaiting;
};

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
	int err = perf_ring_open(&p->ring, &attr, parent, cpu, RING_BYTES);

	return err == -ENODEV ? 0 : err;	/* the processor is offline */
}

void
executions_close(struct node *node)
{
	struct executions *e = node->images->executions;

	if (e == NULL)
		return;
	for (long i = 0; e->processor != NULL && i < e->processors; i++)
		perf_ring_close(&e->processor[i].ring);
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
		e->processor[i].ring = PERF_RING_NONE;
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
};

/* Most records may be names of threads: programs have their share of the lost ones. */
static void
take_lost(struct node *node, const struct processor *p, uint64_t lost)
{
	uint64_t programs = (uint64_t)__builtin_popcountll(p->recent);

	if (programs > 0)
		images_count_missed(node, (lost * programs + 63) / 64, LOST);
}

struct reading {
	struct node *node;
	struct processor *processor;
};

static void
take_record(void *arg, const struct perf_event_header *head)
{
	const union record *r = (const union record *)head;
	const struct reading *reading = arg;
	struct processor *p = reading->processor;
	bool program = (r->head.misc & PERF_RECORD_MISC_COMM_EXEC) != 0;

	if (r->head.type == PERF_RECORD_LOST)
		take_lost(reading->node, p, r->loss.lost);
	if (r->head.type != PERF_RECORD_COMM)
		return;
	p->recent = p->recent << 1 | program;
	if (program)
		add_waiting(reading->node, (pid_t)r->name.pid, r->name.comm);
}

static void
read_all(struct node *node)
{
	struct executions *e = node->images->executions;
	struct reading r = { .node = node };

	for (long i = 0; i < e->processors; i++) {
		r.processor = &e->processor[i];
		perf_ring_read(&r.processor->ring,
		    perf_ring_head(&r.processor->ring), take_record, &r);
	}
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
