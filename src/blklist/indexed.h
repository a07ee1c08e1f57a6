/*
 * The indexed list.  Private; the tests look in.
 *
 * Records lie in a store and are found three ways: by key through the hash,
 * in the order of age, and in the order of address.  An allocation or a free
 * touches one place in each; any window of either order costs the same.
 */
#ifndef BLKLIST_INDEXED_H
#define BLKLIST_INDEXED_H

#include "age.h"
#include "cancel.h"
#include "hash.h"
#include "regions.h"
#include "store.h"

struct indexed {
	struct store store;
	struct hash hash;
	struct age age;
	struct regions regions;
	struct cancel cancel;
	uint16_t todo[LIST_CHUNK];	/* records of the chunk that are in no pair */
	uint32_t tag[LIST_CHUNK];	/* their tags in the hash, in that order */
};

/*
 * indexed_trim.c.  Loose: 16 MiB and more of records were in use once, and all
 * but a small part of them are free.
 */
#define INDEXED_LOOSE (UINT32_C(16) * 1024 * 1024 / sizeof(struct store_node))
#define INDEXED_LOOSE_PART 32

static inline bool
indexed_is_loose(const struct blklist *l, const struct indexed *ix)
{
	return ix->store.fresh >= INDEXED_LOOSE &&
	    l->counts.aRecActive < ix->store.fresh / INDEXED_LOOSE_PART;
}

void indexed_trim(struct blklist *, struct indexed *);

/* indexed_resume.c */
int indexed_reopen(struct blklist *, const struct list_slot *, uint32_t since,
    uint64_t next);

/* indexed_view.c */
void indexed_row(const struct indexed *, uint32_t i, struct blk *out);
size_t indexed_window(const struct blklist *, enum blklist_order,
    uint32_t first, struct blk *out, size_t n);
size_t indexed_after(const struct blklist *, bool from_start, uint64_t key,
    struct blk *out, size_t n);
int indexed_get(const struct blklist *, uint64_t key, struct blk *out);
int64_t indexed_rank(const struct blklist *, enum blklist_order,
    uint64_t key);
size_t indexed_memory(const struct blklist *);
int indexed_check(const struct blklist *, char *why, size_t cap);

#endif
