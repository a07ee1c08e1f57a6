/*
 * replay: a part of a capture as the source of a keeper, in place of a process.
 * The clock of its records is the time line, which stands, runs, or is set by
 * the message REPLAY.  So a page shows a capture in all ways in which it shows a
 * target.  The page's side is in session/replay.c, its keys in
 * pagek/app/replay_keys.c, and the text of the time line in pagek/layout/states.c.
 *
 *	replay.c	the time line, and the events that it passes
 *	names.h		sites, modules, threads, types and marks of the part
 *	marks.c		the marks
 *
 * Vocabulary
 *	moment		a number of an event, which is the next one, and a time.
 *	going		a later moment is the goal: events are applied for a while in
 *			each visit.
 *	setting		the keeper's list begins again with that of the capture at an
 *			earlier moment: the stream has another epoch.
 *	past		events before the moment that are applied after a setting, so
 *			that undos and detail have what they remove.
 *
 * A capture that is still written, or whose writer was killed, is opened again at
 * its end, as far as it has grown.
 */
#ifndef NODES_REPLAY_H
#define NODES_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../stream/wire/wire.h"

struct keeper;
struct node_stress_sample;
struct node;

#define REPLAY_SPEED_ONE 1000		/* thousandths: as the clock ran */
#define REPLAY_SPEED_MAX (1000 * REPLAY_SPEED_ONE)

/* Opens node->opts.replay and shows its moment.  Reports what fails. */
int replay_start(struct node *);
/* More than once does no harm. */
void replay_close(struct node *);

/*
 * Does what REPLAY asks for.  `why`: what the user should know; "" nothing.
 * -EINVAL: that is no moment; -ENOTSUP: this node replays nothing; errors of
 * capture_seek().
 */
int replay_ask(struct node *, const struct wire_replay *, char *why, size_t cap);

/* Fills in WIRE_N_REPLAY and the following numbers, of the keeper that replays. */
void replay_stat(const struct keeper *, uint64_t n[WIRE_STATS_COUNT]);
/* Counts were asked for, and the events before the moment are not in them yet. */
bool replay_lacks_counts(const struct node *);
/* The sample of heap stress at the moment.  -ENODATA: the capture has none. */
int replay_stress(const struct node *, struct node_stress_sample *);
/* The clocks of WELCOME, as they were in the capture. */
void replay_clocks(const struct node *, uint64_t *mono_ns, uint64_t *utc_ns);

#endif
