/*
 * stress: how hard the kernel worked for the pages that it gave, in the six levels
 * of "Visualizing Heap Stress Under Linux" (EQware, 2009).
 *
 *	sources.c	the sources, the totals, the change from one to the next
 *	readings.c	the kernel's files as numbers
 *	samples.c	differences of samples, samples as bytes
 *
 * Another source is a row of enum stress_source, at its place in the order, a row
 * of stress_sources[], and a function in take[] of sources.c; another number of a
 * sample is a row of numbers[] in samples.c.  contrib/heapstress has the kernel's
 * side of the first two sources, pagek/commands/cmd_stress.c the output.
 *
 * Vocabulary
 *	request		a call of the kernel's page allocator, or a page of a bulk
 *			call.  Its size does not matter.
 *	level		the deepest stage that a request had reached when it was
 *			satisfied, from 1; 6: it failed.
 *	source		files of the kernel that have the counts.  The best one that
 *			is there is used; if it goes away, the next one is.
 *	truth		how exact a source's count of a level is.
 *	sample		the totals of one moment.
 *	pressure	time for which tasks waited for memory (PSI).
 *
 * The difference of two samples is what was spent between them.  The first sample
 * of another source has the totals of the sample before: nothing is counted twice,
 * and requests between these two samples are not counted.
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

#define STRESS_LEVELS 6
#define STRESS_WHY 256		/* bytes of a sentence */
#define STRESS_KERNEL 65	/* of the kernel's release */

/* In the order in which they are tried. */
enum stress_source {
	STRESS_PATCH,		/* heap_stress_1 to _6 of /proc/vmstat: a patched kernel's */
	STRESS_FILE,		/* six numbers that reading sets to zero: module or patch */
	STRESS_VMSTAT,		/* counters of any kernel in /proc/vmstat */
	STRESS_NONE,
};

enum stress_truth {
	STRESS_UNKNOWN,
	STRESS_EXACT,
	STRESS_CLOSE,		/* an estimate */
	STRESS_FAR_OVER,	/* events, of which one request makes many */
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

/* "exact", "close", "far over", "unknown" */
extern const char *const stress_truths[STRESS_FAR_OVER + 1];

struct stress_sample {
	enum stress_source source;
	/*
	 * Requests since the boot, or with STRESS_FILE since the file was last read
	 * before stress_open().  At the largest number they stay.
	 */
	bool known[STRESS_LEVELS];
	uint64_t level[STRESS_LEVELS];
	bool requests_known;
	uint64_t requests;	/* satisfied ones, of /proc/vmstat, since the boot */
	bool pressure_known;
	uint64_t some_us, full_us;	/* at least one task, all tasks waited; since the boot */
	bool kswapd_known;	/* only with STRESS_VMSTAT */
	uint64_t kswapd_runs;	/* since the boot */
	uint64_t stolen;	/* requests that another reader of the file has taken */
	uint64_t missed;	/* hits that the module did not follow: counted as level 1 */
	uint64_t backwards;	/* counters that were below their last value, so far */
	uint64_t changes;	/* of the source, since stress_open() */
};

struct stress;

/*
 * root: "/", or a folder with copies of the kernel's files.  Chooses no source yet:
 * stress_take() does.  -ENOMEM, -ENAMETOOLONG.  Not for several threads at once.
 */
int stress_open(struct stress **, const char *root);
void stress_close(struct stress *);

/*
 * Takes a sample; without any source it has STRESS_NONE.  -errno: no memory or no
 * descriptor for now; a later call may succeed.
 */
int stress_take(struct stress *, struct stress_sample *);

/*
 * Why the better sources are not used, or why the last one was left: one sentence
 * for each, as "SENTENCE; SENTENCE"; "": the best one is used.  Borrowed until the
 * next sample.
 */
const char *stress_why(const struct stress *);
/* The kernel's release, "" if it is not known. */
const char *stress_kernel(const struct stress *);

/* --- samples.c ------------------------------------------------------------------ */

/* The difference of two samples; a number is known if both of them know it. */
void stress_spent(struct stress_sample *out, const struct stress_sample *now,
    const struct stress_sample *base);

/*
 * How exact the count of a level is, from 0: counts are estimates if some requests
 * were not followed.
 */
enum stress_truth stress_truth(const struct stress_sample *, size_t level);

/*
 * A sample as bytes: the length of the source's name and that; then pairs of a key
 * and a number, seven bits in each byte, the lowest first; bit 7: more follow.
 * Unknown numbers are left out, and unknown keys skipped.
 */
#define STRESS_PACKED_MAX 512
size_t stress_put(uint8_t out[STRESS_PACKED_MAX], const struct stress_sample *);
/* -EBADMSG; -ENOTSUP: another version's source, whose counts have no meaning here. */
int stress_get(struct stress_sample *, const uint8_t *in, size_t len);

/*
 * The totals of one reader after the other, as when a node is started again.  A
 * reader is a number of its own.  Zero: no sample so far.
 */
struct stress_series {
	uint64_t reader;
	struct stress_sample raw;	/* the last one, as it was read */
	struct stress_sample total;	/* ... as it is shown */
};
/*
 * Makes *s a sample of the series: its totals go on from the last ones.  Requests
 * between two readers are missing, which counts as a change of the source, unless
 * both count since the boot.
 */
void stress_continue(struct stress_series *, struct stress_sample *,
    uint64_t reader);

/* --- inside this room (readings.c) -------------------------------------------- */

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

#endif
