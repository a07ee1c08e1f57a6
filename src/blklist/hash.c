/*
 * The hash's tables: making, moving and dropping them.
 */
#include <errno.h>
#include <string.h>

#include "hash.h"

/*
 * Up to the first size memory is no matter: a table is filled to a half and
 * then doubled.  Above it three quarters are filled; from the second one on
 * a quarter is added: with more a table is emptier, with less each key is
 * moved more often.  It grows to whole huge pages, for a part of one takes as
 * much memory.
 */
#define SMALL 8192
#define LARGE 65536

/*
 * An insertion fills an eighth of a bucket and moves one.  So in a table that
 * grows by an eighth at least, the run of full buckets that keys may build up
 * where it has been moved to does not come down to where it has not; but for
 * the last buckets, which have no room between, and are moved all at once.  One
 * that grows by a quarter, or nearly, has room for twice as many insertions,
 * and is moved by three of four: before its limit there are at least 1.4 for
 * each bucket that it had.
 */
#define LEAST_PART HASH_WIDTH
#define MOVED_PART (HASH_WIDTH / 4 * 3)	/* an insertion for each bucket */
#define GROW_PART 4
#define CALM_PERCENT 24
#define AT_ONCE 512
#define MOVE_AHEAD 8		/* buckets fetched ahead */
#define MOVE_TO 4		/* buckets that the keys of one go to, as a rule */
#define HUGE_BUCKETS (LIST_HUGE / (uint32_t)sizeof(struct hash_bucket))
#define PIECE (LIST_HUGE / 64)	/* buckets */

static size_t
table_bytes(uint32_t n)
{
	return (size_t)n * sizeof(struct hash_bucket);
}

static size_t
huge_from(const struct hash *h)
{
	return table_bytes(h->pad) + LIST_HUGE_FROM;
}

/* The address space for a table of any size, its pad before it. */
static struct hash_bucket *
table_map(const struct hash *h)
{
	struct hash_bucket *b = list_map_huge(table_bytes(h->pad + h->max),
	    huge_from(h));

	return b != NULL ? b + h->pad : NULL;
}

static void
table_drop(const struct hash *h, struct hash_table *t)
{
	if (t->bucket != NULL)
		list_unmap_huge(t->bucket - h->pad,
		    table_bytes(h->pad + h->max), huge_from(h));
	*t = (struct hash_table){ 0 };
}

static void
set_size(struct hash *h, uint32_t n)
{
	h->now.n = n;
	h->since = h->n;
	h->limit = n <= SMALL ? n * (HASH_WIDTH / 2) : n * (HASH_WIDTH / 4 * 3);
	/*
	 * One in 32: a program that builds and drops the same structure again
	 * and again finds the table as it was.
	 */
	h->low = n > HASH_MIN ? n * HASH_WIDTH / 32 : 0;
}

int
hash_init(struct hash *h, uint32_t max_keys, uint64_t seed)
{
	/* A size of less holds all keys, and is at most doubled to be more. */
	uint32_t max = max_keys / 3 + 1;

	*h = (struct hash){
		.seed = seed,
		.max_keys = max_keys,
		.max = max > HASH_MIN ? max : HASH_MIN,
		.pad = (max_keys / HASH_WIDTH / HUGE_BUCKETS + 1) *
		    HUGE_BUCKETS,
	};
	h->now.bucket = table_map(h);
	if (h->now.bucket == NULL)
		return -ENOMEM;
	set_size(h, HASH_MIN);
	/* Where the first keys go, before it is read; see zeros.h. */
	memset(h->now.bucket, 0, table_bytes(HASH_MIN));
	return 0;
}

void
hash_fini(struct hash *h)
{
	if (!hash_in_place(h))
		table_drop(h, &h->old);
	table_drop(h, &h->now);
}

void
hash_clear(struct hash *h)
{
	size_t used = table_bytes(h->now.n);
	struct hash fresh;

	if (hash_init(&fresh, h->max_keys, h->seed) == 0) {
		hash_fini(h);
		*h = fresh;
		return;
	}
	/* What there is serves. */
	if (!hash_in_place(h))
		table_drop(h, &h->old);
	h->old = (struct hash_table){ 0 };
	/* In use is a row of buckets, of which any entry may have gone. */
	for (struct hash_bucket *b = h->now.bucket - 1;
	     hash_match(b, 0) != (1u << HASH_WIDTH) - 1; b--)
		*b = (struct hash_bucket){ { 0 } };
	list_zero(h->now.bucket, h->ready > used ? h->ready : used);
	h->n = 0;
	set_size(h, HASH_MIN);
}

/* The nearest number of huge pages by which all is moved before the limit. */
static uint32_t
larger_by_pages(uint32_t n)
{
	uint32_t to = (n + n / GROW_PART + HUGE_BUCKETS / 2) / HUGE_BUCKETS *
	    HUGE_BUCKETS;

	return to >= n + (n + MOVED_PART - 1) / MOVED_PART ? to :
	    to + HUGE_BUCKETS;
}

static uint32_t
size_after(const struct hash *h, bool larger)
{
	uint32_t n = h->now.n;

	/* Then filled to a quarter: far from growing again. */
	if (!larger)
		return n / 8 > HASH_MIN ? n / 8 : HASH_MIN;
	n = n < LARGE ? 2 * n : larger_by_pages(n);
	if (n > h->max)
		n = h->max;
	return n >= h->now.n + h->now.n / LEAST_PART ? n : h->now.n;
}

int
hash_resize(struct hash *h, bool larger)
{
	uint32_t n = size_after(h, larger);
	struct hash_bucket *b = h->now.bucket;

	/* Moves keep ahead of insertions; this is for whoever asks too early. */
	while (h->old.bucket != NULL)
		hash_move(h);
	if (n == h->now.n)
		return -ENOMEM;
	if (!larger) {
		b = table_map(h);
		if (b == NULL)
			return -ENOMEM;
		h->ready = 0;
	}
	h->old = h->now;
	h->left = (int32_t)h->old.n;
	h->now.bucket = b;
	h->calm = larger &&
	    n - h->old.n >= (uint64_t)h->old.n * CALM_PERCENT / 100;
	h->turn = 0;
	set_size(h, n);
	if (larger && h->left <= AT_ONCE)
		hash_move(h);
	return 0;
}

/*
 * Nothing for the first half of the way to the limit: what is taken early is
 * taken for nothing where a list stays as long as it is.
 */
bool
hash_ahead(struct hash *h)
{
	size_t now = table_bytes(h->now.n);
	size_t next = table_bytes(size_after(h, true)), need;
	uint32_t half = h->limit > h->since ? (h->limit - h->since) / 2 : 0;
	uint32_t come = h->n > h->since + half ? h->n - h->since - half : 0;

	if (h->now.n < SMALL || come == 0)
		return false;
	need = now + (size_t)((double)(next - now) * come /
	    (half > 0 ? half : 1)) + LIST_HUGE / 2;
	if (need > next)
		need = next;
	/* What the table is filled with has come as it was used. */
	if (h->ready < now)
		h->ready = now;
	if (h->ready >= need)
		return false;
	h->ready = list_make_ready(h->now.bucket, table_bytes(h->max),
	    LIST_HUGE_FROM, h->ready);
	return true;
}

/* --- moving --------------------------------------------------------------- */

/* Into the first of the free entries, of which there is one. */
static void
put_in_bucket(struct hash_bucket *b, unsigned free, uint32_t tag, uint32_t index)
{
	unsigned i = (unsigned)__builtin_ctz(free);

	b->word[i] = tag;
	b->word[HASH_WIDTH + i] = index;
}

static void
place_key(struct hash_table *t, uint32_t tag, uint32_t index)
{
	struct hash_bucket *b = &t->bucket[hash_home(t, tag)];
	unsigned m;

	while ((m = hash_match(b, 0)) == 0)
		b--;
	put_in_bucket(b, m, tag, index);
}

/*
 * Where the keys of one bucket go: as a rule to the two or three from here
 * down.  What is free there is looked at once and then kept account of: to look
 * at a bucket's tags anew would wait each time for the one just written.
 */
struct moving {
	struct hash_bucket *top;
	unsigned free[MOVE_TO];		/* a bit for each free entry, from top down */
};

static void
moving_begin(struct moving *to, const struct hash_table *t,
    const struct hash_bucket *b)
{
	uint32_t highest = 0;

	for (unsigned i = 0; i < HASH_WIDTH; i++)
		if (b->word[i] > highest)
			highest = b->word[i];
	to->top = &t->bucket[hash_home(t, highest)];
	for (unsigned i = 0; i < MOVE_TO; i++)
		to->free[i] = hash_match(to->top - i, 0);
	/* Moves come here in order, two buckets for one at most. */
	__builtin_prefetch(to->top - MOVE_AHEAD, 1);
	__builtin_prefetch(to->top - MOVE_AHEAD - 1, 1);
}

static void
moving_place(struct moving *to, struct hash_table *t, uint32_t tag,
    uint32_t index)
{
	size_t down = (size_t)(to->top - &t->bucket[hash_home(t, tag)]);

	while (down < MOVE_TO && to->free[down] == 0)
		down++;
	if (down >= MOVE_TO) {
		place_key(t, tag, index);
		return;
	}
	put_in_bucket(to->top - down, to->free[down], tag, index);
	to->free[down] &= to->free[down] - 1;
}

/* Empties the bucket; returns whether it was full. */
static bool
move_bucket(struct hash *h, struct hash_bucket *from)
{
	struct hash_bucket b = *from;
	unsigned m = ~hash_match(&b, 0) & ((1u << HASH_WIDTH) - 1);
	bool full = m == (1u << HASH_WIDTH) - 1;
	struct moving to;

	*from = (struct hash_bucket){ { 0 } };
	__builtin_prefetch(from - MOVE_AHEAD, 1);
	if (m == 0)
		return false;
	moving_begin(&to, &h->now, &b);
	for (unsigned i; m != 0; m &= m - 1) {
		i = (unsigned)__builtin_ctz(m);
		moving_place(&to, &h->now, b.word[i], b.word[HASH_WIDTH + i]);
	}
	return full;
}

/*
 * Gives the pages of a table that shrinks back as they are passed, a piece at a
 * time: to unmap a long table that is full of pages is a pause.
 */
static void
release_passed(const struct hash_table *t, uint32_t from, uint32_t to)
{
	uint32_t end = (from + PIECE - 1) / PIECE * PIECE;
	uint32_t begin = (to + PIECE - 1) / PIECE * PIECE;

	if (begin < end)
		list_release(t->bucket + begin,
		    t->bucket + (end < t->n ? end : t->n));
}

void
hash_move(struct hash *h)
{
	bool in_place = hash_in_place(h), full;
	/* A table that is too large is nearly empty: it can go faster. */
	int32_t from = h->left, to = from - (in_place ? 1 : 4);

	if (in_place && to <= AT_ONCE)
		to = 0;
	do
		full = move_bucket(h, &h->old.bucket[--h->left]);
	while (full || (h->left > to && h->left > 0));
	if (!in_place)
		release_passed(&h->old, (uint32_t)from,
		    h->left > 0 ? (uint32_t)h->left : 0);
	if (h->left > 0)
		return;
	if (!in_place)
		table_drop(h, &h->old);
	h->old = (struct hash_table){ 0 };
}

/* --- gaps ----------------------------------------------------------------- */

/* An entry of bucket q whose search passes p, above it; or HASH_WIDTH. */
static unsigned
is_displaced(const struct hash_table *t, const struct hash_bucket *q,
    const struct hash_bucket *p)
{
	unsigned i;

	for (i = 0; i < HASH_WIDTH; i++)
		if (q->word[i] != 0 &&
		    &t->bucket[hash_home(t, q->word[i])] >= p)
			break;
	return i;
}

/*
 * Nothing may lie below a bucket that its search would end in: an entry from
 * below fills the gap, and leaves one, until a bucket had a free entry.
 */
void
hash_close(struct hash_table *t, struct hash_bucket *p, unsigned gap)
{
	struct hash_bucket *q = p;
	unsigned i;
	bool full;

	do {
		q--;
		full = hash_match(q, 0) == 0;
		i = is_displaced(t, q, p);
		if (i == HASH_WIDTH)
			continue;
		p->word[gap] = q->word[i];
		p->word[HASH_WIDTH + gap] = q->word[HASH_WIDTH + i];
		p = q;
		gap = i;
	} while (full);
	p->word[gap] = p->word[HASH_WIDTH + gap] = 0;
}

/* Of an old table elsewhere what has not been passed. */
size_t
hash_memory(const struct hash *h)
{
	size_t now = table_bytes(h->now.n);

	if (h->ready > now)
		now = h->ready;
	if (h->old.bucket == NULL || hash_in_place(h) || h->left < 0)
		return now;
	return now + table_bytes((uint32_t)h->left);
}
