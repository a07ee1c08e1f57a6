/*
 * Orders of rows, against qsort over a copy of the list, and what words and
 * letters mean.
 */
#include "../src/pagek/layout/fields.h"
#include "../src/pagek/page/calls.h"
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/blocks/order.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

#include <strings.h>

#define BLOCKS 3000

static struct page_sorting sorting;

static void
setup_random(void)
{
	unsigned i;

	setup();
	scene_target(&scene, 0);
	srand(23);
	for (i = 0; i < BLOCKS; i++)
		scene_alloc(&scene, UINT64_C(0x7f3c04000000) +
		    (unsigned)(rand() % 100000) * 0x100u,
		    (unsigned)rand() % 40, i % 3 ? TYPE_MALLOC : TYPE_NEW,
		    (unsigned)rand() % 5, rec_site_caller(1 +
		    (unsigned)rand() % 5), scene.look.now_ms - 1000);
	scene_refresh(&scene);
}

/* In as many pictures as a slow machine takes for it. */
static void
compose_whole(int cols, int rows)
{
	do
		compose(cols, rows);
	while (page_choice_waits(&page));
}

static void
sort_by(const char *text)
{
	ck_assert(page_sorting_parse(text, &sorting));
	page_choice_sort(&page, &sorting);
}

/* --- against qsort ------------------------------------------------------ */

static int
by_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* What has none stands behind, in either direction. */
static int
by_names(const char *a, const char *b)
{
	if (a[0] == '\0' || b[0] == '\0')
		return (a[0] == '\0') - (b[0] == '\0');
	return strcasecmp(a, b);
}

static const char *
function_of(const struct blk *b, char out[PAGE_NAME_MAX])
{
	struct page_call call;

	out[0] = '\0';
	if (page_calls_origin(&scene.view, b->caller, &call))
		page_call_function(&call, out, PAGE_NAME_MAX);
	return out;
}

static const char *
text_of(unsigned sort, const struct blk *b, char out[PAGE_NAME_MAX])
{
	struct page_call call;

	out[0] = '\0';
	if (!page_calls_origin(&scene.view, b->caller, &call))
		return out;
	if (sort == PAGE_SORT_MODULE && call.words != NULL)
		page_text_copy(out, PAGE_NAME_MAX,
		    page_text_base(call.words->module));
	if (sort == PAGE_SORT_FILE && call.line != NULL)
		page_text_copy(out, PAGE_NAME_MAX,
		    page_text_base(call.line->file));
	return out;
}

/* By file, then as numbers. */
static int
by_lines(const struct blk *a, const struct blk *b)
{
	static char x[PAGE_NAME_MAX], y[PAGE_NAME_MAX];
	struct page_call one, other;
	int r = by_names(text_of(PAGE_SORT_FILE, a, x),
	    text_of(PAGE_SORT_FILE, b, y));

	if (r != 0 || x[0] == '\0')
		return r;
	page_calls_origin(&scene.view, a->caller, &one);
	page_calls_origin(&scene.view, b->caller, &other);
	return by_numbers(one.line->line, other.line->line);
}

static int
by_sort(unsigned sort, const struct blk *a, const struct blk *b)
{
	static char x[PAGE_NAME_MAX], y[PAGE_NAME_MAX];

	switch (sort) {
	case PAGE_SORT_AGE:
		return by_numbers(a->seq, b->seq);
	case PAGE_SORT_ADDRESS:
		return by_numbers(a->addr, b->addr);
	case PAGE_SORT_SIZE:
		return by_numbers(b->size, a->size);
	case PAGE_SORT_USED:
		return by_numbers(b->size + rec_overhead_bytes(b->overhead),
		    a->size + rec_overhead_bytes(a->overhead));
	case PAGE_SORT_TYPE:
		return by_numbers(a->type, b->type);
	case PAGE_SORT_LEVEL:
		return by_numbers(b->flags & 0xf, a->flags & 0xf);
	case PAGE_SORT_SITE:
		return by_numbers(a->caller, b->caller);
	case PAGE_SORT_DESCR:
		return by_names(page_descr(&scene.look, a),
		    page_descr(&scene.look, b));
	case PAGE_SORT_THREAD:
		return by_names(page_cell_thread(&scene.view, a),
		    page_cell_thread(&scene.view, b));
	case PAGE_SORT_FUNCTION:
		return by_names(function_of(a, x), function_of(b, y));
	case PAGE_SORT_MODULE:
	case PAGE_SORT_FILE:
		return by_names(text_of(sort, a, x), text_of(sort, b, y));
	case PAGE_SORT_LINE:
		return by_lines(a, b);
	case PAGE_SORT_TID:
		return by_numbers(a->thread, b->thread);
	case PAGE_SORT_LAYER:
		return by_numbers(a->flags & REC_LAYER_API,
		    b->flags & REC_LAYER_API);
	default:
		return 0;
	}
}

static int
by_sorting(const void *a, const void *b)
{
	unsigned i;
	int r = 0;

	for (i = 0; i < sorting.n && r == 0; i++) {
		r = by_sort(sorting.by[i].sort, a, b);
		if (sorting.by[i].reverse)
			r = -r;
	}
	return r != 0 ? r : by_sort(PAGE_SORT_AGE, a, b);
}

static void
assert_sorted(void)
{
	static struct blk all[BLOCKS + 1];
	struct blk row;
	size_t n, i;

	n = blklist_window(scene.list, BLKLIST_BY_ADDRESS, false, 0, all,
	    BLOCKS + 1);
	ck_assert_uint_gt(n, 1000);
	qsort(all, n, sizeof *all, by_sorting);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), n);
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, i,
		    &row, 1), 1);
		ck_assert_msg(memcmp(&row, &all[i], sizeof row) == 0,
		    "row %zu is block %llu, not %llu", i,
		    (unsigned long long)row.seq,
		    (unsigned long long)all[i].seq);
	}
}

CASE("Rows", .setup = setup_random, .teardown = teardown, .seconds = 60);

LOOP_TEST(rows_are_sorted_by_what_they_show, 0, PAGE_SORTS)
{
	sort_by(page_sort_rows[_i].word);
	compose_whole(124, 30);
	assert_sorted();
	sorting.by[0].reverse = true;
	page_choice_sort(&page, &sorting);
	compose_whole(80, 24);
	/* The other way round nothing has no name any more that is first. */
	if (!page_sort_rows[_i].text)
		assert_sorted();
}

LOOP_TEST(equal_rows_are_sorted_by_what_comes_next, 0, 8)
{
	static const char *const words[] = { "Ns", "aN", "tnS", "faNS", "cS",
		"dAtN", "mixN", "imS" };

	sort_by(words[_i]);
	compose_whole(80, 24);
	assert_sorted();
}

TEST(filtered_rows_are_sorted_too)
{
	struct filter_error e;
	struct blk row, before = { .size = UINT64_MAX };
	uint64_t i, n;

	ck_assert_int_eq(page_choice_filter(&page, "size<20 & thread=main",
	    &e), 0);
	sort_by("size");
	compose_whole(80, 24);
	n = page_rows_total(&page, &scene.view);
	ck_assert_uint_gt(n, 10);
	for (i = 0; i < n; i++) {
		ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, i,
		    &row, 1), 1);
		ck_assert(row.size < 20 && row.thread == 1 &&
		    row.size <= before.size);
		before = row;
	}
}

TEST(cursor_stays_on_its_block_in_every_order)
{
	struct blk b, now;
	unsigned i;

	page.medium = PAGE_SCREEN;
	compose(80, 24);
	page_move_to(&page, 1234);
	page_remember_cursor(&page, &scene.view);
	ck_assert(page_block_at_cursor(&page, &scene.view, &b));
	for (i = 0; i < PAGE_SORTS; i++) {
		sort_by(page_sort_rows[i].word);
		later();
		compose_whole(80, 24);
		ck_assert(page_block_at_cursor(&page, &scene.view, &now));
		ck_assert_mem_eq(&now, &b, sizeof b);
	}
}

/* More than the screen may have, in many pictures: the first of them stay. */
TEST(first_rows_of_many_are_kept)
{
	uint64_t i, n = PAGE_CHOICE_MAX + PAGE_CHOICE_MAX / 2 + 70000;
	struct page_chosen sums;
	unsigned pictures = 0;
	struct blk row;

	scene_fini(&scene);
	scene_init(&scene, BLKLIST_INDEXED, 1u << 20);
	stream_types_init(&scene.types);
	for (i = 0; i < n; i++)
		scene_alloc(&scene, 0x100000 + i * 32,
		    1 + i * 7919 % n, TYPE_MALLOC, 1, 0, 1000);
	scene_refresh(&scene);
	page.medium = PAGE_SCREEN;
	sort_by("size");
	do {
		compose(80, 24);
		page_choice_sums(&page, &sums);
		ck_assert(sums.known || shows("sorting"));
	} while (!sums.known && ++pictures < 10000);
	ck_assert_uint_gt(pictures, 3);
	ck_assert(sums.cut && sums.blocks == n);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view),
	    PAGE_CHOICE_MAX);
	for (i = 0; i < PAGE_CHOICE_MAX; i += 997) {
		ck_assert_uint_eq(page_rows_blocks(&page, &scene.view, i,
		    &row, 1), 1);
		ck_assert_uint_eq(row.size, n - i);
	}
}

/* --- words -------------------------------------------------------------- */

CASE("Words", .setup = setup_target, .teardown = teardown);

TEST(words_and_letters_mean_what_the_table_says)
{
	static const struct {
		const char *text;
		unsigned n, first;
		bool reverse;
		char arrow;
	} good[] = {
		{ "age", 1, PAGE_SORT_AGE, false, 'v' },
		{ "s", 1, PAGE_SORT_AGE, false, 'v' },
		{ "S", 1, PAGE_SORT_AGE, true, '^' },
		{ "p", 1, PAGE_SORT_ADDRESS, false, '^' },
		{ "P", 1, PAGE_SORT_ADDRESS, true, 'v' },
		{ "N", 1, PAGE_SORT_SIZE, false, 'v' },
		{ "n", 1, PAGE_SORT_SIZE, true, '^' },
		{ "a", 1, PAGE_SORT_TYPE, false, '^' },
		{ "t", 1, PAGE_SORT_THREAD, false, '^' },
		{ "T", 1, PAGE_SORT_THREAD, true, 'v' },
		{ "Ns", 2, PAGE_SORT_SIZE, false, 'v' },
		{ "function", 1, PAGE_SORT_FUNCTION, false, '^' },
		{ "func", 4, PAGE_SORT_FUNCTION, false, '^' },
		{ "fn", 2, PAGE_SORT_FUNCTION, false, '^' },
		{ "addr", 1, PAGE_SORT_ADDRESS, false, '^' },
		{ "age_ms", 1, PAGE_SORT_AGE, false, 'v' },
		{ "time", 1, PAGE_SORT_AGE, false, 'v' },
		{ "sequence", 1, PAGE_SORT_AGE, false, 'v' },
		{ "module", 1, PAGE_SORT_MODULE, false, '^' },
		{ "lib", 1, PAGE_SORT_MODULE, false, '^' },
		{ "mod", 3, PAGE_SORT_MODULE, false, '^' },
		{ "M", 1, PAGE_SORT_MODULE, true, 'v' },
		{ "source", 1, PAGE_SORT_FILE, false, '^' },
		{ "line", 1, PAGE_SORT_LINE, false, '^' },
		{ "mix", 3, PAGE_SORT_MODULE, false, '^' },
		{ "tid", 1, PAGE_SORT_TID, false, '^' },
		{ "layer", 1, PAGE_SORT_LAYER, false, '^' },
	};
	static const char *const bad[] = { "", "z", "sise", "Nsz", "NsNsN",
		"NN", "foo", "Size", " N" };
	size_t i;

	for (i = 0; i < BASE_NELEM(good); i++) {
		sort_by(good[i].text);
		ck_assert_uint_eq(sorting.n, good[i].n);
		ck_assert_uint_eq(sorting.by[0].sort, good[i].first);
		ck_assert_int_eq(sorting.by[0].reverse, good[i].reverse);
		ck_assert_int_eq(page_sorting_arrow(&page.opts),
		    good[i].arrow);
		ck_assert_int_eq(page_sorting_native(&page.opts),
		    good[i].first <= PAGE_SORT_ADDRESS);
	}
	for (i = 0; i < BASE_NELEM(bad); i++)
		ck_assert(!page_sorting_parse(bad[i], &sorting));
}

TEST(no_letter_has_two_meanings)
{
	size_t i, j;

	for (i = 0; i < PAGE_SORTS; i++) {
		ck_assert(page_sort_rows[i].letters[0] == '\0' ||
		    strlen(page_sort_rows[i].letters) == 2);
		for (j = 0; j < i; j++)
			ck_assert_ptr_null(strpbrk(page_sort_rows[i].letters,
			    page_sort_rows[j].letters));
	}
}

/* Where there is no room for the arrow it stands in the blank behind. */
LOOP_TEST(heading_marks_the_column, 0, PAGE_SORTS)
{
	const char *title = page_sort_rows[_i].title;
	char want[32], tight[32];
	int cols;

	sort_by(page_sort_rows[_i].word);
	for (cols = 80; cols < 140; cols++) {
		compose(cols, 10);
		assert_fits(cols, 10);
		if (title == NULL || !page_columns_show(&scene.view, cols,
		    title))
			continue;
		snprintf(want, sizeof want, "%s %c", title,
		    page_sorting_arrow(&page.opts));
		snprintf(tight, sizeof tight, "%s%c", title,
		    page_sorting_arrow(&page.opts));
		ck_assert_msg(shows(want) || shows(tight), "%d columns, %s",
		    cols, want);
	}
}
