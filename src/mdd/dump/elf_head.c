#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dump.h"
#include "elf_read.h"

#define HEADS_MAX 512		/* segments or sections to read at most */
#define NOTES_MAX (64u << 10)

static void
find_build_id(const struct elf_file *e, uint64_t at, uint64_t len,
    struct elf_head *out)
{
	uint8_t note[12 + 4 + SYMBOL_BUILD_ID_MAX];
	uint64_t name, desc, next, end;

	if (len > NOTES_MAX)
		len = NOTES_MAX;
	if (out->build_id_len > 0 || at > UINT64_MAX - len)
		return;
	for (end = at + len; end - at >= 12; at = next) {
		if (!elf_bytes(e, at, note, 12))
			return;
		name = elf_number(e, note, 4);
		desc = elf_number(e, note + 4, 4);
		next = at + 12 + ((name + 3) & ~UINT64_C(3)) +
		    ((desc + 3) & ~UINT64_C(3));
		if (next > end)
			return;
		if (elf_number(e, note + 8, 4) != NT_GNU_BUILD_ID || name != 4 ||
		    desc == 0 || desc > SYMBOL_BUILD_ID_MAX ||
		    !elf_bytes(e, at + 12, note, 4 + desc) ||
		    memcmp(note, "GNU", 4) != 0)
			continue;
		memcpy(out->build_id, note + 4, desc);
		out->build_id_len = (unsigned)desc;
		return;
	}
}

static void
read_segments(const struct elf_file *e, const uint8_t *ehdr, struct elf_head *out)
{
	uint64_t at = EHDR(e, ehdr, e_phoff), n = EHDR(e, ehdr, e_phnum);
	size_t size = e->wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	bool based = false;
	uint8_t p[sizeof(Elf64_Phdr)];

	for (uint64_t i = 0; i < n && i < HEADS_MAX; i++, at += size) {
		if (!elf_bytes(e, at, p, size))
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

/* Firmware has its notes in sections only. */
static void
read_sections(const struct elf_file *e, const uint8_t *ehdr, struct elf_head *out)
{
	uint64_t at = EHDR(e, ehdr, e_shoff), n = EHDR(e, ehdr, e_shnum);
	size_t size = e->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint8_t p[sizeof(Elf64_Shdr)];

	for (uint64_t i = 0; i < n && i < HEADS_MAX; i++, at += size) {
		if (out->build_id_len > 0 || !elf_bytes(e, at, p, size))
			return;
		if (SHDR(e, p, sh_type) == SHT_NOTE)
			find_build_id(e, SHDR(e, p, sh_offset),
			    SHDR(e, p, sh_size), out);
	}
}

static int
parse(struct elf_file *e, struct elf_head *out)
{
	uint8_t ehdr[sizeof(Elf64_Ehdr)];
	struct elf_head head = { 0 };

	if (elf_open(e, ehdr) < 0)
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
	struct elf_file e = { .bytes = bytes, .len = len, .fd = -1 };

	return parse(&e, out);
}

void
elf_head_of_notes(struct elf_head *out, const uint8_t *notes, size_t len,
    bool big_endian)
{
	struct elf_file e = { .bytes = notes, .len = len, .fd = -1,
		.big = big_endian };

	*out = (struct elf_head){ .build_id_len = 0 };
	find_build_id(&e, 0, len, out);
}

int
elf_head_read(struct elf_head *out, const char *path)
{
	struct elf_file e = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY |
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
