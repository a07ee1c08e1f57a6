/*
 * Groups by what a block itself says: its type, its thread, its age, and which
 * ones were born together.  All sums against ones that are made the simple way.
 */
#include "../src/pagek/layout/fields.h"
#include "../src/pagek/groups/siblings.h"
#include "../src/pagek/groups/groups.h"
#include "../src/pagek/rows/rows.h"
#include "chance.h"
#include "harness.h"
#include "scene.h"

#define BLOCKS 700

static void
setup_kinds(void)
{
	static const unsigned types[] = { TYPE_MALLOC, TYPE_NEW, TYPE_CALLOC,
		TYPE_REALLOC };
	int64_t ages[] = { 0, 300, 999, 1000, 9999, 10000, 59999, 60000,
		599999, 600000, 3599999, 3600000, 90000000 };
	uint64_t x = 88172645463325252u;
	unsigned i;

	setup();
	scene_target(&scene, 0);
	page.medium = PAGE_SCREEN;
	for (i = 0; i < BLOCKS; i++) {
		chance_next(&x);
		scene_alloc(&scene, 0x10000 + i * 0x100u, x % 5000,
		    types[x >> 20 & 3], (unsigned)(x >> 24 & 3),
		    rec_site_caller((unsigned)(1 + (x >> 30) % 5)),
		    scene.look.now_ms -
		    ages[(x >> 40) % BASE_NELEM(ages)]);
	}
	scene_refresh(&scene);
}

static size_t
all_blocks(struct blk out[BLOCKS])
{
	return blklist_window(scene.list, BLKLIST_BY_AGE, false, 0, out,
	    BLOCKS);
}

static const char *const words[] = { "type", "thread", "age", "born" };

static uint64_t
tag_of(const char *word, const struct blk *b)
{
	int64_t s = (scene.look.now_ms - b->ms) / 1000;

	if (strcmp(word, "type") == 0)
		return b->type;
	if (strcmp(word, "thread") == 0)
		return b->thread;
	if (strcmp(word, "born") == 0)
		return page_sibling_key(b);
	return s >= 3600 ? 0 : s >= 600 ? 1 : s >= 60 ? 2 : s >= 10 ? 3 :
	    s >= 1 ? 4 : 5;
}

CASE("tags", .setup = setup_kinds, .teardown = teardown);

LOOP_TEST(sums_are_those_of_the_blocks_with_that_tag, 0, (int)BASE_NELEM(words))
{
	static struct blk b[BLOCKS];
	size_t n = all_blocks(b), i, k, seen = 0;
	const struct profile_group *row;
	uint64_t blocks, bytes;
	int64_t oldest;

	page_set_group(&page, page_group_kind_called(words[_i]));
	ck_assert_uint_ne(page.group.kind, 0);
	compose(80, 24);
	for (k = 0; k < page.groups->nrow; k++) {
		row = page_groups_row(page.groups, k);
		blocks = bytes = 0;
		oldest = INT64_MAX;
		for (i = 0; i < n; i++) {
			if (tag_of(words[_i], &b[i]) != row->tag)
				continue;
			blocks++;
			bytes += b[i].size;
			if (b[i].ms < oldest)
				oldest = b[i].ms;
		}
		ck_assert_uint_eq(row->total.blocks, blocks);
		ck_assert_uint_eq(row->total.bytes, bytes);
		ck_assert_int_eq(row->total.oldest_ms, oldest);
		seen += blocks;
	}
	ck_assert_uint_eq(seen, BLOCKS);
}

LOOP_TEST(open_group_lists_the_blocks_with_its_tag, 0, (int)BASE_NELEM(words))
{
	static struct blk b[BLOCKS], shown[BLOCKS];
	size_t n = all_blocks(b), i, at = 0, got;
	uint64_t tag;

	page_set_group(&page, page_group_kind_called(words[_i]));
	compose(80, 24);
	tag = page_groups_row(page.groups, 0)->tag;
	page_move_to(&page, 0);
	ck_assert(page_open_group(&page, &scene.view));
	compose(80, 24);
	got = page_rows_blocks(&page, &scene.view, 0, shown, BLOCKS);
	for (i = 0; i < n; i++) {
		if (tag_of(words[_i], &b[i]) != tag)
			continue;
		ck_assert_uint_lt(at, got);
		ck_assert_uint_eq(shown[at++].addr, b[i].addr);
	}
	ck_assert_uint_eq(at, got);
}

TEST(what_all_blocks_of_a_group_have_is_known_of_it)
{
	const struct profile_group *row;
	size_t k;

	page_set_group(&page, page_group_kind_called("type"));
	compose(80, 24);
	for (k = 0; k < page.groups->nrow; k++) {
		row = page_groups_row(page.groups, k);
		ck_assert_int_eq(row->type, (int)row->tag);
		ck_assert_int_eq(row->thread, -1);
	}
	page_set_group(&page, page_group_kind_called("born"));
	compose(80, 24);
	for (k = 0; k < page.groups->nrow; k++)
		ck_assert_int_ge(page_groups_row(page.groups, k)->thread, 0);
}

TEST(groups_are_called_as_their_tag_is)
{
	page_set_group(&page, page_group_kind_called("type"));
	compose(80, 24);
	ck_assert(shows("malloc  80"));
	page_set_group(&page, page_group_kind_called("thread"));
	compose(80, 24);
	ck_assert(shows("rx-0"));
	ck_assert(shows("(thread not known)"));
	page_set_group(&page, page_group_kind_called("age"));
	compose(80, 24);
	ck_assert(shows("1 h and older"));
	ck_assert(shows("below 1 s"));
	page_set_group(&page, page_group_kind_called("born"));
	compose(80, 24);
	ck_assert(shows("15:02:2"));
}

/* --- order ------------------------------------------------------------------ */

static const char *const sorts[] = { "name", "type", "thread", "count",
	"bytes", "age" };

/* As the column is read; groups of one worth are in the order of names. */
static int64_t
worth(const char *sort, const struct profile_group *g)
{
	if (strcmp(sort, "type") == 0)
		return g->type < 0 ? 1000 : g->type;
	if (strcmp(sort, "thread") == 0)
		return g->thread < 0 ? 1000 : g->thread;
	if (strcmp(sort, "count") == 0)
		return -(int64_t)g->total.blocks;
	if (strcmp(sort, "bytes") == 0)
		return -(int64_t)g->total.bytes;
	return strcmp(sort, "age") == 0 ? g->total.oldest_ms : 0;
}

CASE("order", .setup = setup_kinds, .teardown = teardown);

LOOP_TEST(groups_are_in_the_order_of_the_column_asked_for, 0,
    (int)BASE_NELEM(sorts))
{
	const struct profile_group *row;
	struct profile_group last;
	enum profile_measure by;
	size_t k;
	int turn;

	page_set_group(&page, page_group_kind_called("function"));
	ck_assert_int_eq(page_sum_called(sorts[_i], &by), 0);
	page.group.sort = by;
	for (turn = 0; turn < 2; turn++) {
		page.group.reverse = turn;
		compose(124, 24);
		ck_assert_uint_gt(page.groups->nrow, 2);
		for (k = 0; k < page.groups->nrow; k++) {
			row = page_groups_row(page.groups, k);
			if (k > 0 && turn == 0)
				ck_assert_int_le(worth(sorts[_i], &last),
				    worth(sorts[_i], row));
			if (k > 0 && turn == 1)
				ck_assert_int_ge(worth(sorts[_i], &last),
				    worth(sorts[_i], row));
			if (k > 0 && by == PROFILE_NAME)
				ck_assert((strcmp(last.name, row->name) < 0) !=
				    (turn == 1));
			last = *row;
		}
		ck_assert(shows(turn ? " ^" : " v"));
	}
}

LOOP_TEST(columns_follow_each_other_and_come_back, 0, 2)
{
	enum profile_measure by = PROFILE_BYTES, was;
	int i, n = _i ? 7 : 6;

	for (i = 0; i < n; i++) {
		was = by;
		by = page_sum_next(by, 1, _i);
		ck_assert_int_ne(by, was);
		ck_assert_int_eq(page_sum_next(by, -1, _i), was);
	}
	ck_assert_int_eq(by, PROFILE_BYTES);
}

/* --- the last minute --------------------------------------------------------- */

static uint64_t points[PAGE_TREND_POINTS];

static size_t
points_of(const char *name)
{
	const struct profile_group *row;
	size_t k;

	for (k = 0; k < page.groups->nrow; k++) {
		row = page_groups_row(page.groups, k);
		if (strcmp(row->name, name) == 0)
			return page_trends_get(page.groups->trends, row->key,
			    row->total.bytes, points);
	}
	return 0;
}

static void
after(int64_t ms)
{
	scene.look.now_ms += ms;
	later();
	compose(124, 24);
}

CASE("minute", .setup = setup_kinds, .teardown = teardown);

TEST(each_group_has_a_point_for_every_five_seconds)
{
	uint64_t had[40];
	size_t n, k, i;

	page_set_group(&page, page_group_kind_called("function"));
	compose(124, 24);
	for (i = 0; i < BASE_NELEM(had); i++) {
		n = points_of("libfoo.so+0x1f30");
		had[i] = points[n - 1];
		ck_assert_uint_eq(n, i + 2 < PAGE_TREND_POINTS ? i + 2 :
		    PAGE_TREND_POINTS);
		for (k = 1; k < n; k++)
			ck_assert_uint_eq(points[n - 1 - k], had[i + 1 - k]);
		scene_alloc(&scene, 0x20000000 + i * 0x1000u, 1000 + i,
		    TYPE_NEW, 1, rec_site_caller(3), scene.look.now_ms);
		/* Pictures between are of the same moment. */
		after(2500);
		after(2500);
	}
}

TEST(group_that_is_new_has_nothing_before)
{
	page_set_group(&page, page_group_kind_called("thread"));
	compose(124, 24);
	after(5000);
	after(5000);
	page_set_group(&page, page_group_kind_called("function"));
	compose(124, 24);
	/* Of another kind nothing is known. */
	ck_assert_uint_eq(points_of("libfoo.so+0x1f30"), 2);
	after(5000);
	ck_assert_uint_eq(points_of("libfoo.so+0x1f30"), 3);
	/* What was not looked at is blank. */
	after(20000);
	ck_assert_uint_eq(points_of("libfoo.so+0x1f30"), 7);
	ck_assert_uint_eq(points[3], 0);
	ck_assert_uint_gt(points[1], 0);
}

TEST(trend_follows_the_name_of_its_group)
{
	scene_late = 1u << SCENE_F_ZMALLOC;
	page_set_group(&page, page_group_kind_called("function"));
	compose(124, 24);
	after(5000);
	ck_assert_uint_eq(points_of("0x55d0c2a01000"), 3);
	scene_late = 0;
	scene_free(&scene, 0x10000);
	scene.view.names_no = 7;
	scene.look.now_ms += 5000;
	later();
	scene.view.names_no = 7;
	compose(124, 24);
	ck_assert_uint_eq(points_of("zmalloc"), 4);
	ck_assert_uint_gt(points[0], 0);
}

/* --- and of something else ---------------------------------------------------- */

static void
change_filter(void)
{
	static unsigned n;
	struct filter_error e;

	ck_assert_int_eq(page_choice_filter(&page, ++n % 2 ? "size>=2k" :
	    "size>=3k & type=new", &e), 0);
}

static void
change_no_filter(void)
{
	page_choice_none(&page);
}

static void
change_skip(void)
{
	ck_assert_int_eq(symbol_wrappers_add(page.opts.wrappers, "zmalloc"), 0);
	page.round++;
}

static void
change_more_skips(void)
{
	ck_assert_int_eq(symbol_wrappers_add(page.opts.wrappers,
	    "robj::make,createObject"), 0);
	page.round++;
}

static void
change_no_skip(void)
{
	ck_assert_int_eq(symbol_wrappers_add(page.opts.wrappers, "none"), 0);
	page.round++;
}

static void
change_drain(void)
{
	if (page_is_draining(&page))
		page_drain_end(&page);
	else
		ck_assert_int_eq(page_drain_begin(&page, &scene.view), 0);
}

static void
change_kind(void)
{
	page_set_group(&page, page_group_kind_called(page.group.kind ==
	    page_group_kind_called("function") ? "site" : "function"));
}

static void
change_below(void)
{
	page_set_group_below(&page, page_group_kind_called("thread"));
}

static void (*const changes[])(void) = {
	change_filter, change_filter, change_no_filter, change_skip,
	change_more_skips, change_no_skip, change_drain, change_drain,
	change_kind, change_kind, change_below,
};

static struct symbol_wrappers *skipped;

static void
setup_minute(void)
{
	setup_kinds();
	ck_assert_int_eq(symbol_wrappers_new(&skipped), 0);
	ck_assert_int_eq(symbol_wrappers_add(skipped, "none"), 0);
	scene.view.wrappers = page.opts.wrappers = skipped;
	page_set_group(&page, page_group_kind_called("function"));
	compose(124, 24);
}

static void
teardown_minute(void)
{
	teardown();
	symbol_wrappers_free(skipped);
}

/* The blocks never change: no row has ever had another sum than it has now. */
static void
assert_flat(unsigned turn)
{
	size_t k, i, n;

	ck_assert_uint_gt(page.groups->nrow, 0);
	for (k = 0; k < page.groups->nrow; k++) {
		const struct profile_group *row =
		    page_groups_row(page.groups, k);
		uint64_t bytes = row->total.bytes;
		char name[64];

		snprintf(name, sizeof name, "%s", row->name);
		n = page_trends_get(page.groups->trends, row->key, bytes,
		    points);
		for (i = 0; i < n; i++)
			ck_assert_msg(points[i] == bytes,
			    "change %u, %s: %" PRIu64 " and not %" PRIu64, turn,
			    name, points[i], bytes);
	}
}

CASE("changes", .setup = setup_minute, .teardown = teardown_minute);

/* With a picture of the same moment, or only with that of the next one. */
LOOP_TEST(no_group_had_what_other_groups_have, 0, 2)
{
	unsigned turn, i;

	for (turn = 0; turn < BASE_NELEM(changes); turn++) {
		after(5000);
		changes[turn]();
		if (_i) {
			compose(124, 24);
			assert_flat(turn);
		}
		for (i = 0; i < 3; i++) {
			after(5000);
			assert_flat(turn);
		}
	}
}

/* What is the same sum goes on. */
TEST(a_pause_another_order_or_other_units_are_no_change)
{
	after(5000);
	ck_assert_uint_eq(points_of("libfoo.so+0x1f30"), 3);
	page.round++;
	page.units = PAGE_UNITS_EXACT;
	page.group.sort = PROFILE_BLOCKS;
	after(5000);
	ck_assert_uint_eq(points_of("libfoo.so+0x1f30"), 4);
}

CASE("tags");

/* Nothing comes or goes, and yet blocks grow older. */
TEST(groups_by_age_are_taken_anew_as_time_goes_by)
{
	uint64_t young = 0;
	size_t k;

	page_set_group(&page, page_group_kind_called("age"));
	compose(80, 24);
	scene.look.now_ms += 1000;
	later();
	compose(80, 24);
	for (k = 0; k < page.groups->nrow; k++)
		if (page_groups_row(page.groups, k)->tag == 5)
			young = page_groups_row(page.groups, k)->total.blocks;
	ck_assert_uint_eq(young, 0);
}

/* The walk that is under way has told apart what is not wanted any more. */
TEST(kind_that_changes_amid_a_walk_is_the_last_one_asked_for)
{
	unsigned i;

	for (i = 0; i < 200000; i++)
		scene_alloc(&scene, 0x10000000 + i * 0x100u, 10, TYPE_NEW, 1,
		    rec_site_caller(1), scene.look.now_ms - 5000);
	later();
	page_set_group(&page, page_group_kind_called("born"));
	compose(80, 24);
	page_set_group(&page, page_group_kind_called("type"));
	for (i = 0; i < 200 && page.groups->pass.step != GROUPS_IDLE; i++)
		compose(80, 24);
	compose(80, 24);
	ck_assert_uint_eq(page.groups->shown.kind, page.group.kind);
	ck_assert_uint_le(page.groups->nrow, 4);
	ck_assert(shows("new  "));
}

static const struct {
	const char *text;
	int r;
	const char *first, *second;
} parsed[] = {
	{ "type", 0, "type", "none" },
	{ "none", 0, "none", "none" },
	{ "site>type", 0, "site", "type" },
	{ "frame>born", 0, "frame", "born" },
	{ "none>type", -EINVAL, NULL, NULL },
	{ "type>", -EINVAL, NULL, NULL },
	{ ">type", -EINVAL, NULL, NULL },
	{ "typ", -EINVAL, NULL, NULL },
	{ "", -EINVAL, NULL, NULL },
	{ "type>type>type", -EINVAL, NULL, NULL },
};

CASE("called");

LOOP_TEST(kinds_are_called_by_their_words, 0, (int)BASE_NELEM(parsed))
{
	unsigned kind = 77, below = 78;

	ck_assert_int_eq(page_group_kinds_parse(parsed[_i].text, &kind,
	    &below), parsed[_i].r);
	if (parsed[_i].r < 0) {
		ck_assert_uint_eq(kind, 77);
		ck_assert_uint_eq(below, 78);
		return;
	}
	ck_assert_uint_eq(kind, page_group_kind_called(parsed[_i].first));
	ck_assert_uint_eq(below, page_group_kind_called(parsed[_i].second));
}
