#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "dump.h"

static const char *const functions[DUMP_FUNCTIONS] = {
#define FUNCTION(number, id, name) [number] = name,
#include "../target/functions.def"
};

const char *
dump_function(uint32_t function)
{
	const char *name = function < DUMP_FUNCTIONS ? functions[function] :
	    NULL;

	return name != NULL ? name : functions[MDD_UNKNOWN];
}

void
dump_problem(struct dump *d, const char *fmt, ...)
{
	va_list ap;

	if (d->nproblems < DUMP_PROBLEMS) {
		va_start(ap, fmt);
		vsnprintf(d->problem[d->nproblems], DUMP_PROBLEM, fmt, ap);
		va_end(ap);
	}
	d->nproblems++;
}

void
dump_fini(struct dump *d)
{
	for (size_t i = 0; i < d->nmodules; i++)
		free(d->module[i].path);
	free(d->name);
	free(d->record);
	free(d->past);
	free(d->thread);
	free(d->module);
	free(d->heap);
	memset(d, 0, sizeof *d);
}

const struct dump_thread *
dump_thread(const struct dump *d, uint32_t number)
{
	return number > 0 && number <= d->nthreads ? &d->thread[number - 1] :
	    NULL;
}

int
dump_name_thread(struct dump *d, uint32_t number, const char *name)
{
	struct dump_thread *all;

	if (number == 0)
		return 0;
	if (number > d->nthreads) {
		all = realloc(d->thread, number * sizeof *all);
		if (all == NULL)
			return -ENOMEM;
		memset(all + d->nthreads, 0,
		    (number - d->nthreads) * sizeof *all);
		d->thread = all;
		d->nthreads = number;
	}
	if (name != NULL)
		base_copy_text(d->thread[number - 1].name, MDD_NAME, name);
	return 0;
}

const struct dump_module *
dump_module(const struct dump *d, uint64_t address)
{
	size_t i;

	BASE_FIND_FIRST(i, d->nmodules, d->module[i].lo > address);
	return i > 0 && address < d->module[i - 1].hi ? &d->module[i - 1] : NULL;
}

struct freed {
	uint64_t seqno;			/* of the allocation */
	size_t at;			/* the past record */
};

static int
by_seqno(const void *a, const void *b)
{
	const struct freed *p = a, *q = b;

	return p->seqno < q->seqno ? -1 : p->seqno > q->seqno;
}

/* A block whose free was in progress is in both tables. */
static void
drop_freed(struct dump *d)
{
	struct freed *freed = malloc(d->npast * sizeof *freed), *f, key;
	size_t n = 0;

	if (freed == NULL)
		return;
	for (size_t i = 0; i < d->npast; i++)
		freed[i] = (struct freed){ d->past[i].block.alloc.seqno, i };
	qsort(freed, d->npast, sizeof *freed, by_seqno);
	for (size_t i = 0; i < d->nrecords; i++) {
		key.seqno = d->record[i].alloc.seqno;
		f = bsearch(&key, freed, d->npast, sizeof *freed, by_seqno);
		if (f == NULL) {
			d->record[n++] = d->record[i];
			continue;
		}
		d->past[f->at].block.unsure = true;
		d->counts.in_flight++;
	}
	d->nrecords = n;
	free(freed);
}

static bool
is_future(const struct dump *d, uint64_t seqno)
{
	return seqno >= d->counts.seqno;
}

static int
by_address(const void *a, const void *b)
{
	const struct dump_record *p = a, *q = b;

	return p->address < q->address ? -1 : p->address > q->address;
}

void
dump_settle(struct dump *d)
{
	if (d->nrecords > 0)
		qsort(d->record, d->nrecords, sizeof *d->record, by_address);
	d->wrapped = false;
	for (size_t i = 0; i < d->nrecords && !d->wrapped; i++)
		d->wrapped = is_future(d, d->record[i].alloc.seqno);
	for (size_t i = 0; i < d->npast && !d->wrapped; i++)
		d->wrapped = is_future(d, d->past[i].block.alloc.seqno) ||
		    is_future(d, d->past[i].free.seqno);
	if (d->npast > 0 && d->nrecords > 0)
		drop_freed(d);
}

/* Addresses of the calls ascend, and so does *at, an index of ranges. */
static bool
is_in_heap(const struct dump *d, uint64_t address, size_t *at)
{
	while (*at < d->nheap && d->heap[*at].hi <= address)
		++*at;
	return *at < d->nheap && d->heap[*at].lo <= address;
}

/* A damaged size makes no small sum of a large one. */
static void
add(uint64_t *sum, uint64_t n)
{
	*sum = n > UINT64_MAX - *sum ? UINT64_MAX : *sum + n;
}

void
dump_sum(const struct dump *d, struct dump_totals *t)
{
	size_t at = 0;

	memset(t, 0, sizeof *t);
	t->blocks = d->nrecords;
	for (size_t i = 0; i < d->nrecords; i++) {
		const struct dump_record *r = &d->record[i];
		/* An actual size that is unknown or less counts as the requested one. */
		uint64_t actual = r->actual > r->size ? r->actual : r->size;

		add(&t->bytes, r->size);
		add(&t->actual, actual);
		t->by_function[r->alloc.function % DUMP_FUNCTIONS]++;
		if (d->nheap > 0 && !is_in_heap(d, r->address, &at)) {
			t->mapped++;
			add(&t->mapped_bytes, actual);
		}
	}
}
