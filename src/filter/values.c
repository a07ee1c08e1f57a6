/* Sizes, ages and other numbers. */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "../base/base.h"
#include "expr.h"

#define SECOND UINT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* -EINVAL: no digit, or an overflow. */
static int
parse_digits(const char *s, unsigned base, const char **end, uint64_t *out)
{
	const char *p = s;
	uint64_t n = 0;

	for (; isxdigit((unsigned char)*p); p++) {
		unsigned d = *p <= '9' ? (unsigned)(*p - '0') :
		    (unsigned)((*p | 0x20) - 'a' + 10);

		if (d >= base)
			break;
		if (__builtin_mul_overflow(n, base, &n) ||
		    __builtin_add_overflow(n, d, &n))
			return -EINVAL;
	}
	if (p == s)
		return -EINVAL;
	*end = p;
	*out = n;
	return 0;
}

static bool
is_hex(const char *s)
{
	return s[0] == '0' && (s[1] | 0x20) == 'x';
}

#define PARTS 1000000

/* A decimal number; *parts: its fraction in millionths, further digits dropped. */
static int
parse_decimal(const char *s, const char **end, uint64_t *whole, uint64_t *parts)
{
	uint64_t unit = PARTS / 10;
	int r;

	*parts = 0;
	r = parse_digits(s, 10, end, whole);
	if (r < 0 || **end != '.')
		return r;
	s = ++*end;
	for (; isdigit((unsigned char)**end); ++*end, unit /= 10)
		*parts += unit * (uint64_t)(**end - '0');
	return *end == s ? -EINVAL : 0;
}

/* Rounded down. */
static int
scale(uint64_t whole, uint64_t parts, uint64_t unit, uint64_t *out)
{
	/* In two steps without an overflow. */
	uint64_t part = unit / PARTS * parts + unit % PARTS * parts / PARTS, n;

	if (__builtin_mul_overflow(whole, unit, &n) ||
	    __builtin_add_overflow(n, part, &n))
		return -EINVAL;
	*out = n;
	return 0;
}

/* "k", "kB" and "KiB" are all 1024. */
static int
parse_size_unit(const char *s, uint64_t *unit)
{
	static const char letters[] = "kmgtp";
	const char *letter;

	*unit = 1;
	if (*s == '\0' || strcasecmp(s, "b") == 0)
		return 0;
	letter = strchr(letters, *s | 0x20);
	if (letter == NULL || *letter == '\0' || (s[1] != '\0' &&
	    strcasecmp(s + 1, "b") != 0 && strcasecmp(s + 1, "ib") != 0))
		return -EINVAL;
	*unit = UINT64_C(1) << 10 * (letter - letters + 1);
	return 0;
}

int
filter_size(const char *text, uint64_t *bytes)
{
	uint64_t whole, parts, unit, n;
	const char *end;

	if (is_hex(text)) {
		if (parse_digits(text + 2, 16, &end, &n) < 0 || *end != '\0')
			return -EINVAL;
		*bytes = n;
		return 0;
	}
	if (parse_decimal(text, &end, &whole, &parts) < 0 ||
	    parse_size_unit(end, &unit) < 0)
		return -EINVAL;
	/* There is no half of a byte. */
	if (unit == 1 && memchr(text, '.', (size_t)(end - text)) != NULL)
		return -EINVAL;
	return scale(whole, parts, unit, bytes);
}

static const struct age_unit {
	const char *name;
	uint64_t ms;
} age_units[] = {
	{ "y", 365 * DAY },
	{ "w", 7 * DAY },
	{ "d", DAY },
	{ "h", HOUR },
	{ "ms", 1 },
	{ "m", MINUTE },
	{ "s", SECOND },
};

static const struct age_unit *
find_age_unit(const char *s)
{
	for (size_t i = 0; i < BASE_NELEM(age_units); i++)
		if (strncasecmp(s, age_units[i].name,
		    strlen(age_units[i].name)) == 0)
			return &age_units[i];
	return NULL;
}

/* A number alone is of seconds, as on the page. */
int
filter_age(const char *text, uint64_t *ms)
{
	uint64_t whole, parts, n, sum = 0, last = UINT64_MAX;
	const char *s = text, *end;

	do {
		const struct age_unit *unit;
		bool alone;

		if (parse_decimal(s, &end, &whole, &parts) < 0)
			return -EINVAL;
		alone = *end == '\0' && s == text;
		unit = find_age_unit(alone ? "s" : end);
		/* Larger units stand before smaller ones, each once. */
		if (unit == NULL || unit->ms >= last ||
		    scale(whole, parts, unit->ms, &n) < 0 ||
		    __builtin_add_overflow(sum, n, &sum))
			return -EINVAL;
		last = unit->ms;
		s = alone ? end : end + strlen(unit->name);
	} while (*s != '\0');
	*ms = sum;
	return 0;
}

/* All ages that are shown as that number of seconds. */
static int
parse_age_range(const char *text, uint64_t *lo, uint64_t *hi)
{
	if (filter_age(text, lo) < 0)
		return -EINVAL;
	*hi = *lo;
	if (*lo % SECOND == 0 && *lo <= UINT64_MAX - SECOND)
		*hi += SECOND - 1;
	return 0;
}

/* Exactly so many digits, and a number within bounds. */
static bool
parse_part(const char **s, int digits, int least, int most, int *out)
{
	int n = 0, i;

	for (i = 0; i < digits && isdigit((unsigned char)(*s)[i]); i++)
		n = 10 * n + ((*s)[i] - '0');
	if (i < digits || isdigit((unsigned char)(*s)[i]) || n < least ||
	    n > most)
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

/* "12:00", "12:00:30"; *ms: how long the clock shows it. */
static bool
parse_clock(const char **s, struct tm *tm, uint64_t *ms)
{
	if (!parse_part(s, 2, 0, 23, &tm->tm_hour) || !skip_char(s, ":") ||
	    !parse_part(s, 2, 0, 59, &tm->tm_min))
		return false;
	*ms = MINUTE;
	if (!skip_char(s, ":"))
		return true;
	*ms = SECOND;
	return parse_part(s, 2, 0, 60, &tm->tm_sec);
}

/* "2026-11-20", with a clock behind it "2026-11-20T12:00" or with a blank. */
static bool
parse_date(const char **s, struct tm *tm, uint64_t *ms)
{
	if (!parse_part(s, 4, 1970, 9999, &tm->tm_year) ||
	    !skip_char(s, "-") || !parse_part(s, 2, 1, 12, &tm->tm_mon) ||
	    !skip_char(s, "-") || !parse_part(s, 2, 1, 31, &tm->tm_mday))
		return false;
	tm->tm_year -= 1900;
	tm->tm_mon--;
	*ms = DAY;
	return !skip_char(s, "Tt ") || parse_clock(s, tm, ms);
}

static int64_t
to_ms(struct tm tm, bool utc)
{
	time_t t;

	tm.tm_isdst = -1;
	t = utc ? timegm(&tm) : mktime(&tm);
	return (int64_t)t * 1000;
}

/* A clock alone: the last time that it showed that. */
static int
parse_time_range(const char *text, uint64_t *lo, uint64_t *hi)
{
	time_t now = time(NULL);
	struct tm tm, given = { 0 };
	const char *s = text;
	bool dated, utc;
	uint64_t span;
	int64_t ms;

	dated = strlen(text) >= 3 && text[2] != ':';
	if (!(dated ? parse_date(&s, &given, &span) :
	    parse_clock(&s, &given, &span)))
		return -EINVAL;
	utc = skip_char(&s, "Zz");
	if (*s != '\0')
		return -EINVAL;
	tm = given;
	if (!dated) {
		if (utc)
			gmtime_r(&now, &tm);
		else
			localtime_r(&now, &tm);
		tm.tm_hour = given.tm_hour;
		tm.tm_min = given.tm_min;
		tm.tm_sec = given.tm_sec;
		if (to_ms(tm, utc) > (int64_t)now * 1000)
			tm.tm_mday--;
	}
	ms = to_ms(tm, utc);
	if (ms < 0)
		return -EINVAL;
	*lo = (uint64_t)ms;
	*hi = *lo + span - 1;
	return 0;
}

static int
parse_number(const char *text, unsigned base, uint64_t max, uint64_t *out)
{
	const char *end;
	uint64_t n;

	if (is_hex(text)) {
		text += 2;
		base = 16;
	}
	if (parse_digits(text, base, &end, &n) < 0 || *end != '\0' || n > max)
		return -EINVAL;
	*out = n;
	return 0;
}

static int
parse_layer(const char *text, uint64_t *out)
{
	const char *word;

	for (size_t k = 0; (word = expr_kind_word(EXPR_LAYER, k)) != NULL; k++)
		if (strcasecmp(text, word) == 0) {
			*out = k;
			return 0;
		}
	return parse_number(text, 10, 1, out);
}

int
expr_range(enum expr_kind kind, const char *text, uint64_t *lo, uint64_t *hi)
{
	uint64_t n = 0;
	int r = -EINVAL;

	switch (kind) {
	case EXPR_AGE:
		return parse_age_range(text, lo, hi);
	case EXPR_TIME:
		return parse_time_range(text, lo, hi);
	case EXPR_MILLISECONDS:
		r = parse_number(text, 10, UINT64_MAX, &n);
		if (r < 0)
			return parse_age_range(text, lo, hi);
		break;
	case EXPR_SIZE:
		r = filter_size(text, &n);
		break;
	case EXPR_ADDRESS:
		r = parse_number(text, 16, UINT64_MAX, &n);
		break;
	case EXPR_NUMBER:
		r = parse_number(text, 10, UINT64_MAX, &n);
		break;
	case EXPR_LAYER:
		r = parse_layer(text, &n);
		break;
	case EXPR_TYPE:
		r = parse_number(text, 16, UINT8_MAX, &n);
		break;
	case EXPR_TEXT:
	case EXPR_PATH:
		break;
	}
	if (r == 0)
		*lo = *hi = n;
	return r;
}

const char *
expr_range_wrong(enum expr_kind kind)
{
	static const char *const wrong[] = {
		[EXPR_SIZE] = "not a size, as in 12, 0x40, 1k or 1.5M",
		[EXPR_AGE] = "not an age, as in 10s, 5m, 1h30m or 2d",
		[EXPR_MILLISECONDS] =
		    "not an age, as in 10000 (milliseconds), 10s or 5m",
		[EXPR_TIME] = ("not a time, as in 12:00, 2026-11-20 or "
		    "2026-11-20T15:04"),
		[EXPR_ADDRESS] = "not an address in hex",
		[EXPR_NUMBER] = "not a number",
		[EXPR_LAYER] = "not a layer: heap or api",
		[EXPR_TYPE] = "not a type code in hex, as in 80",
		[EXPR_TEXT] = "not a text",
		[EXPR_PATH] = "not a text",
	};

	return wrong[kind];
}
