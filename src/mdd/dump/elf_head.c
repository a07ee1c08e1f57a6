/* The head of an ELF file of any machine: its kind, base and build id. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../base/base.h"
#include "dump.h"

#define HEADS_MAX 512		/* segments or sections that are looked at */
#define NOTES_MAX (64u << 10)

/* Bytes of a file by offset: in memory, or still to be read. */
struct elf {
	const uint8_t *bytes;
	uint64_t len;
	int fd;			/* -1: all is in memory */
	bool wide, big;
};

static bool
get_bytes(const struct elf *e, uint64_t at, uint8_t *out, size_t len)
{
	if (at <= e->len && len <= e->len - at) {
		memcpy(out, e->bytes + at, len);
		return true;
	}
	return e->fd >= 0 && at <= INT64_MAX &&
	    pread(e->fd, out, len, (off_t)at) == (ssize_t)len;
}

static uint64_t
number(const struct elf *e, const uint8_t *p, unsigned n)
{
	uint64_t v = 0;

	if (!e->big)
		return base_get_le(p, n);
	for (unsigned i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

/* A field of a header that lies at `p`, by its offset in 32 and 64 bits. */
static uint64_t
field(const struct elf *e, const uint8_t *p, unsigned at32, unsigned at64,
    unsigned n32, unsigned n64)
{
	return e->wide ? number(e, p + at64, n64) : number(e, p + at32, n32);
}

#define EHDR(e, p, m) field(e, p, offsetof(Elf32_Ehdr, m), \
	offsetof(Elf64_Ehdr, m), sizeof ((Elf32_Ehdr *)0)->m, \
	sizeof ((Elf64_Ehdr *)0)->m)
#define PHDR(e, p, m) field(e, p, offsetof(Elf32_Phdr, m), \
	offsetof(Elf64_Phdr, m), sizeof ((Elf32_Phdr *)0)->m, \
	sizeof ((Elf64_Phdr *)0)->m)
#define SHDR(e, p, m) field(e, p, offsetof(Elf32_Shdr, m), \
	offsetof(Elf64_Shdr, m), sizeof ((Elf32_Shdr *)0)->m, \
	sizeof ((Elf64_Shdr *)0)->m)

/* Takes the build id out of notes in the file. */
static void
find_build_id(const struct elf *e, uint64_t at, uint64_t len,
    struct elf_head *out)
{
	uint8_t note[12 + 4 + SYMBOL_BUILD_ID_MAX];
	uint64_t name, desc, next, end;

	if (len > NOTES_MAX)
		len = NOTES_MAX;
	if (out->build_id_len > 0 || at > UINT64_MAX - len)
		return;
	for (end = at + len; end - at >= 12; at = next) {
		if (!get_bytes(e, at, note, 12))
			return;
		name = number(e, note, 4);
		desc = number(e, note + 4, 4);
		next = at + 12 + ((name + 3) & ~UINT64_C(3)) +
		    ((desc + 3) & ~UINT64_C(3));
		if (next > end)
			return;
		if (number(e, note + 8, 4) != NT_GNU_BUILD_ID || name != 4 ||
		    desc == 0 || desc > SYMBOL_BUILD_ID_MAX ||
		    !get_bytes(e, at + 12, note, 4 + desc) ||
		    memcmp(note, "GNU", 4) != 0)
			continue;
		memcpy(out->build_id, note + 4, desc);
		out->build_id_len = (unsigned)desc;
		return;
	}
}

static void
read_segments(const struct elf *e, const uint8_t *ehdr, struct elf_head *out)
{
	uint64_t at = EHDR(e, ehdr, e_phoff), n = EHDR(e, ehdr, e_phnum);
	size_t size = e->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	bool based = false;
	uint8_t p[sizeof(Elf64_Phdr)];

	for (uint64_t i = 0; i < n && i < HEADS_MAX; i++, at += size) {
		if (!get_bytes(e, at, p, size))
			return;
		if (PHDR(e, p, p_type) == PT_LOAD && !based) {
			out->base = PHDR(e, p, p_vaddr) - PHDR(e, p, p_offset);
			based = true;
		}
		if (PHDR(e, p, p_type) == PT_NOTE)
			find_build_id(e, PHDR(e, p, p_offset),
			    PHDR(e, p, p_filesz), out);
	}
}

/* Firmware has notes in sections alone. */
static void
read_sections(const struct elf *e, const uint8_t *ehdr, struct elf_head *out)
{
	uint64_t at = EHDR(e, ehdr, e_shoff), n = EHDR(e, ehdr, e_shnum);
	size_t size = e->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint8_t p[sizeof(Elf64_Shdr)];

	for (uint64_t i = 0; i < n && i < HEADS_MAX; i++, at += size) {
		if (out->build_id_len > 0 || !get_bytes(e, at, p, size))
			return;
		if (SHDR(e, p, sh_type) == SHT_NOTE)
			find_build_id(e, SHDR(e, p, sh_offset),
			    SHDR(e, p, sh_size), out);
	}
}

static int
parse(struct elf *e, struct elf_head *out)
{
	uint8_t ehdr[sizeof(Elf64_Ehdr)];
	struct elf_head head = { 0 };

	if (!get_bytes(e, 0, ehdr, EI_NIDENT) ||
	    memcmp(ehdr, ELFMAG, SELFMAG) != 0 ||
	    (ehdr[EI_CLASS] != ELFCLASS32 && ehdr[EI_CLASS] != ELFCLASS64) ||
	    (ehdr[EI_DATA] != ELFDATA2LSB && ehdr[EI_DATA] != ELFDATA2MSB))
		return -EBADMSG;
	e->wide = ehdr[EI_CLASS] == ELFCLASS64;
	e->big = ehdr[EI_DATA] == ELFDATA2MSB;
	if (!get_bytes(e, 0, ehdr, e->wide ? sizeof(Elf64_Ehdr) :
	    sizeof(Elf32_Ehdr)))
		return -EBADMSG;
	head.word_bytes = e->wide ? 8 : 4;
	head.big_endian = e->big;
	head.type = (unsigned)EHDR(e, ehdr, e_type);
	head.machine = (unsigned)EHDR(e, ehdr, e_machine);
	read_segments(e, ehdr, &head);
	if (e->fd >= 0)
		read_sections(e, ehdr, &head);
	*out = head;
	return 0;
}

int
elf_head_parse(struct elf_head *out, const uint8_t *bytes, size_t len)
{
	struct elf e = { .bytes = bytes, .len = len, .fd = -1 };

	return parse(&e, out);
}

int
elf_head_read(struct elf_head *out, const char *path)
{
	struct elf e = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
	    O_NONBLOCK) };
	struct stat st;
	int r;

	if (e.fd < 0)
		return -errno;
	r = fstat(e.fd, &st) < 0 ? -errno :
	    !S_ISREG(st.st_mode) ? -ENOTSUP : parse(&e, out);
	close(e.fd);
	return r;
}
