#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../host/proc.h"
#include "command.h"

static void send_line(struct reaper *, const char *, ...)
    __attribute__((format(printf, 2, 3)));

/* A message is lost only if its reader is dead; the next one is told everything. */
static void
send_line(struct reaper *w, const char *format, ...)
{
	char text[64];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	if (w->channel >= 0)
		(void)send(w->channel, text, (size_t)n, MSG_NOSIGNAL |
		    MSG_DONTWAIT);
}

static void
tell_start(struct reaper *w)
{
	const struct command *c = w->command;

	if (c->error != 0)
		send_line(w, REAPER_NOTRUN "%d %d", c->error, (int)w->status);
	else
		send_line(w, REAPER_STARTED "%d %d", (int)c->pid,
		    (int)w->status);
}

int
reaper_begin(struct reaper *w, struct command *command)
{
	*w = (struct reaper){ .command = command, .channel = -1, .status = -1 };
	return prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 ? -errno : 0;
}

void
reaper_set_node(struct reaper *w, pid_t node, int channel)
{
	if (w->command == NULL)
		return;
	w->node = node;
	w->channel = channel;
	w->shown = 0;
	if (w->run)
		tell_start(w);
	if (w->over)
		send_line(w, REAPER_OVER);
	reaper_look(w);
}

static int32_t
wait_status(const siginfo_t *info)
{
	switch (info->si_code) {
	case CLD_EXITED:
		return W_EXITCODE(info->si_status & 0xff, 0);
	case CLD_DUMPED:
		return info->si_status | WCOREFLAG;
	default:
		return info->si_status;
	}
}

/*
 * Exact: only we reap, so the node's process is one of our children, and an orphan
 * is before its parent is reaped.  /proc may have other numbers for them, as in a
 * namespace without a /proc of its own.
 */
static bool
is_alone(const struct reaper *w)
{
	size_t n = proc_own_children();

	/* Without the kernel's list, the command's own end counts. */
	return n == 0 ? w->status >= 0 : n == 1;
}

void
reaper_look(struct reaper *w)
{
	siginfo_t info = { .si_pid = 0 };

	if (w->command == NULL || !w->run || w->over || w->shown != 0)
		return;
	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	    info.si_pid != 0) {
		if (info.si_pid == w->node)
			return;
		w->shown = info.si_pid;
		send_line(w, REAPER_ENDED "%d %d", (int)info.si_pid,
		    (int)wait_status(&info));
	} else if (is_alone(w)) {
		w->over = true;
		send_line(w, REAPER_OVER);
	}
}

static void
reap(struct reaper *w, pid_t pid)
{
	const struct command *c = w->command;
	int status;

	if (pid == 0 || pid != w->shown)
		return;
	w->shown = 0;
	if (waitpid(pid, &status, WNOHANG) == pid && w->status < 0 &&
	    (pid == c->pid || c->pid == 0))
		w->status = status;
	reaper_look(w);
}

int
reaper_take_line(struct reaper *w, const char *line)
{
	int pid, r;

	if (w->command == NULL)
		return 0;
	if (sscanf(line, REAPER_REAP "%d", &pid) == 1)
		reap(w, pid);
	if (strcmp(line, REAPER_RUN) != 0 || w->run)
		return 0;
	r = command_start(w->command);
	if (r < 0) {
		w->command->error = -r;
		w->status = W_EXITCODE(CANNOT_RUN, 0);
	}
	w->run = true;
	command_release_stdio();
	tell_start(w);
	if (w->signal != 0 && w->command->pid != 0)
		kill(w->command->pid, w->signal);
	reaper_look(w);
	return r;
}

void
reaper_hear_signal(struct reaper *w, const struct signalfd_siginfo *info)
{
	if (info->ssi_signo >= REAPER_SIGNALS)
		return;
	w->heard[info->ssi_signo].from = (pid_t)info->ssi_pid;
	w->heard[info->ssi_signo].ms = mono_ms(mono_now());
}

/* True if the command has this signal already, by its group. */
static bool
is_groups(const struct reaper *w, int sig, int64_t now)
{
	return w->heard[sig].ms != 0 &&
	    w->heard[sig].from == w->heard[sig].asked_from &&
	    now - w->heard[sig].ms < REAPER_GROUP_MS;
}

/* The signal that is to be passed on first; 0: none. */
static int
first_asked(const struct reaper *w)
{
	int first = 0;

	for (int sig = 1; sig < REAPER_SIGNALS; sig++)
		if (w->heard[sig].due_ms != 0 && (first == 0 ||
		    w->heard[sig].no < w->heard[first].no))
			first = sig;
	return first;
}

void
reaper_pass_signal(struct reaper *w, const struct signalfd_siginfo *info)
{
	int64_t now = mono_ms(mono_now());
	int sig = info != NULL ? SIGNAL_PASS_SIG(info->ssi_int) : 0;

	if (sig > 0 && sig < REAPER_SIGNALS) {
		w->heard[sig].asked_from = SIGNAL_PASS_FROM(info->ssi_int);
		w->heard[sig].due_ms = now + REAPER_WAIT_MS;
		w->heard[sig].no = ++w->asked;
	}
	/* In the order in which they were asked for. */
	while ((sig = first_asked(w)) != 0 && w->heard[sig].due_ms <= now) {
		if (!is_groups(w, sig, now) && w->command->pid != 0 &&
		    w->status < 0)
			kill(w->command->pid, sig);
		w->heard[sig].due_ms = 0;
	}
}

int
reaper_pass_timeout(const struct reaper *w)
{
	int first = first_asked(w);
	int64_t wait;

	if (first == 0)
		return -1;
	wait = w->heard[first].due_ms - mono_ms(mono_now());
	return wait > 0 ? (int)wait : 0;
}

/* A page passes signals on by reaper_pass_signal(). */
bool
reaper_takes_signal(struct reaper *w, int sig)
{
	const struct command *c = w->command;

	if (c == NULL || w->over)
		return false;
	if (!c->reports)
		return true;
	if (!w->run)
		w->signal = sig;
	else if (w->status < 0 && c->pid != 0)
		kill(c->pid, sig);
	return true;
}
