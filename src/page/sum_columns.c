/* See sum_columns.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "calls.h"
#include "spark.h"
#include "sum_columns.h"

#define BAR_COLS 12
#define TREND_COLS 12
/* Of the name there is no column: it has what is left. */
#define NAME_WORD "name"
#define NAME_TITLE "NAME"

struct sum_column {
	const char *title;
	const char *word;	/* what rows are sorted by with it; NULL: by another one */
	enum profile_measure by;
	int width;
	int rank;		/* the lowest is given room first */
	int keep;		/* columns that the name must keep */
	bool left;		/* its title stands there */
	bool self;		/* where sums have a self */
	bool whole;		/* where the form is whole */
	bool since;		/* where there is a mark */
	bool figure;		/* scaled, when it comes from a sample */
	void (*put)(const struct page_sum *, int width, struct page_picture *);
};

/* Right-aligned, what it is an estimate of behind its mark. */
static void
put_figure(const struct page_sum *r, int width, const char *text,
    struct page_picture *pic)
{
	const char *about = page_about(r->v->look->sample);

	text += strspn(text, " ");
	picture_printf(pic, "%*s%s%s",
	    width - (int)strlen(about) - (int)strlen(text), "", about, text);
}

/* Columns for the digits alone. */
static int
digit_cols(const struct page_sum *r, int width)
{
	return width - (int)strlen(page_about(r->v->look->sample));
}

static void
put_count(const struct page_sum *r, int width, struct page_picture *pic)
{
	char text[32];

	base_group_digits(text, sizeof text, r->g->total.blocks);
	if ((int)strlen(text) > digit_cols(r, width))
		base_fit_count(text, digit_cols(r, width),
		    r->g->total.blocks);
	put_figure(r, width, text, pic);
}

static void
put_bytes(const struct page_sum *r, int width, struct page_picture *pic)
{
	char text[24];

	base_fit_bytes(text, digit_cols(r, width), r->g->total.bytes);
	put_figure(r, width, text, pic);
}

static void
put_self(const struct page_sum *r, int width, struct page_picture *pic)
{
	char text[24];

	base_fit_bytes(text, digit_cols(r, width), r->g->self.bytes);
	put_figure(r, width, text, pic);
}

/* Something is never shown as nothing. */
static void
put_share(const struct page_sum *r, int width, struct page_picture *pic)
{
	double share = r->of > 0 ? (double)r->g->total.bytes * 100 /
	    (double)r->of : 0;
	char text[16];

	if (share > 0 && share < 0.5)
		snprintf(text, sizeof text, "<1%%");
	else
		snprintf(text, sizeof text, "%.0f%%", share);
	put_figure(r, width, text, pic);
}

static void
put_bar(const struct page_sum *r, int width, struct page_picture *pic)
{
	picture_bar(pic, r->of > 0 ? (double)r->g->total.bytes /
	    (double)r->of : 0, width);
}

static uint64_t
seconds_of(const struct page_sum *r)
{
	int64_t ms = r->v->look->now_ms - r->g->total.oldest_ms;

	return ms > 0 ? (uint64_t)ms / 1000 : 0;
}

static void
put_oldest(const struct page_sum *r, int width, struct page_picture *pic)
{
	char text[8];

	page_cell_age(text, seconds_of(r));
	picture_printf(pic, "%*s", width, r->g->total.blocks > 0 ? text : "");
}

static void
put_glyph(const struct page_sum *r, int width, struct page_picture *pic)
{
	picture_printf(pic, "%*c", width, r->g->total.blocks > 0 ?
	    page_cell_age_glyph(seconds_of(r)) : ' ');
}

static void
put_type(const struct page_sum *r, int width, struct page_picture *pic)
{
	picture_text(pic, r->type, width, PICTURE_LEFT);
}

static void
put_thread(const struct page_sum *r, int width, struct page_picture *pic)
{
	picture_text(pic, r->thread, width, PICTURE_LEFT);
}

static void
put_trend(const struct page_sum *r, int width, struct page_picture *pic)
{
	int end = picture_col(pic) + width;

	if (r->point != NULL)
		picture_spark(pic, r->point, r->npoint, 0, width);
	picture_to(pic, end);
}

static void
put_since(const struct page_sum *r, int width, struct page_picture *pic)
{
	picture_text(pic, r->since != NULL ? r->since : "-", width,
	    PICTURE_RIGHT);
}

static const struct sum_column columns[] = {
	{ .title = "TYPE", .word = "type", .by = PROFILE_TYPE, .width = 8,
	    .rank = 7, .keep = 26, .left = true, .whole = true,
	    .put = put_type },
	{ .title = "THREAD", .word = "thread", .by = PROFILE_THREAD,
	    .width = 8, .rank = 8, .keep = 26, .left = true, .whole = true,
	    .put = put_thread },
	{ .title = "COUNT", .word = "count", .by = PROFILE_BLOCKS, .width = 7,
	    .rank = 2, .keep = 10, .figure = true, .put = put_count },
	{ .title = "BYTES", .word = "bytes", .by = PROFILE_BYTES, .width = 9,
	    .rank = 0, .figure = true, .put = put_bytes },
	{ .title = "LIVE", .width = 4, .rank = 1, .figure = true,
	    .put = put_share },
	{ .title = "SELF", .word = "self", .by = PROFILE_SELF, .width = 9,
	    .rank = 4, .keep = 16, .self = true, .figure = true,
	    .put = put_self },
	{ .title = "SIZE BAR", .width = BAR_COLS, .rank = 6, .keep = 22,
	    .left = true, .put = put_bar },
	{ .title = "SINCE MK", .width = 11, .rank = 5, .keep = 16,
	    .since = true, .put = put_since },
	{ .title = "AGE", .word = "age", .by = PROFILE_AGE, .width = 5,
	    .rank = 3, .keep = 16, .put = put_oldest },
	{ .title = "H", .width = 1, .rank = 9, .keep = 26, .left = true,
	    .whole = true, .put = put_glyph },
	{ .title = "LAST 60 s", .width = TREND_COLS, .rank = 10, .keep = 26,
	    .left = true, .whole = true, .put = put_trend },
};

#define NCOLUMNS BASE_NELEM(columns)

static int
width_of(const struct sum_column *c, bool sampled)
{
	return c->width + (sampled && c->figure);
}

/* Which columns there are; returns what is left for the name. */
static int
plan(int cols, const struct page_sum_form *form, bool sampled,
    bool shown[NCOLUMNS])
{
	int left = cols, need;
	size_t rank, i;

	for (rank = 0; rank < NCOLUMNS; rank++) {
		for (i = 0; columns[i].rank != (int)rank; i++)
			continue;
		need = width_of(&columns[i], sampled) + 1;
		shown[i] = (form->self || !columns[i].self) &&
		    (form->whole || !columns[i].whole) &&
		    (form->since || !columns[i].since) &&
		    left - need >= columns[i].keep;
		if (shown[i])
			left -= need;
	}
	return left;
}

/* "BYTES v": from the top down. */
static void
title_of(const char *title, const struct page_sum_form *form, bool here,
    int width, char *out, size_t cap)
{
	size_t len = 0;

	base_append(out, cap, &len, "%s%s", title, !here ||
	    (int)strlen(title) + 2 > width ? "" : form->reverse ? " ^" :
	    " v");
}

void
page_sum_heading(const char *title, const struct page_view *v,
    const struct page_sum_form *form, struct page_picture *pic)
{
	bool shown[NCOLUMNS], sampled = v->look->sample != 0;
	int name = plan(pic->cols, form, sampled, shown), width;
	char text[80];
	size_t i;

	title_of(title, form, form->sorted && form->by == PROFILE_NAME, name,
	    text, sizeof text);
	picture_text(pic, text, name, PICTURE_LEFT);
	for (i = 0; i < NCOLUMNS; i++) {
		if (!shown[i])
			continue;
		width = width_of(&columns[i], sampled);
		title_of(columns[i].title, form, form->sorted &&
		    columns[i].word != NULL && columns[i].by == form->by,
		    width, text, sizeof text);
		picture_put(pic, " ");
		picture_text(pic, text, width, columns[i].left ? PICTURE_LEFT :
		    PICTURE_RIGHT);
	}
	picture_mark_line(pic, PAGE_HEADING);
}

void
page_sum_put(const struct page_sum *r, const struct page_sum_form *form,
    const char *text, const char *where, struct page_picture *pic)
{
	bool shown[NCOLUMNS], sampled = r->v->look->sample != 0;
	int name = plan(pic->cols, form, sampled, shown);
	size_t i;

	if (where != NULL)
		page_put_name(text, where, name - picture_col(pic), pic);
	else
		picture_text(pic, text, name - picture_col(pic),
		    PICTURE_FREE);
	picture_to(pic, name);
	for (i = 0; i < NCOLUMNS; i++) {
		if (!shown[i])
			continue;
		picture_put(pic, " ");
		columns[i].put(r, width_of(&columns[i], sampled), pic);
	}
}

/* --- what rows are sorted by ---------------------------------------------- */

/* The name first, then the columns from left to right. */
static size_t
sorts(bool self, enum profile_measure out[NCOLUMNS + 1])
{
	size_t i, n = 0;

	out[n++] = PROFILE_NAME;
	for (i = 0; i < NCOLUMNS; i++)
		if (columns[i].word != NULL && (self || !columns[i].self))
			out[n++] = columns[i].by;
	return n;
}

enum profile_measure
page_sum_next(enum profile_measure by, int step, bool self)
{
	enum profile_measure all[NCOLUMNS + 1];
	size_t n = sorts(self, all), i = 0;

	while (i < n - 1 && all[i] != by)
		i++;
	return all[step > 0 ? (i + 1) % n : (i + n - 1) % n];
}

/* NULL: the name, of which there is no column. */
static const struct sum_column *
sorted_with(enum profile_measure by)
{
	size_t i;

	for (i = 0; i < NCOLUMNS; i++)
		if (columns[i].word != NULL && columns[i].by == by)
			return &columns[i];
	return NULL;
}

const char *
page_sum_word(enum profile_measure by)
{
	const struct sum_column *c = sorted_with(by);

	return c != NULL ? c->word : NAME_WORD;
}

const char *
page_sum_title(enum profile_measure by)
{
	const struct sum_column *c = sorted_with(by);

	return c != NULL ? c->title : NAME_TITLE;
}

int
page_sum_called(const char *word, enum profile_measure *by)
{
	size_t i;

	for (i = 0; i < NCOLUMNS; i++)
		if (columns[i].word != NULL &&
		    strcmp(columns[i].word, word) == 0)
			break;
	if (i == NCOLUMNS && strcmp(word, NAME_WORD) != 0)
		return -EINVAL;
	*by = i < NCOLUMNS ? columns[i].by : PROFILE_NAME;
	return 0;
}
