/*
 * Hooks for the linker's --wrap: they work with any libc, and in programs that
 * are linked statically.  libmdd(3) has the options to link with.
 */
#include <stdlib.h>

#include "target.h"

#define CALLER ((uintptr_t)__builtin_return_address(0))

#ifdef __linux__
#include <malloc.h>
#define ACTUAL(p) malloc_usable_size(p)
#else
#define ACTUAL(p) 0
#endif

/* NAME is the one that --wrap=NAME leads to us; REAL what it hid. */
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
/* --- the malloc family --------------------------------------------------- */

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
/* --- newlib -------------------------------------------------------------- */

/*
 * There malloc() and its like call these, and so does the library itself.  The
 * program's own calls are wrapped too, so that the caller is the program's.
 */

void *REAL(_malloc_r)(struct _reent *, size_t);
void *WRAP(_malloc_r)(struct _reent *, size_t);
void *
WRAP(_malloc_r)(struct _reent *r, size_t size)
{
	return allocated(REAL(_malloc_r)(r, size), size, MDD_MALLOC, CALLER);
}

void *REAL(_calloc_r)(struct _reent *, size_t, size_t);
void *WRAP(_calloc_r)(struct _reent *, size_t, size_t);
void *
WRAP(_calloc_r)(struct _reent *r, size_t n, size_t size)
{
	return allocated(REAL(_calloc_r)(r, n, size), product(n, size),
	    MDD_CALLOC, CALLER);
}

void REAL(_free_r)(struct _reent *, void *);
void WRAP(_free_r)(struct _reent *, void *);
void
WRAP(_free_r)(struct _reent *r, void *p)
{
	mdd_free(p, MDD_FREE, CALLER);
	REAL(_free_r)(r, p);
}

void *REAL(_realloc_r)(struct _reent *, void *, size_t);

static void *
resize(struct _reent *r, void *p, size_t size, uintptr_t caller)
{
	struct mdd_move m;
	void *q;

	mdd_move_begin(&m, p, MDD_REALLOC_FREE, caller);
	q = REAL(_realloc_r)(r, p, size);
	mdd_move_end(&m, q != NULL || size == 0);
	return allocated(q, size, p != NULL ? MDD_REALLOC : MDD_MALLOC,
	    caller);
}

void *WRAP(_realloc_r)(struct _reent *, void *, size_t);
void *
WRAP(_realloc_r)(struct _reent *r, void *p, size_t size)
{
	return resize(r, p, size, CALLER);
}

void *WRAP(malloc)(size_t);
void *
WRAP(malloc)(size_t size)
{
	return allocated(REAL(_malloc_r)(_REENT, size), size, MDD_MALLOC,
	    CALLER);
}

void *WRAP(calloc)(size_t, size_t);
void *
WRAP(calloc)(size_t n, size_t size)
{
	return allocated(REAL(_calloc_r)(_REENT, n, size), product(n, size),
	    MDD_CALLOC, CALLER);
}

void WRAP(free)(void *);
void
WRAP(free)(void *p)
{
	mdd_free(p, MDD_FREE, CALLER);
	REAL(_free_r)(_REENT, p);
}

void *WRAP(realloc)(void *, size_t);
void *
WRAP(realloc)(void *p, size_t size)
{
	return resize(_REENT, p, size, CALLER);
}
#endif
