/*
 * mdd: what memory debug data says in sum.  This version sums the live set by
 * where it was asked for.
 *
 * Vocabulary
 *	profile		live blocks and bytes of one moment, summed by caller
 *			(a site or a return address).
 *	line		a frame, or one function inlined in it: a stack of
 *			frames becomes a stack of lines, innermost first.
 *	origin		the innermost line that is not skipped (see
 *			symbol/symbol.h): who asked.
 *	group		entries of a profile under one key: by origin function,
 *			by origin line, by any frame (a function counts once in
 *			a stack, however often it recurs), by module.
 *	self, total	of a function: what it asked for itself (it is the
 *			origin); what was asked for by it or anybody it called.
 *	call tree	stacks laid over each other from the outermost frame
 *			inwards, or, reversed, from the origin outwards.
 *	measure		what is compared: bytes, blocks, or age (the oldest
 *			block's, in milliseconds; blocks weigh their age in
 *			folded output).
 *	cell		a sum by more than the caller: by up to two tags, numbers
 *			that tell blocks apart for whoever gives them (its type,
 *			its thread ...).
 *
 * Example
 *	profile_new(&p);
 *	profile_take(p, look->list);			or profile_add() by hand
 *	profile_resolve(p, &words);			names for what is known by now
 *	profile_groups(p, PROFILE_FUNCTION, PROFILE_BYTES, now_ms, 0, rows, 50,
 *	    &n, &groups);
 *	profile_tree(p, &opts, print_node, f);
 *	profile_restart(p);				for the next cycle
 *
 * A profile belongs to one thread.  Names are outside text, not yet safe for
 * a terminal.  What has no name yet stands as module+offset or address.
 *
 * A function is its name and its module: two files of a program may each have
 * an init().  When all lines of a stack are skipped, its outermost is the
 * origin, for somebody has asked.  Skipped lines belong to no group; they
 * stand in the call tree, as skipped.
 */
#ifndef MDD_H
#define MDD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../nodes/nodes.h"
#include "../stream/ring.h"
#include "../symbol/symbol.h"

struct profile;

enum profile_measure {
	PROFILE_BYTES,
	PROFILE_BLOCKS,
	PROFILE_AGE,
	PROFILE_SELF,		/* bytes that a function asked for itself; of a ranking */
	PROFILE_NAME,		/* nothing: names alone say the order; of a ranking */
	PROFILE_TYPE,		/* of cells, in a ranking: what all blocks have, those that differ last */
	PROFILE_THREAD,
};

enum profile_by {
	PROFILE_SITE,		/* each stack by itself */
	PROFILE_FUNCTION,	/* of the origin */
	PROFILE_LINE,		/* file and line of the origin */
	PROFILE_FRAME,		/* any function of the stack */
	PROFILE_MODULE,		/* of the origin */
	PROFILE_TAG,		/* cells: the first tag */
	PROFILE_TAG_BELOW,	/* cells: the second one */
};

/* Where stacks and words come from: a session, or a test. */
struct profile_words {
	bool (*stack)(void *arg, uint64_t caller, struct nodes_stack *);
	const struct wire_words *(*words)(void *arg, uint64_t frame);
	void *arg;
};

extern const struct profile_words profile_session_words;	/* arg to be set: the session */

int profile_new(struct profile **);
void profile_free(struct profile *);
void profile_clear(struct profile *);

/*
 * Takes the blocks out and keeps what is resolved, for the next take of the
 * same stream: sites and frames of another one mean something else, and need a
 * clear.
 */
void profile_restart(struct profile *);

/* Which functions are skipped; NULL: none.  Borrowed while the profile lives. */
void profile_set_wrappers(struct profile *, const struct symbol_wrappers *);

/* A block more; ms: when it was allocated.  -ENOMEM. */
int profile_add(struct profile *, uint64_t caller, uint64_t bytes,
    int64_t ms);
/*
 * All blocks of the list (10 ns each, in a list beyond all caches 100).  When it
 * holds a sample, each counts as the blocks that it stands for: sums are
 * estimates then, and those of the whole are the list's own.
 */
int profile_take(struct profile *, const struct blklist *);

/*
 * The same in portions, for who has no time for all at once: what was there
 * stands until the end, and is then as after a restart.  A begin calls off
 * what was added since the last one.  -ENOMEM.
 */
void profile_coming_begin(struct profile *);
int profile_coming_add(struct profile *, const struct blklist *,
    const struct blk *, size_t n);
void profile_coming_end(struct profile *);

/*
 * Turns callers into lines; returns how many callers still lack a stack or
 * words, or have some for which better ones are on their way (all are asked
 * for), or -ENOMEM.  Cheap to call again: what is resolved stays so until
 * clear.
 */
int profile_resolve(struct profile *, const struct profile_words *);
/*
 * The same for at most so many callers that lack something; the next call goes
 * on behind the last of them, and begins again behind the last of all.
 */
int profile_resolve_some(struct profile *, const struct profile_words *,
    size_t at_most);

struct profile_sum {
	uint64_t blocks;	/* of a sample: what the listed ones stand for */
	uint64_t bytes;
	uint64_t listed;	/* blocks, and their own bytes; the same unless it is a sample */
	uint64_t listed_bytes;
	int64_t oldest_ms;	/* when the oldest of them was allocated */
};

/* Callers in it, and the sum over all. */
size_t profile_callers(const struct profile *);
struct profile_sum profile_total(const struct profile *);

/*
 * Texts are borrowed until clear.  What the lines of a group do not have in
 * common is "" or 0.
 */
struct profile_group {
	const char *name;	/* function, or module */
	const char *where;	/* "file:line", the file or the module; "" not known; without folders */
	const char *file;	/* whole */
	uint32_t line;
	const char *module;	/* whole */
	struct profile_sum total;
	struct profile_sum self;	/* PROFILE_FRAME: where it is the origin; else the same as total */
	uint32_t stacks;	/* callers in it */
	uint64_t key;		/* stays the same from take to take: what a cursor holds on to */
	uint64_t caller;	/* the heaviest caller in it: for its stack */
	uint64_t tag;		/* of groups by a tag: their name is "", and no place is theirs */
	int type, thread;	/* of cells: what all blocks of it have; else -1 */
};

/*
 * The heaviest groups first, ties by name; up to n of them, offs left out.
 * *groups gets how many there are in all.  -ENOMEM.
 */
int profile_groups(struct profile *, enum profile_by, enum profile_measure,
    int64_t now_ms, size_t offs, struct profile_group *out, size_t n,
    size_t *got, size_t *groups);

/*
 * A ranking: the same groups, counted in portions and put in their order only
 * as far as they are looked at.  It is of one moment of the profile and valid
 * until that is cleared; a begin forgets what was counted.
 *
 *	profile_ranking_begin(r, p, PROFILE_SITE, PROFILE_BYTES, now);
 *	do
 *		profile_ranking_count(r, 1000, &left);
 *	while (left > 0);
 *	profile_ranking_rows(r, offs, rows, 50, &n);
 *
 * find: the offset of the group with that key, or -ENOENT.
 */
struct profile_ranking;
int profile_ranking_new(struct profile_ranking **);
void profile_ranking_free(struct profile_ranking *);
int profile_ranking_begin(struct profile_ranking *, struct profile *,
    enum profile_by, enum profile_measure, int64_t now_ms);
/*
 * At most so many callers; *left gets how many are still to be counted.
 * -ENOMEM.
 */
int profile_ranking_count(struct profile_ranking *, size_t at_most,
    size_t *left);
/* Groups in it; 0 until all are counted. */
size_t profile_ranking_size(const struct profile_ranking *);
int64_t profile_ranking_find(const struct profile_ranking *, uint64_t key);
/*
 * For many keys in one pass over all groups: into `at`, -ENOENT for those that
 * are none.
 */
void profile_ranking_find_all(const struct profile_ranking *,
    const uint64_t *key, size_t n, int64_t *at);
/* The sum of the group alone; false: there is none. */
bool profile_ranking_sum(const struct profile_ranking *, uint64_t key,
    struct profile_sum *);
int profile_ranking_rows(struct profile_ranking *, size_t offs,
    struct profile_group *out, size_t n, size_t *got);
/* The group of that key, wherever it stands.  -ENOENT, -ENOMEM. */
int profile_ranking_group(struct profile_ranking *, uint64_t key,
    struct profile_group *out);

/* The other way round; before anything is counted. */
void profile_ranking_reverse(struct profile_ranking *, bool);
/*
 * Its groups keep the order of another one, counted before by the same kind and
 * measure, whatever they sum to by now.  One that is empty keeps its place, one
 * that is called otherwise too; those that are late, not in the other one, come
 * last.  After its cells are given; the other one is borrowed until all are
 * counted, and stays as it is till then.
 */
void profile_ranking_keep(struct profile_ranking *,
    const struct profile_ranking *);
size_t profile_ranking_late(const struct profile_ranking *);

/* --- cells --------------------------------------------------------------- */

/*
 * Beside a profile that takes the same blocks in portions; its callers have the
 * names.  What was there stands until the end.  With by_caller each caller has
 * cells of its own; without, a group's caller is only one that is in it.
 */
struct profile_cells;
int profile_cells_new(struct profile_cells **, struct profile *);
void profile_cells_free(struct profile_cells *);
void profile_cells_clear(struct profile_cells *);
void profile_cells_begin(struct profile_cells *, bool by_caller);
/*
 * A block that the profile's coming take has: with its tags, 0 for none.
 * -ENOMEM.
 */
int profile_cells_add(struct profile_cells *, const struct blklist *,
    const struct blk *, const uint64_t tag[2]);
void profile_cells_end(struct profile_cells *);
size_t profile_cells_count(const struct profile_cells *);

/* The key of the group that the blocks of a tag are in. */
uint64_t profile_tag_key(uint64_t tag);

/* The ranking that has begun counts cells instead of callers. */
void profile_ranking_cells(struct profile_ranking *,
    const struct profile_cells *);
/*
 * Some of its groups are grouped once more as they are counted, each in a
 * ranking of its own that has begun in the same way and is not counted by
 * itself.  The array is ascending by key, and borrowed until all are counted.
 */
struct profile_ranking_below {
	uint64_t key;
	struct profile_ranking *ranking;
};
void profile_ranking_below(struct profile_ranking *,
    const struct profile_ranking_below *, size_t n);

/* The group of that key alone.  -ENOENT: there is none; -ENOMEM. */
int profile_group(struct profile *, enum profile_by, uint64_t key,
    enum profile_measure, int64_t now_ms, struct profile_group *out);

/*
 * Who called the function of that key (outwards true) or was called by it, one
 * step away, the heaviest first.  Of a function that recurs, callers are
 * those of its outermost call, callees those of its innermost: so the sums of
 * its callers and of the stacks that begin with it make up its total, those of
 * its callees and its self too.  Wrappers have neighbours like any other.
 */
int profile_neighbours(struct profile *, uint64_t key, bool outwards,
    enum profile_measure, int64_t now_ms, struct profile_group *out,
    size_t n, size_t *got);

/*
 * The key that groups by PROFILE_FUNCTION and PROFILE_FRAME have for the
 * function of that line of a frame; words NULL: not known yet.
 */
uint64_t profile_key(uint64_t frame, const struct wire_words *, size_t line);

/* The key of the group that has the caller by its origin.  -ENOENT, -ENOMEM. */
int profile_key_of(struct profile *, enum profile_by, uint64_t caller,
    uint64_t *key);
/*
 * The keys of all groups that the caller's blocks are in: of PROFILE_FRAME those
 * of each function of its stack, else the one.  The first `cap` of them into
 * `key`; returns how many.  -ENOENT, -ENOMEM.
 */
int profile_keys_of(struct profile *, enum profile_by, uint64_t caller,
    uint64_t *key, size_t cap);
/* Whether blocks of the caller are in the group of that key. */
bool profile_in_group(struct profile *, enum profile_by, uint64_t key,
    uint64_t caller);

/* A line of a caller's stack.  Texts are borrowed until clear, "" not known. */
struct profile_line {
	uint64_t address;	/* of the return; 0 not known */
	const char *module;	/* path */
	uint64_t offset;	/* in its module's tables; 0 not known */
	const char *function;	/* as the module has it */
	const char *name;	/* that, or what stands for it; never "" */
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

/* Sums by why stacks end, by enum ring_end; [0] those not known yet.  -ENOMEM. */
int profile_ends(struct profile *, struct profile_sum out[RING_ENDS]);

/* --- call trees ---------------------------------------------------------- */

struct profile_tree_opts {
	enum profile_measure measure;
	bool reversed;		/* from the origin outwards */
	double least;		/* share of the total below which a branch is left out and summed, 0.01 */
	unsigned depth;		/* 0: all */
	int64_t now_ms;
	const char *focus;	/* only stacks with a function that matches this pattern, as wrappers do; NULL all */
};

/*
 * The totals of a node's nodes, less those skipped, and its self make up its
 * total.  What is skipped lies inside of its origin, which has it in its self;
 * a reversed tree leaves it out.  self of a reversed tree's node: of the stacks
 * that end there.
 */
struct profile_node {
	unsigned depth;		/* 0: the first */
	const char *function, *where;
	const char *file, *module;	/* whole; "" not known or not in common */
	uint32_t line;		/* 0: not known */
	bool skipped;		/* a wrapper */
	bool last;		/* of its siblings */
	uint32_t omitted;	/* not a function: so many branches that were left out here */
	struct profile_sum total, self;
	unsigned end;		/* enum ring_end of stacks that stop here short of the outermost frame; 0 none */
};

/*
 * Calls print for each node, outer before inner, the heaviest first.  -ENOMEM,
 * or what print returned.
 */
int profile_tree(struct profile *, const struct profile_tree_opts *,
    int (*print)(void *arg, const struct profile_node *), void *arg);

/*
 * A line for each stack of names, outermost first, ';' between, then a blank
 * and the measure, of PROFILE_AGE the sum over the blocks: what flame graph
 * programs read.  Skipped lines are left out, so are stacks that measure 0.
 * Names are safe for a terminal and have no ';'.  In the order of the names.
 * -ENOMEM or what put returned.
 */
int profile_folded(struct profile *, enum profile_measure, int64_t now_ms,
    int (*put)(void *arg, const char *line), void *arg);

#endif
