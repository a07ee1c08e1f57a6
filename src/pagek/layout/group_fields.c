#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../page/calls.h"
#include "../picture/picture.h"
#include "fields.h"

#define BAR_COLS 12
#define TREND_COLS 12
/* The name has no column of its own. */
#define NAME_WORD "name"
#define NAME_TITLE "NAME"

#define SUM(member) offsetof(struct profile_sum, member)

/* Listed, and estimated: the same unless it is a sample. */
static const struct field sums[] = {
	{ .key = "blocks", .get = field_u64, .at = SUM(listed) },
	{ .key = "bytes", .get = field_u64, .at = SUM(listed_bytes) },
	{ .key = "est_blocks", .get = field_u64, .at = SUM(blocks) },
	{ .key = "est_bytes", .get = field_u64, .at = SUM(bytes) },
};
const struct field_table page_sum_fields = FIELD_TABLE(sums);

FIELD_GET(get_oldest, page_weighed, i, r->now_ms > r->sum->oldest_ms ?
    r->now_ms - r->sum->oldest_ms : 0, r->sum->blocks > 0 && r->now_ms != 0)
FIELD_GET(get_share, page_weighed, share, r->part / r->whole, r->whole > 0)

static const struct field weighed[] = {
	{ .kind = FIELD_INCLUDE, .get = field_row,
	    .at = offsetof(struct page_weighed, sum), .sub = &page_sum_fields },
	{ .key = "oldest_age_ms", .kind = FIELD_SIGNED, .get = get_oldest },
	{ .key = "share", .kind = FIELD_SHARE, .get = get_share },
};
const struct field_table page_weighed_fields = FIELD_TABLE(weighed);

/* Right-aligned, an estimate with its mark. */
static void
put_figure(const struct page_sum *r, int width, const char *text,
    struct page_picture *pic)
{
	const char *about = page_about(r->v->look->sample);

	text += strspn(text, " ");
	picture_printf(pic, "%*s%s%s",
	    width - (int)strlen(about) - (int)strlen(text), "", about, text);
}

static int
digit_cols(const struct page_sum *r, int width)
{
	return width - (int)strlen(page_about(r->v->look->sample));
}

static void
put_count(const void *row, int width, struct page_picture *pic)
{
	const struct page_sum *r = row;
	char text[32];

	base_format_grouped(text, digit_cols(r, width), r->g->total.blocks);
	put_figure(r, width, text, pic);
}

static void
put_size(const struct page_sum *r, uint64_t bytes, int width,
    struct page_picture *pic)
{
	char text[24];

	base_format_bytes(text, digit_cols(r, width), bytes);
	put_figure(r, width, text, pic);
}

FIELD_PUT(put_bytes, page_sum, put_size(r, r->g->total.bytes, width, pic))
FIELD_PUT(put_self, page_sum, put_size(r, r->g->self.bytes, width, pic))

/* A share that is not 0 is not shown as 0. */
static void
put_share(const void *row, int width, struct page_picture *pic)
{
	const struct page_sum *r = row;
	double share = r->of > 0 ? (double)r->g->total.bytes * 100 /
	    (double)r->of : 0;
	char text[16];

	if (share > 0 && share < 0.5)
		snprintf(text, sizeof text, "<1%%");
	else
		snprintf(text, sizeof text, "%.0f%%", share);
	put_figure(r, width, text, pic);
}

FIELD_PUT(put_bar, page_sum, picture_bar(pic, r->of > 0 ?
    (double)r->g->total.bytes / (double)r->of : 0, width))

static uint64_t
seconds_of(const struct page_sum *r)
{
	int64_t ms = r->v->look->now_ms - r->g->total.oldest_ms;

	return ms > 0 ? (uint64_t)ms / 1000 : 0;
}

static void
put_oldest(const void *row, int width, struct page_picture *pic)
{
	const struct page_sum *r = row;
	char text[8];

	page_cell_age(text, seconds_of(r));
	picture_printf(pic, "%*s", width, r->g->total.blocks > 0 ? text : "");
}

FIELD_PUT(put_glyph, page_sum, picture_printf(pic, "%*c", width,
    r->g->total.blocks > 0 ? page_cell_age_glyph(seconds_of(r)) : ' '))
FIELD_PUT(put_type, page_sum, picture_text(pic, r->type, width, PICTURE_LEFT))
FIELD_PUT(put_thread, page_sum,
    picture_text(pic, r->thread, width, PICTURE_LEFT))

static void
put_trend(const void *row, int width, struct page_picture *pic)
{
	const struct page_sum *r = row;
	int end = picture_col(pic) + width;

	if (r->point != NULL)
		picture_spark(pic, r->point, r->npoint, 0, width);
	picture_to(pic, end);
}

FIELD_PUT(put_change, page_sum, picture_text(pic,
    r->change_text != NULL ? r->change_text : "-", width, PICTURE_RIGHT))

#define ROW(member) offsetof(struct page_sum, member)
#define GROUP(member) .via = FIELD_VIA(page_sum, g), \
	    .at = offsetof(struct profile_group, member)

static bool
get_age(const void *row, size_t at, struct field_value *v)
{
	const struct page_sum *r = row;

	return get_oldest(&r->weighed, at, v);
}

static bool
get_part(const void *row, size_t at, struct field_value *v)
{
	const struct page_sum *r = row;

	return get_share(&r->weighed, at, v);
}

#define CHANGE .via = FIELD_VIA(page_sum, change)
FIELD_GET(get_change_bytes, difference_sum, i, difference_net_listed(r), true)
FIELD_GET(get_change_blocks, difference_sum, i,
    (int64_t)(r->new.listed - r->freed.listed), true)
FIELD_GET(get_est_change_bytes, difference_sum, i,
    difference_round(difference_net(r)), true)
FIELD_GET(get_est_change_blocks, difference_sum, i,
    difference_round(r->new.blocks - r->freed.blocks), true)

enum { NEED_SELF = 1, NEED_WHOLE = 2, NEED_CHANGE = 4 };

#define SHOWN PAGE_GROUP_SHOWN
#define COUNTED PAGE_GROUP_COUNTED

static const struct field groups[] = {
	{ .key = "name", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(name) },
	{ .key = "where", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(where), .subset = SHOWN },
	{ .key = "function", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(function), .subset = COUNTED },
	/* Without columns: they are sort keys. */
	{ .key = "module", .kind = FIELD_TEXT, .get = field_pointer,
	    GROUP(module), .column = { .title = "MODULE", .word = "module",
	    .sort = PROFILE_OF_MODULE } },
	{ .key = "file", .kind = FIELD_TEXT, .get = field_pointer,
	    GROUP(file), .column = { .title = "FILE", .word = "file",
	    .sort = PROFILE_OF_FILE } },
	{ .key = "line", .get = field_u32_known, GROUP(line),
	    .column = { .title = "LINE", .word = "line",
	    .sort = PROFILE_OF_LINE } },
	{ .key = "stacks", .get = field_u32, GROUP(stacks),
	    .subset = COUNTED },
	{ .column = { .title = "TYPE", .word = "type", .sort = PROFILE_TYPE,
	    .gap = 1, .width = 8, .rank = 7, .keep = 26, .need = NEED_WHOLE,
	    .put = put_type } },
	{ .column = { .title = "THREAD", .word = "thread",
	    .sort = PROFILE_THREAD, .gap = 1, .width = 8, .rank = 8,
	    .keep = 26, .need = NEED_WHOLE, .put = put_thread } },
	{ .key = "blocks", .get = field_u64, GROUP(total.listed) },
	{ .key = "bytes", .get = field_u64, GROUP(total.listed_bytes) },
	{ .key = "est_blocks", .get = field_u64, GROUP(total.blocks),
	    .column = { .title = "COUNT", .word = "blocks",
	    .also = "count", .sort = PROFILE_BLOCKS, .gap = 1, .width = 7, .right = true,
	    .rank = 2, .keep = 10, .figure = true, .put = put_count } },
	{ .key = "est_bytes", .get = field_u64, GROUP(total.bytes),
	    .column = { .title = "BYTES", .word = "bytes",
	    .also = "size", .sort = PROFILE_BYTES, .gap = 1, .width = 9,
	    .right = true, .rank = 0, .figure = true, .put = put_bytes } },
	{ .key = "oldest_age_ms", .kind = FIELD_SIGNED, .get = get_age,
	    .column = { .title = "AGE", .word = "oldest_age", .also = "age",
	    .sort = PROFILE_AGE, .gap = 1, .width = 5, .right = true, .place = 1, .rank = 3,
	    .keep = 16, .put = put_oldest } },
	{ .key = "share", .kind = FIELD_SHARE, .get = get_part,
	    .column = { .title = "LIVE", .gap = 1, .width = 4, .right = true,
	    .rank = 1, .figure = true, .put = put_share } },
	{ .key = "self", .kind = FIELD_OBJECT, .get = field_member,
	    GROUP(self), .sub = &page_sum_fields, .subset = COUNTED,
	    .column = { .title = "SELF", .subset = SHOWN, .word = "self",
	    .sort = PROFILE_SELF, .gap = 1, .width = 9, .right = true,
	    .rank = 4, .keep = 16, .need = NEED_SELF, .figure = true,
	    .put = put_self } },
	{ .column = { .title = "SIZE BAR", .gap = 1, .width = BAR_COLS,
	    .rank = 6, .keep = 22, .put = put_bar } },
	{ .key = "since_mark_bytes", .kind = FIELD_SIGNED,
	    .get = get_change_bytes, CHANGE, .subset = SHOWN },
	{ .key = "since_mark_blocks", .kind = FIELD_SIGNED,
	    .get = get_change_blocks, CHANGE, .subset = SHOWN },
	{ .key = "est_since_mark_bytes", .kind = FIELD_SIGNED,
	    .get = get_est_change_bytes, CHANGE, .subset = SHOWN,
	    .column = { .title = "SINCE MK", .gap = 1, .width = 11,
	    .right = true, .rank = 5, .keep = 16, .need = NEED_CHANGE,
	    .put = put_change } },
	{ .key = "est_since_mark_blocks", .kind = FIELD_SIGNED,
	    .get = get_est_change_blocks, CHANGE, .subset = SHOWN },
	{ .column = { .title = "H", .gap = 1, .width = 1, .place = 1,
	    .rank = 9, .keep = 26, .need = NEED_WHOLE, .put = put_glyph } },
	{ .column = { .title = "LAST 60 s", .gap = 1, .width = TREND_COLS,
	    .place = 1, .rank = 10, .keep = 26, .need = NEED_WHOLE,
	    .put = put_trend } },
	FIELD_LOSS_COLUMNS,
};
const struct field_table page_group_fields = FIELD_TABLE(groups);

static void
plan_columns(int cols, const struct page_sum_form *form, bool sampled,
    struct field_plan *plan)
{
	unsigned have = (form->self ? NEED_SELF : 0) |
	    (form->whole ? NEED_WHOLE : 0) | (form->change ? NEED_CHANGE : 0);

	field_plan(&page_group_fields, SHOWN, cols, have, sampled, plan);
}

static void
say_title(const char *title, const struct page_sum_form *form, bool here,
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
	bool sampled = v->look->sample != 0;
	struct field_plan plan;
	char text[80];

	plan_columns(pic->cols, form, sampled, &plan);
	say_title(title, form, form->sorted && form->by == PROFILE_NAME,
	    plan.left, text, sizeof text);
	picture_text(pic, text, plan.left, PICTURE_LEFT);
	for (size_t i = 0; i < plan.n; i++) {
		const struct field_column *c = &plan.column[i]->column;
		int width = field_width(plan.column[i], sampled);

		say_title(c->title, form, form->sorted && c->word != NULL &&
		    c->sort == (int)form->by, width, text, sizeof text);
		picture_put(pic, " ");
		picture_text(pic, text, width, c->right ? PICTURE_RIGHT :
		    PICTURE_LEFT);
	}
	picture_mark_line(pic, PAGE_HEADING);
}

void
page_sum_put(const struct page_sum *r, const struct page_sum_form *form,
    const char *text, const char *where, struct page_picture *pic)
{
	bool sampled = r->v->look->sample != 0;
	struct field_plan plan;

	plan_columns(pic->cols, form, sampled, &plan);
	if (where != NULL)
		page_put_name(text, where, plan.left - picture_col(pic), pic);
	else
		picture_text(pic, text, plan.left - picture_col(pic),
		    PICTURE_FREE);
	picture_to(pic, plan.left);
	for (size_t i = 0; i < plan.n; i++) {
		picture_put(pic, " ");
		plan.column[i]->column.put(r, field_width(plan.column[i],
		    sampled), pic);
	}
}

/* The name first, then the columns from left to right. */
static size_t
sort_keys(bool self, enum profile_measure out[FIELD_COLUMNS + 1])
{
	struct page_sum_form all = { .self = self, .whole = true,
		.change = true };
	struct field_plan plan;
	size_t n = 0;

	out[n++] = PROFILE_NAME;
	plan_columns(PAGE_COLS_MAX, &all, false, &plan);
	for (size_t i = 0; i < plan.n; i++)
		if (plan.column[i]->column.word != NULL)
			out[n++] = (enum profile_measure)
			    plan.column[i]->column.sort;
	return n;
}

enum profile_measure
page_sum_next(enum profile_measure by, int step, bool self)
{
	enum profile_measure all[FIELD_COLUMNS + 1];
	size_t n = sort_keys(self, all), i = 0;

	while (i < n - 1 && all[i] != by)
		i++;
	return all[step > 0 ? (i + 1) % n : (i + n - 1) % n];
}

/* NULL: the name, which has no column. */
static const struct field_column *
column_by(enum profile_measure by)
{
	for (size_t i = 0; i < BASE_NELEM(groups); i++)
		if (groups[i].column.word != NULL &&
		    groups[i].column.sort == (int)by)
			return &groups[i].column;
	return NULL;
}

const char *
page_sum_word(enum profile_measure by)
{
	const struct field_column *c = column_by(by);

	return c != NULL ? c->word : NAME_WORD;
}

const char *
page_sum_title(enum profile_measure by)
{
	const struct field_column *c = column_by(by);

	return c != NULL ? c->title : NAME_TITLE;
}

static bool
is_sort_word(const struct field_column *c, const char *word)
{
	return c->word != NULL && (field_is_key_of(word, c->word) ||
	    (c->also != NULL && strcmp(c->also, word) == 0));
}

int
page_sum_called(const char *word, enum profile_measure *by)
{
	for (size_t i = 0; i < BASE_NELEM(groups); i++)
		if (is_sort_word(&groups[i].column, word)) {
			*by = (enum profile_measure)groups[i].column.sort;
			return 0;
		}
	/* Blocks of a function have its name, and the function is the group. */
	if (strcmp(word, NAME_WORD) != 0 && strcmp(word, "function") != 0)
		return -EINVAL;
	*by = PROFILE_NAME;
	return 0;
}
