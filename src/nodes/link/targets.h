/*
 * link_targets: the enquiry for what a node has, also on behalf of a session.
 */
#ifndef NODES_LINK_TARGETS_H
#define NODES_LINK_TARGETS_H

#include "link.h"

/*
 * As nodes_targets(), for an owner: link_forget() with it ends the enquiry
 * without a callback.
 */
int targets_ask(struct nodes_link *, const void *owner, nodes_targets_cb,
    void *arg);

/*
 * The one to begin with: what lives before what has ended before what has no
 * data, most live bytes first; of process `pid` unless 0, else, unless
 * `run` is NULL, of the command that it runs.  Streams that are
 * no ALLOCLOG are left out.  NULL if there is none.
 */
const struct nodes_target *targets_best(const struct nodes_target *, size_t n,
    pid_t pid, const struct nodes_link *run);

#endif
