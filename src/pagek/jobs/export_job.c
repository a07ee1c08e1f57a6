#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "job.h"

#define BUDGET_NS 6000000	/* of a cycle */

struct source {
	struct page_export *x;	/* NULL: not begun */
	enum text_format form;
	FILE *out;
	jobs_begin_export begin;
	void *arg;
};

static int
open_output(struct source *s, int fd)
{
	int copy = dup(fd), err;

	if (copy < 0)
		return -errno;
	s->out = fdopen(copy, "w");
	if (s->out != NULL)
		return 0;
	err = errno;
	close(copy);
	return -err;
}

static int
begin_export(struct job *j, const struct page_view *v, bool late)
{
	struct source *s = j->source;
	int r = s->out == NULL ? open_output(s, j->file.fd) : 0;

	(void)late;
	if (r == 0)
		r = s->begin(s->arg, v, s->form, s->out, &s->x);
	if (r == -ENODATA) {
		job_fail(j, "there are no rows");
		return JOB_FAILED;
	}
	return r < 0 ? r : JOB_BEGUN;
}

static int
write_portion(struct job *j, const struct page_view *v, bool worked)
{
	struct source *s = j->source;
	int r;

	(void)worked;
	if (job_is_stale(j, v)) {
		job_fail(j, "the page shows another target now");
		return JOB_FAILED;
	}
	r = page_export_go_on(s->x, v, BUDGET_NS);
	if (r == 1)
		return fflush(s->out) != 0 ? -errno : JOB_DONE;
	return r < 0 ? r : JOB_MORE;
}

static bool
needs_all(const void *source)
{
	const struct source *s = source;

	return page_export_copies(s->x);
}

static void
progress(const void *source, char *out, size_t cap)
{
	const struct source *s = source;
	uint64_t done, n = page_export_rows(s->x, &done);

	if (n == 0)
		snprintf(out, cap, "copies the rows");
	else
		snprintf(out, cap, "%u%% written", (unsigned)(done * 100 / n));
}

static void
outcome(const void *source, char *out, size_t cap)
{
	const struct source *s = source;
	uint64_t done, n = page_export_rows(s->x, &done);
	char count[64];

	job_count_text(n, page_export_what(s->x), count);
	snprintf(out, cap, "(%s%s)", page_export_cut(s->x) ? "the first " : "",
	    count);
}

static void
free_source(void *source)
{
	struct source *s = source;

	page_export_free(s->x);
	if (s->out != NULL)
		fclose(s->out);
	free(s);
}

static const struct job_ops export_job = {
	.kind = JOB_EXPORT,
	.source_size = sizeof(struct source),
	.name = "export",
	.one = "an export",
	.done = "exported to",
	.names_path = true,
	.wait_ms = 10000,
	.begin = begin_export,
	.go_on = write_portion,
	.needs_all = needs_all,
	.progress = progress,
	.outcome = outcome,
	.free = free_source,
};

void
jobs_start_export(struct jobs *jobs, const char *path, jobs_begin_export begin,
    void *arg)
{
	struct listing_to to = { .kind = LISTING_FILE };
	struct job *j = jobs->job[JOB_EXPORT];
	struct source *s;
	char refusal[LINE_TEXT];

	if (path[0] == '\0') {
		jobs_say(jobs, "export to which file? as in :export blocks.csv; "
		    "it ends in .txt, .json, .ndjson or .csv");
		return;
	}
	if (j != NULL) {
		jobs_say(jobs, "an export to %.128s is on its way; Esc cancels "
		    "it", j->to.text);
		return;
	}
	snprintf(refusal, sizeof refusal, "no export to %.200s", path);
	snprintf(to.text, sizeof to.text, "%s", path);
	j = job_new(jobs, &export_job, refusal);
	if (j == NULL)
		return;
	s = j->source;
	s->begin = begin;
	s->arg = arg;
	if (page_export_form(path, &s->form) < 0)
		job_fail(j, "its name has to end in .txt, .json, .ndjson or "
		    ".csv");
	else
		job_start(j, &to, WHOLE_FILE_ANY);
}
