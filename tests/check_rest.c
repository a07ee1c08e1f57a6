/*
 * Whatever happens to a page, a picture that is said to be the last one again is
 * just that, cell by cell: each that might be left out is made here all the same,
 * by that page or, so that it goes its own way, by another one that never rests.
 *
 * Clocks go on by themselves or are set, blocks come and go, numbers move, and
 * one changes what is shown.  How often a picture was left out is counted, so
 * that the rule is not kept by a page that never rests.
 */
#include "../src/page/choice.h"
#include "../src/page/find.h"
#include "../src/page/followed.h"
#include "../src/page/marked.h"
#include "../src/page/past.h"
#include "../src/page/rest.h"
#include "../src/page/still.h"
#include "chance.h"
#include "harness.h"
#include "scene.h"

#define STEPS 3000
#define BLOCKS 30

static const int sizes[][2] = { { 124, 30 }, { 150, 40 }, { 80, 24 },
	{ 60, 24 }, { 40, 12 }, { 33, 20 }, { 20, 5 }, { 8, 3 } };

static uint64_t keeper[WIRE_STATS_COUNT];
static struct page_picture last;
static struct page always;		/* it never rests */
static int cols, rows;
static int64_t ns;
static uint64_t next_addr;
static unsigned threads;	/* names that they have by now */

/* A node that tells numbers, and in one of three runs one that does not. */
static void
begin_chance(int run)
{
	chance_begin(run);
	if (run % 3 == 0)
		scene.look.keeper = NULL;
}

/* --- pictures ------------------------------------------------------------- */

static const char *
renamed_thread(void *arg, uint16_t index)
{
	static char name[32];

	(void)arg;
	snprintf(name, sizeof name, "t%u-%u", index, threads);
	return name;
}

static void
look_anew(void)
{
	uint64_t names_no = scene.view.names_no;

	scene_refresh(&scene);
	scene.view.now.ns = ns;
	scene.view.names_no = names_no;
	scene.view.units = page.units;
	scene.view.utc = page.opts.utc;
	scene.view.thread = renamed_thread;
}

static void
assert_same_line(int row, const struct page_line *is,
    const struct page_line *was)
{
	int i;

	ck_assert_msg(strcmp(is->text, was->text) == 0,
	    "%d by %d, row %d, at %lld ms\n is  %s\n was %s", cols, rows, row,
	    (long long)(ns / 1000000), is->text, was->text);
	ck_assert_msg(is->nspan == was->nspan, "row %d has other marks: %s",
	    row, is->text);
	for (i = 0; i < is->nspan; i++)
		ck_assert_msg(is->span[i].from == was->span[i].from &&
		    is->span[i].to == was->span[i].to &&
		    is->span[i].mark == was->span[i].mark,
		    "row %d, mark %d is another one: %s", row, i, is->text);
}

static void
assert_last(void)
{
	int i;

	ck_assert_int_eq(pic.rows, last.rows);
	ck_assert_int_eq(pic.said, last.said);
	ck_assert_int_eq(pic.cursor_row, last.cursor_row);
	for (i = 0; i < pic.rows; i++)
		assert_same_line(i, &pic.line[i], &last.line[i]);
}

/* True: it could have been left out, and is the last one. */
static bool
picture(void)
{
	bool rests = page_rests_view(&page, &scene.view, cols, rows);
	struct page_picture was = last;

	last = pic;
	pic = was;
	compose(cols, rows);
	if (!rests)
		return false;
	assert_last();
	return true;
}

static void
pass(int64_t ms)
{
	ns += ms * 1000000 + (int64_t)any(1000000);
	scene.look.now_ms += ms;
	scene.look.node_wall_ms += ms;
	look_anew();
}

/* So many pictures of 15 a second until it stands; it does. */
static void
settle(void)
{
	int i;

	for (i = 0; i < 30; i++) {
		pass(0);
		if (picture())
			return;
	}
	ck_abort_msg("it never rests");
}

static void
setup_rest(void)
{
	setup_target();
	ns = 1000000000;
	last = (struct page_picture){ 0 };
	page_init(&always, &(struct page_opts){ .listing = "0509" });
	always.on_screen = true;
	memset(keeper, 0, sizeof keeper);
	scene.look.keeper = keeper;
	scene.look.cycle_records = 0;
	next_addr = UINT64_C(0x7f3c04001040);
	threads = 0;
	page.on_screen = true;
	page.opts.fps = NODES_HZ;
	cols = sizes[0][0];
	rows = sizes[0][1];
	look_anew();
}

static void
teardown_rest(void)
{
	page_picture_fini(&last);
	page_fini(&always);
	teardown();
}

/* --- what may happen ------------------------------------------------------ */

static void
blocks_move(void)
{
	if (any(2) == 0)
		scene_alloc(&scene, UINT64_C(0x7f4c00000000) + any(BLOCKS) *
		    0x40u, any(5000), TYPE_MALLOC, 1 + any(4), 0x401000 +
		    any(5), scene.look.now_ms - (int64_t)any(1500));
	else
		scene_free(&scene, any(2) == 0 ? UINT64_C(0x7f4c00000000) +
		    any(BLOCKS) * 0x40u : UINT64_C(0x7f3c04001040) + any(60) *
		    0x10020u);
}

static void
numbers_move(void)
{
	struct nodes_look *l = &scene.look;

	switch (any(12)) {
	case 0:
		l->cycle_records = any(3);
		break;
	case 1:
		l->lost[1 + any(STREAM_CAUSES - 1)] += any(2);
		l->complete = any(2) == 0;
		break;
	case 2:
		l->bad_records += any(2);
		break;
	case 3:
		l->missed_cycles += any(2);
		break;
	case 4:
		keeper[any(WIRE_STATS_COUNT)] += any(2);
		l->told_no++;
		break;
	case 5:
		l->cycle_us = any(3000);
		if (l->cycle_us > l->cycle_us_max)
			l->cycle_us_max = l->cycle_us;
		break;
	case 6:
		page.hz = 13 + any(3);
		break;
	case 7:
		page.missed += any(2);
		break;
	case 8:
		threads++;
		scene.view.names_no++;
		break;
	case 9:
		l->types_no++;
		scene.types.by_code[TYPE_MALLOC].name[0] = (char)('a' +
		    any(26));
		break;
	case 10:
		keeper[WIRE_N_ALLOCS] += any(100);
		l->told_no++;
		break;
	default:
		page.drawn_bytes += any(5000);
		page.drawn_us = any(500);
	}
}

static void
states_move(void)
{
	/* As a session has them: what stands in them is another, they are not. */
	static char target[32], reason[32], trouble[32], output[32], socket[32],
	    node[32];
	struct nodes_look *l = &scene.look;
	struct { char *at; const char **of; } texts[] = {
		{ target, &l->target_name }, { reason, &l->reason },
		{ trouble, &l->trouble }, { output, &l->output },
		{ socket, &l->socket }, { node, &l->node_name } };
	static const char *const names[] = { "", "redis", "a", "evil\033" };
	static const enum nodes_state states[] = { NODES_LIVE, NODES_LIVE,
		NODES_ENDED, NODES_DORMANT, NODES_UNREACHABLE,
		NODES_CONNECTING };
	unsigned text = any(BASE_NELEM(texts));

	switch (any(9)) {
	case 0:
		l->state = states[any(BASE_NELEM(states))];
		break;
	case 1:
	case 2:
		strcpy(texts[text].at, names[any(BASE_NELEM(names))]);
		*texts[text].of = texts[text].at;
		break;
	case 3:
		l->stale_ms = any(3000);
		break;
	case 4:
		l->settled = any(4) > 0;
		break;
	case 5:
		l->behind = any(4) == 0;
		break;
	case 6:
		l->armed_wall_ms = any(2) * l->node_wall_ms;
		break;
	case 7:
		l->stream_no += any(2);
		break;
	default:
		l->state = NODES_LIVE;
		l->settled = true;
		l->behind = false;
		l->stale_ms = 0;
	}
}

/* What a key does; the picture after that of the key may be left out. */
static void
page_moves(struct page *p)
{
	switch (any(9)) {
	case 0:
		page_move(p, (int64_t)any(9) - 4);
		break;
	case 1:
		p->has_cursor = false;
		break;
	case 2:
		page_set_order(p, (enum blklist_order)any(2), any(2) == 0);
		break;
	case 3:
		p->layout = (enum page_layout)any(4);
		break;
	case 4:
		p->units = (enum page_units)any(PAGE_UNITS);
		break;
	case 5:
		snprintf(p->message, sizeof p->message, "said %u", any(5));
		break;
	case 6:
		p->message[0] = '\0';
		break;
	case 7:
		page_still_touch(p, &scene.view);
		break;
	default:
		p->opts.utc = any(2) == 0;
	}
}

/* What takes portions of a time that nobody sets. */
static void
page_turns(struct page *p)
{
	switch (any(3)) {
	case 0:
		page_set_group(p, any(3));
		break;
	case 1:
		page_set_group(p, 0);
		break;
	default:
		if (p->frozen == NULL)
			(void)page_freeze(p, &scene.view);
		else
			page_thaw(p);
	}
}

/* By the operator there, or because another node has another one. */
static void
clocks_are_set(void)
{
	switch (any(3)) {
	case 0:
		scene.look.node_wall_ms += (int64_t)any(200000) - 100000;
		break;
	case 1:
		scene.look.now_ms += (int64_t)any(5000) - 2500;
		break;
	default:
		pass((int64_t)any(8) * 1000);
	}
}

/* Not by anybody at the page. */
static void
something_happens(void)
{
	unsigned what = any(100);

	if (what < 5)
		blocks_move();
	else if (what < 9)
		numbers_move();
	else if (what < 11)
		states_move();
	else if (what < 12)
		clocks_are_set();
}

static void
any_size(void)
{
	cols = sizes[any(BASE_NELEM(sizes))][0];
	rows = sizes[any(BASE_NELEM(sizes))][1];
}

/* As often as cycles come, mostly, and sooner or later than that. */
static int64_t
any_wait(void)
{
	return any(10) == 0 ? any(2500) : any(4) == 0 ? any(4) : 60 + any(12);
}

START_TEST(a_picture_that_is_left_out_is_the_last_one_in_every_cell)
{
	unsigned i, rested = 0;

	begin_chance(_i);
	for (i = 0; i < STEPS; i++) {
		something_happens();
		if (any(40) == 0)
			page_moves(&page);
		else if (any(100) == 0)
			page_turns(&page);
		else if (any(100) == 0)
			any_size();
		pass(any_wait());
		rested += picture();
	}
	ck_assert_uint_gt(rested, 0);
}
END_TEST

/* A key is pressed on both pages; true: one was. */
static bool
any_key(void)
{
	uint64_t same = chance;

	if (any(30) > 0)
		return false;
	page_moves(&page);
	chance = same;
	(void)any(30);
	page_moves(&always);
	return true;
}

/* Once left out, a picture is not made: what it would have done is not done. */
START_TEST(a_page_that_rests_shows_what_one_shows_that_never_does)
{
	unsigned i, rested = 0;
	bool rests;

	begin_chance(_i);
	for (i = 0; i < STEPS; i++) {
		something_happens();
		if (any(100) == 0)
			any_size();
		rests = !any_key();
		pass(any_wait());
		always.hz = page.hz;
		always.missed = page.missed;
		always.drawn_bytes = page.drawn_bytes;
		always.drawn_us = page.drawn_us;
		rests = rests && page_rests_view(&page, &scene.view, cols,
		    rows);
		if (!rests)
			compose(cols, rows);
		ck_assert_int_eq(page_compose_view(&always, &scene.view, cols,
		    rows, &last), 0);
		assert_last();
		rested += rests;
	}
	ck_assert_uint_gt(rested, 0);
}
END_TEST

/* --- of each text that tells a time --------------------------------------- */

/*
 * A page that nobody touches, with every phase of a second: what is left out is
 * the last one for as long as that is said, and it is said of most.
 */
START_TEST(a_page_at_rest_is_made_when_the_next_second_begins)
{
	unsigned i, rested = 0;

	cols = sizes[_i][0];
	rows = sizes[_i][1];
	scene_fini(&scene);
	scene_target(&scene, 0);
	scene.look.cycle_records = 0;
	for (i = 0; i < 8; i++)
		scene_alloc(&scene, 0x1000 + i * 0x40u, 32, TYPE_MALLOC, 1,
		    0x401000, scene.look.now_ms);
	look_anew();
	for (i = 0; i < 20 * NODES_HZ; i++) {
		pass(1000 / NODES_HZ);
		rested += picture();
	}
	/* The clock, the ages, and what is taken once a second. */
	ck_assert_uint_gt(rested, 20 * (NODES_HZ - 5));
	ck_assert_uint_lt(rested, 20 * NODES_HZ);
}
END_TEST

/* Each age that a cell shows otherwise, to the millisecond. */
START_TEST(an_age_holds_until_it_is_shown_otherwise)
{
	static const int64_t ages[] = { 0, 1, 9, 10, 58, 59, 60, 69, 119, 599,
		600, 998, 999, 1000, 1019, 1020, 3599, 3600, 35999, 36000,
		86399, 86400, 863999, 864000 };
	size_t i, k;

	cols = sizes[_i][0];
	rows = sizes[_i][1];
	for (i = 0; i < BASE_NELEM(ages); i++) {
		scene_fini(&scene);
		scene_target(&scene, 0);
		scene.look.cycle_records = 0;
		/* Past the whole second, so that the clock is not in step. */
		scene_alloc(&scene, 0x1000, 32, TYPE_MALLOC, 1, 0x401000,
		    scene.look.now_ms - ages[i] * 1000 + 40);
		look_anew();
		settle();
		for (k = 0; k < 90; k++) {
			pass(1);
			picture();
		}
	}
}
END_TEST

START_TEST(a_row_that_was_freed_goes_when_its_second_is_over)
{
	unsigned i;

	look_anew();
	settle();
	scene_free(&scene, UINT64_C(0x7f3c04001040) + 0x10020u);
	look_anew();
	ck_assert(!picture());
	for (i = 0; i < 3 * NODES_HZ; i++) {
		pass(1000 / NODES_HZ);
		picture();
		ck_assert(shows("freed") == (i < NODES_HZ));
	}
}
END_TEST

START_TEST(a_counter_that_moved_is_marked_for_ten_seconds)
{
	unsigned i, rested = 0;

	settle();
	scene.look.bad_records = 3;
	look_anew();
	ck_assert(!picture());
	for (i = 0; i < 12 * NODES_HZ; i++) {
		pass(1000 / NODES_HZ);
		rested += picture();
	}
	ck_assert_uint_gt(rested, 0);
}
END_TEST

/* --- what is made anew ---------------------------------------------------- */

static void
do_group(void)
{
	page_set_group(&page, 1);
}

static void
do_still(void)
{
	page_still_touch(&page, &scene.view);
}

static void
do_mark(void)
{
	ck_assert_int_eq(page_mark_set(&page, &scene.view), 0);
}

static void
do_filter(void)
{
	struct filter_error e;

	ck_assert_int_eq(page_choice_filter(&page, "size>=1k", &e), 0);
}

static void
do_question(void)
{
	page.prompt = "end target? y/n";
}

static void
do_window(void)
{
	scene.look.window = true;
}

static void
do_unsettled(void)
{
	scene.look.settled = false;
}

static void
do_lost_link(void)
{
	scene.look.state = NODES_UNREACHABLE;
}

static void
do_names(void)
{
	scene.view.pending = 1;
}

static void
do_text(void)
{
	page.on_screen = false;
}

static void
do_fetch(void)
{
	scene.view.fetching = "libc.debug";
}

static void
do_find(void)
{
	struct filter_error e;

	ck_assert_int_ge(page_find_begin(&page, &scene.view, "size>=1k", false,
	    &e), 0);
}

static void
do_drain(void)
{
	ck_assert_int_ge(page_drain_begin(&page, &scene.view), 0);
}

static void
do_follow(void)
{
	page.has_cursor = true;
	ck_assert_int_ge(page_followed_toggle(&page, &scene.view), 0);
}

static void (*const doings[])(void) = { do_group, pause_now, do_still, do_mark,
	do_filter, do_question, do_window, do_unsettled, do_lost_link, do_names,
	do_text, do_fetch, do_find, do_drain, do_follow };

START_TEST(what_keeps_things_of_its_own_is_made_anew_in_each_cycle)
{
	unsigned i;

	settle();
	doings[_i]();
	for (i = 0; i < 5; i++) {
		ck_assert(!page_rests_view(&page, &scene.view, cols, rows));
		compose(cols, rows);
	}
}
END_TEST

START_TEST(another_size_is_another_picture)
{
	settle();
	ck_assert(page_rests_view(&page, &scene.view, cols, rows));
	ck_assert(!page_rests_view(&page, &scene.view, cols + 1, rows));
	ck_assert(!page_rests_view(&page, &scene.view, cols, rows - 1));
}
END_TEST

/* It might be that of a copy of the page, for a file. */
START_TEST(a_picture_for_another_purpose_is_not_that_on_the_screen)
{
	struct page copy;

	settle();
	copy = page;
	copy.bare = true;
	ck_assert_int_eq(page_compose_view(&copy, &scene.view, cols, rows,
	    &last), 0);
	page_take_over(&page, &copy);
	ck_assert(!page_rests_view(&page, &scene.view, cols, rows));
}
END_TEST

static Suite *
rest_suite(void)
{
	Suite *s = suite_create("rest");
	TCase *t = tcase_create("pictures");

	tcase_add_checked_fixture(t, setup_rest, teardown_rest);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t,
	    a_picture_that_is_left_out_is_the_last_one_in_every_cell, 0, 30);
	tcase_add_loop_test(t,
	    a_page_that_rests_shows_what_one_shows_that_never_does, 0, 30);
	tcase_add_loop_test(t,
	    a_page_at_rest_is_made_when_the_next_second_begins, 0,
	    BASE_NELEM(sizes));
	tcase_add_loop_test(t, an_age_holds_until_it_is_shown_otherwise, 0,
	    BASE_NELEM(sizes));
	tcase_add_test(t, a_row_that_was_freed_goes_when_its_second_is_over);
	tcase_add_test(t, a_counter_that_moved_is_marked_for_ten_seconds);
	tcase_add_loop_test(t,
	    what_keeps_things_of_its_own_is_made_anew_in_each_cycle, 0,
	    BASE_NELEM(doings));
	tcase_add_test(t, another_size_is_another_picture);
	tcase_add_test(t,
	    a_picture_for_another_purpose_is_not_that_on_the_screen);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(rest_suite)
