/*
 * A thread logs a free before the real call and an allocation after it, so in
 * its own order no other record by realloc is between the two.  The allocation
 * may be missing: its block was freed at once and both were left out as a pair,
 * or realloc(p, 0) made none.  Then the next record by realloc of that thread
 * is a free again.  The size that the free tells is compared with the
 * allocation's all the same: that finds threads whose records are not in order,
 * and targets that tell nothing.
 *
 * Known limits
 *	A signal handler that interrupts a realloc between two steps of its
 *	record, and calls realloc with the same size, may have its block taken
 *	for the other's.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "list.h"

static size_t
pending_bytes(void)
{
	return LIST_THREADS * sizeof(struct list_pending);
}

int
blklist_follow_reallocs(struct blklist *l, uint32_t n)
{
	struct list_reallocs *m;

	assert(n != 0 && (n & (n - 1)) == 0);
	list_reallocs_fini(l);
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return -ENOMEM;
	m->cap = n;
	m->pending = list_map(pending_bytes());
	m->ring = list_map(n * sizeof(*m->ring));
	m->since_ns = mono_now().ns;
	l->reallocs = m;
	list_set_plain(l);
	if (m->pending != NULL && m->ring != NULL)
		return 0;
	list_reallocs_fini(l);
	return -ENOMEM;
}

void
list_reallocs_fini(struct blklist *l)
{
	struct list_reallocs *m = l->reallocs;

	if (m == NULL)
		return;
	list_unmap(m->pending, pending_bytes());
	list_unmap(m->ring, m->cap * sizeof(*m->ring));
	free(m);
	l->reallocs = NULL;
	list_set_plain(l);
}

static void
forget_pending(struct list_reallocs *m)
{
	for (unsigned i = 0; i < m->used; i++)
		m->pending[i].open = false;
	m->used = 0;
}

void
list_reallocs_clear(struct blklist *l)
{
	struct list_reallocs *m = l->reallocs;

	if (m == NULL)
		return;
	forget_pending(m);
	m->n = m->unmatched = 0;
	m->since_ns = mono_now().ns;
}

void
list_reallocs_batch(struct blklist *l, bool gaps)
{
	struct list_reallocs *m = l->reallocs;

	if (m == NULL)
		return;
	if (gaps || m->gaps)
		forget_pending(m);
	m->gaps = gaps;
}

void
list_reallocs_free(struct blklist *l, const struct rec *r, const struct blk *b)
{
	struct list_reallocs *m = l->reallocs;
	unsigned thread = rec_thread(r);
	struct list_pending *p;

	if (m == NULL || l->period != 0 || l->opaque)
		return;
	p = &m->pending[thread];
	p->open = true;
	p->block = b != NULL;
	p->told = (uint32_t)rec_size(r);
	if (b != NULL) {
		p->seq = b->seq;
		p->size = b->size;
	}
	if (thread >= m->used)
		m->used = thread + 1;
}

void
list_reallocs_undo(struct blklist *l, const struct rec *r)
{
	if (l->reallocs != NULL)
		l->reallocs->pending[rec_thread(r)].open = false;
}

void
list_reallocs_alloc(struct blklist *l, const struct list_chunk *c, unsigned i)
{
	struct list_reallocs *m = l->reallocs;
	const struct rec *r = &c->rec[i];
	unsigned thread = rec_thread(r);
	struct list_pending *p;

	if (m == NULL)
		return;
	p = &m->pending[thread];
	if (!p->open)
		return;
	p->open = false;
	if (!p->block)
		return;
	/* Threads without an index of their own share 0. */
	if (thread == 0 || m->gaps || p->told == 0 ||
	    p->told != rec_told(rec_size(r))) {
		m->unmatched++;
		return;
	}
	m->ring[m->n++ & (m->cap - 1)] = (struct blklist_realloc){
		.from = p->seq,
		.to = list_seq(c, i),
		.from_size = p->size,
		.addr = rec_addr(r),
		.layer = (uint8_t)rec_layer(r),
	};
}

int
blklist_realloc_get(const struct blklist *l, uint32_t k, struct blklist_realloc *out)
{
	const struct list_reallocs *m = l->reallocs;

	if (m == NULL || k >= m->cap || k >= m->n)
		return -ENOENT;
	*out = m->ring[(m->n - 1 - k) & (m->cap - 1)];
	return 0;
}

uint64_t
blklist_reallocs(const struct blklist *l)
{
	return l->reallocs != NULL ? l->reallocs->n : 0;
}

uint64_t
blklist_reallocs_unmatched(const struct blklist *l)
{
	return l->reallocs != NULL ? l->reallocs->unmatched : 0;
}

int64_t
blklist_reallocs_since(const struct blklist *l)
{
	return l->reallocs != NULL ? l->reallocs->since_ns : 0;
}

size_t
list_reallocs_memory(const struct blklist *l)
{
	const struct list_reallocs *m = l->reallocs;

	if (m == NULL)
		return 0;
	return sizeof(*m) + m->used * sizeof(*m->pending) +
	    (size_t)(m->n < m->cap ? m->n : m->cap) * sizeof(*m->ring);
}
