/* See quota.h. */
#include <assert.h>
#include <string.h>

#include "quota.h"

void
quota_init(struct quota *q)
{
	memset(q, 0, sizeof *q);
	pthread_mutex_init(&q->lock, NULL);
}

void
quota_fini(struct quota *q)
{
	pthread_mutex_destroy(&q->lock);
}

/* The user's place, or where one with no target would go. */
static size_t
find(const struct quota *q, uid_t uid)
{
	size_t empty = q->n;

	for (size_t i = 0; i < q->n; i++) {
		if (q->user[i].targets == 0)
			empty = i;
		else if (q->user[i].uid == uid)
			return i;
	}
	return empty;
}

void
quota_add(struct quota *q, uid_t uid, int targets)
{
	size_t i;

	pthread_mutex_lock(&q->lock);
	i = find(q, uid);
	assert(i < QUOTA_USERS);
	if (i == q->n)
		q->n++;
	q->user[i].uid = uid;
	q->user[i].targets += (unsigned)targets;
	pthread_mutex_unlock(&q->lock);
}

unsigned
quota_used(struct quota *q, uid_t uid)
{
	unsigned n;
	size_t i;

	pthread_mutex_lock(&q->lock);
	i = find(q, uid);
	n = i < q->n ? q->user[i].targets : 0;
	pthread_mutex_unlock(&q->lock);
	return n;
}
