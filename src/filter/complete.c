#include <string.h>
#include <strings.h>

#include "expr.h"

enum expected {
	EXPECTED_TERM,		/* a field's name, or the beginning of one */
	EXPECTED_SIGN,
	EXPECTED_VALUE,
	EXPECTED_JOINT,
	EXPECTED_ANYTHING,	/* a text: no completion */
};

struct end {
	const struct filter_table *table;
	enum expected what;
	size_t from;
	int field;		/* of sign and value */
};

static bool
begins_field(const struct filter_table *t, const char *typed, size_t len)
{
	for (size_t f = 0; f < t->n; f++)
		if (strlen(t->field[f].name) > len &&
		    strncasecmp(t->field[f].name, typed, len) == 0)
			return true;
	return false;
}

/* Skips a term; false: the text ends with it. */
static bool
skip_term(const char *s, size_t *at, struct end *end)
{
	size_t len = *s == '"' ? expr_quoted(s) : expr_word(s), behind;
	const struct expr_sign *sign;

	end->field = expr_field_find(end->table, s, len);
	end->from = *at;
	end->what = *s == '"' ? EXPECTED_ANYTHING : EXPECTED_TERM;
	if (len == 0 || (s[len] == '\0' && (*s == '"' || end->field < 0 ||
	    begins_field(end->table, s, len))))
		return false;
	behind = len + expr_blanks(s + len);
	sign = expr_sign_at(s + behind);
	if (sign == NULL && s[behind] == '\0' && end->field >= 0) {
		end->what = EXPECTED_SIGN;
		end->from = *at + behind;
		return false;
	}
	if (sign == NULL || *s == '"') {
		*at += len;
		return true;
	}
	behind += strlen(sign->text);
	behind += expr_blanks(s + behind);
	end->what = end->field >= 0 ? EXPECTED_VALUE : EXPECTED_ANYTHING;
	end->from = *at + behind;
	len = s[behind] == '"' ? expr_quoted(s + behind) :
	    end->field < 0 ? expr_value(s + behind) :
	    expr_value_of(end->table->field[end->field].kind, s + behind);
	*at += behind + len;
	return len > 0 && s[behind + len] != '\0';
}

static struct end
find_end(const struct filter_table *table, const char *s)
{
	struct end end = { .table = table, .field = -1 };
	bool term = true;		/* a term comes next */
	enum expr_joint joint;
	size_t at = 0, len;

	for (;;) {
		at += expr_blanks(s + at);
		joint = expr_joint_at(s + at, &len);
		/* "or" may be the beginning of a longer word. */
		if (joint != EXPR_NONE && s[at + len] == '\0' &&
		    expr_word(s + at) > 0)
			joint = EXPR_NONE;
		if (s[at] == '\0')
			break;
		if (joint != EXPR_NONE || s[at] == '(') {
			at += joint != EXPR_NONE ? len : 1;
			term = true;
			continue;
		}
		if (s[at] == ')') {
			at++;
			term = false;
			continue;
		}
		if (!skip_term(s + at, &at, &end))
			return end;
		term = false;
	}
	end.what = term ? EXPECTED_TERM : EXPECTED_JOINT;
	end.from = at;
	return end;
}

static const char *
sign_word(enum expr_kind kind, size_t k)
{
	for (enum expr_op op = 0; op < EXPR_OPS; op++)
		if (expr_kind_takes(kind, op) && k-- == 0)
			return expr_op_text(op);
	return NULL;
}

static const char *
word_at(const struct end *end, size_t k)
{
	static const char *const joints[] = { "&", "|" };

	switch (end->what) {
	case EXPECTED_TERM:
		return k < end->table->n ? end->table->field[k].name : NULL;
	case EXPECTED_SIGN:
		return sign_word(end->table->field[end->field].kind, k);
	case EXPECTED_VALUE:
		return expr_kind_word(end->table->field[end->field].kind, k);
	case EXPECTED_JOINT:
		return k < 2 ? joints[k] : NULL;
	case EXPECTED_ANYTHING:
		break;
	}
	return NULL;
}

const char *
filter_complete(const struct filter_table *table, const char *typed, size_t k,
    size_t *from)
{
	struct end end = find_end(table, typed);
	size_t len = strlen(typed + end.from);
	const char *word;

	*from = end.from;
	for (size_t i = 0; (word = word_at(&end, i)) != NULL; i++)
		if (strncasecmp(word, typed + end.from, len) == 0 && k-- == 0)
			return word;
	return NULL;
}
