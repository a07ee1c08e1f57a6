/*
 * link_ssh: the ssh process behind a link to another machine's node.
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
#ifndef NODES_LINK_SSH_H
#define NODES_LINK_SSH_H

#include "link.h"

struct link_ssh;

/*
 * Starts ssh; *fd is our end, the caller's.  The texts of `where` are copied.
 * -EINVAL for what nodes_ssh_check() refuses, -ENOENT when there is no ssh.
 */
int link_ssh_start(struct link_ssh **, uv_loop_t *, const struct nodes_ssh *,
    int *fd);

/* It works: what it wrote until now will not have been why it ended. */
void link_ssh_up(struct link_ssh *);

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

/*
 * Waits for ssh's end, a second at most, and tells it; once.  No callback
 * comes after link_ssh_close().
 */
void link_ssh_fate(struct link_ssh *, link_ssh_fate_cb, void *arg);

/* Ends ssh if it runs, and frees all once the loop has taken leave of it. */
void link_ssh_close(struct link_ssh *);

#endif
