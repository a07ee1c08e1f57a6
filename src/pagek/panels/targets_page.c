#include <stdio.h>
#include <string.h>

#include "../layout/layout.h"
#include "../picture/picture.h"
#include "panels.h"

#define KEYS "j k move  Enter go  Esc close"
#define NAME_MIN 8		/* columns of a name that is cut */

static bool
is_counted(const struct nodes_target *t)
{
	return t->state != WIRE_S_NO_DATA && t->state != WIRE_S_DORMANT;
}

static void
put_pid(const struct nodes_target *t, int width, struct page_picture *pic)
{
	picture_printf(pic, "%*d", width, (int)t->pid);
}

static void
put_name(const struct nodes_target *t, int width, struct page_picture *pic)
{
	picture_text(pic, t->comm, width, PICTURE_LEFT);
}

static void
put_number(const struct nodes_target *t, const char *digits, int width,
    struct page_picture *pic)
{
	char text[32];

	snprintf(text, sizeof text, "%s%s", page_about(t->n[WIRE_N_SAMPLE]),
	    digits);
	picture_printf(pic, "%*s", width, is_counted(t) ? text : "-");
}

static void
put_live(const struct nodes_target *t, int width, struct page_picture *pic)
{
	char bytes[24];

	base_human_bytes(bytes, sizeof bytes, t->n[WIRE_N_EST_BYTES]);
	put_number(t, bytes, width, pic);
}

static void
put_blocks(const struct nodes_target *t, int width, struct page_picture *pic)
{
	char blocks[8];

	base_format_grouped(blocks, width -
	    (int)strlen(page_about(t->n[WIRE_N_SAMPLE])),
	    t->n[WIRE_N_EST_BLOCKS]);
	put_number(t, blocks + strspn(blocks, " "), width, pic);
}

static void
put_state(const struct nodes_target *t, int width, struct page_picture *pic)
{
	const char *state = page_target_state(t->state);

	picture_printf(pic, "%-*s", width, state != NULL ? state : "?");
}

/* From left to right.  The lowest ranks get room first, the name the rest too. */
static const struct column {
	const char *title;
	int width, rank;
	bool right;
	void (*put)(const struct nodes_target *, int width,
	    struct page_picture *);
} columns[] = {
	{ "PID", 8, 1, true, put_pid },
	{ "COMM", 16, 0, false, put_name },
	{ "LIVE", 11, 3, true, put_live },
	{ "BLOCKS", 6, 4, true, put_blocks },
	{ "STATE", 8, 2, false, put_state },
};

#define NCOLUMNS BASE_NELEM(columns)

/* Widths, with the blank before each; 0: no room. */
static void
plan_columns(int cols, int width[NCOLUMNS])
{
	int left = cols, need, rank;
	size_t i, name = 0;

	for (rank = 0; rank < (int)NCOLUMNS; rank++)
		for (i = 0; i < NCOLUMNS; i++) {
			if (columns[i].rank != rank)
				continue;
			need = rank == 0 ? NAME_MIN : columns[i].width;
			width[i] = need + 1 <= left ? need + 1 : 0;
			left -= width[i];
			if (rank == 0)
				name = i;
		}
	if (width[name] > 0)
		width[name] += left < columns[name].width - NAME_MIN ? left :
		    columns[name].width - NAME_MIN;
}

static void
put_title(const int width[NCOLUMNS], struct page_picture *pic)
{
	size_t i;

	picture_line(pic);
	for (i = 0; i < NCOLUMNS; i++)
		if (width[i] > 0)
			picture_printf(pic, columns[i].right ? " %*s" :
			    " %-*s", width[i] - 1, columns[i].title);
	page_overlay_title(KEYS, pic);
}

static void
put_target(const struct nodes_target *t, const int width[NCOLUMNS],
    struct page_picture *pic)
{
	char remarks[PAGE_REMARKS_TEXT];
	size_t i;

	picture_line(pic);
	for (i = 0; i < NCOLUMNS; i++) {
		if (width[i] == 0)
			continue;
		picture_put(pic, " ");
		columns[i].put(t, width[i] - 1, pic);
	}
	page_target_remarks(t, remarks);
	if (remarks[0] != '\0') {
		picture_put(pic, " ");
		picture_text(pic, remarks, pic->cols, PICTURE_FREE);
	}
}

void
page_targets_put(const struct nodes_target *targets, size_t n,
    size_t selected, struct page_picture *pic)
{
	int width[NCOLUMNS];
	size_t i;

	plan_columns(pic->cols, width);
	put_title(width, pic);
	for (i = 0; i < n; i++) {
		put_target(&targets[i], width, pic);
		if (i == selected)
			picture_mark_line(pic, PAGE_CURSOR);
	}
}
