/* Pages on the wire: numbers in their order, little-endian. */
#include <errno.h>

#include "../base/base.h"
#include "refcnt.h"

#define COUNTERS_AT REFCNT_ROW_SIZE(0)

void
refcnt_row_put(uint8_t *out, const struct refcnt_page *p)
{
	const uint64_t n[] = { p->vaddr, p->paddr, p->page_size, p->heat,
		p->reads, p->writes, (uint64_t)p->since_ms,
		(uint64_t)p->last_ms };

	for (size_t i = 0; i < BASE_NELEM(n); i++)
		base_put_le(out + 8 * i, n[i], 8);
	base_put_le(out + 64, (uint32_t)p->cnodeid, 4);
	base_put_le(out + 68, p->flags, 4);
	out[72] = p->counters;
	out[73] = p->source;
	for (size_t i = 0; i < p->counters; i++)
		base_put_le(out + COUNTERS_AT + 8 * i, p->counter[i], 8);
}

int
refcnt_row_get(struct refcnt_page *p, const uint8_t *in, unsigned counters)
{
	if (in[72] != counters || counters > REFCNT_COUNTERS ||
	    in[73] >= REFCNT_SOURCES)
		return -EINVAL;
	*p = (struct refcnt_page){
		.vaddr = base_get_le(in, 8), .paddr = base_get_le(in + 8, 8),
		.page_size = base_get_le(in + 16, 8),
		.heat = base_get_le(in + 24, 8),
		.reads = base_get_le(in + 32, 8),
		.writes = base_get_le(in + 40, 8),
		.since_ms = (int64_t)base_get_le(in + 48, 8),
		.last_ms = (int64_t)base_get_le(in + 56, 8),
		.cnodeid = (int32_t)base_get_le(in + 64, 4),
		.flags = (uint32_t)base_get_le(in + 68, 4),
		.counters = in[72], .source = in[73],
	};
	for (size_t i = 0; i < counters; i++)
		p->counter[i] = base_get_le(in + COUNTERS_AT + 8 * i, 8);
	return 0;
}
