/*
 * elf_read: numbers of ELF files, of either word size and byte order.
 *
 * Example
 *	struct elf_file e = { .fd = fd };
 *	uint8_t ehdr[sizeof(Elf64_Ehdr)];
 *	if (elf_open(&e, ehdr) == 0)
 *		n = EHDR(&e, ehdr, e_phnum);
 */
#ifndef MDD_ELF_READ_H
#define MDD_ELF_READ_H

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "../../base/base.h"

/* Bytes of a file by offset: in memory, or still to be read. */
struct elf_file {
	const uint8_t *bytes;
	uint64_t len;
	int fd;			/* -1: all is in memory */
	bool wide, big;		/* 64 bits; the highest byte first: set by elf_open() */
};

static inline bool
elf_bytes(const struct elf_file *e, uint64_t at, uint8_t *out, size_t len)
{
	if (at <= e->len && len <= e->len - at) {
		memcpy(out, e->bytes + at, len);
		return true;
	}
	return e->fd >= 0 && at <= INT64_MAX &&
	    pread(e->fd, out, len, (off_t)at) == (ssize_t)len;
}

static inline uint64_t
elf_number(const struct elf_file *e, const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	if (!e->big)
		return base_get_le(p, n);
	for (unsigned i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

/* A field of a header that lies at `p`, by its offset in 32 and 64 bits. */
static inline uint64_t
elf_field(const struct elf_file *e, const uint8_t *p, unsigned at32, unsigned at64,
    unsigned n32, unsigned n64)
{
	return e->wide ? elf_number(e, p + at64, n64) : elf_number(e, p + at32, n32);
}

#define EHDR(e, p, m) elf_field(e, p, offsetof(Elf32_Ehdr, m), \
	offsetof(Elf64_Ehdr, m), sizeof ((Elf32_Ehdr *)0)->m, \
	sizeof ((Elf64_Ehdr *)0)->m)
#define PHDR(e, p, m) elf_field(e, p, offsetof(Elf32_Phdr, m), \
	offsetof(Elf64_Phdr, m), sizeof ((Elf32_Phdr *)0)->m, \
	sizeof ((Elf64_Phdr *)0)->m)
#define SHDR(e, p, m) elf_field(e, p, offsetof(Elf32_Shdr, m), \
	offsetof(Elf64_Shdr, m), sizeof ((Elf32_Shdr *)0)->m, \
	sizeof ((Elf64_Shdr *)0)->m)

/* Reads its header.  -EBADMSG: it is no ELF file. */
static inline int
elf_open(struct elf_file *e, uint8_t ehdr[static sizeof(Elf64_Ehdr)])
{
	if (!elf_bytes(e, 0, ehdr, EI_NIDENT) ||
	    memcmp(ehdr, ELFMAG, SELFMAG) != 0 ||
	    (ehdr[EI_CLASS] != ELFCLASS32 && ehdr[EI_CLASS] != ELFCLASS64) ||
	    (ehdr[EI_DATA] != ELFDATA2LSB && ehdr[EI_DATA] != ELFDATA2MSB))
		return -EBADMSG;
	e->wide = ehdr[EI_CLASS] == ELFCLASS64;
	e->big = ehdr[EI_DATA] == ELFDATA2MSB;
	return elf_bytes(e, 0, ehdr, e->wide ? sizeof(Elf64_Ehdr) :
	    sizeof(Elf32_Ehdr)) ? 0 : -EBADMSG;
}

#endif
