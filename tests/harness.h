/*
 * What all linked tests share.  A file tests/check_NAME.c defines one suite,
 * NAME_suite(); its row in suites.def says which program runs it.
 */
#ifndef TESTS_HARNESS_H
#define TESTS_HARNESS_H

#include <check.h>
#include <stdlib.h>

/*
 * Check writes down each assertion that holds, so as to say where a test was
 * when it died, and reads all of them when it has ended: in a loop of a million
 * that takes longer than the test itself.  So each line's first ones alone are
 * written down: of a test that dies in such a loop, the place that is told is one
 * that it has passed.  What fails is told as ever.
 */
#define MARKS_OF_LINE 64

static inline void
harness_mark(const char *file, int line)
{
	static _Thread_local unsigned char marks[1 << 12];
	unsigned char *n = &marks[(unsigned)line % sizeof(marks)];

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
 * As many events as a test of random points is to see: more of them where
 * CHECK_EVENTS says so, and then no limit but CK_TIMEOUT_MULTIPLIER's.
 */
static inline unsigned long long
check_events(unsigned long long usual)
{
	const char *text = getenv("CHECK_EVENTS");

	return text != NULL ? strtoull(text, NULL, 10) : usual;
}

#endif
