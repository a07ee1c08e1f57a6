/*
 * Memory that is used again reads as if it never had been.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "harness.h"

#define BYTES ((size_t)5 << 20)
#define HUGE_FROM ((size_t)1 << 20)
#define MANY 100

static size_t
page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static bool
is_zeros(const char *p, size_t bytes)
{
	return p[0] == 0 && memcmp(p, p + 1, bytes - 1) == 0;
}

CASE("zeros", .setup = zeros_keep);

LOOP_TEST(what_comes_again_reads_as_zeros, 0, 2)
{
	size_t huge = _i == 0 ? ZEROS_SMALL : HUGE_FROM;
	char *p = zeros_map(BYTES, huge), *again;

	ck_assert_ptr_nonnull(p);
	ck_assert(is_zeros(p, BYTES));
	memset(p, 'x', BYTES);
	zeros_unmap(p, BYTES, huge);
	again = zeros_map(BYTES, huge);
	ck_assert_ptr_eq(again, p);
	ck_assert(is_zeros(again, BYTES));
	zeros_unmap(again, BYTES, huge);
}

TEST(it_comes_again_as_what_it_was_and_as_nothing_else)
{
	char *small = zeros_map(BYTES, ZEROS_SMALL), *other[3];

	zeros_unmap(small, BYTES, ZEROS_SMALL);
	other[0] = zeros_map(BYTES, HUGE_FROM);
	other[1] = zeros_map(BYTES - page(), ZEROS_SMALL);
	other[2] = zeros_map(BYTES + 1, ZEROS_SMALL);
	for (size_t i = 0; i < BASE_NELEM(other); i++)
		ck_assert_ptr_ne(other[i], small);
	/* As many pages, and huge ones from behind them on. */
	ck_assert_ptr_eq(zeros_map(BYTES - 1, BYTES), small);
	zeros_unmap(small, BYTES, ZEROS_SMALL);
	zeros_unmap(other[0], BYTES, HUGE_FROM);
	zeros_unmap(other[1], BYTES - page(), ZEROS_SMALL);
	zeros_unmap(other[2], BYTES + 1, ZEROS_SMALL);
}

TEST(huge_pages_can_begin_where_it_does)
{
	char *p = zeros_map(BYTES, HUGE_FROM);

	ck_assert_uint_eq((uintptr_t)p % BASE_HUGE, 0);
	zeros_unmap(p, BYTES, HUGE_FROM);
}

TEST(nothing_is_given_back_of_nothing)
{
	zeros_unmap(NULL, BYTES, ZEROS_SMALL);
	ck_assert_ptr_null(zeros_map((size_t)1 << 62, ZEROS_SMALL));
}

/* A system that locks all of a node's memory does not let go of it. */
TEST(locked_memory_comes_again_as_zeros_too)
{
	size_t bytes = 16384;
	char *p = zeros_map(bytes, ZEROS_SMALL);

	if (mlock(p, bytes) == 0) {
		memset(p, 'x', bytes);
		zeros_unmap(p, bytes, ZEROS_SMALL);
		p = zeros_map(bytes, ZEROS_SMALL);
		ck_assert(is_zeros(p, bytes));
	}
	zeros_unmap(p, bytes, ZEROS_SMALL);
}

/* A sanitizer has mappings of its own for each, and all address space. */
#ifndef SANITIZED
static unsigned
mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned n = 0;
	int c;

	ck_assert_ptr_nonnull(f);
	while ((c = getc(f)) != EOF)
		n += c == '\n';
	(void)fclose(f);
	return n;
}

/* They differ in size, so that neighbours are one mapping as little as they can. */
TEST(of_many_that_are_given_back_few_are_kept)
{
	unsigned before = mappings();
	char *p[MANY];

	for (size_t i = 0; i < MANY; i++) {
		p[i] = zeros_map(BYTES + i * page(), HUGE_FROM);
		ck_assert_ptr_nonnull(p[i]);
	}
	ck_assert_uint_gt(mappings(), before + MANY);
	for (size_t i = 0; i < MANY; i++)
		zeros_unmap(p[i], BYTES + i * page(), HUGE_FROM);
	ck_assert_uint_lt(mappings(), before + MANY);
	/* The youngest of them. */
	for (size_t i = MANY - 10; i < MANY; i++)
		ck_assert_ptr_eq(zeros_map(BYTES + i * page(), HUGE_FROM),
		    p[i]);
}

/* What a process may have is what it has now and that. */
static void
limit_to(size_t more)
{
	unsigned long pages;
	struct rlimit limit;
	FILE *f = fopen("/proc/self/statm", "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%lu", &pages), 1);
	(void)fclose(f);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
	limit.rlim_cur = pages * (size_t)sysconf(_SC_PAGESIZE) + more;
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

TEST(nothing_is_kept_where_a_limit_counts_it)
{
	char *p;

	limit_to((size_t)64 << 20);
	zeros_keep();
	p = zeros_map(BYTES, ZEROS_SMALL);
	zeros_unmap(p, BYTES, ZEROS_SMALL);
	ck_assert_int_eq(msync(p, page(), MS_ASYNC), -1);
	ck_assert_int_eq(errno, ENOMEM);
}

TEST(what_is_kept_makes_room_where_there_is_none)
{
	size_t bytes = (size_t)64 << 20;
	char *p = zeros_map(bytes, ZEROS_SMALL);

	limit_to((size_t)8 << 20);
	ck_assert_ptr_null(zeros_map(2 * bytes, ZEROS_SMALL));
	zeros_unmap(p, bytes, ZEROS_SMALL);
	p = zeros_map(bytes - page(), ZEROS_SMALL);
	ck_assert_ptr_nonnull(p);
	zeros_unmap(p, bytes - page(), ZEROS_SMALL);
}
#endif

static void *
use(void *arg)
{
	char mark = (char)(intptr_t)arg;
	bool *wrong = NULL;
	static bool yes;

	for (int i = 0; i < 500; i++) {
		char *p = zeros_map(BYTES / 4, ZEROS_SMALL);

		for (int k = 0; k < 100; k++) {
			if (p[k] != 0)
				wrong = &yes;
			p[k] = mark;
		}
		for (int k = 0; k < 100; k++)
			if (p[k] != mark)
				wrong = &yes;
		zeros_unmap(p, BYTES / 4, ZEROS_SMALL);
	}
	return wrong;
}

TEST(nobody_has_what_another_thread_has)
{
	pthread_t thread[4];
	void *wrong;

	for (size_t i = 0; i < BASE_NELEM(thread); i++)
		ck_assert_int_eq(pthread_create(&thread[i], NULL, use,
		    (void *)(intptr_t)(i + 1)), 0);
	for (size_t i = 0; i < BASE_NELEM(thread); i++) {
		ck_assert_int_eq(pthread_join(thread[i], &wrong), 0);
		ck_assert_ptr_null(wrong);
	}
}
