/*
 * order: from rings to one stream in which the records of each address stand
 * in their true order.  Private to this room.
 *
 * Vocabulary
 *	due		the next ticket of a shard.
 *	source		a ring, or one slot of the common ring, whose slots are
 *			not in the order of their tickets.
 *	merge		reads each source until a record is not due; the source
 *			then waits for that ticket and others go on.  Records
 *			that wait stay in their ring and never overtake each
 *			other there.
 *	follow		a whole ring waits until its leader has delivered what the
 *			thread wrote there before (reader.h).  That cannot
 *			deadlock: those records drew their tickets earlier than
 *			all that waits.
 *	round		a look at all rings and a merge of what was seen.
 *	pass		at most two rounds; fewer when it has taken `max` records:
 *			the next pass then goes on within the round.
 *	hole		a due ticket that no source has: its thread is in flight,
 *			between drawing and publishing.
 *	owed		a ticket that was passed over and may still turn up.
 *	script		for the rest of a round, the tickets of one shard that
 *			are in hand, in order, without the holes.
 *	noted		a range is noted in a shard when its ticket there has come
 *			up.
 *
 * A hole need not be waited for.  A free is published before its block is given
 * back, an allocation before its address is used: whatever must come before a
 * record on its address was published before the record drew its ticket.  Once
 * all heads have been read again after a record was seen, all lower tickets in
 * hand may be delivered, then the record.
 */
#ifndef STREAM_ORDER_H
#define STREAM_ORDER_H

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "feed.h"
#include "reader.h"

#define ORDER_BATCH STREAM_SINK_MAX
#define ORDER_RANGES_MAX 1024	/* ranges that are under way at once */
#define ORDER_OWED_MAX 256	/* of one shard: as many threads frozen in flight */
#define ORDER_COMMON 256	/* source id of slot 0 of the common ring */
#define ORDER_SOURCES (ORDER_COMMON + RING_COMMON_SLOTS)

/* --- site numbers (feed.c) -------------------------------------------------- */

/*
 * From the numbers that a target gives to its sites and modules to those of a
 * store.  A site is copied into the store when a record first names it; after
 * that each record costs a load and a test.  A stack without a place in the
 * store, or without a store, becomes its innermost return address.
 */
struct sitemap {
	const struct reader *reader;
	struct stream_sites *sites;	/* a reference; NULL: none */
	uint64_t *caller;		/* by the target's number; grown as numbers come */
	size_t ncaller;			/* at most RING_SITES: 1 MiB */
	uint64_t full;			/* records whose stack the store had no room for */
	uint16_t module[RING_MODULES];	/* by the target's number */
	bool module_known[RING_MODULES];
};

#define SITEMAP_KNOWN (UINT64_C(1) << 63)	/* in caller[]: it is valid */

/* The slow path: translates the target's site `no`. */
int sitemap_learn(struct sitemap *, uint32_t no);

/*
 * Replaces the site's number in word 3 of a record by the store's.  0; -EPROTO
 * for a number that is no site, -ENOMEM: the word is then unchanged.
 */
static inline int
sitemap_caller(struct sitemap *m, uint64_t *w3)
{
	uint32_t no = rec_site(*w3 & REC_ADDR_MASK);
	uint64_t caller;
	int err;

	if ((__builtin_expect(no >= m->ncaller, 0) ||
		__builtin_expect(m->caller[no] == 0, 0)) &&
	    (err = sitemap_learn(m, no)) != 0)
		return err;
	caller = m->caller[no] & REC_ADDR_MASK;
	if (__builtin_expect(!rec_is_site(caller), 0))
		m->full += m->sites != NULL;
	*w3 = (*w3 & ~REC_ADDR_MASK) | caller;
	return 0;
}

/*
 * A hash table from (shard, ticket) to a value other than 0.  Open addressing;
 * a removal closes the gap, so that it does not wear out; it grows and never
 * shrinks.  The seed is random, for a target may choose its keys.
 */
struct ticketmap_entry {
	uint64_t key;		/* shard << 32 | ticket */
	uint64_t value;		/* 0: empty */
};

struct ticketmap {
	struct ticketmap_entry *entries;
	uint64_t seed;		/* odd */
	uint32_t used;
	uint32_t mask;		/* size - 1; entries is NULL before the first put */
	unsigned shift;
};

static inline uint64_t
ticketmap_key(unsigned shard, uint32_t ticket)
{
	return (uint64_t)shard << 32 | ticket;
}

static inline uint32_t
ticketmap_home(const struct ticketmap *m, uint64_t key)
{
	return (uint32_t)((key * m->seed) >> m->shift);
}

/* Borrowed; NULL if absent. */
static inline struct ticketmap_entry *
ticketmap_get(const struct ticketmap *m, uint64_t key)
{
	if (m->used == 0)
		return NULL;
	for (uint32_t i = ticketmap_home(m, key);; i = (i + 1) & m->mask) {
		if (m->entries[i].value == 0)
			return NULL;
		if (m->entries[i].key == key)
			return &m->entries[i];
	}
}

static inline int
ticketmap_resize(struct ticketmap *m, unsigned bits)
{
	struct ticketmap to = {
		.seed = m->seed,
		.used = m->used,
		.mask = (UINT32_C(1) << bits) - 1,
		.shift = 64 - bits,
	};

	to.entries = calloc((size_t)to.mask + 1, sizeof(*to.entries));
	if (to.entries == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; m->entries != NULL && i <= m->mask; i++) {
		uint32_t at;

		if (m->entries[i].value == 0)
			continue;
		at = ticketmap_home(&to, m->entries[i].key);
		while (to.entries[at].value != 0)
			at = (at + 1) & to.mask;
		to.entries[at] = m->entries[i];
	}
	free(m->entries);
	*m = to;
	return 0;
}

/* -EEXIST when the key is there already, -ENOMEM. */
static inline int
ticketmap_put(struct ticketmap *m, uint64_t key, uint64_t value)
{
	uint32_t i;
	int err;

	if (m->entries == NULL || m->used >= m->mask / 2) {
		err = ticketmap_resize(m,
		    m->entries == NULL ? 8 : 64 - m->shift + 1);
		if (err != 0)
			return err;
	}
	i = ticketmap_home(m, key);
	for (; m->entries[i].value != 0; i = (i + 1) & m->mask)
		if (m->entries[i].key == key)
			return -EEXIST;
	m->entries[i] = (struct ticketmap_entry) { key, value };
	m->used++;
	return 0;
}

/* Removes an entry that ticketmap_get() gave. */
static inline void
ticketmap_remove(struct ticketmap *m, struct ticketmap_entry *entry)
{
	uint32_t gap = (uint32_t)(entry - m->entries), i = gap;

	for (;;) {
		i = (i + 1) & m->mask;
		if (m->entries[i].value == 0)
			break;
		/* Entry i moves into the gap unless its home lies behind it. */
		if (((i - ticketmap_home(m, m->entries[i].key)) & m->mask) <
		    ((i - gap) & m->mask))
			continue;
		m->entries[gap] = m->entries[i];
		gap = i;
	}
	m->entries[gap].value = 0;
	m->used--;
}

/* Why a shard is off the fast path. */
struct shard_wait {
	uint32_t waiters;	/* tickets that sources wait for */
	uint32_t owed;
	uint32_t ranges;	/* under way, and noted here */
	uint32_t script;	/* index of the next ticket in order.scripts */
	uint32_t script_end;	/* equal: no script */
};

/* Records taken from a ring and not delivered. */
struct source {
	struct rec chunk[READER_CHUNK];
	uint16_t at, n;
	uint16_t followers;	/* rings that wait for this one */
	bool waits;		/* for a ticket to be due */
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
	bool linked;		/* of a realloc */
	bool behind;		/* linked behind one that is undelivered: waits */
	bool passed;		/* undelivered, and the offer is beyond it */
};

/* The state of the common ring's slots. */
struct common_ring {
	uint16_t last[UINT16_MAX + 1];	/* by thread: its last slot that is linked, from 1 on */
	uint16_t passed[UINT16_MAX + 1];	/* by thread: how many of its slots are */
	struct common_slot slot[RING_COMMON_SLOTS];
};

/* How far the slots of the common ring have been offered to the merge. */
struct common_offer {
	uint64_t undelivered;
	uint64_t offered;	/* undelivered after the last offer */
	uint64_t next;		/* the next claim to offer */
	bool stopped;
};

/* Addresses of records that have passed ranges under way: twice what a ring holds. */
#define ORDER_PASSES (2 * RING_LARGE)

/* A range whose record is at the front of its source. */
struct order_range {
	uint64_t addr, len;
	uint64_t noted[REC_SHARDS / 64];
	uint32_t left;		/* shards in which it is not noted yet */
	uint32_t passed;	/* addresses whose records have passed it */
	uint16_t source;
};

/* The shards and tickets of the range last opened. */
struct range_tickets {
	unsigned n;
	uint16_t shard[REC_SHARDS];
	uint32_t ticket[REC_SHARDS];
};

/* The tickets of one shard in hand in a round, as distances from due. */
struct shard_tally {
	uint32_t count;
	int32_t max;
	int32_t old_max;	/* of old records; INT32_MIN: none */
	bool scripted;
};

struct order_scripts {
	uint64_t *in_hand;	/* shard << 32 | distance: what they are made of */
	size_t n, cap;
	uint32_t *ticket;
	size_t ticket_cap;
	uint32_t tallied;	/* the last round in which all in hand was counted */
};

enum order_step {
	ORDER_LOOK,
	ORDER_MERGE,		/* deliver what was seen */
	ORDER_SCRIPTED,		/* deliver what waited for holes */
	ORDER_LATE,		/* deliver what waited for owed tickets, now lost */
};

struct order_pass {
	int64_t now_ms;
	int64_t clock_ahead;	/* of now_ms to the machine's clock */
	uint64_t left;		/* records that the pass may still take */
	enum order_step step;
	bool tears;		/* records pass ranges that they have waited for */
	uint32_t round;
};

enum order_target {
	ORDER_RUNNING,
	ORDER_DEAD,		/* writes no more: all records are old */
	ORDER_FINISHED,		/* and tickets that never came are counted */
};

/* Words of every pass come first: unused arrays then cost no page. */
struct order {
	struct reader *reader;
	struct sitemap *sites;
	const struct stream_sink *sink;
	void *arg;
	struct stream_feed_counts *counts;
	struct order_pass pass;
	enum order_target target;

	unsigned nbatch;		/* of batch[] */
	unsigned nready, nbehind;	/* of ready[] and behind[] */
	unsigned nranges;
	struct order_scripts scripts;
	uint64_t dropped, sample_full;	/* of the reader's, counted so far */
	struct common_offer offer;

	struct ticketmap waiters;	/* to source id + 1 */
	struct ticketmap owed;		/* to rounds: skipped << 32 | last seen */
	struct ticketmap passed;	/* source << 48 | address: records that passed its range */

	/* due, and above its 32 bits 1 if anything in wait[] is not 0 */
	uint64_t shard[REC_SHARDS];
	struct shard_wait wait[REC_SHARDS];
	struct shard_tally tally[REC_SHARDS];
	uint16_t ready[ORDER_SOURCES];
	uint16_t behind[ORDER_SOURCES];	/* sources that wait for a range */

	/* Many programs use little of what follows. */
	struct range_tickets opened;
	struct order_range ranges[ORDER_RANGES_MAX];
	struct rec batch[ORDER_BATCH];
	struct source source[RING_COUNT];
	struct rec payload[RING_COUNT + 1][RING_RANGE_SLOTS];	/* [RING_COUNT]: scratch */
	struct common_ring common;
};

/* In zeroed memory of the caller's. */
void order_init(struct order *, struct reader *, struct sitemap *,
    const struct stream_sink *, void *arg, struct stream_feed_counts *);
void order_fini(struct order *);

/* Before the first pass. */
void order_start_at(struct order *, const uint32_t tickets[REC_SHARDS]);

/* The target is disarmed: makes taken, undelivered records void. */
void order_void(struct order *);

/* Two rounds at most, and about `max` records.  0, -EPROTO or -ENOMEM. */
int order_pass(struct order *, int64_t now_ms, uint64_t max);
/* Delivers the rest of a dead target's records and counts what never came. */
int order_finish(struct order *, int64_t now_ms);

/*
 * The state that outlives a keeper.  It is saved between two rounds, or within
 * a merge without ranges and common slots: the next round finds out again what
 * each source waits for.  Arrays are filled as far as their counts say.
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
 * After order_init() with a resumed reader; delivers nothing.  -EINVAL for an
 * impossible state, -EPROTO when records of the state are not there, -ENOMEM.
 */
int order_resume(struct order *, const struct order_state *,
    const struct reader_state *);

/*
 * False while scripts decide, for they are made of what one look has seen, and
 * until a torn range has ended.
 */
static inline bool
order_can_save(const struct order *o)
{
	const struct reader_ring *common = &o->reader->rings[RING_COMMON];

	return o->passed.used == 0 &&
	    (o->pass.step == ORDER_LOOK || (o->pass.step == ORDER_MERGE &&
	    o->nranges == 0 && common->pos == common->seen));
}

static inline uint32_t
order_due(const struct order *o, unsigned s)
{
	return (uint32_t)o->shard[s];
}

#endif
