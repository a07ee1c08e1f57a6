/*
 * allocp: a node's own memory in two regions below 4 GiB.  AllocP() takes a
 * block from region 1 or, when that has no room, from region 2, as in the
 * system of the 2004 note; FreeP() gives it back.
 *
 * Vocabulary
 *	region	memory of these blocks alone: what is between them is free.
 *	segment	a block or a free part: a region consists of segments, and two
 *		free ones are never adjacent.
 *	header	the first ALLOCP_HEAD bytes of each segment; a block's address
 *		is the one behind it.
 *	level	which attempt satisfied a request: 1 region 1, 2 region 2,
 *		ALLOCP_FAILED none.
 *	told	a callback gets each call's outcome: the records of the node's
 *		data stream.
 *
 * Example
 *	struct allocp *memory;
 *	allocp_new(&memory, &(struct allocp_opts){ .size = { 16384, 65536 },
 *	    .told = on_event, .arg = me });
 *	p = AllocP(memory, 0x30, TYPE_LOCREQ);
 *	FreeP(memory, p);
 *	allocp_free(memory);
 *
 * Bitmaps beside a region tell where its segments begin.  So a write beyond the
 * end of a block only spoils the size and type in the next header, which is
 * counted and repaired when it is met.
 *
 * It belongs to one thread.
 */
#ifndef ALLOCP_H
#define ALLOCP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ALLOCP_REGIONS 2
#define ALLOCP_HEAD 8
#define ALLOCP_ALIGN 8
#define ALLOCP_SIZE_MAX 65535		/* of a block: a record has 16 bits for it */
#define ALLOCP_REGION_MAX (512u << 10)	/* bytes of a region, headers and all */
#define ALLOCP_FAILED 6			/* level of a request that was not satisfied */
#define ALLOCP_LOST 0xff		/* type of a block whose header was damaged */

struct allocp;

enum allocp_op {
	ALLOCP_ALLOC = 0xa,		/* as the high nibble of rFlag has it */
	ALLOCP_FREE = 0xf,
};

struct allocp_event {
	enum allocp_op op;
	uint32_t addr;			/* 0: a request that failed */
	size_t size;
	uint8_t type;
	uint8_t level;			/* of a free 0: nothing was tried */
};

/* May not call AllocP or FreeP of the same memory. */
typedef void (*allocp_told_cb)(void *arg, const struct allocp_event *);

struct allocp_opts {
	size_t size[ALLOCP_REGIONS];	/* bytes; rounded up to whole pages */
	allocp_told_cb told;		/* or NULL */
	void *arg;
};

struct allocp_counts {
	uint64_t allocs, frees;
	uint64_t failed;		/* requests for which neither region had room */
	uint64_t damaged;		/* headers that were not as they had been written */
	uint64_t wrong;			/* frees of what is no block */
};

/* -EINVAL for a size of 0 or above ALLOCP_REGION_MAX; -ENOMEM. */
int allocp_new(struct allocp **, const struct allocp_opts *);
/* Blocks and all; nothing is told. */
void allocp_free(struct allocp *);

/* A block of zeros, aligned to ALLOCP_ALIGN, or NULL. */
void *AllocP(struct allocp *, size_t size, uint8_t type);
/* NULL is nothing to free.  -EINVAL for what is no block: counted, not told. */
int FreeP(struct allocp *, void *);

const struct allocp_counts *allocp_counts(const struct allocp *);

/* Region `no`, 1 or 2: its first byte, and how many there are. */
void allocp_region(const struct allocp *, unsigned no, uint32_t *base,
    size_t *size);

/*
 * The next segment in address order, region 1 first; begin with one of all
 * zeros. False at the end.  Headers are not checked here.
 */
struct allocp_segment {
	unsigned region;		/* 1 or 2; 0: before the first segment */
	uint32_t addr;			/* behind the header */
	size_t size;			/* of a block as it was asked for; else all bytes behind the header */
	uint8_t type;			/* of a block */
	bool given;			/* it is a block, and not free */
};
bool allocp_next(const struct allocp *, struct allocp_segment *);

#endif
