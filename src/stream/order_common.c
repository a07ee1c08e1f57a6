/*
 * The common ring in the merge: each of its slots is a source of its own, for
 * they are not in the order of their tickets.  Two kinds of records want more
 * order than tickets give: a control record has its place among those of its
 * thread, and the frees, allocations and undoings of a thread's reallocs come
 * in the order in which it made them.
 *
 * Known limits
 *	Where a handler has interrupted a claim on its way to the ticket, and
 *	both are of reallocs, of one shard, by a thread without a ring, they
 *	wait for each other: the stream stands still, and its end counts them.
 */
#include <errno.h>
#include <string.h>

#include "order.h"

/*
 * Copies the slots behind a range next to it, done as soon as it is.  One that
 * was a record when it was read before is not of a range now.
 */
static int
read_more(struct order *o, uint64_t n)
{
	uint64_t set[RING_RANGE_WORDS];
	unsigned more = reader_range_slots(&common_at(o, n)->rec, set);
	int err;

	if (more == 0)
		return -EPROTO;
	for (unsigned k = 1; k <= more; k++) {
		struct common_slot *slot = common_at(o, n + k);

		if (slot->state != SLOT_EMPTY)
			return -EPROTO;
		err = reader_claim_more(o->reader, n + k, &slot->rec);
		if (err < 0)
			return err;
		slot->state = SLOT_DONE;
	}
	return 0;
}

/*
 * The list undoes a thread's realloc by what its last one freed, and takes the
 * allocation that follows for what became of that.
 */
static bool
is_realloc(const struct rec *rec)
{
	return rec_op(rec) == REC_UNDO ||
	    (rec_op(rec) == REC_FREE && rec_type(rec) == TYPE_BY_REALLOC) ||
	    (rec_op(rec) == REC_ALLOC && rec_type(rec) == TYPE_REALLOC);
}

/*
 * Puts a record of a realloc behind the one before it of its thread.  A thread
 * claims, draws and publishes one by one, so all that is valid of it has been
 * read in the order in which it was drawn.  Threads that have no index of their
 * own share 0, and are in no order of claims.
 */
static void
link_slot(struct order *o, struct common_slot *slot)
{
	uint16_t *last = &o->common_last[rec_thread(&slot->rec)];

	slot->linked = is_realloc(&slot->rec) && rec_thread(&slot->rec) != 0;
	slot->behind = slot->linked && *last != 0;
	slot->next = 0;
	if (!slot->linked)
		return;
	if (slot->behind)
		o->common[*last - 1].next = (uint16_t)(slot - o->common + 1);
	*last = (uint16_t)(slot - o->common + 1);
}

/* It has been delivered: the one behind it may go. */
static void
unlink_slot(struct order *o, struct common_slot *slot)
{
	struct common_slot *next;

	if (slot->next == 0) {
		o->common_last[rec_thread(&slot->rec)] = 0;
		return;
	}
	next = &o->common[slot->next - 1];
	next->behind = false;
	if (next->state == SLOT_WAITS)
		order_ready(o, (unsigned)(ORDER_COMMON + slot->next - 1));
}

/*
 * Copies all that is valid.  A slot that is claimed and not valid may hold a
 * ticket of any shard.
 */
int
common_read(struct order *o)
{
	struct reader *r = o->reader;
	const struct reader_ring *ring = &r->rings[RING_COMMON];
	bool missing = false;
	int got;

	for (uint64_t n = ring->pos; n < ring->seen; n++) {
		struct common_slot *slot = common_at(o, n);
		enum rec_class class;

		if (slot->state != SLOT_EMPTY)
			continue;
		if ((got = reader_claim(r, n, &slot->rec)) < 0)
			return got;
		if (got == 0) {
			missing = true;
			continue;
		}
		slot->state = SLOT_READ;
		slot->round = o->round;
		o->common_undelivered++;
		link_slot(o, slot);
		class = reader_class(r, &slot->rec);
		if ((class == CLASS_RANGE || class == CLASS_VOID_RANGE) &&
		    (got = read_more(o, n)) < 0)
			return got;
	}
	if (missing)
		memset(r->inflight, 0xff, sizeof(r->inflight));
	return 0;
}

/*
 * Counted by threads, for a ring full of control records would otherwise be
 * looked through for each of them.
 */
static void
pass(struct order *o, struct common_slot *slot)
{
	if (slot->state != SLOT_WAITS || slot->passed)
		return;
	slot->passed = true;
	o->common_passed[rec_thread(&slot->rec)]++;
}

static void
unpass(struct order *o, struct common_slot *slot)
{
	if (slot->passed)
		o->common_passed[rec_thread(&slot->rec)]--;
	slot->passed = false;
}

int
common_run(struct order *o, unsigned id)
{
	struct common_slot *slot = &o->common[id - ORDER_COMMON];
	int done = order_run(o, id, &slot->rec);

	order_spend(o, 1);
	if (done == 1) {
		slot->state = SLOT_DONE;
		o->common_undelivered--;
		unpass(o, slot);
		if (slot->linked)
			unlink_slot(o, slot);
	} else if (done == 0) {
		slot->state = SLOT_WAITS;
	}
	return done < 0 ? done : 0;
}

/*
 * Goes on where the offer has stopped: before that nothing has been read that
 * was not offered.
 */
int
common_offer_rest(struct order *o)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];
	int err;

	o->common_stopped = false;
	for (; o->common_next < ring->seen; o->common_next++) {
		struct common_slot *slot = common_at(o, o->common_next);

		if (slot->state == SLOT_READ && slot->behind) {
			slot->state = SLOT_WAITS;
		} else if (slot->state == SLOT_READ) {
			if (o->common_passed[rec_thread(&slot->rec)] != 0 &&
			    reader_class(o->reader, &slot->rec) ==
				CLASS_CONTROL) {
				o->common_stopped = true;
				break;
			}
			err = common_run(o, (unsigned)(ORDER_COMMON +
			    o->common_next % RING_COMMON_SLOTS));
			if (err != 0)
				return err;
		}
		pass(o, slot);
	}
	o->common_offered = o->common_undelivered;
	return 0;
}

/*
 * Offers what has been read, in the order of the claims.  A control record has
 * its place among those of its thread: it stops the offer while earlier ones
 * wait.
 */
int
common_offer(struct order *o)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];

	/* A claim that was not valid until now may lie before others. */
	for (uint64_t n = ring->pos; n < ring->seen; n++)
		unpass(o, common_at(o, n));
	o->common_next = ring->pos;
	return common_offer_rest(o);
}

/* Gives back the slots up to the first that is still needed. */
void
common_release(struct order *o)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];
	uint64_t n = ring->pos;

	for (; n < ring->seen && common_at(o, n)->state == SLOT_DONE; n++)
		common_at(o, n)->state = SLOT_EMPTY;
	reader_claims_done(o->reader, n);
}

/* --- outliving a keeper --------------------------------------------------- */

void
common_save(const struct order *o, struct order_state *s)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];

	s->nslots = 0;
	if (ring->pos == ring->seen)
		return;
	memset(s->done, 0, sizeof(s->done));
	for (uint64_t n = ring->pos; n < ring->seen; n++) {
		unsigned at = (unsigned)(n % RING_COMMON_SLOTS);
		const struct common_slot *slot = &o->common[at];

		if (slot->state == SLOT_DONE)
			s->done[at / 64] |= UINT64_C(1) << at % 64;
		else if (slot->state != SLOT_EMPTY)
			s->slots[s->nslots++] = (struct order_slot_state){
				.at = (uint32_t)(n - ring->pos),
				.round = slot->round,
			};
	}
}

/* As they were read: links between them are in that order. */
static int
by_round(const void *a, const void *b)
{
	const struct order_slot_state *x = a, *y = b;
	int32_t rounds = (int32_t)(x->round - y->round);

	return rounds != 0 ? (rounds > 0) - (rounds < 0) :
	    (x->at > y->at) - (x->at < y->at);
}

/* Reads the slot again; what it waited for comes about when it is offered. */
static int
resume_slot(struct order *o, const struct order_slot_state *s)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];
	uint64_t n = ring->pos + s->at;
	struct common_slot *slot = common_at(o, n);
	enum rec_class class;
	int got;

	if (s->at >= ring->seen - ring->pos || slot->state != SLOT_EMPTY)
		return -EINVAL;
	got = reader_claim(o->reader, n, &slot->rec);
	if (got != 1)
		return -EPROTO;
	slot->state = SLOT_READ;
	slot->round = s->round;
	o->common_undelivered++;
	link_slot(o, slot);
	class = reader_class(o->reader, &slot->rec);
	return class == CLASS_RANGE || class == CLASS_VOID_RANGE ?
	    read_more(o, n) : 0;
}

int
common_resume(struct order *o, const struct order_state *s)
{
	const struct reader_ring *ring = &o->reader->rings[RING_COMMON];
	struct order_slot_state *slots;
	int err = 0;

	if (ring->pos == ring->seen)
		return s->nslots == 0 ? 0 : -EINVAL;
	if (s->nslots > ring->seen - ring->pos)
		return -EINVAL;
	slots = malloc((s->nslots + 1) * sizeof(*slots));
	if (slots == NULL)
		return -ENOMEM;
	memcpy(slots, s->slots, s->nslots * sizeof(*slots));
	qsort(slots, s->nslots, sizeof(*slots), by_round);
	for (uint32_t k = 0; k < s->nslots && err == 0; k++)
		err = resume_slot(o, &slots[k]);
	free(slots);
	for (uint64_t n = ring->pos; n < ring->seen && err == 0; n++) {
		unsigned at = (unsigned)(n % RING_COMMON_SLOTS);

		if (o->common[at].state == SLOT_EMPTY &&
		    s->done[at / 64] >> at % 64 & 1)
			o->common[at].state = SLOT_DONE;
	}
	return err;
}
