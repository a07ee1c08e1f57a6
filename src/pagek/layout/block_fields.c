#include <stdio.h>
#include <string.h>

#include "../../filter/filter.h"
#include "../picture/picture.h"
#include "../blocks/free_blocks.h"
#include "../blocks/order.h"
#include "fields.h"

static void
put_addr(const void *row, int width, struct page_picture *pic)
{
	const struct page_block_row *r = row;

	if (r->v->look->classic)
		picture_printf(pic, "%08x%*s", (unsigned)r->b->addr, width - 8,
		    "");
	else
		picture_printf(pic, "%0*llx", width,
		    (unsigned long long)r->b->addr);
}

static void
put_size(const void *row, int width, struct page_picture *pic)
{
	const struct page_block_row *r = row;
	char text[PAGE_SIZE_TEXT];

	page_size_text(r->v->units, r->b->size, width, text);
	picture_put(pic, text);
}

static void
put_used(const void *row, int width, struct page_picture *pic)
{
	const struct page_block_row *r = row;
	char text[PAGE_SIZE_TEXT];

	page_size_text(r->v->units, blk_used(r->b), width, text);
	picture_put(pic, text);
}

FIELD_PUT(put_type, page_block_row,
    picture_printf(pic, "%0*X", width, r->b->type))
FIELD_PUT(put_descr, page_block_row,
    picture_text(pic, page_is_free(r->b) ? PAGE_FREE_WORD :
    page_descr(r->v->look, r->b), width, PICTURE_LEFT))
FIELD_PUT(put_thread, page_block_row,
    picture_text(pic, page_cell_thread(r->v, r->b), width, PICTURE_LEFT))

static void
put_rnod(const void *row, int width, struct page_picture *pic)
{
	const struct page_block_row *r = row;
	char text[8];

	page_cell_rnod(text, r->v->look, r->b);
	picture_printf(pic, "%*s", width, text);
}

/* From one minute on in steps of ten seconds, to spare the terminal. */
static void
put_age(const void *row, int width, struct page_picture *pic)
{
	const struct page_block_row *r = row;
	uint64_t s = page_cell_seconds(r->v->look, r->b);
	char text[8];

	page_cell_age(text, s < 60 ? s : s - s % 10);
	picture_printf(pic, "%*s", width, r->v->gone ? "freed" : text);
}

FIELD_PUT(put_glyph, page_block_row, picture_printf(pic, "%*c", width,
    page_cell_age_glyph(page_cell_seconds(r->v->look, r->b))))

/* Without levels the nibble is shown as it is. */
static void
put_level(const void *row, int width, struct page_picture *pic)
{
	const struct page_block_row *r = row;
	unsigned low = r->b->flags & 0xf;

	if (!r->v->look->levels)
		picture_printf(pic, "%*X", width, low);
	else if ((low & REC_LEVEL_MASK) != 0)
		picture_printf(pic, "%*u", width, low & REC_LEVEL_MASK);
	else
		picture_blanks(pic, width);
}

static void
put_seq(const void *row, int width, struct page_picture *pic)
{
	const struct page_block_row *r = row;

	picture_grouped(pic, r->b->seq, width);
}

/* "T app::Row": where the name comes from, as the manual has it, and the name. */
static void
put_ctype(const void *row, int width, struct page_picture *pic)
{
	static const char marks[WIRE_TYPE_SOURCES + 1] = " TCSNP";
	const struct page_block_row *r = row;
	enum wire_type_from from;
	char type[PAGE_NAME_MAX];

	from = page_calls_type(r->v, r->b->caller, type, sizeof type);
	if (from == WIRE_TYPE_UNKNOWN) {
		picture_blanks(pic, width);
		return;
	}
	picture_printf(pic, "%c ", marks[from]);
	picture_text(pic, type, width - 2, PICTURE_LEFT);
}

static void
put_born(const void *row, int width, struct page_picture *pic)
{
	const struct page_block_row *r = row;
	char text[PAGE_CLOCK_TEXT];

	page_cell_allocated(r->v, r->b, text);
	picture_printf(pic, "%-*s", width, text);
}

static void
put_touch(const void *row, int width, struct page_picture *pic)
{
	const struct page_block_row *r = row;
	char text[PAGE_TOUCH_COLS + 1];

	page_cell_touch(r->v, r->b, text);
	picture_printf(pic, "%-*s", width, text);
}

FIELD_GET(get_kind, page_block_row, text,
    page_is_free(r->b) ? "free" : "block", true)

static const char *
region_name(const struct page_block_row *r)
{
	const struct wire_region *region = page_free_region(r->v->look,
	    r->b->addr);

	return region != NULL ? region->name : NULL;
}

FIELD_GET_TEXT(get_region, page_block_row, region_name(r))

#define BLK(member) .via = FIELD_VIA(page_block_row, b), \
	    .at = offsetof(struct blk, member)

FIELD_GET(get_weight, page_block_row, share,
    blklist_weight(r->v->look->list, r->b), true)
FIELD_GET(get_overhead, page_block_row, n, rec_overhead_bytes(r->b->overhead),
    !r->v->look->classic)
FIELD_GET(get_type, page_block_row, n, r->b->type, true)
FIELD_GET_TEXT(get_type_name, page_block_row,
    r->v->look->types->by_code[r->b->type].name)
FIELD_GET(get_layer, page_block_row, text,
    (r->b->flags & REC_LAYER_API) != 0 && !r->v->look->classic ? "api" : "heap",
    true)
FIELD_GET(get_level, page_block_row, n, r->b->flags & REC_LEVEL_MASK,
    r->v->look->levels && (r->b->flags & REC_LEVEL_MASK) != 0)
FIELD_GET_TEXT(get_thread, page_block_row,
    r->b->thread != 0 ? r->v->thread(r->v->arg, r->b->thread) : NULL)

FIELD_GET_TEXT(get_requester, page_block_row,
    page_requester(v->room, r->v->look, r->b))
FIELD_GET_TEXT(get_rnod, page_block_row,
    (page_cell_rnod(v->room, r->v->look, r->b), v->room))
FIELD_GET(get_descr, page_block_row, text, page_descr(r->v->look, r->b),
    strcmp(page_descr(r->v->look, r->b), "?") != 0)
FIELD_GET(get_used, page_block_row, n, blk_used(r->b), !r->v->look->classic)
FIELD_GET(get_tid, page_block_row, n, r->b->thread, r->b->thread != 0)

FIELD_GET(get_age, page_block_row, i, r->v->look->now_ms > r->b->ms ?
    r->v->look->now_ms - r->b->ms : 0, true)
FIELD_GET(get_time, page_block_row, i, r->v->look->node_wall_ms -
    (r->v->look->now_ms - r->b->ms), true)

/* Known if its pages are counted. */
static bool
get_touched(const void *row, size_t at, struct field_value *v)
{
	const struct page_block_row *r = row;
	struct refcnt_touch t;

	(void)at;
	if (!page_touch(r->v, r->b, &t))
		return false;
	v->i = t.idle_ms;
	return true;
}

static bool
get_touches(const void *row, size_t at, struct field_value *v)
{
	const struct page_block_row *r = row;
	struct refcnt_touch t;

	(void)at;
	if (!page_touch(r->v, r->b, &t))
		return false;
	v->n = t.count;
	return true;
}

/* 1: the pages are its own. */
static bool
get_sharers(const void *row, size_t at, struct field_value *v)
{
	const struct page_block_row *r = row;
	struct refcnt_touch t;

	(void)at;
	if (!page_touch(r->v, r->b, &t) || (!t.exact && r->v->look->window))
		return false;
	v->n = t.exact ? 1 : refcnt_sharers(r->v->look->list, r->b);
	return true;
}

void
page_stack_get(struct profile *p, uint64_t caller, struct page_stack *s)
{
	s->n = s->origin = 0;
	s->end = 0;
	s->type = "";
	s->type_from = WIRE_TYPE_UNKNOWN;
	if (caller == 0 || profile_stack(p, caller, s->line,
	    PROFILE_LINES_MAX, &s->n, &s->origin, &s->end) < 0 ||
	    profile_type(p, caller, &s->type, &s->type_from) < 0)
		s->n = 0;
}

/* The innermost frame: a site's number means nothing outside the stream. */
FIELD_GET(get_caller, page_stack, n, r->line[0].address,
    r->n > 0 && r->line[0].address != 0)
FIELD_GET(get_function, page_stack, text, r->line[r->origin].name,
    r->n > 0 && r->line[r->origin].address != 0)
FIELD_GET_TEXT(get_module, page_stack,
    r->n > 0 ? r->line[r->origin].module : NULL)
FIELD_GET_TEXT(get_file, page_stack,
    r->n > 0 ? r->line[r->origin].file : NULL)
FIELD_GET(get_line, page_stack, n, r->line[r->origin].line,
    r->n > 0 && r->line[r->origin].line != 0)
FIELD_GET_TEXT(get_ctype, page_stack, r->type)
FIELD_GET(get_ctype_from, page_stack, text,
    profile_type_source(r->type_from), r->n > 0)
FIELD_GET_TEXT(get_stack_end, page_stack,
    r->end != 0 ? stream_end_text(r->end) : NULL)

static bool
get_stack(const void *row, size_t at, struct field_value *v)
{
	const struct page_stack *s = row;

	(void)at;
	v->list.row = s->line;
	v->list.rows = s->n;
	v->list.size = sizeof s->line[0];
	return s->n > 0 && s->end != 0;
}

#define LINE(member) offsetof(struct profile_line, member)

static const struct field line_fields[] = {
	{ .key = "address", .kind = FIELD_HEX, .get = field_u64_known,
	    .at = LINE(address) },
	{ .key = "module", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = LINE(module) },
	{ .key = "offset", .kind = FIELD_HEX, .get = field_u64_known,
	    .at = LINE(offset) },
	{ .key = "function", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = LINE(function) },
	{ .key = "file", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = LINE(file) },
	{ .key = "line", .get = field_u32_known, .at = LINE(line) },
	{ .key = "skipped", .kind = FIELD_BOOL, .get = field_flag,
	    .at = LINE(skipped) },
	{ .key = "inlined", .kind = FIELD_BOOL, .get = field_flag,
	    .at = LINE(inlined) },
};
static const struct field_table line_table = FIELD_TABLE(line_fields);

#define FUNCTION_GAP 2
#define FUNCTION_TITLE 8	/* columns: with fewer there is none */
#define KEEP(cols) (FUNCTION_GAP + (cols))	/* for the function */
#define STACK FIELD_VIA(page_block_row, stack)
#define NEED_WIDE 1		/* classic streams do not have it */
#define NEED_TYPES 2		/* nor programs whose words tell no type */
#define NEED_TOUCHES 4		/* references to pages are counted */

static const struct field blocks[] = {
	{ .key = "kind", .kind = FIELD_TEXT, .get = get_kind,
	    .subset = PAGE_BLOCK_KIND },
	/* The last field of free memory in JSON. */
	{ .key = "region", .kind = FIELD_TEXT, .get = get_region,
	    .subset = PAGE_BLOCK_FREE, .rank = 1 },
	{ .key = "address", .kind = FIELD_HEX, .get = field_u64,
	    BLK(addr),
	    .column = { .title = "ADDRESS", .width = 12, .rank = 0,
	    .put = put_addr } },
	{ .key = "size", .get = field_u64, BLK(size),
	    .column = { .title = "   SIZE", .gap = 1, .width = 7, .rank = 1,
	    .put = put_size } },
	{ .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "   USED", .gap = 1, .width = 7, .rank = 10,
	    .keep = KEEP(40), .need = NEED_WIDE, .put = put_used } },
	{ .key = "weight", .kind = FIELD_SHARE, .get = get_weight,
	    .subset = PAGE_BLOCK_HELD },
	{ .key = "overhead", .get = get_overhead, .subset = PAGE_BLOCK_HELD },
	{ .key = "type", .kind = FIELD_HEX, .get = get_type, .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "TY", .gap = 1, .width = 2, .rank = 3,
	    .put = put_type } },
	{ .key = "type_name", .kind = FIELD_TEXT, .get = get_type_name,
	    .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "DESCR",
	    .subset = PAGE_BLOCK_HELD | PAGE_BLOCK_FREE, .gap = 1, .width = 8,
	    .rank = 4, .put = put_descr } },
	{ .key = "layer", .kind = FIELD_TEXT, .get = get_layer,
	    .subset = PAGE_BLOCK_HELD },
	{ .key = "level", .get = get_level, .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "L", .gap = 1, .width = 1, .place = 1,
	    .rank = 11, .keep = KEEP(40), .put = put_level } },
	{ .key = "thread", .kind = FIELD_TEXT, .get = get_thread,
	    .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "THREAD", .gap = 1, .width = 8, .rank = 7,
	    .keep = KEEP(12), .put = put_thread } },
	{ .key = "requester", .kind = FIELD_TEXT, .get = get_requester,
	    .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "RNOD", .gap = 1, .width = 4, .rank = 6,
	    .keep = KEEP(12), .put = put_rnod } },
	{ .key = "age_ms", .kind = FIELD_SIGNED, .get = get_age,
	    .subset = PAGE_BLOCK_HELD,
	    .column = { .title = " AGE ", .gap = 1, .width = 5, .rank = 2,
	    .put = put_age } },
	{ .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "H", .gap = 1, .width = 1, .rank = 9,
	    .keep = KEEP(40), .put = put_glyph } },
	/* The order by birth is that by age. */
	{ .key = "time", .kind = FIELD_TIME, .get = get_time,
	    .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "BORN", .word = "AGE", .gap = 1, .width = 12,
	    .place = 2, .rank = 13, .keep = KEEP(60), .put = put_born } },
	{ .key = "seq", .get = field_u64, BLK(seq),
	    .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "       SEQ", .gap = 1, .width = 10,
	    .place = 1, .rank = 12, .keep = KEEP(40), .put = put_seq } },
	{ .key = "caller", .kind = FIELD_HEX, .get = get_caller,
	    .via = STACK,
	    .subset = PAGE_BLOCK_HELD },
	{ .key = "function", .kind = FIELD_TEXT, .get = get_function,
	    .via = STACK,
	    .subset = PAGE_BLOCK_HELD },
	{ .key = "stack", .kind = FIELD_LIST, .get = get_stack,
	    .via = STACK,
	    .sub = &line_table, .subset = PAGE_BLOCK_HELD },
	{ .key = "stack_end", .kind = FIELD_TEXT, .get = get_stack_end,
	    .via = STACK,
	    .subset = PAGE_BLOCK_HELD },
	FIELD_LOSS_COLUMNS,
	{ .key = "used", .get = get_used, .subset = PAGE_BLOCK_HELD },
	{ .key = "tid", .get = get_tid, .subset = PAGE_BLOCK_HELD },
	{ .key = "descr", .kind = FIELD_TEXT, .get = get_descr,
	    .subset = PAGE_BLOCK_HELD },
	{ .key = "rnod", .kind = FIELD_TEXT, .get = get_rnod,
	    .subset = PAGE_BLOCK_HELD },
	{ .key = "module", .kind = FIELD_TEXT, .get = get_module,
	    .via = STACK, .subset = PAGE_BLOCK_HELD },
	{ .key = "file", .kind = FIELD_TEXT, .get = get_file,
	    .via = STACK, .subset = PAGE_BLOCK_HELD },
	{ .key = "line", .get = get_line,
	    .via = STACK, .subset = PAGE_BLOCK_HELD },
	{ .key = "ctype", .kind = FIELD_TEXT, .get = get_ctype,
	    .via = STACK, .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "CTYPE", .gap = 1, .width = 20, .place = 3,
	    .rank = 8, .keep = KEEP(24),
	    .need = NEED_TYPES, .put = put_ctype } },
	{ .key = "ctype_from", .kind = FIELD_TEXT, .get = get_ctype_from,
	    .via = STACK, .subset = PAGE_BLOCK_HELD },
	{ .key = "touched_ms", .kind = FIELD_SIGNED, .get = get_touched,
	    .optional = true, .subset = PAGE_BLOCK_HELD,
	    .column = { .title = "TOUCH", .gap = 1, .width = PAGE_TOUCH_COLS,
	    .place = 1, .rank = 5, .keep = KEEP(12), .need = NEED_TOUCHES,
	    .put = put_touch } },
	{ .key = "touches", .get = get_touches, .optional = true,
	    .subset = PAGE_BLOCK_HELD },
	{ .key = "touch_blocks", .get = get_sharers, .optional = true,
	    .subset = PAGE_BLOCK_HELD },
};
const struct field_table page_block_fields = { .field = blocks,
	.n = BASE_NELEM(blocks), .called = filter_name };

struct plan {
	struct field_plan of;
	int function;		/* columns; 0: no room for it */
};

static void
plan_columns(const struct page_view *v, int cols, struct plan *plan)
{
	unsigned have = v->look->classic ? 0 : NEED_WIDE |
	    (v->typed ? NEED_TYPES : 0);

	if (v->refcnt != NULL && v->refcnt->ranges > 0)
		have |= NEED_TOUCHES;
	field_plan(&page_block_fields, 0, cols, have, false, &plan->of);
	plan->function = plan->of.left >= FUNCTION_GAP + FUNCTION_TITLE ?
	    plan->of.left - FUNCTION_GAP : 0;
}

static bool
is_title(const char *title, const char *word)
{
	size_t len = word != NULL ? strlen(word) : 0;

	title += strspn(title, " ");
	return len > 0 && strncmp(title, word, len) == 0 &&
	    title[len + strspn(title + len, " ")] == '\0';
}

bool
page_columns_show(const struct page_view *v, int cols, const char *word)
{
	struct plan plan;
	size_t i;

	plan_columns(v, cols, &plan);
	for (i = 0; i < plan.of.n; i++)
		if (is_title(plan.of.column[i]->column.title, word))
			return true;
	return plan.function > 0 && is_title("FUNCTION", word);
}

const char *
page_columns_title(const struct page_view *v, int cols, int at)
{
	struct plan plan;
	int end = 0;
	size_t i;

	plan_columns(v, cols, &plan);
	for (i = 0; i < plan.of.n; i++) {
		const struct field_column *c = &plan.of.column[i]->column;

		end += c->gap + c->width;
		if (at < end)
			return c->word != NULL ? c->word : c->title;
	}
	return plan.function > 0 ? "FUNCTION" : NULL;
}

/* The function's title if there is room for both, and free memory on the right. */
static void
put_right_heading(const struct page *page, const struct page_view *v,
    bool function, struct page_picture *pic)
{
	int room = pic->cols - picture_col(pic) - FUNCTION_GAP;
	char text[64];
	bool both;
	int from;

	page_free_text(page, v, room - FUNCTION_GAP - FUNCTION_TITLE, text,
	    sizeof text);
	both = text[0] != '\0';
	if (!both)
		page_free_text(page, v, room, text, sizeof text);
	if (function && (both || text[0] == '\0')) {
		picture_blanks(pic, FUNCTION_GAP);
		from = picture_col(pic);
		picture_put(pic, "FUNCTION");
		if (is_title("FUNCTION", page_sort_title(&page->opts))) {
			if (picture_col(pic) + 2 <= pic->cols)
				picture_printf(pic, " %c",
				    page_sorting_arrow(&page->opts));
			picture_mark(pic, from, picture_col(pic), PAGE_NEW);
		}
	}
	if (text[0] != '\0') {
		picture_to(pic, pic->cols - (int)strlen(text));
		picture_put(pic, text);
	}
}

static int
put_sorted(const struct field_column *c, char arrow, struct page_picture *pic)
{
	const char *word = c->title + strspn(c->title, " ");
	int len = (int)strcspn(word, " "), from;
	int blank = c->width >= len + 2, pad = c->width - len - blank - 1;
	bool right = word != c->title && pad > 0;

	if (right)
		picture_blanks(pic, pad);
	from = picture_col(pic);
	picture_printf(pic, "%.*s%*s%c", len, word, blank, "", arrow);
	picture_mark(pic, from, picture_col(pic), PAGE_NEW);
	if (!right && pad > 0)
		picture_blanks(pic, pad);
	return pad < 0;
}

static void
put_title(const struct field_column *c, struct page_picture *pic)
{
	int from = picture_col(pic);

	picture_put(pic, c->title);
	picture_to(pic, from + c->width);
}

void
page_columns_heading(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	const char *sorted = page_sort_title(&page->opts);
	char arrow = page_sorting_arrow(&page->opts);
	struct plan plan;
	int taken = 0;		/* of the gap */
	size_t i;

	picture_mark_line(pic, PAGE_HEADING);
	plan_columns(v, pic->cols, &plan);
	for (i = 0; i < plan.of.n; i++) {
		const struct field_column *c = &plan.of.column[i]->column;

		picture_blanks(pic, c->gap - taken);
		taken = 0;
		if (is_title(c->title, sorted))
			taken = put_sorted(c, arrow, pic);
		else
			put_title(c, pic);
	}
	put_right_heading(page, v, plan.function > 0, pic);
}

void
page_columns_row(const struct page *page, const struct page_view *v,
    const struct blk *b, struct page_picture *pic)
{
	struct page_block_row row = { .v = v, .b = b };
	unsigned subset = page_is_free(b) ? PAGE_BLOCK_FREE : PAGE_BLOCK_HELD;
	struct plan plan;
	size_t i;

	(void)page;
	plan_columns(v, pic->cols, &plan);
	for (i = 0; i < plan.of.n; i++) {
		const struct field_column *c = &plan.of.column[i]->column;

		picture_blanks(pic, c->gap);
		if (field_has_column(plan.of.column[i], subset))
			c->put(&row, c->width, pic);
		else
			picture_blanks(pic, c->width);
	}
	if (plan.function > 0)
		page_cell_function(v, b, FUNCTION_GAP, plan.function, pic);
}

void
page_columns_mark(const struct page_view *v, const struct blk *b,
    struct page_picture *pic)
{
	struct plan plan;
	int at = 0;
	size_t i;

	plan_columns(v, pic->cols, &plan);
	for (i = 0; i < plan.of.n; i++) {
		const struct field_column *c = &plan.of.column[i]->column;

		at += c->gap;
		if (c->put == put_glyph)
			picture_mark(pic, at, at + c->width,
			    page_cell_age_mark(page_cell_seconds(v->look,
			    b)));
		at += c->width;
	}
}
