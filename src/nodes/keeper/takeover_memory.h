/*
 * takeover memory: the state of a keeper, and of the node itself, that the next
 * process of the node takes over.
 *
 * The queue, the list and all state that cannot be read again lie in one memory
 * file (base/pmem.h), the stacks of a family in a second, the node's own state in
 * a third.  Their descriptors and those of rings and sockets are in the store
 * of the supervisor or of systemd (host/fdstore.h), under names with the
 * stream's number.  For its pages, the next process is the same node: it has
 * the same id, boot, streams, epochs and sequence numbers.
 *
 * Vocabulary
 *	slot	one of two places that commits are written to in turn.
 *	commit	the point to which the next process rolls the state back.  It
 *		is written into the slot that is not valid, and becomes valid
 *		by one store of its number.  The rings free space only after
 *		that, so that later records can be read again.
 *	shown	the number of the last record that a page may know.  If it was
 *		not committed, other records get these numbers: the row then
 *		gets another epoch, and pages read the list again.
 *	void	said of memory that was replaced, or whose target has ended.
 *
 * The names in the store are
 *	pagek.node		the node's own words
 *	pagek.pages, .targets	the listening sockets
 *	pagek.t.STREAM		the ring area, the keeper area and the memory file of
 *				a target.  STREAM is that of the first target that
 *				had them
 *	pagek.t.STREAM.kept.N	a memory file that replaces the first one, which stays
 *				and is empty.  N counts up from 2 each time that the
 *				list starts again; for a moment there may be two
 *	pagek.s.ID		the stacks of a family
 *
 * Only a target of a node whose descriptors are stored has such memory.  Lists
 * of ended targets, the digest and the oracle are not taken over.
 *
 * Most targets end soon, and the node needs more time to make and to store all this
 * than to follow the target.  So the areas and the memory of a short target stay in
 * the store, under the stream that they were made for.  When the target's list is
 * dropped, they are zeroed and are ready for the next target.
 *
 *	takeover_memory.c	memory files and commits
 *	takeover_idle.c		memory without a target, for reuse
 *	takeover_store.c	names in the store, stacks of a family
 *	takeover_node.c		the node itself
 *	resume.c		a keeper made from a commit
 */
#ifndef NODES_KEEPER_TAKEOVER_MEMORY_H
#define NODES_KEEPER_TAKEOVER_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/pmem.h"
#include "../host/fdstore.h"
#include "../host/proc.h"
#include "dstrm.h"
#include "keeper.h"

#define STORED_PAGES FDSTORE_OURS "pages"
#define STORED_TARGETS FDSTORE_OURS "targets"

/* So many records after a commit, the target may soon need their room. */
#define TAKEOVER_RECORDS 16384		/* an eighth of the largest ring */

struct socket_file;

/* The program that wrote the memory; no other one reads it. */
struct takeover_build {
	uint64_t dev, ino, size, mtime_ns;
	uint32_t layout[6];		/* sizes of what is read as a whole */
};

/* First piece.  All but the last words are written before the first commit. */
struct takeover_image {
	struct takeover_build build;
	uint64_t stream;
	uint64_t place;			/* STREAM of its name */
	struct keeper_image image;	/* pid 0: no target has it now */
	uint64_t sample;
	uint64_t sandbox;		/* at its hello */
	bool sandbox_known, has_cut;
	uint32_t max;			/* aRecMax */
	char exe[PROC_PATH], cwd[PROC_PATH];	/* "" not known */
	uint32_t cut[REC_SHARDS];	/* of its tickets, at the fork */
	_Atomic uint32_t is_void;
	_Atomic uint64_t committed;	/* number of the last commit; 0 none */
	_Atomic uint64_t shown;		/* sequence number after the last one shown */
	_Atomic uint64_t looks;		/* see struct sandbox */
	_Atomic uint32_t locked;
	_Atomic int64_t counted_ms;	/* see struct keeper_takeover */
};

struct takeover_slot {
	uint64_t next, first;		/* of the queue */
	uint64_t sites;			/* ID of its stacks; 0: not stored */
	uint32_t index;			/* in DSTRM */
	uint8_t epoch[WIRE_EPOCH];
	char name[DSTRM_NAME];		/* "": welcomed, and it has no row yet */
	struct keeper_life life;
	struct keeper_trust trust;
	/* false: not as written here, but empty */
	bool has_tags, has_types, has_regions, has_marks;
	enum arming_mode arming;
	int64_t armed_wall_ms;
	struct keeper_numbers numbers;
	struct peak peak;
	uint32_t threads, inherited;	/* how many of each */
	struct stream_types types;
	struct region_set regions;
	struct mark_set marks;
};

struct takeover_memory {
	struct node *node;
	uint64_t place;			/* STREAM of its name; 0: none yet */
	struct stream_areas areas;	/* while there is no feed: those of the ended target */
	struct pmem *pmem;
	struct takeover_image *image;
	struct takeover_slot *slot;	/* two, and so are the next */
	char *state[2];			/* of the feed */
	struct keeper_thread *thread[2];	/* by index, inherited ones too */
	struct keeper_tag *tag;
	unsigned generation;
	bool stored;
	bool again;			/* its areas had another target before */
	bool left;			/* its target has ended; another one may get it */
	bool fresh;			/* no commit of this process so far */
	unsigned from[2], to[2];	/* threads that changed since the slot was written */
	unsigned inherited[2];		/* written */
	bool types_changed[2], regions_changed[2], marks_changed[2];
	uint64_t seen;			/* by the feed, at the last commit */
};

/* Memory of a family's stacks.  Freed with its last reference. */
struct takeover_sites {
	struct node *node;
	struct pmem *pmem;
	uint64_t id;			/* 0: not stored */
	unsigned refs;
};

#define TAKEOVER_IDLE 8

struct node_store {
	struct fdstore fds;
	/* Arrays of struct takeover_memory and struct takeover_sites; see takeover_idle.c. */
	void *idle[TAKEOVER_IDLE], *idle_sites[TAKEOVER_IDLE];
	unsigned nidle, nidle_sites;
	_Atomic size_t target_bytes;	/* size of the last target's memory; 0 unknown ... */
	_Atomic size_t sites_bytes;	/* ... and of the last stacks' */
	struct pmem *pmem;		/* memory of the next; NULL none */
	struct takeover_node *words;	/* NULL: nothing is stored */
};

/* Does anybody store descriptors for this node? */
bool takeover_is_wanted(const struct node *);

/* Memory for a new list; queue and list take their pieces next. */
int takeover_memory_new(struct takeover_memory **, struct node *,
    unsigned generation);
/*
 * All pieces are taken, types, regions and marks are empty and need not be written.
 * The node learns how large memory for the next one has to be.
 */
void takeover_memory_complete(struct takeover_memory *, struct node *);
/*
 * Opens the memory of a process that has died; owns fd.  -EINVAL: it is none.
 * -ENODATA: no target had it.
 */
int takeover_memory_open(struct takeover_memory **, int fd,
    unsigned generation);
/* Queue and list must be gone.  If its target has left it, it becomes idle. */
void takeover_memory_free(struct takeover_memory *);

/*
 * Takes idle memory, which has areas and is stored, instead of takeover_memory_new().
 * -ENOENT: there is none.  Any thread.
 */
int takeover_memory_again(struct takeover_memory **, struct node *);
bool takeover_has_idle(struct node *);
/* Takes idle memory for stacks, which keeps its id. */
int takeover_sites_again(struct takeover_sites **, struct node *);
/* Makes the memory idle.  False: it cannot be reused; the caller frees it. */
bool takeover_memory_put(struct takeover_memory *);
bool takeover_sites_put(struct takeover_sites *);
/* Frees all idle memory. */
void takeover_idle_fini(struct node *);

/* Takes the pieces of an empty memory file. */
int takeover_memory_begin(struct takeover_memory *);

/*
 * Moves the descriptors of the target's areas from fds, those of keeper_new(), into its
 * memory and sets them to -1, if the areas may be reused.
 */
void takeover_give_areas(struct keeper *, int fds[3]);
/* True if the target's memory has these descriptors. */
bool takeover_may_leave(const struct keeper *);
/* True if the keeper's areas had another target before. */
bool takeover_is_again(const struct keeper *);
/*
 * Frees the feed of a target that has ended.  Its areas and memory become idle later,
 * or they are forgotten now.
 */
void takeover_leave(struct keeper *);

/* NULL: there is none. */
const struct takeover_slot *takeover_valid_slot(const struct takeover_memory *);

/*
 * After a pass.  Does nothing if the feed cannot be saved or, unless `must`, if
 * nothing was seen since the last commit.
 */
void takeover_commit(struct keeper *, bool must);

/* Within a pass: commits if TAKEOVER_RECORDS have come since the last commit. */
void takeover_commit_early(struct keeper *);

/* A page is about to be told of what is there. */
void takeover_note_shown(struct keeper *);

/* The next commit writes these again. */
void takeover_thread_changed(struct keeper *, unsigned index);
void takeover_types_changed(struct keeper *);
void takeover_regions_changed(struct keeper *);
void takeover_marks_changed(struct keeper *);

void takeover_name_target(char name[FDSTORE_NAME], uint64_t stream);
void takeover_name_memory(char name[FDSTORE_NAME], uint64_t stream,
    unsigned generation);
void takeover_name_sites(char name[FDSTORE_NAME], uint64_t id);
/*
 * Stream and generation of a name that a target's memory may have, else false.
 * The areas have the name of the first generation, too.
 */
bool takeover_name_parse(const char *name, uint64_t *stream,
    unsigned *generation);
/* Is it a name of that target, by any build? */
bool takeover_name_is_of(const char *name, const char *target);

/*
 * Stores memory and descriptors, with a first commit, as nobody's so far.  fds
 * are those of stream_feed_new_persistent().  On failure the target is watched, and
 * not taken over.
 */
int takeover_store(struct keeper *, const int fds[3]);
/*
 * It is its target's from now on, as the keeper says.  To be called before the
 * target gets its areas; makes no system call.
 */
void takeover_assign(struct keeper *);
/* Writes what is known of its sandbox; needs no commit. */
void takeover_write_sandbox(struct keeper *);
/* Sets who started it, there too; needs no commit. */
void takeover_write_starter(struct keeper *, pid_t);
/* Writes until when its pages were counted; needs no commit. */
void takeover_write_counted(struct keeper *);
/* Removes its names from the store and makes its memory void, unless it is `left`. */
void takeover_forget(struct keeper *);
/* Removes the name of the first generation from the store. */
int takeover_remove_name(struct node *, uint64_t place);
/* Removes one memory file from the store, except generation 1, which its target keeps. */
void takeover_drop_memory(struct node *, uint64_t place,
    unsigned generation);
/* This memory, which holds a new queue and list, replaces the keeper's. */
void takeover_replace(struct keeper *, struct takeover_memory *);

int takeover_sites_new(struct takeover_sites **, struct node *,
    struct stream_sites **);
/* Owns fd. */
int takeover_sites_open(struct takeover_sites **, struct node *, uint64_t id,
    int fd, struct stream_sites **);
void takeover_sites_ref(struct takeover_sites *);
void takeover_sites_unref(struct takeover_sites *);
/* Frees stacks without references and removes them from the store. */
void takeover_sites_free(struct takeover_sites *);

/*
 * A keeper as it was at the last commit.  Owns the memory, also on failure.
 * fds, the two areas, stay the caller's.  References to the stacks of
 * slot->sites become its own on success.
 */
int keeper_resume(struct keeper **, struct node *, struct takeover_memory *,
    const int fds[2], struct takeover_sites *, struct stream_sites *);

/*
 * Takes over id, boot and last stream number, or stores them for the first
 * time.  Returns how many images ended in the processes before this one.
 */
uint64_t takeover_node_begin(struct node *);
void takeover_node_fini(struct node *);

/* The file of the socket stored under that name; NULL: nothing is stored. */
struct socket_file *takeover_node_socket(struct node *, const char *name);

/* A stream's number is never given twice.  Any thread. */
void takeover_node_number(struct node *, uint64_t last_stream);

void takeover_node_ended(struct node *);

#endif
