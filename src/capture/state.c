/*
 * Which blocks of memory are live after some events, and totals.
 *
 * The rules are blklist's (blklist.h), of records without tickets and without
 * pairs; tests compare the two.  There is no order among the rows, so an event
 * costs one place in one table.  Only the API's layer, which has ranges, has its
 * addresses in order as well.
 */
#include <errno.h>
#include <stdlib.h>

#include "format.h"

#define BITS_FIRST 8
#define AHEAD 8		/* events whose places are fetched beforehand */
#define OPAQUE_FLAGS ((uint8_t)~(REC_LAYER_API | REC_LEVEL_MASK))

int
capture_list_new(struct capture_list **out, unsigned options)
{
	struct capture_list *l = calloc(1, sizeof *l);

	if (l == NULL)
		return -ENOMEM;
	l->gone_cap = 1;
	l->gone = malloc(sizeof *l->gone);
	if (l->gone == NULL) {
		free(l);
		return -ENOMEM;
	}
	l->ms = l->since_ms = INT64_MIN;
	l->opaque = options & CAPTURE_CLASSIC;
	*out = l;
	return 0;
}

static size_t
table_bytes(const struct capture_list *l)
{
	return ((size_t)1 << l->bits) * sizeof *l->slot;
}

static void
free_table(struct capture_list *l)
{
	if (l->bits != 0)
		zeros_unmap(l->slot, table_bytes(l), 0);
}

void
list_fini(struct capture_list *l)
{
	free_table(l);
	addresses_fini(&l->api);
	free(l->undo);
	free(l->gone);
	free(l->sorted);
}

void
capture_list_free(struct capture_list *l)
{
	if (l == NULL)
		return;
	list_fini(l);
	free(l);
}

const struct capture_totals *
capture_list_totals(const struct capture_list *l)
{
	return &l->t;
}

bool
capture_list_at(const struct capture_list *l, uint64_t *seq, int64_t *ms)
{
	*seq = l->seq - l->gap;
	*ms = l->ms;
	return l->known;
}

int64_t
capture_list_since(const struct capture_list *l)
{
	return l->since_ms;
}

static size_t
home_of(const struct capture_list *l, uint64_t addr, unsigned api)
{
	return (size_t)(((addr >> 3 ^ api) * UINT64_C(0x9e3779b97f4a7c15)) >>
	    (64 - l->bits));
}

static bool
is_api(const struct blk *b)
{
	return (b->flags & REC_LAYER_API) != 0;
}

/* The row's place, or the free one where it would be.  The table is not empty. */
static struct blk *
find(const struct capture_list *l, uint64_t addr, unsigned api)
{
	size_t mask = ((size_t)1 << l->bits) - 1, i = home_of(l, addr, api);

	while (l->slot[i].flags != 0 &&
	    (l->slot[i].addr != addr || is_api(&l->slot[i]) != (api != 0)))
		i = (i + 1) & mask;
	return &l->slot[i];
}

static int
grow(struct capture_list *l)
{
	struct capture_list wider = *l;
	size_t old = l->bits == 0 ? 0 : (size_t)1 << l->bits;

	wider.bits = l->bits == 0 ? BITS_FIRST : l->bits + 1;
	wider.slot = zeros_map(table_bytes(&wider), 0);
	if (wider.slot == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < old; i++)
		if (l->slot[i].flags != 0)
			*find(&wider, l->slot[i].addr, is_api(&l->slot[i])) =
			    l->slot[i];
	free_table(l);
	l->slot = wider.slot;
	l->bits = wider.bits;
	return 0;
}

static int
room_for_one(struct capture_list *l)
{
	if (l->bits != 0 && l->n < ((size_t)1 << l->bits) / 3 * 2)
		return 0;
	return grow(l);
}

static void
vacate(struct capture_list *l, struct blk *b)
{
	size_t mask = ((size_t)1 << l->bits) - 1, hole = (size_t)(b - l->slot);

	l->n--;
	if (is_api(b))
		addresses_remove(&l->api, b->addr);
	for (size_t i = (hole + 1) & mask; l->slot[i].flags != 0;
	    i = (i + 1) & mask) {
		size_t home = home_of(l, l->slot[i].addr, is_api(&l->slot[i]));

		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		l->slot[hole] = l->slot[i];
		hole = i;
	}
	l->slot[hole].flags = 0;
}

static void
add_live(struct capture_list *l, const struct blk *b)
{
	l->t.blocks++;
	l->t.bytes += b->size;
	if (l->t.bytes <= l->t.peak_bytes)
		return;
	l->t.peak_bytes = l->t.bytes;
	l->t.peak_seq = l->seq;
	l->t.peak_ms = l->ms;
}

static void
sub_live(struct capture_list *l, const struct blk *b)
{
	l->t.blocks--;
	l->t.bytes -= b->size;
}

static int
place(struct capture_list *l, struct blk *to, const struct blk *b)
{
	if (is_api(b) && addresses_add(&l->api, b->addr) < 0)
		return -ENOMEM;
	*to = *b;
	l->n++;
	return 0;
}

int
list_put(struct capture_list *l, const struct blk *b)
{
	struct blk *to, row = *b;

	if (room_for_one(l) < 0)
		return -ENOMEM;
	row.addr &= REC_ADDR_MASK;
	row.ticket = row.zero = 0;
	if (row.flags == 0)
		row.flags = REC_FLAGS(REC_ALLOC, 0);
	to = find(l, row.addr, is_api(&row));
	if (to->flags != 0)
		return -EEXIST;
	if (place(l, to, &row) < 0)
		return -ENOMEM;
	l->t.blocks++;
	l->t.bytes += row.size;
	return 0;
}

/* There is always room for one row. */
static int
note_gone(struct capture_list *l, const struct blk *b)
{
	void *all = l->gone;

	if (l->ngone == l->gone_cap && base_grow(&all, &l->gone_cap,
	    l->ngone + 1, sizeof *l->gone) < 0)
		return -ENOMEM;
	l->gone = all;
	l->gone[l->ngone++] = *b;
	return 0;
}

static int
apply_alloc(struct capture_list *l, const struct rec *r, uint16_t info)
{
	struct blk b = blk_of_rec(r, l->seq, (int64_t)r->w[2]), *to;

	if (l->opaque)
		b.flags &= OPAQUE_FLAGS;
	else if (rec_level(r) == REC_LEVEL_FAILED) {
		l->t.failed++;
		return 0;
	}
	if (room_for_one(l) < 0)
		return -ENOMEM;
	b.ticket = 0;
	b.info = info;
	to = find(l, b.addr, is_api(&b));
	if (to->flags != 0) {
		l->t.duplicate++;
		sub_live(l, to);
		(void)note_gone(l, to);
		*to = b;
	} else if (place(l, to, &b) < 0) {
		return -ENOMEM;
	}
	l->t.allocs++;
	l->t.alloc_bytes += b.size;
	add_live(l, &b);
	return 0;
}

static struct list_undone *
undo_of(struct capture_list *l, unsigned thread)
{
	size_t n = thread + 1;
	struct list_undone *all;

	if (n > l->nundo) {
		all = realloc(l->undo, n * sizeof *all);
		if (all == NULL)
			return NULL;
		memset(all + l->nundo, 0, (n - l->nundo) * sizeof *all);
		l->undo = all;
		l->nundo = n;
	}
	return &l->undo[thread];
}

static void
free_row(struct capture_list *l, struct blk *b)
{
	l->t.freed_bytes += b->size;
	sub_live(l, b);
	vacate(l, b);
}

static int
apply_free(struct capture_list *l, const struct rec *r, unsigned api)
{
	struct blk *b = l->bits != 0 ? find(l, rec_addr(r), api) : NULL;
	struct list_undone *undo = NULL;

	if (rec_type(r) == TYPE_BY_REALLOC) {
		undo = undo_of(l, rec_thread(r));
		if (undo == NULL)
			return -ENOMEM;
		undo->did = 2;
		undo->row = (struct blk){ .addr = rec_addr(r),
			.flags = (uint8_t)rec_flags(r) };
	}
	l->t.frees++;
	if (b == NULL || b->flags == 0) {
		l->t.unknown_free++;
		return 0;
	}
	(void)note_gone(l, b);
	if (undo != NULL) {
		undo->did = 1;
		undo->row = *b;
	}
	free_row(l, b);
	return 0;
}

static int
apply_undo(struct capture_list *l, const struct rec *r, unsigned api)
{
	unsigned thread = rec_thread(r), did;
	struct list_undone *u = thread < l->nundo ? &l->undo[thread] : NULL;
	struct blk *to;

	if (room_for_one(l) < 0)
		return -ENOMEM;
	to = find(l, rec_addr(r), api);
	if (to->flags != 0 || u == NULL || u->did == 0 ||
	    u->row.addr != rec_addr(r) ||
	    (!l->opaque && is_api(&u->row) != (api != 0))) {
		l->t.unknown_undo++;
		return 0;
	}
	did = u->did;
	if (did == 1 && place(l, to, &u->row) < 0)
		return -ENOMEM;
	u->did = 0;
	l->t.frees--;
	if (did == 2) {
		l->t.unknown_free--;
		return 0;
	}
	l->t.freed_bytes -= u->row.size;
	add_live(l, &u->row);
	return 0;
}

static int
apply_range(struct capture_list *l, const struct rec *r)
{
	uint64_t from = rec_addr(r), addr;
	struct blk *b;

	while (addresses_next(&l->api, from, &addr) &&
	    addr - rec_addr(r) < rec_size(r)) {
		b = find(l, addr, 1);
		if (note_gone(l, b) < 0)
			return -ENOMEM;
		l->t.frees++;
		free_row(l, b);
		from = addr + 1;
	}
	return 0;
}

static int
apply(struct capture_list *l, const struct rec *r, uint16_t info)
{
	unsigned api = l->opaque ? 0 : rec_layer(r);

	l->ngone = 0;
	if ((int64_t)r->w[2] > l->ms)
		l->ms = (int64_t)r->w[2];
	switch (rec_op(r)) {
	case REC_ALLOC:
		return apply_alloc(l, r, info);
	case REC_FREE:
		return apply_free(l, r, api);
	case REC_UNDO:
		return apply_undo(l, r, api);
	case REC_RANGE:
		return l->opaque ? 0 : apply_range(l, r);
	default:
		return 0;
	}
}

int
list_apply_recs(struct capture_list *l, const struct rec *r,
    const uint16_t *info, size_t n)
{
	int err;

	for (size_t i = 0; i < n; i++) {
		if (i + AHEAD < n && l->bits != 0)
			__builtin_prefetch(&l->slot[home_of(l,
			    rec_addr(&r[i + AHEAD]), rec_layer(&r[i + AHEAD]))]);
		err = apply(l, &r[i], info != NULL ? info[i] : 0);
		if (err < 0)
			return err;
		l->seq++;
	}
	return 0;
}

int
capture_list_apply(struct capture_list *l, const struct capture_event *e)
{
	struct rec r = e->rec;

	l->seq = e->seq;
	r.w[2] = (uint64_t)e->ms;
	return list_apply_recs(l, &r, &e->info, 1);
}

const struct blk *
capture_list_removed(const struct capture_list *l, size_t *n)
{
	*n = l->ngone;
	return l->gone;
}

void
list_encode_undo(const struct capture_list *l, struct bytes *out)
{
	const struct blk **row = malloc((l->nundo + 1) * sizeof *row);
	size_t n = 0;

	if (row == NULL) {
		out->failed = true;
		return;
	}
	for (size_t i = 0; i < l->nundo; i++)
		if (l->undo[i].did != 0)
			row[n++] = &l->undo[i].row;
	bytes_varint(out, n);
	for (size_t i = 0; i < l->nundo; i++) {
		if (l->undo[i].did == 0)
			continue;
		bytes_varint(out, i);
		bytes_varint(out, l->undo[i].did);
	}
	rows_encode(out, row, n);
	free(row);
}

int
list_decode_undo(struct capture_list *l, struct cursor *in)
{
	struct list_undone *u;
	uint64_t n = cursor_varint(in), thread;
	struct cursor names = *in;
	struct blk *row;
	int err;

	if (n > UINT16_MAX + 1u)
		return -EBADMSG;
	for (uint64_t i = 0; i < 2 * n; i++)
		cursor_varint(in);
	row = malloc((size_t)(n + 1) * sizeof *row);
	if (row == NULL)
		return -ENOMEM;
	err = rows_decode(in, row, (size_t)n);
	for (uint64_t i = 0; i < n && err == 0; i++) {
		thread = cursor_varint(&names);
		u = thread > UINT16_MAX ? NULL : undo_of(l, (unsigned)thread);
		if (u == NULL) {
			err = thread > UINT16_MAX ? -EBADMSG : -ENOMEM;
			break;
		}
		u->did = cursor_varint(&names) == 1 ? 1 : 2;
		u->row = row[i];
		if (l->opaque)
			u->row.flags &= OPAQUE_FLAGS;
		/* A place without flags is a free one. */
		if (u->row.flags == 0) {
			u->did = 0;
			err = -EBADMSG;
		}
	}
	free(row);
	return err;
}

static int
compare_age(const void *va, const void *vb)
{
	const struct blk *a = *(const struct blk *const *)va;
	const struct blk *b = *(const struct blk *const *)vb;

	if (a->seq != b->seq)
		return (int64_t)a->seq < (int64_t)b->seq ? -1 : 1;
	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return is_api(a) - is_api(b);
}

struct aged {
	uint64_t key;		/* the row's number, as unsigned numbers are ordered */
	const struct blk *row;
};

static void
sort_by_byte(struct aged *to, const struct aged *from, size_t n, unsigned shift)
{
	size_t at[256] = { 0 }, sum = 0, k;

	for (size_t i = 0; i < n; i++)
		at[from[i].key >> shift & 0xff]++;
	for (unsigned i = 0; i < 256; i++, sum += k) {
		k = at[i];
		at[i] = sum;
	}
	for (size_t i = 0; i < n; i++)
		to[at[from[i].key >> shift & 0xff]++] = from[i];
}

/* A radix sort of a[0] to a[n - 1], with as much room behind: the sorted half. */
static struct aged *
sort_aged(struct aged *a, size_t n)
{
	struct aged *from = a, *to = a + n, *other;
	uint64_t differ = 0;

	for (size_t i = 1; i < n; i++)
		differ |= a[i].key ^ a[0].key;
	for (unsigned shift = 0; shift < 64; shift += 8) {
		if ((differ >> shift & 0xff) == 0)
			continue;
		sort_by_byte(to, from, n, shift);
		other = from;
		from = to;
		to = other;
	}
	return from;
}

const struct blk **
list_by_age(const struct capture_list *l, size_t *rows)
{
	size_t all = l->bits == 0 ? 0 : (size_t)1 << l->bits, n = 0, same = 0;
	const struct blk **row = malloc((l->n + 1) * sizeof(const struct blk *));
	struct aged *a = malloc((2 * l->n + 1) * sizeof *a), *sorted;

	if (row == NULL || a == NULL) {
		free(row);
		free(a);
		return NULL;
	}
	for (size_t i = 0; i < all; i++)
		if (l->slot[i].flags != 0)
			a[n++] = (struct aged){ .row = &l->slot[i],
				.key = l->slot[i].seq ^ UINT64_C(1) << 63 };
	sorted = sort_aged(a, n);
	for (size_t i = 0; i < n; i++) {
		row[i] = sorted[i].row;
		if (row[i]->seq != row[same]->seq)
			same = i;
		else if (i > same && (i + 1 == n ||
		    sorted[i + 1].key != sorted[i].key))
			qsort(row + same, i + 1 - same, sizeof *row, compare_age);
	}
	free(a);
	*rows = n;
	return row;
}

const struct blk *
capture_list_rows(struct capture_list *l, size_t *n)
{
	size_t all = 0;
	const struct blk **row = list_by_age(l, &all);

	free(l->sorted);
	l->sorted = row == NULL ? NULL : malloc((all + 1) * sizeof *l->sorted);
	for (size_t i = 0; l->sorted != NULL && i < all; i++)
		l->sorted[i] = *row[i];
	free(row);
	*n = l->sorted == NULL ? 0 : all;
	return l->sorted;
}
