/*
 * stress: how hard the kernel worked for the pages that it gave, in the six
 * levels of "Visualizing Heap Stress Under Linux" (EQware, 2009).
 *
 *	sources.c	the sources, the totals, the change from one to the next
 *	ebpf.c		levels as our programs in the kernel count them: ebpf/ebpf.h
 *	tracepoints.c	counts of the kernel's tracepoints, by perf
 *	charge.c	the limits of a control group
 *	pressure.c	time for which tasks waited, and to be woken by it
 *	kernel_memory.c	memory of the kernel itself, by call site and slab cache
 *	readings.c	the kernel's files as numbers
 *	samples.c	differences of samples, samples as bytes
 *
 * Another source is a row of enum stress_source, at its place in the order, of
 * stress_sources[], and a function in take[] of sources.c; another number of a
 * sample a row of numbers[] in samples.c. contrib/heapstress has the kernel's
 * side of the first two.
 *
 * ../nodes/stress reads samples for a node's viewers, ../pagek/stress is page
 * S, ../pagek/commands/stress the command.
 *
 * Vocabulary
 *	request		a call of the kernel's page allocator, of any size, or a page of a bulk call.
 *	level		the deepest stage of a request when it was satisfied, from 1; 6: failed.
 *	source		files of the kernel with the counts: the best that there is.
 *	truth		how exact a source's count of a level is.
 *	sample		the totals of one moment.
 *	pressure	time for which tasks waited for memory (PSI).
 *	charge		what a control group's limit cost: at its limit a group frees pages of its
 *			own, and the page allocator has others, so no level shows it.
 *
 * The difference of two samples is what was spent.  The first sample of
 * another source has the totals of the one before: nothing is counted twice,
 * and requests between are not counted.
 *
 * Example
 *	stress_open(&s, "/");
 *	stress_take(s, &before);
 *	...
 *	stress_take(s, &after);
 *	stress_spent(&spent, &after, &before);		spent.level[3]: level 4
 *	stress_close(s);
 */
#ifndef STRESS_H
#define STRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define STRESS_LEVELS 6
#define STRESS_WHY 256		/* "Large": of more than 8 pages, which may fail without harm. */
#define STRESS_KERNEL 65	/* of the kernel's release */
#define STRESS_GROUP 512	/* of a control group's path */

/* In the order in which they are tried. */
enum stress_source {
	STRESS_PATCH,		/* heap_stress_1 to _6 of /proc/vmstat: a patched kernel's */
	STRESS_FILE,		/* six numbers that reading sets to zero: module or patch */
	STRESS_EBPF,		/* programs on tracepoints, since they were loaded */
	STRESS_EVENTS,		/* perf counts of tracepoints, since they were opened */
	STRESS_VMSTAT,		/* counters of any kernel in /proc/vmstat */
	STRESS_NONE,
};

enum stress_truth {
	STRESS_UNKNOWN,
	STRESS_EXACT,
	STRESS_CLOSE,		/* an estimate */
	STRESS_FAR_UNDER,	/* events, of which many requests make one */
	STRESS_FAR_OVER,	/* events, of which one request makes many */
	STRESS_TRUTHS
};

/* Requests of level 6.  "Large": of more than 8 pages, which may fail without harm. */
enum stress_failure_kind {
	STRESS_FAILED,
	STRESS_FAILED_LARGE,
	STRESS_FAILED_NO_WAIT,
	STRESS_FAILED_NO_WAIT_LARGE,
	STRESS_FAILURES
};

struct stress_failure {
	const char *name;	/* for data */
	const char *text;	/* behind a number */
};

extern const struct stress_failure stress_failures[STRESS_FAILURES];

/* Counters of a control group, since it was made. */
enum stress_charge_key {
	STRESS_CHARGE_HIGH,	/* version 2: requests over memory.high */
	STRESS_CHARGE_MAX,	/* version 2: requests that met memory.max */
	STRESS_CHARGE_FAILCNT,	/* version 1: requests that met the limit */
	STRESS_CHARGE_OOM,	/* version 2: the limit could not be kept by reclaim */
	STRESS_CHARGE_OOM_KILL,	/* processes killed, for the limit or for the machine */
	STRESS_CHARGE_SCANNED,	/* version 2: pages, by the requests themselves */
	STRESS_CHARGE_STOLEN,
	STRESS_CHARGE_SOME,	/* version 2: pressure, in microseconds */
	STRESS_CHARGE_FULL,
	STRESS_CHARGES
};

struct stress_charge_row {
	const char *name;	/* for data */
	const char *text;	/* behind a number */
};

extern const struct stress_charge_row stress_charges[STRESS_CHARGES];

struct stress_charge {
	bool known[STRESS_CHARGES];
	uint64_t n[STRESS_CHARGES];
};

struct stress_level {
	const char *name;	/* "default criteria" */
	const char *meaning;	/* in the words of the 2009 article */
};

extern const struct stress_level stress_levels[STRESS_LEVELS];

struct stress_source_row {
	const char *name;	/* "patch", for data */
	const char *text;	/* for people */
	enum stress_truth truth[STRESS_LEVELS];
	bool since_boot;	/* its first sample counts from the boot on */
};

extern const struct stress_source_row stress_sources[STRESS_NONE + 1];

/* "exact", "close", "far under", "far over", "unknown" */
extern const char *const stress_truths[STRESS_TRUTHS];

struct stress_sample {
	enum stress_source source;
	/*
	 * Requests since the boot; with STRESS_FILE since its last reading
	 * before stress_open(), with STRESS_EBPF and STRESS_EVENTS since about
	 * the first sample.  At the largest number they stay.
	 */
	bool known[STRESS_LEVELS];
	uint64_t level[STRESS_LEVELS];
	bool split_known;	/* only with STRESS_EBPF and STRESS_EVENTS */
	uint64_t failed[STRESS_FAILURES];	/* level 6 */
	bool requests_known;
	uint64_t requests;	/* satisfied ones, of /proc/vmstat, since the boot */
	uint64_t limit_kills;	/* for a limit of a control group: not in level 5 */
	struct stress_charge charge;	/* of stress_group() */
	bool pressure_known;
	uint64_t some_us, full_us;	/* at least one task, all tasks waited; since the boot */
	bool kswapd_known;	/* only with STRESS_VMSTAT */
	uint64_t kswapd_runs;	/* since the boot */
	uint64_t stolen;	/* requests that another reader of the file has taken */
	uint64_t missed;	/* hits that module or eBPF did not follow: counted as level 1 */
	uint64_t backwards;	/* counters that were below their last value, so far */
	uint64_t changes;	/* of the source, since stress_open() */
};

struct stress;

/*
 * root: "/", or a folder with copies of the kernel's files. stress_take()
 * chooses the source.  -ENOMEM, -ENAMETOOLONG.  Not for several threads at
 * once.
 */
int stress_open(struct stress **, const char *root);
void stress_close(struct stress *);

/* Before the first sample: a source that has no totals of before is not used. */
void stress_want_boot(struct stress *);

/*
 * Before the first sample: allows STRESS_EBPF by this program
 * ("pagek-levels"), which begins in some tenths of a second: without `wait`,
 * stress_take() returns -EAGAIN until then.  -ENOMEM.
 */
int stress_use_ebpf(struct stress *, const char *program, bool wait);

/*
 * Before the first sample: only this process, its threads and later children;
 * on_exec: from its next exec on.  The source is STRESS_EVENTS, pressure is
 * unknown.  -errno: perf is refused; stress_why() says why.
 */
int stress_of_process(struct stress *, pid_t, bool on_exec);

/*
 * Takes a sample; STRESS_NONE without a source.  -errno: no memory or
 * descriptor for now, or -EAGAIN: try later.
 */
int stress_take(struct stress *, struct stress_sample *);

/*
 * Why better sources are not used, or the last was left, as "SENTENCE;
 * SENTENCE"; "": the best is used.  Borrowed until the next sample.
 */
const char *stress_why(const struct stress *);
/* The kernel's release, "" if it is not known. */
const char *stress_kernel(const struct stress *);
/* The control group that `charge` is of: the process's, or our own; "": none. */
const char *stress_group(const struct stress *);

/*
 * A descriptor that polls POLLPRI when a task, or all, waited `wait_us` for
 * memory within `window_us`: 0.5 to 10 seconds, unprivileged a multiple of 2.
 * -errno with a sentence in *why, which stays.
 */
int stress_watch_pressure(const char *root, bool full, uint64_t wait_us,
    uint64_t window_us, const char **why);

/* --- memory of the kernel itself (kernel_memory.c) ------------------------------ */

/* Texts are of the kernel, "" never. */
struct stress_site {
	int64_t bytes;		/* held now; below 0 for a moment, while others count */
	uint64_t calls;		/* allocations that are held */
	const char *file, *function;
	uint64_t line;
	const char *module;	/* NULL: the kernel itself */
	bool accurate;		/* the kernel has followed all of its allocations */
};

struct stress_slab {
	const char *name;
	uint64_t bytes;		/* of its pages */
	uint64_t used;		/* of its objects that are in use */
	uint64_t objects, active;	/* all, in use */
	uint64_t size;		/* of an object */
	uint64_t slabs;
};

enum stress_table {
	STRESS_BY_SITE,		/* rows: struct stress_site, from /proc/allocinfo */
	STRESS_BY_CACHE,	/* rows: struct stress_slab, from /proc/slabinfo */
	STRESS_TABLES
};

enum stress_order {
	STRESS_LARGEST,
	STRESS_MOST,		/* calls, or objects */
	STRESS_BY_NAME,		/* name of the function, or of the cache */
	STRESS_ORDERS
};

struct stress_memory {
	enum stress_table table;
	void *row;
	size_t n, cap, size;	/* size: of a row */
	uint64_t rows, bytes;	/* totals, also of rows that were not sent */
	uint64_t bad;		/* lines that could not be parsed */
	const char *version;	/* of /proc/allocinfo, such as "1.0"; NULL: no heading */
	char *text;		/* the texts of the rows point into it */
};

/*
 * Reads one of the files; only root can. root: "" or a folder with copies.  On
 * error, `why` has a sentence.  -EEXIST: the file has the six counts; they are
 * not read if that is detected.
 */
int stress_read_memory(struct stress_memory *, enum stress_table, const char *root,
    char why[STRESS_WHY]);
void stress_sort_memory(struct stress_memory *, enum stress_order);
/* Prints rows as lines, as many as fit; returns the length of the text. */
size_t stress_print_memory(const struct stress_memory *, char *out, size_t cap);
/* Parses such lines; counts others in `bad`.  -EBADMSG: it is no text; -ENOMEM. */
int stress_parse_memory(struct stress_memory *, enum stress_table,
    const char *text, size_t len);
/* The row for the same call site or cache as `row` of another table; NULL: none. */
const void *stress_find_memory(const struct stress_memory *, const void *row);
/* Does nothing if all is zero. */
void stress_free_memory(struct stress_memory *);

/* --- samples.c ------------------------------------------------------------------ */

/* The difference of two samples; a number is known if both of them know it. */
void stress_spent(struct stress_sample *out, const struct stress_sample *now,
    const struct stress_sample *base);

/*
 * How exact a level's count is, from 0: an estimate if some requests were not
 * followed.
 */
enum stress_truth stress_truth(const struct stress_sample *, size_t level);

/*
 * The source's name with its length, then pairs of key and number, seven bits
 * a byte, the lowest first; bit 7: more follow.  Unknown numbers are left out,
 * unknown keys skipped.
 */
#define STRESS_PACKED_MAX 512
size_t stress_put(uint8_t out[STRESS_PACKED_MAX], const struct stress_sample *);
/* -EBADMSG; -ENOTSUP: another version's source, whose counts have no meaning here. */
int stress_get(struct stress_sample *, const uint8_t *in, size_t len);

/*
 * Totals of readers one after the other, as when a node restarts.  Zero: no
 * sample so far.
 */
struct stress_series {
	uint64_t reader;
	struct stress_sample raw;	/* the last one, as it was read */
	struct stress_sample total;	/* ... as it is shown */
};
/*
 * Makes *s a sample of the series: totals go on from the last.  Requests
 * between two readers are missing, a change of source, unless both count since
 * the boot.
 */
void stress_continue(struct stress_series *, struct stress_sample *,
    uint64_t reader);

/* --- inside this room (readings.c) -------------------------------------------- */

/* root: without '/' at its end.  -errno. */
int stress_open_file(const char *root, const char *name);
/* Reads until the end, or `cap` bytes. */
int stress_read_file(const char *root, const char *name, char *buf, size_t cap,
    size_t *len);

/* A decimal number at *at, before `end`.  False: none, or above the largest. */
bool stress_take_number(const char **at, const char *end, uint64_t *out);

/* The number in the first line "KEY number", or "number" if the key is "". */
bool stress_read_key(const char *text, size_t len, const char *key, uint64_t *n);

/* Counters of /proc/vmstat; a key that was not there is unknown. */
enum stress_key {
	STRESS_KEY_LEVEL,	/* heap_stress_1 to _6 */
	STRESS_KEY_HIT = STRESS_KEY_LEVEL + STRESS_LEVELS,
	STRESS_KEY_MISS,
	STRESS_KEY_ALLOCSTALL,	/* sum of all zones */
	STRESS_KEY_COMPACT_STALL,
	STRESS_KEY_OOM_KILL,
	STRESS_KEY_PAGEOUTRUN,
	STRESS_KEYS
};

struct stress_vmstat {
	bool known[STRESS_KEYS];
	uint64_t n[STRESS_KEYS];
};

/* Lines "key number"; others are skipped. */
void stress_read_vmstat(const char *text, size_t len, struct stress_vmstat *);

enum stress_shape {
	STRESS_SIX,		/* six numbers on one line */
	STRESS_SITES,		/* the mainline kernel's file of call sites */
	STRESS_OTHER,
};

/* The whole of the file.  n: only with STRESS_SIX. */
enum stress_shape stress_read_six(const char *text, size_t len,
    uint64_t n[STRESS_LEVELS]);

/* /proc/pressure/memory; false: not that file. */
bool stress_read_pressure(const char *text, size_t len, uint64_t *some_us,
    uint64_t *full_us);

/* --- inside this room (tracepoints.c) ------------------------------------------- */

enum stress_event {
	STRESS_EVENT_REQUEST,
	STRESS_EVENT_FAILED,	/* one for each of STRESS_FAILURES */
	STRESS_EVENT_ALL_FAILED = STRESS_EVENT_FAILED + STRESS_FAILURES, /* in their place */
	STRESS_EVENT_WAKE,	/* of kswapd, which slept */
	STRESS_EVENT_RECLAIM,
	STRESS_EVENT_COMPACT,
	STRESS_EVENT_VICTIM,	/* of the OOM killer */
	STRESS_EVENT_RETRY,	/* a request tries reclaim once more */
	STRESS_EVENTS_COUNT
};

struct stress_events;

struct stress_event_counts {
	bool known[STRESS_EVENTS_COUNT];
	uint64_t n[STRESS_EVENTS_COUNT];	/* since they were opened */
	bool late;		/* a processor came on line before its counters */
};

/*
 * Counters of all processors. root: borrowed; if not "", its files perf/cpuN
 * have the counts.  -errno with a sentence in `why`, or -ENOMEM without.
 */
int stress_events_open(struct stress_events **, const char *root,
    char why[STRESS_WHY]);
/* Opens counters of a process: see stress_of_process(). */
int stress_events_of(struct stress_events **, pid_t, bool on_exec,
    char why[STRESS_WHY]);
void stress_events_close(struct stress_events *);
int stress_events_read(struct stress_events *, struct stress_event_counts *);

/* --- inside this room (ebpf.c) --------------------------------------------------- */

struct stress_ebpf;

struct stress_ebpf_counts {
	bool known[STRESS_LEVELS];
	uint64_t level[STRESS_LEVELS];	/* since the programs were loaded */
	uint64_t failed[STRESS_FAILURES];
	uint64_t missed;
};

/*
 * Starts `program`. root: borrowed; if not "", its file ebpf/counts has the
 * counts.  -errno with a sentence in `why`, or -ENOMEM without.
 */
int stress_ebpf_open(struct stress_ebpf **, const char *root, const char *program,
    char why[STRESS_WHY]);
/* -EAGAIN: not loaded yet, but for `wait`; else -errno with a sentence. */
int stress_ebpf_read(struct stress_ebpf *, bool wait, struct stress_ebpf_counts *,
    char why[STRESS_WHY]);
void stress_ebpf_close(struct stress_ebpf *);

/* --- inside this room (charge.c) ------------------------------------------------- */

struct stress_group {
	unsigned version;	/* of control groups; 0: none */
	char name[STRESS_GROUP];	/* "/user.slice" */
	char folder[STRESS_GROUP + 32];	/* below the root */
};

/* The group of a process, 0 for our own, with the controller of memory. */
int stress_find_group(const char *root, pid_t, struct stress_group *);
/* Counters that the group does not have are unknown. */
void stress_read_charge(const char *root, const struct stress_group *,
    struct stress_charge *);

#endif
