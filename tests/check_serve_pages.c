/*
 * What a node does with its pages: with those that misbehave, that are too many
 * or that read late, and which replies go out together.
 */
#include "node_harness.h"

/* --- connections -------------------------------------------------------- */

CASE("connections", .seconds = 60);

TEST(a_request_before_the_hello_ends_the_connection)
{
	struct wire_msg r, m = { .type = WIRE_STAT };
	struct page p;

	node_up(NULL);
	page_open(&p);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_FRAME);
	ck_assert(!page_receive(&p, &r));
	ck_assert_uint_eq(node.serve->count, 0);
	page_close(&p);
	node_down();
}

TEST(an_unknown_version_is_refused_by_name)
{
	struct wire_msg r, m = { .type = WIRE_HELLO,
		.hello = { .min = 2, .max = 3, .client = wire_text("x") } };
	struct page p;

	node_up(NULL);
	page_open(&p);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_VERSION);
	ck_assert(!page_receive(&p, &r));
	page_close(&p);
	node_down();
}

static const struct {
	const char *bytes;
	size_t len;
	enum wire_error code;
} garbage[] = {
	{ "\0\0\0\1\xff", 5, WIRE_E_FRAME },
	{ "\0\0\0\0", 4, WIRE_E_FRAME },
	{ "\0\0\x10\1", 4, WIRE_E_BIG },
	{ "\xff\xff\xff\xff", 4, WIRE_E_BIG },
	{ "GET / HTTP/1.0\r\n", 16, WIRE_E_BIG },
	{ "\0\0\0\5\xbb\xff\xff\xff\xff", 9, WIRE_E_FRAME },
};

LOOP_TEST(garbage_is_answered_once_and_ends_the_connection, 0,
    BASE_NELEM(garbage))
{
	struct wire_msg r;
	struct page p;

	node_up(NULL);
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	page_send_raw(&p, garbage[_i].bytes, garbage[_i].len);
	ck_assert(page_receive(&p, &r));
	expect_error(&r, garbage[_i].code);
	ck_assert(!page_receive(&p, &r));
	page_close(&p);
	node_down();
}

TEST(the_65th_page_is_told_to_come_later)
{
	struct page p[SERVE_CONNS + 1];
	struct wire_msg r;

	node_up(NULL);
	for (size_t i = 0; i < SERVE_CONNS; i++) {
		page_open(&p[i]);
		page_greet(&p[i], WIRE_ROLE_READ);
	}
	page_open(&p[SERVE_CONNS]);
	ck_assert(page_receive(&p[SERVE_CONNS], &r));
	expect_error(&r, WIRE_E_BUSY);
	ck_assert_uint_gt(r.err.retry_ms, 0);
	ck_assert(!page_receive(&p[SERVE_CONNS], &r));
	/* When one goes there is room again. */
	page_close(&p[0]);
	while (node.serve->count == SERVE_CONNS)
		uv_run(&loop, UV_RUN_NOWAIT);
	page_close(&p[SERVE_CONNS]);
	page_open(&p[0]);
	page_greet(&p[0], WIRE_ROLE_READ);
	for (size_t i = 0; i < SERVE_CONNS; i++)
		page_close(&p[i]);
	node_down();
}

TEST(a_page_that_reads_nothing_is_not_written_to_for_ever)
{
	struct wire_msg m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	uint8_t frame[256];
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	struct conn *c;
	size_t len;

	for (uint64_t i = 1; i <= 2000; i++)
		take(k, allocation(i * 16, 1));
	ck_assert_int_eq(wire_encode(&m, frame, sizeof frame, &len), 0);
	/* 48 KiB each are asked for, some 10 MB in all. */
	for (int i = 0; i < 200; i++) {
		ssize_t n = write(p.fd, frame, len);

		ck_assert(n == (ssize_t)len || (n < 0 && errno == EAGAIN));
		uv_run(&loop, UV_RUN_NOWAIT);
		c = TAILQ_FIRST(&node.serve->conns);
		ck_assert_ptr_nonnull(c);
		ck_assert_uint_le(uv_stream_get_write_queue_size(
		    (uv_stream_t *)&c->pipe), SERVE_QUEUE_MAX);
	}
	ck_assert(c->paused);
	page_close(&p);
	node_down();
}

static size_t
waiting(void)
{
	struct conn *c = TAILQ_FIRST(&node.serve->conns);

	return uv_stream_get_write_queue_size((uv_stream_t *)&c->pipe);
}

/* Asks for more than the socket and the queue hold, and reads nothing. */
static struct conn *
turn_away(struct page *p, struct wire_msg *m)
{
	struct conn *c = TAILQ_FIRST(&node.serve->conns);
	uint8_t frame[256];
	size_t len;

	ck_assert_int_eq(wire_encode(m, frame, sizeof frame, &len), 0);
	while (!c->paused) {
		page_send_raw(p, frame, len);
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	return c;
}

static void
large_up(struct page *p, struct wire_msg *m)
{
	struct keeper *k = wide_up(p, m);

	for (uint64_t i = 1; i <= 2000; i++)
		take(k, allocation(i * 16, 1));
}

static void
seconds(unsigned n)
{
	while (n-- > 0) {
		serve_second(&node);
		uv_run(&loop, UV_RUN_NOWAIT);
	}
}

TEST(a_page_that_takes_no_replies_loses_its_place)
{
	struct wire_msg m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	uint8_t bytes[4096];
	struct page p;

	large_up(&p, &m);
	turn_away(&p, &m);
	seconds(SERVE_UNREAD_S);
	ck_assert_uint_eq(node.serve->count, 1);
	/* One that takes some of them, however late, is there. */
	while (read(p.fd, bytes, sizeof bytes) > 0 && waiting() > 0)
		uv_run(&loop, UV_RUN_NOWAIT);
	turn_away(&p, &m);
	seconds(SERVE_UNREAD_S);
	ck_assert_uint_eq(node.serve->count, 1);
	seconds(3);
	ck_assert_uint_eq(node.serve->count, 0);
	page_close(&p);
	node_down();
}

/* It cannot come again, and a command's page may be stopped for long. */
TEST(the_page_that_a_node_was_started_for_keeps_its_place)
{
	struct wire_msg m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct page p;

	large_up(&p, &m);
	turn_away(&p, &m)->passed = true;
	seconds(3 * SERVE_UNREAD_S);
	ck_assert_uint_eq(node.serve->count, 1);
	page_close(&p);
	node_down();
}

TEST(a_page_that_reads_late_gets_every_reply)
{
	struct wire_msg r, m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);

	for (uint64_t i = 1; i <= 2000; i++)
		take(k, allocation(i * 16, 1));
	for (int i = 0; i < 50; i++) {
		page_send(&p, &m);
		uv_run(&loop, UV_RUN_NOWAIT);
	}
	for (uint32_t i = p.id - 49; i <= p.id; i++) {
		ck_assert(page_receive(&p, &r));
		ck_assert_uint_eq(r.id, i);
		ck_assert_uint_eq(r.type, WIRE_PART);
	}
	page_close(&p);
	node_down();
}

TEST(a_page_without_the_role_cannot_end_a_target)
{
	struct wire_msg r, m = { .type = WIRE_END };
	struct wire_msg dummy = { .type = WIRE_READ };
	struct page p;

	wide_up(&p, &dummy);
	memcpy(m.end.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_AUTH);
	page_close(&p);
	node_down();
}

TEST(a_generator_can_be_ended)
{
	struct wire_msg r, m = { .type = WIRE_END }, stat = {
		.type = WIRE_STAT };
	struct page p;

	demo_up(&p, "note", "39s", NULL);
	memcpy(m.end.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_ENDED);
	page_ask(&p, &stat, &r);
	ck_assert_uint_eq(r.stats.state, WIRE_S_ENDED);
	ck_assert_uint_eq(r.stats.n[WIRE_N_LIVE_BLOCKS], 6);
	page_close(&p);
	node_down();
}

/* --- what goes out together ------------------------------------------------ */

/* What the node writes to it at once is one message. */
static void
messages_up(struct page *p)
{
	node_up(NULL);
	page_open_as(p, SOCK_SEQPACKET);
	page_greet(p, WIRE_ROLE_READ);
}

static void
messages_down(struct page *p)
{
	page_close(p);
	node_down();
}

/* So many requests, each for a name that is not there, in one message. */
static void
ask_for_names(struct page *p, unsigned n, const char *behind)
{
	struct wire_msg m = { .type = WIRE_NAME, .name = {
		.table = wire_text("DSTRM"), .name = wire_text("none") } };
	uint8_t frames[4096];
	size_t len, all = 0;

	for (unsigned i = 0; i < n; i++) {
		m.id = ++p->id;
		ck_assert_int_eq(wire_encode(&m, frames + all,
		    sizeof frames - all, &len), 0);
		all += len;
	}
	memcpy(frames + all, behind, strlen(behind));
	page_send_raw(p, frames, all + strlen(behind));
}

/* The replies in the next message. */
static unsigned
next_replies(struct page *p)
{
	const uint8_t *map;
	unsigned n = 0;
	size_t len, room;
	ssize_t got;
	uint8_t *at = wire_frames_space(&p->in, 1 << 16, &room);

	ck_assert_ptr_nonnull(at);
	while ((got = read(p->fd, at, room)) < 0 && errno == EAGAIN)
		uv_run(&loop, UV_RUN_NOWAIT);
	if (got <= 0)
		return 0;
	wire_frames_add(&p->in, (size_t)got);
	while (wire_frames_next(&p->in, &map, &len) == 1)
		n++;
	return n;
}

/* Eight requests are a turn. */
TEST(replies_to_the_requests_of_a_turn_are_one_write)
{
	struct page p;

	messages_up(&p);
	ask_for_names(&p, 3, "");
	ck_assert_uint_eq(next_replies(&p), 3);
	ask_for_names(&p, 1, "");
	ck_assert_uint_eq(next_replies(&p), 1);
	ask_for_names(&p, 10, "");
	ck_assert_uint_eq(next_replies(&p), 8);
	ck_assert_uint_eq(next_replies(&p), 2);
	messages_down(&p);
}

TEST(what_ends_a_connection_goes_out_behind_what_was_answered)
{
	struct page p;

	messages_up(&p);
	ask_for_names(&p, 2, "\xff\xff\xff\xff....");
	ck_assert_uint_eq(next_replies(&p), 3);
	ck_assert_uint_eq(next_replies(&p), 0);
	messages_down(&p);
}
