/*
 * What is shown as a document: the rows of the page, whatever they are of, in
 * each form.
 */
#include <errno.h>

#include "../src/pagek/export.h"
#include "../src/pagek/choice.h"
#include "../src/pagek/groups.h"
#include "../src/pagek/marked.h"
#include "harness.h"
#include "scene.h"

static char *text;
static size_t len;

static void
begin(void)
{
	static const uint64_t keeper[WIRE_STATS_COUNT];

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
export(const struct page_diff *diff, enum page_export_form form)
{
	FILE *out = open_memstream(&text, &len);
	struct page_export *x;
	unsigned portions = 1;

	ck_assert_int_eq(page_export_begin(&x, &page, &scene.view, diff, form,
	    out), 0);
	while (page_export_go_on(x, &scene.view, 1) == 0)
		portions++;
	page_export_free(x);
	fclose(out);
	return portions;
}

static unsigned
count(const char *what)
{
	unsigned n = 0;

	for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
		n++;
	return n;
}

START_TEST(the_ending_says_which_form)
{
	enum page_export_form form = EXPORT_CSV;

	ck_assert_int_eq(page_export_form("a.txt", &form), 0);
	ck_assert_int_eq(form, EXPORT_TEXT);
	ck_assert_int_eq(page_export_form("/x.y/a.ndjson", &form), 0);
	ck_assert_int_eq(form, EXPORT_NDJSON);
	ck_assert_int_eq(page_export_form("a.pdf", &form), -EINVAL);
	ck_assert_int_eq(page_export_form(".csv", &form), -EINVAL);
	ck_assert_int_eq(page_export_form("/x/.csv", &form), -EINVAL);
	ck_assert_int_eq(form, EXPORT_NDJSON);
}
END_TEST

/* In the order shown, each a line; the head says how many there are. */
START_TEST(blocks_are_those_of_the_page_in_its_order)
{
	struct blk b;

	page.opts.free = true;
	page_set_order(&page, BLKLIST_BY_ADDRESS, true);
	compose(124, 30);
	ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, 0, &b, 1), 1);
	export(NULL, EXPORT_CSV);
	ck_assert_uint_eq(count("\r\n"), page_view_total(&scene.view) + 1);
	ck_assert_ptr_nonnull(strstr(text, "zmalloc"));
	ck_assert_uint_eq(strtoull(strstr(text, "\r\n") + 2, NULL, 0), b.addr);
}
END_TEST

START_TEST(what_the_filter_keeps_back_is_not_exported)
{
	struct filter_error wrong;
	struct page_chosen sums;

	ck_assert_int_eq(page_choice_filter(&page, "fn=zmalloc", &wrong), 0);
	compose(124, 30);
	page_choice_sums(&page, &sums);
	ck_assert_uint_gt(sums.blocks, 0);
	export(NULL, EXPORT_NDJSON);
	ck_assert_uint_eq(count("\n"), sums.blocks + 1);
	ck_assert_uint_eq(count("\"function\": \"zmalloc\", \"stack\""),
	    sums.blocks);
	ck_assert_ptr_nonnull(strstr(text, "\"filter\": \"fn=zmalloc\""));
}
END_TEST

/* The copy is of one moment: what comes and goes later changes no row. */
START_TEST(rows_are_those_of_one_moment)
{
	FILE *out = open_memstream(&text, &len);
	uint64_t n = page_view_total(&scene.view), done;
	struct page_export *x;
	struct blk b;

	ck_assert_int_eq(page_export_begin(&x, &page, &scene.view, NULL,
	    EXPORT_TEXT, out), 0);
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
END_TEST

START_TEST(a_long_list_is_written_in_portions)
{
	ck_assert_uint_gt(export(NULL, EXPORT_TEXT), 1);
}
END_TEST

START_TEST(groups_are_exported_with_their_sums)
{
	page_set_group(&page, page_group_kind_called("function"));
	compose(124, 30);
	export(NULL, EXPORT_CSV);
	ck_assert_uint_eq(count("\r\n"), page.groups->nrow + 1);
	ck_assert_ptr_nonnull(strstr(text, "zmalloc,"));
	free(text);
	export(NULL, EXPORT_TEXT);
	ck_assert_uint_eq(count("\n"), page.groups->rows + 1);
	ck_assert_ptr_nonnull(strstr(text, "zmalloc"));
}
END_TEST

/* Page H: what one sees of it is what is exported. */
START_TEST(a_difference_is_exported_as_page_h_has_it)
{
	static struct page_diff diff;
	struct page_since *s;
	unsigned i;

	diff = (struct page_diff){ .by_block = true };
	page.on_screen = true;
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
	for (i = 0; i < 7; i++)
		scene_alloc(&scene, UINT64_C(0x7f3d00000000) + i * 0x100u, 64,
		    TYPE_MALLOC, 1, rec_site_caller(2), scene.look.now_ms);
	scene_refresh(&scene);
	for (i = 0; i < 50; i++) {
		scene.view.now.ns += INT64_C(1000000000);
		compose(124, 30);
		ck_assert_int_eq(page_diff_compose(&diff, &page, &scene.view,
		    124, 30, &pic), 0);
	}
	s = page_since_get(&page);
	ck_assert(s->taken && s->shown.by_block);
	export(&diff, EXPORT_CSV);
	ck_assert_uint_eq(count("\r\nnew,"), 7);
	free(text);
	export(&diff, EXPORT_TEXT);
	ck_assert_uint_eq(count("\nnew "), 7);
	diff.view = DIFF_FREED;
	free(text);
	export(&diff, EXPORT_CSV);
	ck_assert_uint_eq(count("\r\n"), 1);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("export");
	TCase *tc = tcase_create("export");

	tcase_add_checked_fixture(tc, begin, end);
	tcase_add_test(tc, the_ending_says_which_form);
	tcase_add_test(tc, blocks_are_those_of_the_page_in_its_order);
	tcase_add_test(tc, what_the_filter_keeps_back_is_not_exported);
	tcase_add_test(tc, rows_are_those_of_one_moment);
	tcase_add_test(tc, a_long_list_is_written_in_portions);
	tcase_add_test(tc, groups_are_exported_with_their_sums);
	tcase_add_test(tc, a_difference_is_exported_as_page_h_has_it);
	suite_add_tcase(s, tc);
	return s;
}

CHECK_MAIN(suite)
