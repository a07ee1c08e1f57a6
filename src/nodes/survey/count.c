#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../link/link.h"
#include "place.h"

/* Records of the stream since the last round: all of a stream that began since. */
static uint64_t
new_records(const struct survey_count *c, size_t *at,
    const struct nodes_target *t)
{
	uint64_t now = t->n[WIRE_N_RECORDS];
	const struct survey_seen *s;

	while (*at < c->nseen && c->seen[*at].index < t->index)
		++*at;
	s = *at < c->nseen ? &c->seen[*at] : NULL;
	return s != NULL && s->index == t->index && s->pid == t->pid &&
	    s->records <= now ? now - s->records : now;
}

static uint64_t
per_second(uint64_t n, int64_t ns)
{
	return (uint64_t)((double)n * 1e9 / (double)ns + 0.5);
}

static void
store_records(struct survey_count *c, const struct nodes_target *t, size_t n,
    struct mono now)
{
	void *array = c->seen;

	c->has_seen = false;
	if (c->many || base_grow(&array, &c->cap, n + 1, sizeof *c->seen) < 0)
		return;
	c->seen = array;
	for (size_t i = 0; i < n; i++)
		c->seen[i] = (struct survey_seen){ .index = t[i].index,
		    .pid = t[i].pid, .records = t[i].n[WIRE_N_RECORDS] };
	c->nseen = n;
	c->seen_at = now;
	c->has_seen = true;
}

static bool
is_live(const struct nodes_target *t)
{
	return !t->ended && (t->state == WIRE_S_LIVE ||
	    t->state == WIRE_S_DORMANT);
}

/* False for an image that has called exec. */
static bool
is_shown(const struct nodes_target *t)
{
	return t->pid == 0 || t->state != WIRE_S_EXECED;
}

/* The node's own blocks count in its sums only if it has no process. */
static bool
is_summed(const struct nodes_target *t, bool any_process)
{
	return t->pid != 0 || !any_process;
}

static bool
goes_before(const struct nodes_target *x, const struct nodes_target *y)
{
	uint64_t a = x->n[WIRE_N_EST_BYTES], b = y->n[WIRE_N_EST_BYTES];

	/* The node's own stream comes last. */
	if ((x->pid == 0) != (y->pid == 0))
		return x->pid != 0;
	if (is_live(x) != is_live(y))
		return is_live(x);
	if (is_live(x) && a != b)
		return a > b;
	/* The youngest of those that have ended. */
	return x->index > y->index;
}

static void
set_target(struct nodes_surveyed_target *out, const struct nodes_target *t,
    bool rated, uint64_t rate)
{
	*out = (struct nodes_surveyed_target){
		.index = t->index,
		.pid = t->pid,
		.state = t->state,
		.ended = t->ended,
		.sample = t->n[WIRE_N_SAMPLE],
		.blocks = t->n[WIRE_N_EST_BLOCKS],
		.bytes = t->n[WIRE_N_EST_BYTES],
		.lost = t->n[WIRE_N_LOST],
		.full = t->n[WIRE_N_FULL],
		.rated = rated,
		.rate = rate,
	};
	memcpy(out->name, t->name, sizeof out->name);
	memcpy(out->comm, t->comm, sizeof out->comm);
}

/* Inserts target i into the order of at most NODES_SURVEY_TARGETS. */
static void
insert_target(const struct nodes_target *t, size_t i,
    size_t order[NODES_SURVEY_TARGETS], size_t *kept,
    const struct nodes_target *first)
{
	size_t at = *kept;

	while (at > 0 && &t[order[at - 1]] != first &&
	    (&t[i] == first || goes_before(&t[i], &t[order[at - 1]])))
		at--;
	if (at == NODES_SURVEY_TARGETS)
		return;
	if (*kept < NODES_SURVEY_TARGETS)
		++*kept;
	memmove(&order[at + 1], &order[at], (*kept - at - 1) * sizeof *order);
	order[at] = i;
}

static void
add_up(struct nodes_surveyed *row, const struct nodes_target *t)
{
	row->lost += t->n[WIRE_N_LOST];
	row->full += t->n[WIRE_N_FULL];
	row->targets += t->pid != 0;
	if (!is_live(t))
		return;
	row->live += t->pid != 0;
	row->blocks += t->n[WIRE_N_EST_BLOCKS];
	row->bytes += t->n[WIRE_N_EST_BYTES];
	row->sampled = row->sampled || t->n[WIRE_N_SAMPLE] != 0;
}

void
survey_count(struct survey_count *c, struct nodes_surveyed *row,
    const struct nodes_target *t, size_t n, struct mono now)
{
	int64_t ns = mono_diff_ns(now, c->seen_at);
	bool many = n > SURVEY_RATED_MAX;
	bool rated = c->has_seen && ns > 0 && !many;
	const struct nodes_target *first = targets_best(t, n, 0, NULL);
	size_t order[NODES_SURVEY_TARGETS], kept = 0, seen = 0;
	uint64_t came, sum = 0;
	bool any_process = false;
	size_t i, k;

	for (i = 0; i < n; i++)
		any_process = any_process || t[i].pid != 0;
	row->targets = row->live = 0;
	row->blocks = row->bytes = row->lost = row->full = 0;
	row->sampled = false;
	for (i = 0; i < n; i++) {
		came = rated ? new_records(c, &seen, &t[i]) : 0;
		if (!is_shown(&t[i]))
			continue;
		if (is_summed(&t[i], any_process)) {
			sum += came;
			add_up(row, &t[i]);
		}
		insert_target(t, i, order, &kept, first);
	}
	for (k = 0; k < kept; k++) {
		seen = 0;
		came = rated ? new_records(c, &seen, &t[order[k]]) : 0;
		set_target(&c->target[k], &t[order[k]], rated,
		    rated ? per_second(came, ns) : 0);
	}
	row->counted = true;
	row->rated = rated;
	row->rate = rated ? per_second(sum, ns) : 0;
	row->target = c->target;
	row->ntarget = kept;
	c->many = many;
	store_records(c, t, n, now);
}

void
survey_count_restart(struct survey_count *c)
{
	c->has_seen = false;
	c->nseen = 0;
}

void
survey_count_fini(struct survey_count *c)
{
	free(c->seen);
	*c = (struct survey_count){ 0 };
}
