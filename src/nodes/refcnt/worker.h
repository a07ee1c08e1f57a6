/*
 * worker: the thread that counts one target: a period after the other.
 *
 * A period begins with clearing the accessed bits of the target's pages and ends
 * with reading them.  Both read /proc, which takes milliseconds, and asking the
 * target for cuts takes longer; so the loop's thread never does it, and waits for
 * the lock of a counted target only as long as another one copies a few words.
 */
#ifndef NODES_REFCNT_WORKER_H
#define NODES_REFCNT_WORKER_H

#include <pthread.h>

#include "refcnt.h"

struct frames;
struct refs;
struct stream_feed;

#define NODE_REFCNT_THREAD "refcnt"	/* name of the threads */
#define NODE_REFCNT_FOLDER 512	/* bytes of the path of mapped files */

struct counted_target {
	TAILQ_ENTRY(counted_target) link;
	struct keeper *keeper;		/* a reference */
	struct refcnt *counts;
	const struct refcnt_topology *topology;
	/* With groups of processors in place of nodes; NULL: it is shared. */
	struct refcnt_topology *own;
	char *groups;
	struct frames *frames;		/* borrowed; NULL: there are none */
	int pid;
	uint64_t started;		/* of the process, in clock ticks since boot */
	int64_t since_ms;		/* the first range */
	int64_t asked_ms;		/* since then the target has asked ... */
	uint64_t asked;			/* ... for so many pages */
	uint64_t left_out;		/* requests of it that were too many */
	pthread_t thread;
	bool has_thread;
	int64_t waited_ms;		/* of the thread: for cuts, in this period */

	pthread_mutex_t lock;		/* for all below */
	pthread_cond_t wake;
	struct stream_feed *feed;	/* NULL: it has none, or no more */
	bool wanted;			/* something is to be counted */
	bool done;			/* the thread ends */
	bool ended;			/* the process has */
	bool fresh;			/* a range was switched on in this period */
	bool awaits[NODE_REFCNT_GIVEN];	/* a descriptor of the target */
	int given[NODE_REFCNT_GIVEN];	/* ... when it has come; a negative errno: why not; 0 */
	uint32_t period_ms;
	uint64_t periods;		/* that have ended, and the next one has begun */
	int64_t lasts_ms;		/* that period, or longer: reading takes long */
	char why[NODE_REFCNT_WHY];
};

/* Starts it, or lets it see what has changed.  A negative errno: there is no thread. */
int worker_start(struct counted_target *);
/* Lets it end; it may be at work for a while. */
void worker_stop(struct counted_target *);
bool worker_has_ended(struct counted_target *);
/* Waits for its end. */
void worker_join(struct counted_target *);

/* --- placement.c --------------------------------------------------------------- */

struct placement;

int placement_new(struct placement **, int pid, const struct refcnt_topology *);
void placement_free(struct placement *);
/* Looks at some pages, and at the next ones with the next call. */
void placement_step(struct placement *, struct refcnt *);
/* Physical addresses are known. */
bool placement_has_frames(const struct placement *);

/* --- page_frames.c -------------------------------------------------------------- */

/* The folder of mapped files; made by refcnt_table_write(). */
int node_refcnt_folder(char out[NODE_REFCNT_FOLDER]);
/* The path of the file with the machine's former settings (refcnt/hint/hint.h). */
int node_refcnt_balancing_file(const char **);
/* Makes counts by physical frame.  -ENOMEM. */
int frames_new(struct frames **, const struct refcnt_topology *);
void frames_free(struct frames *);
/* Any thread: counts references of a page by a node; coarse: its neighbours perhaps. */
void frames_count(struct frames *, const struct refcnt_page *, unsigned node,
    uint64_t n, bool coarse, int64_t now_ms);
/* True if some frames had no room; they stay uncounted until all counting ends. */
bool frames_are_full(const struct frames *);
/* Any thread: updates the files.  Call it when a target's period has ended. */
void frames_write(struct frames *, int64_t now_ms);

#endif
