/*
 * commands: one function for each command of the command line, and what they
 * share.  A command reports errors on standard error and returns the exit status
 * of the program.
 *
 *	cmd_NAME.c	the command NAME.  Files for more than one:
 *	cmd_arm.c	arm, disarm
 *	cmd_mark.c	mark, marks
 *
 * Rooms of more commands
 *	run/		run, record
 *	snapshot/	tree, export: a target's blocks at one moment
 *	dumps/		dump, history, diff, stats, mdd-dump, usage: debug data and captures
 *	stress/		stress
 *	check/, refcnt/, stale/	the commands of their names
 *
 * Example: a command that lists blocks.  It needs a row of
 * ../cli/commands.def, rows of ../cli/options.def for its own options, and a
 * section of pagek(1)
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

#include "../batch/batch.h"

/* --- lists (cmd_list.c) ---------------------------------------------------- */

/*
 * Writes the target's blocks as `pagek list` does, into that stream; NULL: into
 * the file of -o.  Returns the exit status.
 */
int list_write(const struct options *, uv_loop_t *, struct nodes_session *,
    FILE *);

#endif
