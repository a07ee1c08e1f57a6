/*
 * dump: the memory debug data of a program at one moment, as a model, and its
 * reader of mddout files (mddout(5)).
 *
 *	model.c		the model: order, totals, problems
 *	file.c		an mddout file: chunks, what it says of itself
 *	tables.c	the target's tables, out of the memory in the file
 *	memory.c	the target's memory, in its byte order and word size
 *	modules.c	mapped files with their build ids, and the heap
 *	layout.h	where fields of the tables lie, how large a table may be
 *	elf_head.c	what the head of an ELF file says
 *	elf_read.h	numbers of an ELF file, of either word size and byte order
 *	write.c		writes an mddout file; ../take reads targets for it
 *
 * Vocabulary
 *	moment		one event: sequence number, function, time, thread and
 *			return addresses.
 *	record		an allocation: a block with the moment of its allocation.
 *	past record	a freed block, with the moments of both: a record of the
 *			history.
 *	unsure		a record that was being updated when the target stopped, or
 *			that contradicts itself.
 *	problem		a place where the data breaks, by offset in the file or
 *			address in the target.  The rest is kept.
 *	position	of a sequence number: its place in the order of events,
 *			which outlives a wrap-around of the counter.
 *
 * The model does not know where it came from: live targets fill it as well.
 * Names and paths are outside text, not yet safe for a terminal.
 *
 * Example
 *	struct dump d;
 *	if (dump_read_file(&d, "mddout.0") < 0)
 *		...
 *	for (i = 0; i < d.nrecords; i++)
 *		use(&d.record[i]);
 *	for (i = 0; i < d.nproblems && i < DUMP_PROBLEMS; i++)
 *		puts(d.problem[i]);
 *	dump_fini(&d);
 */
#ifndef MDD_DUMP_H
#define MDD_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../../symbol/symbol.h"
#include "../target/target.h"

#define DUMP_PROBLEMS 8		/* sentences that are kept */
#define DUMP_PROBLEM 200
#define DUMP_FUNCTIONS (1 << MDD_FUNCTION_BITS)

struct dump_moment {
	uint64_t time;			/* ticks */
	uint64_t seqno;			/* of a file 32 bits */
	uint32_t thread;		/* its number in the dump; 0: not known */
	uint32_t function;		/* enum mdd_function */
	uint64_t stack[MDD_LEVELS];	/* innermost first; 0: not known */
};

struct dump_record {
	uint64_t address, size;
	uint64_t actual;		/* 0: not known */
	bool unsure;
	struct dump_moment alloc;
};

struct dump_past {
	struct dump_record block;
	struct dump_moment free;
};

struct dump_thread {
	uint32_t number;		/* of the system; 0: none */
	uint64_t handle;
	bool ended;
	char name[MDD_NAME + 1];
};

struct dump_range {
	uint64_t lo, hi;		/* hi behind the last byte */
};

/* A mapping with code. */
struct dump_module {
	uint64_t lo, hi;
	uint64_t offset;		/* in the file, of lo */
	uint64_t bias;			/* address minus the file's own */
	uint64_t inode;
	unsigned machine;		/* EM_ARM; 0: not known */
	char *path;
	unsigned build_id_len;		/* 0: not known */
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
};

/* The fields that the target collects, and their units. */
struct dump_source {
	bool known;			/* the members below are */
	bool live;			/* of a live target: its numbers are a node's */
	bool big_endian;
	unsigned word_bytes;
	unsigned options;		/* enum mdd_option */
	unsigned levels;
	unsigned free_levels;		/* of a live target's frees, if it has a history */
	uint32_t tick_hz;
	uint64_t run;			/* of a capture: its number, and that of the part */
	uint32_t process;
	uint32_t history_records;
};

/* The file's description of itself; "": not known. */
struct dump_info {
	char maker[64], time[40], from[16];
	char program[1024];
	bool numbered;
	uint32_t number;
	bool reset;			/* the history was emptied when it was dumped */
};

struct dump_counts {
	uint64_t seqno;			/* the next event's */
	uint64_t allocs, frees;		/* since the start; with 4-byte words modulo 2^32 */
	uint64_t current;		/* live blocks, by the target's count */
	uint64_t static_bytes, dynamic_bytes;	/* of the debug data */
	uint64_t missed, unknown, replaced;
	uint64_t pending;		/* events that waited to be recorded */
	uint64_t in_flight;		/* records being updated, and those half written */
	uint64_t overwritten;		/* past records that were in no dump */
	uint32_t busy;			/* shards being updated */
};

struct dump {
	char *name;			/* as the user gave it */
	struct dump_source source;
	struct dump_info info;
	struct dump_counts counts;
	bool wrapped;			/* the sequence numbers are */
	bool firmware;			/* there are no mappings: addresses are the executable's */

	struct dump_record *record;	/* by address */
	size_t nrecords;
	struct dump_past *past;
	size_t npast;
	struct dump_thread *thread;	/* number 1 is thread[0] */
	size_t nthreads;
	struct dump_module *module;	/* by address */
	size_t nmodules;
	struct dump_range *heap;
	size_t nheap;

	char problem[DUMP_PROBLEMS][DUMP_PROBLEM];
	size_t nproblems;		/* may be more than are kept */
};

/* --- files (file.c) -------------------------------------------------------- */

enum dump_kind {
	DUMP_MDDOUT,
	DUMP_PROGRAM,			/* an ELF file that can run */
	DUMP_CORE,
	DUMP_OTHER,
};

/* By its magic.  Negative errno of a file that cannot be read. */
int dump_file_kind(const char *path, enum dump_kind *);

/*
 * Reads what can be read; dump_fini() in each case.  -ENOMEM; -EBADMSG: no
 * mddout file; errors of base_file_read().  The name is copied.
 */
int dump_read_file(struct dump *, const char *path);
int dump_read(struct dump *, const char *name, const uint8_t *bytes,
    size_t len);
void dump_fini(struct dump *);

/* --- files as they are written (write.c) ----------------------------------- */

#define DUMP_FILE_MAGIC "\177MDDOUT\n"
#define DUMP_FILE_VERSION 1

struct dump_writer {
	FILE *out;
	uint32_t chunks;
	int error;			/* of the first write that failed; 0 */
};

void dump_write_begin(struct dump_writer *, FILE *out);
/* "INFO", "MAPS" */
void dump_write_text(struct dump_writer *, const char *type, const char *);
void dump_write_root(struct dump_writer *, uint64_t address);
void dump_write_memory(struct dump_writer *, uint64_t address,
    const uint8_t *bytes, size_t len);
/* Flushes.  0 or the error of the first write that failed. */
int dump_write_end(struct dump_writer *);

/* zlib's CRC-32.  crc: the value of the bytes before; 0 at first. */
uint32_t dump_crc32(uint32_t crc, const uint8_t *, size_t len);

/* --- the model (model.c) --------------------------------------------------- */

void dump_problem(struct dump *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Sorts the filled tables, and derives the other members. */
void dump_settle(struct dump *);

/* Ascending in the order of events; only 32-bit counters wrap. */
static inline uint64_t
dump_position(const struct dump *d, uint64_t seqno)
{
	return d->wrapped ? (uint32_t)(seqno - d->counts.seqno) : seqno;
}

/* "malloc()"; "unknown" */
const char *dump_function(uint32_t function);

/* Borrowed; NULL: not known. */
const struct dump_thread *dump_thread(const struct dump *, uint32_t number);
/* Adds the thread if it is new, and copies its name; NULL: not known.  -ENOMEM. */
int dump_name_thread(struct dump *, uint32_t number, const char *name);
const struct dump_module *dump_module(const struct dump *, uint64_t address);

struct dump_totals {
	uint64_t blocks, bytes, actual;
	uint64_t by_function[DUMP_FUNCTIONS];
	uint64_t mapped, mapped_bytes;	/* blocks outside of the heap's ranges */
};

void dump_sum(const struct dump *, struct dump_totals *);

/* --- ELF files (elf_head.c) ------------------------------------------------- */

struct elf_head {
	unsigned type, machine;		/* ET_EXEC, EM_ARM */
	unsigned word_bytes;
	bool big_endian;
	uint64_t base;			/* address of the file's first byte */
	unsigned build_id_len;		/* 0: none */
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
};

/* Reads the first bytes of a file.  -EBADMSG: not an ELF file. */
int elf_head_parse(struct elf_head *, const uint8_t *bytes, size_t len);
/* The build id of notes, as they lie in memory. */
void elf_head_of_notes(struct elf_head *, const uint8_t *notes, size_t len,
    bool big_endian);
/* The same, or an error of reading. */
int elf_head_read(struct elf_head *, const char *path);

#endif
