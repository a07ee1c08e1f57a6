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
 *	Where no C++ library was there at the start, what a plugin's operators
 *	ask of malloc has that name, and goes by the place in the operator.
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

static struct op_real {
	void *fn;	/* NULL: there is none */
	bool own;	/* the allocator's: does not come to malloc */
} op_real[OPS];		/* set before real.ready is */

_Static_assert(OPS <= EXPORTS_MAX, "all can be taken back");

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
	void *fn;	/* the real one; NULL if there was none at the start */
	unsigned depth;	/* scopes around it */
	bool own;
	bool opened;
};

/*
 * Of who samples: the real operator, when there is one and nothing to log of this
 * call: of what it will ask of malloc or free, or of itself where it does not come
 * there.
 */
static inline void *
op_unlogged(enum op op, size_t size, size_t align, const void *block)
{
	const struct op_real *r = &op_real[op];
	uint64_t left = thread_self.sampler.left;
	bool skips;

	if (!real_known() || left == 0)
		return NULL;
	if (block != NULL)
		skips = hook_skips_free(block);
	else if (r->own)
		skips = sample_skips(&thread_self.sampler, size);
	else	/* what it asks for is rounded up, and 0 is 1 */
		skips = left > size && left - size > align + 1;
	return likely(skips) ? r->fn : NULL;
}

/* The same of a call that goes straight, where that area says no. */
static inline void *
op_asleep(enum op op, const struct keeper_area *way)
{
	return produce_area_asleep(way) ? op_real[op].fn : NULL;
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
	const struct op_real *r = &op_real[op];
	const struct scope *outer;
	struct scope *s;
	uintptr_t whose = origin;
	bool inner = false;

	if (unlikely(!real_known()))
		(void)real_get();
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

/* Malloc may be the program's own, or a sanitiser's: nothing is logged then. */
static bool
malloc_is_others(void)
{
	return atomic_load(&hook_foreign) || atomic_load(&hook_inert);
}

/*
 * Who has found us before we were taken back gets malloc: by a weak reference,
 * or in a plugin that is loaded before our constructor has run.  It must be the
 * one whose free will be given the block.
 */
static void *
new_without(size_t align, size_t size)
{
	size_t round = align == 0 ? size : (size + align - 1) & ~(align - 1);

	if (!real_get())
		return pool_alloc(align, size);
	if (malloc_is_others())
		return align == 0 ? malloc(size) : aligned_alloc(align, round);
	return align == 0 ? real.malloc(size) : real.aligned_alloc(align, round);
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

/* The hook of that name, whoever else defines one. */
#define OURS(symbol) \
	extern __typeof__(symbol) ours##symbol \
	    __attribute__((alias(#symbol), visibility("hidden")))

#define NEW(symbol, op, type, align, params, args) \
	EXPORT void *symbol params; \
	OURS(symbol); \
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
		const struct keeper_area *way = produce_straight(); \
		void *fn = NULL; \
 \
		if (likely(way != NULL)) \
			fn = op_asleep(op, way); \
		else \
			fn = op_unlogged(op, size, align, NULL); \
		if (fn != NULL) \
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
	else if (malloc_is_others())
		free(ptr);
	else if (real.free != NULL)
		real.free(ptr);
}

/*
 * An own operator is also logged as the inner part of another one: where the
 * program has some of them itself, the C++ library's others end there, and not in
 * free.  What the outer one has logged is not logged again.
 */
#define DELETE(symbol, op, type, params, args) \
	EXPORT void symbol params; \
	OURS(symbol); \
	OUTLINE void logged##symbol params \
	{ \
		struct call c; \
 \
		call_begin(&c, op, 0, (uintptr_t)ptr, type, FRAME); \
		if (unlikely(c.own) && !pool_has(ptr)) \
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
		const struct keeper_area *way = produce_straight(); \
		void *fn = NULL; \
 \
		if (unlikely(ptr == NULL)) \
			return; \
		if (likely(way != NULL)) \
			fn = op_asleep(op, way); \
		else \
			fn = op_unlogged(op, 0, 0, ptr); \
		if (fn != NULL) { \
			((void (*) params)fn)args; \
		} else { \
			chunk_fetch(ptr); \
			logged##symbol args; \
		} \
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

/* --- at the start ------------------------------------------------------- */

#define OP(symbol) { #symbol, (void *)ours##symbol }

static const struct {
	const char *name;
	void *ours;
} ops[OPS] = {
	[OP_NEW] = OP(_Znwm),
	[OP_NEW_ARRAY] = OP(_Znam),
	[OP_NEW_NT] = OP(_ZnwmRKSt9nothrow_t),
	[OP_NEW_ARRAY_NT] = OP(_ZnamRKSt9nothrow_t),
	[OP_NEW_AL] = OP(_ZnwmSt11align_val_t),
	[OP_NEW_ARRAY_AL] = OP(_ZnamSt11align_val_t),
	[OP_NEW_AL_NT] = OP(_ZnwmSt11align_val_tRKSt9nothrow_t),
	[OP_NEW_ARRAY_AL_NT] = OP(_ZnamSt11align_val_tRKSt9nothrow_t),
	[OP_DEL] = OP(_ZdlPv),
	[OP_DEL_ARRAY] = OP(_ZdaPv),
	[OP_DEL_SZ] = OP(_ZdlPvm),
	[OP_DEL_ARRAY_SZ] = OP(_ZdaPvm),
	[OP_DEL_NT] = OP(_ZdlPvRKSt9nothrow_t),
	[OP_DEL_ARRAY_NT] = OP(_ZdaPvRKSt9nothrow_t),
	[OP_DEL_AL] = OP(_ZdlPvSt11align_val_t),
	[OP_DEL_ARRAY_AL] = OP(_ZdaPvSt11align_val_t),
	[OP_DEL_SZ_AL] = OP(_ZdlPvmSt11align_val_t),
	[OP_DEL_ARRAY_SZ_AL] = OP(_ZdaPvmSt11align_val_t),
	[OP_DEL_AL_NT] = OP(_ZdlPvSt11align_val_tRKSt9nothrow_t),
	[OP_DEL_ARRAY_AL_NT] = OP(_ZdaPvSt11align_val_tRKSt9nothrow_t),
};

/* Whether anybody defines operators: not all are looked up where nobody does. */
static bool
is_cxx(void)
{
	static const enum op first[] = { OP_NEW, OP_NEW_ARRAY, OP_DEL,
		OP_DEL_ARRAY };

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (dlsym(RTLD_NEXT, ops[first[i]].name) != NULL)
			return true;
	return false;
}

void
operators_begin(void)
{
	bool any = is_cxx();
	const void *unknown[OPS];
	unsigned n = 0;
	void *fn;

	for (int i = 0; i < OPS; i++) {
		fn = any ? dlsym(RTLD_NEXT, ops[i].name) : NULL;
		if (fn == NULL)
			unknown[n++] = ops[i].ours;
		op_real[i].own = range_has(&real.heap[0], (uintptr_t)fn) ||
		    range_has(&real.heap[1], (uintptr_t)fn);
		op_real[i].fn = fn;
	}
	/*
	 * What a plugin would find without us goes by the place that dlopen(3) has
	 * given each object, which nobody else can tell; and a wrong guess gives
	 * blocks of one operator to another's delete.  So it finds what it would,
	 * and what that asks of malloc is seen.  Only who was bound to us before
	 * this has run keeps us.
	 */
	exports_withdraw(unknown, n);
}
