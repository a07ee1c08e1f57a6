/*
 * Which stream a session watches: the one that was asked for, the best of a
 * young tree, or the newer image of a process that called exec.
 */
#include <stdio.h>
#include <string.h>

#include "../link/link.h"
#include "state.h"

#define SOON 1			/* cycles between looks for a first process */
#define FOLLOW_TRIES (2 * SESSION_SECOND)	/* one a cycle, for the image after an exec */
#define CHOICE_FOR (2 * SESSION_SECOND)	/* while a young tree grows */
#define CHOICE_EVERY 3		/* ... it is chosen from this often */

/* Nothing to watch so far: why, and when to look again. */
static void
nothing_yet(struct nodes_session *s)
{
	char reason[200];

	if (s->running && !s->look.tree_ended) {
		session_go(s, SESSION_CHOOSE, SOON);
		session_state(s, NODES_CONNECTING,
		    "waiting for the command's first process");
		return;
	}
	session_go(s, SESSION_CHOOSE, SESSION_SECOND);
	if (s->look.exec_error != 0)
		snprintf(reason, sizeof reason, "the command could not be "
		    "run: %s", strerror(s->look.exec_error));
	else if (s->look.tree_ended)
		snprintf(reason, sizeof reason, "the command has ended, and "
		    "none of its processes could be watched");
	else if (s->opts.pid != 0)
		snprintf(reason, sizeof reason, "the node has no stream of "
		    "process %ld", (long)s->opts.pid);
	else
		snprintf(reason, sizeof reason, "the node has no data stream "
		    "ALLOCLOG");
	session_state(s, s->look.tree_ended ? NODES_NO_DATA :
	    NODES_NO_ALLOCLOG, reason);
}

static void
take_choice(struct nodes_session *s, const struct nodes_target *t)
{
	s->index = t->index;
	s->by_index = true;
	snprintf(s->stream, sizeof s->stream, "%s", t->name);
	s->look.pid = t->pid;
	snprintf(s->texts.target, sizeof s->texts.target, "%s", t->comm);
	if (t->state == WIRE_S_NO_DATA) {
		/* Something better may come: it is looked for every second. */
		session_go(s, SESSION_CHOOSE, SESSION_SECOND);
		session_state(s, NODES_NO_DATA, t->reason);
		return;
	}
	if (s->running && s->choice.open_for == 0 && !s->choice.made)
		s->choice.open_for = CHOICE_FOR;
	s->choice.made = true;
	/* A generator has no process either, but counts as a target. */
	s->choice.is_node = t->pid == 0 && s->opts.pid == 0 &&
	    s->opts.stream == NULL && s->look.targets_live == 0;
	session_go(s, SESSION_NAME, 0);
	session_resolve(s);
}

/*
 * A command that we start is often a script around the program that is meant:
 * at first the choice goes with the tree, then it stays.  Whatever is gone by
 * the next look was not meant; but an end is left for anything that lives.
 */
static void
choose_again(struct nodes_session *s, const struct nodes_target *best)
{
	bool seen_before, dormant;

	if (best == NULL || (s->choice.is_node && s->choice.stay))
		return;
	/* One that sleeps is better than one that has ended, and no more. */
	dormant = best->state == WIRE_S_DORMANT &&
	    (s->step == SESSION_STAND || s->choice.is_node);
	if (best->state != WIRE_S_LIVE && !dormant)
		return;
	seen_before =
	    best->index == s->choice.rival && best->pid == s->choice.rival_pid;
	s->choice.rival = best->index;
	s->choice.rival_pid = best->pid;
	if (best->index == s->index ||
	    (!seen_before && s->step != SESSION_STAND))
		return;
	session_call_off(s);
	names_reset(&s->names);
	s->arming.due = !s->opts.look_only;
	if (s->choice.is_node)
		session_say(s, "%s has come and is watched", best->comm);
	take_choice(s, best);
}

/*
 * The watched image has called exec, or was dormant to its end, which may have
 * been an exec: the newer image of its pid, if there.
 */
static void
take_follower(struct nodes_session *s, const struct nodes_target *t)
{
	if (t != NULL && t->state != WIRE_S_EXECED && t->index != s->index) {
		names_reset(&s->names);
		take_choice(s, t);
		return;
	}
	if (t != NULL && t->state == WIRE_S_NO_DATA)
		session_state(s, NODES_NO_DATA, t->reason);
	/* What the last answer may not have had yet, the next one has. */
	if (s->look.tree_ended && s->choice.follow_tries < FOLLOW_TRIES - 2)
		s->choice.follow_tries = FOLLOW_TRIES - 2;
	if (++s->choice.follow_tries < FOLLOW_TRIES) {
		session_go(s, SESSION_CHOOSE, 1);
		return;
	}
	s->choice.follow = 0;
	if (t != NULL && t->state == WIRE_S_NO_DATA) {
		take_choice(s, t);
		return;
	}
	session_go(s, SESSION_STAND, 0);
	session_state(s, NODES_ENDED, "it called exec, and the new image is "
	    "not watched");
}

static void
on_targets(void *arg, int err, const struct nodes_target *t, size_t n)
{
	struct nodes_session *s = arg;
	const struct nodes_target *best;

	s->asks[SESSION_ASK_TARGETS].sent = 0;
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
		nothing_yet(s);
}

void
choose_ask(struct nodes_session *s)
{
	s->asks[SESSION_ASK_TARGETS].sent =
	    targets_ask(s->link, s, on_targets, s) == 0;
}

/*
 * At first the choice goes with the tree, now and then.  Who looks at the node
 * itself waits for a target, and asks for it when the node has one.
 */
void
choose_cycle(struct nodes_session *s)
{
	bool due = false;

	if (s->choice.open_for > 0)
		due = --s->choice.open_for % CHOICE_EVERY == 0;
	else if (s->choice.is_node && !s->choice.stay &&
		 s->look.targets_live > 0)
		due = s->clock.cycle % CHOICE_EVERY == 0;
	if (due && s->step >= SESSION_LOAD && !session_is_asking(s) &&
	    s->opts.pid == 0 && s->opts.stream == NULL)
		choose_ask(s);
}
