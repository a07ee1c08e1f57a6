#include <assert.h>
#include <string.h>

#include "../keeper/node.h"
#include "arrivals.h"

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

static size_t
find_target(const struct quota *q, pid_t pid)
{
	size_t i;

	for (i = 0; i < q->n && q->target[i].pid != pid; i++)
		continue;
	return i;
}

bool
quota_add(struct quota *q, pid_t pid, uid_t uid)
{
	bool room;
	size_t i;

	pthread_mutex_lock(&q->lock);
	i = find_target(q, pid);
	room = i < QUOTA_TARGETS;
	if (room && i == q->n) {
		q->target[i].pid = pid;
		q->target[i].images = 0;
		q->n++;
	}
	if (room) {
		q->target[i].uid = uid;
		q->target[i].images++;
	}
	pthread_mutex_unlock(&q->lock);
	return room;
}

void
quota_remove(struct quota *q, pid_t pid)
{
	size_t i;

	pthread_mutex_lock(&q->lock);
	i = find_target(q, pid);
	assert(i < q->n);
	if (--q->target[i].images == 0)
		q->target[i] = q->target[--q->n];
	pthread_mutex_unlock(&q->lock);
}

void
quota_beside(struct quota *q, pid_t pid, uid_t uid, unsigned *all,
    unsigned *own)
{
	*all = *own = 0;
	pthread_mutex_lock(&q->lock);
	for (size_t i = 0; i < q->n; i++) {
		if (q->target[i].pid == pid)
			continue;
		++*all;
		*own += q->target[i].uid == uid;
	}
	pthread_mutex_unlock(&q->lock);
}

void
quota_count(struct keeper *k)
{
	if (!k->counted)
		k->counted =
		    quota_add(k->node->quota, k->image.pid, k->image.uid);
}

void
quota_uncount(struct keeper *k)
{
	if (k->counted)
		quota_remove(k->node->quota, k->image.pid);
	k->counted = false;
}
