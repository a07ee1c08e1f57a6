#include <errno.h>
#include <stdlib.h>

#include "collection.h"
#include "drain.h"
#include "blocks.h"

#define WALK_ROWS 256

const struct blk *
page_collection_row(const struct page_collection *f, uint64_t at)
{
	return &f->blk[f->place != NULL ? f->place[at] : at];
}

size_t
page_collection_rows(
    const struct page_collection *f, uint64_t at, struct blk *out, size_t n)
{
	size_t i;

	for (i = 0; i < n && at + i < f->n; i++)
		out[i] = *page_collection_row(f, at + i);
	return i;
}

void
page_collection_fini(struct page_collection *f)
{
	free(f->blk);
	free(f->place);
	*f = (struct page_collection){ 0 };
}

void
page_collection_empty(struct page_collection *f, uint64_t sample)
{
	struct blk *blk = f->blk;
	size_t cap = f->cap;

	free(f->place);
	*f = (struct page_collection){
		.blk = blk, .cap = cap, .sample = sample
	};
}

int
page_collection_add(struct page_collection *f, const struct blklist *list,
    const struct blk *b, bool matches, size_t most)
{
	double weight = f->sample != 0 ? blklist_weight(list, b) : 1;
	void *blks = f->blk;
	int r;

	f->of++;
	f->est_of += weight;
	if (!matches)
		return 0;
	f->all++;
	f->bytes += b->size;
	f->est_blocks += weight;
	f->est_bytes += weight * (double)b->size;
	if (f->n == most)
		return 0;
	r = base_grow(&blks, &f->cap, f->n + 1, sizeof *f->blk);
	if (r < 0)
		return r;
	f->blk = blks;
	f->blk[f->n++] = *b;
	return 0;
}

bool
page_collection_find_cursor(
    const struct page_collection *f, const struct page *page, uint64_t *offset)
{
	size_t i;

	if (page->cursor.at < f->n &&
	    page_cursor_is_on(page, page_collection_row(f, page->cursor.at))) {
		*offset = page->cursor.at;
		return true;
	}
	for (i = 0; i < f->n; i++)
		if (page_cursor_is_on(page, page_collection_row(f, i))) {
			*offset = i;
			return true;
		}
	return false;
}

void
page_collector_begin(struct page_collector *t, const struct page *page,
    const struct page_view *v, struct page_row_filter *filter, size_t most)
{
	page_collector_stop(t);
	scan_begin(&t->scan);
	page_collection_empty(&t->found, v->look->sample);
	t->filter = filter;
	t->most = most;
	page_walk_begin(&t->walk, v->look->list, page_list_order(&page->opts),
	    page_sorting_native(&page->opts) &&
	    page_list_reverse(&page->opts));
}

/* Ends with the walk, the time, or when what was found has to be sorted. */
static int
walk_portion(struct page_collector *t, const struct page *page,
    const struct page_view *v)
{
	bool sorts = !page_sorting_native(&page->opts);
	size_t i, n, room = t->most;
	struct blk rows[WALK_ROWS];
	int r = 0;

	page_row_filter_begin(t->filter, v);
	page_walk_resume(&t->walk, v->look->list);
	if (sorts && t->most < PAGE_COLLECT_ALL)
		room += t->most / 2;
	while (r == 0 && !t->walk.over) {
		if (sorts && t->found.n + WALK_ROWS > room)
			break;
		n = page_walk_next(&t->walk, v->look->list, rows, WALK_ROWS);
		n = page_drain_keep(page, rows, n);
		for (i = 0; i < n && r == 0; i++)
			r = page_collection_add(&t->found, v->look->list,
			    &rows[i], page_row_filter_matches(t->filter,
			    &rows[i]), room);
		if (!scan_has_budget(&t->scan))
			break;
	}
	t->found.unsure += page_row_filter_sums(t->filter).unsure;
	return r;
}

/* Drops the rows beyond `most`; those that stay keep the order of the walk. */
static int
drop_last(struct page_collection *f, const uint32_t *place, size_t most)
{
	uint8_t *kept = calloc(f->n + 1, 1);
	size_t i, n = 0;

	if (kept == NULL)
		return -ENOMEM;
	for (i = 0; i < f->n && i < most; i++)
		kept[place[i]] = 1;
	for (i = 0; i < f->n; i++)
		if (kept[i])
			f->blk[n++] = f->blk[i];
	f->n = n;
	free(kept);
	return 0;
}

/* 1 when sorted: the end, or the walk continues. */
static int
sort_portion(struct page_collector *t, const struct page *page,
    const struct page_view *v)
{
	struct page_collection *f = &t->found;
	int r = 0;

	if (t->order == NULL)
		r = page_order_begin(&t->order, &page->opts.sorting, f->blk,
		    f->n);
	if (r == 0)
		r = page_order_next(t->order, v, &t->scan);
	if (r <= 0)
		return r;
	if (t->walk.over)
		f->unsure += page_order_unsure(t->order);
	f->place = page_order_places(t->order);
	page_collector_stop(t);
	if (t->walk.over) {
		if (f->n > t->most)
			f->n = t->most;
		return 1;
	}
	r = drop_last(f, f->place, t->most);
	free(f->place);
	f->place = NULL;
	return r < 0 ? r : 1;
}

static int
walk_and_sort(struct page_collector *t, const struct page *page,
    const struct page_view *v)
{
	int r = 0;

	for (;;) {
		if (t->order == NULL && !t->walk.over)
			r = walk_portion(t, page, v);
		if (r < 0 || !scan_has_budget(&t->scan))
			return r;
		if (page_sorting_native(&page->opts)) {
			if (t->walk.over)
				return 1;
			continue;
		}
		r = sort_portion(t, page, v);
		if (r <= 0 || t->walk.over)
			return r;
		r = 0;
	}
}

int
page_collector_next(struct page_collector *t, const struct page *page,
    const struct page_view *v, int64_t most_ns)
{
	int r;

	scan_portion(&t->scan, 0, most_ns);
	r = walk_and_sort(t, page, v);
	scan_pause(&t->scan);
	return r;
}

void
page_collector_stop(struct page_collector *t)
{
	page_order_free(t->order);
	t->order = NULL;
}

void
page_collector_fini(struct page_collector *t)
{
	page_collector_stop(t);
	page_collection_fini(&t->found);
}
