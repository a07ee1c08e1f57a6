/*
 * Cancelling within one reply.  The hash holds allocations of the reply that
 * a free may still cancel: linear probing, deletion by shifting back.
 */
#include <string.h>

#include "serve_pairs.h"

static uint64_t
key_of(const struct rec *rec)
{
	return rec_addr(rec) | (uint64_t)rec_layer(rec) << 63;
}

static unsigned
home(uint64_t key)
{
	return (unsigned)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 51) %
	    PAIRS_SLOTS;
}

/* The slot of the key, or the free one where it would go. */
static unsigned
find(const struct pairs *p, uint64_t key)
{
	unsigned i = home(key);

	while (p->slot[i] != 0 &&
	    key_of(&p->entry[p->slot[i] - 1].rec) != key)
		i = (i + 1) % PAIRS_SLOTS;
	return i;
}

static void
delete_slot(struct pairs *p, unsigned i)
{
	unsigned j = i;

	for (;;) {
		unsigned h;

		j = (j + 1) % PAIRS_SLOTS;
		if (p->slot[j] == 0)
			break;
		h = home(key_of(&p->entry[p->slot[j] - 1].rec));
		/* Whoever has its home after the hole stays where it is. */
		if ((j - h) % PAIRS_SLOTS < (j - i) % PAIRS_SLOTS)
			continue;
		p->slot[i] = p->slot[j];
		i = j;
	}
	p->slot[i] = 0;
}

void
pairs_begin(struct pairs *p, size_t max, size_t max_infos, bool whole)
{
	p->n = p->live = p->infos = 0;
	p->max = max;
	p->max_infos = max_infos;
	p->cancelled = 0;
	p->whole = whole;
	memset(p->slot, 0, sizeof p->slot);
}

/* Leaves out what is cancelled and learns the new places of the others. */
static void
sweep(struct pairs *p)
{
	static const uint16_t cancelled = UINT16_MAX;
	uint16_t place[PAIRS_ROOM];
	size_t to = 0;

	for (size_t i = 0; i < p->n; i++) {
		place[i] = cancelled;
		if (p->entry[i].gone)
			continue;
		place[i] = (uint16_t)to;
		if (to != i)
			p->entry[to] = p->entry[i];
		to++;
	}
	/* Cancelled allocations are no longer in the hash. */
	for (size_t i = 0; i < PAIRS_SLOTS; i++)
		if (p->slot[i] != 0)
			p->slot[i] = (uint16_t)(place[p->slot[i] - 1] + 1);
	p->n = to;
}

/* True when the record freed a pending allocation: both are out. */
static bool
cancels(struct pairs *p, const struct rec *rec)
{
	struct pairs_entry *e;
	unsigned i = find(p, key_of(rec));

	if (p->slot[i] == 0)
		return false;
	e = &p->entry[p->slot[i] - 1];
	if (rec_type(rec) == TYPE_BY_REALLOC ||
	    (int32_t)(rec_ticket(rec) - rec_ticket(&e->rec)) < 0) {
		delete_slot(p, i);
		return false;
	}
	delete_slot(p, i);
	e->gone = true;
	p->live--;
	if (e->info != 0)
		p->infos--;
	p->cancelled += 2;
	return true;
}

bool
pairs_add(struct pairs *p, const struct rec *rec, uint64_t seq, uint16_t info)
{
	unsigned op = rec_op(rec), i;

	if (!p->whole && op == REC_FREE && cancels(p, rec))
		return true;
	if (p->live == p->max || (info != 0 && p->infos == p->max_infos))
		return false;
	if (p->n == PAIRS_ROOM)
		sweep(p);
	p->entry[p->n] =
	    (struct pairs_entry){ .rec = *rec, .seq = seq, .info = info };
	p->n++;
	p->live++;
	p->infos += info != 0;
	if (p->whole)
		return true;
	if (op == REC_ALLOC && rec_addr(rec) != 0) {
		p->slot[find(p, key_of(rec))] = (uint16_t)p->n;
	} else if (op == REC_UNDO) {
		i = find(p, key_of(rec));
		if (p->slot[i] != 0)
			delete_slot(p, i);
	} else if (op == REC_RANGE) {
		/* Rare: forget what might have been cancelled later. */
		memset(p->slot, 0, sizeof p->slot);
	}
	return true;
}

bool
pairs_fit(const struct pairs *p, size_t n, size_t infos)
{
	return n <= p->max - p->live && infos <= p->max_infos - p->infos;
}

void
pairs_finish(struct pairs *p)
{
	sweep(p);
}
