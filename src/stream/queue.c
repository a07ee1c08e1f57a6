/*
 * The retained queue.  Records lie in one circular array, addressed by entry
 * number: how many records were ever put before this one.  A loss takes
 * sequence numbers but no entry; a side table of gaps has them, so that a
 * sequence number is found by a binary search among gaps and one subtraction.
 *
 * Of a persistent queue the array is in persistent memory.  A process that dies
 * has put more than it has committed, over the oldest records.  So each put
 * stores before it begins how far it will write, and a successor reads what
 * begins one capacity before that mark.  The mark never goes back, for an older
 * commit may still be the one that counts.  After more than a whole queue was
 * put without a commit, records that the successor puts below the mark would
 * count as overwritten if it dies too: the queue then has less than it could,
 * never more.
 */
#include "../base/base.h"
#include "../base/pmem.h"
#include "stream.h"

#include <assert.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define STREAMING_MIN 256	/* records: 8 KiB */

/* A target can claim any number of losses; sequence numbers must not wrap. */
#define SEQ_MAX (UINT64_C(1) << 62)

struct gap {
	uint64_t seq;		/* first that is lost */
	uint64_t end;		/* first after it that is not of this gap */
	uint64_t entry;		/* of the first record after it */
	unsigned cause;
};

struct stream_queue {
	struct rec *recs;
	uint64_t mask;		/* capacity - 1 */
	uint64_t entries;	/* records ever put */
	uint64_t next;		/* sequence number to come */

	/* The oldest entry that may be read, and its sequence number. */
	uint64_t base_seq, base_entry;

	uint64_t *written;	/* the mark: the end of entries written or being written */
	uint64_t written_here;	/* of a queue that is not persistent */
	struct commit *commits;	/* two; NULL: not persistent */

	struct gap gaps[STREAM_QUEUE_LOSSES];	/* circular, in order */
	size_t first_gap, ngaps;
};

struct commit {
	uint64_t entries, next, base_seq, base_entry;
	uint64_t ngaps;
	struct gap gaps[STREAM_QUEUE_LOSSES];	/* from the first on */
};

struct commits {
	uint64_t written;
	struct commit slot[2];
};

_Static_assert((STREAM_QUEUE_LOSSES & (STREAM_QUEUE_LOSSES - 1)) == 0,
    "gaps are addressed by a mask");

static int
queue_alloc(struct stream_queue **out, uint32_t records, size_t *bytes)
{
	struct stream_queue *q;

	if (records == 0 || (records & (records - 1)) != 0)
		return -EINVAL;
	if (__builtin_mul_overflow(records, sizeof(struct rec), bytes) ||
	    (q = calloc(1, sizeof(*q))) == NULL)
		return -ENOMEM;
	q->mask = records - 1;
	q->next = q->base_seq = 1;
	q->written = &q->written_here;
	*out = q;
	return 0;
}

int
stream_queue_new(struct stream_queue **out, uint32_t records)
{
	struct stream_queue *q;
	size_t bytes;
	void *recs;
	int err;

	if ((err = queue_alloc(&q, records, &bytes)) != 0)
		return err;
	/* Pages are taken as it fills. */
	recs = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (recs == MAP_FAILED) {
		free(q);
		return -ENOMEM;
	}
	q->recs = recs;
	*out = q;
	return 0;
}

int
stream_queue_new_persistent(struct stream_queue **out, uint32_t records,
    struct pmem *memory)
{
	struct commits *commits;
	struct stream_queue *q;
	size_t bytes;
	int err;

	if ((err = queue_alloc(&q, records, &bytes)) != 0)
		return err;
	q->recs = pmem_take(memory, bytes);
	commits = pmem_take(memory, sizeof(*commits));
	if (q->recs == NULL || commits == NULL) {
		free(q);
		return -ENOMEM;
	}
	q->written = &commits->written;
	q->commits = commits->slot;
	*out = q;
	return 0;
}

void
stream_queue_free(struct stream_queue *q)
{
	if (q == NULL)
		return;
	if (q->commits == NULL)
		munmap(q->recs, (q->mask + 1) * sizeof(struct rec));
	free(q);
}

void
stream_queue_start_at(struct stream_queue *q, uint64_t seq)
{
	assert(q->entries == 0 && q->ngaps == 0 && q->next == q->base_seq);
	assert(seq > 0);
	q->next = q->base_seq = seq < SEQ_MAX ? seq : SEQ_MAX;
}

static const struct gap *
gap_at(const struct stream_queue *q, size_t i)
{
	return &q->gaps[(q->first_gap + i) & (STREAM_QUEUE_LOSSES - 1)];
}

static uint64_t
oldest_entry(const struct stream_queue *q)
{
	uint64_t held = q->entries > q->mask ? q->entries - q->mask - 1 : 0;

	return held > q->base_entry ? held : q->base_entry;
}

static void
drop_first_gap(struct stream_queue *q)
{
	const struct gap *g = gap_at(q, 0);

	q->base_seq = g->end;
	q->base_entry = g->entry;
	q->first_gap = (q->first_gap + 1) & (STREAM_QUEUE_LOSSES - 1);
	q->ngaps--;
}

/*
 * Copies a batch past the caches, where the machine can: the array is larger
 * than they are and read much later, if at all, and would push out what the
 * list needs. A few records may be read next, and are copied as usual.
 */
static void
copy_streaming(struct rec *to, const struct rec *from, size_t n)
{
#ifdef __SSE2__
	if (n >= STREAMING_MIN) {
		for (size_t i = 0; i < n; i++) {
			const __m128i *half = (const __m128i *)&from[i];

			_mm_stream_si128((__m128i *)&to[i],
			    _mm_loadu_si128(half));
			_mm_stream_si128((__m128i *)&to[i] + 1,
			    _mm_loadu_si128(half + 1));
		}
		/* Records are stored before a commit of them. */
		_mm_sfence();
		return;
	}
#endif
	memcpy(to, from, n * sizeof(*to));
}

static void
store_records(struct stream_queue *q, uint64_t entry, const struct rec *recs, size_t n)
{
	size_t at = entry & q->mask;
	size_t run = q->mask + 1 - at;

	if (entry + n > *q->written)
		*q->written = entry + n;
	atomic_signal_fence(memory_order_seq_cst);
	if (run > n)
		run = n;
	copy_streaming(q->recs + at, recs, run);
	copy_streaming(q->recs, recs + run, n - run);
}

static void
fetch_records(const struct stream_queue *q, uint64_t entry, struct rec *out,
    size_t n)
{
	size_t at = entry & q->mask;
	size_t run = q->mask + 1 - at;

	if (run > n)
		run = n;
	memcpy(out, q->recs + at, run * sizeof(*out));
	memcpy(out + run, q->recs, (n - run) * sizeof(*out));
}

void
stream_queue_put(struct stream_queue *q, const struct rec *recs, size_t n)
{
	size_t skip = n > q->mask + 1 ? n - (q->mask + 1) : 0;

	if (n == 0)
		return;
	store_records(q, q->entries + skip, recs + skip, n - skip);
	q->entries += n;
	q->next += n;
	while (q->ngaps > 0 && gap_at(q, 0)->entry < oldest_entry(q))
		drop_first_gap(q);
}

void
stream_queue_lose(struct stream_queue *q, unsigned cause, uint64_t count)
{
	struct gap *last;

	assert(cause > 0 && cause < STREAM_CAUSES);
	if (q->next >= SEQ_MAX)
		return;
	if (count > SEQ_MAX - q->next)
		count = SEQ_MAX - q->next;
	if (count == 0)
		return;

	if (q->ngaps > 0) {
		last = &q->gaps[(q->first_gap + q->ngaps - 1) &
		    (STREAM_QUEUE_LOSSES - 1)];
		if (last->end == q->next && last->cause == cause) {
			q->next = last->end += count;
			return;
		}
	}
	if (q->ngaps == STREAM_QUEUE_LOSSES)
		drop_first_gap(q);
	last = &q->gaps[(q->first_gap + q->ngaps++) &
	    (STREAM_QUEUE_LOSSES - 1)];
	*last = (struct gap) {
		.seq = q->next,
		.end = q->next + count,
		.entry = q->entries,
		.cause = cause,
	};
	q->next += count;
}

uint64_t
stream_queue_next(const struct stream_queue *q)
{
	return q->next;
}

uint64_t
stream_queue_oldest(const struct stream_queue *q)
{
	uint64_t entry = oldest_entry(q);

	if (q->ngaps > 0 && gap_at(q, 0)->entry == entry)
		return gap_at(q, 0)->seq;
	return q->base_seq + (entry - q->base_entry);
}

/* The first gap that ends beyond seq; ngaps if there is none. */
static size_t
find_gap(const struct stream_queue *q, uint64_t seq)
{
	size_t i;

	BASE_FIND_FIRST(i, q->ngaps, gap_at(q, i)->end > seq);
	return i;
}

/* The entry of a sequence number between gaps i - 1 and i. */
static uint64_t
entry_of(const struct stream_queue *q, size_t i, uint64_t seq)
{
	const struct gap *g;

	if (i == 0)
		return q->base_entry + (seq - q->base_seq);
	g = gap_at(q, i - 1);
	return g->entry + (seq - g->end);
}

size_t
stream_queue_read(const struct stream_queue *q, uint64_t from, struct rec *out,
    uint64_t *seqs, size_t max, struct stream_range *range)
{
	uint64_t oldest = stream_queue_oldest(q), seq;
	size_t n = 0, i;

	if (from == 0)
		from = oldest;
	if (from > q->next)
		from = q->next;
	*range = (struct stream_range) { .from = from };
	seq = from;
	if (seq < oldest) {
		range->lost[STREAM_OVERWRITTEN] = oldest - seq;
		seq = oldest;
	}

	for (i = find_gap(q, seq); seq < q->next; i++) {
		const struct gap *g = i < q->ngaps ? gap_at(q, i) : NULL;
		uint64_t end = g != NULL ? g->seq : q->next;

		if (seq < end && n < max) {
			size_t run = max - n;

			if (run > end - seq)
				run = (size_t)(end - seq);
			fetch_records(q, entry_of(q, i, seq), out + n, run);
			for (size_t k = 0; seqs != NULL && k < run; k++)
				seqs[n + k] = seq + k;
			n += run;
			seq += run;
		}
		if (seq < end || g == NULL)
			break;
		range->lost[g->cause] += g->end - seq;
		seq = g->end;
	}
	range->next = seq;
	return n;
}

const struct rec *
stream_queue_at(const struct stream_queue *q, uint64_t seq)
{
	size_t i;

	if (seq < stream_queue_oldest(q) || seq >= q->next)
		return NULL;
	i = find_gap(q, seq);
	if (i < q->ngaps && seq >= gap_at(q, i)->seq)
		return NULL;
	return &q->recs[entry_of(q, i, seq) & q->mask];
}

void
stream_queue_commit(struct stream_queue *q, unsigned slot)
{
	struct commit *c = &q->commits[slot];

	assert(slot < 2);
	c->entries = q->entries;
	c->next = q->next;
	c->base_seq = q->base_seq;
	c->base_entry = q->base_entry;
	c->ngaps = q->ngaps;
	for (size_t i = 0; i < q->ngaps; i++)
		c->gaps[i] = *gap_at(q, i);
}

static bool
is_consistent(const struct commit *c)
{
	uint64_t seq = c->base_seq, entry = c->base_entry;

	if (c->ngaps > STREAM_QUEUE_LOSSES || seq == 0 || seq > c->next ||
	    entry > c->entries)
		return false;
	for (size_t i = 0; i < c->ngaps; i++) {
		const struct gap *g = &c->gaps[i];

		if (g->cause == 0 || g->cause >= STREAM_CAUSES ||
		    g->entry < entry || g->entry > c->entries ||
		    g->seq < seq || g->seq - seq != g->entry - entry ||
		    g->end <= g->seq || g->end > c->next)
			return false;
		seq = g->end;
		entry = g->entry;
	}
	return c->next - seq == c->entries - entry;
}

/* Drops entries before this one: puts after the commit overwrote them. */
static void
drop_before(struct stream_queue *q, uint64_t entry)
{
	if (entry > q->entries)
		entry = q->entries;
	while (q->ngaps > 0 && gap_at(q, 0)->entry < entry)
		drop_first_gap(q);
	if (entry <= q->base_entry)
		return;
	q->base_seq += entry - q->base_entry;
	q->base_entry = entry;
}

int
stream_queue_resume(struct stream_queue **out, uint32_t records,
    struct pmem *memory, unsigned slot)
{
	const struct commit *c;
	struct stream_queue *q;
	int err;

	assert(slot < 2);
	if ((err = stream_queue_new_persistent(&q, records, memory)) != 0)
		return err;
	c = &q->commits[slot];
	if (!is_consistent(c) || c->entries > *q->written) {
		stream_queue_free(q);
		return -EINVAL;
	}
	q->entries = c->entries;
	q->next = c->next;
	q->base_seq = c->base_seq;
	q->base_entry = c->base_entry;
	q->ngaps = c->ngaps;
	memcpy(q->gaps, c->gaps, q->ngaps * sizeof(*q->gaps));
	if (*q->written > q->mask + 1)
		drop_before(q, *q->written - (q->mask + 1));
	*out = q;
	return 0;
}
