/*
 * The hash's tables: making, moving and dropping them.
 */
#include <errno.h>

#include "hash.h"

#define HASH_MAX (BLKLIST_MAX / 4)	/* buckets: twice the records there can be */

/*
 * Up to the first size memory is no matter: a table is filled to a half and
 * then doubled.  Above it three quarters are filled; from the second one on
 * only a quarter is added, for that much more is moved.
 */
#define SMALL 8192
#define LARGE 65536

#define READY_AHEAD (3 * LIST_HUGE)
#define MOVE_AHEAD 8		/* buckets fetched ahead */
#define PIECE (LIST_HUGE / 64)	/* buckets */

static size_t
table_bytes(uint32_t n)
{
	return (size_t)n * sizeof(struct hash_bucket);
}

static void
table_drop(struct hash_table *t)
{
	list_unmap(t->bucket, table_bytes(t->n));
	*t = (struct hash_table){ 0 };
}

/* All of a large table is used at once, so all of it has huge pages. */
static size_t
huge_from(uint32_t n)
{
	return table_bytes(n) >= LIST_HUGE_FROM ? 0 : table_bytes(n);
}

static struct hash_table
table_map(uint32_t n)
{
	return (struct hash_table){
		.bucket = list_map_huge(table_bytes(n), huge_from(n)),
		.n = n,
	};
}

static int
table_make(struct hash *h, uint32_t n)
{
	struct hash_table t = h->next;

	if (t.bucket == NULL || t.n != n) {
		t = table_map(n);
		if (t.bucket == NULL)
			return -ENOMEM;
		table_drop(&h->next);
		h->ready = 0;
	}
	h->next = (struct hash_table){ 0 };
	h->now = t;
	h->limit = n <= SMALL ? n * (HASH_WIDTH / 2) : n * (HASH_WIDTH / 4 * 3);
	/*
	 * One in 32: a program that builds and drops the same structure again
	 * and again finds the table as it was.
	 */
	h->low = n > HASH_MIN ? n * HASH_WIDTH / 32 : 0;
	return 0;
}

int
hash_init(struct hash *h, uint64_t seed)
{
	*h = (struct hash){ .seed = seed };
	return table_make(h, HASH_MIN);
}

void
hash_fini(struct hash *h)
{
	table_drop(&h->next);
	table_drop(&h->old);
	table_drop(&h->now);
}

void
hash_clear(struct hash *h)
{
	struct hash fresh;

	if (hash_init(&fresh, h->seed) == 0) {
		hash_fini(h);
		*h = fresh;
		return;
	}
	/* What there is serves, at its present size. */
	table_drop(&h->next);
	table_drop(&h->old);
	list_zero(h->now.bucket, table_bytes(h->now.n));
	h->n = 0;
}

static uint32_t
size_after(uint32_t n, bool larger)
{
	/* Then filled to a quarter: far from growing again. */
	if (!larger)
		return n / 8 > HASH_MIN ? n / 8 : HASH_MIN;
	return n < LARGE ? 2 * n : n + n / 4;
}

int
hash_resize(struct hash *h, bool larger)
{
	struct hash_table was;
	uint32_t p;
	int err;

	/* Moves keep ahead of insertions; this is for a table made too late. */
	while (h->old.bucket != NULL)
		hash_move(h);
	was = h->now;
	if (larger ? was.n >= HASH_MAX : was.n <= HASH_MIN)
		return -ENOMEM;
	err = table_make(h, size_after(was.n, larger));
	if (err != 0)
		return err;
	h->old = was;
	for (p = 0; hash_match(&was.bucket[p], 0) == 0; p++)
		continue;
	h->start = hash_next(&was, p);
	h->done = 0;
	/* One that memory was lacking for until now may have no room to wait. */
	while (h->old.bucket != NULL && h->n > (uint64_t)was.n * 7)
		hash_move(h);
	return 0;
}

bool
hash_ahead(struct hash *h)
{
	const struct hash_table *t = &h->next;
	uint64_t need = READY_AHEAD;

	if (h->old.bucket != NULL) {
		t = &h->now;
		need += table_bytes(t->n) * (uint64_t)h->done / h->old.n;
	} else if (h->now.n < SMALL || h->now.n >= HASH_MAX ||
	    h->n < h->limit - h->limit / 16) {
		/* It was made ready, and nothing came of it. */
		if (t->bucket != NULL && h->n < h->limit - h->limit / 8)
			table_drop(&h->next);
		return false;
	} else if (t->bucket == NULL) {
		h->next = table_map(size_after(h->now.n, true));
		h->ready = 0;
		if (t->bucket == NULL)
			return false;
	}
	if (need > table_bytes(t->n))
		need = table_bytes(t->n);
	if (h->ready >= need)
		return false;
	h->ready = list_make_ready(t->bucket, table_bytes(t->n),
	    huge_from(t->n), h->ready);
	return true;
}

static void
place(struct hash_table *t, uint32_t tag, uint32_t index)
{
	uint32_t p = hash_home(t, tag);
	unsigned m;

	while ((m = hash_match(&t->bucket[p], 0)) == 0)
		p = hash_next(t, p);
	m = (unsigned)__builtin_ctz(m);
	t->bucket[p].word[m] = tag;
	t->bucket[p].word[HASH_WIDTH + m] = index;
	/* Moves come here in order. */
	__builtin_prefetch(&t->bucket[p + MOVE_AHEAD < t->n ? p + MOVE_AHEAD : p],
	    1);
}

/*
 * Gives the pages of the old table back as they are passed, a piece at a time:
 * to unmap a long table that is full of pages is a pause.  The piece that
 * `start` lies in is passed last, and the last run may reach into the next.
 */
static void
release_passed(struct hash *h, uint32_t from, uint32_t to)
{
	uint32_t piece = from / PIECE, start = h->start / PIECE;
	uint32_t pieces = (h->old.n + PIECE - 1) / PIECE;
	struct hash_bucket *b = h->old.bucket;

	if (piece != to / PIECE && piece != start &&
	    piece != (start + 1) % pieces)
		list_release(b + piece * PIECE, piece + 1 < pieces ?
		    b + (piece + 1) * PIECE : b + h->old.n);
}

/* Empties the bucket; returns whether it was full. */
static bool
move_bucket(struct hash *h, struct hash_bucket *b)
{
	unsigned n = 0;

	for (unsigned i = 0; i < HASH_WIDTH; i++) {
		if (b->word[i] == 0)
			continue;
		place(&h->now, b->word[i], b->word[HASH_WIDTH + i]);
		n++;
	}
	*b = (struct hash_bucket){ { 0 } };
	return n == HASH_WIDTH;
}

void
hash_move(struct hash *h)
{
	/* A table that is too large is nearly empty: it can go faster. */
	unsigned budget = h->old.n > h->now.n ? 4 : 1;
	uint32_t first = (h->start + h->done) % h->old.n, p = first;
	bool full;

	do {
		full = move_bucket(h, &h->old.bucket[p]);
		if (p + MOVE_AHEAD < h->old.n)
			__builtin_prefetch(&h->old.bucket[p + MOVE_AHEAD], 1);
		p = hash_next(&h->old, p);
		h->done++;
		if (budget > 0)
			budget--;
	} while (full || (h->done < h->old.n && budget > 0));
	release_passed(h, first, p);
	if (h->done >= h->old.n)
		table_drop(&h->old);
}

/* How many buckets b lies behind a, round the end. */
static uint32_t
distance(const struct hash_table *t, uint32_t a, uint32_t b)
{
	return b >= a ? b - a : b + t->n - a;
}

/* An entry of bucket q whose search passes bucket p, before it; or HASH_WIDTH. */
static unsigned
displaced(const struct hash_table *t, uint32_t q, uint32_t p)
{
	uint32_t behind = distance(t, p, q);
	unsigned i;

	for (i = 0; i < HASH_WIDTH; i++) {
		uint32_t tag = t->bucket[q].word[i];

		if (tag != 0 &&
		    distance(t, hash_home(t, tag), q) >= behind)
			break;
	}
	return i;
}

/*
 * Nothing may lie behind a bucket that its search would end in: an entry from
 * behind fills the gap, and leaves one, until a bucket had a free entry.
 */
void
hash_close(struct hash_table *t, uint32_t p, unsigned gap)
{
	uint32_t q = p;
	unsigned i;
	bool full;

	do {
		q = hash_next(t, q);
		full = hash_match(&t->bucket[q], 0) == 0;
		i = displaced(t, q, p);
		if (i == HASH_WIDTH)
			continue;
		t->bucket[p].word[gap] = t->bucket[q].word[i];
		t->bucket[p].word[HASH_WIDTH + gap] =
		    t->bucket[q].word[HASH_WIDTH + i];
		p = q;
		gap = i;
	} while (full);
	t->bucket[p].word[gap] = t->bucket[p].word[HASH_WIDTH + gap] = 0;
}

/* Of the old table what has not been passed; of the new one what has. */
size_t
hash_memory(const struct hash *h)
{
	uint64_t now = table_bytes(h->now.n), old = table_bytes(h->old.n);

	if (h->next.bucket != NULL)
		return now + h->ready;
	if (h->old.bucket == NULL || h->done >= h->old.n)
		return now;
	now = now * h->done / h->old.n;
	return old * (h->old.n - h->done) / h->old.n +
	    (now > h->ready ? now : h->ready);
}
