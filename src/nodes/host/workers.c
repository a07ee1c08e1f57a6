/*
 * libuv makes its threads with the first work, and calls abort() if one cannot
 * be made (RLIMIT_NPROC, address space): so they are counted before.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define WORKERS 4
#define POOL_SIZE "UV_THREADPOOL_SIZE"	/* libuv's name for it */

static bool pool_made;

static void *
wait_for_all(void *gate)
{
	/* Held until all have been made, so that they exist together. */
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

/* Number of threads that can exist together, up to WORKERS. */
static unsigned
count_possible(void)
{
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	pthread_t thread[WORKERS];
	sigset_t all, old;
	unsigned n = 0;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	pthread_mutex_lock(&gate);
	while (n < WORKERS &&
	    pthread_create(&thread[n], NULL, wait_for_all, &gate) == 0)
		n++;
	pthread_mutex_unlock(&gate);
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return n;
}

static void
do_nothing(uv_work_t *work)
{
	(void)work;
}

static void
free_work(uv_work_t *work, int status)
{
	(void)status;
	free(work);
}

static int
queue_nothing(uv_loop_t *loop)
{
	uv_work_t *work = malloc(sizeof *work);
	int r;

	if (work == NULL)
		return -ENOMEM;
	r = uv_queue_work(loop, work, do_nothing, free_work);
	if (r < 0)
		free(work);
	return r;
}

/* The variable is not left for our children. */
static int
make_pool(uv_loop_t *loop, unsigned n)
{
	const char *set = getenv(POOL_SIZE);
	char *old = set != NULL ? strdup(set) : NULL, size[16];
	int r;

	if (set != NULL && old == NULL)
		return -ENOMEM;
	snprintf(size, sizeof size, "%u", n);
	r = setenv(POOL_SIZE, size, 1) < 0 ? -errno : queue_nothing(loop);
	if (old != NULL)
		setenv(POOL_SIZE, old, 1);
	else
		unsetenv(POOL_SIZE);
	free(old);
	return r;
}

int
nodes_workers(uv_loop_t *loop)
{
	unsigned n;
	int r;

	if (pool_made)
		return 0;
	n = count_possible();
	/* Leave the others to the rest of the program. */
	if (n > 0 && n < WORKERS)
		n = 1;
	r = n > 0 ? make_pool(loop, n) : -EAGAIN;
	pool_made = r == 0;
	return r;
}

int
nodes_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb do_work,
    uv_after_work_cb after)
{
	int r = nodes_workers(loop);

	return r < 0 ? r : uv_queue_work(loop, work, do_work, after);
}
