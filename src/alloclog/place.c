/*
 * Where a node may listen.  Only system calls and no memory: this runs before
 * the program's first allocation.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/syscalls.h"
#include "place.h"

#define PLACE_PATH sizeof(((struct sockaddr_un *)0)->sun_path)

extern void *__libc_stack_end __attribute__((weak));

/*
 * Before libc has set `environ`, in the program's own .preinit_array say, the
 * strings are still to be found where the kernel put them: argc, the
 * arguments, NULL, the environment.
 */
static const char *
early_getenv(const char *name)
{
	size_t len = strlen(name);
	void **at;

	if (&__libc_stack_end == NULL || __libc_stack_end == NULL ||
	    getauxval(AT_SECURE) != 0)
		return NULL;
	at = __libc_stack_end;
	for (at += (size_t)(uintptr_t)*at + 2; *at != NULL; at++)
		if (strncmp(*at, name, len) == 0 &&
		    ((const char *)*at)[len] == '=')
			return (const char *)*at + len + 1;
	return NULL;
}

static const char *
get_env(const char *name)
{
	return environ != NULL ? secure_getenv(name) : early_getenv(name);
}

/*
 * Appends to the path; false when it does not fit.  No stdio: it could ask for
 * memory.
 */
static bool
append(char path[PLACE_PATH], const char *text)
{
	size_t have = strlen(path), len = strlen(text);

	if (len >= PLACE_PATH - have)
		return false;
	memcpy(path + have, text, len + 1);
	return true;
}

static bool
append_number(char path[PLACE_PATH], unsigned long n)
{
	char digits[24], *at = digits + sizeof(digits);

	*--at = '\0';
	do
		*--at = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	return append(path, at);
}

static bool
place_named(char *path)
{
	const char *name = get_env("PAGEK_NODE");

	return name != NULL && name[0] != '\0' && append(path, name);
}

static bool
place_runtime(char *path)
{
	const char *run = get_env("XDG_RUNTIME_DIR");

	return run != NULL && run[0] == '/' && append(path, run) &&
	    append(path, "/pagek/node.hello");
}

/* Where everybody may make folders only one that is ours alone is of use. */
static bool
place_tmp(char *path)
{
	struct stat st;

	return append(path, "/tmp/pagek-") &&
	    append_number(path, call_geteuid()) && call_lstat(path, &st) == 0 &&
	    S_ISDIR(st.st_mode) && st.st_uid == call_geteuid() &&
	    (st.st_mode & 077) == 0 && append(path, "/node.hello");
}

/* Below a folder that is root's. */
static bool
place_system(char *path)
{
	return append(path, "/run/pagek/node.hello");
}

/*
 * Where a node may be, in the order in which they are tried.  Who is told a
 * place keeps to it.
 */
static const struct place {
	bool (*path)(char *);
	bool told;
	bool any_peer;	/* the path says enough of who made the socket */
} places[] = {
	{ place_named, true, false },
	{ place_runtime, false, false },
	{ place_tmp, false, false },
	{ place_system, false, true },
};

#define PLACES (sizeof(places) / sizeof(places[0]))

static const struct place *place;	/* the last one given; kept by a fork, whatever the child unsets */

bool
place_next(struct sockaddr_un *to)
{
	const char *named = get_env("PAGEK_NODE");
	size_t i = place == NULL ? 0 : (size_t)(place - places) + 1;

	for (; i < PLACES; i++) {
		/* Set and empty: no node is wanted. */
		if (!places[i].told && named != NULL)
			break;
		to->sun_path[0] = '\0';
		if (!places[i].path(to->sun_path))
			continue;
		to->sun_family = AF_UNIX;
		place = &places[i];
		return true;
	}
	place = NULL;
	return false;
}

bool
place_known(void)
{
	return place != NULL;
}

bool
place_vouches(void)
{
	return place->any_peer;
}
