/*
 * sites: the map from the numbers that one target gives to its sites and modules
 * to those of a store (stream.h).  Private to this room.
 *
 * A site is copied into the store when a record first names it; for each record
 * after that it is a load and a test.  A stack without a place in the store, or
 * without a store, is its innermost return address.
 */
#ifndef STREAM_SITES_H
#define STREAM_SITES_H

#include "reader.h"
#include "stream.h"

struct sitemap {
	const struct reader *reader;
	struct stream_sites *sites;	/* a reference; NULL: none */
	uint64_t *caller;		/* by the target's number; grown as numbers come */
	size_t ncaller;			/* RING_SITES at most: 1 MiB */
	uint64_t full;			/* records whose stack the store had no room for */
	uint16_t module[RING_MODULES];	/* by the target's number */
	bool module_known[RING_MODULES];
};

/* Beside the caller, in bits that none has: this one is known. */
#define SITEMAP_KNOWN (UINT64_C(1) << 63)

/* Its memory is the caller's, zeroed. */
void sitemap_init(struct sitemap *, const struct reader *);
void sitemap_fini(struct sitemap *);

/* The slow path: learns the target's site `no`. */
int sitemap_learn(struct sitemap *, uint32_t no);

/*
 * Puts the store's number for the target's into a record's word 3, whose
 * caller is a site.  0; -EPROTO for a site that is none, -ENOMEM: the word is
 * then as it was.
 */
static inline int
sitemap_caller(struct sitemap *m, uint64_t *w3)
{
	uint32_t no = rec_site(*w3 & REC_ADDR_MASK);
	uint64_t caller;
	int err;

	if ((__builtin_expect(no >= m->ncaller, 0) ||
		__builtin_expect(m->caller[no] == 0, 0)) &&
	    (err = sitemap_learn(m, no)) != 0)
		return err;
	caller = m->caller[no] & REC_ADDR_MASK;
	if (__builtin_expect(!rec_is_site(caller), 0))
		m->full += m->sites != NULL;
	*w3 = (*w3 & ~REC_ADDR_MASK) | caller;
	return 0;
}

#endif
