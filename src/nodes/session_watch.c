/*
 * How one block ends: the record that frees it, looked for among those that
 * come in.
 */
#include "session.h"

void
nodes_session_watch(struct nodes_session *s, unsigned layer, uint64_t addr,
    uint64_t seq)
{
	s->watch = (struct session_watch){
		.on = true,
		.layer = layer,
		.addr = addr,
		.seq = seq,
	};
}

const struct nodes_freed *
nodes_session_freed(const struct nodes_session *s)
{
	return s->watch.on && s->watch.freed ? &s->watch.how : NULL;
}

/* Without levels the low nibble says nothing, and there is one layer. */
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

/*
 * The first free behind the block's allocation is its end; an undone one was
 * none, for the realloc that it was part of has failed.
 */
void
watch_batch(struct nodes_session *s, const struct blklist_batch *b)
{
	struct session_watch *w = &s->watch;
	size_t i;

	for (i = 0; w->on && i < b->n; i++) {
		const struct rec *r = &b->rec[i];
		unsigned op = rec_op(r);

		if ((int64_t)(b->seqs[i] - w->seq) <= 0 || !is_of(s, r))
			continue;
		if (op == REC_UNDO && w->freed &&
		    w->how.type == TYPE_BY_REALLOC) {
			w->freed = false;
		} else if ((op == REC_FREE || op == REC_RANGE) && !w->freed) {
			w->freed = true;
			w->how = (struct nodes_freed){
				.seq = b->seqs[i],
				.ms = b->ms != NULL ? b->ms[i] :
				    rec_ms_near(r, b->near_ms),
				.caller = rec_caller(r),
				.thread = (uint16_t)rec_thread(r),
				.type = (uint8_t)rec_type(r),
			};
		}
	}
}
