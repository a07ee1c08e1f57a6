/*
 * target_word: the word that says whose memory is looked at, and the way from it
 * to a link.
 *
 *	local[/TARGET]	the newest node of this user that has a live target, or that one
 *	pid:N		the target with that process id, on any of his nodes
 *	NNNN, node:NNNN, NAME, each perhaps with /TARGET
 *			the node with that number or name in the table of nodes,
 *			and there what is most alive, pid:N or a stream's name
 *	unix:PATH	the node that listens there; also a path with a slash
 *			that does not begin with the name of a node
 *	ssh:[USER@]HOST[/TARGET]
 *			the node of another machine, and there what is most
 *			alive, pid:N, or a stream by its name in DSTRM
 *	raw:PATH	classic records from a device, a FIFO or a file, or with
 *			raw:- from standard input: a node of our own reads them
 *	demo:NAME	a generator: note, 1, flood
 *
 * The forms that later versions will have are known, and refused by name.
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
	TARGET_UNIX,
	TARGET_SSH,
	TARGET_DEMO,
	TARGET_RAW,
};

struct target {
	enum target_kind kind;
	const char *word;	/* as given */
	const char *rest;	/* the demo's name, the path of raw, or the name of a stream; "" none */
	/*
	 * The node, unless kind is TARGET_DEMO or TARGET_RAW; number 0: not
	 * from the table.
	 */
	struct nodes_entry node;
	pid_t pid;		/* 0: not given */
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

struct options;

/*
 * Opens the link to the target's node and fills what the session needs to
 * find the target there.  Runs the loop while nodes are asked, for the time of
 * --timeout at most.  0, or an exit status with a sentence in why.
 */
int target_open(const struct options *, uv_loop_t *, struct nodes_link **,
    struct nodes_session_opts *, char *why, size_t cap);

/*
 * The target is read to its end, for --timeout at most: only then its list is
 * whole.
 */
bool target_is_read_to_its_end(const struct options *);

/*
 * The target is a file of records or a pipe: damage there is no noise on a
 * line.
 */
bool target_is_file(const struct options *);

/*
 * All targets of a node; runs the loop until it has answered. Free with free().
 */
int target_enquire(uv_loop_t *, struct nodes_link *, int timeout_ms,
    struct nodes_target **, size_t *n);

/* Why the node has not answered; call it before the link is closed. */
const char *target_why(const struct nodes_link *, int err);

/*
 * The k-th word, or prefix of words, that is a TARGET on any machine, and what
 * it means; NULL behind the last.
 */
const char *target_fixed_word(size_t k, const char **what);

#endif
