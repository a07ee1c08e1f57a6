/*
 * Each try is a process whose input and output are the link.  Its last error
 * line is kept: with the exit status it gives the reason.
 *
 * Its input and output are the link. Its error output is not shown, for the
 * terminal may belong to the page, but the last line is kept: with the exit
 * status it gives the reason of a failure.
 *
 * Until the first WELCOME ssh may ask the user (may_ask), and an sshd with too
 * many logins is tried again for CROWD_MS: by default it takes ten at once, and
 * sixty pages may start together. Later tries run without a terminal and fail
 * where ssh would ask.
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

enum link_ssh_end {
	SSH_AGAIN,		/* another try may succeed */
	SSH_HOPELESS,		/* it will fail too: a refused key, no such command */
	SSH_CROWDED,		/* sshd has too many logins at the moment */
};

struct ssh_way;

/* ssh has ended: a state and a reason, borrowed until the call returns. */
static void take_fate(struct ssh_way *, enum nodes_state, enum link_ssh_end,
    const char *reason);

#define PROGRAM "pageknode"
#define WORD_MAX SSH_WORD_MAX
#define WORDS_MAX 256
#define FATE_MS 1000		/* from the end of the link to that of ssh */
#define KILL_MS 1000		/* from SIGTERM to SIGKILL */

/* Exit statuses of ssh and of a shell. */
#define SSH_FAILED 255
#define SHELL_NOT_FOUND 127
#define SHELL_NOT_EXECUTABLE 126
#define REMOTE_USAGE 2

#define RUNNING_MAX 256		/* processes that nodes_ssh_end_all() knows */

extern char **environ;

/* Processes of ssh, for a signal handler; 0: free. */
static _Atomic pid_t running[RUNNING_MAX];

struct link_ssh {
	uv_process_t process;
	uv_pipe_t errors;		/* ssh's error output */
	uv_timer_t timer;		/* until the fate is told; after close, until SIGKILL */
	char host[WORD_MAX];		/* safe text */
	char program[WORD_MAX];		/* safe text */
	char line[WORDS_MAX];	/* being read */
	size_t len;
	char last[WORDS_MAX];	/* last line that was not empty */
	char chunk[512];
	bool exited, drained;		/* no process; all of its output is read */
	bool may_ask;
	bool up;			/* the node has welcomed the page */
	bool closing;
	int64_t status;
	int signal;
	struct ssh_way *way;		/* waits for the end; NULL */
	unsigned open;			/* open handles */
};

/* By ssh's last line. */
static const struct failure {
	const char *says;
	enum nodes_state state;
	enum link_ssh_end end;
	const char *todo, *todo_end;	/* the host's name goes between them */
} failures[] = {
	{ "Permission denied", NODES_DENIED, SSH_HOPELESS,
	    "try 'ssh ", "', and check its keys" },
	{ "Too many authentication failures", NODES_DENIED, SSH_HOPELESS,
	    "try 'ssh ", "', and check its keys" },
	{ "Host key verification failed", NODES_DENIED, SSH_HOPELESS,
	    "look at the host's key with 'ssh ", "'" },
	{ "Could not resolve hostname", NODES_UNREACHABLE, SSH_AGAIN,
	    "is '", "' the right name?" },
	{ "Connection refused", NODES_UNREACHABLE, SSH_AGAIN,
	    "does sshd run on ", "?" },
	/* Before a login: limited by MaxStartups. */
	{ "Connection closed by ", NODES_UNREACHABLE, SSH_CROWDED,
	    "does ", " let this machine in, and has it many logins now?" },
	{ "Connection reset by ", NODES_UNREACHABLE, SSH_CROWDED,
	    "does ", " let this machine in, and has it many logins now?" },
	{ "Timeout, server ", NODES_UNREACHABLE, SSH_AGAIN,
	    "is the network to ", " gone?" },
	{ "", NODES_UNREACHABLE, SSH_AGAIN, "try 'ssh ", "'" },
};

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

static void
tell_ssh(const struct link_ssh *ssh, struct telling *t)
{
	const char *line = ssh->last[0] != '\0' ? ssh->last : "ssh failed";
	const struct failure *f = failures;

	/* A signal has ended the other side: ssh fails without a message. */
	if (ssh->up && ssh->last[0] == '\0') {
		say(t, "%s was killed there", ssh->program);
		return;
	}
	while (strstr(line, f->says) == NULL)
		f++;
	if (f->state == NODES_DENIED && !ssh->may_ask)
		say(t, "%s: try 'ssh %s', or start the page again so that ssh "
		    "can ask", line,
		    ssh->host);
	else
		say(t, "%s: %s%s%s", line, f->todo, ssh->host, f->todo_end);
	t->state = f->state;
	t->end = f->end;
}

static void
tell_remote(const struct link_ssh *ssh, struct telling *t)
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
	case REMOTE_USAGE:
		say(t, ": has the pageknode there another version than this "
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
tell_fate(struct link_ssh *ssh)
{
	struct telling t = { .state = NODES_UNREACHABLE, .end = SSH_AGAIN };
	struct ssh_way *way = ssh->way;

	if (way == NULL)
		return;
	ssh->way = NULL;
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
		tell_remote(ssh, &t);
	take_fate(way, t.state, t.end, t.text);
}

/* Replaces `was` by `now`. */
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
	else if (ssh->drained)
		tell_fate(ssh);
}

/* Messages of ssh that say nothing beside those of a jump host or ProxyCommand. */
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

/* Keeps the line as safe text, without "ssh: " and full stop. */
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
	ssh->drained = true;
	if (ssh->exited)
		tell_fate(ssh);
}

static void
on_timer(uv_timer_t *timer)
{
	struct link_ssh *ssh = timer->data;

	if (ssh->closing)
		uv_process_kill(&ssh->process, SIGKILL);
	else
		tell_fate(ssh);
}

/* No askpass window, not even of a jump host's ssh, which ignores BatchMode. */
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

/* env NULL: the page's own. */
static int
spawn(struct link_ssh *ssh, const struct nodes_ssh *where, int fd, char **env)
{
	/* Three missed answers, nine seconds, end ssh. */
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
		/* exec writes to none of them. */
		.args = (char **)(uintptr_t)argv,
		.stdio_count = BASE_NELEM(stdio),
		.stdio = stdio,
		.env = env,
	};

	memcpy(argv, begin, sizeof begin);
	if (!where->may_ask) {
		argv[n++] = "-o";
		argv[n++] = "BatchMode=yes";
		/* In a session of its own: without a terminal. */
		options.flags = UV_PROCESS_DETACHED;
	}
	nodes_ssh_quote(program, sizeof program, ssh->program);
	argv[n++] = "--";
	argv[n++] = where->host;
	argv[n++] = program;
	argv[n++] = "--stdio";
	if (where->target != NULL) {
		nodes_ssh_quote(target, sizeof target, where->target);
		argv[n++] = "--target";
		argv[n++] = target;
	}
	argv[n] = NULL;
	r = uv_spawn(ssh->errors.loop, &ssh->process, &options);
	if (r == 0)
		note_running(0, ssh->process.pid);
	return r;
}

/* Ends ssh if it runs, and frees all when its handles are closed. */
static void
link_ssh_close(struct link_ssh *ssh)
{
	if (ssh == NULL || ssh->closing)
		return;
	ssh->closing = true;
	ssh->way = NULL;
	uv_read_stop((uv_stream_t *)&ssh->errors);
	if (ssh->exited) {
		close_all(ssh);
		return;
	}
	uv_process_kill(&ssh->process, SIGTERM);
	uv_timer_start(&ssh->timer, on_timer, KILL_MS, 0);
}

/* Starts ssh; the caller owns *fd. Texts of `where` are copied. */
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
	/* Before the handles: those not initialised cannot be closed. */
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

/* Calls take_fate() once, when ssh has ended or after FATE_MS; not after link_ssh_close(). */
static void
link_ssh_await(struct link_ssh *ssh, struct ssh_way *way)
{
	ssh->way = way;
	uv_timer_start(&ssh->timer, on_timer,
	    ssh->exited && ssh->drained ? 0 : FATE_MS, 0);
}

/* It works: output so far is not the reason of its end. */
static void
link_ssh_up(struct link_ssh *ssh)
{
	ssh->up = true;
	ssh->last[0] = '\0';
	ssh->len = 0;
}

#define CROWD_MS 8000	/* less than the default timeout of commands */
/* Timeouts grow with the tries: a network may be dead, or a login slow. */
#define PATIENCE_MS 10000
#define ASKING_MS 600000	/* while the user is asked */

struct ssh_way {
	uv_loop_t *loop;
	struct nodes_ssh opts;
	char *host, *program, *target;	/* copies for opts; NULL if none */
	char *where;			/* "ssh HOST: ", safe text */
	struct link_ssh *ssh;		/* NULL: none */
	struct mono begun;
	bool welcomed;
	bool hopeless;
	nodes_told_cb told;
	void *told_arg;
};

static int
way_start(void *arg)
{
	struct ssh_way *way = arg;
	int fd = -1, r;

	way->hopeless = false;
	r = link_ssh_start(&way->ssh, way->loop, &way->opts, &fd);
	return r < 0 ? r : fd;
}

static void
take_fate(struct ssh_way *way, enum nodes_state state, enum link_ssh_end end,
    const char *reason)
{
	way->hopeless = end == SSH_HOPELESS;
	if (end == SSH_CROWDED && !way->welcomed &&
	    mono_ms_since(way->begun) < CROWD_MS)
		state = NODES_CONNECTING;
	way->told(way->told_arg, state, reason);
}

static void
way_why(void *arg, nodes_told_cb told, void *told_arg)
{
	struct ssh_way *way = arg;

	way->told = told;
	way->told_arg = told_arg;
	link_ssh_await(way->ssh, way);
}

static bool
way_lost(void *arg, int err, char *why, size_t cap)
{
	struct ssh_way *way = arg;

	(void)err;
	(void)why;
	(void)cap;
	link_ssh_close(way->ssh);
	way->ssh = NULL;
	return !way->hopeless;
}

static void
way_up(void *arg)
{
	struct ssh_way *way = arg;

	way->welcomed = true;
	way->opts.may_ask = false;
	link_ssh_up(way->ssh);
}

static uint32_t
way_patience_ms(void *arg, unsigned tries)
{
	const struct ssh_way *way = arg;

	if (way->opts.may_ask)
		return ASKING_MS;
	/* `tries` includes this one. */
	return tries < RETRY_PATIENCE_MS / PATIENCE_MS ?
	    tries * PATIENCE_MS : RETRY_PATIENCE_MS;
}

static void
way_fini(void *arg)
{
	struct ssh_way *way = arg;

	link_ssh_close(way->ssh);
	free(way->host);
	free(way->program);
	free(way->target);
	free(way->where);
	free(way);
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
way_new(struct ssh_way **out, uv_loop_t *loop, const struct nodes_ssh *opts)
{
	struct ssh_way *way = calloc(1, sizeof *way);
	char safe[256];

	if (way == NULL)
		return -ENOMEM;
	way->loop = loop;
	way->begun = mono_now();
	way->opts = *opts;
	base_safe_text(safe, sizeof safe, opts->host, strlen(opts->host),
	    false);
	if (!copy(&way->host, opts->host) ||
	    !copy(&way->program, opts->program) ||
	    !copy(&way->target, opts->target) ||
	    asprintf(&way->where, "ssh %s: ", safe) < 0) {
		way->where = NULL;
		way_fini(way);
		return -ENOMEM;
	}
	way->opts.host = way->host;
	way->opts.program = way->program;
	way->opts.target = way->target;
	*out = way;
	return 0;
}

int
nodes_connect_ssh(struct nodes_link **out, uv_loop_t *loop,
    const struct nodes_ssh *opts)
{
	struct nodes_way way = {
		.start = way_start,
		.lost = way_lost,
		.fini = way_fini,
		.why = way_why,
		.up = way_up,
		.patience_ms = way_patience_ms,
		.stranger = "the answer is not pageknode's: does the shell "
		    "there print something at login?",
		.final = 1u << NODES_DENIED | 1u << NODES_VERSION,
	};
	struct ssh_way *arg;
	int r;

	if (nodes_ssh_check(opts) != NULL)
		return -EINVAL;
	r = way_new(&arg, loop, opts);
	if (r < 0)
		return r;
	way.arg = arg;
	way.where = arg->where;
	return nodes_link_keep(out, loop, &way);
}
