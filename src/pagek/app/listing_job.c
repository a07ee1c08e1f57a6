/*
 * A listing as a job: the whole list in the order shown, with the names of its
 * callers and threads.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../history/history.h"
#include "../layout/layout.h"
#include "job.h"

#define WHOLE_MS 60000		/* for a list that is whole */
#define NAMES_MS 5000		/* for the next name that comes */
#define NAMES_MOST_MS 60000	/* for all of them */
#define NAMES_AT_ONCE 256
#define NAMES_BUDGET_NS 3000000	/* of a cycle */

enum step {
	STEP_ROOM,		/* in a thread */
	STEP_WHOLE,		/* waits for the whole list, and copies it */
	STEP_SORT,		/* in a thread */
	STEP_NAMES,
	STEP_WRITE,		/* in a thread */
	STEP_OVER,
};

struct source {
	struct listing *l;
	enum step step;
	struct mono step_at;
	uint64_t room;		/* blocks that it will have, about */
	size_t lacking;		/* at names_at, when it last got fewer */
	struct mono names_at;
};

static void
begin_step(struct source *s, enum step step)
{
	s->step = step;
	s->step_at = mono_now();
}

/* --- the copy and its names --------------------------------------------- */

/* Nothing more comes in this state. */
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

/* 1: it is copied; 0: not yet; JOB_FAILED, -ENOMEM. */
static int
copy_list(struct app_job *j, struct source *s, const struct page_view *v)
{
	bool late = mono_ms_since(s->step_at) >= WHOLE_MS;
	int r;

	if (job_is_left(j, v)) {
		job_fail(j, "the page shows another target now");
		return JOB_FAILED;
	}
	if (is_hopeless(v->look)) {
		job_fail(j, "there is no list: %s",
		    page_state_name(v->look->state));
		return JOB_FAILED;
	}
	/* What is there after so long is better than nothing. */
	if (!job_list_is_there(v, true) && !(late && v->look->listed &&
	    v->look->list != NULL)) {
		if (!late)
			return 0;
		job_fail(j, "the list was not there within %d s",
		    WHOLE_MS / 1000);
		return JOB_FAILED;
	}
	r = listing_take(s->l, job_app(j)->page, v);
	return r == -EAGAIN ? 0 : r < 0 ? r : 1;
}

/* As many as there is time for; true when waiting for more is no use. */
static bool
take_names(struct app_job *j, struct source *s, const struct page_view *v)
{
	struct mono begun = mono_now();
	size_t all, was;

	do {
		was = s->lacking;
		if (job_is_left(j, v) || listing_names(s->l, v, NAMES_AT_ONCE))
			return true;
		s->lacking = listing_lacking(s->l, &all);
		if (s->lacking < was)
			s->names_at = mono_now();
	} while (s->lacking < was &&
	    mono_diff_ns(mono_now(), begun) < NAMES_BUDGET_NS);
	return mono_ms_since(s->names_at) >= NAMES_MS ||
	    mono_ms_since(s->step_at) >= NAMES_MOST_MS;
}

/* --- the source --------------------------------------------------------- */

static int
go_on(struct app_job *j, const struct page_view *v, bool worked)
{
	struct source *s = job_source(j);
	int r;

	if (worked) {
		begin_step(s, s->step + 1);
		s->names_at = s->step_at;
		s->lacking = SIZE_MAX;
	}
	switch (s->step) {
	case STEP_WHOLE:
		r = copy_list(j, s, v);
		if (r != 1)
			return r;
		begin_step(s, STEP_SORT);
		return JOB_THREAD;
	case STEP_NAMES:
		/* A cycle later more of them are there. */
		if (worked || !take_names(j, s, v))
			return JOB_MORE;
		begin_step(s, STEP_WRITE);
		return JOB_THREAD;
	case STEP_ROOM:
	case STEP_SORT:
	case STEP_WRITE:
		return JOB_THREAD;
	case STEP_OVER:
		break;
	}
	return JOB_DONE;
}

static int
work(void *source, int fd, const atomic_bool *stop)
{
	struct source *s = source;

	if (s->step == STEP_ROOM)
		return listing_room(s->l, s->room);
	if (s->step == STEP_SORT)
		return listing_sort(s->l, stop);
	return listing_write(s->l, fd, stop);
}

static bool
writes(const void *source)
{
	const struct source *s = source;

	return s->step == STEP_WRITE;
}

static bool
wants_all(const void *source)
{
	const struct source *s = source;

	return s->step <= STEP_WHOLE;
}

static void
blocks_text(const struct source *s, char out[48])
{
	char count[32];

	base_group_digits(count, sizeof count, listing_rows(s->l));
	snprintf(out, 48, "%s block%s", count, listing_rows(s->l) == 1 ? "" :
	    "s");
}

static void
progress(const void *source, char *out, size_t cap)
{
	const struct source *s = source;
	uint64_t n = listing_rows(s->l);
	char a[48], b[48];
	size_t all;

	switch (s->step) {
	case STEP_ROOM:
	case STEP_WHOLE:
		snprintf(out, cap, "waits for the whole list");
		break;
	case STEP_SORT:
		blocks_text(s, a);
		snprintf(out, cap, "%s copied", a);
		break;
	case STEP_NAMES:
		base_group_digits(a, sizeof a, listing_lacking(s->l, &all));
		base_group_digits(b, sizeof b, all);
		snprintf(out, cap, "names of %s of %s callers to come", a, b);
		break;
	case STEP_WRITE:
	case STEP_OVER:
		snprintf(out, cap, "%u%% written", (unsigned)(n == 0 ? 100 :
		    listing_written(s->l) * 100 / n));
		break;
	}
}

/* How many rows, and which names they lack. */
static void
outcome(const void *source, char *out, size_t cap)
{
	const struct source *s = source;
	size_t all, callers = listing_lacking(s->l, &all), len = 0;
	size_t threads = listing_nameless(s->l);
	char blocks[48], count[32];

	blocks_text(s, blocks);
	out[0] = '\0';
	base_append(out, cap, &len, "(%s)", blocks);
	if (callers + threads == 0)
		return;
	base_append(out, cap, &len, "; without the name%s of",
	    callers + threads == 1 ? "" : "s");
	if (callers > 0) {
		base_group_digits(count, sizeof count, callers);
		base_append(out, cap, &len, " %s caller%s", count,
		    callers == 1 ? "" : "s");
	}
	if (threads > 0) {
		base_group_digits(count, sizeof count, threads);
		base_append(out, cap, &len, "%s %s thread%s",
		    callers > 0 ? " and" : "", count, threads == 1 ? "" : "s");
	}
}

static uint64_t
bytes(const void *source)
{
	const struct source *s = source;

	return listing_bytes(s->l);
}

static void
title(const void *source, char out[LISTING_TITLE])
{
	const struct source *s = source;

	listing_title(s->l, out);
}

static void
free_source(void *source)
{
	struct source *s = source;

	if (s != NULL)
		listing_free(s->l);
	free(s);
}

static const struct job_ops listing_job = {
	.kind = APP_JOB_LISTING,
	.name = "listing",
	.one = "a listing",
	.done = "listing written to",
	.go_on = go_on,
	.work = work,
	.writes = writes,
	.wants_all = wants_all,
	.progress = progress,
	.outcome = outcome,
	.bytes = bytes,
	.title = title,
	.free = free_source,
};

/* --- the door ----------------------------------------------------------- */

void
app_listing(struct app *app)
{
	struct app_job *j = app->jobs.job[APP_JOB_LISTING];
	struct listing_to to;
	struct page_view v;
	struct source *s;
	char why[256];

	if (j != NULL) {
		job_say_progress(j);
		return;
	}
	s = calloc(1, sizeof *s);
	if (s == NULL || listing_new(&s->l) < 0) {
		app_say(app, "no listing: %s", strerror(ENOMEM));
		free(s);
		return;
	}
	page_view_shown(&v, app->page, app->session);
	s->room = page_view_total(&v);
	begin_step(s, STEP_ROOM);
	j = job_new(app, &listing_job, s, "no listing");
	if (j == NULL)
		return;
	if (listing_to(&to, app->page->opts.listing, why, sizeof why) < 0)
		job_fail(j, "%s", why);
	else if (job_open(j, &to, WHOLE_FILE_LISTING))
		job_go_on(j);
}
