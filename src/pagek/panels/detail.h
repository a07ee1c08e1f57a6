/*
 * detail: all that is known of one block, and kin: who calls a function and
 * whom it calls.  Both lie over the page; app.h knows when.
 *
 * Vocabulary
 *	call	a line of the block's stack (calls.h); the cursor is on one, or
 *		behind them on a block that was born together with this one.
 *	history	who has had its address, as far as the page has seen.
 *	kin	callers and callees of a function: the sums of the blocks that
 *		were asked for through both.
 *
 * Example
 *	page_detail_open(&d, v, &blk);
 *	page_detail_compose(&d, page, v, cols, rows, &pic);
 *	page_detail_move(&d, 1);
 *	if (page_detail_call(&d, v, &call))
 *		page_kin_open(&k, &blk, &call);
 *	page_kin_compose(&k, page, v, cols, rows, &pic);
 */
#ifndef PAGEK_DETAIL_H
#define PAGEK_DETAIL_H

#include "../picture/picture.h"
#include "../groups/siblings.h"
#include "../groups/groups.h"

/* --- one block (detail.c) ----------------------------------------------- */

struct page_detail {
	struct blk blk;
	unsigned layer;		/* it has an address of its own in each */
	uint32_t stream_no;	/* its stream's */
	char info[16];		/* its requester; "" none */
	bool freed;
	int64_t freed_ms;	/* on the node's clock, when it was noticed */
	bool again;		/* its address holds another block */
	unsigned frame, outer;	/* the call under the cursor ... */
	bool among;		/* ... or it is on one of those born with it ... */
	uint64_t among_seq, among_addr;	/* ... this one */
	struct page_siblings born;
	int at;			/* what is under the cursor is so many lines down ... */
	int last_call, first_born;	/* ... and so are these; 0 there is none */
	bool placed;		/* all that is so: a picture was made since the last move */
	bool seek;		/* the cursor has been moved: it is kept in sight */
	struct page_scroll scroll;
};

void page_detail_open(struct page_detail *, const struct page_view *,
    const struct blk *);
/* `rows` lines, the title the first of them.  -ENOMEM. */
int page_detail_compose(struct page_detail *, const struct page *,
    const struct page_view *, int cols, int rows, struct page_picture *);
/* The cursor by so many calls, and blocks that were born together behind them. */
void page_detail_move(struct page_detail *, const struct page_view *,
    int delta);
/* The call under the cursor; false: there is none. */
bool page_detail_call(const struct page_detail *, const struct page_view *,
    struct page_call *);
/* The block under the cursor; false: it is on a call. */
bool page_detail_block(const struct page_detail *, struct blk *);
/*
 * The block of the same layer that lies next to it in memory, behind it or
 * before it; false: there is none, or the list is not there to tell.
 */
bool page_detail_neighbour(const struct page_detail *,
    const struct page_view *, bool behind, struct blk *);

/* --- one function (callers.c) ----------------------------------------------- */

#define PAGE_KIN_ROWS 256	/* callers, and as many callees */
#define PAGE_KIN_DEPTH 64	/* steps that Esc goes back */

struct page_kin {
	struct {
		struct page_group_ref of;	/* the function looked at */
		char name[256];		/* "zmalloc  zmalloc.c:112"; outside text */
		int selected;
	} step[PAGE_KIN_DEPTH];
	int steps;
	struct profile_group row[2 * PAGE_KIN_ROWS];	/* callers, then callees */
	size_t callers, callees;
	struct profile_group self;	/* the function itself; no name: nothing of it lives */
	uint64_t serial;		/* of the groups that rows are from; 0 none */
	struct page_scroll scroll;
};

void page_kin_open(struct page_kin *, uint64_t caller,
    const struct page_call *);
int page_kin_compose(struct page_kin *, struct page *,
    const struct page_view *, int cols, int rows, struct page_picture *);
void page_kin_move(struct page_kin *, int delta);
/* To the function under the cursor; false: there is none. */
bool page_kin_go(struct page_kin *, const struct page_view *);
/* Where one came from; false: that was not among kin. */
bool page_kin_back(struct page_kin *);

#endif
