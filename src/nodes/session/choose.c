/* The stream of the options, a young tree's best, or the one after an exec. */
#include <stdio.h>
#include <string.h>

#include "../link/link.h"
#include "state.h"

/* In cycles: */
#define SOON 1			/* between looks for a first process */
#define FOLLOW_TRIES (2 * SESSION_SECOND)	/* for the image after an exec */
#define CHOICE_FOR (2 * SESSION_SECOND)	/* the choice may change in a young tree */
#define CHOICE_EVERY 3		/* between choices then */

/* There is no stream to watch yet: sets the reason and the next try. */
static void
set_no_stream(struct nodes_session *s)
{
	char reason[200];

	if (s->running && !s->look.command.tree_ended) {
		session_set_step(s, SESSION_CHOOSE, SOON);
		session_state(s, NODES_CONNECTING,
		    "waiting for the command's first process");
		return;
	}
	session_set_step(s, SESSION_CHOOSE, SESSION_SECOND);
	if (s->look.command.exec_error != 0)
		snprintf(reason, sizeof reason, "the command could not be "
		    "run: %s", strerror(s->look.command.exec_error));
	else if (s->look.command.tree_ended)
		snprintf(reason, sizeof reason, "the command has ended, and "
		    "none of its processes could be watched");
	else if (s->opts.pid != 0)
		snprintf(reason, sizeof reason, "the node has no stream of "
		    "process %ld", (long)s->opts.pid);
	else
		snprintf(reason, sizeof reason, "the node has no data stream "
		    "ALLOCLOG");
	session_state(s, s->look.command.tree_ended ? NODES_NO_DATA :
	    NODES_NO_ALLOCLOG, reason);
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

/*
 * A command is often a script around the program that is meant: the choice
 * changes while its tree is young. A rival must be there at two looks, unless
 * the chosen stream has ended.
 */
static void
choose_again(struct nodes_session *s, const struct nodes_target *best)
{
	bool seen_before, dormant;

	if (best == NULL || (s->choice.is_node && s->choice.stay))
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
	if (best->index == s->stream.index ||
	    (!seen_before && s->step != SESSION_IDLE))
		return;
	session_cancel(s);
	names_reset(&s->names);
	s->arming.due = !s->opts.look_only;
	if (s->choice.is_node)
		session_say(s, "%s has started and is watched", best->comm);
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
	const struct nodes_target *best;

	s->asks[SESSION_ASK_TARGETS].in_flight = 0;
	if (err < 0) {
		if (s->step == SESSION_CHOOSE)
			s->retry_in = SESSION_SECOND;
		return;
	}
	best = targets_best(t, n,
	    s->choice.follow != 0 ? s->choice.follow : s->opts.pid, s->run);
	if (s->step >= SESSION_LOAD)
		choose_again(s, best);
	else if (s->choice.follow != 0)
		take_follower(s, best);
	else if (best != NULL)
		take_choice(s, best);
	else
		set_no_stream(s);
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
	else if (s->choice.is_node && !s->choice.stay &&
		 s->look.command.targets_live > 0)
		due = s->clock.cycle % CHOICE_EVERY == 0;
	if (due && s->step >= SESSION_LOAD && !session_is_resolving(s) &&
	    s->opts.pid == 0 && s->opts.stream == NULL)
		choose_ask(s);
}
