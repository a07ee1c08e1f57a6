/*
 * produce: how a thread of the target puts its records into a ring.  Private
 * to the target side; free of malloc, stdio and locks, so that the linked
 * tests drive it just as the preload does.
 *
 * Vocabulary
 *	producer	what one thread needs to log: lives on pages marked
 *			MADV_WIPEONFORK, so that after any kind of fork it reads
 *			as zeros and the first event of the child finds out.
 *	shared		what the process knows of its two areas; wiped likewise.
 *	era		the time from one hello of an image to the next: two
 *			areas and counters of tickets that begin at 0.  A
 *			producer belongs to the era in which it was opened; an
 *			event ends in the era in which it began, or nowhere.
 *	tickets		REC_SHARDS counters in private memory that a fork copies:
 *			their values in the child are the cut between what it
 *			inherited and what its parent did later.
 *	orphan		a forked child whose parent's areas are still mapped.
 *	gate		the word that an event looks at first: it says whether to
 *			log at all.
 *	straight	the usual way of an event: a hook reads the gate only
 *			when it says no, and the producer too when it says yes.
 *	alien		a block that the real functions do not know.
 *	left		asleep, and the keeper has gone; see ring.h.
 *
 * Example (an allocation, after the real call)
 *	struct producer *p = the thread's own, after produce_open(p, tid);
 *	produce_alloc(p, addr, size, usable, TYPE_MALLOC, 0, caller);
 *
 * Example (a hook)
 *	const struct keeper_area *way = produce_straight();
 *
 *	if (way != NULL && produce_area_asleep(way))
 *		return real.malloc(size);
 *
 * Nothing here fails for the caller: an event that finds no room is counted.
 * errno is kept.  Everything here may be called from a signal handler.
 */
#ifndef ALLOCLOG_PRODUCE_H
#define ALLOCLOG_PRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/single_threaded.h>

#include "../stream/ring.h"

/* Within one object: no call and no load goes by way of its tables. */
#pragma GCC visibility push(hidden)

/* --- the gate -------------------------------------------------------------- */

/*
 * On a page that fork wipes.  The area is set when every event is to be logged; a
 * process that samples tracks its blocks while it is dormant, so it has no short
 * cut, and neither has one that is left.
 */
struct produce_gate {
	_Atomic(const struct keeper_area *) keeper;
	/* The same or, with an alien, an armed area that no producer is of. */
	_Atomic(const struct keeper_area *) straight;
};

extern _Atomic(const struct produce_gate *) produce_gate;

static inline bool
produce_area_armed(const struct keeper_area *keeper)
{
	return atomic_load_explicit(&keeper->armed, memory_order_relaxed) ==
	    RING_ARMED;
}

/* Not the contrary of produce_area_armed(): there is RING_LEFT. */
static inline bool
produce_area_asleep(const struct keeper_area *keeper)
{
	return atomic_load_explicit(&keeper->armed, memory_order_relaxed) ==
	    RING_DORMANT;
}

/* The area, if every event is to be logged while it is armed; or NULL. */
static inline const struct keeper_area *
produce_whole(void)
{
	return atomic_load_explicit(&atomic_load_explicit(&produce_gate,
	    memory_order_acquire)->keeper, memory_order_acquire);
}

/* True when nothing is to be logged or tracked. */
static inline bool
produce_asleep(void)
{
	const struct keeper_area *keeper = produce_whole();

	return keeper != NULL && produce_area_asleep(keeper);
}

/*
 * The area that alone decides whether to log an event; NULL: look closer.  While
 * the straight way is being opened it is one that says yes, and no producer is of
 * it.
 */
static inline const struct keeper_area *
produce_straight(void)
{
	return atomic_load_explicit(&atomic_load_explicit(&produce_gate,
	    memory_order_acquire)->straight, memory_order_acquire);
}

/*
 * There is an alien until produce_alien_gone(): no event of this era that begins
 * after the return goes straight.
 */
void produce_alien(void);
void produce_alien_gone(void);

/* True when this process has joined and its keeper wants events now. */
bool produce_wanted(void);

/*
 * True when it is left.  From then on no event goes straight or is asleep, until
 * there is another keeper.
 */
bool produce_left(void);

/* Asleep for good, also in children.  By one thread at a time. */
void produce_never(void);

/* --- producers ------------------------------------------------------------- */

/*
 * One thread's side of its rings.  All zeros: has none (yet, or any more).
 * An event only reads it, but for `born`: whatever a handler that interrupts an
 * event does to it (a fork wipes it, a child's first event fills it anew, an
 * event of its own changes to the other ring), the event ends in the ring that
 * it began with.
 */
struct producer {
	_Alignas(64) struct rec *recs;	/* records of the ring */
	struct ring_head *ring;		/* NULL: no ring */
	const struct keeper_area *keeper;
	uint64_t limit;			/* head at which to look at the tail again */
	uint64_t bell_at;		/* head at which the keeper is next rung */
	uint32_t mask;			/* capacity - 1 */
	uint16_t thread;		/* thread index */
	uint8_t level;			/* what alloclog_level() last said, 0 not known */
	uint8_t stalled;		/* dropping until half of the ring is drained */
	bool frees;			/* have stacks of their own, and so records */
	uint32_t pair_below;		/* blocks of fewer bytes may become pairs */
	struct stack_cache *stack;	/* the hooks' own; NULL: return addresses are enough */
	struct ticket *tickets;		/* REC_SHARDS of them, its era's */
	/* Used by the long way only. */
	uint32_t era;
	struct ring_head *small;	/* the thread's first ring */
	struct ring_head *large;	/* its second, taken when that was full, or NULL */
	uint32_t busy_ms;		/* when the small one was last too small */
	bool large_used;		/* it may hold pages */
	uint32_t looked_ms;		/* when the tail was last looked at; 0: no clock, or never */
	uint64_t looked_at;		/* and at which head */
	/* By shard, the low byte of the count of its last allocation; of each event. */
	uint8_t born[REC_SHARDS];
};

struct ticket {
	_Alignas(64) _Atomic uint32_t next;
};

/*
 * So many eras have address space for areas, and tickets, of their own.  An event
 * that takes longer than that writes into a later era's area: the keeper finds a
 * record there that makes no sense, the program notices nothing.
 */
#define PRODUCE_ERAS 4

/*
 * REC_SHARDS for each era, the first era first; private to the process, and
 * inherited by a fork, which begins no new era.
 */
extern struct ticket produce_tickets[PRODUCE_ERAS * REC_SHARDS];

/* The tickets of this era. */
struct ticket *produce_tickets_now(void);

/*
 * Joins the two areas, mapped by the caller and kept mapped until the process
 * ends.  `stream` is the id that the keeper gave.  Called once per image, and
 * once in a forked child.  Stays out (produce_attached() is then false) where
 * the kernel has no MADV_WIPEONFORK: without it a child made by a bare clone
 * would write into its parent's rings.
 */
void produce_attach(struct ring_area *, const struct keeper_area *,
    uint64_t stream);

/*
 * Begins the next era of an image that has joined: the old keeper is gone, and the
 * two areas are another's.  By one thread at a time, signals blocked; the others
 * go on and change one by one, each with its next event: see produce_leave_era().
 * False: nothing has changed.
 *
 * The old keeper's area is replaced by zeros first: no event begins in the old era
 * any more.  Then stacks and modules are copied, for an event may have a number
 * already; only then the new era becomes visible.  The old ring area stays mapped,
 * empty but for its heads, for events under way: nobody reads what they write, and
 * no ticket of the new era is lost there.
 */
bool produce_again(struct ring_area *, const struct keeper_area *,
    uint64_t stream);

/* The address to map the next era's ring area at; NULL: any. */
void *produce_again_at(void);

/*
 * The same for the first area of an image: over an area that an ancestor's
 * ancestor left, so that processes which fork each other in a row do not take
 * 84 MiB more each (a keeper's area has some pages only).  Not over the parent's,
 * see produce_orphan().  Each address is given once.  *bare: no event can be under
 * way in a larger ring there, so produce_open_area() will do.
 */
void *produce_first_at(bool *bare);

/* Says whether the area to be joined was mapped over another, with all access. */
void produce_next_over(struct ring_area *, bool over);

/*
 * Gives access to a new area that was mapped without any, except to the rings that
 * are larger than a thread's first: those get it when one is taken.  Otherwise
 * mlockall(2), and mmap(2) after it, would fill all 84 MiB.  False: it failed for
 * another reason than memory.
 */
bool produce_open_area(struct ring_area *);

/*
 * Gives access to all larger rings of this area and of every later one: a seccomp
 * filter is about to be installed, which may kill for mprotect(2).  A larger ring
 * without access is never taken then.
 */
void produce_open_larger(void);

/*
 * In a forked child: replaces the parent's areas, at their addresses, by the
 * child's own memory, for an event that the fork interrupted may still write
 * there.  Does nothing elsewhere and the second time.  produce_attach() calls it;
 * a child that does not attach calls it as early as possible.
 */
void produce_orphan(void);

/* Counts an event as lost, if there is a keeper. */
void produce_lost(void);

/* False before produce_attach() and in a forked child that has not attached. */
bool produce_attached(void);

/*
 * The id of the stream that this process or, in a forked child that has not
 * attached yet, its parent was given; 0 if there was none.  Not wiped by fork.
 */
uint64_t produce_stream(void);

/*
 * The sandbox of this process, as its keeper last saw it; in a forked child that
 * has not attached and is no orphan yet, of its parent.
 */
enum ring_sandbox produce_sandbox(void);
/* How often the keeper has looked; produce_sandbox() is no older than this. */
uint64_t produce_looks(void);
/* The heartbeat of the same keeper; 0 without one. */
uint64_t produce_keeper_ms(void);

/* Frames wanted of each stack, and RING_STACK_FREES, as the keeper says. */
uint32_t produce_stack_wanted(void);

/* The stream's id, unique to this image and era; false if not attached. */
bool produce_image(uint64_t *);

/* Mean bytes between samples, as the keeper said when it was joined; 0: all. */
uint64_t produce_sample_wanted(void);

/*
 * Takes a free ring of the area for `p` and logs REC_CTL_THREAD; when none is
 * left, p has a thread index only and its events go to the common ring.  p
 * lies on a page that fork wipes; the caller owns it.  Nothing to do for a p
 * that has a thread index already.
 */
void produce_open(struct producer *p, uint32_t tid);

/* True when p was opened in this era. */
bool produce_current(const struct producer *p);

/*
 * Zeros a p of an earlier era, by its own thread, so that it can be opened anew.
 * False, not now, when a handler has interrupted an event of p.
 */
bool produce_leave_era(struct producer *p);

/*
 * Looks for a keeper that is gone, if a look is due, and calls keeper_watch_call
 * then.  p: of this thread, or NULL.  Keeps errno.  See keeper_watch.h.
 */
void produce_look(const struct producer *p);

/*
 * True when p has a ring and its keeper is armed.  The pointer is NULL on a
 * page that has been wiped, and set before the ring's.
 *
 * Armed is looked at when an event begins, and its millisecond is read when it
 * is logged, so both may be of different armings.  That is the keeper's affair:
 * it arms first and publishes a new millisecond then, so whoever has read that
 * one finds the target armed from then on, and so does who frees the block.
 */
static inline bool
produce_armed(const struct producer *p)
{
	const struct keeper_area *keeper = p->keeper;

	return __builtin_expect(keeper != NULL, 1) &&
	    __builtin_expect(produce_area_armed(keeper), 1);
}

/* Gives p's rings back and zeros p; published records stay to be drained. */
void produce_close(struct producer *p);

/*
 * No record before the head-th becomes a pair.  The head-th is published before
 * anything else may make one: p->born says nothing better than that one then,
 * as long as nothing is born.
 */
void produce_unborn(struct producer *p, uint64_t head);

/* --- within this header -------------------------------------------------- */

/*
 * The event by the long way: finds room in p's ring or goes by the common one.
 * What cannot be logged is counted.
 */
void produce_slow(struct producer *p, uint64_t addr, uint64_t kind,
    uint64_t size, uint64_t w3);

/*
 * Usable minus requested, in units of 16 bytes, to the nearest; both are below
 * 2^63.  Where fewer bytes are usable than were requested the difference is a
 * huge one, or by the eight of rounding less than a unit.
 */
static inline unsigned
produce_overhead(uint64_t size, uint64_t usable)
{
	uint64_t bytes = usable - size + 8;

	if (__builtin_expect(bytes >> 20 != 0, 0))
		return usable > size ? 0xffff : 0;
	return (unsigned)(bytes >> 4);
}

/* Acquire: a thread that reads it sees the target armed, if that came before. */
static inline uint32_t
produce_ms(const struct keeper_area *keeper)
{
	return (uint32_t)atomic_load_explicit(&keeper->ms,
	    memory_order_acquire);
}

/* The part of a producer that the long way needs. */
struct produce_view {
	struct rec *recs;
	uint64_t limit;
	uint32_t mask;
	uint16_t thread;
};

/*
 * p's ring, marked in flight with `word`; NULL when p has none or is
 * interrupted between two of its own steps.  What leads to the ring's records
 * and tickets is read behind this and before produce_is_still().
 *
 * A handler that interrupts an event in flight keeps off its ring and does not
 * change to it, so from the mark on p is as it is, if only it is that ring's:
 * a handler before the mark may have changed rings, and one at any time may
 * have forked, so that p reads as zeros or has been filled anew by the child.
 * In all of these cases the pointer is another one at the end.
 */
static inline struct ring_head *
produce_occupy(const struct producer *p, uint32_t word)
{
	struct ring_head *ring;

	if (__builtin_expect(p == NULL, 0))
		return NULL;
	ring = p->ring;
	if (__builtin_expect(ring == NULL, 0) ||
	    __builtin_expect(atomic_load_explicit(&ring->inflight,
		memory_order_relaxed) != 0, 0))
		return NULL;
	atomic_store_explicit(&ring->inflight, word, memory_order_relaxed);
	/* A handler from here on sees the word and keeps off this ring. */
	atomic_signal_fence(memory_order_seq_cst);
	return ring;
}

static inline void
produce_vacate(struct ring_head *ring)
{
	atomic_store_explicit(&ring->inflight, 0, memory_order_relaxed);
}

/* True when what was read belongs to that ring. */
static inline bool
produce_is_still(const struct producer *p, const struct ring_head *ring)
{
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(p->ring == ring, 1);
}

static inline struct ring_head *
produce_enter(const struct producer *p, struct produce_view *v, uint32_t word)
{
	struct ring_head *ring = produce_occupy(p, word);

	if (ring == NULL)
		return NULL;
	v->recs = p->recs;
	v->limit = p->limit;
	v->mask = p->mask;
	v->thread = p->thread;
	if (produce_is_still(p, ring))
		return ring;
	produce_vacate(ring);
	return NULL;
}

static inline void
produce_leave(struct ring_head *ring, uint64_t head)
{
	atomic_store_explicit(&ring->head, head, memory_order_release);
	atomic_store_explicit(&ring->inflight, 0, memory_order_release);
}

/*
 * Draws the next ticket of a shard.  Acquire and release, so that whoever sees
 * a later ticket of the shard published sees this thread's in-flight word too:
 * what the keeper's judgement on lost tickets rests on.
 *
 * While the process has one thread the same instruction goes without its lock
 * prefix: it is still whole against signal handlers, x86 keeps stores in order
 * for whoever reads them, and a locked one would wait for every store before
 * it, the allocator's cache misses among them (1.4 ns of an event in churn, 8
 * in grow).  glibc's own malloc leaves its locks out by the same word.
 */
static inline uint64_t
produce_draw(struct ticket *ticket)
{
#ifdef __x86_64__
	if (__libc_single_threaded) {
		uint64_t n = 1;

		/* What writes the low half of a register clears the other. */
		__asm__ volatile("xaddl %k0, %1"
		    : "+r"(n), "+m"(ticket->next)
		    :
		    : "cc", "memory");
		return n;
	}
#endif
	return atomic_fetch_add_explicit(&ticket->next, 1,
	    memory_order_acq_rel);
}

/* w0 without the address. */
static inline uint64_t
produce_kind(enum rec_op op, unsigned type, unsigned low)
{
	return rec_w0(0, REC_FLAGS(op, 0), type) | (uint64_t)low << 48;
}

/* An event with a ticket, between its steps. */
struct produce_event {
	struct ring_head *ring;
	uint64_t head;		/* where its record goes ... */
	struct rec *rec;	/* ... which is here */
	struct rec *born;	/* of a free: perhaps the allocation that it ends */
	uint64_t w2;
	unsigned shard;
};

/*
 * What none of an event's words has bits above, but for what the long way is
 * good enough for.  On this processor a program's addresses end where callers
 * are sites, so that one look is enough for all of them.
 */
#ifdef __x86_64__
#define PRODUCE_NEAR (REC_SITE_BASE - 1)
#else
#define PRODUCE_NEAR REC_ADDR_MASK
#endif

/*
 * The steps are in line in each of the hooks, and nothing is called between
 * them; all that is rare is behind a jump to produce_slow(), which is what is
 * left to do where this says false.
 *
 * more		what else is to be near, by or.
 * pairs	of a free that may make one: finds e->born, too.
 *
 * Places are found before the ring is known to be still p's, so that nothing
 * which they are found by is kept from then on: a free without a stack has
 * registers enough without saving any (6 instructions).  The empty asm keeps
 * each step where it stands, or a compiler would put it off.
 */
static inline __attribute__((always_inline)) bool
produce_begin(const struct producer *p, struct produce_event *e, uint64_t addr,
    uint64_t more, bool pairs)
{
	const struct keeper_area *keeper;
	struct ring_head *ring;
	struct ticket *next;
	uint32_t mask;
	uint64_t last;

	e->shard = rec_shard(addr);
	if (__builtin_expect((addr | more) > PRODUCE_NEAR, 0) ||
	    (ring = produce_occupy(p, e->shard + 1)) == NULL)
		return false;
	e->ring = ring;
	e->head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	_Static_assert(RING_PAIRS == 256, "born has one byte");
	if (pairs) {
		last = e->head - 1;
		last -= (uint8_t)(last - p->born[e->shard]);
		__asm__("" : "+r"(last));
	}
	mask = p->mask;
	if (pairs)
		e->born = &p->recs[last & mask];
	e->rec = &p->recs[e->head & mask];
	__asm__("" : "+r"(e->rec));
	next = &p->tickets[e->shard];
	__asm__("" : "+r"(next));
	keeper = p->keeper;
	/* The limit is a child's, if a handler has forked by now: no harm. */
	if (!produce_is_still(p, ring) ||
	    __builtin_expect(e->head >= p->limit, 0)) {
		produce_vacate(ring);
		return false;
	}
	e->w2 = (uint64_t)produce_ms(keeper) << 32;
	e->w2 |= produce_draw(next);
	return true;
}

/*
 * In place of produce_end(): makes a pair of the allocation that a free of no
 * level is about, if that is near and no other event of its shard came between,
 * nor a beat of the keeper: then nothing came between on this address, by any
 * thread, and hardly a page has had the time to ask who freed it.
 * What `born` says is only which of the last RING_PAIRS records to look at: it
 * may be of longer ago, a fork may have wiped it, and the ring may be another
 * one's.  The record itself decides, but for what produce_unborn() rules out.
 *
 * Whether the keeper has read the record is nothing that this thread can know
 * at a fair price, nor needs to: it looks again, see reader.h.
 */
static inline __attribute__((always_inline)) bool
produce_pair(const struct produce_event *e, uint64_t addr, unsigned type)
{
	/* But for the op and the type, which do not matter, all is the same. */
	const uint64_t alloc = produce_kind(REC_ALLOC, 0, 0);
	struct rec *r = e->born;

	if (r->w[2] != e->w2 - 1 || (r->w[0] ^ addr) << 8 != alloc << 8)
		return false;
	/*
	 * One store: the keeper finds an allocation or a pair.  Read again, so
	 * that no register keeps it: see produce_begin().
	 */
	__asm__("" : "+m"(r->w[0]));
	__atomic_store_n(&r->w[0], r->w[0] ^ (uint64_t)(REC_ALLOC ^
		(REC_PAIR + type - TYPE_FREE)) << 52, __ATOMIC_RELAXED);
	atomic_store_explicit(&e->ring->pairs,
	    atomic_load_explicit(&e->ring->pairs, memory_order_relaxed) + 1,
	    memory_order_release);
	atomic_store_explicit(&e->ring->inflight, 0, memory_order_release);
	return true;
}

/*
 * Before produce_end(): a free may make a pair of this, unless it is too large.
 * What is born of its shard is older then, and has another ticket.
 */
static inline void
produce_born(struct producer *p, const struct produce_event *e, uint64_t size)
{
	if (__builtin_expect(size < p->pair_below, 1))
		p->born[e->shard] = (uint8_t)e->head;
}

/* The record; its size is a near one. */
static inline __attribute__((always_inline)) void
produce_end(const struct produce_event *e, uint64_t w0, uint64_t size,
    uint64_t w3)
{
	uint64_t thread = atomic_load_explicit(&e->ring->thread,
	    memory_order_relaxed);
	struct rec *r = e->rec;

#ifdef __x86_64__
	/*
	 * The keeper has read the lines ahead, so they are in its cache: eight
	 * lines before its turn each is asked for (4 ns of an event in grow).
	 * Behind the ring's end those of another ring are, eight in a lap.
	 */
	__asm__ volatile("prefetchw 512(%0)"
	    :
	    : "r"(r));
#endif
	r->w[0] = w0;
	r->w[1] = size | thread << 48;
	r->w[2] = e->w2;
	r->w[3] = w3;
	produce_leave(e->ring, e->head + 1);
}

/* --- the events ---------------------------------------------------------- */

/*
 * `p` may be NULL or without a ring: the common ring is used, as it is when p
 * is interrupted between two of its own steps.
 *
 * overhead	as produce_overhead() says it, or 0 when not known.
 * low		level and layer, as REC_FLAGS has them.
 */
static inline __attribute__((always_inline)) void
produce_block(struct producer *p, uint64_t addr, uint64_t size,
    unsigned overhead, unsigned type, unsigned low, uint64_t caller)
{
	uint64_t kind = produce_kind(REC_ALLOC, type, low);
	uint64_t w3 = rec_w3(caller, overhead);
	struct produce_event e;

	if (__builtin_expect(!produce_begin(p, &e, addr, size, false), 0)) {
		produce_slow(p, addr, kind, size, w3);
		return;
	}
	produce_born(p, &e, size);
	produce_end(&e, kind | addr, size, w3);
}

/* usable	bytes that the allocator reserved, or 0 when not known. */
static inline __attribute__((always_inline)) void
produce_alloc(struct producer *p, uint64_t addr, uint64_t size,
    uint64_t usable, unsigned type, unsigned low, uint64_t caller)
{
	produce_block(p, addr, size, produce_overhead(size, usable), type, low,
	    caller);
}

/* An event that makes no pair and tells `size` bytes. */
static inline __attribute__((always_inline)) void
produce_other(struct producer *p, uint64_t addr, uint64_t kind, uint64_t size,
    uint64_t caller)
{
	struct produce_event e;

	if (__builtin_expect(!produce_begin(p, &e, addr, size, false), 0))
		produce_slow(p, addr, kind, size, rec_w3(caller, 0));
	else
		produce_end(&e, kind | addr, size, rec_w3(caller, 0));
}

static inline __attribute__((always_inline)) void
produce_free(struct producer *p, uint64_t addr, unsigned type, unsigned low,
    uint64_t caller)
{
	uint64_t kind = produce_kind(REC_FREE, type, low);
	bool pairs = low == 0 && type - TYPE_FREE <= REC_PAIR_LAST - REC_PAIR;
	struct produce_event e;

	if (__builtin_expect(!produce_begin(p, &e, addr, 0, pairs), 0))
		produce_slow(p, addr, kind, 0, rec_w3(caller, 0));
	else if (!pairs || p->frees || !produce_pair(&e, addr, type))
		produce_end(&e, kind | addr, 0, rec_w3(caller, 0));
}

/* Before the real realloc, which is to make `size` bytes of the block. */
static inline void
produce_moving(struct producer *p, uint64_t addr, uint64_t size,
    uint64_t caller)
{
	produce_other(p, addr, produce_kind(REC_FREE, TYPE_BY_REALLOC, 0),
	    rec_told(size), caller);
}

/* After the real realloc, by the thread that logged its free before. */
static inline void
produce_undo(struct producer *p, uint64_t addr, unsigned low, uint64_t caller)
{
	produce_other(p, addr, produce_kind(REC_UNDO, TYPE_BY_REALLOC, low), 0,
	    caller);
}

/* A request that failed; `low` is the layer, the level is REC_LEVEL_FAILED. */
void produce_failed(struct producer *p, uint64_t size, unsigned type,
    unsigned low, uint64_t caller);
/*
 * One ticket of every shard that the range can touch: a barrier for the API's
 * blocks in it.  See alloclog_free_range().
 */
void produce_range(struct producer *p, uint64_t addr, uint64_t len,
    uint64_t caller);
/* What is not logged, and counted: */
void produce_sample_full(void);	/* a sampled block that sample_keep() refused */
void produce_mark_untold(void);	/* a mark while nobody listens */
/* w1 without thread index and w2 as enum rec_control says; takes no ticket. */
void produce_control(struct producer *p, unsigned control, uint64_t w1,
    uint64_t w2);
/* The same of a region, with all its words: REC_CTL_REGION and its end. */
void produce_region(struct producer *p, unsigned control, uint64_t addr,
    uint64_t size, uint64_t w2, uint64_t w3);

#pragma GCC visibility pop

#endif
