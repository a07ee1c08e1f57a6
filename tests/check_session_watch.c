/*
 * The block that a page watches: how it ended, and who has had its address.
 */
#include "session_life.h"

static void
write_rec(unsigned op, unsigned flags, unsigned type, uint64_t addr,
    uint64_t size, uint64_t caller)
{
	struct rec r = make_rec(op, flags, type, addr, size);

	r.w[3] = rec_w3(caller, 0);
	model_write(&model, &r);
}

CASE("watch", .setup = setup, .teardown = teardown);

TEST(end_of_the_watched_block_is_told)
{
	const struct nodes_freed *how;

	nodes_session_watch(session, 0, 0x2000, 2);
	ck_assert_ptr_null(nodes_session_freed(session));
	model_release(&model, 0x1000);
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_null(nodes_session_freed(session));
	write_rec(REC_FREE, 0, 0x91, 0x2000, 0, rec_site_caller(7));
	model_alloc(&model, 0x2000, 16);
	peer_cycles(&peer, session, 1);
	/* What comes to lie there, and its end, are another's. */
	model_release(&model, 0x2000);
	peer_cycles(&peer, session, 1);
	how = nodes_session_freed(session);
	ck_assert_ptr_nonnull(how);
	ck_assert_uint_eq(how->seq, 4);
	ck_assert_uint_eq(how->type, TYPE_DELETE);
	ck_assert_uint_eq(how->caller, rec_site_caller(7));
	nodes_session_watch(session, 0, 0x2000, 5);
	ck_assert_ptr_null(nodes_session_freed(session));
	/* Records from before a block say nothing of its end. */
	nodes_session_watch(session, 0, 0x7000, 100);
	model_alloc(&model, 0x7000, 16);
	peer_cycles(&peer, session, 1);
	model_release(&model, 0x7000);
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_null(nodes_session_freed(session));
}

TEST(range_ends_the_watched_block_of_its_layer)
{
	nodes_session_watch(session, 0, 0x2000, 2);
	write_rec(REC_RANGE, REC_LAYER_API, 0, 0x1800, 0x1000, 0);
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_null(nodes_session_freed(session));
	write_rec(REC_RANGE, 0, 0, 0x1800, 0x800, 0);
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_null(nodes_session_freed(session));
	write_rec(REC_RANGE, 0, 0, 0x1800, 0x801, 0);
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_nonnull(nodes_session_freed(session));
}

TEST(realloc_that_failed_has_ended_nothing)
{
	nodes_session_watch(session, 0, 0x2000, 2);
	write_rec(REC_FREE, 0, TYPE_BY_REALLOC, 0x2000, 0, 0x77);
	write_rec(REC_UNDO, 0, 0, 0x2000, 0, 0);
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_null(nodes_session_freed(session));
	write_rec(REC_FREE, 0, TYPE_BY_REALLOC, 0x2000, 0, 0x77);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_freed(session)->caller, 0x77);
}

/* Blocks that are still there, and those that ended in a cycle of their own. */
TEST(who_had_an_address_is_told_from_before_the_watch_to_now)
{
	const struct nodes_lives *l;

	model_release(&model, 0x2000);
	peer_cycles(&peer, session, 1);
	model_alloc(&model, 0x2000, 21);
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_null(nodes_session_lives(session));
	nodes_session_watch(session, 0, 0x2000, 4);
	l = nodes_session_lives(session);
	ck_assert_uint_eq(l->n, 2);
	ck_assert_uint_eq(l->life[0].blk.size, 20);
	ck_assert(l->life[0].ended);
	ck_assert_uint_eq(l->life[0].end.seq, 3);
	ck_assert_uint_eq(l->life[1].blk.size, 21);
	ck_assert(!l->life[1].ended);
	write_rec(REC_FREE, 0, TYPE_DELETE, 0x2000, 0, 0x77);
	model_alloc(&model, 0x3000, 5);
	peer_cycles(&peer, session, 1);
	model_alloc(&model, 0x2000, 22);
	peer_cycles(&peer, session, 1);
	l = nodes_session_lives(session);
	ck_assert_uint_eq(l->n, 3);
	ck_assert(l->life[1].ended);
	ck_assert_uint_eq(l->life[1].end.type, TYPE_DELETE);
	ck_assert_uint_eq(l->life[1].end.caller, 0x77);
	ck_assert_uint_eq(l->life[2].blk.size, 22);
	ck_assert(!l->life[2].ended);
	ck_assert(!l->gaps);
	ck_assert_uint_eq(l->left_out, 0);
}

TEST(realloc_that_failed_is_one_life_and_not_two)
{
	const struct nodes_lives *l;

	nodes_session_watch(session, 0, 0x2000, 2);
	write_rec(REC_FREE, 0, TYPE_BY_REALLOC, 0x2000, 0, 0x77);
	write_rec(REC_UNDO, 0, 0, 0x2000, 0, 0);
	write_rec(REC_ALLOC, REC_LEVEL_FAILED, 0, 0x2000, 9, 0);
	peer_cycles(&peer, session, 1);
	l = nodes_session_lives(session);
	ck_assert_uint_eq(l->n, 1);
	ck_assert(!l->life[0].ended);
}

TEST(the_last_of_many_lives_are_kept_and_the_others_counted)
{
	const struct nodes_lives *l;
	unsigned i;

	nodes_session_watch(session, 0, 0x2000, 2);
	for (i = 0; i < 3 * NODES_LIVES; i++) {
		model_release(&model, 0x2000);
		peer_cycles(&peer, session, 1);
		model_alloc(&model, 0x2000, 100 + i);
		peer_cycles(&peer, session, 1);
	}
	l = nodes_session_lives(session);
	ck_assert_uint_eq(l->n, NODES_LIVES);
	ck_assert_uint_eq(l->left_out, 3 * NODES_LIVES + 1 - NODES_LIVES);
	for (i = 0; i < l->n; i++) {
		ck_assert_uint_eq(l->life[i].blk.size, 100 + 3 * NODES_LIVES -
		    NODES_LIVES + i);
		ck_assert(l->life[i].ended == (i + 1 < l->n));
	}
}
