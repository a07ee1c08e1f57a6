/*
 * What the value of each option may be, and where it goes in struct options:
 * of the command line, and of files.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../filter/filter.h"
#include "../page/kinds.h"
#include "../page/order.h"
#include "../page/sieve.h"
#include "options.h"
#include "target_words.h"

#define SECONDS_MAX 86400.0

int
option_fail(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, p->cap, fmt, ap);
	va_end(ap);
	return PAGEK_USAGE;
}

static int
bad_value(struct parse *p, enum option_id id, const char *arg)
{
	return option_fail(p, "--%s=%s: not one of %s", option_rows[id].name,
	    words_shown(arg), option_rows[id].argument);
}

static int
get_number(struct parse *p, enum option_id id, const char *arg, uint64_t min,
    uint64_t max, uint64_t *out)
{
	uint64_t n;

	if (base_parse_count(arg, max, &n) < 0 || n < min)
		return option_fail(p, "--%s=%s: not a number from %llu to %llu",
		    option_rows[id].name, words_shown(arg),
		    (unsigned long long)min, (unsigned long long)max);
	*out = n;
	return 0;
}

/* No blank and no sign, as strtod() would have them. */
static bool
begins_number(const char *arg)
{
	return isdigit((unsigned char)arg[arg[0] == '.']);
}

static int
get_seconds(struct parse *p, enum option_id id, const char *arg, int *ms)
{
	char *end;
	double s;

	s = strtod(arg, &end);
	if (!begins_number(arg) || *end != '\0' ||
	    !(s >= 0.05 && s <= SECONDS_MAX))
		return option_fail(p,
		    "--%s=%s: not a time from 0.05 to 86400 seconds",
		    option_rows[id].name, words_shown(arg));
	*ms = (int)(s * 1000);
	return 0;
}

/* The index of the word among those of the list, or -1. */
static int
find_word(const char *arg, const char *const *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(arg, words[i]) == 0)
			return (int)i;
	return -1;
}

/* The same for an option that takes no other word. */
static int
get_word(struct parse *p, enum option_id id, const char *arg,
    const char *const *words, size_t n, int *out)
{
	int i = find_word(arg, words, n);

	if (i < 0)
		return bad_value(p, id, arg);
	*out = i;
	return 0;
}

static int
get_share(struct parse *p, enum option_id id, const char *arg, int max,
    double *out)
{
	char *end;
	double percent;

	percent = strtod(arg, &end);
	if (!begins_number(arg) || *end != '\0' ||
	    !(percent >= 0 && percent <= max))
		return option_fail(p,
		    "--%s=%s: not a share from 0 to %d percent",
		    option_rows[id].name, words_shown(arg), max);
	*out = percent / 100;
	return 0;
}

static int
set_sort(struct parse *p, const char *arg)
{
	struct page_sorting sorting;

	if (!page_sorting_parse(arg, &sorting))
		return option_fail(p, "--sort=%s: not one of %s, nor up to %d "
		    "letters for them such as Ns", words_shown(arg),
		    option_rows[OPTION_SORT].argument, PAGE_SORTINGS);
	/* --reverse turns that round, wherever it stands. */
	p->o->backwards = sorting.by[0].reverse;
	sorting.by[0].reverse ^= option_given(p->o, OPTION_REVERSE);
	page_sorting_put(&sorting, &p->o->page);
	return 0;
}

static int
set_page(struct parse *p, const char *arg)
{
	static const char *const words[] = {
		[PAGE_K] = "K",
		[PAGE_G] = "G",
		[PAGE_H] = "H",
	};
	size_t i;

	for (i = 0; i < BASE_NELEM(words); i++)
		if (strcmp(words[i], arg) == 0) {
			p->o->page.first = (enum page_letter)i;
			return 0;
		}
	return bad_value(p, OPTION_PAGE, arg);
}

static int
set_color(struct parse *p, const char *arg)
{
	static const char *const words[] = {
		[PAGE_COLOR_AUTO] = "auto",
		[PAGE_COLOR_ALWAYS] = "always",
		[PAGE_COLOR_NEVER] = "never",
	};
	int i = 0;
	int r = get_word(p, OPTION_COLOR, arg, words, BASE_NELEM(words), &i);

	p->o->page.color = (enum page_color)i;
	return r;
}

static int
set_units(struct parse *p, const char *arg)
{
	static const char *const words[] = {
		[PAGE_UNITS_EXACT] = "exact",
		[PAGE_UNITS_K] = "k",
		[PAGE_UNITS_HEX] = "hex",
	};
	int i = 0;
	int r = get_word(p, OPTION_UNITS, arg, words, BASE_NELEM(words), &i);

	p->o->page.units = (enum page_units)i;
	return r;
}

static int
set_list(struct parse *p, const char *arg)
{
	static const char *const words[] = { "note", "indexed", "check" };
	int i = 0;
	int r = get_word(p, OPTION_LIST, arg, words, BASE_NELEM(words), &i);

	p->o->list = LIST_NOTE + i;
	return r;
}

static int
set_classic(struct parse *p, const char *arg)
{
	if (arg != NULL && strcmp(arg, "strict") != 0)
		return option_fail(p,
		    "--classic=%s: only strict may stand there",
		    words_shown(arg));
	p->o->page.layout = arg != NULL ? PAGE_CLASSIC_STRICT : PAGE_CLASSIC;
	return 0;
}

/* A time of a demo: digits, and perhaps a unit. */
static int
set_at(struct parse *p, const char *arg)
{
	static const char *const units[] = { "", "s", "m", "h" };
	size_t digits = strspn(arg, "0123456789");

	if (digits == 0 || digits > 7 ||
	    find_word(arg + digits, units, BASE_NELEM(units)) < 0)
		return option_fail(p,
		    "--at=%s: not a time such as 39s", words_shown(arg));
	p->o->at = arg;
	return 0;
}

static int
set_format(struct parse *p, const char *arg)
{
	static const char *const words[] = {
		[FORMAT_TEXT] = "text",
		[FORMAT_JSON] = "json",
		[FORMAT_NDJSON] = "ndjson",
		[FORMAT_CSV] = "csv",
		[FORMAT_PROM] = "prom",
	};
	int i = 0;
	int r = get_word(p, OPTION_FORMAT, arg, words, BASE_NELEM(words), &i);

	p->o->format = (enum text_format)i;
	p->o->json = i != FORMAT_TEXT;
	return r;
}

static int
set_since(struct parse *p, const char *arg)
{
	return strcmp(arg, "click") == 0 ? 0 : bad_value(p, OPTION_SINCE, arg);
}

static int
set_fps(struct parse *p, const char *arg)
{
	uint64_t n = 0;
	int r = get_number(p, OPTION_FPS, arg, 1, NODES_HZ, &n);

	p->o->page.fps = (int)n;
	return r;
}

static int
set_baud(struct parse *p, const char *arg)
{
	uint64_t n = 0;
	int r = get_number(p, OPTION_BAUD, arg, 1, UINT32_MAX, &n);

	if (r == 0 && !nodes_baud_known((unsigned)n))
		return option_fail(p, "--baud=%s: no serial line has that "
		    "speed: give 9600, 115200 or another usual one",
		    words_shown(arg));
	p->o->baud = (unsigned)n;
	return r;
}

static int
set_max(struct parse *p, const char *arg)
{
	uint64_t n = 0;
	int r = get_number(p, OPTION_MAX, arg, 1, BLKLIST_MAX, &n);

	p->o->max = (uint32_t)n;
	return r;
}

/*
 * Measures and kinds of groups are words of one option: what they are for is
 * plain from the words.
 */
static int
set_by(struct parse *p, const char *arg)
{
	static const char *const measures[] = {
		[PROFILE_BYTES] = "bytes",
		[PROFILE_BLOCKS] = "blocks",
		[PROFILE_AGE] = "age",
	};
	static const char *const groups[] = {
		[PROFILE_SITE] = "site",
		[PROFILE_FUNCTION] = "function",
		[PROFILE_LINE] = "line",
		[PROFILE_FRAME] = "frame",
		[PROFILE_MODULE] = "module",
	};
	int i = find_word(arg, measures, BASE_NELEM(measures));

	if (i >= 0) {
		p->o->measure = (enum profile_measure)i;
		return 0;
	}
	i = find_word(arg, groups, BASE_NELEM(groups));
	if (i < 0)
		return bad_value(p, OPTION_BY, arg);
	p->o->by = (enum profile_by)i;
	p->o->by_group = true;
	return 0;
}

static int
set_depth(struct parse *p, const char *arg)
{
	uint64_t n = 0;
	int r = get_number(p, OPTION_DEPTH, arg, 1, PROFILE_LINES_MAX, &n);

	p->o->depth = (unsigned)n;
	return r;
}

static int
set_stack(struct parse *p, const char *arg)
{
	uint64_t n = 0;
	int r = get_number(p, OPTION_STACK, arg, 0, RING_STACK_MAX, &n);

	p->o->stack = (unsigned)n;
	return r;
}

static int
set_sample(struct parse *p, const char *arg)
{
	if (base_parse_size(arg, BLKLIST_SAMPLE_MAX, &p->o->sample) == 0)
		return 0;
	return option_fail(p, "--sample=%s: not a size up to 1T such as 512k",
	    words_shown(arg));
}

static int
set_skip(struct parse *p, const char *arg)
{
	if (arg[strspn(arg, ", \t")] == '\0')
		return option_fail(p, "--skip=%s: no pattern of function names",
		    words_shown(arg));
	if (p->o->skips == OPTIONS_SKIPS)
		return option_fail(p, "--skip is given more than %d times",
		    OPTIONS_SKIPS);
	p->o->skip[p->o->skips++] = arg;
	return 0;
}

static int
set_group(struct parse *p, const char *arg)
{
	char list[160];

	if (page_group_kinds_parse(arg, &p->o->page.group,
	    &p->o->page.group_below) == 0)
		return 0;
	page_group_kinds_list(list, sizeof list);
	return option_fail(p, "--group takes none, %s, or two of them as in "
	    "site>type, not '%s'", list, words_shown(arg));
}

/* A good one is compiled where it is used. */
static int
set_filter(struct parse *p, const char *arg)
{
	struct filter *f = NULL;
	struct filter_error e;
	int r = filter_new(&f, arg, &e);

	filter_free(f);
	p->o->filter = arg;
	if (r != -EINVAL)
		return r < 0 ? option_fail(p, "--filter: %s", strerror(-r)) : 0;
	p->o->wrong = true;
	p->o->wrong_at = e.at;
	return option_fail(p, "--filter, column %zu: %s",
	    page_sieve_column(arg, e.at), e.why);
}

static int
set_reverse(struct parse *p, const char *arg)
{
	struct page_sorting sorting;

	(void)arg;
	page_sorting_get(&p->o->page, &sorting);
	sorting.by[0].reverse = !p->o->backwards;
	page_sorting_put(&sorting, &p->o->page);
	return 0;
}

static int
set_wide(struct parse *p, const char *arg)
{
	(void)arg;
	p->o->page.layout = PAGE_WIDE;
	return 0;
}

static int
set_baseline(struct parse *p, const char *arg)
{
	if (arg[0] == '\0')
		return option_fail(p, "--baseline= needs a file");
	p->o->baseline = arg;
	return 0;
}

/* --- budgets: "50M", "type=80:10000", "1M/min", "10m:1000" ----------------- */

static int
bad_budget(struct parse *p, enum option_id id, const char *arg, const char *want)
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
		return bad_budget(p, OPTION_MAX_LIVE, b->text,
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
	return bad_budget(p, OPTION_MAX_GROWTH, b->text,
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
	return bad_budget(p, OPTION_MAX_AGE, b->text,
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
		return bad_budget(p, OPTION_MAX_BLOCKS, b->text, "no number of blocks "
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

static int
set_budget(struct parse *p, enum option_id id, const char *arg)
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

/* --- the table ------------------------------------------------------------ */

/* Options whose value is looked at before it is kept. */
static int (*const setter[OPTIONS])(struct parse *, const char *arg) = {
	[OPTION_FORMAT] = set_format,
	[OPTION_PAGE] = set_page,
	[OPTION_SORT] = set_sort,
	[OPTION_CLASSIC] = set_classic,
	[OPTION_COLOR] = set_color,
	[OPTION_LIST] = set_list,
	[OPTION_SINCE] = set_since,
	[OPTION_AT] = set_at,
	[OPTION_FPS] = set_fps,
	[OPTION_UNITS] = set_units,
	[OPTION_MAX] = set_max,
	[OPTION_BAUD] = set_baud,
	[OPTION_BY] = set_by,
	[OPTION_DEPTH] = set_depth,
	[OPTION_STACK] = set_stack,
	[OPTION_SAMPLE] = set_sample,
	[OPTION_SKIP] = set_skip,
	[OPTION_FILTER] = set_filter,
	[OPTION_GROUP] = set_group,
	[OPTION_REVERSE] = set_reverse,
	[OPTION_WIDE] = set_wide,
	[OPTION_BASELINE] = set_baseline,
};

#define AT(field) offsetof(struct options, field)

/* Those whose value is kept as it is; 0, where the command stands: no such. */
static const size_t text_at[OPTIONS] = {
	[OPTION_OUTPUT] = AT(output),
	[OPTION_REPORT] = AT(report),
	[OPTION_FIELDS] = AT(fields),
	[OPTION_STREAM] = AT(stream),
	[OPTION_REMOTE_PAGEKNODE] = AT(remote),
	[OPTION_CONFIG] = AT(config_file),
	[OPTION_LISTING] = AT(page.listing),
	[OPTION_FOCUS] = AT(focus),
};

/* Those without a value, that set something beside being given. */
static const size_t flag_at[OPTIONS] = {
	[OPTION_ASCII] = AT(page.ascii),
	[OPTION_UTC] = AT(page.utc),
	[OPTION_MOUSE] = AT(page.mouse),
	[OPTION_CLIPBOARD] = AT(page.clipboard),
};

int
option_set(struct parse *p, enum option_id id, const char *arg)
{
	struct options *o = p->o;

	o->given[id] = true;
	o->text[id] = arg;
	if (setter[id] != NULL)
		return setter[id](p, arg);
	if (text_at[id] != 0)
		*(const char **)((char *)o + text_at[id]) = arg;
	if (flag_at[id] != 0)
		*(bool *)((char *)o + flag_at[id]) = true;
	switch (id) {
	case OPTION_LIMIT:
		return get_number(p, id, arg, 1, UINT32_MAX, &o->limit);
	case OPTION_COUNT:
		return get_number(p, id, arg, 1, UINT32_MAX, &o->count);
	case OPTION_INTERVAL:
		return get_seconds(p, id, arg, &o->interval_ms);
	case OPTION_DURATION:
		return get_seconds(p, id, arg, &o->duration_ms);
	case OPTION_TIMEOUT:
		return get_seconds(p, id, arg, &o->timeout_ms);
	case OPTION_MAX_LIVE:
	case OPTION_MAX_BLOCKS:
	case OPTION_MAX_GROWTH:
	case OPTION_MAX_AGE:
		return set_budget(p, id, arg);
	case OPTION_LEAST:
		return get_share(p, id, arg, 100, &o->least);
	case OPTION_TOLERANCE:
		return get_share(p, id, arg, 1000, &o->tolerance);
	default:
		return 0;
	}
}

int
option_switch(const char *text)
{
	static const char *const words[] = { "no", "yes", "off", "on",
		"false", "true" };
	int i = find_word(text, words, BASE_NELEM(words));

	return i < 0 ? i : i % 2;
}

static int
set_from_file(struct parse *p, enum option_id id, const char *text)
{
	const char *argument = option_rows[id].argument;
	int on;

	if (argument != NULL && argument[0] != '[')
		return option_set(p, id, text);
	on = option_switch(text);
	if (on < 0 && argument == NULL)
		return option_fail(p, "--%s=%s: not one of yes|no",
		    option_rows[id].name, words_shown(text));
	if (on == 0)
		return 0;
	p->o->filed[id] = true;
	return option_set(p, id, on > 0 ? NULL : text);
}

int
options_set(struct options *o, enum option_id id, const char *text, char *why,
    size_t cap)
{
	struct parse p = { .o = o, .why = why, .cap = cap };
	const char *was = o->text[id];
	bool given = o->given[id];
	int r;

	r = set_from_file(&p, id, text);
	/* Given is what stands on the command line, and that alone. */
	o->given[id] = given;
	o->text[id] = was;
	return r;
}
