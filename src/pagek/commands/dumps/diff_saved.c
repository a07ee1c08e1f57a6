#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../batch/batch.h"
#include "../../cli/cli.h"
#include "../../documents/documents.h"
#include "../../difference/saved_list.h"
#include "../commands.h"
#include "dumps.h"

#define FILE_MAX ((size_t)1 << 31)

static bool
get_net(const void *row, size_t at, struct field_value *v)
{
	(void)at;
	v->i = (int64_t)saved_net(row);
	return true;
}

static bool
get_rounded(const void *row, size_t at, struct field_value *v)
{
	double n;

	memcpy(&n, (const char *)row + at, sizeof n);
	v->n = (uint64_t)(n + 0.5);
	return true;
}

static void
net_cell(const void *row, char out[FIELD_CELL])
{
	double net = saved_net(row);
	char text[24];

	base_human_bytes(text, sizeof text, (uint64_t)((net < 0 ? -net : net) +
	    0.5));
	snprintf(out, FIELD_CELL, "%s%s", net > 0 ? "+" : net < 0 ? "-" : "",
	    text);
}

FIELD_PRINT(name_cell, saved_function, "%s", r->name[0] != '\0' ? r->name : "?")

static void
bytes_cell(double bytes, char out[FIELD_CELL])
{
	base_human_bytes(out, 24, (uint64_t)(bytes + 0.5));
}

static void
then_cell(const void *row, char out[FIELD_CELL])
{
	bytes_cell(((const struct saved_function *)row)->bytes[SAVED_OLD], out);
}

static void
now_cell(const void *row, char out[FIELD_CELL])
{
	bytes_cell(((const struct saved_function *)row)->bytes[SAVED_NEW], out);
}

#define SUM(member) .get = get_rounded, \
	    .at = offsetof(struct saved_function, member)

static const struct field functions[] = {
	{ .key = "net_bytes", .kind = FIELD_SIGNED, .get = get_net,
	    .unit = FIELD_BYTES,
	    .column = { .title = "NET", .width = 12, .right = true,
	    .cell = net_cell } },
	{ .key = "old_bytes", .unit = FIELD_BYTES, SUM(bytes[SAVED_OLD]),
	    .column = { .title = "OLD", .gap = 1, .width = 11, .right = true,
	    .cell = then_cell } },
	{ .key = "new_bytes", .unit = FIELD_BYTES, SUM(bytes[SAVED_NEW]),
	    .column = { .title = "NEW", .gap = 1, .width = 11, .right = true,
	    .cell = now_cell } },
	{ .key = "old_blocks", SUM(blocks[SAVED_OLD]) },
	{ .key = "new_blocks", SUM(blocks[SAVED_NEW]) },
	{ .key = "allocated_blocks", SUM(new_blocks),
	    .column = { .title = "CAME", .gap = 1, .width = 9, .right = true,
	    .plain = true } },
	{ .key = "freed_blocks", SUM(freed_blocks),
	    .column = { .title = "WENT", .gap = 1, .width = 9, .right = true,
	    .plain = true } },
	{ .key = "function", .kind = FIELD_TEXT, .get = field_pointer,
	    .at = offsetof(struct saved_function, name),
	    .column = { .title = "FUNCTION", .gap = 2, .place = 1,
	    .cell = name_cell } },
};
static const struct field_table function_table = FIELD_TABLE(functions);

static int
read_bytes(struct saved_diff *d, enum saved_side side, const char *name,
    const char *bytes, size_t len, const char *hint)
{
	char why[128];
	int r = saved_list_read(d, side, bytes, len, why, sizeof why);

	if (r == 0)
		return PAGEK_OK;
	complain("%s: %s%s", base_shown(name), why, r == -EINVAL ? hint : "");
	return r == -EINVAL ? PAGEK_FORMAT : PAGEK_FAILED;
}

static int
read_file(struct saved_diff *d, enum saved_side side, const char *path)
{
	char *bytes;
	size_t len;
	int r = base_file_read(path, FILE_MAX, &bytes, &len);

	if (r < 0) {
		complain("cannot read '%s': %s", base_shown(path),
		    base_file_words(r));
		return PAGEK_FAILED;
	}
	r = read_bytes(d, side, path, bytes, len, side == SAVED_OLD ?
	    "; 'pagek list --format json -o FILE' saves one, and 'pagek "
	    "mdd-dump' debug data" :
	    "; a target of that name can be given as pid:N");
	free(bytes);
	return r;
}

static int
read_target(struct saved_diff *d, const struct options *o, uv_loop_t *loop,
    struct nodes_session *s)
{
	struct options list = *o;
	char *bytes = NULL;
	FILE *out;
	size_t len = 0;
	int status;

	list.format = FORMAT_CSV;
	d->list[SAVED_NEW].ended = nodes_session_look(s)->state == NODES_ENDED;
	list.fields = "address,size,weight,seq,function,complete,taken";
	list.page.free = false;
	out = open_memstream(&bytes, &len);
	if (out == NULL) {
		complain("cannot list: %s", strerror(errno));
		return PAGEK_FAILED;
	}
	status = list_write(&list, loop, s, out);
	if (fclose(out) != 0 && status == PAGEK_OK) {
		complain("cannot list: %s", strerror(ENOMEM));
		status = PAGEK_FAILED;
	}
	if (status == PAGEK_OK)
		status = read_bytes(d, SAVED_NEW, o->target.word, bytes, len,
		    "");
	free(bytes);
	return status;
}

static const char *
old_name(const struct options *o)
{
	return o->events.file[0];
}

static const char *
new_name(const struct options *o)
{
	return o->events.files > 1 ? o->events.file[1] : o->target.word;
}

/* A block that is missing in a list would count as new or freed. */
static void
tell_missing(const char *name, struct saved_list *l, bool file)
{
	if (l->total_known && l->n < l->total) {
		notice("'%s' has %s of %s blocks: those that it lacks count as "
		    "missing", base_shown(name), base_digits(l->n).text,
		    base_digits(l->total).text);
		l->incomplete = true;
	} else if (file && !l->total_known) {
		notice("'%s' does not tell whether all blocks are in it: 'pagek "
		    "list --format json' does", base_shown(name));
	}
}

static void
tell_filters(const struct options *o, struct saved_diff *d)
{
	struct saved_list *old = &d->list[SAVED_OLD], *new = &d->list[SAVED_NEW];

	if (strcmp(old->filter, new->filter) == 0)
		return;
	notice("'%s' has %s%s, and '%s' %s%s: the rest counts as missing",
	    base_shown(old_name(o)), old->filter[0] != '\0' ?
	    "blocks of the filter " : "all blocks", old->filter,
	    base_shown(new_name(o)), new->filter[0] != '\0' ?
	    "blocks of the filter " : "all blocks", new->filter);
	old->incomplete = new->incomplete = true;
}

static void
put_side(struct json *j, const char *key, const char *name,
    const struct saved_list *l)
{
	json_begin(j, key, '{', false);
	json_text(j, "name", name);
	json_text(j, "time", or_null(l->time));
	json_number(j, "blocks", (uint64_t)(l->blocks + 0.5));
	json_number(j, "bytes", (uint64_t)(l->bytes + 0.5));
	json_bool(j, "complete", !l->incomplete);
	json_end(j);
}

static void
put_json(FILE *out, const struct options *o, const struct saved_diff *d)
{
	struct json j;

	json_open(&j, out, o);
	json_document(&j, "pagek.saved_diff/1", &function_table, 0);
	put_side(&j, "old", old_name(o), &d->list[SAVED_OLD]);
	put_side(&j, "new", new_name(o), &d->list[SAVED_NEW]);
	json_number(&j, "same_blocks", d->same);
	json_rows(&j, "functions");
	for (size_t i = 0; i < d->n; i++)
		json_row(&j, d->row[i], 0);
	json_rows_end(&j);
	json_end(&j);
}

static void
put_name(FILE *out, const struct options *o, const char *name,
    const struct saved_list *l)
{
	char date[PAGE_DATE_TEXT];
	uint64_t ms;

	fputs(base_shown(name), out);
	if (filter_time(l->time, &ms) == 0) {
		page_cell_date((int64_t)ms, o->page.utc, date);
		fprintf(out, " %s", date);
	} else if (l->time[0] != '\0') {
		fprintf(out, " %s", l->time);
	}
	fputs(l->ended ? " ENDED" : "", out);
}

static void
put_head(FILE *out, const struct options *o, const struct saved_diff *d)
{
	const struct saved_list *old = &d->list[SAVED_OLD];
	const struct saved_list *new = &d->list[SAVED_NEW];
	char was[24], is[24];

	base_human_bytes(was, sizeof was, (uint64_t)(old->bytes + 0.5));
	base_human_bytes(is, sizeof is, (uint64_t)(new->bytes + 0.5));
	fputs("DIFF  ", out);
	put_name(out, o, old_name(o), old);
	fputs(" -> ", out);
	put_name(out, o, new_name(o), new);
	fprintf(out, "%s\n", old->incomplete || new->incomplete ? "  INCOMPLETE" : "");
	fprintf(out, "%s/%s -> ", was, base_digits((uint64_t)(old->blocks +
	    0.5)).text);
	fprintf(out, "%s/%s blocks   ", is, base_digits((uint64_t)(new->blocks +
	    0.5)).text);
	fprintf(out, "%s came  ", base_digits((uint64_t)(d->new_blocks +
	    0.5)).text);
	fprintf(out, "%s went  ", base_digits((uint64_t)(d->freed_blocks +
	    0.5)).text);
	fprintf(out, "%s in both\n", base_digits(d->same).text);
}

static void
put_text(FILE *out, const struct options *o, const struct saved_diff *d)
{
	struct output_table table = { .out = out, .fields = &function_table,
		.ascii = o->page.ascii };

	put_head(out, o, d);
	for (size_t i = 0; i < d->n; i++)
		output_measure(&table, d->row[i]);
	output_fit(&table, batch_terminal_columns(out));
	if (d->n > 0)
		output_heading(&table);
	for (size_t i = 0; i < d->n && output_going(out); i++)
		output_row(&table, d->row[i]);
}

static int
write_diff(const struct options *o, struct saved_diff *d)
{
	FILE *out;

	if (saved_diff_compare(d) < 0) {
		complain("cannot compare: %s", strerror(ENOMEM));
		return PAGEK_FAILED;
	}
	tell_missing(old_name(o), &d->list[SAVED_OLD], true);
	tell_missing(new_name(o), &d->list[SAVED_NEW], o->events.files > 1);
	tell_filters(o, d);
	if (d->same == 0 && d->list[SAVED_OLD].n > 0 && d->list[SAVED_NEW].n > 0)
		notice("no block is in both lists, as if the program had been "
		    "started anew between them: compare the sums by function");
	out = output_open(o->output);
	if (out == NULL)
		return PAGEK_FAILED;
	if (options_as_data(o))
		put_json(out, o, d);
	else
		put_text(out, o, d);
	return output_close(out, o->output, PAGEK_OK);
}

static struct saved_diff diff;

static int
compare_target(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s)
{
	int status = read_target(&diff, o, loop, s);

	if (status == PAGEK_OK)
		status = write_diff(o, &diff);
	if (options_as_data(o))
		batch_report_end(nodes_session_look(s));
	return status;
}

int
diff_saved_check(struct parse *p)
{
	static const enum option_id others[] = { OPTION_ARCH, OPTION_MATCH,
		OPTION_ROW_FORMAT, OPTION_IGNORE, OPTION_NO_IGNORE,
		OPTION_KEYS, OPTION_SORT, OPTION_TIME, OPTION_INTERVAL,
		OPTION_FILTER, OPTION_SYMBOLS, OPTION_SHOW_FORMAT };

	if (p->o->events.files > 2 || p->o->target_twice ||
	    (p->o->events.files > 1 && p->o->target_given))
		return option_fail(p, "a saved list is compared with one other "
		    "list or one target");
	return option_none_of(p, others, BASE_NELEM(others), "is for debug "
	    "data, not for saved lists");
}

/* True for any file but debug data and captures; reading it reports its errors. */
bool
diff_saved_wanted(const struct options *o)
{
	enum dump_kind kind;

	return o->command == COMMAND_DIFF && o->events.files > 0 &&
	    o->events.captures == 0 &&
	    (dump_file_kind(o->events.file[0], &kind) < 0 ||
	    kind == DUMP_OTHER);
}

int
diff_saved(const struct options *o, uv_loop_t *loop)
{
	int status;

	saved_diff_init(&diff);
	status = read_file(&diff, SAVED_OLD, old_name(o));
	if (status == PAGEK_OK && o->events.files > 1) {
		status = read_file(&diff, SAVED_NEW, new_name(o));
		if (status == PAGEK_OK)
			status = write_diff(o, &diff);
	} else if (status == PAGEK_OK) {
		status = batch_watch(o, loop, compare_target);
	}
	saved_diff_fini(&diff);
	return status;
}
