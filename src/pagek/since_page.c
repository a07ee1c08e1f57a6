/*
 * Page H: the difference to the mark.  Its rows are groups, the highest net
 * first, or blocks: those that came, the oldest first, then those that went.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "since.h"

#define BAR_ROWS 8	/* lower than that, rows are worth more than a key bar */

static const char *const view_names[DIFF_VIEWS] = { "all", "new", "freed",
	"grown" };

/* --- which rows ----------------------------------------------------------- */

bool
page_diff_lets(const struct page_diff *d, const struct page_since_group *g)
{
	switch (d->view) {
	case DIFF_NEW:
		return g->sum.came > 0;
	case DIFF_FREED:
		return g->sum.went > 0;
	case DIFF_GROWN:
		return page_since_net(&g->sum) > 0;
	default:
		return true;
	}
}

static size_t
came_rows(const struct page_diff *d, const struct page_since *s)
{
	return d->view == DIFF_FREED ? 0 : s->shown.came.n;
}

static size_t
rows_of(const struct page_diff *d, const struct page_since *s)
{
	size_t i, n = 0;

	if (d->by_block)
		return came_rows(d, s) +
		    (d->view == DIFF_NEW ? 0 : s->shown.went.n);
	for (i = 0; i < s->ngroup; i++)
		n += page_diff_lets(d, &s->group[i]);
	return n;
}

/* What is asked for is not what the last comparison has listed. */
static bool
is_coming(const struct page_diff *d, const struct page_since *s)
{
	return !s->taken || (d->by_block && (!s->shown.by_block ||
	    s->shown.of_key != d->of_key));
}

/* The first one from *i on that is shown; NULL: none is. */
static const struct page_since_group *
next_group(const struct page_diff *d, const struct page_since *s, size_t *i)
{
	while (*i < s->ngroup && !page_diff_lets(d, &s->group[*i]))
		++*i;
	return *i < s->ngroup ? &s->group[*i] : NULL;
}

static const struct page_since_group *
group_at(const struct page_diff *d, const struct page_since *s, size_t at)
{
	const struct page_since_group *g;
	size_t i = 0;

	while ((g = next_group(d, s, &i)) != NULL && at-- > 0)
		i++;
	return g;
}

static const struct page_since_block *
block_at(const struct page_diff *d, const struct page_since *s, size_t at,
    bool *live)
{
	size_t came = came_rows(d, s);

	*live = at < came;
	if (*live)
		return &s->shown.came.blk[at];
	return at - came < s->shown.went.n && d->view != DIFF_NEW ?
	    &s->shown.went.blk[at - came] : NULL;
}

/* What tells the row at the cursor from the others; false: there is none. */
static bool
key_at(const struct page_diff *d, const struct page_since *s, size_t at,
    uint64_t *key)
{
	const struct page_since_group *g;
	const struct page_since_block *b;
	bool live;

	if (d->by_block) {
		b = block_at(d, s, at, &live);
		if (b != NULL)
			*key = b->blk.seq;
		return b != NULL;
	}
	g = group_at(d, s, at);
	if (g != NULL)
		*key = g->key;
	return g != NULL;
}

/* The row with the held key, or as many as there are rows. */
static size_t
find_held(const struct page_diff *d, const struct page_since *s)
{
	const struct page_since_group *g;
	const struct page_since_block *b;
	size_t i, at = 0;
	bool live;

	if (d->by_block) {
		while ((b = block_at(d, s, at, &live)) != NULL &&
		    b->blk.seq != d->key)
			at++;
		return at;
	}
	for (i = 0; (g = next_group(d, s, &i)) != NULL && g->key != d->key;
	    i++)
		at++;
	return at;
}

static void
hold(struct page_diff *d, const struct page_since *s)
{
	d->held = key_at(d, s, d->selected, &d->key);
}

/* The cursor stays on what it is on, wherever that is by now. */
static void
follow(struct page_diff *d, const struct page_since *s)
{
	uint64_t key;
	size_t at;

	d->rows = rows_of(d, s);
	if (d->held && !(key_at(d, s, d->selected, &key) && key == d->key)) {
		at = find_held(d, s);
		if (at < d->rows)
			d->selected = at;
	}
	if (d->selected >= d->rows)
		d->selected = d->rows > 0 ? d->rows - 1 : 0;
	if (d->held && d->rows > 0)
		hold(d, s);
}

/* --- what keys do --------------------------------------------------------- */

static void
to_top(struct page_diff *d)
{
	d->selected = d->top = 0;
	d->held = false;
}

void
page_diff_move(struct page_diff *d, const struct page *page, int delta)
{
	size_t by = (size_t)abs(delta);

	if (!page_is_marked(page) || page->marked->since == NULL)
		return;
	if (delta < 0)
		d->selected = d->selected > by ? d->selected - by : 0;
	else
		d->selected += by;
	if (d->selected >= d->rows)
		d->selected = d->rows > 0 ? d->rows - 1 : 0;
	hold(d, page->marked->since);
}

void
page_diff_next_view(struct page_diff *d)
{
	unsigned n = d->by_block ? DIFF_GROWN : DIFF_VIEWS;

	d->view = (d->view + 1) % n;
	to_top(d);
}

const char *
page_diff_view_name(const struct page_diff *d)
{
	return view_names[d->view];
}

void
page_diff_toggle(struct page_diff *d)
{
	d->by_block = !d->by_block;
	d->of_key = 0;
	if (d->view == DIFF_GROWN)
		d->view = DIFF_ALL;
	to_top(d);
}

bool
page_diff_back(struct page_diff *d)
{
	if (d->of_key == 0)
		return false;
	d->held = true;
	d->key = d->of_key;
	d->selected = d->top = 0;
	d->by_block = false;
	d->of_key = 0;
	return true;
}

bool
page_diff_block(const struct page_diff *d, const struct page *page,
    struct blk *b, bool *live)
{
	const struct page_since_block *found;

	if (!d->by_block || !page_is_marked(page) ||
	    page->marked->since == NULL)
		return false;
	found = block_at(d, page->marked->since, d->selected, live);
	if (found != NULL)
		*b = found->blk;
	return found != NULL;
}

bool
page_diff_open(struct page_diff *d, struct page *page,
    const struct page_view *v)
{
	const struct page_since *s = page_is_marked(page) ?
	    page->marked->since : NULL;
	const struct page_since_group *g = s != NULL && !d->by_block ?
	    group_at(d, s, d->selected) : NULL;
	struct page_group_words *words;
	size_t len = 0;

	if (g == NULL)
		return false;
	words = malloc(sizeof *words);
	if (words == NULL)
		return false;
	page_diff_name(page, v, s, g, words);
	base_append(d->of_name, sizeof d->of_name, &len, "%s%s%s",
	    words->name, words->where[0] != '\0' ? "  " : "", words->where);
	free(words);
	d->of_key = g->key;
	d->of_cell = g->cell;
	d->by_block = true;
	if (d->view == DIFF_GROWN)
		d->view = DIFF_NEW;
	to_top(d);
	return true;
}

/* --- blocks --------------------------------------------------------------- */

#define BLOCK_COLS 46	/* in front of the function */

static void
put_block_heading(struct page_picture *pic)
{
	char text[64];

	snprintf(text, sizeof text, "      ADDRESS         SIZE %-8s %-8s %5s",
	    "DESCR", "THREAD", "AGE");
	picture_text(pic, text, pic->cols, PICTURE_FREE);
	picture_to(pic, pic->cols < BLOCK_COLS ? pic->cols : BLOCK_COLS);
	if (pic->cols > BLOCK_COLS + PAGE_DIFF_NAME_MIN)
		picture_printf(pic, "     FUNCTION");
	picture_mark_line(pic, PAGE_HEADING);
}

static void
put_block(const struct page_view *v, const struct blk *b, bool live,
    struct page_picture *pic)
{
	char size[12], age[8] = "";

	base_fit_bytes(size, 7, b->size);
	if (live)
		page_cell_age(age, page_cell_seconds(v->look, b));
	picture_printf(pic, "%-5s %012llx %s ", live ? "new" : "freed",
	    (unsigned long long)b->addr, size);
	picture_text(pic, page_descr(v->look, b), 8, PICTURE_LEFT);
	picture_printf(pic, " ");
	picture_text(pic, page_cell_thread(v, b), 8, PICTURE_LEFT);
	picture_printf(pic, " %5s", age);
	if (pic->cols > BLOCK_COLS + PAGE_DIFF_NAME_MIN)
		page_cell_function(v, b, 2, pic->cols - picture_col(pic) - 2,
		    pic);
}

/* --- above the rows ------------------------------------------------------- */

static void
title_text(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, int cols,
    char *out, size_t cap)
{
	const struct page_moment *m = &page->marked->mark;
	struct page_moment now = { .wall_ms = s->shown.wall_ms };
	char from[12], to[12], was[32], is[32], nwas[32], nis[32], came[32],
	    went[32];
	size_t len = 0;

	page_moment_text(page, v, m, from);
	page_moment_text(page, v, &now, to);
	if (s->taken && cols < PAGE_WIDE_COLS) {
		page_diff_count(came, v, s->shown.total.came);
		page_diff_count(went, v, s->shown.total.went);
		base_append(out, cap, &len, "H DIFF  %s  %s new  %s freed  "
		    "%s", from, came, page->marked->uncopied ? "?" : went,
		    view_names[d->view]);
		return;
	}
	base_append(out, cap, &len, "H DIFF  mark %s", from);
	if (s->taken) {
		base_human_bytes(was, sizeof was, m->bytes);
		base_human_bytes(is, sizeof is, s->shown.bytes);
		base_group_digits(nwas, sizeof nwas, m->blocks);
		base_group_digits(nis, sizeof nis, s->shown.blocks);
		page_diff_count(came, v, s->shown.total.came);
		page_diff_count(went, v, s->shown.total.went);
		base_append(out, cap, &len, " -> now %s   %s/%s -> %s/%s "
		    "blocks   %s new  %s freed", to, was, nwas, is, nis,
		    came, page->marked->uncopied ? "?" : went);
	}
	base_append(out, cap, &len, "   view: %s", view_names[d->view]);
}

/* What has to be known besides, a sentence each. */
static void
notices(const struct page *page, const struct page_view *v,
    const struct page_since *s, char *out, size_t cap)
{
	const struct page_marked *m = page->marked;
	char n[32], bytes[24];
	size_t len = 0;

	out[0] = '\0';
	if (page_moment_is_incomplete(&m->mark, v)) {
		base_group_digits(n, sizeof n, page_lost_for_good(v->look) -
		    m->mark.lost);
		base_append(out, cap, &len, "INCOMPLETE: %s records were lost "
		    "since the mark. ", n);
	}
	if (m->uncopied)
		base_append(out, cap, &len, "Too many blocks at the mark: "
		    "which are freed is not known. ");
	else if (!m->copying && m->mark.blocks > m->nold) {
		base_group_digits(n, sizeof n, m->mark.blocks - m->nold);
		base_human_bytes(bytes, sizeof bytes, m->mark.bytes >
		    m->old_bytes ? m->mark.bytes - m->old_bytes : 0);
		base_append(out, cap, &len, "%s more, %s, were freed before "
		    "the mark was copied: they are in no row. ", n, bytes);
	}
	if (s->cut)
		base_append(out, cap, &len, "Too many callers: some are "
		    "summed as one without a name. ");
}

static void
listed_text(const struct page_diff *d, const struct page_view *v,
    const struct page_since *s, char *out, size_t cap)
{
	char came[32], went[32];
	size_t len = 0;
	uint64_t left = s->shown.came.all - s->shown.came.n +
	    s->shown.went.all - s->shown.went.n;

	page_diff_count(came, v, (double)s->shown.came.all);
	page_diff_count(went, v, (double)s->shown.went.all);
	base_append(out, cap, &len, "%s%s%s new, %s freed",
	    d->of_key != 0 ? d->of_name : "", d->of_key != 0 ? ": " : "",
	    came, went);
	if (left > 0) {
		page_diff_count(came, v, (double)left);
		base_append(out, cap, &len, ", %s of them not listed", came);
	}
}

static void
put_head(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, int rows,
    struct page_picture *pic)
{
	char text[768];
	int max = rows >= 2 * BAR_ROWS ? 3 : rows >= BAR_ROWS ? 2 : 1;

	title_text(d, page, v, s, pic->cols, text, sizeof text);
	picture_wrap(pic, text, max, PAGE_NEW);
	if (rows < BAR_ROWS)
		return;
	notices(page, v, s, text, sizeof text);
	if (text[0] != '\0')
		picture_wrap(pic, text, max, PAGE_WARN);
	if (!d->by_block)
		return;
	listed_text(d, v, s, text, sizeof text);
	picture_line(pic);
	picture_text(pic, text, pic->cols, PICTURE_FREE);
}

/* --- the whole ------------------------------------------------------------ */

static void
put_rows(struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, int room,
    struct page_picture *pic)
{
	struct page_group_words *words = malloc(sizeof *words);
	const struct page_since_group *g = NULL;
	const struct page_since_block *b;
	bool live;
	size_t at, i;

	d->window = room > 0 ? room : 1;
	if (d->selected < d->top)
		d->top = d->selected;
	else if (d->selected - d->top >= (size_t)d->window)
		d->top = d->selected - (size_t)d->window + 1;
	if (!d->by_block && d->top > 0)
		g = group_at(d, s, d->top);
	i = g != NULL ? (size_t)(g - s->group) : 0;
	for (at = d->top; words != NULL && room-- > 0 && at < d->rows; at++) {
		picture_line(pic);
		if (d->by_block) {
			b = block_at(d, s, at, &live);
			put_block(v, &b->blk, live, pic);
			if (!live)
				picture_mark_line(pic, PAGE_STALE);
		} else {
			g = next_group(d, s, &i);
			i++;
			page_diff_group(page, v, s, g, words, pic);
		}
		if (at == d->selected)
			picture_mark_line(pic, PAGE_CURSOR);
	}
	free(words);
}

static void
put_bar(const struct page_diff *d, struct page_picture *pic)
{
	char text[128];

	snprintf(text, sizeof text, "d view  b %s  Enter %s  m mark anew  Esc "
	    "%s", d->by_block ? "groups" : "blocks", d->by_block ? "detail" :
	    "its blocks", d->of_key != 0 ? "groups" : "close");
	picture_text(pic, text, pic->cols, PICTURE_FREE);
}

static void
put_none(const struct page *page, struct page_picture *pic)
{
	picture_wrap(pic, page->marked != NULL && page->marked->was_lost ?
	    "H DIFF  The mark is lost: the list has begun anew. m sets one, "
	    "Esc closes this" : "H DIFF  There is no mark. m sets one, Esc "
	    "closes this", 3, PAGE_NEW);
}

/* One has stepped back behind it. */
static void
put_later(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char at[12], text[160];
	size_t len = 0;

	page_moment_text(page, v, &page->marked->mark, at);
	base_append(text, sizeof text, &len, "H DIFF  The mark of %s is later "
	    "than this picture: there is no difference yet. m marks anew, Esc "
	    "closes this", at);
	picture_wrap(pic, text, 4, PAGE_NEW);
}

/* What there is to be seen by now. */
static void
compose(struct page_diff *d, struct page *page, const struct page_view *v,
    const struct page_since *s, int rows, struct page_picture *pic)
{
	int foot = rows >= BAR_ROWS;

	follow(d, s);
	put_head(d, page, v, s, rows, pic);
	if (rows < 2)
		return;
	picture_line(pic);
	if (page->marked->copying) {
		picture_printf(pic, "the mark is being copied");
		return;
	}
	if (is_coming(d, s)) {
		picture_printf(pic, "comparing: %u %%",
		    page_since_done(page, s));
		return;
	}
	if (d->by_block)
		put_block_heading(pic);
	else
		page_diff_heading(s, pic);
	put_rows(d, page, v, s, rows - (pic->rows + 1) - foot, pic);
	if (!foot)
		return;
	while (pic->rows < rows - 2)
		picture_line(pic);
	picture_line(pic);
	put_bar(d, pic);
}

/* What is looked for; a mark may turn out to be lost meanwhile. */
static struct page_since *
look_for(struct page_diff *d, struct page *page, const struct page_view *v)
{
	struct page_since *s = page_since_get(page);

	if (s == NULL)
		return NULL;
	if (d->mark_no != page->marked->mark_no) {
		page_diff_back(d);
		to_top(d);
		d->mark_no = page->marked->mark_no;
	}
	if (d->of_key != 0 && s->cell[d->of_cell].key != 0)
		d->of_key = s->cell[d->of_cell].key;
	s->watched = true;
	s->by_block = d->by_block;
	s->of_key = d->of_key;
	/* It goes on with the next picture; this is not to wait for one. */
	if (is_coming(d, s) && s->step == SINCE_IDLE)
		page_marked_refresh(page, v);
	s = page_since_get(page);
	if (s != NULL)
		s->watched = true;
	return s;
}

int
page_diff_compose(struct page_diff *d, struct page *page,
    const struct page_view *v, int cols, int rows, struct page_picture *pic)
{
	const struct page_since *s = look_for(d, page, v);

	picture_begin(pic, cols, page->opts.ascii);
	if (s == NULL)
		put_none(page, pic);
	else if (page_moment_is_later(&page->marked->mark, v))
		put_later(page, v, pic);
	else
		compose(d, page, v, s, rows, pic);
	return picture_end(pic);
}
