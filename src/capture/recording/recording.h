/*
 * recording: the writer's own side: what it knows of each part, and the files as
 * they are written.  One thread.  Private to the room; ../capture.h has what others
 * call.
 *
 *	writer.c	the writer: its queue, its thread
 *	recording.c	the state of each part that is written: blocks, checkpoints, gaps
 *	segments.c	segments, full disks, the ring of files
 *	resume.c	a capture whose node was killed, and how it goes on
 */
#ifndef CAPTURE_RECORDING_H
#define CAPTURE_RECORDING_H

#include "../../base/hashmap.h"
#include "../format.h"

/* --- files (segments.c) --------------------------------------------------- */

/*
 * A write that fails stops it all: the torn block is cut off, and until
 * segments_resume() has begun another segment nothing is written.
 */
struct segments {
	int fd;			/* of the file that is written; -1: none */
	int folder;		/* -1: no ring */
	uint64_t ring;
	uint32_t node;
	unsigned keep_free;
	uint64_t segment_bytes;
	bool plain;
	uint64_t id, number;	/* of the capture; of the segment, 0: none yet */
	uint64_t begin, at;	/* of the segment in its file; where the next block goes */
	uint64_t reserved;	/* bytes of the file with room on the disk */
	uint64_t oldest;	/* segment that is still there */
	uint64_t *size;		/* of the segments from there on, of a ring */
	size_t nsizes, size_cap;
	uint64_t bytes;		/* of all files */
	uint64_t unsynced;
	struct mono synced;	/* when */
	_Atomic uint32_t call_ms;	/* since when a call to the disk has lasted; 0: none does */
	bool last;		/* the last blocks are written, into the room kept for them */
	int stopped;		/* -errno: nothing is written now; 0: it writes */
	char why[CAPTURE_WHY];
	struct pack *pack;
	uint8_t *packed;
};

#define SEGMENT_NAME 24
void segment_name(char out[SEGMENT_NAME], uint64_t number);

/*
 * -EINVAL, -EEXIST, -ENOMEM; -errno of the first write.  *before: NULL, or what the
 * file has from a node that was killed; the caller's.
 */
int segments_open(struct segments *, const struct capture_opts *,
    struct capture **before);
/* Closes the descriptor, too. */
void segments_close(struct segments *);
void segments_abandon(struct segments *);
/* Begins another segment; a ring drops its oldest. */
int segments_segment(struct segments *);
int segments_resume(struct segments *);
/* Some blocks may still be written behind a full disk: gaps and the end. */
void segments_resume_last(struct segments *);
/* True when the next segment is due. */
bool segments_is_full(const struct segments *);
/* Writes a block; fills the head's lengths and checksum. */
int segments_block(struct segments *, struct block_head *, const struct bytes *);
/* Milliseconds that the present call to the disk has lasted; any thread. */
uint32_t segments_call_ms(const struct segments *);
/* Makes sure that all is on the disk; stops when that is almost full. */
void segments_sync(struct segments *);

/* --- what a killed node has left (resume.c) ------------------------------- */

/* A part on its way from the file to the thread. */
struct resumed_part {
	bool lives;			/* false: only others use its sites */
	struct capture_list *list;	/* at its end in the file */
	struct bytes definition;
	uint64_t first, next;		/* numbers of its first event, and after the last one */
	int64_t ms;			/* of its begin */
	uint32_t store;
	struct blklist_info *requester;	/* number 1 is requester[0] */
	size_t nrequesters, requester_cap;
};

/*
 * Numbers and sizes of the segments that there are; cuts a torn block off.  -EEXIST: no
 * capture, or its recording has ended.
 */
int resume_segments(struct segments *, struct capture **before);
/* The part of that image.  -ENOENT, -ENOMEM, errors of read(). */
int resume_find(struct capture *, const struct capture_part *, uint32_t *no,
    struct resumed_part **);
int resume_part(struct capture *, uint32_t no, bool lives, struct resumed_part **);
void resume_part_free(struct resumed_part *);

/* --- parts (recording.c) -------------------------------------------------- */

struct recording_part;

/* A block of definitions, kept for the next segment of a ring or until written. */
struct definition {
	struct block_head head;
	struct bytes payload;
	bool written;
};

struct capture_recording {
	struct segments out;
	struct recording_part *part;	/* number 1 is part[0] */
	size_t nparts, part_cap;
	struct definition *define;
	size_t ndefines, define_cap;
	struct events_coder *coder;
	struct bytes payload;
	size_t block_events;		/* at most */
	uint64_t checkpoint_events, checkpoint_bytes;
	uint64_t events;		/* written */
	uint64_t absent;		/* events that a full disk has cost, of gaps that are closed */
	struct mono flushed, stopped_at;
	int64_t retry_ms;
	bool waiting;			/* events that are not written */
	struct capture *before;		/* of a killed node; NULL: none.  Not the thread's */
};

struct recording_info {
	uint64_t seq;
	struct blklist_info info;
};

int recording_open(struct capture_recording *, const struct capture_opts *);
void recording_close(struct capture_recording *);
/* The same, but the descriptor is still the caller's. */
void recording_abandon(struct capture_recording *);

/* Parts come in the order of their numbers.  -ENOMEM. */
int recording_part(struct capture_recording *, uint32_t no, uint64_t first, int64_t ms,
    unsigned options, uint32_t store, const void *definition, size_t len);
/* A part of the file, which goes on there; takes it over. */
void recording_resume(struct capture_recording *, uint32_t no, struct resumed_part *);
/* Other definitions; count: rows in them. */
void recording_define(struct capture_recording *, enum format_kind, uint32_t part,
    uint64_t first, int64_t ms, const void *, size_t len);
void recording_blocks(struct capture_recording *, uint32_t part, const struct blk *,
    size_t n);
void recording_state(struct capture_recording *, uint32_t part, uint64_t seq,
    int64_t ms, const struct capture_totals *);
/* w[2] of records: the time in full. */
void recording_records(struct capture_recording *, uint32_t part, uint64_t seq,
    const struct rec *, size_t n);
/* Requesters of records that follow. */
void recording_infos(struct capture_recording *, uint32_t part,
    const struct recording_info *, size_t n);
void recording_requester(struct capture_recording *, uint32_t part, uint16_t info,
    const struct blklist_info *);
/* ms: when the first of them was, or earlier. */
void recording_lost(struct capture_recording *, uint32_t part, uint64_t seq,
    int64_t ms, unsigned cause, uint64_t count);
void recording_clock(struct capture_recording *, int64_t ms, int64_t wall_ns);
void recording_stress(struct capture_recording *, int64_t ms, const void *, size_t len);
void recording_end_part(struct capture_recording *, uint32_t part, int64_t ms,
    int status, const void *reason, size_t len);

/* Writes what waits, or a portion of it; call it when nothing else is due. */
void recording_flush(struct capture_recording *);
/* Events that a full disk has cost so far. */
uint64_t recording_absent(const struct capture_recording *);
/* Milliseconds until it should be called again; -1: nothing waits. */
int recording_due(const struct capture_recording *);
/* The reason of the end: the last block. */
void recording_end(struct capture_recording *, const char *reason);

#endif
