/*
 * usage: counts by type, as rows that commands and page U show: their order, their
 * groups, the filter, and their fields in every format.
 *
 *	rows.c		lists of rows: order, groups, filter
 *	names.c		names of rows of a target
 *	usage_fields.c	the fields of a row, and the columns of page U
 *	usage_page.h	page U as text; its keys are in ../app/pages/usage.c
 *
 * The counts are those of ../../usage/usage.h.  Another field is a row of
 * usage_fields.c and, to filter by it, one of usage_fields[] in ../../filter/fields.c.
 *
 * Vocabulary
 *	row		the counts of objects of one type and number: "char", 12.
 *	num		elements of the array; bytes if the type's size is unknown.
 *	allocated, freed	numbers of these events; live is the difference.
 *	max		the most that were live at once.  Of a row that was made of
 *			several: the sum of theirs, which is not below it.
 *	short-lived	freed within 1/15 s of their allocation, and not by realloc().
 *	held before	blocks that were there when counting began; they are
 *			counted as allocated.
 *	group		rows with the same type, function, line or module, or of sizes
 *			up to the same power of two, as one row.
 *
 * Example
 *	struct usage_list list = { .kind = USAGE_BY_NONE };
 *	usage_list_add(&list, &row);		for each
 *	usage_list_filter(&list, filter);
 *	usage_list_group(&list, USAGE_BY_TYPE);
 *	usage_list_sort(&list, USAGE_SORT_LIVE, false);
 *	for (i = 0; i < list.n; i++)
 *		json_row(&j, &list.row[i], 0);
 *	usage_list_fini(&list);
 */
#ifndef PAGEK_USAGE_ROWS_H
#define PAGEK_USAGE_ROWS_H

#include "../../base/hashmap.h"
#include "../../filter/filter.h"
#include "../../profile/profile.h"
#include "../../usage/usage.h"
#include "../blocks/order.h"
#include "../picture/field_table.h"

/* --- rows (rows.c) ----------------------------------------------------------- */

enum usage_grouping {
	USAGE_BY_NONE,		/* type and num */
	USAGE_BY_TYPE,
	USAGE_BY_FUNCTION,
	USAGE_BY_LINE,
	USAGE_BY_MODULE,
	USAGE_BY_SIZE,		/* classes up to powers of two */
	USAGE_GROUPINGS		/* one more than the last */
};

/* The words of --group: "none", "type", "function", "line", "module", "size". */
extern const char *const usage_groupings[USAGE_GROUPINGS];

/* Values that are known of a row, beside the counts of a dump. */
enum usage_known {
	USAGE_KNOWS_BYTES = 1,		/* bytes, allocated_bytes */
	USAGE_KNOWS_LIVES = 2,		/* short_lived */
	USAGE_KNOWS_THEN = 4,		/* then, then_bytes */
};

#define USAGE_TREND 12

/* Bytes in use at the last readings, the newest last. */
struct usage_trend {
	uint64_t bytes[USAGE_TREND];
	unsigned n;
};

/* Texts are outside text; NULL: unknown. */
struct usage_line {
	const char *type;		/* of a group: its name; NULL: unknown */
	/* Its source: profile_type_source(), "function", "address", "allocator"; NULL: not known. */
	const char *named_by;
	const char *function, *file, *module;
	int64_t num;
	uint64_t allocated, freed, max;
	int64_t live;
	uint64_t held_before;
	uint64_t bytes, allocated_bytes;
	uint64_t short_lived;
	uint64_t then, then_bytes;	/* held when the bytes of all were highest */
	uint32_t line;			/* of the file; 0: unknown */
	uint32_t rows;			/* rows that it was made of */
	uint32_t order;			/* of first use */
	unsigned known;			/* enum usage_known, or'ed */
	bool no_num;			/* a group of several */
	const struct usage_trend *trend;	/* borrowed; NULL: none */
};

struct usage_list {
	struct usage_line *row;
	size_t n, cap;
	enum usage_grouping kind;
	struct intern texts;
	struct usage_line sum;		/* of the rows; its max is not set */
};

/* Copies the texts.  -ENOMEM. */
int usage_list_add(struct usage_list *, const struct usage_line *);
/* Removes rows that do not match. */
void usage_list_filter(struct usage_list *, const struct filter *);
/*
 * Makes one row of those that are equal in that way; by none, of those with equal
 * type and num.  A text that differs becomes unknown.  -ENOMEM.
 */
int usage_list_group(struct usage_list *, enum usage_grouping);
void usage_list_sum(struct usage_list *);
void usage_list_fini(struct usage_list *);

enum usage_sort {
	USAGE_SORT_ORDER,	/* of first use */
	USAGE_SORT_TYPE,
	USAGE_SORT_NUM,
	USAGE_SORT_ALLOCATED,
	USAGE_SORT_FREED,
	USAGE_SORT_LIVE,
	USAGE_SORT_MAX,
	USAGE_SORT_BYTES,
	USAGE_SORT_ALLOCATED_BYTES,
	USAGE_SORT_SHORT_LIVED,
	USAGE_SORT_THEN_BYTES,
	USAGE_SORTS		/* one more than the last */
};

extern const struct page_sort_row usage_sort_rows[USAGE_SORTS];

/* False: there is no such word. */
bool usage_sort_parse(const char *word, enum usage_sort *);
/* Numbers fall and texts rise, unless it is reversed.  Ties: first use. */
void usage_list_sort(struct usage_list *, enum usage_sort, bool reverse);

/* --- names (names.c) ------------------------------------------------------------ */

/*
 * Names for the counts of a target, by the functions that allocated.
 *	usage_namer_new(&namer, wrappers);
 *	usage_namer_take(namer, rows, n);
 *	profile_resolve(usage_namer_profile(namer), &words);	until all are known
 *	usage_list_name(&list, namer, types, rows, n);
 */
struct usage_namer;

/* The functions to skip are borrowed; NULL: none.  -ENOMEM. */
int usage_namer_new(struct usage_namer **, const struct symbol_wrappers *);
void usage_namer_free(struct usage_namer *);
/* The callers of these rows, and none else.  -ENOMEM. */
int usage_namer_take(struct usage_namer *, const struct usage_row *, size_t n);
struct profile *usage_namer_profile(struct usage_namer *);
/* Appends a row for each; types NULL: not known.  -ENOMEM. */
int usage_list_name(struct usage_list *, struct usage_namer *,
    const struct stream_types *, const struct usage_row *, size_t n);

/* --- fields (usage_fields.c) --------------------------------------------------- */

extern const struct field_table usage_fields;

#endif
