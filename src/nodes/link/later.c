/*
 * The way to this user's node here, for a page that can wait for one.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../host/socket.h"
#include "link.h"
#include "retry.h"

/* A link begins connected: this one to nobody. */
static int
nobody(void)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
	    fds) < 0)
		return -errno;
	close(fds[1]);
	return fds[0];
}

/* The newest there is. */
static int
later_start(void *arg)
{
	bool *begun = arg;
	char **paths = NULL;
	size_t n = 0;
	int r;

	if (!*begun) {
		*begun = true;
		return nobody();
	}
	r = nodes_find(&paths, &n);
	if (r == 0)
		r = n > 0 ? socket_connect(paths[0]) : -ENOENT;
	free(paths);
	return r;
}

static bool
later_lost(void *arg, int err, char *why, size_t cap)
{
	(void)arg;
	(void)err;
	snprintf(why, cap, "no node of this user runs here");
	return true;
}

int
nodes_connect_later(struct nodes_link **out, uv_loop_t *loop)
{
	struct nodes_way way = {
		.start = later_start,
		.lost = later_lost,
		.fini = free,
		.arg = calloc(1, sizeof(bool)),
		.most_ms = AGAIN_MOST_LOCAL_MS,
	};

	if (way.arg == NULL)
		return -ENOMEM;
	return nodes_link_keep(out, loop, &way);
}
