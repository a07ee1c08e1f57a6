/*
 * Giving memory back when a long list has become short: the records in use
 * move to the front of the store and close up in the order of age, and the
 * pages behind them go.
 *
 * It is paid for by the frees that made the list short: at most one move for
 * 31 of them.
 */
#include <assert.h>

#include "indexed.h"

static bool
in_use(const struct indexed *ix, uint32_t i)
{
	uint32_t pos = ix->store.node[i].pos;

	return pos < ix->age.next && age_is_live(&ix->age, pos) &&
	    ix->age.ord[pos] == i;
}

static void
move(const struct blklist *l, struct indexed *ix, uint32_t from, uint32_t to)
{
	struct store_node *node = ix->store.node, moved = node[from];
	uint64_t key = node[from].w[0] & l->key_mask;
	uint32_t *slot;

	slot = hash_find(&ix->hash, hash_tag(&ix->hash, key), node, key,
	    l->key_mask);
	assert(*slot != 0 && hash_index(slot) == from);
	moved.pos = node[to].pos;
	node[to] = moved;
	if (ix->store.any_info)
		ix->store.info[to] = ix->store.info[from];
	/* From here on until the cut it is there twice. */
	store_set_pos(&node[to], node[from].pos);
	*slot = to + 1;
	ix->age.ord[node[to].pos] = to;
}

void
indexed_trim(struct blklist *l, struct indexed *ix)
{
	struct age *a = &ix->age;
	uint32_t active = l->counts.aRecActive, to = 0, pos = 0;

	for (uint32_t n = 0; n < active; n++) {
		pos = age_next(a, pos);
		if (a->ord[pos] >= active) {
			while (in_use(ix, to))
				to++;
			move(l, ix, a->ord[pos], to++);
		}
		pos++;
	}
	store_cut(&ix->store, active);
	age_mend(a, ix->store.node, l->key_mask);
}
