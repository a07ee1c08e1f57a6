/* See columns.h. */
#include <stdio.h>
#include <string.h>

#include "columns.h"
#include "free.h"
#include "order.h"
#include "units.h"

struct column {
	const char *title;	/* as wide as the column, or left-aligned */
	int gap;		/* blanks before it */
	int width;
	int rank;		/* the lowest is given room first */
	int keep;		/* columns that the function must keep */
	bool wide_only;		/* a classic stream knows nothing of it */
	bool free;		/* what is free has it too */
	void (*put)(const struct page_view *, const struct blk *, int width,
	    struct page_picture *);
};

static void
put_addr(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	if (v->look->classic)
		picture_printf(pic, "%08X%*s", (unsigned)b->addr, width - 8,
		    "");
	else
		picture_printf(pic, "%0*llx", width,
		    (unsigned long long)b->addr);
}

static void
put_size(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	char text[PAGE_SIZE_TEXT];

	page_size_text(v->units, b->size, width, text);
	picture_put(pic, text);
}

/* What the allocator reserved, as far as the record can say. */
static void
put_used(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	char text[PAGE_SIZE_TEXT];

	page_size_text(v->units, b->size + (uint64_t)b->overhead * 16, width,
	    text);
	picture_put(pic, text);
}

static void
put_type(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	(void)v;
	picture_printf(pic, "%0*X", width, b->type);
}

static void
put_descr(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	picture_text(pic, page_is_free(b) ? PAGE_FREE_WORD :
	    page_descr(v->look, b), width, PICTURE_LEFT);
}

static void
put_thread(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	picture_text(pic, page_cell_thread(v, b), width, PICTURE_LEFT);
}

static void
put_rnod(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	char text[8];

	page_cell_rnod(text, v->look, b);
	picture_printf(pic, "%*s", width, text);
}

/*
 * From one minute on, ages advance in steps of ten seconds: rows that all change
 * every second would be most of the output for an idle target.  The detail shows
 * the exact second.
 */
static void
put_age(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	uint64_t s = page_cell_seconds(v->look, b);
	char text[8];

	page_cell_age(text, s < 60 ? s : s - s % 10);
	picture_printf(pic, "%*s", width, v->gone ? "freed" : text);
}

static void
put_glyph(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	picture_printf(pic, "%*c", width,
	    page_cell_age_glyph(page_cell_seconds(v->look, b)));
}

/* Of a stream that declares no levels the nibble is shown as it is. */
static void
put_level(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	unsigned low = b->flags & 0xf;

	if (!v->look->levels)
		picture_printf(pic, "%*X", width, low);
	else if ((low & REC_LEVEL_MASK) != 0)
		picture_printf(pic, "%*u", width, low & REC_LEVEL_MASK);
	else
		picture_blanks(pic, width);
}

static void
put_seq(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	char text[24];

	(void)v;
	base_fit_count(text, width, b->seq);
	picture_put(pic, text);
}

/* What the age counts from; it stands still, as the age does not. */
static void
put_born(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	char text[PAGE_BORN_TEXT];

	page_cell_born(v, b, text);
	picture_printf(pic, "%-*s", width, text);
}

static const struct column columns[] = {
	{ "ADDRESS", 0, 12, 0, 0, false, true, put_addr },
	{ "   SIZE", 1, 7, 1, 0, false, true, put_size },
	{ "   USED", 1, 7, 8, 40, true, false, put_used },
	{ "TY", 1, 2, 3, 0, false, false, put_type },
	{ "DESCR", 1, 8, 4, 0, false, true, put_descr },
	{ "THREAD", 1, 8, 6, 12, false, false, put_thread },
	{ "RNOD", 1, 4, 5, 12, false, false, put_rnod },
	{ " AGE ", 1, 5, 2, 0, false, false, put_age },
	{ "H", 1, 1, 7, 40, false, false, put_glyph },
	{ "L", 1, 1, 9, 40, false, false, put_level },
	{ "       SEQ", 1, 10, 10, 40, false, false, put_seq },
	{ "BORN", 1, 12, 11, 60, false, false, put_born },
};

#define NCOLUMNS BASE_NELEM(columns)
#define FUNCTION_GAP 2
#define FUNCTION_TITLE 8	/* columns of its word: with fewer there is no such column */

struct plan {
	bool shown[NCOLUMNS];
	int function;		/* columns; 0: no room for it */
};

/* By rank: a column is in when it and the function's share still fit. */
static void
plan_columns(const struct page_view *v, int cols, struct plan *plan)
{
	size_t rank, i;
	int left = cols, need;

	*plan = (struct plan){ 0 };
	for (rank = 0; rank < NCOLUMNS; rank++) {
		for (i = 0; i < NCOLUMNS; i++)
			if (columns[i].rank == (int)rank)
				break;
		if (columns[i].wide_only && v->look->classic)
			continue;
		need = columns[i].gap + columns[i].width;
		if (columns[i].keep > 0)
			need += FUNCTION_GAP + columns[i].keep;
		if (need > left)
			continue;
		plan->shown[i] = true;
		left -= columns[i].gap + columns[i].width;
	}
	if (left >= FUNCTION_GAP + FUNCTION_TITLE)
		plan->function = left - FUNCTION_GAP;
}

static bool
is_title(const char *title, const char *word)
{
	size_t len = word != NULL ? strlen(word) : 0;

	title += strspn(title, " ");
	return len > 0 && strncmp(title, word, len) == 0 &&
	    title[len + strspn(title + len, " ")] == '\0';
}

bool
page_columns_show(const struct page_view *v, int cols, const char *word)
{
	struct plan plan;
	size_t i;

	plan_columns(v, cols, &plan);
	for (i = 0; i < NCOLUMNS; i++)
		if (plan.shown[i] && is_title(columns[i].title, word))
			return true;
	return plan.function > 0 && is_title("FUNCTION", word);
}

const char *
page_columns_title(const struct page_view *v, int cols, int at)
{
	struct plan plan;
	int end = 0;
	size_t i;

	plan_columns(v, cols, &plan);
	for (i = 0; i < NCOLUMNS; i++) {
		if (!plan.shown[i])
			continue;
		end += columns[i].gap + columns[i].width;
		if (at < end)
			/* By birth or by age is the same order. */
			return columns[i].put == put_born ? "AGE" :
			    columns[i].title;
	}
	return plan.function > 0 ? "FUNCTION" : NULL;
}

/*
 * The function's title, and to the right of it what is free.  Where both do not
 * fit, that a function is one is plain to see.
 */
static void
put_right_heading(const struct page *page, const struct page_view *v,
    bool function, struct page_picture *pic)
{
	int room = pic->cols - picture_col(pic) - FUNCTION_GAP;
	char text[64];
	bool both;
	int from;

	page_free_text(page, v, room - FUNCTION_GAP - FUNCTION_TITLE, text,
	    sizeof text);
	both = text[0] != '\0';
	if (!both)
		page_free_text(page, v, room, text, sizeof text);
	if (function && (both || text[0] == '\0')) {
		picture_blanks(pic, FUNCTION_GAP);
		from = picture_col(pic);
		picture_put(pic, "FUNCTION");
		if (is_title("FUNCTION", page_sort_title(&page->opts))) {
			if (picture_col(pic) + 2 <= pic->cols)
				picture_printf(pic, " %c",
				    page_sorting_arrow(&page->opts));
			picture_mark(pic, from, picture_col(pic), PAGE_NEW);
		}
	}
	if (text[0] != '\0') {
		picture_to(pic, pic->cols - (int)strlen(text));
		picture_put(pic, text);
	}
}

/*
 * The title with its arrow: within the column's width if it can, else in the
 * blank behind it, which every column has.
 */
static int
put_sorted(const struct column *c, char arrow, struct page_picture *pic)
{
	const char *word = c->title + strspn(c->title, " ");
	int len = (int)strcspn(word, " "), from;
	int blank = c->width >= len + 2, rest = c->width - len - blank - 1;
	bool right = word != c->title && rest > 0;

	if (right)
		picture_blanks(pic, rest);
	from = picture_col(pic);
	picture_printf(pic, "%.*s%*s%c", len, word, blank, "", arrow);
	picture_mark(pic, from, picture_col(pic), PAGE_NEW);
	if (!right && rest > 0)
		picture_blanks(pic, rest);
	return rest < 0;
}

static void
put_title(const struct column *c, struct page_picture *pic)
{
	int from = picture_col(pic);

	picture_put(pic, c->title);
	picture_to(pic, from + c->width);
}

void
page_columns_heading(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	const char *sorted = page_sort_title(&page->opts);
	char arrow = page_sorting_arrow(&page->opts);
	struct plan plan;
	int gone = 0;		/* of the next one's gap */
	size_t i;

	picture_mark_line(pic, PAGE_HEADING);
	plan_columns(v, pic->cols, &plan);
	for (i = 0; i < NCOLUMNS; i++) {
		if (!plan.shown[i])
			continue;
		picture_blanks(pic, columns[i].gap - gone);
		gone = 0;
		if (is_title(columns[i].title, sorted))
			gone = put_sorted(&columns[i], arrow, pic);
		else
			put_title(&columns[i], pic);
	}
	put_right_heading(page, v, plan.function > 0, pic);
}

void
page_columns_row(const struct page *page, const struct page_view *v,
    const struct blk *b, struct page_picture *pic)
{
	struct plan plan;
	size_t i;

	(void)page;
	plan_columns(v, pic->cols, &plan);
	for (i = 0; i < NCOLUMNS; i++) {
		if (!plan.shown[i])
			continue;
		picture_blanks(pic, columns[i].gap);
		if (page_is_free(b) && !columns[i].free)
			picture_blanks(pic, columns[i].width);
		else
			columns[i].put(v, b, columns[i].width, pic);
	}
	if (plan.function > 0)
		page_cell_function(v, b, FUNCTION_GAP, plan.function, pic);
}

/* The glyph of the age has the colour of its step. */
void
page_columns_mark(const struct page_view *v, const struct blk *b,
    struct page_picture *pic)
{
	struct plan plan;
	int at = 0;
	size_t i;

	plan_columns(v, pic->cols, &plan);
	for (i = 0; i < NCOLUMNS; i++) {
		if (!plan.shown[i])
			continue;
		at += columns[i].gap;
		if (columns[i].put == put_glyph)
			picture_mark(pic, at, at + columns[i].width,
			    page_cell_age_mark(page_cell_seconds(v->look,
			    b)));
		at += columns[i].width;
	}
}
