/*
 * By how much each thread's records have raised what is held.
 *
 * What several threads held at once is not known where their events have no
 * order; it was no more than what was held before them and each one's own
 * highest together.
 */
#include <errno.h>
#include <stdlib.h>

#include "list.h"

int
blklist_follow_rises(struct blklist *l)
{
	if (l->rises == NULL)
		l->rises = calloc(1, sizeof *l->rises);
	if (l->rises == NULL)
		return -ENOMEM;
	l->rises->round = 1;
	l->aside = true;
	return 0;
}

uint64_t
blklist_rises(const struct blklist *l)
{
	return l->rises != NULL ? l->rises->all : 0;
}

void
blklist_rises_begin(struct blklist *l)
{
	if (l->rises == NULL)
		return;
	l->rises->all = 0;
	l->rises->round++;
}

/* A target that lies may make a sum wrap. */
void
list_rises_change(struct list_rises *rises, unsigned thread, int64_t bytes)
{
	int64_t sum;

	if (rises->of[thread].round != rises->round) {
		rises->of[thread].round = rises->round;
		rises->of[thread].sum = rises->of[thread].highest = 0;
	}
	sum = (int64_t)((uint64_t)rises->of[thread].sum + (uint64_t)bytes);
	rises->of[thread].sum = sum;
	if (sum <= rises->of[thread].highest)
		return;
	rises->all += (uint64_t)(sum - rises->of[thread].highest);
	rises->of[thread].highest = sum;
}
