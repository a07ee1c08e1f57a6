/*
 * keeper_kept: what of a keeper outlives its process.
 *
 * Queue, list and whatever cannot be found out again lie in one memory file
 * (base/kept.h), the stacks of a family in another one.  Their descriptors and
 * those of the rings are in the store, under names with the stream's number.
 *
 * Vocabulary
 *	commit	the point to which the next process rolls all of it back.  It
 *		is written into the slot that is not valid, and becomes valid
 *		by one store of its number; only then do the rings give room
 *		back, so that what comes after it can be read again.
 *	shown	a page may know of records up to here.  When they are not
 *		committed, their numbers come again with others: the row gets
 *		another epoch, and pages take the list anew.
 *	void	said of memory that another one has taken the place of, and of
 *		whose target has ended.
 *
 * The names are
 *	pagek.t.STREAM		what a target has at first: the ring area, the keeper
 *				area as it was made, and the memory file
 *	pagek.t.STREAM.kept.N	a memory file in place of that; N counts up from 2
 *				when a list begins anew, and there may be two for a
 *				moment.  The first stays, and is empty
 *	pagek.s.ID		the stacks of a family
 *
 * It is for a target of a daemon that somebody keeps descriptors for.  What has
 * ended, the digest of a queue and the literal list for comparison are not kept.
 */
#ifndef NODES_KEEPER_KEPT_MEMORY_H
#define NODES_KEEPER_KEPT_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "../../base/kept.h"
#include "../host/fdstore.h"
#include "../host/proc.h"
#include "dstrm.h"
#include "keeper.h"

/* Another program's memory is not read, though it be of the same name. */
struct kept_build {
	uint64_t dev, ino, size, mtime_ns;
	uint32_t layout[6];		/* sizes of what is read as a whole */
};

/* First piece: written before the first commit but for the last words. */
struct kept_image {
	struct kept_build build;
	uint64_t stream, parent;
	uint64_t arrival;		/* number of its hello: a child's is above its parent's */
	uint64_t start;			/* of the process, ticks since boot */
	uint64_t exe_dev, exe_ino;
	uint64_t sample;
	uint64_t sandbox;		/* at its hello */
	uint32_t sandbox_known;
	uint32_t max;			/* aRecMax */
	int32_t pid, ppid;		/* 0: nobody has been given it yet */
	uint32_t uid;
	uint32_t forked, has_cut;
	char comm[KEEPER_TEXT];
	char exe[PROC_PATH], cwd[PROC_PATH];	/* "" not known */
	uint32_t cut[REC_SHARDS];	/* of its tickets, at the fork */
	_Atomic uint32_t is_void;
	_Atomic uint64_t committed;	/* number of the last commit; 0 none */
	_Atomic uint64_t shown;		/* the next record of whoever has seen most */
	_Atomic uint64_t looks;		/* see sandbox.h */
	_Atomic uint32_t locked;
};

struct kept_slot {
	uint64_t next, first;		/* of the queue */
	uint64_t sites;			/* ID of its stacks; 0: not kept */
	uint32_t index;			/* in DSTRM */
	uint8_t epoch[WIRE_EPOCH];
	char name[DSTRM_NAME];		/* "": welcomed, and it has no row yet */
	uint32_t state;			/* enum wire_state */
	char reason[sizeof ((struct keeper_image *)0)->reason];
	bool unsure, since_click, has_tags;
	bool has_types, has_known;	/* not as they are at first */
	bool asleep, wished, held;	/* of its arming */
	int64_t armed_wall_ms;
	uint64_t lost[STREAM_CAUSES];
	uint64_t bad, mismatches;
	uint64_t sites_full_then, walks_then, pairs_then;
	uint64_t marks;
	struct peak peak;
	uint32_t threads;
	struct stream_types types;
	struct region_set known;
};

struct keeper_kept {
	struct kept *memory;
	struct kept_image *image;
	struct kept_slot *slot;		/* two, and so are the next */
	char *state[2];			/* of the feed */
	struct keeper_thread *thread[2];
	struct keeper_tag *tag;
	unsigned generation;
	bool stored;
	bool fresh;			/* no commit of this process so far */
	unsigned from[2], to[2];	/* threads that changed since the slot was written */
	bool types_changed[2], known_changed[2];
	uint64_t seen;			/* by the feed, at the last commit */
};

/* The stacks of a family, as long as one of it needs them. */
struct kept_sites {
	struct node *node;
	struct kept *memory;
	uint64_t id;			/* 0: not stored */
	unsigned refs;
};

/* Is there anybody to keep a target of this node? */
bool keeper_kept_wanted(const struct node *);

/*
 * Memory for a list that is to begin; queue and list take their pieces next.
 * When they have, the node is told how much it came to, for the next one; types
 * and regions are as at first then, and are not written until they change.
 */
int keeper_kept_new(struct keeper_kept **, struct node *, unsigned generation);
void keeper_kept_made(struct keeper_kept *, struct node *);
/* Opens the memory of a process that has died; owns fd.  -EINVAL: it is none. */
int keeper_kept_open(struct keeper_kept **, int fd, unsigned generation);
/* When queue and list are gone. */
void keeper_kept_free(struct keeper_kept *);

int kept_sites_new(struct kept_sites **, struct node *,
    struct stream_sites **);
/* fd: its own from now on. */
int kept_sites_open(struct kept_sites **, struct node *, uint64_t id, int fd,
    struct stream_sites **);
void kept_sites_ref(struct kept_sites *);
/* With the last one they leave the store. */
void kept_sites_unref(struct kept_sites *);

/*
 * Names in the store; and the stream in one that a target's memory may have, or
 * false: of the first generation its areas have it, too.
 */
void keeper_store_name(char name[FDSTORE_NAME], uint64_t stream);
void keeper_store_memory(char name[FDSTORE_NAME], uint64_t stream,
    unsigned generation);
void keeper_store_sites(char name[FDSTORE_NAME], uint64_t id);
bool keeper_store_parse(const char *name, uint64_t *stream,
    unsigned *generation);
/* Is it a name of that target, by any build? */
bool keeper_store_is_of(const char *name, const char *target);
/* Takes a memory file out; the first goes with its target. */
void keeper_store_drop_memory(struct node *, uint64_t stream,
    unsigned generation);

/*
 * Into the store, with the first commit, as nobody's so far: fds are those of
 * stream_feed_new_kept().  When that fails it is as without memory of its own.
 */
int keeper_kept_store(struct keeper *, const int fds[3]);
/*
 * It is somebody's, by what the keeper says now.  Before the target gets its
 * areas, for it may write from then on; it makes no system call.
 */
void keeper_kept_assign(struct keeper *);
/* Its names are taken out of the store: nobody is to take it over. */
void keeper_kept_forget(struct keeper *);

/*
 * In place of its memory this one, which holds a new queue and a new list
 * already; that one is void.
 */
void keeper_kept_replace(struct keeper *, struct keeper_kept *);

/*
 * To be called after a pass.  Nothing happens where a feed cannot be saved, or,
 * unless it must be, when nothing was seen since the last time.
 */
void keeper_kept_commit(struct keeper *, bool must);

/*
 * Within a pass: commits when so many records were taken since the last commit
 * that the target may soon want for their room.
 */
#define KEPT_ROOM 16384		/* an eighth of the largest ring */
void keeper_kept_room(struct keeper *);

/* A page is about to be told of what is there. */
void keeper_kept_show(struct keeper *);

/* Writes what is known of its sandbox; needs no commit. */
void keeper_kept_sandbox(struct keeper *);

/* The next commit writes these again. */
void keeper_kept_thread(struct keeper *, unsigned index);
void keeper_kept_types(struct keeper *);
void keeper_kept_known(struct keeper *);

/*
 * A keeper as it was at the last commit; kept is its own from now on, also on
 * failure.  fds, the two areas, stay the caller's.  sites: those of slot->sites,
 * whose references become its own on success.
 */
int keeper_resume(struct keeper **, struct node *, struct keeper_kept *,
    const int fds[2], struct kept_sites *, struct stream_sites *);
/* The valid slot; NULL: there is none. */
const struct kept_slot *keeper_kept_slot(const struct keeper_kept *);

#endif
