/*
 * The order of address by itself: what a region is kept as, at every
 * alignment and density, against a sorted array.
 */
#include "harness.h"

#include "../src/blklist/indexed/regions.h"

#define LAYER (UINT64_C(1) << LIST_LAYER_BIT)
#define REGIONS 40

static struct regions g;
static uint64_t keys[200000];
static size_t n;

static void
setup(void)
{
	ck_assert_int_eq(regions_init(&g), 0);
	n = 0;
}

static void
teardown(void)
{
	regions_fini(&g);
}

static void
add(uint64_t key)
{
	if (regions_add(&g, key) != 0)
		ck_abort_msg("out of memory");
	keys[n++] = key;
}

static int
compare(const void *va, const void *vb)
{
	const uint64_t *a = va, *b = vb;

	return *a < *b ? -1 : *a > *b;
}

/* Walked, counted and picked, it is the sorted array. */
static void
same(void)
{
	const char *bad = regions_check(&g);
	uint64_t key = 0;
	size_t i;

	ck_assert_msg(bad == NULL, "%s", bad);
	qsort(keys, n, sizeof(keys[0]), compare);
	for (i = 0; i < n; i++) {
		if (!regions_next(&g, key, &key) || key != keys[i])
			break;
		key++;
		if ((i * 7 % 5 == 0 || n < 1000) &&
		    (regions_select(&g, (uint32_t)i) != keys[i] ||
		    regions_rank(&g, keys[i]) != i))
			break;
	}
	ck_assert_msg(i == n, "key %zu of %zu", i, n);
	ck_assert(!regions_next(&g, key, &key));
}

/* Takes out all but every `keep`th key. */
static void
thin(size_t keep)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++)
		if (keep != 0 && i % keep == 0)
			keys[left++] = keys[i];
		else
			regions_del(&g, keys[i]);
	n = left;
}

/* Each row: blocks at these places of every region. */
static const struct pattern {
	const char *name;
	uint64_t base;
	uint32_t step;
	unsigned count;
} patterns[] = {
	{ "a few far apart", 0x555500000000, 0x40000, 8 },
	{ "aligned and dense", 0x7f0000000000, 16, 2000 },
	{ "aligned and one too many for a vector", 0x7f0000000000, 0x1000, 33 },
	{ "aligned to eight", 0x8e0008, 24, 2000 },
	{ "odd", 0x1001, 7, 2000 },
	{ "odd and few", 0x1001, 4097, 500 },
	{ "every byte", 0x1000, 1, 3000 },
	{ "of the other layer", LAYER | 0x1000, 48, 1000 },
	{ "up to the last byte", REC_ADDR_MASK - REGIONS * REGION_BYTES + 1,
	    0x1001, 512 },
};

CASE("core", .setup = setup, .teardown = teardown);

LOOP_TEST(order_is_that_of_a_sorted_array, 0,
    sizeof(patterns) / sizeof(patterns[0]))
{
	const struct pattern *p = &patterns[_i];
	size_t full, thinned;

	for (unsigned i = 0; i < p->count; i++)
		for (uint64_t r = 0; r < REGIONS; r++)
			add(p->base + r * REGION_BYTES +
			    (uint64_t)i * p->step);
	same();
	full = regions_memory(&g);
	thin(97);
	same();
	thinned = regions_memory(&g);
	ck_assert_uint_le(thinned, full);
	thin(0);
	same();
	ck_assert_uint_eq(n, 0);
	/* Again, out of what has been set aside. */
	for (unsigned i = 0; i < p->count; i++)
		for (uint64_t r = 0; r < REGIONS; r += 2)
			add(p->base + r * REGION_BYTES +
			    (uint64_t)i * p->step);
	same();
}

/* Middles and regions come below those that there are, and above them. */
TEST(keys_come_below_and_above_all_others)
{
	const uint64_t first = UINT64_C(0x5555) << 32;

	add(first);
	for (unsigned i = 1; i < 8; i++) {
		add(first - ((uint64_t)i << REGION_SHIFT));
		add(first + ((uint64_t)i << REGION_SHIFT));
		add(first - ((uint64_t)i << (REGION_SHIFT + MIDDLE_SHIFT)));
		add(first + ((uint64_t)i << (REGION_SHIFT + MIDDLE_SHIFT)));
		same();
	}
	regions_clear(&g);
	ck_assert_uint_eq(g.nregions, 0);
	ck_assert_uint_eq(g.nmiddles, 0);
	n = 0;
	add(first >> 1);
	same();
}

TEST(block_at_an_odd_address_beside_aligned_ones_is_no_alias)
{
	for (uint64_t r = 0; r < REGIONS; r++)
		for (uint64_t i = 0; i < 100; i++)
			add(r * REGION_BYTES + i * 16);
	same();
	for (uint64_t r = 0; r < REGIONS; r += 3)
		add(r * REGION_BYTES + 8);
	same();
	for (uint64_t r = 0; r < REGIONS; r += 5)
		add(r * REGION_BYTES + 17);
	same();
	thin(2);
	same();
}

/* Bitmaps beyond those kept anyway become vectors, and leave nothing behind. */
TEST(regions_that_become_sparse_become_small)
{
	size_t dense, sparse;

	for (int round = 0; round < 4; round++) {
		for (uint64_t r = 0; r < 400; r++)
			for (uint64_t i = 0; i < 100; i++)
				add(r * REGION_BYTES + i * 4096 + round * 16u);
		same();
		dense = regions_memory(&g);
		thin(50);
		same();
		sparse = regions_memory(&g);
		ck_assert_uint_lt(sparse, dense / 4);
		thin(0);
		same();
	}
	ck_assert_uint_lt(regions_memory(&g), 1 << 20);
}

TEST(sparse_blocks_need_little_memory)
{
	size_t before = regions_memory(&g);

	for (uint64_t i = 0; i < 10000; i++)
		add(0x7f0000000010 + i * 0x201000);
	same();
	ck_assert_uint_lt(regions_memory(&g) - before, 10000 * 300);
}
