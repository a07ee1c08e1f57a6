#include <stdio.h>
#include <string.h>

#include "../difference/difference.h"
#include "difference_page.h"

#define LEAST_POINTS 3	/* fewer say nothing about a leak */

void
page_diff_name(const struct page *page, const struct page_view *v,
    const struct difference *s, const struct difference_group *g,
    struct page_group_words *out)
{
	struct profile_group as;

	out->name[0] = out->where[0] = '\0';
	/* Fails only for want of memory. */
	if (difference_name_group(s, g, &as))
		page_group_say(page, v, difference_group_kind(s), &as, out);
}

void
page_diff_count(char out[32], const struct page_view *v, double n)
{
	char digits[32];

	base_group_digits(digits, sizeof digits, (uint64_t)(n + 0.5));
	snprintf(out, 32, "%s%.28s", page_about(v->look->sample), digits);
}

#define COUNT_COLS 9

/* Fits a number into the columns of a count; it is never cut. */
static void
count_text(char out[32], const struct page_view *v, double n)
{
	char digits[COUNT_COLS + 1];

	base_format_grouped(digits, COUNT_COLS, (uint64_t)(n + 0.5));
	snprintf(out, 32, "%s%s", page_about(v->look->sample),
	    digits + strspn(digits, " "));
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

static void
type_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_diff_row *r = row;
	const struct stream_types *types = r->v->look->types;

	if (r->g->type < 0)
		snprintf(out, FIELD_CELL, "*");
	else
		snprintf(out, FIELD_CELL, "%s", types != NULL &&
		    types->by_code[r->g->type].name[0] != '\0' ?
		    types->by_code[r->g->type].name : "?");
}

#define CELL(name, text) \
	static void \
	name(const void *row, char out[FIELD_CELL]) \
	{ \
		const struct page_diff_row *r = row; \
		\
		text; \
	}

CELL(new_cell, count_text(out, r->v, r->g->sum.new.blocks))
CELL(new_bytes_cell, bytes_text(out, r->v, r->g->sum.new.bytes, false))
CELL(freed_cell, count_text(out, r->v, r->g->sum.freed.blocks))
CELL(freed_bytes_cell, bytes_text(out, r->v, r->g->sum.freed.bytes, false))
CELL(net_cell, bytes_text(out, r->v, difference_net(&r->g->sum), true))

static void
net_min_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_diff_row *r = row;

	if (r->minutes > 0)
		bytes_text(out, r->v, difference_net(&r->g->sum) / r->minutes,
		    true);
	else
		snprintf(out, FIELD_CELL, "-");
}

static void
oldest_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_diff_row *r = row;
	int64_t ms = r->v->look->now_ms - r->g->sum.oldest_ms;

	out[0] = '\0';
	if (r->g->sum.new.blocks > 0)
		page_cell_age(out, ms > 0 ? (uint64_t)ms / 1000 : 0);
}

static void
verdict_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_diff_row *r = row;
	unsigned n, ups = difference_rises(r->s, r->g, &n);

	out[0] = '\0';
	if (n >= LEAST_POINTS && ups * 4 >= n * 3)
		snprintf(out, FIELD_CELL, "%s%u/%u intervals up", ups == n ?
		    "LEAK? " : "", ups, n);
}

#define GROUP(member) .via = FIELD_VIA(page_diff_row, g), \
	    .at = offsetof(struct difference_group, member)
#define AS(member) .via = FIELD_VIA(page_diff_row, as), \
	    .at = offsetof(struct profile_group, member)
#define WORDS(member) .via = FIELD_VIA(page_diff_row, words), \
	    .at = offsetof(struct page_group_words, member)

static bool
get_rounded(const void *row, size_t at, struct field_value *v)
{
	const double *n = (const void *)((const char *)row + at);

	v->i = difference_round(*n);
	return true;
}

FIELD_GET(get_net, page_diff_row, i, difference_net_listed(&r->g->sum), true)
FIELD_GET(get_est_net, page_diff_row, i,
    difference_round(difference_net(&r->g->sum)), true)

#define KEEP .keep = PAGE_DIFF_NAME_MIN

static const struct field groups[] = {
	{ .key = "name", .kind = FIELD_TEXT, .get = field_array,
	    WORDS(name) },
	{ .key = "where", .kind = FIELD_TEXT, .get = field_array,
	    WORDS(where) },
	{ .column = { .title = "TYPE", .gap = 1, .width = 8, .rank = 7, KEEP,
	    .cell = type_cell } },
	{ .key = "new_blocks", .get = field_u64, GROUP(sum.new.listed) },
	{ .key = "new_bytes", .get = field_u64, GROUP(sum.new.listed_bytes) },
	{ .key = "freed_blocks", .get = field_u64, GROUP(sum.freed.listed) },
	{ .key = "freed_bytes", .get = field_u64,
	    GROUP(sum.freed.listed_bytes) },
	{ .key = "net_bytes", .kind = FIELD_SIGNED, .get = get_net },
	{ .key = "est_new_blocks", .kind = FIELD_SIGNED, .get = get_rounded,
	    GROUP(sum.new.blocks),
	    .column = { .title = "NEW", .gap = 1, .width = COUNT_COLS,
	    .right = true, .rank = 1, KEEP, .figure = true,
	    .cell = new_cell } },
	{ .key = "est_new_bytes", .kind = FIELD_SIGNED, .get = get_rounded,
	    GROUP(sum.new.bytes),
	    .column = { .title = "BYTES", .gap = 1, .width = 9,
	    .right = true, .rank = 4, KEEP, .figure = true,
	    .cell = new_bytes_cell } },
	{ .key = "est_freed_blocks", .kind = FIELD_SIGNED,
	    .get = get_rounded, GROUP(sum.freed.blocks),
	    .column = { .title = "FREED", .gap = 1, .width = COUNT_COLS,
	    .right = true, .rank = 2, KEEP, .figure = true,
	    .cell = freed_cell } },
	{ .key = "est_freed_bytes", .kind = FIELD_SIGNED, .get = get_rounded,
	    GROUP(sum.freed.bytes),
	    .column = { .title = "BYTES", .gap = 1, .width = 9,
	    .right = true, .rank = 5, KEEP, .figure = true,
	    .cell = freed_bytes_cell } },
	{ .key = "est_net_bytes", .kind = FIELD_SIGNED, .get = get_est_net,
	    .column = { .title = "NET", .gap = 1, .width = 10, .right = true,
	    .rank = 0, KEEP, .figure = true, .cell = net_cell } },
	{ .column = { .title = "NET/min", .gap = 1, .width = 10,
	    .right = true, .rank = 6, KEEP, .figure = true,
	    .cell = net_min_cell } },
	{ .column = { .title = "OLDEST", .gap = 1, .width = 6, .right = true,
	    .rank = 8, KEEP, .cell = oldest_cell } },
	/* The word matters more than the numbers after it. */
	{ .column = { .title = "", .gap = 1, .width = 24, .rank = 3, KEEP,
	    .least = 5, .cell = verdict_cell } },
	FIELD_LOSS_COLUMNS,
	{ .key = "module", .kind = FIELD_TEXT, .get = field_pointer,
	    AS(module) },
	{ .key = "file", .kind = FIELD_TEXT, .get = field_pointer,
	    AS(file) },
	{ .key = "line", .get = field_u32_known, AS(line) },
};
const struct field_table page_diff_fields = FIELD_TABLE(groups);

static void
put_cell(const struct field *f, const struct page_view *v, const char *text,
    struct page_picture *pic)
{
	int room = pic->cols - picture_col(pic) - 1;
	int width = field_width(f, v->look->sample != 0);
	char word[FIELD_CELL];

	if (room < width)
		width = room;
	picture_put(pic, " ");
	/* The first word of a verdict is never cut. */
	snprintf(word, sizeof word, "%s", text);
	if (f->column.least > 0 && (int)strlen(word) > width)
		word[strcspn(word, " ")] = '\0';
	if (width > 0)
		picture_text(pic, word, width, f->column.right ? PICTURE_RIGHT :
		    PICTURE_LEFT);
}

void
page_diff_heading(const struct page_view *v, const struct difference *s,
    struct page_picture *pic)
{
	struct field_plan plan;

	field_plan(&page_diff_fields, 0, pic->cols, 0, v->look->sample != 0,
	    &plan);
	picture_text(pic, difference_group_kind(s)->title, plan.left,
	    PICTURE_LEFT);
	for (size_t i = 0; i < plan.n; i++)
		put_cell(plan.column[i], v, plan.column[i]->column.title,
		    pic);
	picture_mark_line(pic, PAGE_HEADING);
}

void
page_diff_group(const struct page *page, const struct page_view *v,
    const struct difference *s, const struct difference_group *g,
    struct page_group_words *words, struct page_picture *pic)
{
	struct page_diff_row r = { .v = v, .s = s, .g = g, .minutes =
		(double)(s->shown.ms - page->marked->mark.ms) / 60000 };
	struct field_plan plan;
	char text[FIELD_CELL];
	int from;

	field_plan(&page_diff_fields, 0, pic->cols, 0, v->look->sample != 0,
	    &plan);
	page_diff_name(page, v, s, g, words);
	page_put_name(words->name, words->where, plan.left, pic);
	picture_to(pic, plan.left);
	for (size_t i = 0; i < plan.n; i++) {
		const struct field *f = plan.column[i];

		f->column.cell(&r, text);
		from = picture_col(pic) + 1;
		put_cell(f, v, text, pic);
		if (f->column.cell == verdict_cell && text[0] == 'L')
			picture_mark(pic, from, from + 5, PAGE_WARN);
	}
}
