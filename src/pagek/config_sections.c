/*
 * The sections of a settings file: [keys] and [colors].
 */
#include <stdio.h>
#include <string.h>

#include "../page/style.h"
#include "config_sections.h"
#include "target_words.h"

/* --- [keys] --------------------------------------------------------------- */

static bool
action_of(const char *word, enum page_action *action)
{
	char name[PAGE_ACTION_WORD];
	size_t i;

	*action = PAGE_DO_NOTHING;
	if (strcmp(word, "none") == 0)
		return true;
	for (i = 0; page_action_word(i, action, name); i++)
		if (strcmp(name, word) == 0)
			return true;
	return false;
}

static bool
no_action(const char *word, char *why, size_t cap)
{
	static char names[PAGE_ACTIONS][PAGE_ACTION_WORD];
	const char *list[PAGE_ACTIONS], *near;
	enum page_action action;
	size_t n;

	for (n = 0; page_action_word(n, &action, names[n]); n++)
		list[n] = names[n];
	near = base_nearest(word, list, n);
	if (near != NULL)
		snprintf(why, cap, "no key does '%s': did you mean '%s'?",
		    words_shown(word), near);
	else
		snprintf(why, cap, "no key does '%s': see pagek.conf(5)",
		    words_shown(word));
	return false;
}

static bool
take_key(struct config *c, struct config_at at, const char *name,
    const char *text, char *why, size_t cap)
{
	int code = page_key_one(page_key_parse(name));
	struct config_key *k;
	enum page_action action;
	unsigned i;

	if (code == PAGE_KEY_NONE) {
		snprintf(why, cap, "no key is called '%s': write a character, "
		    "or as in ^X, F5, PgUp", words_shown(name));
		return false;
	}
	if (!action_of(text, &action))
		return no_action(text, why, cap);
	for (i = 0; i < c->keys && c->key[i].code != code; i++)
		;
	if (i == CONFIG_KEYS) {
		snprintf(why, cap, "%d keys are bound, and no more can be",
		    CONFIG_KEYS);
		return false;
	}
	k = &c->key[i];
	if (i < c->keys && k->at.file == at.file) {
		snprintf(why, cap, "'%s' stands in line %u already, which "
		    "holds: take one of them out", words_shown(name), k->at.line);
		return false;
	}
	*k = (struct config_key){ .code = code, .action = action, .at = at };
	if (i == c->keys)
		c->keys++;
	return true;
}

/* --- [colors] ------------------------------------------------------------- */

static bool
no_mark(const char *word, char *why, size_t cap)
{
	const char *list[PAGE_MARKS], *near;
	size_t n = 0, i;

	for (i = PAGE_PLAIN + 1; i < PAGE_MARKS; i++)
		list[n++] = page_mark_word((enum page_mark)i);
	near = base_nearest(word, list, n);
	if (near != NULL)
		snprintf(why, cap, "nothing that is coloured is called '%s': "
		    "did you mean '%s'?", words_shown(word), near);
	else
		snprintf(why, cap, "nothing that is coloured is called '%s': "
		    "see pagek.conf(5)", words_shown(word));
	return false;
}

static bool
take_color(struct config *c, struct config_at at, const char *name,
    const char *text, char *why, size_t cap)
{
	enum page_mark mark = page_mark_named(name);
	struct config_color *color = &c->color[mark];
	struct page_style style;
	const char *wrong;

	if (mark == PAGE_PLAIN)
		return no_mark(name, why, cap);
	if (color->at.line > 0 && color->at.file == at.file) {
		snprintf(why, cap, "'%s' stands in line %u already, which "
		    "holds: take one of them out", name, color->at.line);
		return false;
	}
	if (!page_style_parse(&style, text, &wrong)) {
		snprintf(why, cap, "'%s' is no colour, and neither bold, dim, "
		    "reverse nor underline", words_shown(wrong));
		return false;
	}
	color->style = style;
	color->at = at;
	return true;
}

/* --- both ----------------------------------------------------------------- */

static const struct {
	const char *name;
	bool (*take)(struct config *, struct config_at, const char *name,
	    const char *text, char *why, size_t cap);
} sections[] = {
	[CONFIG_KEYS_SECTION] = { "[keys]", take_key },
	[CONFIG_COLORS_SECTION] = { "[colors]", take_color },
};

int
config_section(const char *line)
{
	unsigned i;

	for (i = 0; i < BASE_NELEM(sections); i++)
		if (strcmp(sections[i].name, line) == 0)
			return (int)i;
	return -1;
}

bool
config_section_take(struct config *c, int section, struct config_at at,
    const char *name, const char *text, char *why, size_t cap)
{
	if (text[0] == '\0') {
		snprintf(why, cap, "'%s' has no value", words_shown(name));
		return false;
	}
	return sections[section].take(c, at, name, text, why, cap);
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
