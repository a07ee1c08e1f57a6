/*
 * Page H: the difference to the mark.  Its rows are groups, the highest net
 * first, or blocks: those that came, the oldest first, then those that realloc
 * has made grow, or has moved, then those that went.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../difference/difference.h"
#include "../layout/layout.h"
#include "../picture/picture.h"
#include "difference_page.h"

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

/* The blocks of the view, one list behind the other; returns how many lists. */
#define LISTS 4

static int
lists_of(const struct page_diff *d, const struct page_since *s,
    const struct page_since_blocks *list[LISTS])
{
	const struct page_since_found *f = &s->shown;
	int n = 0;

	if (d->view == DIFF_ALL || d->view == DIFF_NEW)
		list[n++] = &f->came;
	if (d->view == DIFF_ALL || d->view == DIFF_GROWN)
		list[n++] = &f->grown;
	if (d->view == DIFF_ALL)
		list[n++] = &f->other;
	if (d->view == DIFF_ALL || d->view == DIFF_FREED)
		list[n++] = &f->went;
	return n;
}

static size_t
blocks_of(const struct page_diff *d, const struct page_since *s)
{
	const struct page_since_blocks *list[LISTS];
	int i, lists = lists_of(d, s, list);
	size_t n = 0;

	for (i = 0; i < lists; i++)
		n += list[i]->n;
	return n;
}

uint64_t
page_diff_unlisted(const struct page_diff *d, const struct page_since *s)
{
	const struct page_since_blocks *list[LISTS];
	int i, lists = d->by_block ? lists_of(d, s, list) : 0;
	uint64_t n = 0;

	for (i = 0; i < lists; i++)
		n += list[i]->all - list[i]->n;
	return n;
}

static size_t
rows_of(const struct page_diff *d, const struct page_since *s)
{
	size_t i, n = 0;

	if (d->by_block)
		return blocks_of(d, s);
	for (i = 0; i < s->ngroup; i++)
		n += page_diff_lets(d, &s->group[i]);
	return n;
}

/* What is asked for is not what the last comparison has listed. */
static bool
is_coming(const struct page_diff *d, const struct page *page,
    const struct page_since *s)
{
	return !page_since_known(page, s) || (d->by_block && (!s->shown.by_block ||
	    s->shown.of_key != d->of.key));
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
block_at(const struct page_diff *d, const struct page_since *s, size_t at)
{
	const struct page_since_blocks *list[LISTS];
	int i, lists = lists_of(d, s, list);

	for (i = 0; i < lists; i++) {
		if (at < list[i]->n)
			return &list[i]->blk[at];
		at -= list[i]->n;
	}
	return NULL;
}

/* What tells the row at the cursor from the others; false: there is none. */
static bool
key_at(const struct page_diff *d, const struct page_since *s, size_t at,
    uint64_t *key)
{
	const struct page_since_group *g;
	const struct page_since_block *b;

	if (d->by_block) {
		b = block_at(d, s, at);
		if (b != NULL)
			*key = b->root;
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

	if (d->by_block) {
		while ((b = block_at(d, s, at)) != NULL && b->root != d->key)
			at++;
		return at;
	}
	for (i = 0; (g = next_group(d, s, &i)) != NULL && g->key != d->key;
	    i++)
		at++;
	return at;
}

static void
hold_row(struct page_diff *d, const struct page_since *s)
{
	d->held = key_at(d, s, d->selected, &d->key);
}

/* The cursor stays on what it is on, wherever that is by now. */
static void
follow_row(struct page_diff *d, const struct page_since *s)
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
		hold_row(d, s);
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

	if (page_since_made(page) == NULL)
		return;
	if (delta < 0)
		d->selected = d->selected > by ? d->selected - by : 0;
	else
		d->selected += by;
	if (d->selected >= d->rows)
		d->selected = d->rows > 0 ? d->rows - 1 : 0;
	hold_row(d, page_since_made(page));
}

void
page_diff_next_view(struct page_diff *d)
{
	d->view = (d->view + 1) % DIFF_VIEWS;
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
	d->of = (struct page_group_ref){ 0 };
	if (d->view == DIFF_GROWN)
		d->view = DIFF_ALL;
	to_top(d);
}

void
page_diff_regroup(struct page_diff *d)
{
	d->by_block = false;
	d->of = (struct page_group_ref){ 0 };
	to_top(d);
}

bool
page_diff_back(struct page_diff *d)
{
	if (d->of.key == 0)
		return false;
	d->held = true;
	d->key = d->of.key;
	d->selected = d->top = 0;
	d->by_block = false;
	d->of = (struct page_group_ref){ 0 };
	return true;
}

const struct page_since_block *
page_diff_row(const struct page_diff *d, const struct page *page)
{
	const struct page_since *s = page_since_made(page);

	return d->by_block && s != NULL ? block_at(d, s, d->selected) : NULL;
}

bool
page_diff_block(const struct page_diff *d, const struct page *page,
    struct blk *b, bool *live)
{
	const struct page_since_block *found = page_diff_row(d, page);

	if (found == NULL)
		return false;
	*b = found->blk;
	*live = found->change != SINCE_FREED;
	return true;
}

bool
page_diff_open(struct page_diff *d, struct page *page,
    const struct page_view *v)
{
	const struct page_since *s = page_since_made(page);
	const struct page_since_group *g = s != NULL && !d->by_block ?
	    group_at(d, s, d->selected) : NULL;
	struct page_group_words *words;
	struct profile_group as;
	size_t len = 0;

	if (g == NULL || !page_since_named(s, g, &as))
		return false;
	words = malloc(sizeof *words);
	if (words == NULL)
		return false;
	page_diff_name(page, v, s, g, words);
	base_append(d->of_name, sizeof d->of_name, &len, "%s%s%s",
	    words->name, words->where[0] != '\0' ? "  " : "", words->where);
	free(words);
	page_group_ref_set(v, page_since_kind(s)->by, &as, &d->of);
	d->by_block = true;
	if (d->view == DIFF_GROWN)
		d->view = DIFF_NEW;
	to_top(d);
	return true;
}

/* --- blocks --------------------------------------------------------------- */

#define BLOCK_COLS 55	/* in front of the function */

const char *
page_since_change_word(enum page_since_change change)
{
	static const char *const words[] = {
		[SINCE_NEW] = "new",
		[SINCE_GROWN] = "grown",
		[SINCE_SHRUNK] = "shrunk",
		[SINCE_MOVED] = "moved",
		[SINCE_FREED] = "freed",
	};

	return words[change];
}

static void
put_block_heading(struct page_picture *pic)
{
	char text[80];

	snprintf(text, sizeof text, "       ADDRESS         SIZE     WAS "
	    "%-8s %-8s %5s", "DESCR", "THREAD", "AGE");
	picture_text(pic, text, pic->cols, PICTURE_FREE);
	picture_to(pic, pic->cols < BLOCK_COLS ? pic->cols : BLOCK_COLS);
	if (pic->cols > BLOCK_COLS + PAGE_DIFF_NAME_MIN)
		picture_put(pic, "     FUNCTION");
	picture_mark_line(pic, PAGE_HEADING);
}

static void
put_block(const struct page_view *v, const struct page_since_block *row,
    struct page_picture *pic)
{
	const struct blk *b = &row->blk;
	char size[12], was[12] = "", age[8] = "";

	base_format_bytes(size, 7, b->size);
	if (row->change != SINCE_NEW && row->change != SINCE_FREED)
		base_format_bytes(was, 7, row->was);
	if (row->change != SINCE_FREED)
		page_cell_age(age, page_cell_seconds(v->look, b));
	picture_printf(pic, "%-6s %012llx %s %7s ",
	    page_since_change_word(row->change),
	    (unsigned long long)b->addr, size, was);
	picture_text(pic, page_descr(v->look, b), 8, PICTURE_LEFT);
	picture_put(pic, " ");
	picture_text(pic, page_cell_thread(v, b), 8, PICTURE_LEFT);
	picture_printf(pic, " %5s", age);
	if (pic->cols > BLOCK_COLS + PAGE_DIFF_NAME_MIN)
		page_cell_function(v, b, 2, pic->cols - picture_col(pic) - 2,
		    pic);
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
			b = block_at(d, s, at);
			put_block(v, b, pic);
			if (b->change == SINCE_FREED)
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

	snprintf(text, sizeof text, "m mark anew  f filter  d view  b kind  "
	    "t %s  Enter %s  Esc %s", d->by_block ? "groups" : "blocks",
	    d->by_block ? "detail" : "its blocks", d->of.key != 0 ?
	    "groups" : "close");
	page_overlay_keys(text, pic);
}

static void
put_none(const struct page *page, struct page_picture *pic)
{
	char text[128];
	size_t len = 0;

	base_append(text, sizeof text, &len, "H DIFF  %s%s",
	    page->marked != NULL && page->marked->was_lost ?
	    "The mark is lost: the list has begun anew." :
	    "There is no mark.",
	    page_is_on_screen(page) ? " m sets one, Esc closes this" : "");
	picture_wrap(pic, text, 3, PAGE_NEW);
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
	int foot = rows >= PAGE_DIFF_BAR_ROWS && !d->plain;

	follow_row(d, s);
	page_diff_head(d, page, v, s, rows, pic);
	if (rows < 2)
		return;
	picture_line(pic);
	if (page->marked->copying) {
		picture_put(pic, "the mark is being copied");
		return;
	}
	if (is_coming(d, page, s)) {
		picture_printf(pic, "comparing: %u %%",
		    page_since_done(page, s));
		return;
	}
	if (d->by_block)
		put_block_heading(pic);
	else
		page_diff_heading(v, s, pic);
	put_rows(d, page, v, s, rows - (pic->rows + 1) - foot, pic);
	if (!foot)
		return;
	while (!picture_failed(pic) && pic->rows < rows - 2)
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
	if (d->kind != page->group.kind) {
		page_diff_back(d);
		to_top(d);
		d->kind = page->group.kind;
	}
	if (d->of.key != 0 && page_since_known(page, s))
		page_group_ref_find_in(s->profile, v, page_since_kind(s)->by,
		    s->names, &d->of);
	s->watched = true;
	s->by_block = d->by_block;
	s->of_key = d->of.key;
	/* It goes on with the next picture; this is not to wait for one. */
	if (is_coming(d, page, s) && s->step == SINCE_IDLE)
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
	else if (page_moment_is_ahead(&page->marked->mark, v))
		put_later(page, v, pic);
	else
		compose(d, page, v, s, rows, pic);
	return picture_end(pic);
}

/* --- above the rows ------------------------------------------------------- */

/*
 * What stands above the rows of page H: the title, what has to be known
 * besides, and how many blocks there are of each kind.
 */

#define SUM_TEXT 64
#define STATE_TEXT (sizeof ((struct page_state *)NULL)->word + 2)

/* "1,496 KiB/2,543", of a sample "~1,496 KiB/~2,543". */
static void
sum_text(const struct page_view *v, double blocks, double bytes,
    char out[SUM_TEXT])
{
	char size[24], n[32];

	base_human_bytes(size, sizeof size, (uint64_t)(bytes + 0.5));
	page_diff_count(n, v, blocks);
	snprintf(out, SUM_TEXT, "%s%s/%s", page_about(v->look->sample), size,
	    n);
}

/*
 * At the mark: "1,496 KiB/2,543"; under a filter ">=" when some of them had been
 * freed before they could be judged, and "?" when nobody judged them.
 */
static void
was_text(const struct page *page, const struct page_view *v,
    const struct page_since *s, char out[SUM_TEXT + 2])
{
	const struct page_moment *m = &page->marked->mark;
	bool all = !page_choice_filters(page);
	size_t len = 0;

	if (!all && page->marked->uncopied) {
		snprintf(out, SUM_TEXT, "?");
		return;
	}
	out[0] = '\0';
	if (!all && page_since_early(page) > 0)
		base_append_text(out, SUM_TEXT, &len, ">=");
	if (all)
		sum_text(v, (double)m->est_blocks, (double)m->est_bytes,
		    out + len);
	else
		sum_text(v, s->shown.was, s->shown.was_bytes, out + len);
}

/*
 * What came and what went.  By block what realloc has moved is neither; the
 * groups have it as one of each, which is said.
 */
static void
counts_text(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, char *out,
    size_t cap, size_t *len)
{
	const struct page_since_moved *moved = &s->shown.moved;
	double came = s->shown.total.came, went = s->shown.total.went;
	char n[32], m[32];

	if (d->by_block) {
		came -= (double)moved->blocks;
		went -= (double)(moved->blocks - moved->early);
	}
	page_diff_count(n, v, came);
	page_diff_count(m, v, went);
	base_append(out, cap, len, "%s new  %s freed", n,
	    page->marked->uncopied ? "?" : m);
	if (moved->blocks == 0)
		return;
	base_group_digits(n, sizeof n, d->by_block ? moved->grown :
	    moved->blocks);
	base_group_digits(m, sizeof m, moved->blocks - moved->grown);
	if (!d->by_block)
		base_append(out, cap, len, "  %s by realloc", n);
	else if (moved->grown > 0)
		base_append(out, cap, len, "  %s grown", n);
	if (d->by_block && moved->blocks > moved->grown)
		base_append(out, cap, len, "  %s %s", m,
		    moved->blocks - moved->grown == moved->shrunk ? "shrunk" :
		    "shrunk or moved");
}

/* "  ENDED 15:03:58 signal 11": a picture of what goes on needs no word for it. */
static void
state_text(const struct page *page, const struct page_view *v, int cols,
    char out[STATE_TEXT])
{
	struct page_state st;

	page_state_get(page, v, &st);
	out[0] = '\0';
	if (!st.plain)
		snprintf(out, STATE_TEXT, "  %s", cols < PAGE_WIDE_COLS ? st.brief : st.word);
}

static void
title_text(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, int cols,
    char *out, size_t cap)
{
	const struct page_moment *m = &page->marked->mark;
	const char *part = page_choice_filters(page) ? ", filtered" : "";
	struct page_moment now = { .wall_ms = s->shown.wall_ms };
	bool known = page_since_known(page, s);
	char from[12], to[12], was[SUM_TEXT + 2], is[SUM_TEXT];
	char state[STATE_TEXT];
	size_t len = 0;

	state_text(page, v, cols, state);
	page_moment_text(page, v, m, from);
	page_moment_text(page, v, &now, to);
	if (known && cols < PAGE_WIDE_COLS) {
		base_append(out, cap, &len, "H DIFF%s  %s  ", state, from);
		counts_text(d, page, v, s, out, cap, &len);
		base_append(out, cap, &len, "  %s%s", page_diff_view_name(d),
		    part);
		return;
	}
	base_append(out, cap, &len, "H DIFF%s  mark %s", state, from);
	if (known) {
		was_text(page, v, s, was);
		sum_text(v, s->shown.blocks, s->shown.bytes, is);
		base_append(out, cap, &len, " -> now %s   %s -> %s blocks   ",
		    to, was, is);
		counts_text(d, page, v, s, out, cap, &len);
	}
	base_append(out, cap, &len, "   view: %s%s", page_diff_view_name(d),
	    part);
}

/* Why what realloc has moved may be one block freed and one new all the same. */
static void
moves_notice(const struct page *page, const struct page_view *v, char *out,
    size_t cap, size_t *len)
{
	const struct page_chains *c = page->marked->chains;
	const char *so = "is one freed and one new. ";
	char n[32];

	if (page->marked->mark.blocks == 0 || v->look->classic)
		return;
	if (v->look->sample != 0) {
		base_append(out, cap, len, "Of a sample no realloc is "
		    "followed: its block %s", so);
	} else if (c == NULL || c->blind) {
		base_append(out, cap, len, "Some reallocs since the mark were "
		    "not seen: a block of theirs %s", so);
	} else if (c->missed > 0) {
		base_group_digits(n, sizeof n, c->missed);
		base_append(out, cap, len, "%s reallocs were not followed: "
		    "a block of theirs %s", n, so);
	} else if (c->forgot && v->look != v->live) {
		base_append(out, cap, len, "Of an older picture not all "
		    "reallocs are known: a block of theirs %s", so);
	}
}

/* What has to be known besides, a sentence each. */
static void
notices(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, char *out,
    size_t cap)
{
	const struct page_marked *m = page->marked;
	double more = (double)m->mark.est_bytes - m->old_est_bytes -
	    (double)s->shown.moved.early_bytes;
	uint64_t lost = page_lost_for_good(v->look);
	char n[32], bytes[24];
	size_t len = 0;

	out[0] = '\0';
	if (page_moment_is_incomplete(&m->mark, v)) {
		base_group_digits(n, sizeof n, lost > m->mark.lost ?
		    lost - m->mark.lost : 0);
		base_append(out, cap, &len, lost > m->mark.lost ?
		    "INCOMPLETE: %s records were lost since the mark. " :
		    "INCOMPLETE: the list was full. ", n);
	}
	if (m->uncopied)
		base_append(out, cap, &len, "Too many blocks at the mark: "
		    "which are freed is not known. ");
	else if (page_since_early(page) > 0) {
		page_diff_count(n, v, (double)page_since_early(page));
		base_human_bytes(bytes, sizeof bytes, more > 0 ?
		    (uint64_t)(more + 0.5) : 0);
		base_append(out, cap, &len, "%s more, %s%s, were freed before "
		    "the mark was copied: they are in no row. ", n,
		    page_about(v->look->sample), bytes);
	}
	if (d->by_block)
		moves_notice(page, v, out, cap, &len);
	if (s->cut)
		base_append(out, cap, &len, "Too many callers: some are "
		    "summed as one without a name. ");
}

static void
listed_text(const struct page_diff *d, const struct page_view *v,
    const struct page_since *s, char *out, size_t cap)
{
	const struct page_since_found *f = &s->shown;
	uint64_t left = f->came.all - f->came.n + f->grown.all - f->grown.n +
	    f->other.all - f->other.n + f->went.all - f->went.n;
	char n[32], m[32];
	size_t len = 0;

	page_diff_count(n, v, (double)f->came.all);
	page_diff_count(m, v, (double)f->went.all);
	base_append(out, cap, &len, "%s%s%s new, %s freed",
	    d->of.key != 0 ? d->of_name : "", d->of.key != 0 ? ": " : "",
	    n, m);
	base_group_digits(n, sizeof n, f->grown.all);
	base_group_digits(m, sizeof m, f->other.all);
	if (f->grown.all > 0)
		base_append(out, cap, &len, ", %s grown", n);
	if (f->other.all > 0)
		base_append(out, cap, &len, ", %s shrunk or moved", m);
	if (left > 0) {
		page_diff_count(n, v, (double)left);
		base_append(out, cap, &len, ", %s of them not listed", n);
	}
}

void
page_diff_head(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct page_since *s, int rows,
    struct page_picture *pic)
{
	char text[768];
	int max = rows >= 2 * PAGE_DIFF_BAR_ROWS ? 3 :
	    rows >= PAGE_DIFF_BAR_ROWS ? 2 : 1;
	struct page_chosen chosen;

	title_text(d, page, v, s, pic->cols, text, sizeof text);
	picture_wrap(pic, text, max, PAGE_NEW);
	if (rows < PAGE_DIFF_BAR_ROWS)
		return;
	if (page_choice_filters(page)) {
		page_since_chosen(page, s, &chosen);
		picture_line(pic);
		page_choice_put_sums(page, v, &chosen, pic);
	}
	notices(d, page, v, s, text, sizeof text);
	if (text[0] != '\0')
		picture_wrap(pic, text, max, PAGE_WARN);
	if (!d->by_block)
		return;
	listed_text(d, v, s, text, sizeof text);
	picture_line(pic);
	picture_text(pic, text, pic->cols, PICTURE_FREE);
}
