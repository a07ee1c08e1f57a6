/*
 * One connection to a node: frames over a stream socket.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "line.h"

#define READ_CHUNK 65536

struct line {
	uv_pipe_t pipe;
	struct wire_frames in;
	const struct line_ops *ops;
	void *arg;
	bool closing;
};

/* What is left of a frame on its way out; freed when libuv is done with it. */
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
		line->ops->lost(line->arg, true,
		    n == UV_EOF || n == UV_ECONNRESET ?
		    "the node has closed the link" : uv_strerror((int)n));
		return;
	}
	wire_frames_add(&line->in, (size_t)n);
	while (!line->closing &&
	    (r = wire_frames_next(&line->in, &map, &len)) == 1)
		line->ops->map(line->arg, map, len);
	if (r >= 0 || line->closing)
		return;
	uv_read_stop(stream);
	line->ops->lost(line->arg, false,
	    "the node sent a frame longer than 64 KiB");
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

/* What the socket has no room for now goes out when it has. */
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

int
line_send(struct line *line, const struct wire_msg *msg, size_t *bytes)
{
	uint8_t frame[WIRE_LENGTH_SIZE + WIRE_REQUEST_MAX], *at = frame;
	bool piece = msg->type == WIRE_LPUT;	/* of a listing: longer */
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
	/*
	 * Nearly always there is room for all of it.  A request of libuv's for
	 * each would cost two system calls more, and a turn of the loop.
	 */
	r = uv_try_write((uv_stream_t *)&line->pipe, &buf, 1);
	if (r > 0)
		gone = (size_t)r;
	/* Why nothing went is found out, and said, as it is queued. */
	r = gone < len ? send_later(line, at + gone, len - gone) : 0;
	if (r == 0)
		*bytes = len;
out:
	if (at != frame)
		free(at);
	return r;
}

static void
on_closed(uv_handle_t *handle)
{
	struct line *line = handle->data;

	wire_frames_fini(&line->in);
	free(line);
}

int
line_open(struct line **out, uv_loop_t *loop, int fd,
    const struct line_ops *ops, void *arg)
{
	struct line *line;
	int err;

	line = calloc(1, sizeof *line);
	if (line == NULL) {
		close(fd);
		return -ENOMEM;
	}
	line->ops = ops;
	line->arg = arg;
	err = wire_frames_init(&line->in, WIRE_REPLY_MAX);
	if (err == 0)
		err = uv_pipe_init(loop, &line->pipe, 0);
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

void
line_close(struct line *line)
{
	if (line == NULL || line->closing)
		return;
	line->closing = true;
	uv_close((uv_handle_t *)&line->pipe, on_closed);
}
