/*
 * TARGET words: forms, paths, and the numbers and names of the table of nodes.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "commands.h"
#include "target.h"
#include "target_words.h"

#define STREAMS "ALLOCLOG"	/* what the names of all streams begin with */
#define HERE "local"
#define BY_NUMBER "node:"

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
	{ "raw:", true, TARGET_RAW, NULL },
	{ "file:", false, TARGET_LOCAL, "capture files" },
};

int
words_fail(struct words *w, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(w->why, w->cap, fmt, ap);
	va_end(ap);
	return status;
}

const char *
words_shown(const char *word)
{
	static char safe[160];

	base_safe_text(safe, sizeof safe, word, strlen(word), false);
	return safe;
}

const char *
words_fixed(size_t k, const char **what)
{
	static const struct {
		const char *word, *what;
	} fixed[] = {
		{ HERE, "the live target here that holds most" },
		{ "pid:", "a target by its process id" },
		{ "unix:", "the node that listens at a socket" },
		{ "ssh:", "the node of another machine" },
		{ "raw:", "records from a serial line, a FIFO or a file" },
		{ "demo:note", "the six blocks of the 2004 note" },
		{ "demo:1", "a fixed busy target" },
		{ "demo:flood", "a target that overruns its stream" },
	};

	if (k >= BASE_NELEM(fixed))
		return NULL;
	*what = fixed[k].what;
	return fixed[k].word;
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

bool
words_pid_is_alive(pid_t pid)
{
	return kill(pid, 0) == 0 || errno == EPERM;
}

/* What is meant on a node: its best, pid:N, or a stream by its name. */
static bool
parse_there(struct target *t, const char *word)
{
	t->rest = "";
	if (*word == '\0' || strcmp(word, "local") == 0)
		return true;
	if (strncmp(word, "pid:", 4) == 0)
		return get_pid(word + 4, &t->pid);
	if (strncmp(word, STREAMS, strlen(STREAMS)) != 0)
		return false;
	t->rest = word;
	return true;
}

/* On a node of this user's: what stands behind "local/". */
static int
parse_local(struct target *t, const char *there, struct words *w)
{
	if (!parse_there(t, there))
		return words_fail(w, PAGEK_USAGE, "'%s': behind local goes pid:N, "
		    "or the name of a stream, as in local/" STREAMS,
		    words_shown(t->word));
	t->kind = t->pid != 0 ? TARGET_PID : TARGET_LOCAL;
	return 0;
}

/* What is meant on the other machine: behind the first slash. */
static int
parse_ssh(struct target *t, struct words *w)
{
	size_t len = strcspn(t->rest, "/");
	const char *word = t->rest + len, *why;

	if (len >= sizeof t->host)
		return words_fail(w, PAGEK_USAGE, "'%s': the name of a host is not "
		    "that long", words_shown(t->word));
	memcpy(t->host, t->rest, len);
	t->host[len] = '\0';
	why = nodes_ssh_check(&(struct nodes_ssh){ .host = t->host });
	if (why != NULL)
		return words_fail(w, PAGEK_USAGE, "'%s': %s", words_shown(t->word), why);
	if (parse_there(t, word + (*word == '/')))
		return 0;
	return words_fail(w, PAGEK_USAGE, "'%s': behind the host goes pid:N, or the "
	    "name of a stream, as in ssh:%s/pid:4711", words_shown(t->word),
	    t->host);
}

static int
parse_path(struct target *t, const char *path, struct words *w)
{
	t->kind = TARGET_UNIX;
	t->rest = "";
	if (path[0] == '\0')
		return words_fail(w, PAGEK_USAGE, "'%s': the path of a socket goes "
		    "behind it", words_shown(t->word));
	if (strlen(path) >= sizeof t->path)
		return words_fail(w, PAGEK_NO_TARGET, "'%s': no socket has a path "
		    "that long", words_shown(t->word));
	strcpy(t->path, path);
	return 0;
}

static int
parse_form(struct target *t, size_t form, struct words *w)
{
	const char *near;
	size_t i;

	t->kind = forms[form].kind;
	t->rest = t->word + strlen(forms[form].prefix);
	if (!forms[form].known)
		return words_fail(w, PAGEK_NO_TARGET, "'%s': this version does not "
		    "have %s yet", words_shown(t->word), forms[form].what);
	if (t->kind == TARGET_PID) {
		if (!get_pid(t->rest, &t->pid))
			return words_fail(w, PAGEK_USAGE, "'%s': a process id goes "
			    "behind pid:", words_shown(t->word));
		t->rest = "";
		return 0;
	}
	if (t->kind == TARGET_UNIX)
		return parse_path(t, t->rest, w);
	if (t->kind == TARGET_SSH)
		return parse_ssh(t, w);
	if (t->kind == TARGET_RAW && t->rest[0] == '\0')
		return words_fail(w, PAGEK_USAGE, "'%s': the path of a device, a "
		    "FIFO or a file goes behind it, or - for standard input",
		    words_shown(t->word));
	if (t->kind != TARGET_DEMO)
		return 0;
	for (i = 0; i < BASE_NELEM(demos); i++)
		if (strcmp(t->rest, demos[i]) == 0)
			return 0;
	near = base_nearest(t->rest, demos, BASE_NELEM(demos));
	if (near != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "no demo '%s': did you mean "
		    "'demo:%s'?", words_shown(t->rest), near);
	return words_fail(w, PAGEK_NO_TARGET, "no demo '%s': there are demo:note, "
	    "demo:1 and demo:flood", words_shown(t->rest));
}

/* --- the table of nodes --------------------------------------------------- */

/* A word that names a node: the part before the first slash, and the other. */
struct node_word {
	char name[NODES_NAME_MAX + 1];	/* "" for one that is too long */
	const char *there;		/* behind the slash; "" */
	bool slash;
	bool numeric;
	uint16_t number;
};

static void
split_word(struct node_word *nw, const char *word)
{
	size_t len = strcspn(word, "/");

	*nw = (struct node_word){ .slash = word[len] == '/' };
	nw->there = word + len + nw->slash;
	nw->numeric = nodes_parse_number(word, len, &nw->number);
	if (len < sizeof nw->name)
		memcpy(nw->name, word, len);
}

/*
 * A word with a slash names a node's target if that is what stands behind the
 * slash, and is otherwise a path.
 */
static bool
is_target_word(const char *there)
{
	return strncmp(there, "pid:", 4) == 0 || strcmp(there, "local") == 0 ||
	    strncmp(there, STREAMS, strlen(STREAMS)) == 0;
}

static int
take_entry(struct target *t, const struct nodes_entry *e,
    const struct node_word *nw, struct words *w)
{
	if (!parse_there(t, nw->there))
		return words_fail(w, PAGEK_USAGE, "'%s': behind the node goes pid:N, "
		    "or the name of a stream, as in %s/pid:4711",
		    words_shown(t->word), e->name);
	t->number = e->number;
	strcpy(t->name, e->name);
	switch (e->at) {
	case NODES_AT_LOCAL:
		t->kind = t->pid != 0 ? TARGET_PID : TARGET_LOCAL;
		break;
	case NODES_AT_UNIX:
		t->kind = TARGET_UNIX;
		strcpy(t->path, e->place);
		break;
	case NODES_AT_SSH:
		t->kind = TARGET_SSH;
		strcpy(t->host, e->place);
		strcpy(t->remote, e->remote);
		break;
	}
	return 0;
}

static int
refuse_number(const struct nodes_table *table, const struct node_word *nw,
    struct words *w)
{
	const struct nodes_entry *near;
	pid_t pid;

	if (get_pid(nw->name, &pid) && words_pid_is_alive(pid))
		return words_fail(w, PAGEK_NO_TARGET, "no node has the number %s: "
		    "did you mean pid:%ld?", nw->name, (long)pid);
	near = nodes_table_nearest(table, nw->name);
	if (near != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "no node has the number %s: "
		    "did you mean %04X, %s?", nw->name, near->number,
		    near->name);
	return words_fail(w, PAGEK_NO_TARGET, "no node has the number %s: "
	    "'pagek nodes' lists those that have one", nw->name);
}

/* A word of no form and no node: what could be meant? */
static int
refuse_name(const struct nodes_table *table, const struct node_word *nw,
    const char *const *known, size_t n, struct words *w)
{
	static const char *const local[] = { "local" };
	const struct nodes_entry *e = nodes_table_nearest(table, nw->name);
	const char *near[2] = { base_nearest(nw->name, known, n),
		e != NULL ? e->name : NULL };

	if (nw->slash)
		near[0] = NULL;
	if (near[0] != NULL && near[1] != NULL)
		near[near[0] == base_nearest(nw->name, near, 2)] = NULL;
	if (near[0] != NULL)
		return words_fail(w, PAGEK_USAGE, "no command or target '%s': did "
		    "you mean '%s'?", words_shown(nw->name), near[0]);
	if (near[1] != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "no node '%s': did you mean "
		    "%s, number %04X?", words_shown(nw->name), near[1], e->number);
	if (base_nearest(nw->name, local, 1) != NULL)
		return words_fail(w, PAGEK_NO_TARGET, "no node '%s': did you mean "
		    "'local'?", words_shown(nw->name));
	return words_fail(w, PAGEK_NO_TARGET, "no %s '%s': 'pagek nodes' lists the "
	    "nodes that have a name", n > 0 && !nw->slash ? "command or node" : "node",
	    words_shown(nw->name[0] != '\0' ? nw->name : "..."));
}

/* A word of no form: a node, or a path. */
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
		return words_fail(w, PAGEK_USAGE, "'%s': four hexadecimal digits go "
		    "behind node:, as in node:0590", words_shown(t->word));
	r = nodes_table_load(&table, true, w->say, w->arg);
	if (r < 0)
		return words_fail(w, PAGEK_FAILED, "cannot read the table of nodes: "
		    "%s", strerror(-r));
	e = nw.numeric ? nodes_table_number(table, nw.number) :
	    nodes_table_name(table, nw.name);
	if (e != NULL)
		r = take_entry(t, e, &nw, w);
	else if (nw.slash && !by_number && !is_target_word(nw.there))
		r = parse_path(t, word, w);
	else if (nw.numeric || (get_pid(nw.name, &pid) && words_pid_is_alive(pid)))
		r = refuse_number(table, &nw, w);
	else
		r = refuse_name(table, &nw, known, n, w);
	nodes_table_free(table);
	return r;
}

/* No node is meant by what a shell takes for a path. */
static bool
is_path(const char *word)
{
	return word[0] == '/' || word[0] == '~' ||
	    strncmp(word, "./", 2) == 0 || strncmp(word, "../", 3) == 0;
}

static int
parse(struct target *t, const char *word, const char *const *known, size_t n,
    struct words *w)
{
	size_t i;

	*t = (struct target){ .kind = TARGET_LOCAL, .word = word, .rest = "" };
	if (strncmp(word, HERE, strlen(HERE)) == 0 &&
	    (word[strlen(HERE)] == '\0' || word[strlen(HERE)] == '/'))
		return parse_local(t, word + strlen(HERE) +
		    (word[strlen(HERE)] == '/'), w);
	if (word[0] == '\0')
		return words_fail(w, PAGEK_USAGE, "the target is an empty word: "
		    "leave it out, or say which; 'pagek targets' lists them");
	for (i = 0; i < BASE_NELEM(forms); i++)
		if (strncmp(word, forms[i].prefix,
		    strlen(forms[i].prefix)) == 0)
			return parse_form(t, i, w);
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
	return parse(t, word, known, n, &(struct words){ .why = why,
	    .cap = cap, .say = complain_said });
}

int
target_parse_said(struct target *t, const char *word, nodes_say_cb say,
    void *arg, char *why, size_t cap)
{
	return parse(t, word, NULL, 0, &(struct words){ .why = why,
	    .cap = cap, .say = say, .arg = arg });
}
