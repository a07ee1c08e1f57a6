/*
 * stream: from raw bytes of memory, line or socket to records in true order,
 * and back to bytes for whoever reads them.
 *
 * Vocabulary (record.h and ring.h have more; wire/ has the messages between node
 * and page)
 *	keeper		the node's side of one target.
 *	ticket		a number that a record draws from the counter of its
 *			shard; an address always falls into the same shard, so
 *			its records have a true order (order.c restores it).
 *	data stream	a bounded queue of records with a running sequence
 *			number, from 1; ALLOCLOG is one.
 *	queue		the retained queue: the last records of a data stream,
 *			for readers that hold a cursor.
 *	cursor		the next sequence number a reader wants; kept by the
 *			reader alone.
 *	loss		records that are known to have been and are gone; they
 *			have sequence numbers too, so that
 *			next - from == count + cancelled + lost.
 *	cause		why: enum stream_cause.
 *	feed		the keeper's side of one target's shared memory: drains
 *			its rings and puts the records in order.
 *	pass		one or two rounds over all rings of a feed, or a part of
 *			one when it is to take only some.
 *	hold-back	records seen but not yet due, waiting for an earlier
 *			ticket of their shard.  They wait in the rings, whose
 *			capacity bounds them.
 *	sink		the table of functions that takes what a feed delivers.
 *			This room knows nothing of what is behind it.
 *
 * Example: a keeper
 *	struct stream_feed *feed;
 *	int fds[2];
 *	stream_feed_new(&feed, fds, false, &sink, session);
 *	... send fds to the target, close them ...
 *	n = stream_feed_pass(feed, now_ms);	n records went to sink->records
 *	if (n == -EPROTO)			the target lied: CORRUPT
 *		stream_feed_free(feed);
 *
 * Example: a keeper that can be replaced at any instruction
 *	stream_feed_new_kept(&feed, fds, false, &sink, session);
 *	stream_feed_hold(feed);
 *	stream_feed_save(feed, state) and so on, as below
 *	... send fds[0] and fds[1] to the target, keep fds[0] and fds[2] where
 *	    they outlive this process ...
 *	n = stream_feed_pass(feed, now_ms);
 *	if (stream_feed_save(feed, state)) {
 *		stream_queue_commit(q, slot);
 *		... make that slot the one that counts ...
 *		stream_feed_commit(feed);
 *	}
 * and in the process that comes after it, with kept memory opened
 *	stream_queue_resume(&q, STREAM_QUEUE_RECORDS, kept, slot);
 *	stream_feed_resume(&feed, fds, state, &sink, session);
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

struct kept;			/* base/kept.h */

/* --- causes of loss ----------------------------------------------------- */

enum stream_cause {
	STREAM_RING_FULL = 1,		/* the target had no room for it */
	STREAM_OVERWRITTEN = 2,		/* left the retained queue before it was read */
	STREAM_WRITER_DIED = 3,		/* its writer died or stalled in the middle of it */
	STREAM_CORRUPT = 4,		/* made no sense */
	STREAM_RESTART = 5,		/* the keeper was restarted */
	STREAM_LINK = 6,		/* the link dropped it */
	STREAM_SAMPLE_FULL = 7,		/* the target could not remember the block as sampled: its free will not be told either */
	STREAM_OTHER = 8,		/* never sent: a node named a cause that is none of these */
	STREAM_CAUSES			/* one more than the last */
};

/* "ring full", "overwritten", ...  A static string; "?" for no cause. */
const char *stream_cause_text(unsigned cause);

/* --- types -------------------------------------------------------------- */

struct stream_type {
	uint8_t code;
	char name[8];		/* as the page's DESCR shows it */
	char text[41];		/* a description in plain words */
};

/*
 * A stream's own table of (code, name, description), for the types of blocks.
 * A block whose code has no name here is of an illegal type: it is counted,
 * and shown all the same.  The codes of free records say how a block was
 * freed; no block is of such a type, so they are not legal here.
 */
struct stream_types {
	struct stream_type by_code[256];	/* name "" : not legal */
};

/*
 * Fills the table that streams of ours begin with: the note's types, the
 * node's own, malloc's and new's.  The API's codes are not legal before
 * their program has named them.
 */
void stream_types_init(struct stream_types *);
/* The four types of the 2004 note and no more. */
void stream_types_init_classic(struct stream_types *);
/*
 * Adds or renames one of the API's codes; name and text (NULL: none) are
 * copied as they are and clipped to whole characters.  -EINVAL for any other
 * code and for an empty name.
 */
int stream_types_name(struct stream_types *, unsigned code, const char *name,
    const char *text);
/* The legal codes, a bit each: bit code % 8 of byte code / 8. */
void stream_types_legal(const struct stream_types *, uint8_t legal[32]);

/* --- classic records ---------------------------------------------------- */

/*
 * A classic record from 16 bytes: address, size, flags and type go into the
 * words of a wide one, the time into *ms as milliseconds since 1970 of the
 * node's own clock (BCD has no zone).  -EILSEQ when the high nibble of rFlag
 * is neither A nor F or the BCD is no date: a bad record, to be counted.  The
 * low nibble is opaque in a classic stream and kept as it is.
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

/* Wide records to and from their little-endian wire form, n of them. */
void stream_wide_encode(const struct rec *, size_t n, uint8_t *out);
void stream_wide_decode(const uint8_t *in, size_t n, struct rec *);

/* --- the retained queue ------------------------------------------------- */

#define STREAM_QUEUE_RECORDS (1u << 18)

/*
 * Gaps remembered apart.  When there are more, the oldest one and what lies
 * before it have left the queue, as if overwritten.
 */
#define STREAM_QUEUE_LOSSES 1024

/* Belongs to one thread. */
struct stream_queue;

/* What a read covered: [from, next), of which lost[] by cause are gone. */
struct stream_range {
	uint64_t from;			/* as asked; the oldest if that was 0; next if beyond it */
	uint64_t next;			/* where to read next */
	uint64_t lost[STREAM_CAUSES];	/* by cause; [0] unused */
};

/* `records` is a power of two.  -ENOMEM, -EINVAL. */
int stream_queue_new(struct stream_queue **, uint32_t records);
void stream_queue_free(struct stream_queue *);

/*
 * One whose records lie in kept memory, which has to be there as long as it
 * is.  -ENOMEM, -EINVAL; -ENOMEM also for no room for two more pieces.
 */
int stream_queue_new_kept(struct stream_queue **, uint32_t records,
    struct kept *);
/*
 * Writes what the next process has to know into slot 0 or 1.  A process that
 * dies while it does has spoilt that slot: the caller uses them in turn and
 * knows which is whole.
 */
void stream_queue_commit(struct stream_queue *, unsigned slot);
/*
 * The queue of a process that has died, as it was when that slot was committed.
 * What was put after that does not exist, and has overwritten as many of the
 * oldest as it was: exactly those are gone.  -EINVAL when nothing that can be
 * stands there, -ENOMEM.
 */
int stream_queue_resume(struct stream_queue **, uint32_t records,
    struct kept *, unsigned slot);

/*
 * The first record will have this number instead of 1: the stream of a forked
 * child goes on from its parent's.  Only before anything was put or lost.
 */
void stream_queue_start_at(struct stream_queue *, uint64_t seq);

/* Appends; the oldest fall out.  Never fails. */
void stream_queue_put(struct stream_queue *, const struct rec *, size_t n);
/*
 * The next `count` sequence numbers are lost by `cause`.  Sequence numbers
 * saturate at 2^62, whatever a target claims to have lost.
 */
void stream_queue_lose(struct stream_queue *, unsigned cause, uint64_t count);

uint64_t stream_queue_next(const struct stream_queue *);	/* of the next record to come */
uint64_t stream_queue_oldest(const struct stream_queue *);	/* still readable */

/*
 * Copies up to max records from sequence `from` on, oldest first, their
 * sequence numbers into seqs (max of them, or NULL).  What `from` asks for and
 * the queue no longer has is counted in range->lost[STREAM_OVERWRITTEN].  A
 * `from` beyond next reads nothing, at stream_queue_next().  Returns the
 * number copied; always range->next - range->from == that + all lost.
 */
size_t stream_queue_read(const struct stream_queue *, uint64_t from,
    struct rec *out, uint64_t *seqs, size_t max, struct stream_range *);

/*
 * One record by its sequence number, borrowed until the next put; NULL if it
 * is lost or no longer held.
 */
const struct rec *stream_queue_at(const struct stream_queue *, uint64_t seq);

/* --- the digest ---------------------------------------------------------- */

/*
 * What is left of the batches of a data stream when the pairs within each are
 * left out, for readers that want no more: it goes back further than the queue
 * and takes less to read.  A batch is had whole or not at all, so that nobody
 * gets the allocation of a pair and not its free; a reader that stands within
 * one reads on in the queue.  Belongs to one thread.
 */
struct stream_digest;

#define STREAM_DIGEST_RECORDS (1u << 17)
#define STREAM_DIGEST_BATCHES (1u << 12)
#define STREAM_DIGEST_MOST 512		/* records left of a batch that is kept */
#define STREAM_DIGEST_FEW 128		/* so few are kept in any case: they would be a gap */

struct stream_digest_entry {
	struct rec rec;
	uint64_t seq;
	uint16_t tag;		/* the caller's own */
};

/* A batch: records [seq, end) of the stream. */
struct stream_digest_batch {
	uint64_t seq, end;
	uint64_t entry;		/* the first that is left; private */
	unsigned n;		/* that are left */
};

/* -ENOMEM. */
int stream_digest_new(struct stream_digest **);
void stream_digest_free(struct stream_digest *);

/*
 * Records [seq, seq + n), those left out with a bit in left_out.  Nothing is
 * kept of a batch of which more than half (and STREAM_DIGEST_FEW), or more than
 * STREAM_DIGEST_MOST, are left.  tag (NULL: all are 0) tells the tag of each
 * that is kept.
 */
void stream_digest_put(struct stream_digest *, uint64_t seq,
    const struct rec *, size_t n, const uint64_t *left_out,
    uint16_t (*tag)(const void *arg, uint64_t seq), const void *arg);

/* The first batch that begins at `from` or later; false when none is kept. */
bool stream_digest_find(const struct stream_digest *, uint64_t from,
    struct stream_digest_batch *);

/* Record i of those left of a batch; borrowed until the next put. */
const struct stream_digest_entry *stream_digest_at(
    const struct stream_digest *, const struct stream_digest_batch *,
    unsigned i);

/* --- sites: call stacks, kept once --------------------------------------- */

/*
 * The stacks and modules of one family of process images: an image and the
 * children that it forked, whose heaps hold each other's blocks.  Numbered
 * from 1 in an order of its own: a target's numbers are put into these as its
 * records are drained (stream_feed_sites()), so nothing that a target writes
 * later changes what is in here.  Shared by counting references; one thread at
 * a time.
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
	const char *path;	/* "" the program itself, as long as nobody knows better; outside text */
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
 * One in kept memory, which has to be there until the last reference is gone.
 * It only ever grows, so there is nothing to commit: the next process finds
 * all that was put, under the numbers that were given.  Of what was being put
 * when a process died there is nothing.  It takes some 100 MiB of address space,
 * and memory as it fills.
 */
int stream_sites_new_kept(struct stream_sites **, struct kept *);
/* -EINVAL for what no process of ours has left there; -ENOMEM. */
int stream_sites_resume(struct stream_sites **, struct kept *);
void stream_sites_ref(struct stream_sites *);
void stream_sites_unref(struct stream_sites *);

/*
 * The number of a stack, of a module: the one it has if it is known already.
 * The content is copied.  -ENOMEM; -ENOSPC when the table, or kept memory for
 * paths, is full.
 */
int stream_sites_put(struct stream_sites *, const uint64_t *frame,
    unsigned depth, enum ring_end end, uint32_t *no);
int stream_sites_put_module(struct stream_sites *,
    const struct stream_module *, unsigned *no);
/*
 * What became known of a module later: its path, all of it.  Who puts it as
 * the target told it gets the same number still.  -EINVAL for a number that
 * there is not, -ENOMEM, -ENOSPC.
 */
int stream_sites_set_path(struct stream_sites *, unsigned no,
    const char *path);

/* False when there is none of that number.  Borrowed until the next put. */
bool stream_sites_get(const struct stream_sites *, uint32_t no,
    struct stream_site *);
bool stream_sites_get_module(const struct stream_sites *, unsigned no,
    struct stream_module *);
/* How many there are: numbers go up to this. */
uint32_t stream_sites_count(const struct stream_sites *);
unsigned stream_sites_modules(const struct stream_sites *);
/* Bytes that it takes, shared out among those who hold a reference. */
size_t stream_sites_memory(const struct stream_sites *);

/* "the stack is whole", "no more were asked for", ...; "?" for none. */
const char *stream_end_text(unsigned end);

/* --- the feed: one target's rings, in order ----------------------------- */

struct stream_feed;

#define STREAM_SINK_MAX 4096	/* records in one call */

/* What it does ends in the keeper's tables: no feed is saved or armed from here. */
struct stream_sink {
	/* n records in true order; `near_ms` widens their milliseconds. */
	void (*records)(void *arg, const struct rec *, size_t n,
	    int64_t near_ms);
	/* A control record of a thread, in its place among that thread's own. */
	void (*control)(void *arg, const struct rec *, int64_t near_ms);
	/* `count` records are lost by `cause`, from here on the list may lie. */
	void (*lost)(void *arg, unsigned cause, uint64_t count);
};

/* Numbers about a feed, for the diagnostics. */
struct stream_feed_counts {
	uint64_t records;	/* delivered to the sink */
	uint64_t held;		/* held back now */
	uint64_t held_max;
	uint64_t owed;		/* tickets skipped and still expected */
	uint64_t late;		/* owed records that turned up */
	uint64_t far_addresses;
	uint64_t lost[STREAM_CAUSES];
	unsigned rings;		/* in use */
	uint64_t sites_full;	/* events whose stack the target or the store had no room for */
	uint64_t walks;		/* events whose stack the target had to walk, not recognised */
	uint64_t pairs;		/* allocations and their frees that shared a record */
	uint64_t marks_untold;	/* marks that a dormant target was to make */
	uint64_t dormant;	/* records dropped because they were made while the target was dormant */
	bool joined;		/* the target has mapped them: silence means no events */
};

/*
 * Makes and seals both areas and maps them.  fds[0] is the ring area, fds[1]
 * the keeper area: the caller sends them to the target and closes them.
 * `no_wait`: producers drop at once when a ring is full.
 * -ENOMEM, -EMFILE, or what memfd_create(2) and mmap(2) say.
 */
int stream_feed_new(struct stream_feed **, int fds[2], bool no_wait,
    const struct stream_sink *, void *arg);

/* --- a feed that outlives its keeper -------------------------------------- */

/*
 * A feed that another process can go on with.  fds[0] is the ring area, fds[1]
 * the keeper area as the target gets it: the caller sends these.  fds[0] and
 * fds[2], the keeper area as it was made, are what stream_feed_resume() wants.
 * All three are the caller's, who closes them, and keeps fds[2] from the target.
 *
 * The next keeper must be able to write the keeper area, so it is not sealed
 * against new writable mappings as stream_feed_new()'s is.  fds[1] is open for
 * reading alone, and the system maps nothing writable of it.  Through /proc it
 * can be opened for writing by no other user: the file's mode is 0400.  A
 * process of the keeper's own user could change that first; it could trace the
 * keeper as well, so nothing is lost by it, and as a keeper reads nothing of
 * this area while it drains, whoever does harms his own stream only.
 *
 * As stream_feed_new(); also what open(2) says, where there is no /proc.
 */
int stream_feed_new_kept(struct stream_feed **, int fds[3], bool no_wait,
    const struct stream_sink *, void *arg);

/*
 * Room is given back to producers by stream_feed_commit() alone from now on.
 * Before the first pass; a feed that was resumed is on hold already.  The first
 * state is wanted before the descriptors are sent, or there is nothing to go on
 * from yet.
 */
void stream_feed_hold(struct stream_feed *);

/*
 * Bytes of a state: some MiB of address space, of which some 20 KiB are
 * written as a rule, and more only as far as a target has threads that are
 * stopped in flight.
 */
size_t stream_feed_state_size(void);

/*
 * Writes what the next process has to know into the caller's memory, aligned
 * for 64-bit words; whether it is whole if a process dies meanwhile is for the
 * caller to know.  False, and nothing is written, for a feed that is dead, and
 * in the middle of a round (stream_feed_is_behind()) where more than tickets of
 * single records is under way.
 *
 * A state holds until the next one has been committed: what a feed delivers
 * after it, it delivers again when it is resumed from there.
 */
bool stream_feed_save(struct stream_feed *, void *state);

/* What was saved last is where it is safe: gives back the room behind it. */
void stream_feed_commit(struct stream_feed *);

/*
 * Goes on exactly where a state was saved by a feed that is no more.  It was
 * committed, or at least no other one has been since; it counts as committed
 * now.  The descriptors stay the caller's, also on success; the state is not
 * looked at any more.  stream_feed_sites() is wanted as for a new feed.
 *
 * An arming or disarming that was not saved has had its effect on the target
 * and cannot be undone: the feed is then resumed disarmed, whatever it was, and
 * stream_feed_is_armed() says so.  What had been asked for is asked for still.
 *
 * -EINVAL for areas that are not ours (seals and sizes are checked) and for a
 * state that cannot be, as of another build; -ESTALE when room behind it has
 * been given back; -EPROTO when the target has spoilt the records that it
 * speaks of; -ENOMEM, and then it may be tried again.  On failure nothing has
 * changed for the target, which is told by stream_feed_abandon() if nobody will
 * take it over.
 */
int stream_feed_resume(struct stream_feed **, const int fds[2],
    const void *state, const struct stream_sink *, void *arg);

/* Whether the target has been told to log. */
bool stream_feed_is_armed(const struct stream_feed *);

/* Unmaps and frees and tells the target nothing: another process goes on. */
void stream_feed_leave(struct stream_feed *);

/*
 * Which of the two that stream_feed_resume() wants a descriptor is: 0 or 1, or
 * -EINVAL for neither.
 */
int stream_feed_area(int fd);

/*
 * Tells the target of these areas, whose keeper has died and has no successor,
 * that nobody drains them: producers wait no more.  -EINVAL for other areas.
 */
int stream_feed_abandon(const int fds[2]);

/*
 * Where the stacks of this target are put; the feed takes a reference.  What
 * it delivers has the store's numbers; a stack that the store has no room for
 * is delivered as its innermost return address.  Before the first pass.
 */
void stream_feed_sites(struct stream_feed *, struct stream_sites *);

/* Asks the target for stacks: frames of each, and whether frees have them too. */
void stream_feed_want_stacks(struct stream_feed *, unsigned depth, bool frees);

/*
 * Asks the target for a record of each event: no allocation and its free share
 * one, and so what is held is known at each event.  Before the descriptors are
 * sent.
 */
void stream_feed_want_apart(struct stream_feed *, bool apart);

/*
 * Asks the target to log one allocation in `period` bytes, and its free; 0:
 * every one.  Before the descriptors are sent.
 */
void stream_feed_want_sample(struct stream_feed *, uint64_t period);

/*
 * Tells the target what has been seen of its sandbox: see "locked" in ring.h.
 * RING_SANDBOX_UNKNOWN until the first time.  looks counts those at all of its
 * threads since its hello, this one too: by the count, and by nothing that has a
 * clock, a target tells a look from what it did before or after it.
 */
void stream_feed_sandbox(struct stream_feed *, enum ring_sandbox,
    uint64_t looks);

/*
 * Arms the target, or sends it to sleep; a feed is born armed.  What it is
 * already it stays, and nothing happens.
 *
 * A thread may have looked at the word long before it publishes, so records
 * come from a dormant target too: they are drained, dropped and counted, and so
 * are its losses.  To arm sets the word and then publishes a new millisecond.
 * Records that have an older one are from before the arming and are dropped
 * also later: the block may have been freed while nobody logged.  Who has read
 * the new one finds the word set when he frees.  So
 *
 *	an allocation that begins after this has returned is delivered;
 *	the free of one that has been delivered is delivered too;
 *	other frees may be, also of blocks from before: those are the list's
 *	affair (since_click).
 *
 * Control records are delivered in any state.  The pass goes on in any state,
 * or producers that wait for room would wait in vain.
 */
void stream_feed_arm(struct stream_feed *, bool armed, int64_t now_ms);

/* --- its passes ----------------------------------------------------------- */

/* Tells waiting producers that nobody drains any more, unmaps, frees. */
void stream_feed_free(struct stream_feed *);

/* Tickets of a forked child's shards begin where its parent's stood. */
void stream_feed_start_at(struct stream_feed *,
    const uint32_t tickets[REC_SHARDS]);

/*
 * One pass: publishes now_ms, reads the in-flight words, then all heads, then
 * drains; delivers what is due, in order.  When something is not due, or a
 * ticket is owed, it does so once more: what the first round has seen is then
 * delivered whatever is missing.  At most two capacities of each ring.  Returns
 * the number of records delivered (INT_MAX at most), or -EPROTO when the target
 * wrote what no producer writes (-ENOMEM when the keeper itself is out of
 * memory): the feed is then dead, its producers wait no more, and it only
 * repeats that.
 */
int stream_feed_pass(struct stream_feed *, int64_t now_ms);

/*
 * The same, but it leaves off after about `max` records.  The next pass goes on
 * from there before it looks for more; until then the feed is behind.
 */
int stream_feed_pass_some(struct stream_feed *, int64_t now_ms, uint64_t max);
bool stream_feed_is_behind(const struct stream_feed *);

/*
 * The target is gone and nothing more will come: drains to the end, applies
 * all that is held back, counts tickets that never came as
 * STREAM_WRITER_DIED, also those passed over that a thread still had in flight.
 * Returns as stream_feed_pass().
 */
int stream_feed_finish(struct stream_feed *, int64_t now_ms);

/* Publishes the millisecond without draining: the heartbeat of an idle keeper. */
void stream_feed_beat(struct stream_feed *, int64_t now_ms);

/*
 * Sleeps until a ring is a quarter full or timeout_ms has passed; for the
 * keeper's helper thread.  0 rung, -ETIMEDOUT; may be called beside a pass of
 * another thread, until stream_feed_free().
 */
int stream_feed_wait_bell(struct stream_feed *, int timeout_ms);

const struct stream_feed_counts *stream_feed_counts(struct stream_feed *);

/*
 * The next ticket due of each shard, REC_SHARDS of them; borrowed until asked
 * again.
 */
const uint32_t *stream_feed_due(struct stream_feed *);

/* True when the record drew its ticket at or after the cut; false without one. */
bool stream_after_cut(const struct rec *, const uint32_t cut[REC_SHARDS]);

#endif
