#include <errno.h>
#include <string.h>

#include "../../base/base.h"
#include "../batch/batch.h"
#include "../cli/cli.h"
#include "../cli/pump.h"
#include "../documents/documents.h"
#include "../layout/layout.h"
#include "../layout/fields.h"

struct watch {
	const struct options *o;
	struct nodes_session *session;
	struct json json;
	FILE *out;
	uint64_t lines;
	unsigned failed;		/* successive lines without an answer ... */
	struct mono failed_at;		/* ... since then */
	struct mono at, last_at;	/* of this line and of the one before */
	int64_t wall_ms;
	uint64_t allocs, frees;		/* since the line before */
	uint64_t last_allocs, last_frees;
	int64_t ms;			/* since then; 0: another stream */
	uint32_t stream_no;
};

static bool
has_ended(const struct nodes_look *look)
{
	return look->state == NODES_ENDED || look->state == NODES_CORRUPT;
}

static bool
is_over(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return has_ended(look) || look->state == NODES_DORMANT ||
	    page_time_stands(look) ||
	    (!look->link.up && !look->link.returns);
}

/* False: the node does not answer. */
static bool
read_counters(struct watch *w, uv_loop_t *loop)
{
	const struct nodes_look *look = nodes_session_look(w->session);
	bool first = w->lines == 0 || look->stream_no != w->stream_no;

	if (!pump_counters(loop, w->session, w->o->timeout_ms))
		return false;
	w->at = mono_now();
	w->wall_ms = base_wall_ms();
	w->ms = first ? 0 : mono_diff_ns(w->at, w->last_at) / 1000000;
	w->allocs = look->keeper[WIRE_N_ALLOCS] - w->last_allocs;
	w->frees = look->keeper[WIRE_N_FREES] - w->last_frees;
	/* A node that was restarted counts from 0. */
	if (look->keeper[WIRE_N_ALLOCS] < w->last_allocs ||
	    look->keeper[WIRE_N_FREES] < w->last_frees)
		w->ms = 0;
	w->last_at = w->at;
	w->last_allocs = look->keeper[WIRE_N_ALLOCS];
	w->last_frees = look->keeper[WIRE_N_FREES];
	w->stream_no = look->stream_no;
	return true;
}

static void
put_row(struct watch *w)
{
	const struct nodes_look *look = nodes_session_look(w->session);
	unsigned subset = PAGE_TARGET_WATCHED |
	    (w->o->repeat.interval_ms % 1000 != 0 ? PAGE_TARGET_MS :
	    PAGE_TARGET_SECONDS);
	struct page_target_row row = {
		.wall_ms = w->wall_ms,
		.utc = w->o->page.utc,
		.pid = look->target.pid,
		.name = look->target.name,
		.state = page_look_state(look),
		.live = look->state == NODES_LIVE,
		.sample = look->sample,
		.n = look->keeper,
		.judged = true,
		.complete = look->complete,
		.reason = page_look_lack(look),
		.lost = page_lost(look),
		.full = look->loss.full,
		.ms = w->ms,
		.allocs = w->allocs,
		.frees = w->frees,
	};
	struct output_table table = { .out = w->out,
		.fields = &page_target_fields, .subset = subset,
		.ascii = w->o->page.ascii, .sampled = look->sample != 0 };

	if (options_as_data(w->o)) {
		json_row(&w->json, &row, PAGE_TARGET_WATCHED);
		return;
	}
	if (w->lines == 0)
		output_heading(&table);
	output_row(&table, &row);
}

static void
put_head(struct watch *w)
{
	json_document(&w->json, "pagek.watch/1", &page_target_fields,
	    PAGE_TARGET_WATCHED);
	json_time(&w->json, "time", base_wall_ms());
	json_put(&w->json, &page_look_target, nodes_session_look(w->session));
	json_rows(&w->json, "samples");
}

/* The exit status comes shortly after the end. */
static bool
has_told_end(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->state != NODES_ENDED || look->target.ended_wall_ms != 0 ||
	    !look->link.up;
}

static void
tell_end(const struct nodes_look *look)
{
	char target[PAGE_TARGET_TEXT], how[PAGE_EXIT_TEXT];

	if (look->state != NODES_ENDED)
		return;
	page_target_text(look, target);
	page_exit_text(look->target.status, how);
	notice("%s has ended%s%s", target[0] != '\0' ? target : "the target",
	    how[0] != '\0' ? ": " : "", how);
}

/*
 * True if no answer came within --timeout, on a link that is up as well.  At
 * least two lines must lack answers: this program may have been stopped during
 * one.
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

static bool
put_lines(struct watch *w, uv_loop_t *loop)
{
	const struct nodes_look *look = nodes_session_look(w->session);
	bool over = false, taken;
	struct mono asked;
	struct pace pace;

	pace_begin(&pace, w->o);
	while (!over) {
		/* The last line is written with the target's final counters. */
		over = is_over(w->session);
		if (over)
			pump(loop, w->session, w->o->timeout_ms, has_told_end,
			    w->session);
		asked = mono_now();
		taken = read_counters(w, loop);
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
watch_target(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
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
	if (options_as_data(o))
		put_head(&w);
	answered = put_lines(&w, loop);
	if (options_as_data(o)) {
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
	return batch_watch(o, loop, watch_target);
}
