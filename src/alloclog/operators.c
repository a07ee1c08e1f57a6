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
 *	Where no C++ library was there at the start, the first operator that an
 *	object calls is looked for with the loader's lock: while dlopen(3) waits
 *	in a constructor for the thread that calls it, for ever.  dlerror(3) has
 *	nothing to say after that, and the object whose operator it is stays
 *	loaded.  Which one it is goes by the return address, which a jump in the
 *	place of a call makes another object's.
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

/* The operators that callers in one object would have without us. */
struct op_set {
	struct range callers;
	struct op_real {
		void *fn;	/* NULL: there is none */
		bool own;	/* the allocator's: does not come to malloc */
	} ops[OPS];
	_Atomic bool ready;
};

#define OP_SETS 32

static struct op_set loaded;		/* at the start, for every caller */
static struct op_set brought[OP_SETS];	/* by plugins, with their own runtime */
static _Atomic unsigned brought_count;

static bool
is_own(const void *fn)
{
	return range_has(&real.heap[0], (uintptr_t)fn) ||
	    range_has(&real.heap[1], (uintptr_t)fn);
}

static bool
op_set_fill(struct op_set *set, void *handle)
{
	bool any = false;

	for (int i = 0; i < OPS; i++) {
		void *fn = dlsym(handle, op_names[i]);

		if (fn == NULL || range_has(&real.self, (uintptr_t)fn))
			continue;
		if (set->ops[i].fn == NULL)
			set->ops[i] = (struct op_real) { fn, is_own(fn) };
		any = true;
	}
	return any;
}

void
operators_begin(void)
{
	/* One look-up is enough to know that a program is not C++. */
	if (dlsym(RTLD_NEXT, op_names[OP_NEW]) == NULL ||
	    !op_set_fill(&loaded, RTLD_NEXT))
		return;
	atomic_store_explicit(&loaded.ready, true, memory_order_release);
}

/*
 * What operator new `set` has stays loaded from now on, for its address is
 * kept.
 */
static void
pin(const struct op_set *set)
{
	Dl_info info;

	for (int i = 0; i < OPS; i++)
		if (set->ops[i].fn != NULL &&
		    dladdr(set->ops[i].fn, &info) != 0) {
			(void)dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
			return;
		}
}

/*
 * A C++ plugin in a program that is not C++: no runtime was loaded at the
 * start.  The one that the caller's own object finds is used; it would have
 * been without us.
 */
static void
op_set_search(struct op_set *set, uintptr_t caller)
{
	static const char *const runtimes[] = { "libstdc++.so.6",
		"libc++.so.1" };
	void *handle;
	Dl_info info;
	bool found = false;

	found = op_set_fill(set, RTLD_NEXT);	/* loaded for all since */
	if (found)
		pin(set);
	set->callers = real_object((void *)caller);
	/* Code that was made at run time lies in no object. */
	if (set->callers.size == 0)
		set->callers = (struct range) { caller & ~(uintptr_t)0xffff,
			0x10000 };
	if (!found && dladdr((void *)caller, &info) != 0 &&
	    info.dli_fname != NULL) {
		handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
		if (handle != NULL) {
			found = op_set_fill(set, handle);
			if (found)
				pin(set);
			dlclose(handle);
		}
	}
	for (int i = 0; i < 2 && !found; i++) {
		handle = dlopen(runtimes[i], RTLD_LAZY | RTLD_NOLOAD);
		if (handle != NULL)
			found = op_set_fill(set, handle);
	}
}

/* When all sets are taken, the first serves for the rest. */
static struct op_set *
op_set_add(uintptr_t caller)
{
	unsigned n = atomic_fetch_add(&brought_count, 1);

	if (n >= OP_SETS) {
		atomic_store(&brought_count, OP_SETS);
		return &brought[0];
	}
	op_set_search(&brought[n], caller);
	atomic_store_explicit(&brought[n].ready, true, memory_order_release);
	return &brought[n];
}

static COLD const struct op_real *
op_find(enum op op, uintptr_t caller)
{
	struct thread *t = &thread_self;
	unsigned n = atomic_load(&brought_count);
	const struct op_set *set = &brought[0];
	struct lookup l;

	/* An operator that ends in a jump to this one: on behalf of its caller. */
	if (range_has(&real.self, caller))
		caller = t->op_caller;
	t->op_caller = caller;
	for (unsigned i = 0; i < n && i < OP_SETS; i++)
		if (atomic_load_explicit(&brought[i].ready,
		    memory_order_acquire) &&
		    range_has(&brought[i].callers, caller))
			return &brought[i].ops[op];
	real_lookup_begin(&l);
	if (n < OP_SETS)
		set = op_set_add(caller);
	real_lookup_end(&l);
	return &set->ops[op];
}

static inline const struct op_real *
op_real(enum op op, uintptr_t caller)
{
	if (likely(atomic_load_explicit(&loaded.ready, memory_order_acquire)) &&
	    likely(loaded.ops[op].fn != NULL))
		return &loaded.ops[op];
	return op_find(op, caller);
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
	const struct op_real *r = &loaded.ops[op];
	uint64_t left = thread_self.sampler.left;
	bool skips;

	if (!likely(atomic_load_explicit(&loaded.ready, memory_order_acquire)))
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
	const struct op_real *r;
	const struct scope *outer;
	struct scope *s;
	uintptr_t whose = origin;
	bool inner = false;

	if (unlikely(!real_known()))
		(void)real_get();
	r = op_real(op, origin_pc(origin));
	c->fn = r->fn;
	c->own = r->own || unlikely(r->fn == NULL);
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
