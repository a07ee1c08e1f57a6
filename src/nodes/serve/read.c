/*
 * READ: records of a stream, by batches of the digest and from the queue.
 *
 * An answer looks at READ_SCAN records, and may be shorter than what was asked
 * for; it says where it ends.
 */
#include <string.h>

#include "../keeper/keeper.h"
#include "../keeper/node.h"
#include "answer.h"

#define READ_SCAN 65536		/* records looked at for one DATA */

/* --- onto the wire ------------------------------------------------------ */

size_t
answer_put_record(const struct keeper *k, const struct rec *rec, int64_t ms,
    uint8_t *out)
{
	if (!k->classic) {
		stream_wide_encode(rec, 1, out);
		return REC_WIDE_SIZE;
	}
	/* It came as a classic record, so it is one again. */
	if (stream_classic_encode(rec, ms, out) < 0)
		memset(out, 0, REC_CLASSIC_SIZE);
	return REC_CLASSIC_SIZE;
}

void
answer_put_info(struct wire_info *info, size_t *ninfo, const struct keeper *k,
    uint16_t index, size_t at)
{
	const struct blklist_info *i;

	if (index == 0 || *ninfo == WIRE_INFO_MAX)
		return;
	i = blklist_info_get(k->list, index);
	if (i == NULL)
		return;
	info[(*ninfo)++] = (struct wire_info){ .at = (uint32_t)at,
		.node = i->node, .name = wire_text(i->name) };
}

size_t
answer_max(uint32_t asked)
{
	return asked == 0 || asked > WIRE_READ_MAX ? WIRE_READ_MAX : asked;
}

/* --- which records ------------------------------------------------------- */

static void
add_lost(uint64_t sum[STREAM_CAUSES], const struct stream_range *range)
{
	for (unsigned cause = 0; cause < STREAM_CAUSES; cause++)
		sum[cause] += range->lost[cause];
}

/*
 * A chunk's records that fit, and the range that they cover with the losses
 * between them.  False when the reply ends here.
 */
static bool
gather_chunk(struct answer_scratch *s, const struct keeper *k, uint64_t first,
    size_t want, struct stream_range *range, size_t *taken)
{
	uint64_t at = range->next;
	size_t n, i;

	n = stream_queue_read(k->queue, at, s->rec, s->seq, want, range);
	for (i = 0; i < n; i++) {
		if (s->seq[i] - first > UINT32_MAX ||
		    !pairs_add(&s->pairs, &s->rec[i], s->seq[i],
		    keeper_info(k, s->seq[i])))
			break;
	}
	*taken = i;
	if (i == n)
		return n > 0;
	if (i > 0) {
		/* Again, for the losses among just these. */
		stream_queue_read(k->queue, at, s->rec, s->seq, i, range);
		return false;
	}
	/*
	 * Not even the first: either there is no room for it, or what was
	 * lost before it is more than an offset can say.  The reply then ends
	 * with those losses.
	 */
	stream_queue_read(k->queue, at, NULL, NULL, 0, range);
	return false;
}

/*
 * A batch of which only what is left is looked at.  False when it has no room:
 * some of it must not go into a reply without the rest.
 */
static bool
gather_batch(struct answer_scratch *s, const struct keeper *k, uint64_t first,
    const struct stream_digest_batch *b)
{
	size_t infos = 0;

	for (unsigned i = 0; i < b->n && k->threads.tag != NULL; i++)
		infos += stream_digest_at(k->digest, b, i)->tag != 0;
	if (b->end - first > UINT32_MAX || !pairs_fit(&s->pairs, b->n, infos))
		return false;
	for (unsigned i = 0; i < b->n; i++) {
		const struct stream_digest_entry *e =
		    stream_digest_at(k->digest, b, i);

		pairs_add(&s->pairs, &e->rec, e->seq, e->tag);
	}
	s->pairs.cancelled += b->end - b->seq - b->n;
	return true;
}

/*
 * By batches of the digest where one begins at the cursor, from the queue
 * otherwise, up to where the next batch begins.
 */
static uint64_t
gather(struct answer_scratch *s, const struct keeper *k, uint64_t first,
    uint64_t lost[STREAM_CAUSES])
{
	bool digest = k->digest != NULL && !s->pairs.whole;
	struct stream_range range = { .next = first };
	struct stream_digest_batch b;
	size_t scanned = 0, taken;
	bool more = true;

	while (more && scanned < READ_SCAN) {
		size_t want = READ_SCAN - scanned;

		digest = digest && stream_digest_find(k->digest, range.next,
		    &b);
		if (digest && b.seq == range.next) {
			if (gather_batch(s, k, first, &b)) {
				range.next = b.end;
				scanned += b.n + 1;
				continue;
			}
			/* A reply of its own has room for as many. */
			if (range.next != first)
				break;
		} else if (digest && b.seq < keeper_oldest(k)) {
			lost[STREAM_OVERWRITTEN] += b.seq - range.next;
			range.next = b.seq;
			continue;
		} else if (digest && b.seq - range.next < want) {
			want = b.seq - range.next;
		}
		/* Where nothing is cancelled, no more of them have room. */
		if (s->pairs.whole && want > s->pairs.max - s->pairs.live)
			want = s->pairs.max - s->pairs.live;
		if (want == 0)
			break;
		more = gather_chunk(s, k, first, want < ANSWER_CHUNK ?
		    want : ANSWER_CHUNK, &range, &taken);
		add_lost(lost, &range);
		scanned += taken;
	}
	pairs_finish(&s->pairs);
	return range.next;
}

/* --- the answer ---------------------------------------------------------- */

static void
put_entries(struct answer_scratch *s, const struct keeper *k,
    struct wire_data *d)
{
	int64_t now_ms = keeper_now_ms(k);
	bool consecutive = true;
	size_t len = 0;

	for (size_t i = 0; i < s->pairs.live; i++) {
		const struct pairs_entry *e = &s->pairs.entry[i];

		len += answer_put_record(k, &e->rec, rec_ms_near(&e->rec, now_ms),
		    s->bytes + len);
		base_put_le(s->offsets + 4 * i, e->seq - d->first, 4);
		consecutive &= e->seq == d->first + i;
		answer_put_info(d->info, &d->ninfo, k, e->info, i);
	}
	d->count = (uint32_t)s->pairs.live;
	d->records = (struct wire_bytes){ .p = s->bytes, .len = len };
	if (!consecutive)
		d->offsets = (struct wire_bytes){ .p = s->offsets,
			.len = 4 * s->pairs.live };
}

void
answer_read(struct conn *c, const struct wire_msg *m)
{
	struct answer_scratch *s = c->node->serve->scratch;
	struct wire_msg reply = { .type = WIRE_DATA, .id = m->id };
	struct wire_data *d = &reply.data;
	uint64_t lost[STREAM_CAUSES] = { 0 };
	struct keeper *k;

	k = answer_meant(c, m, m->read.index, m->read.epoch, true);
	if (k == NULL)
		return;
	self_watch_asked(c->node, &c->page, k);
	drain_freshen(k);
	d->oldest = keeper_oldest(k);
	d->first = m->read.from != 0 ? m->read.from : d->oldest;
	if (d->first > keeper_next(k))
		d->first = keeper_next(k);
	pairs_begin(&s->pairs, answer_max(m->read.max), WIRE_INFO_MAX,
	    m->read.whole);
	d->next = gather(s, k, d->first, lost);
	d->cancelled = s->pairs.cancelled;
	put_entries(s, k, d);
	for (unsigned cause = 1; cause < STREAM_CAUSES; cause++)
		d->lost[cause] = (struct wire_lost){ .count = lost[cause],
			.exact = cause != STREAM_CORRUPT };
	d->now_ms = keeper_now_ms(k);
	d->state = k->image.state;
	conn_reply(c, &reply);
	if (k->source.on_read != NULL)
		k->source.on_read(k, d->next == keeper_next(k));
}
