/*
 * A node in the test's own process and a page that speaks the wire to it over
 * a socketpair.  Shared by the tests of the serving half.
 */
#ifndef TESTS_NODE_HARNESS_H
#define TESTS_NODE_HARNESS_H

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../src/nodes/demo/demo.h"
#include "../src/nodes/arrivals/arrivals.h"
#include "../src/nodes/keeper/node.h"
#include "../src/nodes/self_watch/self_watch.h"
#include "../src/nodes/pageknode/pageknode.h"
#include "../src/nodes/serve/serve.h"
#include "../src/nodes/images/images.h"
#include "harness.h"
#include "wire_copy.h"

/* --- a node in this process, and a page of it --------------------------- */

static struct node node;
static uv_loop_t loop;

struct page {
	int fd;
	uint32_t id;
	bool closed;			/* by the node */
	struct wire_frames in;
};

static inline void
node_up(const struct node_opts *opts)
{
	struct node_opts none = { .fd = -1 };

	ck_assert_int_eq(uv_loop_init(&loop), 0);
	ck_assert_int_eq(node_init(&node, &loop, opts != NULL ? opts : &none),
	    0);
}

static inline void
node_down(void)
{
	node_close(&node);
	uv_run(&loop, UV_RUN_DEFAULT);
	node_fini(&node);
	ck_assert_int_eq(uv_loop_close(&loop), 0);
}

/* type: SOCK_STREAM, or SOCK_SEQPACKET to see what is written at once. */
static inline void
page_open_as(struct page *p, int type)
{
	int fds[2];

	ck_assert_int_eq(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds), 0);
	ck_assert_int_eq(serve_add(&node, fds[1]), 0);
	*p = (struct page){ .fd = fds[0] };
	ck_assert_int_eq(fcntl(p->fd, F_SETFL, O_NONBLOCK), 0);
	ck_assert_int_eq(wire_frames_init(&p->in, WIRE_REPLY_MAX), 0);
}

static inline void
page_open(struct page *p)
{
	page_open_as(p, SOCK_STREAM);
}

static inline void
page_close(struct page *p)
{
	close(p->fd);
	wire_frames_fini(&p->in);
}

static inline void
page_send_raw(struct page *p, const void *bytes, size_t len)
{
	ck_assert_int_eq(write(p->fd, bytes, len), (ssize_t)len);
}

static inline void
page_send(struct page *p, struct wire_msg *m)
{
	uint8_t frame[WIRE_LENGTH_SIZE + WIRE_REQUEST_MAX];
	size_t len;

	m->id = ++p->id;
	ck_assert_int_eq(wire_encode(m, frame, sizeof frame, &len), 0);
	page_send_raw(p, frame, len);
}

/* Runs the node until a reply is there, or the connection is closed. */
static inline bool
page_receive(struct page *p, struct wire_msg *reply)
{
	const uint8_t *map;
	size_t len, room;

	for (;;) {
		int r = wire_frames_next(&p->in, &map, &len);
		uint8_t *at;
		ssize_t n;

		ck_assert_int_ge(r, 0);
		if (r == 1) {
			ck_assert_int_eq(wire_decode_copy(map, len, reply), 0);
			return true;
		}
		if (p->closed)
			return false;
		uv_run(&loop, UV_RUN_NOWAIT);
		at = wire_frames_space(&p->in, 4096, &room);
		ck_assert_ptr_nonnull(at);
		n = read(p->fd, at, room);
		if (n > 0)
			wire_frames_add(&p->in, (size_t)n);
		else if (n == 0 || errno == ECONNRESET)
			p->closed = true;
	}
}

static inline void
page_ask(struct page *p, struct wire_msg *m, struct wire_msg *reply)
{
	page_send(p, m);
	ck_assert(page_receive(p, reply));
	ck_assert_uint_eq(reply->id, p->id);
}

static inline void
page_greet(struct page *p, uint32_t roles)
{
	struct wire_msg m = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"), .roles = roles } };
	struct wire_msg reply;

	page_ask(p, &m, &reply);
	ck_assert_uint_eq(reply.type, WIRE_WELCOME);
	ck_assert_uint_eq(reply.welcome.roles, roles);
}

static inline void
page_name(struct page *p, const char *table, const char *name,
    struct wire_msg *reply)
{
	struct wire_msg m = { .type = WIRE_NAME, .name = {
		.table = wire_text(table), .name = wire_text(name) } };

	page_ask(p, &m, reply);
}

static inline void
expect_error(const struct wire_msg *reply, enum wire_error code)
{
	ck_assert_uint_eq(reply->type, WIRE_ERR);
	ck_assert_uint_eq(reply->err.code, code);
}

static inline struct node_opts
demo_opts(const char *demo, const char *at, const char *stream)
{
	return (struct node_opts){ .fd = -1, .demo.name = demo, .demo.at = at,
		.demo.stream = stream };
}

/* A page of a node that shows a generator, greeted. */
static inline void
demo_up(struct page *p, const char *demo, const char *at, const char *stream)
{
	struct node_opts opts = demo_opts(demo, at, stream);

	node_up(&opts);
	ck_assert_int_eq(demo_start(&node), 0);
	page_open(p);
	page_greet(p, WIRE_ROLE_READ | WIRE_ROLE_CONTROL);
}

static inline struct keeper *
new_keeper(const char *name, pid_t pid)
{
	struct keeper *k;

	ck_assert_int_eq(keeper_new(&k, &node,
	    &(struct keeper_opts){ .max = 4096 }, NULL), 0);
	k->image.pid = pid;
	k->stream = atomic_fetch_add(&node.last_stream, 1) + 1;
	strcpy(k->image.comm, "target");
	ck_assert_int_eq(images_join(k, name), 0);
	return k;
}

/* --- descriptors -------------------------------------------------------- */

/* One bit for each of those that are open. */
static inline uint64_t
open_fds(void)
{
	uint64_t open = 0;

	for (int fd = 0; fd < 64; fd++)
		if (fcntl(fd, F_GETFD) != -1)
			open |= UINT64_C(1) << fd;
	return open;
}

/* --- records ------------------------------------------------------------ */

static uint32_t tickets[REC_SHARDS];

static inline struct rec
record(unsigned op, uint64_t addr, unsigned type, uint64_t size)
{
	return (struct rec){ .w = { rec_w0(addr, REC_FLAGS(op, 0), type),
		rec_w1(size, 1), rec_w2(tickets[rec_shard(addr)]++, 1000),
		rec_w3(0x1234, 0) } };
}

static inline struct rec
allocation(uint64_t addr, uint64_t size)
{
	return record(REC_ALLOC, addr, TYPE_MALLOC, size);
}

static inline struct rec
freeing(uint64_t addr)
{
	return record(REC_FREE, addr, TYPE_FREE, 0);
}

static inline void
take(struct keeper *k, struct rec rec)
{
	keeper_take(k, &rec, 1, 1000, NULL, NULL, 0);
}

/* A page of a node with one wide stream, greeted; the request has its epoch. */
static inline struct keeper *
wide_up(struct page *p, struct wire_msg *m)
{
	struct keeper *k;

	node_up(NULL);
	k = new_keeper("ALLOCLOG", 0);
	page_open(p);
	page_greet(p, WIRE_ROLE_READ);
	if (m->type == WIRE_READ)
		memcpy(m->read.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	else
		memcpy(m->snap.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	return k;
}

#endif
