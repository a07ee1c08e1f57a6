/*
 * The scripted node's end of the line (peer.h): what it is, what it was asked,
 * and frames that go both ways.
 */
#ifndef TESTS_PEER_LINE_H
#define TESTS_PEER_LINE_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "model.h"
#include "wire_copy.h"

#define PEER_ASKED 256
#define PEER_MODELS 4

#define PEER_MS 1000000

struct peer {
	uv_loop_t loop;
	struct nodes_link *link;
	int fd;
	struct wire_frames in;
	struct wire_msg asked[PEER_ASKED];
	size_t n;
	struct model *model[PEER_MODELS];
	size_t models;
	/* The node itself. */
	pid_t root_pid;
	int32_t root_status;
	int64_t ended_ms;
	uint8_t boot;			/* counts up when it is started anew */
	int64_t passed_ms;		/* its clock was PEER_MS */
	/* How it answers SITE and FRAME. */
	size_t answer_max;		/* entries of one answer */
	uint32_t known;
	uint32_t fetch_kb;
	/* What was seen. */
	unsigned whole, not_whole, snaps, names_asked, types_asked;
	unsigned sites_asked, frames_asked, windows;
	struct wire_window window;	/* the last one asked for */
	bool has_no_window;		/* it is of an earlier version */
	/* REGIONS is not among what is asked: it is answered with whatever is. */
	struct wire_msg regions[8];
	size_t nregions;
	unsigned regions_asked;
	bool has_no_regions;		/* likewise */
	bool holds_regions;		/* not answered until that is over */
	unsigned armed[WIRE_ARM_HOLD + 1];	/* by what ARM asked for */
	bool may_not_arm;
};

static inline void
peer_open(struct peer *p)
{
	int fds[2];

	memset(p, 0, sizeof *p);
	p->root_status = -1;
	p->answer_max = WIRE_SYMS_MAX;
	p->known = WIRE_K_LINE;
	ck_assert_int_eq(uv_loop_init(&p->loop), 0);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    fds), 0);
	p->fd = fds[1];
	ck_assert_int_eq(fcntl(p->fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(wire_frames_init(&p->in, WIRE_REQUEST_MAX), 0);
	ck_assert_int_eq(nodes_link_open(&p->link, &p->loop, fds[0]), 0);
}

/* What has been asked for comes in; true if anything did. */
static bool
peer_listen(struct peer *p)
{
	const uint8_t *map;
	size_t room, len;
	uint8_t *space;
	ssize_t n;
	bool any = false;

	space = wire_frames_space(&p->in, 65536, &room);
	ck_assert_ptr_nonnull(space);
	n = p->fd >= 0 ? read(p->fd, space, room) : 0;
	if (n <= 0)
		return false;
	wire_frames_add(&p->in, (size_t)n);
	while (wire_frames_next(&p->in, &map, &len) == 1) {
		ck_assert_uint_lt(p->n, PEER_ASKED);
		ck_assert_int_eq(wire_decode_copy(map, len,
		    &p->asked[p->n]), 0);
		any = true;
		if (p->asked[p->n].type != WIRE_REGIONS) {
			p->n++;
			continue;
		}
		ck_assert_uint_lt(p->nregions, 8);
		p->regions[p->nregions++] = p->asked[p->n];
	}
	return any;
}

/* Lets both sides take what lies in the socket. */
static void
peer_turn(struct peer *p)
{
	int quiet = 0;

	while (quiet < 2) {
		uv_run(&p->loop, UV_RUN_NOWAIT);
		quiet = peer_listen(p) ? 0 : quiet + 1;
	}
}

static void
peer_send(struct peer *p, const struct wire_msg *msg)
{
	static uint8_t frame[WIRE_LENGTH_SIZE + WIRE_REPLY_MAX];
	size_t len, done = 0;
	ssize_t n;

	ck_assert_int_eq(wire_encode(msg, frame, sizeof frame, &len), 0);
	while (done < len) {
		n = write(p->fd, frame + done, len - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			uv_run(&p->loop, UV_RUN_NOWAIT);
		else
			return;
	}
}

static void
peer_error(struct peer *p, uint32_t id, enum wire_error code)
{
	struct wire_msg msg = {
		.type = WIRE_ERR,
		.id = id,
		.err = { .code = code, .text = wire_text("no") },
	};

	peer_send(p, &msg);
}

#endif
