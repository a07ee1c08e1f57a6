/*
 * field_table: what the rows of one type have, in one table: JSON, NDJSON, CSV,
 * metrics, columns of text and panels of counters are functions over it.
 *
 * Vocabulary
 *	row	any struct; a table belongs to one type of row.
 *	field	one value of a row: its key, kind, and the function that gets it.
 *	table	the fields of a type of row, in the order of CSV.
 *	subset	of several types of row that share a table, the bits of those
 *		that have a field.
 *	column	how text shows a field.
 *	metric	how a monitoring system sees it.
 *
 * A new value is one more row of its table.
 *
 * Example
 *	static const struct field fields[] = {
 *		{ .key = "size", .kind = FIELD_NUMBER, .get = get_size,
 *		    .column = { .title = "SIZE", .width = 7, .right = true,
 *		    .cell = size_cell } },
 *		{ .key = "taken", .kind = FIELD_HEAD, .head = "time" },
 *	};
 *	const struct field_table blocks = FIELD_TABLE(fields);
 *
 *	json_document(&j, "pagek.blocks/1", &blocks, 0);
 *	...
 *	json_row(&j, &row, 0);
 */
#ifndef PAGEK_FIELD_TABLE_H
#define PAGEK_FIELD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../base/base.h"

struct page_picture;

#define FIELD_NAME 64		/* bytes of a name in CSV */
#define FIELD_TEXT_MAX 48	/* bytes of any value that is not an outside text */
#define FIELD_CELL 1024		/* bytes of a cell of text */
#define FIELD_LEAVES 40		/* values of a row, at most */

enum field_kind {
	FIELD_NUMBER,	/* n */
	FIELD_SIGNED,	/* i */
	FIELD_HEX,	/* n, as 0x1234 */
	FIELD_NODE,	/* n, the number of a node, as 0590 */
	FIELD_SHARE,	/* share, as 0.250000 */
	FIELD_BOOL,	/* n */
	FIELD_TIME,	/* i, ms since 1970 */
	FIELD_TEXT,	/* text, an outside one */
	FIELD_OBJECT,	/* row of the table `sub`, under its own key; of CSV key_key */
	FIELD_INCLUDE,	/* row of the table `sub`, in place */
	FIELD_LIST,	/* rows of the table `sub`; CSV leaves it out */
	FIELD_HEAD,	/* CSV alone: the value of `head` that stands above the rows */
};

/* As its kind says; pointers are borrowed from the row, or into room. */
struct field_value {
	union {
		uint64_t n;
		int64_t i;
		double share;
		const char *text;
		const void *row;
		struct {
			const void *row;	/* the first of `rows`, each of `size` bytes */
			size_t rows, size;
		} list;
	};
	char room[24];
};

/* False: the value is not known, and is null or empty. */
typedef bool (*field_get)(const void *row, size_t at, struct field_value *);

enum field_unit {
	FIELD_COUNT,
	FIELD_BYTES,
	FIELD_MICROSECONDS,
};

struct field_column {
	bool plain;		/* there is a column, as field_cell() writes the value */
	const char *title;	/* NULL: none, though there may be a column */
	const char *word;	/* names it as a sort key; NULL: it is none */
	int sort;		/* what word stands for: the table's own enum */
	const char *sampled;	/* the title for numbers of a sample; NULL: the same */
	/* How text shows it in another way; NULL: plain. */
	void (*cell)(const void *row, char out[FIELD_CELL]);
	void (*put)(const void *row, int width, struct page_picture *);
	unsigned subset;	/* rows whose text has it; 0: those that have the field */
	int gap;		/* blanks before it */
	int width;		/* 0: as long as the text */
	bool right;		/* text is right-aligned */
	bool brief;		/* no gap either where its text is empty */
	int place;		/* columns are in ascending places, and else in the table's order */
	/* On a screen, whose width decides which columns there are. */
	int rank;		/* the lowest is given room first */
	int keep;		/* columns that must be left for the name; with fewer it is left out */
	int least;		/* a width that is enough where it would be left out; 0: none */
	unsigned need;		/* bits of what the picture must have */
	bool figure;		/* of a sample one wider, for the mark of an estimate */
};

/* How a number depends on sampling. */
enum field_sampled {
	FIELD_SAME,		/* it does not */
	FIELD_ESTIMATE,		/* it is scaled up */
	FIELD_SAMPLED,		/* it counts the sample alone */
};

struct field_metric {
	const char *name;	/* behind pagek_; NULL: there is none */
	const char *type, *help;
	enum field_sampled sampled;
};

struct field {
	const char *key;	/* NULL: in text or metrics alone */
	enum field_kind kind;
	field_get get;
	size_t at;		/* for get: one function serves several fields */
	size_t via;		/* FIELD_VIA: get is given what the row points to; 0: the row */
	unsigned subset;	/* 0: each row has it */
	const struct field_table *sub;
	const char *head;
	int rank;		/* JSON writes those of a lower rank first, else the table's order */
	bool optional;		/* JSON leaves the key out if it is not known */
	bool lines;		/* of a list: JSON gives each row a line */
	const char *name, *help;	/* in a panel of counters */
	enum field_unit unit;
	bool gauge;		/* moves all the time: a change says nothing */
	struct field_column column;
	struct field_metric metric;
};

struct field_table {
	const struct field *field;
	size_t n;
};

/* What CSV shows of the head of a list behind each of its rows. */
#define FIELD_LOSS_COLUMNS \
	{ .key = "complete", .kind = FIELD_HEAD, .head = "complete" }, \
	{ .key = "lost", .kind = FIELD_HEAD, .head = "lost" }, \
	{ .key = "taken", .kind = FIELD_HEAD, .head = "time" }

#define FIELD_TABLE(array) { .field = (array), .n = BASE_NELEM(array) }

/* A row of the subset has it; subset 0: a row of each. */
static inline bool
field_belongs(const struct field *f, unsigned subset)
{
	return f->subset == 0 || subset == 0 || (f->subset & subset) != 0;
}

/* The value of a row; false: it is not known. */
bool field_value(const struct field *, const void *row, struct field_value *);

/* A pointer of the row; where it is NULL the value is not known. */
#define FIELD_VIA(type, member) (offsetof(struct type, member) + 1)

/*
 * Define a getter for rows `r` of a struct: member of the value, an expression
 * for it, and whether it is known; or a text, which is not known where it is NULL
 * or "".  And a cell of text, which is printed.
 */
#define FIELD_GET(name, type, member, value, known) \
	static bool \
	name(const void *row, size_t at, struct field_value *v) \
	{ \
		const struct type *r = row; \
		(void)at; \
		if (!(known)) \
			return false; \
		v->member = (value); \
		return true; \
	}
#define FIELD_GET_TEXT(name, type, value) \
	static bool \
	name(const void *row, size_t at, struct field_value *v) \
	{ \
		const struct type *r = row; \
		(void)at; \
		v->text = (value); \
		return v->text != NULL && v->text[0] != '\0'; \
	}
#define FIELD_PRINT(name, type, ...) \
	static void \
	name(const void *row, char out[FIELD_CELL]) \
	{ \
		const struct type *r = row; \
		snprintf(out, FIELD_CELL, __VA_ARGS__); \
	}

/*
 * Members of the row at that offset: a uint64_t, a uint32_t, an int64_t or a
 * bool; a number or a time that is not known where it is 0; a text, which is
 * not known where it is NULL or "".
 */
bool field_u64(const void *row, size_t at, struct field_value *);
bool field_u32(const void *row, size_t at, struct field_value *);
bool field_i64(const void *row, size_t at, struct field_value *);
bool field_flag(const void *row, size_t at, struct field_value *);
bool field_u64_known(const void *row, size_t at, struct field_value *);
bool field_u32_known(const void *row, size_t at, struct field_value *);
bool field_i64_known(const void *row, size_t at, struct field_value *);
bool field_pointer(const void *row, size_t at, struct field_value *);
bool field_array(const void *row, size_t at, struct field_value *);
/* Another row that the member is, or points to; NULL is not known. */
bool field_member(const void *row, size_t at, struct field_value *);
bool field_row(const void *row, size_t at, struct field_value *);

/* A value that is no outside text, as every format writes it. */
void field_text(enum field_kind, const struct field_value *,
    char out[FIELD_TEXT_MAX]);

/*
 * Calls leaf() for each value that CSV has of the row, in the table's order;
 * row NULL: none is known.  Values of nested rows are in place.
 */
typedef void (*field_leaf)(void *arg, const struct field *, const char *name,
    const void *row);
void field_walk(const struct field_table *, unsigned subset, const void *row,
    field_leaf leaf, void *arg);

/* --- columns on a screen -------------------------------------------------- */

#define FIELD_COLUMNS 16	/* of a screen, at most */

struct field_plan {
	const struct field *column[FIELD_COLUMNS];	/* from left to right */
	size_t n;
	int left;		/* columns that are left for the name */
};

/*
 * Gives the columns of the subset their widths in the order of their ranks, as
 * long as the name keeps its share of `cols`.  have: bits that columns may need.
 */
void field_plan(const struct field_table *, unsigned subset, int cols,
    unsigned have, bool sampled, struct field_plan *);
int field_width(const struct field *, bool sampled);
/*
 * The text of its column: a number in groups of digits or in its unit, and "-"
 * where it is not known; a text.
 */
void field_cell(const struct field *, const void *row, char out[FIELD_CELL]);
bool field_has_column(const struct field *, unsigned subset);

/* --- chosen fields -------------------------------------------------------- */

/* Names with commas between: is that key one of them? */
bool field_chosen(const char *list, const char *key);
/*
 * All are names of CSV, or that one more; false, with a sentence, which names
 * all that there are where it has room.
 */
bool field_list_check(const char *list, const struct field_table *,
    unsigned subset, const char *more, char *why, size_t cap);

#endif
