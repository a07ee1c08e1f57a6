/*
 * How a sum looks in a row: the name takes what the numbers leave.
 *
 * As in the wide page, columns come from one table and get their room in the
 * order of their rank, as long as the name keeps its share.  Of a sample the
 * figures are estimates: their columns are one wider, for the mark.
 */
#include <stdio.h>
#include <string.h>

#include "branches.h"

#define BAR_COLS 12

struct sum_row {
	const struct page_view *v;
	const struct profile_group *g;
	uint64_t of;		/* bytes that are all */
};

struct sum_column {
	const char *title;	/* as wide as the column */
	int width;
	int rank;		/* the lowest is given room first */
	int keep;		/* columns that the name must keep */
	bool self;		/* where sums have a self */
	bool figure;		/* scaled, when it comes from a sample */
	void (*put)(const struct sum_row *, int width, struct page_picture *);
};

/* Right-aligned, what it is an estimate of behind its mark. */
static void
put_figure(const struct sum_row *r, int width, const char *text,
    struct page_picture *pic)
{
	const char *about = page_about(r->v->look->sample);

	text += strspn(text, " ");
	picture_printf(pic, "%*s%s%s",
	    width - (int)strlen(about) - (int)strlen(text), "", about, text);
}

/* Columns for the digits alone. */
static int
digit_cols(const struct sum_row *r, int width)
{
	return width - (int)strlen(page_about(r->v->look->sample));
}

static void
put_count(const struct sum_row *r, int width, struct page_picture *pic)
{
	char text[32];

	base_group_digits(text, sizeof text, r->g->total.blocks);
	if ((int)strlen(text) > digit_cols(r, width))
		base_fit_count(text, digit_cols(r, width),
		    r->g->total.blocks);
	put_figure(r, width, text, pic);
}

static void
put_bytes(const struct sum_row *r, int width, struct page_picture *pic)
{
	char text[24];

	base_fit_bytes(text, digit_cols(r, width), r->g->total.bytes);
	put_figure(r, width, text, pic);
}

static void
put_self(const struct sum_row *r, int width, struct page_picture *pic)
{
	char text[24];

	base_fit_bytes(text, digit_cols(r, width), r->g->self.bytes);
	put_figure(r, width, text, pic);
}

/* Something is never shown as nothing. */
static void
put_share(const struct sum_row *r, int width, struct page_picture *pic)
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
put_bar(const struct sum_row *r, int width, struct page_picture *pic)
{
	int n = r->of > 0 ? (int)((double)r->g->total.bytes * width /
	    (double)r->of + 0.5) : 0, i;

	for (i = 0; i < width; i++)
		picture_printf(pic, "%c", i < n ? '#' : ' ');
}

static void
put_oldest(const struct sum_row *r, int width, struct page_picture *pic)
{
	int64_t ms = r->v->look->now_ms - r->g->total.oldest_ms;
	char text[8];

	page_cell_age(text, ms > 0 ? (uint64_t)ms / 1000 : 0);
	picture_printf(pic, "%*s", width, r->g->total.blocks > 0 ? text : "");
}

static const struct sum_column columns[] = {
	{ "  COUNT", 7, 2, 10, false, true, put_count },
	{ "    BYTES", 9, 0, 0, false, true, put_bytes },
	{ "LIVE", 4, 1, 0, false, true, put_share },
	{ "     SELF", 9, 4, 16, true, true, put_self },
	{ "SHARE       ", BAR_COLS, 5, 22, false, false, put_bar },
	{ "  AGE", 5, 3, 16, false, false, put_oldest },
};

#define NCOLUMNS BASE_NELEM(columns)

static int
width_of(const struct sum_column *c, bool sampled)
{
	return c->width + (sampled && c->figure);
}

/* Which columns there are; returns what is left for the name. */
static int
plan(int cols, bool self, bool sampled, bool shown[NCOLUMNS])
{
	int left = cols, need;
	size_t rank, i;

	for (rank = 0; rank < NCOLUMNS; rank++) {
		for (i = 0; columns[i].rank != (int)rank; i++)
			continue;
		need = width_of(&columns[i], sampled) + 1;
		shown[i] = (self || !columns[i].self) &&
		    left - need >= columns[i].keep;
		if (shown[i])
			left -= need;
	}
	return left;
}

void
page_group_sum_heading(const char *title, const struct page_view *v,
    bool self, struct page_picture *pic)
{
	bool shown[NCOLUMNS], sampled = v->look->sample != 0;
	int name = plan(pic->cols, self, sampled, shown);
	size_t i;

	picture_text(pic, title, name, PICTURE_LEFT);
	for (i = 0; i < NCOLUMNS; i++)
		if (shown[i])
			picture_printf(pic, " %*s",
			    width_of(&columns[i], sampled), columns[i].title);
	picture_mark_line(pic, PAGE_HEADING);
}

static void
sum_row(const struct page_view *v, const struct profile_group *g, uint64_t of,
    const char *text, const char *where, bool self,
    struct page_picture *pic)
{
	struct sum_row r = { .v = v, .g = g, .of = of };
	bool shown[NCOLUMNS], sampled = v->look->sample != 0;
	int name = plan(pic->cols, self, sampled, shown);
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
		picture_printf(pic, " ");
		columns[i].put(&r, width_of(&columns[i], sampled), pic);
	}
}

void
page_group_sum_row(const struct page_view *v, const struct profile_group *g,
    uint64_t of, int indent, bool self, struct page_picture *pic)
{
	picture_printf(pic, "%*s", indent, "");
	sum_row(v, g, of, g->name, g->where, self, pic);
}

void
page_group_heading(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	const struct page_group_kind *k = page_group_kind(page->group);
	char title[PAGE_GROUPS_TITLE];

	page_groups_title(page, " / ", title);
	page_group_sum_heading(title, v, k->by == PROFILE_FRAME, pic);
}

/* --- rows among the groups ------------------------------------------------- */

#define MARK_COLS 40	/* narrower than that nothing says what is open */
#define INDENT 2

/* "- ring_grow": it is open, or "+ ring_grow". */
static void
put_group(const struct page *page, const struct page_view *v,
    const struct profile_group *row, const struct page_group_kind *k,
    bool open, int indent, struct page_picture *pic)
{
	struct page_groups *g = page->groups;
	struct page_group_words words;

	if (row == NULL)
		return;
	page_group_say(page, v, k, row, &words);
	if (pic->cols >= MARK_COLS)
		picture_printf(pic, "%*s%c ", indent, "", open ? '-' : '+');
	sum_row(v, row, g->total.bytes, words.name, words.where,
	    page_group_kind(page->group)->by == PROFILE_FRAME, pic);
}

/* "7f3c04001040 = 65,536": a sum of one. */
static void
put_block(const struct page *page, const struct page_view *v,
    const struct blk *b, int indent, struct page_picture *pic)
{
	struct profile_group one = { .name = "", .where = "",
		.total = { .blocks = 1, .bytes = b->size, .listed = 1,
		    .listed_bytes = b->size, .oldest_ms = b->ms },
		.type = b->type, .thread = b->thread };
	char name[64], size[32];

	one.self = one.total;
	base_group_digits(size, sizeof size, b->size);
	snprintf(name, sizeof name, "%012llx = %s",
	    (unsigned long long)b->addr, size);
	if (pic->cols >= MARK_COLS)
		picture_printf(pic, "%*s", indent, "");
	sum_row(v, &one, page->groups->total.bytes, name, NULL,
	    page_group_kind(page->group)->by == PROFILE_FRAME, pic);
}

static void
put_rest(const struct page_group_at *at, int indent, struct page_picture *pic)
{
	char n[32];

	if (pic->cols >= MARK_COLS)
		picture_printf(pic, "%*s", indent, "");
	if (at->rest == 0) {
		picture_printf(pic, "looking for them ...");
		return;
	}
	base_group_digits(n, sizeof n, at->rest);
	picture_printf(pic, "+ %s more", n);
}

void
page_group_row(const struct page *page, const struct page_view *v,
    uint64_t offset, struct page_picture *pic)
{
	struct page_groups *g = page->groups;
	const struct page_group_kind *k2 = page_group_kind(
	    page_group_below(page));
	const struct profile_group *row;
	struct page_group_at at;
	int indent;

	if (g == NULL || !page_groups_at(g, offset, &at))
		return;
	indent = at.branch == NULL ? 0 : at.branch->second ? 2 * INDENT :
	    INDENT;
	switch (at.what) {
	case ROW_GROUP:
		row = page_groups_row(g, at.index);
		put_group(page, v, row, page_group_kind(page->group),
		    row != NULL && page_branch_find(g, row->key, NULL) !=
		    NULL, indent, pic);
		break;
	case ROW_BELOW:
		row = page_branch_row(at.branch, at.index);
		put_group(page, v, row, k2, row != NULL && page_branch_find(g,
		    at.branch->of.key, &row->key) != NULL, indent, pic);
		break;
	case ROW_BLOCK:
		put_block(page, v, &at.branch->blk[at.index], indent + INDENT,
		    pic);
		break;
	case ROW_REST:
		put_rest(&at, indent + INDENT, pic);
		break;
	}
}
