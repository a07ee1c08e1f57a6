/* See choice.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "drain.h"
#include "free_blocks.h"
#include "frozen_order.h"
#include "order.h"
#include "rows.h"

#define PORTION_NS 2500000	/* of one picture ... */
#define HASTY_NS 6000000	/* ... and when somebody waits for the first rows */
#define KEPT_ROWS 4096		/* memory for so many is kept for the next take */

struct page_choice {
	struct page_sieve *filter;	/* NULL none */
	unsigned filter_no;	/* counts up when it is another, or none */

	struct page_taken shown;
	bool known;		/* it is an answer to this question ... */
	uint32_t stream_no;	/* ... about this stream */

	struct page_take take;	/* runs or has run last */
	unsigned asked_filter_no;	/* the question that it answers ... */
	struct page_sorting asked_sorting;
	unsigned round;		/* ... and page->round */
	const struct blklist *list;	/* never looked into: is it another one? */
	uint64_t changes;	/* of the list, when it began */
	uint64_t seconds, names_no;	/* likewise: what answers may depend on */

	struct blk held;	/* under the cursor */
};

/* --- the question ------------------------------------------------------- */

static struct page_choice *
get_choice(struct page *page)
{
	if (page->choice == NULL)
		page->choice = calloc(1, sizeof *page->choice);
	return page->choice;
}

/* All that was made of the blocks is made anew. */
static void
ask_anew(struct page *page)
{
	page->choice->filter_no++;
	page->round++;
	page_still_anew(page);
	if (!page->cursor.on)
		page->offs = 0;
}

static int
set_filter(struct page *page, struct page_sieve *filter)
{
	struct page_choice *c = get_choice(page);

	if (c == NULL) {
		page_sieve_free(filter);
		return -ENOMEM;
	}
	page_choice_none(page);
	c->filter = filter;
	if (filter != NULL)
		ask_anew(page);
	return 0;
}

int
page_choice_filter(struct page *page, const char *expression,
    struct filter_error *e)
{
	struct page_sieve *filter = NULL;
	int r = 0;

	if (expression[strspn(expression, " \t")] != '\0')
		r = page_sieve_new(&filter, expression, e);
	return r < 0 ? r : set_filter(page, filter);
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
	    page_list_order(&page->opts) != BLKLIST_BY_AGE);
}

void
page_choice_sort(struct page *page, const struct page_sorting *sorting)
{
	page_sorting_put(sorting, &page->opts);
	page->round++;
	page_still_anew(page);
	/* Without a cursor to follow, a new order is read from its top. */
	if (!page->cursor.on)
		page->offs = 0;
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

uint64_t
page_choice_unsure(const struct page *page)
{
	return page_choice_filters(page) && page->choice != NULL ?
	    page_sieve_caught(page->choice->filter).unsure : 0;
}

unsigned
page_choice_filter_no(const struct page *page)
{
	return page_choice_filters(page) && page->choice != NULL ?
	    page->choice->filter_no : 0;
}

bool
page_choice_wants_requester(const struct page *page)
{
	return page_choice_filters(page) && page->choice != NULL &&
	    page_sieve_wants_requester(page->choice->filter);
}

/* --- takes -------------------------------------------------------------- */

void
page_choice_free(struct page_choice *c)
{
	if (c == NULL)
		return;
	page_sieve_free(c->filter);
	page_taken_fini(&c->shown);
	page_take_fini(&c->take);
	free(c);
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

/* Rows that the screen may have; text has all of them. */
static size_t
most_rows(const struct page *page)
{
	return page->text ? PAGE_TAKE_ALL : PAGE_CHOICE_MAX;
}

static void
begin_take(struct page_choice *c, const struct page *page,
    const struct page_view *v)
{
	page_take_begin(&c->take, page, v, c->filter, most_rows(page));
	c->asked_filter_no = c->filter_no;
	c->asked_sorting = page->opts.sorting;
	c->round = page->round;
	c->stream_no = v->look->stream_no;
	c->list = v->look->list;
	c->changes = page_view_changes(v);
	c->seconds = seconds_of(v);
	c->names_no = v->names_no;
}

/* The take that is shown, or on its way, answers the question. */
static bool
is_asked(const struct page_choice *c, const struct page *page)
{
	return c->asked_filter_no == c->filter_no &&
	    page_sorting_equal(&c->asked_sorting, &page->opts.sorting);
}

/* What is to be done that was not begun yet. */
static void
begin_due_step(struct page_choice *c, struct page *page,
    const struct page_view *v)
{
	if (c->stream_no != v->look->stream_no || !is_asked(c, page)) {
		c->known = false;
		page_taken_fini(&c->shown);
	}
	if (!c->known || c->round != page->round) {
		if (!c->take.scan.runs || !is_asked(c, page) ||
		    c->round != page->round ||
		    c->stream_no != v->look->stream_no)
			begin_take(c, page, v);
		return;
	}
	/* Another list of the same stream: the walk goes on in it. */
	if (!c->take.scan.runs &&
	    (page->text || scan_is_due(&c->take.scan, v->now)) &&
	    !is_same(c, v))
		begin_take(c, page, v);
}

static void
show_rows(struct page_choice *c)
{
	struct page_taken was = c->shown;

	c->shown = c->take.found;
	c->take.found = was;
	c->known = true;
	/* Of a large list the second copy is memory for nothing. */
	if (was.cap > KEPT_ROWS)
		page_taken_fini(&c->take.found);
}

/* A portion, or all of it with most_ns 0. */
static int
go_on(const struct page *page, const struct page_view *v, int64_t most_ns)
{
	struct page_choice *c = page->choice;
	int r = page_take_next(&c->take, page, v, most_ns);

	if (r == 0)
		return 0;
	if (r > 0)
		show_rows(c);
	page_take_stop(&c->take);
	/* What failed for want of memory is tried again when it is due. */
	c->known = true;
	scan_done(&c->take.scan, v->now);
	return r < 0 ? r : 0;
}

int
page_choice_ready(struct page *page)
{
	const struct filter *given = page->opts.filter;
	struct page_sieve *filter;
	int r = given != NULL ? page_sieve_of(&filter, given) : 0;

	return given == NULL || r < 0 ? r : set_filter(page, filter);
}

/* The page's own, where there is something to choose; NULL: nothing is. */
static int
begin_choice(struct page *page, struct page_choice **out)
{
	int r = page_choice_ready(page);

	if (r < 0)
		return r;
	*out = page_choice_on(page) ? get_choice(page) : page->choice;
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
		page_take_fini(&c->take);
		page_taken_fini(&c->shown);
		c->known = c->take.scan.runs = false;
		return 0;
	}
	/* The blocks to be looked at are not in it: the list is on its way. */
	if (v->look->window)
		return 0;
	begin_due_step(c, page, v);
	if (!c->take.scan.runs)
		return 0;
	return go_on(page, v, page->text ? 0 : c->known ? PORTION_NS :
	    HASTY_NS);
}

int
page_choice_whole(struct page *page, const struct page_view *v,
    struct page_taken *out)
{
	struct page_take all = { 0 };
	struct page_choice *c;
	int r = begin_choice(page, &c);

	if (r < 0)
		return r;
	page_take_begin(&all, page, v, c != NULL ? c->filter : NULL,
	    PAGE_TAKE_ALL);
	r = page_take_next(&all, page, v, 0);
	page_take_stop(&all);
	if (r < 0) {
		page_take_fini(&all);
		return r;
	}
	*out = all.found;
	return 0;
}

/* --- what is said of it ------------------------------------------------- */

bool
page_choice_waits(const struct page *page)
{
	return page_choice_on(page) && (page->choice == NULL ||
	    !page->choice->known);
}

void
page_taken_sums(const struct page_taken *f, struct page_chosen *sums)
{
	*sums = (struct page_chosen){
		.known = true,
		.blocks = f->sample != 0 ? (uint64_t)(f->est_blocks + 0.5) :
		    f->all,
		.of = f->sample != 0 ? (uint64_t)(f->est_of + 0.5) : f->of,
		.bytes = f->sample != 0 ? (uint64_t)(f->est_bytes + 0.5) :
		    f->bytes,
		.listed = f->n,
		.cut = f->n < f->all,
		.unsure = f->unsure,
	};
}

void
page_choice_sums(const struct page *page, struct page_chosen *sums)
{
	const struct page_choice *c = page->choice;
	const struct page_walk *w;

	*sums = (struct page_chosen){ 0 };
	if (c == NULL)
		return;
	page_taken_sums(&c->shown, sums);
	sums->known = c->known;
	sums->sorting = c->take.order != NULL;
	w = &c->take.walk;
	if (!c->known && c->take.scan.runs && w->blocks > 0)
		sums->percent = scan_percent(w->passed, w->blocks);
}

/* --- rows --------------------------------------------------------------- */

static uint64_t
choice_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return page->choice != NULL ? page->choice->shown.n : 0;
}

static size_t
choice_window(const struct page *page, const struct page_view *v, uint64_t at,
    struct blk *out, size_t n)
{
	(void)v;
	return page->choice != NULL ? page_taken_rows(&page->choice->shown,
	    at, out, n) : 0;
}

static bool
choice_hold(struct page *page, const struct page_view *v)
{
	if (choice_window(page, v, page->cursor.at, &page->choice->held, 1) != 1)
		return false;
	page_hold_block(page, &page->choice->held);
	return true;
}

static bool
choice_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	(void)v;
	(void)total;
	return page->choice != NULL && !page->cursor.free &&
	    page_taken_held(&page->choice->shown, page, offset);
}

int
page_choice_text_begin(struct page *page, const struct page_view *v)
{
	struct page_taken all;
	struct page_choice *c;
	int r = begin_choice(page, &c);

	page_free_begin(page, v);
	if (r < 0 || !page_choice_on(page))
		return r;
	r = page_choice_whole(page, v, &all);
	if (r < 0)
		return r;
	page_taken_fini(&c->shown);
	c->shown = all;
	c->known = true;
	return 0;
}

size_t
page_choice_text(const struct page *page, const struct page_view *v,
    uint64_t at, struct blk *out, size_t n)
{
	return page_choice_on(page) ? choice_window(page, v, at, out, n) :
	    page_free_window(page, v, at, out, n);
}

const struct page_rows_ops page_rows_choice = {
	.total = choice_total,
	.window = choice_window,
	.hold = choice_hold,
	.held = choice_held,
};

/* --- sentences ------------------------------------------------------------ */

/*
 * What is said of a choice: how much there is of it, and how far it has come.
 */

#define TEXT_KEEP 12		/* columns of the filter's text */

void
page_choice_waiting(const struct page *page, char *out, size_t cap)
{
	struct page_chosen s;
	size_t len = 0;

	out[0] = '\0';
	if (!page_choice_waits(page) || page_choice_filters(page))
		return;
	page_choice_sums(page, &s);
	if (s.sorting)
		base_append(out, cap, &len, "sorting");
	else
		base_append(out, cap, &len, "sorting: %u %%", s.percent);
}

/* Shorter and shorter, as long as the filter keeps its room. */
static void
sums_text(const struct page_chosen *s, const char *about, int form, char *out,
    size_t cap)
{
	char n[32], of[32], bytes[24], listed[32], unsure[32];
	size_t len = 0;

	out[0] = '\0';
	if (!s->known) {
		base_append(out, cap, &len, "%s%u %%", form == 0 ?
		    "looked through " : "", s->percent);
		return;
	}
	base_group_digits(n, sizeof n, s->blocks);
	base_group_digits(of, sizeof of, s->of);
	base_human_bytes(bytes, sizeof bytes, s->bytes);
	base_group_digits(listed, sizeof listed, s->listed);
	base_group_digits(unsure, sizeof unsure, s->unsure);
	if (form == 2) {
		base_fit_count(n, 4, s->blocks);
		base_fit_count(of, 4, s->of);
	}
	base_append(out, cap, &len, "%s%s of %s%s", about,
	    n + strspn(n, " "), about, of + strspn(of, " "));
	if (form == 0)
		base_append(out, cap, &len, " %s, %s%s", s->what != NULL ?
		    s->what : "blocks", about, bytes);
	if (s->cut && form < 2)
		base_append(out, cap, &len, ", %s listed", listed);
	if (s->unsure > 0)
		base_append(out, cap, &len, form < 2 ? ", %s unsure" : "?",
		    unsure);
}

void
page_choice_put_sums(const struct page *page, const struct page_view *v,
    const struct page_chosen *s, struct page_picture *pic)
{
	const char *text = page_choice_filter_text(page);
	const char *about = page_about(v->look->sample);
	char sums[160];
	int form = 0, room;

	do {
		sums_text(s, about, form, sums, sizeof sums);
		room = pic->cols - (int)strlen(sums) - 2;
	} while (room < TEXT_KEEP + (int)strlen("filter ") && ++form < 3);
	picture_put(pic, "filter ");
	picture_text(pic, text != NULL ? text : "", room -
	    (int)strlen("filter "), PICTURE_FREE);
	picture_printf(pic, "  %s", sums);
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
}

void
page_choice_put(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	struct page_chosen s;

	page_choice_sums(page, &s);
	page_choice_put_sums(page, v, &s, pic);
}
