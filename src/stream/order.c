/*
 * The merge, and the rounds that a pass is made of.
 *
 * The fast path is a record whose ticket is due in a shard where nobody waits,
 * nothing is owed and no range is under way: one comparison tells.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "../base/base.h"
#include "order.h"

/* --- delivery ------------------------------------------------------------ */

static int64_t
clock_ms(void)
{
	return mono_ms(mono_now());
}

/*
 * The heartbeat moves within a pass too: one that has much to deliver must not
 * look like a keeper that has died.  The caller's milliseconds go on.
 */
static void
begin_pass(struct order *o, int64_t now_ms, uint64_t max)
{
	o->now_ms = now_ms;
	o->clock_ahead = now_ms - clock_ms();
	o->left = max;
}

static void
flush(struct order *o)
{
	unsigned n = o->nbatch;

	if (n == 0)
		return;
	o->nbatch = 0;
	o->counts->records += n;
	o->sink->records(o->arg, o->batch, n, o->now_ms);
	reader_beat(o->reader, clock_ms() + o->clock_ahead);
}

/* Behind each that is put: put_pair() finds room for two. */
static inline __attribute__((always_inline)) void
flush_full(struct order *o)
{
	if (__builtin_expect(o->nbatch >= ORDER_BATCH - 1, 0))
		flush(o);
}

/* The caller behind a site's number, in its place. */
static inline __attribute__((always_inline)) int
name_caller(struct order *o, uint64_t *w3)
{
	return rec_is_site(*w3 & REC_ADDR_MASK) ?
	    sitemap_caller(o->sites, w3) : 0;
}

static inline __attribute__((always_inline)) int
put(struct order *o, const struct rec *rec)
{
	struct rec *to = &o->batch[o->nbatch];
	uint64_t w3 = rec->w[3];
	int err;

	if ((err = name_caller(o, &w3)) != 0)
		return err;
	to->w[0] = rec->w[0];
	to->w[1] = rec->w[1];
	to->w[2] = rec->w[2];
	to->w[3] = w3;
	o->nbatch++;
	flush_full(o);
	return 0;
}

/*
 * Both halves of a pair, written where they go: as nearly all of a busy
 * target's records are pairs, a copy of each on the way would be felt.
 */
static inline __attribute__((always_inline)) int
put_pair(struct order *o, const struct rec *rec)
{
	uint64_t w3 = rec->w[3];
	struct rec *to;
	int err;

	if ((err = name_caller(o, &w3)) != 0)
		return err;
	to = &o->batch[o->nbatch];
	reader_split_live(rec, &to[0], &to[1]);
	to[0].w[3] = w3;
	o->counts->pairs++;
	o->nbatch += 2;
	flush_full(o);
	return 0;
}

int
order_put(struct order *o, const struct rec *rec)
{
	if (!reader_class_raw(reader_class(o->reader, rec))) {
		o->counts->dormant++;
		return 0;
	}
	return put(o, rec);
}

static void
control(struct order *o, const struct rec *rec)
{
	flush(o);
	o->sink->control(o->arg, rec, o->now_ms);
}

/* Nobody is told of what a dormant target has lost. */
void
order_lose(struct order *o, unsigned cause, uint64_t count)
{
	if (count == 0)
		return;
	if (o->reader->dormant) {
		o->counts->dormant += count;
		return;
	}
	flush(o);
	o->counts->lost[cause] += count;
	o->sink->lost(o->arg, cause, count);
}

/* --- turns --------------------------------------------------------------- */

void
order_ready(struct order *o, unsigned id)
{
	o->ready[o->nready++] = (uint16_t)id;
}

/* Whether this ticket is the next to be delivered of its shard. */
bool
order_turn(const struct order *o, unsigned s, uint32_t ticket)
{
	const struct shard_wait *w = &o->wait[s];

	if (order_scripted(o, s))
		return o->script[w->script] == ticket;
	return w->owed == 0 && ticket == order_due(o, s);
}

/* Tickets from due up to this one are passed over: they are in flight. */
static int
owe(struct order *o, unsigned s, uint32_t ticket)
{
	struct shard_wait *w = &o->wait[s];
	uint32_t due = order_due(o, s);
	int err;

	if (ticket - due > ORDER_OWED_MAX - w->owed)
		return -EPROTO;
	for (; due != ticket; due++) {
		err = ticketmap_put(&o->owed, ticketmap_key(s, due),
		    (uint64_t)o->round << 32);
		if (err != 0)
			return err == -EEXIST ? -EPROTO : err;
		w->owed++;
	}
	return 0;
}

/* The ticket has come: due, or owed and late. */
int
order_take_ticket(struct order *o, unsigned s, uint32_t ticket)
{
	struct shard_wait *w = &o->wait[s];
	uint32_t due = order_due(o, s);
	struct ticketmap_entry *owed;
	int err;

	if ((int32_t)(ticket - due) < 0) {
		owed = ticketmap_get(&o->owed, ticketmap_key(s, ticket));
		if (owed == NULL)
			return -EPROTO;
		ticketmap_remove(&o->owed, owed);
		w->owed--;
		o->counts->late++;
	} else {
		if ((err = owe(o, s, ticket)) != 0)
			return err;
		due = ticket + 1;
	}
	order_set(o, s, due);
	return 0;
}

/* The same of the ticket whose turn it is. */
int
order_take_turn(struct order *o, unsigned s, uint32_t ticket)
{
	int err = order_take_ticket(o, s, ticket);

	if (err == 0 && order_scripted(o, s)) {
		o->wait[s].script++;
		order_touch(o, s);
	}
	return err;
}

/* The source waits for the turn of this ticket. */
int
order_wait_turn(struct order *o, unsigned id, unsigned s, uint32_t ticket)
{
	uint64_t key = ticketmap_key(s, ticket);
	int err;

	if ((int32_t)(ticket - order_due(o, s)) < 0 &&
	    ticketmap_get(&o->owed, key) == NULL)
		return -EPROTO;
	err = ticketmap_put(&o->waiters, key, id + 1);
	if (err != 0)
		return err == -EEXIST ? -EPROTO : err;
	o->wait[s].waiters++;
	order_touch(o, s);
	return 0;
}

/*
 * Makes the source ready that waits for the next turn of the shard.  A range
 * that does is noted, and the turn after that is looked at.
 */
int
order_wake(struct order *o, unsigned s)
{
	struct shard_wait *w = &o->wait[s];
	int err = 0;

	while (w->waiters != 0 && err == 0) {
		struct ticketmap_entry *waiter;
		struct order_range *range;
		uint32_t ticket = order_due(o, s);
		unsigned id;

		if (order_scripted(o, s))
			ticket = o->script[w->script];
		else if (w->owed != 0)
			break;
		waiter = ticketmap_get(&o->waiters, ticketmap_key(s, ticket));
		if (waiter == NULL)
			break;
		id = (unsigned)waiter->value - 1;
		ticketmap_remove(&o->waiters, waiter);
		w->waiters--;
		if ((range = range_of(o, id)) == NULL) {
			order_ready(o, id);
			break;
		}
		err = order_take_turn(o, s, ticket);
		if (err == 0 && range_note(o, range, s))
			order_ready(o, id);
	}
	order_touch(o, s);
	return err;
}

/* 1, or 0: its source waits for the ticket's turn. */
static int
may_go(struct order *o, unsigned id, unsigned s, uint32_t ticket)
{
	return order_turn(o, s, ticket) ? 1 : order_wait_turn(o, id, s, ticket);
}

/* The slow path of one record: 1 it may be delivered, 0 its source waits. */
static int
turn(struct order *o, unsigned id, const struct rec *rec, unsigned s)
{
	uint32_t ticket = rec_ticket(rec);
	int err;

	if ((err = may_go(o, id, s, ticket)) != 1)
		return err;
	if (o->wait[s].ranges != 0 && rec_layer(rec) != 0 &&
	    range_covers(o, s, rec_addr(rec))) {
		o->behind[o->nbehind++] = (uint16_t)id;
		return 0;
	}
	if ((err = order_take_turn(o, s, ticket)) != 0 ||
	    (err = order_wake(o, s)) != 0)
		return err;
	return 1;
}

/* --- the merge ----------------------------------------------------------- */

static int
put_one(struct order *o, const struct rec *rec)
{
	int err = order_put(o, rec);

	return err != 0 ? err : 1;
}

int
order_run(struct order *o, unsigned id, const struct rec *rec)
{
	int err;

	switch (reader_class(o->reader, rec)) {
	case CLASS_TICKET:
	case CLASS_VOID_TICKET:
		if ((err = turn(o, id, rec, rec_shard(rec_addr(rec)))) != 1)
			return err;
		return put_one(o, rec);
	case CLASS_PAIR:
	case CLASS_VOID_PAIR:
		if ((err = may_go(o, id, rec_shard(rec_addr(rec)),
			 rec_ticket(rec))) != 1)
			return err;
		return pair_run(o, rec, rec_shard(rec_addr(rec)));
	case CLASS_VOID:
	case CLASS_PLAIN:
		return put_one(o, rec);
	case CLASS_CONTROL:
		control(o, rec);
		return 1;
	case CLASS_RANGE:
	case CLASS_VOID_RANGE:
		return range_run(o, id);
	default:
		return -EPROTO;
	}
}

/* Delivers what stands in the chunk: 1 all of it, 0 the ring waits. */
static int
run_chunk(struct order *o, unsigned i)
{
	struct source *src = &o->source[i];
	const struct reader *r = o->reader;
	unsigned at;
	int err = 0;

	for (at = src->at; at < src->n; at++) {
		const struct rec *rec = &src->chunk[at];
		uint64_t *shard = &o->shard[rec_shard(rec_addr(rec))];
		enum rec_class class = reader_class(r, rec);
		bool due = *shard == rec_ticket(rec);

		if (__builtin_expect(due, 1) && class == CLASS_TICKET) {
			*shard = (uint32_t)(*shard + 1);
			err = put(o, rec);
		} else if (due && class == CLASS_PAIR) {
			*shard = (uint32_t)(*shard + 2);
			err = put_pair(o, rec);
		} else {
			src->at = (uint16_t)at;
			if ((err = order_run(o, i, rec)) != 1)
				return err;
			err = 0;
		}
		if (__builtin_expect(err != 0, 0))
			break;
	}
	src->at = (uint16_t)at;
	return err != 0 ? err : 1;
}

/* Ring i has come further: those that follow it may go on, if it is far enough. */
static void
lead(struct order *o, unsigned i)
{
	struct reader *r = o->reader;

	for (unsigned k = 0; k < r->nrings; k++)
		if (o->source[k].follows && r->rings[k].leader == i &&
		    reader_may_take(r, k) > 0) {
			o->source[k].follows = false;
			o->source[i].followers--;
			order_ready(o, k);
		}
}

/* Ring i waits for its leader: 0.  No thread follows itself. */
static int
follow(struct order *o, unsigned i)
{
	const struct reader_ring *rings = o->reader->rings;
	unsigned k = rings[i].leader;

	for (; o->source[k].follows; k = rings[k].leader)
		if (rings[k].leader == i)
			return -EPROTO;
	o->source[i].follows = true;
	o->source[rings[i].leader].followers++;
	return 0;
}

/* Records of the ring that the chunk stands for; of a range, its slots too. */
static unsigned
chunk_left(const struct order *o, const struct source *src)
{
	unsigned n = (unsigned)(src->n - src->at);
	uint64_t set[RING_RANGE_WORDS];
	const struct rec *rec;
	enum rec_class class;

	if (n != 1)
		return n;
	rec = &src->chunk[src->at];
	class = reader_class(o->reader, rec);
	return class == CLASS_RANGE || class == CLASS_VOID_RANGE ?
	    1 + reader_range_slots(rec, set) : 1;
}

static int
run_ring(struct order *o, unsigned i)
{
	struct source *src = &o->source[i];
	uint64_t may;
	int n;

	src->waits = false;
	for (;;) {
		n = run_chunk(o, i);
		reader_done(o->reader, i, chunk_left(o, src));
		if (__builtin_expect(src->followers != 0, 0))
			lead(o, i);
		if (n != 1) {
			src->waits = n == 0;
			return n;
		}
		src->at = src->n = 0;
		if (order_is_over(o)) {
			order_ready(o, i);
			return 0;
		}
		if ((may = reader_may_take(o->reader, i)) == 0)
			return follow(o, i);
		n = reader_take(o->reader, i, src->chunk,
		    may < READER_CHUNK ? (int)may : READER_CHUNK,
		    o->payload[i]);
		if (n <= 0)
			return n;
		src->n = (uint16_t)n;
		order_spend(o, src->n);
	}
}

/*
 * Runs all that is ready, and what that makes ready.  Comes to an early end
 * when the pass may take no more: order_is_over().
 */
static int
merge(struct order *o)
{
	int err = 0;

	for (;;) {
		while (o->nready > 0 && err == 0 && !order_is_over(o)) {
			unsigned id = o->ready[--o->nready];

			err = id < ORDER_COMMON ? run_ring(o, id) :
						  common_run(o, id);
		}
		if (err != 0 || order_is_over(o) || !o->common_stopped ||
		    o->common_undelivered == o->common_offered)
			return err;
		err = common_offer_rest(o);
	}
}

/* --- rounds -------------------------------------------------------------- */

uint64_t
order_held(const struct order *o)
{
	uint64_t n = o->common_undelivered;

	for (unsigned i = 0; i < o->reader->nrings; i++)
		n += o->reader->rings[i].seen - o->reader->rings[i].pos +
		    o->source[i].n - o->source[i].at;
	return n;
}

static int
start_round(struct order *o)
{
	struct reader *r = o->reader;
	int err;

	assert(o->nready == 0);
	o->round++;
	if ((err = reader_look(r)) != 0)
		return err;
	order_lose(o, STREAM_RING_FULL, r->dropped - o->dropped);
	o->dropped = r->dropped;
	order_lose(o, STREAM_SAMPLE_FULL, r->sample_full - o->sample_full);
	o->sample_full = r->sample_full;
	o->counts->far_addresses = r->far_addresses;
	/* Only after a resumption is there one with records that does not wait. */
	for (unsigned i = r->nrings; i-- > 0;)
		if (!o->source[i].waits && !o->source[i].follows &&
		    (r->rings[i].pos < r->rings[i].seen ||
			o->source[i].n != 0))
			order_ready(o, i);
	if ((err = pair_read(o)) != 0 || (err = common_read(o)) != 0 ||
	    o->common_undelivered == 0)
		return err;
	return common_offer(o);
}

/*
 * One step of a round.  A merge that was cut short is the same step once more:
 * until it has come to its end nothing can be said of what is missing.
 */
static int
run_step(struct order *o)
{
	int err;

	if (o->step == ORDER_LOOK) {
		o->step = ORDER_MERGE;
		return start_round(o);
	}
	if ((err = merge(o)) != 0 || order_is_over(o))
		return err;
	switch (o->step) {
	case ORDER_MERGE:
		o->step = ORDER_SCRIPTED;
		return order_held(o) > 0 ? holes_script(o) : 0;
	case ORDER_SCRIPTED:
		holes_end_scripts(o);
		o->step = ORDER_LATE;
		return o->owed.used > 0 ? holes_settle(o) : 0;
	default:
		common_release(o);
		reader_release(o->reader);
		o->step = ORDER_LOOK;
		return 0;
	}
}

/* A round, or the rest of one that was begun, as far as this pass may go. */
static int
run_round(struct order *o)
{
	int err;

	do
		err = run_step(o);
	while (err == 0 && !order_is_over(o) && o->step != ORDER_LOOK);
	return err;
}

static void
account(struct order *o)
{
	struct stream_feed_counts *c = o->counts;

	flush(o);
	/* In the middle of a round what is there is not held back by anything. */
	if (o->step == ORDER_LOOK)
		c->held = order_held(o);
	if (c->held > c->held_max)
		c->held_max = c->held;
	c->owed = o->owed.used;
	c->rings = o->reader->nrings;
	c->sites_full = o->reader->sites_full + o->sites->full;
	c->walks = o->reader->walks;
	c->marks_untold = o->reader->marks_untold;
}

/*
 * What the first round leaves is old in the second, right behind it: nothing
 * waits longer for a thread that is stopped in flight.
 */
int
order_pass(struct order *o, int64_t now_ms, uint64_t max)
{
	int err;

	begin_pass(o, now_ms, max);
	err = run_round(o);
	if (err == 0 && o->step == ORDER_LOOK &&
	    (order_held(o) > 0 || o->owed.used > 0))
		err = run_round(o);
	account(o);
	return err;
}

int
order_finish(struct order *o, int64_t now_ms)
{
	uint64_t left = 0, before;
	int err = 0;

	if (o->finished)
		return 0;
	begin_pass(o, now_ms, UINT64_MAX);
	if (o->step != ORDER_LOOK)
		err = run_round(o);
	o->dead = true;
	while (err == 0) {
		before = left;
		err = run_round(o);
		left = order_held(o);
		if (left == 0 || left == before)
			break;
	}
	if (err == 0) {
		order_lose(o, STREAM_WRITER_DIED, o->owed.used);
		order_lose(o, STREAM_CORRUPT, left);
		o->finished = true;
	}
	account(o);
	return err;
}

void
order_void(struct order *o)
{
	const struct reader_ring *common = &o->reader->rings[RING_COMMON];

	for (unsigned i = 0; i < o->reader->nrings; i++) {
		struct source *src = &o->source[i];

		for (unsigned k = src->at; k < src->n; k++)
			reader_void(o->reader, &src->chunk[k]);
	}
	for (uint64_t n = common->pos; n < common->seen; n++) {
		struct common_slot *slot = common_at(o, n);

		if (slot->state == SLOT_READ || slot->state == SLOT_WAITS)
			reader_void(o->reader, &slot->rec);
	}
}

void
order_start_at(struct order *o, const uint32_t tickets[REC_SHARDS])
{
	for (unsigned s = 0; s < REC_SHARDS; s++)
		if (tickets[s] != 0)
			order_set(o, s, tickets[s]);
}

void
order_init(struct order *o, struct reader *r, struct sitemap *sites,
    const struct stream_sink *sink, void *arg,
    struct stream_feed_counts *counts)
{
	uint64_t seeds[2];

	if (getrandom(seeds, sizeof(seeds), GRND_NONBLOCK) != sizeof(seeds))
		seeds[0] = seeds[1] = (uint64_t)mono_now().ns;
	o->waiters.seed = seeds[0] | 1;
	o->owed.seed = seeds[1] | 1;
	o->reader = r;
	o->sites = sites;
	o->sink = sink;
	o->arg = arg;
	o->counts = counts;
	/* Written before it is read; see zeros.h. */
	memset(o->shard, 0, sizeof(o->shard));
}

void
order_fini(struct order *o)
{
	free(o->waiters.entries);
	free(o->owed.entries);
	free(o->in_hand);
	free(o->script);
}
