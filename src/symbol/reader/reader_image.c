#include "reader.h"

#ifdef HAVE_ELFUTILS

#include "../../base/base.h"

#include <elfutils/libdwelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void
ranges_add(struct ranges *t, uint64_t lo, uint64_t hi, uint32_t what,
    uint32_t rank)
{
	void *array = t->r;

	if (lo >= hi || base_grow(&array, &t->cap, t->n + 1, sizeof(*t->r)) < 0)
		return;
	t->r = array;
	t->r[t->n++] = (struct range) {
		.lo = lo,
		.hi = hi,
		.what = what,
		.rank = rank,
	};
}

/* Outer ones first; of equal ones the best last. */
static int
compare_ranges(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	if (x->hi != y->hi)
		return x->hi > y->hi ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->what < y->what ? 1 : x->what > y->what ? -1 : 0;
}

void
ranges_sort(struct ranges *t)
{
	uint64_t reach = 0;

	if (t->n > 0)
		qsort(t->r, t->n, sizeof(*t->r), compare_ranges);
	for (size_t i = 0; i < t->n; i++) {
		if (t->r[i].hi > reach)
			reach = t->r[i].hi;
		t->r[i].reach = reach;
	}
}

const struct range *
ranges_find(const struct ranges *t, uint64_t addr)
{
	size_t i;

	/* The first that begins beyond addr; candidates are before. */
	BASE_FIND_FIRST(i, t->n, t->r[i].lo > addr);
	while (i > 0 && t->r[i - 1].reach > addr) {
		i--;
		if (t->r[i].hi > addr)
			return &t->r[i];
	}
	return NULL;
}

void
ranges_fini(struct ranges *t)
{
	free(t->r);
	*t = (struct ranges) { 0 };
}

/* Open images; keeps the reader within its limits. */
#define IMAGES_MAX 48
#define IMAGES_BYTES_MAX ((off_t)768 << 20)

static struct image *images;	/* most recently used first */

static bool
has_debug_sections(Elf *elf)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((scn = elf_nextscn(elf, scn)) != NULL) {
		const char *name;

		if (gelf_getshdr(scn, &sh) == NULL ||
		    sh.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, sh.sh_name);
		if (name != NULL && (strcmp(name, ".debug_info") == 0 ||
		    strcmp(name, ".zdebug_info") == 0))
			return true;
	}
	return false;
}

/* libdwfl calls it for symbols and for debug information, not for dwz's. */
static int
give_debug_file(Dwfl_Module *mod, void **userdata, const char *modname,
    Dwarf_Addr base, const char *file, const char *link, GElf_Word checksum,
    char **debug_name)
{
	struct image *m = *userdata;
	struct symread_debug want = {
		.path = m->path,
		.pid = m->pid,
		.fetched = m->fetched,
		.link = link,
		.checksum = checksum,
		.self = &m->self,
	};
	const unsigned char *id;
	char found[PATH_MAX];
	GElf_Addr vaddr;
	struct stat st;
	int n, fd;

	(void)modname;
	(void)base;
	(void)file;
	if (m->is_debug || m->has_debug)
		return -1;
	if ((n = dwfl_module_build_id(mod, &id, &vaddr)) > 0) {
		want.build_id = id;
		want.build_id_len = (size_t)n;
	}
	if ((fd = symread_debug(&want, found)) < 0)
		return -1;
	if (fstat(fd, &st) == 0)
		m->debug_size = st.st_size;
	m->has_debug = true;
	snprintf(m->debug_path, sizeof(m->debug_path), "%s", found);
	*debug_name = strdup(found);
	return fd;
}

static int
no_elf(Dwfl_Module *mod, void **userdata, const char *modname,
    Dwarf_Addr base, char **file, Elf **elf)
{
	(void)mod;
	(void)userdata;
	(void)modname;
	(void)base;
	(void)file;
	(void)elf;
	return -1;
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = no_elf,
	.find_debuginfo = give_debug_file,
	.section_address = dwfl_offline_section_address,
};

/* The parts that dwz has moved out of several files. */
static void
open_alt(struct image *m)
{
	const char *name;
	const void *id;
	ssize_t n;

	n = dwelf_dwarf_gnu_debugaltlink(m->dwarf, &name, &id);
	if (n <= 0)
		return;
	m->alt_fd = symread_alt(name, m->debug_path[0] != '\0' ? m->debug_path :
	    m->path, id, (size_t)n);
	if (m->alt_fd < 0)
		return;
	m->alt_elf = elf_begin(m->alt_fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	if (m->alt_elf == NULL)
		return;
	m->alt = dwarf_begin_elf(m->alt_elf, DWARF_C_READ, NULL);
	if (m->alt != NULL)
		dwarf_setalt(m->dwarf, m->alt);
}

/*
 * Of several names for an address, the one with fewest leading underscores is
 * what programs call ("malloc", not "__libc_malloc"); then global before weak
 * before local.
 */
static uint32_t
name_rank(const char *name, unsigned binding)
{
	static const uint8_t by_binding[] = {
		[STB_GLOBAL] = 0, [STB_WEAK] = 1, [STB_LOCAL] = 2,
	};
	uint32_t under = 0;

	/* _Z begins every mangled name. */
	while (!symread_is_mangled(name + under) && name[under] == '_' &&
	    under < 255)
		under++;
	return under * 4 +
	    (binding < BASE_NELEM(by_binding) ? by_binding[binding] : 3);
}

static bool
read_section(Elf *elf, GElf_Word index, GElf_Shdr *sh)
{
	Elf_Scn *scn = elf == NULL ? NULL : elf_getscn(elf, index);

	return scn != NULL && gelf_getshdr(scn, sh) != NULL;
}

/* The end in the addresses of the symbol's file. */
static uint64_t
section_end(Elf *elf, GElf_Word index)
{
	GElf_Shdr sh;

	return read_section(elf, index, &sh) ? sh.sh_addr + sh.sh_size : 0;
}

/* Where code and data of ARM begin: no names. */
static bool
is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] != '\0' &&
	    strchr("adtx", name[1]) != NULL &&
	    (name[2] == '\0' || name[2] == '.');
}

/* Functions in assembler may lack a type; an object ends the one before. */
static bool
is_in_code(const char *name, unsigned type, Elf *elf, GElf_Word index)
{
	GElf_Shdr sh;

	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return (type == STT_NOTYPE || type == STT_OBJECT) &&
	    !is_mapping_symbol(name) && read_section(elf, index, &sh) &&
	    (sh.sh_flags & SHF_EXECINSTR) != 0;
}

static void
end_range(struct range *r, uint64_t hi)
{
	if (hi < r->hi)
		r->hi = hi;
}

/*
 * Functions in assembler may have no size: they end at the next symbol, or with
 * the section.  Where one with a size begins, the others have no range.
 */
static void
end_sizeless(struct ranges *t, size_t first)
{
	for (size_t i = t->n; i-- > first;) {
		struct range *r = &t->r[i];
		size_t next;

		BASE_FIND_FIRST(next, first, t->r[next].lo > r->lo);
		if (next > 0 && t->r[next - 1].lo == r->lo)
			end_range(r, r->lo);
		if (next < first)
			end_range(r, t->r[next].lo);
		if (i + 1 < t->n)
			end_range(r, t->r[i + 1].lo > r->lo ?
			    t->r[i + 1].lo : t->r[i + 1].hi);
	}
}

static int
compare_starts(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static void
add_symbols(struct image *m, int n, bool sized)
{
	struct ranges *t = &m->symbols;

	for (int i = 1; i < n; i++) {
		GElf_Addr addr, bias;
		GElf_Word index;
		const char *name;
		unsigned type;
		GElf_Sym sym;
		uint64_t end;
		Elf *elf;

		name = dwfl_module_getsym_info(m->mod, i, &sym, &addr, &index,
		    &elf, &bias);
		type = GELF_ST_TYPE(sym.st_info);
		if (name == NULL || name[0] == '\0' ||
		    index == SHN_UNDEF || index == SHN_ABS ||
		    (sym.st_size != 0) != sized ||
		    !is_in_code(name, type, elf, index))
			continue;
		end = sized ? addr + sym.st_size : section_end(elf, index) + bias;
		/* Without a size, the last one of an address names it. */
		ranges_add(t, addr - m->bias, end - m->bias, (uint32_t)i,
		    sized ? name_rank(name, GELF_ST_BIND(sym.st_info)) :
		    UINT32_MAX - (uint32_t)i);
	}
}

static void
read_symbols(struct image *m)
{
	int n = dwfl_module_getsymtab(m->mod);
	size_t first;

	add_symbols(m, n, true);
	ranges_sort(&m->symbols);
	first = m->symbols.n;
	add_symbols(m, n, false);
	if (m->symbols.n == first)
		return;
	qsort(m->symbols.r + first, m->symbols.n - first,
	    sizeof(*m->symbols.r), compare_starts);
	end_sizeless(&m->symbols, first);
	ranges_sort(&m->symbols);
}

const char *
symread_symbol(struct image *m, uint64_t pc)
{
	const struct range *r = ranges_find(&m->symbols, pc);
	GElf_Addr addr;
	GElf_Sym sym;

	if (r == NULL)
		return NULL;
	return dwfl_module_getsym_info(m->mod, (int)r->what, &sym, &addr,
	    NULL, NULL, NULL);
}

bool
symread_offset(struct image *m, uint64_t offset, uint64_t *addr)
{
	size_t n;

	/* A debug file lacks what its segments point to. */
	if (m->is_debug || elf_getphdrnum(m->elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (gelf_getphdr(m->elf, (int)i, &ph) == NULL ||
		    ph.p_type != PT_LOAD || offset < ph.p_offset ||
		    offset - ph.p_offset >= ph.p_filesz)
			continue;
		*addr = offset - ph.p_offset + ph.p_vaddr;
		return true;
	}
	return false;
}

static void
image_free(struct image *m)
{
	if (m == NULL)
		return;
	symread_forget_names();
	symread_index_free(m->index);
	ranges_fini(&m->symbols);
	if (m->dwfl != NULL)
		dwfl_end(m->dwfl);
	if (m->alt != NULL)
		dwarf_end(m->alt);
	if (m->alt_elf != NULL)
		elf_end(m->alt_elf);
	if (m->alt_fd >= 0)
		close(m->alt_fd);
	free(m->path);
	free(m->fetched);
	free(m);
}

/* Section headers stand last: a cut file has lost them. */
static bool
is_cut(Elf *elf, off_t size)
{
	GElf_Ehdr eh;
	size_t n;

	if (gelf_getehdr(elf, &eh) == NULL ||
	    (eh.e_type != ET_EXEC && eh.e_type != ET_DYN))
		return true;
	if (eh.e_shoff == 0)
		return false;
	n = eh.e_shnum;
	return eh.e_shoff > (uint64_t)size ||
	    n * eh.e_shentsize > (uint64_t)size - eh.e_shoff;
}

/* At the file's addresses: base 0; the bias is what libdwfl adds. */
static bool
image_open(struct image *m, int fd)
{
	void **userdata;

	if ((m->dwfl = dwfl_begin(&callbacks)) == NULL) {
		close(fd);
		return false;
	}
	dwfl_report_begin(m->dwfl);
	m->mod = dwfl_report_elf(m->dwfl, "module", m->path, fd, 0, true);
	if (m->mod == NULL) {
		close(fd);
		return false;
	}
	dwfl_report_end(m->dwfl, NULL, NULL);
	dwfl_module_info(m->mod, &userdata, NULL, NULL, NULL, NULL, NULL,
	    NULL);
	*userdata = m;
	m->elf = dwfl_module_getelf(m->mod, &m->bias);
	if (m->elf == NULL || is_cut(m->elf, m->self.st_size))
		return false;
	m->has_debug = has_debug_sections(m->elf);
	read_symbols(m);
	m->dwarf = dwfl_module_getdwarf(m->mod, &m->dwarf_bias);
	if (m->dwarf != NULL)
		open_alt(m);
	return true;
}

static struct image *
image_new(const struct symbol_place *p, const char *fetched, int fd,
    const struct stat *st, bool is_debug)
{
	struct image *m = calloc(1, sizeof(*m));

	if (m == NULL) {
		close(fd);
		return NULL;
	}
	m->alt_fd = -1;
	m->self = *st;
	m->is_debug = is_debug;
	m->pid = p->pid;
	m->path = strdup(p->path);
	m->fetched = fetched == NULL ? NULL : strdup(fetched);
	if (m->path == NULL || (fetched != NULL && m->fetched == NULL)) {
		close(fd);
		image_free(m);
		return NULL;
	}
	if (!image_open(m, fd)) {
		image_free(m);
		return NULL;
	}
	return m;
}

static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	    a->st_size == b->st_size &&
	    a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
	    a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static bool
is_same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* An open image, moved to the front; NULL. */
static struct image *
find_image(const struct symbol_place *p, const char *fetched,
    const struct stat *st, bool is_debug)
{
	for (struct image **at = &images; *at != NULL; at = &(*at)->next) {
		struct image *m = *at;

		if (!is_same_file(&m->self, st) || m->is_debug != is_debug ||
		    strcmp(m->path, p->path) != 0 ||
		    !is_same_text(m->fetched, fetched))
			continue;
		*at = m->next;
		m->next = images;
		images = m;
		return m;
	}
	return NULL;
}

static void
make_room(off_t size)
{
	struct image **at = &images;
	off_t bytes = size;

	for (unsigned n = 1; *at != NULL; n++) {
		bytes += (*at)->self.st_size + (*at)->debug_size;
		if (n >= IMAGES_MAX || bytes > IMAGES_BYTES_MAX)
			break;
		at = &(*at)->next;
	}
	while (*at != NULL) {
		struct image *m = *at;

		*at = m->next;
		image_free(m);
	}
}

/* The debug file of the build id has symbols too. */
static int
find_instead(const struct symbol_place *p, const char *fetched,
    struct stat *st)
{
	const struct symread_debug want = {
		.path = p->path,
		.pid = p->pid,
		.fetched = fetched,
		.build_id = p->build_id,
		.build_id_len = p->build_id_len,
	};
	char found[PATH_MAX];
	int fd;

	if (p->build_id_len == 0 || p->by_offset ||
	    (fd = symread_debug(&want, found)) < 0)
		return -1;
	if (fstat(fd, st) == 0)
		return fd;
	close(fd);
	return -1;
}

struct image *
symread_image(const struct symbol_place *p, const char *fetched,
    enum symbol_known *why)
{
	bool is_debug = false;
	struct image *m;
	struct stat st;
	int fd;

	elf_version(EV_CURRENT);
	*why = symread_module(p, &fd, &st);
	if (*why != SYMBOL_LINE) {
		if ((fd = find_instead(p, fetched, &st)) < 0)
			return NULL;
		is_debug = true;
	}
	if ((m = find_image(p, fetched, &st, is_debug)) != NULL) {
		close(fd);
		return m;
	}
	make_room(st.st_size);
	if ((m = image_new(p, fetched, fd, &st, is_debug)) == NULL) {
		*why = SYMBOL_DAMAGED;
		return NULL;
	}
	m->next = images;
	images = m;
	return m;
}

#endif
