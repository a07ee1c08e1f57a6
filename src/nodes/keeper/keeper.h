/*
 * keeper: what a node keeps of one target: its queue, its block list since the
 * start, and what is known about it.  (The 2004 note calls it MEMB.)
 *
 * Vocabulary
 *	feed	the rings of a live process.
 *	source	a generator or a foreign classic stream, in place of a feed.
 *	row	the keeper's place in DSTRM, the node's table of streams.
 *	commit	the point to which the next process of the node rolls back.
 *
 * Records of feeds and sources go the same way: into the retained queue, which
 * gives them their sequence numbers, and into the list, in one step.  So list and
 * queue agree between any two callbacks of the loop, and a part of a snapshot is
 * exact as of the queue's last number.
 *
 *	node.h		what the rooms of a node share
 *	dstrm.h		the node's table of streams
 *	drain.h		when each target is visited, and who wakes the loop
 *	arming.h	which targets log
 *	regions.h	a target's memory of which every block is known
 *	modules.h	files that a target has loaded
 *	sandbox.h	targets that have locked themselves in
 *	kept_memory.h	what of a keeper outlives the process
 *	kept_node.h	what of the node itself outlives it
 *
 * A keeper belongs to the loop's thread, except before hello.c hands it over
 * and while the thread of a bell (drain.c) sleeps in the feed.  References are
 * counted: its row, its handles and the work on its symbols each hold one.
 *
 * Example: a generator
 *	keeper_new(&k, node, &(struct keeper_opts){ .max = 4096 }, NULL);
 *	k->source.make = make_records;
 *	images_join(k, "ALLOCLOG");	in images.h: it is visited from now on
 */
#ifndef NODES_KEEPER_H
#define NODES_KEEPER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <uv.h>

#include "../../blklist/blklist.h"
#include "../../stream/stream.h"
#include "../../stream/wire/wire.h"
#include "../../symbol/symbol.h"
#include "arming.h"
#include "peak.h"
#include "regions.h"
#include "sandbox.h"

#define KEEPER_TEXT 64			/* a comm of 15 bytes as safe text */
#define KEEPER_BATCH 4096		/* records of one blklist_apply() */
#define KEEPER_THREADS_MAX 65535
/* Blocks that a fork may have to put back, or the next process of the node. */
#define KEEPER_REMEMBERED STREAM_QUEUE_RECORDS
#define KEEPER_PASS_US 1000		/* pages and timers are answered in between */

struct node;
struct bell;
struct keeper_kept;
struct kept_sites;

struct keeper_thread {
	uint32_t tid;			/* 0: this index was never said */
	bool has_requester;
	struct blklist_info requester;
	char name[16];			/* as last read, raw bytes */
};

/* Requester of the record with this sequence number; see keeper_info(). */
struct keeper_tag {
	uint32_t seq;			/* its low bits */
	uint16_t info;
};

/* The process that it is of, and how it ended. */
struct keeper_image {
	pid_t pid, ppid;		/* pid 0: no process */
	uid_t uid;			/* whose process it is, else the node's */
	int pidfd;			/* -1 none */
	uv_poll_t *death;		/* on pidfd; NULL none */
	uint64_t start;			/* of the process, in clock ticks since boot */
	uint64_t exe_dev, exe_ino;	/* of /proc/PID/exe at the start */
	char *exe, *cwd;		/* what it ran at the start and where, heap; NULL unknown */
	char comm[KEEPER_TEXT];		/* of the image's start, safe text */
	bool forked;
	uint64_t parent;		/* stream of its parent, when forked */
	uint32_t *cut;			/* tickets at the fork, until inherited */
	uint64_t arrival;		/* number of its hello's connection; 0: it said none */
	enum wire_state state;
	int32_t status;			/* wait status; -1 unknown */
	int64_t ended_ms;		/* wall clock; 0 while it lives */
	char reason[128];
};

/* Its threads, by index, and who requests the memory of their blocks. */
struct keeper_threads {
	struct keeper_thread *at;
	size_t n, cap;			/* indexes below n may be known */
	unsigned requesters;		/* threads that have one now */
	struct keeper_tag *tag;		/* by seq modulo the queue's size; NULL: no requester yet */
	struct blklist_batch_info *batch_info;	/* KEEPER_BATCH of them, with tag */
	unsigned name_reads;		/* thread names read since the last pass */
};

/* Memory that outlives this process. */
struct keeper_memory {
	struct keeper_kept *target;	/* NULL: nothing does */
	struct kept_sites *sites;	/* where sites are, a reference; NULL: in this process */
	struct kept_sites *sites_left;	/* where they were at the last commit, when that is another place */
};

struct keeper_modules {
	unsigned named;			/* of those in sites, up to this number */
	struct symbol_modules *table;	/* NULL: none known */
	pthread_mutex_t lock;		/* loop and worker threads share the table */
};

/* Kept when list and queue are given up. */
struct keeper_last {
	struct blklist_counts counts;
	uint64_t next;			/* sequence number after the last record */
	uint32_t *due;			/* of the feed at its end, while the list is kept */
};

struct keeper_numbers {
	uint64_t lost[STREAM_CAUSES];
	uint64_t bad;			/* bad records */
	uint64_t skipped;		/* bytes of a source that are in no record */
	uint64_t mismatches;		/* of list and oracle */
	uint32_t cycle_us;		/* of the last pass */
	uint64_t sites_full, walks, pairs;	/* of the feed since this list began; they stay behind it */
	uint64_t sites_full_then, walks_then, pairs_then;	/* what it had counted when the list began */
	uint64_t controls;		/* control records of this process's time */
	uint64_t marks, marks_untold;	/* of the whole image, armed or dormant */
};

/* A generator or a foreign stream, in place of a feed. */
struct keeper_source {
	void (*make)(struct keeper *, int64_t mono_ms);	/* called at 15 Hz; NULL: none */
	/* Words for its frames, static texts; NULL: as for a process. */
	void (*words)(uint64_t frame, struct wire_words *);
	/*
	 * A page has read it; caught_up: up to the last record.  NULL: nobody
	 * asks.
	 */
	void (*on_read)(struct keeper *, bool caught_up);
	void *arg;			/* heap; freed with the keeper */
	int64_t now_ms;			/* its own clock */
};

/* When it is visited, see drain.c; ms of the monotonic clock. */
struct keeper_visits {
	int64_t due_ms;
	int interval_ms;
	unsigned turn;			/* of the loop, in which it was visited last */
	int64_t born_ms;
	int64_t silent_since_ms;	/* last pass that found something */
	int64_t looked_ms;		/* last look whether the image is still there */
	int64_t modules_ms;		/* last reading of its modules */
	int64_t read_ms;		/* last time a page read it */
};

struct keeper {
	struct node *node;
	TAILQ_ENTRY(keeper) link;	/* in node->live or images->ended */
	TAILQ_ENTRY(keeper) shelf;	/* in images->shelved */
	bool is_shelved;
	uint64_t stream;		/* id, as the target was told; never used again */
	uint32_t index;			/* in DSTRM */
	bool has_row;
	bool counted;			/* as a live target of its user; see quota_count() */
	unsigned refs;

	struct keeper_image image;
	bool again;			/* it was another keeper's, which is gone: */
	bool was_armed;			/* and logged there */
	bool missed;			/* said hello and has no stream: reason says why */

	bool classic;
	bool levels;
	bool unsure;			/* began with what is not known to be right */
	bool since_click;		/* unknown frees may be of blocks never logged */
	struct arming arming;		/* does it log, and for whom? */
	struct sandbox sandbox;
	uint64_t sample;		/* mean bytes between its samples; 0: every event is logged */
	struct peak peak;

	struct stream_feed *feed;	/* NULL: has none, or no more */
	struct bell *bell;		/* NULL: not needed so far */
	int64_t beat_ms;		/* the millisecond that the target may copy by now */
	struct keeper_source source;	/* instead of a feed */

	struct stream_queue *queue;	/* NULL: no longer kept */
	struct stream_digest *digest;	/* of what is in the queue; NULL: classic, or as queue */
	struct blklist *list;		/* lives and goes with the queue */
	struct blklist *oracle;		/* literal, beside it; NULL unless asked for */
	uint64_t first;			/* sequence number that the queue began with */
	struct stream_types *types;	/* lives and goes with the list */
	struct region_set regions;		/* regions, as its threads have said */
	struct stream_sites *sites;	/* a reference, shared with whom it forked; NULL: classic */
	struct keeper_last last;

	struct keeper_memory memory;
	struct keeper_modules modules;
	struct keeper_threads threads;
	struct keeper_numbers numbers;
	struct keeper_visits visits;
};

TAILQ_HEAD(keepers, keeper);

struct keeper_opts {
	bool classic;
	bool no_list;			/* a row only: a process without a stream */
	bool with_feed;			/* feed and both its descriptors */
	uint32_t max;			/* aRecMax; 0: the default of its kind */
};

/*
 * Makes one with one reference.  fds are filled with_feed, as
 * stream_feed_new_kept() does; without memory of its own, ->kept, the first two
 * alone, as stream_feed_new().  May be called from any thread.
 */
int keeper_new(struct keeper **, struct node *, const struct keeper_opts *,
    int *fds);
/*
 * Keeps a literal list beside the indexed one from now on, to be compared
 * after each batch.  Its records are linked one by one, which takes longer
 * than a target waits for its welcome: so this is not keeper_new()'s affair.
 */
int keeper_check_list(struct keeper *);
/*
 * Queue, digest and list begin anew, and with them all that is counted: nothing
 * of before is known any more but what its threads have said of themselves.
 * -ENOMEM: all is as it was.
 */
int keeper_anew(struct keeper *);
/*
 * A queue and a list in memory that is kept, in place of what it has of them;
 * the first record will have the number `next`.  On failure it has none.
 */
int keeper_tables(struct keeper *, struct keeper_kept *, uint32_t max,
    uint64_t next);
void keeper_ref(struct keeper *);
void keeper_unref(struct keeper *);

/* LIVE, or detached but its process goes on. */
bool keeper_is_live(const struct keeper *);

/* Publishes the millisecond to the target. */
void keeper_beat(struct keeper *, int64_t mono_ms);

/* One pass of the feed, or one call of the source.  Records that came. */
int keeper_pass(struct keeper *, int64_t mono_ms);
/*
 * The same, but a pass ends with the batch in which it has taken KEEPER_PASS_US;
 * the keeper is then behind and wants another one soon.
 */
int keeper_visit(struct keeper *, int64_t mono_ms);
bool keeper_is_behind(const struct keeper *);

/*
 * n records in true order: the one way into queue and list.  ms: their times
 * in full, or NULL: then near_ms widens them.  info: requesters beside them.
 */
void keeper_take(struct keeper *, const struct rec *, size_t n,
    int64_t near_ms, const int64_t *ms, const struct blklist_batch_info *info,
    size_t ninfo);

/* A record of a foreign classic stream; a bad one is counted. */
void keeper_take_classic(struct keeper *, const uint8_t raw[REC_CLASSIC_SIZE],
    const struct blklist_info *requester);

void keeper_lose(struct keeper *, unsigned cause, uint64_t count);

/* A control record of one of the target's threads; see control.c. */
void keeper_control(struct keeper *, const struct rec *);

/* The records of the feed's sink; arg is the keeper. */
extern const struct stream_sink keeper_sink;

/*
 * The image is over: drains what is left and says in which state it stays.
 * The list is kept until images_drop().
 */
void keeper_end(struct keeper *, enum wire_state, int32_t status,
    const char *reason);
/* Gives back list, queue and whatever is large; the row's numbers stay. */
void keeper_drop(struct keeper *);

const struct blklist_counts *keeper_counts(const struct keeper *);
uint64_t keeper_lost(const struct keeper *);	/* all causes */
/* Nothing was lost, and all that was allocated had room in the list. */
bool keeper_complete(const struct keeper *);
uint64_t keeper_oldest(const struct keeper *);
uint64_t keeper_next(const struct keeper *);
int64_t keeper_now_ms(const struct keeper *);	/* the clock its records have */

/* The requester of a record in the queue, as the list has it interned; 0 none. */
uint16_t keeper_info(const struct keeper *, uint64_t seq);

/* "rx-0": reads it anew when the thread lives.  "" when not known; safe text. */
void keeper_thread_name(struct keeper *, unsigned thread, char *out,
    size_t cap);

/*
 * A forked child's stacks are put where its parent's are, for the blocks that
 * it inherits name them by number.  Before its first pass.
 */
void keeper_share_sites(struct keeper *child, const struct keeper *parent);

/* Which of the types are legal, told to the lists again. */
void keeper_types_changed(struct keeper *);
/* Unknown frees are of blocks that came while logging was off, from here on. */
void keeper_expect_unlisted(struct keeper *);

#endif
