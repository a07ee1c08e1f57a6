/*
 * A listing on its way, while the page goes on.
 *
 * Each cycle it is looked at once: app_listing_tick().  What is quick is done
 * there, a bit at a time; what is not is done by libuv's threads.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "listing.h"
#include "pager.h"

#define WHOLE_MS 60000		/* for a list that is whole */
#define NAMES_MS 5000		/* for the next name that comes */
#define NAMES_MOST_MS 60000	/* for all of them */
#define NAMES_AT_ONCE 256
#define NAMES_BUDGET_NS 3000000	/* of a cycle */
#define LINK_MS 15000		/* for a node's welcome, and for each of its answers */
#define STILL_MS 1000		/* between two looks; of more the page knows nothing */
#define QUIET_MS 400		/* from then on it is said how far it is */

enum step {
	STEP_ROOM,		/* in a thread */
	STEP_WHOLE,		/* waits for the whole list */
	STEP_SORT,		/* in a thread */
	STEP_NAMES,
	STEP_WRITE,		/* in a thread */
	STEP_LINK,		/* waits for the node */
	STEP_SEND,
	STEP_LEND,		/* waits for the terminal */
	STEP_PAGER,
};

struct app_job {
	struct app *app;	/* NULL: nobody waits for it any more */
	enum step step;
	struct mono begun, step_at;
	struct listing_to to;
	const struct nodes_session *session;	/* whose list it is */
	uint32_t stream_no;
	struct listing *l;
	uint64_t room;		/* blocks that it will have, about */
	struct listing_file file;

	uv_work_t work;
	bool working;
	atomic_bool stop;
	int err;		/* of the work */

	size_t lacking;		/* at names_at, when it last got fewer */
	struct mono names_at;

	struct nodes_link *link;
	struct nodes_listing *sending;
	uint64_t done;		/* bytes of it that the node has, at looked_at ... */
	int64_t silent_ms;	/* ... and for so long no more */
	struct mono looked_at;
	bool told;		/* what has become of it: sent_err, words */
	int sent_err;
	char words[512];

	struct pager *pager;
	char progress[256];	/* as it was said last */
};

/* --- life --------------------------------------------------------------- */

static void
job_free(struct app_job *j)
{
	if (j->sending != NULL)
		nodes_listing_close(j->sending);
	if (j->link != NULL)
		nodes_link_close(j->link);
	pager_close(j->pager);
	listing_free(j->l);
	listing_file_close(&j->file);
	free(j);
}

/* A thread is asked to end, not awaited; how far it was is nothing to read. */
static void
job_end(struct app_job *j)
{
	struct app *app = j->app;

	if (strcmp(app->page->message, j->progress) == 0)
		app->page->message[0] = '\0';
	app->asks.lend = APP_LEND_NO;
	app->jobs.listing = NULL;
	app->page->news = true;
	j->app = NULL;
	atomic_store(&j->stop, true);
	if (!j->working)
		job_free(j);
}

static void fail(struct app_job *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
fail(struct app_job *j, const char *fmt, ...)
{
	char why[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof why, fmt, ap);
	va_end(ap);
	app_say(j->app, "no listing: %s", why);
	job_end(j);
}

static void
go(struct app_job *j, enum step step)
{
	j->step = step;
	j->step_at = mono_now();
}

static void
fail_file(struct app_job *j, int err)
{
	/* A full disk is this machine's, whoever was to have the listing. */
	if (j->to.kind == LISTING_FILE)
		fail(j, "cannot write %.200s: %s", j->to.text,
		    base_file_words(err));
	else
		fail(j, "cannot write a file in %.200s: %s (TMPDIR names "
		    "another folder)", listing_file_folder(),
		    base_file_words(err));
}

static void
blocks_text(const struct app_job *j, char out[48])
{
	char count[32];

	base_group_digits(count, sizeof count, listing_rows(j->l));
	snprintf(out, 48, "%s block%s", count, listing_rows(j->l) == 1 ? "" :
	    "s");
}

static bool
is_lacking(const struct app_job *j)
{
	size_t all;

	return listing_lacking(j->l, &all) + listing_nameless(j->l) > 0;
}

/* What has come out, and that there is something which it does not have. */
static void
outcome_text(const struct app_job *j, char out[160])
{
	size_t all, callers = listing_lacking(j->l, &all), len = 0;
	size_t threads = listing_nameless(j->l);
	char blocks[48], count[32];

	blocks_text(j, blocks);
	base_append(out, 160, &len, "(%s)", blocks);
	if (!is_lacking(j))
		return;
	base_append(out, 160, &len, "; without the name%s of",
	    callers + threads == 1 ? "" : "s");
	if (callers > 0) {
		base_group_digits(count, sizeof count, callers);
		base_append(out, 160, &len, " %s caller%s", count,
		    callers == 1 ? "" : "s");
	}
	if (threads > 0) {
		base_group_digits(count, sizeof count, threads);
		base_append(out, 160, &len, "%s %s thread%s",
		    callers > 0 ? " and" : "", count, threads == 1 ? "" : "s");
	}
}

/* --- threads ------------------------------------------------------------ */

static void after_work(struct app_job *);
static void await_whole(struct app_job *);

static void
do_work(uv_work_t *work)
{
	struct app_job *j = work->data;

	if (j->step == STEP_ROOM) {
		j->err = listing_room(j->l, j->room);
		return;
	}
	if (j->step == STEP_SORT) {
		j->err = listing_sort(j->l, &j->stop);
		return;
	}
	j->err = listing_write(j->l, j->file.fd, &j->stop);
	if (j->err == 0 && j->to.kind == LISTING_FILE)
		j->err = listing_file_publish(&j->file);
}

static void
on_worked(uv_work_t *work, int status)
{
	struct app_job *j = work->data;

	j->working = false;
	if (j->app == NULL)
		job_free(j);
	else if (status < 0)
		fail(j, "%s", strerror(-status));
	else
		after_work(j);
}

static void
begin_work(struct app_job *j, enum step step)
{
	int r;

	go(j, step);
	j->work.data = j;
	r = nodes_queue_work(j->app->loop, &j->work, do_work, on_worked);
	if (r < 0)
		fail(j, "%s", strerror(-r));
	else
		j->working = true;
}

static void
after_work(struct app_job *j)
{
	char outcome[160];

	if (j->err < 0) {
		if (j->step != STEP_WRITE)
			fail(j, "%s", strerror(-j->err));
		else
			fail_file(j, j->err);
		return;
	}
	if (j->step == STEP_ROOM) {
		/* Between two batches as now is as good as a cycle later. */
		go(j, STEP_WHOLE);
		await_whole(j);
	} else if (j->step == STEP_SORT) {
		go(j, STEP_NAMES);
		j->names_at = j->step_at;
		j->lacking = SIZE_MAX;
	} else if (j->to.kind == LISTING_NODE) {
		go(j, STEP_LINK);
	} else if (j->to.kind == LISTING_PAGER) {
		go(j, STEP_LEND);
		j->app->asks.lend = APP_LEND_DUE;
	} else {
		outcome_text(j, outcome);
		app_say(j->app, "listing written to %.140s %s", j->to.text,
		    outcome);
		job_end(j);
	}
}

/* --- the copy and its names --------------------------------------------- */

/* Of a state that nothing more will come from. */
static bool
is_hopeless(const struct nodes_look *look)
{
	switch (look->state) {
	case NODES_DORMANT:
	case NODES_NO_DATA:
	case NODES_NO_ALLOCLOG:
	case NODES_DENIED:
	case NODES_VERSION:
		return true;
	case NODES_UNREACHABLE:
		return !look->listed;
	default:
		return false;
	}
}

static bool
is_there(const struct app_job *j, const struct page_view *v)
{
	const struct nodes_look *look = v->look;

	if (look->list == NULL || !look->listed)
		return false;
	/* The paused picture, or the last one of a node that is gone. */
	if (v->look != v->live || !look->linked)
		return true;
	if (look->settled && !look->behind && !look->window)
		return true;
	return mono_ms_since(j->step_at) >= WHOLE_MS;
}

/* The page may go elsewhere; the numbers of names mean nothing there. */
static bool
is_left(const struct app_job *j, const struct page_view *v)
{
	return j->app->session != j->session ||
	    v->look->stream_no != j->stream_no;
}

static void
await_whole(struct app_job *j)
{
	struct app *app = j->app;
	struct page_view v;
	int r;

	page_view_shown(&v, app->page, app->session);
	if (is_left(j, &v)) {
		fail(j, "the page shows another target now");
		return;
	}
	if (is_hopeless(v.look)) {
		fail(j, "there is no list: %s", page_state_name(v.look->state));
		return;
	}
	if (!is_there(j, &v)) {
		if (mono_ms_since(j->step_at) >= WHOLE_MS)
			fail(j, "the list was not there within %d s",
			    WHOLE_MS / 1000);
		return;
	}
	r = listing_take(j->l, app->page, &v);
	if (r == -EAGAIN)
		return;
	if (r < 0)
		fail(j, "%s", strerror(-r));
	else
		begin_work(j, STEP_SORT);
}

/* As many as there is time for; true when it is no use to wait for more. */
static bool
take_names(struct app_job *j)
{
	struct mono begun = mono_now();
	struct page_view v;
	size_t all, was;

	do {
		was = j->lacking;
		page_view_shown(&v, j->app->page, j->app->session);
		if (is_left(j, &v) || listing_names(j->l, &v, NAMES_AT_ONCE))
			return true;
		j->lacking = listing_lacking(j->l, &all);
		if (j->lacking < was)
			j->names_at = mono_now();
	} while (j->lacking < was &&
	    mono_diff_ns(mono_now(), begun) < NAMES_BUDGET_NS);
	return mono_ms_since(j->names_at) >= NAMES_MS ||
	    mono_ms_since(j->step_at) >= NAMES_MOST_MS;
}

/* --- to a node ---------------------------------------------------------- */

/* Is it still worth the trouble?  What is wrong is said at once. */
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
		fail(j, "%.64s: %s", j->to.text, why != NULL &&
		    why[0] != '\0' ? why : page_state_name(state));
	else if (mono_ms_since(j->begun) >= LINK_MS)
		fail(j, "%.64s does not answer", j->to.text);
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
send_it(struct app_job *j)
{
	char title[LISTING_TITLE];
	struct nodes_listing_opts opts = {
		.title = title,
		.fd = j->file.fd,
		.size = listing_bytes(j->l),
	};
	int r;

	if (nodes_link_state(j->link, NULL) != NODES_LIVE)
		return;
	listing_title(j->l, title);
	r = nodes_listing_send(&j->sending, j->link, &opts, on_sent, j);
	if (r == -EFBIG)
		fail(j, "%.64s: no node takes more than %u MiB, and the list "
		    "has %llu; a file takes it", j->to.text,
		    WIRE_LISTING_PARTS * (WIRE_LISTING_PART >> 20),
		    (unsigned long long)(opts.size >> 20));
	else if (r < 0)
		fail(j, "%.64s: %s", j->to.text, strerror(-r));
	if (r < 0)
		return;
	go(j, STEP_SEND);
	j->looked_at = j->step_at;
}

/*
 * It has not answered for long, though the link holds.  Counted from look to
 * look: a page that was itself stopped in between has heard nobody.
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
			fail(j, "%.64s does not answer any more", j->to.text);
		return;
	}
	if (j->sent_err < 0) {
		fail(j, "%.64s: %s", j->to.text, j->words[0] != '\0' ?
		    j->words : strerror(-j->sent_err));
		return;
	}
	outcome_text(j, outcome);
	app_say(j->app, "listing sent to %.64s as %.80s %s", j->to.text,
	    j->words, outcome);
	job_end(j);
}

/* --- to a pager --------------------------------------------------------- */

static void
on_pager_over(void *arg, int status, int signal)
{
	struct app_job *j = arg;
	char outcome[160];

	if (signal != 0)
		app_say(j->app, "the pager was ended by signal %d", signal);
	else if (status == 127)
		app_say(j->app, "the pager was not found: PAGER, or what "
		    "stands in *L<>, names it");
	else if (status != 0)
		app_say(j->app, "the pager failed: exit %d", status);
	else if (is_lacking(j)) {
		outcome_text(j, outcome);
		app_say(j->app, "the pager had the listing %s", outcome);
	}
	job_end(j);
}

void
app_lent(struct app *app)
{
	struct app_job *j = app->jobs.listing;
	int r;

	if (j == NULL || j->step != STEP_LEND) {
		app->asks.lend = APP_LEND_NO;
		return;
	}
	go(j, STEP_PAGER);
	r = pager_start(&j->pager, app->loop, j->to.text, j->file.fd,
	    on_pager_over, j);
	if (r < 0)
		fail(j, "cannot start the pager: %s", strerror(-r));
}

/* --- what is said meanwhile --------------------------------------------- */

static void
progress_text(const struct app_job *j, char *out, size_t cap)
{
	uint64_t n = listing_rows(j->l);
	char a[48], b[48];
	size_t all;

	switch (j->step) {
	case STEP_ROOM:
	case STEP_WHOLE:
		snprintf(out, cap, "waits for the whole list");
		break;
	case STEP_SORT:
		blocks_text(j, a);
		snprintf(out, cap, "%s copied", a);
		break;
	case STEP_NAMES:
		base_group_digits(a, sizeof a, listing_lacking(j->l, &all));
		base_group_digits(b, sizeof b, all);
		snprintf(out, cap, "names of %s of %s callers to come", a, b);
		break;
	case STEP_WRITE:
		snprintf(out, cap, "%u%% written", (unsigned)(n == 0 ? 100 :
		    listing_written(j->l) * 100 / n));
		break;
	case STEP_LINK:
		snprintf(out, cap, "waits for the node");
		break;
	case STEP_SEND:
		base_human_bytes(a, sizeof a, nodes_listing_done(j->sending));
		base_human_bytes(b, sizeof b, listing_bytes(j->l));
		snprintf(out, cap, "%s of %s sent", a, b);
		break;
	case STEP_LEND:
	case STEP_PAGER:
		snprintf(out, cap, "in the pager");
		break;
	}
}

/* Where something is open, Esc closes that. */
static bool
esc_is_free(const struct app *app)
{
	return app_panel_top(app) == APP_PAGE_K &&
	    app->places.going.session == NULL &&
	    app->page->fields.at == PAGE_NO_FIELD;
}

static void
say_progress(struct app_job *j)
{
	const char *esc = esc_is_free(j->app) ? "; Esc cancels" : "";
	char text[128];

	progress_text(j, text, sizeof text);
	if (j->to.kind == LISTING_PAGER)
		app_say(j->app, "listing: %s%s", text, esc);
	else
		app_say(j->app, "listing to %.64s: %s%s", j->to.text, text,
		    esc);
	snprintf(j->progress, sizeof j->progress, "%.255s",
	    j->app->page->message);
}

/* Not over what somebody has yet to read. */
static void
keep_progress(struct app_job *j)
{
	const char *message = j->app->page->message;

	if (mono_ms_since(j->begun) < QUIET_MS)
		return;
	if (message[0] == '\0' || strcmp(message, j->progress) == 0)
		say_progress(j);
}

/* --- the door ----------------------------------------------------------- */

static int
open_ends(struct app_job *j)
{
	int r;

	r = listing_file_open(&j->file, j->to.kind == LISTING_FILE ?
	    j->to.text : NULL);
	if (r < 0) {
		fail_file(j, r);
		return r;
	}
	if (j->to.kind != LISTING_NODE)
		return 0;
	r = nodes_connect_entry(&j->link, j->app->loop, &j->to.entry);
	if (r < 0) {
		j->link = NULL;
		fail(j, "%.64s: %s", j->to.text, r == -ENOENT ||
		    r == -ECONNREFUSED ? "no node listens there" :
		    strerror(-r));
	}
	return r;
}

void
app_listing(struct app *app)
{
	char why[256];
	struct page_view v;
	struct app_job *j;

	if (app->jobs.listing != NULL) {
		say_progress(app->jobs.listing);
		return;
	}
	if (app->loop == NULL) {
		app_say(app, "no listing: there is no loop to send it by");
		return;
	}
	j = calloc(1, sizeof *j);
	if (j == NULL || listing_new(&j->l) < 0) {
		app_say(app, "no listing: %s", strerror(ENOMEM));
		free(j);
		return;
	}
	j->file = LISTING_FILE_NONE;
	if (listing_to(&j->to, app->page->opts.listing, why, sizeof why) < 0) {
		app_say(app, "no listing: %s", why);
		job_free(j);
		return;
	}
	j->session = app->session;
	page_view_shown(&v, app->page, app->session);
	j->stream_no = v.look->stream_no;
	j->room = page_view_total(&v);
	j->app = app;
	app->jobs.listing = j;
	app->jobs.warned = false;
	j->begun = mono_now();
	/* Where it cannot go it is not made. */
	if (open_ends(j) == 0)
		begin_work(j, STEP_ROOM);
}

void
app_listing_tick(struct app *app)
{
	struct app_job *j = app->jobs.listing;

	if (j == NULL)
		return;
	if (j->step < STEP_SEND && !link_holds(j))
		return;
	switch (j->step) {
	case STEP_WHOLE:
		await_whole(j);
		break;
	case STEP_NAMES:
		if (take_names(j))
			begin_work(j, STEP_WRITE);
		break;
	case STEP_LINK:
		send_it(j);
		break;
	case STEP_SEND:
		see_sent(j);
		break;
	case STEP_ROOM:
	case STEP_SORT:
	case STEP_WRITE:
	case STEP_LEND:
	case STEP_PAGER:
		break;
	}
	if (app->jobs.listing == j)
		keep_progress(j);
}

bool
app_listing_cancel(struct app *app)
{
	if (app->jobs.listing == NULL)
		return false;
	job_end(app->jobs.listing);
	app_say(app, "the listing was cancelled");
	return true;
}

bool
app_listing_wants_all(const struct app *app)
{
	return app->jobs.listing != NULL && app->jobs.listing->step <= STEP_WHOLE;
}

void
app_listing_fini(struct app *app)
{
	if (app->jobs.listing != NULL)
		job_end(app->jobs.listing);
}
