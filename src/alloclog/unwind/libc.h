/*
 * libc: what the target side asks its process without calling a function that
 * the program or another preload may replace.  Private to the target side.
 *
 *	libc_env(), libc_auxv()		what the kernel put on the first stack
 *	libc_clock_ms(), libc_now_ms()	time, from the vDSO
 *	libc_one_thread			glibc's flag
 *	libc_symbols()			the symbols of a mapped ELF object
 *	libc_may_define()		searches the symbols of all other objects
 *
 * glibc's symbols are weak: musl and older versions of glibc lack some of
 * them.
 *
 * Example
 *	const char *node = libc_env("PAGEK_NODE");
 *	int64_t now;
 *
 *	if (node != NULL && libc_clock_ms(&now))
 *		...
 */
#ifndef ALLOCLOG_LIBC_H
#define ALLOCLOG_LIBC_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/*
 * Also for functions whose frame must not enlarge that of a caller on a small
 * stack.
 */
#define COLD __attribute__((noinline, cold))
#define NOINLINE __attribute__((noinline))
/*
 * Marks arrays that most processes do not touch.  The linker puts them last, so that
 * the data that each process touches lie together on few pages.
 */
#define SELDOM __attribute__((section(".bss.zz")))

/* The value of a variable; NULL: none, or a set-user-ID program. */
const char *libc_env(const char *name);

/* An entry of the auxiliary vector; 0: there is none. */
uintptr_t libc_auxv(unsigned long type);

size_t libc_page(void);

/* The process has, or had, objects in another namespace; glibc tells since 2.35. */
bool libc_has_namespaces(void);

/* Of the first stack; NULL: not known. */
void *libc_stack_end(void);

/* Coarse monotonic ms without a system call; false: no clock is mapped. */
bool libc_clock_ms(int64_t *ms);

/* Milliseconds of the monotonic clock, by a system call where there is no other. */
int64_t libc_now_ms(void);

/*
 * Not 0 while the process has one thread; 0 also if libc does not tell.  Set by
 * libc_begin(), before which it must not be read.
 */
extern const char *libc_one_thread;
void libc_begin(void);

/* Later memory of the library is unlocked when it is mapped: see mlock.c. */
extern _Atomic bool libc_unlocks;

/* The dynamic symbols of a mapped object; valid while it is mapped. */
struct libc_symbols {
	ElfW(Sym) *sym;
	const char *names;
	const uint32_t *hash, *gnu;	/* hash tables; one may be NULL */
	uintptr_t bias;		/* added to st_value */
};

/* Finds the symbols of the object with that ELF header; false: it has none. */
bool libc_symbols(const ElfW(Ehdr) *, struct libc_symbols *);
/* The number of symbols, undefined ones included. */
size_t libc_symbols_count(const struct libc_symbols *);
/* The next defined symbol of that name after `after`; after NULL, the first one. */
ElfW(Sym) *libc_symbol(const struct libc_symbols *, const char *name,
    const ElfW(Sym) *after);

/*
 * Records the loaded objects for the two functions below.  Call it after libc_begin(),
 * while no object can be loaded or unloaded.
 */
void libc_note_objects(void);
/* False if no other object defines the symbol; true also if that is unknown. */
bool libc_may_define(const char *name);
/* False if no other object refers to one of the names, which end with NULL; else as above. */
bool libc_may_refer(const char *const names[]);

#pragma GCC visibility pop

#endif
