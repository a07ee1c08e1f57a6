/*
 * Hooks for the linker's --wrap: they work with any libc, and in programs that
 * are linked statically.  libmdd(3) has the options to link with.
 */
#include <stdlib.h>

#include "target.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

#if defined(__linux__) || defined(_NEWLIB_VERSION)
#include <malloc.h>
#define ACTUAL(p) malloc_usable_size(p)
#else
#define ACTUAL(p) 0
#endif

/*
 * Calls of NAME come to WRAP(NAME) by --wrap=NAME; REAL(NAME) is the hidden
 * one.
 */
#define WRAP(name) __wrap_##name
#define REAL(name) __real_##name

static void *
allocated(void *p, size_t size, enum mdd_function function, uintptr_t caller)
{
	if (p != NULL)
		mdd_alloc(p, size, ACTUAL(p), function, caller);
	return p;
}

static size_t
product(size_t n, size_t size)
{
	return size != 0 && n > (size_t)-1 / size ? (size_t)-1 : n * size;
}

#ifndef _NEWLIB_VERSION

void *REAL(malloc)(size_t);
void *WRAP(malloc)(size_t);
void *
WRAP(malloc)(size_t size)
{
	return allocated(REAL(malloc)(size), size, MDD_MALLOC, CALLER);
}

void *REAL(calloc)(size_t, size_t);
void *WRAP(calloc)(size_t, size_t);
void *
WRAP(calloc)(size_t n, size_t size)
{
	return allocated(REAL(calloc)(n, size), product(n, size), MDD_CALLOC,
	    CALLER);
}

void REAL(free)(void *);
void WRAP(free)(void *);
void
WRAP(free)(void *p)
{
	mdd_free(p, MDD_FREE, CALLER);
	REAL(free)(p);
}

/* realloc(p, 0) that returns NULL has freed the block. */
void *REAL(realloc)(void *, size_t);
void *WRAP(realloc)(void *, size_t);
void *
WRAP(realloc)(void *p, size_t size)
{
	struct mdd_move m;
	void *q;

	mdd_move_begin(&m, p, MDD_REALLOC_FREE, CALLER);
	q = REAL(realloc)(p, size);
	mdd_move_end(&m, q != NULL || size == 0);
	return allocated(q, size, p != NULL ? MDD_REALLOC : MDD_MALLOC,
	    CALLER);
}

void *REAL(memalign)(size_t, size_t);
void *WRAP(memalign)(size_t, size_t);
void *
WRAP(memalign)(size_t align, size_t size)
{
	return allocated(REAL(memalign)(align, size), size, MDD_MEMALIGN,
	    CALLER);
}

void *REAL(aligned_alloc)(size_t, size_t);
void *WRAP(aligned_alloc)(size_t, size_t);
void *
WRAP(aligned_alloc)(size_t align, size_t size)
{
	return allocated(REAL(aligned_alloc)(align, size), size,
	    MDD_ALIGNED_ALLOC, CALLER);
}

int REAL(posix_memalign)(void **, size_t, size_t);
int WRAP(posix_memalign)(void **, size_t, size_t);
int
WRAP(posix_memalign)(void **p, size_t align, size_t size)
{
	int r = REAL(posix_memalign)(p, align, size);

	if (r == 0)
		allocated(*p, size, MDD_POSIX_MEMALIGN, CALLER);
	return r;
}

#else

/*
 * In newlib malloc() and its like call the functions below, and so does the
 * library itself.  malloc() and its like are wrapped too, so that the caller is
 * the program.
 *
 * The functions call each other: realloc() may call malloc() and free(), and
 * malloc() may free the rest of the heap's old end.  Only the outermost call
 * is an event. newlib's own recursive lock guards the depth; a program with
 * threads defines it.
 */
static unsigned depth;

static int
enter(struct _reent *r)
{
	__malloc_lock(r);
	return depth++ == 0;
}

static void
leave(struct _reent *r)
{
	depth--;
	__malloc_unlock(r);
}

/* Allocates `used` bytes; the block is recorded with `size` bytes. */
void *REAL(_malloc_r)(struct _reent *, size_t);
void *mdd_newlib_malloc(struct _reent *, size_t used, size_t size,
    enum mdd_function, uintptr_t caller);
void *
mdd_newlib_malloc(struct _reent *r, size_t used, size_t size,
    enum mdd_function function, uintptr_t caller)
{
	int outermost = enter(r);
	void *p = REAL(_malloc_r)(r, used);

	if (outermost)
		allocated(p, size, function, caller);
	leave(r);
	return p;
}

void REAL(_free_r)(struct _reent *, void *);
void mdd_newlib_free(struct _reent *, void *, enum mdd_function,
    uintptr_t caller);
void
mdd_newlib_free(struct _reent *r, void *p, enum mdd_function function,
    uintptr_t caller)
{
	if (enter(r))
		mdd_free(p, function, caller);
	REAL(_free_r)(r, p);
	leave(r);
}

void *REAL(_calloc_r)(struct _reent *, size_t, size_t);
static void *
cleared(struct _reent *r, size_t n, size_t size, uintptr_t caller)
{
	int outermost = enter(r);
	void *p = REAL(_calloc_r)(r, n, size);

	if (outermost)
		allocated(p, product(n, size), MDD_CALLOC, caller);
	leave(r);
	return p;
}

void *REAL(_memalign_r)(struct _reent *, size_t, size_t);
static void *
aligned(struct _reent *r, size_t align, size_t size, uintptr_t caller)
{
	int outermost = enter(r);
	void *p = REAL(_memalign_r)(r, align, size);

	if (outermost)
		allocated(p, size, MDD_MEMALIGN, caller);
	leave(r);
	return p;
}

void *REAL(_realloc_r)(struct _reent *, void *, size_t);
static void *
resized(struct _reent *r, void *p, size_t size, uintptr_t caller)
{
	int outermost = enter(r);
	struct mdd_move m;
	void *q;

	if (outermost)
		mdd_move_begin(&m, p, MDD_REALLOC_FREE, caller);
	q = REAL(_realloc_r)(r, p, size);
	if (outermost) {
		mdd_move_end(&m, q != NULL || size == 0);
		allocated(q, size, p != NULL ? MDD_REALLOC : MDD_MALLOC,
		    caller);
	}
	leave(r);
	return q;
}

void *WRAP(_malloc_r)(struct _reent *, size_t);
void *
WRAP(_malloc_r)(struct _reent *r, size_t size)
{
	return mdd_newlib_malloc(r, size, size, MDD_MALLOC, CALLER);
}

void *WRAP(malloc)(size_t);
void *
WRAP(malloc)(size_t size)
{
	return mdd_newlib_malloc(_REENT, size, size, MDD_MALLOC, CALLER);
}

void WRAP(_free_r)(struct _reent *, void *);
void
WRAP(_free_r)(struct _reent *r, void *p)
{
	mdd_newlib_free(r, p, MDD_FREE, CALLER);
}

void WRAP(free)(void *);
void
WRAP(free)(void *p)
{
	mdd_newlib_free(_REENT, p, MDD_FREE, CALLER);
}

void *WRAP(_calloc_r)(struct _reent *, size_t, size_t);
void *
WRAP(_calloc_r)(struct _reent *r, size_t n, size_t size)
{
	return cleared(r, n, size, CALLER);
}

void *WRAP(calloc)(size_t, size_t);
void *
WRAP(calloc)(size_t n, size_t size)
{
	return cleared(_REENT, n, size, CALLER);
}

void *WRAP(_memalign_r)(struct _reent *, size_t, size_t);
void *
WRAP(_memalign_r)(struct _reent *r, size_t align, size_t size)
{
	return aligned(r, align, size, CALLER);
}

void *WRAP(memalign)(size_t, size_t);
void *
WRAP(memalign)(size_t align, size_t size)
{
	return aligned(_REENT, align, size, CALLER);
}

void *WRAP(_realloc_r)(struct _reent *, void *, size_t);
void *
WRAP(_realloc_r)(struct _reent *r, void *p, size_t size)
{
	return resized(r, p, size, CALLER);
}

void *WRAP(realloc)(void *, size_t);
void *
WRAP(realloc)(void *p, size_t size)
{
	return resized(_REENT, p, size, CALLER);
}
#endif
