/*
 * The list of the 2004 note: an array of records, singly linked in address
 * order, with the hint aRecPtr.  It is slow, can be read beside the note, and
 * is the oracle for the indexed list.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "list.h"

static void
thread_free(struct literal *lit, uint32_t aRecMax)
{
	for (uint32_t i = 0; i < aRecMax; i++)
		lit->aRec[i].aFwd = i + 1 < aRecMax ? &lit->aRec[i + 1] : NULL;
	lit->aHead = NULL;
	lit->fHead = lit->aRec;
	lit->aRecPtr = NULL;
	lit->aRecFree = aRecMax;
}

static int
literal_open(struct blklist *l)
{
	struct literal *lit;

	if (l->counts.aRecMax > LITERAL_MAX)
		return -EINVAL;
	lit = calloc(1, sizeof(*lit));
	if (lit == NULL)
		return -ENOMEM;
	lit->aRec = calloc(l->counts.aRecMax, sizeof(*lit->aRec));
	if (lit->aRec == NULL) {
		free(lit);
		return -ENOMEM;
	}
	thread_free(lit, l->counts.aRecMax);
	l->impl = lit;
	return 0;
}

static void
literal_close(struct blklist *l)
{
	struct literal *lit = l->impl;

	free(lit->aRec);
	free(lit);
}

static void
literal_clear(struct blklist *l)
{
	thread_free(l->impl, l->counts.aRecMax);
}

/*
 * Where `key` is or belongs: *prev is the record before it, NULL if that is
 * aHead itself.  Returns the first record that is not lower, or NULL.  With
 * aRecPtr below the key the scan starts after it; otherwise at aHead.
 */
static struct arec *
scan(const struct literal *lit, uint64_t key, struct arec **prev)
{
	struct arec *a;

	if (lit->aRecPtr != NULL && key > lit->aRecPtr->aKey)
		*prev = lit->aRecPtr;
	else
		*prev = NULL;
	a = *prev != NULL ? (*prev)->aFwd : lit->aHead;
	while (a != NULL && a->aKey < key) {
		*prev = a;
		a = a->aFwd;
	}
	return a;
}

/* The record of `key`, or NULL; at once if aRecPtr is it. */
static struct arec *
find_record(const struct literal *lit, uint64_t key)
{
	struct arec *a, *prev;

	if (lit->aRecPtr != NULL && lit->aRecPtr->aKey == key)
		return lit->aRecPtr;
	a = scan(lit, key, &prev);
	return a != NULL && a->aKey == key ? a : NULL;
}

/* Links the head of the free list in; the key is not listed.  -ENOSPC. */
static int
ARecInsert(struct blklist *l, uint64_t key, const struct blk *b)
{
	struct literal *lit = l->impl;
	struct arec *new = lit->fHead, *higher, *prev;

	if (new == NULL)
		return -ENOSPC;
	lit->fHead = new->aFwd;
	lit->aRecFree--;
	new->aKey = key;
	new->blk = *b;
	higher = scan(lit, key, &prev);
	new->aFwd = higher;
	if (prev != NULL)
		prev->aFwd = new;
	else
		lit->aHead = new;
	lit->aRecPtr = new;
	l->counts.aRecActive++;
	return 0;
}

/* Links go one way: the record before it is needed even at aRecPtr. */
static void
delete_record(struct blklist *l, struct arec *a)
{
	struct literal *lit = l->impl;
	struct arec *prev;

	scan(lit, a->aKey, &prev);
	if (prev != NULL)
		prev->aFwd = a->aFwd;
	else
		lit->aHead = a->aFwd;
	lit->aRecPtr = prev;
	a->aFwd = lit->fHead;
	lit->fHead = a;
	lit->aRecFree++;
	l->counts.aRecActive--;
}

static void
from_record(struct blklist *l, struct list_chunk *c, unsigned i,
    struct blk *b)
{
	const struct rec *r = &c->rec[i];

	*b = (struct blk){
		.addr = rec_addr(r),
		.size = rec_size(r),
		.seq = list_seq(c, i),
		.ms = list_ms(c, i),
		.caller = rec_caller(r),
		.ticket = rec_ticket(r),
		.thread = (uint16_t)rec_thread(r),
		.overhead = (uint16_t)rec_overhead(r),
		.info = list_info_at(l, c, i),
		.flags = (uint8_t)rec_flags(r),
		.type = (uint8_t)rec_type(r),
	};
}

static void
apply_alloc(struct blklist *l, struct list_chunk *c, unsigned i)
{
	struct literal *lit = l->impl;
	const struct rec *r = &c->rec[i];
	uint64_t key = list_key(l, r);
	struct arec *a;
	struct blk b;

	list_count_alloc(l, c, i);
	a = find_record(lit, key);
	if (a == NULL && lit->fHead == NULL) {
		l->counts.full++;
		list_tell_unlisted(l, r);
		return;
	}
	if (a != NULL && list_older(rec_ticket(r), a->blk.ticket)) {
		l->counts.late++;
		list_tell_unlisted(l, r);
		return;
	}
	/* Only what is listed brings its requester into the table. */
	from_record(l, c, i, &b);
	if (a == NULL) {
		ARecInsert(l, key, &b);
		list_live_add(l, r, key, b.size);
		return;
	}
	list_count_duplicate(l, c, i);
	list_removed_row(l, b.seq, &a->blk);
	list_live_sub(l, r, key, a->blk.size);
	list_live_add(l, r, key, b.size);
	a->blk = b;
	lit->aRecPtr = a;
}

static void
apply_free(struct blklist *l, struct list_chunk *c, unsigned i)
{
	const struct rec *r = &c->rec[i];
	uint64_t key = list_key(l, r);
	struct arec *a = find_record(l->impl, key);
	enum undo_state did;

	l->counts.frees++;
	if (a != NULL && !list_older(rec_ticket(r), a->blk.ticket)) {
		did = UNDO_BLOCK;
		list_live_sub(l, r, key, a->blk.size);
		list_removed_row(l, list_seq(c, i), &a->blk);
		delete_record(l, a);
	} else if (a != NULL) {
		did = UNDO_LATE;
		l->counts.late++;
	} else if (l->since_click) {
		did = UNDO_EARLIER;
		l->counts.earlier++;
	} else {
		did = UNDO_UNKNOWN;
		l->counts.unknown_free++;
	}
	if (did != UNDO_BLOCK)
		list_tell(l, BLKLIST_FREE_UNKNOWN, NULL, r);
	/* A record just freed still has its contents. */
	if (rec_type(r) == TYPE_BY_REALLOC)
		list_undo_store(l, r, key, did, a != NULL ? &a->blk : NULL);
}

static void
apply_undo(struct blklist *l, const struct rec *r)
{
	uint64_t key = list_key(l, r);
	struct arec *a = find_record(l->impl, key);
	struct blk b;

	if (a != NULL) {
		if (list_older(rec_ticket(r), a->blk.ticket))
			l->counts.late++;
		else
			l->counts.unknown_undo++;
		return;
	}
	switch (list_undo_take(l, r, key, &b)) {
	case UNDO_NONE:
		l->counts.unknown_undo++;
		break;
	case UNDO_BLOCK:
		if (ARecInsert(l, key, &b) == 0)
			list_live_add(l, r, key, b.size);
		else {
			l->counts.full++;
			list_tell(l, BLKLIST_UNDO_UNLISTED, &b, r);
		}
		break;
	default:
		break;
	}
}

static void
apply_range(struct blklist *l, struct list_chunk *c, unsigned i)
{
	struct literal *lit = l->impl;
	const struct rec *r = &c->rec[i];
	uint64_t from = list_key_of(l, 1, rec_addr(r));
	struct arec *a, *prev;

	/* Each deletion leaves aRecPtr before the range; scan from there. */
	while ((a = scan(lit, from, &prev)) != NULL &&
	    a->aKey - from < rec_size(r)) {
		l->counts.frees++;
		list_live_sub(l, r, a->aKey, a->blk.size);
		list_removed_row(l, list_seq(c, i), &a->blk);
		delete_record(l, a);
	}
}

static bool
is_event(const struct blklist *l, const struct rec *r)
{
	switch (rec_op(r)) {
	case REC_ALLOC:
		return !list_is_failed(l, r);
	case REC_FREE:
	case REC_UNDO:
		return true;
	default:
		return false;
	}
}

/*
 * The free that cancels the allocation at i, by scanning the rest of the chunk;
 * 0 if there is none.  The first record of the same block decides.  A free by
 * realloc cancels nothing, for it may be undone, and nothing cancels across the
 * free of a range.
 */
static unsigned
scan_ahead(const struct blklist *l, const struct list_chunk *c, unsigned i)
{
	const struct rec *r = &c->rec[i], *f;
	uint64_t key = list_key(l, r);

	for (unsigned j = i + 1; j < c->n; j++) {
		f = &c->rec[j];
		if (rec_op(f) == REC_RANGE)
			return 0;
		if (list_key(l, f) != key || !is_event(l, f))
			continue;
		if (rec_op(f) == REC_FREE && rec_type(f) != TYPE_BY_REALLOC &&
		    !list_older(rec_ticket(f), rec_ticket(r)))
			return j;
		return 0;
	}
	return 0;
}

static unsigned
literal_apply(struct blklist *l, struct list_chunk *c)
{
	struct literal *lit = l->impl;
	unsigned pairs = 0, f;

	for (unsigned i = 0; i < c->n; i++)
		lit->paired[i] = false;
	for (unsigned i = 0; i < c->n; i++) {
		const struct rec *r = &c->rec[i];

		switch (rec_op(r)) {
		case REC_ALLOC:
			if (list_is_failed(l, r)) {
				l->counts.failed++;
				break;
			}
			f = c->cancel ? scan_ahead(l, c, i) : 0;
			/* At an active address it is a duplicate. */
			if (f == 0 || find_record(lit, list_key(l, r)) != NULL) {
				apply_alloc(l, c, i);
				break;
			}
			list_pair_alloc(l, c, i);
			lit->paired[f] = true;
			lit->mate[f] = i;
			pairs++;
			break;
		case REC_FREE:
			if (lit->paired[i])
				list_pair_free(l, &c->rec[lit->mate[i]], r);
			else
				apply_free(l, c, i);
			break;
		case REC_UNDO:
			apply_undo(l, r);
			break;
		case REC_RANGE:
			apply_range(l, c, i);
			break;
		default:
			break;
		}
	}
	return pairs;
}

static int
compare_age(const void *va, const void *vb)
{
	const struct arec *a = *(const struct arec *const *)va;
	const struct arec *b = *(const struct arec *const *)vb;

	if (a->blk.seq != b->blk.seq)
		return (int64_t)a->blk.seq < (int64_t)b->blk.seq ? -1 : 1;
	return a->aKey < b->aKey ? -1 : a->aKey > b->aKey;
}

/* The simple array of the note, oldest first; the caller's to free. */
static const struct arec **
by_age(const struct blklist *l)
{
	const struct literal *lit = l->impl;
	const struct arec **array;
	uint32_t n = 0;

	array = malloc(l->counts.aRecActive * sizeof(*array) + 1);
	if (array == NULL)
		return NULL;
	for (const struct arec *a = lit->aHead; a != NULL; a = a->aFwd)
		array[n++] = a;
	qsort(array, n, sizeof(*array), compare_age);
	return array;
}

static size_t
literal_window(const struct blklist *l, enum blklist_order order,
    uint32_t first, struct blk *out, size_t n)
{
	const struct literal *lit = l->impl;
	const struct arec *a = lit->aHead, **array;

	if (order == BLKLIST_BY_ADDRESS) {
		while (first-- > 0)
			a = a->aFwd;
		for (size_t i = 0; i < n; i++, a = a->aFwd)
			out[i] = a->blk;
		return n;
	}
	array = by_age(l);
	if (array == NULL)
		return 0;
	for (size_t i = 0; i < n; i++)
		out[i] = array[first + i]->blk;
	free(array);
	return n;
}

static size_t
literal_after(const struct blklist *l, bool from_start, uint64_t key,
    struct blk *out, size_t n)
{
	const struct literal *lit = l->impl;
	const struct arec *a = lit->aHead;
	size_t i;

	while (a != NULL && !from_start && a->aKey <= key)
		a = a->aFwd;
	for (i = 0; i < n && a != NULL; i++, a = a->aFwd)
		out[i] = a->blk;
	return i;
}

static int
literal_get(const struct blklist *l, uint64_t key, struct blk *out)
{
	const struct arec *a = find_record(l->impl, key);

	if (a == NULL)
		return -ENOENT;
	*out = a->blk;
	return 0;
}

static int64_t
literal_rank(const struct blklist *l, enum blklist_order order, uint64_t key)
{
	const struct literal *lit = l->impl;
	const struct arec *a = find_record(lit, key), *b;
	int64_t rank = 0;

	if (a == NULL)
		return -ENOENT;
	for (b = lit->aHead; b != NULL; b = b->aFwd)
		if (order == BLKLIST_BY_ADDRESS ? b->aKey < key :
		    compare_age(&b, &a) < 0)
			rank++;
	return rank;
}

static int
literal_put(struct blklist *l, uint64_t key, const struct blk *b)
{
	struct blk stored = *b;

	if (find_record(l->impl, key) != NULL)
		return -EEXIST;
	stored.addr &= REC_ADDR_MASK;
	stored.caller &= REC_ADDR_MASK;
	stored.size = list_blk_size(b);
	stored.zero = 0;
	return ARecInsert(l, key, &stored);
}

static int
literal_take(struct blklist *l, uint64_t key, uint64_t *size)
{
	struct arec *a = find_record(l->impl, key);

	if (a == NULL)
		return -ENOENT;
	*size = a->blk.size;
	delete_record(l, a);
	return 0;
}

static size_t
literal_memory(const struct blklist *l)
{
	return sizeof(struct literal) +
	    l->counts.aRecMax * sizeof(struct arec);
}

static int
literal_check(const struct blklist *l, char *why, size_t cap)
{
	const struct literal *lit = l->impl;
	uint32_t active = 0, nfree = 0;
	uint64_t bytes = 0;
	bool hint = lit->aRecPtr == NULL;

	for (const struct arec *a = lit->aHead; a != NULL; a = a->aFwd) {
		if (++active > l->counts.aRecMax)
			break;
		bytes += a->blk.size;
		hint |= a == lit->aRecPtr;
		if (a->aFwd != NULL && a->aFwd->aKey <= a->aKey) {
			snprintf(why, cap, "record %u is not below the next",
			    active - 1);
			return -EFAULT;
		}
	}
	for (const struct arec *a = lit->fHead; a != NULL; a = a->aFwd)
		if (++nfree > l->counts.aRecMax)
			break;
	if (active != l->counts.aRecActive || nfree != lit->aRecFree ||
	    active + nfree != l->counts.aRecMax) {
		snprintf(why, cap, "%u active (%u counted) and %u free are "
		    "not %u", active, l->counts.aRecActive, nfree,
		    l->counts.aRecMax);
		return -EFAULT;
	}
	if (!hint) {
		snprintf(why, cap, "aRecPtr is not in the list");
		return -EFAULT;
	}
	if (bytes != l->counts.live_bytes) {
		snprintf(why, cap, "live bytes are %llu, not %llu",
		    (unsigned long long)bytes,
		    (unsigned long long)l->counts.live_bytes);
		return -EFAULT;
	}
	return 0;
}

const struct list_ops list_literal = {
	.open = literal_open,
	.close = literal_close,
	.apply = literal_apply,
	.window = literal_window,
	.after = literal_after,
	.get = literal_get,
	.rank = literal_rank,
	.put = literal_put,
	.take = literal_take,
	.clear = literal_clear,
	.memory = literal_memory,
	.check = literal_check,
};
