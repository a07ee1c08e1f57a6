/*
 * Back-off, and the way to a node by its socket's path.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/un.h>

#include "../host/socket.h"
#include "link.h"
#include "retry.h"

uint32_t
again_wait_ms(unsigned tries, uint32_t most_ms, uint32_t random)
{
	uint64_t longest = AGAIN_FIRST_MS;

	while (tries-- > 0 && longest < most_ms)
		longest *= 2;
	if (longest > most_ms)
		longest = most_ms;
	return (uint32_t)(random % (longest + 1));
}

uint32_t
again_draw_ms(unsigned tries, uint32_t most_ms)
{
	uint32_t random = 0;

	/* Without it the wait is none, and doubles all the same. */
	if (getrandom(&random, sizeof random, GRND_NONBLOCK) !=
	    (ssize_t)sizeof random)
		random = UINT32_MAX;
	return again_wait_ms(tries, most_ms, random);
}

/* --- by path ------------------------------------------------------------ */

/*
 * Nodes that were started for a command or a generator have their process in
 * the name (node.c): once that is gone, nobody will listen there again.
 */
static bool
is_gone_for_good(const char *path)
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *name = strrchr(path, '/');
	size_t len;
	int pid, at = 0;

	if (name == NULL || nodes_folder(folder, sizeof folder) < 0)
		return false;
	len = (size_t)(name - path);
	if (strlen(folder) != len || memcmp(path, folder, len) != 0)
		return false;
	name++;
	if (sscanf(name, RUN_SOCKET ".%d%n", &pid, &at) != 1 &&
	    sscanf(name, RUN_SOCKET_ALONE ".%d%n", &pid, &at) != 1 &&
	    sscanf(name, "demo.%d%n", &pid, &at) != 1)
		return false;
	return name[at] == '\0' && pid > 0 && kill(pid, 0) < 0 &&
	    errno == ESRCH;
}

static int
path_start(void *arg)
{
	return socket_connect(arg);
}

static bool
path_lost(void *arg, int err, char *why, size_t cap)
{
	const char *path = arg;

	if (is_gone_for_good(path)) {
		snprintf(why, cap, "the node was started for its command "
		    "alone, and has ended: it does not come back");
		return false;
	}
	if (err == -ENOENT || err == -ECONNREFUSED)
		snprintf(why, cap, "no node listens at %s", path);
	else if (err < 0)
		snprintf(why, cap, "%s: %s", path, strerror(-err));
	return true;
}

int
again_by_path(struct nodes_way *way, const char *path)
{
	*way = (struct nodes_way){
		.start = path_start,
		.lost = path_lost,
		.fini = free,
		.arg = strdup(path),
		.most_ms = AGAIN_MOST_LOCAL_MS,
	};
	return way->arg == NULL ? -ENOMEM : 0;
}

int
nodes_connect(struct nodes_link **out, uv_loop_t *loop, const char *path)
{
	struct nodes_way way;
	int r = again_by_path(&way, path);

	if (r < 0)
		return r;
	return nodes_link_keep(out, loop, &way);
}

int
nodes_connect_daemon(struct nodes_link **out, uv_loop_t *loop, char *hello,
    size_t cap)
{
	char path[SOCKET_PATH];
	int err;

	err = nodes_folder(path, sizeof path);
	if (err < 0)
		return err;
	if (strlen(path) + sizeof "/" DAEMON_SOCKET > sizeof path)
		return -ENAMETOOLONG;
	strcat(path, "/" DAEMON_SOCKET);
	if ((size_t)snprintf(hello, cap, "%s" DAEMON_HELLO, path) >= cap)
		return -ENAMETOOLONG;
	return nodes_connect(out, loop, path);
}
