/*
 * The session against a scripted node, from the choice of a stream to its end.
 */
#include <stdio.h>

#include "../src/base/base.h"
#include "session_rig.h"

/* --- a session in the middle of its life -------------------------------- */

static struct peer peer;
static struct model model, second;
static struct nodes_session *session;

static void
setup(void)
{
	peer_open(&peer);
	model_init(&model, "ALLOCLOG.model.42", 42);
	model_init(&second, "ALLOCLOG.other.43", 43);
	second.gone = true;
	peer.model[0] = &model;
	peer.model[1] = &second;
	peer.models = 2;
	model_alloc(&model, 0x1000, 10);
	model_alloc(&model, 0x2000, 20);
	session = open_session(&peer, &plain);
	peer_serve(&peer);
	peer_cycles(&peer, session, 1);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
	ck_assert(nodes_session_look(session)->settled);
	assert_same(session, &model, "setup", 0);
}

static void
teardown(void)
{
	nodes_session_close(session);
	peer_close(&peer);
	model_fini(&model);
	model_fini(&second);
}

START_TEST(records_arrive_each_cycle)
{
	model_alloc(&model, 0x3000, 30);
	model_alloc(&model, 0x4000, 30);
	model_release(&model, 0x1000);
	model_release(&model, 0x4000);
	peer_cycles(&peer, session, 1);
	assert_same(session, &model, "cycle", 0);
	/* The pair was cancelled by the node, and is captured all the same. */
	ck_assert_uint_eq(nodes_session_look(session)->total_records, 4);
	ck_assert_uint_eq(nodes_session_look(session)->cycle_records, 4);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_look(session)->cycle_records, 0);
	ck_assert_uint_eq(nodes_session_look(session)->missed_cycles, 0);
}
END_TEST

static void
write_rec(unsigned op, unsigned flags, unsigned type, uint64_t addr,
    uint64_t size, uint64_t caller)
{
	struct rec r = make_rec(op, flags, type, addr, size);

	r.w[3] = rec_w3(caller, 0);
	model_write(&model, &r);
}

START_TEST(end_of_the_watched_block_is_told)
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
END_TEST

START_TEST(range_ends_the_watched_block_of_its_layer)
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
END_TEST

START_TEST(realloc_that_failed_has_ended_nothing)
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
END_TEST

/* Blocks that are still there, and those that ended in a cycle of their own. */
START_TEST(who_had_an_address_is_told_from_before_the_watch_to_now)
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
END_TEST

START_TEST(realloc_that_failed_is_one_life_and_not_two)
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
END_TEST

START_TEST(the_last_of_many_lives_are_kept_and_the_others_counted)
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
END_TEST

START_TEST(many_records_are_read_in_one_cycle)
{
	unsigned i;

	model.read_max = 10;
	for (i = 0; i < 3000; i++) {
		model_alloc(&model, 0x100000 + 16 * (i % 400), 8);
		model_release(&model, 0x100000 + 16 * (i % 400));
	}
	model_alloc(&model, 0x3000, 30);
	/* Replies that advance by ten look caught up: one more cycle each. */
	model.read_max = WIRE_READ_MAX;
	peer_cycles(&peer, session, 6);
	assert_same(session, &model, "many", 0);
}
END_TEST

/* How many READs wait for an answer at once while a long row is read. */
static size_t
read_long_row(unsigned between)
{
	size_t most = 0, waiting, i;
	unsigned n;

	for (n = 0; n < 3000; n++)
		model_alloc(&model, 0x100000 + 16 * n, 8);
	nodes_session_cycle(session);
	peer_turn(&peer);
	while (peer.n > 0) {
		for (i = waiting = 0; i < peer.n; i++)
			waiting += peer.asked[i].type == WIRE_READ;
		most = waiting > most ? waiting : most;
		for (n = 0; n < between && model.n < 3900; n++)
			model_alloc(&model, 0x300000 + 16 * model.n, 8);
		peer_answer(&peer, 0);
		peer_turn(&peer);
	}
	peer_cycles(&peer, session, 2);
	return most;
}

START_TEST(a_long_row_is_read_ahead)
{
	unsigned snaps = peer.snaps;

	ck_assert_uint_ge(read_long_row(0), 4);
	assert_same(session, &model, "ahead", 0);
	ck_assert_uint_eq(nodes_session_look(session)->total_records, 3000);
	ck_assert_uint_eq(peer.snaps, snaps);
}
END_TEST

START_TEST(wrong_guesses_ahead_are_read_again)
{
	unsigned snaps = peer.snaps;

	ck_assert_uint_ge(read_long_row((unsigned)_i), 2);
	assert_same(session, &model, "guess", (unsigned)_i);
	ck_assert_uint_eq(nodes_session_look(session)->total_records,
	    model.n - 2);
	ck_assert_uint_eq(peer.snaps, snaps);
}
END_TEST

START_TEST(stale_epoch_leads_to_a_new_lookup_and_snapshot)
{
	unsigned snaps = peer.snaps;

	model_alloc(&model, 0x3000, 30);
	peer_cycles(&peer, session, 1);
	model.epoch[0]++;
	model_release(&model, 0x1000);
	peer_cycles(&peer, session, 4);
	ck_assert_uint_eq(peer.snaps, snaps + 1);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
	assert_same(session, &model, "epoch", 0);
}
END_TEST

START_TEST(renamed_stream_is_no_alloclog_and_tried_each_second)
{
	unsigned asked, i;

	strcpy(model.name, "MEMLOG");
	model.epoch[0]++;
	peer_cycles(&peer, session, 3);
	ck_assert_int_eq(nodes_session_look(session)->state,
	    NODES_NO_ALLOCLOG);
	ck_assert_str_ne(nodes_session_look(session)->reason, "");
	asked = peer.names_asked;
	peer_cycles(&peer, session, 30);
	ck_assert_uint_ge(peer.names_asked, asked + 2);
	ck_assert_int_eq(nodes_session_look(session)->state,
	    NODES_NO_ALLOCLOG);
	strcpy(model.name, "ALLOCLOG.model.42");
	for (i = 0; i < 20; i++)
		peer_cycles(&peer, session, 1);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
	assert_same(session, &model, "name again", 0);
}
END_TEST

START_TEST(overwritten_records_are_mended_by_a_new_snapshot)
{
	const struct nodes_look *look;
	unsigned snaps = peer.snaps;
	struct blk rows[8];

	model_alloc(&model, 0x3000, 30);
	model_release(&model, 0x1000);
	model.overwritten = model.n;
	nodes_session_cycle(session);
	peer_turn(&peer);
	while (peer.n > 0) {
		peer_answer(&peer, 0);
		peer_turn(&peer);
	}
	nodes_session_cycle(session);
	peer_turn(&peer);
	look = nodes_session_look(session);
	ck_assert(!look->settled);
	ck_assert_uint_eq(look->lost[STREAM_OVERWRITTEN], 2);
	/* The picture before stands until the new one is whole. */
	ck_assert_uint_eq(blklist_window(look->list, BLKLIST_BY_AGE, false, 0,
	    rows, 8), 2);
	peer_serve(&peer);
	peer_cycles(&peer, session, 2);
	look = nodes_session_look(session);
	ck_assert(look->settled);
	ck_assert(look->complete);
	ck_assert_uint_eq(look->mended, 2);
	ck_assert_str_ne(look->reason, "");
	ck_assert_uint_eq(peer.snaps, snaps + 1);
	assert_same(session, &model, "mended", 0);
}
END_TEST

/* Answers what is asked, SNAP apart from READ, until nothing is asked any more. */
static void
answer_all_while(void (*between)(struct model *))
{
	nodes_session_cycle(session);
	peer_turn(&peer);
	while (peer.n > 0) {
		between(&model);
		peer_answer(&peer, 0);
		peer_turn(&peer);
	}
}

/* The node is written to, and forgets, faster than anybody reads. */
static void
write_and_forget(struct model *m)
{
	model_alloc(m, 0x7000, 8);
	model_release(m, 0x7000);
	m->overwritten = m->n;
}

START_TEST(a_snapshot_that_cannot_be_followed_is_shown_by_its_parts)
{
	const struct nodes_look *look = nodes_session_look(session);
	struct blk rows[16];

	model.part_max = 1;
	model_alloc(&model, 0x3000, 30);
	model.overwritten = model.n;
	for (int i = 0; i < 3; i++)
		answer_all_while(write_and_forget);
	ck_assert(look->listed);
	ck_assert(look->behind);
	ck_assert_int_eq(look->state, NODES_LIVE);
	ck_assert_uint_gt(look->lost[STREAM_OVERWRITTEN], 0);
	ck_assert_str_eq(nodes_session_look(session)->regions_why,
	    "the list's parts are of several moments");
	/* What lives throughout is there, and nothing that is not. */
	ck_assert_uint_eq(blklist_window(look->list, BLKLIST_BY_ADDRESS, false,
	    0, rows, 16), 3);
	/* Once it can be followed again, it is. */
	peer_serve(&peer);
	peer_cycles(&peer, session, 4);
	ck_assert(look->settled);
	ck_assert(!look->behind);
	ck_assert_str_eq(nodes_session_look(session)->regions_why, "");
	assert_same(session, &model, "followed again", 0);
}
END_TEST

/* By wire: the cause; by page: what it is counted as. */
static const struct {
	unsigned wire, page;
} before_keeper[] = {
	{ STREAM_RING_FULL, STREAM_RING_FULL },
	{ STREAM_SAMPLE_FULL, STREAM_SAMPLE_FULL },
	{ 0, STREAM_OTHER },
};

START_TEST(loss_before_the_keeper_makes_the_list_incomplete)
{
	unsigned snaps = peer.snaps;
	const struct nodes_look *look;

	ck_assert(nodes_session_look(session)->complete);
	model_alloc(&model, 0x3000, 30);
	model.lost_at = model.n;
	model.lost_cause = before_keeper[_i].wire;
	model.lost = 1;
	model_alloc(&model, 0x4000, 40);
	peer_cycles(&peer, session, 20);
	look = nodes_session_look(session);
	ck_assert(!look->complete);
	ck_assert(look->incomplete_wall_ms != 0);
	for (unsigned c = 1; c < STREAM_CAUSES; c++)
		ck_assert_uint_eq(look->lost[c], c == before_keeper[_i].page);
	ck_assert_uint_eq(look->lost[0], 0);
	ck_assert_uint_eq(peer.snaps, snaps);
}
END_TEST

START_TEST(loss_before_the_session_is_told_as_a_sum)
{
	struct nodes_session_opts opts = plain;

	model.lost = 412;
	opts.pid = 42;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	peer_serve(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert(!nodes_session_look(session)->complete);
	ck_assert_uint_eq(nodes_session_look(session)->lost[0], 412);
	ck_assert_int_eq(nodes_session_look(session)->incomplete_wall_ms, 0);
}
END_TEST

START_TEST(link_loss_keeps_the_picture)
{
	peer_hang_up(&peer);
	uv_run(&peer.loop, UV_RUN_NOWAIT);
	nodes_session_cycle(session);
	ck_assert_int_eq(nodes_session_look(session)->state,
	    NODES_UNREACHABLE);
	ck_assert(!nodes_session_look(session)->linked);
	ck_assert_str_ne(nodes_session_look(session)->reason, "");
	assert_same(session, &model, "link", 0);
}
END_TEST

START_TEST(link_loss_in_the_middle_of_a_request_is_told)
{
	unsigned before;

	nodes_session_cycle(session);
	peer_turn(&peer);
	before = news;
	peer_hang_up(&peer);
	uv_run(&peer.loop, UV_RUN_NOWAIT);
	nodes_session_cycle(session);
	ck_assert_uint_gt(news, before);
	ck_assert_int_eq(nodes_session_look(session)->state,
	    NODES_UNREACHABLE);
}
END_TEST

START_TEST(a_silent_node_is_unreachable_until_it_speaks)
{
	unsigned i;

	for (i = 0; i < 40; i++) {
		nodes_session_cycle(session);
		peer_turn(&peer);
	}
	ck_assert_int_eq(nodes_session_look(session)->state,
	    NODES_UNREACHABLE);
	ck_assert(nodes_session_look(session)->linked);
	ck_assert_uint_gt(nodes_session_look(session)->missed_cycles, 10);
	model_alloc(&model, 0x3000, 30);
	peer_serve(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
	assert_same(session, &model, "silence", 0);
}
END_TEST

START_TEST(an_answer_that_does_not_add_up_is_not_believed)
{
	struct wire_msg bad = { .type = WIRE_DATA };
	unsigned snaps = peer.snaps;
	struct wire_msg q;

	nodes_session_cycle(session);
	peer_turn(&peer);
	q = peer_take(&peer, (size_t)peer_find(&peer, WIRE_READ));
	bad.id = q.id;
	bad.data.first = q.read.from;
	bad.data.next = q.read.from + 5;
	bad.data.now_ms = 1000000;
	bad.data.state = WIRE_S_LIVE;
	wire_msg_fini(&q);
	peer_send(&peer, &bad);
	peer_serve(&peer);
	peer_cycles(&peer, session, 3);
	ck_assert_uint_eq(peer.snaps, snaps + 1);
	assert_same(session, &model, "sum", 0);
}
END_TEST

START_TEST(garbage_ends_the_link_and_not_the_page)
{
	static const uint8_t junk[] = { 0, 0, 0, 3, 0xff, 0xff, 0xff };

	ck_assert_int_eq(write(peer.fd, junk, sizeof junk), sizeof junk);
	peer_turn(&peer);
	nodes_session_cycle(session);
	ck_assert_int_eq(nodes_session_look(session)->state,
	    NODES_UNREACHABLE);
	assert_same(session, &model, "junk", 0);
}
END_TEST

START_TEST(an_ended_stream_is_read_to_its_end)
{
	model_alloc(&model, 0x3000, 30);
	model.state = WIRE_S_ENDED;
	peer_cycles(&peer, session, 2);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_ENDED);
	assert_same(session, &model, "ended", 0);
	/* An end stays an end when the node goes too. */
	peer_hang_up(&peer);
	uv_run(&peer.loop, UV_RUN_NOWAIT);
	nodes_session_cycle(session);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_ENDED);
}
END_TEST

START_TEST(exec_is_followed_to_the_newer_image)
{
	second.gone = false;
	second.pid = 42;
	strcpy(second.name, "ALLOCLOG.next.42");
	strcpy(second.comm, "next");
	model_alloc(&second, 0x7000, 70);
	model.state = WIRE_S_EXECED;
	peer_cycles(&peer, session, 3);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
	ck_assert_str_eq(nodes_session_look(session)->target_name, "next");
	assert_same(session, &second, "exec", 0);
}
END_TEST

START_TEST(dormant_end_is_no_data_and_says_why)
{
	strcpy(model.reason, "it was dormant when it ended");
	model.state = WIRE_S_NO_DATA;
	peer_cycles(&peer, session, 3);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_NO_DATA);
	ck_assert_str_eq(nodes_session_look(session)->reason,
	    model.reason);
	peer_cycles(&peer, session, 60);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_NO_DATA);
	ck_assert_str_eq(nodes_session_look(session)->reason,
	    model.reason);
}
END_TEST

START_TEST(exec_of_a_dormant_image_is_followed)
{
	const struct nodes_look *look = nodes_session_look(session);

	strcpy(model.reason, "it was dormant when it called exec");
	model.state = WIRE_S_NO_DATA;
	peer_cycles(&peer, session, 3);
	ck_assert_int_eq(look->state, NODES_NO_DATA);
	second.gone = false;
	second.pid = 42;
	strcpy(second.name, "ALLOCLOG.next.42");
	strcpy(second.comm, "next");
	second.state = WIRE_S_DORMANT;
	peer_cycles(&peer, session, 60);
	ck_assert_int_eq(look->state, NODES_DORMANT);
	ck_assert_str_eq(look->target_name, "next");
}
END_TEST

START_TEST(exec_into_the_unwatched_is_an_end)
{
	model.state = WIRE_S_EXECED;
	peer_cycles(&peer, session, 60);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_ENDED);
	ck_assert_str_ne(nodes_session_look(session)->reason, "");
}
END_TEST

START_TEST(the_target_with_most_live_bytes_is_chosen)
{
	struct nodes_session_opts opts = plain;

	second.gone = false;
	second.live_bytes = 1000;
	model.live_bytes = 10;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	peer_serve(&peer);
	ck_assert_int_eq(nodes_session_look(session)->pid, 43);
	/* What lives goes before what was larger and has ended. */
	second.state = WIRE_S_ENDED;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	peer_serve(&peer);
	ck_assert_int_eq(nodes_session_look(session)->pid, 42);
	opts.pid = 43;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	peer_serve(&peer);
	ck_assert_int_eq(nodes_session_look(session)->pid, 43);
}
END_TEST

START_TEST(since_click_takes_no_snapshot)
{
	struct nodes_session_opts opts = plain;
	const struct blklist_counts *counts;
	unsigned snaps = peer.snaps;
	struct blk rows[4];

	opts.since_click = true;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	peer_serve(&peer);
	ck_assert(nodes_session_look(session)->settled);
	model_release(&model, 0x1000);
	model_alloc(&model, 0x8000, 80);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(peer.snaps, snaps);
	ck_assert_uint_eq(blklist_window(nodes_session_look(session)->list,
	    BLKLIST_BY_AGE, false, 0, rows, 4), 1);
	ck_assert_uint_eq(rows[0].addr, 0x8000);
	counts = blklist_counts(nodes_session_look(session)->list);
	ck_assert_uint_eq(counts->earlier, 1);
	ck_assert_uint_eq(counts->unknown_free, 0);

	/* Even a snapshot that mends a loss brings nothing older back. */
	model_alloc(&model, 0x9000, 90);
	model.overwritten = model.n;
	peer_cycles(&peer, session, 3);
	ck_assert_uint_eq(peer.snaps, snaps + 1);
	ck_assert_uint_eq(blklist_window(nodes_session_look(session)->list,
	    BLKLIST_BY_AGE, false, 0, rows, 4), 2);
	ck_assert_uint_eq(rows[1].addr, 0x9000);
}
END_TEST

START_TEST(a_new_type_is_asked_for_before_it_counts_as_illegal)
{
	struct rec r = make_rec(REC_ALLOC, 1, TYPE_API_FIRST + 5, 0x5000, 5);

	ck_assert_int_eq(stream_types_name(&model.types, TYPE_API_FIRST + 5,
	    "PKT", "a packet"), 0);
	model_write(&model, &r);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(blklist_counts(nodes_session_look(session)->list)
	    ->illegal_type, 0);
	ck_assert_str_eq(nodes_session_look(session)->types
	    ->by_code[TYPE_API_FIRST + 5].name, "PKT");
	/* One that nobody names is illegal, asked about once, and listed. */
	r = make_rec(REC_ALLOC, 1, TYPE_API_FIRST + 6, 0x6000, 5);
	model_write(&model, &r);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(blklist_counts(nodes_session_look(session)->list)
	    ->illegal_type, 1);
	assert_same(session, &model, "type", 0);
}
END_TEST

/* The function at a plain return address; "" while it is not known. */
static const char *
function_at(uint64_t caller)
{
	const struct wire_words *w = nodes_session_words(session, caller);

	return w != NULL ? w->line[0].function.s : "";
}

START_TEST(words_and_names_are_asked_for_once)
{
	ck_assert_str_eq(function_at(0x1234), "");
	ck_assert_str_eq(function_at(0x1234), "");
	ck_assert_str_eq(nodes_session_thread(session, 7), "");
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 2);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
	ck_assert_str_eq(function_at(0x1234), "f1234");
	ck_assert_str_eq(nodes_session_thread(session, 7), "t7");
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
}
END_TEST

START_TEST(more_words_than_one_question_holds)
{
	char want[32];
	uint64_t i;

	for (i = 1; i <= 1000; i++)
		function_at(i * 16);
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 1000);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
	for (i = 1; i <= 1000; i++) {
		snprintf(want, sizeof want, "f%llx",
		    (unsigned long long)i * 16);
		ck_assert_str_eq(function_at(i * 16), want);
	}
}
END_TEST

START_TEST(words_wanted_at_once_are_bounded)
{
	uint64_t i;

	for (i = 1; i <= 10000; i++)
		function_at(i * 16);
	ck_assert_uint_le(nodes_session_symbols_pending(session), 4096 + 128);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
}
END_TEST

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

START_TEST(bad_classic_records_are_counted_and_the_others_kept)
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
				wire_msg_fini(&q);
			} else {
				peer_answer(&p, 0);
			}
			peer_turn(&p);
		}
		nodes_session_cycle(s);
	}
	look = nodes_session_look(s);
	ck_assert(look->classic && look->settled);
	ck_assert_uint_eq(look->bad_records, 1);
	ck_assert_uint_eq(look->total_records, 3);
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
END_TEST

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
	wire_msg_fini(&q);
	peer_turn(&p);
	peer_hang_up(&p);
	peer_turn(&p);
	nodes_session_cycle(s);
	ck_assert_int_eq(nodes_session_look(s)->state, want);
	ck_assert_str_ne(nodes_session_look(s)->reason, "");
	nodes_session_close(s);
	peer_close(&p);
}

START_TEST(no_common_version_is_said)
{
	refuse_hello(WIRE_E_VERSION, NODES_VERSION);
}
END_TEST

START_TEST(refusal_is_said)
{
	refuse_hello(WIRE_E_AUTH, NODES_DENIED);
}
END_TEST

START_TEST(a_run_without_a_process_yet_is_connecting)
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
END_TEST

START_TEST(choice_goes_with_a_young_tree_and_then_stays)
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
	ck_assert_int_eq(nodes_session_look(s)->pid, 42);
	m[1].gone = false;
	model_alloc(&m[1], 0x1000, 10);
	/* Seen once only: it might be gone in a moment. */
	peer_cycles(&p, s, 3);
	ck_assert_int_eq(nodes_session_look(s)->pid, 42);
	peer_cycles(&p, s, 3);
	ck_assert_int_eq(nodes_session_look(s)->pid, 43);
	assert_same(s, &m[1], "chosen again", 0);
	peer_cycles(&p, s, 30);
	m[2].gone = false;
	peer_cycles(&p, s, 40);
	ck_assert_int_eq(nodes_session_look(s)->pid, 43);
	nodes_session_close(s);
	peer_close(&p);
	for (i = 0; i < 3; i++)
		model_fini(&m[i]);
}
END_TEST

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

START_TEST(targets_are_told_once_and_in_order)
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
END_TEST

START_TEST(targets_of_a_lost_link_are_an_error)
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
END_TEST

START_TEST(no_callback_comes_after_close)
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
END_TEST

static Suite *
session_suite(void)
{
	Suite *suite = suite_create("session");
	TCase *tc = tcase_create("life");

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, records_arrive_each_cycle);
	tcase_add_test(tc, end_of_the_watched_block_is_told);
	tcase_add_test(tc, range_ends_the_watched_block_of_its_layer);
	tcase_add_test(tc, realloc_that_failed_has_ended_nothing);
	tcase_add_test(tc,
	    who_had_an_address_is_told_from_before_the_watch_to_now);
	tcase_add_test(tc, realloc_that_failed_is_one_life_and_not_two);
	tcase_add_test(tc,
	    the_last_of_many_lives_are_kept_and_the_others_counted);
	tcase_add_test(tc, many_records_are_read_in_one_cycle);
	tcase_add_test(tc, a_long_row_is_read_ahead);
	tcase_add_loop_test(tc, wrong_guesses_ahead_are_read_again, 1, 60);
	tcase_add_test(tc, stale_epoch_leads_to_a_new_lookup_and_snapshot);
	tcase_add_test(tc, renamed_stream_is_no_alloclog_and_tried_each_second);
	tcase_add_test(tc, overwritten_records_are_mended_by_a_new_snapshot);
	tcase_add_test(tc,
	    a_snapshot_that_cannot_be_followed_is_shown_by_its_parts);
	tcase_add_loop_test(tc,
	    loss_before_the_keeper_makes_the_list_incomplete, 0,
	    BASE_NELEM(before_keeper));
	tcase_add_test(tc, loss_before_the_session_is_told_as_a_sum);
	tcase_add_test(tc, link_loss_keeps_the_picture);
	tcase_add_test(tc, link_loss_in_the_middle_of_a_request_is_told);
	tcase_add_test(tc, a_silent_node_is_unreachable_until_it_speaks);
	tcase_add_test(tc, an_answer_that_does_not_add_up_is_not_believed);
	tcase_add_test(tc, garbage_ends_the_link_and_not_the_page);
	tcase_add_test(tc, an_ended_stream_is_read_to_its_end);
	tcase_add_test(tc, exec_is_followed_to_the_newer_image);
	tcase_add_test(tc, dormant_end_is_no_data_and_says_why);
	tcase_add_test(tc, exec_of_a_dormant_image_is_followed);
	tcase_add_test(tc, exec_into_the_unwatched_is_an_end);
	tcase_add_test(tc, the_target_with_most_live_bytes_is_chosen);
	tcase_add_test(tc, since_click_takes_no_snapshot);
	tcase_add_test(tc, a_new_type_is_asked_for_before_it_counts_as_illegal);
	tcase_add_test(tc, words_and_names_are_asked_for_once);
	tcase_add_test(tc, more_words_than_one_question_holds);
	tcase_add_test(tc, words_wanted_at_once_are_bounded);
	tcase_add_test(tc, targets_are_told_once_and_in_order);
	tcase_add_test(tc, targets_of_a_lost_link_are_an_error);
	suite_add_tcase(suite, tc);

	tc = tcase_create("beginnings");
	tcase_add_test(tc, bad_classic_records_are_counted_and_the_others_kept);
	tcase_add_test(tc, no_common_version_is_said);
	tcase_add_test(tc, refusal_is_said);
	tcase_add_test(tc, a_run_without_a_process_yet_is_connecting);
	tcase_add_test(tc, choice_goes_with_a_young_tree_and_then_stays);
	tcase_add_test(tc, no_callback_comes_after_close);
	suite_add_tcase(suite, tc);
	return suite;
}

CHECK_MAIN(session_suite)
