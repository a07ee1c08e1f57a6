/*
 * The session while its link is lost and when it is back (link/link.c connects
 * again), and the age of the picture meanwhile.
 *
 * The picture stays: list, node's clock and ages. When the link is back, NAME
 * goes by the index. With the same epoch reading goes on from the cursor, and
 * overwritten records are mended as usual. Otherwise the node was restarted or
 * the index belongs to another stream: the stream is looked up by name and its
 * list taken anew.
 */
#include <stdio.h>
#include <string.h>

#include "state.h"

void
reconnect_set_fresh(struct nodes_session *s)
{
	const struct link_node *node = link_node(s->link);

	s->look.now_ms = s->clock.now_ms;
	s->clock.fresh_ms = mono_ms(mono_now());
	/* Kept with the clock: the node may be another one later. */
	if (s->look.classic || node == NULL)
		s->clock.wall_off_ms = 0;
	else
		s->clock.wall_off_ms = (int64_t)(node->utc_ns / 1000000) -
		    (int64_t)(node->mono_ns / 1000000);
}

void
reconnect_set_heard(struct nodes_session *s, int64_t now_ms)
{
	s->clock.now_ms = now_ms;
	/* While another list is taken the shown one is older. */
	if (s->intake.build == s->intake.list && !s->look.window)
		reconnect_set_fresh(s);
}

static void
set_lost(struct nodes_session *s, enum nodes_state fault, const char *reason)
{
	bool was = s->look.link.up;

	if (was)
		session_cancel(s);
	s->look.link.up = s->reconnect.known = false;
	/* Consistent with the state: both may change before the next cycle. */
	s->look.link.returns = link_returns(s->link, &s->look.link.tries,
	    &s->look.link.retry_ms);
	if (s->look.state != NODES_ENDED)
		session_state(s, fault, reason);
	if (was)
		s->news(s->arg);
}

static bool
is_restarted(const struct nodes_session *s)
{
	const struct link_node *node = link_node(s->link);

	return node != NULL &&
	       memcmp(s->reconnect.boot, node->boot, WIRE_EPOCH) != 0;
}

/* The link is back: NAME goes by index, for a name gives the newest stream. */
static void
resume(struct nodes_session *s)
{
	bool ended = s->look.state == NODES_ENDED ||
	    (s->step == SESSION_IDLE && s->stream.state == WIRE_S_CORRUPT);

	session_cancel(s);
	s->look.link.up = true;
	s->look.link.returns = false;
	s->reconnect.known = false;
	if (!ended)
		session_state(s, NODES_CONNECTING, "");
	s->news(s->arg);
	if (s->opts.node_only)
		return;
	if (s->step < SESSION_LOAD && !s->reconnect.resuming) {
		if (s->step == SESSION_NAME && s->stream.by_index &&
		    is_restarted(s))
			s->stream.by_index = false;
		s->retry_in = 0;
		return;
	}
	if (!s->reconnect.resuming)
		s->reconnect.resume = s->step;
	s->reconnect.resuming = s->stream.by_index = true;
	session_set_step(s, SESSION_NAME, 0);
}

bool
reconnect_follow_link(struct nodes_session *s)
{
	const char *reason;
	enum nodes_state fault = link_fault(s->link, &reason);
	unsigned losses = link_losses(s->link);

	if (fault != NODES_LIVE) {
		set_lost(s, fault, reason);
		/* The command may end meanwhile. */
		if (s->run != NULL)
			numbers_ask_node(s, s->clock.cycle % NODES_HZ == 0);
		return false;
	}
	if (losses != s->reconnect.losses || !s->look.link.up) {
		s->reconnect.losses = losses;
		resume(s);
	}
	return true;
}

/* The same stream: continues the step. */
static void
continue_step(struct nodes_session *s, const struct wire_named *named)
{
	/* A restarted node may have taken over its streams. */
	memcpy(s->reconnect.boot, link_node(s->link)->boot, WIRE_EPOCH);
	s->reconnect.known = true;
	s->stream.by_index = false;
	s->stream.state = named->state;
	session_set_step(s, s->reconnect.resume, 0);
	switch (s->step) {
	case SESSION_LOAD:
		s->intake.retake = true;
		break;
	case SESSION_FLOW:
	case SESSION_WINDOW:
		break;
	default:
		numbers_ask_stream(s, true);
		return;
	}
	numbers_ask_stream(s, true);
	session_state(s, named->state == WIRE_S_DORMANT ? NODES_DORMANT :
	    NODES_LIVE, "");
	intake_read(s);
}

/* Counts as lost what the former node had captured and was not read. */
static void
count_unread(struct nodes_session *s)
{
	uint64_t known = s->counters.keeper[WIRE_N_RECORDS] + s->counters.keeper[WIRE_N_LOST];

	if (s->intake.counting && known >= s->intake.cursor)
		s->look.loss.lost[STREAM_RESTART] += known + 1 - s->intake.cursor;
}

bool
reconnect_take_name(struct nodes_session *s, const struct wire_msg *msg)
{
	const struct wire_named *named = &msg->named;
	bool stands = s->reconnect.resume == SESSION_IDLE;

	if (msg->type == WIRE_ERR && msg->err.code != WIRE_E_NAME)
		return false;
	s->reconnect.resuming = false;
	if (msg->type == WIRE_NAMED && named->index == s->stream.index &&
	    memcmp(named->epoch, s->stream.epoch, WIRE_EPOCH) == 0) {
		continue_step(s, named);
		return true;
	}
	s->stream.by_index = false;
	if (stands && (s->look.state == NODES_ENDED ||
	    s->stream.state == WIRE_S_CORRUPT)) {
		/* All of it had been read. */
		session_set_step(s, SESSION_IDLE, 0);
		return true;
	}
	s->reconnect.restarted = is_restarted(s);
	session_set_step(s, SESSION_NAME, 0);
	session_resolve(s);
	return true;
}

void
reconnect_set_found(struct nodes_session *s)
{
	const struct link_node *node = link_node(s->link);

	if (s->reconnect.restarted) {
		count_unread(s);
		/* Counters and losses belong to another keeper. */
		s->losses.lossy = s->losses.partial = s->losses.mending =
		    s->losses.torn = false;
		s->losses.seen = s->losses.bad = s->losses.mended = 0;
		memset(s->counters.keeper, 0, sizeof s->counters.keeper);
		s->arming.seen = 0;
		session_say(s, "the node was restarted: the list is its new "
		    "one");
	}
	if (node != NULL)
		memcpy(s->reconnect.boot, node->boot, WIRE_EPOCH);
	s->reconnect.known = true;
	s->reconnect.restarted = s->reconnect.resuming = s->intake.counting =
	    false;
}
