/*
 * Marks, against a copy of the list that a test keeps by itself.
 */
#include <errno.h>
#include <sys/resource.h>

#include "../src/pagek/rows/frozen_order.h"
#include "harness.h"
#include "naive.h"

#define MANY 150000u

static void
refresh(void)
{
	page_marked_refresh(&page, &scene.view);
}

/* --- the mark ------------------------------------------------------------ */

static void
assert_counts(void)
{
	struct page_mark_counts c;
	unsigned still = still_in(marked_place);

	ck_assert(page_mark_counts(&page, &scene.view, &c));
	ck_assert_uint_eq(c.new, live_in(place) - still);
	ck_assert_uint_eq(c.freed, live_in(marked_place) - still);
	ck_assert_uint_eq(c.blocks, live_in(place));
	ck_assert_uint_eq(c.early, 0);
}

CASE("mark", .setup = setup_naive, .teardown = teardown);

LOOP_TEST(counts_are_those_of_a_copy_whatever_addresses_are_used_again, 0, 5)
{
	int i, rounds = check_rounds(4000);

	seed = (uint32_t)check_seed(seed + (unsigned)_i);
	live_on(any(300));
	mark();
	for (i = 0; i < rounds; i++) {
		live_on(1 + any(20));
		refresh();
		assert_counts();
		if (any(400) == 0)
			mark();
	}
}

TEST(mark_of_an_empty_list_has_all_blocks_new)
{
	struct page_mark_counts c;

	mark();
	live_on(100);
	assert_counts();
	ck_assert(page_mark_counts(&page, &scene.view, &c));
	ck_assert_uint_eq(c.new, c.blocks);
	ck_assert_uint_eq(c.freed, 0);
}

/* A fork's child numbers what it has inherited from 0 downwards. */
TEST(inherited_blocks_are_older_than_any_mark)
{
	struct blk b = { .addr = 0x1000, .size = 8,
		.flags = REC_FLAGS(REC_ALLOC, 1), .type = TYPE_MALLOC };
	struct page_mark_counts c;
	unsigned i;

	for (i = 0; i < 10; i++) {
		b.addr += 0x100;
		b.seq = (uint64_t)-(int64_t)(10 - i);
		ck_assert_int_eq(blklist_put(scene.list, &b), 0);
	}
	later();
	mark();
	put(1, 100);
	later();
	ck_assert(page_mark_counts(&page, &scene.view, &c));
	ck_assert_uint_eq(c.new, 1);
	ck_assert_uint_eq(c.freed, 0);
	ck_assert_uint_eq(page.marked->ncopy, 10);
}

TEST(copy_has_what_was_there_oldest_first)
{
	size_t i;
	unsigned at;

	live_on(1000);
	mark();
	refresh();
	ck_assert(!page.marked->copying);
	ck_assert_uint_eq(page.marked->ncopy, live_in(place));
	for (i = 0; i < page.marked->ncopy; i++) {
		const struct page_copied *o = &page.marked->copy[i];

		at = (unsigned)(((o->w0 & REC_ADDR_MASK) - addr_of(0)) /
		    0x100);
		ck_assert(i == 0 || o[-1].seq < o->seq);
		ck_assert(at < PLACES && place[at].seq == o->seq);
		ck_assert_uint_eq(place[at].size, o->w1 & REC_ADDR_MASK);
		ck_assert_uint_eq(o->w1 >> 48, thread_of_place(at));
		ck_assert_uint_eq(o->caller, caller_of(at));
	}
}

/* --- marks of the node ------------------------------------------------------ */

/* A mark of this moment, as a node has it; the test keeps its copy of the list. */
static struct wire_named_mark
node_mark(void)
{
	struct wire_named_mark at = { .name = "deploy-42" };
	const struct page_moment *m;

	mark();
	m = &page.marked->mark;
	at.seq = m->seq;
	at.ms = m->ms;
	at.blocks = at.est_blocks = m->blocks;
	at.bytes = at.est_bytes = m->bytes;
	page_mark_clear(&page);
	return at;
}

/* Places freed and taken again before the page came are told from all others. */
LOOP_TEST(since_an_earlier_mark_new_and_freed_are_exact, 0, 3)
{
	struct page_mark_counts c;
	struct wire_named_mark at;
	unsigned still;

	seed = (uint32_t)check_seed(seed + (unsigned)_i);
	live_on(500);
	later();
	at = node_mark();
	live_on(300 * ((unsigned)_i + 1));
	later();
	still = still_in(marked_place);
	ck_assert_int_eq(page_mark_choose(&page, &scene.view, &at, true), 0);
	refresh();
	ck_assert(page_mark_counts(&page, &scene.view, &c));
	ck_assert_uint_eq(c.new, live_in(place) - still);
	ck_assert_uint_eq(c.freed, at.blocks - still);
	/* What was freed before the page came is in no row, and is counted. */
	ck_assert_uint_eq(c.early, at.blocks - still);
	ck_assert_uint_eq(page.marked->ncopy, still);
	ck_assert(page.marked->chains->blind);
	live_on(50);
	refresh();
	ck_assert(page_mark_counts(&page, &scene.view, &c));
	ck_assert_uint_eq(c.new, live_in(place) - still_in(marked_place));
	ck_assert_uint_eq(c.early, at.blocks - still);
}

TEST(a_mark_that_the_list_has_not_come_to_is_waited_for)
{
	struct wire_named_mark at;

	live_on(10);
	later();
	at = node_mark();
	at.seq++;
	ck_assert_int_eq(page_mark_choose(&page, &scene.view, &at, false),
	    -EAGAIN);
	ck_assert(!page_is_marked(&page));
}

TEST(a_chosen_mark_is_called_by_its_name)
{
	char text[PAGE_MARK_TEXT], when[PAGE_MARK_WHEN];
	struct wire_named_mark at;

	live_on(10);
	later();
	at = node_mark();
	at.ms -= 86400000;
	ck_assert_int_eq(page_mark_choose(&page, &scene.view, &at, true), 0);
	page_mark_text(&page, &scene.view, text);
	ck_assert_str_eq(text, "deploy-42 +0 -0");
	page_mark_when(&page, &scene.view, when);
	/* It was yesterday. */
	ck_assert_int_eq(strncmp(when, "deploy-42 20", 12), 0);
	ck_assert_uint_eq(strlen(when), strlen("deploy-42 2026-11-20 15:04:05"));
	strcpy(at.name, "a name of more than 20");
	ck_assert_int_eq(page_mark_choose(&page, &scene.view, &at, true), 0);
	page_mark_text(&page, &scene.view, text);
	ck_assert_str_eq(text, "a name of more than~ +0 -0");
	/* m takes its place. */
	mark();
	page_mark_text(&page, &scene.view, text);
	ck_assert_ptr_null(strstr(text, "name"));
}

TEST(records_lost_since_an_earlier_mark_make_it_incomplete)
{
	char text[PAGE_MARK_TEXT];
	struct wire_named_mark at;

	live_on(10);
	later();
	at = node_mark();
	scene.look.loss.lost[0] = 5;
	ck_assert_int_eq(page_mark_choose(&page, &scene.view, &at, true), 0);
	page_mark_text(&page, &scene.view, text);
	ck_assert_str_eq(text, "deploy-42 +0 -0 INCOMPLETE");
	at.lost = 5;
	ck_assert_int_eq(page_mark_choose(&page, &scene.view, &at, true), 0);
	page_mark_text(&page, &scene.view, text);
	ck_assert_str_eq(text, "deploy-42 +0 -0");
}

static void
many(void)
{
	unsigned i;

	for (i = 0; i < MANY; i++)
		scene_alloc(&scene, 0x100000000 + i * 0x10ul, 32, TYPE_MALLOC,
		    1, 0x401000, scene.look.now_ms);
	later();
}

/* What goes and comes before the copy is made. */
TEST(large_list_is_copied_in_portions_and_early_frees_are_counted)
{
	struct page_mark_counts c;
	unsigned pictures = 0, i;

	many();
	mark();
	ck_assert(page.marked->copying && page_marked_wants_all(&page));
	/* The first ones are copied by now, the last ones are not. */
	for (i = 0; i < 10; i++)
		scene_free(&scene, 0x100000000 + i * 0x10ul);
	for (i = 0; i < 30; i++)
		scene_free(&scene, 0x100000000 + (MANY - 1 - i) * 0x10ul);
	for (i = 0; i < 5; i++)
		scene_alloc(&scene, 0x200000000 + i * 0x10ul, 32, TYPE_MALLOC,
		    1, 0x401000, scene.look.now_ms);
	later();
	while (page.marked->copying) {
		refresh();
		ck_assert_uint_lt(++pictures, 20);
	}
	ck_assert_uint_ge(pictures, 2);
	ck_assert(!page_marked_wants_all(&page));
	ck_assert(page_mark_counts(&page, &scene.view, &c));
	ck_assert_uint_eq(c.new, 5);
	ck_assert_uint_eq(c.freed, 40);
	ck_assert_uint_eq(c.early, 30);
	ck_assert_uint_eq(page.marked->ncopy, MANY - 30);
}

TEST(copy_goes_on_in_another_list_of_the_same_stream)
{
	struct blk rows[256];
	struct blklist *to;
	uint64_t at = 0;
	size_t n, i;

	many();
	mark();
	ck_assert(page.marked->copying);
	ck_assert_int_eq(blklist_new(&to, BLKLIST_INDEXED, 1u << 20), 0);
	while ((n = blklist_window(scene.list, BLKLIST_BY_ADDRESS, false, at,
	    rows, 256)) > 0) {
		for (i = 0; i < n; i++)
			ck_assert_int_eq(blklist_put(to, &rows[i]), 0);
		at += n;
	}
	blklist_free(scene.list);
	scene.look.list = scene.list = to;
	later();
	while (page.marked->copying)
		refresh();
	ck_assert_uint_eq(page.marked->ncopy, MANY);
}

TEST(mark_waits_for_a_whole_list)
{
	struct page_mark_counts c;

	live_on(10);
	scene.look.window = true;
	ck_assert_int_eq(page_mark_set(&page, &scene.view), -EAGAIN);
	scene.look.window = false;
	scene.look.settled = false;
	ck_assert_int_eq(page_mark_set(&page, &scene.view), -EAGAIN);
	scene.look.settled = true;
	scene.look.behind = true;
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), -EAGAIN);
	scene.look.behind = false;
	scene.look.list = NULL;
	ck_assert_int_eq(page_mark_set(&page, &scene.view), -ENOENT);
	ck_assert(!page_is_marked(&page) && !page_is_draining(&page));
	scene.look.list = scene.list;
	mark();
	/* Nor is anything counted in a part of one. */
	ck_assert(page_mark_counts(&page, &scene.view, &c));
	scene.look.window = true;
	ck_assert(!page_mark_counts(&page, &scene.view, &c));
}

LOOP_TEST(mark_of_another_stream_is_lost_and_that_is_said, 0, 3)
{
	struct page_mark_counts c;

	live_on(100);
	mark();
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	if (_i == 0)
		scene.look.stream_no++;
	else if (_i == 1)
		scene.look.state = NODES_DORMANT;
	else
		page_mark_lose(&page);
	compose(80, 24);
	ck_assert(!page_is_marked(&page) && !page_is_draining(&page));
	ck_assert(page.marked->was_lost);
	ck_assert(_i == 2 || strstr(page.message, "lost") != NULL);
	ck_assert(!page_mark_counts(&page, &scene.view, &c));
}

/* When it was armed may be told after that it is. */
TEST(mark_outlives_the_news_of_its_arming_and_not_another_one)
{
	live_on(100);
	mark();
	scene.look.arming.since_wall_ms = TARGET_MS;
	refresh();
	ck_assert(page_is_marked(&page));
	scene.look.arming.since_wall_ms = 0;
	refresh();
	ck_assert(page_is_marked(&page));
	scene.look.arming.since_wall_ms = TARGET_MS + 5000;
	refresh();
	ck_assert(!page_is_marked(&page));
}

TEST(losses_since_the_mark_make_it_incomplete)
{
	scene.look.loss.lost[0] = 5;
	live_on(100);
	mark();
	ck_assert(!page_moment_is_incomplete(&page.marked->mark,
	    &scene.view));
	scene.look.loss.lost[1] = 1;
	ck_assert(page_moment_is_incomplete(&page.marked->mark,
	    &scene.view));
	/* Numbers tell what is new and old in a list that was taken anew. */
	scene.look.loss.mended = 1;
	ck_assert(!page_moment_is_incomplete(&page.marked->mark,
	    &scene.view));
}

CASE("limits", .setup = setup_naive, .teardown = teardown, .tags = TAG_KERNEL);

#ifndef SANITIZED
TEST(without_memory_for_a_copy_blocks_are_counted_all_the_same)
{
	struct rlimit all, none;
	struct page_mark_counts c;
	int r;

	many();
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &all), 0);
	none = all;
	none.rlim_cur = 1 << 20;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	r = page_mark_set(&page, &scene.view);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &all), 0);
	ck_assert_int_eq(r, 0);
	ck_assert(page.marked->uncopied && !page.marked->copying);
	scene_free(&scene, 0x100000000);
	later();
	ck_assert(page_mark_counts(&page, &scene.view, &c));
	ck_assert_uint_eq(c.freed, 1);
	ck_assert_uint_eq(c.early, 0);
}
#endif

CASE("mark");

TEST(wide_page_says_the_mark_where_there_is_room)
{
	live_on(100);
	mark();
	live_on(20);
	for (int cols = 1; cols < 160; cols++) {
		compose(cols, 24);
		assert_fits(cols, 24);
	}
	compose(124, 24);
	ck_assert(shows("mark: 15:02:24 +"));
	page.layout = PAGE_WIDE;
	compose(110, 24);
	ck_assert(shows("mark: 15:02:24 +"));
}
