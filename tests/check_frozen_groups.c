/* Groups in a frozen order: sums change, rows stay, new groups get no rows. */
#include "../src/pagek/groups/expanded_groups.h"
#include "../src/pagek/rows/frozen_order.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"
#include "scene.h"

#define TYPES 6
#define EACH 20

static unsigned kind_type, kind_thread, kind_function;

static uint64_t
addr_of(unsigned type, unsigned i)
{
	return 0x100000 + (type * 0x1000u + i) * 0x100u;
}

/* The first types have the largest blocks. */
static void
setup_frozen(void)
{
	unsigned t, i;

	setup();
	scene_init(&scene, BLKLIST_INDEXED, 1u << 16);
	stream_types_init(&scene.types);
	scene.look.now_ms = 400000000;
	scene_refresh(&scene);
	page.medium = PAGE_SCREEN;
	for (t = 0; t < TYPES; t++)
		for (i = 0; i < EACH; i++)
			scene_alloc(&scene, addr_of(t, i), 1000 - 100 * t,
			    TYPE_MALLOC + t, 1 + i % 4,
			    rec_site_caller(1 + t % 5), scene.look.now_ms);
	kind_type = page_group_kind_called("type");
	kind_thread = page_group_kind_called("thread");
	kind_function = page_group_kind_called("function");
}

static void
settle(void)
{
	int i;

	later();
	for (i = 0; i < 500; i++) {
		compose(124, 30);
		if (i > 0 && page.groups->pass.step == GROUPS_IDLE)
			return;
	}
	ck_abort_msg("it does not come to an end");
}

static void
freeze(void)
{
	ck_assert(page_freeze_toggle(&page, &scene.view));
	compose(124, 30);
}

static void
assert_row(size_t at, unsigned type, uint64_t blocks, uint64_t bytes)
{
	const struct profile_group *row = page_groups_row(page.groups, at);

	ck_assert_ptr_nonnull(row);
	ck_assert_uint_eq(row->tag, TYPE_MALLOC + type);
	ck_assert_uint_eq(row->total.blocks, blocks);
	ck_assert_uint_eq(row->total.bytes, bytes);
}

CASE("order", .setup = setup_frozen, .teardown = teardown);

/* The last one gets the heaviest, and stays the last one. */
TEST(sums_go_on_in_the_order_of_then)
{
	unsigned round, i;

	page_set_group(&page, kind_type);
	settle();
	freeze();
	for (round = 0; round < 5; round++) {
		for (i = 0; i < 10; i++)
			scene_alloc(&scene, addr_of(5, 100 + 10 * round + i),
			    5000, TYPE_MALLOC + 5, 1, rec_site_caller(1),
			    scene.look.now_ms);
		scene_free(&scene, addr_of(0, round));
		settle();
		ck_assert_uint_eq(page.groups->nrow, TYPES);
		assert_row(0, 0, EACH - round - 1,
		    (EACH - round - 1) * 1000);
		assert_row(3, 3, EACH, EACH * 700);
		assert_row(5, 5, EACH + 10 * (round + 1), EACH * 500 +
		    50000 * (round + 1));
		ck_assert_uint_eq(page.groups->total.blocks, TYPES * EACH +
		    9 * (round + 1));
	}
	ck_assert_uint_eq(page.groups->nnew, 0);
	ck_assert(shows("order: frozen"));
	ck_assert(!page_freeze_toggle(&page, &scene.view));
	settle();
	assert_row(0, 5, EACH + 50, EACH * 500 + 250000);
}

TEST(new_groups_do_not_push_in_and_are_counted)
{
	unsigned i;

	page_set_group(&page, kind_type);
	settle();
	freeze();
	for (i = 0; i < 3; i++) {
		scene_alloc(&scene, addr_of(20 + i, 0), 1000000,
		    TYPE_MALLOC + 20 + i, 1, rec_site_caller(1),
		    scene.look.now_ms);
		settle();
		settle();
		ck_assert_uint_eq(page.groups->nrow, TYPES);
		ck_assert_uint_eq(page.groups->nnew, i + 1);
		assert_row(0, 0, EACH, EACH * 1000);
	}
	ck_assert(shows("+3 new"));
	ck_assert(!page_freeze_toggle(&page, &scene.view));
	settle();
	ck_assert_uint_eq(page.groups->nrow, TYPES + 3);
	ck_assert_uint_eq(page.groups->nnew, 0);
	ck_assert(!shows("+3 new"));
}

TEST(a_group_that_is_empty_keeps_its_row_until_the_order_goes_on)
{
	unsigned i;

	page_set_group(&page, kind_type);
	settle();
	freeze();
	for (i = 0; i < EACH; i++)
		scene_free(&scene, addr_of(2, i));
	for (i = 0; i < 3; i++) {
		settle();
		ck_assert_uint_eq(page.groups->nrow, TYPES);
		assert_row(2, 2, 0, 0);
		assert_row(3, 3, EACH, EACH * 700);
	}
	scene_alloc(&scene, addr_of(2, 0), 64, TYPE_MALLOC + 2, 1,
	    rec_site_caller(3), scene.look.now_ms);
	settle();
	assert_row(2, 2, 1, 64);
	ck_assert_uint_eq(page.groups->nnew, 0);
	scene_free(&scene, addr_of(2, 0));
	ck_assert(!page_freeze_toggle(&page, &scene.view));
	settle();
	ck_assert_uint_eq(page.groups->nrow, TYPES - 1);
}

TEST(groups_that_get_their_names_keep_their_places)
{
	uint64_t bytes[8];
	size_t i, n;

	scene_late = ~0u;
	page_set_group(&page, kind_function);
	settle();
	n = page.groups->nrow;
	ck_assert_uint_ge(n, 3);
	for (i = 0; i < n; i++)
		bytes[i] = page_groups_row(page.groups, i)->total.bytes;
	freeze();
	/* zmalloc's is still on its way: none becomes one with another. */
	scene_late = ~(1u << SCENE_F_FOO | 1u << SCENE_F_BAR);
	scene.view.names_no++;
	settle();
	ck_assert(shows("libfoo.so+0x1f30"));
	ck_assert_uint_eq(page.groups->nrow, n);
	ck_assert_uint_eq(page.groups->nnew, 0);
	for (i = 0; i < n; i++)
		ck_assert_uint_eq(page_groups_row(page.groups, i)->total.bytes,
		    bytes[i]);
}

TEST(another_order_is_taken_as_it_is_by_then)
{
	unsigned i;

	page_set_group(&page, kind_type);
	settle();
	freeze();
	for (i = 0; i < 5; i++)
		scene_free(&scene, addr_of(0, i));
	settle();
	assert_row(0, 0, EACH - 5, (EACH - 5) * 1000);
	page.group.reverse = true;
	settle();
	assert_row(0, 5, EACH, EACH * 500);
	assert_row(1, 4, EACH, EACH * 600);
	assert_row(3, 0, EACH - 5, (EACH - 5) * 1000);
	for (i = 0; i < 5; i++)
		scene_free(&scene, addr_of(4, i));
	settle();
	assert_row(0, 5, EACH, EACH * 500);
	assert_row(1, 4, EACH - 5, (EACH - 5) * 600);
}

/* Both levels, and the blocks in them. */
TEST(expanded_groups_are_frozen_too)
{
	const struct profile_group *row;
	struct page_branch *second, *leaf;
	struct blk first;
	uint64_t key[4];
	unsigned i;

	page_set_group(&page, kind_type);
	page_set_group_below(&page, kind_thread);
	settle();
	ck_assert_int_eq(page_expand_group(&page, &scene.view), 0);
	settle();
	page_move_to(&page, 1);
	page_remember_cursor(&page, &scene.view);
	ck_assert_int_eq(page_expand_group(&page, &scene.view), 0);
	settle();
	second = page_branch_find(page.groups, page_groups_row(page.groups,
	    0)->key, NULL);
	for (i = 0; i < 4; i++)
		key[i] = page_branch_row(second, i)->key;
	leaf = page_branch_find(page.groups, page_groups_row(page.groups,
	    0)->key, &key[0]);
	ck_assert_ptr_nonnull(leaf);
	ck_assert_uint_eq(leaf->n, EACH / 4);
	first = leaf->blk[0];
	freeze();
	scene_free(&scene, first.addr);
	for (i = 0; i < 30; i++)
		scene_alloc(&scene, addr_of(0, 100 + i), 1000, TYPE_MALLOC,
		    i < 2 ? first.thread : first.thread % 4 + 1,
		    rec_site_caller(1), scene.look.now_ms);
	settle();
	for (i = 0; i < 4; i++)
		ck_assert_uint_eq(page_branch_row(second, i)->key, key[i]);
	row = page_branch_row(second, 0);
	ck_assert_uint_eq(row->total.blocks, EACH / 4 + 1);
	ck_assert_uint_eq(leaf->n, EACH / 4);
	ck_assert_uint_eq(leaf->blk[0].seq, first.seq);
	ck_assert(page_row_is_freed(&page, &scene.view, &leaf->blk[0]));
	ck_assert(!page_row_is_freed(&page, &scene.view, &leaf->blk[1]));
	ck_assert(shows("+ 2 more"));
	ck_assert(!page_freeze_toggle(&page, &scene.view));
	settle();
	leaf = page_branch_find(page.groups, page_groups_row(page.groups,
	    0)->key, &key[0]);
	ck_assert_uint_eq(leaf->n, EACH / 4 + 1);
	ck_assert_uint_ne(leaf->blk[0].seq, first.seq);
}

TEST(a_frozen_page_of_groups_fits_whatever_comes)
{
	unsigned i, x = 1;

	page_set_group(&page, kind_type);
	page_set_group_below(&page, kind_thread);
	settle();
	ck_assert_int_ge(page_expand_all_groups(&page, &scene.view), 0);
	settle();
	freeze();
	for (i = 0; i < 400; i++) {
		x = x * 1664525u + 1013904223u;
		scene_free(&scene, addr_of(x >> 8 & 7, x >> 16 & 31));
		scene_alloc(&scene, addr_of(x >> 9 & 7, x >> 17 & 31),
		    x >> 20, TYPE_MALLOC + (x >> 9 & 7), x >> 28,
		    rec_site_caller(1 + (x >> 24) % 5), scene.look.now_ms);
		if (i % 10 != 0)
			continue;
		later();
		compose((int)(x >> 25) + 1, (int)(x >> 26) + 1);
		assert_fits((int)(x >> 25) + 1, 0);
		if (i % 100 == 0)
			page_freeze_toggle(&page, &scene.view);
	}
}
