/*
 * How the nodes are, for commands that ask once, and page G as text.
 */
#include <string.h>

#include "../page/nodes_page.h"
#include "commands.h"
#include "json.h"
#include "pump.h"

#define EVERY_MS 1000		/* a rate is of so long */

static bool
has_told(void *arg)
{
	return nodes_survey_settled(arg);
}

int
ask_nodes(const struct options *o, uv_loop_t *loop, struct nodes_survey **out,
    bool *complete)
{
	struct nodes_survey_opts opts = { .user = true, .remote = o->remote,
		.every_ms = EVERY_MS, .say = complain_said };
	int r;

	r = nodes_survey_open(out, loop, &opts);
	if (r < 0)
		return r;
	*complete = pump(loop, NULL, o->timeout_ms, has_told, *out);
	return 0;
}

int
ask_status(struct nodes_survey *survey)
{
	size_t n, i;
	const struct nodes_surveyed *const *row = nodes_survey_look(survey,
	    &n);

	/* One that is slow may have let us in and then said nothing at all. */
	for (i = 0; i < n; i++)
		if (page_how_answers(row[i]->how) && row[i]->seen_ms >= 0)
			return PAGEK_OK;
	complain("no node answers");
	return PAGEK_NO_TARGET;
}

static int
print(FILE *out, struct nodes_survey *survey, const struct page_opts *opts)
{
	struct page_nodes nodes = { .at = "" };
	struct page_picture pic = { 0 };
	size_t n;
	const struct nodes_surveyed *const *row = nodes_survey_look(survey,
	    &n);
	int r;

	r = page_nodes_compose(&nodes, row, n, opts, batch_columns(out), 0,
	    &pic);
	for (int i = 0; r == 0 && i < pic.rows && output_going(out); i++)
		fprintf(out, "%s\n", pic.line[i].text);
	page_picture_fini(&pic);
	return r;
}

static int
print_data(struct nodes_survey *survey, bool complete, struct json *j)
{
	struct nodes_table *t;
	int r;

	r = nodes_table_load(&t, true, NULL, NULL);
	if (r < 0)
		return r;
	json_nodes(j, t, survey, complete);
	nodes_table_free(t);
	return 0;
}

/* As often as -b wants it. */
static int
print_pages(const struct options *o, uv_loop_t *loop,
    struct nodes_survey *survey, bool complete, FILE *out)
{
	bool once = option_given(o, OPTION_ONCE);
	struct pace pace;
	struct json j;
	int r;

	json_open(&j, out, o);
	pace_begin(&pace, o);
	for (;;) {
		r = o->json ? print_data(survey, complete, &j) :
		    print(out, survey, &o->page);
		if (r < 0 || !output_flush(out) || once)
			return r;
		pace.n++;
		if (!pace_wait(&pace, loop, NULL, NULL, NULL))
			return 0;
		complete = nodes_survey_settled(survey);
		if (!o->json)
			fputc('\n', out);
	}
}

int
ask_page(const struct options *o, uv_loop_t *loop)
{
	struct nodes_survey *survey = NULL;
	int status, r;
	bool complete = false;
	FILE *out;

	out = output_open(o->output);
	if (out == NULL)
		return PAGEK_FAILED;
	r = ask_nodes(o, loop, &survey, &complete);
	if (r == 0)
		r = print_pages(o, loop, survey, complete, out);
	if (r < 0)
		complain("cannot ask the nodes: %s", strerror(-r));
	status = output_close(out, o->output, r < 0 ? PAGEK_FAILED :
	    PAGEK_OK);
	if (status == PAGEK_OK)
		status = ask_status(survey);
	nodes_survey_close(survey);
	pump_down(loop, NULL, NULL);
	return status;
}
