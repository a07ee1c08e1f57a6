#include <stdio.h>
#include <string.h>

#include "../difference/difference.h"
#include "../blocks/choice.h"
#include "../groups/expanded_groups.h"
#include "../rows/frozen_order.h"
#include "fields.h"

#define MARK_COLS 40	/* narrower pages have no - and + */
#define INDENT 2

/* Of all blocks of a group; "*" if there are several. */
struct common {
	char type[24], thread[64];
};

static void
say_common(const struct page_view *v, const struct profile_group *row,
    struct common *out)
{
	const char *name = "*";

	if (row->type >= 0 && v->look->types != NULL)
		name = v->look->types->by_code[row->type & 0xff].name;
	snprintf(out->type, sizeof out->type, "%s", name);
	name = "*";
	if (row->thread > 0)
		name = v->thread(v->arg, (uint16_t)row->thread);
	else if (row->thread == 0)
		name = "-";
	if (name[0] != '\0')
		snprintf(out->thread, sizeof out->thread, "%s", name);
	else
		snprintf(out->thread, sizeof out->thread, "#%d", row->thread);
}

static struct page_sum_form
form_of(const struct page *page)
{
	const struct page_group_kind *k = page_group_kind(page->group.kind);

	return (struct page_sum_form){ .self = k->by == PROFILE_FRAME,
		.whole = true, .change = page_is_marked(page), .sorted = true,
		.by = page->group.sort, .reverse = page->group.reverse };
}

/* "+1.2 MiB" or "0"; NULL: not known, as of groups of the second level. */
static const char *
say_change(const struct page *page, const struct page_view *v,
    const struct profile_group *row, const struct page_branch *in,
    char out[32])
{
	const struct page_group_kind *k = page_group_kind(page->group.kind);
	struct difference_sum sum;
	int64_t bytes;
	char text[24];

	/* The difference is not of the drain's blocks alone. */
	if (in != NULL || page_is_draining(page) || !page_is_marked(page) ||
	    page_moment_is_ahead(&page->marked->mark, v) ||
	    !difference_of_group(page, row->key, k->by, &sum))
		return NULL;
	bytes = (int64_t)difference_net(&sum);
	base_human_bytes(text, sizeof text, (uint64_t)(bytes < 0 ? -bytes :
	    bytes));
	if (bytes == 0)
		snprintf(out, 32, "0");
	else
		snprintf(out, 32, "%s%c%s", page_about(v->look->sample),
		    bytes < 0 ? '-' : '+', text);
	return out;
}

/* "- ring_grow" if it is expanded, else "+ ring_grow" */
static void
put_group(const struct page *page, const struct page_view *v,
    const struct profile_group *row, const struct page_branch *in,
    bool open, struct page_picture *pic)
{
	const struct page_group_kind *k = page_group_kind(in == NULL ?
	    page->group.kind : page_group_below(page));
	const struct page_groups *g = page->groups;
	uint64_t point[PAGE_TREND_POINTS];
	struct page_sum_form form = form_of(page);
	struct page_group_words words;
	char change[32];
	struct common common;
	struct page_sum sum = { .v = v, .g = row, .of = g->total.bytes,
		.type = common.type, .thread = common.thread,
		.point = point };

	page_group_say(page, v, k, row, &words);
	say_common(v, row, &common);
	sum.change_text = say_change(page, v, row, in, change);
	sum.npoint = page_trends_get(g->trends, in == NULL ? row->key :
	    page_trends_below(in->of.key, row->key), row->total.bytes, point);
	if (pic->cols >= MARK_COLS)
		picture_printf(pic, "%*s%c ", in == NULL ? 0 : INDENT, "",
		    open ? '-' : '+');
	if (k->say != NULL)
		page_group_join(&words);
	page_sum_put(&sum, &form, words.name, k->say == NULL ? words.where :
	    NULL, pic);
}

/* "7f3c04001040 = 65,536": a sum of one block */
static void
put_block(const struct page *page, const struct page_view *v,
    const struct blk *b, int indent, struct page_picture *pic)
{
	struct profile_group one = { .name = "", .where = "",
		.total = { .blocks = 1, .bytes = b->size, .listed = 1,
		    .listed_bytes = b->size, .oldest_ms = b->ms },
		.type = b->type, .thread = b->thread };
	struct page_sum_form form = form_of(page);
	struct common common;
	struct page_sum sum = { .v = v, .g = &one,
		.of = page->groups->total.bytes, .type = page_descr(v->look,
		b), .thread = common.thread };
	char name[64], size[32];

	one.self = one.total;
	sum.change_text = page_is_marked(page) &&
	    page_moment_is_new(&page->marked->mark, b) ? "new" : "";
	say_common(v, &one, &common);
	base_group_digits(size, sizeof size, b->size);
	snprintf(name, sizeof name, "%012llx = %s",
	    (unsigned long long)b->addr, size);
	if (pic->cols >= MARK_COLS)
		picture_printf(pic, "%*s", indent, "");
	page_sum_put(&sum, &form, name, NULL, pic);
}

static void
put_omitted(const struct page_group_at *at, int indent,
    struct page_picture *pic)
{
	char n[32];

	if (pic->cols >= MARK_COLS)
		picture_printf(pic, "%*s", indent, "");
	if (at->omitted == 0) {
		picture_put(pic, "searching ...");
		return;
	}
	base_group_digits(n, sizeof n, at->omitted);
	picture_printf(pic, "+ %s more", n);
}

void
page_group_heading(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	struct page_sum_form form = form_of(page);
	char title[PAGE_GROUPS_TITLE];

	page_groups_title(page, " / ", title);
	page_sum_heading(title, v, &form, pic);
}

void
page_group_row(const struct page *page, const struct page_view *v,
    uint64_t offset, struct page_picture *pic)
{
	struct page_groups *g = page->groups;
	const struct profile_group *row;
	struct page_group_at at;
	int indent;

	if (g == NULL || !page_groups_at(g, offset, &at))
		return;
	indent = at.branch == NULL ? 0 : at.branch->second ? 2 * INDENT :
	    INDENT;
	switch (at.what) {
	case ROW_GROUP:
	case ROW_BELOW:
		row = at.branch == NULL ? page_groups_row(g, at.index) :
		    page_branch_row(at.branch, at.index);
		if (row != NULL)
			put_group(page, v, row, at.branch, page_branch_find(g,
			    at.branch == NULL ? row->key : at.branch->of.key,
			    at.branch == NULL ? NULL : &row->key) != NULL,
			    pic);
		/* Empty, in a frozen order. */
		if (row != NULL && row->total.listed == 0)
			picture_mark_line(pic, PAGE_STALE);
		break;
	case ROW_BLOCK:
		put_block(page, v, &at.branch->blk[at.index], indent + INDENT,
		    pic);
		if (page_row_is_freed(page, v, &at.branch->blk[at.index]))
			picture_mark_line(pic, PAGE_STALE);
		break;
	case ROW_OMITTED:
		put_omitted(&at, indent + INDENT, pic);
		break;
	}
}
