#include <string.h>

#include "../keeper/keeper.h"
#include "../keeper/node.h"
#include "answer.h"

static void
rec_of(const struct blk *b, struct rec *rec)
{
	rec->w[0] = rec_w0(b->addr, b->flags, b->type);
	rec->w[1] = rec_w1(b->size, b->thread);
	rec->w[2] = rec_w2(b->ticket, (uint32_t)b->ms);
	rec->w[3] = rec_w3(b->caller, b->overhead);
}

static size_t
put_block(const struct keeper *k, const struct blk *b, uint8_t *out)
{
	struct rec rec;
	size_t len;

	rec_of(b, &rec);
	len = answer_put_record(k, &rec, b->ms, out);
	base_put_le(out + len, b->seq, 8);
	base_put_le(out + len + 8, (uint64_t)b->ms, 8);
	return len + WIRE_BLOCK_TAIL;
}

/* Returns how many blocks went into the part: requesters may fill it first. */
static size_t
put_blocks(struct answer_scratch *s, const struct keeper *k, size_t n,
    struct wire_part *p)
{
	size_t len = 0, i;

	for (i = 0; i < n; i++) {
		const struct blk *b = &s->blk[i];

		if (b->info != 0 && p->ninfo == WIRE_INFO_MAX)
			break;
		len += put_block(k, b, s->bytes + len);
		answer_put_info(p->info, &p->ninfo, k, b->info, i);
	}
	p->count = (uint32_t)i;
	p->blocks = (struct wire_bytes){ .p = s->bytes, .len = len };
	return i;
}

void
answer_snap(struct conn *c, const struct wire_msg *m)
{
	struct answer_scratch *s = c->node->serve->scratch;
	struct wire_msg reply = { .type = WIRE_PART, .id = m->id };
	struct wire_part *p = &reply.part;
	size_t max = answer_max(m->snap.max), n, put;
	struct keeper *k;

	k = answer_keeper(c, m, m->snap.index, m->snap.epoch, true);
	if (k == NULL)
		return;
	self_watch_asked(c->node, &c->page, k);
	visits_freshen(k);
	p->snapshot = m->snap.snapshot;
	if (p->snapshot == 0 && (p->snapshot =
	    ++c->node->serve->last_snapshot) == 0)
		p->snapshot = c->node->serve->last_snapshot = 1;
	p->as_of = keeper_next(k) - 1;
	n = blklist_after(k->list, m->snap.from_start, m->snap.after_layer,
	    m->snap.after, s->blk, max);
	put = put_blocks(s, k, n, p);
	p->last = put == n && n < max;
	if (put > 0) {
		p->next = s->blk[put - 1].addr;
		p->next_layer = blk_layer(&s->blk[put - 1]);
	}
	p->total = keeper_counts(k)->aRecActive;
	p->since = keeper_complete(k) ? WIRE_SINCE_START : WIRE_SINCE_UNKNOWN;
	p->now_ms = keeper_now_ms(k);
	conn_reply(c, &reply);
}

/* Number of a requester among those of the rows, from 1 on; 0 none. */
static size_t
requester_of(struct wire_rows *r, const struct keeper *k, uint16_t index,
    uint16_t known[WIRE_INFO_MAX], size_t row)
{
	size_t i, n = r->ninfo;

	if (index == 0)
		return 0;
	for (i = 0; i < n; i++)
		if (known[i] == index)
			return i + 1;
	answer_put_info(r->info, &r->ninfo, k, index, row);
	if (r->ninfo == n)
		return 0;
	known[n] = index;
	return n + 1;
}

static void
put_rows(struct answer_scratch *s, const struct keeper *k, size_t n,
    struct wire_rows *r)
{
	uint16_t known[WIRE_INFO_MAX];
	size_t len = 0, i;

	for (i = 0; i < n; i++) {
		const struct blk *b = &s->blk[i];

		s->who[i] = (uint8_t)requester_of(r, k, b->info, known, i);
		if (b->info != 0 && s->who[i] == 0 &&
		    r->ninfo == WIRE_INFO_MAX)
			break;
		len += put_block(k, b, s->bytes + len);
	}
	r->count = (uint32_t)i;
	r->blocks = (struct wire_bytes){ .p = s->bytes, .len = len };
	if (r->ninfo > 0)
		r->who = (struct wire_bytes){ .p = s->who, .len = i };
}

/* The window follows the block that the request names, and stays in the list. */
static uint64_t
first_row(const struct keeper *k, const struct wire_window *w,
    enum blklist_order order)
{
	uint64_t active = keeper_counts(k)->aRecActive, at = w->offset;
	struct blk b;
	int64_t rank;

	if (w->seq != 0 && blklist_get(k->list, w->layer, w->addr, &b) == 0 &&
	    b.seq == w->seq) {
		rank = blklist_rank(k->list, order, w->layer, w->addr);
		at = w->reverse ? active - 1 - (uint64_t)rank : (uint64_t)rank;
		at -= at < w->before ? at : w->before;
	}
	if (w->max > active)
		return 0;
	return at < active - w->max ? at : active - w->max;
}

void
answer_window(struct conn *c, const struct wire_msg *m)
{
	struct answer_scratch *s = c->node->serve->scratch;
	struct wire_msg reply = { .type = WIRE_ROWS, .id = m->id };
	const struct wire_window *w = &m->window;
	enum blklist_order order = w->order == WIRE_BY_AGE ? BLKLIST_BY_AGE :
	    BLKLIST_BY_ADDRESS;
	struct wire_rows *r = &reply.rows;
	struct keeper *k;
	size_t n;

	k = answer_keeper(c, m, w->index, w->epoch, true);
	if (k == NULL)
		return;
	self_watch_asked(c->node, &c->page, k);
	visits_freshen(k);
	r->offset = first_row(k, w, order);
	n = blklist_window(k->list, order, w->reverse, r->offset, s->blk,
	    w->max);
	put_rows(s, k, n, r);
	r->as_of = keeper_next(k) - 1;
	answer_numbers(k, r->n);
	for (unsigned cause = 1; cause < STREAM_OTHER; cause++)
		r->lost[cause] =
		    (struct wire_lost){ .count = k->numbers.lost[cause],
			    .exact = cause != STREAM_CORRUPT };
	r->now_ms = keeper_now_ms(k);
	r->state = k->life.state;
	conn_reply(c, &reply);
	if (k->source.on_read != NULL)
		k->source.on_read(k, true);
}
