/*
 * detail: all that is known of one block (detail.c), and the callers and
 * callees of a function (callers.c).
 *
 * Vocabulary
 *	call	a line of the block's stack (calls.h).
 *	sibling	a block that was born with this one.  The cursor is on a call, or
 *		below the calls on a sibling.
 *	history	the blocks that were seen at its address.
 *	callers	functions that call a function, with the sums of the blocks
 *		requested through both; callees are those that it calls.
 *
 * Example
 *	page_detail_open(&d, v, &blk);
 *	page_detail_compose(&d, page, v, &source, cols, rows, &pic);
 *	page_detail_move(&d, 1);
 *	if (page_detail_call(&d, v, &call))
 *		page_callers_open(&k, blk.caller, &call);
 *	page_callers_compose(&k, page, v, cols, rows, &pic);
 */
#ifndef PAGEK_DETAIL_H
#define PAGEK_DETAIL_H

#include "../picture/picture.h"
#include "../groups/siblings.h"
#include "../groups/groups.h"
#include "../page/calls.h"

/* --- one block (detail.c) ----------------------------------------------- */

/* The source line of the call under the cursor, as it is on this machine. */
struct page_source {
	enum {
		PAGE_SOURCE_NONE,	/* the call has no file */
		PAGE_SOURCE_READING,
		PAGE_SOURCE_READ,
		PAGE_SOURCE_FAILED,
	} state;
	int err;			/* FAILED: a negative errno */
	bool newer;			/* than the program: the line may be another one */
	bool beyond;			/* the file has fewer lines */
	unsigned line;			/* 0: not known */
	char path[PAGE_NAME_MAX];	/* outside text */
	char text[512];			/* outside text */
};

struct page_detail {
	struct blk blk;
	unsigned layer;
	uint32_t stream_no;	/* its stream's */
	char info[16];		/* its requester; "" none */
	bool freed;
	int64_t freed_ms;	/* on the node's clock, when the page noticed */
	bool again;		/* its address holds another block */
	unsigned frame, outer;	/* the call under the cursor ... */
	bool on_sibling;	/* ... which is on a sibling instead ... */
	uint64_t sibling_seq, sibling_addr;	/* ... this one */
	struct page_siblings siblings;
	bool placed;		/* a picture was made since the last move: these lines are right */
	int at;			/* of the cursor ... */
	int last_call, first_sibling;	/* ... and of these; 0 there is none */
	bool seek;		/* the cursor has moved: the picture scrolls to it */
	int bring;		/* lines scrolled; the cursor follows */
	int in_sight;		/* the call or block that it follows to; -1: none */
	struct page_scroll scroll;
};

void page_detail_open(struct page_detail *, const struct page_view *,
    const struct blk *);
/* `rows` lines, the title the first of them.  -ENOMEM. */
int page_detail_compose(struct page_detail *, const struct page *,
    const struct page_view *, const struct page_source *, int cols, int rows,
    struct page_picture *);
void page_detail_move(struct page_detail *, const struct page_view *,
    int delta);
/* Scrolls the lines; the cursor moves only if it would be out of sight. */
void page_detail_scroll(struct page_detail *, int delta);
/* The call under the cursor; false: there is none. */
bool page_detail_call(const struct page_detail *, const struct page_view *,
    struct page_call *);
/* The block under the cursor; false: there is none. */
bool page_detail_block(const struct page_detail *, struct blk *);
/*
 * The next block of the same layer in memory, behind it or before it; false:
 * there is none, or the list does not have all blocks.
 */
bool page_detail_neighbour(const struct page_detail *,
    const struct page_view *, bool behind, struct blk *);

/* --- one function (callers.c) ----------------------------------------------- */

#define PAGE_CALLERS_ROWS 256	/* callers, and as many callees */
#define PAGE_CALLERS_DEPTH 64	/* steps that Esc goes back */

struct page_callers {
	struct {
		struct page_group_ref of;	/* the function looked at */
		char name[256];		/* "zmalloc  zmalloc.c:112"; outside text */
		int selected;
	} step[PAGE_CALLERS_DEPTH];
	int steps;		/* the last one is shown */
	struct profile_group row[2 * PAGE_CALLERS_ROWS];	/* callers, then callees */
	size_t callers, callees;
	struct profile_group self;	/* the function itself; name NULL: it has no block */
	uint64_t serial;		/* of the groups that the rows are of; 0 none */
	struct page_scroll scroll;
};

void page_callers_open(struct page_callers *, uint64_t caller,
    const struct page_call *);
int page_callers_compose(struct page_callers *, struct page *,
    const struct page_view *, int cols, int rows, struct page_picture *);
void page_callers_move(struct page_callers *, int delta);
/* Goes to the function under the cursor; false: there is none. */
bool page_callers_go(struct page_callers *, const struct page_view *);
/* Goes back to the function before; false: this is the first. */
bool page_callers_back(struct page_callers *);

#endif
