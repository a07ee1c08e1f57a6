/*
 * take: copies the memory debug data of a process or a core file into an
 * mddout file, without a debugger.
 *
 *	plan.c		selects and copies memory: the root, and its tables if
 *			they are plausible
 *	find.c		finds the root by its symbol, else by its magic
 *	maps.c		mappings, as an array and as the text of /proc/PID/maps
 *	core_file.c	an ELF core file as a source of memory
 *	process.c	a process as a source of memory, stopped only if need be
 *	write.c		writes the file
 *
 * Vocabulary
 *	source	reads memory of the target by address.
 *	area	memory to be copied: an address and its bytes.
 *	problem	a damaged place of the data, by its address.  The readable rest
 *		is copied.
 *	moved	the target changed its data during the copy.
 *
 * Example
 *	struct take t;
 *	r = take_open_core(&t, "core");
 *	if (r == 0)
 *		r = take_find_root(&t);
 *	if (r == 0)
 *		r = take_copy(&t);
 *	if (r == 0)
 *		r = take_write(&t, out, &about);
 *	if (r < 0)
 *		puts(t.why);
 *	take_close(&t);
 *
 * A target's data may be damaged: each address, size and count is checked, and
 * no link is followed.
 */
#ifndef MDD_TAKE_H
#define MDD_TAKE_H

#include <limits.h>

#include "../dump/dump.h"
#include "../dump/layout.h"

struct take_source {
	/* Copies up to n bytes; returns how many there are from there on. */
	size_t (*read)(void *arg, uint64_t address, void *out, size_t n);
	void *arg;
};

/* --- mappings (maps.c) ----------------------------------------------------- */

struct take_mapping {
	uint64_t lo, hi;		/* hi behind the last byte */
	uint64_t offset;		/* in the file, of lo */
	bool readable, writable, executable;
	char *path;			/* heap; "": anonymous */
};

struct take_maps {
	struct take_mapping *at;	/* by address */
	size_t n, cap;
};

/* The path is copied.  -ENOMEM. */
int take_maps_add(struct take_maps *, const struct take_mapping *,
    const char *path);
void take_maps_sort(struct take_maps *);
void take_maps_fini(struct take_maps *);
/* Parses /proc/PID/maps; other lines are left out.  -ENOMEM. */
int take_maps_parse(struct take_maps *, const char *text);
/* In that form; heap.  NULL: no memory. */
char *take_maps_text(const struct take_maps *);
/* NULL: none has the address. */
const struct take_mapping *take_mapping_at(const struct take_maps *,
    uint64_t address);

/* --- areas (plan.c) --------------------------------------------------------- */

struct take_area {
	uint64_t address, bytes;
	size_t at;			/* in the copy */
};

struct take_areas {
	struct take_area *at;
	size_t n, cap;
	uint64_t bytes;			/* of all of them */
	uint8_t *copy;
	size_t copy_bytes;		/* of the mapping that has the copy */
};

#define TAKE_PROBLEMS 8			/* sentences that are kept */
#define TAKE_PROBLEM 200

struct take_problems {
	char text[TAKE_PROBLEMS][TAKE_PROBLEM];
	size_t n;			/* may be more than are kept */
};

/* The root as it was read, and values derived from it. */
struct take_root {
	uint64_t address;
	uint8_t bytes[LAYOUT_ROOT_MAX];
	struct layout at;
	bool big_endian;
	unsigned word_bytes;
	uint32_t record_bytes, past_bytes;
	uint32_t history_start, history_next, history_records;
	uint64_t history;
	uint8_t *shards;		/* their bytes; heap */
	size_t shards_bytes;
	uint32_t busy;			/* shards being updated */
	uint32_t first_busy;
};

struct process;
struct core_file;

struct take {
	struct take_source source;
	struct take_maps maps;
	char *maps_text;		/* heap */
	char program[PATH_MAX];		/* "": not known */
	uint32_t pid;			/* 0: not known */
	struct process *process;		/* NULL: it is a core */
	struct core_file *core;

	struct take_root root;
	struct take_areas heads;	/* beginnings of mapped ELF files */
	struct take_areas tables;
	struct take_problems problems;
	size_t opened_problems;		/* those of opening the source; they stay */
	bool moved;
	uint64_t stopped_ns;		/* that the target was stopped */
	char why[512];			/* the sentence of the last failure */
};

/* Open a source; take_close() in each case.  Errors have a sentence. */
int take_open_core(struct take *, const char *path);
int take_open_process(struct take *, pid_t);
void take_close(struct take *);

/*
 * Finds the root. -ENOENT: there is none; -ENODATA: it is empty, for nothing is
 * collected.
 */
int take_find_root(struct take *);
/* True if a root may be there: magic, byte order, version, word size, sizes. */
bool take_root_fits(const struct take_source *, uint64_t address);

/*
 * Copies all areas.  -ENOMEM; unreadable memory is a problem.  A process that
 * changes its data meanwhile is stopped, for 50 ms at most.
 */
int take_copy(struct take *);

/*
 * Reads root and shards, and makes the areas of the tables from them.  A second
 * call makes them again.
 */
int take_plan(struct take *);
int take_plan_heads(struct take *);
void take_problem(struct take *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* -ECANCELED: go_on said no; areas without a copy have then 0 bytes. */
int take_copy_areas(struct take *, struct take_areas *,
    bool (*go_on)(struct take *));
void take_areas_clear(struct take_areas *);
/* Reads copied bytes; returns their number. */
size_t take_copied(const struct take *, uint64_t address, uint8_t *out,
    size_t n);
uint32_t take_root_u32(const struct take *, unsigned at);
uint64_t take_shards(const struct take *);	/* their address */

/* --- the file (write.c) ------------------------------------------------------ */

struct take_about {
	const char *maker;
	bool reset;
};

/* 0 or the error of writing. */
int take_write(const struct take *, FILE *out, const struct take_about *);

/*
 * The index at which the next dump begins: that of the next record, or of the
 * first record that is not yet written.
 */
uint32_t take_history_next(const struct take *);
/* Empties the history of a process.  Errors have a sentence. */
int take_reset(struct take *);

/* Sets t->why; returns the error. */
int take_fail(struct take *, int error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

int process_copy(struct take *);
int process_write(struct take *, uint64_t address, const void *, size_t n);
void process_close(struct process *);
void core_file_close(struct core_file *);
uint64_t core_file_bytes(const struct core_file *);	/* of the file */

/*
 * The value of a symbol of an ELF file, or -ENOENT; `size` 0: any.  Errors of
 * opening it, too.
 */
int elf_symbol(const char *path, const char *name, uint64_t size,
    uint64_t *value);

#endif
