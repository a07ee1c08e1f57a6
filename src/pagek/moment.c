/*
 * A target at one moment.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "commands.h"
#include "moment.h"
#include "pump.h"

/* The blocks that the sieve lets through. */
static int
take_caught(struct moment *m, struct nodes_session *s,
    const struct symbol_wrappers *wrappers, struct page_sieve *sieve)
{
	const struct blklist *list = nodes_session_look(s)->list;
	struct page_view v;
	struct blk rows[256];
	uint64_t offs = 0;
	size_t n, i;
	int r = 0;

	page_view_live(&v, s);
	v.wrappers = wrappers;
	page_sieve_begin(sieve, &v);
	profile_coming_begin(m->profile);
	while (r == 0 && (n = blklist_window(list, BLKLIST_BY_AGE, false, offs,
	    rows, BASE_NELEM(rows))) > 0) {
		for (i = 0; i < n && r == 0; i++)
			if (page_sieve_lets(sieve, &rows[i]))
				r = profile_coming_add(m->profile, list,
				    &rows[i], 1);
		offs += n;
	}
	profile_coming_end(m->profile);
	m->filter = page_sieve_text(sieve);
	m->caught = page_sieve_caught(sieve);
	return r;
}

int
moment_init(struct moment *m, struct nodes_session *s,
    const struct symbol_wrappers *wrappers, struct page_sieve *sieve)
{
	const struct nodes_look *look = nodes_session_look(s);
	int r;

	*m = (struct moment){ .look = *look,
		.listed = blklist_counts(look->list)->aRecActive };
	r = profile_new(&m->profile);
	if (r < 0)
		return r;
	profile_set_wrappers(m->profile, wrappers);
	r = sieve != NULL ? take_caught(m, s, wrappers, sieve) :
	    profile_take(m->profile, look->list);
	if (r < 0) {
		moment_fini(m);
		return r;
	}
	snprintf(m->node, sizeof m->node, "%s", look->node_name != NULL ?
	    look->node_name : "");
	snprintf(m->target, sizeof m->target, "%s", look->target_name != NULL ?
	    look->target_name : "");
	snprintf(m->reason, sizeof m->reason, "%s", look->reason);
	m->look.node_name = m->node;
	m->look.target_name = m->target;
	m->look.reason = m->reason;
	/* What is not copied is not to be had. */
	m->look.list = NULL;
	m->look.types = NULL;
	m->look.keeper = NULL;
	m->look.trouble = m->look.output = m->look.socket = "";
	return 0;
}

void
moment_fini(struct moment *m)
{
	profile_free(m->profile);
	m->profile = NULL;
}

int64_t
moment_age(const struct moment *m, const struct profile_sum *sum)
{
	return sum->blocks > 0 && m->look.now_ms > sum->oldest_ms ?
	    m->look.now_ms - sum->oldest_ms : 0;
}

double
moment_measure(const struct moment *m, enum profile_measure by,
    const struct profile_sum *sum)
{
	switch (by) {
	case PROFILE_BLOCKS:
		return (double)sum->blocks;
	case PROFILE_AGE:
		return (double)moment_age(m, sum);
	case PROFILE_BYTES:
	case PROFILE_SELF:
	case PROFILE_NAME:
	case PROFILE_TYPE:
	case PROFILE_THREAD:
		break;
	}
	return (double)sum->bytes;
}

double
moment_share(const struct moment *m, enum profile_measure by,
    const struct profile_sum *sum)
{
	struct profile_sum total = profile_total(m->profile);
	double all = moment_measure(m, by, &total);

	return all > 0 ? moment_measure(m, by, sum) / all : 0;
}

int
moment_groups(const struct moment *m, enum profile_by by,
    enum profile_measure measure, uint64_t limit, struct profile_group **out,
    size_t *n, size_t *all)
{
	struct profile_group *rows;
	size_t want, got;
	int r;

	r = profile_groups(m->profile, by, measure, m->look.now_ms, 0, NULL, 0,
	    &got, all);
	if (r < 0)
		return r;
	want = limit > 0 && limit < *all ? (size_t)limit : *all;
	rows = calloc(want + 1, sizeof *rows);
	if (rows == NULL)
		return -ENOMEM;
	r = profile_groups(m->profile, by, measure, m->look.now_ms, 0, rows,
	    want, &got, all);
	if (r < 0) {
		free(rows);
		return r;
	}
	*out = rows;
	*n = got;
	return 0;
}

static int
report(const struct options *o, struct moment *m,
    int (*put)(FILE *, const struct options *, const struct moment *))
{
	FILE *out = output_open(o->output);
	int r;

	if (out == NULL)
		return PAGEK_FAILED;
	r = put(out, o, m);
	if (r < 0) {
		complain("cannot report: %s", strerror(-r));
		return output_close(out, o->output, PAGEK_FAILED);
	}
	r = output_close(out, o->output, PAGEK_OK);
	batch_tell_loss(o, &m->look);
	return r != PAGEK_OK ? r : batch_status(o, &m->look);
}

/* Until what the sieve asks for is known: then it lets the right ones through. */
static int
await_sieve(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    struct page_sieve *sieve, int64_t left_ms)
{
	struct profile *p = NULL;
	size_t lacking;
	int r;

	if (!page_sieve_wants_names(sieve))
		return 0;
	r = batch_names(loop, s, &o->page, sieve, 0, (int)left_ms, &p,
	    &lacking);
	profile_free(p);
	return r;
}

/* Waits for names; anew when a node has come meanwhile that has another list. */
static int
take(const struct options *o, uv_loop_t *loop, struct nodes_session *s,
    struct page_sieve *sieve, struct moment *m)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct mono begun = mono_now();
	int64_t left = o->timeout_ms;
	int r;

	for (;;) {
		r = await_sieve(o, loop, s, sieve, left);
		if (r == 0)
			r = moment_init(m, s, o->page.wrappers, sieve);
		if (r < 0)
			return r;
		left = o->timeout_ms - mono_ms_since(begun);
		r = batch_words(loop, s, m->profile, (int)left, &m->lacking);
		if (r == 0)
			return 0;
		moment_fini(m);
		left = o->timeout_ms - mono_ms_since(begun);
		if (r != -ESTALE || left <= 0)
			return r;
		pump_settled(loop, s, (int)left);
		left = o->timeout_ms - mono_ms_since(begun);
		if (!look->listed || left <= 0)
			return r;
	}
}

static int
report_caught(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s, struct page_sieve *sieve,
    int (*put)(FILE *, const struct options *, const struct moment *))
{
	struct moment m;
	int r, status;

	r = take(o, loop, s, sieve, &m);
	if (r == -ESTALE && !nodes_session_look(s)->listed)
		return batch_status(o, nodes_session_look(s));
	if (r < 0) {
		complain("cannot report: %s", r == -ESTALE ? "the node was "
		    "started again, and has another list" : strerror(-r));
		return r == -ESTALE ? PAGEK_TIMEOUT : PAGEK_FAILED;
	}
	batch_tell_lacking(o, s, m.lacking, profile_callers(m.profile));
	status = report(o, &m, put);
	moment_fini(&m);
	return status;
}

int
moment_report(const struct options *o, uv_loop_t *loop,
    struct nodes_session *s,
    int (*put)(FILE *, const struct options *, const struct moment *))
{
	struct page_sieve *sieve;
	int status = PAGEK_FAILED, r;

	r = batch_sieve(o, &sieve);
	if (r < 0)
		complain("cannot report: %s", strerror(-r));
	else
		status = report_caught(o, loop, s, sieve, put);
	page_sieve_free(sieve);
	return status;
}
