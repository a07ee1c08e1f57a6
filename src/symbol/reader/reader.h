/*
 * reader: pagek-symbols, the process that reads files that may be hostile.
 *
 *	pagek-symbols.c	limits itself, serves requests
 *	reader.c	answers, demangled names
 *	reader_find.c	finds and verifies the module's and the debug file
 *	reader_image.c	open files and their symbols
 *	reader_dwarf.c	functions, lines and inlines of an address
 *	reader_types.c	types of what is allocated there
 *	reader_new.c	types of what a plain new builds there
 *	reader_fetch.c	fetches a debug file
 *
 * Vocabulary
 *	image		one file with its symbols and debug information, open in
 *			libdwfl.  A few stay open, for requests come in bunches.
 *	debug file	a file with what was stripped from another: found by
 *			build id or .gnu_debuglink, and believed only when the
 *			build id, or else the checksum, agrees.
 *	roots		folders that hold debug files: PAGEK_SYMBOL_PATH, then
 *			/usr/lib/debug.
 *	pc		an address in the file's tables, one byte before the
 *			return address.
 *
 * A file may kill the reader: libelf and libdw map what they read, and a file
 * that is cut meanwhile is a SIGBUS.  It never asks a network; fetching is
 * another run of the program.
 */
#ifndef SYMBOL_READER_H
#define SYMBOL_READER_H

#include "../packet.h"

#include <sys/stat.h>

/* Texts of the answer are heap. */
void symread_look(const struct packet_request *, struct packet_answer *);

/* Folders of PAGEK_SYMBOL_PATH, ':' between; borrowed for good. */
void symread_set_path(const char *);

/* pagek-symbols fetch BUILD-ID: see reader_fetch.c. */
int symread_fetch_main(const char *build_id);

/* Demangled if possible; heap, NULL: no memory. */
char *symread_demangle(const char *name);
/* True for C++, Rust, D: such names include their scopes. */
bool symread_is_mangled(const char *name);

#ifdef HAVE_ELFUTILS

#include <elfutils/libdwfl.h>

struct range {
	uint64_t lo, hi;	/* hi beyond the last */
	uint64_t reach;		/* the highest hi up to here */
	uint32_t what;
	uint32_t rank;		/* of equal ranges the lowest is found */
};

struct ranges {
	struct range *r;
	size_t n, cap;
};

/* Ignores empty ones, and failures: a hostile file may have many. */
void ranges_add(struct ranges *, uint64_t lo, uint64_t hi, uint32_t what,
    uint32_t rank);
/* Between the last add and the first find. */
void ranges_sort(struct ranges *);
/* The innermost range that contains addr, borrowed; NULL none. */
const struct range *ranges_find(const struct ranges *, uint64_t addr);
void ranges_fini(struct ranges *);

/* Verified; SYMBOL_LINE, or why there is none. */
enum symbol_known symread_module(const struct symbol_place *, int *fd,
    struct stat *);

/*
 * Finds a debug file by build id, or by .gnu_debuglink and checksum around
 * `path`; not the file `self`.  found: its path, PATH_MAX bytes.  -1.
 */
struct symread_debug {
	const char *path;		/* of the module, as the target has it */
	pid_t pid;
	const char *fetched;		/* NULL none */
	const uint8_t *build_id;
	size_t build_id_len;
	const char *link;		/* NULL none */
	uint32_t checksum;
	const struct stat *self;	/* NULL none */
};
int symread_debug(const struct symread_debug *, char *found);

/* dwz's supplementary file. */
int symread_alt(const char *name, const char *beside, const uint8_t *build_id,
    size_t build_id_len);

struct dwarf_index;

struct image {
	struct image *next;		/* less recently used */
	char *path, *fetched;		/* with self: the image's key */
	struct stat self;
	off_t debug_size;
	pid_t pid;
	bool is_debug;			/* the file is itself a debug file */

	Dwfl *dwfl;
	Dwfl_Module *mod;
	Elf *elf;
	GElf_Addr bias;			/* of libdwfl's addresses over the file's */
	bool has_debug;			/* some file with .debug_info was found */
	char debug_path[PACKET_PATH_MAX];
	Dwarf *dwarf;			/* NULL: none, or damaged */
	GElf_Addr dwarf_bias;
	Dwarf *alt;
	Elf *alt_elf;
	int alt_fd;

	struct ranges symbols;		/* what: index of the symbol */
	struct dwarf_index *index;	/* NULL until it is needed */
};

/* NULL: *why says.  Borrowed until the next call. */
struct image *symread_image(const struct symbol_place *, const char *fetched,
    enum symbol_known *why);

/* The table's name for the function at pc; NULL none. */
const char *symread_symbol(struct image *, uint64_t pc);

/* Turns an offset in the file into an address; false: there is none. */
bool symread_offset(struct image *, uint64_t offset, uint64_t *addr);

/* Adds the lines of pc, innermost first.  False: nothing is known. */
bool symread_dwarf(struct image *, uint64_t pc, const char *symbol,
    struct symbol_words *);
void symread_index_free(struct dwarf_index *);

/* To the DIE that was declared, which lies in its scopes. */
void symread_declaration(Dwarf_Die *);
/* The name with its scopes, heap; NULL: no memory. */
char *symread_qualified(Dwarf_Die *declaration, const char *name);

/*
 * Adds the type that a function of that name allocates.  False: the function
 * only passes the request on, and the one that it is inlined in may tell more.
 */
bool symread_type(Dwarf_Die *function, const char *name, struct symbol_words *);
/* Adds the type that the call which returns there allocates.  False: none. */
bool symread_call_type(Dwarf_Die *unit, Dwarf_Die *function, uint64_t address,
    struct symbol_words *);
/*
 * Adds the class that a plain new builds, if the call of operator new in `scope`,
 * a function or what is inlined there, returns to `address`.
 */
void symread_new_type(Dwarf_Die *unit, Dwarf_Die *scope, uint64_t address,
    struct symbol_words *);
/* The class that a function is a member of, by the type of its `this`. */
bool symread_class(Dwarf_Die *function, Dwarf_Die *);
/* The class's name as a type's text; heap, NULL: none. */
char *symread_class_text(Dwarf_Die *);

/* When an image is closed: others may be mapped there. */
void symread_forget_names(void);

#endif

#endif
