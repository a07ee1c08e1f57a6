/*
 * reader: the keeper's side of the shared memory.  Private to this room, and
 * the one place that touches what a target can write.  Each shared word is read
 * once into the keeper's own memory; only the copy is checked and used, and
 * indexes are masked with sizes that the keeper knows itself.
 *
 * Vocabulary
 *	look		one reading of all in-flight words, then of all heads.
 *	seen		a ring's head at the last look; records before it may be
 *			taken.
 *	old		seen at an earlier look already.  All heads having been
 *			read again since, whatever must come before an old record
 *			on its address has been seen as well.
 *	take		to copy records out and give their room back.
 *	peek		to copy records without giving room back.
 *	class		what the keeper does with a record; from op and level.
 *	done		records of a ring that have been delivered.  The ring's tail
 *			counts these, not the taken ones: the records of a drained
 *			ring are in the stream.
 *	follow		records of a ring from a certain one on come after those of
 *			another ring, its leader, up to some end.
 *	void		a record made while the target was dormant: it has its place
 *			in the order and no meaning.  Its copy has a level that no
 *			producer writes.
 *	hold		only a commit gives room back to producers: records that
 *			were delivered since the last commit are still in the
 *			rings, and the next keeper delivers them again.
 *	pair		an allocation and its free in one record: one of the last
 *			RING_PAIRS of a ring may become one after it has been taken
 *			as an allocation.  These are read again after each look at
 *			which the ring has more pairs.
 *	pairable	a record taken as an allocation that may become a pair.
 *
 * Example: one round
 *	reader_look(r);
 *	while ((n = reader_take(r, ring, recs, READER_CHUNK, payload)) > 0)
 *		...
 *	reader_release(r);
 *
 * Functions that read return -EPROTO when they find what no producer writes.
 */
#ifndef STREAM_READER_H
#define STREAM_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "../ring.h"

struct stream_areas;

#define READER_CHUNK 64

#define READER_LEVEL_VOID 7	/* no producer writes it */

/* How far a record's millisecond may be from the one it is compared with. */
#define READER_MS_NEAR (INT64_C(1) << 30)

enum rec_class {
	CLASS_BAD,
	CLASS_VOID,		/* these four never come from a target */
	CLASS_VOID_TICKET,
	CLASS_VOID_PAIR,
	CLASS_VOID_RANGE,
	CLASS_TICKET,		/* in the order of its shard */
	CLASS_PAIR,		/* has the next ticket of it, too */
	CLASS_PLAIN,		/* a failed request: in the order of its ring */
	CLASS_RANGE,		/* has several tickets, in the slots behind it */
	CLASS_CONTROL,		/* has no millisecond */
};

struct reader_ring {
	const struct rec *recs;
	uint64_t pos;		/* records taken */
	uint64_t done;		/* records delivered */
	uint64_t seen;		/* head at the last look */
	uint64_t before;	/* head at the look before that: up to here, old */
	uint64_t released;	/* done when the tail was last written */
	uint64_t quota;		/* records taken since then that make the tail move at once */
	uint64_t saved;		/* done at the last save: what a commit gives back */
	uint64_t after;		/* ring_head.after at the last look */
	uint64_t from;		/* the first record that follows */
	uint64_t end;		/* where the leader must have come to */
	uint16_t leader;
	bool follows;		/* the leader is not there yet */
	uint64_t dropped;
	uint32_t mask;		/* capacity - 1 */
	uint32_t not_before;	/* ms of the last visit that found it empty */
	uint32_t pairs_now;	/* ring_head.pairs at the last look */
	uint32_t pairs;		/* of these: read */
	uint32_t pairs_saved;	/* read at the last save */
	uint32_t pairs_shown;	/* told to the producer */
	uint64_t pairable_from;	/* `pairable` is of records from there on, up to pos */
	uint64_t pairable[RING_PAIRS / 64];
};

/* A stack and a module of a target, checked. */
struct reader_site {
	uint64_t frame[RING_STACK_MAX];	/* modules below RING_MODULES */
	unsigned depth;			/* 1 to RING_STACK_MAX */
	enum ring_end end;
};

struct reader_module {
	uint64_t start, end, bias;
	unsigned build_id_len;		/* 0: has none */
	uint8_t build_id[32];
	bool cut;			/* path is not all of it */
	char path[RING_PATH + 1];
};

/* A record taken as an allocation that has become a pair. */
struct reader_pair {
	struct rec rec;
	uint64_t at;		/* count of the record in its ring */
};

struct reader {
	const struct ring_area *area;		/* mapped read-only */
	const struct ring_slot *slots;
	struct keeper_area *keeper;
	bool joined;				/* the target says it has mapped its area */
	unsigned nrings;			/* rings that have ever been taken */
	unsigned threads;			/* thread indices given out */
	int64_t latest;				/* highest millisecond published: no record has a later one */
	int64_t armed_at;			/* records from before it are void; 0: never dormant */
	int64_t beat;				/* millisecond published last */
	bool dormant;				/* all records are void */
	unsigned listed;			/* robust_add() */
	bool no_wait;
	bool hold;
	uint64_t armings;			/* as in the keeper's area */
	uint32_t now;				/* low half of the millisecond */
	uint32_t visit;				/* the same at the look before */
	uint64_t dropped;			/* in all rings, ever */
	uint64_t far_addresses;
	uint32_t unfinished;			/* of ring_area.unsure */
	uint64_t sites_full;
	uint64_t walks;
	uint64_t sample_full;
	uint64_t marks_untold;
	uint32_t past;			/* enum ring_past */
	struct reader_ring rings[RING_COUNT + 1];	/* [RING_COMMON]: slots */
	uint64_t inflight[REC_SHARDS / 64];	/* shards with a thread in flight */
	uint8_t class[256];			/* by flags */
};

/* fds[0] the ring area, fds[1] the keeper's: the caller's. */
int reader_open(struct reader *, int fds[2], bool no_wait);
/* The same for a keeper with successors: see stream_feed_new_persistent(). */
int reader_open_persistent(struct reader *, int fds[3], bool no_wait);
/* See stream_feed_leave(), stream_feed_new_again() and stream_areas_close(). */
void reader_leave(struct reader *, struct stream_areas *);
void reader_open_again(struct reader *, struct stream_areas *, int fds[3],
    bool no_wait);
void reader_close_areas(struct stream_areas *);

/* Marks the keeper as gone, and unmaps. */
void reader_close(struct reader *);
/* Only unmaps: another process goes on. */
void reader_unmap(struct reader *);

/* The state of a ring that outlives a keeper. */
struct ring_state {
	uint64_t pos, done, seen;
	uint64_t after, from, end;
	uint64_t dropped;
	uint32_t not_before;
	uint16_t leader;
	uint8_t follows;
	uint8_t in_hand;	/* records taken and not delivered; filled by order_save() */
	uint64_t pairable_from, pairable[RING_PAIRS / 64];
};

struct reader_state {
	uint64_t dropped, far_addresses, sites_full, walks, sample_full;
	uint64_t marks_untold, armings;
	int64_t latest, armed_at;
	uint32_t nrings, threads, now;
	uint8_t joined, dormant, no_wait, pad;
	struct ring_state rings[RING_COUNT + 1];	/* the first nrings, and the last */
};

/* From now on only reader_commit() gives room back: of what was saved last. */
void reader_hold(struct reader *);
void reader_save(struct reader *, struct reader_state *);
void reader_commit(struct reader *);

/*
 * Maps areas that another process has made and resumes from its state; the
 * target is told by reader_resumed().  The descriptors stay the caller's.
 * -EINVAL for areas or a state that are not ours, -ESTALE when room has been
 * given back behind the state.
 */
int reader_resume(struct reader *, const int fds[2],
    const struct reader_state *);
/* See stream_feed_abandon(). */
int reader_abandon(const int fds[2]);
/* See stream_feed_area(). */
int reader_which(int fd);
/* Tells the target; wakes threads that sleep for room. */
void reader_resumed(struct reader *);

/* Marks the keeper as gone: wakes threads that wait, and none waits again. */
void reader_gone(struct reader *);

/* Publishes and returns the millisecond, at least that of the last arming. */
int64_t reader_beat(struct reader *, int64_t now_ms);

/* See stream_feed_sandbox(). */
void reader_sandbox(struct reader *, enum ring_sandbox, uint64_t looks);

/* See stream_feed_has_exited(). */
bool reader_has_exited(const struct reader *);

/* The request for cuts that the target has carried out. */
uint32_t reader_cuts(const struct reader *);

/* See stream_feed_arm(); true if that changes anything. */
bool reader_arm(struct reader *, bool armed, int64_t now_ms);
/* See stream_feed_owner_changed(). */
void reader_owner_changed(struct reader *);

/* Makes a copy void, unless it is of a control record. */
void reader_void(const struct reader *, struct rec *);


/* Reads in-flight words, then heads and drops, then who follows whom. */
int reader_look(struct reader *);

/*
 * Records of ring i that have become pairs since they were taken as
 * allocations; returns their number.  Call it for each ring after each look,
 * before anything is taken; deliver the pairs, or store them as pairs, before
 * room is given back or a state saved.
 */
int reader_pairs(struct reader *, unsigned i,
    struct reader_pair out[RING_PAIRS]);

/* Records of ring i that may be taken; 0: its leader must come to the end. */
uint64_t reader_may_take(struct reader *, unsigned i);

/*
 * Copies up to max records of ring i that have been seen, checks them and
 * brings their milliseconds between the last visit and now.  All taken before
 * must have been delivered.  A range comes alone, with the slots behind it in
 * payload (RING_RANGE_SLOTS of room).  Returns the number of records.
 */
int reader_take(struct reader *, unsigned i, struct rec *out, int max,
    struct rec *payload);

/* Copies n seen records unchecked, without taking; not of the common ring. */
void reader_peek(const struct reader *, unsigned i, uint64_t at, int n,
    struct rec *out);

/*
 * Copies the record of claim n of the common ring.  1, or 0 when it is not
 * valid yet; -EPROTO for an impossible lap.  Slots behind a range are not valid
 * by themselves: reader_claim_more() copies them once the range is.
 */
int reader_claim(struct reader *, uint64_t n, struct rec *);
int reader_claim_more(struct reader *, uint64_t n, struct rec *);

/* The common ring's claims before n have been dealt with. */
void reader_claims_done(struct reader *, uint64_t n);

/* All taken of ring i has been delivered but `left` slots. */
static inline void
reader_done(struct reader *r, unsigned i, unsigned left)
{
	r->rings[i].done = r->rings[i].pos - left;
}

/* Tells producers of free room and of pairs read, and wakes those that wait. */
void reader_release(struct reader *);

/* Copy site and module `no` out: -EPROTO for what no target of ours writes. */
int reader_site(const struct reader *, uint32_t no, struct reader_site *);
int reader_module(const struct reader *, unsigned no, struct reader_module *);

/* Sleeps until the bell differs from *told, which is updated, or timeout_ms. */
int reader_wait_bell(const struct reader *, uint32_t *told, int timeout_ms);

static inline enum rec_class
reader_class(const struct reader *r, const struct rec *rec)
{
	return r->class[rec_flags(rec)];
}

/* True for a class that a target can write. */
static inline bool
reader_class_raw(enum rec_class class)
{
	return class >= CLASS_TICKET;
}

/*
 * The two halves of a pair that is not void.  Word by word: a wider load of
 * what has just been stored in other pieces would wait for the stores.
 */
static inline void
reader_split_live(const struct rec *pair, struct rec *alloc, struct rec *free)
{
	uint64_t w0 = pair->w[0], w1 = pair->w[1], w2 = pair->w[2];
	uint64_t op = w0 & REC_OP_MASK;

	alloc->w[0] = w0 - op + rec_op_bits(REC_ALLOC);
	alloc->w[1] = w1;
	alloc->w[2] = w2;
	alloc->w[3] = pair->w[3];
	/* The allocation's level.  The op, four bits up, says which type. */
	free->w[0] = (w0 & REC_ADDR_MASK) + (op << 4) +
	    rec_w0(0, REC_FLAGS(REC_FREE, 0), TYPE_FREE - REC_PAIR);
	free->w[1] = w1 & ~REC_ADDR_MASK;
	free->w[2] = rec_w2((uint32_t)w2 + 1, (uint32_t)(w2 >> 32));
	free->w[3] = 0;
}

/* The same of any pair: void makes both halves void. */
static inline void
reader_split(const struct rec *pair, struct rec *alloc, struct rec *free)
{
	bool is_void = rec_level(pair) == READER_LEVEL_VOID;

	reader_split_live(pair, alloc, free);
	if (is_void)
		free->w[0] |= (uint64_t)READER_LEVEL_VOID << 48;
}

static inline bool
reader_inflight(const struct reader *r, unsigned shard)
{
	return r->inflight[shard / 64] >> shard % 64 & 1;
}

/* The number of slots behind a range; 0 if its length is 0. */
static inline unsigned
reader_range_slots(const struct rec *rec, uint64_t set[RING_RANGE_WORDS])
{
	if (rec_size(rec) == 0)
		return 0;
	return (ring_range_shards(rec_addr(rec), rec_size(rec), set) +
		   RING_RANGE_TICKETS - 1) / RING_RANGE_TICKETS;
}

#endif
