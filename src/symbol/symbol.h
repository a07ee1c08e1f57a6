/*
 * symbol: from a return address to the words that a person reads.
 *
 * Vocabulary
 *	module		code mapped into a target: a file, or "[vdso]", or
 *			"[anon]" for code made at run time.
 *	module table	the modules of one process image, recorded while it
 *			lives, so that an ended target keeps its names.
 *	name		the nearest symbol at or below the address ("PyObject_Malloc",
 *			"Conn::accept(int)"), else module and offset from where
 *			its file begins ("libfoo.so+0x1f30"), else the address
 *			in hex.  Never more than is known: when the address lies
 *			beyond the symbol's end, it is not the symbol's; and a
 *			file that was exchanged since it was mapped gives none.
 *
 * Example
 *	struct symbol_modules *m;
 *	symbol_modules_new(&m);
 *	symbol_modules_read(m, pid);		while it lives; again after dlopen
 *	symbol_name(m, caller, buf, sizeof buf);
 *
 * Names from files are outside text: what comes out of here is not yet safe
 * for a terminal (base_safe_text).  One thread at a time per module table;
 * tables of different threads share what they read.  Files are looked up in
 * place and read, never fetched from a network, and no descriptor is kept.
 * Without elfutils at build time every name is module+offset.
 */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SYMBOL_NAME_MAX 256
#define SYMBOL_MODULES_MAX 4096	/* ranges of code; more are not known */

struct symbol_modules;

int symbol_modules_new(struct symbol_modules **);
void symbol_modules_free(struct symbol_modules *);
/* A copy for a forked child.  -ENOMEM. */
int symbol_modules_copy(const struct symbol_modules *, struct symbol_modules **);

/*
 * Reads /proc/PID/maps; modules that are gone stay known until another takes
 * their place.  -ESRCH when the process is gone or has no memory any more,
 * -EACCES, -ENOMEM: the table is as it was.
 */
int symbol_modules_read(struct symbol_modules *, pid_t pid);

/* True when a known module has the call that returns to the address. */
bool symbol_modules_covers(const struct symbol_modules *, uint64_t addr);

/*
 * The name for return address `addr` (looked up one byte before it) into out.
 * Always gives one.  May read files: keep it off a loop that must not wait.
 */
void symbol_name(struct symbol_modules *, uint64_t addr, char *out, size_t cap);

#endif
