#include <stdio.h>
#include <string.h>

#include "../layout/layout.h"
#include "nodes_page.h"

#define TARGET(member) offsetof(struct nodes_surveyed_target, member)

FIELD_GET(get_pid, nodes_surveyed_target, i, r->pid, r->pid > 0)
FIELD_GET_TEXT(get_target_state, nodes_surveyed_target,
    page_target_state(r->state))
FIELD_GET(get_estimated, nodes_surveyed_target, n, r->sample != 0, true)

/* Nobody has counted the blocks of a dormant target. */
static bool
get_counted(const void *row, size_t at, struct field_value *v)
{
	const struct nodes_surveyed_target *t = row;

	return field_u64(row, at, v) && t->state != WIRE_S_DORMANT;
}

static bool
get_target_rate(const void *row, size_t at, struct field_value *v)
{
	const struct nodes_surveyed_target *t = row;

	return field_u64(row, at, v) && t->rated;
}

static const struct field targets[] = {
	{ .key = "pid", .kind = FIELD_SIGNED, .get = get_pid },
	{ .key = "name", .kind = FIELD_TEXT, .get = field_array,
	    .at = TARGET(comm) },
	{ .key = "stream", .kind = FIELD_TEXT, .get = field_array,
	    .at = TARGET(name) },
	{ .key = "state", .kind = FIELD_TEXT, .get = get_target_state },
	{ .key = "estimated", .kind = FIELD_BOOL, .get = get_estimated },
	{ .key = "sample_period", .get = field_u64_known,
	    .at = TARGET(sample) },
	{ .key = "est_blocks", .get = get_counted, .at = TARGET(blocks) },
	{ .key = "est_bytes", .get = get_counted, .at = TARGET(bytes) },
	{ .key = "records_per_second", .get = get_target_rate,
	    .at = TARGET(rate) },
	{ .key = "lost", .get = field_u64, .at = TARGET(lost) },
	{ .key = "full", .get = field_u64, .at = TARGET(full) },
};
static const struct field_table target_table = FIELD_TABLE(targets);

#define OF_ENTRY .via = FIELD_VIA(page_node_row, entry)
#define ENTRY(member) OF_ENTRY, .at = offsetof(struct nodes_entry, member)

FIELD_GET(get_number, page_node_row, n,
    r->entry != NULL ? r->entry->number : r->asked->number, true)
FIELD_GET_TEXT(get_name, page_node_row,
    r->entry != NULL ? r->entry->name : r->asked->name)

FIELD_GET(get_classic, nodes_entry, n, r->classic,
    r->port == NODES_PORT_CLASSIC)
FIELD_GET(get_friendly, nodes_entry, n, nodes_entry_friendly(r),
    r->port != NODES_PORT_NONE)

static bool
get_acnet(const void *row, size_t at, struct field_value *v)
{
	const struct nodes_entry *e = row;

	(void)at;
	snprintf(v->room, sizeof v->room, "%u.%u", e->trunk, e->node);
	v->text = v->room;
	return e->port == NODES_PORT_ACNET;
}

#define OF_ANSWER .via = FIELD_VIA(page_node_row, asked)
#define ANSWER(member) OF_ANSWER, .at = offsetof(struct nodes_surveyed, member)

static bool
is_counted(const struct nodes_surveyed *r)
{
	return r->counted && page_how_answers(r->how);
}

FIELD_GET_TEXT(get_state, nodes_surveyed, page_how_name(r->how))
FIELD_GET(get_live, nodes_surveyed, n, r->live, is_counted(r))
FIELD_GET(get_rate, nodes_surveyed, n, r->rate, is_counted(r) && r->rated)

/* A negative time is not known. */
static bool
get_time(const void *row, size_t at, struct field_value *v)
{
	return field_i64(row, at, v) && v->i >= 0;
}

static bool
get_sum(const void *row, size_t at, struct field_value *v)
{
	return is_counted(row) && field_u64(row, at, v);
}

static bool
get_targets(const void *row, size_t at, struct field_value *v)
{
	const struct nodes_surveyed *r = row;

	(void)at;
	v->list.row = r->target;
	v->list.rows = r->ntarget;
	v->list.size = sizeof r->target[0];
	return is_counted(r);
}

static void
number_cell(const void *row, char out[FIELD_CELL])
{
	struct field_value v;

	get_number(row, 0, &v);
	snprintf(out, FIELD_CELL, "-");
	if (v.n != 0)
		snprintf(out, FIELD_CELL, "%04X", (unsigned)v.n);
}

static void
name_cell(const void *row, char out[FIELD_CELL])
{
	struct field_value v;

	snprintf(out, FIELD_CELL, "%s", get_name(row, 0, &v) ? v.text : "-");
}

FIELD_PRINT(file_cell, page_node_row, "%s:%u", r->file, r->entry->line)

static void
state_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_node_row *r = row;

	page_how_text(r->asked, out);
}

static void
live_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_node_row *r = row;
	struct field_value v;

	snprintf(out, FIELD_CELL, "-");
	if (get_live(r->asked, 0, &v))
		base_group_digits(out, FIELD_CELL, v.n);
}

static void
blocks_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_node_row *r = row;
	char n[32];

	snprintf(out, FIELD_CELL, "-");
	if (!is_counted(r->asked))
		return;
	base_group_digits(n, sizeof n, r->asked->blocks);
	snprintf(out, FIELD_CELL, "%s%s", r->asked->sampled ? "~" : "", n);
}

static void
bytes_cell(const void *row, char out[FIELD_CELL])
{
	const struct page_node_row *r = row;
	char n[32];

	snprintf(out, FIELD_CELL, "-");
	if (!is_counted(r->asked))
		return;
	base_human_bytes(n, sizeof n, r->asked->bytes);
	snprintf(out, FIELD_CELL, "%s%s", r->asked->sampled ? "~" : "", n);
}

static const struct field nodes[] = {
	{ .key = "number", .kind = FIELD_NODE, .get = get_number,
	    .column = { .title = "NUMBER", .width = 6, .cell = number_cell } },
	{ .key = "name", .kind = FIELD_TEXT, .get = get_name,
	    .column = { .title = "NAME", .gap = 1, .width = 16,
	    .cell = name_cell } },
	{ .key = "where", .kind = FIELD_TEXT, .get = field_array,
	    .at = offsetof(struct page_node_row, where),
	    .column = { .title = "WHERE", .gap = 1, .width = 24,
	    .plain = true } },
	{ .key = "remote", .kind = FIELD_TEXT, .get = field_array,
	    ENTRY(remote) },
	{ .key = "acnet", .kind = FIELD_TEXT, .get = get_acnet,
	    OF_ENTRY },
	{ .key = "classic", .get = get_classic, OF_ENTRY },
	{ .key = "friendly", .kind = FIELD_NODE, .get = get_friendly,
	    OF_ENTRY,
	    .column = { .title = "FRIENDLY", .subset = PAGE_NODE_LISTED,
	    .gap = 1, .width = 8, .plain = true } },
	{ .key = "file", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = offsetof(struct page_node_row, file),
	    .column = { .title = "FILE", .subset = PAGE_NODE_LISTED,
	    .gap = 1, .cell = file_cell } },
	{ .key = "line", .get = field_u32, ENTRY(line) },
	{ .key = "state", .kind = FIELD_TEXT, .get = get_state,
	    OF_ANSWER, .subset = PAGE_NODE_ASKED,
	    .column = { .title = "STATE", .gap = 1, .width = 17,
	    .cell = state_cell } },
	{ .key = "state_ms", .kind = FIELD_SIGNED, .get = field_i64,
	    ANSWER(how_ms), .subset = PAGE_NODE_ASKED },
	{ .key = "seen_ms", .kind = FIELD_SIGNED, .get = get_time,
	    ANSWER(seen_ms), .subset = PAGE_NODE_ASKED },
	{ .key = "round_trip_us", .kind = FIELD_SIGNED, .get = get_time,
	    ANSWER(trip_us), .subset = PAGE_NODE_ASKED },
	{ .key = "reason", .kind = FIELD_TEXT, .get = field_pointer,
	    ANSWER(reason), .subset = PAGE_NODE_ASKED,
	    .column = { .gap = 2, .brief = true, .place = 1,
	    .plain = true } },
	{ .key = "targets_live", .get = get_live, OF_ANSWER,
	    .subset = PAGE_NODE_ASKED,
	    .column = { .title = "TARGETS", .gap = 1, .width = 7,
	    .right = true, .cell = live_cell } },
	{ .key = "est_blocks", .get = get_sum, ANSWER(blocks),
	    .subset = PAGE_NODE_ASKED,
	    .column = { .title = "BLOCKS", .gap = 1, .width = 14,
	    .right = true, .cell = blocks_cell } },
	{ .key = "est_bytes", .get = get_sum, ANSWER(bytes),
	    .subset = PAGE_NODE_ASKED,
	    .column = { .title = "BYTES", .gap = 1, .width = 12,
	    .right = true, .cell = bytes_cell } },
	{ .key = "records_per_second", .get = get_rate, OF_ANSWER,
	    .subset = PAGE_NODE_ASKED,
	    .column = { .title = "REC/S", .gap = 1, .width = 10,
	    .right = true, .plain = true } },
	{ .key = "lost", .get = get_sum, ANSWER(lost),
	    .subset = PAGE_NODE_ASKED },
	{ .key = "full", .get = get_sum, ANSWER(full),
	    .subset = PAGE_NODE_ASKED },
	{ .key = "targets", .kind = FIELD_LIST, .get = get_targets,
	    OF_ANSWER, .sub = &target_table, .lines = true,
	    .subset = PAGE_NODE_ASKED },
	{ .key = "complete", .kind = FIELD_HEAD, .head = "complete",
	    .subset = PAGE_NODE_ASKED },
	{ .key = "taken", .kind = FIELD_HEAD, .head = "time",
	    .subset = PAGE_NODE_ASKED },
};
const struct field_table page_node_fields = FIELD_TABLE(nodes);

void
page_node_row(struct page_node_row *row, const struct nodes_table *t,
    const struct nodes_entry *e, const struct nodes_surveyed *asked)
{
	row->entry = e;
	row->asked = asked;
	row->file = e != NULL ? t->path[e->file] : NULL;
	if (e != NULL)
		nodes_entry_where(e, row->where, sizeof row->where);
	else
		snprintf(row->where, sizeof row->where, "%s", asked->where);
}
