/*
 * What of a kept list is kept beside its records.  Private.
 *
 * The first piece.  In its slots a commit writes what cannot be found out from
 * the records that are listed; the words before them are true at every
 * instruction.  So after a kill nothing has to be done again, only to be taken
 * back: records tell by their sequence numbers that they came after the
 * commit, and the ring of removed blocks has what went after it.
 *
 * Pieces are taken in this order: this one, limbo twice, requesters, records,
 * their requesters, runs twice, the journal of ages, the ring of the removed.
 */
#ifndef BLKLIST_COMMIT_H
#define BLKLIST_COMMIT_H

#include "list.h"

/* Another one wherever the meaning of a kept word changes; sizes say themselves. */
#define LIST_LAYOUT UINT64_C(0x506b4c6973740001)

struct list_slot {
	uint64_t generation;		/* of the commit; 0: none yet */
	uint64_t outside;
	uint64_t removed_n;
	uint64_t period;
	uint64_t legal[4];
	struct blklist_counts counts;
	struct list_estimate est;
	struct list_adapt adapt;
	uint32_t infos;
	uint32_t since_click;		/* 0 or not ... */
	uint32_t opaque;
};

struct list_kept {
	uint64_t layout;		/* written last of a new list */
	uint64_t generation;		/* of the latest commit */
	uint64_t outside;		/* changes that no record made, which cannot be taken back */
	uint64_t removed_from;		/* removed blocks before this one have been written over */
	uint64_t runs;			/* which runs of ages count, and how many: age.c */
	uint32_t removed_cap;
	uint32_t ready;			/* no record from this one on is listed */
	uint32_t limbo_used;
	uint32_t any_info;		/* a record may have one */
	struct list_slot slot[2];
};

/* The first pieces.  -ENOMEM, -ESTALE when they are not such a list's. */
int list_kept_take(struct blklist *);

#endif
