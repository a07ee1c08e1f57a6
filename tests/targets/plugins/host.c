/*
 * host WHAT LIBRARY...: a program that is not C++ and loads plugins that are.
 * Each defines int run(void).
 *
 *	open	loads them and prints what the run() of each says
 *	deep	the same with RTLD_DEEPBIND
 *	apart	the same with a namespace of its own for each
 *	error	runs the first between a dlopen(3) that fails and its dlerror(3)
 *	turns	loads each in turn, runs and unloads it, and prints whether it
 *		is loaded still and whether it lay where the one before did
 *	hold	runs the first, prints held= and what it says, waits to be killed
 *
 * With TOLD, each plugin registers its run(), and the program does not use dlsym(3).
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef int run_fn(void);

#ifdef TOLD
extern run_fn *plugin_run;
run_fn *plugin_run;
#define dlsym(lib, name) ((void)(lib), (void)(name), (void *)plugin_run)
#endif

static run_fn *
run_of(void *lib)
{
	run_fn *run = NULL;

	if (lib != NULL)
		*(void **)&run = dlsym(lib, "run");
	if (run == NULL) {
		dprintf(2, "%s\n", dlerror());
		_exit(2);
	}
	return run;
}

static void
in_turn(char **paths)
{
	void *lib, *before = NULL, *at;
	Dl_info info;

	for (; *paths != NULL; paths++) {
		lib = dlopen(*paths, RTLD_NOW | RTLD_LOCAL);
		dprintf(1, "run=%d\n", run_of(lib)());
		at = dladdr(dlsym(lib, "run"), &info) ? info.dli_fbase : NULL;
		dprintf(1, "same place=%d\n", at == before);
		before = at;
		dlclose(lib);
		lib = dlopen(*paths, RTLD_NOW | RTLD_NOLOAD);
		dprintf(1, "stays=%d\n", lib != NULL);
	}
}

static void
with_an_error(const char *path)
{
	run_fn *run = run_of(dlopen(path, RTLD_NOW));
	const char *why;
	int got;

	if (dlopen("/no/such/plugin", RTLD_NOW) != NULL)
		return;
	got = run();
	why = dlerror();
	dprintf(1, "run=%d\nerror=%s\n", got, why != NULL ? why : "none");
}

int
main(int argc, char **argv)
{
	if (argc < 3)
		return 1;
	if (strcmp(argv[1], "open") == 0)
		for (int i = 2; i < argc; i++)
			dprintf(1, "run=%d\n",
			    run_of(dlopen(argv[i], RTLD_NOW))());
	else if (strcmp(argv[1], "deep") == 0)
		for (int i = 2; i < argc; i++)
			dprintf(1, "run=%d\n", run_of(dlopen(argv[i],
			    RTLD_LAZY | RTLD_DEEPBIND))());
	else if (strcmp(argv[1], "apart") == 0)
		for (int i = 2; i < argc; i++)
			dprintf(1, "run=%d\n", run_of(dlmopen(LM_ID_NEWLM,
			    argv[i], RTLD_NOW))());
	else if (strcmp(argv[1], "error") == 0)
		with_an_error(argv[2]);
	else if (strcmp(argv[1], "turns") == 0)
		in_turn(argv + 2);
	else if (strcmp(argv[1], "hold") == 0) {
		dprintf(1, "held=%d\n", run_of(dlopen(argv[2], RTLD_NOW))());
		pause();
	} else
		return 1;
	return 0;
}
