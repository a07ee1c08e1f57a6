/*
 * takeover: this process of the node goes on where the one before was killed.
 *
 * The memory that it takes over is the keepers' (../keeper/takeover_*.c), for they
 * write it as they go; ../keeper/resume.c goes on from it.
 *
 * For its pages the node is the same one: it has the same id and boot, and its
 * targets' streams have the same indexes, epochs and sequence numbers.  Only the
 * node's own stream starts again, for its blocks are gone with the process.
 *
 * A target whose memory, rings and stacks are all there goes on from its last
 * commit: nothing is lost or counted twice.  One that has ended meanwhile is
 * drained to its end, and one that was welcomed but not yet adopted is adopted.  A target that
 * cannot be taken over exactly is not taken over: its rings are marked as
 * abandoned, and it says hello again.
 */
#ifndef NODES_TAKEOVER_H
#define NODES_TAKEOVER_H

struct node;

/* Takes over all targets, before any new one comes in. */
void takeover_targets(struct node *);

#endif
