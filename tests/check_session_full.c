/*
 * What a session says of a list that was full, the node's or its own, and of the
 * errors that both have counted, against a scripted node.
 */
#include "../src/base/base.h"
#include "session_one.h"

#define BLOCKS 50

static void
setup(void)
{
	one_up();
	for (unsigned i = 0; i < BLOCKS; i++)
		model_alloc(&model, 0x100000 + 64 * i, 10);
}

static struct nodes_session_opts
holds(uint32_t max)
{
	struct nodes_session_opts opts = plain;

	opts.max = max;
	return opts;
}

CASE("full", .setup = setup, .teardown = one_down);

TEST(a_list_that_had_room_for_all_is_complete)
{
	one_open(&plain, 2);
	ck_assert(look()->complete && !look()->loss.unsure);
	ck_assert_uint_eq(look()->loss.full, 0);
}

TEST(what_the_node_refused_is_missing_here_too)
{
	model.full = 7;
	one_open(&plain, 2);
	ck_assert(!look()->complete && !look()->loss.unsure);
	ck_assert_uint_eq(look()->loss.full, 7);
	ck_assert_int_eq(look()->loss.since_wall_ms, 0);
}

TEST(it_is_told_within_a_second)
{
	one_open(&plain, 2);
	model.full = 7;
	peer_cycles(&peer, session, NODES_HZ + 1);
	ck_assert(!look()->complete);
	ck_assert_uint_eq(look()->loss.full, 7);
	ck_assert_int_ne(look()->loss.since_wall_ms, 0);
}

/* The numbers are of a moment before the first part. */
TEST(a_part_tells_it_before_the_numbers_do)
{
	session = open_session(&peer, &plain);
	peer_turn(&peer);
	while (peer_find(&peer, WIRE_SNAP) != 0) {
		ck_assert_uint_gt(peer.n, 0);
		peer_answer(&peer, 0);
		peer_turn(&peer);
	}
	model.full = 7;
	peer_serve(&peer);
	ck_assert(look()->settled);
	ck_assert_uint_eq(look()->loss.full, 0);
	ck_assert(!look()->complete);
	peer_cycles(&peer, session, NODES_HZ + 1);
	ck_assert_uint_eq(look()->loss.full, 7);
	ck_assert(!look()->complete && !look()->loss.unsure);
}

TEST(a_list_of_an_unsure_beginning_is_not_complete)
{
	model.unsure = 1;
	one_open(&plain, 2);
	ck_assert(!look()->complete && look()->loss.unsure);
	ck_assert_uint_eq(look()->loss.full, 0);
}

TEST(what_this_list_has_no_room_for_is_missing)
{
	struct nodes_session_opts opts = holds(20);

	one_open(&opts, 2);
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive, 20);
	ck_assert(!look()->complete);
	ck_assert_uint_eq(look()->loss.full, BLOCKS - 20);
}

TEST(blocks_that_the_node_refused_are_others)
{
	struct nodes_session_opts opts = holds(20);

	model.full = 7;
	one_open(&opts, 2);
	ck_assert_uint_eq(look()->loss.full, BLOCKS - 20 + 7);
}

/* Both were given the same records, and had no room for the same. */
TEST(records_that_both_refused_are_counted_once)
{
	struct nodes_session_opts opts = holds(BLOCKS);

	one_open(&opts, 2);
	ck_assert(look()->complete);
	for (unsigned i = 0; i < 9; i++)
		model_alloc(&model, 0x200000 + 64 * i, 10);
	model.full = 9;
	peer_cycles(&peer, session, NODES_HZ + 1);
	ck_assert_uint_eq(blklist_counts(look()->list)->full, 9);
	ck_assert_uint_eq(look()->loss.full, 9);
	ck_assert(!look()->complete);
}

TEST(a_list_taken_anew_with_room_for_all_is_complete_again)
{
	struct nodes_session_opts opts = holds(BLOCKS);

	one_open(&opts, 2);
	for (unsigned i = 0; i < 9; i++)
		model_alloc(&model, 0x200000 + 64 * i, 10);
	peer_cycles(&peer, session, 2);
	ck_assert(!look()->complete);
	for (unsigned i = 0; i < 9; i++)
		model_release(&model, 0x100000 + 64 * i);
	model.overwritten = model.n - 2;
	peer_cycles(&peer, session, 4);
	ck_assert(look()->settled);
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive, BLOCKS);
	ck_assert_uint_eq(look()->loss.full, 0);
	ck_assert(look()->complete);
}

/* Of before the click nothing is listed, and nothing of it is missing. */
TEST(since_the_click_the_node_refusals_are_no_matter)
{
	struct nodes_session_opts opts = plain;

	opts.since_click = true;
	model.full = 7;
	one_open(&opts, 2);
	ck_assert(look()->complete);
	ck_assert_uint_eq(look()->loss.full, 0);
}

static const struct {
	uint64_t node;
	bool whole;
	enum blklist_kind kind;
	uint32_t given, room;
} rooms[] = {
	{ 1u << 22, true, BLKLIST_INDEXED, 0, 1u << 22 },
	{ 1u << 22, false, BLKLIST_INDEXED, 0, NODES_MAX },
	{ 1u << 22, true, BLKLIST_INDEXED, 100, 100 },
	{ 100, true, BLKLIST_INDEXED, 0, NODES_MAX },
	{ 0, true, BLKLIST_INDEXED, 0, NODES_MAX },
	/* It walks all that it has for each block. */
	{ 1u << 22, true, BLKLIST_LITERAL, 0, NODES_MAX },
};

LOOP_TEST(who_wants_all_has_room_for_what_the_node_can_hold, 0,
    BASE_NELEM(rooms))
{
	struct nodes_session_opts opts = holds(rooms[_i].given);

	opts.whole = rooms[_i].whole;
	opts.kind_given = true;
	opts.kind = rooms[_i].kind;
	model.max = rooms[_i].node;
	one_open(&opts, 2);
	ck_assert(look()->settled && look()->complete);
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive, BLOCKS);
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecMax,
	    rooms[_i].room);
}

/* --- errors ---------------------------------------------------------------- */

static const struct nodes_errors node_errors = {
	.failed = 1, .unknown_free = 2, .earlier = 3, .duplicate = 4,
	.illegal_type = 5,
};

static void
assert_errors(const struct nodes_errors *e)
{
	ck_assert_uint_eq(e->failed, node_errors.failed);
	ck_assert_uint_eq(e->unknown_free, node_errors.unknown_free);
	ck_assert_uint_eq(e->earlier, node_errors.earlier);
	ck_assert_uint_eq(e->duplicate, node_errors.duplicate);
	ck_assert_uint_eq(e->illegal_type, node_errors.illegal_type);
}

TEST(errors_of_before_the_list_are_the_node_ones)
{
	model.errors = node_errors;
	one_open(&plain, 2);
	assert_errors(&look()->loss.before);
	/* A list that is taken anew has counted none of them either. */
	model_alloc(&model, 0x300000, 10);
	model.overwritten = model.n;
	peer_cycles(&peer, session, 4);
	ck_assert(look()->settled);
	assert_errors(&look()->loss.before);
}

TEST(an_error_that_both_have_counted_is_one)
{
	one_open(&plain, 2);
	model_alloc(&model, 0x300000, 10);
	model_alloc(&model, 0x300000, 12);
	peer_cycles(&peer, session, 2);
	ck_assert_uint_eq(blklist_counts(look()->list)->duplicate, 1);
	ck_assert_uint_eq(look()->loss.before.duplicate, 0);
	model.errors.duplicate = 1;
	peer_cycles(&peer, session, NODES_HZ + 1);
	ck_assert_uint_eq(look()->loss.before.duplicate, 0);
	model.errors.duplicate = 3;
	peer_cycles(&peer, session, NODES_HZ + 1);
	ck_assert_uint_eq(look()->loss.before.duplicate, 2);
}

TEST(since_the_click_there_are_no_errors_of_before)
{
	struct nodes_session_opts opts = plain;

	opts.since_click = true;
	model.errors = node_errors;
	one_open(&opts, 2);
	ck_assert_uint_eq(look()->loss.before.duplicate, 0);
	ck_assert_uint_eq(look()->loss.before.illegal_type, 0);
}
