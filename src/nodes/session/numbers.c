#include <string.h>
#include <sys/wait.h>

#include "state.h"

#define NODE_INDEX UINT32_MAX
#define EVERY NODES_HZ	/* cycles between two requests */

/* Losses that this session never read were before its time; causes unknown. */
void
numbers_set_lost(struct nodes_session *s)
{
	uint64_t total = s->counters.keeper[WIRE_N_LOST];

	if (s->opts.since_click)
		total = 0;
	s->look.loss.lost[0] = total > s->losses.seen ? total - s->losses.seen : 0;
	s->losses.lossy =
	    s->losses.lossy || s->losses.seen > 0 || s->look.loss.lost[0] > 0;
	numbers_check_whole(s);
}

/*
 * Allocations that a full list refused, at least. Node's list and this one have
 * mostly refused the same records, so those count once; blocks of a snapshot
 * were in the node's list.
 */
static uint64_t
count_full(const struct nodes_session *s)
{
	uint64_t own =
	    s->intake.list != NULL ? blklist_counts(s->intake.list)->full : 0;
	uint64_t read = own > s->intake.put_full ? own - s->intake.put_full : 0;
	uint64_t node = s->opts.since_click ? 0 : s->counters.keeper[WIRE_N_FULL];

	return (node > read ? node : read) + s->intake.put_full;
}

/* Of one kind of error: the node's list and this one mostly count the same. */
static uint64_t
count_before(const struct nodes_session *s, enum wire_number node, uint64_t own)
{
	if (s->opts.since_click || s->counters.keeper[node] <= own)
		return 0;
	return s->counters.keeper[node] - own;
}

static struct nodes_errors
errors_before(const struct nodes_session *s)
{
	static const struct blklist_counts none;
	const struct blklist_counts *own =
	    s->intake.list != NULL ? blklist_counts(s->intake.list) : &none;

	return (struct nodes_errors){
		.failed = count_before(s, WIRE_N_FAILED, own->failed),
		.unknown_free = count_before(s, WIRE_N_UNKNOWN_FREE,
		    own->unknown_free),
		.earlier = count_before(s, WIRE_N_EARLIER, own->earlier),
		.duplicate = count_before(s, WIRE_N_DUPLICATE, own->duplicate),
		.illegal_type = count_before(s, WIRE_N_ILLEGAL_TYPE,
		    own->illegal_type),
	};
}

void
numbers_check_whole(struct nodes_session *s)
{
	struct nodes_look *look = &s->look;
	bool partial = s->losses.partial && !s->opts.since_click;

	look->loss.full = count_full(s);
	look->loss.before_list = s->counters.keeper[WIRE_N_LOST_BEFORE];
	look->loss.before = errors_before(s);
	look->loss.unsure = !s->opts.since_click && (s->counters.keeper[WIRE_N_UNSURE] != 0 ||
	    (partial && !s->losses.lossy && s->counters.keeper[WIRE_N_FULL] == 0));
	look->loss.doubt = look->loss.unsure ? s->counters.keeper[WIRE_N_UNSURE] : 0;
	look->complete = !s->losses.lossy && !look->loss.unsure &&
	    look->loss.full == 0;
	/* 0: before this session. */
	if (!look->complete && !s->losses.was_incomplete)
		look->loss.since_wall_ms = look->listed ? base_wall_ms() : 0;
	s->losses.was_incomplete = !look->complete;
}

void
numbers_take(struct nodes_session *s, const uint64_t n[WIRE_STATS_COUNT], size_t sent)
{
	memcpy(s->counters.keeper, n, sizeof s->counters.keeper);
	s->look.keeper_sent = sent;
	numbers_set_lost(s);
	replay_numbers(s);
	s->look.loss.bad_records = n[WIRE_N_BAD] > s->losses.bad ? n[WIRE_N_BAD] :
	    s->losses.bad;
}

void
answered_stream(struct nodes_session *s, const struct wire_msg *msg)
{
	struct nodes_look *look = &s->look;
	const struct wire_stats *st;

	if (msg->type != WIRE_STATS)
		return;
	st = &msg->stats;
	look->keeper_no++;
	look->target.pid = (pid_t)st->pid;
	if (s->run != NULL)
		look->command.targets_live = st->targets_live;
	look->target.status = st->status;
	look->target.ended_wall_ms = st->ended_ms;
	link_text(s->texts.target, sizeof s->texts.target, st->comm);
	numbers_take(s, st->n, st->sent);
	intake_sample(s, st->n[WIRE_N_SAMPLE]);
	/* Logging was off for a while: unknown frees are of blocks since. */
	if ((st->n[WIRE_N_EARLIER] > 0 || st->n[WIRE_N_ARMED_MS] != 0) &&
	    s->intake.build != NULL)
		blklist_set_since_click(s->intake.build, true);
	arm_numbers(s);
	if (look->state != NODES_LIVE && st->reason.len > 0)
		link_text(s->texts.reason, sizeof s->texts.reason, st->reason);
	else if (look->classic || look->replay.on)
		link_text(s->texts.device, sizeof s->texts.device, st->reason);
	s->news(s->arg);
}

/*
 * True if the command has no process and the status is 126 or 127, as a shell
 * has it.
 */
static bool
is_not_run(const struct wire_stats *st)
{
	return st->comm.len > 0 && st->pid == 0 && st->status >= 0 &&
	    WIFEXITED(st->status) && (WEXITSTATUS(st->status) == 126 ||
	    WEXITSTATUS(st->status) == 127);
}

static void
take_node_stats(struct nodes_session *s, const struct wire_stats *st)
{
	memcpy(s->counters.node, st->n, sizeof s->counters.node);
	link_text(s->texts.missed, sizeof s->texts.missed, st->missed);
}

void
answered_node(struct nodes_session *s, const struct wire_msg *msg)
{
	struct nodes_look *look = &s->look;
	const struct wire_stats *st;
	bool ended = look->command.tree_ended;

	if (msg->type != WIRE_STATS)
		return;
	st = &msg->stats;
	look->command.pid = (pid_t)st->pid;
	look->command.status = st->status;
	look->command.not_run = is_not_run(st);
	s->running = st->comm.len > 0;
	if (s->run == NULL) {
		look->command.targets_live = st->targets_live;
		take_node_stats(s, st);
	}
	look->command.tree_ended = st->ended_ms != 0;
	link_text(s->texts.trouble, sizeof s->texts.trouble, st->reason);
	link_text(s->texts.output, sizeof s->texts.output, st->output);
	link_text(s->texts.socket, sizeof s->texts.socket, st->socket);
	if (look->command.tree_ended && !ended)
		s->news(s->arg);
}

void
answered_watcher(struct nodes_session *s, const struct wire_msg *msg)
{
	if (msg->type == WIRE_STATS)
		take_node_stats(s, &msg->stats);
}

static void
ask_stat(struct nodes_session *s, enum session_request which, uint32_t index)
{
	struct wire_msg msg = {
		.type = WIRE_STAT,
		.stat = { .index = index },
	};

	if (session_in_flight(s, which) == 0)
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
		.types = { .index = s->stream.index },
	};

	/* On failure the code counts as illegal, and reading goes on. */
	if (session_in_flight(s, SESSION_ASK_TYPES) == 0 &&
	    session_ask(s, SESSION_ASK_TYPES, &msg) < 0)
		s->types.doubt = false;
}

void
numbers_ask_node(struct nodes_session *s, bool due)
{
	/* In every cycle while an end may be near. */
	if (!s->look.command.tree_ended && (due || (s->look.state != NODES_LIVE &&
	    s->look.state != NODES_DORMANT)))
		ask_stat(s, SESSION_ASK_NODE, NODE_INDEX);
	if (s->run != NULL && due)
		ask_stat(s, SESSION_ASK_WATCHER, NODE_INDEX);
}

void
numbers_ask_stream(struct nodes_session *s, bool all)
{
	bool due = all || s->clock.cycle % EVERY == 0;
	bool named = s->step >= SESSION_LOAD && s->reconnect.known;

	numbers_ask_node(s, due);
	if (!named)
		return;
	replay_cycle(s);
	regions_cycle(s, due);
	if (!due && s->look.state != NODES_ENDED)
		return;
	if (due || s->look.target.ended_wall_ms == 0)
		ask_stat(s, SESSION_ASK_STREAM, s->stream.index);
	if (due)
		numbers_ask_types(s);
}

void
nodes_session_ask(struct nodes_session *s)
{
	if (s->step >= SESSION_LOAD && s->reconnect.known)
		ask_stat(s, SESSION_ASK_STREAM, s->stream.index);
}
