/*
 * The fast path is a record whose ticket is due in a shard where nobody waits,
 * nothing is owed and no range is under way: one comparison.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "../../base/base.h"
#include "order.h"

static inline bool
order_is_over(const struct order *o)
{
	return o->pass.left == 0;
}

static inline void
order_spend(struct order *o, unsigned records)
{
	o->pass.left -= records < o->pass.left ? records : o->pass.left;
}

static inline bool
order_scripted(const struct order *o, unsigned s)
{
	return o->wait[s].script != o->wait[s].script_end;
}

static inline void
order_set(struct order *o, unsigned s, uint32_t due)
{
	const struct shard_wait *w = &o->wait[s];
	bool busy = w->waiters != 0 || w->owed != 0 || w->ranges != 0 ||
	    w->script != w->script_end;

	o->shard[s] = due | (uint64_t)busy << 32;
}

static inline void
order_touch(struct order *o, unsigned s)
{
	order_set(o, s, order_due(o, s));
}

static inline const struct rec *
order_front(const struct order *o, unsigned id)
{
	if (id >= ORDER_COMMON)
		return &o->common.slot[id - ORDER_COMMON].rec;
	return &o->source[id].chunk[o->source[id].at];
}

static inline struct common_slot *
common_at(struct order *o, uint64_t n)
{
	return &o->common.slot[n % RING_COMMON_SLOTS];
}

static int common_read(struct order *);
static int common_offer(struct order *);
static int common_offer_rest(struct order *);
static void common_release(struct order *);
static int common_run(struct order *, unsigned id);
static int pair_read(struct order *);
static int pair_run(struct order *, const struct rec *, unsigned s);
static int range_run(struct order *, unsigned id);
static void tear_ranges(struct order *);
static bool old_waits(const struct order *);
static struct order_range *range_of(struct order *, unsigned id);
static bool range_note(struct order *, struct order_range *, unsigned s);
static bool range_covers(const struct order *, unsigned s, uint64_t addr);
static int pass_ranges(struct order *, unsigned s, uint64_t addr);
static int holes_script(struct order *);
static void holes_end_scripts(struct order *);
static int holes_settle(struct order *);

static int64_t
clock_ms(void)
{
	return mono_ms(mono_now());
}

/* The heartbeat moves within a pass too, on from the caller's milliseconds. */
static void
begin_pass(struct order *o, int64_t now_ms, uint64_t max)
{
	o->pass.now_ms = now_ms;
	o->pass.clock_ahead = now_ms - clock_ms();
	o->pass.left = max;
}

static void
flush_batch(struct order *o)
{
	unsigned n = o->nbatch;

	if (n == 0)
		return;
	o->nbatch = 0;
	o->counts->records += n;
	o->sink->records(o->arg, o->batch, n, o->pass.now_ms);
	reader_beat(o->reader, clock_ms() + o->pass.clock_ahead);
}

/* After each delivery, so that deliver_pair() finds room for two. */
static inline __attribute__((always_inline)) void
flush_full(struct order *o)
{
	if (__builtin_expect(o->nbatch >= ORDER_BATCH - 1, 0))
		flush_batch(o);
}

static inline __attribute__((always_inline)) int
translate_caller(struct order *o, uint64_t *w3)
{
	return rec_is_site(*w3 & REC_ADDR_MASK) ?
	    sitemap_caller(o->sites, w3) : 0;
}

static inline __attribute__((always_inline)) int
deliver(struct order *o, const struct rec *rec)
{
	struct rec *to = &o->batch[o->nbatch];
	uint64_t w3 = rec->w[3];
	int err;

	if ((err = translate_caller(o, &w3)) != 0)
		return err;
	to->w[0] = rec->w[0];
	to->w[1] = rec->w[1];
	to->w[2] = rec->w[2];
	to->w[3] = w3;
	o->nbatch++;
	flush_full(o);
	return 0;
}

/* Without a copy: nearly all of a busy target's records are pairs. */
static inline __attribute__((always_inline)) int
deliver_pair(struct order *o, const struct rec *rec)
{
	uint64_t w3 = rec->w[3];
	struct rec *to;
	int err;

	if ((err = translate_caller(o, &w3)) != 0)
		return err;
	to = &o->batch[o->nbatch];
	reader_split_live(rec, &to[0], &to[1]);
	to[0].w[3] = w3;
	o->counts->pairs++;
	o->nbatch += 2;
	flush_full(o);
	return 0;
}

static int
order_put(struct order *o, const struct rec *rec)
{
	if (!reader_class_raw(reader_class(o->reader, rec))) {
		o->counts->dormant++;
		return 0;
	}
	return deliver(o, rec);
}

static void
put_control(struct order *o, const struct rec *rec)
{
	flush_batch(o);
	o->sink->control(o->arg, rec, o->pass.now_ms);
}

/* Losses of a dormant target are only counted. */
static void
order_lose(struct order *o, unsigned cause, uint64_t count)
{
	if (count == 0)
		return;
	if (o->reader->dormant) {
		o->counts->dormant += count;
		return;
	}
	flush_batch(o);
	o->counts->lost[cause] += count;
	o->sink->lost(o->arg, cause, count);
}

static void
order_ready(struct order *o, unsigned id)
{
	o->ready[o->nready++] = (uint16_t)id;
}

static bool
order_turn(const struct order *o, unsigned s, uint32_t ticket)
{
	const struct shard_wait *w = &o->wait[s];

	if (order_scripted(o, s))
		return o->scripts.ticket[w->script] == ticket;
	return w->owed == 0 && ticket == order_due(o, s);
}

static int
note_owed(struct order *o, unsigned s, uint32_t ticket)
{
	struct shard_wait *w = &o->wait[s];
	uint32_t due = order_due(o, s);
	int err;

	if (ticket - due > ORDER_OWED_MAX - w->owed)
		return -EPROTO;
	for (; due != ticket; due++) {
		err = ticketmap_put(&o->owed, ticketmap_key(s, due),
		    (uint64_t)o->pass.round << 32);
		if (err != 0)
			return err == -EEXIST ? -EPROTO : err;
		w->owed++;
	}
	return 0;
}

static int
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
		if ((err = note_owed(o, s, ticket)) != 0)
			return err;
		due = ticket + 1;
	}
	order_set(o, s, due);
	return 0;
}

static int
order_take_turn(struct order *o, unsigned s, uint32_t ticket)
{
	int err = order_take_ticket(o, s, ticket);

	if (err == 0 && order_scripted(o, s)) {
		o->wait[s].script++;
		order_touch(o, s);
	}
	return err;
}

static int
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

/* Makes the source of the next turn ready; notes ranges on the way. */
static int
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
			ticket = o->scripts.ticket[w->script];
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
run_turn(struct order *o, unsigned id, const struct rec *rec, unsigned s)
{
	uint32_t ticket = rec_ticket(rec);
	int err;

	if ((err = may_go(o, id, s, ticket)) != 1)
		return err;
	if (o->wait[s].ranges != 0 && rec_layer(rec) != 0 &&
	    range_covers(o, s, rec_addr(rec))) {
		if (!o->pass.tears ||
		    o->passed.used + o->nranges > ORDER_PASSES) {
			o->behind[o->nbehind++] = (uint16_t)id;
			return 0;
		}
		if ((err = pass_ranges(o, s, rec_addr(rec))) != 0)
			return err;
	}
	if ((err = order_take_turn(o, s, ticket)) != 0 ||
	    (err = order_wake(o, s)) != 0)
		return err;
	return 1;
}

static int
deliver_one(struct order *o, const struct rec *rec)
{
	int err = order_put(o, rec);

	return err != 0 ? err : 1;
}

/* 1 done, 0 its source waits.  Not inlined, for the fast path's registers. */
static __attribute__((noinline)) int
order_run(struct order *o, unsigned id, const struct rec *rec)
{
	int err;

	switch (reader_class(o->reader, rec)) {
	case CLASS_TICKET:
	case CLASS_VOID_TICKET:
		if ((err = run_turn(o, id, rec, rec_shard(rec_addr(rec)))) != 1)
			return err;
		return deliver_one(o, rec);
	case CLASS_PAIR:
	case CLASS_VOID_PAIR:
		if ((err = may_go(o, id, rec_shard(rec_addr(rec)),
			 rec_ticket(rec))) != 1)
			return err;
		return pair_run(o, rec, rec_shard(rec_addr(rec)));
	case CLASS_VOID:
	case CLASS_PLAIN:
		return deliver_one(o, rec);
	case CLASS_CONTROL:
		put_control(o, rec);
		return 1;
	case CLASS_RANGE:
	case CLASS_VOID_RANGE:
		return range_run(o, id);
	default:
		return -EPROTO;
	}
}

/* Delivers the chunk: 1 all of it, 0 the ring waits. */
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
			err = deliver(o, rec);
		} else if (due && class == CLASS_PAIR) {
			*shard = (uint32_t)(*shard + 2);
			err = deliver_pair(o, rec);
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

static void
wake_followers(struct order *o, unsigned i)
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

/* Makes ring i wait for its leader: 0, or -EPROTO for a cycle. */
static int
follow_leader(struct order *o, unsigned i)
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
			wake_followers(o, i);
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
			return follow_leader(o, i);
		n = reader_take(o->reader, i, src->chunk,
		    may < READER_CHUNK ? (int)may : READER_CHUNK,
		    o->payload[i]);
		if (n <= 0)
			return n;
		src->n = (uint16_t)n;
		order_spend(o, src->n);
	}
}

static int
merge_sources(struct order *o)
{
	int err = 0;

	for (;;) {
		while (o->nready > 0 && err == 0 && !order_is_over(o)) {
			unsigned id = o->ready[--o->nready];

			err = id < ORDER_COMMON ? run_ring(o, id) :
						  common_run(o, id);
		}
		if (err != 0 || order_is_over(o) || !o->offer.stopped ||
		    o->offer.undelivered == o->offer.offered)
			return err;
		err = common_offer_rest(o);
	}
}

static uint64_t
order_held(const struct order *o)
{
	uint64_t n = o->offer.undelivered;

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
	o->pass.round++;
	if ((err = reader_look(r)) != 0)
		return err;
	order_lose(o, STREAM_RING_FULL, r->dropped - o->dropped);
	o->dropped = r->dropped;
	order_lose(o, STREAM_SAMPLE_FULL, r->sample_full - o->sample_full);
	o->sample_full = r->sample_full;
	o->counts->far_addresses = r->far_addresses;
	/* A ring with records already in its chunk and not waiting: resumed. */
	for (unsigned i = r->nrings; i-- > 0;)
		if (!o->source[i].waits && !o->source[i].follows &&
		    (r->rings[i].pos < r->rings[i].seen ||
			o->source[i].n != 0))
			order_ready(o, i);
	if ((err = pair_read(o)) != 0 || (err = common_read(o)) != 0 ||
	    o->offer.undelivered == 0)
		return err;
	return common_offer(o);
}

/* One step of a round; a merge that was cut short repeats its step. */
static int
run_step(struct order *o)
{
	int err;

	if (o->pass.step == ORDER_LOOK) {
		o->pass.step = ORDER_MERGE;
		return start_round(o);
	}
	if ((err = merge_sources(o)) != 0 || order_is_over(o))
		return err;
	switch (o->pass.step) {
	case ORDER_MERGE:
		o->pass.step = ORDER_SCRIPTED;
		return order_held(o) > 0 ? holes_script(o) : 0;
	case ORDER_SCRIPTED:
		holes_end_scripts(o);
		o->pass.step = ORDER_LATE;
		return o->owed.used > 0 ? holes_settle(o) : 0;
	default:
		/* Records that a torn round leaves behind have found no room to pass. */
		if (o->nbehind > 0 && !o->pass.tears && old_waits(o)) {
			tear_ranges(o);
			return 0;
		}
		o->pass.tears = false;
		common_release(o);
		reader_release(o->reader);
		o->pass.step = ORDER_LOOK;
		return 0;
	}
}

static int
run_round(struct order *o)
{
	int err;

	do
		err = run_step(o);
	while (err == 0 && !order_is_over(o) && o->pass.step != ORDER_LOOK);
	return err;
}

static void
account_losses(struct order *o)
{
	struct stream_feed_counts *c = o->counts;

	flush_batch(o);
	/* Within a round nothing is held back yet. */
	if (o->pass.step == ORDER_LOOK)
		c->held = order_held(o);
	if (c->held > c->held_max)
		c->held_max = c->held;
	c->owed = o->owed.used;
	c->rings = o->reader->nrings;
	c->sites_full = o->reader->sites_full + o->sites->full;
	c->walks = o->reader->walks;
	c->marks_untold = o->reader->marks_untold;
	c->unfinished = o->reader->unfinished;
	c->past = o->reader->past;
}

/* A record left by the first round is old in the second: none waits longer. */
int
order_pass(struct order *o, int64_t now_ms, uint64_t max)
{
	int err;

	begin_pass(o, now_ms, max);
	err = run_round(o);
	if (err == 0 && o->pass.step == ORDER_LOOK &&
	    (order_held(o) > 0 || o->owed.used > 0))
		err = run_round(o);
	account_losses(o);
	return err;
}

int
order_finish(struct order *o, int64_t now_ms)
{
	uint64_t left = 0, before;
	int err = 0;

	if (o->target == ORDER_FINISHED)
		return 0;
	begin_pass(o, now_ms, UINT64_MAX);
	if (o->pass.step != ORDER_LOOK)
		err = run_round(o);
	o->target = ORDER_DEAD;
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
		o->target = ORDER_FINISHED;
	}
	account_losses(o);
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
	o->waiters.seed = o->passed.seed = seeds[0] | 1;
	o->owed.seed = seeds[1] | 1;
	o->reader = r;
	o->sites = sites;
	o->sink = sink;
	o->arg = arg;
	o->counts = counts;
	/* Written first: see zeros_map(). */
	memset(o->shard, 0, sizeof(o->shard));
}

void
order_fini(struct order *o)
{
	free(o->waiters.entries);
	free(o->owed.entries);
	free(o->passed.entries);
	free(o->scripts.in_hand);
	free(o->scripts.ticket);
}

/*
 * Each slot of the common ring is a source of its own, for slots are not in the
 * order of their tickets.  Two kinds of records need more order than tickets
 * give: a control record has its place among those of its thread, and the
 * frees, allocations and undos of a thread's reallocs stay in its own order.
 *
 * Known limits
 *	When a handler interrupts a claim before its ticket is drawn, and both are
 *	reallocs in one shard by a thread without a ring, they wait for each
 *	other: the stream stops, and its end counts them.
 */

/* Copies the slots behind a range; -EPROTO for one read as a record. */
static int
read_more(struct order *o, uint64_t n)
{
	uint64_t set[RING_RANGE_WORDS];
	unsigned more = reader_range_slots(&common_at(o, n)->rec, set);
	int err;

	if (more == 0)
		return -EPROTO;
	for (unsigned k = 1; k <= more; k++) {
		struct common_slot *slot = common_at(o, n + k);

		if (slot->state != SLOT_EMPTY)
			return -EPROTO;
		err = reader_claim_more(o->reader, n + k, &slot->rec);
		if (err < 0)
			return err;
		slot->state = SLOT_DONE;
	}
	return 0;
}

/* The list relates a thread's allocation or undo to its last realloc free. */
static bool
is_realloc(const struct rec *rec)
{
	return rec_op(rec) == REC_UNDO ||
	    (rec_op(rec) == REC_FREE && rec_type(rec) == TYPE_BY_REALLOC) ||
	    (rec_op(rec) == REC_ALLOC && rec_type(rec) == TYPE_REALLOC);
}

/*
 * Links a record of a realloc behind its thread's last one.  A thread claims,
 * draws and publishes one by one, so its valid records have been read in the
 * order of their tickets.  Threads without an index of their own share 0 and
 * have no order of claims.
 */
static void
link_slot(struct order *o, struct common_slot *slot)
{
	uint16_t *last = &o->common.last[rec_thread(&slot->rec)];

	slot->linked = is_realloc(&slot->rec) && rec_thread(&slot->rec) != 0;
	slot->behind = slot->linked && *last != 0;
	slot->next = 0;
	if (!slot->linked)
		return;
	if (slot->behind)
		o->common.slot[*last - 1].next = (uint16_t)(slot - o->common.slot + 1);
	*last = (uint16_t)(slot - o->common.slot + 1);
}

static void
unlink_slot(struct order *o, struct common_slot *slot)
{
	struct common_slot *next;

	if (slot->next == 0) {
		o->common.last[rec_thread(&slot->rec)] = 0;
		return;
	}
	next = &o->common.slot[slot->next - 1];
	next->behind = false;
	if (next->state == SLOT_WAITS)
		order_ready(o, (unsigned)(ORDER_COMMON + slot->next - 1));
}

/* Copies all valid slots.  One claimed and not valid may be of any shard. */
static int
common_read(struct order *o)
{
	struct reader *r = o->reader;
	const struct reader_ring *ring = &r->rings[RING_COMMON];
	bool missing = false;
	int got;

	for (uint64_t n = ring->pos; n < ring->seen; n++) {
		struct common_slot *slot = common_at(o, n);
		enum rec_class class;

		if (slot->state != SLOT_EMPTY)
			continue;
		if ((got = reader_claim(r, n, &slot->rec)) < 0)
			return got;
		if (got == 0) {
			missing = true;
			continue;
		}
		slot->state = SLOT_READ;
		slot->round = o->pass.round;
		o->offer.undelivered++;
		link_slot(o, slot);
		class = reader_class(r, &slot->rec);
		if ((class == CLASS_RANGE || class == CLASS_VOID_RANGE) &&
		    (got = read_more(o, n)) < 0)
			return got;
	}
	if (missing)
		memset(r->inflight, 0xff, sizeof(r->inflight));
	return 0;
}

/* Counted by thread, so that no control record has to search the ring. */
static void
pass_slot(struct order *o, struct common_slot *slot)
{
	if (slot->state != SLOT_WAITS || slot->passed)
		return;
	slot->passed = true;
	o->common.passed[rec_thread(&slot->rec)]++;
}

static void
unpass_slot(struct order *o, struct common_slot *slot)
{
	if (slot->passed)
		o->common.passed[rec_thread(&slot->rec)]--;
	slot->passed = false;
}

static int
common_run(struct order *o, unsigned id)
{
	struct common_slot *slot = &o->common.slot[id - ORDER_COMMON];
	int done = order_run(o, id, &slot->rec);

	order_spend(o, 1);
	if (done == 1) {
		slot->state = SLOT_DONE;
		o->offer.undelivered--;
		unpass_slot(o, slot);
		if (slot->linked)
			unlink_slot(o, slot);
	} else if (done == 0) {
		slot->state = SLOT_WAITS;
	}
	return done < 0 ? done : 0;
}

/* Goes on where the offer has stopped; all read before that was offered. */
static int
common_offer_rest(struct order *o)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];
	int err;

	o->offer.stopped = false;
	for (; o->offer.next < ring->seen; o->offer.next++) {
		struct common_slot *slot = common_at(o, o->offer.next);

		if (slot->state == SLOT_READ && slot->behind) {
			slot->state = SLOT_WAITS;
		} else if (slot->state == SLOT_READ) {
			if (o->common.passed[rec_thread(&slot->rec)] != 0 &&
			    reader_class(o->reader, &slot->rec) ==
				CLASS_CONTROL) {
				o->offer.stopped = true;
				break;
			}
			err = common_run(o, (unsigned)(ORDER_COMMON +
			    o->offer.next % RING_COMMON_SLOTS));
			if (err != 0)
				return err;
		}
		pass_slot(o, slot);
	}
	o->offer.offered = o->offer.undelivered;
	return 0;
}

/* Offers in the order of claims; a control record waits for its thread. */
static int
common_offer(struct order *o)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];

	/* A claim that has become valid now may come before others. */
	for (uint64_t n = ring->pos; n < ring->seen; n++)
		unpass_slot(o, common_at(o, n));
	o->offer.next = ring->pos;
	return common_offer_rest(o);
}

static void
common_release(struct order *o)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];
	uint64_t n = ring->pos;

	for (; n < ring->seen && common_at(o, n)->state == SLOT_DONE; n++)
		common_at(o, n)->state = SLOT_EMPTY;
	reader_claims_done(o->reader, n);
}

static void
common_save(const struct order *o, struct order_state *s)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];

	s->nslots = 0;
	if (ring->pos == ring->seen)
		return;
	memset(s->done, 0, sizeof(s->done));
	for (uint64_t n = ring->pos; n < ring->seen; n++) {
		unsigned at = (unsigned)(n % RING_COMMON_SLOTS);
		const struct common_slot *slot = &o->common.slot[at];

		if (slot->state == SLOT_DONE)
			s->done[at / 64] |= UINT64_C(1) << at % 64;
		else if (slot->state != SLOT_EMPTY)
			s->slots[s->nslots++] = (struct order_slot_state){
				.at = (uint32_t)(n - ring->pos),
				.round = slot->round,
			};
	}
}

/* In the order in which they were read: links depend on it. */
static int
compare_rounds(const void *a, const void *b)
{
	const struct order_slot_state *x = a, *y = b;
	int32_t rounds = (int32_t)(x->round - y->round);

	return rounds != 0 ? (rounds > 0) - (rounds < 0) :
	    (x->at > y->at) - (x->at < y->at);
}

/* Reads the slot again; the next offer finds out what it waits for. */
static int
resume_slot(struct order *o, const struct order_slot_state *s)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];
	uint64_t n = ring->pos + s->at;
	struct common_slot *slot = common_at(o, n);
	enum rec_class class;
	int got;

	if (s->at >= ring->seen - ring->pos || slot->state != SLOT_EMPTY)
		return -EINVAL;
	got = reader_claim(o->reader, n, &slot->rec);
	if (got != 1)
		return -EPROTO;
	slot->state = SLOT_READ;
	slot->round = s->round;
	o->offer.undelivered++;
	link_slot(o, slot);
	class = reader_class(o->reader, &slot->rec);
	return class == CLASS_RANGE || class == CLASS_VOID_RANGE ?
	    read_more(o, n) : 0;
}

static int
common_resume(struct order *o, const struct order_state *s)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];
	struct order_slot_state *slots;
	int err = 0;

	if (ring->pos == ring->seen)
		return s->nslots == 0 ? 0 : -EINVAL;
	if (s->nslots > ring->seen - ring->pos)
		return -EINVAL;
	slots = malloc((s->nslots + 1) * sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	memcpy(slots, s->slots, s->nslots * sizeof(*slots));
	qsort(slots, s->nslots, sizeof(*slots), compare_rounds);
	for (uint32_t k = 0; k < s->nslots && err == 0; k++)
		err = resume_slot(o, &slots[k]);
	free(slots);
	for (uint64_t n = ring->pos; n < ring->seen && err == 0; n++) {
		unsigned at = (unsigned)(n % RING_COMMON_SLOTS);

		if (o->common.slot[at].state == SLOT_EMPTY &&
		    s->done[at / 64] >> at % 64 & 1)
			o->common.slot[at].state = SLOT_DONE;
	}
	return err;
}

/*
 * A range is one record with a ticket in each shard that it can touch.
 *
 * At the front of its source it waits for all of its tickets at once.  In each
 * shard it is noted when its ticket comes up, and the shard goes on; only API
 * records of addresses in the range wait until it has been noted everywhere and
 * delivered.
 *
 * A thread may log a record in the range while another one draws the range's
 * tickets, and then one that the range waits for: both wait for each other.  So
 * records that have waited for a round pass their range.  It ends at their
 * address first, by a record of that address alone, and is delivered as the
 * pieces between these addresses later: each shard has its order all the same.
 */

/* Puts the shards and tickets of a range into order.opened. */
static int
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
		o->opened.shard[n] = (uint16_t)s;
		o->opened.ticket[n] = (uint32_t)(n % 2 ? w >> 32 : w);
		n++;
	}
	o->opened.n = n;
	return 0;
}

static int
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
		payload[k] = o->common.slot[(first + k) % RING_COMMON_SLOTS].rec;
	return range_open(o, rec, payload);
}

static struct order_range *
range_of(struct order *o, unsigned id)
{
	for (unsigned k = 0; k < o->nranges; k++)
		if (o->ranges[k].source == id)
			return &o->ranges[k];
	return NULL;
}

/* Notes a range in shard s; true when that was its last one. */
static bool
range_note(struct order *o, struct order_range *range, unsigned s)
{
	range->noted[s / 64] |= UINT64_C(1) << s % 64;
	o->wait[s].ranges++;
	return --range->left == 0;
}

static inline uint64_t
passed_key(const struct order_range *range, uint64_t addr)
{
	return (uint64_t)range->source << 48 | addr;
}

static bool
range_holds(const struct order *o, const struct order_range *range, unsigned s,
    uint64_t addr)
{
	return addr - range->addr < range->len &&
	    range->noted[s / 64] >> s % 64 & 1 &&
	    ticketmap_get(&o->passed, passed_key(range, addr)) == NULL;
}

static bool
range_covers(const struct order *o, unsigned s, uint64_t addr)
{
	for (unsigned k = 0; k < o->nranges; k++)
		if (range_holds(o, &o->ranges[k], s, addr))
			return true;
	return false;
}

static int
put_piece(struct order *o, unsigned id, uint64_t from, uint64_t upto)
{
	struct rec piece = *order_front(o, id);

	if (from == upto)
		return 0;
	piece.w[0] = (piece.w[0] & ~REC_ADDR_MASK) | from;
	piece.w[1] = rec_w1(upto - from, rec_thread(&piece));
	return order_put(o, &piece);
}

static int
pass_ranges(struct order *o, unsigned s, uint64_t addr)
{
	int err = 0;

	for (unsigned k = 0; k < o->nranges && err == 0; k++) {
		struct order_range *range = &o->ranges[k];

		if (!range_holds(o, range, s, addr))
			continue;
		err = ticketmap_put(&o->passed, passed_key(range, addr), 1);
		if (err == 0) {
			range->passed++;
			err = put_piece(o, range->source, addr, addr + 1);
		}
	}
	return err;
}

static void
tear_ranges(struct order *o)
{
	o->pass.tears = true;
	while (o->nbehind > 0)
		order_ready(o, o->behind[--o->nbehind]);
}

static int
compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Delivers a range without the addresses whose records have passed it.  After an
 * error it is done again from the start: a second end finds nothing.
 */
static int
put_pieces(struct order *o, struct order_range *range)
{
	uint64_t from = range->addr, end = from + range->len, *addr;
	uint32_t n = 0;
	int err = 0;

	addr = malloc(range->passed * sizeof(*addr));
	if (addr == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i <= o->passed.mask; i++) {
		const struct ticketmap_entry *e = &o->passed.entries[i];

		if (e->value != 0 && e->key >> 48 == range->source)
			addr[n++] = e->key & REC_ADDR_MASK;
	}
	assert(n == range->passed);
	qsort(addr, n, sizeof(*addr), compare_words);
	for (uint32_t i = 0; i < n && err == 0; i++) {
		err = put_piece(o, range->source, from, addr[i]);
		from = addr[i] + 1;
	}
	if (err == 0)
		err = put_piece(o, range->source, from, end);
	for (; err == 0 && range->passed > 0; range->passed--)
		ticketmap_remove(&o->passed, ticketmap_get(&o->passed,
		    passed_key(range, addr[range->passed - 1])));
	free(addr);
	return err;
}

static int
add_range(struct order *o, unsigned id, struct order_range **out)
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
	range->left = o->opened.n;
	o->nranges++;
	*out = range;
	return 0;
}

static int
begin_range(struct order *o, unsigned id)
{
	struct order_range *range;
	int err;

	if (o->nranges == ORDER_RANGES_MAX)
		return -EPROTO;
	if ((err = add_range(o, id, &range)) != 0)
		return err;
	/* One more than its shards: it must not end while it begins. */
	range->left++;
	for (unsigned k = 0; k < o->opened.n; k++) {
		unsigned s = o->opened.shard[k];
		uint32_t ticket = o->opened.ticket[k];

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

static int
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
	if ((err = add_range(o, id, &range)) != 0)
		return err;
	for (unsigned k = 0; k < o->opened.n; k++) {
		unsigned s = o->opened.shard[k];

		if (noted[s / 64] >> s % 64 & 1) {
			range_note(o, range, s);
			order_touch(o, s);
		} else {
			err = order_wait_turn(o, id, s, o->opened.ticket[k]);
			if (err != 0)
				return err;
		}
	}
	return 0;
}

static int
end_range(struct order *o, unsigned id)
{
	struct order_range *range;
	int err;

	if ((err = range_open_front(o, id)) != 0)
		return err;
	range = range_of(o, id);
	*range = o->ranges[--o->nranges];
	for (unsigned k = 0; k < o->opened.n; k++) {
		o->wait[o->opened.shard[k]].ranges--;
		order_touch(o, o->opened.shard[k]);
	}
	while (o->nbehind > 0)
		order_ready(o, o->behind[--o->nbehind]);
	return 0;
}

static int
range_run(struct order *o, unsigned id)
{
	const struct rec *rec = order_front(o, id);
	struct order_range *range = range_of(o, id);
	int err;

	if (range == NULL) {
		if ((err = begin_range(o, id)) != 0)
			return err;
		range = range_of(o, id);
	}
	if (range->left != 0)
		return 0;
	err = range->passed != 0 ? put_pieces(o, range) : order_put(o, rec);
	if (err != 0)
		return err;
	return (err = end_range(o, id)) != 0 ? err : 1;
}

/*
 * The free never waits once the allocation has had its turn: nothing comes
 * between the two on their address.  So no pair is half delivered between two
 * rounds.
 */

/* Delivers the free's half, whose ticket is due or was passed over. */
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

static int
put_late_free(struct order *o, const struct rec *pair)
{
	unsigned s = rec_shard(rec_addr(pair));
	struct rec alloc, free;
	int err;

	reader_split(pair, &alloc, &free);
	err = put_free(o, &free, s);
	return err != 0 ? err : order_wake(o, s);
}

static void
change_copy(struct order *o, unsigned i, const struct reader_pair *pair)
{
	struct source *src = &o->source[i];
	uint64_t k = pair->at - (o->reader->rings[i].pos - src->n);

	if (k >= src->at && k < src->n)
		src->chunk[k].w[0] ^= (uint64_t)(rec_op(&src->chunk[k]) ^
		    rec_op(&pair->rec)) << 52;
}

static int
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
				err = put_late_free(o, &pair[k].rec);
			else
				change_copy(o, i, &pair[k]);
		if (err != 0)
			return err;
	}
	return 0;
}

/* Runs a pair whose allocation has its turn: 1, or an error. */
static int
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

/*
 * When the merge has stopped, the records in hand are counted, and shards in
 * which an old record waits for a hole or an owed ticket get a script for the
 * rest of the round.
 *
 * Records not taken yet are peeked at for this, to decide on the order only;
 * they are copied and checked when their turn comes.  A target that changes
 * them in between stops its own stream until the next round.
 */

typedef int ticket_fn(struct order *, unsigned s, uint32_t ticket, bool old);

static int
each_of_range(struct order *o, const struct order_range *range, bool old,
    ticket_fn *fn)
{
	int err = 0;

	for (unsigned k = 0; k < o->opened.n && err == 0; k++) {
		unsigned s = o->opened.shard[k];

		if (range == NULL || !(range->noted[s / 64] >> s % 64 & 1))
			err = fn(o, s, o->opened.ticket[k], old);
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

/* A range at `at` of ring i, not taken yet: returns the slots to step over. */
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
	uint64_t old_end = o->target != ORDER_RUNNING ? ring->seen :
	    ring->before;
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
		const struct common_slot *slot = &o->common.slot[at];

		if (slot->state != SLOT_READ && slot->state != SLOT_WAITS)
			continue;
		err = each_of_front(o, ORDER_COMMON + at, &slot->rec,
		    o->target != ORDER_RUNNING ||
		    slot->round != o->pass.round, fn);
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
	if (err == 0 && o->offer.undelivered > 0)
		err = each_of_common(o, fn);
	return err;
}

static bool
old_waits(const struct order *o)
{
	const struct reader *r = o->reader;
	const struct reader_ring *common = &r->rings[RING_COMMON];

	if (o->target != ORDER_RUNNING)
		return true;
	for (unsigned i = 0; i < r->nrings; i++) {
		const struct source *src = &o->source[i];
		uint64_t front = r->rings[i].pos - src->n + src->at;

		if (front < r->rings[i].before && front < r->rings[i].seen)
			return true;
	}
	if (o->offer.undelivered == 0)
		return false;
	for (uint64_t n = common->pos; n < common->seen; n++) {
		const struct common_slot *slot =
		    &o->common.slot[n % RING_COMMON_SLOTS];

		if ((slot->state == SLOT_READ || slot->state == SLOT_WAITS) &&
		    slot->round != o->pass.round)
			return true;
	}
	return false;
}

static int
count_ticket(struct order *o, unsigned s, uint32_t ticket, bool old)
{
	struct shard_tally *t = &o->tally[s];
	int32_t distance = (int32_t)(ticket - order_due(o, s));
	struct ticketmap_entry *owed;

	if (distance < 0) {
		owed = ticketmap_get(&o->owed, ticketmap_key(s, ticket));
		if (owed == NULL)
			return -EPROTO;
		owed->value = (owed->value & ~(uint64_t)UINT32_MAX) | o->pass.round;
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
collect_ticket(struct order *o, unsigned s, uint32_t ticket, bool old)
{
	const struct shard_tally *t = &o->tally[s];
	int32_t distance = (int32_t)(ticket - order_due(o, s));
	void *array = o->scripts.in_hand;
	int err;

	(void)old;	/* new tickets below an old one go before it */
	if (!t->scripted || distance > t->old_max)
		return 0;
	if (o->scripts.n == o->scripts.cap) {
		err = base_grow(&array, &o->scripts.cap, o->scripts.n + 1,
		    sizeof(*o->scripts.in_hand));
		if (err != 0)
			return err;
		o->scripts.in_hand = array;
	}
	o->scripts.in_hand[o->scripts.n++] = (uint64_t)s << 32 |
	    ((uint32_t)distance ^ UINT32_C(0x80000000));
	return 0;
}

static bool
choose_shards(struct order *o)
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

static int
write_scripts(struct order *o)
{
	void *array = o->scripts.ticket;
	int err;

	err = base_grow(&array, &o->scripts.ticket_cap, o->scripts.n,
	    sizeof(*o->scripts.ticket));
	if (err != 0)
		return err;
	o->scripts.ticket = array;
	for (size_t k = 0; k < o->scripts.n; k++) {
		unsigned s = (unsigned)(o->scripts.in_hand[k] >> 32);
		struct shard_wait *w = &o->wait[s];

		if (k == 0 || o->scripts.in_hand[k - 1] >> 32 != s)
			w->script = (uint32_t)k;
		else if (o->scripts.in_hand[k - 1] == o->scripts.in_hand[k])
			return -EPROTO;
		w->script_end = (uint32_t)k + 1;
		o->scripts.ticket[k] = order_due(o, s) +
		    ((uint32_t)o->scripts.in_hand[k] ^ UINT32_C(0x80000000));
	}
	return 0;
}

static int
holes_script(struct order *o)
{
	int err;

	o->scripts.n = 0;
	if (!old_waits(o))
		return 0;
	for (unsigned s = 0; s < REC_SHARDS; s++)
		o->tally[s] = (struct shard_tally) {
			.max = -1,
			.old_max = INT32_MIN,
		};
	if ((err = each_in_hand(o, count_ticket)) != 0)
		return err;
	o->scripts.tallied = o->pass.round;
	if (!choose_shards(o))
		return 0;
	if ((err = each_in_hand(o, collect_ticket)) == 0) {
		qsort(o->scripts.in_hand, o->scripts.n, sizeof(*o->scripts.in_hand), compare_words);
		err = write_scripts(o);
	}
	if (err == -ENOMEM)	/* the next round tries again */
		o->scripts.n = 0;
	if (err != 0)
		return err == -ENOMEM ? 0 : err;
	for (unsigned s = 0; s < REC_SHARDS && err == 0; s++)
		if (o->tally[s].scripted)
			err = order_wake(o, s);
	return err;
}

static void
holes_end_scripts(struct order *o)
{
	for (size_t k = 0; k < o->scripts.n; k++) {
		unsigned s = (unsigned)(o->scripts.in_hand[k] >> 32);

		o->wait[s].script = o->wait[s].script_end = 0;
		order_touch(o, s);
	}
	o->scripts.n = 0;
}

/*
 * True for a ticket that was passed over in an earlier round, is not in hand,
 * and whose shard had no thread in flight when this round began: its thread
 * will not publish it any more.
 */
static bool
is_lost(const struct order *o, const struct ticketmap_entry *e)
{
	return e->value != 0 && (uint32_t)(e->value >> 32) != o->pass.round &&
	    (uint32_t)e->value != o->pass.round &&
	    !reader_inflight(o->reader, (unsigned)(e->key >> 32));
}

/* Counts lost tickets, if all that was seen has been delivered or counted. */
static int
holes_settle(struct order *o)
{
	uint64_t lost[ORDER_OWED_MAX];
	unsigned n = 0;
	int err = 0;

	if (order_held(o) > 0 && o->scripts.tallied != o->pass.round)
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

/*
 * Saved are: what is due, what is owed, which ranges are noted where, and how
 * far each source has been delivered.  Records in hand are read again, for
 * their room has not been given back; running them finds out which source waits
 * for what.
 */
void
order_save(const struct order *o, struct order_state *s,
    struct reader_state *rings)
{
	assert(order_can_save(o) && o->nbatch == 0);
	assert(o->nready == 0 || o->pass.step == ORDER_MERGE);
	s->round = o->pass.round;
	s->dead = o->target != ORDER_RUNNING;
	s->finished = o->target == ORDER_FINISHED;
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

/* Takes again what had been taken, bounded by the last look's times. */
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
	    o->common.slot[id - ORDER_COMMON].state == SLOT_READ;
}

/* Sources with a range under way wait; the next round runs the others. */
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
	/* No turn has come in our states; in a false one it would be missed. */
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

	o->pass.round = s->round;
	o->target = s->finished != 0 ? ORDER_FINISHED :
	    s->dead != 0 ? ORDER_DEAD : ORDER_RUNNING;
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
