/*
 * Named marks of the stream.  They are asked for when somebody wants them, and
 * every answer has all of them.
 */
#include <errno.h>
#include <string.h>

#include "../state.h"

static void
take_mark(struct wire_named_mark *m, const uint8_t *packed)
{
	struct wire_named_mark raw;

	wire_named_mark_get(&raw, packed);
	*m = raw;
	base_safe_text(m->name, sizeof m->name, raw.name, strlen(raw.name),
	    false);
	base_safe_text(m->who, sizeof m->who, raw.who, strlen(raw.who), false);
}

static void
take_marks(struct session_marks *ms, const struct wire_marked *msg)
{
	size_t n = msg->marks.len / WIRE_MARK_SIZE;

	for (size_t i = 0; i < n; i++)
		take_mark(&ms->at[i], msg->marks.p + i * WIRE_MARK_SIZE);
	base_safe_text(ms->dropped, sizeof ms->dropped, msg->dropped.s,
	    msg->dropped.len, false);
	ms->told.n = n;
	ms->told.known = true;
	ms->told.moved = msg->moved;
}

void
answered_marks(struct nodes_session *s, const struct wire_msg *msg)
{
	struct session_marks *ms = &s->marks;

	ms->why[0] = ms->dropped[0] = '\0';
	ms->told.moved = false;
	if (msg->type == WIRE_MARKED) {
		take_marks(ms, &msg->marked);
		ms->told.error = 0;
	} else if (msg->type == WIRE_ERR) {
		link_text(ms->why, sizeof ms->why, msg->err.text);
		ms->told.error = msg->err.code == WIRE_E_AUTH ? -EPERM :
		    msg->err.code == WIRE_E_FRAME ? -ENOTSUP :
		    msg->err.code == WIRE_E_NAME ? -EINVAL : -EIO;
		if (msg->err.code == WIRE_E_EPOCH)
			session_refused(s, &msg->err);
	} else {
		ms->told.error = -EIO;
	}
	s->news(s->arg);
}

void
lost_marks(struct nodes_session *s, int err)
{
	s->marks.told.error = err;
	link_text(s->marks.why, sizeof s->marks.why,
	    wire_text("the link to the node is lost"));
}

void
marks_reset(struct nodes_session *s)
{
	s->marks.told = (struct nodes_marks){ .at = s->marks.at,
		.why = s->marks.why, .dropped = s->marks.dropped };
	s->marks.why[0] = s->marks.dropped[0] = '\0';
	/* The reply to a question that was in flight. */
	s->marks.told.error = -EAGAIN;
}

const struct nodes_marks *
nodes_session_marks(struct nodes_session *s)
{
	s->marks.told.pending = session_in_flight(s, SESSION_ASK_MARKS) > 0;
	return &s->marks.told;
}

const struct wire_named_mark *
nodes_marks_find(const struct nodes_marks *m, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->at[i].name, name) == 0)
			return &m->at[i];
	return NULL;
}

static int
send_question(struct nodes_session *s, struct wire_msg *msg)
{
	s->marks.told.error = -EAGAIN;
	return session_ask(s, SESSION_ASK_MARKS, msg);
}

static int
can_ask(struct nodes_session *s)
{
	if (s->step < SESSION_LOAD)
		return -ENOENT;
	return session_in_flight(s, SESSION_ASK_MARKS) > 0 ? -EBUSY : 0;
}

int
nodes_session_ask_marks(struct nodes_session *s)
{
	struct wire_msg msg = { .type = WIRE_MARKS,
		.marks.index = s->stream.index };
	int r = can_ask(s);

	if (r < 0)
		return r;
	memcpy(msg.marks.epoch, s->stream.epoch, WIRE_EPOCH);
	return send_question(s, &msg);
}

int
nodes_session_set_mark(struct nodes_session *s, const char *name)
{
	struct wire_msg msg = { .type = WIRE_MARK,
		.mark.index = s->stream.index, .mark.name = wire_text(name) };
	int r = can_ask(s);

	if (r < 0)
		return r;
	/* The node refuses what is that long. */
	if (msg.mark.name.len > WIRE_TEXT_MAX)
		msg.mark.name.len = WIRE_TEXT_MAX;
	memcpy(msg.mark.epoch, s->stream.epoch, WIRE_EPOCH);
	return send_question(s, &msg);
}
