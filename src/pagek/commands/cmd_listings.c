/*
 * pagek listings: the listings that a node has stored, or one of them.
 *
 * The whole listing is fetched before a byte of it is printed.  If it is
 * damaged on the node's disk, the readable part is printed.  A file or a pipe
 * gets the bytes unchanged; a terminal gets safe text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../batch/batch.h"
#include "../cli/cli.h"
#include "../cli/pump.h"
#include "../documents/documents.h"

#define PIECE 16384

/* Lives until the link is closed, for answers may be late. */
struct request {
	bool done;
	int err;
	char words[512];
	struct nodes_stored *list;	/* answers so far */
	size_t n, cap;
	struct nodes_listing *listing;	/* the one being fetched; NULL */
};

static void
on_done(void *arg, int err, const char *words)
{
	struct request *q = arg;

	q->done = true;
	q->err = err;
	snprintf(q->words, sizeof q->words, "%s", words);
}

static void
on_stored(void *arg, const struct nodes_stored *s, int err, const char *words)
{
	struct request *q = arg;
	void *array = q->list;

	if (q->done)
		return;
	if (s == NULL) {
		on_done(q, err, words);
		return;
	}
	err = base_grow(&array, &q->cap, q->n + 1, sizeof *q->list);
	if (err < 0) {
		on_done(q, err, strerror(-err));
		return;
	}
	q->list = array;
	q->list[q->n++] = *s;
}

static bool
is_done(void *arg)
{
	const struct request *q = arg;

	return q->done;
}

static uint64_t
progress_of(const struct request *q)
{
	return q->listing != NULL ? nodes_listing_done(q->listing) : q->n;
}

/* Waits while there is progress.  err: the error of sending the request. */
static void
await_answer(const struct options *o, uv_loop_t *loop,
    const struct nodes_link *link, struct request *q, int err)
{
	uint64_t before;

	if (err < 0)
		on_done(q, err, target_why(link, err));
	do
		before = progress_of(q);
	while (!pump(loop, NULL, o->timeout_ms, is_done, q) &&
	    progress_of(q) != before);
	if (!q->done)
		on_done(q, -ETIMEDOUT, "it does not answer");
}

static int
status_of(int err)
{
	switch (err) {
	case 0:
		return PAGEK_OK;
	case -ETIMEDOUT:
		return PAGEK_TIMEOUT;
	case -EACCES:
		return PAGEK_DENIED;
	case -ENOENT:
	case -ENOTCONN:
		return PAGEK_NO_TARGET;
	case -ENODATA:
	case -EBADMSG:
		return PAGEK_FORMAT;
	default:
		return PAGEK_FAILED;
	}
}

struct stored_row {
	const struct nodes_stored *stored;
	bool utc;		/* text shows its time in UTC */
};

#define STORED(member) .via = FIELD_VIA(stored_row, stored), \
	    .at = offsetof(struct nodes_stored, member)

static void
time_cell(const void *row, char out[FIELD_CELL])
{
	const struct stored_row *r = row;

	page_cell_date(r->stored->wall_ms, r->utc, out);
}

FIELD_PRINT(parts_cell, stored_row, "%u", r->stored->parts)
FIELD_PRINT(title_cell, stored_row,
    "%s%s", r->stored->title, r->stored->whole ? "" : "  (not whole)")

static const struct field listings[] = {
	{ .key = "name", .kind = FIELD_TEXT, .get = field_any_text,
	    STORED(name),
	    .column = { .title = "NAME", .width = 20, .plain = true } },
	{ .key = "time", .kind = FIELD_TIME, .get = field_i64,
	    STORED(wall_ms),
	    .column = { .title = "TIME", .gap = 1, .width = 19,
	    .cell = time_cell } },
	{ .key = "from", .kind = FIELD_TEXT, .get = field_any_text,
	    STORED(origin),
	    .column = { .title = "FROM", .gap = 2, .width = 24, .place = 2,
	    .plain = true } },
	{ .key = "title", .kind = FIELD_TEXT, .get = field_any_text,
	    STORED(title),
	    .column = { .title = "TITLE", .gap = 1, .place = 2,
	    .cell = title_cell } },
	{ .key = "parts", .get = field_u32, STORED(parts),
	    .column = { .title = "PARTS", .gap = 1, .width = 5,
	    .right = true, .place = 1, .cell = parts_cell } },
	{ .key = "bytes", .get = field_u64, .unit = FIELD_BYTES,
	    STORED(bytes),
	    .column = { .title = "BYTES", .gap = 1, .width = 11,
	    .right = true, .plain = true } },
	{ .key = "whole", .kind = FIELD_BOOL, .get = field_flag,
	    STORED(whole) },
};
static const struct field_table listing_table = FIELD_TABLE(listings);

static void
put_text(FILE *out, const struct request *q, const struct page_opts *o)
{
	struct output_table table = { .out = out, .fields = &listing_table,
		.ascii = o->ascii };
	struct stored_row row = { .utc = o->utc };

	for (size_t i = 0; i < q->n; i++) {
		row.stored = &q->list[i];
		output_measure(&table, &row);
	}
	output_fit(&table, batch_terminal_columns(out));
	if (q->n > 0)
		output_heading(&table);
	for (size_t i = 0; i < q->n && output_going(out); i++) {
		row.stored = &q->list[i];
		output_row(&table, &row);
	}
}

static void
put_json(FILE *out, const struct request *q, const struct options *o)
{
	struct stored_row row = { .utc = false };
	struct json j;

	json_open(&j, out, o);
	json_document(&j, "pagek.listings/1", &listing_table, 0);
	json_rows(&j, "listings");
	for (size_t i = 0; i < q->n; i++) {
		row.stored = &q->list[i];
		json_row(&j, &row, 0);
	}
	json_rows_end(&j);
	json_end(&j);
}

static int
put_all(const struct options *o, const struct request *q)
{
	FILE *out = output_open(o->output);

	if (out == NULL)
		return PAGEK_FAILED;
	if (options_as_data(o))
		put_json(out, q, o);
	else
		put_text(out, q, &o->page);
	if (q->n == 0)
		notice("no listing is stored there: 'l' on a page sends one");
	return output_close(out, o->output, PAGEK_OK);
}

static int
list_all(const struct options *o, uv_loop_t *loop, struct nodes_link *link,
    struct request *q)
{
	await_answer(o, loop, link, q, nodes_listings(link, on_stored, q));
	if (q->err == 0)
		return put_all(o, q);
	complain("%s: %s", o->target.word, q->err != -EPROTO ? q->words :
	    "the node does not list what it has stored; it may be of an "
	    "earlier version");
	return status_of(q->err);
}

static int
fetch_listing(const struct options *o, uv_loop_t *loop, struct nodes_link *link,
    FILE *to, struct request *q)
{
	int err = nodes_listing_get(&q->listing, link, o->words.name, fileno(to),
	    on_done, q);

	/* -EINVAL: the name is empty or too long to be sent. */
	if (err == -EINVAL)
		on_done(q, -ENOENT, "no such listing");
	else
		await_answer(o, loop, link, q, err);
	nodes_listing_close(q->listing);
	q->listing = NULL;
	if (q->err < 0)
		complain("%s: %s", o->words.name, q->words);
	return status_of(q->err);
}

static void
copy_out(FILE *in, FILE *out, bool ascii)
{
	static char bytes[BASE_SAFE_LINE + PIECE], safe[4 * sizeof bytes + 64];
	bool tty = isatty(fileno(out)) != 0;
	size_t have = 0, n, len, used;

	do {
		n = fread(bytes + have, 1, PIECE, in);
		have += n;
		if (!tty) {
			fwrite(bytes, 1, have, out);
			have = 0;
			continue;
		}
		len = base_safe_lines(safe, sizeof safe, bytes, have, n == 0,
		    ascii, &used);
		fwrite(safe, 1, len, out);
		have -= used;
		memmove(bytes, bytes + used, have);
	} while (n > 0 && output_going(out));
}

static int
print_one(const struct options *o, uv_loop_t *loop, struct nodes_link *link,
    struct request *q)
{
	FILE *fetched = tmpfile(), *out;
	bool some;
	int status;

	if (fetched == NULL) {
		complain("no place to keep the listing: %s", strerror(errno));
		return PAGEK_FAILED;
	}
	status = fetch_listing(o, loop, link, fetched, q);
	some = status == PAGEK_OK || (q->err == -EBADMSG &&
	    lseek(fileno(fetched), 0, SEEK_END) > 0);
	out = some ? output_open(o->output) : NULL;
	if (out == NULL && some)
		status = PAGEK_FAILED;
	if (out != NULL) {
		rewind(fetched);
		copy_out(fetched, out, o->page.ascii);
		status = output_close(out, o->output, status);
	}
	fclose(fetched);
	return status;
}

static int
open_local(uv_loop_t *loop, struct nodes_link **link)
{
	const struct nodes_entry local = { .at = NODES_AT_LOCAL };
	int err = nodes_connect_entry(link, loop, &local);

	if (err == 0)
		return PAGEK_OK;
	if (err == -ENOENT || err == -ECONNREFUSED)
		complain("no node of yours runs here: start one with "
		    "'pageknode &'");
	else
		complain("cannot reach a node: %s", strerror(-err));
	return PAGEK_NO_TARGET;
}

static int
open_node(const struct options *o, uv_loop_t *loop, struct nodes_link **link)
{
	struct nodes_session_opts session = { 0 };
	char why[512];
	int status;

	if (o->target.kind == TARGET_LOCAL && o->target.name[0] == '\0')
		return open_local(loop, link);
	status = target_open(o, loop, link, &session, why, sizeof why);
	if (status != PAGEK_OK)
		complain("%s", why);
	return status;
}

int
cmd_listings_check(struct parse *p)
{
	const struct options *o = p->o;

	if (target_is_own(&o->target))
		return option_fail(p, "'%s' is a node of the page's own, and "
		    "stores no listings", o->target.word);
	if (o->words.name != NULL && options_as_data(o))
		return option_fail(p, "--format has no meaning for one "
		    "listing: it is printed as it was sent");
	if (o->words.name != NULL && option_given(o, OPTION_UTC))
		return option_fail(p, "--utc has no meaning for one listing");
	return 0;
}

int
cmd_listings(const struct options *o, uv_loop_t *loop)
{
	struct nodes_link *link = NULL;
	struct request q = { 0 };
	int status = open_node(o, loop, &link);

	if (status == PAGEK_OK)
		status = o->words.name != NULL ? print_one(o, loop, link, &q) :
		    list_all(o, loop, link, &q);
	pump_down(loop, NULL, link);
	free(q.list);
	return status;
}
