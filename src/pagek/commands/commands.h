/*
 * commands: one function for each command of the command line, and what they
 * share.  Each returns the exit status of the program and has said on standard
 * error what went wrong.
 *
 *	cmd_NAME.c	a command each: cmd_top() and its like
 *	moment.c	what a target holds at one moment, for sums and trees
 *	forward.c	signals that go on to the command that is run
 *
 * `pagek check` has a room of its own, above this one.
 *
 * Example: all of a command that looks at a list, beside its row of commands.def,
 * rows of options.def for options of its own, and its place in pagek(1)
 *	static int
 *	look(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
 *	{
 *		FILE *out = output_open(o->output);
 *		...
 *		return output_close(out, o->output, PAGEK_OK);
 *	}
 *
 *	int
 *	cmd_look(const struct options *o, uv_loop_t *loop)
 *	{
 *		return batch_watch(o, loop, look);
 *	}
 */
#ifndef PAGEK_COMMANDS_H
#define PAGEK_COMMANDS_H

#include <stdio.h>

#include "../batch/batch.h"
#include "../cli/cli.h"

/* --- a command that is run (cmd_run.c) ----------------------------------- */

/* For pump(), with the session: the last process of the tree has ended ... */
bool run_has_ended(void *session);
/* ... and the watched stream is read to its end, or there is none. */
bool run_is_read(void *session);

/*
 * Says what is to be said of the end, and the status: as a shell tells it, 125
 * when it is not known.
 */
int run_tell_end(const struct nodes_look *, const char *command);

#endif
