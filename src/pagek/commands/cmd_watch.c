/*
 * pagek watch: what a target holds, a line each interval.
 *
 * The numbers are the keeper's own, asked for when a line is due; of the list
 * nothing is wanted, so that a busy target sends none of it.
 */
#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "../batch/batch.h"
#include "../cli/cli.h"
#include "../cli/pump.h"
#include "../documents/documents.h"
#include "../layout/layout.h"
#include "../layout/target_fields.h"

/*
 * What a line is made from: the numbers at one time, and those of the line
 * before.
 */
struct watch {
	const struct options *o;
	struct nodes_session *session;
	struct json json;
	FILE *out;
	uint64_t lines;
	uint64_t told_no;		/* asked for before there was another */
	unsigned failed;		/* lines that could not be taken, in a row ... */
	struct mono failed_at;		/* ... since then */
	struct mono at, last_at;
	int64_t wall_ms;
	uint64_t allocs, frees;		/* since the line before */
	uint64_t last_allocs, last_frees;
	int64_t ms;			/* since then; 0: there is none of the same stream */
	uint32_t stream_no;
};

/* --- taking them ---------------------------------------------------------- */

static bool
has_ended(const struct nodes_look *look)
{
	return look->state == NODES_ENDED || look->state == NODES_CORRUPT;
}

/* Nothing more comes: the target has ended, or the node is lost. */
static bool
is_over(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return has_ended(look) || look->state == NODES_DORMANT ||
	    (!look->linked && !look->returns);
}

static bool
is_told(void *arg)
{
	const struct watch *w = arg;
	const struct nodes_look *look = nodes_session_look(w->session);

	return look->told_no != w->told_no || !look->linked;
}

/* The numbers as they are now: false when they are not to be had. */
static bool
take_counts(struct watch *w, uv_loop_t *loop)
{
	const struct nodes_look *look = nodes_session_look(w->session);
	bool first = w->lines == 0 || look->stream_no != w->stream_no;

	w->told_no = look->told_no;
	nodes_session_ask(w->session);
	pump(loop, w->session, w->o->timeout_ms, is_told, w);
	if (look->told_no == w->told_no)
		return false;
	w->at = mono_now();
	w->wall_ms = base_wall_ms();
	w->ms = first ? 0 : mono_diff_ns(w->at, w->last_at) / 1000000;
	w->allocs = look->keeper[WIRE_N_ALLOCS] - w->last_allocs;
	w->frees = look->keeper[WIRE_N_FREES] - w->last_frees;
	/* A node that was started again counts anew. */
	if (look->keeper[WIRE_N_ALLOCS] < w->last_allocs ||
	    look->keeper[WIRE_N_FREES] < w->last_frees)
		w->ms = 0;
	w->last_at = w->at;
	w->last_allocs = look->keeper[WIRE_N_ALLOCS];
	w->last_frees = look->keeper[WIRE_N_FREES];
	w->stream_no = look->stream_no;
	return true;
}

/* --- writing them --------------------------------------------------------- */

static void
put_row(struct watch *w)
{
	const struct nodes_look *look = nodes_session_look(w->session);
	unsigned subset = PAGE_TARGET_WATCHED |
	    (w->o->interval_ms % 1000 != 0 ? PAGE_TARGET_MS :
	    PAGE_TARGET_SECONDS);
	struct page_target_row row = {
		.wall_ms = w->wall_ms,
		.utc = w->o->page.utc,
		.pid = look->pid,
		.name = look->target_name,
		.state = page_state_name(look->state),
		.live = look->state == NODES_LIVE,
		.sample = look->sample,
		.n = look->keeper,
		.judged = true,
		.complete = look->complete,
		.lost = page_lost(look),
		.full = look->full,
		.ms = w->ms,
		.allocs = w->allocs,
		.frees = w->frees,
	};

	if (w->o->json) {
		json_row(&w->json, &row, PAGE_TARGET_WATCHED);
		return;
	}
	if (w->lines == 0)
		output_heading(w->out, &page_target_fields, subset,
		    look->sample != 0);
	output_row(w->out, &page_target_fields, subset, &row,
	    w->o->page.ascii);
}

static void
begin_rows(struct watch *w)
{
	json_document(&w->json, "pagek.watch/1", &page_target_fields,
	    PAGE_TARGET_WATCHED);
	json_key(&w->json, "time");
	json_time(&w->json, base_wall_ms());
	json_target(&w->json, nodes_session_look(w->session));
	json_rows(&w->json, "samples");
}

/* --- the command ---------------------------------------------------------- */

/* What is still to come when its lines are over: how it has ended. */
static bool
has_told_end(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->state != NODES_ENDED || look->ended_wall_ms != 0 ||
	    !look->linked;
}

static void
tell_end(const struct nodes_look *look)
{
	char target[PAGE_TARGET_TEXT], how[PAGE_EXIT_TEXT];

	if (look->state != NODES_ENDED)
		return;
	page_target_text(look, target);
	page_exit_text(look->status, how);
	notice("%s has ended%s%s", target[0] != '\0' ? target : "the target",
	    how[0] != '\0' ? ": " : "", how);
}

/*
 * The node has answered nothing for as long as is waited for an answer, though
 * it may be connected, or again and again.  One line alone says nothing: this
 * program may have been stopped in the middle of it.
 */
static bool
is_unanswered(struct watch *w, struct mono asked, bool taken)
{
	if (taken)
		w->failed = 0;
	else if (w->failed++ == 0)
		w->failed_at = asked;
	return w->failed > 1 &&
	    mono_ms_since(w->failed_at) >= w->o->timeout_ms;
}

/* False when they end for want of an answer. */
static bool
lines(struct watch *w, uv_loop_t *loop)
{
	const struct nodes_look *look = nodes_session_look(w->session);
	bool over = false, taken;
	struct mono asked;
	struct pace pace;

	pace_begin(&pace, w->o);
	while (!over) {
		/* The last one has what came since, and how it ended. */
		over = is_over(w->session);
		if (over)
			pump(loop, w->session, w->o->timeout_ms, has_told_end,
			    w->session);
		asked = mono_now();
		taken = take_counts(w, loop);
		if (taken) {
			put_row(w);
			pace.n = ++w->lines;
			tell_target(w->o, look);
		}
		if (!output_flush(w->out) ||
		    (over && look->state != NODES_CONNECTING))
			return true;
		if (is_unanswered(w, asked, taken))
			return false;
		if (!pace_wait(&pace, loop, w->session, is_over, w->session))
			return true;
	}
	return true;
}

static int
watch(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	static const struct nodes_view none = { 0 };
	const struct nodes_look *look = nodes_session_look(s);
	struct watch w = { .o = o, .session = s };
	bool answered;
	int status;

	w.out = output_open(o->output);
	if (w.out == NULL)
		return PAGEK_FAILED;
	nodes_session_view(s, &none);
	json_open(&w.json, w.out, o);
	if (o->json)
		begin_rows(&w);
	answered = lines(&w, loop);
	if (o->json) {
		json_rows_end(&w.json);
		json_end(&w.json);
	}
	tell_end(look);
	status = output_close(w.out, o->output, PAGEK_OK);
	if (status == PAGEK_OK)
		status = batch_status(o, look);
	if (status == PAGEK_OK && !answered) {
		complain("no answer within %d s", o->timeout_ms / 1000);
		status = PAGEK_TIMEOUT;
	}
	return status;
}

int
cmd_watch(const struct options *o, uv_loop_t *loop)
{
	return batch_watch(o, loop, watch);
}
