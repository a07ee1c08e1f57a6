/*
 * Free blocks of known regions: which they are, where they stand among the
 * rows, and how they look.
 */
#include "../src/pagek/history/history.h"
#include "../src/pagek/blocks/free_blocks.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

static struct wire_region region[WIRE_REGIONS_MAX];

static void
put_region(uint64_t base, uint64_t size, unsigned head, unsigned align,
    const char *name)
{
	struct wire_region *r = &region[scene.look.regions.n++];

	memset(r, 0, sizeof *r);
	r->base = base;
	r->size = size;
	r->head = (uint16_t)head;
	r->align = (uint16_t)align;
	snprintf(r->name, sizeof r->name, "%s", name);
	scene.look.regions.at = region;
}

static void
put_block(unsigned layer, uint64_t addr, uint64_t size)
{
	struct rec rec = { .w = {
		rec_w0(addr, REC_FLAGS(REC_ALLOC, layer > 0 ? REC_LAYER_API :
		    0), layer > 0 ? 0xc4 : TYPE_MALLOC),
		rec_w1(size, 1),
		rec_w2(0, (uint32_t)scene.look.now_ms),
		rec_w3(0x401000, 0),
	} };

	scene_apply(&scene, &rec, scene.look.now_ms - 5000, NULL);
	scene_refresh(&scene);
}

static void
drop_block(unsigned layer, uint64_t addr)
{
	struct rec rec = { .w = {
		rec_w0(addr, REC_FLAGS(REC_FREE, layer > 0 ? REC_LAYER_API :
		    0), TYPE_FREE),
	} };

	scene_apply(&scene, &rec, scene.look.now_ms, NULL);
	scene_refresh(&scene);
}

static void
setup_empty(void)
{
	setup();
	scene_target(&scene, 0);
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	page.opts.free = true;
}

/* A small pool with two holes, behind a block of the heap. */
#define POOL UINT64_C(0x7f0000010000)

static void
setup_pool(void)
{
	setup_empty();
	put_region(POOL, 0x1000, 16, 16, "conns");
	put_block(0, 0x55d0c0001000, 100);
	put_block(1, POOL + 0x10, 0xf0);
	put_block(1, POOL + 0x410, 0x1f0);
	put_block(1, POOL + 0xe10, 0x1f0);
}

static size_t
all_rows(struct blk *out, size_t max)
{
	page_free_begin(&page, &scene.view);
	return page_free_window(&page, &scene.view, 0, out, max);
}

/* --- which they are ----------------------------------------------------- */

CASE("which", .setup = setup_empty, .teardown = teardown);

/* One region from 1000 to 1100; blocks and gaps end with an address of 0. */
LOOP_TEST(gaps_begin_and_end_where_blocks_do, 0, check_rounds(20))
{
	static const struct {
		unsigned head, align;
		uint64_t block[4][2], gap[4][2];
	} cases[] = {
		{ 0, 0, { { 0 } }, { { 1000, 100 } } },
		{ 0, 0, { { 1000, 100 } }, { { 0 } } },
		{ 0, 0, { { 1000, 10 } }, { { 1010, 90 } } },
		{ 0, 0, { { 1090, 10 } }, { { 1000, 90 } } },
		{ 0, 0, { { 1010, 10 }, { 1020, 10 } }, { { 1000, 10 },
		    { 1030, 70 } } },
		/* What is the allocator's before a block is not free. */
		{ 8, 0, { { 1008, 92 } }, { { 0 } } },
		{ 8, 0, { { 1028, 72 } }, { { 1000, 20 } } },
		{ 8, 0, { { 1015, 85 } }, { { 0 } } },
		{ 8, 0, { { 1016, 84 } }, { { 1000, 8 } } },
		/* The head of a block that cannot have one. */
		{ 16, 0, { { 1004, 6 } }, { { 1010, 90 } } },
		/* Sizes are rounded up, and a hole too small for any is none. */
		{ 0, 8, { { 1000, 90 } }, { { 0 } } },
		{ 0, 8, { { 1000, 85 } }, { { 1088, 12 } } },
		{ 0, 8, { { 1000, 88 } }, { { 1088, 12 } } },
		{ 4, 8, { { 1004, 81 } }, { { 0 } } },
		{ 4, 8, { { 1004, 80 } }, { { 1084, 16 } } },
		{ 4, 8, { { 1004, 84 } }, { { 0 } } },
		/* Blocks that reach beyond, lie over each other, or outside. */
		{ 0, 0, { { 1050, 500 } }, { { 1000, 50 } } },
		{ 0, 0, { { 1000, 50 }, { 1010, 10 } }, { { 1050, 50 } } },
		{ 0, 0, { { 990, 20 }, { 1100, 10 } }, { { 1000, 100 } } },
		{ 0, 0, { { 1050, UINT64_C(1) << 47 } }, { { 1000, 50 } } },
	};
	struct blk rows[8];
	size_t n, i, k;

	put_region(1000, 100, cases[_i].head, cases[_i].align, "");
	for (i = 0; i < 4 && cases[_i].block[i][0] != 0; i++)
		put_block(1, cases[_i].block[i][0], cases[_i].block[i][1]);
	n = all_rows(rows, BASE_NELEM(rows));
	for (i = k = 0; i < n; i++) {
		if (!page_is_free(&rows[i]))
			continue;
		ck_assert_uint_eq(rows[i].addr, cases[_i].gap[k][0]);
		ck_assert_uint_eq(rows[i].size, cases[_i].gap[k][1]);
		k++;
	}
	ck_assert_uint_eq(cases[_i].gap[k][0], 0);
}

/* --- against a model that knows each byte ------------------------------- */

#define SPAN 2048
#define ROWS 4096

struct model {
	bool used[4][SPAN];
	uint64_t sum, largest;
	struct blk row[ROWS];		/* in ascending order */
	size_t n;
};

static uint64_t state;

static unsigned
chance(unsigned below)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(state >> 33) % below;
}

static int
ascending(const void *a, const void *b)
{
	const struct blk *x = a, *y = b;
	int lx = (x->flags & REC_LAYER_API) != 0;
	int ly = (y->flags & REC_LAYER_API) != 0;

	if (lx != ly)
		return lx - ly;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static void
model_use(struct model *m, unsigned i, uint64_t addr, uint64_t size)
{
	const struct wire_region *r = &region[i];
	uint64_t at = addr - r->head, end = addr + size;

	while (r->align > 1 && (end - addr) % r->align != 0)
		end++;
	for (; at < end; at++)
		if (at >= r->base && at < r->base + r->size)
			m->used[i][at - r->base] = true;
}

static void
model_rows(struct model *m)
{
	m->n = blklist_window(scene.list, BLKLIST_BY_ADDRESS, false, 0, m->row,
	    ROWS);
	for (size_t i = 0; i < scene.look.regions.n; i++) {
		const struct wire_region *r = &region[i];
		uint64_t size = 0;

		for (uint64_t at = 0; at <= r->size; at++) {
			if (at < r->size && !m->used[i][at]) {
				size++;
				continue;
			}
			if (size >= (uint64_t)r->head + r->align && size > 0) {
				m->row[m->n++] = (struct blk){
					.addr = r->base + at - size,
					.size = size,
					.flags = REC_FLAGS(REC_FREE,
					    REC_LAYER_API) };
				m->sum += size;
				if (size > m->largest)
					m->largest = size;
			}
			size = 0;
		}
	}
	qsort(m->row, m->n, sizeof *m->row, ascending);
}

/* Blocks that do not overlap, with their heads, and some elsewhere. */
static void
model_fill(struct model *m)
{
	for (unsigned i = 0; i < 1 + chance(4); i++) {
		uint64_t at;

		put_region(POOL + i * SPAN, 1 + chance(SPAN), chance(3) * 8,
		    1u << chance(6), "r");
		put_block(0, POOL + i * SPAN + 5, 40);
		for (at = region[i].base; at < region[i].base +
		    region[i].size;) {
			uint64_t size = 1 + chance(100), whole = region[i].head +
			    size + region[i].align;

			/* Of a block that begins behind it no head is in it. */
			if (chance(2) == 0 && at + region[i].head <
			    region[i].base + region[i].size) {
				put_block(1, at + region[i].head, size);
				model_use(m, i, at + region[i].head, size);
			}
			at += whole + (chance(2) == 0 ? chance(40) : 0);
		}
	}
	put_block(1, POOL - 500, 100);
	put_block(1, POOL + 5 * SPAN, 100);
	put_block(0, 0x1000, 100);
}

static bool
same(const struct blk *a, const struct blk *b)
{
	return a->addr == b->addr && a->size == b->size &&
	    page_is_free(a) == page_is_free(b);
}

LOOP_TEST(rows_are_those_of_a_model_in_both_directions, 0, check_rounds(60))
{
	struct model *m = calloc(1, sizeof *m);
	static struct blk rows[ROWS];
	struct page_free f;
	size_t at, n;

	state = check_seed((uint64_t)_i * 7919 + 1);
	model_fill(m);
	model_rows(m);
	page_free_begin(&page, &scene.view);
	ck_assert_uint_eq(page_rows_total(&page, &scene.view), m->n);
	page_free_sum(&page, &scene.view, scene.look.regions.n, &f);
	ck_assert_uint_eq(f.bytes, m->sum);
	ck_assert_uint_eq(f.largest, m->largest);
	for (int reverse = 0; reverse < 2; reverse++) {
		page_set_order(&page, page_list_order(&page.opts), reverse == 1);
		for (at = 0; at < m->n; at += n) {
			n = page_free_window(&page, &scene.view, at, rows,
			    1 + chance(20));
			ck_assert_uint_gt(n, 0);
			for (size_t i = 0; i < n; i++)
				ck_assert(same(&rows[i], &m->row[reverse ?
				    m->n - 1 - at - i : at + i]));
		}
		ck_assert_uint_eq(page_free_window(&page, &scene.view, at,
		    rows, 5), 0);
	}
	free(m);
}

/* Where the rows' blocks are looked for they are. */
LOOP_TEST(each_row_is_found_again_by_what_stands_there, 0, check_rounds(40))
{
	struct model *m = calloc(1, sizeof *m);
	uint64_t row;

	state = check_seed((uint64_t)_i * 104729 + 5);
	page_set_order(&page, page_list_order(&page.opts), _i % 2 == 1);
	model_fill(m);
	model_rows(m);
	page_free_begin(&page, &scene.view);
	for (size_t i = 0; i < m->n; i++) {
		uint64_t want = page_list_reverse(&page.opts) ? m->n - 1 - i : i;
		const struct blk *b = &m->row[i];

		if (page_is_free(b)) {
			ck_assert(page_free_row_at(&page, &scene.view,
			    b->addr + b->size / 2, &row));
		} else {
			int64_t rank = blklist_rank(scene.list,
			    BLKLIST_BY_ADDRESS,
			    (b->flags & REC_LAYER_API) != 0, b->addr);

			row = page_free_row_of(&page, &scene.view,
			    (uint64_t)rank);
		}
		ck_assert_uint_eq(row, want);
	}
	free(m);
}

/* --- where and when ----------------------------------------------------- */

CASE("where", .setup = setup_pool, .teardown = teardown);

TEST(they_are_rows_in_address_order_alone)
{
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 6);
	page_set_order(&page, BLKLIST_BY_AGE, false);
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 4);
	ck_assert(!shows("    free    "));
	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	page.layout = PAGE_CLASSIC_STRICT;
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 4);
	page.layout = PAGE_AUTO;
	page.opts.free = false;
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 4);
	page.opts.free = true;
	scene.look.window = true;
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 4);
	scene.look.window = false;
	scene.look.regions.n = 0;
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 4);
}

/* The list has changed and its length has not. */
TEST(they_are_found_anew_when_blocks_move)
{
	struct blk rows[8];

	ck_assert_uint_eq(all_rows(rows, 8), 6);
	ck_assert_uint_eq(rows[2].addr, POOL + 0x100);
	ck_assert_uint_eq(rows[2].size, 0x300);
	drop_block(1, POOL + 0x410);
	put_block(1, POOL + 0x310, 0x1f0);
	ck_assert_uint_eq(all_rows(rows, 8), 6);
	ck_assert_uint_eq(rows[2].size, 0x200);
	region[0].size -= 0x10;
	ck_assert_uint_eq(all_rows(rows, 8), 6);
	region[0].size += 0x200;
	ck_assert_uint_eq(all_rows(rows, 8), 7);
}

TEST(a_classic_stream_has_them_in_its_only_layer)
{
	struct blk rows[16];

	scene_fini(&scene);
	scene_note(&scene);
	put_region(0x8e6000, 0x1000, 8, 8, "REGION1");
	ck_assert_uint_eq(all_rows(rows, 16), 8);
	ck_assert(page_is_free(&rows[0]));
	ck_assert_uint_eq(rows[0].addr, 0x8e6000);
	ck_assert_uint_eq(rows[0].size, 0x580);
	ck_assert_uint_eq(rows[7].addr, 0x8e6700);
	ck_assert_uint_eq(rows[7].size, 0x900);
	compose(33, 14);
	assert_fits(33, 14);
	ck_assert(shows("008E6000 0580    free"));
	compose(40, 14);
	ck_assert(shows("g2,304"));
}

/* --- the cursor --------------------------------------------------------- */

TEST(the_cursor_stays_on_what_is_free)
{
	compose(80, 24);
	page_move_to(&page, 4);
	page_remember_cursor(&page, &scene.view);
	compose(80, 24);
	ck_assert(marked(3 + 4, PAGE_CURSOR));
	ck_assert(strstr(pic.line[3 + 4].text, "7f0000010600") ==
	    pic.line[3 + 4].text);
	/* Two rows before it become one. */
	drop_block(1, POOL + 0x10);
	put_block(0, 0x55d0c0002000, 8);
	put_block(0, 0x55d0c0003000, 8);
	compose(80, 24);
	ck_assert_int_eq(page.cursor.at, 5);
	ck_assert(marked(3 + 5, PAGE_CURSOR));
	/* A block is taken from its beginning: it is what is left of it. */
	put_block(1, POOL + 0x610, 0x10);
	compose(80, 24);
	ck_assert(page.cursor.at == 5 || page.cursor.at == 6);
	/* All of it is taken: the cursor is on what stands there now. */
	put_block(1, POOL + 0x630, 0x7d0);
	compose(80, 24);
	ck_assert_uint_lt(page.cursor.at, page.found.total);
}

TEST(the_cursor_stays_on_its_block_when_gaps_come)
{
	compose(80, 24);
	page_move_to(&page, 5);
	page_remember_cursor(&page, &scene.view);
	compose(80, 24);
	ck_assert(strstr(pic.line[3 + 5].text, "7f0000010e10") ==
	    pic.line[3 + 5].text);
	put_block(1, POOL + 0x810, 0x10);
	compose(80, 24);
	ck_assert_int_eq(page.cursor.at, 7);
	ck_assert(strstr(pic.line[3 + 7].text, "7f0000010e10") ==
	    pic.line[3 + 7].text);
	page_set_order(&page, BLKLIST_BY_ADDRESS, true);
	compose(80, 24);
	ck_assert_int_eq(page.cursor.at, 0);
}

TEST(every_row_can_be_reached)
{
	uint64_t at;

	for (at = 0; at < 6; at++) {
		page_move_to(&page, at);
		page_remember_cursor(&page, &scene.view);
		compose(40, 10);
		assert_fits(40, 10);
		ck_assert_uint_eq(page.cursor.at, at);
		ck_assert(page.offs <= at &&
		    at < page.offs + (uint64_t)page.found.window);
	}
	page_move_to(&page, UINT64_MAX);
	compose(40, 10);
	ck_assert_uint_eq(page.cursor.at, 5);
}

/* --- how they look ------------------------------------------------------ */

TEST(a_wide_row_says_free_and_where)
{
	char row[128];

	compose(80, 24);
	assert_fits(80, 24);
	snprintf(row, sizeof row, "7f0000010100     768    free%26sin conns",
	    "");
	ck_assert_str_eq(pic.line[5].text, row);
	ck_assert(marked(5, PAGE_STALE));
	ck_assert(!marked(4, PAGE_STALE));
	ck_assert(shows(" AGE    free 2,816, largest 2,048"));
	ck_assert(!shows("FUNCTION"));
	compose(124, 24);
	assert_fits(124, 24);
	ck_assert(shows("FUNCTION"));
	ck_assert(shows("free 2,816, largest 2,048"));
	scene.look.regions.n = 0;
	compose(80, 24);
	ck_assert(shows(" AGE   FUNCTION"));
	scene.look.regions.n = 1;
	compose(80, 10);
	assert_fits(80, 10);
}

TEST(a_classic_row_says_free)
{
	page.layout = PAGE_CLASSIC;
	compose(40, 10);
	assert_fits(40, 10);
	ck_assert(shows("7F0000010100 0300    free"));
	ck_assert(shows("g2048"));
	compose(33, 10);
	assert_fits(33, 10);
	ck_assert(shows("00010100 0300    free"));
}

TEST(a_row_as_text_has_the_columns_of_a_block)
{
	char row[256], want[256];
	struct blk rows[8];

	ck_assert_uint_eq(all_rows(rows, 8), 6);
	page_row_text_view(&page, &scene.view, &rows[2], row, sizeof row);
	snprintf(want, sizeof want, "7f0000010100%13d    free%34sin conns",
	    768, "");
	ck_assert_str_eq(row, want);
	region[0].name[0] = '\0';
	page_row_text_view(&page, &scene.view, &rows[2], row, sizeof row);
	ck_assert_str_eq(row, "7f0000010100          768    free    ");
	page.layout = PAGE_CLASSIC;
	page_row_text_view(&page, &scene.view, &rows[2], row, sizeof row);
	ck_assert_uint_eq(strlen(row), 33);
	page_free_sentence(&scene.look, &rows[2], row, sizeof row);
	ck_assert_str_eq(row, "free: 768 bytes, in a region: "
	    "4,096 bytes from 7f0000010000");
}

TEST(a_paused_picture_keeps_its_gaps)
{
	compose(80, 24);
	pause_now();
	region[0].size = 0x800;
	drop_block(1, POOL + 0x410);
	page_view_paused(&scene.view, &page);
	compose(80, 24);
	ck_assert_uint_eq(page.found.total, 6);
	ck_assert(shows("7f0000010100     768    free"));
	page_resume(&page);
	scene_refresh(&scene);
	compose(80, 24);
	ck_assert(!shows("7f0000010100     768    free"));
}
