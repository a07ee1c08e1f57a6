#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../capture/capture.h"
#include "../cli/capture_target.h"
#include "../documents/documents.h"
#include "debugdata.h"

#define BATCH 4096
#define BLOCKS_MAX (UINT32_C(1) << 26)

struct counting {
	struct capture *c;
	const char *path;
	uint32_t no;
	struct capture_part_info part;
	uint64_t until;			/* number of the first event that is not counted */
	struct blklist *list;
	struct usage *usage;
	bool known;			/* the list is that of the target */
	bool in_gap;			/* the end is where events are missing */
	bool begun;			/* a state has come */
	bool seen;			/* an event or a state, the first of which was: */
	uint64_t first_seq;
	int64_t first_ms;
	uint64_t lost;
	uint64_t lost_then;		/* before a moment that is not the end */
	int64_t last_ms;		/* the latest time of an event */
	size_t n;
	struct rec rec[BATCH];
	uint64_t seq[BATCH];
	int64_t ms[BATCH];
	struct capture_event event[BATCH];
};

static void
flush(struct counting *n)
{
	if (n->n > 0)
		blklist_apply(n->list, &(struct blklist_batch){ .rec = n->rec,
		    .n = n->n, .seqs = n->seq, .ms = n->ms,
		    .near_ms = n->ms[n->n - 1] });
	n->n = 0;
}

static void
add_event(struct counting *n, const struct capture_event *ev)
{
	n->rec[n->n] = ev->rec;
	n->rec[n->n].w[2] = (uint64_t)(uint32_t)ev->ms << 32;
	n->seq[n->n] = ev->seq;
	n->ms[n->n++] = ev->ms;
	if (ev->ms > n->last_ms)
		n->last_ms = ev->ms;
}

/* After events that the capture has lost, any block may have been freed. */
static void
drop_list(struct counting *n)
{
	struct blk b[256];
	size_t k;

	while ((k = blklist_after(n->list, true, 0, 0, b, BASE_NELEM(b))) > 0)
		for (size_t i = 0; i < k; i++)
			blklist_take(n->list, blk_layer(&b[i]), b[i].addr);
}

/* -ENOMEM, errors of read(). */
static int
take_state(struct counting *n, const struct capture_event *ev)
{
	struct capture_list *l;
	const struct blk *row;
	size_t rows = 0;
	int e;

	if (n->known)
		return 0;
	e = capture_seek(n->c, n->no, &(struct capture_when){
	    .at = CAPTURE_AT_SEQ, .seq = ev->seq }, &l);
	if (e < 0)
		return e == -ENOENT ? 0 : e;
	drop_list(n);
	row = capture_list_rows(l, &rows);
	for (size_t i = 0; row != NULL && i < rows; i++)
		blklist_put(n->list, &row[i]);
	e = row != NULL ? 0 : -ENOMEM;
	capture_list_free(l);
	n->known = n->begun = true;
	return e;
}

/* 1: the moment is reached; -ENOMEM, errors of read(). */
static int
take_event(struct counting *n, const struct capture_event *ev)
{
	if (ev->part != n->no)
		return 0;
	if (ev->what == CAPTURE_STATE ? ev->seq > n->until :
	    ev->seq >= n->until)
		return 1;
	if (!n->seen) {
		n->seen = true;
		n->first_seq = ev->seq;
		n->first_ms = ev->ms;
	}
	if (ev->what == CAPTURE_EVENT) {
		add_event(n, ev);
		return 0;
	}
	flush(n);
	if (ev->what == CAPTURE_STATE)
		return take_state(n, ev);
	n->lost += ev->rec.w[1];
	n->known &= ev->rec.w[0] != 0;
	return 0;
}

static int
count_events(struct counting *n)
{
	size_t k;
	int e;

	capture_rewind(n->c);
	while ((e = capture_next(n->c, n->event, BATCH, &k)) == 0 && k > 0) {
		for (size_t i = 0; e == 0 && i < k; i++)
			e = take_event(n, &n->event[i]);
		if (e != 0)
			break;
		flush(n);
	}
	flush(n);
	return e < 0 ? e : 0;
}

/* The number of the first event after the moment.  PAGEK_OK, or the status. */
static int
find_end(struct counting *n, const char *at)
{
	struct capture_when when;
	struct capture_list *l;
	int64_t ms;
	int status = capture_moment(n->c, n->path, n->no, at, &when);

	n->until = UINT64_MAX;
	if (status != PAGEK_OK || when.at == CAPTURE_AT_END)
		return status;
	status = captures_seek(n->c, n->no, &when, n->path, false, &l);
	if (status != PAGEK_OK)
		return status;
	n->in_gap = !capture_list_at(l, &n->until, &ms);
	n->lost_then = captures_lost(l);
	capture_list_free(l);
	return PAGEK_OK;
}

static int
read_rows(struct usage *u, struct usage_row **out, size_t *n)
{
	struct usage_row *row = calloc(usage_rows(u) + 1, sizeof *row);
	size_t from = 0, k;

	if (row == NULL)
		return -ENOMEM;
	*n = 0;
	while ((k = usage_read(u, &from, USAGE_NO_ASKER, row + *n,
	    usage_rows(u) - *n)) > 0)
		*n += k;
	*out = row;
	return 0;
}

static int
name_rows(struct counting *n, const struct options *o, struct usage_list *list)
{
	char program[PATH_MAX];
	struct symbols_opts opts = callers_reader(program);
	struct capture_names *names = NULL;
	struct stream_types types;
	struct symbol_wrappers *skip = NULL;
	struct usage_namer *namer = NULL;
	struct usage_row *row = NULL;
	size_t rows;
	int e = options_wrappers(o, &skip);

	if (e == 0)
		e = capture_names_new(&names, n->c, n->no, &opts);
	if (e == 0)
		e = usage_namer_new(&namer, skip);
	if (e == 0)
		e = read_rows(n->usage, &row, &rows);
	if (e == 0)
		e = usage_namer_take(namer, row, rows);
	if (e == 0)
		e = capture_names_resolve(names, usage_namer_profile(namer));
	capture_types(n->c, n->no, &types);
	if (e == 0)
		e = usage_list_name(list, namer, &types, row, rows);
	if (e == 0 && capture_names_failed(names) > 0)
		callers_report_unread(capture_names_failed(names));
	free(row);
	usage_namer_free(namer);
	capture_names_free(names);
	symbol_wrappers_free(skip);
	return e;
}

/* Events that a ring has dropped, and those before its first list, which are not counted. */
static uint64_t
count_dropped(const struct counting *n)
{
	uint64_t first = n->part.part.first;

	return n->part.dropped > 0 && n->seen && n->first_seq > first ?
	    n->first_seq - first : n->part.dropped;
}

static void
tell_source(const struct counting *n, struct usage_source *from)
{
	uint64_t dropped = count_dropped(n);
	/* Within a gap, its events come after the last one that is counted. */
	uint64_t lost = n->in_gap && n->lost_then > n->lost ? n->lost_then :
	    n->lost;
	int64_t since = dropped > 0 && n->seen ? n->first_ms : n->part.part.ms;
	struct usage_totals sums;

	usage_sums(n->usage, n->last_ms, &sums);
	*from = (struct usage_source){ .kind = "capture", .name = n->path,
		.since_ms = capture_wall_ns(n->c, since) / 1000000,
		.now_ms = capture_wall_ns(n->c, n->last_ms) / 1000000,
		.peak_ms = sums.peak_ms == 0 ? 0 :
		    capture_wall_ns(n->c, sums.peak_ms) / 1000000,
		.from_start = n->part.part.began != CAPTURE_JOINED &&
		    n->begun && dropped == 0, .lost = lost + dropped,
		.knows_lost = true, .complete = lost == 0 && dropped == 0 &&
		    n->known && !n->in_gap && blklist_counts(n->list)->full == 0 };
}

static int
count_part(struct counting *n, const struct options *o, struct usage_list *list)
{
	int e = blklist_new_most(&n->list, BLKLIST_INDEXED, BLOCKS_MAX);

	if (e == 0)
		blklist_set_opaque(n->list, n->part.part.options & CAPTURE_CLASSIC);
	if (e == 0)
		e = usage_new(&n->usage, USAGE_ROWS);
	if (e == 0)
		e = usage_watch(n->usage, n->list, NULL, NULL);
	if (e == 0)
		e = count_events(n);
	return e == 0 ? name_rows(n, o, list) : e;
}

int
capture_usage(const struct options *o, const char *path, struct usage_list *list,
    struct usage_source *from)
{
	struct counting *n = calloc(1, sizeof *n);
	char why[CAPTURE_WHY];
	int status = PAGEK_FAILED, e;

	if (n == NULL) {
		complain("cannot read '%s': %s", path, strerror(ENOMEM));
		return PAGEK_FAILED;
	}
	n->path = path;
	e = capture_open(&n->c, path, why);
	if (e < 0) {
		complain("%s", why);
		free(n);
		return capture_file_status(e);
	}
	status = capture_choose(n->c, path, o->events.part, false, &n->no);
	if (status == PAGEK_OK && !capture_part(n->c, n->no, &n->part))
		status = PAGEK_FAILED;
	n->last_ms = n->part.part.ms;
	if (status == PAGEK_OK)
		status = find_end(n, o->events.at[0]);
	if (status == PAGEK_OK) {
		e = count_part(n, o, list);
		if (e == 0)
			tell_source(n, from);
		else
			complain("cannot read '%s': %s", path,
			    base_file_words(e));
		status = e < 0 ? PAGEK_FAILED : captures_complain(n->c, path);
	}
	usage_free(n->usage);
	blklist_free(n->list);
	capture_close(n->c);
	free(n);
	return status;
}
