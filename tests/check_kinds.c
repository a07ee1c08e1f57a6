/*
 * Groups by what a block itself says: its type, its thread, its age, and which
 * ones were born together.  All sums against ones that are made the simple way.
 */
#include "../src/pagek/born.h"
#include "../src/pagek/groups.h"
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
	page.on_screen = true;
	for (i = 0; i < BLOCKS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
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
		return page_born_key(b);
	return s >= 3600 ? 0 : s >= 600 ? 1 : s >= 60 ? 2 : s >= 10 ? 3 :
	    s >= 1 ? 4 : 5;
}

START_TEST(sums_are_those_of_the_blocks_with_that_tag)
{
	static struct blk b[BLOCKS];
	size_t n = all_blocks(b), i, k, seen = 0;
	const struct profile_group *row;
	uint64_t blocks, bytes;
	int64_t oldest;

	page_set_group(&page, page_group_kind_called(words[_i]));
	ck_assert_uint_ne(page.group, 0);
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
END_TEST

START_TEST(open_group_lists_the_blocks_with_its_tag)
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
END_TEST

START_TEST(what_all_blocks_of_a_group_have_is_known_of_it)
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
END_TEST

START_TEST(groups_are_called_as_their_tag_is)
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
END_TEST

/* Nothing comes or goes, and yet blocks grow older. */
START_TEST(groups_by_age_are_taken_anew_as_time_goes_by)
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
END_TEST

/* The walk that is under way has told apart what is not wanted any more. */
START_TEST(kind_that_changes_amid_a_walk_is_the_last_one_asked_for)
{
	unsigned i;

	for (i = 0; i < 200000; i++)
		scene_alloc(&scene, 0x10000000 + i * 0x100u, 10, TYPE_NEW, 1,
		    rec_site_caller(1), scene.look.now_ms - 5000);
	later();
	page_set_group(&page, page_group_kind_called("born"));
	compose(80, 24);
	page_set_group(&page, page_group_kind_called("type"));
	for (i = 0; i < 200 && page.groups->step != GROUPS_IDLE; i++)
		compose(80, 24);
	compose(80, 24);
	ck_assert_uint_eq(page.groups->kind, page.group);
	ck_assert_uint_le(page.groups->nrow, 4);
	ck_assert(shows("new  "));
}
END_TEST

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

START_TEST(kinds_are_called_by_their_words)
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
END_TEST

static Suite *
kinds_suite(void)
{
	Suite *s = suite_create("kinds");
	TCase *tags = tcase_create("tags"), *called = tcase_create("called");

	tcase_add_checked_fixture(tags, setup_kinds, teardown);
	tcase_add_loop_test(tags, sums_are_those_of_the_blocks_with_that_tag, 0,
	    (int)BASE_NELEM(words));
	tcase_add_loop_test(tags, open_group_lists_the_blocks_with_its_tag, 0,
	    (int)BASE_NELEM(words));
	tcase_add_test(tags, what_all_blocks_of_a_group_have_is_known_of_it);
	tcase_add_test(tags, groups_are_called_as_their_tag_is);
	tcase_add_test(tags, groups_by_age_are_taken_anew_as_time_goes_by);
	tcase_add_test(tags,
	    kind_that_changes_amid_a_walk_is_the_last_one_asked_for);
	suite_add_tcase(s, tags);
	tcase_add_loop_test(called, kinds_are_called_by_their_words, 0,
	    (int)BASE_NELEM(parsed));
	suite_add_tcase(s, called);
	return s;
}

CHECK_MAIN(kinds_suite)
