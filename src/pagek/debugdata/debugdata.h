/*
 * debugdata: the events of debug data as rows: filters, order, names, formats.
 *
 *	files.c		dumps and an executable, from the command line
 *	captures.c	captures as dumps
 *	capture_at.c	their parts and moments (--part, --at), by capture/moment.h
 *	capture_history.c	their events
 *	capture_usage.c	their counts by type
 *	events.c	rows of a dump, of a history, of two dumps
 *	query.c		filters and order: -F, -S, --filter and --sort
 *	callers.c	functions, lines and source of return addresses
 *	objdump.c	the same from PREFIX-objdump, if libdw fails
 *	format.c	format strings, and rows in them
 *	event_fields.c	the fields of rows, for JSON and CSV
 *
 * Vocabulary
 *	event		an allocation or a free: a row.
 *	freed		of an allocation: a later event has freed its block.
 *	subject		dumps of one run, and their executable.
 *	caller		a return address with its function, line and source.
 *	conversion	"%n", in a format string.
 *	option		here: a part that a target collects, such as BACKTRACE.
 *
 * Example
 *	struct events events = { 0 };
 *	events_of_dump(&events, dump);
 *	query_apply(&query, &events, callers);
 *	callers_look(callers, &events);
 *	for (i = 0; i < events.n; i++)
 *		format_print(format, &events.row[i], callers, out);
 */
#ifndef PAGEK_DEBUGDATA_H
#define PAGEK_DEBUGDATA_H

#include <stdio.h>

#include "../../filter/filter.h"
#include "../../mdd/dump/dump.h"
#include "../cli/cli.h"
#include "../picture/field_table.h"

#define DEBUGDATA_WHY 512	/* bytes of a sentence about an error */
#define DEBUGDATA_TICK_MS 10	/* the clock of lists and captures as dumps: 100 Hz */

/* --- subjects (files.c) ----------------------------------------------------- */

#define CAPTURE_DATE 32

struct capture_image {
	uint32_t part;
	int64_t pid;
	uint64_t events;
	bool shown;			/* the dump is of this one */
	uint64_t dropped;		/* events that a ring has removed */
	char known[CAPTURE_DATE];	/* since when its blocks are known; "" never */
	char name[64];
};

struct subject {
	struct dump *dump;
	size_t n;
	const char *program;		/* the executable, as given; NULL: none */
	char *program_path;		/* its absolute path */
	struct elf_head head;		/* of the executable */
	struct capture_image *image;	/* of the capture, if there is one */
	size_t images;
	struct captures_stream *stream;	/* its events, for history; NULL */
	bool live;			/* dumps are of a live target, and names are known */
};

/*
 * Reads the words of the command line: an executable, if it is first, and from
 * `least` to `most` dumps (0: no limit).  PAGEK_OK, or the exit status after a
 * complaint.
 */
int subject_open(struct subject *, const struct options *, size_t least,
    size_t most);
/* An empty one of a live target, with room for so many dumps.  -ENOMEM. */
int subject_open_live(struct subject *, size_t dumps);
void subject_close(struct subject *);

/* Reports the damages of the dumps.  PAGEK_OK or PAGEK_FORMAT. */
int subject_report(const struct subject *);

/* Copies "mddout.0: no backtrace was collected: ..." for an option, or "". */
bool subject_lacks(const struct subject *, unsigned option, const char *what,
    char why[DEBUGDATA_WHY]);

/* --- captures (captures.c, capture_at.c) -------------------------------------- */

struct capture;
struct capture_list;
struct capture_when;

struct capture_pick {
	const char *at;			/* --at; NULL: the end */
	const char *part;		/* --part; NULL: the one that has most events */
	bool again;			/* the same file was taken before: say nothing twice */
	bool history;			/* the end, without its rows */
};

/*
 * Appends a moment of a capture to the subject's dumps, which have room.
 * PAGEK_OK, or the status after a complaint.
 */
int captures_dump(struct subject *, const char *path,
    const struct capture_pick *);

/*
 * The list of a part at a moment; `name` is for messages, quiet: no notices.
 * PAGEK_OK, or the status after a complaint.
 */
int captures_seek(struct capture *, uint32_t part, const struct capture_when *,
    const char *name, bool quiet, struct capture_list **);

/* Events that are missing before that moment. */
uint64_t captures_lost(const struct capture_list *);

/* The part of --part.  PAGEK_OK, or the status after a complaint. */
int capture_choose(const struct capture *, const char *path, const char *text,
    bool quiet, uint32_t *no);
/* The moment of --at: a time, a duration, "peak" or a mark.  As above. */
int capture_moment(const struct capture *, const char *path, uint32_t part,
    const char *text, struct capture_when *);
/* Its damages from *reported on become problems of the dump. */
void captures_report(struct dump *, const struct capture *, const char *path,
    size_t *reported);
/* The first of its damages, a line each.  PAGEK_FORMAT: there are some; PAGEK_OK. */
int captures_complain(const struct capture *, const char *path);

struct captures_source {
	struct capture *c;
	struct dump *d;			/* it gets the names of threads */
	uint32_t no;			/* of the part */
	int64_t start_ms;
};

/* The record of a row of that part.  -ENOMEM. */
int captures_row(const struct captures_source *, const struct blk *,
    struct dump_record *);

/* --- their events (capture_history.c) ------------------------------------------ */

struct captures_stream;
struct events;

/*
 * Opens the history of a part, all of it or, with --at, from one moment to another.
 * The dump, which is borrowed, is of its end.  PAGEK_OK, or the status after a
 * complaint.
 */
int captures_history(struct captures_stream **, struct dump *, const char *path,
    uint32_t part, const struct events_options *);
/* The next events, valid until the next call; none: the end.  -ENOMEM, errors of
 * read(). */
int captures_next(struct captures_stream *, struct events *);
void captures_history_free(struct captures_stream *);

/* "2026-11-27 14:05:30.250", of the node's milliseconds. */
void capture_date(const struct capture *, int64_t ms, char out[CAPTURE_DATE]);

/* --- their counts by type (capture_usage.c) ---------------------------------- */

struct usage_list;
struct usage_source;

/*
 * Appends the counts of a part, from its beginning to --at.  PAGEK_OK;
 * PAGEK_FORMAT: there are rows, and damages; or the status after a complaint.
 */
int capture_usage(const struct options *, const char *path, struct usage_list *,
    struct usage_source *);

/* --- events (events.c) ------------------------------------------------------ */

enum event_kind {
	EVENT_ALLOC,
	EVENT_ALLOCATED,		/* a later event may free it, which is not known yet */
	EVENT_FREED,			/* an allocation whose block was freed later */
	EVENT_FREE,
};

struct event {
	const struct dump *dump;
	const struct dump_record *block;
	const struct dump_moment *at;
	enum event_kind kind;
	uint64_t position;		/* in the order of events */
};

struct events {
	struct event *row;
	size_t n, cap;
};

/* The function of a record's type (enum rec_type). */
uint32_t debugdata_function(unsigned type);
/* -ENOMEM */
int events_of_dump(struct events *, const struct dump *);
/* All events of the dumps, in order; *complete: none is missing. */
int events_of_history(struct events *, const struct dump *, size_t n,
    bool *complete);
/* Allocations that only the second dump has, and those that only the first has. */
int events_of_diff(struct events *added, struct events *freed,
    const struct dump *first, const struct dump *second);
void events_fini(struct events *);

/* --- callers (callers.c, objdump.c) ------------------------------------------ */

struct named_caller {
	uint64_t address;		/* the return address; the key */
	char *function;			/* NULL: not known */
	char *file;			/* NULL: not known */
	uint32_t line;
	const char *source;		/* the line's text, borrowed from a file; NULL */
	size_t source_len;
};

struct callers;

/* NULL in *out: no names are wanted.  PAGEK_OK, or the status after a complaint. */
int callers_new(struct callers **, const struct subject *,
    const struct options *);
/* The reader of symbols; its path goes into `program`. */
struct symbols_opts callers_reader(char program[PATH_MAX]);
/* Says that the names of so many addresses could not be read. */
void callers_report_unread(size_t n);
/*
 * Callers of a live target: callers_put() takes the node's answers.  -ENOMEM.
 */
int callers_new_live(struct callers **, const struct subject *, size_t dumps,
    const struct options *);
/* The lines of an address, innermost first; copied.  -ENOMEM. */
int callers_put(struct callers *, const struct dump *, uint64_t address,
    const struct symbol_line *, unsigned n);
void callers_free(struct callers *);
/* Looks up all return addresses of these rows. */
int callers_look(struct callers *, const struct events *);
/* NULL: no names are wanted. */
const struct named_caller *callers_get(const struct callers *, const struct event *,
    unsigned level);

/* Called for each instruction of objdump's disassembly. */
typedef int (*objdump_cb)(void *arg, uint64_t address, const char *function,
    const char *file, uint32_t line);
/* Runs PREFIX-objdump.  0, or a negative errno with a sentence in why. */
int objdump_read(const char *prefix, const char *program, objdump_cb,
    void *arg, char why[DEBUGDATA_WHY]);

/* --- queries (query.c) -------------------------------------------------------- */

#define QUERY_KEYS 32
#define QUERY_THREADS 32

enum query_range {
	QUERY_SIZE,
	QUERY_SEQNO,
	QUERY_TIME,
	QUERY_PTR,
	QUERY_RANGES
};

struct query {
	char keys[QUERY_KEYS + 1];	/* of -S or --sort */
	struct {
		bool has_min, has_max;
		uint64_t min, max;
	} range[QUERY_RANGES];
	uint64_t thread[QUERY_THREADS];	/* any of them */
	size_t threads;
	const struct filter *filter;	/* --filter; NULL: none */
	bool ms;			/* times are milliseconds */
};

/* -EINVAL: a key or a value is wrong, with a sentence in why. */
int query_parse(struct query *, const struct options *, char why[DEBUGDATA_WHY]);
/* PAGEK_USAGE: it needs data that were not collected; why has a sentence. */
int query_check(const struct query *, const struct subject *,
    char why[DEBUGDATA_WHY]);
/* Keeps the rows that match, and sorts them.  Callers may be NULL.  -ENOMEM. */
int query_apply(const struct query *, struct events *, struct callers *);

/* Ticks, in the unit of --time. */
uint64_t query_time(const struct dump *, uint64_t ticks, bool ms);

/* --- format strings (format.c) --------------------------------------------------- */

struct format;

/* -EINVAL, with a sentence in why; -ENOMEM. */
int format_new(struct format **, const char *text, char why[DEBUGDATA_WHY]);
void format_free(struct format *);
/* PAGEK_USAGE: it needs data that were not collected, or an executable. */
int format_check(const struct format *, const struct subject *, bool named,
    char why[DEBUGDATA_WHY]);
/* The highest level of backtrace in it; 0: none. */
unsigned format_levels(const struct format *);
/* The string that a command uses if it is given none. */
#define FORMAT_STANDARD 2048
void format_standard(char out[FORMAT_STANDARD], const struct dump *, bool history,
    bool named);
/* In the form of a command line: \n and \" for line ends and quotes. */
void format_write(FILE *, const char *text);

struct format_style {
	bool ms, ascii;
};
void format_print(const struct format *, const struct event *,
    const struct callers *, const struct format_style *, FILE *);

/* "0x00097d78": as many digits as the dump's words have. */
#define ADDRESS_TEXT 24
void address_text(char out[ADDRESS_TEXT], const struct dump *, uint64_t address);

/* --- rows as data (event_fields.c) ------------------------------------------------ */

/* Subsets of event_fields. */
enum {
	EVENT_HELD = 1 << 0,
	EVENT_HISTORY = 1 << 1,
	EVENT_CHANGE = 1 << 2,
};

struct event_row {
	const struct event *e;
	const struct callers *callers;
	const char *change;		/* "new", "freed" */
};

extern const struct field_table event_fields;

#endif
