/*
 * Measures a target against its limits: live bytes and ages at each news of the
 * session, matching blocks once a second or less often, and all of it at the
 * end.  The highest live bytes are the keeper's, which misses none in between.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../../base/base.h"
#include "../../batch/batch.h"
#include "../../cli/pump.h"
#include "check.h"

#define COUNT_MS 1000		/* between two counts by expression ... */
#define COUNT_SHARE 20		/* ... which take a twentieth of the time at most */
#define GROWTH_SAMPLES 30	/* needed in all ... */
#define GROWTH_THIRD 5		/* ... and in a third of the time */
#define GROWTH_MS 1900		/* needed from the first to the last */
#define SAMPLE_MS 40		/* news of one cycle are one sample */

static void
update_finding(struct judge *j, struct finding *f, double was)
{
	const struct nodes_look *look = j->look;

	if (!f->seen || was > f->worst) {
		f->worst = was;
		f->at_ms = mono_ms_since(j->begun);
		f->pid = look->target.pid;
		snprintf(f->comm, sizeof f->comm, "%s", look->target.name);
	}
	f->seen = true;
	if (was > f->most && f->over_ms < 0)
		f->over_ms = mono_ms_since(j->begun);
}

static double
live_bytes(const struct nodes_look *look)
{
	const struct blklist_counts *n = blklist_counts(look->list);

	return (double)(look->sample != 0 ? n->est_bytes : n->live_bytes);
}

/* Of counters. */
static uint64_t
peak_of(const uint64_t *n, bool sampled)
{
	return n[sampled ? WIRE_N_EST_PEAK_BYTES : WIRE_N_PEAK_BYTES];
}

/* The keeper's peak, if the target reached it while it was judged; else 0. */
static double
peak_bytes(const struct judge *j, const struct nodes_look *look)
{
	uint64_t peak = peak_of(look->keeper, look->sample != 0);

	return peak > j->bounds.peak_before ? (double)peak : 0;
}

/* By binary search: in order of age the oldest blocks are first. */
static double
count_older(const struct nodes_look *look, uint64_t ms)
{
	uint64_t at;
	double weight = 0;
	struct blk b[256];
	uint64_t n, i;

	BASE_FIND_FIRST(at, blklist_counts(look->list)->aRecActive,
	    blklist_window(look->list, BLKLIST_BY_AGE, false, at, b, 1) != 1 ||
	    look->now_ms - b->ms <= (int64_t)ms);
	if (look->sample == 0)
		return (double)at;
	for (i = 0; i < at; i += n) {
		n = blklist_window(look->list, BLKLIST_BY_AGE, false, i, b,
		    at - i < BASE_NELEM(b) ? (size_t)(at - i) :
		    BASE_NELEM(b));
		if (n == 0)
			break;
		for (uint64_t k = 0; k < n; k++)
			weight += blklist_weight(look->list, &b[k]);
	}
	return weight;
}

/* Without the blocks whose deciding name is not known. */
static double
count_sure(const struct finding *f)
{
	struct page_row_filter_sums c = page_row_filter_sums(f->filter);

	return c.est_blocks > (double)c.unsure ?
	    c.est_blocks - (double)c.unsure : 0;
}

static double
count_matches(struct judge *j, struct finding *f)
{
	const struct nodes_look *look = j->look;
	struct mono begun = mono_now();
	struct page_view v;
	struct blk b[256];
	uint64_t offs = 0;
	size_t n;

	page_view_live(&v, j->session);
	v.wrappers = j->o->page.wrappers;
	page_row_filter_begin(f->filter, &v);
	while ((n = blklist_window(look->list, BLKLIST_BY_ADDRESS, false, offs,
	    b, BASE_NELEM(b))) > 0) {
		for (size_t i = 0; i < n; i++)
			page_row_filter_matches(f->filter, &b[i]);
		offs += n;
	}
	f->counted_at = mono_now();
	f->count_ms = mono_diff_ns(f->counted_at, begun) / 1000000;
	return count_sure(f);
}

static bool
count_is_due(const struct finding *f)
{
	int64_t wait = f->count_ms * COUNT_SHARE;

	return f->counted_at.ns == 0 || mono_ms_since(f->counted_at) >=
	    (wait > COUNT_MS ? wait : COUNT_MS);
}

/* A full table keeps every second sample, and from then on half as many. */
static void
add_sample(struct growth *g, int64_t now, double bytes)
{
	if (g->n > 0 && now - g->last_ms < SAMPLE_MS)
		return;
	g->last_ms = now;
	if (++g->skipped < g->each)
		return;
	g->skipped = 0;
	if (g->n == CHECK_SAMPLES) {
		g->n = 0;
		for (size_t i = 0; i < CHECK_SAMPLES; i += 2)
			g->sample[g->n++] = g->sample[i];
		g->each *= 2;
	}
	g->sample[g->n].ms = now;
	g->sample[g->n++].bytes = bytes;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
median(const struct growth *g, size_t from, size_t n, double *room)
{
	for (size_t i = 0; i < n; i++)
		room[i] = g->sample[from + i].bytes;
	qsort(room, n, sizeof *room, by_value);
	return room[n / 2];
}

/* The first sample at this time or later; there is one. */
static size_t
sample_at(const struct growth *g, int64_t ms)
{
	size_t i = 0;

	while (g->sample[i].ms < ms)
		i++;
	return i;
}

/*
 * Bytes a minute: the median of the last third of the time less the median of
 * the second third, over the time between their middles.  In the first third a
 * program sets itself up.  Peaks, and a release at the very end, do not move a
 * median.  Thirds are of time: the list may have been away for a while.
 */
static int
measure_growth(struct judge *j, struct finding *f)
{
	const struct growth *g = &j->growth;
	size_t n = g->n, second = 0, third = 0;
	double *room, minutes;
	int64_t span = 0;

	if (n >= GROWTH_SAMPLES) {
		span = g->sample[n - 1].ms - g->sample[0].ms;
		second = sample_at(g, g->sample[0].ms + span / 3);
		third = sample_at(g, g->sample[0].ms + span * 2 / 3);
	}
	if (span < GROWTH_MS || third - second < GROWTH_THIRD ||
	    n - third < GROWTH_THIRD) {
		snprintf(f->why, sizeof f->why, "it was not watched for long "
		    "enough");
		return 0;
	}
	room = malloc(n * sizeof *room);
	if (room == NULL)
		return -ENOMEM;
	minutes = (double)(g->sample[third + (n - third) / 2].ms -
	    g->sample[second + (third - second) / 2].ms) / 60000;
	update_finding(j, f, (median(g, third, n - third, room) -
	    median(g, second, third - second, room)) / minutes);
	free(room);
	return 0;
}

static void
begin_stream(struct judge *j, const struct nodes_look *look)
{
	if (!j->watched && j->o->argv == NULL) {
		j->bounds.peak_before = peak_of(look->keeper,
		    look->sample != 0);
		j->bounds.most_before = look->keeper[WIRE_N_PEAK_MOST];
	}
	j->watched = true;
	j->sample_period = look->sample;
	j->stream_no = look->stream_no;
	j->growth.n = 0;
	j->growth.each = 1;
	j->growth.skipped = 0;
}

/* A bound of the time before the check does not count. */
static void
raise_bound(struct judge *j, uint64_t most)
{
	if (most > j->bounds.most_before && most > j->bounds.most)
		j->bounds.most = most;
}

static void
judge_expression(struct judge *j, struct finding *f, bool all)
{
	const struct nodes_look *look = j->look;

	if (f->filter == NULL)
		update_finding(j, f,
		    (double)blklist_counts(look->list)->est_blocks);
	else if (all || count_is_due(f))
		update_finding(j, f, count_matches(j, f));
}

static void
judge_list(struct judge *j, bool all)
{
	const struct nodes_look *look = j->look;
	bool alive = look->state == NODES_LIVE;
	double live = live_bytes(look), peak = peak_bytes(j, look);

	j->looks++;
	raise_bound(j, look->keeper[WIRE_N_PEAK_MOST]);
	/* The blocks that a target leaves at its end are no growth. */
	if (alive)
		add_sample(&j->growth, mono_ms_since(j->begun), live);
	for (unsigned i = 0; i < j->findings; i++) {
		struct finding *f = &j->finding[i];

		switch (f->budget->kind) {
		case BUDGET_LIVE:
			update_finding(j, f, peak > live ? peak : live);
			break;
		case BUDGET_AGE:
			update_finding(j, f, count_older(look, f->budget->ms));
			break;
		case BUDGET_BLOCKS:
			judge_expression(j, f, all);
			break;
		case BUDGET_GROWTH:
			break;
		}
	}
}

static bool
has_all(const struct judge *j)
{
	const struct nodes_look *look = j->look;

	return look->listed && look->settled && !look->behind &&
	    (j->totals || !look->window) && (look->state == NODES_LIVE ||
	    look->state == NODES_ENDED || look->state == NODES_CORRUPT);
}

void
judge_news(void *arg)
{
	struct judge *j = arg;
	const struct nodes_look *look = j->look;

	if (look == NULL || !has_all(j))
		return;
	if (!j->watched || look->stream_no != j->stream_no)
		begin_stream(j, look);
	judge_list(j, false);
}

static int
count_with_names(struct judge *j, uv_loop_t *loop, struct finding *f)
{
	struct profile *p;
	uint64_t unsure;
	size_t lacking;
	int r;

	if (!page_row_filter_wants_names(f->filter))
		return 0;
	r = batch_profile(loop, j->session, &j->o->page, f->filter, 0,
	    j->o->timeout_ms, &p, &lacking);
	if (r < 0)
		return r;
	profile_free(p);
	update_finding(j, f, count_sure(f));
	unsure = page_row_filter_sums(f->filter).unsure;
	if (unsure > 0)
		snprintf(f->why, sizeof f->why, "names that decide on "
		    "%s %s are not known", base_digits(unsure).text,
		    unsure == 1 ? "block" : "blocks");
	return 0;
}

int
judge_last(struct judge *j, uv_loop_t *loop)
{
	const struct nodes_look *look = j->look;
	int r = 0;

	j->ms = mono_ms_since(j->begun);
	if (has_all(j)) {
		if (!j->watched || look->stream_no != j->stream_no)
			begin_stream(j, look);
		judge_list(j, true);
	}
	/* After its end, a target is known once all of it was read. */
	j->blind = !has_all(j) || (look->window && look->state != NODES_LIVE);
	j->complete = look->complete && j->watched;
	j->lost = page_lost(look);
	j->full = look->loss.full;
	for (unsigned i = 0; i < j->findings && r == 0; i++) {
		struct finding *f = &j->finding[i];

		if (f->budget->kind == BUDGET_GROWTH)
			r = measure_growth(j, f);
		else if (f->filter != NULL && has_all(j))
			r = count_with_names(j, loop, f);
	}
	return r;
}

/* A peak without a time. */
static void
note_peak(struct judge *j, double peak, pid_t pid, const char *comm)
{
	for (unsigned i = 0; i < j->findings; i++) {
		struct finding *f = &j->finding[i];

		if (f->budget->kind != BUDGET_LIVE || (f->seen &&
		    peak <= f->worst))
			continue;
		f->worst = peak;
		f->seen = true;
		f->at_ms = -1;
		f->pid = pid;
		snprintf(f->comm, sizeof f->comm, "%s", comm);
	}
}

static void
add_losses(struct judge *j, uint64_t lost, uint64_t full, uint64_t unsure)
{
	if (lost > 0 || full > 0 || unsure > 0)
		j->complete = false;
	j->lost += lost;
	j->full += full;
}

/* Processes that ended so long ago that the node's table has no row of them. */
static void
judge_unlisted(struct judge *j)
{
	const uint64_t *n = j->look->node.numbers;

	if (n == NULL || n[WIRE_N_GONE] == 0)
		return;
	j->processes += n[WIRE_N_GONE];
	j->unwatched += n[WIRE_N_GONE_MISSED];
	if (n[WIRE_N_GONE_MISSED] > 0)
		snprintf(j->unwatched_why, sizeof j->unwatched_why, "%s",
		    j->look->node.missed);
	if (n[WIRE_N_GONE] > n[WIRE_N_GONE_MISSED])
		note_peak(j, (double)n[WIRE_N_GONE_PEAK], 0, "");
	raise_bound(j, n[WIRE_N_GONE_PEAK_MOST]);
	add_losses(j, n[WIRE_N_GONE_LOST], n[WIRE_N_GONE_FULL], 0);
}

void
judge_death(struct judge *j, pid_t pid, const char *comm, int32_t status)
{
	if (nodes_death_advice(status)[0] == '\0' || j->advised.pid != 0)
		return;
	j->advised.pid = pid;
	j->advised.status = status;
	snprintf(j->advised.comm, sizeof j->advised.comm, "%s", comm);
}

void
judge_processes(struct judge *j, const struct nodes_target *t, size_t n)
{
	judge_unlisted(j);
	for (size_t i = 0; i < n; i++) {
		double peak = (double)peak_of(t[i].n,
		    t[i].n[WIRE_N_SAMPLE] != 0);

		if (t[i].pid == 0)
			continue;
		judge_death(j, t[i].pid, t[i].comm, t[i].status);
		j->processes++;
		if (t[i].state == WIRE_S_NO_DATA) {
			j->unwatched++;
			if (j->unwatched_why[0] == '\0')
				snprintf(j->unwatched_why,
				    sizeof j->unwatched_why, "%s",
				    t[i].reason);
			continue;
		}
		note_peak(j, peak, t[i].pid, t[i].comm);
		raise_bound(j, t[i].n[WIRE_N_PEAK_MOST]);
		/* The losses of the watched one are counted already. */
		if ((pid_t)t[i].pid != j->look->target.pid)
			add_losses(j, t[i].n[WIRE_N_LOST], t[i].n[WIRE_N_FULL],
			    t[i].n[WIRE_N_UNSURE]);
	}
}

void
judge_loss(const struct judge *j, char why[CHECK_WHY])
{
	/* A target of another node has that node's limit. */
	bool ours = j->o->argv != NULL || j->o->node.max != 0;
	size_t len = 0;

	why[0] = '\0';
	if (j->lost > 0)
		base_append(why, CHECK_WHY, &len, "%s %s lost",
		    base_digits(j->lost).text,
		    j->lost == 1 ? "record was" : "records were");
	if (j->full > 0)
		base_append(why, CHECK_WHY, &len, "%sthe list was full, %s "
		    "%s not in it%s", len > 0 ? ", and " : "",
		    base_digits(j->full).text,
		    j->full == 1 ? "block is" : "blocks are",
		    ours ? ": give --max=N" : "");
	if (len == 0 && j->look != NULL)
		base_append(why, CHECK_WHY, &len, "%s",
		    stream_doubt_text(j->look->loss.doubt));
	if (len == 0)
		base_append(why, CHECK_WHY, &len, "it is not known whether "
		    "all blocks are listed");
}

static void
put_unseen(const struct judge *j, const struct finding *f, char why[CHECK_WHY])
{
	if (!f->seen)
		snprintf(why, CHECK_WHY, "nothing was watched%s%s",
		    j->unwatched_why[0] != '\0' ? ": " : "", j->unwatched_why);
}

static void
put_blind(const struct judge *j, const struct finding *f, char why[CHECK_WHY])
{
	(void)f;
	if (j->blind)
		snprintf(why, CHECK_WHY, CHECK_BLIND);
}

static void
put_loss(const struct judge *j, const struct finding *f, char why[CHECK_WHY])
{
	(void)f;
	if (!j->complete)
		judge_loss(j, why);
}

static void
put_unwatched(const struct judge *j, const struct finding *f, char why[CHECK_WHY])
{
	if (f->budget->kind != BUDGET_LIVE || j->unwatched == 0)
		return;
	snprintf(why, CHECK_WHY, "%s of %s process images could not be "
	    "watched%s%s", base_digits(j->unwatched).text,
	    base_digits(j->processes).text,
	    j->unwatched_why[0] == '\0' ? "" : j->unwatched == 1 ? ": " :
	    "; the first: ", j->unwatched_why);
}

/* The order of two threads' events is unknown: the bound is the most that it allows. */
static void
put_bound(const struct judge *j, const struct finding *f, char why[CHECK_WHY])
{
	char most[24];

	if (f->budget->kind != BUDGET_LIVE || (double)j->bounds.most <= f->most)
		return;
	base_human_bytes(most, sizeof most, j->bounds.most);
	snprintf(why, CHECK_WHY, "the threads together may have held up to %s: "
	    "their order is not known", most);
}

/*
 * Reasons why a limit is not known; the first that applies is given.  Each leaves
 * `why` empty if it does not apply.  A further reason is a function and a row.
 */
static void (*const reasons[])(const struct judge *, const struct finding *,
    char why[CHECK_WHY]) = {
	put_unseen,
	put_blind,
	put_loss,
	put_unwatched,
	put_bound,
};

static void
decide_limit(const struct judge *j, struct finding *f)
{
	if (f->seen && f->worst > f->most) {
		f->verdict = CHECK_EXCEEDED;
		return;
	}
	for (size_t i = 0; f->why[0] == '\0' && i < BASE_NELEM(reasons); i++)
		reasons[i](j, f, f->why);
	f->verdict = f->why[0] != '\0' ? CHECK_NOT_KNOWN : CHECK_WITHIN;
}

void
judge_end(struct judge *j)
{
	j->verdict = CHECK_WITHIN;
	for (unsigned i = 0; i < j->findings; i++) {
		decide_limit(j, &j->finding[i]);
		if (j->finding[i].verdict > j->verdict)
			j->verdict = j->finding[i].verdict;
	}
	if (j->baseline.rows > 0)
		j->verdict = CHECK_EXCEEDED;
	else if (j->baseline.why[0] != '\0' && j->verdict < CHECK_NOT_KNOWN)
		j->verdict = CHECK_NOT_KNOWN;
}

int
judge_init(struct judge *j, const struct options *o)
{
	int r;

	*j = (struct judge){ .o = o, .begun = mono_now(), .growth.each = 1,
		.totals = o->check.baseline == NULL };
	j->growth.sample = calloc(CHECK_SAMPLES, sizeof *j->growth.sample);
	if (j->growth.sample == NULL)
		return -ENOMEM;
	for (; j->findings < o->check.budgets; j->findings++) {
		struct finding *f = &j->finding[j->findings];

		f->budget = &o->check.budget[j->findings];
		f->most = f->budget->most;
		f->over_ms = -1;
		j->totals &= f->budget->kind != BUDGET_AGE &&
		    f->budget->filter == NULL;
		r = f->budget->filter != NULL ?
		    page_row_filter_borrow(&f->filter, f->budget->filter) : 0;
		if (r < 0) {
			judge_fini(j);
			return r;
		}
	}
	return 0;
}

void
judge_watch(struct judge *j, struct nodes_session *s)
{
	static const struct nodes_view none = { 0 };

	j->session = s;
	j->look = nodes_session_look(s);
	if (j->totals)
		nodes_session_view(s, &none);
}

void
judge_fini(struct judge *j)
{
	for (unsigned i = 0; i < j->findings; i++)
		page_row_filter_free(j->finding[i].filter);
	free(j->growth.sample);
	free(j->baseline.row);
}
