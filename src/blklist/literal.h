/*
 * The list of the 2004 note, to the letter.  Private; the tests look in.
 */
#ifndef BLKLIST_LITERAL_H
#define BLKLIST_LITERAL_H

#include "list.h"

/* Every record of it is written at once, so it cannot be as large as the other. */
#define LITERAL_MAX (UINT32_C(1) << 22)

struct arec {
	struct arec *aFwd;	/* next in ascending key, or next free one */
	uint64_t aKey;		/* what the list is ordered by */
	struct blk blk;		/* aInfo, aAddr, aSize, aFlag, aType, time ... */
};

struct literal {
	struct arec *aRec;	/* the array, aRecMax of them */
	struct arec *aHead;	/* active, ascending; NULL: none */
	struct arec *fHead;	/* free, last freed first */
	struct arec *aRecPtr;	/* the latest record processed, or NULL */
	uint32_t aRecFree;	/* on fHead */
	bool gone[LIST_CHUNK];	/* erased: its pair was left out ... */
	unsigned mate[LIST_CHUNK];	/* ... and began here */
};

#endif
