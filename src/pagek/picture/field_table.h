/*
 * field_table: the fields of one type of row.  JSON, NDJSON, CSV, metrics, columns
 * of text and panels of counters are made from the table.
 *
 * Vocabulary
 *	row	any struct.
 *	field	a value of a row; the table is in the order of CSV.
 *	subset	a bit for each type of row, if several types share a table.
 *	column	a field in text; metric: in a monitoring system.
 *
 * Example
 *	static const struct field fields[] = {
 *		{ .key = "size", .kind = FIELD_NUMBER, .get = get_size,
 *		    .column = { .title = "SIZE", .width = 7, .right = true,
 *		    .cell = size_cell } },
 *		{ .key = "taken", .kind = FIELD_HEAD, .head = "time" },
 *	};
 *	const struct field_table blocks = FIELD_TABLE(fields);
 */
#ifndef PAGEK_FIELD_TABLE_H
#define PAGEK_FIELD_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../base/base.h"

struct page_picture;

#define FIELD_NAME 64
#define FIELD_TEXT_MAX 48	/* bytes of a value other than FIELD_TEXT */
#define FIELD_CELL 1024		/* bytes of a cell of text */
#define FIELD_LEAVES 48		/* values of a row, at most */

enum field_kind {
	FIELD_NUMBER,	/* n */
	FIELD_SIGNED,	/* i */
	FIELD_HEX,	/* n, as 0x1234 */
	FIELD_NODE,	/* n, the number of a node, as 0590 */
	FIELD_SHARE,	/* share, as 0.250000 */
	FIELD_BOOL,	/* n */
	FIELD_TIME,	/* i, ms since 1970 */
	FIELD_TEXT,	/* text, outside text */
	FIELD_OBJECT,	/* row of the table `sub`, under its own key; in CSV key_key */
	FIELD_INCLUDE,	/* row of the table `sub`, in place */
	FIELD_LIST,	/* rows of the table `sub`; not in CSV */
	FIELD_HEAD,	/* in CSV only: the value `head` of the document */
};

/* The kind selects the member.  Borrowed from the row, or into room. */
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

/* False: the value is unknown: null or empty. */
typedef bool (*field_get)(const void *row, size_t at, struct field_value *);

enum field_unit {
	FIELD_COUNT,
	FIELD_BYTES,
	FIELD_MICROSECONDS,
};

struct field_column {
	bool plain;		/* written by field_cell() */
	const char *title;	/* or NULL */
	const char *word;	/* its name as a sort key, or NULL */
	const char *also;	/* another name as a sort key, or NULL */
	int sort;		/* the sort key, of the table's own enum */
	const char *sampled;	/* title if sampled; NULL: the same */
	/* Write it in another way than field_cell() does, or NULL. */
	void (*cell)(const void *row, char out[FIELD_CELL]);
	void (*put)(const void *row, int width, struct page_picture *);
	unsigned subset;	/* rows that show it; 0: those that have the field */
	int gap;
	int width;		/* 0: the text's width */
	bool right;		/* right-aligned */
	bool brief;		/* no gap if the text is empty */
	int place;		/* order of columns, before the table's order */
	/* On a screen: */
	int rank;		/* the lowest rank gets room first */
	int keep;		/* columns that must be left for the name */
	int least;		/* the width to use before hiding it; 0: none */
	unsigned need;		/* bits that the picture must have */
	bool figure;		/* wider if sampled, for '~' */
};

enum field_sampled {
	FIELD_SAME,
	FIELD_ESTIMATE,		/* scaled up */
	FIELD_SAMPLED,		/* a count of the sample */
};

struct field_metric {
	const char *name;	/* without pagek_; NULL: no metric */
	const char *old;	/* its former name, which is written too, or NULL */
	const char *type, *help;
	enum field_sampled sampled;
};

struct field {
	const char *key;	/* NULL: only in text or metrics */
	enum field_kind kind;
	field_get get;
	size_t at;		/* argument of get */
	size_t via;		/* FIELD_VIA: get takes the row pointed to; 0: the row */
	unsigned subset;	/* 0: each row has it */
	const struct field_table *sub;
	const char *head;
	int rank;		/* order in JSON, before the table's order */
	bool optional;		/* JSON omits the key if the value is unknown */
	bool lines;		/* of a list: one line for each row of JSON */
	const char *name, *help;	/* of a counter */
	enum field_unit unit;
	bool gauge;		/* its changes are not highlighted */
	struct field_column column;
	struct field_metric metric;
};

struct field_table {
	const struct field *field;
	size_t n;
	/* Maps another name to the name of its field; NULL: no field has it. */
	const char *(*called)(const char *word);
};

/* The values of a list's head that CSV repeats in each row. */
#define FIELD_LOSS_COLUMNS \
	{ .key = "complete", .kind = FIELD_HEAD, .head = "complete" }, \
	{ .key = "lost", .kind = FIELD_HEAD, .head = "lost" }, \
	{ .key = "taken", .kind = FIELD_HEAD, .head = "time" }

#define FIELD_TABLE(array) { .field = (array), .n = BASE_NELEM(array) }

/* subset 0: any row */
static inline bool
field_belongs(const struct field *f, unsigned subset)
{
	return f->subset == 0 || subset == 0 || (f->subset & subset) != 0;
}

/* False: the value is unknown. */
bool field_value(const struct field *, const void *row, struct field_value *);

#define FIELD_VIA(type, member) (offsetof(struct type, member) + 1)

/*
 * Define functions for rows `r` of a struct: a getter of a value with its member
 * and condition, a getter of a text (NULL and "" are unknown), and a printed cell.
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

/* A cell that a statement writes into `pic`, `width` columns wide. */
#define FIELD_PUT(name, type, statement) \
	static void \
	name(const void *row, int width, struct page_picture *pic) \
	{ \
		const struct type *r = row; \
		\
		statement; \
	}

/*
 * Getters of members at that offset: numbers, a bool, numbers and times that are
 * unknown if 0, texts that are unknown if NULL or "".
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
/* A text of which "" is known, too. */
bool field_any_text(const void *row, size_t at, struct field_value *);
/* Another row: the member, or what it points to; NULL is unknown. */
bool field_member(const void *row, size_t at, struct field_value *);
bool field_row(const void *row, size_t at, struct field_value *);

/* The text of a value in all formats; not for FIELD_TEXT. */
void field_text(enum field_kind, const struct field_value *,
    char out[FIELD_TEXT_MAX]);

/*
 * Calls leaf() for each value of the row in CSV, nested rows in place; row NULL:
 * all values are unknown.
 */
typedef void (*field_leaf)(void *arg, const struct field *, const char *name,
    const void *row);
void field_walk(const struct field_table *, unsigned subset, const void *row,
    field_leaf leaf, void *arg);

#define FIELD_COLUMNS 16

struct field_plan {
	const struct field *column[FIELD_COLUMNS];	/* from left to right */
	size_t n;
	int left;		/* columns that are left for the name */
};

/* Selects columns that fit, by rank.  have: bits that columns may need. */
void field_plan(const struct field_table *, unsigned subset, int cols,
    unsigned have, bool sampled, struct field_plan *);
int field_width(const struct field *, bool sampled);
/* A number in groups of digits or in its unit, a text, or "-": unknown. */
void field_cell(const struct field *, const void *row, char out[FIELD_CELL]);
bool field_has_column(const struct field *, unsigned subset);

/*
 * Copies the key of the next name of a list, whose names are separated by
 * commas; an unknown name is copied unchanged.  Returns the rest, NULL at the
 * end.
 */
const char *field_next(const struct field_table *, const char *list,
    char key[FIELD_NAME]);
bool field_chosen(const struct field_table *, const char *list,
    const char *key);
/* True if the key is that name, or that name with a unit, as age_ms. */
bool field_is_key_of(const char *key, const char *name);
/* All names are fields of CSV, or `more`; false: with a sentence in `why`. */
bool field_list_check(const char *list, const struct field_table *,
    unsigned subset, const char *more, char *why, size_t cap);

#endif
