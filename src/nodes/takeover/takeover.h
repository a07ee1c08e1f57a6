/*
 * takeover: this process of the node goes on where the one before was killed.
 *
 * The memory is the keepers' (../keeper/takeover_*.c); ../keeper/resume.c goes
 * on from it.
 *
 * For pages the node is the same: id, boot, indexes, epochs and sequence
 * numbers.  Only the node's own stream starts again.
 *
 * A target whose memory, rings and stacks are there goes on from its last
 * commit: nothing is lost or counted twice.  An ended one is drained, a
 * welcomed one adopted.  One that cannot be taken over exactly is not: its
 * rings are abandoned, and it says hello again.
 */
#ifndef NODES_TAKEOVER_H
#define NODES_TAKEOVER_H

struct node;

/* Takes over all targets, before any new one comes in. */
void takeover_targets(struct node *);

#endif
