/*
 * A copy of the list taken through the states: back by taking out what came
 * since, and putting in what was freed since; forth by the reverse.
 */
#include <errno.h>
#include <stdlib.h>

#include "past.h"

#define SOME 256

void
page_steps_begin(struct page_steps *st, struct page_past *past,
    struct blklist *list, uint64_t as_of)
{
	*st = (struct page_steps){
		.past = past,
		.list = list,
		.as_of = as_of,
		.at = page_past_states(past),
	};
}

void
page_steps_fini(struct page_steps *st)
{
	free(st->taken);
	st->taken = NULL;
	st->n = st->cap = 0;
}

static unsigned
layer_of(const struct blk *b)
{
	return (b->flags & REC_LAYER_API) != 0;
}

/* Requesters are numbered by each list for itself. */
static uint16_t
name_in(struct page_steps *st, uint16_t info)
{
	const struct blklist *names = page_past_names(st->past);
	const struct blklist_info *entry = names != NULL && info != 0 ?
	    blklist_info_get(names, info) : NULL;

	return entry != NULL ? blklist_info_intern(st->list, entry) : 0;
}

static int
put_back(struct page_steps *st, struct page_past_gone *g)
{
	struct blk b = g->blk;
	int r;

	b.info = name_in(st, b.info);
	r = blklist_put(st->list, &b);
	/* Its end was taken back: it has been there all the time. */
	g->back = r == 0;
	return r == -EEXIST ? 0 : r;
}

/* Takes out what came after that record, the youngest first. */
static int
take_younger(struct page_steps *st, uint64_t as_of, size_t *taken)
{
	struct blk some[SOME];
	void *blks;
	size_t n, i;
	int r;

	for (*taken = 0;; *taken += i) {
		blks = st->taken;
		r = base_grow(&blks, &st->cap, st->n + SOME,
		    sizeof *st->taken);
		st->taken = blks;
		if (r < 0)
			return r;
		n = blklist_window(st->list, BLKLIST_BY_AGE, true, 0, some,
		    SOME);
		for (i = 0; i < n && (int64_t)(some[i].seq - as_of) > 0; i++) {
			r = blklist_take(st->list, layer_of(&some[i]),
			    some[i].addr);
			if (r < 0)
				return r;
			st->taken[st->n++] = some[i];
		}
		if (i < SOME) {
			*taken += i;
			return 0;
		}
	}
}

int
page_steps_back(struct page_steps *st)
{
	struct page_past_state *s;
	size_t i;
	int r;

	if (st->at == 0)
		return -ENOENT;
	s = page_past_state(st->past, st->at - 1);
	r = take_younger(st, s->as_of, &st->of_step[st->at - 1]);
	for (i = s->ngone; r == 0 && i-- > 0;)
		r = put_back(st, &s->gone[i]);
	if (r == 0)
		st->at--;
	return r == -ENOENT ? -EFAULT : r;
}

int
page_steps_forth(struct page_steps *st)
{
	struct page_past_state *s = page_past_state(st->past, st->at);
	size_t i;
	int r = 0;

	if (s == NULL)
		return -ENOENT;
	for (i = 0; r == 0 && i < s->ngone; i++)
		if (s->gone[i].back)
			r = blklist_take(st->list,
			    layer_of(&s->gone[i].blk), s->gone[i].blk.addr);
	/* The oldest of them first, as they came. */
	for (i = st->of_step[st->at]; r == 0 && i > 0; i--)
		r = blklist_put(st->list, &st->taken[--st->n]);
	if (r == 0)
		st->at++;
	return r == -ENOENT ? -EFAULT : r;
}
