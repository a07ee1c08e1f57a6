/*
 * The malloc family.
 *
 * A free is logged before the real call and an allocation after it, so that
 * events at one address are logged in order; realloc is both.  errno is as the
 * real call left it.
 *
 * Each hook is a straight line if its process is dormant or its thread has a
 * producer.  Otherwise X_sampling() asks whether there is anything to log, and
 * X_slow() does the rest.
 *
 * In a sampling process the thread's countdown selects the allocations to log,
 * and the set of sampled blocks the frees; failed requests are always logged.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"

_Atomic bool hook_stopped;

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

/* w3 of a record, from a return address that the fast path takes. */
static inline uint64_t
fast_w3(uintptr_t pc, unsigned overhead)
{
	if (PRODUCE_FAST_MAX >= REC_SITE_BASE)
		pc = rec_plain_caller(pc);
	return pc | (uint64_t)overhead << 48;
}

/* Takes any address; none is told if its bits reach the overhead's. */
static inline uint64_t
any_w3(uint64_t w3, uintptr_t pc)
{
	if (pc <= PRODUCE_FAST_MAX)
		return w3;
	return pc > REC_ADDR_MASK ? 0 :
	    (w3 & ~REC_ADDR_MASK) | rec_plain_caller(pc);
}

static void *plain_alloc_slow(struct producer *, void *ptr, uint64_t size,
    unsigned type, uint64_t w3);

/*
 * Logs an allocation without a stack, leaves the hook and returns ptr.  The
 * level is read last and the slow path is a tail call, to use fewer registers.
 */
static inline __attribute__((always_inline)) void *
plain_alloc(struct producer *p, void *ptr, uint64_t size, unsigned overhead,
    unsigned type, uintptr_t pc)
{
	uint64_t more = size | pc;
	uint64_t w3 = fast_w3(pc, overhead);
	struct produce_event e;

	if (unlikely(!produce_begin(p, &e, (uintptr_t)ptr, more, false)))
		return plain_alloc_slow(p, ptr, size, type, any_w3(w3, pc));
	produce_note_alloc(p, &e, size);
	produce_end(&e, produce_kind(REC_ALLOC, type, p->level) |
	    (uintptr_t)ptr, size, w3);
	thread_leave(p);
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
	/* First, so that fewer registers are kept across the call. */
	overhead = chunk_overhead(ptr, size, &real.usable[fn]);
	produce_block(p, (uintptr_t)ptr, size, overhead, type, p->level,
	    origin_caller(p, origin));
}

/* The allocator may allocate here (tcmalloc does): logged, not measured. */
size_t
hook_measure(struct thread *t, void *ptr, size_t (*usable)(void *))
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

/* Also counts down while dormant, so that no sample is due at the arming. */
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
	else if (thread_samples() && !sample_add(ptr))
		produce_count_sample();
	else
		produce_alloc(p, (uintptr_t)ptr, size,
		    hook_measure(t, ptr, usable), type, t->level,
		    origin_caller(p, origin));
	/* Rings that hold samples fill slowly. */
	if (thread_samples())
		produce_check_keeper(p);
}

static bool
free_wanted(struct producer **p, const void *ptr)
{
	if (hook_skips_free(ptr) || !thread_joined())
		return false;
	if (thread_samples() && !sample_remove(ptr))
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

/* Leaves the hook, as plain_alloc() does. */
static COLD void *
plain_alloc_slow(struct producer *p, void *ptr, uint64_t size, unsigned type,
    uint64_t w3)
{
	produce_slow(p, (uintptr_t)ptr, produce_kind(REC_ALLOC, type, p->level),
	    size, w3);
	thread_leave(p);
	return ptr;
}

/* The scope of a lone operator, the most common slow case; or NULL. */
static inline const struct scope *
lone_scope(const struct producer *p)
{
	const struct thread *t = &thread_self;

	return likely(p != NULL) && t->depth == 1 && likely(!t->measuring) &&
	    likely(!thread_samples()) ? &t->scopes[0] : NULL;
}

/*
 * Allocates for an operator new, logs under its name and caller, and leaves the
 * hook.
 */
static inline void *
malloc_for_operator(const struct scope *s, struct producer *p, size_t size,
    uintptr_t origin)
{
	void *ptr = real.malloc(size);
	unsigned overhead;

	if (unlikely(ptr == NULL)) {
		thread_leave(p);
		hook_allocated(NULL, size, NULL, TYPE_MALLOC, origin);
		return NULL;
	}
	overhead = chunk_overhead(ptr, size, &real.usable[REAL_MALLOC]);
	if (p->stack == NULL)
		return plain_alloc(p, ptr, size, overhead, s->type,
		    origin_pc(s->origin));
	produce_block(p, (uintptr_t)ptr, size, overhead, s->type, p->level,
	    origin_caller(p, s->origin));
	thread_leave(p);
	return ptr;
}

static NOINLINE void *
malloc_slow(size_t size, uintptr_t origin)
{
	struct producer *p = thread_producer();
	const struct scope *s = lone_scope(p);
	struct hook_call c;
	void *ptr;

	if (s != NULL && likely(scope_calls(s, origin_pc(origin))) &&
	    likely(s->block == 0) && likely(!s->bypass) && likely(!stopped()) &&
	    thread_enter_plainly(p))
		return malloc_for_operator(s, p, size, origin);
	if (!real_get())
		return pool_alloc(16, size);
	hook_enter(&c, origin);
	ptr = real.malloc(size);
	hook_allocated(ptr, size, real.usable[REAL_MALLOC], TYPE_MALLOC,
	    origin);
	hook_leave(&c);
	return ptr;
}

static COLD void *
calloc_slow(size_t n, size_t size, uintptr_t origin)
{
	struct hook_call c;
	void *ptr;

	if (!real_get()) {
		ptr = pool_alloc(16, product(n, size));
		return ptr != NULL ? memset(ptr, 0, n * size) : NULL;
	}
	/* real.loader was not known yet when this call entered calloc(). */
	if (range_has(&real.loader, origin_pc(origin)))
		real_loading();
	hook_enter(&c, origin);
	ptr = real.calloc(n, size);
	hook_allocated(ptr, product(n, size), real.usable[REAL_CALLOC],
	    TYPE_CALLOC, origin);
	hook_leave(&c);
	return ptr;
}

static COLD void
plain_free_slow(void *ptr, struct producer *p, unsigned type, uintptr_t pc)
{
	produce_slow(p, (uintptr_t)ptr, produce_kind(REC_FREE, type, 0), 0,
	    any_w3(fast_w3(pc, 0), pc));
	real.free(ptr);
	thread_leave(p);
}

/*
 * Logs a free without a stack, of a type that may be paired; frees; leaves the
 * hook.
 */
static inline __attribute__((always_inline)) void
plain_free(void *ptr, struct producer *p, unsigned type, uintptr_t pc)
{
	struct produce_event e;

	if (unlikely(!produce_begin(p, &e, (uintptr_t)ptr, pc, true))) {
		plain_free_slow(ptr, p, type, pc);
		return;
	}
	if (!produce_pair(&e, (uintptr_t)ptr, type))
		produce_end(&e, produce_kind(REC_FREE, type, 0) |
		    (uintptr_t)ptr, 0, fast_w3(pc, 0));
	real.free(ptr);
	thread_leave(p);
}

static NOINLINE void
free_slow(void *ptr, uintptr_t origin)
{
	struct producer *p = thread_producer();
	struct scope *s = &thread_self.scopes[0];
	struct hook_call c;

	if (lone_scope(p) != NULL && likely(s->block == (uintptr_t)ptr) &&
	    likely(!s->logged) && likely(!s->bypass) &&
	    thread_enter_plainly(p)) {
		s->logged = true;
		if (p->stack == NULL) {
			plain_free(ptr, p, s->type, origin_pc(s->origin));
			return;
		}
		produce_free(p, (uintptr_t)ptr, s->type, 0,
		    origin_freer(p, s->origin));
		real.free(ptr);
		thread_leave(p);
		return;
	}
	if (pool_has(ptr)) {
		pool_free(ptr);
		return;
	}
	/* A look-up may free a block from before it: an old dlerror() text. */
	if (!real_get() && !real_known()) {
		real.free(ptr);
		return;
	}
	hook_enter(&c, origin);
	hook_freeing(ptr, TYPE_FREE, origin);
	real.free(ptr);
	hook_leave(&c);
}

OUTLINE HOT NONNULL(2) void *
malloc_logged(size_t size, struct producer *p)
{
	void *ptr = real.malloc(size);

	log_alloc(p, ptr, size, REAL_MALLOC, TYPE_MALLOC, FRAME);
	thread_leave(p);
	return ptr;
}

OUTLINE void *
malloc_with_frame(size_t size)
{
	void *ptr = malloc_slow(size, FRAME);

	FRAME_KEPT();
	return ptr;
}

/* Logs a failed request, even if such an allocation would be skipped. */
OUTLINE void *
alloc_failed(uint64_t size, unsigned type)
{
	void *none = NULL;

	hook_allocated(none, size, NULL, type, FRAME);
	/* Hides the value: otherwise compilers call instead of jump. */
	__asm__ volatile("" : "+r"(none) : : "memory");
	return none;
}

/* Calls only the real functions, so that hardly any register is kept. */
OUTLINE HOT NONNULL(2) void *
malloc_plain(size_t size, struct producer *p)
{
	void *ptr = real.malloc(size);
	unsigned overhead;

	if (stopped() || unlikely(ptr == NULL)) {
		thread_leave(p);
		return ptr != NULL ? ptr : alloc_failed(size, TYPE_MALLOC);
	}
	overhead = chunk_overhead(ptr, size, &real.usable[REAL_MALLOC]);
	return plain_alloc(p, ptr, size, overhead, TYPE_MALLOC, RETURN);
}

/* The hook outside the fast path, mostly in a sampling process. */
OUTLINE void *
malloc_sampling(size_t size)
{
	void *ptr;

	if (unlikely(!sample_skips(&thread_self.sampler, size)))
		return malloc_with_frame(size);
	ptr = real.malloc(size);
	return likely(ptr != NULL) ? ptr : alloc_failed(size, TYPE_MALLOC);
}

EXPORT void *
malloc(size_t size)
{
	const struct produce_gate *gate = produce_gate_now();
	const struct keeper_area *area = produce_gate_area(gate);
	struct producer *p;

	if (unlikely(area == NULL))
		return malloc_sampling(size);
	if (produce_area_asleep(area))
		return real.malloc(size);
	p = thread_enter(gate, area);
	if (unlikely(p == NULL))
		return malloc_with_frame(size);
	return p->stack == NULL ? malloc_plain(size, p) : malloc_logged(size, p);
}

OUTLINE NONNULL(3) void *
calloc_logged(size_t n, size_t size, struct producer *p)
{
	void *ptr = real.calloc(n, size);

	log_alloc(p, ptr, product(n, size), REAL_CALLOC, TYPE_CALLOC, FRAME);
	thread_leave(p);
	return ptr;
}

OUTLINE HOT NONNULL(3) void *
calloc_plain(size_t n, size_t size, struct producer *p)
{
	void *ptr = real.calloc(n, size);
	unsigned overhead;

	if (stopped() || unlikely(ptr == NULL)) {
		thread_leave(p);
		return ptr != NULL ? ptr :
		    alloc_failed(product(n, size), TYPE_CALLOC);
	}
	overhead = chunk_overhead(ptr, n * size, &real.usable[REAL_CALLOC]);
	return plain_alloc(p, ptr, n * size, overhead, TYPE_CALLOC, RETURN);
}

OUTLINE void *
calloc_with_frame(size_t n, size_t size)
{
	void *ptr = calloc_slow(n, size, FRAME);

	FRAME_KEPT();
	return ptr;
}

OUTLINE void *
calloc_sampling(size_t n, size_t size)
{
	uint64_t bytes = product(n, size);
	void *ptr;

	if (unlikely(!sample_skips(&thread_self.sampler, bytes)))
		return calloc_with_frame(n, size);
	ptr = real.calloc(n, size);
	return likely(ptr != NULL) ? ptr : alloc_failed(bytes, TYPE_CALLOC);
}

static inline __attribute__((always_inline)) void *
calloc_hook(size_t n, size_t size)
{
	const struct produce_gate *gate = produce_gate_now();
	const struct keeper_area *area = produce_gate_area(gate);
	struct producer *p;

	if (unlikely(area == NULL))
		return calloc_sampling(n, size);
	if (produce_area_asleep(area))
		return real.calloc(n, size);
	p = thread_enter(gate, area);
	if (unlikely(p == NULL))
		return calloc_with_frame(n, size);
	return p->stack == NULL ? calloc_plain(n, size, p) :
	    calloc_logged(n, size, p);
}

OUTLINE void *
calloc_by_loader(size_t n, size_t size)
{
	real_loading();
	return calloc_hook(n, size);
}

EXPORT void *
calloc(size_t n, size_t size)
{
	if (unlikely(size == 1) && unlikely(range_has(&real.loader, RETURN)))
		return calloc_by_loader(n, size);
	return calloc_hook(n, size);
}

OUTLINE HOT NONNULL(1) NONNULL(2) void
free_plain(void *ptr, struct producer *p)
{
	plain_free(ptr, p, TYPE_FREE, RETURN);
}

/* Called by the loader, or when frees have stacks. */
OUTLINE NONNULL(1) NONNULL(2) void
free_traced(void *ptr, struct producer *p)
{
	produce_free(p, (uintptr_t)ptr, TYPE_FREE, 0, origin_freer(p, FRAME));
	real.free(ptr);
	thread_leave(p);
}

OUTLINE HOT NONNULL(1) NONNULL(2) void
free_logged(void *ptr, struct producer *p)
{
	if (unlikely(p->frees) || unlikely(range_has(&real.loader, RETURN)))
		free_traced(ptr, p);
	else
		plain_free(ptr, p, TYPE_FREE, RETURN);
}

OUTLINE void
free_with_frame(void *ptr)
{
	free_slow(ptr, FRAME);
	FRAME_KEPT();
}

/* The filter has false positives, and NULL is no block. */
OUTLINE void
free_filtered(void *ptr)
{
	if (ptr == NULL)
		return;
	if (likely(!sample_has(ptr)) && likely(!pool_has(ptr)))
		real.free(ptr);
	else
		free_with_frame(ptr);
}

/* In a sampling process the filter also has the pool's blocks. */
OUTLINE void
free_sampling(void *ptr)
{
	if (likely(thread_self.sampler.left != 0)) {
		if (likely(!sample_filter_has(ptr)))
			real.free(ptr);
		else
			free_filtered(ptr);
	} else if (likely(ptr != NULL)) {
		free_with_frame(ptr);
	}
}

EXPORT void
free(void *ptr)
{
	const struct produce_gate *gate = produce_gate_now();
	const struct keeper_area *area = produce_gate_area(gate);
	struct producer *p;

	if (unlikely(area == NULL)) {
		free_sampling(ptr);
	} else if (produce_area_asleep(area)) {
		real.free(ptr);
	} else if (likely(ptr != NULL)) {
		chunk_fetch(ptr);
		p = thread_enter(gate, area);
		if (unlikely(p == NULL))
			free_with_frame(ptr);
		else if (p->stack == NULL)
			free_plain(ptr, p);
		else
			free_logged(ptr, p);
	}
}

/* The aligned family is called too rarely for two paths. */

EXPORT int
posix_memalign(void **out, size_t align, size_t size)
{
	struct hook_call c;
	void *ptr;
	int rc;

	if (!real_get()) {
		ptr = pool_alloc(align, size);
		if (ptr == NULL)
			return ENOMEM;
		*out = ptr;
		return 0;
	}
	hook_enter(&c, FRAME);
	rc = real.posix_memalign(out, align, size);
	hook_allocated(rc == 0 ? *out : NULL, size,
	    real.usable[REAL_POSIX_MEMALIGN], TYPE_ALIGNED, FRAME);
	hook_leave(&c);
	return rc;
}

#define PAGE 4096

/* Not every libc has all of them. */
static COLD void *
aligned_by_posix(size_t align, size_t size)
{
	void *ptr;
	int rc;

	if (align < sizeof(void *))
		align = sizeof(void *);
	rc = real.posix_memalign(&ptr, align, size);
	if (rc == 0)
		return ptr;
	errno = rc;
	return NULL;
}

#define ALIGNED(name, index, params, args, align) \
	EXPORT void *name params \
	{ \
		struct hook_call c; \
		void *ptr; \
 \
		if (!real_get()) \
			return pool_alloc(align, size); \
		hook_enter(&c, FRAME); \
		ptr = likely(real.name != NULL) ? real.name args : \
		    aligned_by_posix(align, size); \
		hook_allocated(ptr, size, real.usable[index], TYPE_ALIGNED, \
		    FRAME); \
		hook_leave(&c); \
		return ptr; \
	}

ALIGNED(aligned_alloc, REAL_ALIGNED_ALLOC, (size_t align, size_t size), (align, size), align)
ALIGNED(memalign, REAL_MEMALIGN, (size_t align, size_t size), (align, size), align)
ALIGNED(valloc, REAL_VALLOC, (size_t size), (size), PAGE)
ALIGNED(pvalloc, REAL_PVALLOC, (size_t size), (size), PAGE)

/*
 * If the allocator has none of these functions, ours are hidden from the loader
 * (withdraw_exports()): only weak references that were bound earlier call them.
 */
#define XALIGN(flags) ((size_t)1 << ((flags) & 63))
#define XZERO 0x40

static COLD void *
mallocx_fallback(size_t size, int flags)
{
	size_t align = XALIGN(flags);
	void *ptr = fallback_alloc(align > 16 ? align : 0, size);

	return ptr != NULL && (flags & XZERO) != 0 ? memset(ptr, 0, size) : ptr;
}

/*
 * Without jemalloc, alignment and zeros after the old size are not guaranteed.
 */
static void *
rallocx_real(void *old, size_t size, int flags)
{
	return likely(real.rallocx != NULL) ? real.rallocx(old, size, flags) :
	    fallback_realloc(old, size);
}

EXPORT void *mallocx(size_t size, int flags);

EXPORT void *
mallocx(size_t size, int flags)
{
	struct hook_call c;
	void *ptr;

	if (!real_get())
		return pool_alloc(XALIGN(flags), size);
	if (unlikely(atomic_load(&hook_foreign)))
		return real.mallocx != NULL ? real.mallocx(size, flags) :
		    mallocx_fallback(size, flags);
	hook_enter(&c, FRAME);
	ptr = likely(real.mallocx != NULL) ? real.mallocx(size, flags) :
	    mallocx_fallback(size, flags);
	hook_allocated(ptr, size, real.usable[REAL_MALLOCX],
	    (flags & 63) != 0 ? TYPE_ALIGNED : (flags & XZERO) != 0 ?
	    TYPE_CALLOC : TYPE_MALLOC, FRAME);
	hook_leave(&c);
	return ptr;
}

/* False if the block was the pool's: it is freed already. */
static NOINLINE bool
free_begins(struct hook_call *c, void *ptr, uintptr_t origin)
{
	if (pool_has(ptr)) {
		pool_free(ptr);
		return false;
	}
	hook_enter(c, origin);
	if ((real_get() || real_known()) && !atomic_load(&hook_foreign))
		hook_freeing(ptr, TYPE_FREE, origin);
	return true;
}

#define FREE(name, params, args) \
	EXPORT void name params; \
	EXPORT void name params \
	{ \
		struct hook_call c; \
 \
		if (ptr == NULL || !free_begins(&c, ptr, FRAME)) \
			return; \
		if (likely(real.name != NULL)) \
			real.name args; \
		else \
			fallback_free(ptr); \
		hook_leave(&c); \
		FRAME_KEPT(); \
	}

FREE(free_sized, (void *ptr, size_t size), (ptr, size))
FREE(free_aligned_sized, (void *ptr, size_t align, size_t size), (ptr, align, size))
FREE(dallocx, (void *ptr, int flags), (ptr, flags))
FREE(sdallocx, (void *ptr, size_t size, int flags), (ptr, size, flags))

/* realloc may reuse the old address: log a free, then allocation or undo. */

/* Moves a block out of the pool: for the program a plain allocation. */
static COLD void *
realloc_pool(void *old, size_t size, uintptr_t origin)
{
	size_t had = pool_block_size(old);
	void *ptr = malloc_slow(size, origin);

	if (ptr == NULL)
		return NULL;
	memcpy(ptr, old, had < size ? had : size);
	pool_free(old);
	return ptr;
}

/* realloc(ptr, 0): NULL means freed, unless errno is ENOMEM.  flags: rallocx's. */
static void *
realloc_telling(void *old, size_t size, const int *flags, bool *failed)
{
	int saved = errno;
	void *ptr;

	if (flags != NULL) {
		ptr = rallocx_real(old, size, *flags);
		*failed = ptr == NULL;
		return ptr;
	}
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

/* The place is held: the block may move, or the call may fail. */
static void *
realloc_sampled(void *old, size_t size, const int *flags, uintptr_t origin)
{
	sample_place *place = sample_hold(old);
	struct producer *p;
	bool logged = place != NULL && thread_ready(&p), failed;
	void *ptr;

	if (logged)
		produce_realloc_free(p, (uintptr_t)old, size,
		    origin_freer(p, origin));
	ptr = realloc_telling(old, size, flags, &failed);
	if (place != NULL && failed)
		sample_restore(place);
	else if (place != NULL)
		sample_release(place);
	if (logged && failed)
		produce_undo(p, (uintptr_t)old, 0,
		    rec_plain_caller(origin_pc(origin)));
	if (failed || ptr != NULL)
		hook_allocated(ptr, size, real.usable[REAL_REALLOC],
		    TYPE_REALLOC, origin);
	return ptr;
}

/* The real functions are known, and `old` is not the pool's.  flags: rallocx's, or NULL. */
static void *
realloc_entered(void *old, size_t size, const int *flags, uintptr_t origin)
{
	struct thread *t = &thread_self;
	struct producer *p;
	bool failed, was_last;
	void *ptr;

	if (old == NULL) {
		ptr = real.realloc(NULL, size);
		/* With TYPE_REALLOC it would look like a moved block. */
		hook_allocated(ptr, size, real.usable[REAL_REALLOC],
		    TYPE_MALLOC, origin);
		return ptr;
	}
	if (thread_joined() && thread_samples())
		return realloc_sampled(old, size, flags, origin);
	if (!thread_ready(&p))
		return flags != NULL ? rallocx_real(old, size, *flags) :
		    real.realloc(old, size);
	was_last = t->last == (uintptr_t)old;
	if (was_last)
		t->last = 0;
	produce_realloc_free(p, (uintptr_t)old, size, origin_freer(p, origin));
	ptr = realloc_telling(old, size, flags, &failed);
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

static COLD void *
realloc_slow(void *old, size_t size, const int *flags, uintptr_t origin)
{
	struct hook_call c;
	void *ptr;

	if (old != NULL && pool_has(old))
		return realloc_pool(old, size, origin);
	if (!real_get() && (old == NULL || !real_known()))
		return pool_alloc(16, size);
	hook_enter(&c, origin);
	ptr = realloc_entered(old, size, flags, origin);
	hook_leave(&c);
	return ptr;
}

/* Neither half is logged.  The free first: the other question counts down. */
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
	    unlikely(pool_has(old)) || unlikely(!thread_enter_plainly(p)))
		return realloc_slow(old, size, NULL, origin);
	produce_realloc_free(p, (uintptr_t)old, size, origin_freer(p, origin));
	ptr = real.realloc(old, size);
	if (unlikely(ptr == NULL))
		produce_undo(p, (uintptr_t)old, 0,
		    rec_plain_caller(origin_pc(origin)));
	log_alloc(p, ptr, size, REAL_REALLOC, TYPE_REALLOC, origin);
	thread_leave(p);
	return ptr;
}

OUTLINE void *
realloc_with_frame(void *old, size_t size)
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
	thread_leave(p);
	if (!stopped())
		produce_failed(p, size, TYPE_REALLOC, p->level, caller);
	return NULL;
}

OUTLINE HOT NONNULL(1) NONNULL(3) void *
realloc_plain(void *old, size_t size, struct producer *p)
{
	unsigned overhead;
	void *ptr;

	produce_realloc_free(p, (uintptr_t)old, size, rec_plain_caller(RETURN));
	ptr = real.realloc(old, size);
	if (unlikely(ptr == NULL))
		return realloc_plain_failed(old, size, p, RETURN);
	if (stopped()) {
		thread_leave(p);
		return ptr;
	}
	overhead = chunk_overhead(ptr, size, &real.usable[REAL_REALLOC]);
	return plain_alloc(p, ptr, size, overhead, TYPE_REALLOC, RETURN);
}

EXPORT void *
realloc(void *old, size_t size)
{
	const struct produce_gate *gate = produce_gate_now();
	const struct keeper_area *area = produce_gate_area(gate);
	struct producer *p;

	if (likely(area != NULL)) {
		if (produce_area_asleep(area))
			return real.realloc(old, size);
		chunk_fetch(old);
		p = thread_self.fast;
		if (likely(p != NULL) && p->stack == NULL &&
		    likely(old != NULL) && likely(size != 0) &&
		    likely((p = thread_enter(gate, area)) != NULL))
			return realloc_plain(old, size, p);
	}
	return realloc_with_frame(old, size);
}

EXPORT void *rallocx(void *old, size_t size, int flags);

EXPORT void *
rallocx(void *old, size_t size, int flags)
{
	void *ptr;

	if (real_get() && unlikely(atomic_load(&hook_foreign)))
		return rallocx_real(old, size, flags);
	ptr = realloc_slow(old, size, &flags, FRAME);
	FRAME_KEPT();
	return ptr;
}

/* Without jemalloc no block grows. */
static size_t
xallocx_real(void *ptr, size_t size, size_t extra, int flags)
{
	return likely(real.xallocx != NULL) ?
	    real.xallocx(ptr, size, extra, flags) :
	    real.usable[REAL_MALLOC](ptr);
}

/*
 * The block stays where it is, so it is freed and allocated with another size.
 * Without room for `size` nothing changes: the program was only asking.
 */
static size_t
xallocx_entered(void *ptr, size_t size, size_t extra, int flags,
    uintptr_t origin)
{
	bool sampled = thread_joined() && thread_samples(), logged;
	sample_place *place = sampled ? sample_hold(ptr) : NULL;
	struct producer *p;
	size_t bytes;

	logged = (!sampled || place != NULL) && thread_ready(&p);
	if (logged)
		produce_realloc_free(p, (uintptr_t)ptr, size,
		    origin_freer(p, origin));
	bytes = xallocx_real(ptr, size, extra, flags);
	if (bytes < size) {
		if (place != NULL)
			sample_restore(place);
		if (logged)
			produce_undo(p, (uintptr_t)ptr, 0,
			    rec_plain_caller(origin_pc(origin)));
		return bytes;
	}
	if (place != NULL)
		sample_release(place);
	hook_allocated(ptr, bytes - size < extra ? bytes : size + extra,
	    real.usable[REAL_XALLOCX], TYPE_REALLOC, origin);
	return bytes;
}

EXPORT size_t xallocx(void *ptr, size_t size, size_t extra, int flags);

EXPORT size_t
xallocx(void *ptr, size_t size, size_t extra, int flags)
{
	struct hook_call c;
	size_t bytes;

	if (pool_has(ptr))
		return pool_block_size(ptr);
	if (!real_get() && !real_known())
		return 0;
	if (unlikely(atomic_load(&hook_foreign)))
		return xallocx_real(ptr, size, extra, flags);
	hook_enter(&c, FRAME);
	bytes = xallocx_entered(ptr, size, extra, flags, FRAME);
	hook_leave(&c);
	FRAME_KEPT();
	return bytes;
}

/*
 * libc's reallocarray calls realloc by its public name and would log twice:
 * only overflows go there, and all calls if malloc is foreign.
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
