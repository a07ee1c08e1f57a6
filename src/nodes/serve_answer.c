/*
 * Requests of pages, one function for each, behind one table.
 *
 * Every answer costs a bounded amount: a READ looks at READ_SCAN records, a
 * SNAP copies one part, a WINDOW some rows, a FRAME is looked up by a worker.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keeper.h"
#include "node.h"
#include "serve.h"
#include "serve_pairs.h"
#include "tree.h"

#define READ_SCAN 65536		/* records looked at for one DATA */
#define CHUNK 4096		/* of them at a time */
#define BLOCK_MAX (REC_WIDE_SIZE + WIRE_BLOCK_TAIL)

_Static_assert(WIRE_READ_MAX * BLOCK_MAX + 8192 < WIRE_REPLY_MAX,
    "a part and its requesters fit a reply");
_Static_assert(WIRE_WINDOW_MAX <= WIRE_READ_MAX, "a window is no longer than a part");

/* What answers are made in; one at a time. */
struct answer_scratch {
	struct pairs pairs;
	struct rec rec[CHUNK];
	uint64_t seq[CHUNK];
	struct blk blk[WIRE_READ_MAX];
	uint8_t bytes[WIRE_READ_MAX * BLOCK_MAX];
	uint8_t offsets[WIRE_READ_MAX * 4];
	uint8_t who[WIRE_WINDOW_MAX];
};

int
answer_init(struct answer_scratch **out)
{
	*out = malloc(sizeof **out);
	return *out == NULL ? -ENOMEM : 0;
}

static void
put_le(uint8_t *out, uint64_t v, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		out[i] = (uint8_t)(v >> 8 * i);
}

/* False when the answer has been sent: it is another user's. */
static bool
is_readable(struct conn *c, const struct wire_msg *m, const struct keeper *k)
{
	if (access_reads(&c->node->access, &c->peer, k->uid))
		return true;
	conn_error(c, m->id, WIRE_E_AUTH,
	    "this stream is of another user's process");
	return false;
}

static bool
is_controlled(struct conn *c, const struct wire_msg *m, const struct keeper *k)
{
	if (access_controls(&c->node->access, &c->peer, k->uid))
		return true;
	conn_error(c, m->id, WIRE_E_AUTH,
	    "this process is another user's: that user and root may do so");
	return false;
}

/* The row at an index, or NULL when the answer, an error, has been sent. */
static const struct dstrm_row *
row_meant(struct conn *c, const struct wire_msg *m, uint32_t index)
{
	const struct dstrm_row *row = dstrm_at(&c->node->dstrm, index);

	if (row == NULL) {
		conn_error(c, m->id, WIRE_E_NAME, "no such stream");
		return NULL;
	}
	return is_readable(c, m, row->keeper) ? row : NULL;
}

/*
 * The keeper that a request means, or NULL when the answer, an error, has
 * been sent.  need_list: one whose list is still kept.
 */
static struct keeper *
meant(struct conn *c, const struct wire_msg *m, uint32_t index,
    const uint8_t epoch[WIRE_EPOCH], bool need_list)
{
	struct dstrm *t = &c->node->dstrm;
	struct wire_msg err = { .type = WIRE_ERR, .id = m->id };
	struct keeper *k = NULL;
	int r = dstrm_get(t, index, epoch, &k);

	if (r == 0 && !is_readable(c, m, k))
		return NULL;
	if (r == 0 && (k->list != NULL || !need_list))
		return k;
	err.err.code = r == -ESTALE ? WIRE_E_EPOCH : WIRE_E_NAME;
	if (r == -ESTALE) {
		err.err.text = wire_text("this index means another stream now");
		memcpy(err.err.epoch, t->row[index].epoch, WIRE_EPOCH);
	} else if (r < 0) {
		err.err.text = wire_text("no such stream");
	} else if (k->state == WIRE_S_NO_DATA) {
		err.err.text = wire_text("this process has no stream");
	} else {
		err.err.text = wire_text(
		    "the list of this ended target is no longer kept");
	}
	conn_reply(c, &err);
	return NULL;
}

/* --- NAME --------------------------------------------------------------- */

static void
answer_name(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_NAMED, .id = m->id };

	if (dstrm_lookup(c->node, &m->name, &reply.named) < 0) {
		conn_error(c, m->id, WIRE_E_NAME, "no such name");
		return;
	}
	/* Only streams have a format, and streams have an owner. */
	if (reply.named.format != 0 &&
	    row_meant(c, m, reply.named.index) == NULL)
		return;
	conn_reply(c, &reply);
}

/* --- READ --------------------------------------------------------------- */

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

	for (unsigned i = 0; i < b->n && k->tag != NULL; i++)
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
		more = gather_chunk(s, k, first, want < CHUNK ? want : CHUNK,
		    &range, &taken);
		add_lost(lost, &range);
		scanned += taken;
	}
	pairs_finish(&s->pairs);
	return range.next;
}

/* One record as on the wire, at out; the bytes it takes. */
static size_t
put_record(const struct keeper *k, const struct rec *rec, int64_t ms,
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

static void
put_info(struct wire_info *info, size_t *ninfo, const struct keeper *k,
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

static void
put_entries(struct answer_scratch *s, const struct keeper *k,
    struct wire_data *d)
{
	int64_t now_ms = keeper_now_ms(k);
	bool consecutive = true;
	size_t len = 0;

	for (size_t i = 0; i < s->pairs.live; i++) {
		const struct pairs_entry *e = &s->pairs.entry[i];

		len += put_record(k, &e->rec, rec_ms_near(&e->rec, now_ms),
		    s->bytes + len);
		put_le(s->offsets + 4 * i, e->seq - d->first, 4);
		consecutive &= e->seq == d->first + i;
		put_info(d->info, &d->ninfo, k, e->info, i);
	}
	d->count = (uint32_t)s->pairs.live;
	d->records = (struct wire_bytes){ .p = s->bytes, .len = len };
	if (!consecutive)
		d->offsets = (struct wire_bytes){ .p = s->offsets,
			.len = 4 * s->pairs.live };
}

static size_t
clip_max(uint32_t asked)
{
	return asked == 0 || asked > WIRE_READ_MAX ? WIRE_READ_MAX : asked;
}

static void
answer_read(struct conn *c, const struct wire_msg *m)
{
	struct answer_scratch *s = c->node->serve.scratch;
	struct wire_msg reply = { .type = WIRE_DATA, .id = m->id };
	struct wire_data *d = &reply.data;
	uint64_t lost[STREAM_CAUSES] = { 0 };
	struct keeper *k;

	k = meant(c, m, m->read.index, m->read.epoch, true);
	if (k == NULL)
		return;
	drain_freshen(k);
	d->oldest = keeper_oldest(k);
	d->first = m->read.from != 0 ? m->read.from : d->oldest;
	if (d->first > keeper_next(k))
		d->first = keeper_next(k);
	pairs_begin(&s->pairs, clip_max(m->read.max), WIRE_INFO_MAX,
	    m->read.whole);
	d->next = gather(s, k, d->first, lost);
	d->cancelled = s->pairs.cancelled;
	put_entries(s, k, d);
	for (unsigned cause = 1; cause < STREAM_CAUSES; cause++)
		d->lost[cause] = (struct wire_lost){ .count = lost[cause],
			.exact = cause != STREAM_CORRUPT };
	d->now_ms = keeper_now_ms(k);
	d->state = k->state;
	conn_reply(c, &reply);
	if (k->on_read != NULL)
		k->on_read(k, d->next == keeper_next(k));
}

/* --- SNAP --------------------------------------------------------------- */

static void
rec_of(const struct blk *b, struct rec *rec)
{
	rec->w[0] = rec_w0(b->addr, b->flags, b->type);
	rec->w[1] = rec_w1(b->size, b->thread);
	rec->w[2] = rec_w2(b->ticket, (uint32_t)b->ms);
	rec->w[3] = rec_w3(b->caller, b->overhead);
}

/* One block as on the wire, at out; the bytes it takes. */
static size_t
put_block(const struct keeper *k, const struct blk *b, uint8_t *out)
{
	struct rec rec;
	size_t len;

	rec_of(b, &rec);
	len = put_record(k, &rec, b->ms, out);
	put_le(out + len, b->seq, 8);
	put_le(out + len + 8, (uint64_t)b->ms, 8);
	return len + WIRE_BLOCK_TAIL;
}

/* The blocks into the part: as many as their requesters leave room for. */
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
		put_info(p->info, &p->ninfo, k, b->info, i);
	}
	p->count = (uint32_t)i;
	p->blocks = (struct wire_bytes){ .p = s->bytes, .len = len };
	return i;
}

static void
answer_snap(struct conn *c, const struct wire_msg *m)
{
	struct answer_scratch *s = c->node->serve.scratch;
	struct wire_msg reply = { .type = WIRE_PART, .id = m->id };
	struct wire_part *p = &reply.part;
	size_t max = clip_max(m->snap.max), n, put;
	struct keeper *k;

	k = meant(c, m, m->snap.index, m->snap.epoch, true);
	if (k == NULL)
		return;
	drain_freshen(k);
	p->snapshot = m->snap.snapshot;
	if (p->snapshot == 0 && (p->snapshot =
	    ++c->node->serve.last_snapshot) == 0)
		p->snapshot = c->node->serve.last_snapshot = 1;
	p->as_of = keeper_next(k) - 1;
	n = blklist_after(k->list, m->snap.from_start, m->snap.after_layer,
	    m->snap.after, s->blk, max);
	put = put_blocks(s, k, n, p);
	p->last = put == n && n < max;
	if (put > 0) {
		p->next = s->blk[put - 1].addr;
		p->next_layer = (s->blk[put - 1].flags & REC_LAYER_API) != 0;
	}
	p->total = keeper_counts(k)->aRecActive;
	p->since = keeper_complete(k) ? WIRE_SINCE_START : WIRE_SINCE_UNKNOWN;
	p->now_ms = keeper_now_ms(k);
	conn_reply(c, &reply);
}

/* --- STAT --------------------------------------------------------------- */

static void
stat_numbers(const struct keeper *k, uint64_t out[WIRE_STATS_COUNT])
{
	const struct blklist_counts *n = keeper_counts(k);
	const struct stream_feed_counts *feed =
	    k->feed != NULL ? stream_feed_counts(k->feed) : NULL;

	out[WIRE_N_RECORDS] = n->records;
	out[WIRE_N_ALLOCS] = n->allocs;
	out[WIRE_N_FREES] = n->frees;
	out[WIRE_N_FAILED] = n->failed;
	out[WIRE_N_INHERITED] = n->inherited;
	out[WIRE_N_LIVE_BLOCKS] = n->aRecActive;
	out[WIRE_N_LIVE_BYTES] = n->live_bytes;
	out[WIRE_N_PEAK_BYTES] = n->peak_bytes;
	out[WIRE_N_MAX] = n->aRecMax;
	out[WIRE_N_LOST] = keeper_lost(k);
	out[WIRE_N_DUPLICATE] = n->duplicate;
	out[WIRE_N_UNKNOWN_FREE] = n->unknown_free;
	out[WIRE_N_EARLIER] = n->earlier;
	out[WIRE_N_ILLEGAL_TYPE] = n->illegal_type;
	out[WIRE_N_FULL] = n->full;
	out[WIRE_N_BAD] = k->bad;
	out[WIRE_N_CYCLE_US] = k->cycle_us;
	out[WIRE_N_HELD] = feed != NULL ? feed->held : 0;
	out[WIRE_N_SITES_FULL] = k->sites_full;
	out[WIRE_N_WALKS] = k->walks;
	out[WIRE_N_SAMPLE] = k->sample;
	out[WIRE_N_EST_BLOCKS] = n->est_blocks;
	out[WIRE_N_EST_BYTES] = n->est_bytes;
	out[WIRE_N_EST_PEAK_BYTES] = n->est_peak_bytes;
	out[WIRE_N_ARMED_MS] = (uint64_t)k->arming.wall_ms;
	out[WIRE_N_STAY] = n->records - 2 * n->cancelled;
}

static void
stat_stream(const struct keeper *k, struct wire_stats *st)
{
	st->pid = (uint32_t)k->pid;
	st->ppid = (uint32_t)k->ppid;
	st->comm = wire_text(k->comm);
	st->state = k->state;
	st->status = k->status;
	st->reason = wire_text(k->reason);
	st->ended_ms = k->ended_ms;
	stat_numbers(k, st->n);
}

static void
answer_stat(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_STATS, .id = m->id };
	const struct dstrm_row *row;

	reply.stats.index = m->stat.index;
	reply.stats.targets_live = tree_live(c->node);
	if (m->stat.index == UINT32_MAX) {
		run_stat(c->node, &reply.stats);
	} else {
		row = row_meant(c, m, m->stat.index);
		if (row == NULL)
			return;
		stat_stream(row->keeper, &reply.stats);
	}
	conn_reply(c, &reply);
}

/* --- WINDOW -------------------------------------------------------------- */

/* The place of a requester among those of the rows, from 1 on; 0 for none. */
static size_t
place_of(struct wire_rows *r, const struct keeper *k, uint16_t index,
    uint16_t known[WIRE_INFO_MAX], size_t row)
{
	size_t i, n = r->ninfo;

	if (index == 0)
		return 0;
	for (i = 0; i < n; i++)
		if (known[i] == index)
			return i + 1;
	put_info(r->info, &r->ninfo, k, index, row);
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

		s->who[i] = (uint8_t)place_of(r, k, b->info, known, i);
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

/*
 * Where the window begins: it goes with the block that is wanted, and is moved
 * into the list as far as there are rows for it.
 */
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

static void
answer_window(struct conn *c, const struct wire_msg *m)
{
	struct answer_scratch *s = c->node->serve.scratch;
	struct wire_msg reply = { .type = WIRE_ROWS, .id = m->id };
	const struct wire_window *w = &m->window;
	enum blklist_order order = w->order == WIRE_BY_AGE ? BLKLIST_BY_AGE :
	    BLKLIST_BY_ADDRESS;
	struct wire_rows *r = &reply.rows;
	struct keeper *k;
	size_t n;

	k = meant(c, m, w->index, w->epoch, true);
	if (k == NULL)
		return;
	drain_freshen(k);
	r->offset = first_row(k, w, order);
	n = blklist_window(k->list, order, w->reverse, r->offset, s->blk,
	    w->max);
	put_rows(s, k, n, r);
	r->as_of = keeper_next(k) - 1;
	stat_numbers(k, r->n);
	for (unsigned cause = 1; cause < STREAM_OTHER; cause++)
		r->lost[cause] = (struct wire_lost){ .count = k->lost[cause],
			.exact = cause != STREAM_CORRUPT };
	r->now_ms = keeper_now_ms(k);
	r->state = k->state;
	conn_reply(c, &reply);
	if (k->on_read != NULL)
		k->on_read(k, true);
}

/* --- SYM, SITE, FRAME ---------------------------------------------------- */

static void
answer_sym(struct conn *c, const struct wire_msg *m)
{
	const struct dstrm_row *row = row_meant(c, m, m->sym.index);

	if (row == NULL)
		return;
	if (m->sym.kind != WIRE_SYM_THREAD)
		conn_error(c, m->id, WIRE_E_NAME, "no names of that kind");
	else
		lookup_threads(c, m, row->keeper);
}

static void
answer_site(struct conn *c, const struct wire_msg *m)
{
	struct keeper *k;

	k = meant(c, m, m->site.index, m->site.epoch, false);
	if (k != NULL)
		lookup_sites(c, m, k);
}

static void
answer_frame(struct conn *c, const struct wire_msg *m)
{
	struct keeper *k;

	k = meant(c, m, m->frame.index, m->frame.epoch, false);
	if (k != NULL)
		lookup_frames(c, m, k);
}

/* --- TYPES, END --------------------------------------------------------- */

static void
answer_types(struct conn *c, const struct wire_msg *m)
{
	const struct dstrm_row *row = row_meant(c, m, m->types.index);
	struct answer_scratch *s = c->node->serve.scratch;
	struct wire_msg reply = { .type = WIRE_TYPED, .id = m->id };
	const struct stream_types *types;
	size_t len = 0;

	if (row == NULL)
		return;
	types = row->keeper->types != NULL ? row->keeper->types :
	    &c->node->types;
	for (unsigned code = 0; code < 256; code++) {
		const struct stream_type *t = &types->by_code[code];

		if (t->name[0] == '\0')
			continue;
		s->bytes[len] = (uint8_t)code;
		memcpy(s->bytes + len + 1, t->name, 8);
		memcpy(s->bytes + len + 9, t->text, 41);
		len += WIRE_TYPED_SIZE;
	}
	reply.typed.index = m->types.index;
	reply.typed.types = (struct wire_bytes){ .p = s->bytes, .len = len };
	conn_reply(c, &reply);
}

static void
answer_end(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_ENDED, .id = m->id };
	struct keeper *k;

	k = meant(c, m, m->end.index, m->end.epoch, false);
	if (k == NULL || !is_controlled(c, m, k))
		return;
	if (k == c->node->daemon.own) {
		conn_error(c, m->id, WIRE_E_NAME,
		    "this is the node itself, and no target");
		return;
	}
	if (keeper_is_live(k) && k->pid == 0) {
		tree_end_image(k, WIRE_S_ENDED, 0, NULL);
	} else if (keeper_is_live(k) && (k->pidfd < 0 ||
	    syscall(SYS_pidfd_send_signal, k->pidfd, SIGTERM, NULL, 0) < 0)) {
		/* The pid alone could be another process by now. */
		conn_error(c, m->id, k->pidfd >= 0 && errno == EPERM ?
		    WIRE_E_AUTH : WIRE_E_INTERNAL,
		    "the target could not be told to end");
		return;
	}
	conn_reply(c, &reply);
}

/* --- ARM ---------------------------------------------------------------- */

static void
answer_arm(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_ARMED, .id = m->id };
	struct keeper *k;
	int r;

	k = meant(c, m, m->arm.index, m->arm.epoch, false);
	if (k == NULL || !is_controlled(c, m, k))
		return;
	r = arming_ask(k, c->id, (enum wire_arming)m->arm.arming);
	if (r == -ENOTSUP)
		conn_error(c, m->id, WIRE_E_NAME,
		    "only a process that lives and has a stream can be armed "
		    "or sent to sleep");
	else if (r < 0)
		conn_error(c, m->id, WIRE_E_INTERNAL, "out of memory");
	else
		conn_reply(c, &reply);
}

/* --- the table ---------------------------------------------------------- */

static const struct request {
	uint32_t type;
	uint32_t role;
	void (*answer)(struct conn *, const struct wire_msg *);
} requests[] = {
	{ WIRE_NAME, WIRE_ROLE_READ, answer_name },
	{ WIRE_READ, WIRE_ROLE_READ, answer_read },
	{ WIRE_SNAP, WIRE_ROLE_READ, answer_snap },
	{ WIRE_STAT, WIRE_ROLE_READ, answer_stat },
	{ WIRE_SYM, WIRE_ROLE_READ, answer_sym },
	{ WIRE_SITE, WIRE_ROLE_READ, answer_site },
	{ WIRE_FRAME, WIRE_ROLE_READ, answer_frame },
	{ WIRE_TYPES, WIRE_ROLE_READ, answer_types },
	{ WIRE_END, WIRE_ROLE_CONTROL, answer_end },
	{ WIRE_ARM, WIRE_ROLE_CONTROL, answer_arm },
	{ WIRE_WINDOW, WIRE_ROLE_READ, answer_window },
};

void
answer(struct conn *c, const struct wire_msg *m)
{
	for (size_t i = 0; i < BASE_NELEM(requests); i++) {
		if (requests[i].type != m->type)
			continue;
		if ((c->roles & requests[i].role) == 0)
			conn_error(c, m->id, WIRE_E_AUTH,
			    requests[i].role == WIRE_ROLE_CONTROL ?
			    "this page was not granted the role control" :
			    "this page was not granted the role read");
		else
			requests[i].answer(c, m);
		return;
	}
	conn_fail(c, m->id, WIRE_E_FRAME, "not a request");
}
