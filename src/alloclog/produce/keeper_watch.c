/*
 * The keeper's millisecond is not compared with our clock, which a namespace
 * may shift, but kept with the time at which it was first seen.
 */
#include "keeper_watch.h"
#include "rings.h"

#define BEHIND_MS 1000		/* threads read the clock no further apart than this */
/*
 * The first look may have begun before the call, the third is two seconds after
 * it: programs give up privileges some time before they install a filter.
 */
#define LOCK_LOOKS 3

void (*_Atomic keeper_watch_callback)(void);
void (*_Atomic keeper_watch_give)(uint32_t);
static _Atomic bool locked;
static _Atomic uint64_t looks_due;	/* before a child may say hello */

/* Low halves in one word, so that two threads do not mix theirs. */
static bool
is_keeper_gone(const struct joined *j, int64_t now)
{
	uint32_t beat = (uint32_t)atomic_load_explicit(&j->keeper->ms,
	    memory_order_relaxed);
	uint64_t seen = atomic_load_explicit(&j->sh->beat,
	    memory_order_relaxed);

	if (atomic_load_explicit(&j->keeper->state, memory_order_relaxed) ==
	    RING_KEEPER_GONE)
		return true;
	if (seen == 0 || seen >> 32 != beat) {
		atomic_store_explicit(&j->sh->beat,
		    (uint64_t)beat << 32 | (uint32_t)now,
		    memory_order_relaxed);
		return false;
	}
	/* Another thread may have read a later time. */
	return (uint32_t)now - (uint32_t)seen + BEHIND_MS >=
	    RING_GONE_MS + BEHIND_MS;
}

bool
keeper_watch_gone(void)
{
	struct joined j;
	int64_t now;

	return joined_get(&j) && libc_clock_ms(&now) && is_keeper_gone(&j, now);
}

void
keeper_watch_pause(int64_t ms)
{
	struct joined j;
	int64_t now;

	if (joined_get(&j) && libc_clock_ms(&now))
		atomic_store_explicit(&j.sh->rejoin_ms, now + ms,
		    memory_order_relaxed);
}

void
keeper_watch_sandbox(void)
{
	uint64_t due = 0;

	/* A child that has said no hello has no keeper that looks. */
	if (produce_attached())
		due = produce_keeper_looks() + LOCK_LOOKS;
	else if (produce_keeper_ms() != 0)
		due = UINT64_MAX;
	atomic_store(&looks_due, due);
	atomic_store(&locked, true);
	atomic_store(&libc_unlocks, false);
}

bool
keeper_watch_child_may_join(void)
{
	uint64_t looks = produce_keeper_looks();
	enum ring_sandbox seen = produce_sandbox();

	/* Without a keeper, even a parent's, it is the first hello. */
	if (!atomic_load(&locked) || produce_keeper_ms() == 0)
		return seen != RING_SANDBOX_LOCKED;
	/* A dead keeper does not look again. */
	if (seen != RING_SANDBOX_FREE || looks < atomic_load(&looks_due))
		return false;
	/* For this child's own children too, whose keeper is another. */
	atomic_store(&looks_due, 0);
	return true;
}

/* Acting takes system calls. */
static bool
free_to_act(const struct joined *j)
{
	return !atomic_load(&locked) &&
	    atomic_load_explicit(&j->keeper->sandbox, memory_order_relaxed) ==
	    RING_SANDBOX_FREE;
}

bool
keeper_watch_allows_calls(void)
{
	struct joined j;

	return joined_get(&j) && free_to_act(&j);
}

bool
keeper_watch_locked(void)
{
	enum ring_sandbox seen = produce_sandbox();

	if (!atomic_load(&locked))
		return seen == RING_SANDBOX_LOCKED;
	return seen != RING_SANDBOX_FREE ||
	    produce_keeper_looks() < atomic_load(&looks_due);
}

void
produce_check_keeper(const struct producer *p)
{
	void (*call)(void) = atomic_load_explicit(&keeper_watch_callback,
	    memory_order_relaxed);
	struct joined j;
	int64_t now, due;

	produce_tell_past();
	if (!joined_get(&j))
		return;
	if (cuts_due(&j) && free_to_act(&j))
		cuts_heed(&j);
	if (call == NULL || !libc_clock_ms(&now) || !is_keeper_gone(&j, now) ||
	    !free_to_act(&j))
		return;
	due = atomic_load_explicit(&j.sh->rejoin_ms, memory_order_relaxed);
	if (now < due || rings_inflight(p))
		return;
	if (atomic_compare_exchange_strong_explicit(&j.sh->rejoin_ms, &due,
		now + KEEPER_WATCH_PAUSE_MS, memory_order_acquire,
		memory_order_relaxed))
		call();
}
