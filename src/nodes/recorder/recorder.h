/*
 * recorder: captures that a node writes (src/capture): each event of a process
 * and of its descendants, in a file that a viewer has opened.
 *
 * Vocabulary
 *	recording	one capture being written, for one connection; or the
 *			one that the node was started with, of all its targets.
 *	offer		a file that came in at the socket for targets, until a
 *			page claims it by its token.
 *	tap		one image in one recording: a part of the capture.
 *
 * A keeper gives its records to its taps, which copy them into the writer's
 * queue; the writer's thread does the rest.  While that queue is more than half
 * full, records stay in their rings and the target waits for room there, as for a
 * slow keeper.  A disk that is full, or that does not answer for HOLD_MS, causes a
 * gap in the file, and neither target nor list waits for it.  A recording
 * ends with its connection, its last image or the node.  If the node is killed, the
 * next process goes on in the same file: that of a command is in the supervisor's
 * store, that of a target comes from its viewer again.
 *
 *	recorder.c	offers, recordings
 *	tap.c		an image in a recording
 *
 * Example: a page's request
 *	fd = recorder_claim(node, token, peer->uid);
 *	r = recorder_begin(node, keeper, &opts, &why);
 *	...
 *	recorder_look(node, conn, &reply);
 */
#ifndef NODES_RECORDER_H
#define NODES_RECORDER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uv.h>

#include "../../capture/capture.h"
#include "../../stream/wire/wire.h"
#include "../host/access.h"
#include "../host/host.h"
#include "../keeper/keeper.h"
#include "../stress/stress.h"

#define RECORDER_MAX 8		/* recordings of a node */
#define RECORDER_OFFERS 8
#define RECORDER_OFFER_MS 10000	/* an offer that is not claimed by then is closed */
#define RECORDER_ENDED_TAPS 1024	/* of a recording: for images that follow them */

struct node;
struct recording;

struct recorder {
	pthread_mutex_t lock;		/* of the offers: hellos come in on another thread */
	struct recorder_offer {
		int fd;			/* -1: none */
		uid_t uid;
		int64_t at_ms;
		uint8_t token[FILE_OFFER_TOKEN];
	} offer[RECORDER_OFFERS];
	TAILQ_HEAD(, recording) all;
	_Atomic unsigned n;		/* of these */
};

void recorder_init(struct node *);
/* Ends all recordings; run the loop until their files are written. */
void recorder_close(struct node *);
void recorder_fini(struct node *);

/*
 * Takes ownership of fd.  If there is no room, the user's oldest offer is closed;
 * without one, fd is.
 */
void recorder_offer(struct node *, int fd, uid_t, const struct file_offer *);
/* The file of the user's offer, now the caller's; -ENOENT. */
int recorder_claim(struct node *, const uint8_t *token, uid_t);

struct recorder_opts {
	int fd;
	uint64_t ring;		/* bytes that the files of a folder may take; 0: a file */
	uint64_t viewer;	/* id of the connection; 0: begun with the node, of all its targets */
	struct peer peer;	/* of the connection: only what it may read is recorded */
};

/*
 * Begins a recording; k: its first image, NULL: later images only.  Takes ownership
 * of the descriptor, also on failure, when *why is a sentence.
 */
int recorder_begin(struct node *, struct keeper *k,
    const struct recorder_opts *, const char **why);
/* Copies the state of that connection's recording; WIRE_RECORD_NONE: it has none. */
void recorder_look(struct node *, uint64_t viewer, struct wire_recorded *);
void recorder_end(struct node *, uint64_t viewer, const char *why);
/* Ends the recording of a closed connection. */
void recorder_viewer_gone(struct node *, uint64_t viewer);

/*
 * Call it before an image gets its rings.  If it may be recorded, it makes no pairs,
 * for their frees have no callers.  Any thread.
 */
void recorder_welcome(struct keeper *);
/* Call it when the targets of the process before are taken over. */
void recorder_go_on(struct node *);
/* Call it for an adopted image: it is recorded if its process or its parent is. */
void recorder_follow(struct keeper *);

void recorder_second(struct node *);
/* Fills in the node's numbers of STATS. */
void recorder_stat(const struct node *, uint64_t n[WIRE_STATS_COUNT]);
/* Recordings of this image. */
unsigned recorder_count(const struct keeper *);

struct tap;
struct tap_store;

/* Samples of heap stress. */
struct recorder_stress {
	bool sees;			/* the recording is a viewer of the kernel's counts */
	bool ready;			/* `first` has the first sample of the best source */
	struct capture_stress first;
	/* Until the best source has begun: */
	struct stress *early;		/* another source; NULL: none */
	struct capture_stress early_first;
	struct node_stress_wait wait;
};

struct recording {
	TAILQ_ENTRY(recording) link;
	struct node *node;
	struct capture_writer *writer;	/* NULL: it has ended */
	uint64_t viewer;
	struct peer peer;
	dev_t dev;			/* of its file or folder, */
	ino_t ino;			/* ... which has one writer */
	enum wire_record_state state;
	char why[CAPTURE_WHY];
	struct capture_progress last;	/* of a writer that has ended */
	TAILQ_HEAD(tap_list, tap) taps;	/* the newest first */
	TAILQ_HEAD(, tap_store) stores;	/* of taps that live */
	unsigned images, live, ended;	/* taps ever, and now */
	uint64_t lost;			/* by the targets' rings */
	uint64_t namings;		/* taps whose threads' names were read, so far */
	int64_t alone_ms;		/* since when none lives; 0: one does */
	uv_work_t work;			/* its end */
	struct recorder_stress stress;
	bool gone;			/* nobody will ask for it: freed with its end */
};

/* --- tap.c --- */

#define TAP_GOES_ON ((enum capture_began)0)	/* in the part that it has already */
/* Records the image from now on, beginning with its list.  -ENOENT: it has no part. */
int tap_begin(struct recording *, struct keeper *, enum capture_began);
bool tap_is_of(const struct recording *, const struct keeper *);
/* Goes on with an image that the node before has recorded. */
void tap_go_on(struct recording *, struct keeper *);
/* True if the image comes from a recorded one. */
bool tap_has_origin(const struct recording *, const struct keeper *);
/* Once a second: clock, names of threads, lists after a gap. */
void tap_second(struct recording *);
/* Ends and frees all. */
void tap_end_all(struct recording *, const char *why);

#endif
