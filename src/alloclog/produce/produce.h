/*
 * produce: how a thread of the target puts its records into a ring.  Private to
 * the target side; free of malloc, stdio and locks, so that linked tests can
 * drive it.
 *
 *	produce.c	the slow path, which writes where rings.c has found room; the
 *			common ring (threads without a ring, handlers); control records
 *	rings.c		a thread's rings; when one is full: its second, larger ring, a
 *			wait, or a drop
 *	areas.c		the eras: attaching, the next keeper, forked children
 *	keeper_watch.c	notices that the keeper is gone
 *	regions.c	the regions that the program has registered
 *	sample.h	which allocations are logged: one in so many bytes
 *	cuts.c		borders between mappings, for counting references
 *
 * Vocabulary
 *	producer	a thread's state for logging, in memory that fork wipes
 *			(MADV_WIPEONFORK): a child's first event finds zeros and
 *			attaches.
 *	era		the time from one hello of a process to the next: two
 *			areas, and tickets that begin at 0.  An event ends in the
 *			era in which it began, or nowhere.
 *	tickets		REC_SHARDS counters in private memory that a fork copies:
 *			their values in the child separate what it inherited from
 *			what its parent does later.
 *	orphan		a forked child whose parent's areas are still mapped.
 *	gate		the word that an event reads first: log at all?  A fork
 *			shuts it: events wait.
 *	fast path	the way of an event whose hook reads only the gate's area
 *			and the thread's producer.
 *	bootstrap block	from the pool that serves look-ups; the real functions
 *			do not know it.
 *
 * Example (a hook)
 *	const struct keeper_area *area = produce_fast_area();
 *
 *	if (area != NULL && produce_area_asleep(area))
 *		return real.malloc(size);
 *	...
 *	produce_alloc(p, addr, size, usable, TYPE_MALLOC, 0, caller);
 *
 * Nothing fails for the caller: an event without room is counted. errno is
 * kept.  Everything may be called from a signal handler.
 */
#ifndef ALLOCLOG_PRODUCE_H
#define ALLOCLOG_PRODUCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../stream/ring.h"
#include "../unwind/libc.h"

/* Calls and loads within one object bypass its tables. */
#pragma GCC visibility push(hidden)

/* On a page that fork wipes.  NULL: sampling, or the keeper has left. */
struct produce_gate {
	_Atomic(const struct keeper_area *) keeper;
	/* The same or, with bootstrap blocks, an armed area of no producer. */
	_Atomic(const struct keeper_area *) fast_path;
	_Atomic uint32_t shut;		/* a futex; 0: open */
	_Atomic int32_t callers;	/* threads without a producer in a hook */
};

extern _Atomic(const struct produce_gate *) produce_gate;

static inline bool
produce_area_armed(const struct keeper_area *keeper)
{
	return atomic_load_explicit(&keeper->armed, memory_order_relaxed) ==
	    RING_ARMED;
}

/*
 * Not the opposite of produce_area_armed(): there is RING_LEFT.  Each hook
 * asks: compilers load an atomic word before they test it, which the processor
 * need not.
 */
static inline bool
produce_area_asleep(const struct keeper_area *keeper)
{
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
	bool asleep;

	__asm__ volatile("testl %2, %1"
	    : "=@ccz"(asleep)
	    : "m"(keeper->armed), "i"(RING_AWAKE));
	return asleep;
#else
	return (atomic_load_explicit(&keeper->armed, memory_order_relaxed) &
	    RING_AWAKE) == 0;
#endif
}

/* The area, if every event is logged while it is armed; or NULL. */
static inline const struct keeper_area *
produce_unsampled_area(void)
{
	return atomic_load_explicit(&atomic_load_explicit(&produce_gate,
	    memory_order_acquire)->keeper, memory_order_acquire);
}

static inline bool
produce_asleep(void)
{
	const struct keeper_area *keeper = produce_unsampled_area();

	return keeper != NULL && produce_area_asleep(keeper);
}

static inline const struct produce_gate *
produce_gate_now(void)
{
	return atomic_load_explicit(&produce_gate, memory_order_acquire);
}

/* The area that alone decides whether to log an event; NULL: slow path. */
static inline const struct keeper_area *
produce_gate_area(const struct produce_gate *gate)
{
	return atomic_load_explicit(&gate->fast_path, memory_order_acquire);
}

static inline const struct keeper_area *
produce_fast_area(void)
{
	return produce_gate_area(produce_gate_now());
}

/* Until produce_bootstrap_freed() later events do not take the fast path. */
void produce_bootstrap_block(void);
void produce_bootstrap_freed(void);

/*
 * This process's gate; NULL before it attaches.  While it is shut, later events
 * do not take the fast path.  One thread at a time.  produce_open_gate() opens
 * the fast path only if the gate is no longer shut.
 */
struct produce_gate *produce_own_gate(void);
void produce_shut_gate(struct produce_gate *, uint32_t word);
/* Shuts the gate.  False: another thread has shut it. */
bool produce_shut_open_gate(struct produce_gate *, uint32_t word);
void produce_open_gate(struct produce_gate *);

/* True when the process has attached and its keeper wants events now. */
bool produce_wanted(void);

/* True when the keeper has left: the slow path until there is another. */
bool produce_keeper_left(void);

/* Asleep for good, also in children.  By one thread at a time. */
void produce_disable(void);

/*
 * All zeros: has no rings.  An event only reads it, but for last_alloc:
 * whatever a handler that interrupts the event does to it (fork, a child's
 * first event, a change of rings), the event ends in the ring that it began
 * with.
 */
struct producer {
	_Alignas(64) struct rec *recs;
	struct ring_head *ring;		/* NULL: no ring */
	const struct keeper_area *keeper;
	uint64_t limit;			/* head at which to look at the tail again */
	uint64_t bell_at;		/* head at which the keeper is next rung */
	uint32_t mask;			/* capacity - 1 */
	uint16_t thread;		/* thread index */
	uint8_t level;			/* alloclog_level(), 0 not known */
	uint8_t stalled;		/* dropping until half of the ring is drained */
	bool frees;			/* frees have stacks, and so records */
	uint32_t pair_below;		/* blocks of fewer bytes may become pairs */
	struct stack_cache *stack;	/* the hooks'; NULL: return addresses are enough */
	struct ticket *tickets;		/* REC_SHARDS of its era */
	/* Used by the slow path only. */
	uint32_t era;
	struct ring_head *small;	/* first ring */
	struct ring_head *large;	/* second ring, taken when the first was full; or NULL */
	uint32_t busy_ms;		/* when the small one was last too small */
	bool large_used;		/* it may hold pages */
	uint32_t looked_ms;		/* when the tail was last read; 0: no clock, or never */
	uint64_t looked_at;		/* at which head */
	/*
	 * The stack pointer in the hook of the call in progress; 0: none.
	 * Written by the owner, read by a thread that forks.
	 */
	uintptr_t inside;
	/* By shard: the head's low byte at its last allocation, for pairs. */
	uint8_t last_alloc[REC_SHARDS];
};

struct ticket {
	_Alignas(64) _Atomic uint32_t next;
};

/*
 * Eras with address space and tickets of their own.  An event that lasts longer
 * leaves a record that the keeper finds senseless.
 */
#define PRODUCE_ERAS 4

/* Returns zeroed memory that a fork zeroes in the child; never freed.  NULL: no memory. */
void *produce_wiped(size_t size);

/*
 * The REC_SHARDS tickets of this era: private memory, which a forked child inherits.
 * NULL: no memory.
 */
struct ticket *produce_tickets_now(void);

/*
 * Attaches to two areas that the caller has mapped and keeps mapped.  `stream`
 * is the keeper's id.  Once per process, and once in a forked child.  Fails
 * (see produce_attached()) if the kernel has no MADV_WIPEONFORK, without which
 * a bare clone would write into its parent's rings.
 */
void produce_attach(struct ring_area *, const struct keeper_area *,
    uint64_t stream);

/*
 * Begins the next era: the old keeper is gone, and the areas are another's.  By
 * one thread at a time, signals blocked; the others change with their next
 * event (produce_leave_era()).  False: nothing has changed.
 *
 * The old keeper's area is first replaced by zeros: no event begins in the old
 * era any more.  Then stacks and modules are copied, for an event may have a
 * number already; then the new era becomes visible.  The old ring area stays
 * mapped for events under way.
 */
bool produce_rejoin(struct ring_area *, const struct keeper_area *,
    uint64_t stream);

/* The address for the next era's ring area; NULL: any. */
void *produce_rejoin_address(void);

/*
 * The same for the first area: over an area of an ancestor's ancestor, so that
 * processes which fork each other in a row do not take 84 MiB each.  Not over
 * the parent's, see produce_orphan().  Each address is returned once.  *bare:
 * no event can be under way in a larger ring there, so produce_open_area() will
 * do.
 */
void *produce_attach_address(bool *bare);

/* True if the address lies in a replaced area of an ancestor. */
bool produce_was_parents(uintptr_t addr);

/* Says whether the next area was mapped over another, with all access. */
void produce_set_mapped_over(struct ring_area *, bool over);

/*
 * Gives access to a new area mapped without any, except to rings larger than a
 * thread's first, which get it when taken: otherwise mlockall(2) would fill all
 * 84 MiB.  False: it failed for another reason than memory.
 */
bool produce_open_area(struct ring_area *);

/*
 * Gives access to all larger rings of this and later areas: a seccomp filter
 * that is about to be installed may kill for mprotect(2).
 */
void produce_open_large_rings(void);

/*
 * In a forked child: replaces the parent's areas by memory that nobody reads,
 * because an interrupted event may still write there.  Does nothing elsewhere
 * or the second time.  A child that does not attach calls it as early as
 * possible.
 */
void produce_orphan(void);

/* Counts a lost event, if there is a keeper. */
void produce_lost(void);

/* False before produce_attach() and in a forked child that has not attached. */
bool produce_attached(void);

/*
 * Tells the keeper that the program has called exit(3): it does not end by an
 * exec.
 */
void produce_exited(void);

/* The id of the stream; in an unattached child its parent's; 0 none. */
uint64_t produce_stream(void);

/* The keeper's last view of it; in an unattached child, of its parent. */
enum ring_sandbox produce_sandbox(void);
/* How often the keeper has looked for one. */
uint64_t produce_keeper_looks(void);
/* The keeper's heartbeat; 0 without one. */
uint64_t produce_keeper_ms(void);

/* Frames of each stack, and RING_STACK_FREES, as the keeper wants them. */
uint32_t produce_stack_wanted(void);

/* The id of this process's stream in this era; false if not attached. */
bool produce_image(uint64_t *);

/* Mean bytes between samples, as of the attaching; 0: all. */
uint64_t produce_sample_wanted(void);

/*
 * Takes a free ring for `p` and logs REC_CTL_THREAD; without one p's events use
 * the common ring.  p is the caller's, on a page that fork wipes.
 */
void produce_open(struct producer *p, uint32_t tid);

/* True when p was opened in this era. */
bool produce_current(const struct producer *p);

/* Zeros a p of an earlier era.  False: a handler has interrupted its event. */
bool produce_leave_era(struct producer *p);

/*
 * Calls keeper_watch_callback if the keeper is gone and a check is due. p:
 * this thread's, or NULL.
 */
void produce_check_keeper(const struct producer *p);

/*
 * True when p has a ring and its keeper is armed.
 *
 * An event reads the millisecond later than `armed`, so they may be of
 * different armings.  The keeper arms first and then publishes a new
 * millisecond: a thread that has read that one finds the target armed, and so
 * does the one that frees the block.
 */
static inline bool
produce_armed(const struct producer *p)
{
	const struct keeper_area *keeper = p->keeper;

	return __builtin_expect(keeper != NULL, 1) &&
	    __builtin_expect(produce_area_armed(keeper), 1);
}

/* Returns p's rings and zeros p; published records are still delivered. */
void produce_close(struct producer *p);

/* A block of the memory debug data that the stream does not have. */
struct produce_told {
	uint64_t addr, size, actual;
	uint64_t caller;	/* a return address; 0: not known */
	uint64_t age_ms;
	unsigned type;		/* enum rec_type */
	uint16_t thread;	/* produce_told_thread(), or 0 */
};

/* The number of records for which p's ring has room. */
uint32_t produce_room(const struct producer *p);
/*
 * Logs a told block; the ring needs room for one record.  holds() is called after
 * the ticket is drawn; if it returns false, the record is void.
 */
void produce_tell(struct producer *p, const struct produce_told *,
    bool (*holds)(const void *arg), const void *arg);
/*
 * Gives a thread without a ring an index, and logs it with a record.  Returns the
 * index; 0: none.
 */
uint16_t produce_told_thread(struct producer *p, uint32_t tid,
    const char name[16]);

/* A number that differs for each arming and each stream; 0: nothing is logged. */
uint64_t produce_arming(void);

/* No record before the head-th becomes a pair. */
void produce_pairs_from(struct producer *p, uint64_t head);

/* The slow path: finds room in p's ring or uses the common one. */
void produce_slow(struct producer *p, uint64_t addr, uint64_t kind,
    uint64_t size, uint64_t w3);

/* The code of usable minus requested; both are below 2^63. */
static inline unsigned
produce_overhead(uint64_t size, uint64_t usable)
{
	return rec_overhead_code(usable > size ? usable - size : 0);
}

/* Acquire: a thread that reads it sees the arming that came before. */
static inline uint32_t
produce_ms(const struct keeper_area *keeper)
{
	return (uint32_t)atomic_load_explicit(&keeper->ms,
	    memory_order_acquire);
}

/*
 * Marks p's ring in flight with `word`; NULL when p has none or is interrupted
 * in an event.  Pointers to records and tickets are read between this and
 * produce_is_unchanged().
 *
 * A handler that interrupts an event in flight keeps off its ring.  One before
 * the mark may have changed rings, and one at any time may have forked, so
 * that p is zeros or the child's: then the pointer differs at the end.
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
	/* From here on a handler sees the word and keeps off the ring. */
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
produce_is_unchanged(const struct producer *p, const struct ring_head *ring)
{
	atomic_signal_fence(memory_order_seq_cst);
	return __builtin_expect(p->ring == ring, 1);
}

static inline void
produce_leave(struct ring_head *ring, uint64_t head)
{
	atomic_store_explicit(&ring->head, head, memory_order_release);
	atomic_store_explicit(&ring->inflight, 0, memory_order_release);
}

/*
 * Draws the next ticket of a shard.  Acquire and release: a process that sees a
 * later ticket of the shard published sees this thread's in-flight word, by
 * which the keeper judges lost tickets.
 *
 * With one thread the lock prefix is left out: the instruction is atomic for
 * signal handlers, x86 keeps stores in order, and a locked one would wait for
 * all stores before it (1.4 ns of an event in churn, 8 in grow). glibc's
 * malloc does the same.
 */
static inline uint64_t
produce_draw(struct ticket *ticket)
{
#ifdef __x86_64__
	if (*libc_one_thread) {
		uint64_t n = 1;

		/* Writing the low half of a register clears the other. */
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

/* An event with a ticket. */
struct produce_event {
	struct ring_head *ring;
	uint64_t head;		/* where its record goes ... */
	struct rec *rec;	/* ... which is here */
	struct rec *alloc;	/* of a free: perhaps its allocation */
	uint64_t w2;
	unsigned shard;
};

/* The largest fast-path word; on x86-64 addresses end where sites begin. */
#ifdef __x86_64__
#define PRODUCE_FAST_MAX (REC_SITE_BASE - 1)
#else
#define PRODUCE_FAST_MAX REC_ADDR_MASK
#endif

/*
 * The steps are inlined in each hook and call nothing; if this returns false,
 * produce_slow() is left to do.
 *
 * more	other words to check, by or.
 * pairs	a free that may make a pair: finds e->alloc too.
 *
 * Places are computed before the ring is known to be still p's, so that their
 * inputs need no registers later: a free without a stack saves none (6
 * instructions).  The empty asm keeps each step in place.
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
	if (__builtin_expect((addr | more) > PRODUCE_FAST_MAX, 0) ||
	    (ring = produce_occupy(p, e->shard + 1)) == NULL)
		return false;
	e->ring = ring;
	e->head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	_Static_assert(RING_PAIRS == 256, "last_alloc has one byte");
	if (pairs) {
		last = e->head - 1;
		last -= (uint8_t)(last - p->last_alloc[e->shard]);
		__asm__("" : "+r"(last));
	}
	mask = p->mask;
	if (pairs)
		e->alloc = &p->recs[last & mask];
	e->rec = &p->recs[e->head & mask];
	__asm__("" : "+r"(e->rec));
	next = &p->tickets[e->shard];
	__asm__("" : "+r"(next));
	keeper = p->keeper;
	/* After a handler's fork the limit is the child's: no harm. */
	if (!produce_is_unchanged(p, ring) ||
	    __builtin_expect(e->head >= p->limit, 0)) {
		produce_vacate(ring);
		return false;
	}
	e->w2 = (uint64_t)produce_ms(keeper) << 32;
	e->w2 |= produce_draw(next);
	return true;
}

/*
 * Instead of produce_end(): turns the allocation of this free into a pair, if
 * it is near and no other event of its shard and no heartbeat came between:
 * then no thread had an event at this address.  last_alloc only says which of
 * the last RING_PAIRS records to look at; it may be old, wiped by a fork, or of
 * another ring.  The record itself decides, except for produce_pairs_from().
 *
 * The keeper may have read the record already; it looks again, see reader.h.
 */
static inline __attribute__((always_inline)) bool
produce_pair(const struct produce_event *e, uint64_t addr, unsigned type)
{
	/* All but op and type agree. */
	const uint64_t alloc = produce_kind(REC_ALLOC, 0, 0);
	struct rec *r = e->alloc;

	if (r->w[2] != e->w2 - 1 || (r->w[0] ^ addr) << 8 != alloc << 8)
		return false;
	/* One store: allocation or pair.  For the asm see produce_begin(). */
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
 * Before produce_end(): a free may make a pair of a small allocation.  Of another it
 * looks at the record behind it, or it would find it once in 256 times.
 */
static inline void
produce_note_alloc(struct producer *p, const struct produce_event *e,
    uint64_t size)
{
	uint64_t place = e->head;

	/* The empty asm keeps it a branch, so that small blocks cost no more. */
	if (__builtin_expect(size >= p->pair_below, 0)) {
		place++;
		__asm__("" : "+r"(place));
	}
	p->last_alloc[e->shard] = (uint8_t)place;
}

/* The record; its size fits PRODUCE_FAST_MAX. */
static inline __attribute__((always_inline)) void
produce_end(const struct produce_event *e, uint64_t w0, uint64_t size,
    uint64_t w3)
{
	uint64_t thread = atomic_load_explicit(&e->ring->thread,
	    memory_order_relaxed);
	struct rec *r = e->rec;

#ifdef __x86_64__
	/* The keeper's cache has these lines: request eight ahead. */
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

/*
 * `p` may be NULL or without a ring: the common ring is used.
 *
 * overhead	as produce_overhead(); 0 not known.
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
	produce_note_alloc(p, &e, size);
	produce_end(&e, kind | addr, size, w3);
}

/* usable	bytes that the allocator reserved; 0 not known. */
static inline __attribute__((always_inline)) void
produce_alloc(struct producer *p, uint64_t addr, uint64_t size,
    uint64_t usable, unsigned type, unsigned low, uint64_t caller)
{
	produce_block(p, addr, size, produce_overhead(size, usable), type, low,
	    caller);
}

/* An event that makes no pair. */
static inline __attribute__((always_inline)) void
produce_unpaired(struct producer *p, uint64_t addr, uint64_t kind, uint64_t size,
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

/* Before a realloc to `size` bytes. */
static inline void
produce_realloc_free(struct producer *p, uint64_t addr, uint64_t size,
    uint64_t caller)
{
	produce_unpaired(p, addr, produce_kind(REC_FREE, TYPE_BY_REALLOC, 0),
	    rec_told(size), caller);
}

/* After a realloc that failed, by the same thread. */
static inline void
produce_undo(struct producer *p, uint64_t addr, unsigned low, uint64_t caller)
{
	produce_unpaired(p, addr, produce_kind(REC_UNDO, TYPE_BY_REALLOC, low),
	    0, caller);
}

/* A failed request; `low` is the layer, the level is REC_LEVEL_FAILED. */
void produce_failed(struct producer *p, uint64_t size, unsigned type,
    unsigned low, uint64_t caller);
/* alloclog_free_range(): one ticket of each shard that it can touch. */
void produce_range(struct producer *p, uint64_t addr, uint64_t len,
    uint64_t caller);
/* Counted instead of logged: */
void produce_count_sample(void);	/* a sampled block that sample_add() refused */
void produce_count_mark(void);	/* a mark while no node listens */
void produce_count_unsure(uint32_t calls);	/* calls whose end is not known */
void produce_count_passed(void);	/* a thread at the gate stopped waiting */
/* The count of produce_count_passed(); in an unattached child the parent's. */
uint32_t produce_passed(void);
/* If there are calls that the library cannot see, tells the keeper. */
void produce_tell_past(void);
/* w1 and w2 as enum rec_control says, without thread index; takes no ticket. */
void produce_control(struct producer *p, unsigned control, uint64_t w1,
    uint64_t w2);
/* The same with all words of a region. */
void produce_region(struct producer *p, unsigned control, uint64_t addr,
    uint64_t size, uint64_t w2, uint64_t w3);

/*
 * Undoes the cuts in a range of the program's memory: mremap(2) refuses one with
 * several mappings.  False: there were none.  Keeps errno.
 */
bool produce_undo_cuts(const void *at, size_t len);

/* --- regions (regions.c) ------------------------------------------------- */

#define REGIONS_MAX 64	/* as many as a page shows */

/* Memory of which every block is named through the API. */
struct region {
	uint64_t base, size;
	uint64_t shape;		/* rec_region_shape() without the number */
	uint64_t name;		/* up to 8 bytes, padded with zeros */
};

/*
 * Begins a region and ends those that it overlaps; it enters the table even
 * without a keeper.  p as in produce_control(); `tell`: there is a keeper.
 * When the table is full the blocks of a new region are listed, its free space
 * is not.
 */
void regions_begin(struct producer *p, bool tell, const struct region *);
/* Ends the region that begins at `base`, if any. */
void regions_end(struct producer *p, bool tell, uint64_t base);
/* Reports all regions to the stream just joined. */
void regions_tell(void);

#pragma GCC visibility pop

#endif
