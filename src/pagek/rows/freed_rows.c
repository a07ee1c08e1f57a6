#include <stdlib.h>

#include "freed_rows.h"
#include "../blocks/free_blocks.h"
#include "frozen_order.h"
#include "rows.h"

#define STAY_NS INT64_C(1000000000)
#define SHARE 4			/* one in so many rows may be a freed one */

struct kind {
	const struct page_rows_ops *rows;
	enum blklist_order order;
	bool reverse;
	uint32_t stream_no;
};

struct page_freed_rows {
	struct kind kind;
	struct page_shown_row shown[2][PAGE_FREED_ROWS_MAX];
	size_t n;		/* rows of the last picture, shown[now] */
	unsigned now;
};

struct merge {
	const struct page_view *v;
	struct page_shown_row *out;
	size_t n, room;
	size_t may;		/* more freed rows that there is room for */
	size_t before;		/* of them before the cursor */
};

/* Only if the picture shows the whole list of now can a missing row be freed. */
static bool
is_possible(const struct page *page, const struct page_view *v)
{
	const struct nodes_look *look = v->look;

	return page->medium == PAGE_SCREEN && !page_paints_little(page) &&
	       page->layout != PAGE_CLASSIC_STRICT && look == v->live &&
	       look->list != NULL && look->state == NODES_LIVE &&
	       look->settled && !look->behind &&
	       page_rows_ops(page) == &page_rows_list &&
	       !page_rows_are_frozen(page) && !page_free_wanted(page, look);
}

static bool
same_kind(const struct kind *a, const struct kind *b)
{
	return a->rows == b->rows && a->order == b->order &&
	    a->reverse == b->reverse && a->stream_no == b->stream_no;
}

static void
put_row(struct merge *m, const struct page_shown_row *s)
{
	if (m->n < m->room)
		m->out[m->n++] = *s;
}

static void
put_missing(
    struct merge *m, const struct page_shown_row *was, bool before_cursor)
{
	struct page_shown_row s = *was;

	if (m->may == 0 || (before_cursor && m->before == 0))
		return;
	if (!s.freed) {
		if (page_is_listed(m->v, &s.blk))
			return;
		s.freed = true;
		s.since = m->v->now;
	} else if (mono_diff_ns(m->v->now, s.since) >= STAY_NS) {
		return;
	}
	m->may--;
	if (before_cursor)
		m->before--;
	put_row(m, &s);
}

/* The index of the block's row from `from` on, or n. */
static size_t
find_row(const struct page_shown_row *was, size_t from, size_t n,
    const struct blk *b)
{
	while (from < n &&
	       (was[from].freed || !page_same_block(&was[from].blk, b)))
		from++;
	return from;
}

static void
merge_rows(const struct page *page, struct merge *m,
    const struct page_shown_row *was, size_t nwas, const struct blk *rows,
    size_t n)
{
	/* Blocks outside of a window are not known to be freed. */
	bool window = m->v->look->window;
	size_t i, k, at = 0;

	for (i = 0; i < n; i++) {
		k = find_row(was, at, nwas, &rows[i]);
		if (k < nwas) {
			for (; at < k; at++)
				if (i > 0 || !window)
					put_missing(m, &was[at],
					    page->cursor.on &&
					    page->offs + i <= page->cursor.at);
			at = k + 1;
		}
		put_row(m, &(struct page_shown_row){ .blk = rows[i],
		    .at = page->offs + i });
	}
	/* If no row is still there this is another part of the list. */
	for (; at > 0 && at < nwas && !window; at++)
		put_missing(m, &was[at], false);
}

static void
begin_merge(const struct page *page, const struct page_view *v, size_t room,
    struct merge *m)
{
	size_t under = 0;

	if (page->cursor.on && page->cursor.at >= page->offs)
		under = (size_t)(page->cursor.at - page->offs) + 1;
	*m = (struct merge){ .v = v, .room = room, .may = room / SHARE,
		.before = under < room ? room - under : 0 };
}

size_t
page_freed_rows_merge(struct page *page, const struct page_view *v,
    size_t count, size_t room, const struct page_shown_row **shown)
{
	const struct kind kind = { page_rows_ops(page),
		page_list_order(&page->opts), page_list_reverse(&page->opts),
		v->look->stream_no };
	struct page_freed_rows *l = page->freed_rows;
	struct blk rows[PAGE_FREED_ROWS_MAX];
	struct merge m;

	if (!is_possible(page, v) || room > PAGE_FREED_ROWS_MAX ||
	    count > room || page_rows_blocks(page, v, page->offs, rows,
	    count) != count) {
		if (l != NULL)
			l->n = 0;
		return 0;
	}
	if (l != NULL && !same_kind(&l->kind, &kind))
		l->n = 0;
	if (l == NULL)
		l = page->freed_rows = calloc(1, sizeof *l);
	if (l == NULL)
		return 0;
	l->kind = kind;
	begin_merge(page, v, room, &m);
	m.out = l->shown[1 - l->now];
	merge_rows(page, &m, l->shown[l->now], l->n, rows, count);
	l->now = 1 - l->now;
	l->n = m.n;
	*shown = l->shown[l->now];
	return m.n;
}

bool
page_freed_rows_offset(const struct page *page, size_t row, uint64_t *offset)
{
	const struct page_freed_rows *l = page->freed_rows;
	const struct page_shown_row *s;

	if (l == NULL || l->n == 0 || l->kind.rows != page_rows_ops(page)) {
		*offset = page->offs + row;
		return true;
	}
	if (row >= l->n)
		return false;
	s = &l->shown[l->now][row];
	if (s->freed)
		return false;
	*offset = s->at;
	return true;
}

void
page_freed_rows_free(struct page_freed_rows *l)
{
	free(l);
}
