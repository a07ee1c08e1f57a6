/*
 * The difference to a mark, against a copy of the list that a test keeps by
 * itself; and page H, which shows it.
 */
#include <sys/resource.h>

#include "../src/pagek/choice.h"
#include "../src/pagek/since.h"
#include "harness.h"
#include "naive.h"

#define MANY 150000u

static struct page_diff diff;

static void
setup_since(void)
{
	setup_naive();
	diff = (struct page_diff){ 0 };
	page.on_screen = true;
}

static void
mark(void)
{
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
	memcpy(marked_place, place, sizeof place);
}

/* A picture of page K below, and of page H over it. */
static void
look(int cols, int rows)
{
	compose(cols, rows);
	ck_assert_int_eq(page_diff_compose(&diff, &page, &scene.view, cols,
	    rows, &pic), 0);
}

/* As often as it takes for all of it to be there. */
static struct page_since *
settle(void)
{
	struct page_since *s;
	int i;

	for (i = 0; i < 100; i++) {
		later();
		look(124, 24);
		s = page_since_get(&page);
		if (i > 1 && s->step == SINCE_IDLE && s->taken)
			return s;
	}
	ck_abort_msg("no end of comparing");
	return NULL;
}

struct sums {
	double came, came_bytes, went, went_bytes;
};

/* Of the places that the group means. */
static struct sums
naive_sums(bool (*in)(unsigned at, uint64_t of), uint64_t of)
{
	struct sums s = { 0 };
	unsigned at;

	for (at = 0; at < PLACES; at++) {
		if (!in(at, of) || is_still(marked_place, at))
			continue;
		if (place[at].live) {
			s.came++;
			s.came_bytes += (double)place[at].size;
		}
		if (marked_place[at].live) {
			s.went++;
			s.went_bytes += (double)marked_place[at].size;
		}
	}
	return s;
}

static bool
is_any(unsigned at, uint64_t of)
{
	(void)at;
	(void)of;
	return true;
}

static bool
has_caller(unsigned at, uint64_t of)
{
	return caller_of(at) == of;
}

static bool
has_type(unsigned at, uint64_t of)
{
	return type_of_place(at) == of;
}

static bool
has_thread(unsigned at, uint64_t of)
{
	return thread_of_place(at) == of;
}

static void
assert_sums(const struct page_since_sum *is, struct sums want)
{
	ck_assert_double_eq(is->came, want.came);
	ck_assert_double_eq(is->came_bytes, want.came_bytes);
	ck_assert_double_eq(is->went, want.went);
	ck_assert_double_eq(is->went_bytes, want.went_bytes);
}

/* --- sums ---------------------------------------------------------------- */

static const struct {
	const char *kind;
	bool (*in)(unsigned at, uint64_t of);
} kinds[] = {
	{ "site", has_caller },
	{ "type", has_type },
	{ "thread", has_thread },
};

START_TEST(groups_sum_what_came_and_went_whatever_addresses_are_used_again)
{
	const struct page_since_group *g;
	struct page_since *s;
	unsigned round;
	int64_t bytes, blocks;
	size_t i;

	page_set_group(&page, page_group_kind_called(kinds[_i].kind));
	live_on(700);
	mark();
	for (round = 0; round < 40; round++) {
		live_on(1 + any(60));
		s = settle();
		assert_sums(&s->shown.total, naive_sums(is_any, 0));
		ck_assert_uint_eq(s->shown.blocks, live_in(place));
		for (i = 0; (g = page_since_row(s, i)) != NULL; i++) {
			assert_sums(&g->sum, naive_sums(kinds[_i].in,
			    g->tag != 0 ? g->tag : g->caller));
			ck_assert(i == 0 || page_since_net(&g->sum) <=
			    page_since_net(&s->group[i - 1].sum));
			ck_assert(page_marked_change(&page, g->key,
			    page_since_kind(s)->by, &bytes, &blocks));
			ck_assert_int_eq(bytes,
			    (int64_t)page_since_net(&g->sum));
			ck_assert_int_eq(blocks,
			    (int64_t)(g->sum.came - g->sum.went));
		}
		ck_assert_uint_ge(i, 1);
	}
	ck_assert(!page_marked_change(&page, 1, PROFILE_FRAME, &bytes,
	    &blocks));
	ck_assert(page_marked_change(&page, 12345, page_since_kind(s)->by,
	    &bytes, &blocks) && bytes == 0 && blocks == 0);
}
END_TEST

START_TEST(functions_sum_to_the_whole)
{
	const struct page_since_group *g;
	struct page_since_sum sum = { 0 };
	struct page_since *s;
	size_t i;

	live_on(500);
	mark();
	live_on(500);
	s = settle();
	ck_assert_str_eq(page_since_kind(s)->word, "function");
	for (i = 0; (g = page_since_row(s, i)) != NULL; i++) {
		sum.came += g->sum.came;
		sum.came_bytes += g->sum.came_bytes;
		sum.went += g->sum.went;
		sum.went_bytes += g->sum.went_bytes;
	}
	ck_assert_uint_gt(i, 1);
	assert_sums(&sum, naive_sums(is_any, 0));
}
END_TEST

/* Kinds that no comparison can be made by have that of functions instead. */
START_TEST(other_kinds_have_functions_on_page_h_and_no_change)
{
	static const char *const none[] = { "frame", "age", "born" };
	int64_t bytes, blocks;
	struct page_since *s;

	page_set_group(&page, page_group_kind_called(none[_i]));
	live_on(500);
	mark();
	live_on(500);
	s = settle();
	ck_assert_str_eq(page_since_kind(s)->word, "function");
	ck_assert(!page_marked_change(&page, s->group[0].key,
	    page_group_kind(page.group)->by, &bytes, &blocks));
}
END_TEST

/* The comparison is of all blocks: it says nothing of some of them. */
START_TEST(groups_of_a_part_of_their_blocks_tell_no_change)
{
	struct filter_error e;

	page_set_group(&page, page_group_kind_called("site"));
	put(0, 1000);
	later();
	mark();
	put(5, 2048);
	for (unsigned i = 0; i < 2; i++) {
		later();
		compose(124, 24);
	}
	ck_assert(shows(" +2.0 KiB "));
	ck_assert_int_eq(page_choice_filter(&page, "size<1500", &e), 0);
	later();
	compose(124, 24);
	ck_assert(shows("SINCE MK") && !shows(" +2.0 KiB "));
	page_choice_none(&page);
	later();
	compose(124, 24);
	ck_assert(shows(" +2.0 KiB "));
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	later();
	compose(124, 24);
	ck_assert(shows("SINCE MK") && !shows(" +2.0 KiB "));
}
END_TEST

START_TEST(groups_of_the_page_have_a_column_once_there_is_a_mark)
{
	page_set_group(&page, page_group_kind_called("site"));
	put(0, 1000);
	put(1, 3000);
	later();
	compose(124, 24);
	ck_assert(!shows("SINCE MK"));
	mark();
	put(5, 2048);
	take(1);
	later();
	compose(124, 24);
	later();
	compose(124, 24);
	ck_assert(shows("SINCE MK") && shows(" +2.0 KiB "));
	for (int cols = 1; cols < 150; cols++) {
		compose(cols, 24);
		assert_fits(cols, 24);
	}
}
END_TEST

START_TEST(large_lists_are_compared_in_portions)
{
	struct page_since *s;
	unsigned i, pictures = 0;

	for (i = 0; i < MANY; i++)
		scene_alloc(&scene, 0x100000000 + i * 0x10ul, 32, TYPE_MALLOC,
		    1, rec_site_caller(1 + i % 5), scene.look.now_ms);
	later();
	mark();
	for (i = 0; i < MANY; i += 3)
		scene_free(&scene, 0x100000000 + i * 0x10ul);
	for (i = 0; i < 1000; i++)
		scene_alloc(&scene, 0x200000000 + i * 0x10ul, 64, TYPE_MALLOC,
		    1, rec_site_caller(1 + i % 5), scene.look.now_ms);
	later();
	do {
		look(80, 24);
		s = page_since_get(&page);
		ck_assert_uint_lt(++pictures, 50);
		ck_assert(s->taken || shows("comparing: ") ||
		    shows("being copied"));
	} while (!s->taken);
	ck_assert_uint_ge(pictures, 4);
	ck_assert_double_eq(s->shown.total.came, 1000);
	/* Those at the end were freed before they were copied. */
	ck_assert_uint_eq(s->shown.total.went + (double)(MANY -
	    page.marked->nold), MANY / 3);
	look(80, 24);
	ck_assert(shows("freed before the mark was copied"));
}
END_TEST

/* Rows before the one that it has come to go, and it is still there. */
START_TEST(comparison_goes_on_where_it_was_while_blocks_go)
{
	struct page_since *s;
	unsigned i;

	for (i = 0; i < MANY; i++)
		scene_alloc(&scene, 0x100000000 + i * 0x10ul, 32, TYPE_MALLOC,
		    1, rec_site_caller(1 + i % 5), scene.look.now_ms);
	later();
	mark();
	while (page.marked->copying)
		compose(80, 24);
	s = page_since_get(&page);
	s->watched = true;
	compose(80, 24);
	ck_assert_int_eq(s->step, SINCE_WALK);
	for (i = 0; i < 1000; i++)
		scene_free(&scene, 0x100000000 + i * 0x10ul);
	later();
	while (s->step == SINCE_WALK)
		compose(80, 24);
	/* They had been passed by then. */
	ck_assert_double_eq(s->shown.total.went, 0);
	ck_assert_double_eq(settle()->shown.total.went, 1000);
}
END_TEST

START_TEST(a_sample_is_scaled)
{
	struct page_since *s;

	scene_fini(&scene);
	scene_init(&scene, BLKLIST_INDEXED, 1u << 16);
	blklist_sample(scene.list, 1 << 20);
	scene.look.sample = 1 << 20;
	scene.look.now_ms = 400000000;
	scene_refresh(&scene);
	put(0, 100);
	later();
	mark();
	put(1, 100);
	take(0);
	s = settle();
	ck_assert_double_gt(s->shown.total.came, 10000);
	ck_assert_double_eq(s->shown.total.came, s->shown.total.went);
	ck_assert(shows("~"));
}
END_TEST

/* --- points --------------------------------------------------------------- */

static const struct page_since_group *
group_called_by(const struct page_since *s, uint64_t caller)
{
	size_t i;

	for (i = 0; i < s->ngroup; i++)
		if (s->group[i].caller == caller)
			return &s->group[i];
	return NULL;
}

/* Site 1 leaks, site 2 goes up and down, site 3 is as it was after a while. */
START_TEST(only_what_grows_in_each_interval_is_called_a_leak)
{
	const struct page_since_group *g;
	struct page_since *s;
	unsigned i, k, n, points;
	int64_t interval = 5000;
	double held = 0, at[PAGE_SINCE_POINTS + 1];

	page_set_group(&page, page_group_kind_called("site"));
	mark();
	s = page_since_get(&page);
	put(2, 100);
	for (i = 0; i < 60; i++) {
		put(5 * i, 100 + i);
		held += 100 + i;
		if (i % 2 == 0)
			put(1, 100);
		else
			take(1);
		points = s->npoints;
		scene.look.now_ms += s->interval_ms;
		s = settle();
		ck_assert_uint_le(s->npoints, PAGE_SINCE_POINTS);
		ck_assert(s->npoints == points + 1 ||
		    s->npoints == PAGE_SINCE_POINTS / 2 + 1);
		for (k = 0; s->npoints <= points &&
		    k < PAGE_SINCE_POINTS / 2; k++)
			at[k] = at[2 * k + 1];
		at[s->npoints - 1] = held;
		g = group_called_by(s, caller_of(0));
		for (k = 0; k < s->npoints; k++)
			ck_assert_double_eq(g->net[k], at[k]);
		ck_assert_uint_eq(page_since_ups(s, g, &n), s->npoints);
		ck_assert_uint_eq(n, s->npoints);
		if (s->npoints >= 4) {
			g = group_called_by(s, caller_of(2));
			ck_assert_uint_le(page_since_ups(s, g, &n), 1);
			g = group_called_by(s, caller_of(1));
			ck_assert(g == NULL ||
			    page_since_ups(s, g, &n) * 4 < n * 3);
		}
		if (s->interval_ms > interval)
			interval *= 2;
		ck_assert_int_eq(s->interval_ms, interval);
	}
	ck_assert_int_gt(interval, 10000);
	look(124, 24);
	ck_assert(shows("LEAK? "));
	for (i = 0, n = 0; i < (unsigned)pic.rows; i++)
		n += strstr(pic.line[i].text, "LEAK?") != NULL;
	ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(points_are_taken_while_nobody_looks)
{
	unsigned i;

	mark();
	for (i = 0; i < 5; i++) {
		put(5 * i, 100);
		scene.look.now_ms += 5000;
		later();
		compose(80, 24);
	}
	ck_assert_uint_eq(page_since_get(&page)->npoints, 5);
	/* And nothing else is compared. */
	put(50, 100);
	later();
	compose(80, 24);
	ck_assert_double_eq(page_since_get(&page)->shown.total.came, 5);
}
END_TEST

/* --- blocks --------------------------------------------------------------- */

static void
assert_blocks(const struct page_since *s, bool (*in)(unsigned, uint64_t),
    uint64_t of)
{
	struct sums want = naive_sums(in, of);
	size_t i;
	unsigned at;

	ck_assert_double_eq((double)s->shown.came.n, want.came);
	ck_assert_double_eq((double)s->shown.went.n, want.went);
	for (i = 0; i < s->shown.came.n; i++) {
		const struct blk *b = &s->shown.came.blk[i].blk;

		at = (unsigned)((b->addr - addr_of(0)) / 0x100);
		ck_assert(in(at, of) && place[at].live &&
		    place[at].seq == b->seq);
	}
	for (i = 0; i < s->shown.went.n; i++) {
		const struct blk *b = &s->shown.went.blk[i].blk;

		at = (unsigned)((b->addr - addr_of(0)) / 0x100);
		ck_assert(in(at, of) && marked_place[at].live &&
		    marked_place[at].seq == b->seq &&
		    marked_place[at].size == b->size &&
		    type_of_place(at) == b->type &&
		    thread_of_place(at) == b->thread);
		ck_assert(!is_still(marked_place, at));
	}
}

START_TEST(blocks_are_those_that_came_and_those_that_went)
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
END_TEST

START_TEST(enter_lists_the_blocks_of_the_group)
{
	struct page_since *s;
	uint64_t caller;
	struct blk b;
	bool live;

	page_set_group(&page, page_group_kind_called("site"));
	live_on(700);
	mark();
	live_on(700);
	s = settle();
	page_diff_move(&diff, &page, 1);
	caller = page_since_row(s, 1)->caller;
	ck_assert(page_diff_open(&diff, &page, &scene.view));
	assert_blocks(settle(), has_caller, caller);
	ck_assert(page_diff_block(&diff, &page, &b, &live));
	ck_assert(live && has_caller((unsigned)((b.addr - addr_of(0)) / 0x100),
	    caller));
	ck_assert(!page_diff_open(&diff, &page, &scene.view));
	ck_assert(page_diff_back(&diff));
	settle();
	ck_assert_uint_eq(diff.selected, 1);
	ck_assert(!page_diff_back(&diff));
}
END_TEST

START_TEST(views_show_what_they_say)
{
	struct page_since *s;
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
	ck_assert_uint_eq(s->shown.came.n, 2);
}
END_TEST

START_TEST(cursor_stays_on_its_group_while_others_pass_it)
{
	struct page_since *s;
	uint64_t key;
	unsigned i;

	page_set_group(&page, page_group_kind_called("site"));
	mark();
	for (i = 0; i < 5; i++)
		put(i, 1000 - i);
	s = settle();
	page_diff_move(&diff, &page, 1);
	key = page_since_row(s, 1)->key;
	for (i = 0; i < 5; i++)
		put(100 + 5 * i + 4, 2000);
	s = settle();
	ck_assert_uint_eq(diff.selected, 2);
	ck_assert_uint_eq(page_since_row(s, 2)->key, key);
}
END_TEST

START_TEST(an_open_group_stays_open_when_its_names_come)
{
	struct page_since *s;
	uint64_t key;

	scene_late = ~0u;
	mark();
	put(0, 100);
	put(2, 100);
	s = settle();
	key = s->group[0].key;
	ck_assert_uint_eq(s->group[0].caller, caller_of(0));
	ck_assert(page_diff_open(&diff, &page, &scene.view));
	s = settle();
	ck_assert_uint_eq(s->shown.came.n, 1);
	scene_late = 0;
	scene.view.names_no++;
	for (int i = 0; i < 3; i++) {
		uint64_t no = scene.view.names_no + 1;

		later();
		scene.view.names_no = no;
		look(124, 24);
	}
	ck_assert_uint_ne(diff.of_key, key);
	ck_assert_uint_eq(s->shown.came.n, 1);
	ck_assert(!shows("comparing"));
}
END_TEST

START_TEST(another_mark_begins_anew)
{
	live_on(300);
	mark();
	live_on(300);
	settle();
	ck_assert(page_diff_open(&diff, &page, &scene.view));
	settle();
	mark();
	ck_assert_double_eq(settle()->shown.total.came, 0);
	ck_assert(!diff.by_block && diff.of_key == 0);
	ck_assert(shows("0 new  0 freed"));
}
END_TEST

START_TEST(lost_mark_is_told)
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
END_TEST

START_TEST(losses_are_told)
{
	live_on(300);
	mark();
	scene.look.lost[1] = 1234;
	settle();
	ck_assert(shows("INCOMPLETE: 1,234 records were lost since the mark"));
}
END_TEST

START_TEST(page_h_fits_any_terminal)
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
			page_diff_move(&diff, &page, (rows % 5) - 2);
		}
}
END_TEST

#ifndef SANITIZED
START_TEST(without_memory_there_is_no_comparison_until_there_is_some)
{
	struct rlimit all, none;
	struct page_since *s;
	unsigned i;

	mark();
	put(1, 100);
	settle();
	for (i = 0; i < 60000; i++)
		scene_alloc(&scene, 0x100000000 + i * 0x10ul, 32, TYPE_MALLOC,
		    1, 0x400000 + i, scene.look.now_ms);
	later();
	s = page_since_get(&page);
	s->watched = true;
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &all), 0);
	none = all;
	none.rlim_cur = 1 << 20;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	i = 0;
	while (page_since_refresh(&page, &scene.view) == 0 && i < 10)
		i++;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &all), 0);
	ck_assert_uint_lt(i, 10);
	ck_assert(!s->taken && s->ngroup == 0);
	s = settle();
	ck_assert_double_eq(s->shown.total.came, 60001);
	ck_assert(s->cut && shows("Too many callers"));
}
END_TEST
#endif

static Suite *
since_suite(void)
{
	Suite *s = suite_create("since");
	TCase *tc = tcase_create("sums");

	tcase_add_checked_fixture(tc, setup_since, teardown);
	tcase_add_loop_test(tc,
	    groups_sum_what_came_and_went_whatever_addresses_are_used_again, 0,
	    BASE_NELEM(kinds));
	tcase_add_test(tc, functions_sum_to_the_whole);
	tcase_add_loop_test(tc,
	    other_kinds_have_functions_on_page_h_and_no_change, 0, 3);
	tcase_add_test(tc,
	    groups_of_the_page_have_a_column_once_there_is_a_mark);
	tcase_add_test(tc, groups_of_a_part_of_their_blocks_tell_no_change);
	tcase_add_test(tc, large_lists_are_compared_in_portions);
	tcase_add_test(tc, comparison_goes_on_where_it_was_while_blocks_go);
	tcase_add_test(tc, a_sample_is_scaled);
	tcase_add_test(tc, only_what_grows_in_each_interval_is_called_a_leak);
	tcase_add_test(tc, points_are_taken_while_nobody_looks);
	suite_add_tcase(s, tc);

	tc = tcase_create("page H");
	tcase_add_checked_fixture(tc, setup_since, teardown);
	tcase_add_test(tc, blocks_are_those_that_came_and_those_that_went);
	tcase_add_test(tc, enter_lists_the_blocks_of_the_group);
	tcase_add_test(tc, views_show_what_they_say);
	tcase_add_test(tc, cursor_stays_on_its_group_while_others_pass_it);
	tcase_add_test(tc, an_open_group_stays_open_when_its_names_come);
	tcase_add_test(tc, another_mark_begins_anew);
	tcase_add_test(tc, lost_mark_is_told);
	tcase_add_test(tc, losses_are_told);
	tcase_add_loop_test(tc, page_h_fits_any_terminal, 0, 4);
	suite_add_tcase(s, tc);

#ifndef SANITIZED
	tc = tcase_create("limits");
	tcase_set_tags(tc, TAG_KERNEL);
	tcase_add_checked_fixture(tc, setup_since, teardown);
	tcase_add_test(tc,
	    without_memory_there_is_no_comparison_until_there_is_some);
	suite_add_tcase(s, tc);
#endif
	return s;
}

CHECK_MAIN(since_suite)
