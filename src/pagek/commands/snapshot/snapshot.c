#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../../cli/pump.h"
#include "../../documents/documents.h"
#include "../../layout/fields.h"
#include "../../layout/layout.h"
#include "../../rows/rows.h"
#include "snapshot.h"

static int
add_block(struct snapshot *m, const struct page_view *v, const struct blk *b,
    const struct page_group_kind *kind)
{
	int r = profile_pending_add(m->profile, v->look->list, b, 1);
	uint64_t tag[2] = { 0, 0 };

	/* There is room for all that are listed. */
	if (m->block != NULL && m->blocks < m->listed)
		m->block[m->blocks++] = *b;
	if (r < 0 || m->cells == NULL)
		return r;
	tag[0] = kind->tag(v, v->look->now_ms, b);
	nodes_session_thread(m->session, b->thread);
	return profile_cells_add(m->cells, v->look->list, b, tag);
}

static int
take_blocks(struct snapshot *m, const struct page_opts *opts,
    struct page_row_filter *filter, const struct page_group_kind *kind)
{
	struct page_view v;
	struct blk rows[256];
	uint64_t offs = 0;
	size_t n, i;
	int r = 0;

	page_view_live(&v, m->session);
	v.wrappers = opts->wrappers;
	v.refcnt = opts->refcnt;
	page_row_filter_begin(filter, &v);
	profile_pending_begin(m->profile);
	if (m->cells != NULL)
		profile_cells_begin(m->cells, true);
	while (r == 0 && (n = blklist_window(v.look->list, BLKLIST_BY_AGE,
	    false, offs, rows, BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n && r == 0; i++)
			if (page_row_filter_matches(filter, &rows[i]))
				r = add_block(m, &v, &rows[i], kind);
		offs += n;
	}
	profile_pending_end(m->profile);
	if (m->cells != NULL)
		profile_cells_end(m->cells);
	m->filter = page_row_filter_text(filter);
	m->caught = page_row_filter_sums(filter);
	return r;
}

static int
take_all(struct snapshot *m, const struct page_opts *opts,
    struct page_row_filter *filter, const struct page_group_kind *kind)
{
	bool tags = kind != NULL && kind->tag != NULL;
	int r = profile_new(&m->profile);

	if (r == 0 && tags)
		r = profile_cells_new(&m->cells, m->profile);
	if (r < 0)
		return r;
	profile_set_wrappers(m->profile, opts->wrappers);
	return filter != NULL || tags || m->block != NULL ?
	    take_blocks(m, opts, filter, kind) :
	    profile_take(m->profile, m->look.list);
}

static int
take_counts(struct snapshot *m, const struct symbol_wrappers *wrappers)
{
	const struct nodes_usage *u = nodes_session_usage(m->session);
	/* The bytes were highest when counting began: the peak has no time of its own. */
	int64_t at = m->counts == TREE_PEAK && u->totals.peak_ms != 0 ?
	    u->totals.peak_ms : u->since_ms;
	int r = profile_new(&m->profile);

	if (r < 0)
		return r;
	profile_set_wrappers(m->profile, wrappers);
	m->from_start = u->from_start;
	if (at != 0)
		m->counted_ms = m->look.node_wall_ms - (m->look.now_ms - at);
	for (size_t i = 0; i < u->n && r == 0; i++) {
		const struct usage_row *row = &u->row[i];
		uint64_t blocks = m->counts == TREE_PEAK ? row->then : row->allocs;

		if (blocks > 0)
			r = profile_add_sum(m->profile, row->caller, blocks,
			    m->counts == TREE_PEAK ? row->then_bytes :
			    row->alloc_bytes, u->now_ms);
	}
	return r;
}

int
snapshot_init(struct snapshot *m, struct nodes_session *s,
    const struct page_opts *opts, struct page_row_filter *filter,
    const struct page_group_kind *kind, bool blocks, enum tree_counts counts)
{
	const struct nodes_look *look = nodes_session_look(s);
	int r;

	*m = (struct snapshot){ .session = s, .look = *look,
		.listed = blklist_counts(look->list)->aRecActive,
		.counts = counts };
	if (blocks)
		m->block = calloc((size_t)m->listed + 1, sizeof *m->block);
	r = blocks && m->block == NULL ? -ENOMEM : counts != TREE_HELD ?
	    take_counts(m, opts->wrappers) : take_all(m, opts, filter, kind);
	if (r < 0) {
		snapshot_fini(m);
		return r;
	}
	snprintf(m->node, sizeof m->node, "%s", look->node.name != NULL ?
	    look->node.name : "");
	snprintf(m->target, sizeof m->target, "%s", look->target.name != NULL ?
	    look->target.name : "");
	snprintf(m->reason, sizeof m->reason, "%s", look->reason);
	m->look.node.name = m->node;
	m->look.target.name = m->target;
	m->look.reason = m->reason;
	m->look.list = NULL;
	m->look.types = NULL;
	m->look.keeper = NULL;
	m->look.command.trouble = m->look.command.output = "";
	m->look.node.socket = m->look.node.missed = "";
	return 0;
}

void
snapshot_fini(struct snapshot *m)
{
	profile_cells_free(m->cells);
	m->cells = NULL;
	profile_free(m->profile);
	m->profile = NULL;
	free(m->block);
	m->block = NULL;
}

void
snapshot_group_say(const struct snapshot *m, const struct page_opts *opts,
    const struct page_group_kind *kind, const struct profile_group *g,
    struct page_group_words *out)
{
	struct page_view v;
	struct page page;

	page_init(&page, opts);
	page_view_live(&v, m->session);
	v.wrappers = opts->wrappers;
	page_group_say(&page, &v, kind, g, out);
	page_fini(&page);
}

int64_t
snapshot_age(const struct snapshot *m, const struct profile_sum *sum)
{
	return sum->blocks > 0 && m->look.now_ms > sum->oldest_ms ?
	    m->look.now_ms - sum->oldest_ms : 0;
}

static double
measure_of(const struct snapshot *m, enum profile_measure by,
    const struct profile_sum *sum)
{
	switch (by) {
	case PROFILE_BLOCKS:
		return (double)sum->blocks;
	case PROFILE_AGE:
		return (double)snapshot_age(m, sum);
	case PROFILE_BYTES:
	case PROFILE_SELF:
	case PROFILE_NAME:
	case PROFILE_OF_MODULE:
	case PROFILE_OF_FILE:
	case PROFILE_OF_LINE:
	case PROFILE_TYPE:
	case PROFILE_THREAD:
		break;
	}
	return (double)sum->bytes;
}

double
snapshot_share(const struct snapshot *m, enum profile_measure by,
    const struct profile_sum *sum)
{
	struct profile_sum total = profile_total(m->profile);
	double all = measure_of(m, by, &total);

	return all > 0 ? measure_of(m, by, sum) / all : 0;
}

static int
rank_groups(const struct snapshot *m, struct profile_ranking *ranking,
    enum profile_by by, enum profile_measure measure, uint64_t limit,
    struct profile_group **out, size_t *n, size_t *all)
{
	struct profile_group *rows;
	size_t left, want;
	int r;

	r = profile_ranking_begin(ranking, m->profile, by, measure,
	    m->look.now_ms);
	if (r == 0 && m->cells != NULL)
		profile_ranking_cells(ranking, m->cells);
	if (r == 0)
		r = profile_ranking_count(ranking, SIZE_MAX, &left);
	if (r < 0)
		return r;
	*all = want = profile_ranking_size(ranking);
	if (limit > 0 && limit < want)
		want = (size_t)limit;
	rows = calloc(want + 1, sizeof *rows);
	if (rows == NULL)
		return -ENOMEM;
	r = profile_ranking_rows(ranking, 0, rows, want, n);
	if (r < 0)
		free(rows);
	else
		*out = rows;
	return r;
}

int
snapshot_groups(const struct snapshot *m, enum profile_by by,
    enum profile_measure measure, uint64_t limit, struct profile_group **out,
    size_t *n, size_t *all)
{
	struct profile_ranking *ranking;
	int r = profile_ranking_new(&ranking);

	if (r < 0)
		return r;
	r = rank_groups(m, ranking, by, measure, limit, out, n, all);
	profile_ranking_free(ranking);
	return r;
}

struct user {
	int (*put)(FILE *, const struct options *, const struct snapshot *);
	int (*use)(const struct options *, const struct snapshot *);
	bool blocks;
};

static int
write_report(const struct options *o, const struct snapshot *m,
    const struct user *u)
{
	FILE *out = output_open(o->output);
	int r;

	if (out == NULL)
		return PAGEK_FAILED;
	r = u->put(out, o, m);
	if (r < 0) {
		complain("cannot report: %s", strerror(-r));
		return output_close(out, o->output, PAGEK_FAILED);
	}
	return output_close(out, o->output, PAGEK_OK);
}

static int
use_snapshot(const struct options *o, const struct snapshot *m,
    const struct user *u)
{
	int r = u->use != NULL ? u->use(o, m) : write_report(o, m, u);

	batch_report_loss(o, &m->look);
	return r != PAGEK_OK ? r : batch_status(o, &m->look);
}

static int
await_filter_names(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s, struct page_row_filter *filter, int64_t left_ms)
{
	struct profile *p = NULL;
	size_t lacking;
	int r;

	if (!page_row_filter_wants_names(filter))
		return 0;
	r = batch_profile(loop, s, &o->page, filter, 0, (int)left_ms, &p,
	    &lacking);
	profile_free(p);
	return r;
}

/* Starts over if the node was restarted and has another list. */
static int
take_snapshot(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    struct page_row_filter *filter, bool blocks, struct snapshot *m)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct mono begun = mono_now();
	int64_t left = o->timeout_ms;
	int r;

	for (;;) {
		r = await_filter_names(o, loop, s, filter, left);
		if (r == 0)
			r = snapshot_init(m, s, &o->page, filter,
			    page_group_kind(o->page.group), blocks, o->tree.counts);
		if (r < 0)
			return r;
		left = o->timeout_ms - mono_ms_since(begun);
		r = batch_await_names(loop, s, m->profile, (int)left, &m->lacking);
		left = o->timeout_ms - mono_ms_since(begun);
		if (r == 0 && m->cells != NULL && left > 0)
			pump_names(loop, s, (int)left);
		if (r == 0)
			return 0;
		snapshot_fini(m);
		left = o->timeout_ms - mono_ms_since(begun);
		if (r != -ESTALE || left <= 0)
			return r;
		pump_settled(loop, s, (int)left);
		left = o->timeout_ms - mono_ms_since(begun);
		if (!look->listed || left <= 0)
			return r;
	}
}

static int
report_with_filter(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s, struct page_row_filter *filter,
    const struct user *u)
{
	struct snapshot m;
	int r, status;

	r = take_snapshot(o, loop, s, filter, u->blocks, &m);
	if (r == -ESTALE && !nodes_session_look(s)->listed)
		return batch_status(o, nodes_session_look(s));
	if (r < 0) {
		complain("cannot report: %s", r == -ESTALE ? "the node was "
		    "started again, and has another list" : strerror(-r));
		return r == -ESTALE ? PAGEK_TIMEOUT : PAGEK_FAILED;
	}
	batch_report_names(o, s, m.lacking, profile_callers(m.profile));
	status = use_snapshot(o, &m, u);
	snapshot_fini(&m);
	return status;
}

static int
report(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    const struct user *u)
{
	struct page_row_filter *filter;
	int status = o->tree.counts != TREE_HELD ? batch_ask_usage(o, loop, s) :
	    PAGEK_OK, r;

	if (status != PAGEK_OK)
		return status;
	if (o->tree.counts != TREE_HELD && nodes_session_usage(s)->lacks[0] != '\0')
		notice("INCOMPLETE: %s", nodes_session_usage(s)->lacks);
	status = PAGEK_FAILED;
	r = batch_filter(o, &filter);
	if (r < 0)
		complain("cannot report: %s", strerror(-r));
	else
		status = report_with_filter(o, loop, s, filter, u);
	page_row_filter_free(filter);
	return status;
}

int
snapshot_report(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s,
    int (*put)(FILE *, const struct options *, const struct snapshot *))
{
	return report(o, loop, s, &(struct user){ .put = put });
}

int
snapshot_visit(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s, bool blocks,
    int (*use)(const struct options *, const struct snapshot *))
{
	return report(o, loop, s, &(struct user){ .use = use, .blocks = blocks });
}

static struct page_weighed
weighed(const struct snapshot *m, enum profile_measure by,
    const struct profile_sum *sum)
{
	struct profile_sum total = profile_total(m->profile);

	return (struct page_weighed){
		.sum = sum,
		.now_ms = m->counts == TREE_HELD ? m->look.now_ms : 0,
		.part = measure_of(m, by, sum),
		.whole = measure_of(m, by, &total),
	};
}

static void
put_skip(struct json *j, const struct symbol_wrappers *w)
{
	const char *pattern;
	size_t k;

	json_begin(j, "skip", '[', false);
	for (k = 0; w != NULL &&
	    (pattern = symbol_wrappers_pattern(w, k)) != NULL; k++)
		json_text(j, NULL, pattern);
	json_end(j);
}

static int
put_ends(struct json *j, const struct snapshot *m, enum profile_measure by)
{
	struct profile_sum ends[RING_ENDS];
	struct page_weighed w;
	unsigned end;
	int r;

	r = profile_ends(m->profile, ends);
	if (r < 0)
		return r;
	json_begin(j, "ends", '[', true);
	for (end = 0; end < RING_ENDS; end++) {
		if (ends[end].blocks == 0)
			continue;
		json_begin(j, NULL, '{', false);
		json_text(j, "end", end != 0 ? stream_end_text(end) : NULL);
		w = weighed(m, by, &ends[end]);
		json_put(j, &page_weighed_fields, &w);
		json_end(j);
	}
	json_end(j);
	return 0;
}

static int
put_head(struct json *j, const struct options *o, const struct snapshot *m)
{
	struct profile_sum total = profile_total(m->profile);
	struct page_weighed w = weighed(m, o->tree.measure, &total);

	json_time(j, "time", base_wall_ms());
	json_put(j, &page_look_target, &m->look);
	if (m->look.node_wall_ms != 0)
		json_time(j, "at", m->look.node_wall_ms);
	else
		json_null(j, "at");
	json_put(j, &page_look_modes, &m->look);
	json_put(j, &page_look_loss, &m->look);
	json_filter(j, m->filter, &m->caught, m->listed);
	json_text(j, "measure", option_measures[o->tree.measure]);
	json_text(j, "counts", option_tree_counts[m->counts]);
	if (m->counted_ms != 0)
		json_time(j, m->counts == TREE_PEAK ? "peak" : "since", m->counted_ms);
	json_share(j, "least", o->tree.least, 1);
	put_skip(j, o->page.wrappers);
	json_begin(j, "total", '{', false);
	json_put(j, &page_weighed_fields, &w);
	json_end(j);
	json_number(j, "stacks", profile_callers(m->profile));
	json_number(j, "stacks_without_names", m->lacking);
	return put_ends(j, m, o->tree.measure);
}

struct json_tree {
	struct json *j;
	const struct options *o;
	const struct snapshot *m;
	uint32_t n;				/* nodes so far */
	uint32_t at[PROFILE_LINES_MAX + 1];	/* the last one of each depth */
};

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
const struct field_table tree_node_fields = FIELD_TABLE(nodes);

static int
put_node(void *arg, const struct profile_node *node)
{
	struct json_tree *t = arg;
	struct node_row row = {
		.node = node,
		.parent = node->depth > 0 ? &t->at[node->depth - 1] : NULL,
		.weighed = weighed(t->m, t->o->tree.measure, &node->total),
	};

	json_row(t->j, &row, 0);
	if (node->depth <= PROFILE_LINES_MAX)
		t->at[node->depth] = t->n;
	t->n++;
	return ferror(t->j->out) ? -EPIPE : 0;
}

int
json_tree(struct json *j, const struct options *o, const struct snapshot *m)
{
	struct json_tree t = { .j = j, .o = o, .m = m };
	struct profile_tree_opts opts = {
		.measure = o->tree.measure,
		.reversed = page_list_reverse(&o->page),
		.least = o->tree.least,
		.depth = o->tree.depth,
		.now_ms = m->look.now_ms,
		.focus = o->tree.focus,
	};
	int r;

	json_document(j, "pagek.tree/1", &tree_node_fields, 0);
	r = put_head(j, o, m);
	if (r < 0)
		return r;
	json_text(j, "from", page_list_reverse(&o->page) ? "origin" : "outermost");
	json_known(j, "depth", o->tree.depth != 0, o->tree.depth);
	json_text(j, "focus", o->tree.focus);
	json_rows(j, "nodes");
	r = profile_tree(m->profile, &opts, put_node, &t);
	json_rows_end(j);
	json_end(j);
	return r == -EPIPE ? 0 : r;
}

static void
put_group(struct json *j, const struct options *o, const struct snapshot *m,
    const struct profile_group *g)
{
	const struct page_group_kind *kind = page_group_kind(o->page.group);
	struct page_group_words words = { .name = "" };
	struct page_sum row = {
		.g = g,
		.function = o->tree.by == PROFILE_MODULE ? "" : g->name,
		.weighed = weighed(m, o->tree.measure, &g->total),
	};

	if (kind != NULL && kind->say != NULL)
		snapshot_group_say(m, &o->page, kind, g, &words);
	row.name = words.name[0] != '\0' ? words.name : g->name;
	json_row(j, &row, PAGE_GROUP_COUNTED);
}

static size_t
count_large(const struct options *o, const struct snapshot *m,
    const struct profile_group *rows, size_t n)
{
	size_t i = 0;

	while (i < n && snapshot_share(m, o->tree.measure, &rows[i].total) >=
	    o->tree.least)
		i++;
	return i;
}

int
json_groups(struct json *j, const struct options *o, const struct snapshot *m)
{
	const struct page_group_kind *kind = page_group_kind(o->page.group);
	struct profile_group *rows;
	size_t n, all, i;
	int r;

	r = snapshot_groups(m, o->tree.by, o->tree.measure, o->limit, &rows, &n, &all);
	if (r < 0)
		return r;
	n = count_large(o, m, rows, n);
	json_document(j, "pagek.groups/1", &page_group_fields,
	    PAGE_GROUP_COUNTED);
	r = put_head(j, o, m);
	if (r == 0) {
		json_text(j, "by", kind != NULL ? kind->word : option_groupings[o->tree.by]);
		json_number(j, "omitted", all - n);
		json_rows(j, "groups");
		for (i = 0; i < n && !ferror(j->out); i++)
			put_group(j, o, m, &rows[i]);
		json_rows_end(j);
		json_end(j);
	}
	free(rows);
	return r;
}
