/*
 * hashmap: from a key to what is stored under it.
 *
 * Vocabulary
 *	hash	32 bits that are made of a key; equal keys have equal hashes.
 *	map	items in an array, in the order in which they were put, each
 *		beginning with its key, a uint64_t, and an index over the keys.
 *	index	numbers, to be found by hash.  What they number, and where that
 *		is stored, is up to the caller, whose function compares it with
 *		the key.
 *
 * Both use open addressing and are at most half full.  A slot has the hash
 * beside the number, so that growth and removal look at no key, and a search
 * only at keys whose hash is the same.
 *
 * Example
 *	struct thread { uint64_t key; unsigned blocks; };
 *	struct hashmap map = { .size = sizeof(struct thread) };
 *
 *	t = hashmap_add(&map, id);
 *	if (t == NULL)
 *		return -ENOMEM;
 *	t->blocks++;
 *	for (i = 0; i < map.n; i++)
 *		show(hashmap_item(&map, i));
 *	hashmap_fini(&map);
 *
 * Without memory a function changes nothing that can be seen.
 *
 * Whoever chooses the keys can choose such as collide.  Where that is a stranger
 * a number that he does not know goes into the key or the hash.
 */
#ifndef BASE_HASHMAP_H
#define BASE_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HASHMAP_MAX (UINT32_C(1) << 30)	/* items, or numbers of an index */

static inline uint32_t
hash_of_key(uint64_t key)
{
	return (uint32_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
}

/*
 * FNV-1a of 64 bits: a number that is the same from run to run.  An index takes
 * hash_of_key() of it.
 */
uint64_t hash_of_bytes(uint64_t seed, const void *bytes, size_t len);

/* --- index ---------------------------------------------------------------- */

/* All zeros is an empty one. */
struct hashindex {
	struct hashindex_slot {
		uint32_t hash;
		uint32_t number;	/* + 1; 0: free */
	} *slot;
	uint32_t n;
	unsigned bits;			/* of the number of slots; 0: none yet */
};

/* Is the key that of the number?  `of` is what hashindex_find() was given. */
typedef bool hashindex_same(const void *of, uint32_t number, const void *key);

static inline size_t
hashindex_home(const struct hashindex *x, uint32_t hash)
{
	return hash >> (32 - x->bits);
}

/* The number, or -1. */
static inline int64_t
hashindex_find(const struct hashindex *x, uint32_t hash, hashindex_same *same,
    const void *of, const void *key)
{
	size_t i, mask = ((size_t)1 << x->bits) - 1;

	if (x->bits == 0)
		return -1;
	for (i = hashindex_home(x, hash); x->slot[i].number != 0;
	    i = (i + 1) & mask)
		if (x->slot[i].hash == hash &&
		    same(of, x->slot[i].number - 1, key))
			return x->slot[i].number - 1;
	return -1;
}

/* Adds a number, less than HASHMAP_MAX, that is not there.  -ENOMEM. */
int hashindex_put(struct hashindex *, uint32_t hash, uint32_t number);
/* The next numbers, up to n in all, are put without memory.  -ENOMEM. */
int hashindex_reserve(struct hashindex *, size_t n);
/* Removes a number that is there. */
void hashindex_remove(struct hashindex *, uint32_t hash, uint32_t number);
/* Number n becomes to[n]. */
void hashindex_renumber(struct hashindex *, const uint32_t *to);
void hashindex_clear(struct hashindex *);
/* Frees its memory; it is empty then, and may be used again. */
void hashindex_fini(struct hashindex *);
size_t hashindex_memory(const struct hashindex *);

/* --- map ------------------------------------------------------------------ */

/* All zeros but for the size is an empty one. */
struct hashmap {
	void *item;
	size_t n, cap;
	size_t size;			/* bytes of an item */
	struct hashindex index;
};

void hashmap_clear(struct hashmap *);
/* Frees its memory; it is empty then, and may be used again. */
void hashmap_fini(struct hashmap *);

/* Borrowed until the next put or removal, which may move items. */
static inline void *
hashmap_item(const struct hashmap *m, size_t i)
{
	return (char *)m->item + i * m->size;
}

static inline uint64_t
hashmap_key(const struct hashmap *m, size_t i)
{
	return *(const uint64_t *)hashmap_item(m, i);
}

/* The item's place in the array, or -1. */
static inline int64_t
hashmap_find(const struct hashmap *m, uint64_t key)
{
	const struct hashindex *x = &m->index;
	size_t i, mask = ((size_t)1 << x->bits) - 1;
	uint32_t hash = hash_of_key(key);

	if (x->bits == 0)
		return -1;
	for (i = hashindex_home(x, hash); x->slot[i].number != 0;
	    i = (i + 1) & mask)
		if (x->slot[i].hash == hash &&
		    hashmap_key(m, x->slot[i].number - 1) == key)
			return x->slot[i].number - 1;
	return -1;
}

/* The item, borrowed as above, or NULL. */
static inline void *
hashmap_get(const struct hashmap *m, uint64_t key)
{
	int64_t at = hashmap_find(m, key);

	return at < 0 ? NULL : hashmap_item(m, (size_t)at);
}

/*
 * The place of the item with that key; one that is added is zeros behind its
 * key.  `added` may be NULL.  -ENOMEM, also when there are HASHMAP_MAX items.
 */
int64_t hashmap_put(struct hashmap *, uint64_t key, bool *added);
/* The same item itself, borrowed as above, or NULL for want of memory. */
static inline void *
hashmap_add(struct hashmap *m, uint64_t key)
{
	int64_t at = hashmap_put(m, key, NULL);

	return at < 0 ? NULL : hashmap_item(m, (size_t)at);
}

/* Removes the item at that place.  The last item takes the place. */
void hashmap_remove(struct hashmap *, size_t at);

#endif
