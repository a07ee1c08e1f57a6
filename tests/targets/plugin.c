/*
 * plugin LIBRARY [TIMES]: a C program that loads a C++ plugin, calls its
 * int run(void), which allocates with new, and unloads it again.
 *
 * Prints run=N, what the plugin returned the last time, and clean=1 if no
 * message of somebody else's was left for dlerror(3).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	int times = argc > 2 ? atoi(argv[2]) : 2, got = -1;
	int clean = dlerror() == NULL;

	for (int i = 0; i < times && argc > 1; i++) {
		void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		int (*run)(void) = NULL;

		if (lib != NULL)
			*(void **)&run = dlsym(lib, "run");
		if (run == NULL) {
			dprintf(2, "%s\n", dlerror());
			return 2;
		}
		got = run();
		clean &= dlerror() == NULL;
		dlclose(lib);
	}
	dprintf(1, "run=%d\nclean=%d\n", got, clean);
	return 0;
}
