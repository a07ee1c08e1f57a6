/* pagek usage: counts by type, of a file, a capture or a live target. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../mdd/capture/capture.h"
#include "../../usage/dump_rows.h"
#include "../documents/documents.h"
#include "commands.h"

#define REPORTED_LINES 10	/* with an error; of the others, the number is reported */

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
read_dump(const char *path, struct usage_list *list, struct usage_source *from)
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
	*from = (struct usage_source){ .kind = "dump", .name = r.name,
		.bad_lines = r.bad, .complete = r.bad == 0 && err == 0 };
	usage_dump_fini(&d);
	if (!standard)
		fclose(fp);
	return err < 0 ? PAGEK_FAILED : r.bad > 0 ? PAGEK_FORMAT : PAGEK_OK;
}

/* --- output ----------------------------------------------------------------------- */

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

/* -ENOMEM */
static int
prepare_rows(const struct options *o, struct usage_list *list,
    struct usage_source *from)
{
	bool merge = o->usage.group != USAGE_BY_NONE ||
	    o->format == FORMAT_PROM || strcmp(from->kind, "dump") != 0;
	int err = merge ? usage_list_group(list, o->usage.group) : 0;

	usage_list_filter(list, o->filter.compiled);
	usage_list_sum(list);
	usage_list_sort(list, o->usage.sort, option_given(o, OPTION_REVERSE));
	from->filter = o->filter.text;
	from->matched = list->n;
	if (o->limit != 0 && list->n > o->limit)
		list->n = o->limit;
	return err;
}

/* Prints the rows, and returns the status unless printing fails. */
static int
print_rows(const struct options *o, struct usage_list *list,
    struct usage_source *from, int status)
{
	int err = prepare_rows(o, list, from);
	FILE *out = err == 0 ? output_open(o->output) : NULL;
	struct json j;

	if (err < 0)
		complain("cannot sum up: %s", strerror(-err));
	if (out == NULL)
		return PAGEK_FAILED;
	if (o->format == FORMAT_PROM) {
		err = prom_usage(out, list, o->page.ascii);
	} else if (options_as_data(o)) {
		json_open(&j, out, o);
		json_usage(&j, list, from);
	} else {
		put_text(out, list);
	}
	if (err < 0) {
		complain("cannot print: %s", strerror(-err));
		status = PAGEK_FAILED;
	}
	return output_close(out, o->output, status);
}

static int
count_file(const struct options *o)
{
	const char *path = o->events.file[0];
	struct usage_list list = { 0 };
	struct usage_source from;
	int status = strcmp(path, "-") != 0 && capture_match(path) ?
	    capture_usage(o, path, &list, &from) :
	    read_dump(path, &list, &from);

	if (status == PAGEK_OK || status == PAGEK_FORMAT)
		status = print_rows(o, &list, &from, status);
	usage_list_fini(&list);
	return status;
}

int
cmd_usage_check(struct parse *p)
{
	const struct options *o = p->o;
	static const enum option_id rows[] = { OPTION_SORT, OPTION_REVERSE,
		OPTION_FIELDS };
	char why[768];
	int r = captures_check(p);

	if (r != 0)
		return r;

	if (o->target_given || o->events.files != 1)
		return option_fail(p, "'pagek usage' needs one FILE: a capture, or "
		    "the output of dump_usage_xmemory(); - is standard input");
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
	(void)loop;
	return count_file(o);
}
