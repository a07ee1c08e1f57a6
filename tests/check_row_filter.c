/* Which blocks match an expression, and where an expression is wrong. */
#include <errno.h>

#include "../src/pagek/blocks/free_blocks.h"
#include "../src/pagek/blocks/row_filter.h"
#include "harness.h"
#include "scene.h"

static struct page_row_filter *filter;

static void
begin(const char *expression)
{
	struct filter_error e;

	page_row_filter_free(filter);
	filter = NULL;
	ck_assert_msg(page_row_filter_new(&filter, expression, &e) == 0, "'%s': %s",
	    expression, e.why);
	page_row_filter_begin(filter, &scene.view);
}

static void
teardown_filter(void)
{
	page_row_filter_free(filter);
	filter = NULL;
	teardown();
}

/* How many of all blocks are let through. */
static uint64_t
lets(const char *expression)
{
	struct blk rows[64];
	uint64_t n = 0;
	size_t got;

	begin(expression);
	got = blklist_window(scene.list, BLKLIST_BY_AGE, false, 0, rows, 64);
	for (size_t i = 0; i < got; i++)
		n += page_row_filter_matches(filter, &rows[i]);
	ck_assert_uint_eq(page_row_filter_sums(filter).blocks, n);
	return n;
}

static const struct {
	const char *expression;
	uint64_t n;
} note[] = {
	{ "", 6 },
	{ "size>=0x40", 3 },
	{ "used=0x48", 1 },
	{ "addr=8e66b8", 1 }, { "address=0x8e66b8", 1 },
	{ "age_ms>38999", 1 }, { "age_ms<1s", 2 }, { "age_ms<1000", 2 },
	{ "level=0", 6 }, { "type_name=acreq", 1 },
	{ "requester=ab86", 1 }, { "requester!=\"\"", 1 },
	{ "age=13s", 3 }, { "age<1s", 2 }, { "age>=39s", 1 },
	{ "seq=1", 1 },
	{ "type=ACREQ", 1 }, { "type=0c", 1 }, { "type=9", 2 },
	{ "descr=*req", 3 },
	{ "rnod=AB86", 1 }, { "rnod=ab*", 1 }, { "rnod=\"\"", 5 },
	{ "layer=heap", 6 },
	{ "thread=*", 0 }, { "function=*", 0 }, { "tid=0", 6 },
	{ "acreq", 1 }, { "ab86", 1 },
};

CASE("note", .setup = setup_note, .teardown = teardown_filter);

LOOP_TEST(blocks_of_the_note, 0, BASE_NELEM(note))
{
	ck_assert_msg(lets(note[_i].expression) == note[_i].n, "%s: %llu",
	    note[_i].expression,
	    (unsigned long long)lets(note[_i].expression));
}

/* 40 blocks, 8 of each of the sites. */
static const struct {
	const char *expression;
	uint64_t n;
} stacks[] = {
	{ "", 40 },
	{ "used=116", 8 },
	{ "type=malloc", 40 }, { "type=80", 40 },
	{ "thread=main", 10 }, { "tid=2", 10 }, { "thread~rx", 20 },
	{ "function=robj::make(int)", 8 }, { "function=zmalloc", 0 },
	{ "function=dictAdd", 8 }, { "dictadd", 8 },
	{ "function~processcommand", 8 },
	{ "function=libfoo.so+0x1f30", 8 }, { "libfoo", 8 },
	{ "file=object.h", 8 }, { "file=object.h:12", 8 },
	{ "file=src/object.h", 8 }, { "file~src/", 24 },
	{ "file=\"\"", 16 }, { "file=dict.c:301", 0 },
	{ "object.h:12", 8 },
	{ "line=12", 8 }, { "line>=12 & line<13 & file=object.h", 8 },
	{ "line!=12", 32 }, { "line<1", 0 },
	{ "module=redis-server", 24 }, { "module=/usr/lib/lib*", 16 },
	{ "module=libbar.so.1", 8 },
	{ "module~lib size>300", 8 },
};

CASE("stacks", .setup = setup_stacks, .teardown = teardown_filter);

LOOP_TEST(blocks_with_stacks, 0, BASE_NELEM(stacks))
{
	struct symbol_wrappers *wrappers;
	uint64_t n;

	ck_assert_int_eq(symbol_wrappers_new(&wrappers), 0);
	scene.view.wrappers = wrappers;
	n = lets(stacks[_i].expression);
	scene.view.wrappers = NULL;
	symbol_wrappers_free(wrappers);
	ck_assert_msg(n == stacks[_i].n, "%s: %llu", stacks[_i].expression,
	    (unsigned long long)n);
}

TEST(a_name_that_decides_is_told_whether_it_is_known)
{
	struct blk b;

	ck_assert_uint_eq(blklist_window(scene.list, BLKLIST_BY_AGE, false, 0,
	    &b, 1), 1);
	scene_deaf = true;
	begin("function=zmalloc & size=100");
	ck_assert(page_row_filter_wants_names(filter));
	ck_assert(!page_row_filter_matches(filter, &b));
	ck_assert(page_row_filter_used_name(filter));
	ck_assert_uint_eq(page_row_filter_sums(filter).unsure, 1);
	begin("function=zmalloc & size=101");
	ck_assert(!page_row_filter_matches(filter, &b));
	ck_assert(!page_row_filter_used_name(filter));
	ck_assert_uint_eq(page_row_filter_sums(filter).unsure, 0);
	begin("function!=zmalloc | size=101");
	ck_assert(page_row_filter_matches(filter, &b));
	ck_assert_uint_eq(page_row_filter_sums(filter).unsure, 1);
	scene_deaf = false;
	page_row_filter_begin(filter, &scene.view);
	ck_assert(!page_row_filter_matches(filter, &b));
	ck_assert(page_row_filter_used_name(filter));
	ck_assert_uint_eq(page_row_filter_sums(filter).unsure, 0);
	begin("descr=malloc");
	ck_assert(!page_row_filter_wants_names(filter));
	ck_assert(page_row_filter_matches(filter, &b));
	ck_assert(!page_row_filter_used_name(filter));
}

TEST(what_has_no_caller_waits_for_no_name)
{
	struct blk b;

	scene_alloc(&scene, 0x10000, 99, TYPE_MALLOC, 0, 0, 0);
	scene_refresh(&scene);
	ck_assert_int_eq(blklist_get(scene.list, 0, 0x10000, &b), 0);
	begin("function=zmalloc | thread=main");
	ck_assert(!page_row_filter_matches(filter, &b));
	ck_assert(page_row_filter_used_name(filter));
	ck_assert_uint_eq(page_row_filter_sums(filter).unsure, 0);
}

TEST(names_are_looked_at_anew_in_each_pass)
{
	scene_late = 1u << SCENE_F_ZMALLOC;
	ck_assert_uint_eq(lets("function=zmalloc"), 0);
	scene_late = 0;
	page_row_filter_begin(filter, &scene.view);
	for (size_t i = 0; i < 2; i++) {
		struct blk b;

		ck_assert_uint_eq(blklist_window(scene.list, BLKLIST_BY_AGE,
		    false, 0, &b, 1), 1);
		ck_assert(page_row_filter_matches(filter, &b));
	}
	ck_assert_uint_eq(page_row_filter_sums(filter).blocks, 2);
	ck_assert_uint_eq(page_row_filter_sums(filter).bytes, 200);
}

CASE("note");

TEST(free_memory_is_kept_back)
{
	struct blk b = { .addr = 0x1000, .size = 64,
		.flags = REC_FLAGS(REC_FREE, 0) };

	begin("");
	ck_assert(page_is_free(&b));
	ck_assert(!page_row_filter_matches(filter, &b));
	ck_assert(!page_row_filter_used_name(filter));
}

TEST(no_filter_matches_everything)
{
	struct blk b = { .addr = 0x1000 };

	page_row_filter_begin(NULL, &scene.view);
	ck_assert(page_row_filter_matches(NULL, &b));
	ck_assert(!page_row_filter_used_name(NULL));
	ck_assert(!page_row_filter_wants_names(NULL));
	ck_assert_ptr_null(page_row_filter_text(NULL));
	ck_assert_uint_eq(page_row_filter_sums(NULL).blocks, 0);
}

TEST(caught_of_a_sample_stand_for_more)
{
	struct blk rows[8];
	struct page_row_filter_sums caught;
	double weight = 0;
	size_t n;

	scene_fini(&scene);
	scene_init(&scene, BLKLIST_INDEXED, 64);
	blklist_sample(scene.list, 1000);
	stream_types_init(&scene.types);
	for (unsigned i = 0; i < 8; i++)
		scene_alloc(&scene, 0x10000 + i * 0x1000, 100 + i, TYPE_MALLOC,
		    1, 0, 0);
	scene_refresh(&scene);
	ck_assert_uint_eq(lets("size<104"), 4);
	caught = page_row_filter_sums(filter);
	n = blklist_window(scene.list, BLKLIST_BY_AGE, false, 0, rows, 8);
	ck_assert_uint_eq(n, 8);
	for (size_t i = 0; i < 4; i++)
		weight += blklist_weight(scene.list, &rows[i]);
	ck_assert_uint_eq(caught.bytes, 406);
	ck_assert(weight > 30 && caught.est_blocks > weight * 0.999 &&
	    caught.est_blocks < weight * 1.001);
	ck_assert(caught.est_bytes > weight * 100 &&
	    caught.est_bytes < weight * 104);
}

/* --- where it is wrong --------------------------------------------------- */

static const struct {
	const char *expression;
	size_t at;
	int cols;
	size_t column;
	const char *lines;
} places[] = {
	{ "a & | b", 4, 79, 5, "a & | b\n    ^\n" },
	{ "", 0, 79, 1, "\n^\n" },
	{ "a &", 3, 79, 4, "a &\n   ^\n" },
	{ "\xc3\xa9\xe4\xb8\xad=1", 5, 79, 3,
	    "\xc3\xa9\xe4\xb8\xad=1\n   ^\n" },
	{ "a\tb&", 4, 79, 5, "a\\x09b&\n       ^\n" },
	{ "abcdefghijklmnop", 12, 8, 13, "ghijklmn\n      ^\n" },
	{ "abcdefghijklmnop", 2, 8, 3, "abcdefgh\n  ^\n" },
	{ "a\033[2Jb", 1, 79, 2, "a\\x1B[2Jb\n ^\n" },
};

CASE("places", .setup = setup_note, .teardown = teardown_filter);

LOOP_TEST(a_place_has_a_caret_below, 0, BASE_NELEM(places))
{
	char lines[4096];

	page_filter_error_lines(places[_i].expression, places[_i].at,
	    places[_i].cols, false, lines, sizeof lines);
	ck_assert_str_eq(lines, places[_i].lines);
	ck_assert_uint_eq(page_filter_error_column(places[_i].expression,
	    places[_i].at), places[_i].column);
}

TEST(a_wrong_expression_makes_no_filter)
{
	struct page_row_filter *s = NULL;
	struct filter_error e;

	ck_assert_int_eq(page_row_filter_new(&s, "size>", &e), -EINVAL);
	ck_assert_ptr_null(s);
	ck_assert_uint_eq(e.at, 5);
}
