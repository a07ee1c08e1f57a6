#include <string.h>

#include "../../base/base.h"
#include "../cli/cli.h"
#include "../cli/options.h"
#include "../layout/fields.h"
#include "../panels/nodes_page.h"
#include "../blocks/choice.h"
#include "../blocks/free_blocks.h"
#include "../blocks/order.h"
#include "documents.h"

void
json_view_time(struct json *j, const struct page_view *v)
{
	bool paused = (v->look != v->live || v->look->replay.on) &&
	    v->look->node_wall_ms != 0;

	json_time(j, "time", paused ? v->look->node_wall_ms : base_wall_ms());
}

void
json_filter(struct json *j, const char *expression,
    const struct page_row_filter_sums *caught, uint64_t of)
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

	json_text(j, "filter", expression);
	for (size_t i = 0; i < BASE_NELEM(numbers); i++) {
		json_known(j, numbers[i].key, expression != NULL, numbers[i].n);
	}
}

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

	json_begin(j, "regions", '[', true);
	for (size_t i = 0; i < v->look->regions.n; i++) {
		row.region = &v->look->regions.at[i];
		page_free_sum(page, v, i, &row.free);
		json_begin(j, NULL, '{', false);
		json_put(j, &region_table, &row);
		json_end(j);
	}
	json_end(j);
}

static unsigned
subset_of(const struct page_opts *o)
{
	return PAGE_BLOCK_HELD | (o->free ? PAGE_BLOCK_FREE | PAGE_BLOCK_KIND :
	    0);
}

bool
json_blocks_fields(const struct options *o, char *why, size_t cap)
{
	/* CSV has no column for a list within a row. */
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
    const struct page_row_filter_sums *caught)
{
	const struct nodes_look *look = v->look;
	struct page_counts_row counts = { .look = look, .counts = v->counts };
	bool reverse;

	json_document(j, "pagek.blocks/2", &page_block_fields,
	    subset_of(opts));
	json_view_time(j, v);
	json_put(j, &page_look_target, look);
	json_text(j, "format", look->classic ? "classic" : "wide");
	json_text(j, "since", since_click ? "click" : look->arming.since_wall_ms != 0 ?
	    "arming" : "start");
	json_put(j, &page_look_modes, look);
	json_text(j, "order", page_sort_rows[page_sorting_first(opts,
	    &reverse)].word);
	json_bool(j, "reverse", reverse);
	json_put(j, &page_look_loss, look);
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
json_block_rows(FILE *out, const struct page *page, const struct page_view *v,
    struct page_row_filter *filter, uint64_t limit, void (*put)(void *arg,
    const struct blk *), void *arg)
{
	struct blk rows[256];
	uint64_t offs = 0, done = 0;
	size_t n, i;

	page_row_filter_begin(filter, v);
	while ((n = page_choice_text(page, v, offs, rows,
	    BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n; i++) {
			if (!page_row_filter_matches(filter, &rows[i]))
				continue;
			put(arg, &rows[i]);
			if (!output_going(out) || ++done == limit)
				return;
		}
		offs += n;
	}
}

void
json_blocks(struct json *j, const struct page *page,
    const struct page_view *v, struct profile *p,
    struct page_row_filter *filter, bool since_click, uint64_t limit)
{
	struct page_row_filter_sums caught = page_row_filter_sums(filter);
	struct rows rows = { .j = j, .v = v, .p = p };

	json_blocks_head(j, v, &page->opts, since_click,
	    page_row_filter_text(filter), &caught);
	if (page->opts.free)
		put_regions(j, page, v);
	json_rows(j, "blocks");
	json_block_rows(j->out, page, v, filter, limit, put_row, &rows);
	json_rows_end(j);
	json_end(j);
}

/* NULL: the table did not have it when it was asked. */
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
		json_time(j, "time", base_wall_ms());
		json_bool(j, "complete", complete);
	}
	json_rows(j, "nodes");
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
