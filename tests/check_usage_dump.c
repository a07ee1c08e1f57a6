/*
 * Counts by type as text: what dump_usage_xmemory() prints is read, a bad line is
 * reported and skipped, and what is written is read as the same.
 */
#include <errno.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/usage/dump_rows.h"
#include "harness.h"

static struct usage_dump d;
static uint64_t bad_line[64];
static size_t bad;
static char why[USAGE_DUMP_WHY];

static void
begin(void)
{
	d = (struct usage_dump){ 0 };
	bad = 0;
}

static void
end(void)
{
	usage_dump_fini(&d);
}

static void
on_bad(void *arg, uint64_t line, const char *sentence)
{
	ck_assert_ptr_eq(arg, &d);
	if (bad < BASE_NELEM(bad_line))
		bad_line[bad++] = line;
	snprintf(why, sizeof why, "%s", sentence);
}

static void
read_bytes(const char *bytes, size_t len)
{
	FILE *fp = fmemopen((void *)(uintptr_t)bytes, len, "r");

	ck_assert_ptr_nonnull(fp);
	ck_assert_int_eq(usage_dump_read(&d, fp, on_bad, &d), 0);
	fclose(fp);
}

static void
read_text(const char *text)
{
	read_bytes(text, strlen(text));
}

/* The caller frees it. */
static char *
written(void)
{
	char *text = NULL;
	size_t len;
	FILE *fp = open_memstream(&text, &len);

	ck_assert_ptr_nonnull(fp);
	for (size_t i = 0; i < d.n; i++)
		usage_dump_put(fp, &d.row[i]);
	ck_assert_int_eq(fclose(fp), 0);
	return text;
}

#define SAMPLE "char:12:480:433:90\nchar:57:3:1:2\nstruct T:1:100:0:100\n" \
	"char:9:103:103:0\n"

/* --- good lines ------------------------------------------------------------------ */

static const struct {
	const char *line, *name;
	int64_t num;
	uint64_t allocated, freed, max;
	const char *written;		/* NULL: the same */
} good[] = {
	{ "char:12:480:433:90", "char", 12, 480, 433, 90, NULL },
	{ "struct T:1:100:0:100", "struct T", 1, 100, 0, 100, NULL },
	{ "std::map<int, int>:1:2:1:2", "std::map<int, int>", 1, 2, 1, 2,
	    "std%3A%3Amap<int, int>:1:2:1:2" },
	{ "std%3A%3Amap<int, int>:1:2:1:2", "std::map<int, int>", 1, 2, 1, 2,
	    NULL },
	{ "std%3a%3amap:1:2:1:2", "std::map", 1, 2, 1, 2,
	    "std%3A%3Amap:1:2:1:2" },
	{ "1:2:3:4:5:6:7:8", "1:2:3:4", 5, 6, 7, 8, "1%3A2%3A3%3A4:5:6:7:8" },
	{ ":0:1:0:1", "", 0, 1, 0, 1, NULL },
	{ "(null):-1:1:0:1", "(null)", -1, 1, 0, 1, NULL },
	{ "never:7:0:5:0", "never", 7, 0, 5, 0, NULL },
	{ "x:-9223372036854775808:18446744073709551615:0:18446744073709551615",
	    "x", INT64_MIN, UINT64_MAX, 0, UINT64_MAX, NULL },
	{ "x:9223372036854775807:0:0:0", "x", INT64_MAX, 0, 0, 0, NULL },
	{ "a%0Ab%1bc%7F:1:1:1:1", "a\nb\033c\177", 1, 1, 1, 1,
	    "a%0Ab%1Bc%7F:1:1:1:1" },
	{ "50%:1:1:1:1", "50%", 1, 1, 1, 1, NULL },
	{ "%41%00%zz%3:1:1:1:1", "%41%00%zz%3", 1, 1, 1, 1, NULL },
	{ "%253A:1:1:1:1", "%3A", 1, 1, 1, 1, NULL },
	{ "\xff\xc3\xa9:1:1:1:1", "\xff\xc3\xa9", 1, 1, 1, 1,
	    "%FF\xc3\xa9:1:1:1:1" },
	{ "\xc2\x9b" "2J:1:1:1:1", "\xc2\x9b" "2J", 1, 1, 1, 1,
	    "%C2%9B2J:1:1:1:1" },
	{ "\xe2\x80\xae" "x:1:1:1:1", "\xe2\x80\xae" "x", 1, 1, 1, 1,
	    "%E2%80%AEx:1:1:1:1" },
	{ "%ff%41:1:1:1:1", "\xff%41", 1, 1, 1, 1, "%FF%41:1:1:1:1" },
	{ "char:9:1:1:1\r", "char", 9, 1, 1, 1, "char:9:1:1:1" },
	{ " :1:1:1:1", " ", 1, 1, 1, 1, NULL },
};

CASE("lines", .setup = begin, .teardown = end);

LOOP_TEST(a_line_is_read_from_its_end, 0, (int)BASE_NELEM(good))
{
	char text[256], *out;

	snprintf(text, sizeof text, "%s\n", good[_i].line);
	read_text(text);
	ck_assert_msg(bad == 0 && d.n == 1, "%s: %s", text, why);
	ck_assert_str_eq(d.row[0].name, good[_i].name);
	ck_assert_int_eq(d.row[0].num, good[_i].num);
	ck_assert_uint_eq(d.row[0].allocated, good[_i].allocated);
	ck_assert_uint_eq(d.row[0].freed, good[_i].freed);
	ck_assert_uint_eq(d.row[0].max, good[_i].max);
	out = written();
	snprintf(text, sizeof text, "%s\n", good[_i].written != NULL ?
	    good[_i].written : good[_i].line);
	ck_assert_str_eq(out, text);
	free(out);
}

LOOP_TEST(what_is_written_is_read_as_the_same, 0, (int)BASE_NELEM(good))
{
	char text[256], *out, *again;

	snprintf(text, sizeof text, "%s\n", good[_i].line);
	read_text(text);
	out = written();
	usage_dump_fini(&d);
	read_text(out);
	ck_assert_uint_eq(bad, 0);
	ck_assert_str_eq(d.row[0].name, good[_i].name);
	again = written();
	ck_assert_str_eq(again, out);
	free(again);
	free(out);
}

TEST(rows_keep_the_order_of_the_file)
{
	char *out;

	read_text(SAMPLE);
	out = written();
	ck_assert_str_eq(out, SAMPLE);
	free(out);
}

/* Each byte that a name can have. */
TEST(any_name_comes_back)
{
	struct usage_dump_row row = { .num = 1 };
	char name[256], *text = NULL;
	size_t len;
	FILE *fp = open_memstream(&text, &len);

	for (int c = 1; c < 256; c++)
		name[c - 1] = (char)c;
	name[255] = '\0';
	row.name = name;
	usage_dump_put(fp, &row);
	fclose(fp);
	read_bytes(text, len);
	ck_assert_uint_eq(bad, 0);
	ck_assert_uint_eq(d.n, 1);
	ck_assert_str_eq(d.row[0].name, name);
	free(text);
}

LOOP_TEST(a_name_of_64_KiB_is_whole, 0, 2)
{
	struct usage_dump_row row = { .num = 12, .allocated = 3, .max = 2 };
	char *name = malloc((64 << 10) + 1), *text = NULL;
	size_t len;
	FILE *fp = open_memstream(&text, &len);

	/* Each byte is three in the file, or one. */
	memset(name, _i == 0 ? 'x' : ':', 64 << 10);
	name[64 << 10] = '\0';
	row.name = name;
	usage_dump_put(fp, &row);
	fclose(fp);
	read_bytes(text, len);
	ck_assert_uint_eq(bad, 0);
	ck_assert_str_eq(d.row[0].name, name);
	ck_assert_int_eq(d.row[0].num, 12);
	free(text);
	free(name);
}

/* --- bad lines ---------------------------------------------------------------------- */

static const struct {
	const char *line, *why;
} wrong[] = {
	{ "", "not of the form type:num:allocated:freed:max" },
	{ "nonsense", "not of the form type:num:allocated:freed:max" },
	{ "a:1:2:3", "not of the form type:num:allocated:freed:max" },
	{ "a:1:2:3:", "max is not a number: ''" },
	{ "a:1:2:3:4 ", "max is not a number: '4 '" },
	{ "a:1:2:3:+4", "max is not a number: '+4'" },
	{ "a:1:2:-3:4", "the number of frees is not a number: '-3'" },
	{ "a:1:0x2:3:4", "the number of allocations is not a number: '0x2'" },
	{ "a:1:18446744073709551616:3:4",
	    "the number of allocations is not a number: "
	    "'18446744073709551616'" },
	{ "a:--1:2:3:4", "num is not a number: '--1'" },
	{ "a:-:2:3:4", "num is not a number: '-'" },
	{ "a:9223372036854775808:2:3:4",
	    "num is not a number: '9223372036854775808'" },
	{ "a:1:2:3:4\r\r", "max is not a number: '4\\x0D'" },
};

CASE("bad lines", .setup = begin, .teardown = end);

LOOP_TEST(a_bad_line_is_reported_and_the_rest_is_read, 0,
    (int)BASE_NELEM(wrong))
{
	char text[256], *out;

	snprintf(text, sizeof text, "char:12:480:433:90\n%s\nstruct T:1:100:0:100\n",
	    wrong[_i].line);
	read_text(text);
	ck_assert_uint_eq(bad, 1);
	ck_assert_uint_eq(bad_line[0], 2);
	ck_assert_uint_eq(d.bad, 1);
	ck_assert_str_eq(why, wrong[_i].why);
	out = written();
	ck_assert_str_eq(out, "char:12:480:433:90\nstruct T:1:100:0:100\n");
	free(out);
}

TEST(a_line_with_a_byte_of_0_is_bad)
{
	static const char text[] = "a:1:2:3:4\nb\0:1:2:3:4\nc:1:2:3:4\n";

	read_bytes(text, sizeof text - 1);
	ck_assert_uint_eq(bad, 1);
	ck_assert_uint_eq(bad_line[0], 2);
	ck_assert_uint_eq(d.n, 2);
}

/* "9" may have been "90". */
TEST(a_last_line_without_its_end_is_kept_and_reported)
{
	read_text("char:12:480:433:9");
	ck_assert_uint_eq(d.n, 1);
	ck_assert_uint_eq(d.row[0].max, 9);
	ck_assert_uint_eq(bad, 1);
	ck_assert_ptr_nonnull(strstr(why, "may be cut"));
}

/* Longer than any name that is read: its own end is found. */
TEST(a_line_without_measure_is_skipped)
{
	size_t len = 3 * USAGE_DUMP_LINE;
	char *text = malloc(len + 64);

	memset(text, 'x', len);
	snprintf(text + len, 64, ":1:2:1:2\nchar:12:480:433:90\n");
	read_text(text);
	ck_assert_uint_eq(bad, 1);
	ck_assert_uint_eq(bad_line[0], 1);
	ck_assert_uint_eq(d.n, 1);
	ck_assert_str_eq(d.row[0].name, "char");
	free(text);
}

LOOP_TEST(a_file_that_is_cut_anywhere_is_read_up_to_there, 0,
    (int)sizeof SAMPLE)
{
	size_t whole = 0;

	if (_i == 0)
		return;
	for (int i = 0; i < _i; i++)
		whole += SAMPLE[i] == '\n';
	read_bytes(SAMPLE, (size_t)_i < sizeof SAMPLE ? (size_t)_i :
	    sizeof SAMPLE - 1);
	ck_assert_uint_ge(d.n, whole);
	ck_assert_uint_le(d.n, whole + 1);
	ck_assert_uint_eq(bad, SAMPLE[_i - 1] == '\n' ? 0 : 1);
}
