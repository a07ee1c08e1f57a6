/*
 * bridge: `pageknode --stdio` connects a page of another machine to a node
 * here.
 *
 * It connects to the node that has the page's target if one is given, else to
 * this user's daemon, to the newest node of his commands or to the system's
 * daemon. Then it copies bytes between standard input and output and the node,
 * BRIDGE_BUFFER each way at most, until either side ends.
 *
 * First it sends a LIMIT: the most that the page's roles may be, that the page is
 * on another machine, that machine's address as sshd tells it, and the page's node
 * number if the line of its authorized key has one. The node enforces it. It takes
 * LIMIT before HELLO only, and each can only restrict, so nothing that the page
 * sends can lift it.
 */
#ifndef NODES_BRIDGE_H
#define NODES_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BRIDGE_BUFFER 65536

struct bridge_opts {
	uint32_t roles;		/* 0: no limit */
	uint16_t node;		/* the page's node number; 0 unknown */
	const char *target;	/* NULL: none */
};

/* Returns an exit status; reports errors. */
int bridge_run(const struct bridge_opts *);

/*
 * The page's machine by SSH_CONNECTION or else SSH_CLIENT (NULL: not set): an
 * address, BRIDGE_LOOP, or "" if unknown.
 */
void bridge_origin(const char *connection, const char *client, char *out,
    size_t cap);

/*
 * Copies bytes between a page and a node's socket until either ends, `first` to
 * the node before the page's. The descriptors stay the caller's and become
 * non-blocking. Negative errno.
 */
int bridge_pass(int in, int out, int node, const uint8_t *first, size_t len);

#endif
