/*
 * sitemap: from the numbers that one target gives to its sites and modules to
 * those of a store.  Private to this room.
 *
 * A site is copied and put into the store when a record first names it; for
 * each record after that it is a load and a test.  A stack that has no place
 * in the store, or for want of a store, is its innermost return address.
 */
#ifndef STREAM_SITEMAP_H
#define STREAM_SITEMAP_H

#include "reader.h"
#include "stream.h"

struct sitemap {
	const struct reader *reader;
	struct stream_sites *sites;	/* a reference; NULL: none */
	uint64_t *caller;		/* by the target's number; grown as numbers come */
	size_t ncaller;			/* RING_SITES at most: 1 MiB */
	uint64_t full;			/* stacks that the store had no room for */
	uint16_t module[RING_MODULES];	/* by the target's number */
	bool module_known[RING_MODULES];
};

/* Beside the caller, in bits that none has: this one is known. */
#define SITEMAP_KNOWN (UINT64_C(1) << 63)

/* Its memory is the caller's, zeroed. */
void sitemap_init(struct sitemap *, const struct reader *);
void sitemap_fini(struct sitemap *);

/* The slow path: learns the site and rewrites the record. */
int sitemap_learn(struct sitemap *, struct rec *);

static inline void
sitemap_set(struct rec *rec, uint64_t caller)
{
	rec->w[3] = (rec->w[3] & ~REC_ADDR_MASK) | (caller & REC_ADDR_MASK);
}

/*
 * Puts the store's number for the target's.  0; -EPROTO for a site that is
 * none, -ENOMEM: the record is then as it was.
 */
static inline int
sitemap_rewrite(struct sitemap *m, struct rec *rec)
{
	uint64_t caller = rec_caller(rec), known;
	uint32_t no = rec_site(caller);

	if (!rec_is_site(caller))
		return 0;
	if (__builtin_expect(no >= m->ncaller, 0) ||
	    __builtin_expect((known = m->caller[no]) == 0, 0))
		return sitemap_learn(m, rec);
	sitemap_set(rec, known);
	return 0;
}

#endif
