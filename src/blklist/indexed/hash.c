#include <errno.h>
#include <string.h>

#include "hash.h"

/* Buckets: up to SMALL it is half full, up to LARGE it doubles. */
#define SMALL 8192
#define LARGE 65536

/*
 * An insertion fills an eighth of a bucket and moves one.  So in a table that
 * grows by at least an eighth, a run of full buckets among those moved does not
 * reach those not moved; but for the last AT_ONCE, which are moved all at once.
 * One that grows by about a quarter has at least 1.4 insertions before its
 * limit for each bucket that it had, so three of four suffice.
 */
#define LEAST_PART HASH_WIDTH
#define MOVED_PART (HASH_WIDTH / 4 * 3)	/* an insertion for each bucket */
#define GROW_PART 4
#define LAZY_PERCENT 24
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

/* Address space for a table of any size, with its pad before it. */
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
	h->resized_at = h->n;
	h->limit = n <= SMALL ? n * (HASH_WIDTH / 2) : n * (HASH_WIDTH / 4 * 3);
	/* So low that a list which is dropped and rebuilt finds its table. */
	h->low = n > HASH_MIN ? n * HASH_WIDTH / 32 : 0;
}

int
hash_init(struct hash *h, uint32_t max_keys, uint64_t seed)
{
	/* A smaller size that holds all keys is at most doubled. */
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
	/* Written first: see zeros_map(). */
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
	/* Without memory for a new table, empties this one. */
	if (!hash_in_place(h))
		table_drop(h, &h->old);
	h->old = (struct hash_table){ 0 };
	/* Used buckets of the pad lie in a row. */
	for (struct hash_bucket *b = h->now.bucket - 1;
	     hash_match(b, 0) != (1u << HASH_WIDTH) - 1; b--)
		*b = (struct hash_bucket){ { 0 } };
	list_zero(h->now.bucket, h->present > used ? h->present : used);
	h->n = 0;
	set_size(h, HASH_MIN);
}

/* About a quarter more, in whole huge pages, and enough to be moved in time. */
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

	/* Filled to a quarter then: far from growing again. */
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

	/* As a rule moves have kept ahead of insertions. */
	while (h->old.bucket != NULL)
		hash_move(h);
	if (n == h->now.n)
		return -ENOMEM;
	if (!larger) {
		b = table_map(h);
		if (b == NULL)
			return -ENOMEM;
		h->present = 0;
	}
	h->old = h->now;
	h->unmoved = (int32_t)h->old.n;
	h->now.bucket = b;
	h->lazy = larger &&
	    n - h->old.n >= (uint64_t)h->old.n * LAZY_PERCENT / 100;
	h->turn = 0;
	set_size(h, n);
	if (larger && h->unmoved <= AT_ONCE)
		hash_move(h);
	return 0;
}

/* Nothing for the first half of the way to the limit: the list may not grow. */
bool
hash_prefault_ahead(struct hash *h)
{
	size_t now = table_bytes(h->now.n);
	size_t next = table_bytes(size_after(h, true)), need;
	uint32_t from = h->resized_at;
	uint32_t half = h->limit > from ? (h->limit - from) / 2 : 0;
	uint32_t come = h->n > from + half ? h->n - from - half : 0;

	if (h->now.n < SMALL || come == 0)
		return false;
	need = now + (size_t)((double)(next - now) * come /
	    (half > 0 ? half : 1)) + LIST_HUGE / 2;
	if (need > next)
		need = next;
	/* Pages in use are present. */
	if (h->present < now)
		h->present = now;
	if (h->present >= need)
		return false;
	h->present = list_prefault(h->now.bucket, table_bytes(h->max),
	    LIST_HUGE_FROM, h->present, false);
	return true;
}

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
 * Where the keys of one bucket go: as a rule to two or three buckets from `top`
 * down.  Their free entries are tracked here: to compare a bucket's tags again
 * would wait for the store of the last one.
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

/* Empties the bucket; true if it was full. */
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

/* Piece by piece: to unmap a long table at once would be a pause. */
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
	/* A table that shrinks is nearly empty: go faster. */
	int32_t from = h->unmoved, to = from - (in_place ? 1 : 4);

	if (in_place && to <= AT_ONCE)
		to = 0;
	do
		full = move_bucket(h, &h->old.bucket[--h->unmoved]);
	while (full || (h->unmoved > to && h->unmoved > 0));
	if (!in_place)
		release_passed(&h->old, (uint32_t)from,
		    h->unmoved > 0 ? (uint32_t)h->unmoved : 0);
	if (h->unmoved > 0)
		return;
	if (!in_place)
		table_drop(h, &h->old);
	h->old = (struct hash_table){ 0 };
}

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
 * No key may be below a bucket that ends its search: an entry from below fills
 * the gap, and so on to a bucket with a free entry.
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

size_t
hash_memory(const struct hash *h)
{
	size_t now = table_bytes(h->now.n);

	if (h->present > now)
		now = h->present;
	if (h->old.bucket == NULL || hash_in_place(h) || h->unmoved < 0)
		return now;
	return now + table_bytes((uint32_t)h->unmoved);
}
