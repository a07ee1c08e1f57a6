/*
 * expr: compiled expressions, and the table of fields.  Private to the room.
 *
 * A compiled expression is an array of terms.  Each names the term to evaluate
 * next when it is true and when it is false, or the result.  So !, & and | cost
 * nothing, and terms that do not matter are not evaluated.
 */
#ifndef FILTER_EXPR_H
#define FILTER_EXPR_H

#include "filter.h"

enum expr_how {
	EXPR_RANGE,		/* lo <= number <= hi */
	EXPR_EQUAL,		/* the text equals the word ... */
	EXPR_PATTERN,		/* ... matches it ... */
	EXPR_CONTAINS,		/* ... contains it */
};

#define EXPR_ANY 0xff	/* as a field: all texts of a row */

#define EXPR_NO 0xfffe		/* as a term's number: the result */
#define EXPR_YES 0xffff

struct expr_term {
	uint64_t lo, hi;	/* no number: 1 and 0 */
	uint16_t next[2];	/* [1]: if it is true */
	uint16_t word;		/* offset in words */
	uint8_t field;
	uint8_t how;
};

struct filter {
	const struct filter_table *table;
	char *text;		/* the expression */
	char *words;		/* each with its NUL */
	uint32_t wants;		/* a bit for each field whose text is used */
	uint16_t first;		/* term */
	uint16_t terms;
	struct expr_term term[];
};

/* --- fields (fields.c) -------------------------------------------------- */

enum expr_kind {
	EXPR_SIZE,
	EXPR_AGE,
	EXPR_MILLISECONDS,	/* an age, of ms without a unit */
	EXPR_TIME,
	EXPR_ADDRESS,
	EXPR_NUMBER,
	EXPR_SIGNED,		/* from INT64_MIN on: 0 is EXPR_ZERO */
	EXPR_LAYER,
	EXPR_TYPE,		/* a code, or a text */
	EXPR_TEXT,
	EXPR_PATH,		/* a text with folders, with or without a line */
};

#define EXPR_ALIASES 3

struct expr_field {
	const char *name;
	const char *alias[EXPR_ALIASES];
	enum expr_kind kind;
	const char *example;	/* a value */
	const char *help;
};

#define EXPR_ZERO (UINT64_C(1) << 63)

struct filter_table {
	const struct expr_field *field;
	unsigned n;
	unsigned numbers;	/* the fields before have a number */
	uint32_t any;		/* a bit for each field that a word alone is searched in */
};

extern const struct expr_field expr_fields[FILTER_FIELDS];

/* The field with this name in any case, or -1. */
int expr_field_find(const struct filter_table *, const char *name, size_t len);
/* The kind of the field's values under this name: age_ms implies a unit. */
enum expr_kind expr_field_kind(const struct expr_field *, const char *name,
    size_t len);
/* The nearest name, or NULL. */
const char *expr_field_near(const struct filter_table *, const char *name,
    size_t len);
/* The k-th word of a kind whose values are words; NULL: no more. */
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

struct expr_sign {
	const char *text;
	enum expr_op op;
	bool wrong;		/* no operator: op is probably meant */
};

/* The longest sign at s, or NULL. */
const struct expr_sign *expr_sign_at(const char *s);
const char *expr_op_text(enum expr_op);
bool expr_kind_takes(enum expr_kind, enum expr_op);
/* "= != < <= > >=" */
const char *expr_kind_ops(enum expr_kind);

/* --- words (parse.c) ---------------------------------------------------- */

enum expr_joint {
	EXPR_NONE,
	EXPR_AND,
	EXPR_OR,
	EXPR_NOT,
};

/* & && and, | || or, ! not at s; its length into *len. */
enum expr_joint expr_joint_at(const char *s, size_t *len);

/* Lengths of what stands at s; 0: nothing. */
size_t expr_blanks(const char *s);
size_t expr_word(const char *s);	/* a field's name, or a text alone */
size_t expr_value(const char *s);	/* may have signs, and anything in parentheses */
size_t expr_value_of(enum expr_kind, const char *s);
size_t expr_quoted(const char *s);	/* with its quotes; 0: one is missing */

/* --- values (values.c) -------------------------------------------------- */

/* "not a size, as in 12, 1k or 1.5M" */
const char *expr_range_wrong(enum expr_kind);
/*
 * The numbers that are shown as `text`.  -EINVAL: if there is more to say than
 * expr_range_wrong() does, it is in *wrong.
 */
int expr_range(enum expr_kind, const char *text, uint64_t *lo, uint64_t *hi,
    const char **wrong);

/* --- times (times.c) ------------------------------------------------------ */

/* The length of a time without quotes: a blank precedes its clock and its zone. */
size_t expr_time(const char *s);
#define EXPR_TIME_WRONG "not a time, as in 12:00, 2026-11-20 or 2026-11-20 15:04"
int expr_time_range(const char *text, uint64_t *lo, uint64_t *hi,
    const char **wrong);

#endif
