/* See sandbox.h. */
#include "keeper.h"
#include "proc.h"
#include "sandbox.h"

void
sandbox_begin(struct keeper *k)
{
	struct sandbox *s = &k->sandbox;

	s->known = proc_seccomp(k->pid, k->pid, &s->at_hello) == 0;
	if (s->known)
		stream_feed_sandbox(k->feed, RING_SANDBOX_FREE, 0);
}

/* A thread that has ended meanwhile has locked nobody in. */
static bool
has_changed(const struct keeper *k, pid_t tid)
{
	uint64_t now;

	return proc_seccomp(k->pid, tid, &now) == 0 &&
	    now != k->sandbox.at_hello;
}

void
sandbox_look(struct keeper *k)
{
	struct sandbox *s = &k->sandbox;
	pid_t tid[SANDBOX_THREADS];
	uint64_t as_of;
	size_t n;

	if (k->feed == NULL || k->pid == 0 || !s->known || s->locked)
		return;
	as_of = stream_feed_shown_ms(k->feed);
	n = proc_threads(k->pid, &s->next, tid, SANDBOX_THREADS);
	for (size_t i = 0; i < n && !s->locked; i++)
		s->locked = has_changed(k, tid[i]);
	/* The first one, or all of them at once, is what most programs mean. */
	s->locked |= has_changed(k, k->pid);
	stream_feed_sandbox(k->feed, s->locked ? RING_SANDBOX_LOCKED :
	    RING_SANDBOX_FREE, as_of);
}
