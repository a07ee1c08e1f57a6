/*
 * Learning a target's sites.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "sitemap.h"

#define GROW_AT_LEAST 1024

void
sitemap_init(struct sitemap *m, const struct reader *reader)
{
	m->reader = reader;
}

void
sitemap_fini(struct sitemap *m)
{
	if (m->sites != NULL)
		stream_sites_unref(m->sites);
	free(m->caller);
	m->sites = NULL;
	m->caller = NULL;
	m->ncaller = 0;
}

/* Room for number `no`, one that the reader has found to be a site's. */
static int
make_room(struct sitemap *m, uint32_t no)
{
	size_t want = m->ncaller < GROW_AT_LEAST ? GROW_AT_LEAST : m->ncaller;
	uint64_t *grown;

	while (want <= no)
		want *= 2;
	if (want == m->ncaller)
		return 0;
	grown = realloc(m->caller, want * sizeof(*grown));
	if (grown == NULL)
		return -ENOMEM;
	memset(grown + m->ncaller, 0, (want - m->ncaller) * sizeof(*grown));
	m->caller = grown;
	m->ncaller = want;
	return 0;
}

/* A module that the store does not take is not known. */
static int
learn_module(struct sitemap *m, unsigned no)
{
	struct reader_module got;
	struct stream_module put;
	unsigned stored = 0;
	int err;

	if ((err = reader_module(m->reader, no, &got)) != 0)
		return err;
	put = (struct stream_module){
		.start = got.start,
		.end = got.end,
		.bias = got.bias,
		.build_id_len = got.build_id_len,
		.path = got.path,
		.cut = got.cut,
		.seen_ns = base_wall_ns(),
	};
	memcpy(put.build_id, got.build_id, got.build_id_len);
	(void)stream_sites_put_module(m->sites, &put, &stored);
	m->module[no] = (uint16_t)stored;
	m->module_known[no] = true;
	return 0;
}

/* The frames as the store has them: its numbers for their modules. */
static int
translate(struct sitemap *m, struct reader_site *site)
{
	int err;

	for (unsigned i = 0; i < site->depth; i++) {
		unsigned no = frame_module(site->frame[i]);

		if (no != 0 && !m->module_known[no] &&
		    (err = learn_module(m, no)) != 0)
			return err;
		site->frame[i] = frame_make(frame_pc(site->frame[i]),
		    m->module[no]);
	}
	return 0;
}

/* The innermost return address, unless it could be taken for a site. */
static uint64_t
innermost(const struct reader_site *site)
{
	uint64_t pc = frame_pc(site->frame[0]);

	return rec_is_site(pc) ? 0 : pc;
}

int
sitemap_learn(struct sitemap *m, uint32_t no)
{
	struct reader_site site;
	uint64_t caller;
	uint32_t stored;
	int err;

	if ((err = reader_site(m->reader, no, &site)) != 0 ||
	    (err = make_room(m, no)) != 0)
		return err;
	caller = innermost(&site);
	if (m->sites != NULL) {
		if ((err = translate(m, &site)) != 0)
			return err;
		if (stream_sites_put(m->sites, site.frame, site.depth,
			site.end, &stored) == 0)
			caller = rec_site_caller(stored);
	}
	m->caller[no] = SITEMAP_KNOWN | caller;
	return 0;
}
