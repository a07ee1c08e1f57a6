/*
 * deep: a plugin in C that allocates in each way that binds to libc when it is
 * loaded with RTLD_DEEPBIND: in its constructor, by a pointer that was copied
 * before it, at the first call of a function, and by dlsym(3) with libc's
 * handle.
 *
 * The same addresses are used again and again, so that a free that is not seen
 * makes a duplicate.  run() returns the blocks that it keeps, of KEPT bytes.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 500
#define KEPT 7001

static void *(*const volatile copied_malloc)(size_t) = malloc;
static void (*const volatile copied_free)(void *) = free;
static void *early[BLOCKS];

int run(void);
extern int (*plugin_run)(void) __attribute__((weak));

__attribute__((constructor)) static void
begin(void)
{
	if (&plugin_run != NULL)
		plugin_run = run;
	for (int i = 0; i < BLOCKS; i++)
		early[i] = malloc(4000);
}

int
run(void)
{
	void *libc = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD), *p;
	void (*free_by_handle)(void *);
	int kept = 0;

	*(void **)&free_by_handle = dlsym(libc, "free");
	for (int i = 0; i < BLOCKS; i++)
		(i % 2 ? copied_free : free_by_handle)(early[i]);
	for (int i = 0; i < BLOCKS; i++)
		early[i] = i % 2 ? copied_malloc(4000) : calloc(40, 100);
	for (int i = 0; i < BLOCKS; i++)
		early[i] = i % 2 ? realloc(early[i], 6000) :
		    reallocarray(early[i], 60, 100);
	for (int i = 0; i < BLOCKS; i++)
		free(early[i]);
	kept += malloc(KEPT) != NULL;
	kept += posix_memalign(&p, 64, KEPT) == 0;
	kept += memalign(64, KEPT) != NULL;
	kept += aligned_alloc(64, KEPT) != NULL;
	kept += valloc(KEPT) != NULL;
	kept += pvalloc(KEPT) != NULL;
	free(strdup("freed by another way"));
	dlclose(libc);
	return kept;
}
