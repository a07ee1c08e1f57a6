#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "attribution.h"

static int
grow(struct refcnt_copy *c, size_t n)
{
	void *pages = c->page, *counters = c->counter;
	int err = base_grow(&pages, &c->cap, c->n + n, sizeof *c->page);

	c->page = pages;
	if (err == 0)
		err = base_grow(&counters, &c->counter_cap,
		    (c->n + n) * c->counters, sizeof *c->counter);
	c->counter = counters;
	return err;
}

static void
append(struct refcnt_copy *c, const struct refcnt_page *p)
{
	uint64_t *counter = c->counter + c->n * c->counters, count = 0;
	bool absent = (p->flags & REFCNT_NOT_PRESENT) != 0;

	for (unsigned i = 0; i < c->counters; i++) {
		counter[i] = i < p->counters ? p->counter[i] : 0;
		count += counter[i];
	}
	/* The place of one that is not in memory is its last one. */
	c->page[c->n++] = (struct refcnt_copy_page){ .vaddr = p->vaddr,
		.paddr = absent ? 0 : p->paddr, .page_size = p->page_size, .heat = p->heat,
		.reads = p->reads, .writes = p->writes, .count = count,
		.since_ms = p->since_ms,
		.last_ms = p->last_ms > 0 ? p->last_ms : -1,
		.home = absent ? -1 : p->cnodeid,
		.flags = p->flags | (absent ? REFCNT_NO_PADDR : 0),
		.source = p->source };
}

int
refcnt_copy_add(struct refcnt_copy *c, const struct refcnt_page *p, size_t n)
{
	int err;

	if (n == 0)
		return 0;
	if (c->n == 0)
		c->counters = p->counters > REFCNT_COUNTERS ? REFCNT_COUNTERS :
		    p->counters > 0 ? p->counters : 1;
	err = grow(c, n);
	for (size_t i = 0; err == 0 && i < n; i++)
		if (c->n == 0 || c->page[c->n - 1].vaddr < p[i].vaddr)
			append(c, &p[i]);
	return err;
}

int
refcnt_copy_set_ranges(struct refcnt_copy *c, const struct refcnt_range *r,
    size_t n)
{
	struct refcnt_range *copy = malloc((n + 1) * sizeof *copy);

	if (copy == NULL)
		return -ENOMEM;
	if (n > 0)
		memcpy(copy, r, n * sizeof *copy);
	free(c->range);
	c->range = copy;
	c->ranges = n;
	return 0;
}

void
refcnt_copy_fini(struct refcnt_copy *c)
{
	free(c->page);
	free(c->counter);
	free(c->range);
	*c = (struct refcnt_copy){ 0 };
}

size_t
refcnt_copy_find(const struct refcnt_copy *c, uint64_t vaddr)
{
	size_t i;

	BASE_FIND_FIRST(i, c->n, c->page[i].vaddr >= vaddr);
	return i;
}

const uint64_t *
refcnt_copy_counters(const struct refcnt_copy *c, size_t i)
{
	return c->counter + i * c->counters;
}

const struct refcnt_range *
refcnt_copy_range(const struct refcnt_copy *c, uint64_t vaddr)
{
	size_t i;

	BASE_FIND_FIRST(i, c->ranges, c->range[i].vaddr > vaddr);
	return i > 0 && vaddr - c->range[i - 1].vaddr <
	    c->range[i - 1].len ? &c->range[i - 1] : NULL;
}

bool
refcnt_tells_use(const struct refcnt_copy_page *p)
{
	return p->source < REFCNT_SOURCES && refcnt_sources[p->source].read;
}

struct summed {
	uint64_t count;
	int64_t since_ms, last_ms;
	bool coarse;
};

/* Adds up the pages first..last; false: some are not counted. */
static bool
sum_pages(const struct refcnt_copy *c, uint64_t first, uint64_t last,
    struct summed *s)
{
	size_t i = refcnt_copy_find(c, first);

	*s = (struct summed){ .since_ms = INT64_MIN, .last_ms = -1 };
	for (uint64_t at = first;; at += REFCNT_PAGE, i++) {
		const struct refcnt_copy_page *p = &c->page[i];

		if (i == c->n || p->vaddr != at || !refcnt_tells_use(p))
			return false;
		s->count += p->count;
		if (p->since_ms > s->since_ms)
			s->since_ms = p->since_ms;
		if (p->last_ms > s->last_ms)
			s->last_ms = p->last_ms;
		s->coarse |= (p->flags & REFCNT_COARSE) != 0;
		if (at == last)
			return true;
	}
}

/* The last reference to the edges first and last; -1: none that is known. */
static int64_t
last_of_edges(const struct refcnt_copy *c, uint64_t first, uint64_t last)
{
	struct summed a, b;
	int64_t ms = -1;

	if (sum_pages(c, first, first, &a))
		ms = a.last_ms;
	if (sum_pages(c, last, last, &b) && b.last_ms > ms)
		ms = b.last_ms;
	return ms;
}

bool
refcnt_touch_of(const struct refcnt_copy *c, uint64_t addr, uint64_t size,
    int64_t born_ms, struct refcnt_touch *t)
{
	uint64_t end = addr + (size > 0 ? size - 1 : 0);	/* its last byte */
	uint64_t first = refcnt_page_of(addr), last = refcnt_page_of(end);
	uint64_t from = first == addr ? first : first + REFCNT_PAGE;
	uint64_t to = refcnt_page_of(end + 1);	/* behind the last one that it fills */
	struct summed s;
	int64_t since;

	if (c->n == 0 || end < addr)
		return false;
	*t = (struct refcnt_touch){ .exact = from < to };
	if (t->exact ? !sum_pages(c, from, to - REFCNT_PAGE, &s) :
	    !sum_pages(c, first, last, &s))
		return false;
	since = s.since_ms > born_ms ? s.since_ms : born_ms;
	t->never = s.last_ms < since;
	t->idle_ms = c->now_ms - (t->never ? since : s.last_ms);
	if (t->idle_ms < 0)
		t->idle_ms = 0;
	t->count = s.count;
	t->since_ms = s.since_ms;
	t->coarse = s.coarse;
	if (t->exact)
		t->edge = last_of_edges(c, first, last) >
		    (t->never ? since : s.last_ms);
	return true;
}

/* The block before the one at that offset of the addresses; false: none of the layer. */
static bool
block_before(const struct blklist *list, int64_t at, unsigned layer,
    struct blk *b)
{
	return at > 0 && blklist_window(list, BLKLIST_BY_ADDRESS, false,
	    (uint64_t)at - 1, b, 1) == 1 && blk_layer(b) == layer;
}

static bool
reaches(const struct blk *b, uint64_t from)
{
	return b->addr >= from || from - b->addr < (b->size > 0 ? b->size : 1);
}

/*
 * The layer's first block at or above an address, and its offset among all;
 * false: none.
 */
static bool
block_from(const struct blklist *list, unsigned layer, uint64_t addr, int64_t *at,
    struct blk *b)
{
	if (blklist_after(list, addr == 0 && layer == 0, layer,
	    addr > 0 ? addr - 1 : 0, b, 1) == 0) {
		*at = blklist_counts(list)->aRecActive;
		return false;
	}
	*at = blklist_rank(list, BLKLIST_BY_ADDRESS, blk_layer(b), b->addr);
	return blk_layer(b) == layer;
}

size_t
refcnt_blocks_on(const struct blklist *list, unsigned layer, uint64_t from,
    uint64_t to, struct blk *first)
{
	struct blk before, b, behind;
	int64_t at, end;
	bool any = block_from(list, layer, from, &at, &b) && b.addr < to;
	bool reached = block_before(list, at, layer, &before) &&
	    reaches(&before, from);

	if (first != NULL && (reached || any))
		*first = reached ? before : b;
	(void)block_from(list, layer, to, &end, &behind);
	return (any && end > at ? (size_t)(end - at) : 0) + reached;
}

size_t
refcnt_blocks_there(const struct blklist *list, uint64_t from, uint64_t to,
    struct blk *first)
{
	size_t n = refcnt_blocks_on(list, 0, from, to, first);

	return n > 0 ? n : refcnt_blocks_on(list, 1, from, to, first);
}

size_t
refcnt_sharers(const struct blklist *list, const struct blk *b)
{
	uint64_t last = refcnt_page_of(b->addr + (b->size > 0 ? b->size - 1 : 0));

	return refcnt_blocks_on(list, blk_layer(b), refcnt_page_of(b->addr),
	    last + REFCNT_PAGE, NULL);
}
