/*
 * profile: sums of the live blocks by the code that allocated them: groups,
 * rankings, call trees.
 *
 *	profile.c	sums by caller
 *	cells.c		sums by caller and tags
 *	groups.c	groups, rankings, neighbours
 *	calltree.c	call trees and folded lines
 *	resolve.c	call stacks as lines, and the types of their objects, from the
 *			words known so far
 *	profile_tables.h	the tables that these files share
 *
 * Vocabulary
 *	profile		live blocks and bytes of one moment, summed by caller
 *			(a site or a return address).
 *	line		a frame, or one function inlined in it: a stack of
 *			frames becomes a stack of lines, innermost first.
 *	origin		the innermost line that is not skipped (see
 *			symbol/symbol.h): the function that allocated.
 *	group		entries of a profile under one key: by origin function,
 *			by origin line, by any frame (a function counts once in
 *			a stack, however often it recurs), by module.
 *	self, total	of a function: blocks whose origin it is; blocks that it
 *			or a function called by it allocated.
 *	call tree	stacks laid over each other from the outermost frame
 *			inwards, or, reversed, from the origin outwards.
 *	measure		what is compared: bytes, blocks, or age (the oldest
 *			block's, in milliseconds; blocks weigh their age in
 *			folded output).
 *	cell		a sum by caller and up to two tags, numbers of the user's
 *			own (type, thread ...).
 *
 * Example
 *	profile_new(&p);
 *	profile_take(p, look->list);			or profile_add() by hand
 *	profile_resolve(p, &words);			names for what is known by now
 *	profile_ranking_begin(r, p, PROFILE_FUNCTION, PROFILE_BYTES, now_ms);
 *	profile_ranking_count(r, SIZE_MAX, &left);
 *	profile_ranking_rows(r, 0, rows, 50, &n);
 *	profile_tree(p, &opts, print_node, f);
 *	profile_restart(p);				for the next cycle
 *
 * A profile belongs to one thread.  Names are outside text, not safe for a
 * terminal.  A frame without a name is shown as module+offset or address.
 *
 * A function is its name and its module: two files of a program may each have
 * an init().  When all lines of a stack are skipped, its outermost is the
 * origin.  Skipped lines belong to no group; call trees show them as skipped.
 */
#ifndef PROFILE_H
#define PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../blklist/blklist.h"
#include "../stream/ring.h"
#include "../stream/stream.h"
#include "../stream/wire/wire.h"
#include "../symbol/symbol.h"

struct profile;

enum profile_measure {
	PROFILE_BYTES,
	PROFILE_BLOCKS,
	PROFILE_AGE,
	PROFILE_SELF,		/* rankings: bytes allocated by the function itself */
	PROFILE_NAME,		/* rankings: nothing, the order is by name */
	PROFILE_OF_MODULE,	/* ... by the last part of the module, then by name */
	PROFILE_OF_FILE,	/* ... of the file */
	PROFILE_OF_LINE,	/* ... of the file, and by the line */
	PROFILE_TYPE,		/* rankings of cells: the type of all blocks; mixed ones last */
	PROFILE_THREAD,
};

enum profile_by {
	PROFILE_SITE,		/* each stack by itself */
	PROFILE_FUNCTION,	/* of the origin */
	PROFILE_LINE,		/* file and line of the origin */
	PROFILE_FRAME,		/* any function of the stack */
	PROFILE_MODULE,		/* of the origin */
	PROFILE_CTYPE,		/* what profile_type() says */
	PROFILE_TAG,		/* cells: the first tag */
	PROFILE_TAG_SECOND,	/* cells: the second one */
};

/* The source of stacks and words, such as a session (nodes_profile_words). */
struct profile_words {
	bool (*stack)(void *arg, uint64_t caller, struct stream_site *);
	const struct wire_words *(*words)(void *arg, uint64_t frame);
	void *arg;
};

int profile_new(struct profile **);
void profile_free(struct profile *);
void profile_clear(struct profile *);

/* Removes the blocks only.  For another stream use profile_clear(). */
void profile_restart(struct profile *);

/* The functions to skip; NULL: none.  Borrowed while the profile lives. */
void profile_set_wrappers(struct profile *, const struct symbol_wrappers *);

/* Adds a block; ms: when it was allocated.  -ENOMEM. */
int profile_add(struct profile *, uint64_t caller, uint64_t bytes,
    int64_t ms);
/* The same for blocks with so many bytes together; all have one age. */
int profile_add_sum(struct profile *, uint64_t caller, uint64_t blocks,
    uint64_t bytes, int64_t ms);
/* Adds all blocks of the list, with their weights (10 ns each).  -ENOMEM. */
int profile_take(struct profile *, const struct blklist *);

/*
 * The same in portions: the blocks added since the begin replace the profile's
 * at the end.  A begin discards what was added since the last one.  -ENOMEM.
 */
void profile_pending_begin(struct profile *);
int profile_pending_add(struct profile *, const struct blklist *,
    const struct blk *, size_t n);
void profile_pending_end(struct profile *);

/*
 * Turns callers into lines and asks for missing stacks and words.  Returns how
 * many callers still lack some, or expect better ones, or -ENOMEM.  Cheap to
 * call again: results stay until clear.
 */
int profile_resolve(struct profile *, const struct profile_words *);
/* The same for at most so many callers; the next call goes on behind them. */
int profile_resolve_some(struct profile *, const struct profile_words *,
    size_t at_most);

struct profile_sum {
	uint64_t blocks;	/* of a sample: weighted */
	uint64_t bytes;		/* likewise */
	uint64_t listed;	/* blocks without weights */
	uint64_t listed_bytes;
	int64_t oldest_ms;	/* when the oldest of them was allocated */
};

/* Callers in it, and the sum over all. */
size_t profile_callers(const struct profile *);
struct profile_sum profile_total(const struct profile *);
/* The i-th caller, with or without blocks; false behind the last. */
bool profile_caller_at(const struct profile *, size_t i, uint64_t *caller,
    struct profile_sum *);

/* Texts are borrowed until clear; "" or 0 if the lines of the group differ. */
struct profile_group {
	const char *name;	/* function, or module */
	const char *where;	/* "file:line", the file or the module; "" not known; without folders */
	const char *file;	/* with folders */
	uint32_t line;
	const char *module;	/* whole */
	struct profile_sum total;
	struct profile_sum self;	/* PROFILE_FRAME: where it is the origin; else the same as total */
	uint32_t stacks;	/* callers in it */
	uint64_t key;		/* the same in each take */
	uint64_t caller;	/* the heaviest caller in it */
	uint64_t tag;		/* of groups by a tag, which have no name and place */
	int type, thread;	/* of cells: of all its blocks; -1 if they differ */
};

/*
 * A ranking: groups, the heaviest first, ties by name, counted in portions and
 * sorted only as far as they are looked at.  It is of one moment of the profile
 * and valid until that is cleared; a begin forgets what was counted.
 *
 *	profile_ranking_begin(r, p, PROFILE_SITE, PROFILE_BYTES, now);
 *	do
 *		profile_ranking_count(r, 1000, &left);
 *	while (left > 0);
 *	profile_ranking_rows(r, offs, rows, 50, &n);
 */
struct profile_ranking;
int profile_ranking_new(struct profile_ranking **);
void profile_ranking_free(struct profile_ranking *);
int profile_ranking_begin(struct profile_ranking *, struct profile *,
    enum profile_by, enum profile_measure, int64_t now_ms);
/* Counts at most so many callers; *left: the number of the others.  -ENOMEM. */
int profile_ranking_count(struct profile_ranking *, size_t at_most,
    size_t *left);
/* Groups in it; 0 until all are counted. */
size_t profile_ranking_size(const struct profile_ranking *);
/* The offset of the group with that key, or -ENOENT. */
int64_t profile_ranking_find(const struct profile_ranking *, uint64_t key);
/* The same for many keys in one pass over all groups. */
void profile_ranking_find_all(const struct profile_ranking *,
    const uint64_t *key, size_t n, int64_t *at);
/* The sum of the group with that key; false if there is none. */
bool profile_ranking_sum(const struct profile_ranking *, uint64_t key,
    struct profile_sum *);
int profile_ranking_rows(struct profile_ranking *, size_t offs,
    struct profile_group *out, size_t n, size_t *got);
/* The group with that key, wherever it is.  -ENOENT, -ENOMEM. */
int profile_ranking_group(struct profile_ranking *, uint64_t key,
    struct profile_group *out);

/* Reverses the order; before anything is counted. */
void profile_ranking_reverse(struct profile_ranking *, bool);
/*
 * Takes the order of another ranking, counted before by the same kind and
 * measure, instead of an order by the present sums.  Groups that are empty or
 * renamed keep their places; groups that the other ranking lacks come last.
 * Call it after profile_ranking_cells(); the other ranking is borrowed, and
 * must not change, until all are counted.
 */
void profile_ranking_keep_order(struct profile_ranking *,
    const struct profile_ranking *);
/* How many are not in the other ranking. */
size_t profile_ranking_new_groups(const struct profile_ranking *);

/*
 * Cells beside a profile that takes the same blocks in portions, replaced at
 * the end like the profile.  With by_caller each caller has cells of its own;
 * without, a cell's caller is one of those in it.
 */
struct profile_cells;
int profile_cells_new(struct profile_cells **, struct profile *);
void profile_cells_free(struct profile_cells *);
void profile_cells_clear(struct profile_cells *);
void profile_cells_begin(struct profile_cells *, bool by_caller);
/* Adds a block that the profile's portions have; tag 0: none.  -ENOMEM. */
int profile_cells_add(struct profile_cells *, const struct blklist *,
    const struct blk *, const uint64_t tag[2]);
void profile_cells_end(struct profile_cells *);
size_t profile_cells_count(const struct profile_cells *);

/* The key of a tag's group. */
uint64_t profile_tag_key(uint64_t tag);

/* Makes a ranking that has begun count cells instead of callers. */
void profile_ranking_cells(struct profile_ranking *,
    const struct profile_cells *);
/*
 * Groups the groups of these keys once more as they are counted, each in a
 * ranking of its own that has begun in the same way and is not counted by
 * itself.  The array is ascending by key, and borrowed until all are counted.
 */
struct profile_subgroups {
	uint64_t key;
	struct profile_ranking *ranking;
};
void profile_ranking_subgroups(struct profile_ranking *,
    const struct profile_subgroups *, size_t n);

/* The group with that key alone.  -ENOENT, -ENOMEM. */
int profile_group(struct profile *, enum profile_by, uint64_t key,
    enum profile_measure, int64_t now_ms, struct profile_group *out);

/*
 * The direct callers (outwards) or callees of the function of that key, the
 * heaviest first.  Of a function that recurs, callers are those of its
 * outermost call, callees those of its innermost: so its callers and the stacks
 * that begin with it make up its total, and so do its callees and its self.
 */
int profile_neighbours(struct profile *, uint64_t key, bool outwards,
    enum profile_measure, int64_t now_ms, struct profile_group *out,
    size_t n, size_t *got);

/* The key of a line's function, of a frame; words NULL: not known. */
uint64_t profile_key(uint64_t frame, const struct wire_words *, size_t line);

/* The key of the group of the caller's origin.  -ENOENT, -ENOMEM. */
int profile_key_of(struct profile *, enum profile_by, uint64_t caller,
    uint64_t *key);
/*
 * The keys of all groups of the caller's blocks: by PROFILE_FRAME one for each
 * function of its stack, else one.  Up to `cap` of them into `key`; returns how
 * many.  -ENOENT, -ENOMEM.
 */
int profile_keys_of(struct profile *, enum profile_by, uint64_t caller,
    uint64_t *key, size_t cap);
/* True if blocks of the caller are in the group of that key. */
bool profile_in_group(struct profile *, enum profile_by, uint64_t key,
    uint64_t caller);

/*
 * The type of the objects in a caller's blocks, by the program's words known so far:
 * "app::Row" and its source, or "" and UNKNOWN.  The search passes wrappers.  It ends
 * at a function of a library that may allocate other things, and at the first
 * function of the program itself.  Borrowed until clear.  -ENOENT, -ENOMEM.
 */
int profile_type(struct profile *, uint64_t caller, const char **type,
    enum wire_type_from *);
/*
 * True if the function's caller may tell that type: a library's function is known
 * by its name, any other by the user's list of wrappers.
 */
bool profile_passes(const char *function, bool wrapper);
/* "template", "call", "symbol", "new", "program" or "unknown". */
const char *profile_type_source(enum wire_type_from);

/* A line of a caller's stack.  Texts are borrowed until clear, "" not known. */
struct profile_line {
	uint64_t address;	/* of the return; 0 not known */
	const char *module;	/* path */
	uint64_t offset;	/* in its module's tables; 0 not known */
	const char *function;	/* as the module has it */
	const char *name;	/* that, or a substitute; never "" */
	const char *file;
	uint32_t line;		/* 0: not known */
	uint32_t known;		/* enum wire_known of its frame */
	bool inlined;		/* in the function of the next line */
	bool skipped;
};

#define PROFILE_LINES_MAX (RING_STACK_MAX * WIRE_INLINES_MAX)

/*
 * The lines of a caller, innermost first, PROFILE_LINES_MAX at most, and which
 * of them is the origin; *end: enum ring_end, 0 while the stack is not known.
 * -ENOENT: no such caller in the profile; -ENOMEM.
 */
int profile_stack(struct profile *, uint64_t caller, struct profile_line *out,
    size_t cap, size_t *n, size_t *origin, unsigned *end);

/* Sums by enum ring_end of the stacks; [0] those not known yet.  -ENOMEM. */
int profile_ends(struct profile *, struct profile_sum out[RING_ENDS]);

struct profile_tree_opts {
	enum profile_measure measure;
	bool reversed;		/* from the origin outwards */
	double least;		/* branches below this share of the total are left out and summed */
	unsigned depth;		/* 0: all */
	int64_t now_ms;
	const char *focus;	/* only stacks with a function that matches this pattern; NULL: all */
};

/*
 * A node's self and the totals of its children, without those skipped, make up
 * its total.  Skipped lines are inside of their origin, whose self has them; a
 * reversed tree leaves them out.  self in a reversed tree: of the stacks that
 * end there.
 */
struct profile_node {
	unsigned depth;		/* 0: the first */
	const char *function, *where;
	const char *file, *module;	/* with folders; "" not known or not in common */
	uint32_t line;		/* 0: not known */
	bool skipped;		/* a wrapper */
	bool last;		/* of its siblings */
	uint32_t omitted;	/* not 0: no function, but so many branches left out here */
	struct profile_sum total, self;
	unsigned end;		/* enum ring_end of stacks that are cut here; 0: none */
};

/* Calls print for nodes, outer first, heaviest first.  -ENOMEM or its value. */
int profile_tree(struct profile *, const struct profile_tree_opts *,
    int (*print)(void *arg, const struct profile_node *), void *arg);

/*
 * A line for each stack, as flame graph programs read it: names, outermost
 * first, with ';' between, a blank and the measure; of PROFILE_AGE the sum over
 * the blocks.  Sorted by name.  Skipped lines and stacks that measure 0 are
 * left out. Names are safe for a terminal and have no ';'.  -ENOMEM or what put
 * returned.
 */
int profile_folded(struct profile *, enum profile_measure, int64_t now_ms,
    int (*put)(void *arg, const char *line), void *arg);

#endif
