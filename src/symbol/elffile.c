/*
 * The functions of an ELF file, read with libelf.  libdwfl would do it too,
 * but it may ask a server for what it does not find; and the file:line that it
 * is good for is not what is wanted here.
 *
 * Limits: functions without a size have no end that is known and are left
 * out; files without section headers have no functions; a compressed symbol
 * table (.gnu_debugdata) is not read.
 */
#include "elffile.h"
#include "debugfile.h"

#include "../base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
elf_functions_fini(struct elf_functions *e)
{
	free(e->fn);
	free(e->names);
	free(e->seg);
	*e = (struct elf_functions) { 0 };
}

#ifndef HAVE_ELFUTILS

int
elf_functions_read(struct elf_functions *out, int fd, const char *name)
{
	(void)out;
	(void)fd;
	(void)name;
	return -ENOEXEC;
}

#else

#include <gelf.h>
#include <libelf.h>
#include <unistd.h>

/* The largest symbol or string table that is believed. */
#define TABLE_MAX ((size_t)256 << 20)
#define SEGMENTS_MAX 256
/* Names for one address are compared no further than this. */
#define COMPARE_MAX 256

static int
read_segments(Elf *elf, struct elf_functions *e)
{
	size_t n, cap = 0;

	if (elf_getphdrnum(elf, &n) != 0)
		return -ENOEXEC;
	for (size_t i = 0; i < n && e->nseg < SEGMENTS_MAX; i++) {
		void *seg = e->seg;
		GElf_Phdr ph;
		int error;

		if (gelf_getphdr(elf, (int)i, &ph) == NULL ||
		    ph.p_type != PT_LOAD)
			continue;
		error = base_grow(&seg, &cap, e->nseg + 1, sizeof(*e->seg));
		if (error < 0)
			return -ENOMEM;
		e->seg = seg;
		e->seg[e->nseg++] = (struct elf_segment) {
			.offset = ph.p_offset,
			.size = ph.p_filesz,
			.vaddr = ph.p_vaddr,
		};
	}
	return e->nseg > 0 ? 0 : -ENOEXEC;
}

/* The data of a section whose size can be believed, or NULL. */
static Elf_Data *
section_data(Elf_Scn *scn, const GElf_Shdr *sh)
{
	if (sh->sh_type == SHT_NOBITS || (sh->sh_flags & SHF_COMPRESSED) != 0 ||
	    sh->sh_size == 0 || sh->sh_size > TABLE_MAX)
		return NULL;
	return elf_getdata(scn, NULL);
}

/*
 * Of several names for one address the one without underscores in front is
 * the one that programs call ("malloc" and not "__libc_malloc"); then a
 * global name is better known than a weak one, and that than a local one.
 */
static uint32_t
name_rank(const char *name, unsigned binding)
{
	static const uint8_t by_binding[] = {
		[STB_GLOBAL] = 0, [STB_WEAK] = 1, [STB_LOCAL] = 2,
	};
	uint32_t under = 0;

	/* _Z begins every mangled name. */
	while (name[under] == '_' && name[under + 1] != 'Z' && under < 255)
		under++;
	return under * 4 +
	    (binding < BASE_NELEM(by_binding) ? by_binding[binding] : 3);
}

/* True if the symbol is a function with a place, an end and a name. */
static bool
is_function(const GElf_Sym *sym, const char *names, size_t len)
{
	unsigned type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	    sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	    sym->st_value != 0 && sym->st_size != 0 &&
	    sym->st_value + sym->st_size > sym->st_value &&
	    sym->st_name < len && names[sym->st_name] != '\0';
}

static int
add_functions(struct elf_functions *e, Elf_Data *syms, size_t names_len)
{
	size_t cap = 0;
	GElf_Sym sym;

	for (int i = 0; gelf_getsym(syms, i, &sym) != NULL; i++) {
		void *fn = e->fn;

		if (!is_function(&sym, e->names, names_len))
			continue;
		if (base_grow(&fn, &cap, e->nfn + 1, sizeof(*e->fn)) < 0)
			return -ENOMEM;
		e->fn = fn;
		e->fn[e->nfn++] = (struct elf_function) {
			.start = sym.st_value,
			.end = sym.st_value + sym.st_size,
			.name = sym.st_name,
			.rank = name_rank(e->names + sym.st_name,
			    GELF_ST_BIND(sym.st_info)),
		};
	}
	return e->nfn > 0 ? 0 : -ENOEXEC;
}

/* Reads the first symbol table of `type` (SHT_SYMTAB, SHT_DYNSYM). */
static int
read_table(Elf *elf, GElf_Word type, struct elf_functions *e)
{
	Elf_Data *syms = NULL, *strings = NULL;
	GElf_Shdr sh, link;
	Elf_Scn *scn = NULL;
	int error;

	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		if (gelf_getshdr(scn, &sh) != NULL && sh.sh_type == type)
			break;
	}
	if (scn == NULL || (syms = section_data(scn, &sh)) == NULL)
		return -ENOEXEC;
	if ((scn = elf_getscn(elf, sh.sh_link)) == NULL ||
	    gelf_getshdr(scn, &link) == NULL || link.sh_type != SHT_STRTAB ||
	    (strings = section_data(scn, &link)) == NULL ||
	    strings->d_buf == NULL)
		return -ENOEXEC;

	/* A copy, so that every name ends, and nothing of the file stays. */
	if ((e->names = malloc(strings->d_size + 1)) == NULL)
		return -ENOMEM;
	memcpy(e->names, strings->d_buf, strings->d_size);
	e->names[strings->d_size] = '\0';
	error = add_functions(e, syms, strings->d_size);
	if (error < 0) {
		free(e->fn);
		free(e->names);
		e->fn = NULL;
		e->names = NULL;
		e->nfn = 0;
	}
	return error;
}

/* The symbol table of the file's own debug file. */
static int
read_debug_file(Elf *elf, int fd, const char *name, struct elf_functions *e)
{
	int debug_fd, error = -ENOEXEC;
	Elf *debug;

	if ((debug_fd = debugfile_open(elf, fd, name)) < 0)
		return -ENOEXEC;
	if ((debug = elf_begin(debug_fd, ELF_C_READ, NULL)) != NULL) {
		error = read_table(debug, SHT_SYMTAB, e);
		elf_end(debug);
	}
	close(debug_fd);
	return error;
}

static int
compare_functions(const void *a, const void *b, void *names)
{
	const struct elf_function *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return strncmp((const char *)names + x->name,
	    (const char *)names + y->name, COMPARE_MAX);
}

/* Sorts, and leaves one name for each address. */
static void
put_in_order(struct elf_functions *e)
{
	struct elf_function *fn;
	size_t kept = 0;

	qsort_r(e->fn, e->nfn, sizeof(*e->fn), compare_functions, e->names);
	for (size_t i = 0; i < e->nfn; i++) {
		if (kept == 0 || e->fn[kept - 1].start != e->fn[i].start)
			e->fn[kept++] = e->fn[i];
	}
	e->nfn = kept;
	if ((fn = realloc(e->fn, kept * sizeof(*fn))) != NULL)
		e->fn = fn;
}

int
elf_functions_read(struct elf_functions *out, int fd, const char *name)
{
	struct elf_functions e = { 0 };
	Elf *elf;
	int error;

	elf_version(EV_CURRENT);
	/* Not mapped: a file that is cut while it is read would be a SIGBUS. */
	if ((elf = elf_begin(fd, ELF_C_READ, NULL)) == NULL)
		return -ENOEXEC;
	error = -ENOEXEC;
	if (elf_kind(elf) != ELF_K_ELF || (error = read_segments(elf, &e)) < 0)
		goto out;
	if ((error = read_table(elf, SHT_SYMTAB, &e)) == -ENOEXEC)
		error = read_debug_file(elf, fd, name, &e);
	if (error == -ENOEXEC)
		error = read_table(elf, SHT_DYNSYM, &e);
	if (error == 0) {
		put_in_order(&e);
		*out = e;
	}
out:
	elf_end(elf);
	if (error < 0)
		elf_functions_fini(&e);
	return error;
}

#endif
