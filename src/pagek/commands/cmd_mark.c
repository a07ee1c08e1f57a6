#include <string.h>

#include "../../base/base.h"
#include "../batch/batch.h"
#include "../cli/cli.h"
#include "../documents/documents.h"
#include "../layout/fields.h"
#include "../layout/layout.h"
#include "../panels/panels.h"

static void
report_mark(const struct options *o, const struct nodes_look *look,
    const struct nodes_marks *m, const struct wire_named_mark *mark)
{
	char target[64], bytes[24];

	base_safe_text(target, sizeof target, look->target.name,
	    strlen(look->target.name), o->page.ascii);
	base_human_bytes(bytes, sizeof bytes, mark->est_bytes);
	printf("%s[%ld] mark '%s'%s: %s%s block%s, %s%s\n", target,
	    (long)look->target.pid, mark->name, m->moved ? " moved here" : "",
	    page_about(look->sample), base_digits(mark->est_blocks).text,
	    mark->est_blocks == 1 ? "" : "s", page_about(look->sample), bytes);
	if (m->dropped[0] != '\0')
		notice("a target has room for %d marks: the oldest, '%s', is "
		    "gone", WIRE_MARKS_MAX, m->dropped);
}

static int
set_mark(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	const struct nodes_marks *m = nodes_session_marks(s);
	const struct wire_named_mark *mark;
	int status = batch_set_mark(o, loop, s, o->words.name);

	if (status != PAGEK_OK)
		return status;
	mark = nodes_marks_find(m, o->words.name);
	if (mark == NULL) {
		complain("%s: the node's answer has no such mark",
		    o->target.word);
		return PAGEK_FAILED;
	}
	if (!option_given(o, OPTION_QUIET))
		report_mark(o, nodes_session_look(s), m, mark);
	return output_close(stdout, NULL, PAGEK_OK);
}

int
cmd_mark_check(struct parse *p)
{
	if (p->o->words.name == NULL)
		return option_fail(p, "'pagek mark' needs a NAME, as in 'pagek "
		    "mark deploy-42'; 'pagek marks' lists them");
	if (!wire_is_mark_name(p->o->words.name, strlen(p->o->words.name)))
		return option_fail(p, "'%.64s': " WIRE_MARK_RULE,
		    base_shown(p->o->words.name));
	if (target_is_own(&p->o->target))
		return option_fail(p, "'%s' ends with this command, and so "
		    "would its marks", p->o->target.word);
	return 0;
}

int
cmd_mark(const struct options *o, uv_loop_t *loop)
{
	return batch_watch(o, loop, set_mark);
}

static void
put_text(FILE *out, const struct nodes_marks *m, const struct options *o,
    const struct nodes_look *look)
{
	char target[PAGE_TARGET_TEXT], safe[4 * PAGE_TARGET_TEXT];
	struct output_table table = { .out = out, .fields = &page_mark_fields,
		.ascii = o->page.ascii };
	struct page_mark_row row = { .utc = o->page.utc };

	for (size_t i = 0; i < m->n; i++) {
		row.mark = &m->at[i];
		output_measure(&table, &row);
	}
	output_fit(&table, batch_terminal_columns(out));
	page_target_text(look, target);
	base_safe_text(safe, sizeof safe, target, strlen(target), table.ascii);
	if (m->n > 0) {
		fprintf(out, "%s%s\n", safe, look->state == NODES_ENDED ?
		    ", which has ended" : "");
		output_heading(&table);
	}
	for (size_t i = 0; i < m->n && output_going(out); i++) {
		row.mark = &m->at[i];
		output_row(&table, &row);
	}
}

static void
put_json(FILE *out, const struct nodes_marks *m, const struct options *o,
    const struct nodes_look *look)
{
	struct page_mark_row row = { .utc = true };
	struct json j;

	json_open(&j, out, o);
	json_document(&j, "pagek.marks/1", &page_mark_fields, 0);
	json_put(&j, &page_look_target, look);
	json_rows(&j, "marks");
	for (size_t i = 0; i < m->n; i++) {
		row.mark = &m->at[i];
		json_row(&j, &row, 0);
	}
	json_rows_end(&j);
	json_end(&j);
}

/* A capture and a demo have no process, and take no mark. */
static void
notice_none(const struct nodes_look *look)
{
	char target[PAGE_TARGET_TEXT];

	page_target_text(look, target);
	notice("%s has no marks%s", target[0] != '\0' ? target : "the target",
	    look->target.pid != 0 ? ": 'pagek mark NAME' sets one" : "");
}

static int
list_marks(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	const struct nodes_marks *m = nodes_session_marks(s);
	const struct nodes_look *look = nodes_session_look(s);
	int status = batch_ask_marks(o, loop, s);
	FILE *out = status == PAGEK_OK ? output_open(o->output) : NULL;

	if (out == NULL)
		return status != PAGEK_OK ? status : PAGEK_FAILED;
	if (options_as_data(o))
		put_json(out, m, o, look);
	else
		put_text(out, m, o, look);
	if (m->n == 0)
		notice_none(look);
	return output_close(out, o->output, PAGEK_OK);
}

int
cmd_marks(const struct options *o, uv_loop_t *loop)
{
	return batch_watch(o, loop, list_marks);
}
