/*
 * Visits to targets.
 */
#include "keeper.h"
#include "kept_memory.h"
#include "node.h"

#define MUCH 16384		/* records of a visit: the next one at once */
#define SOME 512		/* the next one in a millisecond */
#define CALM_MS 16		/* interval from which on a bell watches */
#define FRESH_MS 10
#define TURN_MS 2
#define BEAT_MS 20		/* well below the 100 ms of RING_STALL_MS */

void
drain_beat(struct node *node)
{
	int64_t now = mono_ms(mono_now());
	struct keeper *k;

	if (now - node->drain.beat_ms < BEAT_MS)
		return;
	node->drain.beat_ms = now;
	TAILQ_FOREACH(k, &node->live, link)
		keeper_beat(k, now);
}

static void
next_visit(struct keeper *k, int found, int64_t now)
{
	if (k->source != NULL)
		k->interval_ms = DRAIN_CYCLE_MS;
	else if (found >= MUCH || keeper_is_behind(k))
		k->interval_ms = 0;
	else if (found >= SOME)
		k->interval_ms = 1;
	else
		k->interval_ms = 2 * k->interval_ms + 1;
	if (k->interval_ms > DRAIN_CYCLE_MS)
		k->interval_ms = DRAIN_CYCLE_MS;
	k->due_ms = now + k->interval_ms;
}

static void
watch_calm(struct keeper *k)
{
	if (k->feed == NULL || k->interval_ms < CALM_MS)
		return;
	/* Without a bell it is visited at 15 Hz all the same. */
	if (k->bell == NULL &&
	    bell_open(&k->bell, &k->node->bells, k->feed,
	    &k->node->drain.wake) < 0)
		return;
	bell_arm(k->bell);
}

static void
visit(struct keeper *k)
{
	int64_t now = mono_ms(mono_now());
	int found = keeper_visit(k, now);

	if (found > 0)
		k->silent_since_ms = now;
	next_visit(k, found, mono_ms(mono_now()));
	watch_calm(k);
}

static void on_timer(uv_timer_t *);

/* Whose bell has rung is due now. */
static void
hear_bells(struct node *node, int64_t now)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->bell != NULL && bell_rung(k->bell) && k->due_ms > now)
			k->due_ms = now;
}

/*
 * Of those that this turn has not visited yet the one that has been due for
 * longest.
 */
static struct keeper *
most_due(struct node *node, int64_t now)
{
	struct keeper *k, *most = NULL;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->due_ms <= now && k->turn != node->drain.turn &&
		    (most == NULL || k->due_ms < most->due_ms))
			most = k;
	return most;
}

static int64_t
next_due(struct node *node, int64_t now)
{
	int64_t next = now + DRAIN_CYCLE_MS;
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->due_ms < next)
			next = k->due_ms;
	return next;
}

static void
turn(struct node *node)
{
	int64_t begun = mono_ms(mono_now()), now = begun, next;
	struct keeper *k;

	hear_bells(node, now);
	node->drain.turn++;
	while (now - begun < TURN_MS && (k = most_due(node, begun)) != NULL) {
		k->turn = node->drain.turn;
		visit(k);
		drain_beat(node);
		now = mono_ms(mono_now());
	}
	next = next_due(node, now);
	if (next <= now) {
		/*
		 * By way of the poll: libuv before 1.45 runs a timer of 0 that
		 * is started in its own callback again at once, and pages would
		 * wait for as long as a target is busy.
		 */
		uv_timer_stop(&node->drain.timer);
		uv_async_send(&node->drain.wake);
		return;
	}
	uv_update_time(node->loop);
	uv_timer_start(
	    &node->drain.timer, on_timer, (uint64_t)(next - now), 0);
}

static void
on_timer(uv_timer_t *timer)
{
	turn(timer->data);
}

static void
on_wake(uv_async_t *wake)
{
	struct node *node = wake->data;

	/* New targets first: a fork is cut from its parent's recent past. */
	node->hooks->adopt(node);
	turn(node);
	node_check_done(node);
}

int
drain_init(struct node *node)
{
	int r;

	node->drain.timer.data = node->drain.wake.data = node;
	r = uv_timer_init(node->loop, &node->drain.timer);
	if (r < 0)
		return r;
	r = uv_async_init(node->loop, &node->drain.wake, on_wake);
	if (r < 0)
		uv_close((uv_handle_t *)&node->drain.timer, NULL);
	return r;
}

void
drain_close(struct node *node)
{
	uv_close((uv_handle_t *)&node->drain.timer, NULL);
	uv_close((uv_handle_t *)&node->drain.wake, NULL);
}

void
drain_join(struct keeper *k)
{
	int64_t now = mono_ms(mono_now());

	k->born_ms = k->silent_since_ms = now;
	k->due_ms = now;
	k->interval_ms = 0;
	uv_timer_start(&k->node->drain.timer, on_timer, 0, 0);
}

void
drain_freshen(struct keeper *k)
{
	int64_t now = mono_ms(mono_now());

	k->read_ms = now;
	if (k->feed != NULL && now - (k->due_ms - k->interval_ms) >= FRESH_MS)
		visit(k);
	keeper_kept_show(k);
}
