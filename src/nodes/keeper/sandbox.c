/*
 * Known limit: of more than SANDBOX_THREADS threads, one that has locked itself
 * in alone is found by a later look.
 */
#include <errno.h>

#include "../host/proc.h"
#include "keeper.h"
#include "takeover_memory.h"

void
sandbox_begin(struct keeper *k, bool free)
{
	struct sandbox *s = &k->sandbox;

	*s = (struct sandbox){ 0 };
	s->known = (free && k->image.start != 0) ||
	    proc_seccomp(k->image.pid, k->image.pid, &s->at_hello) == 0;
	/* Even if unknown: the feed may have been prepared for another target. */
	stream_feed_sandbox(k->feed, s->known ? RING_SANDBOX_FREE :
	    RING_SANDBOX_UNKNOWN, 0);
}

static void
look_at(struct keeper *k, pid_t tid)
{
	struct sandbox *s = &k->sandbox;
	uint64_t now;
	int r = proc_seccomp(k->image.pid, tid, &now);

	if (r == 0)
		s->locked |= now != s->at_hello;
	else if (r != -ENOENT && r != -ESRCH)
		s->blind = true;
}

/* Written first: the next process must not count a look twice. */
static void
tell_target(struct keeper *k)
{
	struct sandbox *s = &k->sandbox;

	takeover_write_sandbox(k);
	stream_feed_sandbox(k->feed, s->locked ? RING_SANDBOX_LOCKED :
	    RING_SANDBOX_FREE, s->looks);
}

void
sandbox_look(struct keeper *k)
{
	struct sandbox *s = &k->sandbox;
	pid_t tid[SANDBOX_THREADS];
	size_t n;

	if (k->feed == NULL || k->image.pid == 0 || !s->known || s->locked)
		return;
	if (s->next == 0)
		s->blind = false;
	n = proc_threads(k->image.pid, &s->next, tid, SANDBOX_THREADS);
	s->blind |= n == 0;
	for (size_t i = 0; i < n && !s->locked; i++)
		look_at(k, tid[i]);
	/* Most programs lock in the first thread, or all at once. */
	look_at(k, k->image.pid);
	if (s->next == 0 && !s->blind)
		s->looks++;
	if (s->locked || s->next == 0)
		tell_target(k);
}
