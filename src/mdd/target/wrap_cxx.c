/*
 * Hooks for the linker's --wrap: the usual C++ operators, which call malloc() and
 * free().  Programs that define operators of their own do not wrap these.
 */
#include <stdlib.h>

#include "target.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

#define PASTE(a, b, c) a##b##c
/* The compiler's letter for size_t is in the operators' names. */
#ifdef __LP64__
#define NAME(prefix, new, rest) PASTE(prefix##new, m, rest)
#else
#define NAME(prefix, new, rest) PASTE(prefix##new, j, rest)
#endif

/*
 * The usual operator new, which calls malloc().  If that fails, the real
 * operator tries again and throws.
 */
#ifdef _NEWLIB_VERSION
void *mdd_newlib_malloc(struct _reent *, size_t used, size_t size,
    enum mdd_function, uintptr_t caller);
void mdd_newlib_free(struct _reent *, void *, enum mdd_function,
    uintptr_t caller);

static void *
allocate(size_t size, enum mdd_function function, uintptr_t caller)
{
	return mdd_newlib_malloc(_REENT, size != 0 ? size : 1, size, function,
	    caller);
}

static void
release(void *p, enum mdd_function function, uintptr_t caller)
{
	mdd_newlib_free(_REENT, p, function, caller);
}
#else
#ifdef __linux__
#include <malloc.h>
#define ACTUAL(p) malloc_usable_size(p)
#else
#define ACTUAL(p) 0
#endif

void *__real_malloc(size_t);
void __real_free(void *);

static void *
allocate(size_t size, enum mdd_function function, uintptr_t caller)
{
	void *p = __real_malloc(size != 0 ? size : 1);

	if (p != NULL)
		mdd_alloc(p, size, ACTUAL(p), function, caller);
	return p;
}

static void
release(void *p, enum mdd_function function, uintptr_t caller)
{
	mdd_free(p, function, caller);
	__real_free(p);
}
#endif

#define OPERATOR_NEW(new, function) \
	void *NAME(__real_, new, )(size_t); \
	void *NAME(__wrap_, new, )(size_t); \
	void *NAME(__wrap_, new, )(size_t size) \
	{ \
		void *p = allocate(size, function, CALLER); \
\
		return p != NULL ? p : NAME(__real_, new, )(size); \
	}
#define OPERATOR_NEW_NOTHROW(new, function) \
	void *NAME(__real_, new, RKSt9nothrow_t)(size_t, const void *); \
	void *NAME(__wrap_, new, RKSt9nothrow_t)(size_t, const void *); \
	void *NAME(__wrap_, new, RKSt9nothrow_t)(size_t size, \
	    const void *nothrow) \
	{ \
		void *p = allocate(size, function, CALLER); \
\
		return p != NULL ? p : \
		    NAME(__real_, new, RKSt9nothrow_t)(size, nothrow); \
	}
#define OPERATOR_DELETE(name, function, arguments) \
	void __wrap_##name arguments; \
	void __wrap_##name arguments \
	{ \
		release(p, function, CALLER); \
	}

OPERATOR_NEW(_Znw, MDD_NEW)
OPERATOR_NEW(_Zna, MDD_NEW_ARRAY)
OPERATOR_NEW_NOTHROW(_Znw, MDD_NEW_NOTHROW)
OPERATOR_NEW_NOTHROW(_Zna, MDD_NEW_ARRAY_NOTHROW)
OPERATOR_DELETE(_ZdlPv, MDD_DELETE, (void *p))
OPERATOR_DELETE(_ZdaPv, MDD_DELETE_ARRAY, (void *p))
OPERATOR_DELETE(_ZdlPvRKSt9nothrow_t, MDD_DELETE, (void *p, const void *nothrow __attribute__((unused))))
OPERATOR_DELETE(_ZdaPvRKSt9nothrow_t, MDD_DELETE_ARRAY, (void *p, const void *nothrow __attribute__((unused))))
#ifdef __LP64__
OPERATOR_DELETE(_ZdlPvm, MDD_DELETE, (void *p, size_t n __attribute__((unused))))
OPERATOR_DELETE(_ZdaPvm, MDD_DELETE_ARRAY, (void *p, size_t n __attribute__((unused))))
#else
OPERATOR_DELETE(_ZdlPvj, MDD_DELETE, (void *p, size_t n __attribute__((unused))))
OPERATOR_DELETE(_ZdaPvj, MDD_DELETE_ARRAY, (void *p, size_t n __attribute__((unused))))
#endif
