#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/major.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../../capture/capture.h"
#include "capture_target.h"
#include "cli.h"
#include "pump.h"
#include "target_word.h"

/* Time to type a password or check a key; sshd waits no longer. */
#define ASKING_MS 120000

#define STREAMS "ALLOCLOG"	/* prefix of all names of streams */
#define HERE "local"
#define BY_NUMBER "node:"
#define DEMO "demo:"
#define FILES "file:"

const struct target_form target_forms[] = {
	{ HERE, HERE, "on your newest node, the live target that holds most",
	    " (default)", "this machine (default)" },
	{ "pid:N", "pid:", "the target with this process id", "",
	    "the machine of the target with this process id" },
	{ "NAME", NULL, "the newest target whose command has this name", "",
	    "the machine of the newest target whose command has this name" },
	{ "NODE[/TARGET]", NULL, "a node of the table, by its name or its "
	    "number of up to four hex digits", "", NULL },
	{ "ssh:[USER@]HOST[/TARGET]", "ssh:", "the node of another machine",
	    "; TARGET is NAME, pid:N or the name of a stream", NULL },
	{ "unix:PATH", "unix:", "the node that listens at this socket",
	    "; 'unix:' is optional if the path has a slash", NULL },
	{ "raw:PATH", "raw:",
	    "16-byte records from a serial line, a FIFO, a file",
	    " or, as raw:-, a pipe", "" },
	{ "file:PATH", "file:", "a capture of pagek record",
	    "; 'file:' is optional if the path has a slash", NULL },
	{ DEMO "NAME", NULL, "a generator: note, 1, flood", "", "" },
	{ NULL, DEMO "note", "the six blocks of the 2004 note", "", NULL },
	{ NULL, DEMO "1", "a fixed busy target", "", NULL },
	{ NULL, DEMO "flood", "a target that overruns its stream", "", NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};

/* Prefixes of words that name no node. */
static const struct {
	const char *prefix;
	enum target_kind kind;
} prefixes[] = {
	{ "pid:", TARGET_PID },
	{ DEMO, TARGET_DEMO },
	{ "raw:", TARGET_RAW },
	{ FILES, TARGET_FILE },
};

struct words {
	char *why;
	size_t cap;
	nodes_say_cb say;	/* reports mistakes in the table of nodes */
	void *arg;
	bool commands;		/* a word that names no node may be a target's command */
};

static int words_fail(struct words *, int status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int
words_fail(struct words *w, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->why, w->cap, fmt, ap);
	va_end(ap);
	return status;
}

static bool
is_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

#define AFTER_NODE "write the name of a command, pid:N or the name of a stream"

static bool
parse_there(struct target *t, const char *word)
{
	t->name = "";
	if (*word == '\0' || strcmp(word, "local") == 0)
		return true;
	if (!nodes_parse_target(word, &t->pid))
		return false;
	if (t->pid != 0)
		return true;
	t->name = word;
	t->command = strncmp(word, STREAMS, strlen(STREAMS)) != 0;
	return !t->command || strchr(word, '/') == NULL;
}

static int
choose_kind_here(struct target *t, struct words *w)
{
	char hint[NODES_PID_HINT];

	t->kind = t->pid != 0 ? TARGET_PID : t->command ? TARGET_COMMAND :
	    TARGET_LOCAL;
	if (!t->command)
		return 0;
	t->refused = words_fail(w, PAGEK_NO_TARGET, "no target here is called "
	    "'%s'%s: 'pagek targets' lists what is watched",
	    base_shown(t->name), nodes_pid_hint(t->name, hint));
	snprintf(t->refusal, sizeof t->refusal, "%s", w->why);
	return 0;
}

static int
parse_local(struct target *t, const char *there, struct words *w)
{
	if (!parse_there(t, there))
		return words_fail(w, PAGEK_USAGE, "'%s': after local, "
		    AFTER_NODE ", as in local/pid:4711", base_shown(t->word));
	return choose_kind_here(t, w);
}

/* ssh:[USER@]HOST[/TARGET], from the host on. */
static int
parse_ssh(struct target *t, const char *place, struct words *w)
{
	size_t len = strcspn(place, "/");
	const char *there = place + len, *why;
	char *host = t->node.place;

	t->kind = TARGET_SSH;
	t->node.at = NODES_AT_SSH;
	if (len >= sizeof t->node.place)
		return words_fail(w, PAGEK_USAGE, "'%s': the name of a host is not "
		    "that long", base_shown(t->word));
	memcpy(host, place, len);
	host[len] = '\0';
	why = nodes_ssh_check(&(struct nodes_ssh){ .host = host });
	if (why != NULL)
		return words_fail(w, PAGEK_USAGE, "'%s': %s",
		    base_shown(t->word), why);
	if (parse_there(t, there + (*there == '/')))
		return 0;
	return words_fail(w, PAGEK_USAGE, "'%s': after the host, " AFTER_NODE
	    ", as in ssh:%s/pid:4711", base_shown(t->word), host);
}

/* No socket: a capture, or refused as none. */
static bool
is_file_or_folder(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (S_ISREG(st.st_mode) ||
	    S_ISDIR(st.st_mode));
}

static int
parse_path(struct target *t, const char *path, struct words *w)
{
	t->kind = TARGET_UNIX;
	t->node.at = NODES_AT_UNIX;
	if (path[0] == '\0')
		return words_fail(w, PAGEK_USAGE, "'%s': unix: needs the path of a "
		    "socket", base_shown(t->word));
	if (strlen(path) >= sizeof t->node.place)
		return words_fail(w, PAGEK_NO_TARGET, "'%s': no socket has a path "
		    "that long", base_shown(t->word));
	if (is_file_or_folder(path)) {
		t->kind = TARGET_FILE;
		t->name = path;
		return 0;
	}
	strcpy(t->node.place, path);
	return 0;
}

static int
parse_demo(const char *name, struct words *w)
{
	const char *demos[BASE_NELEM(target_forms)], *near;
	const size_t len = strlen(DEMO);
	size_t n = 0;

	for (size_t i = 0; i + 1 < BASE_NELEM(target_forms); i++) {
		const char *word = target_forms[i].word;

		if (word == NULL || strncmp(word, DEMO, len) != 0)
			continue;
		if (strcmp(name, word + len) == 0)
			return 0;
		demos[n++] = word + len;
	}
	near = base_nearest(name, demos, n);
	if (near != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "no demo '%s': did you "
		    "mean '" DEMO "%s'?", base_shown(name), near);
	return words_fail(w, PAGEK_NO_TARGET, "no demo '%s': there are "
	    "demo:note, demo:1 and demo:flood", base_shown(name));
}

static int
parse_prefixed(struct target *t, size_t form, struct words *w)
{
	t->kind = prefixes[form].kind;
	t->name = t->word + strlen(prefixes[form].prefix);
	if (t->kind == TARGET_PID) {
		if (!nodes_parse_pid(t->name, &t->pid))
			return words_fail(w, PAGEK_USAGE, "'%s': pid: needs a process "
			    "id, as in pid:4711", base_shown(t->word));
		t->name = "";
		return 0;
	}
	if (t->kind == TARGET_RAW && t->name[0] == '\0')
		return words_fail(w, PAGEK_USAGE, "'%s': raw: needs the path of a device, "
		    "a FIFO or a file, or - for standard input",
		    base_shown(t->word));
	if (t->kind == TARGET_FILE && t->name[0] == '\0')
		return words_fail(w, PAGEK_USAGE, "'%s': file: needs the path "
		    "of a capture, as 'pagek record' has written it",
		    base_shown(t->word));
	return t->kind == TARGET_DEMO ? parse_demo(t->name, w) : 0;
}

#define DIGITS 4	/* of a node's number, with leading zeros */

struct node_word {
	const char *word;
	char name[NODES_NAME_MAX + 1];	/* "" if it is too long */
	const char *there;		/* behind the slash; "" */
	bool slash;
	bool numeric;
	uint16_t number;
};

static void
split_word(struct node_word *nw, const char *word)
{
	size_t len = strcspn(word, "/");
	char padded[DIGITS + 1] = "0000";

	*nw = (struct node_word){ .word = word, .slash = word[len] == '/' };
	nw->there = word + len + nw->slash;
	if (len > 0 && len <= DIGITS) {
		memcpy(padded + DIGITS - len, word, len);
		nw->numeric = nodes_parse_number(padded, DIGITS, &nw->number);
	}
	if (len < sizeof nw->name)
		memcpy(nw->name, word, len);
}

/* Such a word behind a slash is a target; else the whole word is a path. */
static bool
is_target_word(const char *there)
{
	return strncmp(there, "pid:", 4) == 0 || strcmp(there, "local") == 0 ||
	    strncmp(there, STREAMS, strlen(STREAMS)) == 0;
}

static int
parse_entry(struct target *t, const struct nodes_entry *e,
    const struct node_word *nw, struct words *w)
{
	if (!parse_there(t, nw->there))
		return words_fail(w, PAGEK_USAGE, "'%s': after the node, "
		    AFTER_NODE ", as in %s/pid:4711", base_shown(t->word),
		    e->name);
	t->node = *e;
	switch (e->at) {
	case NODES_AT_LOCAL:
		return choose_kind_here(t, w);
	case NODES_AT_UNIX:
		t->kind = TARGET_UNIX;
		break;
	case NODES_AT_SSH:
		t->kind = TARGET_SSH;
		break;
	}
	return 0;
}

static int
refuse_node(const struct nodes_table *table, const struct node_word *nw,
    struct words *w)
{
	char files[256] = "";
	size_t len = 0;

	for (size_t i = 0; i < NODES_FILES; i++)
		if (table->path[i] != NULL)
			base_append(files, sizeof files, &len, "%s%s",
			    len > 0 ? ", " : "", base_shown(table->path[i]));
	return words_fail(w, PAGEK_NO_TARGET, "no node '%s' in the table (%s), "
	    "and no socket at '%s': 'pagek nodes' prints the table",
	    base_shown(nw->name[0] != '\0' ? nw->name : "..."), files,
	    base_shown(nw->word));
}

static int
refuse_number(const struct nodes_table *table, const struct node_word *nw,
    struct words *w)
{
	const struct nodes_entry *near;
	pid_t pid;

	/* 0592 is meant as a node even where a process has the number 592. */
	if (nw->name[0] != '0' && nodes_parse_pid(nw->name, &pid) &&
	    is_alive(pid))
		return words_fail(w, PAGEK_NO_TARGET, "no node has the number %s: "
		    "did you mean pid:%ld?", nw->name, (long)pid);
	near = nodes_table_nearest(table, nw->name);
	if (near != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "no node has the number %s: "
		    "did you mean %04X, %s?", nw->name, near->number,
		    near->name);
	if (nw->slash && !is_target_word(nw->there))
		return refuse_node(table, nw, w);
	return words_fail(w, PAGEK_NO_TARGET, "no node has the number %s: "
	    "'pagek nodes' lists those that have one", nw->name);
}

static int
refuse_name(const struct nodes_table *table, const struct node_word *nw,
    const char *const *known, size_t n, struct words *w)
{
	static const char *const local[] = { "local" };
	const struct nodes_entry *e = nodes_table_nearest(table, nw->name);
	const char *near[2] = { base_nearest(nw->name, known, n),
		e != NULL ? e->name : NULL };
	/* A word may be longer than any name. */
	const char *name = base_shown(nw->name[0] != '\0' ? nw->name : "...");

	if (nw->slash ||
	    (near[0] != NULL && strcmp(near[0], nw->name) == 0))
		near[0] = NULL;
	if (near[0] != NULL && near[1] != NULL)
		near[near[0] == base_nearest(nw->name, near, 2)] = NULL;
	if (near[0] != NULL)
		return words_fail(w, PAGEK_USAGE, "no command or target '%s': "
		    "did you mean '%s'?", base_shown(nw->name), near[0]);
	if (near[1] != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "no node '%s': did you mean "
		    "%s, number %04X?", base_shown(nw->name), near[1], e->number);
	if (base_nearest(nw->name, local, 1) != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "no node '%s': did you mean "
		    "'local'?", base_shown(nw->name));
	if (nw->slash && !is_target_word(nw->there))
		return refuse_node(table, nw, w);
	if (nw->slash || !w->commands)
		return words_fail(w, PAGEK_NO_TARGET, "no node '%s': 'pagek "
		    "nodes' lists the nodes that have a name", name);
	return words_fail(w, PAGEK_NO_TARGET, "no target or node '%s'%s: "
	    "'pagek targets' lists what is watched", name,
	    n > 0 ? ", and no command" : "");
}

static int
parse_command(struct target *t, const char *word, int status, struct words *w)
{
	t->kind = TARGET_COMMAND;
	t->name = word;
	t->refused = status;
	snprintf(t->refusal, sizeof t->refusal, "%s", w->why);
	return 0;
}

static int
parse_node(struct target *t, const char *word, bool by_number,
    const char *const *known, size_t n, struct words *w)
{
	const struct nodes_entry *e;
	struct nodes_table *table;
	struct node_word nw;
	pid_t pid;
	int r;

	split_word(&nw, word);
	if (by_number && !nw.numeric)
		return words_fail(w, PAGEK_USAGE, "'%s': node: needs up to four "
		    "hexadecimal digits, as in node:0590", base_shown(t->word));
	r = nodes_table_load(&table, true, w->say, w->arg);
	if (r < 0)
		return words_fail(w, PAGEK_FAILED, "cannot read the table of nodes: "
		    "%s", strerror(-r));
	e = nw.numeric ? nodes_table_number(table, nw.number) : NULL;
	if (e == NULL)
		e = nodes_table_name(table, nw.name);
	if (e != NULL)
		r = parse_entry(t, e, &nw, w);
	else if (nw.numeric || (nodes_parse_pid(nw.name, &pid) && is_alive(pid)))
		r = refuse_number(table, &nw, w);
	else
		r = refuse_name(table, &nw, known, n, w);
	nodes_table_free(table);
	if (e == NULL && r != PAGEK_FAILED && nw.slash && !by_number &&
	    !is_target_word(nw.there)) {
		snprintf(t->refusal, sizeof t->refusal, "%s", w->why);
		return parse_path(t, word, w);
	}
	return e == NULL && r != PAGEK_FAILED && w->commands && !by_number &&
	    !nw.slash ? parse_command(t, word, r, w) : r;
}

static bool
is_path(const char *word)
{
	return word[0] == '/' || word[0] == '~' ||
	    strncmp(word, "./", 2) == 0 || strncmp(word, "../", 3) == 0;
}

static int
parse_word(struct target *t, const char *word, const char *const *known,
    size_t n, struct words *w)
{
	size_t here = strlen(HERE);
	enum nodes_at at;
	const char *place;

	*t = (struct target){ .kind = TARGET_LOCAL, .word = word, .name = "" };
	if (word[0] == '\0')
		return words_fail(w, PAGEK_USAGE, "the target is empty: leave "
		    "it out, or name one; 'pagek targets' lists them");
	if (strncmp(word, HERE, here) == 0 && word[here] == '/')
		return parse_local(t, word + here + 1, w);
	if (nodes_parse_place(word, &at, &place))
		return at == NODES_AT_UNIX ? parse_path(t, place, w) :
		    at == NODES_AT_SSH ? parse_ssh(t, place, w) : 0;
	for (size_t i = 0; i < BASE_NELEM(prefixes); i++)
		if (strncmp(word, prefixes[i].prefix,
		    strlen(prefixes[i].prefix)) == 0)
			return parse_prefixed(t, i, w);
	if (is_path(word))
		return parse_path(t, word, w);
	if (strncmp(word, BY_NUMBER, strlen(BY_NUMBER)) == 0)
		return parse_node(t, word + strlen(BY_NUMBER), true, NULL, 0,
		    w);
	return parse_node(t, word, false, known, n, w);
}

int
target_parse(struct target *t, const char *word, const char *const *known,
    size_t n, char *why, size_t cap)
{
	return parse_word(t, word, known, n, &(struct words){ .why = why,
	    .cap = cap, .say = complain_said, .commands = true });
}

int
target_parse_said(struct target *t, const char *word, nodes_say_cb say,
    void *arg, char *why, size_t cap)
{
	return parse_word(t, word, NULL, 0, &(struct words){ .why = why,
	    .cap = cap, .say = say, .arg = arg, .commands = true });
}

int
target_parse_file(struct target *t, const char *word, char *why, size_t cap)
{
	struct words w = { .why = why, .cap = cap };
	bool prefixed = strncmp(word, FILES, strlen(FILES)) == 0;

	*t = (struct target){ .kind = TARGET_FILE, .word = word,
		.name = prefixed ? word + strlen(FILES) : word };
	return t->name[0] != '\0' ? 0 : words_fail(&w, PAGEK_USAGE,
	    "a capture needs a path: it is the file that 'pagek record' wrote");
}

struct enquiry {
	bool done;
	bool abandoned;		/* the caller waits no more: the answer frees it */
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
	/* On the heap, for a late answer. */
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

/* 3: a live target matches; 2: a dormant one; 1: any node will do; 0: none. */
static int
match_targets(const struct target *t, const struct nodes_target *list, size_t n)
{
	bool any = t->kind == TARGET_LOCAL && t->name[0] == '\0';
	int best = any ? 1 : 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (t->name[0] != '\0') {
			if (strcmp(list[i].name, t->name) == 0)
				return 3;
			continue;
		}
		/* The node's own stream is no target. */
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

int
target_each_node(uv_loop_t *loop, int each_ms, int all_ms,
    bool (*visit)(void *arg, struct target_node *), void *arg)
{
	struct mono begun = mono_now();
	char **paths = NULL;
	size_t n = 0;
	bool more = true;
	int err;

	err = nodes_find(&paths, &n);
	if (err < 0)
		return err;
	for (size_t i = 0; i < n && more; i++) {
		struct target_node node = { .socket = paths[i] };
		int64_t left = all_ms - mono_ms_since(begun);

		if (all_ms > 0 && left <= 0)
			break;
		node.err = nodes_connect(&node.link, loop, paths[i]);
		if (node.err == 0) {
			node.err = target_enquire(loop, node.link, all_ms > 0 &&
			    left < each_ms ? (int)left : each_ms, &node.targets,
			    &node.n);
			node.why = node.err < 0 ?
			    target_why(node.link, node.err) : NULL;
		}
		more = visit(arg, &node);
		nodes_link_close(node.link);
		free(node.targets);
	}
	free(paths);
	return (int)n;
}

struct search {
	const struct target *t;
	struct nodes_target command;	/* the newest of that command; pid 0: none */
	pid_t ended;		/* of a command: that of the last that has ended ... */
	int64_t ended_ms;	/* ... and when */
	struct nodes_link *best;
	int match;
	char socket[256];
	int err;		/* of a node that did not answer; 0 */
	char why[512];
};

static void
note_ended(struct search *s, const struct nodes_target *list, size_t n)
{
	const struct nodes_target *ended = nodes_target_ended_command(list, n,
	    s->t->name);

	if (ended == NULL || ended->ended_ms <= s->ended_ms)
		return;
	s->ended = ended->pid;
	s->ended_ms = ended->ended_ms;
}

static bool
visit_node(void *arg, struct target_node *node)
{
	struct search *s = arg;
	bool command = s->t->kind == TARGET_COMMAND, better;
	int match = 0;

	if (node->err < 0 && node->why != NULL) {
		s->err = node->err;
		snprintf(s->why, sizeof s->why, "%s: %s", node->socket,
		    node->why);
	}
	if (node->err < 0)
		return true;
	if (command) {
		note_ended(s, node->targets, node->n);
		better = nodes_target_take_newest(&s->command, node->targets,
		    node->n, s->t->name);
	} else {
		match = match_targets(s->t, node->targets, node->n);
		better = match > s->match;
	}
	if (better) {
		nodes_link_close(s->best);
		s->best = node->link;
		node->link = NULL;
		s->match = match;
		snprintf(s->socket, sizeof s->socket, "%s", node->socket);
	}
	return command || s->match < 3;
}

/* The name may have been meant for one that has ended. */
static void
remark_ended(struct words *w, const struct target *t, pid_t taken, pid_t ended)
{
	const char *slash = strrchr(t->word, '/');
	int node = slash != NULL ? (int)(slash + 1 - t->word) : 0;
	char name[64];

	if (ended == 0 || ended == taken)
		return;
	snprintf(name, sizeof name, "%s", base_shown(t->name));
	(void)words_fail(w, 0, "'%s' is %s[%ld], which lives; %s[%ld] has "
	    "ended: %.*spid:%ld", base_shown(t->word), name, (long)taken, name, (long)ended,
	    node, t->word, (long)ended);
}

/* The user's name; borrowed until the next call. */
static const char *
user_name(uid_t uid)
{
	static char name[64];
	const struct passwd *pw = getpwuid(uid);

	if (pw != NULL)
		base_safe_text(name, sizeof name, pw->pw_name,
		    strlen(pw->pw_name), false);
	else
		snprintf(name, sizeof name, "uid %lu", (unsigned long)uid);
	return name;
}

static int
refuse_pid(pid_t pid, struct words *w)
{
	struct nodes_watcher by;
	const char *user;

	if (!is_alive(pid))
		return words_fail(w, PAGEK_NO_TARGET, "there is no process %ld",
		    (long)pid);
	if (!nodes_watcher(pid, &by))
		return words_fail(w, PAGEK_NO_TARGET, "process %ld is not being "
		    "watched: start it with 'pagek run -- COMMAND'",
		    (long)pid);
	user = user_name(by.uid);
	if (!by.sure)
		return words_fail(w, PAGEK_DENIED, "process %ld belongs to %s, "
		    "and only %s may see whether it is watched: run pagek as %s",
		    (long)pid, user, user, user);
	if (by.socket[0] != '\0' && access(by.socket, R_OK | W_OK) == 0)
		return words_fail(w, PAGEK_NO_TARGET, "process %ld is watched by "
		    "the node of %s at %s: use 'pagek unix:%s'", (long)pid,
		    user, base_shown(by.socket), base_shown(by.socket));
	if (strncmp(by.socket, DAEMON_SYSTEM_FOLDER "/",
	    strlen(DAEMON_SYSTEM_FOLDER "/")) == 0)
		return words_fail(w, PAGEK_DENIED, "process %ld is watched by the "
		    "machine's node, which you may not ask: run pagek as root, "
		    "or join the group of %s", (long)pid, by.socket);
	return words_fail(w, PAGEK_DENIED, "process %ld is watched by a node of %s, "
	    "which you may not ask: run pagek as %s", (long)pid, user, user);
}

/* Several images that have ended may have had its pid. */
static void
take_command(const struct nodes_target *t, struct nodes_session_opts *opts)
{
	static char stream[sizeof t->name];

	opts->pid = t->pid;
	if (nodes_target_is_live(t))
		return;
	snprintf(stream, sizeof stream, "%s", t->name);
	opts->stream = stream;
}

static int
open_found(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct nodes_session_opts *opts, struct words *w)
{
	const struct target *t = &o->target;
	struct search s = { .t = t };
	int r = target_each_node(loop, o->timeout_ms, 0, visit_node, &s);

	if (r < 0)
		return words_fail(w, PAGEK_NO_TARGET, "cannot look for nodes: %s",
		    strerror(-r));
	if (s.best != NULL) {
		tell("node: %s", s.socket);
		*link = s.best;
		if (s.command.pid != 0)
			take_command(&s.command, opts);
		if (s.command.pid != 0 && nodes_target_is_live(&s.command))
			remark_ended(w, t, s.command.pid, s.ended);
		return 0;
	}
	/* The node that did not answer may have the target. */
	if (s.err < 0 && (t->pid == 0 || is_alive(t->pid)))
		return words_fail(w, s.err == -ETIMEDOUT ? PAGEK_TIMEOUT :
		    PAGEK_NO_TARGET, "%s", s.why);
	if (t->kind == TARGET_COMMAND)
		return words_fail(w, t->refused, "%s", t->refusal);
	if (t->name[0] != '\0')
		return words_fail(w, PAGEK_NO_TARGET, "no node here has a stream "
		    "'%s': 'pagek targets' lists what there is",
		    base_shown(t->name));
	if (t->kind == TARGET_LOCAL)
		return words_fail(w, PAGEK_NO_TARGET, "nothing is being watched: "
		    "start it with 'pagek run -- COMMAND'");
	return refuse_pid(t->pid, w);
}

static int
open_unix(const struct target *t, uv_loop_t *loop, struct nodes_link **link,
    struct words *w)
{
	const struct nodes_entry *e = &t->node;
	const char *path = e->place;
	char node[NODES_NAME_MAX + 16] = "";
	struct stat st;
	int err;

	if (stat(path, &st) == 0 && !S_ISSOCK(st.st_mode))
		return words_fail(w, PAGEK_NO_TARGET, "'%s' is no socket of a "
		    "node, and no capture", base_shown(path));
	tell("node: %s", path);
	err = nodes_connect(link, loop, path);
	if (err == 0)
		return 0;
	if (e->number != 0)
		snprintf(node, sizeof node, "node %04X %s: ", e->number,
		    e->name);
	if (err == -ENOENT && t->refusal[0] != '\0')
		return words_fail(w, PAGEK_NO_TARGET, "%s", t->refusal);
	if (err == -ENOENT || err == -ECONNREFUSED)
		return words_fail(w, PAGEK_NO_TARGET, "%sno node listens at "
		    "'%s': %s; %s", node, base_shown(path),
		    err == -ENOENT ? strerror(-err) : "it has ended without "
		    "removing its socket", node[0] != '\0' ? "start pageknode "
		    "there, or correct the table that 'pagek nodes' prints" :
		    "'pagek targets' lists the nodes that run");
	return words_fail(w, err == -EACCES || err == -EPERM ? PAGEK_DENIED :
	    PAGEK_NO_TARGET, "%s'%s': %s", node, base_shown(path),
	    strerror(-err));
}

static bool
is_decided(void *arg)
{
	return nodes_link_state(arg, NULL) != NODES_CONNECTING;
}

/* ssh asks on the controlling terminal, whatever its streams are. */
static bool
can_ask(void)
{
	int fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* ssh may ask on the terminal until the page opens. */
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
		    o->target.node.place, ms / 1000.0);
	case NODES_DENIED:
		return words_fail(w, PAGEK_DENIED, "%s", reason);
	case NODES_VERSION:
		return words_fail(w, PAGEK_FORMAT, "%s", reason);
	default:
		return words_fail(w, PAGEK_NO_TARGET, "%s", reason);
	}
}

/* The entry of a node in the table overrides the setting for all nodes. */
const char *
target_remote_program(const struct options *o)
{
	return o->target.node.remote[0] != '\0' &&
	    !option_given(o, OPTION_REMOTE_PAGEKNODE) ?
	    o->target.node.remote : o->remote;
}

static int
open_ssh(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct words *w)
{
	const struct target *t = &o->target;
	struct nodes_ssh where = { .host = t->node.place, .may_ask = true,
		.program = target_remote_program(o) };
	const char *why = nodes_ssh_check(&where);
	char word[NODES_PID_WORD];
	int r;

	if (why != NULL)
		return words_fail(w, PAGEK_USAGE, "'%s': %s", where.program, why);
	where.target = nodes_target_word(t->pid, t->name, word);
	why = nodes_ssh_check(&where);
	if (why != NULL)
		return words_fail(w, PAGEK_USAGE, "'%s': %s", base_shown(t->word), why);
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

	start.demo.name = o->target.name;
	start.check_list = o->list == LIST_CHECK;
	tell_own_node();
	err = nodes_start(link, loop, &start);
	if (err < 0)
		return words_fail(w, PAGEK_FAILED, "cannot start pageknode: %s",
		    strerror(-err));
	return 0;
}

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

/* Standard input shares its flags with our parent unless it is opened again. */
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
	const char *path = o->target.name;
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
	const char *path = o->target.name, *slash = strrchr(path, '/'), *why;
	bool input = strcmp(path, "-") == 0;
	struct node_opts start = o->node;
	struct stat st;
	int err;

	start.device.fd = open_path(path);
	start.device.name = input ? "input" : slash != NULL &&
	    slash[1] != '\0' ? slash + 1 : path;
	start.device.once = input || target_is_read_to_its_end(o);
	start.check_list = o->list == LIST_CHECK;
	if (start.device.fd < 0)
		return words_fail(w, start.device.fd == -EACCES ||
		    start.device.fd == -EPERM ? PAGEK_DENIED : PAGEK_NO_TARGET,
		    "'%s': %s", base_shown(path), strerror(-start.device.fd));
	err = fstat(start.device.fd, &st) < 0 ? -errno : 0;
	why = err < 0 ? strerror(-err) : refuse_kind(&st, start.device.fd);
	if (why == NULL) {
		tell_own_node();
		err = nodes_start(link, loop, &start);
	}
	close(start.device.fd);
	if (why != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "'%s': %s", base_shown(path), why);
	if (err < 0)
		return words_fail(w, PAGEK_FAILED, "cannot start pageknode: %s",
		    strerror(-err));
	return 0;
}

/*
 * Fails if the node does not watch the target: the session would wait for it
 * for ever.  If the node does not answer, the session reports that.
 */
static int
find_there(const struct options *o, uv_loop_t *loop, struct nodes_link *link,
    struct nodes_session_opts *opts, struct words *w)
{
	const struct target *t = &o->target;
	const struct nodes_target *command;
	struct nodes_target *list = NULL;
	char word[NODES_PID_WORD], where[sizeof t->node.place + 8];
	char commands[160], hint[NODES_PID_HINT];
	const struct nodes_target *ended;
	bool there = false;
	size_t n = 0;
	int r;

	if (t->pid == 0 && t->name[0] == '\0')
		return 0;
	r = target_enquire(loop, link, o->timeout_ms, &list, &n);
	if (r < 0 && t->command)
		return words_fail(w, r == -ETIMEDOUT ? PAGEK_TIMEOUT :
		    PAGEK_NO_TARGET, "%s: %s", base_shown(t->word),
		    target_why(link, r));
	if (r < 0)
		return 0;
	for (size_t i = 0; i < n && !there && !t->command; i++)
		there = t->pid != 0 ? list[i].pid == t->pid :
		    strcmp(list[i].name, t->name) == 0;
	command = t->command ? nodes_target_of_command(list, n, t->name) : NULL;
	if (command != NULL) {
		take_command(command, opts);
		there = true;
	}
	ended = command != NULL && nodes_target_is_live(command) ?
	    nodes_target_ended_command(list, n, t->name) : NULL;
	if (ended != NULL)
		remark_ended(w, t, opts->pid, ended->pid);
	nodes_target_commands(list, n, commands, sizeof commands);
	free(list);
	if (there)
		return 0;
	nodes_entry_where(&t->node, where, sizeof where);
	if (t->command)
		return words_fail(w, PAGEK_NO_TARGET, "the node at %s watches "
		    "no '%s'%s: %s%s", base_shown(where), base_shown(t->name),
		    nodes_pid_hint(t->name, hint), commands[0] != '\0' ?
		    "it watches " : "it watches nothing that lives", commands);
	return words_fail(w, PAGEK_NO_TARGET, "the node at %s does not watch "
	    "%s: 'pagek targets %s' lists what it watches",
	    base_shown(where), nodes_target_word(t->pid, t->name, word),
	    base_shown(where));
}

int
target_open(const struct options *o, uv_loop_t *loop, struct nodes_link **link,
    struct nodes_session_opts *s, char *why, size_t cap)
{
	const struct target *t = &o->target;
	struct words w = { .why = why, .cap = cap };
	int r;

	why[0] = '\0';
	if (t->kind == TARGET_DEMO)
		return open_demo(o, loop, link, &w);
	if (t->kind == TARGET_RAW)
		return open_raw(o, loop, link, &w);
	if (t->kind == TARGET_FILE)
		return capture_target_open(o, loop, link, why, cap);
	s->pid = t->pid;
	s->stream = t->name[0] != '\0' && t->kind != TARGET_COMMAND &&
	    !t->command ? t->name : NULL;
	if (t->kind == TARGET_UNIX)
		r = open_unix(t, loop, link, &w);
	else if (t->kind == TARGET_SSH)
		r = open_ssh(o, loop, link, &w);
	else
		r = open_found(o, loop, link, s, &w);
	if (r == 0 && (t->kind == TARGET_UNIX || t->kind == TARGET_SSH) &&
	    (r = find_there(o, loop, *link, s, &w)) != 0) {
		nodes_link_close(*link);
		*link = NULL;
	}
	if (r == 0 && t->node.number != 0)
		nodes_link_call(*link, t->node.number, t->node.name);
	return r;
}
