/*
 * line: one connection of a link, from a descriptor to its loss.  A link that
 * comes back has another one each time, so that nothing of a frame that was
 * cut off can reach the next.
 */
#ifndef NODES_LINK_LINE_H
#define NODES_LINK_LINE_H

#include <uv.h>

#include "../../stream/wire/wire.h"

struct line;

struct line_ops {
	/* One map came in, borrowed; the line may be closed from here. */
	void (*map)(void *arg, const uint8_t *map, size_t len);
	/*
	 * Nothing more will come: the other side has ended it, or what it sent
	 * is no frame.  It has yet to be closed.
	 */
	void (*lost)(void *arg, bool ended, const char *reason);
};

/* Owns fd from now on, failed or not. */
int line_open(struct line **, uv_loop_t *, int fd, const struct line_ops *,
    void *arg);
/* No callback comes from here on; it frees itself. */
void line_close(struct line *);

/* A request, of so many bytes; -ENOTCONN, -ENOMEM or what wire_encode() says. */
int line_send(struct line *, const struct wire_msg *, size_t *bytes);

#endif
