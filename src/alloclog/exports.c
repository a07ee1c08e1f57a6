/*
 * Our own table of symbols, as the loader has it in memory.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "unwind/syscalls.h"
#include "exports.h"

/* The segment in which `at` lies, of the object at eh, loaded with `bias`; or NULL. */
static const ElfW(Phdr) *
segment_at(const ElfW(Ehdr) *eh, uintptr_t bias, uintptr_t at)
{
	const ElfW(Phdr) *ph = (const void *)((const char *)eh + eh->e_phoff);

	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD &&
		    at - bias - ph[i].p_vaddr < ph[i].p_memsz)
			return &ph[i];
	return NULL;
}

static int
protection(const ElfW(Phdr) *ph)
{
	return (ph->p_flags & PF_R ? PROT_READ : 0) |
	    (ph->p_flags & PF_W ? PROT_WRITE : 0) |
	    (ph->p_flags & PF_X ? PROT_EXEC : 0);
}

/* What our table of symbols lies in, and ours of it. */
struct found {
	const ElfW(Phdr) *segment;
	ElfW(Sym) *syms[EXPORTS_MAX];
};

static bool
is_of(const ElfW(Sym) *sym, uintptr_t bias, const void *fn)
{
	return bias + sym->st_value == (uintptr_t)fn &&
	    sym->st_shndx != SHN_UNDEF &&
	    ELF64_ST_TYPE(sym->st_info) == STT_FUNC;
}

/*
 * The symbols of our functions fns[i]; false if not all are there.  dladdr1(3)
 * goes through all of the table for each, which for twenty operators was a sixth
 * of the instructions of a program that does nothing: it is asked whose the
 * first is, and all are met on one way through.  The table has no length but by
 * its hash; the way ends with the last one, or with the segment.
 */
static bool
find_symbols(const void *const fns[], unsigned n, struct found *f)
{
	struct link_map *us = NULL;
	ElfW(Sym) *sym = NULL;
	unsigned left = n;
	Dl_info info;

	if (n == 0 || dladdr1(fns[0], &info, (void **)&us, RTLD_DL_LINKMAP) == 0)
		return false;
	for (const ElfW(Dyn) *d = us->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_SYMTAB)
			sym = (void *)d->d_un.d_ptr;
	if (sym == NULL)
		return false;
	/* As in the file, where the loader cannot write there. */
	if ((uintptr_t)sym < (uintptr_t)info.dli_fbase)
		sym = (void *)((uintptr_t)sym + us->l_addr);
	f->segment = segment_at(info.dli_fbase, us->l_addr, (uintptr_t)sym);
	if (f->segment == NULL)
		return false;
	memset(f->syms, 0, sizeof(f->syms));
	for (; left > 0 && (uintptr_t)(sym + 1) - us->l_addr -
	    f->segment->p_vaddr <= f->segment->p_filesz; sym++)
		for (unsigned i = 0; i < n; i++)
			if (f->syms[i] == NULL &&
			    is_of(sym, us->l_addr, fns[i])) {
				f->syms[i] = sym;
				left--;
				break;
			}
	return left == 0;
}

void
exports_take_back(const void *const fns[], unsigned n)
{
	static _Atomic bool taken_back;
	uintptr_t lo = UINTPTR_MAX, hi = 0, page = (uintptr_t)getpagesize();
	struct found f;
	int prot;

	if (n > EXPORTS_MAX || !find_symbols(fns, n, &f))
		return;
	for (unsigned i = 0; i < n; i++) {
		if ((uintptr_t)f.syms[i] < lo)
			lo = (uintptr_t)f.syms[i];
		if ((uintptr_t)(f.syms[i] + 1) > hi)
			hi = (uintptr_t)(f.syms[i] + 1);
	}
	/* Two threads may come here first; one of them is to do it. */
	if (atomic_exchange(&taken_back, true))
		return;
	prot = protection(f.segment);
	lo &= ~(page - 1);
	if (call_mprotect((void *)lo, hi - lo, prot | PROT_WRITE) != 0)
		return;
	for (unsigned i = 0; i < n; i++)
		f.syms[i]->st_value = 0;
	(void)call_mprotect((void *)lo, hi - lo, prot);
}
