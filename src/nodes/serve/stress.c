/*
 * STRESS: the kernel's counts, as the node has read them for all pages.
 * KERNEL_MEMORY: the kernel's own memory by call site or slab cache, read by a worker.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../keeper/node.h"
#include "../stress/stress.h"
#include "../replay/replay.h"
#include "answer.h"

_Static_assert(WIRE_STRESS_SIZE == STRESS_PACKED_MAX, "a sample fits");

static size_t
put_sentences(struct wire_text out[WIRE_STRESS_WHY], const char *why)
{
	size_t n = 0;

	while (*why != '\0' && n < WIRE_STRESS_WHY) {
		const char *end = strstr(why, "; ");
		size_t len = end != NULL ? (size_t)(end - why) : strlen(why);

		out[n] = wire_text(why);
		if (out[n].len > len)
			out[n].len = len;
		n++;
		why += end != NULL ? len + 2 : len;
	}
	return n;
}

static void send_sample(struct conn *, uint32_t id, bool woken);

static void
on_waited(struct node *node, struct node_stress_wait *w)
{
	(void)node;
	send_sample(w->arg, w->id, w->woken);
}

static void
begin_wait(struct conn *c, uint32_t id, uint32_t ms)
{
	c->stress = (struct node_stress_wait){ .arg = c, .id = id,
		.done = on_waited };
	node_stress_begin_wait(c->node, &c->stress, ms);
}

/* Sends the sample of this machine, or of the moment that the node replays. */
static void
send_sample(struct conn *c, uint32_t id, bool woken)
{
	struct wire_msg reply = { .type = WIRE_STRESSED, .id = id };
	uint8_t packed[STRESS_PACKED_MAX];
	struct node_stress_sample k;
	char text[128];
	int r = c->node->replay != NULL ? replay_stress(c->node, &k) :
	    node_stress_sample(c->node, &k);

	if (r == -ENODATA) {
		conn_error(c, id, WIRE_E_NAME, "the capture has no samples of "
		    "heap stress: an older node has written it");
		return;
	}
	if (r == -EAGAIN && !c->stress.waits) {
		begin_wait(c, id, NODE_STRESS_BEGIN_MS);
		return;
	}
	if (r < 0) {
		snprintf(text, sizeof text, "the node cannot read the kernel's "
		    "counters now: %s", strerror(-r));
		conn_error(c, id, WIRE_E_BUSY, text);
		return;
	}
	reply.stressed = (struct wire_stressed){
		.kernel = wire_text(k.release),
		.reader = k.reader,
		.sample = { .p = packed, .len = stress_put(packed, &k.sample) },
		.taken_ms = k.ms,
		.now_ms = k.now_ms,
		.woken = woken,
	};
	reply.stressed.nwhy = put_sentences(reply.stressed.why, k.why);
	conn_reply(c, &reply);
}

/* The moment of a replay does not wait. */
void
answer_stress(struct conn *c, const struct wire_msg *m)
{
	bool live = c->node->replay == NULL;
	bool waited = c->stress.waits;

	if (live && !c->sees_kernel) {
		node_stress_view(c->node);
		c->sees_kernel = true;
	}
	node_stress_end_wait(c->node, &c->stress);
	if (waited)
		send_sample(c, c->stress.id, false);
	if (waited || !live || m->stress.wait_ms == 0) {
		send_sample(c, m->id, false);
		return;
	}
	begin_wait(c, m->id, m->stress.wait_ms);
}

/* A request for a table; lives until it is answered. */
struct kernel_reading {
	uv_work_t work;
	struct node *node;
	uint64_t conn;			/* the connection that asked */
	uint32_t request;
	enum stress_table table;
	struct stress_memory memory;
	char lines[WIRE_KERNEL_LINES];
	size_t len;
	char why[STRESS_WHY];
	int err;
};

static void
read_kernel(uv_work_t *work)
{
	struct kernel_reading *k = work->data;
	const char *root = k->node->opts.root;

	k->err = stress_read_memory(&k->memory, k->table, root != NULL ? root : "",
	    k->why);
	if (k->err < 0)
		return;
	stress_sort_memory(&k->memory, STRESS_LARGEST);
	k->len = stress_print_memory(&k->memory, k->lines, sizeof k->lines);
}

static void
reply_kernel(struct conn *c, const struct kernel_reading *k)
{
	struct wire_msg reply = { .type = WIRE_KERNEL_ROWS, .id = k->request };
	const struct stress_memory *m = &k->memory;

	if (k->err < 0) {
		conn_error(c, k->request, k->err == -ENOMEM ? WIRE_E_BUSY :
		    WIRE_E_NAME, k->why[0] != '\0' ? k->why : strerror(-k->err));
		return;
	}
	reply.kernel_rows = (struct wire_kernel_rows){
		.rows = m->rows, .table = m->table, .bytes = m->bytes,
		.bad = m->bad, .lines = { .p = (const uint8_t *)k->lines,
		    .len = k->len } };
	conn_reply(c, &reply);
}

static void
answer_kernel(uv_work_t *work, int status)
{
	struct kernel_reading *k = work->data;
	struct conn *c = serve_find(k->node, k->conn);

	if (status < 0)
		k->err = status;
	if (c != NULL) {
		c->working = false;
		reply_kernel(c, k);
	}
	if (k->err == 0)
		stress_free_memory(&k->memory);
	free(k);
}

void
answer_kernel_memory(struct conn *c, const struct wire_msg *q)
{
	struct kernel_reading *k;
	int err;

	if (c->node->replay != NULL) {
		conn_error(c, q->id, WIRE_E_NAME, "a capture has no table of the "
		    "kernel's memory");
		return;
	}
	if (c->working) {
		conn_error(c, q->id, WIRE_E_BUSY, "an earlier request of this page "
		    "is still being answered");
		return;
	}
	k = calloc(1, sizeof *k);
	err = k == NULL ? -ENOMEM : 0;
	if (err == 0) {
		k->node = c->node;
		k->conn = c->page.id;
		k->request = q->id;
		k->table = q->kernel_memory.table;
		k->work.data = k;
		err = nodes_queue_work(c->node->loop, &k->work, read_kernel,
		    answer_kernel);
	}
	c->working = err == 0;
	if (err < 0) {
		conn_error(c, q->id, WIRE_E_BUSY, strerror(-err));
		free(k);
	}
}
