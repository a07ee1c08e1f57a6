/*
 * fuzz_records: any bytes as records, classic and wide, through all that keeps
 * them: the decoders, the queue, both kinds of block list and the digest.  A
 * claim that does not hold ends the program.
 *
 * Claims: what decodes encodes to what it was; what a queue gives back is what
 * was put, or is counted by its cause; the indexed list and the literal one
 * have the same rows, counters and answers, and are sound; a digest has the
 * records that the list has left in, and no others.
 *
 * The bytes are a head, then one portion after the other: what it is, how many
 * records, the records.
 */
#include <errno.h>

#include "../../src/blklist/blklist.h"
#include "../../src/stream/stream.h"
#include "fuzz.h"

#define BATCH 256
#define ROWS 24
#define QUEUE 256
#define SEEN 8192		/* numbers of a script at most, losses included */

/* The first byte of a portion, modulo their number. */
enum portion {
	PORTION_WIDE,
	PORTION_SMALL,		/* six bytes a record, of few addresses */
	PORTION_CLASSIC,
	PORTION_BLOCKS,		/* put in and taken out by hand */
	PORTION_LOSS,
	PORTION_CLEAR,
	PORTIONS
};

/* In the head. */
#define HEAD_CANCEL 0x01
#define HEAD_SINCE_CLICK 0x02
#define HEAD_SAMPLE 0x04
#define HEAD_OPAQUE 0x08
#define HEAD_LEGAL 0x10

struct rig {
	struct input in;
	struct blklist *lit, *ix;
	struct stream_queue *queue;
	struct stream_digest *digest;
	bool cancel;
	int64_t near_ms;
	size_t n;			/* the batch at hand */
	struct rec rec[BATCH];
	int64_t ms[BATCH];
	struct rec put[SEEN];		/* by sequence number ... */
	uint8_t cause[SEEN];		/* ... or lost by this */
	uint64_t next;
};

/* --- the decoders ---------------------------------------------------------- */

static bool
take_bytes(struct input *in, uint8_t *to, size_t n)
{
	if (in->left < n)
		return false;
	memcpy(to, in->p, n);
	in->p += n;
	in->left -= n;
	return true;
}

static void
take_wide(struct rig *rig, size_t n)
{
	uint8_t bytes[REC_WIDE_SIZE], back[REC_WIDE_SIZE];

	for (; rig->n < n && take_bytes(&rig->in, bytes, sizeof(bytes));
	    rig->n++) {
		stream_wide_decode(bytes, 1, &rig->rec[rig->n]);
		stream_wide_encode(&rig->rec[rig->n], 1, back);
		claim(memcmp(bytes, back, sizeof(back)) == 0,
		    "a wide record comes back as it was");
	}
}

/* As programs make them, so that blocks are met again. */
static void
take_small(struct rig *rig, size_t n)
{
	static const uint8_t ops[] = {
		REC_ALLOC, REC_FREE, REC_ALLOC, REC_FREE, REC_UNDO, REC_RANGE,
		REC_CONTROL, REC_LOSS,
	};
	uint8_t b[6];

	for (; rig->n < n && take_bytes(&rig->in, b, sizeof(b)); rig->n++)
		rig->rec[rig->n] = (struct rec){ {
		    rec_w0(UINT64_C(0x555500000000) + b[1] *
			(b[0] & 0x80 ? UINT64_C(0x201000) : 16) - (b[0] >> 6 & 1),
			REC_FLAGS(ops[b[0] & 7], b[2] & 0xf), b[3]),
		    rec_w1(b[5] * (uint64_t)37, b[4] >> 4),
		    rec_w2((uint32_t)(int8_t)b[4], (uint32_t)b[5] << 4),
		    b[4] } };
}

static void
take_classic(struct rig *rig, size_t n)
{
	uint8_t bytes[REC_CLASSIC_SIZE], back[REC_CLASSIC_SIZE];
	struct rec r, again;
	int64_t ms, ms_again;
	int err;

	while (rig->n < n && take_bytes(&rig->in, bytes, sizeof(bytes))) {
		err = stream_classic_decode(bytes, &r, &ms);
		claim(err == 0 || err == -EILSEQ,
		    "a classic record decodes or is bad");
		if (err != 0)
			continue;
		claim(stream_classic_encode(&r, ms, back) == 0,
		    "what decodes can be encoded");
		claim(memcmp(bytes, back, 8) == 0,
		    "a classic record comes back but for its time");
		claim(stream_classic_decode(back, &again, &ms_again) == 0 &&
		    memcmp(&r, &again, sizeof(r)) == 0 && ms == ms_again,
		    "a classic record's time comes back");
		rig->rec[rig->n] = r;
		rig->ms[rig->n++] = ms;
	}
}

/* --- the queue ------------------------------------------------------------- */

static void
remember(struct rig *rig, const struct rec *r, unsigned cause)
{
	if (r != NULL)
		rig->put[rig->next] = *r;
	rig->cause[rig->next++] = (uint8_t)cause;
}

/* Whatever is asked for, each number of the answer is a record or a loss. */
static void
read_queue(struct rig *rig, uint64_t from, size_t max)
{
	static struct rec out[BATCH];
	static uint64_t seqs[BATCH];
	uint64_t lost[STREAM_CAUSES] = { 0 }, seq;
	struct stream_range range;
	size_t n = stream_queue_read(rig->queue, from, out, seqs, max, &range);
	size_t k = 0;

	claim(n <= max && range.next <= rig->next && range.from <= range.next,
	    "a read is bounded");
	for (seq = range.from; seq < range.next; seq++) {
		if (k < n && seqs[k] == seq) {
			claim(rig->cause[seq] == 0 && memcmp(&out[k],
			    &rig->put[seq], sizeof(*out)) == 0,
			    "what a queue gives is what was put");
			k++;
		} else if (seq < stream_queue_oldest(rig->queue)) {
			lost[STREAM_OVERWRITTEN]++;
		} else {
			lost[rig->cause[seq]]++;
		}
	}
	claim(k == n && memcmp(lost, range.lost, sizeof(lost)) == 0,
	    "what a queue does not give is counted by its cause");
}

/* --- the lists ------------------------------------------------------------- */

static void
same_rows(const struct blk *a, const struct blk *b, size_t na, size_t nb)
{
	claim(na == nb && memcmp(a, b, na * sizeof(*a)) == 0,
	    "both lists have the same rows");
}

static void
same_block(const struct rig *rig, unsigned layer, uint64_t addr)
{
	struct blk a[ROWS], b[ROWS];
	int err = blklist_get(rig->lit, layer, addr, a);

	claim(blklist_get(rig->ix, layer, addr, b) == err,
	    "both lists have the same blocks");
	if (err == 0)
		same_rows(a, b, 1, 1);
	for (int order = BLKLIST_BY_AGE; order <= BLKLIST_BY_ADDRESS; order++)
		claim(blklist_rank(rig->lit, order, layer, addr) ==
		    blklist_rank(rig->ix, order, layer, addr),
		    "both lists have a block at the same place");
	same_rows(a, b,
	    blklist_after(rig->lit, false, layer, addr, a, ROWS),
	    blklist_after(rig->ix, false, layer, addr, b, ROWS));
}

static void
same_lists(const struct rig *rig)
{
	const struct blklist_counts *c = blklist_counts(rig->lit);
	struct blk a[ROWS], b[ROWS];

	claim(memcmp(c, blklist_counts(rig->ix), sizeof(*c)) == 0,
	    "both lists count the same");
	for (unsigned i = 0; i < 8; i++) {
		enum blklist_order order = i & 1 ? BLKLIST_BY_AGE :
		    BLKLIST_BY_ADDRESS;
		uint64_t offs = i & 4 ? c->aRecActive / 2 : 0;

		same_rows(a, b, blklist_window(rig->lit, order, i & 2, offs, a,
		    ROWS), blklist_window(rig->ix, order, i & 2, offs, b,
		    ROWS));
	}
	if (rig->n > 0)
		same_block(rig, rec_layer(rig->rec), rec_addr(rig->rec));
	for (uint32_t k = 0; k < 4; k++) {
		const struct blklist_removed *x = blklist_removed(rig->lit, k);
		const struct blklist_removed *y = blklist_removed(rig->ix, k);

		claim((x == NULL) == (y == NULL) && (x == NULL ||
		    (x->seq == y->seq && memcmp(&x->blk, &y->blk,
		    sizeof(x->blk)) == 0)),
		    "both lists remember the same blocks");
	}
}

/* Walks everything: by far the most work, so not after each portion. */
static void
sound(const struct blklist *l)
{
	char why[200];

	claim(blklist_check(l, why, sizeof(why)) == 0, why);
}

static bool
is_left_out(const uint64_t *left_out, size_t i)
{
	return left_out[i / 64] >> i % 64 & 1;
}

/* What the list has left in is there, in order and with its number. */
static void
same_digest(const struct rig *rig, uint64_t seq, const uint64_t *left_out)
{
	struct stream_digest_batch b;
	unsigned k = 0;

	if (!stream_digest_find(rig->digest, seq, &b))
		return;
	claim(b.seq == seq && b.end == seq + rig->n,
	    "a digest finds the batch that was put");
	for (size_t i = 0; i < rig->n; i++) {
		const struct stream_digest_entry *e;

		if (is_left_out(left_out, i))
			continue;
		claim(k < b.n, "a digest has all that is left");
		e = stream_digest_at(rig->digest, &b, k++);
		claim(e->seq == seq + i && memcmp(&e->rec, &rig->rec[i],
		    sizeof(e->rec)) == 0, "a digest has what is left");
	}
	claim(k == b.n, "a digest has no more than is left");
}

/* As a keeper takes a batch. */
static void
apply(struct rig *rig, bool timed)
{
	uint64_t left_out[BATCH / 64] = { 0 };
	struct blklist_batch b = {
		.rec = rig->rec, .n = rig->n, .near_ms = rig->near_ms,
		.ms = timed ? rig->ms : NULL, .cancel = rig->cancel,
		.seq = stream_queue_next(rig->queue),
	};
	uint64_t pairs = blklist_counts(rig->ix)->cancelled;
	size_t out = 0;

	claim(b.seq == rig->next, "a queue numbers what is put");
	stream_queue_put(rig->queue, rig->rec, rig->n);
	for (size_t i = 0; i < rig->n; i++)
		remember(rig, &rig->rec[i], 0);
	blklist_apply(rig->lit, &b);
	b.left_out = left_out;
	blklist_apply(rig->ix, &b);
	for (size_t i = 0; i < BATCH; i++)
		out += is_left_out(left_out, i);
	claim(out == 2 * (blklist_counts(rig->ix)->cancelled - pairs),
	    "two records are left out for each pair");
	stream_digest_put(rig->digest, b.seq, rig->rec, rig->n, left_out, NULL,
	    NULL);
	same_digest(rig, b.seq, left_out);
}

/* Blocks as parts of a snapshot bring them, and frees without a record. */
static void
by_hand(struct rig *rig)
{
	for (size_t i = 0; i < rig->n; i++) {
		const struct rec *r = &rig->rec[i];
		struct blk b = {
			.addr = rec_addr(r),
			.size = rec_size(r),
			.seq = rig->next - rec_ticket(r),
			.ms = rec_ms_near(r, rig->near_ms),
			.caller = rec_caller(r),
			.flags = (uint8_t)REC_FLAGS(REC_ALLOC,
			    rec_flags(r) & 0xf),
			.type = (uint8_t)rec_type(r),
			.thread = (uint16_t)rec_thread(r),
		};

		if (rec_op(r) == REC_FREE)
			claim(blklist_take(rig->lit, rec_layer(r), b.addr) ==
			    blklist_take(rig->ix, rec_layer(r), b.addr),
			    "both lists give the same block up");
		else
			claim(blklist_put(rig->lit, &b) ==
			    blklist_put(rig->ix, &b),
			    "both lists take the same block");
	}
}

/* --- portions -------------------------------------------------------------- */

static void
lose(struct rig *rig)
{
	unsigned cause = 1 + take8(&rig->in) % (STREAM_CAUSES - 1);
	unsigned count = take8(&rig->in);

	stream_queue_lose(rig->queue, cause, count);
	for (unsigned i = 0; i < count; i++)
		remember(rig, NULL, cause);
}

static void
portion(struct rig *rig)
{
	unsigned what = take8(&rig->in) % PORTIONS;
	size_t n = take8(&rig->in) % BATCH;

	rig->n = 0;
	switch (what) {
	case PORTION_WIDE:
		take_wide(rig, n);
		apply(rig, false);
		break;
	case PORTION_SMALL:
		take_small(rig, n);
		apply(rig, false);
		break;
	case PORTION_CLASSIC:
		take_classic(rig, n);
		apply(rig, true);
		break;
	case PORTION_BLOCKS:
		take_small(rig, n);
		by_hand(rig);
		break;
	case PORTION_LOSS:
		lose(rig);
		break;
	default:
		blklist_clear(rig->lit);
		blklist_clear(rig->ix);
		break;
	}
	rig->near_ms += (int64_t)n;
	same_lists(rig);
	read_queue(rig, n % 3 == 0 ? 0 : rig->next > n * 3 ? rig->next - n * 3 :
	    n, n % 2 == 0 ? BATCH : n / 2);
}

static void
set_up(struct rig *rig, struct blklist *l, unsigned head)
{
	static const uint8_t legal[32] = { [TYPE_MALLOC / 8] = 0x0f };

	claim(blklist_remember(l, 16) == 0, "there is memory");
	if (head & HEAD_LEGAL)
		blklist_set_legal(l, legal);
	blklist_set_opaque(l, head & HEAD_OPAQUE);
	blklist_set_since_click(l, head & HEAD_SINCE_CLICK);
	blklist_sample(l, head & HEAD_SAMPLE ? 4096 : 0);
	rig->cancel = head & HEAD_CANCEL;
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t len)
{
	static struct rig rig;
	unsigned head, max;

	memset(&rig, 0, sizeof(rig));
	rig.in = (struct input){ p, len };
	rig.next = 1;
	rig.near_ms = 1 << 20;
	head = take8(&rig.in);
	max = 1 + take8(&rig.in);
	claim(blklist_new(&rig.lit, BLKLIST_LITERAL, max) == 0 &&
	    blklist_new(&rig.ix, BLKLIST_INDEXED, max) == 0 &&
	    stream_queue_new(&rig.queue, QUEUE) == 0 &&
	    stream_digest_new(&rig.digest) == 0, "there is memory");
	set_up(&rig, rig.lit, head);
	set_up(&rig, rig.ix, head);
	while (rig.in.left > 0 && rig.next < SEEN - BATCH)
		portion(&rig);
	sound(rig.lit);
	sound(rig.ix);
	blklist_free(rig.lit);
	blklist_free(rig.ix);
	stream_queue_free(rig.queue);
	stream_digest_free(rig.digest);
	return 0;
}
