/*
 * Ranges: one record with a ticket in each shard that it can touch.
 *
 * A range at the front of its source waits for all of its tickets at once.  In
 * each shard it is noted when its ticket comes up, and the shard goes on; only
 * the API's records of addresses in the range wait then, until it has been
 * noted everywhere and delivered.  So ranges of different arenas may have drawn
 * their tickets in any order and cannot lock each other out: a record that
 * waits for a range was made after the range had drawn all its tickets.
 */
#include <errno.h>
#include <string.h>

#include "order.h"

int
range_open(struct order *o, const struct rec *rec, const struct rec *payload)
{
	uint64_t set[RING_RANGE_WORDS];
	unsigned n = 0;

	if (reader_range_slots(rec, set) == 0)
		return -EPROTO;
	for (unsigned s = 0; s < REC_SHARDS; s++) {
		uint64_t w;

		if (!(set[s / 64] >> s % 64 & 1))
			continue;
		w = payload[n / RING_RANGE_TICKETS].w[n / 2 % 4];
		o->range_shard[n] = (uint16_t)s;
		o->range_ticket[n] = (uint32_t)(n % 2 ? w >> 32 : w);
		n++;
	}
	o->range_n = n;
	return 0;
}

int
range_open_front(struct order *o, unsigned id)
{
	const struct rec *rec = order_front(o, id);
	struct rec *payload = o->payload[RING_COUNT];
	uint64_t set[RING_RANGE_WORDS];
	unsigned first = id - ORDER_COMMON + 1, n;

	if (id < ORDER_COMMON)
		return range_open(o, rec, o->payload[id]);
	n = reader_range_slots(rec, set);
	for (unsigned k = 0; k < n; k++)
		payload[k] = o->common[(first + k) % RING_COMMON_SLOTS].rec;
	return range_open(o, rec, payload);
}

struct order_range *
range_of(struct order *o, unsigned id)
{
	for (unsigned k = 0; k < o->nranges; k++)
		if (o->ranges[k].source == id)
			return &o->ranges[k];
	return NULL;
}

bool
range_note(struct order *o, struct order_range *range, unsigned s)
{
	range->noted[s / 64] |= UINT64_C(1) << s % 64;
	o->wait[s].ranges++;
	return --range->left == 0;
}

bool
range_covers(const struct order *o, unsigned s, uint64_t addr)
{
	for (unsigned k = 0; k < o->nranges; k++) {
		const struct order_range *range = &o->ranges[k];

		if (addr - range->addr < range->len &&
		    range->noted[s / 64] >> s % 64 & 1)
			return true;
	}
	return false;
}

/* The range at a source's front, which is noted nowhere yet. */
static int
add(struct order *o, unsigned id, struct order_range **out)
{
	const struct rec *rec = order_front(o, id);
	struct order_range *range = &o->ranges[o->nranges];
	int err;

	if ((err = range_open_front(o, id)) != 0)
		return err;
	memset(range, 0, sizeof(*range));
	range->source = (uint16_t)id;
	range->addr = rec_addr(rec);
	range->len = rec_size(rec);
	range->left = o->range_n;
	o->nranges++;
	*out = range;
	return 0;
}

/* Asks for a turn in each of its shards. */
static int
begin(struct order *o, unsigned id)
{
	struct order_range *range;
	int err;

	if (o->nranges == ORDER_RANGES_MAX)
		return -EPROTO;
	if ((err = add(o, id, &range)) != 0)
		return err;
	/* One more than its shards, so that it cannot end while it begins. */
	range->left++;
	for (unsigned k = 0; k < o->range_n; k++) {
		unsigned s = o->range_shard[k];
		uint32_t ticket = o->range_ticket[k];

		if (!order_turn(o, s, ticket)) {
			err = order_wait_turn(o, id, s, ticket);
		} else if ((err = order_take_turn(o, s, ticket)) == 0) {
			range_note(o, range, s);
			err = order_wake(o, s);
		}
		if (err != 0)
			return err;
	}
	range->left--;
	return 0;
}

int
range_resume(struct order *o, unsigned id,
    const uint64_t noted[REC_SHARDS / 64])
{
	const struct rec *rec = order_front(o, id);
	enum rec_class class = reader_class(o->reader, rec);
	struct order_range *range;
	int err;

	if ((class != CLASS_RANGE && class != CLASS_VOID_RANGE) ||
	    o->nranges == ORDER_RANGES_MAX || range_of(o, id) != NULL)
		return -EINVAL;
	if ((err = add(o, id, &range)) != 0)
		return err;
	for (unsigned k = 0; k < o->range_n; k++) {
		unsigned s = o->range_shard[k];

		if (noted[s / 64] >> s % 64 & 1) {
			range_note(o, range, s);
			order_touch(o, s);
		} else {
			err = order_wait_turn(o, id, s, o->range_ticket[k]);
			if (err != 0)
				return err;
		}
	}
	return 0;
}

/* It has been noted everywhere: those that it kept waiting may go on. */
static int
end(struct order *o, unsigned id)
{
	struct order_range *range;
	int err;

	if ((err = range_open_front(o, id)) != 0)
		return err;
	range = range_of(o, id);
	*range = o->ranges[--o->nranges];
	for (unsigned k = 0; k < o->range_n; k++) {
		o->wait[o->range_shard[k]].ranges--;
		order_touch(o, o->range_shard[k]);
	}
	while (o->nbehind > 0)
		order_ready(o, o->behind[--o->nbehind]);
	return 0;
}

int
range_run(struct order *o, unsigned id)
{
	const struct rec *rec = order_front(o, id);
	struct order_range *range = range_of(o, id);
	int err;

	if (range == NULL) {
		if ((err = begin(o, id)) != 0)
			return err;
		range = range_of(o, id);
	}
	if (range->left != 0)
		return 0;
	if ((err = order_put(o, rec)) != 0)
		return err;
	return (err = end(o, id)) != 0 ? err : 1;
}
