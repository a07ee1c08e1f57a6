/*
 * What is seen of a target while it is judged.
 *
 * At each news of the session, fifteen times a second, live bytes and ages are
 * looked at, which costs next to nothing; and where totals are enough for all
 * limits, the node is not asked for blocks when they come fast.  Blocks that
 * match an expression are counted once a second, or less often where that takes
 * long; and all of it once more at the end.  The highest live bytes are the
 * keeper's own, which misses none between two looks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../batch/batch.h"
#include "../cli/pump.h"
#include "check.h"

#define PASS_MS 1000		/* between two counts by expression ... */
#define PASS_SHARE 20		/* ... which take a twentieth of the time at most */
#define GROWTH_SAMPLES 30	/* fewer say nothing, ... */
#define GROWTH_THIRD 5		/* ... nor do fewer in a third of the time, ... */
#define GROWTH_MS 1900		/* ... nor does less than two seconds, or so */
#define SAMPLE_MS 40		/* news of one cycle are one sample */

/* --- findings ------------------------------------------------------------- */

static void
found(struct judge *j, struct finding *f, double was)
{
	const struct nodes_look *look = j->look;

	if (!f->seen || was > f->was) {
		f->was = was;
		f->at_ms = mono_ms_since(j->begun);
		f->pid = look->pid;
		snprintf(f->comm, sizeof f->comm, "%s", look->target_name);
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

/* The keeper's highest; of a target that ran before only what came since. */
static double
peak_bytes(const struct judge *j, const struct nodes_look *look)
{
	uint64_t peak = look->keeper[look->sample != 0 ?
	    WIRE_N_EST_PEAK_BYTES : WIRE_N_PEAK_BYTES];

	return peak > j->peak_before ? (double)peak : 0;
}

/*
 * How many are older: in the order of age the oldest are first, so that it is
 * looked for by halves.
 */
static double
older(const struct nodes_look *look, uint64_t ms)
{
	uint64_t low = 0, high = blklist_counts(look->list)->aRecActive;
	double weight = 0;
	struct blk b[256];
	uint64_t n, i;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (blklist_window(look->list, BLKLIST_BY_AGE, false, middle,
		    b, 1) == 1 && look->now_ms - b->ms > (int64_t)ms)
			low = middle + 1;
		else
			high = middle;
	}
	if (look->sample == 0)
		return (double)low;
	/* Each stands for a number of blocks. */
	for (i = 0; i < low; i += n) {
		n = blklist_window(look->list, BLKLIST_BY_AGE, false, i, b,
		    low - i < BASE_NELEM(b) ? (size_t)(low - i) :
		    BASE_NELEM(b));
		if (n == 0)
			break;
		for (uint64_t k = 0; k < n; k++)
			weight += blklist_weight(look->list, &b[k]);
	}
	return weight;
}

/* As many for sure: of some a name that decides may not be there. */
static double
caught(const struct finding *f)
{
	struct page_caught c = page_sieve_caught(f->sieve);

	return c.est_blocks > (double)c.unsure ?
	    c.est_blocks - (double)c.unsure : 0;
}

/* All blocks of the list, with the names that are there. */
static double
pass(struct judge *j, struct finding *f)
{
	const struct nodes_look *look = j->look;
	struct mono begun = mono_now();
	struct page_view v;
	struct blk b[256];
	uint64_t offs = 0;
	size_t n;

	page_view_live(&v, j->session);
	v.wrappers = j->o->page.wrappers;
	page_sieve_begin(f->sieve, &v);
	while ((n = blklist_window(look->list, BLKLIST_BY_ADDRESS, false, offs,
	    b, BASE_NELEM(b))) > 0) {
		for (size_t i = 0; i < n; i++)
			page_sieve_lets(f->sieve, &b[i]);
		offs += n;
	}
	f->pass_at = mono_now();
	f->pass_ms = mono_diff_ns(f->pass_at, begun) / 1000000;
	return caught(f);
}

static bool
pass_is_due(const struct finding *f)
{
	int64_t wait = f->pass_ms * PASS_SHARE;

	return f->pass_at.ns == 0 || mono_ms_since(f->pass_at) >=
	    (wait > PASS_MS ? wait : PASS_MS);
}

/* --- growth --------------------------------------------------------------- */

/* Of a full table every second one stays, and of what comes as many fewer. */
static void
keep_sample(struct judge *j, double bytes)
{
	int64_t now = mono_ms_since(j->begun);

	if (j->samples > 0 && now - j->sampled_ms < SAMPLE_MS)
		return;
	j->sampled_ms = now;
	if (++j->skipped < j->each)
		return;
	j->skipped = 0;
	if (j->samples == CHECK_SAMPLES) {
		j->samples = 0;
		for (size_t i = 0; i < CHECK_SAMPLES; i += 2)
			j->sample[j->samples++] = j->sample[i];
		j->each *= 2;
	}
	j->sample[j->samples].ms = now;
	j->sample[j->samples++].bytes = bytes;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double
median(const struct judge *j, size_t from, size_t n, double *room)
{
	for (size_t i = 0; i < n; i++)
		room[i] = j->sample[from + i].bytes;
	qsort(room, n, sizeof *room, by_value);
	return room[n / 2];
}

/* The first sample at this time or later; there is one. */
static size_t
sample_at(const struct judge *j, int64_t ms)
{
	size_t i = 0;

	while (j->sample[i].ms < ms)
		i++;
	return i;
}

/*
 * Bytes a minute: the middle of the last third of the time less that of the
 * third before it, over the time between these.  The first third is where a
 * program sets itself up; a peak, or what is freed at the very end, moves no
 * median.
 */
static int
growth(struct judge *j, struct finding *f)
{
	size_t n = j->samples, second = 0, third = 0;
	double *room, minutes;
	int64_t span = 0;

	/* By time and not by number: the list may have been away for a while. */
	if (n >= GROWTH_SAMPLES) {
		span = j->sample[n - 1].ms - j->sample[0].ms;
		second = sample_at(j, j->sample[0].ms + span / 3);
		third = sample_at(j, j->sample[0].ms + span * 2 / 3);
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
	minutes = (double)(j->sample[third + (n - third) / 2].ms -
	    j->sample[second + (third - second) / 2].ms) / 60000;
	found(j, f, (median(j, third, n - third, room) -
	    median(j, second, third - second, room)) / minutes);
	free(room);
	return 0;
}

/* --- looking -------------------------------------------------------------- */

/* Another target of the tree is watched from now on. */
static void
begin_stream(struct judge *j, const struct nodes_look *look)
{
	if (!j->watched && j->o->argv == NULL) {
		j->peak_before = look->keeper[look->sample != 0 ?
		    WIRE_N_EST_PEAK_BYTES : WIRE_N_PEAK_BYTES];
		j->most_before = look->keeper[WIRE_N_PEAK_MOST];
	}
	j->watched = true;
	j->sample_period = look->sample;
	j->stream_no = look->stream_no;
	j->samples = 0;
	j->each = 1;
	j->skipped = 0;
}

/* What was so before the judging began says nothing of what came since. */
static void
held_at_most(struct judge *j, uint64_t most)
{
	if (most > j->most_before && most > j->most)
		j->most = most;
}

static void
look_by_expression(struct judge *j, struct finding *f, bool all)
{
	const struct nodes_look *look = j->look;

	if (f->sieve == NULL)
		found(j, f, (double)blklist_counts(look->list)->est_blocks);
	else if (all || pass_is_due(f))
		found(j, f, pass(j, f));
}

static void
look_at(struct judge *j, bool all)
{
	const struct nodes_look *look = j->look;
	bool alive = look->state == NODES_LIVE;
	double live = live_bytes(look), peak = peak_bytes(j, look);

	j->looks++;
	held_at_most(j, look->keeper[WIRE_N_PEAK_MOST]);
	/* What it leaves behind is no growth. */
	if (alive)
		keep_sample(j, live);
	for (unsigned i = 0; i < j->findings; i++) {
		struct finding *f = &j->finding[i];

		switch (f->budget->kind) {
		case BUDGET_LIVE:
			found(j, f, peak > live ? peak : live);
			break;
		case BUDGET_AGE:
			found(j, f, older(look, f->budget->ms));
			break;
		case BUDGET_BLOCKS:
			look_by_expression(j, f, all);
			break;
		case BUDGET_GROWTH:
			break;
		}
	}
}

/* All that it is judged by is there. */
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
	look_at(j, false);
}

/* --- the end -------------------------------------------------------------- */

/* What an expression asks of names is waited for. */
static int
count_named(struct judge *j, uv_loop_t *loop, struct finding *f)
{
	struct profile *p;
	uint64_t unsure;
	size_t lacking;
	int r;

	if (!page_sieve_wants_names(f->sieve))
		return 0;
	r = batch_profile(loop, j->session, &j->o->page, f->sieve, 0,
	    j->o->timeout_ms, &p, &lacking);
	if (r < 0)
		return r;
	profile_free(p);
	found(j, f, caught(f));
	unsure = page_sieve_caught(f->sieve).unsure;
	if (unsure > 0)
		snprintf(f->why, sizeof f->why, "of %llu %s the names that "
		    "decide were not there", (unsigned long long)unsure,
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
		look_at(j, true);
	}
	/* What has ended is known when all of it was read. */
	j->blind = !has_all(j) || (look->window && look->state != NODES_LIVE);
	j->complete = look->complete && j->watched;
	j->lost = page_lost(look);
	j->full = look->full;
	for (unsigned i = 0; i < j->findings && r == 0; i++) {
		struct finding *f = &j->finding[i];

		if (f->budget->kind == BUDGET_GROWTH)
			r = growth(j, f);
		else if (f->sieve != NULL && has_all(j))
			r = count_named(j, loop, f);
	}
	return r;
}

/* A highest that is known at the end alone: when it was is not told. */
static void
held_once(struct judge *j, double peak, pid_t pid, const char *comm)
{
	for (unsigned i = 0; i < j->findings; i++) {
		struct finding *f = &j->finding[i];

		if (f->budget->kind != BUDGET_LIVE || (f->seen &&
		    peak <= f->was))
			continue;
		f->was = peak;
		f->seen = true;
		f->at_ms = -1;
		f->pid = pid;
		snprintf(f->comm, sizeof f->comm, "%s", comm);
	}
}

/* What another process held may have been more than was counted. */
static void
count_lack(struct judge *j, uint64_t lost, uint64_t full, uint64_t unsure)
{
	if (lost > 0 || full > 0 || unsure > 0)
		j->complete = false;
	j->lost += lost;
	j->full += full;
}

/* Of many processes the first have ended so long ago that none has a row. */
static void
judge_gone(struct judge *j, const uint64_t *n)
{
	if (n == NULL || n[WIRE_N_GONE] == 0)
		return;
	j->processes += n[WIRE_N_GONE];
	j->unwatched += n[WIRE_N_GONE_MISSED];
	if (n[WIRE_N_GONE] > n[WIRE_N_GONE_MISSED])
		held_once(j, (double)n[WIRE_N_GONE_PEAK], 0, "");
	held_at_most(j, n[WIRE_N_GONE_PEAK_MOST]);
	count_lack(j, n[WIRE_N_GONE_LOST], n[WIRE_N_GONE_FULL], 0);
}

void
judge_processes(struct judge *j, const struct nodes_target *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double peak = (double)t[i].n[t[i].n[WIRE_N_SAMPLE] != 0 ?
		    WIRE_N_EST_PEAK_BYTES : WIRE_N_PEAK_BYTES];

		if (t[i].pid == 0)
			continue;
		j->processes++;
		if (t[i].state == WIRE_S_NO_DATA) {
			j->unwatched++;
			continue;
		}
		held_once(j, peak, t[i].pid, t[i].comm);
		held_at_most(j, t[i].n[WIRE_N_PEAK_MOST]);
		/* Of the watched one it is known already. */
		if ((pid_t)t[i].pid != j->look->pid)
			count_lack(j, t[i].n[WIRE_N_LOST], t[i].n[WIRE_N_FULL],
			    t[i].n[WIRE_N_UNSURE]);
	}
	judge_gone(j, j->look->node);
}

void
judge_loss(const struct judge *j, char why[CHECK_WHY])
{
	/* A target that ran before has the limit of its own node. */
	bool ours = j->o->argv != NULL || j->o->node.max != 0;
	size_t len = 0;

	why[0] = '\0';
	if (j->lost > 0)
		base_append(why, CHECK_WHY, &len, "%llu %s lost",
		    (unsigned long long)j->lost,
		    j->lost == 1 ? "record was" : "records were");
	if (j->full > 0)
		base_append(why, CHECK_WHY, &len, "%sthe list was full, %llu "
		    "%s not in it%s", len > 0 ? ", and " : "",
		    (unsigned long long)j->full,
		    j->full == 1 ? "block is" : "blocks are",
		    ours ? ": give --max=N" : "");
	if (len == 0)
		base_append(why, CHECK_WHY, &len, "it is not known whether "
		    "all blocks are listed");
}

/* Between the events of two threads there is no order that is known. */
static void
tell_most(const struct judge *j, struct finding *f)
{
	char most[24];

	if ((double)j->most <= f->most)
		return;
	base_human_bytes(most, sizeof most, j->most);
	snprintf(f->why, sizeof f->why, "what threads held together may have "
	    "been up to %s: their order is not known", most);
}

static void
decide(const struct judge *j, struct finding *f)
{
	bool all = f->budget->kind == BUDGET_LIVE;

	if (f->seen && f->was > f->most) {
		f->verdict = CHECK_EXCEEDED;
		return;
	}
	if (f->why[0] == '\0' && !f->seen)
		snprintf(f->why, sizeof f->why, "nothing was watched");
	if (f->why[0] == '\0' && j->blind)
		snprintf(f->why, sizeof f->why, CHECK_BLIND);
	if (f->why[0] == '\0' && !j->complete)
		judge_loss(j, f->why);
	if (f->why[0] == '\0' && all && j->unwatched > 0)
		snprintf(f->why, sizeof f->why, "%zu of %zu process images "
		    "were not watched", j->unwatched, j->processes);
	if (f->why[0] == '\0' && all)
		tell_most(j, f);
	f->verdict = f->why[0] != '\0' ? CHECK_NOT_KNOWN : CHECK_WITHIN;
}

void
judge_end(struct judge *j)
{
	j->verdict = CHECK_WITHIN;
	for (unsigned i = 0; i < j->findings; i++) {
		decide(j, &j->finding[i]);
		if (j->finding[i].verdict > j->verdict)
			j->verdict = j->finding[i].verdict;
	}
	if (j->rows > 0)
		j->verdict = CHECK_EXCEEDED;
	else if (j->baseline_why[0] != '\0' && j->verdict < CHECK_NOT_KNOWN)
		j->verdict = CHECK_NOT_KNOWN;
}

/* --- beginning ------------------------------------------------------------ */

static int
make_sieve(const struct budget *b, struct page_sieve **out)
{
	char text[FILTER_MAX + 1];
	struct filter_error e;

	if (b->kind != BUDGET_BLOCKS || b->expression == 0)
		return 0;
	memcpy(text, b->text, b->expression);
	text[b->expression] = '\0';
	return page_sieve_new(out, text, &e);
}

/* Ages, expressions and a baseline are of the blocks themselves. */
static bool
wants_blocks(const struct budget *b)
{
	return b->kind == BUDGET_AGE ||
	    (b->kind == BUDGET_BLOCKS && b->expression != 0);
}

int
judge_init(struct judge *j, const struct options *o)
{
	int r;

	*j = (struct judge){ .o = o, .begun = mono_now(), .each = 1,
		.totals = o->baseline == NULL };
	j->sample = calloc(CHECK_SAMPLES, sizeof *j->sample);
	if (j->sample == NULL)
		return -ENOMEM;
	for (; j->findings < o->budgets; j->findings++) {
		struct finding *f = &j->finding[j->findings];

		*f = (struct finding){ .budget = &o->budget[j->findings],
			.most = o->budget[j->findings].most, .over_ms = -1 };
		j->totals &= !wants_blocks(f->budget);
		r = make_sieve(f->budget, &f->sieve);
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
		page_sieve_free(j->finding[i].sieve);
	free(j->sample);
	free(j->row);
}
