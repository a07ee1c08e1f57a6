#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../../nodes/nodes.h"
#include "../../../refcnt/attribution.h"
#include "../../batch/batch.h"
#include "../../documents/documents.h"
#include "../../layout/fields.h"
#include "../../layout/layout.h"
#include "../../refcnt/refcnt.h"
#include "refcnt.h"

int
page_rows_add(struct page_rows *r, const struct refcnt_page *page, size_t n)
{
	void *array = r->page;
	int err = base_grow(&array, &r->cap, r->n + n, sizeof *page);

	if (err < 0)
		return err;
	r->page = array;
	memcpy(r->page + r->n, page, n * sizeof *page);
	r->n += n;
	return 0;
}

int
page_rows_add_range(struct page_rows *r, const struct refcnt_page *page, size_t n,
    uint64_t from, uint64_t to)
{
	uint64_t at = from & ~(uint64_t)(REFCNT_PAGE - 1);
	size_t i = 0;
	int err = 0;

	for (; err == 0 && at < to; at += REFCNT_PAGE) {
		struct refcnt_page none = { .vaddr = at, .last_ms = -1,
			.cnodeid = -1, .flags = REFCNT_NO_PADDR };

		while (i < n && page[i].vaddr < at)
			i++;
		err = page_rows_add(r, i < n && page[i].vaddr == at ?
		    &page[i] : &none, 1);
		if (at > UINT64_MAX - REFCNT_PAGE)
			break;
	}
	return err;
}

void
page_rows_fini(struct page_rows *r)
{
	free(r->page);
	r->page = NULL;
	r->n = r->cap = 0;
}

/* --- values ------------------------------------------------------------------------- */

struct page_row {
	const struct page_rows *of;
	const struct refcnt_page *page;
};

static bool
is_counted(const struct refcnt_page *p)
{
	return (p->flags & REFCNT_VALID) != 0;
}

static uint64_t
sum_of(const struct refcnt_page *p)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < p->counters; i++)
		sum += p->counter[i];
	return sum;
}

/* Wall clock of a time of the node's clock. */
static int64_t
wall_of(const struct page_row *r, int64_t ms)
{
	return r->of->look != NULL ? r->of->look->node_wall_ms -
	    (r->of->now_ms - ms) : ms;
}

static size_t
blocks_on(const struct page_row *r, struct blk *first)
{
	return r->of->list == NULL ? 0 : refcnt_blocks_there(r->of->list,
	    r->page->vaddr, r->page->vaddr + REFCNT_PAGE, first);
}

static bool
get_flags(const void *row, size_t at, struct field_value *v)
{
	static char text[REFCNT_FLAGS_TEXT];

	(void)at;
	refcnt_flags_text(((const struct page_row *)row)->page->flags, text);
	v->text = text;
	return true;
}

FIELD_GET(get_page, page_row, n, r->page->vaddr, true)
FIELD_GET(get_paddr, page_row, n, r->page->paddr,
    (r->page->flags & REFCNT_NO_PADDR) == 0)
FIELD_GET(get_size, page_row, n, r->page->page_size, r->page->page_size > 0)
FIELD_GET(get_home, page_row, i, r->page->cnodeid, r->page->cnodeid >= 0)
FIELD_GET(get_counted, page_row, n, is_counted(r->page), true)
FIELD_GET(get_sum, page_row, n, sum_of(r->page), is_counted(r->page))
FIELD_GET(get_reads, page_row, n, r->page->reads, is_counted(r->page) &&
    refcnt_sources[r->page->source].write)
FIELD_GET(get_writes, page_row, n, r->page->writes, is_counted(r->page) &&
    refcnt_sources[r->page->source].write)
FIELD_GET(get_since, page_row, i, wall_of(r, r->page->since_ms),
    is_counted(r->page) && r->of->look != NULL)
FIELD_GET(get_last, page_row, i, wall_of(r, r->page->last_ms),
    is_counted(r->page) && r->page->last_ms >= 0 && r->of->look != NULL)
FIELD_GET(get_source, page_row, text, refcnt_sources[r->page->source].name,
    is_counted(r->page))
FIELD_GET(get_unit, page_row, text, refcnt_sources[r->page->source].unit,
    is_counted(r->page))
FIELD_GET(get_plane, page_row, text, refcnt_planes[r->of->plane], true)

static bool
get_heat(const void *row, size_t at, struct field_value *v)
{
	const struct page_row *r = row;

	(void)at;
	refcnt_heat_text(r->page->heat, v->room);
	v->text = v->room;
	return is_counted(r->page);
}

static bool
get_blocks(const void *row, size_t at, struct field_value *v)
{
	const struct page_row *r = row;
	struct blk first;

	(void)at;
	v->n = blocks_on(r, &first);
	return r->of->list != NULL;
}

static bool
get_block(const void *row, size_t at, struct field_value *v)
{
	struct blk first;

	(void)at;
	if (blocks_on(row, &first) == 0)
		return false;
	v->n = first.addr;
	return true;
}

/* --- counters of a row ------------------------------------------------------------- */

struct counter_row {
	const struct refcnt_page *page;
	unsigned n;
};

FIELD_GET(get_counter, counter_row, n, r->page->counter[r->n], true)

static bool
get_counter_node(const void *row, size_t at, struct field_value *v)
{
	const struct counter_row *r = row;
	bool grouped = (r->page->flags & REFCNT_GROUPED) != 0;

	(void)at;
	if (grouped)
		snprintf(v->room, sizeof v->room, "%u-%u", 8 * r->n,
		    8 * r->n + 7);
	else
		snprintf(v->room, sizeof v->room, "%u", r->n);
	v->text = v->room;
	return true;
}

static const struct field counter_fields[] = {
	{ .key = "node", .kind = FIELD_TEXT, .get = get_counter_node },
	{ .key = "count", .kind = FIELD_NUMBER, .get = get_counter },
};
static const struct field_table counter_table = FIELD_TABLE(counter_fields);

static bool
get_counters(const void *row, size_t at, struct field_value *v)
{
	static struct counter_row rows[REFCNT_COUNTERS];
	const struct page_row *r = row;

	(void)at;
	for (unsigned i = 0; i < r->page->counters; i++)
		rows[i] = (struct counter_row){ r->page, i };
	v->list.row = rows;
	v->list.rows = r->page->counters;
	v->list.size = sizeof rows[0];
	return is_counted(r->page) && (r->page->flags & REFCNT_NO_NODE) == 0;
}

/* --- cells ---------------------------------------------------------------------------- */

FIELD_PRINT(page_cell, page_row, "%012" PRIx64, r->page->vaddr)

static void
home_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_row *r = row;

	if (r->page->cnodeid >= 0)
		snprintf(out, FIELD_CELL, "n%" PRId32, r->page->cnodeid);
	else
		snprintf(out, FIELD_CELL, "-");
}

static void
sum_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_row *r = row;

	if (!is_counted(r->page))
		snprintf(out, FIELD_CELL, "-");
	else
		snprintf(out, FIELD_CELL, "%s%s",
		    base_digits(sum_of(r->page)).text,
		    (r->page->flags & REFCNT_SATURATED) != 0 ? "P" : "");
}

/* "n1:400 n0:20", those that are not 0. */
static void
nodes_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_row *r = row;
	struct field_value v;
	size_t len = 0;

	out[0] = '\0';
	for (unsigned i = 0; (r->page->flags & REFCNT_NO_NODE) == 0 &&
	    i < r->page->counters; i++) {
		if (r->page->counter[i] == 0)
			continue;
		get_counter_node(&(struct counter_row){ r->page, i }, 0, &v);
		base_append(out, FIELD_CELL, &len, "%sn%s:%" PRIu64,
		    len > 0 ? " " : "", v.text, r->page->counter[i]);
	}
}

/* ">12m": not since counting began, 12 minutes ago. */
static void
touch_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_row *r = row;
	bool never = r->page->last_ms < 0;
	int64_t ms = r->of->now_ms - (never ? r->page->since_ms :
	    r->page->last_ms);
	char age[8];

	if (!is_counted(r->page) || r->of->look == NULL) {
		snprintf(out, FIELD_CELL, "-");
		return;
	}
	page_cell_age(age, (uint64_t)(ms > 0 ? ms : 0) / 1000);
	snprintf(out, FIELD_CELL, "%s%s", never ? ">" : "", age);
}

static void
heat_cell(const void *row, char out[FIELD_CELL])
{
	struct field_value v;

	if (get_heat(row, 0, &v))
		snprintf(out, FIELD_CELL, "%s", v.text);
	else
		snprintf(out, FIELD_CELL, "not counted");
}

/* A block that fills the page has its counts; others share them. */
static void
blocks_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_row *r = row;
	struct blk b;
	size_t n = blocks_on(r, &b);

	if (n == 0)
		snprintf(out, FIELD_CELL, "-");
	else if (n == 1 && b.addr <= r->page->vaddr &&
	    b.addr + b.size >= r->page->vaddr + REFCNT_PAGE)
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
	const struct page_row *r = row;
	uint32_t f = r->page->flags;

	snprintf(out, FIELD_CELL, "%s%s%s", (f & REFCNT_NOT_PRESENT) != 0 ?
	    "not in memory " : "", (f & REFCNT_COARSE) != 0 ? "coarse " : "",
	    (f & REFCNT_MOVED) != 0 ? "moved" : "");
}

#define CELL(title_, width_, right_, cell_) .column = { .title = title_, \
	    .gap = 1, .width = width_, .right = right_, .cell = cell_ }

static const struct field fields[] = {
	{ .key = "page", .kind = FIELD_HEX, .get = get_page,
	    CELL("PAGE", 12, false, page_cell) },
	{ .key = "physical", .kind = FIELD_HEX, .get = get_paddr },
	{ .key = "page_size", .kind = FIELD_NUMBER, .get = get_size },
	{ .key = "home", .kind = FIELD_SIGNED, .get = get_home,
	    CELL("HOME", 4, false, home_cell) },
	{ .key = "counted", .kind = FIELD_BOOL, .get = get_counted },
	{ .key = "count", .kind = FIELD_NUMBER, .get = get_sum,
	    CELL("COUNT", 9, true, sum_cell) },
	{ .key = "reads", .kind = FIELD_NUMBER, .get = get_reads },
	{ .key = "writes", .kind = FIELD_NUMBER, .get = get_writes },
	{ .key = "counters", .kind = FIELD_LIST, .get = get_counters,
	    .sub = &counter_table },
	{ .key = "since", .kind = FIELD_TIME, .get = get_since },
	{ .key = "last", .kind = FIELD_TIME, .get = get_last,
	    CELL("TOUCH", 6, true, touch_cell) },
	{ .key = "heat", .kind = FIELD_TEXT, .get = get_heat,
	    CELL("HEAT", REFCNT_HEAT, false, heat_cell) },
	{ CELL("NODES", 0, false, nodes_cell) },
	{ .key = "blocks", .kind = FIELD_NUMBER, .get = get_blocks },
	{ .key = "block", .kind = FIELD_HEX, .get = get_block,
	    CELL("BLOCKS", 0, false, blocks_cell) },
	{ .key = "source", .kind = FIELD_TEXT, .get = get_source },
	{ .key = "unit", .kind = FIELD_TEXT, .get = get_unit },
	{ .key = "plane", .kind = FIELD_TEXT, .get = get_plane },
	{ .key = "flags", .kind = FIELD_TEXT, .get = get_flags,
	    CELL("", 0, false, notes_cell) },
};
static const struct field_table page_fields = FIELD_TABLE(fields);

bool
page_rows_fields(const char *list, char *why, size_t cap)
{
	return field_list_check(list, &page_fields, 0, NULL, why, cap);
}

/* --- output --------------------------------------------------------------------------- */

static int
by_count(const void *a, const void *b)
{
	const struct refcnt_page *p = a, *q = b;
	uint64_t m = sum_of(p), n = sum_of(q);

	return m != n ? (m < n) - (m > n) : p->heat != q->heat ?
	    (p->heat < q->heat) - (p->heat > q->heat) :
	    (p->vaddr > q->vaddr) - (p->vaddr < q->vaddr);
}

static void
put_heading(FILE *out, const struct page_rows *r, const struct options *o)
{
	char target[PAGE_TARGET_TEXT], safe[4 * PAGE_TARGET_TEXT];
	const struct nodes_refcnt *t = r->refcnt;
	const struct refcnt_page *p = r->n > 0 ? r->page : NULL;

	if (r->look != NULL) {
		page_target_text(r->look, target);
		base_safe_text(safe, sizeof safe, target, strlen(target),
		    o->page.ascii);
	} else {
		base_safe_text(safe, sizeof safe, r->of, strlen(r->of),
		    o->page.ascii);
	}
	fprintf(out, "%s", safe);
	for (size_t i = 0; i < r->n && !is_counted(p); i++)
		p = &r->page[i];
	if (p != NULL && is_counted(p))
		fprintf(out, "  %s: %s", refcnt_sources[p->source].text,
		    refcnt_sources[p->source].unit);
	if (t != NULL && t->nranges > 0)
		fprintf(out, "  %s pages counted, periods of %g s",
		    base_digits(t->pages).text, t->period_ms / 1000.0);
	fprintf(out, "  %s counters\n", refcnt_planes[r->plane]);
}

static void
put_text(FILE *out, const struct page_rows *r, const struct options *o)
{
	struct output_table table = { .out = out, .fields = &page_fields,
		.ascii = o->page.ascii };
	struct page_row row = { .of = r };

	put_heading(out, r, o);
	for (size_t i = 0; i < r->n; i++) {
		row.page = &r->page[i];
		output_measure(&table, &row);
	}
	output_fit(&table, batch_terminal_columns(out));
	if (r->n > 0)
		output_heading(&table);
	for (size_t i = 0; i < r->n && output_going(out); i++) {
		row.page = &r->page[i];
		output_row(&table, &row);
	}
}

static void
put_ranges(struct json *j, const struct page_rows *r)
{
	const struct nodes_refcnt *t = r->refcnt;

	json_number(j, "counted_pages", t != NULL ? t->pages : r->n);
	json_known(j, "period_ms", t != NULL && t->nranges > 0,
	    t != NULL ? t->period_ms : 0);
	json_known(j, "periods", t != NULL, t != NULL ? t->periods : 0);
	json_known(j, "ranges", t != NULL, t != NULL ? t->nranges : 0);
	json_text(j, "why", t != NULL ? or_null(t->why) : NULL);
}

static void
put_data(FILE *out, const struct page_rows *r, const struct options *o)
{
	struct page_row row = { .of = r };
	struct json j;

	json_open(&j, out, o);
	json_document(&j, "pagek.refcnt/1", &page_fields, 0);
	if (r->look != NULL)
		json_put(&j, &page_look_target, r->look);
	else
		json_text(&j, "file", r->of);
	put_ranges(&j, r);
	json_rows(&j, "pages");
	for (size_t i = 0; i < r->n && output_going(out); i++) {
		row.page = &r->page[i];
		json_row(&j, &row, 0);
	}
	json_rows_end(&j);
	json_end(&j);
}

int
page_rows_print(struct page_rows *r, const struct options *o)
{
	FILE *out = output_open(o->output);

	if (out == NULL)
		return PAGEK_FAILED;
	if (r->hottest && r->n > 0)
		qsort(r->page, r->n, sizeof *r->page, by_count);
	if (o->limit != 0 && r->n > o->limit)
		r->n = o->limit;
	if (options_as_data(o))
		put_data(out, r, o);
	else
		put_text(out, r, o);
	return output_close(out, o->output, PAGEK_OK);
}
