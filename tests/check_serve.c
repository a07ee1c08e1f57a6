/*
 * What a node answers to its pages: READ and SNAP of wide streams, and what
 * it does with pages that misbehave.
 */
#include "node_harness.h"

/* --- READ and SNAP of wide streams -------------------------------------- */

/* A page of a node with one wide stream, greeted; the request has its epoch. */
static struct keeper *
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

static uint64_t
lost_in(const struct wire_data *d)
{
	uint64_t sum = 0;

	for (unsigned cause = 0; cause < 8; cause++)
		sum += d->lost[cause].count;
	return sum;
}

static uint64_t
addr_in(const struct wire_data *d, size_t i)
{
	struct rec rec;

	stream_wide_decode(d->records.p + 32 * i, 1, &rec);
	return rec_addr(&rec);
}

static uint64_t
seq_in(const struct wire_data *d, size_t i)
{
	const uint8_t *o;

	if (d->offsets.len == 0)
		return d->first + i;
	o = d->offsets.p + 4 * i;
	return d->first + (o[0] | o[1] << 8 | o[2] << 16 |
	    (uint32_t)o[3] << 24);
}

START_TEST(pairs_within_one_reply_are_left_out_and_counted)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);

	take(k, allocation(0x1000, 1));
	take(k, allocation(0x2000, 2));
	take(k, freeing(0x1000));
	take(k, allocation(0x1000, 3));
	take(k, freeing(0x9000));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 3);
	ck_assert_uint_eq(r.data.cancelled, 2);
	ck_assert_uint_eq(r.data.next, 6);
	ck_assert_uint_eq(addr_in(&r.data, 0), 0x2000);
	ck_assert_uint_eq(addr_in(&r.data, 1), 0x1000);
	ck_assert_uint_eq(addr_in(&r.data, 2), 0x9000);
	ck_assert_uint_eq(seq_in(&r.data, 0), 2);
	ck_assert_uint_eq(seq_in(&r.data, 1), 4);
	ck_assert_uint_eq(seq_in(&r.data, 2), 5);
	wire_msg_fini(&r);
	m.read.whole = true;
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 5);
	ck_assert_uint_eq(r.data.cancelled, 0);
	ck_assert_uint_eq(r.data.offsets.len, 0);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(what_an_undo_needs_is_not_left_out)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);

	take(k, allocation(0x1000, 1));
	take(k, record(REC_FREE, 0x1000, TYPE_BY_REALLOC, 0));
	take(k, record(REC_UNDO, 0x1000, 0, 0));
	take(k, freeing(0x1000));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 4);
	ck_assert_uint_eq(r.data.cancelled, 0);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(an_older_free_does_not_cancel_a_newer_allocation)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	struct rec late = freeing(0x1000);

	take(k, allocation(0x1000, 1));
	take(k, late);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 2);
	ck_assert_uint_eq(r.data.cancelled, 0);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

/* Every record of a pseudo-random stream is accounted for, whatever is lost. */
START_TEST(next_less_from_is_count_and_cancelled_and_lost)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	uint64_t x = 88172645463325252u, seen = 0, lost = 0;

	for (int i = 0; i < 300000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		if (x % 1000 == 0) {
			keeper_lose(k, STREAM_RING_FULL, 1 + x % 77);
			lost += 1 + x % 77;
		}
		take(k, x % 2 ? allocation(x % 512 * 16 + 16, i) :
		    freeing(x % 512 * 16 + 16));
	}
	while (m.read.from < keeper_next(k)) {
		m.read.max = 1 + (uint32_t)(m.read.from % 1024);
		page_ask(&p, &m, &r);
		ck_assert_uint_eq(r.type, WIRE_DATA);
		ck_assert_uint_eq(r.data.first, m.read.from);
		ck_assert_uint_le(r.data.count, m.read.max);
		ck_assert_uint_gt(r.data.next, m.read.from);
		ck_assert_uint_eq(r.data.next - m.read.from,
		    r.data.count + r.data.cancelled + lost_in(&r.data));
		for (size_t i = 0; i < r.data.count; i++)
			ck_assert_uint_lt(seq_in(&r.data, i), r.data.next);
		seen += r.data.count + r.data.cancelled;
		m.read.from = r.data.next;
		wire_msg_fini(&r);
	}
	ck_assert_uint_eq(seen, STREAM_QUEUE_RECORDS);
	ck_assert_uint_eq(keeper_lost(k), lost);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(a_gap_that_no_offset_can_say_makes_a_reply_of_its_own)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	uint64_t gap = UINT64_C(1) << 33;

	keeper_lose(k, STREAM_RING_FULL, gap);
	take(k, allocation(0x1000, 1));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 0);
	ck_assert_uint_eq(r.data.next, 1 + gap);
	ck_assert_uint_eq(r.data.lost[STREAM_RING_FULL].count, gap);
	m.read.from = r.data.next;
	wire_msg_fini(&r);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 1);
	ck_assert_uint_eq(lost_in(&r.data), 0);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(a_cursor_beyond_the_end_reads_nothing)
{
	struct wire_msg r, m = { .type = WIRE_READ,
		.read = { .from = UINT64_C(1) << 40 } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);

	take(k, allocation(0x1000, 1));
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.data.count, 0);
	ck_assert_uint_eq(r.data.next, 2);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(parts_of_a_snapshot_make_the_whole_list)
{
	struct wire_msg r, m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	uint64_t before = 0;
	size_t n = 0;

	for (int i = 3000; i > 0; i--)
		take(k, allocation((uint64_t)i * 64, (uint64_t)i));
	for (;;) {
		page_ask(&p, &m, &r);
		ck_assert_uint_eq(r.type, WIRE_PART);
		ck_assert_uint_eq(r.part.total, 3000);
		ck_assert_uint_eq(r.part.as_of, 3000);
		for (size_t i = 0; i < r.part.count; i++) {
			const uint8_t *at = r.part.blocks.p +
			    i * (32 + WIRE_BLOCK_TAIL);
			struct rec rec;

			stream_wide_decode(at, 1, &rec);
			ck_assert_uint_gt(rec_addr(&rec), before);
			before = rec_addr(&rec);
			/* The tail: sequence number, little-endian. */
			ck_assert_uint_eq(at[32] | at[33] << 8,
			    3001 - before / 64);
		}
		n += r.part.count;
		m.snap.snapshot = r.part.snapshot;
		m.snap.from_start = false;
		m.snap.after = r.part.next;
		m.snap.after_layer = r.part.next_layer;
		if (r.part.last)
			break;
		wire_msg_fini(&r);
	}
	ck_assert_uint_eq(n, 3000);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(more_requesters_than_fit_end_the_reply_before_them)
{
	struct wire_msg r, m = { .type = WIRE_READ, .read = { .from = 1 } };
	struct blklist_batch_info info = { .at = 0,
		.info = { .name = "MEMB" } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	size_t n = 0;

	for (uint64_t i = 1; i <= 300; i++) {
		struct rec rec = allocation(i * 16, i);

		keeper_take(k, &rec, 1, 1000, NULL, &info, 1);
	}
	while (m.read.from <= 300) {
		page_ask(&p, &m, &r);
		ck_assert_uint_eq(r.data.count, r.data.ninfo);
		ck_assert_uint_le(r.data.ninfo, WIRE_INFO_MAX);
		ck_assert_uint_gt(r.data.count, 0);
		ck_assert_mem_eq(r.data.info[0].name.s, "MEMB", 4);
		n += r.data.count;
		m.read.from = r.data.next;
		wire_msg_fini(&r);
	}
	ck_assert_uint_eq(n, 300);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(a_lossy_stream_is_known_from_its_snapshot)
{
	struct wire_msg r, m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);

	keeper_lose(k, STREAM_RING_FULL, 3);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.part.since, WIRE_SINCE_UNKNOWN);
	ck_assert_uint_eq(r.part.as_of, 3);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(so_is_one_whose_list_was_full)
{
	struct wire_msg r, m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct page p;
	struct keeper *k = wide_up(&p, &m);
	int64_t ms = 1;

	for (uint64_t i = 0; i <= 4096; i++) {
		struct rec rec = { .w = {
			rec_w0(0x100000 + i * 64, REC_FLAGS(REC_ALLOC, 1),
			    TYPE_MALLOC),
			rec_w1(8, 1),
		} };

		if (i == 4096)
			ck_assert(keeper_complete(k));
		keeper_take(k, &rec, 1, ms, &ms, NULL, 0);
	}
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.part.since, WIRE_SINCE_UNKNOWN);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

/* --- connections -------------------------------------------------------- */

START_TEST(a_request_before_the_hello_ends_the_connection)
{
	struct wire_msg r, m = { .type = WIRE_STAT };
	struct page p;

	node_up(NULL);
	page_open(&p);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_FRAME);
	wire_msg_fini(&r);
	ck_assert(!page_receive(&p, &r));
	ck_assert_uint_eq(node.serve.count, 0);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(an_unknown_version_is_refused_by_name)
{
	struct wire_msg r, m = { .type = WIRE_HELLO,
		.hello = { .min = 2, .max = 3, .client = wire_text("x") } };
	struct page p;

	node_up(NULL);
	page_open(&p);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_VERSION);
	wire_msg_fini(&r);
	ck_assert(!page_receive(&p, &r));
	page_close(&p);
	node_down();
}
END_TEST

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

START_TEST(garbage_is_answered_once_and_ends_the_connection)
{
	struct wire_msg r;
	struct page p;

	node_up(NULL);
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	page_send_raw(&p, garbage[_i].bytes, garbage[_i].len);
	ck_assert(page_receive(&p, &r));
	expect_error(&r, garbage[_i].code);
	wire_msg_fini(&r);
	ck_assert(!page_receive(&p, &r));
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(the_65th_page_is_told_to_come_later)
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
	wire_msg_fini(&r);
	ck_assert(!page_receive(&p[SERVE_CONNS], &r));
	/* When one goes there is room again. */
	page_close(&p[0]);
	while (node.serve.count == SERVE_CONNS)
		uv_run(&loop, UV_RUN_NOWAIT);
	page_close(&p[SERVE_CONNS]);
	page_open(&p[0]);
	page_greet(&p[0], WIRE_ROLE_READ);
	for (size_t i = 0; i < SERVE_CONNS; i++)
		page_close(&p[i]);
	node_down();
}
END_TEST

START_TEST(a_page_that_reads_nothing_is_not_written_to_for_ever)
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
		c = TAILQ_FIRST(&node.serve.conns);
		ck_assert_ptr_nonnull(c);
		ck_assert_uint_le(uv_stream_get_write_queue_size(
		    (uv_stream_t *)&c->pipe), SERVE_QUEUE_MAX);
	}
	ck_assert(c->paused);
	page_close(&p);
	node_down();
}
END_TEST

static size_t
waiting(void)
{
	struct conn *c = TAILQ_FIRST(&node.serve.conns);

	return uv_stream_get_write_queue_size((uv_stream_t *)&c->pipe);
}

/* Asks for more than the socket and the queue hold, and reads nothing. */
static struct conn *
turn_away(struct page *p, struct wire_msg *m)
{
	struct conn *c = TAILQ_FIRST(&node.serve.conns);
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

START_TEST(a_page_that_takes_no_replies_loses_its_place)
{
	struct wire_msg m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	uint8_t bytes[4096];
	struct page p;

	large_up(&p, &m);
	turn_away(&p, &m);
	seconds(SERVE_UNREAD_S);
	ck_assert_uint_eq(node.serve.count, 1);
	/* One that takes some of them, however late, is there. */
	while (read(p.fd, bytes, sizeof bytes) > 0 && waiting() > 0)
		uv_run(&loop, UV_RUN_NOWAIT);
	turn_away(&p, &m);
	seconds(SERVE_UNREAD_S);
	ck_assert_uint_eq(node.serve.count, 1);
	seconds(3);
	ck_assert_uint_eq(node.serve.count, 0);
	page_close(&p);
	node_down();
}
END_TEST

/* It cannot come again, and a command's page may be stopped for long. */
START_TEST(the_page_that_a_node_was_started_for_keeps_its_place)
{
	struct wire_msg m = { .type = WIRE_SNAP,
		.snap = { .from_start = true } };
	struct page p;

	large_up(&p, &m);
	turn_away(&p, &m)->given = true;
	seconds(3 * SERVE_UNREAD_S);
	ck_assert_uint_eq(node.serve.count, 1);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(a_page_that_reads_late_gets_every_reply)
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
		wire_msg_fini(&r);
	}
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(a_page_without_the_role_cannot_end_a_target)
{
	struct wire_msg r, m = { .type = WIRE_END };
	struct wire_msg dummy = { .type = WIRE_READ };
	struct page p;

	wide_up(&p, &dummy);
	memcpy(m.end.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_AUTH);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

START_TEST(a_generator_can_be_ended)
{
	struct wire_msg r, m = { .type = WIRE_END }, stat = {
		.type = WIRE_STAT };
	struct page p;

	demo_up(&p, "note", "39s", NULL);
	memcpy(m.end.epoch, node.dstrm.row[0].epoch, WIRE_EPOCH);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_ENDED);
	wire_msg_fini(&r);
	page_ask(&p, &stat, &r);
	ck_assert_uint_eq(r.stats.state, WIRE_S_ENDED);
	ck_assert_uint_eq(r.stats.n[WIRE_N_LIVE_BLOCKS], 6);
	wire_msg_fini(&r);
	page_close(&p);
	node_down();
}
END_TEST

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
START_TEST(replies_to_the_requests_of_a_turn_are_one_write)
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
END_TEST

START_TEST(what_ends_a_connection_goes_out_behind_what_was_answered)
{
	struct page p;

	messages_up(&p);
	ask_for_names(&p, 2, "\xff\xff\xff\xff....");
	ck_assert_uint_eq(next_replies(&p), 3);
	ck_assert_uint_eq(next_replies(&p), 0);
	messages_down(&p);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("serve");
	TCase *t = tcase_create("READ and SNAP");

	tcase_add_test(t, pairs_within_one_reply_are_left_out_and_counted);
	tcase_add_test(t, what_an_undo_needs_is_not_left_out);
	tcase_add_test(t, an_older_free_does_not_cancel_a_newer_allocation);
	tcase_add_test(t, next_less_from_is_count_and_cancelled_and_lost);
	tcase_add_test(t,
	    a_gap_that_no_offset_can_say_makes_a_reply_of_its_own);
	tcase_add_test(t, a_cursor_beyond_the_end_reads_nothing);
	tcase_add_test(t, parts_of_a_snapshot_make_the_whole_list);
	tcase_add_test(t, more_requesters_than_fit_end_the_reply_before_them);
	tcase_add_test(t, a_lossy_stream_is_known_from_its_snapshot);
	tcase_add_test(t, so_is_one_whose_list_was_full);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	t = tcase_create("connections");
	tcase_add_test(t, a_request_before_the_hello_ends_the_connection);
	tcase_add_test(t, an_unknown_version_is_refused_by_name);
	tcase_add_loop_test(t, garbage_is_answered_once_and_ends_the_connection,
	    0, BASE_NELEM(garbage));
	tcase_add_test(t, the_65th_page_is_told_to_come_later);
	tcase_add_test(t, a_page_that_reads_nothing_is_not_written_to_for_ever);
	tcase_add_test(t, a_page_that_takes_no_replies_loses_its_place);
	tcase_add_test(t,
	    the_page_that_a_node_was_started_for_keeps_its_place);
	tcase_add_test(t, a_page_that_reads_late_gets_every_reply);
	tcase_add_test(t, a_page_without_the_role_cannot_end_a_target);
	tcase_add_test(t, a_generator_can_be_ended);
	tcase_add_test(t, replies_to_the_requests_of_a_turn_are_one_write);
	tcase_add_test(t,
	    what_ends_a_connection_goes_out_behind_what_was_answered);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(suite)
