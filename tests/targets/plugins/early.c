/* A library whose constructor loads the plugin that PLUGIN names, and runs it. */
#include <dlfcn.h>
#include <stdlib.h>

int early_run;

__attribute__((constructor)) static void
begin(void)
{
	void *lib = dlopen(getenv("PLUGIN"), RTLD_LAZY);
	int (*run)(void) = NULL;

	if (lib != NULL)
		*(void **)&run = dlsym(lib, "run");
	early_run = run != NULL ? run() : -1;
}
