/*
 * The two areas from the keeper's side.  See reader.h for what is promised.
 *
 * The keeper never writes the ring area: it maps it read-only and waits on the
 * bell there, which a futex allows.  Of the second area, its own, it reads
 * nothing back, so that nothing depends on who else could write there.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../base/base.h"
#include "reader.h"

/* In records. */
#define FETCH_AHEAD 64

/* More drops at one look than a thread could make in a year. */
#define DROPS_MAX (UINT64_C(1) << 48)

/* --- what the target is told --------------------------------------------- */

/* Wakes all that sleep for room in ring i. */
static void
wake(struct reader *r, unsigned i)
{
	_Atomic uint32_t *space = &r->keeper->tails[i].space;

	atomic_fetch_add_explicit(space, 1, memory_order_release);
	syscall(RING_SYS_FUTEX, space, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Whoever comes later than this look finds what was told before it. */
static bool
somebody_waits(const struct reader *r, unsigned i)
{
	return atomic_load_explicit(&r->area->rings[i].waiting,
	    memory_order_seq_cst) != 0;
}

void
reader_gone(struct reader *r)
{
	atomic_store_explicit(&r->keeper->state, RING_KEEPER_GONE,
	    memory_order_seq_cst);
	/* Who has seen that looks whether its keeper is gone. */
	if (atomic_load_explicit(&r->keeper->armed, memory_order_relaxed) ==
	    RING_DORMANT && atomic_load_explicit(&r->area->knows_left,
		memory_order_relaxed) != 0)
		atomic_store_explicit(&r->keeper->armed, RING_LEFT,
		    memory_order_release);
	for (unsigned i = 0; i <= RING_COUNT; i++)
		if (somebody_waits(r, i))
			wake(r, i);
}

int64_t
reader_beat(struct reader *r, int64_t now_ms)
{
	int64_t ms = now_ms > r->armed_at ? now_ms : r->armed_at;

	if (ms > r->latest)
		r->latest = ms;
	r->beat = ms;
	atomic_store_explicit(&r->keeper->ms, (uint64_t)ms,
	    memory_order_release);
	return ms;
}

/*
 * Armed first, then a millisecond that no record has yet: whoever reads that
 * one has a target before him that is armed, or has been since.  The other way
 * round a thread that found the target armed the time before could read the
 * new millisecond, hand its block out and have it freed before the word is
 * set; the block would be listed for ever.  Counted before either, so that a
 * keeper that comes after this one learns of a change that was not saved.
 */
bool
reader_arm(struct reader *r, bool armed, int64_t now_ms)
{
	if (armed == !r->dormant)
		return false;
	r->dormant = !armed;
	atomic_store_explicit(&r->keeper->armings, ++r->armings,
	    memory_order_relaxed);
	atomic_store_explicit(&r->keeper->armed,
	    armed ? RING_ARMED : RING_DORMANT, memory_order_release);
	if (!armed)
		return true;
	r->armed_at = now_ms > r->latest ? now_ms : r->latest + 1;
	(void)reader_beat(r, r->armed_at);
	/* What a look has seen and nobody has taken yet is from before this. */
	r->now = (uint32_t)r->armed_at;
	return true;
}

/* The word first: whoever reads this count has it, or a later one. */
void
reader_sandbox(struct reader *r, enum ring_sandbox what, uint64_t looks)
{
	atomic_store_explicit(&r->keeper->sandbox, what,
	    memory_order_relaxed);
	atomic_store_explicit(&r->keeper->looks, looks, memory_order_release);
}

void
reader_want_sample(struct reader *r, uint64_t period)
{
	atomic_store_explicit(&r->keeper->sample, period,
	    memory_order_relaxed);
}

void
reader_want_stacks(struct reader *r, uint32_t stack)
{
	atomic_store_explicit(&r->keeper->stack, stack, memory_order_relaxed);
}

void
reader_want_apart(struct reader *r, bool apart)
{
	atomic_store_explicit(&r->keeper->apart, apart, memory_order_relaxed);
}

/* --- a look -------------------------------------------------------------- */

static int
look_inflight(struct reader *r, const struct ring_head *head)
{
	uint32_t word = atomic_load_explicit(&head->inflight,
	    memory_order_acquire);

	if (word == 0)
		return 0;
	if (word > RING_INFLIGHT_ALL)
		return -EPROTO;
	if (word == RING_INFLIGHT_ALL)
		memset(r->inflight, 0xff, sizeof(r->inflight));
	else
		r->inflight[(word - 1) / 64] |= UINT64_C(1) << (word - 1) % 64;
	return 0;
}

/*
 * What has been seen since the last visit has been written since the last
 * visit; what was left then is older, and keeps its bound.
 */
static int
look_head(struct reader *r, unsigned i)
{
	const struct ring_head *shared = &r->area->rings[i];
	struct reader_ring *ring = &r->rings[i];
	uint64_t head = atomic_load_explicit(&shared->head,
	    memory_order_acquire);
	uint64_t dropped = atomic_load_explicit(&shared->dropped,
	    memory_order_relaxed);

	if (head < ring->seen || head - ring->pos > (uint64_t)ring->mask + 1 ||
	    dropped - ring->dropped > DROPS_MAX)
		return -EPROTO;
	if (ring->pos == ring->seen)
		ring->not_before = r->visit;
	ring->before = ring->seen;
	ring->seen = head;
	/*
	 * Behind the head: a record that has been seen to be too far back for a
	 * pair has become one by then, or never will.
	 */
	ring->pairs_now = atomic_load_explicit(&shared->pairs,
	    memory_order_acquire);
	r->dropped += dropped - ring->dropped;
	ring->dropped = dropped;
	return 0;
}

/* Of a ring that follows: whether its leader has come to the end. */
static bool
leader_done(const struct reader *r, const struct reader_ring *ring)
{
	return r->rings[ring->leader].done >= ring->end;
}

/*
 * Both words may be newer than the head that was seen, and `from` newer than
 * `after`: neither does harm.  They are written anew only when the leader is
 * done, so until then they are as they were; and what a ring was said to come
 * after at the look before has been published at this one.
 */
static int
look_after(struct reader *r, unsigned i)
{
	const struct ring_head *shared = &r->area->rings[i];
	struct reader_ring *ring = &r->rings[i];
	uint64_t after = atomic_load_explicit(&shared->after,
	    memory_order_acquire);
	uint64_t from = atomic_load_explicit(&shared->from,
	    memory_order_relaxed);
	unsigned leader = ring_after_ring(after);

	if (ring->follows && !leader_done(r, ring))
		return after != ring->after ||
			    r->rings[ring->leader].seen < ring->end ?
		    -EPROTO : 0;
	if (after == ring->after)
		return 0;
	if (leader >= RING_COUNT || leader == i)
		return -EPROTO;
	ring->after = after;
	ring->from = from;
	ring->end = ring_after_end(after);
	ring->leader = (uint16_t)leader;
	ring->follows = !leader_done(r, ring);
	return 0;
}

static unsigned
clip(uint32_t n, unsigned max)
{
	return n < max ? n : max;
}

/* What is counted as loss; what the counters beside it say is only shown. */
static int
look_sample_full(struct reader *r)
{
	uint64_t n = atomic_load_explicit(&r->area->sample_full,
	    memory_order_relaxed);

	if (n - r->sample_full > DROPS_MAX)
		return -EPROTO;
	r->sample_full = n;
	return 0;
}

int
reader_look(struct reader *r)
{
	const struct ring_area *area = r->area;
	uint32_t magic = atomic_load_explicit(&area->magic,
	    memory_order_acquire);
	unsigned nrings, threads;
	int err;

	/* Long ago is before the arming, whatever 32 bits make of it. */
	if (r->armed_at != 0 && r->latest - r->armed_at > READER_MS_NEAR)
		r->armed_at = r->latest - READER_MS_NEAR;
	r->visit = r->now;
	r->now = (uint32_t)r->beat;
	if (magic != RING_MAGIC)
		return magic == 0 ? 0 : -EPROTO;
	r->joined = true;
	nrings = clip(atomic_load_explicit(&area->next_ring,
	    memory_order_acquire), RING_COUNT);
	if (nrings < r->nrings)
		return -EPROTO;
	r->nrings = nrings;
	memset(r->inflight, 0, sizeof(r->inflight));
	for (unsigned i = 0; i < nrings; i++)
		if ((err = look_inflight(r, &area->rings[i])) != 0)
			return err;
	for (unsigned i = 0; i < nrings; i++)
		if ((err = look_head(r, i)) != 0)
			return err;
	if ((err = look_head(r, RING_COMMON)) != 0 ||
	    (err = look_sample_full(r)) != 0)
		return err;
	for (unsigned i = 0; i < nrings; i++)
		if ((err = look_after(r, i)) != 0)
			return err;
	/* Of a program that has had 2^32 threads it begins again at 0. */
	threads = clip(atomic_load_explicit(&area->threads,
	    memory_order_relaxed), UINT16_MAX);
	if (r->threads < threads)
		r->threads = threads;
	r->far_addresses = atomic_load_explicit(&area->far_addresses,
	    memory_order_relaxed);
	r->sites_full = atomic_load_explicit(&area->sites_full,
	    memory_order_relaxed);
	r->walks = atomic_load_explicit(&area->walks, memory_order_relaxed);
	r->marks_untold = atomic_load_explicit(&area->marks_untold,
	    memory_order_relaxed);
	return 0;
}

/* --- copying records out ------------------------------------------------- */

/* The one copy; each word is read exactly once. */
static inline void
copy(struct rec *to, const struct rec *from)
{
	to->w[0] = __atomic_load_n(&from->w[0], __ATOMIC_RELAXED);
	to->w[1] = __atomic_load_n(&from->w[1], __ATOMIC_RELAXED);
	to->w[2] = __atomic_load_n(&from->w[2], __ATOMIC_RELAXED);
	to->w[3] = __atomic_load_n(&from->w[3], __ATOMIC_RELAXED);
}

void
reader_void(const struct reader *r, struct rec *rec)
{
	switch (reader_class(r, rec)) {
	case CLASS_PLAIN:
		rec->w[0] &= ~REC_OP_MASK;
		/* FALLTHROUGH */
	case CLASS_TICKET:
	case CLASS_PAIR:
	case CLASS_RANGE:
		rec->w[0] |= (uint64_t)READER_LEVEL_VOID << 48;
		break;
	default:
		break;
	}
}

/*
 * The earliest time that a record of the ring can have; what has an earlier
 * one is void if that is from before the arming, and slow if not.
 */
static uint32_t
earliest(const struct reader *r, const struct reader_ring *ring)
{
	uint32_t armed_at = (uint32_t)r->armed_at;

	return r->armed_at != 0 && (int32_t)(armed_at - ring->not_before) > 0 ?
	    armed_at : ring->not_before;
}

/*
 * Brings a record's millisecond between the ring's bound and now: a target's
 * copy of it is as old as the thread that made it was slow.
 */
static inline void
settle_time(const struct reader *r, uint32_t not_before, struct rec *rec)
{
	uint32_t ms = rec_ms(rec);

	if (__builtin_expect(ms - not_before <= r->now - not_before, 1))
		return;
	if (r->armed_at != 0 && (int32_t)(ms - (uint32_t)r->armed_at) < 0) {
		reader_void(r, rec);
		return;
	}
	ms = (int32_t)(ms - not_before) < 0 ? not_before : r->now;
	rec->w[2] = rec_w2(rec_ticket(rec), ms);
}

static inline bool
thread_known(const struct reader *r, const struct rec *rec)
{
	return rec_thread(rec) <= r->threads;
}

/*
 * What is taken now, up to `end`, is born or not.  Far enough behind what has
 * been seen no record changes any more.
 */
static inline void
note_born(struct reader_ring *ring, uint64_t end, const struct rec *rec)
{
	uint64_t at = ring->pos;

	ring->pos = end;
	if (ring->seen - end >= RING_PAIRS) {
		ring->born_from = end;
		return;
	}
	for (unsigned k = 0; at + k < end; k++) {
		uint64_t *born = &ring->born[(at + k) / 64 % (RING_PAIRS / 64)];
		uint64_t bit = UINT64_C(1) << (at + k) % 64;

		if (rec != NULL && rec_op(&rec[k]) == REC_ALLOC)
			*born |= bit;
		else
			*born &= ~bit;
	}
}

/* Slots behind the range at pos; it is taken with them. */
static int
take_range(struct reader *r, unsigned i, const struct rec *rec,
    struct rec *payload)
{
	struct reader_ring *ring = &r->rings[i];
	uint64_t set[RING_RANGE_WORDS];
	unsigned n = reader_range_slots(rec, set);

	if (n == 0 || ring->seen - ring->pos < n + 1)
		return -EPROTO;
	for (unsigned k = 0; k < n; k++)
		copy(&payload[k],
		    &ring->recs[(ring->pos + 1 + k) & ring->mask]);
	note_born(ring, ring->pos + n + 1, NULL);
	return 1;
}

/*
 * Gives room back: the tail only.  Producers that sleep are looked for after
 * each quarter, for reading their line costs them one.
 */
static void
show_tail(struct reader *r, unsigned i, uint64_t tail)
{
	struct reader_ring *ring = &r->rings[i];

	atomic_store_explicit(&r->keeper->tails[i].tail, tail,
	    memory_order_seq_cst);
	ring->released = tail;
	if (somebody_waits(r, i))
		wake(r, i);
}

static void
show_pairs(struct reader *r, unsigned i, uint32_t pairs)
{
	if (r->rings[i].shown == pairs)
		return;
	r->rings[i].shown = pairs;
	atomic_store_explicit(&r->keeper->tails[i].pairs, pairs,
	    memory_order_release);
}

uint64_t
reader_may_take(struct reader *r, unsigned i)
{
	struct reader_ring *ring = &r->rings[i];

	if (__builtin_expect(!ring->follows, 1))
		return UINT64_MAX;
	if (leader_done(r, ring)) {
		ring->follows = false;
		return UINT64_MAX;
	}
	return ring->pos < ring->from ? ring->from - ring->pos : 0;
}

int
reader_take(struct reader *r, unsigned i, struct rec *out, int max,
    struct rec *payload)
{
	struct reader_ring *ring = &r->rings[i];
	const struct rec *recs = ring->recs;
	uint64_t pos = ring->pos, left = ring->seen - pos;
	uint32_t mask = ring->mask, not_before = earliest(r, ring);
	uint32_t span = r->now - not_before;
	unsigned threads = r->threads;
	int n = left < (uint64_t)max ? (int)left : max, k, err;
	/*
	 * The lines are in the cache of the core that wrote them, and come from
	 * there one by one; what has not been seen may still be written to.
	 */
	uint64_t ahead = pos + (left < FETCH_AHEAD + (uint64_t)n ? 0 :
	    FETCH_AHEAD);

	if (pos - ring->released > ring->give)
		show_tail(r, i, pos);
	for (k = 0; k < n; k++) {
		struct rec *rec = &out[k];
		unsigned class;

		__builtin_prefetch(&recs[(ahead + (unsigned)k) & mask]);
		copy(rec, &recs[(pos + (unsigned)k) & mask]);
		class = reader_class(r, rec);
		if (!reader_class_raw(class))
			return -EPROTO;
		/* One by one, as its slots follow it. */
		if (class == CLASS_RANGE && k > 0)
			break;
		if (rec_thread(rec) > threads)
			return -EPROTO;
		/* What settle_time() would find, too, at the price of a call. */
		if (__builtin_expect(rec_ms(rec) - not_before > span, 0) &&
		    class != CLASS_CONTROL)
			settle_time(r, not_before, rec);
		if (__builtin_expect(class == CLASS_RANGE, 0)) {
			if ((err = take_range(r, i, rec, payload)) < 0)
				return err;
			if (__builtin_expect(r->dormant, 0))
				reader_void(r, rec);
			return 1;
		}
	}
	note_born(ring, pos + (unsigned)k, out);
	if (__builtin_expect(r->dormant, 0))
		for (n = 0; n < k; n++)
			reader_void(r, &out[n]);
	return k;
}

int
reader_pairs(struct reader *r, unsigned i, struct reader_pair out[RING_PAIRS])
{
	struct reader_ring *ring = &r->rings[i];
	uint64_t at = ring->born_from;
	int n = 0;

	if (ring->pairs == ring->pairs_now)
		return 0;
	ring->pairs = ring->pairs_now;
	if (ring->pos - at > RING_PAIRS)
		at = ring->pos - RING_PAIRS;
	for (; at < ring->pos; at++) {
		uint64_t *born = &ring->born[at / 64 % (RING_PAIRS / 64)];
		struct rec *pair = &out[n].rec;

		if (!(*born >> at % 64 & 1))
			continue;
		copy(pair, &ring->recs[at & ring->mask]);
		if (reader_class(r, pair) != CLASS_PAIR)
			continue;
		if (!thread_known(r, pair))
			return -EPROTO;
		*born &= ~(UINT64_C(1) << at % 64);
		/* It became one since the look before this, of this keeper or the last. */
		settle_time(r, r->visit, pair);
		if (r->dormant)
			reader_void(r, pair);
		out[n++].at = at;
	}
	return n;
}

void
reader_peek(const struct reader *r, unsigned i, uint64_t at, int n,
    struct rec *out)
{
	const struct reader_ring *ring = &r->rings[i];

	for (int k = 0; k < n; k++)
		copy(&out[k], &ring->recs[(at + (unsigned)k) & ring->mask]);
}

/* 1 when the slot of claim n has been published as `more` says, else 0. */
static int
lap_of(const struct reader *r, uint64_t n, uint64_t *more)
{
	uint64_t lap = atomic_load_explicit(
	    &r->slots[n % RING_COMMON_SLOTS].lap, memory_order_acquire);
	uint64_t claim = lap & ~RING_LAP_MORE;

	*more = lap & RING_LAP_MORE;
	if (claim == n + 1)
		return 1;
	/* Otherwise it must be what the lap before left there. */
	if (n < RING_COMMON_SLOTS ? lap == 0 : claim == n + 1 - RING_COMMON_SLOTS)
		return 0;
	return -EPROTO;
}

int
reader_claim(struct reader *r, uint64_t n, struct rec *rec)
{
	struct reader_ring *ring = &r->rings[RING_COMMON];
	uint64_t more;
	int valid = lap_of(r, n, &more);
	unsigned class;

	if (valid <= 0 || more)
		return valid < 0 ? valid : 0;
	copy(rec, &r->slots[n % RING_COMMON_SLOTS].rec);
	class = reader_class(r, rec);
	/* Pairs are made in rings alone. */
	if (!reader_class_raw(class) || class == CLASS_PAIR ||
	    !thread_known(r, rec))
		return -EPROTO;
	if (class != CLASS_CONTROL)
		settle_time(r, earliest(r, ring), rec);
	if (r->dormant)
		reader_void(r, rec);
	return 1;
}

int
reader_claim_more(struct reader *r, uint64_t n, struct rec *rec)
{
	uint64_t more;

	if (n >= r->rings[RING_COMMON].seen || lap_of(r, n, &more) != 1 ||
	    !more)
		return -EPROTO;
	copy(rec, &r->slots[n % RING_COMMON_SLOTS].rec);
	return 1;
}

void
reader_claims_done(struct reader *r, uint64_t n)
{
	r->rings[RING_COMMON].pos = n;
}

void
reader_release(struct reader *r)
{
	if (r->hold)
		return;
	for (unsigned i = 0; i < r->nrings; i++) {
		if (r->rings[i].done != r->rings[i].released)
			show_tail(r, i, r->rings[i].done);
		show_pairs(r, i, r->rings[i].pairs);
	}
	if (r->rings[RING_COMMON].pos != r->rings[RING_COMMON].released)
		show_tail(r, RING_COMMON, r->rings[RING_COMMON].pos);
}

void
reader_commit(struct reader *r)
{
	for (unsigned i = 0; i < r->nrings; i++) {
		if (r->rings[i].saved != r->rings[i].released)
			show_tail(r, i, r->rings[i].saved);
		show_pairs(r, i, r->rings[i].pairs_saved);
	}
	if (r->rings[RING_COMMON].saved != r->rings[RING_COMMON].released)
		show_tail(r, RING_COMMON, r->rings[RING_COMMON].saved);
}

int
reader_wait_bell(const struct reader *r, uint32_t *told, int timeout_ms)
{
	const struct timespec ts = {
		.tv_sec = timeout_ms / 1000,
		.tv_nsec = timeout_ms % 1000 * 1000000L,
	};
	uint32_t bell = atomic_load_explicit(&r->area->bell,
	    memory_order_acquire);

	if (bell == *told) {
		syscall(RING_SYS_FUTEX, &r->area->bell, FUTEX_WAIT, bell, &ts, NULL,
		    0);
		bell = atomic_load_explicit(&r->area->bell,
		    memory_order_acquire);
	}
	if (bell == *told)
		return -ETIMEDOUT;
	*told = bell;
	return 0;
}
