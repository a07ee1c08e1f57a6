/*
 * Moments of a stream with a name, for whoever looks later: the number of the
 * last record then, and what was held.  Pages set them by the message MARK, a
 * program by alloclog_mark().
 *
 * There is room for WIRE_MARKS_MAX; the oldest one makes room.  A program has
 * half of it, for it may set marks in a loop, and the marks of people stay.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "keeper.h"
#include "takeover_memory.h"

static void
remove_mark(struct mark_set *set, uint32_t i)
{
	memmove(&set->at[i], &set->at[i + 1],
	    (set->n - i - 1) * sizeof set->at[0]);
	set->n--;
}

/* True if there was one. */
static bool
remove_named(struct mark_set *set, const char *name, size_t len)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (strlen(set->at[i].name) == len &&
		    memcmp(set->at[i].name, name, len) == 0) {
			remove_mark(set, i);
			return true;
		}
	return false;
}

/* The oldest, or the oldest of the program's. */
static void
make_room(struct mark_set *set, bool by_target, char *dropped)
{
	uint32_t i, oldest = 0, of_target = 0;

	for (i = set->n; i > 0; i--)
		if (set->at[i - 1].by_target) {
			of_target++;
			oldest = i - 1;
		}
	if (!by_target || of_target < MARKS_OF_TARGET) {
		if (set->n < WIRE_MARKS_MAX)
			return;
		oldest = 0;
	}
	memcpy(dropped, set->at[oldest].name, sizeof set->at[0].name);
	remove_mark(set, oldest);
}

static void
fill_mark(const struct keeper *k, struct wire_named_mark *m)
{
	const struct blklist_counts *n = keeper_counts(k);
	bool sampled = k->format.sample != 0;

	m->seq = keeper_next(k) - 1;
	m->ms = keeper_now_ms(k);
	m->wall_ms = k->format.classic ? m->ms : base_wall_ms();
	m->blocks = n->aRecActive;
	m->bytes = n->live_bytes;
	m->est_blocks = sampled ? n->est_blocks : m->blocks;
	m->est_bytes = sampled ? n->est_bytes : m->bytes;
	m->lost = keeper_lost(k);
	m->full = n->full;
}

int
keeper_set_mark(struct keeper *k, const char *name, size_t len,
    const char *who, bool by_target, struct mark_effect *effect)
{
	struct wire_named_mark *m;
	struct keeper_tap *tap;

	*effect = (struct mark_effect){ .moved = false };
	if (!wire_is_mark_name(name, len))
		return -EINVAL;
	if (k->list == NULL || k->arming.mode == ARMING_DORMANT)
		return -ENODATA;
	if (k->marks == NULL)
		k->marks = calloc(1, sizeof *k->marks);
	if (k->marks == NULL)
		return -ENOMEM;
	effect->moved = remove_named(k->marks, name, len);
	make_room(k->marks, by_target, effect->dropped);
	m = &k->marks->at[k->marks->n++];
	*m = (struct wire_named_mark){ .by_target = by_target };
	memcpy(m->name, name, len);
	base_copy_text(m->who, sizeof m->who, who);
	fill_mark(k, m);
	takeover_marks_changed(k);
	SLIST_FOREACH(tap, &k->queue.taps, link)
		tap->ops->mark(tap, k, m);
	return 0;
}

void
keeper_mark_by_target(struct keeper *k, const struct rec *rec)
{
	char text[9] = "", name[WIRE_MARK_NAME + 1];
	struct mark_effect effect;
	size_t len;

	memcpy(text, &rec->w[2], 8);
	len = strlen(text);
	while (len > 0 && text[len - 1] == ' ')
		len--;
	len = base_safe_text(name, sizeof name, text, len, false);
	/* A mark without a name is counted, and no more. */
	(void)keeper_set_mark(k, name, len, k->image.comm, true, &effect);
}

void
keeper_forget_marks(struct keeper *k)
{
	free(k->marks);
	k->marks = NULL;
	takeover_marks_changed(k);
}

bool
mark_set_is_valid(const struct mark_set *set)
{
	for (uint32_t i = 0; i < set->n && set->n <= WIRE_MARKS_MAX; i++)
		if (!wire_is_mark_name(set->at[i].name, strnlen(set->at[i].name,
		    sizeof set->at[i].name)) ||
		    memchr(set->at[i].who, '\0', sizeof set->at[i].who) == NULL)
			return false;
	return set->n <= WIRE_MARKS_MAX;
}
