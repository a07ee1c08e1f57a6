/*
 * Which of several nodes a page is brought to: that of its target.
 *
 * Each is asked for what it has, as a page would ask.  One that is stopped
 * must not keep the page from the others for long.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../link/link.h"
#include "bridge.h"

#define PATIENCE_MS 1000

struct enquiry {
	uv_loop_t loop;
	uv_timer_t timer;
	const char *target;
	pid_t pid;		/* 0: by the stream's name */
	bool done;
	unsigned has;		/* 2: it lives there; 1: it did */
};

static void
on_targets(void *arg, int err, const struct nodes_target *t, size_t n)
{
	struct enquiry *q = arg;
	unsigned has;

	q->done = true;
	for (size_t i = 0; err == 0 && i < n; i++) {
		if (q->pid != 0 ? t[i].pid != q->pid :
		    strcmp(t[i].name, q->target) != 0)
			continue;
		has = t[i].ended ? 1 : 2;
		if (has > q->has)
			q->has = has;
	}
}

static void
on_timer(uv_timer_t *timer)
{
	struct enquiry *q = timer->data;

	q->done = true;
}

static unsigned
ask(struct enquiry *q, const char *path)
{
	struct nodes_link *link;

	q->done = false;
	q->has = 0;
	if (nodes_connect(&link, &q->loop, path) < 0)
		return 0;
	uv_update_time(&q->loop);
	uv_timer_start(&q->timer, on_timer, PATIENCE_MS, 0);
	if (nodes_targets(link, on_targets, q) == 0)
		while (!q->done)
			uv_run(&q->loop, UV_RUN_ONCE);
	uv_timer_stop(&q->timer);
	nodes_link_close(link);
	/* No callback comes any more; its handles are closed. */
	uv_run(&q->loop, UV_RUN_DEFAULT);
	return q->has;
}

size_t
bridge_choose(char *const *paths, size_t n, size_t usual, const char *target)
{
	struct enquiry q = { .target = target };
	size_t best = usual, i;
	unsigned has, most;

	if (n < 2 || uv_loop_init(&q.loop) < 0)
		return usual;
	uv_timer_init(&q.loop, &q.timer);
	q.timer.data = &q;
	nodes_parse_target(target, &q.pid);
	most = ask(&q, paths[usual]);
	for (i = 0; i < n && most < 2; i++) {
		has = i == usual ? 0 : ask(&q, paths[i]);
		if (has > most) {
			most = has;
			best = i;
		}
	}
	uv_close((uv_handle_t *)&q.timer, NULL);
	uv_run(&q.loop, UV_RUN_DEFAULT);
	uv_loop_close(&q.loop);
	return best;
}
