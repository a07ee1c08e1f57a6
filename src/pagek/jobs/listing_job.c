#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../history/history.h"
#include "../layout/layout.h"
#include "job.h"

#define NAMES_MS 5000		/* without a new name */
#define NAMES_MOST_MS 60000	/* for all names */
#define NAMES_AT_ONCE 256
#define NAMES_BUDGET_NS 3000000	/* of a cycle */

struct source {
	struct listing *l;
	enum { SORT, NAMES, WRITE } step;	/* SORT and WRITE in a thread */
	uint64_t room;		/* blocks to reserve memory for */
	size_t lacking;		/* callers without names */
	struct mono names_from;	/* waiting for names since then */
	struct mono names_at;	/* when `lacking` last shrank */
};

static bool
is_final_state(const struct nodes_look *look)
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

static int
reserve_memory(void *source)
{
	struct source *s = source;

	return listing_room(s->l, s->room);
}

static int
copy_list(struct job *j, const struct page_view *v, bool late)
{
	struct source *s = j->source;
	int r;

	if (is_final_state(v->look)) {
		job_fail(j, "there is no list: %s",
		    page_state_name(v->look->state));
		return JOB_FAILED;
	}
	/* Late, an incomplete list will do. */
	if (!jobs_have_list(v, true) && !(late && v->look->listed &&
	    v->look->list != NULL))
		return -EAGAIN;
	r = listing_take(s->l, j->jobs->page, v);
	return r == -EAGAIN ? JOB_MORE : r < 0 ? r : JOB_BEGUN;
}

/* Requests names until the budget is used up; true: stop waiting for more. */
static bool
request_names(struct job *j, struct source *s, const struct page_view *v)
{
	struct mono begun = mono_now();
	size_t all, before;

	do {
		before = s->lacking;
		if (job_is_stale(j, v) ||
		    listing_names(s->l, v, NAMES_AT_ONCE))
			return true;
		s->lacking = listing_lacking(s->l, &all);
		if (s->lacking < before)
			s->names_at = mono_now();
	} while (s->lacking < before &&
	    mono_diff_ns(mono_now(), begun) < NAMES_BUDGET_NS);
	return mono_ms_since(s->names_at) >= NAMES_MS ||
	    mono_ms_since(s->names_from) >= NAMES_MOST_MS;
}

static int
go_on(struct job *j, const struct page_view *v, bool worked)
{
	struct source *s = j->source;

	if (worked && s->step == WRITE)
		return JOB_DONE;
	if (worked) {
		s->step = NAMES;
		s->names_from = s->names_at = mono_now();
		s->lacking = SIZE_MAX;
		return JOB_MORE;
	}
	if (s->step == NAMES) {
		if (!request_names(j, s, v))
			return JOB_MORE;
		s->step = WRITE;
	}
	return JOB_THREAD;
}

static int
work(void *source, int fd, const atomic_bool *stop)
{
	struct source *s = source;

	return s->step == SORT ? listing_sort(s->l, stop) :
	    listing_write(s->l, fd, stop);
}

static bool
writes(const void *source)
{
	const struct source *s = source;

	return s->step == WRITE;
}

static void
progress(const void *source, char *out, size_t cap)
{
	const struct source *s = source;
	uint64_t n = listing_rows(s->l);
	char a[64], b[48];
	size_t all;

	switch (s->step) {
	case SORT:
		job_count_text(n, "block", a);
		snprintf(out, cap, "%s copied", a);
		break;
	case NAMES:
		base_group_digits(a, sizeof a, listing_lacking(s->l, &all));
		base_group_digits(b, sizeof b, all);
		snprintf(out, cap, "waiting for %s of %s names", a, b);
		break;
	case WRITE:
		snprintf(out, cap, "%u%% written", (unsigned)(n == 0 ? 100 :
		    listing_written(s->l) * 100 / n));
		break;
	}
}

static void
outcome(const void *source, char *out, size_t cap)
{
	const struct source *s = source;
	size_t all, callers = listing_lacking(s->l, &all), len = 0;
	size_t threads = listing_nameless(s->l);
	char count[64];

	job_count_text(listing_rows(s->l), "block", count);
	base_append(out, cap, &len, "(%s)", count);
	if (callers + threads == 0)
		return;
	base_append(out, cap, &len, "; without the name%s of",
	    callers + threads == 1 ? "" : "s");
	if (callers > 0) {
		job_count_text(callers, "caller", count);
		base_append(out, cap, &len, " %s", count);
	}
	if (threads > 0) {
		job_count_text(threads, "thread", count);
		base_append(out, cap, &len, "%s %s",
		    callers > 0 ? " and" : "", count);
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

	listing_free(s->l);
	free(s);
}

static const struct job_ops listing_job = {
	.kind = JOB_LISTING,
	.source_size = sizeof(struct source),
	.name = "listing",
	.one = "a listing",
	.done = "listing written to",
	.wait_ms = 60000,
	.prepare = reserve_memory,
	.begin = copy_list,
	.go_on = go_on,
	.work = work,
	.writes = writes,
	.progress = progress,
	.outcome = outcome,
	.bytes = bytes,
	.title = title,
	.free = free_source,
};

void
jobs_start_listing(struct jobs *jobs)
{
	struct job *j = jobs->job[JOB_LISTING];
	struct listing_to to;
	struct page_view v;
	struct source *s;
	char why[256];

	if (j != NULL) {
		job_say_progress(j);
		return;
	}
	j = job_new(jobs, &listing_job, "no listing");
	if (j == NULL)
		return;
	s = j->source;
	page_view_shown(&v, jobs->page, jobs->session);
	s->room = page_view_total(&v);
	if (listing_new(&s->l) < 0)
		job_fail(j, "%s", strerror(ENOMEM));
	else if (listing_to(&to, jobs->page->opts.listing, why, sizeof why) < 0)
		job_fail(j, "%s", why);
	else
		job_start(j, &to, WHOLE_FILE_LISTING);
}
