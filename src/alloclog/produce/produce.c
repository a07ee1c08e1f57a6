/*
 * The slow path of events, the common ring, and records that are no event.
 *
 * Known limits
 *	A longjmp out of a handler that interrupted an event leaves the event's
 *	in-flight word set: the thread's later events use the common ring.
 *	A bare clone(2) in such a handler, whose child returns from the handler
 *	before it allocates: the rest of that event goes into the parent's ring.
 *	Such a handler that forks twice, whose grandchild allocates and returns
 *	from it: if its first ring lies over the event's, the rest of the event
 *	goes into it.  The keeper finds a record that makes no sense.
 */
#include <string.h>

#include "rings.h"

/* Slots of the common ring between two bells. */
#define COMMON_QUARTER (RING_COMMON_SLOTS / 4)

static struct ring_slot *
common_slots(struct ring_area *area)
{
	return (struct ring_slot *)((char *)area + RING_SLOTS_OFFSET);
}

static struct ring_slot *
common_slot(struct ring_area *area, uint64_t n)
{
	return &common_slots(area)[n % RING_COMMON_SLOTS];
}

/* True when the common ring drops without waiting, after a stall. */
static bool
common_stalled(struct shared *sh, int64_t fill)
{
	if (!atomic_load_explicit(&sh->stalled, memory_order_relaxed))
		return false;
	if (fill > RING_COMMON_SLOTS / 2)
		return true;
	atomic_store_explicit(&sh->stalled, 0, memory_order_relaxed);
	return false;
}

/*
 * Claims `need` slots after it has found room.  A claimed slot that is not yet
 * valid is in flight on every shard.  False: dropped, counted.
 */
static bool
common_claim(const struct joined *j, uint64_t need, uint64_t *claim)
{
	struct ring_head *ring = &j->area->rings[RING_COMMON];
	const struct ring_tail *tailp = &j->keeper->tails[RING_COMMON];
	uint64_t n = atomic_load_explicit(&ring->head, memory_order_relaxed);
	bool stalled;
	int64_t fill;

	for (;;) {
		/* Negative if n is too old: the exchange will fail. */
		fill = (int64_t)(n - atomic_load_explicit(&tailp->tail,
		    memory_order_acquire));
		if (common_stalled(j->sh, fill))
			return rings_drop(ring);
		if (fill + (int64_t)need > RING_COMMON_SLOTS) {
			if (!rings_wait(j, ring, tailp,
				n + need - RING_COMMON_SLOTS, &stalled)) {
				if (stalled)
					atomic_store_explicit(&j->sh->stalled,
					    1, memory_order_relaxed);
				return rings_drop(ring);
			}
			n = atomic_load_explicit(&ring->head,
			    memory_order_relaxed);
		} else if (atomic_compare_exchange_weak_explicit(&ring->head,
			&n, n + need, memory_order_acq_rel,
			memory_order_relaxed)) {
			break;
		}
	}
	if (fill >= COMMON_QUARTER &&
	    n / COMMON_QUARTER != (n + need) / COMMON_QUARTER)
		rings_bell(j->area);
	*claim = n;
	return true;
}

static void
common_publish(struct ring_area *area, uint64_t n, uint64_t more)
{
	atomic_store_explicit(&common_slot(area, n)->lap, (n + 1) | more,
	    memory_order_release);
}

/* A thread index belongs to an era. */
static uint16_t
thread_of(const struct producer *p, uint32_t era)
{
	return p == NULL || p->era != era ? 0 : p->thread;
}

/* The part of a producer that the slow path reads. */
struct producer_view {
	struct rec *recs;
	uint64_t limit;
	uint32_t mask;
	uint16_t thread;
};

static struct ring_head *
enter_ring(const struct producer *p, struct producer_view *v, uint32_t word)
{
	struct ring_head *ring = produce_occupy(p, word);

	if (ring == NULL)
		return NULL;
	v->recs = p->recs;
	v->limit = p->limit;
	v->mask = p->mask;
	v->thread = p->thread;
	if (produce_is_unchanged(p, ring))
		return ring;
	produce_vacate(ring);
	return NULL;
}

/* False: not logged, as an event that began in the era before. */
static bool
claim_get(struct claim *c, struct producer *p, uint32_t word, uint32_t need)
{
	enum room room;

	if (!joined_get(&c->j))
		return false;
	c->need = need;
	do {
		struct producer_view v;

		c->ring = enter_ring(p, &v, word);
		if (c->ring == NULL) {
			c->thread = thread_of(p, c->j.era);
			return common_claim(&c->j, need, &c->at);
		}
		if (p->era != c->j.era) {
			atomic_store_explicit(&c->ring->inflight, 0,
			    memory_order_relaxed);
			return false;
		}
		c->thread = v.thread;
		c->recs = v.recs;
		c->mask = v.mask;
		c->at = atomic_load_explicit(&c->ring->head,
		    memory_order_relaxed);
		if (need == 1 && c->at < v.limit)
			return true;
		room = rings_find_room(c, p);
		if (room == ROOM_HERE)
			return true;
		produce_leave(c->ring, c->at);
	} while (room == ROOM_ELSEWHERE);
	return false;
}

static struct rec *
claim_rec(const struct claim *c, uint32_t i)
{
	if (c->ring != NULL)
		return &c->recs[(c->at + i) & c->mask];
	return &common_slot(c->j.area, c->at + i)->rec;
}

/* The first slot of the common ring comes last: it makes the rest valid. */
static void
claim_publish(const struct claim *c)
{
	if (c->ring != NULL) {
		produce_leave(c->ring, c->at + c->need);
		return;
	}
	for (uint32_t i = 1; i < c->need; i++)
		common_publish(c->j.area, c->at + i, RING_LAP_MORE);
	common_publish(c->j.area, c->at, 0);
}

void
produce_slow(struct producer *p, uint64_t addr, uint64_t kind, uint64_t size,
    uint64_t w3)
{
	unsigned shard = rec_shard(addr);
	struct claim c;
	struct rec *r;

	if (addr > REC_ADDR_MASK) {
		if (joined_get(&c.j))
			atomic_fetch_add_explicit(&c.j.area->far_addresses, 1,
			    memory_order_relaxed);
		return;
	}
	if (claim_get(&c, p, shard + 1, 1)) {
		r = claim_rec(&c, 0);
		r->w[0] = kind | addr;
		r->w[1] = rec_w1(size, c.thread);
		r->w[3] = w3;
		r->w[2] = rec_w2((uint32_t)produce_draw(&c.j.tickets[shard]),
		    produce_ms(c.j.keeper));
		if (c.ring != NULL)
			p->last_alloc[shard] = (uint8_t)(c.at + 1);
		claim_publish(&c);
	}
	/* The event is here because its limit is reached or the ring full. */
	produce_check_keeper(p);
}

void
produce_failed(struct producer *p, uint64_t size, unsigned type, unsigned low,
    uint64_t caller)
{
	unsigned flags = REC_FLAGS(REC_ALLOC,
	    (low & REC_LAYER_API) | REC_LEVEL_FAILED);
	struct claim c;
	struct rec *r;

	if (!claim_get(&c, p, RING_INFLIGHT_ALL, 1))
		return;
	r = claim_rec(&c, 0);
	r->w[0] = rec_w0(0, flags, type);
	r->w[1] = rec_w1(size, c.thread);
	r->w[2] = rec_w2(0, produce_ms(c.j.keeper));
	r->w[3] = rec_w3(caller, 0);
	claim_publish(&c);
}

void
produce_lost(void)
{
	struct joined j;

	if (joined_get(&j))
		(void)rings_drop(&j.area->rings[RING_COMMON]);
}

void
produce_count_sample(void)
{
	struct joined j;

	if (joined_get(&j))
		atomic_fetch_add_explicit(&j.area->sample_full, 1,
		    memory_order_relaxed);
}

void
produce_count_mark(void)
{
	struct joined j;

	if (joined_get(&j))
		atomic_fetch_add_explicit(&j.area->marks_untold, 1,
		    memory_order_relaxed);
}

void
produce_count_unsure(uint32_t calls)
{
	struct joined j;

	if (calls != 0 && joined_get(&j))
		atomic_fetch_add_explicit(&j.area->unsure, calls,
		    memory_order_relaxed);
}

void
produce_count_passed(void)
{
	struct joined j;

	if (joined_get(&j))
		atomic_fetch_add_explicit(&j.area->passed, 1,
		    memory_order_seq_cst);
}

void
produce_tell_past(void)
{
	struct joined j;

	if (libc_has_namespaces() && joined_get(&j))
		atomic_store_explicit(&j.area->past, RING_PAST_NAMESPACE,
		    memory_order_relaxed);
}

void
produce_region(struct producer *p, unsigned control, uint64_t addr,
    uint64_t size, uint64_t w2, uint64_t w3)
{
	struct claim c;
	struct rec *r;

	if (!claim_get(&c, p, RING_INFLIGHT_ALL, 1))
		return;
	r = claim_rec(&c, 0);
	r->w[0] = rec_w0(addr, REC_FLAGS(REC_CONTROL, 0), control);
	r->w[1] = rec_w1(size, c.thread);
	r->w[2] = w2;
	r->w[3] = w3;
	claim_publish(&c);
	/* Blocks that lived at a mark must not become pairs. */
	if (control == REC_CTL_MARK && c.ring != NULL)
		produce_pairs_from(p, c.at);
	produce_check_keeper(p);
}

/* For a new thread, w1 is its tid and stands in place of the address. */
void
produce_control(struct producer *p, unsigned control, uint64_t w1, uint64_t w2)
{
	bool begins = control == REC_CTL_THREAD;

	produce_region(p, control, begins ? w1 : 0, begins ? 0 : w1, w2, 0);
}

/* Draws the tickets of `set` into the slots behind the record. */
static uint32_t
range_draw(const struct claim *c, const uint64_t set[RING_RANGE_WORDS],
    unsigned own)
{
	uint32_t mine = 0;
	unsigned n = 0;

	for (unsigned s = 0; s < REC_SHARDS; s++) {
		uint32_t ticket;
		uint64_t *w;

		if (!(set[s / 64] >> s % 64 & 1))
			continue;
		ticket = (uint32_t)produce_draw(&c->j.tickets[s]);
		if (s == own)
			mine = ticket;
		w = &claim_rec(c, 1 + n / RING_RANGE_TICKETS)->w[n / 2 % 4];
		*w = n % 2 ? *w | (uint64_t)ticket << 32 : ticket;
		n++;
	}
	return mine;
}

void
produce_range(struct producer *p, uint64_t addr, uint64_t len, uint64_t caller)
{
	uint64_t set[RING_RANGE_WORDS];
	struct claim c;
	struct rec *r;
	unsigned n;

	if (len == 0)
		return;
	if (addr > REC_ADDR_MASK) {
		produce_slow(p, addr, 0, 0, 0);	/* counts it */
		return;
	}
	/* A record has no room for 2^48 bytes; no block begins at 0. */
	if (addr == 0 && len > REC_ADDR_MASK)
		addr = 1;
	if (len > REC_ADDR_MASK - addr)
		len = REC_ADDR_MASK - addr + 1;
	n = ring_range_shards(addr, len, set);
	if (!claim_get(&c, p, RING_INFLIGHT_ALL,
		1 + (n + RING_RANGE_TICKETS - 1) / RING_RANGE_TICKETS))
		return;
	r = claim_rec(&c, 0);
	r->w[0] = rec_w0(addr, REC_FLAGS(REC_RANGE, REC_LAYER_API), 0);
	r->w[1] = rec_w1(len, c.thread);
	r->w[2] = rec_w2(range_draw(&c, set, rec_shard(addr)),
	    produce_ms(c.j.keeper));
	r->w[3] = rec_w3(caller, 0);
	claim_publish(&c);
}

#define TOLD_AGE_MAX_MS (UINT32_C(24) * 24 * 3600 * 1000)	/* half of what 32 bits hold */

uint64_t
produce_arming(void)
{
	struct joined j;
	uint32_t armed_ms;
	uint64_t stream;

	if (!joined_get(&j) || !produce_area_armed(j.keeper) ||
	    !produce_image(&stream) || produce_sample_wanted() != 0)
		return 0;
	armed_ms = atomic_load_explicit(&j.keeper->armed_ms,
	    memory_order_acquire);
	/* A record would be void. */
	if (armed_ms != 0 && (int32_t)(produce_ms(j.keeper) - armed_ms) < 0)
		return 0;
	return (stream ^ atomic_load_explicit(&j.keeper->armings,
	    memory_order_acquire) << 40) | 1;
}

uint32_t
produce_room(const struct producer *p)
{
	const struct ring_head *ring = p->ring;
	uint64_t used;
	struct joined j;

	if (ring == NULL || !joined_get(&j) || p->era != j.era)
		return 0;
	used = atomic_load_explicit(&ring->head, memory_order_relaxed) -
	    atomic_load_explicit(
		&j.keeper->tails[ring - j.area->rings].tail,
		memory_order_acquire);
	return used + RING_PAIRS < p->mask + 1 ?
	    (uint32_t)(p->mask + 1 - RING_PAIRS - used) : 0;
}

void
produce_tell(struct producer *p, const struct produce_told *t,
    bool (*holds)(const void *arg), const void *arg)
{
	unsigned shard = rec_shard(t->addr), type = t->type | REC_TOLD;
	uint32_t age = t->age_ms < TOLD_AGE_MAX_MS ? (uint32_t)t->age_ms :
	    TOLD_AGE_MAX_MS;
	struct claim c;
	uint32_t ticket;
	struct rec *r;

	if (t->addr > REC_ADDR_MASK || !claim_get(&c, p, shard + 1, 1))
		return;
	ticket = (uint32_t)produce_draw(&c.j.tickets[shard]);
	if (!holds(arg))
		type = TYPE_TOLD_VOID;
	r = claim_rec(&c, 0);
	r->w[0] = rec_w0(t->addr, REC_FLAGS(REC_ALLOC, 0), type);
	r->w[1] = rec_w1(t->size, t->thread);
	r->w[2] = rec_w2(ticket, (produce_ms(c.j.keeper) - age) ^ REC_TOLD_MS);
	r->w[3] = rec_w3(rec_plain_caller(t->caller),
	    produce_overhead(t->size, t->actual));
	claim_publish(&c);
	if (c.ring != NULL)
		produce_pairs_from(p, c.at + 1);
}

uint16_t
produce_told_thread(struct producer *p, uint32_t tid, const char name[16])
{
	uint16_t thread = 0;
	struct claim c;
	struct rec *r;

	if (!claim_get(&c, p, RING_INFLIGHT_ALL, 1))
		return 0;
	thread = rings_thread_index(c.j.area);
	r = claim_rec(&c, 0);
	r->w[0] = rec_w0(tid, REC_FLAGS(REC_CONTROL, 0), REC_CTL_THREAD);
	r->w[1] = rec_w1(0, thread);
	memcpy(&r->w[2], name, 16);
	claim_publish(&c);
	return thread;
}
