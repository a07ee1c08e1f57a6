/*
 * filter: expressions that match blocks, as in
 *	size>=1k & type=ACREQ & age>10s
 * or counts by type, or runs of pages, as in
 *	live>0 & type~struct
 *	touched>10m & home=1
 *
 * Vocabulary
 *	field	a property of a block, or of a row of counts: a row of the table
 *		of fields, with its name and the kind of its values.
 *	term	FIELD OP VALUE, or a word alone, which is searched for in all
 *		texts of a row: description, thread, requesting node, function
 *		and file.
 *	OP	= != < <= > >= and, for text, ~ (contains) and !~.  A text may
 *		be a pattern of * and ?.  Case does not matter in text.
 *	expression
 *		terms joined by & (and), | (or), with ! (not) and parentheses;
 *		& binds closer than |, and may be omitted between two terms.
 *		&& || and the words and, or, not are the same.
 *	value	of a size 12, 0x40, 1k, 1.5M, 2G (of 1024); of an age 10s, 5m,
 *		1h, 2d, or 1h30m, a number alone being of seconds; of a time
 *		12:00 or 12:00:30, the last time that the clock here showed it,
 *		2026-11-20, 2026-11-20 12:00 or 11-20 12:00, in the zone of TZ or
 *		with Z, UTC or +0100 behind it; of a type
 *		its name or its code in hex; of an address hex with or without
 *		0x; of a layer heap or api; of a text a word, or anything in
 *		"quotes", where \\ and \" stand for \ and ", and * and ? for
 *		themselves.
 *
 * Ages are compared as they are shown, in whole seconds: a block of 10.4 s
 * matches age=10s, and not age>10s.  Only values with a fraction of a second
 * (500ms, 1.5s) are compared by milliseconds.  A time is that moment, and with =
 * and != all of its minute, second or day.  The path
 * a/b.c:7 is matched by a/b.c, b.c:7 and b.c, too.
 *
 * Example
 *	struct filter *f;
 *	struct filter_error e;
 *	if (filter_new(&f, "size>=1k & type=ACREQ", &e) < 0)
 *		printf("%s at column %zu\n", e.why, e.at + 1);
 *	else if (filter_matches(f, &block))
 *		...
 *
 *	fields.c	fields and operators
 *	parse.c		compiles an expression (expr.h)
 *	values.c	sizes, ages and other values
 *	times.c		times of day, dates
 *	match.c		evaluates an expression for a block
 *	complete.c	completions of what a user types
 */
#ifndef FILTER_H
#define FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum filter_field {
	FILTER_SIZE,		/* bytes requested */
	FILTER_USED,		/* bytes usable */
	FILTER_OVERHEAD,	/* the difference of both */
	FILTER_ADDRESS,
	FILTER_AGE,		/* milliseconds */
	FILTER_TIME,		/* of its allocation, ms since 1970; 0 unknown */
	FILTER_SEQ,
	FILTER_TYPE,		/* its code as a number, its name as a text */
	FILTER_LAYER,		/* 0 the allocator's, 1 the API's */
	FILTER_TID,		/* thread index */
	FILTER_LEVEL,		/* 0 unknown */
	FILTER_NUMBERS,		/* the fields above have a number */
	FILTER_DESCR = FILTER_NUMBERS,
	FILTER_THREAD,		/* its name */
	FILTER_RNOD,		/* four hex digits, "" none */
	FILTER_FUNCTION,	/* of the caller */
	FILTER_FILE,		/* a path, and its line if that is known: "/src/main.c:42" */
	FILTER_MODULE,		/* a path */
	FILTER_REQUESTER,	/* name or four hex digits, "" none */
	FILTER_LINE,		/* decimal digits, "" unknown */
	FILTER_CTYPE,		/* of its objects, "" unknown */
	FILTER_TOUCHED,		/* milliseconds in decimal digits, "" not counted */
	FILTER_TOUCHES,		/* decimal digits, "" not counted */
	FILTER_WEIGHT,		/* blocks that it stands for, in decimal digits */
	FILTER_CALLER,		/* a return address in decimal digits, "" unknown */
	FILTER_STACK_END,	/* why its stack ends, "" unknown */
	FILTER_FIELDS
};

/* Fields of counts by type.  All are texts; numbers are decimal, with a sign if negative. */
enum filter_usage_field {
	FILTER_U_TYPE,
	FILTER_U_NUM,
	FILTER_U_ALLOCATED,
	FILTER_U_FREED,
	FILTER_U_LIVE,
	FILTER_U_MAX,
	FILTER_U_BYTES,
	FILTER_U_ALLOCATED_BYTES,
	FILTER_U_SHORT_LIVED,
	FILTER_U_FUNCTION,
	FILTER_U_FILE,
	FILTER_U_MODULE,
	FILTER_U_FIELDS
};

/* Fields of runs of pages.  All are texts; numbers are decimal. */
enum filter_refcnt_field {
	FILTER_R_PAGE,
	FILTER_R_PAGES,
	FILTER_R_HOME,
	FILTER_R_COUNT,
	FILTER_R_READS,
	FILTER_R_WRITES,
	FILTER_R_TOUCHED,
	FILTER_R_HEAT,
	FILTER_R_HINT,
	FILTER_R_SOURCE,
	FILTER_R_FLAGS,
	FILTER_R_FIELDS
};

/* The fields of one type of rows. */
struct filter_table;
extern const struct filter_table filter_blocks, filter_usage, filter_refcnt;

/*
 * A block.  Terms joined by & or | are evaluated in their order, but those of
 * numbers first; text() is called only if they do not decide.
 */
struct filter_block {
	uint64_t number[FILTER_NUMBERS];
	/*
	 * Borrowed until the next call.  Unknown text, NULL or "", matches only
	 * != and !~, and ="".  The field is one of the table's own.
	 */
	const char *(*text)(void *arg, enum filter_field);
	void *arg;
};

struct filter_error {
	size_t at;		/* byte of the expression with the error */
	char why[128];		/* "no field is called 'sise'; did you mean 'size'?" */
};

struct filter;

#define FILTER_MAX 1024		/* bytes of an expression */

/* -EINVAL with *e filled; -ENOMEM.  An empty expression matches everything. */
int filter_new(struct filter **, const char *text, struct filter_error *e);
/* The same for rows of that table. */
int filter_new_of(struct filter **, const struct filter_table *,
    const char *text, struct filter_error *e);
void filter_free(struct filter *);

bool filter_matches(const struct filter *, const struct filter_block *);

/* The expression; borrowed. */
const char *filter_text(const struct filter *);
/* It uses this text, which may have to be fetched. */
bool filter_wants(const struct filter *, enum filter_field);
/* One of its terms is about this field. */
bool filter_uses(const struct filter *, enum filter_field);

/* The k-th word that may stand at the end, from *from on; NULL: no more. */
const char *filter_complete(const struct filter_table *, const char *typed,
    size_t k, size_t *from);
/*
 * The name of the field that has this name or alias: the same in filters, in the
 * keys of documents and as a sort key.  NULL: no field.
 */
const char *filter_name(const char *word);
/* The field's own name. */
const char *filter_field_name(enum filter_field);
/* The k-th field's line of help, "size   bytes requested, ..."; NULL: no more. */
const char *filter_help(const struct filter_table *, size_t k);

/*
 * "1.5M", "0x40": bytes, rounded down; "1h30m": ms; a time: ms since 1970. 0
 * or -EINVAL.
 */
int filter_size(const char *text, uint64_t *bytes);
int filter_age(const char *text, uint64_t *ms);
int filter_time(const char *text, uint64_t *ms);

#endif
