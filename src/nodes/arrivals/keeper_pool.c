#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../keeper/node.h"
#include "../keeper/takeover_memory.h"
#include "arrivals.h"
#include "keeper_pool.h"

#define SPARED_FDS 16		/* descriptors left for viewers, names and files */

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
make_keeper(struct node *node, bool again, struct pooled_keeper *out)
{
	const struct keeper_opts o = { .with_feed = true, .again = again,
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
assign_stream(struct pooled_keeper *s, struct node *node)
{
	s->keeper->stream = atomic_fetch_add(&node->last_stream, 1) + 1;
	takeover_node_number(node, s->keeper->stream);
}

/* The store had no room for it, and may have some by now for another one. */
static bool
is_not_stored(const struct node *node, const struct pooled_keeper *s)
{
	const struct takeover_memory *mem = s->keeper->takeover.memory;

	return takeover_is_wanted(node) && (mem == NULL || !mem->stored);
}

/* If descriptors are few, live targets have precedence over future ones. */
static bool
has_spare_fds(const struct node *node)
{
	int lowest = fcntl(node->hello->stop_fd, F_DUPFD_CLOEXEC, 0);
	struct rlimit limit;

	if (lowest < 0)
		return false;
	close(lowest);
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
	       (rlim_t)lowest + BASE_NELEM(((struct pooled_keeper *)0)->fds) +
		       SPARED_FDS <
		   limit.rlim_cur;
}

static void
insert_at(struct keeper_pool *all, size_t at, const struct pooled_keeper *s)
{
	memmove(all->ready + at + 1, all->ready + at,
	    (all->n - at) * sizeof *s);
	all->ready[at] = *s;
	all->n++;
}

/* again: the areas may be those of an ended target. */
static bool
take_first(struct keeper_pool *all, bool again, struct pooled_keeper *out)
{
	size_t i;

	for (i = 0; i < all->n; i++)
		if (again || !takeover_is_again(all->ready[i].keeper))
			break;
	if (i == all->n)
		return false;
	*out = all->ready[i];
	all->n--;
	memmove(all->ready + i, all->ready + i + 1,
	    (all->n - i) * sizeof *out);
	return true;
}

/* Keepers from idle memory cost little, so the pool may hold more of them. */
static bool
wants_more(const struct keeper_pool *all)
{
	return all->n < KEEPER_POOL_SIZE ||
	    (all->n < KEEPER_POOL_MOST && takeover_has_idle(all->node));
}

/* Stores it and puts it into the pool.  The lock is held, but not meanwhile. */
static void
add_keeper(struct keeper_pool *all, struct pooled_keeper *s)
{
	bool room;

	assign_stream(s, all->node);
	all->making = s->keeper->stream;
	pthread_mutex_unlock(&all->lock);
	takeover_store(s->keeper, s->fds);
	pthread_mutex_lock(&all->lock);
	all->making = 0;
	room = all->n < KEEPER_POOL_MOST;
	if (room) {
		insert_at(all, all->n, s);
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

	/* A batch thread preempts no other one when it wakes. */
	(void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &normal);
	pthread_mutex_lock(&all->lock);
	while (!all->stop) {
		if (!made || !wants_more(all)) {
			pthread_cond_wait(&all->changed, &all->lock);
			made = true;
			continue;
		}
		pthread_mutex_unlock(&all->lock);
		made = has_spare_fds(all->node) &&
		    make_keeper(all->node, true, &s) == 0;
		pthread_mutex_lock(&all->lock);
		if (made)
			add_keeper(all, &s);
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
	pthread_cond_init(&all->changed, NULL);
	all->running =
	    pthread_create(&all->thread, NULL, keeper_pool_main, all) == 0;
}

void
keeper_pool_stop(struct keeper_pool *all)
{
	struct pooled_keeper s;

	pthread_mutex_lock(&all->lock);
	all->stop = true;
	pthread_cond_signal(&all->changed);
	pthread_mutex_unlock(&all->lock);
	if (all->running)
		pthread_join(all->thread, NULL);
	while (take_first(all, true, &s))
		pooled_keeper_drop(&s);
	pthread_cond_destroy(&all->changed);
	pthread_mutex_destroy(&all->lock);
}

static int
make_now(struct node *node, bool again, struct pooled_keeper *out)
{
	int r = make_keeper(node, again, out);

	if (r < 0)
		return r;
	assign_stream(out, node);
	takeover_store(out->keeper, out->fds);
	return 0;
}

int
keeper_pool_get(struct keeper_pool *all, uid_t uid, struct pooled_keeper *out)
{
	bool again = uid == all->node->access.owner, found;
	struct pooled_keeper s;

	for (;;) {
		pthread_mutex_lock(&all->lock);
		found = take_first(all, again, &s);
		pthread_mutex_unlock(&all->lock);
		if (!found)
			return make_now(all->node, again, out);
		if (!is_not_stored(all->node, &s)) {
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
	room = all->n <= KEEPER_POOL_MOST;
	if (room)
		insert_at(all, 0, s);
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
		have |= all->ready[i].keeper->stream == stream;
	pthread_mutex_unlock(&all->lock);
	return have;
}

void
keeper_pool_refill(struct keeper_pool *all)
{
	pthread_mutex_lock(&all->lock);
	if (all->n < KEEPER_POOL_SIZE)
		pthread_cond_signal(&all->changed);
	pthread_mutex_unlock(&all->lock);
}
