/*
 * images: the processes of the node: images that arrive, fork, exec and end, and
 * processes without a stream.
 *
 * Vocabulary
 *	image	a process from its exec or fork to its next exec or its end.
 *	row	of an image in DSTRM; it stays when the image has ended.
 *	shelved	ended, and its list is still there: for pages that look at it,
 *		and for forked children that say hello after their parent's end.
 *	missed	said hello and got no stream.
 *	cut	the tickets of the parent at a fork: an event with a ticket before
 *		the cut belongs to the child's past, too.
 *
 * An image has ended when its pidfd is readable, when the same pid says hello
 * again, or when its rings are no longer mapped.
 *
 *	images.c	adopts images and ends them; processes without a stream
 *	ended.c		rows and lists of images that have ended
 *	executions.c	programs that did not register, by the kernel's word of each exec
 *	inherit.c	a forked child gets its parent's blocks as of the cut
 *	report.c	one JSON object a line for each image that has ended
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

#define NODE_ENDED_ROWS 256		/* of ended images that a daemon keeps */
#define NODE_ENDED_MS (60 * 60 * 1000)	/* ... and for how long */
#define NODE_ENDED_USERS 64		/* whose images are told apart; of more the first ones' */
#define NODE_LISTS_SHELVED 16
#define NODE_LISTS_BYTES (256u << 20)	/* and all of them together at most */
#define IMAGES_NOT_SEEN "a program that did not register, and ended before it " \
	"was seen (static or set-user-ID?)"
#define REPORT_WAITING_MAX (1 << 20)	/* bytes; some 2,000 lines */

struct report {
	int fd;				/* -1: none was asked for */
	int error;			/* errno of the first line that could not be written */
	char *waiting;			/* lines that a reader has no room for yet */
	size_t nwaiting;		/* bytes */
	bool logged;			/* the error, by a node that stands alone */
};

struct images {
	struct keepers ended;		/* with a row, first ended first */
	struct ended_user {
		uid_t uid;
		uint32_t rows;		/* of these */
	} ended_user[NODE_ENDED_USERS];
	struct keepers shelved;
	struct {
		uint64_t images, peak, peak_most, lost, missed, full;
		char why[128];		/* the first of the missed was; "" none */
	} gone;				/* ended, and without a row */
	struct report report;
	struct executions *executions;	/* NULL: none are told */
	bool scanning;			/* for processes without a stream */
	uv_timer_t scan;		/* begins the next one before the second is over */
};

void images_init(struct node *);
/* Starts and closes what needs the loop. */
void images_begin(struct node *);
void images_close(struct node *);
/* Frees all rows. */
void images_fini(struct node *);

/* --- images.c --------------------------------------------------------- */

/* Adopts the targets that have arrived since the last call. */
void images_adopt_all(struct node *);

/* A row for the keeper, which is live from now on; owns its reference on success. */
int images_join(struct keeper *, const char *name);

/*
 * The same with the row that it had in the process before.  Owns the reference,
 * also on failure.
 */
int images_rejoin(struct keeper *, uint32_t index, const char *name,
    const uint8_t epoch[WIRE_EPOCH]);
/* Ends taken over targets whose process was not found. */
void images_end_lost(struct node *);

/* The image is over: last drain, report line, row stays. */
void images_end_image(struct keeper *, enum wire_state, int32_t status,
    const char *reason);

/*
 * The process has ended and is not reaped yet.  If it last ran another program,
 * which did not say hello, this ends its image and adds a row for that program.
 */
void images_check_ended(struct node *, pid_t pid);
/* It has been reaped. */
void images_reaped(struct node *, pid_t pid, int32_t status);

void images_end_dead(struct node *);
/* Ends all; gone: their processes are, else the node was told to end. */
void images_end_all(struct node *, bool gone);

/* Adds a row for an image that had no stream and has ended, or counts it. */
void images_add_gone(struct node *, pid_t, const char *comm, const char *why);

/* Once a second. */
void images_second(struct node *);

/* The keeper of that stream, while it has a row; else NULL. */
struct keeper *images_find(struct node *, uint64_t stream);

/*
 * Will our supervisor tell how that process has ended?  Then it reaps it only
 * after we have looked at it.
 */
bool images_is_reaped_for_us(const struct node *, pid_t);

/* Processes and generators that live. */
unsigned images_live(const struct node *);

/* --- ended.c --------------------------------------------------------- */

void images_forget_row(struct keeper *);
void images_put_ended(struct keeper *);
/*
 * Removes the oldest row of the user who has most rows of ended images; false:
 * there is none.
 */
bool images_make_room(struct node *);
/* Counts images that had no stream and get no row; why the first had none. */
void images_count_missed(struct node *, uint64_t images, const char *why);
/* Why the first image that is counted as missed had no stream; "" none is. */
const char *images_missed_why(const struct node *);
/* Fills in the node's numbers of STATS that count images without a row. */
void images_stat(const struct node *, uint64_t n[WIRE_STATS_COUNT]);
/* Shelves an image that has just ended, if it has a list. */
void images_shelve(struct keeper *);
void images_unshelve(struct keeper *);
/* Gives up the list of an ended image; its row stays. */
void images_drop(struct keeper *);
/* Gives up lists until those that are shelved are within the limits. */
void images_trim(struct node *);
/* Removes rows of a daemon's ended images beyond the limits; once a second. */
void images_forget_old(struct node *);

/* --- executions.c ----------------------------------------------------- */

/*
 * The kernel tells from now on which programs the later children of that process,
 * and theirs, execute (perf_event_open(2)).  If it refuses, nothing is told.
 */
void executions_open(struct node *, pid_t parent);
void executions_close(struct node *);
/* The oldest program that the process executed has registered, or has a row. */
void executions_arrived(struct node *, pid_t);
/*
 * Adds rows for programs that have ended without either.  Over: all have ended, and
 * no hello is left to read.
 */
void executions_check(struct node *, bool over);

/* --- inherit.c ------------------------------------------------------- */

/*
 * Fills the list of a forked child, which is empty and has its cut.  If the
 * parent is not known, has lost records, or its queue does not reach back to
 * the cut, the child is left in doubt (keeper_doubt()).
 */
void images_inherit(struct keeper *child, struct keeper *parent);

/* --- report.c -------------------------------------------------------- */

/*
 * Opens the file, or empties it unless `append`; "-" is the standard output,
 * NULL no report.  Negative errno.
 */
int report_open(struct report *, const char *path, bool append);
/* Lines go to fd from now on; owns it. */
void report_replace(struct report *, int fd);
void report_close(struct report *);

/* Writes the line of an image.  Never waits. */
void report_image(struct report *, const struct keeper *);

/* Writes waiting lines as far as the reader has room for them. */
void report_flush(struct report *);
bool report_waits(const struct report *);

#endif
