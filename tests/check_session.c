/*
 * A live session against a scripted node, to the end of its stream.
 */
#include <stdio.h>

#include "../src/base/base.h"
#include "../src/nodes/session/state.h"
#include "session_life.h"

CASE("life", .setup = setup, .teardown = teardown);

TEST(records_arrive_each_cycle)
{
	model_alloc(&model, 0x3000, 30);
	model_alloc(&model, 0x4000, 30);
	model_release(&model, 0x1000);
	model_release(&model, 0x4000);
	peer_cycles(&peer, session, 1);
	assert_same(session, &model, "cycle", 0);
	/* The pair was cancelled by the node, and is captured all the same. */
	ck_assert_uint_eq(nodes_session_look(session)->work.total_records, 4);
	ck_assert_uint_eq(nodes_session_look(session)->work.cycle_records, 4);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_look(session)->work.cycle_records, 0);
	ck_assert_uint_eq(nodes_session_look(session)->work.missed_cycles, 0);
}

TEST(many_records_are_read_in_one_cycle)
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

TEST(a_long_row_is_read_ahead)
{
	unsigned snaps = peer.snaps;

	ck_assert_uint_ge(read_long_row(0), 4);
	assert_same(session, &model, "ahead", 0);
	ck_assert_uint_eq(nodes_session_look(session)->work.total_records, 3000);
	ck_assert_uint_eq(peer.snaps, snaps);
}

LOOP_TEST(wrong_guesses_ahead_are_read_again, 1, 60)
{
	unsigned snaps = peer.snaps;

	ck_assert_uint_ge(read_long_row((unsigned)_i), 2);
	assert_same(session, &model, "guess", (unsigned)_i);
	ck_assert_uint_eq(nodes_session_look(session)->work.total_records,
	    model.n - 2);
	ck_assert_uint_eq(peer.snaps, snaps);
}

TEST(stale_epoch_leads_to_a_new_lookup_and_snapshot)
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

TEST(renamed_stream_is_no_alloclog_and_tried_each_second)
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

TEST(overwritten_records_are_mended_by_a_new_snapshot)
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
	ck_assert_uint_eq(look->loss.lost[STREAM_OVERWRITTEN], 2);
	/* The picture before stands until the new one is whole. */
	ck_assert_uint_eq(blklist_window(look->list, BLKLIST_BY_AGE, false, 0,
	    rows, 8), 2);
	peer_serve(&peer);
	peer_cycles(&peer, session, 2);
	look = nodes_session_look(session);
	ck_assert(look->settled);
	ck_assert(look->complete);
	ck_assert_uint_eq(look->loss.mended, 2);
	ck_assert_str_ne(look->reason, "");
	ck_assert_uint_eq(peer.snaps, snaps + 1);
	assert_same(session, &model, "mended", 0);
}

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

TEST(a_snapshot_that_cannot_be_followed_is_shown_by_its_parts)
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
	ck_assert_uint_gt(look->loss.lost[STREAM_OVERWRITTEN], 0);
	ck_assert_str_eq(nodes_session_look(session)->regions.why,
	    "the list's parts are of several moments");
	/* What lives throughout is there, and nothing that is not. */
	ck_assert_uint_eq(blklist_window(look->list, BLKLIST_BY_ADDRESS, false,
	    0, rows, 16), 3);
	/* Once it can be followed again, it is. */
	peer_serve(&peer);
	peer_cycles(&peer, session, 4);
	ck_assert(look->settled);
	ck_assert(!look->behind);
	ck_assert_str_eq(nodes_session_look(session)->regions.why, "");
	assert_same(session, &model, "followed again", 0);
}

/* By wire: the cause; by page: what it is counted as. */
static const struct {
	unsigned wire, page;
} before_keeper[] = {
	{ STREAM_RING_FULL, STREAM_RING_FULL },
	{ STREAM_SAMPLE_FULL, STREAM_SAMPLE_FULL },
	{ 0, STREAM_OTHER },
};

LOOP_TEST(loss_before_the_keeper_makes_the_list_incomplete, 0,
    BASE_NELEM(before_keeper))
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
	ck_assert(look->loss.since_wall_ms != 0);
	for (unsigned c = 1; c < STREAM_CAUSES; c++)
		ck_assert_uint_eq(look->loss.lost[c], c == before_keeper[_i].page);
	ck_assert_uint_eq(look->loss.lost[0], 0);
	ck_assert_uint_eq(peer.snaps, snaps);
}

TEST(loss_before_the_session_is_told_as_a_sum)
{
	struct nodes_session_opts opts = plain;

	model.lost = 412;
	opts.pid = 42;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	peer_serve(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert(!nodes_session_look(session)->complete);
	ck_assert_uint_eq(nodes_session_look(session)->loss.lost[0], 412);
	ck_assert_int_eq(nodes_session_look(session)->loss.since_wall_ms, 0);
}

TEST(link_loss_keeps_the_picture)
{
	peer_hang_up(&peer);
	uv_run(&peer.loop, UV_RUN_NOWAIT);
	nodes_session_cycle(session);
	ck_assert_int_eq(nodes_session_look(session)->state,
	    NODES_UNREACHABLE);
	ck_assert(!nodes_session_look(session)->link.up);
	ck_assert_str_ne(nodes_session_look(session)->reason, "");
	assert_same(session, &model, "link", 0);
}

TEST(link_loss_in_the_middle_of_a_request_is_told)
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

TEST(a_silent_node_is_unreachable_until_it_speaks)
{
	unsigned i;

	for (i = 0; i < 40; i++) {
		nodes_session_cycle(session);
		peer_turn(&peer);
	}
	ck_assert_int_eq(nodes_session_look(session)->state,
	    NODES_UNREACHABLE);
	ck_assert(nodes_session_look(session)->link.up);
	ck_assert_uint_gt(nodes_session_look(session)->work.missed_cycles, 10);
	model_alloc(&model, 0x3000, 30);
	peer_serve(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
	assert_same(session, &model, "silence", 0);
}

TEST(an_answer_that_does_not_add_up_is_not_believed)
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
	peer_send(&peer, &bad);
	peer_serve(&peer);
	peer_cycles(&peer, session, 3);
	ck_assert_uint_eq(peer.snaps, snaps + 1);
	assert_same(session, &model, "sum", 0);
}

TEST(garbage_ends_the_link_and_not_the_page)
{
	static const uint8_t junk[] = { 0, 0, 0, 3, 0xff, 0xff, 0xff };

	ck_assert_int_eq(write(peer.fd, junk, sizeof junk), sizeof junk);
	peer_turn(&peer);
	nodes_session_cycle(session);
	ck_assert_int_eq(nodes_session_look(session)->state,
	    NODES_UNREACHABLE);
	assert_same(session, &model, "junk", 0);
}

TEST(an_ended_stream_is_read_to_its_end)
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

TEST(exec_is_followed_to_the_newer_image)
{
	second.gone = false;
	second.pid = 42;
	strcpy(second.name, "ALLOCLOG.next.42");
	strcpy(second.comm, "next");
	model_alloc(&second, 0x7000, 70);
	model.state = WIRE_S_EXECED;
	peer_cycles(&peer, session, 3);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
	ck_assert_str_eq(nodes_session_look(session)->target.name, "next");
	assert_same(session, &second, "exec", 0);
}

TEST(dormant_end_is_no_data_and_says_why)
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

TEST(exec_of_a_dormant_image_is_followed)
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
	ck_assert_str_eq(look->target.name, "next");
}

TEST(exec_into_the_unwatched_is_an_end)
{
	model.state = WIRE_S_EXECED;
	peer_cycles(&peer, session, 60);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_ENDED);
	ck_assert_str_ne(nodes_session_look(session)->reason, "");
}

/* For as long as there may be one, the newer image is looked for. */
TEST(when_all_has_ended_no_newer_image_is_waited_for)
{
	const struct nodes_look *look = nodes_session_look(session);

	model.state = WIRE_S_EXECED;
	peer_cycles(&peer, session, 6);
	ck_assert_int_ne(look->state, NODES_ENDED);
	session->look.command.tree_ended = true;
	peer_cycles(&peer, session, 6);
	ck_assert_int_eq(look->state, NODES_ENDED);
}

TEST(the_target_with_most_live_bytes_is_chosen)
{
	struct nodes_session_opts opts = plain;

	second.gone = false;
	second.live_bytes = 1000;
	model.live_bytes = 10;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	peer_serve(&peer);
	ck_assert_int_eq(nodes_session_look(session)->target.pid, 43);
	/* What lives goes before what was larger and has ended. */
	second.state = WIRE_S_ENDED;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	peer_serve(&peer);
	ck_assert_int_eq(nodes_session_look(session)->target.pid, 42);
	opts.pid = 43;
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	peer_serve(&peer);
	ck_assert_int_eq(nodes_session_look(session)->target.pid, 43);
}

TEST(since_click_takes_no_snapshot)
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

TEST(a_new_type_is_asked_for_before_it_counts_as_illegal)
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

/* Who shows them makes everything anew when they are said to be others. */
TEST(types_that_are_told_again_are_the_same_ones)
{
	uint32_t no = nodes_session_look(session)->types_no;
	unsigned asked = peer.types_asked, n;

	for (n = 0; n < 100 && peer.types_asked < asked + 2; n++)
		peer_cycles(&peer, session, 1);
	ck_assert_uint_ge(peer.types_asked, asked + 2);
	ck_assert_uint_eq(nodes_session_look(session)->types_no, no);
	ck_assert_int_eq(stream_types_name(&model.types, TYPE_API_FIRST + 5,
	    "PKT", "a packet"), 0);
	for (asked = peer.types_asked; peer.types_asked < asked + 2 && n < 200;
	    n++)
		peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_look(session)->types_no, no + 1);
}

/* The function at a plain return address; "" while it is not known. */
static const char *
function_at(uint64_t caller)
{
	const struct wire_words *w = nodes_session_words(session, caller);

	return w != NULL ? w->line[0].function.s : "";
}

TEST(words_and_names_are_asked_for_once)
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

TEST(more_words_than_one_question_holds)
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

TEST(words_wanted_at_once_are_bounded)
{
	uint64_t i;

	for (i = 1; i <= 10000; i++)
		function_at(i * 16);
	ck_assert_uint_le(nodes_session_symbols_pending(session), 4096 + 128);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
}
