/* The last minute.  The keeper also counts requests undone before listing. */
#include <stdlib.h>

#include "layout.h"

#define SECOND_NS INT64_C(1000000000)
/* The keeper's numbers, once a second, may come a little early. */
#define EARLY_NS (SECOND_NS / 2)

struct samples {
	uint64_t v[TRENDS][TREND_SAMPLES];	/* sample i at i % TREND_SAMPLES */
	uint64_t n;		/* taken so far; the next one's number */
};

struct page_trend {
	struct samples taken, shown;
	bool begun;		/* there is a last sample: of these */
	uint32_t stream_no;
	uint64_t told_no;
	struct mono at;
	uint64_t allocs, frees;
};

struct counted {
	uint64_t allocs, frees;
};

static void
read_counts(const struct nodes_look *look, struct counted *c)
{
	const struct blklist_counts *list;

	if (look->keeper != NULL) {
		*c = (struct counted){ look->keeper[WIRE_N_ALLOCS],
			look->keeper[WIRE_N_FREES] };
		return;
	}
	list = blklist_counts(look->list);
	*c = (struct counted){ list->allocs, list->frees };
}

static uint64_t
live_bytes(const struct nodes_look *look)
{
	const struct blklist_counts *list = blklist_counts(look->list);

	return look->sample != 0 ? list->est_bytes : list->live_bytes;
}

static void
begin_samples(struct page_trend *t, const struct page_view *v,
    const struct counted *c)
{
	t->begun = true;
	t->stream_no = v->live->stream_no;
	t->told_no = v->live->keeper_no;
	t->at = v->now;
	t->allocs = c->allocs;
	t->frees = c->frees;
}

static bool
is_due(const struct page_trend *t, const struct page_view *v)
{
	bool told = v->live->keeper != NULL;

	if (told && v->live->keeper_no == t->told_no)
		return false;
	return mono_diff_ns(v->now, t->at) >= (told ? EARLY_NS : SECOND_NS);
}

static uint64_t
a_second(uint64_t n, int64_t ns)
{
	return (uint64_t)((double)n * 1e9 / (double)ns + 0.5);
}

static void
push_sample(struct samples *s, const uint64_t v[TRENDS])
{
	size_t i;

	for (i = 0; i < TRENDS; i++)
		s->v[i][s->n % TREND_SAMPLES] = v[i];
	s->n++;
}

/* One sample for each second that has passed: a stopped page shows a plain. */
static void
take_samples(struct page_trend *t, const struct page_view *v,
    const struct counted *c)
{
	int64_t ns = mono_diff_ns(v->now, t->at);
	int64_t seconds = (ns + SECOND_NS / 2) / SECOND_NS;
	const uint64_t now[TRENDS] = {
		[TREND_LIVE] = live_bytes(v->live),
		[TREND_ALLOCS] = a_second(c->allocs - t->allocs, ns),
		[TREND_FREES] = a_second(c->frees - t->frees, ns),
	};

	if (seconds > TREND_SAMPLES)
		seconds = TREND_SAMPLES;
	do {
		push_sample(&t->taken, now);
	} while (--seconds > 0);
	begin_samples(t, v, c);
}

static bool
is_counted(const struct nodes_look *look)
{
	return look->state == NODES_LIVE && look->settled && !look->behind;
}

void
page_trend_sample(struct page *page, const struct page_view *v)
{
	const struct nodes_look *look = v->live;
	struct page_trend *t = page->trend;
	struct counted c;

	if (t == NULL)
		t = page->trend = calloc(1, sizeof *t);
	if (t == NULL)
		return;
	if (look->list == NULL) {
		t->taken.n = 0;
		t->begun = false;
	} else if (is_counted(look)) {
		read_counts(look, &c);
		if (!t->begun || t->stream_no != look->stream_no ||
		    c.allocs < t->allocs || c.frees < t->frees) {
			t->taken.n = 0;
			begin_samples(t, v, &c);
		} else if (is_due(t, v)) {
			take_samples(t, v, &c);
		}
	}
	if (v->look == v->live)
		t->shown = t->taken;
}

size_t
page_trend_points(const struct page_trend *t, enum page_trend_of of,
    uint64_t out[TREND_POINTS])
{
	const struct samples *s;
	uint64_t at, from, end, sum, n;
	size_t points = 0;

	if (t == NULL)
		return 0;
	s = &t->shown;
	/* The oldest point may have lost samples: it is left out. */
	from = s->n > TREND_SAMPLES ? s->n - TREND_SAMPLES : 0;
	from = (from + TREND_FOLD - 1) / TREND_FOLD * TREND_FOLD;
	for (at = from; at < s->n; at = end) {
		end = at + TREND_FOLD < s->n ? at + TREND_FOLD : s->n;
		n = end - at;
		for (sum = 0; at < end; at++)
			sum += s->v[of][at % TREND_SAMPLES];
		out[points++] = sum / n;
	}
	return points;
}

bool
page_trend_last(const struct page_trend *t, enum page_trend_of of,
    uint64_t *out)
{
	const struct samples *s;

	if (t == NULL || t->shown.n == 0)
		return false;
	s = &t->shown;
	*out = s->v[of][(s->n - 1) % TREND_SAMPLES];
	return true;
}

void
page_trend_free(struct page_trend *t)
{
	free(t);
}
