/*
 * The replaceable operators of C++, under their mangled names.
 *
 * An operator calls malloc or free, but is logged once, with its own name and
 * caller: its hook opens a scope on the thread and calls the real operator, and
 * a malloc or free whose return address lies there is logged as the operator.
 * Nothing is held back: what a new_handler allocates, frees, throws or gives to
 * other threads is logged where it happens, and an exception unwinds the scope
 * only.
 *
 * Operators of other allocators (jemalloc, tcmalloc, mimalloc) bypass malloc:
 * their hook logs them, a new after and a delete before the real call.  An
 * operator that the program defines is found before ours and is seen as the
 * mallocs that it makes.
 *
 * Known limits
 *	In a sampling process a small request that fails is logged as the malloc
 *	that failed; if the allocator has its own operators, not at all.
 *	After an arming between an operator and its malloc the name is malloc's.
 *	If no C++ library was loaded at the start, a plugin's operators are
 *	logged as malloc, with the operator as the caller.
 */
#include <stdlib.h>
#include <unwind.h>

#include "debugdata.h"
#include "hooks.h"

/* symbol, type, alignment (of a new), parameters, arguments */
#define NEWS(X) \
	X(_Znwm, TYPE_NEW, 0, (size_t size), (size)) \
	X(_Znam, TYPE_NEW_ARRAY, 0, (size_t size), (size)) \
	X(_ZnwmRKSt9nothrow_t, TYPE_NEW_NOTHROW, 0, \
	    (size_t size, const struct nothrow *nt), (size, nt)) \
	X(_ZnamRKSt9nothrow_t, TYPE_NEW_ARRAY_NOTHROW, 0, \
	    (size_t size, const struct nothrow *nt), (size, nt)) \
	X(_ZnwmSt11align_val_t, TYPE_NEW, al, \
	    (size_t size, size_t al), (size, al)) \
	X(_ZnamSt11align_val_t, TYPE_NEW_ARRAY, al, \
	    (size_t size, size_t al), (size, al)) \
	X(_ZnwmSt11align_val_tRKSt9nothrow_t, TYPE_NEW_NOTHROW, al, \
	    (size_t size, size_t al, const struct nothrow *nt), (size, al, nt)) \
	X(_ZnamSt11align_val_tRKSt9nothrow_t, TYPE_NEW_ARRAY_NOTHROW, al, \
	    (size_t size, size_t al, const struct nothrow *nt), (size, al, nt))

#define DELETES(X) \
	X(_ZdlPv, TYPE_DELETE, (void *ptr), (ptr)) \
	X(_ZdaPv, TYPE_DELETE_ARRAY, (void *ptr), (ptr)) \
	X(_ZdlPvm, TYPE_DELETE, (void *ptr, size_t size), (ptr, size)) \
	X(_ZdaPvm, TYPE_DELETE_ARRAY, (void *ptr, size_t size), (ptr, size)) \
	X(_ZdlPvRKSt9nothrow_t, TYPE_DELETE, \
	    (void *ptr, const struct nothrow *nt), (ptr, nt)) \
	X(_ZdaPvRKSt9nothrow_t, TYPE_DELETE_ARRAY, \
	    (void *ptr, const struct nothrow *nt), (ptr, nt)) \
	X(_ZdlPvSt11align_val_t, TYPE_DELETE, \
	    (void *ptr, size_t al), (ptr, al)) \
	X(_ZdaPvSt11align_val_t, TYPE_DELETE_ARRAY, \
	    (void *ptr, size_t al), (ptr, al)) \
	X(_ZdlPvmSt11align_val_t, TYPE_DELETE, \
	    (void *ptr, size_t size, size_t al), (ptr, size, al)) \
	X(_ZdaPvmSt11align_val_t, TYPE_DELETE_ARRAY, \
	    (void *ptr, size_t size, size_t al), (ptr, size, al)) \
	X(_ZdlPvSt11align_val_tRKSt9nothrow_t, TYPE_DELETE, \
	    (void *ptr, size_t al, const struct nothrow *nt), (ptr, al, nt)) \
	X(_ZdaPvSt11align_val_tRKSt9nothrow_t, TYPE_DELETE_ARRAY, \
	    (void *ptr, size_t al, const struct nothrow *nt), (ptr, al, nt))

enum op {
#define OP_OF(symbol, ...) OP##symbol,
	NEWS(OP_OF)
	DELETES(OP_OF)
	OPS
};

static struct op_real {
	void *fn;	/* NULL: there is none */
	void *call;	/* that, or what records it and calls that */
	bool bypass;	/* the allocator's: does not call malloc */
} op_real[OPS];		/* set before real.ready is */

_Static_assert(OPS <= OPERATORS_MAX, "all can be missing");

static inline struct scope *
scope_top(struct thread *t)
{
	return t->depth > 0 && t->depth <= SCOPES ? &t->scopes[t->depth - 1] :
	    NULL;
}

static inline void
scope_close(struct thread *t, unsigned depth)
{
	t->depth = depth;
	if (likely(depth == 0) && likely(!t->looking) && likely(!t->measuring))
		t->fast = t->usual;
}

/* A longjmp out of a new_handler leaves scopes above the stack's end. */
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

/* The operator around it does not log the failure again. */
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
 * The unwinder calls it for each frame below that an exception passes.
 * libgcc's would load libgcc_s into every process, or mix two unwinders.
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
	struct scope s = { .bypass = false };

	(void)version;
	(void)class;
	(void)exception;
	(void)context;
	if ((actions & _UA_CLEANUP_PHASE) == 0 || t->depth == 0)
		return _URC_CONTINUE_UNWIND;
	if (scope_top(t) != NULL)
		s = *scope_top(t);
	scope_close(t, t->depth - 1);
	if (s.bypass) {
		new_failed(t, &s, s.logged);
		hook_leave(&s.caller);
	}
	return _URC_CONTINUE_UNWIND;
}

/* 0x1b: the routine's address as a signed 32-bit offset from here. */
#define TELL_WHEN_UNWOUND() \
	__asm__ volatile(".cfi_personality 0x1b, operator_unwound")

/* A hook's call of a real operator. */
struct call {
	void *fn;	/* the real one; NULL if there was none at the start */
	unsigned depth;	/* scopes around it */
	bool bypass;
	bool opened;
};

/* When sampling: the real operator, if it logs nothing; or NULL. */
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
	else if (r->bypass)
		skips = sample_skips(&thread_self.sampler, size);
	else	/* it rounds its request up, and 0 is 1 */
		skips = left > size && left - size > align + 1;
	return likely(skips) ? r->call : NULL;
}

/* The real operator if the area is asleep; or NULL. */
static inline void *
op_asleep(enum op op, const struct keeper_area *area)
{
	return produce_area_asleep(area) ? op_real[op].call : NULL;
}

/* Opens a scope, unless asleep or in the inner part of a delete. */
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
	c->bypass = r->bypass || unlikely(r->fn == NULL);
	c->opened = false;
	if (unlikely(produce_asleep()))
		return;
	if (unlikely(t->depth > 0)) {
		scope_drop_dead(t, origin);
		outer = scope_top(t);
		if (outer != NULL && block != 0 && outer->block == block)
			return;
		/* new[] and nothrow end in new: one request, one name. */
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
	s->bypass = c->bypass;
	s->inner = inner;
	t->depth = c->depth + 1;
	t->fast = NULL;
}

/* True when malloc is the program's own or a sanitizer's: nothing is logged. */
static bool
malloc_is_others(void)
{
	return atomic_load(&hook_foreign) || atomic_load(&hook_inert);
}

void *
fallback_alloc(size_t align, size_t size)
{
	size_t round = align == 0 ? size : (size + align - 1) & ~(align - 1);

	if (!real_get())
		return pool_alloc(align, size);
	if (malloc_is_others())
		return align == 0 ? malloc(size) : aligned_alloc(align, round);
	return align == 0 ? real.malloc(size) : real.aligned_alloc(align, round);
}

void *
fallback_realloc(void *ptr, size_t size)
{
	return malloc_is_others() ? realloc(ptr, size) :
	    real.realloc(ptr, size);
}

static NOINLINE void
new_bypassed_begin(const struct call *c, uintptr_t origin)
{
	struct thread *t = &thread_self;

	t->last = 0;
	if (c->opened && c->depth < SCOPES)
		hook_enter(&t->scopes[c->depth].caller, origin);
}

/* After an operator that bypassed malloc, or may have. */
static NOINLINE void
new_bypassed_end(const struct call *c, void *ptr)
{
	struct thread *t = &thread_self;
	struct scope s = t->scopes[c->depth < SCOPES ? c->depth : SCOPES];

	scope_close(t, c->depth);
	if (pool_has(ptr))
		;
	else if (ptr == NULL)
		new_failed(t, &s, s.logged);
	else if (t->last != (uintptr_t)ptr)
		hook_allocated(ptr, s.size,
		    range_has(&real.heap[0], s.real) ||
			    range_has(&real.self, s.real) ?
			real.usable[REAL_MALLOC] : NULL,
		    s.type, s.origin);
	if (c->depth < SCOPES)
		hook_leave(&s.caller);
}

struct nothrow;

#define NEW(symbol, type, align, params, args) \
	EXPORT void *symbol params; \
	OUTLINE void *logged##symbol params \
	{ \
		struct call c; \
		void *ptr; \
 \
		TELL_WHEN_UNWOUND(); \
		call_begin(&c, OP##symbol, size, 0, type, FRAME); \
		if (unlikely(c.bypass)) \
			new_bypassed_begin(&c, FRAME); \
		if (likely(c.fn != NULL)) \
			ptr = ((void *(*) params)c.fn)args; \
		else \
			ptr = fallback_alloc(align, size); \
		if (unlikely(c.opened && c.bypass)) \
			new_bypassed_end(&c, ptr); \
		else if (likely(c.opened)) \
			scope_close(&thread_self, c.depth); \
		return ptr; \
	} \
	EXPORT void *symbol params \
	{ \
		const struct keeper_area *area = produce_fast_area(); \
		void *fn = NULL; \
 \
		if (likely(area != NULL)) \
			fn = op_asleep(OP##symbol, area); \
		else \
			fn = op_unlogged(OP##symbol, size, align, NULL); \
		if (fn != NULL) \
			return ((void *(*) params)fn)args; \
		return logged##symbol args; \
	}

NEWS(NEW)

void
fallback_free(void *ptr)
{
	if (pool_has(ptr))
		pool_free(ptr);
	else if (malloc_is_others())
		free(ptr);
	else if (real.free != NULL)
		real.free(ptr);
}

/*
 * An operator that bypasses free is logged as the inner part of another too: if
 * the program defines some, the library's others end there.
 */
#define DELETE(symbol, type, params, args) \
	EXPORT void symbol params; \
	OUTLINE void logged##symbol params \
	{ \
		struct call c; \
		struct hook_call caller; \
 \
		call_begin(&c, OP##symbol, 0, (uintptr_t)ptr, type, FRAME); \
		if (unlikely(c.bypass) && !pool_has(ptr)) { \
			hook_enter(&caller, FRAME); \
			hook_freeing(ptr, type, FRAME); \
		} \
		if (likely(c.fn != NULL)) \
			((void (*) params)c.fn)args; \
		else \
			fallback_free(ptr); \
		if (unlikely(c.bypass) && !pool_has(ptr)) \
			hook_leave(&caller); \
		if (c.opened) \
			scope_close(&thread_self, c.depth); \
	} \
	EXPORT void symbol params \
	{ \
		const struct keeper_area *area = produce_fast_area(); \
		void *fn = NULL; \
 \
		if (unlikely(ptr == NULL)) \
			return; \
		if (likely(area != NULL)) \
			fn = op_asleep(OP##symbol, area); \
		else \
			fn = op_unlogged(OP##symbol, 0, 0, ptr); \
		if (fn != NULL) { \
			((void (*) params)fn)args; \
		} else { \
			chunk_fetch(ptr); \
			logged##symbol args; \
		} \
	}

DELETES(DELETE)

static const char *const op_names[OPS] = {
#define NAME_OF(symbol, ...) #symbol,
	NEWS(NAME_OF)
	DELETES(NAME_OF)
};

static bool
is_cxx(void)
{
	static const enum op first[] = { OP_Znwm, OP_Znam, OP_ZdlPv,
		OP_ZdaPv };

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (real_symbol(op_names[first[i]]) != NULL)
			return true;
	return false;
}

unsigned
operators_begin(const char *missing[OPERATORS_MAX])
{
	bool any = is_cxx();
	unsigned n = 0;
	void *fn;

	for (int i = 0; i < OPS; i++) {
		fn = any ? real_symbol(op_names[i]) : NULL;
		if (fn == NULL)
			missing[n++] = op_names[i];
		op_real[i].bypass = range_has(&real.heap[0], (uintptr_t)fn) ||
		    range_has(&real.heap[1], (uintptr_t)fn);
		op_real[i].fn = op_real[i].call = fn;
	}
	return n;
}

bool
operator_has(uintptr_t pc)
{
	for (int i = 0; i < OPS; i++)
		if (op_real[i].fn != NULL &&
		    pc - (uintptr_t)op_real[i].fn < OP_REACH)
			return true;
	return false;
}

unsigned
operator_type(void)
{
	const struct thread *t = &thread_self;
	const struct debugdata_thread *d = &t->debugdata;

	if (t->depth > 0 && t->depth <= SCOPES)
		return t->scopes[t->depth - 1].type;
	/* An exception leaves it as it is. */
	return d->operator.frame > FRAME &&
	    origin_pc(d->operator.frame) == d->operator.pc ?
	    d->operator.type : 0;
}

unsigned
operator_called_at(uintptr_t pc)
{
	const struct thread *t = &thread_self;

	if (t->depth > 0 && t->depth <= SCOPES)
		return origin_pc(t->scopes[t->depth - 1].origin) == pc ?
		    t->scopes[t->depth - 1].type : 0;
	return t->debugdata.operator.pc == pc ? operator_type() : 0;
}

/* new[] and nothrow end in new: one request, one name. */
static NOINLINE void
note_operator(unsigned type, uintptr_t frame)
{
	struct debugdata_thread *d = &thread_self.debugdata;
	uintptr_t pc = origin_pc(frame);

	if (operator_type() != 0 &&
	    (range_has(&real.self, pc) || operator_has(pc)))
		return;
	d->operator.frame = frame;
	d->operator.pc = pc;
	d->operator.type = type;
}

static void *op_recorded[OPS];

#define RECORD_NEW(symbol, type, align, params, args) \
	static void *recorded##symbol params \
	{ \
		void *ptr; \
 \
		note_operator(type, FRAME); \
		ptr = ((void *(*) params)op_recorded[OP##symbol])args; \
		if (op_real[OP##symbol].bypass) \
			debugdata_allocated(ptr, size, type, FRAME); \
		FRAME_KEPT(); \
		return ptr; \
	}

#define RECORD_DELETE(symbol, type, params, args) \
	static void recorded##symbol params \
	{ \
		note_operator(type, FRAME); \
		if (op_real[OP##symbol].bypass) \
			debugdata_freeing(ptr, type, FRAME); \
		((void (*) params)op_recorded[OP##symbol])args; \
		FRAME_KEPT(); \
	}

NEWS(RECORD_NEW)
DELETES(RECORD_DELETE)

/* A scope's `fn` is the real operator, unless that bypasses malloc. */
void
operators_record(void)
{
	static void *const recorded[OPS] = {
#define RECORDED_OF(symbol, ...) (void *)recorded##symbol,
		NEWS(RECORDED_OF)
		DELETES(RECORDED_OF)
	};

	for (int i = 0; i < OPS; i++) {
		if (op_real[i].fn == NULL || op_real[i].fn == recorded[i])
			continue;
		op_recorded[i] = op_real[i].fn;
		op_real[i].call = recorded[i];
		if (op_real[i].bypass)
			op_real[i].fn = recorded[i];
	}
}
