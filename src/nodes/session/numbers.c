/*
 * How stream and node are doing: STAT of both, and what follows from it.
 */
#include <string.h>
#include <sys/wait.h>

#include "state.h"

#define NODE_INDEX UINT32_MAX
#define EVERY NODES_HZ	/* cycles between two questions while all is well */

/*
 * Losses that the keeper counted and this page never read happened before its
 * time.  The keeper tells their sum only, so they stand under no cause.
 */
void
numbers_set_lost(struct nodes_session *s)
{
	uint64_t total = s->keeper[WIRE_N_LOST];

	if (s->opts.since_click)
		total = 0;
	s->look.lost[0] = total > s->losses.seen ? total - s->losses.seen : 0;
	s->losses.lossy =
	    s->losses.lossy || s->losses.seen > 0 || s->look.lost[0] > 0;
	numbers_check_whole(s);
}

/*
 * What the node's list refused is in no list, nor is what this one has refused.
 * Of the records that both were given they have mostly refused the same ones,
 * so those do not add up; blocks of a snapshot the node had.
 */
static uint64_t
count_full(const struct nodes_session *s)
{
	uint64_t own =
	    s->intake.list != NULL ? blklist_counts(s->intake.list)->full : 0;
	uint64_t read = own > s->intake.put_full ? own - s->intake.put_full : 0;
	uint64_t node = s->opts.since_click ? 0 : s->keeper[WIRE_N_FULL];

	return (node > read ? node : read) + s->intake.put_full;
}

void
numbers_check_whole(struct nodes_session *s)
{
	struct nodes_look *look = &s->look;
	bool partial = s->losses.partial && !s->opts.since_click;

	look->full = count_full(s);
	look->unsure = !s->opts.since_click && (s->keeper[WIRE_N_UNSURE] != 0 ||
	    (partial && !s->losses.lossy && s->keeper[WIRE_N_FULL] == 0));
	look->complete = !s->losses.lossy && !look->unsure && look->full == 0;
	/* 0 stands for "before this page came". */
	if (!look->complete && !s->losses.was_incomplete)
		look->incomplete_wall_ms = look->listed ? base_wall_ms() : 0;
	s->losses.was_incomplete = !look->complete;
}

void
numbers_take(struct nodes_session *s, const uint64_t n[WIRE_STATS_COUNT])
{
	memcpy(s->keeper, n, sizeof s->keeper);
	numbers_set_lost(s);
	s->look.bad_records = n[WIRE_N_BAD] > s->losses.bad ? n[WIRE_N_BAD] :
	    s->losses.bad;
}

/* Of a foreign stream that goes on: bytes that were no records, for one. */
static void
say_reason(struct nodes_session *s, struct wire_text reason)
{
	char text[WIRE_TEXT_MAX + 1];

	link_text(text, sizeof text, reason);
	session_say(s, "%s", text);
}

void
answered_stream(struct nodes_session *s, const struct wire_msg *msg)
{
	struct nodes_look *look = &s->look;
	const struct wire_stats *st;

	if (msg->type != WIRE_STATS)
		return;
	st = &msg->stats;
	look->told_no++;
	look->pid = (pid_t)st->pid;
	if (s->run != NULL)
		look->targets_live = st->targets_live;
	look->status = st->status;
	look->ended_wall_ms = st->ended_ms;
	link_text(s->texts.target, sizeof s->texts.target, st->comm);
	numbers_take(s, st->n);
	intake_sample(s, st->n[WIRE_N_SAMPLE]);
	/* Logging was off for a while: unknown frees are of those blocks. */
	if ((st->n[WIRE_N_EARLIER] > 0 || st->n[WIRE_N_ARMED_MS] != 0) &&
	    s->intake.build != NULL)
		blklist_set_since_click(s->intake.build, true);
	arm_standing(s);
	if (look->state != NODES_LIVE && st->reason.len > 0)
		link_text(s->texts.reason, sizeof s->texts.reason, st->reason);
	else if (look->classic && st->reason.len > 0)
		say_reason(s, st->reason);
	s->news(s->arg);
}

/*
 * A command that could not be run has no process; as from a shell, its status
 * is 127 when it was not found and 126 when it was not executable.
 */
static void
take_exec_error(struct nodes_look *look, const struct wire_stats *st)
{
	if (st->comm.len == 0 || st->pid != 0 || st->status < 0 ||
	    !WIFEXITED(st->status))
		return;
	if (WEXITSTATUS(st->status) == 127)
		look->exec_error = ENOENT;
	else if (WEXITSTATUS(st->status) == 126)
		look->exec_error = EACCES;
}

void
answered_node(struct nodes_session *s, const struct wire_msg *msg)
{
	struct nodes_look *look = &s->look;
	const struct wire_stats *st;
	bool ended = look->tree_ended;

	if (msg->type != WIRE_STATS)
		return;
	st = &msg->stats;
	look->root_pid = (pid_t)st->pid;
	look->root_status = st->status;
	take_exec_error(look, st);
	s->running = st->comm.len > 0;
	if (s->run == NULL) {
		look->targets_live = st->targets_live;
		memcpy(s->node, st->n, sizeof s->node);
	}
	look->tree_ended = st->ended_ms != 0;
	link_text(s->texts.trouble, sizeof s->texts.trouble, st->reason);
	link_text(s->texts.output, sizeof s->texts.output, st->output);
	link_text(s->texts.socket, sizeof s->texts.socket, st->socket);
	if (look->tree_ended && !ended)
		s->news(s->arg);
}

void
answered_watcher(struct nodes_session *s, const struct wire_msg *msg)
{
	if (msg->type == WIRE_STATS)
		memcpy(s->node, msg->stats.n, sizeof s->node);
}

/* Unless it is asked already. */
static void
ask(struct nodes_session *s, enum session_request which, uint32_t index)
{
	struct wire_msg msg = {
		.type = WIRE_STAT,
		.stat = { .index = index },
	};

	if (session_waits(s, which) == 0)
		session_ask(s, which, &msg);
}

void
answered_types(struct nodes_session *s, const struct wire_msg *msg)
{
	s->types.doubt = false;
	if (msg->type == WIRE_TYPED)
		intake_types(s, &msg->typed);
	if (s->step == SESSION_LOAD || s->step == SESSION_FLOW)
		intake_read(s);
}

void
numbers_ask_types(struct nodes_session *s)
{
	struct wire_msg msg = {
		.type = WIRE_TYPES,
		.types = { .index = s->index },
	};

	/* Better to count a code as illegal than to stop reading. */
	if (session_waits(s, SESSION_ASK_TYPES) == 0 &&
	    session_ask(s, SESSION_ASK_TYPES, &msg) < 0)
		s->types.doubt = false;
}

void
numbers_ask_node(struct nodes_session *s, bool due)
{
	/* An end is news that somebody waits for: ask more often then. */
	if (!s->look.tree_ended && (due || (s->look.state != NODES_LIVE &&
	    s->look.state != NODES_DORMANT)))
		ask(s, SESSION_ASK_NODE, NODE_INDEX);
	if (s->run != NULL && due)
		ask(s, SESSION_ASK_WATCHER, NODE_INDEX);
}

void
numbers_ask_stream(struct nodes_session *s, bool all)
{
	bool due = all || s->clock.cycle % EVERY == 0;
	bool named = s->step >= SESSION_LOAD && s->reconnect.known;

	numbers_ask_node(s, due);
	if (!named)
		return;
	regions_cycle(s, due);
	if (!due && s->look.state != NODES_ENDED)
		return;
	if (due || s->look.ended_wall_ms == 0)
		ask(s, SESSION_ASK_STREAM, s->index);
	if (due)
		numbers_ask_types(s);
}

void
nodes_session_ask(struct nodes_session *s)
{
	if (s->step >= SESSION_LOAD && s->reconnect.known)
		ask(s, SESSION_ASK_STREAM, s->index);
}
