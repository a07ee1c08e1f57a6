#include <string.h>

#include "../../base/base.h"
#include "../batch/batch.h"
#include "../cli/cli.h"
#include "../cli/pump.h"
#include "../documents/documents.h"
#include "../panels/nodes_page.h"

static void
put_text(FILE *out, const struct nodes_table *t, struct nodes_survey *survey,
    bool ascii)
{
	unsigned subset = survey != NULL ? PAGE_NODE_ASKED : PAGE_NODE_LISTED;
	size_t n = t->n;
	const struct nodes_surveyed *const *asked = survey != NULL ?
	    nodes_survey_look(survey, &n) : NULL;
	struct output_table table = { .out = out, .fields = &page_node_fields,
		.subset = subset, .ascii = ascii };
	struct page_node_row row;

	for (size_t i = 0; i < n; i++) {
		page_node_row(&row, t, asked == NULL ? &t->entry[i] : NULL,
		    asked != NULL ? asked[i] : NULL);
		output_measure(&table, &row);
	}
	output_fit(&table, batch_terminal_columns(out));
	if (n > 0 || survey != NULL)
		output_heading(&table);
	for (size_t i = 0; i < n && output_going(out); i++) {
		page_node_row(&row, t, asked == NULL ? &t->entry[i] : NULL,
		    asked != NULL ? asked[i] : NULL);
		output_row(&table, &row);
	}
}

static void
notice_empty(const struct nodes_table *t)
{
	const char *path = t->path[NODES_FILE_USER];

	if (path == NULL)
		path = t->path[NODES_FILE_SYSTEM];
	notice("no node has a number: write '0590 linac-a ssh:linac-a' or "
	    "the like into %s; see nodes(5)", path);
}

static void
put_nodes(FILE *out, const struct options *o, const struct nodes_table *t,
    struct nodes_survey *survey, bool complete)
{
	struct json j;

	json_open(&j, out, o);
	if (options_as_data(o))
		json_nodes(&j, t, survey, complete);
	else
		put_text(out, t, survey, o->page.ascii);
}

int
cmd_nodes_check(struct parse *p)
{
	if (option_given(p->o, OPTION_TIMEOUT) &&
	    !option_given(p->o, OPTION_ASK))
		return option_fail(p, "--timeout is for nodes that are asked: "
		    "give --ask too");
	return 0;
}

int
cmd_nodes(const struct options *o, uv_loop_t *loop)
{
	bool ask = option_given(o, OPTION_ASK), complete = false;
	struct nodes_survey *survey = NULL;
	struct nodes_table *t;
	int status, r;
	FILE *out;

	r = nodes_table_load(&t, true, ask ? NULL : complain_said, NULL);
	if (r == 0 && ask) {
		r = batch_ask_nodes(o, loop, &survey, &complete);
		if (r < 0)
			nodes_table_free(t);
	}
	if (r < 0) {
		complain("cannot read the table of nodes: %s", strerror(-r));
		return PAGEK_FAILED;
	}
	out = output_open(o->output);
	status = PAGEK_FAILED;
	if (out != NULL) {
		put_nodes(out, o, t, survey, complete);
		status = output_close(out, o->output, PAGEK_OK);
	}
	if (status == PAGEK_OK && t->n == 0)
		notice_empty(t);
	if (status == PAGEK_OK && ask)
		status = batch_nodes_status(survey);
	nodes_survey_close(survey);
	nodes_table_free(t);
	pump_down(loop, NULL, NULL);
	return status;
}
