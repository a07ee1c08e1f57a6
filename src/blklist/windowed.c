/*
 * The windowed list: some rows of a list elsewhere, and all its counters.  Rows
 * are in the window's order, never reversed; only they can be looked up.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"

struct windowed {
	enum blklist_order order;
	uint32_t first;			/* offset of row[0] */
	size_t n;
	struct blk row[BLKLIST_WINDOW_MAX];
};

static int
windowed_open(struct blklist *l)
{
	l->impl = calloc(1, sizeof(struct windowed));
	return l->impl == NULL ? -ENOMEM : 0;
}

static void
windowed_close(struct blklist *l)
{
	free(l->impl);
}

static void
windowed_clear(struct blklist *l)
{
	struct windowed *w = l->impl;

	w->n = 0;
}

/* Clips at the far end only: what is shown is at its place. */
static void
windowed_clip(const struct blklist *l, enum blklist_order order, bool reverse,
    uint32_t *first, size_t *n)
{
	const struct windowed *w = l->impl;
	uint64_t begin = *first, end = begin + *n, wend = w->first + w->n;

	if (order != w->order || (reverse ? end > wend || end <= w->first :
	    begin < w->first || begin >= wend)) {
		*n = 0;
		return;
	}
	if (reverse && begin < w->first)
		begin = w->first;
	if (!reverse && end > wend)
		end = wend;
	*first = (uint32_t)begin;
	*n = (size_t)(end - begin);
}

static size_t
windowed_window(const struct blklist *l, enum blklist_order order,
    uint32_t first, struct blk *out, size_t n)
{
	const struct windowed *w = l->impl;

	(void)order;
	memcpy(out, &w->row[first - w->first], n * sizeof(*out));
	return n;
}

static size_t
row_of(const struct blklist *l, uint64_t key)
{
	const struct windowed *w = l->impl;
	size_t i = 0;

	while (i < w->n && list_blk_key(l, &w->row[i]) != key)
		i++;
	return i;
}

static int
windowed_get(const struct blklist *l, uint64_t key, struct blk *out)
{
	const struct windowed *w = l->impl;
	size_t i = row_of(l, key);

	if (i == w->n)
		return -ENOENT;
	*out = w->row[i];
	return 0;
}

static int64_t
windowed_rank(const struct blklist *l, enum blklist_order order, uint64_t key)
{
	const struct windowed *w = l->impl;
	size_t i = row_of(l, key);

	return i == w->n || order != w->order ? -ENOENT :
	    (int64_t)(w->first + i);
}

static size_t
windowed_memory(const struct blklist *l)
{
	(void)l;
	return sizeof(struct windowed);
}

static int
windowed_check(const struct blklist *l, char *why, size_t cap)
{
	const struct windowed *w = l->impl;
	const char *bad = NULL;

	if (w->n > BLKLIST_WINDOW_MAX ||
	    w->first + w->n > l->counts.aRecActive)
		bad = "the window reaches beyond the list";
	for (size_t i = 1; i < w->n && bad == NULL; i++) {
		const struct blk *a = &w->row[i - 1], *b = &w->row[i];

		if (w->order == BLKLIST_BY_AGE ?
		    (int64_t)a->seq > (int64_t)b->seq :
		    list_blk_key(l, a) >= list_blk_key(l, b))
			bad = "rows are not in their order";
	}
	if (bad == NULL)
		return 0;
	snprintf(why, cap, "%s", bad);
	return -EFAULT;
}

void
blklist_set_window(struct blklist *l, const struct blklist_counts *counts,
    enum blklist_order order, bool reverse, uint64_t offs,
    const struct blk *row, size_t n)
{
	struct windowed *w = l->impl;
	uint32_t active = counts->aRecActive;

	/* The counters come from outside. */
	if (offs > active)
		offs = active;
	if (n > active - offs)
		n = (size_t)(active - offs);
	if (n > BLKLIST_WINDOW_MAX)
		n = BLKLIST_WINDOW_MAX;
	l->counts = *counts;
	w->order = order;
	w->n = n;
	w->first = (uint32_t)(reverse ? active - offs - n : offs);
	for (size_t i = 0; i < n; i++)
		w->row[reverse ? n - 1 - i : i] = row[i];
}

const struct list_ops list_windowed = {
	.open = windowed_open,
	.close = windowed_close,
	.clip = windowed_clip,
	.window = windowed_window,
	.get = windowed_get,
	.rank = windowed_rank,
	.clear = windowed_clear,
	.memory = windowed_memory,
	.check = windowed_check,
};
