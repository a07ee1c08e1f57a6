/*
 * capture: files that hold each event of some data streams, written by a node
 * and read by a page. pagek-capture(5) has the format.
 *
 *	recording/	writes captures
 *	reader/		opens them; finds, checks and unpacks their blocks; finds the
 *			list at a moment
 *	definitions.c	parts, sites, threads and other definitions, to bytes and back
 *	events.c	records as columns, to bytes and back
 *	state.c		which blocks are live after some events, and totals
 *	addresses.c	sets of addresses in their order
 *	pack.c		checksums, compression
 *	format.h	the format, and declarations for the files above and both rooms
 *	moment.h	--part and --at: finds a part of a capture, and a moment of it
 *	capture_names.c	stacks and words of a part, for profiles
 *
 * A new kind of block is a row of enum format_kind (format.h), a row of
 * `kinds` in reader/reader.c, its bytes in definitions.c, and an item of
 * pagek-capture(5).
 *
 * Vocabulary
 *	capture		one file or, with a ring, a folder of files.
 *	segment		the part of a capture that can be read without what is
 *			before it; of a ring, a file.
 *	part		one data stream: an image of a process.  Numbered from 1.
 *	block		a portion of a segment with a checksum of its own; not
 *			a block of memory, which is called a row here.
 *	event		a record with its number and time: an allocation, a
 *			free, a failed request, an undo, a range.  Tickets are
 *			not captured: they read as 0.
 *	definition	a part, module, site, thread, type or requester.
 *	state		the live blocks of a part before the event of some number.
 *	checkpoint	a state in the file, with totals.
 *	gap		events that happened and are not in the file.
 *	time		milliseconds of the node's clock.  A moment is after an
 *			event if it is not before the times of that event and of
 *			all events of the part before it.
 *
 * Example: the node
 *	capture_writer_new(&w, &opts);
 *	capture_writer_part(w, &part, &no);
 *	capture_writer_blocks(w, no, rows, n);		the list, in portions
 *	capture_writer_state(w, no, seq, ms, &totals);	closes it
 *	...
 *	capture_writer_site(w, no, 17, &site);		before records that name it
 *	capture_writer_records(w, no, &batch);
 *	if (capture_writer_wants_state(w, no))		after a gap: the list again
 *		...
 *	capture_writer_end_part(w, no, status, "exited");
 *	capture_writer_finish(w, "the command has ended", 10000, NULL);
 *
 * Example: the page
 *	capture_open(&c, path, why);
 *	while ((err = capture_next(c, ev, 4096, &n)) == 0 && n > 0)
 *		...
 *	capture_seek(c, 1, &(struct capture_when){ CAPTURE_AT_MS, .ms = t }, &list);
 *	row = capture_list_rows(list, &n);
 *
 * A file is outside data: texts are not safe for a terminal, and numbers may
 * have any value.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../blklist/blklist.h"
#include "../stream/stream.h"
#include "../stress/stress.h"

#define CAPTURE_WHY 256			/* bytes of a sentence */
#define CAPTURE_PARTS_MAX 65536
#define CAPTURE_TEXT_MAX 4096		/* bytes of any text, with its NUL; longer ones are cut */

enum capture_began {
	CAPTURE_EXECUTED = 1,
	CAPTURE_FORKED = 2,
	CAPTURE_JOINED = 3,	/* it was running before the capture */
};

enum capture_option {
	CAPTURE_STACKS = 1,
	CAPTURE_FREE_STACKS = 2,
	CAPTURE_CLASSIC = 4,	/* records are those of the 2004 note */
};

/* Texts "" and numbers 0: not known. */
struct capture_part {
	const char *stream;	/* the name of the data stream */
	const char *comm, *exe, *cwd;
	int64_t pid, ppid, uid;
	int64_t start_ns;	/* of the process, wall clock */
	uint32_t parent;	/* the part of the process that forked it */
	uint32_t store;		/* the part that has its sites and modules; 0: itself */
	uint32_t began;		/* enum capture_began */
	uint32_t word_bytes;
	uint32_t options;	/* enum capture_option, or'ed */
	uint64_t sample;	/* mean bytes between sampled allocations; 0: all are logged */
	uint64_t first;		/* number of its first event in the capture */
	int64_t ms, wall_ns;	/* when it began in the capture, on both clocks */
};

/* Since the beginning of the data stream, or of the recording. */
struct capture_totals {
	uint64_t allocs, frees, failed;
	uint64_t alloc_bytes, freed_bytes;
	uint64_t blocks, bytes;	/* live */
	uint64_t peak_bytes, peak_seq;	/* after the event of that number; 0: before all of them */
	int64_t peak_ms;
	uint64_t unknown_free, duplicate, unknown_undo;
	uint64_t lost[STREAM_CAUSES];	/* events by cause; [0] capture_missing() */
};

struct capture_writer;

struct capture_opts {
	int fd;			/* open for writing: a file; with ring a folder, O_RDONLY: empty, or ... */
	uint64_t ring;		/* bytes that the files of a folder may take; 0: one file */
	/* ... a capture without an end, which this program may read: it goes on there. */
	uint32_t node;		/* number of the node */
	unsigned keep_free;	/* percent of the disk at which recording stops; 0: when it is full */
	/* For tests; 0: the default. */
	size_t queue_bytes;	/* 64 MiB: records that wait */
	size_t segment_bytes;	/* 16 MiB */
	uint64_t checkpoint_events;	/* 4 M */
	uint64_t checkpoint_bytes;	/* 4 MiB */
	unsigned retry_ms;	/* 10,000: a full disk is tried again */
	bool plain;		/* do not compress */
};

/*
 * Starts the writer's thread.  The descriptor is the writer's from then on, on
 * failure still the caller's.  -EINVAL: neither kind of fd; -EEXIST: it has something
 * that does not go on; -EFBIG: what it has takes long to read; -ENOMEM; errors of the first write, such as -ENOSPC.
 */
int capture_writer_new(struct capture_writer **, const struct capture_opts *);

/*
 * The functions below copy what they are given, may be called by any thread and
 * never wait for the disk.  Those of one part are called in the order of its
 * numbers.
 */

/* Begins a part; *no is its number.  -ENOSPC: CAPTURE_PARTS_MAX, -ENOMEM. */
int capture_writer_part(struct capture_writer *, const struct capture_part *,
    uint32_t *no);

/* Parts that the capture has from a node that was killed. */
uint32_t capture_writer_parts(const struct capture_writer *);
/*
 * The image goes on in its part, *no; what is missing before part->first is a gap.
 * *store: the part that has its sites.  Its list and definitions follow as for a new
 * part.  -ENOENT: it has none, or its numbers are in the file already; errors of read().
 */
int capture_writer_resume(struct capture_writer *, const struct capture_part *,
    uint32_t *no, uint32_t *store);

/*
 * Write the part's list: first its rows, in portions and in any order, then the
 * state, which closes it.  The list is that before the event `seq`, the next one of
 * the part; ms: its time.  Totals NULL: those of the recording so far.  For an empty
 * list call capture_writer_state() only.  Until then, and after a gap, the part's
 * list is incomplete.  -ENOMEM: it stays so.
 */
int capture_writer_blocks(struct capture_writer *, uint32_t part,
    const struct blk *, size_t n);
int capture_writer_state(struct capture_writer *, uint32_t part, uint64_t seq,
    int64_t ms, const struct capture_totals *);
/* True if the list is incomplete and there is room again: call the two above. */
bool capture_writer_wants_state(const struct capture_writer *, uint32_t part);

/*
 * Events, as blklist_apply() takes them (seqs, cancel and the results are not
 * used).  -ENOBUFS: no room, they are counted as a gap.
 */
int capture_writer_records(struct capture_writer *, uint32_t part,
    const struct blklist_batch *);
/* The numbers [seq, seq + count) are lost by `cause` (enum stream_cause). */
void capture_writer_lost(struct capture_writer *, uint32_t part, uint64_t seq,
    unsigned cause, uint64_t count);

/*
 * Definitions; one with a number that there is already replaces it.  They come
 * before the records that refer to them and are kept in memory until the part
 * ends.  Sites and modules are those of the part's store.
 */
void capture_writer_site(struct capture_writer *, uint32_t part, uint32_t no,
    const struct stream_site *);
void capture_writer_module(struct capture_writer *, uint32_t part,
    unsigned no, const struct stream_module *);
void capture_writer_thread(struct capture_writer *, uint32_t part,
    unsigned index, uint32_t tid, const char *name);
void capture_writer_type(struct capture_writer *, uint32_t part,
    const struct stream_type *);
/* Requesters of rows, by the row's `info`; batches have their own. */
void capture_writer_requester(struct capture_writer *, uint32_t part,
    uint16_t info, const struct blklist_info *);

/* A mark of the part (0: of all) before the event `seq`. */
void capture_writer_mark(struct capture_writer *, uint32_t part, uint64_t seq,
    int64_t ms, const char *text);
/* The two clocks at one moment: every second or so while events come. */
void capture_writer_clock(struct capture_writer *, int64_t ms,
    int64_t wall_ns);
/* A sample of heap stress: every second or so. */
struct capture_stress {
	int64_t ms;
	struct stress_sample sample;	/* totals of one reader */
	const char *kernel, *why;	/* its release; stress_why() */
};
void capture_writer_stress(struct capture_writer *,
    const struct capture_stress *);
/* The part has no more events.  status: as of waitpid(2), -1 not known. */
void capture_writer_end_part(struct capture_writer *, uint32_t part,
    int64_t ms, int status, const char *reason);

struct capture_progress {
	uint64_t bytes;		/* in the capture now */
	uint64_t events;	/* written */
	uint64_t synced;	/* events that survive a power cut */
	uint64_t waiting;	/* bytes in the queue */
	uint32_t disk_ms;	/* how long the present call to the disk has lasted; 0: none does */
	bool filling;		/* more than half of it is taken */
	uint64_t gaps, lost;	/* gaps begun, events in them */
	int stopped;		/* 0, or -errno: nothing is written now */
	char why[CAPTURE_WHY];	/* its sentence */
};
void capture_writer_look(const struct capture_writer *,
    struct capture_progress *);

/*
 * Ends the recording and frees the writer: writes what waits for at most
 * wait_ms, then the reason, and closes the file.  0, or why not all of it is in
 * the file: -ETIMEDOUT, or the error of the disk.  *last, unless NULL: what has
 * been written.
 */
int capture_writer_finish(struct capture_writer *, const char *reason,
    int wait_ms, struct capture_progress *last);

struct capture;

/*
 * Calls this while captures are opened and read: where in the capture that is, in
 * percent, which a seek begins anew.  NULL: no more.  For all captures of the program,
 * and its one thread that reads any.
 */
void capture_watch(void (*tell)(void *arg, unsigned percent), void *arg);

/*
 * Opens a file or a folder and reads its definitions and the heads of its
 * blocks.  Damage is data: capture_damage().  -EBADMSG: no capture; -ENOTSUP:
 * another version, or compressed and this program has no zstd; -ENOMEM, errors
 * of open() and read().  `why` has a sentence.
 */
int capture_open(struct capture **, const char *path, char why[CAPTURE_WHY]);
void capture_close(struct capture *);
/* True for a file that begins as a capture, and for a folder that has segments. */
bool capture_match(const char *path);
/* True if the first bytes of a file are those of a capture. */
bool capture_magic(const void *bytes, size_t len);

#define CAPTURE_HEAD 64		/* bytes of a segment's head */
/* True if this version can read a capture that begins so. */
bool capture_is_own(const void *bytes, size_t len);

struct capture_about {
	uint64_t id;
	uint32_t node;
	uint32_t parts;		/* the highest number */
	uint64_t segments, blocks, events, bytes;
	uint64_t oldest;	/* number of the first segment: from 2 on, earlier ones were dropped */
	uint64_t gaps, lost;	/* GAP blocks, events in them */
	uint64_t unknown;	/* blocks of kinds that this version does not know */
	int64_t wall_ns;	/* when the first segment begins */
	int64_t first_ms, last_ms;	/* times of events */
	bool ended;		/* the recording was ended, for `reason` */
	const char *reason;
};
void capture_about(const struct capture *, struct capture_about *);

/* Damages found so far: a sentence each, with file and offset. */
size_t capture_damages(const struct capture *);
const char *capture_damage(const struct capture *, size_t i);

struct capture_part_info {
	struct capture_part part;
	uint64_t events;	/* of its blocks in the file */
	uint64_t next;		/* number after its last event */
	int64_t last_ms;
	uint64_t dropped;	/* its events that a ring has removed */
	int64_t complete_ms;	/* its list is known from then on; INT64_MAX: nowhere */
	uint64_t complete_seq;
	bool ended;
	int status;		/* -1 not known */
	int64_t end_ms;
	const char *reason;
};
/* Part 1 to `parts`; false if the capture lacks it.  Borrowed until the close. */
bool capture_part(const struct capture *, uint32_t no,
    struct capture_part_info *);

/* False if not defined.  Borrowed until the close. */
bool capture_site(const struct capture *, uint32_t part, uint32_t no,
    struct stream_site *);
bool capture_module(const struct capture *, uint32_t part, unsigned no,
    struct stream_module *);
uint32_t capture_sites(const struct capture *, uint32_t part);	/* the highest number */
unsigned capture_modules(const struct capture *, uint32_t part);
bool capture_thread(const struct capture *, uint32_t part, unsigned index,
    uint32_t *tid, const char **name);
bool capture_requester(const struct capture *, uint32_t part, uint16_t info,
    struct blklist_info *);
/* The types of the part; those of our own streams if it says nothing. */
void capture_types(const struct capture *, uint32_t part,
    struct stream_types *);

struct capture_mark {
	uint32_t part;		/* 0: all */
	uint64_t seq;
	int64_t ms;
	const char *text;
};
size_t capture_marks(const struct capture *);
const struct capture_mark *capture_mark(const struct capture *, size_t i);

/* The samples of heap stress, in the order of their times. */
size_t capture_stresses(const struct capture *);
const struct capture_stress *capture_stress(const struct capture *, size_t i);
/* The last one at that time; before the first one: that one.  NULL: there is none. */
const struct capture_stress *capture_stress_at(const struct capture *,
    int64_t ms);

/* The wall clock at a time, and the reverse; between clock blocks linear. */
int64_t capture_wall_ns(const struct capture *, int64_t ms);
int64_t capture_ms(const struct capture *, int64_t wall_ns);

enum capture_what {
	CAPTURE_EVENT,
	CAPTURE_GAP,		/* [seq, seq + rec.w[1]) lost by cause rec.w[0]; by cause 0 the
				   capture lost them, and the list is unknown from here on */
	CAPTURE_STATE,		/* the list is known: capture_seek() to that seq has it */
};

struct capture_event {
	uint64_t seq;
	int64_t ms;
	uint32_t part;
	uint16_t what;		/* enum capture_what */
	uint16_t info;		/* capture_requester(); 0 none */
	struct rec rec;
};

/*
 * The next events of all parts in the order of the file, up to max.  *n 0: the
 * end.  What damaged blocks had is a CAPTURE_GAP before the part's next event or
 * state, or at the end.  -ENOMEM, errors of read().
 */
int capture_next(struct capture *, struct capture_event *, size_t max,
    size_t *n);
void capture_rewind(struct capture *);
/* The same, and only the events of one part come. */
void capture_rewind_part(struct capture *, uint32_t part);
/* Bytes of the capture before the next event, for a progress bar. */
uint64_t capture_position(const struct capture *);

/*
 * Events of one part from number *seq on, up to max; *seq becomes the number after
 * them.  A gap comes alone, with the time at which it began; INT64_MIN: with the
 * last event before it.  *n 0: the end.  Not between two capture_next() without
 * a rewind.  -ENOENT: no such part; errors as above.
 */
int capture_read(struct capture *, uint32_t part, uint64_t *seq,
    struct capture_event *, size_t max, size_t *n);

/* --- lists of a moment (reader/seek.c, state.c) -------------------------------- */

struct capture_list;

struct capture_when {
	enum {
		CAPTURE_AT_MS,		/* before the first event whose time is later */
		CAPTURE_AT_SEQ,		/* before the event of that number */
		CAPTURE_AT_PEAK,	/* when the part's live bytes were highest, first */
		CAPTURE_AT_END,
	} at;
	int64_t ms;
	uint64_t seq;
};

/* The part's first state in the file from that number on, and its time; UINT64_MAX: none. */
uint64_t capture_state_from(const struct capture *, uint32_t part, uint64_t seq,
    int64_t *ms);

/*
 * How many of the part's events before that number the capture lacks: its writer lost
 * them, or damage has them.  Without those that a ring has dropped.
 */
uint64_t capture_missing(const struct capture *, uint32_t part, uint64_t seq);

/*
 * The list of a part at a moment; free it.  It is incomplete if there is no state
 * before (see complete_ms), or a gap or damage between.  A moment within a gap, or
 * behind it and before the next state, has the list before the gap, with the events
 * behind it.  A gap begins at its first missing event if that is known, else at the
 * last event before it.  -ENOENT: no such part, or it began later; -ENOMEM, errors of
 * read().
 */
int capture_seek(struct capture *, uint32_t part, const struct capture_when *,
    struct capture_list **);
/* The same list at a later moment, without a seek.  -EINVAL: earlier. */
int capture_forward(struct capture *, struct capture_list *,
    const struct capture_when *);
void capture_list_free(struct capture_list *);

const struct capture_totals *capture_list_totals(const struct capture_list *);
/*
 * The list is that before event *seq, at time *ms; within a gap, before the gap's
 * first.  False: a gap made it incomplete.
 */
bool capture_list_at(const struct capture_list *, uint64_t *seq, int64_t *ms);
/* Since when it is incomplete; INT64_MIN: from its beginning. */
int64_t capture_list_since(const struct capture_list *);
/* All live blocks, oldest first; borrowed until the next forward, rows or free.  NULL: no memory. */
const struct blk *capture_list_rows(struct capture_list *, size_t *n);

/*
 * An empty list of a part with these options (enum capture_option), and a function
 * that applies a CAPTURE_EVENT of capture_next() to it.
 */
int capture_list_new(struct capture_list **, unsigned options);
int capture_list_apply(struct capture_list *, const struct capture_event *);
/* The rows that this event removed; of a range by address.  Borrowed until the next. */
const struct blk *capture_list_removed(const struct capture_list *, size_t *n);

/* --- stacks and names of a part, for ../profile (capture_names.c) ---------- */

struct capture_names;
struct profile;
struct profile_words;
struct symbols_opts;

/* The capture is borrowed.  -ENOMEM, errors of symbols_new(). */
int capture_names_new(struct capture_names **, const struct capture *,
    uint32_t part, const struct symbols_opts *);
void capture_names_free(struct capture_names *);
/* A source for profile_resolve().  Words are known once they were read. */
struct profile_words capture_names_words(struct capture_names *);
/*
 * Reads words that were asked for, at most so many frames: waits for the reader
 * of symbols.  *read: how many.  -ENOMEM.
 */
int capture_names_read(struct capture_names *, size_t at_most, size_t *read);
/* Resolves the whole profile: waits for all names.  -ENOMEM. */
int capture_names_resolve(struct capture_names *, struct profile *);
/* Frames whose file is damaged, gone or another one, or that no reader reads. */
size_t capture_names_failed(const struct capture_names *);

#endif
