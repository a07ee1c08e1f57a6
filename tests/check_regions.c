/*
 * Regions, from the program that registers them to the page that is told: the
 * target's table, the ring, the node's set, REGIONS over the wire, and when
 * the answer is that none are known.
 */
#include "../src/alloclog/produce/produce.h"
#include "feed_rig.h"
#include "node_harness.h"

/* --- the node's set ----------------------------------------------------- */

static struct rec
said(unsigned control, uint64_t base, uint64_t size, uint32_t no)
{
	struct rec r = { .w = { rec_w0(base, REC_FLAGS(REC_CONTROL, 0),
		control), rec_w1(size, 1), rec_region_shape(16, 8, no) } };

	memcpy(&r.w[3], "pool\0\0\0", 8);
	return r;
}

static void
tell(struct region_set *kn, unsigned control, uint64_t base, uint64_t size,
    uint32_t no)
{
	struct rec r = said(control, base, size, no);

	region_set_control(kn, &r);
}

#define BEGINS(base, size, no) tell(kn, REC_CTL_REGION, base, size, no)
#define ENDS(no) tell(kn, REC_CTL_REGION_END, 0, 0, no)

static struct region_set *kn;
static struct wire_region got[WIRE_REGIONS_MAX];

static void
setup(void)
{
	kn = calloc(1, sizeof *kn);
	ck_assert_ptr_nonnull(kn);
}

static void
teardown(void)
{
	free(kn);
}

CASE("the node's set", .setup = setup, .teardown = teardown);

TEST(regions_come_in_the_order_of_addresses)
{
	BEGINS(0x3000, 0x1000, 1);
	BEGINS(0x1000, 0x1000, 2);
	ck_assert_uint_eq(region_set_get(kn, got), 2);
	ck_assert_uint_eq(got[0].base, 0x1000);
	ck_assert_uint_eq(got[1].base, 0x3000);
	ck_assert_uint_eq(got[1].size, 0x1000);
	ck_assert_uint_eq(got[1].head, 16);
	ck_assert_uint_eq(got[1].align, 8);
	ck_assert_str_eq(got[1].name, "pool");
	ENDS(1);
	ck_assert_uint_eq(region_set_get(kn, got), 1);
	ck_assert_uint_eq(got[0].base, 0x1000);
}

/* What three threads say of one place, one after the other, in every order. */
LOOP_TEST(beginnings_and_ends_are_known_by_their_number_in_any_order, 0, 120)
{
	static const struct {
		bool begins;
		uint32_t no;
	} words[] = { { true, 1 }, { false, 1 }, { true, 2 }, { false, 2 },
		{ true, 3 } };
	unsigned left[5] = { 0, 1, 2, 3, 4 }, code = (unsigned)_i;

	for (unsigned n = 5; n > 0; n--) {
		unsigned i = code % n, w = left[i];

		code /= n;
		left[i] = left[n - 1];
		if (words[w].begins)
			BEGINS(0x1000, 0x100 * words[w].no, words[w].no);
		else
			ENDS(words[w].no);
	}
	ck_assert_uint_eq(region_set_get(kn, got), 1);
	ck_assert_uint_eq(got[0].size, 0x300);
	ck_assert_uint_eq(kn->nended, 0);
}

TEST(of_regions_that_overlap_the_last_to_begin_counts)
{
	BEGINS(0x1800, 0x1000, 7);
	BEGINS(0x1000, 0x1000, 6);
	BEGINS(0x2400, 0x1000, 8);
	ck_assert_uint_eq(region_set_get(kn, got), 1);
	ck_assert_uint_eq(got[0].base, 0x2400);
	/* One that touches another does not overlap it. */
	BEGINS(0x3400, 0x1000, 9);
	ck_assert_uint_eq(region_set_get(kn, got), 2);
}

TEST(a_region_of_nothing_or_beyond_all_addresses_is_none)
{
	BEGINS(0x1000, 0, 1);
	BEGINS(0x2000, REC_ADDR_MASK, 2);
	ck_assert_uint_eq(region_set_get(kn, got), 0);
}

/* Rather none at all than one of which the end was left out. */
LOOP_TEST(a_target_that_says_too_much_has_no_regions, 0, 2)
{
	for (uint32_t i = 1; i <= REGION_SET_MAX; i++)
		if (_i == 0)
			BEGINS(i * 0x1000, 0x1000, i);
		else
			ENDS(i + 1);
	ck_assert_uint_eq(
	    region_set_get(kn, got), _i == 0 ? WIRE_REGIONS_MAX : 0);
	if (_i == 0)
		BEGINS(0xffff000, 0x1000, 999);
	else
		ENDS(999);
	BEGINS(0xeeee000, 0x1000, 1000);
	ck_assert(kn->overrun);
	ck_assert_uint_eq(region_set_get(kn, got), 0);
	ck_assert(region_set_is_valid(kn));
}

TEST(a_spoilt_set_is_not_whole)
{
	BEGINS(0x1000, 0x1000, 1);
	ck_assert(region_set_is_valid(kn));
	kn->at[0].region.size = 0;
	ck_assert(!region_set_is_valid(kn));
	kn->at[0].region.size = 1;
	memset(kn->at[0].region.name, 'x', sizeof kn->at[0].region.name);
	ck_assert(!region_set_is_valid(kn));
	kn->at[0].region.name[0] = '\0';
	kn->n = REGION_SET_MAX + 1;
	ck_assert(!region_set_is_valid(kn));
	kn->n = 0;
	kn->nended = REGION_SET_MAX + 1;
	ck_assert(!region_set_is_valid(kn));
}

/* --- the target's table ------------------------------------------------- */

static struct rig *rig;

/* What the feed has delivered since the last time, into the set. */
static size_t
deliver(void)
{
	size_t regions = 0;

	rig_drain(rig);
	for (size_t i = 0; i < rig->nlog; i++) {
		if (rec_op(&rig->log[i]) != REC_CONTROL ||
		    rec_type(&rig->log[i]) < REC_CTL_REGION)
			continue;
		region_set_control(kn, &rig->log[i]);
		regions++;
	}
	rig->nlog = 0;
	return regions;
}

static void
pool_begins(uint64_t base, uint64_t size)
{
	regions_begin(NULL, true, &(struct region){ .base = base,
	    .size = size, .shape = rec_region_shape(16, 32, 0),
	    .name = 0x6c6f6f70 });
}

static void
setup_pools(void)
{
	setup();
	rig = rig_attached(false);
}

static void
teardown_pools(void)
{
	rig_free(rig);
	teardown();
}

CASE("the target's table", .setup = setup_pools, .teardown = teardown_pools,
    .seconds = 60);

TEST(a_pool_is_told_as_it_is)
{
	pool_begins(0x7f0000123000, 0x45678);
	ck_assert_uint_eq(deliver(), 1);
	ck_assert_uint_eq(region_set_get(kn, got), 1);
	ck_assert_uint_eq(got[0].base, 0x7f0000123000);
	ck_assert_uint_eq(got[0].size, 0x45678);
	ck_assert_uint_eq(got[0].head, 16);
	ck_assert_uint_eq(got[0].align, 32);
	ck_assert_str_eq(got[0].name, "pool");
	/* In the middle of it none begins. */
	regions_end(NULL, true, 0x7f0000123010);
	ck_assert_uint_eq(deliver(), 0);
	regions_end(NULL, true, 0x7f0000123000);
	ck_assert_uint_eq(deliver(), 1);
	ck_assert_uint_eq(region_set_get(kn, got), 0);
	regions_end(NULL, true, 0x7f0000123000);
	ck_assert_uint_eq(deliver(), 0);
}

TEST(a_pool_takes_the_place_of_those_that_it_overlaps)
{
	pool_begins(0x10000, 0x1000);
	pool_begins(0x11000, 0x1000);
	pool_begins(0x13000, 0x1000);
	pool_begins(0x10800, 0x1000);
	deliver();
	ck_assert_uint_eq(region_set_get(kn, got), 2);
	ck_assert_uint_eq(got[0].base, 0x10800);
	ck_assert_uint_eq(got[1].base, 0x13000);
	/* They are gone from the table too. */
	regions_end(NULL, true, 0x10000);
	ck_assert_uint_eq(deliver(), 0);
}

TEST(a_full_table_takes_no_more_and_forgets_nothing)
{
	for (unsigned i = 0; i < REGIONS_MAX + 3; i++)
		pool_begins(0x100000 + i * 0x1000, 0x1000);
	ck_assert_uint_eq(deliver(), REGIONS_MAX);
	for (unsigned i = 0; i < REGIONS_MAX + 3; i++)
		regions_end(NULL, true, 0x100000 + i * 0x1000);
	ck_assert_uint_eq(deliver(), REGIONS_MAX);
	ck_assert_uint_eq(region_set_get(kn, got), 0);
	ck_assert_uint_eq(kn->nended, 0);
	pool_begins(0x100000, 0x1000);
	deliver();
	ck_assert_uint_eq(region_set_get(kn, got), 1);
}

/* As a forked child does, or who says hello again. */
TEST(another_stream_is_told_of_all_pools_once)
{
	struct rig *old = rig;

	pool_begins(0x10000, 0x1000);
	pool_begins(0x20000, 0x1000);
	regions_end(NULL, true, 0x10000);
	deliver();
	regions_tell();
	ck_assert_uint_eq(deliver(), 0);
	rig = rig_new(false);
	ck_assert(produce_rejoin(rig->area, rig->keeper, 2));
	memset(kn, 0, sizeof *kn);
	regions_tell();
	regions_tell();
	ck_assert_uint_eq(deliver(), 1);
	ck_assert_uint_eq(region_set_get(kn, got), 1);
	ck_assert_uint_eq(got[0].base, 0x20000);
	regions_end(NULL, true, 0x20000);
	deliver();
	ck_assert_uint_eq(region_set_get(kn, got), 0);
	rig_free(old);
}

static _Atomic unsigned churning;

static void *
churn(void *arg)
{
	uint64_t base = 0x1000000 + (uintptr_t)arg * 0x10000;

	for (unsigned i = 0; i < 2000; i++) {
		pool_begins(base, 0x1000 + i % 7 * 0x1000);
		if (i % 3 == 0)
			regions_end(NULL, true, base);
	}
	pool_begins(base, 0x2000);
	atomic_fetch_sub(&churning, 1);
	return NULL;
}

TEST(threads_that_begin_and_end_pools_leave_what_is_there)
{
	enum { N = 4 };
	pthread_t t[N];

	atomic_store(&churning, N);
	for (uintptr_t i = 0; i < N; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, churn,
		    (void *)i), 0);
	while (atomic_load(&churning) > 0)
		deliver();
	for (unsigned i = 0; i < N; i++)
		pthread_join(t[i], NULL);
	while (deliver() > 0)
		;
	ck_assert_uint_eq(rig->lost[STREAM_RING_FULL], 0);
	ck_assert_uint_eq(region_set_get(kn, got), N);
	for (unsigned i = 0; i < N; i++) {
		ck_assert_uint_eq(got[i].base, 0x1000000 + i * 0x10000);
		ck_assert_uint_eq(got[i].size, 0x2000);
	}
	ck_assert_uint_eq(kn->nended, 0);
}

/* --- the node's answer --------------------------------------------------- */

static char why[WIRE_TEXT_MAX + 1];	/* of the last answer */

static size_t
asked(struct page *p, const struct keeper *k, uint32_t *no)
{
	struct wire_msg r, m = { .type = WIRE_REGIONS,
		.regions = { .index = k->index } };
	size_t n;

	memcpy(m.regions.epoch, node.dstrm.row[k->index].epoch, WIRE_EPOCH);
	page_ask(p, &m, &r);
	ck_assert_uint_eq(r.type, WIRE_REGIONED);
	ck_assert_uint_eq(r.regioned.index, k->index);
	n = r.regioned.regions.len / WIRE_REGION_SIZE;
	for (size_t i = 0; i < n; i++)
		wire_region_get(&got[i], r.regioned.regions.p +
		    i * WIRE_REGION_SIZE);
	*no = r.regioned.no;
	snprintf(why, sizeof why, "%.*s", (int)r.regioned.why.len,
	    r.regioned.why.len > 0 ? r.regioned.why.s : "");
	return n;
}

static struct keeper *
keeper_with_regions(void)
{
	struct keeper *k = new_keeper("ALLOCLOG.target.4711", 4711);
	struct rec r = said(REC_CTL_REGION, 0x10000, 0x1000, 1);

	keeper_control(k, &r);
	r = said(REC_CTL_REGION, 0x8000, 0x1000, 2);
	keeper_control(k, &r);
	return k;
}

CASE("the node's answer");

TEST(a_page_is_told_of_the_regions_and_when_they_change)
{
	uint32_t no, then;
	struct keeper *k;
	struct page p;
	struct rec r;

	node_up(NULL);
	k = keeper_with_regions();
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	ck_assert_uint_eq(asked(&p, k, &then), 2);
	ck_assert_uint_eq(got[0].base, 0x8000);
	ck_assert_uint_eq(got[1].base, 0x10000);
	ck_assert_uint_eq(asked(&p, k, &no), 2);
	ck_assert_uint_eq(no, then);
	r = said(REC_CTL_REGION_END, 0, 0, 2);
	keeper_control(k, &r);
	ck_assert_uint_eq(asked(&p, k, &no), 1);
	ck_assert_uint_ne(no, then);
	page_close(&p);
	node_down();
}

static void
lose(struct keeper *k)
{
	keeper_lose(k, STREAM_RING_FULL, 1);
}

static void
doubt(struct keeper *k)
{
	keeper_set_doubt(k, STREAM_DOUBT_BEGUN);
}

static void
stop(struct keeper *k)
{
	struct rec r = { .w = { rec_w0(0, REC_FLAGS(REC_CONTROL, 0),
		REC_CTL_STOP) } };

	keeper_control(k, &r);
}

static void
sample(struct keeper *k)
{
	k->format.sample = 4096;
}

static void
sleep_now(struct keeper *k)
{
	k->arming.mode = ARMING_DORMANT;
}

static void
fill(struct keeper *k)
{
	for (uint64_t i = 0; i <= 4096; i++)
		take(k, allocation(0x100000 + i * 64, 8));
}

static void
say_too_much(struct keeper *k)
{
	for (uint32_t i = 1; i <= REGION_SET_MAX; i++) {
		struct rec r = said(REC_CTL_REGION, i * 0x100000, 0x1000,
		    i + 2);

		keeper_control(k, &r);
	}
}

static const struct {
	void (*harm)(struct keeper *);
	const char *why;
} harms[] = {
	{ lose, "records were lost" },
	{ doubt, "some of its blocks may not be listed" },
	{ stop, "some of its blocks may not be listed" },
	{ sample, "only a sample of it is logged" },
	{ sleep_now, "it is not logged" },
	{ fill, "the node's list was full" },
	{ say_too_much, "it has registered too many regions" },
};

/* Never of memory that is not wholly known, and not without a word. */
LOOP_TEST(of_a_list_that_lacks_anything_no_regions_are_told, 0,
    BASE_NELEM(harms))
{
	uint32_t no, then;
	struct keeper *k;
	struct page p;

	node_up(NULL);
	k = keeper_with_regions();
	page_open(&p);
	page_greet(&p, WIRE_ROLE_READ);
	ck_assert_uint_eq(asked(&p, k, &then), 2);
	ck_assert_str_eq(why, "");
	harms[_i].harm(k);
	ck_assert_uint_eq(asked(&p, k, &no), 0);
	ck_assert_str_eq(why, harms[_i].why);
	ck_assert_uint_ne(no, then);
	page_close(&p);
	node_down();
}
