#include <string.h>

#include "../../../base/base.h"
#include "../../../stress/stress.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../../cli/pump.h"
#include "../../documents/documents.h"
#include "stress.h"

static const char *const words[STRESS_TABLES][STRESS_ORDERS] = {
	[STRESS_BY_SITE] = { [STRESS_LARGEST] = "bytes", [STRESS_MOST] = "calls",
	    [STRESS_BY_NAME] = "name" },
	[STRESS_BY_CACHE] = { [STRESS_LARGEST] = "bytes",
	    [STRESS_MOST] = "objects", [STRESS_BY_NAME] = "name" },
};

static enum stress_table
table_of(const struct options *o)
{
	return option_given(o, OPTION_SITES) ? STRESS_BY_SITE : STRESS_BY_CACHE;
}

/* STRESS_ORDERS: there is no such order. */
static enum stress_order
order_of(const struct options *o)
{
	enum stress_order order = STRESS_LARGEST;

	if (option_given(o, OPTION_SORT))
		while (order < STRESS_ORDERS && strcmp(words[table_of(o)][order],
		    o->text[OPTION_SORT]) != 0)
			order++;
	return order;
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
	if (o->argv != NULL || o->format == FORMAT_PROM ||
	    o->target.kind == TARGET_FILE)
		return option_fail(p, "--%s prints the present table of a machine: "
		    "it takes no command, capture or --format=prom",
		    are_sites ? "sites" : "slab");
	r = option_none_of(p, of_levels, BASE_NELEM(of_levels), are_sites ?
	    "has no meaning with --sites" : "has no meaning with --slab");
	if (r == 0 && order_of(o) == STRESS_ORDERS)
		r = option_fail(p, "--sort=%s: not one of bytes|%s|name",
		    base_shown(o->text[OPTION_SORT]),
		    words[table_of(o)][STRESS_MOST]);
	if (r == 0 && o->fields != NULL && !options_as_data(o))
		r = option_fail(p, "--fields is for programs: give "
		    "--format=json, ndjson or csv too");
	if (r == 0 && o->fields != NULL && !field_list_check(o->fields,
	    page_stress_memory_fields[table_of(o)], 0, NULL, why, sizeof why))
		r = option_fail(p, "%s", why);
	return r;
}

static const struct {
	const char *title, *schema, *key;
} names[STRESS_TABLES] = {
	[STRESS_BY_SITE] = { "KERNEL CALL SITES", "pagek.sites/1", "sites" },
	[STRESS_BY_CACHE] = { "SLAB CACHES", "pagek.slabs/1", "slabs" },
};

static const void *
row_at(const struct stress_memory *m, const struct options *o, size_t i)
{
	return (const char *)m->row + m->size * (option_given(o, OPTION_REVERSE) ?
	    m->n - 1 - i : i);
}

static void
put_text(FILE *out, const struct options *o, const struct stress_memory *m, size_t shown)
{
	struct output_table t = { .out = out,
		.fields = page_stress_memory_fields[m->table],
		.ascii = o->page.ascii };

	for (size_t i = 0; i < shown; i++)
		output_measure(&t, row_at(m, o, i));
	output_fit(&t, batch_terminal_columns(out));
	fprintf(out, "%s  %s bytes in %s rows", names[m->table].title,
	    base_digits(m->bytes).text, base_digits(m->rows).text);
	if (m->rows > m->n)
		fprintf(out, ", of which the node sends the largest %s",
		    base_digits(m->n).text);
	fputc('\n', out);
	output_heading(&t);
	for (size_t i = 0; i < shown; i++)
		output_row(&t, row_at(m, o, i));
}

static void
put_data(FILE *out, const struct options *o, const struct stress_memory *m, size_t shown)
{
	struct json j;

	json_open(&j, out, o);
	json_document(&j, names[m->table].schema, page_stress_memory_fields[m->table],
	    0);
	json_text(&j, "version", or_null(m->version));
	json_number(&j, "total_bytes", m->bytes);
	json_number(&j, "total_rows", m->rows);
	json_number(&j, "bad_lines", m->bad);
	json_rows(&j, names[m->table].key);
	for (size_t i = 0; i < shown; i++)
		json_row(&j, row_at(m, o, i), 0);
	json_rows_end(&j);
	json_end(&j);
}

static int
put_memory(const struct options *o, struct stress_memory *m)
{
	size_t shown = o->limit != 0 && o->limit < m->n ? o->limit : m->n;
	FILE *out = output_open(o->output);

	if (out == NULL)
		return PAGEK_FAILED;
	stress_sort_memory(m, order_of(o));
	if (options_as_data(o))
		put_data(out, o, m, shown);
	else
		put_text(out, o, m, shown);
	if (m->bad > 0)
		complain("%s lines could not be read", base_digits(m->bad).text);
	return output_close(out, o->output, m->bad > 0 ? PAGEK_FORMAT : PAGEK_OK);
}

static int
read_here(const struct options *o, struct stress_memory *m)
{
	char why[STRESS_WHY] = "";

	if (stress_read_memory(m, table_of(o), o->stress.root != NULL ?
	    o->stress.root : "", why) == 0)
		return PAGEK_OK;
	complain("%s", why);
	return PAGEK_FAILED;
}

int
stress_tables(const struct options *o, uv_loop_t *loop)
{
	bool here = o->target.kind == TARGET_LOCAL;
	struct batch_stress *node = NULL;
	struct stress_memory m;
	int status = here ? read_here(o, &m) : batch_stress_open(o, loop, &node);

	if (!here && status == PAGEK_OK)
		status = batch_stress_memory(node, table_of(o), &m);
	if (status == PAGEK_OK) {
		status = put_memory(o, &m);
		stress_free_memory(&m);
	}
	if (node != NULL)
		batch_stress_close(node);
	else
		pump_down(loop, NULL, NULL);
	return status;
}
