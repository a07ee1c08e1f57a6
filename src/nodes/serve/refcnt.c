/*
 * COUNT, TOUCHES and MEMORY: references to pages.  A move of pages takes long, and
 * so may reading the machine's nodes: a worker does it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../keeper/keeper.h"
#include "../keeper/node.h"
#include "../refcnt/refcnt.h"
#include "answer.h"

#define PORTION 512	/* pages that are looked at in one go */

_Static_assert(WIRE_TOUCH_BYTES <= sizeof ((struct answer_scratch *)NULL)->bytes,
    "rows of TOUCHED");
_Static_assert(WIRE_MEMORY_NODES >= REFCNT_NODES, "nodes of MEMORIES");

static void
refuse(struct conn *c, uint32_t request, int err, const char *why)
{
	conn_error(c, request, err == -EBUSY ? WIRE_E_BUSY :
	    err == -EDQUOT || err == -E2BIG || err == -ENOSPC ?
	    WIRE_E_QUOTA :
	    err == -EPERM || err == -EACCES ? WIRE_E_AUTH :
	    err == -EINVAL || err == -ESRCH || err == -ENOTSUP ||
	    err == -ENODEV ? WIRE_E_NAME : WIRE_E_INTERNAL,
	    why[0] != '\0' ? why : strerror(-err));
}

static void
put_counted(struct keeper *k, struct wire_counted *m)
{
	struct refcnt_sums sums = { 0 };
	struct node_refcnt_look look;

	node_refcnt_look(k, &look);
	if (look.counts != NULL)
		refcnt_sums(look.counts, &sums);
	m->pages = sums.pages;
	m->nodes = look.nodes != NULL ? sums.nodes : 0;
}

/* One of its requests has a worker: false after an error was sent. */
static bool
may_work(struct conn *c, const struct wire_msg *q)
{
	if (!c->working)
		return true;
	refuse(c, q->id, -EBUSY, "this page's last request for it is not answered "
	    "yet");
	return false;
}

struct moving {
	uv_work_t work;
	struct node *node;
	uint64_t conn;			/* the connection that asked */
	uint32_t request;
	pid_t pid;
	struct wire_count ask;
	struct node_refcnt_moved moved;
	int err;
};

static void
move(uv_work_t *work)
{
	struct moving *m = work->data;

	m->err = node_refcnt_move(m->pid, m->ask.vaddr, m->ask.len, m->ask.node,
	    &m->moved);
}

static void
answer_moved(uv_work_t *work, int status)
{
	struct moving *m = work->data;
	struct conn *c = serve_find(m->node, m->conn);
	struct wire_msg reply = { .type = WIRE_COUNTED, .id = m->request,
		.counted = { .index = m->ask.index, .moved = m->moved.moved,
		    .left = m->moved.left } };

	if (c != NULL)
		c->working = false;
	if (c != NULL && (status < 0 || m->err < 0)) {
		refuse(c, m->request, status < 0 ? status : m->err,
		    m->err == -ENODEV ? "the machine has no such node" :
		    m->err == -E2BIG ? "these are more pages than are moved at "
		    "once: give a shorter range" : "");
	} else if (c != NULL) {
		if (m->moved.left > 0)
			reply.counted.why = wire_text(strerror(-m->moved.error));
		conn_reply(c, &reply);
	}
	free(m);
}

static void
begin_move(struct conn *c, const struct wire_msg *q, struct keeper *k)
{
	struct moving *m;
	int err = 0;

	if (!may_work(c, q))
		return;
	if (q->count.len == 0 ||
	    q->count.vaddr + (q->count.len - 1) < q->count.vaddr)
		err = -EINVAL;
	else if (!keeper_is_live(k) || k->image.pid == 0 ||
	    k == c->node->own_stream)
		err = -ESRCH;
	m = err == 0 ? calloc(1, sizeof *m) : NULL;
	if (m == NULL) {
		refuse(c, q->id, err == 0 ? -ENOMEM : err, err == -EINVAL ?
		    "the range is empty, or goes beyond the last address" :
		    err == -ESRCH ?
		    "only pages of a live process can be moved" : "");
		return;
	}
	*m = (struct moving){ .node = c->node, .conn = c->page.id,
		.request = q->id, .pid = k->image.pid, .ask = q->count };
	m->work.data = m;
	err = nodes_queue_work(c->node->loop, &m->work, move, answer_moved);
	c->working = err == 0;
	if (err < 0) {
		refuse(c, q->id, err, "");
		free(m);
	}
}

void
answer_count(struct conn *c, const struct wire_msg *q)
{
	struct wire_msg reply = { .type = WIRE_COUNTED, .id = q->id,
		.counted.index = q->count.index };
	struct node_refcnt_ask ask = { .vaddr = q->count.vaddr,
		.len = q->count.len, .source = q->count.source,
		.period_ms = q->count.period_ms, .uid = c->peer.uid };
	char why[NODE_REFCNT_WHY] = "", nodes[WIRE_TEXT_MAX + 1] = "";
	struct keeper *k;
	int err;

	if (q->count.nodes.len > 0) {
		memcpy(nodes, q->count.nodes.s, q->count.nodes.len);
		ask.nodes = nodes;
	}
	k = answer_keeper(c, q, q->count.index, q->count.epoch, false);
	if (k == NULL || !answer_may_control(c, q, k))
		return;
	if (q->count.action == WIRE_COUNT_MOVE) {
		begin_move(c, q, k);
		return;
	}
	err = q->count.action == WIRE_COUNT_ON ? node_refcnt_enable(k, &ask, why) :
	    node_refcnt_disable(k, &ask, why);
	if (err < 0) {
		refuse(c, q->id, err, why);
		return;
	}
	reply.counted.why = wire_text(why);
	put_counted(k, &reply.counted);
	conn_reply(c, &reply);
}

/* Frames are the kernel's secret before users without privileges (proc_pid_pagemap(5)). */
static void
hide_frames(const struct conn *c, struct refcnt_page *page, size_t n)
{
	const struct access *a = &c->node->access;

	if (c->peer.uid == 0 || c->peer.uid == a->owner)
		return;
	for (size_t i = 0; i < n; i++) {
		page[i].paddr = 0;
		page[i].flags |= REFCNT_NO_PADDR;
	}
}

/* As many pages as fit; returns the bytes.  *next: where to go on, 0 nowhere. */
static size_t
put_pages(struct conn *c, const struct refcnt *counts, const struct wire_touches *q,
    unsigned counters, uint64_t *next)
{
	static struct refcnt_page page[PORTION];
	uint8_t *out = c->node->serve->scratch->bytes;
	uint64_t at = q->from, to = q->to != 0 ? q->to : UINT64_MAX;
	size_t size = WIRE_TOUCH_ROW(counters), room = WIRE_TOUCH_BYTES / size;
	size_t len = 0, n, want;

	*next = 0;
	while (room > 0) {
		want = room < PORTION ? room : PORTION;
		n = refcnt_read(counts, at, to, (enum refcnt_plane)q->plane, page,
		    want);
		hide_frames(c, page, n);
		for (size_t i = 0; i < n; i++, len += size)
			refcnt_row_put(out + len, &page[i]);
		if (n < want)
			return len;
		room -= n;
		at = page[n - 1].vaddr + REFCNT_PAGE;
		if (at == 0)
			return len;
	}
	*next = at;
	return len;
}

static size_t
put_ranges(const struct refcnt *counts, uint32_t from, uint8_t *out,
    uint32_t *nranges)
{
	size_t n = refcnt_spans(counts), len = 0;
	struct refcnt_range *range;

	*nranges = (uint32_t)n;
	if (from >= n)
		return 0;
	range = calloc(n + 1, sizeof *range);
	if (range == NULL)
		return 0;
	n = refcnt_ranges(counts, range, n);
	for (size_t i = from; i < n && i - from < WIRE_TOUCH_RANGES; i++) {
		wire_touch_range_put(out + len, &(struct wire_touch_range){
		    .vaddr = range[i].vaddr, .len = range[i].len,
		    .since_ms = range[i].since_ms,
		    .source = (uint8_t)range[i].source });
		len += WIRE_TOUCH_RANGE;
	}
	free(range);
	*nranges = (uint32_t)n;
	return len;
}

void
answer_touches(struct conn *c, const struct wire_msg *q)
{
	struct wire_msg reply = { .type = WIRE_TOUCHED, .id = q->id };
	struct wire_touched *t = &reply.touched;
	uint8_t ranges[WIRE_TOUCH_RANGES * WIRE_TOUCH_RANGE];
	struct node_refcnt_look look;
	struct refcnt_sums sums;
	struct keeper *k;

	k = answer_keeper(c, q, q->touches.index, q->touches.epoch, false);
	if (k == NULL)
		return;
	t->index = q->touches.index;
	t->now_ms = keeper_now_ms(k);
	node_refcnt_look(k, &look);
	t->why = wire_text(look.why);
	t->virtual = wire_text(look.nodes);
	if (look.counts == NULL) {
		conn_reply(c, &reply);
		return;
	}
	refcnt_sums(look.counts, &sums);
	t->no = look.periods;
	t->counters = sums.counters;
	t->nodes = sums.nodes;
	t->pages = sums.pages;
	t->since_ms = look.since_ms;
	t->period_ms = look.period_ms;
	t->rows.p = c->node->serve->scratch->bytes;
	t->rows.len = put_pages(c, look.counts, &q->touches, sums.counters,
	    &t->next);
	t->ranges.p = ranges;
	t->ranges.len = put_ranges(look.counts, q->touches.range, ranges,
	    &t->nranges);
	conn_reply(c, &reply);
}

/* The machine's nodes, from the request to its answer: it reads many files. */
struct surveying {
	uv_work_t work;
	struct node *node;
	uint64_t conn;			/* the connection that asked */
	uint32_t request;
	char groups[WIRE_TEXT_MAX + 1];
	struct refcnt_topology *topology;
	char why[REFCNT_WHY];
	int err;
};

static void
survey(uv_work_t *work)
{
	struct surveying *s = work->data;

	s->err = refcnt_topology_read(&s->topology, "/",
	    s->groups[0] != '\0' ? s->groups : NULL, s->why);
}

static void
put_node(uint8_t *out, const struct refcnt_topology *t, unsigned i)
{
	struct wire_memory_node row = { .node = i };
	struct refcnt_config c;

	refcnt_config_of(t, i, &c);
	row.bytes = c.bytes;
	row.pages = c.hw_pages;
	row.sets = c.sets;
	row.counters = c.counters;
	row.base_pages = c.base_pages;
	row.slots = (uint32_t)c.slots;
	row.cpus = c.cpus;
	base_copy_text(row.name, sizeof row.name, c.name);
	wire_memory_node_put(out, &row);
}

static void
reply_memory(struct conn *c, const struct surveying *s)
{
	struct wire_msg reply = { .type = WIRE_MEMORIES, .id = s->request };
	uint8_t *out = c->node->serve->scratch->bytes;
	struct refcnt_sums sums = { 0 };
	struct refcnt *counts;

	if (s->err < 0 || refcnt_new(&counts, s->topology->nodes,
	    REFCNT_STANDARD) < 0) {
		refuse(c, s->request, s->err < 0 ? s->err : -ENOMEM, s->why);
		return;
	}
	refcnt_sums(counts, &sums);
	refcnt_free(counts);
	for (unsigned i = 0; i < s->topology->nodes; i++)
		put_node(out + i * WIRE_MEMORY_SIZE, s->topology, i);
	reply.memories.counters = sums.counters;
	reply.memories.bits = sums.hw_bits;
	reply.memories.rows = (struct wire_bytes){ .p = out,
		.len = s->topology->nodes * WIRE_MEMORY_SIZE };
	conn_reply(c, &reply);
}

static void
answer_surveyed(uv_work_t *work, int status)
{
	struct surveying *s = work->data;
	struct conn *c = serve_find(s->node, s->conn);

	if (status < 0)
		s->err = status;
	if (c != NULL) {
		c->working = false;
		reply_memory(c, s);
	}
	refcnt_topology_free(s->topology);
	free(s);
}

void
answer_memory(struct conn *c, const struct wire_msg *q)
{
	struct surveying *s;
	int err;

	if (!may_work(c, q))
		return;
	s = calloc(1, sizeof *s);
	err = s == NULL ? -ENOMEM : 0;
	if (err == 0) {
		s->node = c->node;
		s->conn = c->page.id;
		s->request = q->id;
		if (q->memory.nodes.len > 0)
			memcpy(s->groups, q->memory.nodes.s,
			    q->memory.nodes.len);
		s->work.data = s;
		err = nodes_queue_work(c->node->loop, &s->work, survey,
		    answer_surveyed);
	}
	c->working = err == 0;
	if (err < 0) {
		refuse(c, q->id, err, "");
		free(s);
	}
}
