/*
 * The replaceable operators of C++, under their mangled names.
 *
 * An operator asks malloc for its block, and delete frees it: seen twice, it
 * must be logged once, under the operator's name and with the operator's
 * caller.  So a hook opens a scope on its thread and calls the real operator;
 * when malloc or free is then called by the real operator itself, which the
 * return address tells, that call is logged as the operator.  Nothing is kept
 * back: what a new_handler allocates, frees, throws or hands to other threads
 * in between is logged where it happens, and an exception takes nothing with
 * it but the scope.
 *
 * Allocators that bring operators of their own (jemalloc, tcmalloc, mimalloc)
 * do not come to malloc: there the operator is logged by its hook, after the
 * real call for a new and before it for a delete.
 *
 * An operator that the program defines is found before ours, and those of the
 * library that forward to it end there: it is seen as the mallocs it makes.
 *
 * An operator of which nothing is to be logged, as far as one can tell before,
 * opens no scope.
 *
 * Known limits
 *	In a process that samples, a small request that fails is logged as the
 *	malloc in which it did; by an allocator's own operators, which do not
 *	come there, it is not logged.
 *	An arming between an operator and its malloc leaves the name of malloc.
 *	Where no C++ library was there at the start, whose operators an object
 *	has goes by the return address, which a jump in the place of a call
 *	makes another object's; and those of an object that was opened for all
 *	(RTLD_GLOBAL) do not come before those of its own, as they would.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <unwind.h>

#include "hooks.h"

enum op {
	OP_NEW, OP_NEW_ARRAY, OP_NEW_NT, OP_NEW_ARRAY_NT,
	OP_NEW_AL, OP_NEW_ARRAY_AL, OP_NEW_AL_NT, OP_NEW_ARRAY_AL_NT,
	OP_DEL, OP_DEL_ARRAY, OP_DEL_SZ, OP_DEL_ARRAY_SZ,
	OP_DEL_NT, OP_DEL_ARRAY_NT, OP_DEL_AL, OP_DEL_ARRAY_AL,
	OP_DEL_SZ_AL, OP_DEL_ARRAY_SZ_AL, OP_DEL_AL_NT, OP_DEL_ARRAY_AL_NT,
	OPS
};

static const char *const op_names[OPS] = {
	[OP_NEW] = "_Znwm",
	[OP_NEW_ARRAY] = "_Znam",
	[OP_NEW_NT] = "_ZnwmRKSt9nothrow_t",
	[OP_NEW_ARRAY_NT] = "_ZnamRKSt9nothrow_t",
	[OP_NEW_AL] = "_ZnwmSt11align_val_t",
	[OP_NEW_ARRAY_AL] = "_ZnamSt11align_val_t",
	[OP_NEW_AL_NT] = "_ZnwmSt11align_val_tRKSt9nothrow_t",
	[OP_NEW_ARRAY_AL_NT] = "_ZnamSt11align_val_tRKSt9nothrow_t",
	[OP_DEL] = "_ZdlPv",
	[OP_DEL_ARRAY] = "_ZdaPv",
	[OP_DEL_SZ] = "_ZdlPvm",
	[OP_DEL_ARRAY_SZ] = "_ZdaPvm",
	[OP_DEL_NT] = "_ZdlPvRKSt9nothrow_t",
	[OP_DEL_ARRAY_NT] = "_ZdaPvRKSt9nothrow_t",
	[OP_DEL_AL] = "_ZdlPvSt11align_val_t",
	[OP_DEL_ARRAY_AL] = "_ZdaPvSt11align_val_t",
	[OP_DEL_SZ_AL] = "_ZdlPvmSt11align_val_t",
	[OP_DEL_ARRAY_SZ_AL] = "_ZdaPvmSt11align_val_t",
	[OP_DEL_AL_NT] = "_ZdlPvSt11align_val_tRKSt9nothrow_t",
	[OP_DEL_ARRAY_AL_NT] = "_ZdaPvSt11align_val_tRKSt9nothrow_t",
};

/* --- the real operators ------------------------------------------------- */

struct op_real {
	void *fn;	/* NULL: there is none */
	bool own;	/* the allocator's: does not come to malloc */
};

/* Those that were there at the start are every caller's. */
static struct op_real loaded[OPS];
static _Atomic bool loaded_any;

static struct op_real
op_real_of(void *fn)
{
	return (struct op_real) { fn,
		range_has(&real.heap[0], (uintptr_t)fn) ||
		range_has(&real.heap[1], (uintptr_t)fn) };
}

void
operators_begin(void)
{
	/* One look-up is enough to know that a program is not C++. */
	if (dlsym(RTLD_NEXT, op_names[OP_NEW]) == NULL)
		return;
	for (int i = 0; i < OPS; i++) {
		void *fn = dlsym(RTLD_NEXT, op_names[i]);

		if (fn != NULL && !range_has(&real.self, (uintptr_t)fn))
			loaded[i] = op_real_of(fn);
	}
	atomic_store_explicit(&loaded_any, true, memory_order_release);
}

/*
 * Where no C++ library was there at the start, each object has what it would
 * have without us.  That is known until something is unloaded: then another
 * object may come to lie where one was.
 *
 * A set is written while its turn is odd.  Who finds it so, or changed when it
 * has been read, goes without it.
 */
struct op_set {
	_Atomic unsigned turn;
	_Atomic unsigned unloads;	/* how often that had been, before it was found */
	_Atomic uintptr_t lo, size;	/* of the callers' object */
};

#define OP_SETS 512

static struct op_set brought[OP_SETS];
static void *_Atomic brought_fns[OP_SETS][OPS];
static _Atomic unsigned brought_next;	/* the oldest gives way */
static _Atomic unsigned unloads;

static unsigned
op_sets(void)
{
	unsigned n = atomic_load_explicit(&brought_next, memory_order_relaxed);

	return n < OP_SETS ? n : OP_SETS;
}

static bool
op_set_tells(unsigned i, unsigned now, uintptr_t caller, enum op op, void **fn)
{
	const struct op_set *set = &brought[i];
	unsigned turn = atomic_load_explicit(&set->turn, memory_order_acquire);
	uintptr_t lo = atomic_load_explicit(&set->lo, memory_order_relaxed);
	uintptr_t size = atomic_load_explicit(&set->size, memory_order_relaxed);

	if (turn % 2 != 0 || caller - lo >= size ||
	    atomic_load_explicit(&set->unloads, memory_order_relaxed) != now)
		return false;
	*fn = atomic_load_explicit(&brought_fns[i][op], memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&set->turn, memory_order_relaxed) == turn;
}

static void
op_set_keep(unsigned now, const struct range *callers, void *const fns[OPS])
{
	unsigned n = op_sets(), i = 0, turn;
	struct op_set *set;

	while (i < n && atomic_load_explicit(&brought[i].unloads,
	    memory_order_relaxed) == now)
		i++;
	if (i == n)
		i = atomic_fetch_add_explicit(&brought_next, 1,
		    memory_order_relaxed) % OP_SETS;
	set = &brought[i];
	turn = atomic_load_explicit(&set->turn, memory_order_relaxed);
	if (turn % 2 != 0 || !atomic_compare_exchange_strong(&set->turn, &turn,
	    turn + 1))
		return;
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&set->unloads, now, memory_order_relaxed);
	atomic_store_explicit(&set->lo, callers->lo, memory_order_relaxed);
	atomic_store_explicit(&set->size, callers->size, memory_order_relaxed);
	for (int op = 0; op < OPS; op++)
		atomic_store_explicit(&brought_fns[i][op], fns[op],
		    memory_order_relaxed);
	atomic_store_explicit(&set->turn, turn + 2, memory_order_release);
}

/* A thread that may make no system call gets none, which is malloc and free. */
static void *
op_look_up(enum op op, uintptr_t caller, unsigned now)
{
	void *fns[OPS];
	struct range callers;

	if (thread_self.silent || objects_find(caller, (uintptr_t)brought,
	    op_names, OPS, fns, &callers) != 0)
		return NULL;
	/* Code that was made at run time lies in no object. */
	if (callers.size == 0)
		callers = (struct range) { caller & ~(uintptr_t)0xffff,
			0x10000 };
	op_set_keep(now, &callers, fns);
	return fns[op];
}

static COLD struct op_real
op_find(enum op op, uintptr_t caller)
{
	struct thread *t = &thread_self;
	unsigned now = atomic_load_explicit(&unloads, memory_order_acquire);
	unsigned n = op_sets();
	void *fn;

	/* An operator that ends in a jump to this one: on behalf of its caller. */
	if (range_has(&real.self, caller))
		caller = t->op_caller;
	t->op_caller = caller;
	if (op_set_tells(t->op_set, now, caller, op, &fn))
		return op_real_of(fn);
	for (unsigned i = 0; i < n; i++)
		if (op_set_tells(i, now, caller, op, &fn)) {
			t->op_set = i;
			return op_real_of(fn);
		}
	return op_real_of(op_look_up(op, caller, now));
}

static inline struct op_real
op_real(enum op op, uintptr_t caller)
{
	if (likely(atomic_load_explicit(&loaded_any, memory_order_acquire)) &&
	    likely(loaded[op].fn != NULL))
		return loaded[op];
	return op_find(op, caller);
}

/*
 * It is counted when the loader is done.  Before, nothing can be loaded where
 * something was; between its end and the count another thread would have to
 * load another object just there, and that object to call an operator.
 */
EXPORT int
dlclose(void *handle)
{
	int error = 0;

	if (real_get() && real.dlclose != NULL)
		error = real.dlclose(handle);
	atomic_fetch_add_explicit(&unloads, 1, memory_order_release);
	return error;
}

/* --- scopes ------------------------------------------------------------- */

static inline struct scope *
scope_top(struct thread *t)
{
	return t->depth > 0 && t->depth <= SCOPES ? &t->scopes[t->depth - 1] :
	    NULL;
}

/* Back to the depth at which a scope was opened. */
static inline void
scope_close(struct thread *t, unsigned depth)
{
	t->depth = depth;
	if (likely(depth == 0) && likely(!t->looking) && likely(!t->measuring))
		t->fast = t->usual;
}

/* A longjmp out of a new_handler leaves scopes behind, above the stack's end. */
static inline void
scope_drop_dead(struct thread *t, uintptr_t frame)
{
	struct scope *s;

	while ((s = scope_top(t)) != NULL && unlikely(s->frame <= frame))
		scope_close(t, t->depth - 1);
}

void
scope_label_alloc(struct thread *t, bool failed, unsigned *type,
    uintptr_t *origin)
{
	struct scope *s;

	scope_drop_dead(t, FRAME);
	s = scope_top(t);
	if (s == NULL || s->block != 0 || !scope_calls(s, origin_pc(*origin)))
		return;
	*type = s->type;
	*origin = s->origin;
	s->logged |= failed;
}

bool
scope_label_free(struct thread *t, uintptr_t block, unsigned *type,
    uintptr_t *origin)
{
	struct scope *s;

	scope_drop_dead(t, FRAME);
	s = scope_top(t);
	if (s == NULL || s->block != block)
		return true;
	if (s->logged)
		return false;
	s->logged = true;
	*type = s->type;
	*origin = s->origin;
	return true;
}

/*
 * An operator of the allocator's own has failed; the one that it is part of
 * need not say so again.
 */
static void
new_failed(struct thread *t, const struct scope *s, bool logged)
{
	struct scope *outer = scope_top(t);

	if (!logged)
		hook_allocated(NULL, s->size, NULL, s->type, s->origin);
	if (s->inner && outer != NULL)
		outer->logged = true;
}

/*
 * The unwinder calls this for each of the frames below that an exception
 * passes.  The usual way, a cleanup and the personality routine of libgcc,
 * would load libgcc_s into every watched process or mix two unwinders.
 */
_Unwind_Reason_Code operator_unwound(int version, _Unwind_Action actions,
    _Unwind_Exception_Class, struct _Unwind_Exception *,
    struct _Unwind_Context *);

__attribute__((used)) _Unwind_Reason_Code
operator_unwound(int version, _Unwind_Action actions,
    _Unwind_Exception_Class class, struct _Unwind_Exception *exception,
    struct _Unwind_Context *context)
{
	struct thread *t = &thread_self;
	struct scope s = { .own = false };

	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	if ((actions & _UA_CLEANUP_PHASE) == 0 || t->depth == 0)
		return _URC_CONTINUE_UNWIND;
	if (scope_top(t) != NULL)
		s = *scope_top(t);
	scope_close(t, t->depth - 1);
	if (s.own)
		new_failed(t, &s, s.logged);
	return _URC_CONTINUE_UNWIND;
}

/* 0x1b: the routine's address as a signed 32-bit offset from here. */
#define TELL_WHEN_UNWOUND() \
	__asm__ volatile(".cfi_personality 0x1b, operator_unwound")

/* One operator's hook at work. */
struct call {
	void *fn;	/* the real one; NULL if there is none anywhere */
	unsigned depth;	/* scopes around it */
	bool own;
	bool opened;
};

/*
 * The real operator, when it is one of those that were there at the start and
 * there is nothing to log of this call: of what it will ask of malloc or free,
 * or of itself where it does not come there.
 */
static inline void *
op_unlogged(enum op op, size_t size, size_t align, const void *block)
{
	const struct op_real *r = &loaded[op];
	uint64_t left = thread_self.sampler.left;
	bool skips;

	if (!likely(atomic_load_explicit(&loaded_any, memory_order_acquire)))
		return NULL;
	if (likely(produce_asleep()))
		return r->fn;
	if (block != NULL)
		skips = hook_skips_free(block);
	else if (r->own)
		skips = sample_skips(&thread_self.sampler, size);
	else	/* what it asks for is rounded up, and 0 is 1 */
		skips = left > size && left - size > align + 1;
	return likely(skips) ? r->fn : NULL;
}

/*
 * Opens the scope of a new (block 0) or a delete, unless nobody listens or it
 * is the inner part of a delete that has one.
 */
static inline __attribute__((always_inline)) void
call_begin(struct call *c, enum op op, size_t size, uintptr_t block,
    unsigned type, uintptr_t origin)
{
	struct thread *t = &thread_self;
	const struct scope *outer;
	struct op_real r;
	struct scope *s;
	uintptr_t whose = origin;
	bool inner = false;

	if (unlikely(!real_known()))
		(void)real_get();
	r = op_real(op, origin_pc(origin));
	c->fn = r.fn;
	c->own = r.own || unlikely(r.fn == NULL);
	c->opened = false;
	if (unlikely(produce_asleep()))
		return;
	if (unlikely(t->depth > 0)) {
		scope_drop_dead(t, origin);
		outer = scope_top(t);
		if (outer != NULL && block != 0 && outer->block == block)
			return;
		/* new[] and the nothrow forms end in new: one request, one name. */
		if (outer != NULL && block == 0 && outer->block == 0 &&
		    scope_calls(outer, origin_pc(origin))) {
			type = outer->type;
			whose = outer->origin;
			inner = true;
		}
	}
	c->opened = true;
	c->depth = t->depth;
	s = &t->scopes[likely(c->depth < SCOPES) ? c->depth : SCOPES];
	s->real = (uintptr_t)c->fn;
	s->frame = origin;
	s->origin = whose;
	s->block = block;
	s->size = size;
	s->type = (uint8_t)type;
	s->logged = false;
	s->own = c->own;
	s->inner = inner;
	t->depth = c->depth + 1;
	t->fast = NULL;
}

/* --- new ---------------------------------------------------------------- */

/* What the hook has if there is no real operator anywhere: malloc. */
static void *
new_without(size_t align, size_t size)
{
	if (!real_get())
		return pool_alloc(align, size);
	return align == 0 ? real.malloc(size) :
	    real.aligned_alloc(align, (size + align - 1) & ~(align - 1));
}

/* After an operator that did not come to malloc, or may not have. */
static NOINLINE void
new_own_end(const struct call *c, void *ptr)
{
	struct thread *t = &thread_self;
	struct scope s = t->scopes[c->depth < SCOPES ? c->depth : SCOPES];

	scope_close(t, c->depth);
	if (pool_has(ptr))
		return;
	if (ptr == NULL)
		new_failed(t, &s, s.logged);
	else if (t->last != (uintptr_t)ptr)
		hook_allocated(ptr, s.size,
		    range_has(&real.heap[0], s.real) ?
			real.usable[REAL_MALLOC] : NULL,
		    s.type, s.origin);
}

struct nothrow;

#define NEW(symbol, op, type, align, params, args) \
	EXPORT void *symbol params; \
	OUTLINE void *logged##symbol params \
	{ \
		struct call c; \
		void *ptr; \
 \
		TELL_WHEN_UNWOUND(); \
		call_begin(&c, op, size, 0, type, FRAME); \
		if (unlikely(c.own)) \
			thread_self.last = 0; \
		if (likely(c.fn != NULL)) \
			ptr = ((void *(*) params)c.fn)args; \
		else \
			ptr = new_without(align, size); \
		if (unlikely(c.opened && c.own)) \
			new_own_end(&c, ptr); \
		else if (likely(c.opened)) \
			scope_close(&thread_self, c.depth); \
		return ptr; \
	} \
	EXPORT void *symbol params \
	{ \
		void *fn; \
 \
		if (unlikely(thread_fast() == NULL) && \
		    (fn = op_unlogged(op, size, align, NULL)) != NULL) \
			return ((void *(*) params)fn)args; \
		return logged##symbol args; \
	}

NEW(_Znwm, OP_NEW, TYPE_NEW, 0, (size_t size), (size))
NEW(_Znam, OP_NEW_ARRAY, TYPE_NEW_ARRAY, 0, (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, OP_NEW_NT, TYPE_NEW_NOTHROW, 0,
    (size_t size, const struct nothrow *nt), (size, nt))
NEW(_ZnamRKSt9nothrow_t, OP_NEW_ARRAY_NT, TYPE_NEW_ARRAY_NOTHROW, 0,
    (size_t size, const struct nothrow *nt), (size, nt))
NEW(_ZnwmSt11align_val_t, OP_NEW_AL, TYPE_NEW, al,
    (size_t size, size_t al), (size, al))
NEW(_ZnamSt11align_val_t, OP_NEW_ARRAY_AL, TYPE_NEW_ARRAY, al,
    (size_t size, size_t al), (size, al))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, OP_NEW_AL_NT, TYPE_NEW_NOTHROW, al,
    (size_t size, size_t al, const struct nothrow *nt), (size, al, nt))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, OP_NEW_ARRAY_AL_NT,
    TYPE_NEW_ARRAY_NOTHROW, al,
    (size_t size, size_t al, const struct nothrow *nt), (size, al, nt))

/* --- delete ------------------------------------------------------------- */

static void
delete_without(void *ptr)
{
	if (pool_has(ptr))
		pool_free(ptr);
	else if (real.free != NULL)
		real.free(ptr);
}

#define DELETE(symbol, op, type, params, args) \
	EXPORT void symbol params; \
	OUTLINE void logged##symbol params \
	{ \
		struct call c; \
 \
		call_begin(&c, op, 0, (uintptr_t)ptr, type, FRAME); \
		if (unlikely(c.opened && c.own) && !pool_has(ptr)) \
			hook_freeing(ptr, type, FRAME); \
		if (likely(c.fn != NULL)) \
			((void (*) params)c.fn)args; \
		else \
			delete_without(ptr); \
		if (c.opened) \
			scope_close(&thread_self, c.depth); \
	} \
	EXPORT void symbol params \
	{ \
		void *fn; \
 \
		if (unlikely(ptr == NULL)) \
			return; \
		if (unlikely(thread_fast() == NULL) && \
		    (fn = op_unlogged(op, 0, 0, ptr)) != NULL) \
			((void (*) params)fn)args; \
		else \
			logged##symbol args; \
	}

DELETE(_ZdlPv, OP_DEL, TYPE_DELETE, (void *ptr), (ptr))
DELETE(_ZdaPv, OP_DEL_ARRAY, TYPE_DELETE_ARRAY, (void *ptr), (ptr))
DELETE(_ZdlPvm, OP_DEL_SZ, TYPE_DELETE, (void *ptr, size_t size), (ptr, size))
DELETE(_ZdaPvm, OP_DEL_ARRAY_SZ, TYPE_DELETE_ARRAY,
    (void *ptr, size_t size), (ptr, size))
DELETE(_ZdlPvRKSt9nothrow_t, OP_DEL_NT, TYPE_DELETE,
    (void *ptr, const struct nothrow *nt), (ptr, nt))
DELETE(_ZdaPvRKSt9nothrow_t, OP_DEL_ARRAY_NT, TYPE_DELETE_ARRAY,
    (void *ptr, const struct nothrow *nt), (ptr, nt))
DELETE(_ZdlPvSt11align_val_t, OP_DEL_AL, TYPE_DELETE,
    (void *ptr, size_t al), (ptr, al))
DELETE(_ZdaPvSt11align_val_t, OP_DEL_ARRAY_AL, TYPE_DELETE_ARRAY,
    (void *ptr, size_t al), (ptr, al))
DELETE(_ZdlPvmSt11align_val_t, OP_DEL_SZ_AL, TYPE_DELETE,
    (void *ptr, size_t size, size_t al), (ptr, size, al))
DELETE(_ZdaPvmSt11align_val_t, OP_DEL_ARRAY_SZ_AL, TYPE_DELETE_ARRAY,
    (void *ptr, size_t size, size_t al), (ptr, size, al))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, OP_DEL_AL_NT, TYPE_DELETE,
    (void *ptr, size_t al, const struct nothrow *nt), (ptr, al, nt))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, OP_DEL_ARRAY_AL_NT,
    TYPE_DELETE_ARRAY, (void *ptr, size_t al, const struct nothrow *nt),
    (ptr, al, nt))
