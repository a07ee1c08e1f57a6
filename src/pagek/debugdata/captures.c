#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../../capture/capture.h"
#include "../cli/capture_target.h"
#include "debugdata.h"

#define DAMAGES 10		/* that have a line of their own */

struct filling {
	struct capture *c;
	struct dump *d;
	const char *path;
	uint32_t no;
	struct capture_part_info part;
	struct capture_when when;
	bool history;			/* rows are read one by one: take the rest */
};

static void
take_stack(const struct captures_source *f, uint64_t caller,
    struct dump_moment *m)
{
	struct stream_site s;
	unsigned n = 1;

	if (!rec_is_site(caller)) {
		m->stack[0] = caller;
		n = caller != 0;
	} else if (capture_site(f->c, f->no, rec_site(caller), &s)) {
		n = s.depth < MDD_LEVELS ? s.depth : MDD_LEVELS;
		for (unsigned i = 0; i < n; i++)
			m->stack[i] = frame_pc(s.frame[i]);
	}
}

int
captures_row(const struct captures_source *f, const struct blk *b,
    struct dump_record *r)
{
	int64_t start = f->start_ms;
	const char *name = NULL;
	uint32_t tid;

	*r = (struct dump_record){ .address = b->addr, .size = b->size,
		.actual = blk_used(b),
		.alloc = { .seqno = b->seq, .thread = b->thread,
		.function = debugdata_function(b->type),
		.time = b->ms > start ? ((uint64_t)b->ms - (uint64_t)start) /
		    DEBUGDATA_TICK_MS : 0 } };
	take_stack(f, b->caller, &r->alloc);
	capture_thread(f->c, f->no, b->thread, &tid, &name);
	return dump_name_thread(f->d, b->thread, name);
}

static int
take_rows(struct filling *f, struct capture_list *l)
{
	size_t n;
	const struct blk *row = capture_list_rows(l, &n);
	struct captures_source of = { f->c, f->d, f->no, f->part.part.ms };
	int e = row == NULL ? -ENOMEM : 0;

	f->d->record = calloc(n + 1, sizeof *f->d->record);
	if (f->d->record == NULL)
		return -ENOMEM;
	for (size_t i = 0; e == 0 && i < n; i++)
		e = captures_row(&of, &row[i],
		    &f->d->record[f->d->nrecords++]);
	return e;
}

static int
take_modules(struct filling *f)
{
	unsigned n = capture_modules(f->c, f->no);
	struct stream_module m;
	struct dump_module *to;

	f->d->module = calloc(n + 1, sizeof *f->d->module);
	if (f->d->module == NULL)
		return -ENOMEM;
	for (unsigned i = 1; i <= n; i++) {
		if (!capture_module(f->c, f->no, i, &m) || m.end <= m.start)
			continue;
		to = &f->d->module[f->d->nmodules];
		*to = (struct dump_module){ .lo = m.start, .hi = m.end,
			.bias = m.bias, .build_id_len = m.build_id_len };
		to->path = strdup(m.path[0] != '\0' ? m.path :
		    f->part.part.exe);
		if (to->path == NULL)
			return -ENOMEM;
		memcpy(to->build_id, m.build_id, m.build_id_len);
		f->d->nmodules++;
	}
	return 0;
}

uint64_t
captures_lost(const struct capture_list *l)
{
	const struct capture_totals *t = capture_list_totals(l);
	uint64_t n = 0;

	for (unsigned i = 0; i < STREAM_CAUSES; i++)
		n += t->lost[i];
	return n;
}

static void
take_counts(struct filling *f, const struct capture_list *l)
{
	const struct capture_totals *t = capture_list_totals(l);
	struct dump_counts *n = &f->d->counts;
	uint64_t seq;
	int64_t ms;
	bool known = capture_list_at(l, &seq, &ms);

	n->allocs = t->allocs;
	n->frees = t->frees;
	n->current = t->blocks;
	n->seqno = seq;
	n->unknown = t->unknown_free;
	n->replaced = t->duplicate;
	n->missed = captures_lost(l);
	if (!known && n->missed == 0)
		n->missed = 1;
}

static void
take_source(struct filling *f)
{
	struct dump *d = f->d;

	d->source = (struct dump_source){ .known = true, .live = true,
		.run = d->source.run,
		.tick_hz = 1000 / DEBUGDATA_TICK_MS,
		.word_bytes = f->part.part.word_bytes != 0 ?
		    f->part.part.word_bytes : 8,
		.options = MDD_OPT_TIMESTAMP | MDD_OPT_THREAD |
		    MDD_OPT_ACTUAL_SIZE,
		.process = (uint32_t)f->part.part.pid };
	base_copy_text(d->info.program, sizeof d->info.program,
	    f->part.part.exe);
}

/* Of all sites, so that all moments of a capture have the same levels. */
static void
take_levels(struct filling *f)
{
	struct stream_site site;
	unsigned levels = 1;

	for (uint32_t i = 1; i <= capture_sites(f->c, f->no); i++)
		if (capture_site(f->c, f->no, i, &site) && site.depth > levels)
			levels = site.depth < MDD_LEVELS ? site.depth :
			    MDD_LEVELS;
	f->d->source.levels = levels;
	f->d->source.options |= MDD_OPT_BACKTRACE;
}

/* A ring has a first list only behind what was dropped. */
static void
report_state(const struct capture *c, const struct capture_part_info *p,
    const struct capture_when *when, const char *name,
    const struct capture_list *l)
{
	int64_t ms, since = capture_list_since(l);
	char date[CAPTURE_DATE];
	uint64_t seq;

	if (!capture_list_at(l, &seq, &ms) && since != INT64_MIN) {
		capture_date(c, since, date);
		notice("%s: INCOMPLETE: events are missing from %s on, until "
		    "the next list in the capture; the list is that before "
		    "them, with the events behind them", name, date);
	} else if (!capture_list_at(l, &seq, &ms) &&
	    p->complete_ms != INT64_MAX) {
		capture_date(c, p->complete_ms, date);
		notice("%s: INCOMPLETE: blocks may be missing: all are known "
		    "from %s on, until the next gap", name, date);
	}
	if (when->at == CAPTURE_AT_MS && p->ended && when->ms > p->end_ms)
		notice("%s: the process image had ended: this is its end",
		    name);
}

int
captures_seek(struct capture *c, uint32_t part, const struct capture_when *when,
    const char *name, bool quiet, struct capture_list **l)
{
	struct capture_part_info p;
	char date[CAPTURE_DATE];
	int e = capture_seek(c, part, when, l);

	(void)capture_part(c, part, &p);
	/* A part without an event and without a state has nothing. */
	if (e == -ENOENT && when->at == CAPTURE_AT_END)
		e = capture_list_new(l, p.part.options);
	if (e == 0 && !quiet)
		report_state(c, &p, when, name, *l);
	if (e == 0)
		return PAGEK_OK;
	if (e == -ENOENT) {
		capture_date(c, p.part.ms, date);
		complain("%s: image %u, %s[%lld], began later, at %s", name,
		    part, base_shown(p.part.comm), (long long)p.part.pid, date);
		return PAGEK_USAGE;
	}
	complain("cannot read '%s': %s", name, base_file_words(e));
	return PAGEK_FAILED;
}

static int
fill(struct filling *f)
{
	struct capture_list *l = NULL;
	int status = captures_seek(f->c, f->no, &f->when, f->d->name,
	    f->history, &l), e;

	if (status != PAGEK_OK)
		return status;
	take_source(f);
	take_levels(f);
	take_counts(f, l);
	e = f->history ? 0 : take_rows(f, l);
	if (e == 0)
		e = take_modules(f);
	capture_list_free(l);
	dump_settle(f->d);
	/* Numbers of 64 bits do not wrap; inherited blocks may have any. */
	f->d->wrapped = false;
	if (e == 0)
		return PAGEK_OK;
	complain("cannot read '%s': %s", f->path, base_file_words(e));
	return PAGEK_FAILED;
}

static int
list_images(const struct filling *f, struct subject *s)
{
	struct capture_part_info p;
	struct capture_about about;

	capture_about(f->c, &about);
	free(s->image);
	s->images = 0;
	s->image = calloc(about.parts + 1, sizeof *s->image);
	if (s->image == NULL)
		return -ENOMEM;
	for (uint32_t i = 1; i <= about.parts; i++) {
		struct capture_image *to = &s->image[s->images];

		if (!capture_part(f->c, i, &p))
			continue;
		*to = (struct capture_image){ .part = i, .pid = p.part.pid,
			.events = p.events, .shown = i == f->no,
			.dropped = p.dropped };
		if (p.complete_ms != INT64_MAX)
			capture_date(f->c, p.complete_ms, to->known);
		base_copy_text(to->name, sizeof to->name, p.part.comm);
		s->images++;
	}
	return 0;
}

/* subject_report() prints the path, so a sentence does not repeat it. */
void
captures_report(struct dump *d, const struct capture *c, const char *path,
    size_t *reported)
{
	size_t n = strlen(path);

	for (; *reported < capture_damages(c); ++*reported) {
		const char *text = capture_damage(c, *reported);

		if (strncmp(text, path, n) == 0 && text[n] == ':')
			text += n + 2;
		dump_problem(d, "%s", text);
	}
}

int
captures_complain(const struct capture *c, const char *path)
{
	size_t n = capture_damages(c);

	for (size_t i = 0; i < n && i < DAMAGES; i++)
		complain("%s", capture_damage(c, i));
	if (n > DAMAGES)
		complain("'%s': %s more errors", path,
		    base_digits(n - DAMAGES).text);
	return n > 0 ? PAGEK_FORMAT : PAGEK_OK;
}

/* Of a ring, what was dropped is missing, too. */
static void
take_history(struct filling *f, const struct capture_about *about)
{
	f->d->source.options |= MDD_OPT_HISTORY;
	f->d->source.free_levels = f->d->source.levels;
	if (about->oldest > 1 || f->part.part.began == CAPTURE_JOINED ||
	    f->part.complete_ms == INT64_MAX)
		f->d->counts.overwritten = 1;
}

static int
name_dump(struct filling *f, const char *at)
{
	char name[PATH_MAX + 160];

	snprintf(name, sizeof name, "%s%s%s", f->path, at != NULL ? "@" : "",
	    at != NULL ? at : "");
	f->d->name = strdup(name);
	return f->d->name != NULL ? 0 : -ENOMEM;
}

static int
take_open(struct filling *f, struct subject *s, const struct capture_pick *pick)
{
	struct capture_about about;
	size_t reported = 0;
	int status = capture_choose(f->c, f->path, pick->part, pick->again,
	    &f->no);

	if (status != PAGEK_OK)
		return status;
	capture_about(f->c, &about);
	capture_part(f->c, f->no, &f->part);
	f->d->source.run = about.id + f->no * UINT64_C(0x9e3779b97f4a7c15);
	status = capture_moment(f->c, f->path, f->no, pick->at, &f->when);
	if (status == PAGEK_OK && list_images(f, s) < 0) {
		complain("cannot read '%s': %s", f->path, strerror(ENOMEM));
		status = PAGEK_FAILED;
	}
	if (status == PAGEK_OK)
		status = fill(f);
	if (status == PAGEK_OK && f->history)
		take_history(f, &about);
	if (!pick->again)
		captures_report(f->d, f->c, f->path, &reported);
	if (!about.ended && !pick->again)
		notice("'%s' has no end: it is still being written, or its "
		    "recorder was killed", f->path);
	return status;
}

int
captures_dump(struct subject *s, const char *path,
    const struct capture_pick *pick)
{
	struct filling f = { .d = &s->dump[s->n++], .path = path,
		.history = pick->history };
	char why[CAPTURE_WHY];
	int status, e = capture_open(&f.c, path, why);

	if (name_dump(&f, pick->at) < 0 || e < 0) {
		complain("%s", e < 0 ? why : strerror(ENOMEM));
		if (e == 0)
			capture_close(f.c);
		return capture_file_status(e);
	}
	status = take_open(&f, s, pick);
	capture_close(f.c);
	return status;
}
