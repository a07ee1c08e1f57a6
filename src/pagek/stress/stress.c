#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "stress.h"

#define SECOND_MS 1000
#define STEP_MS 15000
/* Samples of a cycle may come a little early. */
#define EARLY_MS 33
#define LATE_MS 500

/* The longest window of each ring, and one sample more on either side. */
#define SECONDS (60 + 2)
#define STEPS (3600 * 1000 / STEP_MS + 2)

static const int64_t windows[] = { 10000, 60000, 300000, 900000, 3600000 };

struct moment {
	int64_t ms;
	struct stress_sample s;
};

struct ring {
	int64_t step_ms;
	size_t cap, n;		/* n: taken so far */
	struct moment *at;	/* number i at i % cap */
};

/* The numbers of page S, now or as they were when the page was paused. */
struct seen {
	bool begun;
	struct moment now, mark;
	struct moment from, to;		/* the last second */
	struct moment woken;		/* later than `to`: that second and some more */
	int64_t wall_ms, mark_wall_ms;	/* of `now` and `mark` */
	bool marked;			/* by the user */
	struct ring seconds, steps;
	struct moment second[SECONDS], step[STEPS];
	uint64_t trend[PAGE_STRESS_ROWS][PAGE_STRESS_TREND];
	uint64_t ntrend;		/* taken so far; number i at i % PAGE_STRESS_TREND */
	char kernel[STRESS_KERNEL];
	char why[STRESS_NONE * STRESS_WHY];
};

struct page_stress {
	struct seen seen;
	struct seen *held;		/* shown instead; owned, NULL: none */
	uint64_t no;
	unsigned window;		/* of windows[] */
	char trouble[PAGE_STRESS_TROUBLE];
};

static void
join_rings(struct seen *s)
{
	s->seconds.at = s->second;
	s->seconds.cap = SECONDS;
	s->seconds.step_ms = SECOND_MS;
	s->steps.at = s->step;
	s->steps.cap = STEPS;
	s->steps.step_ms = STEP_MS;
}

int
page_stress_new(struct page_stress **out)
{
	struct page_stress *l = calloc(1, sizeof *l);

	if (l == NULL)
		return -ENOMEM;
	l->window = 1;
	join_rings(&l->seen);
	*out = l;
	return 0;
}

void
page_stress_free(struct page_stress *l)
{
	if (l == NULL)
		return;
	free(l->held);
	free(l);
}

void
page_stress_clear(struct page_stress *l)
{
	memset(&l->seen, 0, sizeof l->seen);
	join_rings(&l->seen);
	free(l->held);
	l->held = NULL;
	l->no = 0;
	l->trouble[0] = '\0';
}

/* Without memory the picture goes on. */
void
page_stress_hold(struct page_stress *l, bool hold)
{
	if (!hold) {
		free(l->held);
		l->held = NULL;
	} else if (l->held == NULL && l->seen.begun) {
		l->held = malloc(sizeof *l->held);
		if (l->held == NULL)
			return;
		*l->held = l->seen;
		join_rings(l->held);
	}
}

static const struct seen *
shown(const struct page_stress *l)
{
	return l->held != NULL ? l->held : &l->seen;
}

static uint64_t
number_of(const struct stress_sample *s, enum page_stress_row row)
{
	return row == PAGE_STRESS_SOME ? s->some_us : row == PAGE_STRESS_ALL ?
	    s->full_us : s->level[row];
}

static void
push_moment(struct ring *r, const struct moment *m)
{
	r->at[r->n++ % r->cap] = *m;
}

static bool
is_due(const struct ring *r, int64_t ms)
{
	return r->n == 0 || ms - r->at[(r->n - 1) % r->cap].ms >= r->step_ms -
	    EARLY_MS;
}

/* Requests per second; at least 1 if there were any. */
static uint64_t
per_second(uint64_t n, int64_t ms)
{
	uint64_t mean = (uint64_t)((double)n * SECOND_MS / (double)ms + 0.5);

	return mean == 0 && n > 0 ? 1 : mean;
}

static void
push_trend(struct seen *s)
{
	int64_t ms = s->to.ms - s->from.ms;
	int64_t n = (ms + SECOND_MS / 2) / SECOND_MS;
	struct stress_sample spent;

	stress_spent(&spent, &s->to.s, &s->from.s);
	for (n = n < PAGE_STRESS_TREND ? n : PAGE_STRESS_TREND; n > 0; n--) {
		for (int i = 0; i < PAGE_STRESS_ROWS; i++)
			s->trend[i][s->ntrend % PAGE_STRESS_TREND] =
			    per_second(number_of(&spent, i), ms);
		s->ntrend++;
	}
}

static void
begin(struct seen *s)
{
	s->begun = true;
	s->marked = false;
	s->mark = s->from = s->to = s->woken = s->now;
	s->mark_wall_ms = s->wall_ms;
	s->seconds.n = s->steps.n = 0;
	s->ntrend = 0;
	push_moment(&s->seconds, &s->now);
	push_moment(&s->steps, &s->now);
}

bool
page_stress_take(struct page_stress *l, const struct page_stress_taken *t)
{
	struct seen *s = &l->seen;
	bool begins = !s->begun || t->ms < s->now.ms;

	if (t->no == l->no && s->begun)
		return false;
	l->no = t->no;
	l->trouble[0] = '\0';
	s->now = (struct moment){ .ms = t->ms, .s = *t->sample };
	s->wall_ms = t->wall_ms;
	base_copy_text(s->kernel, sizeof s->kernel, t->kernel);
	base_copy_text(s->why, sizeof s->why, t->why);
	if (begins) {
		begin(s);
		return true;
	}
	if (is_due(&s->seconds, t->ms)) {
		s->from = s->to;
		s->to = s->now;
		push_trend(s);
		push_moment(&s->seconds, &s->now);
	} else if (t->woken) {
		s->woken = s->now;
	}
	if (is_due(&s->steps, t->ms))
		push_moment(&s->steps, &s->now);
	return true;
}

void
page_stress_set_trouble(struct page_stress *l, const char *text)
{
	base_copy_text(l->trouble, sizeof l->trouble, text);
}

bool
page_stress_set_mark(struct page_stress *l)
{
	struct seen *s = &l->seen;

	if (!s->begun)
		return false;
	s->mark = s->now;
	s->mark_wall_ms = s->wall_ms;
	s->marked = true;
	return true;
}

bool
page_stress_reset(struct page_stress *l)
{
	if (!l->seen.begun)
		return false;
	begin(&l->seen);
	return true;
}

bool
page_stress_step_window(struct page_stress *l, bool longer)
{
	if (longer ? l->window + 1 == BASE_NELEM(windows) : l->window == 0)
		return false;
	l->window += longer ? 1 : -1U;
	return true;
}

/* The last moment that is as old, or else the oldest. */
static const struct moment *
moment_before(const struct ring *r, int64_t ms)
{
	size_t oldest = r->n > r->cap ? r->n - r->cap : 0;

	for (size_t i = r->n; i-- > oldest;)
		if (r->at[i % r->cap].ms <= ms + EARLY_MS)
			return &r->at[i % r->cap];
	return &r->at[oldest % r->cap];
}

static const struct moment *
begin_of_window(const struct page_stress *l, const struct seen *s)
{
	int64_t ms = windows[l->window];
	const struct ring *r = ms <= (int64_t)(SECONDS - 2) * SECOND_MS ?
	    &s->seconds : &s->steps;

	return moment_before(r, s->now.ms - ms);
}

/* Samples came more slowly, or one came early: the mean of a second. */
static void
make_mean(struct page_stress_spent *p)
{
	struct stress_sample *s = &p->s;

	p->mean = true;
	for (size_t i = 0; i < STRESS_LEVELS; i++)
		s->level[i] = per_second(s->level[i], p->ms);
	s->some_us = per_second(s->some_us, p->ms);
	s->full_us = per_second(s->full_us, p->ms);
	p->ms = SECOND_MS;
}

void
page_stress_spent(const struct page_stress *l, enum page_stress_period period,
    struct page_stress_spent *out)
{
	const struct seen *s = shown(l);
	const struct moment *to = &s->now, *from = &s->mark;
	bool early = false;

	*out = (struct page_stress_spent){ .s = { .source = s->now.s.source },
	    .none = !s->begun || (period == PAGE_STRESS_SECOND && s->ntrend == 0) };
	if (!s->begun)
		return;
	if (period == PAGE_STRESS_SECOND) {
		early = s->woken.ms > s->to.ms;
		from = &s->from;
		to = early ? &s->woken : &s->to;
	} else if (period == PAGE_STRESS_WINDOW) {
		from = begin_of_window(l, s);
	}
	stress_spent(&out->s, &to->s, &from->s);
	out->ms = to->ms - from->ms;
	out->changed = to->s.changes != from->s.changes;
	if (early || (period == PAGE_STRESS_SECOND &&
	    out->ms > SECOND_MS + LATE_MS))
		make_mean(out);
}

/* Points are cut at the same seconds each time: only the newest one changes. */
size_t
page_stress_trend(const struct page_stress *l, enum page_stress_row row, size_t fold,
    uint64_t out[PAGE_STRESS_TREND])
{
	const struct seen *s = shown(l);
	uint64_t at = s->ntrend > PAGE_STRESS_TREND ? s->ntrend - PAGE_STRESS_TREND : 0;
	size_t points = 0;

	at = (at + fold - 1) / fold * fold;
	while (at < s->ntrend) {
		uint64_t sum = 0, n = 0;

		for (; n < fold && at < s->ntrend; n++, at++)
			sum += s->trend[row][at % PAGE_STRESS_TREND];
		/* A few requests are not none. */
		out[points++] = (sum + n - 1) / n;
	}
	return points;
}

bool
page_stress_known(const struct page_stress *l)
{
	return shown(l)->begun;
}

const char *
page_stress_kernel(const struct page_stress *l)
{
	return shown(l)->kernel;
}

const char *
page_stress_why(const struct page_stress *l)
{
	return shown(l)->why;
}

const char *
page_stress_trouble(const struct page_stress *l)
{
	return l->trouble;
}

enum stress_source
page_stress_source(const struct page_stress *l)
{
	return shown(l)->begun ? shown(l)->now.s.source : STRESS_NONE;
}

int64_t
page_stress_mark_ms(const struct page_stress *l, bool *first)
{
	*first = !shown(l)->marked;
	return shown(l)->mark_wall_ms;
}

int64_t
page_stress_window_ms(const struct page_stress *l)
{
	return windows[l->window];
}
