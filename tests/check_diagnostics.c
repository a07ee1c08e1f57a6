/*
 * The panel of all numbers: each is there, with its last change, in 40 columns.
 */
#include "../src/pagek/panels/diagnostics.h"
#include "harness.h"
#include "scene.h"

static struct page_diag diag;
static struct page_costs costs;
static struct nodes_effort effort;
static uint64_t keeper[WIRE_STATS_COUNT], node[WIRE_STATS_COUNT];
static struct page_diag_from from;

static void
setup_diag(void)
{
	setup_target();
	diag = (struct page_diag){ 0 };
	costs = (struct page_costs){ 0 };
	effort = (struct nodes_effort){ 0 };
	memset(keeper, 0, sizeof keeper);
	memset(node, 0, sizeof node);
	scene.look.keeper = keeper;
	scene.look.node.numbers = node;
	from = (struct page_diag_from){
		.page = &page,
		.look = &scene.look,
		.counts = scene.view.counts,
		.effort = &effort,
		.costs = &costs,
		.now = { .ns = 1000000000 },
	};
}

static void
panel(int cols)
{
	page_diag_sample(&diag, &from);
	picture_begin(&pic, cols, false);
	page_diag_put(&diag, &from, &pic);
	ck_assert_int_eq(picture_end(&pic), 0);
	assert_fits(cols, 0);
}

static void
pass_s(int64_t seconds)
{
	from.now.ns += seconds * 1000000000;
	page_diag_sample(&diag, &from);
}

/* The line of the n-th number with that name; -1. */
static int
line_of(const char *name, int n)
{
	int i;

	for (i = 0; i < pic.rows; i++)
		if (strncmp(pic.line[i].text + 2, name, strlen(name)) == 0 &&
		    pic.line[i].text[2 + strlen(name)] == ' ' && n-- == 0)
			return i;
	return -1;
}

static int
said_at(int line)
{
	int s = -1;

	/* Behind name and number: "3s". */
	ck_assert_int_ge(line, 0);
	return sscanf(pic.line[line].text + 33, "%ds", &s) == 1 ? s : -1;
}

/* Set one, and another line than before says that it has moved. */
static void
assert_is_shown(uint64_t *n)
{
	int i, moved = 0;

	diag = (struct page_diag){ 0 };
	page_diag_sample(&diag, &from);
	*n += 7654321;
	page_diag_sample(&diag, &from);
	panel(40);
	for (i = 0; i < pic.rows; i++)
		moved += strstr(pic.line[i].text, "7,654,321") != NULL ||
		    strstr(pic.line[i].text, "7.3 MiB") != NULL ||
		    strstr(pic.line[i].text, "7.6s") != NULL;
	*n -= 7654321;
	ck_assert_int_ge(moved, 1);
}

CASE("numbers", .setup = setup_diag, .teardown = teardown);

LOOP_TEST(each_number_of_the_stream_and_the_node_is_shown, 0, WIRE_STATS_COUNT)
{
	/* The time line of a replay is on its page. */
	if (_i >= WIRE_N_REPLAY && _i <= WIRE_N_REPLAY_GOAL)
		return;
	if (_i < WIRE_N_FRIENDLY_HITS || _i == WIRE_N_PAIRS ||
	    _i == WIRE_N_UNSURE || _i == WIRE_N_UNFINISHED || _i == WIRE_N_PEAK_MOST ||
	    _i == WIRE_N_RECORDINGS || _i == WIRE_N_USAGE_ROWS ||
	    _i == WIRE_N_USAGE_BYTES || _i == WIRE_N_LOST_BEFORE ||
	    (_i >= WIRE_N_LEVEL_1 && _i <= WIRE_N_LEVEL_5))
		assert_is_shown(&keeper[_i]);
	else
		assert_is_shown(&node[_i]);
}

TEST(each_number_of_the_list_is_shown)
{
	static struct blklist_counts counts;
	size_t at;

	from.counts = &counts;
	for (at = 0; at < offsetof(struct blklist_counts, est_blocks);
	    at += sizeof(uint64_t))
		assert_is_shown((uint64_t *)((char *)&counts + at));
}

LOOP_TEST(each_cause_of_a_loss_is_shown, 0, STREAM_CAUSES)
{
	assert_is_shown(&scene.look.loss.lost[_i]);
}

TEST(last_change_is_told_and_marked_while_it_is_fresh)
{
	page_diag_sample(&diag, &from);
	panel(40);
	ck_assert_int_eq(said_at(line_of("duplicate", 1)), -1);
	keeper[WIRE_N_DUPLICATE] = 5;
	pass_s(1);
	pass_s(3);
	panel(40);
	ck_assert_int_eq(said_at(line_of("duplicate", 1)), 3);
	ck_assert(marked(line_of("duplicate", 1), PAGE_STATUS));
	ck_assert(!marked(line_of("duplicate", 0), PAGE_STATUS));
	pass_s(8);
	panel(40);
	ck_assert_int_eq(said_at(line_of("duplicate", 1)), 11);
	ck_assert(!marked(line_of("duplicate", 1), PAGE_STATUS));
}

TEST(gauge_has_no_last_change)
{
	page_diag_sample(&diag, &from);
	keeper[WIRE_N_HELD] = 5;
	node[WIRE_N_UP_S] = 9;
	pass_s(1);
	panel(40);
	ck_assert_int_eq(said_at(line_of("held back", 0)), -1);
	ck_assert_int_eq(said_at(line_of("up for", 0)), -1);
	ck_assert(!marked(line_of("up for", 0), PAGE_STATUS));
}

TEST(numbers_of_another_stream_have_not_moved)
{
	page_diag_sample(&diag, &from);
	keeper[WIRE_N_DUPLICATE] = 5;
	scene.look.stream_no++;
	pass_s(1);
	panel(40);
	ck_assert_int_eq(said_at(line_of("duplicate", 1)), -1);
	keeper[WIRE_N_DUPLICATE] = 6;
	pass_s(1);
	panel(40);
	ck_assert_int_eq(said_at(line_of("duplicate", 1)), 0);
}

TEST(what_is_not_known_is_no_zero)
{
	int i;

	scene.look.keeper = scene.look.node.numbers = NULL;
	scene.look.list = NULL;
	from.counts = NULL;
	from.effort = NULL;
	for (i = 0; i < 2; i++) {
		panel(40);
		ck_assert(strstr(pic.line[line_of("up for", 0)].text, " - ") !=
		    NULL);
		ck_assert(strstr(pic.line[line_of("active", 0)].text,
		    " - ") != NULL);
		ck_assert(strstr(pic.line[line_of("received", 0)].text,
		    " - ") != NULL);
	}
	/* What comes to be known has not moved by that, nor by being lost. */
	keeper[WIRE_N_DUPLICATE] = 7;
	for (i = 0; i < 2; i++) {
		scene.look.keeper = i == 0 ? keeper : NULL;
		panel(40);
		ck_assert_int_eq(said_at(line_of("duplicate", 1)), -1);
	}
}

LOOP_TEST(every_width_holds_the_panel, 1, 130)
{
	const char *small, *great;

	memset(keeper, 0xff, sizeof keeper);
	panel(_i);
	if (_i < 100)
		return;
	/* The greatest number takes no column of what is behind it. */
	small = pic.line[line_of("tries", 0)].text;
	great = pic.line[line_of("walks", 0)].text;
	ck_assert_int_eq(strstr(great, "events whose stack") - great,
	    strstr(small, "failed reconnects") - small);
}

TEST(page_has_memory)
{
	uint64_t memory;

	ck_assert_int_eq(own_use_memory(&memory), 0);
	ck_assert_uint_gt(memory, 100000);
}
