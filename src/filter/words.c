/*
 * How an expression falls into words.
 */
#include <string.h>
#include <strings.h>

#include "expr.h"

#define BLANKS " \t\n\r"

size_t
expr_blanks(const char *s)
{
	return strspn(s, BLANKS);
}

size_t
expr_word(const char *s)
{
	return strcspn(s, BLANKS "&|()!=<>~\"");
}

size_t
expr_value(const char *s)
{
	unsigned open = 0;
	size_t n = 0;

	/* What closes more than the value has opened closes a group. */
	for (; s[n] != '\0' && s[n] != '"'; n++) {
		if (open == 0 && strchr(BLANKS "&|)", s[n]) != NULL)
			break;
		open += s[n] == '(';
		open -= s[n] == ')';
	}
	/* One that is never closed is none of its own. */
	return open == 0 ? n : strcspn(s, BLANKS "&|()\"");
}

size_t
expr_quoted(const char *s)
{
	size_t n = 1;

	for (; s[n] != '\0' && s[n] != '"'; n++)
		if (s[n] == '\\' && s[n + 1] != '\0')
			n++;
	return s[n] == '"' ? n + 1 : 0;
}

enum expr_joint
expr_joint_at(const char *s, size_t *len)
{
	static const struct {
		const char *word;
		enum expr_joint joint;
	} words[] = {
		{ "and", EXPR_AND },
		{ "or", EXPR_OR },
		{ "not", EXPR_NOT },
	};
	size_t n = expr_word(s), after;

	if (*s == '&' || *s == '|') {
		*len = s[1] == s[0] ? 2 : 1;
		return *s == '&' ? EXPR_AND : EXPR_OR;
	}
	if (*s == '!' && s[1] != '=' && s[1] != '~') {
		*len = 1;
		return EXPR_NOT;
	}
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		if (strlen(words[i].word) != n ||
		    strncasecmp(s, words[i].word, n) != 0)
			continue;
		/* "not=5" is a field that there is not. */
		after = n + expr_blanks(s + n);
		if (s[after] != '!' && expr_sign_at(s + after) != NULL)
			break;
		*len = n;
		return words[i].joint;
	}
	return EXPR_NONE;
}
