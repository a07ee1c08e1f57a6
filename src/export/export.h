/*
 * export: what a program holds, in files that other programs read.
 *
 *	source.c	a profile and its blocks as a source
 *	captured.c	a part of a capture as a source
 *	maps.c		where a live program's modules lie
 *	pprof.c		gzip'ed protobuf of pprof (pprof.proto)
 *	heaptrack.c	text of heaptrack
 *	ctf.c		CTF 1.8, a folder of two files
 *
 * Vocabulary
 *	source	arrays that a writer reads: modules, functions, frames, stacks.
 *	frame	an address, with the functions inlined there, innermost first.
 *	stack	frames, innermost first, and the sums of its blocks.
 *	event	an allocation or a free at its time, in the order of events().
 *	caller	a number of a record: of a stack, or a return address.
 *
 * Another format is a file with its writer here, a row of formats[] in
 * ../pagek/commands/snapshot/cmd_export.c, an option in ../pagek/cli/options.def, and a
 * section of pagek-export(1).
 *
 * Example
 *	struct export_source *s;
 *	r = export_of_profile(&s, &(struct export_live){ .profile = p, ... });
 *	if (r == 0)
 *		r = export_pprof(s, out);
 *	export_free(s);
 *
 * Texts are safe for a terminal; "" means not known.  EXPORT_NONE is the index
 * of an unknown thing.
 */
#ifndef EXPORT_H
#define EXPORT_H

#include <stdio.h>

#include "../base/hashmap.h"
#include "../profile/profile.h"

#define EXPORT_NONE UINT32_MAX

struct export_module {
	const char *path;
	uint64_t start, end;	/* mapped code; end 0: not known */
	uint64_t offset;	/* in the file, of start */
	unsigned build_id_len;	/* 0: not known */
	uint8_t build_id[SYMBOL_BUILD_ID_MAX];
};

struct export_function {
	const char *name, *file;
};

struct export_line {
	uint32_t function;
	uint32_t line;		/* 0: not known */
};

struct export_frame {
	uint64_t address;	/* of the return; 0 not known */
	uint32_t module;
	uint32_t first, lines;	/* in source.line; lines 0: no symbol is known */
};

struct export_stack {
	uint32_t first, depth;	/* in source.frame_of */
	/* Estimates, if the source is a sample. */
	uint64_t live_blocks, live_bytes;
	uint64_t all_blocks, all_bytes;	/* ever allocated, if source.counts_all */
};

enum export_kind {
	EXPORT_ALLOC,		/* one at a listed address replaces the block there */
	EXPORT_FREE,		/* the block may be unknown */
	EXPORT_LOST,		/* `size` events are not known */
};

struct export_event {
	enum export_kind kind;
	unsigned layer;		/* which has addresses of its own */
	int64_t wall_ms;
	uint64_t address, size;
	uint32_t stack;		/* in source.stack */
	uint32_t tid;		/* 0 not known */
	uint16_t thread;	/* index; 0 not known */
	uint8_t type;		/* as in the record */
};

struct export_source {
	struct export_module *module;
	struct export_function *function;
	struct export_line *line;
	struct export_frame *frame;
	uint32_t *frame_of;
	struct export_stack *stack;
	size_t modules, functions, lines, frames, frames_of, stacks;
	bool counts_all;	/* all_blocks and all_bytes of stacks are known */
	uint64_t sample;	/* mean bytes between samples; 0: it has all blocks */
	int64_t wall_ms;	/* of the moment; 0 not known */
	uint32_t program;	/* the program's own module */
	const char *target;	/* its name */
	const char *note;	/* what is incomplete or left out */
	/* Calls take() for each event until it fails.  0, or the error of take() or of reading. */
	int (*events)(const struct export_source *, int (*take)(void *,
	    const struct export_event *), void *arg);
	void *of;		/* of events() */
	bool has_frees;		/* among the events */
	void *private;
};

struct export_caller {
	uint64_t caller;		/* the key of a hashmap */
	uint32_t stack;			/* set by export_of_callers() */
	struct export_stack sums;
};

/* A target at one moment.  Borrows its pointers until export_free(). */
struct export_live {
	struct profile *profile;
	const struct blk *block;	/* for events; the oldest first */
	size_t blocks;
	int64_t now_ms, wall_ms;	/* the moment on the node's two clocks */
	uint64_t sample;
	pid_t pid;			/* on this machine; 0: elsewhere, or it has ended */
	const char *target, *note;
};

/* A new source; free it with export_free().  Leaves skipped lines out.  -ENOMEM. */
int export_of_profile(struct export_source **, const struct export_live *);
void export_free(struct export_source *);

struct export_callers {
	struct profile *profile;	/* has all of them */
	struct hashmap *callers;	/* struct export_caller */
	const char *target, *note;
	/* Finds the places of the modules, whose paths are raw then. */
	int (*place)(struct export_source *, void *arg);
	void *arg;
};

/*
 * A source of the stacks of these callers, whose other members are to be set.
 * -ENOMEM, the error of place().
 */
int export_of_callers(struct export_source **, const struct export_callers *);

struct capture;
struct capture_names;
struct captured;

/* The part and the moment to export; borrowed until captured_free(). */
struct captured_opts {
	struct capture *c;
	uint32_t part;
	uint64_t to;			/* events before this number: as of capture_list_at() */
	bool unknown;			/* ... which says that the list is incomplete */
	int64_t ms;			/* the moment, on the node's clock */
	const struct blk *row;		/* those that are live then, oldest first */
	size_t rows;
	struct capture_names *names;
	const struct symbol_wrappers *wrappers;
	const char *target;
	bool frees;			/* stacks of frees are wanted, too */
};

/*
 * Reads all events up to the moment, and makes a source of them.  It reads them
 * again for the events of the source, which stays valid until captured_free().
 * -ENOMEM, errors of read().
 */
int captured_new(struct captured **, const struct captured_opts *);
const struct export_source *captured_source(const struct captured *);
/* Events before the moment that are not in the capture. */
uint64_t captured_lost(const struct captured *);
void captured_free(struct captured *);

/*
 * Finds the places and build ids of modules in /proc/PID/maps.  A module stays
 * unknown if its mapping has none of its frames, or if its file was replaced.
 */
void export_place_modules(struct export_source *, pid_t);

/* False if this program was built without protobuf-c or zlib. */
bool export_has_pprof(void);
/*
 * Write a source.  -ENOMEM, or the error of the first write that failed.
 * export_pprof(): -ENOTSUP without protobuf-c or zlib.
 */
int export_pprof(const struct export_source *, FILE *);
/* Of a sample, only the logged blocks. */
int export_heaptrack(const struct export_source *, FILE *);
/* The two files of a trace: one is named "metadata", the other as you like. */
int export_ctf(const struct export_source *, FILE *metadata, FILE *stream);

#endif
