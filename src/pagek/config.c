/*
 * See config.h.
 */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "config.h"
#include "config_sections.h"
#include "target_words.h"

#define SYSTEM_FILE "/etc/pagek/config"
#define USER_FILE "pagek/config"
#define FILE_VARIABLE "PAGEK_CONFIG"	/* in place of the user's file */

/* What holds where nobody says anything; of the rest nothing does. */
static const char *const built_in[OPTIONS] = {
	[OPTION_SORT] = "age",
	[OPTION_LEAST] = "1",
	[OPTION_CLASSIC] = "no",
	[OPTION_COLOR] = "auto",
	[OPTION_FPS] = "15",
	[OPTION_UNITS] = "exact",
	[OPTION_INTERVAL] = "1",
	[OPTION_TIMEOUT] = "10",
	[OPTION_STACK] = "16",
	[OPTION_SAMPLE] = "0",
};

/* Variables that go before any file. */
static const struct {
	enum option_id id;
	const char *name;
	const char *means;	/* NULL: what it holds */
} variables[] = {
	{ OPTION_REMOTE_PAGEKNODE, "PAGEK_REMOTE", NULL },
	{ OPTION_COLOR, "NO_COLOR", "never" },
};

/* Whoever gives the first does not want the second, nor what files say of it. */
static const struct {
	enum option_id given, aside;
} exclusions[] = {
	{ OPTION_WIDE, OPTION_CLASSIC },
	{ OPTION_CLASSIC, OPTION_WIDE },
	{ OPTION_NO_SKIP, OPTION_SKIP },
	{ OPTION_SKIP, OPTION_NO_SKIP },
	{ OPTION_FREE, OPTION_SORT },
};

/* A file that is being read. */
struct reading {
	struct config *c;
	enum config_origin file;
	config_say_cb say;
	void *arg;
	unsigned line, said;
	enum { SETTINGS, SECTION, SKIPPED } among;
	int section;
};

/* --- what is said --------------------------------------------------------- */

static void complain_of(struct reading *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
complain_of(struct reading *r, const char *fmt, ...)
{
	char sentence[1024], path[256], text[512];
	va_list ap;

	if (++r->said > CONFIG_SAID_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	base_safe_text(path, sizeof path, r->c->path[r->file],
	    strlen(r->c->path[r->file]), false);
	if (r->line > 0)
		snprintf(sentence, sizeof sentence, "%s:%u: %s", path,
		    r->line, text);
	else
		snprintf(sentence, sizeof sentence, "%s: %s", path, text);
	r->say(r->arg, sentence);
}

/* --- lines ---------------------------------------------------------------- */

bool
config_has(enum option_id id)
{
	return (option_rows[id].takers & TAKER_GROUP(GROUP_FILE)) != 0;
}

unsigned
config_find(const char *key)
{
	unsigned id;

	for (id = 0; id < OPTIONS; id++)
		if (strcmp(option_rows[id].name, key) == 0)
			break;
	return id;
}

const char *
config_nearest(const char *key)
{
	const char *names[OPTIONS];
	size_t n = 0;
	unsigned id;

	for (id = 0; id < OPTIONS; id++)
		if (config_has(id))
			names[n++] = option_rows[id].name;
	return base_nearest(key, names, n);
}

static void
tell_unknown(struct reading *r, const char *key)
{
	const char *near = config_nearest(key);

	if (config_find(key) < OPTIONS) {
		complain_of(r, "'%s' is for the command line alone: take it "
		    "out", words_shown(key));
		return;
	}
	if (near != NULL)
		complain_of(r, "there is no setting '%s': did you mean '%s'?",
		    words_shown(key), near);
	else
		complain_of(r, "there is no setting '%s': 'pagek config "
		    "--show' lists them", words_shown(key));
}

static int
keep(struct reading *r, unsigned id, const char *text)
{
	struct config *c = r->c;
	char *copy = strdup(text);

	if (copy == NULL)
		return -ENOMEM;
	free(c->value[id].text);
	c->value[id].text = copy;
	c->value[id].file = r->file;
	c->value[id].line = r->line;
	/* Of two layouts the one that was said last is wanted. */
	if ((id == OPTION_CLASSIC || id == OPTION_WIDE) &&
	    option_switch(text) != 0) {
		id = id == OPTION_WIDE ? OPTION_CLASSIC : OPTION_WIDE;
		free(c->value[id].text);
		c->value[id].text = NULL;
	}
	return 0;
}

static int
take_setting(struct reading *r, const char *key, const char *text)
{
	struct options scratch = { 0 };
	unsigned id = config_find(key);
	char why[256];

	if (id == OPTIONS || !config_has(id)) {
		tell_unknown(r, key);
		return 0;
	}
	if (text[0] == '\0') {
		complain_of(r, "'%s' has no value: write '%s = %s'", key, key,
		    option_rows[id].argument != NULL ?
		    option_rows[id].argument : "yes");
		return 0;
	}
	if (r->c->value[id].text != NULL && r->c->value[id].file == r->file) {
		complain_of(r, "'%s' stands in line %u already, which holds: "
		    "take one of them out", key, r->c->value[id].line);
		return 0;
	}
	if (options_set(&scratch, id, text, why, sizeof why) != 0) {
		/* It is an option's sentence, and this is none. */
		complain_of(r, "%s", why + 2 * (strncmp(why, "--", 2) == 0));
		return 0;
	}
	return keep(r, id, text);
}

/* Takes blanks away at both ends; the text is changed. */
static char *
trim(char *text)
{
	char *end;

	text += strspn(text, " \t");
	end = text + strlen(text);
	while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return text;
}

/* A comment begins at a word that begins with '#'. */
static void
cut_comment(char *line)
{
	char *c;

	for (c = line; (c = strchr(c, '#')) != NULL; c++)
		if (c == line || c[-1] == ' ' || c[-1] == '\t') {
			*c = '\0';
			return;
		}
}

/* True for a line that begins one. */
static bool
take_section(struct reading *r, const char *line)
{
	size_t len = strlen(line);

	if (line[0] != '[' || len < 2 || line[len - 1] != ']')
		return false;
	r->section = config_section(line);
	r->among = r->section >= 0 ? SECTION : SKIPPED;
	if (r->section < 0)
		complain_of(r, "there is no section %s, only [keys] and "
		    "[colors]: it is skipped", words_shown(line));
	return true;
}

static void
take_in_section(struct reading *r, const char *key, const char *text)
{
	struct config_at at = { .file = r->file, .line = r->line };
	char why[256];

	if (!config_section_take(r->c, r->section, at, key, text, why,
	    sizeof why))
		complain_of(r, "%s", why);
}

static int
take_line(struct reading *r, char *line)
{
	char *text;

	cut_comment(line);
	line = trim(line);
	if (line[0] == '\0' || take_section(r, line) || r->among == SKIPPED)
		return 0;
	/* A key may be a '=' itself. */
	text = strchr(line + (r->among == SECTION), '=');
	if (text == NULL) {
		complain_of(r, "'%s' is no setting: write 'KEY = VALUE'",
		    words_shown(line));
		return 0;
	}
	*text++ = '\0';
	if (r->among == SECTION) {
		take_in_section(r, trim(line), trim(text));
		return 0;
	}
	return take_setting(r, trim(line), trim(text));
}

int
config_parse(struct config *c, enum config_origin file, const char *bytes,
    size_t len, config_say_cb say, void *arg)
{
	struct reading r = { .c = c, .file = file, .say = say, .arg = arg };
	char line[BASE_LINE_MAX + 1];
	struct base_lines lines;
	const char *why;
	int err = 0;

	base_lines_init(&lines, bytes, len);
	while (err == 0 && base_lines_next(&lines, line, &why)) {
		r.line = lines.no;
		if (why != NULL)
			complain_of(&r, "%s: write it anew", why);
		else
			err = take_line(&r, line);
	}
	if (r.said > CONFIG_SAID_MAX) {
		unsigned more = r.said - CONFIG_SAID_MAX;

		r.line = r.said = 0;
		complain_of(&r, "and %u lines more that cannot be read", more);
	}
	return err;
}

/* --- files ---------------------------------------------------------------- */

static int
load_file(struct config *c, enum config_origin file, const char *path,
    bool wanted, config_say_cb say, void *arg)
{
	char sentence[512], safe[256], *bytes;
	size_t len;
	int r;

	c->path[file] = strdup(path);
	if (c->path[file] == NULL)
		return -ENOMEM;
	r = base_file_read(path, CONFIG_FILE_MAX, &bytes, &len);
	if (r == -ENOMEM || (!wanted && (r == -ENOENT || r == -ENOTDIR)))
		return r == -ENOMEM ? r : 0;
	if (r < 0) {
		base_safe_text(safe, sizeof safe, path, strlen(path), false);
		snprintf(sentence, sizeof sentence, "cannot read '%s': %s; "
		    "its settings do not hold", safe, base_file_words(r));
		say(arg, sentence);
		return 0;
	}
	r = config_parse(c, file, bytes, len, say, arg);
	free(bytes);
	return r;
}

int
config_load(struct config *c, const struct options *o, config_say_cb say,
    void *arg)
{
	const char *wanted = o->config_file;
	char path[PATH_MAX];
	int r;

	*c = (struct config){ 0 };
	if (option_given(o, OPTION_NO_CONFIG))
		return 0;
	r = load_file(c, CONFIG_SYSTEM, SYSTEM_FILE, false, say, arg);
	if (r < 0)
		return r;
	if (wanted == NULL)
		wanted = getenv(FILE_VARIABLE);
	if (wanted != NULL && wanted[0] != '\0')
		return load_file(c, CONFIG_USER, wanted, true, say, arg);
	if (base_config_path(path, sizeof path, USER_FILE) < 0)
		return 0;
	return load_file(c, CONFIG_USER, path, false, say, arg);
}

int
config_user_path(const struct config *c, char path[PATH_MAX])
{
	size_t len = 0;

	if (c->path[CONFIG_USER] == NULL)
		return base_config_path(path, PATH_MAX, USER_FILE);
	base_append(path, PATH_MAX, &len, "%s", c->path[CONFIG_USER]);
	return 0;
}

void
config_fini(struct config *c)
{
	size_t i;

	for (i = 0; i < OPTIONS; i++)
		free(c->value[i].text);
	for (i = 0; i < BASE_NELEM(c->path); i++)
		free(c->path[i]);
}

/* --- what holds ----------------------------------------------------------- */

/* Whether the command line has it, itself or by something that excludes it. */
static bool
is_given(const struct options *o, enum option_id id, const char **text)
{
	*text = o->text[id] != NULL ? o->text[id] : "yes";
	if (option_given(o, id))
		return true;
	*text = option_rows[id].argument == NULL || id == OPTION_CLASSIC ?
	    "no" : NULL;
	for (size_t i = 0; i < BASE_NELEM(exclusions); i++)
		if (exclusions[i].aside == id &&
		    option_given(o, exclusions[i].given))
			return true;
	return false;
}

static bool
is_in_environment(enum option_id id, struct config_value *v)
{
	const char *text;

	for (size_t i = 0; i < BASE_NELEM(variables); i++) {
		if (variables[i].id != id)
			continue;
		text = getenv(variables[i].name);
		if (text == NULL || text[0] == '\0')
			continue;
		v->text = variables[i].means != NULL ? variables[i].means :
		    text;
		v->from = variables[i].name;
		return true;
	}
	return false;
}

struct config_value
config_value(const struct config *c, const struct options *o,
    enum option_id id)
{
	struct config_value v = { .origin = CONFIG_OPTION };

	if (is_given(o, id, &v.text))
		return v;
	v.origin = CONFIG_ENVIRONMENT;
	if (is_in_environment(id, &v))
		return v;
	if (c->value[id].text != NULL) {
		v.text = c->value[id].text;
		v.origin = c->value[id].file;
		v.from = c->path[v.origin];
		v.line = c->value[id].line;
		return v;
	}
	v.origin = CONFIG_BUILT_IN;
	v.text = built_in[id] == NULL && option_rows[id].argument == NULL ?
	    "no" : built_in[id];
	return v;
}

void
config_apply(const struct config *c, struct options *o)
{
	struct config_value v;
	char why[256];
	unsigned id;

	for (id = 0; id < OPTIONS; id++) {
		if (!config_has(id) || !option_taken(&option_rows[id],
		    o->command))
			continue;
		v = config_value(c, o, id);
		/* It was looked at when it was read. */
		if (v.origin == CONFIG_USER || v.origin == CONFIG_SYSTEM)
			options_set(o, id, v.text, why, sizeof why);
	}
	/* Stacks of frees are asked for by somebody who wants stacks. */
	if (option_given(o, OPTION_FREE_STACK) && o->stack == 0)
		o->stack = OPTIONS_STACK;
}
