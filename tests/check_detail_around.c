/*
 * Around one block: who was born with it, who is beside it in memory, who had
 * its address before, and which side of the mark it is on.
 */
#include "../src/pagek/difference/difference.h"
#include "detail_rig.h"

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

CASE("around", .setup = setup_detail, .teardown = teardown_detail);

TEST(blocks_born_together_are_listed_and_opened)
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

TEST(block_born_together_that_is_freed_says_so_and_goes)
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

TEST(every_line_of_a_low_screen_can_be_read)
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

TEST(neighbours_are_those_of_the_layer_in_memory)
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

TEST(rows_alone_are_not_taken_for_all_blocks)
{
	struct blk b;

	three_together();
	open_addr(0x10100);
	scene.look.window = true;
	later();
	look(80, 60);
	ck_assert(shows("neighbours are not known: not all blocks are here"));
	ck_assert(shows("together  not known: not all blocks are here"));
	ck_assert(!page_detail_neighbour(&detail, &scene.view, true, &b));
}

TEST(history_tells_who_had_the_address_and_what_is_not_known)
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
	ck_assert(shows("99 new      rx-0       is live now"));
	ck_assert(!shows("records were lost"));
	ck_assert(!shows("left out"));
	lives.gaps = true;
	lives.left_out = 1000;
	lives.life[1].ended = false;
	look(100, 60);
	ck_assert(shows("records were lost or skipped since"));
	ck_assert(shows("1,000 earlier ones are left out"));
	ck_assert(shows("this block, its free was not seen"));
	look(40, 60);
	ck_assert(shows("this block, its free was not seen"));
	scene.look.stream_no++;
	look(100, 60);
	ck_assert(!shows("history"));
}

TEST(sampled_block_tells_for_how_many_it_stands)
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

TEST(block_is_new_since_the_mark_or_was_there_before)
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
