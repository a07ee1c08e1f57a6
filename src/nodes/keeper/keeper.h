/*
 * keeper: a node's data of one target: its queue, its block list since the start, and
 * its properties.  (The 2004 note calls it MEMB.)
 *
 * Vocabulary
 *	feed	the rings of a live process.
 *	source	a generator or a foreign classic stream, in place of a feed.
 *	row	the keeper's place in DSTRM, the node's table of streams.
 *	image	a process from its exec or fork to its next exec or its end.
 *	commit	the state from which the node's next process goes on; later changes
 *		are undone.
 *
 * Records of feeds and sources go the same way: into the retained queue, which
 * gives them their sequence numbers, and into the list, in one step.  So list and
 * queue agree between any two callbacks of the loop, and a part of a snapshot is
 * exact as of the queue's last number.
 *
 *	keeper.c	a keeper's start and end, and the passes between
 *	records.c	records into queue and list, losses, the peak
 *	control_records.c	names and requesters of threads, types, regions
 *	regions.c	the set of declared regions
 *	marks.c		named marks of the stream, kept for all pages
 *	sandbox.c	targets that have locked themselves in
 *	modules.c	files that a target has loaded
 *	counting.h	counts by caller, type and size, while a page asks
 *	arming.h	which targets log
 *	visits.h		when each target is visited, and who wakes the loop
 *	dstrm.h		the node's table of streams
 *	takeover_*.c	memory that the next process of the node takes over
 *	resume.c	goes on from that memory
 *	node.h		what the rooms of a node share
 *
 * A keeper belongs to the loop's thread, except until arrivals/hello.c has handed
 * it over, and while the bell's thread (visits.c) sleeps in its feed.  References are
 * counted: its row, its handles and the work on its symbols each hold one.
 *
 * Example: a generator
 *	keeper_new(&k, node, &(struct keeper_opts){ .max = 4096 }, NULL);
 *	k->source.make = make_records;
 *	images_join(k, "ALLOCLOG");	images/images.h: it is visited from now on
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
#include "../../stream/feed/feed.h"
#include "../../stream/wire/wire.h"
#include "../../symbol/symbol.h"
#include "arming.h"

#define KEEPER_TEXT 64			/* a comm of 15 bytes as safe text */
#define KEEPER_BATCH 4096		/* records of one blklist_apply() */
#define KEEPER_THREADS_MAX 65535
#define KEEPER_INHERITED_MAX 1024	/* threads of processes it was forked from */
/* Blocks that a fork may have to restore, or the next process of the node. */
#define KEEPER_REMEMBERED STREAM_QUEUE_RECORDS
#define KEEPER_PASS_US 1000		/* pages and timers are served between passes */
#define KEEPER_NO_ROW UINT32_MAX
#define SANDBOX_THREADS 16
#define PEAK_LOOKS 3
/* More than a target has at once: their ends may be on their way. */
#define REGION_SET_MAX (2 * WIRE_REGIONS_MAX)

struct node;
struct bell;
struct takeover_memory;
struct takeover_sites;
struct keeper_tap;
struct counting;

enum image_origin {
	IMAGE_EXECUTED,
	IMAGE_FORKED,
	IMAGE_UNMAPPED,			/* why the image with stream `parent` has no rings */
	/* It has said hello again, for its earlier keeper is gone; there it was */
	IMAGE_REJOINED_DORMANT,		/* dormant, or that is not known */
	IMAGE_REJOINED_ARMED,		/* logging */
};

/*
 * The process image, as its hello found it.  It does not change afterwards, but
 * for the starter, which is known when it is adopted.
 */
struct keeper_image {
	pid_t pid, ppid;		/* pid 0: no process */
	pid_t starter;			/* who started it; 0: ppid, or not known */
	uid_t uid;			/* whose process it is, else the node's */
	enum image_origin origin;
	uint64_t start;			/* of the process, in clock ticks since boot */
	uint64_t exe_dev, exe_ino;	/* of /proc/PID/exe */
	uint64_t parent;		/* stream of its parent, when forked; of itself, when unmapped */
	uint64_t arrival;		/* number of its hello's connection; 0: it said none */
	char comm[KEEPER_TEXT];		/* safe text */
};

/* Handles on the process, and its texts. */
struct keeper_process {
	int pidfd;			/* -1 none */
	uv_poll_t *death;		/* on pidfd; NULL none */
	char *exe, *cwd;		/* program and folder at its hello; NULL unknown */
	uint32_t *cut;			/* tickets at the fork, until inherited */
};

struct keeper_life {
	enum wire_state state;
	int32_t status;			/* wait status; -1 unknown */
	int64_t ended_ms;		/* wall clock; 0 while it lives */
	bool seen_before_hello;		/* its end was: it has a row already */
	char reason[128];
};

struct keeper_format {
	bool classic;
	bool levels;
	uint64_t sample;		/* mean bytes between samples; 0: every event is logged */
};

/* Why its list may be wrong. */
struct keeper_trust {
	enum stream_doubt doubt;	/* the first reason; see keeper_doubt() */
	bool since_click;		/* unknown frees may be of blocks never logged */
	/* Calls of the allocator whose end is not known: of other threads at its
	 * fork, or left by a jump out of a handler or at the end. */
	uint64_t unfinished;
	uint32_t feed_unfinished;	/* as the feed had it when last counted */
};

/*
 * Has the target locked itself in since its hello?  See "locked" in
 * stream/ring.h.
 */
struct sandbox {
	bool known;
	uint64_t at_hello;		/* proc_seccomp() of its first thread; 0: free */
	size_t next;			/* place of the thread to look at next */
	bool blind;			/* not all could be read since the first one was */
	bool locked;			/* for good: nobody gets out of a filter */
	uint64_t looks;			/* complete looks at all threads, as the target is told */
};

/* The most that the target may have held at once; see records.c.  Zeros at first. */
struct peak {
	uint64_t base[PEAK_LOOKS];	/* live bytes when a look began, the newest first */
	uint64_t rise[PEAK_LOOKS];	/* of the newest, what an earlier keeper has seen */
	uint64_t most;			/* so far, with more than one thread */
	bool begun;
	bool several;
};

/* A generator or a foreign stream, in place of a feed. */
struct keeper_source {
	void (*make)(struct keeper *, int64_t mono_ms);	/* called at 15 Hz; NULL: none */
	/* Words for its frames, static texts; NULL: as for a process. */
	void (*words)(uint64_t frame, struct wire_words *);
	/* A page has read it; caught_up: up to the last record.  May be NULL. */
	void (*on_read)(struct keeper *, bool caught_up);
	void *arg;			/* heap; freed with the keeper */
	int64_t now_ms;			/* its own clock */
};

/* The retained records.  They come and go with the list. */
struct keeper_queue {
	struct stream_queue *records;	/* NULL: given up */
	struct stream_digest *digest;	/* NULL: classic, or given up */
	uint64_t first;			/* sequence number that the queue began with */
	bool whole;			/* true: READ leaves nothing out, because not all replacements have a tag */
	SLIST_HEAD(, keeper_tap) taps;	/* who gets the records as well, while it lives */
	struct counting *counting;	/* counts that follow the list; NULL: none are made */
};

struct region_set_region {
	uint32_t no;
	struct wire_region region;
};

/* Regions whose beginnings and ends a target has declared.  Zeros: none. */
struct region_set {
	uint32_t change;		/* counts up */
	uint16_t n, nended;
	bool overrun;
	struct region_set_region at[REGION_SET_MAX];
	uint32_t ended[REGION_SET_MAX];	/* numbers of ends whose beginning has not come */
};

/* Moments of the stream with a name, the oldest first.  Zeros: none. */
struct mark_set {
	uint32_t n;
	struct wire_named_mark at[WIRE_MARKS_MAX];
};

/* Declared by the program with alloclog.h. */
struct keeper_declared {
	struct stream_types *types;	/* comes and goes with the list */
	struct region_set regions;
};

/* Numbers that stay when list and queue are given up. */
struct keeper_last {
	struct blklist_counts counts;
	uint64_t next;			/* sequence number after the last record */
	uint32_t *due;			/* of the feed at its end, while the list is kept */
	int64_t dropped_ms;		/* wall clock, of list and queue; 0: not known */
	const char *dropped;		/* the limit that it was for; NULL: not known */
};

/* Memory that the next process of the node takes over; see takeover_memory.h. */
struct keeper_takeover {
	struct takeover_memory *memory;	/* NULL: nothing is taken over */
	struct takeover_sites *sites;	/* memory of `sites`, a reference; NULL: in this process */
	struct takeover_sites *old_sites;	/* at the last commit, if those were others */
	/* Wall clock; 0: no references to its pages were counted, */
	int64_t counted_ms;		/* ... by this process, until then at least, */
	int64_t counts_lost_ms;		/* ... nor by the one before, which ended then */
	bool cut;			/* it has cuts that the process before wished for */
};

struct keeper_modules {
	unsigned named;			/* of those in sites, up to this number */
	struct symbol_modules *table;	/* NULL: none known */
	pthread_mutex_t lock;		/* loop and worker threads share the table */
};

struct keeper_thread {
	uint32_t tid;			/* 0: no record named this index; inherited: its index in the parent */
	bool has_requester;
	struct blklist_info requester;
	char name[16];			/* as last read, raw bytes */
};

/* A record's requester, and whether it replaced a block; see keeper_tag(). */
struct keeper_tag {
	uint32_t seq;			/* its low bits */
	uint16_t info;
	bool replaced;			/* its block replaced a listed one */
};

/* Its threads, by index, and the requesters of their blocks. */
struct keeper_threads {
	struct keeper_thread *at;
	size_t n, cap;			/* indexes below n may be known */
	/*
	 * With the indexes from KEEPER_THREADS_MAX downwards; room for
	 * KEEPER_INHERITED_MAX, or NULL.
	 */
	struct keeper_thread *inherited;
	unsigned ninherited;
	unsigned requesters;		/* threads that have one now */
	struct keeper_tag *tag;		/* by seq modulo the queue's size; NULL: none yet */
	struct blklist_batch_info *batch_info;	/* KEEPER_BATCH of them, with tag */
	unsigned name_reads;		/* thread names read since the last pass */
};

struct keeper_numbers {
	uint64_t lost[STREAM_CAUSES];
	uint64_t bad;
	uint64_t skipped;		/* bytes of a source that are in no record */
	uint64_t mismatches;		/* of list and oracle */
	uint32_t cycle_us;		/* of the last pass */
	uint64_t sites_full, walks, pairs;	/* of the feed since this list began */
	uint64_t sites_full_then, walks_then, pairs_then;	/* of the feed before that */
	uint64_t controls;		/* control records */
	uint64_t marks, marks_untold;	/* of the whole image, armed or dormant */
};

/* The times of its visits (visits.c), in ms of the monotonic clock. */
struct keeper_visits {
	int64_t due_ms;
	int interval_ms;
	unsigned turn;			/* turn of the loop that visited it last */
	int64_t joined_ms;
	int64_t silent_since_ms;	/* last pass that found something */
	int64_t looked_ms;		/* last look whether the image is still there */
	int64_t modules_ms;		/* last reading of its modules */
	int64_t read_ms;		/* last time a page read it */
	int64_t beat_ms;		/* the newest millisecond that the target may have copied */
	bool held;			/* the last visit left the records to the target's rings */
	struct bell *bell;		/* NULL: not needed so far */
};

/*
 * Gets what a keeper gets, on the loop's thread; a recording has one for each
 * of its images (recorder/).  None of these calls may change the keeper, but
 * restarted and ended may take the tap from it.
 */
struct keeper_tap {
	SLIST_ENTRY(keeper_tap) link;
	const struct keeper_tap_ops *ops;
};

struct keeper_tap_ops {
	/* True: a visit leaves the records in their rings, for there is little room. */
	bool (*holds)(struct keeper_tap *, struct keeper *);
	/* Before the list has them. */
	void (*records)(struct keeper_tap *, struct keeper *,
	    const struct blklist_batch *);
	/* After its effect. */
	void (*control)(struct keeper_tap *, struct keeper *,
	    const struct rec *);
	/* The numbers from seq on. */
	void (*lost)(struct keeper_tap *, struct keeper *, uint64_t seq,
	    unsigned cause, uint64_t count);
	void (*mark)(struct keeper_tap *, struct keeper *,
	    const struct wire_named_mark *);
	/* The list is a new one, and so are sequence numbers. */
	void (*restarted)(struct keeper_tap *, struct keeper *);
	/* Nothing more comes. */
	void (*ended)(struct keeper_tap *, struct keeper *);
};

struct keeper {
	struct node *node;
	TAILQ_ENTRY(keeper) link;	/* in node->live or images->ended */
	TAILQ_ENTRY(keeper) shelf;	/* in images->shelved */
	unsigned refs;
	uint64_t stream;		/* id, as the target was told; never used again */
	uint32_t index;			/* of its row in DSTRM, or KEEPER_NO_ROW */

	struct keeper_image image;
	struct keeper_process process;
	struct keeper_life life;
	bool counted;			/* as a live target of its user; see quota_count() */
	bool missed;			/* said hello and has no stream: the reason says why */
	struct keeper_format format;
	struct keeper_trust trust;
	struct arming arming;
	struct sandbox sandbox;
	struct peak peak;

	struct stream_feed *feed;	/* NULL: has none, or no more */
	struct keeper_source source;	/* instead of a feed */
	struct keeper_queue queue;
	struct blklist *list;		/* NULL: given up */
	struct blklist *oracle;		/* literal list for comparison; NULL unless asked for */
	struct keeper_declared declared;
	struct mark_set *marks;		/* come and go with the list; NULL: none */
	struct stream_sites *sites;	/* a reference, shared by a family; NULL: classic */
	struct keeper_last last;

	struct keeper_takeover takeover;
	struct keeper_modules modules;
	struct keeper_threads threads;
	struct keeper_numbers numbers;
	struct keeper_visits visits;
};

TAILQ_HEAD(keepers, keeper);

/* --- keeper.c --------------------------------------------------------------- */

struct keeper_opts {
	bool classic;
	bool no_list;			/* a row only: a process without a stream */
	bool with_feed;			/* feed and its descriptors */
	bool again;			/* it may get the areas of an ended target of the node's owner */
	uint32_t max;			/* aRecMax; 0: the default of its kind */
};

/*
 * Makes one with one reference.  With a feed, fds receives its three
 * descriptors as stream_feed_new_persistent() gives them, or the first two alone when
 * there is no memory to be taken over.  Any thread.
 */
int keeper_new(struct keeper **, struct node *, const struct keeper_opts *,
    int *fds);
/*
 * Keeps a literal list beside the indexed one from now on, compared after each
 * batch.  It takes longer than a target waits for its welcome, so keeper_new()
 * does not do it.
 */
int keeper_check_list(struct keeper *);
/*
 * Queue, digest, list and all counts start again empty; what threads have
 * declared stays.  -ENOMEM: nothing has changed.
 */
int keeper_restart_list(struct keeper *);
/*
 * Lets the target make pairs, or not: they do not tell when a block was freed,
 * which taps and counts need to know.
 */
void keeper_settle_pairs(const struct keeper *);
/*
 * Replaces queue, digest and list by new ones in that memory; the first record
 * gets the number `next`.  On failure there are none.
 */
int keeper_replace_tables(struct keeper *, struct takeover_memory *,
    uint32_t max, uint64_t next);
void keeper_ref(struct keeper *);
void keeper_unref(struct keeper *);

/* LIVE, or detached but its process goes on. */
bool keeper_is_live(const struct keeper *);

/* Publishes the millisecond to the target. */
void keeper_beat(struct keeper *, int64_t mono_ms);

/* One pass of the feed, or one call of the source.  Returns the records that came. */
int keeper_pass(struct keeper *, int64_t mono_ms);
/*
 * A pass that ends with the batch in which it has taken KEEPER_PASS_US; if more
 * is waiting, the keeper is behind.
 */
int keeper_visit(struct keeper *, int64_t mono_ms);
bool keeper_is_behind(const struct keeper *);

/*
 * The image is over: drains what is left and sets its last state.  The list
 * stays until images_drop().
 */
void keeper_end(struct keeper *, enum wire_state, int32_t status,
    const char *reason);
/* Gives back list, queue and whatever is large; the row's numbers stay. */
void keeper_drop(struct keeper *);

const struct blklist_counts *keeper_counts(const struct keeper *);
uint64_t keeper_lost(const struct keeper *);	/* all causes */
/* Keeps the first doubt only. */
void keeper_set_doubt(struct keeper *, enum stream_doubt);
/* Counts calls of the allocator whose end is not known, for that reason. */
void keeper_count_unfinished(struct keeper *, enum stream_doubt, uint64_t calls);
/* Why its list may be wrong although nothing was lost, or STREAM_SURE. */
enum stream_doubt keeper_doubt(const struct keeper *);
/*
 * True if nothing was lost or is in doubt, and the list had room for every
 * block.
 */
bool keeper_complete(const struct keeper *);
/* Why it is not complete: a sentence; "" if it is. */
const char *keeper_lacks(const struct keeper *);
uint64_t keeper_oldest(const struct keeper *);
uint64_t keeper_next(const struct keeper *);
int64_t keeper_now_ms(const struct keeper *);	/* the clock of its records */

/*
 * The child's stacks go where its parent's are, for inherited blocks name them
 * by number.  Before the child's first pass.
 */
void keeper_share_sites(struct keeper *child, const struct keeper *parent);

/* Tells the lists again which types are legal. */
void keeper_types_changed(struct keeper *);
/* Unknown frees from now on are of blocks allocated while logging was off. */
void keeper_expect_unlisted(struct keeper *);
/* The target has told all blocks that it held when the stream began. */
void keeper_is_told(struct keeper *);

/* --- records.c -------------------------------------------------------------- */

/*
 * n records in true order, into queue, digest and list.  ms: their full times;
 * if NULL, near_ms widens theirs.  info: requesters of some of them.
 */
void keeper_take(struct keeper *, const struct rec *, size_t n,
    int64_t near_ms, const int64_t *ms, const struct blklist_batch_info *info,
    size_t ninfo);

/* A record of a foreign classic stream; a bad one is counted. */
void keeper_take_classic(struct keeper *, const uint8_t raw[REC_CLASSIC_SIZE],
    const struct blklist_info *requester);

void keeper_lose(struct keeper *, unsigned cause, uint64_t count);

/* The sink of a keeper's feed; its arg is the keeper. */
extern const struct stream_sink keeper_sink;

/* Requester of a record in the queue, as interned by the list; 0 none. */
uint16_t keeper_info(const struct keeper *, uint64_t seq);
/* The same, and KEEPER_REPLACED if its block replaced a listed one. */
#define KEEPER_REPLACED (UINT32_C(1) << 16)
uint32_t keeper_tag(const struct keeper *, uint64_t seq);

/* Call it when all records that a look at the rings found are applied. */
void peak_end_look(struct keeper *);
/* The peak as the next process of the node needs it. */
struct peak peak_save(const struct keeper *);
/*
 * The target has never held more bytes than this at once, except for what pairs
 * hide (ring.h).  0: its list does not follow rises.
 */
uint64_t peak_most(const struct keeper *);

/* --- control_records.c ------------------------------------------------------ */

/* A control record of one of the target's threads. */
void keeper_control(struct keeper *, const struct rec *);

/*
 * Gives a thread of the parent an index in the child, for inherited blocks; 0
 * if none is left.
 */
uint16_t keeper_inherit_thread(struct keeper *, struct keeper *parent,
    uint16_t thread);
/*
 * Reads the name again if the thread lives.  Safe text; "" unknown.  Names of
 * inherited threads begin with '^'.
 */
void keeper_thread_name(struct keeper *, unsigned thread, char *out,
    size_t cap);

/* --- regions.c -------------------------------------------------------------- */

/* A control record of a region, from a target: outside data. */
void region_set_control(struct region_set *, const struct rec *);

/* In address order, none overlapping, at most WIRE_REGIONS_MAX. */
size_t region_set_get(const struct region_set *, struct wire_region *out);

/* For a set read from memory that was taken over. */
bool region_set_is_valid(const struct region_set *);

/* --- marks.c ---------------------------------------------------------------- */

/* A program makes no more than these: it may name each of its requests. */
#define MARKS_OF_TARGET (WIRE_MARKS_MAX / 2)

/* The effect of a new mark on others. */
struct mark_effect {
	bool moved;			/* there was one of that name */
	char dropped[WIRE_MARK_NAME + 1];	/* the oldest, for want of room; "" none */
};

/*
 * Sets a mark at the last record; one of that name moves.  by_target: it counts
 * among the marks of the program, and only those make room for it.  -EINVAL:
 * the name is empty, longer than 32 characters, or not printable.  -ENODATA:
 * nothing is listed.  -ENOMEM.
 */
int keeper_set_mark(struct keeper *, const char *name, size_t len,
    const char *who, bool by_target, struct mark_effect *);
/* A control record of the target, with up to 8 bytes of text. */
void keeper_mark_by_target(struct keeper *, const struct rec *);
/* The list begins again: record numbers do, too. */
void keeper_forget_marks(struct keeper *);

/* For a set read from memory that was taken over. */
bool mark_set_is_valid(const struct mark_set *);

/* --- sandbox.c -------------------------------------------------------------- */

/*
 * While the target waits for its welcome.  free: it says so itself, which is
 * believed where it could be seen.
 */
void sandbox_begin(struct keeper *, bool free);

/* Looks at some of its threads; about once a second. */
void sandbox_look(struct keeper *);

/* --- modules.c -------------------------------------------------------------- */

/*
 * Finds full paths of the modules that the target's stacks name, as far as they
 * came since the last call.
 */
void modules_find_paths(struct keeper *);

/* Reads the module table of a target anew, in a worker thread. */
void modules_refresh(struct keeper *);

#endif
