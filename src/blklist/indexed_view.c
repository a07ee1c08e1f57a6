/*
 * The indexed list: rows out, and the check of all its invariants.
 */
#include <errno.h>
#include <stdio.h>

#include "indexed.h"

/* What the record says, as a row; it is listed. */
void
indexed_row(const struct indexed *ix, uint32_t i, struct blk *out)
{
	const struct store_node *n = &ix->store.node[i];
	const struct rec r = { { n->w[0], n->w[1], 0, n->w3 } };

	*out = (struct blk){
		.addr = rec_addr(&r),
		.size = rec_size(&r),
		.seq = age_seq(&ix->age, n),
		.ms = age_ms(&ix->age, n),
		.caller = rec_caller(&r),
		.ticket = n->ticket,
		.thread = (uint16_t)rec_thread(&r),
		.overhead = (uint16_t)rec_overhead(&r),
		.info = ix->store.any_info ? ix->store.info[i] : 0,
		.flags = (uint8_t)rec_flags(&r),
		.type = (uint8_t)rec_type(&r),
	};
}

/* Mending the order is put off to the first one who asks for it. */
static struct indexed *
in_order(const struct blklist *l)
{
	struct indexed *ix = l->impl;

	if (age_is_mixed(&ix->age))
		age_mend(&ix->age, ix->store.node, l->key_mask);
	return ix;
}

static uint32_t
index_of(const struct blklist *l, uint64_t key)
{
	const struct indexed *ix = l->impl;
	const uint32_t *slot = hash_find(&ix->hash, hash_tag(&ix->hash, key),
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

/*
 * Rows are made so many at a time: what the first needs from memory is on its
 * way while the others are looked for.
 */
#define AT_A_TIME 16

static void
rows_of(const struct indexed *ix, const uint32_t *index, size_t n,
    struct blk *out)
{
	for (size_t i = 0; i < n; i++)
		indexed_row(ix, index[i], &out[i]);
}

static void
fetch_record(const struct indexed *ix, uint32_t i)
{
	const struct store_node *n = &ix->store.node[i];

	__builtin_prefetch(&n->w[0]);
	__builtin_prefetch(&n->ms);
}

/* Keys from *key on, of n; *key is then where to go on, or UINT64_MAX. */
static size_t
keys_from(const struct indexed *ix, uint64_t *key, uint64_t *out, size_t n)
{
	size_t i = 0;

	while (i < n && *key != UINT64_MAX) {
		uint32_t tag;
		const struct hash_table *t;

		if (!regions_next(&ix->regions, *key, &out[i])) {
			*key = UINT64_MAX;
			break;
		}
		tag = hash_tag(&ix->hash, out[i]);
		t = hash_table(&ix->hash, tag);
		__builtin_prefetch(&t->bucket[hash_home(t, tag)]);
		*key = key_after(out[i++]);
	}
	return i;
}

/* Rows of keys from `key` on, as many as there are of n. */
static size_t
rows_from(const struct blklist *l, uint64_t key, struct blk *out, size_t n)
{
	const struct indexed *ix = l->impl;
	uint64_t keys[AT_A_TIME];
	uint32_t index[AT_A_TIME];
	size_t done = 0, count;

	do {
		count = n - done < AT_A_TIME ? n - done : AT_A_TIME;
		count = keys_from(ix, &key, keys, count);
		for (size_t i = 0; i < count; i++)
			fetch_record(ix, hash_likely(&ix->hash,
			    hash_tag(&ix->hash, keys[i])));
		for (size_t i = 0; i < count; i++)
			index[i] = index_of(l, keys[i]);
		rows_of(ix, index, count, out + done);
		done += count;
	} while (done < n && key != UINT64_MAX);
	return done;
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
	for (size_t done = 0, count; done < n; done += count) {
		uint32_t index[AT_A_TIME];

		count = n - done < AT_A_TIME ? n - done : AT_A_TIME;
		for (size_t i = 0; i < count; i++) {
			pos = age_next(&ix->age, pos);
			index[i] = ix->age.ord[pos++];
			fetch_record(ix, index[i]);
		}
		rows_of(ix, index, count, out + done);
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
	indexed_row(ix, i, out);
	return 0;
}

int64_t
indexed_rank(const struct blklist *l, enum blklist_order order, uint64_t key)
{
	const struct indexed *ix = l->impl;
	uint32_t i = index_of(l, key);

	if (i == STORE_NONE)
		return -ENOENT;
	if (order == BLKLIST_BY_ADDRESS)
		return regions_rank(&ix->regions, key);
	ix = in_order(l);
	return age_rank(&ix->age, ix->store.node[i].pos);
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

	for (uint32_t p = s->free, i; p != STORE_NONE; p = s->node[i].pos) {
		i = p & ~STORE_FREE;
		if (i >= s->fresh || (p & STORE_FREE) == 0)
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
	uint64_t last_seq = 0, last_key = 0;
	uint32_t live = 0, in_chunk = 0;
	uint64_t bytes = 0;

	if (a->next >= a->end)
		return "positions have run out";
	for (uint32_t pos = 0; pos < a->end; pos++) {
		if (a->bits[pos >> 6] == 0 && (pos & 63) == 0)
			pos += 63;
		else if (age_is_live(a, pos)) {
			const struct store_node *n = &ix->store.node[a->ord[pos]];

			if (pos >= a->next)
				return "a position beyond the last is live";
			if (n->pos != pos)
				return "a record does not know its position";
			uint64_t seq = age_seq(a, n), key = n->w[0] & l->key_mask;

			if (!age_is_mixed(a) && live > 0 &&
			    (int64_t)seq <= (int64_t)last_seq &&
			    (seq != last_seq || key <= last_key))
				return "positions are not in the order of age";
			if ((int64_t)seq > a->newest)
				return "a block is newer than the newest";
			last_seq = seq;
			last_key = key;
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

/* Whether the search for this tag comes by bucket p. */
static bool
comes_by(const struct hash_table *t, uint32_t tag, const struct hash_bucket *p)
{
	const struct hash_bucket *b = &t->bucket[hash_home(t, tag)];

	if (b < p)
		return false;
	while (b > p)
		if (hash_match(b--, 0) != 0)
			return false;
	return true;
}

/* Every key of a bucket lies where its search comes by. */
static const char *
check_bucket(const struct hash *h, const struct hash_bucket *p, uint32_t *n)
{
	for (unsigned i = 0; i < HASH_WIDTH; i++) {
		uint32_t tag = p->word[i];

		if ((tag == 0) != (p->word[HASH_WIDTH + i] == 0))
			return "half an entry of the hash is free";
		if (tag == 0)
			continue;
		if (!comes_by(hash_table(h, tag), tag, p))
			return "a search ends before its entry";
		++*n;
	}
	return NULL;
}

/* The table and what of its pad is used. */
static const char *
check_table(const struct hash *h, const struct hash_table *t, uint32_t *n)
{
	const struct hash_bucket *p = t->bucket + t->n;
	const char *bad = NULL;

	do
		bad = check_bucket(h, --p, n);
	while (bad == NULL && (p > t->bucket || hash_match(p, 0) == 0));
	return bad;
}

static const char *
check_hash(const struct indexed *ix)
{
	const struct hash *h = &ix->hash;
	const char *bad = NULL;
	uint32_t n = 0;

	if (h->old.bucket != NULL && !hash_in_place(h))
		bad = check_table(h, &h->old, &n);
	if (bad == NULL)
		bad = check_table(h, &h->now, &n);
	if (bad == NULL && n != h->n)
		bad = "entries of the hash are miscounted";
	return bad;
}

int
indexed_check(const struct blklist *l, char *why, size_t cap)
{
	const struct indexed *ix = l->impl;
	const char *bad = check_store(l, ix);

	if (bad == NULL)
		bad = check_age(l, ix);
	if (bad == NULL)
		bad = check_hash(ix);
	if (bad == NULL)
		bad = check_keys(l, ix);
	if (bad == NULL)
		return 0;
	snprintf(why, cap, "%s", bad);
	return -EFAULT;
}
