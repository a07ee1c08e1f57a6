/*
 * realloc_chains: blocks of the mark that realloc() has grown, shrunk or moved.
 *
 * Vocabulary
 *	move	one realloc: a block that has become another one in the list,
 *		with another number (blklist.h).
 *	chain	a block of the mark with all moves since: one block to its
 *		program, and as many to the list.
 *	root	its number at the mark.
 *	past	numbers that a chain has had since the mark and has no more: by
 *		them it is known in a picture of before its last move.
 *	missed	a move that could not be followed.  From there on the chain is
 *		a block that was freed and another that is new.
 *
 * A block that is new since the mark needs no chain: whatever realloc makes of
 * it, one block of it is there, and it is new.
 *
 * Moves are read with each picture from the list as it is now, also while an
 * older picture is shown, for the list remembers but the last of them.
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
#define PAGE_CHAINS_PAST (UINT32_C(1) << 17)	/* as many as the page's past has freed blocks */

struct page_chain {
	uint64_t root;
	uint64_t size;		/* at the mark, bytes */
	uint64_t now;		/* its number by the last move ... */
	uint64_t addr;		/* ... and where it is then */
	uint8_t layer;
};

/* A number that a chain has or had. */
struct page_chain_number {
	uint64_t seq;
	uint32_t chain;
};

struct page_chains {
	uint64_t mark;		/* number of the last record by then */
	int64_t since_ns;	/* by it the list is known that was read last */
	uint64_t read;		/* moves of that one */
	uint64_t untold;
	uint64_t missed;
	bool blind;		/* moves were missed of which there is no count ... */
	bool forgot;		/* past numbers were: only pictures of before know less */

	struct page_chain *chain;	/* owned */
	size_t n, cap;
	struct hashmap numbers;	/* of struct page_chain_number */
	uint64_t *past;		/* PAGE_CHAINS_PAST of them, once there is one; owned */
	uint64_t npast;		/* ever */
};

/* Moves of that list count from the record with that number on.  -ENOMEM. */
int page_chains_new(struct page_chains **, const struct blklist *,
    uint64_t mark);
void page_chains_free(struct page_chains *);

/*
 * What is new since the last time; of another list all that it has.  Without
 * memory for a move it is missed.
 */
void page_chains_read(struct page_chains *, const struct blklist *);

/*
 * The chain that has or had a block of that number, its root too; NULL: none.
 * Borrowed until the next read.
 */
struct page_chain *page_chains_find(const struct page_chains *, uint64_t seq);

#endif
