/*
 * The hash of the indexed list by itself: runs of buckets that reach below the
 * first one, and tables that are moved, in place and elsewhere, while all else
 * goes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "chance.h"
#include "harness.h"

#include "../src/blklist/indexed/hash.h"

#define KEYS 3000
#define BUCKETS 1024		/* of a table that is not moved at once */
#define KEYS_AHEAD (1u << 20)
#define KEYS_LONG (1u << 24)
#define BUCKETS_AHEAD 32768	/* of a table that is taken memory for ahead, in huge pages */

struct table {
	struct hash hash;
	struct store_node node[KEYS];		/* record i has key i of the test */
	bool in[KEYS];
	uint64_t last;				/* key that was given to one */
};

static uint64_t seed;

static unsigned
below(unsigned n)
{
	return (unsigned)(chance_next(&seed) >> 33) % n;
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

static void
toggle(struct table *t, unsigned i)
{
	if (t->in[i])
		erase(t, i);
	else
		insert(t, i);
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
	ck_assert_msg(i == KEYS, "key %u, %d of %u left", i, t->hash.unmoved,
	    t->hash.old.n);
}

/* Record i gets a key with a home from `low` on, `n` of them, in this table. */
static void
give_key(struct table *t, unsigned i, const struct hash_table *in,
    uint32_t low, uint32_t n)
{
	do
		t->last += 16;
	while (hash_home(in, hash_tag(&t->hash, t->last)) - low >= n);
	t->node[i].w[0] = t->last;
}

static struct table *
table_new(uint32_t max_keys)
{
	struct table *t = calloc(1, sizeof(*t));

	ck_assert_int_eq(hash_init(&t->hash, max_keys, seed), 0);
	return t;
}

/*
 * Two thirds of the keys have homes in the lowest buckets, of a table of any
 * size: their runs reach into the pad.
 */
static struct table *
table_of_low_keys(void)
{
	struct table *t = table_new(1 << 20);

	for (unsigned i = 0; i < KEYS; i++)
		give_key(t, i, &t->hash.now, 0,
		    i < KEYS * 2 / 3 ? 4 : HASH_MIN);
	return t;
}

static void
table_free(struct table *t)
{
	hash_fini(&t->hash);
	free(t);
}

/* BUCKETS of them, and `keys` anywhere. */
static struct table *
table_of_keys(uint32_t max_keys, unsigned keys)
{
	struct table *t = table_new(max_keys);

	for (unsigned i = 0; i < KEYS; i++)
		give_key(t, i, &t->hash.now, 0, HASH_MIN);
	while (t->hash.now.n < BUCKETS)
		ck_assert_int_eq(hash_resize(&t->hash, true), 0);
	ck_assert_uint_eq(t->hash.now.n, BUCKETS);
	for (unsigned i = 0; i < keys; i++)
		insert(t, i);
	while (t->hash.old.bucket != NULL)
		hash_move(&t->hash);
	return t;
}

/* While a table grows: below `left` is what has not been moved, and no other. */
static void
moved_apart(const struct table *t)
{
	const struct hash *h = &t->hash;
	bool apart = true;

	for (int32_t p = 0; p < (int32_t)h->now.n && h->old.bucket != NULL; p++)
		for (unsigned e = 0; e < HASH_WIDTH; e++) {
			uint32_t tag = h->now.bucket[p].word[e];

			apart &= tag == 0 ||
			    hash_passed(h, tag) == (p >= h->unmoved);
		}
	ck_assert(apart);
}

CASE("core");

LOOP_TEST(runs_close_up_when_a_slot_goes, 0, 8)
{
	struct table *t;

	seed = check_seed(1 + (uint64_t)_i);
	t = table_of_low_keys();
	for (unsigned i = 0; i < 150; i++)
		insert(t, i);
	ck_assert_ptr_null(t->hash.old.bucket);
	ck_assert_uint_eq(hash_match(t->hash.now.bucket - 4, 0), 0);
	for (int round = 0; round < check_rounds(500); round++) {
		unsigned i = below(250);

		if (t->in[i] || t->hash.n < 200)
			toggle(t, i);
		all_found(t);
	}
	table_free(t);
}

/* At every step of the move, with something else done in every step. */
LOOP_TEST(keys_are_found_while_a_table_grows, 0, 4)
{
	struct table *t;
	unsigned moving = 0;

	seed = check_seed(100 + (uint64_t)_i);
	t = table_of_keys(1 << 20, 2500);
	ck_assert_int_eq(hash_resize(&t->hash, true), 0);
	ck_assert(hash_in_place(&t->hash));
	while (t->hash.old.bucket != NULL) {
		all_found(t);
		moving++;
		toggle(t, below(KEYS));
	}
	all_found(t);
	ck_assert_uint_gt(moving, BUCKETS / 4);
	table_free(t);
}

LOOP_TEST(keys_are_found_while_a_table_shrinks, 0, 4)
{
	struct table *t;
	unsigned moving = 0;

	seed = check_seed(150 + (uint64_t)_i);
	t = table_of_keys(1 << 20, 300);
	ck_assert_int_eq(hash_resize(&t->hash, false), 0);
	ck_assert(!hash_in_place(&t->hash));
	while (t->hash.old.bucket != NULL) {
		all_found(t);
		moving++;
		toggle(t, below(400));
	}
	all_found(t);
	ck_assert_uint_eq(t->hash.now.n, HASH_MIN);
	ck_assert_uint_gt(moving, 100);
	table_free(t);
}

LOOP_TEST(keys_of_the_lowest_homes_are_found_whatever_the_size, 0, 4)
{
	struct table *t;

	seed = check_seed(180 + (uint64_t)_i);
	t = table_of_low_keys();
	for (unsigned i = 0; i < KEYS; i++) {
		insert(t, i);
		if (i % 37 == 0)
			all_found(t);
		ck_assert_uint_le(t->hash.n, t->hash.limit);
	}
	for (int round = 0; round < check_rounds(2000); round++)
		toggle(t, below(KEYS));
	all_found(t);
	for (unsigned i = 0; i < KEYS; i++) {
		if (t->in[i])
			erase(t, i);
		if (i % 37 == 0)
			all_found(t);
	}
	table_free(t);
}

/*
 * A table that grows by an eighth has the least room for what is moved, and
 * all keys that come meanwhile have homes at its end.
 */
LOOP_TEST(what_is_moved_never_comes_down_to_what_is_not, 0, 4)
{
	struct table *t;
	unsigned i = 0;

	seed = check_seed(200 + (uint64_t)_i);
	t = table_of_keys(3 * (BUCKETS + BUCKETS / 8 - 1), i);
	/* Seven in each of the highest buckets: almost runs. */
	for (; i < 7 * 200; i++) {
		give_key(t, i, &t->hash.now, BUCKETS - 1 - i / 7, 1);
		insert(t, i);
	}
	ck_assert_int_eq(hash_resize(&t->hash, true), 0);
	ck_assert_uint_eq(t->hash.now.n, BUCKETS + BUCKETS / 8);
	hash_move(&t->hash);
	while (t->hash.old.bucket != NULL) {
		give_key(t, i, &t->hash.old, (uint32_t)t->hash.unmoved, 1);
		insert(t, i++);
		moved_apart(t);
		all_found(t);
	}
	table_free(t);
}

TEST(table_that_can_only_grow_by_less_than_an_eighth_stays)
{
	struct table *t;

	seed = check_seed(240);
	t = table_of_keys(3 * (BUCKETS + BUCKETS / 8 - 2), 0);
	ck_assert_int_eq(hash_resize(&t->hash, true), -ENOMEM);
	ck_assert_uint_eq(t->hash.now.n, BUCKETS);
	ck_assert_ptr_null(t->hash.old.bucket);
	table_free(t);
}

/* Also of a size that a table has only come to by shrinking. */
TEST(long_table_of_any_size_grows_to_whole_huge_pages)
{
	const uint32_t page = LIST_HUGE / sizeof(struct hash_bucket);
	struct hash h;

	ck_assert_int_eq(hash_init(&h, KEYS_LONG, 260), 0);
	for (uint32_t n = 65536; n < h.max / 2; n += 997) {
		h.now.n = n;
		ck_assert_int_eq(hash_resize(&h, true), 0);
		/* Each insertion moves a bucket, or three of four do. */
		ck_assert_uint_ge(UINT64_C(6) * (h.now.n - n),
		    h.lazy ? UINT64_C(4) * n / 3 : n);
		ck_assert_uint_le(h.now.n, n + n / 5 * 3);
		ck_assert_uint_eq(h.now.n % page, 0);
		/* Nothing is in it. */
		h.old = (struct hash_table){ 0 };
	}
	hash_fini(&h);
}

TEST(memory_is_that_of_the_keys)
{
	struct table *t;
	size_t least, most;
	unsigned before;

	seed = check_seed(250);
	t = table_of_low_keys();
	least = hash_memory(&t->hash);
	for (unsigned i = 0; i < KEYS; i++)
		insert(t, i);
	most = hash_memory(&t->hash);
	ck_assert_uint_gt(most, 4 * least);
	for (unsigned i = 0; i < KEYS; i++)
		erase(t, i);
	for (before = 0; before < 2000; before++) {
		insert(t, 5);
		erase(t, 5);
	}
	ck_assert_uint_eq(hash_memory(&t->hash), least);
	table_free(t);
}

/* As a keeper calls it: after each batch.  Which record has a key is no matter. */
TEST(memory_of_the_next_table_is_there_before_the_table)
{
	struct store_node none = { 0 };
	unsigned tables = 0;
	struct hash h;

	ck_assert_int_eq(hash_init(&h, KEYS_AHEAD, 251), 0);
	for (uint32_t i = 0; i < KEYS_AHEAD; i++) {
		uint64_t key = (uint64_t)(i + 1) << 4;
		uint32_t tag = hash_tag(&h, key), was = h.now.n;

		ck_assert(hash_room(&h));
		if (h.now.n != was && was >= BUCKETS_AHEAD) {
			ck_assert_uint_ge(h.present,
			    h.now.n * sizeof(struct hash_bucket));
			tables++;
		}
		hash_insert(&h, hash_find(&h, tag, &none, key, LIST_KEY_MASK),
		    tag, 0);
		if (i % LIST_CHUNK == 0)
			(void)hash_prefault_ahead(&h);
	}
	ck_assert_uint_gt(tables, 3);
	hash_fini(&h);
}

LOOP_TEST(no_bucket_is_moved_from_the_middle_of_a_run, 0, 4)
{
	struct table *t;

	seed = check_seed(300 + (uint64_t)_i);
	t = table_of_keys(1 << 20, 0);
	/* Full enough for runs, most of all where moves are by single ones. */
	for (unsigned i = 0; i < KEYS; i++) {
		give_key(t, i, &t->hash.now, BUCKETS - 400, 400);
		insert(t, i);
	}
	ck_assert_int_eq(hash_resize(&t->hash, true), 0);
	while (t->hash.old.bucket != NULL) {
		moved_apart(t);
		hash_move(&t->hash);
	}
	all_found(t);
	table_free(t);
}

CASE("limited memory", .tags = TAG_KERNEL);

/* No address space for a fresh table: the one there is must become empty. */
#ifndef SANITIZED
TEST(table_is_cleared_below_its_first_bucket_too)
{
	struct table *t = table_new(KEYS);
	struct rlimit unlimited, none;
	struct hash_bucket *b = t->hash.now.bucket;

	for (unsigned i = 0; i < HASH_WIDTH + 2; i++) {
		give_key(t, i, &t->hash.now, 0, 1);
		insert(t, i);
	}
	/* The first of those that found no room in the lowest bucket. */
	ck_assert_uint_eq(b[-1].word[HASH_WIDTH], HASH_WIDTH + 1);
	erase(t, HASH_WIDTH);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &unlimited), 0);
	none = unlimited;
	none.rlim_cur = 1;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &none), 0);
	hash_clear(&t->hash);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &unlimited), 0);
	ck_assert_ptr_eq(t->hash.now.bucket, b);
	ck_assert_uint_eq(hash_match(&b[-1], 0), (1u << HASH_WIDTH) - 1);
	memset(t->in, 0, sizeof(t->in));
	all_found(t);
	table_free(t);
}
#endif

CASE("core");

LOOP_TEST(cleared_table_is_empty_in_the_midst_of_a_move, 0, 2)
{
	struct table *t;

	seed = check_seed(400 + (uint64_t)_i);
	t = table_of_keys(1 << 20, 300);
	ck_assert_int_eq(hash_resize(&t->hash, _i % 2 == 0), 0);
	hash_move(&t->hash);
	ck_assert_ptr_nonnull(t->hash.old.bucket);
	hash_clear(&t->hash);
	memset(t->in, 0, sizeof t->in);
	all_found(t);
	ck_assert_uint_eq(t->hash.n, 0);
	for (unsigned i = 0; i < KEYS; i++)
		insert(t, i);
	all_found(t);
	table_free(t);
}
