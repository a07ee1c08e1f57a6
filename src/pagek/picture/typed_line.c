#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../../base/base.h"
#include "keys.h"
#include "typed_line.h"

void
line_set(struct typed_line *line, const char *text)
{
	size_t len = 0;

	base_append(line->text, sizeof line->text, &len, "%s", text);
	line->at = len;
}

static bool
combines(const char *text)
{
	uint32_t c;

	return base_utf8_char(text, strlen(text), &c) > 0 &&
	    wcwidth((wchar_t)c) == 0;
}

static size_t
char_len(const char *text)
{
	size_t n = base_utf8_char(text, strlen(text), NULL);

	return n > 0 ? n : 1;
}

static size_t
char_before(const struct typed_line *line, size_t at)
{
	while (at > 0) {
		do {
			at--;
		} while (at > 0 &&
		    ((unsigned char)line->text[at] & 0xc0) == 0x80);
		if (!combines(line->text + at))
			break;
	}
	return at;
}

static size_t
char_after(const struct typed_line *line, size_t at)
{
	if (line->text[at] == '\0')
		return at;
	do {
		at += char_len(line->text + at);
	} while (line->text[at] != '\0' && combines(line->text + at));
	return at;
}

static size_t
word_before(const struct typed_line *line)
{
	size_t at = line->at;

	while (at > 0 && line->text[at - 1] == ' ')
		at--;
	while (at > 0 && line->text[at - 1] != ' ')
		at--;
	return at;
}

static enum line_did
cut_bytes(struct typed_line *line, size_t from, size_t to)
{
	if (from == to)
		return LINE_MOVED;
	memmove(line->text + from, line->text + to,
	    strlen(line->text + to) + 1);
	line->at = from;
	return LINE_CHANGED;
}

static enum line_did
insert_text(struct typed_line *line, const char *text)
{
	size_t len = strlen(line->text), n = strlen(text);

	if (n == 0 || len + n >= sizeof line->text)
		return LINE_MOVED;
	memmove(line->text + line->at + n, line->text + line->at,
	    len - line->at + 1);
	memcpy(line->text + line->at, text, n);
	line->at += n;
	return LINE_CHANGED;
}

static enum line_did
move_to(struct typed_line *line, size_t at)
{
	line->at = at;
	return LINE_MOVED;
}

enum line_did
line_key(struct typed_line *line, int code)
{
	size_t len = strlen(line->text);
	char text[5];

	switch (code) {
	case PAGE_KEY_LEFT:
	case PAGE_CTRL('B'):
		return move_to(line, char_before(line, line->at));
	case PAGE_KEY_RIGHT:
	case PAGE_CTRL('F'):
		return move_to(line, char_after(line, line->at));
	case PAGE_KEY_HOME:
	case PAGE_CTRL('A'):
		return move_to(line, 0);
	case PAGE_KEY_END:
	case PAGE_CTRL('E'):
		return move_to(line, len);
	case PAGE_KEY_BACKSPACE:
	case PAGE_CTRL('H'):
	case 0x7f:
		return cut_bytes(line, char_before(line, line->at), line->at);
	case PAGE_KEY_DELETE:
	case PAGE_CTRL('D'):
		return cut_bytes(line, line->at, char_after(line, line->at));
	case PAGE_CTRL('U'):
		return cut_bytes(line, 0, line->at);
	case PAGE_CTRL('K'):
		return cut_bytes(line, line->at, len);
	case PAGE_CTRL('W'):
		return cut_bytes(line, word_before(line), line->at);
	default:
		if (code < ' ' || code > 0x10ffff)
			return LINE_NOT_MINE;
		page_key_utf8(code, text);
		return insert_text(line, text);
	}
}

static int
width_of(const struct typed_line *line, size_t from, size_t to, bool ascii)
{
	char part[LINE_TEXT];

	memcpy(part, line->text + from, to - from);
	part[to - from] = '\0';
	return picture_width(part, ascii);
}

int
line_cursor(const struct typed_line *line, size_t shown, bool ascii)
{
	return width_of(line, shown, line->at, ascii);
}

size_t
line_shown(const struct typed_line *line, int cols, bool ascii)
{
	int behind = width_of(line, line->at, strlen(line->text), ascii);
	size_t from = line->at, more;

	if (behind > cols / 4)
		behind = cols / 4;
	/* The cursor takes a column too. */
	while (from > 0) {
		more = char_before(line, from);
		if (width_of(line, more, line->at, ascii) + behind >= cols)
			break;
		from = more;
	}
	return from;
}

void
line_words_add(struct line_words *w, const char *word)
{
	void *words = w->word;

	if (strncmp(word, w->begun, strlen(w->begun)) != 0)
		return;
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->word[i], word) == 0)
			return;
	if (base_grow(&words, &w->cap, w->n + 1, sizeof *w->word) < 0)
		return;
	w->word = words;
	w->word[w->n] = strdup(word);
	if (w->word[w->n] != NULL)
		w->n++;
}

void
line_words_fini(struct line_words *w)
{
	size_t i;

	for (i = 0; i < w->n; i++)
		free(w->word[i]);
	free(w->word);
	w->word = NULL;
	w->n = w->cap = 0;
}

static int
by_word(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t
common_prefix(const struct line_words *w)
{
	const char *first = w->word[0];
	size_t n = strlen(first), i, k;

	for (i = 1; i < w->n; i++) {
		for (k = 0; k < n && w->word[i][k] == first[k]; k++)
			;
		n = k;
	}
	while (n > 0 && ((unsigned char)first[n] & 0xc0) == 0x80)
		n--;
	return n;
}

static const char *
last_part(const char *word)
{
	const char *at, *part = word;

	for (at = word; (at = strchr(at, '/')) != NULL; at++)
		if (at[1] != '\0')
			part = at + 1;
	return part;
}

void
line_complete(struct typed_line *line, struct line_words *w, char *out, size_t cap)
{
	size_t begun = strlen(w->begun), len = 0, n, i;
	char rest[LINE_TEXT];

	out[0] = '\0';
	if (w->n == 0)
		return;
	qsort(w->word, w->n, sizeof *w->word, by_word);
	n = common_prefix(w);
	if (n > begun && n - begun < sizeof rest) {
		memcpy(rest, w->word[0] + begun, n - begun);
		rest[n - begun] = '\0';
		insert_text(line, rest);
	}
	if (w->n == 1) {
		if (n > 0 && strchr("/=", w->word[0][n - 1]) == NULL &&
		    line->text[line->at] != ' ')
			insert_text(line, " ");
		return;
	}
	for (i = 0; i < w->n; i++)
		base_append(out, cap, &len, "%s%s", i > 0 ? "  " : "",
		    last_part(w->word[i]));
}
