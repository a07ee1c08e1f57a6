/*
 * run: commands that start a program and watch it to its end.
 *
 *	cmd_run.c	run, and its exit status
 *	cmd_record.c	record, of a new program or of a target
 *	record_there.c	record, of a target on another machine
 *	forward.c	signals for the program
 */
#ifndef PAGEK_COMMANDS_RUN_H
#define PAGEK_COMMANDS_RUN_H

#include "../../batch/batch.h"

/* --- a command that is run (cmd_run.c) ----------------------------------- */

/* For pump(), with the session: the last process of the tree has ended ... */
bool run_has_ended(void *session);
/* ... and the watched stream is read to its end, or there is none. */
bool run_is_read(void *session);
/* The same; meanwhile signals go to the first process. */
bool run_forwards(void *session);

/* Reports the command's end.  A status like a shell's; 125: not known. */
int run_tell_end(const struct nodes_look *, const char *command);

/* --- a recording on another machine (record_there.c) ------------------------ */

/* Runs pagek record at the ssh target, until that ends or a signal comes. */
int record_there(const struct options *);

/* --- signals for the command (forward.c) ----------------------------------- */

/*
 * Forwards signals sent to `pagek run -b` to its command, but neither those of
 * the terminal (by si_code), which reach the whole process group, nor those
 * that were ignored when pagek started.  One at a time in a process. 0 or a
 * negative errno.
 */
int forward_open(uv_loop_t *);
/* Sets the command's process; earlier signals are sent to it now. */
void forward_to(pid_t, struct nodes_session *);
/* Restores the handlers; run the loop once more after it. */
void forward_close(void);

#endif
