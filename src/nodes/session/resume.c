/*
 * What a session does while its link is lost and when it is back: link/link.c
 * makes the link again.  And how old the picture is meanwhile.
 *
 * What is shown stays as it was: the list, the node's clock, and so all ages.
 * When the link is back the stream is asked for by its index.  If that has
 * still the epoch that we know, nothing has happened but time: reading goes on
 * from the cursor, and what was overwritten meanwhile is mended as always.
 * Otherwise the node was started anew or the index means another stream; then
 * ours is looked up by its name, and its list taken from the beginning.
 */
#include <stdio.h>
#include <string.h>

#include "state.h"

/* --- the age of the picture --------------------------------------------- */

void
reconnect_set_fresh(struct nodes_session *s)
{
	const struct link_node *node = link_node(s->link);

	s->look.now_ms = s->clock.now_ms;
	s->clock.fresh_ms = mono_ms(mono_now());
	/* The offset goes with the clock: the node may be another one later. */
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
	/* Beside a list that is taken anew, the one that is shown is of before. */
	if (s->intake.build == s->intake.list && !s->look.window)
		reconnect_set_fresh(s);
}

/* --- the link ----------------------------------------------------------- */

static void
lost(struct nodes_session *s, enum nodes_state fault, const char *reason)
{
	bool was = s->look.linked;

	if (was)
		session_call_off(s);
	s->look.linked = s->reconnect.known = false;
	/*
	 * Together with the state: the link may be back, or given up, before the
	 * next cycle finds out.
	 */
	s->look.returns = link_returns(s->link, &s->look.tries,
	    &s->look.retry_ms);
	/* An end stays an end. */
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

/*
 * The index is asked about, not the name: of streams with one name that would
 * give the newest.  Whatever stood is as uncertain as what flowed.
 */
static void
take_up(struct nodes_session *s)
{
	bool ended = s->look.state == NODES_ENDED ||
	    (s->step == SESSION_STAND && s->stream_state == WIRE_S_CORRUPT);

	session_call_off(s);
	s->look.linked = true;
	s->look.returns = false;
	s->reconnect.known = false;
	if (!ended)
		session_state(s, NODES_CONNECTING, "");
	s->news(s->arg);
	if (s->step < SESSION_LOAD && !s->reconnect.resuming) {
		if (s->step == SESSION_NAME && s->by_index && is_restarted(s))
			s->by_index = false;
		s->retry_in = 0;
		return;
	}
	if (!s->reconnect.resuming)
		s->reconnect.resume = s->step;
	s->reconnect.resuming = s->by_index = true;
	session_go(s, SESSION_NAME, 0);
}

bool
reconnect_follow_link(struct nodes_session *s)
{
	const char *reason;
	enum nodes_state fault = link_fault(s->link, &reason);
	unsigned losses = link_losses(s->link);

	if (fault != NODES_LIVE) {
		lost(s, fault, reason);
		/* The command goes on, and somebody wants to know how it ends. */
		if (s->run != NULL)
			numbers_ask_node(s, s->clock.cycle % NODES_HZ == 0);
		return false;
	}
	if (losses != s->reconnect.losses || !s->look.linked) {
		s->reconnect.losses = losses;
		take_up(s);
	}
	return true;
}

/* --- the stream --------------------------------------------------------- */

/* On from where it was left. */
static void
go_on(struct nodes_session *s, const struct wire_named *named)
{
	/* A node that was started anew may have taken its streams over. */
	memcpy(s->reconnect.boot, link_node(s->link)->boot, WIRE_EPOCH);
	s->reconnect.known = true;
	s->by_index = false;
	s->stream_state = named->state;
	session_go(s, s->reconnect.resume, 0);
	switch (s->step) {
	case SESSION_LOAD:
		/* Of its parts some are missing, and they are of one row. */
		s->intake.again = true;
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

/*
 * The node had captured this much when it was last asked, and some of it was
 * not read: at least so much is gone.
 */
static void
count_unread(struct nodes_session *s)
{
	uint64_t known = s->keeper[WIRE_N_RECORDS] + s->keeper[WIRE_N_LOST];

	if (s->intake.counting && known >= s->intake.cursor)
		s->look.lost[STREAM_RESTART] += known + 1 - s->intake.cursor;
}

bool
reconnect_take_name(struct nodes_session *s, const struct wire_msg *msg)
{
	const struct wire_named *named = &msg->named;
	bool stands = s->reconnect.resume == SESSION_STAND;

	if (msg->type == WIRE_ERR && msg->err.code != WIRE_E_NAME)
		return false;
	s->reconnect.resuming = false;
	if (msg->type == WIRE_NAMED && named->index == s->index &&
	    memcmp(named->epoch, s->epoch, WIRE_EPOCH) == 0) {
		go_on(s, named);
		return true;
	}
	s->by_index = false;
	if (stands && (s->look.state == NODES_ENDED ||
	    s->stream_state == WIRE_S_CORRUPT)) {
		/* Nothing more is to be had of it, and nothing is missing. */
		session_go(s, SESSION_STAND, 0);
		return true;
	}
	s->reconnect.sought = is_restarted(s);
	session_go(s, SESSION_NAME, 0);
	session_resolve(s);
	return true;
}

void
reconnect_set_found(struct nodes_session *s)
{
	const struct link_node *node = link_node(s->link);

	if (s->reconnect.sought) {
		count_unread(s);
		/* Counters and losses are those of another keeper. */
		s->losses.lossy = s->losses.partial = s->losses.mending =
		    s->losses.torn = false;
		s->losses.seen = s->losses.bad = s->losses.mended = 0;
		memset(s->keeper, 0, sizeof s->keeper);
		s->arming.seen = 0;
		session_say(s, "the node was started anew: the list is that "
		    "of its new keeper");
	}
	if (node != NULL)
		memcpy(s->reconnect.boot, node->boot, WIRE_EPOCH);
	s->reconnect.known = true;
	s->reconnect.sought = s->reconnect.resuming = s->intake.counting =
	    false;
}
