/*
 * The sleepers.
 */
#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <uv.h>

#include "../../base/base.h"
#include "../../stream/stream.h"
#include "bell.h"

/* How long a closed bell may go on sleeping in its feed. */
#define SLEEP_MS 250

struct bell {
	struct bells *all;
	struct stream_feed *feed;
	sem_t armed;
	atomic_bool is_armed, rung, closed;
	pthread_mutex_t lock;		/* of wake */
	uv_async_t *wake;		/* NULL after close */
};

void
bells_init(struct bells *all)
{
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->none, NULL);
	all->open = 0;
}

void
bells_fini(struct bells *all)
{
	pthread_mutex_lock(&all->lock);
	while (all->open > 0)
		pthread_cond_wait(&all->none, &all->lock);
	pthread_mutex_unlock(&all->lock);
	pthread_cond_destroy(&all->none);
	pthread_mutex_destroy(&all->lock);
}

static void
ring(struct bell *b)
{
	atomic_store(&b->is_armed, false);
	atomic_store(&b->rung, true);
	pthread_mutex_lock(&b->lock);
	if (b->wake != NULL)
		uv_async_send(b->wake);
	pthread_mutex_unlock(&b->lock);
}

static void *
sleeper(void *arg)
{
	struct bell *b = arg;
	struct bells *all = b->all;

	while (!atomic_load(&b->closed)) {
		if (!atomic_load(&b->is_armed))
			while (sem_wait(&b->armed) < 0 && errno == EINTR)
				continue;
		else if (stream_feed_wait_bell(b->feed, SLEEP_MS) == 0)
			ring(b);
	}
	stream_feed_free(b->feed);
	sem_destroy(&b->armed);
	pthread_mutex_destroy(&b->lock);
	free(b);
	pthread_mutex_lock(&all->lock);
	if (--all->open == 0)
		pthread_cond_signal(&all->none);
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

int
bell_open(struct bell **out, struct bells *all, struct stream_feed *feed,
    uv_async_t *wake)
{
	struct bell *b = calloc(1, sizeof *b);
	int r;

	if (b == NULL)
		return -ENOMEM;
	b->all = all;
	b->feed = feed;
	b->wake = wake;
	pthread_mutex_init(&b->lock, NULL);
	sem_init(&b->armed, 0, 0);
	pthread_mutex_lock(&all->lock);
	all->open++;
	pthread_mutex_unlock(&all->lock);
	r = base_thread_start(sleeper, b);
	if (r < 0) {
		pthread_mutex_lock(&all->lock);
		all->open--;
		pthread_mutex_unlock(&all->lock);
		sem_destroy(&b->armed);
		pthread_mutex_destroy(&b->lock);
		free(b);
		return r;
	}
	*out = b;
	return 0;
}

void
bell_arm(struct bell *b)
{
	if (!atomic_exchange(&b->is_armed, true))
		sem_post(&b->armed);
}

bool
bell_rung(struct bell *b)
{
	return atomic_exchange(&b->rung, false);
}

void
bell_close(struct bell *b, struct stream_feed *feed)
{
	if (b->feed != feed)
		stream_feed_free(feed);
	pthread_mutex_lock(&b->lock);
	b->wake = NULL;
	pthread_mutex_unlock(&b->lock);
	atomic_store(&b->closed, true);
	sem_post(&b->armed);
}
