#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../filter/filter.h"
#include "../groups/group_kinds.h"
#include "../layout/fields.h"
#include "../blocks/order.h"
#include "../blocks/row_filter.h"
#include "options.h"

int
option_fail(struct parse *p, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(p->why, p->cap, fmt, ap);
	va_end(ap);
	return PAGEK_USAGE;
}

const char *
nearest_clause(char out[NEAREST_CLAUSE], const char *word,
    const char *const *names, size_t n, const char *none)
{
	const char *near = base_nearest(word, names, n);

	snprintf(out, NEAREST_CLAUSE, near != NULL ? ": did you mean '%s'?" :
	    "%s", near != NULL ? near : none);
	return out;
}

static int
option_wrong(struct parse *p, enum option_id id, const char *arg)
{
	char clause[160];

	base_option_wrong(option_rows[id].option, clause, sizeof clause);
	return option_fail(p, "--%s=%s: %s", option_name(id),
	    base_shown(arg), clause);
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

static bool
is_of_usage(const struct parse *p, enum option_id id)
{
	return p->o->command == COMMAND_USAGE && option_given(p->o, id);
}

static int
set_usage_sort(struct parse *p, const char *arg)
{
	char words[200] = "";
	size_t len = 0;

	if (usage_sort_parse(arg, &p->o->usage.sort))
		return 0;
	for (unsigned i = 0; i < USAGE_SORTS; i++)
		base_append(words, sizeof words, &len, "%s%s", i > 0 ? "|" : "",
		    usage_sort_rows[i].word);
	return option_fail(p, "--sort=%s: not one of %s", base_shown(arg), words);
}

static int
set_sort(struct parse *p, const char *arg)
{
	struct page_sorting sorting;
	enum profile_measure by;
	bool of_groups;

	if (is_of_usage(p, OPTION_SORT))
		return set_usage_sort(p, arg);
	if (p->o->command == COMMAND_STRESS && option_given(p->o, OPTION_SORT))
		return 0;		/* stress_tables_check() looks at the word */
	/* Settings are of blocks.  Some words are of both, as those of :sort. */
	of_groups = option_given(p->o, OPTION_SORT) &&
	    page_sum_called(arg, &by) == 0;
	if (of_groups)
		p->o->page.group_sort = by;
	p->o->sort.groups_only = !page_sorting_parse(arg, &sorting);
	if (p->o->sort.groups_only)
		return of_groups ? 0 : option_fail(p, "--sort=%s: not one of "
		    "%s, nor up to %d letters for them such as Ns, nor of "
		    PAGE_SUM_WORDS " for groups", base_shown(arg),
		    option_argument(OPTION_SORT), PAGE_SORTINGS);
	p->o->sort.reversed = sorting.by[0].reverse;
	sorting.by[0].reverse ^= option_given(p->o, OPTION_REVERSE);
	page_sorting_put(&sorting, &p->o->page);
	return 0;
}

static const char pages_letters[] =
#define PAGE(action, letter, ...) "|" #letter
#include "../picture/pages.def"
#undef PAGE
    ;

static const char pages_help[] = "start with this page"
#define PAGE(action, letter, key, bar, rank, name, title) \
	"; " #letter ": " title
#include "../picture/pages.def"
#undef PAGE
    ;

static int
set_classic(struct parse *p, const char *arg)
{
	if (arg != NULL && strcmp(arg, "strict") != 0)
		return option_fail(p,
		    "--classic=%s: only strict is allowed",
		    base_shown(arg));
	p->o->page.layout = arg != NULL ? PAGE_CLASSIC_STRICT : PAGE_CLASSIC;
	return 0;
}

static int
set_since(struct parse *p, const char *arg)
{
	return strcmp(arg, "click") == 0 || strcmp(arg, "boot") == 0 ? 0 :
	    option_wrong(p, OPTION_SINCE, arg);
}

const char *const option_measures[] = {
	[PROFILE_BYTES] = "bytes",
	[PROFILE_BLOCKS] = "blocks",
	[PROFILE_AGE] = "age",
};

const char *const option_groupings[] = {
	[PROFILE_SITE] = "site",
	[PROFILE_FUNCTION] = "function",
	[PROFILE_LINE] = "line",
	[PROFILE_FRAME] = "frame",
	[PROFILE_MODULE] = "module",
	[PROFILE_CTYPE] = "ctype",
};

const char *const option_tree_counts[TREE_COUNTS] = {
	[TREE_HELD] = "held",
	[TREE_ALLOCATIONS] = "allocations",
	[TREE_PEAK] = "peak",
};

/* A measure, a grouping, or the blocks to sum: their words differ. */
static int
set_by(struct parse *p, const char *arg)
{
	struct tree_options *tree = &p->o->tree;
	int i = find_word(arg, option_measures, BASE_NELEM(option_measures));

	if (i >= 0) {
		tree->measure = (enum profile_measure)i;
		return 0;
	}
	i = find_word(arg, option_tree_counts, TREE_COUNTS);
	if (i > TREE_HELD) {
		tree->counts = (enum tree_counts)i;
		return 0;
	}
	i = find_word(arg, option_groupings, BASE_NELEM(option_groupings));
	if (i < 0)
		return option_wrong(p, OPTION_BY, arg);
	tree->by = (enum profile_by)i;
	tree->by_group = true;
	return 0;
}

static int
set_skip(struct parse *p, const char *arg)
{
	struct skip_options *skip = &p->o->skip;

	if (arg[strspn(arg, ", \t")] == '\0')
		return option_fail(p, "--skip=%s: no pattern of function names",
		    base_shown(arg));
	if (skip->n == OPTIONS_SKIPS)
		return option_fail(p, "--skip is given more than %d times",
		    OPTIONS_SKIPS);
	skip->pattern[skip->n++] = arg;
	return 0;
}

static int
set_usage_group(struct parse *p, const char *arg)
{
	int by = find_word(arg, usage_groupings, USAGE_GROUPINGS);

	if (by < 0)
		return option_fail(p, "--group=%s: not one of none|type|function|"
		    "line|module|size", base_shown(arg));
	p->o->usage.group = (enum usage_grouping)by;
	return 0;
}

static int
set_group(struct parse *p, const char *arg)
{
	char list[160];

	if (is_of_usage(p, OPTION_GROUP))
		return set_usage_group(p, arg);
	if (page_group_kinds_parse(arg, &p->o->page.group,
	    &p->o->page.group_below) == 0)
		return 0;
	page_group_kinds_list(list, sizeof list);
	return option_fail(p, "--group takes none, %s, or two of them as in "
	    "site>type, not '%s'", list, base_shown(arg));
}

static int
set_filter(struct parse *p, const char *arg)
{
	struct filter_option *o = &p->o->filter;
	struct filter_error e;
	int r;

	filter_free(o->compiled);
	o->compiled = NULL;
	o->text = arg;
	r = filter_new_of(&o->compiled, is_of_usage(p, OPTION_FILTER) ?
	    &filter_usage : &filter_blocks, arg, &e);
	if (r != -EINVAL)
		return r < 0 ? option_fail(p, "--filter: %s", strerror(-r)) : 0;
	o->wrong = true;
	o->wrong_at = e.at;
	return option_fail(p, "--filter, column %zu: %s",
	    page_filter_error_column(arg, e.at), e.why);
}

static int
set_reverse(struct parse *p, const char *arg)
{
	struct page_sorting sorting;

	(void)arg;
	page_sorting_get(&p->o->page, &sorting);
	sorting.by[0].reverse = !p->o->sort.reversed;
	page_sorting_put(&sorting, &p->o->page);
	p->o->page.group_reverse = true;
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
read_hex(const char *text, uint64_t *out)
{
	size_t n = strspn(text, "0123456789abcdefABCDEF");

	if (n == 0 || n > 16 || text[n] != '\0')
		return -EINVAL;
	*out = strtoull(text, NULL, 16);
	return 0;
}

static bool
has_prefix(const char *text)
{
	return text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
}

int
option_address(const char *text, uint64_t *out)
{
	return read_hex(has_prefix(text) ? text + 2 : text, out);
}

int
option_length(const char *text, uint64_t *out)
{
	return has_prefix(text) ? read_hex(text + 2, out) :
	    base_parse_size(text, UINT64_MAX, out);
}

static int
set_block(struct parse *p, const char *arg)
{
	return option_address(arg, &p->o->refcnt.block) == 0 ? 0 :
	    option_wrong(p, OPTION_BLOCK, arg);
}

static int
set_match(struct parse *p, const char *arg)
{
	struct events_options *r = &p->o->events;

	if (r->matches == EVENTS_MATCHES)
		return option_fail(p, "-F is given more than %d times",
		    EVENTS_MATCHES);
	r->match[r->matches++] = arg;
	return 0;
}

static int
set_at(struct parse *p, const char *arg)
{
	struct events_options *r = &p->o->events;

	if (r->ats == BASE_NELEM(r->at))
		return option_fail(p, "--at is given more than %zu times",
		    BASE_NELEM(r->at));
	r->at[r->ats++] = arg;
	return 0;
}

static int
set_baseline(struct parse *p, const char *arg)
{
	if (arg[0] == '\0')
		return option_fail(p, "--baseline= needs a file");
	p->o->check.baseline = arg;
	return 0;
}

/* Appends a budget; NULL, with a sentence in why: there are too many. */
static struct budget *
add_budget(struct parse *p, enum budget_kind kind, const char *arg)
{
	struct check_options *c = &p->o->check;
	struct budget *b;

	if (c->budgets == BUDGETS) {
		option_fail(p, "there are more than %d limits", BUDGETS);
		return NULL;
	}
	b = &c->budget[c->budgets++];
	*b = (struct budget){ .kind = kind, .text = arg };
	return b;
}

/* Copies the text before `at`; false if it is too long. */
static bool
copy_front(const char *arg, const char *at, char *out, size_t cap)
{
	size_t len = (size_t)(at - arg);

	if (len >= cap)
		return false;
	memcpy(out, arg, len);
	out[len] = '\0';
	return true;
}

static bool
parse_blocks(const char *text, double *most)
{
	uint64_t n;

	if (base_parse_count(text, UINT64_MAX, &n) < 0)
		return false;
	*most = (double)n;
	return true;
}

static int
set_max_live(struct parse *p, const char *arg)
{
	struct budget *b = add_budget(p, BUDGET_LIVE, arg);
	uint64_t bytes;

	if (b == NULL)
		return PAGEK_USAGE;
	if (filter_size(arg, &bytes) < 0)
		return option_wrong(p, OPTION_MAX_LIVE, arg);
	b->most = (double)bytes;
	return 0;
}

/* A unit of time in minutes; 0: unknown unit. */
static double
minutes_of(const char *unit)
{
	static const struct {
		const char *name;
		double minutes;
	} units[] = {
		{ "s", 1.0 / 60 }, { "sec", 1.0 / 60 }, { "m", 1 },
		{ "min", 1 }, { "h", 60 }, { "hour", 60 }, { "d", 1440 },
		{ "day", 1440 },
	};

	for (size_t i = 0; i < BASE_NELEM(units); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].minutes;
	return 0;
}

static int
set_max_growth(struct parse *p, const char *arg)
{
	const char *slash = strrchr(arg, '/');
	struct budget *b = add_budget(p, BUDGET_GROWTH, arg);
	char size[64];
	uint64_t bytes;

	if (b == NULL)
		return PAGEK_USAGE;
	if (slash == NULL || !copy_front(arg, slash, size, sizeof size) ||
	    filter_size(size, &bytes) < 0 || minutes_of(slash + 1) == 0)
		return option_wrong(p, OPTION_MAX_GROWTH, arg);
	b->most = (double)bytes / minutes_of(slash + 1);
	return 0;
}

static int
set_max_age(struct parse *p, const char *arg)
{
	const char *colon = strrchr(arg, ':');
	struct budget *b = add_budget(p, BUDGET_AGE, arg);
	char age[64];

	if (b == NULL)
		return PAGEK_USAGE;
	if (colon == NULL || !copy_front(arg, colon, age, sizeof age) ||
	    filter_age(age, &b->ms) < 0 || !parse_blocks(colon + 1, &b->most))
		return option_wrong(p, OPTION_MAX_AGE, arg);
	return 0;
}

static int
set_age(struct parse *p, const char *arg)
{
	uint64_t ms;

	if (filter_age(arg, &ms) < 0 || ms > INT64_MAX)
		return option_wrong(p, OPTION_AGE, arg);
	p->o->stale.age_ms = (int64_t)ms;
	return 0;
}

/* Without an expression, all blocks count. */
static int
set_max_blocks(struct parse *p, const char *arg)
{
	const char *colon = strrchr(arg, ':');
	char text[FILTER_MAX + 1];
	struct filter_error e;
	struct budget *b = add_budget(p, BUDGET_BLOCKS, arg);
	int r;

	if (b == NULL)
		return PAGEK_USAGE;
	if (!parse_blocks(colon != NULL ? colon + 1 : arg, &b->most))
		return option_wrong(p, OPTION_MAX_BLOCKS, arg);
	if (colon == NULL)
		return 0;
	if (!copy_front(arg, colon, text, sizeof text))
		return option_fail(p, "--max-blocks: the expression is longer "
		    "than %d bytes", FILTER_MAX);
	b->expression = strlen(text);
	r = filter_new(&b->filter, text, &e);
	if (r == 0)
		return 0;
	return r == -EINVAL ? option_fail(p, "--max-blocks, column %zu: %s",
	    e.at + 1, e.why) : option_fail(p, "--max-blocks: %s",
	    strerror(-r));
}

#define OF(command) TAKER(COMMAND_##command)
#define IN(group) TAKER_GROUP(GROUP_##group)
#define ANY (TAKER(COMMANDS) - 1)

#define ROW_STRUCT struct options
#include "../../base/option.h"
#define BY(f) { .kind = BASE_OTHER }, .set = f
#define BY_ELSE(f, clause) { .kind = BASE_OTHER, .wrong = clause }, .set = f

const struct option_row option_rows[OPTIONS] = {
#define OPT(id, name_, letter_, argument_, value_, standard_, takers_, help_) \
	[OPTION_##id] = { .own.name = name_, .own.argument = argument_, \
	    .own.help = help_, .own.value = value_, \
	    .option = &option_rows[OPTION_##id].own, .letter = letter_, \
	    .standard = standard_, .takers = takers_ },
#define HANDED(id, letter_, standard_, takers_) \
	[OPTION_##id] = { .option = &node_handed[NODE_OPTION_##id].option, \
	    .at = offsetof(struct options, node), .letter = letter_, \
	    .standard = standard_, .takers = takers_ },
#include "options.def"
#undef OPT
#undef HANDED
};

static int
store_value(struct parse *p, enum option_id id, const char *arg)
{
	const struct option_row *row = &option_rows[id];

	if (row->set != NULL)
		return row->set(p, arg);
	if (base_option_take(row->option, (char *)p->o + row->at, arg) < 0)
		return option_wrong(p, id, arg);
	return 0;
}

int
option_set(struct parse *p, enum option_id id, const char *arg)
{
	p->o->source[id] = SOURCE_LINE;
	p->o->text[id] = arg;
	return store_value(p, id, arg);
}

void
options_standard(struct options *o)
{
	char why[128];

	for (unsigned id = 0; id < OPTIONS; id++)
		if (option_rows[id].standard != NULL)
			options_set(o, id, option_rows[id].standard, why,
			    sizeof why);
}

int
option_switch(const char *text)
{
	static const char *const words[] = { "no", "yes", "off", "on",
		"false", "true" };
	int i = find_word(text, words, BASE_NELEM(words));

	return i < 0 ? i : i % 2;
}

int
options_set(struct options *o, enum option_id id, const char *text, char *why,
    size_t cap)
{
	struct parse p = { .o = o, .why = why, .cap = cap };
	const char *argument = option_argument(id);
	int on;

	if (argument != NULL && argument[0] != '[')
		return store_value(&p, id, text);
	on = option_switch(text);
	if (on < 0 && argument == NULL)
		return option_fail(&p, "--%s=%s: not one of yes|no",
		    option_name(id), base_shown(text));
	if (on == 0)
		return 0;
	if (o->source[id] == SOURCE_NONE)
		o->source[id] = SOURCE_FILE;
	return store_value(&p, id, on > 0 ? NULL : text);
}
