#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../../base/base.h"
#include "../../cli/cli.h"
#include "run.h"

#define WORDS (6 * PATH_MAX)	/* a quote in a path takes four bytes */
#define SSH_FAILED 255
#define END_S 3			/* from SIGTERM to SIGKILL */
#define SHELL_NOT_FOUND 127

/* For the remote shell, which takes them as one line. */
struct words {
	char text[WORDS];
	size_t len;
};

static void
add_word(struct words *w, const char *word)
{
	char quoted[5 * PATH_MAX];

	nodes_ssh_quote(quoted, sizeof quoted, word);
	base_append(w->text, sizeof w->text, &w->len, "%s%s",
	    w->len > 0 ? " " : "", quoted);
}

static void add_option(struct words *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
add_option(struct words *w, const char *fmt, ...)
{
	char word[64];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(word, sizeof word, fmt, ap);
	va_end(ap);
	add_word(w, word);
}

/* pagek is beside pageknode. */
static void
add_pagek(struct words *w, const char *pageknode)
{
	const char *slash = pageknode != NULL ? strrchr(pageknode, '/') : NULL;
	char path[PATH_MAX] = "pagek";

	if (slash != NULL)
		snprintf(path, sizeof path, "%.*spagek",
		    (int)(slash + 1 - pageknode), pageknode);
	add_word(w, path);
}

/* Its input is a pipe whose end is the end of the recording.  -1: none. */
static pid_t
start_ssh(const char *host, const char *line, int *input)
{
	const char *argv[] = { "ssh", "-T", "-x", "-a",
		"-o", "ServerAliveInterval=3", "-o", "ServerAliveCountMax=2",
		"-o", "ClearAllForwardings=yes", "-o", "RemoteCommand=none",
		"-o", "PermitLocalCommand=no", "--", host, line, NULL };
	sigset_t none;
	pid_t pid;
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		/* ^C ends the recording, which then tells its numbers. */
		signal(SIGINT, SIG_IGN);
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		if (dup2(fd[0], STDIN_FILENO) >= 0 &&
		    dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
			execvp(argv[0], (char **)(uintptr_t)argv);
		_exit(errno == ENOENT ? SHELL_NOT_FOUND : SSH_FAILED);
	}
	close(fd[0]);
	if (pid < 0)
		close(fd[1]);
	else
		*input = fd[1];
	return pid;
}

/*
 * Until ssh has ended.  A signal ends its input, a second one ends ssh, and it is
 * killed by a third one or when it has not ended soon.  Its wait status.
 */
static int
await_ssh(pid_t pid, int input, const sigset_t *signals)
{
	const struct timespec soon = { .tv_sec = END_S };
	int status = 0, sig;
	unsigned asked = 0;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		sig = sigtimedwait(signals, NULL, asked > 1 ? &soon : NULL);
		if (sig == SIGCHLD || (sig < 0 && errno != EAGAIN))
			continue;
		if (asked++ == 0)
			close(input);
		else
			kill(pid, asked == 2 ? SIGTERM : SIGKILL);
	}
	if (asked == 0)
		close(input);
	return status;
}

static int
tell_end(const struct options *o, const char *host, int status)
{
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : PAGEK_FAILED;

	if (code == SSH_FAILED || !WIFEXITED(status)) {
		complain("%s: ssh failed: it is not known how the recording "
		    "ended", base_shown(o->target.word));
		return PAGEK_NO_TARGET;
	}
	if (code == SHELL_NOT_FOUND) {
		complain("%s: ssh is not found here, or pagek not there: "
		    "install it, or give --remote-pageknode the path of the "
		    "pageknode beside it", base_shown(o->target.word));
		return PAGEK_FAILED;
	}
	if (code == PAGEK_OK)
		notice("'%s' is on %s", base_shown(o->output),
		    base_shown(host));
	return code;
}

int
record_there(const struct options *o)
{
	const struct target *t = &o->target;
	struct nodes_ssh where = { .host = t->node.place,
		.program = target_remote_program(o) };
	const char *why = nodes_ssh_check(&where);
	char word[NODES_PID_WORD];
	struct words line = { .len = 0 };
	sigset_t signals;
	int input = -1;
	pid_t pid;

	where.target = nodes_target_word(t->pid, t->name, word);
	if (why == NULL)
		why = nodes_ssh_check(&where);
	if (why == NULL && strlen(o->output) >= PATH_MAX)
		why = "the name of the file is too long";
	if (why != NULL) {
		complain("'%s': %s", base_shown(t->word), why);
		return PAGEK_USAGE;
	}
	add_pagek(&line, where.program);
	add_word(&line, "record");
	add_word(&line, "--until-eof");
	if (option_on(o, OPTION_QUIET))
		add_word(&line, "--quiet");
	if (o->repeat.duration_ms > 0)
		add_option(&line, "--duration=%d.%03d",
		    o->repeat.duration_ms / 1000, o->repeat.duration_ms % 1000);
	if (o->node.record.ring != 0)
		add_option(&line, "--ring=%llu",
		    (unsigned long long)o->node.record.ring);
	add_word(&line, "-o");
	add_word(&line, o->output);
	add_word(&line, where.target);
	tell("ssh %s %s", where.host, line.text);
	/* Ignored children leave no status. */
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGCHLD);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	pid = start_ssh(where.host, line.text, &input);
	if (pid < 0) {
		complain("cannot start ssh: %s", strerror(errno));
		return PAGEK_FAILED;
	}
	return tell_end(o, where.host, await_ssh(pid, input, &signals));
}
