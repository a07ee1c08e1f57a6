#include <stdlib.h>
#include <string.h>

#include "../blocks/drain.h"
#include "frozen_order.h"

#define MARGIN 1024		/* rows of the band beyond the window */
#define PORTION 1024		/* rows that are added at once */
#define CHUNK 256
#define NEWS_ASKED 4096		/* new blocks that a filter is applied to */
#define TRIES 16		/* portions of new rows alone that are skipped */

struct page_frozen_order {
	bool on;
	const struct page_rows_ops *rows;	/* whose rows are frozen */
	unsigned round;		/* page->freeze.round then */
	uint32_t stream_no;
	struct blk *blk;	/* the band */
	size_t n, cap;
	uint64_t at;		/* offset of its first row */
	uint64_t total;		/* rows, when the order was frozen */
	bool any;		/* there were blocks then */
	uint64_t youngest;	/* number of the youngest of them */
	uint64_t news;		/* younger blocks, which have no rows */
};

static struct page_frozen_order *
get_frozen(struct page *page)
{
	if (page->freeze.order == NULL)
		page->freeze.order = calloc(1, sizeof *page->freeze.order);
	return page->freeze.order;
}

void
page_frozen_order_free(struct page_frozen_order *s)
{
	if (s == NULL)
		return;
	free(s->blk);
	free(s);
}

static bool
is_paused(const struct page_view *v)
{
	return v->look != v->live;
}

/* In a window, rows of another part of the list would look freed. */
static bool
is_possible(const struct page *page, const struct page_view *v)
{
	return page_is_on_screen(page) && !page_shows_groups(page) &&
	    page_rows_ops(page)->window != NULL && v->look->list != NULL &&
	    !v->look->window;
}

static bool
is_same(const struct blk *a, const struct blk *b)
{
	return page_same_block(a, b) && page_is_free(a) == page_is_free(b);
}

static bool
is_new(const struct page_frozen_order *s, const struct blk *b)
{
	return !page_is_free(b) &&
	    (!s->any || (int64_t)(b->seq - s->youngest) > 0);
}

static size_t
read_rows(const struct page *page, const struct page_view *v,
    const struct page_frozen_order *s, uint64_t at, struct blk *out, size_t n)
{
	size_t got = 0, k;

	while (got < n) {
		k = s->rows->window(page, v, at + got, out + got, n - got);
		if (k == 0)
			break;
		got += k;
	}
	return got;
}

static bool
find_anchor(const struct page *page, const struct page_view *v,
    const struct page_frozen_order *s, size_t i, int step, uint64_t *rank,
    size_t *at)
{
	for (; i < s->n; i += (size_t)step) {
		if (!page_is_free(&s->blk[i]) && !page_is_listed(v, &s->blk[i]))
			continue;
		if (page_rows_find_block(s->rows, page, v, &s->blk[i], rank)) {
			*at = i;
			return true;
		}
	}
	return false;
}

static int
make_room(struct page_frozen_order *s, size_t more)
{
	void *blk = s->blk;
	int r = base_grow(&blk, &s->cap, s->n + more, sizeof *s->blk);

	s->blk = blk;
	return r;
}

/* By age, new blocks are together at the end: it may be skipped. */
static bool
new_are_last(
    const struct page *page, const struct page_frozen_order *s, bool front)
{
	return s->rows == &page_rows_list &&
	    page_list_order(&page->opts) == BLKLIST_BY_AGE &&
	    page_list_reverse(&page->opts) == front;
}

/* Up to PORTION rows; false: there are no more. */
static bool
extend_down(struct page *page, const struct page_view *v,
    struct page_frozen_order *s)
{
	struct blk some[CHUNK];
	size_t anchor, k = CHUNK, i, was = s->n;
	uint64_t rank, at, end;

	if (make_room(s, PORTION) < 0 ||
	    !find_anchor(page, v, s, s->n - 1, -1, &rank, &anchor))
		return false;
	end = rank + 1 + (s->at + s->n < s->total ? TRIES : 1) * PORTION;
	for (at = rank + 1; at < end && k == CHUNK && s->n < was + PORTION;
	    at += k) {
		k = read_rows(page, v, s, at, some, CHUNK);
		for (i = 0; i < k; i++)
			if (!is_new(s, &some[i]) && s->n < was + PORTION)
				s->blk[s->n++] = some[i];
		if (k > 0 && new_are_last(page, s, false) &&
		    is_new(s, &some[k - 1]))
			k = 0;
	}
	/* Rows that were freed outside of the band do not count any more. */
	if (s->at + s->n > s->total || (s->n == was && k < CHUNK))
		s->total = s->at + s->n;
	return s->n > was;
}

/* The same at the front, where freed rows lower all offsets. */
static bool
extend_up(
    struct page *page, const struct page_view *v, struct page_frozen_order *s)
{
	struct blk some[CHUNK], *more;
	size_t anchor, k, i, n = 0, looked = 0;
	uint64_t rank;

	more = malloc(PORTION * sizeof *more);
	if (more == NULL || make_room(s, PORTION) < 0 ||
	    !find_anchor(page, v, s, 0, 1, &rank, &anchor)) {
		free(more);
		return false;
	}
	while (rank > 0 && n < PORTION && n < s->at &&
	    looked < TRIES * PORTION) {
		k = rank < CHUNK ? (size_t)rank : CHUNK;
		k = read_rows(page, v, s, rank - k, some, k);
		if (k == 0)
			break;
		for (i = k; i-- > 0;)
			if (!is_new(s, &some[i]) && n < PORTION && n < s->at)
				more[PORTION - ++n] = some[i];
		rank -= k;
		looked += k;
		if (new_are_last(page, s, true) && is_new(s, &some[0]))
			rank = 0;
	}
	memmove(s->blk + n, s->blk, s->n * sizeof *s->blk);
	memcpy(s->blk, more + PORTION - n, n * sizeof *s->blk);
	free(more);
	s->n += n;
	s->at -= n;
	if (n == 0 && rank == 0) {
		page->offs -= page->offs < s->at ? page->offs : s->at;
		page->cursor.at -=
		    page->cursor.at < s->at ? page->cursor.at : s->at;
		s->total -= s->at;
		s->at = 0;
	}
	return n > 0;
}

static void
trim_rows(struct page_frozen_order *s, uint64_t around)
{
	size_t more;

	if (s->n <= PAGE_FROZEN_ROWS)
		return;
	more = s->n - PAGE_FROZEN_ROWS;
	if (around > s->at + s->n / 2) {
		memmove(s->blk, s->blk + more, PAGE_FROZEN_ROWS *
		    sizeof *s->blk);
		s->at += more;
	}
	s->n = PAGE_FROZEN_ROWS;
}

static void
freeze_rows(struct page *page, const struct page_view *v,
    struct page_frozen_order *s, uint64_t around)
{
	struct blk last;
	size_t want = 2 * MARGIN;

	s->on = false;
	s->rows = page_rows_ops(page);
	s->round = page->freeze.round;
	s->stream_no = v->look->stream_no;
	s->total = s->rows->total(page, v);
	s->n = 0;
	s->at = around > MARGIN ? around - MARGIN : 0;
	if (page->found.window > 0)
		want += (size_t)page->found.window;
	if (make_room(s, want) < 0)
		return;
	s->n = read_rows(page, v, s, s->at, s->blk, want);
	s->news = 0;
	s->any = blklist_window(v->look->list, BLKLIST_BY_AGE, true, 0, &last,
	    1) == 1;
	s->youngest = s->any ? last.seq : 0;
	s->on = s->n > 0;
}

/* Extends the band to rows [lo, hi) and a margin, or freezes the order of now. */
static void
ensure_rows(struct page *page, const struct page_view *v,
    struct page_frozen_order *s, uint64_t lo, uint64_t hi)
{
	if (lo > s->at + s->n + MARGIN || hi + MARGIN < s->at) {
		freeze_rows(page, v, s, lo);
		return;
	}
	while (s->at > 0 && lo < s->at + MARGIN / 2 && extend_up(page, v, s))
		trim_rows(s, lo);
	while (hi + MARGIN / 2 > s->at + s->n && extend_down(page, v, s))
		trim_rows(s, hi);
	if (lo < s->at || (hi > s->at + s->n && s->at + s->n < s->total))
		freeze_rows(page, v, s, lo);
}

static void
reach_cursor(struct page *page, const struct page_view *v)
{
	uint64_t rows =
	    page->found.window > 0 ? (uint64_t)page->found.window : 1;
	uint64_t lo = page->offs;

	if (!page_rows_are_frozen(page))
		return;
	if (page->cursor.on && (page->cursor.at < lo ||
	    page->cursor.at >= lo + rows))
		lo = page->cursor.at < lo ? page->cursor.at :
		    page->cursor.at - rows + 1;
	ensure_rows(page, v, page->freeze.order, lo, lo + rows);
}

static void
release_rows(
    struct page *page, const struct page_view *v, struct page_frozen_order *s)
{
	uint64_t eye = page->cursor.on ? page->cursor.at : page->offs, rank;
	size_t i = eye > s->at ? (size_t)(eye - s->at) : 0, at;

	s->on = false;
	if (s->n == 0)
		return;
	if (i >= s->n)
		i = s->n - 1;
	if (!find_anchor(page, v, s, i, 1, &rank, &at) &&
	    !find_anchor(page, v, s, i, -1, &rank, &at))
		return;
	if (page->cursor.on) {
		page_cursor_set(page, &s->blk[at]);
		page->cursor.at = s->at + at;
		page->cursor.known = true;
	} else if (page->offs > 0) {
		page->offs = rank;
	}
}

void
page_freeze_briefly(struct page *page, const struct page_view *v)
{
	if ((!is_possible(page, v) && !page_shows_groups(page)) ||
	    is_paused(v))
		return;
	page->freeze.until = (struct mono){ .ns = v->now.ns +
	    (int64_t)PAGE_FREEZE_MS * 1000000 };
	page_freeze_refresh(page, v);
}

bool
page_freeze_toggle(struct page *page, const struct page_view *v)
{
	struct page_freeze *f = &page->freeze;

	f->held = !f->held;
	f->until = v->now;
	if (!f->held && page_rows_are_frozen(page))
		release_rows(page, v, f->order);
	return f->held;
}

void
page_freeze_end_brief(struct page *page)
{
	if (page->freeze.held)
		return;
	page->freeze.until = (struct mono){ 0 };
	page_refreeze(page);
}

static uint64_t
count_matching(const struct page *page, const struct page_view *v, uint64_t at,
    uint64_t end)
{
	struct blk some[CHUNK];
	uint64_t n = 0;
	size_t k;

	page_choice_begin(page, v);
	for (; at < end; at += k) {
		k = blklist_window(v->look->list, BLKLIST_BY_AGE, false, at,
		    some, CHUNK);
		if (k == 0)
			break;
		n += page_choice_keep(page, some, k);
	}
	return n;
}

/* New blocks that have rows; 0: unknown, in a group or too many to filter. */
static uint64_t
count_news(const struct page *page, const struct page_frozen_order *s,
    const struct page_view *v)
{
	uint64_t all = page_view_total(v), old;

	if (page_is_draining(page) || s->rows == &page_rows_members)
		return 0;
	old = s->any ? page_blocks_until(v, s->youngest) : 0;
	if (!page_choice_filters(page))
		return all - old;
	return all - old <= NEWS_ASKED ? count_matching(page, v, old, all) : 0;
}

void
page_freeze_refresh(struct page *page, const struct page_view *v)
{
	bool wanted = page_freeze_is_wanted(page, v);
	struct page_frozen_order *s = wanted ? get_frozen(page) :
	    page->freeze.order;

	if (s == NULL)
		return;
	if (!is_possible(page, v) || s->rows != page_rows_ops(page) ||
	    s->stream_no != v->look->stream_no ||
	    s->round != page->freeze.round)
		s->on = false;
	if (!is_possible(page, v))
		return;
	/* Nothing moves in a paused picture: what is frozen stays so. */
	wanted = wanted || (is_paused(v) && s->on);
	if (s->on && !wanted)
		release_rows(page, v, s);
	if (wanted && !s->on) {
		page_update_cursor(page, v, page->found.window);
		freeze_rows(page, v, s, page->offs);
	}
	if (!s->on)
		return;
	reach_cursor(page, v);
	s->news = count_news(page, s, v);
}

bool
page_rows_are_frozen(const struct page *page)
{
	const struct page_frozen_order *s = page->freeze.order;

	return s != NULL && s->on && s->round == page->freeze.round;
}

bool
page_freeze_wants_all(const struct page *page)
{
	return page->freeze.held || page_rows_are_frozen(page);
}

bool
page_row_is_freed(const struct page *page, const struct page_view *v,
    const struct blk *b)
{
	return (page_rows_are_frozen(page) ||
	    page_groups_are_frozen(page, v)) && !page_is_free(b) &&
	    v->look->settled && !page_is_listed(v, b);
}

bool
page_freeze_text(const struct page *page, const struct page_view *v, int form,
    char *out, size_t cap)
{
	int64_t left = page->freeze.held ? 0 :
	    mono_diff_ns(page->freeze.until, v->now);
	uint64_t n = page_rows_are_frozen(page) ? page->freeze.order->news :
	    page->groups != NULL ? page->groups->nnew : 0;
	char digits[32], time[16] = "", news[48] = "";
	size_t len = 0;

	out[0] = '\0';
	if ((!page_rows_are_frozen(page) && !page_groups_are_frozen(page, v)) ||
	    form > 3)
		return false;
	if (left > 0 && !is_paused(v))
		base_append(time, sizeof time, &len, " %ds",
		    (int)((left + 999999999) / 1000000000));
	len = 0;
	base_group_digits(digits, sizeof digits, n);
	if (form == 0 && n > 0)
		base_append(news, sizeof news, &len, "  +%s new", digits);
	len = 0;
	if (form == 3)
		base_append(out, cap, &len, "z");
	else
		base_append(out, cap, &len, "%sfrozen%s%s",
		    form < 2 ? "order: " : "", time, news);
	return true;
}

static uint64_t
frozen_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return page->freeze.order->total;
}

static size_t
frozen_window(const struct page *page, const struct page_view *v, uint64_t at,
    struct blk *out, size_t n)
{
	const struct page_frozen_order *s = page->freeze.order;
	size_t i;

	for (i = 0; i < n && at >= s->at && at - s->at + i < s->n; i++) {
		out[i] = s->blk[at - s->at + i];
		if (!page_is_free(&out[i]))
			(void)blklist_has(v->look->list, &out[i], &out[i]);
	}
	return i;
}

static bool
frozen_remember(struct page *page, const struct page_view *v)
{
	struct blk b;

	reach_cursor(page, v);
	if (!page_rows_are_frozen(page) ||
	    frozen_window(page, v, page->cursor.at, &b, 1) != 1)
		return false;
	page_cursor_set(page, &b);
	return true;
}

static bool
frozen_locate(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	const struct page_frozen_order *s = page->freeze.order;
	struct blk b = {
		.addr = page->cursor.addr,
		.seq = page->cursor.seq,
		.flags = page->cursor.layer ? REC_LAYER_API : 0,
	};
	size_t i;

	(void)v;
	(void)total;
	if (page->cursor.free)
		b.flags |= REC_FREE << 4;
	if (page->cursor.at >= s->at && page->cursor.at - s->at < s->n &&
	    is_same(&b, &s->blk[page->cursor.at - s->at])) {
		*offset = page->cursor.at;
		return true;
	}
	for (i = 0; i < s->n; i++)
		if (is_same(&b, &s->blk[i])) {
			*offset = s->at + i;
			return true;
		}
	return false;
}

const struct page_rows_ops page_rows_frozen = {
	.total = frozen_total,
	.window = frozen_window,
	.remember = frozen_remember,
	.locate = frozen_locate,
};
