/*
 * target_word: the TARGET of a command line, and the link to it.
 *
 * target_forms has the forms of the word.  NODE is also node:NNNN; a path with a
 * slash is unix:PATH unless it begins with the name of a node.  A word that is
 * none of these is the name of a target's command.  After a node, TARGET is pid:N,
 * the name of a command, or a stream by its name in DSTRM; without it, a live target of the node, else a
 * dormant one.  raw:, demo:, file: and the path of a
 * capture start a node of our own.
 */
#ifndef PAGEK_TARGET_WORD_H
#define PAGEK_TARGET_WORD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../nodes/nodes.h"

enum target_kind {
	TARGET_LOCAL,
	TARGET_PID,
	TARGET_COMMAND,		/* the newest process with that name, on any node */
	TARGET_UNIX,
	TARGET_SSH,
	TARGET_DEMO,
	TARGET_RAW,
	TARGET_FILE,		/* a capture */
};

struct target {
	enum target_kind kind;
	const char *word;	/* as given */
	const char *name;	/* of a demo, stream or command, or the path of raw and file; "" none */
	/*
	 * The node, if kind is not that of target_is_own(); number 0: not
	 * from the table.
	 */
	struct nodes_entry node;
	pid_t pid;		/* 0: not given */
	bool command;		/* the name is a command of that node's targets */
	int refused;		/* of a command: exit status if no target has the name ... */
	char refusal[256];	/* ... and the message */
};

/*
 * 0, or an exit status with a sentence in why. `known` (n of them) are other
 * words to suggest. A word that names a node reads the table; its mistakes are
 * reported on standard error.
 */
int target_parse(struct target *, const char *word,
    const char *const *known, size_t n, char *why, size_t cap);

/* The same, with mistakes of the table reported to `say`. */
int target_parse_said(struct target *, const char *word, nodes_say_cb say,
    void *arg, char *why, size_t cap);

/* The path of a capture, with file: before it or not.  As target_parse(). */
int target_parse_file(struct target *, const char *word, char *why, size_t cap);

/* A node of our own has it, which ends with its last page. */
static inline bool
target_is_own(const struct target *t)
{
	return t->kind == TARGET_DEMO || t->kind == TARGET_RAW ||
	    t->kind == TARGET_FILE;
}

struct options;

/*
 * Opens the link to the target's node and fills what the session needs to
 * find the target there.  Runs the loop while nodes are asked, for the time of
 * --timeout at most.  0, or an exit status with a sentence in why; with 0 this
 * is "", or something that the user should know of the target.
 */
int target_open(const struct options *, uv_loop_t *, struct nodes_link **,
    struct nodes_session_opts *, char *why, size_t cap);

/* The path of pageknode on the machine of an ssh target; NULL: in its PATH. */
const char *target_remote_program(const struct options *);

/* The target is read to its end before its list is used. */
bool target_is_read_to_its_end(const struct options *);

/* The target is a file of records or a pipe, where damage is no line noise. */
bool target_is_file(const struct options *);

/* All targets of a node, for free(3).  Runs the loop until it has answered. */
int target_enquire(uv_loop_t *, struct nodes_link *, int timeout_ms,
    struct nodes_target **, size_t *n);

/* A node of this user, and its answer. */
struct target_node {
	const char *socket;
	struct nodes_link *link;	/* closed after the visit, unless it is set to NULL */
	struct nodes_target *targets;
	size_t n;
	int err;			/* 0, or a negative errno ... */
	const char *why;		/* ... and the reason; NULL: it could not be reached */
};

/*
 * Asks the nodes of this user for their targets, newest first, until visit()
 * returns false: each for each_ms at most, all of them for all_ms (0: no limit).
 * Returns the number of nodes, or a negative errno.
 */
int target_each_node(uv_loop_t *, int each_ms, int all_ms,
    bool (*visit)(void *arg, struct target_node *), void *arg);

/* The reason why the node did not answer; before the link is closed. */
const char *target_why(const struct nodes_link *, int err);

/* A form of TARGET words, for --help and for completion. */
struct target_form {
	const char *usage;	/* for --help; NULL: not there */
	const char *word;	/* a word, or the prefix of words, to complete; NULL */
	const char *what;
	const char *more;	/* more of the help */
	const char *machine;	/* what and more of a command about machines; NULL: the
				   same, "" not taken */
};

/* The last one has neither usage nor word. */
extern const struct target_form target_forms[];

#endif
