#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <strings.h>

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
parse_signed(const char *text, uint64_t *out)
{
	bool negative = *text == '-';
	uint64_t n;

	if (parse_number(text + negative, 10, negative ? EXPR_ZERO :
	    INT64_MAX, &n) < 0)
		return -EINVAL;
	*out = negative ? EXPR_ZERO - n : EXPR_ZERO + n;
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
expr_range(enum expr_kind kind, const char *text, uint64_t *lo, uint64_t *hi,
    const char **wrong)
{
	uint64_t n = 0;
	int r = -EINVAL;

	switch (kind) {
	case EXPR_AGE:
		return parse_age_range(text, lo, hi);
	case EXPR_TIME:
		return expr_time_range(text, lo, hi, wrong);
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
	case EXPR_SIGNED:
		r = parse_signed(text, &n);
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
		[EXPR_TIME] = EXPR_TIME_WRONG,
		[EXPR_ADDRESS] = "not an address in hex",
		[EXPR_NUMBER] = "not a number",
		[EXPR_SIGNED] = "not a number",
		[EXPR_LAYER] = "not a layer: heap or api",
		[EXPR_TYPE] = "not a type code in hex, as in 80",
		[EXPR_TEXT] = "not a text",
		[EXPR_PATH] = "not a text",
	};

	return wrong[kind];
}
