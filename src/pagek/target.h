/*
 * target: the word that says whose memory is looked at, and the way from it
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
#ifndef PAGEK_TARGET_H
#define PAGEK_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../nodes/nodes.h"

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
	/* Where it is, but for demo and raw; number 0: the table was not asked. */
	struct nodes_entry node;
	pid_t pid;		/* 0: not given */
};

/*
 * 0, or an exit status with a sentence in why.  `known` (n of them) are other
 * words that might have been meant.  Where a node is named the table is read;
 * what is wrong there is said on standard error.
 */
int target_parse(struct target *, const char *word,
    const char *const *known, size_t n, char *why, size_t cap);

/* The same, where what is wrong with the table is said elsewhere. */
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
 * Whether a command that looks once waits for its target's end, for then it is
 * whole; --timeout is how long.
 */
bool target_is_read_to_its_end(const struct options *);

/*
 * Whether it is a file of records, or a pipe: what is damaged there stays so,
 * and is no noise on a line.
 */
bool target_is_file(const struct options *);

/* All targets of a node, asked for while the loop runs; freed with free(). */
int target_enquire(uv_loop_t *, struct nodes_link *, int timeout_ms,
    struct nodes_target **, size_t *n);

/* Why it has not answered; to be asked for before the link is closed. */
const char *target_why(const struct nodes_link *, int err);

/*
 * The k-th word, or beginning of words, that can be a TARGET on any machine,
 * and what it is; NULL behind the last.
 */
const char *target_fixed_word(size_t k, const char **what);

#endif
