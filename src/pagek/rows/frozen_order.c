/* See frozen_order.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "drain.h"
#include "free_blocks.h"
#include "frozen_order.h"
#include "groups.h"
#include "rows.h"

#define MARGIN 1024		/* rows that are known beyond the window */
#define PORTION 1024		/* rows taken at once */
#define CHUNK 256
#define NEWS_ASKED 4096		/* new blocks that a filter is asked about */
#define TRIES 16			/* portions of new rows alone that one looks past */

struct page_still {
	bool held;
	struct mono until;	/* of a cursor key's; on the view's clock */
	bool on;		/* there is a band */
	const struct page_rows_ops *rows;	/* what it was taken of */
	uint32_t stream_no;
	struct blk *blk;
	size_t n, cap;
	uint64_t at;		/* offset of the first */
	uint64_t total;		/* rows, when the order was frozen */
	bool any;		/* there was a block then, the youngest of them ... */
	uint64_t youngest;	/* ... with this number */
	uint64_t news;		/* blocks that are younger, and have no rows for that */
};

static struct page_still *
get_frozen(struct page *page)
{
	if (page->still == NULL)
		page->still = calloc(1, sizeof *page->still);
	return page->still;
}

void
page_still_free(struct page_still *s)
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

/* Rows of some other part of the list cannot be told from such as are gone. */
static bool
is_possible(const struct page *page, const struct page_view *v)
{
	return page->on_screen && !page_shows_groups(page) &&
	    page_rows_ops(page)->window != NULL && v->look->list != NULL &&
	    !v->look->window;
}

static bool
is_same(const struct blk *a, const struct blk *b)
{
	return a->seq == b->seq && a->addr == b->addr &&
	    blk_layer(a) == blk_layer(b) && page_is_free(a) == page_is_free(b);
}

static bool
is_new(const struct page_still *s, const struct blk *b)
{
	return !page_is_free(b) &&
	    (!s->any || (int64_t)(b->seq - s->youngest) > 0);
}

static bool
is_listed(const struct page_view *v, const struct blk *b)
{
	return blklist_has(v->look->list, b, NULL);
}

/* --- the rows below ----------------------------------------------------- */

/* Where the row stands in the order of now; false: nowhere. */
static bool
rank_of(const struct page *page, const struct page_view *v,
    const struct page_still *s, const struct blk *b, uint64_t *rank)
{
	struct page probe = *page;

	page_hold_block(&probe, b);
	return s->rows->held(&probe, v, s->rows->total(page, v), rank);
}

static size_t
rows_below(const struct page *page, const struct page_view *v,
    const struct page_still *s, uint64_t at, struct blk *out, size_t n)
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

/* The row in the band from i on, in that direction, that is still one. */
static bool
find_anchor(const struct page *page, const struct page_view *v,
    const struct page_still *s, size_t i, int step, uint64_t *rank, size_t *at)
{
	for (; i < s->n; i += (size_t)step) {
		if (!page_is_free(&s->blk[i]) && !is_listed(v, &s->blk[i]))
			continue;
		if (rank_of(page, v, s, &s->blk[i], rank)) {
			*at = i;
			return true;
		}
	}
	return false;
}

/* --- the band ----------------------------------------------------------- */

static int
make_room(struct page_still *s, size_t more)
{
	void *blk = s->blk;
	int r = base_grow(&blk, &s->cap, s->n + more, sizeof *s->blk);

	s->blk = blk;
	return r;
}

/* By age, what is new stands together at one end: behind it is nothing else. */
static bool
new_end(const struct page *page, const struct page_still *s, bool front)
{
	return s->rows == &page_rows_list &&
	    page_list_order(&page->opts) == BLKLIST_BY_AGE &&
	    page_list_reverse(&page->opts) == front;
}

/* Up to PORTION more at the end; false: there are no more. */
static bool
extend_down(struct page *page, const struct page_view *v,
    struct page_still *s)
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
		k = rows_below(page, v, s, at, some, CHUNK);
		for (i = 0; i < k; i++)
			if (!is_new(s, &some[i]) && s->n < was + PORTION)
				s->blk[s->n++] = some[i];
		if (k > 0 && new_end(page, s, false) && is_new(s, &some[k - 1]))
			k = 0;
	}
	/*
	 * Freed before anybody has seen them: there are fewer rows than there
	 * were.
	 */
	if (s->at + s->n > s->total || (s->n == was && k < CHUNK))
		s->total = s->at + s->n;
	return s->n > was;
}

/*
 * The same at the front.  Rows that were freed there unseen leave no gap: all
 * offsets become so much lower.
 */
static bool
extend_up(struct page *page, const struct page_view *v, struct page_still *s)
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
	/* From the end of `more` towards its front. */
	while (rank > 0 && n < PORTION && n < s->at &&
	    looked < TRIES * PORTION) {
		k = rank < CHUNK ? (size_t)rank : CHUNK;
		k = rows_below(page, v, s, rank - k, some, k);
		if (k == 0)
			break;
		for (i = k; i-- > 0;)
			if (!is_new(s, &some[i]) && n < PORTION && n < s->at)
				more[PORTION - ++n] = some[i];
		rank -= k;
		looked += k;
		if (new_end(page, s, true) && is_new(s, &some[0]))
			rank = 0;
	}
	memmove(s->blk + n, s->blk, s->n * sizeof *s->blk);
	memcpy(s->blk, more + PORTION - n, n * sizeof *s->blk);
	free(more);
	s->n += n;
	s->at -= n;
	if (n == 0 && rank == 0) {
		page->offs -= page->offs < s->at ? page->offs : s->at;
		page->cursor.at -= page->cursor.at < s->at ? page->cursor.at : s->at;
		s->total -= s->at;
		s->at = 0;
	}
	return n > 0;
}

/* What is farthest from there makes way. */
static void
trim_rows(struct page_still *s, uint64_t around)
{
	size_t more;

	if (s->n <= PAGE_STILL_BAND)
		return;
	more = s->n - PAGE_STILL_BAND;
	if (around > s->at + s->n / 2) {
		memmove(s->blk, s->blk + more, PAGE_STILL_BAND *
		    sizeof *s->blk);
		s->at += more;
	}
	s->n = PAGE_STILL_BAND;
}

/* The order as it is now, around that row. */
static bool
freeze_rows(struct page *page, const struct page_view *v, struct page_still *s,
    uint64_t around)
{
	struct blk last;
	size_t want = 2 * MARGIN;

	s->on = false;
	s->rows = page_rows_ops(page);
	s->stream_no = v->look->stream_no;
	s->total = s->rows->total(page, v);
	s->n = 0;
	s->at = around > MARGIN ? around - MARGIN : 0;
	if (page->found.window > 0)
		want += (size_t)page->found.window;
	if (make_room(s, want) < 0)
		return false;
	s->n = rows_below(page, v, s, s->at, s->blk, want);
	s->news = 0;
	s->any = blklist_window(v->look->list, BLKLIST_BY_AGE, true, 0, &last,
	    1) == 1;
	s->youngest = s->any ? last.seq : 0;
	s->on = s->n > 0;
	return s->on;
}

/* Rows [lo, hi) and some around them are known, or the order is taken anew. */
static void
ensure(struct page *page, const struct page_view *v, struct page_still *s,
    uint64_t lo, uint64_t hi)
{
	if (lo > s->at + s->n + MARGIN || hi + MARGIN < s->at) {
		freeze_rows(page, v, s, lo);
		return;
	}
	while (s->at > 0 && lo < s->at + MARGIN / 2 && extend_up(page, v, s))
		trim_rows(s, lo);
	while (hi + MARGIN / 2 > s->at + s->n && extend_down(page, v, s))
		trim_rows(s, hi);
	/* Too much has come or gone in between. */
	if (lo < s->at || (hi > s->at + s->n && s->at + s->n < s->total))
		freeze_rows(page, v, s, lo);
}

void
page_still_reach(struct page *page, const struct page_view *v)
{
	struct page_still *s = page->still;
	uint64_t rows = page->found.window > 0 ? (uint64_t)page->found.window : 1;
	uint64_t lo = page->offs;

	if (!page_still_on(page))
		return;
	/* OFFS comes after the cursor. */
	if (page->cursor.on && (page->cursor.at < lo ||
	    page->cursor.at >= lo + rows))
		lo = page->cursor.at < lo ? page->cursor.at :
		    page->cursor.at - rows + 1;
	ensure(page, v, s, lo, lo + rows);
}

/* --- its time ----------------------------------------------------------- */

static bool
is_wanted(const struct page_still *s, const struct page_view *v)
{
	return s->held || mono_diff_ns(s->until, v->now) > 0;
}

/* What is under the eye stays there: it, or what is left next to it. */
static void
let_go(struct page *page, const struct page_view *v, struct page_still *s)
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
		page_hold_block(page, &s->blk[at]);
		page->cursor.at = s->at + at;
		page->cursor.held = true;
	} else if (page->offs > 0) {
		page->offs = rank;
	}
}

void
page_still_touch(struct page *page, const struct page_view *v)
{
	struct page_still *s;

	if ((!is_possible(page, v) && !page_shows_groups(page)) ||
	    is_paused(v))
		return;
	s = get_frozen(page);
	if (s == NULL)
		return;
	s->until = (struct mono){ .ns = v->now.ns +
	    (int64_t)PAGE_STILL_MS * 1000000 };
	page_still_begin(page, v);
}

bool
page_still_toggle(struct page *page, const struct page_view *v)
{
	struct page_still *s = get_frozen(page);

	if (s == NULL)
		return false;
	s->held = !s->held;
	/* What a cursor key has begun is over, too. */
	s->until = (struct mono){ .ns = v->now.ns };
	if (!s->held && s->on)
		let_go(page, v, s);
	return s->held;
}

void
page_still_anew(struct page *page)
{
	if (page->still != NULL)
		page->still->on = false;
}

void
page_still_loosen(struct page *page)
{
	struct page_still *s = page->still;

	if (s == NULL || s->held)
		return;
	s->on = false;
	s->until = (struct mono){ 0 };
}

/* Those of the list from the at-th youngest on that would have rows, too. */
static uint64_t
count_chosen(const struct page *page, const struct page_view *v, uint64_t at,
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
		n += page_choice_sift(page, some, k);
	}
	return n;
}

/*
 * How many blocks are younger than the youngest was, and would have rows: none
 * of them after a drain; in a group, and of more than are asked one by one in
 * each picture, it is not known, and 0.
 */
static uint64_t
count_news(const struct page *page, const struct page_still *s,
    const struct page_view *v)
{
	uint64_t lo = 0, hi = page_view_total(v), of = hi, mid;
	struct blk b;

	if (page_is_draining(page) || s->rows == &page_rows_members)
		return 0;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (blklist_window(v->look->list, BLKLIST_BY_AGE, false, mid,
		    &b, 1) != 1 || is_new(s, &b))
			hi = mid;
		else
			lo = mid + 1;
	}
	if (!page_choice_filters(page))
		return of - lo;
	return of - lo <= NEWS_ASKED ? count_chosen(page, v, lo, of) : 0;
}

void
page_still_begin(struct page *page, const struct page_view *v)
{
	struct page_still *s = page->still;
	bool wanted;

	if (s == NULL)
		return;
	if (!is_possible(page, v) || (s->on &&
	    (s->rows != page_rows_ops(page) ||
	    s->stream_no != v->look->stream_no)))
		s->on = false;
	if (!is_possible(page, v))
		return;
	/* Nothing moves in a paused picture: what stood still goes on to. */
	wanted = is_wanted(s, v) || (is_paused(v) && s->on);
	if (s->on && !wanted)
		let_go(page, v, s);
	if (wanted && !s->on) {
		/* First to where the cursor's block is by now. */
		page_follow(page, v, page->found.window);
		freeze_rows(page, v, s, page->offs);
	}
	if (!s->on)
		return;
	page_still_reach(page, v);
	s->news = count_news(page, s, v);
}

/* --- what is asked of it ------------------------------------------------ */

bool
page_still_keeps_groups(const struct page *page, const struct page_view *v)
{
	return page->still != NULL && page->on_screen &&
	    page_shows_groups(page) && is_wanted(page->still, v);
}

bool
page_still_on(const struct page *page)
{
	return page->still != NULL && page->still->on;
}

bool
page_still_wants_all(const struct page *page)
{
	return page->still != NULL && (page->still->on || page->still->held);
}

bool
page_still_gone(const struct page *page, const struct page_view *v,
    const struct blk *b)
{
	return (page_still_on(page) || page_still_keeps_groups(page, v)) &&
	    !page_is_free(b) &&
	    v->look->settled && !is_listed(v, b);
}

bool
page_still_text(const struct page *page, const struct page_view *v, int form,
    char *out, size_t cap)
{
	const struct page_still *s = page->still;
	int64_t left = s != NULL && !s->held ?
	    mono_diff_ns(s->until, v->now) : 0;
	uint64_t n = page_still_on(page) ? s->news :
	    page->groups != NULL ? page->groups->late : 0;
	char digits[32], time[16] = "", news[48] = "";
	size_t len = 0;

	out[0] = '\0';
	if ((!page_still_on(page) && !page_still_keeps_groups(page, v)) ||
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

/* --- the rows ----------------------------------------------------------- */

static uint64_t
still_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return page->still->total;
}

static size_t
still_window(const struct page *page, const struct page_view *v, uint64_t at,
    struct blk *out, size_t n)
{
	const struct page_still *s = page->still;
	size_t i;

	for (i = 0; i < n && at >= s->at && at - s->at + i < s->n; i++) {
		out[i] = s->blk[at - s->at + i];
		if (!page_is_free(&out[i]))
			(void)blklist_has(v->look->list, &out[i], &out[i]);
	}
	return i;
}

static bool
still_hold(struct page *page, const struct page_view *v)
{
	struct blk b;

	page_still_reach(page, v);
	if (!page_still_on(page) ||
	    still_window(page, v, page->cursor.at, &b, 1) != 1)
		return false;
	page_hold_block(page, &b);
	return true;
}

static bool
still_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	const struct page_still *s = page->still;
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

const struct page_rows_ops page_rows_still = {
	.total = still_total,
	.window = still_window,
	.hold = still_hold,
	.held = still_held,
};
