/*
 * Earlier events of a live target: the records that its node still has, from
 * the oldest on, become blocks with their allocations and frees.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../../base/base.h"
#include "../../cli/pump.h"
#include "dumps.h"

struct last_life {
	uint64_t key;
	size_t at;
};

static uint64_t
key_of(const struct live_history *h, const struct rec *r)
{
	return rec_addr(r) | (uint64_t)(h->levels && rec_layer(r)) << 63;
}

static struct live_life *
find_life(const struct live_history *h, uint64_t key)
{
	const struct last_life *last = hashmap_get(&h->last, key);

	return last != NULL ? &h->life[last->at] : NULL;
}

static int
add_life(struct live_history *h, uint64_t key, struct live_life **out)
{
	struct last_life *last = hashmap_add(&h->last, key);
	void *array = h->life;
	int e = last == NULL ? -ENOMEM :
	    base_grow(&array, &h->cap, h->n + 1, sizeof *h->life);

	if (e < 0)
		return e;
	h->life = array;
	last->at = h->n;
	*out = &h->life[h->n++];
	**out = (struct live_life){ .state = LIVE_HELD };
	return 0;
}

static int
take_alloc(struct live_history *h, const struct rec *r, uint64_t seq, int64_t ms)
{
	struct live_life *life = find_life(h, key_of(h, r));
	int e;

	if (rec_addr(r) == 0 || (h->levels && rec_level(r) == REC_LEVEL_FAILED))
		return 0;
	if (life != NULL && life->state == LIVE_HELD) {
		life->state = LIVE_LOST;
		h->complete = false;
	}
	e = add_life(h, key_of(h, r), &life);
	if (e == 0)
		life->alloc = blk_of_rec(r, seq, ms);
	return e;
}

static void
end_life(struct live_life *life, const struct rec *r, uint64_t seq, int64_t ms)
{
	life->free = blk_of_rec(r, seq, ms);
	life->state = LIVE_FREED;
}

/* A free of a block from before the oldest record is known by itself. */
static int
take_free(struct live_history *h, const struct rec *r, uint64_t seq, int64_t ms)
{
	struct live_life *life = find_life(h, key_of(h, r));
	int e = 0;

	if (life != NULL && life->state == LIVE_HELD) {
		/* A later block has the address already. */
		if ((int32_t)(rec_ticket(r) - life->alloc.ticket) < 0)
			return 0;
	} else {
		h->complete = false;
		e = add_life(h, key_of(h, r), &life);
	}
	if (e == 0)
		end_life(life, r, seq, ms);
	return e;
}

/* The realloc has failed: its free was none. */
static void
take_undo(struct live_history *h, const struct rec *r)
{
	struct live_life *life = find_life(h, key_of(h, r));

	if (life == NULL || life->state != LIVE_FREED ||
	    life->free.type != TYPE_BY_REALLOC)
		return;
	life->state = life->alloc.seq != 0 ? LIVE_HELD : LIVE_LOST;
}

/* Such frees are rare. */
static void
take_range(struct live_history *h, const struct rec *r, uint64_t seq, int64_t ms)
{
	uint64_t layer = key_of(h, r) >> 63;

	for (size_t i = 0; i < h->last.n; i++) {
		const struct last_life *last = hashmap_item(&h->last, i);
		struct live_life *life = &h->life[last->at];

		if (last->key >> 63 == layer && life->state == LIVE_HELD &&
		    life->alloc.addr - rec_addr(r) < rec_size(r))
			end_life(life, r, seq, ms);
	}
}

static int
take_record(void *arg, const struct rec *r, uint64_t seq, int64_t ms)
{
	struct live_history *h = arg;

	switch (rec_op(r)) {
	case REC_ALLOC:
		return take_alloc(h, r, seq, ms);
	case REC_FREE:
		return take_free(h, r, seq, ms);
	case REC_UNDO:
		take_undo(h, r);
		return 0;
	case REC_RANGE:
		take_range(h, r, seq, ms);
		return 0;
	case REC_CONTROL:
		/* Events are not logged until the next start. */
		if (rec_type(r) == REC_CTL_STOP)
			h->complete = false;
		return 0;
	default:
		return 0;
	}
}

static bool
is_read(void *session)
{
	return !nodes_session_retained_state(session)->pending;
}

int
live_history_read(struct live_history *h, const struct options *o,
    uv_loop_t *loop, struct nodes_session *s, uint64_t upto)
{
	const struct nodes_retained *told = nodes_session_retained_state(s);
	const struct nodes_look *look = nodes_session_look(s);
	int e;

	*h = (struct live_history){ .last.size = sizeof(struct last_life),
		.levels = look->levels, .complete = look->complete &&
		look->sample == 0 && look->arming.since_wall_ms == 0 };
	e = nodes_session_retained(s, upto, take_record, h);
	if (e == 0 && !pump(loop, s, o->timeout_ms, is_read, s))
		e = -ETIMEDOUT;
	if (e == 0)
		e = told->error;
	h->complete &= e == 0 && told->missing == 0;
	return e == -ENOMEM || e == -ESTALE ? e : 0;
}

void
live_history_fini(struct live_history *h)
{
	hashmap_fini(&h->last);
	free(h->life);
	*h = (struct live_history){ .n = 0 };
}
