/*
 * blklist: which blocks are active, from records, in two orders.
 *
 * The names of the design note of Page K of 2004 ("the note") are used for what
 * is in it: aHead is the first active record, fHead the first free one.
 *
 *	blklist.c	what is the same for all kinds of list
 *	list.h		what the kinds of list share
 *	indexed/	the list of targets
 *	literal.c	the note's own list: of classic streams and --list=note, and
 *			the oracle of the tests
 *	windowed.c	some rows of a list elsewhere
 *	reallocs.c	which block realloc() has made of which
 *	persistent.c	lists that outlive their process
 *	memory.c	memory of tables, prefaulted
 *
 * Vocabulary
 *	block		what an allocation record began and no free record has
 *			ended yet.  Its key is (layer, address).
 *	active		in the list: reached from aHead.
 *	aRecMax		records the list can hold; aRecActive of them are
 *			active, the rest hangs on fHead, last freed first
 *			reused: aRecActive + free == aRecMax after every record.
 *	literal		the list of the note, singly linked, with its hint
 *			aRecPtr: slow and plain.
 *	indexed		the same list behind a hash and one index for each
 *			order; any window of it costs the same.
 *	windowed	some rows of a list elsewhere, and its counters, put in
 *			with blklist_set_window(); takes no records.
 *	age order	oldest first, by sequence number; offset 0 the oldest.
 *			Numbers are compared as signed ones, so that what a fork
 *			inherits may be numbered back from 0 and stays older
 *			than all that the child logs.
 *	address order	ascending by layer, then address.
 *	cancellation	in one batch, an allocation at an address that is not
 *			listed and the free of the same block, with no other
 *			allocation of it between: both are left out of the list,
 *			and counted.
 *	duplicate	an allocation at an address that is listed already: it
 *			replaces the record and is counted (list.h).
 *	earlier		the free of a block from before the list began.  No error
 *			with `since_click`: logging began late.
 *	persistent	a list whose records are in memory that outlives the
 *			process (base/pmem.h).
 *	commit		the state that a persistent list goes back to when its
 *			process has died, at any instruction: later changes are
 *			undone, not done again.
 *	realloc		makes one more block in the list, with a number of its
 *			own, at the old address or not.  It is two records: a free
 *			by realloc, and that thread's next allocation by realloc,
 *			if both tell the same size.
 *	weight		when only a sample of the blocks is logged, how many
 *			blocks a listed one stands for; 1 when all are.  Blocks of
 *			the API's layer are always logged.
 *
 * Example
 *	struct blklist *list;
 *	blklist_new(&list, BLKLIST_INDEXED, 1u << 20);
 *	struct blklist_batch b = { .rec = recs, .n = n, .seq = first,
 *	    .near_ms = now, .cancel = true };
 *	blklist_apply(list, &b);
 *	n = blklist_window(list, BLKLIST_BY_AGE, false, offs, rows, 50);
 *
 * A list belongs to one thread.  The rows that it copies out are the caller's;
 * nothing borrowed from it outlives the next apply.
 */
#ifndef BLKLIST_H
#define BLKLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../stream/record.h"

struct pmem;

enum blklist_kind {
	BLKLIST_INDEXED,
	BLKLIST_LITERAL,
	BLKLIST_WINDOWED,
};

enum blklist_order {
	BLKLIST_BY_AGE,
	BLKLIST_BY_ADDRESS,
};

/* One block, as rows, snapshots and reports take it. */
struct blk {
	uint64_t addr;
	uint64_t size;		/* bytes requested */
	uint64_t seq;		/* of its allocation record */
	int64_t ms;		/* when, on its node's clock, in milliseconds */
	uint64_t caller;	/* return address; 0 not known */
	uint32_t ticket;
	uint16_t thread;	/* thread index; 0 not known */
	uint16_t overhead;	/* the code of usable minus requested: rec_overhead_bytes() */
	uint16_t info;		/* aInfo: index for blklist_info_get(); 0 none */
	uint8_t flags;		/* op, layer and level as in the record */
	uint8_t type;
	uint32_t zero;		/* always 0: rows can be compared bytewise */
};

/* The block of an allocation record, without its requester. */
static inline struct blk
blk_of_rec(const struct rec *r, uint64_t seq, int64_t ms)
{
	return (struct blk){
		.addr = rec_addr(r),
		.size = rec_size(r),
		.seq = seq,
		.ms = ms,
		.caller = rec_caller(r),
		.ticket = rec_ticket(r),
		.thread = (uint16_t)rec_thread(r),
		.overhead = (uint16_t)rec_overhead(r),
		.flags = (uint8_t)rec_flags(r),
		.type = (uint8_t)rec_type(r),
	};
}

/* Usable bytes. */
static inline uint64_t
blk_used(const struct blk *b)
{
	return b->size + rec_overhead_bytes(b->overhead);
}

/* Each layer has addresses of its own: 1 blocks of the API, 0 all others. */
static inline unsigned
blk_layer(const struct blk *b)
{
	return (b->flags & REC_LAYER_API) != 0;
}

/* aInfo: a requester, as a friendly node number or as a name. */
struct blklist_info {
	char name[9];		/* "" : it is a number */
	uint16_t node;
};

/*
 * Beside a batch: record `at` of it has this requester, which is interned if
 * the record becomes a block of the list.
 */
struct blklist_batch_info {
	size_t at;
	struct blklist_info info;
};

struct blklist_batch {
	const struct rec *rec;
	size_t n;
	uint64_t seq;			/* sequence number of rec[0], if seqs is NULL */
	const uint64_t *seqs;		/* of each record, or NULL */
	int64_t near_ms;		/* widens rec_ms(), see rec_ms_near() */
	const int64_t *ms;		/* times in full instead, or NULL */
	const struct blklist_batch_info *info;	/* ascending by `at` */
	size_t ninfo;
	bool cancel;			/* look for pairs */
	bool gaps;			/* records before or among them are lost */
	uint64_t *left_out;		/* NULL, or zeros: an indexed list sets a bit for each record in a pair */
	uint64_t *replaced;		/* NULL, or zeros: the bit of each duplicate is set */
};

/* Counters since the list was made; the page shows them all. */
struct blklist_counts {
	uint64_t records;	/* applied or cancelled */
	uint64_t allocs;	/* that succeeded */
	uint64_t frees;		/* less those undone */
	uint64_t failed;	/* requests of level 6 */
	uint64_t cancelled;	/* pairs */
	uint64_t unknown_free;
	uint64_t earlier;
	uint64_t duplicate;	/* allocation of a listed address: replaced */
	uint64_t illegal_type;
	uint64_t full;		/* allocations not inserted for want of a record */
	uint64_t late;		/* records older than the block they would undo */
	uint64_t unknown_undo;
	uint64_t inherited;	/* blocks put in by blklist_put() */
	uint64_t live_bytes;
	uint64_t peak_bytes;
	/* Of the target; as listed, unless it logs a sample. */
	uint64_t est_blocks;
	uint64_t est_bytes;
	uint64_t est_peak_bytes;
	uint32_t aRecActive;
	uint32_t aRecMax;
	uint64_t by_level[8];	/* allocations that tell a level; [0] stays 0 */
};

struct blklist;

#define BLKLIST_MAX (UINT32_C(1) << 28)	/* the highest aRecMax */

/* -ENOMEM; -EINVAL for aRecMax 0 or above BLKLIST_MAX (literal: 2^22). */
int blklist_new(struct blklist **, enum blklist_kind, uint32_t aRecMax);
/* The same, with fewer records if the address space has no room. */
int blklist_new_most(struct blklist **, enum blklist_kind, uint32_t aRecMax);
void blklist_free(struct blklist *);

/*
 * An indexed list in unused persistent memory, which blklist_free() leaves.
 * Call blklist_remember() once: without a ring of removed blocks no free can be
 * undone. -ENOMEM, -EINVAL.
 */
int blklist_new_persistent(struct blklist **, uint32_t aRecMax, struct pmem *);
/*
 * Commits the list's state to slot 0 or 1.  Do not change the list before the
 * slot's number has been stored; after two commits an older slot is of no use.
 */
void blklist_commit(struct blklist *, unsigned slot);
/*
 * The list of a dead process as it was at the commit of that slot, with all
 * counters and settings.  `next` is the sequence number of the first record
 * after the commit: all before it had lower numbers, all after it none lower.
 * `remember` is what blklist_remember() was given, or 0.  If this process is
 * killed, too, the next one may do the same.
 *
 * -ESTALE when that cannot be done exactly: no such commit, another version's,
 * more blocks removed since than are remembered, or changes since without a
 * record (put, take, clear).  The memory is then of no use.  -ENOMEM, -EINVAL.
 */
int blklist_resume(struct blklist **, uint32_t aRecMax, uint32_t remember,
    struct pmem *, unsigned slot, uint64_t next);

/* Which type codes are legal, a bit each; all are until this is called. */
void blklist_set_legal(struct blklist *, const uint8_t legal[32]);
/*
 * For an empty list of a stream without levels (classic ones of foreign nodes):
 * the low nibble of the flags has no meaning, so there is one layer and no
 * failed request.
 */
void blklist_set_opaque(struct blklist *, bool);
/* From here on unknown frees count as earlier (--since click, after a stop). */
void blklist_set_since_click(struct blklist *, bool);

#define BLKLIST_SAMPLE_MAX (UINT64_C(1) << 40)	/* the longest period, in bytes */

/*
 * For an empty list of a target that logs a sample: an allocation of layer 0 is
 * logged with the probability 1 - exp(-size / period) (one byte for a size of
 * 0), whose reciprocal is the block's weight.  0, the default: it logs all.
 */
void blklist_sample(struct blklist *, uint64_t period_bytes);
bool blklist_is_sample(const struct blklist *);
double blklist_weight(const struct blklist *, const struct blk *);

/*
 * Applies the batch record by record.  Bad data is counted, never fatal.  A
 * free, undo or replacement whose ticket is older (signed difference) than the
 * listed block's does not touch it and counts as late; records without tickets
 * (classic) have 0.
 */
void blklist_apply(struct blklist *, const struct blklist_batch *);

/*
 * Calls fn for each change, in the order of the records, pairs included.  r: the
 * record that made the change, or NULL; b: the block, NULL for the UNKNOWN ones.
 * fn may not change the list.  Counting by these events gives the list's counts:
 * allocs are ALLOC and UNLISTED, frees FREE and FREE_UNKNOWN less all UNDOs.  A
 * list that is cleared tells nothing.  fn NULL: no more.  -EBUSY: there is one.
 */
enum blklist_event {
	BLKLIST_ALLOC,
	BLKLIST_UNLISTED,	/* an allocation that the list has no room for, or late */
	BLKLIST_FREE,
	BLKLIST_FREE_UNKNOWN,	/* of no block that is listed, or late */
	BLKLIST_REPLACED,	/* the block leaves the list for a duplicate, not freed */
	BLKLIST_UNDO,		/* a free by realloc is undone; the block is back */
	BLKLIST_UNDO_UNLISTED,	/* the same, but there is no room for it */
	BLKLIST_UNDO_UNKNOWN,
	BLKLIST_PUT,		/* without a record: blklist_put(), blklist_take() */
	BLKLIST_TAKEN,
};
typedef void blklist_watch_fn(void *arg, enum blklist_event,
    const struct blk *b, const struct rec *r);
int blklist_watch(struct blklist *, blklist_watch_fn *, void *arg);

/*
 * For streams without an order between threads: follows from now on how high
 * each thread's records alone have raised the bytes held, and looks for no
 * pairs. -ENOMEM: it does not.
 */
int blklist_follow_thread_peaks(struct blklist *);
/* The sum of all threads' peaks, in bytes; 0 if they are not followed. */
uint64_t blklist_thread_peaks(const struct blklist *);
/* Starts all of them again at 0. */
void blklist_thread_peaks_begin(struct blklist *);

/*
 * Takes the memory that a growing list will need next, at most a huge page for
 * each of its tables, so that no batch waits for it.  Call it after a batch,
 * when nothing else is due.
 */
void blklist_prefault(struct blklist *);
/* A thread does that for larger lists from now on; call it at the start. */
void blklist_start_prefault_thread(void);

/*
 * Blocks that were put in by address are sorted by age when that order is first
 * asked for: 0.1 s for a million.  This does it before, in parts, between which
 * the list may be used: each call looks at blocks about `work` times, 0 at
 * none. True when they are in order.
 */
bool blklist_restore_order(struct blklist *, uint32_t work);

/* Rows from offs on, counted from the other end with `reverse`; how many. */
size_t blklist_window(const struct blklist *, enum blklist_order,
    bool reverse, uint64_t offs, struct blk *out, size_t n);

#define BLKLIST_WINDOW_MAX 512

/*
 * Replaces the contents of a windowed list: n rows, the first at `offs` of the
 * order, counted from the other end with `reverse`, and all counters.  Of other
 * rows it has none: a window ends at them, or is empty; get and rank return
 * -ENOENT, put and take -ENOTSUP, after nothing, and apply is not for it.  The
 * rows' `info` are this list's.
 */
void blklist_set_window(struct blklist *, const struct blklist_counts *,
    enum blklist_order, bool reverse, uint64_t offs, const struct blk *,
    size_t n);

/* Up to n blocks in address order after (layer, addr), or from the start. */
size_t blklist_after(const struct blklist *, bool from_start, unsigned layer,
    uint64_t addr, struct blk *out, size_t n);

/* True if that block is still listed; its row into *now unless NULL. */
bool blklist_has(const struct blklist *, const struct blk *, struct blk *now);

/* 0 with *out filled, or -ENOENT. */
int blklist_get(const struct blklist *, unsigned layer, uint64_t addr,
    struct blk *out);

/* The block's offset in the order, or -ENOENT. */
int64_t blklist_rank(const struct blklist *, enum blklist_order,
    unsigned layer, uint64_t addr);

/*
 * One block in or out without a record: snapshot parts and what a fork
 * inherits.  A block put in has its own sequence number, which may be lower
 * than those of others, and counts in `inherited`.  -EEXIST, -ENOSPC (counted
 * in full); -ENOENT.
 */
int blklist_put(struct blklist *, const struct blk *);
int blklist_take(struct blklist *, unsigned layer, uint64_t addr);
/*
 * Sets what was counted before the blocks that were put in: allocs, frees, failed,
 * unknown_free, duplicate, unknown_undo, records, peak_bytes.
 */
void blklist_set_past(struct blklist *, const struct blklist_counts *);

/* Removes all blocks and zeroes the counters. */
void blklist_clear(struct blklist *);

/*
 * Remembers the last n (a power of two) blocks that records removed, without
 * cancelled pairs: a late fork cut puts them back.  -ENOMEM.
 */
int blklist_remember(struct blklist *, uint32_t n);
struct blklist_removed {
	uint64_t seq;		/* of the record that removed it */
	struct blk blk;
};
/* The k-th last one (0 the last), or NULL.  Borrowed until the next call. */
const struct blklist_removed *blklist_removed(struct blklist *, uint32_t k);
/* The same copied out: 0, or -ENOENT. */
int blklist_removed_get(const struct blklist *, uint32_t k,
    struct blklist_removed *);
/* All removals since the list was made, cleared, or told to remember. */
uint64_t blklist_removals(const struct blklist *);

/*
 * Follows reallocs that begin from here on and remembers the last n (a power of
 * two).  A free and an allocation are not related across a gap, in a sample, or
 * without a known thread: then one block has been freed and another is new.
 * -ENOMEM: they are not followed.
 *
 *	blklist_follow_reallocs(list, 1u << 16);
 *	...
 *	for (k = blklist_reallocs(list) - seen; k-- > 0;)
 *		if (blklist_realloc_get(list, (uint32_t)k, &m) == 0)
 *			printf("%llu is %llu now\n", m.from, m.to);
 */
int blklist_follow_reallocs(struct blklist *, uint32_t n);
struct blklist_realloc {
	uint64_t from, to;	/* sequence numbers: of the old block, of the new one */
	uint64_t from_size;	/* bytes requested, of the old one */
	uint64_t addr;		/* of the new one */
	uint8_t layer;
};
/* The k-th last one (0 the last): 0, or -ENOENT. */
int blklist_realloc_get(const struct blklist *, uint32_t k,
    struct blklist_realloc *);
/* How many there have been, remembered or not, since they are followed. */
uint64_t blklist_reallocs(const struct blklist *);
/* Reallocs since then whose new block is not known. */
uint64_t blklist_reallocs_unmatched(const struct blklist *);
/*
 * Since when they are followed, on the monotonic clock in nanoseconds; 0: not.
 * A new value means another list, or one that was cleared.
 */
int64_t blklist_reallocs_since(const struct blklist *);

const struct blklist_counts *blklist_counts(const struct blklist *);

/*
 * Interns a requester; returns its index, or 0 when the table (65,535) is
 * full.  get returns a borrowed entry, NULL for 0 or an unknown index.
 */
uint16_t blklist_info_intern(struct blklist *, const struct blklist_info *);
const struct blklist_info *blklist_info_get(const struct blklist *, uint16_t);

/* Bytes of memory that the list uses in all. */
size_t blklist_memory(const struct blklist *);

/*
 * Walks everything and checks every invariant (aRecActive + free == aRecMax,
 * both orders complete and sorted, hash and indexes agree); 0 or -EFAULT, with
 * a sentence in why (cap bytes).  For tests and --list=check.
 */
int blklist_check(const struct blklist *, char *why, size_t cap);

#endif
