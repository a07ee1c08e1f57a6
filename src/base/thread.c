/*
 * Threads beside, of which a process may have many.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>

#include "base.h"

#define STACK_BYTES ((size_t)64 << 10)

static size_t
stack_bytes(void)
{
	size_t least = (size_t)PTHREAD_STACK_MIN;

	return STACK_BYTES > least ? STACK_BYTES : least;
}

int
base_thread_start(void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, stack_bytes());
	/* A thread begins with the signals of who starts it. */
	pthread_sigmask(SIG_BLOCK, &all, &old);
	r = pthread_create(&thread, &attr, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}
