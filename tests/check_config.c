/*
 * Settings from files: what a line may say, who goes before whom, and that
 * what holds is what the program shows.
 */
#include <stdio.h>
#include <string.h>

#include "../src/base/base.h"
#include "../src/pagek/cli/config.h"
#include "../src/pagek/page/view.h"
#include "../src/pagek/picture/picture.h"
#include "../src/pagek/rows/rows.h"
#include "harness.h"

#define WORDS 16

static struct options o;
static struct config config;
static char said[16 * 1024];
static unsigned sentences;

static void
hear(void *arg, const char *sentence)
{
	size_t len = strlen(said);

	(void)arg;
	sentences++;
	snprintf(said + len, sizeof said - len, "%s\n", sentence);
}

static void
begin(void)
{
	unsetenv("PAGEK_REMOTE");
	unsetenv("NO_COLOR");
	memset(&config, 0, sizeof config);
	config.path[CONFIG_SYSTEM] = strdup("theirs");
	config.path[CONFIG_USER] = strdup("mine");
	said[0] = '\0';
	sentences = 0;
}

static void
end(void)
{
	config_fini(&config);
}

static void
file(enum config_origin origin, const char *text)
{
	ck_assert_int_eq(config_parse(&config, origin, text, strlen(text),
	    hear, NULL), 0);
}

/* A command line, and then what the files say. */
static void
run(const char *line)
{
	static char copy[1024];
	static char *argv[WORDS + 1];
	char *word, *rest, why[256];
	int argc = 0;

	snprintf(copy, sizeof copy, "pagek %s", line);
	for (word = strtok_r(copy, " ", &rest); word != NULL && argc < WORDS;
	    word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	argv[argc] = NULL;
	ck_assert_msg(options_parse(&o, argc, argv, why, sizeof why) == 0,
	    "'%s': %s", line, why);
	config_apply(&config, &o);
}

/* --- lines ---------------------------------------------------------------- */

static const struct {
	const char *line, *says;
} wrong[] = {
	{ "sort", "'sort' is no setting: write 'KEY = VALUE'" },
	{ "= age", "there is no setting ''" },
	{ "sort =", "'sort' has no value: write 'sort = age|address|" },
	{ "utc = # yes", "write 'utc = yes'" },
	{ "sort = sise", "sort=sise: not one of age|address|" },
	{ "Sort = age", "did you mean 'sort'?" },
	{ "--sort = age", "did you mean 'sort'?" },
	{ "srot = age", "did you mean 'sort'?" },
	{ "nonsense = 1", "'pagek config --show' lists them" },
	{ "once = yes", "'once' is for the command line alone" },
	{ "output = f", "'output' is for the command line alone" },
	{ "config = f", "'config' is for the command line alone" },
	{ "utc = perhaps", "utc=perhaps: not one of yes|no" },
	{ "classic = loose", "classic=loose: only strict" },
	{ "fps = 16", "fps=16: not a number from 1 to 15" },
	{ "fps = 3 4", "fps=3 4: not a number" },
	{ "timeout = 0", "timeout=0: not a time" },
	{ "stack = 65", "stack=65: not a number from 0 to 64" },
	{ "skip = ,", "skip=,: no pattern" },
	{ "sort = \033[2J", "a control character" },
	{ "sort = \xff", "not valid UTF-8" },
};

CASE("files", .setup = begin, .teardown = end);

LOOP_TEST(a_line_with_a_mistake_is_said_and_left_out, 0, BASE_NELEM(wrong))
{
	char text[256];

	snprintf(text, sizeof text, "# good\n%s\nmax = 7\n", wrong[_i].line);
	file(CONFIG_USER, text);
	ck_assert_msg(sentences == 1 && strncmp(said, "mine:2: ", 8) == 0 &&
	    strstr(said, wrong[_i].says) != NULL, "'%s' says %s, not '%s'",
	    wrong[_i].line, said, wrong[_i].says);
	ck_assert_ptr_null(strchr(said, '\033'));
	run("list demo:1");
	ck_assert_uint_eq(o.node.max, 7);
}

TEST(a_section_that_nobody_knows_is_skipped_with_one_sentence)
{
	file(CONFIG_USER, "[nonsense]\nF5 = what\nq = x\n[keys]\nx = none\n");
	ck_assert_uint_eq(sentences, 1);
	ck_assert_ptr_nonnull(strstr(said, "mine:1: there is no section "
	    "[nonsense], only [keys] and [colors]: it is skipped"));
	ck_assert_uint_eq(config.keys, 1);
}

/* --- sections ------------------------------------------------------------- */

static const struct {
	const char *line, *says;
} wrong_in_section[] = {
	{ "[keys]\nF99 = sort", "no key is called 'F99'" },
	{ "[keys]\nab = sort", "no key is called 'ab'" },
	{ "[keys]\nx", "'x' is no setting" },
	{ "[keys]\nx =", "'x' has no value" },
	{ "[keys]\nx = srot", "no action 'srot': did you mean 'sort'?" },
	{ "[keys]\nx = kin", "no action 'kin'" },
	{ "[colors]\ncursr = red", "did you mean 'cursor'?" },
	{ "[colors]\ncursor = mauve", "'mauve' is no colour" },
	{ "[colors]\ncursor = white on", "'on' is no colour" },
	{ "[colors]\ncursor = white on bold", "'bold' is no colour" },
	{ "[colors]\nplain = red", "[colors] has no item" },
};

LOOP_TEST(a_wrong_line_of_a_section_is_said_and_left_out, 0,
    (int)BASE_NELEM(wrong_in_section))
{
	file(CONFIG_USER, wrong_in_section[_i].line);
	ck_assert_uint_eq(sentences, 1);
	ck_assert_msg(strncmp(said, "mine:2: ", 8) == 0 &&
	    strstr(said, wrong_in_section[_i].says) != NULL, "%s", said);
	ck_assert_uint_eq(config.keys, 0);
	for (unsigned i = 0; i < PAGE_MARKS; i++)
		ck_assert_uint_eq(config.color[i].at.line, 0);
}

TEST(a_key_does_what_the_file_says)
{
	file(CONFIG_USER, "[keys]\nF5 = pause # really\nx = none\n= = sort\n"
	    "\xc3\xa4 = reverse\n^X = page-down\nEnter = help\n"
	    "U+0023 = quit\n");
	ck_assert_str_eq(said, "");
	config_bind_keys(&config);
	ck_assert_int_eq(page_key_action(PAGE_KEY_F0 + 5), PAGE_DO_PAUSE);
	ck_assert_int_eq(page_key_action('x'), PAGE_DO_NOTHING);
	ck_assert_int_eq(page_key_action('='), PAGE_DO_SORT);
	ck_assert_int_eq(page_key_action(0xe4), PAGE_DO_REVERSE);
	ck_assert_int_eq(page_key_action(PAGE_CTRL('X')), PAGE_DO_PAGE_DOWN);
	ck_assert_int_eq(page_key_action('#'), PAGE_DO_QUIT);
	/* All that the key may send. */
	ck_assert_int_eq(page_key_action('\r'), PAGE_DO_HELP);
	ck_assert_int_eq(page_key_action(PAGE_KEY_ENTER), PAGE_DO_HELP);
	ck_assert_int_eq(page_key_action(' '), PAGE_DO_PAUSE);
	page_keys_unbind();
	ck_assert_int_eq(page_key_action('\r'), PAGE_DO_OPEN);
	ck_assert_int_eq(page_key_action('='), PAGE_DO_NOTHING);
}

TEST(of_two_files_the_users_keys_and_colours_hold)
{
	file(CONFIG_SYSTEM, "[keys]\nx = sort\ny = sort\n"
	    "[colors]\nnew = red\nbad = red\n");
	file(CONFIG_USER, "[keys]\nx = quit\nx = help\n"
	    "[colors]\nnew = blue\nnew = green\n");
	ck_assert_uint_eq(sentences, 2);
	ck_assert_uint_eq(config.keys, 2);
	config_bind_keys(&config);
	ck_assert_int_eq(page_key_action('x'), PAGE_DO_QUIT);
	ck_assert_int_eq(page_key_action('y'), PAGE_DO_SORT);
	page_keys_unbind();
	ck_assert_int_eq(config.color[PAGE_NEW].style.ink, 4);
	ck_assert_int_eq(config.color[PAGE_BAD].style.ink, 1);
}

TEST(a_style_is_what_its_words_say)
{
	struct page_style styles[PAGE_MARKS];
	char text[PAGE_STYLE_TEXT];

	file(CONFIG_USER, "[colors]\ncursor = bold white on blue\n"
	    "warn = plain\nstale = cyan\n");
	ck_assert_str_eq(said, "");
	config_styles(&config, styles);
	page_style_text(styles[PAGE_CURSOR], text);
	ck_assert_str_eq(text, "bold white on blue");
	page_style_text(styles[PAGE_WARN], text);
	ck_assert_str_eq(text, "plain");
	page_style_text(styles[PAGE_HEADING], text);
	ck_assert_str_eq(text, "reverse");
	/* Without colours what had only one is as usual, and still seen. */
	styles[PAGE_STALE] = page_style_bare(PAGE_STALE, styles[PAGE_STALE]);
	page_style_text(styles[PAGE_STALE], text);
	ck_assert_str_eq(text, "dim");
	styles[PAGE_CURSOR] = page_style_bare(PAGE_CURSOR,
	    styles[PAGE_CURSOR]);
	page_style_text(styles[PAGE_CURSOR], text);
	ck_assert_str_eq(text, "bold");
}

TEST(every_name_of_a_key_or_an_action_can_be_read)
{
	char word[PAGE_ACTION_WORD], name[16], line[64];
	enum page_action action;
	size_t i;
	int code;

	for (i = 0; page_action_word(i, &action, word); i++) {
		end();
		begin();
		snprintf(line, sizeof line, "[keys]\nz = %s", word);
		file(CONFIG_USER, line);
		ck_assert_msg(config.keys == 1 && config.key[0].action ==
		    action, "%s: %s", word, said);
	}
	ck_assert_uint_gt(i, 20);
	for (code = 1; code < 0x300; code++) {
		page_key_name(page_key_one(code), name);
		if (page_key_one(code) > ' ')
			ck_assert_msg(page_key_parse(name) ==
			    page_key_one(code), "%s", name);
	}
	for (code = PAGE_KEY_UP; code <= PAGE_KEY_F_LAST; code++) {
		page_key_name(code, name);
		if (code != PAGE_KEY_OTHER && code != PAGE_KEY_F0)
			ck_assert_int_eq(page_key_parse(name), code);
	}
}

TEST(of_two_in_a_file_the_first_stands)
{
	file(CONFIG_USER, "max = 7\nmax = 8\n");
	ck_assert_ptr_nonnull(strstr(said,
	    "mine:2: 'max' is already in line 1"));
	run("list demo:1");
	ck_assert_uint_eq(o.node.max, 7);
}

TEST(a_file_of_nonsense_is_said_in_few_sentences)
{
	static char text[8192];
	size_t len = 0;

	for (unsigned i = 0; i < 100; i++)
		base_append(text, sizeof text, &len, "x%u = 1\n", i);
	file(CONFIG_USER, text);
	ck_assert_uint_eq(sentences, CONFIG_SAID_MAX + 1);
	ck_assert_ptr_nonnull(strstr(said, "mine: and 84 lines more"));
}

/* --- who goes before whom -------------------------------------------------- */

TEST(values_arrive_and_are_not_given)
{
	file(CONFIG_USER,
	    "sort = address\t# by where\n"
	    "ascii=yes\n"
	    " utc = on\n"
	    "color = never\n"
	    "fps = 5\n"
	    "interval = 0.5\n"
	    "timeout = 2.5\n"
	    "strict = true\n"
	    "least = 4\n"
	    "skip = my_*,pool#1\n");
	ck_assert_msg(sentences == 0, "%s", said);
	run("--once demo:1");
	ck_assert_int_eq(page_list_order(&o.page), BLKLIST_BY_ADDRESS);
	ck_assert(o.page.ascii && o.page.utc);
	ck_assert_int_eq(o.page.color, PAGE_COLOR_NEVER);
	ck_assert_int_eq(o.page.fps, 5);
	ck_assert_int_eq(o.repeat.interval_ms, 500);
	ck_assert_int_eq(o.timeout_ms, 2500);
	ck_assert_uint_eq(o.skip.n, 1);
	ck_assert_str_eq(o.skip.pattern[0], "my_*,pool#1");
	ck_assert(option_on(&o, OPTION_STRICT));
	ck_assert(!option_given(&o, OPTION_STRICT));
	ck_assert(!option_given(&o, OPTION_SORT));
	/* Of tree alone. */
	ck_assert(o.tree.least < 0.02);
	run("tree demo:1");
	ck_assert(o.tree.least > 0.03 && o.tree.least < 0.05);
}

TEST(the_command_line_goes_before_the_users_file_before_the_systems)
{
	file(CONFIG_SYSTEM, "max = 1\nsort = address\nutc = yes\nfps = 3\n");
	file(CONFIG_USER, "max = 2\nutc = no\nfps = 4\n");
	run("--fps 6 demo:1");
	ck_assert_uint_eq(sentences, 0);
	ck_assert_uint_eq(o.node.max, 2);
	ck_assert_int_eq(page_list_order(&o.page), BLKLIST_BY_ADDRESS);
	ck_assert(!o.page.utc);
	ck_assert_int_eq(o.page.fps, 6);
}

TEST(the_environment_goes_before_files)
{
	file(CONFIG_USER, "remote-pageknode = /file\ncolor = always\n");
	run("ssh:h");
	ck_assert_str_eq(o.remote, "/file");
	ck_assert_int_eq(o.page.color, PAGE_COLOR_ALWAYS);
	setenv("PAGEK_REMOTE", "/environment", 1);
	setenv("NO_COLOR", "1", 1);
	run("ssh:h");
	ck_assert_str_eq(o.remote, "/environment");
	ck_assert_int_eq(o.page.color, PAGE_COLOR_AUTO);
	run("--remote-pageknode /option --color always ssh:h");
	ck_assert_str_eq(o.remote, "/option");
	ck_assert_int_eq(o.page.color, PAGE_COLOR_ALWAYS);
}

TEST(what_is_given_sets_aside_what_it_excludes)
{
	file(CONFIG_SYSTEM, "classic = strict\nno-skip = yes\nskip = x\n");
	run("demo:1");
	ck_assert_int_eq(o.page.layout, PAGE_CLASSIC_STRICT);
	run("--wide --skip y demo:1");
	ck_assert_int_eq(o.page.layout, PAGE_WIDE);
	ck_assert(!option_on(&o, OPTION_NO_SKIP));
	ck_assert_uint_eq(o.skip.n, 1);
	ck_assert_str_eq(o.skip.pattern[0], "y");
	run("--no-skip demo:1");
	ck_assert_uint_eq(o.skip.n, 0);
	file(CONFIG_USER, "wide = yes\n");
	run("demo:1");
	ck_assert_int_eq(o.page.layout, PAGE_WIDE);
}

TEST(no_file_makes_a_node_of_its_own_but_by_that_setting)
{
	file(CONFIG_USER, "stack = 0\nfree-stack = yes\nno-wait = yes\n"
	    "sample = 512k\n");
	run("run true");
	for (unsigned id = 0; id < OPTIONS; id++)
		ck_assert(!option_given(&o, id));
	ck_assert_uint_eq(o.node.stack, 0);
	ck_assert_uint_eq(o.node.sample, 512 * 1024);
	ck_assert(option_on(&o, OPTION_NO_WAIT));
	run("run --free-stack true");
	ck_assert_uint_eq(o.node.stack, NODE_STACK);
}

/* --- what is shown --------------------------------------------------------- */

TEST(each_value_says_where_it_is_from)
{
	struct config_value v;

	file(CONFIG_SYSTEM, "\nmax = 1\nfps = 3\n");
	file(CONFIG_USER, "fps = 4\nclassic = yes\n");
	setenv("NO_COLOR", "1", 1);
	run("config --show --stack 3 --wide");
	v = config_value(&config, &o, OPTION_MAX);
	ck_assert_int_eq(v.origin, CONFIG_SYSTEM);
	ck_assert_str_eq(v.text, "1");
	ck_assert_str_eq(v.from, "theirs");
	ck_assert_uint_eq(v.line, 2);
	v = config_value(&config, &o, OPTION_FPS);
	ck_assert_int_eq(v.origin, CONFIG_USER);
	ck_assert_str_eq(v.from, "mine");
	v = config_value(&config, &o, OPTION_COLOR);
	ck_assert_int_eq(v.origin, CONFIG_ENVIRONMENT);
	ck_assert_str_eq(v.text, "never");
	v = config_value(&config, &o, OPTION_STACK);
	ck_assert_int_eq(v.origin, CONFIG_OPTION);
	ck_assert_str_eq(v.text, "3");
	v = config_value(&config, &o, OPTION_WIDE);
	ck_assert_int_eq(v.origin, CONFIG_OPTION);
	ck_assert_str_eq(v.text, "yes");
	v = config_value(&config, &o, OPTION_CLASSIC);
	ck_assert_int_eq(v.origin, CONFIG_OPTION);
	ck_assert_str_eq(v.text, "no");
	v = config_value(&config, &o, OPTION_SKIP);
	ck_assert_int_eq(v.origin, CONFIG_BUILT_IN);
	ck_assert_ptr_null(v.text);
}

TEST(what_is_called_built_in_is_what_options_begin_with)
{
	struct options begun;
	struct config_value v;
	char why[256];

	run("run true");
	begun = o;
	for (unsigned id = 0; id < OPTIONS; id++) {
		if (!config_has(id))
			continue;
		v = config_value(&config, &o, id);
		ck_assert_int_eq(v.origin, CONFIG_BUILT_IN);
		if (v.text != NULL)
			ck_assert_msg(options_set(&o, id, v.text, why,
			    sizeof why) == 0, "%s", why);
	}
	for (unsigned id = 0; id < OPTIONS; id++)
		ck_assert(option_given(&o, id) || !option_on(&o, id));
	ck_assert_int_eq(page_list_order(&o.page), page_list_order(&begun.page));
	ck_assert_int_eq(o.page.layout, begun.page.layout);
	ck_assert_int_eq(o.page.color, begun.page.color);
	ck_assert_int_eq(o.page.fps, begun.page.fps == 0 ? NODES_HZ :
	    begun.page.fps);
	ck_assert_int_eq(o.repeat.interval_ms, begun.repeat.interval_ms);
	ck_assert_int_eq(o.timeout_ms, begun.timeout_ms);
	ck_assert_uint_eq(o.node.stack, begun.node.stack);
	ck_assert_uint_eq(o.node.sample, begun.node.sample);
	ck_assert_uint_eq(o.node.max, begun.node.max);
	ck_assert(o.tree.least == begun.tree.least);
	ck_assert(!o.page.ascii && !o.page.utc);
}
