/*
 * One target: records into queue, digest and list, and losses.
 */
#include <stdio.h>
#include <stdlib.h>

#include "keeper.h"
#include "kept_memory.h"
#include "node.h"

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

/*
 * The lists hold the same blocks.  Only what they hold is compared: which
 * pairs were cancelled is each list's own affair, and with a full list that
 * decides what was refused, so from then on there is nothing to compare.
 */
static void
compare(struct keeper *k)
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
	snprintf(k->image.reason, sizeof k->image.reason,
	    "indexed and literal list differ (%llu times)",
	    (unsigned long long)k->numbers.mismatches);
}

static void
set_tag(struct keeper *k, uint64_t seq, uint16_t info)
{
	k->threads.tag[seq % TAGS] =
	    (struct keeper_tag){ .seq = (uint32_t)seq, .info = info };
}

static void
apply(struct keeper *k, struct blklist_batch *b)
{
	for (size_t i = 0; i < b->ninfo; i++)
		set_tag(k, b->seq + b->info[i].at,
		    blklist_info_intern(k->list, &b->info[i].info));
	peak_begin(k);
	blklist_apply(k->list, b);
	b->left_out = NULL;
	if (k->oracle != NULL) {
		blklist_apply(k->oracle, b);
		compare(k);
	}
}

/* Room for requesters, from the first one on. */
static bool
tags(struct keeper *k)
{
	if (k->threads.tag == NULL)
		k->threads.tag = k->memory.target != NULL
				     ? k->memory.target->tag
				     : calloc(TAGS, sizeof *k->threads.tag);
	if (k->threads.batch_info == NULL)
		k->threads.batch_info =
		    calloc(KEEPER_BATCH, sizeof *k->threads.batch_info);
	return k->threads.tag != NULL && k->threads.batch_info != NULL;
}

uint16_t
keeper_info(const struct keeper *k, uint64_t seq)
{
	const struct keeper_tag *t;

	if (k->threads.tag == NULL)
		return 0;
	t = &k->threads.tag[seq % TAGS];
	return t->seq == (uint32_t)seq ? t->info : 0;
}

static uint16_t
info_of(const void *k, uint64_t seq)
{
	return keeper_info(k, seq);
}

void
keeper_take(struct keeper *k, const struct rec *rec, size_t n,
    int64_t near_ms, const int64_t *ms, const struct blklist_batch_info *info,
    size_t ninfo)
{
	uint64_t left_out[KEEPER_BATCH / 64] = { 0 };
	struct blklist_batch b = { .rec = rec, .n = n, .near_ms = near_ms,
		.ms = ms, .info = info, .ninfo = ninfo, .cancel = true };

	if (n == 0 || k->queue == NULL)
		return;
	if (ninfo > 0 && !tags(k))
		b.ninfo = 0;
	if (k->digest != NULL && n <= KEEPER_BATCH)
		b.left_out = left_out;
	b.seq = stream_queue_next(k->queue);
	stream_queue_put(k->queue, rec, n);
	apply(k, &b);
	if (k->digest != NULL && n <= KEEPER_BATCH)
		stream_digest_put(k->digest, b.seq, rec, n, left_out,
		    k->threads.tag != NULL ? info_of : NULL, k);
}

/* The requesters of those threads that have one, beside their allocations. */
static size_t
gather_requesters(struct keeper *k, const struct rec *rec, size_t n)
{
	size_t ninfo = 0;

	if (k->threads.requesters == 0 || !tags(k))
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

		/* A later round of the pass has what was written meanwhile. */
		if (near_ms < k->beat_ms)
			near_ms = k->beat_ms;
		keeper_take(
		    k, rec, m, near_ms, NULL, k->threads.batch_info, ninfo);
		rec += m;
		n -= m;
		/* Full rings make a pass long, and all targets wait for its end. */
		drain_beat(k->node);
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
	/* READ widens the low bits again, against the clock of this stream. */
	rec.w[2] = rec_w2(0, (uint32_t)ms);
	if (ms > k->source.now_ms)
		k->source.now_ms = ms;
	keeper_take(
	    k, &rec, 1, k->source.now_ms, &ms, &info, requester != NULL);
}

void
keeper_lose(struct keeper *k, unsigned cause, uint64_t count)
{
	if (cause >= STREAM_CAUSES || count == 0)
		return;
	k->numbers.lost[cause] += count;
	if (k->queue != NULL)
		stream_queue_lose(k->queue, cause, count);
}
