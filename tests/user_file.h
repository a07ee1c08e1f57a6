/*
 * A folder of the test's own, and in it the file that a user may write as well.
 *
 *	make_folder();
 *	snprintf(path, sizeof path, "%s/config", folder);
 *	write_text("utc = yes\n");
 *	...
 *	assert_text("utc = no\n");
 *	remove_folder();
 */
#ifndef TESTS_USER_FILE_H
#define TESTS_USER_FILE_H

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../src/base/base.h"
#include "harness.h"

static char folder[64], path[PATH_MAX];

static inline void
make_folder(void)
{
	strcpy(folder, "/tmp/check_user_file.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static inline void
remove_folder(void)
{
	char command[sizeof folder + 16];

	snprintf(command, sizeof command, "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

/* With the folders above it. */
static inline void
write_text(const char *text)
{
	FILE *f;

	ck_assert_int_eq(base_folders_above(path), 0);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static inline void
assert_text(const char *want)
{
	char *bytes;
	size_t len;

	ck_assert_int_eq(base_file_read(path, 1 << 20, &bytes, &len), 0);
	ck_assert_str_eq(bytes, want);
	free(bytes);
}

#endif
