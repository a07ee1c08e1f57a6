/*
 * The lists of a session: the one that is shown, and the one that is taken in
 * parts to come after it; how much they hold, and when one takes the other's
 * place.
 */
#include "state.h"

#define REMEMBERED (1u << 17)	/* blocks that have been freed: more than in a cycle */
#define MOVES (1u << 16)	/* likewise, of those that realloc has moved */

static enum blklist_kind
kind_of(const struct nodes_session *s)
{
	return s->opts.kind_given ? s->opts.kind :
	    s->look.classic ? BLKLIST_LITERAL : BLKLIST_INDEXED;
}

/*
 * Who wants the whole list takes all that the node's can hold: what is not used
 * costs nothing.  But a literal list has all its records at once, and walks them
 * for each block.
 */
static uint32_t
room_for(const struct nodes_session *s, uint64_t blocks)
{
	bool literal = kind_of(s) == BLKLIST_LITERAL;
	uint32_t most = literal ? NODES_MAX : BLKLIST_MAX;
	uint32_t room = s->look.classic ? NODES_MAX_CLASSIC : NODES_MAX;
	uint64_t node = s->keeper[WIRE_N_MAX];

	if (s->opts.max != 0)
		return s->opts.max;
	if (!s->opts.whole || node <= room || (literal && blocks <= room / 2))
		return room;
	return node < most ? (uint32_t)node : most;
}

static int
make(struct nodes_session *s, uint32_t max, struct blklist **out)
{
	const struct nodes_session_opts *o = &s->opts;
	int err;

	err = blklist_new_most(out, kind_of(s), max);
	if (err < 0)
		return err;
	blklist_set_legal(*out, s->legal);
	/* The nibble of a foreign node's records may look like a level. */
	blklist_set_opaque(*out, s->look.classic && !s->look.levels);
	blklist_set_since_click(*out, o->since_click ||
	    s->keeper[WIRE_N_EARLIER] > 0 || s->keeper[WIRE_N_ARMED_MS] != 0);
	blklist_sample(*out, s->look.sample);
	/* For who had an address before; without memory for it nobody knows. */
	blklist_remember(*out, REMEMBERED);
	return 0;
}

int
lists_new(struct nodes_session *s, uint64_t blocks, struct blklist **out)
{
	return make(s, room_for(s, blocks), out);
}

/*
 * The node's numbers come before the first part: for a list that is larger than
 * was thought there is another one, while nothing is in it.
 */
void
lists_make_room(struct nodes_session *s, uint64_t blocks)
{
	uint32_t room = room_for(s, blocks);
	struct blklist *list;

	if (room <= blklist_counts(s->build)->aRecMax ||
	    make(s, room, &list) < 0)
		return;
	if (s->build == s->list) {
		s->list = list;
		s->look.list = list;
	}
	blklist_free(s->build);
	s->build = list;
}

void
lists_drop_build(struct nodes_session *s)
{
	if (s->build != s->list)
		blklist_free(s->build);
	s->build = NULL;
}

/* Without memory for it what realloc moves is one block freed and one new. */
void
lists_follow(struct nodes_session *s)
{
	if (!s->look.classic)
		(void)blklist_follow(s->build, MOVES);
}

/*
 * The list that is taken in parts becomes the one that is shown.  Only from now
 * on all records apply, so that of a realloc there are both.
 */
void
lists_publish(struct nodes_session *s)
{
	lists_follow(s);
	if (s->build != s->list) {
		blklist_free(s->list);
		s->list = s->build;
		s->look.list = s->list;
	}
	s->put_full = s->build_full;
	s->step = SESSION_FLOW;
	s->look.listed = true;
	s->look.settled = true;
	s->look.window = false;
	s->regions.torn = s->torn;
	back_fresh(s);
	merge_reset(&s->merge);
}
