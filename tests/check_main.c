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

/* Weak: each program is linked with the suites of its own rows only. */
#define SUITE(program, name, needs, seconds) \
	extern Suite *name##_suite(void) __attribute__((weak));
#include "suites.def"
#undef SUITE

static const struct {
	const char *name, *needs;
	Suite *(*suite)(void);
} suites[] = {
#define SUITE(program, name, needs, seconds) { #name, #needs, name##_suite },
#include "suites.def"
#undef SUITE
};

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

/* An empty name stands for all suites. */
static int
add_suites(SRunner *sr, const char *name)
{
	int added = 0;

	for (size_t i = 0; i < sizeof suites / sizeof suites[0]; i++)
		if (suites[i].suite != NULL &&
		    (*name == '\0' || strcmp(name, suites[i].name) == 0)) {
#ifndef SANITIZED
			if (strstr(suites[i].needs, "threads") != NULL)
				threads_declared = true;
#endif
			srunner_add_suite(sr, suites[i].suite());
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
