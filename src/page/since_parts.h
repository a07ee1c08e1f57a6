/*
 * since_parts: what the comparisons of since.h (since.c), their walk
 * (since_walk.c) and their groups (since_groups.c) share; private to them.
 */
#ifndef PAGEK_SINCE_PARTS_H
#define PAGEK_SINCE_PARTS_H

#include "since.h"

void since_add_sum(struct page_since_sum *to, const struct page_since_sum *of);

/* The page's groups are made by when blocks were allocated. */
bool since_by_time(const struct page *);
/* The kind that this one's groups have: the page's, or in its place functions. */
unsigned since_kind_for(const struct page_since *, const struct page *);
/* The cell is in the group whose blocks are listed. */
bool since_is_of(struct page_since *, struct page_since_cell *);

/* Which cell a block is summed in: its index, or -ENOMEM. */
int64_t since_cell(struct page_since *, const struct blk *, uint64_t tag);

void since_walk_begin(struct page_since *, const struct page_view *);
/* One step of two walks side by side, both by age; *over at the end of both. */
int since_walk_step(struct page_since *, const struct page *,
    const struct page_view *, bool *over);
/* What was walked through is to be shown. */
void since_walk_end(struct page_since *);
void since_no_rows(struct page_since_found *);

/* Begins anew; next does a portion, and is SINCE_IDLE at the end.  -ENOMEM. */
int since_fold_begin(struct page_since *, struct page *,
    const struct page_view *);
int since_fold_next(struct page_since *, const struct page_view *);

#endif
