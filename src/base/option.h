/*
 * option: an option of a program as data: its name, its argument, its help, and
 * the field of a struct that its value fills.  The same row puts the field back
 * into words, for the command line of another program.
 *
 * Example
 *	static const struct base_option stack = { .name = "stack",
 *	    .argument = "N", .value = { .kind = BASE_NUMBER,
 *	    .at = offsetof(struct opts, stack), .max = 64 },
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
	BASE_NO_FIELD,		/* none: it is enough that it was given */
	BASE_FLAG,		/* bool: true once it was given */
	BASE_TEXT,		/* const char *: any text, which is not copied */
	BASE_NUMBER,		/* unsigned: a number from min to max */
	BASE_COUNT,		/* uint64_t: likewise */
	BASE_SIZE,		/* uint64_t: bytes, as in 512k, at most max */
	BASE_DESCRIPTOR,	/* int: a number up to max; -1: not given */
	BASE_SECONDS,		/* int: milliseconds; 0.05 s to a day */
	BASE_PERCENT,		/* double: a share of 1; 0 to max percent */
	BASE_WORD,		/* an enum: min and which word of the argument it is */
	BASE_OTHER,		/* take() fills it */
};

struct base_value {
	enum base_kind kind;
	size_t at;			/* offset of the field */
	uint64_t min, max;
	bool (*ok)(const char *text);	/* what else it must be; NULL: nothing */
	int (*take)(void *into, const char *text);	/* 0 or -EINVAL */
	const char *wrong;		/* clause about a bad value; NULL: as its kind has it */
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

/*
 * The text, NULL where there is none, into the field of the struct `into`.
 * -EINVAL: it is no such value.
 */
int base_option_take(const struct base_option *, void *into, const char *text);

/* The clause for such a text: "not a number from 1 to 15". */
void base_option_wrong(const struct base_option *, char *out, size_t cap);

/*
 * The field as text, of a flag "": number is room for it.  NULL: it is as if the
 * option had not been given (false, NULL, 0, no descriptor), or it has no field
 * that could be written.
 */
const char *base_option_text(const struct base_option *, const void *from,
    char number[BASE_OPTION_TEXT]);

#endif
