/*
 * A page that opens a dormant target arms it once; a later disarm by others is
 * respected. A target that another page has armed is watched too, so that it
 * stays armed when that page ends.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

static void
settle_wish(struct nodes_session *s, int err)
{
	s->arming.wish = SESSION_NO_WISH;
	s->look.arming.pending = false;
	s->look.arming.error = err;
}

static void
take_refusal(struct nodes_session *s, const struct wire_err *e)
{
	char text[WIRE_TEXT_MAX + 1];

	if (e->code == WIRE_E_EPOCH) {
		/* Another page was first: look it up, then send this again. */
		session_refused(s, e);
		return;
	}
	link_text(text, sizeof text, e->text);
	session_say(s, "the node did not %s the target: %s",
	    s->arming.wish == WIRE_ARM_OFF ? "disarm" : "arm", text);
	settle_wish(s, e->code == WIRE_E_AUTH ? -EPERM :
	    e->code == WIRE_E_NAME ? -ENOTSUP : -EIO);
}

void
lost_arm(struct nodes_session *s, int err)
{
	if (err != -ECANCELED)
		settle_wish(s, err);
}

void
answered_arm(struct nodes_session *s, const struct wire_msg *msg)
{
	bool sleeps = s->stream.state == WIRE_S_DORMANT;
	bool sleep = s->arming.wish == WIRE_ARM_OFF;

	if (msg->type == WIRE_ERR) {
		take_refusal(s, &msg->err);
	} else {
		settle_wish(s, msg->type == WIRE_ARMED ? 0 : -EIO);
		if (msg->type == WIRE_ARMED && sleeps != sleep)
			session_restart(s);
	}
	s->news(s->arg);
}

static void
send_wish(struct nodes_session *s)
{
	struct wire_msg msg = {
		.type = WIRE_ARM,
		.arm = { .index = s->stream.index,
		    .arming = (uint32_t)s->arming.wish },
	};
	int err;

	if (s->arming.wish == SESSION_NO_WISH ||
	    session_in_flight(s, SESSION_ASK_ARM) > 0 || s->step < SESSION_LOAD)
		return;
	memcpy(msg.arm.epoch, s->stream.epoch, WIRE_EPOCH);
	err = session_ask(s, SESSION_ASK_ARM, &msg);
	if (err < 0)
		settle_wish(s, err);
}

static void
set_wish(struct nodes_session *s, enum wire_arming arming)
{
	s->arming.wish = (int)arming;
	s->look.arming.pending = true;
	s->look.arming.error = 0;
	send_wish(s);
}

void
arm_found(struct nodes_session *s)
{
	bool due = s->arming.due;

	s->arming.due = false;
	if (due && s->stream.state == WIRE_S_DORMANT &&
	    s->arming.wish == SESSION_NO_WISH)
		set_wish(s, WIRE_ARM_WATCH);
	else
		send_wish(s);
}

void
arm_numbers(struct nodes_session *s)
{
	uint64_t armed = s->counters.keeper[WIRE_N_ARMED_MS];

	s->look.arming.since_wall_ms = (int64_t)armed;
	if (armed == 0 || armed == s->arming.seen || s->opts.look_only ||
	    s->arming.wish != SESSION_NO_WISH || s->stream.state != WIRE_S_LIVE)
		return;
	s->arming.seen = armed;
	set_wish(s, WIRE_ARM_WATCH);
}

int
nodes_session_arm(struct nodes_session *s, enum wire_arming arming)
{
	if (s->step < SESSION_LOAD ||
	    (s->stream.state != WIRE_S_LIVE &&
	    s->stream.state != WIRE_S_DORMANT))
		return -ENOENT;
	if (s->arming.wish != SESSION_NO_WISH)
		return -EBUSY;
	set_wish(s, arming);
	return s->look.arming.error;
}
