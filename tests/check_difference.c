/*
 * The difference to a mark, against a copy of the list that a test keeps by
 * itself.
 */
#include <sys/resource.h>

#include "../src/pagek/panels/difference_page.h"
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/rows/rows.h"
#include "difference_rig.h"

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

static bool
is_below_main(unsigned at, uint64_t of)
{
	(void)of;
	return caller_of(at) != rec_site_caller(5);
}

static bool
is_by_zmalloc(unsigned at, uint64_t of)
{
	return is_below_main(at, of) && caller_of(at) != rec_site_caller(3);
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

CASE("sums", .setup = setup_difference, .teardown = teardown);

LOOP_TEST(groups_sum_what_came_and_went_whatever_addresses_are_used_again, 0,
    BASE_NELEM(kinds))
{
	const struct difference_group *g;
	struct difference *s;
	unsigned round;
	struct difference_sum change;
	size_t i;

	page_set_group(&page, page_group_kind_called(kinds[_i].kind));
	live_on(700);
	mark();
	for (round = 0; round < 40; round++) {
		live_on(1 + any(60));
		s = settle();
		assert_sums(&s->shown.total, naive_sums(is_any, 0));
		ck_assert_uint_eq(s->shown.blocks, live_in(place));
		for (i = 0; (g = difference_group(s, i)) != NULL; i++) {
			assert_sums(&g->sum, naive_sums(kinds[_i].in,
			    g->tag != 0 ? g->tag : g->caller));
			ck_assert(i == 0 || difference_net(&g->sum) <=
			    difference_net(&s->groups.row[i - 1].sum));
			ck_assert(difference_of_group(&page, g->key,
			    difference_group_kind(s)->by, &change));
			ck_assert_mem_eq(&change, &g->sum, sizeof change);
		}
		ck_assert_uint_ge(i, 1);
	}
	ck_assert(!difference_of_group(&page, 1, PROFILE_FRAME, &change));
	ck_assert(difference_of_group(&page, 12345, difference_group_kind(s)->by,
	    &change) && change.new.blocks == 0 && change.freed.blocks == 0);
}

TEST(functions_sum_to_the_whole)
{
	const struct difference_group *g;
	struct difference_sum sum = { 0 };
	struct difference *s;
	size_t i;

	live_on(500);
	mark();
	live_on(500);
	s = settle();
	ck_assert_str_eq(difference_group_kind(s)->word, "function");
	for (i = 0; (g = difference_group(s, i)) != NULL; i++) {
		sum.new.blocks += g->sum.new.blocks;
		sum.new.bytes += g->sum.new.bytes;
		sum.freed.blocks += g->sum.freed.blocks;
		sum.freed.bytes += g->sum.freed.bytes;
		sum.new.listed += g->sum.new.listed;
		sum.new.listed_bytes += g->sum.new.listed_bytes;
		sum.freed.listed += g->sum.freed.listed;
		sum.freed.listed_bytes += g->sum.freed.listed_bytes;
	}
	ck_assert_uint_gt(i, 1);
	assert_sums(&sum, naive_sums(is_any, 0));
}

/* By any frame a block is in as many groups as its stack has functions. */
TEST(by_any_frame_a_group_has_all_stacks_that_go_through_it)
{
	static const struct {
		const char *name;
		bool (*in)(unsigned at, uint64_t of);
	} functions[] = {
		{ "main", is_below_main }, { "zmalloc", is_by_zmalloc },
	};
	const struct difference_group *g;
	struct page_group_words words;
	struct difference *s;
	struct difference_sum change;
	unsigned round, k, met;
	size_t i;

	page_set_group(&page, page_group_kind_called("frame"));
	live_on(500);
	mark();
	for (round = 0; round < 10; round++) {
		live_on(50);
		s = settle();
		ck_assert_str_eq(difference_group_kind(s)->word, "frame");
		met = 0;
		for (i = 0; (g = difference_group(s, i)) != NULL; i++) {
			page_diff_name(&page, &scene.view, s, g, &words);
			for (k = 0; k < BASE_NELEM(functions); k++)
				if (strcmp(words.name, functions[k].name) ==
				    0) {
					met++;
					assert_sums(&g->sum, naive_sums(
					    functions[k].in, 0));
				}
			ck_assert(difference_of_group(&page, g->key,
			    PROFILE_FRAME, &change));
			ck_assert_mem_eq(&change, &g->sum, sizeof change);
		}
		ck_assert_uint_eq(met, BASE_NELEM(functions));
		assert_sums(&s->shown.total, naive_sums(is_any, 0));
	}
}

/* What came is as old as it is now, what was freed as it was at the mark. */
static uint64_t
tag_of(const struct page_group_kind *k, const struct naive *n, unsigned at,
    int64_t then)
{
	struct blk b = { .addr = addr_of(at), .seq = n->seq, .size = n->size,
		.ms = n->ms, .caller = caller_of(at),
		.type = (uint8_t)type_of_place(at),
		.thread = (uint16_t)thread_of_place(at) };

	return k->tag(&scene.view, then, &b);
}

static struct sums
naive_by_time(const struct page_group_kind *k, uint64_t tag)
{
	struct sums s = { 0 };
	unsigned at;

	for (at = 0; at < PLACES; at++) {
		if (is_still(marked_place, at))
			continue;
		if (place[at].live && tag_of(k, &place[at], at,
		    scene.look.now_ms) == tag) {
			s.came++;
			s.came_bytes += (double)place[at].size;
		}
		if (marked_place[at].live && tag_of(k, &marked_place[at], at,
		    marked_ms) == tag) {
			s.went++;
			s.went_bytes += (double)marked_place[at].size;
		}
	}
	return s;
}

LOOP_TEST(by_time_groups_have_a_comparison_of_their_own, 0, 2)
{
	static const char *const words[] = { "age", "born" };
	const struct page_group_kind *k = page_group_kind(
	    page_group_kind_called(words[_i]));
	const struct difference_group *g;
	struct difference_sum sum;
	struct difference *s;
	struct difference_sum change;
	unsigned round, n;
	size_t i;

	page_set_group(&page, page_group_kind_called("site"));
	live_on(200);
	scene.look.now_ms += 40000;
	live_on(200);
	mark();
	settle();
	page_set_group(&page, page_group_kind_called(words[_i]));
	for (round = 0; round < 10; round++) {
		scene.look.now_ms += 3000;
		live_on(40);
		s = settle();
		ck_assert_str_eq(difference_group_kind(s)->word, words[_i]);
		sum = (struct difference_sum){ 0 };
		for (i = 0; (g = difference_group(s, i)) != NULL; i++) {
			assert_sums(&g->sum, naive_by_time(k, g->tag));
			sum.new.blocks += g->sum.new.blocks;
			sum.freed.blocks += g->sum.freed.blocks;
			difference_rises(s, g, &n);
			ck_assert_uint_eq(n, 0);
			ck_assert(!difference_of_group(&page, g->key,
			    PROFILE_TAG, &change));
		}
		ck_assert_uint_gt(i, 1);
		ck_assert_double_eq(sum.new.blocks, s->shown.total.new.blocks);
		ck_assert_double_eq(sum.freed.blocks, s->shown.total.freed.blocks);
	}
	/* Meanwhile the other one has taken its points. */
	page_set_group(&page, page_group_kind_called("site"));
	s = settle();
	ck_assert_uint_ge(s->points.n, 4);
	assert_sums(&s->shown.total, naive_sums(is_any, 0));
}

/* What those have in common that differ no more is no place of a group. */
TEST(names_are_of_the_callers_that_differ)
{
	struct difference *s;

	mark();
	put(0, 100);
	put(1, 100);
	s = settle();
	ck_assert_uint_eq(profile_callers(s->profile), 2);
	take(0);
	s = settle();
	ck_assert_uint_eq(profile_callers(s->profile), 1);
}

/* Of a list that is new from the mark on, both pages have the same groups. */
LOOP_TEST(groups_are_called_as_on_page_k, 0, 16)
{
	static const char *const words[] = { "function", "site", "line",
		"module", "frame", "type", "thread", "born" };
	const struct profile_group *row;
	struct page_group_words here, there;
	const struct difference_group *g;
	struct difference *s;
	size_t i, k, met = 0;

	scene_late = _i % 2 == 0 ? 0 : ~0u;
	page_set_group(&page, page_group_kind_called(words[_i / 2]));
	mark();
	live_on(300);
	s = settle();
	for (i = 0; (g = difference_group(s, i)) != NULL; i++) {
		page_diff_name(&page, &scene.view, s, g, &here);
		ck_assert(here.name[0] != '\0' && here.name[0] != '?');
		for (k = 0; (row = page_groups_row(page.groups, k)) != NULL;
		    k++) {
			if (row->key != g->key)
				continue;
			page_group_say(&page, &scene.view,
			    difference_group_kind(s), row, &there);
			ck_assert_str_eq(here.name, there.name);
			ck_assert_str_eq(here.where, there.where);
			met++;
		}
	}
	ck_assert_uint_eq(met, page.groups->nrow);
	ck_assert_uint_eq(met, i);
}

TEST(groups_of_the_page_have_a_column_once_there_is_a_mark)
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

TEST(large_lists_are_compared_in_portions)
{
	struct difference *s;
	unsigned i, pictures = 0;

	mark_many();
	for (i = 0; i < MANY_BLOCKS; i += 3)
		scene_free(&scene, many_addr(i));
	for (i = 0; i < 1000; i++)
		scene_alloc(&scene, 0x200000000 + i * 0x10ul, 64, TYPE_MALLOC,
		    1, rec_site_caller(1 + i % 5), scene.look.now_ms);
	later();
	do {
		look(80, 24);
		s = difference_ensure(&page);
		ck_assert_uint_lt(++pictures, 50);
		ck_assert(s->known || shows("comparing: ") ||
		    shows("being copied"));
	} while (!s->known);
	ck_assert_uint_ge(pictures, 4);
	ck_assert_double_eq(s->shown.total.new.blocks, 1000);
	/* Those at the end were freed before they were copied. */
	ck_assert_uint_eq(s->shown.total.freed.blocks + (double)(MANY_BLOCKS -
	    page.marked->ncopy), MANY_BLOCKS / 3);
	look(80, 24);
	ck_assert(shows("freed before the mark was copied"));
}

/* Rows before the one that it has come to go, and it is still there. */
TEST(comparison_goes_on_where_it_was_while_blocks_go)
{
	struct difference *s;
	unsigned i;

	mark_many();
	while (page.marked->copying)
		compose(80, 24);
	s = difference_ensure(&page);
	s->wanted.watched = true;
	compose(80, 24);
	ck_assert_int_eq(s->step, COMPARE_WALK);
	for (i = 0; i < 1000; i++)
		scene_free(&scene, many_addr(i));
	later();
	while (s->step == COMPARE_WALK)
		compose(80, 24);
	/* They had been passed by then. */
	ck_assert_double_eq(s->shown.total.freed.blocks, 0);
	ck_assert_double_eq(settle()->shown.total.freed.blocks, 1000);
}

TEST(a_sample_is_scaled)
{
	struct difference *s;

	setup_sample();
	put(0, 100);
	later();
	mark();
	put(1, 100);
	take(0);
	s = settle();
	ck_assert_double_gt(s->shown.total.new.blocks, 10000);
	ck_assert_double_eq(s->shown.total.new.blocks, s->shown.total.freed.blocks);
	ck_assert_uint_eq(s->shown.total.new.listed, 1);
	ck_assert_uint_eq(s->shown.total.new.listed_bytes, 100);
	ck_assert_uint_eq(s->shown.total.freed.listed, 1);
}

/* One block of 100 bytes in a sample of 1 MiB stands for 10,486. */
TEST(all_sums_of_a_sample_are_marked_estimates)
{
	const char *const sums = "~1.0 MiB/~10,486 -> ~2.0 MiB/~20,973 blocks";
	struct filter_error e;

	setup_sample();
	put(0, 100);
	later();
	mark();
	put(1, 100);
	(void)settle();
	ck_assert(shows(sums) && shows("~10,486 new") &&
	    shows("~0 freed"));
	/* A filter has the sums of what it lets through, and of nothing else. */
	ck_assert_int_eq(page_choice_filter(&page, "size>0", &e), 0);
	(void)settle();
	ck_assert(shows(sums) && shows("~10,486 new") &&
	    shows("~0 freed"));
}

/* What goes before it is copied is known by its number, and by what that stands for. */
TEST(early_frees_of_a_sample_are_estimates)
{
	setup_sample();
	put(0, 100);
	later();
	mark();
	page.marked->mark.blocks++;
	page.marked->mark.est_blocks += 10486;
	page.marked->mark.est_bytes += 1048576;
	(void)settle();
	ck_assert_uint_eq(difference_freed_early(&page), 10486);
	ck_assert(shows("~10,486 more, ~1.0 MiB, were freed before"));
}

/* --- points --------------------------------------------------------------- */

static const struct difference_group *
group_called_by(const struct difference *s, uint64_t caller)
{
	size_t i;

	for (i = 0; i < s->groups.n; i++)
		if (s->groups.row[i].caller == caller)
			return &s->groups.row[i];
	return NULL;
}

/* Site 1 leaks, site 2 goes up and down, site 3 is as it was after a while. */
TEST(only_what_grows_in_each_interval_is_called_a_leak)
{
	const struct difference_group *g;
	struct difference *s;
	unsigned i, k, n, points;
	int64_t interval = 5000;
	double held = 0, at[DIFFERENCE_POINTS + 1];

	page_set_group(&page, page_group_kind_called("site"));
	mark();
	s = difference_ensure(&page);
	put(2, 100);
	for (i = 0; i < 60; i++) {
		put(5 * i, 100 + i);
		held += 100 + i;
		if (i % 2 == 0)
			put(1, 100);
		else
			take(1);
		points = s->points.n;
		scene.look.now_ms += s->points.interval_ms;
		s = settle();
		ck_assert_uint_le(s->points.n, DIFFERENCE_POINTS);
		ck_assert(s->points.n == points + 1 ||
		    s->points.n == DIFFERENCE_POINTS / 2 + 1);
		for (k = 0; s->points.n <= points &&
		    k < DIFFERENCE_POINTS / 2; k++)
			at[k] = at[2 * k + 1];
		at[s->points.n - 1] = held;
		g = group_called_by(s, caller_of(0));
		for (k = 0; k < s->points.n; k++)
			ck_assert_double_eq(g->net[k], at[k]);
		ck_assert_uint_eq(difference_rises(s, g, &n), s->points.n);
		ck_assert_uint_eq(n, s->points.n);
		if (s->points.n >= 4) {
			g = group_called_by(s, caller_of(2));
			ck_assert_uint_le(difference_rises(s, g, &n), 1);
			g = group_called_by(s, caller_of(1));
			ck_assert(g == NULL ||
			    difference_rises(s, g, &n) * 4 < n * 3);
		}
		if (s->points.interval_ms > interval)
			interval *= 2;
		ck_assert_int_eq(s->points.interval_ms, interval);
	}
	ck_assert_int_gt(interval, 10000);
	look(124, 24);
	ck_assert(shows("LEAK? "));
	for (i = 0, n = 0; i < (unsigned)pic.rows; i++)
		n += strstr(pic.line[i].text, "LEAK?") != NULL;
	ck_assert_uint_eq(n, 1);
}

TEST(points_are_taken_while_nobody_looks)
{
	unsigned i;

	mark();
	for (i = 0; i < 5; i++) {
		put(5 * i, 100);
		scene.look.now_ms += 5000;
		later();
		compose(80, 24);
	}
	ck_assert_uint_eq(difference_ensure(&page)->points.n, 5);
	/* And nothing else is compared. */
	put(50, 100);
	later();
	compose(80, 24);
	ck_assert_double_eq(difference_ensure(&page)->shown.total.new.blocks, 5);
}

CASE("limits", .setup = setup_difference, .teardown = teardown,
    .tags = TAG_KERNEL);

#ifndef SANITIZED
TEST(without_memory_there_is_no_comparison_until_there_is_some)
{
	struct rlimit all, none;
	struct difference *s;
	unsigned i;

	mark();
	put(1, 100);
	settle();
	for (i = 0; i < 60000; i++)
		scene_alloc(&scene, many_addr(i), 32, TYPE_MALLOC, 1,
		    0x400000 + i, scene.look.now_ms);
	later();
	s = difference_ensure(&page);
	s->wanted.watched = true;
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &all), 0);
	none = all;
	none.rlim_cur = 1 << 20;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	i = 0;
	while (difference_refresh(&page, &scene.view) == 0 && i < 10)
		i++;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &all), 0);
	ck_assert_uint_lt(i, 10);
	ck_assert(!s->known && s->groups.n == 0);
	s = settle();
	ck_assert_double_eq(s->shown.total.new.blocks, 60001);
	ck_assert(s->cells.cut && shows("Too many callers"));
}
#endif
