/*
 * The functions that the hooks stand before, and the pool that serves while
 * they are looked up.
 *
 * They are looked up once, at the first allocation of the process, which may
 * come before any constructor has run.  Two threads that come first at once
 * both look them up, to the same result.  dlsym(3) takes the loader's lock, and
 * is never called later than this.
 */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "hooks.h"

#define GLIBC "libc.so.6"	/* what its file is called */

struct real real;

/* --- the pool ----------------------------------------------------------- */

/*
 * A stack of blocks: the last one can be given back, others stay.  Blocks that
 * the loader keeps are few and small; messages of failed look-ups are given
 * back one after the other.
 */
struct pool_head {
	size_t size;
	size_t start;	/* where the pool ended before this block */
};

char pool[POOL_SIZE] __attribute__((aligned(16)));
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
	/* Threads that sample ask the filter before anything else. */
	sample_suspect(pool + at);
	produce_alien();
	return pool + at;
}

void
pool_free(void *ptr)
{
	const struct pool_head *head = (const struct pool_head *)ptr - 1;
	size_t end = (size_t)((char *)ptr - pool) + head->size;

	sample_acquit(ptr);
	produce_alien_gone();
	end = (end + 15) & ~(size_t)15;
	atomic_compare_exchange_strong(&pool_used, &end, head->start);
}

size_t
pool_block_size(const void *ptr)
{
	return ((const struct pool_head *)ptr - 1)->size;
}

/* --- looking up --------------------------------------------------------- */

/*
 * Between these two, what this thread allocates comes from the pool and is
 * not logged: look-ups of ours must leave no trace in the program's heap, nor
 * a message that its next dlerror() would show.
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

	/* The first call hands the message out, the second frees it. */
	if (dlerror() != NULL)
		(void)dlerror();
	t->looking = false;
	t->fast = l->fast;
	t->sampler.left = l->left;
	errno = l->error;
}

/*
 * The same by way of dladdr(3), which compares the address with every symbol
 * of the object: 20 us for one of libc's.
 */
static struct range
object_by_symbol(const void *addr)
{
	struct range none = { 0, 0 };
	const ElfW(Ehdr) *eh;
	const ElfW(Phdr) *ph;
	ElfW(Addr) end = 0;
	Dl_info info;

	if (dladdr(addr, &info) == 0 || info.dli_fbase == NULL)
		return none;
	eh = info.dli_fbase;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return none;
	ph = (const void *)((const char *)info.dli_fbase + eh->e_phoff);
	for (unsigned i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD &&
		    ph[i].p_vaddr + ph[i].p_memsz > end)
			end = ph[i].p_vaddr + ph[i].p_memsz;
	/* A program that is not position independent counts from 0. */
	if (eh->e_type == ET_EXEC)
		end -= (uintptr_t)info.dli_fbase;
	return (struct range) { (uintptr_t)info.dli_fbase, end };
}

/*
 * The loader's own look-up by address, which glibc has since 2.35.  The path is
 * "" for the program itself.
 */
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

struct range
real_object(const void *addr)
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
	    dladdr((void *)real.malloc, &info) != 0)
		path = info.dli_fname;
	if (path == NULL)
		return;
	base = strrchr(path, '/');
	base = base != NULL ? base + 1 : path;
	strncpy(real.allocator, base, sizeof(real.allocator) - 1);
}

/*
 * Sanitisers have an allocator of their own that keeps its own account.  Their
 * interceptors of libc may not work yet, so nothing of libc is called before
 * this but dlsym.
 */
static bool
sanitised(void)
{
	static const char *const marks[] = {
		"__asan_init", "__tsan_init", "__msan_init",
		"__hwasan_init", "__lsan_do_leak_check",
	};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (dlsym(RTLD_DEFAULT, marks[i]) != NULL)
			return true;
	return false;
}

/*
 * Whether malloc is somebody else's, as in a program that has an allocator
 * linked in, so that what it allocates never comes here.  A program that is
 * not position independent and takes malloc's address has a stub of that name,
 * which leads to us.
 */
static bool
foreign(void)
{
	void *first = dlsym(RTLD_DEFAULT, "malloc");
	ElfW(Sym) *sym = NULL;
	Dl_info info;

	if (first == NULL || range_has(&real.self, (uintptr_t)first))
		return false;
	return dladdr1(first, &info, (void **)&sym, RTLD_DL_SYMENT) == 0 ||
	    sym == NULL || sym->st_shndx != SHN_UNDEF;
}

/*
 * Of all the functions whose blocks are looked at.  Some of valgrind's tools put
 * theirs in the place of glibc's by rewriting these where they are, and what is
 * before such a block is nobody's to read: memcheck would call it an error of the
 * program's.  They bring a library along that has malloc by this name; callgrind
 * and others leave malloc alone.
 */
static bool
heads_are_glibcs(void)
{
	static const char valgrind[] = "_vgr10010ZU_libcZdsoZa_malloc";

	return real.usable[REAL_MALLOC] != usable_unknown &&
	    real.usable[REAL_CALLOC] != usable_unknown &&
	    real.usable[REAL_REALLOC] != usable_unknown &&
	    strcmp(real.allocator, GLIBC) == 0 &&
	    dlsym(RTLD_DEFAULT, valgrind) == NULL;
}

/*
 * Only where it is the same allocator's: malloc_usable_size() of one on a
 * block of another is undefined.
 */
static void
look_up_usable(void *const fns[REAL_FNS])
{
	void *fn = dlsym(RTLD_NEXT, "malloc_usable_size");

	if (fn != NULL)
		real.heap[1] = real_object(fn);
	for (int i = 0; i < REAL_FNS; i++)
		if (fn != NULL &&
		    range_has(&real.heap[1], (uintptr_t)fns[i]))
			*(void **)&real.usable[i] = fn;
		else
			real.usable[i] = usable_unknown;
	if (heads_are_glibcs())
		heads_begin();
}

static void
look_up(void)
{
	void *fns[REAL_FNS] = {
		[REAL_MALLOC] = dlsym(RTLD_NEXT, "malloc"),
		[REAL_CALLOC] = dlsym(RTLD_NEXT, "calloc"),
		[REAL_REALLOC] = dlsym(RTLD_NEXT, "realloc"),
		[REAL_POSIX_MEMALIGN] = dlsym(RTLD_NEXT, "posix_memalign"),
		[REAL_ALIGNED_ALLOC] = dlsym(RTLD_NEXT, "aligned_alloc"),
		[REAL_MEMALIGN] = dlsym(RTLD_NEXT, "memalign"),
		[REAL_VALLOC] = dlsym(RTLD_NEXT, "valloc"),
		[REAL_PVALLOC] = dlsym(RTLD_NEXT, "pvalloc"),
	};

	*(void **)&real.malloc = fns[REAL_MALLOC];
	*(void **)&real.calloc = fns[REAL_CALLOC];
	*(void **)&real.realloc = fns[REAL_REALLOC];
	*(void **)&real.reallocarray = dlsym(RTLD_NEXT, "reallocarray");
	*(void **)&real.free = dlsym(RTLD_NEXT, "free");
	*(void **)&real.posix_memalign = fns[REAL_POSIX_MEMALIGN];
	*(void **)&real.aligned_alloc = fns[REAL_ALIGNED_ALLOC];
	*(void **)&real.memalign = fns[REAL_MEMALIGN];
	*(void **)&real.valloc = fns[REAL_VALLOC];
	*(void **)&real.pvalloc = fns[REAL_PVALLOC];
	if (sanitised()) {
		operators_begin();
		attach_never();
		return;
	}
	real.self = real_object((void *)&real);
	/* A function of the loader's in every version of libc. */
	real.loader = real_object(dlsym(RTLD_DEFAULT, "__tls_get_addr"));
	real.heap[0] = real_object((void *)real.malloc);
	name_allocator();
	look_up_usable(fns);
	operators_begin();
	if (foreign())
		atomic_store(&hook_foreign, true);
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
