/*
 * A list that is taken anew comes by address: it is shown when it is in order
 * of age, for a picture of a million blocks would wait for that.
 */
#include "../src/nodes/session/state.h"
#include "session_one.h"

#define BLOCKS 3000
#define PART 256

static const struct nodes_session_opts indexed = {
	.kind_given = true, .kind = BLKLIST_INDEXED, .max = 4096,
};

/* Blocks whose order by address is not that of their ages, all of them shown. */
static void
setup(void)
{
	one_up();
	for (uint64_t i = 0; i < BLOCKS; i++)
		model_alloc(&model, 0x100000 + i * 7919 % BLOCKS * 64, 16);
	model.part_max = PART;
	one_open(&indexed, 1);
	ck_assert(look()->settled);
	ck_assert_uint_eq(blklist_counts(look()->list)->aRecActive, BLOCKS);
	/* Shown while it came, and put in order by the first picture. */
	while (!blklist_restore_order(session->intake.list, 1000))
		continue;
}

/* Records are lost on the way, so that it is taken anew. */
static void
lose(void)
{
	model_release(&model, 0x100000);
	model.overwritten = model.n;
}

/* One answer more, if anything is asked. */
static bool
goes_on(void)
{
	peer_turn(&peer);
	if (peer.n == 0)
		return false;
	peer_answer(&peer, 0);
	peer_turn(&peer);
	return true;
}

CASE("taken anew", .setup = setup, .teardown = one_down);

TEST(a_list_that_was_taken_by_address_is_in_order_when_it_is_shown)
{
	const struct blklist *before = look()->list;

	lose();
	for (int cycle = 0; cycle < 20 && look()->list == before; cycle++) {
		nodes_session_cycle(session);
		while (look()->list == before && goes_on())
			continue;
	}
	ck_assert_ptr_ne(look()->list, before);
	ck_assert(look()->settled);
	ck_assert(blklist_restore_order(session->intake.list, 0));
	peer_serve(&peer);
	assert_same(session, &model, "taken anew", 0);
}

TEST(as_long_as_it_is_not_in_order_the_one_before_is_shown)
{
	const struct blklist *before = look()->list;
	unsigned snaps = peer.snaps;

	lose();
	nodes_session_cycle(session);
	peer_serve(&peer);
	nodes_session_cycle(session);
	/* For the order there is no time left in this cycle. */
	do
		session->clock.order_ns = INT64_MAX;
	while (goes_on());
	ck_assert_uint_eq(peer.snaps, snaps + 1);
	ck_assert_ptr_eq(look()->list, before);
	ck_assert(!look()->settled);
	ck_assert_uint_eq(blklist_counts(before)->aRecActive, BLOCKS);
	/* All is there: in the next cycle there is time again. */
	nodes_session_cycle(session);
	ck_assert_ptr_ne(look()->list, before);
	ck_assert(look()->settled);
	ck_assert(blklist_restore_order(session->intake.list, 0));
	assert_same(session, &model, "taken anew", 0);
}
