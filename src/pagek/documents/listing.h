/*
 * listing: the whole list as text, as of one sequence number, for who wants to
 * keep it: a node, a file, a pager.
 *
 * Vocabulary
 *	listing	a copy of the list's rows in the order shown, of all that is
 *		said above them, and of the names that belong to them.
 *	names	who asked, and the threads: the session knows them or asks for
 *		them, so they come after the copy, bit by bit.
 *	whole	all blocks are in it, and they are the list after one record.
 *
 * The copy is made at once, between two batches, or in portions as a picture is
 * paused; after that the list goes on and the listing does not.  What takes
 * long is done elsewhere: the functions that may run in another thread touch
 * nothing but the listing.
 *
 * Example
 *	listing_new(&l);
 *	listing_room(l, blocks);			in any thread
 *	while (listing_take(l, page, &view) == -EAGAIN)
 *		make a cycle;
 *	listing_sort(l, &stop);				in any thread
 *	while (!listing_names(l, &view, 500))		in the session's
 *		make a cycle;
 *	listing_write(l, fd, &stop);			in any thread
 *	listing_free(l);
 *
 * The parts, and who calls whom:
 *	listing.c	the copy and its text, with what stands above the rows;
 *			and what a word in *L<> means
 *	jobs/listing_job.c	all of it while the page goes on, as a job
 */
#ifndef PAGEK_LISTING_H
#define PAGEK_LISTING_H

#include <stdatomic.h>

#include "../page/view.h"

#define LISTING_HEAD_TITLE "K MEMORY BLOCKS\n"	/* each listing begins with it */

struct listing;

int listing_new(struct listing **);
void listing_free(struct listing *);
/*
 * Takes memory for about so many blocks, so that the copy need not; for any
 * thread.  A copy that finds too little takes more.  -ENOMEM.
 */
int listing_room(struct listing *, uint64_t blocks);

/*
 * Copies what the view shows, in the page's order, once, or what a filter
 * leaves of it; of a session that
 * holds a window only, the rows that are there: the text says so.  -EAGAIN:
 * what is filtered or sorted takes more portions, so with the next picture
 * again; it will be of the first call's moment.  -ENOMEM.
 */
int listing_take(struct listing *, struct page *, const struct page_view *);

/* Whose names are wanted.  -ENOMEM, -ECANCELED once `stop` is true. */
int listing_sort(struct listing *, const atomic_bool *stop);

/*
 * Goes through `most` of the callers whose names are not there yet and asks
 * the view for them; true when all are there.  After a whole round in vain
 * it begins anew.  A view of another stream knows none of them: true.
 */
bool listing_names(struct listing *, const struct page_view *, size_t most);
/* Callers whose names are not there yet, and how many there are. */
size_t listing_lacking(const struct listing *, size_t *all);
/* Threads whose names are not there yet. */
size_t listing_nameless(const struct listing *);

/*
 * Writes heading and rows.  0, or what write() said; -ECANCELED once `stop`
 * is true.
 */
int listing_write(struct listing *, int fd, const atomic_bool *stop);

/* Rows, and how many of them are written; in any thread. */
uint64_t listing_rows(const struct listing *);
uint64_t listing_written(const struct listing *);
/* Bytes of text, once it is written. */
uint64_t listing_bytes(const struct listing *);

/* "0590 redis-server[4711]", what it is filed under; outside text. */
#define LISTING_TITLE 400
void listing_title(const struct listing *, char out[LISTING_TITLE]);

/* --- where to (listing.c) -------------------------------------------- */

#define LISTING_WORD 1024

enum listing_kind {
	LISTING_NODE,
	LISTING_FILE,
	LISTING_PAGER,
};

struct listing_to {
	enum listing_kind kind;
	struct nodes_entry entry;	/* of a node */
	char text[LISTING_WORD];	/* of a file or a pager: path or command; else what
					   the node is called; outside text */
};

/* What stands in *L<> when nobody has said: this machine's number. */
void listing_own_number(char out[5]);

/*
 * The table of nodes is read anew for it.  0, or -EINVAL with a sentence of
 * outside text.
 */
int listing_to(struct listing_to *, const char *word, char *why, size_t cap);

#endif
