#include <errno.h>

#include "../host/proc.h"
#include "keeper.h"
#include "kept_memory.h"
#include "sandbox.h"

void
sandbox_begin(struct keeper *k, bool free)
{
	struct sandbox *s = &k->sandbox;

	*s = (struct sandbox){ 0 };
	s->known = (free && k->image.start != 0) ||
	    proc_seccomp(k->image.pid, k->image.pid, &s->at_hello) == 0;
	/* Always, for another may have been meant to have this feed. */
	stream_feed_sandbox(k->feed, s->known ? RING_SANDBOX_FREE :
	    RING_SANDBOX_UNKNOWN, 0);
}

static void
look_at(struct keeper *k, pid_t tid)
{
	struct sandbox *s = &k->sandbox;
	uint64_t now;
	int r = proc_seccomp(k->image.pid, tid, &now);

	/* A thread that has ended meanwhile has locked nobody in. */
	if (r == 0)
		s->locked |= now != s->at_hello;
	else if (r != -ENOENT && r != -ESRCH)
		s->blind = true;
}

/* Kept first: who comes after us must not count a look twice. */
static void
tell(struct keeper *k)
{
	struct sandbox *s = &k->sandbox;

	keeper_kept_sandbox(k);
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
	/* The first one, or all of them at once, is what most programs mean. */
	look_at(k, k->image.pid);
	if (s->next == 0 && !s->blind)
		s->looks++;
	if (s->locked || s->next == 0)
		tell(k);
}
