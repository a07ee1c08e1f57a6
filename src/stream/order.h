/*
 * order: from rings to one stream in which the records of each address stand
 * in their true order.  Private to this room.
 *
 * Vocabulary
 *	due		the next ticket of a shard.
 *	source		where a record comes from: a ring, or one slot of the
 *			common ring, whose slots are not in order of their tickets.
 *	merge		each source is read until a record is not due; the source
 *			then waits for that ticket and others go on.  The rings
 *			are the hold-back; nothing is put aside, and the records
 *			of a ring never overtake each other.
 *	follow		to wait, with a whole ring, until its leader has delivered
 *			what its thread had written there before: see reader.h.
 *			A thread's records are in its own order, so it can wait
 *			for the older ring as it can for an older ticket: what
 *			lies there was drawn earlier than all that waits.
 *	round		a look at all rings and a merge of what was seen.
 *	pass		at most two rounds; less, when it has taken as much as it
 *			may: the next pass then goes on within the round.
 *	hole		a ticket that is not due to be found: its thread is in
 *			flight, between drawing and publishing.
 *	owed		a ticket that was passed over and may still turn up.
 *	script		for the rest of a round, the tickets of one shard that
 *			are in hand, in order, with the holes left out.
 *	noted		said of a range in a shard: its ticket there has come up.
 *
 * Why a hole need not be waited for: a free is published before its block is
 * given back, an allocation before its address is used, so whatever must come
 * before a record on its address was published before the record drew its
 * ticket.  Once all heads have been read again after a record was seen, all
 * that is in hand with lower tickets may be delivered, then the record.
 */
#ifndef STREAM_ORDER_H
#define STREAM_ORDER_H

#include "reader.h"
#include "sitemap.h"
#include "stream.h"
#include "ticketmap.h"

#define ORDER_BATCH STREAM_SINK_MAX
#define ORDER_RANGES_MAX 1024	/* ranges that are under way at once */
#define ORDER_OWED_MAX 256	/* of one shard: as many threads frozen in flight */
#define ORDER_COMMON 256	/* source id of slot 0 of the common ring */
#define ORDER_SOURCES (ORDER_COMMON + RING_COMMON_SLOTS)

/* Why a shard is off the fast path. */
struct shard_wait {
	uint32_t waiters;	/* tickets that sources wait for */
	uint32_t owed;
	uint32_t ranges;	/* under way, and noted here */
	uint32_t script;	/* next of order.script[] ... */
	uint32_t script_end;	/* ... and its end; equal: no script */
};

/* What has been taken from a ring and not been delivered. */
struct source {
	struct rec chunk[READER_CHUNK];
	uint16_t at, n;
	uint16_t followers;	/* rings that wait for this one */
	bool waits;		/* for the turn of a ticket */
	bool follows;		/* for another ring */
};

enum slot_state {
	SLOT_EMPTY,		/* not valid when last looked at */
	SLOT_READ,		/* copied */
	SLOT_WAITS,		/* for its turn */
	SLOT_DONE,
};

struct common_slot {
	struct rec rec;
	uint32_t round;		/* in which it was read */
	uint16_t next;		/* of its thread's reallocs, from 1 on; 0: none */
	uint8_t state;		/* enum slot_state */
	bool linked;		/* is of a realloc ... */
	bool behind;		/* ... and has one before it undelivered: waits */
	bool passed;		/* undelivered, and the offer is beyond it */
};

/* A range whose record is at the front of its source. */
struct order_range {
	uint64_t addr, len;
	uint64_t noted[REC_SHARDS / 64];
	uint32_t left;		/* shards in which it is not noted yet */
	uint16_t source;
};

/* What a round found in hand of one shard, as distances from due. */
struct shard_tally {
	uint32_t count;
	int32_t max;
	int32_t old_max;	/* of those that may go; INT32_MIN: none */
	bool scripted;
};

/* What a round does next. */
enum order_step {
	ORDER_LOOK,
	ORDER_MERGE,		/* what was seen ... */
	ORDER_SCRIPTED,		/* ... what holes kept waiting ... */
	ORDER_LATE,		/* ... and what owed tickets did, now lost */
};

/*
 * Words that every pass reads and writes stand first: what a program has so few
 * records for that it never uses it costs no page then.
 */
struct order {
	struct reader *reader;
	struct sitemap *sites;
	const struct stream_sink *sink;
	void *arg;
	struct stream_feed_counts *counts;
	int64_t now_ms;
	int64_t clock_ahead;	/* of now_ms to the machine's clock */
	uint64_t left;		/* records that the pass may still take */
	enum order_step step;
	uint32_t round;
	bool dead;		/* the target writes no more: all is old */
	bool finished;		/* and the account of what never came has been given */

	unsigned nbatch;		/* of batch[] */
	unsigned nready, nbehind;	/* of ready[] and behind[] */
	unsigned nranges;
	uint64_t *in_hand;		/* shard << 32 | distance: what scripts are made of */
	size_t nin_hand, in_hand_cap;
	uint32_t *script;
	size_t script_cap;
	uint32_t tallied;	/* the last round in which all in hand was counted */

	uint64_t dropped;		/* by producers, counted so far */
	uint64_t sample_full;		/* likewise */
	uint64_t common_undelivered;
	uint64_t common_offered;	/* how many were left by the last offer */
	uint64_t common_next;		/* the claim that it has come to */
	bool common_stopped;
	unsigned range_n;		/* of range_shard[] and range_ticket[] */

	struct ticketmap waiters;	/* to source id + 1 */
	struct ticketmap owed;		/* to rounds: skipped << 32 | last seen */

	/* due, and above its 32 bits 1 if anything in wait[] is not 0 */
	uint64_t shard[REC_SHARDS];
	struct shard_wait wait[REC_SHARDS];
	struct shard_tally tally[REC_SHARDS];
	uint16_t ready[ORDER_SOURCES];
	uint16_t behind[ORDER_SOURCES];	/* sources that wait for a range */

	/* Many programs never come to what follows here, or to the most of it. */
	uint16_t range_shard[REC_SHARDS];	/* the range last opened */
	uint32_t range_ticket[REC_SHARDS];
	struct order_range ranges[ORDER_RANGES_MAX];
	uint16_t common_last[UINT16_MAX + 1];	/* by thread: its last slot that is linked, from 1 on */

	uint16_t common_passed[UINT16_MAX + 1];	/* by thread: how many of its slots are */

	struct rec batch[ORDER_BATCH];
	struct source source[RING_COUNT];
	struct rec payload[RING_COUNT + 1][RING_RANGE_SLOTS];	/* [RING_COUNT]: scratch */
	struct common_slot common[RING_COMMON_SLOTS];
};

/* Its memory is the caller's, zeroed, and large. */
void order_init(struct order *, struct reader *, struct sitemap *,
    const struct stream_sink *, void *arg, struct stream_feed_counts *);
void order_fini(struct order *);

/* Before the first pass. */
void order_start_at(struct order *, const uint32_t tickets[REC_SHARDS]);

/* The target goes to sleep: what has been taken and not delivered is void. */
void order_void(struct order *);

/*
 * At most two rounds, or what is left of one, and about `max` records.
 * 0, -EPROTO or -ENOMEM.
 */
int order_pass(struct order *, int64_t now_ms, uint64_t max);
/* The rest of a dead target's records, and the account of what never came. */
int order_finish(struct order *, int64_t now_ms);

/*
 * What outlives a keeper of all this.  It is saved between two rounds, where
 * nobody has a turn, or in the middle of a merge that no range and no common
 * slot is part of: what sources wait for comes about anew when they are run, by
 * a round that looks first.  The arrays are filled as far as their counts say.
 */
struct order_range_state {
	uint64_t noted[REC_SHARDS / 64];
	uint32_t source, pad;
};

struct order_slot_state {
	uint32_t at;		/* the claim, from the first that has not been released */
	uint32_t round;		/* in which it was read */
};

struct order_state {
	uint32_t round;
	uint32_t nowed, nranges, nslots;
	uint8_t dead, finished, pad[6];
	uint32_t due[REC_SHARDS];
	uint64_t done[RING_COMMON_SLOTS / 64];	/* slots, delivered and not released */
	struct order_range_state ranges[ORDER_RANGES_MAX];
	struct order_slot_state slots[RING_COMMON_SLOTS];	/* read, not delivered */
	struct ticketmap_entry owed[REC_SHARDS * ORDER_OWED_MAX];
};

/* Only when order_can_save().  Fills `in_hand` of the reader's state too. */
void order_save(const struct order *, struct order_state *,
    struct reader_state *);
/*
 * After order_init(), of a reader that has been resumed; delivers nothing.
 * -EINVAL for a state that cannot be, -EPROTO when the records that it speaks
 * of are not there, -ENOMEM.
 */
int order_resume(struct order *, const struct order_state *,
    const struct reader_state *);

/* --- between order.c and the other files of its name -------------------- */

/*
 * Past the merge scripts say whose turn it is, and they are made of what one
 * look has seen.
 */
static inline bool
order_can_save(const struct order *o)
{
	const struct reader_ring *common = &o->reader->rings[RING_COMMON];

	return o->step == ORDER_LOOK || (o->step == ORDER_MERGE &&
	    o->nranges == 0 && common->pos == common->seen);
}

static inline uint32_t
order_due(const struct order *o, unsigned s)
{
	return (uint32_t)o->shard[s];
}

static inline bool
order_is_over(const struct order *o)
{
	return o->left == 0;
}

static inline void
order_spend(struct order *o, unsigned records)
{
	o->left -= records < o->left ? records : o->left;
}

static inline bool
order_scripted(const struct order *o, unsigned s)
{
	return o->wait[s].script != o->wait[s].script_end;
}

/* Sets a shard's due ticket and whether it is off the fast path. */
static inline void
order_set(struct order *o, unsigned s, uint32_t due)
{
	const struct shard_wait *w = &o->wait[s];
	bool busy = w->waiters != 0 || w->owed != 0 || w->ranges != 0 ||
	    w->script != w->script_end;

	o->shard[s] = due | (uint64_t)busy << 32;
}

static inline void
order_touch(struct order *o, unsigned s)
{
	order_set(o, s, order_due(o, s));
}

/* The record that a source has at its front. */
static inline const struct rec *
order_front(const struct order *o, unsigned id)
{
	if (id >= ORDER_COMMON)
		return &o->common[id - ORDER_COMMON].rec;
	return &o->source[id].chunk[o->source[id].at];
}

static inline struct common_slot *
common_at(struct order *o, uint64_t n)
{
	return &o->common[n % RING_COMMON_SLOTS];
}

/* order.c */
uint64_t order_held(const struct order *);	/* seen and not delivered */
int order_put(struct order *, const struct rec *);
void order_lose(struct order *, unsigned cause, uint64_t count);
void order_ready(struct order *, unsigned id);
bool order_turn(const struct order *, unsigned s, uint32_t ticket);
int order_take_turn(struct order *, unsigned s, uint32_t ticket);
int order_take_ticket(struct order *, unsigned s, uint32_t ticket);	/* out of turn */
int order_wait_turn(struct order *, unsigned id, unsigned s, uint32_t ticket);
int order_wake(struct order *, unsigned s);
/* One record that is not on the fast path: 1 done, 0 its source waits. */
int order_run(struct order *, unsigned id, const struct rec *);

/*
 * order_common.c: reads what is valid, offers it, and the rest of it when what
 * stopped the offer may be gone; gives room back.
 */
int common_read(struct order *);
int common_offer(struct order *);
int common_offer_rest(struct order *);
void common_release(struct order *);
int common_run(struct order *, unsigned id);
void common_save(const struct order *, struct order_state *);
int common_resume(struct order *, const struct order_state *);

/*
 * order_pairs.c: what has become a pair since it was taken; and one whose
 * allocation has its turn: 1, or an error.
 */
int pair_read(struct order *);
int pair_run(struct order *, const struct rec *, unsigned s);

/* order_range.c: 1 done, 0 the source waits, or an error. */
int range_run(struct order *, unsigned id);
/* The range under way of this source, or NULL. */
struct order_range *range_of(struct order *, unsigned id);
/* Counts a range as noted in s; true when it was the last of its shards. */
bool range_note(struct order *, struct order_range *, unsigned s);
/* True when a range that covers addr has been noted in s and is under way. */
bool range_covers(const struct order *, unsigned s, uint64_t addr);
/*
 * Puts the shards and tickets of a range into range_shard[] and
 * range_ticket[]: of one whose payload is at hand, or of the source's front.
 */
int range_open(struct order *, const struct rec *, const struct rec *payload);
int range_open_front(struct order *, unsigned id);
/* The range at the front of the source is under way, and noted so far. */
int range_resume(struct order *, unsigned id,
    const uint64_t noted[REC_SHARDS / 64]);

/* order_holes.c: gives scripts to shards whose old records are kept by a hole. */
int holes_script(struct order *);
void holes_end_scripts(struct order *);
/* Owed tickets that cannot turn up any more are lost; a merge has to follow. */
int holes_settle(struct order *);

#endif
