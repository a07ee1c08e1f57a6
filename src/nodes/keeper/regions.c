/*
 * Memory of which every block is in the stream, so that the rest is free.  The
 * target says where a region begins and ends (alloclog_region(3)), from
 * different threads, so in any order: beginning and end of one number cancel.
 * Of overlapping ones the highest number counts, for a program may forget to
 * end a pool's.
 *
 * The target says where a region begins and ends (alloclog_region(3)), each with
 * the region's number.  The two come from different threads and so in any
 * order: a beginning and the end of its number cancel each other.  Where regions
 * overlap, the one with the highest number counts, for a program that forgets to
 * end a pool's region lays the next one over it.
 *
 * A target that has declared more than there is room for has no regions any
 * more: later ends might be of those that were left out.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "keeper.h"

static void
set_overrun(struct region_set *set)
{
	set->overrun = true;
	set->n = set->nended = 0;
}

/* True if the region's end has come before; it is taken out. */
static bool
take_ended(struct region_set *set, uint32_t no)
{
	for (unsigned i = 0; i < set->nended; i++)
		if (set->ended[i] == no) {
			set->ended[i] = set->ended[--set->nended];
			return true;
		}
	return false;
}

static void
begin_region(struct region_set *set, uint32_t no, const struct rec *rec)
{
	struct wire_region *r;
	char name[9] = "";

	if (take_ended(set, no) || rec_size(rec) == 0 ||
	    rec_size(rec) > REC_ADDR_MASK - rec_addr(rec))
		return;
	if (set->n == REGION_SET_MAX) {
		set_overrun(set);
		return;
	}
	r = &set->at[set->n].region;
	*r = (struct wire_region){
		.base = rec_addr(rec),
		.size = rec_size(rec),
		.head = (uint16_t)rec->w[2],
		.align = (uint16_t)(rec->w[2] >> 16),
	};
	memcpy(name, &rec->w[3], 8);
	base_safe_text(r->name, sizeof r->name, name, strlen(name), false);
	set->at[set->n++].no = no;
}

static void
end_region(struct region_set *set, uint32_t no)
{
	for (unsigned i = 0; i < set->n; i++)
		if (set->at[i].no == no) {
			set->at[i] = set->at[--set->n];
			return;
		}
	if (set->nended == REGION_SET_MAX)
		set_overrun(set);
	else
		set->ended[set->nended++] = no;
}

void
region_set_control(struct region_set *set, const struct rec *rec)
{
	uint32_t no = (uint32_t)(rec->w[2] >> 32);

	if (set->overrun)
		return;
	if (rec_type(rec) == REC_CTL_REGION)
		begin_region(set, no, rec);
	else
		end_region(set, no);
	set->change++;
}

static bool
overlap(const struct wire_region *a, const struct wire_region *b)
{
	return a->base < b->base + b->size && b->base < a->base + a->size;
}

static bool
is_covered(const struct region_set *set, unsigned i)
{
	for (unsigned k = 0; k < set->n; k++)
		if (k != i && overlap(&set->at[k].region, &set->at[i].region) &&
		    ((int32_t)(set->at[k].no - set->at[i].no) > 0 ||
		    (set->at[k].no == set->at[i].no && k > i)))
			return true;
	return false;
}

static int
by_base(const void *a, const void *b)
{
	const struct wire_region *x = a, *y = b;

	return (x->base > y->base) - (x->base < y->base);
}

size_t
region_set_get(const struct region_set *set, struct wire_region *out)
{
	size_t n = 0;

	for (unsigned i = 0; i < set->n && n < WIRE_REGIONS_MAX; i++)
		if (!is_covered(set, i))
			out[n++] = set->at[i].region;
	if (n > 1)
		qsort(out, n, sizeof *out, by_base);
	return n;
}

bool
region_set_is_valid(const struct region_set *set)
{
	for (unsigned i = 0; i < set->n && set->n <= REGION_SET_MAX; i++)
		if (set->at[i].region.size == 0 ||
		    memchr(set->at[i].region.name, '\0',
		    sizeof set->at[i].region.name) == NULL)
			return false;
	return set->n <= REGION_SET_MAX && set->nended <= REGION_SET_MAX;
}
