/*
 * bridge: `pageknode --stdio`, a page's way to the node of another machine.
 *
 * Where several nodes run it connects to the one that has the page's target, if
 * it was told of one; otherwise to this user's node, else to the newest node of
 * a command of his, else to the system's.  Then it passes bytes on, from its
 * standard input to the node and from the node to its standard output, as sshd
 * or another program has set them up.  It understands none of them, keeps
 * BRIDGE_BUFFER of each direction at most, and ends when either side does.
 *
 * Limits are the node's to enforce, for it is what knows requests: the bridge
 * sends a LIMIT of its own before the first byte of the page.  It says which
 * roles the page may have at most, that it comes from another machine, and from
 * which, as sshd has it; and, where whoever wrote the line of the page's key
 * knows that, of which node it is.  The node takes LIMIT before HELLO only, and
 * each can but take away, so that whatever the page sends behind it makes it
 * nobody else.
 */
#ifndef NODES_BRIDGE_H
#define NODES_BRIDGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BRIDGE_BUFFER 65536

struct bridge_opts {
	uint32_t roles;		/* 0: no limit */
	uint16_t node;		/* the page is this one's; 0: not known */
	const char *target;	/* NULL: none in particular */
};

/* Returns an exit status; what failed is said. */
int bridge_run(const struct bridge_opts *);

/*
 * Where a page has come from, of SSH_CONNECTION or else SSH_CLIENT, either may
 * be NULL: an address, BRIDGE_LOOP, or "" where they do not say.
 */
void bridge_origin(const char *connection, const char *client, char *out,
    size_t cap);

/*
 * Of n nodes the one that has the target, alive rather than ended; the usual
 * one where that has it too, or none has.  Takes a second for each at most.
 */
size_t bridge_choose(char *const *paths, size_t n, size_t usual,
    const char *target);

/*
 * Passes bytes on between a page (its input and output) and a node's socket,
 * `first` of them to the node before the page's, until either ends.  The
 * descriptors stay the caller's, and no longer block.  Negative errno.
 */
int bridge_pass(int in, int out, int node, const uint8_t *first, size_t len);

#endif
