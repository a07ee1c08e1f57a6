/*
 * What is shown as a document: the rows of the page, whatever they are of, in
 * each form.
 */
#include <errno.h>

#include "../src/pagek/documents/shown_export.h"
#include "../src/pagek/history/history.h"
#include "../src/pagek/panels/difference_page.h"
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/difference/difference.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

static char *text;
static size_t len;

static const uint64_t keeper[WIRE_STATS_COUNT];

static void
begin(void)
{
	setup_stacks();
	scene.look.keeper = keeper;
}

static void
end(void)
{
	free(text);
	text = NULL;
	teardown();
}

/* With so little time at once that a portion is as small as can be. */
static unsigned
export(const struct page_diff *diff, enum text_format form)
{
	FILE *out = open_memstream(&text, &len);
	struct page_export *x;
	unsigned portions = 1;

	ck_assert_int_eq(diff != NULL ? page_export_begin_diff(&x, &page,
	    &scene.view, diff, form, out) : page_export_begin(&x, &page,
	    &scene.view, form, out), 0);
	while (page_export_go_on(x, &scene.view, 1) == 0)
		portions++;
	page_export_free(x);
	fclose(out);
	return portions;
}

/* With a sanitizer strstr(3) looks for the end of the text each time. */
static unsigned
count(const char *what)
{
	const char *end = text + strlen(text), *at = text;
	size_t n = strlen(what);
	unsigned found = 0;

	for (; (at = memchr(at, what[0], (size_t)(end - at))) != NULL; at++)
		found += (size_t)(end - at) >= n && memcmp(at, what, n) == 0;
	return found;
}

CASE("export", .setup = begin, .teardown = end, .seconds = 60);

TEST(the_ending_says_which_form)
{
	enum text_format form = FORMAT_CSV;

	ck_assert_int_eq(page_export_form("a.txt", &form), 0);
	ck_assert_int_eq(form, FORMAT_TEXT);
	ck_assert_int_eq(page_export_form("/x.y/a.ndjson", &form), 0);
	ck_assert_int_eq(form, FORMAT_NDJSON);
	ck_assert_int_eq(page_export_form("a.pdf", &form), -EINVAL);
	ck_assert_int_eq(page_export_form(".csv", &form), -EINVAL);
	ck_assert_int_eq(page_export_form("/x/.csv", &form), -EINVAL);
	ck_assert_int_eq(form, FORMAT_NDJSON);
}

/* In the order shown, each a line; the head says how many there are. */
TEST(blocks_are_those_of_the_page_in_its_order)
{
	struct blk b;

	page.opts.free = true;
	page_set_order(&page, BLKLIST_BY_ADDRESS, true);
	compose(124, 30);
	ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, 0, &b, 1), 1);
	export(NULL, FORMAT_CSV);
	ck_assert_uint_eq(count("\r\n"), page_view_total(&scene.view) + 1);
	ck_assert_ptr_nonnull(strstr(text, "zmalloc"));
	ck_assert_uint_eq(strtoull(strstr(text, "\r\n") + 2, NULL, 0), b.addr);
}

TEST(what_the_filter_keeps_back_is_not_exported)
{
	struct filter_error wrong;
	struct page_chosen sums;

	ck_assert_int_eq(page_choice_filter(&page, "fn=zmalloc", &wrong), 0);
	compose(124, 30);
	page_choice_sums(&page, &sums);
	ck_assert_uint_gt(sums.blocks, 0);
	export(NULL, FORMAT_NDJSON);
	ck_assert_uint_eq(count("\n"), sums.blocks + 1);
	ck_assert_uint_eq(count("\"function\": \"zmalloc\", \"stack\""),
	    sums.blocks);
	ck_assert_ptr_nonnull(strstr(text, "\"filter\": \"fn=zmalloc\""));
}

/* Whenever it is written: ages are as of then. */
TEST(a_paused_picture_is_exported_with_its_own_time)
{
	struct nodes_look later = scene.look;

	compose(124, 30);
	later.now_ms += 90000;
	later.node_wall_ms += 90000;
	scene.view.live = &later;
	export(NULL, FORMAT_NDJSON);
	ck_assert_ptr_nonnull(strstr(text, "\"time\": \"2026-11-20T15:02:24.000Z\""));
	free(text);
	page_set_group(&page, page_group_kind_called("function"));
	compose(124, 30);
	export(NULL, FORMAT_CSV);
	ck_assert_ptr_nonnull(strstr(text, ",2026-11-20T15:02:24.000Z\r\n"));
}

/* What the keeper had counted then has been kept by nobody. */
TEST(a_picture_of_before_the_pause_has_none_of_the_keepers_numbers)
{
	int64_t ns = scene.view.now.ns;

	ck_assert_int_eq(blklist_remember(scene.list, 1024), 0);
	page.medium = PAGE_SCREEN;
	for (unsigned i = 0; i < 3; i++) {
		scene_alloc(&scene, 0x770000 + 64 * i, 32, TYPE_MALLOC, 1, 0,
		    scene.look.now_ms);
		scene.look.now_ms += 1000;
		scene.look.as_of = scene.look.work.total_records;
		scene_refresh(&scene);
		scene.view.now.ns = ns += 1000000000;
		page_history_update(&page, &scene.view);
	}
	pause_now();
	page_view_paused(&scene.view, &page);
	export(NULL, FORMAT_JSON);
	ck_assert_uint_eq(count("\"records\": null"), 0);
	free(text);
	ck_assert_int_eq(page_step(&page, true), 0);
	while (page_step_advance(&page, INT64_MAX) == -EAGAIN)
		;
	page_view_paused(&scene.view, &page);
	export(NULL, FORMAT_JSON);
	ck_assert_uint_eq(count("\"records\": null"), 1);
	ck_assert_uint_eq(count("\"skipped_bytes\": null"), 1);
	ck_assert_uint_eq(count("\"aRecActive\": null"), 0);
}

/* More than a screen can have of them. */
TEST(no_row_is_cut_off)
{
	FILE *out = open_memstream(&text, &len);
	struct filter_error wrong;
	struct page_export *x;
	uint64_t done;

	scene_fini(&scene);
	scene_many(&scene, PAGE_CHOICE_MAX + 9100);
	scene.look.keeper = keeper;
	page.medium = PAGE_SCREEN;
	ck_assert_int_eq(page_choice_filter(&page, "size<99", &wrong), 0);
	compose(124, 30);
	ck_assert_int_eq(page_export_begin(&x, &page, &scene.view,
	    FORMAT_JSON, out), 0);
	while (page_export_rows(x, &done) == 0)
		page_export_go_on(x, &scene.view, 1);
	ck_assert_uint_eq(page_export_rows(x, &done), 528055);
	ck_assert(!page_export_cut(x));
	page_export_free(x);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text, "\"matched\": 528055,"));
	ck_assert_ptr_nonnull(strstr(text, "\"matched_of\": 533388,"));
}

/* The copy is of one moment: what comes and goes later changes no row. */
TEST(rows_are_those_of_one_moment)
{
	FILE *out = open_memstream(&text, &len);
	uint64_t n = page_view_total(&scene.view), done;
	struct page_export *x;
	struct blk b;

	ck_assert_int_eq(page_export_begin(&x, &page, &scene.view,
	    FORMAT_TEXT, out), 0);
	while (page_rows_blocks(&page, &scene.view, 0, &b, 1) == 1)
		scene_free(&scene, b.addr);
	scene_refresh(&scene);
	while (page_export_go_on(x, &scene.view, 1) == 0)
		;
	ck_assert_uint_eq(page_export_rows(x, &done), n);
	ck_assert_uint_eq(done, n);
	page_export_free(x);
	fclose(out);
	ck_assert_uint_eq(count("\n"), n + 1);
}

/* Nor does what comes and goes while they are copied and sorted. */
LOOP_TEST(rows_of_a_large_list_are_of_the_moment_it_began, 0, 3)
{
	FILE *out = open_memstream(&text, &len);
	struct page_export *x;
	uint64_t n, done, far = UINT64_C(1) << 40;
	struct filter_error wrong;
	struct page_sorting by;
	unsigned portions = 0;
	struct blk b;

	scene_fini(&scene);
	scene_many(&scene, 200000);
	ck_assert_int_eq(blklist_remember(scene.list, 1u << 16), 0);
	scene.look.keeper = keeper;
	if (_i > 0)
		ck_assert_int_eq(page_choice_filter(&page, "size<4g", &wrong),
		    0);
	if (_i > 1) {
		ck_assert(page_sorting_parse("size", &by));
		page_choice_sort(&page, &by);
	}
	scene_refresh(&scene);
	n = page_view_total(&scene.view);
	ck_assert_int_eq(page_export_begin(&x, &page, &scene.view,
	    FORMAT_TEXT, out), 0);
	ck_assert(page_export_copies(x));
	while (page_export_rows(x, &done) == 0) {
		portions++;
		for (int i = 0; i < 50; i++) {
			ck_assert_uint_eq(blklist_window(scene.list,
			    BLKLIST_BY_AGE, i % 2 == 0, (uint64_t)i * 99, &b,
			    1), 1);
			scene_free(&scene, b.addr);
			scene_alloc(&scene, far += 64, 16, TYPE_NEW, 1, 0,
			    scene.look.now_ms);
		}
		scene_refresh(&scene);
		ck_assert_int_ge(page_export_go_on(x, &scene.view, 1), 0);
	}
	ck_assert_uint_gt(portions, 3);
	while (page_export_go_on(x, &scene.view, 100000000) == 0)
		;
	ck_assert_uint_eq(page_export_rows(x, &done), n);
	page_export_free(x);
	fclose(out);
	ck_assert_uint_eq(count("\n"), n + 1);
	ck_assert_ptr_null(strstr(text, "\n010000000"));
}

TEST(a_long_list_is_written_in_portions)
{
	ck_assert_uint_gt(export(NULL, FORMAT_TEXT), 1);
}

TEST(groups_are_exported_with_their_sums)
{
	page_set_group(&page, page_group_kind_called("function"));
	compose(124, 30);
	export(NULL, FORMAT_CSV);
	ck_assert_uint_eq(count("\r\n"), page.groups->nrow + 1);
	ck_assert_ptr_nonnull(strstr(text, "zmalloc,"));
	free(text);
	export(NULL, FORMAT_TEXT);
	ck_assert_uint_eq(count("\n"), page.groups->rows + 1);
	ck_assert_ptr_nonnull(strstr(text, "zmalloc"));
}

/* A group has more blocks than a page lists. */
TEST(all_blocks_of_the_open_group_are_exported)
{
	FILE *out = open_memstream(&text, &len);
	const struct profile_group *g;
	struct page_export *x;
	uint64_t n, done;

	scene_fini(&scene);
	scene_many(&scene, 2 * PAGE_MEMBERS_MAX + 1000);
	scene.look.keeper = keeper;
	page.medium = PAGE_WHOLE;
	page_set_group(&page, page_group_kind_called("type"));
	compose(124, 30);
	g = page_groups_row(page.groups, 0);
	n = g->total.listed;
	ck_assert_uint_gt(n, PAGE_MEMBERS_MAX);
	page_move_to(&page, 0);
	ck_assert(page_open_group(&page, &scene.view));
	compose(124, 30);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view),
	    PAGE_MEMBERS_MAX);
	ck_assert_int_eq(page_export_begin(&x, &page, &scene.view,
	    FORMAT_TEXT, out), 0);
	ck_assert_uint_eq(page_export_rows(x, &done), n);
	ck_assert(!page_export_cut(x));
	page_export_free(x);
	fclose(out);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view),
	    PAGE_MEMBERS_MAX);
}

/* --- page H ---------------------------------------------------------------- */

static struct page_diff diff;

/* By block, until as many as that have come since the mark. */
static void
compare(unsigned blocks)
{
	struct difference *s;
	unsigned i;

	diff = (struct page_diff){ .by_block = true };
	page.medium = PAGE_SCREEN;
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
	for (i = 0; i < blocks; i++)
		scene_alloc(&scene, UINT64_C(0x7f3d00000000) + i * 0x100u, 64,
		    TYPE_MALLOC, 1, rec_site_caller(2), scene.look.now_ms);
	scene_refresh(&scene);
	for (i = 0; i < 5000; i++) {
		scene.view.now.ns += INT64_C(1000000000);
		compose(124, 30);
		ck_assert_int_eq(page_diff_compose(&diff, &page, &scene.view,
		    124, 30, &pic), 0);
		s = difference_ensure(&page);
		if (i > 50 && s->known && s->shown.by_block &&
		    s->shown.new.all == blocks)
			return;
	}
	ck_abort_msg("no comparison");
}

/* What one sees of it is what is exported. */
TEST(a_difference_is_exported_as_page_h_has_it)
{
	compare(7);
	export(&diff, FORMAT_CSV);
	ck_assert_uint_eq(count("\r\nnew,"), 7);
	free(text);
	export(&diff, FORMAT_TEXT);
	ck_assert_uint_eq(count("\nnew "), 7);
	diff.view = DIFF_FREED;
	free(text);
	export(&diff, FORMAT_CSV);
	ck_assert_uint_eq(count("\r\n"), 1);
}

/* No more were kept: the file has those, and says how many it has not. */
TEST(what_a_comparison_does_not_list_is_counted)
{
	FILE *out = open_memstream(&text, &len);
	struct page_export *x;

	scene_fini(&scene);
	scene_many(&scene, 0);
	scene.look.keeper = keeper;
	compare(DIFFERENCE_BLOCKS + 17);
	ck_assert_int_eq(page_export_begin_diff(&x, &page, &scene.view, &diff,
	    FORMAT_NDJSON, out), 0);
	ck_assert(page_export_cut(x));
	page_export_free(x);
	fclose(out);
	ck_assert_ptr_nonnull(strstr(text, "\"omitted\": 17}"));
	ck_assert_uint_eq(count("\"change\": \"new\""), DIFFERENCE_BLOCKS);
	free(text);
	diff.view = DIFF_FREED;
	export(&diff, FORMAT_NDJSON);
	ck_assert_ptr_nonnull(strstr(text, "\"omitted\": 0}"));
	free(text);
	diff.view = DIFF_GROWN;
	export(&diff, FORMAT_NDJSON);
	ck_assert_ptr_nonnull(strstr(text, "\"omitted\": 0}"));
}
