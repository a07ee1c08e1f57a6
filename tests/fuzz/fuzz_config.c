/*
 * fuzz_config: any bytes as the two files of settings.  The first byte says how
 * many of the rest, in sixteenths, are the system's.
 *
 * Claims: sentences are few, and safe text of one line; what is kept is of an
 * option that may stand in a file, and a value that the option takes; written
 * as a line it comes back as it was, and so do keys and colours; two layouts are never both wanted; and
 * what holds can be given to every command.
 */
#include "../../src/base/base.h"
#include "../../src/pagek/cli/config.h"
#include "../../src/pagek/picture/picture.h"
#include "fuzz.h"
#include "sentences.h"

static void
begin(struct config *c)
{
	memset(c, 0, sizeof *c);
	c->path[CONFIG_SYSTEM] = strdup("theirs");
	c->path[CONFIG_USER] = strdup("mine");
	claim(c->path[CONFIG_SYSTEM] != NULL && c->path[CONFIG_USER] != NULL,
	    "there is memory");
}

static void
add(struct config *c, enum config_origin file, const uint8_t *p, size_t len)
{
	said = 0;
	claim(config_parse(c, file, (const char *)p, len, hear, NULL) == 0,
	    "memory is all that a file can lack");
	claim(said <= CONFIG_SAID_MAX + 1, "sentences are few");
}

/* The setting as a line, read again, is the same. */
static void
comes_back(const char *key, unsigned id, const char *text)
{
	size_t cap = strlen(key) + strlen(text) + 8, len = 0;
	char *line = malloc(cap);
	struct config again;

	claim(line != NULL, "there is memory");
	begin(&again);
	base_append(line, cap, &len, "%s=%s", key, text);
	add(&again, CONFIG_USER, (const uint8_t *)line, len);
	claim(said == 0 && again.value[id].text != NULL &&
	    strcmp(again.value[id].text, text) == 0 &&
	    again.value[id].at.file == CONFIG_USER &&
	    again.value[id].at.line == 1,
	    "a setting can be written as a line, and comes back as it was");
	config_fini(&again);
	free(line);
}

static bool
is_on(const struct config *c, enum option_id id)
{
	const char *text = c->value[id].text;

	return text != NULL && strcmp(text, "no") != 0 &&
	    strcmp(text, "off") != 0 && strcmp(text, "false") != 0;
}

static void
look_at(const struct config *c)
{
	for (unsigned id = 0; id < OPTIONS; id++) {
		const char *text = c->value[id].text;

		if (text == NULL)
			continue;
		claim(config_has(id), "what is kept may stand in a file");
		claim(c->value[id].at.line > 0 &&
		    (c->value[id].at.file == CONFIG_SYSTEM ||
		    c->value[id].at.file == CONFIG_USER),
		    "it is known where it stands");
		comes_back(option_name(id), id, text);
	}
	claim(!is_on(c, OPTION_CLASSIC) || !is_on(c, OPTION_WIDE),
	    "one layout at most is wanted");
}

/* Of a line in a section, as text: it is the same when it is read again. */
static void
section_comes_back(const char *section, const char *key, const char *text,
    struct config *again)
{
	char lines[256];
	int n = snprintf(lines, sizeof lines, "%s\n%s = %s\n", section, key,
	    text);

	claim(n > 0 && (size_t)n < sizeof lines, "names are short");
	begin(again);
	add(again, CONFIG_USER, (const uint8_t *)lines, (size_t)n);
	claim(said == 0, "what is kept of a section can be written");
}

static void
look_at_keys(const struct config *c)
{
	char name[16], word[PAGE_ACTION_WORD];
	enum page_action action;
	struct config again;
	size_t k;

	claim(c->keys <= CONFIG_KEYS, "keys are counted");
	for (unsigned i = 0; i < c->keys; i++) {
		for (k = 0; page_action_word(k, &action, word); k++)
			if (action == c->key[i].action)
				break;
		claim(c->key[i].action == PAGE_DO_NOTHING ||
		    c->key[i].action == action, "an action has a word");
		page_key_name(c->key[i].code, name);
		section_comes_back("[keys]", name[0] == '#' ? "U+0023" : name,
		    c->key[i].action == PAGE_DO_NOTHING ? "none" : word,
		    &again);
		claim(again.keys == 1 &&
		    again.key[0].code == c->key[i].code &&
		    again.key[0].action == c->key[i].action,
		    "a key comes back as it was");
		config_fini(&again);
	}
	config_bind_keys(c);
}

static void
look_at_colors(const struct config *c)
{
	struct page_style styles[PAGE_MARKS];
	char text[PAGE_STYLE_TEXT];
	struct config again;

	for (unsigned i = 1; i < PAGE_MARKS; i++) {
		if (c->color[i].at.line == 0)
			continue;
		page_style_text(c->color[i].style, text);
		section_comes_back("[colors]",
		    page_mark_word((enum page_mark)i), text, &again);
		claim(memcmp(&again.color[i].style, &c->color[i].style,
		    sizeof c->color[i].style) == 0,
		    "a style comes back as it was");
		config_fini(&again);
	}
	config_styles(c, styles);
}

static void
give(const struct config *c)
{
	char name[] = "pagek", *argv[] = { name, NULL }, why[256];

	for (unsigned i = 0; i < COMMANDS; i++) {
		struct options o;

		claim(options_parse(&o, 1, argv, why, sizeof why) == 0,
		    "no words are a command line");
		o.command = (enum command)i;
		config_apply(c, &o);
		for (unsigned id = 0; id < OPTIONS; id++)
			config_value(c, &o, (enum option_id)id);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	struct config c;
	size_t theirs;

	if (len == 0 || len > CONFIG_FILE_MAX)
		return 0;
	theirs = (len - 1) * (p[0] % 17) / 16;
	begin(&c);
	add(&c, CONFIG_SYSTEM, p + 1, theirs);
	add(&c, CONFIG_USER, p + 1 + theirs, len - 1 - theirs);
	look_at(&c);
	look_at_keys(&c);
	look_at_colors(&c);
	give(&c);
	config_fini(&c);
	return 0;
}
