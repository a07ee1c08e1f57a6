/*
 * reader: the inside of pagek-symbols, the process that reads strangers'
 * files.
 *
 * Vocabulary
 *	image		one file with its symbols and debug information, open in
 *			libdwfl.  A few are kept, for requests come in bunches.
 *	debug file	a file of its own with what was stripped from another:
 *			found by build id or .gnu_debuglink, and believed only
 *			when the build id, or else the checksum, is right.
 *	roots		folders that hold debug files: PAGEK_SYMBOL_PATH, then
 *			/usr/lib/debug.
 *	pc		an address in the file's tables, in the call: one byte
 *			before the return address.
 *
 * The reader may be brought down by a file: libelf and libdw map what they
 * read, and a file that is cut meanwhile is a SIGBUS.  That is what it is a
 * process for.  It never asks a network; fetching is another run of the
 * program.
 */
#ifndef SYMBOL_READER_H
#define SYMBOL_READER_H

#include "packet.h"

#include <sys/stat.h>

/* Answers the request; texts of the answer are heap. */
void symread_look(const struct packet_request *, struct packet_answer *);

/* Folders of PAGEK_SYMBOL_PATH, ':' between; borrowed for good. */
void symread_set_path(const char *);

/* pagek-symbols fetch BUILD-ID: see reader_fetch.c. */
int symread_fetch_main(const char *build_id);

/* A demangled copy of the name, or a plain one; NULL: no memory. */
char *symread_demangle(const char *name);
/* Of C++, Rust, D: names that say what they are of. */
bool symread_is_mangled(const char *name);

#ifdef HAVE_ELFUTILS

#include <elfutils/libdwfl.h>

/* --- ranges: what lies around an address --------------------------------- */

struct range {
	uint64_t lo, hi;	/* hi beyond the last */
	uint64_t reach;		/* the highest hi up to here */
	uint32_t what;
	uint32_t rank;		/* of those that begin alike the lowest is found */
};

struct ranges {
	struct range *r;
	size_t n, cap;
};

/* Ignores what is empty or does not fit: a hostile file has a lot of it. */
void ranges_add(struct ranges *, uint64_t lo, uint64_t hi, uint32_t what,
    uint32_t rank);
/* To be called between the last add and the first find. */
void ranges_sort(struct ranges *);
/* The innermost that has the address; NULL none.  Borrowed. */
const struct range *ranges_find(const struct ranges *, uint64_t addr);
void ranges_fini(struct ranges *);

/* --- files --------------------------------------------------------------- */

/* A regular file, never waited for; -1. */
int symread_open(const char *path, struct stat *);

/* The file of the place, verified; SYMBOL_LINE, or why there is none. */
enum symbol_known symread_module(const struct symbol_place *, int *fd,
    struct stat *);

/*
 * The debug file of a build id, or by the name in .gnu_debuglink and its
 * checksum, around `path`; never the file `self` itself.  Its own path goes
 * into found, of PATH_MAX bytes.  -1.
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

/* The supplementary file that dwz has made. */
int symread_alt(const char *name, const char *beside, const uint8_t *build_id,
    size_t build_id_len);

/* --- images -------------------------------------------------------------- */

struct dwarf_index;

struct image {
	struct image *next;		/* less recently used */
	char *path, *fetched;		/* with self: whether it is the one asked for */
	struct stat self;
	off_t debug_size;
	pid_t pid;
	bool is_debug;			/* the file itself is a debug file */

	Dwfl *dwfl;
	Dwfl_Module *mod;
	Elf *elf;
	GElf_Addr bias;			/* of libdwfl's addresses over the file's */
	bool has_debug;			/* a file with .debug_info was found: the main one or another */
	char debug_path[PACKET_PATH_MAX];
	Dwarf *dwarf;			/* NULL: none, or damaged */
	GElf_Addr dwarf_bias;
	Dwarf *alt;
	Elf *alt_elf;
	int alt_fd;

	struct ranges symbols;		/* what: index of the symbol */
	struct dwarf_index *index;	/* NULL until it is needed */
};

/* The image of the place; NULL, and *why says.  Borrowed until the next. */
struct image *symread_image(const struct symbol_place *, const char *fetched,
    enum symbol_known *why);

/* The file's name for the function at pc, as it is in the table; NULL none. */
const char *symread_symbol(struct image *, uint64_t pc);

/* Where the file's offset is in its tables; false when nowhere. */
bool symread_offset(struct image *, uint64_t offset, uint64_t *addr);

/* --- debug information --------------------------------------------------- */

/*
 * Puts the lines of pc, innermost first; `symbol` is what the symbol table
 * calls the function, or NULL.  False when the debug information knows
 * neither function nor line there.
 */
bool symread_dwarf(struct image *, uint64_t pc, const char *symbol,
    struct symbol_words *);
void symread_index_free(struct dwarf_index *);

/* The function's name of a DIE, demangled, or with what it lies in; NULL none. */
char *symread_name(Dwarf_Die *die, Dwarf_Die *unit, const char *symbol);
/* To be called when an image is closed: another may lie where it was. */
void symread_forget_names(void);

#endif

#endif
