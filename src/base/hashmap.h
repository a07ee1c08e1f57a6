/*
 * hashmap: hash tables.
 *
 * Vocabulary
 *	hash	32 bits made of a key; equal keys have equal hashes.
 *	index	numbers that are found by hash.  What they number is the
 *		caller's, whose function compares it with the key.
 *	map	an array of items in the order in which they were put, each
 *		beginning with its key, a uint64_t, and an index over the keys.
 *	intern	a table of texts, or bytes of any kind, each stored once and
 *		numbered from 0 in the order in which they were put.
 *
 * Both tables use open addressing and are at most half full.  A slot has the
 * hash beside the number, so that growth and removal read no key, and a search
 * only keys of the same hash.
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
 *	struct intern names = { 0 };
 *
 *	no = intern_put(&names, name, strlen(name));
 *	if (no < 0)
 *		return -ENOMEM;
 *	puts(intern_text(&names, no));
 *	intern_fini(&names);
 *
 * A function that fails for want of memory changes nothing visible.  Mix a
 * secret number into keys or hashes that a stranger can choose: he could make
 * them collide.
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

/* FNV-1a, the same in every run; an index takes hash_of_key() of it. */
uint64_t hash_of_bytes(uint64_t seed, const void *bytes, size_t len);

/* Empty when all zeros. */
struct hashindex {
	struct hashindex_slot {
		uint32_t hash;
		uint32_t number;	/* + 1; 0: free */
	} *slot;
	uint32_t n;
	unsigned bits;			/* of the number of slots; 0: none yet */
};

/* True if the number has that key; `of` as given to hashindex_find(). */
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

/* Adds a number below HASHMAP_MAX that is not in it.  -ENOMEM. */
int hashindex_put(struct hashindex *, uint32_t hash, uint32_t number);
/* Takes memory for n numbers in all.  -ENOMEM. */
int hashindex_reserve(struct hashindex *, size_t n);
/* Removes a number that is in it. */
void hashindex_remove(struct hashindex *, uint32_t hash, uint32_t number);
/* Number n becomes to[n]. */
void hashindex_renumber(struct hashindex *, const uint32_t *to);
void hashindex_clear(struct hashindex *);
/* Frees the memory and leaves it empty. */
void hashindex_fini(struct hashindex *);
size_t hashindex_memory(const struct hashindex *);

/* Empty when all zeros but for the size. */
struct hashmap {
	void *item;
	size_t n, cap;
	size_t size;			/* bytes of an item */
	struct hashindex index;
};

void hashmap_clear(struct hashmap *);
/* Frees the memory and leaves it empty. */
void hashmap_fini(struct hashmap *);

/* Borrowed until the next put or removal. */
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
 * The place of the item with that key, added with zeros behind the key if
 * absent.  `added` may be NULL.  -ENOMEM, also beyond HASHMAP_MAX items.
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

struct intern_chunk;

/* Empty when all zeros. */
struct intern {
	struct intern_text {
		char *bytes;
		size_t len;
	} *text;		/* by number */
	size_t n, cap;
	struct hashindex index;
	struct intern_chunk *chunk;
};

/* The number of that text, added if need be.  -ENOMEM. */
int64_t intern_put(struct intern *, const void *bytes, size_t len);
/* The copy, with a NUL behind it; number < n.  Borrowed until intern_fini(). */
static inline const char *
intern_text(const struct intern *t, size_t number)
{
	return t->text[number].bytes;
}

/* Frees the memory and leaves it empty. */
void intern_fini(struct intern *);

#endif
