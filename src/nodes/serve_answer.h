/*
 * Answers to requests of pages, which are in several files: what they share.
 *
 * serve_answer.c says which request is answered by what, and answers those
 * about a stream; serve_read.c has its records, serve_blocks.c the blocks of
 * its list, serve_listing.c the listings of the node.  Every answer costs a
 * bounded amount.
 */
#ifndef NODES_SERVE_ANSWER_H
#define NODES_SERVE_ANSWER_H

#include "../blklist/blklist.h"
#include "serve.h"
#include "serve_pairs.h"

#define ANSWER_CHUNK 4096	/* records that are looked at in one go */
#define ANSWER_BLOCK_MAX (REC_WIDE_SIZE + WIRE_BLOCK_TAIL)

_Static_assert(WIRE_READ_MAX * ANSWER_BLOCK_MAX + 8192 < WIRE_REPLY_MAX,
    "a part and its requesters fit a reply");
_Static_assert(WIRE_WINDOW_MAX <= WIRE_READ_MAX,
    "a window is no longer than a part");

/* What answers are made in; one at a time. */
struct answer_scratch {
	struct pairs pairs;
	struct rec rec[ANSWER_CHUNK];
	uint64_t seq[ANSWER_CHUNK];
	struct blk blk[WIRE_READ_MAX];
	uint8_t bytes[WIRE_READ_MAX * ANSWER_BLOCK_MAX];
	uint8_t offsets[WIRE_READ_MAX * 4];
	uint8_t who[WIRE_WINDOW_MAX];
};

/* --- serve_answer.c ------------------------------------------------------- */

/*
 * The keeper that a request means, borrowed, or NULL when the answer, an
 * error, has been sent.  need_list: one whose list is still kept.
 */
struct keeper *answer_meant(struct conn *, const struct wire_msg *,
    uint32_t index, const uint8_t epoch[WIRE_EPOCH], bool need_list);

/* All numbers of a stream, as in STATS and ROWS. */
void answer_numbers(const struct keeper *, uint64_t out[WIRE_STATS_COUNT]);

/* --- serve_read.c --------------------------------------------------------- */

void answer_read(struct conn *, const struct wire_msg *);

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

/* --- serve_blocks.c ------------------------------------------------------- */

void answer_snap(struct conn *, const struct wire_msg *);
void answer_window(struct conn *, const struct wire_msg *);

/* --- serve_listing.c ------------------------------------------------------ */

void answer_lput(struct conn *, const struct wire_msg *);
void answer_listings(struct conn *, const struct wire_msg *);
void answer_lget(struct conn *, const struct wire_msg *);

#endif
