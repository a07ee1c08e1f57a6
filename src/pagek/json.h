/*
 * json: a small writer (json.c), and what it is used for (json_schemas.c): a
 * target's blocks in the schema pagek.blocks/1, targets in pagek.targets/1;
 * json_nodes.c: the table of nodes and how they are in pagek.nodes/1;
 * json_profile.c: call trees in pagek.tree/1, groups in pagek.groups/1;
 * cmd_listings.c: what a node has stored, in pagek.listings/1.
 *
 * Objects and arrays may be written over many lines, an element on each, or
 * in one.  Unknown values are null, never 0.  Outside text becomes valid
 * UTF-8 that no terminal takes for anything but text.
 *
 * Vocabulary
 *	document	what a command writes under a schema: a head, and rows.
 *	head	what is said once, of all rows.
 *	rows	the one array of the document that its schema is about.
 *	columns	what a row, or the head of it, has as CSV; the schema's table.
 *	form	how a document is written down: as one object, as lines, as CSV.
 *
 * Who writes a document says each value once, and the form does the rest:
 *	json_open(&j, out, o);
 *	json_document(&j, "pagek.nodes/1", columns, BASE_NELEM(columns));
 *	json_key(&j, "complete");	the head
 *	json_bool(&j, true);
 *	json_rows(&j, "nodes");
 *	for each row:	json_begin(&j, '{', false); ... json_end(&j);
 *	json_rows_end(&j);		nothing more is said of the head then
 *	json_end(&j);
 */
#ifndef PAGEK_JSON_H
#define PAGEK_JSON_H

#include <stdio.h>

#include "../mdd/mdd.h"
#include "../page/sieve.h"
#include "moment.h"
#include "pagek.h"

#define JSON_DEPTH 8
#define JSON_COLUMNS 32		/* of a schema, at most */
#define JSON_CELLS 32768	/* bytes of a row's texts together */

enum json_form {
	JSON_WHOLE,	/* one object, over many lines */
	JSON_LINE,	/* the same in one line */
	JSON_LINES,	/* the head in a line, then each row in one */
	JSON_CSV,	/* a heading, then each row: RFC 4180 */
};

/* Keys of objects within a row are joined, as in status_exit. */
struct json_column {
	const char *name;
	const char *head;	/* a key of the head, the same for each row; NULL: of the row */
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
	bool keyed;			/* a key stands there, its value is due */
	bool ascii;			/* no character beyond ASCII */
	int rows;			/* depth at which the rows are; 0: not there yet */
	const char *fields;		/* keys of a row that are wanted; NULL: all */
	int fields_at;			/* depth of those keys; 0: there is no row yet */
	bool unwanted;			/* the key that stands there is none of them */
	struct json_column own[JSON_COLUMNS];	/* of the schema's, those */
	bool over;			/* the rows are written */

	/* CSV: what the columns of this row have so far (json_csv.c). */
	const struct json_column *column;
	size_t columns;
	bool headed;			/* the heading is written: once, whatever comes */
	uint16_t cell[JSON_COLUMNS];	/* where its text begins + 1; 0: empty */
	char text[JSON_CELLS];
	size_t used, kept;		/* of it; of the head's */
};

struct options;

/* A document in that form; out is not closed. */
void json_open_form(struct json *, FILE *out, enum json_form, bool ascii);
/* As the options want it. */
void json_open(struct json *, FILE *out, const struct options *);
void json_document(struct json *, const char *schema,
    const struct json_column *, size_t n);
void json_rows(struct json *, const char *key);
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
void json_hex(struct json *, uint64_t);			/* "0x1234" */
void json_share(struct json *, double part, double whole);	/* 0.25; null of nothing */
void json_time(struct json *, int64_t wall_ms);		/* RFC 3339, UTC */

/* The key time: now, or of what is paused or kept its own, on the node's clock. */
struct page_view;
void json_taken(struct json *, const struct page_view *);

/* What is not known is null. */
static inline const char *
or_null(const char *s)
{
	return s == NULL || s[0] == '\0' ? NULL : s;
}

/* Numbers of STATS, each under its key; null unless known. */
struct json_stat {
	const char *key;
	enum wire_number stat;
};
void json_stats(struct json *, const struct json_stat *, size_t,
    const uint64_t n[WIRE_STATS_COUNT], bool known);

/* A node's number: "0590". */
void json_node(struct json *, uint16_t number);
/* The keys pid, name and stream: which target of a node it is. */
void json_stream(struct json *, int64_t pid, const char *comm,
    const char *stream);

/* Totals are estimated or exact, and from what: null is no sample. */
void json_sample(struct json *, uint64_t period);

/*
 * The rows of the page's text, which has begun with this view
 * (page_choice_text_begin()), limit blocks at most (0: all); the profile is of
 * these blocks.  With a sieve they are those that it lets through, and it has
 * caught all of them.
 */
void json_blocks(struct json *, const struct page *, const struct page_view *,
    struct profile *, struct page_sieve *, bool since_click, uint64_t limit);

/*
 * The same in parts, for who has no time for all at once: the head, then
 * json_rows(), and each row; of a profile that has the block's caller.
 */
void json_blocks_head(struct json *, const struct page_view *,
    const struct page_opts *, bool since_click, const char *filter,
    const struct page_caught *);
void json_block(struct json *, const struct page_view *, struct profile *,
    const struct blk *, bool kind);

/* Is --fields of them good?  False, with a sentence. */
bool json_blocks_fields(const struct options *, char *why, size_t cap);

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

/* A call tree, or a flat table of groups, as the options want it.  -ENOMEM. */
int json_tree(struct json *, const struct options *, const struct moment *);
int json_groups(struct json *, const struct options *, const struct moment *);

/* Targets of nodes, schema pagek.targets/1: begin, each node's, end. */
void json_targets_begin(struct json *);
void json_targets_add(struct json *, const char *socket,
    const struct nodes_target *, size_t n);
void json_targets_end(struct json *);

/*
 * The table of nodes, schema pagek.nodes/1; with a survey (NULL: nobody was
 * asked) also how each of them is, and that of the own one without an entry.
 */
void json_nodes(struct json *, const struct nodes_table *,
    struct nodes_survey *, bool complete);

/* --- chosen fields (json_fields.c), names with commas between ------------ */

#define JSON_FIELD 64

bool json_field_wanted(const char *list, const char *key);
/* Those columns, in the list's order. */
size_t json_fields_take(const char *list, const struct json_column *, size_t n,
    struct json_column out[JSON_COLUMNS]);
/*
 * All are columns, or that one more; false, with a sentence, which names all
 * that there are where it has room.
 */
bool json_fields_good(const char *list, const struct json_column *, size_t n,
    const char *more, char *why, size_t cap);

/* --- CSV (json_csv.c), for the writer alone ------------------------------ */

/* A value at the place where the writer stands; NULL: not known. */
void json_csv_value(struct json *, const char *text);
/* The row that is whole, and before the first one the heading. */
void json_csv_row(struct json *);
void json_csv_heading(struct json *);

#endif
