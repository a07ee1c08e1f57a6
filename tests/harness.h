/*
 * What all linked tests share.  A file tests/check_NAME.c defines one suite,
 * NAME_suite(); its row in suites.def says which program runs it.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <check.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * Check writes down each assertion that holds, so as to say where a test was
 * when it died, and reads all of them when it has ended: in a loop of a million
 * that takes longer than the test itself.  So each line's first ones alone are
 * written down: of a test that dies in such a loop, the place that is told is one
 * that it has passed.  What fails is told as ever.
 */
#define MARKS_OF_LINE 64

/*
 * One for the program (check_main.c): a thread's own variables lie on its stack,
 * and some of src have stacks of 64 kB.
 */
extern _Thread_local unsigned char harness_marks[1 << 12];

static inline void
harness_mark(const char *file, int line)
{
	unsigned char *n = &harness_marks[(unsigned)line %
	    sizeof(harness_marks)];

	if (*n == MARKS_OF_LINE)
		return;
	++*n;
	_mark_point(file, line);
}

#define _mark_point(file, line) harness_mark(file, line)

/*
 * Of a case whose rules need the kernel itself: limits on memory, what a fork
 * leaves.  An emulator of one process says yes to those and does nothing.
 */
#define TAG_KERNEL "kernel"

/* A sanitizer takes terabytes of address space: then there is no limiting it. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#ifdef __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#else
#define SANITIZED 1
#endif

/*
 * The seed of a random test: the usual one, or CHECK_SEED of the environment.  It
 * is printed if an assertion fails.  A test that dies of a signal is repeated by
 * its case and number alone, because usual seeds are the same in every run.
 *
 *	CHECK_SEED=7 CK_RUN_CASE=keys build/tests/check_monkey
 */
static struct {
	bool given;
	uint64_t seed;
} harness_seed;

static inline uint64_t
check_seed(uint64_t usual)
{
	const char *text = getenv("CHECK_SEED");

	harness_seed.given = true;
	harness_seed.seed = text != NULL ? strtoull(text, NULL, 10) : usual;
	return harness_seed.seed;
}

static inline void
harness_print_seed(const char *file, int line)
{
	if (harness_seed.given)
		fprintf(stderr, "%s:%d: CHECK_SEED=%" PRIu64 "\n", file, line,
		    harness_seed.seed);
}

#define _ck_assert_failed(file, line, ...) \
	(harness_print_seed(file, line), \
	_ck_assert_failed(file, line, __VA_ARGS__))

/*
 * Rounds of a random loop: a third of them under a sanitizer, all of them in
 * check-long, which sets CHECK_LONG.
 */
static inline int
check_rounds(int all)
{
#ifdef SANITIZED
	if (getenv("CHECK_LONG") == NULL)
		return (all + 2) / 3;
#endif
	return all;
}

/*
 * Events of a test of random points: the usual number, or CHECK_EVENTS of the
 * environment, and then CK_TIMEOUT_MULTIPLIER is the only limit.
 */
static inline unsigned long long
check_events(unsigned long long usual)
{
	const char *text = getenv("CHECK_EVENTS");

	return text != NULL ? strtoull(text, NULL, 10) : usual;
}

#endif
