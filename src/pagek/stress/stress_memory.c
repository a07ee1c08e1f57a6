#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../page/view.h"
#include "../picture/field_table.h"
#include "stress.h"

#define SINCE_COLS 14		/* width of the column SINCE MK */
#define SINCE_LEAST 60		/* minimum width of a page with that column */
#define NAME_KEEP 24		/* minimum width of the name */
#define BAR_ROWS 8		/* minimum height of a page with a key bar */

FIELD_GET(site_line, stress_site, n, r->line, true)
FIELD_GET(site_bytes, stress_site, i, r->bytes, true)
FIELD_GET(site_calls, stress_site, n, r->calls, true)
FIELD_GET(site_accurate, stress_site, n, r->accurate, true)
FIELD_GET_TEXT(site_file, stress_site, r->file)
FIELD_GET_TEXT(site_function, stress_site, r->function)
FIELD_GET_TEXT(site_module, stress_site, r->module)

static void
site_bytes_cell(const void *row, char out[FIELD_CELL])
{
	const struct stress_site *s = row;
	bool below = s->bytes < 0;

	snprintf(out, FIELD_CELL, "%s%s%s", s->accurate ? "" : "~",
	    below ? "-" : "", base_digits(below ? 0 - (uint64_t)s->bytes :
	    (uint64_t)s->bytes).text);
}

FIELD_PRINT(site_calls_cell, stress_site, "%s", base_digits(r->calls).text)
FIELD_PRINT(site_place_cell, stress_site, "%s:%" PRIu64 "%s%s%s", r->file,
    r->line, r->module != NULL ? " [" : "", r->module != NULL ? r->module : "",
    r->module != NULL ? "]" : "")
FIELD_PRINT(site_function_cell, stress_site, "%s", r->function)

static const struct field site_fields[] = {
	{ .key = "bytes", .kind = FIELD_SIGNED, .get = site_bytes,
	    .column = { .title = "BYTES", .width = 15, .right = true,
	    .cell = site_bytes_cell } },
	{ .key = "calls", .kind = FIELD_NUMBER, .get = site_calls,
	    .column = { .title = "CALLS", .width = 11, .right = true, .gap = 1,
	    .rank = 1, .keep = NAME_KEEP, .cell = site_calls_cell } },
	{ .key = "function", .kind = FIELD_TEXT, .get = site_function,
	    .column = { .title = "FUNCTION", .width = 24, .gap = 2,
	    .cell = site_function_cell } },
	{ .key = "file", .kind = FIELD_TEXT, .get = site_file,
	    .column = { .title = "PLACE", .gap = 1, .cell = site_place_cell } },
	{ .key = "line", .kind = FIELD_NUMBER, .get = site_line },
	{ .key = "module", .kind = FIELD_TEXT, .get = site_module },
	{ .key = "accurate", .kind = FIELD_BOOL, .get = site_accurate },
};
static const struct field_table sites = FIELD_TABLE(site_fields);

FIELD_GET(slab_bytes, stress_slab, n, r->bytes, true)
FIELD_GET(slab_used, stress_slab, n, r->used, true)
FIELD_GET(slab_objects, stress_slab, n, r->objects, true)
FIELD_GET(slab_active, stress_slab, n, r->active, true)
FIELD_GET(slab_size, stress_slab, n, r->size, true)
FIELD_GET(slab_slabs, stress_slab, n, r->slabs, true)
FIELD_GET_TEXT(slab_name, stress_slab, r->name)

FIELD_PRINT(slab_bytes_cell, stress_slab, "%s", base_digits(r->bytes).text)
FIELD_PRINT(slab_used_cell, stress_slab, "%s", base_digits(r->used).text)
FIELD_PRINT(slab_objects_cell, stress_slab, "%s", base_digits(r->objects).text)
FIELD_PRINT(slab_size_cell, stress_slab, "%s", base_digits(r->size).text)
FIELD_PRINT(slab_name_cell, stress_slab, "%s", r->name)

static const struct field slab_fields[] = {
	{ .key = "bytes", .kind = FIELD_NUMBER, .get = slab_bytes,
	    .column = { .title = "BYTES", .width = 15, .right = true,
	    .cell = slab_bytes_cell } },
	{ .key = "used_bytes", .kind = FIELD_NUMBER, .get = slab_used,
	    .column = { .title = "USED", .width = 15, .right = true, .gap = 1,
	    .rank = 1, .keep = NAME_KEEP, .cell = slab_used_cell } },
	{ .key = "objects", .kind = FIELD_NUMBER, .get = slab_objects,
	    .column = { .title = "OBJECTS", .width = 11, .right = true, .gap = 1,
	    .rank = 2, .keep = NAME_KEEP, .cell = slab_objects_cell } },
	{ .key = "active", .kind = FIELD_NUMBER, .get = slab_active },
	{ .key = "size", .kind = FIELD_NUMBER, .get = slab_size,
	    .column = { .title = "SIZE", .width = 7, .right = true, .gap = 1,
	    .rank = 3, .keep = NAME_KEEP, .cell = slab_size_cell } },
	{ .key = "slabs", .kind = FIELD_NUMBER, .get = slab_slabs },
	{ .key = "name", .kind = FIELD_TEXT, .get = slab_name,
	    .column = { .title = "CACHE", .gap = 2, .cell = slab_name_cell } },
};
static const struct field_table slabs = FIELD_TABLE(slab_fields);

const struct field_table *const page_stress_memory_fields[STRESS_TABLES] = {
	[STRESS_BY_SITE] = &sites,
	[STRESS_BY_CACHE] = &slabs,
};

static const struct {
	const char *title, *name, *waiting;
} texts[STRESS_TABLES] = {
	[STRESS_BY_SITE] = { "S KERNEL MEMORY BY CALL SITE", "FUNCTION AND PLACE",
	    "waiting for the kernel's call sites" },
	[STRESS_BY_CACHE] = { "S KERNEL MEMORY BY SLAB CACHE", "CACHE",
	    "waiting for the kernel's slab caches" },
};

void
page_stress_memory_fini(struct page_stress_memory *p)
{
	stress_free_memory(&p->now);
	stress_free_memory(&p->base);
	*p = (struct page_stress_memory){ .table = p->table };
}

static const void *
row_at(const struct stress_memory *m, size_t i)
{
	return (const char *)m->row + i * m->size;
}

static void
follow_row(struct page_stress_memory *p, const struct stress_memory *m)
{
	const char *row = p->list.selected < p->now.n ?
	    stress_find_memory(m, row_at(&p->now, p->list.selected)) : NULL;

	if (row != NULL)
		p->list.selected = (size_t)(row - (const char *)m->row) / m->size;
	page_list_clamp(&p->list, m->n);
}

void
page_stress_memory_take(struct page_stress_memory *p, struct stress_memory *m)
{
	follow_row(p, m);
	if (p->known && p->marks) {
		stress_free_memory(&p->base);
		p->base = p->now;
		p->marks = false;
	} else {
		p->marks = !p->known;
		stress_free_memory(&p->now);
	}
	p->now = *m;
	*m = (struct stress_memory){ .table = p->table };
	p->known = true;
	p->trouble[0] = '\0';
}

bool
page_stress_memory_mark(struct page_stress_memory *p)
{
	p->marks = p->known;
	return p->known;
}

void
page_stress_memory_set_trouble(struct page_stress_memory *p, const char *text)
{
	base_copy_text(p->trouble, sizeof p->trouble, text);
}

static int64_t
bytes_of(enum stress_table table, const void *row)
{
	uint64_t bytes;

	if (table == STRESS_BY_SITE)
		return ((const struct stress_site *)row)->bytes;
	bytes = ((const struct stress_slab *)row)->bytes;
	return bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX;
}

/* "n/a": the node had not sent all rows at the mark, so the row may be older than it. */
static void
since_text(const struct page_stress_memory *p, const void *row, char out[FIELD_CELL])
{
	const void *old = p->base.size != 0 && !p->marks ?
	    stress_find_memory(&p->base, row) : NULL;
	int64_t now = bytes_of(p->table, row), before, more;

	out[0] = '\0';
	if (p->base.size == 0 || p->marks)
		return;
	if (old == NULL) {
		snprintf(out, FIELD_CELL, "%s", p->base.rows > p->base.n ? "n/a" :
		    "new");
		return;
	}
	before = bytes_of(p->table, old);
	if (__builtin_sub_overflow(now, before, &more))
		more = now > before ? INT64_MAX : -INT64_MAX;
	snprintf(out, FIELD_CELL, "%s%s", more > 0 ? "+" : more < 0 ? "-" : "",
	    base_digits(more < 0 ? 0 - (uint64_t)more : (uint64_t)more).text);
}

struct columns {
	struct field_plan plan;
	bool since;
};

static void
plan_memory(enum stress_table table, int cols, struct columns *c)
{
	c->since = cols >= SINCE_LEAST;
	field_plan(page_stress_memory_fields[table], 0,
	    cols - (c->since ? SINCE_COLS + 1 : 0), 0, false, &c->plan);
}

static void
put_cell(const char *text, int width, bool right, struct page_picture *pic)
{
	picture_text(pic, text, width, right ? PICTURE_RIGHT : PICTURE_LEFT);
	picture_put(pic, " ");
}

static void
put_memory_heading(enum stress_table table, const struct columns *c,
    struct page_picture *pic)
{
	picture_line(pic);
	for (size_t i = 0; i < c->plan.n; i++) {
		const struct field_column *f = &c->plan.column[i]->column;

		put_cell(f->title, f->width, f->right, pic);
		if (i == 0 && c->since)
			put_cell("SINCE MK", SINCE_COLS, true, pic);
	}
	picture_put(pic, texts[table].name);
	picture_mark_line(pic, PAGE_HEADING);
}

static void
put_memory_row(const struct page_stress_memory *p, const struct columns *c,
    const void *row, struct page_picture *pic)
{
	char text[FIELD_CELL];

	picture_line(pic);
	for (size_t i = 0; i < c->plan.n; i++) {
		const struct field *f = c->plan.column[i];

		field_cell(f, row, text);
		put_cell(text, f->column.width, f->column.right, pic);
		if (i == 0 && c->since) {
			since_text(p, row, text);
			put_cell(text, SINCE_COLS, true, pic);
		}
	}
	if (p->table == STRESS_BY_CACHE) {
		picture_text(pic, ((const struct stress_slab *)row)->name,
		    pic->cols, PICTURE_FREE);
		return;
	}
	picture_text(pic, ((const struct stress_site *)row)->function, pic->cols,
	    PICTURE_FREE);
	picture_put(pic, "  ");
	site_place_cell(row, text);
	picture_text(pic, text, pic->cols, PICTURE_FREE);
}

static void
put_memory_title(const struct page_stress_memory *p, const struct page_stress_head *h,
    struct page_picture *pic)
{
	const struct stress_memory *m = &p->now;
	int at = pic->cols - (int)strlen(h->state), from;

	picture_line(pic);
	picture_text(pic, texts[p->table].title, at > 1 ? at - 1 : 1, PICTURE_FREE);
	if (h->node[0] != '\0' && picture_col(pic) + 6 < at) {
		picture_put(pic, "  ");
		picture_text(pic, h->node, at - picture_col(pic) - 2, PICTURE_FREE);
	}
	if (at > picture_col(pic))
		picture_to(pic, at);
	from = picture_col(pic);
	picture_put(pic, h->state);
	picture_mark(pic, from, picture_col(pic), h->state_mark);
	picture_line(pic);
	if (!p->known)
		return;
	picture_printf(pic, "%s bytes in %s %s", base_digits(m->bytes).text,
	    base_digits(m->rows).text, p->table == STRESS_BY_SITE ? "places" :
	    "caches");
	if (m->rows > m->n)
		picture_printf(pic, ", the largest %s are listed",
		    base_digits(m->n).text);
	if (m->bad > 0)
		picture_printf(pic, "; %s lines could not be read",
		    base_digits(m->bad).text);
}

static void
put_memory_rows(struct page_stress_memory *p, const struct columns *c, int room,
    bool cursor, struct page_picture *pic)
{
	struct page_list *l = &p->list;

	page_list_begin(l, p->now.n, room, pic);
	for (size_t i = l->top; i < p->now.n && i < l->top + l->window; i++) {
		put_memory_row(p, c, row_at(&p->now, i), pic);
		if (cursor && i == l->selected)
			picture_mark_line(pic, PAGE_CURSOR);
	}
}

int
page_stress_memory_compose(struct page_stress_memory *p,
    const struct page_stress_head *h, int cols, int rows, struct page_picture *pic)
{
	bool bar = rows >= BAR_ROWS, text = rows == 0;
	struct columns c;
	int r;

	p->list.first = 0;
	plan_memory(p->table, cols, &c);
	picture_begin(pic, cols, h->ascii);
	put_memory_title(p, h, pic);
	if (p->trouble[0] != '\0')
		picture_wrap(pic, p->trouble, 3, PAGE_BAD);
	else if (!p->known)
		picture_wrap(pic, texts[p->table].waiting, 1, PAGE_WARN);
	if (p->known) {
		put_memory_heading(p->table, &c, pic);
		put_memory_rows(p, &c, text ? (int)p->now.n :
		    rows - (pic->rows + 1) - bar, !text, pic);
	}
	if (bar)
		page_overlay_bar("Space pause  m mark  b next table  Esc levels",
		    rows, pic);
	r = picture_end(pic);
	if (r == 0 && !text)
		page_list_edges(&p->list, p->now.n, pic);
	return r;
}
