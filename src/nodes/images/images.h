/*
 * images: the processes of the node: images that arrive, fork, exec and end, and
 * processes without a stream.
 *
 * Vocabulary
 *	image	a process from its exec or fork to its next exec or its end.
 *	row	of an image in DSTRM; it stays when the image has ended.
 *	shelved	ended, and its list is kept: for pages that look at it, and for
 *		forked children that say hello after their parent's end.
 *	untold	images that had no stream and no room for a row.
 *
 * An image has ended when its pidfd is readable, when the same pid says hello
 * again, or when its rings are no longer mapped.  images.c adopts images and
 * ends them, ended.c has the rows and lists of those that have ended, inherit.c
 * gives a forked child its parent's blocks, report.c writes a line for each end.
 *
 * Example
 *	images_init(node);
 *	each wake-up of the loop:	images_adopt_all(node);
 *	each second:			images_second(node);
 *	at the end:			images_end_all(node, gone); images_fini(node);
 */
#ifndef NODES_IMAGES_H
#define NODES_IMAGES_H

#include "../keeper/keeper.h"
#include "report.h"

#define NODE_ENDED_ROWS 256		/* of ended images that a daemon keeps */
#define NODE_ENDED_MS (60 * 60 * 1000)	/* ... and for how long */
#define NODE_ENDED_USERS 64		/* whose images are told apart; of more the first ones' */
#define NODE_LISTS_KEPT 16		/* of ended targets */
#define NODE_LISTS_BYTES (256u << 20)	/* and all of them together at most */

struct images {
	struct keepers ended;		/* with a row, first ended first */
	struct ended_user {
		uid_t uid;
		uint32_t rows;		/* of these */
	} ended_user[NODE_ENDED_USERS];
	struct keepers shelved;		/* of the ended the ones that still have their lists */
	struct {
		uint64_t images, peak, peak_most, lost, missed, full;
	} gone;				/* ended, and their rows given up */
	struct report report;		/* a line for each that has ended */
	bool scanning;			/* a scan for processes without a stream is on */
};

void images_init(struct node *);

/* Everything that hello.c has taken in since the last call. */
void images_adopt_all(struct node *);

/* A row for the keeper, which is live from now on; owns its reference. */
int images_join(struct keeper *, const char *name);

/*
 * The same with the row that it had in the process of the node before this
 * one.  It is freed on failure.
 */
int images_rejoin(struct keeper *, uint32_t index, const char *name,
    const uint8_t epoch[WIRE_EPOCH]);
/* Targets of which no process was found end now. */
void images_end_lost(struct node *);

/* The image is over: last drain, report line, row stays. */
void images_end_image(struct keeper *, enum wire_state, int32_t status,
    const char *reason);

/*
 * The process `pid` has ended, and is not reaped yet: was it still the image
 * that is known?
 */
void images_look_back(struct node *, pid_t pid);
/* It has been reaped. */
void images_reaped(struct node *, pid_t pid, int32_t status);

/* Those whose process is gone end now. */
void images_end_dead(struct node *);
/* Every image still live ends now: the last process is gone, or the node goes. */
void images_end_all(struct node *, bool gone);

/* Once a second. */
void images_second(struct node *);

/* By the id that its target was told, while its row stands; else NULL. */
struct keeper *images_find(struct node *, uint64_t stream);

/*
 * Will our supervisor tell how that process has ended?  It is then not reaped
 * before we have looked at it.
 */
bool images_is_told_end_of(const struct node *, pid_t);

/* Processes and generators that live. */
unsigned images_live(const struct node *);

/* Frees all rows. */
void images_fini(struct node *);

/* --- ended.c --------------------------------------------------------- */

/* Takes its row away, if it has one. */
void images_forget_row(struct keeper *);
/* It is among those that have ended from now on. */
void images_put_ended(struct keeper *);
/*
 * A row of one that has ended, the oldest of the user who has the most of them,
 * makes room for another; false: there is none.
 */
bool images_make_room(struct node *);
/* Images that had no stream and never had a row. */
void images_count_untold(struct node *, uint64_t images);
/* The node's numbers of STATS, those of WIRE_N_GONE. */
void images_stat(const struct node *, uint64_t n[WIRE_STATS_COUNT]);
/* An image that has just ended: its list counts among those of images_trim(). */
void images_shelve(struct keeper *);
/* It is not there any more, or is nobody's to drop; nothing where it was not. */
void images_unshelve(struct keeper *);
/* Gives up the list of one that has ended; its row stays. */
void images_drop(struct keeper *);
/* Lists of ended images: the last few, and not more memory than agreed. */
void images_trim(struct node *);
/* Rows of ended images, likewise: once a second. */
void images_forget_old(struct node *);

#endif
