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

static bool
is_counted(const struct refcnt_copy_page *p)
{
	return (p->flags & REFCNT_VALID) != 0;
}

static bool
has_clock(const struct refcnt_row *r)
{
	return r->of->v != NULL && page_time_known(r->of->v->look);
}

static bool
tells_reads(const struct refcnt_copy_page *p)
{
	const struct refcnt_source_row *s = refcnt_row_source(p);

	return s->read && s->write;
}

PAGE_GET(get_page, n, p->vaddr, true)
PAGE_GET(get_pages, n, r->line->pages, true)
PAGE_GET(get_physical, n, p->paddr, (p->flags & REFCNT_NO_PADDR) == 0)
PAGE_GET(get_size, n, p->page_size, p->page_size > 0)
PAGE_GET(get_home, i, p->home, p->home >= 0)
PAGE_GET(get_counted, n, is_counted(p), true)
PAGE_GET(get_count, n, p->count, is_counted(p))
PAGE_GET(get_reads, n, p->reads, is_counted(p) && tells_reads(p))
PAGE_GET(get_writes, n, p->writes, is_counted(p) && refcnt_row_source(p)->write)
PAGE_GET(get_since, i, has_clock(r) ? page_wall_ms(r->of->v->look, p->since_ms) : 0,
    is_counted(p) && has_clock(r))
PAGE_GET(get_last, i, has_clock(r) ? page_wall_ms(r->of->v->look, p->last_ms) : 0,
    is_counted(p) && has_clock(r) && p->last_ms >= 0)
PAGE_GET(get_touched, i, refcnt_idle_ms(r), true)
PAGE_GET(get_never, n, p->last_ms < 0, true)
PAGE_GET(get_source, text, refcnt_row_source(p)->name, is_counted(p))
PAGE_GET(get_unit, text, refcnt_row_source(p)->unit, is_counted(p))
FIELD_GET(get_plane, refcnt_row, text, refcnt_planes[r->of->plane], true)

static bool
get_heat(const void *row, size_t at, struct field_value *v)
{
	(void)at;
	refcnt_heat_text(refcnt_row_page(row)->heat, v->room);
	v->text = v->room;
	return is_counted(refcnt_row_page(row));
}

static bool
get_hint(const void *row, size_t at, struct field_value *v)
{
	(void)at;
	refcnt_hint(row, v->room);
	v->text = v->room;
	return v->room[0] != '\0';
}

/* The flags as text; `at`: flags to leave out. */
static bool
get_flags(const void *row, size_t at, struct field_value *v)
{
	static char text[REFCNT_FLAGS_TEXT];

	refcnt_flags_text(refcnt_row_page(row)->flags & ~(uint32_t)at, text);
	v->text = text;
	return at == 0 || text[0] != '\0';
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

static bool
get_block(const void *row, size_t at, struct field_value *v)
{
	struct blk first;
	size_t blocks;

	(void)at;
	if (!refcnt_row_blocks(row, &blocks, &first) || blocks == 0)
		return false;
	v->n = first.addr;
	return true;
}

struct counter_row {
	const struct refcnt_row *of;
	unsigned counter;
};

FIELD_GET(get_counter, counter_row, n, refcnt_copy_counters(r->of->of->copy,
    r->of->line->at)[r->counter], true)
FIELD_GET(get_counter_pegged, counter_row, n, refcnt_is_pegged(r->of, r->counter),
    true)

/* `at`: characters to leave out. */
static bool
get_counter_node(const void *row, size_t at, struct field_value *v)
{
	const struct counter_row *r = row;

	refcnt_node_text(refcnt_row_page(r->of), r->counter, v->room);
	v->text = v->room + at;
	return true;
}

static const struct field run_counter_fields[] = {
	{ .key = "node", .kind = FIELD_TEXT, .get = get_counter_node },
	{ .key = "count", .get = get_counter },
	{ .key = "pegged", .kind = FIELD_BOOL, .get = get_counter_pegged },
};
static const struct field_table run_counters = FIELD_TABLE(run_counter_fields);
static const struct field page_counter_fields[] = {
	{ .key = "node", .kind = FIELD_TEXT, .get = get_counter_node, .at = 1 },
	{ .key = "count", .get = get_counter },
};
static const struct field_table page_counters = FIELD_TABLE(page_counter_fields);

static bool
get_counters(const void *row, size_t at, struct field_value *v)
{
	static struct counter_row rows[REFCNT_COUNTERS];
	const struct refcnt_row *r = row;
	unsigned n = r->of->copy->counters;

	(void)at;
	if (!is_counted(refcnt_row_page(r)) ||
	    (refcnt_row_page(r)->flags & REFCNT_NO_NODE) != 0)
		return false;
	for (unsigned i = 0; i < n; i++)
		rows[i] = (struct counter_row){ r, i };
	v->list.row = rows;
	v->list.rows = n;
	v->list.size = sizeof rows[0];
	return true;
}

FIELD_PRINT(page_cell, refcnt_row, "%012" PRIx64, refcnt_row_page(r)->vaddr)

static void
home_cell(const void *row, char out[FIELD_CELL])
{
	const struct refcnt_copy_page *p = refcnt_row_page(row);

	if (p->home >= 0)
		snprintf(out, FIELD_CELL, "n%" PRId32, p->home);
	else
		snprintf(out, FIELD_CELL, "-");
}

static void
count_cell(const void *row, char out[FIELD_CELL])
{
	const struct refcnt_copy_page *p = refcnt_row_page(row);

	if (!is_counted(p))
		snprintf(out, FIELD_CELL, "-");
	else
		snprintf(out, FIELD_CELL, "%s%s", base_digits(p->count).text,
		    (p->flags & REFCNT_SATURATED) != 0 ? "P" : "");
}

#define NODE_COUNT_TEXT 48	/* " n504-511:18446744073709551615 ..." */

static void
nodes_cell(const void *row, char out[FIELD_CELL])
{
	const struct refcnt_row *r = row;
	const struct refcnt_copy_page *p = refcnt_row_page(r);
	const uint64_t *n = refcnt_copy_counters(r->of->copy, r->line->at);
	char node[REFCNT_NODE_TEXT];
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; (p->flags & REFCNT_NO_NODE) == 0 &&
	    i < r->of->copy->counters; i++) {
		if (n[i] == 0)
			continue;
		/* No part of a number is shown. */
		if (len + NODE_COUNT_TEXT > FIELD_CELL) {
			base_append(out, FIELD_CELL, &len, " ...");
			break;
		}
		refcnt_node_text(p, i, node);
		base_append(out, FIELD_CELL, &len, "%s%s:%" PRIu64,
		    len > 0 ? " " : "", node, n[i]);
	}
}

/* The age of the last reference; ">12m": none since counting began, 12 minutes ago. */
static void
touched_cell(const void *row, char out[FIELD_CELL])
{
	const struct refcnt_row *r = row;
	char age[8];

	if (!is_counted(refcnt_row_page(r)) || r->of->v == NULL) {
		snprintf(out, FIELD_CELL, "-");
		return;
	}
	page_cell_age(age, (uint64_t)refcnt_idle_ms(r) / 1000);
	snprintf(out, FIELD_CELL, "%s%s", refcnt_row_page(r)->last_ms < 0 ?
	    ">" : "", age);
}

static void
heat_cell(const void *row, char out[FIELD_CELL])
{
	if (is_counted(refcnt_row_page(row)))
		refcnt_heat_text(refcnt_row_page(row)->heat, out);
	else
		snprintf(out, FIELD_CELL, "not counted");
}

/* Names the block if it fills the page, and so has all of its counts. */
static void
blocks_cell(const void *row, char out[FIELD_CELL])
{
	const struct refcnt_copy_page *p = refcnt_row_page(row);
	struct blk b;
	size_t n;

	if (!refcnt_row_blocks(row, &n, &b) || n == 0)
		snprintf(out, FIELD_CELL, "-");
	else if (n == 1 && b.addr <= p->vaddr &&
	    b.addr + b.size >= p->vaddr + REFCNT_PAGE)
		snprintf(out, FIELD_CELL, "%" PRIx64, b.addr);
	else if (n == 1)
		snprintf(out, FIELD_CELL, "%" PRIx64 ", a part", b.addr);
	else
		snprintf(out, FIELD_CELL, "%" PRIx64 " and %s more share it",
		    b.addr, base_digits(n - 1).text);
}

static void
notes_cell(const void *row, char out[FIELD_CELL])
{
	const struct refcnt_row *r = row;
	uint32_t f = refcnt_row_page(r)->flags;

	snprintf(out, FIELD_CELL, "%s%s%s%s%s", r->of->is_mixed &&
	    is_counted(refcnt_row_page(r)) ?
	    refcnt_row_source(refcnt_row_page(r))->name : "",
	    r->of->is_mixed ? " " : "", (f & REFCNT_NOT_PRESENT) != 0 ?
	    "not in memory " : "", (f & REFCNT_COARSE) != 0 ? "coarse " : "",
	    (f & REFCNT_MOVED) != 0 ? "moved" : "");
}

/* "2,047P": a counter of the set is at its maximum. */
static void
put_count(const void *row, int width, struct page_picture *pic)
{
	const struct refcnt_copy_page *p = refcnt_row_page(row);
	bool pegged = (p->flags & REFCNT_SATURATED) != 0;

	picture_grouped(pic, p->count, width - pegged);
	if (pegged)
		picture_put(pic, "P");
}

static void
put_known(bool known, uint64_t n, int width, struct page_picture *pic)
{
	if (known)
		picture_grouped(pic, n, width);
	else
		picture_text(pic, "-", width, PICTURE_RIGHT);
}

FIELD_PUT(put_reads, refcnt_row, put_known(tells_reads(refcnt_row_page(r)),
    refcnt_row_page(r)->reads, width, pic))
FIELD_PUT(put_writes, refcnt_row, put_known(
    refcnt_row_source(refcnt_row_page(r))->write, refcnt_row_page(r)->writes,
    width, pic))

static void
put_touched(const void *row, int width, struct page_picture *pic)
{
	char text[FIELD_CELL];

	touched_cell(row, text);
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

/* Counts of several sources have several units: each row names its own, or its move. */
static void
put_hint(const void *row, int width, struct page_picture *pic)
{
	const struct refcnt_row *r = row;
	char text[REFCNT_HINT_TEXT];

	refcnt_hint(r, text);
	picture_text(pic, text[0] != '-' && r->of->is_mixed ?
	    refcnt_row_source(refcnt_row_page(r))->name : text, width,
	    PICTURE_LEFT);
}

/* Columns that the page, its home and its first counters keep. */
#define NAME_MIN(rank) ((rank) == 0 ? 18 : (rank) < 3 ? 34 : 38)
#define SHOWN(title_, width_, rank_, right_, need_, put_) .title = title_, \
	    .gap = 1, .width = width_, .right = right_, .rank = rank_, \
	    .keep = NAME_MIN(rank_), .need = need_, .put = put_
#define PRINTED(title_, width_, right_, cell_) .column = { .title = title_, \
	    .gap = 1, .width = width_, .right = right_, .cell = cell_, \
	    .subset = REFCNT_ROW_PAGE }

static const struct field fields[] = {
	{ .key = "page", .kind = FIELD_HEX, .get = get_page,
	    PRINTED("PAGE", 12, false, page_cell) },
	{ .key = "pages", .get = get_pages, .subset = REFCNT_ROW_RUN },
	{ .key = "physical", .kind = FIELD_HEX, .get = get_physical },
	{ .key = "page_size", .get = get_size, .subset = REFCNT_ROW_PAGE },
	{ .key = "home", .kind = FIELD_SIGNED, .get = get_home,
	    PRINTED("HOME", 4, false, home_cell) },
	{ .key = "counted", .kind = FIELD_BOOL, .get = get_counted,
	    .subset = REFCNT_ROW_PAGE },
	{ .key = "count", .get = get_count, .subset = REFCNT_ROW_RUN,
	    .column = { SHOWN("TOTAL", 7, 0, true, 0, put_count) } },
	{ .key = "count", .get = get_count, .subset = REFCNT_ROW_PAGE,
	    PRINTED("COUNT", 9, true, count_cell) },
	{ .key = "reads", .get = get_reads,
	    .column = { SHOWN("READS", 7, 4, true, REFCNT_KNOWS_WRITES,
	    put_reads), .subset = REFCNT_ROW_RUN } },
	{ .key = "writes", .get = get_writes,
	    .column = { SHOWN("WRITES", 7, 5, true, REFCNT_KNOWS_WRITES,
	    put_writes), .subset = REFCNT_ROW_RUN } },
	{ .key = "counters", .kind = FIELD_LIST, .get = get_counters,
	    .sub = &run_counters, .subset = REFCNT_ROW_RUN },
	{ .key = "counters", .kind = FIELD_LIST, .get = get_counters,
	    .sub = &page_counters, .subset = REFCNT_ROW_PAGE },
	{ .key = "since", .kind = FIELD_TIME, .get = get_since,
	    .subset = REFCNT_ROW_PAGE },
	{ .key = "last", .kind = FIELD_TIME, .get = get_last,
	    .subset = REFCNT_ROW_PAGE },
	{ .key = "touched_ms", .kind = FIELD_SIGNED, .get = get_touched,
	    .subset = REFCNT_ROW_RUN,
	    .column = { SHOWN("TOUCH", 6, 2, true, 0, put_touched),
	    .cell = touched_cell, .subset = REFCNT_ROW_RUN | REFCNT_ROW_PAGE } },
	{ .key = "never", .kind = FIELD_BOOL, .get = get_never,
	    .subset = REFCNT_ROW_RUN },
	{ .key = "heat", .kind = FIELD_TEXT, .get = get_heat,
	    .column = { SHOWN("HEAT", REFCNT_HEAT, 3, false, 0, put_heat),
	    .cell = heat_cell } },
	{ .key = "hint", .kind = FIELD_TEXT, .get = get_hint, .subset = REFCNT_ROW_RUN,
	    .column = { SHOWN("HINT", 7, 1, false, 0, put_hint) } },
	{ PRINTED("NODES", 0, false, nodes_cell) },
	{ .key = "blocks", .get = get_blocks },
	{ .key = "block", .kind = FIELD_HEX, .get = get_block,
	    .subset = REFCNT_ROW_PAGE,
	    PRINTED("BLOCKS", 0, false, blocks_cell) },
	{ .key = "source", .kind = FIELD_TEXT, .get = get_source },
	{ .key = "unit", .kind = FIELD_TEXT, .get = get_unit },
	{ .key = "plane", .kind = FIELD_TEXT, .get = get_plane,
	    .subset = REFCNT_ROW_PAGE },
	{ .key = "flags", .kind = FIELD_TEXT, .get = get_flags, .at = REFCNT_VALID,
	    .subset = REFCNT_ROW_RUN },
	{ .key = "flags", .kind = FIELD_TEXT, .get = get_flags,
	    .subset = REFCNT_ROW_PAGE, PRINTED("", 0, false, notes_cell) },
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
