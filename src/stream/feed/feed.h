/*
 * feed: the keeper's side of one target's shared memory.  It drains the rings
 * and delivers the records in their true order.
 *
 *	feed.c		the feed, and its numbers for a target's call stacks
 *	order.c		the merge of the rings by tickets
 *	reader.c	the shared memory, read and checked
 *	robust.h	a futex that tells dormant targets of their keeper's end
 *
 * Vocabulary
 *	pass		one or two rounds over all rings of a feed, or a part of
 *			one when it is to take only some records.
 *	hold-back	records seen but not yet due, waiting for an earlier
 *			ticket of their shard.  They wait in the rings, whose
 *			capacity bounds them.
 *	sink		the table of functions that takes what a feed delivers.
 *
 * Example: a keeper
 *	struct stream_feed *feed;
 *	int fds[2];
 *	stream_feed_new(&feed, fds, false, &sink, session);
 *	... send fds to the target, close them ...
 *	n = stream_feed_pass(feed, now_ms, UINT64_MAX);
 *	if (n == -EPROTO)		the target lied: CORRUPT
 *		stream_feed_free(feed);
 *
 * Example: a keeper that can be replaced at any instruction
 *	stream_feed_new_persistent(&feed, fds, false, &sink, session);
 *	stream_feed_hold(feed);
 *	stream_feed_save(feed, state) and so on, as below
 *	... send fds[0] and fds[1] to the target, store fds[0] and fds[2] where
 *	    they outlive this process ...
 *	n = stream_feed_pass(feed, now_ms, UINT64_MAX);
 *	if (stream_feed_save(feed, state)) {
 *		stream_queue_commit(q, slot);
 *		... make that slot the one that counts ...
 *		stream_feed_commit(feed);
 *	}
 * and in its successor, with persistent memory opened
 *	stream_queue_resume(&q, STREAM_QUEUE_RECORDS, memory, slot);
 *	stream_feed_resume(&feed, fds, state, &sink, session);
 */
#ifndef STREAM_FEED_H
#define STREAM_FEED_H

#include "../stream.h"

struct ring_cut;
struct stream_feed;

#define STREAM_SINK_MAX 4096	/* records in one call */

/* None of these functions may save or arm the feed. */
struct stream_sink {
	/* n records in true order; `near_ms` widens their milliseconds. */
	void (*records)(void *arg, const struct rec *, size_t n,
	    int64_t near_ms);
	/* A thread's control record, in its place among that thread's. */
	void (*control)(void *arg, const struct rec *, int64_t near_ms);
	/* `count` records are lost by `cause`: the list may be wrong. */
	void (*lost)(void *arg, unsigned cause, uint64_t count);
};

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
	uint32_t unfinished;	/* calls whose end is not known, since the start; it wraps */
	uint32_t past;		/* enum ring_past */
	uint64_t dormant;	/* records dropped as made while the target was dormant */
	bool joined;		/* the target has mapped the areas: silence means no events */
};

/*
 * Makes and seals both areas and maps them.  fds[0] is the ring area, fds[1]
 * the keeper area: the caller sends them to the target and closes them.
 * `no_wait`: producers drop at once when a ring is full.
 * -ENOMEM, -EMFILE, or what memfd_create(2) and mmap(2) say.
 */
int stream_feed_new(struct stream_feed **, int fds[2], bool no_wait,
    const struct stream_sink *, void *arg);

/* Tells waiting producers that nobody drains any more, unmaps, frees. */
void stream_feed_free(struct stream_feed *);

/* Unmaps and frees, but tells the target nothing: another process goes on. */
void stream_feed_detach(struct stream_feed *);

/*
 * A feed that another process can go on with.  fds[0] is the ring area, fds[1]
 * the keeper area as the target gets it: the caller sends these.  fds[0] and
 * fds[2], the keeper area as it was made, are for stream_feed_resume().  All
 * three are the caller's, who closes them and never sends fds[2] to the target.
 *
 * The next keeper must be able to write the keeper area, so unlike that of
 * stream_feed_new() it is not sealed against new writable mappings.  fds[1] is
 * open for reading alone, and the system makes no writable mapping of it.  The
 * file's mode is 0400, so no other user can open it for writing through /proc.
 * A process of the keeper's own user could change the mode; it could trace the
 * keeper as well.  The keeper reads nothing of this area while it drains, so
 * such a process harms its own stream only.
 *
 * Errors of stream_feed_new(), and of open(2) where there is no /proc.
 */
int stream_feed_new_persistent(struct stream_feed **, int fds[3], bool no_wait,
    const struct stream_sink *, void *arg);

/*
 * From now on only stream_feed_commit() gives room back to producers.  Call it
 * before the first pass; a resumed feed is on hold already.  Save the first
 * state before the descriptors are sent: without it there is nothing to resume.
 */
void stream_feed_hold(struct stream_feed *);

/* Bytes of a state: some MiB, of which about 20 KiB are written. */
size_t stream_feed_state_size(void);

/*
 * Writes the state for a successor into the caller's memory, aligned for 64-bit
 * words; the caller must know whether a process died meanwhile.  False, with
 * nothing written, for a dead feed, and in the middle of a round
 * (stream_feed_is_behind()) with more under way than tickets of single records.
 *
 * A state holds until the next one has been committed: what a feed delivers
 * after it is delivered again when it is resumed from there.
 */
bool stream_feed_save(struct stream_feed *, void *state);

/* The state saved last is safe: gives back the room of records before it. */
void stream_feed_commit(struct stream_feed *);

/*
 * Goes on exactly where a feed that is no more had saved a state, the last one
 * that was committed or the one saved after it; it counts as committed now.
 * The descriptors stay the caller's, also on success; the state is not needed
 * any more.  Call stream_feed_sites() as for a new feed.
 *
 * An arming or disarming that was not saved has had its effect on the target:
 * the feed is then resumed disarmed, whatever it was, and
 * stream_feed_is_armed() says so.  All other requests to the target stand.
 *
 * -EINVAL for areas that are not ours (seals and sizes are checked) and for an
 * impossible state, as of another build; -ESTALE when room behind it has been
 * given back; -EPROTO when the target has spoilt the records that it refers to;
 * -ENOMEM, and then it may be tried again.  On failure nothing has changed for
 * the target; if nobody will resume it, call stream_feed_abandon().
 */
int stream_feed_resume(struct stream_feed **, const int fds[2],
    const void *state, const struct stream_sink *, void *arg);

/* Which of the descriptors of stream_feed_resume(): 0, 1, or -EINVAL. */
int stream_feed_area(int fd);

/*
 * Tells the target of these areas, whose keeper has died without a successor,
 * that nobody drains them: producers wait no more.  -EINVAL for other areas.
 */
int stream_feed_abandon(const int fds[2]);

/* Empty: the descriptors are -1, all else is zero. */
struct stream_areas {
	int fds[2];		/* descriptors of stream_feed_new_persistent(); -1: none */
	void *ring, *keeper;	/* mapped while there is no feed; else NULL */
};

/*
 * Frees a feed whose target has ended, like stream_feed_free().  `areas` has the
 * descriptors of its areas.  If another process still has the ring area mapped,
 * such as one that shared the target's memory, it may write there: then the
 * descriptors are closed.  Otherwise the areas are zeroed and stay mapped.
 */
void stream_feed_leave(struct stream_feed *, struct stream_areas *areas);

/*
 * Like stream_feed_new_persistent(), with the areas of a feed that has left.
 * fds[2] is -1, because its receiver already has that descriptor.  On success
 * `areas` is empty.
 */
int stream_feed_new_again(struct stream_feed **, struct stream_areas *areas,
    int fds[3], bool no_wait, const struct stream_sink *, void *arg);

/* Unmaps and closes the areas, if any. */
void stream_areas_close(struct stream_areas *);

/*
 * The store for the stacks of this target; the feed takes a reference.  Records
 * are delivered with the store's numbers, or with the innermost return address
 * when the store is full.  Before the first pass.
 */
void stream_feed_sites(struct stream_feed *, struct stream_sites *);

/* Asks for stacks: frames of each, and whether frees have them too. */
void stream_feed_want_stacks(struct stream_feed *, unsigned depth, bool frees);

/*
 * Asks for a record of its own for each event: without pairs the bytes held are
 * known at each event, and a free has its caller.  After the descriptors are
 * sent, threads heed it when they next look for room, some milliseconds later.
 */
void stream_feed_forbid_pairs(struct stream_feed *, bool forbid);

/*
 * Asks for cuts of the target's mappings (ring.h).  Threads heed it when they next
 * look for room, and make none after RING_CUTS_MS.  -EBUSY: the request before has
 * not been carried out; one that is the same and names no pages goes on to wait, for
 * RING_CUTS_MS from now on.  -EINVAL: more than RING_CUTS.  Both may run beside a pass of
 * another thread, until stream_feed_free().
 */
int stream_feed_cut(struct stream_feed *, const struct ring_cut *, size_t n);
/* True when the last request has been carried out, or was too old for it. */
bool stream_feed_cut_done(const struct stream_feed *);

/* Asks for a sample; 0: every event.  Before the descriptors are sent. */
void stream_feed_want_sample(struct stream_feed *, uint64_t period);

/*
 * Tells the target what has been seen of its sandbox: see "locked" in ring.h.
 * RING_SANDBOX_UNKNOWN until the first call.  looks counts the looks at all of
 * its threads since its hello, this one included: by the count, not by a clock,
 * a target tells whether a look came before or after an action of its own.
 */
void stream_feed_sandbox(struct stream_feed *, enum ring_sandbox,
    uint64_t looks);

/*
 * Arms or disarms the target; a new feed is armed.  No effect if already so.
 *
 * A thread may have read the word long before it publishes, so records come
 * from a dormant target too: they are drained, dropped and counted, and so are
 * its losses.  To arm sets the word and then publishes a new millisecond.  A
 * record with an older one was made before the arming and is dropped: its block
 * may have been freed while nobody logged.  A thread that has read the new one
 * finds the word set when it frees.  So
 *
 *	an allocation that begins after this has returned is delivered;
 *	the free of one that has been delivered is delivered too;
 *	other frees may be, also of blocks from before: the list counts those
 *	(since_click).
 *
 * Control records are delivered in any state.  Passes must go on in any state,
 * or producers would wait for room in vain.
 */
void stream_feed_arm(struct stream_feed *, bool armed, int64_t now_ms);
bool stream_feed_is_armed(const struct stream_feed *);
/* After robust_begin() or robust_set_owner(): a dormant target has the new one. */
void stream_feed_owner_changed(struct stream_feed *);

/* Tickets of a forked child's shards begin where its parent's were. */
void stream_feed_start_at(struct stream_feed *,
    const uint32_t tickets[REC_SHARDS]);

/*
 * One pass: publishes now_ms, reads the in-flight words, then all heads, then
 * drains; delivers what is due, in order.  When something is not due, or a
 * ticket is owed, it does so once more: what the first round has seen is then
 * delivered whatever is missing.  At most two capacities of each ring.  It
 * stops after about `max` records; the next pass goes on from there before it
 * looks for more, and until then the feed is behind.
 *
 * Returns the number of records delivered (INT_MAX at most), or -EPROTO when
 * the target wrote what no producer writes (-ENOMEM when the keeper itself is
 * out of memory): the feed is then dead, its producers wait no more, and each
 * call returns that error.
 */
int stream_feed_pass(struct stream_feed *, int64_t now_ms, uint64_t max);
bool stream_feed_is_behind(const struct stream_feed *);
/* True if the target has called exit(3) or _exit(2): it ends without another exec. */
bool stream_feed_has_exited(const struct stream_feed *);

/*
 * The target is gone: drains to the end, applies all that is held back, counts
 * tickets that never came as STREAM_WRITER_DIED, in flight or passed over.
 * Returns as stream_feed_pass().
 */
int stream_feed_finish(struct stream_feed *, int64_t now_ms);

/* Publishes the millisecond alone: the heartbeat of an idle keeper. */
void stream_feed_beat(struct stream_feed *, int64_t now_ms);

/*
 * Sleeps until a ring is a quarter full or timeout_ms has passed; for the
 * keeper's helper thread.  0 or -ETIMEDOUT.  May run beside a pass of another
 * thread, until stream_feed_free().
 */
int stream_feed_wait_bell(struct stream_feed *, int timeout_ms);

const struct stream_feed_counts *stream_feed_counts(struct stream_feed *);

/* The next ticket due of each shard; borrowed until the next call. */
const uint32_t *stream_feed_due(struct stream_feed *);

/* True if the record drew its ticket at or after the cut; false without one. */
bool stream_after_cut(const struct rec *, const uint32_t cut[REC_SHARDS]);

#endif
