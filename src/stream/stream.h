/*
 * stream: records in true order, the queues that hold them for readers, and
 * their forms as bytes.
 *
 *	record.h	the two record formats
 *	ring.h		the shared memory between a target and its keeper
 *	guard.h		the same for counting touches of pages
 *	queue.c		the retained queue
 *	digest.c	its batches without the pairs within each
 *	sites.c		the store of call stacks and modules
 *	record.c	records as bytes
 *	raw.c		classic records out of a damaged byte stream
 *	types.c		names of block types and causes of loss
 *	feed/		one target's rings, drained and put in order
 *	wire/		messages between node and page
 *
 * Vocabulary (record.h and ring.h have more)
 *	keeper		the node's side of one target.
 *	ticket		a number that a record draws from the counter of its
 *			shard; an address always falls into the same shard, so
 *			its records have a true order (feed/order.c restores it).
 *	data stream	a bounded queue of records with a running sequence
 *			number, from 1; ALLOCLOG is one.
 *	queue		the retained queue: the last records of a data stream,
 *			for readers that hold a cursor.
 *	cursor		the next sequence number a reader wants; kept by the
 *			reader alone.
 *	loss		records that are known to have been and are gone; they
 *			have sequence numbers too, so that
 *			next - from == count + cancelled + lost.
 *	cause		why records are lost: enum stream_cause.
 *
 * Example: the retained queue
 *	stream_queue_new(&q, STREAM_QUEUE_RECORDS);
 *	stream_queue_put(q, recs, n);
 *	stream_queue_lose(q, STREAM_RING_FULL, 412);
 *	n = stream_queue_read(q, from, recs, 1024, &range);
 */
#ifndef STREAM_H
#define STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"
#include "ring.h"

struct pmem;			/* base/pmem.h */

/* --- causes of loss (types.c) --------------------------------------------- */

enum stream_cause {
	STREAM_RING_FULL = 1,		/* the target had no room for it */
	STREAM_OVERWRITTEN = 2,		/* left the retained queue before it was read */
	STREAM_WRITER_DIED = 3,		/* its writer died or stalled in the middle of it */
	STREAM_CORRUPT = 4,		/* made no sense */
	STREAM_RESTART = 5,		/* the keeper was restarted */
	STREAM_LINK = 6,		/* the link dropped it */
	STREAM_SAMPLE_FULL = 7,		/* the target had no room to remember a sampled block; its free is lost too */
	STREAM_OTHER = 8,		/* a cause that this version does not know; of a replay: not in the capture */
	STREAM_CAUSES			/* one more than the last */
};

/* "ring full", "overwritten", ...  A static string; "?" for no cause. */
const char *stream_cause_text(unsigned cause);

/*
 * Why a list may be wrong although no record was lost.  WIRE_N_UNSURE has the
 * number, so no number is used again.  The text follows "INCOMPLETE: " and is
 * in the report.
 */
#define STREAM_DOUBTS(X) \
	X(BEGUN, 1, "it may have begun with wrong blocks") \
	X(NO_PARENT, 2, "the blocks that it inherited are not known") \
	X(BAD_PARENT, 3, "its parent's stream was damaged") \
	X(PARENT, 4, "its parent's list was incomplete at the fork") \
	X(HISTORY, 5, "its parent's history does not reach back to the fork") \
	X(MEMORY, 6, "out of memory for the blocks that it inherited") \
	X(CUT_SHORT, 7, "the node ended before the process did") \
	X(PAST_US, 8, "calls of malloc or free went past the library") \
	X(FORK, 9, "other threads were inside the allocator at its fork") \
	X(UNFINISHED, 10, "a call of the allocator was not finished") \
	X(NAMESPACE, 11, "objects that dlmopen or LD_AUDIT has loaded have a malloc of their own") \
	X(CAPTURE, 12, "the capture does not have all events before this moment")

enum stream_doubt {
	STREAM_SURE = 0,
#define X(name, number, text) STREAM_DOUBT_##name = number,
	STREAM_DOUBTS(X)
#undef X
};

/* A static string; "" for STREAM_SURE, and a general one for an unknown number. */
const char *stream_doubt_text(uint64_t doubt);

/* One sentence: the reason why a list is incomplete; "" if it is complete. */
const char *stream_lack_text(uint64_t lost, uint64_t full, uint64_t doubt);

/* --- types of blocks (types.c) -------------------------------------------- */

struct stream_type {
	uint8_t code;
	char name[8];		/* as the page's DESCR shows it */
	char text[41];		/* description */
};

/*
 * A stream's own table of block types.  A block whose code has no name here is
 * of an illegal type: it is counted, and shown all the same.  The codes of free
 * records say how a block was freed and are not legal here.
 */
struct stream_types {
	struct stream_type by_code[256];	/* name "" : not legal */
};

/* The table of our own streams: types of the note, node, malloc and new. */
void stream_types_init(struct stream_types *);
/* The four types of the 2004 note alone. */
void stream_types_init_classic(struct stream_types *);
/*
 * Adds or renames one of the API's codes; copies name and text (NULL: none),
 * clipped to whole characters.  -EINVAL for any other code and an empty name.
 */
int stream_types_name(struct stream_types *, unsigned code, const char *name,
    const char *text);
/* The legal codes, a bit each: bit code % 8 of byte code / 8. */
void stream_types_legal(const struct stream_types *, uint8_t legal[32]);

/* --- records as bytes (record.c) ------------------------------------------ */

/*
 * A classic record from 16 bytes: address, size, flags and type go into the
 * words of a wide one, the time into *ms as milliseconds since 1970 of the
 * node's own clock (BCD has no zone).  The low nibble of rFlag is kept as it
 * is.  -EILSEQ for a bad record: the high nibble is neither A nor F, or the BCD
 * is no date.
 */
int stream_classic_decode(const uint8_t in[REC_CLASSIC_SIZE], struct rec *,
    int64_t *ms);

/*
 * The reverse.  -ERANGE when address (32 bits), size (16) or year (1970 to
 * 2069) do not fit the format, -EINVAL for a record that is neither an
 * allocation nor a free.
 */
int stream_classic_encode(const struct rec *, int64_t ms,
    uint8_t out[REC_CLASSIC_SIZE]);

/* n wide records to and from their little-endian form. */
void stream_wide_encode(const struct rec *, size_t n, uint8_t *out);
void stream_wide_decode(const uint8_t *in, size_t n, struct rec *);

/* --- classic records out of a damaged byte stream (raw.c) ------------------ */

/*
 * From a serial line, a pipe or a file.  A classic record has no mark where it
 * begins and no checksum.  It looks valid when its high nibble is A or F and
 * its time is a date; beyond that its neighbours tell: records follow each
 * other without a gap, and their times go on.
 *
 * Vocabulary
 *	run	RAW_RUN valid records in a row, each at the time of the one
 *		before or later; after a slip, by a day at most.
 *	locked	the next record begins where the last one ended.
 *	slip	the loss of the lock: bytes are skipped until a run begins.  So
 *		are those before the first run, but for the end of a record that
 *		began before ours.
 *	doubt	a byte too many or too few inside a record leaves its end looking
 *		like a whole record with another address.  So the first record
 *		after a slip may be wrong, and the time of the last one before.
 *	alone	a run at no time soon after the last record's (RAW_AHEAD_MS)
 *		counts only where no other alignment has one.
 *	quiet	nothing came for a while: the last record needs no successor.
 *
 * A record is believed when it adjoins a believed one and is followed by a
 * record or by quiet.  In doubt an allocation is left out, for the block may
 * not be there; a free is taken, for without it a freed block would stay
 * listed.  A record that is the same as the one before was sent twice and is
 * skipped.
 *
 * Known limits: bytes that are changed in place and still make a date, and a
 * loss whose length is a multiple of 16, are not noticed.
 *
 *	raw_init(&r, true);
 *	while ((n = read(fd, buf, sizeof buf)) > 0)
 *		raw_put(&r, buf, n, take, arg);
 *	raw_end(&r, take, arg);
 *
 * At any time bytes == 16 * records + skipped + held.
 */
#define RAW_RUN 3
#define RAW_AHEAD_MS (60 * 60 * 1000)
#define RAW_HELD (2 * (RAW_RUN + 1) * REC_CLASSIC_SIZE)	/* enough for any decision */

struct raw_counts {
	uint64_t bytes;			/* received */
	uint64_t records;		/* taken */
	uint64_t skipped;		/* bytes that are in no record */
	uint64_t slips;			/* losses of the lock, or of its first search */
	uint64_t doubled;		/* records skipped as repeated */
	uint64_t left_out;		/* allocations in doubt; their bytes are skipped ones */
};

struct raw {
	uint8_t buf[RAW_HELD];
	size_t held;			/* bytes in buf, not yet decided on */
	bool locked;
	bool adjoins;			/* buf begins where a believed record or the stream began */
	bool lost;			/* the slip that skips now has been counted */
	size_t spare;			/* bytes that may be skipped before the first lock */
	bool timed;			/* some record was believed; ms is valid */
	int64_t ms;			/* of the last believed record */
	uint8_t last[REC_CLASSIC_SIZE];	/* record taken; zeroes: none */
	struct raw_counts n;
};

/* Takes a record that is believed. */
typedef void (*raw_take_fn)(void *arg, const uint8_t rec[REC_CLASSIC_SIZE]);

/* aligned: the first byte begins a record; else as after a slip. */
void raw_init(struct raw *, bool aligned);
void raw_put(struct raw *, const uint8_t *, size_t n, raw_take_fn, void *arg);

/* Nothing has come for a while: takes what is certain by now. */
void raw_quiet(struct raw *, raw_take_fn, void *arg);

/* The end: as quiet, and skips the rest.  Another, aligned stream may begin. */
void raw_end(struct raw *, raw_take_fn, void *arg);

/* --- the retained queue (queue.c) ----------------------------------------- */

#define STREAM_QUEUE_RECORDS (1u << 18)

/* The most gaps; the oldest leave the queue, with all before them. */
#define STREAM_QUEUE_LOSSES 1024

/* Belongs to one thread. */
struct stream_queue;

/* The range of a read: [from, next), of which lost[] by cause are gone. */
struct stream_range {
	uint64_t from;			/* as asked; the oldest if that was 0; next if beyond it */
	uint64_t next;			/* where to read next */
	uint64_t lost[STREAM_CAUSES];	/* by cause; [0] unused */
};

/* `records` is a power of two.  -ENOMEM, -EINVAL. */
int stream_queue_new(struct stream_queue **, uint32_t records);
void stream_queue_free(struct stream_queue *);

/*
 * A queue whose records lie in persistent memory, which must outlive it.
 * -EINVAL; -ENOMEM, also when there is no room for two more pieces.
 */
int stream_queue_new_persistent(struct stream_queue **, uint32_t records,
    struct pmem *);
/*
 * Writes the queue's state into slot 0 or 1.  A process that dies meanwhile has
 * spoilt that slot: the caller uses them in turn and knows which is whole.
 */
void stream_queue_commit(struct stream_queue *, unsigned slot);
/*
 * The queue of a process that has died, as it was when that slot was committed.
 * Records put after that are gone, and so are as many of the oldest as they had
 * overwritten.  -EINVAL for an impossible state, -ENOMEM.
 */
int stream_queue_resume(struct stream_queue **, uint32_t records,
    struct pmem *, unsigned slot);

/*
 * The first record gets this number instead of 1: the stream of a forked child
 * goes on from its parent's.  Only before anything was put or lost.
 */
void stream_queue_start_at(struct stream_queue *, uint64_t seq);

/* Appends; the oldest fall out. */
void stream_queue_put(struct stream_queue *, const struct rec *, size_t n);
/* The next `count` numbers are lost by `cause`; they saturate at 2^62. */
void stream_queue_lose(struct stream_queue *, unsigned cause, uint64_t count);

uint64_t stream_queue_next(const struct stream_queue *);	/* number of the next record */
uint64_t stream_queue_oldest(const struct stream_queue *);	/* still readable */

/*
 * Copies up to max records from sequence `from` on, oldest first, their
 * sequence numbers into seqs (max of them, or NULL).  Records that have left
 * the queue count in range->lost[STREAM_OVERWRITTEN].  A `from` beyond next
 * reads nothing, at stream_queue_next().  Returns the number copied; always
 * range->next - range->from == that + all lost.
 */
size_t stream_queue_read(const struct stream_queue *, uint64_t from,
    struct rec *out, uint64_t *seqs, size_t max, struct stream_range *);

/* One record, borrowed until the next put; NULL if lost or no longer held. */
const struct rec *stream_queue_at(const struct stream_queue *, uint64_t seq);

/* --- the digest (digest.c) ------------------------------------------------- */

/*
 * The batches of a data stream without the pairs within each, for readers that
 * do not want pairs: it goes back further than the queue and is faster to read.
 * A batch is read whole or not at all, so that nobody gets the allocation of a
 * pair without its free; a reader whose cursor is within one reads on in the
 * queue.  Belongs to one thread.
 */
struct stream_digest;

#define STREAM_DIGEST_RECORDS (1u << 17)
#define STREAM_DIGEST_BATCHES (1u << 12)
#define STREAM_DIGEST_MOST 512		/* records of one batch */
#define STREAM_DIGEST_FEW 128		/* so few are always stored */

struct stream_digest_entry {
	struct rec rec;
	uint64_t seq;
	uint32_t tag;		/* the caller's own */
};

/* A batch: records [seq, end) of the stream. */
struct stream_digest_batch {
	uint64_t seq, end;
	uint64_t entry;		/* of its first record; private */
	unsigned n;		/* records in no pair */
};

/* -ENOMEM. */
int stream_digest_new(struct stream_digest **);
void stream_digest_free(struct stream_digest *);

/*
 * Adds the batch [seq, seq + n) but for records with a bit in left_out.  Stores
 * nothing of a batch with more than STREAM_DIGEST_MOST others, or more than
 * half and STREAM_DIGEST_FEW.  tag (NULL: all are 0) returns each stored
 * record's.
 */
void stream_digest_put(struct stream_digest *, uint64_t seq,
    const struct rec *, size_t n, const uint64_t *left_out,
    uint32_t (*tag)(const void *arg, uint64_t seq), const void *arg);

/* The first batch that begins at `from` or later; false if there is none. */
bool stream_digest_find(const struct stream_digest *, uint64_t from,
    struct stream_digest_batch *);

/* Record i of a batch; borrowed until the next put. */
const struct stream_digest_entry *stream_digest_at(
    const struct stream_digest *, const struct stream_digest_batch *,
    unsigned i);

/* --- sites: the store of call stacks (sites.c) ----------------------------- */

/*
 * The stacks and modules of an image and the children that it forked, whose
 * heaps hold each other's blocks.  Numbered from 1 in an order of its own: a
 * target's numbers are translated as its records are drained
 * (stream_feed_sites()), so nothing that a target writes later changes the
 * store.  Shared by counting references; one thread at a time.
 */
struct stream_sites;

#define STREAM_SITES_MAX (1u << 19)
#define STREAM_SITES_FRAMES (1u << 23)	/* of all stacks together */
#define STREAM_MODULES_MAX 4096

struct stream_module {
	uint64_t start, end;	/* what it had mapped; end 0: not known */
	uint64_t bias;		/* address minus the address in its file's tables */
	unsigned build_id_len;	/* 0: has none */
	uint8_t build_id[32];
	const char *path;	/* outside text; "" the program itself, unless its path is set */
	bool cut;		/* path is not all of it */
	int64_t seen_ns;	/* wall clock when it was first put; 0 not known */
};

struct stream_site {
	const uint64_t *frame;	/* innermost first; frame_pc(), frame_module() of these modules */
	unsigned depth;		/* 1 to RING_STACK_MAX */
	enum ring_end end;
};

int stream_sites_new(struct stream_sites **);	/* with one reference */
/*
 * A store in persistent memory, which must outlive its last reference.  It only
 * grows, so there is nothing to commit: a successor finds every stack and
 * module under its number, but for one that was being put.  Takes some 100 MiB
 * of address space, and memory as it fills.
 */
int stream_sites_new_persistent(struct stream_sites **, struct pmem *);
/* -EINVAL for what no process of ours has left there; -ENOMEM. */
int stream_sites_resume(struct stream_sites **, struct pmem *);
void stream_sites_ref(struct stream_sites *);
void stream_sites_unref(struct stream_sites *);

/*
 * The number of a stack, of a module, added if need be; the content is copied.
 * -ENOMEM; -ENOSPC when the table, or persistent memory for paths, is full.
 */
int stream_sites_put(struct stream_sites *, const uint64_t *frame,
    unsigned depth, enum ring_end end, uint32_t *no);
int stream_sites_put_module(struct stream_sites *,
    const struct stream_module *, unsigned *no);
/*
 * Sets a module's full path when it has become known.  The module as the target
 * tells it still has the same number.  -EINVAL for an unknown number, -ENOMEM,
 * -ENOSPC.
 */
int stream_sites_set_path(struct stream_sites *, unsigned no,
    const char *path);

/* False for an unknown number.  Borrowed until the next put. */
bool stream_sites_get(const struct stream_sites *, uint32_t no,
    struct stream_site *);
bool stream_sites_get_module(const struct stream_sites *, unsigned no,
    struct stream_module *);
/* The highest number. */
uint32_t stream_sites_count(const struct stream_sites *);
unsigned stream_sites_modules(const struct stream_sites *);
/* Bytes of memory, divided by the number of references. */
size_t stream_sites_memory(const struct stream_sites *);

/* "the stack is whole", "no more were asked for", ...; "?" for none. */
const char *stream_end_text(unsigned end);

#endif
