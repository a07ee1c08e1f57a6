#include <errno.h>

#include "arming.h"
#include "node.h"
#include "takeover_memory.h"

static bool
is_dormant(const struct keeper *k)
{
	return k->arming.mode == ARMING_DORMANT;
}

static bool
is_armed_by_page(const struct keeper *k)
{
	return k->arming.mode == ARMING_WATCHED ||
	    k->arming.mode == ARMING_HELD;
}

/* The new list comes before the arming: it holds only what is logged from now on. */
static int
set_mode(struct keeper *k, enum arming_mode mode)
{
	bool dormant = mode == ARMING_DORMANT;
	int r = keeper_restart_list(k);

	if (r < 0)
		return r;
	if (!dormant)
		keeper_expect_unlisted(k);
	stream_feed_arm(k->feed, !dormant, mono_ms(mono_now()));
	k->arming = (struct arming){ .mode = mode,
		.wall_ms = dormant ? 0 : base_wall_ms() };
	k->life.state = dormant ? WIRE_S_DORMANT : WIRE_S_LIVE;
	if (!dormant)
		atomic_store(&k->node->life.awake, true);
	/* Index and epoch mean another list from here on. */
	dstrm_renew(&k->node->dstrm, k->index);
	takeover_commit(k, true);
	return 0;
}

/* Connections are closed in many places, so watchers are checked here. */
static void
drop_closed_watchers(struct keeper *k)
{
	struct arming *a = &k->arming;
	unsigned n = 0;

	for (unsigned i = 0; i < a->watchers; i++)
		if (k->node->hooks->is_connected(k->node, a->watcher[i]))
			a->watcher[n++] = a->watcher[i];
	a->watchers = n;
}

static void
add_watcher(struct keeper *k, uint64_t conn)
{
	struct arming *a = &k->arming;

	drop_closed_watchers(k);
	for (unsigned i = 0; i < a->watchers; i++)
		if (a->watcher[i] == conn)
			return;
	a->watcher[a->watchers++] = conn;
	a->alone_ms = 0;
}

int
arming_ask(struct keeper *k, uint64_t conn, enum wire_arming arming)
{
	int r = 0;

	if (k->feed == NULL || !keeper_is_live(k))
		return -ENOTSUP;
	if (arming == WIRE_ARM_OFF)
		return is_dormant(k) ? 0 : set_mode(k, ARMING_DORMANT);
	if (is_dormant(k))
		r = set_mode(k, ARMING_WATCHED);
	if (r < 0 || !is_armed_by_page(k))
		return r;
	if (arming == WIRE_ARM_HOLD)
		k->arming.mode = ARMING_HELD;
	else
		add_watcher(k, conn);
	return 0;
}

void
arming_owner_changed(struct node *node)
{
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link)
		if (k->feed != NULL)
			stream_feed_owner_changed(k->feed);
}

void
arming_second(struct node *node, int64_t now)
{
	bool awake = false;
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link) {
		struct arming *a = &k->arming;

		if (k->feed == NULL || is_dormant(k))
			continue;
		drop_closed_watchers(k);
		if (a->mode != ARMING_WATCHED || a->watchers > 0)
			a->alone_ms = 0;
		else if (a->alone_ms == 0)
			a->alone_ms = now;
		else if (now - a->alone_ms >= ARMING_GRACE_MS &&
		    set_mode(k, ARMING_DORMANT) == 0)
			continue;
		awake = true;
	}
	atomic_store(&node->life.awake, awake);
}

void
arming_welcome(struct keeper *k)
{
	bool dormant = k->node->opts.dormant &&
	    k->image.origin != IMAGE_REJOINED_ARMED &&
	    !atomic_load(&k->node->life.awake);

	if (dormant != is_dormant(k))
		stream_feed_arm(k->feed, !dormant, mono_ms(mono_now()));
	k->arming.mode = dormant ? ARMING_DORMANT : ARMING_ALWAYS;
	k->life.state = dormant ? WIRE_S_DORMANT : WIRE_S_LIVE;
}

static void
follow(struct keeper *k, const struct keeper *origin)
{
	int64_t armed_ms = k->arming.wall_ms;

	k->arming = origin->arming;
	if (armed_ms != 0)
		k->arming.wall_ms = armed_ms;
	else if (is_armed_by_page(k) && k->image.origin != IMAGE_FORKED)
		k->arming.wall_ms = base_wall_ms();
}

bool
arming_join(struct keeper *k, const struct keeper *origin)
{
	bool was_dormant = is_dormant(k), dormant;

	if (k->feed == NULL)
		return true;
	/* An image that never had a stream was neither armed nor dormant. */
	if (origin != NULL && k->node->opts.dormant &&
	    origin->arming.mode == ARMING_ALWAYS)
		origin = NULL;
	dormant = origin != NULL ? is_dormant(origin) : k->node->opts.dormant;
	if (dormant)
		/* Without memory for a new list it goes on with this one. */
		return !was_dormant && set_mode(k, ARMING_DORMANT) < 0;
	if (was_dormant && set_mode(k, ARMING_WATCHED) < 0)
		return false;
	if (origin != NULL)
		follow(k, origin);
	return !was_dormant;
}

void
arming_rejoin(struct keeper *k, const struct keeper *earlier)
{
	if (k->feed == NULL)
		return;
	if (earlier != NULL && earlier->feed == NULL)
		earlier = NULL;
	if (earlier != NULL && is_dormant(earlier) != is_dormant(k))
		(void)set_mode(k, is_dormant(earlier) ? ARMING_DORMANT :
		    ARMING_WATCHED);
	if (is_dormant(k))
		return;
	keeper_expect_unlisted(k);
	if (earlier != NULL && !is_dormant(earlier))
		k->arming = earlier->arming;
	else
		k->arming.mode = k->node->opts.dormant ? ARMING_WATCHED :
		    ARMING_ALWAYS;
	k->arming.wall_ms = base_wall_ms();
	if (is_armed_by_page(k))
		atomic_store(&k->node->life.awake, true);
}
