#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../unwind/syscalls.h"
#include "rings.h"

/* The longest wait for a keeper that beats but takes nothing. */
#define WAIT_MAX_MS 2000
#define WAIT_SLICE_MS 20	/* between two looks at the heartbeat */

/* A change of rings costs tenths of a millisecond for pages. */
#define CALM_MS 1000
#define CALM_LOOK 4096		/* records between two looks */
#define LOOK_MS 500		/* between two looks of a thread that logs little */
#define LOOK_FIRST 16		/* records; its rate is not known yet */

uint16_t
rings_thread_index(struct ring_area *area)
{
	uint32_t n = atomic_fetch_add_explicit(&area->threads, 1,
	    memory_order_relaxed);

	return (uint16_t)(n % UINT16_MAX + 1);
}

static void
ring_taken(struct ring_area *area, unsigned i)
{
	uint32_t next = atomic_load_explicit(&area->next_ring,
	    memory_order_relaxed);

	while (next <= i &&
	    !atomic_compare_exchange_weak_explicit(&area->next_ring, &next,
		i + 1, memory_order_release, memory_order_relaxed))
		;
}

static const struct ring_tail *
tail_line(const struct joined *j, const struct ring_head *ring)
{
	return &j->keeper->tails[ring - j->area->rings];
}

static uint64_t
tail_of(const struct joined *j, const struct ring_head *ring)
{
	return atomic_load_explicit(&tail_line(j, ring)->tail,
	    memory_order_acquire);
}

/* True when all records and pairs of the ring are delivered. */
static bool
drained_records(const struct joined *j, const struct ring_head *ring)
{
	return ring != NULL &&
	    tail_of(j, ring) == atomic_load_explicit(&ring->head,
		memory_order_relaxed) &&
	    atomic_load_explicit(&tail_line(j, ring)->pairs,
		memory_order_acquire) == atomic_load_explicit(&ring->pairs,
		memory_order_relaxed);
}

/* A fork copies it, as it does the sandbox. */
static _Atomic bool all_open;
static struct ring_area *_Atomic opened;	/* has access to all of it */

void
rings_set_open(struct ring_area *area)
{
	atomic_store(&opened, area);
}

/* To all pages of the range. */
static bool
give_access(struct ring_area *area, size_t offset, size_t bytes)
{
	size_t page = libc_page();
	size_t from = offset & ~(page - 1);
	size_t to = (offset + bytes + page - 1) & ~(page - 1);

	return call_mprotect((char *)area + from, to - from,
	    PROT_READ | PROT_WRITE) == 0;
}

bool
produce_open_area(struct ring_area *area)
{
	size_t offset, bytes = ring_larger(&offset), end = offset + bytes;

	/* An ancestor's open area may have had the same address. */
	rings_set_open(NULL);
	if (!atomic_load(&all_open))
		return give_access(area, 0, offset) &&
		    give_access(area, end, ring_area_size() - end);
	if (!give_access(area, 0, ring_area_size()))
		return false;
	rings_set_open(area);
	return true;
}

void
produce_open_large_rings(void)
{
	size_t offset, bytes = ring_larger(&offset);
	struct joined j;
	int saved = errno;

	/* Once: later a filter may be there. */
	if (!atomic_exchange(&all_open, true) && joined_get(&j) &&
	    give_access(j.area, offset, bytes))
		rings_set_open(j.area);
	errno = saved;
}

void
rings_open_large(struct ring_area *area)
{
	size_t offset, bytes = ring_larger(&offset);

	(void)give_access(area, offset, bytes);
}

bool
rings_large_taken(const struct ring_area *area)
{
	size_t offset;
	uint32_t next = atomic_load_explicit(&area->next_ring,
	    memory_order_relaxed);

	for (unsigned i = 0; i < next && i < RING_COUNT; i++)
		if (ring_place(i, &offset) > RING_SMALL)
			return true;
	return false;
}

/* A sandbox that only the keeper has seen may kill for giving access. */
static bool
has_access(struct ring_area *area, unsigned i)
{
	size_t offset, records = ring_place(i, &offset);

	if (records <= RING_SMALL || atomic_load(&opened) == area)
		return true;
	return !atomic_load(&all_open) &&
	    produce_sandbox() != RING_SANDBOX_LOCKED &&
	    give_access(area, offset, records * sizeof(struct rec));
}

/*
 * A free ring of that size, or NULL.  A second ring must be drained: it will
 * follow the first, and no ring of its last owner's.
 */
static struct ring_head *
ring_claim(const struct joined *j, uint32_t capacity, uint32_t tid,
    bool second)
{
	struct ring_area *area = j->area;
	unsigned i = 0, end;

	for (size_t c = 0; c < sizeof(ring_classes) / sizeof(ring_classes[0]);
	     c++) {
		end = i + ring_classes[c].rings;
		if (ring_classes[c].capacity != capacity)
			i = end;
		for (; i < end; i++) {
			struct ring_head *ring = &area->rings[i];
			uint32_t nobody = 0;

			if (atomic_load_explicit(&ring->owner,
				memory_order_relaxed) != 0 ||
			    !atomic_compare_exchange_strong_explicit(
				&ring->owner, &nobody, tid,
				memory_order_acquire, memory_order_relaxed))
				continue;
			if (!second || drained_records(j, ring)) {
				/* First: a fork in between finds it taken. */
				ring_taken(area, i);
				if (has_access(area, i))
					return ring;
			}
			atomic_store_explicit(&ring->owner, 0,
			    memory_order_release);
		}
	}
	return NULL;
}

static uint32_t
ring_capacity(const struct ring_area *area, const struct ring_head *ring)
{
	size_t offset;

	return ring_place((unsigned)(ring - area->rings), &offset);
}

void
produce_pairs_from(struct producer *p, uint64_t head)
{
	for (unsigned s = 0; s < REC_SHARDS; s++)
		p->last_alloc[s] = (uint8_t)head;
}

static uint32_t
pair_below(const struct keeper_area *keeper)
{
	return atomic_load_explicit(&keeper->no_pairs,
	    memory_order_relaxed) != 0 ? 0 : RING_PAIR_SIZE;
}

/* Makes `ring`, one of p's, the one that p writes into. */
static void
ring_use(const struct joined *j, struct producer *p, struct ring_head *ring)
{
	unsigned i = (unsigned)(ring - j->area->rings);
	uint64_t head = atomic_load_explicit(&ring->head,
	    memory_order_relaxed);
	size_t offset;
	uint32_t capacity = ring_place(i, &offset);

	p->ring = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	p->recs = (struct rec *)((char *)j->area + offset);
	p->keeper = j->keeper;
	p->tickets = j->tickets;
	p->mask = capacity - 1;
	p->limit = 0;
	p->looked_ms = 0;
	p->bell_at = head + capacity / 4;
	p->stalled = 0;
	p->pair_below = pair_below(j->keeper);
	/* Its records may be those of an earlier thread. */
	produce_pairs_from(p, head);
	/* The pointer last: it makes the rest valid. */
	atomic_signal_fence(memory_order_seq_cst);
	p->ring = ring;
}

static NOINLINE void
forget_rings(struct producer *p)
{
	uintptr_t inside = p->inside;

	p->ring = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	memset(p, 0, sizeof(*p));
	__atomic_store_n(&p->inside, inside, __ATOMIC_RELAXED);
}

/* False if the process has not attached. */
static NOINLINE bool
take_first_ring(struct producer *p, uint32_t tid)
{
	static const uint32_t sizes[] = { RING_SMALL, RING_MIDDLE, RING_LARGE };
	struct ring_head *ring = NULL;
	struct joined j;

	if (!joined_get(&j))
		return false;
	areas_populate_tickets();
	p->era = j.era;
	p->thread = rings_thread_index(j.area);
	for (size_t i = 0; ring == NULL && i < 3; i++)
		ring = ring_claim(&j, sizes[i], tid, false);
	if (ring == NULL)
		return true;
	atomic_store_explicit(&ring->thread, p->thread, memory_order_relaxed);
	p->small = ring;
	ring_use(&j, p, ring);
	/*
	 * The next event, not this one, reads the tail first: this call needs
	 * less stack.
	 */
	if (drained_records(&j, ring))
		p->limit = atomic_load_explicit(&ring->head,
		    memory_order_relaxed) + LOOK_FIRST;
	return true;
}

void
produce_open(struct producer *p, uint32_t tid)
{
	if (p->thread != 0 || !take_first_ring(p, tid))
		return;
	produce_control(p, REC_CTL_THREAD, tid, 0);
	/* A handler has forked meanwhile: p is partly the parent's. */
	if (!produce_current(p))
		forget_rings(p);
}

static void
return_ring(struct ring_head *ring)
{
	if (ring == NULL)
		return;
	/*
	 * The thread was thrown out of an event: its ticket is lost, or in a
	 * pair not yet counted.  One too many does no harm.
	 */
	if (atomic_load_explicit(&ring->inflight, memory_order_relaxed) != 0) {
		atomic_fetch_add_explicit(&ring->pairs, 1,
		    memory_order_release);
		atomic_store_explicit(&ring->inflight, 0,
		    memory_order_release);
	}
	/* A jump out of a handler may have left it set. */
	atomic_store_explicit(&ring->waiting, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->owner, 0, memory_order_release);
}

/* Rings of an earlier era have no owner, or another's. */
void
produce_close(struct producer *p)
{
	struct ring_head *small = p->small, *large = p->large;
	bool current = produce_current(p);

	forget_rings(p);
	if (!current)
		return;
	return_ring(small);
	return_ring(large);
}

bool
produce_current(const struct producer *p)
{
	struct joined j;

	return joined_get(&j) && p->era == j.era;
}

static bool
inflight(const struct ring_head *ring)
{
	return ring != NULL && atomic_load_explicit(&ring->inflight,
	    memory_order_relaxed) != 0;
}

bool
rings_inflight(const struct producer *p)
{
	return p != NULL && (inflight(p->small) || inflight(p->large));
}

bool
produce_leave_era(struct producer *p)
{
	/* The event goes on with what it has read: p must not change. */
	if (rings_inflight(p))
		return false;
	forget_rings(p);
	return true;
}

/* The thread's second ring, taken now if needed; NULL: there is none. */
static struct ring_head *
second_ring(const struct joined *j, struct producer *p)
{
	static const uint32_t sizes[] = { RING_LARGE, RING_MIDDLE };
	uint32_t has = ring_capacity(j->area, p->small);
	uint32_t tid = atomic_load_explicit(&p->small->owner,
	    memory_order_relaxed);

	for (size_t i = 0; p->large == NULL && i < 2 && sizes[i] > has; i++)
		p->large = ring_claim(j, sizes[i], tid, true);
	return p->large;
}

/* Records of `to` from now on come after those that `from` has. */
static void
set_order_after(struct ring_area *area, struct ring_head *to,
    const struct ring_head *from)
{
	uint64_t end = atomic_load_explicit(&from->head, memory_order_relaxed);

	atomic_store_explicit(&to->from,
	    atomic_load_explicit(&to->head, memory_order_relaxed),
	    memory_order_relaxed);
	atomic_store_explicit(&to->after,
	    ring_after((unsigned)(from - area->rings), end),
	    memory_order_release);
}

/* Moves p to its other ring; signals blocked: a handler's fork would wipe p. */
static bool
change_ring(const struct joined *j, struct producer *p, struct ring_head *from)
{
	struct ring_head *to = NULL;
	int saved = errno;
	uint64_t old;

	call_block_signals(&old);
	if (p->ring == from)
		to = from == p->small ? second_ring(j, p) : p->small;
	/* True if this handler has interrupted an event there. */
	if (to != NULL && atomic_load_explicit(&to->inflight,
		memory_order_relaxed) != 0)
		to = NULL;
	if (to != NULL) {
		atomic_store_explicit(&to->thread, p->thread,
		    memory_order_relaxed);
		p->busy_ms = produce_ms(j->keeper);
		p->large_used = true;
		set_order_after(j->area, to, from);
		ring_use(j, p, to);
	}
	call_restore_signals(&old);
	errno = saved;
	return to != NULL;
}

/*
 * Returns the pages of the large ring.  The thread is in flight in the small
 * one, so handlers do not change rings, but an interrupted event may be in the
 * large one.
 */
static void
clear_large(const struct joined *j, struct producer *p)
{
	struct ring_head *large = p->large;
	size_t offset, capacity;
	int saved = errno;

	if (!drained_records(j, large) ||
	    produce_sandbox() == RING_SANDBOX_LOCKED ||
	    atomic_load_explicit(&large->inflight, memory_order_relaxed) != 0)
		return;
	capacity = ring_place((unsigned)(large - j->area->rings), &offset);
	p->large_used = false;
	call_madvise((char *)j->area + offset, capacity * sizeof(struct rec),
	    MADV_REMOVE);
	errno = saved;
}

/* Back to the small ring?  It must be drained: see ring_head.after. */
static bool
is_calm(const struct joined *j, struct producer *p, uint64_t held)
{
	uint32_t now = produce_ms(j->keeper);

	if (held > RING_SMALL / 2) {
		p->busy_ms = now;
		return false;
	}
	return now - p->busy_ms >= CALM_MS && drained_records(j, p->small);
}

void
rings_bell(struct ring_area *area)
{
	int saved = errno;

	atomic_fetch_add_explicit(&area->bell, 1, memory_order_release);
	syscall(RING_SYS_FUTEX, &area->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

/* The larger of two measures, for the clock may be missing or stand still. */
struct waited {
	bool clock;
	int64_t begun;
	int64_t counted;
};

static void
waited_begin(struct waited *w)
{
	w->counted = 0;
	w->clock = libc_clock_ms(&w->begun);
}

/* After a sleep; an interrupted one counts as 1 ms. */
static int64_t
waited_ms(struct waited *w, int error)
{
	int64_t now;

	w->counted += error == ETIMEDOUT ? WAIT_SLICE_MS : error == EINTR;
	if (!w->clock || !libc_clock_ms(&now) || now - w->begun < w->counted)
		return w->counted;
	return now - w->begun;
}

/* Ordered with the count of waiting producers, see reader_gone(). */
static bool
keeper_ready(const struct keeper_area *keeper)
{
	return atomic_load_explicit(&keeper->state, memory_order_seq_cst) ==
	    RING_KEEPER_READY;
}

static bool
keeper_gone(const struct keeper_area *keeper)
{
	return atomic_load_explicit(&keeper->state, memory_order_relaxed) ==
	    RING_KEEPER_GONE;
}

/*
 * Sleeps until the tail has reached `wanted`.  False when the keeper's state
 * forbids it or its heartbeat has stood for RING_STALL_MS.  The count of
 * waiters rises before the tail is read, and the keeper reads it after moving
 * the tail: one of them sees the other.
 */
static bool
wait_for_tail(const struct keeper_area *keeper, struct ring_head *ring,
    const struct ring_tail *tailp, uint64_t wanted)
{
	int64_t now = 0, beat_at = 0, tail_at = 0;
	struct waited waited;
	uint64_t beat = 0, last = 0;
	bool room = false;
	const struct timespec slice = {
		.tv_nsec = WAIT_SLICE_MS * 1000000L,
	};

	waited_begin(&waited);
	atomic_fetch_add_explicit(&ring->waiting, 1, memory_order_seq_cst);
	for (;;) {
		uint32_t space = atomic_load_explicit(&tailp->space,
		    memory_order_acquire);
		uint64_t tail = atomic_load_explicit(&tailp->tail,
		    memory_order_seq_cst);
		uint64_t ms = atomic_load_explicit(&keeper->ms,
		    memory_order_relaxed);

		room = (int64_t)(tail - wanted) >= 0;
		if (room || !keeper_ready(keeper))
			break;
		if (ms != beat) {
			beat = ms;
			beat_at = now;
		}
		if (tail != last) {
			last = tail;
			tail_at = now;
		}
		if (now - beat_at >= RING_STALL_MS ||
		    now - tail_at >= WAIT_MAX_MS)
			break;
		now = waited_ms(&waited, syscall(RING_SYS_FUTEX, &tailp->space,
		    FUTEX_WAIT, space, &slice, NULL, 0) == 0 ? 0 : errno);
	}
	atomic_fetch_sub_explicit(&ring->waiting, 1, memory_order_relaxed);
	return room;
}

bool
rings_drop(struct ring_head *ring)
{
	atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
	return false;
}

bool
rings_wait(const struct joined *j, struct ring_head *ring,
    const struct ring_tail *tailp, uint64_t wanted, bool *stalled)
{
	int saved = errno;
	bool room;

	*stalled = false;
	if (!keeper_ready(j->keeper))
		return false;
	rings_bell(j->area);
	room = wait_for_tail(j->keeper, ring, tailp, wanted);
	*stalled = !room && keeper_ready(j->keeper);
	errno = saved;
	return room;
}

/* Those before may still become pairs. */
static uint64_t
usable_records(const struct claim *c)
{
	return (uint64_t)c->mask + 1 - RING_PAIRS;
}

/*
 * Records until the next look: as many as in the last LOOK_MS, so that quiet threads
 * notice a dead keeper as soon as others.  A few records in a moment, as between the looks
 * of one that a keeper has asked for something, tell no rate.
 */
static uint64_t
look_pace(const struct claim *c, struct producer *p)
{
	uint64_t n = c->at - p->looked_at, records = LOOK_FIRST;
	int64_t now;

	if (!libc_clock_ms(&now))
		return UINT64_MAX;
	if (p->looked_ms != 0) {
		int32_t ms = (int32_t)((uint32_t)now - p->looked_ms);

		if (n < LOOK_FIRST && ms < LOOK_MS)
			return LOOK_FIRST - n;
		records = ms <= 0 ? UINT64_MAX : n * LOOK_MS / (uint32_t)ms;
	}
	p->looked_at = c->at;
	p->looked_ms = (uint32_t)now | 1;
	return records > 0 ? records : 1;
}

/* The next look: for the bell, a full ring, calm, or a dead keeper. */
static NOINLINE void
set_limit(const struct claim *c, struct producer *p, uint64_t tail)
{
	uint64_t quarter = ((uint64_t)c->mask + 1) / 4;
	uint64_t limit = tail + usable_records(c), records = look_pace(c, p);

	p->pair_below = pair_below(c->j.keeper);
	if (c->at - tail < quarter) {
		p->bell_at = tail + quarter;
	} else if (c->at >= p->bell_at) {
		rings_bell(c->j.area);
		p->bell_at = c->at + quarter;
	}
	if (limit > p->bell_at)
		limit = p->bell_at;
	if (c->ring == p->large && limit - c->at > CALM_LOOK)
		limit = c->at + CALM_LOOK;
	if (records > cuts_pace(&c->j))
		records = cuts_pace(&c->j);
	if (limit - c->at > records)
		limit = c->at + records;
	p->limit = limit;
}

/* The thread's other ring, or room after a wait, or a drop. */
static NOINLINE enum room
find_more(const struct claim *c, struct producer *p)
{
	uint64_t wanted = c->at + c->need - usable_records(c);
	bool stalled;

	if (c->ring == p->small && !keeper_gone(c->j.keeper) &&
	    change_ring(&c->j, p, c->ring))
		return ROOM_ELSEWHERE;
	if (rings_wait(&c->j, c->ring, tail_line(&c->j, c->ring), wanted,
		&stalled))
		return ROOM_HERE;
	if (stalled) {
		p->stalled = 1;
		p->limit = 0;
	}
	rings_drop(c->ring);
	return ROOM_NONE;
}

/* A handler may fork at any step, which zeros p: places are the claim's. */
enum room
rings_find_room(const struct claim *c, struct producer *p)
{
	uint64_t capacity = usable_records(c), tail;
	enum room room;

	atomic_signal_fence(memory_order_seq_cst);
	/* Forked: the event is not the child's.  Or rings were changed. */
	if (p->ring != c->ring)
		return p->thread == 0 ? ROOM_NONE : ROOM_ELSEWHERE;
	tail = tail_of(&c->j, c->ring);
	if (p->stalled) {
		if (c->at - tail > capacity / 2) {
			rings_drop(c->ring);
			return ROOM_NONE;
		}
		p->stalled = 0;
	}
	if (c->at + c->need - tail > capacity) {
		if ((room = find_more(c, p)) != ROOM_HERE)
			return room;
		tail = tail_of(&c->j, c->ring);
	} else if (c->ring == p->large && is_calm(&c->j, p, c->at - tail) &&
	    change_ring(&c->j, p, c->ring)) {
		return ROOM_ELSEWHERE;
	}
	if (c->ring == p->small && p->large_used)
		clear_large(&c->j, p);
	set_limit(c, p, tail);
	return ROOM_HERE;
}
