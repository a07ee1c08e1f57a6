/*
 * blklist: which blocks are active, kept from records, in two orders.
 *
 * The note is the design note of Page K of 2004; its names are kept (aHead is the
 * first active record, fHead the first free one).
 *
 *	indexed.c	applies records: replace_record() counts duplicates
 *	age.c		the order of age
 *	hash.c		from (layer, address) to a record
 *	literal.c	the note's own list, the oracle of the tests
 *	regions.c	what is free between blocks
 *	memory.c	memory of lists, made ahead and kept
 *
 * Vocabulary
 *	block		what an allocation record began and no free record has
 *			ended yet.  Its key is (layer, address).
 *	active		in the list: reached from aHead.
 *	aRecMax		records the list can hold; aRecActive of them are
 *			active, the rest hangs on fHead, last freed first
 *			reused: aRecActive + free == aRecMax after every record.
 *	literal		the list of the 2004 note, singly linked, with its hint
 *			aRecPtr: slow, plain, and the oracle for the other.
 *	indexed		the same list behind a hash and one index for each
 *			order; any window of it costs the same.
 *	windowed	not kept from records: some rows of a list elsewhere,
 *			and its counters, put in with blklist_set_window().
 *	age order	oldest first, by sequence number; offset 0 the oldest.
 *			Numbers are compared as signed ones, so that what a fork
 *			inherits may be numbered back from 0 and stays older
 *			than all that the child logs.
 *	address order	ascending by layer, then address.
 *	cancellation	in one batch, an allocation and the free of the same
 *			block with no other allocation of it between: both are
 *			left out of the list, and counted.
 *	earlier		with `since_click`: the free of a block that is older
 *			than the list; no error.
 *	kept		a list whose records lie in memory that outlives the
 *			process (base/kept.h).
 *	commit		the point that a kept list goes back to when its process
 *			has died, at whatever instruction: what records did after
 *			it is undone, not done again.
 *	move		what realloc() makes of a block: one more block in the list,
 *		with a number of its own, be it where the old one was or not.
 *		A free by realloc and its thread's next allocation by realloc
 *		are the two halves of one, when the first has told what the
 *		second is to be.
 *	weight		when only a sample of the blocks is logged, how many
 *			blocks a listed one stands for; 1 when all are.  Those
 *			of the API's layer are: a program that names its blocks
 *			wants all of them.
 *
 * Example
 *	struct blklist *list;
 *	blklist_new(&list, BLKLIST_INDEXED, 1u << 20);
 *	struct blklist_batch b = { .rec = recs, .n = n, .seq = first,
 *	    .near_ms = now, .cancel = true };
 *	blklist_apply(list, &b);
 *	n = blklist_window(list, BLKLIST_BY_AGE, false, offs, rows, 50);
 *
 * A list belongs to one thread.  The rows that it copies out are the
 * caller's; nothing borrowed from it outlives the next apply.
 */
#ifndef BLKLIST_H
#define BLKLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../stream/record.h"

struct kept;

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
	uint16_t overhead;	/* usable minus requested, in units of 16 bytes */
	uint16_t info;		/* aInfo: index for blklist_info_get(); 0 none */
	uint8_t flags;		/* op, layer and level as in the record */
	uint8_t type;
	uint32_t zero;		/* always 0: rows can be compared bytewise */
};

/* Each layer has addresses of its own: 1 the blocks of the API, 0 all others. */
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

/* Beside a batch: record `at` of it has this requester. */
struct blklist_batch_info {
	size_t at;
	struct blklist_info info;
};

struct blklist_batch {
	const struct rec *rec;
	size_t n;
	uint64_t seq;			/* sequence number of rec[0] ... */
	const uint64_t *seqs;		/* ... unless each has its own here */
	int64_t near_ms;		/* widens rec_ms: the latest time with those low 32 bits that is not after it */
	const int64_t *ms;		/* the times in full, instead; NULL if not */
	const struct blklist_batch_info *info;	/* ascending by `at` */
	size_t ninfo;
	bool cancel;			/* look for pairs */
	bool gaps;			/* records before or among them are lost */
	uint64_t *left_out;		/* NULL, or zeros: an indexed list sets a bit for each record of a pair */
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
	/* As the target has them; as listed, unless it logs a sample only. */
	uint64_t est_blocks;
	uint64_t est_bytes;
	uint64_t est_peak_bytes;
	uint32_t aRecActive;
	uint32_t aRecMax;
};

struct blklist;

#define BLKLIST_MAX (UINT32_C(1) << 28)	/* the highest aRecMax */

/*
 * -ENOMEM, -EINVAL for aRecMax 0 or above BLKLIST_MAX; above 2^22 for a literal
 * one, which writes all its records at once.
 */
int blklist_new(struct blklist **, enum blklist_kind, uint32_t aRecMax);
/* The same with fewer records where the address space has no room for so many. */
int blklist_new_most(struct blklist **, enum blklist_kind, uint32_t aRecMax);
void blklist_free(struct blklist *);

/*
 * An indexed list in kept memory that no list has been in yet.  A ring of
 * removed blocks (blklist_remember(), once) belongs to it: without one no free
 * can be taken back.  blklist_free() leaves what is kept.  -ENOMEM, -EINVAL.
 */
int blklist_new_kept(struct blklist **, uint32_t aRecMax, struct kept *);
/*
 * What the list is now is what slot 0 or 1 stands for, until it is written
 * again.  Nothing may be applied or changed before whoever keeps the slot's
 * number has written it down, and there are only two: after two commits the
 * other one serves no more.
 */
void blklist_commit(struct blklist *, unsigned slot);
/*
 * The list that another process has left, as it was at the commit of that slot,
 * all counters too; `next` is the sequence number that the first record after
 * the commit had or would have had: none may have been lower after it, nor one
 * as high before it.  `remember` is what blklist_remember() was told, or 0.
 * What was set is as it was at the commit.  If this process is killed, too, the
 * next one may do the same.
 *
 * -ESTALE when that cannot be done exactly: there was no such commit, it is
 * another version's, more blocks were removed since than are remembered, or the
 * list has been changed since without a record (put, take, clear).  The memory
 * is of no more use then.  -ENOMEM, -EINVAL.
 */
int blklist_resume(struct blklist **, uint32_t aRecMax, uint32_t remember,
    struct kept *, unsigned slot, uint64_t next);

/* Which type codes are legal, a bit each; all are until this is called. */
void blklist_set_legal(struct blklist *, const uint8_t legal[32]);
/*
 * A stream without levels (classic ones of foreign nodes): the low nibble of
 * the flags is kept and says nothing, so there is one layer and no failed
 * request.  For an empty list.
 */
void blklist_set_opaque(struct blklist *, bool);
/* Unknown frees count as earlier from here on (--since click, after a stop). */
void blklist_set_since_click(struct blklist *, bool);

#define BLKLIST_SAMPLE_MAX (UINT64_C(1) << 40)	/* the longest period, in bytes */

/*
 * The target logs a sample: an allocation of layer 0 is logged with the
 * probability 1 - exp(-size / period) (one byte for a size of 0), so a listed
 * block stands for as many as the reciprocal says.  0, as at first: it logs all
 * of them.  For an empty list.
 */
void blklist_sample(struct blklist *, uint64_t period_bytes);
bool blklist_is_sample(const struct blklist *);
/* How many blocks a listed one stands for: groups add these. */
double blklist_weight(const struct blklist *, const struct blk *);

/*
 * Applies the batch record by record.  Bad data is counted, never fatal: there
 * is no failure.  A free, undo or replacement whose ticket is older (signed
 * difference) than the listed block's does not touch it and counts as late;
 * records without tickets (classic) carry 0 everywhere.
 */
void blklist_apply(struct blklist *, const struct blklist_batch *);

/*
 * For whom the order between threads is none: from now on the list follows by
 * how much each thread's records alone have raised what is held, at most, since
 * the rises were begun, and looks for no pairs.  -ENOMEM: it does not.
 */
int blklist_follow_rises(struct blklist *);
/* Those of all threads together, in bytes; 0 where they are not followed. */
uint64_t blklist_rises(const struct blklist *);
/* They begin anew. */
void blklist_rises_begin(struct blklist *);

/*
 * Takes the memory that a growing list will need next, at most a huge page for
 * each of its tables; so that no batch waits for it.  For a caller that has a
 * moment: after a batch, when nothing else is due.  Does nothing if the list
 * does not grow.
 */
void blklist_ahead(struct blklist *);
/*
 * From now on lists of some size leave that to a thread of this process, which
 * the first such one begins, and do not wait for it either: for programs to say
 * where they begin.
 */
void blklist_begin_beside(void);

/*
 * Blocks that were put in by address are put into the order of age when that is
 * first asked for, all at once: 0.1 s for a million.  This does it before, and
 * in parts, while all else may be done to the list: each call looks at blocks
 * about `work` times, 0 at none.  True when they are in order.
 */
bool blklist_mend(struct blklist *, uint32_t work);

/*
 * Rows [offs, offs + n) of the order into out; with `reverse` counted from
 * the other end.  Returns how many there were.
 */
size_t blklist_window(const struct blklist *, enum blklist_order,
    bool reverse, uint64_t offs, struct blk *out, size_t n);

#define BLKLIST_WINDOW_MAX 512

/*
 * What a windowed list holds from here on: so many rows, the first of them at
 * `offs` of the order, counted from the other end with `reverse`; and all
 * counters.  Of other rows it has none: window then ends where they begin, or
 * is empty; get and rank are -ENOENT, put and take -ENOTSUP, after is empty,
 * and apply is not for it.  The rows' `info` are this list's.
 */
void blklist_set_window(struct blklist *, const struct blklist_counts *,
    enum blklist_order, bool reverse, uint64_t offs, const struct blk *,
    size_t n);

/*
 * Up to n blocks in address order, the first the one after (layer, addr), or
 * the very first with `from_start`: how a snapshot is cut into parts.
 */
size_t blklist_after(const struct blklist *, bool from_start, unsigned layer,
    uint64_t addr, struct blk *out, size_t n);

/* Is that block still there?  As it is now into *now, unless that is NULL. */
bool blklist_has(const struct blklist *, const struct blk *, struct blk *now);

/* 0 with *out filled, or -ENOENT. */
int blklist_get(const struct blklist *, unsigned layer, uint64_t addr,
    struct blk *out);

/* Offset in the order of the block, or -ENOENT: where a cursor follows it to. */
int64_t blklist_rank(const struct blklist *, enum blklist_order,
    unsigned layer, uint64_t addr);

/*
 * One block in or out without a record: snapshot parts and what a fork
 * inherits.  put keeps the block's own sequence number, which may be lower
 * than that of blocks already listed, and counts in `inherited`.  -EEXIST,
 * -ENOSPC (counted in full); -ENOENT.
 */
int blklist_put(struct blklist *, const struct blk *);
int blklist_take(struct blklist *, unsigned layer, uint64_t addr);

/*
 * Takes every block out and zeroes the counters.  The tables stay.
 */
void blklist_clear(struct blklist *);

/*
 * Remembers the last n (a power of two) blocks that records took out of the
 * list, with the sequence number of the record that did: what a late fork cut
 * puts back.  Cancelled pairs are not among them.  -ENOMEM.
 */
int blklist_remember(struct blklist *, uint32_t n);
struct blklist_removed {
	uint64_t seq;		/* of the record that took it out */
	struct blk blk;
};
/*
 * The k-th last one (0 the last), or NULL.  Borrowed until the next one is
 * asked for.
 */
const struct blklist_removed *blklist_removed(struct blklist *, uint32_t k);
/* The same copied out: 0, or -ENOENT. */
int blklist_removed_get(const struct blklist *, uint32_t k,
    struct blklist_removed *);
/*
 * How many there have ever been, remembered or not, since the list was made,
 * cleared, or told to remember: who asks now and then knows how many are new,
 * and by -ENOENT for the first of them that some have been forgotten.
 */
uint64_t blklist_removals(const struct blklist *);

/*
 * Follows moves from here on and remembers the last n (a power of two), in the
 * manner of the removed; none that has begun before.  Two records are never
 * tied to each other across a gap, in a sample, or where it is not known of
 * which thread they are: such a block is one that has been freed and another
 * that is new.  -ENOMEM: they are not followed.
 *
 *	blklist_follow(list, 1u << 16);
 *	...
 *	for (k = blklist_moves(list) - seen; k-- > 0;)
 *		if (blklist_move_get(list, (uint32_t)k, &m) == 0)
 *			printf("%llu is %llu now\n", m.from, m.to);
 */
int blklist_follow(struct blklist *, uint32_t n);
struct blklist_move {
	uint64_t from, to;	/* sequence numbers: of the old block, of the new one */
	uint64_t from_size;	/* bytes requested, of the old one */
	uint64_t addr;		/* of the new one */
	uint8_t layer;
};
/*
 * The k-th last one (0 the last): 0, or -ENOENT when there is none or it is
 * forgotten.
 */
int blklist_move_get(const struct blklist *, uint32_t k, struct blklist_move *);
/* How many there have been, remembered or not, since they are followed. */
uint64_t blklist_moves(const struct blklist *);
/* Reallocs since then of which it is not known what became of the block. */
uint64_t blklist_moves_untold(const struct blklist *);
/*
 * The moment from which on they are followed, in nanoseconds of a clock of no
 * date: another one says that this is another list, or that it has begun anew.
 * 0: they are not.
 */
int64_t blklist_follows_since(const struct blklist *);

const struct blklist_counts *blklist_counts(const struct blklist *);

/*
 * Interns a requester; returns its index, or 0 when the table (65,535) is
 * full.  get returns a borrowed entry, NULL for 0 or an unknown index.
 */
uint16_t blklist_info_intern(struct blklist *, const struct blklist_info *);
const struct blklist_info *blklist_info_get(const struct blklist *, uint16_t);

/* Bytes of memory that the list holds now, all in. */
size_t blklist_memory(const struct blklist *);

/*
 * Walks everything and checks every invariant (aRecActive + free == aRecMax,
 * both orders complete and sorted, hash and indexes agree); 0 or -EFAULT, with
 * a sentence in why (cap bytes).  For tests and --list=check.
 */
int blklist_check(const struct blklist *, char *why, size_t cap);

#endif
