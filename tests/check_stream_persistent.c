/*
 * The retained queue and the store of stacks in kept memory: what the next
 * process finds.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "../src/base/pmem.h"
#include "../src/stream/stream.h"
#include "harness.h"

static struct pmem *memory;

static void
memory_up(void)
{
	ck_assert_int_eq(pmem_new(&memory, "test", 0), 0);
}

static void
memory_down(void)
{
	pmem_free(memory);
}

/* As a process does that comes after the one before has been killed. */
static void
next_process(void)
{
	int fd = dup(pmem_fd(memory));

	pmem_free(memory);
	ck_assert_int_eq(pmem_open(&memory, fd), 0);
}

/* --- the queue ------------------------------------------------------------ */

#define RECORDS 256u
#define HISTORY (1u << 16)
#define RUNS 40

/* By sequence number: what was put, or 0 with the cause of its loss. */
struct model {
	uint64_t stamp[HISTORY];
	uint8_t cause[HISTORY];
	uint64_t next, entries;
};

static struct stream_queue *queue;
static struct model model, committed;
static uint64_t written, stamps;	/* entries ever written; what was put last */
static uint64_t gone;		/* entries before this one were when it was resumed */
static unsigned slot;
static uint64_t state;

static unsigned
random_below(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) +
	    UINT64_C(1442695040888963407);
	return (unsigned)((state >> 33) % n);
}

static void
put(unsigned n)
{
	static struct rec recs[2 * RECORDS];

	ck_assert_uint_lt(model.next + n, HISTORY);
	for (unsigned i = 0; i < n; i++) {
		recs[i].w[0] = model.stamp[model.next++] = ++stamps;
		recs[i].w[1] = ~recs[i].w[0];
	}
	model.entries += n;
	if (model.entries > written)
		written = model.entries;
	stream_queue_put(queue, recs, n);
}

static void
lose(unsigned cause, unsigned n)
{
	ck_assert_uint_lt(model.next + n, HISTORY);
	for (unsigned i = 0; i < n; i++) {
		model.stamp[model.next] = 0;
		model.cause[model.next++] = (uint8_t)cause;
	}
	stream_queue_lose(queue, cause, n);
}

static void
commit(void)
{
	slot = !slot;
	stream_queue_commit(queue, slot);
	committed = model;
}

static void
die(void)
{
	stream_queue_free(queue);
	next_process();
	ck_assert_int_eq(stream_queue_resume(&queue, RECORDS, memory, slot), 0);
	model = committed;
	gone = written > RECORDS ? written - RECORDS : 0;
	if (gone > model.entries)
		gone = model.entries;
}

/* All that has not been written over, and each loss with its cause. */
static void
compare(void)
{
	uint64_t kept = model.entries > RECORDS ? model.entries - RECORDS : 0;
	uint64_t oldest = stream_queue_oldest(queue), entry = 0;

	if (kept < gone)
		kept = gone;
	ck_assert_uint_eq(stream_queue_next(queue), model.next);
	for (uint64_t seq = 1; seq < model.next; seq++) {
		const struct rec *r = stream_queue_at(queue, seq);

		if (model.stamp[seq] == 0) {
			ck_assert_ptr_null(r);
			continue;
		}
		ck_assert_int_eq(r != NULL, entry >= kept);
		ck_assert_int_eq(seq >= oldest, entry >= kept);
		if (r != NULL) {
			ck_assert_uint_eq(r->w[0], model.stamp[seq]);
			ck_assert_uint_eq(r->w[1], ~model.stamp[seq]);
		}
		entry++;
	}
	ck_assert_uint_eq(entry, model.entries);
}

static void
compare_losses(void)
{
	struct stream_range range;
	struct rec out[RECORDS];
	uint64_t lost[STREAM_CAUSES] = { 0 };

	stream_queue_read(queue, 0, out, NULL, RECORDS, &range);
	ck_assert_uint_eq(range.next, model.next);
	for (uint64_t seq = range.from; seq < model.next; seq++)
		lost[model.cause[seq]] += model.stamp[seq] == 0;
	for (unsigned c = 1; c < STREAM_CAUSES; c++)
		ck_assert_uint_eq(range.lost[c], lost[c]);
}

static void
queue_up(void)
{
	memory_up();
	memset(&model, 0, sizeof(model));
	model.next = 1;
	written = stamps = gone = 0;
	slot = 0;
	ck_assert_int_eq(stream_queue_new_persistent(&queue, RECORDS, memory), 0);
	commit();
}

static void
queue_down(void)
{
	stream_queue_free(queue);
	memory_down();
}

CASE("Queue", .setup = queue_up, .teardown = queue_down, .seconds = 60);

LOOP_TEST(a_resumed_queue_is_the_committed_one, 0, RUNS)
{
	state = (uint64_t)_i + 1;
	for (unsigned i = 0; i < 150; i++) {
		switch (random_below(8)) {
		case 0:
			lose(1 + random_below(STREAM_CAUSES - 1),
			    1 + random_below(20));
			break;
		case 1:
			commit();
			break;
		case 2:
			die();
			compare();
			compare_losses();
			break;
		default:
			put(random_below(random_below(10) == 0 ? 2 * RECORDS :
								 RECORDS / 4));
			break;
		}
	}
	die();
	compare();
}

/* A second death must not take for whole what the first process wrote over. */
TEST(what_was_written_over_stays_lost_after_two_deaths)
{
	put(RECORDS);
	commit();
	put(100);
	die();
	ck_assert_uint_eq(stream_queue_oldest(queue), 101);
	put(10);
	die();
	ck_assert_uint_eq(stream_queue_oldest(queue), 101);
	compare();
}

TEST(a_queue_that_was_written_over_whole_is_empty)
{
	put(RECORDS);
	lose(STREAM_RING_FULL, 5);
	commit();
	put(RECORDS);
	put(1);
	die();
	ck_assert_uint_eq(stream_queue_next(queue), RECORDS + 6);
	ck_assert_uint_eq(stream_queue_oldest(queue), RECORDS + 1);
	ck_assert_ptr_null(stream_queue_at(queue, RECORDS));
	compare_losses();
	put(1);
	compare();
}

TEST(a_slot_that_was_not_committed_is_refused)
{
	stream_queue_free(queue);
	queue = NULL;
	next_process();
	ck_assert_int_eq(stream_queue_resume(&queue, RECORDS, memory, !slot),
	    -EINVAL);
	ck_assert_ptr_null(queue);
}

/* The words that say something of the commit, which lie behind the records. */
TEST(a_damaged_commit_ends_in_an_error_or_in_a_queue)
{
	size_t offset = 4096 + RECORDS * sizeof(struct rec);
	size_t bytes = 4096 + 2 * STREAM_QUEUE_LOSSES * 32;
	unsigned survived = 0, nat = 0, at[64];
	uint64_t *words, was[64];

	state = 1;
	put(100);
	lose(STREAM_RING_FULL, 7);
	put(200);
	lose(STREAM_OTHER, 7);
	commit();
	words = mmap(NULL, offset + bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	    pmem_fd(memory), 0);
	ck_assert_ptr_ne(words, MAP_FAILED);
	for (size_t i = offset / 8; i < (offset + bytes) / 8; i++)
		if (words[i] != 0) {
			was[nat] = words[i];
			at[nat++] = (unsigned)i;
			ck_assert_uint_lt(nat, BASE_NELEM(at));
		}
	ck_assert_uint_gt(nat, 10);
	for (unsigned i = 0; i < 2000; i++) {
		struct stream_range range;
		struct rec out[RECORDS];

		for (unsigned k = 0; k < nat; k++)
			words[at[k]] = was[k];
		words[at[random_below(nat)]] ^= UINT64_C(1) <<
		    random_below(64);
		stream_queue_free(queue);
		queue = NULL;
		next_process();
		if (stream_queue_resume(&queue, RECORDS, memory, slot) != 0)
			continue;
		survived++;
		stream_queue_read(queue, 0, out, NULL, RECORDS, &range);
		stream_queue_put(queue, out, 10);
		stream_queue_lose(queue, STREAM_LINK, 3);
	}
	ck_assert_uint_gt(survived, 0);
	ck_assert_uint_lt(survived, 2000);
	munmap(words, offset + bytes);
}

/* --- the store of stacks -------------------------------------------------- */

static struct stream_sites *store;

static void
store_up(void)
{
	memory_up();
	ck_assert_int_eq(stream_sites_new_persistent(&store, memory), 0);
}

static void
store_down(void)
{
	stream_sites_unref(store);
	memory_down();
}

static void
store_next(void)
{
	stream_sites_unref(store);
	next_process();
	ck_assert_int_eq(stream_sites_resume(&store, memory), 0);
}

static uint32_t
put_stack(unsigned n)
{
	uint64_t frame[RING_STACK_MAX];
	unsigned depth = 1 + n % RING_STACK_MAX;
	uint32_t no = 0;

	for (unsigned i = 0; i < depth; i++)
		frame[i] = frame_make(0x400000 + 64 * n + 4096 * i, n % 3);
	ck_assert_int_eq(stream_sites_put(store, frame, depth,
			     RING_END_OUTERMOST, &no), 0);
	return no;
}

static unsigned
put_module(unsigned n)
{
	char path[32];
	const struct stream_module m = {
		.start = 4096 * n,
		.end = 4096 * n + 4096,
		.bias = n,
		.build_id_len = n % 33,
		.path = path,
		.cut = true,
		.seen_ns = 1000 + n,
	};
	unsigned no = 0;

	snprintf(path, sizeof(path), "/lib/module-%u", n);
	ck_assert_int_eq(stream_sites_put_module(store, &m, &no), 0);
	return no;
}

CASE("Stacks", .setup = store_up, .teardown = store_down, .seconds = 60);

TEST(stacks_and_modules_have_their_numbers_again)
{
	struct stream_module m;
	struct stream_site site;

	for (unsigned n = 0; n < 2000; n++)
		ck_assert_uint_eq(put_stack(n), n + 1);
	for (unsigned n = 0; n < 100; n++)
		ck_assert_uint_eq(put_module(n), n + 1);
	store_next();
	ck_assert_uint_eq(stream_sites_count(store), 2000);
	ck_assert_uint_eq(stream_sites_modules(store), 100);
	for (unsigned n = 0; n < 2000; n += 7) {
		ck_assert(stream_sites_get(store, n + 1, &site));
		ck_assert_uint_eq(site.depth, 1 + n % RING_STACK_MAX);
		ck_assert_uint_eq(frame_pc(site.frame[0]), 0x400000 + 64 * n);
		ck_assert_uint_eq(put_stack(n), n + 1);
	}
	ck_assert(stream_sites_get_module(store, 33, &m));
	ck_assert_str_eq(m.path, "/lib/module-32");
	ck_assert_uint_eq(m.build_id_len, 32);
	ck_assert_int_eq(m.seen_ns, 1032);
	ck_assert(m.cut);
	ck_assert_uint_eq(put_module(32), 33);
	ck_assert_uint_eq(put_stack(2000), 2001);
	ck_assert_uint_eq(put_module(100), 101);
	store_next();
	ck_assert_uint_eq(put_stack(2000), 2001);
	ck_assert_uint_eq(put_module(100), 101);
}

TEST(a_path_that_became_known_is_known_again)
{
	struct stream_module m;

	put_module(1);
	put_module(2);
	ck_assert_int_eq(stream_sites_set_path(store, 1, "/usr/lib/one"), 0);
	ck_assert_int_eq(stream_sites_set_path(store, 1, "/usr/lib/uno"), 0);
	store_next();
	ck_assert(stream_sites_get_module(store, 1, &m));
	ck_assert_str_eq(m.path, "/usr/lib/uno");
	ck_assert(!m.cut);
	ck_assert_uint_eq(put_module(1), 1);
	put_module(3);
	store_next();
	ck_assert(stream_sites_get_module(store, 1, &m));
	ck_assert_str_eq(m.path, "/usr/lib/uno");
	ck_assert(stream_sites_get_module(store, 3, &m));
	ck_assert_str_eq(m.path, "/lib/module-3");
}

/* The text only grows: what is said again must not fill it. */
TEST(a_path_that_is_said_again_takes_no_room)
{
	static char path[4096];
	int err = 0;

	put_module(1);
	memset(path, 'x', sizeof(path) - 1);
	for (unsigned i = 0; i < 20000; i++)
		ck_assert_int_eq(stream_sites_set_path(store, 1, path), 0);
	for (unsigned i = 0; i < 20000 && err == 0; i++) {
		path[0] = (char)('a' + i % 26);
		err = stream_sites_set_path(store, 1, path);
	}
	ck_assert_int_eq(err, -ENOSPC);
	store_next();
	ck_assert_uint_eq(stream_sites_modules(store), 1);
}

TEST(a_reference_outlives_the_first)
{
	put_stack(1);
	stream_sites_ref(store);
	stream_sites_unref(store);
	ck_assert_uint_eq(put_stack(1), 1);
	ck_assert_uint_gt(stream_sites_memory(store), 0);
	ck_assert_uint_lt(stream_sites_memory(store), 1 << 16);
}

TEST(memory_without_a_store_is_refused)
{
	struct stream_sites *none = NULL;

	stream_sites_unref(store);
	pmem_free(memory);
	memory_up();
	pmem_take(memory, 1 << 20);
	next_process();
	ck_assert_int_lt(stream_sites_resume(&none, memory), 0);
	ck_assert_ptr_null(none);
	pmem_free(memory);
	store_up();
}
