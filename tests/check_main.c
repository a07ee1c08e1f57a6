/*
 * The main program of every group of linked tests (suites.def).
 *
 *	build/tests/check_page			all suites of the program
 *	build/tests/check_page filtered_blocks order	these two
 *	CK_RUN_CASE=core build/tests/check_page filtered_blocks
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

_Thread_local unsigned char harness_marks[1 << 12];

static const struct {
	const char *name, *file, *needs;
} suites[] = {
#define SUITE(program, name, needs, seconds) \
	{ #name, "check_" #name ".c", #needs },
#include "suites.def"
#undef SUITE
};

/* By file and line: constructors run in any order. */
static struct harness_entry *entries;

/*
 * A search for leaks takes longer than most tests.  Of a long loop each eighth turn
 * is searched, but for CHECK_LONG; the sanitizer asks.
 */
static int leaks_are_let_be;

void
harness_begin_turn(int i)
{
	leaks_are_let_be = i >= 8 && i % 8 != 0 && !check_is_long();
}

int __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return leaks_are_let_be;
}

#ifndef SANITIZED
/* Some suite of this run declares that it starts threads. */
static bool threads_declared;

/*
 * The thread sanitizer runs only the suites that declare threads, so a suite that
 * starts one undeclared must fail.
 */
int
pthread_create(pthread_t *thread, const pthread_attr_t *attr,
    void *(*start)(void *), void *arg)
{
	static int (*next)(pthread_t *, const pthread_attr_t *,
	    void *(*)(void *), void *);

	if (!threads_declared) {
		fputs("a thread starts: add 'threads' to the suite's row in "
		    "tests/suites.def\n", stderr);
		abort();
	}
	*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	return next(thread, attr, start, arg);
}
#endif

static bool
is_before(const struct harness_entry *a, const struct harness_entry *b)
{
	int order = strcmp(a->file, b->file);

	return order < 0 || (order == 0 && a->line < b->line);
}

void
harness_add(struct harness_entry *e)
{
	struct harness_entry **at = &entries;

	while (*at != NULL && is_before(*at, e))
		at = &(*at)->next;
	e->next = *at;
	*at = e;
}

/* The case that e opens or, if there is one of its name in the file, continues. */
static TCase *
add_case(Suite *s, struct harness_entry *first, struct harness_entry *e)
{
	for (struct harness_entry *c = first; c != e; c = c->next)
		if (c->name != NULL && strcmp(c->name, e->name) == 0)
			return c->tcase;
	e->tcase = tcase_create(e->name);
	suite_add_tcase(s, e->tcase);
	if (e->setup != NULL || e->teardown != NULL)
		tcase_add_checked_fixture(e->tcase, e->setup, e->teardown);
	if (e->seconds > 0)
		tcase_set_timeout(e->tcase, e->seconds);
	if (e->tags != NULL)
		tcase_set_tags(e->tcase, e->tags);
	return e->tcase;
}

static bool
is_file(const struct harness_entry *e, const char *file)
{
	const char *slash = strrchr(e->file, '/');

	return strcmp(slash != NULL ? slash + 1 : e->file, file) == 0;
}

/* NULL if no test of the file is linked. */
static Suite *
suite_of(const char *name, const char *file)
{
	struct harness_entry *first = entries;
	TCase *tcase = NULL;
	Suite *s;

	while (first != NULL && !is_file(first, file))
		first = first->next;
	if (first == NULL)
		return NULL;
	s = suite_create(name);
	for (struct harness_entry *e = first; e != NULL && is_file(e, file);
	    e = e->next)
		if (e->name != NULL) {
			tcase = add_case(s, first, e);
		} else if (tcase != NULL) {
			tcase_add_loop_test(tcase, e->test, e->from, e->to);
		} else {
			fprintf(stderr, "%s:%d: no CASE above this test\n",
			    e->file, e->line);
			abort();
		}
	return s;
}

/* An empty name stands for all suites. */
static int
add_suites(SRunner *sr, const char *name)
{
	int added = 0;
	Suite *s;

	for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++) {
		if (*name != '\0' && strcmp(name, suites[i].name) != 0)
			continue;
		s = suite_of(suites[i].name, suites[i].file);
		if (s == NULL)
			continue;
#ifndef SANITIZED
		if (strstr(suites[i].needs, "threads") != NULL)
			threads_declared = true;
#endif
		srunner_add_suite(sr, s);
		added++;
	}
	return added;
}

int
main(int argc, char **argv)
{
	SRunner *sr = srunner_create(NULL);
	int failed;

	for (int i = argc > 1 ? 1 : 0; i < argc; i++)
		if (add_suites(sr, i > 0 ? argv[i] : "") == 0) {
			fprintf(stderr, "%s: no suite '%s' here; see "
			    "tests/suites.def\n", argv[0], argv[i]);
			return 2;
		}
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
