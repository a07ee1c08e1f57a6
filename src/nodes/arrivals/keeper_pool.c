#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../base/zeros.h"
#include "../keeper/kept_memory.h"
#include "../keeper/node.h"
#include "arrivals.h"
#include "keeper_pool.h"

#define LEAVE 16		/* descriptors, for viewers, names and files */

/* --- one ------------------------------------------------------------------ */

void
pooled_keeper_close_fds(const struct pooled_keeper *s)
{
	for (size_t i = 0; i < BASE_NELEM(s->fds); i++)
		if (s->fds[i] >= 0)
			close(s->fds[i]);
}

void
pooled_keeper_drop(const struct pooled_keeper *s)
{
	pooled_keeper_close_fds(s);
	keeper_unref(s->keeper);
}

static int
make(struct node *node, struct pooled_keeper *out)
{
	const struct keeper_opts o = { .with_feed = true,
		.max = node->opts.max };
	struct pooled_keeper s = { .fds = { -1, -1, -1 } };
	int r;

	r = keeper_new(&s.keeper, node, &o, s.fds);
	if (r < 0)
		return r;
	*out = s;
	return 0;
}

static void
number(struct pooled_keeper *s, struct node *node)
{
	s->keeper->stream = atomic_fetch_add(&node->last_stream, 1) + 1;
	kept_node_number(node, s->keeper->stream);
}

/*
 * Whoever keeps descriptors may have had no room when it was made, and has some
 * by now: then another one is as good, and kept.
 */
static bool
is_unkept(const struct node *node, const struct pooled_keeper *s)
{
	const struct keeper_kept *kept = s->keeper->memory.target;

	return keeper_kept_wanted(node) && (kept == NULL || !kept->stored);
}

/* Where descriptors are few, targets that are there come before those to come. */
static bool
leaves_room(const struct node *node)
{
	int lowest = fcntl(node->hello->stop_fd, F_DUPFD_CLOEXEC, 0);
	struct rlimit limit;

	if (lowest < 0)
		return false;
	close(lowest);
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	       (rlim_t)lowest + BASE_NELEM(((struct pooled_keeper *)0)->fds) +
		       LEAVE <
		   limit.rlim_cur;
}

/* --- all of them ---------------------------------------------------------- */

static void
put(struct keeper_pool *all, size_t at, const struct pooled_keeper *s)
{
	memmove(all->spare + at + 1, all->spare + at,
	    (all->n - at) * sizeof *s);
	all->spare[at] = *s;
	all->n++;
}

static bool
take_first(struct keeper_pool *all, struct pooled_keeper *out)
{
	if (all->n == 0)
		return false;
	*out = all->spare[0];
	all->n--;
	memmove(all->spare, all->spare + 1, all->n * sizeof *out);
	return true;
}

/* With the lock held, but not while it is stored, or dropped. */
static void
finish(struct keeper_pool *all, struct pooled_keeper *s)
{
	bool room;

	number(s, all->node);
	all->making = s->keeper->stream;
	pthread_mutex_unlock(&all->lock);
	/* Without that it is watched all the same, by us alone. */
	keeper_kept_store(s->keeper, s->fds);
	pthread_mutex_lock(&all->lock);
	all->making = 0;
	room = all->n < KEEPER_POOL_SIZE;
	if (room) {
		put(all, all->n, s);
		return;
	}
	pthread_mutex_unlock(&all->lock);
	pooled_keeper_drop(s);
	pthread_mutex_lock(&all->lock);
}

static void *
keeper_pool_main(void *arg)
{
	struct keeper_pool *all = arg;
	struct sched_param normal = { 0 };
	struct pooled_keeper s;
	bool made = true;

	/* Woken, it takes nobody's processor. */
	(void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &normal);
	pthread_mutex_lock(&all->lock);
	while (!all->stop) {
		/* What could not be made now is tried when one more is wanted. */
		if (all->n >= KEEPER_POOL_SIZE || !made) {
			pthread_cond_wait(&all->look, &all->lock);
			made = true;
			continue;
		}
		pthread_mutex_unlock(&all->lock);
		made = leaves_room(all->node) && make(all->node, &s) == 0;
		pthread_mutex_lock(&all->lock);
		if (made)
			finish(all, &s);
	}
	pthread_mutex_unlock(&all->lock);
	return NULL;
}

void
keeper_pool_start(struct keeper_pool *all, struct node *node)
{
	*all = (struct keeper_pool){ .node = node };
	zeros_keep();
	pthread_mutex_init(&all->lock, NULL);
	pthread_cond_init(&all->look, NULL);
	all->running =
	    pthread_create(&all->thread, NULL, keeper_pool_main, all) == 0;
}

void
keeper_pool_stop(struct keeper_pool *all)
{
	struct pooled_keeper s;

	pthread_mutex_lock(&all->lock);
	all->stop = true;
	pthread_cond_signal(&all->look);
	pthread_mutex_unlock(&all->lock);
	if (all->running)
		pthread_join(all->thread, NULL);
	while (take_first(all, &s))
		pooled_keeper_drop(&s);
	pthread_cond_destroy(&all->look);
	pthread_mutex_destroy(&all->lock);
}

static int
make_now(struct node *node, struct pooled_keeper *out)
{
	int r = make(node, out);

	if (r < 0)
		return r;
	number(out, node);
	keeper_kept_store(out->keeper, out->fds);
	return 0;
}

int
keeper_pool_get(struct keeper_pool *all, struct pooled_keeper *out)
{
	struct pooled_keeper s;
	bool found;

	for (;;) {
		pthread_mutex_lock(&all->lock);
		found = take_first(all, &s);
		pthread_mutex_unlock(&all->lock);
		if (!found)
			return make_now(all->node, out);
		if (!is_unkept(all->node, &s)) {
			*out = s;
			return 0;
		}
		pooled_keeper_drop(&s);
	}
}

void
keeper_pool_put_back(struct keeper_pool *all, const struct pooled_keeper *s)
{
	bool room;

	pthread_mutex_lock(&all->lock);
	room = all->n <= KEEPER_POOL_SIZE;
	if (room)
		put(all, 0, s);
	pthread_mutex_unlock(&all->lock);
	if (!room)
		pooled_keeper_drop(s);
}

bool
keeper_pool_has(struct keeper_pool *all, uint64_t stream)
{
	bool have;

	pthread_mutex_lock(&all->lock);
	have = stream == all->making && stream != 0;
	for (size_t i = 0; i < all->n; i++)
		have |= all->spare[i].keeper->stream == stream;
	pthread_mutex_unlock(&all->lock);
	return have;
}

void
keeper_pool_refill(struct keeper_pool *all)
{
	pthread_mutex_lock(&all->lock);
	pthread_cond_signal(&all->look);
	pthread_mutex_unlock(&all->lock);
}
