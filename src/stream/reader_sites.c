/*
 * Sites and modules of a target, copied out of its ring area.  They are read
 * when a record first names them, and never again.
 */
#include <errno.h>
#include <string.h>

#include "reader.h"

static const void *
at(const struct reader *r, size_t offset)
{
	return (const char *)r->area + offset;
}

int
reader_site(const struct reader *r, uint32_t no, struct reader_site *out)
{
	const struct ring_site *sites = at(r, ring_sites_offset());
	const uint64_t *frames = at(r, ring_frames_offset());
	unsigned depth, end;
	uint64_t word;
	uint32_t first;

	if (no == 0 || no >= RING_SITES)
		return -EPROTO;
	word = atomic_load_explicit(&sites[no].word, memory_order_acquire);
	first = ring_site_at(word);
	depth = ring_site_depth(word);
	end = ring_site_end(word);
	if (depth == 0 || depth > RING_STACK_MAX || end == 0 ||
	    end >= RING_END_ALONE || first == 0 || first > RING_FRAMES - depth)
		return -EPROTO;
	for (unsigned i = 0; i < depth; i++) {
		out->frame[i] = __atomic_load_n(&frames[first + i],
		    __ATOMIC_RELAXED);
		if (frame_module(out->frame[i]) >= RING_MODULES)
			return -EPROTO;
	}
	out->depth = depth;
	out->end = end;
	return 0;
}

int
reader_module(const struct reader *r, unsigned no, struct reader_module *out)
{
	const struct ring_module *shared = at(r, ring_modules_offset());
	struct ring_module m;
	uint64_t word[sizeof(m) / sizeof(uint64_t)];
	const uint64_t *from;

	_Static_assert(sizeof(word) == sizeof(m), "words and no rest");
	if (no == 0 || no >= RING_MODULES ||
	    atomic_load_explicit(&shared[no].valid, memory_order_acquire) != 1)
		return -EPROTO;
	from = (const uint64_t *)(const void *)&shared[no];
	for (size_t i = 0; i < sizeof(word) / sizeof(word[0]); i++)
		word[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
	memcpy(&m, word, sizeof(m));
	if (m.build_id_len > sizeof(m.build_id) || m.start >= m.end ||
	    m.end > REC_ADDR_MASK + 1)
		return -EPROTO;
	out->start = m.start;
	out->end = m.end;
	out->bias = m.bias;
	out->build_id_len = m.build_id_len;
	memcpy(out->build_id, m.build_id, m.build_id_len);
	memcpy(out->path, m.path, sizeof(m.path));
	out->path[sizeof(m.path)] = '\0';
	out->cut = memchr(m.path, '\0', sizeof(m.path)) == NULL;
	return 0;
}
