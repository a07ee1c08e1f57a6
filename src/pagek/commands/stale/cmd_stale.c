#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../blocks/choice.h"
#include "../../cli/pump.h"
#include "../commands.h"
#include "../snapshot/snapshot.h"
#include "../../layout/fields.h"
#include "../../layout/layout.h"
#include "stale.h"

#define FOR_MS 30000		/* with --enable */
#define PERIODS 2		/* until what was referenced before is counted */
#define LOOK_MS 500
#define PAGES_A_MS 100		/* to be copied, on average */
#define PERIOD_MS 1000		/* of counting that somebody else may have begun meanwhile */
#define SPARE_MS 600000		/* by which a period is longer than the time asked for, at most */

struct work {
	const struct options *o;
	uv_loop_t *loop;
	struct nodes_session *s;
	struct refcnt_reader reader;
	struct refcnt_switch wish;
	bool one_period;		/* nobody else counts: the time is one period */
	uint64_t until;			/* with --enable: the number of periods that have to end */
	struct stale_since since;
	struct stale_found found;
	struct options with;		/* options whose filter is that of stale blocks */
	char expression[FILTER_MAX + 1];
	FILE *out;
};

static bool
is_gone(void *arg)
{
	const struct nodes_look *look = nodes_session_look(arg);

	return look->state == NODES_ENDED ||
	    (!look->link.up && !look->link.returns);
}

static bool
is_over(void *arg)
{
	return pump_is_interrupted() || is_gone(arg);
}

static bool
is_switched(void *arg)
{
	struct work *w = arg;

	return is_gone(w->s) || refcnt_switch_step(&w->wish, w->s);
}

static void
view_of(struct work *w, struct page_view *v)
{
	page_view_live(v, w->s);
	v->wrappers = w->o->page.wrappers;
	v->refcnt = &w->reader.copy;
}

static int
fail_over(const struct work *w)
{
	if (pump_is_interrupted()) {
		complain("interrupted before the list could be made");
		return PAGEK_FAILED;
	}
	complain("%s: it ended, or its node did, before the list could be made",
	    w->o->target.word);
	return PAGEK_NO_TARGET;
}

/* Each look copies all counts. */
static int
look_ms(const struct refcnt_copy *c)
{
	int ms = c->period_ms < 2 * LOOK_MS ? (int)c->period_ms / 2 + 1 : LOOK_MS;

	return c->n / PAGES_A_MS > (size_t)ms ? (int)(c->n / PAGES_A_MS) : ms;
}

/* Reads the counts when so many periods have ended. */
static int
read_counts_at(struct work *w, uint64_t periods)
{
	struct mono begun = mono_now();
	int status = PAGEK_OK;

	for (;;) {
		if (is_over(w->s))
			return fail_over(w);
		status = batch_refcnt(w->o, w->loop, w->s, &w->reader);
		if (status != PAGEK_OK || w->reader.copy.ranges == 0 ||
		    w->reader.periods >= periods)
			return status;
		if (mono_ms_since(begun) > WIRE_COUNT_PERIOD + w->o->timeout_ms) {
			complain("%s: a period of counting does not end",
			    w->o->target.word);
			return PAGEK_TIMEOUT;
		}
		pump(w->loop, w->s, look_ms(&w->reader.copy), is_over, w->s);
	}
}

/*
 * Reads the counts of a time when all that was referenced until now is counted: some
 * periods later.
 */
static int
read_counts(struct work *w, uint64_t periods)
{
	int status = read_counts_at(w, 0);

	return status != PAGEK_OK || w->reader.copy.ranges == 0 ? status :
	    read_counts_at(w, w->reader.latest + periods);
}

static bool
set_period(struct work *w, uint64_t ms)
{
	w->wish.at = w->wish.ranges.n - 1;
	w->wish.failed = 0;
	w->wish.period_ms = ms < UINT32_MAX ? (uint32_t)ms : UINT32_MAX;
	return pump(w->loop, w->s, w->o->timeout_ms, is_switched, w) &&
	    w->wish.failed == 0;
}

static uint64_t
longest(const struct work *w)
{
	return w->since.idle_ms > WIRE_COUNT_PERIOD - SPARE_MS ?
	    WIRE_COUNT_PERIOD : (uint64_t)w->since.idle_ms + SPARE_MS;
}

/* Counts what is not counted yet.  PAGEK_OK, or the status after a complaint. */
static int
enable(struct work *w)
{
	struct refcnt_switch *wish = &w->wish;
	struct page_view v;
	uint64_t pages;
	int err, status;

	view_of(w, &v);
	err = refcnt_switch_blocks(wish, &v, w->o->stale.age_ms, &pages);
	if (err < 0) {
		complain("cannot count: %s", strerror(-err));
		return PAGEK_FAILED;
	}
	wish->on = true;
	if (wish->ranges.n == 0)
		return PAGEK_OK;
	/* Catch these signals: the command must end the counting that it has begun. */
	pump_catch(SIGINT, true);
	pump_catch(SIGTERM, true);
	pump_catch(SIGHUP, true);
	if (!pump(w->loop, w->s, w->o->timeout_ms, is_switched, w)) {
		complain("no answer within %d s", w->o->timeout_ms / 1000);
		return PAGEK_TIMEOUT;
	}
	if (wish->failed == wish->ranges.n) {
		complain("%s: the pages are not counted: %s", w->o->target.word,
		    wish->why);
		return wish->error == -EPERM ? PAGEK_DENIED : PAGEK_FAILED;
	}
	if (wish->failed > 0)
		complain("%zu of %zu ranges are not counted: %s", wish->failed,
		    wish->ranges.n, wish->why);
	/* References before the first whole period are not counted. */
	status = read_counts(w, PERIODS - w->one_period);
	/*
	 * Reading and clearing the bits of many pages takes seconds, in which
	 * a first reference is not seen.  So the time is one period, begun
	 * when the one before it ended; end_period() ends it, because a busy
	 * machine may be late with all of this.
	 */
	if (status == PAGEK_OK && w->one_period) {
		w->one_period = w->since.idle_ms < WIRE_COUNT_PERIOD &&
		    set_period(w, longest(w));
		status = read_counts(w, 1);
	}
	w->until = w->reader.latest + 1;
	if (status == PAGEK_OK)
		notice("counting references to %s pages for %g s",
		    base_digits(pages).text, w->since.idle_ms / 1000.0);
	return status;
}

static void
disable(struct work *w)
{
	if (!w->wish.on || is_gone(w->s))
		return;
	if (w->one_period)
		(void)set_period(w, PERIOD_MS);
	w->wish.period_ms = 0;
	w->wish.on = false;
	w->wish.at = w->wish.failed = 0;
	if (pump(w->loop, w->s, w->o->timeout_ms, is_switched, w) &&
	    w->wish.failed == 0)
		return;
	complain("counting goes on: %s; 'pagek refcnt --disable' ends it",
	    w->wish.why[0] != '\0' ? w->wish.why : "no answer");
}

static int
choose_mark(struct work *w)
{
	const struct wire_named_mark *mark;
	int status = batch_find_mark(w->o, w->loop, w->s, w->o->page.mark, &mark);
	int64_t since = stale_counted_since(&w->reader.copy);

	if (status != PAGEK_OK)
		return status;
	if (mark->ms < since) {
		complain("counting began after the mark '%s': without --mark, the "
		    "list is of the time since then", base_shown(w->o->page.mark));
		return PAGEK_FAILED;
	}
	w->since = (struct stale_since){ .idle_ms = w->reader.copy.now_ms -
		mark->ms };
	return PAGEK_OK;
}

static void
wait_for(struct work *w)
{
	int64_t left = w->since.idle_ms - (w->wish.ranges.n > 0 ? 0 :
	    w->reader.copy.now_ms - stale_counted_since(&w->reader.copy));

	if (left > 0)
		pump(w->loop, w->s, left > INT32_MAX ? INT32_MAX : (int)left,
		    is_over, w->s);
}

static int
fail_ended(const struct work *w)
{
	complain("%s: counting was ended before the list could be made: %s",
	    w->o->target.word, w->reader.why[0] != '\0' ? w->reader.why :
	    "by 'pagek refcnt --disable', or its node was started again");
	return PAGEK_FAILED;
}

/* A range that somebody has switched off meanwhile must stay so: false, none is on. */
static bool
choose_range(struct work *w)
{
	struct page_ranges *r = &w->wish.ranges;

	for (size_t i = r->n; i-- > 0; ) {
		struct refcnt_range range = r->range[i];

		if (refcnt_copy_range(&w->reader.copy, range.vaddr) == NULL)
			continue;
		r->range[i] = r->range[r->n - 1];
		r->range[r->n - 1] = range;
		return true;
	}
	return false;
}

/* Ends the period of the time that was asked for, and reads its counts. */
static int
end_period(struct work *w)
{
	int status = read_counts_at(w, 0);

	if (status != PAGEK_OK)
		return status;
	if (!choose_range(w))
		return fail_ended(w);
	(void)set_period(w, PERIOD_MS);
	return read_counts_at(w, w->until);
}

static int
choose_moment(struct work *w)
{
	const struct options *o = w->o;
	bool on = option_given(o, OPTION_ENABLE);
	int status;

	w->since.counting = o->stale.for_ms == 0 && !on;
	w->since.idle_ms = o->stale.for_ms > 0 ? o->stale.for_ms : on ? FOR_MS : 0;
	status = batch_refcnt(o, w->loop, w->s, &w->reader);
	w->one_period = w->reader.copy.ranges == 0;
	if (status == PAGEK_OK && on)
		status = enable(w);
	if (status != PAGEK_OK)
		return status;
	if (w->reader.copy.ranges == 0) {
		complain("%s: no references are counted: %s%sgive --enable, or count "
		    "some pages by 'pagek refcnt --enable'", o->target.word,
		    w->reader.why, w->reader.why[0] != '\0' ? ": " : "");
		return PAGEK_FAILED;
	}
	if (w->since.idle_ms > 0)
		wait_for(w);
	if (on && w->one_period)
		status = end_period(w);
	else
		status = read_counts(w, PERIODS);
	if (status == PAGEK_OK && w->reader.copy.ranges == 0)
		return fail_ended(w);
	return status == PAGEK_OK && o->page.mark != NULL ? choose_mark(w) :
	    status;
}

static int
choose_blocks(struct work *w)
{
	struct filter_error e;
	int err;

	stale_filter(&w->since, w->o->stale.age_ms, w->o->filter.text,
	    w->expression, sizeof w->expression);
	w->with = *w->o;
	w->with.page.refcnt = &w->reader.copy;
	w->with.filter.text = w->expression;
	w->with.filter.compiled = NULL;
	err = filter_new(&w->with.filter.compiled, w->expression, &e);
	w->with.page.filter = w->with.filter.compiled;
	if (err < 0)
		complain("--filter: %s", err == -EINVAL ? e.why : strerror(-err));
	return err == 0 ? PAGEK_OK : PAGEK_FAILED;
}

static int
find_stale(struct work *w)
{
	struct page_row_filter *filter;
	struct page_view v;
	int err = batch_filter(w->o, &filter);

	if (err < 0) {
		complain("cannot list: %s", strerror(-err));
		return PAGEK_FAILED;
	}
	view_of(w, &v);
	stale_find(&w->found, &v, filter, &w->since, w->o->stale.age_ms);
	page_row_filter_free(filter);
	return PAGEK_OK;
}

struct rows {
	struct json *j;
	const struct page_view *v;
	struct profile *p;
};

static void
put_block(void *arg, const struct blk *b)
{
	struct rows *r = arg;

	json_block(r->j, r->v, r->p, b);
}

static int
put_document(struct work *w, FILE *out, struct page *page, struct profile *p,
    struct page_row_filter *filter)
{
	struct page_view v;
	struct json j;
	struct rows rows = { &j, &v, p };
	int err;

	batch_view(&v, page, w->s);
	err = page_choice_text_begin(page, &v);
	if (err < 0)
		return err;
	json_open(&j, out, &w->with);
	json_document(&j, "pagek.stale/1", &page_block_fields, PAGE_BLOCK_HELD);
	stale_json_head(&j, &v, &w->found);
	json_text(&j, "filter", w->o->filter.text);
	json_rows(&j, "blocks");
	json_block_rows(out, page, &v, filter, w->o->limit, put_block, &rows);
	json_rows_end(&j);
	json_end(&j);
	return 0;
}

static int
write_document(struct work *w, FILE *out)
{
	struct page_row_filter *filter = NULL;
	struct profile *p = NULL;
	struct page page;
	size_t lacking = 0;
	int err;

	page_init(&page, &w->with.page);
	err = batch_filter(&w->with, &filter);
	if (err == 0)
		err = batch_profile(w->loop, w->s, &page.opts, filter,
		    w->o->limit, w->o->timeout_ms, &p, &lacking);
	if (err == 0) {
		batch_report_names(w->o, w->s, lacking, profile_callers(p));
		err = put_document(w, out, &page, p, filter);
	}
	page_fini(&page);
	profile_free(p);
	page_row_filter_free(filter);
	if (err < 0)
		complain("cannot list: %s", strerror(-err));
	return err < 0 ? PAGEK_FAILED : PAGEK_OK;
}

static int
put_groups(FILE *out, const struct options *o, const struct snapshot *m)
{
	const struct stale_found *found = o->stale.found;
	struct page_view v;

	if (!options_as_data(o)) {
		page_view_init(&v, &m->look);
		v.refcnt = o->page.refcnt;
		stale_put_head(out, o, &v, found);
		fputc('\n', out);
	}
	return tree_put(out, o, m);
}

static int
write_list(struct work *w)
{
	FILE *out = output_open(w->o->output);
	struct page_view v;
	int status;

	if (out == NULL)
		return PAGEK_FAILED;
	if (options_as_data(w->o)) {
		status = write_document(w, out);
	} else {
		view_of(w, &v);
		stale_put_head(out, w->o, &v, &w->found);
		fputc('\n', out);
		status = list_write(&w->with, w->loop, w->s, out);
	}
	return output_close(out, w->o->output, status);
}

static int
write_found(struct work *w)
{
	if (!option_given(w->o, OPTION_BY))
		return write_list(w);
	w->with.stale.found = &w->found;
	w->with.source[OPTION_FLAT] = SOURCE_LINE;
	return snapshot_report(&w->with, w->loop, w->s, put_groups);
}

static int
list_stale(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
{
	const struct nodes_look *look = nodes_session_look(s);
	struct work *w;
	int status;

	if (look->state != NODES_LIVE || look->classic || look->replay.on ||
	    look->target.pid <= 0) {
		complain("%s: only the pages of a live process can be counted",
		    o->target.word);
		return PAGEK_NO_TARGET;
	}
	w = calloc(1, sizeof *w);
	if (w == NULL) {
		complain("cannot list: %s", strerror(ENOMEM));
		return PAGEK_FAILED;
	}
	*w = (struct work){ .o = o, .loop = loop, .s = s,
		.reader.plane = REFCNT_WIDE };
	status = choose_moment(w);
	if (status == PAGEK_OK)
		status = choose_blocks(w);
	if (status == PAGEK_OK)
		status = find_stale(w);
	disable(w);
	if (status == PAGEK_OK)
		status = write_found(w);
	filter_free(w->with.filter.compiled);
	refcnt_reader_fini(&w->reader);
	refcnt_switch_fini(&w->wish);
	free(w);
	return status;
}

int
cmd_stale_check(struct parse *p)
{
	const struct options *o = p->o;

	if (o->page.mark != NULL && (option_given(o, OPTION_FOR) ||
	    option_given(o, OPTION_ENABLE)))
		return option_fail(p, "--mark is a moment of its own: it has no "
		    "meaning with --for and --enable");
	if (o->page.mark != NULL && !wire_is_mark_name(o->page.mark,
	    strlen(o->page.mark)))
		return option_fail(p, "--mark=%.64s: " WIRE_MARK_RULE,
		    base_shown(o->page.mark));
	if (o->tree.by_group || !option_given(o, OPTION_BY))
		return o->fields != NULL && !options_as_data(o) ? option_fail(p,
		    "--fields is for programs: give --format=json, ndjson or csv "
		    "too") : 0;
	return option_fail(p, "--by=%s is an order; groups are by function, line, "
	    "frame, module, ctype or site", o->text[OPTION_BY]);
}

int
cmd_stale(const struct options *o, uv_loop_t *loop)
{
	return batch_watch(o, loop, list_stale);
}
