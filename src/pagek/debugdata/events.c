#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "debugdata.h"

void
events_fini(struct events *e)
{
	free(e->row);
	*e = (struct events){ .n = 0 };
}

static int
reserve(struct events *e, size_t more)
{
	void *array = e->row;
	int r = base_grow(&array, &e->cap, e->n + more, sizeof *e->row);

	if (r == 0)
		e->row = array;
	return r;
}

/* The caller has reserved room. */
static void
add(struct events *e, const struct dump *d, const struct dump_record *block,
    const struct dump_moment *at, enum event_kind kind)
{
	e->row[e->n++] = (struct event){ .dump = d, .block = block, .at = at,
		.kind = kind, .position = dump_position(d, at->seqno) };
}

int
events_of_dump(struct events *e, const struct dump *d)
{
	int r = reserve(e, d->nrecords + 1);

	for (size_t i = 0; r == 0 && i < d->nrecords; i++)
		add(e, d, &d->record[i], &d->record[i].alloc, EVENT_ALLOC);
	return r;
}

uint32_t
debugdata_function(unsigned type)
{
	static const struct {
		unsigned type;
		uint32_t function;
	} functions[] = {
		{ TYPE_MALLOC, MDD_MALLOC },
		{ TYPE_CALLOC, MDD_CALLOC },
		{ TYPE_REALLOC, MDD_REALLOC },
		{ TYPE_ALIGNED, MDD_MEMALIGN },
		{ TYPE_NEW, MDD_NEW },
		{ TYPE_NEW_ARRAY, MDD_NEW_ARRAY },
		{ TYPE_NEW_NOTHROW, MDD_NEW_NOTHROW },
		{ TYPE_NEW_ARRAY_NOTHROW, MDD_NEW_ARRAY_NOTHROW },
		{ TYPE_FREE, MDD_FREE },
		{ TYPE_DELETE, MDD_DELETE },
		{ TYPE_DELETE_ARRAY, MDD_DELETE_ARRAY },
		{ TYPE_BY_REALLOC, MDD_REALLOC_FREE },
	};

	for (size_t i = 0; i < BASE_NELEM(functions); i++)
		if (functions[i].type == type)
			return functions[i].function;
	return MDD_UNKNOWN;
}

/* The freed row of an allocation comes before its live one. */
static int
by_position(const void *a, const void *b)
{
	const struct event *p = a, *q = b;

	if (p->position != q->position)
		return p->position < q->position ? -1 : 1;
	if (p->block->address != q->block->address)
		return p->block->address < q->block->address ? -1 : 1;
	return p->kind == q->kind ? 0 : p->kind > q->kind ? -1 : 1;
}

/* An event that two dumps have counts once; one may free several blocks. */
static void
drop_doubles(struct events *e)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n; i++)
		if (n == 0 || e->row[n - 1].position != e->row[i].position ||
		    e->row[n - 1].block->address != e->row[i].block->address)
			e->row[n++] = e->row[i];
	e->n = n;
}

static bool
is_complete(const struct events *e, const struct dump *last)
{
	const struct dump_counts *n = &last->counts;
	uint64_t allocs = 0, frees, mask = last->source.word_bytes == 4 ?
	    UINT32_MAX : UINT64_MAX;

	/* A node's counters go on while it tells its events. */
	if (last->source.live)
		return n->missed == 0 && n->overwritten == 0;
	for (size_t i = 0; i < e->n; i++)
		allocs += e->row[i].kind != EVENT_FREE;
	frees = e->n - allocs;
	return n->missed == 0 && n->replaced == 0 && !last->wrapped &&
	    last->source.known && last->nproblems == 0 &&
	    allocs == (n->allocs & mask) && frees == (n->frees & mask);
}

int
events_of_history(struct events *e, const struct dump *d, size_t n,
    bool *complete)
{
	const struct dump *last = &d[n - 1];
	int r;

	for (size_t i = 0; i < n; i++) {
		r = reserve(e, 2 * d[i].npast + 1);
		if (r < 0)
			return r;
		for (size_t k = 0; k < d[i].npast; k++) {
			const struct dump_past *p = &d[i].past[k];

			add(e, &d[i], &p->block, &p->block.alloc, EVENT_FREED);
			add(e, &d[i], &p->block, &p->free, EVENT_FREE);
		}
	}
	r = events_of_dump(e, last);
	if (r < 0)
		return r;
	/* Positions are relative to the last dump's counter. */
	for (size_t i = 0; i < e->n; i++)
		e->row[i].position = dump_position(last, e->row[i].at->seqno);
	qsort(e->row, e->n, sizeof *e->row, by_position);
	drop_doubles(e);
	*complete = is_complete(e, last);
	return 0;
}

/* Of an allocation.  Blocks that a process inherits may share numbers. */
struct key {
	uint64_t seqno, address;
};

static int
by_key(const void *a, const void *b)
{
	const struct key *p = a, *q = b;

	if (p->seqno != q->seqno)
		return p->seqno < q->seqno ? -1 : 1;
	return p->address < q->address ? -1 : p->address > q->address;
}

static struct key
key_of(const struct dump_record *r)
{
	return (struct key){ r->alloc.seqno, r->address };
}

static int
add_missing(struct events *e, const struct dump *of, const struct dump *other)
{
	struct key key, *there = malloc((other->nrecords + 1) * sizeof *there);
	int r = there == NULL ? -ENOMEM : reserve(e, of->nrecords + 1);

	if (r < 0) {
		free(there);
		return r;
	}
	for (size_t i = 0; i < other->nrecords; i++)
		there[i] = key_of(&other->record[i]);
	qsort(there, other->nrecords, sizeof *there, by_key);
	for (size_t i = 0; i < of->nrecords; i++) {
		const struct dump_record *rec = &of->record[i];

		key = key_of(rec);
		if (bsearch(&key, there, other->nrecords, sizeof *there,
		    by_key) == NULL)
			add(e, of, rec, &rec->alloc, EVENT_ALLOC);
	}
	free(there);
	return 0;
}

int
events_of_diff(struct events *added, struct events *freed,
    const struct dump *first, const struct dump *second)
{
	int r = add_missing(added, second, first);

	return r < 0 ? r : add_missing(freed, first, second);
}
