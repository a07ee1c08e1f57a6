#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../../filter/filter.h"
#include "../../capture/capture.h"
#include "../groups/group_kinds.h"
#include "cli.h"

#define VALUE_BASE 1000		/* getopt's values: above every letter */
#define REMOTE_VARIABLE "PAGEK_REMOTE"	/* as --remote-pageknode */

#define OF(command) TAKER(COMMAND_##command)
#define IN(group) TAKER_GROUP(GROUP_##group)

_Static_assert(COMMANDS + GROUP_FILE < 64, "a bit for each");

const struct command_row command_rows[COMMANDS] = {
#define COMMAND(id, name_, synopsis_, words_, run_, check_, groups_, help_) \
	[COMMAND_##id] = { .name = name_, .synopsis = synopsis_, \
	    .words = words_, .run = run_, .check = check_, \
	    .takes = OF(id) | (groups_), .help = help_ },
#include "commands.def"
#undef COMMAND
};

/* The command of that name; COMMANDS: there is none. */
static enum command
command_find(const char *name)
{
	unsigned i;

	for (i = 0; i < COMMANDS; i++)
		if (strcmp(name, command_rows[i].name) == 0)
			break;
	return (enum command)i;
}

static void
command_names(const char *names[COMMANDS])
{
	for (int i = 0; i < COMMANDS; i++)
		names[i] = command_rows[i].name;
}

static int
take_target(struct parse *p, const char *word)
{
	const char *names[COMMANDS];
	bool first = p->o->command == COMMAND_DEFAULT;
	int r;

	/* Behind a command, no command is suggested. */
	command_names(names);
	p->o->target_given = true;
	r = target_parse(&p->o->target, word, names, first ? COMMANDS : 0,
	    p->why, p->cap);
	if (r == 0 || r == PAGEK_USAGE)
		return r;
	/* Errors in later words are reported first. */
	p->target_status = r;
	return 0;
}

static int
take_topic(struct parse *p, const char *word)
{
	const char *names[COMMANDS];
	char clause[NEAREST_CLAUSE];

	p->o->words.topic = command_find(word);
	if (p->o->words.topic != COMMANDS)
		return 0;
	command_names(names);
	return option_fail(p, "no command '%s'%s", base_shown(word),
	    nearest_clause(clause, word, names, COMMANDS, ""));
}

static int
take_shell(struct parse *p, const char *word)
{
	static const char *const names[] = { "bash", "zsh", "fish",
		"targets" };
	char clause[NEAREST_CLAUSE];

	for (size_t i = 0; i < BASE_NELEM(names); i++)
		if (strcmp(word, names[i]) == 0) {
			p->o->words.shell = names[i];
			return 0;
		}
	return option_fail(p, "no completion for '%s'%s", base_shown(word),
	    nearest_clause(clause, word, names, BASE_NELEM(names),
	    ": the shells are bash, zsh and fish"));
}

static bool
is_listing_name(const char *word)
{
	static const char form[] = "dddddddd-dddddd-dddd";
	size_t i;

	for (i = 0; form[i] != '\0' && word[i] != '\0'; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)word[i]) :
		    word[i] != form[i])
			return false;
	return form[i] == word[i];
}

static int
take_listing(struct parse *p, const char *word)
{
	struct options *o = p->o;

	if (o->words.name == NULL && (o->target_given || is_listing_name(word))) {
		o->words.name = word;
		return 0;
	}
	if (!o->target_given && o->words.name == NULL)
		return take_target(p, word);
	return option_fail(p, "one word too many: '%s'", base_shown(word));
}

/* A regular file; another one with a slash, which reading refuses, unless it is a socket. */
static bool
is_file(const char *word)
{
	struct stat st;

	return stat(word, &st) == 0 && (S_ISREG(st.st_mode) ||
	    (strchr(word, '/') != NULL && !S_ISSOCK(st.st_mode)));
}

/* It may be meant as the name of a file that is not there. */
static bool
may_be_file(const char *word)
{
	return strchr(word, ':') == NULL && strcmp(word, "local") != 0;
}

/* Two words that are no files: one of them at least is not what it should be. */
static int
refuse_dump(struct parse *p, const char *word)
{
	const char *first = p->o->target.word;
	bool a = may_be_file(first), b = may_be_file(word);

	if (a && b)
		return option_fail(p, "neither '%s' nor '%s' is a file",
		    base_shown(first), base_shown(word));
	return a || b ? option_fail(p, "there is no file '%s'",
	    base_shown(a ? first : word)) :
	    option_fail(p, "one word too many: '%s'", base_shown(word));
}

static int
add_file(struct parse *p, const char *word)
{
	struct events_options *files = &p->o->events;
	void *array = files->file;

	if (base_grow(&array, &files->cap, files->files + 1,
	    sizeof *files->file) < 0)
		return option_fail(p, "there are too many files");
	files->file = array;
	files->file[files->files++] = word;
	return 0;
}

/* The TARGET, with another refusal of a name that no target has: `what` is not there. */
static int
take_target_or(struct parse *p, const char *word, const char *what)
{
	char why[200];
	int r = take_target(p, word);

	if (r == 0 && p->o->target.kind == TARGET_COMMAND) {
		base_copy_text(why, sizeof why, p->o->target.refusal);
		snprintf(p->o->target.refusal, sizeof p->o->target.refusal,
		    "%s, and %s", what, why);
	}
	return r;
}

static int
take_dump(struct parse *p, const char *word)
{
	if (strncmp(word, "file:", 5) == 0 && (is_file(word + 5) ||
	    capture_match(word + 5)))
		word += 5;
	if (is_file(word) || capture_match(word) || (strcmp(word, "-") == 0 &&
	    p->o->command == COMMAND_USAGE))
		return add_file(p, word);
	/* A difference is of two moments of one target. */
	if (p->o->target_given && p->o->command == COMMAND_DIFF &&
	    !p->o->target_twice && strcmp(word, p->o->target.word) == 0) {
		p->o->target_twice = true;
		return 0;
	}
	if (p->o->target_given)
		return refuse_dump(p, word);
	return take_target_or(p, word, access(word, F_OK) == 0 ?
	    "no regular file" : "no such file");
}

/* A program's file may have the name of a target: only a capture is taken as a file. */
static int
take_capture(struct parse *p, const char *word)
{
	static const char prefix[] = "file:";

	if (strncmp(word, prefix, strlen(prefix)) == 0)
		return add_file(p, word + strlen(prefix));
	return capture_match(word) ? add_file(p, word) :
	    take_target_or(p, word, access(word, F_OK) == 0 ?
	    "no capture" : "no such file");
}

static int
take_mark(struct parse *p, const char *word)
{
	struct options *o = p->o;

	if (o->words.name == NULL) {
		o->words.name = word;
		return 0;
	}
	if (!o->target_given)
		return take_target(p, word);
	return option_fail(p, "one word too many: '%s'", base_shown(word));
}

/* The TARGET is the first word, unless that is an address. */
static int
take_range(struct parse *p, const char *word)
{
	struct refcnt_options *r = &p->o->refcnt;
	uint64_t n;

	if (!p->o->target_given && r->numbers == 0 && (!isdigit((unsigned char)
	    *word) || option_address(word, &n) < 0))
		return take_target(p, word);
	switch (r->numbers++) {
	case 0:
		return option_address(word, &r->vaddr) == 0 ? 0 :
		    option_fail(p, "'%s' is no ADDRESS such as 0x7f3c00402000",
		    base_shown(word));
	case 1:
		return option_length(word, &r->len) == 0 ? 0 :
		    option_fail(p, "'%s' is no LENGTH such as 4096, 64k or "
		    "0x1000", base_shown(word));
	case 2:
		if (base_parse_count(word, REFCNT_NODES - 1, &n) < 0)
			return option_fail(p, "'%s' is no number of a NODE",
			    base_shown(word));
		r->node = (unsigned)n;
		return 0;
	default:
		return option_fail(p, "one word too many: '%s'",
		    base_shown(word));
	}
}

static int
take_no_word(struct parse *p, const char *word)
{
	return option_fail(p, "'pagek %s' takes no word, and '%s' is one too "
	    "many", command_rows[p->o->command].name, base_shown(word));
}

static int
take_word(struct parse *p, const char *word, unsigned *words)
{
	struct options *o = p->o;
	enum command named = command_find(word);

	if (!o->command_given && *words == 0 && named != COMMANDS) {
		o->command = named;
		o->command_given = true;
		return 0;
	}
	if (command_rows[o->command].words == WORDS_LISTING)
		return take_listing(p, word);
	if (command_rows[o->command].words == WORDS_MARK)
		return take_mark(p, word);
	if (command_rows[o->command].words == WORDS_DUMPS)
		return take_dump(p, word);
	if (command_rows[o->command].words == WORDS_RANGE)
		return take_range(p, word);
	if (++*words > 1)
		return option_fail(p, named != COMMANDS && !o->command_given ?
		    "the command goes first: 'pagek %s ...'" :
		    "one word too many: '%s'", base_shown(word));
	switch (command_rows[o->command].words) {
	case WORDS_NONE:
		return take_no_word(p, word);
	case WORDS_SHELL:
		return take_shell(p, word);
	case WORDS_TOPIC:
		return take_topic(p, word);
	case WORDS_MEMORY:
		o->words.memory = word;
		return 0;
	case WORDS_CAPTURE:
		return take_capture(p, word);
	case WORDS_REPLAY:
		o->target_given = true;
		return target_parse_file(&o->target, word, p->why, p->cap);
	default:
		return take_target(p, word);
	}
}

static void
make_tables(struct option longs[OPTIONS + 1], char shorts[3 + 2 * OPTIONS])
{
	char *s = shorts;
	int id;

	/* Return words in their places, and ':' for a missing argument. */
	*s++ = '-';
	*s++ = ':';
	for (id = 0; id < OPTIONS; id++) {
		const char *arg = option_argument(id);

		longs[id] = (struct option){
			.name = option_name(id),
			.has_arg = base_option_has_arg(option_rows[id].option),
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
		    option_name(opt - VALUE_BASE));
	if (opt != 0)
		return option_fail(p, "unknown option '-%s'",
		    base_shown((const char[]){ (char)opt, '\0' }));
	while (*word == '-')
		word++;
	len = strcspn(word, "=");
	snprintf(name, sizeof name, "%.*s", (int)(len < 60 ? len : 60), word);
	for (id = 0; id < OPTIONS; id++)
		names[id] = option_name(id);
	near = base_nearest(name, names, OPTIONS);
	if (near != NULL)
		return option_fail(p,
		    "unknown option '--%s': did you mean '--%s'?",
		    base_shown(name), near);
	return option_fail(p, "unknown option '--%s'", base_shown(name));
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

static bool
takes_program(const struct options *o)
{
	enum command_words words = command_rows[o->command].words;

	return words == WORDS_PROGRAM || words == WORDS_TARGET_OR_PROGRAM;
}

/* The note's table was asked for with --config, which has a FILE elsewhere. */
static void
rename_bare_config(int argc, char **argv)
{
	static char memory[] = "--memory";

	if (argc < 2 || strcmp(argv[1], "refcnt") != 0)
		return;
	for (int i = 2; i < argc; i++)
		if (strcmp(argv[i], "--config") == 0)
			argv[i] = memory;
}

static int
parse_words(struct parse *p, int argc, char **argv)
{
	struct option longs[OPTIONS + 1];
	char shorts[3 + 2 * OPTIONS];
	struct options *o = p->o;
	unsigned words = 0;
	int c, r = 0;

	rename_bare_config(argc, argv);
	make_tables(longs, shorts);
	opterr = 0;
	optind = 0;		/* glibc: begin anew, also in a second parse */
	while (r == 0 &&
	    (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == 1 && command_rows[o->command].words == WORDS_PROGRAM) {
			/* All further words are the program's. */
			o->argv = &argv[optind - 1];
			return 0;
		}
		if (c == 1)
			r = take_word(p, optarg, &words);
		else if (c == '?')
			r = unknown_option(p, argv[optind - 1], optopt);
		else if (c == ':')
			r = option_fail(p, "--%s needs an argument: %s",
			    option_name(option_of_value(optopt)),
			    option_argument(option_of_value(optopt)));
		else
			r = option_set(p, (enum option_id)option_of_value(c),
			    optarg);
	}
	if (r == 0 && optind < argc && takes_program(o)) {
		o->argv = &argv[optind];
		return 0;
	}
	for (; r == 0 && optind < argc; optind++)
		r = take_word(p, argv[optind], &words);
	return r;
}

int
command_unchecked(struct parse *p)
{
	(void)p;
	return 0;
}

int
option_none_of(struct parse *p, const enum option_id *ids, size_t n,
    const char *why_not)
{
	for (size_t i = 0; i < n; i++)
		if (option_given(p->o, ids[i]))
			return option_fail(p, "--%s %s",
			    option_name(ids[i]), why_not);
	return 0;
}

static int
check_taken(struct parse *p)
{
	const struct options *o = p->o;
	unsigned id;

	if (option_given(o, OPTION_KEYS) && o->command == COMMAND_HISTORY)
		return option_fail(p, "-S is for dump and diff: a history is in "
		    "the order of time, and -r reverses it");
	for (id = 0; id < OPTIONS; id++)
		if (option_given(o, id) &&
		    !option_taken(&option_rows[id], o->command))
			return option_fail(p, "'pagek %s' takes no option --%s",
			    command_rows[o->command].name,
			    option_name(id));
	return 0;
}

static int
check_pairs(struct parse *p)
{
	static const enum option_id pairs[][2] = {
		{ OPTION_ONCE, OPTION_BATCH },
		{ OPTION_CONFIG, OPTION_NO_CONFIG },
		{ OPTION_QUIET, OPTION_VERBOSE },
		{ OPTION_CLASSIC, OPTION_WIDE },
	};

	for (size_t i = 0; i < BASE_NELEM(pairs); i++)
		if (option_given(p->o, pairs[i][0]) &&
		    option_given(p->o, pairs[i][1]))
			return option_fail(p, "--%s and --%s exclude each "
			    "other", option_name(pairs[i][0]),
			    option_name(pairs[i][1]));
	return 0;
}

static int
check_screen(struct parse *p)
{
	static const enum option_id screen[] = { OPTION_COLOR, OPTION_FPS,
		OPTION_MOUSE, OPTION_CLIPBOARD, OPTION_STRESS };

	if (!options_as_text(p->o))
		return 0;
	return option_none_of(p, screen, BASE_NELEM(screen), "is for the page "
	    "on a terminal, not for text");
}

static int
check_units(struct parse *p)
{
	const struct options *o = p->o;

	if (!option_given(o, OPTION_UNITS))
		return 0;
	if (options_as_data(o))
		return option_fail(p, "--units is for text: --format=%s has "
		    "sizes in bytes", o->text[OPTION_FORMAT]);
	if ((option_given(o, OPTION_ONCE) || option_given(o, OPTION_BATCH)) &&
	    option_given(o, OPTION_CLASSIC))
		return option_fail(p, "--units is for the wide layout, not for "
		    "--classic");
	return 0;
}

/* The clock of a demo; of debug data --at is a moment of a capture. */
static int
check_clock(struct parse *p)
{
	const struct base_option *row = &node_handed[NODE_OPTION_AT].option;
	struct options *o = p->o;
	char clause[160];

	if (o->events.ats == 0 || o->events.files > 0 ||
	    o->target.kind == TARGET_FILE ||
	    !command_in(o->command, GROUP_READ) ||
	    base_option_take(row, (char *)&o->node,
	    o->events.at[o->events.ats - 1]) == 0)
		return 0;
	base_option_wrong(row, clause, sizeof clause);
	return option_fail(p, "--at=%s: %s",
	    base_shown(o->events.at[o->events.ats - 1]), clause);
}

static int
check_demo(struct parse *p)
{
	const struct options *o = p->o;
	bool demo = o->target.kind == TARGET_DEMO;
	bool file = o->target.kind == TARGET_FILE;

	if (o->events.part != NULL && !file && o->events.files == 0 &&
	    command_in(o->command, GROUP_READ))
		return option_fail(p, "--part is for captures, as of 'pagek "
		    "record'");
	if (demo && o->node.demo.at != NULL &&
	    strcmp(o->target.name, "note") != 0)
		return option_fail(p, "--at is for demo:note: the clock of "
		    "demo:%s is its own", o->target.name);
	if (command_rows[o->command].words == WORDS_PROGRAM || demo)
		return 0;
	if (o->node.demo.at != NULL)
		return option_fail(p, "--at is for demos, such as demo:note");
	if (o->node.demo.stream != NULL)
		return option_fail(p,
		    "--stream is for demos, such as demo:note");
	if (o->list == LIST_CHECK && !file)
		return option_fail(p,
		    "--list=check is for 'pagek run', captures and demos: "
		    "their node is started with it");
	return 0;
}

static int
check_ssh(struct parse *p)
{
	const struct options *o = p->o;

	if (option_given(o, OPTION_REMOTE_PAGEKNODE) &&
	    command_rows[o->command].words != WORDS_NONE &&
	    o->target.kind != TARGET_SSH)
		return option_fail(p, "--remote-pageknode is for other "
		    "machines, such as ssh:linac-b");
	return 0;
}

static int
check_raw(struct parse *p)
{
	const struct options *o = p->o;

	if (o->node.device.baud != 0 && o->target_given &&
	    o->target.kind != TARGET_RAW)
		return option_fail(p, "--baud is for serial lines, such as "
		    "raw:/dev/ttyUSB0");
	return 0;
}

static int
check_stacks(struct parse *p)
{
	const struct options *o = p->o;

	if (o->node.stack == 0 && option_given(o, OPTION_FREE_STACK))
		return option_fail(p,
		    "--free-stack needs stacks: --stack=0 has none");
	return 0;
}

static int
check_since(struct parse *p)
{
	const struct options *o = p->o;
	const char *has = o->command == COMMAND_STRESS ? "boot" : "click";

	if (!option_given(o, OPTION_SINCE) ||
	    strcmp(o->text[OPTION_SINCE], has) == 0)
		return 0;
	return option_fail(p, "'pagek %s' takes --since=%s",
	    command_rows[o->command].name, has);
}

static int
check_prom(struct parse *p)
{
	if (p->o->format == FORMAT_PROM &&
	    !command_in(p->o->command, GROUP_SUMS))
		return option_fail(p, "--format=prom is for 'pagek list', "
		    "'pagek stress' and 'pagek usage'");
	return 0;
}

static int
check_filter(struct parse *p)
{
	struct options *o = p->o;

	if (!command_in(o->command, GROUP_SCREEN))
		return 0;
	if (o->filter.text != NULL && o->page.layout == PAGE_CLASSIC_STRICT)
		return option_fail(p, "--filter has no meaning with "
		    "--classic=strict, which shows all blocks");
	o->page.filter = o->filter.compiled;
	return 0;
}

static int
check_group(struct parse *p)
{
	const struct options *o = p->o;
	const struct page_group_kind *kind = page_group_kind(o->page.group);

	if (kind == NULL)
		return o->sort.groups_only ? option_fail(p, "--sort=%s sorts "
		    "groups%s", o->text[OPTION_SORT],
		    command_in(o->command, GROUP_SCREEN) ?
		    ": give --group too, as in --group=site" :
		    ", and this command has none") : 0;
	if (o->page.layout == PAGE_CLASSIC_STRICT)
		return option_fail(p, "--group has no meaning with "
		    "--classic=strict, which has no groups");
	return options_as_data(o) && o->page.group_below != 0 ? option_fail(p,
	    "--format=%s has groups of one level: --group=%s, say",
	    o->text[OPTION_FORMAT], kind->word) : 0;
}

static int
check_layout(struct parse *p)
{
	static const enum option_id layouts[] = { OPTION_CLASSIC, OPTION_WIDE };
	const struct options *o = p->o;
	size_t i;

	for (i = 0; options_as_data(o) && command_in(o->command, GROUP_SCREEN) &&
	    i < BASE_NELEM(layouts); i++)
		if (option_given(o, layouts[i]))
			return option_fail(p, "--%s is for text, not for "
			    "--format=%s", option_name(layouts[i]),
			    o->text[OPTION_FORMAT]);
	return 0;
}

/* The first rule that fails is reported, after those of the command. */
static int (*const checks[])(struct parse *) = {
	check_screen,
	check_units,
	check_clock,
	check_demo,
	check_ssh,
	check_raw,
	check_stacks,
	check_since,
	check_prom,
	check_filter,
	check_group,
	check_layout,
};

static int
check_all(struct parse *p)
{
	int r = check_taken(p);

	if (r == 0)
		r = check_pairs(p);
	/* Data has rows of blocks only. */
	p->o->page.free = !options_as_data(p->o);
	if (r == 0)
		r = command_rows[p->o->command].check(p);
	for (size_t i = 0; r == 0 && i < BASE_NELEM(checks); i++)
		r = checks[i](p);
	return r;
}

static bool
is_ecosmdd(const char *name)
{
	const char *slash = name != NULL ? strrchr(name, '/') : NULL;

	return name != NULL &&
	    strcmp(slash != NULL ? slash + 1 : name, "ecosmdd") == 0;
}

int
options_parse(struct options *o, int argc, char **argv, char *why, size_t cap)
{
	struct parse p = { .o = o, .why = why, .cap = cap };
	int r;

	*o = (struct options){
		.command = COMMAND_DEFAULT,
		.target = { .kind = TARGET_LOCAL, .word = "local",
		    .name = "" },
		.words = { .topic = COMMANDS },
		.tree.by = PROFILE_FUNCTION,
		.page = { .listing = "" },
		.node = { NODE_OPTS_NONE },
	};
	options_standard(o);
	r = parse_words(&p, argc, argv);
	if (r != 0)
		return r;
	if (o->remote == NULL)
		o->remote = getenv(REMOTE_VARIABLE);
	if (o->remote != NULL && o->remote[0] == '\0')
		o->remote = NULL;
	if (option_given(o, OPTION_HELP) || option_given(o, OPTION_VERSION))
		return 0;
	if (p.target_status != 0)
		return p.target_status;
	return is_ecosmdd(argv[0]) && !command_in(o->command, GROUP_MDD) &&
	    o->command != COMMAND_HELP ? option_fail(&p, "ecosmdd needs one of "
	    "its commands: stats, dump, history or diff") : check_all(&p);
}

void
options_fini(struct options *o)
{
	free(o->events.file);
	o->events.file = NULL;
	filter_free(o->filter.compiled);
	o->filter.compiled = NULL;
	for (unsigned i = 0; i < o->check.budgets; i++) {
		filter_free(o->check.budget[i].filter);
		o->check.budget[i].filter = NULL;
	}
}

void
options_session(const struct options *o, struct nodes_session_opts *s)
{
	/* Only a page arms its target: a single look would see no blocks. */
	s->look_only = option_on(o, OPTION_LOOK_ONLY) ||
	    option_given(o, OPTION_DORMANT) || option_given(o, OPTION_ONCE) ||
	    !command_in(o->command, GROUP_SCREEN);
	s->since_click = option_given(o, OPTION_SINCE);
	s->max = o->node.max;
	/* A page reads the rows that it shows; text has all rows. */
	s->whole = option_given(o, OPTION_ONCE) || option_given(o, OPTION_BATCH) ||
	    !command_in(o->command, GROUP_SCREEN);
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
	for (i = 0; i < o->skip.n && r == 0; i++)
		r = symbol_wrappers_add(w, o->skip.pattern[i]);
	if (r < 0) {
		symbol_wrappers_free(w);
		return r;
	}
	*out = w;
	return 0;
}
