/* One block's end, and other blocks at its address, before and after it. */
#include <string.h>

#include "state.h"

/* Adds one at the end; the oldest is dropped if there is no room. */
static struct nodes_life *
add_life(struct nodes_lives *l)
{
	if (l->n == NODES_LIVES) {
		memmove(l->life, l->life + 1,
		    (NODES_LIVES - 1) * sizeof l->life[0]);
		l->n--;
		l->left_out++;
	}
	l->life[l->n] = (struct nodes_life){ .ended = false };
	return &l->life[l->n++];
}

static unsigned
layer_of(const struct nodes_session *s, const struct blk *b)
{
	return s->look.levels && blk_layer(b);
}

/* Adds freed blocks that the list remembers; it gives the last one first. */
static void
add_removed(struct nodes_session *s)
{
	const struct blklist_removed *r;
	struct session_watch *w = &s->watch;
	struct nodes_life *to = w->lives.life;
	uint32_t k;

	for (k = 0; (r = blklist_removed(s->intake.list, k)) != NULL; k++) {
		if (r->blk.addr != w->addr || r->blk.seq == w->seq ||
		    layer_of(s, &r->blk) != w->layer)
			continue;
		if (w->lives.n == NODES_LIVES / 2) {
			w->lives.left_out++;
			continue;
		}
		memmove(to + 1, to, w->lives.n++ * sizeof *to);
		*to = (struct nodes_life){ .blk = r->blk, .ended = true,
			.end = { .seq = r->seq } };
	}
}

const struct nodes_lives *
nodes_session_lives(const struct nodes_session *s)
{
	return s->watch.on ? &s->watch.lives : NULL;
}

static void
begin_life(struct nodes_session *s, const struct rec *r, uint64_t seq,
    int64_t ms)
{
	struct nodes_lives *lives = &s->watch.lives;

	/* A record may be read twice when the list is taken anew. */
	if (lives->n > 0 &&
	    (int64_t)(seq - lives->life[lives->n - 1].blk.seq) <= 0)
		return;
	add_life(lives)->blk = blk_of_rec(r, seq, ms);
}

static void
end_life(struct nodes_lives *l, const struct nodes_freed *how)
{
	struct nodes_life *last = l->n > 0 ? &l->life[l->n - 1] : NULL;

	if (last == NULL || last->ended ||
	    (int64_t)(how->seq - last->blk.seq) <= 0)
		return;
	last->ended = true;
	last->end = *how;
}

static void
undo_end(struct nodes_lives *l)
{
	struct nodes_life *last = l->n > 0 ? &l->life[l->n - 1] : NULL;

	if (last != NULL && last->ended &&
	    last->end.type == TYPE_BY_REALLOC)
		last->ended = false;
}

void
nodes_session_watch(struct nodes_session *s, unsigned layer,
    uint64_t addr, uint64_t seq)
{
	struct blk b;

	s->watch = (struct session_watch){
		.on = true,
		.layer = layer,
		.addr = addr,
		.seq = seq,
		.lives.since_ms = s->look.now_ms,
	};
	if (s->intake.list == NULL)
		return;
	add_removed(s);
	if (blklist_get(s->intake.list, layer, addr, &b) == 0)
		add_life(&s->watch.lives)->blk = b;
}

const struct nodes_freed *
nodes_session_freed(const struct nodes_session *s)
{
	return s->watch.on && s->watch.freed ? &s->watch.how : NULL;
}

/* The record is about the watched address. Without levels there is one layer. */
static bool
is_of(const struct nodes_session *s, const struct rec *r)
{
	unsigned layer = s->look.levels ? rec_layer(r) : 0;
	uint64_t addr = rec_addr(r);

	if (layer != s->watch.layer)
		return false;
	if (rec_op(r) == REC_RANGE)
		return s->watch.addr >= addr &&
		    s->watch.addr - addr < rec_size(r);
	return addr == s->watch.addr;
}

static bool
is_block(const struct nodes_session *s, const struct rec *r)
{
	return rec_op(r) == REC_ALLOC && (!s->look.levels ||
	    rec_level(r) != REC_LEVEL_FAILED);
}

/* The first free after the allocation is the end, unless a failed realloc undoes it. */
static void
watch_record(struct nodes_session *s, const struct rec *r, uint64_t seq,
    int64_t ms)
{
	struct session_watch *w = &s->watch;
	unsigned op = rec_op(r);
	struct nodes_freed how = {
		.seq = seq,
		.ms = ms,
		.caller = rec_caller(r),
		.thread = (uint16_t)rec_thread(r),
		.type = (uint8_t)rec_type(r),
	};

	if (is_block(s, r)) {
		begin_life(s, r, seq, ms);
	} else if (op == REC_UNDO) {
		undo_end(&w->lives);
		if (w->how.type == TYPE_BY_REALLOC)
			w->freed = false;
	} else if (op == REC_FREE || op == REC_RANGE) {
		end_life(&w->lives, &how);
		if (w->freed)
			return;
		w->freed = true;
		w->how = how;
	}
}

static void
note_gap(struct session_watch *w, const struct wire_data *data)
{
	size_t i;

	if (w->next != 0 && data->first != w->next)
		w->lives.gaps = true;
	for (i = 0; i < BASE_NELEM(data->lost); i++)
		if (data->lost[i].count > 0)
			w->lives.gaps = true;
	w->next = data->next;
}

void
watch_data(struct nodes_session *s, const struct blklist_batch *b,
    const struct wire_data *data)
{
	struct session_watch *w = &s->watch;
	size_t i;

	if (!w->on)
		return;
	note_gap(w, data);
	for (i = 0; i < b->n; i++) {
		const struct rec *r = &b->rec[i];

		if ((int64_t)(b->seqs[i] - w->seq) > 0 && is_of(s, r))
			watch_record(s, r, b->seqs[i], b->ms != NULL ?
			    b->ms[i] : rec_ms_near(r, b->near_ms));
	}
}
