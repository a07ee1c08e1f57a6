/*
 * The child's heap is its parent's as it was at the fork.  By the time the child
 * says hello, the parent's list is past the cut, so it is copied with what came
 * after the cut undone.
 *
 * The retained queue is walked backwards from its end.  A record after the cut
 * is undone: the block of an allocation goes; the block of a free comes back,
 * from the list's memory of removed blocks or, if allocation and free cancelled
 * each other in one batch, from the allocation's record, which the walk meets
 * next.  So the first record after the cut on an address decides.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/hashmap.h"
#include "../keeper/node.h"
#include "images.h"

#define COPY_BLOCKS 1024
#define CATCH_UP_MS 10
#define CATCH_UP_PASSES 2

enum at_cut {
	CUT_ABSENT,		/* not listed at the cut */
	CUT_LISTED,		/* listed: blk */
	CUT_WANTED,		/* listed, if its allocation is found */
};

struct change {
	uint64_t key;		/* address and layer */
	enum at_cut at_cut;
	struct blk blk;
};

struct walk {
	struct keeper *parent;
	uint16_t *thread;		/* the child's index of each of the parent's; 0: none yet */
	const uint32_t *cut;
	struct hashmap changes;	/* of struct change: what differs between now and the cut */
	size_t wanted;		/* changes that are CUT_WANTED */
	int64_t remaining;	/* tickets after the cut not yet met */
	uint32_t removed;	/* place in the list's memory, from the last one back */
	uint64_t last_after;	/* sequence number of the last record undone */
	int err;
};

static uint64_t
key_of(unsigned layer, uint64_t addr)
{
	return addr | (uint64_t)layer << 63;
}

static void
set_change(struct walk *w, uint64_t key, enum at_cut at_cut,
    const struct blk *blk)
{
	struct change *ch;

	if (w->err < 0)
		return;
	ch = hashmap_add(&w->changes, key);
	if (ch == NULL) {
		w->err = -ENOMEM;
		return;
	}
	if (ch->at_cut == CUT_WANTED)
		w->wanted--;
	if (at_cut == CUT_WANTED)
		w->wanted++;
	ch->at_cut = at_cut;
	if (blk != NULL)
		ch->blk = *blk;
}

static uint64_t
key_of_rec(const struct rec *rec)
{
	return key_of(rec_layer(rec), rec_addr(rec));
}

static uint64_t
key_of_blk(const struct blk *b)
{
	return key_of(blk_layer(b), b->addr);
}

/* Restores what record `seq` took out of the parent's list; true if it took any. */
static bool
restore_removed(struct walk *w, uint64_t seq)
{
	const struct blklist_removed *r;
	bool any = false;

	while ((r = blklist_removed(w->parent->list, w->removed)) != NULL &&
	    r->seq > seq)
		w->removed++;
	for (; r != NULL && r->seq == seq; any = true) {
		set_change(w, key_of_blk(&r->blk), CUT_LISTED, &r->blk);
		r = blklist_removed(w->parent->list, ++w->removed);
	}
	return any;
}

static void
blk_of(const struct keeper *k, const struct rec *rec, uint64_t seq,
    struct blk *b)
{
	int64_t now = mono_ms(mono_now());

	*b = (struct blk){
		.addr = rec_addr(rec),
		.size = rec_size(rec),
		.seq = seq,
		.ms = now - (int64_t)(uint32_t)((uint32_t)now - rec_ms(rec)),
		.caller = rec_caller(rec),
		.ticket = rec_ticket(rec),
		.thread = (uint16_t)rec_thread(rec),
		.overhead = (uint16_t)rec_overhead(rec),
		.info = keeper_info(k, seq),
		.flags = (uint8_t)rec_flags(rec),
		.type = (uint8_t)rec_type(rec),
	};
}

static void
undo_record(struct walk *w, const struct rec *rec, uint64_t seq)
{
	uint64_t key = key_of_rec(rec), shards[RING_RANGE_WORDS];

	w->last_after = seq;
	w->remaining--;
	switch (rec_op(rec)) {
	case REC_ALLOC:
		set_change(w, key, CUT_ABSENT, NULL);
		restore_removed(w, seq);	/* had it replaced a block */
		break;
	case REC_UNDO:
		set_change(w, key, CUT_ABSENT, NULL);
		break;
	case REC_FREE:
		if (!restore_removed(w, seq))
			set_change(w, key, CUT_WANTED, NULL);
		break;
	case REC_RANGE:
		w->remaining -= ring_range_shards(rec_addr(rec), rec_size(rec),
		    shards) - 1;
		restore_removed(w, seq);
		break;
	default:
		break;
	}
}

/* A record before the cut matters only as the allocation of a cancelled pair. */
static void
find_wanted(struct walk *w, const struct rec *rec, uint64_t seq)
{
	const struct change *ch = hashmap_get(&w->changes, key_of_rec(rec));
	struct blk b;

	if (ch == NULL || ch->at_cut != CUT_WANTED)
		return;
	if (rec_op(rec) == REC_ALLOC) {
		blk_of(w->parent, rec, seq, &b);
		set_change(w, ch->key, CUT_LISTED, &b);
	} else {
		set_change(w, ch->key, CUT_ABSENT, NULL);
	}
}

static bool
takes_ticket(const struct rec *rec)
{
	unsigned op = rec_op(rec);

	if (op == REC_ALLOC)
		return rec_level(rec) != REC_LEVEL_FAILED;
	return op == REC_FREE || op == REC_UNDO || op == REC_RANGE;
}

static void
walk_back(struct walk *w)
{
	const struct stream_queue *q = w->parent->queue.records;
	uint64_t seq = stream_queue_next(q), oldest = stream_queue_oldest(q);

	while (seq-- > oldest && w->err == 0) {
		const struct rec *rec = stream_queue_at(q, seq);

		if (w->remaining <= 0 && (w->wanted == 0 ||
		    w->last_after - seq > KEEPER_BATCH))
			break;		/* a pair lies within one batch */
		if (rec == NULL || !takes_ticket(rec))
			continue;
		if (stream_after_cut(rec, w->cut))
			undo_record(w, rec, seq);
		else if (w->wanted > 0)
			find_wanted(w, rec, seq);
		if (seq % 65536 == 0)
			visits_beat(w->parent->node);
	}
}

static bool
has_reached(struct stream_feed *feed, const uint32_t *cut)
{
	const uint32_t *due = stream_feed_due(feed);

	for (unsigned s = 0; s < REC_SHARDS; s++)
		if ((int32_t)(due[s] - cut[s]) < 0)
			return false;
	return true;
}

static int64_t
owed_tickets(const struct keeper *parent)
{
	return parent->feed == NULL ? 0 :
	    (int64_t)stream_feed_counts(parent->feed)->owed;
}

/*
 * Records with a ticket before the fork are in the parent's rings or about to
 * be.  A ticket may be owed since a pass before its record came: then it is read
 * in the passes made here.  A thread that stands between ticket and record is not
 * waited for long: nothing on its address can follow before it goes on.
 */
static void
drain_up_to_cut(struct keeper *parent, const uint32_t *cut)
{
	int64_t begun = mono_ms(mono_now()), now = begun;
	int passes = 0;

	while (parent->feed != NULL && (passes < CATCH_UP_PASSES ?
	    !has_reached(parent->feed, cut) || owed_tickets(parent) > 0 :
	    !has_reached(parent->feed, cut) && now - begun < CATCH_UP_MS)) {
		keeper_pass(parent, now);
		passes++;
		visits_beat(parent->node);
		now = mono_ms(mono_now());
	}
}

static int64_t
tickets_after(const struct keeper *parent, const uint32_t *cut)
{
	const uint32_t *due = parent->feed != NULL ?
	    stream_feed_due(parent->feed) : parent->last.due;
	int64_t n = 0;

	if (due == NULL)
		return INT64_MAX;	/* not known: as far back as there is */
	for (unsigned s = 0; s < REC_SHARDS; s++)
		if ((int32_t)(due[s] - cut[s]) > 0)
			n += (int32_t)(due[s] - cut[s]);
	return n;
}

static void
put_block(struct walk *w, struct keeper *child, struct blk b)
{
	const struct blklist_info *info =
	    blklist_info_get(w->parent->list, b.info);
	uint16_t *thread = &w->thread[b.thread];

	b.info = info != NULL ? blklist_info_intern(child->list, info) : 0;
	/* Thread indices mean other threads in the child. */
	if (b.thread != 0 && *thread == 0)
		*thread = keeper_inherit_thread(child, w->parent, b.thread);
	b.thread = *thread;
	blklist_put(child->list, &b);
	if (child->oracle != NULL)
		blklist_put(child->oracle, &b);
}

static void
copy_list(struct walk *w, struct keeper *child, struct blk *blk)
{
	const struct keeper *parent = w->parent;
	const struct change *ch;
	unsigned layer = 0;
	uint64_t addr = 0;
	bool from_start = true;
	size_t n;

	do {
		n = blklist_after(parent->list, from_start, layer, addr, blk,
		    COPY_BLOCKS);
		for (size_t i = 0; i < n; i++)
			if (hashmap_find(&w->changes, key_of_blk(&blk[i])) < 0)
				put_block(w, child, blk[i]);
		if (n > 0) {
			addr = blk[n - 1].addr;
			layer = blk_layer(&blk[n - 1]);
		}
		from_start = false;
		visits_beat(child->node);
	} while (n == COPY_BLOCKS);
	ch = w->changes.item;
	for (size_t i = 0; i < w->changes.n; i++)
		if (ch[i].at_cut == CUT_LISTED)
			put_block(w, child, ch[i].blk);
}

static void
copy_from(struct keeper *child, struct keeper *parent)
{
	struct walk w = { .parent = parent, .cut = child->process.cut,
		.changes.size = sizeof(struct change) };
	struct blk *blk = malloc(COPY_BLOCKS * sizeof *blk);

	w.thread = calloc(KEEPER_THREADS_MAX + 1, sizeof *w.thread);
	w.remaining = tickets_after(parent, child->process.cut);
	w.last_after = stream_queue_next(parent->queue.records);
	if (w.remaining > 0)
		walk_back(&w);
	if (blk == NULL || w.thread == NULL || w.err < 0) {
		keeper_set_doubt(child, STREAM_DOUBT_MEMORY);
		goto out;
	}
	/* Tickets still owed, by threads that stand still, have no records. */
	if (w.remaining > owed_tickets(parent) &&
	    stream_queue_oldest(parent->queue.records) > parent->queue.first)
		keeper_set_doubt(child, STREAM_DOUBT_HISTORY);
	copy_list(&w, child, blk);
out:
	hashmap_fini(&w.changes);
	free(w.thread);
	free(blk);
}

void
images_inherit(struct keeper *child, struct keeper *parent)
{
	struct stream_types *types = child->declared.types;

	if (parent == NULL || parent->list == NULL) {
		keeper_set_doubt(child, STREAM_DOUBT_NO_PARENT);
		goto out;
	}
	drain_up_to_cut(parent, child->process.cut);
	if (parent->list == NULL) {
		keeper_set_doubt(child, STREAM_DOUBT_BAD_PARENT);
		goto out;
	}
	keeper_share_sites(child, parent);
	if (!keeper_complete(parent))
		keeper_set_doubt(child, STREAM_DOUBT_PARENT);
	/* Blocks keep their numbers, so the child's begin above all of them. */
	child->queue.first = stream_queue_next(parent->queue.records);
	stream_queue_start_at(child->queue.records, child->queue.first);
	if (memcmp(types, parent->declared.types, sizeof *types) != 0) {
		*types = *parent->declared.types;
		keeper_types_changed(child);
	}
	if (parent->trust.since_click)
		keeper_expect_unlisted(child);
	copy_from(child, parent);
out:
	free(child->process.cut);
	child->process.cut = NULL;
}
