/*
 * inherit: the list that a forked child begins with.
 *
 * The child's heap is its parent's as it was at the fork, and the fork is a
 * cut through the parent's tickets: what drew its ticket before the cut had
 * happened in the child too.  The parent's keeper is past the cut by the time
 * the child says hello, so its list is copied with what came after undone.
 */
#ifndef NODES_IMAGES_INHERIT_H
#define NODES_IMAGES_INHERIT_H

struct keeper;

/*
 * Fills the list of the child, which holds nothing yet and has its cut.
 * Where the parent is not known, has lost records, or its past does not reach
 * back to the cut, the child is left unsure and its reason says why.
 */
void inherit(struct keeper *child, struct keeper *parent);

#endif
