/*
 * bridge: `pageknode --stdio`, a page's way to the node of another machine.
 *
 * It connects to this user's node, else to the newest node of a command of his,
 * else to the system's, and passes bytes on, from its standard input to the
 * node and from the node to its standard output, as sshd or another program
 * has set them up.  It understands none of them, keeps BRIDGE_BUFFER of each
 * direction at most, and ends when either side does.
 *
 * A limit of roles is the node's to enforce, for it is what knows requests: the
 * bridge sends a LIMIT of its own before the first byte of the page.  The node
 * takes LIMIT before HELLO only, and each can but take roles away, so that
 * whatever the page sends behind it gets none of them back.  A node that does
 * not know LIMIT yet refuses it and closes: without the limit nobody is served.
 */
#ifndef NODES_BRIDGE_H
#define NODES_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

#define BRIDGE_BUFFER 65536

/* Exit statuses, those of pagek; 255 and 127 would be taken for ssh's own. */
#define BRIDGE_FAILED 1
#define BRIDGE_NO_NODE 3
#define BRIDGE_DENIED 4

/* roles 0: no limit.  Returns an exit status; what failed is said. */
int bridge_run(uint32_t roles);

/*
 * Passes bytes on between a page (its input and output) and a node's socket,
 * `first` of them to the node before the page's, until either ends.  The
 * descriptors stay the caller's, and no longer block.  Negative errno.
 */
int bridge_pass(int in, int out, int node, const uint8_t *first, size_t len);

#endif
