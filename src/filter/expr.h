/*
 * expr: what an expression is compiled to, and the table of fields.  Private
 * to the room.
 *
 * A compiled expression is a row of terms without a stack.  Each says which
 * term is asked next when it holds and when it does not; the way ends at one
 * of two marks.  So !, & and | cost nothing when blocks are looked at, and
 * what the answer does not depend on is not asked.
 */
#ifndef FILTER_EXPR_H
#define FILTER_EXPR_H

#include "filter.h"

enum expr_how {
	EXPR_RANGE,		/* lo <= number <= hi */
	EXPR_EQUAL,		/* the text is the word ... */
	EXPR_PATTERN,		/* ... is like it ... */
	EXPR_CONTAINS,		/* ... has it somewhere */
};

#define EXPR_ANY FILTER_FIELDS	/* in place of a field: all that a row shows as text */

#define EXPR_NO 0xfffe		/* in place of a term's number: the answer */
#define EXPR_YES 0xffff

struct expr_term {
	uint64_t lo, hi;	/* none: 1 and 0 */
	uint16_t next[2];	/* [1] when it holds */
	uint16_t word;		/* where in words */
	uint8_t field;
	uint8_t how;
};

struct filter {
	char *text;		/* as it was given */
	char *words;		/* of texts, each with its NUL */
	uint32_t wants;		/* a bit for each field whose text is asked for */
	uint16_t first;		/* term */
	uint16_t terms;
	struct expr_term term[];
};

/* --- fields (fields.c) -------------------------------------------------- */

enum expr_kind {
	EXPR_SIZE,
	EXPR_AGE,
	EXPR_ADDRESS,
	EXPR_NUMBER,
	EXPR_LAYER,
	EXPR_TYPE,		/* a code, or a text */
	EXPR_TEXT,
	EXPR_PATH,		/* a text with folders, and perhaps a line */
};

#define EXPR_ALIASES 3

struct expr_field {
	const char *name;
	const char *alias[EXPR_ALIASES];
	enum expr_kind kind;
	const char *as;		/* a value, for an example */
	const char *help;
};

extern const struct expr_field expr_fields[FILTER_FIELDS];

/* The field with this name, whatever its case, or -1. */
int expr_field_find(const char *name, size_t len);
/* The name nearest to what was typed, or NULL. */
const char *expr_field_near(const char *name, size_t len);
/* What the k-th value of a kind that has words is called; NULL behind the last. */
const char *expr_kind_word(enum expr_kind, size_t k);

enum expr_op {
	EXPR_EQ,
	EXPR_NE,
	EXPR_LT,
	EXPR_LE,
	EXPR_GT,
	EXPR_GE,
	EXPR_HAS,
	EXPR_HAS_NOT,
	EXPR_OPS
};

/* One that people write; those that only look like one say what is meant. */
struct expr_sign {
	const char *text;
	enum expr_op op;
	bool meant;		/* it is not one: op is probably meant */
};

/* The longest that stands at s, or NULL. */
const struct expr_sign *expr_sign_at(const char *s);
const char *expr_op_text(enum expr_op);
bool expr_kind_takes(enum expr_kind, enum expr_op);
/* "= != < <= > >=" */
const char *expr_kind_ops(enum expr_kind);

/* --- words (parse.c) ---------------------------------------------------- */

/* Of an expression: between terms, or before the one at s. */
enum expr_joint {
	EXPR_NONE,
	EXPR_AND,
	EXPR_OR,
	EXPR_NOT,
};

/* What stands at s as & && and, | || or, ! not; its length into *len. */
enum expr_joint expr_joint_at(const char *s, size_t *len);

/* Blanks at s. */
size_t expr_blanks(const char *s);
/* A word at s that may be a field's name or a text alone; 0: there is none. */
size_t expr_word(const char *s);
/* A word at s that is a value: it may have signs, and anything in parentheses. */
size_t expr_value(const char *s);
/* What is in quotes at s, quotes included; 0: the second one is missing. */
size_t expr_quoted(const char *s);

/* --- values (values.c) -------------------------------------------------- */

/*
 * The numbers that `text` stands for: one, or of an age those that are shown
 * alike.  0 or -EINVAL.
 */
int expr_range(enum expr_kind, const char *text, uint64_t *lo, uint64_t *hi);
/* "no size, as in 12, 1k or 1.5M" */
const char *expr_range_wrong(enum expr_kind);

#endif
