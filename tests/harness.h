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
 * Check records each assertion that holds, to say where a test died, and reads
 * all records at its end: for a loop of a million that takes longer than the test.
 * Here only the first MARKS_OF_LINE of each line are recorded, so a test that dies
 * in a long loop is reported at an earlier place.  Failures are reported exactly.
 */
#define MARKS_OF_LINE 64

/*
 * Shared by all files of a program (check_main.c): thread-local variables lie on
 * the thread's stack, which has 64 kB in some threads of src.
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
/* Each turn of a LOOP_TEST is a process of its own. */
void harness_begin_turn(int i);

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
	static void \
	function##_turn(int i) \
	{ \
		harness_begin_turn(i); \
		function(i); \
	} \
	static const TTest function##_test = { #function, function##_turn, \
	    __FILE__, __LINE__ }; \
	HARNESS_ENTRY(function##_add, .test = &function##_test, \
	    .from = (int)(first), .to = (int)(end)) \
	static void \
	function(int _i CK_ATTRIBUTE_UNUSED)
#define TEST(function) LOOP_TEST(function, 0, 1)

/*
 * The tag of cases that need a real kernel, for memory limits and fork.  A
 * user-mode emulator accepts these calls and does nothing.
 */
#define TAG_KERNEL "kernel"

/*
 * The tag of cases that need more address space than a pointer of 32 bits can
 * reach: streams of hundreds of targets.
 */
#define TAG_LP64 "lp64"

/* A sanitizer reserves terabytes of address space, so it cannot be limited. */
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
 * The seed of a random test: CHECK_SEED of the environment, or the usual one, which
 * is the same in every run.  A failed assertion prints it.
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

/* make check-long sets CHECK_LONG. */
static inline bool
check_is_long(void)
{
	return getenv("CHECK_LONG") != NULL;
}

/* True under a sanitizer and with CHECK_SHORT; false in the long check. */
static inline bool
check_is_shortened(void)
{
#ifdef SANITIZED
	return !check_is_long();
#else
	return getenv("CHECK_SHORT") != NULL && !check_is_long();
#endif
}

/* The rounds of a random loop: a sixth of them in shortened tests. */
static inline int
check_rounds(int all)
{
	return check_is_shortened() ? (all + 5) / 6 : all;
}

/*
 * The step of a loop over all sizes or places: 1, or `shortened` in shortened tests.  Use
 * a prime number, which meets all residues.
 */
static inline int
check_stride(int shortened)
{
	return check_is_shortened() ? shortened : 1;
}

/*
 * Events of a test of random points: CHECK_EVENTS of the environment, or the usual
 * number.  With CHECK_EVENTS, set CK_TIMEOUT_MULTIPLIER too.
 */
static inline unsigned long long
check_events(unsigned long long usual)
{
	const char *text = getenv("CHECK_EVENTS");

	return text != NULL ? strtoull(text, NULL, 10) : usual;
}

#endif
