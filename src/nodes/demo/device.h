/*
 * device: the target of a node that a page was told to make of raw:PATH, a
 * foreign classic stream that comes in bytes: a serial line, a pipe, a FIFO, a
 * file.
 *
 * The page opens it, for it is the page's user who may or may not, and hands
 * the descriptor over.  It is read at 15 Hz and never waited for; stream/raw.h
 * finds the records.  A terminal is set to pass all bytes through, and set
 * back when the node ends.
 *
 * The stream was there before the page: frees of unknown addresses are of
 * blocks from before.
 */
#ifndef NODES_DEMO_DEVICE_H
#define NODES_DEMO_DEVICE_H

#include <stdbool.h>

struct node;
struct device;

/* Starts with node->opts.device, which is then the node's. */
int device_start(struct node *);

/* Before the loop runs down; more than once does no harm. */
void device_close(struct node *);

#endif
