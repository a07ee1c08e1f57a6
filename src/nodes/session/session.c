#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define SAID_FOR (10 * SESSION_SECOND)	/* a notice is shown */
#define SILENT_FOR (SESSION_SECOND * 3 / 2 + 1)	/* before the node counts as silent */
#define FIRST_MAX 2048		/* aRecMax of the list before there is a stream */

void
session_state(struct nodes_session *s, enum nodes_state state,
    const char *reason)
{
	bool other = strcmp(s->texts.reason, reason) != 0;
	bool changed = other || s->look.state != state;

	s->look.state = state;
	if (other)
		base_copy_text(s->texts.reason, sizeof s->texts.reason, reason);
	if (changed)
		s->news(s->arg);
}

void
session_say(struct nodes_session *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->texts.said, sizeof s->texts.said, fmt, ap);
	va_end(ap);
	s->texts.said_for = SAID_FOR;
}

static const struct {
	void (*answered)(struct nodes_session *, const struct wire_msg *);
	void (*lost)(struct nodes_session *, int err);
	bool watched;
} requests[SESSION_ASKS] = {
#define ASK(NAME, name, watched_, lost_) \
	[SESSION_ASK_##NAME] = { answered_##name, lost_, watched_ },
	SESSION_REQUESTS(ASK)
#undef ASK
	[SESSION_ASK_TARGETS] = { .watched = true },
};

static void
on_reply(void *arg, int err, const struct wire_msg *msg)
{
	struct session_ask *ask = arg;
	struct nodes_session *s = ask->session;

	ask->in_flight--;
	if (err == 0)
		requests[ask - s->asks].answered(s, msg);
	else if (requests[ask - s->asks].lost != NULL)
		requests[ask - s->asks].lost(s, err);
}

int
session_ask(struct nodes_session *s, enum session_request which,
    struct wire_msg *msg)
{
	struct nodes_link *link = which == SESSION_ASK_NODE && s->run != NULL ?
	    s->run : s->link;
	struct session_ask *ask = &s->asks[which];
	int err;

	ask->session = s;
	err = link_ask(link, msg, s, on_reply, ask);
	if (err == 0)
		ask->in_flight++;
	return err;
}

static bool
is_waiting(const struct nodes_session *s)
{
	for (size_t i = 0; i < SESSION_ASKS; i++)
		if (s->asks[i].in_flight > 0 && requests[i].watched)
			return true;
	return false;
}

void
session_cancel(struct nodes_session *s)
{
	link_forget(s->link, s);
	if (s->run != NULL)
		link_forget(s->run, s);
	for (size_t i = 0; i < SESSION_ASKS; i++)
		s->asks[i].in_flight = 0;
	s->intake.dense = s->window.due = s->types.doubt = false;
	s->clock.silent = 0;
}

void
session_set_step(struct nodes_session *s, enum session_step step, unsigned retry_in)
{
	s->step = step;
	s->retry_in = retry_in;
}

static void
take_named(struct nodes_session *s, const struct wire_named *named)
{
	bool classic = named->format == WIRE_CLASSIC;
	char reason[160];

	if ((named->format != WIRE_CLASSIC && named->format != WIRE_WIDE) ||
	    named->record_size != (classic ? REC_CLASSIC_SIZE :
	    REC_WIDE_SIZE)) {
		snprintf(reason, sizeof reason, "records of format %u, %u "
		    "bytes each, are not known to this page", named->format,
		    named->record_size);
		session_set_step(s, SESSION_IDLE, 0);
		session_state(s, NODES_VERSION, reason);
		return;
	}
	reconnect_set_found(s);
	s->stream.index = named->index;
	memcpy(s->stream.epoch, named->epoch, WIRE_EPOCH);
	s->look.stream_no++;
	s->watch.on = false;
	if (named->name.len > 0)
		link_text(s->stream.name, sizeof s->stream.name, named->name);
	s->stream.state = named->state;
	s->look.levels = named->levels != 0;
	names_open(&s->names, s->stream.index, s->stream.epoch,
	    s->look.replay.on);
	regions_reset(s);
	marks_reset(s);
	usage_reset(s);
	session_refcnt_reset(s);
	if (intake_begin(s, classic) < 0) {
		session_set_step(s, SESSION_IDLE, 0);
		session_state(s, NODES_UNREACHABLE, "no memory for the list");
		return;
	}
	/* Before the snapshot, so that no loss falls between the two. */
	s->step = SESSION_LOAD;
	numbers_ask_stream(s, true);
	s->stream.click = 0;
	if (s->opts.since_click && s->choice.follow == 0) {
		s->step = SESSION_FLOW;
		s->stream.click = s->intake.cursor = named->next;
		s->intake.counting = true;
		s->look.listed = s->look.settled = true;
		intake_follow(s);
		reconnect_set_fresh(s);
	} else {
		intake_retake(s);
	}
	s->choice.follow = 0;
	arm_found(s);
	/* An earlier end was that of the image before. */
	s->look.target.ended_wall_ms = 0;
	if (named->state == WIRE_S_LIVE)
		session_state(s, NODES_LIVE, "");
	else if (named->state == WIRE_S_DORMANT)
		session_state(s, NODES_DORMANT, "");
	else
		s->news(s->arg);
	intake_read(s);
}

void
answered_name(struct nodes_session *s, const struct wire_msg *msg)
{
	if (s->reconnect.resuming && reconnect_take_name(s, msg))
		return;
	if (msg->type == WIRE_NAMED)
		take_named(s, &msg->named);
	else if (msg->type == WIRE_ERR)
		session_refused(s, &msg->err);
	else
		session_set_step(s, SESSION_NAME, SESSION_SECOND);
}

void
session_resolve(struct nodes_session *s)
{
	struct wire_msg msg = {
		.type = WIRE_NAME,
		.name = {
			.table = wire_text("DSTRM"),
			.name = wire_text(s->stream.by_index ? "" : s->stream.name),
			.index = s->stream.by_index ? s->stream.index : 0,
		},
	};

	session_ask(s, SESSION_ASK_NAME, &msg);
}

#define NO_SUCH "no such "	/* a node's sentence without more to say */

/* text: the node's sentence. */
static void
say_no_stream(const struct nodes_session *s, const char *text, char *reason,
    size_t cap)
{
	const char *name = s->stream.name[0] != '\0' ? s->stream.name :
	    "ALLOCLOG";
	size_t len = 0;

	reason[0] = '\0';
	if (s->reconnect.restarted)
		base_append(reason, cap, &len, "the node was restarted "
		    "and has no %s: the target has ended, or has not registered "
		    "again", name);
	/* There is a row, and the node says what it lacks. */
	else if (strncmp(text, NO_SUCH, strlen(NO_SUCH)) != 0 && text[0] != '\0')
		base_append(reason, cap, &len, "%s: %s; 'pagek targets' lists "
		    "what there is", name, text);
	else
		base_append(reason, cap, &len, "the node has no data stream %s",
		    name);
}

void
session_refused(struct nodes_session *s, const struct wire_err *e)
{
	char text[WIRE_TEXT_MAX + 1], reason[300];
	unsigned wait = 1 + e->retry_ms * SESSION_SECOND / 1000;

	link_text(text, sizeof text, e->text);
	switch (e->code) {
	case WIRE_E_EPOCH:
		/* Another stream has the index now. */
		session_cancel(s);
		s->stream.by_index = false;
		s->look.arming.since_wall_ms = 0;
		session_set_step(s, SESSION_NAME, 1);
		return;
	case WIRE_E_NAME:
		session_cancel(s);
		say_no_stream(s, text, reason, sizeof reason);
		s->stream.by_index = false;
		session_set_step(s, s->opts.stream != NULL ||
		    s->reconnect.restarted ? SESSION_NAME : SESSION_CHOOSE,
		    SESSION_SECOND);
		session_state(s, NODES_NO_ALLOCLOG, reason);
		return;
	case WIRE_E_AUTH:
		session_cancel(s);
		session_set_step(s, SESSION_IDLE, 0);
		session_state(s, NODES_DENIED, text);
		return;
	default:
		snprintf(reason, sizeof reason, "the node refused (%u): %s",
		    e->code, text);
		s->retry_in = e->retry_ms != 0 ? wait : SESSION_SECOND;
		if (s->step == SESSION_LOAD)
			s->intake.retake = true;
		session_say(s, "%s", reason);
		return;
	}
}

void
session_restart(struct nodes_session *s)
{
	session_cancel(s);
	s->stream.by_index = false;
	s->look.arming.since_wall_ms = 0;
	/* The former list is shown until then. */
	s->look.settled = false;
	session_set_step(s, SESSION_NAME, 0);
	session_resolve(s);
}

void
session_drained(struct nodes_session *s)
{
	switch (s->stream.state) {
	case WIRE_S_EXECED:
	case WIRE_S_NO_DATA:
		s->choice.follow = s->look.target.pid;
		s->choice.follow_tries = 0;
		if (s->choice.follow != 0) {
			session_set_step(s, SESSION_CHOOSE, 0);
			choose_ask(s);
			return;
		}
		break;
	case WIRE_S_CORRUPT:
		session_set_step(s, SESSION_IDLE, 0);
		session_state(s, NODES_CORRUPT, "its ring was damaged: the "
		    "stream is detached");
		numbers_ask_stream(s, true);
		return;
	default:
		break;
	}
	session_set_step(s, SESSION_IDLE, 0);
	session_state(s, NODES_ENDED, "");
	numbers_ask_stream(s, true);
	if (s->choice.open_for > 0 && !session_is_resolving(s))
		choose_ask(s);
}

/* A node that is stopped or overloaded keeps the link open and is silent. */
static void
watch_silence(struct nodes_session *s)
{
	uint64_t heard = link_heard(s->link);
	bool was = s->clock.silent >= SILENT_FOR;
	char reason[80];

	s->clock.silent =
	    is_waiting(s) && heard == s->clock.heard ? s->clock.silent + 1 : 0;
	s->clock.heard = heard;
	if (s->clock.silent >= SILENT_FOR && s->look.state != NODES_ENDED) {
		snprintf(reason, sizeof reason, "the node has not answered "
		    "for %u s", s->clock.silent / SESSION_SECOND);
		session_state(s, NODES_UNREACHABLE, reason);
	} else if (was && s->look.state == NODES_UNREACHABLE) {
		session_state(s, s->step < SESSION_LOAD ||
		    s->step == SESSION_IDLE ? NODES_CONNECTING :
		    s->stream.state == WIRE_S_DORMANT ? NODES_DORMANT :
		    NODES_LIVE, "");
	}
}

void
session_measure(struct nodes_session *s)
{
	struct nodes_look *look = &s->look;

	look->work.cycle_us = (uint32_t)(s->clock.cycle_ns / 1000);
	if (look->work.cycle_us > look->work.cycle_us_max)
		look->work.cycle_us_max = look->work.cycle_us;
	look->work.cycle_records = s->clock.cycle_records;
}

static void
begin_cycle(struct nodes_session *s)
{
	session_measure(s);
	s->clock.cycle++;
	s->clock.cycle_ns = 0;
	s->clock.cycle_records = 0;
	s->intake.reads = 0;
	s->window.asks = 0;
	s->window.read = 0;
	if (s->texts.said_for > 0)
		s->texts.said_for--;
}

static void
do_flow(struct nodes_session *s)
{
	if (s->window.due) {
		session_cancel(s);
		window_begin(s);
	} else if (s->intake.retake) {
		session_cancel(s);
		intake_retake(s);
	}
	window_cycle(s);
	intake_cycle(s);
	intake_read(s);
}

static void
do_step(struct nodes_session *s)
{
	switch (s->step) {
	case SESSION_CHOOSE:
		if (!session_is_resolving(s))
			choose_ask(s);
		break;
	case SESSION_NAME:
		if (!session_is_resolving(s))
			session_resolve(s);
		break;
	case SESSION_LOAD:
	case SESSION_FLOW:
	case SESSION_WINDOW:
		do_flow(s);
		break;
	case SESSION_IDLE:
		break;
	}
	choose_cycle(s);
}

void
nodes_session_cycle(struct nodes_session *s)
{
	struct mono begin = mono_now();

	begin_cycle(s);
	if (!reconnect_follow_link(s))
		return;
	watch_silence(s);
	if ((s->step == SESSION_FLOW &&
	    session_in_flight(s, SESSION_ASK_DATA) > 0) ||
	    (s->step == SESSION_WINDOW &&
	    session_in_flight(s, SESSION_ASK_ROWS) > 0))
		s->look.work.missed_cycles++;
	if (s->retry_in > 0)
		s->retry_in--;
	if (s->retry_in == 0)
		do_step(s);
	numbers_ask_stream(s, false);
	retained_cycle(s);
	if (s->reconnect.known)
		names_send(&s->names);
	s->clock.cycle_ns += mono_diff_ns(mono_now(), begin);
}

/* Sets all that belongs to a stream to its initial state. */
static int
reset_session(struct nodes_session *s, const struct nodes_session_opts *opts)
{
	struct blklist *list;
	struct nodes_look before = s->look;
	int err;

	err = blklist_new(&list, BLKLIST_LITERAL, opts->max != 0 &&
	    opts->max < FIRST_MAX ? opts->max : FIRST_MAX);
	if (err < 0)
		return err;
	session_cancel(s);
	names_reset(&s->names);
	regions_reset(s);
	marks_reset(s);
	usage_reset(s);
	session_refcnt_reset(s);
	intake_fini(s);
	s->intake = (struct session_intake){ .list = list, .build = list };
	s->opts = *opts;
	s->stream = (struct session_stream){ .by_index = false };
	snprintf(s->stream.name, sizeof s->stream.name, "%s",
	    opts->stream != NULL ? opts->stream : "");
	s->look = (struct nodes_look){
		.state = NODES_CONNECTING,
		.list = list,
		.types = &s->types.table,
		.stream_no = before.stream_no + 1,
		.types_no = before.types_no + 1,
		.target.status = -1,
		.complete = true,
		.link.up = link_fault(s->link, NULL) == NODES_LIVE,
		.command = before.command,
		.work.cycle_us_max = before.work.cycle_us_max,
		.work.missed_cycles = before.work.missed_cycles,
	};
	s->look.link.returns = link_returns(s->link, &s->look.link.tries,
	    &s->look.link.retry_ms);
	stream_types_init(&s->types.table);
	s->losses = (struct session_losses){ .lossy = false };
	s->choice = (struct session_choice){
		.rival = UINT32_MAX,
		.chosen = opts->pid != 0 || opts->stream != NULL,
		.stay = s->choice.stay,
	};
	s->reconnect.known = s->reconnect.resuming = s->reconnect.restarted =
	    false;
	s->arming = (struct session_arming){
		.wish = SESSION_NO_WISH,
		.due = !opts->look_only,
	};
	s->texts.said_for = 0;
	s->texts.target[0] = s->texts.reason[0] = s->texts.device[0] = '\0';
	memset(s->counters.keeper, 0, sizeof s->counters.keeper);
	s->clock.fresh_ms = 0;
	return 0;
}

static void
begin_session(struct nodes_session *s)
{
	/* The state of the command first: the choice depends on it. */
	session_set_step(s, s->opts.node_only ? SESSION_IDLE : s->opts.stream != NULL ? SESSION_NAME :
	    SESSION_CHOOSE, 0);
	numbers_ask_stream(s, true);
	do_step(s);
}

int
nodes_session_open(struct nodes_session **out, struct nodes_link *link,
    const struct nodes_session_opts *opts, nodes_news_cb news, void *arg)
{
	struct nodes_session *s;
	int err;

	s = calloc(1, sizeof *s);
	if (s == NULL)
		return -ENOMEM;
	s->link = link;
	s->run = opts->run;
	/* The link's node may answer before the one with the command. */
	s->running = s->run != NULL;
	s->reconnect.losses = link_losses(link);
	s->news = news;
	s->arg = arg;
	s->look.command.status = -1;
	s->stress.told.error = -EAGAIN;
	err = names_init(&s->names, link, news, arg);
	if (err < 0) {
		free(s);
		return err;
	}
	err = reset_session(s, opts);
	if (err < 0) {
		names_fini(&s->names);
		free(s);
		return err;
	}
	begin_session(s);
	*out = s;
	return 0;
}

void
nodes_session_close(struct nodes_session *s)
{
	if (s == NULL)
		return;
	session_cancel(s);
	names_fini(&s->names);
	usage_reset(s);
	session_refcnt_fini(s);
	stress_free_memory(&s->stress.memory.memory);
	intake_fini(s);
	free(s);
}

int
nodes_session_switch(struct nodes_session *s,
    const struct nodes_session_opts *opts)
{
	int err;

	err = reset_session(s, opts);
	if (err < 0)
		return err;
	begin_session(s);
	return 0;
}

void
nodes_session_stay(struct nodes_session *s, bool stay)
{
	s->choice.stay = stay;
}

static bool
is_or_will_be_up(const struct nodes_link *link)
{
	unsigned tries;
	int64_t in_ms;

	return link_fault(link, NULL) == NODES_LIVE ||
	    link_returns(link, &tries, &in_ms);
}

int
nodes_session_pass_signal(struct nodes_session *s, int sig, pid_t from)
{
	return link_pass_signal(s->run != NULL ? s->run : s->link, sig, from);
}

const struct nodes_look *
nodes_session_look(struct nodes_session *s)
{
	struct nodes_look *look = &s->look;

	/* The node that ran the command knows how it ended. */
	if (s->run != NULL && look->target.status < 0 &&
	    look->target.ended_wall_ms != 0 &&
	    look->target.pid == look->command.pid)
		look->target.status = look->command.status;
	look->command.linked = is_or_will_be_up(s->run != NULL ? s->run : s->link);
	look->as_of = s->intake.cursor > 0 ? s->intake.cursor - 1 : 0;
	look->node.name = link_called(s->link, &look->node.number);
	look->target.name = s->texts.target;
	look->command.output = s->texts.output;
	look->command.trouble = s->texts.trouble;
	look->node.socket = s->texts.socket;
	look->keeper = s->counters.keeper;
	look->node.numbers = s->counters.node;
	look->node.missed = s->texts.missed;
	numbers_check_whole(s);
	regions_look(s);
	look->reason = look->state != NODES_LIVE ? s->texts.reason :
	    s->texts.said_for > 0 ? s->texts.said : s->texts.device;
	if (!link_returns(s->link, &look->link.tries, &look->link.retry_ms))
		look->link.retry_ms = 0;
	look->stale_ms = s->clock.fresh_ms != 0
			     ? mono_ms(mono_now()) - s->clock.fresh_ms
			     : 0;
	look->node_wall_ms = look->now_ms == 0 ? base_wall_ms() :
	    look->now_ms + s->clock.wall_off_ms;
	return look;
}

/* Success is seen as the stream's end. */
void
answered_end(struct nodes_session *s, const struct wire_msg *msg)
{
	char text[WIRE_TEXT_MAX + 1];

	if (msg->type != WIRE_ERR)
		return;
	link_text(text, sizeof text, msg->err.text);
	session_say(s, "the node did not end the target: %s", text);
	s->news(s->arg);
}

int
nodes_session_end_target(struct nodes_session *s)
{
	struct wire_msg msg = {
		.type = WIRE_END,
		.end = { .index = s->stream.index },
	};

	if (s->step < SESSION_LOAD)
		return -ENOENT;
	memcpy(msg.end.epoch, s->stream.epoch, WIRE_EPOCH);
	return session_ask(s, SESSION_ASK_END, &msg);
}
