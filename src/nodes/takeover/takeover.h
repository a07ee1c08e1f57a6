/*
 * takeover: what the process of this node before us has left, taken up.
 *
 * The node is the same one for its pages: it has the same id and boot, its
 * targets' streams the same indexes, epochs and sequence numbers; its own stream
 * begins anew, for its blocks are gone with the process.  Each target whose
 * memory, rings and stacks are all there goes on from its last commit, and
 * nothing is lost or counted twice; one that has ended meanwhile is drained to
 * its end, and one that was welcomed and no more is adopted.  Of what cannot be
 * taken up exactly nothing is: its rings say that nobody drains them, so that
 * its target finds this node by itself.
 */
#ifndef NODES_TAKEOVER_H
#define NODES_TAKEOVER_H

struct node;

/* Takes up all targets, before any new one comes in. */
void takeover_targets(struct node *);

#endif
