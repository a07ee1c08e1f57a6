/*
 * snapshot: a target's blocks at one moment, summed by caller, and the texts of
 * its heading.  The session goes on while names are awaited, the snapshot not.
 *
 *	snapshot.c	takes it
 *	cmd_tree.c	tree: its call tree, or groups
 *	cmd_export.c	export: formats of other programs
 *	export_capture.c	export, of a capture
 *
 * Example: a command that writes one
 *	static int
 *	put(FILE *out, const struct options *o, const struct snapshot *m)
 *	{
 *		r = snapshot_groups(m, PROFILE_FUNCTION, PROFILE_BYTES, 10,
 *		    &rows, &n, &all);
 *		...
 *	}
 *	...
 *	return snapshot_report(o, loop, session, put);
 */
#ifndef PAGEK_SNAPSHOT_H
#define PAGEK_SNAPSHOT_H

#include <stdio.h>

#include "../../../profile/profile.h"
#include "../../groups/group_kinds.h"
#include "../../blocks/row_filter.h"
#include "../../cli/options.h"

#define SNAPSHOT_TEXT 512

struct snapshot {
	struct profile *profile;
	struct profile_cells *cells;	/* by the tags of a kind; NULL: of a kind without */
	struct nodes_session *session;	/* its source */
	struct nodes_look look;		/* a copy with its own texts, no list */
	size_t lacking;			/* callers that still lack names */
	struct blk *block;		/* if asked for: those of the profile, the oldest first */
	size_t blocks;
	const char *filter;		/* expression of the filter; NULL: all blocks */
	struct page_row_filter_sums caught;	/* blocks that match it ... */
	uint64_t listed;		/* ... of so many */
	enum tree_counts counts;	/* the blocks of the profile */
	int64_t counted_ms;		/* wall clock: their counting began, or the peak was; 0: not known */
	bool from_start;		/* counted since the start of the target */
	char node[SNAPSHOT_TEXT], target[SNAPSHOT_TEXT], reason[SNAPSHOT_TEXT];
};

/*
 * Borrows the wrappers of the options and the filter, which may be NULL.  If groups
 * of the kind are by a tag, their cells are taken as well; kind NULL: none.  `blocks`: the
 * blocks themselves are kept, too.  With counts other than TREE_HELD the profile is
 * that of the session's last counts: without filter, cells and blocks.  -ENOMEM.
 */
int snapshot_init(struct snapshot *, struct nodes_session *,
    const struct page_opts *, struct page_row_filter *,
    const struct page_group_kind *, bool blocks, enum tree_counts);
void snapshot_fini(struct snapshot *);

/* A sum's share of all, by this measure: 0 to 1. */
double snapshot_share(const struct snapshot *, enum profile_measure,
    const struct profile_sum *);

/* The age of the oldest block of the sum, in milliseconds; only of held blocks. */
int64_t snapshot_age(const struct snapshot *, const struct profile_sum *);

/*
 * The page's words for a group of that kind.  Names of types and threads come
 * from the session, so call it before the session goes to another stream.
 */
void snapshot_group_say(const struct snapshot *, const struct page_opts *,
    const struct page_group_kind *, const struct profile_group *,
    struct page_group_words *);

/* The heaviest groups, at most limit (0: all), freed with free().  -ENOMEM. */
int snapshot_groups(const struct snapshot *, enum profile_by,
    enum profile_measure, uint64_t limit, struct profile_group **, size_t *n,
    size_t *all);

/*
 * A whole command: takes a snapshot, waits for its names, opens the file of -o,
 * calls put(), which returns 0 or a negative errno, and returns the exit status.
 */
int snapshot_report(const struct options *, uv_loop_t *, struct nodes_session *,
    int (*put)(FILE *, const struct options *, const struct snapshot *));
/*
 * The same, but use() opens the file, too, and returns the exit status unless
 * that of the look is worse.
 */
int snapshot_visit(const struct options *, uv_loop_t *, struct nodes_session *,
    bool blocks,
    int (*use)(const struct options *, const struct snapshot *));

/* The report of `pagek tree` (cmd_tree.c): 0 or a negative errno. */
int tree_put(FILE *, const struct options *, const struct snapshot *);

/* Rows of pagek.tree/1. */
extern const struct field_table tree_node_fields;
struct json;
/* Writes pagek.tree/1, or for a flat table pagek.groups/1.  -ENOMEM. */
int json_tree(struct json *, const struct options *, const struct snapshot *);
int json_groups(struct json *, const struct options *, const struct snapshot *);

/* --- trees (cmd_tree.c) ------------------------------------------------------ */

/* Refuses what --by=allocations and --by=peak have no sums for. */
int tree_check_counts(struct parse *);

/* --- exports (cmd_export.c, export_capture.c) -------------------------------- */

enum export_needs {
	EXPORT_NEEDS_PROFILE,		/* of what is held, with names */
	EXPORT_NEEDS_SOURCE,
	EXPORT_NEEDS_FREES,		/* a source with the stacks of frees */
};

struct export_source;
struct export_held {
	const struct export_source *source;
	struct profile *profile;	/* of EXPORT_NEEDS_PROFILE */
	int64_t now_ms;
};

/* The input that the chosen format is written from. */
enum export_needs export_needs(const struct options *);
/* Writes it into the file or folder of -o.  Returns the exit status. */
int export_write(const struct options *, const struct export_held *);
/* Refuses options that a capture does not take. */
int export_capture_check(struct parse *);
int export_capture(const struct options *);

#endif
