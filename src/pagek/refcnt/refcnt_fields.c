/* The fields of runs of pages, in every format and on page R. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../picture/picture.h"
#include "refcnt.h"

#define PAGE_GET(name, member, value, known) \
	static bool \
	name(const void *row, size_t at, struct field_value *v) \
	{ \
		const struct refcnt_row *r = row; \
		const struct refcnt_copy_page *p = refcnt_row_page(r); \
		\
		(void)at; \
		(void)p; \
		v->member = (value); \
		return (known); \
	}

PAGE_GET(get_page, n, p->vaddr, true)
PAGE_GET(get_pages, n, r->line->pages, true)
PAGE_GET(get_physical, n, p->paddr, (p->flags & REFCNT_NO_PADDR) == 0)
PAGE_GET(get_home, i, p->home, p->home >= 0)
PAGE_GET(get_count, n, p->count, true)
PAGE_GET(get_reads, n, p->reads, true)
PAGE_GET(get_writes, n, p->writes, refcnt_row_source(p)->write)
PAGE_GET(get_touched, i, refcnt_idle_ms(r), true)
PAGE_GET(get_never, n, p->last_ms < 0, true)
PAGE_GET(get_source, text, refcnt_row_source(p)->name, true)
PAGE_GET(get_unit, text, refcnt_row_source(p)->unit, true)

static bool
get_heat(const void *row, size_t at, struct field_value *v)
{
	(void)at;
	refcnt_heat_text(refcnt_row_page(row)->heat, v->room);
	v->text = v->room;
	return true;
}

static bool
get_hint(const void *row, size_t at, struct field_value *v)
{
	(void)at;
	refcnt_hint(row, v->room);
	v->text = v->room;
	return v->room[0] != '\0';
}

/* Its texts are longer than a value's room.  All pages of a copy are valid. */
static bool
get_flags(const void *row, size_t at, struct field_value *v)
{
	static char text[REFCNT_FLAGS_TEXT];

	(void)at;
	refcnt_flags_text(refcnt_row_page(row)->flags & ~REFCNT_VALID, text);
	v->text = text;
	return text[0] != '\0';
}

static bool
get_blocks(const void *row, size_t at, struct field_value *v)
{
	size_t blocks;

	(void)at;
	if (!refcnt_row_blocks(row, &blocks, NULL))
		return false;
	v->n = blocks;
	return true;
}

/* --- counters ------------------------------------------------------------------------- */

struct counter_row {
	const struct refcnt_row *of;
	unsigned counter;
};

FIELD_GET(get_counter, counter_row, n, refcnt_copy_counters(r->of->of->copy,
    r->of->line->at)[r->counter], true)
FIELD_GET(get_counter_pegged, counter_row, n, refcnt_is_pegged(r->of, r->counter),
    true)

static bool
get_counter_node(const void *row, size_t at, struct field_value *v)
{
	const struct counter_row *r = row;

	(void)at;
	refcnt_node_text(refcnt_row_page(r->of), r->counter, v->room);
	v->text = v->room;
	return true;
}

static const struct field counter_fields[] = {
	{ .key = "node", .kind = FIELD_TEXT, .get = get_counter_node },
	{ .key = "count", .get = get_counter },
	{ .key = "pegged", .kind = FIELD_BOOL, .get = get_counter_pegged },
};
static const struct field_table counter_table = FIELD_TABLE(counter_fields);

static bool
get_counters(const void *row, size_t at, struct field_value *v)
{
	static struct counter_row rows[REFCNT_COUNTERS];
	const struct refcnt_row *r = row;
	unsigned n = r->of->copy->counters;

	(void)at;
	if ((refcnt_row_page(r)->flags & REFCNT_NO_NODE) != 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		rows[i] = (struct counter_row){ r, i };
	v->list.row = rows;
	v->list.rows = n;
	v->list.size = sizeof rows[0];
	return true;
}

/* --- columns of page R ------------------------------------------------------------------- */

static void
put_number(uint64_t n, int width, struct page_picture *pic)
{
	char text[24];

	base_format_grouped(text, width, n);
	picture_put(pic, text);
}

/* "2,047P": a counter of the set is at its maximum. */
static void
put_count(const void *row, int width, struct page_picture *pic)
{
	const struct refcnt_copy_page *p = refcnt_row_page(row);
	bool pegged = (p->flags & REFCNT_SATURATED) != 0;

	put_number(p->count, width - pegged, pic);
	if (pegged)
		picture_put(pic, "P");
}

FIELD_PUT(put_reads, refcnt_row, put_number(refcnt_row_page(r)->reads, width, pic))

static void
put_writes(const void *row, int width, struct page_picture *pic)
{
	const struct refcnt_copy_page *p = refcnt_row_page(row);

	if (refcnt_row_source(p)->write)
		put_number(p->writes, width, pic);
	else
		picture_text(pic, "-", width, PICTURE_RIGHT);
}

/* ">12m": not referenced since counting began, 12 minutes ago. */
static void
put_touched(const void *row, int width, struct page_picture *pic)
{
	char age[8], text[16];

	page_cell_age(age, (uint64_t)refcnt_idle_ms(row) / 1000);
	snprintf(text, sizeof text, "%s%s", refcnt_row_page(row)->last_ms < 0 ?
	    ">" : "", age);
	picture_text(pic, text, width, PICTURE_RIGHT);
}

static void
put_heat(const void *row, int width, struct page_picture *pic)
{
	char text[REFCNT_HEAT + 1];

	refcnt_heat_text(refcnt_row_page(row)->heat, text);
	for (char *s = text; *s != '\0'; s++)
		if (*s == '0')
			*s = '.';
	picture_text(pic, text, width, PICTURE_LEFT);
}

static void
put_hint(const void *row, int width, struct page_picture *pic)
{
	char text[REFCNT_HINT_TEXT];

	refcnt_hint(row, text);
	picture_text(pic, text, width, PICTURE_LEFT);
}

/* Columns that the page, its home and its first counters keep. */
#define NAME_MIN(rank) ((rank) == 0 ? 18 : (rank) < 3 ? 34 : 38)
#define COLUMN(title_, width_, rank_, right_, need_, put_) .column = { \
	    .title = title_, .gap = 1, .width = width_, .right = right_, \
	    .rank = rank_, .keep = NAME_MIN(rank_), .need = need_, .put = put_ }

static const struct field fields[] = {
	{ .key = "page", .kind = FIELD_HEX, .get = get_page },
	{ .key = "pages", .get = get_pages },
	{ .key = "physical", .kind = FIELD_HEX, .get = get_physical },
	{ .key = "home", .kind = FIELD_SIGNED, .get = get_home },
	{ .key = "count", .get = get_count,
	    COLUMN("TOTAL", 7, 0, true, 0, put_count) },
	{ .key = "reads", .get = get_reads,
	    COLUMN("READS", 7, 4, true, REFCNT_KNOWS_WRITES, put_reads) },
	{ .key = "writes", .get = get_writes,
	    COLUMN("WRITES", 7, 5, true, REFCNT_KNOWS_WRITES, put_writes) },
	{ .key = "counters", .kind = FIELD_LIST, .get = get_counters,
	    .sub = &counter_table },
	{ .key = "touched_ms", .kind = FIELD_SIGNED, .get = get_touched,
	    COLUMN("TOUCH", 6, 2, true, 0, put_touched) },
	{ .key = "never", .kind = FIELD_BOOL, .get = get_never },
	{ .key = "heat", .kind = FIELD_TEXT, .get = get_heat,
	    COLUMN("HEAT", REFCNT_HEAT, 3, false, 0, put_heat) },
	{ .key = "hint", .kind = FIELD_TEXT, .get = get_hint,
	    COLUMN("HINT", 7, 1, false, 0, put_hint) },
	{ .key = "blocks", .get = get_blocks },
	{ .key = "source", .kind = FIELD_TEXT, .get = get_source },
	{ .key = "unit", .kind = FIELD_TEXT, .get = get_unit },
	{ .key = "flags", .kind = FIELD_TEXT, .get = get_flags },
};

static const char *
called(const char *word)
{
	static const char *const names[][2] = {
		{ "address", "page" }, { "addr", "page" }, { "node", "home" },
		{ "total", "count" }, { "touches", "count" },
		{ "touched", "touched_ms" }, { "move", "hint" },
	};

	for (size_t i = 0; i < BASE_NELEM(names); i++)
		if (strcmp(word, names[i][0]) == 0)
			return names[i][1];
	return NULL;
}

const struct field_table refcnt_fields = { .field = fields,
	.n = BASE_NELEM(fields), .called = called };
