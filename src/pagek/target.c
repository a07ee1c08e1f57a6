/*
 * How a target becomes a link.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/major.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../base/base.h"
#include "commands.h"
#include "pump.h"
#include "target.h"
#include "target_words.h"

/* A person types a password, or looks at a key; no sshd waits for longer. */
#define ASKING_MS 120000

/* --- asking nodes ------------------------------------------------------- */

struct enquiry {
	bool done;
	bool abandoned;		/* nobody waits any more: it frees itself */
	int err;
	struct nodes_target *list;
	size_t n;
};

static void
on_targets(void *arg, int err, const struct nodes_target *list, size_t n)
{
	struct enquiry *q = arg;

	if (q->abandoned) {
		free(q);
		return;
	}
	q->done = true;
	q->err = err;
	if (err < 0 || n == 0)
		return;
	q->list = malloc(n * sizeof *list);
	if (q->list == NULL) {
		q->err = -ENOMEM;
		return;
	}
	memcpy(q->list, list, n * sizeof *list);
	q->n = n;
}

static bool
is_answered(void *arg)
{
	const struct enquiry *q = arg;

	return q->done;
}

int
target_enquire(uv_loop_t *loop, struct nodes_link *link, int timeout_ms,
    struct nodes_target **list, size_t *n)
{
	/* On the heap: an answer that comes too late still needs a place. */
	struct enquiry *q = calloc(1, sizeof *q);
	int err;

	if (q == NULL)
		return -ENOMEM;
	err = nodes_targets(link, on_targets, q);
	if (err < 0) {
		free(q);
		return err;
	}
	if (!pump(loop, NULL, timeout_ms, is_answered, q)) {
		q->abandoned = true;
		return -ETIMEDOUT;
	}
	err = q->err;
	if (err == 0) {
		*list = q->list;
		*n = q->n;
	} else {
		free(q->list);
	}
	free(q);
	return err;
}

const char *
target_why(const struct nodes_link *link, int err)
{
	const char *reason;

	if (err == -ETIMEDOUT)
		return "it does not answer";
	nodes_link_state(link, &reason);
	return err == -ENOTCONN && reason[0] != '\0' ? reason : strerror(-err);
}

/*
 * Whether a node's targets have what is looked for: 3 for sure, 2 when it
 * sleeps, 1 perhaps.
 */
static int
match(const struct target *t, const struct nodes_target *list, size_t n)
{
	bool any = t->kind == TARGET_LOCAL && t->rest[0] == '\0';
	int best = any ? 1 : 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (t->rest[0] != '\0') {
			if (strcmp(list[i].name, t->rest) == 0)
				return 3;
			continue;
		}
		/* The node itself is no target of it. */
		if (list[i].pid == 0)
			continue;
		if (t->kind == TARGET_PID ? list[i].pid == t->pid :
		    list[i].state == WIRE_S_LIVE)
			return 3;
		if (any && list[i].state == WIRE_S_DORMANT)
			best = 2;
	}
	return best;
}

/* A node that did not tell what it has: what is missing may be there. */
struct silent {
	int err;		/* 0: all have told */
	char why[512];
};

/*
 * Goes through this user's nodes, newest first, and keeps the best link.
 * -ENOENT: none of those that answered has it.
 */
static int
search(const struct target *t, uv_loop_t *loop, int timeout_ms,
    struct nodes_link **out, struct silent *silent)
{
	struct nodes_link *link, *best = NULL;
	struct nodes_target *list;
	const char *at = "";
	char **paths = NULL;
	size_t npaths = 0, n, i;
	int have = 0, m, err;

	err = nodes_find(&paths, &npaths);
	if (err < 0)
		return err;
	for (i = 0; i < npaths && have < 3; i++) {
		if (nodes_connect(&link, loop, paths[i]) < 0)
			continue;
		list = NULL;
		n = 0;
		err = target_enquire(loop, link, timeout_ms, &list, &n);
		if (err < 0) {
			silent->err = err;
			snprintf(silent->why, sizeof silent->why, "%s: %s",
			    paths[i], target_why(link, err));
			nodes_link_close(link);
			continue;
		}
		m = match(t, list, n);
		free(list);
		if (m > have) {
			nodes_link_close(best);
			best = link;
			at = paths[i];
			have = m;
		} else {
			nodes_link_close(link);
		}
	}
	if (best != NULL)
		tell("node: %s", at);
	free(paths);
	if (best == NULL)
		return -ENOENT;
	*out = best;
	return 0;
}

static int
open_found(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct words *w)
{
	const struct target *t = &o->target;
	struct silent silent = { 0 };
	int err;

	err = search(t, loop, o->timeout_ms, link, &silent);
	if (err == 0)
		return 0;
	if (err != -ENOENT)
		return words_fail(w, PAGEK_NO_TARGET, "cannot look for nodes: %s",
		    strerror(-err));
	if (silent.err < 0 && (t->pid == 0 || words_pid_is_alive(t->pid)))
		return words_fail(w, silent.err == -ETIMEDOUT ? PAGEK_TIMEOUT :
		    PAGEK_NO_TARGET, "%s", silent.why);
	if (t->rest[0] != '\0')
		return words_fail(w, PAGEK_NO_TARGET, "no node here has a stream "
		    "'%s': 'pagek targets' lists what there is",
		    words_shown(t->rest));
	if (t->kind == TARGET_LOCAL)
		return words_fail(w, PAGEK_NO_TARGET, "nothing is being watched: "
		    "start it with 'pagek run -- COMMAND'");
	if (words_pid_is_alive(t->pid))
		return words_fail(w, PAGEK_NO_TARGET, "process %ld is not being "
		    "watched: start it with 'pagek run -- COMMAND'",
		    (long)t->pid);
	return words_fail(w, PAGEK_NO_TARGET, "there is no process %ld",
	    (long)t->pid);
}

static int
open_unix(const char *path, uv_loop_t *loop, struct nodes_link **link,
    struct words *w)
{
	struct stat st;
	int err;

	if (stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return words_fail(w, PAGEK_NO_TARGET, "'%s' is no socket; this "
		    "version does not have capture files yet", words_shown(path));
	tell("node: %s", path);
	err = nodes_connect(link, loop, path);
	if (err == 0)
		return 0;
	return words_fail(w, err == -EACCES || err == -EPERM ? PAGEK_DENIED :
	    PAGEK_NO_TARGET, "'%s': %s", words_shown(path),
	    err == -ECONNREFUSED ? "no node listens there any more" :
	    strerror(-err));
}

/* --- another machine ---------------------------------------------------- */

static bool
is_decided(void *arg)
{
	return nodes_link_state(arg, NULL) != NODES_CONNECTING;
}

/* ssh asks on the terminal that is ours, whatever its three streams are. */
static bool
can_ask(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Before there is a page: the terminal is ssh's, to ask on what it must. */
static int
wait_for_ssh(const struct options *o, uv_loop_t *loop, struct nodes_link *link,
    struct words *w)
{
	bool asking = !option_given(o, OPTION_TIMEOUT) && can_ask();
	int ms = asking ? ASKING_MS : o->timeout_ms;
	const char *reason;

	pump(loop, NULL, ms, is_decided, link);
	switch (nodes_link_state(link, &reason)) {
	case NODES_LIVE:
		return 0;
	case NODES_CONNECTING:
		return words_fail(w, PAGEK_TIMEOUT, "ssh %s: no answer within %g s",
		    o->target.host, ms / 1000.0);
	case NODES_DENIED:
		return words_fail(w, PAGEK_DENIED, "%s", reason);
	case NODES_VERSION:
		return words_fail(w, PAGEK_FORMAT, "%s", reason);
	default:
		return words_fail(w, PAGEK_NO_TARGET, "%s", reason);
	}
}

/* What the table says of one node goes before what holds for all. */
static const char *
remote_program(const struct options *o)
{
	return o->target.remote[0] != '\0' &&
	    !option_given(o, OPTION_REMOTE_PAGEKNODE) ? o->target.remote :
	    o->remote;
}

static int
open_ssh(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct words *w)
{
	const struct target *t = &o->target;
	struct nodes_ssh where = { .host = t->host, .may_ask = true,
		.program = remote_program(o) };
	const char *why = nodes_ssh_check(&where);
	char pid[24];
	int r;

	if (why != NULL)
		return words_fail(w, PAGEK_USAGE, "'%s': %s", where.program, why);
	snprintf(pid, sizeof pid, "pid:%ld", (long)t->pid);
	where.target = t->pid != 0 ? pid : t->rest[0] != '\0' ? t->rest : NULL;
	why = nodes_ssh_check(&where);
	if (why != NULL)
		return words_fail(w, PAGEK_USAGE, "'%s': %s", words_shown(t->word), why);
	tell("node: ssh %s %s", where.host, where.program != NULL ?
	    where.program : "pageknode");
	r = nodes_connect_ssh(link, loop, &where);
	if (r == -ENOENT)
		return words_fail(w, PAGEK_FAILED, "cannot start ssh: is it "
		    "installed?");
	if (r < 0)
		return words_fail(w, PAGEK_FAILED, "cannot start ssh: %s",
		    strerror(-r));
	r = wait_for_ssh(o, loop, *link, w);
	if (r != 0) {
		nodes_link_close(*link);
		*link = NULL;
		return r;
	}
	return 0;
}

static int
open_demo(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct words *w)
{
	struct node_opts start = o->node;
	int err;

	start.demo = o->target.rest;
	start.check_list = o->list == LIST_CHECK;
	tell_own_node();
	err = nodes_start(link, loop, &start);
	if (err < 0)
		return words_fail(w, PAGEK_FAILED, "cannot start pageknode: %s",
		    strerror(-err));
	return 0;
}

/* --- a device ----------------------------------------------------------- */

/* NULL, or why such a thing is not read from. */
static const char *
refuse_kind(const struct stat *st, int fd)
{
	struct stat own;

	if (S_ISDIR(st->st_mode))
		return "it is a directory";
	if (S_ISBLK(st->st_mode))
		return "it is a disk, or part of one";
	if (!isatty(fd))
		return NULL;
	if (st->st_rdev == makedev(TTYAUX_MAJOR, 0))
		return "it is this terminal";
	for (int i = 0; i <= 2; i++)
		if (isatty(i) && fstat(i, &own) == 0 &&
		    own.st_rdev == st->st_rdev)
			return "it is this terminal";
	return NULL;
}

/*
 * Standard input has flags that are shared with whoever started us: opened
 * anew where that can be, it has its own.
 */
static int
open_path(const char *path)
{
	int flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, fd;

	if (strcmp(path, "-") != 0) {
		fd = open(path, flags);
	} else {
		struct stat st;

		fd = fstat(0, &st) == 0 && S_ISFIFO(st.st_mode) ?
		    open("/proc/self/fd/0", flags) : -1;
		if (fd < 0)
			fd = fcntl(0, F_DUPFD_CLOEXEC, 3);
	}
	return fd < 0 ? -errno : fd;
}

bool
target_is_read_to_its_end(const struct options *o)
{
	return o->target.kind == TARGET_RAW &&
	    (!command_in(o->command, GROUP_SCREEN) ||
	    option_given(o, OPTION_ONCE));
}

bool
target_is_file(const struct options *o)
{
	const char *path = o->target.rest;
	struct stat st;

	if (o->target.kind != TARGET_RAW)
		return false;
	return (strcmp(path, "-") == 0 ? fstat(0, &st) : stat(path, &st)) == 0 &&
	    !S_ISCHR(st.st_mode);
}

static int
open_raw(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct words *w)
{
	const char *path = o->target.rest, *slash = strrchr(path, '/'), *why;
	bool input = strcmp(path, "-") == 0;
	struct node_opts start = o->node;
	struct stat st;
	int err;

	start.device = open_path(path);
	start.device_name = input ? "input" : slash != NULL &&
	    slash[1] != '\0' ? slash + 1 : path;
	start.device_once = input || target_is_read_to_its_end(o);
	start.check_list = o->list == LIST_CHECK;
	if (start.device < 0)
		return words_fail(w, start.device == -EACCES ||
		    start.device == -EPERM ? PAGEK_DENIED : PAGEK_NO_TARGET,
		    "'%s': %s", words_shown(path), strerror(-start.device));
	err = fstat(start.device, &st) < 0 ? -errno : 0;
	why = err < 0 ? strerror(-err) : refuse_kind(&st, start.device);
	if (why == NULL) {
		tell_own_node();
		err = nodes_start(link, loop, &start);
	}
	close(start.device);
	if (why != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "'%s': %s", words_shown(path), why);
	if (err < 0)
		return words_fail(w, PAGEK_FAILED, "cannot start pageknode: %s",
		    strerror(-err));
	return 0;
}

int
target_open(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct nodes_session_opts *s, char *why, size_t cap)
{
	const struct target *t = &o->target;
	struct words w = { .why = why, .cap = cap };
	int r;

	if (t->kind == TARGET_DEMO)
		return open_demo(o, loop, link, &w);
	if (t->kind == TARGET_RAW)
		return open_raw(o, loop, link, &w);
	s->pid = t->pid;
	s->stream = t->rest[0] != '\0' ? t->rest : NULL;
	if (t->kind == TARGET_UNIX)
		r = open_unix(t->path, loop, link, &w);
	else if (t->kind == TARGET_SSH)
		r = open_ssh(o, loop, link, &w);
	else
		r = open_found(o, loop, link, &w);
	if (r == 0 && t->number != 0)
		nodes_link_call(*link, t->number, t->name);
	return r;
}
