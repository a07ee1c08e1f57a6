/*
 * refcnt: counts references to pages of targets (refcnt/refcnt.h) in ranges that
 * somebody has asked for.
 *
 *	refcnt.c	the counted targets: ranges on and off, their end
 *	worker.h	a thread for each of them: periods, mapped files
 *	placement.c	the places of pages, and moves
 *	page_frames.c	the machine's files: frames of all targets, if their
 *			addresses are known
 *
 * Vocabulary
 *	touch		a reference to a page, as its source notices it.
 *	frame		a page of physical memory.
 *	counted		a target with a range, or which has ended and had one.
 *	period		the time between two readings of its worker, for all its ranges.
 *
 * Until somebody asks there is no thread and nothing is counted.  A target's counts
 * go with its process image: at its end they stay to be read, as long as its list
 * does.  The loop's thread calls all functions of this header.
 *
 * Counting ends with the process of the node: the next one says so, and until when.  It
 * has this from the one before if it takes its memory over, else from the mapped files.
 * Cuts of a target's mappings outlive a node that is killed: the target undoes them
 * when its next keeper has come, or when the process that takes it over asks for it
 * (../../alloclog/produce/cuts.c).
 *
 * Example
 *	r = node_refcnt_enable(k, &(struct node_refcnt_ask){ .vaddr = addr, .len = 4096,
 *	    .source = REFCNT_REFS }, why);
 *	node_refcnt_look(k, &look);
 *	n = refcnt_read(look.counts, 0, UINT64_MAX, REFCNT_WIDE, page, 64);
 */
#ifndef NODES_REFCNT_H
#define NODES_REFCNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <sys/queue.h>
#include <sys/types.h>

#include "../../refcnt/refcnt.h"
#include "../../stream/record.h"

#define NODE_REFCNT_PAGES (1u << 18)	/* counted by a node, of all its targets */
#define NODE_REFCNT_TARGETS 64
#define NODE_REFCNT_RANGES 4096	/* of a target */
/* At the system's node, unless root asks, the targets of one user have: */
#define NODE_REFCNT_USER_PAGES (NODE_REFCNT_PAGES / 4)
#define NODE_REFCNT_USER_TARGETS (NODE_REFCNT_TARGETS / 4)
#define NODE_REFCNT_PERIOD_MS 1000
#define NODE_REFCNT_PERIOD_LEAST 50
#define NODE_REFCNT_WHY 200

struct keeper;
struct node;
struct counted_target;

struct frames;

struct node_refcnt {
	pthread_mutex_t lock;		/* for changes of the list, and node_refcnt_take() */
	TAILQ_HEAD(, counted_target) all;
	unsigned n;
	/* From the first range on, until nothing is counted: */
	struct refcnt_topology *topology;
	struct frames *frames;		/* by physical address; NULL: not made */
	/* Targets that a node which was killed has counted, until they come here. */
	struct refcnt_dead dead[NODE_REFCNT_TARGETS];
	unsigned ndead;
};

struct node_refcnt_ask {
	uint64_t vaddr, len;
	unsigned source;		/* enum refcnt_source, outside data */
	uint32_t period_ms;		/* 0: as it is */
	const char *nodes;		/* groups of refcnt_topology_read(); NULL: as they are */
	uid_t uid;			/* who asks */
};

void node_refcnt_init(struct node *);
/* Removes mapped files of nodes that were killed, and keeps whose they were. */
void node_refcnt_remove_dead(struct node_refcnt *);
/* Frees what belongs to targets that have ended; once a second. */
void node_refcnt_second(struct node *);
/* Ends all counting. */
void node_refcnt_close(struct node *);

/*
 * Groups of processors may take the place of the machine's nodes, for all ranges of the
 * target; its counts are not in the machine's files then.
 *
 * -EINVAL: zero, wraps or cannot be mapped, or bad groups; -ESRCH: no live process; -EPERM: the node itself;
 * -ENOTSUP: no such source here, or not on this kernel; -EBUSY: another source
 * counts some of the pages, or the target is counted by other groups; -EDQUOT: too many pages or targets, also of one user;
 * -ENOMEM.  why: a
 * sentence, also with 0; or "".
 */
int node_refcnt_enable(struct keeper *, const struct node_refcnt_ask *,
    char why[NODE_REFCNT_WHY]);
int node_refcnt_disable(struct keeper *, const struct node_refcnt_ask *,
    char why[NODE_REFCNT_WHY]);

struct node_refcnt_look {
	const struct refcnt *counts;	/* NULL: nothing of it is counted */
	int64_t since_ms;
	uint32_t period_ms;
	uint64_t periods;		/* that have ended, and the next one has begun */
	const char *nodes;		/* groups of processors; NULL: the machine's nodes */
	char why[NODE_REFCNT_WHY];		/* why counts are missing; "" they are not */
};
void node_refcnt_look(struct keeper *, struct node_refcnt_look *);

/* A control record of the target, which is outside data: a bad one does nothing. */
void node_refcnt_by_target(struct keeper *, const struct rec *);

/* Descriptors of a target to count with. */
enum node_refcnt_given {
	NODE_REFCNT_WRITES,		/* a userfaultfd(2) */
	NODE_REFCNT_GUARD,		/* the memory of a guard */
	NODE_REFCNT_GIVEN,
};

/*
 * Any thread: a descriptor of a target, which is owned from now on; or fd -1 and why
 * there is none.  All of it is outside data.
 */
void node_refcnt_take(struct node *, pid_t, uint64_t stream,
    enum node_refcnt_given, int fd, uint32_t error);

/* The target's feed is to be freed. */
void node_refcnt_feed_ends(struct keeper *);

/* --- placement.c --------------------------------------------------------------- */

/* The end of the addresses that a program of this machine can map; 0: not known. */
uint64_t node_refcnt_address_end(void);

struct node_refcnt_moved {
	uint64_t moved, left;
	int error;			/* of the first page that is left; 0 */
};

/*
 * Moves the pages of a range to a node of the machine: move_pages(2).  It may take
 * long.  -E2BIG: more than NODE_REFCNT_PAGES; or another error of the call.
 */
int node_refcnt_move(int pid, uint64_t vaddr, uint64_t len, unsigned node,
    struct node_refcnt_moved *);

#endif
