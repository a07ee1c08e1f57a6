/*
 * USAGE: a copy of a stream's counts, and its rows in portions.  Requests that go
 * on with a copy do not make counting begin.
 */
#include <errno.h>

#include "../keeper/counting.h"
#include "../keeper/node.h"
#include "../replay/replay.h"
#include "answer.h"

_Static_assert(WIRE_USAGE_SIZE == USAGE_ROW_SIZE &&
    WIRE_USAGE_ROWS * WIRE_USAGE_SIZE <=
    sizeof ((struct answer_scratch *)NULL)->bytes, "rows of USED");
_Static_assert(USAGE_ROWS <= UINT32_MAX, "a row's number fits");

/* The copy to read, or NULL after an error was sent. */
static const struct counting_copy *
find_copy(struct conn *c, const struct wire_msg *m, struct keeper *k)
{
	const struct counting_copy *copy = NULL;
	int err;

	if (m->usage.from != 0) {
		copy = counting_look(k, c->page.id);
		if (copy == NULL || copy->no == 0)
			conn_error(c, m->id, WIRE_E_NAME,
			    "counting has begun anew: ask from the first row");
		return copy != NULL && copy->no != 0 ? copy : NULL;
	}
	visits_freshen(k);
	err = counting_copy(k, c->page.id, access_controls(&c->node->access,
	    &c->peer, k->image.uid), &copy);
	if (err == -EBUSY)
		conn_error(c, m->id, WIRE_E_BUSY,
		    "too many pages count this target already");
	else if (err < 0)
		conn_error(c, m->id, WIRE_E_INTERNAL,
		    "the node has no memory for counts");
	else if (replay_lacks_counts(c->node))
		conn_error(c, m->id, WIRE_E_BUSY,
		    "the capture is read from its beginning first");
	else
		return copy;
	return NULL;
}

static size_t
put_rows(struct conn *c, const struct counting_copy *copy, uint32_t from,
    uint32_t *next)
{
	struct answer_scratch *s = c->node->serve->scratch;
	size_t n = 0;

	for (; from < copy->n && n < WIRE_USAGE_ROWS; from++, n++)
		usage_row_put(s->bytes + n * WIRE_USAGE_SIZE, &copy->row[from]);
	*next = from < copy->n ? from : 0;
	return n;
}

static void
put_totals(struct wire_used *u, const struct counting_copy *copy)
{
	const struct usage_totals *t = &copy->totals;

	u->total[WIRE_U_ALLOCS] = t->allocs;
	u->total[WIRE_U_FREES] = t->frees;
	u->total[WIRE_U_ALLOC_BYTES] = t->alloc_bytes;
	u->total[WIRE_U_LIVE] = t->live;
	u->total[WIRE_U_LIVE_BYTES] = t->live_bytes;
	u->total[WIRE_U_BRIEF] = t->brief;
	u->total[WIRE_U_PEAK] = t->peak;
	u->total[WIRE_U_PEAK_BYTES] = t->peak_bytes;
	u->total[WIRE_U_CROWDED] = t->crowded;
	u->total[WIRE_U_RSS] = copy->rss;
	u->ntotals = WIRE_USAGE_TOTALS;
	u->peak_ms = t->peak_ms;
}

void
answer_usage(struct conn *c, const struct wire_msg *m)
{
	struct wire_msg reply = { .type = WIRE_USED, .id = m->id };
	const struct counting_copy *copy;
	struct keeper *k;

	k = answer_keeper(c, m, m->usage.index, m->usage.epoch, true);
	if (k == NULL)
		return;
	reply.used.index = m->usage.index;
	if (m->usage.end) {
		counting_end(k, c->page.id);
		conn_reply(c, &reply);
		return;
	}
	copy = find_copy(c, m, k);
	if (copy == NULL)
		return;
	reply.used.no = copy->no;
	reply.used.nrows = (uint32_t)copy->n;
	reply.used.rows = (struct wire_bytes){
		.p = c->node->serve->scratch->bytes,
		.len = WIRE_USAGE_SIZE * put_rows(c, copy, m->usage.from,
		    &reply.used.next) };
	put_totals(&reply.used, copy);
	reply.used.since_ms = copy->since_ms;
	reply.used.from_start = copy->from_start;
	reply.used.lost = copy->lost;
	reply.used.lacks = wire_text(copy->lacks);
	reply.used.sample = k->format.sample;
	reply.used.now_ms = copy->now_ms;
	conn_reply(c, &reply);
}
