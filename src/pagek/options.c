/*
 * From argv to struct options, and what is made of them.
 */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "options_table.h"
#include "target_words.h"

#define VALUE_BASE 1000		/* getopt's values: above every letter */
#define TIMEOUT_MS 10000
#define INTERVAL_MS 1000
#define LEAST 0.01
#define TOLERANCE 0.1
#define REMOTE_VARIABLE "PAGEK_REMOTE"	/* as --remote-pageknode */

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
			r = option_set(p, (enum option_id)option_of_value(c),
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
	/* What goes together depends on what the target is. */
	return p.missed != 0 ? p.missed : options_check(&p);
}

/* --- what is made of them ----------------------------------------------- */

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
	/* A page is looked at row by row; what is written has all of them. */
	s->whole = option_given(o, OPTION_ONCE) || option_given(o, OPTION_BATCH) ||
	    (o->command != COMMAND_TOP && o->command != COMMAND_RUN);
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
