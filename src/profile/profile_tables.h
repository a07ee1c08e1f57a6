/*
 * profile_tables: the tables of a profile.  Private to this room.
 *
 * Vocabulary
 *	caller	a block's caller as its record has it, with the sums over its
 *		blocks.
 *	stack	the caller's frames, innermost first, as indexes of frames.
 *	frame	a frame by itself, shared by all stacks that have it, and the
 *		lines that it stands for, innermost first.
 *	line	a function at a place in its source.
 *	sums	a profile_sum in parts, and the sum of times, for ages.
 *
 * Nothing is removed before the profile is cleared: indexes into the tables
 * stay valid, and equal texts have equal pointers.
 */
#ifndef PROFILE_TABLES_H
#define PROFILE_TABLES_H

#include "../base/hashmap.h"
#include "profile.h"

/* --- texts (profile.c) --------------------------------------------------- */

/* The interned copy of s, which ends at its first NUL.  -ENOMEM. */
int text_intern(struct intern *, const char *s, size_t len, const char **out);

/* A hash that is the same in each run. */
uint64_t text_hash(uint64_t seed, const char *s);

/* The part behind the last slash. */
const char *text_base(const char *path);

/* Blocks and bytes are in parts: weights of a sample are no whole numbers. */
#define PROFILE_SHIFT 8
#define PROFILE_PART (1 << PROFILE_SHIFT)

struct sums {
	uint64_t bytes;
	uint64_t blocks;
	uint64_t listed;	/* blocks and bytes without weights, not in parts */
	uint64_t listed_bytes;
	int64_t oldest_ms;
	double ms_sum;		/* sum over the blocks of ms - base_ms */
};

struct profile_caller {
	uint64_t caller;	/* the key */
	struct sums sums;
	struct sums pending;	/* of a take in progress */
};

/* A sum by caller and tags (cells.c). */
struct cell {
	uint64_t key;		/* of caller and tags */
	uint64_t tag[2];
	uint32_t caller;	/* index */
	uint32_t type, thread;	/* of all its blocks, plus one; MIXED if they differ */
	struct sums sums;
};

#define MIXED UINT32_MAX

/* The common value of all before and one more, or MIXED; 0: none before. */
static inline uint32_t
mixed(uint32_t all, uint32_t one)
{
	return all == 0 || all == one ? one : MIXED;
}

struct profile_cells {
	struct profile *p;
	struct hashmap shown, pending;	/* struct cell */
	bool by_caller;
	uint32_t last;			/* cell of the last block added */
};

struct stack {
	uint32_t first;		/* of its frames in profile.frame_of */
	uint8_t depth;
	uint8_t end;		/* enum ring_end; 0: the stack is not known yet */
	bool settled;		/* it and the words of all its frames are final */
};

struct frame {
	uint64_t frame;		/* the key */
	uint32_t first, n;	/* in profile.line */
	uint32_t round;		/* profile.round when its words were last asked for */
	uint64_t offset;
	const char *module;
	uint8_t known;		/* enum wire_known of the words behind the lines */
	uint8_t words;		/* lines in these words */
	uint8_t type_from;	/* enum wire_type_from */
	const char *type;	/* what it allocates; NULL: not known */
	bool fetching;
	bool settled;		/* no better words will come */
};

struct function {
	uint64_t key;		/* of name and module */
	const char *name;
	const char *module;	/* its path, "" not known */
	uint32_t mark;		/* of the last pass that met it */
	bool named;		/* the name is a function's, not a substitute */
	bool wrapper;
	bool passes;		/* what calls it may tell the type of the blocks */
};

struct line {
	uint64_t key;
	uint32_t function;
	uint32_t line;		/* 0: not known */
	const char *file;	/* "" not known */
	bool inlined;		/* in the function of the next one */
};

struct profile {
	const struct symbol_wrappers *wrappers;
	struct hashmap callers;		/* struct profile_caller; those from before a restart have no blocks */
	size_t ncaller;			/* that have blocks */
	uint32_t last;			/* caller of the last block added */
	int64_t base_ms;		/* of the first block added */
	struct sums total;
	int64_t pending_base_ms;	/* of a take in progress, as is pending */
	struct sums pending;
	struct stack *stack;		/* of the first nstack callers */
	size_t nstack, capstack;
	size_t next;			/* caller to be resolved next */
	uint32_t *frame_of;
	size_t nframe_of, capframe_of;
	struct hashmap frames;		/* struct frame */
	struct hashmap functions;		/* struct function */
	struct line *line;
	size_t nline, capline;
	struct intern texts;
	uint32_t round, mark;
};

static inline struct profile_caller *
profile_caller(const struct profile *p, size_t i)
{
	return (struct profile_caller *)p->callers.item + i;
}

static inline struct frame *
profile_frame(const struct profile *p, size_t i)
{
	return (struct frame *)p->frames.item + i;
}

static inline struct function *
profile_function(const struct profile *p, size_t i)
{
	return (struct function *)p->functions.item + i;
}

/* The caller's index, added if need be.  -ENOMEM. */
int64_t profile_caller_index(struct profile *, uint64_t caller);

void sums_add(struct sums *, const struct sums *);
/* A block of the list, weighted if that is a sample. */
struct sums sums_of(const struct blk *, const struct blklist *, bool sampled,
    int64_t base_ms);
uint64_t sums_whole(uint64_t parts);
struct profile_sum sums_out(const struct sums *);
/* The measure, blocks and bytes in parts; an age is the oldest block's. */
uint64_t sums_measure(const struct sums *, enum profile_measure,
    int64_t now_ms);
/* The sum of the blocks' ages, in milliseconds. */
uint64_t sums_age(const struct profile *, const struct sums *,
    int64_t now_ms);

/* --- lines of a stack (resolve.c) ---------------------------------------- */

/* Gives each new caller a stack of one frame, itself.  -ENOMEM. */
int profile_prepare(struct profile *);

/* The lines of a caller's stack, innermost first; 1 at least. */
size_t profile_lines(const struct profile *, size_t caller,
    uint32_t out[PROFILE_LINES_MAX]);

/* The origin's index: the innermost that is no wrapper, else the outermost. */
size_t profile_origin(const struct profile *, const uint32_t *lines,
    size_t n);

/* The type of a caller's blocks, by its stack; "" with UNKNOWN. */
enum wire_type_from profile_type_at(const struct profile *, size_t caller,
    const char **type);

/* A mark that no function has yet. */
uint32_t profile_next_mark(struct profile *);

/* --- places (groups.c) --------------------------------------------------- */

/* The attributes that the lines of a group have in common. */
struct place {
	bool any;
	const char *module, *file;	/* "" when they differ or are not known */
	uint32_t line;
};

void place_add(const struct profile *, struct place *, const struct line *);
/* "file:line", the file or the module; "" nothing.  -ENOMEM. */
int place_where(struct profile *, const struct place *, const char **out);

#endif
