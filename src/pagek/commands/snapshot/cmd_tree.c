#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../../base/base.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../../documents/documents.h"
#include "../../layout/layout.h"
#include "../../page/view.h"
#include "../../picture/picture.h"
#include "../../rows/rows.h"
#include "snapshot.h"

#define NAME_BYTES 1100		/* of a name, if each byte is written as \xNN */
#define BYTES_COLUMNS 10

struct tree_out {
	FILE *out;
	const struct options *o;
	const struct snapshot *m;
	bool ascii;
	int bytes_columns;			/* width of the total */
	bool more[PROFILE_LINES_MAX + 1];	/* by depth: a sibling follows */
};

static const char *const group_names[] = {
	[PROFILE_SITE] = "stack",
	[PROFILE_FUNCTION] = "function",
	[PROFILE_LINE] = "line",
	[PROFILE_FRAME] = "any function of the stack",
	[PROFILE_MODULE] = "module",
	[PROFILE_CTYPE] = "type of the objects",
};

/* Not 0: figures are estimates.  Counts of the node cannot be scaled. */
static uint64_t
sample_of(const struct tree_out *t)
{
	return t->m->counts == TREE_HELD ? t->m->look.sample : 0;
}

static const char *
about(const struct tree_out *t)
{
	return page_about(sample_of(t));
}

/* In the units of --units, without a suffix; by default "1.5 MiB". */
static void
bytes_text(const struct options *o, uint64_t bytes, char out[32])
{
	char text[PAGE_SIZE_TEXT];

	if (!option_given(o, OPTION_UNITS)) {
		base_human_bytes(out, 32, bytes);
	} else if (o->page.units == PAGE_UNITS_EXACT) {
		base_group_digits(out, 32, bytes);
	} else {
		page_size_text(o->page.units, bytes, PAGE_SIZE_TEXT - 1, text);
		snprintf(out, 32, "%s", text + strspn(text, " "));
	}
}

static void
put_safe(const struct tree_out *t, const char *text)
{
	char safe[4 * SNAPSHOT_TEXT];

	base_safe_text(safe, sizeof safe, text, strlen(text), t->ascii);
	fputs(safe, t->out);
}

static void
put_title(const struct tree_out *t)
{
	const struct nodes_look *look = &t->m->look;
	char target[PAGE_TARGET_TEXT], date[PAGE_DATE_TEXT] = "";

	/* A classic node's clock has no zone. */
	if (look->node_wall_ms != 0)
		page_cell_date(look->node_wall_ms, look->classic ||
		    t->o->page.utc, date);
	page_target_text(look, target);
	fprintf(t->out, "%s  %04X ", option_given(t->o, OPTION_FLAT) ?
	    "GROUPS" : "CALL TREE", look->node.number);
	put_safe(t, look->node.name);
	fputs(target[0] != '\0' ? "  " : "", t->out);
	put_safe(t, target);
	fprintf(t->out, "  %s%s%s\n", page_look_state(look),
	    date[0] != '\0' ? "  " : "", date);
}

static void
put_sum(const struct tree_out *t, const struct profile_sum *sum)
{
	enum page_units units = t->o->page.units;
	bool given = option_given(t->o, OPTION_UNITS);
	const char *unit = !given || units != PAGE_UNITS_EXACT ? "" :
	    sum->bytes == 1 ? " byte" : " bytes";
	char blocks[32], bytes[32];

	base_group_digits(blocks, sizeof blocks, sum->blocks);
	bytes_text(t->o, sum->bytes, bytes);
	fprintf(t->out, "%s%s %s with %s%s%s%s", about(t), blocks,
	    sum->blocks == 1 ? "block" : "blocks", about(t),
	    given && units == PAGE_UNITS_HEX ? "0x" : "", bytes, unit);
}

static void
put_counts(const struct tree_out *t)
{
	char date[PAGE_DATE_TEXT] = "-";

	if (t->m->counted_ms != 0)
		page_cell_date(t->m->counted_ms, t->o->page.utc, date);
	if (t->m->counts == TREE_PEAK)
		fprintf(t->out, "held at the peak, %s: ", date);
	else if (t->m->counts == TREE_ALLOCATIONS && t->m->from_start)
		fputs("allocated since the start of the target: ", t->out);
	else if (t->m->counts == TREE_ALLOCATIONS)
		fprintf(t->out, "allocated since %s, when counting began: ",
		    date);
}

static void
put_total(const struct tree_out *t)
{
	struct profile_sum total = profile_total(t->m->profile);
	char stacks[32], lack[PAGE_LACK_TEXT], age[8];

	base_group_digits(stacks, sizeof stacks,
	    profile_callers(t->m->profile));
	page_lack_text(&t->m->look, lack);
	put_counts(t);
	put_sum(t, &total);
	fprintf(t->out, " from %s %s", stacks,
	    profile_callers(t->m->profile) == 1 ? "stack" : "stacks");
	page_cell_age(age, (uint64_t)snapshot_age(t->m, &total) / 1000);
	fprintf(t->out, t->m->counts == TREE_HELD ? ", the oldest %s; " : "; ",
	    age);
	if (t->m->look.complete)
		fputs("complete\n", t->out);
	else
		fprintf(t->out, "INCOMPLETE: %s\n", lack);
}

static void
put_modes(const struct tree_out *t)
{
	const struct nodes_look *look = &t->m->look;
	char sample[PAGE_SAMPLE_TEXT], when[PAGE_DATE_TEXT];

	if (look->arming.since_wall_ms != 0) {
		page_cell_date(look->arming.since_wall_ms, t->o->page.utc, when);
		fprintf(t->out, "armed %s, earlier blocks are not in it\n",
		    when);
	}
	if (look->sample == 0)
		return;
	page_sample_text(look->sample, sample);
	fprintf(t->out, "sampled %s: %s\n", sample, sample_of(t) != 0 ?
	    "figures with ~ are estimates" :
	    "these are the logged allocations alone");
}

static void
put_filter(const struct tree_out *t)
{
	char caught[32], listed[32];

	if (t->m->filter == NULL)
		return;
	base_group_digits(caught, sizeof caught, t->m->caught.blocks);
	base_group_digits(listed, sizeof listed, t->m->listed);
	fprintf(t->out, "only %s of %s blocks listed: ", caught, listed);
	put_safe(t, t->m->filter);
	fputc('\n', t->out);
}

static void
put_order(const struct tree_out *t)
{
	const struct options *o = t->o;
	const struct page_group_kind *kind = page_group_kind(o->page.group);

	fprintf(t->out, "by %s", option_measures[o->tree.measure]);
	if (t->m->counts != TREE_HELD)
		fprintf(t->out, " of %s", t->m->counts == TREE_PEAK ?
		    "the blocks at the peak" : "all allocations");
	if (option_given(o, OPTION_FLAT))
		fprintf(t->out, ", summed by %s", kind != NULL ? kind->name :
		    group_names[o->tree.by]);
	else
		fputs(page_list_reverse(&o->page) ? ", from the function that "
		    "allocated outwards" :
		    ", from the outermost function inwards", t->out);
	if (o->tree.least > 0)
		fprintf(t->out, "; branches below %g %% of the total are "
		    "hidden",
		    o->tree.least * 100);
	if (o->tree.depth != 0)
		fprintf(t->out, "; no deeper than %u", o->tree.depth);
	fputc('\n', t->out);
}

static int
put_cuts(const struct tree_out *t)
{
	struct profile_sum ends[RING_ENDS];
	char count[32];
	unsigned end;
	int r;

	r = profile_ends(t->m->profile, ends);
	if (r < 0)
		return r;
	for (end = 0; end < RING_ENDS; end++) {
		if (ends[end].blocks == 0 || end == RING_END_OUTERMOST)
			continue;
		fprintf(t->out, "%s: ", end == 0 ? "no stack is known" :
		    stream_end_text(end));
		put_sum(t, &ends[end]);
		fputc('\n', t->out);
	}
	base_group_digits(count, sizeof count, t->m->lacking);
	if (t->m->lacking > 0)
		fprintf(t->out, "names or lines are missing: %s %s\n", count,
		    t->m->lacking == 1 ? "stack" : "stacks");
	return 0;
}

static int
add_outer(void *arg, const struct profile_node *node)
{
	struct profile_sum *sum = arg;

	if (node->depth == 0 && !node->skipped) {
		sum->blocks += node->total.blocks;
		sum->bytes += node->total.bytes;
	}
	return 0;
}

static int
put_focus(const struct tree_out *t)
{
	struct profile_tree_opts opts = { .focus = t->o->tree.focus, .depth = 1,
	    .now_ms = t->m->look.now_ms };
	struct profile_sum sum = { 0 };
	int r;

	if (t->o->tree.focus == NULL)
		return 0;
	r = profile_tree(t->m->profile, &opts, add_outer, &sum);
	if (r < 0)
		return r;
	fputs("only stacks with ", t->out);
	put_safe(t, t->o->tree.focus);
	fputs(": ", t->out);
	put_sum(t, &sum);
	fputc('\n', t->out);
	return 0;
}

static int
put_head(const struct tree_out *t)
{
	int r;

	put_title(t);
	put_total(t);
	put_modes(t);
	put_filter(t);
	put_order(t);
	r = put_focus(t);
	if (r == 0)
		r = put_cuts(t);
	return r;
}

static void
put_share(const struct tree_out *t, const struct profile_sum *sum)
{
	double percent = 100 * snapshot_share(t->m, t->o->tree.measure, sum);
	char text[16];

	snprintf(text, sizeof text, "%.1f", percent);
	if (sample_of(t) == 0)
		fprintf(t->out, "%5s%%", text);
	else
		fprintf(t->out, "%*s%s%%", 6 - (int)strlen(text), "~", text);
}

static void
put_figures(const struct tree_out *t, const struct profile_sum *sum)
{
	char bytes[32], blocks[32], age[8] = "-";

	bytes_text(t->o, sum->bytes, bytes);
	base_group_digits(blocks, sizeof blocks, sum->blocks);
	if (t->m->counts == TREE_HELD)
		page_cell_age(age, (uint64_t)snapshot_age(t->m, sum) / 1000);
	put_share(t, sum);
	if (sample_of(t) == 0)
		fprintf(t->out, " %*s %11s %6s  ", t->bytes_columns, bytes,
		    blocks, age);
	else
		fprintf(t->out, " %*s%s %*s%s %6s  ",
		    t->bytes_columns + 1 - (int)strlen(bytes), "~", bytes,
		    12 - (int)strlen(blocks), "~", blocks, age);
}

static void
put_heading(const struct tree_out *t)
{
	int mark = sample_of(t) != 0;	/* columns of a "~" */

	fprintf(t->out, "\n%*s %*s %*s OLDEST  ", 6 + mark, "SHARE",
	    t->bytes_columns + mark, "BYTES", 11 + mark, "BLOCKS");
}

static void
put_name(const struct tree_out *t, const char *name, const char *where)
{
	char safe[NAME_BYTES];
	size_t len = strlen(where);

	base_safe_text(safe, sizeof safe, name, strlen(name), t->ascii);
	fputs(safe, t->out);
	/* A name such as "libfoo.so+0x1f30" has the module already. */
	if (len == 0 || (strncmp(name, where, len) == 0 && name[len] == '+'))
		return;
	base_safe_text(safe, sizeof safe, where, strlen(where), t->ascii);
	fprintf(t->out, "  %s", safe);
}

static void
put_omitted(const struct tree_out *t, uint64_t n, bool deeper)
{
	char count[32];

	base_group_digits(count, sizeof count, n);
	fprintf(t->out, "%s %s %s", t->ascii ? "..." : "\u2026", count,
	    deeper ? "deeper" : "smaller");
}

static void
put_branches(struct tree_out *t, const struct profile_node *node)
{
	unsigned d;

	/* Roots have no branch. */
	for (d = 1; d < node->depth; d++)
		fputs(!t->more[d] ? "  " : t->ascii ? "| " : "\u2502 ",
		    t->out);
	if (node->depth > 0 && t->ascii)
		fputs(node->last ? "`-" : "|-", t->out);
	else if (node->depth > 0)
		fputs(node->last ? "\u2514\u2500" : "\u251c\u2500", t->out);
	if (node->depth <= PROFILE_LINES_MAX)
		t->more[node->depth] = !node->last;
}

static int
put_node(void *arg, const struct profile_node *node)
{
	struct tree_out *t = arg;

	put_figures(t, &node->total);
	put_branches(t, node);
	if (node->omitted > 0) {
		put_omitted(t, node->omitted, t->o->tree.depth != 0 &&
		    node->depth >= t->o->tree.depth);
	} else {
		put_name(t, node->function, node->where);
		if (node->skipped)
			fputs("  (skipped)", t->out);
		/* Stacks cut at the depth are summed in the head. */
		if (node->end == RING_END_DEPTH)
			fputs("  (cut)", t->out);
		else if (node->end != 0)
			fprintf(t->out, "  (%s)", stream_end_text(node->end));
	}
	fputc('\n', t->out);
	return output_going(t->out) ? 0 : -EPIPE;
}

static int
put_tree(struct tree_out *t)
{
	struct profile_tree_opts opts = {
		.measure = t->o->tree.measure,
		.reversed = page_list_reverse(&t->o->page),
		.least = t->o->tree.least,
		.depth = t->o->tree.depth,
		.now_ms = t->m->look.now_ms,
		.focus = t->o->tree.focus,
	};
	int r;

	put_heading(t);
	fputs("FUNCTION\n", t->out);
	r = profile_tree(t->m->profile, &opts, put_node, t);
	return r == -EPIPE ? 0 : r;
}

static void
put_group(const struct tree_out *t, const struct profile_group *g)
{
	const struct page_group_kind *kind = page_group_kind(t->o->page.group);
	struct page_group_words words;

	put_figures(t, &g->total);
	if (t->o->tree.by == PROFILE_FRAME) {
		put_share(t, &g->self);
		fputs("  ", t->out);
	}
	if (kind != NULL && kind->say != NULL) {
		snapshot_group_say(t->m, &t->o->page, kind, g, &words);
		put_name(t, words.name, words.where);
	} else {
		put_name(t, g->name, g->where);
	}
	fputc('\n', t->out);
}

static const char *
name_title(const struct options *o)
{
	const struct page_group_kind *kind = page_group_kind(o->page.group);

	return kind != NULL ? kind->title : o->tree.by == PROFILE_MODULE ?
	    "MODULE" : o->tree.by == PROFILE_CTYPE ? "CTYPE" : "FUNCTION";
}

static int
put_groups(struct tree_out *t)
{
	struct profile_group *rows;
	size_t n, all, i;
	int r;

	r = snapshot_groups(t->m, t->o->tree.by, t->o->tree.measure,
	    t->o->limit, &rows, &n, &all);
	if (r < 0)
		return r;
	put_heading(t);
	fprintf(t->out, "%s%s%s\n", sample_of(t) != 0 &&
	    t->o->tree.by == PROFILE_FRAME ? " " : "",
	    t->o->tree.by == PROFILE_FRAME ? "  SELF  " : "", name_title(t->o));
	for (i = 0; i < n && snapshot_share(t->m, t->o->tree.measure,
	    &rows[i].total) >= t->o->tree.least && output_going(t->out); i++)
		put_group(t, &rows[i]);
	if (i < all && output_going(t->out)) {
		fprintf(t->out, "%*s", t->bytes_columns +
		    (sample_of(t) == 0 ? 28 : 31), "");
		put_omitted(t, all - i, false);
		fputc('\n', t->out);
	}
	free(rows);
	return 0;
}

static int
put_text(FILE *out, const struct options *o, const struct snapshot *m)
{
	struct tree_out t = { .out = out, .o = o, .m = m,
	    .ascii = batch_ascii(o), .bytes_columns = BYTES_COLUMNS };
	char all[32];
	int r;

	bytes_text(o, profile_total(m->profile).bytes, all);
	if ((int)strlen(all) > t.bytes_columns)
		t.bytes_columns = (int)strlen(all);
	r = put_head(&t);
	if (r < 0)
		return r;
	return option_given(o, OPTION_FLAT) ? put_groups(&t) : put_tree(&t);
}

int
tree_put(FILE *out, const struct options *o, const struct snapshot *m)
{
	struct json j;

	if (!options_as_data(o))
		return put_text(out, o, m);
	json_open(&j, out, o);
	return option_given(o, OPTION_FLAT) ? json_groups(&j, o, m) :
	    json_tree(&j, o, m);
}

static int
report_tree(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	return snapshot_report(o, loop, s, tree_put);
}

static int
check_tree(struct parse *p)
{
	const struct options *o = p->o;

	if (o->tree.by_group || o->page.group != 0)
		return option_fail(p, "groups are for a flat table: give "
		    "--flat too, or a tree by bytes, blocks or age");
	if (option_given(o, OPTION_LIMIT))
		return option_fail(p, "--limit is for a flat table: give "
		    "--flat too, or --least and --depth");
	return 0;
}

static int
check_flat(struct parse *p)
{
	static const enum option_id of_trees[] = { OPTION_REVERSE,
		OPTION_DEPTH, OPTION_FOCUS };
	const struct page_group_kind *kind = page_group_kind(p->o->page.group);

	if (kind != NULL && p->o->page.group_below != 0)
		return option_fail(p, "a flat table has groups of one level: "
		    "--group=%s, say", kind->word);
	if (kind != NULL)
		p->o->tree.by = kind->by;
	return option_none_of(p, of_trees, BASE_NELEM(of_trees), "has no "
	    "meaning with --flat");
}

int
tree_check_counts(struct parse *p)
{
	const struct options *o = p->o;
	const char *word = option_tree_counts[o->tree.counts];

	if (o->tree.counts == TREE_HELD)
		return 0;
	if (o->filter.text != NULL)
		return option_fail(p, "--by=%s has sums of the node, which no "
		    "--filter chooses from: pagek usage has filters", word);
	if (o->tree.measure == PROFILE_AGE)
		return option_fail(p, "--by=%s has blocks and bytes, but no "
		    "ages", word);
	if (o->page.group != 0)
		return option_fail(p, "--by=%s has no such groups: give "
		    "--by=function, line, frame, module, ctype or site", word);
	return 0;
}

int
cmd_tree_check(struct parse *p)
{
	const struct options *o = p->o;
	int r = tree_check_counts(p);

	if (r != 0)
		return r;

	if (o->tree.by_group && o->page.group != 0)
		return option_fail(p, "--group and --by=%s both name the "
		    "groups", o->text[OPTION_BY]);
	return option_given(o, OPTION_FLAT) ? check_flat(p) : check_tree(p);
}

int
cmd_tree(const struct options *o, uv_loop_t *loop)
{
	return batch_watch(o, loop, report_tree);
}
