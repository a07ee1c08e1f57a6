/*
 * option: an option of a program as data: its name, its argument, its help, and
 * the field of a struct that its value fills.  The same row turns the field
 * into text again, for the command line of another program.
 *
 * A file with a table of options defines ROW_STRUCT as the struct with the
 * fields before it includes this one, and writes values with the macros at the
 * end.
 *
 * Example
 *	#define ROW_STRUCT struct opts
 *	#include "option.h"
 *	static const struct base_option stack = { .name = "stack",
 *	    .argument = "N", .value = NUMBER(stack, 0, 64),
 *	    .help = "record N frames of each stack" };
 *	struct opts o;
 *	char text[BASE_OPTION_TEXT];
 *
 *	base_option_take(&stack, &o, "16");		o.stack is 16
 *	base_option_text(&stack, &o, text);		"16"
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include "base.h"

#define BASE_OPTION_TEXT 24	/* of a number */

/* The form of a value's text, and the type of the field that it fills. */
enum base_kind {
	BASE_NO_FIELD,		/* none: only whether it is given matters */
	BASE_FLAG,		/* bool: true when it is given */
	BASE_TEXT,		/* const char *: any text, borrowed */
	BASE_NUMBER,		/* unsigned: a number from min to max */
	BASE_COUNT,		/* uint64_t: likewise */
	BASE_SIZE,		/* uint64_t: bytes, as in 512k, at most max */
	BASE_DESCRIPTOR,	/* int: a number up to max; -1: not given */
	BASE_SECONDS,		/* int: milliseconds; 0.05 s to a day */
	BASE_PERCENT,		/* double: a share of 1; 0 to max percent */
	BASE_WORD,		/* an enum: min + the word's place in the argument */
	BASE_OTHER,		/* take() fills it */
};

struct base_value {
	enum base_kind kind;
	size_t at;			/* offset of the field */
	uint64_t min, max;
	bool (*ok)(const char *text);	/* a further check, or NULL */
	int (*take)(void *into, const char *text);	/* 0 or -EINVAL */
	const char *wrong;		/* clause about a bad value; NULL: that of the kind */
};

struct base_option {
	const char *name;
	const char *argument;		/* NULL: none; in brackets: optional */
	struct base_value value;
	const char *help;
};

/* For struct option of getopt.h: no_argument and its like. */
int base_option_has_arg(const struct base_option *);

/* "--sort=WORD", "--sort[=WORD]", "--once"; `between` for the '='. */
void base_option_usage(const struct base_option *, char between, char *out,
    size_t cap);

/* Stores the text's value (NULL: none) in its field of `into`.  -EINVAL. */
int base_option_take(const struct base_option *, void *into, const char *text);

/* The clause about a bad value: "not a number from 1 to 15". */
void base_option_wrong(const struct base_option *, char *out, size_t cap);

/*
 * The field as text, of a flag "", of a number in `number`.  NULL for the value
 * of an option that is not given (false, NULL, 0, no descriptor) and for kinds
 * that cannot be written.
 */
const char *base_option_text(const struct base_option *, const void *from,
    char number[BASE_OPTION_TEXT]);

#endif	/* BASE_OPTION_H */

#if defined(ROW_STRUCT) && !defined(AT)
#define AT(field) .at = offsetof(ROW_STRUCT, field)

#define GIVEN { .kind = BASE_NO_FIELD }
#define FLAG(field) { .kind = BASE_FLAG, AT(field) }
#define TEXT(field) { .kind = BASE_TEXT, AT(field) }
#define TEXT_OK(field, f, clause) \
	{ .kind = BASE_TEXT, AT(field), .ok = f, .wrong = clause }
#define NUMBER(field, least, most) \
	{ .kind = BASE_NUMBER, AT(field), .min = least, .max = most }
#define NUMBER_OK(field, f, clause) \
	{ .kind = BASE_NUMBER, AT(field), .max = UINT32_MAX, .ok = f, \
	    .wrong = clause }
#define COUNT(field, least, most) \
	{ .kind = BASE_COUNT, AT(field), .min = least, .max = most }
#define SIZE(field, most, clause) \
	{ .kind = BASE_SIZE, AT(field), .max = most, .wrong = clause }
#define DESCRIPTOR(field) \
	{ .kind = BASE_DESCRIPTOR, AT(field), .max = 1 << 20 }
#define SECONDS(field) { .kind = BASE_SECONDS, AT(field) }
#define PERCENT(field, most) { .kind = BASE_PERCENT, AT(field), .max = most }
#define WORD(field, first) { .kind = BASE_WORD, AT(field), .min = first }
#define OTHER(f, clause) { .kind = BASE_OTHER, .take = f, .wrong = clause }
#endif
