/*
 * Holes: when the merge has come to a stop, what is in hand is counted and the
 * shards in which an old record is kept waiting by a missing ticket, or by one
 * that is owed, get a script for the rest of the round.
 *
 * What has not been taken is peeked at for this.  A peek decides nothing but
 * an order: the records themselves are copied and checked when their turn has
 * come, and a target that changes them in between gains a standstill of its
 * own stream until the next round.
 */
#include <errno.h>

#include "../base/base.h"
#include "order.h"

/* What is done with each ticket in hand. */
typedef int ticket_fn(struct order *, unsigned s, uint32_t ticket, bool old);

/* --- walking over what is in hand ---------------------------------------- */

static int
each_of_range(struct order *o, const struct order_range *range, bool old,
    ticket_fn *fn)
{
	int err = 0;

	for (unsigned k = 0; k < o->range_n && err == 0; k++) {
		unsigned s = o->range_shard[k];

		if (range == NULL || !(range->noted[s / 64] >> s % 64 & 1))
			err = fn(o, s, o->range_ticket[k], old);
	}
	return err;
}

static int
each_of_pair(struct order *o, const struct rec *rec, bool old, ticket_fn *fn)
{
	unsigned s = rec_shard(rec_addr(rec));
	int err = fn(o, s, rec_ticket(rec), old);

	return err != 0 ? err : fn(o, s, rec_ticket(rec) + 1, old);
}

static int
each_of_front(struct order *o, unsigned id, const struct rec *rec, bool old,
    ticket_fn *fn)
{
	int err;

	switch (reader_class(o->reader, rec)) {
	case CLASS_TICKET:
	case CLASS_VOID_TICKET:
		return fn(o, rec_shard(rec_addr(rec)), rec_ticket(rec), old);
	case CLASS_PAIR:
	case CLASS_VOID_PAIR:
		return each_of_pair(o, rec, old, fn);
	case CLASS_RANGE:
	case CLASS_VOID_RANGE:
		if ((err = range_open_front(o, id)) != 0)
			return err;
		return each_of_range(o, range_of(o, id), old, fn);
	default:
		return 0;
	}
}

/* The range at `at` of ring i, which has not been taken: slots to step over. */
static int
each_of_peeked_range(struct order *o, unsigned i, uint64_t at,
    const struct rec *rec, bool old, ticket_fn *fn)
{
	struct rec *payload = o->payload[RING_COUNT];
	uint64_t set[RING_RANGE_WORDS];
	unsigned n = reader_range_slots(rec, set);
	int err;

	if (n == 0 || o->reader->rings[i].seen - at < n + 1)
		return -EPROTO;
	reader_peek(o->reader, i, at + 1, (int)n, payload);
	if ((err = range_open(o, rec, payload)) != 0 ||
	    (err = each_of_range(o, NULL, old, fn)) != 0)
		return err;
	return (int)n;
}

/* What has been taken from ring i and not been delivered. */
static int
each_of_chunk(struct order *o, unsigned i, uint64_t old_end, ticket_fn *fn)
{
	const struct source *src = &o->source[i];
	uint64_t first = o->reader->rings[i].pos - src->n;
	int err = 0;

	for (unsigned k = src->at; k < src->n && err == 0; k++)
		err = each_of_front(o, i, &src->chunk[k], first + k < old_end,
		    fn);
	return err;
}

static int
each_of_ring(struct order *o, unsigned i, ticket_fn *fn)
{
	const struct reader_ring *ring = &o->reader->rings[i];
	uint64_t old_end = o->dead ? ring->seen : ring->before;
	uint64_t at = ring->pos, base = at, end = at;
	struct rec recs[READER_CHUNK];
	int err = each_of_chunk(o, i, old_end, fn);

	for (; at < ring->seen && err >= 0; at += (unsigned)err + 1) {
		const struct rec *rec;

		if (at >= end) {
			base = at;
			end = ring->seen - at < READER_CHUNK ?
			    ring->seen : at + READER_CHUNK;
			reader_peek(o->reader, i, base, (int)(end - base), recs);
		}
		rec = &recs[at - base];
		err = 0;
		switch (reader_class(o->reader, rec)) {
		case CLASS_TICKET:
			err = fn(o, rec_shard(rec_addr(rec)), rec_ticket(rec),
			    at < old_end);
			break;
		case CLASS_PAIR:
			err = each_of_pair(o, rec, at < old_end, fn);
			break;
		case CLASS_RANGE:
			err = each_of_peeked_range(o, i, at, rec, at < old_end,
			    fn);
			break;
		default:
			if (!reader_class_raw(reader_class(o->reader, rec)))
				return -EPROTO;
			break;
		}
	}
	return err < 0 ? err : 0;
}

static int
each_of_common(struct order *o, ticket_fn *fn)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];
	int err;

	for (uint64_t n = ring->pos; n < ring->seen; n++) {
		unsigned at = (unsigned)(n % RING_COMMON_SLOTS);
		const struct common_slot *slot = &o->common[at];

		if (slot->state != SLOT_READ && slot->state != SLOT_WAITS)
			continue;
		err = each_of_front(o, ORDER_COMMON + at, &slot->rec,
		    o->dead || slot->round != o->round, fn);
		if (err != 0)
			return err;
	}
	return 0;
}

static int
each_in_hand(struct order *o, ticket_fn *fn)
{
	int err = 0;

	for (unsigned i = 0; i < o->reader->nrings && err == 0; i++)
		err = each_of_ring(o, i, fn);
	if (err == 0 && o->common_undelivered > 0)
		err = each_of_common(o, fn);
	return err;
}

/* --- scripts ------------------------------------------------------------- */

/* Whether anything that has been seen before this round is still here. */
static bool
old_waits(const struct order *o)
{
	const struct reader *r = o->reader;
	const struct reader_ring *common = &r->rings[RING_COMMON];

	if (o->dead)
		return true;
	for (unsigned i = 0; i < r->nrings; i++) {
		const struct source *src = &o->source[i];
		uint64_t front = r->rings[i].pos - src->n + src->at;

		if (front < r->rings[i].before && front < r->rings[i].seen)
			return true;
	}
	if (o->common_undelivered == 0)
		return false;
	for (uint64_t n = common->pos; n < common->seen; n++) {
		const struct common_slot *slot =
		    &o->common[n % RING_COMMON_SLOTS];

		if ((slot->state == SLOT_READ || slot->state == SLOT_WAITS) &&
		    slot->round != o->round)
			return true;
	}
	return false;
}

static int
tally(struct order *o, unsigned s, uint32_t ticket, bool old)
{
	struct shard_tally *t = &o->tally[s];
	int32_t distance = (int32_t)(ticket - order_due(o, s));
	struct ticketmap_entry *owed;

	if (distance < 0) {
		owed = ticketmap_get(&o->owed, ticketmap_key(s, ticket));
		if (owed == NULL)
			return -EPROTO;
		owed->value = (owed->value & ~(uint64_t)UINT32_MAX) | o->round;
	} else {
		t->count++;
		if (distance > t->max)
			t->max = distance;
	}
	if (old && distance > t->old_max)
		t->old_max = distance;
	return 0;
}

static int
collect(struct order *o, unsigned s, uint32_t ticket, bool old)
{
	const struct shard_tally *t = &o->tally[s];
	int32_t distance = (int32_t)(ticket - order_due(o, s));
	void *array = o->in_hand;
	int err;

	(void)old;	/* what is new and lower goes before what is old */
	if (!t->scripted || distance > t->old_max)
		return 0;
	if (o->nin_hand == o->in_hand_cap) {
		err = base_grow(&array, &o->in_hand_cap, o->nin_hand + 1,
		    sizeof(*o->in_hand));
		if (err != 0)
			return err;
		o->in_hand = array;
	}
	o->in_hand[o->nin_hand++] = (uint64_t)s << 32 |
	    ((uint32_t)distance ^ UINT32_C(0x80000000));
	return 0;
}

static int
compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Shards that need a script: something old is in hand, and a ticket below it is
 * missing or was passed over before.  The others come to their end by the
 * merge alone.
 */
static bool
choose(struct order *o)
{
	bool any = false;

	for (unsigned s = 0; s < REC_SHARDS; s++) {
		struct shard_tally *t = &o->tally[s];

		t->scripted = t->old_max != INT32_MIN &&
		    (o->wait[s].owed != 0 || t->count != (uint32_t)t->max + 1);
		any |= t->scripted;
	}
	return any;
}

/* From sorted distances to each shard's run of tickets. */
static int
write_scripts(struct order *o)
{
	void *array = o->script;
	int err;

	err = o->nin_hand <= o->script_cap ? 0 :
					     base_grow(&array, &o->script_cap,
						 o->nin_hand,
						 sizeof(*o->script));
	if (err != 0)
		return err;
	o->script = array;
	for (size_t k = 0; k < o->nin_hand; k++) {
		unsigned s = (unsigned)(o->in_hand[k] >> 32);
		struct shard_wait *w = &o->wait[s];

		if (k == 0 || o->in_hand[k - 1] >> 32 != s)
			w->script = (uint32_t)k;
		else if (o->in_hand[k - 1] == o->in_hand[k])
			return -EPROTO;
		w->script_end = (uint32_t)k + 1;
		o->script[k] = order_due(o, s) +
		    ((uint32_t)o->in_hand[k] ^ UINT32_C(0x80000000));
	}
	return 0;
}

int
holes_script(struct order *o)
{
	int err;

	o->nin_hand = 0;
	if (!old_waits(o))
		return 0;
	for (unsigned s = 0; s < REC_SHARDS; s++)
		o->tally[s] = (struct shard_tally) {
			.max = -1,
			.old_max = INT32_MIN,
		};
	if ((err = each_in_hand(o, tally)) != 0)
		return err;
	o->tallied = o->round;
	if (!choose(o))
		return 0;
	if ((err = each_in_hand(o, collect)) == 0) {
		qsort(o->in_hand, o->nin_hand, sizeof(*o->in_hand), compare);
		err = write_scripts(o);
	}
	if (err == -ENOMEM)	/* nothing is lost: the next round tries again */
		o->nin_hand = 0;
	if (err != 0)
		return err == -ENOMEM ? 0 : err;
	for (unsigned s = 0; s < REC_SHARDS && err == 0; s++)
		if (o->tally[s].scripted)
			err = order_wake(o, s);
	return err;
}

/* A script holds for one round: then all is in hand anew. */
void
holes_end_scripts(struct order *o)
{
	for (size_t k = 0; k < o->nin_hand; k++) {
		unsigned s = (unsigned)(o->in_hand[k] >> 32);

		o->wait[s].script = o->wait[s].script_end = 0;
		order_touch(o, s);
	}
	o->nin_hand = 0;
}

/* --- owed tickets -------------------------------------------------------- */

/*
 * A ticket that was passed over in an earlier round, whose shard had no thread
 * in flight when this one began, and that is not in hand: its thread is past
 * publishing and has not published.
 */
static bool
is_lost(const struct order *o, const struct ticketmap_entry *e)
{
	return e->value != 0 && (uint32_t)(e->value >> 32) != o->round &&
	    (uint32_t)e->value != o->round &&
	    !reader_inflight(o->reader, (unsigned)(e->key >> 32));
}

/* Only where all that was seen has been delivered, or has been counted. */
int
holes_settle(struct order *o)
{
	uint64_t lost[ORDER_OWED_MAX];
	unsigned n = 0;
	int err = 0;

	if (order_held(o) > 0 && o->tallied != o->round)
		return 0;
	for (uint32_t i = 0; i <= o->owed.mask && n < ORDER_OWED_MAX; i++)
		if (is_lost(o, &o->owed.entries[i]))
			lost[n++] = o->owed.entries[i].key;
	for (unsigned k = 0; k < n && err == 0; k++) {
		unsigned s = (unsigned)(lost[k] >> 32);

		ticketmap_remove(&o->owed, ticketmap_get(&o->owed, lost[k]));
		o->wait[s].owed--;
		err = order_wake(o, s);
	}
	order_lose(o, STREAM_WRITER_DIED, n);
	return err;
}
