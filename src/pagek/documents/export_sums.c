#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../layout/fields.h"
#include "../panels/difference_page.h"
#include "../rows/rows.h"
#include "shown_export.h"

#define TEXT_COLS 132
#define TEXT_ROWS 256		/* of one picture */

static int
put_lines(FILE *out, struct page_picture *pic)
{
	int i, r = picture_end(pic);

	for (i = 0; i < pic->rows && r == 0; i++)
		fprintf(out, "%s\n", pic->line[i].text);
	return r;
}

static int
groups_text(struct page *page, const struct page_view *v, FILE *out)
{
	struct page_picture pic = { 0 };
	uint64_t at = 0, n = page_rows_total(page, v);
	uint64_t all = page->groups->all;
	char first[32], of[32];
	int r;

	picture_begin(&pic, TEXT_COLS, page->opts.ascii);
	if (all > page->groups->nrow) {
		base_group_digits(first, sizeof first, page->groups->nrow);
		base_group_digits(of, sizeof of, all);
		picture_line(&pic);
		picture_printf(&pic, "the first %s of %s groups", first, of);
	}
	picture_line(&pic);
	page_group_heading(page, v, &pic);
	r = put_lines(out, &pic);
	while (at < n && r == 0) {
		picture_begin(&pic, TEXT_COLS, page->opts.ascii);
		for (int i = 0; i < TEXT_ROWS && at < n; i++, at++) {
			picture_line(&pic);
			page_group_row(page, v, at, &pic);
		}
		r = put_lines(out, &pic);
	}
	page_picture_fini(&pic);
	return r;
}

static size_t
diff_rows(struct page *page, const struct page_diff *d)
{
	const struct difference *s = difference_ensure(page);

	if (s == NULL)
		return 0;
	return d->by_block ? s->shown.new.n + s->shown.grown.n +
	    s->shown.other.n + s->shown.freed.n : s->groups.n;
}

int
page_export_diff_text(struct page *page, const struct page_view *v,
    const struct page_diff *diff, int cols, FILE *out)
{
	struct page_picture pic = { 0 };
	struct page_diff d = *diff;
	int r;

	d.plain = true;
	d.list.selected = d.list.top = 0;
	d.rows = diff_rows(page, &d);
	r = page_diff_compose(&d, page, v, cols, (int)d.rows + TEXT_ROWS, &pic);
	for (int i = 0; i < pic.rows && r == 0; i++)
		fprintf(out, "%s\n", pic.line[i].text);
	page_picture_fini(&pic);
	return r;
}

static void
put_head(struct json *j, const struct page *page, const struct page_view *v,
    const char *by)
{
	json_view_time(j, v);
	json_put(j, &page_look_target, v->look);
	json_put(j, &page_look_modes, v->look);
	json_put(j, &page_look_loss, v->look);
	json_text(j, "filter", or_null(page_choice_filter_text(page)));
	json_text(j, "by", or_null(by));
}

static void
put_group(struct json *j, const struct page *page, const struct page_view *v,
    const struct page_group_kind *kind, const struct profile_group *g)
{
	struct page_group_words words;
	struct difference_sum change = { 0 };
	struct page_sum row = {
		.g = g,
		.name = words.name,
		.where = words.where,
		.weighed = {
			.sum = &g->total,
			.now_ms = v->look->now_ms,
			.part = (double)g->total.bytes,
			.whole = (double)page->groups->total.bytes,
		},
	};

	if (difference_of_group(page, g->key, kind->by, &change))
		row.change = &change;
	page_group_say(page, v, kind, g, &words);
	json_row(j, &row, PAGE_GROUP_SHOWN);
}

int
page_export_groups(struct page *page, const struct page_view *v,
    enum text_format form, FILE *out, struct json *j,
    struct page_export_sums *sums)
{
	const struct page_group_kind *kind = page_group_kind(page->group.kind);
	struct page_groups *g = page->groups;

	if (g == NULL || !g->pass.started || g->shown.kind != page->group.kind)
		return -EAGAIN;
	sums->n = g->nrow;
	sums->omitted = g->all - g->nrow;
	if (form == FORMAT_TEXT)
		return groups_text(page, v, out);
	json_document(j, "pagek.shown/1", &page_group_fields,
	    PAGE_GROUP_SHOWN);
	put_head(j, page, v, kind->word);
	json_number(j, "omitted", sums->omitted);
	json_rows(j, "groups");
	for (size_t i = 0; i < g->nrow; i++) {
		const struct profile_group *row = page_groups_row(g, i);

		if (row != NULL)
			put_group(j, page, v, kind, row);
	}
	json_rows_end(j);
	json_end(j);
	return 0;
}

static int
put_diff_groups(struct json *j, const struct page *page,
    const struct page_view *v, const struct page_diff *d,
    const struct difference *s, uint64_t *n)
{
	struct page_group_words *words = malloc(sizeof *words);
	struct page_diff_row row = { .v = v, .s = s, .words = words };
	const struct difference_group *g;
	struct profile_group as;

	if (words == NULL)
		return -ENOMEM;
	for (size_t i = 0; (g = difference_group(s, i)) != NULL; i++) {
		if (!page_diff_lets(d, g))
			continue;
		++*n;
		page_diff_name(page, v, s, g, words);
		row.g = g;
		row.as = difference_name_group(s, g, &as) ? &as : NULL;
		json_row(j, &row, 0);
	}
	free(words);
	return 0;
}

struct diff_block {
	const struct page_view *v;
	const struct difference_block *row;
	const char *thread;
	char function[PAGE_NAME_MAX], where[PAGE_NAME_MAX];
	char module[PAGE_NAME_MAX], file[PAGE_NAME_MAX];
	uint32_t line;
};

#define ROW(member) offsetof(struct diff_block, member)
#define BLOCK(member) .via = FIELD_VIA(diff_block, row), \
	    .at = offsetof(struct difference_block, blk.member)

FIELD_GET(get_change, diff_block, text, page_diff_change_word(r->row->change),
    true)

FIELD_GET(get_size_at_mark, diff_block, n, r->row->was,
    r->row->change != CHANGE_NEW)
FIELD_GET(get_type, diff_block, n, r->row->blk.type, true)
FIELD_GET_TEXT(get_type_name, diff_block, r->v->look->types != NULL ?
    r->v->look->types->by_code[r->row->blk.type].name : NULL)
FIELD_GET(get_descr, diff_block, text, page_descr(r->v->look, &r->row->blk),
    strcmp(page_descr(r->v->look, &r->row->blk), "?") != 0)
FIELD_GET(get_age, diff_block, i,
    (int64_t)page_cell_seconds(r->v->look, &r->row->blk) * 1000,
    r->row->change != CHANGE_FREED)

static const struct field diff_blocks[] = {
	{ .key = "change", .kind = FIELD_TEXT, .get = get_change },
	{ .key = "address", .kind = FIELD_HEX, .get = field_u64,
	    BLOCK(addr) },
	{ .key = "size", .get = field_u64, BLOCK(size) },
	{ .key = "size_at_mark", .get = get_size_at_mark },
	{ .key = "type", .kind = FIELD_HEX, .get = get_type },
	{ .key = "type_name", .kind = FIELD_TEXT, .get = get_type_name },
	{ .key = "thread", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = ROW(thread) },
	{ .key = "age_ms", .kind = FIELD_SIGNED, .get = get_age },
	{ .key = "function", .kind = FIELD_TEXT, .get = field_array,
	    .at = ROW(function) },
	{ .key = "where", .kind = FIELD_TEXT, .get = field_array,
	    .at = ROW(where) },
	FIELD_LOSS_COLUMNS,
	{ .key = "descr", .kind = FIELD_TEXT, .get = get_descr },
	{ .key = "module", .kind = FIELD_TEXT, .get = field_array,
	    .at = ROW(module) },
	{ .key = "file", .kind = FIELD_TEXT, .get = field_array,
	    .at = ROW(file) },
	{ .key = "line", .get = field_u32_known, .at = ROW(line) },
};
const struct field_table page_diff_block_fields = FIELD_TABLE(diff_blocks);

static void
put_diff_block(struct json *j, const struct page_view *v,
    const struct difference_block *block)
{
	struct diff_block row = { .v = v, .row = block };
	struct page_call call;

	if (block->blk.thread != 0)
		row.thread = v->thread(v->arg, block->blk.thread);
	if (page_calls_origin(v, block->blk.caller, &call)) {
		page_call_function(&call, row.function, sizeof row.function);
		page_call_where(&call, true, row.where, sizeof row.where);
		if (call.words != NULL)
			page_text_copy(row.module, sizeof row.module,
			    call.words->module);
		if (call.line != NULL) {
			page_text_copy(row.file, sizeof row.file,
			    call.line->file);
			row.line = call.line->line;
		}
	}
	json_row(j, &row, 0);
}

static void
put_diff_blocks(struct json *j, const struct page *page,
    const struct page_view *v, const struct page_diff *diff, uint64_t *n)
{
	const struct difference_block *row;
	struct page_diff d = *diff;

	for (d.list.selected = 0; (row = page_diff_row(&d, page)) != NULL;
	    d.list.selected++, ++*n)
		put_diff_block(j, v, row);
}

int
page_export_diff(struct page *page, const struct page_view *v,
    const struct page_diff *d, enum text_format form, FILE *out,
    struct json *j, struct page_export_sums *sums)
{
	struct difference *s = difference_ensure(page);
	int r = 0;

	if (s == NULL)
		return -ENODATA;
	if (page_diff_is_pending(d, page, s))
		return -EAGAIN;
	sums->omitted = page_diff_unlisted(d, s);
	if (form == FORMAT_TEXT) {
		sums->n = d->rows;
		return page_export_diff_text(page, v, d, TEXT_COLS, out);
	}
	json_document(j, "pagek.difference/2", d->by_block ?
	    &page_diff_block_fields : &page_diff_fields, 0);
	put_head(j, page, v, d->by_block ? "block" :
	    difference_group_kind(s)->word);
	json_time(j, "mark", page->marked->mark.wall_ms);
	json_text(j, "mark_name", or_null(page->marked->name));
	json_number(j, "freed_early", difference_freed_early(page));
	json_text(j, "view", or_null(page_diff_view_name(d)));
	json_number(j, "omitted", sums->omitted);
	json_rows(j, d->by_block ? "blocks" : "groups");
	if (d->by_block)
		put_diff_blocks(j, page, v, d, &sums->n);
	else
		r = put_diff_groups(j, page, v, d, s, &sums->n);
	json_rows_end(j);
	json_end(j);
	return r;
}
