/*
 * Stacks and words of a session, against a scripted node.
 */
#include <stdio.h>

#include "../src/base/base.h"
#include "../src/nodes/session/answer_cache.h"
#include "session_rig.h"

static struct peer peer;
static struct model model, second;
static struct nodes_session *session;

static void
setup(void)
{
	peer_open(&peer);
	model_init(&model, "ALLOCLOG.model.42", 42);
	model_init(&second, "ALLOCLOG.other.43", 43);
	peer.model[0] = &model;
	peer.model[1] = &second;
	peer.models = 2;
	model.live_bytes = 10;
	model_alloc(&model, 0x1000, 10);
	session = open_session(&peer, &plain);
	peer_serve(&peer);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_look(session)->target.pid, 42);
}

static void
teardown(void)
{
	nodes_session_close(session);
	peer_close(&peer);
	model_fini(&model);
	model_fini(&second);
}

/* A site of the scripted node with that many frames. */
static uint64_t
site_of_depth(unsigned depth, unsigned which)
{
	return rec_site_caller(5 * which + depth);
}

static bool
has_text(struct wire_text t, const char *text)
{
	return t.len == strlen(text) && strcmp(t.s, text) == 0;
}

CASE("Core", .setup = setup, .teardown = teardown);

TEST(a_plain_address_is_a_stack_of_one_frame)
{
	struct stream_site st;

	ck_assert(nodes_session_stack(session, 0x401234, &st));
	ck_assert_uint_eq(st.depth, 1);
	ck_assert_uint_eq(st.end, RING_END_ALONE);
	ck_assert_uint_eq(st.frame[0], 0x401234);
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
	ck_assert(!nodes_session_stack(session, 0, &st));
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
}

TEST(a_stack_is_asked_for_once_and_then_there)
{
	uint64_t caller = site_of_depth(3, 9);
	struct stream_site st;

	ck_assert(!nodes_session_stack(session, caller, &st));
	ck_assert(!nodes_session_stack(session, caller, &st));
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 1);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
	ck_assert(nodes_session_stack(session, caller, &st));
	ck_assert_uint_eq(st.depth, 3);
	ck_assert_uint_eq(st.end, RING_END_OUTERMOST);
	for (unsigned i = 0; i < 3; i++)
		ck_assert_uint_eq(st.frame[i], frame_make(48u << 12 | i, 1));
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(peer.sites_asked, 1);
}

TEST(words_are_asked_for_once_and_then_there)
{
	const struct wire_words *w;
	uint64_t frame = frame_make(0x12345, 1);

	ck_assert_ptr_null(nodes_session_words(session, frame));
	peer_cycles(&peer, session, 1);
	w = nodes_session_words(session, frame);
	ck_assert_ptr_nonnull(w);
	ck_assert_uint_eq(w->frame, frame);
	ck_assert_uint_eq(w->known, WIRE_K_LINE);
	ck_assert_uint_eq(w->offset, 0x345);
	ck_assert(has_text(w->module, "/usr/lib.so"));
	ck_assert_uint_eq(w->n, 1);
	ck_assert(has_text(w->line[0].function, "f12345"));
	ck_assert(has_text(w->line[0].file, "lib.c"));
	ck_assert_uint_eq(w->line[0].line, 0x345);
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_eq(nodes_session_words(session, frame), w);
	ck_assert_uint_eq(peer.frames_asked, 1);
	ck_assert_ptr_null(nodes_session_words(session, 0));
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
}

TEST(an_answer_may_hold_a_part_and_the_rest_is_asked_for)
{
	struct stream_site st;

	peer.answer_max = 7;
	for (unsigned i = 0; i < 100; i++) {
		nodes_session_stack(session, site_of_depth(2, i), &st);
		nodes_session_words(session, frame_make(0x1000 + i, 1));
	}
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
	for (unsigned i = 0; i < 100; i++) {
		ck_assert(nodes_session_stack(session, site_of_depth(2, i),
		    &st));
		ck_assert_ptr_nonnull(nodes_session_words(session,
		    frame_make(0x1000 + i, 1)));
	}
	ck_assert_uint_eq(peer.sites_asked, 15);
	ck_assert_uint_eq(peer.frames_asked, 15);
}

CASE("Errors", .setup = setup, .teardown = teardown);

TEST(a_node_that_answers_nothing_is_not_asked_in_circles)
{
	struct stream_site st;

	peer.answer_max = 0;
	nodes_session_stack(session, site_of_depth(2, 1), &st);
	nodes_session_words(session, frame_make(0x1000, 1));
	peer_cycles(&peer, session, 3);
	ck_assert_uint_eq(peer.sites_asked, 1);
	ck_assert_uint_eq(peer.frames_asked, 1);
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
}

TEST(a_stack_that_the_node_does_not_have_stays_unknown)
{
	struct stream_site st;

	nodes_session_stack(session, site_of_depth(0, 4), &st);
	peer_cycles(&peer, session, 1);
	ck_assert(!nodes_session_stack(session, site_of_depth(0, 4), &st));
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(peer.sites_asked, 1);
}

CASE("Core");

TEST(words_still_to_come_are_not_shown)
{
	uint64_t frame = frame_make(0x1000, 1);

	peer.known = WIRE_K_PENDING;
	nodes_session_words(session, frame);
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_null(nodes_session_words(session, frame));
}

TEST(a_fetch_is_told_with_the_words_there_are)
{
	const struct wire_words *w;
	uint64_t frame = frame_make(0x1000, 1);

	ck_assert_str_eq(nodes_session_fetching(session), "");
	peer.known = WIRE_K_NO_LINE;
	peer.fetch_kb = 1812;
	nodes_session_words(session, frame);
	peer_cycles(&peer, session, 1);
	w = nodes_session_words(session, frame);
	ck_assert_ptr_nonnull(w);
	ck_assert(w->fetching);
	ck_assert_str_eq(nodes_session_fetching(session),
	    "lib.so 1,812 of 4,096 kB");
	/* The next answer says that it has come. */
	peer.fetch_kb = 0;
	nodes_session_words(session, frame_make(0x2000, 1));
	peer_cycles(&peer, session, 1);
	ck_assert_str_eq(nodes_session_fetching(session), "");
}

TEST(another_stream_begins_without_stacks_and_words)
{
	static const struct nodes_session_opts other = { .pid = 43,
		.kind_given = true, .kind = BLKLIST_LITERAL, .max = 4096 };
	uint64_t frame = frame_make(0x1000, 1), caller = site_of_depth(2, 1);
	struct stream_site st;
	int at;

	second.epoch[0]++;
	nodes_session_words(session, frame);
	nodes_session_stack(session, caller, &st);
	peer_cycles(&peer, session, 1);
	ck_assert(nodes_session_stack(session, caller, &st));
	/* More is on its way when the page turns to another stream. */
	nodes_session_words(session, frame_make(0x2000, 1));
	nodes_session_cycle(session);
	peer_turn(&peer);
	at = peer_find(&peer, WIRE_FRAME);
	ck_assert_int_ge(at, 0);
	ck_assert_int_eq(nodes_session_switch(session, &other), 0);
	peer_answer(&peer, (size_t)at);
	peer_serve(&peer);
	peer_cycles(&peer, session, 1);
	ck_assert_uint_eq(nodes_session_look(session)->target.pid, 43);
	ck_assert(!nodes_session_stack(session, caller, &st));
	ck_assert_ptr_null(nodes_session_words(session, frame));
	ck_assert_ptr_null(nodes_session_words(session,
	    frame_make(0x2000, 1)));
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 3);
	peer_cycles(&peer, session, 1);
	ck_assert(nodes_session_stack(session, caller, &st));
}

/* The same number is asked about of both streams, and the first is slow. */
TEST(an_answer_of_the_stream_before_is_dropped)
{
	static const struct nodes_session_opts other = { .pid = 43,
		.kind_given = true, .kind = BLKLIST_LITERAL, .max = 4096 };
	uint64_t caller = site_of_depth(2, 1);
	uint8_t packed[64];
	struct wire_stack old = { .site = rec_site(caller), .depth = 1,
		.end = 1, .frame = { 0xbad } };
	struct wire_msg q, sited = { .type = WIRE_SITED, .sited = { .n = 1 } };
	struct stream_site st;
	size_t len = 0;
	int at;

	nodes_session_stack(session, caller, &st);
	nodes_session_cycle(session);
	peer_turn(&peer);
	at = peer_find(&peer, WIRE_SITE);
	ck_assert_int_ge(at, 0);
	q = peer_take(&peer, (size_t)at);
	ck_assert_int_eq(nodes_session_switch(session, &other), 0);
	peer_serve(&peer);
	peer_cycles(&peer, session, 1);
	nodes_session_stack(session, caller, &st);
	nodes_session_cycle(session);
	peer_turn(&peer);
	ck_assert(wire_sited_put(packed, sizeof packed, &len, &old));
	sited.id = q.id;
	sited.sited.sites = (struct wire_bytes){ packed, len };
	peer_send(&peer, &sited);
	peer_turn(&peer);
	ck_assert(!nodes_session_stack(session, caller, &st));
	peer_serve(&peer);
	ck_assert(nodes_session_stack(session, caller, &st));
	ck_assert_uint_eq(st.depth, 2);
}

TEST(a_new_epoch_forgets_stacks_and_words)
{
	uint64_t caller = site_of_depth(2, 1);
	struct stream_site st;

	nodes_session_stack(session, caller, &st);
	peer_cycles(&peer, session, 1);
	ck_assert(nodes_session_stack(session, caller, &st));
	model.epoch[0]++;
	model_alloc(&model, 0x2000, 10);
	peer_cycles(&peer, session, 4);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
	ck_assert(!nodes_session_stack(session, caller, &st));
	peer_cycles(&peer, session, 1);
	ck_assert(nodes_session_stack(session, caller, &st));
}

/* An answer of the test's own making to the oldest request of that type. */
static void
reply(enum wire_type type, struct wire_msg *msg)
{
	struct wire_msg q;
	int at = peer_find(&peer, type);

	ck_assert_int_ge(at, 0);
	q = peer_take(&peer, (size_t)at);
	msg->id = q.id;
	peer_send(&peer, msg);
	peer_serve(&peer);
}

TEST(a_busy_node_is_asked_again_when_it_says)
{
	struct wire_msg busy = { .type = WIRE_ERR, .err = {
		.code = WIRE_E_BUSY, .retry_ms = 0, .text = wire_text("") } };
	uint64_t frame = frame_make(0x1000, 1);

	nodes_session_words(session, frame);
	/* More often than a key that is not known would be tried. */
	for (unsigned i = 0; i < 20; i++) {
		nodes_session_cycle(session);
		peer_turn(&peer);
		reply(WIRE_FRAME, &busy);
		ck_assert_ptr_null(nodes_session_words(session, frame));
		ck_assert_uint_eq(nodes_session_symbols_pending(session), 1);
	}
	peer_cycles(&peer, session, 1);
	ck_assert_ptr_nonnull(nodes_session_words(session, frame));
}

CASE("Errors");

TEST(what_was_not_asked_for_is_not_believed)
{
	uint8_t packed[64];
	struct wire_stack lie = { .site = 8, .depth = 1, .end = 1,
		.frame = { 0xbad } };
	struct wire_msg sited = { .type = WIRE_SITED, .sited = { .n = 1 } };
	struct stream_site st;
	size_t len = 0;

	ck_assert(wire_sited_put(packed, sizeof packed, &len, &lie));
	sited.sited.sites = (struct wire_bytes){ packed, len };
	nodes_session_stack(session, site_of_depth(2, 1), &st);
	nodes_session_cycle(session);
	peer_turn(&peer);
	reply(WIRE_SITE, &sited);
	ck_assert(!nodes_session_stack(session, rec_site_caller(8), &st));
	ck_assert(!nodes_session_stack(session, site_of_depth(2, 1), &st));
}

TEST(an_answer_of_the_wrong_kind_is_none)
{
	struct wire_msg framed = { .type = WIRE_FRAMED };
	struct stream_site st;

	nodes_session_stack(session, site_of_depth(2, 1), &st);
	nodes_session_cycle(session);
	peer_turn(&peer);
	reply(WIRE_SITE, &framed);
	ck_assert(!nodes_session_stack(session, site_of_depth(2, 1), &st));
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
	ck_assert_int_eq(nodes_session_look(session)->state, NODES_LIVE);
}

TEST(outside_texts_come_through_as_they_are)
{
	static const char evil[] = "\33[2J\0;x";
	uint8_t packed[256];
	struct wire_words lie = { .frame = frame_make(0x1000, 1),
		.known = WIRE_K_NO_LINE, .n = 1,
		.line = { { .function = { evil, sizeof evil - 1 } } } };
	struct wire_msg framed = { .type = WIRE_FRAMED, .framed = { .n = 1,
		.fetch = wire_text("/a/\33[2J"), .fetched_kb = 3 } };
	const struct wire_words *w;
	size_t len = 0;

	ck_assert(wire_framed_put(packed, sizeof packed, &len, &lie));
	framed.framed.words = (struct wire_bytes){ packed, len };
	nodes_session_words(session, lie.frame);
	nodes_session_cycle(session);
	peer_turn(&peer);
	reply(WIRE_FRAME, &framed);
	w = nodes_session_words(session, lie.frame);
	ck_assert_ptr_nonnull(w);
	ck_assert_uint_eq(w->line[0].function.len, sizeof evil - 1);
	ck_assert_mem_eq(w->line[0].function.s, evil, sizeof evil);
	ck_assert_uint_eq(w->line[0].file.len, 0);
	ck_assert_str_eq(w->line[0].file.s, "");
	ck_assert_str_eq(nodes_session_fetching(session), "\33[2J 3 kB");
}

TEST(many_stacks_need_some_questions_and_no_more)
{
	struct stream_site st;

	for (unsigned round = 0; round < 3; round++) {
		for (unsigned i = 0; i < 10000; i++)
			nodes_session_stack(session, site_of_depth(4, i), &st);
		ck_assert_uint_le(nodes_session_symbols_pending(session),
		    ANSWERS_WANTED_MAX);
		peer_cycles(&peer, session, 1);
	}
	ck_assert_uint_eq(nodes_session_symbols_pending(session), 0);
	for (unsigned i = 0; i < 10000; i++)
		ck_assert(nodes_session_stack(session, site_of_depth(4, i),
		    &st));
	ck_assert_uint_le(peer.sites_asked, 10000 / WIRE_SYMS_MAX + 3);
}
