/*
 * Names as their programs write them: of C++ and of Rust, by libiberty, where
 * it was there at build time.
 *
 * A hundred bytes of a mangled name can stand for gigabytes.  The reader's
 * limits of memory and time are what holds that, not a rule about names.
 */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

/* No compiler writes longer ones. */
#define MANGLED_MAX 16384

bool
symread_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' ||
	    name[1] == 'D');
}

#ifdef HAVE_IBERTY

/* Without HAVE_DECL_BASENAME its header would declare one of its own. */
#include <libiberty/demangle.h>

static char *
demangle(const char *name)
{
	if (!symread_is_mangled(name) || strlen(name) > MANGLED_MAX)
		return NULL;
	return cplus_demangle(name, DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
}

#else

static char *
demangle(const char *name)
{
	(void)name;
	return NULL;
}

#endif

/* "name@VERSION" is what the linker calls it, not the program. */
char *
symread_demangle(const char *name)
{
	size_t len = strcspn(name, "@");
	char *plain, *bare;

	if (len == 0)
		len = strlen(name);
	if (len > MANGLED_MAX)
		len = MANGLED_MAX;
	if ((bare = strndup(name, len)) == NULL)
		return NULL;
	if ((plain = demangle(bare)) == NULL)
		return bare;
	free(bare);
	return plain;
}
