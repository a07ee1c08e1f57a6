/*
 * One block in full, over the page: what is told of it, and the cursor over its
 * calls.
 */
#include <errno.h>

#include "../src/pagek/history/history.h"
#include "detail_rig.h"
#include "golden.h"

/* --- the block ---------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned site;
	int cols, rows;
} golden[] = {
	{ "detail-inlined-80", 1, 80, 22 },
	{ "detail-inlined-124", 1, 124, 28 },
	{ "detail-inlined-40", 1, 40, 24 },
	{ "detail-depth-80", 3, 80, 22 },
	{ "detail-reasons-80", 5, 80, 22 },
	{ "detail-low-80", 1, 80, 8 },
};

CASE("block", .setup = setup_detail, .teardown = teardown_detail);

LOOP_TEST(picture_of_a_block_is_golden, 0, (int)BASE_NELEM(golden))
{
	open_site(golden[_i].site);
	look(golden[_i].cols, golden[_i].rows);
	assert_golden(&pic, golden[_i].name);
}

/* The source line of the call under the cursor, which is not on 40 columns. */
static const struct {
	const char *name;
	int cols, rows;
	struct page_source source;
} sources[] = {
	{ "detail-source-80", 80, 22, { .state = PAGE_SOURCE_READ,
	    .text = "ptr = malloc(size + PREFIX_SIZE);" } },
	{ "detail-source-124", 124, 33, { .state = PAGE_SOURCE_READ,
	    .newer = true, .text = "ptr = \033[2Jmalloc(\xff);" } },
	{ "detail-source-missing-80", 80, 22, { .state = PAGE_SOURCE_FAILED,
	    .err = -ENOENT } },
	{ "detail-source-short-80", 80, 22, { .state = PAGE_SOURCE_READ,
	    .beyond = true } },
};

LOOP_TEST(source_line_is_below_the_stack, 0, (int)BASE_NELEM(sources))
{
	struct page_call call;

	open_site(1);
	ck_assert(page_detail_call(&detail, &scene.view, &call));
	source = sources[_i].source;
	page_text_copy(source.path, sizeof source.path, call.line->file);
	source.line = call.line->line;
	look(sources[_i].cols, sources[_i].rows);
	assert_golden(&pic, sources[_i].name);
	/* It is not shown for another line. */
	source.line++;
	look(sources[_i].cols, sources[_i].rows);
	ck_assert(!shows("ptr = ") && !shows("newer") && !shows("the file"));
}

TEST(classic_block_is_told_without_what_its_stream_lacks)
{
	struct blk b;

	scene_fini(&scene);
	scene_note(&scene);
	ck_assert_int_eq(blklist_get(scene.list, 0, 0x8e66b8, &b), 0);
	page_detail_open(&detail, &scene.view, &b);
	look(80, 22);
	ck_assert(shows("BLOCK 008e66b8"));
	ck_assert(shows("72 asked"));
	ck_assert(!shows("used"));
	ck_assert(shows("node AB86"));
	ck_assert(shows("since 2004-07-13 13:30:26"));
	ck_assert(shows("no stack recorded"));
	ck_assert(shows("flags 0"));
}

static const struct {
	const char *name, *shown;
} regions[] = {
	{ "conns", "in region conns" },
	{ "region 1", " in region 1" },
	{ "", "in region without a name" },
};

LOOP_TEST(region_of_a_block_is_named_once, 0, BASE_NELEM(regions))
{
	static struct wire_region region;
	struct blk b;

	scene_fini(&scene);
	scene_note(&scene);
	region = (struct wire_region){ .base = 0x8e0000, .size = 0x10000,
		.head = 8, .align = 8 };
	snprintf(region.name, sizeof region.name, "%s", regions[_i].name);
	scene.look.regions.at = &region;
	scene.look.regions.n = 1;
	ck_assert_int_eq(blklist_get(scene.list, 0, 0x8e66b8, &b), 0);
	page_detail_open(&detail, &scene.view, &b);
	look(80, 22);
	ck_assert(shows(regions[_i].shown) && !shows("region region"));
}

LOOP_TEST(every_size_holds_a_block, 1, 140)
{
	int rows;

	open_site(1);
	for (rows = 2; rows < 30; rows++)
		look(_i, rows);
	scene_late = ~0u;
	look(_i, 24);
	scene_deaf = true;
	look(_i, 24);
}

TEST(words_that_are_missing_have_a_reason)
{
	open_site(5);
	look(124, 40);
	ck_assert(shows("another build of libbar.so.1 is there now"));
	ck_assert(shows("code in no file: generated at run time, or unmapped"));
	ck_assert(shows("no symbol for it in libfoo.so"));
	ck_assert(shows(stream_end_text(RING_END_NO_TABLE)));
	open_site(1);
	look(124, 40);
	ck_assert(shows("no line for code in redis-server"));
	ck_assert(shows(stream_end_text(RING_END_OUTERMOST)));
	scene.view.fetching = "redis-server 812 of 4,096 kB";
	scene_late = 1u << SCENE_F_OBJECT;
	look(124, 40);
	ck_assert(shows("fetching debug file: redis-server 812 of 4,096 kB"));
	ck_assert(shows("waiting for the names of 1 frame"));
	ck_assert(shows("not known yet"));
}

TEST(skipped_calls_are_told_and_dimmed)
{
	int i;

	open_site(2);
	page_detail_move(&detail, &scene.view, 1);
	look(124, 40);
	for (i = 0; strstr(pic.line[i].text, "(skipped)") == NULL; i++)
		ck_assert_int_lt(i, pic.rows - 1);
	ck_assert(strstr(pic.line[i].text, "zmalloc") != NULL);
	ck_assert(marked(i, PAGE_STALE));
	ck_assert(strstr(pic.line[i + 1].text, "(skipped)") == NULL);
}

TEST(hostile_block_is_escaped_and_clipped)
{
	static char symbol[4200];
	int i, said = 0;

	memset(symbol, 'x', sizeof symbol - 1);
	memcpy(symbol, "a\033[2Jb\n\r\t\xff", 10);
	scene_symbol_override = symbol;
	scene.view.fetching = "\033]0;title\007";
	stream_types_name(&scene.types, TYPE_API_FIRST, "a\033[b", "c\nd");
	open_site(1);
	detail.blk.type = TYPE_API_FIRST;
	for (i = 33; i < 200; i += 7)
		look(i, 40);
	/* All frames lie in one file now: it is named once. */
	for (i = 0; i < pic.rows; i++)
		said += strstr(pic.line[i].text, "no line for code in \\") !=
		    NULL;
	ck_assert_int_eq(said, 1);
	for (i = 0; i < pic.rows; i++)
		ck_assert_ptr_null(strpbrk(pic.line[i].text,
		    "\033\n\r\t\007"));
}

TEST(freed_block_stays_and_says_so)
{
	open_site(2);
	look(80, 22);
	ck_assert(shows("state     live"));
	scene_free(&scene, detail.blk.addr);
	scene.look.now_ms += 1;
	later();
	look(80, 22);
	ck_assert(shows("freed, seen 0s ago"));
	ck_assert(shows("dictAdd"));
	scene.look.now_ms += 5000;
	later();
	look(80, 22);
	ck_assert(shows("freed, seen 5s ago"));
	ck_assert(!shows("in use again"));
	ck_assert(shows("lived 4m33s"));
	scene_alloc(&scene, detail.blk.addr, 16, TYPE_NEW, 1, 0,
	    scene.look.now_ms);
	later();
	look(80, 22);
	ck_assert(shows("freed, seen 5s ago; its address is in use again"));
	ck_assert(shows("200 asked"));
}

TEST(usable_bytes_are_said_as_exactly_as_they_are_known)
{
	open_site(2);
	look(80, 22);
	ck_assert(shows("200 asked, 216 used"));
	detail.blk.overhead = 23;
	look(80, 22);
	ck_assert(shows("200 asked, 223 used"));
	detail.blk.overhead = 0x8001;
	look(80, 22);
	ck_assert(shows("200 asked, about 33,000 used"));
	detail.blk.overhead = 0xffff;
	look(80, 22);
	ck_assert(shows("200 asked, at least 1,081,512 used"));
}

TEST(freed_block_tells_how_when_its_record_was_seen)
{
	struct nodes_freed how = { .ms = scene.look.now_ms - 3000,
		.caller = rec_site_caller(3), .thread = 2,
		.type = TYPE_BY_REALLOC };

	open_site(2);
	scene.view.freed = &how;
	look(80, 30);
	ck_assert(shows("state     live"));
	ck_assert(!shows("freed by"));
	scene_free(&scene, detail.blk.addr);
	later();
	look(80, 30);
	ck_assert(shows("freed 3s ago by realloc in thread rx-0"));
	ck_assert(shows("freed by  3 frames"));
	ck_assert(shows("libfoo.so+0x1f30"));
	ck_assert(shows("dictAdd"));
	/* The cursor stays among the calls that asked for it. */
	page_detail_move(&detail, &scene.view, 1 << 20);
	look(80, 30);
	ck_assert(shows("freed by"));
	how.caller = 0;
	look(80, 30);
	ck_assert(!shows("freed by"));
}

TEST(block_of_a_paused_picture_tells_that_it_is_freed_since)
{
	open_site(2);
	pause_now();
	page_view_paused(&scene.view, &page);
	look(80, 22);
	ck_assert(shows("state     live"));
	scene_free(&scene, detail.blk.addr);
	later();
	page_view_paused(&scene.view, &page);
	scene_deaf = true;
	look(80, 22);
	ck_assert(shows("live in the paused picture, freed since"));
	ck_assert(shows("dictAdd"));
}

TEST(block_of_another_stream_keeps_its_record_and_no_stack)
{
	open_site(2);
	scene.look.stream_no++;
	look(80, 22);
	ck_assert(shows("the page watches another stream now"));
	ck_assert(shows("200 asked"));
	ck_assert(!shows("dictAdd"));
}

/* --- the cursor --------------------------------------------------------- */

static const char *
call_name(void)
{
	static char text[PAGE_NAME_MAX];
	struct page_call c;

	if (!page_detail_call(&detail, &scene.view, &c))
		return "";
	page_call_function(&c, text, sizeof text);
	return text;
}

CASE("cursor", .setup = setup_detail, .teardown = teardown_detail);

TEST(cursor_goes_over_calls_and_stops_at_their_ends)
{
	static const char *const names[] = { "zmalloc", "robj::make(int)",
		"createObject", "processCommand", "main", "main" };
	size_t i;

	open_site(1);
	look(80, 22);
	for (i = 0; i < BASE_NELEM(names); i++) {
		ck_assert_str_eq(call_name(), names[i]);
		page_detail_move(&detail, &scene.view, 1);
		look(80, 22);
	}
	page_detail_move(&detail, &scene.view, -(1 << 24));
	ck_assert_str_eq(call_name(), "zmalloc");
	page_detail_move(&detail, &scene.view, 1 << 24);
	ck_assert_str_eq(call_name(), "main");
}

TEST(inlined_calls_that_come_late_do_not_move_the_cursor)
{
	scene_late = 1u << SCENE_F_OBJECT;
	open_site(1);
	look(80, 22);
	page_detail_move(&detail, &scene.view, 2);
	ck_assert_str_eq(call_name(), "processCommand");
	scene_late = 0;
	look(80, 22);
	ck_assert_str_eq(call_name(), "processCommand");
	/* The frame's own function, not what turned out to be inlined in it. */
	scene_late = 1u << SCENE_F_OBJECT;
	page_detail_move(&detail, &scene.view, -1);
	look(80, 22);
	scene_late = 0;
	look(80, 22);
	ck_assert_str_eq(call_name(), "createObject");
}

static bool
cursor_is_seen(void)
{
	int i;

	for (i = 1; i < pic.rows; i++)
		if (marked(i, PAGE_CURSOR))
			return true;
	return false;
}

TEST(moved_cursor_is_kept_in_sight)
{
	int i;

	open_site(4);
	look(80, 11);
	ck_assert(cursor_is_seen());
	for (i = 0; i < 5; i++) {
		page_detail_move(&detail, &scene.view, 1);
		look(80, 11);
		ck_assert(cursor_is_seen());
	}
	for (i = 0; i < 5; i++) {
		page_detail_move(&detail, &scene.view, -1);
		look(80, 6);
		ck_assert(i == 4 || cursor_is_seen());
	}
}

TEST(low_screen_scrolls_to_the_cursor_and_back_to_the_top)
{
	int i;

	open_site(1);
	look(80, 8);
	ck_assert(shows("address"));
	for (i = 0; i < 20; i++) {
		page_detail_move(&detail, &scene.view, 1);
		look(80, 8);
	}
	ck_assert_str_eq(call_name(), "main");
	ck_assert(shows("main"));
	ck_assert(!shows("address"));
	for (i = 0; i < 20; i++) {
		page_detail_move(&detail, &scene.view, -1);
		look(80, 8);
		ck_assert(i >= 4 || cursor_is_seen());
	}
	ck_assert_str_eq(call_name(), "zmalloc");
	ck_assert(shows("address"));
}

TEST(call_under_the_cursor_is_told_in_full)
{
	open_site(2);
	page_detail_move(&detail, &scene.view, 1);
	look(80, 22);
	ck_assert_str_eq(pic.line[18].text, "dictAdd");
	ck_assert_str_eq(pic.line[19].text, "src/dict.c:300");
	page_detail_move(&detail, &scene.view, 2);
	look(80, 22);
	ck_assert_str_eq(pic.line[18].text, "main");
	ck_assert_str_eq(pic.line[19].text, "/usr/bin/redis-server");
}
