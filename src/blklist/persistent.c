#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"

int
list_persistent_take(struct blklist *l)
{
	size_t bytes = LIST_THREADS * sizeof(*l->undo.of);

	l->persistent = pmem_take(l->memory, sizeof(*l->persistent));
	l->undo.of = pmem_take(l->memory, bytes);
	l->undo.committed = pmem_take(l->memory, bytes);
	l->infos.entry = pmem_take(l->memory, LIST_INFO_MAX *
	    sizeof(*l->infos.entry));
	return l->persistent == NULL || l->undo.of == NULL ||
	    l->undo.committed == NULL || l->infos.entry == NULL ? -ENOMEM : 0;
}

int
blklist_new_persistent(struct blklist **out, uint32_t aRecMax,
    struct pmem *memory)
{
	struct blklist *l;
	int r = list_begin(&l, BLKLIST_INDEXED, aRecMax, memory);

	if (r != 0)
		return r;
	if (l->persistent->layout != 0) {
		blklist_free(l);
		return -EINVAL;
	}
	list_in_order();
	l->persistent->layout = LIST_LAYOUT;
	*out = l;
	return 0;
}

void
blklist_commit(struct blklist *l, unsigned slot)
{
	struct list_persistent *k = l->persistent;

	assert(k != NULL && slot < 2);
	k->slot[slot] = (struct list_slot){
		.generation = k->generation + 1,
		.unrecorded = k->unrecorded,
		.removed_n = l->removed.n,
		.period = l->period,
		.counts = l->counts,
		.est = l->est,
		.adapt = l->adapt,
		.infos = l->infos.n,
		.since_click = l->since_click,
		.opaque = l->opaque,
	};
	memcpy(k->slot[slot].legal, l->legal, sizeof(l->legal));
	list_in_order();
	k->generation++;
}

/* True for the latest commit and the one before, which undos can go back to. */
static bool
slot_is_usable(const struct blklist *l, const struct list_slot *s,
    uint32_t remember)
{
	const struct list_persistent *k = l->persistent;

	return k->layout == LIST_LAYOUT && s->generation != 0 &&
	    k->generation - s->generation <= 1 &&
	    s->unrecorded == k->unrecorded &&
	    s->counts.aRecMax == l->counts.aRecMax &&
	    k->present <= l->counts.aRecMax &&
	    k->removed_cap == remember && k->undo_used <= LIST_THREADS &&
	    s->infos <= LIST_INFO_MAX && s->period <= BLKLIST_SAMPLE_MAX;
}

static void
restore_settings(struct blklist *l, const struct list_slot *s)
{
	l->period = s->period;
	l->extra |= l->period != 0;
	l->since_click = s->since_click != 0;
	l->opaque = s->opaque != 0;
	l->key_mask = s->opaque ? REC_ADDR_MASK : LIST_KEY_MASK;
	memcpy(l->legal, s->legal, sizeof(l->legal));
	list_set_plain(l);
}

static void
revert_undo(struct blklist *l, const struct list_slot *s)
{
	l->undo.used = l->persistent->undo_used;
	for (unsigned i = 0; i < l->undo.used; i++) {
		struct list_undo *now = &l->undo.of[i];
		const struct list_undo *was = &l->undo.committed[i];

		if (now->generation < s->generation)
			continue;
		now->blk = was->blk;
		now->key = was->key;
		now->state = was->state;
		list_in_order();
		now->generation = s->generation - 1;
	}
	list_in_order();
	l->persistent->generation = s->generation;
}

static struct list_removed *
removed_at(const struct blklist *l, uint64_t n)
{
	return &l->removed.ring[n & (l->removed.cap - 1)];
}

uint32_t
list_removed_since(const struct blklist *l, const struct list_slot *s,
    uint64_t next)
{
	uint32_t n = 0;

	for (; n < l->removed.cap; n++) {
		const struct list_removed *r = removed_at(l, s->removed_n + n);

		if (r->w[0] == 0 || (int64_t)r->seq < (int64_t)next)
			break;
	}
	return n;
}

/*
 * Forgets removals after the commit, the last one first: after another kill
 * those left are restored again, which changes nothing.  One more entry may
 * have been begun, over an older one.
 */
static void
removed_forget(struct blklist *l, const struct list_slot *s, uint32_t n)
{
	uint64_t end = s->removed_n + n;
	uint64_t from = end >= l->removed.cap ? end + 1 - l->removed.cap : 0;

	if (l->persistent->removed_from < from)
		l->persistent->removed_from = from;
	for (uint64_t i = end; i > s->removed_n; i--) {
		list_in_order();
		*removed_at(l, i - 1) = (struct list_removed){ 0 };
	}
	l->removed.n = s->removed_n;
}

static int
resume(struct blklist *l, const struct list_slot *s, uint64_t next)
{
	uint32_t since;
	int r;

	restore_settings(l, s);
	revert_undo(l, s);
	r = list_infos_reopen(l, s->infos);
	if (r != 0)
		return r;
	since = list_removed_since(l, s, next);
	/* A full ring may have overwritten blocks that are needed. */
	if (since > 0 && since == l->removed.cap)
		return -ESTALE;
	r = l->ops->reopen(l, s, since, next);
	if (r != 0)
		return r;
	if (l->counts.aRecActive != s->counts.aRecActive ||
	    l->counts.live_bytes != s->counts.live_bytes)
		return -ESTALE;
	l->counts = s->counts;
	l->est = s->est;
	l->adapt = s->adapt;
	removed_forget(l, s, since);
	return 0;
}

int
blklist_resume(struct blklist **out, uint32_t aRecMax, uint32_t remember,
    struct pmem *memory, unsigned slot, uint64_t next)
{
	struct blklist *l;
	int r = list_begin(&l, BLKLIST_INDEXED, aRecMax, memory);

	assert(slot < 2);
	if (r != 0)
		return r;
	if (!slot_is_usable(l, &l->persistent->slot[slot], remember))
		r = -ESTALE;
	if (r == 0 && remember != 0)
		r = list_removed_take(l, remember);
	if (r == 0)
		r = resume(l, &l->persistent->slot[slot], next);
	if (r != 0) {
		blklist_free(l);
		return r;
	}
	*out = l;
	return 0;
}
