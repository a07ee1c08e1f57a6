/*
 * The producer's slow paths: joining the areas, taking a ring and handing it
 * back, the full ring, the bell, the common ring, and what is not an event of
 * one address.  The fast path is in produce.h.
 *
 * System calls go by syscall(2): they happen only where a thread sleeps, rings
 * or joins, and errno is put back.
 *
 * Known limits
 *	A longjmp out of a handler that had interrupted an event leaves that
 *	event's in-flight word set: the thread's later events go by the common
 *	ring.
 *	A bare clone(2), without any of libc's handlers, in a signal handler that
 *	interrupts an event, whose child then returns from the handler before
 *	it allocates: the rest of that one event goes into the parent's ring.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "produce.h"
#include "sites.h"

/*
 * A keeper whose heartbeat moves but that takes nothing out of a full ring for
 * this long is as good as gone: no target waits for ever.
 */
#define WAIT_MAX_MS 2000
#define WAIT_SLICE_MS 20	/* the heartbeat is looked at this often */

/* Slots of the common ring that can lie between two rings of the bell. */
#define COMMON_QUARTER (RING_COMMON_SLOTS / 4)

/* On a page that fork wipes. */
struct shared {
	_Atomic(struct ring_area *) area;
	_Atomic(const struct keeper_area *) keeper;
	uint64_t sample;		/* keeper->sample, read once; before area is set */
	_Atomic uint32_t stalled;	/* the common ring's producers drop */
	struct produce_gate gate;
};

struct ticket produce_tickets[REC_SHARDS];

static const struct produce_gate nowhere;
static struct keeper_area unarmed;
static const struct produce_gate shut = { .keeper = &unarmed };

_Atomic(const struct produce_gate *) produce_gate = &nowhere;

static _Atomic(struct shared *) shared_page;

/* Copied by fork: the areas that an orphan still has, and its parent's id. */
static struct ring_area *mapped_area;
static const struct keeper_area *mapped_keeper;
static uint64_t stream_id;

#ifndef SYS_clock_gettime64	/* where a time has 64 bits anyhow */
#define SYS_clock_gettime64 SYS_clock_gettime
#endif

/* The monotonic clock; where a sandbox keeps it from us, `otherwise`. */
static int64_t
clock_ms(int64_t otherwise)
{
	struct timespec ts;

	if (syscall(SYS_clock_gettime64, CLOCK_MONOTONIC, &ts) != 0)
		return otherwise;
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

static void
ring_bell(struct ring_area *area)
{
	int saved = errno;

	atomic_fetch_add_explicit(&area->bell, 1, memory_order_release);
	syscall(RING_SYS_FUTEX, &area->bell, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	errno = saved;
}

/*
 * The areas that this process has joined: both or none, also when a handler
 * forks, or another thread attaches, between the two reads.
 */
struct joined {
	struct shared *sh;
	const struct keeper_area *keeper;
	struct ring_area *area;
};

static bool
joined_get(struct joined *j)
{
	j->sh = atomic_load_explicit(&shared_page, memory_order_acquire);
	if (j->sh == NULL)
		return false;
	j->keeper = atomic_load_explicit(&j->sh->keeper, memory_order_acquire);
	j->area = atomic_load_explicit(&j->sh->area, memory_order_acquire);
	return j->keeper != NULL && j->area != NULL;
}

static struct ring_slot *
common_slots(struct ring_area *area)
{
	return (struct ring_slot *)((char *)area + RING_SLOTS_OFFSET);
}

/* --- joining ------------------------------------------------------------- */

static struct shared *
shared_map(void)
{
	struct shared *sh;
	void *page;

	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return NULL;
	if (madvise(page, 4096, MADV_WIPEONFORK) != 0) {
		munmap(page, 4096);
		return NULL;
	}
	sh = page;
	atomic_store_explicit(&shared_page, sh, memory_order_release);
	atomic_store_explicit(&produce_gate, &sh->gate, memory_order_release);
	return sh;
}

static bool
replace(void *addr, size_t size)
{
	return mmap(addr, size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) !=
	    MAP_FAILED;
}

void
produce_orphan(void)
{
	struct keeper_area *keeper;
	int saved = errno;

	if (mapped_area == NULL || produce_attached())
		return;
	sites_detach();
	(void)replace(mapped_area, RING_ALIGN(ring_area_size()));
	keeper = (struct keeper_area *)(uintptr_t)mapped_keeper;
	/* An event that the fork interrupted must not take it for dormant. */
	if (replace(keeper, RING_ALIGN(sizeof(*keeper))))
		atomic_store_explicit(&keeper->armed, 1, memory_order_relaxed);
	mapped_area = NULL;
	mapped_keeper = NULL;
	errno = saved;
}

void
produce_attach(struct ring_area *area, const struct keeper_area *keeper,
    uint64_t stream)
{
	struct shared *sh = atomic_load_explicit(&shared_page,
	    memory_order_acquire);
	int saved = errno;

	produce_orphan();
	if (sh == NULL)
		sh = shared_map();
	errno = saved;
	if (sh == NULL)
		return;
	mapped_area = area;
	mapped_keeper = keeper;
	stream_id = stream;
	atomic_store_explicit(&area->version, RING_VERSION,
	    memory_order_relaxed);
	atomic_store_explicit(&area->magic, RING_MAGIC, memory_order_release);
	sites_attach(area);
	sh->sample = atomic_load_explicit(&keeper->sample,
	    memory_order_relaxed);
	atomic_store_explicit(&sh->keeper, keeper, memory_order_relaxed);
	atomic_store_explicit(&sh->area, area, memory_order_release);
	if (sh->sample == 0)
		atomic_store_explicit(&sh->gate.keeper, keeper,
		    memory_order_release);
}

bool
produce_attached(void)
{
	struct joined j;

	return joined_get(&j);
}

uint64_t
produce_stream(void)
{
	return stream_id;
}

uint32_t
produce_stack_wanted(void)
{
	struct joined j;

	return joined_get(&j) ? atomic_load_explicit(&j.keeper->stack,
	    memory_order_relaxed) : 0;
}

uint64_t
produce_sample_wanted(void)
{
	struct joined j;

	return joined_get(&j) ? j.sh->sample : 0;
}

void
produce_never(void)
{
	atomic_store_explicit(&produce_gate, &shut, memory_order_release);
}

bool
produce_wanted(void)
{
	struct joined j;

	return joined_get(&j) && produce_area_armed(j.keeper);
}

/* --- a ring for a thread ------------------------------------------------- */

static uint16_t
thread_index(struct ring_area *area)
{
	uint32_t n = atomic_fetch_add_explicit(&area->threads, 1,
	    memory_order_relaxed);

	return (uint16_t)(n % UINT16_MAX + 1);
}

/* Moves the count of rings ever taken past ring i. */
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

static int
ring_claim(struct ring_area *area, uint32_t tid)
{
	for (unsigned i = 0; i < RING_COUNT; i++) {
		uint32_t nobody = 0;

		if (atomic_load_explicit(&area->rings[i].owner,
			memory_order_relaxed) == 0 &&
		    atomic_compare_exchange_strong_explicit(
			&area->rings[i].owner, &nobody, tid,
			memory_order_acquire, memory_order_relaxed)) {
			ring_taken(area, i);
			return (int)i;
		}
	}
	return -1;
}

void
produce_open(struct producer *p, uint32_t tid)
{
	struct ring_head *ring;
	struct joined j;
	uint32_t capacity;
	size_t offset;
	int i;

	if (p->thread != 0 || !joined_get(&j))
		return;
	p->thread = thread_index(j.area);
	if ((i = ring_claim(j.area, tid)) >= 0) {
		ring = &j.area->rings[i];
		capacity = ring_place((unsigned)i, &offset);
		atomic_store_explicit(&ring->thread, p->thread,
		    memory_order_relaxed);
		p->recs = (struct rec *)((char *)j.area + offset);
		p->tailp = &j.keeper->tails[i];
		p->keeper = j.keeper;
		p->mask = capacity - 1;
		p->limit = 0;
		p->bell_at = atomic_load_explicit(&ring->head,
		    memory_order_relaxed) + capacity / 4;
		p->stalled = 0;
		/* The pointer last: it is what makes the rest valid. */
		atomic_signal_fence(memory_order_seq_cst);
		p->ring = ring;
	}
	produce_control(p, REC_CTL_THREAD, tid, 0);
}

void
produce_close(struct producer *p)
{
	struct ring_head *ring = p->ring;

	p->ring = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	memset(p, 0, sizeof(*p));
	if (ring == NULL)
		return;
	/* Set if this thread was thrown out of an event: its ticket is lost. */
	atomic_store_explicit(&ring->inflight, 0, memory_order_relaxed);
	atomic_store_explicit(&ring->owner, 0, memory_order_release);
}

/* --- a full ring --------------------------------------------------------- */

static bool
keeper_ready(const struct keeper_area *keeper)
{
	return atomic_load_explicit(&keeper->state, memory_order_relaxed) ==
	    RING_KEEPER_READY;
}

/*
 * Sleeps until the tail has reached `wanted`.  False when the keeper's state
 * forbids to wait or its heartbeat has stood for RING_STALL_MS.  The count of
 * waiting producers goes up before the tail is read, and the keeper reads it
 * after it has moved the tail: one of the two sees the other.
 */
static bool
wait_for_tail(const struct keeper_area *keeper, struct ring_head *ring,
    const struct ring_tail *tailp, uint64_t wanted)
{
	int64_t now = clock_ms(0), beat_at = now, tail_at = now;
	uint64_t beat = 0, last = 0;
	bool room = false;
	const struct timespec slice = {
		.tv_nsec = WAIT_SLICE_MS * 1000000L,
	};

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
		syscall(RING_SYS_FUTEX, &tailp->space, FUTEX_WAIT, space, &slice,
		    NULL, 0);
		now = clock_ms(now + WAIT_SLICE_MS);
	}
	atomic_fetch_sub_explicit(&ring->waiting, 1, memory_order_relaxed);
	return room;
}

static bool
drop(struct ring_head *ring)
{
	atomic_fetch_add_explicit(&ring->dropped, 1, memory_order_relaxed);
	return false;
}

/*
 * Rings the keeper and waits for room in a full ring.  *stalled is set when
 * that was in vain: then nobody waits until half of the ring is drained.
 */
static bool
wait_for_room(const struct joined *j, struct ring_head *ring,
    const struct ring_tail *tailp, uint64_t wanted, bool *stalled)
{
	int saved = errno;
	bool room;

	*stalled = false;
	if (!keeper_ready(j->keeper))
		return false;
	ring_bell(j->area);
	room = wait_for_tail(j->keeper, ring, tailp, wanted);
	*stalled = !room && keeper_ready(j->keeper);
	errno = saved;
	return room;
}

/*
 * Makes sure of room for `need` records behind `head` in p's ring, and sets
 * the limit up to which nobody needs to look again.  False: dropped, counted.
 */
static bool
ring_room(const struct joined *j, struct producer *p, struct ring_head *ring,
    uint64_t head, uint32_t need)
{
	const struct ring_tail *tailp = p->tailp;
	uint64_t capacity = (uint64_t)p->mask + 1, quarter = capacity / 4, tail;
	bool stalled;

	atomic_signal_fence(memory_order_seq_cst);
	/* A fork has come between: this event is not the child's to log. */
	if (p->ring != ring)
		return false;
	tail = atomic_load_explicit(&tailp->tail, memory_order_acquire);
	if (p->stalled) {
		if (head - tail > capacity / 2)
			return drop(ring);
		p->stalled = 0;
	}
	if (head + need - tail > capacity) {
		if (!wait_for_room(j, ring, tailp, head + need - capacity,
			&stalled)) {
			if (stalled) {
				p->stalled = 1;
				p->limit = 0;
			}
			return drop(ring);
		}
		tail = atomic_load_explicit(&tailp->tail, memory_order_acquire);
	}
	if (head - tail < quarter) {
		p->bell_at = tail + quarter;
	} else if (head >= p->bell_at) {
		ring_bell(j->area);
		p->bell_at = head + quarter;
	}
	p->limit = tail + capacity < p->bell_at ? tail + capacity : p->bell_at;
	return true;
}

/* --- the common ring ----------------------------------------------------- */

static struct ring_slot *
common_slot(struct ring_area *area, uint64_t n)
{
	return &common_slots(area)[n % RING_COMMON_SLOTS];
}

/* Whether the common ring drops without waiting, after a stall. */
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
 * Claims `need` slots in a row: room first, then the claim.  A slot claimed
 * and not yet valid is in flight on every shard.  False: dropped, counted.
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
		/* Below 0 when n is the older of the two: the claim tells. */
		fill = (int64_t)(n - atomic_load_explicit(&tailp->tail,
		    memory_order_acquire));
		if (common_stalled(j->sh, fill))
			return drop(ring);
		if (fill + (int64_t)need > RING_COMMON_SLOTS) {
			if (!wait_for_room(j, ring, tailp,
				n + need - RING_COMMON_SLOTS, &stalled)) {
				if (stalled)
					atomic_store_explicit(&j->sh->stalled,
					    1, memory_order_relaxed);
				return drop(ring);
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
		ring_bell(j->area);
	*claim = n;
	return true;
}

static void
common_publish(struct ring_area *area, uint64_t n, uint64_t more)
{
	atomic_store_explicit(&common_slot(area, n)->lap, (n + 1) | more,
	    memory_order_release);
}

static uint16_t
thread_of(const struct producer *p)
{
	return p == NULL ? 0 : p->thread;
}

/* --- events by the long way, and what is none of one address ------------- */

/*
 * Slots in a row, claimed in p's ring or in the common one, for one record and
 * what follows it.
 */
struct claim {
	struct joined j;
	struct ring_head *ring;		/* NULL: in the common ring */
	struct rec *recs;
	uint64_t at;
	uint32_t mask, need;
	uint16_t thread;
};

/* Room for `need` slots, in flight with `word`.  False: nothing is logged. */
static bool
claim_get(struct claim *c, struct producer *p, uint32_t word, uint32_t need)
{
	struct produce_view v;

	if (!joined_get(&c->j))
		return false;
	c->need = need;
	c->ring = produce_enter(p, &v, word);
	if (c->ring == NULL) {
		c->thread = thread_of(p);
		return common_claim(&c->j, need, &c->at);
	}
	c->thread = v.thread;
	c->recs = v.recs;
	c->mask = v.mask;
	c->at = atomic_load_explicit(&c->ring->head, memory_order_relaxed);
	if ((need > 1 || c->at >= v.limit) &&
	    !ring_room(&c->j, p, c->ring, c->at, need)) {
		produce_leave(c->ring, c->at);
		return false;
	}
	return true;
}

static struct rec *
claim_rec(const struct claim *c, uint32_t i)
{
	if (c->ring != NULL)
		return &c->recs[(c->at + i) & c->mask];
	return &common_slot(c->j.area, c->at + i)->rec;
}

/* The first slot of the common ring last: it is what makes the rest valid. */
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
produce_slow(struct producer *p, uint64_t addr, uint64_t w0, uint64_t size,
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
	if (!claim_get(&c, p, shard + 1, 1))
		return;
	r = claim_rec(&c, 0);
	r->w[0] = w0;
	r->w[1] = rec_w1(size, c.thread);
	r->w[3] = w3;
	r->w[2] = rec_w2(produce_draw(shard), produce_ms(c.j.keeper));
	claim_publish(&c);
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
produce_sample_full(void)
{
	struct joined j;

	if (joined_get(&j))
		atomic_fetch_add_explicit(&j.area->sample_full, 1,
		    memory_order_relaxed);
}

void
produce_mark_untold(void)
{
	struct joined j;

	if (joined_get(&j))
		atomic_fetch_add_explicit(&j.area->marks_untold, 1,
		    memory_order_relaxed);
}

/* A thread's beginning has its tid where an event has its address. */
void
produce_control(struct producer *p, unsigned control, uint64_t w1, uint64_t w2)
{
	bool begins = control == REC_CTL_THREAD;
	struct claim c;
	struct rec *r;

	if (!claim_get(&c, p, RING_INFLIGHT_ALL, 1))
		return;
	r = claim_rec(&c, 0);
	r->w[0] = rec_w0(begins ? w1 : 0, REC_FLAGS(REC_CONTROL, 0), control);
	r->w[1] = rec_w1(begins ? 0 : w1, c.thread);
	r->w[2] = w2;
	r->w[3] = 0;
	claim_publish(&c);
}

/* Draws the tickets of `set` into the slots behind the record; returns own's. */
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
		ticket = produce_draw(s);
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
	if (len > REC_ADDR_MASK - addr)
		len = REC_ADDR_MASK - addr + 1;
	if (len > REC_ADDR_MASK)
		len = REC_ADDR_MASK;
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
