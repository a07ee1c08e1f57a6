/*
 * See ssh.h.
 *
 * How ssh is run: without a terminal at the other end (-T); with keep-alives,
 * so that a dead network is known within ten seconds; and never as the master
 * that other connections of the user share, for it ends with the page.  As
 * scp(1) does, it leaves out what a configuration has for logins of the user:
 * a command of their own, forwardings, which a login beside this one may hold,
 * X11 and the agent.  All else is as the configuration says.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/base.h"
#include "ssh.h"

#define PROGRAM "pageknode"
#define WORD_MAX SSH_WORD_MAX
#define WORDS_MAX 256
#define FATE_MS 1000		/* from the link's end to ssh's */
#define KILL_MS 1000		/* from SIGTERM to SIGKILL */

/* What ssh itself, and a shell, say by their exit status. */
#define SSH_FAILED 255
#define SHELL_NOT_FOUND 127
#define SHELL_NOT_EXECUTABLE 126
#define OTHER_USAGE 2

/* Of links at a time, so many are sure to leave no ssh behind. */
#define RUNNING_MAX 256

extern char **environ;

/* Processes of ssh, for a signal handler; 0: this place is free. */
static _Atomic pid_t running[RUNNING_MAX];

struct link_ssh {
	uv_process_t process;
	uv_pipe_t errors;		/* ssh's error output */
	uv_timer_t timer;		/* of a fate that is waited for; after close, until SIGKILL */
	char host[WORD_MAX];		/* safe text */
	char program[WORD_MAX];		/* likewise; at the other end */
	char line[WORDS_MAX];	/* being read */
	size_t len;
	char last[WORDS_MAX];	/* the last one that was not empty */
	char chunk[512];
	bool exited, dried;		/* no process; no more to be read from it */
	bool may_ask;
	bool up;			/* it has worked */
	bool closing;
	int64_t status;
	int signal;
	link_ssh_fate_cb fate;		/* NULL: nobody waits for it */
	void *arg;
	unsigned open;			/* handles that are not closed */
};

/* --- how it ended --------------------------------------------------------- */

/* What ssh says in its last line, and what follows from it. */
static const struct failure {
	const char *says;
	enum nodes_state state;
	enum link_ssh_end end;
	const char *todo, *rest;	/* the host's name between them */
} failures[] = {
	{ "Permission denied", NODES_DENIED, SSH_HOPELESS,
	    "try 'ssh ", "', and see to its keys" },
	{ "Too many authentication failures", NODES_DENIED, SSH_HOPELESS,
	    "try 'ssh ", "', and see to its keys" },
	{ "Host key verification failed", NODES_DENIED, SSH_HOPELESS,
	    "look at the host's key with 'ssh ", "'" },
	{ "Could not resolve hostname", NODES_UNREACHABLE, SSH_AGAIN,
	    "is '", "' the right name?" },
	{ "Connection refused", NODES_UNREACHABLE, SSH_AGAIN,
	    "does sshd run on ", "?" },
	/* Before a login: sshd has as many of them as MaxStartups allows. */
	{ "Connection closed by ", NODES_UNREACHABLE, SSH_CROWDED,
	    "does ", " let this machine in, and has it many logins now?" },
	{ "Connection reset by ", NODES_UNREACHABLE, SSH_CROWDED,
	    "does ", " let this machine in, and has it many logins now?" },
	{ "Timeout, server ", NODES_UNREACHABLE, SSH_AGAIN,
	    "is the network to ", " gone?" },
	{ "", NODES_UNREACHABLE, SSH_AGAIN, "try 'ssh ", "'" },
};

/* An end that is being told. */
struct telling {
	enum nodes_state state;
	enum link_ssh_end end;
	char text[WORDS_MAX + WORD_MAX + 192];
	size_t len;
};

static void say(struct telling *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
say(struct telling *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->text + t->len, sizeof t->text - t->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->len += (size_t)n < sizeof t->text - t->len ? (size_t)n :
		    sizeof t->text - t->len - 1;
}

/* ssh itself has failed; its line says where and why. */
static void
tell_ssh(const struct link_ssh *ssh, struct telling *t)
{
	const char *line = ssh->last[0] != '\0' ? ssh->last : "ssh failed";
	const struct failure *f = failures;

	/* So it ends as well, without a word, when a signal ended the other. */
	if (ssh->up && ssh->last[0] == '\0') {
		say(t, "%s was ended there", ssh->program);
		return;
	}
	while (strstr(line, f->says) == NULL)
		f++;
	if (f->state == NODES_DENIED && !ssh->may_ask)
		say(t, "%s: 'ssh %s' tells more, and a new page may ask", line,
		    ssh->host);
	else
		say(t, "%s: %s%s%s", line, f->todo, ssh->host, f->rest);
	t->state = f->state;
	t->end = f->end;
}

/* What was run at the other end has failed, or was not even found. */
static void
tell_other(const struct link_ssh *ssh, struct telling *t)
{
	if (ssh->last[0] == '\0') {
		say(t, "%s ended there with status %d", ssh->program,
		    (int)ssh->status);
		return;
	}
	say(t, "%s", ssh->last);
	switch (ssh->status) {
	case SHELL_NOT_FOUND:
	case SHELL_NOT_EXECUTABLE:
		say(t, ": install pageknode there, or say where it is with "
		    "--remote-pageknode");
		t->end = SSH_HOPELESS;
		return;
	case OTHER_USAGE:
		say(t, ": is the pageknode there of another version than this "
		    "page?");
		t->state = NODES_VERSION;
		t->end = SSH_HOPELESS;
		return;
	case BRIDGE_DENIED:
		t->state = NODES_DENIED;
		t->end = SSH_HOPELESS;
		return;
	default:
		return;
	}
}

static void
tell(struct link_ssh *ssh)
{
	struct telling t = { .state = NODES_UNREACHABLE, .end = SSH_AGAIN };
	link_ssh_fate_cb fate = ssh->fate;

	if (fate == NULL)
		return;
	ssh->fate = NULL;
	uv_timer_stop(&ssh->timer);
	if (!ssh->exited)
		say(&t, "the link has ended");
	else if (ssh->signal != 0)
		say(&t, "ssh was ended by signal %d", ssh->signal);
	else if (ssh->status == 0)
		say(&t, "the node has closed the link");
	else if (ssh->status == SSH_FAILED)
		tell_ssh(ssh, &t);
	else
		tell_other(ssh, &t);
	fate(ssh->arg, t.state, t.end, t.text);
}

/* --- the process ---------------------------------------------------------- */

/* Puts `now` where `was` stood. */
static void
note_running(pid_t was, pid_t now)
{
	for (size_t i = 0; i < BASE_NELEM(running); i++) {
		pid_t expected = was;

		if (atomic_compare_exchange_strong(&running[i], &expected,
		    now))
			return;
	}
}

void
nodes_ssh_end_all(void)
{
	for (size_t i = 0; i < BASE_NELEM(running); i++) {
		pid_t pid = atomic_load(&running[i]);

		if (pid > 0)
			kill(pid, SIGTERM);
	}
}

static void
on_closed(uv_handle_t *handle)
{
	struct link_ssh *ssh = handle->data;

	if (--ssh->open == 0)
		free(ssh);
}

static void
close_all(struct link_ssh *ssh)
{
	uv_handle_t *handles[] = { (uv_handle_t *)&ssh->process,
		(uv_handle_t *)&ssh->errors, (uv_handle_t *)&ssh->timer };

	for (size_t i = 0; i < BASE_NELEM(handles); i++)
		if (!uv_is_closing(handles[i]))
			uv_close(handles[i], on_closed);
}

static void
on_exit_of_ssh(uv_process_t *process, int64_t status, int sig)
{
	struct link_ssh *ssh = process->data;

	note_running(process->pid, 0);
	ssh->exited = true;
	ssh->status = status;
	ssh->signal = sig;
	if (ssh->closing)
		close_all(ssh);
	else if (ssh->dried)
		tell(ssh);
}

/*
 * Beside the reason that a jump before it, or a command of the configuration,
 * has given, ssh says these, and they say nothing.
 */
static bool
is_echo(const char *line, size_t len)
{
	static const char *const echoes[] = { "kex_exchange_identification: ",
		"Connection closed by UNKNOWN port ",
		"banner exchange: Connection to UNKNOWN port " };

	for (size_t i = 0; i < BASE_NELEM(echoes); i++)
		if (len > strlen(echoes[i]) &&
		    memcmp(line, echoes[i], strlen(echoes[i])) == 0)
			return true;
	return false;
}

/* What is kept is safe text, without ssh's own name and the full stop. */
static void
end_line(struct link_ssh *ssh)
{
	const char *line = ssh->line;
	size_t len = ssh->len;

	ssh->len = 0;
	while (len > 0 && strchr("\r. ", line[len - 1]) != NULL)
		len--;
	if (len > 5 && memcmp(line, "ssh: ", 5) == 0) {
		line += 5;
		len -= 5;
	}
	if (len > 0 && (ssh->last[0] == '\0' || !is_echo(line, len)))
		base_safe_text(ssh->last, sizeof ssh->last, line, len, false);
}

static void
on_alloc(uv_handle_t *handle, size_t want, uv_buf_t *buf)
{
	struct link_ssh *ssh = handle->data;

	(void)want;
	*buf = uv_buf_init(ssh->chunk, sizeof ssh->chunk);
}

static void
on_errors(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct link_ssh *ssh = stream->data;

	(void)buf;
	for (ssize_t i = 0; i < n; i++)
		if (ssh->chunk[i] == '\n')
			end_line(ssh);
		else if (ssh->len < sizeof ssh->line)
			ssh->line[ssh->len++] = ssh->chunk[i];
	if (n >= 0)
		return;
	end_line(ssh);
	uv_read_stop(stream);
	ssh->dried = true;
	if (ssh->exited)
		tell(ssh);
}

static void
on_timer(uv_timer_t *timer)
{
	struct link_ssh *ssh = timer->data;

	if (ssh->closing)
		uv_process_kill(&ssh->process, SIGKILL);
	else
		tell(ssh);
}

/*
 * The environment of an ssh that may not ask: no window comes up either, not
 * even from the ssh of a jump, which does not know of BatchMode.
 */
static char **
quiet_environ(void)
{
	static char never[] = "SSH_ASKPASS_REQUIRE=never";
	size_t n = 0, i;
	char **out;

	while (environ != NULL && environ[n] != NULL)
		n++;
	out = calloc(n + 2, sizeof *out);
	if (out == NULL)
		return NULL;
	for (i = n = 0; environ != NULL && environ[i] != NULL; i++)
		if (strncmp(environ[i], "SSH_ASKPASS_REQUIRE=", 20) != 0)
			out[n++] = environ[i];
	out[n] = never;
	return out;
}

/*
 * exec takes char *const[] for historical reasons and writes to none of them.
 * env: NULL, the page's own.
 */
static int
spawn(struct link_ssh *ssh, const struct nodes_ssh *where, int fd, char **env)
{
	/* An answer is missed three times before ssh ends: after nine seconds. */
	static const char *const begin[] = { "ssh", "-T", "-x", "-a",
		"-o", "ServerAliveInterval=3", "-o", "ServerAliveCountMax=2",
		"-o", "ControlMaster=no", "-o", "ClearAllForwardings=yes",
		"-o", "RemoteCommand=none", "-o", "PermitLocalCommand=no" };
	const char *argv[BASE_NELEM(begin) + 10];
	char program[WORD_MAX + 8] = "", target[WORD_MAX + 8] = "";
	size_t n = BASE_NELEM(begin);
	int r;
	uv_stdio_container_t stdio[] = {
		{ .flags = UV_INHERIT_FD, .data.fd = fd },
		{ .flags = UV_INHERIT_FD, .data.fd = fd },
		{ .flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE,
		    .data.stream = (uv_stream_t *)&ssh->errors },
	};
	uv_process_options_t options = {
		.exit_cb = on_exit_of_ssh,
		.file = begin[0],
		.args = (char **)(uintptr_t)argv,
		.stdio_count = BASE_NELEM(stdio),
		.stdio = stdio,
		.env = env,
	};

	memcpy(argv, begin, sizeof begin);
	if (!where->may_ask) {
		argv[n++] = "-o";
		argv[n++] = "BatchMode=yes";
		/* A session of its own: the terminal is the page's. */
		options.flags = UV_PROCESS_DETACHED;
	}
	link_ssh_quote(program, sizeof program, ssh->program);
	argv[n++] = "--";
	argv[n++] = where->host;
	argv[n++] = program;
	argv[n++] = "--stdio";
	if (where->target != NULL) {
		link_ssh_quote(target, sizeof target, where->target);
		argv[n++] = "--target";
		argv[n++] = target;
	}
	argv[n] = NULL;
	r = uv_spawn(ssh->errors.loop, &ssh->process, &options);
	if (r == 0)
		note_running(0, ssh->process.pid);
	return r;
}

int
link_ssh_start(struct link_ssh **out, uv_loop_t *loop,
    const struct nodes_ssh *where, int *fd)
{
	struct link_ssh *ssh;
	char **env = NULL;
	int fds[2], r;

	if (nodes_ssh_check(where) != NULL)
		return -EINVAL;
	ssh = calloc(1, sizeof *ssh);
	/* Handles that are not begun cannot be closed: what fails goes first. */
	if (!where->may_ask)
		env = quiet_environ();
	if (ssh == NULL || (!where->may_ask && env == NULL)) {
		free(env);
		free(ssh);
		return -ENOMEM;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) < 0) {
		r = -errno;
		free(env);
		free(ssh);
		return r;
	}
	snprintf(ssh->program, sizeof ssh->program, "%s",
	    where->program != NULL ? where->program : PROGRAM);
	base_safe_text(ssh->host, sizeof ssh->host, where->host,
	    strlen(where->host), false);
	uv_pipe_init(loop, &ssh->errors, 0);
	uv_timer_init(loop, &ssh->timer);
	ssh->process.data = ssh->errors.data = ssh->timer.data = ssh;
	ssh->open = 3;
	ssh->may_ask = where->may_ask;
	r = spawn(ssh, where, fds[1], env);
	free(env);
	close(fds[1]);
	if (r == 0)
		r = uv_read_start((uv_stream_t *)&ssh->errors, on_alloc,
		    on_errors);
	if (r < 0) {
		close(fds[0]);
		ssh->exited = ssh->process.pid <= 0;
		link_ssh_close(ssh);
		return r;
	}
	*fd = fds[0];
	*out = ssh;
	return 0;
}

void
link_ssh_fate(struct link_ssh *ssh, link_ssh_fate_cb fate, void *arg)
{
	ssh->fate = fate;
	ssh->arg = arg;
	uv_timer_start(&ssh->timer, on_timer,
	    ssh->exited && ssh->dried ? 0 : FATE_MS, 0);
}

void
link_ssh_up(struct link_ssh *ssh)
{
	ssh->up = true;
	ssh->last[0] = '\0';
	ssh->len = 0;
}

void
link_ssh_close(struct link_ssh *ssh)
{
	if (ssh == NULL || ssh->closing)
		return;
	ssh->closing = true;
	ssh->fate = NULL;
	uv_read_stop((uv_stream_t *)&ssh->errors);
	if (ssh->exited) {
		close_all(ssh);
		return;
	}
	uv_process_kill(&ssh->process, SIGTERM);
	uv_timer_start(&ssh->timer, on_timer, KILL_MS, 0);
}
