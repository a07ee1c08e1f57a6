/*
 * Hash and intern tables against plain models: arrays that are searched from one
 * end to the other.
 */
#include "../src/base/base.h"
#include "../src/base/hashmap.h"
#include "chance.h"
#include "harness.h"

#include <errno.h>
#include <string.h>

#define RUNS 20
#define KEYS 700		/* different ones in a run */
#define STEPS 4000

/* --- map ------------------------------------------------------------------ */

struct item {
	uint64_t key;
	unsigned value;
};

static struct item model[KEYS];
static size_t nmodel;
static struct hashmap map;

/* Runs differ in how keys lie: in a row, on pages, or anywhere. */
static uint64_t
key_no(unsigned no, int run)
{
	static const uint64_t factor[] = { 1, 4096, UINT64_C(1) << 40,
		UINT64_C(0xd6e8feb86659fd93) };

	return no * factor[run % 4];
}

static struct item *
in_model(uint64_t key)
{
	for (size_t i = 0; i < nmodel; i++)
		if (model[i].key == key)
			return &model[i];
	return NULL;
}

static void
put_both(uint64_t key, unsigned value)
{
	struct item *known = in_model(key), *item;
	bool added;
	int64_t at = hashmap_put(&map, key, &added);

	ck_assert_int_ge(at, 0);
	ck_assert_int_eq(added, known == NULL);
	item = hashmap_item(&map, (size_t)at);
	ck_assert(item->key == key);
	ck_assert_uint_eq(item->value, known != NULL ? known->value : 0);
	if (known == NULL)
		known = &model[nmodel++];
	*known = (struct item){ key, value };
	item->value = value;
}

static void
remove_both(uint64_t key)
{
	struct item *known = in_model(key);
	int64_t at = hashmap_find(&map, key);

	ck_assert_int_eq(at >= 0, known != NULL);
	if (known == NULL)
		return;
	hashmap_remove(&map, (size_t)at);
	*known = model[--nmodel];
}

static void
compare(int run)
{
	ck_assert_uint_eq(map.n, nmodel);
	ck_assert_uint_eq(map.index.n, nmodel);
	for (unsigned no = 0; no < KEYS; no++) {
		const struct item *known = in_model(key_no(no, run));
		const struct item *item = hashmap_get(&map, key_no(no, run));

		ck_assert_int_eq(item != NULL, known != NULL);
		ck_assert(item == NULL || item->value == known->value);
	}
}

CASE("Hash");

LOOP_TEST(map_has_what_was_put_and_not_removed, 0, RUNS)
{
	unsigned keys = _i % 2 == 0 ? KEYS : KEYS / 16;

	chance_begin(_i);
	map = (struct hashmap){ .size = sizeof(struct item) };
	nmodel = 0;
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t key = key_no(any(keys), _i);

		if (any(1000) == 0) {
			hashmap_clear(&map);
			nmodel = 0;
		} else if (any(5) < (i / 1000 % 2 == 0 ? 1u : 3u)) {
			remove_both(key);
		} else {
			put_both(key, i);
		}
		if (i % 500 == 0)
			compare(_i);
	}
	compare(_i);
	hashmap_fini(&map);
}

LOOP_TEST(map_without_removals_keeps_the_order, 0, 4)
{
	bool added;

	map = (struct hashmap){ .size = sizeof(struct item) };
	for (unsigned i = 0; i < KEYS; i++)
		ck_assert_int_eq(hashmap_put(&map, key_no(KEYS - i, _i),
		    &added), i);
	for (unsigned i = 0; i < KEYS; i++)
		ck_assert(hashmap_key(&map, i) == key_no(KEYS - i, _i));
	hashmap_fini(&map);
	ck_assert_int_eq(hashmap_find(&map, key_no(1, _i)), -1);
	ck_assert_int_eq(hashmap_put(&map, 1, &added), 0);
	hashmap_fini(&map);
}

TEST(map_without_memory_is_as_it_was)
{
	struct item *item;
	bool added = true;

	map = (struct hashmap){ .size = sizeof(struct item) };
	ck_assert_int_eq(hashmap_put(&map, 7, &added), 0);
	item = hashmap_item(&map, 0);
	item->value = 1;
	/* Two items of that size have no room anywhere. */
	map.cap = 1;
	map.size = SIZE_MAX / 2 + 1;
	for (unsigned i = 1; i < 100; i++) {
		ck_assert_int_eq(hashmap_put(&map, 7 + i, &added), -ENOMEM);
		ck_assert(!added);
	}
	map.size = sizeof(struct item);
	ck_assert_uint_eq(map.n, 1);
	ck_assert_int_eq(hashmap_find(&map, 8), -1);
	item = hashmap_get(&map, 7);
	ck_assert_ptr_nonnull(item);
	ck_assert_uint_eq(item->value, 1);
	hashmap_fini(&map);
}

/* --- index ---------------------------------------------------------------- */

static bool
is_number(const void *of, uint32_t number, const void *key)
{
	return ((const uint64_t *)of)[number] == *(const uint64_t *)key;
}

/* All have one of a few hashes, so that searches and gaps are long. */
LOOP_TEST(index_tells_keys_of_one_hash_apart, 0, 4)
{
	struct hashindex index = { 0 };
	uint64_t of[KEYS];
	bool in[KEYS] = { false };
	size_t n = 0;

	chance_begin(_i);
	for (unsigned i = 0; i < KEYS; i++)
		of[i] = i * 3;
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned no = any(KEYS);
		uint32_t hash = (no % 7) * UINT32_C(0x12345678);

		ck_assert_int_eq(hashindex_find(&index, hash, is_number, of,
		    &of[no]), in[no] ? (int)no : -1);
		if (in[no])
			hashindex_remove(&index, hash, no);
		else
			ck_assert_int_eq(hashindex_put(&index, hash, no), 0);
		in[no] = !in[no];
		n += in[no] ? 1 : (size_t)-1;
		ck_assert_uint_eq(index.n, n);
		ck_assert_uint_le(2 * n, (size_t)1 << index.bits);
	}
	hashindex_fini(&index);
}

TEST(renumbered_index_finds_the_new_numbers)
{
	struct hashindex index = { 0 };
	uint64_t of[KEYS];
	uint32_t to[KEYS];

	for (uint32_t i = 0; i < KEYS; i++) {
		to[i] = KEYS - 1 - i;
		of[to[i]] = i * 3;
		ck_assert_int_eq(hashindex_put(&index, hash_of_key(i * 3), i),
		    0);
	}
	hashindex_renumber(&index, to);
	for (uint32_t i = 0; i < KEYS; i++)
		ck_assert_int_eq(hashindex_find(&index, hash_of_key(of[i]),
		    is_number, of, &of[i]), i);
	hashindex_fini(&index);
	hashindex_renumber(&index, to);
}

TEST(index_with_room_reserved_takes_no_memory)
{
	struct hashindex index = { 0 };
	struct hashindex_slot *slot;

	ck_assert_int_eq(hashindex_reserve(&index, KEYS), 0);
	slot = index.slot;
	for (uint32_t i = 0; i < KEYS; i++)
		ck_assert_int_eq(hashindex_put(&index, hash_of_key(i), i), 0);
	ck_assert_ptr_eq(index.slot, slot);
	ck_assert_int_eq(hashindex_reserve(&index, HASHMAP_MAX + 1), -ENOMEM);
	ck_assert_ptr_eq(index.slot, slot);
	ck_assert_uint_eq(index.n, KEYS);
	hashindex_fini(&index);
	ck_assert_uint_eq(hashindex_memory(&index), 0);
}

TEST(hash_of_bytes_is_fnv)
{
	ck_assert(hash_of_bytes(0, "", 0) == UINT64_C(0xcbf29ce484222325));
	ck_assert(hash_of_bytes(0, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
	ck_assert(hash_of_bytes(0, "foobar", 6) ==
	    UINT64_C(0x85944171f73967e8));
	ck_assert(hash_of_bytes(1, "a", 1) != hash_of_bytes(0, "a", 1));
}

/* --- intern table --------------------------------------------------------- */

#define TEXTS 500
#define TEXT_MAX 40

static char text[TEXTS][TEXT_MAX];
static size_t text_len[TEXTS];

/* Short ones of few characters, so that many are equal, or begin alike. */
static void
make_texts(void)
{
	for (unsigned i = 0; i < TEXTS; i++) {
		text_len[i] = any(10) == 0 ? any(TEXT_MAX) : any(5);
		for (size_t k = 0; k < text_len[i]; k++)
			text[i][k] = "ab\0\xff"[any(4)];
	}
}

static bool
is_equal(unsigned i, unsigned k)
{
	return text_len[i] == text_len[k] &&
	    memcmp(text[i], text[k], text_len[i]) == 0;
}

CASE("Intern");

LOOP_TEST(equal_texts_have_one_number_and_one_copy, 0, RUNS)
{
	struct intern t = { 0 };
	int64_t number[TEXTS], next = 0;
	const char *copy[TEXTS];

	chance_begin(_i);
	make_texts();
	for (unsigned i = 0; i < TEXTS; i++) {
		unsigned first = 0;

		while (first < i && !is_equal(first, i))
			first++;
		number[i] = intern_put(&t, text[i], text_len[i]);
		ck_assert_int_eq(number[i], first < i ? number[first] : next);
		next += first == i;
		copy[i] = intern_text(&t, (size_t)number[i]);
	}
	ck_assert_uint_eq(t.n, (size_t)next);
	for (unsigned i = 0; i < TEXTS; i++) {
		ck_assert_ptr_eq(intern_text(&t, (size_t)number[i]), copy[i]);
		ck_assert_mem_eq(copy[i], text[i], text_len[i]);
		ck_assert_int_eq(copy[i][text_len[i]], '\0');
	}
	intern_fini(&t);
	ck_assert_int_eq(intern_put(&t, text[1], text_len[1]), 0);
	intern_fini(&t);
}

TEST(long_texts_have_copies_too)
{
	static char big[200000];
	struct intern t = { 0 };
	size_t len;

	memset(big, 'x', sizeof big);
	for (len = 65530; len < 65545; len++)
		ck_assert_int_eq(intern_put(&t, big, len), len - 65530);
	ck_assert_int_eq(intern_put(&t, big, sizeof big), 15);
	ck_assert_int_eq(intern_put(&t, "y", 1), 16);
	for (len = 65530; len < 65545; len++) {
		ck_assert_uint_eq(strlen(intern_text(&t, len - 65530)), len);
		ck_assert_int_eq(intern_put(&t, big, len), len - 65530);
	}
	ck_assert_str_eq(intern_text(&t, 16), "y");
	intern_fini(&t);
	/* What just fills the rest of a piece of memory has no room for its NUL. */
	for (len = 65525; len < 65540; len++) {
		ck_assert_int_eq(intern_put(&t, "xyz", 3), 0);
		ck_assert_int_eq(intern_put(&t, big, len), 1);
		ck_assert_int_eq(intern_put(&t, "y", 1), 2);
		ck_assert_uint_eq(strlen(intern_text(&t, 1)), len);
		intern_fini(&t);
	}
}
