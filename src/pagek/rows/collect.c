/* See collect.h. */
#include <errno.h>
#include <stdlib.h>

#include "collect.h"
#include "drain.h"
#include "rows.h"

#define WALK_ROWS 256

/* --- what is found -------------------------------------------------------- */

const struct blk *
page_taken_row(const struct page_taken *f, uint64_t at)
{
	return &f->blk[f->place != NULL ? f->place[at] : at];
}

size_t
page_taken_rows(const struct page_taken *f, uint64_t at, struct blk *out,
    size_t n)
{
	size_t i;

	for (i = 0; i < n && at + i < f->n; i++)
		out[i] = *page_taken_row(f, at + i);
	return i;
}

void
page_taken_fini(struct page_taken *f)
{
	free(f->blk);
	free(f->place);
	*f = (struct page_taken){ 0 };
}

void
page_taken_empty(struct page_taken *f, uint64_t sample)
{
	struct blk *blk = f->blk;
	size_t cap = f->cap;

	free(f->place);
	*f = (struct page_taken){ .blk = blk, .cap = cap, .sample = sample };
}

int
page_taken_put(struct page_taken *f, const struct blk *b, double weight,
    size_t most)
{
	void *blks = f->blk;
	int r;

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
page_taken_held(const struct page_taken *f, const struct page *page,
    uint64_t *offset)
{
	size_t i;

	/* Between two takes it has not moved. */
	if (page->cursor.at < f->n &&
	    page_holds_block(page, page_taken_row(f, page->cursor.at))) {
		*offset = page->cursor.at;
		return true;
	}
	for (i = 0; i < f->n; i++)
		if (page_holds_block(page, page_taken_row(f, i))) {
			*offset = i;
			return true;
		}
	return false;
}

/* --- the walk ------------------------------------------------------------- */

void
page_take_begin(struct page_take *t, const struct page *page,
    const struct page_view *v, struct page_sieve *sieve, size_t most)
{
	page_take_stop(t);
	scan_begin(&t->scan);
	page_taken_empty(&t->found, v->look->sample);
	t->sieve = sieve;
	t->most = most;
	if (v->look->list != NULL)
		page_walk_begin(&t->walk, v->look->list,
		    page_list_order(&page->opts),
		    page_sorting_native(&page->opts) &&
		    page_list_reverse(&page->opts));
	else
		t->walk = (struct page_walk){ .over = true };
}

static int
look_at(struct page_take *t, const struct page_view *v, size_t room,
    const struct blk *rows, size_t n)
{
	struct page_taken *f = &t->found;
	double weight = 1;
	size_t i;
	int r;

	for (i = 0; i < n; i++) {
		if (f->sample != 0)
			weight = blklist_weight(v->look->list, &rows[i]);
		f->of++;
		f->est_of += weight;
		if (!page_sieve_lets(t->sieve, &rows[i]))
			continue;
		r = page_taken_put(f, &rows[i], weight, room);
		if (r < 0)
			return r;
	}
	return 0;
}

/* To the walk's end, or as far as there is time, or room for what is sorted. */
static int
walk_on(struct page_take *t, const struct page *page,
    const struct page_view *v)
{
	bool sorts = !page_sorting_native(&page->opts);
	size_t n, room = t->most;
	struct blk rows[WALK_ROWS];
	int r = 0;

	page_sieve_begin(t->sieve, v);
	if (!t->walk.over)
		page_walk_resume(&t->walk, v->look->list);
	/* Half as many again before those go that come too late. */
	if (sorts && t->most < PAGE_TAKE_ALL)
		room += t->most / 2;
	while (r == 0 && !t->walk.over) {
		if (sorts && t->found.n + WALK_ROWS > room)
			break;
		n = page_walk_next(&t->walk, v->look->list, rows, WALK_ROWS);
		r = look_at(t, v, room, rows, page_drain_keep(page, rows, n));
		if (!scan_has_budget(&t->scan))
			break;
	}
	t->found.unsure += page_sieve_caught(t->sieve).unsure;
	return r;
}

/* --- the order ------------------------------------------------------------ */

/* Those that do not come first enough go, and make room for the rest. */
static int
keep_first(struct page_taken *f, const uint32_t *place, size_t most)
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

/* 1 when it is sorted: then all is done, or the walk goes on. */
static int
sort_on(struct page_take *t, const struct page *page,
    const struct page_view *v)
{
	struct page_taken *f = &t->found;
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
	page_take_stop(t);
	if (t->walk.over) {
		if (f->n > t->most)
			f->n = t->most;
		return 1;
	}
	r = keep_first(f, f->place, t->most);
	free(f->place);
	f->place = NULL;
	return r < 0 ? r : 1;
}

static int
go_on(struct page_take *t, const struct page *page, const struct page_view *v)
{
	int r = 0;

	for (;;) {
		if (t->order == NULL && !t->walk.over)
			r = walk_on(t, page, v);
		if (r < 0 || !scan_has_budget(&t->scan))
			return r;
		if (page_sorting_native(&page->opts)) {
			if (t->walk.over)
				return 1;
			continue;
		}
		r = sort_on(t, page, v);
		if (r <= 0 || t->walk.over)
			return r;
		r = 0;
	}
}

int
page_take_next(struct page_take *t, const struct page *page,
    const struct page_view *v, int64_t most_ns)
{
	int r;

	scan_portion(&t->scan, 0, most_ns);
	r = go_on(t, page, v);
	scan_pause(&t->scan);
	return r;
}

void
page_take_stop(struct page_take *t)
{
	page_order_free(t->order);
	t->order = NULL;
}

void
page_take_fini(struct page_take *t)
{
	page_take_stop(t);
	page_taken_fini(&t->found);
}
