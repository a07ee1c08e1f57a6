/*
 * TARGET words, and how each of them becomes a link.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/base.h"
#include "options.h"
#include "pump.h"
#include "target.h"

#define STREAMS "ALLOCLOG"	/* what the names of all streams begin with */
/* A person types a password, or looks at a key; no sshd waits for longer. */
#define ASKING_MS 120000

static const char *const demos[] = { "note", "1", "flood" };

/* Forms of words, by what they begin with. */
static const struct {
	const char *prefix;
	bool known;		/* to this version */
	enum target_kind kind;
	const char *what;
} forms[] = {
	{ "pid:", true, TARGET_PID, NULL },
	{ "unix:", true, TARGET_UNIX, NULL },
	{ "ssh:", true, TARGET_SSH, NULL },
	{ "demo:", true, TARGET_DEMO, NULL },
	{ "node:", false, TARGET_LOCAL, "nodes by number" },
	{ "raw:", false, TARGET_LOCAL, "raw record streams" },
	{ "file:", false, TARGET_LOCAL, "capture files" },
};

struct words {
	char *why;
	size_t cap;
};

static int fail(struct words *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int
fail(struct words *w, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->why, w->cap, fmt, ap);
	va_end(ap);
	return status;
}

static const char *
shown(const char *word)
{
	static char safe[160];

	base_safe_text(safe, sizeof safe, word, strlen(word), false);
	return safe;
}

/* --- words -------------------------------------------------------------- */

static bool
get_pid(const char *text, pid_t *pid)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 ||
	    n == 0 || n > INT32_MAX)
		return false;
	*pid = (pid_t)n;
	return true;
}

static bool
is_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* Four hex digits are a node's number, even when they are digits only. */
static bool
is_node_number(const char *word)
{
	return strlen(word) == 4 &&
	    strspn(word, "0123456789abcdefABCDEF") == 4;
}

/* What is meant on the other machine: behind the first slash. */
static int
parse_ssh(struct target *t, struct words *w)
{
	size_t len = strcspn(t->rest, "/");
	const char *word = t->rest + len, *why;

	if (len >= sizeof t->host)
		return fail(w, PAGEK_USAGE, "'%s': the name of a host is not "
		    "that long", shown(t->word));
	memcpy(t->host, t->rest, len);
	t->host[len] = '\0';
	why = nodes_ssh_check(&(struct nodes_ssh){ .host = t->host });
	if (why != NULL)
		return fail(w, PAGEK_USAGE, "'%s': %s", shown(t->word), why);
	t->rest = "";
	if (*word == '/')
		word++;
	if (*word == '\0' || strcmp(word, "local") == 0)
		return 0;
	if (strncmp(word, "pid:", 4) == 0 && get_pid(word + 4, &t->pid))
		return 0;
	if (strncmp(word, STREAMS, strlen(STREAMS)) == 0) {
		t->rest = word;
		return 0;
	}
	return fail(w, PAGEK_USAGE, "'%s': behind the host goes pid:N, or the "
	    "name of a stream, as in ssh:%s/pid:4711", shown(t->word),
	    t->host);
}

static int
parse_form(struct target *t, size_t form, struct words *w)
{
	const char *near;
	size_t i;

	t->kind = forms[form].kind;
	t->rest = t->word + strlen(forms[form].prefix);
	if (!forms[form].known)
		return fail(w, PAGEK_NO_TARGET, "'%s': this version does not "
		    "have %s yet", shown(t->word), forms[form].what);
	if (t->kind == TARGET_PID && !get_pid(t->rest, &t->pid))
		return fail(w, PAGEK_USAGE, "'%s': a process id goes behind "
		    "pid:", shown(t->word));
	if (t->kind == TARGET_UNIX && t->rest[0] == '\0')
		return fail(w, PAGEK_USAGE, "'unix:': the path of a socket "
		    "goes behind it");
	if (t->kind == TARGET_SSH)
		return parse_ssh(t, w);
	if (t->kind != TARGET_DEMO)
		return 0;
	for (i = 0; i < BASE_NELEM(demos); i++)
		if (strcmp(t->rest, demos[i]) == 0)
			return 0;
	near = base_nearest(t->rest, demos, BASE_NELEM(demos));
	if (near != NULL)
		return fail(w, PAGEK_NO_TARGET, "no demo '%s': did you mean "
		    "'demo:%s'?", shown(t->rest), near);
	return fail(w, PAGEK_NO_TARGET, "no demo '%s': there are demo:note, "
	    "demo:1 and demo:flood", shown(t->rest));
}

/* A word of no form: what could be meant? */
static int
refuse(const char *word, const char *const *known, size_t n, struct words *w)
{
	const char *near;
	pid_t pid;

	if (get_pid(word, &pid) && is_alive(pid))
		return fail(w, PAGEK_NO_TARGET, "no node has the number %s: "
		    "did you mean pid:%s?", word, word);
	if (is_node_number(word))
		return fail(w, PAGEK_NO_TARGET, "'%s': this version does not "
		    "have nodes by number yet", word);
	near = base_nearest(word, known, n);
	if (near != NULL)
		return fail(w, PAGEK_USAGE, "no command or target '%s': did "
		    "you mean '%s'?", shown(word), near);
	return fail(w, PAGEK_USAGE, "no command or target '%s': this version "
	    "does not have nodes by name yet", shown(word));
}

int
target_parse(struct target *t, const char *word, const char *const *known,
    size_t n, char *why, size_t cap)
{
	struct words w = { .why = why, .cap = cap };
	const char *words[32];
	size_t i, count = 0;

	*t = (struct target){ .kind = TARGET_LOCAL, .word = word };
	if (strcmp(word, "local") == 0)
		return 0;
	for (i = 0; i < BASE_NELEM(forms); i++)
		if (strncmp(word, forms[i].prefix,
		    strlen(forms[i].prefix)) == 0)
			return parse_form(t, i, &w);
	if (strchr(word, '/') != NULL) {
		t->kind = TARGET_UNIX;
		t->rest = word;
		return 0;
	}
	for (i = 0; i < n && count < BASE_NELEM(words) - 1; i++)
		words[count++] = known[i];
	words[count++] = "local";
	return refuse(word, words, count, &w);
}

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

/*
 * Whether a node's targets have what is looked for: 3 for sure, 2 when it
 * sleeps, 1 perhaps.
 */
static int
match(const struct target *t, const struct nodes_target *list, size_t n)
{
	int best = t->kind == TARGET_LOCAL ? 1 : 0;
	size_t i;

	for (i = 0; i < n; i++) {
		/* The node itself is no target of it. */
		if (list[i].pid == 0)
			continue;
		if (t->kind == TARGET_PID ? list[i].pid == t->pid :
		    list[i].state == WIRE_S_LIVE)
			return 3;
		if (t->kind == TARGET_LOCAL &&
		    list[i].state == WIRE_S_DORMANT)
			best = 2;
	}
	return best;
}

/* Goes through this user's nodes, newest first, and keeps the best link. */
static int
search(const struct target *t, uv_loop_t *loop, int timeout_ms,
    struct nodes_link **out)
{
	struct nodes_link *link, *best = NULL;
	struct nodes_target *list;
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
		if (target_enquire(loop, link, timeout_ms, &list, &n) < 0) {
			nodes_link_close(link);
			continue;
		}
		m = match(t, list, n);
		free(list);
		if (m > have) {
			nodes_link_close(best);
			best = link;
			have = m;
		} else {
			nodes_link_close(link);
		}
	}
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
	int err;

	err = search(t, loop, o->timeout_ms, link);
	if (err == 0)
		return 0;
	if (err != -ENOENT)
		return fail(w, PAGEK_NO_TARGET, "cannot look for nodes: %s",
		    strerror(-err));
	if (t->kind == TARGET_LOCAL)
		return fail(w, PAGEK_NO_TARGET, "nothing is being watched: "
		    "start it with 'pagek run -- COMMAND'");
	if (is_alive(t->pid))
		return fail(w, PAGEK_NO_TARGET, "process %ld is not being "
		    "watched: start it with 'pagek run -- COMMAND'",
		    (long)t->pid);
	return fail(w, PAGEK_NO_TARGET, "there is no process %ld",
	    (long)t->pid);
}

static int
open_unix(const char *path, uv_loop_t *loop, struct nodes_link **link,
    struct words *w)
{
	struct stat st;
	int err;

	if (stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return fail(w, PAGEK_NO_TARGET, "'%s' is no socket; this "
		    "version does not have capture files yet", shown(path));
	err = nodes_connect(link, loop, path);
	if (err == 0)
		return 0;
	return fail(w, err == -EACCES || err == -EPERM ? PAGEK_DENIED :
	    PAGEK_NO_TARGET, "'%s': %s", shown(path),
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
		return fail(w, PAGEK_TIMEOUT, "ssh %s: no answer within %g s",
		    o->target.host, ms / 1000.0);
	case NODES_DENIED:
		return fail(w, PAGEK_DENIED, "%s", reason);
	case NODES_VERSION:
		return fail(w, PAGEK_FORMAT, "%s", reason);
	default:
		return fail(w, PAGEK_NO_TARGET, "%s", reason);
	}
}

static int
open_ssh(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct nodes_session_opts *s, struct words *w)
{
	const struct target *t = &o->target;
	struct nodes_ssh where = { .host = t->host, .program = o->remote,
		.may_ask = true };
	const char *why = nodes_ssh_check(&where);
	char pid[24];
	int r;

	if (why != NULL)
		return fail(w, PAGEK_USAGE, "'%s': %s", o->remote, why);
	snprintf(pid, sizeof pid, "pid:%ld", (long)t->pid);
	where.target = t->pid != 0 ? pid : t->rest[0] != '\0' ? t->rest : NULL;
	why = nodes_ssh_check(&where);
	if (why != NULL)
		return fail(w, PAGEK_USAGE, "'%s': %s", shown(t->word), why);
	r = nodes_connect_ssh(link, loop, &where);
	if (r == -ENOENT)
		return fail(w, PAGEK_FAILED, "cannot start ssh: is it "
		    "installed?");
	if (r < 0)
		return fail(w, PAGEK_FAILED, "cannot start ssh: %s",
		    strerror(-r));
	r = wait_for_ssh(o, loop, *link, w);
	if (r != 0) {
		nodes_link_close(*link);
		*link = NULL;
		return r;
	}
	s->pid = t->pid;
	s->stream = t->rest[0] != '\0' ? t->rest : NULL;
	return 0;
}

static int
open_demo(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct words *w)
{
	struct nodes_start start = {
		.demo = o->target.rest,
		.demo_at = o->at,
		.demo_stream = o->stream,
		.max = o->max,
		.check_list = o->list == LIST_CHECK,
	};
	int err;

	err = nodes_start(link, loop, &start);
	if (err < 0)
		return fail(w, PAGEK_FAILED, "cannot start pageknode: %s",
		    strerror(-err));
	return 0;
}

int
target_open(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct nodes_session_opts *s, char *why, size_t cap)
{
	struct words w = { .why = why, .cap = cap };

	switch (o->target.kind) {
	case TARGET_PID:
		s->pid = o->target.pid;
		return open_found(o, loop, link, &w);
	case TARGET_LOCAL:
		return open_found(o, loop, link, &w);
	case TARGET_UNIX:
		return open_unix(o->target.rest, loop, link, &w);
	case TARGET_SSH:
		return open_ssh(o, loop, link, s, &w);
	case TARGET_DEMO:
		break;
	}
	return open_demo(o, loop, link, &w);
}
