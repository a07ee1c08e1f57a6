/*
 * Budgets as they are written: "50M", "type=80:10000", "1M/min", "10m:1000".
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../base/base.h"
#include "../filter/filter.h"
#include "options_table.h"
#include "target_words.h"

static int
bad(struct parse *p, enum option_id id, const char *arg, const char *want)
{
	return option_fail(p, "--%s=%s: %s", option_rows[id].name,
	    words_shown(arg), want);
}

/* What stands in front of `at`; false when that is too long for any value. */
static bool
front(const char *arg, const char *at, char *out, size_t cap)
{
	size_t len = (size_t)(at - arg);

	if (len >= cap)
		return false;
	memcpy(out, arg, len);
	out[len] = '\0';
	return true;
}

static bool
get_blocks(const char *text, double *most)
{
	uint64_t n;

	if (base_parse_count(text, UINT64_MAX, &n) < 0)
		return false;
	*most = (double)n;
	return true;
}

static int
live(struct parse *p, struct budget *b)
{
	uint64_t bytes;

	if (filter_size(b->text, &bytes) < 0)
		return bad(p, OPTION_MAX_LIVE, b->text,
		    "not a size such as 50M");
	b->most = (double)bytes;
	return 0;
}

static int
growth(struct parse *p, struct budget *b)
{
	static const struct {
		const char *name;
		double minutes;
	} units[] = {
		{ "s", 1.0 / 60 }, { "sec", 1.0 / 60 }, { "m", 1 },
		{ "min", 1 }, { "h", 60 }, { "hour", 60 }, { "d", 1440 },
		{ "day", 1440 },
	};
	const char *slash = strrchr(b->text, '/');
	char size[64];
	uint64_t bytes;

	if (slash != NULL && front(b->text, slash, size, sizeof size) &&
	    filter_size(size, &bytes) == 0)
		for (size_t i = 0; i < BASE_NELEM(units); i++)
			if (strcmp(slash + 1, units[i].name) == 0) {
				b->most = (double)bytes / units[i].minutes;
				return 0;
			}
	return bad(p, OPTION_MAX_GROWTH, b->text,
	    "not a size in a time, such as 1M/min or 10k/s");
}

static int
age(struct parse *p, struct budget *b)
{
	const char *colon = strrchr(b->text, ':');
	char text[64];

	if (colon != NULL && front(b->text, colon, text, sizeof text) &&
	    filter_age(text, &b->ms) == 0 && get_blocks(colon + 1, &b->most))
		return 0;
	return bad(p, OPTION_MAX_AGE, b->text,
	    "not an age and a number of blocks, such as 10m:1000");
}

/* Without an expression it is all blocks. */
static int
blocks(struct parse *p, struct budget *b)
{
	const char *colon = strrchr(b->text, ':');
	char text[FILTER_MAX + 1];
	struct filter *f = NULL;
	struct filter_error e;
	int r;

	if (!get_blocks(colon != NULL ? colon + 1 : b->text, &b->most))
		return bad(p, OPTION_MAX_BLOCKS, b->text, "no number of blocks "
		    "behind the last colon, as in type=80:10000");
	if (colon == NULL)
		return 0;
	if (!front(b->text, colon, text, sizeof text))
		return option_fail(p, "--max-blocks: the expression is longer "
		    "than %d bytes", FILTER_MAX);
	b->expression = strlen(text);
	r = filter_new(&f, text, &e);
	filter_free(f);
	if (r == 0)
		return 0;
	return r == -EINVAL ? option_fail(p, "--max-blocks, column %zu: %s",
	    e.at + 1, e.why) : option_fail(p, "--max-blocks: %s",
	    strerror(-r));
}

int
option_budget(struct parse *p, enum option_id id, const char *arg)
{
	struct options *o = p->o;
	struct budget *b = &o->budget[o->budgets];

	if (o->budgets == BUDGETS)
		return option_fail(p, "there are more than %d limits", BUDGETS);
	*b = (struct budget){ .text = arg };
	o->budgets++;
	switch (id) {
	case OPTION_MAX_LIVE:
		b->kind = BUDGET_LIVE;
		return live(p, b);
	case OPTION_MAX_GROWTH:
		b->kind = BUDGET_GROWTH;
		return growth(p, b);
	case OPTION_MAX_AGE:
		b->kind = BUDGET_AGE;
		return age(p, b);
	default:
		b->kind = BUDGET_BLOCKS;
		return blocks(p, b);
	}
}
