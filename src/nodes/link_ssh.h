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
 *	... fd is the link's; at its end, by EOF or by an error:
 *	link_ssh_fate(ssh, on_fate, link);
 *	... and when the link closes, or before it starts another:
 *	link_ssh_close(ssh);
 *
 * A restart behind the page's back is one with `may_ask` false: ssh then fails
 * where it would have asked for a password or about a host's key.
 */
#ifndef NODES_LINK_SSH_H
#define NODES_LINK_SSH_H

#include "nodes.h"

struct link_ssh;

/*
 * Starts ssh; *fd is our end, the caller's.  The texts of `where` are copied.
 * -EINVAL for what nodes_ssh_check() refuses, -ENOENT when there is no ssh.
 */
int link_ssh_start(struct link_ssh **, uv_loop_t *, const struct nodes_ssh *,
    int *fd);

/*
 * How it ended: a state and a sentence, borrowed until the callback returns.
 * NODES_DENIED is what trying again does not mend.
 */
typedef void (*link_ssh_fate_cb)(void *arg, enum nodes_state,
    const char *sentence);

/*
 * Waits for ssh's end, a second at most, and tells it; once.  No callback
 * comes after link_ssh_close().
 */
void link_ssh_fate(struct link_ssh *, link_ssh_fate_cb, void *arg);

/* "ssh HOST: ", safe text; borrowed. */
const char *link_ssh_where(const struct link_ssh *);

/* Ends ssh if it runs, and frees all once the loop has taken leave of it. */
void link_ssh_close(struct link_ssh *);

#endif
