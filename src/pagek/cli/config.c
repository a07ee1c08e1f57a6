#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../picture/picture.h"
#include "config.h"

#define SYSTEM_FILE "/etc/pagek/config"
#define USER_FILE "pagek/config"
#define SETTING_COLUMNS 32
#define FILE_VARIABLE "PAGEK_CONFIG"	/* replaces the user's file */

/* They override settings files. */
static const struct {
	enum option_id id;
	const char *name;
	const char *means;	/* the value it stands for; NULL: its own text */
} variables[] = {
	{ OPTION_REMOTE_PAGEKNODE, "PAGEK_REMOTE", NULL },
	{ OPTION_COLOR, "NO_COLOR", "never" },
};

/* An option that is given cancels the other one, also in settings files. */
static const struct {
	enum option_id given, aside;
} exclusions[] = {
	{ OPTION_WIDE, OPTION_CLASSIC },
	{ OPTION_CLASSIC, OPTION_WIDE },
	{ OPTION_NO_SKIP, OPTION_SKIP },
	{ OPTION_SKIP, OPTION_NO_SKIP },
	{ OPTION_FREE, OPTION_SORT },
};

struct reading {
	struct config *c;
	struct config_at at;
	config_say_cb say;
	void *arg;
	unsigned said;
	const struct section *section;	/* NULL: an unknown one */
};

struct section {
	const char *name;		/* NULL: the settings before all sections */
	int (*take)(struct reading *, const char *key, const char *text);
};

static void complain_of(struct reading *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
complain_of(struct reading *r, const char *fmt, ...)
{
	char sentence[1024], path[256], text[512];
	const char *from = r->c->path[r->at.file];
	va_list ap;

	if (++r->said > CONFIG_SAID_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	base_safe_text(path, sizeof path, from, strlen(from), false);
	if (r->at.line > 0)
		snprintf(sentence, sizeof sentence, "%s:%u: %s", path,
		    r->at.line, text);
	else
		snprintf(sentence, sizeof sentence, "%s: %s", path, text);
	r->say(r->arg, sentence);
}

static bool
is_duplicate(struct reading *r, const char *key, struct config_at there)
{
	if (there.line == 0 || there.file != r->at.file)
		return false;
	complain_of(r, "'%s' is already in line %u, which is used: remove one "
	    "of them", base_shown(key), there.line);
	return true;
}

static bool
lacks_value(struct reading *r, const char *key, const char *text)
{
	if (text[0] == '\0')
		complain_of(r, "'%s' has no value", base_shown(key));
	return text[0] == '\0';
}

static bool
action_of(const char *word, enum page_action *action)
{
	char name[PAGE_ACTION_WORD];

	*action = PAGE_DO_NOTHING;
	if (strcmp(word, "none") == 0)
		return true;
	for (size_t i = 0; page_action_word(i, action, name); i++)
		if (strcmp(name, word) == 0)
			return true;
	return false;
}

static void
complain_of_action(struct reading *r, const char *word)
{
	static char names[PAGE_ACTIONS][PAGE_ACTION_WORD];
	const char *list[PAGE_ACTIONS];
	char clause[NEAREST_CLAUSE];
	enum page_action action;
	size_t n;

	for (n = 0; page_action_word(n, &action, names[n]); n++)
		list[n] = names[n];
	complain_of(r, "no action '%s'%s", base_shown(word),
	    nearest_clause(clause, word, list, n, ": see pagek.conf(5)"));
}

static int
take_key(struct reading *r, const char *name, const char *text)
{
	int code = page_key_one(page_key_parse(name));
	struct config *c = r->c;
	enum page_action action;
	unsigned i;

	if (lacks_value(r, name, text))
		return 0;
	if (code == PAGE_KEY_NONE) {
		complain_of(r, "no key is called '%s': write a character, "
		    "or as in ^X, F5, PgUp", base_shown(name));
		return 0;
	}
	if (!action_of(text, &action)) {
		complain_of_action(r, text);
		return 0;
	}
	for (i = 0; i < c->keys && c->key[i].code != code; i++)
		;
	if (i == CONFIG_KEYS)
		complain_of(r, "%d keys are bound, and no more can be",
		    CONFIG_KEYS);
	if (i == CONFIG_KEYS ||
	    (i < c->keys && is_duplicate(r, name, c->key[i].at)))
		return 0;
	c->key[i] = (struct config_key){ .code = code, .action = action,
		.at = r->at };
	c->keys += i == c->keys;
	return 0;
}

static void
complain_of_mark(struct reading *r, const char *word)
{
	const char *list[PAGE_MARKS];
	char clause[NEAREST_CLAUSE];
	size_t n = 0;

	for (size_t i = PAGE_PLAIN + 1; i < PAGE_MARKS; i++)
		list[n++] = page_mark_word((enum page_mark)i);
	complain_of(r, "[colors] has no item '%s'%s",
	    base_shown(word), nearest_clause(clause, word, list, n,
	    ": see pagek.conf(5)"));
}

static int
take_color(struct reading *r, const char *name, const char *text)
{
	enum page_mark mark = page_mark_named(name);
	struct config_color *color = &r->c->color[mark];
	struct page_style style;
	const char *wrong;

	if (lacks_value(r, name, text))
		return 0;
	if (mark == PAGE_PLAIN) {
		complain_of_mark(r, name);
	} else if (is_duplicate(r, name, color->at)) {
		return 0;
	} else if (!page_style_parse(&style, text, &wrong)) {
		complain_of(r, "'%s' is no colour, and neither bold, dim, "
		    "reverse nor underline", base_shown(wrong));
	} else {
		color->style = style;
		color->at = r->at;
	}
	return 0;
}

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
		if (strcmp(option_name(id), key) == 0)
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
			names[n++] = option_name(id);
	return base_nearest(key, names, n);
}

static void
tell_unknown(struct reading *r, const char *key)
{
	const char *near = config_nearest(key);

	if (config_find(key) < OPTIONS) {
		complain_of(r, "'%s' is for the command line alone: remove "
		    "it", base_shown(key));
		return;
	}
	if (near != NULL)
		complain_of(r, "there is no setting '%s': did you mean '%s'?",
		    base_shown(key), near);
	else
		complain_of(r, "there is no setting '%s': 'pagek config "
		    "--show' lists them", base_shown(key));
}

static int
keep_value(struct reading *r, unsigned id, const char *text)
{
	struct config *c = r->c;
	char *copy = strdup(text);

	if (copy == NULL)
		return -ENOMEM;
	free(c->value[id].text);
	c->value[id].text = copy;
	c->value[id].at = r->at;
	/* The last of two layouts wins. */
	if ((id == OPTION_CLASSIC || id == OPTION_WIDE) &&
	    option_switch(text) != 0) {
		id = id == OPTION_WIDE ? OPTION_CLASSIC : OPTION_WIDE;
		free(c->value[id].text);
		c->value[id].text = NULL;
		c->value[id].at.line = 0;
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
		    option_argument(id) != NULL ?
		    option_argument(id) : "yes");
		return 0;
	}
	if (is_duplicate(r, key, r->c->value[id].at))
		return 0;
	if (options_set(&scratch, id, text, why, sizeof why) != 0) {
		/* In a settings file, an option has no "--". */
		complain_of(r, "%s", why + 2 * (strncmp(why, "--", 2) == 0));
		return 0;
	}
	return keep_value(r, id, text);
}

static char *
trim_blanks(char *text)
{
	char *end;

	text += strspn(text, " \t");
	end = text + strlen(text);
	while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return text;
}

struct raw_line {
	size_t from, to;	/* without its newline */
	size_t begin, end;	/* without comment and outer blanks */
};

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct raw_line
line_at(const char *bytes, size_t len, size_t from)
{
	const char *nl = memchr(bytes + from, '\n', len - from);
	struct raw_line l = { .from = from, .begin = from };
	size_t i;

	l.to = nl != NULL ? (size_t)(nl - bytes) : len;
	for (i = from; i < l.to; i++)
		if (bytes[i] == '#' && (i == from || is_blank(bytes[i - 1])))
			break;
	l.end = i;
	while (l.begin < l.end && is_blank(bytes[l.begin]))
		l.begin++;
	while (l.end > l.begin && is_blank(bytes[l.end - 1]))
		l.end--;
	return l;
}

static const struct section settings = { NULL, take_setting };

static const struct section sections[] = {
	{ "[keys]", take_key },
	{ "[colors]", take_color },
};

/* False: the line begins no section. */
static bool
take_section(struct reading *r, const char *line)
{
	size_t len = strlen(line);

	if (line[0] != '[' || len < 2 || line[len - 1] != ']')
		return false;
	r->section = NULL;
	for (size_t i = 0; i < BASE_NELEM(sections); i++)
		if (strcmp(sections[i].name, line) == 0)
			r->section = &sections[i];
	if (r->section == NULL)
		complain_of(r, "there is no section %s, only [keys] and "
		    "[colors]: it is skipped", base_shown(line));
	return true;
}

static int
take_line(struct reading *r, char *line)
{
	struct raw_line l = line_at(line, strlen(line), 0);
	char *text;

	line[l.end] = '\0';
	line += l.begin;
	if (line[0] == '\0' || take_section(r, line) || r->section == NULL)
		return 0;
	/* In [keys], '=' itself may be a key. */
	text = strchr(line + (r->section != &settings), '=');
	if (text == NULL) {
		complain_of(r, "'%s' is no setting: write 'KEY = VALUE'",
		    base_shown(line));
		return 0;
	}
	*text++ = '\0';
	return r->section->take(r, trim_blanks(line), trim_blanks(text));
}

int
config_parse(struct config *c, enum config_origin file, const char *bytes,
    size_t len, config_say_cb say, void *arg)
{
	struct reading r = { .c = c, .at.file = file, .say = say, .arg = arg,
		.section = &settings };
	char line[BASE_LINE_MAX + 1];
	struct base_lines lines;
	const char *why;
	int err = 0;

	base_lines_init(&lines, bytes, len);
	while (err == 0 && base_lines_next(&lines, line, &why)) {
		r.at.line = lines.no;
		if (why != NULL)
			complain_of(&r, "%s: retype it", why);
		else
			err = take_line(&r, line);
	}
	if (r.said > CONFIG_SAID_MAX) {
		unsigned more = r.said - CONFIG_SAID_MAX;

		r.at.line = r.said = 0;
		complain_of(&r, "and %u lines more that cannot be read", more);
	}
	return err;
}

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
		    "its settings are ignored", safe, base_file_words(r));
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
	const char *wanted = o->config.file;
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

static bool
is_given(const struct options *o, enum option_id id, const char **text)
{
	*text = o->text[id] != NULL ? o->text[id] : "yes";
	if (option_given(o, id))
		return true;
	*text = option_argument(id) == NULL || id == OPTION_CLASSIC ?
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
		v.origin = c->value[id].at.file;
		v.from = c->path[v.origin];
		v.line = c->value[id].at.line;
		return v;
	}
	v.origin = CONFIG_BUILT_IN;
	v.text = option_rows[id].standard == NULL && option_argument(id) == NULL ?
	    "no" : option_rows[id].standard;
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
		/* The value was checked when it was read. */
		if (v.origin == CONFIG_USER || v.origin == CONFIG_SYSTEM)
			options_set(o, id, v.text, why, sizeof why);
	}
	if (option_given(o, OPTION_FREE_STACK) && o->node.stack == 0)
		o->node.stack = NODE_STACK;
}

void
config_bind_keys(const struct config *c)
{
	unsigned i;

	page_keys_unbind();
	for (i = 0; i < c->keys; i++)
		page_key_bind(c->key[i].code, c->key[i].action);
}

void
config_styles(const struct config *c, struct page_style out[PAGE_MARKS])
{
	unsigned i;

	for (i = 0; i < PAGE_MARKS; i++)
		out[i] = c->color[i].at.line > 0 ? c->color[i].style :
		    page_style_usual((enum page_mark)i);
}

static void
put_origin(char *out, size_t *len, const struct config_value *v)
{
	static const char *const words[] = {
		[CONFIG_BUILT_IN] = "built-in",
		[CONFIG_SYSTEM] = "system file",
		[CONFIG_USER] = "user file",
		[CONFIG_ENVIRONMENT] = "environment",
		[CONFIG_OPTION] = "option",
		[CONFIG_PAGE] = "set on this page",
	};
	char from[512];

	base_append(out, CONFIG_SHOW_TEXT, len, "# %s", words[v->origin]);
	if (v->from != NULL) {
		base_safe_text(from, sizeof from, v->from, strlen(v->from),
		    false);
		base_append(out, CONFIG_SHOW_TEXT, len, " %s", from);
	}
	if (v->line > 0)
		base_append(out, CONFIG_SHOW_TEXT, len, ":%u", v->line);
}

void
config_show(char out[CONFIG_SHOW_TEXT], const char *key, const char *argument,
    const struct config_value *v)
{
	char left[512], text[256] = "";
	size_t len = 0;

	if (v->text != NULL)
		base_safe_text(text, sizeof text, v->text, strlen(v->text),
		    false);
	/* A setting without a value is shown as a comment. */
	base_append(left, sizeof left, &len, "%s%s = %s",
	    v->text == NULL ? "# " : "", key,
	    v->text == NULL ? argument : text);
	len = 0;
	base_append(out, CONFIG_SHOW_TEXT, &len, "%-*s ", SETTING_COLUMNS,
	    left);
	put_origin(out, &len, v);
}

static bool
begins_section(const char *bytes, struct raw_line l)
{
	return l.end - l.begin >= 2 && bytes[l.begin] == '[' &&
	    bytes[l.end - 1] == ']';
}

/* Offset of the value if the line sets that key; 0: it does not. */
static size_t
value_of(const char *bytes, struct raw_line l, const char *key)
{
	size_t n = strlen(key), at = l.begin + n;

	if (at >= l.end || strncmp(bytes + l.begin, key, n) != 0)
		return 0;
	while (at < l.end && is_blank(bytes[at]))
		at++;
	if (at == l.end || bytes[at] != '=')
		return 0;
	at++;
	while (at < l.end && is_blank(bytes[at]))
		at++;
	return at;
}

bool
config_can_hold(const char *value)
{
	const char *c;

	if (strlen(value) > BASE_LINE_MAX / 2)
		return false;
	for (c = value; (c = strchr(c, '#')) != NULL; c++)
		if (c == value || is_blank(c[-1]))
			return false;
	return true;
}

static int
replace_bytes(char **bytes, size_t *len, size_t from, size_t to,
    const char *text)
{
	size_t n = strlen(text), size = *len - (to - from) + n;
	char *fresh = malloc(size + 1);

	if (fresh == NULL)
		return -ENOMEM;
	memcpy(fresh, *bytes, from);
	memcpy(fresh + from, text, n);
	memcpy(fresh + from + n, *bytes + to, *len - to);
	fresh[size] = '\0';
	free(*bytes);
	*bytes = fresh;
	*len = size;
	return 0;
}

static size_t
first_line(const char *bytes, size_t len)
{
	struct base_lines lines;

	base_lines_init(&lines, bytes, len);
	return (size_t)(lines.at - bytes);
}

int
config_edit(char **bytes, size_t *len, const char *key, const char *value)
{
	size_t first = first_line(*bytes, *len), from = first, behind = first;
	size_t at, n = 0;
	char line[BASE_LINE_MAX + 2];
	struct raw_line l;
	bool open = false;

	for (; from < *len; from = l.to + 1) {
		l = line_at(*bytes, *len, from);
		if (begins_section(*bytes, l))
			break;
		at = value_of(*bytes, l, key);
		if (at > 0)
			return replace_bytes(bytes, len, at, l.end, value);
		if (l.begin == l.end && behind > first)
			continue;
		/* A comment at the top belongs to the file. */
		behind = l.to < *len ? l.to + 1 : *len;
		open = l.to == *len;
	}
	base_append(line, sizeof line, &n, "%s%s = %s\n", open ? "\n" : "",
	    key, value);
	return replace_bytes(bytes, len, behind, behind, line);
}

static void
ignore_sentence(void *arg, const char *sentence)
{
	(void)arg;
	(void)sentence;
}

static int
check_result(const char *bytes, size_t len, const char *const value[OPTIONS])
{
	struct config c = { 0 };
	unsigned id;
	int r;

	c.path[CONFIG_USER] = strdup("");
	r = c.path[CONFIG_USER] == NULL ? -ENOMEM :
	    config_parse(&c, CONFIG_USER, bytes, len, ignore_sentence, NULL);
	for (id = 0; r == 0 && id < OPTIONS; id++)
		if (value[id] != NULL && (c.value[id].text == NULL ||
		    strcmp(c.value[id].text, value[id]) != 0) &&
		    strcmp(value[id], "no") != 0)
			r = -EINVAL;
	config_fini(&c);
	return r;
}

int
config_save(const char *path, const char *const value[OPTIONS])
{
	char *bytes = NULL;
	size_t len = 0;
	unsigned id;
	int r;

	r = base_file_read(path, CONFIG_FILE_MAX, &bytes, &len);
	if (r == -ENOENT) {
		bytes = calloc(1, 1);
		r = bytes == NULL ? -ENOMEM : base_folders_above(path);
	}
	for (id = 0; r == 0 && id < OPTIONS; id++)
		if (value[id] != NULL)
			r = config_edit(&bytes, &len, option_name(id),
			    value[id]);
	if (r == 0 && len > CONFIG_FILE_MAX)
		r = -EFBIG;
	if (r == 0)
		r = check_result(bytes, len, value);
	if (r == 0)
		r = base_file_replace(path, bytes, len, 0600);
	free(bytes);
	return r;
}
