/*
 * reader: an open capture.  Private to the room; ../capture.h has what others
 * call.
 *
 *	reader.c	opens files, reads their blocks, recognises damage
 *	seek.c		the list at a moment
 */
#ifndef CAPTURE_READER_H
#define CAPTURE_READER_H

#include "../../base/hashmap.h"
#include "../format.h"

/* A block that was found; all of the file's order. */
struct entry {
	uint64_t offset;	/* of its head */
	uint64_t first;
	int64_t ms;
	uint32_t segment;	/* index into segments */
	uint32_t len, decoded, crc;
	uint32_t part, count;
	uint16_t kind, flags;
	uint8_t cause;		/* of a gap, ... */
	bool begins;		/* the first portion of a whole state */
	uint64_t lost;		/* ... and how many events it has */
};

struct segment {
	uint32_t file;
	uint64_t number;
	size_t bad;		/* entries from here on are not believed; SIZE_MAX */
};

/* Definitions, by the number in the file, which may be any. */
struct defined_thread {
	uint64_t no;
	uint32_t tid;
	char *name;
};

struct defined_site {
	uint64_t no;
	size_t at;		/* in frames */
	uint8_t depth, end;
	uint8_t room;		/* frames that there are at `at` */
};

struct defined_module {
	uint64_t no;
	struct stream_module m;
};

struct defined_requester {
	uint64_t no;
	struct blklist_info info;
};

/* A growing array of `type`. */
#define TABLE(type) struct { type *at; size_t n, cap; }

/* Of entries. */
struct places {
	size_t *at;
	size_t n, cap;
};

struct reader_part {
	uint64_t no;
	struct capture_part_info info;
	char *reason;
	struct places events;	/* and gaps */
	struct places checks;	/* checkpoints whose portions are there */
	struct places states;	/* portions */
	size_t used;		/* of them, those of earlier checkpoints */
	struct hashmap sites, modules, threads, requesters;
	uint32_t last_site, last_module;	/* the highest numbers */
	TABLE(uint64_t) frames;
	struct stream_types *types;
	/* Of capture_next(). */
	uint64_t next;		/* number that should come */
	bool known;
};

struct clock {
	int64_t ms, wall_ns;
};

struct capture {
	char *path;
	int folder;		/* -1: one file */
	TABLE(char *) files;	/* names in the folder; one file: its path */
	int fd;			/* of the file `open` */
	size_t open;
	struct {
		bool heads;	/* events and states are not read before they are needed, ... */
		int64_t until_ms;	/* ... nor a file that takes longer */
		uint64_t whole;	/* behind the last whole block of the last file */
	} scan;
	bool vanished;		/* the recorder has dropped a file meanwhile */
	TABLE(struct segment) segments;
	TABLE(struct entry) entries;
	struct hashmap parts;	/* struct reader_part */
	uint64_t defined;	/* bytes that parts and definitions take */
	TABLE(struct capture_mark) marks;
	struct intern marks_seen;
	TABLE(struct clock) clocks;
	TABLE(struct capture_stress) stress;
	struct intern stress_texts;
	struct {
		char (*at)[CAPTURE_WHY];
		size_t n, cap;
	} damages;
	struct capture_about about;
	char *reason;
	struct pack *pack;
	struct bytes raw, decoded;
	struct events_coder *coder;
	struct rec *rec;	/* of the block `held` */
	uint16_t *info;
	size_t held;		/* SIZE_MAX: none */
	/* Of capture_next(). */
	size_t at;		/* entry */
	size_t done;		/* events of it */
	uint32_t only;		/* part; 0: all */
};

/*
 * The decoded payload of an entry; borrowed until the next.  -EBADMSG: damaged,
 * which is said once and ends its segment; -ENOMEM, errors of read().
 */
int reader_payload(struct capture *, size_t entry, struct cursor *);
/* Its events into c->rec and c->info.  Errors as above. */
int reader_events(struct capture *, size_t entry);
/* False: it lies behind damage in its segment. */
bool reader_believes(const struct capture *, size_t entry);
struct reader_part *reader_part(const struct capture *, uint32_t no);
/* The number after an entry's events or gap. */
uint64_t reader_end(const struct entry *);
/* The first number that is not dropped. */
uint64_t reader_begin(const struct capture *, const struct reader_part *);

/*
 * capture_open() for a capture that this program has written: payloads of events and
 * states are not compared with their checksums yet.  -EBADMSG if anything but its end is
 * damaged, -EFBIG if it takes too long.
 */
int reader_open_heads(struct capture **, const char *path,
    char why[CAPTURE_WHY]);

#endif
