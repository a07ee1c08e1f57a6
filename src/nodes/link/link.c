/*
 * On the first connection requests follow HELLO without waiting for WELCOME. On
 * later ones they wait: it may be another node, and one that refuses would seem
 * to come and go.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#include "../../base/base.h"
#include "../../stream/wire/wire.h"
#include "../host/host.h"
#include "link.h"

struct line;

struct ask {
	uint32_t id;		/* 0: this place is free */
	const void *owner;
	link_reply_cb cb;
	void *arg;
};

struct nodes_link {
	uv_loop_t *loop;
	struct line *line;		/* NULL: none at the moment */
	uv_timer_t timer;		/* next try, or timeout of WELCOME */
	struct nodes_way way;		/* .start NULL: not made again */
	bool given_up;
	unsigned tries;			/* since it was last up for RETRY_STEADY_MS */
	unsigned losses;
	int64_t up_ms;			/* monotonic time of WELCOME; 0 none */
	uint32_t retry_ms;		/* time before the next try that the node asked for */
	int64_t due_ms;			/* monotonic time of the next try; 0 none */
	struct ask asks[LINK_ASKS_MAX];
	uint32_t last_id;
	uint64_t heard;
	uint64_t sent, received;	/* bytes, of all its lines */
	bool closing;
	bool welcomed;			/* once at least: node is known */
	struct link_node node;
	uint16_t called;		/* number by nodes_link_call(); 0: by the node */
	char called_name[NODES_NAME_MAX + 1];
	enum nodes_state fault;		/* NODES_LIVE: none */
	char reason[320];
	pid_t child;			/* node started by us; 0 none */
	bool reaped;
};

/* Each connection has a line of its own: rests of frames cannot reach the next. */

#define READ_CHUNK 65536

struct line {
	uv_pipe_t pipe;
	struct wire_frames in;
	struct nodes_link *link;
	bool closing;
};

/* A message came, borrowed; the line may be closed in it. */
static void take_message(struct nodes_link *, const uint8_t *, size_t len);
/* The other side has ended the line, or sent no frame; not closed yet. */
static void line_lost(struct nodes_link *, bool ended, const char *reason);

/* Rest of a frame that is being written. */
struct outgoing {
	uv_write_t req;
	uint8_t bytes[];
};

static void
on_alloc(uv_handle_t *handle, size_t want, uv_buf_t *buf)
{
	struct line *line = handle->data;
	size_t room = 0;
	uint8_t *space;

	(void)want;
	space = wire_frames_space(&line->in, READ_CHUNK, &room);
	*buf = uv_buf_init((char *)space, space != NULL ? (unsigned)room : 0);
}

static void
on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct line *line = stream->data;
	const uint8_t *map;
	size_t len;
	int r = 0;

	(void)buf;
	if (n < 0) {
		uv_read_stop(stream);
		line_lost(line->link, true,
		    n == UV_EOF || n == UV_ECONNRESET ?
		    "the node has closed the link" : uv_strerror((int)n));
		return;
	}
	wire_frames_add(&line->in, (size_t)n);
	while (!line->closing &&
	    (r = wire_frames_next(&line->in, &map, &len)) == 1)
		take_message(line->link, map, len);
	if (r >= 0 || line->closing)
		return;
	uv_read_stop(stream);
	line_lost(line->link, false,
	    "the node sent a frame longer than 64 KiB");
}

static void
on_written(uv_write_t *req, int status)
{
	/* A failure is left to the reading side: an ERR may still come. */
	(void)status;
	free(req->data);
}

/* Queues what the socket had no room for. */
static int
send_later(struct line *line, const uint8_t *bytes, size_t len)
{
	struct outgoing *out = malloc(sizeof *out + len);
	uv_buf_t buf;

	if (out == NULL)
		return -ENOMEM;
	memcpy(out->bytes, bytes, len);
	out->req.data = out;
	buf = uv_buf_init((char *)out->bytes, (unsigned)len);
	if (uv_write(&out->req, (uv_stream_t *)&line->pipe, &buf, 1,
	    on_written) < 0) {
		free(out);
		return -ENOTCONN;
	}
	return 0;
}

/* Sends a request of *bytes bytes; -ENOTCONN, -ENOMEM or an error of wire_encode(). */
static int
line_send(struct line *line, const struct wire_msg *msg, size_t *bytes)
{
	uint8_t frame[WIRE_LENGTH_SIZE + WIRE_REQUEST_MAX], *at = frame;
	bool piece = msg->type == WIRE_LPUT;	/* longer than other requests */
	size_t cap = piece ? WIRE_LENGTH_SIZE + WIRE_REPLY_MAX : sizeof frame;
	size_t len, gone = 0;
	uv_buf_t buf;
	int r;

	if (piece && (at = malloc(cap)) == NULL)
		return -ENOMEM;
	r = wire_encode(msg, at, cap, &len);
	if (r < 0)
		goto out;
	buf = uv_buf_init((char *)at, (unsigned)len);
	/* Mostly there is room; uv_write() would cost two more system calls. */
	r = uv_try_write((uv_stream_t *)&line->pipe, &buf, 1);
	if (r > 0)
		gone = (size_t)r;
	/* An error is found when the rest is queued. */
	r = gone < len ? send_later(line, at + gone, len - gone) : 0;
	if (r == 0)
		*bytes = len;
out:
	if (at != frame)
		free(at);
	return r;
}

static void
on_line_closed(uv_handle_t *handle)
{
	struct line *line = handle->data;

	wire_frames_fini(&line->in);
	free(line);
}

/* No callback comes from here on. */
static void
line_close(struct line *line)
{
	if (line == NULL || line->closing)
		return;
	line->closing = true;
	uv_close((uv_handle_t *)&line->pipe, on_line_closed);
}

/* Takes over fd, even on failure. */
static int
line_open(struct line **out, struct nodes_link *link, int fd)
{
	struct line *line;
	int err;

	line = calloc(1, sizeof *line);
	if (line == NULL) {
		close(fd);
		return -ENOMEM;
	}
	line->link = link;
	err = wire_frames_init(&line->in, WIRE_REPLY_MAX);
	if (err == 0)
		err = uv_pipe_init(link->loop, &line->pipe, 0);
	if (err < 0) {
		wire_frames_fini(&line->in);
		free(line);
		close(fd);
		return err;
	}
	line->pipe.data = line;
	err = uv_pipe_open(&line->pipe, fd);
	if (err < 0)
		close(fd);
	else
		err = uv_read_start((uv_stream_t *)&line->pipe, on_alloc,
		    on_read);
	if (err < 0) {
		line_close(line);
		return err;
	}
	*out = line;
	return 0;
}

static void
reap(struct nodes_link *link)
{
	if (link->child > 0 && !link->reaped)
		link->reaped = waitpid(link->child, NULL, WNOHANG) != 0;
}

/* Of an owner, or all with NULL. */
static void
cancel_asks(struct nodes_link *link, const void *owner, int err)
{
	struct ask ask;
	size_t i;

	for (i = 0; i < LINK_ASKS_MAX; i++) {
		ask = link->asks[i];
		if (ask.id == 0 || (owner != NULL && ask.owner != owner))
			continue;
		link->asks[i].id = 0;
		ask.cb(ask.arg, err, NULL);
	}
}

static void on_timer(uv_timer_t *);

static void
wait_ms(struct nodes_link *link, uint32_t ms)
{
	/* Not 0: libuv would loop over its timers while tries fail. */
	if (ms == 0)
		ms = 1;
	link->due_ms = mono_ms(mono_now()) + ms;
	uv_update_time(link->loop);
	uv_timer_start(&link->timer, on_timer, ms, 0);
}

/* Waits for the next try, if there is one. */
static void
plan_next_try(struct nodes_link *link, int err)
{
	const struct nodes_way *way = &link->way;
	size_t len = strlen(link->reason);
	bool again;
	uint32_t ms;

	if (link->child > 0 && way->start == NULL)
		base_append(link->reason, sizeof link->reason, &len, ": this "
		    "command's node will not restart");
	if (way->start == NULL || link->given_up)
		return;
	again = way->lost == NULL || way->lost(way->arg, err, link->reason,
	    sizeof link->reason);
	if (!again || (way->final >> link->fault & 1) != 0) {
		link->given_up = true;
		return;
	}
	ms = way->delay_ms != NULL ? way->delay_ms(way->arg, link->tries) :
	    retry_draw_ms(link->tries, way->most_ms != 0 ? way->most_ms :
	    RETRY_MOST_MS);
	wait_ms(link, ms > link->retry_ms ? ms : link->retry_ms);
}

/* err < 0: a try failed. Callbacks come last: they may close the link. */
static void
lose(struct nodes_link *link, enum nodes_state fault, int err,
    const char *reason)
{
	int64_t now = mono_ms(mono_now());

	if (link->closing)
		return;
	link->fault = fault;
	snprintf(link->reason, sizeof link->reason, "%s%s",
	    link->way.where != NULL ? link->way.where : "", reason);
	line_close(link->line);
	link->line = NULL;
	uv_timer_stop(&link->timer);
	link->due_ms = 0;
	if (link->up_ms != 0 && now - link->up_ms >= RETRY_STEADY_MS)
		link->tries = 0;
	link->up_ms = 0;
	link->losses++;
	reap(link);
	plan_next_try(link, err);
	link->retry_ms = 0;
	cancel_asks(link, NULL, -ENOTCONN);
}

static void
welcome(struct nodes_link *link, const struct wire_welcome *w)
{
	link_text(link->node.name, sizeof link->node.name, w->node_name);
	link->node.number = w->node_number;
	link->node.mono_ns = w->mono_ns;
	link->node.utc_ns = w->utc_ns;
	memcpy(link->node.id, w->node_id, WIRE_EPOCH);
	memcpy(link->node.boot, w->boot, WIRE_EPOCH);
	link->welcomed = true;
	link->up_ms = mono_ms(mono_now());
	link->fault = NODES_LIVE;
	link->reason[0] = '\0';
	uv_timer_stop(&link->timer);
	if (link->way.up != NULL)
		link->way.up(link->way.arg);
}

static void
on_hello_reply(void *arg, int err, const struct wire_msg *msg)
{
	struct nodes_link *link = arg;
	char reason[300], text[WIRE_TEXT_MAX + 1];

	if (err < 0)
		return;
	if (msg->type == WIRE_WELCOME && msg->welcome.version == WIRE_VERSION) {
		welcome(link, &msg->welcome);
		return;
	}
	if (msg->type == WIRE_WELCOME) {
		snprintf(reason, sizeof reason, "node speaks version %u, "
		    "this page %u", msg->welcome.version, WIRE_VERSION);
		lose(link, NODES_VERSION, 0, reason);
		return;
	}
	if (msg->type != WIRE_ERR) {
		lose(link, NODES_UNREACHABLE, 0, "the node did not answer "
		    "HELLO with WELCOME");
		return;
	}
	link_text(text, sizeof text, msg->err.text);
	link->retry_ms = msg->err.retry_ms;
	if (msg->err.code == WIRE_E_VERSION) {
		snprintf(reason, sizeof reason, "node and page speak no common "
		    "version: %s", text);
		lose(link, NODES_VERSION, 0, reason);
	} else if (msg->err.code == WIRE_E_AUTH) {
		snprintf(reason, sizeof reason, "the node refused: %s", text);
		lose(link, NODES_DENIED, 0, reason);
	} else {
		snprintf(reason, sizeof reason, "the node refused: %s", text);
		lose(link, NODES_UNREACHABLE, 0, reason);
	}
}

static struct ask *
find_ask(struct nodes_link *link, uint32_t id)
{
	size_t i;

	for (i = 0; i < LINK_ASKS_MAX; i++)
		if (link->asks[i].id == id)
			return &link->asks[i];
	return NULL;
}

/* The reason, or that of a stranger if the node has not spoken yet. */
static const char *
reason_or_stranger(const struct nodes_link *link, const char *reason)
{
	return link->way.stranger != NULL && link->up_ms == 0 ?
	    link->way.stranger : reason;
}

/* Passes a message to its ask; replies to forgotten asks are dropped. */
static void
take_message(struct nodes_link *link, const uint8_t *map, size_t len)
{
	struct wire_msg msg;
	struct ask *slot, ask;
	char reason[300], text[WIRE_TEXT_MAX + 1];
	int err;

	link->received += WIRE_LENGTH_SIZE + len;
	err = wire_decode(map, len, &msg);
	if (err == -ENOMSG)
		return;
	if (err < 0) {
		lose(link, NODES_UNREACHABLE, 0,
		    reason_or_stranger(link, "the node sent a malformed message"));
		return;
	}
	link->heard++;
	slot = msg.id != 0 ? find_ask(link, msg.id) : NULL;
	if (slot != NULL) {
		ask = *slot;
		slot->id = 0;
		ask.cb(ask.arg, 0, &msg);
	} else if (msg.type == WIRE_ERR && msg.id == 0) {
		link_text(text, sizeof text, msg.err.text);
		snprintf(reason, sizeof reason, "the node closed the link: %s",
		    text);
		link->retry_ms = msg.err.retry_ms;
		lose(link, msg.err.code == WIRE_E_AUTH ? NODES_DENIED :
		    NODES_UNREACHABLE, 0, reason);
	}
}

static void
on_told(void *arg, enum nodes_state state, const char *sentence)
{
	lose(arg, state, 0, sentence);
}

static void
line_lost(struct nodes_link *link, bool ended, const char *reason)
{
	if (!ended)
		lose(link, NODES_UNREACHABLE, 0, reason_or_stranger(link, reason));
	else if (link->way.why != NULL)
		link->way.why(link->way.arg, on_told, link);
	else
		lose(link, NODES_UNREACHABLE, 0, reason);
}

static int
send_ask(struct nodes_link *link, struct wire_msg *msg, const void *owner,
    link_reply_cb cb, void *arg)
{
	struct ask *slot = find_ask(link, 0);
	size_t bytes;
	int err;

	if (slot == NULL)
		return -EBUSY;
	if (++link->last_id == 0)
		link->last_id = 1;
	msg->id = link->last_id;
	err = line_send(link->line, msg, &bytes);
	if (err < 0)
		return err;
	link->sent += bytes;
	*slot = (struct ask){ .id = msg->id, .owner = owner, .cb = cb,
	    .arg = arg };
	return 0;
}

int
link_ask(struct nodes_link *link, struct wire_msg *msg, const void *owner,
    link_reply_cb cb, void *arg)
{
	if (link->closing || link->fault != NODES_LIVE)
		return -ENOTCONN;
	return send_ask(link, msg, owner, cb, arg);
}

void
link_forget(struct nodes_link *link, const void *owner)
{
	cancel_asks(link, owner, -ECANCELED);
}

const struct link_node *
link_node(const struct nodes_link *link)
{
	return link->welcomed ? &link->node : NULL;
}

void
nodes_link_call(struct nodes_link *link, uint16_t number, const char *name)
{
	link->called = number;
	snprintf(link->called_name, sizeof link->called_name, "%s", name);
}

const char *
link_called(const struct nodes_link *link, uint16_t *number)
{
	if (link->called != 0) {
		*number = link->called;
		return link->called_name;
	}
	*number = link->welcomed ? link->node.number : 0;
	return link->welcomed ? link->node.name : "";
}

enum nodes_state
link_fault(const struct nodes_link *link, const char **reason)
{
	if (reason != NULL)
		*reason = link->reason;
	return link->fault;
}

unsigned
link_losses(const struct nodes_link *link)
{
	return link->losses;
}

void
link_bytes(const struct nodes_link *link, uint64_t *sent, uint64_t *received)
{
	*sent = link->sent;
	*received = link->received;
}

uint64_t
link_heard(const struct nodes_link *link)
{
	return link->heard;
}

void
link_text(char *out, size_t cap, struct wire_text t)
{
	size_t len = t.len < cap - 1 ? t.len : cap - 1;

	if (len > 0)
		memcpy(out, t.s, len);
	out[len] = '\0';
}

void
link_own_child(struct nodes_link *link, pid_t pid)
{
	link->child = pid;
	link->reaped = false;
}

int
link_pass_signal(const struct nodes_link *link, int sig, pid_t from)
{
	siginfo_t end = { .si_pid = 0 };
	union sigval value = {
		.sival_int = SIGNAL_PASS_VALUE(sig, from) };

	if (link->child <= 0 || waitid(P_PID, (id_t)link->child, &end,
	    WEXITED | WNOHANG | WNOWAIT) < 0 || end.si_pid != 0)
		return -ESRCH;
	return sigqueue(link->child, SIGNAL_PASS, value) < 0 ? -errno : 0;
}

pid_t
link_child(const struct nodes_link *link)
{
	return link->child;
}

enum nodes_state
nodes_link_state(const struct nodes_link *link, const char **reason)
{
	enum nodes_state fault = link_fault(link, reason);

	return fault == NODES_LIVE && !link->welcomed ? NODES_CONNECTING :
	    fault;
}

static int
send_hello(struct nodes_link *link, int fd)
{
	struct wire_msg hello = {
		.type = WIRE_HELLO,
		.hello = {
			.min = WIRE_VERSION,
			.max = WIRE_VERSION,
			.client = wire_text("pagek " PAGEK_VERSION),
			.roles = WIRE_ROLE_READ | WIRE_ROLE_LIST_PUT |
			    WIRE_ROLE_CONTROL,
			.node = link_here(),
		},
	};
	int err;

	err = line_open(&link->line, link, fd);
	if (err < 0)
		return err;
	return send_ask(link, &hello, link, on_hello_reply, link);
}

static uint32_t
patience_ms(const struct nodes_link *link)
{
	return link->way.patience_ms != NULL ?
	    link->way.patience_ms(link->way.arg, link->tries) :
	    RETRY_PATIENCE_MS;
}

static void
try_again(struct nodes_link *link)
{
	int r;

	link->due_ms = 0;
	link->tries++;
	r = link->way.start(link->way.arg);
	if (r >= 0)
		r = send_hello(link, r);
	if (r < 0)
		lose(link, r == -EACCES || r == -EPERM ? NODES_DENIED :
		    NODES_UNREACHABLE, r, strerror(-r));
	else
		uv_timer_start(&link->timer, on_timer, patience_ms(link), 0);
}

static void
on_timer(uv_timer_t *timer)
{
	struct nodes_link *link = timer->data;

	if (link->line == NULL)
		try_again(link);
	else
		lose(link, NODES_UNREACHABLE, -ETIMEDOUT,
		    "the node does not answer HELLO");
}

bool
nodes_link_retry(struct nodes_link *link)
{
	if (link->closing || link->fault == NODES_LIVE ||
	    link->way.start == NULL)
		return false;
	/* A try is going on. */
	if (link->line != NULL)
		return true;
	link->given_up = false;
	link->tries = 0;
	wait_ms(link, 0);
	return true;
}

bool
link_returns(const struct nodes_link *link, unsigned *tries, int64_t *in_ms)
{
	int64_t left = link->due_ms - mono_ms(mono_now());

	if (link->fault == NODES_LIVE || link->way.start == NULL ||
	    link->given_up)
		return false;
	*tries = link->tries;
	*in_ms = link->due_ms == 0 || left < 0 ? 0 : left;
	return true;
}

static void
on_closed(uv_handle_t *handle)
{
	struct nodes_link *link = handle->data;

	reap(link);
	if (link->way.fini != NULL)
		link->way.fini(link->way.arg);
	free(link);
}

int
nodes_link_open(struct nodes_link **out, uv_loop_t *loop, int fd)
{
	struct nodes_link *link = calloc(1, sizeof *link);
	int err;

	if (link == NULL) {
		close(fd);
		return -ENOMEM;
	}
	link->loop = loop;
	link->fault = NODES_LIVE;
	uv_timer_init(loop, &link->timer);
	link->timer.data = link;
	err = send_hello(link, fd);
	if (err < 0) {
		nodes_link_close(link);
		return err;
	}
	*out = link;
	return 0;
}

int
nodes_link_keep(struct nodes_link **out, uv_loop_t *loop,
    const struct nodes_way *way)
{
	int r = way->start(way->arg);

	if (r >= 0)
		r = nodes_link_open(out, loop, r);
	if (r < 0) {
		if (way->fini != NULL)
			way->fini(way->arg);
		return r;
	}
	(*out)->way = *way;
	return 0;
}

void
link_way(struct nodes_link *link, const struct nodes_way *way)
{
	link->way = *way;
}

void
nodes_link_close(struct nodes_link *link)
{
	if (link == NULL || link->closing)
		return;
	link->closing = true;
	cancel_asks(link, NULL, -ECANCELED);
	line_close(link->line);
	link->line = NULL;
	uv_close((uv_handle_t *)&link->timer, on_closed);
}
