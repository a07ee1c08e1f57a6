/*
 * plugins FOLDER: loads libchain_a.so, uses it, unloads it, and loads
 * libchain_b.so, whose code is as long and comes to lie in the same place.
 * Blocks of the first keep its names.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "chain.h"

static void
touch(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

APART void *
host_allocate(size_t n)
{
	void *p;

	KEEP(p, malloc(n));
	touch(p);
	return p;
}

APART static uintptr_t
use(const char *folder, const char *which)
{
	void *(*run)(size_t) = NULL;
	char path[1000];
	void *lib, *p;

	snprintf(path, sizeof(path), "%s/libchain_%s.so", folder, which);
	lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (lib != NULL)
		*(void **)&run = dlsym(lib, "run");
	if (run == NULL) {
		dprintf(2, "%s\n", dlerror());
		exit(2);
	}
	for (size_t n = 0; n < 3; n++)
		THROUGH(p = run(60 + n));
	touch(p);
	dlclose(lib);
	return (uintptr_t)run;
}

int
main(int argc, char **argv)
{
	char self[1000];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	uintptr_t a, b;

	self[n > 0 ? n : 0] = '\0';
	for (char *p = self; *p != '\0'; p++)
		if (*p == '/')
			n = p - self;
	self[n] = '\0';
	for (int round = 0; round < 3; round++) {
		chain_case("plugin a");
		THROUGH(a = use(argc > 1 ? argv[1] : self, "a"));
		chain_case("plugin b");
		THROUGH(b = use(argc > 1 ? argv[1] : self, "b"));
		if (a != b)
			dprintf(2, "chain: the plugins did not come to one place\n");
	}
	chain_tell_and_wait();
	return 0;
}
