/*
 * From argv to struct options.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "kinds.h"
#include "options_table.h"
#include "order.h"
#include "sieve.h"
#include "target_words.h"

#define SECONDS_MAX 86400.0
#define VALUE_BASE 1000		/* getopt's values: above every letter */
#define TIMEOUT_MS 10000
#define INTERVAL_MS 1000
#define LEAST 0.01
#define TOLERANCE 0.1
#define REMOTE_VARIABLE "PAGEK_REMOTE"	/* as --remote-pageknode */

/* --- values ------------------------------------------------------------- */

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

static int
get_seconds(struct parse *p, enum option_id id, const char *arg, int *ms)
{
	char *end;
	double s;

	s = strtod(arg, &end);
	if (!isdigit((unsigned char)arg[0]) || *end != '\0' ||
	    !(s >= 0.05 && s <= SECONDS_MAX))
		return option_fail(p,
		    "--%s=%s: not a time from 0.05 to 86400 seconds",
		    option_rows[id].name, words_shown(arg));
	*ms = (int)(s * 1000);
	return 0;
}

/* The index of the word among those of the list, or -1. */
static int
get_word(const char *arg, const char *const *words, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (strcmp(arg, words[i]) == 0)
			return (int)i;
	return -1;
}

static int
set_sort(struct parse *p, const char *arg)
{
	struct page_sorting sorting;

	if (!page_sorting_parse(arg, &sorting))
		return bad_value(p, OPTION_SORT, arg);
	/* --reverse turns that round, wherever it stands. */
	p->o->backwards = sorting.by[0].reverse;
	sorting.by[0].reverse ^= option_given(p->o, OPTION_REVERSE);
	page_sorting_put(&sorting, &p->o->page);
	return 0;
}

static int
set_page(struct parse *p, const char *arg)
{
	if (strcmp(arg, "K") != 0 && strcmp(arg, "G") != 0)
		return bad_value(p, OPTION_PAGE, arg);
	p->o->page.nodes_first = arg[0] == 'G';
	return 0;
}

static int
set_color(struct parse *p, const char *arg)
{
	static const char *const words[] = {
		[PAGE_COLOR_AUTO] = "auto",
		[PAGE_COLOR_ALWAYS] = "always",
		[PAGE_COLOR_NEVER] = "never",
	};
	int i = get_word(arg, words, BASE_NELEM(words));

	if (i < 0)
		return bad_value(p, OPTION_COLOR, arg);
	p->o->page.color = (enum page_color)i;
	return 0;
}

static int
set_units(struct parse *p, const char *arg)
{
	static const char *const words[] = {
		[PAGE_UNITS_EXACT] = "exact",
		[PAGE_UNITS_K] = "k",
		[PAGE_UNITS_HEX] = "hex",
	};
	int i = get_word(arg, words, BASE_NELEM(words));

	if (i < 0)
		return bad_value(p, OPTION_UNITS, arg);
	p->o->page.units = (enum page_units)i;
	return 0;
}

static int
set_list(struct parse *p, const char *arg)
{
	static const char *const words[] = { "note", "indexed", "check" };
	int i = get_word(arg, words, BASE_NELEM(words));

	if (i < 0)
		return bad_value(p, OPTION_LIST, arg);
	p->o->list = LIST_NOTE + i;
	return 0;
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
	    get_word(arg + digits, units, BASE_NELEM(units)) < 0)
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
	};
	int i = get_word(arg, words, BASE_NELEM(words));

	if (i < 0)
		return bad_value(p, OPTION_FORMAT, arg);
	p->o->format = (enum text_format)i;
	p->o->json = i != FORMAT_TEXT;
	return 0;
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
	int i = get_word(arg, measures, BASE_NELEM(measures));

	if (i >= 0) {
		p->o->measure = (enum profile_measure)i;
		return 0;
	}
	i = get_word(arg, groups, BASE_NELEM(groups));
	if (i < 0)
		return bad_value(p, OPTION_BY, arg);
	p->o->by = (enum profile_by)i;
	p->o->by_group = true;
	return 0;
}

static int
set_least(struct parse *p, const char *arg)
{
	char *end;
	double percent;

	percent = strtod(arg, &end);
	if (!isdigit((unsigned char)arg[0]) || *end != '\0' ||
	    !(percent >= 0 && percent <= 100))
		return option_fail(p,
		    "--least=%s: not a share from 0 to 100 percent",
		    words_shown(arg));
	p->o->least = percent / 100;
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
set_tolerance(struct parse *p, const char *arg)
{
	char *end;
	double percent;

	percent = strtod(arg, &end);
	if (!isdigit((unsigned char)arg[0]) || *end != '\0' ||
	    !(percent >= 0 && percent <= 1000))
		return option_fail(p,
		    "--tolerance=%s: not a share from 0 to 1000 percent",
		    words_shown(arg));
	p->o->tolerance = percent / 100;
	return 0;
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
	    "site>type, not '%s'", list, arg);
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

/* Options without a value are only given, or set what stands here. */
static void
set_plain(struct options *o, enum option_id id)
{
	struct page_sorting sorting;

	if (id == OPTION_REVERSE) {
		page_sorting_get(&o->page, &sorting);
		sorting.by[0].reverse = !o->backwards;
		page_sorting_put(&sorting, &o->page);
	} else if (id == OPTION_WIDE)
		o->page.layout = PAGE_WIDE;
	else if (id == OPTION_ASCII)
		o->page.ascii = true;
	else if (id == OPTION_UTC)
		o->page.utc = true;
	else if (id == OPTION_MOUSE)
		o->page.mouse = true;
}

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
	[OPTION_LEAST] = set_least,
	[OPTION_DEPTH] = set_depth,
	[OPTION_STACK] = set_stack,
	[OPTION_SAMPLE] = set_sample,
	[OPTION_SKIP] = set_skip,
	[OPTION_TOLERANCE] = set_tolerance,
	[OPTION_FILTER] = set_filter,
	[OPTION_GROUP] = set_group,
};

static int
set_option(struct parse *p, enum option_id id, const char *arg)
{
	struct options *o = p->o;

	o->given[id] = true;
	o->text[id] = arg;
	if (setter[id] != NULL)
		return setter[id](p, arg);
	switch (id) {
	case OPTION_LIMIT:
		return get_number(p, id, arg, 1, UINT32_MAX, &o->limit);
	case OPTION_COUNT:
		return get_number(p, id, arg, 1, UINT32_MAX, &o->count);
	case OPTION_INTERVAL:
		return get_seconds(p, id, arg, &o->interval_ms);
	case OPTION_MAX_LIVE:
	case OPTION_MAX_BLOCKS:
	case OPTION_MAX_GROWTH:
	case OPTION_MAX_AGE:
		return option_budget(p, id, arg);
	case OPTION_DURATION:
		return get_seconds(p, id, arg, &o->duration_ms);
	case OPTION_BASELINE:
		if (arg[0] == '\0')
			return option_fail(p, "--baseline= needs a file");
		o->baseline = arg;
		break;
	case OPTION_TIMEOUT:
		return get_seconds(p, id, arg, &o->timeout_ms);
	case OPTION_OUTPUT:
		o->output = arg;
		break;
	case OPTION_REPORT:
		o->report = arg;
		break;
	case OPTION_FIELDS:
		o->fields = arg;
		break;
	case OPTION_STREAM:
		o->stream = arg;
		break;
	case OPTION_REMOTE_PAGEKNODE:
		o->remote = arg;
		break;
	case OPTION_CONFIG:
		o->config_file = arg;
		break;
	case OPTION_LISTING:
		o->page.listing = arg;
		break;
	case OPTION_FOCUS:
		o->focus = arg;
		break;
	default:
		set_plain(o, id);
		break;
	}
	return 0;
}

/* What a file says of an option that takes no value: 1, 0 or -1 for neither. */
static int
get_switch(const char *text)
{
	static const char *const words[] = { "no", "yes", "off", "on",
		"false", "true" };
	int i = get_word(text, words, BASE_NELEM(words));

	return i < 0 ? i : i % 2;
}

static int
set_from_file(struct parse *p, enum option_id id, const char *text)
{
	const char *argument = option_rows[id].argument;
	int on;

	if (argument != NULL && argument[0] != '[')
		return set_option(p, id, text);
	on = get_switch(text);
	if (on < 0 && argument == NULL)
		return option_fail(p, "--%s=%s: not one of yes|no",
		    option_rows[id].name, words_shown(text));
	if (on == 0)
		return 0;
	p->o->filed[id] = true;
	return set_option(p, id, on > 0 ? NULL : text);
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

/* --- getopt ------------------------------------------------------------- */

static void
make_tables(struct option longs[OPTIONS + 1], char shorts[3 + 2 * OPTIONS])
{
	char *s = shorts;
	int id;

	/* Words in their places, and a missing argument told apart. */
	*s++ = '-';
	*s++ = ':';
	for (id = 0; id < OPTIONS; id++) {
		const char *arg = option_rows[id].argument;

		longs[id] = (struct option){
			.name = option_rows[id].name,
			.has_arg = arg == NULL ? no_argument :
			    arg[0] == '[' ? optional_argument :
			    required_argument,
			.val = VALUE_BASE + id,
		};
		if (option_rows[id].letter == 0)
			continue;
		*s++ = (char)option_rows[id].letter;
		if (arg != NULL)
			*s++ = ':';
	}
	*s = '\0';
	longs[OPTIONS] = (struct option){ 0 };
}

static int
unknown_option(struct parse *p, const char *word, int opt)
{
	const char *names[OPTIONS], *near;
	char name[64];
	size_t len;
	int id;

	if (opt >= VALUE_BASE)
		return option_fail(p, "--%s takes no argument",
		    option_rows[opt - VALUE_BASE].name);
	if (opt != 0)
		return option_fail(p, "unknown option '-%s'",
		    words_shown((const char[]){ (char)opt, '\0' }));
	while (*word == '-')
		word++;
	len = strcspn(word, "=");
	snprintf(name, sizeof name, "%.*s", (int)(len < 60 ? len : 60), word);
	for (id = 0; id < OPTIONS; id++)
		names[id] = option_rows[id].name;
	near = base_nearest(name, names, OPTIONS);
	if (near != NULL)
		return option_fail(p,
		    "unknown option '--%s': did you mean '--%s'?",
		    words_shown(name), near);
	return option_fail(p, "unknown option '--%s'", words_shown(name));
}

static int
option_of_value(int value)
{
	int id;

	if (value >= VALUE_BASE)
		return value - VALUE_BASE;
	for (id = 0; id < OPTIONS; id++)
		if (option_rows[id].letter == value)
			return id;
	return -1;
}

static int
parse_words(struct parse *p, int argc, char **argv)
{
	struct option longs[OPTIONS + 1];
	char shorts[3 + 2 * OPTIONS];
	struct options *o = p->o;
	unsigned words = 0;
	int c, r = 0;

	make_tables(longs, shorts);
	opterr = 0;
	optind = 0;		/* glibc: begin anew, also in a second parse */
	while (r == 0 &&
	    (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == 1 && o->command == COMMAND_RUN) {
			/* The command's own words are nobody else's. */
			o->argv = (const char *const *)&argv[optind - 1];
			return 0;
		}
		if (c == 1)
			r = option_word(p, optarg, &words);
		else if (c == '?')
			r = unknown_option(p, argv[optind - 1], optopt);
		else if (c == ':')
			r = option_fail(p, "--%s needs an argument: %s",
			    option_rows[option_of_value(optopt)].name,
			    option_rows[option_of_value(optopt)].argument);
		else
			r = set_option(p, (enum option_id)option_of_value(c),
			    optarg);
	}
	/* Behind "--" is a command, also of a check. */
	if (r == 0 && optind < argc && (o->command == COMMAND_RUN ||
	    o->command == COMMAND_CHECK)) {
		o->argv = (const char *const *)&argv[optind];
		return 0;
	}
	for (; r == 0 && optind < argc; optind++)
		r = option_word(p, argv[optind], &words);
	return r;
}

int
options_parse(struct options *o, int argc, char **argv, char *why, size_t cap)
{
	struct parse p = { .o = o, .why = why, .cap = cap };
	int r;

	*o = (struct options){
		.command = COMMAND_TOP,
		.target = { .kind = TARGET_LOCAL, .word = "local",
		    .rest = "" },
		.topic = COMMANDS,
		.interval_ms = INTERVAL_MS,
		.timeout_ms = TIMEOUT_MS,
		.stack = OPTIONS_STACK,
		.by = PROFILE_FUNCTION,
		.least = LEAST,
		.tolerance = TOLERANCE,
		.page = { .order = BLKLIST_BY_AGE, .listing = "" },
	};
	r = parse_words(&p, argc, argv);
	if (r != 0)
		return r;
	if (o->remote == NULL)
		o->remote = getenv(REMOTE_VARIABLE);
	if (o->remote != NULL && o->remote[0] == '\0')
		o->remote = NULL;
	/* Whoever asks for help gets it, whatever else stands there. */
	if (option_given(o, OPTION_HELP) || option_given(o, OPTION_VERSION))
		return 0;
	return options_check(&p);
}

void
options_session(const struct options *o, struct nodes_session_opts *s)
{
	/*
	 * A page arms what it shows, for as long as it does.  Who wants to see
	 * once what is there would see nothing, and it would log for a minute.
	 */
	s->look_only = option_on(o, OPTION_LOOK_ONLY) ||
	    option_given(o, OPTION_DORMANT) || option_given(o, OPTION_ONCE) ||
	    (o->command != COMMAND_TOP && o->command != COMMAND_RUN);
	s->since_click = option_given(o, OPTION_SINCE);
	s->max = o->max;
	s->kind_given = o->list != LIST_DEFAULT;
	s->kind = o->list == LIST_NOTE ? BLKLIST_LITERAL : BLKLIST_INDEXED;
}

int
options_wrappers(const struct options *o, struct symbol_wrappers **out)
{
	struct symbol_wrappers *w = NULL;
	unsigned i;
	int r;

	r = symbol_wrappers_new(&w);
	if (r == 0 && option_on(o, OPTION_NO_SKIP))
		r = symbol_wrappers_add(w, "none");
	for (i = 0; i < o->skips && r == 0; i++)
		r = symbol_wrappers_add(w, o->skip[i]);
	if (r < 0) {
		symbol_wrappers_free(w);
		return r;
	}
	*out = w;
	return 0;
}
