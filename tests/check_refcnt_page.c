/*
 * Page R: runs of pages, pegged counters, hints, order, filter and pictures; and the
 * column TOUCH of page K.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "../src/base/base.h"
#include "../src/pagek/blocks/row_filter.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/refcnt/refcnt_page.h"
#include "golden.h"
#include "harness.h"
#include "scene.h"

#define NELEM BASE_NELEM
#define PAGE ((uint64_t)REFCNT_PAGE)
#define BASE UINT64_C(0x7f3c00400000)

static struct page_refcnt t;
static struct refcnt_copy copy;
static struct refcnt_page page_rows[64];
static size_t npages;

/* Adds a page behind the last one; the array has its counters. */
static void
add(int home, uint64_t a, uint64_t b, uint64_t c, uint64_t d, int64_t last_ms,
    uint64_t heat, uint32_t flags)
{
	page_rows[npages] = (struct refcnt_page){
		.vaddr = BASE + npages * PAGE, .counters = 4,
		.counter = { a, b, c, d }, .reads = a + b + c + d,
		.last_ms = last_ms, .since_ms = 100, .cnodeid = home,
		.heat = heat, .source = (flags & REFCNT_NO_NODE) != 0 ?
		    REFCNT_REFS : REFCNT_HINT,
		.flags = flags | REFCNT_VALID | REFCNT_NO_PADDR };
	npages++;
}

static void
take(enum refcnt_plane plane)
{
	refcnt_copy_fini(&copy);
	ck_assert_int_eq(refcnt_copy_set_ranges(&copy, &(struct refcnt_range){
	    .vaddr = BASE, .len = npages * PAGE, .source = (enum refcnt_source)
	    page_rows[0].source, .since_ms = 100 }, 1), 0);
	ck_assert_int_eq(refcnt_copy_add(&copy, page_rows, npages), 0);
	copy.now_ms = 400000000;
	copy.period_ms = 1000;
	ck_assert_int_eq(page_refcnt_take(&t, &copy, plane), 0);
}

#define AGO(s) (400000000 - (s) * 1000)

/* The picture of the screens' document, with a run of 15 pages. */
static void
add_scene(void)
{
	add(0, 812, 19204, 3, 0, AGO(0), UINT64_C(0x0000000013599999), 0);
	add(1, 0, 2047, 0, 0, AGO(12), UINT64_C(0x5430000000000000),
	    REFCNT_SATURATED);
	for (int i = 0; i < 15; i++)
		add(2, 11, 12, 9100, 10, AGO(1), UINT64_C(0x1111111111111111), 0);
	add(-1, 0, 0, 0, 0, -1, 0, REFCNT_NOT_PRESENT);
	add(3, 100, 0, 0, 40, AGO(600), 0x9, 0);
}

static void
begin(void)
{
	t = (struct page_refcnt){ .sort = REFCNT_SORT_PAGE };
	memset(&copy, 0, sizeof copy);
	npages = 0;
	pic = (struct page_picture){ 0 };
	scene_target(&scene, 0);
}

static void
end(void)
{
	page_refcnt_fini(&t);
	refcnt_copy_fini(&copy);
	page_picture_fini(&pic);
	scene_fini(&scene);
}

static struct refcnt_row
row(size_t i)
{
	ck_assert_uint_lt(i, t.list.n);
	return (struct refcnt_row){ &t.list, &t.list.line[i] };
}

static const char *
hint(size_t i)
{
	static char text[REFCNT_HINT_TEXT];
	struct refcnt_row r = row(i);

	refcnt_hint(&r, text);
	return text;
}

CASE("lines", .setup = begin, .teardown = end);

TEST(neighbours_with_the_same_counts_are_one_run)
{
	add_scene();
	take(REFCNT_HW);
	ck_assert_uint_eq(t.list.n, 5);
	ck_assert_uint_eq(t.list.line[2].pages, 15);
	ck_assert_uint_eq(t.list.line[3].at, 17);
	ck_assert_uint_eq(t.list.of, 5);
}

/* Every value of a line is that of all its pages. */
static void change_heat(struct refcnt_page *p) { p->heat ^= 1; }
static void change_count(struct refcnt_page *p) { p->counter[3]++; }
static void change_last(struct refcnt_page *p) { p->last_ms++; }
static void change_home(struct refcnt_page *p) { p->cnodeid++; }
static void change_flags(struct refcnt_page *p) { p->flags |= REFCNT_MOVED; }
static void change_reads(struct refcnt_page *p) { p->reads--; p->writes++; }

static void (*const change[])(struct refcnt_page *) = { change_heat,
	change_count, change_last, change_home, change_flags, change_reads };

LOOP_TEST(a_run_has_no_two_values, 0, NELEM(change))
{
	for (int i = 0; i < 3; i++)
		add(0, 1, 2, 3, 4, AGO(3), 1, 0);
	change[_i](&page_rows[1]);
	take(REFCNT_WIDE);
	ck_assert_uint_eq(t.list.n, 3);
}

TEST(a_gap_between_pages_ends_a_run)
{
	for (int i = 0; i < 3; i++)
		add(0, 1, 2, 3, 4, AGO(3), 1, 0);
	page_rows[2].vaddr += PAGE;
	take(REFCNT_WIDE);
	ck_assert_uint_eq(t.list.n, 2);
}

TEST(the_greatest_counter_of_a_saturated_set_is_pegged)
{
	struct refcnt_row r;

	add(0, 2047, 5, 2047, 0, AGO(1), 0, REFCNT_SATURATED);
	add(0, 2047, 5, 0, 0, AGO(1), 0, 0);
	take(REFCNT_HW);
	r = row(0);
	ck_assert(refcnt_is_pegged(&r, 0));
	ck_assert(!refcnt_is_pegged(&r, 1));
	ck_assert(refcnt_is_pegged(&r, 2));
	r = row(1);
	ck_assert(!refcnt_is_pegged(&r, 0));
}

static const struct {
	int home;
	uint64_t counter[4];
	uint32_t flags;
	const char *hint;
} hints[] = {
	{ 0, { 812, 19204, 3, 0 }, 0, "-> n1" },
	{ 1, { 0, 2047, 0, 0 }, 0, "home" },
	{ 2, { 11, 12, 9100, 10 }, 0, "home" },
	/* the difference, then the absolute threshold, are not reached */
	{ 0, { 200, 264, 0, 0 }, 0, "home" }, { 0, { 200, 265, 0, 0 }, 0, "-> n1" },
	{ 0, { 0, 127, 0, 0 }, 0, "home" }, { 0, { 0, 128, 0, 0 }, 0, "-> n1" },
	{ 3, { 500, 0, 600, 0 }, 0, "-> n2" },
	{ 0, { 0, 0, 0, 0 }, 0, "" },
	{ -1, { 812, 19204, 3, 0 }, 0, "" },
	{ 9, { 812, 19204, 3, 0 }, 0, "" },
	{ 0, { 0, 9000, 0, 0 }, REFCNT_NO_NODE, "" },
	{ 8, { 0, 0, 9000, 0 }, REFCNT_GROUPED, "-> n16-23" },
	{ 23, { 0, 0, 9000, 0 }, REFCNT_GROUPED, "home" },
};

LOOP_TEST(a_hint_needs_both_thresholds, 0, NELEM(hints))
{
	const uint64_t *n = hints[_i].counter;

	add(hints[_i].home, n[0], n[1], n[2], n[3], AGO(1), 0, hints[_i].flags);
	take(REFCNT_WIDE);
	ck_assert_str_eq(hint(0), hints[_i].hint);
}

/* --- order and filter -------------------------------------------------------------- */

static const struct {
	enum refcnt_sort sort;
	bool reverse;
	size_t order[5];
} orders[] = {
	{ REFCNT_SORT_PAGE, false, { 0, 1, 2, 17, 18 } },
	{ REFCNT_SORT_PAGE, true, { 18, 17, 2, 1, 0 } },
	{ REFCNT_SORT_HOME, false, { 0, 1, 2, 18, 17 } },
	{ REFCNT_SORT_COUNT, false, { 0, 2, 1, 18, 17 } },
	{ REFCNT_SORT_TOUCHED, false, { 17, 18, 1, 2, 0 } },
	{ REFCNT_SORT_HINT, false, { 0, 1, 2, 18, 17 } },
	{ REFCNT_SORT_HEAT, false, { 0, 18, 2, 1, 17 } },
	{ REFCNT_SORT_READS, true, { 17, 18, 1, 2, 0 } },
	{ REFCNT_SORT_WRITES, false, { 0, 1, 2, 17, 18 } },
};

LOOP_TEST(lines_are_sorted, 0, NELEM(orders))
{
	add_scene();
	take(REFCNT_WIDE);
	refcnt_list_sort(&t.list, orders[_i].sort, orders[_i].reverse);
	for (size_t i = 0; i < 5; i++)
		ck_assert_uint_eq(t.list.line[i].at, orders[_i].order[i]);
}

static const struct {
	const char *expression;
	size_t n;
} filters[] = {
	{ "", 5 }, { "count>0", 4 }, { "touches>=1000 & home!=2", 2 },
	{ "page=7f3c00401000", 1 }, { "pages>1", 1 }, { "home=1", 1 },
	{ "touched>1m", 2 }, { "touched_ms<500", 1 }, { "heat=9", 2 },
	{ "hint~n1", 1 }, { "hint=home", 3 }, { "source=hint", 5 },
	{ "flags~saturated", 1 }, { "not_present", 1 }, { "writes>=0", 0 },
};

LOOP_TEST(lines_are_filtered, 0, NELEM(filters))
{
	struct filter_error e;

	add_scene();
	ck_assert_msg(filters[_i].expression[0] == '\0' || filter_new_of(&t.filter,
	    &filter_refcnt, filters[_i].expression, &e) == 0, "%s: %s",
	    filters[_i].expression, e.why);
	take(REFCNT_WIDE);
	ck_assert_uint_eq(t.list.n, filters[_i].n);
	ck_assert_uint_eq(t.list.of, 5);
}

TEST(each_sort_key_is_a_field)
{
	for (size_t s = 0; s < REFCNT_SORTS; s++) {
		bool found = false;

		for (size_t i = 0; i < refcnt_fields.n; i++)
			found |= refcnt_fields.field[i].key != NULL &&
			    field_is_key_of(refcnt_fields.field[i].key,
			    refcnt_sort_rows[s].word);
		ck_assert_msg(found, "%s", refcnt_sort_rows[s].word);
	}
}

/* --- the cursor ------------------------------------------------------------------------ */

CASE("cursor", .setup = begin, .teardown = end);

TEST(it_stays_on_its_page)
{
	struct page_refcnt_head h = { .node = "", .target = "", .state = "",
		.virtual = "", .notice = "", .advice = "", .v = &scene.view };
	struct refcnt_row room;

	add_scene();
	take(REFCNT_WIDE);
	page_refcnt_move(&t, 2, false);
	t.sort = REFCNT_SORT_COUNT;
	/* The run is split: its first page has the cursor. */
	page_rows[5].counter[0]++;
	take(REFCNT_WIDE);
	ck_assert_int_eq(page_refcnt_compose(&t, &h, true, 80, 24, &pic), 0);
	ck_assert_ptr_nonnull(page_refcnt_row(&t, &room));
	ck_assert_uint_eq(refcnt_row_page(&room)->vaddr, BASE + 2 * PAGE);
	page_refcnt_move(&t, 1000, true);
	ck_assert_uint_eq(t.rows.selected, t.list.n - 1);
	page_refcnt_move(&t, -1000, true);
	ck_assert_uint_eq(t.rows.selected, 0);
}

TEST(its_pages_are_a_filter_of_page_K)
{
	struct refcnt_row room;
	struct filter *filter;
	struct filter_error e;
	char text[128];

	add_scene();
	take(REFCNT_WIDE);
	scene_alloc(&scene, BASE - 16, 4096, TYPE_MALLOC, 1, 0, AGO(700));
	scene_refresh(&scene);
	t.list.v = &scene.view;
	page_refcnt_filter_of(page_refcnt_row(&t, &room), text, sizeof text);
	ck_assert_str_eq(text, "address>=7f3c003ffff0 & address<7f3c00401000");
	ck_assert_msg(filter_new(&filter, text, &e) == 0, "%s", e.why);
	filter_free(filter);
}

/* --- pictures ----------------------------------------------------------------------------- */

static void
add_blocks(void)
{
	scene_alloc(&scene, BASE + 64, 8000, TYPE_MALLOC, 1, 0x401000, AGO(700));
	for (unsigned i = 0; i < 36; i++)
		scene_alloc(&scene, BASE + 2 * PAGE + i * 112, 100, TYPE_NEW, 1,
		    0x401001, AGO(700));
	scene_refresh(&scene);
}

static const struct page_refcnt_head head = { .node = "0590 linac-a",
	.target = "acqd[4711]", .state = "LIVE", .virtual = "", .notice = "",
	.advice = "not counted.  a counts the pages of the block under the cursor "
	    "of page K.", .v = &scene.view };

static const struct {
	int cols, rows;
} screens[] = { { 80, 24 }, { 124, 35 }, { 40, 10 } };

CASE("pictures", .setup = begin, .teardown = end);

LOOP_TEST(a_picture_is_as_it_should_be, 0, NELEM(screens))
{
	char name[32];

	add_scene();
	add_blocks();
	take(REFCNT_HW);
	page_refcnt_move(&t, 1, false);
	ck_assert_int_eq(page_refcnt_compose(&t, &head, true, screens[_i].cols,
	    screens[_i].rows, &pic), 0);
	snprintf(name, sizeof name, "refcnt-page-%d", screens[_i].cols);
	assert_golden(&pic, name);
}

LOOP_TEST(a_source_without_nodes_has_a_total, 0, NELEM(screens))
{
	char name[32];

	add_blocks();
	for (int i = 0; i < 5; i++)
		add(0, i < 2 ? 0 : 20 * (uint64_t)i, 0, 0, 0, i < 2 ? -1 :
		    AGO(i), i < 2 ? 0 : 0x9, REFCNT_NO_NODE);
	take(REFCNT_WIDE);
	ck_assert_int_eq(page_refcnt_compose(&t, &head, true, screens[_i].cols,
	    screens[_i].rows, &pic), 0);
	snprintf(name, sizeof name, "refcnt-page-refs-%d", screens[_i].cols);
	assert_golden(&pic, name);
}

static const char *
line_of(const char *address)
{
	for (int i = 0; i < pic.rows; i++)
		if (strncmp(pic.line[i].text, address, strlen(address)) == 0)
			return pic.line[i].text;
	ck_abort_msg("no row of %s", address);
	return NULL;
}

/* Their units differ. */
TEST(rows_of_two_sources_have_their_names)
{
	add(0, 40, 0, 0, 0, AGO(1), 0x9, 0);
	add(0, 7, 0, 0, 0, AGO(1), 0x9, REFCNT_NO_NODE);
	take(REFCNT_WIDE);
	ck_assert_int_eq(page_refcnt_compose(&t, &head, true, 124, 24, &pic), 0);
	ck_assert_ptr_nonnull(strstr(line_of("7f3c00400000"), " hint"));
	ck_assert_ptr_nonnull(strstr(line_of("7f3c00401000"), " refs"));
	npages--;
	take(REFCNT_WIDE);
	ck_assert_int_eq(page_refcnt_compose(&t, &head, true, 124, 24, &pic), 0);
	ck_assert_ptr_null(strstr(line_of("7f3c00400000"), " hint"));
}

LOOP_TEST(processors_in_place_of_nodes_are_named, 0, NELEM(screens))
{
	struct page_refcnt_head h = head;
	char name[32];

	h.virtual = "0-1,4/2,3";
	add_scene();
	take(REFCNT_WIDE);
	ck_assert_int_eq(page_refcnt_compose(&t, &h, true, screens[_i].cols,
	    screens[_i].rows, &pic), 0);
	snprintf(name, sizeof name, "refcnt-page-cpus-%d", screens[_i].cols);
	assert_golden(&pic, name);
}

LOOP_TEST(not_counted_says_what_to_do, 0, NELEM(screens))
{
	char name[32];

	ck_assert_int_eq(page_refcnt_take(&t, &copy, REFCNT_WIDE), 0);
	ck_assert_int_eq(page_refcnt_compose(&t, &head, true, screens[_i].cols,
	    screens[_i].rows, &pic), 0);
	snprintf(name, sizeof name, "refcnt-page-none-%d", screens[_i].cols);
	assert_golden(&pic, name);
}

LOOP_TEST(any_size_of_the_screen_has_a_picture, 1, 200)
{
	static const int rows[] = { 0, 1, 2, 3, 5, 8, 24, 60 };

	add_scene();
	add_blocks();
	take(REFCNT_HW);
	for (size_t i = 0; i < NELEM(rows); i++) {
		ck_assert_int_eq(page_refcnt_compose(&t, &head, false, _i,
		    rows[i], &pic), 0);
		ck_assert(rows[i] == 0 || pic.rows <= rows[i] + 1);
	}
}

/* The state tells faults of the list. */
LOOP_TEST(the_state_is_there_at_any_width, 40, 200)
{
	struct page_refcnt_head h = head;

	h.state = "INCOMPLETE";
	add_scene();
	take(REFCNT_WIDE);
	ck_assert_int_eq(page_refcnt_compose(&t, &h, true, _i, 24, &pic), 0);
	ck_assert_ptr_nonnull(strstr(pic.line[0].text, h.state));
}

static const struct {
	size_t pages;
	const char *text;
} runs[] = {
	{ 1, "7f3c00400000 " }, { 10000, "7f3c00400000+9999 " },
	{ 10001, "7f3c00400000+10K " }, { 123457, "7f3c00400000+123K " },
};

LOOP_TEST(the_length_of_a_run_is_whole, 0, NELEM(runs))
{
	struct refcnt_page *many = calloc(runs[_i].pages, sizeof *many);
	bool found = false;

	ck_assert_ptr_nonnull(many);
	for (size_t i = 0; i < runs[_i].pages; i++)
		many[i] = (struct refcnt_page){ .vaddr = BASE + i * PAGE,
			.counters = 1, .last_ms = -1, .source = REFCNT_REFS,
			.flags = REFCNT_VALID | REFCNT_NO_NODE };
	ck_assert_int_eq(refcnt_copy_set_ranges(&copy, &(struct refcnt_range){
	    .vaddr = BASE, .len = runs[_i].pages * PAGE, .source = REFCNT_REFS }, 1),
	    0);
	ck_assert_int_eq(refcnt_copy_add(&copy, many, runs[_i].pages), 0);
	free(many);
	ck_assert_int_eq(page_refcnt_take(&t, &copy, REFCNT_WIDE), 0);
	ck_assert_int_eq(page_refcnt_compose(&t, &head, true, 80, 24, &pic), 0);
	for (int i = 0; i < pic.rows && !found; i++)
		found = strncmp(pic.line[i].text, runs[_i].text,
		    strlen(runs[_i].text)) == 0;
	ck_assert(found);
}

TEST(nodes_are_reached_sideways)
{
	add_scene();
	take(REFCNT_WIDE);
	ck_assert_int_eq(page_refcnt_compose(&t, &head, true, 80, 24, &pic), 0);
	ck_assert_uint_eq(t.shown, 2);
	ck_assert(!page_refcnt_shift(&t, -1));
	ck_assert(page_refcnt_shift(&t, 1));
	ck_assert_int_eq(page_refcnt_compose(&t, &head, true, 80, 24, &pic), 0);
	ck_assert_ptr_nonnull(strstr(pic.line[3].text, "n1"));
	ck_assert(page_refcnt_shift(&t, 1));
	ck_assert(!page_refcnt_shift(&t, 1));
}

/* --- page K -------------------------------------------------------------------------------- */

static const struct {
	uint64_t addr, size;
	int64_t born_ms;
	const char *touch;
} cells[] = {
	{ 3 * PAGE, 2 * PAGE, 0, "    1s 18.3K=" },
	{ 3 * PAGE + 64, 32, 0, "    1s 9,133/2" },
	{ 18 * PAGE, PAGE, 0, "   10m   140=" },
	{ 17 * PAGE, PAGE, AGO(200), ">3m20s     0=" },
	{ 30 * PAGE, PAGE, 0, "" },
};

/* The scene as a source counts it that notices each first use, unlike samples. */
static void
add_used_scene(void)
{
	add_scene();
	for (size_t i = 0; i < npages; i++)
		page_rows[i].source = REFCNT_GUARD;
}

CASE("page K", .setup = begin, .teardown = end);

LOOP_TEST(a_block_shows_its_touches, 0, NELEM(cells))
{
	struct blk b;
	char text[PAGE_TOUCH_COLS + 1];

	add_used_scene();
	take(REFCNT_WIDE);
	scene.view.refcnt = &copy;
	if (_i == 1)
		scene_alloc(&scene, BASE + 3 * PAGE, 32, TYPE_NEW, 1, 0, 0);
	scene_alloc(&scene, BASE + cells[_i].addr, cells[_i].size, TYPE_MALLOC,
	    1, 0, cells[_i].born_ms);
	scene_refresh(&scene);
	ck_assert_int_eq(blklist_get(scene.list, 0, BASE + cells[_i].addr, &b), 0);
	page_cell_touch(&scene.view, &b, text);
	ck_assert_str_eq(text, cells[_i].touch);
	scene.view.refcnt = NULL;
}

static const struct {
	const char *expression;
	uint64_t n;
} block_filters[] = {
	{ "touched>5m", 1 }, { "touched<=1s", 2 }, { "touches=0", 0 },
	{ "touches>100", 3 }, { "touches!=0 & touched>0s", 3 },
};

LOOP_TEST(blocks_are_filtered_by_touches, 0, NELEM(block_filters))
{
	struct page_row_filter *filter;
	struct filter_error e;
	uint64_t n = 0;

	add_used_scene();
	take(REFCNT_WIDE);
	scene.view.refcnt = &copy;
	for (size_t i = 0; i < 3; i++)
		scene_alloc(&scene, BASE + cells[i].addr, cells[i].size,
		    TYPE_MALLOC, 1, 0, 0);
	scene_alloc(&scene, BASE + 40 * PAGE, 64, TYPE_MALLOC, 1, 0, 0);
	scene_refresh(&scene);
	ck_assert_msg(page_row_filter_new(&filter, block_filters[_i].expression,
	    &e) == 0, "%s", e.why);
	page_row_filter_begin(filter, &scene.view);
	for (uint64_t at = 0; at < blklist_counts(scene.list)->aRecActive; at++) {
		struct blk b;

		ck_assert_uint_eq(blklist_window(scene.list, BLKLIST_BY_AGE,
		    false, at, &b, 1), 1);
		n += page_row_filter_matches(filter, &b);
	}
	page_row_filter_free(filter);
	ck_assert_uint_eq(n, block_filters[_i].n);
	scene.view.refcnt = NULL;
}

LOOP_TEST(page_K_has_the_column_where_pages_are_counted, 0, 2)
{
	char name[32];

	page_init(&page, &(struct page_opts){ .ascii = true, .utc = true });
	add_used_scene();
	add_blocks();
	scene_alloc(&scene, BASE + 40 * PAGE, 64, TYPE_MALLOC, 1, 0, 0);
	take(REFCNT_WIDE);
	scene.view.refcnt = &copy;
	scene_refresh(&scene);
	ck_assert_int_eq(page_compose_view(&page, &scene.view, screens[_i].cols,
	    12, &pic), 0);
	snprintf(name, sizeof name, "touch-column-%d", screens[_i].cols);
	assert_golden(&pic, name);
	page_fini(&page);
	scene.view.refcnt = NULL;
}

#define MANY 60000

CASE("limited memory", .setup = begin, .teardown = end, .tags = TAG_KERNEL);

#ifndef SANITIZED
/* Lines of the copy before point to pages that are no more. */
TEST(without_memory_there_are_no_lines)
{
	struct refcnt_page *many = calloc(MANY, sizeof *many);
	struct rlimit unlimited, none;
	int err;

	add_scene();
	take(REFCNT_WIDE);
	refcnt_copy_fini(&copy);
	ck_assert_ptr_nonnull(many);
	for (size_t i = 0; i < MANY; i++)
		many[i] = (struct refcnt_page){ .vaddr = BASE + 2 * i * PAGE,
			.counters = 1, .source = REFCNT_REFS };
	ck_assert_int_eq(refcnt_copy_add(&copy, many, MANY), 0);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &unlimited), 0);
	none = unlimited;
	none.rlim_cur = 1;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	err = page_refcnt_take(&t, &copy, REFCNT_WIDE);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &unlimited), 0);
	ck_assert_int_eq(err, -ENOMEM);
	ck_assert_uint_eq(t.list.n, 0);
	free(many);
}
#endif

/* --- ranges ----------------------------------------------------------------------- */

CASE("ranges");

static const uint64_t lonely[] = { 100, 0, 3, 20, 24 };

static const struct {
	uint64_t gap;			/* pages */
	size_t most, n;
	uint64_t pages;
} joins[] = {
	{ 0, 9, 5, 5 }, { 0, 5, 5, 5 }, { 0, 4, 4, 7 }, { 0, 3, 3, 10 },
	{ 0, 1, 1, 101 }, { 2, 9, 4, 7 }, { 3, 9, 3, 10 }, { 16, 1, 1, 101 },
};

LOOP_TEST(ranges_are_joined_across_the_smallest_gaps, 0, NELEM(joins))
{
	struct page_ranges r = { 0 };

	for (size_t i = 0; i < NELEM(lonely); i++)
		ck_assert_int_eq(page_ranges_add(&r, lonely[i] * REFCNT_PAGE,
		    REFCNT_PAGE), 0);
	ck_assert_int_eq(page_ranges_join(&r, joins[_i].gap * REFCNT_PAGE,
	    joins[_i].most), 0);
	ck_assert_uint_eq(r.n, joins[_i].n);
	ck_assert_uint_eq(page_ranges_pages(&r), joins[_i].pages);
	page_ranges_fini(&r);
}
