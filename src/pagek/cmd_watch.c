/*
 * pagek watch: what a target holds, a line each interval.
 *
 * The numbers are the keeper's own, asked for when a line is due; of the list
 * nothing is wanted, so that a busy target sends none of it.
 */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "../base/base.h"
#include "../page/view.h"
#include "commands.h"
#include "json.h"
#include "pump.h"

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
take(struct watch *w, uv_loop_t *loop)
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

/* --- as text -------------------------------------------------------------- */

static void
put_time(const struct watch *w)
{
	time_t second = (time_t)(w->wall_ms / 1000);
	char text[16] = "";
	struct tm tm;

	if ((w->o->page.utc ? gmtime_r(&second, &tm) :
	    localtime_r(&second, &tm)) != NULL)
		strftime(text, sizeof text, "%H:%M:%S", &tm);
	fputs(text, w->out);
	if (w->o->interval_ms % 1000 != 0)
		fprintf(w->out, ".%03d", (int)(w->wall_ms % 1000));
}

static void
put_count(const struct watch *w, int columns, const char *about,
    uint64_t n)
{
	char digits[32], text[40];

	base_group_digits(digits, sizeof digits, n);
	snprintf(text, sizeof text, "%s%s", about, digits);
	fprintf(w->out, " %*s", columns, text);
}

static void
put_bytes(const struct watch *w, const char *about, uint64_t n)
{
	char bytes[24], text[32];

	base_human_bytes(bytes, sizeof bytes, n);
	snprintf(text, sizeof text, "%s%s", about, bytes);
	fprintf(w->out, " %11s", text);
}

static uint64_t
per_second(const struct watch *w, uint64_t n)
{
	return w->ms > 0 ? (n * 1000 + (uint64_t)w->ms / 2) / (uint64_t)w->ms :
	    0;
}

static uint64_t
peak_of(const struct nodes_look *look)
{
	return look->keeper[look->sample != 0 ? WIRE_N_EST_PEAK_BYTES :
	    WIRE_N_PEAK_BYTES];
}

/* What came and went has no size to scale it by: it is the sample's, and says so. */
static void
put_heading(const struct watch *w, bool sampled)
{
	fprintf(w->out, "%-*s %12s %11s %10s %10s %10s %11s %8s\n",
	    w->o->interval_ms % 1000 != 0 ? 12 : 8, "TIME", "BLOCKS", "BYTES",
	    sampled ? "SMP-ALLOCS" : "ALLOCS",
	    sampled ? "SMP-FREES" : "FREES",
	    sampled ? "SMP-REC/S" : "REC/S", "PEAK", "LOST");
}

static void
put_line(const struct watch *w)
{
	const struct nodes_look *look = nodes_session_look(w->session);
	const char *about = page_about(look->sample);

	if (w->lines == 0)
		put_heading(w, look->sample != 0);
	put_time(w);
	put_count(w, 12, about, look->keeper[WIRE_N_EST_BLOCKS]);
	put_bytes(w, about, look->keeper[WIRE_N_EST_BYTES]);
	if (w->ms > 0) {
		put_count(w, 10, "", w->allocs);
		put_count(w, 10, "", w->frees);
		put_count(w, 10, "", per_second(w, w->allocs + w->frees));
	} else {
		fprintf(w->out, " %10s %10s %10s", "-", "-", "-");
	}
	put_bytes(w, about, peak_of(look));
	put_count(w, 8, "", page_lost(look));
	if (look->state != NODES_LIVE)
		fprintf(w->out, "  %s", page_state_name(look->state));
	fprintf(w->out, "%s%s\n", look->complete ? "" : "  INCOMPLETE",
	    look->full > 0 ? ", the list was full" : "");
}

/* --- as data -------------------------------------------------------------- */

static void
put_since(struct watch *w, const char *key, uint64_t n)
{
	json_key(&w->json, key);
	if (w->ms > 0)
		json_number(&w->json, n);
	else
		json_null(&w->json);
}

static void
put_row(struct watch *w)
{
	static const struct json_stat numbers[] = {
		{ "live_blocks", WIRE_N_LIVE_BLOCKS },
		{ "live_bytes", WIRE_N_LIVE_BYTES },
		{ "est_blocks", WIRE_N_EST_BLOCKS },
		{ "est_bytes", WIRE_N_EST_BYTES },
		{ "peak_bytes", WIRE_N_PEAK_BYTES },
		{ "est_peak_bytes", WIRE_N_EST_PEAK_BYTES },
	};
	const struct nodes_look *look = nodes_session_look(w->session);
	struct json *j = &w->json;

	json_begin(j, '{', false);
	json_key(j, "time");
	json_time(j, w->wall_ms);
	json_key(j, "pid");
	if (look->pid > 0)
		json_signed(j, look->pid);
	else
		json_null(j);
	json_key(j, "name");
	json_text(j, or_null(look->target_name));
	json_key(j, "state");
	json_text(j, page_state_name(look->state));
	json_stats(j, numbers, BASE_NELEM(numbers), look->keeper, true);
	json_sample(j, look->sample);
	put_since(w, "interval_ms", (uint64_t)w->ms);
	put_since(w, "allocs", w->allocs);
	put_since(w, "frees", w->frees);
	put_since(w, "allocs_per_second", per_second(w, w->allocs));
	put_since(w, "frees_per_second", per_second(w, w->frees));
	json_key(j, "complete");
	json_bool(j, look->complete);
	json_key(j, "lost");
	json_number(j, page_lost(look));
	json_key(j, "full");
	json_number(j, look->full);
	json_end(j);
}

static void
begin_rows(struct watch *w)
{
	static const struct json_column columns[] = {
		{ "time", NULL }, { "pid", NULL }, { "name", NULL },
		{ "state", NULL }, { "live_blocks", NULL },
		{ "live_bytes", NULL }, { "est_blocks", NULL },
		{ "est_bytes", NULL }, { "peak_bytes", NULL },
		{ "est_peak_bytes", NULL }, { "estimated", NULL },
		{ "sample_period", NULL }, { "interval_ms", NULL },
		{ "allocs", NULL }, { "frees", NULL },
		{ "allocs_per_second", NULL }, { "frees_per_second", NULL },
		{ "complete", NULL }, { "lost", NULL }, { "full", NULL },
	};

	json_document(&w->json, "pagek.watch/1", columns, BASE_NELEM(columns));
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
		taken = take(w, loop);
		if (taken) {
			if (w->o->json)
				put_row(w);
			else
				put_line(w);
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
