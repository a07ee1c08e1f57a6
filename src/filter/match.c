/*
 * Whether a block is meant.
 */
#include <string.h>
#include <strings.h>

#include "../base/base.h"
#include "expr.h"

static char
lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

static bool
same(const char *a, const char *b)
{
	while (*a != '\0' && lower(*a) == lower(*b))
		a++, b++;
	return *a == *b;
}

/* `word` is in lower case, and not empty. */
static bool
contains(const char *text, const char *word)
{
	for (; *text != '\0'; text++) {
		size_t n = 0;

		while (word[n] != '\0' && lower(text[n]) == word[n])
			n++;
		if (word[n] == '\0')
			return true;
	}
	return false;
}

/* The character at s, whose first byte is no NUL. */
static const char *
next_character(const char *s)
{
	do
		s++;
	while ((*s & 0xc0) == 0x80);
	return s;
}

/*
 * Only the last * has to be tried again: what stands before it has found the
 * earliest place that there is.
 */
static bool
is_like(const char *text, const char *pattern)
{
	const char *star = NULL, *from = NULL;

	while (*text != '\0') {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
		} else if (*pattern == '?') {
			pattern++;
			text = next_character(text);
		} else if (*pattern == lower(*text) && *pattern != '\0') {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star;
			text = from = next_character(from);
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

static bool
compare(const char *text, enum expr_how how, const char *word)
{
	switch (how) {
	case EXPR_EQUAL:
		return same(text, word);
	case EXPR_PATTERN:
		return is_like(text, word);
	case EXPR_CONTAINS:
		return contains(text, word);
	case EXPR_RANGE:
		break;
	}
	return false;
}

static bool
holds_text(const struct filter_asked *asked, enum filter_field field,
    enum expr_how how, const char *word)
{
	const char *text = asked->text != NULL ?
	    asked->text(asked->arg, field) : NULL;
	const char *slash;

	/* What is not known is like nothing, but as empty as "". */
	if (text == NULL || text[0] == '\0')
		return how == EXPR_EQUAL && word[0] == '\0';
	if (compare(text, how, word))
		return true;
	if (expr_fields[field].kind != EXPR_PATH || how == EXPR_CONTAINS)
		return false;
	slash = strrchr(text, '/');
	return slash != NULL && compare(slash + 1, how, word);
}

static bool
holds(const struct filter *f, const struct expr_term *t,
    const struct filter_asked *asked)
{
	const char *word = f->words + t->word;

	if (t->how == EXPR_RANGE)
		return asked->number[t->field] >= t->lo &&
		    asked->number[t->field] <= t->hi;
	if (t->field != EXPR_ANY)
		return holds_text(asked, t->field, t->how, word);
	for (unsigned field = FILTER_DESCR; field <= FILTER_FILE; field++)
		if (holds_text(asked, field, t->how, word))
			return true;
	return false;
}

bool
filter_matches(const struct filter *f, const struct filter_asked *asked)
{
	uint16_t at = f->first;

	/* No way leads back: each term is asked once at most. */
	while (at < f->terms)
		at = f->term[at].next[holds(f, &f->term[at], asked)];
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
