/*
 * symbol: from a return address to the words that a person reads.
 *
 *	symbols.c	looks places up: cache, reader, fetched debug files
 *	cache.c		the names that were found
 *	child.c		runs of pagek-symbols, and the pipes to them
 *	fetches.c	the queue of debug files to be fetched
 *	client.h	what the four files above share
 *	packet.c	messages between a node and its reader (packet.h)
 *	modules.c	mappings of a process, and the table of its modules
 *	wrappers.c	the default list of wrappers, and patterns of more
 *	shortname.c	names to show
 *	typenames.c	types of the objects in blocks, from names of functions; from
 *			debug information: reader/reader_types.c
 *	reader/		the program that reads tables of symbols: pagek-symbols
 *
 * Vocabulary
 *	module		code mapped into a target: a file, or "[vdso]", or
 *			"[anon]" for code made at run time.
 *	module table	which modules a process has where, read from
 *			/proc/PID/maps while it lives: for plain return
 *			addresses.  Frames of a stack name their module
 *			themselves (stream_sites).
 *	place		a module's file, and an address in its tables or an
 *			offset in it; still good when the target has ended.
 *	words		function, file and line of a place, with the functions
 *			inlined there; or why they are not known.
 *	reader		the process that reads symbol tables and debug
 *			information, which may be hostile: pagek-symbols.  When
 *			it dies or takes too long, the file counts as damaged,
 *			and another reader goes on with the rest.
 *	type		of the objects that a block was requested for, as the
 *			program's own names have it; most frames tell none.
 *	wrapper		a function that only passes a request for memory on.
 *			Frames of wrappers are skipped from inside: shown, but
 *			not counted as callers.
 *
 * A node calls this (nodes/serve/lookup.c); a page asks its node for words.
 *
 * Example, on a thread that may wait
 *	struct symbols *s;
 *	symbols_new(&s, &(struct symbols_opts){ .reader = path });
 *	symbol_modules_place(m, addr, &place);		of a plain address
 *	symbols_look(s, &place, 1, &words);
 *	...
 *	symbol_words_fini(&words);
 *
 * Names from files are outside text, not yet safe for a terminal
 * (base_safe_text).  Return addresses are looked up one byte before, in the
 * call.  No file is kept open here; a running reader costs two pipes and a
 * pidfd.  Without elfutils at build time only module and offset are known.
 */
#ifndef SYMBOL_H
#define SYMBOL_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SYMBOL_MODULES_MAX 4096	/* ranges of code; more are not known */
#define SYMBOL_INLINES_MAX 16
#define SYMBOL_NAME_MAX 255	/* bytes of a function's name */
#define SYMBOL_BUILD_ID_MAX 32

struct symbol_place {
	const char *path;	/* of the module; "[vdso]", "[anon]"; NULL: none */
	pid_t pid;		/* its root is searched for the file first; 0: only ours */
	bool by_offset;		/* address is an offset in the file */
	uint64_t address;	/* of the return, in the file's tables */
	unsigned build_id_len;	/* 0: not known */
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
	uint64_t inode;		/* of the mapped file; 0 not known */
	int64_t mapped_ns;	/* wall clock when it was mapped: a file changed since is another; 0 not known */
};

struct symbol_modules;

int symbol_modules_new(struct symbol_modules **);
void symbol_modules_free(struct symbol_modules *);
/* A copy for a forked child.  -ENOMEM. */
int symbol_modules_copy(const struct symbol_modules *, struct symbol_modules **);

/*
 * Reads /proc/PID/maps; modules that are gone stay until others take their
 * place.  -ESRCH: the process or its memory is gone; -EACCES, -ENOMEM: the
 * table is unchanged.
 */
int symbol_modules_read(struct symbol_modules *, pid_t pid);

/* True when a module contains the call that returns to the address. */
bool symbol_modules_covers(const struct symbol_modules *, uint64_t addr);

/* path is borrowed from the table; NULL: none. */
void symbol_modules_place(const struct symbol_modules *, uint64_t addr,
    struct symbol_place *);

struct maps_line {
	uint64_t start, end;	/* end beyond the last */
	uint64_t offset;	/* in the file, of start */
	uint64_t inode;		/* 0: no file */
	bool readable, writable, executable;
	bool deleted;
	const char *path;	/* in the given line or buffer; "" for anonymous memory */
};

/*
 * Takes "start-end perms offset dev inode  path" apart in place, with \012 for
 * a newline and " (deleted)" behind an unlinked file's path.  -EBADMSG, *out
 * untouched.
 */
int maps_parse(char *line, struct maps_line *out);

/* The same of the first line of a text, which then begins behind it. */
int maps_parse_first(char **text, struct maps_line *out);

/*
 * Asks the kernel, since Linux 6.11, for the first mapping with code that ends
 * behind `from`, which makes no text of the others.  fd: /proc/PID/maps; path
 * takes its path.  [vsyscall] is only in the text.  -ENOENT: none; -ENOTTY: the
 * kernel cannot be asked; -ESRCH: no memory; -ENAMETOOLONG; *out untouched.
 */
int maps_next_code(int fd, uint64_t from, char path[PATH_MAX],
    struct maps_line *out);

/* The same as enum wire_known. */
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
	char *function;		/* demangled; a long one shortened by symbol_fit_name() */
	char *file;		/* NULL: not known */
	uint32_t line;		/* 0: not known */
};

/* The source of a type's name.  The same as enum wire_type_from. */
enum symbol_type_from {
	SYMBOL_TYPE_UNKNOWN,
	SYMBOL_TYPE_TEMPLATE,	/* debug information: a template argument of a function that allocates */
	SYMBOL_TYPE_CALL,	/* debug information: the call itself */
	SYMBOL_TYPE_SYMBOL,	/* the symbol's name alone */
	SYMBOL_TYPE_NEW,	/* debug information: the constructor that new calls */
};

/* Texts are heap, the holder's. */
struct symbol_words {
	enum symbol_known known;
	bool fetching;		/* its debug file is being fetched: look again later */
	uint64_t address;	/* in the file's tables, of the return */
	unsigned n;
	struct symbol_line line[SYMBOL_INLINES_MAX];	/* innermost first; the last is the function itself */
	/* Type that the frame requests memory for, if its callee only passes requests on. */
	char *type;		/* NULL: not known */
	enum symbol_type_from type_from;
};

/* Frees its texts; n is 0 then. */
void symbol_words_fini(struct symbol_words *);

struct symbols_opts {
	const char *reader;	/* path of pagek-symbols */
	const char *path;	/* PAGEK_SYMBOL_PATH: folders with debug files, ':' between; NULL none */
	bool fetch;		/* by debuginfod, if DEBUGINFOD_URLS is set */
	unsigned timeout_ms;	/* for one file; 0: 20 s */
};

struct symbols;

/*
 * The reader is a child of the thread that looks, started when needed: a
 * waitpid(-1) with __WNOTHREAD in another thread does not see it.  To free ends
 * it; no thread may look then.
 */
int symbols_new(struct symbols **, const struct symbols_opts *);
void symbols_free(struct symbols *);

/* Ends look-ups from any thread: they get PENDING for what is not known yet. */
void symbols_stop(struct symbols *);

/*
 * Looks n places up.  Waits for the reader, so not on a loop; any thread may
 * call, one is served at a time.  Never fails: words say why they are not
 * known.  PENDING: not now, for want of memory or because readers failed too
 * often.  DAMAGED may have a function all the same, from the symbol table.
 */
void symbols_look(struct symbols *, const struct symbol_place *, size_t n,
    struct symbol_words *);

/* The running fetch, kB so far and in all (0 not known); false: none. */
struct symbols_fetch {
	char module[256];
	uint32_t kb, of_kb;
};
bool symbols_fetching(struct symbols *, struct symbols_fetch *);

struct symbol_wrappers;

int symbol_wrappers_new(struct symbol_wrappers **);
void symbol_wrappers_free(struct symbol_wrappers *);

/*
 * Adds fnmatch(3) patterns for demangled names without arguments and template
 * arguments, such as "zmalloc,std::*allocate*".  ',' or blanks separate them,
 * except the blank of "operator new"; "none" empties the list.  -ENOMEM,
 * -EINVAL for an empty pattern: the list is unchanged.
 */
int symbol_wrappers_add(struct symbol_wrappers *, const char *patterns);

bool symbol_wrappers_match(const struct symbol_wrappers *,
    const char *function);

/* NULL behind the last; borrowed. */
const char *symbol_wrappers_pattern(const struct symbol_wrappers *, size_t k);

/*
 * The name without return type, arguments, template arguments and compiler's
 * clones (".cold", ".constprop.0"), clipped: what patterns match and narrow
 * columns show.
 */
void symbol_short_name(const char *function, char *out, size_t cap);

/* The same, and the template arguments of its last two parts; len 0: none. */
struct symbol_part {
	const char *p;		/* in the name */
	size_t len;
};
struct symbol_arguments {
	struct symbol_part of[2];	/* of the last part, and of the one before it */
};
void symbol_split_name(const char *function, char *out, size_t cap,
    struct symbol_arguments *);

/*
 * Shortens a name of more than SYMBOL_NAME_MAX bytes in place.  Its short name
 * stays if possible, and different names stay different:
 *	A<std::map<...#9c41d2aa>, int>::f(int)
 */
void symbol_fit_name(char *function);

#define SYMBOL_TYPE_MAX 16384	/* bytes of a type's text that are read */

/* How a function tells the type of the memory that its callee allocates. */
struct symbol_told {
	enum {
		SYMBOL_OTHER,	/* nothing: it is no function of a known library */
		SYMBOL_ENDS,	/* nothing, and neither does its caller */
		SYMBOL_PASSES,	/* nothing, but its caller may */
		SYMBOL_TELLS,	/* the type is a template argument */
	} tells;
	bool rust;		/* of the parameter T in debug information */
	bool of_class;		/* of its class, not of the function */
	bool alone;		/* without debug information too: no other code can be inlined there */
	unsigned argument;	/* the first is 0 */
};
struct symbol_told symbol_tells(const char *function);

/*
 * The type in a demangled name that has all template arguments; `alone`: there
 * is no debug information.  Heap; NULL: none, or no memory.
 */
char *symbol_type_in_name(const char *function, bool alone);

/*
 * The text of a type in one spelling: without what a container puts around its
 * elements, and shortened as a function's name.  Heap; NULL: no type, or no
 * memory.
 */
char *symbol_type_text(const char *text, size_t len);

#endif
