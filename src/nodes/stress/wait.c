/*
 * Viewers that wait: for a time, or until the kernel tells that tasks wait for
 * memory.  The trigger is polled while somebody waits, and not again before the
 * viewers that it has woken were told.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../base/base.h"
#include "../keeper/node.h"
#include "stress.h"

struct node_stress_trigger {
	uv_poll_t poll;
	int fd;
};

/* Microseconds; the second one is for a node without privileges. */
static const struct {
	uint64_t wait, window;
} triggers[] = { { 50000, 500000 }, { 200000, 2000000 } };

static void set_timer(struct node *);

static void
on_due(uv_timer_t *timer)
{
	struct node *node = timer->data;
	struct node_stress_wait *w, *next;
	int64_t now = mono_ms(mono_now());

	for (w = TAILQ_FIRST(&node->stress->waits); w != NULL; w = next) {
		next = TAILQ_NEXT(w, link);
		if (w->due_ms > now)
			continue;
		node_stress_end_wait(node, w);
		w->done(node, w);
	}
	set_timer(node);
}

static void
set_timer(struct node *node)
{
	struct node_stress *k = node->stress;
	int64_t now = mono_ms(mono_now()), due = INT64_MAX;
	struct node_stress_wait *w;

	TAILQ_FOREACH(w, &k->waits, link)
		if (w->due_ms < due)
			due = w->due_ms;
	uv_timer_stop(&k->timer);
	if (due == INT64_MAX)
		return;
	uv_update_time(node->loop);
	uv_timer_start(&k->timer, on_due, due > now ? (uint64_t)(due - now) : 0,
	    0);
}

void
node_stress_end_wait(struct node *node, struct node_stress_wait *w)
{
	if (w->waits)
		TAILQ_REMOVE(&node->stress->waits, w, link);
	w->waits = false;
}

static void
free_trigger(uv_handle_t *handle)
{
	struct node_stress_trigger *t = (struct node_stress_trigger *)handle;

	close(t->fd);
	free(t);
}

void
node_stress_close_trigger(struct node *node)
{
	struct node_stress *k = node->stress;

	if (k->trigger != NULL)
		uv_close((uv_handle_t *)&k->trigger->poll, free_trigger);
	k->trigger = NULL;
	k->no_trigger = false;
}

/* Those that wait are told at once, but no sooner than there is another sample. */
static void
on_pressure(uv_poll_t *poll, int status, int events)
{
	struct node *node = poll->data;
	struct node_stress *k = node->stress;
	int64_t due = k->last_ms + 1000 / NODE_STRESS_HZ;
	struct node_stress_wait *w;

	uv_poll_stop(poll);
	if (status < 0 || (events & UV_PRIORITIZED) == 0) {
		node_stress_close_trigger(node);
		k->no_trigger = true;
		return;
	}
	TAILQ_FOREACH(w, &k->waits, link) {
		if (due >= w->due_ms)
			continue;
		w->due_ms = due;
		w->woken = true;
	}
	set_timer(node);
}

int
node_stress_set_trigger(struct node *node, int fd)
{
	struct node_stress_trigger *t = malloc(sizeof *t);
	int r = t != NULL ? uv_poll_init(node->loop, &t->poll, fd) : -ENOMEM;

	if (r < 0) {
		close(fd);
		free(t);
		return r;
	}
	node_stress_close_trigger(node);
	t->fd = fd;
	t->poll.data = node;
	node->stress->trigger = t;
	return 0;
}

/* Copies of the kernel's files have none. */
static void
open_trigger(struct node *node)
{
	struct node_stress *k = node->stress;
	const char *why;
	int fd = -1;

	if (k->trigger != NULL || k->no_trigger)
		return;
	for (size_t i = 0; i < BASE_NELEM(triggers) && fd < 0 &&
	    node->opts.root == NULL; i++)
		fd = stress_watch_pressure("/", false, triggers[i].wait,
		    triggers[i].window, &why);
	k->no_trigger = fd < 0 || node_stress_set_trigger(node, fd) < 0;
}

void
node_stress_begin_wait(struct node *node, struct node_stress_wait *w, uint32_t ms)
{
	struct node_stress *k = node->stress;

	w->due_ms = mono_ms(mono_now()) + ms;
	w->waits = true;
	w->woken = false;
	TAILQ_INSERT_TAIL(&k->waits, w, link);
	open_trigger(node);
	if (k->trigger != NULL && uv_poll_start(&k->trigger->poll,
	    UV_PRIORITIZED, on_pressure) < 0) {
		node_stress_close_trigger(node);
		k->no_trigger = true;
	}
	set_timer(node);
}

void
node_stress_init(struct node *node)
{
	TAILQ_INIT(&node->stress->waits);
	uv_timer_init(node->loop, &node->stress->timer);
	node->stress->timer.data = node;
}

void
node_stress_close(struct node *node)
{
	node_stress_close_trigger(node);
	uv_close((uv_handle_t *)&node->stress->timer, NULL);
}
