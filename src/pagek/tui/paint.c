#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "../layout/layout.h"
#include "terminal.h"
#include "tui.h"

#define MOVE_BYTES 6		/* to move the cursor */

/* From blue, the youngest, to yellow, in the cube of 256 colours. */
#define RAMP_COLORS 256
static const short ramp[] = { 33, 74, 108, 143, 184, 226 };

_Static_assert(PAGE_AGE + BASE_NELEM(ramp) - 1 == PAGE_AGE_LAST,
    "each age has a colour");

/* Each mark has the pair of its number; 0 is the terminal's own. */
void
paint_colors(struct paint *p, const struct page_opts *opts)
{
	struct page_style style;
	unsigned i;

	p->repaint = true;
	p->colors = terminal_colors(opts->color);
	if (p->colors) {
		start_color();
		use_default_colors();
	}
	for (i = 0; i < PAGE_MARKS; i++) {
		style = opts->style != NULL ? opts->style[i] :
		    page_style_usual((enum page_mark)i);
		if (!p->colors)
			style = page_style_bare((enum page_mark)i, style);
		else if (i > 0)
			init_pair((short)i, (short)style.ink,
			    (short)style.ground);
		p->style[i] = style;
	}
	p->ramp = p->colors && COLORS >= RAMP_COLORS;
	for (i = 0; i < BASE_NELEM(ramp) && p->ramp; i++)
		init_pair((short)(PAGE_AGE + i), ramp[i], -1);
}

void
paint_repaint(struct paint *p)
{
	p->repaint = true;
	clearok(curscr, TRUE);
}

void
paint_fini(struct paint *p)
{
	unsigned i;

	for (i = 0; i < BASE_NELEM(p->frame); i++) {
		page_picture_fini(&p->frame[i].picture);
		page_picture_fini(&p->frame[i].over);
		free(p->frame[i].line);
	}
	*p = (struct paint){ 0 };
}

static attr_t
mark_attr(const struct paint *p, enum page_mark mark, short *pair)
{
	const struct page_style *style;

	if (mark >= PAGE_AGE) {
		*pair = p->ramp ? (short)mark : 0;
		return A_NORMAL;
	}
	style = &p->style[mark];
	*pair = style->ink >= 0 || style->ground >= 0 ? (short)mark : 0;
	return (style->attrs & PAGE_BOLD ? A_BOLD : 0) |
	    (style->attrs & PAGE_DIM ? A_DIM : 0) |
	    (style->attrs & PAGE_REVERSE ? A_REVERSE : 0) |
	    (style->attrs & PAGE_UNDERLINE ? A_UNDERLINE : 0);
}

static void
paint_marks(const struct paint *p, int y, const struct page_line *line)
{
	const struct page_span *span;
	short pair;
	attr_t attr;
	int i;

	for (i = 0; i < line->nspan; i++) {
		span = &line->span[i];
		attr = mark_attr(p, span->mark, &pair);
		mvchgat(y, span->from, span->to - span->from, attr, pair,
		    NULL);
	}
}

static bool
same_marks(const struct page_line *a, const struct page_line *b)
{
	int i;

	if (a->nspan != b->nspan)
		return false;
	for (i = 0; i < a->nspan; i++)
		if (a->span[i].from != b->span[i].from ||
		    a->span[i].to != b->span[i].to ||
		    a->span[i].mark != b->span[i].mark)
			return false;
	return true;
}

static bool
same_line(const struct page_line *a, const struct page_line *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a->text, b->text) == 0 && same_marks(a, b);
}

/* Both are ASCII, without control characters: each byte is one column. */
static bool
are_aligned(const char *a, const char *b)
{
	while (*a != '\0' && *b != '\0' && (*a & 0x80) == 0 &&
	    (*b & 0x80) == 0) {
		a++;
		b++;
	}
	return *a == '\0' && *b == '\0';
}

/* Curses takes a hundred instructions for each character it is given. */
static void
add_changes(int y, const char *was, const char *text)
{
	int i, end;

	for (i = 0; text[i] != '\0'; i = end) {
		end = i + 1;
		if (was[i] == text[i])
			continue;
		while (text[end] != '\0' && was[end] != text[end])
			end++;
		mvaddnstr(y, i, text + i, end - i);
	}
}

void
paint_row(const struct paint *p, int y, const struct page_line *was,
    const struct page_line *line)
{
	if (was != NULL && line != NULL && same_marks(was, line) &&
	    are_aligned(was->text, line->text)) {
		add_changes(y, was->text, line->text);
	} else {
		move(y, 0);
		clrtoeol();
		if (line == NULL)
			return;
		addstr(line->text);
	}
	paint_marks(p, y, line);
}

static unsigned
line_cost(const struct page_line *a, const struct page_line *b)
{
	const char *from = a != NULL ? a->text : "";
	const char *to = b != NULL ? b->text : "";
	size_t before = strlen(from), after = strlen(to);
	unsigned cost = 0, same = MOVE_BYTES;
	size_t i;

	for (i = 0; i < before || i < after; i++) {
		if (i < before && i < after && from[i] == to[i]) {
			same++;
			continue;
		}
		cost += 1 + (same < MOVE_BYTES ? same : MOVE_BYTES);
		same = 0;
	}
	return cost;
}

static int
lay_out(struct paint_frame *f, struct app *app)
{
	void *lines = f->line;
	int rows = LINES, said, y, i, r;

	app->page->covered = app_panel_top(app) != APP_PAGE_K &&
	    !app_panel_covers(app);
	r = page_compose(app->page, app->session, COLS, rows, &f->picture);
	if (r < 0)
		return r;
	r = base_grow(&lines, &f->cap, (size_t)rows, sizeof *f->line);
	if (r < 0)
		return r;
	f->line = lines;
	for (y = 0; y < rows; y++)
		f->line[y] = y < f->picture.rows ? &f->picture.line[y] : NULL;
	if (!app_panel_compose(app, &f->over))
		return 0;
	y = rows > 4 && !app_panel_covers(app) ? 1 : 0;
	/* A list of completions covers an overlay too. */
	said = f->picture.said > 1 ? f->picture.said : 0;
	for (i = 0; i < f->over.rows && y < rows - said; i++, y++)
		f->line[y] = &f->over.line[i];
	/* Hide the page's rows below a short overlay. */
	for (; y < rows - (said > 0 ? said : 1); y++)
		f->line[y] = NULL;
	return 0;
}

static void
put_cursor(const struct page_picture *pic)
{
	if (pic->cursor_row >= 0 && pic->cursor_row < LINES) {
		move(pic->cursor_row, pic->cursor_col);
		curs_set(1);
	} else {
		curs_set(0);
	}
}

/* Returns the bytes written, or an estimate if they are not known. */
static uint64_t
write_picture(const struct paint *p, const struct paint_frame *f, int rows)
{
	uint64_t bytes = 0;
	int y;

	terminal_frame_begin();
	put_cursor(&f->picture);
	refresh();
	if (terminal_frame_end(&bytes))
		return bytes;
	if (!p->repaint)
		return p->cost;
	for (y = 0; y < rows; y++)
		bytes += f->line[y] != NULL ? strlen(f->line[y]->text) : 0;
	return bytes;
}

void
paint_app(struct paint *p, struct app *app)
{
	struct paint_frame *was = &p->frame[p->now];
	struct paint_frame *f = &p->frame[1 - p->now];
	/* After endwin(), refresh() may change LINES and COLS. */
	int cols = COLS, rows = LINES, y;
	bool changed;

	if (lay_out(f, app) < 0)
		return;
	if (p->cols != cols || p->rows != rows)
		p->repaint = true;
	p->cost = 0;
	changed = p->repaint || f->picture.cursor_row >= 0 ||
	    was->picture.cursor_row >= 0;
	for (y = 0; y < rows; y++) {
		if (!p->repaint && same_line(was->line[y], f->line[y]))
			continue;
		p->cost += p->repaint ? 0 : line_cost(was->line[y], f->line[y]);
		paint_row(p, y, p->repaint ? NULL : was->line[y], f->line[y]);
		changed = true;
	}
	/* Without changes, refresh() would compare each cell. */
	p->sent = changed ? write_picture(p, f, rows) : 0;
	p->repaint = false;
	p->cols = cols;
	p->rows = rows;
	p->now = 1 - p->now;
}
