/*
 * The indexed list of a process that was killed: back to its commit.
 *
 * The records say which of them are listed, at whatever instruction it was:
 * one that is being filled is not yet, one that is being replaced or given back
 * has been written down among the removed before.  From there on all is done as
 * it is done to any list, so a kill in the midst of it leaves one that can be
 * taken up like the first: but for those that have been dropped or put back
 * already, there is no difference.
 */
#include <errno.h>
#include <stdlib.h>

#include "commit.h"
#include "indexed.h"

#define AHEAD 16		/* records looked at ahead */

/* A block that was in limbo, so not in the list. */
struct away {
	uint64_t key, seq;
};

struct aways {
	struct away *of;
	size_t n;
};

static int
compare_away(const void *va, const void *vb)
{
	const struct away *a = va, *b = vb;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static int
aways_init(struct aways *a, const struct blklist *l)
{
	*a = (struct aways){ 0 };
	a->of = calloc(l->limbo_used + 1, sizeof(*a->of));
	if (a->of == NULL)
		return -ENOMEM;
	for (unsigned i = 0; i < l->limbo_used; i++)
		if (l->limbo[i].state == LIMBO_BLOCK)
			a->of[a->n++] = (struct away){ l->limbo[i].key,
				l->limbo[i].blk.seq };
	qsort(a->of, a->n, sizeof(*a->of), compare_away);
	return 0;
}

static bool
is_away(const struct aways *a, uint64_t key, uint64_t seq)
{
	struct away one = { key, seq };

	return bsearch(&one, a->of, a->n, sizeof(one), compare_away) != NULL;
}

/* --- the records ---------------------------------------------------------- */

static void
drop(struct indexed *ix, uint32_t i)
{
	store_set_pos(&ix->store.node[i], STORE_NONE);
}

static void
fetch(const struct blklist *l, struct indexed *ix, uint32_t i)
{
	const struct store_node *n = &ix->store.node[i];
	uint64_t key = n->w[0] & l->key_mask;
	uint32_t tag = hash_tag(&ix->hash, key);
	const struct hash_table *t = hash_table(&ix->hash, tag);

	__builtin_prefetch(&t->bucket[hash_home(t, tag)], 1);
	regions_prefetch(&ix->regions, key);
	__builtin_prefetch(&ix->age.ord[n->pos & (STORE_FREE - 1)], 1);
}

/* The record is listed and older than the commit. */
static int
adopt(struct blklist *l, struct indexed *ix, uint32_t i, uint64_t seq)
{
	const struct store_node *n = &ix->store.node[i];
	uint64_t key = n->w[0] & l->key_mask;
	uint32_t tag = hash_tag(&ix->hash, key), *slot;

	if (!hash_room(&ix->hash))
		return -ENOMEM;
	slot = hash_find(&ix->hash, tag, ix->store.node, key, l->key_mask);
	if (*slot != 0) {
		/* It was being moved and is there twice. */
		if (age_seq(&ix->age, &ix->store.node[hash_index(slot)]) != seq)
			return -ESTALE;
		drop(ix, i);
		return 0;
	}
	if (!age_adopt(&ix->age, n, i))
		return -ESTALE;
	if (regions_add(&ix->regions, key) != 0)
		return -ENOMEM;
	hash_insert(&ix->hash, slot, tag, i);
	ix->store.fresh = i + 1;
	l->counts.aRecActive++;
	l->counts.live_bytes += store_size(&ix->store, i);
	return 0;
}

static int
adopt_all(struct blklist *l, struct indexed *ix, uint64_t next)
{
	uint32_t end = ix->store.ready;

	for (uint32_t i = 0; i < end; i++) {
		const struct store_node *n = &ix->store.node[i];
		uint64_t seq;
		int r;

		if (i + AHEAD < end)
			fetch(l, ix, i + AHEAD);
		if (!store_is_listed(n))
			continue;
		if (n->pos >= ix->age.cap)
			return -ESTALE;
		seq = age_seq(&ix->age, n);
		if ((int64_t)seq >= (int64_t)next) {
			drop(ix, i);
			continue;
		}
		r = adopt(l, ix, i, seq);
		if (r != 0)
			return r;
	}
	return 0;
}

/* All others before the last one that is listed, the first one first. */
static void
chain_free(struct indexed *ix)
{
	struct store *s = &ix->store;

	for (uint32_t i = s->fresh; i-- > 0;)
		if (!store_is_listed(&s->node[i]))
			store_give(s, i);
}

/* --- what was done after the commit --------------------------------------- */

static int
take_away(struct blklist *l, const struct aways *a)
{
	for (size_t i = 0; i < a->n; i++) {
		const struct away *one = &a->of[i];
		uint64_t size;
		struct blk b;

		if (l->ops->get(l, one->key, &b) != 0 || b.seq != one->seq)
			continue;
		if (l->ops->take(l, one->key, &size) != 0)
			return -ESTALE;
		l->counts.live_bytes -= size;
	}
	return 0;
}

static int
put_back(struct blklist *l, const struct aways *a, const struct list_removed *r,
    uint64_t next)
{
	uint64_t key = r->w[0] & l->key_mask;
	struct blk b, there;
	int e;

	list_removed_blk(r, &b);
	if ((int64_t)b.seq >= (int64_t)next || is_away(a, key, b.seq))
		return 0;
	if (l->ops->get(l, key, &there) == 0)
		return there.seq == b.seq ? 0 : -ESTALE;
	e = l->ops->put(l, key, &b);
	if (e != 0)
		return e == -ENOMEM ? e : -ESTALE;
	l->counts.live_bytes += list_blk_size(&b);
	return 0;
}

static int
take_back(struct blklist *l, const struct list_slot *s, uint32_t since,
    uint64_t next)
{
	struct aways a;
	int r = aways_init(&a, l);

	if (r == 0)
		r = take_away(l, &a);
	for (uint32_t i = 0; r == 0 && i < since; i++)
		r = put_back(l, &a, &l->removed[(s->removed_n + i) &
		    (l->removed_cap - 1)], next);
	free(a.of);
	return r;
}

int
indexed_reopen(struct blklist *l, const struct list_slot *s, uint32_t since,
    uint64_t next)
{
	struct indexed *ix = l->impl;
	int r;

	store_reopen(&ix->store);
	r = age_reopen(&ix->age, ix->store.node, ix->store.ready, l->key_mask);
	if (r == 0)
		r = adopt_all(l, ix, next);
	if (r != 0)
		return r;
	chain_free(ix);
	age_close(&ix->age, ix->store.node, l->key_mask);
	r = take_back(l, s, since, next);
	if (r == 0 && ix->age.mixed)
		age_mend(&ix->age, ix->store.node, l->key_mask);
	return r;
}
