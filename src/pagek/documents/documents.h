/*
 * documents: rows and sums for other programs, as JSON, lines of JSON, CSV or
 * metrics of Prometheus.
 *
 * Vocabulary
 *	document	what a command writes under a schema: a head, and rows.
 *	head		values that are written once, for all rows.
 *	rows		the one array of the document that its schema is about;
 *			they are of one table of fields (picture/field_table.h).
 *	form		how a document is written down: as one object, as lines,
 *			as CSV.
 *
 *	documents.c	documents of blocks and of nodes
 *	json.c		the writer
 *	prom.c		metrics
 *	usage_document.c	counts by type, as documents and as metrics
 *	refcnt_document.c	references to pages
 *	listing.h	the whole list as text, and the word that says where it
 *			goes (listing_to.c)
 *	shown_export.h	what the page shows, for `:export`; export_sums.c has
 *			groups and the difference
 *	list_copy.h	the rows of both, as of one moment
 *	whole_file.c	files that appear only when they are complete
 *	whole_folder.c	the same for folders
 *
 * Example: each value is given once, whatever the form
 *	json_open(&j, out, o);
 *	json_document(&j, "pagek.nodes/1", &fields, 0);
 *	json_bool(&j, "complete", true);	the head
 *	json_rows(&j, "nodes");
 *	for each row:	json_row(&j, row, 0);
 *	json_rows_end(&j);			ends the head as well
 *	json_end(&j);
 *
 * Unknown values are null, never 0.  Outside text becomes valid UTF-8 without
 * characters that control a terminal.
 */
#ifndef PAGEK_DOCUMENTS_H
#define PAGEK_DOCUMENTS_H

#include <stdio.h>

#include "../../profile/profile.h"
#include "../cli/options.h"
#include "../picture/field_table.h"
#include "../blocks/row_filter.h"
#include "../refcnt/refcnt.h"
#include "../usage/usage.h"

/* --- the writer (json.c) -------------------------------------------------- */

#define JSON_DEPTH 8
#define JSON_CELLS (5u << 16)	/* bytes of a row's texts together: a name of 64 KiB fits */

enum json_form {
	JSON_WHOLE,	/* one object, over many lines */
	JSON_LINE,	/* the same in one line */
	JSON_LINES,	/* the head in a line, then each row in one */
	JSON_CSV,	/* a heading, then each row: RFC 4180 */
};

/* A leaf is a value of field_walk().  Texts of the head come first and stay. */
struct json_csv {
	bool headed;			/* the heading is written, once for all documents */
	struct {
		const char *head;	/* key of the head that has its value; NULL */
		bool wanted;
		uint32_t cell;		/* where its text begins + 1; 0: empty */
	} leaf[FIELD_LEAVES];
	size_t leaves;
	uint8_t column[FIELD_LEAVES];	/* the leaf that it shows */
	size_t columns;
	unsigned row_subset;
	char text[JSON_CELLS];
	size_t used, head_used;
};

struct json {
	FILE *out;
	enum json_form form;
	bool ascii;			/* no character beyond ASCII */
	const char *chosen;		/* fields of a row to write; NULL: all */
	int depth;
	struct {
		char close;
		bool lines;		/* an element on each line */
		bool any;
	} level[JSON_DEPTH];
	int rows;			/* depth at which the rows are; 0: not there yet */
	bool over;			/* the rows are written */
	const struct field_table *table;
	unsigned subset;		/* of the document's rows */
	struct json_csv csv;
};

/* A document in that format; out is not closed. */
void json_open_format(struct json *, FILE *out, enum text_format, bool ascii);
/* In the form of --format, with the fields of --fields. */
void json_open(struct json *, FILE *out, const struct options *);
/* Its rows are of these subsets of the table; 0: of all. */
void json_document(struct json *, const char *schema,
    const struct field_table *, unsigned subset);
void json_rows(struct json *, const char *key);
/* A row that has the fields of these subsets; 0: all. */
void json_row(struct json *, const void *row, unsigned subset);
void json_rows_end(struct json *);

/* A value under its key; key NULL: an element of an array. */
void json_begin(struct json *, const char *key, char bracket, bool lines);
void json_end(struct json *);
void json_text(struct json *, const char *key, const char *s);	/* NULL: null */
void json_number(struct json *, const char *key, uint64_t);
void json_signed(struct json *, const char *key, int64_t);
void json_bool(struct json *, const char *key, bool);
void json_null(struct json *, const char *key);
/* The number if it is known, else null. */
void json_known(struct json *, const char *key, bool known, uint64_t);
/* part / whole, as 0.25; null if whole is 0. */
void json_share(struct json *, const char *key, double part, double whole);
void json_time(struct json *, const char *key, int64_t wall_ms); /* RFC 3339, UTC */
/* All values of the row in place, each under its key: as a part of the head. */
void json_put(struct json *, const struct field_table *, const void *row);

/* An empty text is unknown. */
static inline const char *
or_null(const char *s)
{
	return s == NULL || s[0] == '\0' ? NULL : s;
}

/* --- parts of heads (documents.c) ----------------------------------------- */

/* The key time: now, or of a paused view the time of the pause. */
struct page_view;
void json_view_time(struct json *, const struct page_view *);

/* The keys from filter to matched_unsure; all are null without an expression. */
void json_filter(struct json *, const char *expression,
    const struct page_row_filter_sums *, uint64_t of);

/* --- documents (documents.c) ---------------------------------------------- */

/*
 * A target's blocks, schema pagek.blocks/2: of the page's text, which has begun
 * with this view (page_choice_text_begin()), the rows that the filter lets
 * through, at most limit (0: all).  The profile is of these blocks, and the filter
 * has caught all of them.
 */
void json_blocks(struct json *, const struct page *, const struct page_view *,
    struct profile *, struct page_row_filter *, bool since_click, uint64_t limit);

/* Calls put() for each of these rows, while writing to `out` works. */
void json_block_rows(FILE *out, const struct page *, const struct page_view *,
    struct page_row_filter *, uint64_t limit, void (*put)(void *arg,
    const struct blk *), void *arg);

/* In parts, for a caller that writes over several cycles. */
void json_blocks_head(struct json *, const struct page_view *,
    const struct page_opts *, bool since_click, const char *filter,
    const struct page_row_filter_sums *);
void json_block(struct json *, const struct page_view *, struct profile *,
    const struct blk *);

/* Checks --fields; false, with a sentence in why, if one of them is unknown. */
bool json_blocks_fields(const struct options *, char *why, size_t cap);

/*
 * The table of nodes, schema pagek.nodes/1; with a survey (NULL: no node was
 * asked) also the state of each, and this user's own node where it has no entry.
 */
void json_nodes(struct json *, const struct nodes_table *,
    struct nodes_survey *, bool complete);

/* --- counts by type (usage_document.c) ------------------------------------- */

/* The source of the rows, and values for all of them. */
struct usage_source {
	const char *kind;		/* "dump", "capture", "live" */
	const char *name;		/* of the file; NULL: none */
	const struct nodes_look *look;	/* of the target; NULL: none */
	const char *filter;		/* NULL: none */
	size_t matched;			/* rows that match it */
	int64_t now_ms, since_ms, peak_ms;	/* wall clock; 0: not known */
	bool from_start;		/* nothing had been allocated before */
	bool complete;
	bool knows_lost;
	uint64_t lost;			/* records */
	uint64_t rss;			/* of the target, in bytes; 0: not known */
	const char *lacks;		/* why counts may be wrong, borrowed; NULL, "": they are not */
	uint64_t bad_lines;
};

/* type:num:allocated:freed:max, a line each; a group's num is 0. */
void text_usage(FILE *, const struct usage_list *);
/* Schema pagek.usage/1. */
void json_usage(struct json *, const struct usage_list *,
    const struct usage_source *);
/* The metrics of its fields; rows of one name and num are one row.  -ENOMEM. */
int prom_usage(FILE *, const struct usage_list *, bool ascii);

/* --- references to pages (refcnt_document.c) -------------------------------- */

/* Schema pagek.touches/1: all runs of the last copy.  -ENOMEM. */
int json_refcnt(struct json *, const struct refcnt_reader *,
    const struct page_view *);

/* --- sums by type, and metrics (prom.c) ----------------------------------- */

/* By a type's code; of a sample, estimates. */
struct type_sums {
	double blocks[256], bytes[256];
};
/* Of the blocks that the filter lets through; NULL: of all. */
void prom_sum_types(const struct page_view *, struct page_row_filter *,
    struct type_sums *);

#define PROM_TYPE_METRICS 2
extern const struct field_metric prom_type_metrics[PROM_TYPE_METRICS];

/*
 * The target's counters and its sums by type in the text format of Prometheus
 * (exposition format 0.0.4).  Names begin with pagek_ and have their unit; every
 * sample has the labels node and target, and pid where there is one, and no
 * time, which the textfile collector would refuse.  Unknown values are left out.
 * Errors are the stream's, for output_close().
 */
void prom_write(FILE *, const struct page_view *, struct page_row_filter *,
    bool ascii);

#endif
