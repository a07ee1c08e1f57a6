/*
 * The way to a node behind ssh: another ssh process for each try.
 *
 * Until the node has welcomed the page for the first time ssh may ask whoever
 * sits there, and an sshd that has too many logins at that moment is tried
 * again for a while: sixty pages that begin at once, as after a power cut, are
 * more than the ten that it takes by default.  From then on the terminal is
 * the page's, and tries are made behind its back.
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
#include "link.h"

struct link_ssh;

enum link_ssh_end {
	SSH_AGAIN,		/* another try may do better */
	SSH_HOPELESS,		/* it will not: a refused key, no such command */
	SSH_CROWDED,		/* sshd takes nobody more just now, as a rule for a moment */
};

/*
 * How it ended: a state and a sentence, borrowed until the callback returns,
 * and what another try would come to.
 */
typedef void (*link_ssh_fate_cb)(void *arg, enum nodes_state,
    enum link_ssh_end, const char *sentence);

/* --- ssh ------------------------------------------------------------------- */

/*
 * The ssh process behind a link to another machine's node.
 *
 * It runs `ssh HOST pageknode --stdio`, whose input and output are the link;
 * what ssh writes on its error output is not shown, for there may be a page on
 * the terminal, but its last line is kept: with the exit status it says why a
 * link could not be made, or was lost.
 *
 * Example: a link, made once or again
 *	r = link_ssh_start(&ssh, loop, &where, &fd);
 *	... fd is the link's; when it works, and at its end:
 *	link_ssh_up(ssh);
 *	link_ssh_fate(ssh, on_fate, link);
 *	... and when the link closes, or before it starts another:
 *	link_ssh_close(ssh);
 *
 * A start behind the page's back is one with `may_ask` false: ssh then fails
 * where it would have asked for a password or about a host's key, and has no
 * terminal that it, or the ssh of a jump before it, could ask on.
 */

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

/* Ends ssh if it runs, and frees all once the loop has taken leave of it. */
static void
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

/*
 * Starts ssh; *fd is our end, the caller's.  The texts of `where` are copied.
 * -EINVAL for what nodes_ssh_check() refuses, -ENOENT when there is no ssh.
 */
static int
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

/*
 * Waits for ssh's end, a second at most, and tells it; once.  No callback
 * comes after link_ssh_close().
 */
static void
link_ssh_fate(struct link_ssh *ssh, link_ssh_fate_cb fate, void *arg)
{
	ssh->fate = fate;
	ssh->arg = arg;
	uv_timer_start(&ssh->timer, on_timer,
	    ssh->exited && ssh->dried ? 0 : FATE_MS, 0);
}

/* It works: what it wrote until now will not have been why it ended. */
static void
link_ssh_up(struct link_ssh *ssh)
{
	ssh->up = true;
	ssh->last[0] = '\0';
	ssh->len = 0;
}

#define CROWD_MS 8000	/* within the time that commands wait by default */
/*
 * A try through a network that swallows everything would go on for minutes
 * after that has come back, and a login can take its time: first little
 * patience, then more.
 */
#define PATIENCE_MS 10000
#define ASKING_MS 600000	/* whoever waits for the answer has a limit of his own */

struct far {
	uv_loop_t *loop;
	struct nodes_ssh opts;
	char *host, *program, *target;	/* its texts; but for host, NULL if none */
	char *where;			/* "ssh HOST: ", safe text */
	struct link_ssh *ssh;		/* NULL: none runs */
	struct mono begun;
	bool welcomed;
	bool hopeless;
	nodes_told_cb told;
	void *told_arg;
};

static int
far_start(void *arg)
{
	struct far *far = arg;
	int fd = -1, r;

	far->hopeless = false;
	r = link_ssh_start(&far->ssh, far->loop, &far->opts, &fd);
	return r < 0 ? r : fd;
}

static void
on_fate(void *arg, enum nodes_state state, enum link_ssh_end end,
    const char *sentence)
{
	struct far *far = arg;

	far->hopeless = end == SSH_HOPELESS;
	if (end == SSH_CROWDED && !far->welcomed &&
	    mono_ms_since(far->begun) < CROWD_MS)
		state = NODES_CONNECTING;
	far->told(far->told_arg, state, sentence);
}

static void
far_why(void *arg, nodes_told_cb told, void *told_arg)
{
	struct far *far = arg;

	far->told = told;
	far->told_arg = told_arg;
	link_ssh_fate(far->ssh, on_fate, far);
}

static bool
far_lost(void *arg, int err, char *why, size_t cap)
{
	struct far *far = arg;

	(void)err;
	(void)why;
	(void)cap;
	link_ssh_close(far->ssh);
	far->ssh = NULL;
	return !far->hopeless;
}

static void
far_up(void *arg)
{
	struct far *far = arg;

	far->welcomed = true;
	far->opts.may_ask = false;
	link_ssh_up(far->ssh);
}

static uint32_t
far_patience_ms(void *arg, unsigned tries)
{
	const struct far *far = arg;

	if (far->opts.may_ask)
		return ASKING_MS;
	/* This try is counted already. */
	return tries < RETRY_PATIENCE_MS / PATIENCE_MS ?
	    tries * PATIENCE_MS : RETRY_PATIENCE_MS;
}

static void
far_fini(void *arg)
{
	struct far *far = arg;

	link_ssh_close(far->ssh);
	free(far->host);
	free(far->program);
	free(far->target);
	free(far->where);
	free(far);
}

static bool
copy(char **out, const char *text)
{
	if (text == NULL)
		return true;
	*out = strdup(text);
	return *out != NULL;
}

static int
far_new(struct far **out, uv_loop_t *loop, const struct nodes_ssh *opts)
{
	struct far *far = calloc(1, sizeof *far);
	char safe[256];

	if (far == NULL)
		return -ENOMEM;
	far->loop = loop;
	far->begun = mono_now();
	far->opts = *opts;
	base_safe_text(safe, sizeof safe, opts->host, strlen(opts->host),
	    false);
	if (!copy(&far->host, opts->host) ||
	    !copy(&far->program, opts->program) ||
	    !copy(&far->target, opts->target) ||
	    asprintf(&far->where, "ssh %s: ", safe) < 0) {
		far->where = NULL;
		far_fini(far);
		return -ENOMEM;
	}
	far->opts.host = far->host;
	far->opts.program = far->program;
	far->opts.target = far->target;
	*out = far;
	return 0;
}

int
nodes_connect_ssh(struct nodes_link **out, uv_loop_t *loop,
    const struct nodes_ssh *opts)
{
	struct nodes_way way = {
		.start = far_start,
		.lost = far_lost,
		.fini = far_fini,
		.why = far_why,
		.up = far_up,
		.patience_ms = far_patience_ms,
		.stranger = "what answers there is no pageknode: does its "
		    "shell print something at login?",
		.final = 1u << NODES_DENIED | 1u << NODES_VERSION,
	};
	struct far *far;
	int r;

	if (nodes_ssh_check(opts) != NULL)
		return -EINVAL;
	r = far_new(&far, loop, opts);
	if (r < 0)
		return r;
	way.arg = far;
	way.where = far->where;
	return nodes_link_keep(out, loop, &way);
}
