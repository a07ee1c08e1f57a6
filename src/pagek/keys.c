/*
 * Dispatch, help and key bar, from keys.def.
 */
#include <string.h>

#include "keys.h"

#define CODES 4

struct key {
	const char *group;	/* a heading, then all else is empty */
	enum page_action action;
	const char *names;
	const char *bar;
	int rank;
	const char *help;
	int code[CODES];
};

static const struct key keys[] = {
#define GROUP(name, title) { .group = title },
#define KEY(action_, names_, bar_, rank_, help_, ...) \
	{ \
		.action = PAGE_DO_##action_, \
		.names = names_, \
		.bar = bar_, \
		.rank = rank_, \
		.help = help_, \
		.code = { __VA_ARGS__ }, \
	},
#include "keys.def"
#undef KEY
#undef GROUP
};

enum page_action
page_key_action(int code)
{
	size_t i, j;

	if (code == PAGE_KEY_NONE)
		return PAGE_DO_NOTHING;
	for (i = 0; i < BASE_NELEM(keys); i++)
		for (j = 0; j < CODES; j++)
			if (keys[i].code[j] == code)
				return keys[i].action;
	return PAGE_DO_NOTHING;
}

bool
page_key_moves(enum page_action action)
{
	switch (action) {
	case PAGE_DO_DOWN:
	case PAGE_DO_UP:
	case PAGE_DO_PAGE_DOWN:
	case PAGE_DO_PAGE_UP:
	case PAGE_DO_FIRST:
	case PAGE_DO_LAST:
		return true;
	default:
		return false;
	}
}

void
page_key_name(int code, char out[16])
{
	static const char *const names[] = {
		"Up", "Down", "Left", "Right", "PgUp", "PgDn", "Home", "End",
		"Backspace", "Delete", "Insert", "Enter", "that key",
	};
	size_t len = 0;

	out[0] = '\0';
	if (code > PAGE_KEY_F0 && code <= PAGE_KEY_F_LAST)
		base_append(out, 16, &len, "F%d", code - PAGE_KEY_F0);
	else if (code >= PAGE_KEY_UP && code <= PAGE_KEY_OTHER)
		base_append(out, 16, &len, "%s", names[code - PAGE_KEY_UP]);
	else if (code == '\t')
		base_append(out, 16, &len, "Tab");
	else if (code >= 0 && code < ' ')
		base_append(out, 16, &len, "^%c", code + '@');
	else if (code > ' ' && code < 0x7f)
		base_append(out, 16, &len, "%c", code);
	else
		base_append(out, 16, &len, "U+%04X", (unsigned)code);
}

void
page_key_utf8(int code, char utf8[5])
{
	uint32_t c = (uint32_t)code;
	size_t n = 0;

	if (c < 0x80) {
		utf8[n++] = (char)c;
	} else if (c < 0x800) {
		utf8[n++] = (char)(0xc0 | c >> 6);
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		utf8[n++] = (char)(0xe0 | c >> 12);
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		utf8[n++] = (char)(0xf0 | c >> 18);
		utf8[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[n++] = (char)(0x80 | (c & 0x3f));
	}
	utf8[n] = '\0';
}

void
page_key_type(char *typed, size_t cap, int code)
{
	size_t len = strlen(typed);
	char utf8[5];

	page_key_utf8(code, utf8);
	base_append(typed, cap, &len, "%s", len + strlen(utf8) < cap ? utf8 :
	    "");
}

void
page_key_untype(char *typed)
{
	size_t len = strlen(typed);

	while (len > 0 && ((unsigned char)typed[len - 1] & 0xc0) == 0x80)
		len--;
	typed[len > 0 ? len - 1 : 0] = '\0';
}

/* --- key bar ------------------------------------------------------------ */

static int
bar_cols(int rank)
{
	int cols = 0;
	size_t i;

	for (i = 0; i < BASE_NELEM(keys); i++)
		if (keys[i].bar != NULL && keys[i].rank <= rank)
			cols += (int)strlen(keys[i].bar) + (cols > 0 ? 2 : 0);
	return cols;
}

static void
bar_key(struct page_picture *pic, const struct key *k)
{
	if (picture_col(pic) > 0)
		picture_printf(pic, "  ");
	picture_printf(pic, "%s", k->bar);
}

/* In the table's order, help first and quit last, as many as fit. */
void
page_key_bar(struct page_picture *pic, int cols)
{
	int rank = 0;
	size_t i;

	while (rank < (int)BASE_NELEM(keys) &&
	    bar_cols(rank + 1) <= cols)
		rank++;
	for (i = 0; i < BASE_NELEM(keys); i++)
		if (keys[i].bar != NULL && keys[i].rank == 1 && rank >= 1)
			bar_key(pic, &keys[i]);
	for (i = 0; i < BASE_NELEM(keys); i++)
		if (keys[i].bar != NULL && keys[i].rank > 1 &&
		    keys[i].rank <= rank)
			bar_key(pic, &keys[i]);
}

/* --- help --------------------------------------------------------------- */

#define HELP_AT 13		/* behind the longest names */

static void
help_line(struct page_picture *pic, const struct key *k)
{
	if (k->group != NULL) {
		picture_line(pic);
		picture_printf(pic, "%s", k->group);
		picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
	} else {
		picture_entry(pic, k->names, HELP_AT, k->help);
	}
}

static void
help_group(struct page_picture *pic, int group)
{
	int at = -1;
	size_t i;

	for (i = 0; i < BASE_NELEM(keys); i++) {
		at += keys[i].group != NULL;
		if (at == group)
			help_line(pic, &keys[i]);
	}
}

void
page_keys_help(struct page_picture *pic, enum page_keys first)
{
	int group;

	help_group(pic, (int)first);
	for (group = 0; group < PAGE_KEYS; group++)
		if (group != (int)first)
			help_group(pic, group);
}
