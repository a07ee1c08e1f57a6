/*
 * Gives the keeper the marks of a capture that are before the moment.  A seek finds
 * the blocks that were held at a mark, one in each visit.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "../keeper/keeper.h"
#include "names.h"

#define NS_PER_MS INT64_C(1000000)

static bool
is_before(const struct capture_mark *m, uint32_t part, uint64_t seq, int64_t ms)
{
	return m->part == part ? m->seq <= seq : m->part == 0 && m->ms <= ms;
}

/* A later mark of the capture replaces an earlier one.  False: a user's has the name. */
static bool
is_free(struct mark_set *set, const char *name)
{
	uint32_t i = 0;

	while (set != NULL && i < set->n && strcmp(set->at[i].name, name) != 0)
		i++;
	if (set == NULL || i == set->n)
		return true;
	if (set->at[i].who[0] != '\0')
		return false;
	set->n--;
	memmove(&set->at[i], &set->at[i + 1], (set->n - i) * sizeof set->at[0]);
	return true;
}

/* The number of events and what was held at the mark.  Errors of capture_seek(). */
static int
measure(const struct replay_marks *m, struct capture *c,
    const struct capture_mark *mark, struct wire_named_mark *to)
{
	const struct capture_totals *t;
	struct capture_list *l;
	int64_t ms;
	int err = capture_seek(c, m->part, &(struct capture_when){
	    .at = mark->part != 0 ? CAPTURE_AT_SEQ : CAPTURE_AT_MS,
	    .seq = mark->seq, .ms = mark->ms }, &l);

	if (err < 0)
		return err;
	t = capture_list_totals(l);
	*to = (struct wire_named_mark){ .ms = mark->ms,
		.wall_ms = capture_wall_ns(c, mark->ms) / NS_PER_MS,
		.blocks = t->blocks, .bytes = t->bytes,
		.est_blocks = t->blocks, .est_bytes = t->bytes };
	(void)capture_list_at(l, &to->seq, &ms);
	to->seq--;
	for (unsigned i = 0; i < STREAM_CAUSES; i++)
		to->lost += t->lost[i];
	base_copy_text(to->name, sizeof to->name, mark->text);
	capture_list_free(l);
	return 0;
}

/* The oldest one makes room.  -ENOMEM. */
static int
put_mark(struct keeper *k, const struct wire_named_mark *mark)
{
	struct mark_set *set = k->marks;
	uint32_t at = 0;

	if (set == NULL)
		set = k->marks = calloc(1, sizeof *set);
	if (set == NULL)
		return -ENOMEM;
	if (set->n == WIRE_MARKS_MAX) {
		set->n--;
		memmove(&set->at[0], &set->at[1], set->n * sizeof set->at[0]);
	}
	while (at < set->n && set->at[at].seq <= mark->seq)
		at++;
	memmove(&set->at[at + 1], &set->at[at],
	    (set->n - at) * sizeof set->at[0]);
	set->at[at] = *mark;
	set->n++;
	return 0;
}

int
replay_marks_take(struct replay_marks *m, struct keeper *k, struct capture *c,
    uint64_t seq, int64_t ms)
{
	struct wire_named_mark mark;
	int err = 0;

	for (; m->next < capture_marks(c); m->next++) {
		const struct capture_mark *next = capture_mark(c, m->next);

		if (next->part != 0 && next->part != m->part)
			continue;
		if (!is_before(next, m->part, seq, ms))
			return 0;
		if (!wire_is_mark_name(next->text, strlen(next->text)) ||
		    !is_free(k->marks, next->text))
			continue;
		err = measure(m, c, next, &mark);
		if (err == 0)
			err = put_mark(k, &mark);
		m->next++;
		return err == -ENOENT ? 0 : err;
	}
	return 0;
}
