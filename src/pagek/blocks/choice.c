#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "choice.h"
#include "drain.h"
#include "free_blocks.h"

#define PORTION_NS 2500000	/* in one picture */
#define HASTY_NS 6000000	/* while the viewer waits for the first rows */
#define KEPT_ROWS 4096		/* memory for so many is kept for the next collection */

struct page_choice {
	struct page_row_filter *filter;	/* NULL: none */
	unsigned filter_no;	/* rises with each change of the filter */

	struct page_collection shown;
	bool known;		/* `shown` answers the question */

	struct page_collector collector;
	unsigned asked_filter_no;
	struct page_sorting asked_sorting;
	unsigned round;		/* page->round */
	uint32_t stream_no;
	const struct blklist *list;	/* compared, never read */
	uint64_t changes;	/* page_view_changes() */
	uint64_t seconds, names_no;
	int64_t touches_ms;	/* of the references to pages */
};

static struct page_choice *
get_choice(struct page *page)
{
	if (page->choice == NULL)
		page->choice = calloc(1, sizeof *page->choice);
	return page->choice;
}

static void
change_rows(struct page *page)
{
	page->round++;
	page_refreeze(page);
	if (!page->cursor.on)
		page->offs = 0;
}

static int
set_filter(struct page *page, struct page_row_filter *filter)
{
	struct page_choice *c = get_choice(page);

	if (c == NULL) {
		page_row_filter_free(filter);
		return -ENOMEM;
	}
	page_choice_none(page);
	c->filter = filter;
	if (filter != NULL) {
		c->filter_no++;
		change_rows(page);
	}
	return 0;
}

int
page_choice_filter(struct page *page, const char *expression,
    struct filter_error *e)
{
	struct page_row_filter *filter = NULL;
	int r = 0;

	if (expression[strspn(expression, " \t")] != '\0')
		r = page_row_filter_new(&filter, expression, e);
	return r < 0 ? r : set_filter(page, filter);
}

void
page_choice_none(struct page *page)
{
	page->opts.filter = NULL;
	if (page->choice == NULL || page->choice->filter == NULL)
		return;
	page->choice->filter_no++;
	change_rows(page);
	page_row_filter_free(page->choice->filter);
	page->choice->filter = NULL;
}

const char *
page_choice_filter_text(const struct page *page)
{
	return page->choice != NULL ? page_row_filter_text(page->choice->filter)
				    : NULL;
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
	/* The drain's own rows are in the order of age. */
	return page_choice_filters(page) ||
	    !page_sorting_native(&page->opts) ||
	    (page_is_draining(page) &&
	    page_list_order(&page->opts) != BLKLIST_BY_AGE);
}

void
page_choice_sort(struct page *page, const struct page_sorting *sorting)
{
	page_sorting_put(sorting, &page->opts);
	change_rows(page);
}

void
page_set_order(struct page *page, enum blklist_order order, bool reverse)
{
	struct page_sorting s = { .n = 1 };

	s.by[0].sort = order == BLKLIST_BY_ADDRESS ? PAGE_SORT_ADDRESS :
	    PAGE_SORT_AGE;
	s.by[0].reverse = reverse;
	page_choice_sort(page, &s);
}

/* NULL: no filter applies. */
static struct page_row_filter *
active_filter(const struct page *page)
{
	return page_choice_filters(page) && page->choice != NULL ?
	    page->choice->filter : NULL;
}

void
page_choice_begin(const struct page *page, const struct page_view *v)
{
	page_row_filter_begin(active_filter(page), v);
}

bool
page_choice_matches(const struct page *page, const struct blk *b)
{
	return page_row_filter_matches(active_filter(page), b);
}

bool
page_choice_matches_at(const struct page *page, const struct blk *b,
    int64_t now_ms)
{
	return page_row_filter_matches_at(active_filter(page), b, now_ms);
}

size_t
page_choice_keep(const struct page *page, struct blk *rows, size_t n)
{
	struct page_row_filter *filter = active_filter(page);
	size_t i, kept = 0;

	if (filter == NULL)
		return n;
	for (i = 0; i < n; i++)
		if (page_row_filter_matches(filter, &rows[i]))
			rows[kept++] = rows[i];
	return kept;
}

uint64_t
page_choice_unsure(const struct page *page)
{
	return page_row_filter_sums(active_filter(page)).unsure;
}

unsigned
page_choice_filter_no(const struct page *page)
{
	return active_filter(page) != NULL ? page->choice->filter_no : 0;
}

bool
page_choice_wants_requester(const struct page *page)
{
	return page_row_filter_wants_requester(active_filter(page));
}

void
page_choice_free(struct page_choice *c)
{
	if (c == NULL)
		return;
	page_row_filter_free(c->filter);
	page_collection_fini(&c->shown);
	page_collector_fini(&c->collector);
	free(c);
}

static uint64_t
seconds_of(const struct page_view *v)
{
	return v->look->now_ms > 0 ? (uint64_t)v->look->now_ms / 1000 : 0;
}

static int64_t
touches_ms_of(const struct page_view *v)
{
	return v->refcnt != NULL ? v->refcnt->now_ms : 0;
}

/* Filters may use ages, names and references, which change without a record. */
static bool
is_up_to_date(const struct page_choice *c, const struct page_view *v)
{
	return c->list == v->look->list && c->changes == page_view_changes(v) &&
	    (c->filter == NULL || c->seconds == seconds_of(v)) &&
	    c->touches_ms == touches_ms_of(v) &&
	    (c->shown.unsure == 0 || c->names_no == v->names_no);
}

static void
begin_collecting(struct page_choice *c, const struct page *page,
    const struct page_view *v)
{
	page_collector_begin(&c->collector, page, v, c->filter,
	    page->medium == PAGE_WHOLE ? PAGE_COLLECT_ALL : PAGE_CHOICE_MAX);
	c->asked_filter_no = c->filter_no;
	c->asked_sorting = page->opts.sorting;
	c->round = page->round;
	c->stream_no = v->look->stream_no;
	c->list = v->look->list;
	c->changes = page_view_changes(v);
	c->seconds = seconds_of(v);
	c->names_no = v->names_no;
	c->touches_ms = touches_ms_of(v);
}

static bool
is_asked(const struct page_choice *c, const struct page *page)
{
	return c->asked_filter_no == c->filter_no &&
	    page_sorting_equal(&c->asked_sorting, &page->opts.sorting);
}

static void
begin_due_step(struct page_choice *c, struct page *page,
    const struct page_view *v)
{
	if (c->stream_no != v->look->stream_no || !is_asked(c, page)) {
		c->known = false;
		page_collection_fini(&c->shown);
	}
	if (!c->known || c->round != page->round) {
		if (!c->collector.scan.runs || !is_asked(c, page) ||
		    c->round != page->round ||
		    c->stream_no != v->look->stream_no)
			begin_collecting(c, page, v);
		return;
	}
	/* In another list of the same stream the walk continues. */
	if (!c->collector.scan.runs &&
	    (page->medium == PAGE_WHOLE ||
	    scan_is_due(&c->collector.scan, v->now)) &&
	    !is_up_to_date(c, v))
		begin_collecting(c, page, v);
}

static void
show_rows(struct page_choice *c)
{
	struct page_collection was = c->shown;

	c->shown = c->collector.found;
	c->collector.found = was;
	c->known = true;
	/* A large second copy would waste memory. */
	if (was.cap > KEPT_ROWS)
		page_collection_fini(&c->collector.found);
}

/* Collects a portion, or all with most_ns 0. */
static int
collect_portion(
    const struct page *page, const struct page_view *v, int64_t most_ns)
{
	struct page_choice *c = page->choice;
	int r = page_collector_next(&c->collector, page, v, most_ns);

	if (r == 0)
		return 0;
	if (r > 0)
		show_rows(c);
	page_collector_stop(&c->collector);
	/* Without memory it begins again when it is due. */
	c->known = true;
	scan_done(&c->collector.scan, v->now);
	return r < 0 ? r : 0;
}

int
page_choice_ready(struct page *page)
{
	const struct filter *given = page->opts.filter;
	struct page_row_filter *filter;
	int r = given != NULL ? page_row_filter_borrow(&filter, given) : 0;

	return given == NULL || r < 0 ? r : set_filter(page, filter);
}

/* *out is NULL when the page chooses nothing. */
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
		page_collector_fini(&c->collector);
		page_collection_fini(&c->shown);
		c->known = c->collector.scan.runs = false;
		return 0;
	}
	/* The session has not yet all blocks. */
	if (v->look->window)
		return 0;
	begin_due_step(c, page, v);
	if (!c->collector.scan.runs)
		return 0;
	return collect_portion(page, v,
	    page->medium == PAGE_WHOLE ? 0 : c->known ? PORTION_NS :
	    HASTY_NS);
}

int
page_choice_whole(struct page *page, const struct page_view *v,
    struct page_collection *out)
{
	struct page_collector all = { 0 };
	struct page_choice *c;
	int r = begin_choice(page, &c);

	if (r < 0)
		return r;
	page_collector_begin(&all, page, v, c != NULL ? c->filter : NULL,
	    PAGE_COLLECT_ALL);
	r = page_collector_next(&all, page, v, 0);
	page_collector_stop(&all);
	if (r < 0) {
		page_collector_fini(&all);
		return r;
	}
	*out = all.found;
	return 0;
}

bool
page_choice_waits(const struct page *page)
{
	return page_choice_on(page) && (page->choice == NULL ||
	    !page->choice->known);
}

void
page_collection_sums(const struct page_collection *f, struct page_chosen *sums)
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
	page_collection_sums(&c->shown, sums);
	sums->known = c->known;
	sums->sorting = c->collector.order != NULL;
	w = &c->collector.walk;
	if (!c->known && c->collector.scan.runs && w->blocks > 0)
		sums->percent = scan_percent(w->passed, w->blocks);
}

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
	return page->choice != NULL ? page_collection_rows(&page->choice->shown,
	    at, out, n) : 0;
}

static bool
choice_locate(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	(void)v;
	(void)total;
	return page->choice != NULL && !page->cursor.free &&
	    page_collection_find_cursor(&page->choice->shown, page, offset);
}

int
page_choice_text_begin(struct page *page, const struct page_view *v)
{
	struct page_collection all;
	struct page_choice *c;
	int r = begin_choice(page, &c);

	page_free_begin(page, v);
	if (r < 0 || !page_choice_on(page))
		return r;
	r = page_choice_whole(page, v, &all);
	if (r < 0)
		return r;
	page_collection_fini(&c->shown);
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
	.locate = choice_locate,
};

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

/* Form 0 is the longest, 2 the shortest. */
static void
sums_text(const struct page_chosen *s, const char *about, int form, char *out,
    size_t cap)
{
	char n[32], of[32], bytes[24], listed[32], unsure[32];
	size_t len = 0;

	out[0] = '\0';
	if (!s->known) {
		base_append(out, cap, &len, "%s%u %%", form == 0 ?
		    "searched " : "", s->percent);
		return;
	}
	base_group_digits(n, sizeof n, s->blocks);
	base_group_digits(of, sizeof of, s->of);
	base_human_bytes(bytes, sizeof bytes, s->bytes);
	base_group_digits(listed, sizeof listed, s->listed);
	base_group_digits(unsure, sizeof unsure, s->unsure);
	if (form == 2) {
		base_format_grouped(n, 5, s->blocks);
		base_format_grouped(of, 5, s->of);
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
