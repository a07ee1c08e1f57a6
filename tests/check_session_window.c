/*
 * The session's window mode against a scripted node.
 */
#define MODEL_RECORDS 80000

#include <stdio.h>

#include "../src/base/base.h"
#include "session_one.h"

#define MANY 65536	/* as nodes/session/window.c has it */

#define BLOCKS 500
#define VIEW_ROWS 20

static const struct nodes_view by_age = {
	.order = BLKLIST_BY_AGE, .offset = 100, .rows = VIEW_ROWS,
};

static void
setup(void)
{
	one_up();
	for (unsigned i = 0; i < BLOCKS; i++)
		model_alloc(&model, 0x100000 + 16 * ((i * 193) % BLOCKS),
		    10 + i);
	one_open(&plain, 1);
	ck_assert(look()->settled);
	nodes_session_view(session, &by_age);
}

/* Records that no reader is spared: what they allocate is not freed in them. */
static void
write_many(unsigned n)
{
	static bool used;

	while (n-- > 0) {
		if (used)
			model_release(&model, 0x900000);
		else
			model_alloc(&model, 0x900000, 1);
		used = !used;
		model.stay++;
	}
}

static void
overwrite(void)
{
	write_many(10);
	model.overwritten = model.n - 2;
}

/* In window mode, and its first rows are in. */
static void
enter(void)
{
	overwrite();
	peer_cycles(&peer, session, 2);
	ck_assert(look()->window);
}

/* What is looked at is what the node has. */
static void
assert_view(const struct nodes_view *v)
{
	struct blk want[64], have[64];
	size_t n = blklist_window(model.list, v->order, v->reverse, v->offset,
	    want, v->rows);

	ck_assert_uint_eq(blklist_window(look()->list, v->order, v->reverse,
	    v->offset, have, v->rows), n);
	for (size_t i = 0; i < n; i++) {
		ck_assert_uint_eq(have[i].addr, want[i].addr);
		ck_assert_uint_eq(have[i].size, want[i].size);
		ck_assert_uint_eq(have[i].seq, want[i].seq);
		ck_assert_int_eq(have[i].ms, want[i].ms);
	}
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive,
	    blklist_counts(model.list)->aRecActive);
	ck_assert_uint_eq(blklist_counts(look()->list)->live_bytes,
	    blklist_counts(model.list)->live_bytes);
	ck_assert_uint_eq(blklist_counts(look()->list)->peak_bytes,
	    blklist_counts(model.list)->peak_bytes);
	ck_assert_uint_eq(blklist_counts(look()->list)->est_peak_bytes,
	    blklist_counts(model.list)->est_peak_bytes);
}

/* Between an allocation and its free lies more than a reply. */
static void
churn(unsigned n)
{
	static const unsigned places = WIRE_READ_MAX + 100;

	for (unsigned i = 0; i < n; i++)
		if (i / places % 2 == 0)
			model_alloc(&model, 0x800000 + 16 * (i % places), i);
		else
			model_release(&model, 0x800000 + 16 * (i % places));
	model.stay += n;
}

CASE("Core", .setup = setup, .teardown = one_down, .seconds = 60);

TEST(it_begins_when_a_cycle_brings_too_many_records)
{
	unsigned snaps = peer.snaps;

	churn(MANY + 2000);
	peer_cycles(&peer, session, 2);
	ck_assert(look()->window);
	ck_assert(look()->settled && look()->listed && !look()->behind);
	assert_view(&by_age);
	ck_assert_uint_eq(peer.snaps, snaps);
	ck_assert_uint_eq(look()->work.total_records, model.n - BLOCKS);
}

LOOP_TEST(as_many_as_can_be_read_are_read, 0, 2)
{
	if (_i == 0)
		churn(MANY);
	else
		/* Those of pairs cost nobody anything. */
		for (unsigned i = 0; i < MANY / 2 + 2000; i++) {
			model_alloc(&model, 0x900000, i);
			model_release(&model, 0x900000);
		}
	peer_cycles(&peer, session, 3);
	ck_assert(!look()->window);
	ck_assert_uint_eq(peer.windows, 0);
	assert_same(session, &model, "read", 0);
}

TEST(it_begins_when_records_were_overwritten)
{
	enter();
	assert_view(&by_age);
	ck_assert(look()->complete);
	/* The node has them, so they are not lost. */
	ck_assert_uint_eq(look()->loss.lost[STREAM_OVERWRITTEN], 0);
	ck_assert_uint_eq(look()->work.total_records, 10);
	/* Each cycle brings what is there then. */
	model_alloc(&model, 0x200000, 77);
	model_release(&model, 0x100000);
	peer_cycles(&peer, session, 1);
	assert_view(&by_age);
	ck_assert_uint_eq(look()->work.cycle_records, 2);
}

TEST(a_snapshot_that_cannot_be_settled_gives_way_to_it)
{
	nodes_session_close(session);
	model.part_max = 100;
	session = open_session(&peer, &plain);
	nodes_session_view(session, &by_age);
	peer_turn(&peer);
	while (peer_find(&peer, WIRE_SNAP) < 0) {
		peer_answer(&peer, 0);
		peer_turn(&peer);
	}
	peer_answer(&peer, (size_t)peer_find(&peer, WIRE_SNAP));
	overwrite();
	peer_serve(&peer);
	ck_assert(!look()->listed);
	peer_cycles(&peer, session, 1);
	ck_assert(look()->window && look()->listed);
	assert_view(&by_age);
}

TEST(who_has_not_said_what_is_looked_at_gets_the_whole_list)
{
	nodes_session_view(session, NULL);
	overwrite();
	peer_cycles(&peer, session, 3);
	ck_assert(!look()->window);
	ck_assert_uint_eq(peer.windows, 0);
	assert_same(session, &model, "whole", 0);
}

TEST(a_node_that_knows_no_windows_is_asked_once)
{
	peer.has_no_window = true;
	overwrite();
	peer_cycles(&peer, session, 4);
	ck_assert(!look()->window);
	ck_assert_uint_eq(peer.windows, 1);
	assert_same(session, &model, "as before", 0);
	overwrite();
	peer_cycles(&peer, session, 4);
	ck_assert_uint_eq(peer.windows, 1);
	assert_same(session, &model, "as before", 1);
}

TEST(rows_that_are_not_held_are_asked_for_at_once)
{
	static const struct nodes_view views[] = {
		{ .order = BLKLIST_BY_AGE, .offset = 400, .rows = VIEW_ROWS },
		{ .order = BLKLIST_BY_AGE, .offset = 0, .rows = VIEW_ROWS },
		{ .order = BLKLIST_BY_AGE, .offset = BLOCKS - VIEW_ROWS,
		    .rows = VIEW_ROWS },
		{ .order = BLKLIST_BY_AGE, .reverse = true, .offset = 0,
		    .rows = VIEW_ROWS },
		{ .order = BLKLIST_BY_ADDRESS, .offset = 30, .rows = 50 },
		{ .order = BLKLIST_BY_ADDRESS, .reverse = true,
		    .offset = 77, .rows = 1 },
	};
	unsigned n;

	enter();
	for (size_t i = 0; i < BASE_NELEM(views); i++) {
		n = peer.windows;
		nodes_session_cycle(session);
		peer_serve(&peer);
		nodes_session_view(session, &views[i]);
		peer_serve(&peer);
		ck_assert_uint_eq(peer.windows, n + 2);
		assert_view(&views[i]);
		/* A line on, and a screen: they are there already. */
		struct nodes_view next = views[i];

		next.offset += next.offset + 2 * next.rows < BLOCKS ?
		    next.rows : 0;
		nodes_session_view(session, &next);
		peer_serve(&peer);
		ck_assert_uint_eq(peer.windows, n + 2);
		assert_view(&next);
	}
}

TEST(a_view_that_moves_all_the_time_is_not_asked_for_without_end)
{
	struct nodes_view v = by_age;
	unsigned n;

	enter();
	nodes_session_cycle(session);
	n = peer.windows;
	for (unsigned i = 0; i < 100; i++) {
		v.offset = i % 2 * 300;
		nodes_session_view(session, &v);
		peer_serve(&peer);
	}
	ck_assert_uint_le(peer.windows - n, 10);
	peer_cycles(&peer, session, 1);
	assert_view(&v);
}

TEST(the_view_goes_with_the_block_that_is_held)
{
	struct nodes_view v = by_age;
	struct blk b, now;

	enter();
	ck_assert_uint_eq(blklist_window(model.list, v.order, false, 107, &b,
	    1), 1);
	v.seq = b.seq;
	v.addr = b.addr;
	v.before = 7;
	nodes_session_view(session, &v);
	/* So many that no margin would do. */
	for (unsigned i = 0; i < 90; i++) {
		ck_assert_uint_eq(blklist_window(model.list, v.order, false, 0,
		    &now, 1), 1);
		model_release(&model, now.addr);
	}
	peer_cycles(&peer, session, 1);
	ck_assert_int_eq(blklist_get(look()->list, 0, b.addr, &now), 0);
	ck_assert_int_eq(blklist_rank(look()->list, v.order, 0, b.addr), 17);
	v.offset = 10;
	assert_view(&v);
	model_release(&model, b.addr);
	peer_cycles(&peer, session, 1);
	ck_assert_int_lt(blklist_get(look()->list, 0, b.addr, &now), 0);
	assert_view(&v);
}

TEST(requesters_are_those_of_their_rows)
{
	const struct blklist_info *info;
	struct blk b[VIEW_ROWS];

	enter();
	ck_assert_uint_eq(blklist_window(look()->list, BLKLIST_BY_AGE, false,
	    100, b, VIEW_ROWS), VIEW_ROWS);
	for (size_t i = 0; i < VIEW_ROWS; i++) {
		info = blklist_info_get(look()->list, b[i].info);
		if ((b[i].addr & 16) == 0) {
			ck_assert_ptr_null(info);
			continue;
		}
		ck_assert_ptr_nonnull(info);
		ck_assert_uint_eq(info->node, 7);
	}
}

/* Cycles until the list is whole again, of which each brings `each` records. */
static unsigned
until_whole(unsigned each, unsigned most)
{
	unsigned n = 0;

	while (look()->window && n < most) {
		model.stay += each;
		peer_cycles(&peer, session, 1);
		n++;
	}
	return n;
}

TEST(it_ends_when_few_records_have_come_for_a_second)
{
	unsigned n;

	enter();
	ck_assert_uint_eq(until_whole(16384, 60), 60);
	n = until_whole(16383, 60);
	ck_assert_uint_ge(n, NODES_HZ);
	ck_assert_uint_le(n, NODES_HZ + 3);
	ck_assert(look()->settled && !look()->behind);
	assert_same(session, &model, "whole again", 0);
	ck_assert_uint_eq(look()->loss.mended, 0);
	/* Records are read again, and none is missing. */
	model_alloc(&model, 0x300000, 5);
	peer_cycles(&peer, session, 1);
	assert_same(session, &model, "on", 0);
}

TEST(a_calm_that_does_not_last_is_waited_for_longer)
{
	unsigned first, second;

	enter();
	first = until_whole(0, 200);
	enter();
	second = until_whole(0, 200);
	ck_assert_uint_ge(second, 2 * first - 3);
	peer_cycles(&peer, session, 200);
	enter();
	ck_assert_uint_le(until_whole(0, 200), first + 1);
}

#define LARGE 1048576	/* as nodes/session/window.c has it */

/* A page that comes late, and has said what it looks at. */
static void
come_late(uint64_t unseen)
{
	nodes_session_close(session);
	model.unseen = unseen;
	session = open_session(&peer, &plain);
	nodes_session_view(session, &by_age);
	peer_serve(&peer);
	peer_cycles(&peer, session, 3);
}

TEST(a_large_list_is_not_taken)
{
	come_late(LARGE);
	ck_assert(look()->window && look()->settled);
	/* What was there before is not what this session has captured. */
	ck_assert_uint_eq(look()->work.total_records, 0);
	model_alloc(&model, 0x300000, 5);
	ck_assert_uint_eq(until_whole(0, 200), 200);
	ck_assert_uint_eq(look()->work.total_records, 1);
	/* It has become small enough. */
	model.unseen = 0;
	ck_assert_uint_lt(until_whole(0, 200), 200);
	assert_same(session, &model, "small", 0);
}

TEST(a_large_list_is_taken_when_all_of_it_is_wanted)
{
	come_late(LARGE);
	nodes_session_view(session, NULL);
	peer_cycles(&peer, session, 3);
	ck_assert(!look()->window && look()->settled);
	assert_same(session, &model, "wanted", 0);
}

TEST(a_list_that_is_not_large_is_taken)
{
	come_late(LARGE - BLOCKS);
	ck_assert(!look()->window && look()->settled);
	assert_same(session, &model, "taken", 0);
}

TEST(the_window_goes_on_until_the_list_is_whole)
{
	size_t k;

	enter();
	nodes_session_view(session, NULL);
	peer_cycles(&peer, session, 1);
	nodes_session_view(session, &by_age);
	nodes_session_cycle(session);
	peer_turn(&peer);
	/* The snapshot takes its time. */
	model_alloc(&model, 0x300000, 5);
	for (unsigned i = 0; i < 3; i++) {
		for (k = 0; k < peer.n;)
			if (peer.asked[k].type == WIRE_SNAP) {
				k++;
			} else {
				peer_answer(&peer, k);
				peer_turn(&peer);
			}
		ck_assert(look()->window && look()->settled);
		assert_view(&by_age);
		nodes_session_cycle(session);
		peer_turn(&peer);
		model_release(&model, 0x100000 + 16 * i);
	}
	peer_serve(&peer);
	peer_cycles(&peer, session, 1);
	ck_assert(!look()->window && look()->settled);
	assert_same(session, &model, "whole", 0);
}

TEST(the_whole_list_is_taken_when_it_is_wanted)
{
	enter();
	model.stay += 1000000;
	nodes_session_view(session, NULL);
	peer_cycles(&peer, session, 3);
	ck_assert(!look()->window);
	assert_same(session, &model, "wanted", 0);
}

TEST(more_rows_than_are_sent_are_the_whole_list)
{
	struct nodes_view tall = by_age;

	tall.rows = WIRE_WINDOW_MAX;
	nodes_session_view(session, &tall);
	enter();
	tall.rows++;
	nodes_session_view(session, &tall);
	peer_cycles(&peer, session, 3);
	ck_assert(!look()->window);
	assert_same(session, &model, "tall", 0);
}

TEST(the_last_list_of_a_target_is_whole)
{
	enter();
	model_release(&model, 0x100000);
	model.state = WIRE_S_ENDED;
	peer_cycles(&peer, session, 4);
	ck_assert_int_eq(look()->state, NODES_ENDED);
	ck_assert(!look()->window && look()->settled);
	assert_same(session, &model, "end", 0);
}

TEST(losses_before_the_node_are_told_by_cause)
{
	model.lost = 5;
	enter();
	ck_assert(!look()->complete);
	ck_assert_uint_eq(look()->loss.lost[STREAM_RING_FULL], 5);
	ck_assert_uint_eq(look()->loss.lost[0], 0);
	model.lost = 9;
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(look()->loss.lost[STREAM_RING_FULL], 9);
}

TEST(a_stream_that_begins_anew_has_no_window)
{
	enter();
	model.overwritten = 0;
	model_arm(&model, true);
	model_alloc(&model, 0x5000, 1);
	peer_cycles(&peer, session, 4);
	ck_assert(!look()->window && look()->settled);
	assert_same(session, &model, "anew", 0);
}

TEST(a_sample_is_known_from_its_rows)
{
	enter();
	model.sample = 4096;
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(look()->sample, 4096);
	ck_assert(blklist_weight(look()->list,
	    &(struct blk){ .size = 16 }) > 1);
	assert_view(&by_age);
}

TEST(blocks_since_a_click_are_never_a_window)
{
	struct nodes_session_opts opts = plain;

	nodes_session_close(session);
	opts.since_click = true;
	session = open_session(&peer, &opts);
	nodes_session_view(session, &by_age);
	peer_serve(&peer);
	overwrite();
	peer_cycles(&peer, session, 3);
	ck_assert(!look()->window);
	ck_assert_uint_eq(peer.windows, 0);
}
