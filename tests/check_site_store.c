/*
 * The keeper's store of stacks, and the way of a stack from the target's
 * memory into it.
 */
#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>

#include "../src/alloclog/unwind/unwind.h"
#include "feed_rig.h"

static struct stream_sites *store;

static void
store_up(void)
{
	ck_assert_int_eq(stream_sites_new(&store), 0);
}

static void
store_down(void)
{
	stream_sites_unref(store);
}

/* The n-th stack of these tests. */
static void
stack_fill(uint64_t frame[RING_STACK_MAX], uint64_t n, unsigned depth)
{
	for (unsigned i = 0; i < depth; i++)
		frame[i] = frame_make(0x400000 + 64 * n + 4096 * i, 0);
}

static int
put(uint64_t n, unsigned depth, enum ring_end end, uint32_t *no)
{
	uint64_t frame[RING_STACK_MAX];

	stack_fill(frame, n, depth);
	return stream_sites_put(store, frame, depth, end, no);
}

static uint32_t
number(uint64_t n, unsigned depth, enum ring_end end)
{
	uint32_t no = 0;

	ck_assert_int_eq(put(n, depth, end, &no), 0);
	return no;
}

static void
expect(uint32_t no, uint64_t n, unsigned depth, enum ring_end end)
{
	uint64_t frame[RING_STACK_MAX];
	struct stream_site site;

	stack_fill(frame, n, depth);
	ck_assert(stream_sites_get(store, no, &site));
	ck_assert_uint_eq(site.depth, depth);
	ck_assert_uint_eq(site.end, end);
	ck_assert_mem_eq(site.frame, frame, depth * sizeof(*frame));
}

/* --- the store ----------------------------------------------------------- */

CASE("store", .setup = store_up, .teardown = store_down, .seconds = 60);

TEST(a_stack_has_one_number_whatever_comes_between)
{
	for (uint32_t n = 1; n <= 20000; n++)
		ck_assert_uint_eq(number(n, 1 + n % 20, RING_END_DEPTH), n);
	for (uint32_t n = 1; n <= 20000; n++) {
		ck_assert_uint_eq(number(n, 1 + n % 20, RING_END_DEPTH), n);
		expect(n, n, 1 + n % 20, RING_END_DEPTH);
	}
	ck_assert_uint_eq(stream_sites_count(store), 20000);
}

TEST(end_and_depth_tell_stacks_apart)
{
	uint32_t no = number(1, 8, RING_END_DEPTH);

	ck_assert_uint_ne(number(1, 8, RING_END_STUCK), no);
	ck_assert_uint_ne(number(1, 7, RING_END_DEPTH), no);
	ck_assert_uint_eq(number(1, 8, RING_END_DEPTH), no);
}

TEST(there_is_nothing_under_other_numbers)
{
	struct stream_module m;
	struct stream_site site;

	ck_assert(!stream_sites_get(store, 0, &site));
	ck_assert(!stream_sites_get(store, 1, &site));
	ck_assert(!stream_sites_get_module(store, 0, &m));
	ck_assert(!stream_sites_get_module(store, 1, &m));
	ck_assert_int_eq(stream_sites_set_path(store, 1, "/x"), -EINVAL);
	number(1, 8, RING_END_DEPTH);
	ck_assert(stream_sites_get(store, 1, &site));
	ck_assert(!stream_sites_get(store, 2, &site));
	ck_assert(!stream_sites_get(store, UINT32_MAX, &site));
}

TEST(a_full_store_keeps_what_it_has)
{
	uint32_t no = 77;

	for (uint32_t n = 1; n <= STREAM_SITES_MAX; n++)
		ck_assert_uint_eq(number(n, 1, RING_END_DEPTH), n);
	ck_assert_int_eq(put(STREAM_SITES_MAX + 1, 1, RING_END_DEPTH, &no),
	    -ENOSPC);
	ck_assert_uint_eq(no, 77);
	ck_assert_uint_eq(number(4711, 1, RING_END_DEPTH), 4711);
	ck_assert_uint_eq(stream_sites_count(store), STREAM_SITES_MAX);
}

TEST(frames_are_bounded_too)
{
	uint32_t fit = STREAM_SITES_FRAMES / RING_STACK_MAX, no;

	for (uint32_t n = 1; n <= fit; n++)
		ck_assert_int_eq(put(n, RING_STACK_MAX, RING_END_DEPTH, &no),
		    0);
	ck_assert_int_eq(put(fit + 1, 1, RING_END_DEPTH, &no), -ENOSPC);
	/* What sites.c says of its memory, and half again for what has grown. */
	ck_assert_uint_lt(stream_sites_memory(store), 120u << 20);
}

static struct stream_module
module_of(uint64_t start, const char *path)
{
	return (struct stream_module){ .start = start, .end = start + 8192,
		.bias = start, .build_id_len = 2, .build_id = { 1, 2 },
		.path = path };
}

TEST(a_module_is_known_by_all_that_its_target_said)
{
	struct stream_module m = module_of(4096, "/a.so"), got;
	unsigned no, other;

	ck_assert_int_eq(stream_sites_put_module(store, &m, &no), 0);
	ck_assert_int_eq(stream_sites_put_module(store, &m, &other), 0);
	ck_assert_uint_eq(no, other);
	for (unsigned change = 0; change < 6; change++) {
		struct stream_module n = m;

		n.start += change == 0;
		n.end += change == 1;
		n.bias += change == 2;
		n.build_id[1] += change == 3;
		n.build_id_len -= change == 4;
		n.path = change == 5 ? "/b.so" : n.path;
		ck_assert_int_eq(stream_sites_put_module(store, &n, &other),
		    0);
		ck_assert_uint_eq(other, change + 2);
	}
	ck_assert(stream_sites_get_module(store, no, &got));
	ck_assert_str_eq(got.path, "/a.so");
	ck_assert_uint_eq(got.bias, 4096);
	ck_assert_uint_eq(stream_sites_modules(store), 7);
}

TEST(a_path_that_became_known_later_stays)
{
	struct stream_module m = module_of(4096, ""), got;
	unsigned no, again;

	m.cut = true;
	ck_assert_int_eq(stream_sites_put_module(store, &m, &no), 0);
	ck_assert_int_eq(stream_sites_set_path(store, no, "/bin/a"), 0);
	ck_assert_int_eq(stream_sites_set_path(store, no, "/bin/prog"), 0);
	ck_assert_int_eq(stream_sites_put_module(store, &m, &again), 0);
	ck_assert_uint_eq(again, no);
	ck_assert(stream_sites_get_module(store, no, &got));
	ck_assert_str_eq(got.path, "/bin/prog");
	ck_assert(!got.cut);
}

TEST(modules_are_bounded)
{
	unsigned no;

	for (unsigned n = 1; n <= STREAM_MODULES_MAX; n++) {
		struct stream_module m = module_of(4096 * n, "/a.so");

		ck_assert_int_eq(stream_sites_put_module(store, &m, &no), 0);
		ck_assert_uint_eq(no, n);
	}
	ck_assert_int_eq(stream_sites_put_module(store,
	    &(struct stream_module){ .path = "/b.so" }, &no), -ENOSPC);
}

TEST(the_last_reference_frees)
{
	uint32_t no = number(1, 8, RING_END_DEPTH);

	stream_sites_ref(store);
	stream_sites_ref(store);
	stream_sites_unref(store);
	stream_sites_unref(store);
	expect(no, 1, 8, RING_END_DEPTH);
}

TEST(every_end_has_words_of_its_own)
{
	for (unsigned end = 1; end < RING_ENDS; end++) {
		ck_assert_str_ne(stream_end_text(end), "?");
		for (unsigned other = 1; other < end; other++)
			ck_assert_str_ne(stream_end_text(end),
			    stream_end_text(other));
	}
	ck_assert_str_eq(stream_end_text(0), "?");
	ck_assert_str_eq(stream_end_text(RING_ENDS), "?");
	ck_assert_str_eq(stream_end_text(UINT32_MAX), "?");
}

/* --- from the target's memory -------------------------------------------- */

static char library[] = "/lib/a.so";
#if UINTPTR_MAX > UINT32_MAX
#define LIBRARY_AT UINT64_C(0x7f0010000000)
#else
#define LIBRARY_AT UINT64_C(0xf0010000)
#endif

/* An object that begins in the middle of a page: nothing is read there. */
static unsigned
module_at(uintptr_t start)
{
	struct link_map map = { .l_name = library };

	return sites_module(&(struct cfi_object){ .start = start,
	    .end = start + 0x100000, .bias = start - 16, .map = &map });
}

/* An allocation in `slot` whose stack is the n-th, two frames of a module. */
static uint32_t
allocate(struct producer *p, unsigned slot, uint64_t n)
{
	unsigned module = module_at(LIBRARY_AT + 16);
	uint64_t frame[2] = { frame_make(LIBRARY_AT + 0x100 + 16 * n, module),
		frame_make(LIBRARY_AT + 0x8000, module) };
	uint32_t no = sites_put(frame, 2, RING_END_OUTERMOST);

	ck_assert_uint_ne(no, 0);
	produce_alloc(p, rig_addr(slot), 16, 16, TYPE_MALLOC, 0,
	    rec_site_caller(no));
	return no;
}

static struct rig *
rig_with_store(void)
{
	struct rig *rig = rig_attached(false);

	stream_feed_sites(rig->feed, store);
	return rig;
}

/* The last record that came through, which names a stack of the store. */
static struct stream_site
last_site(const struct rig *rig)
{
	const struct rec *r = &rig->log[rig->nlog - 1];
	struct stream_site site = { 0 };

	ck_assert(rec_is_site(rec_caller(r)));
	ck_assert(stream_sites_get(store, rec_site(rec_caller(r)), &site));
	return site;
}

CASE("feed", .setup = store_up, .teardown = store_down, .seconds = 60);

TEST(a_record_names_its_stack_by_the_stores_number)
{
	struct rig *rig = rig_with_store();
	struct producer p = { 0 };
	struct stream_module m;
	struct stream_site site;
	uint32_t theirs;

	/* Other numbers than the target's, for both. */
	for (unsigned n = 0; n < 5; n++) {
		struct stream_module other = module_of(4096 * n, "/other.so");
		unsigned no;

		number(n, 3, RING_END_DEPTH);
		stream_sites_put_module(store, &other, &no);
	}
	produce_open(&p, 1);
	theirs = allocate(&p, 1, 42);
	rig_drain(rig);
	site = last_site(rig);
	ck_assert_uint_ne(rec_site(rec_caller(&rig->log[rig->nlog - 1])),
	    theirs);
	/* What else the record says is as it was. */
	ck_assert_uint_eq(rec_addr(&rig->log[rig->nlog - 1]), rig_addr(1));
	ck_assert_uint_eq(site.depth, 2);
	ck_assert_uint_eq(site.end, RING_END_OUTERMOST);
	ck_assert_uint_eq(frame_pc(site.frame[0]), LIBRARY_AT + 0x100 + 16 * 42);
	ck_assert_uint_eq(frame_pc(site.frame[1]), LIBRARY_AT + 0x8000);
	ck_assert_uint_eq(frame_module(site.frame[0]), 6);
	ck_assert(stream_sites_get_module(store, 6, &m));
	ck_assert_str_eq(m.path, "/lib/a.so");
	ck_assert_uint_eq(m.start, LIBRARY_AT + 16);
	ck_assert_uint_eq(m.bias, LIBRARY_AT);
	ck_assert(!m.cut);
	rig_free(rig);
}

TEST(plain_return_addresses_and_overheads_stay)
{
	struct rig *rig = rig_with_store();
	struct producer p = { 0 };

	produce_open(&p, 1);
	p.frees = true;
	produce_alloc(&p, rig_addr(1), 16, 32, TYPE_MALLOC, 0, 0x5555abcd);
	produce_free(&p, rig_addr(1), TYPE_FREE, 0, REC_ADDR_MASK);
	produce_alloc(&p, rig_addr(2), 16, 64, TYPE_MALLOC, 0,
	    rec_site_caller(sites_put(&(uint64_t){ 0x400000 }, 1,
		RING_END_DEPTH)));
	rig_drain(rig);
	ck_assert_uint_eq(rec_caller(&rig->log[1]), 0x5555abcd);
	ck_assert_uint_eq(rec_overhead(&rig->log[1]), 16);
	ck_assert_uint_eq(rec_caller(&rig->log[2]), REC_ADDR_MASK);
	ck_assert(rec_is_site(rec_caller(&rig->log[3])));
	ck_assert_uint_eq(rec_overhead(&rig->log[3]), 48);
	rig_free(rig);
}

TEST(every_kind_of_record_and_ring_is_rewritten)
{
	struct rig *rig = rig_with_store();
	struct producer p = { 0 };
	uint32_t no;
	uint64_t caller;

	number(99, 3, RING_END_DEPTH);
	produce_open(&p, 1);
	no = allocate(&p, 1, 7);
	caller = rec_site_caller(no);
	produce_free(&p, rig_addr(1), TYPE_BY_REALLOC, 0, caller);
	produce_undo(&p, rig_addr(1), 0, caller);
	produce_failed(&p, 16, TYPE_MALLOC, 0, caller);
	produce_range(&p, rig_addr(64), 4096, caller);
	produce_alloc(NULL, rig_addr(2), 16, 0, TYPE_MALLOC, 0, caller);
	produce_range(NULL, rig_addr(64), 4096, caller);
	rig_drain(rig);
	ck_assert_uint_eq(rig->records, 7);
	for (size_t i = 0; i < rig->nlog; i++)
		if (rec_op(&rig->log[i]) != REC_CONTROL)
			ck_assert_uint_eq(rec_caller(&rig->log[i]),
			    rec_site_caller(2));
	rig_free(rig);
}

TEST(two_targets_agree_on_a_stack_of_one_store)
{
	struct rig *a = rig_with_store(), *b;
	struct producer p = { 0 }, q = { 0 };
	uint64_t caller;

	produce_open(&p, 1);
	allocate(&p, 1, 1);
	allocate(&p, 2, 2);
	rig_drain(a);
	caller = rec_caller(&a->log[a->nlog - 1]);
	for (unsigned s = 0; s < REC_SHARDS; s++)
		atomic_store(&produce_tickets_now()[s].next, 0);
	b = rig_with_store();
	produce_open(&q, 1);
	allocate(&q, 2, 2);
	rig_drain(b);
	ck_assert_uint_eq(rec_caller(&b->log[b->nlog - 1]), caller);
	ck_assert_uint_eq(stream_sites_count(store), 2);
	ck_assert_uint_eq(stream_sites_modules(store), 1);
	rig_free(a);
	/* The store outlives the areas. */
	ck_assert_uint_eq(last_site(b).depth, 2);
	rig_free(b);
}

TEST(without_a_store_a_stack_is_its_innermost_return_address)
{
	struct rig *rig = rig_attached(false);
	struct producer p = { 0 };

	produce_open(&p, 1);
	allocate(&p, 1, 3);
	allocate(&p, 2, 3);
	rig_drain(rig);
	ck_assert_uint_eq(rec_caller(&rig->log[1]), LIBRARY_AT + 0x130);
	ck_assert_uint_eq(rec_caller(&rig->log[2]), LIBRARY_AT + 0x130);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->sites_full, 0);
	rig_free(rig);
}

TEST(with_a_full_store_likewise_and_each_record_is_counted)
{
	struct rig *rig = rig_with_store();
	struct producer p = { 0 };
	const uint64_t in_window = REC_SITE_BASE | 1;

	for (uint32_t n = 1; n < STREAM_SITES_MAX; n++)
		number(n, 1, RING_END_DEPTH);
	produce_open(&p, 1);
	allocate(&p, 1, 1);
	allocate(&p, 2, 2);
	allocate(&p, 3, 2);
	allocate(&p, 4, 1);
	/* An address that would read as a site is not known. */
	produce_alloc(&p, rig_addr(5), 16, 0, TYPE_MALLOC, 0,
	    rec_site_caller(sites_put(&in_window, 1, RING_END_DEPTH)));
	rig_drain(rig);
	ck_assert(rec_is_site(rec_caller(&rig->log[1])));
	ck_assert_uint_eq(rec_caller(&rig->log[2]), LIBRARY_AT + 0x120);
	ck_assert_uint_eq(rec_caller(&rig->log[3]), LIBRARY_AT + 0x120);
	ck_assert_uint_eq(rec_caller(&rig->log[4]), rec_caller(&rig->log[1]));
	ck_assert_uint_eq(rec_caller(&rig->log[5]), 0);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->sites_full, 3);
	rig_free(rig);
}

TEST(many_sites_in_any_order_keep_their_stacks)
{
	struct rig *rig = rig_with_store();
	struct producer p = { 0 };

	produce_open(&p, 1);
	for (unsigned n = 0; n < 5000; n++)
		sites_put(&(uint64_t){ 0x400000 + n }, 1, RING_END_DEPTH);
	for (unsigned i = 0; i < 5000; i++) {
		unsigned n = i * 1237 % 5000;

		produce_alloc(&p, rig_addr(i % RIG_SLOTS), 16, 0, TYPE_MALLOC,
		    0, rec_site_caller(n + 1));
	}
	rig_drain(rig);
	for (unsigned i = 0; i < 5000; i++) {
		struct stream_site site;

		ck_assert(stream_sites_get(store,
		    rec_site(rec_caller(&rig->log[i + 1])), &site));
		ck_assert_uint_eq(frame_pc(site.frame[0]),
		    0x400000 + i * 1237 % 5000);
	}
	rig_free(rig);
}

TEST(what_the_target_counts_is_told)
{
	struct rig *rig = rig_with_store();

	for (unsigned i = 0; i < 3; i++)
		sites_count_walk();
	atomic_store(&rig->area->sites, RING_SITES);
	ck_assert_uint_eq(sites_put(&(uint64_t){ 1 }, 1, RING_END_DEPTH), 0);
	rig_drain(rig);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->walks, 3);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->sites_full, 1);
	rig_free(rig);
}

static __attribute__((noinline)) uint64_t
caller_here(struct stack_cache *c)
{
	return stack_caller(c, (uintptr_t)__builtin_frame_address(0));
}

TEST(each_event_without_room_is_counted_also_when_recognised)
{
	struct rig *rig = rig_with_store();
	struct stack_cache *c = stack_cache_new(16, false);
	/* A thread recognises nothing in its first 256 walks. */
	volatile unsigned i, events = 1024;	/* one call, not many in a row */

	ck_assert_ptr_nonnull(c);
	atomic_store(&rig->area->sites, RING_SITES);
	for (i = 0; i < events; i++)
		ck_assert(!rec_is_site(caller_here(c)));
	rig_drain(rig);
	ck_assert_uint_lt(stream_feed_counts(rig->feed)->walks, events);
	ck_assert_uint_eq(stream_feed_counts(rig->feed)->sites_full, events);
	stack_cache_free(c);
	rig_free(rig);
}

#ifdef __x86_64__
/* What a cache says that a handler's fork has wiped under a walk. */
TEST(a_depth_of_nothing_gives_one_frame)
{
	struct stack_frames frames;

	stack_frames(NULL, (uintptr_t)__builtin_frame_address(0), 0, &frames);
	ck_assert_uint_eq(frames.depth, 1);
	ck_assert_int_eq(frames.end, RING_END_DEPTH);
}
#endif

TEST(the_target_reads_how_many_frames_are_wanted)
{
	static const struct {
		unsigned depth;
		bool frees;
		uint32_t word;
	} wanted[] = {
		{ 0, false, 0 }, { 16, false, 16 },
		{ 16, true, 16 | RING_STACK_FREES }, { 0, true, 0 },
		{ 64, false, 64 }, { 65, false, 64 }, { 999, true,
		    64 | RING_STACK_FREES },
	};
	struct rig *rig = rig_new(false);

	ck_assert_uint_eq(atomic_load(&rig->keeper->stack), 0);
	for (unsigned i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
		stream_feed_want_stacks(rig->feed, wanted[i].depth,
		    wanted[i].frees);
		ck_assert_uint_eq(atomic_load(&rig->keeper->stack),
		    wanted[i].word);
	}
	rig_free(rig);
}
