/*
 * The flat wide page K: a row for each block, on 80 columns and more.
 *
 * Columns come from one table.  They are given their widths in the order of
 * their rank as long as the function keeps its share; the function takes what
 * is left.  The numbers stay together on the left of it.
 */
#include <stdio.h>
#include <string.h>

#include "fields.h"
#include "free.h"
#include "groups.h"

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
	char text[24];

	(void)v;
	base_fit_bytes(text, width, b->size);
	picture_printf(pic, "%s", text);
}

/* What the allocator reserved, as far as the record can say. */
static void
put_used(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	char text[24];

	(void)v;
	base_fit_bytes(text, width, b->size + (uint64_t)b->overhead * 16);
	picture_printf(pic, "%s", text);
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

static void
put_age(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	char text[8];

	page_cell_age(text, page_cell_seconds(v->look, b));
	picture_printf(pic, "%*s", width, text);
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
		picture_printf(pic, "%*s", width, "");
}

static void
put_seq(const struct page_view *v, const struct blk *b, int width,
    struct page_picture *pic)
{
	char text[24];

	(void)v;
	base_fit_count(text, width, b->seq);
	picture_printf(pic, "%s", text);
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
};

#define NCOLUMNS BASE_NELEM(columns)
#define FUNCTION_GAP 2
#define FUNCTION_MIN 6
#define FUNCTION_TITLE 8	/* columns of its word */

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
	if (left >= FUNCTION_GAP + FUNCTION_MIN)
		plan->function = left - FUNCTION_GAP;
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

	page_free_text(page, v, room - FUNCTION_GAP - FUNCTION_TITLE, text,
	    sizeof text);
	both = text[0] != '\0';
	if (!both)
		page_free_text(page, v, room, text, sizeof text);
	if (function && (both || text[0] == '\0'))
		picture_printf(pic, "%*sFUNCTION", FUNCTION_GAP, "");
	if (text[0] != '\0') {
		picture_to(pic, pic->cols - (int)strlen(text));
		picture_printf(pic, "%s", text);
	}
}

static void
wide_heading(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	struct plan plan;
	size_t i;

	plan_columns(v, pic->cols, &plan);
	for (i = 0; i < NCOLUMNS; i++)
		if (plan.shown[i])
			picture_printf(pic, "%*s%-*s", columns[i].gap, "",
			    columns[i].width, columns[i].title);
	put_right_heading(page, v, plan.function > 0, pic);
	picture_mark_line(pic, PAGE_HEADING);
}

static void
wide_row(const struct page *page, const struct page_view *v,
    const struct blk *b, struct page_picture *pic)
{
	struct plan plan;
	size_t i;

	(void)page;
	plan_columns(v, pic->cols, &plan);
	for (i = 0; i < NCOLUMNS; i++) {
		if (!plan.shown[i])
			continue;
		picture_printf(pic, "%*s", columns[i].gap, "");
		if (page_is_free(b) && !columns[i].free)
			picture_printf(pic, "%*s", columns[i].width, "");
		else
			columns[i].put(v, b, columns[i].width, pic);
	}
	if (plan.function > 0)
		page_cell_function(v, b, FUNCTION_GAP, plan.function, pic);
}

/* --- line 1 ------------------------------------------------------------- */

struct title {
	char node[16];		/* "0590" */
	char name[256];		/* "linac-a"; "" when it is the number again */
	char target[PAGE_TARGET_TEXT];	/* "acqd[4711]" */
	char date[20];
	const char *word;
};

enum {
	TITLE_DATE = 1,
	TITLE_NAME = 2,
	TITLE_TARGET = 4,
};

static void
title_parts(const struct page *page, const struct page_view *v,
    const struct page_state *state, struct title *t)
{
	const struct nodes_look *look = v->look;

	*t = (struct title){ .word = state->word };
	snprintf(t->node, sizeof t->node, "%04X", look->node_number);
	if (strcmp(look->node_name, t->node) != 0)
		snprintf(t->name, sizeof t->name, "%.255s", look->node_name);
	page_target_text(look, t->target);
	page_date(page, look, true, t->date);
}

static int
title_cols(const struct page *page, const struct title *t, unsigned with)
{
	int cols = (int)strlen("K MEMORY BLOCKS  ") + (int)strlen(t->node) +
	    2 + (int)strlen(t->word);

	if ((with & TITLE_NAME) && t->name[0] != '\0')
		cols += 1 + picture_width(t->name, page->opts.ascii);
	if ((with & TITLE_TARGET) && t->target[0] != '\0')
		cols += 2 + picture_width(t->target, page->opts.ascii);
	if ((with & TITLE_DATE) && t->date[0] != '\0')
		cols += 2 + (int)strlen(t->date);
	return cols;
}

/* State first, then the target, the date, the node's name. */
static unsigned
title_choice(const struct page *page, const struct title *t, int cols)
{
	static const unsigned choices[] = {
		TITLE_TARGET | TITLE_DATE | TITLE_NAME,
		TITLE_TARGET | TITLE_DATE,
		TITLE_TARGET,
		0,
	};
	size_t i;

	for (i = 0; i + 1 < BASE_NELEM(choices); i++)
		if (title_cols(page, t, choices[i]) <= cols)
			break;
	return choices[i];
}

static void
wide_title(struct page *page, const struct page_view *v,
    const struct page_state *state, struct page_picture *pic)
{
	struct title t;
	unsigned with;
	int from, room;

	title_parts(page, v, state, &t);
	with = title_choice(page, &t, pic->cols);
	picture_printf(pic, "K MEMORY BLOCKS  %s", t.node);
	if ((with & TITLE_NAME) && t.name[0] != '\0') {
		picture_printf(pic, " ");
		picture_text(pic, t.name, pic->cols, PICTURE_FREE);
	}
	/* A target whose name is too long is cut rather than left out. */
	room = pic->cols - picture_col(pic) - 4 - (int)strlen(t.word);
	if (t.target[0] != '\0' && room >= 4) {
		picture_printf(pic, "  ");
		picture_text(pic, t.target, room, PICTURE_FREE);
	}
	picture_printf(pic, "  ");
	from = picture_col(pic);
	picture_printf(pic, "%s", t.word);
	picture_mark(pic, from, picture_col(pic), state->mark);
	if ((with & TITLE_DATE) && t.date[0] != '\0') {
		picture_to(pic, pic->cols - (int)strlen(t.date));
		picture_printf(pic, "%s", t.date);
	}
}

/* --- line 2 ------------------------------------------------------------- */

/* A word has more room while it is typed. */
enum {
	NODE_COLS = 4,
	NODE_EDITED = 20,
	LISTING_COLS = 8,
	LISTING_EDITED = 24,
};

#define OFFS_AT 69
#define OFFS_COLS 11

static void
wide_node(struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char count[32], bytes[24], rate[16] = "", offs[8], left[96];
	static const struct {
		const char *before, *reversed;
	} words[] = { { "order ", " reversed" }, { "", " rev" } };
	char order[32];
	uint64_t total = page_view_blocks(v);
	const char *about = page_about(v->look->sample);
	bool editing = page->fields.editing;
	size_t len = 0;
	int at;

	base_group_digits(count, sizeof count, total);
	base_human_bytes(bytes, sizeof bytes, page_view_bytes(v));
	if (!page_view_known(v))
		base_append(left, sizeof left, &len, "   - blocks  - B");
	else
		base_append(left, sizeof left, &len, "   %s%s block%s  %s%s",
		    about, count, total == 1 ? "" : "s", about, bytes);
	if (page->rated) {
		page_rate_text(rate, page->rate);
		/* What was freed has no size any more to scale it by. */
		base_append(left, sizeof left, &len, "  %s%s", rate,
		    v->look->sample != 0 ? " sampled" : "");
	}
	page_fields_put(page, v, editing ? NODE_EDITED : NODE_COLS,
	    editing ? LISTING_EDITED : LISTING_COLS, PAGE_FIELD_TILDE,
	    pic);
	picture_printf(pic, "%s", left);
	/* Where both do not fit, OFFS stands and the order is said in short. */
	for (size_t i = 0; i < BASE_NELEM(words); i++) {
		len = 0;
		if (page_shows_groups(page))
			base_append(order, sizeof order, &len, "   %s%s",
			    i == 0 ? "group " : "",
			    page_group_kind(page->group)->title);
		else
			base_append(order, sizeof order, &len, "   %s%s%s",
			    words[i].before,
			    page->opts.order == BLKLIST_BY_AGE ? "AGE" :
			    "ADDRESS",
			    page->opts.reverse ? words[i].reversed : "");
		if (picture_col(pic) + (int)len + 2 + OFFS_COLS <= pic->cols) {
			picture_printf(pic, "%s", order);
			break;
		}
	}
	base_fit_count(offs, 6, page->offs);
	/* At one place as long as the rest is short enough. */
	at = picture_col(pic) + 2;
	if (pic->cols >= OFFS_AT + OFFS_COLS && at < OFFS_AT)
		at = OFFS_AT;
	if (at + OFFS_COLS > pic->cols)
		return;
	picture_to(pic, at - 1);
	page_fields_put_offs(page, offs, pic);
}

const struct page_layout_ops page_wide = {
	.title = wide_title,
	.node = wide_node,
	.heading = wide_heading,
	.row = wide_row,
	.status = page_status_wide,
};
