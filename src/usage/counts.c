/*
 * The table: rows in the order in which they came, a hash index over caller, type,
 * kind and size, and the number of sizes of each group.
 *
 * The row of a block is always found anew, from its caller, type and size, so no
 * block is remembered here.  Hence a row is never removed, and a limit that was
 * reached stays reached: a size that has found no row of its own never gets one.
 *
 * The blocks held at the peak are known without a copy: `peaks` counts moments at
 * which the bytes of all rows were higher than ever before.  A row that changes for
 * the first time after such a moment first stores its live blocks and bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "../base/base.h"
#include "../base/hashmap.h"
#include "../blklist/blklist.h"
#include "usage.h"

#define CLASSES 50		/* of sizes: 0, 1, 2, 4 ... 2^48 */
#define FIXED (1 + CLASSES)	/* rows: the unknown, (other) by class */
#define AT_A_TIME 1024		/* blocks of a list */
#define TYPE_SHIFT 48
#define KIND_SHIFT 56

struct row {
	uint64_t of;		/* caller 48, type 8, kind 8 */
	uint64_t size;
	uint64_t allocs, frees, alloc_bytes;
	uint64_t live, live_bytes;
	uint64_t most, high;	/* high: since any asker has read it */
	uint64_t brief;
	uint64_t then, then_bytes;
	uint64_t peak;		/* `then` is as of this one */
};

struct group {
	uint64_t of;		/* caller and type, ^ seed */
	uint64_t sizes;
};

struct usage {
	struct row *row;
	uint32_t n, cap, max;
	struct hashindex index;	/* of the rows from FIXED on */
	struct hashmap groups;
	uint64_t seed;
	struct usage_totals sum;
	uint64_t peaks;
	uint32_t peak_ms;
	bool several;		/* peaks: not all since counting began */
	uint64_t *high[USAGE_ASKERS];	/* by row, `max` of them; NULL: no asker */
	struct blklist *list;	/* NULL: none is watched */
};

int
usage_new(struct usage **out, uint32_t rows)
{
	struct usage *u;

	if (rows < USAGE_ROWS_MIN || rows > USAGE_ROWS_MAX)
		return -EINVAL;
	u = calloc(1, sizeof *u);
	if (u == NULL)
		return -ENOMEM;
	u->row = calloc(USAGE_ROWS_MIN, sizeof *u->row);
	if (u->row == NULL) {
		free(u);
		return -ENOMEM;
	}
	/* Keys scatter without it, too, but predictably. */
	if (getrandom(&u->seed, sizeof u->seed, GRND_NONBLOCK) < 0)
		u->seed = (uintptr_t)u;
	u->cap = USAGE_ROWS_MIN;
	u->max = rows;
	u->n = FIXED;
	u->row[0].of = (uint64_t)USAGE_UNKNOWN << KIND_SHIFT;
	for (unsigned i = 1; i < FIXED; i++) {
		u->row[i].of = (uint64_t)USAGE_OTHER << KIND_SHIFT;
		u->row[i].size = i > 1 ? UINT64_C(1) << (i - 2) : 0;
	}
	u->groups.size = sizeof(struct group);
	u->peaks = 1;
	*out = u;
	return 0;
}

void
usage_free(struct usage *u)
{
	if (u == NULL)
		return;
	usage_leave(u);
	for (unsigned i = 0; i < USAGE_ASKERS; i++)
		free(u->high[i]);
	hashmap_fini(&u->groups);
	hashindex_fini(&u->index);
	free(u->row);
	free(u);
}

/* 0 of no bytes, else 1 and the exponent of the power of two that holds them. */
static unsigned
class_of(uint64_t size)
{
	unsigned bits = 0;

	if (size == 0)
		return 0;
	while (bits < CLASSES - 2 && UINT64_C(1) << bits < size)
		bits++;
	return 1 + bits;
}

static uint32_t
hash_of(const struct usage *u, uint64_t of, uint64_t size)
{
	uint64_t x = (of ^ u->seed) * UINT64_C(0x9e3779b97f4a7c15);

	return hash_of_key(x ^ x >> 32 ^ size);
}

static bool
is_row(const void *rows, uint32_t number, const void *key)
{
	const struct row *r = (const struct row *)rows + number, *k = key;

	return r->of == k->of && r->size == k->size;
}

static struct row *
find_row(const struct usage *u, uint64_t of, uint64_t size)
{
	struct row key = { .of = of, .size = size };
	int64_t i = hashindex_find(&u->index, hash_of(u, of, size), is_row,
	    u->row, &key);

	return i < 0 ? NULL : &u->row[i];
}

/* Without memory the table is full from now on. */
static struct row *
add_row(struct usage *u, uint64_t of, uint64_t size)
{
	struct row *row;
	uint32_t cap;

	if (u->n == u->cap) {
		cap = u->cap <= u->max / 2 ? 2 * u->cap : u->max;
		row = realloc(u->row, cap * sizeof *row);
		if (row == NULL)
			goto full;
		u->row = row;
		u->cap = cap;
	}
	if (hashindex_put(&u->index, hash_of(u, of, size), u->n) < 0)
		goto full;
	row = &u->row[u->n++];
	*row = (struct row){ .of = of, .size = size };
	return row;
full:
	u->max = u->n;
	return NULL;
}

/* A quarter of the rows is for sizes that are rounded. */
static bool
has_room_for_size(struct usage *u, uint64_t of)
{
	struct group *g;

	if (u->n >= u->max - u->max / 4)
		return false;
	g = hashmap_add(&u->groups, of ^ u->seed);
	if (g == NULL) {
		u->max = u->n;
		return false;
	}
	if (g->sizes >= USAGE_SIZES)
		return false;
	g->sizes++;
	return true;
}

/* Never NULL, borrowed until the next call. */
static struct row *
row_of_other(struct usage *u, uint64_t of, uint64_t size)
{
	unsigned class = class_of(size);
	uint64_t rounded = of | (uint64_t)USAGE_ROUNDED << KIND_SHIFT;
	struct row *r = find_row(u, rounded, u->row[1 + class].size);

	if (r == NULL && has_room_for_size(u, of))
		r = add_row(u, of, size);
	else if (r == NULL && u->n < u->max)
		r = add_row(u, rounded, u->row[1 + class].size);
	return r != NULL ? r : &u->row[1 + class];
}

static struct row *
row_of(struct usage *u, const struct blk *b)
{
	uint64_t of = (b->caller & REC_ADDR_MASK) |
	    (uint64_t)b->type << TYPE_SHIFT;
	struct row *r = find_row(u, of, b->size);

	return r != NULL ? r : row_of_other(u, of, b->size);
}

/* Call it before the row's live blocks change. */
static void
keep_then(const struct usage *u, struct row *r)
{
	if (r->peak == u->peaks)
		return;
	r->then = r->live;
	r->then_bytes = r->live_bytes;
	r->peak = u->peaks;
}

static void
hold(struct usage *u, struct row *r, uint64_t size)
{
	keep_then(u, r);
	r->live++;
	r->live_bytes += size;
	if (r->live > r->most)
		r->most = r->live;
	if (r->live > r->high)
		r->high = r->live;
	u->sum.live++;
	u->sum.live_bytes += size;
	if (u->sum.live_bytes <= u->sum.peak_bytes)
		return;
	u->sum.peak_bytes = u->sum.live_bytes;
	u->sum.peak = u->sum.live;
	u->peaks++;
}

static void
drop(struct usage *u, struct row *r, uint64_t size)
{
	/* A free that names a block that was never counted takes none. */
	if (r->live == 0 || r->live_bytes < size)
		return;
	keep_then(u, r);
	r->live--;
	r->live_bytes -= size;
	u->sum.live--;
	u->sum.live_bytes -= size;
}

static void
count_alloc(struct usage *u, struct row *r, uint64_t size)
{
	r->allocs++;
	r->alloc_bytes += size;
	u->sum.allocs++;
	u->sum.alloc_bytes += size;
	if (r->of >> KIND_SHIFT != USAGE_SIZE)
		u->sum.crowded++;
}

void
usage_held(struct usage *u, const struct blk *b)
{
	hold(u, row_of(u, b), b->size);
}

void
usage_alloc(struct usage *u, const struct blk *b, uint32_t ms)
{
	struct row *r = row_of(u, b);
	uint64_t peaks = u->peaks;

	count_alloc(u, r, b->size);
	hold(u, r, b->size);
	if (u->peaks == peaks)
		return;
	u->peak_ms = ms;
	u->several = true;
}

void
usage_freed(struct usage *u, const struct blk *b, bool brief)
{
	struct row *r = row_of(u, b);

	r->frees++;
	u->sum.frees++;
	r->brief += brief;
	u->sum.brief += brief;
	drop(u, r, b->size);
}

void
usage_freed_unknown(struct usage *u)
{
	u->row[0].frees++;
	u->sum.frees++;
}

/* A free from before counting began is in no count. */
static void
undo_free(struct usage *u, struct row *r)
{
	if (r->frees == 0)
		return;
	r->frees--;
	u->sum.frees--;
}

static bool
is_brief(const struct blk *b, const struct rec *free)
{
	return rec_type(free) != TYPE_BY_REALLOC &&
	    rec_ms(free) - (uint32_t)b->ms < USAGE_CYCLE_MS;
}

static void
count_event(void *arg, enum blklist_event event, const struct blk *b,
    const struct rec *r)
{
	struct usage *u = arg;

	switch (event) {
	case BLKLIST_ALLOC:
		usage_alloc(u, b, rec_ms(r));
		break;
	case BLKLIST_UNLISTED:
		count_alloc(u, row_of(u, b), b->size);
		break;
	case BLKLIST_FREE:
		usage_freed(u, b, is_brief(b, r));
		break;
	case BLKLIST_FREE_UNKNOWN:
		usage_freed_unknown(u);
		break;
	case BLKLIST_UNDO:
		undo_free(u, row_of(u, b));
		hold(u, row_of(u, b), b->size);
		break;
	case BLKLIST_UNDO_UNLISTED:
		undo_free(u, row_of(u, b));
		break;
	case BLKLIST_UNDO_UNKNOWN:
		undo_free(u, &u->row[0]);
		break;
	case BLKLIST_PUT:
		usage_held(u, b);
		break;
	case BLKLIST_REPLACED:
	case BLKLIST_TAKEN:
		drop(u, row_of(u, b), b->size);
		break;
	}
}

int
usage_watch(struct usage *u, struct blklist *list, void (*beat)(void *),
    void *arg)
{
	struct blk blk[AT_A_TIME];
	bool from_start = true;
	unsigned layer = 0;
	uint64_t addr = 0;
	size_t n;
	int err;

	err = u->list != NULL ? -EBUSY : blklist_watch(list, count_event, u);
	if (err < 0)
		return err;
	u->list = list;
	do {
		n = blklist_after(list, from_start, layer, addr, blk, AT_A_TIME);
		for (size_t i = 0; i < n; i++)
			usage_held(u, &blk[i]);
		if (n > 0) {
			addr = blk[n - 1].addr;
			layer = blk_layer(&blk[n - 1]);
		}
		from_start = false;
		if (beat != NULL)
			beat(arg);
	} while (n == AT_A_TIME);
	return 0;
}

void
usage_leave(struct usage *u)
{
	if (u->list != NULL)
		(void)blklist_watch(u->list, NULL, NULL);
	u->list = NULL;
}

void
usage_sums(const struct usage *u, int64_t now_ms, struct usage_totals *out)
{
	*out = u->sum;
	out->peak_ms = u->several ?
	    (int64_t)((uint64_t)now_ms - ((uint32_t)now_ms - u->peak_ms)) : 0;
}

static bool
is_empty(const struct row *r)
{
	return r->allocs == 0 && r->frees == 0 && r->most == 0;
}

size_t
usage_rows(const struct usage *u)
{
	size_t n = u->n;

	for (unsigned i = 0; i < FIXED; i++)
		n -= is_empty(&u->row[i]);
	return n;
}

/* The row's maximum for that asker; for all others it goes on. */
static uint64_t
take_high(struct usage *u, size_t i, unsigned asker)
{
	struct row *r = &u->row[i];
	uint64_t high = r->high;

	for (unsigned a = 0; a < USAGE_ASKERS; a++)
		if (u->high[a] != NULL && u->high[a][i] < r->high)
			u->high[a][i] = r->high;
	r->high = r->live;
	if (asker < USAGE_ASKERS && u->high[asker] != NULL) {
		high = u->high[asker][i];
		u->high[asker][i] = r->live;
	}
	return high;
}

static void
copy_row(struct usage *u, size_t i, unsigned asker, struct usage_row *out)
{
	const struct row *r = &u->row[i];
	bool changed = r->peak == u->peaks;

	*out = (struct usage_row){
		.caller = r->of & REC_ADDR_MASK,
		.size = r->size,
		.allocs = r->allocs,
		.frees = r->frees,
		.alloc_bytes = r->alloc_bytes,
		.live = r->live,
		.live_bytes = r->live_bytes,
		.most = r->most,
		.high = asker < USAGE_ASKERS ? take_high(u, i, asker) : r->most,
		.brief = r->brief,
		.then = changed ? r->then : r->live,
		.then_bytes = changed ? r->then_bytes : r->live_bytes,
		.type = (uint8_t)(r->of >> TYPE_SHIFT),
		.kind = (uint8_t)(r->of >> KIND_SHIFT),
	};
}

size_t
usage_read(struct usage *u, size_t *from, unsigned asker,
    struct usage_row *out, size_t max)
{
	size_t n = 0, i = *from;

	for (; n < max && i < u->n; i++)
		if (i >= FIXED || !is_empty(&u->row[i]))
			copy_row(u, i, asker, &out[n++]);
	*from = i;
	return n;
}

int
usage_ask(struct usage *u, unsigned *asker)
{
	for (unsigned a = 0; a < USAGE_ASKERS; a++) {
		if (u->high[a] != NULL)
			continue;
		u->high[a] = calloc(u->max, sizeof *u->high[a]);
		if (u->high[a] == NULL)
			return -ENOMEM;
		for (size_t i = 0; i < u->n; i++) {
			(void)take_high(u, i, a);
			u->high[a][i] = u->row[i].live;
		}
		*asker = a;
		return 0;
	}
	return -EBUSY;
}

void
usage_unask(struct usage *u, unsigned asker)
{
	free(u->high[asker]);
	u->high[asker] = NULL;
}

size_t
usage_memory(const struct usage *u)
{
	size_t bytes = sizeof *u + u->cap * sizeof *u->row +
	    hashindex_memory(&u->index) + hashindex_memory(&u->groups.index) +
	    u->groups.cap * sizeof(struct group);

	for (unsigned a = 0; a < USAGE_ASKERS; a++)
		if (u->high[a] != NULL)
			bytes += u->max * sizeof *u->high[a];
	return bytes;
}

#define NUMBERS 12		/* uint64_t at the beginning of a row */

_Static_assert(offsetof(struct usage_row, type) == NUMBERS * 8 &&
    USAGE_ROW_SIZE == NUMBERS * 8 + 2, "a row is its numbers, type and kind");

void
usage_row_put(uint8_t out[USAGE_ROW_SIZE], const struct usage_row *r)
{
	uint64_t n[NUMBERS];

	memcpy(n, r, sizeof n);
	for (size_t i = 0; i < NUMBERS; i++)
		base_put_le(out + 8 * i, n[i], 8);
	out[8 * NUMBERS] = r->type;
	out[8 * NUMBERS + 1] = r->kind;
}

int
usage_row_get(struct usage_row *r, const uint8_t in[USAGE_ROW_SIZE])
{
	uint64_t n[NUMBERS];

	if (in[8 * NUMBERS + 1] > USAGE_UNKNOWN)
		return -EINVAL;
	for (size_t i = 0; i < NUMBERS; i++)
		n[i] = base_get_le(in + 8 * i, 8);
	memcpy(r, n, sizeof n);
	r->type = in[8 * NUMBERS];
	r->kind = in[8 * NUMBERS + 1];
	return 0;
}
