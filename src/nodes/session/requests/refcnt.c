/*
 * References to pages: what the node counts, its ranges, and the memory of its
 * machine.  A copy comes in portions.  When a period ends between two of them, or there
 * are other ranges, the copy is asked for again, a few times: periods may be shorter
 * than a copy takes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../state.h"

#define TRIES 3
#define OLDER "the node is older and does not count references; start it again " \
	"with this version"
#define LOST "the link to the node is lost"

_Static_assert(WIRE_TOUCH_COUNTERS == REFCNT_COUNTERS &&
    WIRE_TOUCH_ROW(3) == REFCNT_ROW_SIZE(3), "rows of TOUCHED");

static int
send_touches(struct nodes_session *s)
{
	struct session_refcnt *t = &s->refcnt;
	struct wire_msg msg = { .type = WIRE_TOUCHES,
		.touches = { .index = s->stream.index, .from = t->from,
		    .to = t->to, .plane = t->plane,
		    .range = (uint32_t)t->nranges } };

	memcpy(msg.touches.epoch, s->stream.epoch, WIRE_EPOCH);
	return session_ask(s, SESSION_ASK_TOUCHES, &msg);
}

static void
begin_copy(struct session_refcnt *t)
{
	t->from = t->first;
	t->ncoming = t->nranges = 0;
}

/* The number of rows is outside data. */
static int
take_pages(struct session_refcnt *t, const struct wire_touched *m)
{
	size_t size = WIRE_TOUCH_ROW(m->counters), n = m->rows.len / size;
	void *array = t->coming;
	int err;

	if (t->ncoming + n > NODES_REFCNT_MAX)
		return -E2BIG;
	err = base_grow(&array, &t->cap, t->ncoming + n, sizeof *t->coming);
	if (err < 0)
		return err;
	t->coming = array;
	for (size_t i = 0; i < n; i++) {
		struct refcnt_page *p = &t->coming[t->ncoming];

		if (refcnt_row_get(p, m->rows.p + i * size, m->counters) < 0 ||
		    p->vaddr < t->from || (t->ncoming > 0 &&
		    p->vaddr <= t->coming[t->ncoming - 1].vaddr))
			return -EIO;
		t->ncoming++;
	}
	if (m->next != 0 && (m->next <= t->from || n == 0))
		return -EIO;
	t->rows_end = m->next == 0;
	t->from = m->next != 0 ? m->next : UINT64_MAX;
	return 0;
}

static int
take_ranges(struct session_refcnt *t, const struct wire_touched *m)
{
	size_t n = m->ranges.len / WIRE_TOUCH_RANGE;
	void *array = t->ranges;
	int err;

	if (t->nranges + n > m->nranges || m->nranges > NODES_REFCNT_MAX ||
	    (n == 0 && t->nranges < m->nranges))
		return -EIO;
	err = base_grow(&array, &t->ranges_cap, t->nranges + n,
	    sizeof *t->ranges);
	if (err < 0)
		return err;
	t->ranges = array;
	for (size_t i = 0; i < n; i++) {
		struct wire_touch_range r;

		wire_touch_range_get(&r, m->ranges.p + i * WIRE_TOUCH_RANGE);
		if (r.source >= REFCNT_SOURCES)
			return -EIO;
		t->ranges[t->nranges++] = (struct refcnt_range){
			.vaddr = r.vaddr, .len = r.len,
			.source = (enum refcnt_source)r.source,
			.since_ms = r.since_ms };
	}
	t->ranges_end = t->nranges == m->nranges;
	return 0;
}

static int
take_portion(struct session_refcnt *t, const struct wire_touched *m)
{
	bool first = t->ncoming == 0 && t->from == t->first;
	int err;

	if (!first && (m->no != t->period || m->nranges != t->all_ranges) &&
	    ++t->tries < TRIES)
		return -ESTALE;
	if (first)
		t->oldest = m->no;
	t->period = m->no;
	t->all_ranges = m->nranges;
	err = take_pages(t, m);
	return err < 0 ? err : take_ranges(t, m);
}

/* The last portion has come. */
static void
take_copy(struct session_refcnt *t, const struct wire_touched *m)
{
	struct refcnt_page *page = t->page;
	struct refcnt_range *range = t->range;

	t->page = t->coming;
	t->range = t->ranges;
	t->told.page = t->page;
	t->told.n = t->ncoming;
	t->told.range = t->range;
	t->told.nranges = t->nranges;
	t->told.no++;
	t->told.periods = t->oldest;
	t->told.latest = m->no;
	t->told.nodes = m->nodes;
	t->told.plane = t->plane;
	t->told.now_ms = m->now_ms;
	t->told.since_ms = m->since_ms;
	t->told.period_ms = m->period_ms;
	t->told.pages = m->pages;
	t->told.error = 0;
	base_safe_text(t->why, sizeof t->why, m->why.s, m->why.len, false);
	base_safe_text(t->virtual, sizeof t->virtual, m->virtual.s,
	    m->virtual.len, false);
	free(page);
	free(range);
	t->coming = NULL;
	t->ranges = NULL;
	t->cap = t->ranges_cap = 0;
}

static int
error_of(uint32_t code)
{
	switch (code) {
	case WIRE_E_FRAME:
		return -ENOTSUP;
	case WIRE_E_AUTH:
		return -EPERM;
	case WIRE_E_BUSY:
		return -EBUSY;
	case WIRE_E_QUOTA:
		return -EDQUOT;
	case WIRE_E_NAME:
		return -EINVAL;
	default:
		return -EIO;
	}
}

static int
read_refusal(const struct wire_err *e, char *why, size_t cap)
{
	if (e->code == WIRE_E_FRAME)
		base_copy_text(why, cap, OLDER);
	else
		base_safe_text(why, cap, e->text.s, e->text.len, false);
	return error_of(e->code);
}

/* The reply is none that was asked for; returns the error. */
static int
refused(struct nodes_session *s, const struct wire_msg *msg, char *why,
    size_t cap)
{
	int err = -EIO;

	if (msg->type != WIRE_ERR) {
		base_copy_text(why, cap, "the node's answer is not valid");
		return err;
	}
	err = read_refusal(&msg->err, why, cap);
	if (msg->err.code == WIRE_E_EPOCH)
		session_refused(s, &msg->err);
	return err;
}

void
answered_touches(struct nodes_session *s, const struct wire_msg *msg)
{
	struct session_refcnt *t = &s->refcnt;
	int err = msg->type == WIRE_TOUCHED ? take_portion(t, &msg->touched) :
	    -EPROTO;

	if (err == -ESTALE)
		begin_copy(t);
	if (err == -ESTALE || (err == 0 && !(t->rows_end && t->ranges_end))) {
		if (send_touches(s) == 0)
			return;
		err = -EIO;
	}
	if (err == 0) {
		take_copy(t, &msg->touched);
	} else if (err == -ENOMEM || err == -E2BIG) {
		t->told.error = err;
		base_copy_text(t->why, sizeof t->why, err == -ENOMEM ?
		    "no memory for the counts" :
		    "the node counts more pages than this page can take");
	} else {
		t->told.error = refused(s, msg, t->why, sizeof t->why);
	}
	s->news(s->arg);
}

static int
send_count(struct nodes_session *s, struct wire_count *q)
{
	struct wire_msg msg = { .type = WIRE_COUNT, .count = *q };

	if (s->step < SESSION_LOAD)
		return -ENOENT;
	if (session_in_flight(s, SESSION_ASK_COUNT) > 0)
		return -EBUSY;
	s->refcnt.told.count.error = -EAGAIN;
	s->refcnt.count_why[0] = '\0';
	msg.count.index = s->stream.index;
	memcpy(msg.count.epoch, s->stream.epoch, WIRE_EPOCH);
	return session_ask(s, SESSION_ASK_COUNT, &msg);
}

void
answered_count(struct nodes_session *s, const struct wire_msg *msg)
{
	struct nodes_count *c = &s->refcnt.told.count;
	char *why = s->refcnt.count_why;

	if (msg->type == WIRE_COUNTED) {
		c->error = 0;
		c->pages = msg->counted.pages;
		c->moved = msg->counted.moved;
		c->left = msg->counted.left;
		c->nodes = msg->counted.nodes;
		base_safe_text(why, sizeof s->refcnt.count_why,
		    msg->counted.why.s, msg->counted.why.len, false);
	} else {
		c->error = refused(s, msg, why, sizeof s->refcnt.count_why);
	}
	c->no++;
	s->news(s->arg);
}

int
nodes_session_count(struct nodes_session *s, uint64_t vaddr, uint64_t len,
    enum refcnt_source source, bool on, uint32_t period_ms)
{
	return send_count(s, &(struct wire_count){ .vaddr = vaddr, .len = len,
	    .source = source, .action = on ? WIRE_COUNT_ON : WIRE_COUNT_OFF,
	    .period_ms = period_ms });
}

int
nodes_session_count_by(struct nodes_session *s, const struct refcnt_range *r,
    uint32_t period_ms, const char *nodes)
{
	if (strlen(nodes) > WIRE_TEXT_MAX)
		return -E2BIG;
	return send_count(s, &(struct wire_count){ .vaddr = r->vaddr,
	    .len = r->len, .source = r->source, .action = WIRE_COUNT_ON,
	    .period_ms = period_ms, .nodes = wire_text(nodes) });
}

int
nodes_session_move(struct nodes_session *s, uint64_t vaddr, uint64_t len,
    uint32_t node)
{
	return send_count(s, &(struct wire_count){ .vaddr = vaddr, .len = len,
	    .action = WIRE_COUNT_MOVE, .node = node });
}

void
answered_memory(struct nodes_session *s, const struct wire_msg *msg)
{
	struct session_memory *m = &s->memory;
	size_t n = msg->type == WIRE_MEMORIES ?
	    msg->memories.rows.len / WIRE_MEMORY_SIZE : 0;
	struct wire_memory_node *at;

	if (msg->type == WIRE_ERR) {
		m->told.error = read_refusal(&msg->err, m->why, sizeof m->why);
	} else if ((at = calloc(n + 1, sizeof *at)) == NULL) {
		m->told.error = -ENOMEM;
	} else {
		for (size_t i = 0; i < n; i++) {
			char name[WIRE_MEMORY_NAME + 1];

			wire_memory_node_get(&at[i], msg->memories.rows.p +
			    i * WIRE_MEMORY_SIZE);
			memcpy(name, at[i].name, sizeof name);
			base_safe_text(at[i].name, sizeof at[i].name, name,
			    strlen(name), false);
		}
		free(m->at);
		m->at = at;
		m->told = (struct nodes_memory){ .at = at, .n = n,
			.counters = msg->memories.counters,
			.bits = msg->memories.bits, .no = m->told.no + 1 };
	}
	s->news(s->arg);
}

const struct nodes_memory *
nodes_session_memory(struct nodes_session *s)
{
	s->memory.told.pending = session_in_flight(s, SESSION_ASK_MEMORY) > 0;
	s->memory.told.why = s->memory.why;
	return &s->memory.told;
}

int
nodes_session_ask_memory(struct nodes_session *s, const char *nodes)
{
	struct wire_msg msg = { .type = WIRE_MEMORY,
		.memory.nodes = wire_text(nodes) };

	if (session_in_flight(s, SESSION_ASK_MEMORY) > 0)
		return -EBUSY;
	s->memory.told.error = -EAGAIN;
	s->memory.why[0] = '\0';
	return session_ask(s, SESSION_ASK_MEMORY, &msg);
}

void
lost_touches(struct nodes_session *s, int err)
{
	struct session_refcnt *t = &s->refcnt;

	t->told.error = err;
	base_copy_text(t->why, sizeof t->why, LOST);
	begin_copy(t);
}

void
lost_count(struct nodes_session *s, int err)
{
	s->refcnt.told.count.error = err;
	base_copy_text(s->refcnt.count_why, sizeof s->refcnt.count_why, LOST);
}

void
lost_memory(struct nodes_session *s, int err)
{
	s->memory.told.error = err;
	base_copy_text(s->memory.why, sizeof s->memory.why, LOST);
}

void
session_refcnt_reset(struct nodes_session *s)
{
	struct session_refcnt *t = &s->refcnt;

	free(t->page);
	free(t->range);
	free(t->coming);
	free(t->ranges);
	*t = (struct session_refcnt){ .told = { .error = -EAGAIN,
		.no = t->told.no, .count = { .error = -EAGAIN,
		.no = t->told.count.no } } };
}

void
session_refcnt_fini(struct nodes_session *s)
{
	session_refcnt_reset(s);
	free(s->memory.at);
	s->memory.at = NULL;
}

const struct nodes_refcnt *
nodes_session_refcnt(struct nodes_session *s)
{
	struct session_refcnt *t = &s->refcnt;

	t->told.pending = session_in_flight(s, SESSION_ASK_TOUCHES) > 0;
	t->told.why = t->why;
	t->told.virtual = t->virtual;
	t->told.count.pending = session_in_flight(s, SESSION_ASK_COUNT) > 0;
	t->told.count.why = t->count_why;
	return &t->told;
}

int
nodes_session_ask_refcnt(struct nodes_session *s, uint64_t from, uint64_t to,
    enum refcnt_plane plane)
{
	struct session_refcnt *t = &s->refcnt;

	if (s->step < SESSION_LOAD)
		return -ENOENT;
	if (session_in_flight(s, SESSION_ASK_TOUCHES) > 0)
		return -EBUSY;
	t->told.error = -EAGAIN;
	t->why[0] = '\0';
	t->first = from;
	t->to = to;
	t->plane = plane;
	t->tries = 0;
	begin_copy(t);
	return send_touches(s);
}
