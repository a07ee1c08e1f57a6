/*
 * dumps: commands that read debug data: dumps, captures and saved lists, and live
 * targets as if they were dumps.
 *
 *	cmd_dump.c	dump, history, diff: events of debug data
 *	cmd_stats.c	stats: their sums
 *	cmd_usage.c	usage: counts by type
 *	cmd_mdd_dump.c	mdd-dump: from a process or a core file
 *	diff_saved.c	diff, of lists that were saved
 *	live_dump.c	a live target as debug data
 *	live_history.c	its earlier events, as the node still has them
 */
#ifndef PAGEK_COMMANDS_DUMPS_H
#define PAGEK_COMMANDS_DUMPS_H

#include "../../../base/hashmap.h"
#include "../../batch/batch.h"
#include "../../debugdata/debugdata.h"

/* --- captures (cmd_dump.c) -------------------------------------------------- */

/* Counts the captures among the files; checks --at and --part with them. */
int captures_check(struct parse *);

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

/* --- saved lists (diff_saved.c) -------------------------------------------- */

/* True if the first file of diff is a saved list, not debug data. */
bool diff_saved_wanted(const struct options *);
/* Refuses options that are for debug data only. */
int diff_saved_check(struct parse *);
int diff_saved(const struct options *, uv_loop_t *);

#endif
