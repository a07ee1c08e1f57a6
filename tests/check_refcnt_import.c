/* refcnt_import: counts of references from the text of other programs. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/refcnt/import.h"
#include "harness.h"

#define NELEM BASE_NELEM

static struct refcnt *counted;

static void
start(void)
{
	ck_assert_int_eq(refcnt_new(&counted, 2, REFCNT_STANDARD), 0);
}

static void
stop(void)
{
	refcnt_free(counted);
}

/* Processors 0 and 1 have a node each, others none. */
static unsigned
node_of(void *arg, unsigned cpu)
{
	(void)arg;
	return cpu < 2 ? cpu : REFCNT_NODES;
}

static struct refcnt_imported
import(const char *text, size_t len, bool all)
{
	struct refcnt_import how = { .all = all, .now_ms = 5, .node_of = node_of };
	struct refcnt_imported sums;
	FILE *f = fmemopen((void *)(uintptr_t)text, len, "r");

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(refcnt_import_from(counted, f, &how, &sums), 0);
	fclose(f);
	return sums;
}

static void
compare(uint64_t page, uint64_t reads, uint64_t writes)
{
	struct refcnt_page p;

	ck_assert(refcnt_page(counted, page, REFCNT_WIDE, &p));
	ck_assert_uint_eq(p.reads, reads);
	ck_assert_uint_eq(p.writes, writes);
	ck_assert_int_eq(p.source, REFCNT_IMPORT);
}

CASE("import", .setup = start, .teardown = stop);

TEST(lackey_lines_are_references)
{
	static const char text[] =
	    "==12== Lackey, an example Valgrind tool\n"
	    "I  0400d7d4,8\n"
	    " L 00010008,8\n"
	    " S 00010ff8,8\n"
	    " M 00020000,4\n"
	    "\n"
	    "==12== \n";
	struct refcnt_imported sums = import(text, sizeof text - 1, true);

	ck_assert_uint_eq(sums.lines, 7);
	ck_assert_uint_eq(sums.bad, 0);
	ck_assert_uint_eq(sums.references, 4);
	compare(0x10000, 1, 1);
	compare(0x20000, 1, 1);
	ck_assert(!refcnt_counts(counted, 0x400d000));
}

TEST(an_access_across_an_end_is_of_both_pages)
{
	static const char text[] = " L 00010ffc,8\n S 00011fff,2\n";
	struct refcnt_imported sums = import(text, sizeof text - 1, true);

	ck_assert_uint_eq(sums.references, 4);
	compare(0x10000, 1, 0);
	compare(0x11000, 1, 1);
	compare(0x12000, 0, 1);
}

TEST(sums_are_of_the_node_of_their_processor)
{
	static const char text[] =
	    "# page, thread, reads, writes\n"
	    "401000 0 1000 101\n"
	    "401000 1 7 0\n"
	    "401000 2 5 0\n";
	struct refcnt_imported sums = import(text, sizeof text - 1, true);
	struct refcnt_page p;

	ck_assert_uint_eq(sums.references, 1108);
	ck_assert_uint_eq(sums.outside, 5);
	compare(0x401000, 1007, 101);
	ck_assert(refcnt_page(counted, 0x401000, REFCNT_WIDE, &p));
	ck_assert_uint_eq(p.counter[0], 1101);
	ck_assert_uint_eq(p.counter[1], 7);
}

TEST(only_ranges_count_unless_all_is_asked_for)
{
	static const char text[] = " L 00010008,8\n L 00011008,8\n";
	struct refcnt_imported sums;

	ck_assert_int_eq(refcnt_enable(counted, 0x11000, 1, REFCNT_IMPORT, 0), 0);
	sums = import(text, sizeof text - 1, false);
	ck_assert_uint_eq(sums.references, 1);
	ck_assert_uint_eq(sums.outside, 1);
	ck_assert(!refcnt_counts(counted, 0x10000));
	compare(0x11000, 1, 0);
}

#define BAD(text) { text "\n", sizeof text }

static const struct bad {
	const char *text;
	size_t len;
} bad[] = {
	BAD("hello"),
	BAD(" L 00010008"),
	BAD(" L 00010008,"),
	BAD(" L 00010008,0"),
	BAD(" L 00010008,8 "),
	BAD(" L 00010008,-8"),
	BAD(" L 0x10008,8"),
	BAD(" L -1,8"),
	BAD(" L 00010008,99999"),
	BAD(" L ffffffffffffffff,2"),
	BAD(" L 10000000000000000,1"),
	BAD(" L  00010008,8"),
	BAD(" Q 00010008,8"),
	BAD("  L 00010008,8"),
	BAD("I 0400d7d4,8"),
	BAD("401001 0 1 1"),
	BAD("401000 0 1"),
	BAD("401000 0 1 1 1"),
	BAD("401000 0 1 18446744073709551616"),
	BAD("401000 4294967296 1 1"),
	BAD("401000 0 -1 1"),
	BAD("0x401000 0 1 1"),
	BAD("lost 12"),
	BAD(" L 00010008,8\0"),
	/* Cut: it may have been 1000. */
	{ "401000 0 1 100", 14 },
};

LOOP_TEST(a_bad_line_is_counted_and_skipped, 0, NELEM(bad))
{
	char text[128] = " L 00070000,8\n";
	size_t len = strlen(text);
	struct refcnt_imported sums;

	memcpy(text + len, bad[_i].text, bad[_i].len);
	len += bad[_i].len;
	if (bad[_i].text[bad[_i].len - 1] == '\n') {
		memcpy(text + len, " S 00070000,8\n", 14);
		len += 14;
	}
	sums = import(text, len, true);
	ck_assert_uint_eq(sums.bad, 1);
	ck_assert_uint_eq(sums.first_bad, 2);
	ck_assert_uint_eq(sums.references, sums.lines - 1);
	compare(0x70000, 1, sums.lines == 3);
}

TEST(a_long_line_is_one_bad_line)
{
	static char text[100000];
	struct refcnt_imported sums;

	memset(text, '1', sizeof text);
	memcpy(text + sizeof text - 15, "\n L 00070000,8\n", 15);
	sums = import(text, sizeof text, true);
	ck_assert_uint_eq(sums.lines, 2);
	ck_assert_uint_eq(sums.bad, 1);
	compare(0x70000, 1, 0);
}

TEST(sums_do_not_wrap)
{
	static const char text[] = "401000 0 18446744073709551615 2\n"
	    "401000 0 18446744073709551615 0\n";
	struct refcnt_imported sums = import(text, sizeof text - 1, true);

	ck_assert_uint_eq(sums.bad, 0);
	ck_assert_uint_eq(sums.references, UINT64_MAX);
	compare(0x401000, UINT64_MAX, 2);
}

static const char *const endless[] = { "/dev/zero", "/dev/urandom" };

LOOP_TEST(a_file_that_is_no_trace_ends, 0, NELEM(endless))
{
	struct refcnt_import how = { .all = true };
	struct refcnt_imported sums;

	ck_assert_int_eq(refcnt_import(counted, endless[_i], &how, &sums),
	    -EBADMSG);
	ck_assert_uint_eq(sums.references, 0);
}

TEST(a_missing_file_is_an_error)
{
	struct refcnt_import how = { .all = true };
	struct refcnt_imported sums;

	ck_assert_int_eq(refcnt_import(counted, "/nonexistent/trace", &how, &sums),
	    -ENOENT);
	ck_assert_int_eq(refcnt_import(counted, "/", &how, &sums), -EISDIR);
}
