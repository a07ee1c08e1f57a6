/*
 * The thread beside, and what it still has to do.  A file of its own, so that a
 * program that begins none has nothing of it.
 */
#include <errno.h>
#include <pthread.h>

#include "../base/base.h"
#include "blklist.h"
#include "ready.h"

#define PIECES 16		/* asked for and not there, at the most */

struct piece {
	char *at;		/* NULL: none */
	size_t bytes;
	bool kept;
};

enum thread_state {
	THREAD_NONE,
	THREAD_RUNS,
	THREAD_REFUSED,
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t asked, done;
	enum thread_state thread;
	struct piece wanted[PIECES];	/* the oldest first */
	unsigned n;
	struct piece busy;		/* what the thread is at */
} ready = {
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.asked = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
};

static void *
serve(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&ready.lock);
	for (;;) {
		while (ready.n == 0)
			pthread_cond_wait(&ready.asked, &ready.lock);
		ready.busy = ready.wanted[0];
		ready.n--;
		for (unsigned i = 0; i < ready.n; i++)
			ready.wanted[i] = ready.wanted[i + 1];
		pthread_mutex_unlock(&ready.lock);
		ready_now(ready.busy.at, ready.busy.bytes, ready.busy.kept);
		pthread_mutex_lock(&ready.lock);
		ready.busy = (struct piece){ 0 };
		pthread_cond_broadcast(&ready.done);
	}
	return NULL;
}

/* A child has no thread but the one that forked. */
static void
in_child(void)
{
	pthread_mutex_init(&ready.lock, NULL);
	pthread_cond_init(&ready.asked, NULL);
	pthread_cond_init(&ready.done, NULL);
	ready.thread = THREAD_NONE;
	ready.n = 0;
	ready.busy = (struct piece){ 0 };
}

static void
watch_forks(void)
{
	(void)pthread_atfork(NULL, NULL, in_child);
}

static bool
start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
	return base_thread_start(serve, NULL) == 0;
}

static bool
ask(void *piece, size_t bytes, bool kept)
{
	bool taken;

	pthread_mutex_lock(&ready.lock);
	if (ready.thread == THREAD_NONE)
		ready.thread = start() ? THREAD_RUNS : THREAD_REFUSED;
	taken = ready.thread == THREAD_RUNS && ready.n < PIECES;
	if (taken) {
		ready.wanted[ready.n++] = (struct piece){ piece, bytes, kept };
		pthread_cond_signal(&ready.asked);
	}
	pthread_mutex_unlock(&ready.lock);
	return taken;
}

static bool
lies_in(const struct piece *piece, const char *p, size_t bytes)
{
	return piece->at != NULL && piece->at < p + bytes &&
	    p < piece->at + piece->bytes;
}

static void
forget(void *p, size_t bytes)
{
	unsigned n = 0;

	pthread_mutex_lock(&ready.lock);
	for (unsigned i = 0; i < ready.n; i++)
		if (!lies_in(&ready.wanted[i], p, bytes))
			ready.wanted[n++] = ready.wanted[i];
	ready.n = n;
	while (lies_in(&ready.busy, p, bytes))
		pthread_cond_wait(&ready.done, &ready.lock);
	pthread_mutex_unlock(&ready.lock);
}

void
ready_settle(void)
{
	pthread_mutex_lock(&ready.lock);
	while (ready.n > 0 || ready.busy.at != NULL)
		pthread_cond_wait(&ready.done, &ready.lock);
	pthread_mutex_unlock(&ready.lock);
}

void
blklist_begin_beside(void)
{
	static const struct ready_ops ops = { .ask = ask, .forget = forget };

	ready_ops = &ops;
}
