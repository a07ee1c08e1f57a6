/*
 * READ: records of a stream, by batches of the digest and from the queue.
 *
 * An answer looks at READ_SCAN records, and may be shorter than what was asked
 * for; it says where it ends.
 *
 * Pairs that cancel each other within an answer are left out and counted: an
 * allocation and the free of the same block with no other record of that block
 * between them.  The keeper's list does the same, batch by batch, and knows
 * which allocations have replaced a block: these stay, because the page's list
 * has that block.  Frees by realloc stay, for the undo of a failed realloc has
 * to find what it undoes.
 */
#include <string.h>

#include "../keeper/keeper.h"
#include "../keeper/node.h"
#include "answer.h"

#define READ_SCAN 65536		/* records looked at for one DATA */

static uint64_t
key_of(const struct rec *rec)
{
	return rec_addr(rec) | (uint64_t)rec_layer(rec) << 63;
}

static bool
has_key(const void *of, uint32_t number, const void *key)
{
	const struct pairs_entry *entry = of;

	return key_of(&entry[number].rec) == *(const uint64_t *)key;
}

static int64_t
take_pending(struct pairs *p, const struct rec *rec)
{
	uint64_t key = key_of(rec);
	uint32_t hash = hash_of_key(key);
	int64_t at = hashindex_find(&p->pending, hash, has_key, p->entry,
	    &key);

	if (at >= 0)
		hashindex_remove(&p->pending, hash, (uint32_t)at);
	return at;
}

static void
pairs_begin(struct pairs *p, size_t max, size_t max_infos, bool whole)
{
	p->n = p->live = p->infos = 0;
	p->max = max;
	p->max_infos = max_infos;
	p->cancelled = 0;
	p->whole = whole;
	hashindex_clear(&p->pending);
}

static void
sweep_pairs(struct pairs *p)
{
	uint32_t place[PAIRS_ROOM] = { 0 };
	size_t to = 0;

	for (size_t i = 0; i < p->n; i++) {
		if (p->entry[i].cancelled)
			continue;
		place[i] = (uint32_t)to;
		if (to != i)
			p->entry[to] = p->entry[i];
		to++;
	}
	hashindex_renumber(&p->pending, place);
	p->n = to;
}

/* True if the record freed a pending allocation: both are cancelled. */
static bool
cancel_pending(struct pairs *p, const struct rec *rec)
{
	int64_t at = take_pending(p, rec);
	struct pairs_entry *e;

	if (at < 0)
		return false;
	e = &p->entry[at];
	if (rec_type(rec) == TYPE_BY_REALLOC ||
	    (int32_t)(rec_ticket(rec) - rec_ticket(&e->rec)) < 0)
		return false;
	e->cancelled = true;
	p->live--;
	if (e->info != 0)
		p->infos--;
	p->cancelled += 2;
	return true;
}

/* False: no room, the reply ends here.  Without memory it is not cancelled. */
static bool
pairs_add(struct pairs *p, const struct rec *rec, uint64_t seq, uint32_t tag)
{
	unsigned op = rec_op(rec);
	uint16_t info = (uint16_t)tag;

	if (!p->whole && op == REC_FREE && cancel_pending(p, rec))
		return true;
	if (p->live == p->max || (info != 0 && p->infos == p->max_infos))
		return false;
	if (p->n == PAIRS_ROOM)
		sweep_pairs(p);
	p->entry[p->n] =
	    (struct pairs_entry){ .rec = *rec, .seq = seq, .info = info };
	p->n++;
	p->live++;
	p->infos += info != 0;
	if (p->whole)
		return true;
	if (op == REC_ALLOC && rec_addr(rec) != 0) {
		take_pending(p, rec);
		if (!(tag & KEEPER_REPLACED))
			(void)hashindex_put(&p->pending,
			    hash_of_key(key_of(rec)), (uint32_t)p->n - 1);
	} else if (op == REC_UNDO) {
		take_pending(p, rec);
	} else if (op == REC_RANGE) {
		/* A free of a range cancels nothing before it; such frees are rare. */
		hashindex_clear(&p->pending);
	}
	return true;
}

/* Is there room for n more of any kind, `infos` of them with a requester? */
static bool
pairs_have_room(const struct pairs *p, size_t n, size_t infos)
{
	return n <= p->max - p->live && infos <= p->max_infos - p->infos;
}

size_t
answer_put_record(const struct keeper *k, const struct rec *rec, int64_t ms,
    uint8_t *out)
{
	if (!k->format.classic) {
		stream_wide_encode(rec, 1, out);
		return REC_WIDE_SIZE;
	}
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

static void
add_lost(uint64_t sum[STREAM_CAUSES], const struct stream_range *range)
{
	for (unsigned cause = 0; cause < STREAM_CAUSES; cause++)
		sum[cause] += range->lost[cause];
}

/* Adds the records that fit; range includes losses.  False: the reply ends. */
static bool
gather_chunk(struct answer_scratch *s, const struct keeper *k, uint64_t first,
    size_t want, struct stream_range *range, size_t *taken)
{
	uint64_t at = range->next;
	size_t n, i;

	n = stream_queue_read(k->queue.records, at, s->rec, s->seq, want,
	    range);
	for (i = 0; i < n; i++) {
		if (s->seq[i] - first > UINT32_MAX ||
		    !pairs_add(&s->pairs, &s->rec[i], s->seq[i],
		    keeper_tag(k, s->seq[i])))
			break;
	}
	*taken = i;
	if (i == n)
		return n > 0;
	if (i > 0) {
		stream_queue_read(k->queue.records, at, s->rec, s->seq, i,
		    range);
		return false;
	}
	/* No room even for the first: the reply ends with the losses before it. */
	stream_queue_read(k->queue.records, at, NULL, NULL, 0, range);
	return false;
}

/* Adds what a batch leaves after cancelling; all of it, or false. */
static bool
gather_batch(struct answer_scratch *s, const struct keeper *k, uint64_t first,
    const struct stream_digest_batch *b)
{
	size_t infos = 0;

	for (unsigned i = 0; i < b->n && k->threads.tag != NULL; i++)
		infos += (uint16_t)stream_digest_at(k->queue.digest, b,
		    i)->tag != 0;
	if (b->end - first > UINT32_MAX ||
	    !pairs_have_room(&s->pairs, b->n, infos))
		return false;
	for (unsigned i = 0; i < b->n; i++) {
		const struct stream_digest_entry *e =
		    stream_digest_at(k->queue.digest, b, i);

		pairs_add(&s->pairs, &e->rec, e->seq, e->tag);
	}
	s->pairs.cancelled += b->end - b->seq - b->n;
	return true;
}

static uint64_t
gather(struct answer_scratch *s, const struct keeper *k, uint64_t first,
    uint64_t lost[STREAM_CAUSES])
{
	bool digest = k->queue.digest != NULL && !s->pairs.whole;
	struct stream_range range = { .next = first };
	struct stream_digest_batch b;
	size_t scanned = 0, taken;
	bool more = true;

	while (more && scanned < READ_SCAN) {
		size_t want = READ_SCAN - scanned;

		digest = digest && stream_digest_find(k->queue.digest,
		    range.next, &b);
		if (digest && b.seq == range.next) {
			if (gather_batch(s, k, first, &b)) {
				range.next = b.end;
				scanned += b.n + 1;
				continue;
			}
			if (range.next != first)
				break;
		} else if (digest && b.seq < keeper_oldest(k)) {
			lost[STREAM_OVERWRITTEN] += b.seq - range.next;
			range.next = b.seq;
			continue;
		} else if (digest && b.seq - range.next < want) {
			want = b.seq - range.next;
		}
		if (s->pairs.whole && want > s->pairs.max - s->pairs.live)
			want = s->pairs.max - s->pairs.live;
		if (want == 0)
			break;
		more = gather_chunk(s, k, first, want < ANSWER_CHUNK ?
		    want : ANSWER_CHUNK, &range, &taken);
		add_lost(lost, &range);
		scanned += taken;
	}
	sweep_pairs(&s->pairs);
	return range.next;
}

static void
put_entries(struct answer_scratch *s, const struct keeper *k,
    struct wire_data *d)
{
	int64_t now_ms = keeper_now_ms(k);
	bool consecutive = true;
	size_t len = 0;

	for (size_t i = 0; i < s->pairs.live; i++) {
		const struct pairs_entry *e = &s->pairs.entry[i];

		len += answer_put_record(k, &e->rec,
		    rec_ms_near(&e->rec, now_ms), s->bytes + len);
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

	k = answer_keeper(c, m, m->read.index, m->read.epoch, true);
	if (k == NULL)
		return;
	self_watch_asked(c->node, &c->page, k);
	visits_freshen(k);
	d->oldest = keeper_oldest(k);
	d->first = m->read.from != 0 ? m->read.from : d->oldest;
	if (d->first > keeper_next(k))
		d->first = keeper_next(k);
	pairs_begin(&s->pairs, answer_max(m->read.max), WIRE_INFO_MAX,
	    m->read.whole || k->queue.whole);
	d->next = gather(s, k, d->first, lost);
	d->cancelled = s->pairs.cancelled;
	put_entries(s, k, d);
	for (unsigned cause = 1; cause < STREAM_CAUSES; cause++)
		d->lost[cause] = (struct wire_lost){ .count = lost[cause],
			.exact = cause != STREAM_CORRUPT };
	d->now_ms = keeper_now_ms(k);
	d->state = k->life.state;
	conn_reply(c, &reply);
	if (k->source.on_read != NULL)
		k->source.on_read(k, d->next == keeper_next(k));
}
