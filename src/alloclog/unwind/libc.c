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

/* --- the first stack ----------------------------------------------------- */

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

/* --- symbols ------------------------------------------------------------- */

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
object_at(const struct object *ob, uintptr_t at)
{
	if (at - ob->base >= ob->end - ob->base)
		at += ob->bias;
	return at - ob->base < ob->end - ob->base ? (void *)at : NULL;
}

/* The hash tables tell how many symbols there are: DT_HASH outright. */
static size_t
count_symbols(const uint32_t *hash, const uint32_t *gnu)
{
	uint32_t buckets, first, words, last = 0;
	const uint32_t *bucket, *chain;

	if (hash != NULL)
		return hash[1];
	if (gnu == NULL)
		return 0;
	buckets = gnu[0];
	first = gnu[1];
	words = gnu[2];
	bucket = gnu + 4 + words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
	chain = bucket + buckets;
	for (uint32_t i = 0; i < buckets; i++)
		if (bucket[i] > last)
			last = bucket[i];
	if (last < first)
		return first;
	/* An odd hash ends a chain. */
	while ((chain[last - first] & 1) == 0)
		last++;
	return (size_t)last + 1;
}

bool
libc_symbols(const ElfW(Ehdr) *eh, struct libc_symbols *s)
{
	const uint32_t *hash = NULL, *gnu = NULL;
	struct object ob;

	*s = (struct libc_symbols){ .n = 0 };
	if (!read_headers(eh, &ob))
		return false;
	for (const ElfW(Dyn) *d = ob.dynamic; d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_SYMTAB:
			s->sym = object_at(&ob, d->d_un.d_ptr);
			break;
		case DT_STRTAB:
			s->names = object_at(&ob, d->d_un.d_ptr);
			break;
		case DT_HASH:
			hash = object_at(&ob, d->d_un.d_ptr);
			break;
		case DT_GNU_HASH:
			gnu = object_at(&ob, d->d_un.d_ptr);
			break;
		}
	s->bias = ob.bias;
	s->n = count_symbols(hash, gnu);
	return s->sym != NULL && s->names != NULL && s->n != 0;
}

/* --- namespaces ---------------------------------------------------------- */

#pragma weak _r_debug

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

/* --- time ---------------------------------------------------------------- */

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

	if (vdso == NULL || !libc_symbols(vdso, &s))
		return no_clock;
	for (size_t i = 0; i < s.n; i++) {
		const char *name = s.names + s.sym[i].st_name;

		if (s.sym[i].st_shndx != SHN_UNDEF &&
		    (strcmp(name, "__vdso_clock_gettime") == 0 ||
			strcmp(name, "__kernel_clock_gettime") == 0))
			return (clock_function *)(s.bias + s.sym[i].st_value);
	}
	return no_clock;
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
