/*
 * symfile: the functions of one ELF file, found by the file offset of an
 * instruction.
 *
 * Vocabulary
 *	file offset	where an address stands in the file; the segments say
 *			which virtual address the file gives it.
 *	known		the same file: the inode that the target's mappings
 *			named, not changed since they were read.  An inode
 *			alone could have been given to another file since.
 *	debug file	a file of its own with the symbols that were stripped,
 *			named by .gnu_debuglink or by the build id.
 *
 * Files are shared: targets of one node run the same libraries, and each of
 * them is read once.  All functions may be called by any thread.  Nothing
 * here holds a descriptor or a mapping once it returns, so that a file may be
 * changed or cut under it without harm.
 *
 * Without elfutils no file has a function.
 */
#ifndef SYMBOL_SYMFILE_H
#define SYMBOL_SYMFILE_H

#include <stdint.h>

struct symfile;

struct symfile_known {
	uint64_t inode;
	int64_t unchanged_since;	/* wall clock, ns since 1970; INT64_MAX: whenever */
};

/*
 * Reads the functions of the file at path; `name` is where the target has it,
 * and with it the place where its debug file is looked for.  -ENOENT when it
 * is not there or not the one known; -EMFILE, -ENOMEM and the like when it is
 * worth another try.  A file without functions, or damaged, is no failure.
 */
int symfile_open(struct symfile **, const char *path, const char *name,
    const struct symfile_known *);

struct symfile *symfile_share(struct symfile *);
void symfile_close(struct symfile *);

/*
 * The function at the file offset: borrowed, mangled.  NULL when there is
 * none, or when the nearest one ends before it.
 */
const char *symfile_function(const struct symfile *, uint64_t offset);

#endif
