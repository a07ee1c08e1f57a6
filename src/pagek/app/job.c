/*
 * Jobs: a source writes its rows into a file, which then goes to the sink.
 *
 * Each cycle looks at them once: app_jobs_tick().  What is quick is done there,
 * a portion at a time; the rest is done by libuv's threads.
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../history/history.h"
#include "../layout/layout.h"
#include "job.h"
#include "panel.h"

struct pager;

/* It has ended, by itself; not called after pager_close(). */
typedef void (*pager_over_cb)(void *arg, int status, int signal);

/*
 * Runs a command of the shell with the file as its standard input, from the
 * file's start.  The descriptor stays the caller's.  0 or a negative errno.
 */
static int pager_start(struct pager **, uv_loop_t *, const char *command, int fd,
    pager_over_cb, void *arg);
/* One that still runs is asked to end, and not waited for. */
static void pager_close(struct pager *);

#define LINK_MS 15000		/* for a node's welcome, and for each of its answers */
#define STILL_MS 1000		/* between two looks; of more the page knows nothing */
#define QUIET_MS 400		/* from then on progress is shown */

enum step {
	STEP_ROWS,		/* the source goes on */
	STEP_WORK,		/* ... in a thread */
	STEP_PUBLISH,		/* in a thread */
	STEP_LINK,		/* waits for the node */
	STEP_SEND,
	STEP_LEND,		/* waits for the terminal */
	STEP_PAGER,
};

struct app_job {
	struct app *app;	/* NULL: it is cancelled, but for its thread */
	const struct job_ops *ops;
	void *source;
	char no[LINE_TEXT + 32];
	enum step step;
	struct mono begun;
	struct listing_to to;
	struct whole_file file;
	const struct nodes_session *session;	/* whose list it is */
	uint32_t stream_no;

	uv_work_t work;
	bool working;
	atomic_bool stop;
	int err;		/* of the work */

	struct nodes_link *link;
	struct nodes_listing *sending;
	uint64_t done;		/* bytes that the node has, at looked_at ... */
	int64_t silent_ms;	/* ... and for so long no more */
	struct mono looked_at;
	bool told;		/* the node has answered: sent_err, words */
	int sent_err;
	char words[512];

	struct pager *pager;
	char progress[256];	/* as it was said last */
};

/* --- life --------------------------------------------------------------- */

static void
free_job(struct app_job *j)
{
	if (j->sending != NULL)
		nodes_listing_close(j->sending);
	if (j->link != NULL)
		nodes_link_close(j->link);
	pager_close(j->pager);
	j->ops->free(j->source);
	whole_file_close(&j->file);
	free(j);
}

/* A thread is asked to end, not awaited. */
static void
end_job(struct app_job *j)
{
	struct app *app = j->app;

	if (strcmp(app->page->message, j->progress) == 0)
		app->page->message[0] = '\0';
	if (j->step == STEP_LEND || j->step == STEP_PAGER)
		app->asks.lend = APP_LEND_NO;
	app->jobs.job[j->ops->kind] = NULL;
	app->page->news = true;
	j->app = NULL;
	atomic_store(&j->stop, true);
	if (!j->working)
		free_job(j);
}

void
job_fail(struct app_job *j, const char *fmt, ...)
{
	char why[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	app_say(j->app, "%.240s: %s", j->no, why);
	end_job(j);
}

/* The disk is this machine's, even if a node was to have the rows. */
static void
fail_file(struct app_job *j, int err)
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

static void __attribute__((format(printf, 2, 3)))
succeed(struct app_job *j, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof text, fmt, ap);
	va_end(ap);
	app_say(j->app, "%s", text);
	end_job(j);
}

struct app_job *
job_new(struct app *app, const struct job_ops *ops, void *source,
    const char *no)
{
	struct app_job *j = app->loop != NULL ? calloc(1, sizeof *j) : NULL;
	struct page_view v;

	if (j == NULL) {
		app_say(app, "%.240s: %s", no, app->loop == NULL ?
		    "there is no loop to send it by" : strerror(ENOMEM));
		ops->free(source);
		return NULL;
	}
	j->app = app;
	j->ops = ops;
	j->source = source;
	j->file = WHOLE_FILE_NONE;
	snprintf(j->no, sizeof j->no, "%s", no);
	j->session = app->session;
	page_view_shown(&v, app->page, app->session);
	j->stream_no = v.look->stream_no;
	j->begun = mono_now();
	app->jobs.job[ops->kind] = j;
	app->jobs.warned = false;
	return j;
}

/* Without a sink there are no rows. */
bool
job_open(struct app_job *j, const struct listing_to *to,
    enum whole_file_place place)
{
	int r;

	j->to = *to;
	r = whole_file_open(&j->file, to->kind == LISTING_FILE ?
	    j->to.text : NULL, place);
	if (r < 0) {
		fail_file(j, r);
		return false;
	}
	if (to->kind != LISTING_NODE)
		return true;
	r = nodes_connect_entry(&j->link, j->app->loop, &j->to.entry);
	if (r < 0) {
		j->link = NULL;
		job_fail(j, "%.64s: %s", j->to.text, r == -ENOENT ||
		    r == -ECONNREFUSED ? "no node listens there" :
		    strerror(-r));
	}
	return r >= 0;
}

void *
job_source(const struct app_job *j)
{
	return j->source;
}

struct app *
job_app(const struct app_job *j)
{
	return j->app;
}

int
job_fd(const struct app_job *j)
{
	return j->file.fd;
}

int64_t
job_ms(const struct app_job *j)
{
	return mono_ms_since(j->begun);
}

const char *
job_path(const struct app_job *j)
{
	return j->to.text;
}

/* --- threads ------------------------------------------------------------ */

static void deliver(struct app_job *);
static void run_portion(struct app_job *, bool worked);

static void
do_work(uv_work_t *work)
{
	struct app_job *j = work->data;

	j->err = j->step == STEP_PUBLISH ? whole_file_publish(&j->file, true) :
	    j->ops->work(j->source, j->file.fd, &j->stop);
}

static void
published(struct app_job *j)
{
	char outcome[160];

	j->ops->outcome(j->source, outcome, sizeof outcome);
	succeed(j, "%s %.160s %s", j->ops->done, j->to.text, outcome);
}

static void
fail_rows(struct app_job *j, int err)
{
	if (j->ops->writes(j->source))
		fail_file(j, err);
	else
		job_fail(j, "%s", strerror(-err));
}

static void
after_work(struct app_job *j)
{
	if (j->err < 0 && j->step == STEP_PUBLISH) {
		fail_file(j, j->err);
	} else if (j->err < 0) {
		fail_rows(j, j->err);
	} else if (j->step == STEP_PUBLISH) {
		published(j);
	} else {
		j->step = STEP_ROWS;
		run_portion(j, true);
	}
}

static void
on_worked(uv_work_t *work, int status)
{
	struct app_job *j = work->data;

	j->working = false;
	if (j->app == NULL)
		free_job(j);
	else if (status < 0)
		job_fail(j, "%s", strerror(-status));
	else
		after_work(j);
}

static void
begin_work(struct app_job *j, enum step step)
{
	int r;

	j->step = step;
	j->work.data = j;
	r = nodes_queue_work(j->app->loop, &j->work, do_work, on_worked);
	if (r < 0)
		job_fail(j, "%s", strerror(-r));
	else
		j->working = true;
}

/* --- rows --------------------------------------------------------------- */

bool
job_list_is_there(const struct page_view *v, bool window)
{
	const struct nodes_look *look = v->look;

	if (look->list == NULL || !look->listed)
		return false;
	/* The paused picture, or the last one of a node that is gone. */
	if (v->look != v->live || !look->linked)
		return window || !look->window;
	return look->settled && !look->behind && !look->window;
}

bool
job_is_left(const struct app_job *j, const struct page_view *v)
{
	return j->app->session != j->session ||
	    v->look->stream_no != j->stream_no;
}

static void
run_portion(struct app_job *j, bool worked)
{
	struct page_view v;
	int r;

	page_view_shown(&v, j->app->page, j->app->session);
	r = j->ops->go_on(j, &v, worked);
	if (r == JOB_THREAD)
		begin_work(j, STEP_WORK);
	else if (r == JOB_DONE)
		deliver(j);
	else if (r < 0)
		fail_rows(j, r);
}

void
job_go_on(struct app_job *j)
{
	run_portion(j, false);
}

/* --- sinks -------------------------------------------------------------- */

static void
deliver(struct app_job *j)
{
	switch (j->to.kind) {
	case LISTING_FILE:
		begin_work(j, STEP_PUBLISH);
		break;
	case LISTING_NODE:
		j->step = STEP_LINK;
		break;
	case LISTING_PAGER:
		j->step = STEP_LEND;
		j->app->asks.lend = APP_LEND_DUE;
		break;
	}
}

/* False: the link to the node is lost, and the job is over. */
static bool
link_holds(struct app_job *j)
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
	else if (mono_ms_since(j->begun) >= LINK_MS)
		job_fail(j, "%.64s does not answer", j->to.text);
	else
		return true;
	return false;
}

static void
on_sent(void *arg, int err, const char *words)
{
	struct app_job *j = arg;

	j->told = true;
	j->sent_err = err;
	snprintf(j->words, sizeof j->words, "%s", words != NULL ? words : "");
}

static void
send_rows(struct app_job *j)
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
		    "list has %llu; a file takes it", j->to.text,
		    WIRE_LISTING_PARTS * (WIRE_LISTING_PART >> 20),
		    (unsigned long long)(opts.size >> 20));
	else if (r < 0)
		job_fail(j, "%.64s: %s", j->to.text, strerror(-r));
	if (r < 0)
		return;
	j->step = STEP_SEND;
	j->looked_at = mono_now();
}

/*
 * It has not answered for long, though the link holds.  Counted from look to
 * look: a page that was itself stopped in between has heard no one.
 */
static bool
is_silent(struct app_job *j)
{
	uint64_t done = nodes_listing_done(j->sending);
	int64_t ms = mono_ms_since(j->looked_at);

	j->looked_at = mono_now();
	j->silent_ms += ms < STILL_MS ? ms : STILL_MS;
	if (done != j->done)
		j->silent_ms = 0;
	j->done = done;
	return j->silent_ms >= LINK_MS;
}

static void
see_sent(struct app_job *j)
{
	char outcome[160];

	if (!j->told) {
		if (link_holds(j) && is_silent(j))
			job_fail(j, "%.64s does not answer any more",
			    j->to.text);
	} else if (j->sent_err < 0) {
		job_fail(j, "%.64s: %s", j->to.text, j->words[0] != '\0' ?
		    j->words : strerror(-j->sent_err));
	} else {
		j->ops->outcome(j->source, outcome, sizeof outcome);
		succeed(j, "%s sent to %.64s as %.80s %s", j->ops->name,
		    j->to.text, j->words, outcome);
	}
}

static void
on_pager_over(void *arg, int status, int signal)
{
	struct app_job *j = arg;
	char outcome[160];

	j->ops->outcome(j->source, outcome, sizeof outcome);
	if (signal != 0)
		succeed(j, "the pager was ended by signal %d", signal);
	else if (status == 127)
		succeed(j, "the pager was not found: PAGER, or what stands in "
		    "*L<>, names it");
	else if (status != 0)
		succeed(j, "the pager failed: exit %d", status);
	else if (strchr(outcome, ';') != NULL)
		succeed(j, "the pager had the %s %s", j->ops->name, outcome);
	else
		end_job(j);
}

void
app_lent(struct app *app)
{
	struct app_job *j = app->jobs.job[APP_JOB_LISTING];
	int r;

	if (j == NULL || j->step != STEP_LEND) {
		app->asks.lend = APP_LEND_NO;
		return;
	}
	j->step = STEP_PAGER;
	r = pager_start(&j->pager, app->loop, j->to.text, j->file.fd,
	    on_pager_over, j);
	if (r < 0)
		job_fail(j, "cannot start the pager: %s", strerror(-r));
}

/* --- progress ----------------------------------------------------------- */

static void
progress_text(const struct app_job *j, char *out, size_t cap)
{
	char a[48], b[48];

	switch (j->step) {
	case STEP_ROWS:
	case STEP_WORK:
	case STEP_PUBLISH:
		j->ops->progress(j->source, out, cap);
		break;
	case STEP_LINK:
		snprintf(out, cap, "waits for the node");
		break;
	case STEP_SEND:
		base_human_bytes(a, sizeof a, nodes_listing_done(j->sending));
		base_human_bytes(b, sizeof b, j->ops->bytes(j->source));
		snprintf(out, cap, "%s of %s sent", a, b);
		break;
	case STEP_LEND:
	case STEP_PAGER:
		snprintf(out, cap, "in the pager");
		break;
	}
}

/* With something open Esc closes that. */
static bool
esc_is_free(const struct app *app)
{
	return app_panel_top(app) == APP_PAGE_K &&
	    app->places.going.session == NULL &&
	    app->page->fields.at == PAGE_NO_FIELD;
}

void
job_say_progress(struct app_job *j)
{
	const char *esc = esc_is_free(j->app) ? "; Esc cancels" : "";
	char text[128];

	progress_text(j, text, sizeof text);
	if (j->to.kind == LISTING_PAGER)
		app_say(j->app, "%s: %s%s", j->ops->name, text, esc);
	else
		app_say(j->app, "%s to %.64s: %s%s", j->ops->name, j->to.text,
		    text, esc);
	snprintf(j->progress, sizeof j->progress, "%.255s",
	    j->app->page->message);
}

/* Not over a message that somebody has yet to read. */
static void
keep_progress(struct app_job *j)
{
	const char *message = j->app->page->message;

	if (mono_ms_since(j->begun) < QUIET_MS)
		return;
	if (message[0] == '\0' || strcmp(message, j->progress) == 0)
		job_say_progress(j);
}

/* --- all jobs ----------------------------------------------------------- */

static void
tick(struct app_job *j)
{
	if (j->step < STEP_SEND && !link_holds(j))
		return;
	switch (j->step) {
	case STEP_ROWS:
		run_portion(j, false);
		break;
	case STEP_LINK:
		send_rows(j);
		break;
	case STEP_SEND:
		see_sent(j);
		break;
	case STEP_WORK:
	case STEP_PUBLISH:
	case STEP_LEND:
	case STEP_PAGER:
		break;
	}
}

void
app_jobs_tick(struct app *app)
{
	for (int i = 0; i < APP_JOBS; i++) {
		struct app_job *j = app->jobs.job[i];

		if (j != NULL)
			tick(j);
		if (j != NULL && app->jobs.job[i] == j)
			keep_progress(j);
	}
}

const char *
app_jobs_one(const struct app *app)
{
	for (int i = 0; i < APP_JOBS; i++)
		if (app->jobs.job[i] != NULL)
			return app->jobs.job[i]->ops->one;
	return NULL;
}

bool
app_jobs_want_all(const struct app *app)
{
	for (int i = 0; i < APP_JOBS; i++) {
		const struct app_job *j = app->jobs.job[i];

		if (j != NULL && j->step <= STEP_WORK &&
		    j->ops->wants_all(j->source))
			return true;
	}
	return false;
}

bool
app_jobs_cancel(struct app *app)
{
	for (int i = 0; i < APP_JOBS; i++) {
		struct app_job *j = app->jobs.job[i];
		const char *name = j != NULL ? j->ops->name : NULL;

		if (j == NULL)
			continue;
		end_job(j);
		app_say(app, "the %s was cancelled", name);
		return true;
	}
	return false;
}

void
app_jobs_fini(struct app *app)
{
	for (int i = 0; i < APP_JOBS; i++)
		if (app->jobs.job[i] != NULL)
			end_job(app->jobs.job[i]);
}

/* --- the pager ------------------------------------------------------------ */

struct pager {
	uv_process_t process;
	bool running;
	pager_over_cb over;
	void *arg;
};

static void
on_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void
on_exit_of(uv_process_t *process, int64_t status, int signal)
{
	struct pager *p = process->data;

	p->running = false;
	p->over(p->arg, (int)status, signal);
}

static int
pager_start(struct pager **out, uv_loop_t *loop, const char *command, int fd,
    pager_over_cb over, void *arg)
{
	struct pager *p;
	char shell[] = "/bin/sh", c[] = "-c";
	char *words;
	int r;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	p = calloc(1, sizeof *p);
	words = strdup(command);
	if (p == NULL || words == NULL) {
		free(p);
		free(words);
		return -ENOMEM;
	}
	uv_process_options_t options = {
		.exit_cb = on_exit_of,
		.file = shell,
		.args = (char *[]){ shell, c, words, NULL },
		.stdio_count = 3,
		.stdio = (uv_stdio_container_t[]){
			{ .flags = UV_INHERIT_FD, .data.fd = fd },
			{ .flags = UV_INHERIT_FD, .data.fd = STDOUT_FILENO },
			{ .flags = UV_INHERIT_FD, .data.fd = STDERR_FILENO },
		},
	};
	p->over = over;
	p->arg = arg;
	p->process.data = p;
	r = uv_spawn(loop, &p->process, &options);
	free(words);
	if (r < 0) {
		uv_close((uv_handle_t *)&p->process, on_closed);
		return r;
	}
	p->running = true;
	*out = p;
	return 0;
}

static void
pager_close(struct pager *p)
{
	if (p == NULL)
		return;
	/* Nobody reaps it then: that is for whoever inherits it from us. */
	if (p->running)
		uv_process_kill(&p->process, SIGTERM);
	uv_close((uv_handle_t *)&p->process, on_closed);
}
