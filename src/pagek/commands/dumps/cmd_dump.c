#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../../capture/capture.h"
#include "../../documents/documents.h"
#include "dumps.h"

struct work {
	const struct options *o;
	struct subject subject;
	struct query query;
	struct format *format;		/* NULL: as data */
	struct callers *callers;	/* NULL: no names are wanted */
	struct format_style style;
};

static bool
wants_names(const struct work *w)
{
	return w->subject.live || w->subject.program != NULL ||
	    option_given(w->o, OPTION_SYMBOLS);
}

static void
usual_format(const struct work *w, char out[FORMAT_STANDARD])
{
	/* Without a dump, the format is for the data collected by default. */
	static const struct dump usual = { .source = { .word_bytes = 4,
		.options = MDD_OPT_ACTUAL_SIZE | MDD_OPT_TIMESTAMP |
		MDD_OPT_THREAD | MDD_OPT_BACKTRACE, .levels = 1 } };
	const struct subject *s = &w->subject;

	format_standard(out, s->n > 0 ? &s->dump[s->n - 1] : &usual,
	    w->o->command == COMMAND_HISTORY, wants_names(w) || s->n == 0);
}

static int
make_format(struct work *w, char why[DEBUGDATA_WHY])
{
	char usual[FORMAT_STANDARD];
	int e;

	if (options_as_data(w->o))
		return PAGEK_OK;
	usual_format(w, usual);
	e = format_new(&w->format, w->o->events.format != NULL ?
	    w->o->events.format : usual, why);
	if (e == -ENOMEM)
		snprintf(why, DEBUGDATA_WHY, "cannot start: %s", strerror(-e));
	if (e < 0)
		return e == -ENOMEM ? PAGEK_FAILED : PAGEK_USAGE;
	return w->o->events.format == NULL ? PAGEK_OK :
	    format_check(w->format, &w->subject, wants_names(w), why);
}

static int
check_names(const struct work *w, char why[DEBUGDATA_WHY])
{
	static const enum filter_field named[] = { FILTER_FUNCTION,
		FILTER_FILE, FILTER_LINE };
	bool needs = strpbrk(w->query.keys, "fF") != NULL;

	for (size_t i = 0; i < BASE_NELEM(named) && w->query.filter != NULL; i++)
		needs |= filter_uses(w->query.filter, named[i]);
	if (!needs || wants_names(w))
		return PAGEK_OK;
	snprintf(why, DEBUGDATA_WHY, "functions and files need the executable, "
	    "as the word before the first dump, or --symbols");
	return PAGEK_USAGE;
}

static void
init_work(struct work *w, const struct options *o)
{
	*w = (struct work){ .o = o, .style = { .ms = o->events.time ==
	    EVENTS_MS, .ascii = o->page.ascii || strcmp(nl_langinfo(CODESET),
	    "UTF-8") != 0 } };
}

static int
prepare_work(struct work *w)
{
	char why[DEBUGDATA_WHY];
	int status;

	/* The words were checked with the options. */
	query_parse(&w->query, w->o, why);
	status = query_check(&w->query, &w->subject, why);
	if (status == PAGEK_OK)
		status = check_names(w, why);
	if (status == PAGEK_OK)
		status = make_format(w, why);
	if (status != PAGEK_OK)
		complain("%s", why);
	return status;
}

static void
close_work(struct work *w)
{
	format_free(w->format);
	callers_free(w->callers);
	subject_close(&w->subject);
}

static int
show_format(const struct options *o)
{
	char text[FORMAT_STANDARD];
	struct work w = { .o = o };
	int status = o->events.files > 0 ? subject_open(&w.subject, o, 0, 0) :
	    PAGEK_OK;
	FILE *out = status == PAGEK_OK ? output_open(o->output) : NULL;

	if (status == PAGEK_OK && out == NULL)
		status = PAGEK_FAILED;
	if (out != NULL) {
		usual_format(&w, text);
		format_write(out, text);
		status = output_close(out, o->output, PAGEK_OK);
	}
	subject_close(&w.subject);
	return status;
}

static int
check_debugdata(struct parse *p)
{
	const struct options *o = p->o;
	char why[DEBUGDATA_WHY];
	struct format *f = NULL;
	struct query q;

	if (diff_saved_wanted(o))
		return diff_saved_check(p);
	if (o->events.files > 0 && o->target.kind == TARGET_COMMAND)
		return option_fail(p, "there is no file '%s', and a live "
		    "target is not compared with debug data",
		    base_shown(o->target.word));
	if (o->events.files > 0 && o->target_given)
		return option_fail(p, "'%s' is a file and '%s' a live target: "
		    "their sequence numbers have nothing in common",
		    base_shown(o->events.file[0]), base_shown(o->target.word));
	if (o->command == COMMAND_DIFF && o->target_given && !o->target_twice)
		return option_fail(p, "%sof a live target diff needs two moments: "
		    "'pagek diff --interval=SECONDS %s %s'",
		    o->target.kind == TARGET_COMMAND ? "no file has that "
		    "name, and " : "",
		    base_shown(o->target.word), base_shown(o->target.word));
	if (option_given(o, OPTION_UTC))
		return option_fail(p, "--utc is for saved lists: debug data has "
		    "ticks");
	if (option_given(o, OPTION_INTERVAL) && !o->target_given)
		return option_fail(p, "--interval is for live targets");
	if (option_given(o, OPTION_KEYS) && option_given(o, OPTION_SORT))
		return option_fail(p, "--keys and --sort exclude each other");
	if (o->events.format != NULL && options_as_data(o))
		return option_fail(p, "--row-format is for text, not for "
		    "--format=%s", o->text[OPTION_FORMAT]);
	if (query_parse(&q, o, why) < 0)
		return option_fail(p, "%s", why);
	if (o->events.format != NULL &&
	    format_new(&f, o->events.format, why) == -EINVAL)
		return option_fail(p, "%s", why);
	format_free(f);
	return 0;
}

static int
check_moments(struct parse *p)
{
	const struct events_options *r = &p->o->events;

	if (r->captures == 0)
		return option_fail(p, "--%s is for captures, and %s%s%s", r->ats >
		    0 ? "at" : "part", r->files > 0 ? "'" : "there is none",
		    r->files > 0 ? base_shown(r->file[r->files - 1]) : "",
		    r->files > 0 ? "' is none" : "");
	if (p->o->command == COMMAND_DIFF && r->ats != 0 && r->ats != 2)
		return option_fail(p, "diff needs two moments: 'pagek diff "
		    "--at T1 --at T2 FILE'");
	if (r->ats > 1 && p->o->command == COMMAND_DUMP)
		return option_fail(p, "'pagek dump' takes one --at");
	if (r->ats > 1 && (p->o->command == COMMAND_STATS ||
	    p->o->command == COMMAND_USAGE))
		return option_fail(p, "'pagek %s' takes one --at",
		    command_rows[p->o->command].name);
	return 0;
}

int
captures_check(struct parse *p)
{
	struct events_options *r = &p->o->events;

	for (size_t i = 0; i < r->files; i++)
		r->captures += capture_match(r->file[i]);
	if (p->o->command == COMMAND_HISTORY && r->captures > 0 &&
	    option_given(p->o, OPTION_REVERSE))
		return option_fail(p, "-r is for dumps: the history of a capture "
		    "is read and printed in one pass");
	if (p->o->command == COMMAND_HISTORY && r->captures > 1)
		return option_fail(p, "history takes one capture, and '%s' is "
		    "one too many", base_shown(r->file[r->files - 1]));
	if (r->ats > 0 || r->part != NULL)
		return check_moments(p);
	if (p->o->command == COMMAND_DIFF && r->captures == 1 && r->files == 1)
		return option_fail(p, "diff of one capture needs two moments: "
		    "'pagek diff --at T1 --at T2 %s'", base_shown(r->file[0]));
	return 0;
}

int
cmd_dump_check(struct parse *p)
{
	int status = captures_check(p);

	return status != 0 ? status : check_debugdata(p);
}

static int
choose_rows(struct work *w, struct events *e)
{
	int r = query_apply(&w->query, e, w->callers);

	return r < 0 ? r : callers_look(w->callers, e);
}

static void
print_rows(const struct work *w, const struct events *e, bool reverse, FILE *out)
{
	for (size_t i = 0; i < e->n && output_going(out); i++)
		format_print(w->format, &e->row[reverse ? e->n - 1 - i : i],
		    w->callers, &w->style, out);
}

static void
put_rows(const struct work *w, struct json *j, const struct events *e,
    bool reverse, const char *change)
{
	struct event_row row = { .callers = w->callers, .change = change };

	for (size_t i = 0; i < e->n && output_going(j->out); i++) {
		row.e = &e->row[reverse ? e->n - 1 - i : i];
		json_row(j, &row, j->subset);
	}
}

static void
put_head(const struct work *w, struct json *j, FILE *out, const char *schema,
    unsigned subset)
{
	const struct subject *s = &w->subject;
	bool complete = true;

	json_open(j, out, w->o);
	json_document(j, schema, &event_fields, subset);
	json_text(j, "executable", s->program);
	json_begin(j, "dumps", '[', false);
	for (size_t i = 0; i < s->n; i++)
		json_text(j, NULL, s->dump[i].name);
	json_end(j);
	for (size_t i = 0; i < s->n; i++)
		complete &= s->dump[i].nproblems == 0 &&
		    s->dump[i].counts.missed == 0;
	json_bool(j, "complete", complete);
}

static int
end_work(struct work *w, FILE *out, int error)
{
	int status = PAGEK_FAILED;

	if (error < 0)
		complain("cannot print the events: %s", strerror(-error));
	else if (out != NULL)
		status = output_close(out, w->o->output, PAGEK_OK);
	if (status == PAGEK_OK)
		status = subject_report(&w->subject);
	return status;
}

static int
print_dump(struct work *w)
{
	struct events e = { .n = 0 };
	struct json j;
	FILE *out = NULL;
	int r = events_of_dump(&e, &w->subject.dump[0]), status;

	if (r == 0)
		r = choose_rows(w, &e);
	if (r == 0)
		out = output_open(w->o->output);
	if (out != NULL && w->format != NULL) {
		print_rows(w, &e, false, out);
	} else if (out != NULL) {
		put_head(w, &j, out, "pagek.dump/1", EVENT_HELD);
		json_rows(&j, "allocations");
		put_rows(w, &j, &e, false, NULL);
		json_rows_end(&j);
		json_end(&j);
	}
	status = end_work(w, out, r);
	events_fini(&e);
	return status;
}

/* Reports events, and levels, that the source does not have. */
static void
report_history(const struct work *w)
{
	const struct subject *s = &w->subject;
	const struct dump *d = &s->dump[s->n - 1];
	unsigned levels = d->source.free_levels;
	char why[DEBUGDATA_WHY];

	if (subject_lacks(s, MDD_OPT_HISTORY, "only current allocations are "
	    "shown", why))
		notice("%s", why);
	if (s->live && w->format != NULL && levels <= 1 && d->npast > 0 &&
	    format_levels(w->format) > 0)
		notice("stacks of frees were not collected; --free-stack of the "
		    "node does that, as in 'pagek run --free-stack'");
}

static int
stream_rows(struct work *w, struct json *j, FILE *out)
{
	struct events e = { .n = 0 };
	size_t read = 1;
	int r = 0;

	while (r == 0 && read > 0 && output_going(out)) {
		r = captures_next(w->subject.stream, &e);
		read = e.n;
		if (r == 0)
			r = choose_rows(w, &e);
		if (r == 0 && w->format != NULL)
			print_rows(w, &e, false, out);
		else if (r == 0)
			put_rows(w, j, &e, false, NULL);
	}
	events_fini(&e);
	return r;
}

static int
print_stream(struct work *w)
{
	const struct dump *d = &w->subject.dump[0];
	bool complete = d->counts.missed == 0 && d->counts.overwritten == 0 &&
	    d->nproblems == 0;
	FILE *out = output_open(w->o->output);
	struct json j;
	int r;

	if (out == NULL)
		return PAGEK_FAILED;
	if (w->format != NULL) {
		if (!complete)
			fputs("Caution: history is incomplete.\n\n", out);
		r = stream_rows(w, NULL, out);
		return end_work(w, out, r);
	}
	put_head(w, &j, out, "pagek.history/1", EVENT_HISTORY);
	json_bool(&j, "history_complete", complete);
	json_rows(&j, "events");
	r = stream_rows(w, &j, out);
	json_rows_end(&j);
	json_end(&j);
	return end_work(w, out, r);
}

static int
print_history(struct work *w)
{
	const struct subject *s = &w->subject;
	bool complete, reverse = option_given(w->o, OPTION_REVERSE);
	struct events e = { .n = 0 };
	struct json j;
	FILE *out = NULL;
	int r = events_of_history(&e, s->dump, s->n, &complete), status;

	if (r == 0)
		r = choose_rows(w, &e);
	if (r == 0)
		out = output_open(w->o->output);
	if (out != NULL && w->format != NULL) {
		if (!complete)
			fputs("Caution: history is incomplete.\n\n", out);
		print_rows(w, &e, reverse, out);
	} else if (out != NULL) {
		put_head(w, &j, out, "pagek.history/1", EVENT_HISTORY);
		json_bool(&j, "history_complete", complete);
		json_rows(&j, "events");
		put_rows(w, &j, &e, reverse, NULL);
		json_rows_end(&j);
		json_end(&j);
	}
	report_history(w);
	status = end_work(w, out, r);
	events_fini(&e);
	return status;
}

static void
print_sums(const struct dump *d, FILE *out)
{
	char name[1024];
	struct dump_totals t;

	dump_sum(d, &t);
	base_safe_text(name, sizeof name, d->name, strlen(d->name), false);
	fprintf(out, "File %s : %" PRIu64 "K (%" PRIu64 " bytes) used in %"
	    PRIu64 " allocations.\n", name, t.bytes / 1024, t.bytes, t.blocks);
}

struct titles {
	char added[2200], freed[2200];
};

static void
make_titles(const struct subject *s, struct titles *t)
{
	char a[1024], b[1024];

	base_safe_text(a, sizeof a, s->dump[0].name, strlen(s->dump[0].name),
	    false);
	base_safe_text(b, sizeof b, s->dump[1].name, strlen(s->dump[1].name),
	    false);
	snprintf(t->added, sizeof t->added, "new allocations in %s but not in %s",
	    b, a);
	snprintf(t->freed, sizeof t->freed, "allocations in %s but freed in %s",
	    a, b);
}

static void
print_lists(const struct work *w, const struct events *added,
    const struct events *freed, const size_t of[2], FILE *out)
{
	const struct subject *s = &w->subject;
	struct titles t;

	make_titles(s, &t);
	print_sums(&s->dump[0], out);
	print_sums(&s->dump[1], out);
	fprintf(out, "%zu %s\n%zu %s\n\n", of[0], t.added, of[1], t.freed);
	fprintf(out, "N%s\n", t.added + 1);
	print_rows(w, added, false, out);
	/* A format may have no empty line between rows: one ends the list. */
	if (w->o->events.format != NULL)
		fputc('\n', out);
	fprintf(out, "A%s\n", t.freed + 1);
	print_rows(w, freed, false, out);
}

static void
put_lists(const struct work *w, const struct events *added,
    const struct events *freed, const size_t of[2], FILE *out)
{
	struct json j;

	put_head(w, &j, out, "pagek.diff/1", EVENT_CHANGE);
	json_number(&j, "new", of[0]);
	json_number(&j, "freed", of[1]);
	json_rows(&j, "allocations");
	put_rows(w, &j, added, false, "new");
	put_rows(w, &j, freed, false, "freed");
	json_rows_end(&j);
	json_end(&j);
}

static int
print_diff(struct work *w)
{
	const struct dump *d = w->subject.dump;
	struct events added = { .n = 0 }, freed = { .n = 0 };
	FILE *out = NULL;
	size_t of[2];
	int r = events_of_diff(&added, &freed, &d[0], &d[1]), status;

	of[0] = added.n;
	of[1] = freed.n;
	if (r == 0)
		r = choose_rows(w, &added);
	if (r == 0)
		r = choose_rows(w, &freed);
	if (r == 0)
		out = output_open(w->o->output);
	if (out != NULL && w->format != NULL)
		print_lists(w, &added, &freed, of, out);
	else if (out != NULL)
		put_lists(w, &added, &freed, of, out);
	status = end_work(w, out, r);
	events_fini(&added);
	events_fini(&freed);
	return status;
}

static int
print_events(struct work *w)
{
	switch (w->o->command) {
	case COMMAND_HISTORY:
		return w->subject.stream != NULL ? print_stream(w) :
		    print_history(w);
	case COMMAND_DIFF:
		return print_diff(w);
	default:
		return print_dump(w);
	}
}

/* The second moment of a difference comes after --interval. */
static int
take_live(struct work *w, uv_loop_t *loop, struct nodes_session *s)
{
	size_t dumps = w->o->command == COMMAND_DIFF ? 2 : 1;
	int e = subject_open_live(&w->subject, dumps);

	if (e == 0)
		e = callers_new_live(&w->callers, &w->subject, dumps, w->o);
	for (size_t i = 0; e == 0 && i < dumps; i++) {
		if (i > 0)
			pump(loop, s, w->o->repeat.interval_ms, NULL, NULL);
		e = live_dump(w->o, loop, s, &w->subject, w->callers);
	}
	return e;
}

static int
run_live(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	struct work w;
	int e, status;

	init_work(&w, o);
	e = take_live(&w, loop, s);
	if (e < 0)
		complain("cannot read the target: %s", strerror(-e));
	status = e < 0 ? PAGEK_FAILED : prepare_work(&w);
	if (status == PAGEK_OK)
		status = print_events(&w);
	close_work(&w);
	batch_report_end(nodes_session_look(s));
	return status != PAGEK_OK ? status :
	    batch_status(o, nodes_session_look(s));
}

static int
run_work(const struct options *o, uv_loop_t *loop, size_t least, size_t most)
{
	struct work w;
	int status;

	if (option_given(o, OPTION_SHOW_FORMAT))
		return show_format(o);
	if (o->target_given)
		return batch_watch(o, loop, run_live);
	init_work(&w, o);
	status = subject_open(&w.subject, o, least, most);
	if (status == PAGEK_OK)
		status = prepare_work(&w);
	/* Damage may be the only reason for a refusal. */
	if (status == PAGEK_USAGE && subject_report(&w.subject) != PAGEK_OK)
		status = PAGEK_FORMAT;
	if (status == PAGEK_OK)
		status = callers_new(&w.callers, &w.subject, o);
	if (status == PAGEK_OK)
		status = print_events(&w);
	close_work(&w);
	return status;
}

int
cmd_dump(const struct options *o, uv_loop_t *loop)
{
	return run_work(o, loop, 1, 1);
}

int
cmd_history(const struct options *o, uv_loop_t *loop)
{
	return run_work(o, loop, 1, 0);
}

int
cmd_diff(const struct options *o, uv_loop_t *loop)
{
	return diff_saved_wanted(o) ? diff_saved(o, loop) :
	    run_work(o, loop, 2, 2);
}
