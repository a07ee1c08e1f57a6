/*
 * Not by libuv's accept, which closes connections without a word when it is out
 * of descriptors.  A page that cannot be served is told why in one ERR, for
 * which a fresh socket always has room.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../keeper/node.h"
#include "serve.h"

#define ACCEPT_MAX 16		/* connections accepted before those are served */
#define PAUSE_MS 50
#define HELLO_MS 250		/* without a hello for so long, a page may lose its place */
#define RETRY_MS 1000

static void
refuse(int fd, enum wire_error code, const char *text)
{
	struct wire_msg m = { .type = WIRE_ERR, .err = { .code = code,
		.text = wire_text(text),
		.retry_ms = code == WIRE_E_BUSY ? RETRY_MS : 0 } };
	uint8_t frame[WIRE_LENGTH_SIZE + 512];
	size_t len;

	if (wire_encode(&m, frame, sizeof frame, &len) == 0)
		(void)!send(fd, frame, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static void
refuse_busy(struct serve *s, int fd, const char *text)
{
	s->refused++;
	refuse(fd, WIRE_E_BUSY, text);
}

/* Out of descriptors: closes the spare one to accept and refuse a page. */
static bool
refuse_next(struct serve *s)
{
	int fd;

	if (s->spare_fd >= 0)
		close(s->spare_fd);
	s->spare_fd = -1;
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0)
		refuse_busy(s, fd, "the node is out of descriptors");
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0;
}

/* The page that has been idle for longest, if it is too long; or NULL. */
static struct conn *
most_idle(struct serve *s, int64_t now)
{
	struct conn *c, *most = NULL;

	TAILQ_FOREACH(c, &s->conns, link)
		if (now - c->heard_ms >= SERVE_IDLE_MS &&
		    (most == NULL || c->heard_ms < most->heard_ms))
			most = c;
	return most;
}

static bool
has_page(const struct serve *s, uid_t uid)
{
	const struct conn *c;

	TAILQ_FOREACH(c, &s->conns, link)
		if (c->peer.uid == uid)
			return true;
	return false;
}

static const char *
refuse_page(struct node *node, const struct peer *peer)
{
	static char full[64];
	struct serve *s = node->serve;
	struct conn *idle;

	if (node->access.system && peer->uid != 0 &&
	    s->max > 2 * SERVE_CONNS_RESERVED &&
	    s->count >= s->max - SERVE_CONNS_RESERVED &&
	    has_page(s, peer->uid))
		return "the last connections are reserved for other users";
	if (s->count < s->max)
		return NULL;
	idle = most_idle(s, mono_ms(mono_now()));
	if (idle != NULL) {
		conn_fail(idle, 0, WIRE_E_BUSY,
		    "it sent no request for two minutes, and others wait");
		conn_close(idle);
		return NULL;
	}
	snprintf(full, sizeof full, "%u pages are connected already", s->max);
	return full;
}

static unsigned
strangers_of(const struct serve *s, uid_t uid)
{
	const struct conn *c;
	unsigned n = 0;

	TAILQ_FOREACH(c, &s->conns, link)
		n += !c->greeted && c->peer.uid == uid;
	return n;
}

/* The oldest one; `most`: of the user who has most of them. */
static struct conn *
oldest_stranger(const struct serve *s, bool most)
{
	unsigned n, highest = 0;
	struct conn *c, *oldest = NULL;

	TAILQ_FOREACH(c, &s->conns, link) {
		if (c->greeted)
			continue;
		n = most ? strangers_of(s, c->peer.uid) : 0;
		if (oldest == NULL || n > highest ||
		    (n == highest && c->begun_ms < oldest->begun_ms)) {
			highest = n;
			oldest = c;
		}
	}
	return oldest;
}

/*
 * True if a page of that user may come in.  *leaves: the stranger that loses
 * its place for it, or NULL: at once one of a user who has more of them, else
 * the oldest one after HELLO_MS.
 */
static bool
has_place(const struct serve *s, uid_t uid, struct conn **leaves)
{
	struct conn *c;

	*leaves = NULL;
	if (s->strangers < SERVE_STRANGERS)
		return true;
	c = oldest_stranger(s, true);
	if (strangers_of(s, c->peer.uid) <= strangers_of(s, uid) + 1) {
		c = oldest_stranger(s, false);
		if (mono_ms(mono_now()) - c->begun_ms < HELLO_MS)
			return false;
	}
	*leaves = c;
	return true;
}

static struct conn *
conn_new(struct node *node, const struct peer *peer)
{
	struct conn *c = calloc(1, sizeof *c);

	if (c == NULL)
		return NULL;
	if (wire_frames_init(&c->in, WIRE_REQUEST_MAX) < 0) {
		free(c);
		return NULL;
	}
	if (uv_pipe_init(node->loop, &c->pipe, 0) < 0) {
		wire_frames_fini(&c->in);
		free(c);
		return NULL;
	}
	c->node = node;
	c->pipe.data = c;
	c->peer = *peer;
	c->page.pid = peer->pid;
	c->limit = ACCESS_ROLES;
	c->page.id = ++node->serve->last_id;
	c->passed = node->opts.fd >= 0 && c->page.id == 1;
	c->since_ms = c->begun_ms = c->heard_ms = mono_ms(mono_now());
	TAILQ_INSERT_TAIL(&node->serve->conns, c, link);
	node->serve->count++;
	node->serve->strangers++;
	return c;
}

int
serve_add(struct node *node, int fd)
{
	struct peer peer;
	const char *why;
	struct conn *c;
	int r;

	r = access_peer(&node->access, fd, &peer);
	if (r < 0) {
		refuse(fd, WIRE_E_AUTH, "this node is another user's");
		return 0;
	}
	why = refuse_page(node, &peer);
	if (why != NULL) {
		refuse_busy(node->serve, fd, why);
		return 0;
	}
	c = conn_new(node, &peer);
	if (c == NULL)
		return -ENOMEM;
	r = uv_pipe_open(&c->pipe, fd);
	if (r < 0) {
		conn_close(c);
		return r;
	}
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	conn_read(c);
	return 0;
}

/*
 * Connections are accepted to know their users, who then take turns: the queue
 * of the socket may be full of one user's.
 */

static void
close_door_place(struct door *d, unsigned i)
{
	d->n--;
	memmove(&d->at[i], &d->at[i + 1], (d->n - i) * sizeof d->at[0]);
}

static bool
is_first_of_user(const struct door *d, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (d->at[k].uid == d->at[i].uid)
			return false;
	return true;
}

/* The newest one of the user who has most of them. */
static unsigned
one_too_many(const struct door *d)
{
	unsigned highest = 0, found = 0, n;

	for (unsigned i = 0; i < d->n; i++) {
		n = 0;
		for (unsigned k = 0; k < d->n; k++)
			n += d->at[k].uid == d->at[i].uid;
		if (n >= highest) {
			highest = n;
			found = i;
		}
	}
	return found;
}

static void
wait_at_door(struct serve *s, int fd)
{
	struct door *d = &s->door;
	unsigned i;

	d->at[d->n].fd = fd;
	d->at[d->n++].uid = access_uid(fd);
	if (d->n <= SERVE_DOOR)
		return;
	i = one_too_many(d);
	refuse_busy(s, d->at[i].fd, "too many connections of this user send "
	    "no hello");
	close_door_place(d, i);
}

/* Chooses the user whose turn it is; false: nobody may come in. */
static bool
next_at_door(const struct serve *s, unsigned *next, struct conn **leaves)
{
	const struct door *d = &s->door;
	uint64_t turn, lowest = UINT64_MAX;
	struct conn *other;

	for (unsigned i = 0; i < d->n; i++) {
		turn = access_last_turn(&d->turns, d->at[i].uid);
		if (turn >= lowest || !is_first_of_user(d, i) ||
		    !has_place(s, d->at[i].uid, &other))
			continue;
		lowest = turn;
		*next = i;
		*leaves = other;
	}
	return lowest != UINT64_MAX;
}

static void
let_in(struct node *node)
{
	struct serve *s = node->serve;
	struct door *d = &s->door;
	struct conn *leaves;
	unsigned i;

	for (int n = 0; n < ACCEPT_MAX && next_at_door(s, &i, &leaves); n++) {
		int fd = d->at[i].fd;

		access_take_turn(&d->turns, d->at[i].uid);
		close_door_place(d, i);
		if (leaves != NULL) {
			conn_fail(leaves, 0, WIRE_E_BUSY,
			    "it sent no hello, and others wait");
			conn_close(leaves);
		}
		if (serve_add(node, fd) < 0)
			refuse_busy(s, fd, "the node is out of memory");
	}
}

static void on_resume(uv_timer_t *);

static void
pause_listener(struct serve *s)
{
	uv_poll_stop(&s->listener);
	uv_timer_start(&s->resume, on_resume, PAUSE_MS, 0);
}

/* The only user has all places. */
static bool
is_door_full(const struct node *node)
{
	return node->serve->door.n == SERVE_DOOR && !node->access.system;
}

/* False: not even a refusal is possible now. */
static bool
accept_some(struct node *node)
{
	struct serve *s = node->serve;

	for (int i = 0; i < ACCEPT_MAX && !is_door_full(node); i++) {
		int fd = accept4(s->listen_fd, NULL, NULL,
		    SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			wait_at_door(s, fd);
		} else if (errno == EMFILE || errno == ENFILE) {
			if (!refuse_next(s))
				return false;
		} else if (errno == EAGAIN) {
			return true;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return false;
		}
	}
	return true;
}

static void
on_listener(uv_poll_t *listener, int status, int events)
{
	struct node *node = listener->data;
	struct serve *s = node->serve;
	bool accepts = accept_some(node);

	(void)status;
	(void)events;
	let_in(node);
	if (!accepts || is_door_full(node))
		pause_listener(s);
	else if (s->door.n > 0 && !uv_is_active((uv_handle_t *)&s->resume))
		uv_timer_start(&s->resume, on_resume, PAUSE_MS, 0);
}

static void
on_resume(uv_timer_t *resume)
{
	struct node *node = resume->data;
	struct serve *s = node->serve;

	uv_poll_start(&s->listener, UV_READABLE, on_listener);
	on_listener(&s->listener, 0, UV_READABLE);
}

int
serve_listen_fd(struct node *node, int fd, const char *path, bool inherited)
{
	struct serve *s = node->serve;
	int r = 0;

	if (!inherited && listen(fd, SOMAXCONN) < 0)
		r = -errno;
	if (r == 0)
		r = uv_poll_init(node->loop, &s->listener, fd);
	if (r < 0) {
		close(fd);
		if (!inherited)
			unlink(path);
		return r;
	}
	uv_timer_init(node->loop, &s->resume);
	s->listener.data = s->resume.data = node;
	s->listen_fd = fd;
	s->inherited = inherited;
	s->file = socket_file(path);
	strcpy(s->path, path);
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return uv_poll_start(&s->listener, UV_READABLE, on_listener);
}

int
serve_listen(struct node *node, const char *path)
{
	int fd = socket_bind(path, SOCK_STREAM);

	return fd < 0 ? fd : serve_listen_fd(node, fd, path, false);
}

void
accept_init(struct node *node)
{
	struct serve *s = node->serve;

	s->listen_fd = s->spare_fd = -1;
	s->max = node->opts.clients != 0 ? node->opts.clients : SERVE_CONNS;
}

void
accept_close(struct node *node)
{
	struct serve *s = node->serve;

	if (s->listen_fd < 0)
		return;
	if (!s->inherited)
		socket_remove(s->path, &s->file);
	uv_close((uv_handle_t *)&s->listener, NULL);
	uv_close((uv_handle_t *)&s->resume, NULL);
	close(s->listen_fd);
	while (s->door.n > 0)
		close(s->door.at[--s->door.n].fd);
	if (s->spare_fd >= 0)
		close(s->spare_fd);
	s->listen_fd = s->spare_fd = -1;
}
