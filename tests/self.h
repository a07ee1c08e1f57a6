/*
 * This program as its own specimen: a function to look for, where it stands
 * in the file, and copies of that file in a directory of the test's own.
 */
#ifndef TESTS_SELF_H
#define TESTS_SELF_H

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../src/symbol/symbol.h"
#include "harness.h"

#ifdef HAVE_ELFUTILS
#define HAVE_NAMES true
#else
#define HAVE_NAMES false
#endif

static char dir[PATH_MAX];

static __attribute__((noinline)) int
static_function(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

static __attribute__((unused)) uint64_t
address_of(void (*fn)(void))
{
	return (uint64_t)(uintptr_t)fn;
}

#define ADDRESS(fn) address_of((void (*)(void))(fn))

static void
make_dir(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%s/pagek-symbol-XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(static_function(1), 2);
}

static void
remove_dir(void)
{
	char command[PATH_MAX + 16];

	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	ck_assert_int_eq(system(command), 0);
}

static const char *
in_dir(const char *file)
{
	static char path[4][2 * PATH_MAX];
	static unsigned turn;
	char *p = path[turn++ % 4];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, file);
	return p;
}

/* Copies this program to `to`. */
static __attribute__((unused)) void
copy_self(const char *to)
{
	char command[3 * PATH_MAX];

	snprintf(command, sizeof(command), "cp /proc/%jd/exe '%s'",
	    (intmax_t)getpid(), to);
	ck_assert_int_eq(system(command), 0);
}

/* Where the byte at addr of this process stands in its file. */
static __attribute__((unused)) uint64_t
file_offset(uint64_t addr)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[2 * PATH_MAX];
	struct maps_line map;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		if (maps_parse(line, &map) == 0 && addr >= map.start &&
		    addr < map.end) {
			fclose(f);
			return addr - map.start + map.offset;
		}
	}
	ck_abort_msg("no mapping has the address");
}

#endif
