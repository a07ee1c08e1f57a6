/*
 * A table of nodes of the user's own, in a folder that is there for one test.
 */
#ifndef TESTS_TABLE_RIG_H
#define TESTS_TABLE_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

static char table_folder[64];		/* XDG_CONFIG_HOME */
static char table_file[96];

static inline void
table_write_at(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static inline void
table_write(const char *text)
{
	table_write_at(table_file, text);
}

/* The folder, and in it a table of that text; NULL: none yet. */
static inline void
table_up(const char *text)
{
	char path[80];

	strcpy(table_folder, "/tmp/pagek-check.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(table_folder));
	snprintf(path, sizeof path, "%s/pagek", table_folder);
	ck_assert_int_eq(mkdir(path, 0700), 0);
	snprintf(table_file, sizeof table_file, "%s/nodes", path);
	setenv("XDG_CONFIG_HOME", table_folder, 1);
	if (text != NULL)
		table_write(text);
}

static inline void
table_down(void)
{
	char path[80];

	remove(table_file);
	snprintf(path, sizeof path, "%s/pagek", table_folder);
	rmdir(path);
	rmdir(table_folder);
}

#endif
