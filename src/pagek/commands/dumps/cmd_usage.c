#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../../capture/capture.h"
#include "../../../usage/dump_rows.h"
#include "../../cli/capture_target.h"
#include "../../documents/documents.h"
#include "dumps.h"

#define REPORTED_LINES 10	/* with an error; of the others, the number is reported */

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
		    .type = r->name, .named_by = profile_type_source(WIRE_TYPE_OWN), .num = r->num,
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
		err = -errno;
		complain("%s: %s", path, base_file_words(err));
		return capture_file_status(err);
	}
	err = usage_dump_read(&d, fp, report_line, &r);
	if (err == 0)
		err = add_rows(list, &d);
	if (r.bad > REPORTED_LINES)
		complain("%s: %s more lines with an error", r.name,
		    base_digits(r.bad - REPORTED_LINES).text);
	if (err == -EISDIR)
		complain("%s: not a capture: a folder without segments", r.name);
	else if (err < 0)
		complain("%s: %s", r.name, base_file_words(err));
	else if (d.n == 0 && r.bad > 0)
		complain("'%s' has no counts by type: dump_usage_xmemory() and "
		    "'pagek usage' print them", r.name);
	*from = (struct usage_source){ .kind = "dump", .name = r.name,
		.bad_lines = r.bad, .complete = r.bad == 0 && err == 0 };
	usage_dump_fini(&d);
	if (!standard)
		fclose(fp);
	return err < 0 ? capture_file_status(err) : r.bad > 0 ? PAGEK_FORMAT : PAGEK_OK;
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
	/* Small sizes come first, as in a histogram. */
	if (o->usage.group == USAGE_BY_SIZE && !option_given(o, OPTION_SORT))
		usage_list_sort(list, USAGE_SORT_NUM, !option_given(o,
		    OPTION_REVERSE));
	else
		usage_list_sort(list, o->usage.sort, option_given(o,
		    OPTION_REVERSE));
	from->filter = o->filter.text;
	from->matched = list->n;
	if (o->limit != 0 && list->n > o->limit)
		list->n = o->limit;
	return err;
}

/* One table, into an open file; json_open() was called.  PAGEK_OK or PAGEK_FAILED. */
static int
print_table(const struct options *o, FILE *out, struct json *j,
    struct usage_list *list, struct usage_source *from)
{
	int err = prepare_rows(o, list, from);

	if (err == 0 && o->format == FORMAT_PROM)
		err = prom_usage(out, list, o->page.ascii);
	else if (err == 0 && options_as_data(o))
		json_usage(j, list, from);
	else if (err == 0)
		text_usage(out, list);
	if (err < 0)
		complain("cannot print: %s", strerror(-err));
	return err < 0 ? PAGEK_FAILED : PAGEK_OK;
}

/* Formats for programs have `complete`, but metrics. */
static void
report_lacks(const struct options *o, const char *lacks)
{
	if (o->format == FORMAT_TEXT || o->format == FORMAT_CSV ||
	    o->format == FORMAT_PROM)
		notice("INCOMPLETE: %s", lacks);
}

static int
print_file(const struct options *o, struct usage_list *list,
    struct usage_source *from, int status)
{
	FILE *out = output_open(o->output);
	char lacks[64];
	struct json j;

	if (out == NULL)
		return PAGEK_FAILED;
	if (o->format != FORMAT_PROM)
		json_open(&j, out, o);
	if (print_table(o, out, &j, list, from) != PAGEK_OK)
		status = PAGEK_FAILED;
	if (status == PAGEK_OK && from->lost > 0) {
		snprintf(lacks, sizeof lacks, "%s events are missing",
		    base_digits(from->lost).text);
		report_lacks(o, lacks);
	}
	if (status == PAGEK_OK && !from->complete && option_on(o, OPTION_STRICT))
		status = PAGEK_INCOMPLETE;
	return output_close(out, o->output, status);
}

static int
count_file(const struct options *o)
{
	const char *path = o->events.file[0];
	struct usage_list list = { 0 };
	struct usage_source from = { 0 };
	int status = strcmp(path, "-") != 0 && capture_match(path) ?
	    capture_usage(o, path, &list, &from) :
	    read_dump(path, &list, &from);

	/* A capture that cannot be read has no source. */
	if (from.kind != NULL && (status == PAGEK_OK || status == PAGEK_FORMAT))
		status = print_file(o, &list, &from, status);
	usage_list_fini(&list);
	return status;
}

static bool
is_over(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->state == NODES_ENDED ||
	    (!look->link.up && !look->link.returns);
}

/* Text and CSV do not show it. */
static void
report_source(const struct options *o, const struct usage_source *from)
{
	char date[PAGE_DATE_TEXT];

	if (o->format != FORMAT_TEXT && o->format != FORMAT_CSV)
		return;
	page_cell_date(from->since_ms, o->page.utc, date);
	if (from->from_start)
		notice("counted from the start of the target");
	else
		notice("counted since %s; blocks that were held then are counted "
		    "as allocated", date);
}

static bool
is_repeated(const struct options *o)
{
	return option_given(o, OPTION_INTERVAL) || option_given(o, OPTION_COUNT) ||
	    option_given(o, OPTION_DURATION);
}

static bool
wants_more(const struct options *o, struct nodes_session *s, uint64_t tables,
    struct mono begun)
{
	return is_repeated(o) && !is_over(s) &&
	    (o->repeat.count == 0 || tables < o->repeat.count) &&
	    (o->repeat.duration_ms == 0 ||
	    mono_ms_since(begun) + o->repeat.interval_ms <=
	    o->repeat.duration_ms);
}

static int
print_counts(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    FILE *out, struct json *j, bool first, bool *lacks)
{
	struct usage_list list = { 0 };
	struct usage_source from;
	int status = batch_usage(o, loop, s, &list, &from);

	if (status == PAGEK_OK && first)
		report_source(o, &from);
	if (status == PAGEK_OK && !*lacks && !from.complete) {
		*lacks = true;
		report_lacks(o, from.lacks);
	}
	if (status == PAGEK_OK && !first && o->format == FORMAT_TEXT)
		fputc('\n', out);
	if (status == PAGEK_OK)
		status = print_table(o, out, j, &list, &from);
	usage_list_fini(&list);
	if (status == PAGEK_OK && !from.complete && option_on(o, OPTION_STRICT))
		status = PAGEK_INCOMPLETE;
	return status;
}

static int
count_live(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	FILE *out = output_open(o->output);
	struct mono begun = mono_now();
	uint64_t tables = 0;
	bool lacks = false;		/* it has been told */
	struct json j;
	int status;

	if (out == NULL)
		return PAGEK_FAILED;
	if (o->format != FORMAT_PROM)
		json_open(&j, out, o);
	for (;;) {
		status = print_counts(o, loop, s, out, &j, tables == 0, &lacks);
		tables++;
		if (!output_flush(out) || (status != PAGEK_OK &&
		    status != PAGEK_INCOMPLETE) ||
		    !wants_more(o, s, tables, begun))
			break;
		pump(loop, s, o->repeat.interval_ms, is_over, s);
	}
	batch_report_end(nodes_session_look(s));
	return output_close(out, o->output, status);
}

int
cmd_usage_check(struct parse *p)
{
	static const enum option_id rows[] = { OPTION_SORT, OPTION_REVERSE,
		OPTION_FIELDS };
	static const enum option_id repeated[] = { OPTION_INTERVAL, OPTION_COUNT,
		OPTION_DURATION };
	const struct options *o = p->o;
	char why[768];
	int r = captures_check(p);

	if (r == 0 && o->target_given && o->events.files > 0)
		r = option_fail(p, "'pagek usage' takes a TARGET or a FILE, not "
		    "both");
	if (r == 0 && o->events.files > 1)
		r = option_fail(p, "'pagek usage' takes one FILE, and '%s' is one "
		    "too many", base_shown(o->events.file[1]));
	if (r == 0 && o->events.files > 0)
		r = option_none_of(p, repeated, BASE_NELEM(repeated), "is for "
		    "live targets, and a file does not change");
	if (r == 0 && o->fields != NULL && !options_as_data(o))
		r = option_fail(p, "--fields is for programs: give "
		    "--format=json, ndjson or csv too");
	if (r == 0 && o->fields != NULL && !field_list_check(o->fields,
	    &usage_fields, 0, NULL, why, sizeof why))
		r = option_fail(p, "%s", why);
	return r != 0 || o->format != FORMAT_PROM ? r : option_none_of(p, rows,
	    BASE_NELEM(rows), "has no meaning with --format=prom");
}

int
cmd_usage(const struct options *o, uv_loop_t *loop)
{
	return o->events.files > 0 ? count_file(o) :
	    batch_watch(o, loop, count_live);
}
