/*
 * The time line of a capture that the node replays.  Its numbers come with those of
 * the stream, and after each request.
 */
#include <errno.h>
#include <string.h>

#include "state.h"

void
replay_numbers(struct nodes_session *s)
{
	const uint64_t *n = s->counters.keeper;

	s->look.replay.on = n[WIRE_N_REPLAY] != 0;
	s->look.replay.state = (enum wire_replay_state)n[WIRE_N_REPLAY];
	s->look.replay.begin_ms = (int64_t)n[WIRE_N_REPLAY_BEGIN];
	s->look.replay.end_ms = (int64_t)n[WIRE_N_REPLAY_END];
	s->look.replay.speed = (unsigned)n[WIRE_N_REPLAY_SPEED];
	s->look.replay.event = n[WIRE_N_REPLAY_EVENT];
	s->look.replay.goal = n[WIRE_N_REPLAY_GOAL];
}

void
replay_cycle(struct nodes_session *s)
{
	if (s->look.replay.on && s->look.replay.state != WIRE_REPLAY_PAUSED)
		nodes_session_ask(s);
}

void
answered_replay(struct nodes_session *s, const struct wire_msg *msg)
{
	char text[WIRE_TEXT_MAX + 1];

	text[0] = '\0';
	if (msg->type == WIRE_REPLAYED)
		link_text(text, sizeof text, msg->replayed.why);
	else if (msg->type == WIRE_ERR)
		link_text(text, sizeof text, msg->err.text);
	if (text[0] != '\0')
		session_say(s, "%s", text);
	nodes_session_ask(s);
	s->news(s->arg);
}

int
nodes_session_replay(struct nodes_session *s, enum wire_replay_action action,
    int64_t by, const char *word)
{
	struct wire_msg msg = { .type = WIRE_REPLAY,
		.replay = { .action = action, .by = by } };

	if (!s->look.replay.on)
		return -ENOENT;
	if (session_in_flight(s, SESSION_ASK_REPLAY) > 0)
		return -EBUSY;
	msg.replay.at = wire_text(word != NULL ? word : "");
	if (msg.replay.at.len > WIRE_TEXT_MAX)
		msg.replay.at.len = WIRE_TEXT_MAX;
	return session_ask(s, SESSION_ASK_REPLAY, &msg);
}
