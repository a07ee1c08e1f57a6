/*
 * Feeds that outlive their keepers: whenever one is dropped, the next goes on
 * from what was committed, and all is delivered once.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../src/stream/feed/robust.h"
#include "feed_rig.h"

/* --- the world ---------------------------------------------------------------- */

/*
 * A world made by hand for feeds that outlive their keepers: threads that take
 * their steps one at a time as a seed says, and an account of all that they
 * have made, which a keeper must deliver, each once and in order, however often
 * it is replaced.
 *
 * What is kept in mind of a record stands under its number, which it carries as
 * its caller or, a control record, as its size.
 */

#define WORLD_SLOTS 64			/* addresses; of a few shards, so that they meet */
#define WORLD_SHARDS 20
#define WORLD_LAYERS 2
#define WORLD_ACTORS 8
#define WORLD_DEAD 200
#define WORLD_MADE 40000		/* records, at most */

enum world_slot { WORLD_FREE, WORLD_LIVE, WORLD_BUSY };

/* A record that has been published. */
struct world_made {
	struct rec rec;
	uint16_t actor;			/* whose thread */
	bool in_common;
	uint32_t nth;			/* of its thread in rings */
};

/* One thread: a ring or two of its own, or none. */
struct world_actor {
	struct hand hand[2];
	unsigned at;			/* which of them */
	unsigned rings;			/* 0: the common ring */
	unsigned thread;
	/* the event under way: */
	unsigned step;			/* 0: none; then that which comes next */
	struct rec rec;
	unsigned slot, layer;
	unsigned slots;			/* of the range */
	unsigned drawn;			/* tickets of the range so far */
	uint64_t claim;
	struct rec payload[RING_RANGE_SLOTS];
	unsigned npayload;
	bool undo;			/* a realloc that is going to fail */
	bool undoing;
	bool pairs;			/* it has none: the free is in its allocation's */
	bool dies;			/* between its ticket and its record */
	uint32_t nth;
	bool gone;
};

/* What a keeper has: all of it goes back to the commit when it dies. */
struct world_sink {
	uint32_t *log;			/* numbers in the order of delivery */
	size_t nlog;
	uint64_t lost[STREAM_CAUSES];
	uint64_t records;
};

struct world {
	struct stream_feed *feed;
	int fds[3];
	struct ring_area *area;
	struct keeper_area *keeper;
	void *state[2];
	struct world_sink sink, committed;
	unsigned slot;			/* which state counts; 2: none */
	uint32_t *log;
	uint64_t seed;
	int64_t now;
	uint32_t ticket[REC_SHARDS];
	unsigned slots[WORLD_SLOTS];	/* as rig_addr() has them */
	uint8_t is[WORLD_LAYERS][WORLD_SLOTS];	/* enum world_slot */
	struct world_actor actor[WORLD_ACTORS];
	struct world_made *made;
	uint32_t nmade;			/* number of the last one */
	uint64_t full;			/* events that found no room */
	uint64_t died[WORLD_DEAD];	/* tickets without records, as shard << 32 | ticket */
	unsigned ndied;
	/* how it is to go: */
	unsigned common_share, range_share, deaths, in_pass;
	/* what came of it */
	bool saved_mid_round;		/* the state that counts */
	unsigned resumed, mid_round, from_mid_round, unsaved, ungiven;
	unsigned pairs;
};

static inline uint32_t
world_random(struct world *w, uint32_t below)
{
	w->seed = w->seed * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (uint32_t)(w->seed >> 33) % below;
}

static inline uint64_t
world_addr(const struct world *w, unsigned slot)
{
	return rig_addr(w->slots[slot]);
}

/* --- what a keeper does --------------------------------------------------- */

/* The free of a pair has no caller: it is known by its ticket. */
static inline uint32_t
world_number(const struct world *w, const struct rec *r)
{
	uint32_t no = w->nmade;

	if (rec_op(r) == REC_CONTROL)
		return (uint32_t)rec_size(r);
	if (rec_caller(r) != 0)
		return (uint32_t)rec_caller(r);
	while (no > 0 && (rec_caller(&w->made[no].rec) != 0 ||
	    rec_op(&w->made[no].rec) == REC_CONTROL ||
	    rec_addr(&w->made[no].rec) != rec_addr(r) ||
	    rec_ticket(&w->made[no].rec) != rec_ticket(r)))
		no--;
	return no;
}

static inline void
world_take(struct world *w, const struct rec *r)
{
	uint32_t no = world_number(w, r);
	const struct rec *made;

	ck_assert_uint_ge(no, 1);
	ck_assert_uint_le(no, w->nmade);
	made = &w->made[no].rec;
	ck_assert_uint_eq(r->w[0], made->w[0]);
	ck_assert_uint_eq(r->w[1], made->w[1]);
	ck_assert_uint_eq(r->w[3], made->w[3]);
	if (rec_op(r) != REC_CONTROL)
		ck_assert_uint_eq(rec_ticket(r), rec_ticket(made));
	ck_assert_uint_lt(w->sink.nlog, WORLD_MADE);
	w->log[w->sink.nlog++] = no;
}

static inline void
world_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	struct world *w = arg;

	(void)near_ms;
	w->sink.records += n;
	for (size_t i = 0; i < n; i++)
		world_take(w, &r[i]);
}

static inline void world_steps(struct world *, unsigned);

/* Time goes on in the middle of a pass: what its second round sees is new. */
static inline void
world_control(void *arg, const struct rec *r, int64_t near_ms)
{
	struct world *w = arg;

	(void)near_ms;
	world_take(w, r);
	world_steps(w, w->in_pass);
}

static inline void
world_lost(void *arg, unsigned cause, uint64_t count)
{
	struct world *w = arg;

	w->sink.lost[cause] += count;
}

static const struct stream_sink world_sink_fns = {
	.records = world_records,
	.control = world_control,
	.lost = world_lost,
};

/* --- making and unmaking -------------------------------------------------- */

static inline void
world_choose_slots(struct world *w)
{
	unsigned n = 0;

	for (unsigned slot = 0; slot < RIG_SLOTS && n < WORLD_SLOTS; slot++)
		if (rec_shard(rig_addr(slot)) % (REC_SHARDS / WORLD_SHARDS) ==
		    0)
			w->slots[n++] = slot;
	ck_assert_uint_eq(n, WORLD_SLOTS);
}

static inline struct hand
world_hand(struct world *w, unsigned ring)
{
	struct hand h = { .ring = &w->area->rings[ring] };
	size_t offset;

	h.mask = ring_place(ring, &offset) - 1;
	h.recs = (struct rec *)((char *)w->area + offset);
	return h;
}

/* Threads 1 to 5 have a ring each, the sixth two, and the others none. */
static inline void
world_people(struct world *w)
{
	for (unsigned i = 0; i < WORLD_ACTORS; i++) {
		struct world_actor *a = &w->actor[i];

		a->thread = i + 1;
		a->rings = i < 5 ? 1 : i < 6 ? 2 : 0;
		if (a->rings > 0)
			a->hand[0] = world_hand(w, i);
		if (a->rings > 1)
			a->hand[1] = world_hand(w, 6);
	}
	atomic_store(&w->area->threads, WORLD_ACTORS);
	atomic_store(&w->area->next_ring, 7);
	atomic_store(&w->area->version, RING_VERSION);
	atomic_store(&w->area->magic, RING_MAGIC);
}

static inline struct world *
world_new(uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	ck_assert_ptr_nonnull(w);
	w->seed = check_seed(seed) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	w->now = 1000;
	w->slot = 2;
	w->made = calloc(WORLD_MADE + 1, sizeof(*w->made));
	w->log = calloc(WORLD_MADE, sizeof(*w->log));
	w->state[0] = calloc(1, stream_feed_state_size());
	w->state[1] = calloc(1, stream_feed_state_size());
	ck_assert(w->made != NULL && w->log != NULL && w->state[0] != NULL &&
	    w->state[1] != NULL);
	ck_assert_int_eq(stream_feed_new_persistent(&w->feed, w->fds, false,
			     &world_sink_fns, w), 0);
	stream_feed_hold(w->feed);
	w->area = rig_map(NULL, RING_ALIGN(ring_area_size()),
	    PROT_READ | PROT_WRITE, w->fds[0]);
	w->keeper = rig_map(NULL, RING_ALIGN(sizeof(struct keeper_area)),
	    PROT_READ, w->fds[1]);
	world_choose_slots(w);
	world_people(w);
	return w;
}

static inline void
world_free(struct world *w)
{
	stream_feed_free(w->feed);
	munmap(w->area, RING_ALIGN(ring_area_size()));
	munmap(w->keeper, RING_ALIGN(sizeof(struct keeper_area)));
	for (unsigned i = 0; i < 3; i++)
		close(w->fds[i]);
	free(w->made);
	free(w->log);
	free(w->state[0]);
	free(w->state[1]);
	free(w);
}

/* --- the steps of a thread ------------------------------------------------ */

static inline struct hand *
world_ring(struct world_actor *a)
{
	return &a->hand[a->at];
}

static inline uint64_t
world_tail(const struct world *w, const struct hand *h)
{
	return atomic_load(&w->keeper->tails[h->ring - w->area->rings].tail);
}

static inline struct ring_slot *
world_common(struct world *w, uint64_t n)
{
	return (struct ring_slot *)((char *)w->area + RING_SLOTS_OFFSET) +
	    n % RING_COMMON_SLOTS;
}

static inline void
world_inflight(struct world_actor *a, uint32_t word)
{
	if (a->rings > 0)
		atomic_store(&world_ring(a)->ring->inflight, word);
}

/* Records between head and tail of where it would write. */
static inline uint64_t
world_fill(const struct world *w, const struct world_actor *a)
{
	if (a->rings > 0)
		return a->hand[a->at].head - world_tail(w, &a->hand[a->at]);
	return atomic_load(&w->area->rings[RING_COMMON].head) -
	    atomic_load(&w->keeper->tails[RING_COMMON].tail);
}

/* Without room, and now and then, the event does not happen and is counted. */
static inline bool
world_room(struct world *w, struct world_actor *a, unsigned n)
{
	uint64_t capacity = a->rings > 0 ? world_ring(a)->mask + 1 - RING_PAIRS :
					   RING_COMMON_SLOTS;

	if (world_random(w, 100) != 0 && world_fill(w, a) + n <= capacity)
		return true;
	atomic_fetch_add(a->rings > 0 ? &world_ring(a)->ring->dropped :
					&w->area->rings[RING_COMMON].dropped,
	    1);
	w->full++;
	return false;
}

/* Changes to its other ring, when that is drained. */
static inline void
world_change(struct world *w, struct world_actor *a)
{
	struct hand *from = &a->hand[a->at], *to = &a->hand[!a->at];

	if (a->rings < 2 || world_tail(w, to) != to->head ||
	    atomic_load(&w->keeper->tails[to->ring - w->area->rings].pairs) !=
	    atomic_load(&to->ring->pairs))
		return;
	atomic_store(&to->ring->from, to->head);
	atomic_store(&to->ring->after,
	    ring_after((unsigned)(from->ring - w->area->rings), from->head));
	a->at = !a->at;
}

static inline bool
world_range_free(const struct world *w, unsigned first, unsigned n)
{
	for (unsigned k = first; k < WORLD_SLOTS; k++)
		if (world_addr(w, k) - world_addr(w, first) < 16 * n &&
		    w->is[1][k] == WORLD_BUSY)
			return false;
	return true;
}

static inline void
world_range_set(struct world *w, const struct world_actor *a, uint8_t is)
{
	for (unsigned k = 0; k < WORLD_SLOTS; k++)
		if (world_addr(w, k) - rec_addr(&a->rec) < rec_size(&a->rec))
			w->is[1][k] = is;
}

/* The words of an event but ticket and number. */
static inline void
world_compose(struct world *w, struct world_actor *a, unsigned op,
    unsigned low, unsigned type, uint64_t addr, uint64_t size)
{
	a->rec.w[0] = rec_w0(addr, REC_FLAGS(op, low), type);
	a->rec.w[1] = rec_w1(size, a->thread);
	a->rec.w[2] = rec_w2(0, (uint32_t)atomic_load(&w->keeper->ms));
	a->rec.w[3] = 0;
}

static inline void
world_begin_range(struct world *w, struct world_actor *a)
{
	uint64_t set[RING_RANGE_WORDS];
	unsigned slot = world_random(w, WORLD_SLOTS), n;

	a->slots = 1 + world_random(w, world_random(w, 4) == 0 ? 3000 : 60);
	if (!world_range_free(w, slot, a->slots))
		return;
	n = ring_range_shards(world_addr(w, slot), 16 * a->slots, set);
	a->npayload = (n + RING_RANGE_TICKETS - 1) / RING_RANGE_TICKETS;
	if (!world_room(w, a, 1 + a->npayload))
		return;
	world_compose(w, a, REC_RANGE, REC_LAYER_API, 0, world_addr(w, slot),
	    16 * a->slots);
	world_range_set(w, a, WORLD_BUSY);
	memset(a->payload, 0, sizeof(a->payload));
	a->drawn = 0;
	a->step = 1;
}

/* Without a ticket: a failed request, or what a thread says of itself. */
static inline void
world_begin_plain(struct world *w, struct world_actor *a)
{
	if (!world_room(w, a, 1))
		return;
	if (world_random(w, 2) == 0)
		world_compose(w, a, REC_ALLOC, REC_LEVEL_FAILED, TYPE_MALLOC, 0,
		    100);
	else
		world_compose(w, a, REC_CONTROL, 0, REC_CTL_THREAD, 4711, 0);
	a->npayload = 0;
	a->step = 1;
}

static inline void
world_begin_block(struct world *w, struct world_actor *a)
{
	unsigned slot = world_random(w, WORLD_SLOTS);
	unsigned layer = world_random(w, 3) == 0;
	unsigned low = layer != 0 ? REC_LAYER_API : 0;
	uint64_t addr = world_addr(w, slot);
	uint8_t *is = &w->is[layer][slot];

	if (*is == WORLD_BUSY || !world_room(w, a, 1))
		return;
	a->slot = slot;
	a->layer = layer;
	a->npayload = 0;
	a->undo = *is == WORLD_LIVE && layer == 0 && world_random(w, 3) == 0;
	a->dies = !a->undo && w->ndied + WORLD_ACTORS < WORLD_DEAD &&
	    a->rings > 0 && world_random(w, 400) == 0;
	if (*is == WORLD_LIVE)
		world_compose(w, a, REC_FREE, low,
		    a->undo ? TYPE_BY_REALLOC : TYPE_FREE, addr, 0);
	else
		world_compose(w, a, REC_ALLOC, low, TYPE_MALLOC, addr,
		    1 + world_random(w, 100));
	*is = WORLD_BUSY;
	a->step = 1;
}

static inline void
world_begin(struct world *w, struct world_actor *a)
{
	unsigned dice = world_random(w, 100);

	if (a->undoing) {
		if (!world_room(w, a, 1))
			return;
		world_compose(w, a, REC_UNDO, 0, TYPE_BY_REALLOC,
		    world_addr(w, a->slot), 0);
		a->step = 1;
		return;
	}
	if (w->nmade + WORLD_ACTORS >= WORLD_MADE)
		return;
	if (world_random(w, 5) == 0)
		world_change(w, a);
	if (dice < w->range_share)
		world_begin_range(w, a);
	else if (dice < w->range_share + 10)
		world_begin_plain(w, a);
	else
		world_begin_block(w, a);
}

/* Step 1: in flight; a thread without a ring claims. */
static inline void
world_enter(struct world *w, struct world_actor *a)
{
	unsigned op = rec_op(&a->rec);

	if (op == REC_RANGE || op == REC_CONTROL ||
	    rec_level(&a->rec) == REC_LEVEL_FAILED)
		world_inflight(a, RING_INFLIGHT_ALL);
	else
		world_inflight(a, rec_shard(rec_addr(&a->rec)) + 1);
	if (a->rings == 0)
		a->claim = atomic_fetch_add(&w->area->rings[RING_COMMON].head,
		    1 + a->npayload);
	a->step = 2;
}

static inline void
world_draw_range(struct world *w, struct world_actor *a)
{
	uint64_t set[RING_RANGE_WORDS];
	unsigned n = 0, upto;

	upto = a->drawn + 1 + world_random(w, 600);
	ring_range_shards(rec_addr(&a->rec), rec_size(&a->rec), set);
	for (unsigned s = 0; s < REC_SHARDS; s++) {
		uint32_t ticket;

		if (!(set[s / 64] >> s % 64 & 1))
			continue;
		if (n++ < a->drawn)
			continue;
		if (n > upto)
			return;
		ticket = w->ticket[s]++;
		a->payload[(n - 1) / RING_RANGE_TICKETS].w[(n - 1) / 2 % 4] |=
		    (uint64_t)ticket << (n % 2 == 0 ? 32 : 0);
		if (s == rec_shard(rec_addr(&a->rec)))
			a->rec.w[2] |= ticket;
		a->drawn = n;
	}
	a->step = 3;
}

/* Step 2: the ticket. */
static inline void
world_draw(struct world *w, struct world_actor *a)
{
	if (rec_op(&a->rec) == REC_RANGE) {
		world_draw_range(w, a);
		return;
	}
	if (rec_op(&a->rec) != REC_CONTROL &&
	    rec_level(&a->rec) != REC_LEVEL_FAILED)
		a->rec.w[2] |= w->ticket[rec_shard(rec_addr(&a->rec))]++;
	a->step = 3;
}

static inline void
world_number_rec(struct world *w, struct world_actor *a)
{
	struct world_made *made = &w->made[++w->nmade];

	if (rec_op(&a->rec) == REC_CONTROL)
		a->rec.w[1] = rec_w1(w->nmade, a->thread);
	else
		a->rec.w[3] = rec_w3(a->pairs ? 0 : w->nmade, 0);
	made->rec = a->rec;
	made->actor = (uint16_t)(a - w->actor);
	/* Whatever its thread did between the two, a pair is in one place. */
	made->in_common = a->rings == 0 || a->pairs;
	made->nth = made->in_common ? 0 : a->nth++;
}

/* The allocation that this free may make a pair of, or NULL. */
static inline struct rec *
world_mate(struct world_actor *a)
{
	struct hand *h = world_ring(a);

	if (a->rings == 0 || rec_op(&a->rec) != REC_FREE ||
	    rec_type(&a->rec) != TYPE_FREE || rec_layer(&a->rec) != 0)
		return NULL;
	for (uint64_t back = 1; back <= RING_PAIRS && back <= h->head; back++) {
		struct rec *r = &h->recs[(h->head - back) & h->mask];

		if (rec_op(r) == REC_ALLOC && rec_layer(r) == 0 &&
		    rec_level(r) != REC_LEVEL_FAILED &&
		    rec_addr(r) == rec_addr(&a->rec) &&
		    rec_ticket(r) + 1 == rec_ticket(&a->rec))
			return r;
	}
	return NULL;
}

static inline void
world_pair(struct world *w, struct world_actor *a, struct rec *r)
{
	__atomic_store_n(&r->w[0], r->w[0] ^
	    (uint64_t)(REC_ALLOC ^ REC_PAIR) << 52, __ATOMIC_RELAXED);
	atomic_fetch_add(&world_ring(a)->ring->pairs, 1);
	w->pairs++;
}

static inline void
world_write(struct world *w, struct world_actor *a)
{
	struct hand *h = world_ring(a);

	if (a->rings > 0) {
		h->recs[h->head++ & h->mask] = a->rec;
		for (unsigned k = 0; k < a->npayload; k++)
			h->recs[h->head++ & h->mask] = a->payload[k];
		atomic_store(&h->ring->head, h->head);
		return;
	}
	for (unsigned k = 1; k <= a->npayload; k++) {
		world_common(w, a->claim + k)->rec = a->payload[k - 1];
		atomic_store(&world_common(w, a->claim + k)->lap,
		    (a->claim + k + 1) | RING_LAP_MORE);
	}
	world_common(w, a->claim)->rec = a->rec;
	atomic_store(&world_common(w, a->claim)->lap, a->claim + 1);
}

/* Step 3: the record; what it was about is anybody's again. */
static inline void
world_publish(struct world *w, struct world_actor *a)
{
	unsigned op = rec_op(&a->rec);
	uint8_t *is = &w->is[a->layer][a->slot];
	struct rec *mate;

	a->step = 0;
	if (a->dies) {		/* its address is nobody's any more */
		a->dies = false;
		world_inflight(a, 0);
		w->died[w->ndied++] =
		    (uint64_t)rec_shard(rec_addr(&a->rec)) << 32 |
		    rec_ticket(&a->rec);
		return;
	}
	mate = world_mate(a);
	a->pairs = mate != NULL;
	world_number_rec(w, a);
	if (mate != NULL)
		world_pair(w, a, mate);
	else
		world_write(w, a);
	world_inflight(a, 0);
	if (op == REC_RANGE)
		world_range_set(w, a, WORLD_FREE);
	else if (op == REC_ALLOC && rec_level(&a->rec) != REC_LEVEL_FAILED)
		*is = WORLD_LIVE;
	else if (op == REC_UNDO)
		*is = WORLD_LIVE, a->undoing = false;
	else if (op == REC_FREE && a->undo)
		a->undoing = true;
	else if (op == REC_FREE)
		*is = WORLD_FREE;
}

static inline void
world_step(struct world *w, struct world_actor *a)
{
	switch (a->step) {
	case 0:
		world_begin(w, a);
		break;
	case 1:
		world_enter(w, a);
		break;
	case 2:
		world_draw(w, a);
		break;
	default:
		world_publish(w, a);
		break;
	}
}

static inline void
world_steps(struct world *w, unsigned n)
{
	while (n-- > 0) {
		unsigned k = world_random(w, 100) < w->common_share ?
		    6 + world_random(w, 2) : world_random(w, 6);

		world_step(w, &w->actor[k]);
	}
}

/* --- the account ---------------------------------------------------------- */

/*
 * Records of each address, and the ranges over it, come in the order of their
 * numbers.  Ranges with nothing between them may come in any order.
 */
static inline void
world_check_addresses(const struct world *w)
{
	static uint32_t last[WORLD_LAYERS][WORLD_SLOTS];	/* of any kind */
	static uint32_t block[WORLD_LAYERS][WORLD_SLOTS];	/* but ranges */

	memset(last, 0, sizeof(last));
	memset(block, 0, sizeof(block));
	for (size_t i = 0; i < w->sink.nlog; i++) {
		uint32_t no = w->log[i];
		const struct rec *r = &w->made[no].rec;
		bool range = rec_op(r) == REC_RANGE;
		unsigned layer = rec_layer(r);

		if (rec_op(r) == REC_CONTROL ||
		    rec_level(r) == REC_LEVEL_FAILED)
			continue;
		for (unsigned k = 0; k < WORLD_SLOTS; k++) {
			uint32_t *before = range ? &block[layer][k] :
						   &last[layer][k];

			if (world_addr(w, k) - rec_addr(r) >=
			    (range ? rec_size(r) : 1))
				continue;
			ck_assert_msg(no > *before,
			    "record %u was delivered after %u", no, *before);
			if (no > last[layer][k])
				last[layer][k] = no;
			if (!range)
				block[layer][k] = no;
		}
	}
}

/* A ticket that nobody drew another one after is not known to be missing. */
static inline uint64_t
world_lost_tickets(const struct world *w)
{
	uint32_t end[REC_SHARDS];
	uint64_t lost = w->ndied;

	memcpy(end, w->ticket, sizeof(end));
	for (unsigned k = w->ndied; k-- > 0;)
		if ((uint32_t)w->died[k] + 1 == end[w->died[k] >> 32]) {
			end[w->died[k] >> 32]--;
			lost--;
		}
	return lost;
}

static inline void
world_check(const struct world *w)
{
	uint32_t nth[WORLD_ACTORS] = { 0 };
	uint8_t *seen = calloc(w->nmade + 1, 1);

	for (size_t i = 0; i < w->sink.nlog; i++) {
		const struct world_made *made = &w->made[w->log[i]];

		ck_assert_msg(seen[w->log[i]]++ == 0,
		    "record %u was delivered twice", w->log[i]);
		if (!made->in_common)
			ck_assert_uint_eq(made->nth, nth[made->actor]++);
	}
	for (uint32_t no = 1; no <= w->nmade; no++)
		ck_assert_msg(seen[no] == 1, "record %u was not delivered", no);
	free(seen);
	world_check_addresses(w);
	ck_assert_uint_eq(w->sink.lost[STREAM_RING_FULL], w->full);
	ck_assert_uint_eq(w->sink.lost[STREAM_WRITER_DIED],
	    world_lost_tickets(w));
	for (unsigned c = 0; c < STREAM_CAUSES; c++)
		if (c != STREAM_RING_FULL && c != STREAM_WRITER_DIED)
			ck_assert_uint_eq(w->sink.lost[c], 0);
}

#define SEEDS (RIG_SLOW ? 8 : 20)	/* of each run */
#define RUNS 10

/* --- a keeper that dies ---------------------------------------------------- */

static void
sink_back(struct world *w)
{
	w->sink = w->committed;
}

static void
resume(struct world *w)
{
	int fds[2] = { w->fds[0], w->fds[2] };

	ck_assert_int_eq(stream_feed_resume(&w->feed, fds, w->state[w->slot],
			     &world_sink_fns, w), 0);
	w->resumed++;
}

static void
die(struct world *w)
{
	w->mid_round += stream_feed_is_behind(w->feed);
	w->from_mid_round += w->saved_mid_round;
	stream_feed_detach(w->feed);
	sink_back(w);
	resume(w);
}

/* Saves and makes it count; false in the middle of a round. */
static bool
save(struct world *w)
{
	unsigned other = w->slot == 0;

	if (!stream_feed_save(w->feed, w->state[other])) {
		ck_assert(stream_feed_is_behind(w->feed));
		return false;
	}
	w->slot = other;
	w->committed = w->sink;
	w->saved_mid_round = stream_feed_is_behind(w->feed);
	return true;
}

/* Saved, but not where it counts. */
static void
save_in_vain(struct world *w)
{
	void *state = calloc(1, stream_feed_state_size());

	ck_assert_ptr_nonnull(state);
	w->unsaved += stream_feed_save(w->feed, state);
	free(state);
}

static void
pass(struct world *w, uint64_t some)
{
	ck_assert_int_ge(stream_feed_pass(w->feed, ++w->now, some), 0);
}

/* A pass, and what may become of its keeper. */
static void
keep(struct world *w)
{
	uint32_t dice = world_random(w, 100);

	pass(w, world_random(w, 3) == 0 ? 1 + world_random(w, 200) :
	    UINT64_MAX);
	if (dice < 50 && save(w)) {
		if (dice < w->deaths) {
			w->ungiven++;
			die(w);
		} else if (dice < 45) {
			stream_feed_commit(w->feed);
		}		/* or goes on, and gives the room later */
	} else if (dice >= 50 && dice < 50 + w->deaths) {
		if (dice % 2 == 0)
			save_in_vain(w);
		die(w);
	}
}

/* --- rules ----------------------------------------------------------------- */

static void
drain(struct world *w)
{
	for (int i = 0; i < 4; i++) {
		pass(w, UINT64_MAX);
		if (save(w))
			stream_feed_commit(w->feed);
		die(w);
	}
}

/* Ends what is under way; an undoing that finds no room waits for some. */
static void
settle(struct world *w)
{
	bool busy = true;

	for (int i = 0; busy; i++) {
		ck_assert_int_lt(i, 1000);
		busy = false;
		for (unsigned k = 0; k < WORLD_ACTORS; k++) {
			struct world_actor *a = &w->actor[k];

			if (a->step == 0 && !a->undoing)
				continue;
			world_step(w, a);
			busy = true;
		}
		if (i % 10 == 9)
			drain(w);
	}
}

/* A thread draws a ticket and stands there; another one draws the next. */
static void
stop_one_in_flight(struct world *w)
{
	struct world_actor *a = &w->actor[1];
	unsigned slot = 0, shard;

	while (w->is[0][slot] == WORLD_BUSY)
		slot++;
	shard = rec_shard(world_addr(w, slot));
	world_inflight(&w->actor[0], shard + 1);
	w->died[w->ndied++] = (uint64_t)shard << 32 | w->ticket[shard]++;
	world_compose(w, a, w->is[0][slot] == WORLD_LIVE ? REC_FREE : REC_ALLOC,
	    0, TYPE_MALLOC, world_addr(w, slot), 1);
	a->slot = slot;
	a->layer = 0;
	a->npayload = 0;
	a->undo = a->dies = false;
	a->step = 1;
	while (a->step != 0)
		world_step(w, a);
}

static void
run(struct world *w, unsigned steps)
{
	ck_assert(save(w));
	for (unsigned i = 0; i < steps; i += 10) {
		world_steps(w, 10);
		if (world_random(w, 6) == 0)
			keep(w);
	}
	w->in_pass = 0;
	settle(w);
	stop_one_in_flight(w);
	drain(w);
	ck_assert_uint_eq(stream_feed_counts(w->feed)->held, 0);
	ck_assert_uint_ge(stream_feed_counts(w->feed)->owed, 1);
	ck_assert_int_ge(stream_feed_finish(w->feed, ++w->now), 0);
	/* Counted once, whoever asks again. */
	ck_assert(save(w));
	die(w);
	ck_assert_int_eq(stream_feed_finish(w->feed, ++w->now), 0);
	world_check(w);
	ck_assert_uint_eq(stream_feed_counts(w->feed)->records,
	    w->sink.records);
	ck_assert_uint_eq(stream_feed_counts(w->feed)->lost[STREAM_RING_FULL],
	    w->full);
}

CASE("Deaths", .seconds = 120);

/* Thousands of keepers in all. */
LOOP_TEST(whoever_dies_all_is_delivered_once_and_in_order, 0, RUNS)
{
	unsigned resumed = 0, mid_round = 0, unsaved = 0, ungiven = 0;
	unsigned from_mid_round = 0, pairs = 0;

	for (unsigned i = 0; i < SEEDS; i++) {
		uint64_t seed = (uint64_t)_i * SEEDS + i;
		struct world *w = world_new(seed);

		w->common_share = seed % 5 * 12;
		w->range_share = seed % 3;
		w->in_pass = 30;
		w->deaths = seed % 4 == 0 ? 30 : 6;
		run(w, seed % 10 == 0 ? 60000 : 6000);
		resumed += w->resumed;
		mid_round += w->mid_round;
		from_mid_round += w->from_mid_round;
		unsaved += w->unsaved;
		ungiven += w->ungiven;
		pairs += w->pairs;
		world_free(w);
	}
	ck_assert_uint_gt(resumed, 10 * SEEDS);
	ck_assert_uint_gt(mid_round, 0);
	ck_assert(from_mid_round > 0 || RIG_SLOW);
	ck_assert_uint_gt(unsaved, 0);
	ck_assert_uint_gt(ungiven, 0);
	ck_assert_uint_gt(pairs, SEEDS);
}

/* --- rules one by one ------------------------------------------------------ */

/* So many more records of the first thread. */
static void
make(struct world *w, unsigned n)
{
	uint32_t end = w->nmade + n;

	while (w->nmade < end || w->actor[0].step != 0)
		world_step(w, &w->actor[0]);
}

static uint64_t
first_tail(const struct world *w)
{
	return atomic_load(&w->keeper->tails[0].tail);
}

static uint32_t
keeper_state(const struct world *w)
{
	return atomic_load(&w->keeper->state);
}

CASE("Rules");

TEST(room_is_given_back_by_a_commit_alone)
{
	struct world *w = world_new(1);

	make(w, 1500);
	pass(w, UINT64_MAX);
	ck_assert_uint_ge(w->sink.nlog, 1500);
	ck_assert_uint_eq(first_tail(w), 0);
	ck_assert(save(w));
	ck_assert_uint_eq(first_tail(w), 0);
	stream_feed_commit(w->feed);
	ck_assert_uint_eq(first_tail(w), w->actor[0].hand[0].head);
	world_free(w);
}

TEST(a_commit_is_of_what_had_been_saved)
{
	struct world *w = world_new(1);
	uint64_t saved;

	make(w, 100);
	pass(w, UINT64_MAX);
	ck_assert(save(w));
	saved = w->actor[0].hand[0].head;
	make(w, 100);
	pass(w, UINT64_MAX);
	stream_feed_commit(w->feed);
	ck_assert_uint_eq(first_tail(w), saved);
	world_free(w);
}

/* Or the thread would clear what the next keeper looks at again. */
TEST(pairs_are_told_by_a_commit_as_they_were_saved)
{
	struct world *w = world_new(1);
	_Atomic uint32_t *pairs = &w->actor[0].hand[0].ring->pairs;
	const struct ring_tail *tail = &w->keeper->tails[0];
	uint32_t saved;

	make(w, 100);
	pass(w, UINT64_MAX);
	ck_assert(save(w));
	saved = atomic_load(pairs);
	ck_assert_uint_gt(saved, 0);
	make(w, 100);
	ck_assert_uint_gt(atomic_load(pairs), saved);
	pass(w, UINT64_MAX);
	stream_feed_commit(w->feed);
	ck_assert_uint_eq(atomic_load(&tail->pairs), saved);
	world_free(w);
}

TEST(a_state_behind_which_room_was_given_is_stale)
{
	struct world *w = world_new(1);
	int fds[2] = { w->fds[0], w->fds[2] };
	struct stream_feed *feed = NULL;
	void *old;

	ck_assert(save(w));
	old = w->state[w->slot];
	make(w, 100);
	pass(w, UINT64_MAX);
	ck_assert(save(w));
	stream_feed_commit(w->feed);
	ck_assert_int_eq(stream_feed_resume(&feed, fds, old, &world_sink_fns,
			     w), -ESTALE);
	ck_assert_ptr_null(feed);
	ck_assert_uint_eq(keeper_state(w), RING_KEEPER_READY);
	world_free(w);
}

TEST(a_state_of_another_build_is_refused)
{
	struct world *w = world_new(1);
	int fds[2] = { w->fds[0], w->fds[2] };
	uint32_t *words = w->state[0];
	struct stream_feed *feed;

	ck_assert(stream_feed_save(w->feed, w->state[0]));
	/* magic, version, size */
	for (unsigned i = 0; i < 3; i++) {
		words[i]++;
		ck_assert_int_eq(stream_feed_resume(&feed, fds, w->state[0],
				     &world_sink_fns, w), -EINVAL);
		words[i]--;
	}
	world_free(w);
}

static int
resume_of(struct world *w, int ring, int keeper)
{
	struct stream_feed *feed;
	int fds[2] = { ring, keeper };

	return stream_feed_resume(&feed, fds, w->state[w->slot],
	    &world_sink_fns, w);
}

CASE("Areas", .tags = TAG_KERNEL);

TEST(areas_that_are_not_ours_are_refused)
{
	struct world *w = world_new(1);
	int loose = memfd_create("loose", MFD_ALLOW_SEALING), plain[2];
	struct stream_feed *other;

	ck_assert(save(w));
	ck_assert_int_eq(ftruncate(loose,
			     (off_t)RING_ALIGN(ring_area_size())), 0);
	ck_assert_int_eq(resume_of(w, loose, w->fds[2]), -EINVAL);
	ck_assert_int_eq(resume_of(w, w->fds[2], w->fds[0]), -EINVAL);
	ck_assert_int_eq(resume_of(w, w->fds[0], w->fds[1]), -EINVAL);
	ck_assert_int_eq(resume_of(w, -1, -1), -EINVAL);
	ck_assert_int_eq(stream_feed_new(&other, plain, false, &world_sink_fns,
			     w), 0);
	ck_assert_int_eq(resume_of(w, w->fds[0], plain[1]), -EINVAL);
	ck_assert_int_eq(stream_feed_abandon(plain), -EINVAL);
	stream_feed_free(other);
	close(plain[0]);
	close(plain[1]);
	close(loose);
	world_free(w);
}

/* What any other user can do with the descriptor that a target is given. */
static int
try_as_another_user(int fd)
{
	char path[64];

	if (geteuid() == 0 && (setresuid(65534, 65534, 65534) != 0 ||
	    prctl(PR_SET_DUMPABLE, 1) != 0))
		return 1;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (open(path, O_RDWR) >= 0 || errno != EACCES)
		return 2;
	return getuid() == 65534 && (fchmod(fd, 0600) == 0 || errno != EPERM) ?
	    3 : 0;
}

TEST(a_target_cannot_write_a_kept_keeper_area)
{
	size_t size = RING_ALIGN(sizeof(struct keeper_area));
	struct world *w = world_new(1);
	int status;
	pid_t pid;

	ck_assert_ptr_eq(mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			     w->fds[1], 0), MAP_FAILED);
	ck_assert_int_eq(mprotect(w->keeper, size, PROT_READ | PROT_WRITE), -1);
	ck_assert_int_eq(ftruncate(w->fds[1], 0), -1);
	ck_assert_int_eq(fcntl(w->fds[1], F_GET_SEALS), F_SEAL_SHRINK |
	    F_SEAL_GROW | F_SEAL_SEAL);
	pid = fork();
	if (pid == 0)
		_exit(try_as_another_user(w->fds[1]));
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert_int_eq(status, 0);
	world_free(w);
}

CASE("Rules");

/* Who may write there after all spoils what he is told, and no keeper. */
TEST(a_keeper_reads_nothing_of_its_own_area)
{
	struct world *w = world_new(1);
	size_t size = RING_ALIGN(sizeof(struct keeper_area));
	uint64_t *words = rig_map(NULL, size, PROT_READ | PROT_WRITE,
	    w->fds[2]);

	for (int i = 0; i < 50; i++) {
		make(w, 20);
		for (size_t k = 0; k < size / sizeof(*words); k++)
			words[k] = UINT64_MAX;
		for (size_t k = 0; k <= RING_COUNT; k++)
			atomic_store(&((struct keeper_area *)(void *)words)
					  ->tails[k].tail,
			    atomic_load(&w->area->rings[k].head));
		pass(w, UINT64_MAX);
	}
	ck_assert_uint_eq(stream_feed_counts(w->feed)->records +
	    stream_feed_counts(w->feed)->held, w->sink.records);
	ck_assert_uint_ge(w->sink.nlog, 1000);
	munmap(words, size);
	world_free(w);
}

TEST(who_leaves_tells_the_target_nothing)
{
	struct world *w = world_new(1);
	int fds[2] = { w->fds[0], w->fds[2] };

	ck_assert(save(w));
	stream_feed_detach(w->feed);
	ck_assert_uint_eq(keeper_state(w), RING_KEEPER_READY);
	ck_assert_int_eq(stream_feed_abandon(fds), 0);
	ck_assert_uint_eq(keeper_state(w), RING_KEEPER_GONE);
	resume(w);
	ck_assert_uint_eq(keeper_state(w), RING_KEEPER_READY);
	stream_feed_detach(NULL);
	world_free(w);
}

/* What is asked of the feed before and after it is saved, 0 to 1 each. */
static const struct arming {
	const char *before, *after;
	bool armed;
} armings[] = {
	{ "", "", true },
	{ "0", "", false },
	{ "01", "", true },
	{ "", "0", false },
	{ "", "01", false },
	{ "0", "1", false },
	{ "0", "10", false },
};

static void
arm(struct world *w, const char *how)
{
	for (; *how != '\0'; how++)
		stream_feed_arm(w->feed, *how == '1', ++w->now);
}

LOOP_TEST(an_arming_that_was_not_saved_is_resumed_asleep, 0,
    sizeof(armings) / sizeof(armings[0]))
{
	const struct arming *t = &armings[_i];
	struct world *w = world_new(1);
	size_t before;

	arm(w, t->before);
	ck_assert(save(w));
	arm(w, t->after);
	die(w);
	ck_assert_int_eq(stream_feed_is_armed(w->feed), t->armed);
	ck_assert_uint_eq(atomic_load(&w->keeper->armed),
	    t->armed ? RING_ARMED : robust_word());
	ck_assert_int_eq(stream_feed_save(w->feed, w->state[0]), true);
	stream_feed_arm(w->feed, true, ++w->now);
	ck_assert_uint_eq(atomic_load(&w->keeper->armed), RING_ARMED);
	before = w->sink.nlog;
	make(w, 100);
	pass(w, UINT64_MAX);
	ck_assert_uint_ge(w->sink.nlog, before + 100);
	world_free(w);
}

/* A millisecond that was published is not published again as an arming's. */
TEST(what_was_made_before_an_arming_is_void_after_a_death_too)
{
	struct world *w = world_new(1);
	int64_t later = (int64_t)atomic_load(&w->keeper->ms) + 5000;

	stream_feed_arm(w->feed, false, w->now);
	ck_assert(save(w));
	stream_feed_beat(w->feed, later);
	make(w, 100);
	die(w);
	stream_feed_arm(w->feed, true, later);
	w->now = later;
	pass(w, UINT64_MAX);
	ck_assert_uint_eq(w->sink.records, 0);
	ck_assert_uint_gt(stream_feed_counts(w->feed)->dormant, 80);
	world_free(w);
}

/* --- damage ---------------------------------------------------------------- */

static void
ignore_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	(void)arg;
	(void)r;
	(void)n;
	(void)near_ms;
}

static void
ignore_control(void *arg, const struct rec *r, int64_t near_ms)
{
	ignore_records(arg, r, 1, near_ms);
}

static void
ignore_lost(void *arg, unsigned cause, uint64_t count)
{
	(void)arg;
	(void)count;
	ck_assert(cause > 0 && cause < STREAM_CAUSES);
}

static const struct stream_sink ignore = {
	.records = ignore_records,
	.control = ignore_control,
	.lost = ignore_lost,
};

/* A state as it was saved, and where something stands in it. */
struct victim {
	uint64_t *words;
	uint32_t *at;			/* words that are not 0 */
	size_t nwords, nat;
	struct keeper_area *keeper;	/* writable */
	struct keeper_area as_it_was;
};

static void
victim_init(struct victim *v, const struct world *w)
{
	const uint64_t *state = w->state[w->slot];

	v->nwords = stream_feed_state_size() / sizeof(*v->words);
	v->words = calloc(v->nwords, sizeof(*v->words));
	v->at = calloc(v->nwords, sizeof(*v->at));
	ck_assert(v->words != NULL && v->at != NULL);
	/* Its first two words are what tells it from another's. */
	for (size_t i = 2; i < v->nwords; i++)
		if (state[i] != 0)
			v->at[v->nat++] = (uint32_t)i;
	v->keeper = rig_map(NULL, RING_ALIGN(sizeof(struct keeper_area)),
	    PROT_READ | PROT_WRITE, w->fds[2]);
	memcpy(&v->as_it_was, v->keeper, sizeof(v->as_it_was));
}

static void
victim_fini(struct victim *v)
{
	munmap(v->keeper, RING_ALIGN(sizeof(struct keeper_area)));
	free(v->words);
	free(v->at);
}

static void
victim_renew(struct victim *v, const struct world *w)
{
	const uint64_t *state = w->state[w->slot];

	memcpy(v->keeper, &v->as_it_was, sizeof(v->as_it_was));
	v->words[0] = state[0];
	v->words[1] = state[1];
	for (size_t i = 0; i < v->nat; i++)
		v->words[v->at[i]] = state[v->at[i]];
}

/* One of the words that say something. */
static void
damage(struct world *w, struct victim *v)
{
	static const uint64_t values[] = {
		0, 1, 64, 1000, 8192, UINT32_MAX, UINT64_C(1) << 47, UINT64_MAX,
	};
	size_t at = v->at[world_random(w, (uint32_t)v->nat)];
	uint64_t *word = &v->words[at];

	switch (world_random(w, 4)) {
	case 0:
		*word = values[world_random(w, 8)];
		break;
	case 1:
		*word ^= UINT64_C(1) << world_random(w, 64);
		break;
	case 2:
		*word += world_random(w, 3) - UINT64_C(1);
		break;
	default:
		*word = v->words[v->at[world_random(w, (uint32_t)v->nat)]];
		break;
	}
}

/* Says whether it could be resumed at all. */
static bool
survives(struct world *w, const void *state)
{
	int fds[2] = { w->fds[0], w->fds[2] };
	struct stream_feed *feed;

	if (stream_feed_resume(&feed, fds, state, &ignore, NULL) != 0)
		return false;
	for (int i = 0; i < 3; i++)
		(void)stream_feed_pass(feed, ++w->now, 500);
	if (!stream_feed_is_behind(feed))
		(void)stream_feed_save(feed, w->state[w->slot == 0]);
	(void)stream_feed_finish(feed, ++w->now);
	stream_feed_detach(feed);
	return true;
}

CASE("Damage", .seconds = 120);

LOOP_TEST(a_damaged_state_ends_in_an_error_or_in_a_feed, 0, 3)
{
	unsigned survived = 0, rounds = RIG_SLOW ? 100 : 1500;
	struct world *w = world_new((uint64_t)_i);
	struct victim v = { .nat = 0 };

	w->range_share = 10;
	for (unsigned i = 0; i < 3000; i++)
		world_step(w, &w->actor[world_random(w, WORLD_ACTORS)]);
	pass(w, UINT64_MAX);
	ck_assert(save(w));
	victim_init(&v, w);
	victim_renew(&v, w);
	ck_assert(survives(w, v.words));
	for (unsigned i = 0; i < rounds; i++) {
		victim_renew(&v, w);
		for (unsigned n = world_random(w, 3); n <= 2; n++)
			damage(w, &v);
		survived += survives(w, v.words);
	}
	ck_assert_uint_gt(survived, 0);
	ck_assert_uint_lt(survived, rounds);
	victim_fini(&v);
	world_free(w);
}
