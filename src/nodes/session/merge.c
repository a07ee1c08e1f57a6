#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "merge.h"

void
merge_init(struct merge *m)
{
	memset(m, 0, sizeof *m);
}

void
merge_fini(struct merge *m)
{
	free(m->part);
	memset(m, 0, sizeof *m);
}

void
merge_reset(struct merge *m)
{
	m->n = 0;
	m->all = false;
}

int
merge_part(struct merge *m, uint64_t upto, uint64_t as_of, bool last,
    uint64_t cursor)
{
	const struct merge_part *before = m->n > 0 ? &m->part[m->n - 1] : NULL;
	void *array = m->part;
	int err;

	if (m->all)
		return -EPROTO;
	if (before != NULL && (as_of < before->as_of ||
	    (!last && upto <= before->upto)))
		return -EPROTO;
	/* Records of this range were skipped up to the cursor. */
	if (before != NULL && as_of + 1 < cursor)
		return -EPROTO;
	err = base_grow(&array, &m->cap, m->n + 1, sizeof *m->part);
	if (err < 0)
		return err;
	m->part = array;
	m->part[m->n++] = (struct merge_part){
		.upto = last ? UINT64_MAX : upto,
		.as_of = as_of,
	};
	m->all = last;
	return 0;
}

bool
merge_complete(const struct merge *m)
{
	return m->all;
}

bool
merge_settled(const struct merge *m, uint64_t cursor)
{
	return m->all && cursor > m->part[m->n - 1].as_of;
}

/* Parts taken before record `seq`: the first of the array. */
static size_t
parts_before(const struct merge *m, uint64_t seq)
{
	size_t i;

	BASE_FIND_FIRST(i, m->n, m->part[i].as_of >= seq);
	return i;
}

bool
merge_admit(const struct merge *m, struct rec *r, uint64_t seq)
{
	size_t parts = parts_before(m, seq);
	uint64_t horizon, first, last, addr, size;

	/* A failed request has no address: it only counts. */
	if (rec_op(r) == REC_ALLOC && rec_level(r) == REC_LEVEL_FAILED)
		return true;
	if (parts == 0)
		return false;
	horizon = m->part[parts - 1].upto;
	if (rec_op(r) != REC_RANGE)
		return merge_key(rec_layer(r), rec_addr(r)) <= horizon;

	addr = rec_addr(r);
	size = rec_size(r);
	first = merge_key(1, addr);
	if (size == 0 || first > horizon)
		return false;
	last = first + size - 1;
	if (last > horizon)
		r->w[1] = rec_w1(horizon - first + 1, rec_thread(r));
	return true;
}
