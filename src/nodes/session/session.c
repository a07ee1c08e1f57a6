/*
 * The steps of a session, from the choice of a stream to its end; see
 * state.h.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

#define SAID_FOR (10 * SESSION_SECOND)	/* how long session_say() is heard */
#define SILENT_FOR (SESSION_SECOND * 3 / 2 + 1)	/* from then on the node does not answer */

#define FIRST_MAX 2048		/* aRecMax of the list before any stream is there */

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

/* --- requests ----------------------------------------------------------- */

static const struct {
	void (*answered)(struct nodes_session *, const struct wire_msg *);
	bool watched;
} requests[SESSION_ASKS] = {
#define ASK(NAME, name, watched_) \
	[SESSION_ASK_##NAME] = { answered_##name, watched_ },
	SESSION_REQUESTS(ASK)
#undef ASK
	[SESSION_ASK_TARGETS] = { .watched = true },
};

static void
on_reply(void *arg, int err, const struct wire_msg *msg)
{
	struct session_ask *ask = arg;
	struct nodes_session *s = ask->session;

	ask->sent--;
	if (err == 0)
		requests[ask - s->asks].answered(s, msg);
	else if (ask == &s->asks[SESSION_ASK_ARM])
		lost_arm(s, err);
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
		ask->sent++;
	return err;
}

/* The node owes the session an answer. */
static bool
is_waiting(const struct nodes_session *s)
{
	for (size_t i = 0; i < SESSION_ASKS; i++)
		if (s->asks[i].sent > 0 && requests[i].watched)
			return true;
	return false;
}

void
session_call_off(struct nodes_session *s)
{
	link_forget(s->link, s);
	if (s->run != NULL)
		link_forget(s->run, s);
	for (size_t i = 0; i < SESSION_ASKS; i++)
		s->asks[i].sent = 0;
	s->intake.dense = s->window.due = s->types.doubt = false;
	s->clock.silent = 0;
}

void
session_go(struct nodes_session *s, enum session_step step, unsigned retry_in)
{
	s->step = step;
	s->retry_in = retry_in;
}

/* --- its index ---------------------------------------------------------- */

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
		session_go(s, SESSION_STAND, 0);
		session_state(s, NODES_VERSION, reason);
		return;
	}
	reconnect_set_found(s);
	s->index = named->index;
	memcpy(s->epoch, named->epoch, WIRE_EPOCH);
	s->look.stream_no++;
	s->watch.on = false;
	if (named->name.len > 0)
		link_text(s->stream, sizeof s->stream, named->name);
	s->stream_state = named->state;
	s->look.levels = named->levels != 0;
	names_open(&s->names, s->index, s->epoch);
	regions_reset(s);
	if (intake_begin(s, classic) < 0) {
		session_go(s, SESSION_STAND, 0);
		session_state(s, NODES_UNREACHABLE, "no memory for the list");
		return;
	}
	/* Asked before the snapshot, so that no loss falls between the two. */
	s->step = SESSION_LOAD;
	numbers_ask_stream(s, true);
	s->click = 0;
	if (s->opts.since_click && s->choice.follow == 0) {
		s->step = SESSION_FLOW;
		s->click = s->intake.cursor = named->next;
		s->intake.counting = true;
		s->look.listed = s->look.settled = true;
		lists_follow(s);
		reconnect_set_fresh(s);
	} else {
		intake_again(s);
	}
	s->choice.follow = 0;
	arm_found(s);
	/* The end that was told was of the image before. */
	s->look.ended_wall_ms = 0;
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
		session_go(s, SESSION_NAME, SESSION_SECOND);
}

void
session_resolve(struct nodes_session *s)
{
	struct wire_msg msg = {
		.type = WIRE_NAME,
		.name = {
			.table = wire_text("DSTRM"),
			.name = wire_text(s->by_index ? "" : s->stream),
			.index = s->by_index ? s->index : 0,
		},
	};

	session_ask(s, SESSION_ASK_NAME, &msg);
}

/* --- refusals and ends -------------------------------------------------- */

void
session_refused(struct nodes_session *s, const struct wire_err *e)
{
	char text[WIRE_TEXT_MAX + 1], reason[300];
	unsigned wait = 1 + e->retry_ms * SESSION_SECOND / 1000;

	link_text(text, sizeof text, e->text);
	switch (e->code) {
	case WIRE_E_EPOCH:
		/* Another stream has the index: ours is looked up by its name. */
		session_call_off(s);
		s->by_index = false;
		s->look.armed_wall_ms = 0;
		session_go(s, SESSION_NAME, 1);
		return;
	case WIRE_E_NAME:
		session_call_off(s);
		snprintf(reason, sizeof reason,
		    s->reconnect.sought ? "the node was "
					  "started anew and has no %s: the "
					  "target has ended, or has "
					  "not come back"
					: "the node has no data stream %s",
		    s->stream[0] != '\0' ? s->stream : "ALLOCLOG");
		/* A choice of ours may fall on another one next time. */
		s->by_index = false;
		session_go(s, s->opts.stream != NULL || s->reconnect.sought ?
		    SESSION_NAME : SESSION_CHOOSE, SESSION_SECOND);
		session_state(s, NODES_NO_ALLOCLOG, reason);
		return;
	case WIRE_E_AUTH:
		session_call_off(s);
		session_go(s, SESSION_STAND, 0);
		session_state(s, NODES_DENIED, text);
		return;
	default:
		snprintf(reason, sizeof reason, "the node refused (%u): %s",
		    e->code, text);
		s->retry_in = e->retry_ms != 0 ? wait : SESSION_SECOND;
		if (s->step == SESSION_LOAD)
			s->intake.again = true;
		session_say(s, "%s", reason);
		return;
	}
}

void
session_anew(struct nodes_session *s)
{
	session_call_off(s);
	s->by_index = false;
	s->look.armed_wall_ms = 0;
	/* What is shown until then is the list of before. */
	s->look.settled = false;
	session_go(s, SESSION_NAME, 0);
	session_resolve(s);
}

void
session_drained(struct nodes_session *s)
{
	switch (s->stream_state) {
	case WIRE_S_EXECED:
	case WIRE_S_NO_DATA:
		s->choice.follow = s->look.pid;
		s->choice.follow_tries = 0;
		if (s->choice.follow != 0) {
			session_go(s, SESSION_CHOOSE, 0);
			choose_ask(s);
			return;
		}
		break;
	case WIRE_S_CORRUPT:
		session_go(s, SESSION_STAND, 0);
		session_state(s, NODES_CORRUPT, "its ring was damaged: the "
		    "stream is detached");
		numbers_ask_stream(s, true);
		return;
	default:
		break;
	}
	session_go(s, SESSION_STAND, 0);
	session_state(s, NODES_ENDED, "");
	numbers_ask_stream(s, true);
	if (s->choice.open_for > 0 && !session_is_asking(s))
		choose_ask(s);
}

/* --- cycles ------------------------------------------------------------- */

/*
 * A node that is stopped or overloaded keeps the link open and says nothing.
 * Counted in cycles, not in time: a page that was stopped itself must not
 * blame the node.
 */
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
		    s->step == SESSION_STAND ? NODES_CONNECTING :
		    s->stream_state == WIRE_S_DORMANT ? NODES_DORMANT :
		    NODES_LIVE, "");
	}
}

void
session_measure(struct nodes_session *s)
{
	struct nodes_look *look = &s->look;

	look->cycle_us = (uint32_t)(s->clock.cycle_ns / 1000);
	if (look->cycle_us > look->cycle_us_max)
		look->cycle_us_max = look->cycle_us;
	look->cycle_records = s->clock.cycle_records;
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
		session_call_off(s);
		window_begin(s);
	} else if (s->intake.again) {
		session_call_off(s);
		intake_again(s);
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
		if (!session_is_asking(s))
			choose_ask(s);
		break;
	case SESSION_NAME:
		if (!session_is_asking(s))
			session_resolve(s);
		break;
	case SESSION_LOAD:
	case SESSION_FLOW:
	case SESSION_WINDOW:
		do_flow(s);
		break;
	case SESSION_STAND:
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
	    session_waits(s, SESSION_ASK_DATA) > 0) ||
	    (s->step == SESSION_WINDOW &&
	    session_waits(s, SESSION_ASK_ROWS) > 0))
		s->look.missed_cycles++;
	if (s->retry_in > 0)
		s->retry_in--;
	if (s->retry_in == 0)
		do_step(s);
	numbers_ask_stream(s, false);
	if (s->reconnect.known)
		names_send(&s->names);
	s->clock.cycle_ns += mono_diff_ns(mono_now(), begin);
}

/* --- the door ----------------------------------------------------------- */

static void
on_names(void *arg)
{
	struct nodes_session *s = arg;

	s->news(s->arg);
}

/* Everything that belongs to one stream, as before there was any. */
static int
reset(struct nodes_session *s, const struct nodes_session_opts *opts)
{
	struct blklist *list;
	struct nodes_look kept = s->look;
	int err;

	err = blklist_new(&list, BLKLIST_LITERAL, opts->max != 0 &&
	    opts->max < FIRST_MAX ? opts->max : FIRST_MAX);
	if (err < 0)
		return err;
	session_call_off(s);
	names_reset(&s->names);
	regions_reset(s);
	intake_fini(s);
	merge_init(&s->intake.merge);
	s->intake.list = s->intake.build = list;
	s->opts = *opts;
	snprintf(s->stream, sizeof s->stream, "%s",
	    opts->stream != NULL ? opts->stream : "");
	s->look = (struct nodes_look){
		.state = NODES_CONNECTING,
		.list = list,
		.types = &s->types.table,
		.stream_no = kept.stream_no + 1,
		.types_no = kept.types_no + 1,
		.status = -1,
		.complete = true,
		.linked = link_fault(s->link, NULL) == NODES_LIVE,
		.returns = link_returns(s->link, &kept.tries, &kept.retry_ms),
		.root_status = kept.root_status,
		.root_pid = kept.root_pid,
		.tree_ended = kept.tree_ended,
		.exec_error = kept.exec_error,
		.targets_live = kept.targets_live,
		.cycle_us_max = kept.cycle_us_max,
		.missed_cycles = kept.missed_cycles,
	};
	stream_types_init(&s->types.table);
	s->intake.again = s->losses.torn = s->losses.lossy = s->losses.mending =
	    s->by_index = false;
	s->losses.partial = s->losses.was_incomplete = false;
	s->intake.put_full = s->intake.build_full = 0;
	s->losses.mended = s->losses.seen = s->losses.bad =
	    s->intake.undo_seen = 0;
	s->choice.follow = 0;
	s->reconnect.known = s->reconnect.resuming = s->reconnect.sought =
	    s->intake.counting = false;
	s->choice.open_for = 0;
	s->choice.is_node = false;
	s->arming.wish = SESSION_NO_WISH;
	s->arming.due = !opts->look_only;
	s->arming.seen = 0;
	s->choice.rival = UINT32_MAX;
	s->choice.made = opts->pid != 0 || opts->stream != NULL;
	s->texts.said_for = 0;
	s->texts.target[0] = s->texts.reason[0] = '\0';
	memset(s->keeper, 0, sizeof s->keeper);
	s->click = s->intake.cursor = 0;
	s->clock.fresh_ms = 0;
	return 0;
}

static void
begin(struct nodes_session *s)
{
	/*
	 * The node's own standing first: what there is to choose from depends
	 * on it.
	 */
	session_go(s, s->opts.stream != NULL ? SESSION_NAME : SESSION_CHOOSE, 0);
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
	/* The other node may answer before the one that has the command. */
	s->running = s->run != NULL;
	s->reconnect.losses = link_losses(link);
	s->news = news;
	s->arg = arg;
	s->look.root_status = -1;
	err = names_init(&s->names, link, on_names, s);
	if (err < 0) {
		free(s);
		return err;
	}
	err = reset(s, opts);
	if (err < 0) {
		names_fini(&s->names);
		free(s);
		return err;
	}
	begin(s);
	*out = s;
	return 0;
}

void
nodes_session_close(struct nodes_session *s)
{
	if (s == NULL)
		return;
	session_call_off(s);
	names_fini(&s->names);
	intake_fini(s);
	free(s);
}

int
nodes_session_switch(struct nodes_session *s,
    const struct nodes_session_opts *opts)
{
	int err;

	err = reset(s, opts);
	if (err < 0)
		return err;
	begin(s);
	return 0;
}

void
nodes_session_stay(struct nodes_session *s, bool stay)
{
	s->choice.stay = stay;
}

/* Or will be again. */
static bool
is_there(const struct nodes_link *link)
{
	unsigned tries;
	int64_t in_ms;

	return link_fault(link, NULL) == NODES_LIVE ||
	    link_returns(link, &tries, &in_ms);
}

const struct nodes_look *
nodes_session_look(struct nodes_session *s)
{
	struct nodes_look *look = &s->look;

	/* How a command ended is known to whoever ran it. */
	if (s->run != NULL && look->status < 0 && look->ended_wall_ms != 0 &&
	    look->pid == look->root_pid)
		look->status = look->root_status;
	look->run_linked = is_there(s->run != NULL ? s->run : s->link);
	look->as_of = s->intake.cursor > 0 ? s->intake.cursor - 1 : 0;
	look->node_name = link_called(s->link, &look->node_number);
	look->target_name = s->texts.target;
	look->output = s->texts.output;
	look->trouble = s->texts.trouble;
	look->socket = s->texts.socket;
	look->keeper = s->keeper;
	look->node = s->node;
	numbers_check_whole(s);
	regions_look(s);
	look->reason = look->state != NODES_LIVE ? s->texts.reason :
	    s->texts.said_for > 0 ? s->texts.said : "";
	if (!link_returns(s->link, &look->tries, &look->retry_ms))
		look->retry_ms = 0;
	look->stale_ms = s->clock.fresh_ms != 0
			     ? mono_ms(mono_now()) - s->clock.fresh_ms
			     : 0;
	look->node_wall_ms = look->now_ms == 0 ? base_wall_ms() :
	    look->now_ms + s->clock.wall_off_ms;
	return look;
}

bool
nodes_session_stack(struct nodes_session *s, uint64_t caller,
    struct nodes_stack *stack)
{
	return names_stack(&s->names, caller, stack);
}

const struct wire_words *
nodes_session_words(struct nodes_session *s, uint64_t frame)
{
	return names_words(&s->names, frame);
}

size_t
nodes_session_symbols_pending(const struct nodes_session *s)
{
	return names_pending(&s->names);
}

void
nodes_session_effort(const struct nodes_session *s, struct nodes_effort *e)
{
	const struct answers *of[] = { &s->names.threads, &s->names.stacks,
		&s->names.words };
	size_t i;

	*e = (struct nodes_effort){ .kept = 0 };
	link_bytes(s->link, &e->sent, &e->received);
	for (i = 0; i < BASE_NELEM(of); i++) {
		e->hits += of[i]->hits;
		e->misses += of[i]->misses;
		e->kept += of[i]->entries.n;
	}
}

uint64_t
nodes_session_names_no(const struct nodes_session *s)
{
	return s->names.answers;
}

const char *
nodes_session_fetching(const struct nodes_session *s)
{
	return s->names.fetching;
}

const char *
nodes_session_thread(struct nodes_session *s, uint16_t thread)
{
	return names_thread(&s->names, thread);
}

/* END is a wish: what comes of it is seen as the stream's end. */
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
		.end = { .index = s->index },
	};

	if (s->step < SESSION_LOAD)
		return -ENOENT;
	memcpy(msg.end.epoch, s->epoch, WIRE_EPOCH);
	return session_ask(s, SESSION_ASK_END, &msg);
}
