/*
 * objects: what the objects of a process define, without the loader's lock.
 * Private to the target side.
 *
 * dlsym(3) takes the lock that dlopen(3) holds while constructors run, and
 * forgets what dlerror(3) was to tell.  What is here reads the objects' own
 * tables, under the lock that guards the list of them and nothing else.
 *
 * Vocabulary
 *	object		the program or a library, as the loader has mapped it.
 *	needs		an object needs what its tables name as such, and what
 *			that needs in turn.
 *
 * Example
 *	static const char *const names[] = { "_Znwm", "_ZdlPv" };
 *	void *fns[2];
 *	struct range whose;
 *
 *	if (objects_find((uintptr_t)caller, (uintptr_t)names, names, 2, fns,
 *	    &whose) == 0 && fns[0] != NULL)
 *		...
 */
#ifndef ALLOCLOG_OBJECTS_H
#define ALLOCLOG_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct range {
	uintptr_t lo;
	uintptr_t size;
};

static inline bool
range_has(const struct range *r, uintptr_t addr)
{
	return addr - r->lo < r->size;
}

/*
 * Sets fns[i] to the function names[i] that code at `at` would find if the object
 * that `but` lies in were not there; NULL where there is none.  Asked are the
 * first object that needs the caller's or is it, and all which that one needs,
 * nearest first; then later ones that need the caller's; then any other, in the
 * order in which they were loaded.  (The loader asks those before that were
 * opened for all, with RTLD_GLOBAL.  Which these are is not to be read.)
 * *whose is the object that `at` lies in, of size 0 where there is none.
 *
 * Addresses hold until something is unloaded.  Takes no memory of the
 * program's and keeps errno.  -ENOMEM where the kernel gives none.
 */
int objects_find(uintptr_t at, uintptr_t but, const char *const *names,
    unsigned count, void **fns, struct range *whose);

#pragma GCC visibility pop

#endif
