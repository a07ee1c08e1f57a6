/*
 * What every room leans on: numbers into columns, text made safe, arrays that
 * grow.  Expected texts are written out, column for column.
 */
#include "../src/base/base.h"
#include "../src/base/option.h"
#include "../src/base/scan.h"
#include "harness.h"

#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

/* --- numbers into columns ----------------------------------------------- */

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (MIB * KIB)
#define TIB (GIB * KIB)
#define PIB (TIB * KIB)
#define DAY UINT64_C(86400)

typedef void fit_fn(char *, int, uint64_t);

struct fit_case {
	fit_fn *fit;
	int cols;
	uint64_t n;
	const char *text;
};

static const struct fit_case fit_cases[] = {
	{ base_format_count, 4, 0, "   0" },
	{ base_format_grouped, 5, 9999, "9,999" },
	{ base_format_grouped, 5, 10000, "10.0K" },
	{ base_format_grouped, 4, 1000, "1000" },
	{ base_format_grouped, 6, 116429, "116.4K" },
	{ base_format_grouped, 7, 2103770, "   2.1M" },
	{ base_format_grouped, 8, 12345678, "   12.3M" },
	{ base_format_grouped, 5, 999999, "1000K" },
	{ base_format_grouped, 5, 100000, " 100K" },
	{ base_format_grouped, 10, 1204331, " 1,204,331" },
	{ base_format_count, 4, 9999, "9999" },
	{ base_format_count, 4, 10000, " 10K" },
	{ base_format_count, 4, 10499, " 10K" },
	{ base_format_count, 4, 10500, " 11K" },
	{ base_format_count, 4, 999499, "999K" },
	{ base_format_count, 4, 999500, "1.0M" },
	{ base_format_count, 4, 1204331, "1.2M" },
	{ base_format_count, 4, 9949999, "9.9M" },
	{ base_format_count, 4, 9950000, " 10M" },
	{ base_format_count, 4, UINT64_C(999500000), "1.0G" },
	{ base_format_count, 4, UINT64_C(999500000000), "1.0T" },
	{ base_format_count, 4, UINT64_C(999500000000000), "1.0P" },
	{ base_format_count, 4, UINT64_C(999499999999999999), "999P" },
	{ base_format_count, 4, UINT64_MAX, "   *" },
	{ base_format_count, 6, UINT64_MAX, "18447P" },
	{ base_format_count, 20, UINT64_MAX, "18446744073709551615" },
	{ base_format_count, 2, 99, "99" },
	{ base_format_count, 2, 100, " *" },
	{ base_format_count, 2, 1000, "1K" },
	{ base_format_count, 2, 9499, "9K" },
	{ base_format_count, 2, 9500, " *" },
	{ base_format_count, 5, 123456, " 123K" },
	{ base_format_count, 6, 1234567, " 1235K" },
	{ base_format_count, 7, 12345678, " 12346K" },

	{ base_format_size, 4, 0, "0000" },
	{ base_format_size, 4, 0x40, "0040" },
	{ base_format_size, 4, 0xffff, "FFFF" },
	{ base_format_size, 4, 0x10000, " 64K" },
	{ base_format_size, 4, 999 * KIB + 511, "999K" },
	{ base_format_size, 4, 999 * KIB + 512, "1.0M" },
	{ base_format_size, 4, 1229 * KIB, "1.2M" },
	{ base_format_size, 4, 64 * MIB, " 64M" },
	{ base_format_size, 4, GIB, "1.0G" },
	{ base_format_size, 4, TIB, "1.0T" },
	{ base_format_size, 4, 256 * TIB, "256T" },
	{ base_format_size, 4, PIB, "1.0P" },
	{ base_format_size, 4, UINT64_MAX, "   *" },
	{ base_format_size, 5, UINT64_MAX, "    *" },
	{ base_format_size, 6, UINT64_MAX, "16384P" },
	{ base_format_size, 6, 0x40, "  0040" },
	{ base_format_size, 6, 0x10000, " 64.0K" },
	{ base_format_size, 3, 0x40, "  *" },
	{ base_format_size, 3, 0x10000, "64K" },

	{ base_format_bytes, 6, 65536, "65,536" },
	{ base_format_bytes, 5, 65536, "65536" },
	{ base_format_bytes, 4, 65536, " 64K" },
	{ base_format_bytes, 6, 999999, "999999" },
	{ base_format_bytes, 6, 1000000, "976.6K" },
	{ base_format_bytes, 6, UINT64_MAX, "16384P" },
	{ base_format_bytes, 3, 564, "564" },
	{ base_format_bytes, 3, 1536, "2K" },

	{ base_format_age, 3, 0, "  0" },
	{ base_format_age, 3, 999, "999" },
	{ base_format_age, 3, 1000, "16m" },
	{ base_format_age, 3, 1020, "17m" },
	{ base_format_age, 3, 3599, "59m" },
	{ base_format_age, 3, 3600, " 1h" },
	{ base_format_age, 3, 5 * 3600 + 3599, " 5h" },
	{ base_format_age, 3, DAY - 1, "23h" },
	{ base_format_age, 3, DAY, " 1d" },
	{ base_format_age, 3, 3 * DAY, " 3d" },
	{ base_format_age, 3, 100 * DAY - 1, "99d" },
	{ base_format_age, 3, 100 * DAY, "14w" },
	{ base_format_age, 3, 700 * DAY - 1, "99w" },
	{ base_format_age, 3, 700 * DAY, " 1y" },
	{ base_format_age, 3, 730 * DAY, " 2y" },
	{ base_format_age, 3, 36500 * DAY - 1, "99y" },
	{ base_format_age, 3, 36500 * DAY, "  *" },
	{ base_format_age, 3, UINT64_MAX, "  *" },
	{ base_format_age, 4, 9999, "9999" },
	{ base_format_age, 2, 100, "1m" },
	{ base_format_age, 2, 600, " *" },
	{ base_format_age, 2, 3600, "1h" },
};

CASE("Numbers");

LOOP_TEST(number_in_columns_reads, 0, BASE_NELEM(fit_cases))
{
	const struct fit_case *c = &fit_cases[_i];
	char out[32], want[32];

	memset(out, '#', sizeof(out));
	snprintf(want, sizeof(want), "%*s", c->cols, c->text);
	c->fit(out, c->cols, c->n);
	ck_assert_str_eq(out, want);
	ck_assert_int_eq(out[c->cols + 1], '#');
}

TEST(number_is_never_wider_than_its_columns)
{
	static fit_fn *const fits[] = { base_format_count, base_format_size,
		base_format_bytes, base_format_age };
	char out[32];

	for (size_t f = 0; f < BASE_NELEM(fits); f++) {
		for (int cols = 2; cols <= 20; cols++) {
			for (uint64_t n = 1; n != 0; n *= 2) {
				for (int off = -2; off <= 2; off++) {
					memset(out, '#', sizeof(out));
					fits[f](out, cols, n + (uint64_t)off);
					ck_assert_uint_eq(strlen(out), cols);
					ck_assert_int_eq(out[cols + 1], '#');
				}
			}
		}
	}
}

TEST(something_is_never_shown_as_nothing)
{
	static fit_fn *const fits[] = { base_format_count, base_format_size,
		base_format_bytes, base_format_age };
	char out[32];

	for (size_t f = 0; f < BASE_NELEM(fits); f++) {
		for (int cols = 2; cols <= 20; cols++) {
			for (uint64_t n = 1; n < 100000; n += 7) {
				fits[f](out, cols, n);
				ck_assert_msg(strpbrk(out, "123456789*ABCDEF"),
				    "%ju in %d columns is '%s'", (uintmax_t)n,
				    cols, out);
			}
		}
	}
}

static const struct {
	uint64_t n;
	const char *grouped, *human;
} human_cases[] = {
	{ 0, "0", "0 B" },
	{ 564, "564", "564 B" },
	{ 999, "999", "999 B" },
	{ 1000, "1,000", "1,000 B" },
	{ 1023, "1,023", "1,023 B" },
	{ 1024, "1,024", "1.0 KiB" },
	{ 999999, "999,999", "976.6 KiB" },
	{ 1000000, "1,000,000", "976.6 KiB" },
	{ 1204331, "1,204,331", "1.1 MiB" },
	{ MIB - 1, "1,048,575", "1.0 MiB" },
	{ 134637158, "134,637,158", "128.4 MiB" },
	{ GIB, "1,073,741,824", "1.0 GiB" },
	{ TIB, "1,099,511,627,776", "1.0 TiB" },
	{ PIB, "1,125,899,906,842,624", "1.0 PiB" },
	{ UINT64_MAX, "18,446,744,073,709,551,615", "16.0 EiB" },
};

LOOP_TEST(digits_are_grouped_and_bytes_are_human, 0, BASE_NELEM(human_cases))
{
	char out[27];

	base_group_digits(out, sizeof(out), human_cases[_i].n);
	ck_assert_str_eq(out, human_cases[_i].grouped);
	base_human_bytes(out, 16, human_cases[_i].n);
	ck_assert_str_eq(out, human_cases[_i].human);
}

/* --- safe text ---------------------------------------------------------- */

static size_t
encode(uint32_t c, char *s)
{
	if (c < 0x80) {
		s[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		s[0] = (char)(0xc0 | c >> 6);
		s[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		s[0] = (char)(0xe0 | c >> 12);
		s[1] = (char)(0x80 | (c >> 6 & 0x3f));
		s[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	s[0] = (char)(0xf0 | c >> 18);
	s[1] = (char)(0x80 | (c >> 12 & 0x3f));
	s[2] = (char)(0x80 | (c >> 6 & 0x3f));
	s[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

static const struct {
	const char *in, *out, *ascii;
} safe_cases[] = {
	{ "malloc", "malloc", "malloc" },
	{ "a\033[2Jb", "a\\x1B[2Jb", "a\\x1B[2Jb" },
	{ "\r\n\b\t\x7f", "\\x0D\\x0A\\x08\\x09\\x7F",
	    "\\x0D\\x0A\\x08\\x09\\x7F" },
	{ "\xc2\x9b" "2J", "\\xC2\\x9B2J", "\\xC2\\x9B2J" },
	{ "\x9b", "\\x9B", "\\x9B" },
	{ "na\xc3\xafve", "na\xc3\xafve", "na?ve" },
	{ "\xe2\x82\xac", "\xe2\x82\xac", "?" },
	{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80", "?" },
	{ "x\xe2\x80\xaey", "x?y", "x?y" },		/* right-to-left override */
	{ "x\xe2\x80\x8by", "x?y", "x?y" },		/* zero-width space */
	{ "x\xe2\x80\xa8y", "x?y", "x?y" },		/* line separator */
	{ "\xef\xbb\xbfx", "?x", "?x" },		/* byte order mark */
	{ "x\xf3\xa0\x81\x81", "x?", "x?" },		/* tag character */
	{ "e\xcc\x81", "e\xcc\x81", "e?" },		/* one accent is an accent, */
	{ "e\xcc\x81\xcc\x81\xcc\x81", "e\xcc\x81??", "e???" },
	{ "\xcc\x81" "e", "?e", "?e" },			/* never on what is not the text's */
	{ "\x01\xcc\x81", "\\x01?", "\\x01?" },
	{ "\xc0\x80", "\\xC0\\x80", "\\xC0\\x80" },	/* overlong */
	{ "\xe0\x80\xaf", "\\xE0\\x80\\xAF", "\\xE0\\x80\\xAF" },
	{ "\xed\xa0\x80", "\\xED\\xA0\\x80", "\\xED\\xA0\\x80" },
	{ "\xf4\x90\x80\x80", "\\xF4\\x90\\x80\\x80", "\\xF4\\x90\\x80\\x80" },
	{ "a\xe2\x82", "a\\xE2\\x82", "a\\xE2\\x82" },	/* cut short */
	{ "\xe2\x82" "a", "\\xE2\\x82" "a", "\\xE2\\x82" "a" },
};

CASE("Text", .seconds = 60);

LOOP_TEST(outside_text_comes_out_safe, 0, BASE_NELEM(safe_cases))
{
	const char *in = safe_cases[_i].in;
	char out[128];
	size_t n;

	n = base_safe_text(out, sizeof(out), in, strlen(in), false);
	ck_assert_str_eq(out, safe_cases[_i].out);
	ck_assert_uint_eq(n, strlen(out));
	n = base_safe_text(out, sizeof(out), in, strlen(in), true);
	ck_assert_str_eq(out, safe_cases[_i].ascii);
	ck_assert_uint_eq(n, strlen(out));
}

/* True if text is valid, and nothing in it moves a cursor or hides. */
static bool
is_safe(const char *s, size_t len)
{
	uint32_t c;
	size_t n;

	for (size_t i = 0; i < len; i += n) {
		if ((n = base_utf8_char(s + i, len - i, &c)) == 0)
			return false;
		if (c < 0x20 || (c >= 0x7f && c < 0xa0))
			return false;
		if ((c >= 0x200b && c <= 0x200f) ||
		    (c >= 0x2028 && c <= 0x202e) ||
		    (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0x61c)
			return false;
	}
	return true;
}

TEST(every_pair_of_bytes_comes_out_safe)
{
	char in[3], out[32];

	for (unsigned a = 0; a < 256; a++) {
		for (unsigned b = 0; b < 256; b++) {
			size_t n;

			in[0] = (char)a;
			in[1] = (char)b;
			in[2] = 'x';
			n = base_safe_text(out, sizeof(out), in, 3, false);
			ck_assert_msg(is_safe(out, n), "bytes %02x %02x", a, b);
			n = base_safe_text(out, sizeof(out), in, 3, true);
			ck_assert_msg(is_safe(out, n), "bytes %02x %02x", a, b);
			for (size_t i = 0; i < n; i++)
				ck_assert_uint_lt((unsigned char)out[i], 0x7f);
		}
	}
}

/*
 * Checked against the C library's own tables: what it gives columns comes out
 * as it is unless it is listed as hidden, and takes as many columns as before.
 */
TEST(every_code_point_comes_out_safe)
{
	unsigned kept = 0;

	ck_assert_ptr_nonnull(setlocale(LC_CTYPE, "C.UTF-8"));
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		char in[8] = "a", out[64];
		size_t len = 1 + encode(c, in + 1), n;

		n = base_safe_text(out, sizeof(out), in, len, false);
		ck_assert_msg(is_safe(out, n), "U+%04X", c);
		ck_assert_uint_ge(n, 2);
		if (n != len || memcmp(in, out, n) != 0)
			continue;
		kept++;
		ck_assert_msg(wcwidth((wchar_t)c) >= 0, "U+%04X", c);
	}
	/* Unicode has well over 100,000 characters that are just letters. */
	ck_assert_uint_gt(kept, 100000);
}

/* Wherever among printable ones it stands, and whichever it is. */
TEST(safe_text_finds_each_byte_that_is_not_plain)
{
	static const char plain[] = "abcdefghijklmnopqrs";
	char in[sizeof plain], out[64], wanted[64];
	size_t n;

	for (size_t at = 0; at < sizeof in - 1; at++)
		for (int byte = 0; byte < 256; byte++) {
			bool shown = byte >= ' ' && byte < 0x7f;

			memcpy(in, plain, sizeof in);
			in[at] = (char)byte;
			n = base_safe_text(out, sizeof out, in, sizeof in - 1,
			    false);
			snprintf(wanted, sizeof wanted,
			    shown ? "%.*s%c%s" : "%.*s\\x%02X%s", (int)at,
			    plain, byte, plain + at + 1);
			ck_assert_str_eq(out, wanted);
			ck_assert_uint_eq(n, strlen(wanted));
		}
}

TEST(safe_text_clips_whole_characters)
{
	/* One column of each kind: plain, escaped, two bytes, hidden. */
	static const char in[] = "a\x01\xc3\xaf\xe2\x80\x8b" "b";
	static const char *const by_cap[] = { "", "", "a", "a", "a", "a",
		"a\\x01", "a\\x01", "a\\x01\xc3\xaf", "a\\x01\xc3\xaf?",
		"a\\x01\xc3\xaf?b" };
	char out[16];

	for (size_t cap = 0; cap < BASE_NELEM(by_cap); cap++) {
		size_t n;

		memset(out, '#', sizeof(out));
		n = base_safe_text(out, cap, in, sizeof(in) - 1, false);
		ck_assert_uint_eq(n, strlen(by_cap[cap]));
		ck_assert_mem_eq(out, by_cap[cap], n);
		if (cap > 0)
			ck_assert_int_eq(out[n], '\0');
		ck_assert_int_eq(out[cap], '#');
	}
}

/* Lines of all lengths around the cut, in pieces of every size. */
TEST(safe_lines_do_not_depend_on_the_pieces)
{
	static char in[8000], once[4 * sizeof in + 64];
	static char out[4 * sizeof in + 64], held[BASE_SAFE_LINE + 997];
	size_t n = 0, whole, used, lengths[] = { 0, 1, 1023, 1024, 1025, 2047,
	    7 };

	for (size_t i = 0; i < BASE_NELEM(lengths); i++) {
		for (size_t k = 0; k < lengths[i]; k += 2)
			memcpy(in + n + k, k % 6 == 0 ? "\xc3\xa9" : "a\x1b", 2);
		n += lengths[i];
		in[n++] = '\n';
	}
	memcpy(in + n, "last", 4);
	n += 4;
	whole = base_safe_lines(once, sizeof once, in, n, true, false, &used);
	ck_assert_uint_eq(used, n);
	ck_assert_mem_eq(once + whole - 5, "last\n", 5);
	ck_assert_ptr_null(memchr(once, '\x1b', whole));
	for (size_t piece = 1; piece < 997; piece += 83) {
		size_t at = 0, have = 0, len = 0;

		do {
			size_t more = n - at < piece ? n - at : piece;

			memcpy(held + have, in + at, more);
			at += more;
			have += more;
			len += base_safe_lines(out + len, sizeof out - len,
			    held, have, at == n, false, &used);
			have -= used;
			ck_assert_uint_le(have, BASE_SAFE_LINE);
			memmove(held, held + used, have);
		} while (at < n);
		ck_assert_uint_eq(have, 0);
		ck_assert_uint_eq(len, whole);
		ck_assert_mem_eq(out, once, whole);
	}
}

TEST(safe_text_does_not_depend_on_the_locale)
{
	char out[16];

	ck_assert_ptr_nonnull(setlocale(LC_ALL, "C"));
	base_safe_text(out, sizeof(out), "\xc3\xaf", 2, false);
	ck_assert_str_eq(out, "\xc3\xaf");
}

/* --- arrays and arithmetic ---------------------------------------------- */

CASE("Arrays");

TEST(array_grows_and_keeps_what_it_has)
{
	uint32_t *a = NULL;
	size_t cap = 0, moves = 0, last = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		void *p = a;

		ck_assert_int_eq(base_grow(&p, &cap, i + 1, sizeof(*a)), 0);
		a = p;
		ck_assert_uint_gt(cap, i);
		moves += cap != last;
		last = cap;
		a[i] = i;
	}
	for (uint32_t i = 0; i < 100000; i++)
		ck_assert_uint_eq(a[i], i);
	ck_assert_uint_lt(moves, 40);
	free(a);
}

TEST(array_that_cannot_grow_is_untouched)
{
	void *a = NULL, *was;
	size_t cap = 0, was_cap;

	ck_assert_int_eq(base_grow(&a, &cap, 10, 8), 0);
	was = a;
	was_cap = cap;
	ck_assert_int_eq(base_grow(&a, &cap, SIZE_MAX / 4, 8), -EOVERFLOW);
	ck_assert_int_eq(base_grow(&a, &cap, 3, 8), 0);
	ck_assert_ptr_eq(a, was);
	ck_assert_uint_eq(cap, was_cap);
	free(a);
}

TEST(append_clips_and_ends_with_nul)
{
	char buf[8];
	size_t len = 0;

	memset(buf, '#', sizeof(buf));
	base_append(buf, 6, &len, "%d", 12);
	ck_assert_str_eq(buf, "12");
	base_append(buf, 6, &len, "%s", "345678");
	ck_assert_str_eq(buf, "12345");
	ck_assert_uint_eq(len, 5);
	base_append(buf, 6, &len, "%s", "9");
	base_append_text(buf, 6, &len, "9");
	ck_assert_str_eq(buf, "12345");
	ck_assert_uint_eq(len, 5);
	len = 2;
	base_append_text(buf, 6, &len, "678");
	ck_assert_str_eq(buf, "12678");
	base_append_text(buf, 6, &len, "");
	ck_assert_uint_eq(len, 5);
	ck_assert_int_eq(buf[6], '#');
}

TEST(append_cuts_no_character_in_two)
{
	static const char euro[] = "ab\xe2\x82\xac";
	char buf[8];

	for (size_t cap = 3; cap <= 6; cap++) {
		size_t len = 0;

		base_append(buf, cap, &len, "%s", euro);
		ck_assert_str_eq(buf, cap == 6 ? euro : "ab");
		ck_assert_uint_eq(len, strlen(buf));
		len = 0;
		base_append_text(buf, cap, &len, euro);
		ck_assert_str_eq(buf, cap == 6 ? euro : "ab");
		ck_assert_uint_eq(len, strlen(buf));
	}
}

TEST(monotonic_points_differ_by_what_has_passed)
{
	struct mono t = mono_now(), later = { .ns = t.ns + 66666667 };

	ck_assert_int_eq(mono_diff_ns(later, t), 66666667);
	ck_assert_int_ge(mono_diff_ns(mono_now(), t), 0);
	ck_assert_int_eq(mono_ms((struct mono) { .ns = 1999999 }), 1);
	ck_assert_int_ge(mono_ms_since(t), 0);
}

/* --- words -------------------------------------------------------------- */

static const struct {
	const char *word, *nearest;
} word_cases[] = {
	{ "lsit", "list" },
	{ "lst", "list" },
	{ "LIST", "list" },
	{ "targts", "targets" },
	{ "tragets", "targets" },
	{ "run", "run" },
	{ "rum", "run" },
	{ "zz", NULL },
	{ "", NULL },
	{ "redis-server", NULL },
	{ "listlistlistlistlistlistlistlistlistlistlistlistlistlistlistlistl",
	    NULL },
};

CASE("Text");

LOOP_TEST(mistyped_word_finds_its_neighbour, 0, BASE_NELEM(word_cases))
{
	static const char *const words[] = { "run", "list", "targets", "top" };
	const char *got;

	got = base_nearest(word_cases[_i].word, words, BASE_NELEM(words));
	if (word_cases[_i].nearest == NULL)
		ck_assert_ptr_null(got);
	else
		ck_assert_str_eq(got, word_cases[_i].nearest);
}

/* --- numbers as people write them ---------------------------------------- */

#define REFUSED UINT64_C(77)	/* what stood there before */

static const struct {
	const char *text;
	uint64_t n;
} size_cases[] = {
	{ "0", 0 }, { "1", 1 }, { "512k", 524288 }, { "512K", 524288 },
	{ "1M", 1048576 }, { "2g", UINT64_C(2) << 30 },
	{ "1T", UINT64_C(1) << 40 }, { "1024G", UINT64_C(1) << 40 },
	{ "2T", REFUSED }, { "1099511627777", REFUSED },
	{ "18446744073709551616", REFUSED }, { "99999999999999999999k",
	REFUSED }, { "", REFUSED }, { "k", REFUSED }, { "-1", REFUSED },
	{ "+1", REFUSED }, { " 1", REFUSED }, { "1 ", REFUSED },
	{ "1kb", REFUSED }, { "1x", REFUSED }, { "1.5k", REFUSED },
	{ "0x10", REFUSED },
};

CASE("Numbers");

LOOP_TEST(size_is_read_as_people_write_it, 0, BASE_NELEM(size_cases))
{
	uint64_t n = REFUSED;
	int r = base_parse_size(size_cases[_i].text, UINT64_C(1) << 40, &n);

	ck_assert_int_eq(r, size_cases[_i].n == REFUSED ? -EINVAL : 0);
	ck_assert_msg(n == size_cases[_i].n, "%s", size_cases[_i].text);
}

static const struct {
	const char *text;
	uint64_t max, n;
} count_cases[] = {
	{ "0", 0, 0 }, { "0010", 10, 10 }, { "65535", 65535, 65535 },
	{ "65536", 65535, REFUSED },
	{ "18446744073709551615", UINT64_MAX, UINT64_MAX },
	{ "18446744073709551616", UINT64_MAX, REFUSED },
	{ "99999999999999999999", UINT64_MAX, REFUSED },
	{ "", UINT64_MAX, REFUSED }, { "-1", UINT64_MAX, REFUSED },
	{ "+1", UINT64_MAX, REFUSED }, { " 1", UINT64_MAX, REFUSED },
	{ "1 ", UINT64_MAX, REFUSED }, { "1k", UINT64_MAX, REFUSED },
	{ "0x10", UINT64_MAX, REFUSED }, { "1.0", UINT64_MAX, REFUSED },
};

LOOP_TEST(count_is_digits_and_nothing_else, 0, BASE_NELEM(count_cases))
{
	uint64_t n = REFUSED;
	int r = base_parse_count(count_cases[_i].text, count_cases[_i].max,
	    &n);

	ck_assert_int_eq(r, count_cases[_i].n == REFUSED ? -EINVAL : 0);
	ck_assert_msg(n == count_cases[_i].n, "%s", count_cases[_i].text);
}

TEST(number_is_written_lowest_byte_first)
{
	uint64_t v = UINT64_C(0x8899aabbccddeeff);

	for (size_t bytes = 0; bytes <= 8; bytes++) {
		uint8_t out[9] = { 0 };

		base_put_le(out, v, bytes);
		for (size_t i = 0; i < 9; i++)
			ck_assert_uint_eq(out[i], i < bytes ? 0xff - 0x11 * i :
			    0);
		ck_assert(base_get_le(out, bytes) == (bytes == 8 ? v :
		    v & ((UINT64_C(1) << 8 * bytes) - 1)));
	}
}

/* --- scans ---------------------------------------------------------------- */

CASE("Scans");

TEST(portion_ends_when_its_units_are_spent)
{
	struct scan s = { 0 };

	scan_portion(&s, 10, 0);
	scan_spend(&s, 9);
	ck_assert(scan_has_budget(&s));
	scan_spend(&s, 1);
	ck_assert(!scan_has_budget(&s));
	scan_portion(&s, 1, 0);
	ck_assert(scan_has_budget(&s));
}

TEST(portion_ends_with_its_time)
{
	struct scan s = { 0 };

	scan_portion(&s, 0, 1000);
	while (scan_has_budget(&s))
		scan_spend(&s, 1);
	ck_assert_int_ge(mono_diff_ns(mono_now(), s.begun), 1000);
	scan_portion(&s, 0, INT64_MAX);
	ck_assert(scan_has_budget(&s));
	scan_portion(&s, 0, 0);
	scan_spend(&s, INT64_MAX / 2);
	ck_assert(scan_has_budget(&s));
}

TEST(next_scan_is_due_after_ten_times_the_cost)
{
	struct scan s = { 0 };

	ck_assert(scan_is_due(&s, (struct mono){ 0 }));
	scan_begin(&s);
	ck_assert(s.runs);
	s.spent_ns = 1000;
	scan_done(&s, (struct mono){ 500 });
	ck_assert(!s.runs);
	ck_assert(!scan_is_due(&s, (struct mono){ 500 + 10999 }));
	ck_assert(scan_is_due(&s, (struct mono){ 500 + 11000 }));
	scan_charge(&s, 1);
	ck_assert(!scan_is_due(&s, (struct mono){ 500 + 11010 }));
	ck_assert(scan_is_due(&s, (struct mono){ 500 + 11011 }));
}

TEST(cost_is_the_time_of_all_portions_of_a_scan)
{
	struct scan s = { 0 };

	s.spent_ns = INT64_C(60000000000);
	scan_begin(&s);
	for (int i = 0; i < 3; i++) {
		scan_portion(&s, 1, 0);
		s.begun.ns -= 1000000000;
		scan_pause(&s);
	}
	scan_done(&s, mono_now());
	ck_assert_int_ge(s.cost_ns, INT64_C(3000000000));
	ck_assert_int_lt(s.cost_ns, INT64_C(3000000000) +
	    mono_diff_ns(mono_now(), s.begun));
	ck_assert_int_eq(s.spent_ns, 0);
}

TEST(percent_is_at_most_100)
{
	ck_assert_uint_eq(scan_percent(0, 0), 100);
	ck_assert_uint_eq(scan_percent(0, 3), 0);
	ck_assert_uint_eq(scan_percent(2, 3), 66);
	ck_assert_uint_eq(scan_percent(3, 3), 100);
	ck_assert_uint_eq(scan_percent(4, 3), 100);
}

/* --- options -------------------------------------------------------------- */

struct fields {
	bool flag;
	const char *text;
	unsigned number;
	uint64_t count, size;
	int descriptor, ms;
	double share;
	unsigned word;
};

static bool
is_even(const char *text)
{
	return (text[strlen(text) - 1] - '0') % 2 == 0;
}

#define FIELD(f) .at = offsetof(struct fields, f)

static const struct base_option row[] = {
	{ "flag", NULL, { .kind = BASE_FLAG, FIELD(flag) }, NULL },
	{ "text", "FILE", { .kind = BASE_TEXT, FIELD(text) }, NULL },
	{ "number", "N", { .kind = BASE_NUMBER, FIELD(number), .min = 2,
	    .max = 64, .ok = is_even }, NULL },
	{ "count", "N", { .kind = BASE_COUNT, FIELD(count), .min = 1,
	    .max = UINT64_MAX }, NULL },
	{ "size", "SIZE", { .kind = BASE_SIZE, FIELD(size), .max = TIB,
	    .wrong = "no size" }, NULL },
	{ "fd", "N", { .kind = BASE_DESCRIPTOR, FIELD(descriptor), .max = 99 },
	    NULL },
	{ "wait", "SECONDS", { .kind = BASE_SECONDS, FIELD(ms) }, NULL },
	{ "least", "PERCENT", { .kind = BASE_PERCENT, FIELD(share),
	    .max = 100 }, NULL },
	{ "color", "auto|always|never", { .kind = BASE_WORD, FIELD(word),
	    .min = 5 }, NULL },
	{ "list", "[strict]", { .kind = BASE_TEXT, FIELD(text) }, NULL },
};

static const struct {
	unsigned row;
	const char *text, *back;	/* back NULL: refused */
} values[] = {
	{ 0, NULL, "" }, { 1, "", "" }, { 1, "/a b", "/a b" },
	{ 2, "2", "2" }, { 2, "64", "64" }, { 2, "0", NULL }, { 2, "3", NULL },
	{ 2, "66", NULL }, { 2, "-2", NULL }, { 2, " 2", NULL },
	{ 3, "18446744073709551615", "18446744073709551615" },
	{ 3, "18446744073709551616", NULL }, { 3, "0", NULL },
	{ 4, "512k", "524288" }, { 4, "1T", "1099511627776" },
	{ 4, "2T", NULL }, { 4, "k", NULL },
	{ 5, "0", "0" }, { 5, "99", "99" }, { 5, "100", NULL },
};

CASE("Options");

LOOP_TEST(value_of_an_option_comes_back_as_it_was, 0, BASE_NELEM(values))
{
	const struct base_option *o = &row[values[_i].row];
	struct fields f = { .number = 7, .count = 7, .size = 7, .descriptor = 7 };
	struct fields before = f;
	char number[BASE_OPTION_TEXT];

	if (values[_i].back == NULL) {
		ck_assert_int_eq(base_option_take(o, &f, values[_i].text),
		    -EINVAL);
		ck_assert_mem_eq(&f, &before, sizeof f);
		return;
	}
	ck_assert_int_eq(base_option_take(o, &f, values[_i].text), 0);
	ck_assert_str_eq(base_option_text(o, &f, number), values[_i].back);
}

TEST(option_that_is_not_set_has_no_text)
{
	struct fields f = { .descriptor = -1 };
	char number[BASE_OPTION_TEXT];

	for (size_t i = 0; i < BASE_NELEM(row); i++)
		ck_assert_ptr_null(base_option_text(&row[i], &f, number));
}

TEST(times_shares_and_words_have_their_limits)
{
	static const char *const times[] = { "", ".", "-1", "nan", "inf", " 1",
		"0.04", "86401", "1s" };
	struct fields f = { .ms = 7, .share = 7, .word = 7 };

	for (size_t i = 0; i < BASE_NELEM(times); i++)
		ck_assert_msg(base_option_take(&row[6], &f, times[i]) ==
		    -EINVAL && f.ms == 7, "'%s'", times[i]);
	ck_assert_int_eq(base_option_take(&row[6], &f, ".05"), 0);
	ck_assert_int_eq(f.ms, 50);
	ck_assert_int_eq(base_option_take(&row[6], &f, "86400"), 0);
	ck_assert_int_eq(f.ms, 86400000);
	ck_assert_int_eq(base_option_take(&row[7], &f, "100.5"), -EINVAL);
	ck_assert_int_eq(base_option_take(&row[7], &f, "12.5"), 0);
	ck_assert(f.share == 0.125);
	ck_assert_int_eq(base_option_take(&row[8], &f, "al"), -EINVAL);
	ck_assert_int_eq(base_option_take(&row[8], &f, ""), -EINVAL);
	ck_assert_int_eq(base_option_take(&row[8], &f, "auto|always"), -EINVAL);
	ck_assert_uint_eq(f.word, 7);
	ck_assert_int_eq(base_option_take(&row[8], &f, "never"), 0);
	ck_assert_uint_eq(f.word, 7);
	ck_assert_int_eq(base_option_take(&row[8], &f, "auto"), 0);
	ck_assert_uint_eq(f.word, 5);
}

static const struct {
	unsigned row;
	const char *usage, *wrong;
} said[] = {
	{ 0, "--flag", NULL },
	{ 2, "--number=N", "not a number from 2 to 64" },
	{ 4, "--size=SIZE", "no size" },
	{ 6, "--wait=SECONDS", "not a time from 0.05 to 86400 seconds" },
	{ 7, "--least=PERCENT", "not a share from 0 to 100 percent" },
	{ 8, "--color=auto|always|never", "not one of auto|always|never" },
	{ 9, "--list[=strict]", NULL },
};

LOOP_TEST(option_says_its_usage_and_what_is_wrong, 0, BASE_NELEM(said))
{
	char text[80];

	base_option_usage(&row[said[_i].row], '=', text, sizeof text);
	ck_assert_str_eq(text, said[_i].usage);
	if (said[_i].wrong == NULL)
		return;
	base_option_wrong(&row[said[_i].row], text, sizeof text);
	ck_assert_str_eq(text, said[_i].wrong);
}
