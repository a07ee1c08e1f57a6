/* Short work of a job is done in jobs_tick(), long work in libuv's threads. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../history/history.h"
#include "../layout/layout.h"
#include "job.h"

#define ANSWER_MS 15000		/* for a node's welcome, and for each answer */
#define LOOK_MS 1000		/* the longest silence that one look can show */
#define QUIET_MS 400		/* before progress is shown */

void
jobs_say(struct jobs *jobs, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(jobs->page->message, sizeof jobs->page->message, fmt, ap);
	va_end(ap);
}

static void
free_job(struct job *j)
{
	if (j->sending != NULL)
		nodes_listing_close(j->sending);
	if (j->link != NULL)
		nodes_link_close(j->link);
	if (j->pager != NULL)
		jobs_program_close(j->pager);
	j->ops->free(j->source);
	whole_file_close(&j->file);
	free(j);
}

/* A running thread is told to stop, and frees the job. */
static void
end_job(struct job *j)
{
	struct jobs *jobs = j->jobs;

	if (strcmp(jobs->page->message, j->progress) == 0)
		jobs->page->message[0] = '\0';
	if ((j->step == JOB_LEND || j->step == JOB_PAGER) &&
	    jobs->viewer == NULL)
		jobs->terminal = JOBS_TERMINAL_FREE;
	jobs->job[j->ops->kind] = NULL;
	jobs->page->news = true;
	j->jobs = NULL;
	atomic_store(&j->stop, true);
	if (!j->working)
		free_job(j);
}

void
job_fail(struct job *j, const char *fmt, ...)
{
	char why[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	jobs_say(j->jobs, "%.240s: %s", j->refusal, why);
	end_job(j);
}

static void
fail_file(struct job *j, int err)
{
	if (j->to.kind != LISTING_FILE)
		job_fail(j, "cannot write a file in %.200s: %s (TMPDIR names "
		    "another folder)", whole_file_folder(),
		    base_file_words(err));
	else if (j->ops->names_path)
		job_fail(j, "%s", base_file_words(err));
	else
		job_fail(j, "cannot write %.200s: %s", j->to.text,
		    base_file_words(err));
}

struct job *
job_new(struct jobs *jobs, const struct job_ops *ops, const char *refusal)
{
	struct job *j = calloc(1, sizeof *j);
	void *source = calloc(1, ops->source_size);
	struct page_view v;

	if (j == NULL || source == NULL) {
		jobs_say(jobs, "%.240s: %s", refusal, strerror(ENOMEM));
		free(j);
		free(source);
		return NULL;
	}
	j->jobs = jobs;
	j->ops = ops;
	j->source = source;
	j->file = WHOLE_FILE_NONE;
	snprintf(j->refusal, sizeof j->refusal, "%s", refusal);
	j->session = jobs->session;
	page_view_shown(&v, jobs->page, jobs->session);
	j->stream_no = v.look->stream_no;
	j->begun = mono_now();
	jobs->job[ops->kind] = j;
	jobs->warned = false;
	return j;
}

static bool
open_sink(struct job *j, enum whole_file_place place)
{
	int r;

	r = whole_file_open(&j->file, j->to.kind == LISTING_FILE ?
	    j->to.text : NULL, place);
	if (r < 0) {
		fail_file(j, r);
		return false;
	}
	if (j->to.kind != LISTING_NODE)
		return true;
	r = nodes_connect_entry(&j->link, j->jobs->loop, &j->to.entry);
	if (r < 0) {
		j->link = NULL;
		job_fail(j, "%.64s: %s", j->to.text, r == -ENOENT ||
		    r == -ECONNREFUSED ? "no node listens there" :
		    strerror(-r));
	}
	return r >= 0;
}

static void deliver(struct job *);
static void run_portion(struct job *, bool worked);

static void
do_work(uv_work_t *work)
{
	struct job *j = work->data;

	if (j->step == JOB_PREPARE)
		j->err = j->ops->prepare(j->source);
	else if (j->step == JOB_PUBLISH)
		j->err = whole_file_publish(&j->file, true);
	else
		j->err = j->ops->work(j->source, j->file.fd, &j->stop);
}

static void
report_published(struct job *j)
{
	char outcome[160];

	j->ops->outcome(j->source, outcome, sizeof outcome);
	jobs_say(j->jobs, "%s %.160s %s", j->ops->done, j->to.text, outcome);
	end_job(j);
}

static void
fail_rows(struct job *j, int err)
{
	if (j->ops->writes == NULL || j->ops->writes(j->source))
		fail_file(j, err);
	else
		job_fail(j, "%s", strerror(-err));
}

static void
set_step(struct job *j, enum job_step step)
{
	j->step = step;
	j->step_at = mono_now();
}

static void
after_work(struct job *j)
{
	if (j->err < 0 && j->step == JOB_PUBLISH) {
		fail_file(j, j->err);
	} else if (j->err < 0) {
		fail_rows(j, j->err);
	} else if (j->step == JOB_PUBLISH) {
		report_published(j);
	} else if (j->step == JOB_PREPARE) {
		set_step(j, JOB_BEGIN);
		run_portion(j, false);
	} else {
		set_step(j, JOB_ROWS);
		run_portion(j, true);
	}
}

static void
on_worked(uv_work_t *work, int status)
{
	struct job *j = work->data;

	j->working = false;
	if (j->jobs == NULL)
		free_job(j);
	else if (status < 0)
		job_fail(j, "%s", strerror(-status));
	else
		after_work(j);
}

static void
start_work(struct job *j, enum job_step step)
{
	int r;

	set_step(j, step);
	j->work.data = j;
	r = nodes_queue_work(j->jobs->loop, &j->work, do_work, on_worked);
	if (r < 0)
		job_fail(j, "%s", strerror(-r));
	else
		j->working = true;
}

bool
jobs_have_list(const struct page_view *v, bool window)
{
	const struct nodes_look *look = v->look;

	if (look->list == NULL || !look->listed)
		return false;
	/* A paused picture, or the last list of a node that is gone. */
	if (v->look != v->live || !look->link.up)
		return window || !look->window;
	return look->settled && !look->behind && !look->window;
}

bool
job_is_stale(const struct job *j, const struct page_view *v)
{
	return j->jobs->session != j->session ||
	    v->look->stream_no != j->stream_no;
}

void
job_count_text(uint64_t n, const char *what, char out[64])
{
	char count[32];

	base_group_digits(count, sizeof count, n);
	snprintf(out, 64, "%s %s%s", count, what, n == 1 ? "" : "s");
}

static int
begin_rows(struct job *j, const struct page_view *v)
{
	bool late = mono_ms_since(j->step_at) >= j->ops->wait_ms;
	int r;

	if (job_is_stale(j, v)) {
		job_fail(j, "the page shows another target now");
		return JOB_FAILED;
	}
	r = j->ops->begin(j, v, late);
	if (r == -EAGAIN && !late)
		return JOB_MORE;
	if (r == -EAGAIN) {
		job_fail(j, "the list did not arrive within %d s",
		    j->ops->wait_ms / 1000);
		return JOB_FAILED;
	}
	if (r != JOB_BEGUN)
		return r;
	set_step(j, JOB_ROWS);
	return j->ops->go_on(j, v, false);
}

static void
run_portion(struct job *j, bool worked)
{
	struct page_view v;
	int r;

	page_view_shown(&v, j->jobs->page, j->jobs->session);
	r = j->step == JOB_BEGIN ? begin_rows(j, &v) :
	    j->ops->go_on(j, &v, worked);
	if (r == JOB_THREAD)
		start_work(j, JOB_WORK);
	else if (r == JOB_DONE)
		deliver(j);
	else if (r < 0)
		fail_rows(j, r);
}

void
job_start(struct job *j, const struct listing_to *to,
    enum whole_file_place place)
{
	j->to = *to;
	if (!open_sink(j, place))
		return;
	if (j->ops->prepare != NULL) {
		start_work(j, JOB_PREPARE);
		return;
	}
	set_step(j, JOB_BEGIN);
	run_portion(j, false);
}

/* Asks for the terminal, unless an editor has it. */
static void
want_terminal(struct jobs *jobs)
{
	if (jobs->terminal == JOBS_TERMINAL_FREE)
		jobs->terminal = JOBS_TERMINAL_WANTED;
}

static void
deliver(struct job *j)
{
	switch (j->to.kind) {
	case LISTING_FILE:
		start_work(j, JOB_PUBLISH);
		break;
	case LISTING_NODE:
		j->step = JOB_CONNECT;
		break;
	case LISTING_PAGER:
		j->step = JOB_LEND;
		want_terminal(j->jobs);
		break;
	}
}

/* False: the link to the node is lost, and the job has failed. */
static bool
check_link(struct job *j)
{
	const char *why;
	enum nodes_state state;

	if (j->link == NULL)
		return true;
	state = nodes_link_state(j->link, &why);
	if (state == NODES_LIVE)
		return true;
	if (state != NODES_CONNECTING)
		job_fail(j, "%.64s: %s", j->to.text, why != NULL &&
		    why[0] != '\0' ? why : page_state_name(state));
	else if (mono_ms_since(j->begun) >= ANSWER_MS)
		job_fail(j, "%.64s does not answer", j->to.text);
	else
		return true;
	return false;
}

static void
on_sent(void *arg, int err, const char *words)
{
	struct job *j = arg;

	j->answered = true;
	j->answer = err;
	snprintf(j->words, sizeof j->words, "%s", words != NULL ? words : "");
}

static void
send_rows(struct job *j)
{
	char title[LISTING_TITLE];
	struct nodes_listing_opts opts = {
		.title = title,
		.fd = j->file.fd,
		.size = j->ops->bytes(j->source),
	};
	int r;

	if (nodes_link_state(j->link, NULL) != NODES_LIVE)
		return;
	j->ops->title(j->source, title);
	r = nodes_listing_send(&j->sending, j->link, &opts, on_sent, j);
	if (r == -EFBIG)
		job_fail(j, "%.64s: no node takes more than %u MiB, and the "
		    "list has %llu; send it to a file", j->to.text,
		    WIRE_LISTING_PARTS * (WIRE_LISTING_PART >> 20),
		    (unsigned long long)(opts.size >> 20));
	else if (r < 0)
		job_fail(j, "%.64s: %s", j->to.text, strerror(-r));
	if (r < 0)
		return;
	j->step = JOB_SEND;
	j->looked_at = mono_now();
}

/*
 * The node has taken no bytes for ANSWER_MS.  Each look counts LOOK_MS at most,
 * so that a stop of the page itself does not count.
 */
static bool
is_silent(struct job *j)
{
	uint64_t sent = nodes_listing_done(j->sending);
	int64_t ms = mono_ms_since(j->looked_at);

	j->looked_at = mono_now();
	j->silent_ms += ms < LOOK_MS ? ms : LOOK_MS;
	if (sent != j->sent)
		j->silent_ms = 0;
	j->sent = sent;
	return j->silent_ms >= ANSWER_MS;
}

static void
check_answer(struct job *j)
{
	char outcome[160];

	if (!j->answered) {
		if (check_link(j) && is_silent(j))
			job_fail(j, "%.64s does not answer any more",
			    j->to.text);
	} else if (j->answer < 0) {
		job_fail(j, "%.64s: %s", j->to.text, j->words[0] != '\0' ?
		    j->words : strerror(-j->answer));
	} else {
		j->ops->outcome(j->source, outcome, sizeof outcome);
		jobs_say(j->jobs, "%s sent to %.64s as %.80s %s", j->ops->name,
		    j->to.text, j->words, outcome);
		end_job(j);
	}
}

static void
on_pager_end(void *arg, int status, int signal)
{
	struct job *j = arg;
	struct jobs *jobs = j->jobs;
	char outcome[160];

	j->ops->outcome(j->source, outcome, sizeof outcome);
	if (signal != 0)
		jobs_say(jobs, "the pager was ended by signal %d", signal);
	else if (status == 127)
		jobs_say(jobs, "the pager was not found: set PAGER, or name it "
		    "in *L<>");
	else if (status != 0)
		jobs_say(jobs, "the pager failed: exit %d", status);
	else if (strchr(outcome, ';') != NULL)
		jobs_say(jobs, "the pager had the %s %s", j->ops->name,
		    outcome);
	end_job(j);
}

static int
start_pager(struct job *j)
{
	char shell[] = "/bin/sh", c[] = "-c";

	if (lseek(j->file.fd, 0, SEEK_SET) < 0)
		return -errno;
	return jobs_program_start(&j->pager, j->jobs->loop,
	    (char *[]){ shell, c, j->to.text, NULL }, j->file.fd,
	    on_pager_end, j);
}

void
jobs_lent(struct jobs *jobs)
{
	struct job *j = jobs->job[JOB_LISTING];
	int r;

	if (jobs->viewer != NULL) {
		jobs_run_viewer(jobs);
		return;
	}
	if (j == NULL || j->step != JOB_LEND) {
		jobs->terminal = JOBS_TERMINAL_FREE;
		return;
	}
	j->step = JOB_PAGER;
	r = start_pager(j);
	if (r < 0)
		job_fail(j, "cannot start the pager: %s", strerror(-r));
}

static void
progress_text(const struct job *j, char *out, size_t cap)
{
	char a[48], b[48];

	switch (j->step) {
	case JOB_PREPARE:
	case JOB_BEGIN:
		snprintf(out, cap, "waits for the whole list");
		break;
	case JOB_ROWS:
	case JOB_WORK:
	case JOB_PUBLISH:
		j->ops->progress(j->source, out, cap);
		break;
	case JOB_CONNECT:
		snprintf(out, cap, "waits for the node");
		break;
	case JOB_SEND:
		base_human_bytes(a, sizeof a, nodes_listing_done(j->sending));
		base_human_bytes(b, sizeof b, j->ops->bytes(j->source));
		snprintf(out, cap, "%s of %s sent", a, b);
		break;
	case JOB_LEND:
	case JOB_PAGER:
		snprintf(out, cap, "in the pager");
		break;
	}
}

void
job_say_progress(struct job *j)
{
	const char *esc = j->jobs->esc ? "; Esc cancels" : "";
	char text[128];

	progress_text(j, text, sizeof text);
	if (j->to.kind == LISTING_PAGER)
		jobs_say(j->jobs, "%s: %s%s", j->ops->name, text, esc);
	else
		jobs_say(j->jobs, "%s to %.64s: %s%s", j->ops->name,
		    j->to.text, text, esc);
	snprintf(j->progress, sizeof j->progress, "%.255s",
	    j->jobs->page->message);
}

/* Does not replace another message. */
static void
update_progress(struct job *j)
{
	const char *message = j->jobs->page->message;

	if (mono_ms_since(j->begun) < QUIET_MS)
		return;
	if (message[0] == '\0' || strcmp(message, j->progress) == 0)
		job_say_progress(j);
}

static void
tick_job(struct job *j)
{
	if (j->step < JOB_SEND && !check_link(j))
		return;
	switch (j->step) {
	case JOB_BEGIN:
	case JOB_ROWS:
		run_portion(j, false);
		break;
	case JOB_CONNECT:
		send_rows(j);
		break;
	case JOB_SEND:
		check_answer(j);
		break;
	case JOB_LEND:
		want_terminal(j->jobs);
		break;
	case JOB_PREPARE:
	case JOB_WORK:
	case JOB_PUBLISH:
	case JOB_PAGER:
		break;
	}
}

void
jobs_tick(struct jobs *jobs, bool esc)
{
	jobs->esc = esc;
	for (int i = 0; i < JOB_KINDS; i++) {
		struct job *j = jobs->job[i];

		if (j != NULL)
			tick_job(j);
		if (j != NULL && jobs->job[i] == j)
			update_progress(j);
	}
}

const char *
jobs_running(const struct jobs *jobs)
{
	for (int i = 0; i < JOB_KINDS; i++)
		if (jobs->job[i] != NULL)
			return jobs->job[i]->ops->one;
	return NULL;
}

bool
jobs_need_all(const struct jobs *jobs)
{
	for (int i = 0; i < JOB_KINDS; i++) {
		const struct job *j = jobs->job[i];

		if (j == NULL || j->step > JOB_WORK)
			continue;
		if (j->step <= JOB_BEGIN || (j->ops->needs_all != NULL &&
		    j->ops->needs_all(j->source)))
			return true;
	}
	return false;
}

bool
jobs_cancel(struct jobs *jobs)
{
	for (int i = 0; i < JOB_KINDS; i++) {
		struct job *j = jobs->job[i];

		if (j == NULL)
			continue;
		jobs_say(jobs, "the %s was cancelled", j->ops->name);
		end_job(j);
		return true;
	}
	return false;
}

void
jobs_fini(struct jobs *jobs)
{
	for (int i = 0; i < JOB_KINDS; i++)
		if (jobs->job[i] != NULL)
			end_job(jobs->job[i]);
	jobs_drop_viewer(jobs);
}
