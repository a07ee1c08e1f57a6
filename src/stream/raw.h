/*
 * raw: classic records out of a stream of bytes that may be damaged: a serial
 * line, a pipe, a file.
 *
 * A classic record has neither a mark where it begins nor a sum over what it
 * holds.  It looks valid when its high nibble is A or F and its time is a
 * date, and what tells more is its neighbours: records follow each other
 * without a gap, and their times go on.
 *
 * Vocabulary
 *	run	RAW_RUN valid records in a row, each at the time of the one
 *		before or later; after a slip, by a day at most.
 *	locked	the next record begins where the last one ended.
 *	slip	what stands there is no record: the lock is lost, and bytes are
 *		skipped until a run begins.  So is what stands before the first
 *		run, but for the end of a record that began before us.
 *	doubt	a byte too many or too few inside a record leaves its end looking
 *		like a whole record with another address.  So the first
 *		record after a slip may be wrong whatever it looks like, and of
 *		the last one before it the time.
 *	alone	a run at no time soon after the last record's (RAW_AHEAD_MS)
 *		counts only where no other alignment has one.
 *	quiet	nothing came for a while: the last record is not waiting for
 *		another one to vouch for it.
 *
 * A record is believed when it adjoins a believed one and is followed by a
 * record or by quiet.  In doubt an allocation is left out, for it would show
 * a block that may not be there; a free is taken, for at worst it hides one,
 * where leaving it out would show a block for ever that is gone.
 *
 * The same record twice in a row is one that was sent twice: nobody is given a
 * block that he has.  The second one is skipped.
 *
 * What cannot be seen: bytes that are changed in place and still make a date,
 * and a loss whose length is a multiple of 16: head and tail of two records
 * then make one.
 *
 *	raw_init(&r, true);
 *	while ((n = read(fd, buf, sizeof buf)) > 0)
 *		raw_put(&r, buf, n, take, arg);
 *	raw_end(&r, take, arg);
 *
 * At any time bytes == 16 * records + skipped + held.
 */
#ifndef STREAM_RAW_H
#define STREAM_RAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

#define RAW_RUN 3
#define RAW_AHEAD_MS (60 * 60 * 1000)

/* More than it takes to decide on the bytes in front. */
#define RAW_HELD (2 * (RAW_RUN + 1) * REC_CLASSIC_SIZE)

struct raw_counts {
	uint64_t bytes;			/* that came */
	uint64_t records;		/* that were taken */
	uint64_t skipped;		/* bytes that are in none of them */
	uint64_t slips;			/* times that the lock was lost, or not found at once */
	uint64_t doubled;		/* records that were the last one again, byte for byte; skipped */
	uint64_t left_out;		/* allocations in doubt; their bytes are skipped ones */
};

struct raw {
	uint8_t buf[RAW_HELD];
	size_t held;			/* bytes in buf, not yet decided on */
	bool locked;
	bool adjoins;			/* buf begins where a believed record ended, or the stream began */
	bool lost;			/* what is skipped by now is of a slip that was counted */
	size_t spare;			/* bytes before the first lock that may be skipped without one */
	bool timed;			/* some record was believed ... */
	int64_t ms;			/* ... and the last one had this time */
	uint8_t last[REC_CLASSIC_SIZE];	/* that was taken; zeroes are no record */
	struct raw_counts n;
};

/* A record that is believed, as it came. */
typedef void (*raw_take_fn)(void *arg, const uint8_t rec[REC_CLASSIC_SIZE]);

/*
 * aligned: the first byte begins a record.  Not so where the stream was there
 * before us: then the first record is as after a slip.
 */
void raw_init(struct raw *, bool aligned);
void raw_put(struct raw *, const uint8_t *, size_t n, raw_take_fn, void *arg);

/* Nothing has come for a while: what is certain by now is taken. */
void raw_quiet(struct raw *, raw_take_fn, void *arg);

/*
 * Nothing more comes: as quiet, and the rest is skipped.  Another stream may
 * begin, aligned.
 */
void raw_end(struct raw *, raw_take_fn, void *arg);

#endif
