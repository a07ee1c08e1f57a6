/*
 * Who has come in and waits for the loop to adopt him.
 */
#include <sys/resource.h>

#include "../keeper/node.h"
#include "arrivals.h"

/* Each of them has a descriptor until it is adopted, and others need theirs. */
static size_t
room_for_missed(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_NOFILE, &r) == 0 &&
	    r.rlim_cur / 4 < HELLO_MISSED_MAX ? r.rlim_cur / 4 :
	    HELLO_MISSED_MAX;
}

void
hello_queue_init(struct hello *h)
{
	pthread_mutex_init(&h->lock, NULL);
	TAILQ_INIT(&h->arrived);
	h->missed_max = room_for_missed();
}

static void
count(struct hello *h, const struct keeper *k)
{
	h->waiting++;
	h->behind += !k->missed;
}

void
hello_put(struct hello *h, struct keeper *k)
{
	TAILQ_INSERT_TAIL(&h->arrived, k, link);
	count(h, k);
}

/* With the lock held. */
static unsigned
behind_of(const struct hello *h, uid_t uid)
{
	const struct keeper *k;
	unsigned n = 0;

	TAILQ_FOREACH(k, &h->arrived, link)
		n += !k->missed && k->uid == uid;
	return n;
}

bool
hello_is_full(struct hello *h, uid_t uid)
{
	bool full;

	pthread_mutex_lock(&h->lock);
	full = h->behind >= NODE_TARGETS_MAX ||
	    (h->node->access.system && uid != 0 &&
	    h->behind >= NODE_USER_TARGETS &&
	    behind_of(h, uid) >= NODE_USER_TARGETS);
	pthread_mutex_unlock(&h->lock);
	return full;
}

bool
hello_has_room(struct hello *h)
{
	bool room;

	pthread_mutex_lock(&h->lock);
	room = h->waiting - h->behind < h->missed_max;
	pthread_mutex_unlock(&h->lock);
	return room;
}

void
hello_put_missed(struct hello *h, struct keeper *k)
{
	pthread_mutex_lock(&h->lock);
	if (k != NULL)
		hello_put(h, k);
	else
		h->untold++;
	pthread_mutex_unlock(&h->lock);
}

uint64_t
hello_take_untold(struct hello *h)
{
	uint64_t n;

	if (h->node == NULL)
		return 0;
	pthread_mutex_lock(&h->lock);
	n = h->untold;
	h->untold = 0;
	pthread_mutex_unlock(&h->lock);
	return n;
}

void
hello_put_back(struct hello *h, struct keeper *k)
{
	struct keeper *other;

	TAILQ_FOREACH(other, &h->arrived, link)
		if (other->arrival > k->arrival)
			break;
	if (other != NULL)
		TAILQ_INSERT_BEFORE(other, k, link);
	else
		TAILQ_INSERT_TAIL(&h->arrived, k, link);
	count(h, k);
}

size_t
hello_waiting(struct hello *h)
{
	size_t n;

	if (h->node == NULL)
		return 0;
	pthread_mutex_lock(&h->lock);
	n = h->waiting;
	pthread_mutex_unlock(&h->lock);
	return n;
}

/* With the lock held. */
static void
take(struct hello *h, struct keeper *k)
{
	TAILQ_REMOVE(&h->arrived, k, link);
	h->waiting--;
	h->behind -= !k->missed;
}

struct keeper *
hello_take(struct hello *h)
{
	struct keeper *k;

	if (h->node == NULL)
		return NULL;
	pthread_mutex_lock(&h->lock);
	k = TAILQ_FIRST(&h->arrived);
	if (k != NULL)
		take(h, k);
	pthread_mutex_unlock(&h->lock);
	return k;
}

struct keeper *
hello_take_image(struct hello *h, pid_t pid)
{
	struct keeper *k;

	if (h->node == NULL)
		return NULL;
	pthread_mutex_lock(&h->lock);
	TAILQ_FOREACH(k, &h->arrived, link)
		if (k->pid == pid)
			break;
	/* A forked child's parent may stand before it. */
	if (k != NULL && k->forked)
		k = NULL;
	if (k != NULL)
		take(h, k);
	pthread_mutex_unlock(&h->lock);
	return k;
}
