/*
 * The node that watches itself: what each request of a page leaves in the
 * node's own ALLOCLOG, and when that is freed.
 */
#include "self_watch_rig.h"

/* --- requests ------------------------------------------------------------ */

CASE("requests");

LOOP_TEST(a_local_page_is_one_LOCREQ_as_long_as_it_asks, 0, 2)
{
	struct keeper *k;
	struct blk b[4];
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, _i == 0 ? 0 : HERE);
	expect_empty();
	for (int i = 0; i < 20; i++)
		ask_data(&p, k);
	ck_assert_uint_eq(listed(b, 4), 1);
	expect_locreq(&b[0]);
	ck_assert_uint_eq(b[0].flags & REC_LEVEL_MASK, 1);
	expect_numbers(1, 0);
	gone(&p);
	expect_empty();
	ck_assert_uint_eq(keeper_next(own) - 1, 2);
	node_down();
}

TEST(a_page_of_another_node_is_three_blocks_of_one_age)
{
	struct keeper *k;
	struct blk b[4];
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, THERE);
	for (int i = 0; i < 20; i++)
		ask_data(&p, k);
	ck_assert_uint_eq(listed(b, 4), 3);
	expect_acreq(b, THERE);
	expect_numbers(1, 0);
	gone(&p);
	expect_empty();
	node_down();
}

TEST(the_requester_has_its_friendly_number)
{
	struct keeper *k;
	struct blk b[4];
	struct page p;

	table_up("0590 linac-a local\n0509 linac-b unix:/x acnet=11.134\n");
	own_up();
	ck_assert_int_eq(friendly_load(&node.friendly, !node.opts.system, NULL,
	    NULL), 0);
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, THERE);
	ask_data(&p, k);
	ck_assert_uint_eq(listed(b, 4), 3);
	expect_acreq(b, 0xab86);
	gone(&p);
	node_down();
	table_down();
}

LOOP_TEST(a_page_of_another_machine_is_remote_whatever_its_number, 0, 3)
{
	static const struct {
		uint16_t says;
		unsigned shown;
	} of[] = { { 0, 0 }, { HERE, HERE }, { THERE, THERE } };
	struct wire_msg m = { .type = WIRE_LIMIT, .limit = {
		.roles = ACCESS_ROLES, .away = true } };
	struct wire_msg h = { .type = WIRE_HELLO, .hello = { .min = 1,
		.max = 1, .client = wire_text("check"),
		.roles = WIRE_ROLE_READ, .node = of[_i].says } };
	struct wire_msg r;
	struct blk b[4];
	struct page p;

	own_up();
	page_open(&p);
	page_send(&p, &m);
	page_ask(&p, &h, &r);
	ask_data(&p, own);
	ck_assert_uint_eq(listed(b, 4), 3);
	expect_acreq(b, of[_i].shown);
	gone(&p);
	expect_empty();
	node_down();
}

static void
ask_anything(struct page *p, const struct keeper *k, uint32_t type)
{
	const uint8_t *epoch = node.dstrm.row[k->index].epoch;
	struct wire_msg m = { .type = type }, r;

	switch (type) {
	case WIRE_NAME:
		m.name.table = wire_text("DSTRM");
		m.name.index = k->index;
		break;
	case WIRE_STAT:
		m.stat.index = k->index;
		break;
	case WIRE_TYPES:
		m.types.index = k->index;
		break;
	case WIRE_SNAP:
		m.snap.index = k->index;
		m.snap.from_start = true;
		memcpy(m.snap.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_WINDOW:
		m.window.index = k->index;
		m.window.max = 10;
		memcpy(m.window.epoch, epoch, WIRE_EPOCH);
		break;
	case WIRE_READ:
		m.read.index = k->index;
		memcpy(m.read.epoch, epoch, WIRE_EPOCH);
		break;
	}
	page_ask(p, &m, &r);
	ck_assert_uint_ne(r.type, WIRE_ERR);
}

TEST(only_data_of_a_stream_makes_a_request)
{
	static const struct {
		uint32_t type;
		bool data;
	} asked[] = { { WIRE_NAME, false }, { WIRE_STAT, false },
		{ WIRE_TYPES, false }, { WIRE_READ, true },
		{ WIRE_SNAP, true }, { WIRE_WINDOW, true } };
	struct keeper *k;
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, 0);
	for (size_t i = 0; i < BASE_NELEM(asked); i++) {
		ask_anything(&p, k, asked[i].type);
		expect_numbers(i >= 3, 0);
		ck_assert_uint_eq(keeper_next(own) - 1, i >= 3);
	}
	gone(&p);
	for (size_t i = 0; i < BASE_NELEM(asked); i++) {
		page_from(&p, 0);
		ask_anything(&p, k, asked[i].type);
		expect_numbers(asked[i].data, 0);
		gone(&p);
		expect_empty();
	}
	node_down();
}

TEST(what_is_refused_makes_no_request)
{
	struct wire_msg m = { .type = WIRE_READ }, r;
	struct keeper *k;
	struct page p;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, 0);
	m.read.index = k->index;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_EPOCH);
	m.read.index = 77;
	page_ask(&p, &m, &r);
	expect_error(&r, WIRE_E_NAME);
	expect_empty();
	ck_assert_uint_eq(keeper_next(own), 1);
	gone(&p);
	node_down();
}

TEST(another_stream_ends_the_request_and_begins_one)
{
	struct keeper *a, *b;
	struct rec rec[4];
	uint64_t seq[4];
	struct stream_range range;
	struct blk blk[2];
	struct page p;

	own_up();
	a = new_keeper("ALLOCLOG.target.1", 0);
	b = new_keeper("ALLOCLOG.target.2", 0);
	page_from(&p, 0);
	ask_data(&p, a);
	ask_data(&p, b);
	ask_data(&p, b);
	expect_numbers(1, 0);
	ck_assert_uint_eq(listed(blk, 2), 1);
	ck_assert_uint_eq(blk[0].seq, 3);
	ck_assert_uint_eq(stream_queue_read(own->queue.records, 1, rec, seq, 4,
	    &range), 3);
	ck_assert_uint_eq(rec_op(&rec[0]), REC_ALLOC);
	ck_assert_uint_eq(rec_op(&rec[1]), REC_FREE);
	ck_assert_uint_eq(rec_addr(&rec[1]), rec_addr(&rec[0]));
	ck_assert_uint_eq(rec_op(&rec[2]), REC_ALLOC);
	gone(&p);
	expect_empty();
	node_down();
}

TEST(the_click_sees_its_own_request_as_the_oldest_block)
{
	struct wire_msg r;
	struct keeper *k;
	struct page p, before;
	struct rec rec;
	int64_t ms;
	uint64_t next;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&before, 0);
	ask_data(&before, k);
	page_from(&p, 0);
	page_name(&p, "DSTRM", DAEMON_OWN_STREAM, &r);
	ck_assert_uint_eq(r.type, WIRE_NAMED);
	ck_assert_uint_eq(r.named.levels, 1);
	ck_assert_uint_eq(r.named.format, WIRE_CLASSIC);
	next = r.named.next;
	read_stream(&p, own, next, &r);
	ck_assert_uint_eq(r.data.first, next);
	ck_assert_uint_eq(r.data.count, 1);
	ck_assert_int_eq(stream_classic_decode(r.data.records.p, &rec, &ms),
	    0);
	ck_assert_uint_eq(rec_type(&rec), TYPE_LOCREQ);
	ck_assert_int_ge(r.data.now_ms, ms);
	gone(&p);
	gone(&before);
	expect_empty();
	node_down();
}

TEST(a_first_snapshot_has_the_block_of_its_own_request)
{
	struct wire_msg m = { .type = WIRE_SNAP, .snap = {
		.from_start = true } }, r;
	struct rec rec;
	struct page p;
	int64_t ms;

	own_up();
	page_from(&p, THERE);
	m.snap.index = own->index;
	memcpy(m.snap.epoch, node.dstrm.row[own->index].epoch, WIRE_EPOCH);
	page_ask(&p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_PART);
	ck_assert_uint_eq(r.part.count, 3);
	ck_assert_uint_eq(r.part.ninfo, 1);
	ck_assert_uint_eq(r.part.info[0].node, THERE);
	ck_assert_uint_eq(r.part.as_of, 3);
	ck_assert_int_eq(stream_classic_decode(r.part.blocks.p +
	    r.part.info[0].at * (REC_CLASSIC_SIZE + WIRE_BLOCK_TAIL), &rec,
	    &ms), 0);
	ck_assert_uint_eq(rec_type(&rec), TYPE_ACREQ);
	gone(&p);
	node_down();
}

TEST(many_pages_are_told_apart_and_leave_nothing_behind)
{
	struct page p[20];
	struct blk b[64];
	struct keeper *k;
	unsigned seen[20] = { 0 };

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	for (unsigned i = 0; i < 20; i++) {
		page_from(&p[i], (uint16_t)(0x0600 + i));
		ask_data(&p[i], k);
	}
	ck_assert_uint_eq(listed(b, 64), 60);
	for (unsigned i = 0; i < 60; i += 3) {
		expect_acreq(b + i, 0x0600 + i / 3);
		seen[requester_of(&b[i]) - 0x0600]++;
	}
	expect_numbers(20, 0);
	for (unsigned i = 0; i < 20; i += 2)
		gone(&p[i]);
	ck_assert_uint_eq(listed(b, 64), 30);
	for (unsigned i = 0; i < 30; i += 3)
		expect_acreq(b + i, 0x0600 + 2 * (i / 3) + 1);
	for (unsigned i = 1; i < 20; i += 2)
		gone(&p[i]);
	for (unsigned i = 0; i < 20; i++)
		ck_assert_uint_eq(seen[i], 1);
	expect_empty();
	node_down();
}

/* --- ends ---------------------------------------------------------------- */

CASE("ends");

LOOP_TEST(a_request_lapses_when_nothing_is_asked_and_begins_anew, 0, 2)
{
	struct keeper *k;
	struct blk b[4];
	struct page p;
	int64_t now;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, _i == 0 ? 0 : THERE);
	ask_data(&p, k);
	now = mono_ms(mono_now());
	self_watch_second(&node, now + SELF_LAPSE_MS - 10000);
	expect_numbers(1, 0);
	self_watch_second(&node, now + SELF_LAPSE_MS + 1);
	expect_numbers(0, 1);
	expect_empty();
	self_watch_second(&node, now + 3 * SELF_LAPSE_MS);
	expect_numbers(0, 1);
	/* Questions of other kinds do not bring it back. */
	ask_anything(&p, k, WIRE_STAT);
	expect_empty();
	ask_data(&p, k);
	expect_numbers(1, 1);
	ck_assert_uint_eq(listed(b, 4), _i == 0 ? 1 : 3);
	gone(&p);
	expect_empty();
	node_down();
}

TEST(each_question_puts_the_lapse_off)
{
	struct keeper *k;
	struct page p;
	int64_t now;

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	page_from(&p, THERE);
	ask_data(&p, k);
	now = mono_ms(mono_now());
	while (mono_ms(mono_now()) == now)
		;
	ask_data(&p, k);
	self_watch_second(&node, now + SELF_LAPSE_MS);
	expect_numbers(1, 0);
	gone(&p);
	node_down();
}

TEST(pages_that_the_node_closes_leave_nothing_behind)
{
	struct keeper *k;
	struct page p[3];

	own_up();
	k = new_keeper("ALLOCLOG.target.1", 0);
	for (int i = 0; i < 3; i++) {
		page_from(&p[i], (uint16_t)(i == 0 ? 0 : THERE));
		ask_data(&p[i], k);
	}
	ck_assert_uint_eq(allocp_counts(node.self_watch->memory)->allocs, 7);
	while (!TAILQ_EMPTY(&node.serve->conns))
		conn_close(TAILQ_FIRST(&node.serve->conns));
	ck_assert_uint_eq(allocp_counts(node.self_watch->memory)->frees, 7);
	expect_empty();
	/* Without a page it would stop. */
	uv_run(&loop, UV_RUN_NOWAIT);
	for (int i = 0; i < 3; i++)
		page_close(&p[i]);
	node_down();
}
