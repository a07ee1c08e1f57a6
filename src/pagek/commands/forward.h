/*
 * forward: signals sent to `pagek run -b` go on to its command.
 *
 * What a terminal sends reaches the command's process anyway, for it is in the
 * same group: such a signal is not doubled.  Kernel and process tell which is
 * which (si_code).  Signals that were ignored when pagek started stay so.
 *
 * Example
 *	forward_open(loop);
 *	...				the command is started
 *	forward_to(pid);
 *	...				and has ended
 *	forward_close();
 *	uv_run(loop, UV_RUN_NOWAIT);
 */
#ifndef PAGEK_FORWARD_H
#define PAGEK_FORWARD_H

#include <sys/types.h>
#include <uv.h>

/* One at a time in a process.  0 or a negative errno. */
int forward_open(uv_loop_t *);
/* The command's process, once it is known; earlier signals go to it then. */
void forward_to(pid_t);
/* Signals are taken as before; the loop has then to run once more. */
void forward_close(void);

#endif
