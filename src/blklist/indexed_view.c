/*
 * The indexed list: rows out, and the check of all its invariants.
 */
#include <errno.h>
#include <stdio.h>

#include "indexed.h"

/* Mending the order is put off to the first one who asks for it. */
static struct indexed *
in_order(const struct blklist *l)
{
	struct indexed *ix = l->impl;

	if (ix->age.mixed)
		age_mend(&ix->age, ix->store.node, l->key_mask);
	return ix;
}

static uint32_t
index_of(const struct blklist *l, uint64_t key)
{
	const struct indexed *ix = l->impl;
	const uint64_t *slot = hash_find(&ix->hash, hash_tag(&ix->hash, key),
	    ix->store.node, key, l->key_mask);

	return *slot != 0 ? hash_index(slot) : STORE_NONE;
}

/* The key that follows; keys of layer 0 end long before those of layer 1. */
static uint64_t
key_after(uint64_t key)
{
	if ((key & REC_ADDR_MASK) != REC_ADDR_MASK)
		return key + 1;
	return key >> LIST_LAYER_BIT & 1 ? UINT64_MAX :
	    UINT64_C(1) << LIST_LAYER_BIT;
}

/* Rows of keys from `key` on, as many as there are of n. */
static size_t
rows_from(const struct blklist *l, uint64_t key, struct blk *out, size_t n)
{
	const struct indexed *ix = l->impl;
	size_t i;

	for (i = 0; i < n; i++) {
		if (key == UINT64_MAX ||
		    !regions_next(&ix->regions, key, &key))
			break;
		store_row(&ix->store, index_of(l, key), &out[i]);
		key = key_after(key);
	}
	return i;
}

size_t
indexed_window(const struct blklist *l, enum blklist_order order,
    uint32_t first, struct blk *out, size_t n)
{
	const struct indexed *ix;
	uint32_t pos;

	if (order == BLKLIST_BY_ADDRESS) {
		ix = l->impl;
		return rows_from(l, regions_select(&ix->regions, first), out,
		    n);
	}
	ix = in_order(l);
	pos = age_select(&ix->age, first);
	for (size_t i = 0; i < n; i++) {
		pos = age_next(&ix->age, pos);
		store_row(&ix->store, ix->age.ord[pos++], &out[i]);
	}
	return n;
}

size_t
indexed_after(const struct blklist *l, bool from_start, uint64_t key,
    struct blk *out, size_t n)
{
	return rows_from(l, from_start ? 0 : key_after(key), out, n);
}

int
indexed_get(const struct blklist *l, uint64_t key, struct blk *out)
{
	const struct indexed *ix = l->impl;
	uint32_t i = index_of(l, key);

	if (i == STORE_NONE)
		return -ENOENT;
	store_row(&ix->store, i, out);
	return 0;
}

int64_t
indexed_rank(const struct blklist *l, enum blklist_order order, uint64_t key)
{
	const struct indexed *ix = in_order(l);
	uint32_t i = index_of(l, key);

	if (i == STORE_NONE)
		return -ENOENT;
	return order == BLKLIST_BY_ADDRESS ? regions_rank(&ix->regions, key) :
	    age_rank(&ix->age, ix->store.node[i].pos);
}

size_t
indexed_memory(const struct blklist *l)
{
	const struct indexed *ix = l->impl;

	return sizeof(*ix) + store_memory(&ix->store) +
	    hash_memory(&ix->hash) + age_memory(&ix->age) +
	    regions_memory(&ix->regions);
}

/* --- the check ----------------------------------------------------------- */

static const char *
check_store(const struct blklist *l, const struct indexed *ix)
{
	const struct store *s = &ix->store;
	uint64_t nfree = s->max - s->fresh;

	for (uint32_t i = s->free; i != STORE_NONE; i = s->node[i].pos) {
		if (i >= s->fresh)
			return "the free list leaves what has been used";
		if (++nfree > s->max)
			return "the free list has no end";
	}
	return nfree + l->counts.aRecActive == s->max ? NULL :
	    "aRecActive and free are not aRecMax";
}

/* Bits, counts, ord and records agree; in order unless it says otherwise. */
static const char *
check_age(const struct blklist *l, const struct indexed *ix)
{
	const struct age *a = &ix->age;
	const struct store_node *last = NULL;
	uint32_t live = 0, in_chunk = 0;
	uint64_t bytes = 0;

	if (a->next >= a->cap)
		return "positions have run out";
	for (uint32_t pos = 0; pos < a->cap; pos++) {
		if (a->bits[pos >> 6] == 0 && (pos & 63) == 0)
			pos += 63;
		else if (age_is_live(a, pos)) {
			const struct store_node *n = &ix->store.node[a->ord[pos]];

			if (pos >= a->next)
				return "a position beyond the last is live";
			if (n->pos != pos)
				return "a record does not know its position";
			if (!a->mixed && last != NULL &&
			    (int64_t)n->seq <= (int64_t)last->seq &&
			    (n->seq != last->seq || (n->w[0] & l->key_mask) <=
			    (last->w[0] & l->key_mask)))
				return "positions are not in the order of age";
			if ((int64_t)n->seq > a->newest)
				return "a block is newer than the newest";
			last = n;
			bytes += n->w[1] & REC_ADDR_MASK;
			live++;
			in_chunk++;
		}
		if ((pos & (AGE_CHUNK - 1)) == AGE_CHUNK - 1) {
			if (in_chunk != a->chunk[pos >> AGE_CHUNK_SHIFT])
				return "a chunk of ages is miscounted";
			in_chunk = 0;
		}
	}
	if (live != l->counts.aRecActive || live != a->live)
		return "not all blocks have an age, or some have two";
	return bytes == l->counts.live_bytes ? NULL :
	    "live bytes are not those of the blocks";
}

/* Every key in address order is in the hash, and as many as are active. */
static const char *
check_keys(const struct blklist *l, const struct indexed *ix)
{
	const char *bad = regions_check(&ix->regions);
	uint64_t key = 0;
	uint32_t n = 0, i;

	if (bad != NULL)
		return bad;
	while (key != UINT64_MAX && regions_next(&ix->regions, key, &key)) {
		i = index_of(l, key);
		if (i == STORE_NONE)
			return "a block in address order is not in the hash";
		if (!age_is_live(&ix->age, ix->store.node[i].pos))
			return "a block in address order has no age";
		n++;
		key = key_after(key);
	}
	if (n != l->counts.aRecActive)
		return "not all blocks are in address order";
	return ix->hash.n == n ? NULL : "the hash is miscounted";
}

/* Occupied slots are as many as are counted: nothing is in it twice. */
static const char *
check_slots(const struct indexed *ix)
{
	const struct hash *h = &ix->hash;
	uint32_t n = 0;

	for (uint32_t p = 0; p <= h->mask; p++)
		n += h->slot[p] != 0;
	for (uint32_t p = 0; h->old != NULL && p <= h->old_mask; p++) {
		uint64_t s = h->old[p];

		if (s != 0 && hash_passed(h, (uint32_t)(s >> 32)))
			return "a slot of the old table should have been moved";
		n += s != 0;
	}
	return n == h->n ? NULL : "slots of the hash are miscounted";
}

int
indexed_check(const struct blklist *l, char *why, size_t cap)
{
	const struct indexed *ix = l->impl;
	const char *bad = check_store(l, ix);

	if (bad == NULL)
		bad = check_age(l, ix);
	if (bad == NULL)
		bad = check_slots(ix);
	if (bad == NULL)
		bad = check_keys(l, ix);
	if (bad == NULL)
		return 0;
	snprintf(why, cap, "%s", bad);
	return -EFAULT;
}
