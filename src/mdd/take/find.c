#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../dump/elf_read.h"
#include "take.h"

#define ROOT_NAME "mdd_root"
#define SECTIONS_MAX 65536
#define SYMBOLS_AT_ONCE 1024

#define SYM(e, p, m) elf_field(e, p, offsetof(Elf32_Sym, m), \
	offsetof(Elf64_Sym, m), sizeof ((Elf32_Sym *)0)->m, \
	sizeof ((Elf64_Sym *)0)->m)

struct sought {
	const char *name;
	uint64_t size;			/* 0: any */
	uint64_t value;
};

static bool
has_name(const struct elf_file *e, uint64_t at, const char *name)
{
	uint8_t text[64];
	size_t n = strlen(name) + 1;

	return n <= sizeof text && elf_bytes(e, at, text, n) &&
	    memcmp(text, name, n) == 0;
}

static bool
is_sought(const struct elf_file *e, const uint8_t *p, uint64_t names,
    struct sought *s)
{
	if (SYM(e, p, st_shndx) == SHN_UNDEF ||
	    ELF64_ST_TYPE(SYM(e, p, st_info)) != STT_OBJECT ||
	    (s->size != 0 && SYM(e, p, st_size) != s->size) ||
	    !has_name(e, names + SYM(e, p, st_name), s->name))
		return false;
	s->value = SYM(e, p, st_value);
	return true;
}

static bool
find_in(const struct elf_file *e, uint64_t at, uint64_t bytes, uint64_t names,
    struct sought *s)
{
	size_t size = e->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym), n;
	static uint8_t block[SYMBOLS_AT_ONCE * sizeof(Elf64_Sym)];

	for (; bytes >= size; at += n, bytes -= n) {
		n = bytes < SYMBOLS_AT_ONCE * size ?
		    (size_t)bytes / size * size : SYMBOLS_AT_ONCE * size;
		if (!elf_bytes(e, at, block, n))
			return false;
		for (size_t i = 0; i < n; i += size)
			if (is_sought(e, block + i, names, s))
				return true;
	}
	return false;
}

static bool
find_in_sections(const struct elf_file *e, const uint8_t *ehdr,
    struct sought *s)
{
	uint64_t at = EHDR(e, ehdr, e_shoff), n = EHDR(e, ehdr, e_shnum), link;
	size_t size = e->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
	uint8_t p[sizeof(Elf64_Shdr)], names[sizeof(Elf64_Shdr)];

	for (uint64_t i = 0; i < n && i < SECTIONS_MAX; i++) {
		if (!elf_bytes(e, at + i * size, p, size))
			return false;
		if (SHDR(e, p, sh_type) != SHT_SYMTAB &&
		    SHDR(e, p, sh_type) != SHT_DYNSYM)
			continue;
		link = SHDR(e, p, sh_link);
		if (link < n && elf_bytes(e, at + link * size, names, size) &&
		    find_in(e, SHDR(e, p, sh_offset), SHDR(e, p, sh_size),
		    SHDR(e, names, sh_offset), s))
			return true;
	}
	return false;
}

int
elf_symbol(const char *path, const char *name, uint64_t size, uint64_t *value)
{
	struct elf_file e = { .fd = open(path, O_RDONLY | O_CLOEXEC |
	    O_NOCTTY | O_NONBLOCK) };
	struct sought s = { name, size, 0 };
	uint8_t ehdr[sizeof(Elf64_Ehdr)];
	struct stat st;
	int r;

	if (e.fd < 0)
		return -errno;
	if (fstat(e.fd, &st) < 0)
		r = -errno;
	else if (!S_ISREG(st.st_mode))
		r = -ENOTSUP;
	else
		r = elf_open(&e, ehdr);
	if (r == 0)
		r = find_in_sections(&e, ehdr, &s) ? 0 : -ENOENT;
	close(e.fd);
	if (r == 0)
		*value = s.value;
	return r;
}

static void
path_of(const struct take *t, const struct take_mapping *m, char *out,
    size_t cap)
{
	if (t->process == NULL)
		snprintf(out, cap, "%s", m->path);
	else if (strcmp(m->path, t->program) == 0)
		snprintf(out, cap, "/proc/%" PRIu32 "/exe", t->pid);
	else
		snprintf(out, cap, "/proc/%" PRIu32 "/root%s", t->pid, m->path);
}

static bool
same_build(const struct elf_head *a, const struct elf_head *b)
{
	return a->build_id_len == b->build_id_len &&
	    memcmp(a->build_id, b->build_id, a->build_id_len) == 0;
}

static bool
symbol_in(const struct take *t, const struct take_mapping *m,
    uint64_t *address)
{
	char path[PATH_MAX + 32];
	uint8_t head[LAYOUT_HEAD_BYTES];
	struct elf_head mapped, file;
	struct layout at;
	uint64_t value;
	size_t n = t->source.read(t->source.arg, m->lo, head, sizeof head);

	path_of(t, m, path, sizeof path);
	if (elf_head_read(&file, path) < 0 ||
	    (n > 0 && (elf_head_parse(&mapped, head, n) < 0 ||
	    !same_build(&mapped, &file))))
		return false;
	lay_out(&at, file.word_bytes);
	if (elf_symbol(path, ROOT_NAME, at.root.bytes, &value) < 0)
		return false;
	*address = m->lo - file.base + value;
	if (file.word_bytes == 4)
		*address &= UINT32_MAX;
	return true;
}

/* -ENOENT: no symbol; -ENODATA: a symbol, but the root is empty. */
static int
find_symbol(struct take *t)
{
	uint64_t address;
	int r = -ENOENT;

	for (size_t i = 0; i < t->maps.n; i++) {
		const struct take_mapping *m = &t->maps.at[i];
		uint8_t magic[sizeof MDD_MAGIC - 1];

		if (m->offset != 0 || m->path[0] != '/' ||
		    !symbol_in(t, m, &address))
			continue;
		/* A root that is neither empty nor valid is damaged. */
		if (t->source.read(t->source.arg, address, magic,
		    sizeof magic) < sizeof magic || base_get_le(magic, 8) != 0) {
			t->root.address = address;
			return 0;
		}
		r = -ENODATA;
	}
	return r;
}

#define STEP ((size_t)1 << 20)

static bool
search(struct take *t, uint64_t lo, uint64_t hi, uint8_t *block)
{
	size_t n, got;

	for (; lo < hi; lo += n) {
		n = hi - lo < STEP ? (size_t)(hi - lo) : STEP;
		got = t->source.read(t->source.arg, lo, block, n);
		/* The root is aligned like a word. */
		for (size_t i = 0; i + 8 <= got; i += 4)
			if (memcmp(block + i, MDD_MAGIC, 8) == 0 &&
			    take_root_fits(&t->source, lo + i)) {
				t->root.address = lo + i;
				return true;
			}
		if (got < n)
			break;
	}
	return false;
}

/*
 * The data of a file, or the .bss behind it.  In a process, nothing else is
 * read: that would make the kernel allocate pages that it does not use.
 */
static bool
is_static_data(const struct take *t, size_t i)
{
	const struct take_mapping *m = &t->maps.at[i];

	if (!m->writable || !m->readable)
		return false;
	return t->process == NULL || m->path[0] == '/' || (i > 0 &&
	    m[-1].hi == m->lo && m[-1].path[0] == '/' && m->path[0] == '\0');
}

static int
find_magic(struct take *t)
{
	uint8_t *block = malloc(STEP);
	int r = -ENOENT;

	if (block == NULL)
		return -ENOMEM;
	for (size_t i = 0; r < 0 && i < t->maps.n; i++)
		if (is_static_data(t, i) &&
		    search(t, t->maps.at[i].lo, t->maps.at[i].hi, block))
			r = 0;
	free(block);
	return r;
}

int
take_find_root(struct take *t)
{
	int r = find_symbol(t);

	if (r == -ENOENT)
		r = find_magic(t);
	/* A core file that lacks a part may have it there. */
	if (r == -ENOENT && t->problems.n > 0)
		return take_fail(t, -EBADMSG, "no debug data is in what can be "
		    "read: %s", t->problems.text[0]);
	if (r == -ENODATA)
		return take_fail(t, r, "nothing is collected there; start the "
		    "program with PAGEK_DEBUGDATA=on");
	if (r < 0)
		return take_fail(t, r, r == -ENOENT ? "no debug data is there: "
		    "the program has no mdd_root; see libmdd(3)" :
		    "there is not enough memory");
	return 0;
}
