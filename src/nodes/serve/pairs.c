#include "pairs.h"

static uint64_t
key_of(const struct rec *rec)
{
	return rec_addr(rec) | (uint64_t)rec_layer(rec) << 63;
}

static bool
has_key(const void *of, uint32_t number, const void *key)
{
	const struct pairs_entry *entry = of;

	return key_of(&entry[number].rec) == *(const uint64_t *)key;
}

/* The pending allocation of that block, or -1; it is pending no more. */
static int64_t
take_pending(struct pairs *p, const struct rec *rec)
{
	uint64_t key = key_of(rec);
	uint32_t hash = hash_of_key(key);
	int64_t at = hashindex_find(&p->pending, hash, has_key, p->entry,
	    &key);

	if (at >= 0)
		hashindex_remove(&p->pending, hash, (uint32_t)at);
	return at;
}

void
pairs_begin(struct pairs *p, size_t max, size_t max_infos, bool whole)
{
	p->n = p->live = p->infos = 0;
	p->max = max;
	p->max_infos = max_infos;
	p->cancelled = 0;
	p->whole = whole;
	hashindex_clear(&p->pending);
}

/* Leaves out what is cancelled. */
static void
sweep(struct pairs *p)
{
	uint32_t place[PAIRS_ROOM] = { 0 };
	size_t to = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->entry[i].gone)
			continue;
		place[i] = (uint32_t)to;
		if (to != i)
			p->entry[to] = p->entry[i];
		to++;
	}
	/* Cancelled allocations are not in the index. */
	hashindex_renumber(&p->pending, place);
	p->n = to;
}

/* True when the record freed a pending allocation: both are out. */
static bool
cancels(struct pairs *p, const struct rec *rec)
{
	int64_t at = take_pending(p, rec);
	struct pairs_entry *e;

	if (at < 0)
		return false;
	e = &p->entry[at];
	if (rec_type(rec) == TYPE_BY_REALLOC ||
	    (int32_t)(rec_ticket(rec) - rec_ticket(&e->rec)) < 0)
		return false;
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
	unsigned op = rec_op(rec);

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
		take_pending(p, rec);
		(void)hashindex_put(&p->pending, hash_of_key(key_of(rec)),
		    (uint32_t)p->n - 1);
	} else if (op == REC_UNDO) {
		take_pending(p, rec);
	} else if (op == REC_RANGE) {
		/* A free of a range cancels nothing before it: they are rare. */
		hashindex_clear(&p->pending);
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

void
pairs_fini(struct pairs *p)
{
	hashindex_fini(&p->pending);
}
