/*
 * segments: the files of a capture as they are written.  Private to the room.
 *
 * A write that fails stops it all: the torn block is cut off, and until
 * segments_resume() has begun another segment nothing is written.
 */
#ifndef CAPTURE_SEGMENTS_H
#define CAPTURE_SEGMENTS_H

#include "format.h"

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
	int stopped;		/* errno; 0: it writes */
	char why[CAPTURE_WHY];
	struct pack *pack;
	uint8_t *packed;
};

/* -EINVAL, -EEXIST, -ENOMEM; -errno of the first write. */
int segments_open(struct segments *, const struct capture_opts *);
/* Closes the descriptor, too. */
void segments_close(struct segments *);
void segments_abandon(struct segments *);
/* Begins another segment; a ring drops its oldest. */
int segments_segment(struct segments *);
int segments_resume(struct segments *);
/* True when the next segment is due. */
bool segments_is_full(const struct segments *);
/* Writes a block; fills the head's lengths and checksum. */
int segments_block(struct segments *, struct block_head *, const struct bytes *);
/* Makes sure that all is on the disk; stops when that is almost full. */
void segments_sync(struct segments *);

#endif
