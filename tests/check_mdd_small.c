/*
 * The core of memory debug data with one shard, as firmware has it: the port has
 * a lock, and a thread is known by its handle alone.
 */
#define MDD_DEBUGDATA 1
#define MDD_PORT_TICKS 1
#define MDD_PORT_THREADS 1
#define MDD_PORT_STACK 1
#define MDD_SLAB_FIRST 4
#define MDD_BUCKETS 2
#include "mdd_rig.h"

static uintptr_t handle_now;
static unsigned unlocked;		/* looks at threads without the lock */

void
mdd_port_thread(uintptr_t *handle, uint32_t *number, char *name)
{
	unlocked += locks == 0;
	*handle = handle_now;
	*number = 0;
	name[0] = '\0';
	if (handle_now != 0)
		snprintf(name, MDD_NAME, "task %u", (unsigned)handle_now);
}

uint32_t *
mdd_port_thread_word(void)
{
	return NULL;
}

CASE("small");

TEST(blocks_come_and_go)
{
	unsigned i;

	start(ALL, 1, 8);
	for (i = 1; i <= 1000; i++)
		mdd_alloc((void *)(uintptr_t)(i * 16), i, 0, MDD_MALLOC, i);
	ck_assert_uint_eq(listed(), 1000);
	for (i = 1; i <= 1000; i += 2)
		mdd_free((void *)(uintptr_t)(i * 16), MDD_FREE, i);
	ck_assert_uint_eq(listed(), 500);
	ck_assert_ptr_null(find(16));
	ck_assert_uint_eq(*word_at(find(32), AT_SIZE), 2);
	ck_assert_uint_eq(mdd_root.missed + mdd_root.unknown, 0);
}

TEST(allocations_before_the_first_thread_count_as_its)
{
	start(ALL, 1, 8);
	handle_now = 0;
	mdd_alloc((void *)16, 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(mdd_root.threads, 1);
	handle_now = 1000;
	mdd_alloc((void *)32, 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(mdd_root.threads, 1);
	ck_assert_uint_eq(thread_entry(0)->handle, 1000);
	ck_assert_str_eq(thread_entry(0)->name, "task 1000");
	ck_assert_uint_eq(*u32_at(find(16), at.thread), 1);
	ck_assert_uint_eq(*u32_at(find(32), at.thread), 1);
	handle_now = 2000;
	mdd_alloc((void *)48, 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(*u32_at(find(48), at.thread), 2);
}

TEST(the_handle_of_a_thread_that_has_ended_is_a_new_threads)
{
	start(ALL, 1, 8);
	handle_now = 1000;
	mdd_alloc((void *)16, 1, 0, MDD_MALLOC, 1);
	mdd_thread_changed(1);
	mdd_alloc((void *)32, 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(*u32_at(find(32), at.thread), 2);
	ck_assert_uint_eq(thread_entry(0)->ended, 1);
}

TEST(so_is_that_of_a_thread_that_another_one_ended)
{
	start(ALL, 1, 8);
	handle_now = 1000;
	mdd_alloc((void *)16, 1, 0, MDD_MALLOC, 1);
	handle_now = 2000;
	mdd_alloc((void *)32, 1, 0, MDD_MALLOC, 1);
	mdd_thread_ended(1000);
	mdd_thread_ended(3000);
	ck_assert_uint_eq(thread_entry(0)->ended, 1);
	ck_assert_uint_eq(thread_entry(1)->ended, 0);
	handle_now = 1000;
	mdd_alloc((void *)48, 1, 0, MDD_MALLOC, 1);
	ck_assert_uint_eq(*u32_at(find(48), at.thread), 3);
}

TEST(what_was_before_the_first_thread_is_not_ended_with_another)
{
	start(ALL, 1, 8);
	handle_now = 0;
	mdd_alloc((void *)16, 1, 0, MDD_MALLOC, 1);
	mdd_thread_ended(1000);
	ck_assert_uint_eq(thread_entry(0)->ended, 0);
}

TEST(memory_debug_data_cannot_be_begun_twice)
{
	start(ALL, 1, 8);
	ck_assert_int_eq(mdd_start(NULL), -1);
}

static void
count_unlocked(void)
{
	unlocked += locks == 0;
}

TEST(memory_and_threads_of_the_port_are_asked_for_with_its_lock)
{
	unsigned i;

	start(ALL, 1, 8);
	unlocked = 0;
	when_memory = count_unlocked;
	for (i = 1; i <= 100; i++) {
		handle_now = i;
		mdd_alloc((void *)(uintptr_t)(i * 16), i, 0, MDD_MALLOC, i);
	}
	mdd_thread_changed(1);
	ck_assert_uint_eq(mdd_root.threads, 100);
	ck_assert_uint_eq(unlocked, 0);
	ck_assert_uint_eq(locks, 0);
}
