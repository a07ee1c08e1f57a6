#include <stdio.h>
#include <string.h>

#include "../layout/layout.h"
#include "../picture/picture.h"
#include "panels.h"

#define NAME_SHORT 8		/* columns of a name that is cut */
#define NAME_USUAL 16
#define NAME_LONG 32
#define INDENT 2
#define KEYS_COLS 110		/* a narrower tree has no room for keys and remarks */

struct row {
	const struct nodes_target *t;
	const struct nodes_branch *b;
	int indent;
};

static bool
is_counted(const struct nodes_target *t)
{
	return t->state != WIRE_S_NO_DATA && t->state != WIRE_S_DORMANT;
}

static void
put_pid(const struct row *row, int width, struct page_picture *pic)
{
	picture_printf(pic, "%*d", width, (int)row->t->pid);
}

static void
put_name(const struct row *row, int width, struct page_picture *pic)
{
	int indent = row->indent;

	if (indent > width - NAME_SHORT)
		indent = width > NAME_SHORT ? width - NAME_SHORT : 0;
	picture_blanks(pic, indent);
	picture_text(pic, row->t->comm, width - indent, PICTURE_LEFT);
}

static void
put_bytes(uint64_t n, bool known, bool sampled, const char *mark, int width,
    struct page_picture *pic)
{
	char bytes[24], text[32];

	base_human_bytes(bytes, sizeof bytes, n);
	snprintf(text, sizeof text, "%s%s%s", page_about(sampled), bytes, mark);
	picture_printf(pic, "%*s", width, known ? text : "- ");
}

static void
put_count(uint64_t n, bool known, bool sampled, int width,
    struct page_picture *pic)
{
	char blocks[32], text[40];

	base_format_grouped(blocks, width - (int)strlen(page_about(sampled)),
	    n);
	snprintf(text, sizeof text, "%s%s", page_about(sampled),
	    blocks + strspn(blocks, " "));
	picture_printf(pic, "%*s", width, known ? text : "-");
}

static void
put_live(const struct row *row, int width, struct page_picture *pic)
{
	put_bytes(row->t->n[WIRE_N_EST_BYTES], is_counted(row->t),
	    row->t->n[WIRE_N_SAMPLE] != 0,
	    page_target_is_complete(row->t) ? " " : "?", width, pic);
}

static void
put_blocks(const struct row *row, int width, struct page_picture *pic)
{
	put_count(row->t->n[WIRE_N_EST_BLOCKS], is_counted(row->t),
	    row->t->n[WIRE_N_SAMPLE] != 0, width, pic);
}

static void
put_tree(const struct row *row, int width, struct page_picture *pic)
{
	const struct nodes_sum *sum = &row->b->sum;

	if (row->b->live_below)
		put_bytes(sum->bytes, true, sum->sampled,
		    page_sum_is_complete(sum) ? " " : "?", width, pic);
	else
		picture_blanks(pic, width);
}

static void
put_tree_blocks(const struct row *row, int width, struct page_picture *pic)
{
	const struct nodes_sum *sum = &row->b->sum;

	if (row->b->live_below)
		put_count(sum->blocks, true, sum->sampled, width, pic);
	else
		picture_blanks(pic, width);
}

static void
put_state(const struct row *row, int width, struct page_picture *pic)
{
	const char *state = page_target_state(row->t->state);

	picture_printf(pic, "%-*s", width, state != NULL ? state : "?");
}

/*
 * From left to right.  The lowest ranks get room first, the name the rest too.
 * A column of a tree is shown where any target has others below it.
 */
static const struct column {
	const char *title;
	int width, rank;
	bool right, tree;
	void (*put)(const struct row *, int width, struct page_picture *);
} columns[] = {
	{ "PID", 8, 1, true, false, put_pid },
	{ "COMM", NAME_USUAL, 0, false, false, put_name },
	{ "LIVE ", 12, 3, true, false, put_live },
	{ "BLOCKS", 8, 5, true, false, put_blocks },
	{ "TREE ", 12, 4, true, true, put_tree },
	{ "BLOCKS", 8, 6, true, true, put_tree_blocks },
	{ "STATE", 8, 2, false, false, put_state },
};

#define NCOLUMNS BASE_NELEM(columns)

/* Widths, with the blank before each; 0: no room. */
static void
plan_columns(int cols, bool tree, int most, int width[NCOLUMNS])
{
	int left = cols, need, rank;
	size_t i, name = 0;

	for (rank = 0; rank < (int)NCOLUMNS; rank++)
		for (i = 0; i < NCOLUMNS; i++) {
			if (columns[i].rank != rank)
				continue;
			need = rank == 0 ? NAME_SHORT : columns[i].width;
			width[i] = need + 1 <= left &&
			    (tree || !columns[i].tree) ? need + 1 : 0;
			left -= width[i];
			if (rank == 0)
				name = i;
		}
	if (width[name] > 0)
		width[name] += left < most - NAME_SHORT ? left :
		    most - NAME_SHORT;
}

static void
put_title(const int width[NCOLUMNS], const char *keys,
    struct page_picture *pic)
{
	size_t i;

	picture_line(pic);
	for (i = 0; i < NCOLUMNS; i++)
		if (width[i] > 0)
			picture_printf(pic, columns[i].right ? " %*s" :
			    " %-*s", width[i] - 1, columns[i].title);
	page_overlay_title(keys, pic);
}

static bool
has_ended(const struct nodes_target *t)
{
	return t->ended || t->state == WIRE_S_ENDED ||
	    t->state == WIRE_S_EXECED;
}

bool
page_targets_before(const struct nodes_target *x, const struct nodes_target *y)
{
	uint64_t bytes_x = x->n[WIRE_N_LIVE_BYTES];
	uint64_t bytes_y = y->n[WIRE_N_LIVE_BYTES];

	if (has_ended(x) != has_ended(y))
		return has_ended(y);
	if (!has_ended(x) && bytes_x != bytes_y)
		return bytes_x > bytes_y;
	return x->index > y->index;
}

static void
row_remarks(const struct row *row, char out[PAGE_REMARKS_TEXT])
{
	char lack[PAGE_REMARKS_TEXT];
	size_t len;

	page_target_remarks(row->t, out);
	page_sum_lack(&row->b->sum, lack);
	len = strlen(out);
	if (row->b->live_below && lack[0] != '\0')
		base_append(out, PAGE_REMARKS_TEXT, &len, "%stree: %s",
		    len > 0 ? "; " : "", lack);
}

static void
put_target(const struct row *row, const int width[NCOLUMNS], bool tree,
    struct page_picture *pic)
{
	char remarks[PAGE_REMARKS_TEXT];
	size_t i;

	picture_line(pic);
	for (i = 0; i < NCOLUMNS; i++) {
		if (width[i] == 0)
			continue;
		picture_put(pic, " ");
		columns[i].put(row, width[i] - 1, pic);
	}
	row_remarks(row, remarks);
	if (remarks[0] != '\0' && (!tree || pic->cols >= KEYS_COLS)) {
		picture_put(pic, " ");
		picture_text(pic, remarks, pic->cols, PICTURE_FREE);
	}
}

static const char *
keys_of(const struct page_targets *p, bool tree)
{
	return !tree ? "j k move  Enter go  Esc close" : p->flat ?
	    "j k move  t tree  Enter go  Esc close" :
	    "j k move  t flat  Enter go  Esc close";
}

static bool
is_tree(const struct page_targets *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->branch[i].live_below)
			return true;
	return false;
}

static void
row_of(const struct page_targets *p, size_t i, struct row *row)
{
	row->b = &p->branch[p->order[i]];
	row->t = &p->target[row->b->at];
	row->indent = p->flat ? 0 : (int)row->b->depth * INDENT;
}

void
page_targets_put(const struct page_targets *p, size_t selected,
    struct page_picture *pic)
{
	int width[NCOLUMNS], name = NAME_USUAL, need;
	bool tree = is_tree(p);
	struct row row;
	size_t i;

	for (i = 0; i < p->n; i++) {
		row_of(p, i, &row);
		need = row.indent + picture_cols(pic, row.t->comm);
		if (need > name)
			name = need < NAME_LONG ? need : NAME_LONG;
	}
	plan_columns(pic->cols, tree, name, width);
	put_title(width, tree && pic->cols < KEYS_COLS ? "" :
	    keys_of(p, tree), pic);
	for (i = 0; i < p->n; i++) {
		row_of(p, i, &row);
		put_target(&row, width, tree, pic);
		if (i == selected)
			picture_mark_line(pic, PAGE_CURSOR);
		else if (has_ended(row.t))
			picture_mark_line(pic, PAGE_STALE);
	}
}

void
page_targets_foot(const struct page_targets *p, size_t selected,
    struct page_picture *pic)
{
	char remarks[PAGE_REMARKS_TEXT], text[PAGE_REMARKS_TEXT + 64];
	struct row row;

	snprintf(text, sizeof text, "%s", pic->cols < KEYS_COLS && is_tree(p) ?
	    keys_of(p, true) : "");
	if (selected < p->n) {
		row_of(p, selected, &row);
		row_remarks(&row, remarks);
		if (remarks[0] != '\0')
			snprintf(text, sizeof text, "%s[%d]: %s", row.t->comm,
			    (int)row.t->pid, remarks);
	}
	picture_line(pic);
	picture_text(pic, text, pic->cols, PICTURE_FREE);
	page_sum_text(&p->sum, remarks);
	snprintf(text, sizeof text, "%s: %s", p->whose, remarks);
	picture_line(pic);
	picture_text(pic, text, pic->cols, PICTURE_FREE);
}
