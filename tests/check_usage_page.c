/*
 * Page U: maxima of this viewer, trends, the cursor, columns, and the filter that
 * shows a row's blocks on page K.
 */
#include <string.h>

#include "../src/base/base.h"
#include "../src/pagek/usage/usage_page.h"
#include "golden.h"
#include "harness.h"

static struct page_usage u;
static struct usage_namer *namer;
static struct stream_types types;
static struct usage_row row[3];
static struct page_picture pic;
static uint64_t change;
static const struct page_usage_head head = { .node = "0590 linac-a",
	.target = "acqd[4711]", .state = "LIVE", .since_ms = 1000, .notice = "",
	.from_start = true, .rss = UINT64_C(410) << 20, .utc = true };

static void
begin(void)
{
	u = (struct page_usage){ .sort = USAGE_SORT_LIVE };
	stream_types_init(&types);
	ck_assert_int_eq(stream_types_name(&types, 0xc0, "msg", NULL), 0);
	ck_assert_int_eq(stream_types_name(&types, 0xc1, "a \"b\"", NULL), 0);
	ck_assert_int_eq(usage_namer_new(&namer, NULL), 0);
	memset(row, 0, sizeof row);
	row[0] = (struct usage_row){ .type = 0xc0, .size = 64, .allocs = 10,
		.frees = 4, .live = 6, .live_bytes = 384, .alloc_bytes = 640,
		.most = 9, .high = 9, .brief = 3 };
	row[1] = (struct usage_row){ .type = 0xc1, .size = 100, .allocs = 3,
		.frees = 1, .live = 2, .live_bytes = 200, .alloc_bytes = 300,
		.most = 2, .high = 2 };
	row[2] = (struct usage_row){ .kind = USAGE_UNKNOWN, .frees = 5 };
	pic = (struct page_picture){ 0 };
	change = 0;
}

static void
end(void)
{
	page_picture_fini(&pic);
	page_usage_fini(&u);
	usage_namer_free(namer);
}

static void
take(void)
{
	ck_assert_int_eq(usage_namer_take(namer, row, BASE_NELEM(row)), 0);
	ck_assert_int_eq(page_usage_take(&u, &(struct page_usage_taken){
	    .row = row, .n = BASE_NELEM(row), .change = ++change,
	    .namer = namer, .types = &types }), 0);
}

static const struct usage_line *
line_of(const char *type)
{
	for (size_t i = 0; i < u.list.n; i++)
		if (u.list.row[i].type != NULL &&
		    strcmp(u.list.row[i].type, type) == 0)
			return &u.list.row[i];
	ck_abort_msg("no row %s", type);
	return NULL;
}

CASE("readings", .setup = begin, .teardown = end);

TEST(rows_have_the_names_of_types)
{
	take();
	ck_assert_uint_eq(u.list.n, 3);
	ck_assert_str_eq(u.list.row[0].type, "msg");
	ck_assert_str_eq(u.list.row[0].named_by, "program");
	ck_assert_int_eq(u.list.row[0].num, 64);
	ck_assert_int_eq(u.list.row[0].live, 6);
	ck_assert_uint_eq(line_of("(unknown)")->freed, 5);
	ck_assert_uint_eq(line_of("(unknown)")->allocated, 0);
	ck_assert_uint_eq(u.sum.allocated, 13);
	ck_assert_uint_eq(u.sum.bytes, 584);
}

/* What was held before counting began is allocated, so that live is the difference. */
TEST(blocks_held_before_are_allocated)
{
	row[0].live = 106;
	take();
	ck_assert_uint_eq(line_of("msg")->allocated, 110);
	ck_assert_uint_eq(line_of("msg")->held_before, 100);
	ck_assert_int_eq(line_of("msg")->live, 106);
}

TEST(the_max_is_that_since_this_viewer_looks)
{
	take();
	ck_assert_uint_eq(line_of("msg")->max, 6);
	row[0].high = 8;
	row[0].live = 5;
	take();
	ck_assert_uint_eq(line_of("msg")->max, 8);
	row[0].high = row[0].live = 7;
	take();
	ck_assert_uint_eq(line_of("msg")->max, 8);
	page_usage_reset(&u);
	row[0].high = 7;
	take();
	ck_assert_uint_eq(line_of("msg")->max, 7);
}

/* Names that come later do not count a reading twice. */
TEST(a_reading_counts_once)
{
	take();
	change--;
	row[0].high = 50;
	take();
	ck_assert_uint_eq(line_of("msg")->max, 6);
	ck_assert_uint_eq(line_of("msg")->trend->n, 1);
}

TEST(rows_that_are_gone_leave_no_maximum)
{
	for (int i = 0; i < 100; i++) {
		row[0].caller = 4096 + (uint64_t)i;
		take();
	}
	ck_assert_uint_eq(u.maxima.n, BASE_NELEM(row));
}

TEST(trends_do_not_grow_without_end)
{
	for (uint64_t i = 0; i < USAGE_ROWS + 100; i++) {
		row[0].size = 64 + i;
		take();
	}
	ck_assert_uint_le(u.trends.n, USAGE_ROWS);
}

TEST(trends_have_the_last_readings)
{
	for (int i = 1; i <= USAGE_TREND + 3; i++) {
		row[0].live_bytes = (uint64_t)i;
		take();
	}
	ck_assert_uint_eq(line_of("msg")->trend->n, USAGE_TREND);
	ck_assert_uint_eq(line_of("msg")->trend->bytes[0], 4);
	ck_assert_uint_eq(line_of("msg")->trend->bytes[USAGE_TREND - 1],
	    USAGE_TREND + 3);
}

TEST(another_target_has_nothing_of_the_last)
{
	take();
	page_usage_clear(&u);
	ck_assert_ptr_null(page_usage_row(&u));
	row[0].live = row[0].high = 1;
	take();
	ck_assert_uint_eq(line_of("msg")->max, 1);
	ck_assert_uint_eq(line_of("msg")->trend->n, 1);
}

/* --- types by the program's words ------------------------------------------------ */

static void
show(enum usage_grouping by, bool typed)
{
	struct usage_list list = { 0 };
	static const char *const named_by[] = { "program", "allocator", "function",
		"template", "call", "symbol", "new" };

	u.by = by;
	for (size_t i = 0; i < (typed ? BASE_NELEM(named_by) : 3); i++) {
		char name[2] = { (char)('a' + i), '\0' };

		ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
		    .type = name, .named_by = named_by[i], .function =
		    "main", .num = 64, .allocated = 1, .live = 10 - (int)i,
		    .known = USAGE_KNOWS_BYTES }), 0);
	}
	ck_assert_int_eq(page_usage_show(&u, &list, 1), 0);
}

/* The function has blocks of other rows as well. */
static const struct {
	enum usage_grouping by;
	bool typed;
	size_t row;
	const char *filter;
} chosen[] = {
	{ USAGE_BY_NONE, false, 2, "function=\"c\" & size=64" },
	{ USAGE_BY_NONE, true, 0, "type=\"a\" & size=64" },
	{ USAGE_BY_NONE, true, 1, "type=\"b\" & size=64" },
	{ USAGE_BY_NONE, true, 2, "function=\"c\" & ctype=\"\" & size=64" },
	{ USAGE_BY_NONE, true, 3, "ctype=\"d\" & size=64" },
	{ USAGE_BY_TYPE, true, 4, "ctype=\"e\"" },
	{ USAGE_BY_TYPE, true, 5, "ctype=\"f\"" },
	{ USAGE_BY_NONE, true, 6, "ctype=\"g\" & size=64" },
	{ USAGE_BY_FUNCTION, true, 0, "function=\"main\"" },
};

LOOP_TEST(blocks_of_a_type_are_chosen_by_what_has_named_it, 0,
    (int)BASE_NELEM(chosen))
{
	struct filter_error e;
	struct filter *filter;
	char text[FILTER_MAX + 1];

	show(chosen[_i].by, chosen[_i].typed);
	ck_assert(page_usage_filter_of(&u, &u.list.row[chosen[_i].row], text,
	    sizeof text));
	ck_assert_str_eq(text, chosen[_i].filter);
	ck_assert_msg(filter_new(&filter, text, &e) == 0, "%s", e.why);
	filter_free(filter);
}

/* A type has several rows, of which some are of several sizes, or have other sources. */
TEST(a_type_of_several_sources_and_sizes_is_a_filter)
{
	static const struct {
		const char *named_by;
		int64_t num;
		bool no_num;
	} parts[] = { { "template", 64, false }, { "symbol", 64, false },
		{ "template", 512, true }, { "symbol", 4096, true } };
	static const char any[] =
	    "(ctype=\"char\" | type=\"char\" | function=\"char\" & ctype=\"\")";
	struct usage_list list = { 0 };
	struct filter *filter;
	struct filter_error e;
	char text[FILTER_MAX + 1], want[128];

	for (size_t i = 0; i < BASE_NELEM(parts); i++)
		ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
		    .type = "char", .named_by = parts[i].named_by, .num =
		    parts[i].num, .no_num = parts[i].no_num, .live = 9 - (int)i,
		    .known = USAGE_KNOWS_BYTES }), 0);
	ck_assert_int_eq(page_usage_show(&u, &list, 1), 0);
	ck_assert_uint_eq(u.list.n, 2);
	ck_assert(page_usage_filter_of(&u, line_of("char"), text, sizeof text));
	snprintf(want, sizeof want, "%s & size=64", any);
	ck_assert_str_eq(text, want);
	ck_assert_msg(filter_new(&filter, text, &e) == 0, "%s", e.why);
	filter_free(filter);
	ck_assert(page_usage_filter_of(&u, &u.list.row[1], text, sizeof text));
	ck_assert_str_eq(text, any);
}

/* No filter at all is better than the filter of a part. */
TEST(a_name_that_fills_the_filter_is_none)
{
	struct usage_list list = { 0 };
	char name[FILTER_MAX / 2], text[FILTER_MAX + 1];

	memset(name, '"', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
	    .type = name, .named_by = "program", .num = 1 }), 0);
	ck_assert_int_eq(page_usage_show(&u, &list, 1), 0);
	ck_assert(!page_usage_filter_of(&u, &u.list.row[0], text, sizeof text));
}

TEST(a_line_is_the_filter_of_its_blocks)
{
	struct usage_list list = { 0 };
	struct filter *filter;
	struct filter_error e;
	char text[FILTER_MAX + 1];

	u.by = USAGE_BY_LINE;
	for (int num = 1; num <= 2; num++)
		ck_assert_int_eq(usage_list_add(&list, &(struct usage_line){
		    .type = "zmalloc", .named_by = "function", .function =
		    "zmalloc", .file = "/src/zmalloc.c", .line = 42,
		    .num = num }), 0);
	ck_assert_int_eq(page_usage_show(&u, &list, 1), 0);
	ck_assert_uint_eq(u.list.n, 1);
	ck_assert_str_eq(u.list.row[0].type, "zmalloc.c:42  zmalloc");
	ck_assert(page_usage_filter_of(&u, &u.list.row[0], text, sizeof text));
	ck_assert_str_eq(text,
	    "function=\"zmalloc\" & file=\"/src/zmalloc.c\" & line=42");
	ck_assert_msg(filter_new(&filter, text, &e) == 0, "%s", e.why);
	filter_free(filter);
}

TEST(a_column_tells_what_has_named_the_row)
{
	show(USAGE_BY_NONE, true);
	ck_assert_int_eq(page_usage_compose(&u, &head, true, 80, 24, &pic), 0);
	assert_golden(&pic, "usage-named");
	show(USAGE_BY_FUNCTION, true);
	ck_assert_str_eq(u.list.row[0].named_by, "function");
	show(USAGE_BY_SIZE, true);
	ck_assert_ptr_null(u.list.row[0].named_by);
}

/* --- the cursor ---------------------------------------------------------------- */

CASE("cursor", .setup = begin, .teardown = end);

TEST(it_stays_on_its_row)
{
	take();
	page_usage_move(&u, 1, false);
	ck_assert_str_eq(page_usage_row(&u)->type, "a \"b\"");
	row[1].live = 1000;
	take();
	ck_assert_int_eq(page_usage_compose(&u, &head, true, 80, 24, &pic), 0);
	ck_assert_uint_eq(u.rows.selected, 0);
	ck_assert_str_eq(page_usage_row(&u)->type, "a \"b\"");
	page_usage_move(&u, -5, false);
	ck_assert_uint_eq(u.rows.selected, 0);
	page_usage_move(&u, 99, true);
	ck_assert_uint_eq(u.rows.selected, 2);
}

static const struct {
	enum usage_grouping by;
	size_t row;
	const char *filter;		/* NULL: none */
} filters[] = {
	{ USAGE_BY_NONE, 0, "type=\"msg\" & size=64" },
	{ USAGE_BY_NONE, 1, "type=\"a \\\"b\\\"\" & size=100" },
	{ USAGE_BY_NONE, 2, NULL },
	{ USAGE_BY_TYPE, 0, "type=\"msg\"" },
	{ USAGE_BY_SIZE, 0, "size>32 & size<=64" },
};

LOOP_TEST(a_row_is_a_filter_of_page_K, 0, (int)BASE_NELEM(filters))
{
	struct filter *filter;
	struct filter_error e;
	char text[FILTER_MAX];

	u.by = filters[_i].by;
	take();
	ck_assert(page_usage_filter_of(&u, &u.list.row[filters[_i].row], text,
	    sizeof text) == (filters[_i].filter != NULL));
	if (filters[_i].filter == NULL)
		return;
	ck_assert_str_eq(text, filters[_i].filter);
	ck_assert_msg(filter_new(&filter, text, &e) == 0, "%s", e.why);
	filter_free(filter);
}

/* --- pictures -------------------------------------------------------------------- */

CASE("pictures", .setup = begin, .teardown = end);

static const struct {
	int cols;
	const char *heading;
} headings[] = {
	{ 80, "TYPE" "            B     NUM      ALLOCD       FREED    LIVE v"
	    "       MAX      BYTES" },
	{ 40, "TYPE              B    LIVE v      BYTES" },
	{ 20, "TYPE          LIVE v" },
	{ 10, "TYPE" },
};

/* Of a kind that a real program has, with all that a row can be. */
static void
take_scene(void)
{
	row[1].kind = USAGE_ROUNDED;
	row[1].high = 1234567;
	row[1].live = 1204331;
	row[1].live_bytes = UINT64_C(134637158);
	for (int i = 1; i <= 5; i++) {
		row[0].live_bytes = 64 * (uint64_t)i;
		row[1].live_bytes += UINT64_C(9437184);
		take();
	}
	u.reset_ms = INT64_C(1795791843000);
}

static const int widths[] = { 40, 80, 124, 160 };

LOOP_TEST(a_picture_is_as_it_should_be, 0, (int)BASE_NELEM(widths))
{
	struct page_usage_head h = head;
	struct filter_error e;
	char name[32];

	h.since_ms = INT64_C(1795788062000);
	h.from_start = false;
	h.notice = "INCOMPLETE: 412 records were lost.";
	ck_assert_int_eq(filter_new_of(&u.filter, &filter_usage, "freed>0", &e),
	    0);
	take_scene();
	page_usage_move(&u, 1, false);
	ck_assert_int_eq(page_usage_compose(&u, &h, true, widths[_i],
	    widths[_i] == 40 ? 10 : 12, &pic), 0);
	snprintf(name, sizeof name, "usage-%d", widths[_i]);
	assert_golden(&pic, name);
}

static const char *
line_with(const char *text)
{
	for (int i = 0; i < pic.rows; i++)
		if (strncmp(pic.line[i].text, text, strlen(text)) == 0)
			return pic.line[i].text;
	return "";
}

LOOP_TEST(columns_fit_the_screen, 0, (int)BASE_NELEM(headings))
{
	char want[128];

	take();
	ck_assert_int_eq(page_usage_compose(&u, &head, true, headings[_i].cols,
	    24, &pic), 0);
	ck_assert_int_eq(pic.rows, 24);
	for (int i = 0; i < pic.rows; i++)
		ck_assert_int_le((int)strlen(pic.line[i].text),
		    headings[_i].cols);
	snprintf(want, sizeof want, "%s", line_with("TYPE"));
	for (size_t n = strlen(want); n > 0 && want[n - 1] == ' '; n--)
		want[n - 1] = '\0';
	ck_assert_str_eq(want, headings[_i].heading);
}

/* At 80 columns the sums take two lines. */
TEST(sums_are_not_cut)
{
	row[1].allocs = 123456789;
	take();
	ck_assert_int_eq(page_usage_compose(&u, &head, true, 80, 24, &pic), 0);
	ck_assert_ptr_nonnull(strstr(line_with("3 of 3 rows"),
	    "allocated 123,456,799, 940 B"));
	ck_assert_ptr_nonnull(strstr(line_with("short-lived"), "short-lived 3"));
	ck_assert_int_eq(pic.rows, 24);
}

LOOP_TEST(any_size_of_the_screen_has_a_picture, 1, 200)
{
	static const int rows[] = { 0, 1, 2, 3, 5, 8, 24, 60 };

	take();
	for (size_t i = 0; i < BASE_NELEM(rows); i++) {
		ck_assert_int_eq(page_usage_compose(&u, &head, false, _i,
		    rows[i], &pic), 0);
		ck_assert(rows[i] == 0 || pic.rows <= rows[i] + 1);
	}
}

TEST(columns_beside_are_those_on_the_screen)
{
	u.sort = USAGE_SORT_TYPE;
	ck_assert_int_eq(page_usage_beside(&u, 80, false), USAGE_SORTS);
	ck_assert_int_eq(page_usage_beside(&u, 80, true), USAGE_SORT_NUM);
	ck_assert_int_eq(page_usage_beside(&u, 40, true), USAGE_SORT_LIVE);
	u.sort = USAGE_SORT_SHORT_LIVED;
	ck_assert_int_eq(page_usage_beside(&u, 40, false), USAGE_SORT_BYTES);
}
