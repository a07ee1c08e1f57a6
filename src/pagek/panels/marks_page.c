#include <stdio.h>
#include <string.h>

#include "../page/view.h"
#include "../picture/picture.h"
#include "panels.h"

#define KEYS "j k move  Enter compare  Esc close"
#define NAME_MIN 8

static void
time_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_mark_row *r = row;

	page_cell_date(r->mark->wall_ms, r->utc, out);
}

static void
bytes_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_mark_row *r = row;

	base_human_bytes(out, 24, r->mark->est_bytes);
}

#define OF(member) .via = FIELD_VIA(page_mark_row, mark), \
	    .at = offsetof(struct wire_named_mark, member)

static const struct field marks[] = {
	{ .key = "name", .kind = FIELD_TEXT, .get = field_any_text, OF(name),
	    .column = { .title = "NAME", .width = 16, .plain = true } },
	{ .key = "time", .kind = FIELD_TIME, .get = field_i64, OF(wall_ms),
	    .column = { .title = "TIME", .gap = 1, .width = 19,
	    .cell = time_cell } },
	{ .key = "blocks", .get = field_u64, OF(est_blocks),
	    .column = { .title = "BLOCKS", .gap = 1, .width = 10,
	    .right = true, .plain = true } },
	{ .key = "bytes", .get = field_u64, .unit = FIELD_BYTES, OF(est_bytes),
	    .column = { .title = "LIVE", .gap = 1, .width = 10, .right = true,
	    .cell = bytes_cell } },
	{ .key = "by", .kind = FIELD_TEXT, .get = field_any_text, OF(who),
	    .column = { .title = "BY", .gap = 1, .place = 1, .plain = true } },
	{ .key = "by_program", .kind = FIELD_BOOL, .get = field_flag,
	    OF(by_target) },
	{ .key = "sequence", .get = field_u64, OF(seq) },
};
const struct field_table page_mark_fields = FIELD_TABLE(marks);

static int
name_columns(const struct nodes_marks *m, const struct page_picture *pic)
{
	int most = NAME_MIN, cols;

	for (size_t i = 0; i < m->n; i++) {
		cols = picture_cols(pic, m->at[i].name);
		most = cols > most ? cols : most;
	}
	return most < pic->cols - NAME_MIN ? most : pic->cols;
}

static const struct {
	enum { TIME = 1, BLOCKS, LIVE, BY } field;
	int width;		/* 0: the rest */
} columns[] = { { TIME, 19 }, { LIVE, 10 }, { BLOCKS, 10 }, { BY, 0 } };

/* row NULL: the titles. */
static void
put_row(const struct page_mark_row *row, int name, struct page_picture *pic)
{
	char text[FIELD_CELL];

	picture_text(pic, row != NULL ? row->mark->name : marks[0].column.title,
	    name, PICTURE_LEFT);
	for (size_t i = 0; i < BASE_NELEM(columns); i++) {
		const struct field_column *c = &marks[columns[i].field].column;
		int room = pic->cols - picture_col(pic) - 1;
		int width = columns[i].width != 0 ? columns[i].width : room;

		if (room < width || width < 4)
			return;
		if (row == NULL)
			snprintf(text, sizeof text, "%s", c->title);
		else if (c->cell != NULL)
			c->cell(row, text);
		else
			field_cell(&marks[columns[i].field], row, text);
		picture_put(pic, " ");
		picture_text(pic, text, width, c->right ? PICTURE_RIGHT :
		    columns[i].width == 0 ? PICTURE_FREE : PICTURE_LEFT);
	}
}

void
page_marks_put(const struct nodes_marks *m, size_t selected, bool utc,
    struct page_picture *pic)
{
	int name = name_columns(m, pic);

	picture_line(pic);
	put_row(NULL, name, pic);
	page_overlay_title(KEYS, pic);
	for (size_t i = 0; i < m->n; i++) {
		struct page_mark_row row = { .mark = &m->at[i], .utc = utc };

		picture_line(pic);
		put_row(&row, name, pic);
		if (i == selected)
			picture_mark_line(pic, PAGE_CURSOR);
	}
	if (m->n > 0)
		return;
	picture_line(pic);
	picture_put(pic, "There is no mark: :mark NAME sets one.");
}

void
page_marks_known(const struct nodes_marks *m, char *out, size_t cap)
{
	size_t len = 0, first = m->n > PAGE_MARKS_SAID ?
	    m->n - PAGE_MARKS_SAID : 0;

	out[0] = '\0';
	if (m->n == 0)
		base_append(out, cap, &len, "this target has no marks");
	else
		base_append(out, cap, &len, m->n == 1 ? "there is " :
		    "there are ");
	/* The newest are those that somebody looks for. */
	for (size_t i = m->n; i > first; i--)
		base_append(out, cap, &len, "%s'%s'", i == m->n ? "" :
		    i - 1 > first || first > 0 ? ", " : " and ",
		    m->at[i - 1].name);
	if (first > 0)
		base_append(out, cap, &len, " and %zu more", first);
}
