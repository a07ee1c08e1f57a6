/* pagek usage: counts by type. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../usage/dump_rows.h"
#include "../documents/documents.h"
#include "commands.h"

#define REPORTED_LINES 10	/* with an error; of the others, the number is reported */

/* Where rows come from, and what is known of them all. */
struct source {
	const char *kind;		/* "dump" */
	const char *name;		/* of the file */
	uint64_t bad_lines;
	bool complete;
};

/* --- dumps ------------------------------------------------------------------------ */

struct reading {
	const char *name;
	uint64_t bad;
};

static void
report_line(void *arg, uint64_t line, const char *why)
{
	struct reading *r = arg;

	if (++r->bad <= REPORTED_LINES)
		complain("%s: line %" PRIu64 ": %s", r->name, line, why);
}

static int
add_rows(struct usage_list *list, const struct usage_dump *d)
{
	int err = 0;

	for (size_t i = 0; i < d->n && err == 0; i++) {
		const struct usage_dump_row *r = &d->row[i];

		err = usage_list_add(list, &(struct usage_line){
		    .type = r->name, .named_by = "type", .num = r->num,
		    .allocated = r->allocated, .freed = r->freed, .max = r->max,
		    .live = (int64_t)(r->allocated - r->freed) });
	}
	return err;
}

/* PAGEK_OK; PAGEK_FORMAT: there are rows, and lines with an error. */
static int
read_dump(const char *path, struct usage_list *list, struct source *from)
{
	bool standard = strcmp(path, "-") == 0;
	struct reading r = { .name = standard ? "standard input" : path };
	FILE *fp = standard ? stdin : fopen(path, "re");
	struct usage_dump d = { 0 };
	int err;

	if (fp == NULL) {
		complain("cannot read '%s': %s", path, base_file_words(-errno));
		return PAGEK_FAILED;
	}
	err = usage_dump_read(&d, fp, report_line, &r);
	if (err == 0)
		err = add_rows(list, &d);
	if (r.bad > REPORTED_LINES)
		complain("%s: %s more lines with an error", r.name,
		    base_digits(r.bad - REPORTED_LINES).text);
	if (err < 0)
		complain("cannot read '%s': %s", r.name, base_file_words(err));
	else if (d.n == 0 && r.bad > 0)
		complain("'%s' has no counts by type: dump_usage_xmemory() and "
		    "'pagek usage' print them", r.name);
	*from = (struct source){ .kind = "dump", .name = r.name,
		.bad_lines = r.bad, .complete = r.bad == 0 && err == 0 };
	usage_dump_fini(&d);
	if (!standard)
		fclose(fp);
	return err < 0 ? PAGEK_FAILED : r.bad > 0 ? PAGEK_FORMAT : PAGEK_OK;
}

/* --- text and data ------------------------------------------------------------------- */

static void
put_text(FILE *out, const struct usage_list *list)
{
	for (size_t i = 0; i < list->n && output_going(out); i++) {
		const struct usage_line *r = &list->row[i];

		usage_dump_put(out, &(struct usage_dump_row){
		    .name = r->type != NULL ? r->type : "(unknown)",
		    .num = r->no_num ? 0 : r->num, .allocated = r->allocated,
		    .freed = r->freed, .max = r->max });
	}
}

static void
put_sums(struct json *j, const struct usage_line *sum)
{
	bool bytes = (sum->known & USAGE_KNOWS_BYTES) != 0;

	json_begin(j, "sum", '{', false);
	json_number(j, "allocated", sum->allocated);
	json_number(j, "freed", sum->freed);
	json_signed(j, "live", sum->live);
	json_known(j, "bytes", bytes, sum->bytes);
	json_known(j, "allocated_bytes", bytes, sum->allocated_bytes);
	json_known(j, "short_lived", (sum->known & USAGE_KNOWS_LIVES) != 0,
	    sum->short_lived);
	json_end(j);
}

static void
put_json(FILE *out, const struct options *o, const struct usage_list *list,
    const struct source *from, size_t matched)
{
	struct json j;

	json_open(&j, out, o);
	json_document(&j, "pagek.usage/1", &usage_fields, 0);
	json_text(&j, "source", from->kind);
	json_text(&j, "file", from->name);
	json_null(&j, "since");
	json_bool(&j, "complete", from->complete);
	json_null(&j, "lost");
	json_number(&j, "bad_lines", from->bad_lines);
	json_text(&j, "group", usage_groupings[list->kind]);
	json_text(&j, "filter", o->filter.text);
	json_number(&j, "matched", matched);
	put_sums(&j, &list->sum);
	json_rows(&j, "rows");
	for (size_t i = 0; i < list->n && output_going(out); i++)
		json_row(&j, &list->row[i], 0);
	json_rows_end(&j);
	json_end(&j);
}

/* --- metrics ---------------------------------------------------------------------------- */

/* `room` is for the text as safe text. */
static void
put_label(FILE *out, const char *name, const char *text, char *room, size_t cap,
    bool ascii)
{
	base_safe_text(room, cap, text, strlen(text), ascii);
	fprintf(out, "%s=\"", name);
	for (; *room != '\0'; room++) {
		if (*room == '"' || *room == '\\')
			putc('\\', out);
		putc(*room, out);
	}
	putc('"', out);
}

/* -ENOMEM */
static int
put_sample(FILE *out, const struct field *f, const struct usage_line *r,
    enum usage_grouping by, bool ascii)
{
	const char *name = r->type != NULL ? r->type : "";
	size_t cap = 4 * strlen(name) + 1;
	char text[FIELD_TEXT_MAX], *room;
	struct field_value v;

	if (!field_value(f, r, &v))
		return 0;
	room = malloc(cap);
	if (room == NULL)
		return -ENOMEM;
	fprintf(out, "pagek_%s{", f->metric.name);
	put_label(out, by == USAGE_BY_NONE ? "type" : usage_groupings[by], name,
	    room, cap, ascii);
	if (by == USAGE_BY_NONE)
		fprintf(out, ",num=\"%" PRId64 "\"", r->num);
	field_text(f->kind, &v, text);
	fprintf(out, "} %s\n", text);
	free(room);
	return 0;
}

/* -ENOMEM */
static int
put_metrics(FILE *out, const struct usage_list *list, bool ascii)
{
	int err = 0;

	for (size_t k = 0; k < usage_fields.n; k++) {
		const struct field *f = &usage_fields.field[k];

		if (f->metric.name == NULL)
			continue;
		fprintf(out, "# HELP pagek_%s %s\n# TYPE pagek_%s %s\n",
		    f->metric.name, f->metric.help, f->metric.name,
		    f->metric.type);
		for (size_t i = 0; err == 0 && i < list->n &&
		    output_going(out); i++)
			err = put_sample(out, f, &list->row[i], list->kind,
			    ascii);
	}
	return err;
}

/* --- the command -------------------------------------------------------------------------- */

/* -ENOMEM */
static int
prepare_rows(const struct options *o, struct usage_list *list, size_t *matched)
{
	int err = 0;

	if (o->usage.group != USAGE_BY_NONE || o->format == FORMAT_PROM)
		err = usage_list_group(list, o->usage.group);
	usage_list_filter(list, o->filter.compiled);
	usage_list_sum(list);
	usage_list_sort(list, o->usage.sort, option_given(o, OPTION_REVERSE));
	*matched = list->n;
	if (o->limit != 0 && list->n > o->limit)
		list->n = o->limit;
	return err;
}

/* Prints the rows, and returns the status unless printing fails. */
static int
print_rows(const struct options *o, struct usage_list *list,
    const struct source *from, int status)
{
	size_t matched;
	int err = prepare_rows(o, list, &matched);
	FILE *out = err == 0 ? output_open(o->output) : NULL;

	if (err < 0)
		complain("cannot sum up: %s", strerror(-err));
	if (out == NULL)
		return PAGEK_FAILED;
	if (o->format == FORMAT_PROM)
		err = put_metrics(out, list, o->page.ascii);
	else if (options_as_data(o))
		put_json(out, o, list, from, matched);
	else
		put_text(out, list);
	if (err < 0) {
		complain("cannot print: %s", strerror(-err));
		status = PAGEK_FAILED;
	}
	return output_close(out, o->output, status);
}

int
cmd_usage_check(struct parse *p)
{
	const struct options *o = p->o;
	static const enum option_id rows[] = { OPTION_SORT, OPTION_REVERSE,
		OPTION_FIELDS };
	char why[768];

	if (o->target_given || o->events.files != 1)
		return option_fail(p, "'pagek usage' needs one FILE: the output of "
		    "dump_usage_xmemory(), or - for standard input");
	if (o->fields != NULL && !options_as_data(o))
		return option_fail(p, "--fields is for programs: give "
		    "--format=json, ndjson or csv too");
	if (o->fields != NULL && !field_list_check(o->fields, &usage_fields, 0,
	    NULL, why, sizeof why))
		return option_fail(p, "%s", why);
	return o->format != FORMAT_PROM ? 0 : option_none_of(p, rows,
	    BASE_NELEM(rows), "has no meaning with --format=prom");
}

int
cmd_usage(const struct options *o, uv_loop_t *loop)
{
	struct usage_list list = { 0 };
	struct source from;
	int status = read_dump(o->events.file[0], &list, &from);

	(void)loop;
	if (status == PAGEK_OK || status == PAGEK_FORMAT)
		status = print_rows(o, &list, &from, status);
	usage_list_fini(&list);
	return status;
}
