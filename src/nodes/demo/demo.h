/*
 * demo: sources of records in place of a target.
 *
 *	demo.c		generators
 *	device.c	devices
 *
 * Generators are demo:note, demo:1 and demo:flood; they are the same in every
 * run, for tests and manuals.  Records of note are classic bytes with BCD times,
 * as a foreign node would send them; those of the others are wide, in true order.
 *
 * A device is what a page opens as raw:PATH, a foreign classic stream in bytes: a
 * serial line, a pipe, a FIFO, a file.  The page opens it, with the rights of its
 * user, and passes the descriptor.  It is read at 15 Hz and never waited for;
 * stream/raw.c finds the records.  A terminal is set to pass all bytes through,
 * and set back when the node ends.  The stream was there before the page, so
 * frees of unknown addresses are of blocks from before.
 */
#ifndef NODES_DEMO_H
#define NODES_DEMO_H

struct node;

/*
 * Starts the generator node->opts.demo.  -ENOENT: unknown name; -EINVAL: not a
 * time; or an error of keeper_new().
 */
int demo_start(struct node *);

/* Starts reading node->opts.device; owns it. */
int device_start(struct node *);
/* Before the loop runs down; may be called more than once. */
void device_close(struct node *);

#endif
