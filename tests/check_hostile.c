/*
 * What a hostile target can do to its keeper by what it writes into the shared
 * memory, which is nothing: it is refused, or it spoils its own stream.
 */
#include <errno.h>
#include <link.h>
#include <pthread.h>

#include "../src/alloclog/unwind/unwind.h"
#include "chance.h"
#include "feed_rig.h"

/* A value that bites: edges, small numbers, neighbours of what is there, noise. */
static uint64_t
evil(uint64_t *seed, uint64_t is)
{
	static const uint64_t edges[] = {
		0, 1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1,
		UINT32_MAX, INT32_MAX, (uint64_t)INT32_MAX + 1, 65535, 65536,
		REC_SHARDS, REC_SHARDS + 1, REC_SHARDS + 2, RING_COUNT,
		RING_COUNT + 1, RING_COMMON_SLOTS, 131072, 131073,
	};
	uint64_t r = chance_next(seed);

	switch (r % 5) {
	case 0:
		return edges[chance_next(seed) %
		    (sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return is + chance_next(seed) % 9 - 4;
	case 2:
		return is ^ UINT64_C(1) << chance_next(seed) % 64;
	case 3:
		return chance_next(seed) % 300000;
	default:
		return chance_next(seed);
	}
}

/* A word of the area that a keeper reads, weighted to where it decides. */
static uint64_t *
evil_word(struct rig *rig, uint64_t *seed)
{
	static const unsigned rings[] = { 0, 1, 8, 16, 44, RING_COMMON };
	size_t at;

	switch (chance_next(seed) % 9) {
	case 0:
		at = chance_next(seed) % 80;
		break;
	case 6:
		at = ring_sites_offset() +
		    chance_next(seed) % (40 * sizeof(struct ring_site));
		break;
	case 7:
		at = ring_frames_offset() +
		    chance_next(seed) % (400 * sizeof(uint64_t));
		break;
	case 8:
		at = ring_modules_offset() +
		    chance_next(seed) % (6 * sizeof(struct ring_module));
		break;
	case 1:
	case 2:
		at = offsetof(struct ring_area, rings) +
		    rings[chance_next(seed) % 6] * sizeof(struct ring_head) +
		    chance_next(seed) % sizeof(struct ring_head);
		break;
	case 3:
		at = RING_SLOTS_OFFSET +
		    chance_next(seed) % (300 * sizeof(struct ring_slot));
		break;
	default:
		ring_place(rings[chance_next(seed) % 4], &at);
		at += chance_next(seed) % (600 * sizeof(struct rec));
	}
	return (uint64_t *)((char *)rig->area + (at & ~(size_t)7));
}

/* Memory right before and behind the feed's own view must not be touched. */
static void
guard(int fd, size_t size)
{
	char *start = rig_mapping_of(fd);

	mmap(start - 4096, 4096, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	mmap(start + size, 4096, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

/*
 * A stack of three modules, one of some thirty.  Nothing is mapped there, and
 * nothing is looked at, for no object begins in the middle of a page.
 */
static uint64_t
honest_caller(uint64_t *seed)
{
	static char path[] = "/lib/honest.so";
	struct link_map map = { .l_name = path };
	uint64_t frame[RING_STACK_MAX];
	unsigned which = chance_next(seed) % 30, depth = 1 + which % 16;
	uint32_t no;

	for (unsigned i = 0; i < depth; i++) {
		struct cfi_object o = {
			.start = 0x10001010 * (i % 3 + 1),
			.map = &map,
		};

		o.end = o.start + 0x1000000;
		frame[i] = frame_make(o.start + 16 * which + i,
		    sites_module(&o));
	}
	no = sites_put(frame, depth, RING_END_DEPTH);
	return no != 0 ? rec_site_caller(no) : 0;
}

/* Some of everything, so that there is something to spoil. */
static void
honest_traffic(struct rig *rig, uint64_t *seed)
{
	struct producer p[3] = { 0 };

	for (unsigned i = 0; i < 3; i++) {
		if (i == 2)
			take_large_rings(rig->area);
		produce_open(&p[i], i + 1);
	}
	for (unsigned k = 0; k < 200; k++) {
		struct producer *q = k % 7 ? &p[chance_next(seed) % 3] : NULL;

		if (k % 40 == 11)
			produce_range(q, rig_addr(k), 16 * (k % 50 + 1), 0);
		else if (k % 10 == 3)
			produce_control(q, REC_CTL_MARK, 0, k);
		else if (k % 10 == 4)
			produce_failed(q, k, TYPE_MALLOC, 0, 0);
		else
			produce_alloc(q, rig_addr(k % 50), 16, 0, TYPE_MALLOC,
			    k % 3 ? REC_LAYER_API : 0,
			    k % 2 ? honest_caller(seed) : 0);
	}
}

static void
quiet_records(void *arg, const struct rec *r, size_t n, int64_t near_ms)
{
	struct rig *rig = arg;

	(void)r;
	(void)near_ms;
	rig->records += n;
}

static const struct stream_sink quiet_sink = {
	.records = quiet_records,
	.control = rig_control,
	.lost = rig_lost,
};

/* A rig whose sink takes anything; the account is not what is asked for. */
static struct rig *
hostile_rig(void)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	struct stream_sites *sites;

	ck_assert_ptr_nonnull(rig);
	for (unsigned s = 0; s < REC_SHARDS; s++)
		atomic_store(&produce_tickets_now()[s].next, 0);
	ck_assert_int_eq(stream_feed_new(&rig->feed, rig->fds, true,
			     &quiet_sink, rig), 0);
	ck_assert_int_eq(stream_sites_new(&sites), 0);
	stream_feed_sites(rig->feed, sites);
	stream_sites_unref(sites);
	/* While its view is the only one. */
	guard(rig->fds[0], RING_ALIGN(ring_area_size()));
	rig_map_areas(rig, NULL);
	produce_attach(rig->area, rig->keeper, 1);
	return rig;
}

/* One thread runs all rounds, so the thread sanitizer has little to check. */
/* No thread has a part in it. */
#define HOSTILE_ROUNDS \
	(!RIG_SLOW || !check_is_shortened() ? 6000 : RIG_TSAN ? 120 : 400)

CASE("hostile", .seconds = 300);

LOOP_TEST(random_words_anywhere_are_refused_or_survived, 0, 4)
{
	uint64_t seed = check_seed(88172645463325252u +
	    (unsigned)_i * 977);
	unsigned refused = 0;

	for (unsigned i = 0; i < HOSTILE_ROUNDS / 4; i++) {
		struct rig *rig = hostile_rig();
		int err = 0;

		honest_traffic(rig, &seed);
		if (i % 2)
			ck_assert_int_ge(rig_pass(rig), 0);
		for (unsigned k = 0; k < 4 && err >= 0; k++) {
			for (unsigned n = chance_next(&seed) % 3 + 1; n > 0; n--) {
				uint64_t *w = evil_word(rig, &seed);

				*w = evil(&seed, *w);
			}
			err = rig_pass(rig);
			ck_assert(err >= 0 || err == -EPROTO);
			if (err >= 0 && k == 1)
				honest_traffic(rig, &seed);
		}
		if (err >= 0)
			err = stream_feed_finish(rig->feed, 9999);
		ck_assert(err >= 0 || err == -EPROTO);
		refused += err == -EPROTO;
		rig_free(rig);
	}
	/* Both ends must have been seen, or this asks nothing. */
	ck_assert_uint_gt(refused, HOSTILE_ROUNDS / 40);
	ck_assert_uint_lt(refused, HOSTILE_ROUNDS / 4);
}

static const uint64_t heads[] = {
	2049, 131073, UINT32_MAX, UINT64_C(1) << 40, INT64_MAX,
	(uint64_t)INT64_MAX + 1, UINT64_MAX - 1, UINT64_MAX,
};

LOOP_TEST(a_head_beyond_the_capacity_is_refused, 0,
    sizeof(heads) / sizeof(heads[0]))
{
	static const unsigned rings[] = { 8, 0, RING_COMMON };

	for (unsigned i = 0; i < 3; i++) {
		struct rig *rig = hostile_rig();

		atomic_store(&rig->area->next_ring, 40);
		atomic_store(&rig->area->rings[rings[i]].head,
		    rings[i] == 0 ? heads[_i] :
				     heads[_i] < 131073 ? 131073 : heads[_i]);
		ck_assert_int_eq(rig_pass(rig), -EPROTO);
		rig_free(rig);
	}
}

/* Slots that would all do: only the count of them is a lie. */
TEST(one_record_more_than_a_ring_holds_is_refused)
{
	struct rig *rig = hostile_rig();
	struct producer p = { 0 };
	uint64_t head;

	take_large_rings(rig->area);
	produce_open(&p, 1);
	/* A producer leaves some of it alone, so these come in two parts. */
	for (unsigned i = 0; i < 1024; i++)
		produce_failed(&p, 1, TYPE_MALLOC, 0, 0);
	ck_assert_int_eq(rig_pass(rig), 1024);
	for (unsigned i = 0; i < 1024; i++)
		produce_failed(&p, 1, TYPE_MALLOC, 0, 0);
	ck_assert_int_eq(rig_pass(rig), 1024);
	head = atomic_load(&p.ring->head);
	atomic_store(&p.ring->head, head + 2048);
	ck_assert_int_eq(rig_pass(rig), 2048);
	atomic_store(&p.ring->head, head + 2048 + 2049);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}

TEST(a_head_that_goes_back_is_refused)
{
	struct rig *rig = hostile_rig();
	struct producer p = { 0 };

	produce_open(&p, 1);
	alloc_many(&p, 100);
	ck_assert_int_ge(rig_pass(rig), 0);
	atomic_store(&p.ring->head, 99);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}

/* A loss that nobody has time to have, or one that is taken back. */
LOOP_TEST(a_count_of_losses_that_makes_no_sense_is_refused, 0, 2)
{
	struct rig *rig = hostile_rig();

	atomic_store(&rig->area->sample_full, 5);
	ck_assert_int_ge(rig_pass(rig), 0);
	ck_assert_uint_eq(rig->lost[STREAM_SAMPLE_FULL], 5);
	atomic_store(&rig->area->sample_full,
	    _i ? 4 : UINT64_C(1) << 62);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}

static const struct {
	uint64_t w[4];
} bad_records[] = {
	{ { 0, 0, 0, 0 } },						/* no op */
	{ { UINT64_C(0xa7) << 48, 0, 0, 0 } },				/* level 7 */
	{ { UINT64_C(0xf6) << 48, 0, 0, 0 } },				/* a free that failed */
	{ { UINT64_C(0xb0) << 48, 0, 0, 0 } },				/* op B */
	{ { UINT64_C(0xa0) << 48, UINT64_C(9999) << 48, 0, 0 } },	/* thread */
	{ { UINT64_C(0xe8) << 48, 0, 0, 0 } },				/* range of nothing */
	{ { UINT64_C(0xe8) << 48, 4096, 0, 0 } },			/* without its slots */
};

LOOP_TEST(a_record_that_makes_no_sense_is_refused, 0,
    sizeof(bad_records) / sizeof(bad_records[0]))
{
	for (int common = 0; common < 2; common++) {
		struct rig *rig = hostile_rig();
		struct hand h = hand_open(rig, 0);
		struct ring_slot *slot = (struct ring_slot *)((char *)rig->area +
		    RING_SLOTS_OFFSET);

		if (common) {
			memcpy(slot->rec.w, bad_records[_i].w, 32);
			atomic_store(&slot->lap, 1);
			atomic_store(&rig->area->rings[RING_COMMON].head, 1);
		} else {
			memcpy(h.recs[0].w, bad_records[_i].w, 32);
			h.head = 1;
			hand_publish(&h);
		}
		ck_assert_int_eq(rig_pass(rig), -EPROTO);
		rig_free(rig);
	}
}

/* One lie about site 1, whose frames begin at word 1 and are of module 1. */
static const struct site_lie {
	enum { OF_SITE, OF_FRAME, OF_MODULE } of;
	size_t at;			/* in it */
	uint64_t word;
} site_lies[] = {
	{ OF_SITE, 0, 0 },					/* not written down */
	{ OF_SITE, 0, 1 | UINT64_C(1) << 40 },			/* no frames */
	{ OF_SITE, 0, 1 | UINT64_C(65) << 32 | UINT64_C(1) << 40 },
	{ OF_SITE, 0, 1 | UINT64_C(255) << 32 | UINT64_C(1) << 40 },
	{ OF_SITE, 0, 1 | UINT64_C(2) << 32 },			/* no end */
	{ OF_SITE, 0, 1 | UINT64_C(2) << 32 | (uint64_t)RING_END_ALONE << 40 },
	{ OF_SITE, 0, 1 | UINT64_C(2) << 32 | (uint64_t)RING_ENDS << 40 },
	{ OF_SITE, 0, 1 | UINT64_C(2) << 32 | UINT64_C(0x101) << 40 },
	{ OF_SITE, 0, UINT64_C(2) << 32 | UINT64_C(1) << 40 },	/* word 0 */
	{ OF_SITE, 0, (RING_FRAMES - 1) | UINT64_C(2) << 32 | UINT64_C(1) << 40 },
	{ OF_SITE, 0, RING_FRAMES | UINT64_C(2) << 32 | UINT64_C(1) << 40 },
	{ OF_SITE, 0, UINT32_MAX | UINT64_C(2) << 32 | UINT64_C(1) << 40 },
	{ OF_SITE, 0, UINT64_MAX },
	{ OF_FRAME, 0, UINT64_C(2) << 48 | 4096 },		/* no such module */
	{ OF_FRAME, 8, (uint64_t)RING_MODULES << 48 | 4096 },
	{ OF_FRAME, 8, UINT64_MAX },
	{ OF_MODULE, 0, 0 },					/* not valid */
	{ OF_MODULE, 0, 2 },
	{ OF_MODULE, 0, 1 | UINT64_C(33) << 32 },		/* build id of 33 bytes */
	{ OF_MODULE, 0, 1 | UINT64_C(0xffffffff) << 32 },
	{ OF_MODULE, offsetof(struct ring_module, start), UINT64_MAX },
	{ OF_MODULE, offsetof(struct ring_module, start), 0x11001000 },	/* of nothing */
	{ OF_MODULE, offsetof(struct ring_module, end), 0 },
	{ OF_MODULE, offsetof(struct ring_module, end), REC_ADDR_MASK + 2 },
};

/* A stack of two frames and a record that names it. */
static void
one_stack(struct producer *p)
{
	static char path[] = "/lib/honest.so";
	struct link_map map = { .l_name = path };
	struct cfi_object o = { .start = 0x10001010, .end = 0x11001000,
		.map = &map };
	unsigned module = sites_module(&o);
	uint64_t frame[2] = { frame_make(0x10001234, module),
		frame_make(0x10005678, module) };
	uint32_t no = sites_put(frame, 2, RING_END_OUTERMOST);

	ck_assert_uint_eq(module, 1);
	ck_assert_uint_eq(no, 1);
	produce_open(p, 1);
	produce_alloc(p, rig_addr(1), 16, 0, TYPE_MALLOC, 0,
	    rec_site_caller(no));
}

LOOP_TEST(a_site_that_makes_no_sense_is_refused, 0,
    sizeof(site_lies) / sizeof(site_lies[0]))
{
	const struct site_lie *lie = &site_lies[_i];
	const size_t of[] = {
		[OF_SITE] = ring_sites_offset() + sizeof(struct ring_site),
		[OF_FRAME] = ring_frames_offset() + sizeof(uint64_t),
		[OF_MODULE] = ring_modules_offset() +
		    sizeof(struct ring_module),
	};
	struct rig *rig = hostile_rig();
	struct producer p = { 0 };

	one_stack(&p);
	*(uint64_t *)((char *)rig->area + of[lie->of] + lie->at) = lie->word;
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	rig_free(rig);
}

LOOP_TEST(the_number_of_no_site_is_refused, 0, 6)
{
	static const uint32_t none[] = { 0, 2, RING_SITES - 1, RING_SITES,
		RING_SITES + 1, UINT32_MAX };

	for (int common = 0; common < 2; common++) {
		struct rig *rig = hostile_rig();
		struct producer p = { 0 };

		one_stack(&p);
		ck_assert_int_eq(rig_pass(rig), 1);
		produce_free(common ? NULL : &p, rig_addr(1), TYPE_FREE, 0,
		    rec_site_caller(none[_i]));
		ck_assert_int_eq(rig_pass(rig), -EPROTO);
		rig_free(rig);
	}
}

/* Strange, and true for all that the keeper can know. */
TEST(what_a_target_says_of_its_modules_is_bounded)
{
	struct rig *rig = hostile_rig();
	struct stream_sites *sites;
	struct stream_module m;
	struct producer p = { 0 };
	struct ring_module *shared;

	ck_assert_int_eq(stream_sites_new(&sites), 0);
	stream_feed_sites(rig->feed, sites);
	one_stack(&p);
	shared = (struct ring_module *)((char *)rig->area +
	    ring_modules_offset()) + 1;
	memset(shared->path, 0x1b, sizeof(shared->path));
	shared->bias = UINT64_MAX - 4095;
	ck_assert_int_eq(rig_pass(rig), 1);
	ck_assert(stream_sites_get_module(sites, 1, &m));
	ck_assert_uint_eq(strlen(m.path), RING_PATH);
	ck_assert(m.cut);
	ck_assert_uint_eq(m.bias, UINT64_MAX - 4095);
	/* What it writes from now on changes nothing. */
	memset(shared, 0xff, sizeof(*shared));
	produce_free(&p, rig_addr(1), TYPE_FREE, 0, rec_site_caller(1));
	ck_assert_int_eq(rig_pass(rig), 1);
	ck_assert(stream_sites_get_module(sites, 1, &m));
	ck_assert_uint_eq(m.end, 0x11001000);
	stream_sites_unref(sites);
	rig_free(rig);
}

#if !RIG_TSAN
struct flipper {
	struct rig *rig;
	_Atomic bool stop;
};

static void *
flip(void *arg)
{
	struct flipper *f = arg;
	uint64_t seed = check_seed(4711);

	while (!atomic_load(&f->stop)) {
		uint64_t *w = evil_word(f->rig, &seed);
		uint64_t was = __atomic_load_n(w, __ATOMIC_RELAXED);

		__atomic_store_n(w, evil(&seed, was), __ATOMIC_RELAXED);
		__atomic_store_n(w, was, __ATOMIC_RELAXED);
	}
	return NULL;
}

TEST(words_that_change_while_they_are_read_are_refused_or_survived)
{
	uint64_t seed = check_seed(7);

	for (unsigned i = 0; i < HOSTILE_ROUNDS / 10; i++) {
		struct flipper f = { .rig = hostile_rig() };
		pthread_t thread;
		int err = 0;

		honest_traffic(f.rig, &seed);
		ck_assert_int_eq(pthread_create(&thread, NULL, flip, &f), 0);
		for (unsigned k = 0; k < 20 && err >= 0; k++)
			err = rig_pass(f.rig);
		ck_assert(err >= 0 || err == -EPROTO);
		atomic_store(&f.stop, true);
		pthread_join(thread, NULL);
		rig_free(f.rig);
	}
}
#endif

/* Read as a record, a slot of the common ring says that it is a range's. */
TEST(a_slot_that_was_a_record_is_no_tickets_of_a_range)
{
	struct rig *rig = hostile_rig();
	struct ring_slot *slots = (struct ring_slot *)((char *)rig->area +
	    RING_SLOTS_OFFSET);
	uint32_t ms = (uint32_t)atomic_load(&rig->keeper->ms);
	uint64_t addr = rig_addr(1);

	slots[1].rec = (struct rec){ {
	    rec_w0(addr, REC_FLAGS(REC_ALLOC, REC_LAYER_API), TYPE_API_FIRST),
	    rec_w1(16, 0), rec_w2(1, ms), 0 } };
	atomic_store(&slots[1].lap, 2);
	atomic_store(&rig->area->rings[RING_COMMON].head, 2);
	ck_assert_int_eq(rig_pass(rig), 1);
	slots[1].rec = (struct rec){ { 0 } };
	atomic_store(&slots[1].lap, 2 | RING_LAP_MORE);
	slots[0].rec = (struct rec){ {
	    rec_w0(addr, REC_FLAGS(REC_RANGE, REC_LAYER_API), 0),
	    rec_w1(1, 0), rec_w2(0, ms), 0 } };
	atomic_store(&slots[0].lap, 1);
	ck_assert_int_eq(rig_pass(rig), -EPROTO);
	ck_assert_uint_eq(rig->records, 1);
	rig_free(rig);
}
