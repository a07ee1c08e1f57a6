#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../usage/dump_rows.h"
#include "../layout/fields.h"
#include "documents.h"

static void
put_sums(struct json *j, const struct usage_line *sum)
{
	bool bytes = (sum->known & USAGE_KNOWS_BYTES) != 0;
	bool then = (sum->known & USAGE_KNOWS_THEN) != 0;

	json_begin(j, "sum", '{', false);
	json_number(j, "allocated", sum->allocated);
	json_number(j, "freed", sum->freed);
	json_signed(j, "live", sum->live);
	json_known(j, "bytes", bytes, sum->bytes);
	json_known(j, "allocated_bytes", bytes, sum->allocated_bytes);
	json_known(j, "short_lived", (sum->known & USAGE_KNOWS_LIVES) != 0,
	    sum->short_lived);
	json_known(j, "then", then, sum->then);
	json_known(j, "then_bytes", then, sum->then_bytes);
	json_end(j);
}

static void
put_time(struct json *j, const char *key, int64_t wall_ms)
{
	if (wall_ms != 0)
		json_time(j, key, wall_ms);
	else
		json_null(j, key);
}

void
json_usage(struct json *j, const struct usage_list *list,
    const struct usage_source *from)
{
	json_document(j, "pagek.usage/1", &usage_fields, 0);
	put_time(j, "time", from->now_ms);
	json_text(j, "source", from->kind);
	json_text(j, "file", from->name);
	if (from->look != NULL)
		json_put(j, &page_look_target, from->look);
	put_time(j, "since", from->since_ms);
	json_bool(j, "from_start", from->from_start);
	put_time(j, "peak_time", from->peak_ms);
	json_known(j, "rss", from->rss != 0, from->rss);
	json_bool(j, "complete", from->complete);
	json_known(j, "lost", from->knows_lost, from->lost);
	json_number(j, "bad_lines", from->bad_lines);
	json_text(j, "group", usage_groupings[list->kind]);
	json_text(j, "filter", from->filter);
	json_number(j, "matched", from->matched);
	put_sums(j, &list->sum);
	json_rows(j, "rows");
	for (size_t i = 0; i < list->n && !ferror(j->out); i++)
		json_row(j, &list->row[i], 0);
	json_rows_end(j);
	json_end(j);
}

void
text_usage(FILE *out, const struct usage_list *list)
{
	for (size_t i = 0; i < list->n && !ferror(out); i++) {
		const struct usage_line *r = &list->row[i];

		usage_dump_put(out, &(struct usage_dump_row){
		    .name = r->type != NULL ? r->type : "(unknown)",
		    .num = r->no_num ? 0 : r->num, .allocated = r->allocated,
		    .freed = r->freed, .max = r->max });
	}
}

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
	if (by == USAGE_BY_NONE && r->no_num)
		fputs(",num=\"*\"", out);
	else if (by == USAGE_BY_NONE)
		fprintf(out, ",num=\"%" PRId64 "\"", r->num);
	field_text(f->kind, &v, text);
	fprintf(out, "} %s\n", text);
	free(room);
	return 0;
}

int
prom_usage(FILE *out, const struct usage_list *list, bool ascii)
{
	int err = 0;

	for (size_t k = 0; k < usage_fields.n; k++) {
		const struct field *f = &usage_fields.field[k];

		if (f->metric.name == NULL)
			continue;
		fprintf(out, "# HELP pagek_%s %s\n# TYPE pagek_%s %s\n",
		    f->metric.name, f->metric.help, f->metric.name,
		    f->metric.type);
		for (size_t i = 0; err == 0 && i < list->n && !ferror(out); i++)
			err = put_sample(out, f, &list->row[i], list->kind,
			    ascii);
	}
	return err;
}
