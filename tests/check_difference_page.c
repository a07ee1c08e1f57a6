/*
 * Page H, which shows the difference to a mark: its blocks, its views, and the
 * group that is open on it.
 */
#include "../src/pagek/history/history.h"
#include "../src/pagek/panels/difference_page.h"
#include "../src/pagek/rows/rows.h"
#include "difference_rig.h"

/* --- blocks --------------------------------------------------------------- */

static void
assert_blocks(const struct difference *s, bool (*in)(unsigned, uint64_t),
    uint64_t of)
{
	struct sums want = naive_sums(in, of);
	size_t i;
	unsigned at;

	ck_assert_double_eq((double)s->shown.new.n, want.came);
	ck_assert_double_eq((double)s->shown.freed.n, want.went);
	for (i = 0; i < s->shown.new.n; i++) {
		const struct blk *b = &s->shown.new.blk[i].blk;

		at = (unsigned)((b->addr - addr_of(0)) / 0x100);
		ck_assert(in(at, of) && place[at].live &&
		    place[at].seq == b->seq);
	}
	for (i = 0; i < s->shown.freed.n; i++) {
		const struct blk *b = &s->shown.freed.blk[i].blk;

		at = (unsigned)((b->addr - addr_of(0)) / 0x100);
		ck_assert(in(at, of) && marked_place[at].live &&
		    marked_place[at].seq == b->seq &&
		    marked_place[at].size == b->size &&
		    type_of_place(at) == b->type &&
		    thread_of_place(at) == b->thread);
		ck_assert(!is_still(marked_place, at));
	}
}

CASE("page H", .setup = setup_difference, .teardown = teardown);

TEST(blocks_are_those_that_came_and_those_that_went)
{
	unsigned round;

	live_on(700);
	mark();
	page_diff_toggle(&diff);
	for (round = 0; round < 30; round++) {
		live_on(1 + any(80));
		assert_blocks(settle(), is_any, 0);
	}
}

TEST(enter_lists_the_blocks_of_the_group)
{
	struct difference *s;
	uint64_t caller;
	struct blk b;
	bool live;

	page_set_group(&page, page_group_kind_called("site"));
	live_on(700);
	mark();
	live_on(700);
	s = settle();
	page_diff_move(&diff, &page, 1, false);
	caller = difference_group(s, 1)->caller;
	ck_assert(page_diff_open(&diff, &page, &scene.view));
	assert_blocks(settle(), has_caller, caller);
	ck_assert(page_diff_block(&diff, &page, &b, &live));
	ck_assert(live && has_caller((unsigned)((b.addr - addr_of(0)) / 0x100),
	    caller));
	ck_assert(!page_diff_open(&diff, &page, &scene.view));
	ck_assert(page_diff_back(&diff));
	settle();
	ck_assert_uint_eq(diff.list.selected, 1);
	ck_assert(!page_diff_back(&diff));
}

TEST(views_show_what_they_say)
{
	struct difference *s;
	size_t all, i;

	page_set_group(&page, page_group_kind_called("site"));
	put(0, 10);
	put(1, 10);
	put(3, 10);
	later();
	mark();
	take(0);
	take(1);
	put(1, 20);
	put(2, 10);
	s = settle();
	all = diff.rows;
	ck_assert_uint_eq(all, 3);
	for (i = DIFF_NEW; i < DIFF_VIEWS; i++) {
		page_diff_next_view(&diff);
		ck_assert_uint_eq(diff.view, i);
		settle();
		ck_assert_uint_eq(diff.rows, 2);
	}
	page_diff_next_view(&diff);
	ck_assert_uint_eq(diff.view, DIFF_ALL);
	page_diff_toggle(&diff);
	settle();
	ck_assert_uint_eq(diff.rows, 4);
	ck_assert(shows("new ") && shows("freed "));
	page_diff_next_view(&diff);
	settle();
	ck_assert_uint_eq(diff.rows, 2);
	ck_assert_uint_eq(s->shown.new.n, 2);
}

/* A number that is cut would be another number. */
TEST(no_number_is_cut)
{
	struct difference_group g = { .type = -1 };
	struct page_diff_row row = { .v = &scene.view, .g = &g };
	char text[FIELD_CELL];

	g.sum.new.blocks = g.sum.freed.blocks = 12345678;
	g.sum.new.bytes = g.sum.freed.bytes = 9e14;
	for (size_t i = 0; i < page_diff_fields.n; i++) {
		const struct field *f = &page_diff_fields.field[i];

		if (!f->column.figure || f->column.cell == NULL)
			continue;
		f->column.cell(&row, text);
		ck_assert_msg((int)strlen(text) <= f->column.width, "%s",
		    text);
		if (f->key != NULL && strstr(f->key, "_blocks") != NULL)
			ck_assert_str_eq(text, "12.3M");
	}
}

TEST(cursor_stays_on_its_group_while_others_pass_it)
{
	struct difference *s;
	uint64_t key;
	unsigned i;

	page_set_group(&page, page_group_kind_called("site"));
	mark();
	for (i = 0; i < 5; i++)
		put(i, 1000 - i);
	s = settle();
	page_diff_move(&diff, &page, 1, false);
	key = difference_group(s, 1)->key;
	for (i = 0; i < 5; i++)
		put(100 + 5 * i + 4, 2000);
	s = settle();
	ck_assert_uint_eq(diff.list.selected, 2);
	ck_assert_uint_eq(difference_group(s, 2)->key, key);
}

TEST(an_open_group_stays_open_when_its_names_come)
{
	struct difference *s;
	uint64_t key;

	scene_late = ~0u;
	mark();
	put(0, 100);
	put(2, 100);
	s = settle();
	key = s->groups.row[0].key;
	ck_assert_uint_eq(s->groups.row[0].caller, caller_of(0));
	ck_assert(page_diff_open(&diff, &page, &scene.view));
	s = settle();
	ck_assert_uint_eq(s->shown.new.n, 1);
	names_come();
	ck_assert_uint_ne(diff.of.key, key);
	ck_assert_uint_eq(s->shown.new.n, 1);
	ck_assert(!shows("comparing"));
}

/* Whose group it is was not known when the list was looked through. */
TEST(a_new_callers_blocks_are_listed_at_once)
{
	struct difference *s;

	page_set_group(&page, page_group_kind_called("thread"));
	mark();
	put(0, 100);
	settle();
	ck_assert(page_diff_open(&diff, &page, &scene.view));
	s = settle();
	ck_assert_uint_eq(s->shown.new.n, 1);
	put(1, 100);
	later();
	look(124, 24);
	for (int i = 0; i < 3; i++)
		look(124, 24);
	ck_assert_uint_eq(s->shown.new.n, 2);
}

TEST(another_mark_begins_anew)
{
	live_on(300);
	mark();
	live_on(300);
	settle();
	ck_assert(page_diff_open(&diff, &page, &scene.view));
	settle();
	mark();
	ck_assert_double_eq(settle()->shown.total.new.blocks, 0);
	ck_assert(!diff.by_block && diff.of.key == 0);
	ck_assert(shows("0 new  0 freed"));
}

TEST(lost_mark_is_told)
{
	live_on(300);
	mark();
	live_on(30);
	settle();
	scene.look.stream_no++;
	later();
	look(80, 24);
	ck_assert(shows("The mark is lost"));
}

TEST(losses_are_told)
{
	live_on(300);
	mark();
	scene.look.loss.lost[1] = 1234;
	settle();
	ck_assert(shows("INCOMPLETE: 1,234 records were lost since the mark"));
}

TEST(a_list_that_was_full_since_is_told)
{
	live_on(300);
	scene.look.loss.full = 5;
	mark();
	settle();
	ck_assert(!shows("INCOMPLETE"));
	scene.look.loss.full = 6;
	settle();
	ck_assert(shows("INCOMPLETE: the list was full"));
}

/* As if some had been freed before the copy of the mark came by. */
TEST(what_nobody_could_judge_is_no_exact_figure)
{
	struct filter_error e;

	live_on(300);
	mark();
	settle();
	ck_assert(!shows(">="));
	ck_assert_int_eq(page_choice_filter(&page, "size>0", &e), 0);
	settle();
	ck_assert(!shows(">="));
	page.marked->mark.blocks += 3;
	settle();
	ck_assert(shows(" >="));
}

LOOP_TEST(what_does_not_go_on_is_said_in_line_1, 0, 2)
{
	int cols = _i == 0 ? 124 : 40;

	live_on(300);
	mark();
	live_on(30);
	settle();
	ck_assert_ptr_null(strstr(pic.line[0].text, "ENDED"));
	scene.look.state = NODES_ENDED;
	scene_refresh(&scene);
	look(cols, 24);
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, "ENDED"));
	scene.look.state = NODES_LIVE;
	scene_refresh(&scene);
	pause_now();
	page_view_paused(&scene.view, &page);
	look(cols, 24);
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, "PAUSED"));
}

LOOP_TEST(page_h_fits_any_terminal, 0, 4)
{
	static char name[4200];
	int cols, rows;

	memset(name, 'x', sizeof name - 1);
	memcpy(name, "a\033[2J<b\xff\n", 9);
	scene_symbol_override = _i % 2 != 0 ? name : NULL;
	live_on(700);
	mark();
	live_on(700);
	if (_i >= 2)
		page_diff_toggle(&diff);
	settle();
	for (cols = 1; cols < 150; cols += cols < 50 ? 1 : 7)
		for (rows = 1; rows < 30; rows++) {
			ck_assert_int_eq(page_diff_compose(&diff, &page,
			    &scene.view, cols, rows, &pic), 0);
			assert_fits(cols, 0);
			ck_assert_int_le(pic.rows, rows);
			ck_assert(!shows("\033"));
			page_diff_move(&diff, &page, (rows % 5) - 2, false);
		}
}
