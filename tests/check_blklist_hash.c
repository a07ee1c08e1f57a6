/*
 * The hash of the indexed list by itself: runs of buckets that wrap around the
 * end of a table, and tables that are moved while all else goes on.
 */
#include "harness.h"

#include "../src/blklist/hash.h"

#define KEYS 3000

struct table {
	struct hash hash;
	struct store_node node[KEYS];		/* record i has key i of the test */
	bool in[KEYS];
};

static uint64_t seed;

static unsigned
below(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)(seed >> 33) % n;
}

static uint32_t *
find(const struct table *t, unsigned i)
{
	uint64_t key = t->node[i].w[0];

	return hash_find(&t->hash, hash_tag(&t->hash, key), t->node, key,
	    LIST_KEY_MASK);
}

static void
insert(struct table *t, unsigned i)
{
	uint32_t *s;

	ck_assert(hash_room(&t->hash));
	s = find(t, i);
	ck_assert_uint_eq(*s, 0);
	hash_insert(&t->hash, s, hash_tag(&t->hash, t->node[i].w[0]), i);
	t->in[i] = true;
}

static void
erase(struct table *t, unsigned i)
{
	uint32_t *s = find(t, i);

	ck_assert_uint_ne(*s, 0);
	hash_erase(&t->hash, s);
	t->in[i] = false;
}

/* One assertion for all, for each of them costs a write. */
static void
all_found(const struct table *t)
{
	unsigned i;

	for (i = 0; i < KEYS; i++) {
		const uint32_t *s = find(t, i);

		if ((*s != 0) != t->in[i] || (t->in[i] && hash_index(s) != i))
			break;
	}
	ck_assert_msg(i == KEYS, "key %u, %u of %u moved", i, t->hash.done,
	    t->hash.old.n);
}

/*
 * Keys whose homes in the first table lie around its end: their runs wrap.
 * The last third have homes anywhere.
 */
static struct table *
table_of_wrapping_keys(void)
{
	struct table *t = calloc(1, sizeof(*t));
	uint64_t key = 0;
	uint32_t home;

	ck_assert_int_eq(hash_init(&t->hash, seed), 0);
	for (unsigned i = 0; i < KEYS; i++) {
		do {
			key += 16;
			home = hash_home(&t->hash.now,
			    hash_tag(&t->hash, key));
		} while (i < KEYS * 2 / 3 && home > 3 &&
		    home < t->hash.now.n - 10);
		t->node[i].w[0] = key;
	}
	return t;
}

static void
table_free(struct table *t)
{
	hash_fini(&t->hash);
	free(t);
}

START_TEST(runs_that_wrap_close_up_when_a_slot_goes)
{
	struct table *t;

	seed = 1 + (uint64_t)_i;
	t = table_of_wrapping_keys();
	for (unsigned i = 0; i < 150; i++)
		insert(t, i);
	ck_assert_ptr_null(t->hash.old.bucket);
	ck_assert_uint_eq(hash_match(&t->hash.now.bucket[t->hash.now.n - 1],
	    0), 0);
	ck_assert_uint_eq(hash_match(&t->hash.now.bucket[0], 0), 0);
	for (unsigned round = 0; round < 500; round++) {
		unsigned i = below(250);

		if (t->in[i])
			erase(t, i);
		else if (t->hash.n < 200)
			insert(t, i);
		all_found(t);
	}
	table_free(t);
}
END_TEST

/* At every step of the move, with something else done in every step. */
START_TEST(keys_are_found_while_a_table_is_moved)
{
	struct table *t;
	unsigned moving = 0, in_both = 0;

	seed = 100 + (uint64_t)_i;
	t = table_of_wrapping_keys();
	for (unsigned i = 0; i < 200; i++)
		insert(t, i);
	for (unsigned i = KEYS - 40; i < KEYS; i++)
		insert(t, i);
	ck_assert_int_eq(hash_resize(&t->hash, true), 0);
	while (t->hash.old.bucket != NULL) {
		unsigned i = below(400);

		all_found(t);
		moving++;
		in_both += t->hash.done > 0;
		if (t->in[i])
			erase(t, i);
		else
			insert(t, i);
	}
	all_found(t);
	ck_assert_uint_gt(moving, 10);
	ck_assert_uint_gt(in_both, 5);
	table_free(t);
}
END_TEST

/*
 * Keys that come meanwhile can fill the slot before `start`, so that the last
 * run reaches over slots that have been passed long since.
 */
START_TEST(last_run_is_moved_to_its_end)
{
	enum { LATE = 2 * HASH_WIDTH };
	struct table *t;
	uint64_t key = UINT64_C(1) << 40;
	uint32_t before_start, n;

	seed = 150 + (uint64_t)_i;
	t = table_of_wrapping_keys();
	for (unsigned i = 0; i < 200; i++)
		insert(t, i);
	ck_assert_int_eq(hash_resize(&t->hash, true), 0);
	n = t->hash.old.n;
	before_start = (t->hash.start + n - 1) % n;
	for (unsigned i = KEYS - LATE; i < KEYS; i++) {
		do
			key += 16;
		while (hash_home(&t->hash.old, hash_tag(&t->hash, key)) !=
		    before_start);
		t->node[i].w[0] = key;
		insert(t, i);
		all_found(t);
	}
	ck_assert_ptr_nonnull(t->hash.old.bucket);
	ck_assert_uint_ne(hash_match(&t->hash.old.bucket[t->hash.start], 0),
	    (1u << HASH_WIDTH) - 1);
	while (t->hash.old.bucket != NULL) {
		hash_move(&t->hash);
		all_found(t);
	}
	ck_assert_uint_gt(t->hash.done, n);
	table_free(t);
}
END_TEST

START_TEST(table_grows_and_shrinks_with_its_keys)
{
	struct table *t;
	size_t least, most;
	unsigned before;

	seed = 200;
	t = table_of_wrapping_keys();
	least = hash_memory(&t->hash);
	for (unsigned i = 0; i < KEYS; i++) {
		insert(t, i);
		if (i % 37 == 0)
			all_found(t);
		ck_assert_uint_le(t->hash.n, t->hash.limit);
	}
	most = hash_memory(&t->hash);
	ck_assert_uint_gt(most, 4 * least);
	for (unsigned i = 0; i < KEYS; i++) {
		erase(t, i);
		if (i % 37 == 0)
			all_found(t);
	}
	for (before = 0; before < 2000; before++) {
		insert(t, 5);
		erase(t, 5);
	}
	ck_assert_uint_eq(hash_memory(&t->hash), least);
	table_free(t);
}
END_TEST

START_TEST(no_bucket_is_moved_from_the_middle_of_a_run)
{
	struct table *t;

	seed = 300 + (uint64_t)_i;
	t = table_of_wrapping_keys();
	for (unsigned i = 0; i < 240; i++)
		insert(t, i);
	ck_assert_int_eq(hash_resize(&t->hash, true), 0);
	while (t->hash.old.bucket != NULL) {
		uint32_t n = t->hash.old.n;

		/* What is left lies behind homes that have not been passed. */
		for (uint32_t p = 0; p < n; p++)
			for (unsigned e = 0; e < HASH_WIDTH; e++) {
				uint32_t tag = t->hash.old.bucket[p].word[e];

				if (tag != 0)
					ck_assert(!hash_passed(&t->hash, tag));
			}
		hash_move(&t->hash);
	}
	all_found(t);
	table_free(t);
}
END_TEST

static Suite *
suite(void)
{
	Suite *s = suite_create("blklist: hash");
	TCase *core = tcase_create("core");

	tcase_add_loop_test(core, runs_that_wrap_close_up_when_a_slot_goes, 0,
	    8);
	tcase_add_loop_test(core, keys_are_found_while_a_table_is_moved, 0, 8);
	tcase_add_loop_test(core, last_run_is_moved_to_its_end, 0, 8);
	tcase_add_test(core, table_grows_and_shrinks_with_its_keys);
	tcase_add_loop_test(core, no_bucket_is_moved_from_the_middle_of_a_run, 0,
	    8);
	suite_add_tcase(s, core);
	return s;
}

CHECK_MAIN(suite)
