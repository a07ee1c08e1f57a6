#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../keeper/counting.h"
#include "../keeper/node.h"
#include "../stress/stress.h"
#include "../recorder/recorder.h"
#include "serve.h"

#define TURN_REQUESTS 8
#define READ_BYTES 8192
/* With more waiting bytes requests wait; one more reply still fits the limit. */
#define QUEUE_FULL (SERVE_QUEUE_MAX / 2)

/* Replies of one turn go out together up to so many bytes: each write wakes the page. */
#define TURN_BYTES 16384

static struct {
	struct conn *conn;		/* NULL: no connection has its turn */
	size_t len;
	uint8_t bytes[TURN_BYTES + WIRE_LENGTH_SIZE + WIRE_REPLY_MAX];
} turn;

struct reply {
	uv_write_t req;
	uint8_t bytes[];
};

static void serve_requests(struct conn *);

static void
on_closed(uv_handle_t *handle)
{
	struct conn *c = handle->data;

	wire_frames_fini(&c->in);
	free(c);
}

void
conn_close(struct conn *c)
{
	struct node *node = c->node;

	if (c->closed)
		return;
	c->closed = true;
	if (turn.conn == c)
		turn.len = 0;
	self_watch_gone(node, &c->page);
	listings_conn_closed(c);
	recorder_viewer_gone(node, c->page.id);
	counting_forget_asker(node, c->page.id);
	node_stress_end_wait(node, &c->stress);
	if (c->sees_kernel)
		node_stress_leave(node);
	if (!c->greeted)
		node->serve->strangers--;
	TAILQ_REMOVE(&node->serve->conns, c, link);
	node->serve->count--;
	uv_close((uv_handle_t *)&c->pipe, on_closed);
	node_check_done(node);
}

static size_t
queued(const struct conn *c)
{
	return uv_stream_get_write_queue_size((const uv_stream_t *)&c->pipe);
}

static void
on_written(uv_write_t *req, int status)
{
	struct conn *c = req->data;

	free(req);
	if (c->closed)
		return;
	c->unread_s = 0;
	if (status < 0 || (c->ending && queued(c) == 0)) {
		conn_close(c);
		return;
	}
	if (c->paused && queued(c) < QUEUE_FULL / 2) {
		c->paused = false;
		serve_requests(c);
	}
}

static void
send_bytes(struct conn *c, uint8_t *bytes, size_t len)
{
	uv_buf_t buf = uv_buf_init((char *)bytes, (unsigned)len);
	struct reply *rep;
	int n;

	n = queued(c) == 0 ?
	    uv_try_write((uv_stream_t *)&c->pipe, &buf, 1) : UV_EAGAIN;
	if (n < 0 && n != UV_EAGAIN) {
		conn_close(c);
		return;
	}
	if (n < 0)
		n = 0;
	if ((size_t)n == len)
		return;
	len -= (size_t)n;
	if (queued(c) + len > SERVE_QUEUE_MAX ||
	    (rep = malloc(sizeof *rep + len)) == NULL) {
		conn_close(c);
		return;
	}
	memcpy(rep->bytes, bytes + n, len);
	rep->req.data = c;
	buf = uv_buf_init((char *)rep->bytes, (unsigned)len);
	if (uv_write(&rep->req, (uv_stream_t *)&c->pipe, &buf, 1,
	    on_written) < 0) {
		free(rep);
		conn_close(c);
	}
}

static void
send_turn(struct conn *c)
{
	size_t len = turn.len;

	if (turn.conn != c)
		return;
	turn.len = 0;
	if (len > 0 && !c->closed)
		send_bytes(c, turn.bytes, len);
}

void
conn_reply(struct conn *c, const struct wire_msg *m)
{
	uint8_t *frame = turn.bytes + turn.len;
	size_t cap = WIRE_LENGTH_SIZE + WIRE_REPLY_MAX;
	struct wire_msg err = { .type = WIRE_ERR, .id = m->id, .err = {
		.code = WIRE_E_INTERNAL,
		.text = wire_text("the reply could not be made") } };
	size_t len;

	if (c->closed)
		return;
	if (wire_encode(m, frame, cap, &len) < 0 &&
	    wire_encode(&err, frame, cap, &len) < 0) {
		conn_close(c);
		return;
	}
	if (turn.conn != c) {
		send_bytes(c, frame, len);
		return;
	}
	turn.len += len;
	if (turn.len > TURN_BYTES)
		send_turn(c);
}

void
conn_error(struct conn *c, uint32_t request, enum wire_error code,
    const char *text)
{
	struct wire_msg m = { .type = WIRE_ERR, .id = request, .err = {
		.code = code, .text = wire_text(text) } };

	conn_reply(c, &m);
}

void
conn_fail(struct conn *c, uint32_t request, enum wire_error code,
    const char *text)
{
	struct wire_msg m = { .type = WIRE_ERR, .id = request, .err = {
		.code = code, .text = wire_text(text),
		.retry_ms = code == WIRE_E_BUSY ? 1000 : 0 } };

	if (c->closed)
		return;
	uv_read_stop((uv_stream_t *)&c->pipe);
	c->ending = true;
	conn_reply(c, &m);
	send_turn(c);
	if (!c->closed && queued(c) == 0)
		conn_close(c);
}

static void
serve_frame(struct conn *c, const uint8_t *map, size_t len)
{
	struct wire_msg m;
	int r = wire_decode(map, len, &m);

	if (r == -ENOMSG && c->greeted) {
		conn_error(c, m.id, WIRE_E_FRAME, "no such request");
		return;
	}
	if (r < 0) {
		conn_fail(c, 0, WIRE_E_FRAME, "not a message");
		return;
	}
	c->heard_ms = mono_ms(mono_now());
	if (len > WIRE_REQUEST_MAX && m.type != WIRE_LPUT)
		conn_fail(c, m.id, WIRE_E_BIG, "a frame is too long");
	else
		answer(c, &m);
	/* Only pieces of listings may be longer. */
	if ((c->roles & WIRE_ROLE_LIST_PUT) != 0)
		c->in.limit = WIRE_REPLY_MAX;
}

static void
on_more(uv_idle_t *more)
{
	struct node *node = more->data;
	struct conn *c, *next;
	bool any = false;

	for (c = TAILQ_FIRST(&node->serve->conns); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (!c->more)
			continue;
		c->more = false;
		serve_requests(c);
	}
	TAILQ_FOREACH(c, &node->serve->conns, link)
		any |= c->more;
	if (!any)
		uv_idle_stop(more);
}

static void
on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct conn *c = handle->data;
	size_t room = 0;

	(void)size;
	buf->base = (char *)wire_frames_space(&c->in, READ_BYTES, &room);
	buf->len = buf->base == NULL ? 0 : room;
}

static void
on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct conn *c = stream->data;

	(void)buf;
	if (n < 0) {
		conn_close(c);
		return;
	}
	if (n == 0)
		return;
	wire_frames_add(&c->in, (size_t)n);
	serve_requests(c);
}

void
conn_read(struct conn *c)
{
	uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read);
}

/* Requests beyond TURN_REQUESTS wait for the next turn. */
static void
answer_some(struct conn *c)
{
	const uint8_t *map;
	size_t len;

	if (c->closed || c->ending)
		return;
	for (int i = 0; i < TURN_REQUESTS; i++) {
		int r;

		if (queued(c) + turn.len >= QUEUE_FULL) {
			c->paused = true;
			uv_read_stop((uv_stream_t *)&c->pipe);
			return;
		}
		r = wire_frames_next(&c->in, &map, &len);
		if (r < 0) {
			conn_fail(c, 0, r == -EMSGSIZE ? WIRE_E_BIG :
			    WIRE_E_FRAME, "a frame is too long");
			return;
		}
		if (r == 0) {
			if (!c->greeted)
				;		/* since_ms is of the connection */
			else if (c->in.len == 0)
				c->since_ms = 0;
			else if (c->since_ms == 0)
				c->since_ms = mono_ms(mono_now());
			conn_read(c);
			return;
		}
		serve_frame(c, map, len);
		if (c->closed || c->ending)
			return;
		if (c->greeted)
			c->since_ms = 0;
	}
	c->more = true;
	uv_read_stop((uv_stream_t *)&c->pipe);
	uv_idle_start(&c->node->serve->more, on_more);
}

static void
serve_requests(struct conn *c)
{
	turn.conn = c;
	answer_some(c);
	send_turn(c);
	turn.conn = NULL;
}

/*
 * Counted in seconds of this process, which may have been stopped itself.  A page
 * that was stopped in the middle of a snapshot connects again, unless it was
 * passed with --fd and cannot.
 */
static bool
takes_nothing(struct conn *c)
{
	size_t waits = queued(c);

	if (waits == 0 || waits < c->unread)
		c->unread_s = 0;
	else if (c->unread > 0)
		c->unread_s++;
	c->unread = waits;
	return !c->passed && c->unread_s >= SERVE_UNREAD_S;
}

void
serve_second(struct node *node)
{
	int64_t now = mono_ms(mono_now());
	struct conn *c, *next;

	for (c = TAILQ_FIRST(&node->serve->conns); c != NULL; c = next) {
		next = TAILQ_NEXT(c, link);
		if (takes_nothing(c)) {
			conn_close(c);
			continue;
		}
		if (c->since_ms == 0 || c->more || c->paused ||
		    now - c->since_ms < SERVE_PATIENCE_MS)
			continue;
		if (c->ending)
			conn_close(c);
		else
			conn_fail(c, 0, WIRE_E_FRAME, "too slow");
	}
}

struct conn *
serve_find(struct node *node, uint64_t id)
{
	struct conn *c;

	TAILQ_FOREACH(c, &node->serve->conns, link)
		if (c->page.id == id)
			return c;
	return NULL;
}

int
serve_init(struct node *node)
{
	struct serve *s = node->serve;
	int r;

	TAILQ_INIT(&s->conns);
	accept_init(node);
	r = answer_init(&s->scratch);
	if (r < 0)
		return r;
	s->more.data = node;
	r = uv_idle_init(node->loop, &s->more);
	if (r < 0)
		answer_fini(s->scratch);
	return r;
}

void
serve_close(struct node *node)
{
	struct serve *s = node->serve;

	while (!TAILQ_EMPTY(&s->conns))
		conn_close(TAILQ_FIRST(&s->conns));
	uv_close((uv_handle_t *)&s->more, NULL);
	accept_close(node);
}

void
serve_fini(struct node *node)
{
	answer_fini(node->serve->scratch);
}
