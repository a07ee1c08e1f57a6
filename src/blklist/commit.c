/*
 * Lists that outlive their process: new ones, commits, and what is the same
 * for all that is taken up again.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "commit.h"

int
list_kept_take(struct blklist *l)
{
	size_t limbos = LIST_THREADS * sizeof(*l->limbo);

	l->kept = kept_take(l->memory, sizeof(*l->kept));
	l->limbo = kept_take(l->memory, limbos);
	l->limbo_was = kept_take(l->memory, limbos);
	l->infos.entry = kept_take(l->memory, LIST_INFO_MAX *
	    sizeof(*l->infos.entry));
	return l->kept == NULL || l->limbo == NULL || l->limbo_was == NULL ||
	    l->infos.entry == NULL ? -ENOMEM : 0;
}

int
blklist_new_kept(struct blklist **out, uint32_t aRecMax, struct kept *memory)
{
	struct blklist *l;
	int r = list_begin(&l, BLKLIST_INDEXED, aRecMax, memory);

	if (r != 0)
		return r;
	if (l->kept->layout != 0) {
		blklist_free(l);
		return -EINVAL;
	}
	list_in_order();
	l->kept->layout = LIST_LAYOUT;
	*out = l;
	return 0;
}

void
blklist_commit(struct blklist *l, unsigned slot)
{
	struct list_kept *k = l->kept;

	assert(k != NULL && slot < 2);
	k->slot[slot] = (struct list_slot){
		.generation = k->generation + 1,
		.outside = k->outside,
		.removed_n = l->removed_n,
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

/* --- taking a list up again ----------------------------------------------- */

/*
 * Before a commit is known to be good the one before it may be asked for, and
 * limbo knows no more than that.
 */
static bool
slot_serves(const struct blklist *l, const struct list_slot *s,
    uint32_t remember)
{
	const struct list_kept *k = l->kept;

	return k->layout == LIST_LAYOUT && s->generation != 0 &&
	    k->generation - s->generation <= 1 && s->outside == k->outside &&
	    s->counts.aRecMax == l->counts.aRecMax &&
	    k->ready <= l->counts.aRecMax &&
	    k->removed_cap == remember && k->limbo_used <= LIST_THREADS &&
	    s->infos <= LIST_INFO_MAX && s->period <= BLKLIST_SAMPLE_MAX;
}

static void
set_scalars(struct blklist *l, const struct list_slot *s)
{
	l->period = s->period;
	l->aside |= l->period != 0;
	l->since_click = s->since_click != 0;
	l->opaque = s->opaque != 0;
	l->key_mask = s->opaque ? REC_ADDR_MASK : LIST_KEY_MASK;
	memcpy(l->legal, s->legal, sizeof(l->legal));
	list_set_plain(l);
}

/* What changed after the commit becomes what it was before. */
static void
limbo_back(struct blklist *l, const struct list_slot *s)
{
	l->limbo_used = l->kept->limbo_used;
	for (unsigned i = 0; i < l->limbo_used; i++) {
		struct limbo *now = &l->limbo[i];
		const struct limbo *was = &l->limbo_was[i];

		if (now->generation < s->generation)
			continue;
		now->blk = was->blk;
		now->key = was->key;
		now->state = was->state;
		list_in_order();
		now->generation = s->generation - 1;
	}
	list_in_order();
	l->kept->generation = s->generation;
}

/* The ring's entry of removal number n. */
static struct list_removed *
removed_at(const struct blklist *l, uint64_t n)
{
	return &l->removed[n & (l->removed_cap - 1)];
}

uint32_t
list_removed_since(const struct blklist *l, const struct list_slot *s,
    uint64_t next)
{
	uint32_t n = 0;

	for (; n < l->removed_cap; n++) {
		const struct list_removed *r = removed_at(l, s->removed_n + n);

		if (r->w[0] == 0 || (int64_t)r->seq < (int64_t)next)
			break;
	}
	return n;
}

/*
 * The last one first: those that are still there after another kill are put
 * back again, which changes nothing.  One more than are there may have been
 * begun, over another.
 */
static void
removed_forget(struct blklist *l, const struct list_slot *s, uint32_t n)
{
	uint64_t end = s->removed_n + n;
	uint64_t from = end >= l->removed_cap ? end + 1 - l->removed_cap : 0;

	if (l->kept->removed_from < from)
		l->kept->removed_from = from;
	for (uint64_t i = end; i > s->removed_n; i--) {
		list_in_order();
		*removed_at(l, i - 1) = (struct list_removed){ 0 };
	}
	l->removed_n = s->removed_n;
}

static int
resume(struct blklist *l, const struct list_slot *s, uint64_t next)
{
	uint32_t since;
	int r;

	set_scalars(l, s);
	limbo_back(l, s);
	r = list_infos_reopen(l, s->infos);
	if (r != 0)
		return r;
	since = list_removed_since(l, s, next);
	/* Then it may have gone round, over some that would be needed. */
	if (since > 0 && since == l->removed_cap)
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
    struct kept *memory, unsigned slot, uint64_t next)
{
	struct blklist *l;
	int r = list_begin(&l, BLKLIST_INDEXED, aRecMax, memory);

	assert(slot < 2);
	if (r != 0)
		return r;
	if (!slot_serves(l, &l->kept->slot[slot], remember))
		r = -ESTALE;
	if (r == 0 && remember != 0)
		r = list_removed_take(l, remember);
	if (r == 0)
		r = resume(l, &l->kept->slot[slot], next);
	if (r != 0) {
		blklist_free(l);
		return r;
	}
	*out = l;
	return 0;
}
