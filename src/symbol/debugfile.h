/*
 * debugfile: the file of its own that holds a stripped file's symbols.
 *
 * It is looked for by build id under /usr/lib/debug/.build-id, then, by the
 * name in .gnu_debuglink, beside the file, in .debug beside it, and under
 * /usr/lib/debug.  It is taken only if it was made from this very file: by
 * the build id of both, or where there is none by the checksum in the link.
 * Never from a network.
 */
#ifndef SYMBOL_DEBUGFILE_H
#define SYMBOL_DEBUGFILE_H

#ifdef HAVE_ELFUTILS
#include <libelf.h>

/* A descriptor for the caller to close, or -ENOENT. */
int debugfile_open(Elf *elf, int fd, const char *name);
#endif

#endif
