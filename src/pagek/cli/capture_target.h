/*
 * capture_target: a capture as a TARGET, which a node of our own replays.
 */
#ifndef PAGEK_CAPTURE_TARGET_H
#define PAGEK_CAPTURE_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "../../nodes/nodes.h"

struct options;

/*
 * Opens o->target, looks at --part and --at, and starts the node.  As target_open();
 * a damaged file is opened as well.
 */
int capture_target_open(const struct options *, uv_loop_t *,
    struct nodes_link **, char *why, size_t cap);

/*
 * The damage of the capture, found when it was opened or by the node since, with which
 * the exit status is PAGEK_FORMAT; "": none.  Borrowed from the look.
 */
const char *capture_target_damage(const struct nodes_look *);

/* The exit status for an error of capture_open(), or of another file that is to be read. */
int capture_file_status(int err);

#endif
