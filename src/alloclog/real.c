/*
 * The real functions, the bootstrap pool, and our exported symbols.
 *
 * The functions are looked up at the first allocation of the process, possibly
 * before any constructor; two threads at once get the same result.  dlsym(3)
 * takes the loader's lock and is never called later.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>

#include "debugdata.h"
#include "hooks.h"
#include "unwind/libc.h"
#include "unwind/syscalls.h"

#define GLIBC "libc.so.6"	/* the name of its file */

struct real real;

/* A stack of blocks: only the last one can be reused.  Few are kept. */
struct pool_head {
	size_t size;
	size_t start;	/* end of the pool before this block */
};

SELDOM char pool[POOL_SIZE] __attribute__((aligned(16)));
static _Atomic size_t pool_used;

void *
pool_alloc(size_t align, size_t size)
{
	size_t start = atomic_load(&pool_used), at, end;
	struct pool_head *head;

	if (align < 16)
		align = 16;
	do {
		at = (start + sizeof(*head) + align - 1) & ~(align - 1);
		if (align > POOL_SIZE || at > POOL_SIZE ||
		    size > POOL_SIZE - at) {
			errno = ENOMEM;
			return NULL;
		}
		end = (at + size + 15) & ~(size_t)15;
	} while (!atomic_compare_exchange_weak(&pool_used, &start, end));
	head = (struct pool_head *)(void *)(pool + at) - 1;
	head->size = size;
	head->start = start;
	/* Sampling threads ask the filter first. */
	sample_filter_add(pool + at);
	produce_bootstrap_block();
	return pool + at;
}

void
pool_free(void *ptr)
{
	const struct pool_head *head = (const struct pool_head *)ptr - 1;
	size_t end = (size_t)((char *)ptr - pool) + head->size;

	sample_filter_remove(ptr);
	produce_bootstrap_freed();
	end = (end + 15) & ~(size_t)15;
	atomic_compare_exchange_strong(&pool_used, &end, head->start);
}

size_t
pool_block_size(const void *ptr)
{
	return ((const struct pool_head *)ptr - 1)->size;
}

/*
 * The loader's functions.  Before glibc 2.34 they lie in libdl, which a program
 * may lack: the loader's list of objects for debuggers then replaces them.
 */
#pragma weak dlsym
#pragma weak dladdr
#pragma weak dlerror
#pragma weak _r_debug

/* The linker's; ours is the only object that it can mean. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));

static const ElfW(Ehdr) *
header_of(const struct link_map *map)
{
	uintptr_t at = map->l_addr;

	/* Of a program that is not position independent. */
	if (at == 0)
		at = libc_auxv(AT_PHDR) & ~((uintptr_t)libc_page() - 1);
	return (const void *)at;
}

static const struct link_map *
first_object(void)
{
	return &_r_debug != NULL ? _r_debug.r_map : NULL;
}

static void *
find_in_object(const ElfW(Ehdr) *eh, const char *name)
{
	const ElfW(Sym) *sym = NULL;
	struct libc_symbols s;

	if (!libc_symbols(eh, &s))
		return NULL;
	while ((sym = libc_symbol(&s, name, sym)) != NULL)
		if (sym->st_value != 0 &&
		    ELF64_ST_TYPE(sym->st_info) == STT_FUNC)
			return (void *)(s.bias + sym->st_value);
	return NULL;
}

static void *
find_without_libdl(void *where, const char *name)
{
	const struct link_map *map = first_object();
	void *fn = NULL;

	if (where == RTLD_NEXT) {
		while (map != NULL && header_of(map) != &__ehdr_start)
			map = map->l_next;
		map = map != NULL ? map->l_next : NULL;
	}
	for (; fn == NULL && map != NULL; map = map->l_next)
		fn = find_in_object(header_of(map), name);
	return fn;
}

static bool has_address(const ElfW(Ehdr) *, uintptr_t addr, struct range *);

static int
address_without_libdl(const void *addr, Dl_info *info)
{
	struct range r;

	for (const struct link_map *map = first_object(); map != NULL;
	     map = map->l_next)
		if (has_address(header_of(map), (uintptr_t)addr, &r)) {
			*info = (Dl_info){ .dli_fname = map->l_name,
				.dli_fbase = (void *)r.lo };
			return 1;
		}
	return 0;
}

static struct {
	void *(*symbol)(void *, const char *);
	int (*address)(const void *, Dl_info *);
} loader = { find_without_libdl, address_without_libdl };

static void
loader_begin(void)
{
	if (dlsym == NULL || dladdr == NULL)
		return;
	loader.symbol = dlsym;
	loader.address = dladdr;
}

/* A lookup that fails costs 2 us, because the loader formats a message. */
void *
real_symbol(const char *name)
{
	return libc_may_define(name) ? loader.symbol(RTLD_NEXT, name) : NULL;
}

/* True if any object defines the name, which this library does not. */
static bool
is_defined(const char *name)
{
	return libc_may_define(name) &&
	    loader.symbol(RTLD_DEFAULT, name) != NULL;
}

/*
 * In between this thread allocates from the pool and logs nothing: look-ups
 * leave no trace in the program's heap, and no message for its next dlerror().
 */
struct lookup {
	struct producer *fast;
	uint64_t left;
	int error;
};

static void
lookup_begin(struct lookup *l)
{
	struct thread *t = &thread_self;

	l->fast = t->fast;
	l->left = t->sampler.left;
	l->error = errno;
	t->looking = true;
	t->fast = NULL;
	t->sampler.left = 0;
}

static void
lookup_end(const struct lookup *l)
{
	struct thread *t = &thread_self;

	/* The first call returns the message, the second frees it. */
	if (dlerror != NULL && dlerror() != NULL)
		(void)dlerror();
	t->looking = false;
	t->fast = l->fast;
	t->sampler.left = l->left;
	errno = l->error;
}

/* The object of that header, if the address lies in it. */
static bool
has_address(const ElfW(Ehdr) *eh, uintptr_t addr, struct range *r)
{
	const ElfW(Phdr) *ph = (const void *)((const char *)eh + eh->e_phoff);
	ElfW(Addr) end = 0;

	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD &&
		    ph[i].p_vaddr + ph[i].p_memsz > end)
			end = ph[i].p_vaddr + ph[i].p_memsz;
	/* A program that is not position independent counts from 0. */
	if (eh->e_type == ET_EXEC)
		end -= (uintptr_t)eh;
	*r = (struct range){ (uintptr_t)eh, end };
	return range_has(r, addr);
}

/* dladdr(3) compares every symbol of the object: 20 us for one of libc's. */
static struct range
object_by_symbol(const void *addr)
{
	struct range r = { 0, 0 };
	Dl_info info;

	if (loader.address(addr, &info) == 0 || info.dli_fbase == NULL ||
	    !has_address(info.dli_fbase, (uintptr_t)addr, &r))
		r = (struct range){ 0, 0 };
	return r;
}

/* The loader's look-up, since glibc 2.35; the program's path is "". */
#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object

static bool
object_at(const void *addr, struct range *r, const char **path)
{
	struct dl_find_object o;

	if (_dl_find_object == NULL ||
	    _dl_find_object((void *)(uintptr_t)addr, &o) != 0)
		return false;
	r->lo = (uintptr_t)o.dlfo_map_start;
	r->size = (uintptr_t)o.dlfo_map_end - r->lo;
	*path = o.dlfo_link_map->l_name;
	return true;
}
#else
static bool
object_at(const void *addr, struct range *r, const char **path)
{
	(void)addr;
	(void)r;
	(void)path;
	return false;
}
#endif

/* The object that contains the address; size 0 if none does. */
static struct range
object_of(const void *addr)
{
	const char *path;
	struct range r;

	return object_at(addr, &r, &path) ? r : object_by_symbol(addr);
}

static size_t
usable_unknown(void *ptr)
{
	(void)ptr;
	return 0;
}

static void
name_allocator(void)
{
	const char *path = "", *base;
	struct range r;
	Dl_info info;

	if ((!object_at((void *)real.malloc, &r, &path) || path[0] == '\0') &&
	    loader.address((void *)real.malloc, &info) != 0)
		path = info.dli_fname;
	if (path == NULL)
		return;
	base = path + strlen(path);
	while (base > path && base[-1] != '/')
		base--;
	memcpy(real.allocator, base,
	    strnlen(base, sizeof(real.allocator) - 1));
}

/* Their interceptors of libc may not work yet: only dlsym comes before this. */
static bool
is_sanitized(void)
{
	static const char *const marks[] = {
		"__asan_init", "__tsan_init", "__msan_init",
		"__hwasan_init", "__lsan_do_leak_check",
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (is_defined(marks[i]))
			return true;
	return false;
}

/*
 * Tools of valgrind that count blocks rewrite each malloc in place, ours too.
 * They bring a library with malloc by this name.
 */
static bool
is_rewritten(void)
{
	return is_defined("_vgr10010ZU_libcZdsoZa_malloc");
}

/*
 * True when malloc is not ours.  A program that is not position independent may
 * have a stub of that name, which leads to us.
 */
static bool
malloc_is_foreign(void)
{
	bool rewritten = is_rewritten();
	/* Last: it discards the loader's message about the other. */
	void *first = loader.symbol(RTLD_DEFAULT, "malloc");
	struct libc_symbols s;
	Dl_info info;

	if (rewritten)
		return true;
	if (first == NULL || range_has(&real.self, (uintptr_t)first))
		return false;
	if (loader.address(first, &info) == 0 || info.dli_fbase == NULL ||
	    !libc_symbols(info.dli_fbase, &s))
		return true;
	for (size_t i = libc_symbols_count(&s); i-- > 0; )
		if (s.sym[i].st_shndx == SHN_UNDEF &&
		    s.bias + s.sym[i].st_value == (uintptr_t)first)
			return false;
	return true;
}

/* Memcheck would report a read before a block. */
static bool
chunks_are_glibcs(void)
{
	return real.usable[REAL_MALLOC] != usable_unknown &&
	    real.usable[REAL_CALLOC] != usable_unknown &&
	    real.usable[REAL_REALLOC] != usable_unknown &&
	    strcmp(real.allocator, GLIBC) == 0 &&
	    !is_rewritten();
}

#define FN(name) { #name, offsetof(struct real, name) }

static const struct {
	const char *name;
	size_t at;	/* in `real` */
} functions[] = {
	[REAL_MALLOC] = FN(malloc),
	[REAL_CALLOC] = FN(calloc),
	[REAL_REALLOC] = FN(realloc),
	[REAL_POSIX_MEMALIGN] = FN(posix_memalign),
	[REAL_ALIGNED_ALLOC] = FN(aligned_alloc),
	[REAL_MEMALIGN] = FN(memalign),
	[REAL_VALLOC] = FN(valloc),
	[REAL_PVALLOC] = FN(pvalloc),
	[REAL_REALLOCARRAY] = FN(reallocarray),
	[REAL_FREE] = FN(free),
	[REAL_FREE_SIZED] = FN(free_sized),
	[REAL_FREE_ALIGNED_SIZED] = FN(free_aligned_sized),
	[REAL_MALLOCX] = FN(mallocx),
	[REAL_RALLOCX] = FN(rallocx),
	[REAL_DALLOCX] = FN(dallocx),
	[REAL_SDALLOCX] = FN(sdallocx),
	[REAL_XALLOCX] = FN(xallocx),
};

#define FAMILY (REAL_FREE + 1)

static void **
function_at(size_t i)
{
	return (void **)(void *)((char *)&real + functions[i].at);
}

/* malloc_usable_size() on a block of another allocator is undefined. */
static void
look_up_usable(void)
{
	void *fn = real_symbol("malloc_usable_size");

	if (fn != NULL)
		real.heap[1] = object_of(fn);
	for (int i = 0; i < REAL_FNS; i++)
		if (fn != NULL &&
		    range_has(&real.heap[1], (uintptr_t)*function_at((size_t)i)))
			*(void **)&real.usable[i] = fn;
		else
			real.usable[i] = usable_unknown;
	if (chunks_are_glibcs())
		chunk_begin();
}

/* The segment that contains `at`, of the object at eh; or NULL. */
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

#define MISSING_MAX (OPERATORS_MAX + REAL_FNS)

/* Entries of an object's symbol table that are to be changed, and its segment. */
struct entries {
	const ElfW(Phdr) *segment;
	unsigned n;
	ElfW(Sym) *syms[MISSING_MAX];
};

static bool
open_symbols(const ElfW(Ehdr) *eh, struct libc_symbols *s, struct entries *f)
{
	f->n = 0;
	if (!libc_symbols(eh, s))
		return false;
	f->segment = segment_at(eh, s->bias, (uintptr_t)s->sym);
	return f->segment != NULL;
}

/*
 * Makes the pages of the entries writable, or read-only again.  They are then
 * this process's own copies; the file and other processes keep theirs.
 */
static bool
protect_entries(const struct entries *f, bool writable)
{
	uintptr_t lo = UINTPTR_MAX, hi = 0, page = libc_page();

	for (unsigned i = 0; i < f->n; i++) {
		if ((uintptr_t)f->syms[i] < lo)
			lo = (uintptr_t)f->syms[i];
		if ((uintptr_t)(f->syms[i] + 1) > hi)
			hi = (uintptr_t)(f->syms[i] + 1);
	}
	lo &= ~(page - 1);
	return call_mprotect((void *)lo, hi - lo, protection(f->segment) |
	    (writable ? PROT_WRITE : 0)) == 0;
}

/* Two threads may begin at once: one of them changes the table. */
static bool
change_begins(_Atomic bool *taken, const struct entries *f)
{
	return f->n > 0 && !atomic_exchange(taken, true) &&
	    protect_entries(f, true);
}

/*
 * Hides our functions of these names from the loader, which ignores symbols
 * without an address.  All, or none if the table is read-only.
 */
static void
withdraw_exports(const char *const names[], unsigned n)
{
	static _Atomic bool taken;
	struct libc_symbols s;
	struct entries f;

	if (n == 0 || !open_symbols(&__ehdr_start, &s, &f))
		return;
	while (f.n < n && (f.syms[f.n] =
	    libc_symbol(&s, names[f.n], NULL)) != NULL)
		f.n++;
	if (f.n < n || !change_begins(&taken, &f))
		return;
	for (unsigned i = 0; i < n; i++)
		f.syms[i]->st_value = 0;
	(void)protect_entries(&f, false);
}

/*
 * An object that is loaded with RTLD_DEEPBIND finds libc's functions before
 * ours, and so does dlsym(3) with libc's handle.  So libc's symbol entries for
 * the malloc family are changed to our functions, which call the functions that
 * the entries had.  Objects that were bound earlier, and libc itself, do not
 * look here again.
 *
 * Only if all functions that ours call are libc's: a layer in between may get
 * libc's functions by dlsym(3), and would then call ours from ours.
 */
#if defined(__x86_64__) || defined(__aarch64__)
static bool
all_are_libcs(void *const fns[FAMILY])
{
	bool all = strcmp(real.allocator, GLIBC) == 0;

	for (size_t i = 0; i < FAMILY; i++)
		all = all && range_has(&real.heap[0], (uintptr_t)fns[i]);
	return all;
}

static void
lead_libc_to_us(void *const fns[FAMILY])
{
	static _Atomic bool taken;
	uintptr_t ours[MISSING_MAX];
	struct libc_symbols s;
	struct entries f;

	if (!all_are_libcs(fns) ||
	    !open_symbols((const void *)real.heap[0].lo, &s, &f) ||
	    /* No thread may run code in a page while it is changed. */
	    (f.segment->p_flags & PF_X) != 0)
		return;
	for (unsigned i = 0; i < FAMILY; i++) {
		ElfW(Sym) *sym = NULL;
		unsigned before = f.n;

		while (f.n < MISSING_MAX && (sym =
		    libc_symbol(&s, functions[i].name, sym)) != NULL)
			if (s.bias + sym->st_value == (uintptr_t)fns[i]) {
				ours[f.n] = (uintptr_t)find_in_object(
				    &__ehdr_start, functions[i].name);
				f.syms[f.n++] = sym;
			}
		if (f.n == before || ours[before] == 0)
			return;
	}
	if (!change_begins(&taken, &f))
		return;
	for (unsigned i = 0; i < f.n; i++)
		__atomic_store_n(&f.syms[i]->st_value, ours[i] - s.bias,
		    __ATOMIC_RELEASE);
	(void)protect_entries(&f, false);
}
#else
static void
lead_libc_to_us(void *const fns[FAMILY])
{
	(void)fns;
}
#endif

/*
 * The changes of the symbol tables copy some ten pages, which takes a short program too
 * long.  Only objects that are loaded later need them, so they wait until the loader
 * calls calloc(n, 1) to describe a new object.  They do not wait if an object refers to
 * dlsym(3) or dlvsym(3).
 */
static struct {
	_Atomic bool wait;
	bool leads;
	unsigned nmissing;
	const char *missing[MISSING_MAX];	/* names of ours without a real function */
	void *fns[FAMILY];			/* libc's functions, if `leads` */
} tables;

static bool
tables_can_wait(void)
{
	static const char *const looks[] = { "dlsym", "dlvsym", NULL };

	return real.loader.size != 0 && !libc_may_refer(looks);
}

/* A program that looks up a function that no object has must not find ours. */
static void
change_tables(void)
{
	withdraw_exports(tables.missing, tables.nmissing);
	if (tables.leads)
		lead_libc_to_us(tables.fns);
}

void
real_loading(void)
{
	int saved = errno;

	if (atomic_exchange(&tables.wait, false))
		change_tables();
	errno = saved;
}

/* musl's functions call our hooks and would log twice; these do not. */
static void *
calloc_by_malloc(size_t n, size_t size)
{
	size_t bytes;
	void *ptr;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	ptr = real.malloc(bytes);
	return ptr != NULL ? memset(ptr, 0, bytes) : NULL;
}

static int
posix_memalign_by_aligned(void **out, size_t align, size_t size)
{
	void *ptr;

	if (align < sizeof(void *))
		return EINVAL;
	ptr = real.aligned_alloc(align, size);
	if (ptr == NULL)
		return errno;
	*out = ptr;
	return 0;
}

static void *
valloc_by_aligned(size_t size)
{
	return real.aligned_alloc(libc_page(), size);
}

static void
avoid_nested_calls(void)
{
	real.calloc = calloc_by_malloc;
	real.posix_memalign = posix_memalign_by_aligned;
	real.memalign = real.aligned_alloc;
	real.valloc = valloc_by_aligned;
}

static void
look_around(void)
{
	real.self = object_of((void *)&real);
	/* The loader has this function in every version of libc. */
	real.loader = object_of(loader.symbol(RTLD_DEFAULT,
	    "__tls_get_addr"));
	real.heap[0] = object_of((void *)real.malloc);
	name_allocator();
	look_up_usable();
	/* musl is both: its frees are the program's. */
	if (real.heap[0].size != 0 && real.loader.lo == real.heap[0].lo) {
		real.loader = (struct range){ 0, 0 };
		avoid_nested_calls();
	}
}

static bool
look_up_function(size_t i)
{
	void *fn = NULL;
	struct range self;

	if (i <= REAL_MALLOCX || real.mallocx != NULL)
		fn = real_symbol(functions[i].name);
	/* Another thread may have changed libc's entries already. */
	if (!has_address(&__ehdr_start, (uintptr_t)fn, &self))
		*function_at(i) = fn;
	return *function_at(i) != NULL;
}

static void
look_up(void)
{
	bool sanitized, foreign;
	unsigned n = 0;

	libc_begin();
	libc_note_objects();
	loader_begin();
	for (size_t i = 0; i < REAL_FNS; i++)
		if (!look_up_function(i))
			tables.missing[n++] = functions[i].name;
	*(void **)&real.exit_now = real_symbol("_exit");
	*(void **)&real.mremap = real_symbol("mremap");
	sanitized = is_sanitized();
	if (sanitized)
		attach_disable();
	else
		look_around();
	tables.nmissing = n + operators_begin(tables.missing + n);
	/*
	 * Last, for a look-up that succeeds discards the message of one that
	 * did not: dlerror(3) translates it, which may be too early.
	 */
	foreign = !sanitized && malloc_is_foreign();
	if (foreign)
		atomic_store(&hook_foreign, true);
	tables.leads = !sanitized && !foreign;
	for (size_t i = 0; i < FAMILY; i++)
		tables.fns[i] = *function_at(i);
	if (tables.leads && tables_can_wait())
		atomic_store(&tables.wait, true);
	else
		change_tables();
	if (debugdata_begin(tables.leads))
		operators_record();
}

bool
real_get(void)
{
	struct lookup l;

	if (unlikely(thread_self.looking))
		return false;
	if (real_known())
		return true;
	lookup_begin(&l);
	look_up();
	lookup_end(&l);
	atomic_store_explicit(&real.ready, true, memory_order_release);
	return true;
}

_Atomic int chunk_state;

void
chunk_begin(void)
{
	/* Other machines have other heads, or tag their memory. */
#ifdef __x86_64__
	int unset = CHUNK_UNSET;

	(void)atomic_compare_exchange_strong(&chunk_state, &unset,
	    CHUNK_TRIAL);
#endif
}

/* Reads an ordinary head that lies in the block's page. */
static bool
read_head(const void *ptr, uint64_t *head)
{
	if (((uintptr_t)ptr & 0xff8) == 0)
		return false;
	*head = ((const uint64_t *)ptr)[-1];
	return (*head & CHUNK_MAPPED) == 0;
}

/* CHUNK_NEVER is final. */
unsigned
chunk_ask(void *ptr, uint64_t size, size_t (*const *usable)(void *))
{
	int state = atomic_load_explicit(&chunk_state, memory_order_relaxed);
	uint64_t bytes, head;

	if (state < CHUNK_TRUSTED || !read_head(ptr, &head))
		return produce_overhead(size, (*usable)(ptr));
	head = (head & ~(uint64_t)CHUNK_FLAGS) - sizeof(head);
	if (head - size >= CHUNK_ODD) {
		/* Or it is no head: then no block has one. */
		if (state > CHUNK_TRUSTED)
			atomic_store(&chunk_state, CHUNK_NEVER);
		return 0;
	}
	bytes = (*usable)(ptr);
	if (head != bytes)
		atomic_store(&chunk_state, CHUNK_NEVER);
	else if (state > CHUNK_TRUSTED)
		(void)atomic_compare_exchange_strong(&chunk_state, &state,
		    state - 1);
	return produce_overhead(size, bytes);
}
