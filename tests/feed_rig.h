/*
 * A feed and its target in one process, for the linked tests: the two areas
 * mapped as a target maps them, a sink that keeps account of every address,
 * and a producer made by hand whose steps a test can take one at a time.
 */
#ifndef TESTS_FEED_RIG_H
#define TESTS_FEED_RIG_H

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../src/alloclog/produce/produce.h"
#include "../src/stream/feed/feed.h"
#include "harness.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define RIG_TSAN 1
#else
#define RIG_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) || RIG_TSAN
#define RIG_SLOW 1
#else
#define RIG_SLOW 0
#endif

#define RIG_BASE UINT64_C(0x7f0000100000)
#define RIG_SLOTS 4096			/* addresses: RIG_BASE + 16 * slot */
#define RIG_LOG 65536			/* records remembered in their order */

struct rig {
	struct stream_feed *feed;
	struct ring_area *area;
	struct keeper_area *keeper;	/* as the target has it: read-only */
	int fds[2];
	int64_t now;
	bool piecemeal;			/* passes take only some, now more, now less */
	void (*on_control)(struct rig *);	/* in the middle of a pass */
	void (*on_record)(struct rig *, const struct rec *);
	/* what the sink has been told */
	uint64_t records, allocs, frees, failed, undone, ranges, controls;
	uint64_t duplicates, unknown;	/* an address did not alternate */
	uint64_t lost[STREAM_CAUSES];
	uint8_t live[2][RIG_SLOTS];	/* by layer and slot */
	struct rec log[RIG_LOG];
	size_t nlog;
};

static inline uint64_t
rig_addr(unsigned slot)
{
	return RIG_BASE + 16 * (uint64_t)slot;
}

static inline void
rig_range(struct rig *rig, const struct rec *r)
{
	for (unsigned slot = 0; slot < RIG_SLOTS; slot++)
		if (rig_addr(slot) - rec_addr(r) < rec_size(r))
			rig->live[1][slot] = 0;
	rig->ranges++;
}

static inline void
rig_record(struct rig *rig, const struct rec *r)
{
	uint64_t slot = (rec_addr(r) - RIG_BASE) / 16;
	uint8_t *live = &rig->live[rec_layer(r)][slot % RIG_SLOTS];

	rig->records++;
	if (rig->on_record != NULL)
		rig->on_record(rig, r);
	if (rig->nlog < RIG_LOG)
		rig->log[rig->nlog++] = *r;
	switch (rec_op(r)) {
	case REC_ALLOC:
		if (rec_level(r) == REC_LEVEL_FAILED) {
			rig->failed++;
			return;
		}
		rig->duplicates += *live;
		*live = 1;
		rig->allocs++;
		return;
	case REC_FREE:
		rig->unknown += !*live;
		*live = 0;
		rig->frees++;
		return;
	case REC_UNDO:
		rig->duplicates += *live;
		*live = 1;
		rig->undone++;
		return;
	case REC_RANGE:
		rig_range(rig, r);
		return;
	default:
		ck_abort_msg("op %x was delivered", rec_op(r));
	}
}

static inline void
rig_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	(void)near_ms;
	ck_assert_uint_le(n, STREAM_SINK_MAX);
	for (size_t i = 0; i < n; i++)
		rig_record(arg, &r[i]);
}

static inline void
rig_control(void *arg, const struct rec *r, int64_t near_ms)
{
	struct rig *rig = arg;

	(void)near_ms;
	rig->controls++;
	if (rig->on_control != NULL)
		rig->on_control(rig);
	if (rig->nlog < RIG_LOG)
		rig->log[rig->nlog++] = *r;
}

static inline void
rig_lost(void *arg, unsigned cause, uint64_t count)
{
	struct rig *rig = arg;

	ck_assert_uint_lt(cause, STREAM_CAUSES);
	rig->lost[cause] += count;
}

static const struct stream_sink rig_sink = {
	.records = rig_records,
	.control = rig_control,
	.lost = rig_lost,
};

/* Where a descriptor is mapped, once. */
static inline void *
rig_mapping_of(int fd)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned long start, ino;
	struct stat st;
	void *found = NULL;
	char line[512];

	ck_assert_ptr_nonnull(maps);
	ck_assert_int_eq(fstat(fd, &st), 0);
	while (found == NULL && fgets(line, sizeof(line), maps) != NULL)
		if (sscanf(line, "%lx-%*x %*s %*x %*s %lu", &start, &ino) ==
			2 && ino == st.st_ino)
			found = (void *)start;
	fclose(maps);
	ck_assert_ptr_nonnull(found);
	return found;
}

static inline void *
rig_map(void *at, size_t size, int prot, int fd)
{
	void *p = mmap(at, size, prot, MAP_SHARED | (at ? MAP_FIXED : 0), fd, 0);

	ck_assert_ptr_ne(p, MAP_FAILED);
	return p;
}

/*
 * The thread sanitizer knows memory by its address: for it both sides share
 * one mapping, or it would see no order between them.
 */
static inline void
rig_map_areas(struct rig *rig, void *at)
{
	size_t area = RING_ALIGN(ring_area_size());
	size_t keeper = RING_ALIGN(sizeof(struct keeper_area));

	rig->area = rig_map(RIG_TSAN ? rig_mapping_of(rig->fds[0]) : at, area,
	    PROT_READ | PROT_WRITE, rig->fds[0]);
	rig->keeper = RIG_TSAN ? rig_mapping_of(rig->fds[1]) :
	    rig_map(NULL, keeper, PROT_READ, rig->fds[1]);
}

/* The rig is large: each test has one, zeroed.  Its areas are not mapped. */
static inline struct rig *
rig_made(bool no_wait)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	ck_assert_ptr_nonnull(rig);
	ck_assert_int_eq(stream_feed_new(&rig->feed, rig->fds, no_wait,
			     &rig_sink, rig), 0);
	rig->now = 1000;
	return rig;
}

static inline struct rig *
rig_new(bool no_wait)
{
	struct rig *rig = rig_made(no_wait);

	rig_map_areas(rig, NULL);
	return rig;
}

static inline struct rig *
rig_attached(bool no_wait)
{
	struct rig *rig = rig_new(no_wait);

	produce_attach(rig->area, rig->keeper, 1);
	ck_assert(produce_attached());
	return rig;
}

/* The next era's: mapped as attach.c does, and nothing more. */
static inline struct rig *
rig_next(void)
{
	struct rig *rig = rig_made(false);

	rig_map_areas(rig, produce_rejoin_address());
	return rig;
}

/* The target's mappings are the target's. */
static inline void
rig_forget(struct rig *rig)
{
	if (!RIG_TSAN)
		stream_feed_free(rig->feed);
	close(rig->fds[0]);
	close(rig->fds[1]);
	free(rig);
}

static inline void
rig_free(struct rig *rig)
{
	stream_feed_free(rig->feed);
	if (!RIG_TSAN) {
		munmap(rig->area, RING_ALIGN(ring_area_size()));
		munmap(rig->keeper, RING_ALIGN(sizeof(struct keeper_area)));
	}
	close(rig->fds[0]);
	close(rig->fds[1]);
	free(rig);
}

static inline int
rig_pass(struct rig *rig)
{
	uint64_t some = 1 + (uint64_t)++rig->now % 5 * 50;

	return stream_feed_pass(rig->feed, rig->now,
	    rig->piecemeal ? some : UINT64_MAX);
}

/* Everything published must have come through: no more than three passes. */
static inline void
rig_drain(struct rig *rig)
{
	rig->piecemeal = false;
	for (int i = 0; i < 3; i++)
		ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->held, 0);
}

static inline uint64_t
rig_live(const struct rig *rig)
{
	uint64_t n = 0;

	for (unsigned slot = 0; slot < RIG_SLOTS; slot++)
		n += rig->live[0][slot] + rig->live[1][slot];
	return n;
}

/* The address of the log's entry i, as a slot. */
static inline unsigned
rig_log_slot(const struct rig *rig, size_t i)
{
	ck_assert_uint_lt(i, rig->nlog);
	return (unsigned)((rec_addr(&rig->log[i]) - RIG_BASE) / 16);
}

/* --- a producer at work ---------------------------------------------------- */

/* Records that a small ring holds undrained. */
#define RIG_FULL (RING_SMALL - RING_PAIRS)

/* Leaves none: the common ring is all there is. */
static inline void
take_all_rings(struct ring_area *area)
{
	for (unsigned i = 0; i < RING_COUNT; i++)
		atomic_store(&area->rings[i].owner, 1);
}

/* Leaves only small rings to be had: whose ring is full has no other. */
static inline void
take_large_rings(struct ring_area *area)
{
	size_t offset;

	for (unsigned i = 0; i < RING_COUNT; i++)
		if (ring_place(i, &offset) > RING_SMALL)
			atomic_store(&area->rings[i].owner, 1);
}

static inline void
alloc_many(struct producer *p, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		produce_alloc(p, rig_addr(i % RIG_SLOTS), 16, 0, TYPE_MALLOC,
		    0, 0);
}

/* --- a producer by hand --------------------------------------------------- */

struct hand {
	struct rig *rig;
	struct ring_head *ring;
	struct rec *recs;
	uint32_t mask;
	uint64_t head;
};

static inline struct hand
hand_open(struct rig *rig, unsigned i)
{
	struct hand h = { .rig = rig, .ring = &rig->area->rings[i] };
	size_t offset;

	h.mask = ring_place(i, &offset) - 1;
	h.recs = (struct rec *)((char *)rig->area + offset);
	atomic_store(&rig->area->magic, RING_MAGIC);
	atomic_store(&rig->area->version, RING_VERSION);
	if (atomic_load(&rig->area->threads) < i + 1)
		atomic_store(&rig->area->threads, i + 1);
	if (atomic_load(&rig->area->next_ring) < i + 1)
		atomic_store(&rig->area->next_ring, i + 1);
	atomic_store(&h.ring->owner, 1);
	h.head = atomic_load(&h.ring->head);
	return h;
}

static inline void
hand_inflight(struct hand *h, unsigned shard)
{
	atomic_store(&h->ring->inflight, shard + 1);
}

static inline uint32_t
hand_draw(unsigned shard)
{
	return atomic_fetch_add(&produce_tickets_now()[shard].next, 1);
}

/* Writes a record behind the head without publishing it. */
static inline void
hand_write(struct hand *h, unsigned op, unsigned slot, uint32_t ticket)
{
	struct rec *r = &h->recs[h->head++ & h->mask];
	unsigned thread = (unsigned)(h->ring - h->rig->area->rings) + 1;

	r->w[0] = rec_w0(rig_addr(slot), REC_FLAGS(op, 0),
	    op == REC_FREE ? TYPE_FREE : TYPE_MALLOC);
	r->w[1] = rec_w1(16, thread);
	r->w[2] = rec_w2(ticket, 0);
	r->w[3] = 0;
}

static inline void
hand_publish(struct hand *h)
{
	atomic_store_explicit(&h->ring->head, h->head, memory_order_release);
	atomic_store_explicit(&h->ring->inflight, 0, memory_order_release);
}

/* All steps at once. */
static inline void
hand_event(struct hand *h, unsigned op, unsigned slot)
{
	unsigned shard = rec_shard(rig_addr(slot));

	hand_inflight(h, shard);
	hand_write(h, op, slot, hand_draw(shard));
	hand_publish(h);
}

/* Two slots of one shard, the first that differ from `slot`. */
static inline unsigned
rig_same_shard(unsigned slot)
{
	for (unsigned k = slot + 1; k < RIG_SLOTS; k++)
		if (rec_shard(rig_addr(k)) == rec_shard(rig_addr(slot)))
			return k;
	ck_abort();
}

static inline unsigned
rig_shard_of(unsigned slot)
{
	return rec_shard(rig_addr(slot));
}

#endif
