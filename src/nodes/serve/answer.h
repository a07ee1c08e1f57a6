/*
 * answer: what the files that answer requests of pages share.
 *
 * Each request of wire.def has a function answer_NAME, which sends the reply or
 * an error; answer.c calls it if the page has the role that wire.def names.
 * Every answer costs a bounded amount.
 */
#ifndef NODES_SERVE_ANSWER_H
#define NODES_SERVE_ANSWER_H

#include "../../base/hashmap.h"
#include "../../blklist/blklist.h"
#include "serve.h"

#define ANSWER_CHUNK 4096	/* records that are looked at in one go */
#define ANSWER_BLOCK_MAX (REC_WIDE_SIZE + WIRE_BLOCK_TAIL)

_Static_assert(WIRE_READ_MAX * ANSWER_BLOCK_MAX + 8192 < WIRE_REPLY_MAX,
    "a part and its requesters fit a reply");
_Static_assert(WIRE_WINDOW_MAX <= WIRE_READ_MAX,
    "a window is no longer than a part");

#define PAIRS_ROOM 4096		/* entries, cancelled ones too, until they are swept */

struct pairs_entry {
	struct rec rec;
	uint64_t seq;
	uint16_t info;		/* requester; 0 none */
	bool cancelled;
};

/* A READ's records without the pairs that cancel each other; see read.c. */
struct pairs {
	struct pairs_entry entry[PAIRS_ROOM];
	size_t n;		/* entries in use */
	size_t live;		/* of them not cancelled */
	size_t infos;		/* of the live ones with a requester */
	size_t max, max_infos;	/* of the live ones */
	uint64_t cancelled;	/* records left out */
	bool whole;		/* cancel nothing */
	struct hashindex pending;	/* allocations that a free may still cancel */
};

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
 * The keeper that a request names, borrowed, or NULL after an error was sent.
 * need_list: its list must still be there.
 */
struct keeper *answer_keeper(struct conn *, const struct wire_msg *,
    uint32_t index, const uint8_t epoch[WIRE_EPOCH], bool need_list);

/* False after an error was sent: only its user and root may. */
bool answer_may_control(struct conn *, const struct wire_msg *,
    const struct keeper *);

/* All numbers of a stream, as in STATS and ROWS. */
void answer_numbers(const struct keeper *, uint64_t out[WIRE_STATS_COUNT]);

/* --- tables.c ------------------------------------------------------- */

/*
 * The generic lookup: by name or, with an empty name, by index in one of the
 * node's tables DSTRM, types, LATBL.  Fills in all of *named; its texts are
 * borrowed from the table.  -ENOENT.
 */
int tables_find(struct node *, const struct wire_name *, struct wire_named *);

/*
 * The regions that a page may be told; returns how many.  None if the list lacks
 * some of their blocks: *why says why, else it is "".  *no changes with them.
 */
size_t tables_regions(const struct keeper *, struct wire_region *out,
    uint32_t *no, const char **why);

/* --- read.c --------------------------------------------------------- */

/* Records or blocks of one reply if so many are asked for; 0: as many as fit. */
size_t answer_max(uint32_t asked);

/* Writes one record as on the wire; returns its bytes. */
size_t answer_put_record(const struct keeper *, const struct rec *, int64_t ms,
    uint8_t *out);

/*
 * Appends a requester of the list, for item `at` of the reply; nothing for
 * index 0, for an unknown one, and beyond WIRE_INFO_MAX.  Its name is borrowed
 * from the list.
 */
void answer_put_info(struct wire_info *, size_t *ninfo, const struct keeper *,
    uint16_t index, size_t at);

#endif
