/*
 * secure LIBRARY: loads the library itself, for the loader drops a preload
 * from a set-user-ID program, and says hello if anything does.
 *
 * Prints secure=0|1 and loaded=0|1.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <sys/auxv.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	void (*mark)(const char *) = NULL;

	if (lib != NULL)
		*(void **)&mark = dlsym(lib, "alloclog_mark");
	if (mark != NULL)
		mark("here");
	dprintf(1, "secure=%d\nloaded=%d\n", getauxval(AT_SECURE) != 0,
	    mark != NULL);
	return 0;
}
