/* See choice.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "free.h"
#include "marked.h"
#include "order.h"
#include "still.h"
#include "walk.h"

#define BUSY 10			/* a take may cost one part in so many of the time */
#define PORTION_NS 2500000	/* of one picture ... */
#define HASTY_NS 6000000	/* ... and when somebody waits for the first rows */
#define WALK_ROWS 256

#define SPARE (PAGE_CHOICE_MAX / 2)	/* blocks beyond the limit before those too many go */

/* What a take has found. */
struct found {
	struct blk *blk;	/* as the walk came to them ... */
	uint32_t *place;	/* ... and their order; NULL: that one */
	size_t n, cap;
	uint64_t of, all;	/* looked at; let through, with those beyond the limit */
	uint64_t bytes;
	double est_of, est_blocks, est_bytes;
	uint64_t sample;	/* its period; 0: all blocks are there */
	uint64_t unsure;
};

struct page_choice {
	struct page_sieve *filter;	/* NULL none */
	unsigned question;	/* counts up when another one is asked */

	struct found shown, coming;
	bool known;		/* shown is an answer to this question ... */
	uint32_t stream_no;	/* ... about this stream */

	bool taking;		/* a take is on its way */
	unsigned asked;		/* the question that it answers ... */
	unsigned round;		/* ... and page->round */
	struct page_walk walk;
	struct page_order *order;	/* the walk has come so far, and this is sorted */
	const struct blklist *list;	/* never looked into: is it another one? */
	uint64_t changes;	/* of the list, when it began */
	uint64_t seconds, names_no;	/* likewise: what answers may depend on */
	struct mono ended;	/* on the view's clock */
	int64_t cost_ns, spent_ns;	/* of the last take; of this one so far */

	struct blk held;	/* under the cursor */
};

/* --- the question ------------------------------------------------------- */

static struct page_choice *
get(struct page *page)
{
	if (page->choice == NULL)
		page->choice = calloc(1, sizeof *page->choice);
	return page->choice;
}

/* All that was made of the blocks is made anew. */
static void
ask_anew(struct page *page)
{
	page->choice->question++;
	page->round++;
	page_still_anew(page);
	if (!page->has_cursor)
		page->offs = 0;
}

int
page_choice_filter(struct page *page, const char *expression,
    struct filter_error *e)
{
	struct page_choice *c = get(page);
	struct page_sieve *filter = NULL;
	int r = 0;

	if (c == NULL)
		return -ENOMEM;
	if (expression[strspn(expression, " \t")] != '\0')
		r = page_sieve_new(&filter, expression, e);
	if (r < 0)
		return r;
	page_choice_none(page);
	c->filter = filter;
	if (filter != NULL)
		ask_anew(page);
	return 0;
}

void
page_choice_none(struct page *page)
{
	page->opts.filter = NULL;
	if (page->choice == NULL || page->choice->filter == NULL)
		return;
	ask_anew(page);
	page_sieve_free(page->choice->filter);
	page->choice->filter = NULL;
}

const char *
page_choice_filter_text(const struct page *page)
{
	return page->choice != NULL ? page_sieve_text(page->choice->filter) :
	    NULL;
}

bool
page_choice_filters(const struct page *page)
{
	if (page->layout == PAGE_CLASSIC_STRICT)
		return false;
	return page->opts.filter != NULL ||
	    (page->choice != NULL && page->choice->filter != NULL);
}

bool
page_choice_on(const struct page *page)
{
	/* A drain's own rows have but the order of age. */
	return page_choice_filters(page) ||
	    !page_sorting_native(&page->opts) ||
	    (page_is_draining(page) &&
	    page->opts.order != BLKLIST_BY_AGE);
}

void
page_choice_sort(struct page *page, const struct page_sorting *sorting)
{
	struct page_opts *o = &page->opts;

	page_sorting_put(sorting, o);
	page_set_order(page, o->order, o->reverse);
	page_sorting_put(sorting, o);
	if (page->choice != NULL)
		page->choice->question++;
}

void
page_choice_begin(const struct page *page, const struct page_view *v)
{
	if (page->choice != NULL)
		page_sieve_begin(page->choice->filter, v);
}

bool
page_choice_lets(const struct page *page, const struct blk *b)
{
	return page->choice == NULL || !page_choice_filters(page) ||
	    page_sieve_lets(page->choice->filter, b);
}

size_t
page_choice_sift(const struct page *page, struct blk *rows, size_t n)
{
	size_t i, let = 0;

	if (!page_choice_filters(page))
		return n;
	for (i = 0; i < n; i++)
		if (page_choice_lets(page, &rows[i]))
			rows[let++] = rows[i];
	return let;
}

/* --- takes -------------------------------------------------------------- */

static void
found_free(struct found *f)
{
	free(f->blk);
	free(f->place);
	*f = (struct found){ 0 };
}

static void
found_empty(struct found *f, uint64_t sample)
{
	struct blk *blk = f->blk;
	size_t cap = f->cap;

	free(f->place);
	*f = (struct found){ .blk = blk, .cap = cap, .sample = sample };
}

void
page_choice_free(struct page_choice *c)
{
	if (c == NULL)
		return;
	page_sieve_free(c->filter);
	found_free(&c->shown);
	found_free(&c->coming);
	page_order_free(c->order);
	free(c);
}

static int
put(struct found *f, const struct blk *b, double weight, size_t most)
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

/* Ages may be asked for, and they change without a record. */
static uint64_t
seconds_of(const struct page_view *v)
{
	return v->look->now_ms > 0 ? (uint64_t)v->look->now_ms / 1000 : 0;
}

static bool
is_same(const struct page_choice *c, const struct page_view *v)
{
	return c->list == v->look->list && c->changes == page_view_changes(v) &&
	    (c->filter == NULL || c->seconds == seconds_of(v)) &&
	    (c->shown.unsure == 0 || c->names_no == v->names_no);
}

static void
begin_take(struct page_choice *c, const struct page *page,
    const struct page_view *v)
{
	found_empty(&c->coming, v->look->sample);
	page_order_free(c->order);
	c->order = NULL;
	c->taking = true;
	c->asked = c->question;
	c->round = page->round;
	c->stream_no = v->look->stream_no;
	c->list = v->look->list;
	c->changes = page_view_changes(v);
	c->seconds = seconds_of(v);
	c->names_no = v->names_no;
	if (v->look->list != NULL)
		page_walk_begin(&c->walk, v->look->list, page->opts.order,
		    page_sorting_native(&page->opts) && page->opts.reverse);
	else
		c->walk = (struct page_walk){ .over = true };
}

/* What is to be done that was not begun yet. */
static void
begin(struct page_choice *c, struct page *page, const struct page_view *v)
{
	if (c->stream_no != v->look->stream_no || c->asked != c->question) {
		c->known = false;
		found_free(&c->shown);
	}
	if (!c->known || c->round != page->round) {
		if (!c->taking || c->asked != c->question ||
		    c->round != page->round ||
		    c->stream_no != v->look->stream_no)
			begin_take(c, page, v);
		return;
	}
	/* Another list of the same stream: the walk goes on in it. */
	if (!c->taking && (!page->on_screen || mono_diff_ns(v->now,
	    c->ended) >= BUSY * c->cost_ns) && !is_same(c, v))
		begin_take(c, page, v);
}

static int
look_at(struct page_choice *c, const struct page_view *v, size_t most,
    const struct blk *rows, size_t n)
{
	struct found *f = &c->coming;
	double weight = 1;
	size_t i;
	int r;

	for (i = 0; i < n; i++) {
		if (f->sample != 0)
			weight = blklist_weight(v->look->list, &rows[i]);
		f->of++;
		f->est_of += weight;
		if (!page_sieve_lets(c->filter, &rows[i]))
			continue;
		r = put(f, &rows[i], weight, most);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Rows that the screen may have; text has all of them. */
static size_t
most_rows(const struct page *page)
{
	return page->on_screen ? PAGE_CHOICE_MAX : UINT32_MAX;
}

/* To the walk's end, or as far as there is time, or room for what is sorted. */
static int
walk_on(const struct page *page, const struct page_view *v,
    struct mono begun, int64_t most_ns)
{
	struct page_choice *c = page->choice;
	bool sorts = !page_sorting_native(&page->opts);
	size_t n, most = most_rows(page);
	struct blk rows[WALK_ROWS];
	int r = 0;

	page_sieve_begin(c->filter, v);
	if (!c->walk.over)
		page_walk_resume(&c->walk, v->look->list);
	if (sorts && page->on_screen)
		most += SPARE;
	while (r == 0 && !c->walk.over) {
		if (sorts && c->coming.n + WALK_ROWS > most)
			break;
		n = page_walk_next(&c->walk, v->look->list, rows, WALK_ROWS);
		r = look_at(c, v, most, rows, page_drain_keep(page, rows,
		    n));
		if (most_ns > 0 && mono_diff_ns(mono_now(), begun) >= most_ns)
			break;
	}
	c->coming.unsure += page_sieve_caught(c->filter).unsure;
	return r;
}

/* Those that do not come first enough go, and make room for the rest. */
static int
keep_first(struct found *f, uint32_t *place, size_t most)
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

/* 1 when it is sorted: then rows are shown, or the walk goes on. */
static int
sort_on(const struct page *page, const struct page_view *v, int64_t most_ns)
{
	struct page_choice *c = page->choice;
	struct found *f = &c->coming;
	int r = 0;

	if (c->order == NULL)
		r = page_order_begin(&c->order, &page->opts.sorting, f->blk,
		    f->n);
	if (r == 0)
		r = page_order_next(c->order, v, most_ns);
	if (r <= 0)
		return r;
	if (c->walk.over)
		f->unsure += page_order_unsure(c->order);
	f->place = page_order_places(c->order);
	page_order_free(c->order);
	c->order = NULL;
	if (c->walk.over) {
		if (f->n > most_rows(page))
			f->n = most_rows(page);
		return 1;
	}
	r = keep_first(f, f->place, most_rows(page));
	free(f->place);
	f->place = NULL;
	return r < 0 ? r : 1;
}

/* 1 when all is done; 0: another time. */
static int
step(const struct page *page, const struct page_view *v, struct mono begun,
    int64_t most_ns)
{
	struct page_choice *c = page->choice;
	int64_t left = most_ns;
	int r = 0;

	for (;;) {
		if (c->order == NULL && !c->walk.over)
			r = walk_on(page, v, begun, most_ns);
		if (most_ns > 0) {
			left = most_ns - mono_diff_ns(mono_now(), begun);
			if (r == 0 && left <= 0)
				return 0;
		}
		if (r < 0)
			return r;
		if (page_sorting_native(&page->opts)) {
			if (c->walk.over)
				return 1;
			continue;
		}
		r = sort_on(page, v, left);
		if (r <= 0 || c->walk.over)
			return r;
		r = 0;
	}
}

static void
show(struct page_choice *c)
{
	struct found was = c->shown;

	c->shown = c->coming;
	c->coming = was;
	c->known = true;
	c->taking = false;
	/* Of a large list the second copy is memory for nothing. */
	if (c->coming.cap > WALK_ROWS * 16)
		found_free(&c->coming);
}

/* A portion, or all of it with most_ns 0. */
static int
go_on(const struct page *page, const struct page_view *v, int64_t most_ns)
{
	struct page_choice *c = page->choice;
	struct mono begun = mono_now();
	int r = step(page, v, begun, most_ns);

	c->spent_ns += mono_diff_ns(mono_now(), begun);
	if (r == 0)
		return 0;
	if (r > 0)
		show(c);
	page_order_free(c->order);
	c->order = NULL;
	/* What could not be done for want of memory is not tried at once again. */
	c->taking = false;
	c->known = true;
	c->cost_ns = c->spent_ns;
	c->spent_ns = 0;
	c->ended = (struct mono){ .ns = v->now.ns + c->cost_ns };
	return r < 0 ? r : 0;
}

/* The filter of the command line is compiled with the first picture. */
static int
first_filter(struct page *page)
{
	const char *given = page->opts.filter;
	struct filter_error e;

	return given != NULL ? page_choice_filter(page, given, &e) : 0;
}

/* The page's own, where there is something to choose; NULL: nothing is. */
static int
begin_choice(struct page *page, struct page_choice **out)
{
	int r = first_filter(page);

	if (r < 0)
		return r;
	*out = page_choice_on(page) ? get(page) : page->choice;
	return *out == NULL && page_choice_on(page) ? -ENOMEM : 0;
}

int
page_choice_refresh(struct page *page, const struct page_view *v)
{
	struct page_choice *c;
	int r = begin_choice(page, &c);

	if (r < 0 || c == NULL)
		return r;
	if (!page_choice_on(page)) {
		page_order_free(c->order);
		c->order = NULL;
		found_free(&c->shown);
		found_free(&c->coming);
		c->known = c->taking = false;
		return 0;
	}
	/* The blocks to be looked at are not in it: the list is on its way. */
	if (v->look->window)
		return 0;
	begin(c, page, v);
	if (!c->taking)
		return 0;
	return go_on(page, v, !page->on_screen ? 0 : c->known ? PORTION_NS :
	    HASTY_NS);
}

int
page_choice_whole(struct page *page, const struct page_view *v)
{
	struct page_choice *c;
	int r = begin_choice(page, &c);

	if (r < 0 || !page_choice_on(page) || v->look->window)
		return r;
	begin_take(c, page, v);
	return go_on(page, v, 0);
}

/* --- what is said of it ------------------------------------------------- */

bool
page_choice_waits(const struct page *page)
{
	return page_choice_on(page) && (page->choice == NULL ||
	    !page->choice->known);
}

void
page_choice_sums(const struct page *page, struct page_chosen *sums)
{
	const struct page_choice *c = page->choice;
	const struct found *f;

	*sums = (struct page_chosen){ 0 };
	if (c == NULL)
		return;
	f = &c->shown;
	*sums = (struct page_chosen){
		.known = c->known,
		.blocks = f->sample != 0 ? (uint64_t)(f->est_blocks + 0.5) :
		    f->all,
		.of = f->sample != 0 ? (uint64_t)(f->est_of + 0.5) : f->of,
		.bytes = f->sample != 0 ? (uint64_t)(f->est_bytes + 0.5) :
		    f->bytes,
		.listed = f->n,
		.cut = f->n < f->all,
		.unsure = f->unsure,
	};
	sums->sorting = c->order != NULL;
	if (!c->known && c->taking && c->walk.blocks > 0)
		sums->percent = (unsigned)(c->walk.passed < c->walk.blocks ?
		    c->walk.passed * 100 / c->walk.blocks : 100);
}

/* --- rows --------------------------------------------------------------- */

static uint64_t
choice_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return page->choice != NULL ? page->choice->shown.n : 0;
}

static const struct blk *
row(const struct found *f, uint64_t at)
{
	return &f->blk[f->place != NULL ? f->place[at] : at];
}

static size_t
choice_window(const struct page *page, const struct page_view *v, uint64_t at,
    struct blk *out, size_t n)
{
	const struct found *f;
	size_t i;

	(void)v;
	if (page->choice == NULL)
		return 0;
	f = &page->choice->shown;
	for (i = 0; i < n && at + i < f->n; i++)
		out[i] = *row(f, at + i);
	return i;
}

static bool
choice_hold(struct page *page, const struct page_view *v)
{
	if (choice_window(page, v, page->cursor, &page->choice->held, 1) != 1)
		return false;
	page_hold_block(page, &page->choice->held);
	return true;
}

static bool
choice_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	const struct found *f;
	size_t i;

	(void)v;
	(void)total;
	if (page->choice == NULL || page->cursor_free)
		return false;
	f = &page->choice->shown;
	/* Between two takes it has not moved. */
	if (page->cursor < f->n &&
	    page_holds_block(page, row(f, page->cursor))) {
		*offset = page->cursor;
		return true;
	}
	for (i = 0; i < f->n; i++)
		if (page_holds_block(page, row(f, i))) {
			*offset = i;
			return true;
		}
	return false;
}

size_t
page_choice_text(struct page *page, const struct page_view *v, uint64_t at,
    struct blk *out, size_t n)
{
	if (!page_choice_on(page))
		return page_free_window(page, v, at, out, n);
	if (at == 0 && page_choice_whole(page, v) < 0)
		return 0;
	return choice_window(page, v, at, out, n);
}

const struct page_rows_ops page_rows_choice = {
	.total = choice_total,
	.window = choice_window,
	.hold = choice_hold,
	.held = choice_held,
};
