/*
 * Counts by caller, type and size.  A copy comes in portions; when the node begins
 * to count anew between two of them, the copy is asked for again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../state.h"

#define TRIES 3

static int
send_usage(struct nodes_session *s, uint32_t from, bool end)
{
	struct wire_msg msg = { .type = WIRE_USAGE,
		.usage = { .index = s->stream.index, .from = from,
		    .end = end } };

	memcpy(msg.usage.epoch, s->stream.epoch, WIRE_EPOCH);
	s->usage.ending = end;
	return session_ask(s, SESSION_ASK_USAGE, &msg);
}

/* Makes room for that many rows; the number is outside data. */
static int
make_room(struct session_usage *u, size_t n)
{
	struct usage_row *row;
	size_t cap = u->cap > 0 ? u->cap : WIRE_USAGE_ROWS;

	if (n > USAGE_ROWS_MAX)
		return -EIO;
	while (cap < n)
		cap *= 2;
	if (cap <= u->cap)
		return 0;
	row = realloc(u->coming, cap * sizeof *row);
	if (row == NULL)
		return -ENOMEM;
	u->coming = row;
	u->cap = cap;
	return 0;
}

static int
take_rows(struct session_usage *u, const struct wire_used *m)
{
	size_t n = m->rows.len / WIRE_USAGE_SIZE;
	int err;

	if (u->ncoming > 0 && m->no != u->copy)
		return -ESTALE;
	u->copy = m->no;
	if (u->ncoming + n > m->nrows ||
	    (m->next != 0 && m->next != u->ncoming + n) ||
	    (m->next == 0 && m->nrows != u->ncoming + n) ||
	    (m->next != 0 && n == 0))
		return -EIO;
	err = make_room(u, u->ncoming + n);
	for (size_t i = 0; err == 0 && i < n; i++)
		err = usage_row_get(&u->coming[u->ncoming + i],
		    m->rows.p + i * WIRE_USAGE_SIZE) < 0 ? -EIO : 0;
	if (err == 0)
		u->ncoming += n;
	return err;
}

static void
take_totals(struct nodes_usage *u, const struct wire_used *m)
{
	uint64_t n[WIRE_USAGE_TOTALS] = { 0 };

	memcpy(n, m->total, m->ntotals * sizeof n[0]);
	u->rss = n[WIRE_U_RSS];
	u->totals = (struct usage_totals){
		.allocs = n[WIRE_U_ALLOCS],
		.frees = n[WIRE_U_FREES],
		.alloc_bytes = n[WIRE_U_ALLOC_BYTES],
		.live = n[WIRE_U_LIVE],
		.live_bytes = n[WIRE_U_LIVE_BYTES],
		.brief = n[WIRE_U_BRIEF],
		.peak = n[WIRE_U_PEAK],
		.peak_bytes = n[WIRE_U_PEAK_BYTES],
		.peak_ms = m->peak_ms,
		.crowded = n[WIRE_U_CROWDED],
	};
}

/* All rows have come. */
static void
take_copy(struct session_usage *u, const struct wire_used *m)
{
	free(u->row);
	u->row = u->coming;
	u->told.row = u->row;
	u->told.n = u->ncoming;
	u->coming = NULL;
	u->ncoming = u->cap = 0;
	u->told.no = ++u->copies;
	take_totals(&u->told, m);
	u->told.since_ms = m->since_ms;
	u->told.from_start = m->from_start;
	u->told.now_ms = m->now_ms;
	u->told.lost = m->lost;
	u->told.sample = m->sample;
	base_safe_text(u->lacks, sizeof u->lacks, m->lacks.s, m->lacks.len,
	    false);
	u->told.error = 0;
}

static void
fail(struct session_usage *u, int err, const char *why)
{
	u->told.error = err;
	u->ncoming = 0;
	link_text(u->why, sizeof u->why, wire_text(why));
}

static void
refused(struct nodes_session *s, const struct wire_err *e)
{
	struct session_usage *u = &s->usage;

	if (e->code == WIRE_E_FRAME) {
		fail(u, -ENOTSUP, "the node is older and does not count by "
		    "caller, type and size; start it again with this version");
		return;
	}
	fail(u, e->code == WIRE_E_AUTH ? -EPERM :
	    e->code == WIRE_E_BUSY ? -EBUSY : -EIO, "");
	base_safe_text(u->why, sizeof u->why, e->text.s, e->text.len, false);
	if (e->code == WIRE_E_EPOCH)
		session_refused(s, e);
}

void
answered_usage(struct nodes_session *s, const struct wire_msg *msg)
{
	struct session_usage *u = &s->usage;
	int err = 0;

	if (u->ending)
		return;
	if (u->leaving) {
		u->leaving = false;
		u->ncoming = 0;
		(void)send_usage(s, 0, true);
		return;
	}
	if (msg->type == WIRE_USED)
		err = take_rows(u, &msg->used);
	else if (msg->type == WIRE_ERR && msg->err.code == WIRE_E_NAME &&
	    u->ncoming > 0)
		err = -ESTALE;
	else if (msg->type == WIRE_ERR)
		refused(s, &msg->err);
	else
		err = -EIO;
	if (err == -ESTALE && ++u->tries < TRIES) {
		u->ncoming = 0;
		(void)send_usage(s, 0, false);
		return;
	}
	if (err < 0)
		fail(u, err, err == -ENOMEM ? "no memory for the counts" :
		    "the node's counts are not valid");
	else if (msg->type == WIRE_USED && msg->used.next != 0) {
		(void)send_usage(s, msg->used.next, false);
		return;
	} else if (msg->type == WIRE_USED)
		take_copy(u, &msg->used);
	s->news(s->arg);
}

void
lost_usage(struct nodes_session *s, int err)
{
	s->usage.leaving = false;
	fail(&s->usage, err, "the link to the node is lost");
}

void
usage_reset(struct nodes_session *s)
{
	struct session_usage *u = &s->usage;

	free(u->row);
	free(u->coming);
	*u = (struct session_usage){ .told.error = -EAGAIN,
		.copies = u->copies };
}

const struct nodes_usage *
nodes_session_usage(struct nodes_session *s)
{
	struct session_usage *u = &s->usage;

	u->told.pending = !u->ending && !u->leaving &&
	    session_in_flight(s, SESSION_ASK_USAGE) > 0;
	u->told.lacks = u->lacks;
	u->told.why = u->why;
	return &u->told;
}

int
nodes_session_ask_usage(struct nodes_session *s)
{
	if (s->step < SESSION_LOAD)
		return -ENOENT;
	s->usage.leaving = false;
	if (session_in_flight(s, SESSION_ASK_USAGE) > 0)
		return -EBUSY;
	s->usage.told.error = -EAGAIN;
	s->usage.why[0] = '\0';
	s->usage.ncoming = s->usage.tries = 0;
	return send_usage(s, 0, false);
}

void
nodes_session_end_usage(struct nodes_session *s)
{
	if (s->step < SESSION_LOAD)
		return;
	if (session_in_flight(s, SESSION_ASK_USAGE) > 0)
		s->usage.leaving = !s->usage.ending;
	else
		(void)send_usage(s, 0, true);
}
