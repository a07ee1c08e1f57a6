/*
 * pagek nodes: the table of nodes, as it is in its files.  Nobody is asked,
 * unless --ask says so: then it is told how they are.
 */
#include <string.h>

#include "../base/base.h"
#include "../page/nodes_page.h"
#include "commands.h"
#include "json.h"
#include "pump.h"

#define NAME_COLUMNS 16
#define WHERE_COLUMNS 24
#define STATE_COLUMNS 17

static void
put_row(FILE *out, const struct nodes_table *t, const struct nodes_entry *e,
    bool ascii)
{
	const char *path = t->path[e->file];
	char where[sizeof e->place + 8], file[512], friendly[8] = "-";

	nodes_entry_where(e, where, sizeof where);
	base_safe_text(file, sizeof file, path, strlen(path), ascii);
	if (e->port != NODES_PORT_NONE)
		snprintf(friendly, sizeof friendly, "%04X",
		    nodes_entry_friendly(e));
	fprintf(out, "%04X   ", e->number);
	output_text(out, e->name, NAME_COLUMNS, ascii);
	output_text(out, where, WHERE_COLUMNS, ascii);
	fprintf(out, "%-8s %s:%u\n", friendly, file, e->line);
}

static void
put_table(FILE *out, const struct nodes_table *t, bool ascii)
{
	fprintf(out, "%-6s %-*s %-*s %-8s %s\n", "NUMBER", NAME_COLUMNS,
	    "NAME", WHERE_COLUMNS, "WHERE", "FRIENDLY", "FILE");
	for (size_t i = 0; i < t->n && output_going(out); i++)
		put_row(out, t, &t->entry[i], ascii);
}

/* What would fill it. */
static void
say_empty(const struct nodes_table *t)
{
	const char *path = t->path[NODES_FILE_USER];

	if (path == NULL)
		path = t->path[NODES_FILE_SYSTEM];
	notice("no node has a number: write '0590 linac-a ssh:linac-a' or "
	    "the like into %s; see nodes(5)", path);
}

/* --- how they are --------------------------------------------------------- */

static void
put_how(FILE *out, const struct nodes_surveyed *r, bool ascii)
{
	char how[PAGE_HOW_TEXT], n[32], bytes[40] = "-", blocks[40] = "-";
	char rate[32] = "-", targets[24] = "-", number[8] = "-";
	const char *about = r->sampled ? "~" : "";
	char reason[1024] = "";

	page_how_text(r, how);
	if (r->number != 0)
		snprintf(number, sizeof number, "%04X", r->number);
	if (r->counted && page_how_answers(r->how)) {
		snprintf(targets, sizeof targets, "%zu", r->live);
		base_group_digits(n, sizeof n, r->blocks);
		snprintf(blocks, sizeof blocks, "%s%s", about, n);
		base_human_bytes(n, sizeof n, r->bytes);
		snprintf(bytes, sizeof bytes, "%s%s", about, n);
		if (r->rated)
			base_group_digits(rate, sizeof rate, r->rate);
	}
	fprintf(out, "%-6s ", number);
	output_text(out, r->name[0] != '\0' ? r->name : "-", NAME_COLUMNS, ascii);
	output_text(out, r->where, WHERE_COLUMNS, ascii);
	base_safe_text(reason, sizeof reason, r->reason, strlen(r->reason),
	    ascii);
	fprintf(out, "%-*s %7s %14s %12s %10s%s%s\n", STATE_COLUMNS, how,
	    targets, blocks, bytes, rate, reason[0] != '\0' ? "  " : "",
	    reason);
}

static void
put_hows(FILE *out, struct nodes_survey *survey, bool ascii)
{
	size_t n, i;
	const struct nodes_surveyed *const *row = nodes_survey_look(survey,
	    &n);

	fprintf(out, "%-6s %-*s %-*s %-*s %7s %14s %12s %10s\n", "NUMBER",
	    NAME_COLUMNS, "NAME", WHERE_COLUMNS, "WHERE", STATE_COLUMNS,
	    "STATE", "TARGETS", "BLOCKS", "BYTES", "REC/S");
	for (i = 0; i < n && output_going(out); i++)
		put_how(out, row[i], ascii);
}

/* --- the command ---------------------------------------------------------- */

static void
put(FILE *out, const struct options *o, const struct nodes_table *t,
    struct nodes_survey *survey, bool complete)
{
	struct json j;

	json_open(&j, out, o);
	if (o->json)
		json_nodes(&j, t, survey, complete);
	else if (survey != NULL)
		put_hows(out, survey, o->page.ascii);
	else if (t->n > 0)
		put_table(out, t, o->page.ascii);
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
		r = ask_nodes(o, loop, &survey, &complete);
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
		put(out, o, t, survey, complete);
		status = output_close(out, o->output, PAGEK_OK);
	}
	if (status == PAGEK_OK && t->n == 0)
		say_empty(t);
	if (status == PAGEK_OK && ask)
		status = ask_status(survey);
	nodes_survey_close(survey);
	nodes_table_free(t);
	pump_down(loop, NULL, NULL);
	return status;
}
