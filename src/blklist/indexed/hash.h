/*
 * hash: from a key to its record, by open addressing in buckets.
 *
 * Vocabulary
 *	bucket	one line of the cache with eight entries, each a tag and the
 *		index of a record + 1; 0 and 0 are a free entry.
 *	tag	32 bits of the key's hash, never 0; its top bits give the home,
 *		so that an entry can be moved without reading its record.
 *	home	the bucket where the search for a key begins.  It goes down as
 *		long as a bucket has no free entry, so a key is below its home
 *		only if all buckets from there down are full.
 *	pad	buckets below the first one, for keys that find no room above:
 *		address space for every key that there can be, so that no search
 *		comes to its end.
 *	old	the table while its buckets are being moved to the new one: one
 *		with each insertion or with three of four, and with each removal
 *		when there are no more keys than it had.
 *	unmoved	the number of buckets of the old table still to be moved.  A key
 *		whose old home is among them is in the old table, any other in
 *		the new one.
 *
 * All eight tags are compared at once, so a search is one cache line without an
 * unpredictable branch, however full the table is.
 *
 * A table grows in place, in reserved address space, and takes memory only for
 * what it grows by.  The higher the tag the higher the home in both tables, and
 * the new home is never below the old one: so buckets are moved from the
 * highest down, into room that is empty by then; the last of them, for which
 * that room is too small, all at once.  A table that shrinks moves to other
 * memory, in the same order.
 *
 * A step ends only behind a bucket with a free entry, so no run of full
 * buckets is ever cut in two.
 */
#ifndef BLKLIST_HASH_H
#define BLKLIST_HASH_H

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "store.h"

#define HASH_WIDTH 8
#define HASH_MIN 128		/* buckets */

struct hash_bucket {
	uint32_t word[2 * HASH_WIDTH];	/* tags, then indexes + 1 */
};

_Static_assert(sizeof(struct hash_bucket) == 64, "a bucket is a line");

struct hash_table {
	struct hash_bucket *bucket;
	uint32_t n;
};

struct hash {
	struct hash_table now;
	uint32_t n;		/* keys, in both tables */
	uint32_t limit;		/* grow when n reaches it */
	uint32_t low;		/* shrink when n falls below it */
	uint32_t resized_at;	/* n when the table got its size */
	uint64_t seed;		/* a target cannot know which keys collide */
	struct hash_table old;	/* bucket is NULL unless it is being moved */
	int32_t unmoved;	/* below 0: in the pad */
	uint32_t max_keys;
	uint32_t max;		/* buckets that a table may have */
	uint32_t pad;		/* below them, whole huge pages */
	size_t present;		/* prefaulted bytes of now */
	bool lazy;		/* three of four insertions move a bucket */
	uint8_t turn;		/* which of the four this is */
};

/* For so many keys at most.  -ENOMEM. */
int hash_init(struct hash *, uint32_t max_keys, uint64_t seed);
void hash_fini(struct hash *);
void hash_clear(struct hash *);
/* Makes the next larger or smaller table the one in use.  -ENOMEM. */
int hash_resize(struct hash *, bool larger);
/* Moves a bucket of the old table, and on to the end of a run. */
void hash_move(struct hash *);
/* Closes the gap that the removal of an entry leaves in a full bucket. */
void hash_close(struct hash_table *, struct hash_bucket *, unsigned entry);
/* Prefaults what it will grow by, in pieces; false if nothing is to do. */
bool hash_prefault_ahead(struct hash *);
size_t hash_memory(const struct hash *);

static inline uint32_t
hash_tag(const struct hash *h, uint64_t key)
{
	uint64_t x = (key ^ h->seed) * UINT64_C(0x9e3779b97f4a7c15);
	uint32_t tag;

	x ^= x >> 32;
	tag = (uint32_t)((x * UINT64_C(0xd6e8feb86659fd93)) >> 32);
	return tag | (tag == 0);
}

static inline uint32_t
hash_home(const struct hash_table *t, uint32_t tag)
{
	return (uint32_t)((uint64_t)tag * t->n >> 32);
}

/* A bit for each entry with this tag; 0 asks for the free ones. */
static inline unsigned
hash_match(const struct hash_bucket *b, uint32_t tag)
{
#ifdef __SSE2__
	const __m128i *w = (const __m128i *)(const void *)b->word;
	__m128i t = _mm_set1_epi32((int)tag);
	__m128i m = _mm_packs_epi32(_mm_cmpeq_epi32(_mm_load_si128(w), t),
	    _mm_cmpeq_epi32(_mm_load_si128(w + 1), t));

	return (unsigned)_mm_movemask_epi8(_mm_packs_epi16(m, m)) & 0xff;
#else
	unsigned m = 0;

	for (unsigned i = 0; i < HASH_WIDTH; i++)
		m |= (unsigned)(b->word[i] == tag) << i;
	return m;
#endif
}

/* The key's entry, or the free one (0) where its search ends. */
static inline uint32_t *
hash_search(const struct hash_table *t, uint32_t tag,
    const struct store_node *node, uint64_t key, uint64_t key_mask)
{
	for (struct hash_bucket *b = &t->bucket[hash_home(t, tag)];; b--) {
		unsigned m = hash_match(b, tag);

		for (; m != 0; m &= m - 1) {
			uint32_t *e = &b->word[HASH_WIDTH + __builtin_ctz(m)];

			if (__builtin_expect((node[*e - 1].w[0] & key_mask) ==
			    key, 1))
				return e;
		}
		m = hash_match(b, 0);
		if (__builtin_expect(m != 0, 1))
			return &b->word[HASH_WIDTH + __builtin_ctz(m)];
	}
}

static inline bool
hash_in_place(const struct hash *h)
{
	return h->old.bucket == h->now.bucket;
}

static inline bool
hash_passed(const struct hash *h, uint32_t tag)
{
	return (int32_t)hash_home(&h->old, tag) >= h->unmoved;
}

/* The table that a key of this tag is in, if it is in any. */
static inline const struct hash_table *
hash_table(const struct hash *h, uint32_t tag)
{
	if (__builtin_expect(h->old.bucket != NULL, 0) && !hash_passed(h, tag))
		return &h->old;
	return &h->now;
}

/* The key's entry, or a free one for hash_insert() if nothing changes. */
static inline uint32_t *
hash_find(const struct hash *h, uint32_t tag, const struct store_node *node,
    uint64_t key, uint64_t key_mask)
{
	return hash_search(hash_table(h, tag), tag, node, key, key_mask);
}

/* The record of the tag in the home bucket, or any other: to be prefetched. */
static inline uint32_t
hash_likely(const struct hash *h, uint32_t tag)
{
	const struct hash_table *t = hash_table(h, tag);
	const struct hash_bucket *b = &t->bucket[hash_home(t, tag)];
	unsigned m = hash_match(b, tag) | 1u << (HASH_WIDTH - 1);
	uint32_t index = b->word[HASH_WIDTH + __builtin_ctz(m)];

	return index - (index != 0);
}

/*
 * The bucket where a search usually ends: the home, which has been fetched, or
 * the one below if that is full.  By arithmetic: the branch would be
 * unpredictable.
 */
static inline const struct hash_bucket *
hash_ends_in(const struct hash *h, uint32_t tag)
{
	const struct hash_table *t = hash_table(h, tag);
	const struct hash_bucket *b = &t->bucket[hash_home(t, tag)];

	return b - (hash_match(b, 0) == 0);
}

/* The index of the record of an entry. */
static inline uint32_t
hash_index(const uint32_t *e)
{
	return *e - 1;
}

/* Room for one more key?  A table that cannot grow fills beyond its limit. */
static inline bool
hash_room(struct hash *h)
{
	if (__builtin_expect(h->n < h->limit, 1))
		return true;
	return hash_resize(h, true) == 0 ||
	    h->n < (uint64_t)h->now.n * HASH_WIDTH / 16 * 15;
}

/* `e`: the free entry that hash_find() returned. */
static inline void
hash_insert(struct hash *h, uint32_t *e, uint32_t tag, uint32_t index)
{
	e[-HASH_WIDTH] = tag;
	*e = index + 1;
	h->n++;
	if (__builtin_expect(h->old.bucket != NULL, 0) &&
	    (!h->lazy || (++h->turn & 3) != 0))
		hash_move(h);
}

static inline struct hash_bucket *
hash_bucket_of(const uint32_t *e)
{
	return (struct hash_bucket *)((uintptr_t)e &
	    ~(uintptr_t)(sizeof(struct hash_bucket) - 1));
}

static inline void
hash_erase_in(struct hash_table *t, uint32_t *e)
{
	struct hash_bucket *b = hash_bucket_of(e);

	if (__builtin_expect(hash_match(b, 0) == 0, 0))
		hash_close(t, b, (unsigned)(e - b->word) - HASH_WIDTH);
	else
		e[-HASH_WIDTH] = *e = 0;
}

static inline void
hash_erase(struct hash *h, uint32_t *e)
{
	h->n--;
	if (__builtin_expect(h->old.bucket == NULL, 1)) {
		hash_erase_in(&h->now, e);
		if (__builtin_expect(h->n < h->low, 0))
			hash_resize(h, false);
		return;
	}
	hash_erase_in(hash_passed(h, e[-HASH_WIDTH]) ? &h->now : &h->old, e);
	/* In one that grows, insertions move all in time. */
	if (h->n <= h->resized_at)
		hash_move(h);
}

#endif
