/*
 * A session's copy of the node's counts of references, against a scripted node.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/pagek/refcnt/refcnt.h"
#include "session_one.h"

#define PAGES 1200

static struct refcnt_page page[PAGES];

static const struct nodes_refcnt *
touches(void)
{
	return nodes_session_refcnt(session);
}

static void
setup(void)
{
	one_up();
	for (unsigned i = 0; i < PAGES; i++)
		page[i] = (struct refcnt_page){ .vaddr = 0x10000 + 8192ull * i,
			.page_size = 4096, .heat = 0x91 + i, .reads = i,
			.writes = 2, .counter = { i + 2, UINT64_MAX },
			.since_ms = 900, .last_ms = -1, .cnodeid = -1,
			.flags = REFCNT_VALID | REFCNT_NO_PADDR, .counters = 2,
			.source = REFCNT_REFS };
	model.touch = page;
	model.touches = PAGES;
	model.touch_rows = 500;
	model.touch_no = 7;
}

static void
ask(void)
{
	ck_assert_int_eq(nodes_session_ask_refcnt(session, 0, 0, REFCNT_WIDE),
	    0);
	ck_assert(touches()->pending);
	ck_assert_int_eq(nodes_session_ask_refcnt(session, 0, 0, REFCNT_WIDE),
	    -EBUSY);
	peer_serve(&peer);
	ck_assert(!touches()->pending);
}

/* Pages have padding, and counters that are not used. */
static bool
same_pages_as_sent(void)
{
	uint8_t a[REFCNT_ROW_SIZE(2)], b[REFCNT_ROW_SIZE(2)];

	for (size_t i = 0; i < PAGES; i++) {
		refcnt_row_put(a, &touches()->page[i]);
		refcnt_row_put(b, &page[i]);
		if (memcmp(a, b, sizeof a) != 0)
			return false;
	}
	return touches()->page[3].last_ms == -1 &&
	    touches()->page[3].cnodeid == -1;
}

CASE("touches", .setup = setup, .teardown = one_down);

TEST(a_copy_comes_in_portions_and_so_do_the_ranges)
{
	one_open(&plain, 2);
	ck_assert_uint_eq(touches()->no, 0);
	ask();
	ck_assert_int_eq(touches()->error, 0);
	ck_assert_uint_eq(touches()->n, PAGES);
	ck_assert(same_pages_as_sent());
	ck_assert_uint_eq(touches()->nranges, 2);
	ck_assert_uint_eq(touches()->range[1].vaddr, 0x20000);
	ck_assert_int_eq(touches()->range[1].since_ms, 900);
	ck_assert_uint_eq(touches()->pages, PAGES);
	ck_assert_uint_eq(touches()->nodes, 2);
	ck_assert_uint_eq(touches()->period_ms, 1000);
	ck_assert_str_eq(touches()->why, "a \\x1B reason");
	ck_assert_uint_eq(touches()->no, 1);
	ck_assert_uint_eq(touches()->periods, 7);
}

/* The second range comes after the only row. */
TEST(ranges_may_come_after_the_last_row)
{
	model.touches = 1;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(touches()->error, 0);
	ck_assert_uint_eq(touches()->n, 1);
	ck_assert_uint_eq(touches()->nranges, 2);
}

TEST(nothing_is_counted_until_somebody_asks)
{
	model.touches = 0;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(touches()->error, 0);
	ck_assert_uint_eq(touches()->n, 0);
	ck_assert_uint_eq(touches()->nranges, 0);
	ck_assert_uint_eq(touches()->no, 1);
}

TEST(an_older_node_counts_none_and_the_reason_is_said)
{
	peer.has_no_touches = true;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(touches()->error, -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(touches()->why, "older"));
	ck_assert_int_eq(nodes_session_count(session, 0x1000, 1, REFCNT_REFS,
	    true, 0), 0);
	peer_serve(&peer);
	ck_assert_int_eq(touches()->count.error, -ENOTSUP);
	ck_assert_int_eq(nodes_session_ask_memory(session, ""), 0);
	peer_serve(&peer);
	ck_assert_int_eq(nodes_session_memory(session)->error, -ENOTSUP);
	ck_assert_uint_eq(nodes_session_memory(session)->n, 0);
}

TEST(a_copy_of_two_periods_is_asked_for_again)
{
	model.touch_anew = 1;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(touches()->error, 0);
	ck_assert_uint_eq(touches()->n, PAGES);
	ck_assert(same_pages_as_sent());
}

/* Another page may do so between two portions. */
TEST(a_copy_is_asked_for_again_when_a_range_is_switched_off)
{
	model.touch_off = page[1000].vaddr;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(touches()->error, 0);
	ck_assert_uint_eq(touches()->n, PAGES);
	ck_assert(same_pages_as_sent());
	ck_assert_uint_eq(touches()->nranges, 1);
}

/* Periods may be shorter than a copy takes. */
TEST(one_of_ever_new_periods_comes_in_the_end)
{
	model.touch_anew = 1000;
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(touches()->error, 0);
	ck_assert_uint_eq(touches()->n, PAGES);
	ck_assert(same_pages_as_sent());
	ck_assert_uint_lt(touches()->periods, touches()->latest);
}

/* Parts that were read before a period ended do not have its counts. */
TEST(a_long_copy_has_the_counts_of_the_periods_before_its_first_part)
{
	struct refcnt_reader reader = { .plane = REFCNT_WIDE };
	unsigned pages = 40000;
	struct refcnt_page *many = calloc(pages, sizeof *many);
	int r;

	ck_assert_ptr_nonnull(many);
	for (unsigned i = 0; i < pages; i++) {
		many[i] = page[0];
		many[i].vaddr = 0x10000 + i * (uint64_t)REFCNT_PAGE;
	}
	model.touch = many;
	model.touches = pages;
	model.touch_less = true;
	model.touch_len = pages * (uint64_t)REFCNT_PAGE;
	one_open(&plain, 2);
	while ((r = refcnt_reader_step(&reader, session)) == 0) {
		peer_serve(&peer);
		if (reader.next.n > 0 && model.touch_no == 7)
			model.touch_no++;
	}
	ck_assert_int_eq(r, 1);
	ck_assert_uint_eq(reader.copy.n, pages);
	ck_assert_uint_eq(reader.periods, 7);
	ck_assert_uint_eq(reader.latest, 8);
	refcnt_reader_fini(&reader);
	free(many);
}

TEST(bad_rows_are_refused_and_the_last_copy_stays)
{
	one_open(&plain, 2);
	ask();
	page[700].source = REFCNT_SOURCES;
	ask();
	ck_assert_int_eq(touches()->error, -EIO);
	ck_assert_uint_eq(touches()->no, 1);
	ck_assert_uint_eq(touches()->n, PAGES);
	page[700].source = REFCNT_REFS;
	page[700].vaddr = page[699].vaddr;
	ask();
	ck_assert_int_eq(touches()->error, -EIO);
	ck_assert_uint_eq(touches()->no, 1);
}

TEST(a_range_is_switched_on_and_the_answer_is_told)
{
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(nodes_session_count(session, 0x5001, 77, REFCNT_REFS,
	    true, 250), 0);
	ck_assert(touches()->count.pending);
	ck_assert_int_eq(nodes_session_move(session, 0x5001, 77, 1), -EBUSY);
	peer_serve(&peer);
	ck_assert(!touches()->count.pending);
	ck_assert_int_eq(touches()->count.error, 0);
	ck_assert_str_eq(touches()->count.why, "none of it is mapped");
	ck_assert_uint_eq(touches()->count.pages, 7);
	ck_assert_uint_eq(touches()->count.no, 1);
	ck_assert_uint_eq(model.counted.action, WIRE_COUNT_ON);
	ck_assert_uint_eq(model.counted.vaddr, 0x5001);
	ck_assert_uint_eq(model.counted.len, 77);
	ck_assert_uint_eq(model.counted.source, REFCNT_REFS);
	ck_assert_uint_eq(model.counted.period_ms, 250);
	ck_assert_int_eq(nodes_session_move(session, 0x5001, 77, 1), 0);
	peer_serve(&peer);
	ck_assert_uint_eq(model.counted.action, WIRE_COUNT_MOVE);
	ck_assert_uint_eq(touches()->count.moved, 3);
	ck_assert_uint_eq(touches()->count.left, 1);
	/* The copy is what it was. */
	ck_assert_uint_eq(touches()->n, PAGES);
}

static const struct {
	enum wire_error code;
	int err;
} refusals[] = {
	{ WIRE_E_AUTH, -EPERM },
	{ WIRE_E_BUSY, -EBUSY },
	{ WIRE_E_QUOTA, -EDQUOT },
	{ WIRE_E_NAME, -EINVAL },
	{ WIRE_E_INTERNAL, -EIO },
};

LOOP_TEST(a_refusal_has_an_error_and_a_sentence, 0, BASE_NELEM(refusals))
{
	one_open(&plain, 2);
	model.count_error = refusals[_i].code;
	ck_assert_int_eq(nodes_session_count(session, 0, 1, REFCNT_REFS, false,
	    0), 0);
	peer_serve(&peer);
	ck_assert_int_eq(touches()->count.error, refusals[_i].err);
	ck_assert_str_eq(touches()->count.why, "no");
}

TEST(the_memory_of_the_machine_is_told)
{
	const struct nodes_memory *m;

	one_open(&plain, 2);
	ck_assert_int_eq(nodes_session_ask_memory(session, "cpu"), 0);
	m = nodes_session_memory(session);
	ck_assert(m->pending);
	peer_serve(&peer);
	m = nodes_session_memory(session);
	ck_assert_int_eq(m->error, 0);
	ck_assert_uint_eq(m->n, 2);
	ck_assert_uint_eq(m->counters, 2);
	ck_assert_uint_eq(m->bits, 11);
	ck_assert_uint_eq(m->at[1].node, 1);
	ck_assert_uint_eq(m->at[1].counters, 512);
	ck_assert_str_eq(m->at[1].name, "n\\x1Bde");
	ck_assert_int_eq(nodes_session_ask_memory(session, "0-9999"), 0);
	peer_serve(&peer);
	m = nodes_session_memory(session);
	ck_assert_int_eq(m->error, -EINVAL);
	ck_assert_uint_eq(m->n, 2);
}

TEST(a_question_on_a_lost_link_has_an_end)
{
	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(nodes_session_ask_refcnt(session, 0, 0, REFCNT_HW), 0);
	ck_assert_int_eq(nodes_session_count(session, 0, 1, REFCNT_REFS, true, 0),
	    0);
	signal(SIGPIPE, SIG_IGN);
	peer_hang_up(&peer);
	peer_cycles(&peer, session, 2);
	ck_assert(!touches()->pending);
	ck_assert(!touches()->count.pending);
	ck_assert_int_lt(touches()->error, 0);
	ck_assert_int_lt(touches()->count.error, 0);
	ck_assert_uint_eq(touches()->n, PAGES);
}

TEST(another_stream_has_other_counts)
{
	struct nodes_session_opts opts = { .stream = model.name };

	one_open(&plain, 2);
	ask();
	ck_assert_int_eq(nodes_session_switch(session, &opts), 0);
	ck_assert_uint_eq(touches()->n, 0);
	ck_assert_uint_eq(touches()->nranges, 0);
	peer_cycles(&peer, session, 3);
	ask();
	ck_assert_uint_eq(touches()->no, 2);
}

TEST(without_a_stream_there_is_nothing_to_ask)
{
	session = open_session(&peer, &plain);
	ck_assert_int_eq(nodes_session_ask_refcnt(session, 0, 0, REFCNT_WIDE),
	    -ENOENT);
	ck_assert_int_eq(nodes_session_count(session, 0, 1, REFCNT_REFS, true, 0),
	    -ENOENT);
}
