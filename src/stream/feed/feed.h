/*
 * feed: drains one target's rings and delivers the records in their true
 * order.
 *
 *	feed.c		the feed, and its numbers for a target's call stacks
 *	order.c		the merge of the rings by tickets
 *	reader.c	the shared memory, read and checked
 *	robust.h	a futex that tells dormant targets of their keeper's end
 *
 * Vocabulary
 *	pass		one or two rounds over all rings, or a part of one.
 *	hold-back	records seen but not due: they wait in the rings for an earlier ticket
 *			of their shard.
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
 * Makes, seals and maps both areas: fds[0] the ring area, fds[1] the keeper
 * area, which the caller sends and closes.  `no_wait`: producers drop at once
 * at a full ring.  -ENOMEM, -EMFILE, errors of memfd_create(2) and mmap(2).
 */
int stream_feed_new(struct stream_feed **, int fds[2], bool no_wait,
    const struct stream_sink *, void *arg);

/* Tells waiting producers that nobody drains any more, unmaps, frees. */
void stream_feed_free(struct stream_feed *);

/* Unmaps and frees, but tells the target nothing: another process goes on. */
void stream_feed_detach(struct stream_feed *);

/*
 * Another process can go on with it.  The caller sends fds[0], the ring area,
 * and fds[1], the keeper area for the target. fds[0] and fds[2], the keeper
 * area as made, are for stream_feed_resume().  All are the caller's, to close;
 * fds[2] is never sent to the target.
 *
 * The next keeper must write the keeper area, so it is not sealed against new
 * writable mappings. fds[1] is open for reading alone, and has no writable
 * mapping.  The mode is 0400: no other user can open it for writing through
 * /proc.  A process of the keeper's user could; it could trace the keeper as
 * well.  The keeper reads nothing of it while it drains, so such a process
 * harms its own stream only.
 *
 * Errors of stream_feed_new(), and of open(2) where there is no /proc.
 */
int stream_feed_new_persistent(struct stream_feed **, int fds[3], bool no_wait,
    const struct stream_sink *, void *arg);

/*
 * Only stream_feed_commit() gives room back from now on.  Before the first
 * pass; a resumed feed is on hold.  Save a state before the descriptors are
 * sent: without it nothing can be resumed.
 */
void stream_feed_hold(struct stream_feed *);

/* Bytes of a state: some MiB, of which about 20 KiB are written. */
size_t stream_feed_state_size(void);

/*
 * Writes the state for a successor into the caller's memory, aligned to 64
 * bits.  False, nothing written: a dead feed, or amid a round
 * (stream_feed_is_behind()) with more under way than single tickets.
 *
 * A state holds until the next commit: what is delivered after it is delivered
 * again on resume.
 */
bool stream_feed_save(struct stream_feed *, void *state);

/* The state saved last is safe: gives back the room of records before it. */
void stream_feed_commit(struct stream_feed *);

/*
 * Goes on where a dead feed saved a state: the last committed one or the next;
 * it counts as committed now.  The descriptors stay the caller's; the state
 * may go.  Call stream_feed_sites() as for a new feed.
 *
 * An unsaved arming or disarming has had its effect: the feed is then disarmed
 * (stream_feed_is_armed()).  Other requests stand.
 *
 * -EINVAL: not our areas, or an impossible state, as of another build;
 * -ESTALE: room behind it was given back; -EPROTO: the target spoilt its
 * records; -ENOMEM: try again.  On failure nothing has changed for the target;
 * without another try, call stream_feed_abandon().
 */
int stream_feed_resume(struct stream_feed **, const int fds[2],
    const void *state, const struct stream_sink *, void *arg);

/* Which of the descriptors of stream_feed_resume(): 0, 1, or -EINVAL. */
int stream_feed_area(int fd);

/*
 * Tells a dead keeper's target that nobody drains: producers wait no more.
 * -EINVAL: other areas.
 */
int stream_feed_abandon(const int fds[2]);

/* Empty: the descriptors are -1, all else is zero. */
struct stream_areas {
	int fds[2];		/* descriptors of stream_feed_new_persistent(); -1: none */
	void *ring, *keeper;	/* mapped while there is no feed; else NULL */
};

/*
 * Frees the feed of an ended target.  If another process still maps the ring
 * area in `areas`, where it may write, closes them; else zeroes them and
 * leaves them mapped.
 */
void stream_feed_leave(struct stream_feed *, struct stream_areas *areas);

/*
 * As stream_feed_new_persistent(), in the areas of a feed that has left.
 * fds[2] is -1: its receiver has it.  On success `areas` is empty.
 */
int stream_feed_new_again(struct stream_feed **, struct stream_areas *areas,
    int fds[3], bool no_wait, const struct stream_sink *, void *arg);

/* Unmaps and closes the areas, if any. */
void stream_areas_close(struct stream_areas *);

/*
 * The store for this target's stacks; takes a reference.  Records get its
 * numbers, or the innermost return address when it is full.  Before the first
 * pass.
 */
void stream_feed_sites(struct stream_feed *, struct stream_sites *);

/* Asks for stacks: frames of each, and whether frees have them too. */
void stream_feed_want_stacks(struct stream_feed *, unsigned depth, bool frees);

/*
 * A record for each event: the bytes held are known at each, and a free has
 * its caller.  Threads heed it when they next look for room, some milliseconds
 * later.
 */
void stream_feed_forbid_pairs(struct stream_feed *, bool forbid);

/*
 * Asks for cuts (ring.h).  Threads heed it when they next look for room, until
 * RING_CUTS_MS.  -EBUSY: the last request is not done; one like it without
 * pages waits for another RING_CUTS_MS.  -EINVAL: more than RING_CUTS.  Both
 * may run beside a pass, until stream_feed_free().
 */
int stream_feed_cut(struct stream_feed *, const struct ring_cut *, size_t n);
/* True when the last request has been carried out, or was too old for it. */
bool stream_feed_cut_done(const struct stream_feed *);

/* Asks for a sample; 0: every event.  Before the descriptors are sent. */
void stream_feed_want_sample(struct stream_feed *, uint64_t period);

/*
 * Tells the target about its sandbox ("locked" in ring.h).
 * RING_SANDBOX_UNKNOWN until the first call. looks counts the looks at all its
 * threads since its hello: the target tells by it whether a look came after an
 * action of its own.
 */
void stream_feed_sandbox(struct stream_feed *, enum ring_sandbox,
    uint64_t looks);

/*
 * A new feed is armed.  No effect if already so.
 *
 * A thread may have read the word long before it publishes: records of a
 * dormant target are drained, dropped and counted, as its losses.  Arming sets
 * the word, then publishes a new millisecond.  An older record was made
 * before: its block may have been freed unlogged.  A thread that has read the
 * new one finds the word set when it frees.  So
 *
 *	an allocation that begins after this has returned is delivered;
 *	the free of one that has been delivered is delivered too;
 *	other frees may be, also of blocks from before: the list counts those
 *	(since_click).
 *
 * Control records are delivered in any state.  Passes must go on, or producers
 * wait in vain.
 */
void stream_feed_arm(struct stream_feed *, bool armed, int64_t now_ms);
bool stream_feed_is_armed(const struct stream_feed *);
/* After robust_begin() or robust_set_owner(): a dormant target has the new one. */
void stream_feed_owner_changed(struct stream_feed *);

/* Tickets of a forked child's shards begin where its parent's were. */
void stream_feed_start_at(struct stream_feed *,
    const uint32_t tickets[REC_SHARDS]);

/*
 * Publishes now_ms, reads the in-flight words, then all heads, then drains;
 * delivers what is due, in order.  If something is not, or a ticket is owed,
 * once more: what the first round has seen is then delivered.  At most two
 * capacities of each ring.  After about `max` records it stops; the next pass
 * goes on from there, and until then the feed is behind.
 *
 * Returns the number delivered (INT_MAX at most); -EPROTO: the target wrote
 * what no producer writes; -ENOMEM.  The feed is then dead, its producers wait
 * no more, and each call returns that error.
 */
int stream_feed_pass(struct stream_feed *, int64_t now_ms, uint64_t max);
bool stream_feed_is_behind(const struct stream_feed *);
/* True if the target has called exit(3) or _exit(2): it ends without another exec. */
bool stream_feed_has_exited(const struct stream_feed *);

/*
 * The target is gone: drains to the end, applies what is held back, counts
 * missing tickets as STREAM_WRITER_DIED.  Returns as stream_feed_pass().
 */
int stream_feed_finish(struct stream_feed *, int64_t now_ms);

/* Publishes the millisecond alone: the heartbeat of an idle keeper. */
void stream_feed_beat(struct stream_feed *, int64_t now_ms);

/*
 * Sleeps until a ring is a quarter full or timeout_ms; 0 or -ETIMEDOUT.  May
 * run beside a pass of another thread, until stream_feed_free().
 */
int stream_feed_wait_bell(struct stream_feed *, int timeout_ms);

const struct stream_feed_counts *stream_feed_counts(struct stream_feed *);

/* The next ticket due of each shard; borrowed until the next call. */
const uint32_t *stream_feed_due(struct stream_feed *);

/* True if the record drew its ticket at or after the cut; false without one. */
bool stream_after_cut(const struct rec *, const uint32_t cut[REC_SHARDS]);

#endif
