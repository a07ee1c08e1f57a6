/* pagek stress --sites and --slab: who holds the kernel's own memory. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../../stress/stress.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../../documents/documents.h"
#include "stress.h"

/* --- call sites ----------------------------------------------------------------------- */

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
	    .cell = site_calls_cell } },
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

/* Rows with equal keys are in the order of the file. */
static int
by_place(const struct stress_site *a, const struct stress_site *b)
{
	int r = strcmp(a->file, b->file);

	return r != 0 ? r : (a->line > b->line) - (a->line < b->line);
}

static int
site_by_bytes(const void *x, const void *y)
{
	const struct stress_site *a = x, *b = y;
	int r = (a->bytes < b->bytes) - (a->bytes > b->bytes);

	return r != 0 ? r : by_place(a, b);
}

static int
site_by_calls(const void *x, const void *y)
{
	const struct stress_site *a = x, *b = y;
	int r = (a->calls < b->calls) - (a->calls > b->calls);

	return r != 0 ? r : by_place(a, b);
}

static int
site_by_name(const void *x, const void *y)
{
	const struct stress_site *a = x, *b = y;
	int r = strcmp(a->function, b->function);

	return r != 0 ? r : by_place(a, b);
}

/* --- slab caches ------------------------------------------------------------------------- */

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
	    .cell = slab_used_cell } },
	{ .key = "objects", .kind = FIELD_NUMBER, .get = slab_objects,
	    .column = { .title = "OBJECTS", .width = 11, .right = true, .gap = 1,
	    .cell = slab_objects_cell } },
	{ .key = "active", .kind = FIELD_NUMBER, .get = slab_active },
	{ .key = "size", .kind = FIELD_NUMBER, .get = slab_size,
	    .column = { .title = "SIZE", .width = 7, .right = true, .gap = 1,
	    .cell = slab_size_cell } },
	{ .key = "slabs", .kind = FIELD_NUMBER, .get = slab_slabs },
	{ .key = "name", .kind = FIELD_TEXT, .get = slab_name,
	    .column = { .title = "CACHE", .gap = 2, .cell = slab_name_cell } },
};
static const struct field_table slabs = FIELD_TABLE(slab_fields);

static int
slab_by_name(const void *x, const void *y)
{
	const struct stress_slab *a = x, *b = y;

	return strcmp(a->name, b->name);
}

static int
slab_by_bytes(const void *x, const void *y)
{
	const struct stress_slab *a = x, *b = y;
	int r = (a->bytes < b->bytes) - (a->bytes > b->bytes);

	return r != 0 ? r : slab_by_name(a, b);
}

static int
slab_by_objects(const void *x, const void *y)
{
	const struct stress_slab *a = x, *b = y;
	int r = (a->objects < b->objects) - (a->objects > b->objects);

	return r != 0 ? r : slab_by_name(a, b);
}

/* --- both ------------------------------------------------------------------------------------ */

/* Words of --sort; the first one is the default. */
struct order {
	const char *word;
	int (*compare)(const void *, const void *);
};

static const struct order site_orders[] = { { "bytes", site_by_bytes },
    { "calls", site_by_calls }, { "name", site_by_name } };
static const struct order slab_orders[] = { { "bytes", slab_by_bytes },
    { "objects", slab_by_objects }, { "name", slab_by_name } };

static const struct order *
order_of(const struct options *o)
{
	const struct order *all = option_given(o, OPTION_SITES) ? site_orders :
	    slab_orders;
	size_t n = option_given(o, OPTION_SITES) ? BASE_NELEM(site_orders) :
	    BASE_NELEM(slab_orders);

	if (!option_given(o, OPTION_SORT))
		return all;
	for (size_t i = 0; i < n; i++)
		if (strcmp(all[i].word, o->text[OPTION_SORT]) == 0)
			return &all[i];
	return NULL;
}

bool
stress_is_table(const struct options *o)
{
	return option_given(o, OPTION_SITES) || option_given(o, OPTION_SLAB);
}

int
stress_tables_check(struct parse *p)
{
	static const enum option_id of_levels[] = { OPTION_INTERVAL, OPTION_COUNT,
		OPTION_DURATION, OPTION_SINCE, OPTION_READ_ZERO, OPTION_ONLY };
	static const enum option_id of_tables[] = { OPTION_SORT, OPTION_REVERSE,
		OPTION_LIMIT, OPTION_FIELDS };
	const struct options *o = p->o;
	bool are_sites = option_given(o, OPTION_SITES);
	char why[768];
	int r;

	if (!stress_is_table(o))
		return option_none_of(p, of_tables, BASE_NELEM(of_tables),
		    "is for --sites and --slab");
	if (are_sites && option_given(o, OPTION_SLAB))
		return option_fail(p, "--sites and --slab are two tables: give one "
		    "of them");
	if (o->argv != NULL || o->format == FORMAT_PROM || o->target_given)
		return option_fail(p, "--%s is a table of this machine at this "
		    "moment: it takes no command, TARGET or --format=prom",
		    are_sites ? "sites" : "slab");
	r = option_none_of(p, of_levels, BASE_NELEM(of_levels), are_sites ?
	    "has no meaning with --sites" : "has no meaning with --slab");
	if (r == 0 && order_of(o) == NULL)
		r = option_fail(p, "--sort=%s: not one of bytes|%s|name",
		    base_shown(o->text[OPTION_SORT]),
		    are_sites ? "calls" : "objects");
	if (r == 0 && o->fields != NULL && !options_as_data(o))
		r = option_fail(p, "--fields is for programs: give "
		    "--format=json, ndjson or csv too");
	if (r == 0 && o->fields != NULL && !field_list_check(o->fields,
	    are_sites ? &sites : &slabs, 0, NULL, why, sizeof why))
		r = option_fail(p, "%s", why);
	return r;
}

/* Rows of either table. */
struct rows {
	const struct field_table *fields;
	const char *title, *schema, *key;
	const char *version;		/* of the file; NULL: it has none */
	char *row;
	size_t n, size;
	uint64_t bytes;			/* of all rows */
	uint64_t bad;
};

static const void *
row_at(const struct rows *r, const struct options *o, size_t i)
{
	return r->row + r->size * (option_given(o, OPTION_REVERSE) ?
	    r->n - 1 - i : i);
}

static void
put_text(FILE *out, const struct options *o, const struct rows *r, size_t shown)
{
	struct output_table t = { .out = out, .fields = r->fields,
		.ascii = o->page.ascii };

	for (size_t i = 0; i < shown; i++)
		output_measure(&t, row_at(r, o, i));
	output_fit(&t, batch_terminal_columns(out));
	fprintf(out, "%s  %s bytes in %s rows\n", r->title,
	    base_digits(r->bytes).text, base_digits(r->n).text);
	output_heading(&t);
	for (size_t i = 0; i < shown; i++)
		output_row(&t, row_at(r, o, i));
}

static void
put_data(FILE *out, const struct options *o, const struct rows *r, size_t shown)
{
	struct json j;

	json_open(&j, out, o);
	json_document(&j, r->schema, r->fields, 0);
	json_text(&j, "version", or_null(r->version));
	json_number(&j, "total_bytes", r->bytes);
	json_number(&j, "total_rows", r->n);
	json_number(&j, "bad_lines", r->bad);
	json_rows(&j, r->key);
	for (size_t i = 0; i < shown; i++)
		json_row(&j, row_at(r, o, i), 0);
	json_rows_end(&j);
	json_end(&j);
}

static int
put_rows(const struct options *o, struct rows *r)
{
	size_t shown = o->limit != 0 && o->limit < r->n ? o->limit : r->n;
	FILE *out = output_open(o->output);

	if (out == NULL)
		return PAGEK_FAILED;
	qsort(r->row, r->n, r->size, order_of(o)->compare);
	if (options_as_data(o))
		put_data(out, o, r, shown);
	else
		put_text(out, o, r, shown);
	if (r->bad > 0)
		complain("%s lines could not be read", base_digits(r->bad).text);
	return output_close(out, o->output, r->bad > 0 ? PAGEK_FORMAT : PAGEK_OK);
}

static int
put_sites(const struct options *o, const char *root, char why[STRESS_WHY])
{
	struct stress_sites all;
	struct rows r = { .fields = &sites, .title = "KERNEL CALL SITES",
		.schema = "pagek.sites/1", .key = "sites" };
	int status;

	if (stress_read_sites(&all, root, why) < 0)
		return -1;
	r.row = (char *)all.site;
	r.n = all.n;
	r.size = sizeof all.site[0];
	r.version = all.version;
	r.bad = all.bad;
	for (size_t i = 0; i < all.n; i++)
		if (all.site[i].bytes > 0)
			r.bytes += (uint64_t)all.site[i].bytes;
	status = put_rows(o, &r);
	stress_free_sites(&all);
	return status;
}

static int
put_slabs(const struct options *o, const char *root, char why[STRESS_WHY])
{
	struct stress_slabs all;
	struct rows r = { .fields = &slabs, .title = "SLAB CACHES",
		.schema = "pagek.slabs/1", .key = "slabs" };
	int status;

	if (stress_read_slabs(&all, root, why) < 0)
		return -1;
	r.row = (char *)all.slab;
	r.n = all.n;
	r.size = sizeof all.slab[0];
	r.bad = all.bad;
	for (size_t i = 0; i < all.n; i++)
		r.bytes += all.slab[i].bytes;
	status = put_rows(o, &r);
	stress_free_slabs(&all);
	return status;
}

int
stress_tables(const struct options *o)
{
	const char *root = o->stress.root != NULL ? o->stress.root : "";
	char why[STRESS_WHY] = "";
	int status = option_given(o, OPTION_SITES) ? put_sites(o, root, why) :
	    put_slabs(o, root, why);

	if (status >= 0)
		return status;
	complain("%s", why);
	return PAGEK_FAILED;
}
