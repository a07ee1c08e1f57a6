/*
 * row_filter: lets the blocks through that a filter means.
 *
 * Vocabulary
 *	pass	looking at many blocks between two news of a session: what is
 *		known of them does not change meanwhile.
 *	caught	the blocks of a pass that were let through, and what they stand
 *		for in a sample.
 *	named	of a block: the answer depended on a name of its caller.
 *	unsure	of a block: the answer depended on a name of its caller or its
 *		thread, and that is not known, or a better one is on its way.
 *		What can be asked for was asked for; until it is there the
 *		answer is as good as what is known.
 *
 * Example
 *	page_sieve_begin(sieve, &view);
 *	for (i = 0; i < n; i++)
 *		if (page_sieve_lets(sieve, &rows[i]))
 *			...
 *
 * A sieve of NULL lets everything through, and counts nothing.
 */
#ifndef PAGEK_ROW_FILTER_H
#define PAGEK_ROW_FILTER_H

#include "../../filter/filter.h"
#include "../page/view.h"

struct page_sieve;

/* -EINVAL with the error filled; -ENOMEM. */
int page_sieve_new(struct page_sieve **, const char *expression,
    struct filter_error *);
/* Of a filter that outlives it.  -ENOMEM. */
int page_sieve_of(struct page_sieve **, const struct filter *);
void page_sieve_free(struct page_sieve *);

/* The expression as it was given; NULL of none. */
const char *page_sieve_text(const struct page_sieve *);

/* Names of threads or callers decide: they have to be fetched. */
bool page_sieve_wants_names(const struct page_sieve *);
/* ... or who requested the block. */
bool page_sieve_wants_requester(const struct page_sieve *);

/*
 * A pass over blocks of the view's list, which is borrowed, like all that it
 * has, until the next news.  Nothing is caught yet.
 */
void page_sieve_begin(struct page_sieve *, const struct page_view *);
/* Free memory is no block, and is kept back. */
bool page_sieve_lets(struct page_sieve *, const struct blk *);
/* Whether the last block was named. */
bool page_sieve_named(const struct page_sieve *);

struct page_caught {
	uint64_t blocks, bytes;
	double est_blocks, est_bytes;
	uint64_t unsure;	/* of all blocks that were looked at */
};

/* Since the pass began. */
struct page_caught page_sieve_caught(const struct page_sieve *);

/*
 * Two lines that show where an expression is wrong: the part of it around the
 * place, and a caret below; `cols` columns at most.
 */
void page_sieve_point(const char *expression, size_t at, int cols, bool ascii,
    char *lines, size_t cap);
/* The place as people count: characters from 1 on. */
size_t page_sieve_column(const char *expression, size_t at);

#endif
