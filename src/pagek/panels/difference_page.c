#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../difference/difference.h"
#include "../layout/layout.h"
#include "../picture/picture.h"
#include "difference_page.h"

static const char *const view_names[DIFF_VIEWS] = { "all", "new", "freed",
	"grown" };

bool
page_diff_lets(const struct page_diff *d, const struct difference_group *g)
{
	switch (d->view) {
	case DIFF_NEW:
		return g->sum.new.blocks > 0;
	case DIFF_FREED:
		return g->sum.freed.blocks > 0;
	case DIFF_GROWN:
		return difference_net(&g->sum) > 0;
	default:
		return true;
	}
}

#define LISTS 4

static int
lists_of(const struct page_diff *d, const struct difference *s,
    const struct difference_blocks *list[LISTS])
{
	const struct difference_found *f = &s->shown;
	int n = 0;

	if (d->view == DIFF_ALL || d->view == DIFF_NEW)
		list[n++] = &f->new;
	if (d->view == DIFF_ALL || d->view == DIFF_GROWN)
		list[n++] = &f->grown;
	if (d->view == DIFF_ALL)
		list[n++] = &f->other;
	if (d->view == DIFF_ALL || d->view == DIFF_FREED)
		list[n++] = &f->freed;
	return n;
}

uint64_t
page_diff_unlisted(const struct page_diff *d, const struct difference *s)
{
	const struct difference_blocks *list[LISTS];
	int i, lists = d->by_block ? lists_of(d, s, list) : 0;
	uint64_t n = 0;

	for (i = 0; i < lists; i++)
		n += list[i]->all - list[i]->n;
	return n;
}

static size_t
count_rows(const struct page_diff *d, const struct difference *s)
{
	const struct difference_blocks *list[LISTS];
	int lists = d->by_block ? lists_of(d, s, list) : 0;
	size_t i, n = 0;

	for (i = 0; i < (size_t)lists; i++)
		n += list[i]->n;
	for (i = 0; !d->by_block && i < s->groups.n; i++)
		n += page_diff_lets(d, &s->groups.row[i]);
	return n;
}

bool
page_diff_is_pending(const struct page_diff *d, const struct page *page,
    const struct difference *s)
{
	return !difference_is_current(page, s) || (d->by_block &&
	    (!s->shown.by_block || s->shown.of_key != d->of.key));
}

/* The first group from *i on that the view has; NULL: none. */
static const struct difference_group *
next_group(const struct page_diff *d, const struct difference *s, size_t *i)
{
	while (*i < s->groups.n && !page_diff_lets(d, &s->groups.row[*i]))
		++*i;
	return *i < s->groups.n ? &s->groups.row[*i] : NULL;
}

static const struct difference_group *
group_at(const struct page_diff *d, const struct difference *s, size_t at)
{
	const struct difference_group *g;
	size_t i = 0;

	while ((g = next_group(d, s, &i)) != NULL && at-- > 0)
		i++;
	return g;
}

static const struct difference_block *
block_at(const struct page_diff *d, const struct difference *s, size_t at)
{
	const struct difference_blocks *list[LISTS];
	int i, lists = lists_of(d, s, list);

	for (i = 0; i < lists; i++) {
		if (at < list[i]->n)
			return &list[i]->blk[at];
		at -= list[i]->n;
	}
	return NULL;
}

/* The key of row `at`; false: there is none. */
static bool
key_at(const struct page_diff *d, const struct difference *s, size_t at,
    uint64_t *key)
{
	const struct difference_group *g;
	const struct difference_block *b;

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

static size_t
find_key(const struct page_diff *d, const struct difference *s)
{
	const struct difference_group *g;
	const struct difference_block *b;
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
note_key(struct page_diff *d, const struct difference *s)
{
	d->has_key = key_at(d, s, d->list.selected, &d->key);
}

/* The cursor stays on its group or block, wherever that has moved. */
static void
follow_row(struct page_diff *d, const struct difference *s)
{
	uint64_t key;
	size_t at;

	d->rows = count_rows(d, s);
	if (d->has_key && !(key_at(d, s, d->list.selected, &key) && key == d->key)) {
		at = find_key(d, s);
		if (at < d->rows)
			d->list.selected = at;
	}
	page_list_clamp(&d->list, d->rows);
	if (d->has_key && d->rows > 0)
		note_key(d, s);
}

static void
to_top(struct page_diff *d)
{
	d->list.selected = d->list.top = 0;
	d->has_key = false;
}

void
page_diff_move(struct page_diff *d, const struct page *page, int delta, bool scroll)
{
	const struct difference *s = difference_get(page);

	if (s == NULL)
		return;
	page_list_move(&d->list, d->rows, delta, scroll);
	note_key(d, s);
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
page_diff_regroup(struct page_diff *d)
{
	d->by_block = false;
	d->of = (struct page_group_ref){ 0 };
	to_top(d);
}

void
page_diff_toggle(struct page_diff *d)
{
	bool by_block = !d->by_block;

	page_diff_regroup(d);
	d->by_block = by_block;
	if (d->view == DIFF_GROWN)
		d->view = DIFF_ALL;
}

bool
page_diff_back(struct page_diff *d)
{
	uint64_t key = d->of.key;

	if (key == 0)
		return false;
	page_diff_regroup(d);
	d->has_key = true;
	d->key = key;
	return true;
}

const struct difference_block *
page_diff_row(const struct page_diff *d, const struct page *page)
{
	const struct difference *s = difference_get(page);

	return d->by_block && s != NULL ? block_at(d, s, d->list.selected) : NULL;
}

bool
page_diff_block(const struct page_diff *d, const struct page *page,
    struct blk *b, bool *live)
{
	const struct difference_block *found = page_diff_row(d, page);

	if (found == NULL)
		return false;
	*b = found->blk;
	*live = found->change != CHANGE_FREED;
	return true;
}

bool
page_diff_open(struct page_diff *d, struct page *page,
    const struct page_view *v)
{
	const struct difference *s = difference_get(page);
	const struct difference_group *g = s != NULL && !d->by_block ?
	    group_at(d, s, d->list.selected) : NULL;
	struct page_group_words *words;
	struct profile_group as;
	size_t len = 0;

	if (g == NULL || !difference_name_group(s, g, &as))
		return false;
	words = malloc(sizeof *words);
	if (words == NULL)
		return false;
	page_diff_name(page, v, s, g, words);
	base_append(d->of_name, sizeof d->of_name, &len, "%s%s%s",
	    words->name, words->where[0] != '\0' ? "  " : "", words->where);
	free(words);
	page_group_ref_set(v, difference_group_kind(s)->by, &as, &d->of);
	d->by_block = true;
	if (d->view == DIFF_GROWN)
		d->view = DIFF_NEW;
	to_top(d);
	return true;
}

#define BLOCK_COLS 55	/* before the function */

const char *
page_diff_change_word(enum difference_change change)
{
	static const char *const words[] = {
		[CHANGE_NEW] = "new",
		[CHANGE_GROWN] = "grown",
		[CHANGE_SHRUNK] = "shrunk",
		[CHANGE_MOVED] = "moved",
		[CHANGE_FREED] = "freed",
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
put_block(const struct page_view *v, const struct difference_block *row,
    struct page_picture *pic)
{
	const struct blk *b = &row->blk;
	char size[12], was[12] = "", age[8] = "";

	base_format_bytes(size, 7, b->size);
	if (row->change != CHANGE_NEW && row->change != CHANGE_FREED)
		base_format_bytes(was, 7, row->was);
	if (row->change != CHANGE_FREED)
		page_cell_age(age, page_cell_seconds(v->look, b));
	picture_printf(pic, "%-6s %012llx %s %7s ",
	    page_diff_change_word(row->change),
	    (unsigned long long)b->addr, size, was);
	picture_text(pic, page_descr(v->look, b), 8, PICTURE_LEFT);
	picture_put(pic, " ");
	picture_text(pic, page_cell_thread(v, b), 8, PICTURE_LEFT);
	picture_printf(pic, " %5s", age);
	if (pic->cols > BLOCK_COLS + PAGE_DIFF_NAME_MIN)
		page_cell_function(v, b, 2, pic->cols - picture_col(pic) - 2,
		    pic);
}

static void
put_rows(struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct difference *s, int room,
    struct page_picture *pic)
{
	struct page_group_words *words = malloc(sizeof *words);
	const struct difference_group *g = NULL;
	const struct difference_block *b;
	size_t at, i;

	page_list_begin(&d->list, d->rows, room, pic);
	if (!d->by_block && d->list.top > 0)
		g = group_at(d, s, d->list.top);
	i = g != NULL ? (size_t)(g - s->groups.row) : 0;
	for (at = d->list.top; words != NULL && room-- > 0 && at < d->rows; at++) {
		picture_line(pic);
		if (d->by_block) {
			b = block_at(d, s, at);
			put_block(v, b, pic);
			if (b->change == CHANGE_FREED)
				picture_mark_line(pic, PAGE_STALE);
		} else {
			g = next_group(d, s, &i);
			i++;
			page_diff_group(page, v, s, g, words, pic);
		}
		if (at == d->list.selected)
			picture_mark_line(pic, PAGE_CURSOR);
	}
	free(words);
}

#define TARGET_COLS 60		/* narrower pages do not name the target */
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
 * Blocks at the mark: "1,496 KiB/2,543".  With a filter ">=" if some were freed
 * before it could judge them, and "?" if it judged none.
 */
static void
was_text(const struct page *page, const struct page_view *v,
    const struct difference *s, char out[SUM_TEXT + 2])
{
	const struct page_moment *m = &page->marked->mark;
	bool all = !page_choice_filters(page);
	size_t len = 0;

	if (!all && page->marked->uncopied) {
		snprintf(out, SUM_TEXT, "?");
		return;
	}
	out[0] = '\0';
	if (!all && difference_freed_early(page) > 0)
		base_append_text(out, SUM_TEXT, &len, ">=");
	if (all)
		sum_text(v, (double)m->est_blocks, (double)m->est_bytes,
		    out + len);
	else
		sum_text(v, s->shown.was, s->shown.was_bytes, out + len);
}

/* By group a moved block is one new and one freed, by block it is neither. */
static void
counts_text(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct difference *s, char *out,
    size_t cap, size_t *len)
{
	const struct difference_moved *moved = &s->shown.moved;
	double new = s->shown.total.new.blocks;
	double freed = s->shown.total.freed.blocks;
	double early = (double)difference_freed_early(page);
	/* The filter has judged no early block. */
	bool least = page_choice_filters(page) && early > 0;
	char n[32], m[32];

	if (!least)
		freed += early;
	if (d->by_block) {
		new -= (double)moved->blocks;
		freed -= (double)(moved->blocks - moved->early);
	}
	page_diff_count(n, v, new);
	page_diff_count(m, v, freed);
	base_append(out, cap, len, "%s new  %s%s freed", n,
	    least ? ">=" : "", page->marked->uncopied ? "?" : m);
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

static void
state_text(const struct page *page, const struct page_view *v, int cols,
    char out[STATE_TEXT])
{
	struct page_state st;

	page_state_get(page, v, &st);
	out[0] = '\0';
	if (!st.plain)
		snprintf(out, STATE_TEXT, "  %s",
		    cols < PAGE_WIDE_COLS ? st.brief : st.word);
}

static void
title_text(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct difference *s, int cols, int rows,
    char *out, size_t cap)
{
	const char *part = page_choice_filters(page) ? ", filtered" : "";
	struct page_moment now = { .wall_ms = s->shown.wall_ms };
	bool known = difference_is_current(page, s);
	char from[PAGE_MARK_WHEN], to[PAGE_MOMENT_TEXT], was[SUM_TEXT + 2], is[SUM_TEXT];
	char state[STATE_TEXT], target[PAGE_TARGET_TEXT];
	size_t len = 0;

	state_text(page, v, cols, state);
	page_target_text(v->live, target);
	page_mark_when(page, v, from);
	page_moment_text(page, v, &now, to);
	if (known && cols < PAGE_WIDE_COLS) {
		base_append(out, cap, &len, "H DIFF%s  %s  ", state, from);
		counts_text(d, page, v, s, out, cap, &len);
		base_append(out, cap, &len, "  %s%s", page_diff_view_name(d),
		    part);
		if (cols >= TARGET_COLS && rows >= PAGE_DIFF_BAR_ROWS)
			base_append(out, cap, &len, "  %s", target);
		return;
	}
	base_append(out, cap, &len, "H DIFF%s%s%s  mark %s", target[0] != '\0' ?
	    "  " : "", target, state, from);
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

/* Why a moved block may be listed as one freed and one new. */
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
		base_append(out, cap, len, "In a sample reallocs are not "
		    "followed: such a block %s", so);
	} else if (c == NULL || c->blind) {
		base_append(out, cap, len, "%s were not seen: such a block %s",
		    page->marked->earlier ? "Reallocs before this page came" :
		    "Some reallocs since the mark", so);
	} else if (c->missed > 0) {
		base_group_digits(n, sizeof n, c->missed);
		base_append(out, cap, len, "%s reallocs were not followed: "
		    "such a block %s", n, so);
	} else if (c->forgot && v->look != v->live) {
		base_append(out, cap, len, "In an older picture not all "
		    "reallocs are known: such a block %s", so);
	}
}

static void
notices_text(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct difference *s, char *out,
    size_t cap)
{
	const struct page_marked *m = page->marked;
	double more = (double)m->mark.est_bytes - m->copy_bytes -
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
	else if (difference_freed_early(page) > 0) {
		page_diff_count(n, v, (double)difference_freed_early(page));
		base_human_bytes(bytes, sizeof bytes, more > 0 ?
		    (uint64_t)(more + 0.5) : 0);
		base_append(out, cap, &len, "%s more, %s%s, were freed before "
		    "%s: %s. ", n, page_about(v->look->sample),
		    bytes, m->earlier ? "this page came" :
		    "the mark was copied", d->by_block ? "they are in no row" :
		    "their groups are not known, and FREED and NET lack them");
	}
	if (d->by_block)
		moves_notice(page, v, out, cap, &len);
	if (s->cells.cut)
		base_append(out, cap, &len, "Too many callers: some are "
		    "summed as one without a name. ");
}

static void
listed_text(const struct page_diff *d, const struct page_view *v,
    const struct difference *s, char *out, size_t cap)
{
	const struct difference_found *f = &s->shown;
	uint64_t left = f->new.all - f->new.n + f->grown.all - f->grown.n +
	    f->other.all - f->other.n + f->freed.all - f->freed.n;
	char n[32], m[32];
	size_t len = 0;

	page_diff_count(n, v, (double)f->new.all);
	page_diff_count(m, v, (double)f->freed.all);
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

static void
put_head(const struct page_diff *d, const struct page *page,
    const struct page_view *v, const struct difference *s, int rows,
    struct page_picture *pic)
{
	char text[768];
	int max = rows >= 2 * PAGE_DIFF_BAR_ROWS ? 3 :
	    rows >= PAGE_DIFF_BAR_ROWS ? 2 : 1;
	struct page_chosen chosen;

	title_text(d, page, v, s, pic->cols, rows, text, sizeof text);
	picture_wrap(pic, text, max, PAGE_NEW);
	if (rows < PAGE_DIFF_BAR_ROWS)
		return;
	if (page_choice_filters(page)) {
		difference_filter_sums(page, s, &chosen);
		picture_line(pic);
		page_choice_put_sums(page, v, &chosen, pic);
	}
	notices_text(d, page, v, s, text, sizeof text);
	if (text[0] != '\0')
		picture_wrap(pic, text, max, PAGE_WARN);
	if (!d->by_block)
		return;
	listed_text(d, v, s, text, sizeof text);
	picture_line(pic);
	picture_text(pic, text, pic->cols, PICTURE_FREE);
}

static void
put_bar(const struct page_diff *d, int rows, struct page_picture *pic)
{
	char text[128];

	snprintf(text, sizeof text, "m new mark  f filter  d view  b kind  t "
	    "%s  Enter %s  Esc %s", d->by_block ? "groups" : "blocks",
	    d->by_block ? "detail" : "its blocks", d->of.key != 0 ?
	    "groups" : "close");
	page_overlay_bar(text, rows, pic);
}

static void
put_none(const struct page *page, struct page_picture *pic)
{
	char text[128];
	size_t len = 0;

	base_append(text, sizeof text, &len, "H DIFF  %s%s",
	    page->marked != NULL && page->marked->was_lost ?
	    "The mark is lost: the list has begun again." :
	    "There is no mark.",
	    page_is_on_screen(page) ? " m sets one, Esc closes this" : "");
	picture_wrap(pic, text, 3, PAGE_NEW);
}

static void
put_later(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char at[PAGE_MARK_WHEN], text[320];
	size_t len = 0;

	page_mark_when(page, v, at);
	base_append(text, sizeof text, &len, "H DIFF  The mark of %s is later "
	    "than this picture: there is no difference yet. m sets a new mark, "
	    "Esc closes this", at);
	picture_wrap(pic, text, 4, PAGE_NEW);
}

static void
compose(struct page_diff *d, struct page *page, const struct page_view *v,
    const struct difference *s, int rows, struct page_picture *pic)
{
	int foot = rows >= PAGE_DIFF_BAR_ROWS && !d->plain;

	follow_row(d, s);
	put_head(d, page, v, s, rows, pic);
	if (rows < 2)
		return;
	picture_line(pic);
	if (page->marked->copying) {
		picture_put(pic, "the mark is being copied");
		return;
	}
	if (page_diff_is_pending(d, page, s)) {
		picture_printf(pic, "comparing: %u %%",
		    difference_percent(page, s));
		return;
	}
	if (d->by_block)
		put_block_heading(pic);
	else
		page_diff_heading(v, s, pic);
	put_rows(d, page, v, s, rows - (pic->rows + 1) - foot, pic);
	if (foot)
		put_bar(d, rows, pic);
}

/* Tells the comparison which rows are wanted.  NULL: there is no mark (any more). */
static struct difference *
request_rows(struct page_diff *d, struct page *page, const struct page_view *v)
{
	struct difference *s = difference_ensure(page);

	if (s == NULL)
		return NULL;
	if (d->mark_no != page->marked->mark_no ||
	    d->kind != page->group.kind) {
		page_diff_back(d);
		to_top(d);
		d->mark_no = page->marked->mark_no;
		d->kind = page->group.kind;
	}
	if (d->of.key != 0 && difference_is_current(page, s))
		page_group_ref_find_in(s->profile, v,
		    difference_group_kind(s)->by, s->groups.names, &d->of);
	s->wanted.watched = true;
	s->wanted.by_block = d->by_block;
	s->wanted.of_key = d->of.key;
	/* Another portion now, so that this picture may already have the rows. */
	if (page_diff_is_pending(d, page, s) && s->step == COMPARE_IDLE)
		page_marked_refresh(page, v);
	s = difference_ensure(page);
	if (s != NULL)
		s->wanted.watched = true;
	return s;
}

int
page_diff_compose(struct page_diff *d, struct page *page,
    const struct page_view *v, int cols, int rows, struct page_picture *pic)
{
	const struct difference *s = request_rows(d, page, v);
	int r;

	d->list.first = 0;
	picture_begin(pic, cols, page->opts.ascii);
	if (s == NULL)
		put_none(page, pic);
	else if (page_moment_is_ahead(&page->marked->mark, v))
		put_later(page, v, pic);
	else
		compose(d, page, v, s, rows, pic);
	r = picture_end(pic);
	if (r == 0 && !d->plain)
		page_list_edges(&d->list, d->rows, pic);
	return r;
}
