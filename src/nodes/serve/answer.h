/*
 * Answers to requests of pages, which are in several files: what they share.
 *
 * Each request of wire.def has a function answer_NAME, which sends the reply or
 * an error; answer.c calls it when the page has the role that wire.def
 * names.  greeting.c answers the greeting, read.c READ, blocks.c
 * SNAP and WINDOW, listings.c what is about listings, answer.c the
 * rest.  Every answer costs a bounded amount.
 */
#ifndef NODES_SERVE_ANSWER_H
#define NODES_SERVE_ANSWER_H

#include "../../blklist/blklist.h"
#include "pairs.h"
#include "serve.h"

#define ANSWER_CHUNK 4096	/* records that are looked at in one go */
#define ANSWER_BLOCK_MAX (REC_WIDE_SIZE + WIRE_BLOCK_TAIL)

_Static_assert(WIRE_READ_MAX * ANSWER_BLOCK_MAX + 8192 < WIRE_REPLY_MAX,
    "a part and its requesters fit a reply");
_Static_assert(WIRE_WINDOW_MAX <= WIRE_READ_MAX,
    "a window is no longer than a part");

/* Buffers for one answer at a time. */
struct answer_scratch {
	struct pairs pairs;
	struct rec rec[ANSWER_CHUNK];
	uint64_t seq[ANSWER_CHUNK];
	struct blk blk[WIRE_READ_MAX];
	uint8_t bytes[WIRE_READ_MAX * ANSWER_BLOCK_MAX];
	uint8_t offsets[WIRE_READ_MAX * 4];
	uint8_t who[WIRE_WINDOW_MAX];
};

#define REQUEST(NAME, name, ...) \
	void answer_##name(struct conn *, const struct wire_msg *);
#include "../../stream/wire/wire.def"

/* --- answer.c ------------------------------------------------------- */

/*
 * The keeper that a request means, borrowed, or NULL when the answer, an
 * error, has been sent.  need_list: one whose list is still kept.
 */
struct keeper *answer_meant(struct conn *, const struct wire_msg *,
    uint32_t index, const uint8_t epoch[WIRE_EPOCH], bool need_list);

/* All numbers of a stream, as in STATS and ROWS. */
void answer_numbers(const struct keeper *, uint64_t out[WIRE_STATS_COUNT]);

/* --- tables.c ------------------------------------------------------- */

/*
 * The generic lookup: name (or, with an empty name, index) in one of the
 * node's tables DSTRM, types, LATBL.  Fills in all of *named; its texts are
 * borrowed from the table.  -ENOENT.
 */
int tables_find(struct node *, const struct wire_name *, struct wire_named *);

/*
 * The regions that a page may be told, and how many.  There are none where the
 * list lacks some of their blocks, and then *why says what it lacks; else that
 * is "".  *no changes with the regions.
 */
size_t tables_regions(const struct keeper *, struct wire_region *out,
    uint32_t *no, const char **why);

/* --- read.c --------------------------------------------------------- */

/* The records, or blocks, of one reply when that many are asked for; 0: all. */
size_t answer_max(uint32_t asked);

/* One record as on the wire, at out; the bytes it takes. */
size_t answer_put_record(const struct keeper *, const struct rec *, int64_t ms,
    uint8_t *out);

/*
 * Appends the requester of that index, of what is at place `at` of the reply;
 * nothing for index 0, for one that the list does not know, and beyond
 * WIRE_INFO_MAX.  Its name is borrowed from the list.
 */
void answer_put_info(struct wire_info *, size_t *ninfo, const struct keeper *,
    uint16_t index, size_t at);

#endif
