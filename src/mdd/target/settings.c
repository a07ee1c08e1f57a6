/*
 * The settings of a start: "on,backtrace=4,history=2048,thread=off".
 *
 * Names are those of the options, in lower case.  A name without a value turns
 * its option on; history also takes a number of records.
 */
#include <string.h>

#include "target.h"

static const struct {
	const char *name;
	unsigned option;
} names[] = {
	{ "actual_size", MDD_OPT_ACTUAL_SIZE },
	{ "timestamp", MDD_OPT_TIMESTAMP },
	{ "thread", MDD_OPT_THREAD },
	{ "backtrace", MDD_OPT_BACKTRACE },
	{ "history", MDD_OPT_HISTORY },
};

static int
equals(const char *text, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(text, word, n) == 0;
}

static size_t
length(const char *text, char end, size_t n)
{
	size_t i;

	for (i = 0; i < n && text[i] != end; i++)
		continue;
	return i;
}

/* 1 to 2^20; 0: no number. */
static unsigned
parse_number(const char *text, size_t n)
{
	unsigned value = 0;
	size_t i;

	for (i = 0; i < n && i < 8; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		value = value * 10 + (unsigned)(text[i] - '0');
	}
	return i == n && value <= 1u << 20 ? value : 0;
}

static int
set_option(struct mdd_opts *o, unsigned option, const char *value, size_t n)
{
	unsigned value_number = parse_number(value, n);

	if (equals(value, n, "off") || equals(value, n, "0")) {
		o->options &= ~option;
		return 1;
	}
	if (!equals(value, n, "on") && value_number == 0)
		return 0;
	o->options |= option;
	if (option == MDD_OPT_BACKTRACE && value_number != 0)
		o->levels = value_number;
	else if (option == MDD_OPT_HISTORY && value_number != 0)
		o->history_records = value_number;
	else if (value_number > 1)
		return 0;
	return o->levels <= MDD_LEVELS;
}

static int
set_word(struct mdd_opts *o, const char *word, size_t n)
{
	size_t name = length(word, '=', n), i;

	for (i = 0; i < sizeof names / sizeof names[0]; i++)
		if (equals(word, name, names[i].name))
			return name < n ?
			    set_option(o, names[i].option, word + name + 1,
				n - name - 1) :
			    set_option(o, names[i].option, "on", 2);
	return 0;
}

int
mdd_settings(struct mdd_opts *o, const char *text, const char **bad)
{
	struct mdd_opts set = { MDD_OPT_ACTUAL_SIZE | MDD_OPT_TIMESTAMP |
		MDD_OPT_THREAD | MDD_OPT_BACKTRACE, 1, 2048 };
	int on = 0;
	size_t n;

	*bad = text;
	if (*text == '\0') {
		*o = set;
		return 0;
	}
	for (;; text += n + 1) {
		n = length(text, ',', strlen(text));
		*bad = text;
		if (equals(text, n, "on"))
			on = 1;
		else if (equals(text, n, "off"))
			on = 0;
		else if (!set_word(&set, text, n))
			return -1;
		else
			on = 1;
		if (text[n] == '\0')
			break;
	}
	*o = set;
	return on;
}
