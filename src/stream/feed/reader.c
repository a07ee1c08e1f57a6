/*
 * The two areas from the keeper's side.
 *
 * The keeper never writes the ring area: it maps it read-only and waits on the
 * bell there, which a futex allows.  It reads nothing back of the second area,
 * its own, so that nothing depends on who else could write there.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../base/base.h"
#include "feed.h"
#include "reader.h"
#include "robust.h"

#define FETCH_AHEAD 64		/* records */

/* More drops at one look than a thread could make in a year. */
#define DROPS_MAX (UINT64_C(1) << 48)

static void
wake_producers(struct reader *r, unsigned i)
{
	_Atomic uint32_t *space = &r->keeper->tails[i].space;

	atomic_fetch_add_explicit(space, 1, memory_order_release);
	syscall(RING_SYS_FUTEX, space, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* A producer that comes to sleep later finds the words stored before this. */
static bool
has_sleepers(const struct reader *r, unsigned i)
{
	return atomic_load_explicit(&r->area->rings[i].waiting,
	    memory_order_seq_cst) != 0;
}

/* To the library of another version the word may mean that it is armed. */
static bool
knows_left(const struct reader *r)
{
	uint32_t version = atomic_load_explicit(&r->area->version,
	    memory_order_relaxed);

	return version == 0 || version == RING_VERSION;
}

void
reader_gone(struct reader *r)
{
	atomic_store_explicit(&r->keeper->state, RING_KEEPER_GONE,
	    memory_order_seq_cst);
	/* RING_LEFT makes a dormant target look whether its keeper is gone. */
	if ((atomic_load_explicit(&r->keeper->armed, memory_order_relaxed) &
		RING_AWAKE) == 0 && knows_left(r))
		atomic_store_explicit(&r->keeper->armed, RING_LEFT,
		    memory_order_release);
	for (unsigned i = 0; i <= RING_COUNT; i++)
		if (has_sleepers(r, i))
			wake_producers(r, i);
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

uint32_t
reader_cuts(const struct reader *r)
{
	return atomic_load_explicit(&r->area->cuts, memory_order_acquire);
}

bool
reader_has_exited(const struct reader *r)
{
	return atomic_load_explicit(&r->area->exited, memory_order_relaxed) ==
	    1;
}

/* An armed target's keeper is missed by its heartbeat: its place is another's. */
static void
store_arming(struct reader *r)
{
	if (!r->dormant)
		robust_remove(&r->listed);
	else if (r->listed == 0)
		r->listed = robust_add(r->keeper);
	atomic_store_explicit(&r->keeper->armed,
	    r->dormant ? robust_word() : RING_ARMED, memory_order_release);
}

void
reader_owner_changed(struct reader *r)
{
	if (r->dormant)
		store_arming(r);
}

/*
 * Armed first, then a millisecond that no record has yet: a thread that reads
 * that one finds the target armed.  The other way round, a thread that found
 * the target armed before could read the new millisecond, hand its block out
 * and have it freed before the word is set; the block would be listed for ever.
 * The count comes before both, so that the next keeper learns of a change not
 * saved.
 */
bool
reader_arm(struct reader *r, bool armed, int64_t now_ms)
{
	if (armed == !r->dormant)
		return false;
	r->dormant = !armed;
	atomic_store_explicit(&r->keeper->armings, ++r->armings,
	    memory_order_relaxed);
	if (armed) {
		r->armed_at = now_ms > r->latest ? now_ms : r->latest + 1;
		atomic_store_explicit(&r->keeper->armed_ms,
		    (uint32_t)r->armed_at, memory_order_release);
	}
	store_arming(r);
	if (!armed)
		return true;
	(void)reader_beat(r, r->armed_at);
	/* Records seen and not taken yet are from before this. */
	r->now = (uint32_t)r->armed_at;
	return true;
}

/* The word first: a target that reads this count has it, or a later one. */
void
reader_sandbox(struct reader *r, enum ring_sandbox what, uint64_t looks)
{
	atomic_store_explicit(&r->keeper->sandbox, what,
	    memory_order_relaxed);
	atomic_store_explicit(&r->keeper->looks, looks, memory_order_release);
}

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

/* New records were written since the last visit; older ones have a bound. */
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
	/* After the head: a record too far back is a pair by now, or never. */
	ring->pairs_now = atomic_load_explicit(&shared->pairs,
	    memory_order_acquire);
	r->dropped += dropped - ring->dropped;
	ring->dropped = dropped;
	return 0;
}

static bool
leader_done(const struct reader *r, const struct reader_ring *ring)
{
	return r->rings[ring->leader].done >= ring->end;
}

/*
 * Both words may be newer than the head that was seen, and `from` newer than
 * `after`, without harm: they are written anew only when the leader is done,
 * and what a ring followed at the look before has been published at this one.
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
clip_count(uint32_t n, unsigned max)
{
	return n < max ? n : max;
}

/* Counts as a loss; the other counters are only shown. */
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

	/* Records have 32 bits of milliseconds: the arming stays comparable. */
	if (r->armed_at != 0 && r->latest - r->armed_at > READER_MS_NEAR)
		r->armed_at = r->latest - READER_MS_NEAR;
	r->visit = r->now;
	r->now = (uint32_t)r->beat;
	if (magic != RING_MAGIC)
		return magic == 0 ? 0 : -EPROTO;
	r->joined = true;
	nrings = clip_count(atomic_load_explicit(&area->next_ring,
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
	/* It wraps to 0 after 2^32 threads. */
	threads = clip_count(atomic_load_explicit(&area->threads,
	    memory_order_relaxed), UINT16_MAX);
	if (r->threads < threads)
		r->threads = threads;
	r->far_addresses = atomic_load_explicit(&area->far_addresses,
	    memory_order_relaxed);
	r->sites_full = atomic_load_explicit(&area->sites_full,
	    memory_order_relaxed);
	r->walks = atomic_load_explicit(&area->walks, memory_order_relaxed);
	r->unfinished = atomic_load_explicit(&area->unsure,
	    memory_order_relaxed);
	r->marks_untold = atomic_load_explicit(&area->marks_untold,
	    memory_order_relaxed);
	r->past = atomic_load_explicit(&area->past, memory_order_relaxed);
	return 0;
}

/* The one copy; each word is read exactly once. */
static inline void
copy_record(struct rec *to, const struct rec *from)
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

/* The earliest time of a record: an earlier one is void, or slow. */
static uint32_t
earliest_ms(const struct reader *r, const struct reader_ring *ring)
{
	uint32_t armed_at = (uint32_t)r->armed_at;

	return r->armed_at != 0 && (int32_t)(armed_at - ring->not_before) > 0 ?
	    armed_at : ring->not_before;
}

/* Restores the time and type of a told block.  False: the record is of another kind. */
static bool
settle_told(const struct reader *r, struct rec *rec)
{
	unsigned type = rec_type(rec);

	if (rec_op(rec) != REC_ALLOC || type < TYPE_TOLD_FIRST ||
	    type > TYPE_TOLD_VOID)
		return false;
	rec->w[0] &= ~((uint64_t)REC_TOLD << 56);
	rec->w[2] = rec_w2(rec_ticket(rec), rec_ms(rec) ^ REC_TOLD_MS);
	if (type == TYPE_TOLD_VOID)
		reader_void(r, rec);
	return true;
}

/* Brings the millisecond of a slow thread's record between bound and now. */
static inline void
settle_time(const struct reader *r, uint32_t not_before, struct rec *rec)
{
	uint32_t ms = rec_ms(rec);

	if (__builtin_expect(ms - not_before <= r->now - not_before, 1))
		return;
	if (settle_told(r, rec))
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

/* Takes records up to `end`; those far behind are not pairable. */
static inline void
note_pairable(struct reader_ring *ring, uint64_t end, const struct rec *rec)
{
	uint64_t at = ring->pos;

	ring->pos = end;
	if (ring->seen - end >= RING_PAIRS) {
		ring->pairable_from = end;
		return;
	}
	for (unsigned k = 0; at + k < end; k++) {
		uint64_t *pairable = &ring->pairable[(at + k) / 64 % (RING_PAIRS / 64)];
		uint64_t bit = UINT64_C(1) << (at + k) % 64;

		if (rec != NULL && rec_op(&rec[k]) == REC_ALLOC)
			*pairable |= bit;
		else
			*pairable &= ~bit;
	}
}

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
		copy_record(&payload[k],
		    &ring->recs[(ring->pos + 1 + k) & ring->mask]);
	note_pairable(ring, ring->pos + n + 1, NULL);
	return 1;
}

static void
show_tail(struct reader *r, unsigned i, uint64_t tail)
{
	struct reader_ring *ring = &r->rings[i];

	atomic_store_explicit(&r->keeper->tails[i].tail, tail,
	    memory_order_seq_cst);
	ring->released = tail;
	if (has_sleepers(r, i))
		wake_producers(r, i);
}

static void
show_pairs(struct reader *r, unsigned i, uint32_t pairs)
{
	if (r->rings[i].pairs_shown == pairs)
		return;
	r->rings[i].pairs_shown = pairs;
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
	uint32_t mask = ring->mask, not_before = earliest_ms(r, ring);
	uint32_t span = r->now - not_before;
	unsigned threads = r->threads;
	int n = left < (uint64_t)max ? (int)left : max, k, err;
	/* Lines come from another core's cache; unseen ones are left alone. */
	uint64_t ahead = pos + (left < FETCH_AHEAD + (uint64_t)n ? 0 :
	    FETCH_AHEAD);

	if (pos - ring->released > ring->quota)
		show_tail(r, i, pos);
	for (k = 0; k < n; k++) {
		struct rec *rec = &out[k];
		unsigned class;

		__builtin_prefetch(&recs[(ahead + (unsigned)k) & mask]);
		copy_record(rec, &recs[(pos + (unsigned)k) & mask]);
		class = reader_class(r, rec);
		if (!reader_class_raw(class))
			return -EPROTO;
		if (class == CLASS_RANGE && k > 0)
			break;
		if (rec_thread(rec) > threads)
			return -EPROTO;
		/* The test of settle_time(), without a call. */
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
	note_pairable(ring, pos + (unsigned)k, out);
	if (__builtin_expect(r->dormant, 0))
		for (n = 0; n < k; n++)
			reader_void(r, &out[n]);
	return k;
}

int
reader_pairs(struct reader *r, unsigned i, struct reader_pair out[RING_PAIRS])
{
	struct reader_ring *ring = &r->rings[i];
	uint64_t at = ring->pairable_from;
	int n = 0;

	if (ring->pairs == ring->pairs_now)
		return 0;
	ring->pairs = ring->pairs_now;
	if (ring->pos - at > RING_PAIRS)
		at = ring->pos - RING_PAIRS;
	for (; at < ring->pos; at++) {
		uint64_t *pairable = &ring->pairable[at / 64 % (RING_PAIRS / 64)];
		struct rec *pair = &out[n].rec;

		if (!(*pairable >> at % 64 & 1))
			continue;
		copy_record(pair, &ring->recs[at & ring->mask]);
		if (reader_class(r, pair) != CLASS_PAIR)
			continue;
		if (!thread_known(r, pair))
			return -EPROTO;
		*pairable &= ~(UINT64_C(1) << at % 64);
		/* It became one since the look before this. */
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
		copy_record(&out[k], &ring->recs[(at + (unsigned)k) & ring->mask]);
}

/* 1 if the slot of claim n has been published, as part of a range if *more. */
static int
claim_lap(const struct reader *r, uint64_t n, uint64_t *more)
{
	uint64_t lap = atomic_load_explicit(
	    &r->slots[n % RING_COMMON_SLOTS].lap, memory_order_acquire);
	uint64_t claim = lap & ~RING_LAP_MORE;

	*more = lap & RING_LAP_MORE;
	if (claim == n + 1)
		return 1;
	/* Else it must be what the lap before left there. */
	if (n < RING_COMMON_SLOTS ? lap == 0 : claim == n + 1 - RING_COMMON_SLOTS)
		return 0;
	return -EPROTO;
}

int
reader_claim(struct reader *r, uint64_t n, struct rec *rec)
{
	struct reader_ring *ring = &r->rings[RING_COMMON];
	uint64_t more;
	int valid = claim_lap(r, n, &more);
	unsigned class;

	if (valid <= 0 || more)
		return valid < 0 ? valid : 0;
	copy_record(rec, &r->slots[n % RING_COMMON_SLOTS].rec);
	class = reader_class(r, rec);
	/* The common ring has no pairs. */
	if (!reader_class_raw(class) || class == CLASS_PAIR ||
	    !thread_known(r, rec))
		return -EPROTO;
	if (class != CLASS_CONTROL)
		settle_time(r, earliest_ms(r, ring), rec);
	if (r->dormant)
		reader_void(r, rec);
	return 1;
}

int
reader_claim_more(struct reader *r, uint64_t n, struct rec *rec)
{
	uint64_t more;

	if (n >= r->rings[RING_COMMON].seen || claim_lap(r, n, &more) != 1 ||
	    !more)
		return -EPROTO;
	copy_record(rec, &r->slots[n % RING_COMMON_SLOTS].rec);
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

static const void *
area_at(const struct reader *r, size_t offset)
{
	return (const char *)r->area + offset;
}

int
reader_site(const struct reader *r, uint32_t no, struct reader_site *out)
{
	const struct ring_site *sites = area_at(r, ring_sites_offset());
	const uint64_t *frames = area_at(r, ring_frames_offset());
	unsigned depth, end;
	uint64_t word;
	uint32_t first;

	if (no == 0 || no >= RING_SITES)
		return -EPROTO;
	word = atomic_load_explicit(&sites[no].word, memory_order_acquire);
	first = ring_site_at(word);
	depth = ring_site_depth(word);
	end = ring_site_end(word);
	if (depth == 0 || depth > RING_STACK_MAX || end == 0 ||
	    end >= RING_END_ALONE || first == 0 || first > RING_FRAMES - depth)
		return -EPROTO;
	for (unsigned i = 0; i < depth; i++) {
		out->frame[i] = __atomic_load_n(&frames[first + i],
		    __ATOMIC_RELAXED);
		if (frame_module(out->frame[i]) >= RING_MODULES)
			return -EPROTO;
	}
	out->depth = depth;
	out->end = end;
	return 0;
}

int
reader_module(const struct reader *r, unsigned no, struct reader_module *out)
{
	const struct ring_module *shared = area_at(r, ring_modules_offset());
	struct ring_module m;
	uint64_t word[sizeof(m) / sizeof(uint64_t)];
	const uint64_t *from;

	_Static_assert(sizeof(word) == sizeof(m), "words and no rest");
	if (no == 0 || no >= RING_MODULES ||
	    atomic_load_explicit(&shared[no].valid, memory_order_acquire) != 1)
		return -EPROTO;
	from = (const uint64_t *)(const void *)&shared[no];
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		word[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	memcpy(&m, word, sizeof(m));
	if (m.build_id_len > sizeof(m.build_id) || m.start >= m.end ||
	    m.end > REC_ADDR_MASK + 1)
		return -EPROTO;
	out->start = m.start;
	out->end = m.end;
	out->bias = m.bias;
	out->build_id_len = m.build_id_len;
	memcpy(out->build_id, m.build_id, m.build_id_len);
	memcpy(out->path, m.path, sizeof(m.path));
	out->path[sizeof(m.path)] = '\0';
	out->cut = memchr(m.path, '\0', sizeof(m.path)) == NULL;
	return 0;
}

/*
 * A target must not move a tail or fake a heartbeat.  So an area that ends with
 * its keeper is sealed against new writable mappings.  One that outlives it
 * cannot be: stream_feed_new_persistent() says what protects that.
 */

#define AREA_SIZE RING_ALIGN(ring_area_size())
#define KEEPER_SIZE RING_ALIGN(sizeof(struct keeper_area))

/* Of all areas: neither size nor seals can change. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

static uint8_t
record_class(unsigned flags)
{
	unsigned level = flags & REC_LEVEL_MASK;

	switch (flags >> 4) {
	case REC_LOSS:
		return level == READER_LEVEL_VOID ? CLASS_VOID : CLASS_BAD;
	case REC_ALLOC:
		if (level == READER_LEVEL_VOID)
			return CLASS_VOID_TICKET;
		if (level > REC_LEVEL_FAILED)
			return CLASS_BAD;
		return level == REC_LEVEL_FAILED ? CLASS_PLAIN : CLASS_TICKET;
	case REC_FREE:
	case REC_UNDO:
		if (level == READER_LEVEL_VOID)
			return CLASS_VOID_TICKET;
		return level < REC_LEVEL_FAILED ? CLASS_TICKET : CLASS_BAD;
	case REC_RANGE:
		if (level == READER_LEVEL_VOID)
			return CLASS_VOID_RANGE;
		return level < REC_LEVEL_FAILED ? CLASS_RANGE : CLASS_BAD;
	case REC_PAIR:
	case REC_PAIR + 1:
	case REC_PAIR_LAST:
		if (level == READER_LEVEL_VOID)
			return CLASS_VOID_PAIR;
		return level < REC_LEVEL_FAILED && !(flags & REC_LAYER_API) ?
		    CLASS_PAIR : CLASS_BAD;
	case REC_CONTROL:
		return CLASS_CONTROL;
	default:
		return CLASS_BAD;
	}
}

static int
area_make(const char *name, size_t size, int prot, int seals, void **map)
{
	void *p = MAP_FAILED;
	int fd, err;

	fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) != 0)
		goto fail;
	p = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		goto fail;
	if (fcntl(fd, F_ADD_SEALS, seals) != 0)
		goto fail;
	madvise(p, size, MADV_DONTDUMP);
	*map = p;
	return fd;
fail:
	err = -errno;
	if (p != MAP_FAILED)
		munmap(p, size);
	close(fd);
	return err;
}

static int
open_to_read(int fd)
{
	char path[sizeof("/proc/self/fd/") + 3 * sizeof(fd)];
	int again;

	if (fchmod(fd, S_IRUSR) != 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	again = open(path, O_RDONLY | O_CLOEXEC);
	return again < 0 ? -errno : again;
}

static void
reader_init(struct reader *r, const void *area, void *keeper)
{
	memset(r, 0, sizeof(*r));
	r->area = area;
	r->slots = (const struct ring_slot *)((const char *)area +
	    RING_SLOTS_OFFSET);
	r->keeper = keeper;
	for (unsigned i = 0; i < RING_COUNT; i++) {
		struct reader_ring *ring = &r->rings[i];
		size_t offset;

		ring->mask = ring_place(i, &offset) - 1;
		ring->quota = ring->mask / 4;
		ring->recs = (const struct rec *)((const char *)area + offset);
	}
	r->rings[RING_COMMON].mask = RING_COMMON_SLOTS - 1;
	for (unsigned flags = 0; flags < 256; flags++)
		r->class[flags] = record_class(flags);
}

static void
publish_state(struct reader *r)
{
	atomic_store_explicit(&r->keeper->state,
	    r->no_wait ? RING_KEEPER_NO_WAIT : RING_KEEPER_READY,
	    memory_order_release);
}

static void
begin_areas(struct reader *r, void *area, void *keeper, bool no_wait)
{
	reader_init(r, area, keeper);
	r->no_wait = no_wait;
	atomic_store_explicit(&r->keeper->magic, RING_MAGIC,
	    memory_order_relaxed);
	/* A target may log before the first pass. */
	(void)reader_beat(r, mono_ms(mono_now()));
	atomic_store_explicit(&r->keeper->armed, RING_ARMED,
	    memory_order_relaxed);
	publish_state(r);
}

static int
make_areas(struct reader *r, int fds[2], bool no_wait, int keeper_seals)
{
	void *area, *keeper;
	int ring_fd, keeper_fd;

	ring_fd = area_make(RING_AREA_NAME, AREA_SIZE, PROT_READ, SEALS, &area);
	if (ring_fd < 0)
		return ring_fd;
	keeper_fd = area_make("pagek-keeper", KEEPER_SIZE,
	    PROT_READ | PROT_WRITE, keeper_seals, &keeper);
	if (keeper_fd < 0) {
		munmap(area, AREA_SIZE);
		close(ring_fd);
		return keeper_fd;
	}
	begin_areas(r, area, keeper, no_wait);
	fds[0] = ring_fd;
	fds[1] = keeper_fd;
	return 0;
}

int
reader_open(struct reader *r, int fds[2], bool no_wait)
{
	return make_areas(r, fds, no_wait, SEALS | F_SEAL_FUTURE_WRITE);
}

int
reader_open_persistent(struct reader *r, int fds[3], bool no_wait)
{
	int made[2], read_fd, err;

	err = make_areas(r, made, no_wait, SEALS);
	if (err != 0)
		return err;
	read_fd = open_to_read(made[1]);
	if (read_fd < 0) {
		reader_unmap(r);
		close(made[0]);
		close(made[1]);
		return read_fd;
	}
	fds[0] = made[0];
	fds[1] = read_fd;
	fds[2] = made[1];
	return 0;
}

void
reader_unmap(struct reader *r)
{
	if (r->area == NULL)
		return;
	robust_remove(&r->listed);
	munmap((void *)(uintptr_t)r->area, AREA_SIZE);
	munmap(r->keeper, KEEPER_SIZE);
	r->area = NULL;
	r->keeper = NULL;
}

void
reader_close(struct reader *r)
{
	if (r->area == NULL)
		return;
	reader_gone(r);
	reader_unmap(r);
}

/* Used bytes of a ring area that are zeroed; if there are more, pages are released. */
#define CLEAR_BYTES ((size_t)256 << 10)

static bool
clear_area(int fd)
{
	static const char zeros[16 << 10];
	off_t at = 0, end;
	size_t sum = 0;
	ssize_t n;

	while ((at = lseek(fd, at, SEEK_DATA)) >= 0) {
		end = lseek(fd, at, SEEK_HOLE);
		sum += end > at ? (size_t)(end - at) : CLEAR_BYTES;
		if (sum >= CLEAR_BYTES)
			break;
		for (; at < end; at += n) {
			n = pwrite(fd, zeros, (size_t)(end - at) <
			    sizeof(zeros) ? (size_t)(end - at) : sizeof(zeros),
			    at);
			if (n <= 0)
				return false;
		}
	}
	return at < 0 ? errno == ENXIO : fallocate(fd, FALLOC_FL_PUNCH_HOLE |
	    FALLOC_FL_KEEP_SIZE, 0, (off_t)AREA_SIZE) == 0;
}

void
reader_leave(struct reader *r, struct stream_areas *areas)
{
	reader_gone(r);
	robust_remove(&r->listed);
	/* A process that has joined maps the first page, so the page would be shared. */
	if (!zeros_page_is_alone(r->area) || !clear_area(areas->fds[0])) {
		reader_close_areas(areas);
		return;
	}
	memset(r->keeper, 0, sizeof(*r->keeper));
	areas->ring = (void *)(uintptr_t)r->area;
	areas->keeper = r->keeper;
	r->area = NULL;
	r->keeper = NULL;
}

void
reader_open_again(struct reader *r, struct stream_areas *areas, int fds[3],
    bool no_wait)
{
	begin_areas(r, areas->ring, areas->keeper, no_wait);
	fds[0] = areas->fds[0];
	fds[1] = areas->fds[1];
	fds[2] = -1;
	*areas = (struct stream_areas){ .fds = { -1, -1 } };
}

void
reader_close_areas(struct stream_areas *areas)
{
	if (areas->ring != NULL) {
		munmap(areas->ring, AREA_SIZE);
		munmap(areas->keeper, KEEPER_SIZE);
	}
	for (int i = 0; i < 2; i++)
		if (areas->fds[i] >= 0)
			close(areas->fds[i]);
	*areas = (struct stream_areas){ .fds = { -1, -1 } };
}

void
reader_hold(struct reader *r)
{
	r->hold = true;
	for (unsigned i = 0; i < RING_COUNT; i++)
		r->rings[i].quota = UINT64_MAX;
}

static void
save_ring(struct reader *r, struct reader_state *s, unsigned i)
{
	struct reader_ring *ring = &r->rings[i];

	ring->saved = i == RING_COMMON ? ring->pos : ring->done;
	ring->pairs_saved = ring->pairs;
	s->rings[i] = (struct ring_state){
		.pos = ring->pos,
		.done = ring->saved,
		.seen = ring->seen,
		.after = ring->after,
		.from = ring->from,
		.end = ring->end,
		.dropped = ring->dropped,
		.not_before = ring->not_before,
		.leader = ring->leader,
		.follows = ring->follows,
		.pairable_from = ring->pairable_from,
	};
	memcpy(s->rings[i].pairable, ring->pairable, sizeof(ring->pairable));
}

void
reader_save(struct reader *r, struct reader_state *s)
{
	s->dropped = r->dropped;
	s->far_addresses = r->far_addresses;
	s->sites_full = r->sites_full;
	s->walks = r->walks;
	s->sample_full = r->sample_full;
	s->marks_untold = r->marks_untold;
	s->armings = r->armings;
	s->latest = r->latest;
	s->armed_at = r->armed_at;
	s->nrings = r->nrings;
	s->threads = r->threads;
	s->now = r->now;
	s->joined = r->joined;
	s->dormant = r->dormant;
	s->no_wait = r->no_wait;
	for (unsigned i = 0; i < r->nrings; i++)
		save_ring(r, s, i);
	save_ring(r, s, RING_COMMON);
}

/* Bytes of a file with our seals; 0 for another. */
static size_t
sealed_size(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &st) == 0 ?
	    (size_t)st.st_size : 0;
}

int
reader_which(int fd)
{
	size_t size = sealed_size(fd);

	return size == AREA_SIZE ? 0 : size == KEEPER_SIZE ? 1 : -EINVAL;
}

static int
area_map(int fd, size_t size, int prot, void **map)
{
	void *p;

	if (sealed_size(fd) != size)
		return -EINVAL;
	p = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return errno == ENOMEM ? -ENOMEM : -EINVAL;
	madvise(p, size, MADV_DONTDUMP);
	*map = p;
	return 0;
}

static int
resume_ring(struct reader *r, const struct reader_state *state, unsigned i)
{
	const struct ring_state *s = &state->rings[i];
	struct reader_ring *ring = &r->rings[i];

	if (s->done > s->pos || s->pos > s->seen ||
	    s->seen - s->done > (uint64_t)ring->mask + 1 ||
	    (s->after != 0 && (s->leader >= RING_COUNT || s->leader == i)) ||
	    (s->after == 0 && (s->leader != 0 || s->follows != 0)))
		return -EINVAL;
	ring->pos = s->done;
	ring->done = ring->saved = s->done;
	ring->seen = s->seen;
	ring->after = s->after;
	ring->from = s->from;
	ring->end = s->end;
	ring->dropped = s->dropped;
	ring->not_before = s->not_before;
	ring->leader = s->leader;
	ring->follows = s->follows != 0;
	/* Records from `done` on are taken again, as what they are by then. */
	ring->pairable_from = s->pairable_from < s->done ? s->pairable_from : s->done;
	memcpy(ring->pairable, s->pairable, sizeof(ring->pairable));
	return 0;
}

/* True if room of records that must be read again has been given back. */
static bool
room_was_given(const struct reader *r)
{
	for (unsigned i = 0; i <= RING_COUNT; i++)
		if (atomic_load_explicit(&r->keeper->tails[i].tail,
			memory_order_relaxed) > r->rings[i].done)
			return true;
	return false;
}

/*
 * Two things that the dead keeper did after its save cannot be undone: a
 * millisecond stays published, and a change of `armed` has had its effect.
 * After such a change the target is disarmed.
 */
static void
resume_arming(struct reader *r, const struct reader_state *s)
{
	uint64_t ms = atomic_load_explicit(&r->keeper->ms,
	    memory_order_relaxed);
	uint64_t armings = atomic_load_explicit(&r->keeper->armings,
	    memory_order_relaxed);

	r->latest = s->latest;
	if (ms - (uint64_t)s->latest < (uint64_t)READER_MS_NEAR)
		r->latest = (int64_t)ms;
	r->armed_at = s->armed_at;
	r->dormant = s->dormant != 0 || armings != s->armings;
	r->armings = armings;
}

static int
resume_state(struct reader *r, const struct reader_state *s)
{
	int err;

	if (s->nrings > RING_COUNT || s->threads > UINT16_MAX ||
	    s->latest < 0 || s->latest > INT64_MAX / 2 || s->armed_at < 0 ||
	    s->armed_at > INT64_MAX / 2)
		return -EINVAL;
	for (unsigned i = 0; i < s->nrings; i++)
		if ((err = resume_ring(r, s, i)) != 0)
			return err;
	if ((err = resume_ring(r, s, RING_COMMON)) != 0)
		return err;
	if (room_was_given(r))
		return -ESTALE;
	r->dropped = s->dropped;
	r->far_addresses = s->far_addresses;
	r->sites_full = s->sites_full;
	r->walks = s->walks;
	r->sample_full = s->sample_full;
	r->marks_untold = s->marks_untold;
	r->nrings = s->nrings;
	r->threads = s->threads;
	r->now = s->now;
	r->joined = s->joined != 0;
	r->no_wait = s->no_wait != 0;
	resume_arming(r, s);
	return 0;
}

static int
map_areas(struct reader *r, const int fds[2])
{
	void *area, *keeper;
	int err;

	err = area_map(fds[0], AREA_SIZE, PROT_READ, &area);
	if (err != 0)
		return err;
	err = area_map(fds[1], KEEPER_SIZE, PROT_READ | PROT_WRITE, &keeper);
	if (err != 0) {
		munmap(area, AREA_SIZE);
		return err;
	}
	reader_init(r, area, keeper);
	if (atomic_load_explicit(&r->keeper->magic, memory_order_relaxed) ==
	    RING_MAGIC)
		return 0;
	reader_unmap(r);
	return -EINVAL;
}

int
reader_resume(struct reader *r, const int fds[2], const struct reader_state *s)
{
	int err = map_areas(r, fds);

	if (err != 0)
		return err;
	if ((err = resume_state(r, s)) != 0) {
		reader_unmap(r);
		return err;
	}
	r->beat = r->latest;
	reader_hold(r);
	return 0;
}

int
reader_abandon(const int fds[2])
{
	struct reader r;
	int err = map_areas(&r, fds);

	if (err != 0)
		return err;
	reader_close(&r);
	return 0;
}

void
reader_resumed(struct reader *r)
{
	/* Makes the commit write all tails, and wake those that wait. */
	for (unsigned i = 0; i < r->nrings; i++)
		r->rings[i].released = ~r->rings[i].saved;
	r->rings[RING_COMMON].released = ~r->rings[RING_COMMON].saved;
	reader_commit(r);
	store_arming(r);
	publish_state(r);
}
