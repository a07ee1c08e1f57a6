/*
 * The core of memory debug data with many shards, as Linux programs have it:
 * against a plain array, from several threads, in signal handlers, after a fork.
 */
#include <signal.h>

#define MDD_DEBUGDATA 1
#define MDD_SHARDS 64
#define MDD_PORT_TICKS 1
#define MDD_PORT_THREADS 1
#define MDD_PORT_STACK 1
#include "mdd_rig.h"

void
mdd_port_thread(uintptr_t *handle, uint32_t *number, char *name)
{
	*handle = (uintptr_t)pthread_self();
	*number = 7;
	snprintf(name, MDD_NAME, "thread of a test");
}

uint32_t *
mdd_port_thread_word(void)
{
	return &word_of_thread;
}

/* --- the table ----------------------------------------------------------- */

CASE("table", .seconds = 60);

static const struct {
	unsigned options, levels;
	unsigned bytes, bytes32;	/* of a record, by the width of a word */
} sizes[] = {
	{ 0, 0, 24, 16 },
	{ MDD_OPT_ACTUAL_SIZE, 0, 32, 20 },
	{ MDD_OPT_TIMESTAMP, 0, 32, 24 },
	{ MDD_OPT_THREAD, 0, 32, 20 },
	{ MDD_OPT_BACKTRACE, 1, 32, 20 },
	{ ALL, 8, 24 + 8 + 8 + 8 + 64, 16 + 4 + 8 + 4 + 32 },
};

LOOP_TEST(a_record_has_no_byte_for_what_is_not_collected, 0, BASE_NELEM(sizes))
{
	start(sizes[_i].options, sizes[_i].levels, 4);
	ck_assert_uint_eq(mdd_root.record_bytes, sizeof(uintptr_t) == 8 ?
	    sizes[_i].bytes : sizes[_i].bytes32);
}

#define BLOCKS 4000

/* What the test itself knows. */
static struct {
	uint32_t seqno, index;
	size_t size;
} known[BLOCKS];

static uintptr_t
address(unsigned i)
{
	return 0x10000 + i * (uintptr_t)48;
}

static void
check_block(unsigned i)
{
	unsigned char *r = find(address(i));

	if (known[i].size == 0) {
		ck_assert_ptr_null(r);
		return;
	}
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(*word_at(r, AT_SIZE), known[i].size);
	ck_assert_uint_eq(*u32_at(r, AT_SEQNO), known[i].seqno);
	ck_assert_uint_eq(*u32_at(r, AT_LINK) & 31, MDD_CALLOC);
	if (has(MDD_OPT_ACTUAL_SIZE))
		ck_assert_uint_eq(*word_at(r, at.actual), known[i].size + 8);
	if (mdd_root.levels > 0)
		ck_assert_uint_eq(*word_at(r, at.stack), CALLER_OF(i));
	if (mdd_root.levels == 8)
		ck_assert_uint_eq(*word_at(r, at.stack + 7 * WORD),
		    CALLER_OF(i) + 0x7000);
}

static void
toggle(unsigned i, size_t size)
{
	if (known[i].size != 0) {
		mdd_free((void *)address(i), MDD_FREE, CALLER_OF(i));
		known[i].size = 0;
		return;
	}
	known[i].seqno = mdd_root.seqno;
	known[i].size = size;
	mdd_alloc((void *)address(i), size, size + 8, MDD_CALLOC, CALLER_OF(i));
}

LOOP_TEST(the_table_is_what_a_plain_array_holds, 0, BASE_NELEM(sizes))
{
	const unsigned toggles = (unsigned)check_rounds(200000);
	unsigned i, n = 0;

	start(sizes[_i].options, sizes[_i].levels, 64);
	memset(known, 0, sizeof known);
	srandom(3);
	for (i = 0; i < toggles; i++)
		toggle((unsigned)random() % BLOCKS,
		    1 + (size_t)random() % 10000);
	for (i = 0; i < BLOCKS; i += 37)
		check_block(i);
	for (i = 0; i < BLOCKS; i++)
		n += known[i].size != 0;
	ck_assert_uint_eq(listed(), n);
	ck_assert_uint_eq(mdd_root.seqno, toggles);
	ck_assert_uint_eq(mdd_root.missed + mdd_root.unknown +
	    mdd_root.replaced, 0);
}

TEST(sequence_numbers_wrap_around)
{
	start(ALL, 1, 4);
	mdd_root.seqno = UINT32_MAX;
	mdd_alloc((void *)16, 1, 0, MDD_MALLOC, 1);
	mdd_alloc((void *)32, 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(*u32_at(find(16), AT_SEQNO), UINT32_MAX);
	ck_assert_uint_eq(*u32_at(find(32), AT_SEQNO), 0);
	ck_assert_uint_eq(mdd_root.seqno, 1);
}

TEST(what_is_not_listed_or_listed_twice_is_counted)
{
	start(0, 0, 0);
	mdd_free((void *)16, MDD_FREE, 1);
	ck_assert_uint_eq(mdd_root.unknown, 1);
	mdd_alloc((void *)16, 1, 0, MDD_MALLOC, 1);
	mdd_alloc((void *)16, 2, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(mdd_root.replaced, 1);
	ck_assert_uint_eq(listed(), 1);
	ck_assert_uint_eq(*word_at(find(16), AT_SIZE), 2);
	mdd_free(NULL, MDD_FREE, 1);
	mdd_alloc(NULL, 9, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(mdd_root.seqno, 3);
}

TEST(an_event_without_memory_is_missed)
{
	start(ALL, 1, 4);
	memory_left = 0;
	mdd_alloc((void *)16, 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(mdd_root.missed, 1);
	ck_assert_uint_eq(listed(), 0);
	memory_left = SIZE_MAX;
	mdd_alloc((void *)16, 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(listed(), 1);
}

/* A program that writes into its own table must not hang in its next free. */
TEST(an_overwritten_chain_ends)
{
	unsigned i;

	start(0, 0, 0);
	for (i = 0; i < 2000; i++)
		mdd_alloc((void *)address(i), 1, 0, MDD_MALLOC, 1);
	for (i = 0; i < 2000; i++)
		record_set_link(find(address(i)), 1 + i % 3);
	for (i = 0; i < 4000; i++)
		mdd_free((void *)address(i), MDD_FREE, 1);
}

/* --- realloc ------------------------------------------------------------- */

CASE("moves");

TEST(a_realloc_that_fails_leaves_the_block_as_it_was)
{
	struct mdd_move m;
	uint32_t seqno;

	start(ALL, 1, 4);
	mdd_alloc((void *)16, 5, 0, MDD_MALLOC, 1);
	seqno = *u32_at(find(16), AT_SEQNO);
	mdd_move_begin(&m, (void *)16, MDD_REALLOC_FREE, 1);
	ck_assert_uint_eq(record_link(find(16)), MDD_LINK_MOVING);
	mdd_move_end(&m, 0);
	ck_assert_uint_eq(*u32_at(find(16), AT_SEQNO), seqno);
	mdd_free((void *)16, MDD_FREE, 1);
	ck_assert_uint_eq(listed(), 0);
	ck_assert_uint_eq(mdd_root.history_next, 1);
}

/* Between the real call and the end another thread may have got the address. */
TEST(a_moved_block_is_not_mistaken_for_the_next_one_there)
{
	struct mdd_move m;

	start(ALL, 1, 4);
	mdd_alloc((void *)16, 5, 0, MDD_MALLOC, 1);
	mdd_move_begin(&m, (void *)16, MDD_REALLOC_FREE, 1);
	mdd_alloc((void *)4096, 7, 0, MDD_REALLOC, 1);
	mdd_move_end(&m, 1);
	mdd_alloc((void *)16, 6, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(listed(), 2);
	ck_assert_uint_eq(*word_at(find(16), AT_SIZE), 6);
	ck_assert_uint_eq(mdd_root.replaced + mdd_root.unknown, 0);
}

TEST(an_address_may_be_given_out_while_its_block_moves)
{
	struct mdd_move m;
	uint32_t i, found = 0;

	start(ALL, 1, 4);
	mdd_alloc((void *)16, 5, 0, MDD_MALLOC, 1);
	mdd_move_begin(&m, (void *)16, MDD_REALLOC_FREE, 1);
	mdd_alloc((void *)16, 6, 0, MDD_MALLOC, 1);
	mdd_move_end(&m, 1);
	ck_assert_uint_eq(listed(), 1);
	ck_assert_uint_eq(*word_at(find(16), AT_SIZE), 6);
	ck_assert_uint_eq(mdd_root.replaced, 0);
	for (i = 0; i < mdd_root.history_next; i++)
		found += *word_at(event_of(i), AT_SIZE) == 5;
	ck_assert_uint_eq(found, 1);
}

/* --- history ------------------------------------------------------------- */

CASE("history");

TEST(a_history_record_has_the_allocation_and_the_free)
{
	unsigned char *r;

	start(ALL, 2, 4);
	ticks = 5;
	mdd_alloc((void *)16, 10, 24, MDD_NEW, CALLER_OF(1));
	ticks = (UINT64_C(1) << 32) + 6;
	mdd_free((void *)16, MDD_DELETE, CALLER_OF(2));
	r = event_of(0);
	ck_assert_ptr_nonnull(r);
	ck_assert_uint_eq(*word_at(r, 0), 16);
	ck_assert_uint_eq(*word_at(r, AT_SIZE), 10);
	ck_assert_uint_eq(*word_at(r, at.actual), 24);
	ck_assert_uint_eq(*u32_at(r, AT_LINK) & 31, MDD_NEW);
	ck_assert_uint_eq(*u32_at(r, AT_SEQNO), 0);
	ck_assert_uint_eq(*u32_at(r, at.time), 5);
	ck_assert_uint_eq(*word_at(r, at.stack), CALLER_OF(1));
	ck_assert_uint_eq(*u32_at(r, at.end), 1);
	ck_assert_uint_eq(*u32_at(r, at.end + 4), MDD_DELETE);
	ck_assert_uint_eq(*u32_at(r, at.free_time), 6);
	ck_assert_uint_eq(*u32_at(r, at.free_time + 4), 1);
	ck_assert_uint_eq(*word_at(r, at.free_stack), CALLER_OF(2));
	ck_assert_uint_eq(*word_at(r, at.free_stack + WORD),
	    CALLER_OF(2) + 0x1000);
}

TEST(the_free_of_a_block_that_was_not_listed_is_in_the_history)
{
	start(ALL, 1, 4);
	mdd_free((void *)16, MDD_FREE, 1);
	ck_assert_uint_eq(*u32_at(event_of(0), AT_LINK) & 31, MDD_UNKNOWN);
	ck_assert_uint_eq(*u32_at(event_of(0), AT_SEQNO),
	    *u32_at(event_of(0), at.end));
}

TEST(the_overflow_is_told_each_time_that_the_history_is_full)
{
	unsigned i;

	start(ALL, 1, 4);
	for (i = 0; i < 4; i++)
		mdd_free((void *)16, MDD_FREE, 1);
	ck_assert_uint_eq(mdd_root.history_called, 0);
	mdd_free((void *)16, MDD_FREE, 1);
	ck_assert_uint_eq(mdd_root.history_called, 4);
	for (i = 0; i < 4; i++)
		mdd_free((void *)16, MDD_FREE, 1);
	ck_assert_uint_eq(mdd_root.history_called, 8);
	/* A dump empties it. */
	mdd_root.history_start = mdd_root.history_next;
	for (i = 0; i < 4; i++)
		mdd_free((void *)16, MDD_FREE, 1);
	ck_assert_uint_eq(mdd_root.history_called, 8);
	mdd_free((void *)16, MDD_FREE, 1);
	ck_assert_uint_eq(mdd_root.history_called, 13);
}

/* --- threads, signals, forks --------------------------------------------- */

CASE("beside others", .seconds = 120);

#define THREADS 8
#define PLACES 512

static _Atomic(uintptr_t) place[PLACES];
static unsigned events_each;

/* Blocks go from thread to thread through the places. */
static void *
work(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg, i;
	/* gcc 12 for PowerPC stores the old value where both are in one register. */
	volatile uintptr_t next = (uintptr_t)seed << 24;
	uintptr_t fresh = next, block;

	for (i = 0; i < events_each; i++) {
		mdd_alloc((void *)next, 1, 0, MDD_MALLOC, CALLER_OF(i));
		block = atomic_exchange_explicit(&place[rand_r(&seed) % PLACES],
		    next, memory_order_acq_rel);
		mdd_free((void *)block, MDD_FREE, CALLER_OF(i));
		next = block != 0 ? block : (fresh += 16);
	}
	return NULL;
}

TEST(eight_threads_leave_the_right_table)
{
	pthread_t t[THREADS];
	uintptr_t i, n = 0;

	start(ALL, 1, 1000);
	/* Two for each turn: 10^7 in a long check. */
	events_each = check_is_long() ? 625000 : 50000;
	memset(place, 0, sizeof place);
	for (i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&t[i], NULL, work,
		    (void *)(i + 1)), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	ck_assert_uint_eq(mdd_root.missed, 0);
	ck_assert_uint_eq(mdd_root.unknown + mdd_root.replaced, 0);
	for (i = 0; i < PLACES; i++)
		if (place[i] != 0) {
			ck_assert_ptr_nonnull(find(place[i]));
			n++;
		}
	ck_assert_uint_eq(listed(), n);
	ck_assert_uint_eq(mdd_root.seqno,
	    2 * THREADS * (uintptr_t)events_each - n);
	ck_assert_uint_eq(mdd_root.threads, THREADS);
}

static uintptr_t same_shard[PENDING + 2];

static void
find_same_shard(void)
{
	uintptr_t p = 16;
	unsigned n = 0;

	for (; n < BASE_NELEM(same_shard); p += 16)
		if (shard_of(p) == shard_of(16))
			same_shard[n++] = p;
}

static unsigned of_handler;

static void
handler(int sig)
{
	unsigned i;

	(void)sig;
	for (i = 1; i <= of_handler; i++)
		mdd_alloc((void *)same_shard[i], i, 0, MDD_MALLOC, 1);
	mdd_free((void *)same_shard[1], MDD_FREE, 1);
}

static void
interrupt_update(void)
{
	when_memory = NULL;
	raise(SIGUSR1);
}

TEST(what_a_signal_handler_does_during_an_update_is_in_the_table_after_it)
{
	start(ALL, 1, 100);
	find_same_shard();
	of_handler = 3;
	signal(SIGUSR1, handler);
	when_memory = interrupt_update;
	mdd_alloc((void *)same_shard[0], 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(listed(), 3);
	ck_assert_ptr_nonnull(find(same_shard[0]));
	ck_assert_ptr_null(find(same_shard[1]));
	ck_assert_ptr_nonnull(find(same_shard[3]));
	ck_assert_uint_eq(mdd_root.missed, 0);
	ck_assert_uint_eq(shard_of(16)->owner, 0);
}

TEST(more_than_can_wait_is_missed)
{
	start(0, 0, 0);
	find_same_shard();
	of_handler = PENDING + 1u;
	signal(SIGUSR1, handler);
	when_memory = interrupt_update;
	mdd_alloc((void *)same_shard[0], 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(mdd_root.missed, 2);
	ck_assert_uint_eq(listed(), 1 + PENDING);
}

/* The lock's thread does not exist in the child; it was between two stores. */
TEST(a_forked_child_repairs_the_shard_of_a_thread_that_it_lacks)
{
	struct mdd_shard *s = shard_of(16);
	unsigned i;

	start(ALL, 1, 100);
	find_same_shard();
	for (i = 0; i < 5; i++)
		mdd_alloc((void *)same_shard[i], 1, 0, MDD_MALLOC, 1);
	s->owner = 1;
	s->busy = 1;
	s->pending = 2;
	*chain_of(s, same_shard[3]) = 0;
	mdd_forked();
	ck_assert_uint_eq(s->busy, 0);
	for (i = 0; i < 5; i++)
		mdd_free((void *)same_shard[i], MDD_FREE, 1);
	ck_assert_uint_eq(mdd_root.unknown, 0);
	ck_assert_uint_eq(listed(), 0);
}

TEST(a_lock_that_nobody_gives_back_is_waited_for_once)
{
	struct mdd_shard *s = shard_of(16);
	unsigned after_first;

	start(0, 0, 0);
	find_same_shard();
	s->owner = 1;
	mdd_alloc((void *)same_shard[0], 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(mdd_root.missed, 1);
	after_first = waits;
	mdd_alloc((void *)same_shard[1], 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(mdd_root.missed, 2);
	ck_assert_uint_eq(waits, after_first);
	s->owner = 0;
	mdd_alloc((void *)same_shard[2], 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(mdd_root.missed, 2);
}

/* --- settings ------------------------------------------------------------ */

CASE("settings");

TEST(settings_say_what_is_collected)
{
	struct mdd_opts o;
	const char *bad;

	ck_assert_int_eq(mdd_settings(&o, "on", &bad), 1);
	ck_assert_uint_eq(o.options, ALL & ~(unsigned)MDD_OPT_HISTORY);
	ck_assert_uint_eq(o.levels, 1);
	ck_assert_int_eq(mdd_settings(&o, "off", &bad), 0);
	ck_assert_int_eq(mdd_settings(&o, "", &bad), 0);
	ck_assert_int_eq(mdd_settings(&o,
	    "on,backtrace=8,history,thread=off", &bad), 1);
	ck_assert_uint_eq(o.options, ALL & ~(unsigned)MDD_OPT_THREAD);
	ck_assert_uint_eq(o.levels, 8);
	ck_assert_uint_eq(o.history_records, 2048);
	ck_assert_int_eq(mdd_settings(&o, "history=16", &bad), 1);
	ck_assert_uint_eq(o.history_records, 16);
}

static const char *const wrong[] = {
	",", "yes", "on,", "on,backtrace=9", "backtrace=-1", "thread=2",
	"history=1048577", "history=99999999999", "on,histories=3",
	"backtrace=1x", "=", "on,,off",
};

LOOP_TEST(what_is_not_understood_is_refused, 0, BASE_NELEM(wrong))
{
	struct mdd_opts o = { .levels = 77 };
	const char *bad;

	ck_assert_int_eq(mdd_settings(&o, wrong[_i], &bad), -1);
	ck_assert_uint_eq(o.levels, 77);
	ck_assert(bad >= wrong[_i] && bad <= wrong[_i] + strlen(wrong[_i]));
}
