/*
 * Who has come in and waits for the loop to adopt him.
 */
#include "hello.h"

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
