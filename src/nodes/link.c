/*
 * A page's connection to a node: frames over a stream socket, requests with
 * ids, and replies handed to whoever asked.  HELLO goes out first and requests
 * follow without waiting for WELCOME: the node answers in order.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/base.h"
#include "daemon.h"
#include "link.h"
#include "link_ssh.h"
#include "socket.h"

#define READ_CHUNK 65536

struct ask {
	uint32_t id;		/* 0: this place is free */
	const void *owner;
	link_reply_cb cb;
	void *arg;
};

struct nodes_link {
	uv_pipe_t pipe;
	struct wire_frames in;
	struct ask asks[LINK_ASKS_MAX];
	uint32_t last_id;
	uint64_t heard;
	bool closing;
	bool welcomed;
	struct link_node node;
	enum nodes_state fault;		/* NODES_LIVE: none */
	char reason[320];
	pid_t child;			/* 0: none, or reaped */
	pid_t born;			/* it, even then */
	struct link_ssh *ssh;		/* NULL: none */
};

/* One frame on its way out; freed when libuv is done with it. */
struct outgoing {
	uv_write_t req;
	uint8_t bytes[];
};

static void
reap(struct nodes_link *link)
{
	if (link->child > 0 && waitpid(link->child, NULL, WNOHANG) != 0)
		link->child = 0;
}

/* Calls off what an owner, or with NULL anybody, still waits for. */
static void
call_off(struct nodes_link *link, const void *owner, int err)
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

/* The first fault is the one that is told; all that wait learn of it. */
static void
lose(struct nodes_link *link, enum nodes_state fault, const char *reason)
{
	if (link->closing || link->fault != NODES_LIVE)
		return;
	link->fault = fault;
	snprintf(link->reason, sizeof link->reason, "%s%s",
	    link->ssh != NULL ? link_ssh_where(link->ssh) : "", reason);
	uv_read_stop((uv_stream_t *)&link->pipe);
	reap(link);
	call_off(link, NULL, -ENOTCONN);
}

static void
on_hello_reply(void *arg, int err, const struct wire_msg *msg)
{
	struct nodes_link *link = arg;
	char reason[300], text[WIRE_TEXT_MAX + 1];

	if (err < 0)
		return;
	if (msg->type == WIRE_WELCOME && msg->welcome.version == WIRE_VERSION) {
		link_text(link->node.name, sizeof link->node.name,
		    msg->welcome.node_name);
		link->node.number = msg->welcome.node_number;
		link->node.mono_ns = msg->welcome.mono_ns;
		link->node.utc_ns = msg->welcome.utc_ns;
		link->welcomed = true;
		return;
	}
	if (msg->type == WIRE_WELCOME) {
		snprintf(reason, sizeof reason, "node speaks version %u, "
		    "this page %u", msg->welcome.version, WIRE_VERSION);
		lose(link, NODES_VERSION, reason);
		return;
	}
	if (msg->type != WIRE_ERR) {
		lose(link, NODES_UNREACHABLE, "the node did not answer HELLO "
		    "with WELCOME");
		return;
	}
	link_text(text, sizeof text, msg->err.text);
	if (msg->err.code == WIRE_E_VERSION) {
		snprintf(reason, sizeof reason, "node and page speak no common "
		    "version: %s", text);
		lose(link, NODES_VERSION, reason);
	} else if (msg->err.code == WIRE_E_AUTH) {
		snprintf(reason, sizeof reason, "the node refused: %s", text);
		lose(link, NODES_DENIED, reason);
	} else {
		snprintf(reason, sizeof reason, "the node refused: %s", text);
		lose(link, NODES_UNREACHABLE, reason);
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

/* Who speaks there before any node has: the login shell, as a rule. */
static const char *
garbage(const struct nodes_link *link, const char *reason)
{
	return link->ssh != NULL && !link->welcomed ? "what answers there is "
	    "no pageknode: does its shell print something at login?" : reason;
}

/* One map: to whom it belongs.  Replies to what was forgotten fall silent. */
static void
deliver(struct nodes_link *link, const uint8_t *map, size_t len)
{
	struct wire_msg msg;
	struct ask *slot, ask;
	char reason[300], text[WIRE_TEXT_MAX + 1];
	int err;

	err = wire_decode(map, len, &msg);
	if (err == -ENOMSG)
		return;
	if (err < 0) {
		lose(link, NODES_UNREACHABLE, err == -ENOMEM ?
		    "no memory for the node's answer" :
		    garbage(link, "the node sent a malformed message"));
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
		lose(link, msg.err.code == WIRE_E_AUTH ? NODES_DENIED :
		    NODES_UNREACHABLE, reason);
	}
	wire_msg_fini(&msg);
}

static void
on_alloc(uv_handle_t *handle, size_t want, uv_buf_t *buf)
{
	struct nodes_link *link = handle->data;
	size_t room = 0;
	uint8_t *space;

	(void)want;
	space = wire_frames_space(&link->in, READ_CHUNK, &room);
	*buf = uv_buf_init((char *)space, space != NULL ? (unsigned)room : 0);
}

static void
on_ssh_fate(void *arg, enum nodes_state state, const char *sentence)
{
	lose(arg, state, sentence);
}

static void
on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct nodes_link *link = stream->data;
	const uint8_t *map;
	size_t len;
	int r = 0;

	(void)buf;
	if (n < 0 && link->ssh != NULL) {
		/* Why is known when ssh has ended too. */
		uv_read_stop(stream);
		link_ssh_fate(link->ssh, on_ssh_fate, link);
		return;
	}
	if (n < 0) {
		lose(link, NODES_UNREACHABLE, n == UV_EOF || n == UV_ECONNRESET ?
		    "the node has closed the link" : uv_strerror((int)n));
		return;
	}
	wire_frames_add(&link->in, (size_t)n);
	while (!link->closing && link->fault == NODES_LIVE &&
	    (r = wire_frames_next(&link->in, &map, &len)) == 1)
		deliver(link, map, len);
	if (r < 0)
		lose(link, NODES_UNREACHABLE, garbage(link, "the node sent a "
		    "frame longer than 64 KiB"));
}

static void
on_written(uv_write_t *req, int status)
{
	/*
	 * A failure is left to the reading side: the node's last words, an ERR
	 * perhaps, may still be on their way.
	 */
	(void)status;
	free(req->data);
}

static int
send_msg(struct nodes_link *link, const struct wire_msg *msg)
{
	uint8_t frame[WIRE_LENGTH_SIZE + WIRE_REQUEST_MAX];
	struct outgoing *out;
	uv_buf_t buf;
	size_t len;
	int err;

	err = wire_encode(msg, frame, sizeof frame, &len);
	if (err < 0)
		return err;
	out = malloc(sizeof *out + len);
	if (out == NULL)
		return -ENOMEM;
	memcpy(out->bytes, frame, len);
	out->req.data = out;
	buf = uv_buf_init((char *)out->bytes, (unsigned)len);
	err = uv_write(&out->req, (uv_stream_t *)&link->pipe, &buf, 1,
	    on_written);
	if (err < 0) {
		free(out);
		return -ENOTCONN;
	}
	return 0;
}

int
link_ask(struct nodes_link *link, struct wire_msg *msg, const void *owner,
    link_reply_cb cb, void *arg)
{
	struct ask *slot;
	int err;

	if (link->closing || link->fault != NODES_LIVE)
		return -ENOTCONN;
	slot = find_ask(link, 0);
	if (slot == NULL)
		return -EBUSY;
	if (++link->last_id == 0)
		link->last_id = 1;
	msg->id = link->last_id;
	err = send_msg(link, msg);
	if (err < 0)
		return err;
	*slot = (struct ask){ .id = msg->id, .owner = owner, .cb = cb,
	    .arg = arg };
	return 0;
}

void
link_forget(struct nodes_link *link, const void *owner)
{
	call_off(link, owner, -ECANCELED);
}

const struct link_node *
link_node(const struct nodes_link *link)
{
	return link->welcomed ? &link->node : NULL;
}

enum nodes_state
link_fault(const struct nodes_link *link, const char **reason)
{
	if (reason != NULL)
		*reason = link->reason;
	return link->fault;
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
	link->child = link->born = pid;
}

pid_t
link_child(const struct nodes_link *link)
{
	return link->born;
}

void
link_own_ssh(struct nodes_link *link, struct link_ssh *ssh)
{
	link->ssh = ssh;
}

enum nodes_state
nodes_link_state(const struct nodes_link *link, const char **reason)
{
	enum nodes_state fault = link_fault(link, reason);

	return fault == NODES_LIVE && !link->welcomed ? NODES_CONNECTING :
	    fault;
}

static void
on_closed(uv_handle_t *handle)
{
	struct nodes_link *link = handle->data;

	reap(link);
	wire_frames_fini(&link->in);
	free(link);
}

int
nodes_link_open(struct nodes_link **out, uv_loop_t *loop, int fd)
{
	struct nodes_link *link;
	struct wire_msg hello = {
		.type = WIRE_HELLO,
		.hello = {
			.min = WIRE_VERSION,
			.max = WIRE_VERSION,
			.client = wire_text("pagek " PAGEK_VERSION),
			.roles = WIRE_ROLE_READ | WIRE_ROLE_CONTROL,
		},
	};
	int err;

	link = calloc(1, sizeof *link);
	if (link == NULL) {
		close(fd);
		return -ENOMEM;
	}
	link->fault = NODES_LIVE;
	err = wire_frames_init(&link->in, WIRE_REPLY_MAX);
	if (err == 0)
		err = uv_pipe_init(loop, &link->pipe, 0);
	if (err < 0) {
		wire_frames_fini(&link->in);
		free(link);
		close(fd);
		return err;
	}
	link->pipe.data = link;
	err = uv_pipe_open(&link->pipe, fd);
	if (err < 0) {
		close(fd);
		goto fail;
	}
	err = uv_read_start((uv_stream_t *)&link->pipe, on_alloc, on_read);
	if (err == 0)
		err = link_ask(link, &hello, link, on_hello_reply, link);
	if (err < 0)
		goto fail;
	*out = link;
	return 0;
fail:
	nodes_link_close(link);
	return err;
}

int
nodes_connect(struct nodes_link **out, uv_loop_t *loop, const char *path)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof sun.sun_path)
		return -ENAMETOOLONG;
	strcpy(sun.sun_path, path);
	/* Not blocking: a node whose backlog is full must not hold us up. */
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&sun, sizeof sun) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	return nodes_link_open(out, loop, fd);
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

void
nodes_link_close(struct nodes_link *link)
{
	if (link == NULL || link->closing)
		return;
	link->closing = true;
	call_off(link, NULL, -ECANCELED);
	link_ssh_close(link->ssh);
	uv_close((uv_handle_t *)&link->pipe, on_closed);
}
