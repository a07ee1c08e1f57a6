/*
 * realloc: a free before the real call and an allocation after it, for at the
 * call the old address may become anybody's.  When it fails, the free is undone
 * by a record of its own.  errno is as the real call left it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "logged.h"

/* --- slow paths --------------------------------------------------------- */

/* A block of the pool moves out: to the program a plain allocation. */
static COLD void *
realloc_pool(void *old, size_t size, uintptr_t origin)
{
	size_t had = pool_block_size(old);
	void *ptr;

	if (!real_get()) {
		ptr = pool_alloc(16, size);
	} else {
		ptr = real.malloc(size);
		hook_allocated(ptr, size, real.usable[REAL_MALLOC],
		    TYPE_MALLOC, origin);
	}
	if (ptr == NULL)
		return NULL;
	memcpy(ptr, old, had < size ? had : size);
	pool_free(old);
	return ptr;
}

/*
 * realloc(ptr, 0) that returns NULL has freed the block, unless errno says
 * that it has not; so errno must not be an older call's.
 */
static void *
realloc_telling(void *old, size_t size, bool *failed)
{
	int saved = errno;
	void *ptr;

	if (size > 0) {
		ptr = real.realloc(old, size);
		*failed = ptr == NULL;
		return ptr;
	}
	errno = 0;
	ptr = real.realloc(old, size);
	*failed = ptr == NULL && errno == ENOMEM;
	if (errno == 0)
		errno = saved;
	return ptr;
}

/*
 * A sampled block's place is held meanwhile: it may come to be another's, and
 * it may turn out to be still its own.
 */
static COLD void *
realloc_sampled(void *old, size_t size, uintptr_t origin)
{
	sample_place *place = sample_hold(old);
	struct producer *p;
	bool logged = place != NULL && thread_ready(&p), failed;
	void *ptr;

	if (logged)
		produce_moving(p, (uintptr_t)old, size,
		    origin_freer(p, origin));
	ptr = realloc_telling(old, size, &failed);
	if (place != NULL && failed)
		sample_put_back(place);
	else if (place != NULL)
		sample_let_go(place);
	if (logged && failed)
		produce_undo(p, (uintptr_t)old, 0,
		    rec_plain_caller(origin_pc(origin)));
	if (failed || ptr != NULL)
		hook_allocated(ptr, size, real.usable[REAL_REALLOC],
		    TYPE_REALLOC, origin);
	return ptr;
}

static COLD void *
realloc_slow(void *old, size_t size, uintptr_t origin)
{
	struct thread *t = &thread_self;
	struct producer *p;
	bool failed, was_last;
	void *ptr;

	if (old != NULL && pool_has(old))
		return realloc_pool(old, size, origin);
	if (!real_get() && (old == NULL || !real_known()))
		return pool_alloc(16, size);
	if (old == NULL) {
		ptr = real.realloc(NULL, size);
		/* By that type it would pass for a block that was moved. */
		hook_allocated(ptr, size, real.usable[REAL_REALLOC],
		    TYPE_MALLOC, origin);
		return ptr;
	}
	if (thread_joined() && thread_samples())
		return realloc_sampled(old, size, origin);
	if (!thread_ready(&p))
		return real.realloc(old, size);
	was_last = t->last == (uintptr_t)old;
	if (was_last)
		t->last = 0;
	produce_moving(p, (uintptr_t)old, size, origin_freer(p, origin));
	ptr = realloc_telling(old, size, &failed);
	if (failed) {
		if (was_last)
			t->last = (uintptr_t)old;
		produce_undo(p, (uintptr_t)old, 0,
		    rec_plain_caller(origin_pc(origin)));
		produce_failed(p, size, TYPE_REALLOC, t->level,
		    origin_caller(p, origin));
	} else if (ptr != NULL) {
		hook_allocated(ptr, size, real.usable[REAL_REALLOC],
		    TYPE_REALLOC, origin);
	}
	return ptr;
}

/* --- the hooks ---------------------------------------------------------- */

/*
 * Without a fast producer: neither half of this realloc is of interest.  The
 * half that may be is asked about first, for asking for the other counts.
 */
static inline bool
realloc_skips(const void *old, size_t size)
{
	return size != 0 && !pool_has(old) &&
	    (old == NULL || hook_skips_free(old)) && hook_skips(size);
}

static inline void *
realloc_from(void *old, size_t size, uintptr_t origin)
{
	struct producer *p = thread_fast();
	void *ptr;

	if (unlikely(p == NULL) && likely(realloc_skips(old, size))) {
		ptr = real.realloc(old, size);
		if (unlikely(ptr == NULL))
			hook_allocated(NULL, size, NULL, TYPE_REALLOC, origin);
		return ptr;
	}
	if (unlikely(p == NULL || old == NULL || size == 0) ||
	    unlikely(pool_has(old)))
		return realloc_slow(old, size, origin);
	produce_moving(p, (uintptr_t)old, size, origin_freer(p, origin));
	ptr = real.realloc(old, size);
	if (unlikely(ptr == NULL))
		produce_undo(p, (uintptr_t)old, 0,
		    rec_plain_caller(origin_pc(origin)));
	log_alloc(p, ptr, size, REAL_REALLOC, TYPE_REALLOC, origin);
	return ptr;
}

OUTLINE void *
realloc_other(void *old, size_t size)
{
	void *ptr = realloc_from(old, size, FRAME);

	FRAME_KEPT();
	return ptr;
}

static COLD void *
realloc_plain_failed(void *old, size_t size, struct producer *p, uintptr_t pc)
{
	uint64_t caller = rec_plain_caller(pc);

	produce_undo(p, (uintptr_t)old, 0, caller);
	if (!stopped())
		produce_failed(p, size, TYPE_REALLOC, p->level, caller);
	return NULL;
}

OUTLINE HOT NONNULL(1) NONNULL(3) void *
realloc_plain(void *old, size_t size, struct producer *p)
{
	unsigned overhead;
	void *ptr;

	produce_moving(p, (uintptr_t)old, size, rec_plain_caller(RETURN));
	ptr = real.realloc(old, size);
	if (unlikely(ptr == NULL))
		return realloc_plain_failed(old, size, p, RETURN);
	if (stopped())
		return ptr;
	overhead = heads_overhead(ptr, size, &real.usable[REAL_REALLOC]);
	return alloc_by(p, ptr, size, overhead, TYPE_REALLOC, RETURN);
}

EXPORT void *
realloc(void *old, size_t size)
{
	const struct keeper_area *way = produce_straight();
	struct producer *p;

	if (likely(way != NULL)) {
		if (produce_area_asleep(way))
			return real.realloc(old, size);
		heads_fetch(old);
		p = thread_straight(way);
		if (likely(p != NULL) && p->stack == NULL &&
		    likely(old != NULL) && likely(size != 0))
			return realloc_plain(old, size, p);
	}
	return realloc_other(old, size);
}

/*
 * Passed on as a realloc: libc's own calls realloc by its public name, which
 * would come back here and be logged twice.  What overflows goes to the real
 * one, which refuses it, and everything where that name is another allocator's
 * who has no function like this one: the block is his.
 */
EXPORT void *
reallocarray(void *old, size_t n, size_t size)
{
	size_t total;
	void *ptr;

	if (real_get() && unlikely(atomic_load(&hook_foreign)) &&
	    real.reallocarray != NULL)
		return real.reallocarray(old, n, size);
	if (likely(!__builtin_mul_overflow(n, size, &total))) {
		ptr = realloc_from(old, total, FRAME);
		FRAME_KEPT();
		return ptr;
	}
	if (real_get())
		hook_allocated(NULL, SIZE_MAX, NULL, TYPE_REALLOC, FRAME);
	if (real_known() && real.reallocarray != NULL)
		return real.reallocarray(old, n, size);
	errno = ENOMEM;
	return NULL;
}
