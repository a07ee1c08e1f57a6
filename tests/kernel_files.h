/*
 * A folder in the place of the root, with copies of the kernel's files.
 *
 *	make_root();
 *	put_file("proc/vmstat", "numa_hit 1000\n");
 *	stress_open(&stress, root);
 *	...
 *	remove_root();
 */
#ifndef TESTS_KERNEL_FILES_H
#define TESTS_KERNEL_FILES_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../src/base/base.h"
#include "harness.h"

static char root[64];

static inline void
make_root(void)
{
	strcpy(root, "/tmp/check_root.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static int
remove_one(const char *path, const struct stat *st, int what, struct FTW *ftw)
{
	(void)st;
	(void)what;
	(void)ftw;
	return remove(path);
}

static inline void
remove_root(void)
{
	nftw(root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/*
 * A file below the root, with the folders above it.  Unlike some of the kernel's, it is
 * not zeroed by reading.
 */
static inline void
put_file(const char *name, const char *text)
{
	char path[256];
	FILE *fp;

	snprintf(path, sizeof path, "%s/%s", root, name);
	ck_assert_int_eq(base_folders_above(path), 0);
	fp = fopen(path, "w");
	ck_assert_ptr_nonnull(fp);
	fputs(text, fp);
	ck_assert_int_eq(fclose(fp), 0);
}

#endif
