/*
 * What of the order outlives its keeper.
 *
 * Between two rounds the order is: what is due and what is owed, which ranges
 * are noted where, and for each source how far it has been delivered.  Records
 * in hand are not saved but read again, for their room has not been given back;
 * who waits for what is found out again by running them.
 *
 * In the middle of a merge it is that too, but for turns that have come and
 * were not taken yet.  They are not saved: a source without a range is ready
 * after a resumption whether it was or not.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "order.h"

void
order_save(const struct order *o, struct order_state *s,
    struct reader_state *rings)
{
	assert(order_can_save(o) && o->nbatch == 0);
	assert(o->nready == 0 || o->step == ORDER_MERGE);
	s->round = o->round;
	s->dead = o->dead;
	s->finished = o->finished;
	for (unsigned k = 0; k < REC_SHARDS; k++)
		s->due[k] = order_due(o, k);
	for (unsigned i = 0; i < o->reader->nrings; i++)
		rings->rings[i].in_hand = (uint8_t)(o->source[i].n -
		    o->source[i].at);
	s->nranges = o->nranges;
	for (unsigned k = 0; k < o->nranges; k++) {
		s->ranges[k].source = o->ranges[k].source;
		memcpy(s->ranges[k].noted, o->ranges[k].noted,
		    sizeof(s->ranges[k].noted));
	}
	common_save(o, s);
	s->nowed = 0;
	for (uint32_t i = 0; o->owed.used != 0 && i <= o->owed.mask; i++)
		if (o->owed.entries[i].value != 0)
			s->owed[s->nowed++] = o->owed.entries[i];
}

static int
resume_owed(struct order *o, const struct order_state *s)
{
	int err;

	if (s->nowed > REC_SHARDS * ORDER_OWED_MAX)
		return -EINVAL;
	for (uint32_t k = 0; k < s->nowed; k++) {
		const struct ticketmap_entry *e = &s->owed[k];
		uint32_t shard = (uint32_t)(e->key >> 32);

		if (shard >= REC_SHARDS || e->value == 0 ||
		    (int32_t)((uint32_t)e->key - order_due(o, shard)) >= 0 ||
		    o->wait[shard].owed++ == ORDER_OWED_MAX)
			return -EINVAL;
		err = ticketmap_put(&o->owed, e->key, e->value);
		if (err != 0)
			return err == -EEXIST ? -EINVAL : err;
		order_touch(o, shard);
	}
	return 0;
}

/*
 * Takes once more what had been taken and not delivered.  It had first been
 * seen by the last look, so the times that bound it are those of then.
 */
static int
resume_ring(struct order *o, unsigned i, const struct ring_state *s)
{
	const struct reader_ring *ring = &o->reader->rings[i];
	struct source *src = &o->source[i];
	int n;

	if (s->in_hand > READER_CHUNK)
		return -EINVAL;
	if (s->in_hand != 0) {
		n = reader_take(o->reader, i, src->chunk, s->in_hand,
		    o->payload[i]);
		if (n < 0)
			return n;
		src->n = (uint16_t)n;
	}
	return src->n == s->in_hand && ring->pos == s->pos ? 0 : -EINVAL;
}

static bool
in_hand(const struct order *o, uint32_t id)
{
	if (id < o->reader->nrings)
		return o->source[id].n != 0;
	return id >= ORDER_COMMON && id < ORDER_SOURCES &&
	    o->common[id - ORDER_COMMON].state == SLOT_READ;
}

/* A source with a range under way waits; one without is run by the next round. */
static int
resume_ranges(struct order *o, const struct order_state *s)
{
	int err;

	if (s->nranges > ORDER_RANGES_MAX)
		return -EINVAL;
	for (uint32_t k = 0; k < s->nranges; k++) {
		uint32_t id = s->ranges[k].source;

		if (!in_hand(o, id))
			return -EINVAL;
		err = range_resume(o, id, s->ranges[k].noted);
		if (err != 0)
			return err;
		if (id < ORDER_COMMON)
			o->source[id].waits = true;
	}
	/*
	 * In a state of ours no turn has come; in another one it would be
	 * missed.
	 */
	for (unsigned k = 0; k < REC_SHARDS; k++)
		if ((err = order_wake(o, k)) != 0)
			return err;
	while (o->nready > 0) {
		unsigned id = o->ready[--o->nready];

		if (id < ORDER_COMMON)
			o->source[id].waits = false;
	}
	return 0;
}

int
order_resume(struct order *o, const struct order_state *s,
    const struct reader_state *rings)
{
	int err;

	o->round = s->round;
	o->dead = s->dead != 0;
	o->finished = s->finished != 0;
	o->dropped = o->reader->dropped;
	o->sample_full = o->reader->sample_full;
	order_start_at(o, s->due);
	if ((err = resume_owed(o, s)) != 0)
		return err;
	for (unsigned i = 0; i < o->reader->nrings; i++)
		if ((err = resume_ring(o, i, &rings->rings[i])) != 0)
			return err;
	if ((err = common_resume(o, s)) != 0)
		return err;
	return resume_ranges(o, s);
}
