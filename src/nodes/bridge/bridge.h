/*
 * bridge: `pageknode --stdio` connects a page of another machine to a node
 * here.
 *
 * It connects to the target's node, else to this user's daemon, the newest
 * node of his commands or the system's daemon, and copies bytes, BRIDGE_BUFFER
 * each way, until either side ends.
 *
 * First it sends a LIMIT: the most roles, the other machine's address as sshd
 * tells it, and the node number of the key's line.  The node takes LIMIT
 * before HELLO only, and each can only restrict: the page cannot lift it.
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

/* By SSH_CONNECTION or SSH_CLIENT (NULL: not set): an address, BRIDGE_LOOP, or "". */
void bridge_origin(const char *connection, const char *client, char *out,
    size_t cap);

/*
 * Copies until either ends, `first` to the node before the page's bytes.
 * Descriptors stay the caller's, non-blocking.  Negative errno.
 */
int bridge_pass(int in, int out, int node, const uint8_t *first, size_t len);

#endif
