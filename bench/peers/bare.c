/*
 * A preload whose malloc and free do nothing but go on to the real ones: what
 * it costs that there is a function in front of them at all.  No monitor that
 * stands there can cost less.  With IDLE each of them has so many instructions
 * before that, which do nothing: what it costs that there are any.
 */
#include <dlfcn.h>
#include <stdlib.h>

#ifdef IDLE
#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
/* Of a kind that the processor does not leave out, where one is known. */
#ifdef __x86_64__
#define NOTHING "test %%eax, %%eax"
#else
#define NOTHING "nop"
#endif
#define DO_NOTHING() \
	__asm__ volatile(".rept " TEXT(IDLE) "\n\t" NOTHING "\n\t.endr" \
	    : : : "cc")
#else
#define DO_NOTHING() (void)0
#endif

static struct {
	void *(*malloc)(size_t);
	void (*free)(void *);
} real;

/* Before the program's own constructors, one of which may allocate. */
__attribute__((constructor)) static void
look_up(void)
{
	*(void **)&real.malloc = dlsym(RTLD_NEXT, "malloc");
	*(void **)&real.free = dlsym(RTLD_NEXT, "free");
}

void *
malloc(size_t size)
{
	if (__builtin_expect(real.malloc == NULL, 0))
		look_up();
	DO_NOTHING();
	return real.malloc(size);
}

void
free(void *ptr)
{
	if (__builtin_expect(real.free == NULL, 0))
		look_up();
	DO_NOTHING();
	real.free(ptr);
}
