#include "base.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COLS_MAX 20

/* No E (10^18): it would read as a hexadecimal digit or an exponent. */
static const char unit_letters[] = "KMGTP";

/* Right-aligns text in out; false, with out untouched, if it is too long. */
static bool
put_text(char *out, int cols, const char *text)
{
	size_t len = strlen(text);

	if (len > (size_t)cols)
		return false;
	memset(out, ' ', (size_t)cols - len);
	memcpy(out + cols - len, text, len + 1);
	return true;
}

/* n / unit in tenths, rounded half up; no overflow for a unit of 2 or more. */
static uint64_t
tenths(uint64_t n, uint64_t unit)
{
	uint64_t rest = n % unit;

	/* Units end at 2^60, so rest * 10 fits. */
	return n / unit * 10 + (rest * 10 + unit / 2) / unit;
}

static uint64_t
rounded(uint64_t n, uint64_t unit)
{
	uint64_t rest = n % unit;

	return n / unit + (rest >= unit - rest);
}

/* The finest unit above `least` that fits; '*' for a number that would round to 0. */
static void
put_units(char *out, int cols, uint64_t n, uint64_t step, uint64_t least)
{
	uint64_t unit = 1;
	char text[48];

	for (const char *letter = unit_letters; *letter != '\0'; letter++) {
		uint64_t t;

		unit *= step;
		if (unit <= least)
			continue;
		t = tenths(n, unit);
		snprintf(text, sizeof(text), "%" PRIu64 ".%" PRIu64 "%c",
		    t / 10, t % 10, *letter);
		if (t > 0 && put_text(out, cols, text))
			return;
		if (rounded(n, unit) == 0)
			break;
		snprintf(text, sizeof(text), "%" PRIu64 "%c",
		    rounded(n, unit), *letter);
		if (put_text(out, cols, text))
			return;
	}
	put_text(out, cols, "*");
}

static void
check_cols(int cols)
{
	assert(cols >= 2 && cols <= COLS_MAX);
	(void)cols;
}

void
base_format_count(char *out, int cols, uint64_t n)
{
	char text[24];

	check_cols(cols);
	snprintf(text, sizeof(text), "%" PRIu64, n);
	if (!put_text(out, cols, text))
		put_units(out, cols, n, 1000, 1);
}

void
base_format_grouped(char *out, int cols, uint64_t n)
{
	uint64_t least = 1;

	check_cols(cols);
	if (put_text(out, cols, base_digits(n).text))
		return;
	/* Four digits are read without a comma; of more none are ungrouped. */
	if (n < 10000) {
		base_format_count(out, cols, n);
		return;
	}
	while (n / least >= 1000000)
		least *= 1000;
	put_units(out, cols, n, 1000, least);
}

void
base_format_size(char *out, int cols, uint64_t bytes)
{
	char text[8];

	check_cols(cols);
	if (bytes <= 0xffff) {
		snprintf(text, sizeof(text), "%04X", (unsigned)bytes);
		if (put_text(out, cols, text))
			return;
	}
	put_units(out, cols, bytes, 1024, 1);
}

void
base_format_bytes(char *out, int cols, uint64_t bytes)
{
	char text[27];

	check_cols(cols);
	base_group_digits(text, sizeof(text), bytes);
	if (put_text(out, cols, text))
		return;
	snprintf(text, sizeof(text), "%" PRIu64, bytes);
	if (!put_text(out, cols, text))
		put_units(out, cols, bytes, 1024, 1);
}

static const struct age_unit {
	uint64_t seconds;
	char letter;
} age_units[] = {
	{ .seconds = UINT64_C(365) * 86400, .letter = 'y' },
	{ .seconds = UINT64_C(7) * 86400, .letter = 'w' },
	{ .seconds = 86400, .letter = 'd' },
	{ .seconds = 3600, .letter = 'h' },
	{ .seconds = 60, .letter = 'm' },
};

/* Weeks are used only when days do not fit. */
#define AGE_DAYS 2

void
base_format_age(char *out, int cols, uint64_t seconds)
{
	char text[24];
	size_t i;

	check_cols(cols);
	snprintf(text, sizeof(text), "%" PRIu64, seconds);
	if (put_text(out, cols, text))
		return;
	for (i = AGE_DAYS; i < BASE_NELEM(age_units) - 1; i++) {
		if (seconds >= age_units[i].seconds)
			break;
	}
	for (;;) {
		snprintf(text, sizeof(text), "%" PRIu64 "%c",
		    seconds / age_units[i].seconds, age_units[i].letter);
		if (put_text(out, cols, text))
			return;
		if (i == 0 || seconds < age_units[i - 1].seconds)
			break;
		i--;
	}
	put_text(out, cols, "*");
}

void
base_group_digits(char *out, size_t cap, uint64_t n)
{
	char text[27], *p = text + sizeof(text);
	size_t len, digits = 0;

	/* Without a format: a screen has dozens of these. */
	do {
		if (digits > 0 && digits % 3 == 0)
			*--p = ',';
		*--p = (char)('0' + n % 10);
		n /= 10;
		digits++;
	} while (n > 0);
	if (cap == 0)
		return;
	len = (size_t)(text + sizeof(text) - p);
	if (len >= cap)
		len = cap - 1;
	memcpy(out, p, len);
	out[len] = '\0';
}

struct base_digits
base_digits(uint64_t n)
{
	struct base_digits d;

	base_group_digits(d.text, sizeof d.text, n);
	return d;
}

void
base_human_bytes(char *out, size_t cap, uint64_t bytes)
{
	static const char *const names[] = { "KiB", "MiB", "GiB", "TiB", "PiB",
		"EiB" };
	uint64_t unit = 1024, t;
	size_t i;

	if (cap == 0)
		return;
	if (bytes < 1024) {
		snprintf(out, cap, "%s B", base_digits(bytes).text);
		return;
	}
	for (i = 0; i + 1 < BASE_NELEM(names); i++, unit *= 1024) {
		if (tenths(bytes, unit) < 10240)
			break;
	}
	t = tenths(bytes, unit);
	snprintf(out, cap, "%" PRIu64 ".%" PRIu64 " %s", t / 10, t % 10,
	    names[i]);
}
