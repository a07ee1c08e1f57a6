/*
 * A frozen order: rows keep their places while blocks come and go, and follow
 * the list again when it is released.
 */
#include "../src/pagek/history/history.h"
#include "../src/pagek/layout/layout.h"
#include "../src/pagek/blocks/choice.h"
#include "../src/pagek/rows/frozen_order.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/difference/difference.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

#define ROWS 24
#define FIRST 3		/* lines above the rows */

static struct blk was[64], is[64];

static void
setup_frozen(void)
{
	setup_target();
	page.medium = PAGE_SCREEN;
	ck_assert_int_eq(blklist_remember(scene.list, 1024), 0);
	compose(100, ROWS);
}

static void
setup_many(void)
{
	unsigned i;

	setup();
	scene_target(&scene, 0);
	blklist_free(scene.list);
	ck_assert_int_eq(blklist_new(&scene.list, BLKLIST_INDEXED, 1u << 17),
	    0);
	scene.look.list = scene.list;
	for (i = 0; i < 60000; i++)
		scene_alloc(&scene, UINT64_C(0x100000) + i * 64ul, 16, TYPE_NEW,
		    1, 0, scene.look.now_ms);
	scene_refresh(&scene);
	page.medium = PAGE_SCREEN;
	compose(100, ROWS);
}

/* So many milliseconds later, the list as it is by then. */
static void
go_by(int64_t ms)
{
	int64_t ns = scene.view.now.ns + ms * 1000000;

	scene.look.now_ms += ms;
	scene_refresh(&scene);
	scene.view.now.ns = ns;
	compose(100, ROWS);
}

static void
cursor_key(int64_t delta)
{
	page_freeze_briefly(&page, &scene.view);
	page_move(&page, delta);
	page_remember_cursor(&page, &scene.view);
	compose(100, ROWS);
}

static size_t
rows_of(struct blk *out)
{
	return page_rows_blocks(&page, &scene.view, page.offs, out,
	    (size_t)page.found.window);
}

static void
assert_same_places(size_t n)
{
	size_t i;

	ck_assert_uint_eq(rows_of(is), n);
	for (i = 0; i < n; i++)
		ck_assert_uint_eq(is[i].seq, was[i].seq);
}

/* A new one before all others in the order of addresses. */
static void
push_in(unsigned i)
{
	scene_alloc(&scene, 0x1000 + 64ul * (1000 - i), 40, TYPE_NEW, 1, 0,
	    scene.look.now_ms);
}

CASE("order", .setup = setup_frozen, .teardown = teardown);

LOOP_TEST(rows_keep_their_places_while_blocks_come_and_go, 0, 4)
{
	unsigned i;
	size_t n;

	page_set_order(&page, _i < 2 ? BLKLIST_BY_AGE : BLKLIST_BY_ADDRESS,
	    _i % 2 == 1);
	compose(100, ROWS);
	cursor_key(3);
	n = rows_of(was);
	ck_assert_uint_gt(n, 10);
	for (i = 0; i < 20; i++) {
		push_in(i);
		if (i % 3 == 0)
			scene_free(&scene, was[i / 3 + 1].addr);
		go_by(100);
		assert_same_places(n);
	}
}

TEST(what_is_freed_keeps_its_row_and_is_told)
{
	cursor_key(5);
	rows_of(was);
	scene_free(&scene, was[2].addr);
	go_by(100);
	ck_assert(marked(FIRST + 2, PAGE_STALE));
	ck_assert_ptr_nonnull(strstr(pic.line[FIRST + 2].text, "freed"));
	ck_assert(!marked(FIRST + 1, PAGE_STALE));
	ck_assert_ptr_null(strstr(pic.line[FIRST + 1].text, "freed"));
}

/* Where an address is taken again it is another block. */
TEST(what_takes_the_place_of_a_freed_block_is_not_it)
{
	cursor_key(5);
	rows_of(was);
	scene_free(&scene, was[2].addr);
	scene_alloc(&scene, was[2].addr, 99, TYPE_NEW, 1, 0,
	    scene.look.now_ms);
	go_by(100);
	ck_assert_ptr_nonnull(strstr(pic.line[FIRST + 2].text, "freed"));
}

TEST(new_blocks_are_counted)
{
	unsigned i;

	cursor_key(1);
	ck_assert(shows("order: frozen 5s"));
	ck_assert(!shows("+"));
	for (i = 0; i < 12; i++)
		push_in(i);
	go_by(1500);
	ck_assert(shows("order: frozen 4s  +12 new"));
}

/* Not those that the filter keeps back: no row waits for them. */
TEST(new_blocks_that_the_filter_means_are_counted)
{
	struct filter_error wrong;
	unsigned i;

	ck_assert_int_eq(page_choice_filter(&page, "size>=48", &wrong), 0);
	compose(100, ROWS);
	cursor_key(1);
	for (i = 0; i < 12; i++)
		scene_alloc(&scene, 0x1000 + 64ul * i, i < 5 ? 48 : 40,
		    TYPE_NEW, 1, 0, scene.look.now_ms);
	go_by(1500);
	ck_assert(shows("order: frozen 4s  +5 new"));
	scene_free(&scene, 0x1000);
	go_by(100);
	ck_assert(shows("  +4 new"));
}

TEST(a_drained_list_has_no_new_blocks)
{
	ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
	compose(100, ROWS);
	cursor_key(1);
	push_in(1);
	go_by(1500);
	ck_assert(shows("order: frozen 4s"));
	ck_assert(!shows("+1"));
}

TEST(order_goes_on_five_seconds_after_the_last_key)
{
	cursor_key(1);
	go_by(3000);
	cursor_key(1);
	go_by(4900);
	ck_assert(page_rows_are_frozen(&page));
	go_by(200);
	ck_assert(!page_rows_are_frozen(&page));
	ck_assert(!shows("frozen"));
}

TEST(order_that_is_held_goes_on_when_it_is_let_go)
{
	ck_assert(page_freeze_toggle(&page, &scene.view));
	go_by(100);
	ck_assert(shows("order: frozen"));
	go_by(3600000);
	ck_assert(page_rows_are_frozen(&page));
	ck_assert(!page_freeze_toggle(&page, &scene.view));
	go_by(100);
	ck_assert(!page_rows_are_frozen(&page));
}

LOOP_TEST(cursor_stays_on_its_line_when_the_order_goes_on, 0, 2)
{
	struct blk b;
	unsigned i;
	uint64_t row;

	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	compose(100, ROWS);
	cursor_key(0);
	cursor_key(10);
	for (i = 0; i < 30; i++)
		push_in(i);
	rows_of(was);
	/* It and its neighbour, too, in the second round. */
	if (_i == 1) {
		scene_free(&scene, was[10].addr);
		scene_free(&scene, was[11].addr);
	}
	go_by(100);
	row = page.cursor.at - page.offs;
	go_by(6000);
	ck_assert(!page_rows_are_frozen(&page));
	ck_assert(page_block_at_cursor(&page, &scene.view, &b));
	ck_assert_uint_eq(b.seq, was[_i == 1 ? 12 : 10].seq);
	ck_assert_uint_eq(page.cursor.at - page.offs, _i == 1 ? row + 2 : row);
}

TEST(another_order_is_frozen_in_turn)
{
	size_t n;

	cursor_key(4);
	page_block_at_cursor(&page, &scene.view, &is[0]);
	page_set_order(&page, BLKLIST_BY_ADDRESS, true);
	go_by(10);
	ck_assert(page_rows_are_frozen(&page));
	page_block_at_cursor(&page, &scene.view, &was[0]);
	ck_assert_uint_eq(was[0].seq, is[0].seq);
	n = rows_of(was);
	ck_assert_uint_gt(was[0].addr, was[1].addr);
	scene_free(&scene, was[1].addr);
	go_by(10);
	assert_same_places(n);
}

TEST(paused_picture_stands_as_it_stood)
{
	size_t n;

	cursor_key(4);
	n = rows_of(was);
	scene_free(&scene, was[1].addr);
	push_in(0);
	go_by(100);
	pause_now();
	page_view_paused(&scene.view, &page);
	scene.view.now.ns += INT64_C(60000000000);
	compose(100, ROWS);
	assert_same_places(n);
	page_resume(&page);
}

/* Who steps wants to see what was there, and not what is known by now. */
LOOP_TEST(step_shows_what_was_there_unless_the_order_is_held, 0, 2)
{
	size_t n;

	scene.look.as_of = scene.look.work.total_records;
	page_history_update(&page, &scene.view);
	n = rows_of(was);
	scene_free(&scene, was[1].addr);
	scene.look.as_of = scene.look.work.total_records;
	go_by(100);
	if (_i == 0)
		cursor_key(1);
	else
		page_freeze_toggle(&page, &scene.view);
	go_by(100);
	pause_now();
	ck_assert_int_eq(page_step(&page, true), 0);
	ck_assert_int_eq(page_step_advance(&page, INT64_MAX), 0);
	page_view_paused(&scene.view, &page);
	compose(100, ROWS);
	ck_assert_int_eq(page_rows_are_frozen(&page), _i == 1);
	ck_assert_uint_eq(rows_of(is), n);
	ck_assert_uint_eq(is[1].seq, was[_i == 0 ? 1 : 2].seq);
	page_freeze_briefly(&page, &scene.view);
	ck_assert_int_eq(page_rows_are_frozen(&page), _i == 1);
	page_resume(&page);
}

CASE("names", .setup = setup_stacks, .teardown = teardown);

TEST(frozen_groups_get_the_names_that_come)
{
	scene_deaf = true;
	page.medium = PAGE_SCREEN;
	page_set_group(&page, 1);
	compose(80, 24);
	ck_assert(page_freeze_toggle(&page, &scene.view));
	later();
	compose(80, 24);
	ck_assert(shows("order: frozen") && shows("not known yet"));
	scene_deaf = false;
	later();
	compose(80, 24);
	later();
	compose(80, 24);
	ck_assert(shows("order: frozen") && !shows("not known yet"));
	ck_assert(shows("zmalloc"));
}

CASE("order");

LOOP_TEST(groups_keep_their_order_and_then_go_on, 0, 2)
{
	uint64_t bytes, key;
	unsigned i;

	page_set_group(&page, 1);
	later();
	compose(100, ROWS);
	later();
	compose(100, ROWS);
	bytes = page.groups->total.bytes;
	key = page_groups_row(page.groups, 0)->key;
	if (_i == 0)
		cursor_key(1);
	else
		page_freeze_toggle(&page, &scene.view);
	for (i = 0; i < 8; i++)
		scene_alloc(&scene, 0x1000 + i * 64, 1u << 30, TYPE_NEW, 1,
		    0x401000 + 3, scene.look.now_ms);
	go_by(3000);
	ck_assert(shows("frozen"));
	ck_assert_uint_eq(page.groups->total.bytes, bytes + (UINT64_C(8) << 30));
	ck_assert_uint_eq(page_groups_row(page.groups, 0)->key, key);
	if (_i == 1)
		page_freeze_toggle(&page, &scene.view);
	go_by(3000);
	ck_assert(!shows("frozen"));
	later();
	compose(100, ROWS);
	ck_assert_uint_ne(page_groups_row(page.groups, 0)->key, key);
}

/* As e does it: what is saved is what was seen, and goes on to be. */
TEST(a_saved_picture_has_the_frozen_rows)
{
	unsigned i;
	size_t n;

	page_set_order(&page, BLKLIST_BY_ADDRESS, false);
	compose(100, ROWS);
	page_freeze_toggle(&page, &scene.view);
	compose(100, ROWS);
	n = rows_of(was);
	for (i = 0; i < 5; i++)
		push_in(i);
	scene_free(&scene, was[2].addr);
	go_by(100);
	assert_same_places(n);
	ck_assert(shows("Enter"));
	page.medium = PAGE_SCREEN_COPY;
	ck_assert_int_eq(page_compose_view(&page, &scene.view, 100, ROWS,
	    &pic), 0);
	page.medium = PAGE_SCREEN;
	ck_assert_ptr_nonnull(strstr(pic.line[FIRST + 2].text, "freed"));
	ck_assert(!shows("Enter"));
	go_by(100);
	assert_same_places(n);
}

TEST(text_is_never_frozen)
{
	page.medium = PAGE_READY;
	page_freeze_toggle(&page, &scene.view);
	page_freeze_briefly(&page, &scene.view);
	compose(124, 0);
	ck_assert(!page_rows_are_frozen(&page));
	ck_assert(!shows("frozen"));
}

TEST(a_window_of_the_list_is_not_frozen)
{
	scene.look.window = true;
	cursor_key(1);
	ck_assert(!page_rows_are_frozen(&page));
	ck_assert(!page_freeze_wants_all(&page));
	page_freeze_toggle(&page, &scene.view);
	ck_assert(page_freeze_wants_all(&page));
	go_by(10);
	ck_assert(!page_rows_are_frozen(&page));
	scene.look.window = false;
	go_by(10);
	ck_assert(page_rows_are_frozen(&page));
}

CASE("large", .setup = setup_many, .teardown = teardown, .seconds = 60);

/*
 * From one end to the other, while blocks come and go everywhere: each that
 * is there all the time passes once, in its order, and nothing new does.
 */
LOOP_TEST(rows_that_are_scrolled_through_are_those_of_then, 0, 8)
{
	static bool freed[60000];
	bool up = _i % 2 == 1, reverse = _i / 2 % 2 == 1;
	enum blklist_order order = _i < 4 ? BLKLIST_BY_AGE :
	    BLKLIST_BY_ADDRESS;
	static uint64_t seen[70000];
	size_t nseen = 0, n, i, k, lasting = 0;
	uint64_t before = 0, step;
	unsigned next = 0;
	bool any = false;

	memset(freed, 0, sizeof freed);
	srandom((unsigned)check_seed((unsigned)_i + 1));
	page_set_order(&page, order, reverse);
	page.offs = up ? UINT64_MAX - 100 : 0;
	page_freeze_toggle(&page, &scene.view);
	compose(100, ROWS);
	ck_assert(page_rows_are_frozen(&page));
	for (;;) {
		n = rows_of(is);
		ck_assert_uint_eq(n, (size_t)page.found.window);
		step = n;
		for (k = 0; k < n; k++) {
			i = up ? n - 1 - k : k;
			ck_assert_uint_le(is[i].seq, 60000);
			if (any && (up != reverse ? is[i].seq >= before :
			    is[i].seq <= before))
				continue;
			before = is[i].seq;
			any = true;
			seen[nseen++] = is[i].seq;
		}
		for (k = 0; k < 4; k++) {
			i = (size_t)random() % 60000;
			if (!freed[i])
				scene_free(&scene, UINT64_C(0x100000) + i *
				    64ul);
			freed[i] = true;
			scene_alloc(&scene, 0x1000 + 64ul * (next % 8192),
			    16, TYPE_NEW, 1, 0, 1);
			next++;
		}
		if (up ? page.offs == 0 : page.offs + n >=
		    page_rows_total(&page, &scene.view))
			break;
		page.offs = up ? (page.offs > step ? page.offs - step : 0) :
		    page.offs + step;
		scene_refresh(&scene);
		compose(100, ROWS);
	}
	for (i = 0; i < 60000; i++)
		lasting += !freed[i];
	ck_assert_uint_ge(nseen, lasting);
	for (i = 0; i < nseen; i++)
		if (!freed[seen[i] - 1])
			lasting--;
	ck_assert_uint_eq(lasting, 0);
}

TEST(who_goes_far_away_has_the_order_of_that_moment)
{
	page_freeze_briefly(&page, &scene.view);
	push_in(0);
	go_by(10);
	page_freeze_briefly(&page, &scene.view);
	page_move_to(&page, 59999);
	page_remember_cursor(&page, &scene.view);
	go_by(10);
	ck_assert(page_rows_are_frozen(&page));
	ck_assert_uint_eq(rows_of(is), (size_t)page.found.window);
	ck_assert_uint_ge(is[page.found.window - 1].seq, 60000);
	ck_assert(!shows("+1 new"));
}

CASE("order");

TEST(list_that_empties_leaves_its_rows)
{
	size_t n, i;

	cursor_key(1);
	n = rows_of(was);
	for (i = 0; i < 60; i++)
		scene_free(&scene, UINT64_C(0x7f3c04001040) + i * 0x10020ul);
	go_by(10);
	/* One less: a sentence says that there is no block. */
	assert_same_places(n - 1);
	go_by(6000);
	ck_assert_uint_eq(rows_of(is), 0);
}

TEST(every_size_is_told_in_its_room)
{
	static const int cols[] = { 10, 33, 40, 47, 60, 79, 80, 100, 124, 300 };
	int rows[] = { 1, 4, 5, 8, 24 };
	size_t i, k;

	page_freeze_toggle(&page, &scene.view);
	push_in(0);
	for (i = 0; i < BASE_NELEM(cols); i++)
		for (k = 0; k < BASE_NELEM(rows); k++) {
			scene_refresh(&scene);
			compose(cols[i], rows[k]);
			assert_fits(cols[i], rows[k]);
			if (cols[i] >= 33 && rows[k] >= 8)
				ck_assert(shows("frozen") ||
				    pic.line[2].text[0] == 'z');
		}
	page.layout = PAGE_CLASSIC_STRICT;
	compose(60, 24);
	ck_assert(!shows("frozen"));
	ck_assert_int_eq(pic.line[2].text[0], ' ');
}
