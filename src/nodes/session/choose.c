/* The stream of the options, a young tree's best, or the one after an exec. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "../link/link.h"
#include "state.h"

/* In cycles: */
#define SOON 1			/* between looks for a first process */
#define FOLLOW_TRIES (2 * SESSION_SECOND)	/* for the image after an exec */
#define CHOICE_FOR (2 * SESSION_SECOND)	/* the choice may change in a young tree */
#define CHOICE_EVERY 3		/* between choices then */

/*
 * The last process of the command that could not be watched; a live one goes
 * before an ended one.
 */
static const struct nodes_target *
unwatched_process(const struct nodes_session *s, const struct nodes_target *t,
    size_t n)
{
	const struct nodes_target *last = NULL;

	for (size_t i = 0; i < n; i++) {
		if (t[i].state != WIRE_S_NO_DATA || t[i].pid == 0 ||
		    (s->run != NULL && !nodes_target_of_run(t, n, i, s->run)))
			continue;
		if (last == NULL || !t[i].ended || last->ended)
			last = &t[i];
	}
	return last;
}

/* Writes why there is no stream to watch. */
static void
no_stream_reason(const struct nodes_session *s, const struct nodes_target *t,
    size_t n, char *reason, size_t cap)
{
	const struct nodes_target *missed = unwatched_process(s, t, n);
	const char *ended = s->look.command.tree_ended ?
	    "the command has ended; " : "";

	if (s->look.command.not_run)
		snprintf(reason, cap, "%s", s->texts.trouble);
	else if (missed != NULL)
		snprintf(reason, cap, "%s%s[%ld] %s not watched: %s", ended,
		    missed->comm, (long)missed->pid, ended[0] != '\0' ?
		    "was" : "is", missed->reason);
	else if (ended[0] != '\0')
		snprintf(reason, cap, "the command has ended, and "
		    "none of its processes could be watched");
	else if (s->opts.pid != 0)
		snprintf(reason, cap, "the node has no stream of "
		    "process %ld", (long)s->opts.pid);
	else
		snprintf(reason, cap, "the node has no data stream "
		    "ALLOCLOG");
}

/* There is no stream to watch yet: sets the reason and the next try. */
static void
set_no_stream(struct nodes_session *s, const struct nodes_target *t, size_t n)
{
	bool waits = s->running && !s->look.command.tree_ended, no_data;
	char reason[320];

	/* The node scans all processes each second, and may find a reason. */
	session_set_step(s, SESSION_CHOOSE, waits ? SOON : SESSION_SECOND);
	no_data = s->look.command.tree_ended ||
	    s->look.command.not_run ||
	    (waits && unwatched_process(s, t, n) != NULL);
	if (waits && !no_data) {
		session_state(s, NODES_CONNECTING,
		    "waiting for the command's first process");
		return;
	}
	no_stream_reason(s, t, n, reason, sizeof reason);
	session_state(s, no_data ? NODES_NO_DATA : NODES_NO_ALLOCLOG, reason);
}

static void
take_choice(struct nodes_session *s, const struct nodes_target *t)
{
	s->stream.index = t->index;
	s->stream.by_index = true;
	snprintf(s->stream.name, sizeof s->stream.name, "%s", t->name);
	s->look.target.pid = t->pid;
	snprintf(s->texts.target, sizeof s->texts.target, "%s", t->comm);
	if (t->state == WIRE_S_NO_DATA) {
		/* A better one may come. */
		session_set_step(s, SESSION_CHOOSE, SESSION_SECOND);
		session_state(s, NODES_NO_DATA, t->reason);
		return;
	}
	if (s->running && s->choice.open_for == 0 && !s->choice.chosen)
		s->choice.open_for = CHOICE_FOR;
	s->choice.chosen = true;
	/* A generator has no process either, but counts as a target. */
	s->choice.is_node = t->pid == 0 && s->opts.pid == 0 &&
	    s->opts.stream == NULL && s->look.command.targets_live == 0;
	session_set_step(s, SESSION_NAME, 0);
	session_resolve(s);
}

/* The stream has ended; the page still shows its last blocks. */
static bool
has_ended(const struct nodes_session *s)
{
	return s->step == SESSION_IDLE && s->look.state == NODES_ENDED;
}

/* was: the target that is left; NULL: the node has no row of it any more. */
static void
say_next(struct nodes_session *s, const struct nodes_target *was,
    const struct nodes_target *next)
{
	const char *advice = was != NULL ? nodes_death_advice(was->status) : "";

	if (s->choice.is_node)
		session_say(s, "%s has started and is watched", next->comm);
	else if (has_ended(s))
		session_say(s, "%s[%ld] has ended, %s[%ld] is watched%s%s",
		    s->texts.target, (long)s->look.target.pid, next->comm,
		    (long)next->pid, advice[0] != '\0' ? ".  It was ended "
		    "by " : "", advice);
	/* Until there is something else to say. */
	if (advice[0] != '\0')
		s->texts.said_for = UINT_MAX;
}

/*
 * A command is often a script around the program that is meant.  So the choice
 * may change while its tree is young, and when the chosen stream has ended.  A
 * stream is left only for one that was the best in two answers: a shell often
 * ends just after its last command.
 */
static void
choose_again(struct nodes_session *s, const struct nodes_target *was,
    const struct nodes_target *best)
{
	bool seen_before, dormant;

	if (best == NULL ||
	    (s->choice.stay && (s->choice.is_node || has_ended(s))))
		return;
	/* A dormant target is better than an ended one only. */
	dormant = best->state == WIRE_S_DORMANT &&
	    (s->step == SESSION_IDLE || s->choice.is_node);
	if (best->state != WIRE_S_LIVE && !dormant)
		return;
	seen_before =
	    best->index == s->choice.rival && best->pid == s->choice.rival_pid;
	s->choice.rival = best->index;
	s->choice.rival_pid = best->pid;
	if (best->index == s->stream.index || !seen_before)
		return;
	session_cancel(s);
	names_reset(&s->names);
	s->arming.due = !s->opts.look_only;
	say_next(s, was, best);
	if (has_ended(s))
		s->choice.open_for = CHOICE_FOR;
	take_choice(s, best);
}

/* After an exec, or an end while dormant: switches to the pid's newer image. */
static void
take_follower(struct nodes_session *s, const struct nodes_target *t)
{
	if (t != NULL && t->state != WIRE_S_EXECED && t->index != s->stream.index) {
		names_reset(&s->names);
		take_choice(s, t);
		return;
	}
	if (t != NULL && t->state == WIRE_S_NO_DATA)
		session_state(s, NODES_NO_DATA, t->reason);
	/* The next answer is complete. */
	if (s->look.command.tree_ended && s->choice.follow_tries < FOLLOW_TRIES - 2)
		s->choice.follow_tries = FOLLOW_TRIES - 2;
	if (++s->choice.follow_tries < FOLLOW_TRIES) {
		session_set_step(s, SESSION_CHOOSE, 1);
		return;
	}
	s->choice.follow = 0;
	if (t != NULL && t->state == WIRE_S_NO_DATA) {
		take_choice(s, t);
		return;
	}
	session_set_step(s, SESSION_IDLE, 0);
	session_state(s, NODES_ENDED, "it called exec, and the new image is "
	    "not watched");
}

static void
on_targets(void *arg, int err, const struct nodes_target *t, size_t n)
{
	struct nodes_session *s = arg;
	const struct nodes_target *best, *was = NULL;

	s->asks[SESSION_ASK_TARGETS].in_flight = 0;
	if (err < 0) {
		if (s->step == SESSION_CHOOSE)
			s->retry_in = SESSION_SECOND;
		return;
	}
	best = targets_best(t, n,
	    s->choice.follow != 0 ? s->choice.follow : s->opts.pid, s->run);
	for (size_t i = 0; i < n; i++)
		if (t[i].index == s->stream.index &&
		    t[i].pid == s->look.target.pid)
			was = &t[i];
	if (s->step >= SESSION_LOAD)
		choose_again(s, was, best);
	else if (s->choice.follow != 0)
		take_follower(s, best);
	else if (best != NULL)
		take_choice(s, best);
	else
		set_no_stream(s, t, n);
}

void
choose_ask(struct nodes_session *s)
{
	s->asks[SESSION_ASK_TARGETS].in_flight =
	    targets_ask(s->link, s, on_targets, s) == 0;
}

void
choose_cycle(struct nodes_session *s)
{
	bool due = false;

	if (s->choice.open_for > 0)
		due = --s->choice.open_for % CHOICE_EVERY == 0;
	else if ((s->choice.is_node || (s->running && has_ended(s))) &&
		 !s->choice.stay && s->look.command.targets_live > 0)
		due = s->clock.cycle % CHOICE_EVERY == 0;
	if (due && s->step >= SESSION_LOAD && !session_is_resolving(s) &&
	    s->opts.pid == 0 && s->opts.stream == NULL)
		choose_ask(s);
}
