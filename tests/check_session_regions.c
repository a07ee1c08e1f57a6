/*
 * What a session knows of memory that is wholly known, against a scripted
 * node.
 */
#include "../src/base/base.h"
#include "session_one.h"

static void
put_region(uint64_t base, uint64_t size)
{
	model.region[model.regions++] = (struct wire_region){ .base = base,
		.size = size, .head = 16, .align = 8, .name = "pool" };
}

static void
setup(void)
{
	one_up();
	for (unsigned i = 0; i < 50; i++)
		model_alloc(&model, 0x100000 + 64 * i, 10 + i);
	put_region(0x100000, 0x1000);
	put_region(0x200000, 0x1000);
}

CASE("regions", .setup = setup, .teardown = one_down);

TEST(they_are_there_with_the_list)
{
	session = open_session(&peer, &plain);
	ck_assert_uint_eq(look()->regions.n, 0);
	ck_assert(!look()->regions.known);
	peer_serve(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert(look()->settled && look()->regions.known);
	ck_assert_uint_eq(look()->regions.n, 2);
	ck_assert_str_eq(look()->regions.why, "");
	ck_assert_uint_eq(look()->regions.at[0].base, 0x100000);
	ck_assert_uint_eq(look()->regions.at[1].base, 0x200000);
	ck_assert_uint_eq(look()->regions.at[1].head, 16);
	ck_assert_str_eq(look()->regions.at[1].name, "pool");
}

/* Regions of then may have gone, and the list is of now. */
TEST(an_answer_of_before_the_list_was_whole_is_not_enough)
{
	peer.holds_regions = true;
	one_open(&plain, 1);
	ck_assert(look()->settled);
	ck_assert_uint_eq(peer.nregions, 1);
	peer.holds_regions = false;
	peer_serve(&peer);
	ck_assert_uint_eq(peer.regions_asked, 1);
	ck_assert_uint_eq(look()->regions.n, 2);
	ck_assert(!look()->regions.known);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(peer.regions_asked, 2);
	ck_assert(look()->regions.known);
}

TEST(they_are_asked_for_once_a_second)
{
	unsigned asked;

	one_open(&plain, 2);
	peer_cycles(&peer, session, NODES_HZ);
	asked = peer.regions_asked;
	model.regions = 1;
	peer_cycles(&peer, session, 3 * NODES_HZ);
	ck_assert_uint_eq(peer.regions_asked, asked + 3);
	ck_assert_uint_eq(look()->regions.n, 1);
}

TEST(a_node_that_knows_none_is_not_asked_again)
{
	peer.has_no_regions = true;
	one_open(&plain, 2);
	ck_assert(look()->regions.known);
	peer.has_no_regions = false;
	peer_cycles(&peer, session, 3 * NODES_HZ);
	ck_assert_uint_eq(peer.regions_asked, 0);
	ck_assert_uint_eq(look()->regions.n, 0);
}

TEST(since_the_click_nothing_is_wholly_known)
{
	struct nodes_session_opts opts = plain;

	opts.since_click = true;
	one_open(&opts, 2);
	ck_assert(look()->regions.known);
	ck_assert_uint_eq(look()->regions.n, 0);
	ck_assert_str_eq(look()->regions.why,
	    "blocks of before the click are not listed");
	ck_assert_uint_eq(peer.regions_asked, 0);
}

/* The node's list is whole, and ours is not. */
TEST(a_list_that_was_too_small_has_none)
{
	struct nodes_session_opts opts = plain;

	opts.max = 20;
	one_open(&opts, 2);
	ck_assert_uint_gt(blklist_counts(look()->list)->full, 0);
	ck_assert_uint_eq(look()->regions.n, 0);
	ck_assert_str_eq(look()->regions.why, "the page's list was full");
}

TEST(once_records_are_lost_there_are_none)
{
	one_open(&plain, 2);
	ck_assert_uint_eq(look()->regions.n, 2);
	model.lost = 1;
	peer_cycles(&peer, session, 2 * NODES_HZ);
	ck_assert(!look()->complete);
	ck_assert_uint_eq(look()->regions.n, 0);
	ck_assert_str_eq(look()->regions.why, "records were lost");
}

TEST(of_a_sample_there_are_none)
{
	model.sample = 4096;
	one_open(&plain, 2);
	ck_assert_uint_eq(look()->regions.n, 0);
	ck_assert_str_eq(look()->regions.why, "only a sample of it is logged");
}

TEST(why_there_are_none_is_said_in_the_nodes_words)
{
	model.regions = 0;
	one_open(&plain, 2);
	ck_assert_str_eq(look()->regions.why, "");
	model.regions_why = "it is not\033 logged";
	peer_cycles(&peer, session, 2 * NODES_HZ);
	ck_assert_ptr_nonnull(strstr(look()->regions.why, " logged"));
	ck_assert_ptr_null(strchr(look()->regions.why, '\033'));
	model.regions_why = NULL;
	peer_cycles(&peer, session, 2 * NODES_HZ);
	ck_assert_str_eq(look()->regions.why, "");
}

/* Rather none than such as a page would make wrong gaps of. */
LOOP_TEST(regions_that_make_no_sense_are_none, 0, 5)
{
	static const uint64_t second[][2] = {
		{ 0x100800, 0x1000 },	/* overlaps the first */
		{ 0x80000, 0x1000 },	/* before it */
		{ 0x100000, 0x1000 },
		{ 0x200000, 0 },
		{ UINT64_MAX - 10, 100 },
	};

	model.region[1].base = second[_i][0];
	model.region[1].size = second[_i][1];
	one_open(&plain, 2);
	ck_assert(look()->regions.known);
	ck_assert_uint_eq(look()->regions.n, 0);
	ck_assert_ptr_nonnull(strstr(look()->regions.why, "is not valid"));
}

/* Beside its rows; and no more often. */
TEST(a_window_has_them_for_who_would_take_the_list)
{
	static const struct nodes_view view = { .rows = 10 };
	unsigned asked;

	one_open(&plain, 2);
	nodes_session_view(session, &view);
	/* More blocks than a page takes: it stays a window. */
	model.unseen = 1u << 21;
	for (unsigned i = 0; i < 10; i++)
		model_alloc(&model, 0x310000 + 16 * i, 1);
	model.overwritten = model.n - 2;
	peer_cycles(&peer, session, 4);
	ck_assert(look()->window);
	ck_assert_uint_eq(look()->regions.n, 2);
	ck_assert(!look()->regions.known);
	asked = peer.regions_asked;
	peer_cycles(&peer, session, 2 * NODES_HZ);
	ck_assert_uint_le(peer.regions_asked, asked + 2);
}

TEST(another_stream_has_its_own)
{
	struct nodes_session_opts opts = plain;
	struct model other;

	one_open(&plain, 2);
	model_init(&other, "ALLOCLOG.model.43", 43);
	model_alloc(&other, 0x100000, 10);
	peer.model[1] = &other;
	peer.models = 2;
	opts.pid = 43;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	ck_assert_uint_eq(look()->regions.n, 0);
	ck_assert(!look()->regions.known);
	peer_serve(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert(look()->regions.known);
	ck_assert_uint_eq(look()->regions.n, 0);
	model_fini(&other);
}
