/*
 * Which blocks were born together, and whether their key says so.
 */
#include <stdio.h>

#include "../src/nodes/nodes.h"
#include "../src/pagek/born.h"
#include "harness.h"

static struct blk
born(int64_t ms, unsigned thread, uint64_t caller)
{
	return (struct blk){ .ms = ms, .thread = (uint16_t)thread,
		.caller = caller };
}

START_TEST(second_has_as_many_cycles_as_the_page)
{
	struct blk a = born(_i * INT64_C(1000), 0, 0);
	struct blk b = born(_i * INT64_C(1000) + 999, 0, 0);
	struct blk c = born(_i * INT64_C(1000) + 1000, 0, 0);

	ck_assert_int_eq(page_born_cycle(&b) - page_born_cycle(&a),
	    NODES_HZ - 1);
	ck_assert_int_eq(page_born_cycle(&c) - page_born_cycle(&a), NODES_HZ);
}
END_TEST

START_TEST(cycle_is_a_fifteenth_of_a_second_on_either_side_of_0)
{
	int64_t ms, began = -2000, last = 0;
	struct blk b;

	for (ms = -2000; ms < 2000; ms++) {
		b = born(ms, 0, 0);
		if (ms > -2000 && page_born_cycle(&b) != last) {
			ck_assert_int_eq(page_born_cycle(&b), last + 1);
			ck_assert(ms - began == 66 || ms - began == 67);
			began = ms;
		}
		last = page_born_cycle(&b);
	}
}
END_TEST

START_TEST(no_time_is_too_far_away)
{
	struct blk a = born(INT64_MAX / 15, 0, 0), b = born(-INT64_MAX / 15, 0,
	    0);

	ck_assert_int_gt(page_born_cycle(&a), page_born_cycle(&b));
}
END_TEST

START_TEST(cycle_thread_and_caller_make_those_that_were_born_together)
{
	struct blk a = born(100000, 3, 0x401000), b = a, c;

	b.addr = 0x1000;
	b.size = 77;
	b.type = TYPE_MALLOC;
	b.ms++;
	ck_assert(page_born_together(&a, &b));
	ck_assert_uint_eq(page_born_key(&a), page_born_key(&b));
	c = b;
	c.ms += 67;
	ck_assert(!page_born_together(&a, &c));
	c = b;
	c.thread++;
	ck_assert(!page_born_together(&a, &c));
	c = b;
	c.caller++;
	ck_assert(!page_born_together(&a, &c));
}
END_TEST

/* Threads and callers are small numbers side by side, cycles too. */
START_TEST(key_tells_apart_what_was_not_born_together)
{
	enum { CYCLES = 24, THREADS = 24, CALLERS = 24 };
	static uint64_t seen[CYCLES * THREADS * CALLERS];
	size_t n = 0, i, j;
	struct blk b;
	int c, t, s;

	for (c = 0; c < CYCLES; c++)
		for (t = 0; t < THREADS; t++)
			for (s = 0; s < CALLERS; s++) {
				b = born(1000 + c * 67, (unsigned)t, s % 2 ?
				    rec_site_caller((uint32_t)s) :
				    0x401000u + (unsigned)s);
				seen[n++] = page_born_key(&b);
			}
	for (i = 0; i < n; i++) {
		ck_assert_uint_ne(seen[i], 0);
		for (j = i % 97 + 1; i + j < n; j += 97)
			ck_assert_uint_ne(seen[i], seen[i + j]);
	}
	for (i = 0; i + 1 < n; i++)
		for (j = i + 1; j < n && j < i + 2 * CALLERS; j++)
			ck_assert_uint_ne(seen[i], seen[j]);
}
END_TEST

static Suite *
born_suite(void)
{
	Suite *s = suite_create("born");
	TCase *key = tcase_create("key");

	tcase_add_loop_test(key, second_has_as_many_cycles_as_the_page, -3, 4);
	tcase_add_test(key,
	    cycle_is_a_fifteenth_of_a_second_on_either_side_of_0);
	tcase_add_test(key, no_time_is_too_far_away);
	tcase_add_test(key,
	    cycle_thread_and_caller_make_those_that_were_born_together);
	tcase_add_test(key, key_tells_apart_what_was_not_born_together);
	suite_add_tcase(s, key);
	return s;
}

CHECK_MAIN(born_suite)
