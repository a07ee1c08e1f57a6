#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "expr.h"

struct span {
	const char *s, *end;
};

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* The words of an expression are in lower case. */
static bool
is_equal(struct span text, const char *word)
{
	const char *s = text.s;

	while (s < text.end && lower(*s) == *word)
		s++, word++;
	return s == text.end && *word == '\0';
}

static bool
contains(struct span text, const char *word)
{
	size_t len = strlen(word);

	for (const char *s = text.s; (size_t)(text.end - s) >= len; s++) {
		size_t n = 0;

		while (n < len && lower(s[n]) == word[n])
			n++;
		if (n == len)
			return true;
	}
	return false;
}

static const char *
next_character(const char *s, const char *end)
{
	do
		s++;
	while (s < end && (*s & 0xc0) == 0x80);
	return s;
}

/* Backtracks to the last * only: the text before it is matched at its earliest. */
static bool
matches_pattern(struct span text, const char *pattern)
{
	const char *s = text.s, *star = NULL, *from = NULL;

	while (s < text.end) {
		if (*pattern == '*') {
			star = ++pattern;
			from = s;
		} else if (*pattern == '?') {
			pattern++;
			s = next_character(s, text.end);
		} else if (*pattern == lower(*s)) {
			pattern++;
			s++;
		} else if (star != NULL) {
			pattern = star;
			s = from = next_character(from, text.end);
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static bool
compare_text(struct span text, enum expr_how how, const char *word)
{
	switch (how) {
	case EXPR_EQUAL:
		return is_equal(text, word);
	case EXPR_PATTERN:
		return matches_pattern(text, word);
	case EXPR_CONTAINS:
		return contains(text, word);
	case EXPR_RANGE:
		break;
	}
	return false;
}

static struct span
without_folders(struct span path)
{
	for (const char *s = path.end; s > path.s; s--)
		if (s[-1] == '/')
			return (struct span){ s, path.end };
	return path;
}

/* "main.c:42" is in main.c. */
static struct span
without_line(struct span path)
{
	const char *s = path.end;

	while (s > path.s && s[-1] >= '0' && s[-1] <= '9')
		s--;
	if (s < path.end && s > path.s && s[-1] == ':')
		path.end = s - 1;
	return path;
}

static bool
compare_path(struct span path, enum expr_how how, const char *word)
{
	struct span name = without_folders(path);

	return compare_text(path, how, word) || compare_text(name, how, word) ||
	    compare_text(without_line(path), how, word) ||
	    compare_text(without_line(name), how, word);
}

/* as_shown: a row shows a path without its folders. */
static bool
text_matches(const struct filter *f, const struct filter_block *block,
    unsigned field, enum expr_how how, const char *word, bool as_shown)
{
	const char *text = block->text != NULL ?
	    block->text(block->arg, (enum filter_field)field) : NULL;
	bool path = f->table->field[field].kind == EXPR_PATH;
	struct span all;

	/* Unknown text matches nothing except == "". */
	if (text == NULL || text[0] == '\0')
		return how == EXPR_EQUAL && word[0] == '\0';
	all = (struct span){ text, text + strlen(text) };
	if (path && as_shown)
		return compare_text(without_folders(all), how, word);
	return path ? compare_path(all, how, word) : compare_text(all, how, word);
}

/*
 * For a field whose number is a text, such as a line: fetches it only when
 * needed.
 */
static bool
number_is_in(const struct filter *f, const struct filter_block *block,
    const struct expr_term *t)
{
	const char *text;
	uint64_t n;

	if (t->field < f->table->numbers) {
		n = block->number[t->field];
	} else {
		text = block->text != NULL ?
		    block->text(block->arg, (enum filter_field)t->field) : NULL;
		if (text == NULL || text[0] == '\0')
			return false;
		n = f->table->field[t->field].kind == EXPR_SIGNED ?
		    (uint64_t)strtoll(text, NULL, 10) + EXPR_ZERO :
		    strtoull(text, NULL, 10);
	}
	return n >= t->lo && n <= t->hi;
}

static bool
term_is_true(const struct filter *f, const struct expr_term *t,
    const struct filter_block *block)
{
	const char *word = f->words + t->word;

	if (t->how == EXPR_RANGE)
		return number_is_in(f, block, t);
	if (t->field != EXPR_ANY)
		return text_matches(f, block, t->field, t->how, word, false);
	for (unsigned field = 0; field < f->table->n; field++)
		if ((f->table->any >> field & 1) != 0 &&
		    text_matches(f, block, field, t->how, word, true))
			return true;
	return false;
}

bool
filter_matches(const struct filter *f, const struct filter_block *block)
{
	uint16_t at = f->first;

	/* `next` never leads back. */
	while (at < f->terms)
		at = f->term[at].next[term_is_true(f, &f->term[at], block)];
	return at == EXPR_YES;
}

const char *
filter_text(const struct filter *f)
{
	return f->text;
}

bool
filter_wants(const struct filter *f, enum filter_field field)
{
	return (f->wants >> field & 1) != 0;
}

bool
filter_uses(const struct filter *f, enum filter_field field)
{
	for (uint16_t i = 0; i < f->terms; i++)
		if (f->term[i].field == field)
			return true;
	return false;
}
