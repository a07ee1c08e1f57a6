/*
 * Call trees and groups as JSON.
 */
#include <errno.h>
#include <stdlib.h>

#include "../base/base.h"
#include "json.h"
#include "options.h"

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
put_known(struct json *j, const char *key, const char *text)
{
	json_key(j, key);
	json_text(j, text[0] != '\0' ? text : NULL);
}

static void
put_count(struct json *j, const char *key, uint64_t n)
{
	json_key(j, key);
	json_number(j, n);
}

/* What is listed, and what that stands for: the same unless it is a sample. */
static void
put_both(struct json *j, const struct profile_sum *sum)
{
	put_count(j, "blocks", sum->listed);
	put_count(j, "bytes", sum->listed_bytes);
	put_count(j, "est_blocks", sum->blocks);
	put_count(j, "est_bytes", sum->bytes);
}

/* Both, the oldest one's age and the share: keys of any sum. */
static void
put_sum(struct json *j, const struct moment *m, enum profile_measure by,
    const struct profile_sum *sum)
{
	struct profile_sum total = profile_total(m->profile);

	put_both(j, sum);
	json_key(j, "oldest_age_ms");
	if (sum->blocks > 0)
		json_signed(j, moment_age(m, sum));
	else
		json_null(j);
	json_key(j, "share");
	json_share(j, moment_measure(m, by, sum),
	    moment_measure(m, by, &total));
}

static void
put_self(struct json *j, const struct profile_sum *self)
{
	json_key(j, "self");
	json_begin(j, '{', false);
	put_both(j, self);
	json_end(j);
}

static void
put_place(struct json *j, const char *module, const char *file,
    uint32_t line)
{
	put_known(j, "module", module);
	put_known(j, "file", file);
	json_key(j, "line");
	if (line != 0)
		json_number(j, line);
	else
		json_null(j);
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
		put_sum(j, m, by, &ends[end]);
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
	put_sum(j, m, o->measure, &total);
	json_end(j);
	put_count(j, "stacks", profile_callers(m->profile));
	put_count(j, "stacks_without_names", m->lacking);
	return put_ends(j, m, o->measure);
}

/* --- trees --------------------------------------------------------------- */

static int
put_node(void *arg, const struct profile_node *node)
{
	struct json_tree *t = arg;
	struct json *j = t->j;

	json_begin(j, '{', false);
	put_count(j, "depth", node->depth);
	json_key(j, "parent");
	if (node->depth > 0)
		json_number(j, t->at[node->depth - 1]);
	else
		json_null(j);
	put_known(j, "function", node->function);
	put_place(j, node->module, node->file, node->line);
	json_key(j, "skipped");
	json_bool(j, node->skipped);
	put_count(j, "omitted", node->omitted);
	json_key(j, "end");
	json_text(j, node->end != 0 ? stream_end_text(node->end) : NULL);
	put_sum(j, t->m, t->o->measure, &node->total);
	put_self(j, &node->self);
	json_end(j);
	if (node->depth <= PROFILE_LINES_MAX)
		t->at[node->depth] = t->n;
	t->n++;
	return ferror(j->out) ? -EPIPE : 0;
}

#define SUM_COLUMNS \
	{ "blocks", NULL }, { "bytes", NULL }, { "est_blocks", NULL }, \
	{ "est_bytes", NULL }, { "oldest_age_ms", NULL }, \
	{ "share", NULL }, { "self_blocks", NULL }, { "self_bytes", NULL }, \
	{ "self_est_blocks", NULL }, { "self_est_bytes", NULL }, \
	{ "complete", "complete" }, { "lost", "lost" }, { "taken", "time" }

static const struct json_column node_columns[] = {
	{ "depth", NULL }, { "parent", NULL }, { "function", NULL },
	{ "module", NULL }, { "file", NULL }, { "line", NULL },
	{ "skipped", NULL }, { "omitted", NULL }, { "end", NULL },
	SUM_COLUMNS
};

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

	json_document(j, "pagek.tree/1", node_columns,
	    BASE_NELEM(node_columns));
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

	if (kind != NULL && kind->say != NULL)
		moment_group_say(m, &o->page, kind, g, &words);
	json_begin(j, '{', false);
	put_known(j, "name", words.name[0] != '\0' ? words.name : g->name);
	put_known(j, "function", o->by == PROFILE_MODULE ? "" : g->name);
	put_place(j, g->module, g->file, g->line);
	put_count(j, "stacks", g->stacks);
	put_sum(j, m, o->measure, &g->total);
	put_self(j, &g->self);
	json_end(j);
}

static const struct json_column group_columns[] = {
	{ "name", NULL }, { "function", NULL }, { "module", NULL },
	{ "file", NULL }, { "line", NULL }, { "stacks", NULL },
	SUM_COLUMNS
};

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
	json_document(j, "pagek.groups/1", group_columns,
	    BASE_NELEM(group_columns));
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
