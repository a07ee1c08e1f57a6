/*
 * What a session says before there is a stream, which one it takes, and which
 * targets there are.
 */
#include "session_life.h"

/* --- before there is a stream ------------------------------------------- */

/* A classic stream: records as they stood on the wire of 2004, one of them bad. */
static const uint8_t classic_records[][REC_CLASSIC_SIZE] = {
	{ 0x00, 0x8e, 0x65, 0x88, 0x00, 0x40, 0xa0, TYPE_AHDRMSG,
	    0x04, 0x07, 0x13, 0x13, 0x30, 0x39, 0x00, 0x00 },
	{ 0x00, 0x8e, 0x66, 0x28, 0x00, 0x30, 0xb0, TYPE_LOCREQ,
	    0x04, 0x07, 0x13, 0x13, 0x30, 0x00, 0x00, 0x00 },
	{ 0x00, 0x8e, 0x66, 0xb8, 0x00, 0x48, 0xa3, TYPE_ACREQ,
	    0x04, 0x07, 0x13, 0x13, 0x30, 0x26, 0x14, 0x66 },
};

static void
answer_classic(struct peer *p, const struct wire_msg *q)
{
	struct wire_msg msg = { .id = q->id };

	if (q->type == WIRE_NAME) {
		msg.type = WIRE_NAMED;
		msg.named = (struct wire_named){ .format = WIRE_CLASSIC,
		    .record_size = REC_CLASSIC_SIZE, .oldest = 1, .next = 1,
		    .address_bits = 32, .state = WIRE_S_LIVE,
		    .name = wire_text("ALLOCLOG"), .entries = 1 };
	} else if (q->type == WIRE_SNAP) {
		msg.type = WIRE_PART;
		msg.part = (struct wire_part){ .snapshot = 1, .last = true,
		    .since = WIRE_SINCE_START };
	} else {
		msg.type = WIRE_DATA;
		msg.data = (struct wire_data){ .first = q->read.from,
		    .next = q->read.from, .state = WIRE_S_LIVE,
		    .now_ms = INT64_C(1089725440000) };
		if (q->read.from == 1) {
			msg.data.count = 3;
			msg.data.next = 4;
			msg.data.records = (struct wire_bytes){
			    classic_records[0], sizeof classic_records };
			msg.data.info[0] = (struct wire_info){ .at = 2,
			    .node = 0xab86 };
			msg.data.ninfo = 1;
		}
	}
	peer_send(p, &msg);
}

CASE("beginnings");

TEST(bad_classic_records_are_counted_and_the_others_kept)
{
	struct nodes_session_opts opts = { .stream = "ALLOCLOG" };
	const struct nodes_look *look;
	struct nodes_session *s;
	struct blk rows[4];
	struct wire_msg q;
	struct peer p;
	unsigned i;

	peer_open(&p);
	s = open_session(&p, &opts);
	for (i = 0; i < 3; i++) {
		peer_turn(&p);
		while (p.n > 0) {
			if (p.asked[0].type == WIRE_NAME ||
			    p.asked[0].type == WIRE_SNAP ||
			    p.asked[0].type == WIRE_READ) {
				q = peer_take(&p, 0);
				answer_classic(&p, &q);
			} else {
				peer_answer(&p, 0);
			}
			peer_turn(&p);
		}
		nodes_session_cycle(s);
	}
	look = nodes_session_look(s);
	ck_assert(look->classic && look->settled);
	ck_assert_uint_eq(look->loss.bad_records, 1);
	ck_assert_uint_eq(look->work.total_records, 3);
	ck_assert_uint_eq(blklist_window(look->list, BLKLIST_BY_AGE, false, 0,
	    rows, 4), 2);
	ck_assert_uint_eq(rows[0].addr, 0x8e6588);
	ck_assert_uint_eq(rows[1].addr, 0x8e66b8);
	ck_assert_uint_eq(rows[1].seq, 3);
	/* 13:30:26, the last cycle of the second and its last millisecond. */
	ck_assert_int_eq(rows[1].ms, INT64_C(1089725426000) + 14 * 1000 / 15 +
	    66);
	ck_assert_uint_eq(blklist_info_get(look->list, rows[1].info)->node,
	    0xab86);
	nodes_session_close(s);
	peer_close(&p);
}

static void
refuse_hello(enum wire_error code, enum nodes_state want)
{
	struct nodes_session *s;
	struct wire_msg q;
	struct peer p;

	peer_open(&p);
	s = open_session(&p, &plain);
	peer_turn(&p);
	q = peer_take(&p, (size_t)peer_find(&p, WIRE_HELLO));
	peer_error(&p, q.id, code);
	peer_turn(&p);
	peer_hang_up(&p);
	peer_turn(&p);
	nodes_session_cycle(s);
	ck_assert_int_eq(nodes_session_look(s)->state, want);
	ck_assert_str_ne(nodes_session_look(s)->reason, "");
	nodes_session_close(s);
	peer_close(&p);
}

TEST(no_common_version_is_said)
{
	refuse_hello(WIRE_E_VERSION, NODES_VERSION);
}

TEST(refusal_is_said)
{
	refuse_hello(WIRE_E_AUTH, NODES_DENIED);
}

/* The wide records of an earlier node had overheads in units of 16 bytes. */
static const struct { unsigned format, size; } unknown[] = {
	{ 2, REC_WIDE_SIZE }, { 4, REC_WIDE_SIZE }, { WIRE_WIDE, 16 },
};

LOOP_TEST(records_of_another_format_are_not_read, 0, BASE_NELEM(unknown))
{
	struct nodes_session_opts opts = { .stream = "ALLOCLOG" };
	struct nodes_session *s;
	struct wire_msg q, msg;
	struct peer p;

	peer_open(&p);
	s = open_session(&p, &opts);
	peer_turn(&p);
	while (peer_find(&p, WIRE_NAME) < 0) {
		peer_answer(&p, 0);
		peer_turn(&p);
	}
	q = peer_take(&p, (size_t)peer_find(&p, WIRE_NAME));
	msg = (struct wire_msg){ .type = WIRE_NAMED, .id = q.id,
		.named = { .format = unknown[_i].format,
		    .record_size = unknown[_i].size, .oldest = 1, .next = 1,
		    .address_bits = 48, .state = WIRE_S_LIVE,
		    .name = wire_text("ALLOCLOG"), .entries = 1 } };
	peer_send(&p, &msg);
	peer_turn(&p);
	ck_assert_int_eq(nodes_session_look(s)->state, NODES_VERSION);
	ck_assert_ptr_nonnull(strstr(nodes_session_look(s)->reason,
	    "not known to this page"));
	nodes_session_close(s);
	peer_close(&p);
}

TEST(a_run_without_a_process_yet_is_connecting)
{
	struct nodes_session *s;
	struct model m;
	struct peer p;

	peer_open(&p);
	model_init(&m, "ALLOCLOG.model.42", 42);
	m.gone = true;
	p.root_pid = 42;
	p.model[p.models++] = &m;
	s = open_session(&p, &plain);
	peer_serve(&p);
	ck_assert_int_eq(nodes_session_look(s)->state, NODES_CONNECTING);
	m.gone = false;
	model_alloc(&m, 0x1000, 10);
	peer_cycles(&p, s, 3);
	ck_assert_int_eq(nodes_session_look(s)->state, NODES_LIVE);
	assert_same(s, &m, "run", 0);
	nodes_session_close(s);
	peer_close(&p);
	model_fini(&m);
}

TEST(choice_goes_with_a_young_tree_and_then_stays)
{
	struct nodes_session *s;
	struct model m[3];
	struct peer p;
	int i;

	peer_open(&p);
	p.root_pid = 42;
	for (i = 0; i < 3; i++) {
		model_init(&m[i], i == 0 ? "ALLOCLOG.sh.42" : i == 1 ?
		    "ALLOCLOG.server.43" : "ALLOCLOG.late.44", 42 + i);
		m[i].gone = i > 0;
		m[i].live_bytes = 1000 * (uint64_t)(i + 1);
		p.model[p.models++] = &m[i];
	}
	s = open_session(&p, &plain);
	peer_serve(&p);
	peer_cycles(&p, s, 2);
	ck_assert_int_eq(nodes_session_look(s)->target.pid, 42);
	m[1].gone = false;
	model_alloc(&m[1], 0x1000, 10);
	/* Seen once only: it might be gone in a moment. */
	peer_cycles(&p, s, 3);
	ck_assert_int_eq(nodes_session_look(s)->target.pid, 42);
	peer_cycles(&p, s, 3);
	ck_assert_int_eq(nodes_session_look(s)->target.pid, 43);
	assert_same(s, &m[1], "chosen again", 0);
	peer_cycles(&p, s, 30);
	m[2].gone = false;
	peer_cycles(&p, s, 40);
	ck_assert_int_eq(nodes_session_look(s)->target.pid, 43);
	nodes_session_close(s);
	peer_close(&p);
	for (i = 0; i < 3; i++)
		model_fini(&m[i]);
}

struct enquiry_seen {
	int calls, err;
	size_t n;
	pid_t first;
};

static void
on_targets(void *arg, int err, const struct nodes_target *t, size_t n)
{
	struct enquiry_seen *seen = arg;

	seen->calls++;
	seen->err = err;
	seen->n = n;
	seen->first = n > 0 ? t[0].pid : 0;
}

CASE("targets", .setup = setup, .teardown = teardown);

TEST(targets_are_told_once_and_in_order)
{
	struct enquiry_seen seen = { 0 };

	second.gone = false;
	ck_assert_int_eq(nodes_targets(peer.link, on_targets, &seen), 0);
	peer_serve(&peer);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_int_eq(seen.err, 0);
	ck_assert_uint_eq(seen.n, 2);
	ck_assert_int_eq(seen.first, 42);
}

TEST(targets_of_a_lost_link_are_an_error)
{
	struct enquiry_seen seen = { 0 };

	ck_assert_int_eq(nodes_targets(peer.link, on_targets, &seen), 0);
	peer_turn(&peer);
	peer_hang_up(&peer);
	uv_run(&peer.loop, UV_RUN_NOWAIT);
	ck_assert_int_eq(seen.calls, 1);
	ck_assert_int_lt(seen.err, 0);
	ck_assert_int_lt(nodes_targets(peer.link, on_targets, &seen), 0);
}

CASE("beginnings");

TEST(no_callback_comes_after_close)
{
	struct enquiry_seen seen = { 0 };
	struct model m;
	struct peer p;

	peer_open(&p);
	model_init(&m, "ALLOCLOG", 1);
	p.model[p.models++] = &m;
	ck_assert_int_eq(nodes_targets(p.link, on_targets, &seen), 0);
	peer_turn(&p);
	peer_close(&p);
	ck_assert_int_eq(seen.calls, 0);
	model_fini(&m);
}
