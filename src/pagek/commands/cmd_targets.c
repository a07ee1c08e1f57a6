#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../cli/cli.h"
#include "../cli/pump.h"
#include "../documents/documents.h"
#include "../layout/layout.h"
#include "../layout/fields.h"

#define ENDED_ROWS 4
#define INDENTS 8	/* deeper targets are not indented further */

struct table {
	const struct options *o;
	FILE *out;
	struct output_table text;
	struct json json;
	unsigned nodes;		/* with rows of text so far */
	unsigned answered;
	int failed;		/* error of a node that did not answer */
};

static bool
has_ended(const struct nodes_target *t)
{
	return t->ended || t->state == WIRE_S_ENDED ||
	    t->state == WIRE_S_EXECED;
}

/* branch NULL: the list is no tree. */
static void
put_row(const struct table *table, const struct nodes_target *t,
    const struct nodes_branch *branch)
{
	char remarks[PAGE_REMARKS_TEXT], lack[PAGE_REMARKS_TEXT], name[64];
	struct page_target_row row;
	size_t len;

	page_target_remarks(t, remarks);
	page_target_listed(t, NULL, &row);
	row.remarks = remarks;
	if (branch != NULL) {
		snprintf(name, sizeof name, "%*s%s", branch->depth < INDENTS ?
		    2 * (int)branch->depth : 2 * INDENTS, "", t->comm);
		row.indented = name;
	}
	if (branch != NULL && branch->live_below) {
		row.tree = &branch->sum;
		page_sum_lack(&branch->sum, lack);
		len = strlen(remarks);
		if (lack[0] != '\0')
			base_append(remarks, sizeof remarks, &len, "%stree: "
			    "%s", len > 0 ? "; " : "", lack);
	}
	output_row(&table->text, &row);
}

/* Live ones by size, the largest first; then ended ones, the latest first. */
static int
by_interest(const void *a, const void *b)
{
	const struct nodes_target *x = a, *y = b;
	uint64_t bytes_x = x->n[WIRE_N_LIVE_BYTES];
	uint64_t bytes_y = y->n[WIRE_N_LIVE_BYTES];

	if (has_ended(x) != has_ended(y))
		return has_ended(x) ? 1 : -1;
	if (!has_ended(x) && bytes_x != bytes_y)
		return bytes_x < bytes_y ? 1 : -1;
	return x->index < y->index ? 1 : x->index > y->index ? -1 : 0;
}

static void
put_left_out(const struct table *table, size_t n)
{
	if (n > 0)
		fprintf(table->out, "%-14s and %s image%s ended\n", "",
		    base_digits(n).text, n == 1 ? " that has" : "s that have");
}

/* Scripts leave hundreds of ended images: lists a few, no EXECED one. */
static void
put_rows(const struct table *table, struct nodes_target *t, size_t n)
{
	size_t i, ended = 0, left_out = 0;

	qsort(t, n, sizeof *t, by_interest);
	for (i = 0; i < n; i++) {
		if (t[i].state == WIRE_S_EXECED ||
		    (has_ended(&t[i]) && ++ended > ENDED_ROWS))
			left_out++;
		else
			put_row(table, &t[i], NULL);
	}
	put_left_out(table, left_out);
}

static void
put_tree(const struct table *table, const struct nodes_target *t,
    const struct nodes_branch *branch, size_t n)
{
	struct nodes_sum all = { 0 };
	size_t i, up, ended = 0, shown = 0;
	char sum[PAGE_REMARKS_TEXT];
	bool *is_shown = calloc(n + 1, sizeof *is_shown);

	for (i = n; i-- > 0; ) {
		const struct nodes_target *one = &t[branch[i].at];

		if (is_shown != NULL && one->state != WIRE_S_EXECED &&
		    (!has_ended(one) || ++ended <= ENDED_ROWS))
			for (up = i; up != NODES_NO_PARENT;
			    up = branch[up].parent)
				is_shown[up] = true;
	}
	for (i = 0; i < n; i++) {
		if (branch[i].parent == NODES_NO_PARENT)
			nodes_sum_add(&all, &branch[i].sum);
		if (is_shown != NULL && !is_shown[i])
			continue;
		put_row(table, &t[branch[i].at], &branch[i]);
		shown++;
	}
	free(is_shown);
	put_left_out(table, n - shown);
	page_sum_text(&all, sum);
	fprintf(table->out, "%-14s all: %s\n", "", sum);
}

static void
put_data(struct table *table, const char *socket, const struct nodes_target *t,
    size_t n, const struct nodes_branch *branch, size_t branches)
{
	bool tree = option_given(table->o, OPTION_TREE);
	struct page_target_row row;
	size_t i, k;

	for (i = 0; tree && i < branches; i++) {
		page_target_listed(&t[branch[i].at], socket, &row);
		row.tree = branch[i].below > 0 ? &branch[i].sum : NULL;
		json_row(&table->json, &row, PAGE_TARGET_LISTED);
	}
	for (i = 0; i < n; i++) {
		if (tree && t[i].pid != 0)
			continue;
		page_target_listed(&t[i], socket, &row);
		for (k = 0; k < branches && branch[k].at != i; k++)
			continue;
		if (k < branches && branch[k].below > 0)
			row.tree = &branch[k].sum;
		json_row(&table->json, &row, PAGE_TARGET_LISTED);
	}
}

/* False: no memory. */
static bool
put_node(struct table *table, const char *socket,
    struct nodes_target *t, size_t n)
{
	struct nodes_branch *branch = calloc(n + 1, sizeof *branch);
	size_t branches;
	char safe[256];

	if (branch == NULL) {
		complain("%s", strerror(ENOMEM));
		return false;
	}
	branches = nodes_tree(t, n, branch);
	if (options_as_data(table->o)) {
		put_data(table, socket, t, n, branch, branches);
		free(branch);
		return true;
	}
	if (table->nodes++ == 0)
		output_heading(&table->text);
	if (socket != NULL) {
		base_safe_text(safe, sizeof safe, socket, strlen(socket),
		    table->o->page.ascii);
		fprintf(table->out, "unix:%s\n", safe);
	}
	if (n > 0 && option_given(table->o, OPTION_TREE))
		put_tree(table, t, branch, branches);
	else if (n > 0)
		put_rows(table, t, n);
	free(branch);
	return true;
}

static int
status_of(int err)
{
	return err == -ETIMEDOUT ? PAGEK_TIMEOUT : PAGEK_NO_TARGET;
}

static bool
visit_node(void *arg, struct target_node *node)
{
	struct table *table = arg;

	if (node->err < 0) {
		complain("%s: %s", node->socket, node->why != NULL ?
		    node->why : strerror(-node->err));
		table->failed = node->err;
		return true;
	}
	if (!put_node(table, node->socket, node->targets, node->n))
		table->failed = -ENOMEM;
	else
		table->answered++;
	return true;
}

static int
list_all_nodes(struct table *table, uv_loop_t *loop)
{
	int n = target_each_node(loop, table->o->timeout_ms, 0, visit_node,
	    table);

	if (n < 0) {
		complain("cannot look for nodes: %s", strerror(-n));
		return PAGEK_FAILED;
	}
	if (n == 0)
		notice("nothing is being watched: start it with "
		    "'pagek run -- COMMAND'");
	return n == 0 || table->answered > 0 ? PAGEK_OK :
	    status_of(table->failed);
}

static int
list_given_node(struct table *table, uv_loop_t *loop)
{
	const struct target *target = &table->o->target;
	struct nodes_session_opts opts = { 0 };
	struct nodes_link *link = NULL;
	struct nodes_target *list = NULL;
	char why[512];
	size_t n = 0;
	int status, err;

	status = target_open(table->o, loop, &link, &opts, why, sizeof why);
	if (status != PAGEK_OK) {
		complain("%s", why);
		return status;
	}
	err = target_enquire(loop, link, table->o->timeout_ms, &list, &n);
	if (err < 0)
		complain("%s: %s", target->word, target_why(link, err));
	else if (!put_node(table, target->kind == TARGET_UNIX ?
	    target->node.place : NULL, list, n))
		err = -ENOMEM;
	nodes_link_close(link);
	free(list);
	return err < 0 ? status_of(err) : PAGEK_OK;
}

int
cmd_targets(const struct options *o, uv_loop_t *loop)
{
	struct table table = { .o = o };
	int status;

	table.out = output_open(o->output);
	if (table.out == NULL)
		return PAGEK_FAILED;
	table.text = (struct output_table){ .out = table.out,
		.fields = &page_target_fields, .subset = PAGE_TARGET_LISTED |
		(option_given(o, OPTION_TREE) ? PAGE_TARGET_BRANCH :
		PAGE_TARGET_ALONE),
		.ascii = o->page.ascii };
	json_open(&table.json, table.out, o);
	if (options_as_data(o)) {
		json_document(&table.json, "pagek.targets/1",
		    &page_target_fields, PAGE_TARGET_LISTED);
		json_time(&table.json, "time", base_wall_ms());
		json_rows(&table.json, "targets");
	}
	status = o->target.kind == TARGET_LOCAL ? list_all_nodes(&table, loop) :
	    list_given_node(&table, loop);
	if (options_as_data(o)) {
		json_rows_end(&table.json);
		json_end(&table.json);
	}
	status = output_close(table.out, o->output, status);
	pump_down(loop, NULL, NULL);
	return status;
}
