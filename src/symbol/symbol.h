/*
 * symbol: from a return address to the words that a person reads.
 *
 * Vocabulary
 *	module		code mapped into a target: a file, or "[vdso]", or
 *			"[anon]" for code made at run time.
 *	module table	where one process image has which modules, read from
 *			/proc/PID/maps while it lives: for plain return
 *			addresses.  Frames of a stack name their module
 *			themselves (stream_sites).
 *	place		a module's file and an address in its tables, or an
 *			offset in it: what the words are looked up by.  It stays
 *			good when the target has ended.
 *	words		function, file and line of a place, with what the
 *			compiler has inlined there; and how much of that is
 *			known, and why not more.
 *	reader		the process that reads symbol tables and debug
 *			information, for they are strangers' files: pagek-symbols.
 *			When it dies or takes too long the file in question is
 *			damaged, and another reader goes on with the rest.
 *
 * Example, on a thread that may wait
 *	struct symbols *s;
 *	symbols_new(&s, &(struct symbols_opts){ .reader = path });
 *	symbol_modules_place(m, addr, &place);		of a plain address
 *	symbols_look(s, &place, 1, &words);
 *	...
 *	symbol_words_fini(&words);
 *
 * Names from files are outside text: what comes out of here is not yet safe
 * for a terminal (base_safe_text).  Return addresses are looked up one byte
 * before, in the call.  Of the files none is kept open here; a reader that runs
 * costs two pipes and a pidfd.  Without elfutils at build time nothing more
 * than module and offset is known.
 */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SYMBOL_MODULES_MAX 4096	/* ranges of code; more are not known */
#define SYMBOL_INLINES_MAX 16
#define SYMBOL_NAME_MAX 255	/* bytes of a function's name */
#define SYMBOL_BUILD_ID_MAX 32

/* --- places -------------------------------------------------------------- */

struct symbol_place {
	const char *path;	/* of the module; "[vdso]", "[anon]"; NULL: in no module */
	pid_t pid;		/* its file is seen from this process's root first; 0: from ours */
	bool by_offset;		/* address is an offset in the file */
	uint64_t address;	/* of the return, in the file's tables */
	unsigned build_id_len;	/* 0: not known; then: */
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
	uint64_t inode;		/* of the file as it was mapped; 0 not known */
	int64_t mapped_ns;	/* wall clock when it was seen mapped: a file changed since is another; 0 not known */
};

/* --- the module table ---------------------------------------------------- */

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

/* The place of a return address; path is borrowed from the table, NULL for none. */
void symbol_modules_place(const struct symbol_modules *, uint64_t addr,
    struct symbol_place *);

/* --- words --------------------------------------------------------------- */

/* As enum wire_known, which is what goes to a page. */
enum symbol_known {
	SYMBOL_PENDING,
	SYMBOL_LINE,
	SYMBOL_NO_LINE,
	SYMBOL_NO_SYMBOL,
	SYMBOL_NO_MODULE,
	SYMBOL_NO_FILE,
	SYMBOL_OTHER_FILE,
	SYMBOL_DAMAGED,
	SYMBOL_NO_READER,
};

struct symbol_line {
	char *function;		/* demangled; a long one as symbol_fit_name() has it */
	char *file;		/* NULL: not known */
	uint32_t line;		/* 0: not known */
};

/* Texts are heap, the holder's. */
struct symbol_words {
	enum symbol_known known;
	bool fetching;		/* its debug file is on its way: look again later */
	uint64_t address;	/* in the file's tables, of the return */
	unsigned n;
	struct symbol_line line[SYMBOL_INLINES_MAX];	/* innermost first; the last is the function itself */
};

/* Frees its texts; n is 0 then. */
void symbol_words_fini(struct symbol_words *);

struct symbols_opts {
	const char *reader;	/* path of pagek-symbols */
	const char *path;	/* PAGEK_SYMBOL_PATH: folders with debug files, ':' between; NULL none */
	bool fetch;		/* debuginfod, if it is configured (DEBUGINFOD_URLS) */
	unsigned timeout_ms;	/* for one file; 0: 20 s */
};

struct symbols;

/*
 * -ENOMEM.  The reader is started when it is first needed, as a child of the
 * thread that looks: who waits for any child with waitpid(-1) and __WNOTHREAD
 * in another thread does not meet it.  To free ends it; nobody may look then.
 */
int symbols_new(struct symbols **, const struct symbols_opts *);
void symbols_free(struct symbols *);

/*
 * From any thread: who looks does not wait for the reader any longer, and has
 * PENDING for what it has not said; nothing is asked from then on.
 */
void symbols_stop(struct symbols *);

/*
 * The words of n places; waits for the reader, so keep it off a loop; any
 * thread may call, one is served at a time.  What was found is kept by build
 * id, path and address.  Never fails: what could not be had says why, with the
 * address as it was given.  PENDING: not now, for want of memory or because
 * readers went down too often of late.  DAMAGED may have a function all the
 * same, from the symbol table.
 */
void symbols_look(struct symbols *, const struct symbol_place *, size_t n,
    struct symbol_words *);

/* What is being fetched: kB so far and in all (0 not known); false: nothing is. */
struct symbols_fetch {
	char module[256];
	uint32_t kb, of_kb;
};
bool symbols_fetching(struct symbols *, struct symbols_fetch *);

/* The main of pagek-symbols: requests on fd 0, answers on fd 1. */
int symbol_reader_main(int argc, char **argv);

#endif
