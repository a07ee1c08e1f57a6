/*
 * What objects_find() tells is what dlsym(3), who may ask the loader, tells.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>

#include "../src/alloclog/objects.h"
#include "harness.h"

/* Functions of several libraries, of one version each, and one of nobody's. */
static const char *const names[] = {
	"uv_version", "getenv", "qsort", "dl_iterate_phdr", "no_such_function",
};
#define NAMES (sizeof(names) / sizeof(names[0]))

static const uintptr_t nobody = 0;

static void
open_for_all(void)
{
	ck_assert_ptr_nonnull(dlopen("libuv.so.1", RTLD_NOW | RTLD_GLOBAL));
}

START_TEST(functions_are_those_that_dlsym_finds)
{
	void *fns[NAMES];
	struct range whose;

	ck_assert_int_eq(objects_find((uintptr_t)names, nobody, names, NAMES,
	    fns, &whose), 0);
	for (size_t i = 0; i < NAMES; i++)
		ck_assert_msg(fns[i] == dlsym(RTLD_DEFAULT, names[i]), "%s: %p",
		    names[i], fns[i]);
	ck_assert_ptr_nonnull(fns[0]);
	ck_assert_ptr_null(fns[NAMES - 1]);
	ck_assert(range_has(&whose, (uintptr_t)names));
}
END_TEST

START_TEST(object_that_is_left_out_gives_nothing)
{
	void *libuv = dlsym(RTLD_DEFAULT, "uv_version"), *fns[NAMES];
	struct range whose;

	ck_assert_ptr_nonnull(libuv);
	ck_assert_int_eq(objects_find((uintptr_t)names, (uintptr_t)libuv, names, NAMES,
	    fns, &whose), 0);
	ck_assert_ptr_null(fns[0]);
	ck_assert_ptr_nonnull(fns[1]);
}
END_TEST

START_TEST(code_in_no_object_gets_functions_and_no_object)
{
	void *fns[NAMES], *made = malloc(16);
	struct range whose = { 1, 1 };

	errno = ERANGE;
	ck_assert_int_eq(objects_find((uintptr_t)made, nobody, names, NAMES,
	    fns, &whose), 0);
	ck_assert_int_eq(errno, ERANGE);
	ck_assert_uint_eq(whose.size, 0);
	ck_assert_ptr_eq(fns[0], dlsym(RTLD_DEFAULT, names[0]));
	free(made);
}
END_TEST

/* From each object's first address, all at once in the list's own lock. */
static int
from_each(struct dl_phdr_info *info, size_t size, void *arg)
{
	void *fns[NAMES];
	struct range whose = { 0, 0 };
	int *found = arg;

	(void)size;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD) {
			ck_assert_int_eq(objects_find(info->dlpi_addr +
			    info->dlpi_phdr[i].p_vaddr, nobody, names, NAMES,
			    fns, &whose), 0);
			*found += whose.size > 0 && fns[0] != NULL;
			return 0;
		}
	return 0;
}

START_TEST(every_object_may_ask_even_while_the_list_is_walked)
{
	int found = 0;

	(void)dl_iterate_phdr(from_each, &found);
	ck_assert_int_ge(found, 4);
}
END_TEST

static Suite *
objects_suite(void)
{
	Suite *s = suite_create("objects");
	TCase *t = tcase_create("objects");

	tcase_add_unchecked_fixture(t, open_for_all, NULL);
	tcase_add_test(t, functions_are_those_that_dlsym_finds);
	tcase_add_test(t, object_that_is_left_out_gives_nothing);
	tcase_add_test(t, code_in_no_object_gets_functions_and_no_object);
	tcase_add_test(t, every_object_may_ask_even_while_the_list_is_walked);
	suite_add_tcase(s, t);
	return s;
}

CHECK_MAIN(objects_suite)
