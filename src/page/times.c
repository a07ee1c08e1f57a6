/* See times.h. */
#include "times.h"

#define SECOND_NS INT64_C(1000000000)

/* --- how long it holds ---------------------------------------------------- */

void
page_holds_begin(struct page_holds *h)
{
	size_t i;

	for (i = 0; i < PAGE_CLOCKS; i++)
		h->until[i] = INT64_MAX;
}

void
page_holds_join(struct page_holds *h, const struct page_holds *other)
{
	size_t i;

	for (i = 0; i < PAGE_CLOCKS; i++)
		if (other->until[i] < h->until[i])
			h->until[i] = other->until[i];
}

void
page_holds_until(const struct page_view *v, enum page_clock clock, int64_t t)
{
	if (v->holds != NULL && t < v->holds->until[clock])
		v->holds->until[clock] = t;
}

void
page_holds_never(const struct page_view *v)
{
	page_holds_until(v, PAGE_CLOCK_OWN, INT64_MIN);
}

int64_t
page_clock_of(const struct page_view *v, enum page_clock clock)
{
	switch (clock) {
	case PAGE_CLOCK_OWN:
		return v->now.ns;
	case PAGE_CLOCK_NODE:
		return v->look->now_ms;
	case PAGE_CLOCK_WALL:
		return v->look->node_wall_ms;
	case PAGE_CLOCK_STALE:
		return v->live->stale_ms;
	case PAGE_CLOCKS:
		break;
	}
	return 0;
}

/* --- the node's clocks ---------------------------------------------------- */

/* A block of no time, as what is free, has no age that goes on. */
static void
hold_age(const struct page_view *v, int64_t ms, uint64_t seconds)
{
	if (ms < INT64_MAX / 2 && seconds < INT64_MAX / 2000)
		page_holds_until(v, PAGE_CLOCK_NODE,
		    ms + (int64_t)seconds * 1000);
}

uint64_t
page_time_age(const struct page_view *v, int64_t ms,
    const struct page_age_step *step, size_t n)
{
	int64_t now = v->look->now_ms;
	uint64_t s = now > ms ? (uint64_t)(now - ms) / 1000 : 0;
	uint64_t next = UINT64_MAX, shown;
	size_t i = 0;

	while (i + 1 < n && s >= step[i + 1].from)
		i++;
	if (i + 1 < n)
		next = step[i + 1].from;
	shown = step[i].from;
	if (step[i].unit > 0) {
		s -= s % step[i].unit;
		if (s > shown)
			shown = s;
		if (s + step[i].unit < next)
			next = s + step[i].unit;
	}
	hold_age(v, ms, next);
	return shown;
}

bool
page_time_passed(const struct page_view *v, int64_t since_ms, int64_t ms)
{
	if (v->look->now_ms - since_ms >= ms)
		return true;
	page_holds_until(v, PAGE_CLOCK_NODE, since_ms + ms);
	return false;
}

bool
page_time_known(const struct page_view *v)
{
	if (v->look->now_ms == 0)
		page_holds_until(v, PAGE_CLOCK_NODE, 1);
	return v->look->now_ms != 0 && v->look->node_wall_ms != 0;
}

int64_t
page_time_wall(const struct page_view *v, int64_t unit_ms)
{
	int64_t wall = v->look->node_wall_ms;

	page_holds_until(v, PAGE_CLOCK_WALL, wall - wall % unit_ms + unit_ms);
	return wall;
}

int64_t
page_time_wall_ahead(const struct page_view *v)
{
	return v->look->node_wall_ms - v->look->now_ms;
}

int64_t
page_time_wall_at(const struct page_view *v, int64_t ms)
{
	return ms + page_time_wall_ahead(v);
}

/* --- our own -------------------------------------------------------------- */

bool
page_time_reached(const struct page_view *v, struct mono then)
{
	if (mono_diff_ns(v->now, then) >= 0)
		return true;
	page_holds_until(v, PAGE_CLOCK_OWN, then.ns);
	return false;
}

int64_t
page_time_since(const struct page_view *v, struct mono then)
{
	int64_t s = mono_diff_ns(v->now, then) / SECOND_NS;

	page_holds_until(v, PAGE_CLOCK_OWN, then.ns + (s + 1) * SECOND_NS);
	return s;
}

bool
page_time_stale(const struct page_view *v, int64_t ms)
{
	if (v->live->stale_ms >= ms)
		return true;
	page_holds_until(v, PAGE_CLOCK_STALE, ms);
	return false;
}
