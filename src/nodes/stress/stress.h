/*
 * stress: the kernel's counts of heap stress (stress/stress.h), read by the
 * node for all of its viewers.
 *
 *	stress.c	the reader
 *	wait.c		viewers that wait until tasks wait for memory
 *
 * Vocabulary
 *	viewer	a page's connection that has asked, or a recording.
 *	reader	an open source of counts, with totals of its own.
 *
 * One reader serves all viewers, and each viewer computes its own differences; so two
 * viewers of a file that is zeroed by reading lose no counts.  The reader is opened when
 * the first viewer asks and closed NODE_STRESS_KEEP_MS after the last one has left.
 * A file that is zeroed by reading stays open as long as the node lives: its counts
 * can be read only once.  ../serve/stress.c answers pages from here, and
 * ../recorder/recorder.c takes the samples of a recording.
 *
 * Example
 *	node_stress_view(node);
 *	node_stress_sample(node, &k);
 *	...
 *	node_stress_leave(node);
 */
#ifndef NODES_STRESS_H
#define NODES_STRESS_H

#include <sys/queue.h>
#include <uv.h>

#include "../../stress/stress.h"

#define NODE_STRESS_HZ 15		/* samples a second, at most */
#define NODE_STRESS_KEEP_MS 10000
#define NODE_STRESS_BEGIN_MS 50

struct node;
struct node_stress_trigger;

struct node_stress {
	struct stress *stress;		/* NULL: not open */
	uint64_t reader;		/* number of it; never that of another one */
	struct stress_sample last;
	int64_t last_ms;		/* when it was taken; 0: there is none */
	unsigned viewers;
	int64_t left_ms;		/* when the last viewer has left */
	TAILQ_HEAD(, node_stress_wait) waits;
	uv_timer_t timer;		/* the end of the first of them */
	struct node_stress_trigger *trigger;	/* NULL: not open */
	bool no_trigger;		/* the kernel refuses one */
};

/* A viewer that waits.  Zero: it does not. */
struct node_stress_wait {
	TAILQ_ENTRY(node_stress_wait) link;
	void *arg;
	uint32_t id;
	int64_t due_ms;
	bool waits, woken;
	void (*done)(struct node *, struct node_stress_wait *);
};

struct node_stress_sample {
	struct stress_sample sample;
	const char *release;		/* of the kernel; "" not known */
	const char *why;		/* stress_why() */
	uint64_t reader;
	int64_t ms;			/* when it was taken, by the clock of records */
	int64_t now_ms;			/* that clock */
};

/*
 * A sample that is at most a cycle old.  Texts are borrowed until the next call.
 * -errno: no memory or no descriptor now; -EAGAIN: the source has not begun yet, so try
 * again NODE_STRESS_BEGIN_MS later.
 */
int node_stress_sample(struct node *, struct node_stress_sample *);

void node_stress_view(struct node *);
void node_stress_leave(struct node *);

void node_stress_init(struct node *);
void node_stress_second(struct node *, int64_t now_ms);
void node_stress_close(struct node *);
void node_stress_fini(struct node *);

/* --- wait.c ------------------------------------------------------------------------ */

/*
 * Calls w->done when so much time has passed; before, with `woken`, if tasks wait for
 * memory and the kernel tells this.  The caller has set arg, id and done, and has no
 * other wait there.
 */
void node_stress_begin_wait(struct node *, struct node_stress_wait *, uint32_t ms);
/* Without a call. */
void node_stress_end_wait(struct node *, struct node_stress_wait *);

/* Waits are over when this descriptor, which it owns, polls POLLPRI.  -errno. */
int node_stress_set_trigger(struct node *, int fd);
void node_stress_close_trigger(struct node *);

#endif
