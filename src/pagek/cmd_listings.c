/*
 * pagek listings: what a node has stored, and one listing of it.
 *
 * A listing is fetched whole before a byte of it is printed, so that what goes
 * out is all or nothing.  A file or a pipe gets its bytes as they were sent; a
 * terminal gets safe text.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/base.h"
#include "commands.h"
#include "json.h"
#include "pump.h"

#define PIECE 16384
#define FROM_COLUMNS 24

/* --- which there are ---------------------------------------------------- */

/* There until the link is down: an answer that comes too late needs a place. */
struct census {
	bool done;
	int err;
	struct nodes_stored *list;
	size_t n;
};

static void
on_stored(void *arg, int err, const struct nodes_stored *list, size_t n)
{
	struct census *q = arg;

	q->done = true;
	q->err = err;
	if (err < 0 || n == 0)
		return;
	q->list = malloc(n * sizeof *list);
	if (q->list == NULL) {
		q->err = -ENOMEM;
		return;
	}
	memcpy(q->list, list, n * sizeof *list);
	q->n = n;
}

static bool
is_answered(void *arg)
{
	const struct census *q = arg;

	return q->done;
}

static void
put_row(FILE *out, const struct nodes_stored *s, const struct page_opts *o)
{
	time_t second = (time_t)(s->wall_ms / 1000);
	char when[32] = "", bytes[32], safe[3][4 * sizeof s->title];
	struct tm tm = { 0 };

	if (o->utc)
		gmtime_r(&second, &tm);
	else
		localtime_r(&second, &tm);
	strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S", &tm);
	base_human_bytes(bytes, sizeof bytes, s->bytes);
	base_safe_text(safe[0], sizeof safe[0], s->name, strlen(s->name),
	    o->ascii);
	base_safe_text(safe[1], sizeof safe[1], s->origin, strlen(s->origin),
	    o->ascii);
	base_safe_text(safe[2], sizeof safe[2], s->title, strlen(s->title),
	    o->ascii);
	fprintf(out, "%-20s %-19s %11s %5u  %-*s %s%s\n", safe[0], when, bytes,
	    s->parts, FROM_COLUMNS, safe[1], safe[2],
	    s->whole ? "" : "  (not whole)");
}

static void
put_table(FILE *out, const struct census *q, const struct page_opts *o)
{
	if (q->n == 0)
		return;
	fprintf(out, "%-20s %-19s %11s %5s  %-*s %s\n", "NAME", "TIME",
	    "BYTES", "PARTS", FROM_COLUMNS, "FROM", "TITLE");
	for (size_t i = 0; i < q->n && output_going(out); i++)
		put_row(out, &q->list[i], o);
}

static void
json_stored(struct json *j, const struct nodes_stored *s)
{
	json_begin(j, '{', false);
	json_key(j, "name");
	json_text(j, s->name);
	json_key(j, "time");
	json_time(j, s->wall_ms);
	json_key(j, "from");
	json_text(j, s->origin);
	json_key(j, "title");
	json_text(j, s->title);
	json_key(j, "parts");
	json_number(j, s->parts);
	json_key(j, "bytes");
	json_number(j, s->bytes);
	json_key(j, "whole");
	json_bool(j, s->whole);
	json_end(j);
}

static void
put_json(FILE *out, const struct census *q, bool ascii)
{
	struct json j = { .out = out, .ascii = ascii };

	json_begin(&j, '{', true);
	json_key(&j, "schema");
	json_text(&j, "pagek.listings/1");
	json_key(&j, "listings");
	json_begin(&j, '[', true);
	for (size_t i = 0; i < q->n; i++)
		json_stored(&j, &q->list[i]);
	json_end(&j);
	json_end(&j);
}

static int
put_census(const struct options *o, const struct census *q)
{
	FILE *out = output_open(o->output);

	if (out == NULL)
		return PAGEK_FAILED;
	if (o->json)
		put_json(out, q, o->page.ascii);
	else
		put_table(out, q, &o->page);
	if (q->n == 0)
		complain("no listing is stored there: 'l' on a page sends one");
	return output_close(out, o->output, PAGEK_OK);
}

static const char *
why_not(const struct nodes_link *link, int err)
{
	switch (err) {
	case -EPROTO:
		return "the node does not list what it has stored; it may be "
		    "of an earlier version";
	case -EBUSY:
		return "the node still reads what it has stored: ask again in "
		    "a moment";
	default:
		return target_why(link, err);
	}
}

/* A node that does not answer, or not so. */
static int
fail(const struct options *o, const struct nodes_link *link, int err)
{
	complain("%s: %s", o->target.word, why_not(link, err));
	switch (err) {
	case -ETIMEDOUT:
		return PAGEK_TIMEOUT;
	case -EACCES:
		return PAGEK_DENIED;
	case -ENOTCONN:
		return PAGEK_NO_TARGET;
	default:
		return PAGEK_FAILED;
	}
}

static int
list_all(const struct options *o, uv_loop_t *loop, struct nodes_link *link,
    struct census *q)
{
	int err = nodes_listings(link, on_stored, q);

	if (err == 0 && !pump(loop, NULL, o->timeout_ms, is_answered, q))
		err = -ETIMEDOUT;
	if (err == 0)
		err = q->err;
	return err < 0 ? fail(o, link, err) : put_census(o, q);
}

/* --- one of them -------------------------------------------------------- */

struct fetch {
	bool done;
	int err;
	char words[512];
};

static void
on_fetched(void *arg, int err, const char *words)
{
	struct fetch *f = arg;

	f->done = true;
	f->err = err;
	snprintf(f->words, sizeof f->words, "%s", words);
}

static bool
is_fetched(void *arg)
{
	const struct fetch *f = arg;

	return f->done;
}

/* As long as bytes come it goes on. */
static void
await(uv_loop_t *loop, const struct nodes_listing *l, int timeout_ms,
    struct fetch *f)
{
	uint64_t before;

	do
		before = nodes_listing_done(l);
	while (!pump(loop, NULL, timeout_ms, is_fetched, f) &&
	    nodes_listing_done(l) != before);
	if (f->done)
		return;
	f->err = -ETIMEDOUT;
	strcpy(f->words, "it does not answer");
}

static int
fetch(const struct options *o, uv_loop_t *loop, struct nodes_link *link,
    FILE *to)
{
	struct fetch f = { 0 };
	struct nodes_listing *l;
	int err;

	err = nodes_listing_get(&l, link, o->name, fileno(to), on_fetched, &f);
	if (err < 0)
		return fail(o, link, err);
	await(loop, l, o->timeout_ms, &f);
	nodes_listing_close(l);
	if (f.err == 0)
		return PAGEK_OK;
	complain("%s: %s", o->name, f.words);
	switch (f.err) {
	case -ETIMEDOUT:
		return PAGEK_TIMEOUT;
	case -EACCES:
		return PAGEK_DENIED;
	case -ENOENT:
	case -ENOTCONN:
		return PAGEK_NO_TARGET;
	case -ENODATA:
		return PAGEK_FORMAT;
	default:
		return PAGEK_FAILED;
	}
}

/* Bytes as they are, or on a terminal what it may see of them. */
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
print_one(const struct options *o, uv_loop_t *loop, struct nodes_link *link)
{
	FILE *held = tmpfile(), *out;
	int status;

	if (held == NULL) {
		complain("no place to keep the listing: %s", strerror(errno));
		return PAGEK_FAILED;
	}
	status = fetch(o, loop, link, held);
	out = status == PAGEK_OK ? output_open(o->output) : NULL;
	if (out == NULL && status == PAGEK_OK)
		status = PAGEK_FAILED;
	if (out != NULL) {
		rewind(held);
		copy_out(held, out, o->page.ascii);
		status = output_close(out, o->output, PAGEK_OK);
	}
	fclose(held);
	return status;
}

/* --- the node ----------------------------------------------------------- */

/* Of this user's nodes the one that stands alone: no target is looked for. */
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

	if (o->target.kind == TARGET_LOCAL && o->target.rest[0] == '\0')
		return open_local(loop, link);
	status = target_open(o, loop, link, &session, why, sizeof why);
	if (status != PAGEK_OK)
		complain("%s", why);
	return status;
}

int
cmd_listings(const struct options *o, uv_loop_t *loop)
{
	struct nodes_link *link = NULL;
	struct census q = { 0 };
	int status = open_node(o, loop, &link);

	if (status == PAGEK_OK)
		status = o->name != NULL ? print_one(o, loop, link) :
		    list_all(o, loop, link, &q);
	pump_down(loop, NULL, link);
	free(q.list);
	return status;
}
