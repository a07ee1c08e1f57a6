/*
 * What lies over the page: one block in full, and the callers and callees of
 * one function.
 */
#include "../src/pagek/detail.h"
#include "../src/pagek/marked.h"
#include "golden.h"
#include "harness.h"
#include "scene.h"

static struct symbol_wrappers *wrappers;
static struct page_detail detail;
static struct page_kin kin;

static void
setup_detail(void)
{
	setup_stacks();
	ck_assert_int_eq(symbol_wrappers_new(&wrappers), 0);
	scene.view.wrappers = page.opts.wrappers = wrappers;
	page.on_screen = true;
}

static void
teardown_detail(void)
{
	teardown();
	symbol_wrappers_free(wrappers);
}

/* The oldest block of the site. */
static void
open_site(unsigned site)
{
	struct blk b;

	ck_assert_int_eq(blklist_get(scene.list, 0,
	    UINT64_C(0x7f3c04001040) + (site - 1) * 0x1000, &b), 0);
	ck_assert_uint_eq(b.caller, rec_site_caller(site));
	page_detail_open(&detail, &scene.view, &b);
}

static void
look(int cols, int rows)
{
	ck_assert_int_eq(page_detail_compose(&detail, &page, &scene.view,
	    cols, rows, &pic), 0);
	assert_fits(cols, 0);
	ck_assert_int_le(pic.rows, rows > 2 ? rows : 2);
}

static void
look_kin(int cols, int rows)
{
	ck_assert_int_eq(page_kin_compose(&kin, &page, &scene.view, cols,
	    rows, &pic), 0);
	assert_fits(cols, 0);
	ck_assert_int_le(pic.rows, rows > 2 ? rows : 2);
}

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

START_TEST(picture_of_a_block_is_golden)
{
	open_site(golden[_i].site);
	look(golden[_i].cols, golden[_i].rows);
	assert_golden(&pic, golden[_i].name);
}
END_TEST

START_TEST(classic_block_is_told_without_what_its_stream_lacks)
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
	ck_assert(shows("nobody knows who asked"));
	ck_assert(shows("flags 0"));
}
END_TEST

START_TEST(every_size_holds_a_block)
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
END_TEST

START_TEST(words_that_are_missing_have_a_reason)
{
	open_site(5);
	look(124, 40);
	ck_assert(shows("another build of libbar.so.1 lies there now"));
	ck_assert(shows("code in no file: made at run time, or unmapped"));
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
	ck_assert(shows("the words of 1 frame are on their way"));
	ck_assert(shows("not known yet"));
}
END_TEST

START_TEST(skipped_calls_are_told_and_dimmed)
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
END_TEST

START_TEST(hostile_block_is_escaped_and_clipped)
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
END_TEST

START_TEST(freed_block_stays_and_says_so)
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
END_TEST

START_TEST(freed_block_tells_how_when_its_record_was_seen)
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
END_TEST

START_TEST(block_of_a_paused_picture_tells_that_it_is_freed_since)
{
	open_site(2);
	ck_assert_int_eq(page_freeze(&page, &scene.view), 0);
	page_view_frozen(&scene.view, &page);
	look(80, 22);
	ck_assert(shows("state     live"));
	scene_free(&scene, detail.blk.addr);
	later();
	page_view_frozen(&scene.view, &page);
	scene_deaf = true;
	look(80, 22);
	ck_assert(shows("live in the paused picture, freed since"));
	ck_assert(shows("dictAdd"));
}
END_TEST

START_TEST(block_of_another_stream_keeps_its_record_and_no_stack)
{
	open_site(2);
	scene.look.stream_no++;
	look(80, 22);
	ck_assert(shows("another stream is watched by now"));
	ck_assert(shows("200 asked"));
	ck_assert(!shows("dictAdd"));
}
END_TEST

/* --- around the block --------------------------------------------------- */

/* Three that one request made, and one of another thread. */
static void
three_together(void)
{
	int64_t ms = scene.look.now_ms - 5000;
	unsigned i;

	ms -= ms % 1000;
	for (i = 0; i < 4; i++)
		scene_alloc(&scene, 0x10000 + i * 0x100, 72 + i, TYPE_NEW,
		    i < 3 ? 2 : 3, rec_site_caller(2), ms + i);
	scene_alloc(&scene, 0x20000, 7, TYPE_NEW, 2, rec_site_caller(3), ms);
	later();
}

static void
open_addr(uint64_t addr)
{
	struct blk b;

	ck_assert_int_eq(blklist_get(scene.list, 0, addr, &b), 0);
	page_detail_open(&detail, &scene.view, &b);
}

START_TEST(blocks_born_together_are_listed_and_opened)
{
	struct blk b;
	int i;

	three_together();
	open_addr(0x10100);
	look(80, 60);
	ck_assert(shows("together  2 born in its cycle, of its thread and "
	    "callers"));
	ck_assert(shows("beside    1 of that cycle and thread, by other"));
	ck_assert(shows("000000020000          7 new      libfoo.so+0x1f30"));
	ck_assert(!page_detail_block(&detail, &b));
	for (i = 0; i < 4; i++)
		page_detail_move(&detail, &scene.view, 1);
	look(80, 60);
	ck_assert(page_detail_block(&detail, &b));
	ck_assert_uint_eq(b.addr, 0x10000);
	page_detail_move(&detail, &scene.view, 1 << 24);
	look(80, 60);
	ck_assert(page_detail_block(&detail, &b));
	ck_assert_uint_eq(b.addr, 0x20000);
	page_detail_move(&detail, &scene.view, -1);
	ck_assert(page_detail_block(&detail, &b));
	ck_assert_uint_eq(b.addr, 0x10200);
	page_detail_move(&detail, &scene.view, -1);
	ck_assert(page_detail_block(&detail, &b));
	ck_assert_uint_eq(b.addr, 0x10000);
	page_detail_move(&detail, &scene.view, -1);
	ck_assert(!page_detail_block(&detail, &b));
	/* Keys that come faster than pictures are as good. */
	look(80, 10);
	page_detail_move(&detail, &scene.view, 1 << 24);
	page_detail_move(&detail, &scene.view, -1);
	ck_assert(page_detail_block(&detail, &b));
	ck_assert_uint_eq(b.addr, 0x10200);
}
END_TEST

START_TEST(block_born_together_that_is_freed_says_so_and_goes)
{
	struct blk b;

	three_together();
	open_addr(0x10100);
	look(80, 60);
	page_detail_move(&detail, &scene.view, 4);
	ck_assert(page_detail_block(&detail, &b));
	scene_free(&scene, b.addr);
	later();
	look(80, 60);
	ck_assert(shows("72 new      freed"));
	scene.look.now_ms += 5000;
	later();
	look(80, 60);
	ck_assert(shows("together  1 born"));
	ck_assert(!shows("72 new      freed"));
	ck_assert(!page_detail_block(&detail, &b));
}
END_TEST

START_TEST(every_line_of_a_low_screen_can_be_read)
{
	static const char *const words[] = { "address", "stack", "memory",
		"together", "000000010200" };
	size_t n = 0;
	int i;

	three_together();
	open_addr(0x10100);
	for (i = 0; i < 60 && n < BASE_NELEM(words); i++) {
		look(80, 5);
		while (n < BASE_NELEM(words) && shows(words[n]))
			n++;
		page_detail_move(&detail, &scene.view, 1);
	}
	ck_assert_uint_eq(n, BASE_NELEM(words));
	while (n > 0 && i++ < 200) {
		look(80, 5);
		while (n > 0 && shows(words[n - 1]))
			n--;
		page_detail_move(&detail, &scene.view, -1);
	}
	ck_assert_uint_eq(n, 0);
	/* Likewise where nobody was born with it, and the end is no cursor's. */
	open_site(1);
	for (i = 0; i < 60 && !shows("together"); i++) {
		look(80, 5);
		page_detail_move(&detail, &scene.view, 1);
	}
	ck_assert(shows("together"));
	for (; i < 200 && !shows("address"); i++) {
		look(80, 5);
		page_detail_move(&detail, &scene.view, -1);
	}
	ck_assert(shows("address"));
}
END_TEST

START_TEST(neighbours_are_those_of_the_layer_in_memory)
{
	struct blk b;

	three_together();
	open_addr(0x10100);
	look(80, 60);
	/* 72 and 73 bytes asked for, 16 more used each. */
	ck_assert(shows("before 000000010000         72 new      168 between"));
	ck_assert(shows("behind 000000010200         74 new      167 between"));
	ck_assert(shows("byte 256 of page 000000010"));
	ck_assert(page_detail_neighbour(&detail, &scene.view, false, &b));
	ck_assert_uint_eq(b.addr, 0x10000);
	open_addr(0x10000);
	ck_assert(!page_detail_neighbour(&detail, &scene.view, false, &b));
	ck_assert(page_detail_neighbour(&detail, &scene.view, true, &b));
	ck_assert_uint_eq(b.addr, 0x10100);
	/* One that was freed has them still. */
	scene_free(&scene, 0x10000);
	later();
	ck_assert(page_detail_neighbour(&detail, &scene.view, true, &b));
	ck_assert_uint_eq(b.addr, 0x10100);
}
END_TEST

START_TEST(rows_alone_are_not_taken_for_all_blocks)
{
	struct blk b;

	three_together();
	open_addr(0x10100);
	scene.look.window = true;
	later();
	look(80, 60);
	ck_assert(shows("its neighbours are not known: the list is not here"));
	ck_assert(shows("together  not known: the list is not here whole"));
	ck_assert(!page_detail_neighbour(&detail, &scene.view, true, &b));
}
END_TEST

START_TEST(history_tells_who_had_the_address_and_what_is_not_known)
{
	static struct nodes_lives lives;

	three_together();
	open_addr(0x10100);
	lives = (struct nodes_lives){
		.n = 3,
		.since_ms = detail.blk.ms,
		.life = {
			{ .blk = detail.blk, .ended = true,
			    .end = { .seq = 1 } },
			{ .blk = detail.blk },
			{ .blk = detail.blk },
		},
	};
	lives.life[0].blk.size = 1234;
	lives.life[0].blk.seq = 1;
	lives.life[2].blk.size = 99;
	lives.life[2].blk.seq += 10;
	lives.life[1].ended = true;
	lives.life[1].end = (struct nodes_freed){
		.seq = detail.blk.seq + 5,
		.ms = detail.blk.ms + 3000,
		.thread = 2,
		.type = TYPE_DELETE,
	};
	scene.view.lives = &lives;
	look(100, 60);
	ck_assert(shows("1,234 new      rx-0       freed"));
	ck_assert(shows("73 new      rx-0       this block, freed after 3s by "
	    "delete in thread rx-0"));
	ck_assert(shows("99 new      rx-0       lives now"));
	ck_assert(!shows("records were lost"));
	ck_assert(!shows("left out"));
	lives.gaps = true;
	lives.left_out = 1000;
	lives.life[1].ended = false;
	look(100, 60);
	ck_assert(shows("records were lost or skipped since"));
	ck_assert(shows("1,000 earlier ones are left out"));
	ck_assert(shows("this block, nobody saw its end"));
	look(40, 60);
	ck_assert(shows("this block, nobody saw its end"));
	scene.look.stream_no++;
	look(100, 60);
	ck_assert(!shows("history"));
}
END_TEST

START_TEST(sampled_block_tells_for_how_many_it_stands)
{
	scene.look.sample = 100000;
	scene_fini(&scene);
	ck_assert_int_eq(blklist_new(&scene.list, BLKLIST_LITERAL, 100), 0);
	blklist_sample(scene.list, 100000);
	scene.look.list = scene.list;
	scene_alloc(&scene, 0x10000, 100, TYPE_NEW, 1, rec_site_caller(1),
	    scene.look.now_ms);
	later();
	open_addr(0x10000);
	look(80, 40);
	ck_assert(shows("stands for ~1,001 blocks, ~97.7 KiB; sample 1/100000"));
}
END_TEST

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

START_TEST(block_is_new_since_the_mark_or_was_there_before)
{
	struct blk b;

	open_site(2);
	look(80, 40);
	ck_assert(!shows("there before"));
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
	look(80, 40);
	ck_assert(shows("mark      there before "));
	/* At the same address another one. */
	b = detail.blk;
	scene_free(&scene, b.addr);
	scene_alloc(&scene, b.addr, b.size, b.type, b.thread, b.caller,
	    scene.look.now_ms);
	scene_refresh(&scene);
	ck_assert_int_eq(blklist_get(scene.list, 0, b.addr, &b), 0);
	page_detail_open(&detail, &scene.view, &b);
	look(80, 40);
	ck_assert(shows("mark      new since "));
}
END_TEST

START_TEST(cursor_goes_over_calls_and_stops_at_their_ends)
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
END_TEST

START_TEST(inlined_calls_that_come_late_do_not_move_the_cursor)
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
END_TEST

static bool
cursor_is_seen(void)
{
	int i;

	for (i = 1; i < pic.rows; i++)
		if (marked(i, PAGE_CURSOR))
			return true;
	return false;
}

START_TEST(moved_cursor_is_kept_in_sight)
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
END_TEST

START_TEST(low_screen_scrolls_to_the_cursor_and_back_to_the_top)
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
END_TEST

START_TEST(call_under_the_cursor_is_told_in_full)
{
	open_site(2);
	page_detail_move(&detail, &scene.view, 1);
	look(80, 22);
	ck_assert_str_eq(pic.line[19].text, "dictAdd");
	ck_assert_str_eq(pic.line[20].text, "src/dict.c:300");
	page_detail_move(&detail, &scene.view, 2);
	look(80, 22);
	ck_assert_str_eq(pic.line[19].text, "main");
	ck_assert_str_eq(pic.line[20].text, "/usr/bin/redis-server");
}
END_TEST

/* --- callers and callees ------------------------------------------------ */

/* Of the call so many lines down the stack of the site. */
static void
open_kin(unsigned site, int at)
{
	struct page_call c;

	open_site(site);
	page_detail_move(&detail, &scene.view, at);
	ck_assert(page_detail_call(&detail, &scene.view, &c));
	page_kin_open(&kin, detail.blk.caller, &c);
}

static int
line_with(const char *text)
{
	int i;

	for (i = 1; i < pic.rows; i++)
		if (strstr(pic.line[i].text, text) != NULL)
			return i;
	return -1;
}

START_TEST(picture_of_kin_is_golden)
{
	open_kin(2, 2);
	look_kin(100, 22);
	assert_golden(&pic, "kin-100");
	look_kin(40, 8);
	assert_golden(&pic, "kin-40");
}
END_TEST

START_TEST(kin_are_callers_above_and_callees_below)
{
	open_kin(2, 2);
	look_kin(100, 22);
	ck_assert(strstr(pic.line[2].text, "processCommand") != NULL);
	ck_assert_int_lt(line_with("callers"), line_with("main"));
	ck_assert_int_lt(line_with("main"), line_with("callees"));
	ck_assert_int_lt(line_with("callees"), line_with("dictAdd"));
	ck_assert_int_lt(line_with("callees"), line_with("createObject"));
	ck_assert_int_lt(line_with("callees"), line_with("libfoo.so+0x1f30"));
	ck_assert_int_eq(line_with("robj::make"), -1);
	ck_assert_int_eq(line_with("zmalloc"), -1);
}
END_TEST

START_TEST(one_goes_from_kin_to_kin_and_back)
{
	open_kin(2, 2);
	look_kin(100, 22);
	page_kin_move(&kin, 3);
	ck_assert(page_kin_go(&kin, &scene.view));
	look_kin(100, 22);
	ck_assert(strstr(pic.line[2].text, "createObject") != NULL ||
	    strstr(pic.line[2].text, "dictAdd") != NULL);
	ck_assert(page_kin_go(&kin, &scene.view));
	look_kin(100, 22);
	ck_assert(strstr(pic.line[2].text, "processCommand") != NULL);
	ck_assert(page_kin_back(&kin));
	ck_assert(page_kin_back(&kin));
	look_kin(100, 22);
	ck_assert(strstr(pic.line[2].text, "processCommand") != NULL);
	ck_assert_int_eq(kin.step[0].selected, 3);
	ck_assert(!page_kin_back(&kin));
}
END_TEST

START_TEST(who_walks_in_circles_is_not_stopped)
{
	int i, back = 0;

	open_kin(2, 2);
	for (i = 0; i < 5 * PAGE_KIN_DEPTH; i++) {
		look_kin(100, 22);
		page_kin_move(&kin, 1);
		if (!page_kin_go(&kin, &scene.view))
			break;
	}
	while (page_kin_back(&kin)) {
		look_kin(100, 22);
		back++;
	}
	ck_assert_int_le(back, PAGE_KIN_DEPTH - 1);
}
END_TEST

START_TEST(wrapper_has_kin_too)
{
	open_kin(2, 0);
	look_kin(100, 22);
	ck_assert(strstr(pic.line[2].text, "zmalloc") != NULL);
	ck_assert_int_lt(line_with("callers"), line_with("dictAdd"));
	ck_assert_int_eq(strcmp(pic.line[pic.rows - 1].text, "  none"), 0);
}
END_TEST

START_TEST(function_of_which_nothing_lives_has_no_kin)
{
	unsigned i;

	open_kin(2, 1);
	for (i = 1; i < 40; i += 5)
		scene_free(&scene, UINT64_C(0x7f3c04001040) + i * 0x1000);
	later();
	look_kin(100, 22);
	ck_assert(shows("dictAdd"));
	ck_assert(!page_kin_go(&kin, &scene.view));
}
END_TEST

START_TEST(cursor_stays_on_its_kin)
{
	open_kin(2, 2);
	look_kin(100, 22);
	while (!marked(line_with("dictAdd"), PAGE_CURSOR)) {
		ck_assert_int_lt(kin.step[0].selected, 9);
		page_kin_move(&kin, 1);
		look_kin(100, 22);
	}
	scene_alloc(&scene, 0x1000, 1 << 20, TYPE_MALLOC, 1,
	    rec_site_caller(1), scene.look.now_ms);
	later();
	look_kin(100, 22);
	ck_assert(marked(line_with("dictAdd"), PAGE_CURSOR));
}
END_TEST

START_TEST(kin_of_a_name_that_comes_late_are_its_own)
{
	scene_late = 1u << SCENE_F_COMMAND;
	open_kin(2, 2);
	look_kin(100, 22);
	ck_assert(shows("0x55d0c2a01300"));
	scene_late = 0;
	later();
	look_kin(100, 22);
	ck_assert(strstr(pic.line[2].text, "processCommand") != NULL);
	ck_assert(shows("dictAdd"));
}
END_TEST

static Suite *
detail_suite(void)
{
	Suite *s = suite_create("detail");
	TCase *block = tcase_create("block"), *cursor = tcase_create("cursor");
	TCase *related = tcase_create("kin"), *around = tcase_create("around");

	tcase_add_checked_fixture(block, setup_detail, teardown_detail);
	tcase_add_loop_test(block, picture_of_a_block_is_golden, 0,
	    (int)BASE_NELEM(golden));
	tcase_add_test(block,
	    classic_block_is_told_without_what_its_stream_lacks);
	tcase_add_loop_test(block, every_size_holds_a_block, 1, 140);
	tcase_add_test(block, words_that_are_missing_have_a_reason);
	tcase_add_test(block, skipped_calls_are_told_and_dimmed);
	tcase_add_test(block, hostile_block_is_escaped_and_clipped);
	tcase_add_test(block, freed_block_stays_and_says_so);
	tcase_add_test(block,
	    freed_block_tells_how_when_its_record_was_seen);
	tcase_add_test(block,
	    block_of_a_paused_picture_tells_that_it_is_freed_since);
	tcase_add_test(block,
	    block_of_another_stream_keeps_its_record_and_no_stack);
	suite_add_tcase(s, block);

	tcase_add_checked_fixture(around, setup_detail, teardown_detail);
	tcase_add_test(around, blocks_born_together_are_listed_and_opened);
	tcase_add_test(around,
	    block_born_together_that_is_freed_says_so_and_goes);
	tcase_add_test(around, every_line_of_a_low_screen_can_be_read);
	tcase_add_test(around, neighbours_are_those_of_the_layer_in_memory);
	tcase_add_test(around, rows_alone_are_not_taken_for_all_blocks);
	tcase_add_test(around,
	    history_tells_who_had_the_address_and_what_is_not_known);
	tcase_add_test(around,
	    block_is_new_since_the_mark_or_was_there_before);
	tcase_add_test(around, sampled_block_tells_for_how_many_it_stands);
	suite_add_tcase(s, around);

	tcase_add_checked_fixture(cursor, setup_detail, teardown_detail);
	tcase_add_test(cursor,
	    cursor_goes_over_calls_and_stops_at_their_ends);
	tcase_add_test(cursor,
	    inlined_calls_that_come_late_do_not_move_the_cursor);
	tcase_add_test(cursor, moved_cursor_is_kept_in_sight);
	tcase_add_test(cursor,
	    low_screen_scrolls_to_the_cursor_and_back_to_the_top);
	tcase_add_test(cursor, call_under_the_cursor_is_told_in_full);
	suite_add_tcase(s, cursor);

	tcase_add_checked_fixture(related, setup_detail, teardown_detail);
	tcase_add_test(related, picture_of_kin_is_golden);
	tcase_add_test(related, kin_are_callers_above_and_callees_below);
	tcase_add_test(related, one_goes_from_kin_to_kin_and_back);
	tcase_add_test(related, who_walks_in_circles_is_not_stopped);
	tcase_add_test(related, wrapper_has_kin_too);
	tcase_add_test(related, function_of_which_nothing_lives_has_no_kin);
	tcase_add_test(related, cursor_stays_on_its_kin);
	tcase_add_test(related, kin_of_a_name_that_comes_late_are_its_own);
	suite_add_tcase(s, related);
	return s;
}

CHECK_MAIN(detail_suite)
