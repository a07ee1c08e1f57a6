/*
 * keeps: a program with a dlsym(3) of its own that keeps a block of each call.
 * Those that it makes for the shim's look-ups are served by the shim's pool;
 * they are reallocated and freed when the shim has long found everything.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEPT 64

static char *kept[KEPT];
static unsigned n;

/* Whoever asks for the next of a name is asking for libc's. */
void *
dlsym(void *handle, const char *name)
{
	static void *(*real)(void *, const char *);
	static void *libc;

	if (libc == NULL)
		libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	if (real == NULL)
		*(void **)&real = dlvsym(libc, "dlsym", "GLIBC_2.2.5");
	if (n < KEPT && (kept[n] = malloc(40)) != NULL)
		strcpy(kept[n++], "kept");
	return real(handle == RTLD_NEXT ? libc : handle, name);
}

int
main(void)
{
	unsigned same = 0;

	for (int i = 0; i < 10000; i++)
		free(malloc(100));
	for (unsigned i = 0; i < n; i++) {
		if (i % 2 == 0)
			kept[i] = realloc(kept[i], 50);
		same += strcmp(kept[i], "kept") == 0;
		free(kept[i]);
	}
	for (int i = 0; i < 10000; i++)
		free(malloc(100));
	return printf("kept=%u\nsame=%d\n", n, same == n) < 0;
}
