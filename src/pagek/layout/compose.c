#include <langinfo.h>
#include <stdio.h>
#include <string.h>

#include "../difference/difference.h"
#include "../history/history.h"
#include "../stress/stress.h"
#include "../picture/typed_line.h"
#include "../blocks/choice.h"
#include "../rows/freed_rows.h"
#include "../rows/find.h"
#include "../rows/follow.h"
#include "../blocks/free_blocks.h"
#include "../rows/frozen_order.h"
#include "../groups/groups.h"
#include "../rows/rows.h"
#include "fields.h"
#include "layout.h"

#define SAID_LINES 4	/* of a message that is too long for the bottom line */
#define FOOT_ROWS 8	/* a lower page has rows in place of a key bar */
#define FOOT_COLS 40
#define FULL_ROWS 16	/* ... and in place of the full page's extra lines */
#define NOTICE_LINES 3
#define CHUNK_ROWS 64

static bool
is_strict(const struct page *page)
{
	return page->layout == PAGE_CLASSIC_STRICT;
}

static const struct page_layout_ops *
wide_ops(int cols, int rows)
{
	return cols >= PAGE_FULL_COLS && (rows == 0 || rows >= FULL_ROWS) ?
	    &page_full : &page_wide;
}

static const struct page_layout_ops *
layout_ops(const struct page *page, int cols, int rows)
{
	switch (page->layout) {
	case PAGE_CLASSIC:
	case PAGE_CLASSIC_STRICT:
		return &page_classic;
	case PAGE_WIDE:
		return wide_ops(cols, rows);
	case PAGE_AUTO:
		break;
	}
	return cols >= PAGE_WIDE_COLS ? wide_ops(cols, rows) : &page_classic;
}

/* The rows of a large list are not renewed in each picture: some are freed. */
static bool
is_freed(const struct page *page, const struct page_view *v,
    const struct blk *b)
{
	if (page_rows_are_frozen(page))
		return page_row_is_freed(page, v, b);
	if (page->group.kind == 0 && !page_choice_on(page))
		return false;
	return !blklist_has(v->look->list, b, NULL);
}

static enum page_mark
row_mark(const struct page_view *v, const struct page_state *st,
    const struct blk *b, bool freed)
{
	if (st->stale || page_is_free(b) || freed)
		return PAGE_STALE;
	if (page_cell_seconds(v->look, b) == 0)
		return PAGE_NEW;
	return PAGE_PLAIN;
}

static void
put_row(const struct page *page, const struct page_view *v,
    const struct page_layout_ops *ops, const struct blk *b, bool freed,
    struct page_picture *pic)
{
	struct page_view then;

	picture_line(pic);
	if (freed) {
		then = *v;
		then.gone = true;
		v = &then;
	}
	ops->row(page, v, b, pic);
}

struct row_put {
	const struct page_view *v;
	const struct page_state *st;
	const struct page_layout_ops *ops;
};

static void
put_marked_row(const struct page *page, const struct row_put *r,
    const struct blk *b, bool freed, bool cursor, struct page_picture *pic)
{
	enum page_mark mark = cursor ? PAGE_CURSOR :
	    row_mark(r->v, r->st, b, freed);

	put_row(page, r->v, r->ops, b, freed, pic);
	picture_mark_line(pic, mark);
	if (mark == PAGE_PLAIN && r->ops->mark != NULL &&
	    !page_paints_little(page))
		r->ops->mark(r->v, b, pic);
}

static void
put_rows(struct page *page, const struct row_put *r, uint64_t count,
    struct page_picture *pic)
{
	struct blk rows[CHUNK_ROWS];
	uint64_t at = page->offs, end = at + count;
	size_t n, i;

	page->found.rows_missing = false;
	while (at < end) {
		n = end - at < CHUNK_ROWS ? (size_t)(end - at) : CHUNK_ROWS;
		n = page_rows_blocks(page, r->v, at, rows, n);
		if (n == 0) {
			page->found.rows_missing = r->v->look->window;
			break;
		}
		for (i = 0; i < n; i++, at++)
			put_marked_row(page, r, &rows[i], is_freed(page, r->v,
			    &rows[i]), page->cursor.on && at == page->cursor.at,
			    pic);
	}
}

/* On a screen a freed block stays for a second; false: nothing was put. */
static bool
put_shown(struct page *page, const struct row_put *r, uint64_t count,
    int room, struct page_picture *pic)
{
	const struct page_shown_row *shown;
	size_t n, i;

	n = page_freed_rows_merge(page, r->v, (size_t)count, (size_t)room,
	    &shown);
	for (i = 0; i < n; i++)
		put_marked_row(page, r, &shown[i].blk, shown[i].freed ||
		    is_freed(page, r->v, &shown[i].blk), page->cursor.on &&
		    !shown[i].freed && shown[i].at == page->cursor.at, pic);
	if (n > 0)
		page->found.spots.rows = (int)n;
	return n > 0;
}

/* room 0: text output. */
static void
put_blocks(struct page *page, const struct page_view *v,
    const struct page_state *st, const struct page_layout_ops *ops,
    uint64_t count, int room, struct page_picture *pic)
{
	const struct row_put r = { .v = v, .st = st, .ops = ops };

	if (room == 0 || !put_shown(page, &r, count, room, pic))
		put_rows(page, &r, count, pic);
}

static void
put_groups(const struct page *page, const struct page_view *v,
    const struct page_state *st, uint64_t count, struct page_picture *pic)
{
	uint64_t at, end = page->offs + count;
	struct blk b;

	for (at = page->offs; at < end; at++) {
		picture_line(pic);
		page_group_row(page, v, at, pic);
		if (page->cursor.on && at == page->cursor.at)
			picture_mark_line(pic, PAGE_CURSOR);
		else if (page_rows_blocks(page, v, at, &b, 1) == 1)
			picture_mark_line(pic, row_mark(v, st, &b,
			    is_freed(page, v, &b)));
		else if (st->stale)
			picture_mark_line(pic, PAGE_STALE);
	}
}

struct foot {
	bool trend;		/* above them */
	bool stress;
	bool about;
	bool status;
	bool bar;
};

static int
foot_lines(const struct foot *foot)
{
	return foot->stress + foot->about + foot->status + foot->bar;
}

/* The classic page has a bottom when it is taller than its list, or tall. */
static struct foot
plan_foot(const struct page *page, const struct page_layout_ops *ops,
    int cols, int rows, int room, uint64_t total)
{
	struct foot foot = { 0 };

	if (is_strict(page))
		return foot;
	foot.status = rows == 0 || rows >= FOOT_ROWS ||
	    total < (uint64_t)room;
	foot.bar = page->medium == PAGE_SCREEN && rows >= FOOT_ROWS &&
	    cols >= FOOT_COLS;
	foot.stress = page->opts.stress && page->levels != NULL &&
	    rows >= FOOT_ROWS;
	foot.trend = ops->trend != NULL;
	foot.about = ops->about != NULL && page->medium == PAGE_SCREEN;
	return foot;
}

/* The prompt and the typed line, scrolled so that the cursor is in sight. */
static void
put_prompt(const struct page *page, int rows, struct page_picture *pic)
{
	const struct typed_line *line = page->prompt.line;
	bool ascii = page->opts.ascii;
	const char *label = page->prompt.text;
	size_t from;
	int label_cols;

	/* The prompt is cut at its beginning, to at most half of the line. */
	while (picture_width(label, ascii) >= (line != NULL && pic->cols > 1 ?
	    (pic->cols + 1) / 2 : pic->cols) && label[0] != '\0')
		do {
			label++;
		} while (((unsigned char)label[0] & 0xc0) == 0x80);
	picture_text(pic, label, pic->cols, PICTURE_FREE);
	label_cols = picture_col(pic);
	pic->cursor_row = rows - 1;
	pic->cursor_col = label_cols;
	if (line == NULL)
		return;
	from = line_shown(line, pic->cols - label_cols, ascii);
	picture_clip(pic, line->text + from, pic->cols - label_cols,
	    PICTURE_FREE);
	pic->cursor_col += line_cursor(line, from, ascii);
}

static int
put_over(const char *text, int max, struct page_picture *pic)
{
	int n, i;

	/* Put it once to count its rows, then remove both. */
	n = picture_wrap(pic, text, max, PAGE_NEW);
	for (i = 0; i < 2 * n; i++)
		picture_unline(pic);
	return picture_wrap(pic, text, n, PAGE_NEW);
}

static int
put_above(const struct page *page, int rows, struct page_picture *pic)
{
	const char *choices = page->prompt.choices;
	const char *text = choices != NULL && choices[0] != '\0' ? choices :
	    page->message;
	int max = (rows - 1) / 2;

	return text[0] != '\0' && max > 0 ? put_over(text, max, pic) : 0;
}

/* A mark over the cursor: the typed line is wrong there. */
static void
put_wrong(const struct page *page, struct page_picture *pic)
{
	const struct typed_line *line = page->prompt.line;
	int label = picture_width(page->prompt.text, page->opts.ascii), at;

	picture_line(pic);
	at = label + line_cursor(line, line_shown(line, pic->cols - label,
	    page->opts.ascii), page->opts.ascii);
	picture_printf(pic, "%*sv", at, "");
	picture_mark(pic, at, at + 1, PAGE_WARN);
}

static void
put_last_word(const struct page *page, int rows, struct page_picture *pic)
{
	const struct page_prompt *prompt = &page->prompt;
	const char *say = prompt->text != NULL ? prompt->text : page->message;
	bool wrong;

	pic->said = 0;
	if (page->medium != PAGE_SCREEN || rows == 0 ||
	    (say[0] == '\0' && prompt->line == NULL))
		return;
	if (prompt->text == NULL && prompt->line == NULL &&
	    picture_cols(pic, say) > pic->cols && rows >= PAGE_MIN_ROWS) {
		pic->said = put_over(say, rows - 3 < SAID_LINES ? rows - 3 :
		    SAID_LINES, pic);
		return;
	}
	picture_unline(pic);
	pic->said = 1;
	wrong = prompt->wrong && prompt->line != NULL && rows >= FOOT_ROWS &&
	    2 * picture_width(prompt->text, page->opts.ascii) < pic->cols;
	if (wrong)
		picture_unline(pic);
	if (prompt->line != NULL)
		pic->said += put_above(page, rows, pic);
	if (wrong)
		put_wrong(page, pic);
	pic->said += wrong;
	picture_line(pic);
	if (prompt->text != NULL) {
		put_prompt(page, rows, pic);
		return;
	}
	picture_text(pic, say, pic->cols, PICTURE_FREE);
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
}

static void
symbols_text(const struct page *page, const struct page_view *v, char *out,
    size_t cap)
{
	const struct page_groups *g = page->groups;
	char n[32];
	size_t len = 0;

	out[0] = '\0';
	if (page->group.kind != 0 && g != NULL)
		page_groups_waiting(g, out, cap);
	else
		page_choice_waiting(page, out, cap);
	if (out[0] != '\0')
		return;
	if (v->fetching[0] != '\0') {
		base_append(out, cap, &len, "symbols: fetching %s",
		    v->fetching);
	} else if (page->group.kind != 0 && g != NULL && g->missing > 0 &&
	    v->pending > 0) {
		base_group_digits(n, sizeof n, g->missing);
		base_append(out, cap, &len, "symbols: waiting for %s stack%s",
		    n, g->missing == 1 ? "" : "s");
	}
}

static void
put_bar(struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char text[320];
	int cols;

	symbols_text(page, v, text, sizeof text);
	cols = text[0] != '\0' ? picture_cols(pic, text) + 2 : 0;
	page->found.spots.bar_cols = pic->cols - cols;
	page_key_bar(pic, pic->cols - cols, page->covered);
	if (cols == 0)
		return;
	if (picture_col(pic) > 0)
		picture_to(pic, pic->cols - cols + 2);
	cols = picture_col(pic);
	picture_text(pic, text, pic->cols - cols, PICTURE_FREE);
	picture_mark(pic, cols, picture_col(pic), PAGE_WARN);
}

static void
put_blank(struct page_picture *pic, int until)
{
	while (!picture_failed(pic) && pic->rows < until - 1)
		picture_line(pic);
}

static void
put_foot(struct page *page, const struct page_view *v,
    const struct page_state *st, const struct page_layout_ops *ops,
    struct foot foot, int rows, struct page_picture *pic)
{
	/* The line being written is not in pic->rows yet. */
	int want = rows - foot_lines(&foot);

	if (rows > 0)
		put_blank(pic, want);
	if (foot.stress) {
		picture_line(pic);
		page_stress_strip(page->levels, pic);
	}
	if (foot.about) {
		picture_line(pic);
		ops->about(page, v, pic);
	}
	if (foot.status) {
		picture_line(pic);
		ops->status(page, v, st, pic);
	}
	if (foot.bar) {
		picture_line(pic);
		page->found.spots.bar = pic->rows;
		put_bar(page, v, pic);
	}
	put_last_word(page, rows, pic);
}

/* Lines that say which blocks the rows are, if not all. */
static int
put_extent(const struct page *page, const struct page_view *v, int rows,
    struct page_picture *pic)
{
	int lines = 0;

	if (page_is_draining(page)) {
		picture_line(pic);
		page_drain_put(page, v, pic);
		lines++;
	}
	if (page_choice_filters(page)) {
		picture_line(pic);
		page_choice_put(page, v, pic);
		lines++;
	}
	if (page->group.opened && page->groups != NULL &&
	    (rows == 0 || rows >= FOOT_ROWS)) {
		picture_line(pic);
		page_members_put(page, pic);
		lines++;
	}
	return lines;
}

/* The strict page has a notice only while it has no rows. */
static int
put_notice(const struct page *page, const struct page_view *v,
    const struct page_state *st, int rows, int extent,
    struct page_picture *pic)
{
	int max = NOTICE_LINES;

	if (st->notice[0] == '\0' ||
	    (is_strict(page) && page_view_total(v) > 0))
		return 0;
	/* Half of a low screen stays for rows. */
	if (rows > 0 && max > (rows - 3) / 2 - extent)
		max = (rows - 3) / 2 - extent;
	return picture_wrap(pic, st->notice, max,
	    st->mark == PAGE_PLAIN ? PAGE_WARN : st->mark);
}

static void
compose_full(struct page *page, const struct page_view *v,
    const struct page_state *st, int rows, struct page_picture *pic)
{
	const struct page_layout_ops *ops = layout_ops(page, pic->cols, rows);
	uint64_t total = page_rows_total(page, v), count;
	struct foot foot;
	int extent, room;

	/* OFFS stands above its rows: follow the cursor first. */
	extent = put_extent(page, v, rows, pic);
	room = rows - 3 - extent -
	    put_notice(page, v, st, rows, extent, pic);
	picture_begin(pic, pic->cols, page->opts.ascii);
	foot = plan_foot(page, ops, pic->cols, rows, room, total);
	room -= foot.trend + foot_lines(&foot);
	page_update_cursor(page, v, rows == 0 ? -1 : room);

	picture_line(pic);
	ops->title(page, v, st, pic);
	if (foot.trend) {
		picture_line(pic);
		ops->trend(page, v, pic);
	}
	picture_line(pic);
	ops->node(page, v, pic);
	put_notice(page, v, st, rows, extent, pic);
	put_extent(page, v, rows, pic);
	picture_line(pic);
	if (page_shows_groups(page))
		page_group_heading(page, v, pic);
	else
		ops->heading(page, v, pic);
	count = total - page->offs;
	if (rows > 0 && count > (uint64_t)room)
		count = (uint64_t)room;
	page->found.spots.heading = pic->rows;
	page->found.spots.first = pic->rows + 1;
	page->found.spots.rows = rows > 0 ? (int)count : 0;
	if (page_shows_groups(page))
		put_groups(page, v, st, count, pic);
	else
		put_blocks(page, v, st, ops, count, rows > 0 ? room : 0,
		    pic);
	put_foot(page, v, st, ops, foot, rows, pic);
}

int
page_compose_view(struct page *page, const struct page_view *v, int cols,
    int rows, struct page_picture *pic)
{
	struct page_state st;
	int r;

	if (rows < 0)
		rows = 0;
	page_free_begin(page, v);
	page_sample(page, v);
	page_trend_sample(page, v);
	page->found.spots = (struct page_spots){ .heading = -1, .first = -1,
	    .bar = -1 };
	r = page_choice_refresh(page, v);
	if (r < 0 && !page_is_on_screen(page))
		return r;
	if (r < 0) {
		page_choice_none(page);
		snprintf(page->message, sizeof page->message,
		    "no memory for a filter");
	}
	page_marked_refresh(page, v);
	/* Without memory for groups there are still the blocks. */
	if (page->group.kind != 0 && page_groups_refresh(page, v) < 0) {
		page_set_group(page, 0);
		snprintf(page->message, sizeof page->message,
		    "no memory for groups");
	}
	page_follow_refresh(page, v);
	page_freeze_refresh(page, v);
	page_state_get(page, v, &st);
	picture_begin(pic, cols, page->opts.ascii);
	if (pic->cols < PAGE_MIN_COLS || (rows > 0 && rows < PAGE_MIN_ROWS)) {
		page_update_cursor(page, v, 1);
		page_compose_tiny(page, v, &st, rows, pic);
		put_last_word(page, rows, pic);
	} else {
		compose_full(page, v, &st, rows, pic);
	}
	return picture_end(pic);
}

void
page_init(struct page *page, const struct page_opts *opts)
{
	*page = (struct page){ .opts = *opts, .layout = opts->layout,
		.units = opts->units,
		.group = { .kind = opts->group, .below = opts->group_below,
		    .last = opts->group, .sort = opts->group_sort,
		    .reverse = opts->group_reverse } };
	if (page->opts.fps < 1 || page->opts.fps > NODES_HZ)
		page->opts.fps = NODES_HZ;
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		page->opts.ascii = true;
}

void
page_fini(struct page *page)
{
	page_resume(page);
	page_find_free(page->find);
	page_groups_free(page->groups);
	page_marked_free(page->marked);
	page_drain_free(page->drain);
	page_choice_free(page->choice);
	page_free_fini(page);
	page_trend_free(page->trend);
	page_freed_rows_free(page->freed_rows);
	page_follow_free(page->follow);
	page_history_free(page->history);
	page_stress_free(page->levels);
	page_frozen_order_free(page->freeze.order);
	page->find = NULL;
	page->groups = NULL;
	page->marked = NULL;
	page->drain = NULL;
	page->choice = NULL;
	page->trend = NULL;
	page->freed_rows = NULL;
	page->follow = NULL;
	page->history = NULL;
	page->levels = NULL;
	page->freeze.order = NULL;
}

void
page_news(void *arg)
{
	struct page *page = arg;

	page->news = true;
}

int
page_compose(struct page *page, struct nodes_session *session, int cols,
    int rows, struct page_picture *pic)
{
	struct page_view v;

	page_view_shown(&v, page, session);
	return page_compose_view(page, &v, cols, rows, pic);
}
