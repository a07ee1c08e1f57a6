/*
 * demo: sources of records in place of a target.
 *
 *	demo.c		generators
 *	device.c	devices
 *
 * Generators demo:note, demo:1 and demo:flood are the same in every run.
 * note's records are classic bytes with BCD times, the others' wide.
 *
 * A device, raw:PATH, is a foreign classic stream: a serial line, a pipe, a
 * FIFO, a file.  The page opens it with its user's rights and passes the
 * descriptor.  It is read at 15 Hz, never waited for; stream/raw.c finds
 * records.  A terminal passes all bytes, and is set back at the end.  Frees of
 * unknown addresses are of earlier blocks.
 */
#ifndef NODES_DEMO_H
#define NODES_DEMO_H

struct node;

/*
 * Starts node->opts.demo.  -ENOENT: unknown name; -EINVAL: not a time; errors
 * of keeper_new().
 */
int demo_start(struct node *);

/* Starts reading node->opts.device; owns it. */
int device_start(struct node *);
/* Before the loop runs down; may be called more than once. */
void device_close(struct node *);

#endif
