/*
 * :export as a job: what is shown, for other programs; some milliseconds of it
 * in each cycle.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../documents/export.h"
#include "job.h"
#include "pages.h"

#define BUDGET_NS 6000000
#define WHOLE_MS 10000		/* that a list, or a count, is waited for */

struct source {
	struct page_export *x;	/* NULL: what is shown is not all there yet */
	enum page_export_form form;
	FILE *out;
};

/* -EAGAIN: it is not all there. */
static int
begin_export(struct app_job *j, struct source *s, const struct page_view *v)
{
	struct app *app = job_app(j);
	const struct page_ops *ops = app_page_shown(app);
	int fd;

	if (ops->export_begin == NULL)
		ops = pages[PAGE_K].ops;
	if ((ops->needs & PAGE_NEEDS_LIST) != 0 &&
	    !job_list_is_there(v, false))
		return -EAGAIN;
	if (s->out == NULL) {
		fd = dup(job_fd(j));
		s->out = fd >= 0 ? fdopen(fd, "w") : NULL;
		if (s->out == NULL && fd >= 0)
			close(fd);
	}
	return s->out == NULL ? -errno : ops->export_begin(app, v, s->form,
	    s->out, &s->x);
}

static int
go_on(struct app_job *j, const struct page_view *v, bool worked)
{
	struct source *s = job_source(j);
	int r = 0;

	(void)worked;
	if (job_is_left(j, v)) {
		job_fail(j, "the page shows another target now");
		return JOB_FAILED;
	}
	if (s->x == NULL)
		r = begin_export(j, s, v);
	if (r == -EAGAIN && job_ms(j) < WHOLE_MS)
		return JOB_MORE;
	if (r == -EAGAIN || r == -ENODATA) {
		job_fail(j, "%s", r == -EAGAIN ? "what it takes was not all "
		    "there within 10 s" : "there is nothing to be counted");
		return JOB_FAILED;
	}
	if (r == 0)
		r = page_export_go_on(s->x, v, BUDGET_NS);
	if (r == 1)
		return fflush(s->out) != 0 ? -errno : JOB_DONE;
	return r < 0 ? r : JOB_MORE;
}

static bool
writes(const void *source)
{
	(void)source;
	return true;
}

static bool
wants_all(const void *source)
{
	const struct source *s = source;

	return s->x == NULL || page_export_copies(s->x);
}

static void
progress(const void *source, char *out, size_t cap)
{
	const struct source *s = source;
	uint64_t n, done;

	if (s->x == NULL)
		snprintf(out, cap, "waits for the whole list");
	else if ((n = page_export_rows(s->x, &done)) == 0)
		snprintf(out, cap, "takes the rows as they were at the key");
	else
		snprintf(out, cap, "%u%% written", (unsigned)(done * 100 / n));
}

static void
outcome(const void *source, char *out, size_t cap)
{
	const struct source *s = source;
	uint64_t done, n = page_export_rows(s->x, &done);
	char count[32];

	base_group_digits(count, sizeof count, n);
	snprintf(out, cap, "(%s%s %s%s)", page_export_cut(s->x) ?
	    "the first " : "", count, page_export_what(s->x), n == 1 ? "" :
	    "s");
}

static void
free_source(void *source)
{
	struct source *s = source;

	if (s == NULL)
		return;
	page_export_free(s->x);
	if (s->out != NULL)
		fclose(s->out);
	free(s);
}

static const struct job_ops export_job = {
	.kind = APP_JOB_EXPORT,
	.name = "export",
	.one = "an export",
	.done = "exported to",
	.names_path = true,
	.go_on = go_on,
	.writes = writes,
	.wants_all = wants_all,
	.progress = progress,
	.outcome = outcome,
	.free = free_source,
};

void
app_export(struct app *app, const char *path)
{
	struct listing_to to = { .kind = LISTING_FILE };
	struct app_job *j = app->jobs.job[APP_JOB_EXPORT];
	struct source *s;
	char no[LINE_TEXT];

	if (path[0] == '\0') {
		app_say(app, "export to which file? as in :export blocks.csv; "
		    "it ends in .txt, .json, .ndjson or .csv");
		return;
	}
	if (j != NULL) {
		app_say(app, "an export to %.128s is on its way; Esc cancels "
		    "it", job_path(j));
		return;
	}
	snprintf(no, sizeof no, "no export to %.200s", path);
	snprintf(to.text, sizeof to.text, "%s", path);
	s = calloc(1, sizeof *s);
	if (s == NULL) {
		app_say(app, "%s: %s", no, strerror(ENOMEM));
		return;
	}
	j = job_new(app, &export_job, s, no);
	if (j == NULL)
		return;
	if (page_export_form(path, &s->form) < 0)
		job_fail(j, "its name has to end in .txt, .json, .ndjson or "
		    ".csv");
	else if (job_open(j, &to, WHOLE_FILE_ANY))
		job_go_on(j);
}
