#include "demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/*
 * A mangled name refers back to its own parts, and parts that refer to parts
 * double: a hundred bytes can stand for gigabytes.  With R references the
 * result is at most some 3^(R/3) times the name.  No such bound is to be had
 * from the runtime, so names of more are left alone.
 */
#define REFERENCES_MAX 24
#define MANGLED_MAX 1024

typedef char *demangle_fn(const char *, char *, size_t *, int *);

static demangle_fn *runtime;
static pthread_once_t runtime_once = PTHREAD_ONCE_INIT;

static void
runtime_load(void)
{
	void *lib = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
	void *fn = lib == NULL ? NULL : dlsym(lib, "__cxa_demangle");

	/* POSIX lets a function be found as an object, C does not say how. */
	memcpy(&runtime, &fn, sizeof(runtime));
}

/* What might be S_, S0_, T_, T0_ ...: more than there are, never fewer. */
static unsigned
count_references(const char *name)
{
	unsigned n = 0;

	for (; *name != '\0'; name++) {
		char next = name[1];

		if ((*name == 'S' || *name == 'T') &&
		    (next == '_' || (next >= '0' && next <= '9') ||
		    (next >= 'A' && next <= 'Z')))
			n++;
	}
	return n;
}

char *
demangle(const char *name)
{
	if (name[0] != '_' || name[1] != 'Z' || strlen(name) > MANGLED_MAX ||
	    count_references(name) > REFERENCES_MAX)
		return NULL;
	pthread_once(&runtime_once, runtime_load);
	if (runtime == NULL)
		return NULL;
	return runtime(name, NULL, NULL, NULL);
}
