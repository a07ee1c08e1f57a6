/*
 * demo: generators in place of a target: demo:note, demo:1, demo:flood.
 *
 * Their records go the way of any other: note's as classic bytes with BCD
 * times, as a foreign node would send them; the others' as wide records in
 * true order.  They are the same in every run, for tests and manuals.
 */
#ifndef NODES_DEMO_H
#define NODES_DEMO_H

struct node;

/*
 * Starts the generator node->opts.demo.  -ENOENT for an unknown name, -EINVAL
 * for a time that it cannot read; or what keeper_new() says.
 */
int demo_start(struct node *);

#endif
