#include <errno.h>
#include <stdlib.h>

#include "../../base/base.h"
#include "refcnt.h"

#define AT_ONCE 256		/* blocks */

int
page_ranges_add(struct page_ranges *r, uint64_t vaddr, uint64_t len)
{
	void *array = r->range;
	int err = base_grow(&array, &r->cap, r->n + 1, sizeof *r->range);

	if (err < 0)
		return err;
	r->range = array;
	r->range[r->n++] = (struct refcnt_range){ .vaddr = vaddr, .len = len,
		.source = REFCNT_REFS };
	return 0;
}

void
page_ranges_fini(struct page_ranges *r)
{
	free(r->range);
	*r = (struct page_ranges){ 0 };
}

uint64_t
page_ranges_pages(const struct page_ranges *r)
{
	uint64_t pages = 0;

	for (size_t i = 0; i < r->n; i++)
		if (r->range[i].len > 0)
			pages += (r->range[i].vaddr + (r->range[i].len - 1)) /
			    REFCNT_PAGE - r->range[i].vaddr / REFCNT_PAGE + 1;
	return pages;
}

static uint64_t
end_of(const struct refcnt_range *r)
{
	return r->vaddr + r->len;
}

static uint64_t
last_of(const struct blk *b)
{
	return b->addr + (b->size > 0 ? b->size - 1 : 0);
}

/* The pages of a block; those that follow the last range lengthen it. */
static int
add_block(struct page_ranges *r, const struct blk *b)
{
	uint64_t from = refcnt_page_of(b->addr);
	uint64_t to = refcnt_page_of(last_of(b)) + REFCNT_PAGE;
	struct refcnt_range *last = r->n > 0 ? &r->range[r->n - 1] : NULL;

	if (to < from)
		return 0;
	if (last == NULL || from < last->vaddr || from > end_of(last))
		return page_ranges_add(r, from, to - from);
	if (to > end_of(last))
		last->len = to - last->vaddr;
	return 0;
}

int
page_ranges_add_blocks(struct page_ranges *r, const struct blklist *list,
    bool (*is_wanted)(const void *arg, const struct blk *), const void *arg)
{
	struct blk row[AT_ONCE];
	size_t n = 0;
	int err = 0;

	do {
		n = blklist_after(list, n == 0, n > 0 ? blk_layer(&row[n - 1]) : 0,
		    n > 0 ? row[n - 1].addr : 0, row, AT_ONCE);
		for (size_t i = 0; i < n && err == 0; i++)
			if (is_wanted == NULL || is_wanted(arg, &row[i]))
				err = add_block(r, &row[i]);
	} while (n == AT_ONCE && err == 0);
	return err;
}

/* The last block of the layer at or below the address; false: there is none. */
static bool
find_below(const struct blklist *list, unsigned layer, uint64_t addr,
    struct blk *out)
{
	struct blk next;
	int64_t at = blklist_counts(list)->aRecActive;

	if (blklist_get(list, layer, addr, out) == 0)
		return true;
	if (blklist_after(list, false, layer, addr, &next, 1) == 1)
		at = blklist_rank(list, BLKLIST_BY_ADDRESS, blk_layer(&next),
		    next.addr);
	return at > 0 && blklist_window(list, BLKLIST_BY_ADDRESS, false,
	    (uint64_t)at - 1, out, 1) == 1 && blk_layer(out) == layer;
}

int
page_ranges_add_block_at(struct page_ranges *r, const struct blklist *list,
    uint64_t addr)
{
	struct blk b;

	for (unsigned layer = 0; layer <= 1; layer++)
		if (find_below(list, layer, addr, &b) && b.addr <= addr &&
		    addr <= last_of(&b))
			return page_ranges_add(r, b.addr, last_of(&b) - b.addr + 1);
	return -ENOENT;
}

static int
by_address(const void *a, const void *b)
{
	const struct refcnt_range *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int
by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static void
join(struct page_ranges *p, uint64_t most)
{
	size_t n = p->n > 0;

	for (size_t i = 1; i < p->n; i++) {
		struct refcnt_range *last = &p->range[n - 1], *r = &p->range[i];

		if (r->vaddr > end_of(last) && r->vaddr - end_of(last) > most)
			p->range[n++] = *r;
		else if (end_of(r) > end_of(last))
			last->len = end_of(r) - last->vaddr;
	}
	p->n = n;
}

int
page_ranges_join(struct page_ranges *r, uint64_t bytes, size_t most)
{
	uint64_t *gap;

	if (r->n > 1)
		qsort(r->range, r->n, sizeof *r->range, by_address);
	join(r, bytes);
	if (r->n <= most)
		return 0;
	gap = malloc(r->n * sizeof *gap);
	if (gap == NULL)
		return -ENOMEM;
	for (size_t i = 1; i < r->n; i++)
		gap[i - 1] = r->range[i].vaddr - end_of(&r->range[i - 1]);
	qsort(gap, r->n - 1, sizeof *gap, by_size);
	join(r, gap[most - 1]);
	free(gap);
	return 0;
}

int
page_ranges_leave_out(struct page_ranges *p, const struct refcnt_copy *c)
{
	struct page_ranges left = { 0 };
	int err = 0;

	for (size_t i = 0; i < p->n && err == 0; i++) {
		uint64_t at = p->range[i].vaddr, end = end_of(&p->range[i]);

		for (size_t k = 0; k < c->ranges && err == 0; k++) {
			const struct refcnt_range *r = &c->range[k];

			if (end_of(r) <= at || r->vaddr >= end)
				continue;
			if (r->vaddr > at)
				err = page_ranges_add(&left, at, r->vaddr - at);
			at = end_of(r);
		}
		if (err == 0 && at < end)
			err = page_ranges_add(&left, at, end - at);
	}
	page_ranges_fini(p);
	*p = left;
	return err;
}
