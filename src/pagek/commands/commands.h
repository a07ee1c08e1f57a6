/*
 * commands: one function for each command of the command line, and what they
 * share.  A command reports errors on standard error and returns the exit status
 * of the program.
 *
 *	cmd_NAME.c	the command NAME.  Files for more than one:
 *	cmd_arm.c	arm, disarm
 *	cmd_dump.c	dump, history, diff: events of debug data
 *	export_capture.c	export, of a capture
 *	cmd_mark.c	mark, marks
 *	cmd_run.c	run, and its exit status
 *	cmd_usage.c	usage: counts by type
 *	allocator_levels.c	stress, of a target's own allocators
 *	stress_baseline.c	the file of stress --baseline
 *	stress_tables.c	stress, of the kernel's own memory
 *	snapshot.h	a target's blocks at one moment, for sums and trees
 *	diff_saved.c	diff, of lists that were saved
 *	live_dump.c	a live target as debug data
 *	live_history.c	its earlier events, as the node still has them
 *	record_there.c	record, of a target on another machine
 *	forward.c	signals for the command that is run
 *
 * `pagek check`, `pagek refcnt` and `pagek stale` have rooms of their own: ../check,
 * ../refcnt, ../stale.
 *
 * Example: a command that lists blocks.  It needs a row of ../cli/commands.def,
 * rows of ../cli/options.def for its own options, and a section of pagek(1)
 *	static int
 *	look(const struct options *o, uv_loop_t *loop, struct nodes_session *s)
 *	{
 *		FILE *out = output_open(o->output);
 *		...
 *		return output_close(out, o->output, PAGEK_OK);
 *	}
 *
 *	int
 *	cmd_look(const struct options *o, uv_loop_t *loop)
 *	{
 *		return batch_watch(o, loop, look);
 *	}
 */
#ifndef PAGEK_COMMANDS_H
#define PAGEK_COMMANDS_H

#include "../../base/hashmap.h"
#include "../../stress/stress.h"
#include "../batch/batch.h"
#include "../debugdata/debugdata.h"

/* --- a command that is run (cmd_run.c) ----------------------------------- */

/* For pump(), with the session: the last process of the tree has ended ... */
bool run_has_ended(void *session);
/* ... and the watched stream is read to its end, or there is none. */
bool run_is_read(void *session);
/* The same; meanwhile signals go to the first process. */
bool run_forwards(void *session);

/* Reports the command's end.  A status like a shell's; 125: not known. */
int run_tell_end(const struct nodes_look *, const char *command);

/* --- heap stress (cmd_stress.c) ----------------------------------------------- */

/* --interval, --count or --duration is given. */
bool stress_repeats(const struct options *);
/* "14:05:30" */
void stress_clock_text(int64_t wall_ms, bool utc, char out[FIELD_CELL]);

/* --- memory of the kernel itself (stress_tables.c) --------------------------- */

/* For `pagek stress`: --sites or --slab is given. */
bool stress_is_table(const struct options *);
/* The rules of these two and of the options that only they have. */
int stress_tables_check(struct parse *);
int stress_tables(const struct options *);

/* --- levels of a target's own allocators (allocator_levels.c) ---------------- */

/* pagek stress --allocators. */
int stress_allocators(const struct options *, uv_loop_t *);

/* --- a sample of heap stress in a file (stress_baseline.c) ---------------------- */

struct stress_baseline {
	struct stress_sample sample;
	uint64_t reader;	/* of the node; 0: this process has read */
	int64_t wall_ms;
	char kernel[STRESS_KERNEL];
	char node[300];		/* "" none */
};

/* PAGEK_OK, or the status after a complaint; *there false: there is no such file. */
int stress_baseline_read(const char *path, struct stress_baseline *, bool *there);
int stress_baseline_write(const char *path, const struct stress_baseline *);
/*
 * The difference of the two; false: the totals have begun anew since, and *spent has
 * all of them.
 */
bool stress_baseline_spent(const struct stress_baseline *,
    const struct stress_baseline *now, struct stress_sample *spent);

/* --- a recording on another machine (record_there.c) ------------------------ */

/* Runs pagek record at the ssh target, until that ends or a signal comes. */
int record_there(const struct options *);

/* --- a live target as a dump (live_dump.c) --------------------------------- */

/*
 * Appends the session's current list to the subject's dumps, which have room,
 * and its callers.  Waits for names, --timeout at most.  -ENOMEM.
 */
int live_dump(const struct options *, uv_loop_t *, struct nodes_session *,
    struct subject *, struct callers *);

/* --- its earlier events (live_history.c) ------------------------------------ */

enum live_life_state {
	LIVE_HELD,			/* no free of it has come */
	LIVE_FREED,
	LIVE_LOST,			/* another block has its address, without a free */
};

/* A block from its allocation to its free, as far as their records are kept. */
struct live_life {
	struct blk alloc;		/* seq 0: not known */
	struct blk free;		/* of the free's record */
	enum live_life_state state;
};

struct live_history {
	struct live_life *life;
	size_t n, cap;
	struct hashmap last;		/* the last one of an address */
	bool levels;
	bool complete;			/* no event since the target's start is missing */
};

/*
 * Reads the records up to that number; waits as --timeout says.  -ESTALE: the
 * session has another stream by now; -ENOMEM.  Other errors make it incomplete.
 */
int live_history_read(struct live_history *, const struct options *, uv_loop_t *,
    struct nodes_session *, uint64_t upto);
void live_history_fini(struct live_history *);

/* --- lists (cmd_list.c) ---------------------------------------------------- */

/*
 * Writes the target's blocks as `pagek list` does, into that stream; NULL: into
 * the file of -o.  Returns the exit status.
 */
int list_write(const struct options *, uv_loop_t *, struct nodes_session *,
    FILE *);

/* --- captures (cmd_dump.c) -------------------------------------------------- */

/* Counts the captures among the files; checks --at and --part with them. */
int captures_check(struct parse *);

/* --- trees (cmd_tree.c) ------------------------------------------------------ */

/* Refuses what --by=allocations and --by=peak have no sums for. */
int tree_check_counts(struct parse *);

/* --- exports (cmd_export.c, export_capture.c) -------------------------------- */

enum export_needs {
	EXPORT_NEEDS_PROFILE,		/* of what is held, with names */
	EXPORT_NEEDS_SOURCE,
	EXPORT_NEEDS_FREES,		/* a source with the stacks of frees */
};

struct export_source;
struct export_held {
	const struct export_source *source;
	struct profile *profile;	/* of EXPORT_NEEDS_PROFILE */
	int64_t now_ms;
};

/* The input that the chosen format is written from. */
enum export_needs export_needs(const struct options *);
/* Writes it into the file or folder of -o.  Returns the exit status. */
int export_write(const struct options *, const struct export_held *);
/* Refuses options that a capture does not take. */
int export_capture_check(struct parse *);
int export_capture(const struct options *);

/* --- saved lists (diff_saved.c) -------------------------------------------- */

/* True if the first file of diff is a saved list, not debug data. */
bool diff_saved_wanted(const struct options *);
/* Refuses options that are for debug data only. */
int diff_saved_check(struct parse *);
int diff_saved(const struct options *, uv_loop_t *);

/* --- signals for the command (forward.c) ----------------------------------- */

/*
 * Forwards signals sent to `pagek run -b` to its command, but neither those of
 * the terminal (by si_code), which reach the whole process group, nor those
 * that were ignored when pagek started.  One at a time in a process. 0 or a
 * negative errno.
 */
int forward_open(uv_loop_t *);
/* Sets the command's process; earlier signals are sent to it now. */
void forward_to(pid_t, struct nodes_session *);
/* Restores the handlers; run the loop once more after it. */
void forward_close(void);

#endif
