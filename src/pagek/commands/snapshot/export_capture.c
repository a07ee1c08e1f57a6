#include <errno.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../../capture/capture.h"
#include "../../../export/export.h"
#include "../../cli/capture_target.h"
#include "../../cli/cli.h"
#include "../../debugdata/debugdata.h"
#include "snapshot.h"

#define TARGET_TEXT 96

struct moment {
	const struct options *o;
	const char *path;
	struct capture *c;
	uint32_t no;
	struct capture_list *list;
	const struct blk *row;
	size_t rows;
	uint64_t seq;
	int64_t ms;
	bool known;
	struct symbol_wrappers *wrappers;
	struct capture_names *names;
};

static int
open_part(struct moment *m)
{
	const struct events_options *e = &m->o->events;
	char why[CAPTURE_WHY];
	int r = capture_open(&m->c, m->path, why);

	if (r < 0) {
		complain("%s", why);
		return capture_file_status(r);
	}
	return capture_choose(m->c, m->path, e->part, false, &m->no);
}

static int
find_moment(struct moment *m)
{
	const struct events_options *e = &m->o->events;
	struct capture_when when;
	int status = capture_moment(m->c, m->path, m->no, e->ats > 0 ?
	    e->at[0] : NULL, &when);

	if (status == PAGEK_OK)
		status = captures_seek(m->c, m->no, &when, m->path, false,
		    &m->list);
	if (status != PAGEK_OK)
		return status;
	m->known = capture_list_at(m->list, &m->seq, &m->ms);
	m->row = capture_list_rows(m->list, &m->rows);
	if (m->row != NULL)
		return PAGEK_OK;
	complain("cannot read '%s': %s", m->path, strerror(ENOMEM));
	return PAGEK_FAILED;
}

static int
open_names(struct moment *m)
{
	char program[PATH_MAX];
	struct symbols_opts opts = callers_reader(program);
	int r = options_wrappers(m->o, &m->wrappers);

	if (r == 0)
		r = capture_names_new(&m->names, m->c, m->no, &opts);
	if (r == 0)
		return PAGEK_OK;
	complain("cannot look names up: %s", strerror(-r));
	return PAGEK_FAILED;
}

static void
close_moment(struct moment *m)
{
	capture_names_free(m->names);
	symbol_wrappers_free(m->wrappers);
	capture_list_free(m->list);
	capture_close(m->c);
}

/* Says what the data lacks.  The status of that. */
static int
report_data(const struct moment *m, uint64_t lost)
{
	size_t n = capture_names_failed(m->names);

	if (n > 0)
		callers_report_unread(n);
	if (captures_complain(m->c, m->path) != PAGEK_OK)
		return PAGEK_FORMAT;
	return option_given(m->o, OPTION_STRICT) && (lost > 0 || !m->known) ?
	    PAGEK_INCOMPLETE : PAGEK_OK;
}

static int
fail_reading(const struct moment *m, int r)
{
	complain("cannot read '%s': %s", m->path, base_file_words(r));
	return PAGEK_FAILED;
}

static int
write_folded(const struct moment *m)
{
	struct profile *p = NULL;
	int r = profile_new(&p), status, worse;

	if (r == 0)
		profile_set_wrappers(p, m->wrappers);
	for (size_t i = 0; r == 0 && i < m->rows; i++)
		r = profile_add(p, m->row[i].caller, m->row[i].size,
		    m->row[i].ms);
	if (r == 0)
		r = capture_names_resolve(m->names, p);
	status = r < 0 ? fail_reading(m, r) : export_write(m->o,
	    &(struct export_held){ .profile = p, .now_ms = m->ms });
	profile_free(p);
	worse = report_data(m, 0);
	return status != PAGEK_OK ? status : worse;
}

static int
write_events(const struct moment *m)
{
	struct capture_part_info p;
	char target[TARGET_TEXT];
	struct captured *x;
	const struct export_source *s;
	int r, status, worse;

	(void)capture_part(m->c, m->no, &p);
	snprintf(target, sizeof target, "%s[%lld]", p.part.comm,
	    (long long)p.part.pid);
	r = captured_new(&x, &(struct captured_opts){ .c = m->c, .part = m->no,
	    .to = m->seq, .unknown = !m->known, .ms = m->ms, .row = m->row, .rows = m->rows,
	    .names = m->names, .wrappers = m->wrappers, .target = target,
	    .frees = export_needs(m->o) == EXPORT_NEEDS_FREES });
	if (r < 0)
		return fail_reading(m, r);
	s = captured_source(x);
	/* Few readers show the notes in a file. */
	if (s->note[0] != '\0')
		notice("%s: %s", base_shown(m->path), s->note);
	status = export_write(m->o, &(struct export_held){ .source = s });
	worse = report_data(m, captured_lost(x));
	captured_free(x);
	return status != PAGEK_OK ? status : worse;
}

int
export_capture_check(struct parse *p)
{
	const struct options *o = p->o;

	if (o->events.files == 0)
		return o->events.part != NULL ? option_fail(p, "--part is for "
		    "captures, and there is none") : 0;
	if (o->events.ats > 1)
		return option_fail(p, "'pagek export' takes one --at");
	return option_given(o, OPTION_FILTER) ? option_fail(p, "--filter is for "
	    "targets: of a capture, all blocks are exported") : 0;
}

int
export_capture(const struct options *o)
{
	struct moment m = { .o = o, .path = o->events.file[0] };
	int status = open_part(&m);

	if (status == PAGEK_OK)
		status = find_moment(&m);
	if (status == PAGEK_OK)
		status = open_names(&m);
	if (status == PAGEK_OK)
		status = export_needs(o) == EXPORT_NEEDS_PROFILE ?
		    write_folded(&m) : write_events(&m);
	close_moment(&m);
	return status;
}
