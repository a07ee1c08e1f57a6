/*
 * The flat wide page K, on 80 columns and more: what stands above the rows.
 * Heading and rows are made of columns (columns.h).
 */
#include <stdio.h>
#include <string.h>

#include "choice.h"
#include "columns.h"
#include "fields.h"
#include "groups.h"
#include "marked.h"
#include "order.h"
#include "still.h"

/* --- line 1 ------------------------------------------------------------- */

struct title {
	char node[16];		/* "0590" */
	char name[256];		/* "linac-a"; "" when it is the number again */
	char target[PAGE_TARGET_TEXT];	/* "acqd[4711]" */
	char date[40];
	const char *word;
};

enum {
	TITLE_DATE = 1,
	TITLE_NAME = 2,
	TITLE_TARGET = 4,
};

static void
title_parts(const struct page *page, const struct page_view *v,
    const struct page_state *state, int cols, struct title *t)
{
	const struct nodes_look *look = v->look;

	*t = (struct title){ .word = state->word };
	snprintf(t->node, sizeof t->node, "%04X", look->node_number);
	if (strcmp(look->node_name, t->node) != 0)
		snprintf(t->name, sizeof t->name, "%.255s", look->node_name);
	page_target_text(look, t->target);
	if (cols >= PAGE_FULL_COLS)
		page_date_full(page, look, t->date);
	else
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

void
page_wide_title(struct page *page, const struct page_view *v,
    const struct page_state *state, struct page_picture *pic)
{
	struct title t;
	unsigned with;
	int from, room;

	title_parts(page, v, state, pic->cols, &t);
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
#define MARK_AT 9	/* blanks and a word before it */

/* The mark, if there is room for it. */
static void
put_mark(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char text[PAGE_MARK_TEXT];

	page_mark_say(page, v, text);
	if (text[0] != '\0' && picture_col(pic) + MARK_AT + (int)strlen(text) +
	    2 + OFFS_COLS <= pic->cols)
		picture_printf(pic, "   mark: %s", text);
}

/*
 * "1,204,331", or of a filtered page "312 of 1.2M", whose bytes are those of the
 * 312; "about" is put before it.
 */
static void
count_text(const struct page *page, uint64_t total, const char *about,
    char out[40], uint64_t *bytes)
{
	struct page_chosen chosen;
	char n[8], of[8];
	size_t len = 0;

	page_choice_sums(page, &chosen);
	if (!page_choice_filters(page) || !chosen.known) {
		base_group_digits(out, 40, total);
		return;
	}
	*bytes = chosen.bytes;
	base_fit_count(n, 5, chosen.blocks);
	base_fit_count(of, 5, chosen.of);
	out[0] = '\0';
	base_append(out, 40, &len, "%s of %s%s", n + strspn(n, " "), about,
	    of + strspn(of, " "));
}

static void
wide_node(struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char count[40], bytes[24], rate[16] = "", offs[8], left[96];
	static const struct {
		const char *before, *reversed;
	} words[] = { { "order ", " reversed" }, { "", " rev" } };
	char order[80], groups[PAGE_GROUPS_TITLE];
	uint64_t total = page_view_blocks(v), held = page_view_bytes(v);
	const char *about = page_about(v->look->sample);
	bool editing = page->fields.editing;
	size_t len = 0;
	int at;

	count_text(page, total, about, count, &held);
	base_human_bytes(bytes, sizeof bytes, held);
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
	page_groups_title(page, ">", groups);
	/* Where both do not fit, OFFS stands and the order is said in short. */
	for (int form = 0; page_still_text(page, v, form, order,
	    sizeof order); form++)
		if (picture_col(pic) + 3 + (int)strlen(order) + 2 +
		    OFFS_COLS <= pic->cols) {
			picture_printf(pic, "   ");
			at = picture_col(pic);
			picture_printf(pic, "%s", order);
			picture_mark(pic, at, picture_col(pic), PAGE_WARN);
			break;
		}
	for (size_t i = 0; order[0] == '\0' && i < BASE_NELEM(words); i++) {
		len = 0;
		if (page_shows_groups(page))
			base_append(order, sizeof order, &len, "   %s%s",
			    i == 0 ? "group " : "", groups);
		else
			base_append(order, sizeof order, &len, "   %s%s%s",
			    words[i].before, page_sort_title(&page->opts),
			    page->opts.reverse ? words[i].reversed : "");
		if (picture_col(pic) + (int)len + 2 + OFFS_COLS <= pic->cols) {
			picture_printf(pic, "%s", order);
			break;
		}
	}
	put_mark(page, v, pic);
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
	.title = page_wide_title,
	.node = wide_node,
	.heading = page_columns_heading,
	.row = page_columns_row,
	.mark = page_columns_mark,
	.status = page_status_wide,
};
