#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../../nodes/nodes.h"
#include "../../../refcnt/import.h"
#include "../../batch/batch.h"
#include "../../cli/pump.h"
#include "../../documents/documents.h"
#include "refcnt.h"

struct memory_row {
	const struct wire_memory_node *node;
	unsigned counters, bits;
};

FIELD_GET_TEXT(get_name, memory_row, r->node->name)
FIELD_GET(get_node, memory_row, n, r->node->node, true)
FIELD_GET(get_bytes, memory_row, n, r->node->bytes, true)
FIELD_GET(get_pages, memory_row, n, r->node->pages, true)
FIELD_GET(get_sets, memory_row, n, r->node->sets, true)
FIELD_GET(get_counters, memory_row, n, r->node->counters, true)
FIELD_GET(get_base, memory_row, n, r->node->base_pages, true)
FIELD_GET(get_slots, memory_row, n, r->node->slots, true)
FIELD_GET(get_cpus, memory_row, n, r->node->cpus, true)
FIELD_GET(get_set, memory_row, n, r->counters, true)
FIELD_GET(get_bits, memory_row, n, r->bits, true)

static void
bytes_cell(const void *row, char out[FIELD_CELL])
{
	base_human_bytes(out, 24, ((const struct memory_row *)row)->node->bytes);
}

#define NUMBER(title_, width_) .column = { .plain = true, .title = title_, \
	    .gap = 1, .width = width_, .right = true }

static const struct field fields[] = {
	{ .key = "node", .kind = FIELD_NUMBER, .get = get_node },
	{ .key = "name", .kind = FIELD_TEXT, .get = get_name,
	    .column = { .plain = true, .title = "NODE", .width = 8 } },
	{ .key = "cpus", .kind = FIELD_NUMBER, .get = get_cpus,
	    NUMBER("CPUS", 5) },
	{ .key = "slots", .kind = FIELD_NUMBER, .get = get_slots,
	    NUMBER("SLOTS", 5) },
	{ .key = "bytes", .kind = FIELD_NUMBER, .get = get_bytes,
	    .column = { .title = "MEMORY", .gap = 1, .width = 8, .right = true,
	    .cell = bytes_cell } },
	{ .key = "hardware_pages", .kind = FIELD_NUMBER, .get = get_pages,
	    NUMBER("HARDWARE PAGES", 14) },
	{ .key = "counter_sets", .kind = FIELD_NUMBER, .get = get_sets,
	    NUMBER("COUNTER SETS", 12) },
	{ .key = "counters", .kind = FIELD_NUMBER, .get = get_counters,
	    NUMBER("COUNTERS", 12) },
	{ .key = "base_pages", .kind = FIELD_NUMBER, .get = get_base,
	    NUMBER("BASE PAGES", 12) },
	{ .key = "counters_of_a_set", .kind = FIELD_NUMBER, .get = get_set },
	{ .key = "bits", .kind = FIELD_NUMBER, .get = get_bits },
};
static const struct field_table memory_fields = FIELD_TABLE(fields);

static int
print_nodes(const struct options *o, const struct wire_memory_node *at, size_t n,
    unsigned counters, unsigned bits)
{
	struct memory_row row = { .counters = counters, .bits = bits };
	FILE *out = output_open(o->output);
	struct output_table table = { .out = out, .fields = &memory_fields,
		.ascii = o->page.ascii };
	struct json j;

	if (out == NULL)
		return PAGEK_FAILED;
	if (options_as_data(o)) {
		json_open(&j, out, o);
		json_document(&j, "pagek.refcnt-memory/1", &memory_fields, 0);
		json_rows(&j, "nodes");
	}
	for (size_t i = 0; !options_as_data(o) && i < n; i++) {
		row.node = &at[i];
		output_measure(&table, &row);
	}
	if (!options_as_data(o)) {
		fprintf(out, "%zu node%s: %u counter%s of %u bits for each page of "
		    "%u bytes\n", n, n == 1 ? "" : "s", counters,
		    counters == 1 ? "" : "s", bits, REFCNT_PAGE);
		output_fit(&table, batch_terminal_columns(out));
		output_heading(&table);
	}
	for (size_t i = 0; i < n && output_going(out); i++) {
		row.node = &at[i];
		if (options_as_data(o))
			json_row(&j, &row, 0);
		else
			output_row(&table, &row);
	}
	if (options_as_data(o)) {
		json_rows_end(&j);
		json_end(&j);
	}
	return output_close(out, o->output, PAGEK_OK);
}

static void
read_node(const struct refcnt_topology *t, unsigned i,
    struct wire_memory_node *out)
{
	struct refcnt_config c;

	refcnt_config_of(t, i, &c);
	*out = (struct wire_memory_node){ .node = i, .bytes = c.bytes,
		.pages = c.hw_pages, .sets = c.sets, .counters = c.counters,
		.base_pages = c.base_pages, .slots = (uint32_t)c.slots,
		.cpus = c.cpus };
	base_safe_text(out->name, sizeof out->name, c.name, strlen(c.name),
	    false);
}

/* PAGEK_OK, or the exit status after a complaint. */
static int
read_topology(const struct options *o, struct refcnt_topology **out)
{
	const char *root = o->stress.root != NULL ? o->stress.root : "/";
	char why[REFCNT_WHY] = "";
	int err = refcnt_topology_read(out, root, o->refcnt.nodes, why);

	if (err == 0)
		return PAGEK_OK;
	complain("%s", why[0] != '\0' ? why : strerror(-err));
	return err == -EINVAL || err == -E2BIG ? PAGEK_USAGE :
	    err == -EBADMSG ? PAGEK_FORMAT : PAGEK_FAILED;
}

static int
print_own(const struct options *o)
{
	struct refcnt_topology *t = NULL;
	struct wire_memory_node *at = NULL;
	struct refcnt_sums sums = { 0 };
	struct refcnt *counts = NULL;
	int status = read_topology(o, &t);

	if (status != PAGEK_OK)
		return status;
	at = calloc(t->nodes, sizeof *at);
	if (at == NULL || refcnt_new(&counts, t->nodes, REFCNT_STANDARD) < 0) {
		complain("no memory for the table");
		status = PAGEK_FAILED;
		goto out;
	}
	refcnt_sums(counts, &sums);
	for (unsigned i = 0; i < t->nodes; i++)
		read_node(t, i, &at[i]);
	status = print_nodes(o, at, t->nodes, sums.counters, sums.hw_bits);
out:
	refcnt_free(counts);
	refcnt_topology_free(t);
	free(at);
	return status;
}

static bool
has_answered(void *session)
{
	return !nodes_session_memory(session)->pending;
}

int
memory_print(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	const struct nodes_memory *m;
	int err;

	if (s == NULL)
		return print_own(o);
	err = nodes_session_ask_memory(s, o->refcnt.nodes != NULL ?
	    o->refcnt.nodes : "");
	if (err == 0)
		pump(loop, s, o->timeout_ms, has_answered, s);
	m = nodes_session_memory(s);
	if (err == 0 && m->error == 0 && m->no != 0)
		return print_nodes(o, m->at, m->n, m->counters, m->bits);
	if (m->pending || m->error == -EAGAIN) {
		complain("%s: the node did not answer within %g s", o->target.word,
		    o->timeout_ms / 1000.0);
		return PAGEK_TIMEOUT;
	}
	complain("%s: %s", o->target.word, m->why[0] != '\0' ? m->why :
	    strerror(-m->error));
	return m->error == -EINVAL ? PAGEK_USAGE : m->error == -ENOTSUP ?
	    PAGEK_FORMAT : PAGEK_FAILED;
}

static unsigned
node_of(void *topology, unsigned cpu)
{
	return (unsigned)refcnt_node_of_cpu(topology, cpu);
}

static int
print_counts(const struct options *o, const struct refcnt *counts)
{
	struct page_rows rows = { .plane = o->refcnt.plane,
		.hottest = option_given(o, OPTION_TOP), .of = o->refcnt.import };
	struct refcnt_page page[64];
	uint64_t from = 0;
	int status, err = 0;
	size_t n;

	while (err == 0 && (n = refcnt_read(counts, from, UINT64_MAX,
	    o->refcnt.plane, page, BASE_NELEM(page))) > 0) {
		err = refcnt_copy_add(&rows.copy, page, n);
		from = page[n - 1].vaddr + REFCNT_PAGE;
		if (from == 0)
			break;
	}
	status = err < 0 ? PAGEK_FAILED : page_rows_print(&rows, o);
	if (err < 0)
		complain("no memory for the pages");
	refcnt_copy_fini(&rows.copy);
	return status;
}

static int
report_lines(const struct options *o, const struct refcnt_imported *sums)
{
	if (sums->bad > 0)
		complain("%s: %s lines are none of lackey's and none of the plugin's, "
		    "and are skipped; the first is line %" PRIu64,
		    base_shown(o->refcnt.import), base_digits(sums->bad).text,
		    sums->first_bad);
	if (sums->outside > 0)
		notice("%s references of processors that are in no node are not "
		    "counted", base_digits(sums->outside).text);
	return sums->bad > 0 ? PAGEK_FORMAT : PAGEK_OK;
}

int
memory_import(const struct options *o)
{
	struct refcnt_import how = { .all = true };
	struct refcnt_topology *t = NULL;
	struct refcnt_imported sums = { 0 };
	struct refcnt *counts = NULL;
	int status = PAGEK_OK, err, bad;

	if (o->refcnt.nodes != NULL)
		status = read_topology(o, &t);
	if (status != PAGEK_OK)
		return status;
	if (t != NULL) {
		how.node_of = node_of;
		how.arg = t;
	}
	err = refcnt_new(&counts, t != NULL ? t->nodes : 1, REFCNT_STANDARD);
	if (err == 0)
		err = refcnt_import(counts, o->refcnt.import, &how, &sums);
	if (err < 0) {
		complain("cannot read '%s': %s", base_shown(o->refcnt.import),
		    err == -EBADMSG ? "it is no trace of lackey or of our QEMU "
		    "plugin: 64 MiB in a row have no line of one" :
		    base_file_words(err));
		status = PAGEK_FAILED;
	} else {
		bad = report_lines(o, &sums);
		status = print_counts(o, counts);
		if (status == PAGEK_OK)
			status = bad;
	}
	refcnt_free(counts);
	refcnt_topology_free(t);
	return status;
}
