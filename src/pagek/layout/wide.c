#include <stdio.h>
#include <string.h>

#include "../difference/difference.h"
#include "../blocks/choice.h"
#include "../rows/frozen_order.h"
#include "../groups/groups.h"
#include "../blocks/order.h"
#include "../rows/rows.h"
#include "fields.h"
#include "edit_fields.h"
#include "layout.h"

struct title {
	char node[16];		/* "0590" */
	char name[256];		/* "linac-a"; "" if it is the number again */
	char target[PAGE_TARGET_TEXT];	/* "acqd[4711]" */
	char date[40];
	const char *word;
};

enum {
	TITLE_DATE = 1,
	TITLE_NAME = 2,
	TITLE_TARGET = 4,
	TITLE_CLOCK = 8,	/* the time of the date alone */
};

#define CLOCK_AT 11		/* in the date */
#define NAME_LEAST 8		/* columns of a node's name that is cut */

static void
title_parts(const struct page *page, const struct page_view *v,
    const struct page_state *state, int cols, struct title *t)
{
	const struct nodes_look *look = v->look;

	*t = (struct title){ .word = state->word };
	snprintf(t->node, sizeof t->node, "%04X", look->node.number);
	if (strcmp(look->node.name, t->node) != 0)
		snprintf(t->name, sizeof t->name, "%.255s", look->node.name);
	page_target_text(look, t->target);
	page_date_full(page, v, cols >= PAGE_FULL_COLS, t->date);
}

static const char *
date_of(const struct title *t, unsigned with)
{
	if (strlen(t->date) > CLOCK_AT && (with & TITLE_CLOCK))
		return t->date + CLOCK_AT;
	return with & TITLE_DATE ? t->date : "";
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
	if (date_of(t, with)[0] != '\0')
		cols += 2 + (int)strlen(date_of(t, with));
	return cols;
}

/* Left out in turn: the day, the node's name (or its end), the time, the target. */
static unsigned
title_choice(const struct page *page, const struct title *t, int cols)
{
	static const unsigned choices[] = {
		TITLE_TARGET | TITLE_DATE | TITLE_NAME,
		TITLE_TARGET | TITLE_CLOCK | TITLE_NAME,
		TITLE_TARGET | TITLE_CLOCK,
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
	int from, room, name;

	title_parts(page, v, state, pic->cols, &t);
	with = title_choice(page, &t, pic->cols);
	name = pic->cols - title_cols(page, &t, with & ~TITLE_NAME) - 1;
	/* The classic line has a brief state. */
	if (title_cols(page, &t, 0) > pic->cols) {
		page_classic.title(page, v, state, pic);
		return;
	}
	picture_put(pic, "K MEMORY BLOCKS  ");
	picture_put(pic, t.node);
	/* A cut name leaves room for the whole target. */
	if (t.name[0] != '\0' && ((with & TITLE_NAME) ||
	    ((with & TITLE_TARGET) && name >= NAME_LEAST))) {
		picture_put(pic, " ");
		picture_text(pic, t.name, name, PICTURE_FREE);
	}
	room = pic->cols - picture_col(pic) - 4 - (int)strlen(t.word);
	if (t.target[0] != '\0' && room >= 4) {
		picture_put(pic, "  ");
		picture_text(pic, t.target, room, PICTURE_FREE);
	}
	picture_put(pic, "  ");
	from = picture_col(pic);
	picture_put(pic, t.word);
	picture_mark(pic, from, picture_col(pic), state->mark);
	if (date_of(&t, with)[0] != '\0') {
		picture_to(pic, pic->cols - (int)strlen(date_of(&t, with)));
		picture_put(pic, date_of(&t, with));
	}
}

#define OFFS_AT 69
#define OFFS_COLS 11
#define MARK_AT 9	/* "   mark: " */

static bool
fits(const struct page_picture *pic, int cols)
{
	return picture_col(pic) + cols + 2 + OFFS_COLS <= pic->cols;
}

static void
put_mark(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char text[PAGE_MARK_TEXT];

	page_mark_text(page, v, text);
	if (text[0] != '\0' && fits(pic, MARK_AT + (int)strlen(text)))
		picture_printf(pic, "   mark: %s", text);
}

/* "1,204,331"; with a filter "312 of ~1.2M", and *bytes becomes that of the 312. */
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
	base_format_grouped(n, 5, chosen.blocks);
	base_format_grouped(of, 5, chosen.of);
	out[0] = '\0';
	base_append(out, 40, &len, "%s of %s%s", n + strspn(n, " "), about,
	    of + strspn(of, " "));
}

enum {
	HELD_RATE,		/* blocks, bytes, and records a second */
	HELD_BYTES,
	HELD_BLOCKS,
	HELD_COUNT,		/* of blocks, without the word */
	HELD_FORMS
};

static void
held_text(const struct page *page, const struct page_view *v, int form,
    char out[96])
{
	uint64_t total = page_view_blocks(v), held = page_view_bytes(v);
	const char *about = page_about(v->look->sample);
	char count[40], bytes[24], rate[16];
	bool known = page_view_known(v);
	size_t len = 0;

	count_text(page, total, about, count, &held);
	base_human_bytes(bytes, sizeof bytes, held);
	base_append(out, 96, &len, "   %s%s", known ? about : "",
	    known ? count : "-");
	if (form <= HELD_BLOCKS)
		base_append(out, 96, &len, " block%s",
		    known && total == 1 ? "" : "s");
	if (form <= HELD_BYTES)
		base_append(out, 96, &len, "  %s%s", known ? about : "",
		    known ? bytes : "- B");
	if (form <= HELD_RATE && page->numbers.rated) {
		page_rate_text(rate, page->numbers.rate);
		/* A free has no size to scale it by. */
		base_append(out, 96, &len, "  %s%s", rate,
		    v->look->sample != 0 ? " sampled" : "");
	}
}

/* The longest form that leaves room for `more` columns and OFFS; false: none. */
static bool
put_held(const struct page *page, const struct page_view *v, int more,
    struct page_picture *pic)
{
	char text[96];
	int form;

	for (form = HELD_RATE; form < HELD_FORMS; form++) {
		held_text(page, v, form, text);
		if (!fits(pic, (int)strlen(text) + more))
			continue;
		picture_put(pic, text);
		return true;
	}
	return false;
}

#define FROZEN_COLS 4	/* of the shortest form, with its blanks */

static void
put_frozen(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	char text[80];
	int form, at;

	for (form = 0; page_freeze_text(page, v, form, text, sizeof text);
	    form++) {
		if (!fits(pic, 3 + (int)strlen(text)))
			continue;
		picture_put(pic, "   ");
		at = picture_col(pic);
		picture_put(pic, text);
		picture_mark(pic, at, picture_col(pic), PAGE_WARN);
		return;
	}
}

static void
put_order(const struct page *page, struct page_picture *pic)
{
	static const struct {
		const char *group, *order, *reversed;
	} words[] = { { "group ", "order ", " reversed" }, { "", "", " rev" } };
	char text[80], groups[PAGE_GROUPS_TITLE];
	size_t len, i;

	page_groups_title(page, ">", groups);
	for (i = 0; i < BASE_NELEM(words); i++) {
		len = 0;
		if (page_shows_groups(page))
			base_append(text, sizeof text, &len, "   %s%s",
			    words[i].group, groups);
		else
			base_append(text, sizeof text, &len, "   %s%s%s",
			    words[i].order, page_sort_title(&page->opts),
			    page_list_reverse(&page->opts) ?
			    words[i].reversed : "");
		if (!fits(pic, (int)len))
			continue;
		picture_put(pic, text);
		return;
	}
}

/* Without room for the shortest form the line is the classic one. */
static void
wide_node(struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	bool frozen = page_rows_are_frozen(page) ||
	    page_groups_are_frozen(page, v);
	char offs[8];
	int at;

	page_fields_put(page, v, PAGE_FIELD_WIDE, pic);
	if (!put_held(page, v, frozen ? FROZEN_COLS : 0, pic)) {
		picture_unline(pic);
		picture_line(pic);
		page_classic.node(page, v, pic);
		return;
	}
	if (frozen)
		put_frozen(page, v, pic);
	else
		put_order(page, pic);
	put_mark(page, v, pic);
	base_format_grouped(offs, 6, page->offs);
	/* OFFS keeps its column if the line is short enough. */
	at = picture_col(pic) + 2;
	if (pic->cols >= OFFS_AT + OFFS_COLS && at < OFFS_AT)
		at = OFFS_AT;
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
