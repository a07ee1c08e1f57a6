/*
 * documents: rows and sums for other programs, as JSON, lines of JSON or CSV.
 * documents.c writes the list of blocks (json_blocks()) and of nodes; json.c is
 * the writer below it; export.c is the page's `:export`.
 * prom.h writes the format of Prometheus, listing.h rows of text, export.h
 * what the page shows; whole_file.h is a file that appears whole.
 *
 * Objects and arrays are written over many lines, an element on each, or in
 * one.  Unknown values are null, never 0.  Outside text becomes valid UTF-8
 * that no terminal takes for anything but text.
 *
 * Vocabulary
 *	document	what a command writes under a schema: a head, and rows.
 *	head		values that are written once, for all rows.
 *	rows		the one array of the document that its schema is about;
 *			they are of one table of fields (picture/field_table.h).
 *	form		how a document is written down: as one object, as lines,
 *			as CSV.
 *
 * Example: each value is given once, whatever the form
 *	json_open(&j, out, o);
 *	json_document(&j, "pagek.nodes/1", &fields, 0);
 *	json_key(&j, "complete");	the head
 *	json_bool(&j, true);
 *	json_rows(&j, "nodes");
 *	for each row:	json_row(&j, row, 0);
 *	json_rows_end(&j);		ends the head as well
 *	json_end(&j);
 */
#ifndef PAGEK_DOCUMENTS_H
#define PAGEK_DOCUMENTS_H

#include <stdio.h>

#include "../../mdd/mdd.h"
#include "../picture/field_table.h"
#include "../rows/row_filter.h"

#define JSON_DEPTH 8
#define JSON_CELLS 32768	/* bytes of a row's texts together */

enum json_form {
	JSON_WHOLE,	/* one object, over many lines */
	JSON_LINE,	/* the same in one line */
	JSON_LINES,	/* the head in a line, then each row in one */
	JSON_CSV,	/* a heading, then each row: RFC 4180 */
};

struct json {
	FILE *out;
	enum json_form form;
	int depth;
	struct {
		char close;
		bool lines;		/* an element on each line */
		bool any;
		const char *key;	/* the last one; borrowed */
	} level[JSON_DEPTH];
	bool keyed;			/* a key is written, its value is not */
	bool ascii;			/* no character beyond ASCII */
	int rows;			/* depth at which the rows are; 0: not there yet */
	const char *chosen;		/* fields of a row to write; NULL: all */
	bool over;			/* the rows are written */
	const struct field_table *table;
	unsigned subset;		/* of the document's rows */

	/*
	 * CSV.  A leaf is a value of field_walk().  The values of the head come
	 * first in text and stay; the row's follow.
	 */
	bool headed;			/* the heading is written, once for all documents */
	struct {
		const char *head;	/* key of the head that has its value; NULL */
		bool wanted;
		uint16_t cell;		/* where its text begins + 1; 0: empty */
	} leaf[FIELD_LEAVES];
	size_t leaves;
	uint8_t column[FIELD_LEAVES];	/* the leaf that it shows */
	size_t columns;
	unsigned row_subset;
	char text[JSON_CELLS];
	size_t used, kept;		/* of it; by the head */
};

struct options;

/* A document in that form; out is not closed. */
void json_open_form(struct json *, FILE *out, enum json_form, bool ascii);
/* As the options want it. */
void json_open(struct json *, FILE *out, const struct options *);
/* Its rows are of these subsets of the table; 0: of all. */
void json_document(struct json *, const char *schema,
    const struct field_table *, unsigned subset);
void json_rows(struct json *, const char *key);
/* A row that has the fields of these subsets; 0: all. */
void json_row(struct json *, const void *row, unsigned subset);
void json_rows_end(struct json *);

void json_begin(struct json *, char bracket, bool lines);
void json_end(struct json *);
void json_key(struct json *, const char *);
void json_text(struct json *, const char *s);		/* NULL: null */
void json_number(struct json *, uint64_t);
void json_signed(struct json *, int64_t);
void json_bool(struct json *, bool);
void json_null(struct json *);
void json_known(struct json *, bool known, uint64_t);	/* else null */
void json_share(struct json *, double part, double whole);	/* 0.25; null of nothing */
void json_time(struct json *, int64_t wall_ms);		/* RFC 3339, UTC */
/* All values of the row in place, each under its key: as a part of the head. */
void json_put(struct json *, const struct field_table *, const void *row);

/* The key time: now, or of what is paused or kept its own, on the node's clock. */
struct page_view;
void json_taken(struct json *, const struct page_view *);

/* What is not known is null. */
static inline const char *
or_null(const char *s)
{
	return s == NULL || s[0] == '\0' ? NULL : s;
}

/* --- parts of heads (documents.c) ----------------------------------------- */

/*
 * The keys node and target, those from armed to sample_period, and complete to
 * mended, of any look.
 */
void json_target(struct json *, const struct nodes_look *);
void json_modes(struct json *, const struct nodes_look *);
void json_lost(struct json *, const struct nodes_look *);

/*
 * The keys from filter to matched_unsure: how many of so many blocks listed
 * were caught.  All are null without an expression.
 */
void json_filter(struct json *, const char *expression,
    const struct page_caught *, uint64_t of);

/* --- documents (documents.c) ---------------------------------------------- */

/*
 * A target's blocks, schema pagek.blocks/1: the rows of the page's text, which
 * has begun with this view (page_choice_text_begin()), limit blocks at most
 * (0: all); the profile is of these blocks.  With a sieve they are those that it
 * lets through, and it has caught all of them.
 */
void json_blocks(struct json *, const struct page *, const struct page_view *,
    struct profile *, struct page_sieve *, bool since_click, uint64_t limit);

/*
 * Calls put() for each row of the page's text that the sieve lets through, at
 * most limit of them (0: all) and only while writing to `out` works.  The text
 * has begun with this view (page_choice_text_begin()).
 */
void json_block_rows(FILE *out, const struct page *, const struct page_view *,
    struct page_sieve *, uint64_t limit, void (*put)(void *arg,
    const struct blk *), void *arg);

/*
 * The same in parts, for a caller that has not the time for all at once: the
 * head, then json_rows(), and each row; of a profile that has the block's
 * caller.
 */
void json_blocks_head(struct json *, const struct page_view *,
    const struct page_opts *, bool since_click, const char *filter,
    const struct page_caught *);
void json_block(struct json *, const struct page_view *, struct profile *,
    const struct blk *);

/* Is --fields of them good?  False, with a sentence. */
bool json_blocks_fields(const struct options *, char *why, size_t cap);

/*
 * The table of nodes, schema pagek.nodes/1; with a survey (NULL: no node was
 * asked) also the state of each, and this user's own node where it has no entry.
 */
void json_nodes(struct json *, const struct nodes_table *,
    struct nodes_survey *, bool complete);

#endif
