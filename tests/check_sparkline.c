/*
 * Numbers as a drawing: what a point and a length look like, and that they
 * take the columns they were given, with blocks and without.
 */
#include <locale.h>
#include <stdlib.h>
#include <string.h>

#include "../src/pagek/picture/picture.h"
#include "harness.h"

static struct page_picture pic;
static bool ascii;

static void
setup(void)
{
	setlocale(LC_ALL, "C.UTF-8");
	setenv("TERM", "xterm", 1);
	ascii = false;
}

static void
teardown(void)
{
	page_picture_fini(&pic);
}

/* The only line of a picture that is 40 columns wide. */
static const char *
spark(const uint64_t *v, size_t n, uint64_t max, int width)
{
	picture_begin(&pic, 40, ascii);
	picture_line(&pic);
	picture_spark(&pic, v, n, max, width);
	picture_printf(&pic, "|");
	ck_assert_int_eq(picture_end(&pic), 0);
	return pic.line[0].text;
}

static const char *
bar(double share, int width)
{
	picture_begin(&pic, 40, ascii);
	picture_line(&pic);
	picture_bar(&pic, share, width);
	picture_printf(&pic, "|");
	ck_assert_int_eq(picture_end(&pic), 0);
	return pic.line[0].text;
}

static const uint64_t slope[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

CASE("drawings", .setup = setup, .teardown = teardown);

TEST(points_rise_by_eighths)
{
	ck_assert_str_eq(spark(slope, 9, 8, 9), " ▁▂▃▄▅▆▇█|");
	ck_assert_str_eq(spark(slope, 9, 0, 9), " ▁▂▃▄▅▆▇█|");
}

TEST(ascii_points_rise_by_sevenths)
{
	ascii = true;
	ck_assert_str_eq(spark(slope, 8, 7, 8), " .:-=+*#|");
}

LOOP_TEST(consoles_without_the_font_get_ascii, 0, 3)
{
	static const char *const terms[] = { "linux", "vt100", "vt220" };

	setenv("TERM", terms[_i], 1);
	ck_assert_str_eq(spark(slope, 8, 7, 8), " .:-=+*#|");
	ck_assert_str_eq(bar(0.5, 4), "##  |");
}

TEST(the_newest_points_stand_on_the_right)
{
	ck_assert_str_eq(spark(slope, 9, 8, 3), "▆▇█|");
	ck_assert_str_eq(spark(slope + 7, 2, 8, 4), "  ▇█|");
	ck_assert_str_eq(spark(NULL, 0, 0, 3), "   |");
	ck_assert_str_eq(spark(slope, 9, 8, 0), "|");
}

TEST(what_is_not_nothing_leaves_a_trace)
{
	const uint64_t v[] = { 0, 1, UINT64_MAX };

	ck_assert_str_eq(spark(v, 3, 0, 3), " ▁█|");
	ck_assert_str_eq(spark(v, 3, 1, 3), " ██|");
	ck_assert_str_eq(spark(v, 1, 0, 1), " |");
}

TEST(bar_is_as_long_as_its_share)
{
	ck_assert_str_eq(bar(0, 4), "    |");
	ck_assert_str_eq(bar(1, 4), "████|");
	ck_assert_str_eq(bar(0.5, 4), "██  |");
	ck_assert_str_eq(bar(17.0 / 32, 4), "██▏ |");
	ck_assert_str_eq(bar(-1, 4), "    |");
	ck_assert_str_eq(bar(7, 4), "████|");
	ck_assert_str_eq(bar(0.0 / 0.0, 4), "    |");
	ck_assert_str_eq(bar(1, 0), "|");
	ascii = true;
	ck_assert_str_eq(bar(0.5, 4), "##  |");
	ck_assert_str_eq(bar(0.9, 4), "####|");
}

TEST(drawing_ends_at_the_edge)
{
	picture_begin(&pic, 5, false);
	picture_line(&pic);
	picture_bar(&pic, 1, 60);
	picture_line(&pic);
	picture_spark(&pic, slope, 9, 0, 60);
	ck_assert_int_eq(picture_end(&pic), 0);
	ck_assert_str_eq(pic.line[0].text, "█████");
	ck_assert_str_eq(pic.line[1].text, "     ");
}
