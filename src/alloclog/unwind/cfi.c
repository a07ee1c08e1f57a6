/*
 * Which object an address lies in, and what of it may be read.
 *
 * Known limit
 *	An object stays while a function of it is being called.  A number on a
 *	damaged stack that only looks like a return address may lead into one
 *	that another thread is unloading at this moment.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <sys/auxv.h>

#include "cfi.h"
#include "cfi_table.h"

static int
rule_at(const struct cfi_table *t, uintptr_t pc, struct cfi_rule *rule)
{
	struct cfi_fde fde;
	int err = cfi_table_find(t, pc, &fde);

	return err != 0 ? err : cfi_rows_rule(&fde, pc, rule);
}

int
cfi_find_in(const uint8_t *hdr, const uint8_t *lo, const uint8_t *hi,
    uintptr_t pc, bool exact, struct cfi_rule *rule)
{
	struct cfi_table t = { hdr, lo, hi };

	return rule_at(&t, exact ? pc : pc - 1, rule);
}

/* Since glibc 2.35; with another libc there is never a table. */
#if defined(__x86_64__) && defined(__LP64__) && \
    defined(DLFO_STRUCT_HAS_EH_DBASE)
#pragma weak _dl_find_object

/*
 * The program headers of a mapping that starts with an ELF header; NULL: it
 * does not.  Only headers in the first page, where they always are.
 */
static const ElfW(Phdr) *
headers_of(const struct dl_find_object *o, size_t *n)
{
	const ElfW(Ehdr) *eh = o->dlfo_map_start;
	uintptr_t start = (uintptr_t)eh;

	if ((uintptr_t)o->dlfo_map_end - start < sizeof(*eh) ||
	    eh->e_ident[EI_MAG0] != ELFMAG0 ||
	    eh->e_ident[EI_MAG1] != ELFMAG1 ||
	    eh->e_ident[EI_MAG2] != ELFMAG2 ||
	    eh->e_ident[EI_MAG3] != ELFMAG3 ||
	    eh->e_phoff > 4096 || eh->e_phoff % _Alignof(ElfW(Phdr)) != 0 ||
	    eh->e_phentsize != sizeof(ElfW(Phdr)) ||
	    eh->e_phnum > (4096 - eh->e_phoff) / sizeof(ElfW(Phdr)))
		return NULL;
	*n = eh->e_phnum;
	return (const ElfW(Phdr) *)(start + eh->e_phoff);
}

static bool
has_table(const struct dl_find_object *o)
{
	return (uintptr_t)o->dlfo_eh_frame >= (uintptr_t)o->dlfo_map_start &&
	    (uintptr_t)o->dlfo_eh_frame < (uintptr_t)o->dlfo_map_end;
}

/*
 * Of an object whose segments lie apart, as those that ask for large pages do,
 * some versions of the loader tell the segment alone that was asked for.  The
 * others are known from the first one, with the headers: it is at the object's
 * base, of a program at its place in the file's tables, which the kernel tells.
 */
static void
take_whole(struct dl_find_object *o)
{
	const struct link_map *map = o->dlfo_link_map;
	bool program = map->l_prev == NULL && map->l_name != NULL &&
	    map->l_name[0] == '\0';
	struct dl_find_object first;
	const ElfW(Phdr) *ph;
	uintptr_t end = 0;
	size_t n;

	if (_dl_find_object((void *)(program ? getauxval(AT_PHDR) :
	    map->l_addr), &first) != 0 || first.dlfo_link_map != map ||
	    (ph = headers_of(&first, &n)) == NULL)
		return;
	for (size_t i = 0; i < n; i++)
		if (ph[i].p_type == PT_LOAD &&
		    ph[i].p_vaddr + ph[i].p_memsz > end)
			end = ph[i].p_vaddr + ph[i].p_memsz;
	if (map->l_addr + end < (uintptr_t)o->dlfo_map_end)
		return;
	o->dlfo_map_start = first.dlfo_map_start;
	o->dlfo_map_end = (void *)(map->l_addr + end);
}

/*
 * The object's mapping may have holes that cannot be read: what can is the
 * segment that the table lies in, which the ELF header at the start of the
 * mapping knows.  A mapping that does not start with one is taken whole.
 */
static bool
table_limits(const struct dl_find_object *o, struct cfi_table *t)
{
	uintptr_t start = (uintptr_t)o->dlfo_map_start;
	size_t n, size = (uintptr_t)o->dlfo_map_end - start;
	const ElfW(Phdr) *ph = headers_of(o, &n);
	uintptr_t hdr = (uintptr_t)o->dlfo_eh_frame;

	t->hdr = o->dlfo_eh_frame;
	t->lo = o->dlfo_map_start;
	t->hi = o->dlfo_map_end;
	if (ph == NULL)
		return true;
	for (size_t i = 0; i < n; i++) {
		uintptr_t at = o->dlfo_link_map->l_addr + ph[i].p_vaddr;

		if (ph[i].p_type != PT_LOAD || hdr < at ||
		    hdr - at >= ph[i].p_filesz)
			continue;
		if ((ph[i].p_flags & PF_R) == 0 || at < start ||
		    at - start > size || ph[i].p_filesz > size - (at - start))
			return false;
		t->lo = (const uint8_t *)at;
		t->hi = t->lo + ph[i].p_filesz;
		return true;
	}
	return false;
}

int
cfi_find(uintptr_t pc, bool exact, struct cfi_rule *rule,
    struct cfi_object *object)
{
	struct dl_find_object o;
	struct cfi_table t;

	if (!exact)
		pc--;
	if (_dl_find_object == NULL ||
	    _dl_find_object((void *)pc, &o) != 0)
		return -ENOENT;
	if (o.dlfo_eh_frame != NULL && !has_table(&o))
		take_whole(&o);
	object->start = (uintptr_t)o.dlfo_map_start;
	object->end = (uintptr_t)o.dlfo_map_end;
	object->map = o.dlfo_link_map;
	object->bias = o.dlfo_link_map->l_addr;
	if (o.dlfo_eh_frame == NULL)
		return -ENOENT;
	return table_limits(&o, &t) ? rule_at(&t, pc, rule) : -ENOTSUP;
}
#else
int
cfi_find(uintptr_t pc, bool exact, struct cfi_rule *rule,
    struct cfi_object *object)
{
	(void)pc;
	(void)exact;
	(void)rule;
	(void)object;
	return -ENOENT;
}
#endif
