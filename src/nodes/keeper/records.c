#include <stdio.h>
#include <stdlib.h>

#include "keeper.h"
#include "node.h"
#include "takeover_memory.h"

#define TAGS STREAM_QUEUE_RECORDS

static bool
same_block(const struct blk *a, const struct blk *b)
{
	return a->addr == b->addr && a->size == b->size && a->seq == b->seq &&
	    a->flags == b->flags && a->type == b->type;
}

static bool
same_window(const struct keeper *k, enum blklist_order order, uint64_t offs)
{
	struct blk a[16], b[16];
	size_t na = blklist_window(k->list, order, false, offs, a, 16);
	size_t nb = blklist_window(k->oracle, order, false, offs, b, 16);

	if (na != nb)
		return false;
	for (size_t i = 0; i < na; i++)
		if (!same_block(&a[i], &b[i]))
			return false;
	return true;
}

/* Each list cancels other pairs: once one was full, they may differ. */
static void
compare_lists(struct keeper *k)
{
	const struct blklist_counts *a = blklist_counts(k->list);
	const struct blklist_counts *b = blklist_counts(k->oracle);
	uint64_t offs;

	if (a->full > 0 || b->full > 0)
		return;
	offs = a->aRecActive > 0 ? a->records % a->aRecActive : 0;
	if (a->aRecActive == b->aRecActive && a->live_bytes == b->live_bytes &&
	    same_window(k, BLKLIST_BY_AGE, offs) &&
	    same_window(k, BLKLIST_BY_ADDRESS, offs))
		return;
	k->numbers.mismatches++;
	snprintf(k->life.reason, sizeof k->life.reason,
	    "indexed and literal list differ (%llu times)",
	    (unsigned long long)k->numbers.mismatches);
}

static void
set_tag(struct keeper *k, uint64_t seq, uint16_t info)
{
	k->threads.tag[seq % TAGS] =
	    (struct keeper_tag){ .seq = (uint32_t)seq, .info = info };
}

/*
 * A list knows the highest of what its records come to in the order in which
 * they are applied.  Records of one thread are in the order of its program;
 * those of several are ordered on each address only, so that what two threads
 * held at once may be applied one after the other.  Hence the estimate: a look
 * is what a feed has found in the rings at one time, and its rise is by how much
 * each thread's records of it have raised what was held, at most, summed over
 * all threads.
 *
 * A record is found a look late if its ring was looked at before its thread had
 * published it, and another look late if it waited for a ticket in flight.  So
 * the rises of three looks are added to what was held before them.
 */
static void
peak_begin(struct keeper *k)
{
	struct peak *p = &k->peak;

	if (p->begun)
		return;
	p->begun = true;
	/* Inherited blocks are there before the first record. */
	for (unsigned i = 0; i < PEAK_LOOKS; i++)
		p->base[i] = keeper_counts(k)->live_bytes;
}

static uint64_t
rise_of_look(const struct keeper *k)
{
	return k->peak.rise[0] + (k->list != NULL ? blklist_thread_peaks(k->list) : 0);
}

void
peak_end_look(struct keeper *k)
{
	struct peak *p = &k->peak;
	uint64_t most = p->base[PEAK_LOOKS - 1];

	if (k->list == NULL)
		return;
	p->rise[0] = rise_of_look(k);
	blklist_thread_peaks_begin(k->list);
	for (unsigned i = 0; i < PEAK_LOOKS; i++)
		most += p->rise[i];
	p->several |= k->threads.n > 2;
	if (p->several && most > p->most)
		p->most = most;
	for (unsigned i = PEAK_LOOKS - 1; i > 0; i--) {
		p->base[i] = p->base[i - 1];
		p->rise[i] = p->rise[i - 1];
	}
	p->base[0] = keeper_counts(k)->live_bytes;
	p->rise[0] = 0;
}

struct peak
peak_save(const struct keeper *k)
{
	struct peak peak = k->peak;

	peak.rise[0] = rise_of_look(k);
	return peak;
}

/* With one thread the list knows the peak. */
uint64_t
peak_most(const struct keeper *k)
{
	uint64_t peak = keeper_counts(k)->peak_bytes;

	if (!k->node->opts.no_pairs || k->format.sample != 0)
		return 0;
	return k->peak.most > peak ? k->peak.most : peak;
}

static void
apply(struct keeper *k, struct blklist_batch *b)
{
	for (size_t i = 0; i < b->ninfo; i++)
		set_tag(k, b->seq + b->info[i].at,
		    blklist_info_intern(k->list, &b->info[i].info));
	peak_begin(k);
	blklist_apply(k->list, b);
	b->left_out = b->replaced = NULL;
	if (k->oracle != NULL) {
		blklist_apply(k->oracle, b);
		compare_lists(k);
	}
}

static bool
make_tags(struct keeper *k)
{
	if (k->threads.tag == NULL)
		k->threads.tag = k->takeover.memory != NULL
				     ? k->takeover.memory->tag
				     : calloc(TAGS, sizeof *k->threads.tag);
	if (k->threads.batch_info == NULL)
		k->threads.batch_info =
		    calloc(KEEPER_BATCH, sizeof *k->threads.batch_info);
	return k->threads.tag != NULL && k->threads.batch_info != NULL;
}

uint32_t
keeper_tag(const struct keeper *k, uint64_t seq)
{
	const struct keeper_tag *t;

	if (k->threads.tag == NULL)
		return 0;
	t = &k->threads.tag[seq % TAGS];
	if (t->seq != (uint32_t)seq)
		return 0;
	return t->info | (t->replaced ? KEEPER_REPLACED : 0);
}

uint16_t
keeper_info(const struct keeper *k, uint64_t seq)
{
	return (uint16_t)keeper_tag(k, seq);
}

static uint32_t
tag_of(const void *k, uint64_t seq)
{
	return keeper_tag(k, seq);
}

/*
 * A page's list still has the replaced block, so the page must get both records
 * of such a pair.
 */
static void
tag_replaced(struct keeper *k, const struct blklist_batch *b,
    const uint64_t *replaced)
{
	for (size_t i = 0; i < b->n; i++) {
		uint64_t seq = b->seq + i;

		if (!(replaced[i / 64] >> i % 64 & 1))
			continue;
		set_tag(k, seq, keeper_info(k, seq));
		k->threads.tag[seq % TAGS].replaced = true;
	}
}

void
keeper_take(struct keeper *k, const struct rec *rec, size_t n,
    int64_t near_ms, const int64_t *ms, const struct blklist_batch_info *info,
    size_t ninfo)
{
	uint64_t left_out[KEEPER_BATCH / 64] = { 0 };
	uint64_t replaced[KEEPER_BATCH / 64] = { 0 }, duplicates;
	struct blklist_batch b = { .rec = rec, .n = n, .near_ms = near_ms,
		.ms = ms, .info = info, .ninfo = ninfo, .cancel = true };
	struct keeper_tap *tap;

	if (n == 0 || k->queue.records == NULL)
		return;
	if (ninfo > 0 && !make_tags(k))
		b.ninfo = 0;
	if (n <= KEEPER_BATCH)
		b.replaced = replaced;
	if (k->queue.digest != NULL && n <= KEEPER_BATCH)
		b.left_out = left_out;
	b.seq = stream_queue_next(k->queue.records);
	SLIST_FOREACH(tap, &k->queue.taps, link)
		tap->ops->records(tap, k, &b);
	stream_queue_put(k->queue.records, rec, n);
	duplicates = blklist_counts(k->list)->duplicate;
	apply(k, &b);
	if (blklist_counts(k->list)->duplicate != duplicates) {
		if (n <= KEEPER_BATCH && make_tags(k))
			tag_replaced(k, &b, replaced);
		else
			k->queue.whole = true;
	}
	if (k->queue.digest != NULL && n <= KEEPER_BATCH)
		stream_digest_put(k->queue.digest, b.seq, rec, n, left_out,
		    k->threads.tag != NULL ? tag_of : NULL, k);
}

/* Requesters of allocations by threads that have one; returns how many. */
static size_t
gather_requesters(struct keeper *k, const struct rec *rec, size_t n)
{
	size_t ninfo = 0;

	if (k->threads.requesters == 0 || !make_tags(k))
		return 0;
	for (size_t i = 0; i < n; i++) {
		unsigned t = rec_thread(&rec[i]);

		if (rec_op(&rec[i]) != REC_ALLOC || t >= k->threads.n ||
		    !k->threads.at[t].has_requester)
			continue;
		k->threads.batch_info[ninfo++] = (struct blklist_batch_info){
			.at = i, .info = k->threads.at[t].requester };
	}
	return ninfo;
}

static void
sink_records(void *arg, const struct rec *rec, size_t n, int64_t near_ms)
{
	struct keeper *k = arg;

	while (n > 0) {
		size_t m = n < KEEPER_BATCH ? n : KEEPER_BATCH;
		size_t ninfo = gather_requesters(k, rec, m);

		/* A later round of the pass brings what was written meanwhile. */
		if (near_ms < k->visits.beat_ms)
			near_ms = k->visits.beat_ms;
		keeper_take(
		    k, rec, m, near_ms, NULL, k->threads.batch_info, ninfo);
		rec += m;
		n -= m;
		/* Full rings make a pass long, and all targets wait for its end. */
		visits_beat(k->node);
	}
}

static void
sink_control(void *arg, const struct rec *rec, int64_t near_ms)
{
	(void)near_ms;
	keeper_control(arg, rec);
}

static void
sink_lost(void *arg, unsigned cause, uint64_t count)
{
	keeper_lose(arg, cause, count);
}

const struct stream_sink keeper_sink = {
	.records = sink_records,
	.control = sink_control,
	.lost = sink_lost,
};

void
keeper_take_classic(struct keeper *k, const uint8_t raw[REC_CLASSIC_SIZE],
    const struct blklist_info *requester)
{
	struct blklist_batch_info info = { .at = 0 };
	struct rec rec;
	int64_t ms;

	if (stream_classic_decode(raw, &rec, &ms) < 0) {
		k->numbers.bad++;
		return;
	}
	if (requester != NULL)
		info.info = *requester;
	rec.w[2] = rec_w2(0, (uint32_t)ms);
	if (ms > k->source.now_ms)
		k->source.now_ms = ms;
	keeper_take(
	    k, &rec, 1, k->source.now_ms, &ms, &info, requester != NULL);
}

void
keeper_lose(struct keeper *k, unsigned cause, uint64_t count)
{
	struct keeper_tap *tap;

	if (cause >= STREAM_CAUSES || count == 0)
		return;
	k->numbers.lost[cause] += count;
	if (k->queue.records == NULL)
		return;
	SLIST_FOREACH(tap, &k->queue.taps, link)
		tap->ops->lost(tap, k, stream_queue_next(k->queue.records),
		    cause, count);
	stream_queue_lose(k->queue.records, cause, count);
}
