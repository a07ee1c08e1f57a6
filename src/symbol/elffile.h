/*
 * elffile: what symfile keeps of an ELF file, and how it is read.
 *
 * The reader trusts nothing: every size is bounded before it is believed,
 * every name ends within its table.  What makes no sense is left out.
 */
#ifndef SYMBOL_ELFFILE_H
#define SYMBOL_ELFFILE_H

#include <stddef.h>
#include <stdint.h>

struct elf_function {
	uint64_t start, end;	/* virtual addresses */
	uint32_t name;		/* offset in names */
	uint32_t rank;		/* of names for one address, the lowest is shown */
};

struct elf_segment {
	uint64_t offset, size;	/* in the file */
	uint64_t vaddr;
};

struct elf_functions {
	struct elf_function *fn;	/* ascending by start, no two alike */
	size_t nfn;
	char *names;
	struct elf_segment *seg;
	size_t nseg;
};

/*
 * Fills *out from the open file and, where it was stripped, from its debug
 * file, looked for around `name`.  -ENOEXEC when there is no function, -ENOMEM.
 */
int elf_functions_read(struct elf_functions *out, int fd, const char *name);
void elf_functions_fini(struct elf_functions *);

#endif
