/*
 * Targets that sleep until somebody looks.
 */
#include <errno.h>

#include "arming.h"
#include "kept_memory.h"
#include "node.h"

/* --- to sleep, and to wake ---------------------------------------------- */

/* Index and epoch mean another list from here on. */
static void
renew_epoch(struct keeper *k)
{
	if (k->has_row)
		dstrm_renew(&k->node->dstrm, k->index);
}

static int
lull(struct keeper *k)
{
	int r = keeper_anew(k);

	if (r < 0)
		return r;
	stream_feed_arm(k->feed, false, mono_ms(mono_now()));
	k->arming = (struct arming){ .asleep = true };
	k->image.state = WIRE_S_DORMANT;
	renew_epoch(k);
	keeper_kept_commit(k, true);
	return 0;
}

/*
 * The list is new before the feed is armed: what the next pass brings is all
 * from after this moment.
 */
static int
wake(struct keeper *k)
{
	int r = keeper_anew(k);

	if (r < 0)
		return r;
	keeper_expect_unlisted(k);
	stream_feed_arm(k->feed, true, mono_ms(mono_now()));
	k->arming = (struct arming){ .wished = true,
		.wall_ms = base_wall_ms() };
	k->image.state = WIRE_S_LIVE;
	atomic_store(&k->node->awake, true);
	renew_epoch(k);
	keeper_kept_commit(k, true);
	return 0;
}

/* --- watchers ----------------------------------------------------------- */

/* Connections are closed in many places: who is gone is found out here. */
static void
prune(struct keeper *k)
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

	prune(k);
	for (unsigned i = 0; i < a->watchers; i++)
		if (a->watcher[i] == conn)
			return;
	a->watcher[a->watchers++] = conn;
	a->alone_ms = 0;
}

int
arming_ask(struct keeper *k, uint64_t conn, enum wire_arming arming)
{
	int r;

	if (k->feed == NULL || !keeper_is_live(k))
		return -ENOTSUP;
	if (arming == WIRE_ARM_OFF)
		return k->arming.asleep ? 0 : lull(k);
	r = k->arming.asleep ? wake(k) : 0;
	if (r < 0 || !k->arming.wished)
		return r;
	if (arming == WIRE_ARM_HOLD)
		k->arming.held = true;
	else
		add_watcher(k, conn);
	return 0;
}

void
arming_second(struct node *node, int64_t now)
{
	bool awake = false;
	struct keeper *k;

	TAILQ_FOREACH(k, &node->live, link) {
		struct arming *a = &k->arming;

		if (k->feed == NULL || a->asleep)
			continue;
		prune(k);
		if (!a->wished || a->held || a->watchers > 0)
			a->alone_ms = 0;
		else if (a->alone_ms == 0)
			a->alone_ms = now;
		else if (now - a->alone_ms >= ARMING_GRACE_MS && lull(k) == 0)
			continue;
		awake = true;
	}
	atomic_store(&node->awake, awake);
}

/* --- new images --------------------------------------------------------- */

void
arming_welcome(struct keeper *k)
{
	bool asleep = k->node->opts.dormant && !k->was_armed &&
	    !atomic_load(&k->node->awake);

	if (asleep != k->arming.asleep)
		stream_feed_arm(k->feed, !asleep, mono_ms(mono_now()));
	k->arming.asleep = asleep;
	k->image.state = asleep ? WIRE_S_DORMANT : WIRE_S_LIVE;
}

/* Awake as its kin is, on the same wish, and seen by the same watchers. */
static void
follow(struct keeper *k, const struct keeper *kin)
{
	int64_t since = k->arming.wall_ms;

	k->arming = kin->arming;
	if (since != 0 || (k->arming.wished && !k->image.forked))
		k->arming.wall_ms = since != 0 ? since : base_wall_ms();
}

bool
arming_join(struct keeper *k, const struct keeper *kin)
{
	bool asleep = kin != NULL ? kin->arming.asleep : k->node->opts.dormant;
	bool slept = k->arming.asleep;

	if (k->feed == NULL)
		return true;
	if (asleep) {
		/* Without memory for a new list it goes on with this one. */
		if (!slept && lull(k) < 0)
			return true;
		return false;
	}
	if (slept && wake(k) < 0)
		return false;
	if (kin != NULL)
		follow(k, kin);
	return !slept;
}

void
arming_again(struct keeper *k, const struct keeper *before)
{
	bool wished = k->node->opts.dormant;

	if (k->feed == NULL)
		return;
	if (before != NULL && before->feed == NULL)
		before = NULL;
	if (before != NULL && before->arming.asleep != k->arming.asleep) {
		if (before->arming.asleep)
			(void)lull(k);
		else
			(void)wake(k);
	}
	if (k->arming.asleep)
		return;
	keeper_expect_unlisted(k);
	if (before != NULL)
		k->arming = before->arming;
	else
		k->arming.wished = wished;
	k->arming.wall_ms = base_wall_ms();
	if (k->arming.wished)
		atomic_store(&k->node->awake, true);
}
