#include <elf.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#include "libc.h"
#include "syscalls.h"

#define PAGE 4096	/* bytes to read of /proc/self/auxv, and of a page of which nothing is known */

#pragma weak __libc_stack_end
#pragma weak __libc_single_threaded
#pragma weak environ
extern void *__libc_stack_end;
extern char __libc_single_threaded;

void *
libc_stack_end(void)
{
	return &__libc_stack_end != NULL ? __libc_stack_end : NULL;
}

_Atomic bool libc_unlocks;

static const char no;
const char *libc_one_thread = &no;

void
libc_begin(void)
{
	if (&__libc_single_threaded != NULL)
		libc_one_thread = &__libc_single_threaded;
}

struct entry {
	uintptr_t type, value;
};

/* argc, arguments, NULL, environment, NULL, auxiliary vector; or NULL. */
static char **
stack_environment(void)
{
	uintptr_t *at = libc_stack_end();

	return at != NULL ? (char **)(at + *at + 2) : NULL;
}

/* musl does not say where its stack ends. */
static const struct entry *
read_vector(void)
{
	/* Shared: RLIMIT_DATA does not count it. */
	char *p = call_mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ssize_t n = -1;
	int fd;

	if (p == MAP_FAILED)
		return NULL;
	fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/auxv",
	    O_RDONLY | O_CLOEXEC);
	if (fd != -1) {
		/* Less than a page, so that a type of 0 ends it. */
		n = syscall(SYS_read, fd, p, PAGE - sizeof(struct entry));
		call_close(fd);
	}
	if (n > 0)
		return (const struct entry *)(void *)p;
	call_munmap(p, PAGE);
	return NULL;
}

static const struct entry *
find_vector(void)
{
	char **env = stack_environment();

	if (env == NULL)
		return read_vector();
	while (*env != NULL)
		env++;
	/* unsetenv(3) leaves one more for each variable. */
	while (*env == NULL)
		env++;
	return (const struct entry *)(void *)env;
}

static _Atomic(const struct entry *) vector_found;

/* A function of its own, because the caller may be on a small stack. */
static COLD const struct entry *
keep_vector(void)
{
	int saved = errno;
	const struct entry *v = find_vector();

	atomic_store(&vector_found, v);
	errno = saved;
	return v;
}

/* Found only once, because programs change their environment. */
static inline const struct entry *
vector(void)
{
	const struct entry *v = atomic_load(&vector_found);

	return v != NULL ? v : keep_vector();
}

uintptr_t
libc_auxv(unsigned long type)
{
	const struct entry *e = vector();

	for (; e != NULL && e->type != AT_NULL; e++)
		if (e->type == type)
			return e->value;
	return 0;
}

size_t
libc_page(void)
{
	size_t page = libc_auxv(AT_PAGESZ);

	return page != 0 ? page : PAGE;
}

/* libc's is NULL as early as in .preinit_array. */
static char **
environment(void)
{
	if (&environ != NULL && environ != NULL)
		return environ;
	return stack_environment();
}

const char *
libc_env(const char *name)
{
	size_t len = strlen(name);
	char **at = environment();

	if (at == NULL || vector() == NULL || libc_auxv(AT_SECURE) != 0)
		return NULL;
	for (; *at != NULL; at++)
		if (strncmp(*at, name, len) == 0 && (*at)[len] == '=')
			return *at + len + 1;
	return NULL;
}

/* The object's extent, where it lies and its dynamic section. */
struct object {
	uintptr_t base, end, bias;
	const ElfW(Dyn) *dynamic;
};

static bool
read_headers(const ElfW(Ehdr) *eh, struct object *ob)
{
	const ElfW(Phdr) *ph = (const void *)((const char *)eh + eh->e_phoff);
	bool loaded = false;
	uintptr_t dynamic = 0;

	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return false;
	*ob = (struct object){ .base = (uintptr_t)eh };
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && !loaded) {
			ob->bias = ob->base + ph[i].p_offset - ph[i].p_vaddr;
			loaded = true;
		}
		if (ph[i].p_type == PT_LOAD)
			ob->end = ob->bias + ph[i].p_vaddr + ph[i].p_memsz;
		else if (ph[i].p_type == PT_DYNAMIC)
			dynamic = ph[i].p_vaddr;
	}
	ob->dynamic = (const void *)(ob->bias + dynamic);
	return loaded && dynamic != 0;
}

/*
 * glibc relocates these addresses if it can write there; musl never does, and
 * nobody those of the vDSO.  NULL: it lies outside the object.
 */
static void *
object_at(const void *arg, uintptr_t at)
{
	const struct object *ob = arg;

	if (at - ob->base >= ob->end - ob->base)
		at += ob->bias;
	return at - ob->base < ob->end - ob->base ? (void *)at : NULL;
}

/* The tables of DT_GNU_HASH.  chain[0] belongs to symbol `first`. */
struct gnu_hash {
	uint32_t buckets, first, words, shift;
	const ElfW(Addr) *bloom;
	const uint32_t *bucket, *chain;
};

static void
gnu_open(const uint32_t *at, struct gnu_hash *g)
{
	g->buckets = at[0];
	g->first = at[1];
	g->words = at[2];
	g->shift = at[3];
	g->bloom = (const void *)(at + 4);
	g->bucket = (const void *)(g->bloom + g->words);
	g->chain = g->bucket + g->buckets;
}

static uint32_t
gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name != '\0'; name++)
		h = h * 33 + (unsigned char)*name;
	return h;
}

/* The first symbol in the hash's chain; 0: no symbol has this hash. */
static uint32_t
gnu_begin(const struct gnu_hash *g, uint32_t h)
{
	const unsigned bits = 8 * sizeof(ElfW(Addr));
	ElfW(Addr) word = g->bloom[h / bits % g->words];
	uint32_t i;

	if ((word >> h % bits & word >> (h >> g->shift) % bits & 1) == 0)
		return 0;
	i = g->bucket[h % g->buckets];
	return i >= g->first ? i : 0;
}

static bool
gnu_ends(const struct gnu_hash *g, uint32_t i)
{
	return (g->chain[i - g->first] & 1) != 0;
}

/* The first symbol with that hash in a chain, from symbol i on; 0: none. */
static uint32_t
gnu_next(const struct gnu_hash *g, uint32_t h, uint32_t i)
{
	while ((g->chain[i - g->first] | 1) != (h | 1))
		if (gnu_ends(g, i++))
			return 0;
	return i;
}

/* DT_HASH has the number of symbols; from DT_GNU_HASH it is computed. */
size_t
libc_symbols_count(const struct libc_symbols *s)
{
	struct gnu_hash g;
	uint32_t last = 0;

	if (s->hash != NULL)
		return s->hash[1];
	gnu_open(s->gnu, &g);
	for (uint32_t i = 0; i < g.buckets; i++)
		if (g.bucket[i] > last)
			last = g.bucket[i];
	if (last < g.first)
		return g.first;
	while (!gnu_ends(&g, last))
		last++;
	return (size_t)last + 1;
}

static bool
is_defined_as(const ElfW(Sym) *sym, const char *of, const char *name)
{
	return sym->st_shndx != SHN_UNDEF && strcmp(of, name) == 0;
}

static ElfW(Sym) *
scan_symbols(const struct libc_symbols *s, const char *name, size_t i)
{
	size_t n = libc_symbols_count(s);

	for (; i < n; i++)
		if (is_defined_as(&s->sym[i], s->names + s->sym[i].st_name,
			name))
			return &s->sym[i];
	return NULL;
}

ElfW(Sym) *
libc_symbol(const struct libc_symbols *s, const char *name,
    const ElfW(Sym) *after)
{
	uint32_t i = after != NULL ? (uint32_t)(after - s->sym) : 0, h;
	struct gnu_hash g;

	if (s->gnu == NULL)
		return scan_symbols(s, name, i + 1);
	gnu_open(s->gnu, &g);
	h = gnu_hash(name);
	if (after == NULL)
		i = gnu_begin(&g, h);
	else
		i = gnu_ends(&g, i) ? 0 : i + 1;
	while (i != 0 && (i = gnu_next(&g, h, i)) != 0) {
		if (is_defined_as(&s->sym[i], s->names + s->sym[i].st_name,
			name))
			return &s->sym[i];
		i = gnu_ends(&g, i) ? 0 : i + 1;
	}
	return NULL;
}

/* at() turns an address of the dynamic section into a pointer. */
static bool
read_dynamic(const ElfW(Dyn) *dynamic, void *(*at)(const void *, uintptr_t),
    const void *arg, struct libc_symbols *s)
{
	for (const ElfW(Dyn) *d = dynamic; d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_SYMTAB:
			s->sym = at(arg, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			s->names = at(arg, d->d_un.d_ptr);
			break;
		case DT_HASH:
			s->hash = at(arg, d->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			s->gnu = at(arg, d->d_un.d_ptr);
			break;
		}
	return s->sym != NULL && s->names != NULL &&
	    (s->hash != NULL || s->gnu != NULL);
}

bool
libc_symbols(const ElfW(Ehdr) *eh, struct libc_symbols *s)
{
	struct object ob;

	*s = (struct libc_symbols){ .bias = 0 };
	if (!read_headers(eh, &ob))
		return false;
	s->bias = ob.bias;
	return read_dynamic(ob.dynamic, object_at, &ob, s);
}

#pragma weak _r_debug

#define OBJECTS 8	/* maximum; a search of more takes too long */

#ifdef __LP64__
#define RELA_SYMBOL(info) ELF64_R_SYM(info)
#else
#define RELA_SYMBOL(info) ELF32_R_SYM(info)
#endif

/* All loaded objects except this one (_DYNAMIC) and the vDSO. */
static struct {
	size_t n;
	bool known;	/* the list is complete, and each object has a GNU hash table */
	struct {
		const struct link_map *map;
		const uint32_t *gnu;
	} object[OBJECTS];
} others;

/* Like object_at(), for a link_map, which has only the bias. */
static void *
mapped_at(const void *arg, uintptr_t at)
{
	const struct link_map *map = arg;

	return (void *)(at < map->l_addr ? at + map->l_addr : at);
}

static bool
is_another(const struct link_map *map)
{
	return map->l_ld != NULL && map->l_ld != _DYNAMIC &&
	    (map->l_addr == 0 || map->l_addr != libc_auxv(AT_SYSINFO_EHDR));
}

static bool
note_object(const struct link_map *map)
{
	struct libc_symbols s = { .bias = 0 };

	if (!is_another(map))
		return true;
	if (others.n == OBJECTS ||
	    !read_dynamic(map->l_ld, mapped_at, map, &s) || s.gnu == NULL)
		return false;
	others.object[others.n].map = map;
	others.object[others.n++].gnu = s.gnu;
	return true;
}

void
libc_note_objects(void)
{
	const struct link_map *map = &_r_debug != NULL ? _r_debug.r_map : NULL;

	others.n = 0;
	others.known = *libc_one_thread && map != NULL;
	for (; others.known && map != NULL; map = map->l_next)
		others.known = note_object(map);
}

bool
libc_may_define(const char *name)
{
	uint32_t h = gnu_hash(name), i;
	struct gnu_hash g;

	if (!others.known || !*libc_one_thread)
		return true;
	for (size_t k = 0; k < others.n; k++) {
		gnu_open(others.object[k].gnu, &g);
		i = gnu_begin(&g, h);
		if (i != 0 && gnu_next(&g, h, i) != 0)
			return true;
	}
	return false;
}

static bool
refers(const struct libc_symbols *s, const ElfW(Rela) *rela, size_t n,
    const char *const names[])
{
	for (; n > 0; n--, rela++) {
		const ElfW(Sym) *sym = &s->sym[RELA_SYMBOL(rela->r_info)];

		for (size_t k = 0; sym != s->sym && names[k] != NULL; k++)
			if (strcmp(s->names + sym->st_name, names[k]) == 0)
				return true;
	}
	return false;
}

/* Searches the object's relocations; true also if it has unknown kinds of them. */
static bool
object_refers(const struct link_map *map, const char *const names[])
{
	const ElfW(Rela) *rela = NULL, *calls = NULL;
	size_t n = 0, ncalls = 0, plain = 0;
	struct libc_symbols s = { .bias = 0 };

	if (!read_dynamic(map->l_ld, mapped_at, map, &s))
		return true;
	for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == DT_RELA)
			rela = mapped_at(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELASZ)
			n = d->d_un.d_val / sizeof(*rela);
		else if (d->d_tag == DT_RELACOUNT)
			plain = d->d_un.d_val;
		else if (d->d_tag == DT_JMPREL)
			calls = mapped_at(map, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			ncalls = d->d_un.d_val / sizeof(*calls);
		else if (d->d_tag == DT_REL)
			return true;
	if (plain > n)
		plain = n;
	return refers(&s, rela + plain, n - plain, names) ||
	    refers(&s, calls, ncalls, names);
}

bool
libc_may_refer(const char *const names[])
{
	for (size_t k = 0; others.known && k < others.n; k++)
		if (object_refers(others.object[k].map, names))
			return true;
	return !others.known || !*libc_one_thread;
}

/*
 * Reads the loader's list for debuggers; later versions have an entry for each
 * namespace.
 */
bool
libc_has_namespaces(void)
{
	const struct later {
		struct r_debug first;
		const struct later *next;
	} *list = (const void *)&_r_debug;

	/*
	 * Keeps the compiler from knowing that the older structure is shorter.
	 */
	__asm__("" : "+r"(list));
	return list != NULL && list->first.r_version > 1 && list->next != NULL;
}

#ifdef __LP64__
typedef int clock_function(clockid_t, struct timespec *);

static int
no_clock(clockid_t id, struct timespec *ts)
{
	(void)id;
	(void)ts;
	return -1;
}

static clock_function *_Atomic clock_found;

static clock_function *
find_clock(void)
{
	const ElfW(Ehdr) *vdso = (const void *)libc_auxv(AT_SYSINFO_EHDR);
	struct libc_symbols s;
	const ElfW(Sym) *sym;

	if (vdso == NULL || !libc_symbols(vdso, &s))
		return no_clock;
	sym = libc_symbol(&s, "__vdso_clock_gettime", NULL);
	if (sym == NULL)
		sym = libc_symbol(&s, "__kernel_clock_gettime", NULL);
	return sym != NULL ? (clock_function *)(s.bias + sym->st_value) :
	    no_clock;
}

static COLD clock_function *
keep_clock(void)
{
	clock_function *fn = find_clock();

	atomic_store_explicit(&clock_found, fn, memory_order_relaxed);
	return fn;
}

/* False: there is no such function. */
static inline bool
ask_clock(clockid_t id, struct timespec *ts)
{
	clock_function *fn = atomic_load_explicit(&clock_found,
	    memory_order_relaxed);

	return (fn != NULL ? fn : keep_clock())(id, ts) == 0;
}

static void
ask_kernel(clockid_t id, struct timespec *ts)
{
	(void)syscall(SYS_clock_gettime, id, ts);
}
#else
/* Nothing is watched here. */
static bool
ask_clock(clockid_t id, struct timespec *ts)
{
	return libc_auxv(AT_SYSINFO_EHDR) != 0 && clock_gettime(id, ts) == 0;
}

static void
ask_kernel(clockid_t id, struct timespec *ts)
{
	(void)clock_gettime(id, ts);
}
#endif

static int64_t
to_ms(const struct timespec *ts)
{
	return ts->tv_sec * INT64_C(1000) + ts->tv_nsec / 1000000;
}

bool
libc_clock_ms(int64_t *ms)
{
	struct timespec ts;

	if (!ask_clock(CLOCK_MONOTONIC_COARSE, &ts))
		return false;
	*ms = to_ms(&ts);
	return true;
}

int64_t
libc_now_ms(void)
{
	struct timespec ts = { 0 };

	if (!ask_clock(CLOCK_MONOTONIC, &ts))
		ask_kernel(CLOCK_MONOTONIC, &ts);
	return to_ms(&ts);
}
