/*
 * The rows of page H that are groups: what they are called, and what is said of
 * them.  The name takes what the numbers leave.
 */
#include <stdio.h>
#include <stdlib.h>

#include "since.h"

#define LEAST_POINTS 3	/* that say anything about a leak */

void
page_diff_name(const struct page *page, const struct page_view *v,
    const struct page_since *s, const struct page_since_group *g,
    struct page_group_words *out)
{
	struct profile_group as;

	out->name[0] = out->where[0] = '\0';
	/* It is one of the fold's: only memory may lack for its place. */
	if (page_since_named(s, g, &as))
		page_group_say(page, v, page_since_kind(s), &as, out);
}

/* --- figures -------------------------------------------------------------- */

void
page_diff_count(char out[32], const struct page_view *v, double n)
{
	char digits[32];

	base_group_digits(digits, sizeof digits, (uint64_t)(n + 0.5));
	snprintf(out, 32, "%s%.28s", page_about(v->look->sample), digits);
}

static void
bytes_text(char out[32], const struct page_view *v, double n, bool sign)
{
	char text[24];

	base_human_bytes(text, sizeof text,
	    (uint64_t)((n < 0 ? -n : n) + 0.5));
	snprintf(out, 32, "%s%s%s", page_about(v->look->sample),
	    !sign || (n < 0.5 && n > -0.5) ? "" : n < 0 ? "-" : "+", text);
}

struct row {
	const struct page_view *v;
	const struct page_since *s;
	const struct page_since_group *g;
	double minutes;		/* since the mark */
};

static void
cell_type(const struct row *r, char out[32])
{
	const struct stream_types *types = r->v->look->types;

	if (r->g->type < 0)
		snprintf(out, 32, "*");
	else
		snprintf(out, 32, "%.8s", types != NULL &&
		    types->by_code[r->g->type].name[0] != '\0' ?
		    types->by_code[r->g->type].name : "?");
}

static void
cell_came(const struct row *r, char out[32])
{
	page_diff_count(out, r->v, r->g->sum.came);
}

static void
cell_came_bytes(const struct row *r, char out[32])
{
	bytes_text(out, r->v, r->g->sum.came_bytes, false);
}

static void
cell_went(const struct row *r, char out[32])
{
	page_diff_count(out, r->v, r->g->sum.went);
}

static void
cell_went_bytes(const struct row *r, char out[32])
{
	bytes_text(out, r->v, r->g->sum.went_bytes, false);
}

static void
cell_net(const struct row *r, char out[32])
{
	bytes_text(out, r->v, page_since_net(&r->g->sum), true);
}

static void
cell_net_min(const struct row *r, char out[32])
{
	if (r->minutes > 0)
		bytes_text(out, r->v, page_since_net(&r->g->sum) / r->minutes,
		    true);
	else
		snprintf(out, 32, "-");
}

static void
cell_oldest(const struct row *r, char out[32])
{
	int64_t ms = r->v->look->now_ms - r->g->sum.oldest_ms;

	out[0] = '\0';
	if (r->g->sum.came > 0)
		page_cell_age(out, ms > 0 ? (uint64_t)ms / 1000 : 0);
}

static void
cell_verdict(const struct row *r, char out[32])
{
	unsigned n, ups = page_since_ups(r->s, r->g, &n);

	out[0] = '\0';
	if (n >= LEAST_POINTS && ups * 4 >= n * 3)
		snprintf(out, 32, "%s%u/%u intervals up", ups == n ?
		    "LEAK? " : "", ups, n);
}

static const struct column {
	const char *title;
	int width;		/* below 0: from the left */
	int rank;		/* the lowest is given room first */
	bool figure;		/* of a sample one wider, for the mark of an estimate */
	void (*put)(const struct row *, char out[32]);
} columns[] = {
	{ "TYPE", -8, 7, false, cell_type },
	{ "NEW", 9, 1, true, cell_came },
	{ "BYTES", 9, 4, true, cell_came_bytes },
	{ "FREED", 9, 2, true, cell_went },
	{ "BYTES", 9, 5, true, cell_went_bytes },
	{ "NET", 10, 0, true, cell_net },
	{ "NET/min", 10, 6, true, cell_net_min },
	{ "OLDEST", 6, 8, false, cell_oldest },
	{ "", -24, 3, false, cell_verdict },
};

#define NCOLUMNS BASE_NELEM(columns)

static int
width_of(const struct column *c, const struct page_view *v)
{
	return abs(c->width) + (v->look->sample != 0 && c->figure);
}

/* Which columns there are; returns what is left for the name. */
static int
plan(int cols, const struct page_view *v, bool shown[NCOLUMNS])
{
	int left = cols, need;
	size_t rank, i;

	for (rank = 0; rank < NCOLUMNS; rank++) {
		for (i = 0; columns[i].rank != (int)rank; i++)
			continue;
		need = width_of(&columns[i], v) + 1;
		/* The word for a leak is worth more than how it came to be. */
		if (columns[i].put == cell_verdict && left - need < PAGE_DIFF_NAME_MIN)
			need = 6;
		shown[i] = left - need >= PAGE_DIFF_NAME_MIN;
		if (shown[i])
			left -= need;
	}
	return left;
}

static void
put_cell(const struct column *c, const struct page_view *v, const char *text,
    struct page_picture *pic)
{
	int room = pic->cols - picture_col(pic) - 1, width = width_of(c, v);

	if (room < width)
		width = room;
	picture_put(pic, " ");
	if (width > 0)
		picture_printf(pic, "%*.*s", c->width < 0 ? -width : width,
		    width, text);
}

void
page_diff_heading(const struct page_view *v, const struct page_since *s,
    struct page_picture *pic)
{
	bool shown[NCOLUMNS];
	int name = plan(pic->cols, v, shown);
	size_t i;

	picture_text(pic, page_since_kind(s)->title, name, PICTURE_LEFT);
	for (i = 0; i < NCOLUMNS; i++)
		if (shown[i])
			put_cell(&columns[i], v, columns[i].title, pic);
	picture_mark_line(pic, PAGE_HEADING);
}

void
page_diff_group(const struct page *page, const struct page_view *v,
    const struct page_since *s, const struct page_since_group *g,
    struct page_group_words *words, struct page_picture *pic)
{
	struct row r = { .v = v, .s = s, .g = g, .minutes =
		(double)(s->shown.ms - page->marked->mark.ms) / 60000 };
	bool shown[NCOLUMNS];
	int name = plan(pic->cols, v, shown), from;
	char text[32];
	size_t i;

	page_diff_name(page, v, s, g, words);
	page_put_name(words->name, words->where, name, pic);
	picture_to(pic, name);
	for (i = 0; i < NCOLUMNS; i++) {
		if (!shown[i])
			continue;
		columns[i].put(&r, text);
		from = picture_col(pic) + 1;
		put_cell(&columns[i], v, text, pic);
		if (columns[i].put == cell_verdict && text[0] == 'L')
			picture_mark(pic, from, from + 5, PAGE_WARN);
	}
}
