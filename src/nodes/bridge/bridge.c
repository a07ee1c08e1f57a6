/* poll(), for libuv streams take no file and notice no end without reading. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../host/host.h"
#include "../link/link.h"
#include "../node_options/node_options.h"
#include "../places/places.h"
#include "bridge.h"

#define TIMEOUT_MS 1000		/* for the targets of a node, which may be stopped */

struct enquiry {
	uv_loop_t loop;
	uv_timer_t timer;
	const char *target;
	pid_t pid;		/* 0: by the name of the stream or the command */
	bool done;
	unsigned has;		/* 2: live; 1: ended; 0: not there */
	struct nodes_target newest;	/* of a command, of all nodes so far; pid 0: none */
	bool newer;		/* it is of this node */
};

static void
on_targets(void *arg, int err, const struct nodes_target *t, size_t n)
{
	struct enquiry *q = arg;
	unsigned has;

	q->done = true;
	for (size_t i = 0; err == 0 && i < n; i++) {
		if (q->pid != 0 ? t[i].pid != q->pid :
		    strcmp(t[i].name, q->target) != 0)
			continue;
		has = t[i].ended ? 1 : 2;
		if (has > q->has)
			q->has = has;
	}
	if (err < 0 || q->pid != 0 || q->has > 0)
		return;
	q->newer = nodes_target_take_newest(&q->newest, t, n, q->target);
	if (q->newer)
		q->has = nodes_target_is_live(&q->newest) ? 2 : 1;
}

static void
on_timer(uv_timer_t *timer)
{
	struct enquiry *q = timer->data;

	q->done = true;
}

static unsigned
ask_node(struct enquiry *q, const char *path)
{
	struct nodes_link *link;

	q->done = false;
	q->has = 0;
	q->newer = false;
	if (nodes_connect(&link, &q->loop, path) < 0)
		return 0;
	uv_update_time(&q->loop);
	uv_timer_start(&q->timer, on_timer, TIMEOUT_MS, 0);
	if (nodes_targets(link, on_targets, q) == 0)
		while (!q->done)
			uv_run(&q->loop, UV_RUN_ONCE);
	uv_timer_stop(&q->timer);
	nodes_link_close(link);
	/* Closes the link's handles. */
	uv_run(&q->loop, UV_RUN_DEFAULT);
	return q->has;
}

/*
 * The node with the target, live before ended, and of a command the newest;
 * `usual` if none is better.
 */
static size_t
choose_node(char *const *paths, size_t n, size_t usual, const char *target)
{
	struct enquiry q = { .target = target };
	size_t best = usual, i;
	unsigned has, most;

	if (n < 2 || base_have_descriptors() < 0 ||
	    uv_loop_init(&q.loop) < 0)
		return usual;
	uv_timer_init(&q.loop, &q.timer);
	q.timer.data = &q;
	nodes_parse_target(target, &q.pid);
	most = ask_node(&q, paths[usual]);
	/* A command may have a newer process on each other node. */
	for (i = 0; i < n && (most < 2 || q.newest.pid != 0); i++) {
		has = i == usual ? 0 : ask_node(&q, paths[i]);
		if (has > most || (i != usual && q.newer)) {
			most = has;
			best = i;
		}
	}
	uv_close((uv_handle_t *)&q.timer, NULL);
	uv_run(&q.loop, UV_RUN_DEFAULT);
	uv_loop_close(&q.loop);
	return best;
}

#define SYSTEM_NODE DAEMON_SYSTEM_FOLDER "/" DAEMON_SOCKET

/* One direction: bytes [at, end) are read and not written yet. */
struct pass {
	int from, to;
	size_t at, end;
	bool closed;		/* the reader has gone */
	uint8_t bytes[BRIDGE_BUFFER];
};

/* Only then more is read. */
static bool
is_empty(const struct pass *p)
{
	return p->at == p->end;
}

/* 1 at the end, 0, or a negative errno. */
static int
read_some(struct pass *p)
{
	ssize_t n = read(p->from, p->bytes, sizeof p->bytes);

	if (n > 0) {
		p->at = 0;
		p->end = (size_t)n;
		return 0;
	}
	if (n == 0 || errno == ECONNRESET)
		return 1;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static int
write_some(struct pass *p)
{
	ssize_t n = write(p->to, p->bytes + p->at, p->end - p->at);

	if (n >= 0) {
		p->at += (size_t)n;
		return 0;
	}
	if (errno == EPIPE || errno == ECONNRESET) {
		p->closed = true;
		p->at = p->end;
		return 0;
	}
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

static void
await(struct pollfd *p, int fd, bool in, bool out)
{
	*p = (struct pollfd){ .fd = fd,
		.events = (short)((in ? POLLIN : 0) | (out ? POLLOUT : 0)) };
}

/*
 * One turn; 1 at the end. The page is always watched, as the node may be
 * stopped. The node is not: its last bytes go out before its end counts.
 */
static int
pass_turn(struct pass *up, struct pass *down)
{
	struct pollfd fds[3], *in = &fds[0], *out = &fds[1], *node = &fds[2];
	int r = 0;

	await(in, up->from, is_empty(up) && !up->closed, false);
	await(out, down->to, false, !is_empty(down));
	await(node, up->to, is_empty(down), !is_empty(up));
	if (node->events == 0)
		node->fd = -1;
	if (poll(fds, BASE_NELEM(fds), -1) < 0)
		return errno == EINTR ? 0 : -errno;
	if (((in->revents | out->revents) & POLLNVAL) != 0)
		return -EBADF;
	if (node->revents != 0 && !is_empty(up))
		r = write_some(up);
	if (r == 0 && out->revents != 0 && !is_empty(down))
		r = write_some(down);
	if (r == 0 && node->revents != 0 && (node->events & POLLIN) != 0)
		r = read_some(down);
	if (r == 0 && in->revents != 0 && (in->events & POLLIN) != 0)
		r = read_some(up);
	if (r != 0)
		return r;
	if ((out->revents & (POLLERR | POLLHUP)) != 0 || down->closed)
		return 1;
	return (in->revents & (POLLERR | POLLHUP)) != 0 &&
	    (in->events & POLLIN) == 0;
}

static int
unblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

int
bridge_pass(int in, int out, int node, const uint8_t *first, size_t len)
{
	struct pass *up, *down;
	int r;

	up = calloc(2, sizeof *up);
	if (up == NULL)
		return -ENOMEM;
	down = up + 1;
	up->from = in;
	up->to = down->from = node;
	down->to = out;
	if (len > 0)
		memcpy(up->bytes, first, len);
	up->end = len;
	r = unblock(in);
	if (r == 0)
		r = unblock(out);
	if (r == 0)
		r = unblock(node);
	while (r == 0)
		r = pass_turn(up, down);
	free(up);
	return r < 0 ? r : 0;
}

/* This user's daemon. */
static bool
is_daemon(const char *path)
{
	const char *name = strrchr(path, '/');

	return name != NULL && strcmp(name + 1, DAEMON_SOCKET) == 0 &&
	    strcmp(path, SYSTEM_NODE) != 0;
}

/* A connected descriptor; -ENOENT: none; -EACCES: the system's refuses us. */
static int
find_node(const char *target)
{
	char **paths = NULL;
	size_t n = 0, i;
	int r;

	r = nodes_find(&paths, &n);
	if (r < 0)
		return r;
	for (i = 0; i < n && !is_daemon(paths[i]); i++)
		continue;
	if (i == n)
		i = 0;
	if (target != NULL)
		i = choose_node(paths, n, i, target);
	if (n > 0)
		r = socket_connect(paths[i]);
	else
		r = socket_probe(SYSTEM_NODE, SOCK_STREAM) == -EACCES ?
		    -EACCES : -ENOENT;
	free(paths);
	return r == -ECONNREFUSED ? -ENOENT : r;
}

static const char *
user_name(char *text, size_t cap)
{
	const struct passwd *pw = getpwuid(geteuid());

	if (pw != NULL)
		return pw->pw_name;
	snprintf(text, cap, "uid %lu", (unsigned long)geteuid());
	return text;
}

static int
say_why(int err)
{
	char text[32];

	switch (err) {
	case -ENOENT:
		fprintf(stderr, "pageknode: " BRIDGE_SAYS_NO_NODE "%s runs "
		    "here, nor the system's: start one with 'pageknode &'\n",
		    user_name(text, sizeof text));
		return BRIDGE_NO_NODE;
	case -EACCES:
		fprintf(stderr, "pageknode: the system's node does not let %s "
		    "in: only members of the group pagek\n",
		    user_name(text, sizeof text));
		return BRIDGE_DENIED;
	default:
		fprintf(stderr, "pageknode: cannot reach a node: %s\n",
		    strerror(-err));
		return BRIDGE_FAILED;
	}
}

/* Length of sshd's first word; 0 if that is UNKNOWN, as without a network. */
static size_t
address_len(const char *words)
{
	size_t len = strcspn(words, " ");

	return strcspn(words, ".:") < len ? len : 0;
}

/* SSH_CONNECTION: client's address and port, server's address and port. */
void
bridge_origin(const char *connection, const char *client, char *out,
    size_t cap)
{
	const char *word = connection != NULL ? connection : client, *server;
	size_t len = word != NULL ? address_len(word) : 0;

	out[0] = '\0';
	if (len == 0 || len >= cap)
		return;
	server = connection != NULL ? strchr(word + len, ' ') : NULL;
	server = server != NULL ? strchr(server + 1, ' ') : NULL;
	if (server != NULL && strncmp(word, server + 1, len + 1) == 0)
		snprintf(out, cap, "%s", BRIDGE_LOOP);
	else
		snprintf(out, cap, "%.*s", (int)len, word);
}

int
bridge_run(const struct bridge_opts *opts)
{
	char origin[72];
	struct wire_msg limit = { .type = WIRE_LIMIT, .limit = {
		.roles = opts->roles != 0 ? opts->roles : UINT32_MAX,
		.node = opts->node, .away = true } };
	uint8_t first[WIRE_LENGTH_SIZE + 64 + sizeof origin];
	size_t len;
	int fd, r;

	if (isatty(STDIN_FILENO) || isatty(STDOUT_FILENO)) {
		fprintf(stderr, "pageknode: --stdio is for a program at the "
		    "other end, such as 'pagek ssh:HOST', not for a "
		    "terminal\n");
		return BRIDGE_FAILED;
	}
	signal(SIGPIPE, SIG_IGN);
	bridge_origin(getenv("SSH_CONNECTION"), getenv("SSH_CLIENT"), origin,
	    sizeof origin);
	limit.limit.origin = wire_text(origin);
	r = wire_encode(&limit, first, sizeof first, &len);
	if (r < 0)
		return say_why(r);
	fd = find_node(opts->target);
	if (fd < 0)
		return say_why(fd);
	r = bridge_pass(STDIN_FILENO, STDOUT_FILENO, fd, first, len);
	close(fd);
	if (r == 0)
		return 0;
	fprintf(stderr, "pageknode: cannot forward bytes: %s\n", strerror(-r));
	return BRIDGE_FAILED;
}
