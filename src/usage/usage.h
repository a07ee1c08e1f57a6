/*
 * usage: counts of a target's blocks by caller, type and size: allocated,
 * freed, held.
 *
 *	counts.c	the table of counts, which follows a block list
 *	dump_rows.h	reads and writes counts as text, type:num:allocated:freed:max
 *	usage_xmemory.h	the same of a program that counts its types itself
 *
 * ../nodes/keeper/counting.h counts a target's blocks while a page asks, ../pagek/usage
 * is page U, ../pagek/commands/dumps/cmd_usage.c the command.
 *
 * Vocabulary
 *	row		the counts of all blocks of one caller, type and size.
 *	caller		as in a record: a return address, a site, or 0.
 *	group		the rows of one caller and type.
 *	rounded		a row of several sizes: up to its size, a power of two, and
 *			above half of it.  A group has at most USAGE_SIZES rows of one
 *			size; its other sizes are in rounded rows.  So all sums and
 *			histograms of sizes by powers of two are exact.
 *	(other)		rounded rows of all callers and types that the table has no
 *			room for.
 *	unknown		the row of frees of blocks that were not listed.
 *	brief		a block that was freed within USAGE_CYCLE_MS, and not by
 *			realloc().
 *	most		the most blocks of a row held at once.
 *	held then	when the bytes of all rows were highest, the first time.
 *	asker		a viewer that has a maximum of its own for each row: since its
 *			last reading.
 *
 * Counts begin at 0.  Blocks that the list holds when counting begins are held,
 * but do not count as allocated.  Counts of a list that logs a sample are those of
 * the sample: see blklist_weight().
 *
 * Example
 *	struct usage *u;
 *	struct usage_row row[64];
 *	size_t from = 0, n;
 *
 *	usage_new(&u, USAGE_ROWS);
 *	usage_watch(u, list, NULL, NULL);
 *	blklist_apply(list, &batch);
 *	while ((n = usage_read(u, &from, USAGE_NO_ASKER, row, 64)) > 0)
 *		show(row, n);
 *	usage_free(u);
 */
#ifndef USAGE_H
#define USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct blk;
struct blklist;

#define USAGE_ROWS (UINT32_C(1) << 16)	/* of a table, unless told otherwise */
#define USAGE_ROWS_MIN 256
#define USAGE_ROWS_MAX (UINT32_C(1) << 20)
#define USAGE_SIZES 256
#define USAGE_CYCLE_MS 67
#define USAGE_ASKERS 8
#define USAGE_NO_ASKER USAGE_ASKERS

enum usage_kind {
	USAGE_SIZE,		/* of blocks of `size` bytes */
	USAGE_ROUNDED,		/* of up to `size` and more than half of it */
	USAGE_OTHER,		/* likewise, of any caller and type */
	USAGE_UNKNOWN,		/* frees of blocks that were not listed */
};

struct usage_row {
	uint64_t caller;
	uint64_t size;
	uint64_t allocs, frees;
	uint64_t alloc_bytes;		/* of these allocations */
	uint64_t live, live_bytes;
	uint64_t most;			/* since counting began */
	uint64_t high;			/* since the asker's last reading */
	uint64_t brief;
	uint64_t then, then_bytes;	/* held then */
	uint8_t type;
	uint8_t kind;			/* enum usage_kind */
};

struct usage_totals {
	uint64_t allocs, frees;		/* this and the next three lines: sums over all rows */
	uint64_t alloc_bytes;
	uint64_t live, live_bytes;
	uint64_t brief;
	uint64_t peak, peak_bytes;	/* blocks and bytes held then */
	int64_t peak_ms;		/* when that was; 0: when counting began */
	uint64_t crowded;		/* allocations in rows of several sizes */
};

struct usage;

/* A table of at most so many rows.  -ENOMEM, -EINVAL. */
int usage_new(struct usage **, uint32_t rows);
/* Leaves the list, too. */
void usage_free(struct usage *);

/*
 * Counts the blocks of the list, calling beat(arg), unless NULL, after each
 * thousand or so, and from then on all that happens to it (blklist_watch()), until
 * usage_leave().  -EBUSY.
 */
int usage_watch(struct usage *, struct blklist *, void (*beat)(void *),
    void *arg);
void usage_leave(struct usage *);

/*
 * Without a list, by the block's caller, type and size.  ms: when, low bits of the
 * target's clock.  A free must name what its allocation named.
 */
void usage_held(struct usage *, const struct blk *);
void usage_alloc(struct usage *, const struct blk *, uint32_t ms);
void usage_freed(struct usage *, const struct blk *, bool brief);
void usage_freed_unknown(struct usage *);

/* now_ms: the target's clock. */
void usage_sums(const struct usage *, int64_t now_ms, struct usage_totals *);
/* Rows that have counted something. */
size_t usage_rows(const struct usage *);
/*
 * Up to max of these rows; *from is 0 at first, then as the last call has left
 * it.  Rows keep their order, new ones come last.  Returns how many; 0: no more.
 */
size_t usage_read(struct usage *, size_t *from, unsigned asker,
    struct usage_row *, size_t max);

/* Adds an asker, whose number goes through the pointer.  -EBUSY: there are USAGE_ASKERS; -ENOMEM. */
int usage_ask(struct usage *, unsigned *asker);
void usage_unask(struct usage *, unsigned asker);

size_t usage_memory(const struct usage *);

/*
 * A row as bytes: the twelve numbers in the order of struct usage_row, u64 each and
 * little-endian, then type and kind.  get: -EINVAL for an unknown kind.
 */
#define USAGE_ROW_SIZE 98
void usage_row_put(uint8_t out[USAGE_ROW_SIZE], const struct usage_row *);
int usage_row_get(struct usage_row *, const uint8_t in[USAGE_ROW_SIZE]);

#endif
