/*
 * The malloc family: what a program calls instead of the real functions.
 *
 * A free is logged before the real call and an allocation after it: what can
 * follow on an address then always finds its predecessor logged.  errno is as
 * the real call left it.  realloc is both.
 *
 * Each hook is a straight line where its process is dormant or the thread has a
 * producer.  Where its event does not go straight, as in a process that samples,
 * the function of its name that ends in _closer asks whether there is anything
 * to log.  Everything else is in the slow path of the same name.
 *
 * In a process that samples, which allocations are logged is said by their
 * thread's countdown and which frees by the set of what was; a request that
 * fails is logged in any case.  An event that finds its process dormant is
 * over; one that the arming meets in its middle may be logged or not, and the
 * keeper can tell (produce_armed()).
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"

_Atomic bool hook_stopped;

/* --- logging in line ------------------------------------------------------- */

static inline bool
stopped(void)
{
	return unlikely(
	    atomic_load_explicit(&hook_stopped, memory_order_relaxed));
}

static inline uint64_t
product(size_t n, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(n, size, &total) ? SIZE_MAX : total;
}

/* The caller of a record, from a return address near the event's beginning. */
static inline uint64_t
near_w3(uintptr_t pc, unsigned overhead)
{
	if (PRODUCE_NEAR >= REC_SITE_BASE)
		pc = rec_plain_caller(pc);
	return pc | (uint64_t)overhead << 48;
}

/* The same of any return address: one whose bits lie on the overhead's has none. */
static inline uint64_t
any_w3(uint64_t near, uintptr_t pc)
{
	if (pc <= PRODUCE_NEAR)
		return near;
	return pc > REC_ADDR_MASK ? 0 :
	    (near & ~REC_ADDR_MASK) | rec_plain_caller(pc);
}

/* The rest of alloc_by() where it is not straight.  Returns ptr. */
static void *alloc_by_slow(struct producer *, void *ptr, uint64_t size, unsigned type,
    uint64_t w3);

/*
 * An allocation without a stack.  Its level is looked at last, and its rare way
 * is a jump, so that little is kept across the steps.  Returns ptr.
 */
static inline __attribute__((always_inline)) void *
alloc_by(struct producer *p, void *ptr, uint64_t size, unsigned overhead,
    unsigned type, uintptr_t pc)
{
	uint64_t more = size | pc;
	uint64_t w3 = near_w3(pc, overhead);
	struct produce_event e;

	if (unlikely(!produce_begin(p, &e, (uintptr_t)ptr, more, false)))
		return alloc_by_slow(p, ptr, size, type, any_w3(w3, pc));
	produce_born(p, &e, size);
	produce_end(&e, produce_kind(REC_ALLOC, type, p->level) |
	    (uintptr_t)ptr, size, w3);
	return ptr;
}

static inline __attribute__((always_inline)) void
log_alloc(struct producer *p, void *ptr, uint64_t size, enum real_fn fn,
    unsigned type, uintptr_t origin)
{
	unsigned overhead;

	if (stopped())
		return;
	if (unlikely(ptr == NULL)) {
		produce_failed(p, size, type, p->level,
		    origin_caller(p, origin));
		return;
	}
	/* First, so that less is kept across the call. */
	overhead = chunk_overhead(ptr, size, &real.usable[fn]);
	produce_block(p, (uintptr_t)ptr, size, overhead, type, p->level,
	    origin_caller(p, origin));
}

/* --- logging one event, whatever the state ------------------------------ */

/*
 * An allocator may allocate for itself the first time that it is asked for a
 * size (tcmalloc does); the block is logged, but not measured in its turn.
 */
static size_t
measure(struct thread *t, void *ptr, size_t (*usable)(void *))
{
	struct producer *fast = t->fast;
	size_t n;

	if (usable == NULL || t->measuring)
		return 0;
	t->measuring = true;
	t->fast = NULL;
	n = usable(ptr);
	t->fast = fast;
	t->measuring = false;
	return n;
}

/*
 * Whether this allocation is one to log.  Counted down before anything else:
 * also while the process is dormant, so that none is due when it is armed.
 */
static bool
alloc_wanted(struct thread *t, struct producer **p, const void *ptr,
    uint64_t size)
{
	if (ptr != NULL && hook_skips(size))
		return false;
	if (!thread_joined())
		return false;
	if (ptr != NULL && thread_samples() && !sample_due(&t->sampler, size))
		return false;
	return *p != NULL || thread_ready(p);
}

NOINLINE void
hook_allocated(void *ptr, uint64_t size, size_t (*usable)(void *),
    unsigned type, uintptr_t origin)
{
	struct thread *t = &thread_self;
	struct producer *p = thread_producer();

	if (ptr != NULL)
		t->last = (uintptr_t)ptr;
	if ((unlikely(p == NULL) || thread_samples()) &&
	    !alloc_wanted(t, &p, ptr, size))
		return;
	if (t->depth > 0)
		scope_label_alloc(t, ptr == NULL, &type, &origin);
	if (stopped())
		return;
	if (ptr == NULL)
		produce_failed(p, size, type, t->level,
		    origin_caller(p, origin));
	else if (thread_samples() && !sample_keep(ptr))
		produce_sample_full();
	else
		produce_alloc(p, (uintptr_t)ptr, size, measure(t, ptr, usable),
		    type, t->level, origin_caller(p, origin));
	/* Rings that hold samples fill slowly. */
	if (thread_samples())
		produce_look(p);
}

/* Whether this free is; takes the block out of the set. */
static bool
free_wanted(struct producer **p, const void *ptr)
{
	if (hook_skips_free(ptr) || !thread_joined())
		return false;
	if (thread_samples() && !sample_forget(ptr))
		return false;
	return *p != NULL || thread_ready(p);
}

NOINLINE void
hook_freeing(void *ptr, unsigned type, uintptr_t origin)
{
	struct thread *t = &thread_self;
	struct producer *p = thread_producer();

	if ((unlikely(p == NULL) || thread_samples()) && !free_wanted(&p, ptr))
		return;
	if (t->depth > 0 &&
	    !scope_label_free(t, (uintptr_t)ptr, &type, &origin))
		return;
	if (t->last == (uintptr_t)ptr)
		t->last = 0;
	produce_free(p, (uintptr_t)ptr, type, 0, origin_freer(p, origin));
}

static COLD void *
alloc_by_slow(struct producer *p, void *ptr, uint64_t size, unsigned type,
    uint64_t w3)
{
	produce_slow(p, (uintptr_t)ptr, produce_kind(REC_ALLOC, type, p->level),
	    size, w3);
	return ptr;
}

/* --- slow paths --------------------------------------------------------- */

/*
 * What a lone operator new asks for: the commonest of the slow cases.  NULL
 * when it is not that.
 */
static inline const struct scope *
lone_scope(const struct producer *p)
{
	const struct thread *t = &thread_self;

	return likely(p != NULL) && t->depth == 1 && likely(!t->measuring) &&
	    likely(!thread_samples()) ? &t->scopes[0] : NULL;
}

/* For an operator new, under its name and its caller's. */
static inline void *
malloc_for(const struct scope *s, struct producer *p, size_t size,
    uintptr_t origin)
{
	void *ptr = real.malloc(size);
	unsigned overhead;

	if (unlikely(ptr == NULL)) {
		hook_allocated(NULL, size, NULL, TYPE_MALLOC, origin);
		return NULL;
	}
	overhead = chunk_overhead(ptr, size, &real.usable[REAL_MALLOC]);
	if (p->stack == NULL)
		return alloc_by(p, ptr, size, overhead, s->type,
		    origin_pc(s->origin));
	produce_block(p, (uintptr_t)ptr, size, overhead, s->type, p->level,
	    origin_caller(p, s->origin));
	return ptr;
}

static NOINLINE void *
malloc_slow(size_t size, uintptr_t origin)
{
	struct producer *p = thread_producer();
	const struct scope *s = lone_scope(p);
	void *ptr;

	if (s != NULL && likely(scope_calls(s, origin_pc(origin))) &&
	    likely(s->block == 0) && likely(!s->own) && likely(!stopped()))
		return malloc_for(s, p, size, origin);
	if (!real_get())
		return pool_alloc(16, size);
	ptr = real.malloc(size);
	hook_allocated(ptr, size, real.usable[REAL_MALLOC], TYPE_MALLOC,
	    origin);
	return ptr;
}

static COLD void *
calloc_slow(size_t n, size_t size, uintptr_t origin)
{
	void *ptr;

	if (!real_get()) {
		ptr = pool_alloc(16, product(n, size));
		return ptr != NULL ? memset(ptr, 0, n * size) : NULL;
	}
	ptr = real.calloc(n, size);
	hook_allocated(ptr, product(n, size), real.usable[REAL_CALLOC],
	    TYPE_CALLOC, origin);
	return ptr;
}

static COLD void
free_by_slow(void *ptr, struct producer *p, unsigned type, uintptr_t pc)
{
	produce_slow(p, (uintptr_t)ptr, produce_kind(REC_FREE, type, 0), 0,
	    any_w3(near_w3(pc, 0), pc));
	real.free(ptr);
}

/*
 * A free without a stack, of a type that pairs have, and the real one.  Its
 * caller is needed where there is a record to put it into.
 */
static inline __attribute__((always_inline)) void
free_by(void *ptr, struct producer *p, unsigned type, uintptr_t pc)
{
	struct produce_event e;

	if (unlikely(!produce_begin(p, &e, (uintptr_t)ptr, pc, true))) {
		free_by_slow(ptr, p, type, pc);
		return;
	}
	if (!produce_pair(&e, (uintptr_t)ptr, type))
		produce_end(&e, produce_kind(REC_FREE, type, 0) |
		    (uintptr_t)ptr, 0, near_w3(pc, 0));
	real.free(ptr);
}

static NOINLINE void
free_slow(void *ptr, uintptr_t origin)
{
	struct producer *p = thread_producer();
	struct scope *s = &thread_self.scopes[0];

	if (lone_scope(p) != NULL && likely(s->block == (uintptr_t)ptr) &&
	    likely(!s->logged) && likely(!s->own)) {
		s->logged = true;
		if (p->stack == NULL) {
			free_by(ptr, p, s->type, origin_pc(s->origin));
			return;
		}
		produce_free(p, (uintptr_t)ptr, s->type, 0,
		    origin_freer(p, s->origin));
		real.free(ptr);
		return;
	}
	if (pool_has(ptr)) {
		pool_free(ptr);
		return;
	}
	/* A look-up may well free a block of before it: an old dlerror() text. */
	if (real_get() || real_known())
		hook_freeing(ptr, TYPE_FREE, origin);
	real.free(ptr);
}

/* --- the hooks ---------------------------------------------------------- */

OUTLINE HOT NONNULL(2) void *
malloc_logged(size_t size, struct producer *p)
{
	void *ptr = real.malloc(size);

	log_alloc(p, ptr, size, REAL_MALLOC, TYPE_MALLOC, FRAME);
	return ptr;
}

OUTLINE void *
malloc_other(size_t size)
{
	void *ptr = malloc_slow(size, FRAME);

	FRAME_KEPT();
	return ptr;
}

/* The request has failed: logged though its like was not to be. */
OUTLINE void *
alloc_failed(uint64_t size, unsigned type)
{
	void *none = NULL;

	hook_allocated(none, size, NULL, type, FRAME);
	/*
	 * A compiler that knew what this returns would return it by itself,
	 * behind a call in the place of a jump.
	 */
	__asm__ volatile("" : "+r"(none) : : "memory");
	return none;
}

/*
 * What a thread without stacks calls: nothing but the real functions, so that
 * hardly anything is to be kept across a call.
 */
OUTLINE HOT NONNULL(2) void *
malloc_plain(size_t size, struct producer *p)
{
	void *ptr = real.malloc(size);
	unsigned overhead;

	if (stopped())
		return ptr;
	if (unlikely(ptr == NULL))
		return alloc_failed(size, TYPE_MALLOC);
	overhead = chunk_overhead(ptr, size, &real.usable[REAL_MALLOC]);
	return alloc_by(p, ptr, size, overhead, TYPE_MALLOC, RETURN);
}

/* What does not go straight: as a rule of who samples. */
OUTLINE void *
malloc_closer(size_t size)
{
	void *ptr;

	if (unlikely(!sample_skips(&thread_self.sampler, size)))
		return malloc_other(size);
	ptr = real.malloc(size);
	return likely(ptr != NULL) ? ptr : alloc_failed(size, TYPE_MALLOC);
}

EXPORT void *
malloc(size_t size)
{
	const struct keeper_area *way = produce_straight();
	struct producer *p;

	if (unlikely(way == NULL))
		return malloc_closer(size);
	if (produce_area_asleep(way))
		return real.malloc(size);
	p = thread_straight(way);
	if (unlikely(p == NULL))
		return malloc_other(size);
	return p->stack == NULL ? malloc_plain(size, p) : malloc_logged(size, p);
}

OUTLINE NONNULL(3) void *
calloc_logged(size_t n, size_t size, struct producer *p)
{
	void *ptr = real.calloc(n, size);

	log_alloc(p, ptr, product(n, size), REAL_CALLOC, TYPE_CALLOC, FRAME);
	return ptr;
}

OUTLINE HOT NONNULL(3) void *
calloc_plain(size_t n, size_t size, struct producer *p)
{
	void *ptr = real.calloc(n, size);
	unsigned overhead;

	if (stopped())
		return ptr;
	if (unlikely(ptr == NULL))
		return alloc_failed(product(n, size), TYPE_CALLOC);
	overhead = chunk_overhead(ptr, n * size, &real.usable[REAL_CALLOC]);
	return alloc_by(p, ptr, n * size, overhead, TYPE_CALLOC, RETURN);
}

OUTLINE void *
calloc_other(size_t n, size_t size)
{
	void *ptr = calloc_slow(n, size, FRAME);

	FRAME_KEPT();
	return ptr;
}

OUTLINE void *
calloc_closer(size_t n, size_t size)
{
	uint64_t bytes = product(n, size);
	void *ptr;

	if (unlikely(!sample_skips(&thread_self.sampler, bytes)))
		return calloc_other(n, size);
	ptr = real.calloc(n, size);
	return likely(ptr != NULL) ? ptr : alloc_failed(bytes, TYPE_CALLOC);
}

EXPORT void *
calloc(size_t n, size_t size)
{
	const struct keeper_area *way = produce_straight();
	struct producer *p;

	if (unlikely(way == NULL))
		return calloc_closer(n, size);
	if (produce_area_asleep(way))
		return real.calloc(n, size);
	p = thread_straight(way);
	if (unlikely(p == NULL))
		return calloc_other(n, size);
	return p->stack == NULL ? calloc_plain(n, size, p) :
	    calloc_logged(n, size, p);
}

OUTLINE HOT NONNULL(1) NONNULL(2) void
free_plain(void *ptr, struct producer *p)
{
	free_by(ptr, p, TYPE_FREE, RETURN);
}

/* By the loader, or with a stack of its own. */
OUTLINE NONNULL(1) NONNULL(2) void
free_traced(void *ptr, struct producer *p)
{
	produce_free(p, (uintptr_t)ptr, TYPE_FREE, 0, origin_freer(p, FRAME));
	real.free(ptr);
}

OUTLINE HOT NONNULL(1) NONNULL(2) void
free_logged(void *ptr, struct producer *p)
{
	if (unlikely(p->frees) || unlikely(range_has(&real.loader, RETURN)))
		free_traced(ptr, p);
	else
		free_by(ptr, p, TYPE_FREE, RETURN);
}

OUTLINE void
free_other(void *ptr)
{
	free_slow(ptr, FRAME);
	FRAME_KEPT();
}

/* The filter means more blocks than the set has, and NULL is no block. */
OUTLINE void
free_maybe(void *ptr)
{
	if (ptr == NULL)
		return;
	if (likely(!sample_has(ptr)) && likely(!pool_has(ptr)))
		real.free(ptr);
	else
		free_other(ptr);
}

/* Whoever samples has the pool's blocks among the suspect. */
OUTLINE void
free_closer(void *ptr)
{
	if (likely(thread_self.sampler.left != 0)) {
		if (likely(!sample_maybe(ptr)))
			real.free(ptr);
		else
			free_maybe(ptr);
	} else if (likely(ptr != NULL)) {
		free_other(ptr);
	}
}

EXPORT void
free(void *ptr)
{
	const struct keeper_area *way = produce_straight();
	struct producer *p;

	if (unlikely(way == NULL)) {
		free_closer(ptr);
	} else if (produce_area_asleep(way)) {
		real.free(ptr);
	} else if (likely(ptr != NULL)) {
		chunk_fetch(ptr);
		p = thread_straight(way);
		if (unlikely(p == NULL))
			free_other(ptr);
		else if (p->stack == NULL)
			free_plain(ptr, p);
		else
			free_logged(ptr, p);
	}
}

/* The aligned family is called too seldom to be worth two paths. */

EXPORT int
posix_memalign(void **out, size_t align, size_t size)
{
	void *ptr;
	int rc;

	if (!real_get()) {
		ptr = pool_alloc(align, size);
		if (ptr == NULL)
			return ENOMEM;
		*out = ptr;
		return 0;
	}
	rc = real.posix_memalign(out, align, size);
	hook_allocated(rc == 0 ? *out : NULL, size,
	    real.usable[REAL_POSIX_MEMALIGN], TYPE_ALIGNED, FRAME);
	return rc;
}

#define PAGE 4096

#define ALIGNED(name, index, params, args, align) \
	EXPORT void *name params \
	{ \
		void *ptr; \
 \
		if (!real_get()) \
			return pool_alloc(align, size); \
		ptr = real.name args; \
		hook_allocated(ptr, size, real.usable[index], TYPE_ALIGNED, \
		    FRAME); \
		return ptr; \
	}

ALIGNED(aligned_alloc, REAL_ALIGNED_ALLOC, (size_t align, size_t size), (align, size), align)
ALIGNED(memalign, REAL_MEMALIGN, (size_t align, size_t size), (align, size), align)
ALIGNED(valloc, REAL_VALLOC, (size_t size), (size), PAGE)
ALIGNED(pvalloc, REAL_PVALLOC, (size_t size), (size), PAGE)

/* --- realloc --------------------------------------------------------------- */

/*
 * A free before the real call and an allocation after it: during the call the old
 * address may become anybody's.  A record of its own undoes the free of one that
 * fails.
 */

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
	overhead = chunk_overhead(ptr, size, &real.usable[REAL_REALLOC]);
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
		chunk_fetch(old);
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
