#include <errno.h>
#include <stdlib.h>

#include "../../../base/base.h"
#include "../../../blklist/blklist.h"
#include "refcnt.h"

#define AT_ONCE 256	/* blocks */
#define GAP_MOST (UINT64_C(1) << 40)	/* bytes, between two of a heap */

int
counted_ranges_add(struct counted_ranges *r, uint64_t vaddr, uint64_t len)
{
	void *array = r->at;
	int err = base_grow(&array, &r->cap, r->n + 1, sizeof *r->at);

	if (err < 0)
		return err;
	r->at = array;
	r->at[r->n++] = (struct counted_range){ vaddr, len };
	return 0;
}

void
counted_ranges_fini(struct counted_ranges *r)
{
	free(r->at);
	*r = (struct counted_ranges){ 0 };
}

/* --- blocks ------------------------------------------------------------------------ */

static uint64_t
page_of(uint64_t addr)
{
	return addr & ~(uint64_t)(REFCNT_PAGE - 1);
}

static uint64_t
end_of(const struct blk *b)
{
	return b->addr + (b->size > 0 ? b->size : 1);
}

/* Joins it to the last range across a gap of so many bytes. */
static int
add_block(struct counted_ranges *r, const struct blk *b, uint64_t gap)
{
	uint64_t from = page_of(b->addr), to = page_of(end_of(b) - 1) +
	    REFCNT_PAGE;
	struct counted_range *last = r->n > 0 ? &r->at[r->n - 1] : NULL;

	if (last == NULL || from < last->vaddr ||
	    from > last->vaddr + last->len + gap)
		return counted_ranges_add(r, from, to - from);
	if (to > last->vaddr + last->len)
		last->len = to - last->vaddr;
	return 0;
}

/* Calls for each block by address, those of the other layer last. */
static int
join_blocks(struct counted_ranges *r, const struct blklist *list, uint64_t gap)
{
	struct blk row[AT_ONCE];
	unsigned layer = 0;
	uint64_t addr = 0;
	bool first = true;
	size_t n;
	int err = 0;

	r->n = 0;
	while (err == 0 && r->n <= COUNTED_RANGES && (n = blklist_after(list,
	    first, layer, addr, row, AT_ONCE)) > 0) {
		for (size_t i = 0; i < n && err == 0; i++)
			err = add_block(r, &row[i], gap);
		first = false;
		layer = blk_layer(&row[n - 1]);
		addr = row[n - 1].addr;
	}
	return err;
}

int
counted_ranges_blocks(struct counted_ranges *r, const struct blklist *list)
{
	uint64_t gap = 0;
	int err;

	do {
		err = join_blocks(r, list, gap);
		gap = gap == 0 ? REFCNT_PAGE : 4 * gap;
	} while (err == 0 && r->n > COUNTED_RANGES && gap < GAP_MOST);
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
counted_ranges_block(struct counted_ranges *r, const struct blklist *list,
    uint64_t addr)
{
	struct blk b;

	for (unsigned layer = 0; layer <= 1; layer++)
		if (find_below(list, layer, addr, &b) && b.addr <= addr &&
		    addr < end_of(&b))
			return counted_ranges_add(r, b.addr,
			    end_of(&b) - b.addr);
	return -ENOENT;
}
