#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app.h"
#include "pages.h"

static void
do_filter(struct app *app, const char *arg)
{
	app_filter(app, arg);
}

static void
do_help(struct app *app)
{
	app_panel_open(app, APP_HELP);
}

#define PAGE(action, letter, ...) \
	static void \
	do_page_##letter(struct app *app) \
	{ \
		app_page_open(app, PAGE_##letter, false); \
	}
#include "../picture/pages.def"
#undef PAGE

/* Callers change, so groups are summed again. */
static void
apply_wrappers(struct app *app)
{
	app->page->opts.wrappers = app->wrappers;
	app->page->round++;
}

/* Copies the options' list, which must not be changed. */
static int
copy_wrappers(struct app *app)
{
	const struct symbol_wrappers *given = app->page->opts.wrappers;
	const char *pattern;
	size_t k = 0;
	int r;

	if (app->wrappers != NULL)
		return 0;
	r = symbol_wrappers_new(&app->wrappers);
	if (r < 0)
		return r;
	r = symbol_wrappers_add(app->wrappers, "none");
	while (r == 0 && given != NULL &&
	    (pattern = symbol_wrappers_pattern(given, k++)) != NULL)
		r = symbol_wrappers_add(app->wrappers, pattern);
	return r;
}

static void
skip_wrappers(struct app *app, const char *patterns)
{
	int r = copy_wrappers(app);

	if (r == 0)
		r = symbol_wrappers_add(app->wrappers, patterns);
	if (app->wrappers != NULL)
		apply_wrappers(app);
	if (r == -EINVAL)
		app_say(app, "'%.64s' are not patterns; write them as in :skip "
		    "zmalloc,my_*", patterns);
	else if (r < 0)
		app_say(app, "cannot skip: %s", strerror(-r));
	else if (strcmp(patterns, "none") == 0)
		app_say(app, "nothing is skipped");
	else
		app_say(app, "skipping %.128s", patterns);
}

static void
do_skip(struct app *app, const char *arg)
{
	struct symbol_wrappers *w;
	int r;

	if (arg[0] != '\0') {
		skip_wrappers(app, arg);
		return;
	}
	r = symbol_wrappers_new(&w);
	if (r < 0) {
		app_say(app, "cannot skip: %s", strerror(-r));
		return;
	}
	app->page->opts.wrappers = w;
	symbol_wrappers_free(app->wrappers);
	app->wrappers = w;
	apply_wrappers(app);
	app_say(app, "skipping the wrappers that pagek knows");
}

static void
do_noskip(struct app *app)
{
	skip_wrappers(app, "none");
}

static void
arm_target(struct app *app, enum wire_arming arming)
{
	bool off = arming == WIRE_ARM_OFF;
	int r = nodes_session_arm(app->session, arming);

	if (r == -EBUSY)
		app_say(app, "the node has not answered yet");
	else if (r < 0)
		app_say(app, "there is no live target to %s",
		    off ? "disarm" : "arm");
	else if (nodes_session_look(app->session)->state == NODES_LIVE)
		app_say(app, off ? "asked the node to disarm it" :
		    "it logs already, and will until it is disarmed");
	else
		app_say(app, off ? "it is dormant already" :
		    "asked the node to arm it");
}

static void
do_arm(struct app *app)
{
	arm_target(app, WIRE_ARM_HOLD);
}

static void
do_disarm(struct app *app)
{
	arm_target(app, WIRE_ARM_OFF);
}

static void
do_node(struct app *app, const char *arg)
{
	if (arg[0] != '\0')
		app_go(app, arg);
	else
		app_say(app, "which node? a number or a name of the table, as "
		    "in :node 0590");
}

static void
do_back(struct app *app)
{
	app_go(app, "-");
}

static const struct page_command {
	const char *name;
	const char *args;	/* "": none */
	const char *help;
	void (*run)(struct app *, const char *arg);	/* with args */
	void (*act)(struct app *);			/* without */
} commands[] = {
	{ "target", "[PID|NAME]", "list the node's targets, or go to one",
	    .run = app_target },
	{ "node", "NODE[/TARGET]", "go to another node, or to the newest "
	    "target of a command; - is the previous one",
	    .run = do_node },
	{ "back", "", "go to the previous node", .act = do_back },
	{ "sort", "WORD|LETTERS", "sort by this column; s shows the list",
	    .run = app_sort },
	{ "group", "KIND[>KIND]",
	    "group the blocks, on one or two levels; none "
	    "ends it",
	    .run = app_group_by },
	{ "filter", "[EXPRESSION]",
	    "show only blocks that match, or "
	    "all",
	    .run = do_filter },
	{ "skip", "[PATTERNS]",
	    "treat these functions as allocation wrappers; "
	    "without any, the default ones",
	    .run = do_skip },
	{ "noskip", "",
	    "skip no wrappers: show the direct caller of "
	    "malloc",
	    .act = do_noskip },
	{ "arm", "", "start logging in a dormant target", .act = do_arm },
	{ "disarm", "", "stop logging and discard the list", .act = do_disarm },
	{ "mark", "[NAME]",
	    "set the mark; with a name at the node, for all "
	    "pages and tomorrow",
	    .run = app_mark_named },
	{ "marks", "", "list the node's marks of this target",
	    .act = app_list_marks },
	{ "diff", "[NAME]",
	    "page H: the difference to the mark, or to the node's mark of "
	    "that name",
	    .run = app_compare },
	{ "drain", "", "hide blocks allocated from now on, or show all",
	    .act = app_drain },
	{ "at", "MOMENT",
	    "in a capture: go to a time, +90s from its beginning, begin, end, "
	    "peak or a mark",
	    .run = app_replay_at },
	{ "play", "[SPEED]",
	    "in a capture: play, SPEED times as fast as it ran",
	    .run = app_replay_play },
	{ "step", "[N]",
	    "in a capture: step forward by N events, or back by -N",
	    .run = app_replay_steps },
	{ "export", "FILE",
	    "write what is shown to FILE.txt, .json, .ndjson "
	    "or .csv",
	    .run = app_export },
	{ "set", "[KEY VALUE]", "list the settings, or set one for this page",
	    .run = app_set },
	{ "save", "", "write the changed settings to your settings file",
	    .act = app_save_settings },
#define PAGE(action, letter, key, bar, rank, name, title) \
	{ #letter, "", "page " #letter ": " title, .act = do_page_##letter },
#include "../picture/pages.def"
#undef PAGE
	{ "help", "", "show the help", .act = do_help },
	{ "q", "", "leave the page; target and node run on", .act = app_leave },
};

void
app_commands_help(struct page_picture *pic)
{
	char text[64];
	size_t i;

	for (i = 0; i < BASE_NELEM(commands); i++) {
		snprintf(text, sizeof text, ":%s %s", commands[i].name,
		    commands[i].args);
		picture_entry(pic, text, 23, commands[i].help);
	}
}

static void
say_unknown(struct app *app, const char *name)
{
	const char *words[BASE_NELEM(commands)], *near;
	size_t i;

	for (i = 0; i < BASE_NELEM(commands); i++)
		words[i] = commands[i].name;
	near = base_nearest(name, words, BASE_NELEM(words));
	if (near != NULL)
		app_say(app, "no command ':%.64s'; did you mean ':%s'?", name,
		    near);
	else
		app_say(app, "no command ':%.64s'; :help lists them", name);
}

void
app_command(struct app *app, const char *line)
{
	char word[LINE_TEXT], *arg, *end;
	size_t i;

	snprintf(word, sizeof word, "%s", line + strspn(line, " \t"));
	end = word + strlen(word);
	while (end > word && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	if (word[0] == '\0')
		return;
	arg = word + strcspn(word, " \t");
	if (*arg != '\0')
		*arg++ = '\0';
	arg += strspn(arg, " \t");
	for (i = 0; i < BASE_NELEM(commands); i++) {
		if (strcmp(commands[i].name, word) != 0)
			continue;
		if (commands[i].run != NULL)
			commands[i].run(app, arg);
		else if (*arg != '\0')
			app_say(app, ":%s takes no argument", word);
		else
			commands[i].act(app);
		return;
	}
	say_unknown(app, word);
}

static void
complete_node(struct app *app, const char *before, const char *arg,
    struct line_words *words)
{
	struct nodes_table *table;
	char number[8];
	size_t i;

	app_complete_from(words, before, arg);
	app_target_commands(app, words);
	if (nodes_table_load(&table, true, NULL, NULL) < 0)
		return;
	for (i = 0; i < table->n; i++) {
		snprintf(number, sizeof number, "%04X", table->entry[i].number);
		line_words_add(words, number);
		line_words_add(words, table->entry[i].name);
	}
	nodes_table_free(table);
}

static void
complete_moment(struct app *app, const char *before, const char *arg,
    struct line_words *words)
{
	(void)app;
	app_complete_from(words, before, arg);
	app_complete_choices(words, "begin|end|peak");
}

static void
complete_group(struct app *app, const char *before, const char *arg,
    struct line_words *words)
{
	const struct page_group_kind *k;
	unsigned i;

	(void)app;
	app_complete_from(words, before, arg);
	line_words_add(words, "none");
	for (i = 1; (k = page_group_kind(i)) != NULL; i++)
		line_words_add(words, k->name);
}

/* Other commands complete the lower-case words of their `args`. */
static const struct {
	const char *name;
	void (*complete)(struct app *, const char *before, const char *arg,
	    struct line_words *);
} completions[] = {
	{ "at", complete_moment },
	{ "diff", app_marks_complete },
	{ "group", complete_group },
	{ "mark", app_marks_complete },
	{ "node", complete_node },
	{ "set", app_set_complete },
	{ "target", app_target_complete },
};

static void
complete_command(struct app *app, const char *before, struct line_words *words)
{
	const char *word = before + strspn(before, " "), *arg;
	size_t n = strcspn(word, " "), i;

	if (word[n] == '\0') {
		app_complete_from(words, before, word);
		for (i = 0; i < BASE_NELEM(commands); i++)
			line_words_add(words, commands[i].name);
		return;
	}
	arg = word + n + strspn(word + n, " ");
	app_complete_from(words, before, arg);
	for (i = 0; i < BASE_NELEM(completions); i++)
		if (strlen(completions[i].name) == n &&
		    strncmp(completions[i].name, word, n) == 0) {
			completions[i].complete(app, before, arg, words);
			return;
		}
	for (i = 0; i < BASE_NELEM(commands); i++)
		if (strlen(commands[i].name) == n &&
		    strncmp(commands[i].name, word, n) == 0)
			app_complete_choices(words, commands[i].args);
}

static bool
submit_command(struct app *app, const char *text)
{
	app_command(app, text);
	return true;
}

static const struct app_prompt_ops command_prompt = {
	.label = ":",
	.history = "command",
	.submit = submit_command,
	.complete = complete_command,
};

void
app_command_open(struct app *app)
{
	app_prompt_open(app, &command_prompt);
	app_target_prepare(app);
	app_marks_prepare(app);
}
