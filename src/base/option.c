#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"

#define SECONDS_MIN 0.05
#define SECONDS_MAX 86400.0

int
base_option_has_arg(const struct base_option *o)
{
	return o->argument == NULL ? no_argument : o->argument[0] == '[' ?
	    optional_argument : required_argument;
}

void
base_option_usage(const struct base_option *o, char between, char *out,
    size_t cap)
{
	if (o->argument == NULL)
		snprintf(out, cap, "--%s", o->name);
	else if (o->argument[0] == '[')
		snprintf(out, cap, "--%s[=%s", o->name, o->argument + 1);
	else
		snprintf(out, cap, "--%s%c%s", o->name, between, o->argument);
}

/* Unlike strtod(): no blank, no sign. */
static int
parse_real(const char *text, double min, double max, double *out)
{
	char *end;
	double x;

	if (!isdigit((unsigned char)text[text[0] == '.']))
		return -EINVAL;
	x = strtod(text, &end);
	if (*end != '\0' || !(x >= min && x <= max))
		return -EINVAL;
	*out = x;
	return 0;
}

/* The place of the text in "auto|always|never", or -EINVAL. */
static int
find_word(const char *words, const char *text)
{
	size_t len = strlen(text), n;

	for (int i = 0; ; i++) {
		n = strcspn(words, "|");
		if (n == len && memcmp(words, text, n) == 0)
			return i;
		if (words[n] == '\0')
			return -EINVAL;
		words += n + 1;
	}
}

static int
parse_number(const struct base_value *v, const char *text, uint64_t *out)
{
	uint64_t n;

	if (base_parse_count(text, v->max, &n) < 0 || n < v->min)
		return -EINVAL;
	*out = n;
	return 0;
}

int
base_option_take(const struct base_option *o, void *into, const char *text)
{
	const struct base_value *v = &o->value;
	void *field = (char *)into + v->at;
	uint64_t n = 0;
	double x = 0;
	int r = 0;

	if (v->ok != NULL && !v->ok(text))
		return -EINVAL;
	switch (v->kind) {
	case BASE_NO_FIELD:
		break;
	case BASE_FLAG:
		*(bool *)field = true;
		break;
	case BASE_TEXT:
		*(const char **)field = text != NULL ? text : "";
		break;
	case BASE_NUMBER:
		if ((r = parse_number(v, text, &n)) == 0)
			*(unsigned *)field = (unsigned)n;
		break;
	case BASE_COUNT:
		r = parse_number(v, text, field);
		break;
	case BASE_SIZE:
		r = base_parse_size(text, v->max, field);
		break;
	case BASE_DESCRIPTOR:
		if ((r = parse_number(v, text, &n)) == 0)
			*(int *)field = (int)n;
		break;
	case BASE_SECONDS:
		if ((r = parse_real(text, SECONDS_MIN, SECONDS_MAX, &x)) == 0)
			*(int *)field = (int)(x * 1000);
		break;
	case BASE_PERCENT:
		if ((r = parse_real(text, 0, (double)v->max, &x)) == 0)
			*(double *)field = x / 100;
		break;
	case BASE_WORD:
		if ((r = find_word(o->argument, text)) >= 0) {
			*(unsigned *)field = (unsigned)(v->min + (unsigned)r);
			r = 0;
		}
		break;
	case BASE_OTHER:
		r = v->take(into, text);
		break;
	}
	return r;
}

void
base_option_wrong(const struct base_option *o, char *out, size_t cap)
{
	const struct base_value *v = &o->value;

	if (v->wrong != NULL)
		snprintf(out, cap, "%s", v->wrong);
	else if (v->kind == BASE_SECONDS)
		snprintf(out, cap, "not a time from %g to %g seconds",
		    SECONDS_MIN, SECONDS_MAX);
	else if (v->kind == BASE_PERCENT)
		snprintf(out, cap, "not a share from 0 to %" PRIu64 " percent",
		    v->max);
	else if (v->kind == BASE_NUMBER || v->kind == BASE_COUNT ||
	    v->kind == BASE_DESCRIPTOR)
		snprintf(out, cap, "not a number from %" PRIu64 " to %" PRIu64,
		    v->min, v->max);
	else
		snprintf(out, cap, "not one of %s", o->argument);
}

static const char *
number_text(uint64_t n, char text[BASE_OPTION_TEXT])
{
	snprintf(text, BASE_OPTION_TEXT, "%" PRIu64, n);
	return text;
}

const char *
base_option_text(const struct base_option *o, const void *from,
    char number[BASE_OPTION_TEXT])
{
	const void *field = (const char *)from + o->value.at;
	uint64_t n = 0;

	switch (o->value.kind) {
	case BASE_FLAG:
		return *(const bool *)field ? "" : NULL;
	case BASE_TEXT:
		return *(const char *const *)field;
	case BASE_NUMBER:
		n = *(const unsigned *)field;
		break;
	case BASE_COUNT:
	case BASE_SIZE:
		n = *(const uint64_t *)field;
		break;
	case BASE_DESCRIPTOR:
		return *(const int *)field < 0 ? NULL :
		    number_text((uint64_t)*(const int *)field, number);
	default:
		break;
	}
	return n != 0 ? number_text(n, number) : NULL;
}
