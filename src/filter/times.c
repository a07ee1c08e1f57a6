/*
 * Times, in each form in which they are written:
 *
 *	time	( date | clock | date ( "T" | blanks ) clock ) [ [ blanks ] zone ]
 *	date	2026-11-20 | 11-20
 *	clock	12:00 | 12:00:30 | 12:00:30.250
 *	zone	Z | UTC | +0100 | +01:00 | CET, a name of the zone of TZ
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "../base/base.h"
#include "expr.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define DAY (24 * 60 * MINUTE)
#define LEAPS 8			/* years between two 29ths of February, at most */

struct given {
	struct tm tm;		/* tm_isdst: as the zone's name says, else -1 */
	bool dated, with_year, with_clock;
	bool fixed, zone_wrong;	/* the zone is east_ms ahead of UTC */
	int64_t east_ms;
	int part_ms;		/* the fraction of the second */
	int64_t span_ms;	/* how long a clock shows this */
};

static bool
read_digits(const char **s, int digits, int *out)
{
	int n = 0, i;

	for (i = 0; i < digits && isdigit((unsigned char)(*s)[i]); i++)
		n = 10 * n + ((*s)[i] - '0');
	if (i < digits || isdigit((unsigned char)(*s)[i]))
		return false;
	*s += digits;
	*out = n;
	return true;
}

static bool
skip_char(const char **s, const char *set)
{
	if (**s == '\0' || strchr(set, **s) == NULL)
		return false;
	++*s;
	return true;
}

/* Digits behind the first three are dropped. */
static bool
read_fraction(const char **s, struct given *g)
{
	int unit = 100;

	g->span_ms = SECOND;
	if (!isdigit((unsigned char)**s))
		return false;
	for (; isdigit((unsigned char)**s); ++*s, unit /= 10) {
		g->part_ms += unit * (**s - '0');
		g->span_ms = unit > 0 ? unit : 1;
	}
	return true;
}

static bool
read_clock(const char **s, struct given *g)
{
	g->with_clock = true;
	g->span_ms = MINUTE;
	if (!read_digits(s, 2, &g->tm.tm_hour) || !skip_char(s, ":") ||
	    !read_digits(s, 2, &g->tm.tm_min))
		return false;
	if (!skip_char(s, ":"))
		return true;
	g->span_ms = SECOND;
	if (!read_digits(s, 2, &g->tm.tm_sec))
		return false;
	return !skip_char(s, ".") || read_fraction(s, g);
}

static bool
read_date(const char **s, struct given *g)
{
	g->dated = true;
	g->span_ms = DAY;
	g->with_year = read_digits(s, 4, &g->tm.tm_year) && skip_char(s, "-");
	g->tm.tm_year -= 1900;
	if (!read_digits(s, 2, &g->tm.tm_mon) || !skip_char(s, "-") ||
	    !read_digits(s, 2, &g->tm.tm_mday))
		return false;
	g->tm.tm_mon--;
	return true;
}

/* "+0100", "+01:00". */
static bool
read_offset(const char **s, struct given *g)
{
	bool west = **s == '-';
	const char *p = *s + 1;
	int hours, minutes;

	/* Four digits, or twice two. */
	if (read_digits(&p, 4, &minutes)) {
		hours = minutes / 100;
		minutes %= 100;
	} else if (!read_digits(&p, 2, &hours) || !skip_char(&p, ":") ||
	    !read_digits(&p, 2, &minutes)) {
		return false;
	}
	g->fixed = true;
	g->zone_wrong = hours > 14 || minutes > 59;
	g->east_ms = (west ? -1 : 1) * (hours * 60 + minutes) * MINUTE;
	*s = p;
	return true;
}

static bool
read_zone(const char **s, struct given *g)
{
	size_t len = expr_word(*s);

	if (**s == '+' || **s == '-')
		return read_offset(s, g);
	if ((len == 1 && (**s | 0x20) == 'z') ||
	    (len == 3 && strncmp(*s, "UTC", 3) == 0)) {
		g->fixed = true;
		*s += len;
		return true;
	}
	tzset();
	for (int dst = 0; dst < 2; dst++) {
		if (len == 0 || strlen(tzname[dst]) != len ||
		    strncmp(*s, tzname[dst], len) != 0)
			continue;
		if (strcmp(tzname[0], tzname[1]) != 0)
			g->tm.tm_isdst = dst;
		*s += len;
		return true;
	}
	return false;
}

/* A word that can only be a clock: digits and a colon. */
static bool
begins_clock(const char *s)
{
	size_t digits = strspn(s, "0123456789");

	return digits > 0 && s[digits] == ':';
}

static bool
read_time(const char **s, struct given *g)
{
	const char *zone;

	*g = (struct given){ .tm = { .tm_isdst = -1 } };
	if (begins_clock(*s)) {
		if (!read_clock(s, g))
			return false;
	} else {
		if (!read_date(s, g))
			return false;
		if (expr_blanks(*s) > 0 &&
		    begins_clock(*s + expr_blanks(*s)))
			*s += expr_blanks(*s);
		else if (!skip_char(s, "Tt"))
			goto zone;
		if (!read_clock(s, g))
			return false;
	}
zone:
	zone = *s + expr_blanks(*s);
	if (read_zone(&zone, g))
		*s = zone;
	return true;
}

size_t
expr_time(const char *s)
{
	size_t word = expr_value(s), blanks = expr_blanks(s + word);
	const char *end = s;
	struct given g;

	if (read_time(&end, &g) && expr_value(end) == 0)
		return (size_t)(end - s);
	/* The clock belongs to the date even if it is wrong. */
	end = s;
	if (read_date(&end, &g) && (size_t)(end - s) == word && blanks > 0 &&
	    begins_clock(s + word + blanks))
		return word + blanks + expr_value(s + word + blanks);
	return word;
}

static int
days_of_month(const struct tm *tm)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30,
		31 };
	int year = tm->tm_year + 1900;

	return days[tm->tm_mon] + (tm->tm_mon == 1 && year % 4 == 0 &&
	    (year % 100 != 0 || year % 400 == 0));
}

static const char *
wrong_day(int days)
{
	static const char *const words[] = {
		"no date: that month has 28 days",
		"no date: that month has 29 days",
		"no date: that month has 30 days",
		"no date: that month has 31 days",
	};

	return words[days - 28];
}

/* The name of the part that is out of bounds; NULL: none is. */
static const char *
out_of_bounds(const struct given *g)
{
	const struct tm *tm = &g->tm;
	struct tm leap = { .tm_year = 100, .tm_mon = tm->tm_mon };
	int days;

	if (g->with_year && (tm->tm_year < 70 || tm->tm_year > 9999 - 1900))
		return "no date: years are 1970 to 9999";
	if (g->dated && (tm->tm_mon < 0 || tm->tm_mon > 11))
		return "no date: months are 01 to 12";
	if (g->dated) {
		days = days_of_month(g->with_year ? tm : &leap);
		if (tm->tm_mday < 1 || tm->tm_mday > days)
			return wrong_day(days);
	}
	if (tm->tm_hour > 23)
		return "no time: hours are 00 to 23";
	if (tm->tm_min > 59 || tm->tm_sec > 59)
		return "no time: minutes and seconds are 00 to 59";
	if (g->zone_wrong)
		return "no time: zones are up to 14:00 from UTC";
	return NULL;
}

/* False: the zone has no such time, as where the clock is put forward. */
static bool
to_ms(const struct given *g, const struct tm *tm, int64_t *ms)
{
	struct tm t = *tm;
	time_t s = g->fixed ? timegm(&t) : mktime(&t);

	*ms = (int64_t)s * SECOND - g->east_ms + g->part_ms;
	return g->fixed || g->tm.tm_isdst >= 0 || (t.tm_mday == tm->tm_mday &&
	    t.tm_hour == tm->tm_hour && t.tm_min == tm->tm_min);
}

static void
now_in_zone(const struct given *g, time_t now, struct tm *tm)
{
	if (g->fixed) {
		now += (time_t)(g->east_ms / SECOND);
		gmtime_r(&now, tm);
	} else {
		localtime_r(&now, tm);
	}
}

/* Without a year or a date: the last time that the clock showed that. */
static bool
find_last(const struct given *g, int64_t *ms)
{
	time_t now = time(NULL);
	struct tm today, tm;

	now_in_zone(g, now, &today);
	for (int back = 0; back <= LEAPS; back++) {
		tm = g->tm;
		tm.tm_year = today.tm_year - (g->dated ? back : 0);
		if (g->dated && tm.tm_mday > days_of_month(&tm))
			continue;
		if (!g->dated) {
			struct tm day = { .tm_year = today.tm_year,
				.tm_mon = today.tm_mon,
				.tm_mday = today.tm_mday - back };

			timegm(&day);
			tm.tm_year = day.tm_year;
			tm.tm_mon = day.tm_mon;
			tm.tm_mday = day.tm_mday;
		}
		if (to_ms(g, &tm, ms) && *ms <= (int64_t)now * SECOND)
			return true;
	}
	return false;
}

int
expr_time_range(const char *text, uint64_t *lo, uint64_t *hi,
    const char **wrong)
{
	const char *s = text + expr_blanks(text);
	struct given g;
	int64_t ms;

	*wrong = EXPR_TIME_WRONG;
	if (!read_time(&s, &g) || s[expr_blanks(s)] != '\0')
		return -EINVAL;
	*wrong = out_of_bounds(&g);
	if (*wrong != NULL)
		return -EINVAL;
	*wrong = "no time here: the clock was put forward over it";
	if (!(g.with_year ? to_ms(&g, &g.tm, &ms) : find_last(&g, &ms)))
		return -EINVAL;
	*wrong = "no time here: it is before 1970";
	if (ms < 0)
		return -EINVAL;
	*lo = (uint64_t)ms;
	*hi = *lo + (uint64_t)g.span_ms - 1;
	return 0;
}

int
filter_time(const char *text, uint64_t *ms)
{
	const char *wrong;
	uint64_t to;

	return expr_time_range(text, ms, &to, &wrong);
}
