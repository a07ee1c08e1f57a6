/*
 * realloc_chains: blocks of the mark that realloc() has grown, shrunk or
 * moved.
 *
 * Vocabulary
 *	move	one realloc(): a block has become another one in the list, with
 *		another number (blklist.h).
 *	chain	a block of the mark with all its moves: one to the program,
 *		several to the list.
 *	root	its number at the mark.
 *	earlier	numbers that a chain has had since the mark and has no more: a
 *		picture from before its last move has them.
 *	missed	a move that could not be followed.  From there on the chain is
 *		one block that was freed and one that is new.
 *
 * The list remembers only its last moves: they are read with each picture,
 * also while an older one is shown.
 *
 * Example
 *	page_chains_new(&c, list, mark_seq);
 *	...
 *	page_chains_read(c, list);		with each picture
 *	...
 *	chain = page_chains_find(c, blk.seq);
 *	if (chain != NULL)
 *		printf("%llu bytes, %llu at the mark", blk.size, chain->size);
 */
#ifndef PAGEK_REALLOC_CHAINS_H
#define PAGEK_REALLOC_CHAINS_H

#include "../../base/hashmap.h"
#include "../../blklist/blklist.h"

#define PAGE_CHAINS_MAX (UINT32_C(1) << 20)
#define PAGE_CHAINS_EARLIER (UINT32_C(1) << 17)	/* numbers */

struct page_chain {
	uint64_t root;
	uint64_t size;		/* at the mark, bytes */
	uint64_t now;		/* its number after the last move ... */
	uint64_t addr;		/* ... and its address */
	uint8_t layer;
};

struct page_chain_number {
	uint64_t seq;
	uint32_t chain;
};

struct page_chains {
	uint64_t mark;		/* number of the last record at it */
	int64_t since_ns;	/* tells the list that was read last from others ... */
	uint64_t read;		/* ... of which so many moves were read ... */
	uint64_t untold;	/* ... and so many it had not recorded */
	uint64_t missed;
	bool blind;		/* moves were missed, and it is not known how many */
	bool forgot;		/* earlier numbers were dropped: old pictures miss moves */

	struct page_chain *chain;	/* owned */
	size_t n, cap;
	struct hashmap numbers;	/* of struct page_chain_number */
	uint64_t *earlier;	/* a ring of PAGE_CHAINS_EARLIER numbers; owned */
	uint64_t nearlier;	/* ever */
};

/* Follows the list's moves after the record with number `mark`.  -ENOMEM. */
int page_chains_new(struct page_chains **, const struct blklist *,
    uint64_t mark);
void page_chains_free(struct page_chains *);

/* Reads new moves, of another list all.  Without memory a move is missed. */
void page_chains_read(struct page_chains *, const struct blklist *);

/*
 * The chain that has, or has had, a block of that number; NULL: none.  Borrowed
 * until the next read.
 */
struct page_chain *page_chains_find(const struct page_chains *, uint64_t seq);

#endif
