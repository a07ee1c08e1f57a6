/*
 * Pairs: an allocation and its free that share a record of a ring.
 *
 * The free never waits once the allocation has had its turn.  Whatever comes
 * before the allocation on its address had been delivered then, or could not be
 * on it; and nothing comes between the two.  So no ticket that is missing or
 * owed keeps it back, and a pair is never half delivered between two rounds.
 */
#include "order.h"

/* The free's half, whose ticket is due or was passed over. */
static int
put_free(struct order *o, const struct rec *free, unsigned s)
{
	int err;

	if ((err = order_turn(o, s, rec_ticket(free)) ?
		    order_take_turn(o, s, rec_ticket(free)) :
		    order_take_ticket(o, s, rec_ticket(free))) != 0)
		return err;
	o->counts->pairs++;
	return order_put(o, free);
}

/* The free of an allocation that has been delivered. */
static int
free_late(struct order *o, const struct rec *pair)
{
	unsigned s = rec_shard(rec_addr(pair));
	struct rec alloc, free;
	int err;

	reader_split(pair, &alloc, &free);
	err = put_free(o, &free, s);
	return err != 0 ? err : order_wake(o, s);
}

/* The copy of an allocation that waits becomes what its record has become. */
static void
change_copy(struct order *o, unsigned i, const struct reader_pair *pair)
{
	struct source *src = &o->source[i];
	uint64_t k = pair->at - (o->reader->rings[i].pos - src->n);

	if (k >= src->at && k < src->n)
		src->chunk[k].w[0] ^= (uint64_t)(rec_op(&src->chunk[k]) ^
		    rec_op(&pair->rec)) << 52;
}

int
pair_read(struct order *o)
{
	struct reader_pair pair[RING_PAIRS];
	int err = 0;

	for (unsigned i = 0; i < o->reader->nrings; i++) {
		int n = reader_pairs(o->reader, i, pair);

		if (n < 0)
			return n;
		for (int k = 0; k < n && err == 0; k++)
			if (pair[k].at < o->reader->rings[i].done)
				err = free_late(o, &pair[k].rec);
			else
				change_copy(o, i, &pair[k]);
		if (err != 0)
			return err;
	}
	return 0;
}

int
pair_run(struct order *o, const struct rec *pair, unsigned s)
{
	struct rec alloc, free;
	int err;

	reader_split(pair, &alloc, &free);
	if ((err = order_take_turn(o, s, rec_ticket(pair))) != 0 ||
	    (err = order_put(o, &alloc)) != 0 ||
	    (err = put_free(o, &free, s)) != 0 ||
	    (err = order_wake(o, s)) != 0)
		return err;
	return 1;
}
