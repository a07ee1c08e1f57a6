/*
 * :export on its way, while the page goes on: some milliseconds of it in each
 * cycle, and the disk is waited for in another thread.  The file is there when
 * it is whole, or not at all.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app.h"
#include "export.h"
#include "listing.h"
#include "pages.h"

#define BUDGET_NS 6000000
#define WHOLE_MS 10000		/* that a list, or a count, is waited for */
#define QUIET_MS 500		/* what is done by then needs no telling */

struct app_export {
	struct app *app;	/* NULL: nobody waits for it any more */
	struct page_export *x;	/* NULL: what is shown is not all there yet */
	enum page_export_form form;
	struct listing_file file;
	FILE *out;
	char path[LINE_TEXT];
	struct nodes_session *session;
	uint32_t stream_no;
	struct mono begun;
	char progress[256];	/* as it was said last */
	uv_work_t work;
	bool working;
	int err;
};

static void
export_free(struct app_export *e)
{
	page_export_free(e->x);
	if (e->out != NULL)
		fclose(e->out);
	listing_file_close(&e->file);
	free(e);
}

static void
end(struct app_export *e)
{
	struct app *app = e->app;

	if (strcmp(app->page->message, e->progress) == 0)
		app->page->message[0] = '\0';
	app->jobs.export = NULL;
	app->page->news = true;
	e->app = NULL;
	if (!e->working)
		export_free(e);
}

static void
fail(struct app_export *e, const char *why)
{
	app_say(e->app, "no export to %.200s: %s", e->path, why);
	end(e);
}

/* --- the file ------------------------------------------------------------- */

static void
publish(uv_work_t *work)
{
	struct app_export *e = work->data;

	e->err = listing_file_publish(&e->file);
}

static void
published(uv_work_t *work, int status)
{
	struct app_export *e = work->data;
	uint64_t n, done;
	char count[32];

	e->working = false;
	if (e->app == NULL) {
		export_free(e);
		return;
	}
	if (status < 0 || e->err < 0) {
		fail(e, status < 0 ? strerror(-status) :
		    base_file_words(e->err));
		return;
	}
	n = page_export_rows(e->x, &done);
	base_group_digits(count, sizeof count, n);
	app_say(e->app, "exported to %.160s (%s%s %s%s)", e->path,
	    page_export_cut(e->x) ? "the first " : "", count,
	    page_export_what(e->x), n == 1 ? "" : "s");
	end(e);
}

static void
written(struct app_export *e)
{
	int r = fflush(e->out) != 0 ? -errno : 0;

	if (r < 0) {
		fail(e, base_file_words(r));
		return;
	}
	e->work.data = e;
	r = nodes_queue_work(e->app->loop, &e->work, publish, published);
	if (r < 0)
		fail(e, strerror(-r));
	else
		e->working = true;
}

/* --- once a cycle --------------------------------------------------------- */

static void
keep_progress(struct app_export *e)
{
	const char *message = e->app->page->message;
	uint64_t n, done;

	if (mono_ms_since(e->begun) < QUIET_MS ||
	    (message[0] != '\0' && strcmp(message, e->progress) != 0))
		return;
	if (e->x == NULL) {
		app_say(e->app, "export to %.64s: waits for the whole list; "
		    "Esc cancels", e->path);
	} else if ((n = page_export_rows(e->x, &done)) == 0) {
		app_say(e->app, "export to %.64s: takes the rows as they were "
		    "at the key; Esc cancels", e->path);
	} else {
		app_say(e->app, "export to %.64s: %u%% written; Esc cancels",
		    e->path, (unsigned)(done * 100 / n));
	}
	snprintf(e->progress, sizeof e->progress, "%.255s", message);
}

static bool
is_there(const struct page_view *v)
{
	const struct nodes_look *look = v->look;

	if (look->list == NULL || !look->listed)
		return false;
	/* The paused picture, or the last one of a node that is gone. */
	if (v->look != v->live || !look->linked)
		return !look->window;
	return look->settled && !look->behind && !look->window;
}

static int
start(struct app_export *e, const struct page_view *v)
{
	struct app *app = e->app;
	const struct page_ops *ops = app_page_shown(app);

	if (ops->export_begin == NULL)
		ops = pages[PAGE_K].ops;
	if ((ops->needs & PAGE_NEEDS_LIST) != 0 && !is_there(v))
		return -EAGAIN;
	return ops->export_begin(app, v, e->form, e->out, &e->x);
}

static void
go_on(struct app_export *e)
{
	struct app *app = e->app;
	struct page_view v;
	int r = 0;

	page_view_shown(&v, app->page, app->session);
	if (app->session != e->session || v.look->stream_no != e->stream_no) {
		fail(e, "the page shows another target now");
		return;
	}
	if (e->x == NULL)
		r = start(e, &v);
	if (r == -EAGAIN && mono_ms_since(e->begun) < WHOLE_MS)
		r = 0;
	if (r == 0 && e->x != NULL)
		r = page_export_go_on(e->x, &v, BUDGET_NS);
	if (r == 1)
		written(e);
	else if (r == -EAGAIN)
		fail(e, "what it takes was not all there within 10 s");
	else if (r == -ENODATA)
		fail(e, "there is nothing to be counted");
	else if (r < 0)
		fail(e, base_file_words(r));
}

void
app_export_tick(struct app *app)
{
	if (app->jobs.export == NULL)
		return;
	if (!app->jobs.export->working)
		go_on(app->jobs.export);
	if (app->jobs.export != NULL)
		keep_progress(app->jobs.export);
}

bool
app_export_wants_all(const struct app *app)
{
	const struct app_export *e = app->jobs.export;

	return e != NULL && (e->x == NULL || page_export_copies(e->x));
}

/* --- the door ------------------------------------------------------------- */

static int
open_file(struct app_export *e)
{
	int fd, r = listing_file_open_over(&e->file, e->path);

	if (r < 0)
		return r;
	fd = dup(e->file.fd);
	e->out = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (e->out != NULL)
		return 0;
	r = -errno;
	if (fd >= 0)
		close(fd);
	return r;
}

void
app_export(struct app *app, const char *path)
{
	struct app_export *e;
	struct page_view v;
	int r;

	if (path[0] == '\0') {
		app_say(app, "export to which file? as in :export blocks.csv; "
		    "it ends in .txt, .json, .ndjson or .csv");
		return;
	}
	if (app->jobs.export != NULL) {
		app_say(app, "an export to %.128s is on its way; Esc cancels "
		    "it", app->jobs.export->path);
		return;
	}
	e = calloc(1, sizeof *e);
	if (e == NULL || app->loop == NULL) {
		app_say(app, "no export: %s", strerror(ENOMEM));
		free(e);
		return;
	}
	e->app = app;
	e->file = LISTING_FILE_NONE;
	snprintf(e->path, sizeof e->path, "%s", path);
	e->session = app->session;
	app->jobs.warned = false;
	e->begun = mono_now();
	page_view_shown(&v, app->page, app->session);
	e->stream_no = v.look->stream_no;
	app->jobs.export = e;
	if (page_export_form(path, &e->form) < 0)
		fail(e, "its name has to end in .txt, .json, .ndjson or .csv");
	else if ((r = open_file(e)) < 0)
		fail(e, base_file_words(r));
	else
		go_on(e);
}

bool
app_export_cancel(struct app *app)
{
	if (app->jobs.export == NULL)
		return false;
	end(app->jobs.export);
	app_say(app, "the export was cancelled");
	return true;
}

void
app_export_fini(struct app *app)
{
	if (app->jobs.export != NULL)
		end(app->jobs.export);
}
