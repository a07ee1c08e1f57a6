/*
 * What tests of words share: the reader that was built with them, specimens
 * built in a directory of the test's own, and one look-up at a time.
 */
#ifndef TESTS_SYMBOL_RIG_H
#define TESTS_SYMBOL_RIG_H

#include "../src/base/base.h"
#include "../src/symbol/symbol.h"
#include "harness.h"

#include <ctype.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static struct symbols *symbols;
static struct symbol_words words;

/* pagek-symbols, in the folder above this program. */
static __attribute__((unused)) const char *
reader_path(void)
{
	static char path[PATH_MAX + 32];
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - 1);

	ck_assert_int_gt(n, 0);
	path[n] = '\0';
	*strrchr(path, '/') = '\0';
	strcpy(strrchr(path, '/'), "/pagek-symbols");
	return path;
}

static __attribute__((unused)) void
open_symbols(const struct symbols_opts *o)
{
	ck_assert_int_eq(symbols_new(&symbols, o), 0);
}

static __attribute__((unused)) void
words_setup(void)
{
	struct symbols_opts o = { .reader = reader_path() };

	make_dir();
	open_symbols(&o);
}

static __attribute__((unused)) void
words_teardown(void)
{
	symbol_words_fini(&words);
	symbols_free(symbols);
	symbols = NULL;
	remove_dir();
}

/* Runs a shell command in the directory of the test. */
static __attribute__((unused)) bool
run(const char *command)
{
	char line[4 * PATH_MAX];

	ck_assert_int_lt(snprintf(line, sizeof(line),
	    "cd '%s' && { %s; } >run.out 2>&1", dir, command),
	    (int)sizeof(line));
	return system(line) == 0;
}

static __attribute__((unused)) void
must(const char *command)
{
	if (!run(command))
		ck_abort_msg("cannot: %s (see %s/run.out)", command, dir);
}

static __attribute__((unused)) void
write_file(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

/* The first number in hexadecimal that a command prints. */
static __attribute__((unused)) uint64_t
number_of(const char *command)
{
	char line[4 * PATH_MAX];
	uint64_t n = 0;
	FILE *p;

	snprintf(line, sizeof(line), "cd '%s' && %s", dir, command);
	ck_assert_ptr_nonnull(p = popen(line, "r"));
	ck_assert_int_eq(fscanf(p, "%" SCNx64, &n), 1);
	pclose(p);
	return n;
}

/* Where the symbol begins, as nm has it. */
static __attribute__((unused)) uint64_t
address_in(const char *file, const char *symbol)
{
	char command[512];

	snprintf(command, sizeof(command), "nm '%s' | grep -E ' [tTwW] %s$'",
	    file, symbol);
	return number_of(command);
}

/* The place in a file of the test, with the build id that it has now. */
static __attribute__((unused)) struct symbol_place
place_in(const char *file, uint64_t address)
{
	struct symbol_place p = { .path = in_dir(file), .address = address };
	char command[512], hex[2 * SYMBOL_BUILD_ID_MAX + 2] = "";
	FILE *f;

	snprintf(command, sizeof(command),
	    "readelf -n '%s' 2>/dev/null | sed -n 's/.*Build ID: //p'",
	    in_dir(file));
	ck_assert_ptr_nonnull(f = popen(command, "r"));
	if (fgets(hex, sizeof(hex), f) != NULL)
		for (; isxdigit((unsigned char)hex[2 * p.build_id_len]);
		    p.build_id_len++)
			ck_assert_int_eq(sscanf(hex + 2 * p.build_id_len,
			    "%2hhx", &p.build_id[p.build_id_len]), 1);
	pclose(f);
	return p;
}

/* Looks one place up, into `words`. */
static __attribute__((unused)) enum symbol_known
look(struct symbol_place p)
{
	symbol_words_fini(&words);
	symbols_look(symbols, &p, 1, &words);
	return words.known;
}

/* The function that `words` has, or "-". */
static __attribute__((unused)) const char *
function(void)
{
	return words.n == 0 ? "-" : words.line[words.n - 1].function;
}

static __attribute__((unused)) const char *
base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

#endif
