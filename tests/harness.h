/*
 * What all linked tests share.  A file tests/check_NAME.c is the suite NAME; its
 * row in suites.def says which program runs it.  Tests register themselves:
 *
 *	CASE("cursor", .setup = start, .teardown = stop, .seconds = 60);
 *
 *	TEST(cursor_stays_on_its_block)
 *	{
 *	}
 *
 *	LOOP_TEST(every_size_is_filled, 0, NELEM(sizes))
 *	{
 *		... sizes[_i] ...
 *	}
 *
 * A test belongs to the last CASE before it in its file.  A CASE of the same name
 * further down continues the first.
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

/* One CASE or, without a name, one test. */
struct harness_entry {
	const char *file;
	int line;
	const char *name;
	void (*setup)(void), (*teardown)(void);	/* around each test, or NULL */
	double seconds;			/* a test's limit; 0: that of Check */
	const char *tags;
	const TTest *test;
	int from, to;			/* _i is from, ..., to - 1 */
	TCase *tcase;
	struct harness_entry *next;
};

/* check_main.c.  The entry is borrowed until the program ends. */
void harness_add(struct harness_entry *e);

#define HARNESS_ENTRY(function, ...) \
	static void __attribute__((constructor)) \
	function(void) \
	{ \
		static struct harness_entry e; \
\
		e = (struct harness_entry){ .file = __FILE__, \
		    .line = __LINE__, __VA_ARGS__ }; \
		harness_add(&e); \
	}
#define HARNESS_PASTE(a, b) a##b
#define HARNESS_NAME(a, b) HARNESS_PASTE(a, b)

/* The declaration at its end takes the semicolon. */
#define CASE(...) \
	HARNESS_ENTRY(HARNESS_NAME(harness_case_, __LINE__), \
	    .name = __VA_ARGS__) \
	struct harness_entry

#define LOOP_TEST(function, first, end) \
	static void function(int); \
	static const TTest function##_test = { #function, function, __FILE__, \
	    __LINE__ }; \
	HARNESS_ENTRY(function##_add, .test = &function##_test, \
	    .from = (int)(first), .to = (int)(end)) \
	static void \
	function(int _i CK_ATTRIBUTE_UNUSED)
#define TEST(function) LOOP_TEST(function, 0, 1)

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
