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
 */
#ifndef PAGEK_JSON_H
#define PAGEK_JSON_H

#include <stdio.h>

#include "../mdd/mdd.h"
#include "moment.h"
#include "pagek.h"

#define JSON_DEPTH 8

struct json {
	FILE *out;
	int depth;
	struct {
		char close;
		bool lines;		/* an element on each line */
		bool any;
	} level[JSON_DEPTH];
	bool keyed;			/* a key stands there, its value is due */
	bool ascii;			/* no character beyond ASCII */
};

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

/* What is not known is null. */
static inline const char *
or_null(const char *s)
{
	return s == NULL || s[0] == '\0' ? NULL : s;
}

/* A node's number: "0590". */
void json_node(struct json *, uint16_t number);
/* The keys pid, name and stream: which target of a node it is. */
void json_stream(struct json *, int64_t pid, const char *comm,
    const char *stream);

/* Totals are estimated or exact, and from what: null is no sample. */
void json_sample(struct json *, uint64_t period);

/*
 * What the session looks at, in the order of the options, limit blocks at most
 * (0: all); the profile is of these blocks.
 */
void json_blocks(FILE *, struct nodes_session *, struct profile *,
    const struct page_opts *, bool since_click, uint64_t limit);

/*
 * The keys node and target, those from armed to sample_period, and complete to
 * mended, of any look.
 */
void json_target(struct json *, const struct nodes_look *);
void json_modes(struct json *, const struct nodes_look *);
void json_lost(struct json *, const struct nodes_look *);

/* A call tree, or a flat table of groups, as the options want it.  -ENOMEM. */
struct options;
int json_tree(FILE *, const struct options *, const struct moment *);
int json_groups(FILE *, const struct options *, const struct moment *);

/* Targets of nodes, schema pagek.targets/1: begin, each node's, end. */
void json_targets_begin(struct json *, FILE *, bool ascii);
void json_targets_add(struct json *, const char *socket,
    const struct nodes_target *, size_t n);
void json_targets_end(struct json *);

/*
 * The table of nodes, schema pagek.nodes/1; with a survey (NULL: nobody was
 * asked) also how each of them is, and that of the own one without an entry.
 */
void json_nodes(FILE *, const struct nodes_table *, struct nodes_survey *,
    bool complete, bool ascii);

#endif
