/*
 * Documents: a target's blocks, call trees and groups, and the table of nodes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../page/block_fields.h"
#include "../page/choice.h"
#include "../page/free.h"
#include "../page/group_fields.h"
#include "../page/node_fields.h"
#include "../page/order.h"
#include "../page/target_fields.h"
#include "commands.h"
#include "json.h"
#include "options.h"

/* --- parts of heads ------------------------------------------------------- */

void
json_target(struct json *j, const struct nodes_look *look)
{
	json_put(j, &page_look_target, look);
}

void
json_modes(struct json *j, const struct nodes_look *look)
{
	json_put(j, &page_look_modes, look);
}

void
json_lost(struct json *j, const struct nodes_look *look)
{
	json_put(j, &page_look_loss, look);
}

/* A picture that is paused, or one of the past, has a time of its own. */
void
json_taken(struct json *j, const struct page_view *v)
{
	bool paused = v->look != v->live && v->look->node_wall_ms != 0;

	json_key(j, "time");
	json_time(j, paused ? v->look->node_wall_ms : base_wall_ms());
}

void
json_filter(struct json *j, const char *expression,
    const struct page_caught *caught, uint64_t of)
{
	const struct {
		const char *key;
		uint64_t n;
	} numbers[] = {
		{ "matched", caught->blocks },
		{ "matched_of", of },
		{ "matched_bytes", caught->bytes },
		{ "matched_est_blocks", (uint64_t)(caught->est_blocks + 0.5) },
		{ "matched_est_bytes", (uint64_t)(caught->est_bytes + 0.5) },
		{ "matched_unsure", caught->unsure },
	};

	json_key(j, "filter");
	json_text(j, expression);
	for (size_t i = 0; i < BASE_NELEM(numbers); i++) {
		json_key(j, numbers[i].key);
		json_known(j, expression != NULL, numbers[i].n);
	}
}

/* --- regions -------------------------------------------------------------- */

struct region_row {
	const struct wire_region *region;
	struct page_free free;
};

#define REGION(member) .via = FIELD_VIA(region_row, region), \
	    .at = offsetof(struct wire_region, member)
#define FREE(member) offsetof(struct region_row, free.member)

FIELD_GET(get_head, wire_region, n, r->head, true)
FIELD_GET(get_align, wire_region, n, r->align, true)

static const struct field regions[] = {
	{ .key = "name", .kind = FIELD_TEXT, .get = field_array,
	    REGION(name) },
	{ .key = "address", .kind = FIELD_HEX, .get = field_u64,
	    REGION(base) },
	{ .key = "size", .get = field_u64, REGION(size) },
	{ .key = "head", .get = get_head,
	    .via = FIELD_VIA(region_row, region) },
	{ .key = "align", .get = get_align,
	    .via = FIELD_VIA(region_row, region) },
	{ .key = "free_blocks", .get = field_u64, .at = FREE(blocks) },
	{ .key = "free_bytes", .get = field_u64, .at = FREE(bytes) },
	{ .key = "largest", .get = field_u64, .at = FREE(largest) },
};
static const struct field_table region_table = FIELD_TABLE(regions);

static void
put_regions(struct json *j, const struct page *page, const struct page_view *v)
{
	struct region_row row;

	json_key(j, "regions");
	json_begin(j, '[', true);
	for (size_t i = 0; i < v->look->regions; i++) {
		row.region = &v->look->region[i];
		page_free_sum(page, v, i, &row.free);
		json_begin(j, '{', false);
		json_put(j, &region_table, &row);
		json_end(j);
	}
	json_end(j);
}

/* --- blocks --------------------------------------------------------------- */

static unsigned
subset_of(const struct page_opts *o)
{
	return PAGE_BLOCK_HELD | (o->free ? PAGE_BLOCK_FREE | PAGE_BLOCK_KIND :
	    0);
}

bool
json_blocks_fields(const struct options *o, char *why, size_t cap)
{
	/* A list within a row has no column. */
	return o->fields == NULL || field_list_check(o->fields,
	    &page_block_fields, subset_of(&o->page),
	    o->format != FORMAT_CSV ? "stack" : NULL, why, cap);
}

void
json_block(struct json *j, const struct page_view *v, struct profile *p,
    const struct blk *b)
{
	struct page_stack stack;
	struct page_block_row row = { .v = v, .b = b, .stack = &stack };
	bool is_free = page_is_free(b);

	if (!is_free)
		page_stack_get(p, b->caller, &stack);
	json_row(j, &row, (is_free ? PAGE_BLOCK_FREE : PAGE_BLOCK_HELD) |
	    (j->subset & PAGE_BLOCK_KIND));
}

void
json_blocks_head(struct json *j, const struct page_view *v,
    const struct page_opts *opts, bool since_click, const char *filter,
    const struct page_caught *caught)
{
	const struct nodes_look *look = v->look;
	struct page_counts_row counts = { .look = look, .counts = v->counts };
	bool reverse;

	json_document(j, "pagek.blocks/1", &page_block_fields,
	    subset_of(opts));
	json_taken(j, v);
	json_target(j, look);
	json_key(j, "format");
	json_text(j, look->classic ? "classic" : "wide");
	json_key(j, "since");
	json_text(j, since_click ? "click" : look->armed_wall_ms != 0 ?
	    "arming" : "start");
	json_modes(j, look);
	json_key(j, "order");
	json_text(j, page_sort_rows[page_sorting_first(opts,
	    &reverse)].word);
	json_key(j, "reverse");
	json_bool(j, reverse);
	json_lost(j, look);
	json_put(j, &page_counts_fields, &counts);
	json_filter(j, filter, caught, v->counts->aRecActive);
}

struct rows {
	struct json *j;
	const struct page_view *v;
	struct profile *p;
};

static void
put_row(void *arg, const struct blk *b)
{
	const struct rows *r = arg;

	json_block(r->j, r->v, r->p, b);
}

void
json_blocks(struct json *j, const struct page *page,
    const struct page_view *v, struct profile *p, struct page_sieve *sieve,
    bool since_click, uint64_t limit)
{
	struct page_caught caught = page_sieve_caught(sieve);
	struct rows rows = { .j = j, .v = v, .p = p };

	json_blocks_head(j, v, &page->opts, since_click,
	    page_sieve_text(sieve), &caught);
	if (page->opts.free)
		put_regions(j, page, v);
	json_rows(j, "blocks");
	batch_rows(j->out, page, v, sieve, limit, put_row, &rows);
	json_rows_end(j);
	json_end(j);
}

/* --- trees and groups ----------------------------------------------------- */

struct json_tree {
	struct json *j;
	const struct options *o;
	const struct moment *m;
	uint32_t n;				/* nodes so far */
	uint32_t at[PROFILE_LINES_MAX + 1];	/* the last one of each depth */
};

static const char *const measures[] = {
	[PROFILE_BYTES] = "bytes",
	[PROFILE_BLOCKS] = "blocks",
	[PROFILE_AGE] = "age",
};

static const char *const kinds[] = {
	[PROFILE_SITE] = "site",
	[PROFILE_FUNCTION] = "function",
	[PROFILE_LINE] = "line",
	[PROFILE_FRAME] = "frame",
	[PROFILE_MODULE] = "module",
};

/* --- the parts ----------------------------------------------------------- */

static void
put_count(struct json *j, const char *key, uint64_t n)
{
	json_key(j, key);
	json_number(j, n);
}

static struct page_weighed
weighed(const struct moment *m, enum profile_measure by,
    const struct profile_sum *sum)
{
	struct profile_sum total = profile_total(m->profile);

	return (struct page_weighed){
		.sum = sum,
		.now_ms = m->look.now_ms,
		.part = moment_measure(m, by, sum),
		.whole = moment_measure(m, by, &total),
	};
}

static void
put_skip(struct json *j, const struct symbol_wrappers *w)
{
	const char *pattern;
	size_t k;

	json_key(j, "skip");
	json_begin(j, '[', false);
	for (k = 0; w != NULL &&
	    (pattern = symbol_wrappers_pattern(w, k)) != NULL; k++)
		json_text(j, pattern);
	json_end(j);
}

static int
put_ends(struct json *j, const struct moment *m, enum profile_measure by)
{
	struct profile_sum ends[RING_ENDS];
	struct page_weighed w;
	unsigned end;
	int r;

	r = profile_ends(m->profile, ends);
	if (r < 0)
		return r;
	json_key(j, "ends");
	json_begin(j, '[', true);
	for (end = 0; end < RING_ENDS; end++) {
		if (ends[end].blocks == 0)
			continue;
		json_begin(j, '{', false);
		json_key(j, "end");
		json_text(j, end != 0 ? stream_end_text(end) : NULL);
		w = weighed(m, by, &ends[end]);
		json_put(j, &page_weighed_fields, &w);
		json_end(j);
	}
	json_end(j);
	return 0;
}

/* What is said of all, but for the schema. */
static int
put_head(struct json *j, const struct options *o, const struct moment *m)
{
	struct profile_sum total = profile_total(m->profile);
	struct page_weighed w = weighed(m, o->measure, &total);

	json_key(j, "time");
	json_time(j, base_wall_ms());
	json_target(j, &m->look);
	json_key(j, "at");
	if (m->look.node_wall_ms != 0)
		json_time(j, m->look.node_wall_ms);
	else
		json_null(j);
	json_modes(j, &m->look);
	json_lost(j, &m->look);
	json_filter(j, m->filter, &m->caught, m->listed);
	json_key(j, "measure");
	json_text(j, measures[o->measure]);
	json_key(j, "least");
	json_share(j, o->least, 1);
	put_skip(j, o->page.wrappers);
	json_key(j, "total");
	json_begin(j, '{', false);
	json_put(j, &page_weighed_fields, &w);
	json_end(j);
	put_count(j, "stacks", profile_callers(m->profile));
	put_count(j, "stacks_without_names", m->lacking);
	return put_ends(j, m, o->measure);
}

/* --- trees --------------------------------------------------------------- */

struct node_row {
	const struct profile_node *node;
	const uint32_t *parent;		/* its number; NULL: none */
	struct page_weighed weighed;
};

#define NODE(member) .via = FIELD_VIA(node_row, node), \
	    .at = offsetof(struct profile_node, member)


FIELD_GET_TEXT(get_end, node_row,
    r->node->end != 0 ? stream_end_text(r->node->end) : NULL)

static const struct field nodes[] = {
	{ .key = "depth", .get = field_u32, NODE(depth) },
	{ .key = "parent", .get = field_u32,
	    .via = FIELD_VIA(node_row, parent) },
	{ .key = "function", .kind = FIELD_TEXT, .get = field_pointer,
	    NODE(function) },
	{ .key = "module", .kind = FIELD_TEXT, .get = field_pointer,
	    NODE(module) },
	{ .key = "file", .kind = FIELD_TEXT, .get = field_pointer,
	    NODE(file) },
	{ .key = "line", .get = field_u32_known, NODE(line) },
	{ .key = "skipped", .kind = FIELD_BOOL, .get = field_flag,
	    NODE(skipped) },
	{ .key = "omitted", .get = field_u32, NODE(omitted) },
	{ .key = "end", .kind = FIELD_TEXT, .get = get_end },
	{ .kind = FIELD_INCLUDE, .get = field_member,
	    .at = offsetof(struct node_row, weighed),
	    .sub = &page_weighed_fields },
	{ .key = "self", .kind = FIELD_OBJECT, .get = field_member,
	    NODE(self), .sub = &page_sum_fields },
	FIELD_LOSS_COLUMNS,
};
static const struct field_table node_table = FIELD_TABLE(nodes);

static int
put_node(void *arg, const struct profile_node *node)
{
	struct json_tree *t = arg;
	struct node_row row = {
		.node = node,
		.parent = node->depth > 0 ? &t->at[node->depth - 1] : NULL,
		.weighed = weighed(t->m, t->o->measure, &node->total),
	};

	json_row(t->j, &row, 0);
	if (node->depth <= PROFILE_LINES_MAX)
		t->at[node->depth] = t->n;
	t->n++;
	return ferror(t->j->out) ? -EPIPE : 0;
}

int
json_tree(struct json *j, const struct options *o, const struct moment *m)
{
	struct json_tree t = { .j = j, .o = o, .m = m };
	struct profile_tree_opts opts = {
		.measure = o->measure,
		.reversed = page_list_reverse(&o->page),
		.least = o->least,
		.depth = o->depth,
		.now_ms = m->look.now_ms,
		.focus = o->focus,
	};
	int r;

	json_document(j, "pagek.tree/1", &node_table, 0);
	r = put_head(j, o, m);
	if (r < 0)
		return r;
	json_key(j, "from");
	json_text(j, page_list_reverse(&o->page) ? "origin" : "outermost");
	json_key(j, "depth");
	if (o->depth != 0)
		json_number(j, o->depth);
	else
		json_null(j);
	json_key(j, "focus");
	json_text(j, o->focus);
	json_rows(j, "nodes");
	r = profile_tree(m->profile, &opts, put_node, &t);
	json_rows_end(j);
	json_end(j);
	return r == -EPIPE ? 0 : r;
}

/* --- groups -------------------------------------------------------------- */

static void
put_group(struct json *j, const struct options *o, const struct moment *m,
    const struct profile_group *g)
{
	const struct page_group_kind *kind = page_group_kind(o->page.group);
	struct page_group_words words = { .name = "" };
	struct page_sum row = {
		.g = g,
		.function = o->by == PROFILE_MODULE ? "" : g->name,
		.weighed = weighed(m, o->measure, &g->total),
	};

	if (kind != NULL && kind->say != NULL)
		moment_group_say(m, &o->page, kind, g, &words);
	row.name = words.name[0] != '\0' ? words.name : g->name;
	json_row(j, &row, PAGE_GROUP_COUNTED);
}

/* Of n groups, the heaviest first, those that have their least share. */
static size_t
large(const struct options *o, const struct moment *m,
    const struct profile_group *rows, size_t n)
{
	size_t i = 0;

	while (i < n && moment_share(m, o->measure, &rows[i].total) >= o->least)
		i++;
	return i;
}

int
json_groups(struct json *j, const struct options *o, const struct moment *m)
{
	const struct page_group_kind *kind = page_group_kind(o->page.group);
	struct profile_group *rows;
	size_t n, all, i;
	int r;

	r = moment_groups(m, o->by, o->measure, o->limit, &rows, &n, &all);
	if (r < 0)
		return r;
	n = large(o, m, rows, n);
	json_document(j, "pagek.groups/1", &page_group_fields,
	    PAGE_GROUP_COUNTED);
	r = put_head(j, o, m);
	if (r == 0) {
		json_key(j, "by");
		json_text(j, kind != NULL ? kind->word : kinds[o->by]);
		put_count(j, "omitted", all - n);
		json_rows(j, "groups");
		for (i = 0; i < n && !ferror(j->out); i++)
			put_group(j, o, m, &rows[i]);
		json_rows_end(j);
		json_end(j);
	}
	free(rows);
	return r;
}

/* --- nodes ---------------------------------------------------------------- */

/* NULL: the table did not have it yet, or no longer, when it was asked. */
static const struct nodes_surveyed *
find_answer(struct nodes_survey *survey, const char *word)
{
	const struct nodes_surveyed *const *row;
	size_t n = 0;

	if (survey == NULL)
		return NULL;
	row = nodes_survey_look(survey, &n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(row[i]->word, word) == 0)
			return row[i];
	return NULL;
}

void
json_nodes(struct json *j, const struct nodes_table *t,
    struct nodes_survey *survey, bool complete)
{
	const struct nodes_surveyed *own = find_answer(survey, "local");
	unsigned subset = survey != NULL ? PAGE_NODE_ASKED : PAGE_NODE_LISTED;
	struct page_node_row row;
	char word[8];

	json_document(j, "pagek.nodes/1", &page_node_fields, subset);
	if (survey != NULL) {
		json_key(j, "time");
		json_time(j, base_wall_ms());
		json_key(j, "complete");
		json_bool(j, complete);
	}
	json_rows(j, "nodes");
	/* This user's own node, which has no entry. */
	if (own != NULL) {
		page_node_row(&row, t, NULL, own);
		json_row(j, &row, subset);
	}
	for (size_t i = 0; i < t->n; i++) {
		snprintf(word, sizeof word, "%04X", t->entry[i].number);
		page_node_row(&row, t, &t->entry[i], find_answer(survey,
		    word));
		json_row(j, &row, subset);
	}
	json_rows_end(j);
	json_end(j);
}
