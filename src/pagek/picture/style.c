#include <string.h>

#include "../../base/base.h"
#include "picture.h"

static const struct {
	const char *word;
	struct page_style usual;
} marks[PAGE_MARKS] = {
	[PAGE_PLAIN] = { NULL, { .ink = -1, .ground = -1 } },
	[PAGE_HEADING] = { "heading", { PAGE_REVERSE, -1, -1 } },
	[PAGE_CURSOR] = { "cursor", { PAGE_REVERSE, -1, -1 } },
	[PAGE_NEW] = { "new", { PAGE_BOLD, -1, -1 } },
	[PAGE_WARN] = { "warn", { PAGE_BOLD, 3, -1 } },
	[PAGE_BAD] = { "bad", { PAGE_BOLD, 1, -1 } },
	[PAGE_STALE] = { "stale", { PAGE_DIM, -1, -1 } },
	[PAGE_STATUS] = { "status", { PAGE_REVERSE, -1, -1 } },
};

const char *
page_mark_word(enum page_mark mark)
{
	return marks[mark].word;
}

enum page_mark
page_mark_named(const char *word)
{
	unsigned i;

	for (i = 0; i < PAGE_MARKS; i++)
		if (marks[i].word != NULL && strcmp(marks[i].word, word) == 0)
			return (enum page_mark)i;
	return PAGE_PLAIN;
}

struct page_style
page_style_usual(enum page_mark mark)
{
	return marks[mark].usual;
}

static bool
is_word(const char *at, size_t len, const char *word)
{
	return strlen(word) == len && strncmp(at, word, len) == 0;
}

static const char *const colours[] = { "default", "black", "red", "green",
	"yellow", "blue", "magenta", "cyan", "white" };

static const struct {
	const char *word;
	unsigned attr;
} attrs[] = {
	{ "bold", PAGE_BOLD },
	{ "dim", PAGE_DIM },
	{ "reverse", PAGE_REVERSE },
	{ "underline", PAGE_UNDERLINE },
	{ "plain", 0 },
};

/* ground: a colour is that of the background. */
static bool
parse_word(struct page_style *style, const char *at, size_t len, bool ground)
{
	size_t i;

	for (i = 0; i < BASE_NELEM(colours); i++)
		if (is_word(at, len, colours[i])) {
			*(ground ? &style->ground : &style->ink) = (int)i - 1;
			return true;
		}
	for (i = 0; i < BASE_NELEM(attrs) && !ground; i++)
		if (is_word(at, len, attrs[i].word)) {
			style->attrs |= attrs[i].attr;
			return true;
		}
	return false;
}

bool
page_style_parse(struct page_style *out, const char *text, const char **wrong)
{
	struct page_style style = { .ink = -1, .ground = -1 };
	bool ground = false;
	size_t len;

	for (; *(text += strspn(text, " \t")) != '\0'; text += len) {
		len = strcspn(text, " \t");
		*wrong = text;
		if (!ground && is_word(text, len, "on")) {
			ground = true;
			continue;
		}
		if (!parse_word(&style, text, len, ground))
			return false;
		ground = false;
	}
	if (ground)
		return false;
	*out = style;
	return true;
}

void
page_style_text(struct page_style style, char out[PAGE_STYLE_TEXT])
{
	size_t len = 0, i;

	out[0] = '\0';
	for (i = 0; i < BASE_NELEM(attrs); i++)
		if ((style.attrs & attrs[i].attr) != 0)
			base_append(out, PAGE_STYLE_TEXT, &len, "%s%s",
			    len > 0 ? " " : "", attrs[i].word);
	if (style.ink >= 0)
		base_append(out, PAGE_STYLE_TEXT, &len, "%s%s",
		    len > 0 ? " " : "", colours[style.ink + 1]);
	if (style.ground >= 0)
		base_append(out, PAGE_STYLE_TEXT, &len, "%son %s",
		    len > 0 ? " " : "", colours[style.ground + 1]);
	if (len == 0)
		base_append(out, PAGE_STYLE_TEXT, &len, "plain");
}

struct page_style
page_style_bare(enum page_mark mark, struct page_style style)
{
	if (style.attrs == 0 && (style.ink >= 0 || style.ground >= 0))
		style = page_style_usual(mark);
	style.ink = style.ground = -1;
	return style;
}
