/*
 * made: rows as they were made for the last pictures.
 *
 * Of the rows that a picture shows, most say what they said a fifteenth of a
 * second ago; to make their text again costs more than all the rest of a
 * picture.  A row is taken from here while its block, what it shows of the
 * node's clock and all that is the same for every row (the key) are what they
 * were, and for a second at most: a name that might be another by now, such as a
 * thread's, is then asked for again.  Until its answer has come the row says
 * what it said.
 *
 * Example
 *	page_made_begin(made, &key, v);
 *	if (!page_made_put(made, v, &blk, pic)) {
 *		...				write the row
 *		page_made_keep(made, v, &blk, pic);
 *	}
 */
#ifndef PAGEK_MADE_H
#define PAGEK_MADE_H

#include "picture.h"
#include "times.h"

struct page_made;

/* Compared bytewise: to be filled from all zeros. */
struct page_made_key {
	const void *layout;
	uint64_t names_no;	/* see nodes_session_names_no() */
	int64_t wall_ahead;	/* page_time_wall_ahead() */
	uint32_t stream_no, types_no;
	unsigned round;		/* page->round */
	int cols;
	int units;
	int ascii;
	int utc;
	int strict;		/* it is the note's row alone */
};

/* NULL when there is no memory: rows are then made each time. */
struct page_made *page_made_new(void);
void page_made_free(struct page_made *);

void page_made_begin(struct page_made *, const struct page_made_key *,
    const struct page_view *);
/* Writes the row into the line that has been begun; false: it is not there. */
bool page_made_put(struct page_made *, const struct page_view *,
    const struct blk *, struct page_picture *);
/* How many rows were taken from here so far, and how many were not; NULL: none. */
void page_made_counts(const struct page_made *, uint64_t *taken,
    uint64_t *made);
/* The line as it is now is that row, and what the view holds is the row's alone. */
void page_made_keep(struct page_made *, const struct page_view *,
    const struct blk *, const struct page_picture *);

#endif
