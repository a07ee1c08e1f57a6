#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../../base/base.h"
#include "keys.h"

#define CODES 4

struct key {
	const char *group;	/* a heading of the help; then all else is empty */
	enum page_action action;
	const char *word;	/* PAGE_DOWN */
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
		.word = #action_, \
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

static struct {
	int code;
	enum page_action action;
} bound[PAGE_KEYS_BOUND];
static size_t nbound;

#define BAR_TEXT 48

/* Cached words of the key bar: looking them up took half a picture's time. */
static struct {
	struct bar_word {
		const struct key *key;
		int cols;
		char text[BAR_TEXT];
	} word[BASE_NELEM(keys)];
	size_t n;
	bool valid;
} bar;

static enum page_action
action_of_table(int code)
{
	size_t i, j;

	for (i = 0; i < BASE_NELEM(keys); i++)
		for (j = 0; j < CODES; j++)
			if (keys[i].code[j] == code)
				return keys[i].action;
	return PAGE_DO_NOTHING;
}

enum page_action
page_key_action(int code)
{
	size_t i;

	code = page_key_one(code);
	if (code == PAGE_KEY_NONE)
		return PAGE_DO_NOTHING;
	for (i = 0; i < nbound; i++)
		if (bound[i].code == code)
			return bound[i].action;
	return action_of_table(code);
}

bool
page_key_bind(int code, enum page_action action)
{
	size_t i;

	code = page_key_one(code);
	for (i = 0; i < nbound; i++)
		if (bound[i].code == code)
			break;
	if (i == PAGE_KEYS_BOUND)
		return false;
	bound[i].code = code;
	bound[i].action = action;
	if (i == nbound)
		nbound++;
	bar.valid = false;
	return true;
}

void
page_keys_unbind(void)
{
	nbound = 0;
	bar.valid = false;
}

static size_t
codes_of(const struct key *k, int *out, size_t max)
{
	size_t n = 0, i;

	for (i = 0; i < CODES && n < max; i++)
		if (k->code[i] != PAGE_KEY_NONE &&
		    page_key_one(k->code[i]) == k->code[i] &&
		    page_key_action(k->code[i]) == k->action)
			out[n++] = k->code[i];
	for (i = 0; i < nbound && n < max; i++)
		if (bound[i].action == k->action &&
		    action_of_table(bound[i].code) != k->action)
			out[n++] = bound[i].code;
	return n;
}

static void
make_word(const struct key *k, char out[PAGE_ACTION_WORD])
{
	size_t i;

	for (i = 0; k->word[i] != '\0' && i + 1 < PAGE_ACTION_WORD; i++)
		out[i] = k->word[i] == '_' ? '-' :
		    (char)tolower((unsigned char)k->word[i]);
	out[i] = '\0';
}

bool
page_action_word(size_t i, enum page_action *action,
    char out[PAGE_ACTION_WORD])
{
	size_t k;

	for (k = 0; k < BASE_NELEM(keys); k++) {
		if (keys[k].group != NULL || i-- > 0)
			continue;
		*action = keys[k].action;
		make_word(&keys[k], out);
		return true;
	}
	return false;
}

bool
page_key_moves(enum page_action action)
{
	switch (action) {
	case PAGE_DO_DOWN:
	case PAGE_DO_UP:
	case PAGE_DO_PAGE_DOWN:
	case PAGE_DO_PAGE_UP:
	case PAGE_DO_HALF_DOWN:
	case PAGE_DO_HALF_UP:
	case PAGE_DO_FIRST:
	case PAGE_DO_LAST:
		return true;
	default:
		return false;
	}
}

enum page_letter
page_key_page(enum page_action action)
{
	switch (action) {
#define PAGE(action_, letter, ...) \
	case PAGE_DO_##action_: \
		return PAGE_##letter;
#include "pages.def"
#undef PAGE
	default:
		return PAGES;
	}
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

#define NAMES_TEXT 11		/* fits before HELP_AT */

/* "s sort", with the key that is bound to it; "": there is none. */
static void
bar_text(const struct key *k, char out[BAR_TEXT])
{
	size_t first = strcspn(k->bar, " "), len = 0, n;
	int code[CODES + PAGE_KEYS_BOUND];
	char name[16];

	base_append(name, sizeof name, &len, "%.*s", (int)first, k->bar);
	len = 0;
	out[0] = '\0';
	if (page_key_action(page_key_parse(name)) != k->action) {
		n = codes_of(k, code, BASE_NELEM(code));
		if (n == 0)
			return;
		/* The user's own keys come last. */
		page_key_name(action_of_table(code[n - 1]) != k->action ?
		    code[n - 1] : code[0], name);
	}
	base_append(out, BAR_TEXT, &len, "%s%s", name, k->bar + first);
}

static void
add_bar_word(const struct key *k)
{
	struct bar_word *w = &bar.word[bar.n];

	bar_text(k, w->text);
	if (w->text[0] == '\0')
		return;
	w->key = k;
	w->cols = (int)strlen(w->text);
	bar.n++;
}

static void
make_bar(void)
{
	size_t i;

	bar.n = 0;
	for (i = 0; i < BASE_NELEM(keys); i++)
		if (keys[i].bar != NULL && keys[i].rank == 1)
			add_bar_word(&keys[i]);
	for (i = 0; i < BASE_NELEM(keys); i++)
		if (keys[i].bar != NULL && keys[i].rank > 1)
			add_bar_word(&keys[i]);
	bar.valid = true;
}

static bool
is_in_bar(const struct bar_word *w, int rank, bool covered)
{
	enum page_action action = w->key->action;

	return w->key->rank <= rank && (!covered || action == PAGE_DO_HELP ||
	    action == PAGE_DO_PAUSE || page_key_page(action) != PAGES);
}

static int
bar_cols(int rank, bool covered)
{
	int cols = 0;
	size_t i;

	for (i = 0; i < bar.n; i++)
		if (is_in_bar(&bar.word[i], rank, covered))
			cols += bar.word[i].cols + (cols > 0 ? 2 : 0);
	return cols;
}

/* The highest rank so that all words up to it fit. */
static int
bar_rank(int cols, bool covered)
{
	int rank = 0;

	if (!bar.valid)
		make_bar();
	while (rank < (int)BASE_NELEM(keys) &&
	    bar_cols(rank + 1, covered) <= cols)
		rank++;
	return rank;
}

void
page_key_bar(struct page_picture *pic, int cols, bool covered)
{
	int rank = bar_rank(cols, covered);
	const struct bar_word *w;

	for (w = bar.word; w < bar.word + bar.n; w++) {
		if (!is_in_bar(w, rank, covered))
			continue;
		if (picture_col(pic) > 0)
			picture_blanks(pic, 2);
		picture_put(pic, w->text);
	}
}

int
page_key_bar_code(int cols, int col, bool covered)
{
	int rank = bar_rank(cols, covered), from = 0, code;
	const struct bar_word *w;

	for (w = bar.word; w < bar.word + bar.n; w++) {
		if (!is_in_bar(w, rank, covered))
			continue;
		if (col >= from && col < from + w->cols)
			return codes_of(w->key, &code, 1) == 1 ? code :
			    PAGE_KEY_NONE;
		from += w->cols + 2;
	}
	return PAGE_KEY_NONE;
}

#define HELP_AT 13		/* column behind the names */

static bool
has_default_keys(const struct key *k)
{
	size_t i;

	for (i = 0; i < CODES; i++)
		if (k->code[i] != PAGE_KEY_NONE &&
		    page_key_action(k->code[i]) != k->action)
			return false;
	for (i = 0; i < nbound; i++)
		if (bound[i].action == k->action &&
		    action_of_table(bound[i].code) != k->action)
			return false;
	return true;
}

/* The names that fit. */
static void
make_names(const struct key *k, char out[NAMES_TEXT])
{
	int code[NAMES_TEXT];
	char name[16];
	size_t n = codes_of(k, code, BASE_NELEM(code)), len = 0, i;

	out[0] = '\0';
	for (i = 0; i < n; i++) {
		page_key_name(code[i], name);
		if (len + (len > 0) + strlen(name) < NAMES_TEXT)
			base_append(out, NAMES_TEXT, &len, "%s%s",
			    len > 0 ? " " : "", name);
	}
	if (n == 0)
		base_append(out, NAMES_TEXT, &len, "(no key)");
}

void
page_keys_help_title(struct page_picture *pic, const char *title)
{
	picture_line(pic);
	picture_put(pic, title);
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
}

void
page_keys_help_line(struct page_picture *pic, const char *names,
    const char *help)
{
	picture_entry(pic, names, HELP_AT, help);
}

static void
help_key(struct page_picture *pic, const struct key *k)
{
	char text[NAMES_TEXT];

	if (k->group != NULL) {
		page_keys_help_title(pic, k->group);
	} else if (has_default_keys(k)) {
		page_keys_help_line(pic, k->names, k->help);
	} else {
		make_names(k, text);
		page_keys_help_line(pic, text, k->help);
	}
}

void
page_keys_help(struct page_picture *pic, enum page_keys group)
{
	int at = -1;
	size_t i;

	for (i = 0; i < BASE_NELEM(keys); i++) {
		at += keys[i].group != NULL;
		if (at == (int)group)
			help_key(pic, &keys[i]);
	}
}

static const struct {
	const char *name;
	int code;
} names[] = {
	{ "Up", PAGE_KEY_UP },
	{ "Down", PAGE_KEY_DOWN },
	{ "Left", PAGE_KEY_LEFT },
	{ "Right", PAGE_KEY_RIGHT },
	{ "PgUp", PAGE_KEY_PGUP },
	{ "PgDn", PAGE_KEY_PGDN },
	{ "Home", PAGE_KEY_HOME },
	{ "End", PAGE_KEY_END },
	{ "Backspace", PAGE_KEY_BACKSPACE },
	{ "Delete", PAGE_KEY_DELETE },
	{ "Insert", PAGE_KEY_INSERT },
	{ "Enter", PAGE_KEY_ENTER },
	{ "that key", PAGE_KEY_OTHER },
	{ "Tab", '\t' },
	{ "Space", ' ' },
	{ "Esc", PAGE_CTRL('[') },
};

void
page_key_name(int code, char out[16])
{
	size_t len = 0, i;

	out[0] = '\0';
	for (i = 0; i < BASE_NELEM(names); i++)
		if (names[i].code == code) {
			base_append(out, 16, &len, "%s", names[i].name);
			return;
		}
	if (code > PAGE_KEY_F0 && code <= PAGE_KEY_F_LAST)
		base_append(out, 16, &len, "F%d", code - PAGE_KEY_F0);
	else if (code >= 0 && code < ' ')
		base_append(out, 16, &len, "^%c", code + '@');
	else if (code > ' ' && code < 0x7f)
		base_append(out, 16, &len, "%c", code);
	else
		base_append(out, 16, &len, "U+%04X", (unsigned)code);
}

/* The number that the whole text is, 1 to max; 0: it is none. */
static int
parse_number(const char *text, int base, long max)
{
	char *end;
	long n = strtol(text, &end, base);

	/* strtol(3) would take signs and blanks. */
	return text[0] >= '0' && *end == '\0' && n > 0 && n <= max ? (int)n :
	    0;
}

int
page_key_parse(const char *name)
{
	size_t len = strlen(name), i;
	uint32_t c;
	int n;

	for (i = 0; i < BASE_NELEM(names); i++)
		if (names[i].code != PAGE_KEY_OTHER &&
		    strcasecmp(names[i].name, name) == 0)
			return names[i].code;
	if (len > 0 && base_utf8_char(name, len, &c) == len && c > ' ' &&
	    c != 0x7f)
		return (int)c;
	if (len == 2 && name[0] == '^' && ((name[1] >= '@' &&
	    name[1] <= '_') || (name[1] >= 'a' && name[1] <= 'z')))
		return PAGE_CTRL(name[1]);
	if (strncasecmp(name, "U+", 2) == 0) {
		n = parse_number(name + 2, 16, 0x10ffff);
		return n > ' ' && n != 0x7f ? n : PAGE_KEY_NONE;
	}
	if (name[0] == 'F' || name[0] == 'f') {
		n = parse_number(name + 1, 10, PAGE_KEY_F_LAST - PAGE_KEY_F0);
		return n > 0 ? PAGE_KEY_F0 + n : PAGE_KEY_NONE;
	}
	return PAGE_KEY_NONE;
}

int
page_key_one(int code)
{
	if (code == '\r' || code == '\n')
		return PAGE_KEY_ENTER;
	if (code == 0x7f || code == PAGE_CTRL('H'))
		return PAGE_KEY_BACKSPACE;
	return code;
}

/*
 * Sequences are "O" and a letter; "[", parameters, and a letter or ~; or "[[A"
 * of the console.
 */
bool
page_key_goes_on(const char *bytes, size_t n)
{
	char last = bytes[n - 1];

	if (n == 1)
		return last == '[' || last == 'O';
	if (bytes[0] == 'O')
		return false;
	return (n == 2 && last == '[') || (last >= ' ' && last < '@');
}

int
page_key_sequence(const char *bytes)
{
	static const int moves[] = { ['A' - 'A'] = PAGE_KEY_UP,
		PAGE_KEY_DOWN, PAGE_KEY_RIGHT, PAGE_KEY_LEFT,
		['F' - 'A'] = PAGE_KEY_END, ['H' - 'A'] = PAGE_KEY_HOME };
	static const int numbered[] = { [1] = PAGE_KEY_HOME, PAGE_KEY_INSERT,
		PAGE_KEY_DELETE, PAGE_KEY_END, PAGE_KEY_PGUP, PAGE_KEY_PGDN,
		PAGE_KEY_HOME, PAGE_KEY_END, [11] = PAGE_KEY_F0 + 1,
		PAGE_KEY_F0 + 2, PAGE_KEY_F0 + 3, PAGE_KEY_F0 + 4,
		PAGE_KEY_F0 + 5, [17] = PAGE_KEY_F0 + 6, PAGE_KEY_F0 + 7,
		PAGE_KEY_F0 + 8, PAGE_KEY_F0 + 9, PAGE_KEY_F0 + 10,
		[23] = PAGE_KEY_F0 + 11, PAGE_KEY_F0 + 12 };
	size_t len = strlen(bytes);
	char last = len > 0 ? bytes[len - 1] : '\0';
	int code = PAGE_KEY_NONE;
	char *end;
	long n;

	if (len == 3 && bytes[1] == '[' && last >= 'A' && last <= 'E') {
		code = PAGE_KEY_F0 + 1 + last - 'A';
	} else if (len == 2 && bytes[0] == 'O' && last >= 'P' && last <= 'S') {
		code = PAGE_KEY_F0 + 1 + last - 'P';
	} else if (len == 2 && last >= 'A' && last <= 'H') {
		code = moves[last - 'A'];
	} else if (len > 2 && last == '~' && bytes[1] >= '0' &&
	    bytes[1] <= '9') {
		n = strtol(bytes + 1, &end, 10);
		if (end == bytes + len - 1 && n < (long)BASE_NELEM(numbered))
			code = numbered[n];
	}
	return code != PAGE_KEY_NONE ? code : PAGE_KEY_OTHER;
}
