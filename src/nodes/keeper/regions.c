/*
 * The set of a target's regions, and when it may be told.
 */
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "keeper.h"
#include "node.h"
#include "regions.h"

static void
overrun(struct region_set *kn)
{
	kn->overrun = true;
	kn->n = kn->nended = 0;
}

/* False: it is the end that came before this beginning, or there is none. */
static bool
take_ended(struct region_set *kn, uint32_t no)
{
	for (unsigned i = 0; i < kn->nended; i++)
		if (kn->ended[i] == no) {
			kn->ended[i] = kn->ended[--kn->nended];
			return true;
		}
	return false;
}

static void
begins(struct region_set *kn, uint32_t no, const struct rec *rec)
{
	struct wire_region *r;
	char name[9] = "";

	if (take_ended(kn, no) || rec_size(rec) == 0 ||
	    rec_size(rec) > REC_ADDR_MASK - rec_addr(rec))
		return;
	if (kn->n == REGION_SET_MAX) {
		overrun(kn);
		return;
	}
	r = &kn->at[kn->n].region;
	*r = (struct wire_region){
		.base = rec_addr(rec),
		.size = rec_size(rec),
		.head = (uint16_t)rec->w[2],
		.align = (uint16_t)(rec->w[2] >> 16),
	};
	memcpy(name, &rec->w[3], 8);
	base_safe_text(r->name, sizeof r->name, name, strlen(name), false);
	kn->at[kn->n++].no = no;
}

static void
ends(struct region_set *kn, uint32_t no)
{
	for (unsigned i = 0; i < kn->n; i++)
		if (kn->at[i].no == no) {
			kn->at[i] = kn->at[--kn->n];
			return;
		}
	if (kn->nended == REGION_SET_MAX)
		overrun(kn);
	else
		kn->ended[kn->nended++] = no;
}

void
region_set_control(struct region_set *kn, const struct rec *rec)
{
	uint32_t no = (uint32_t)(rec->w[2] >> 32);

	if (kn->overrun)
		return;
	if (rec_type(rec) == REC_CTL_REGION)
		begins(kn, no, rec);
	else
		ends(kn, no);
	kn->change++;
}

static bool
overlap(const struct wire_region *a, const struct wire_region *b)
{
	return a->base < b->base + b->size && b->base < a->base + a->size;
}

/* Another one lies over it that began later. */
static bool
is_covered(const struct region_set *kn, unsigned i)
{
	for (unsigned k = 0; k < kn->n; k++)
		if (k != i && overlap(&kn->at[k].region, &kn->at[i].region) &&
		    ((int32_t)(kn->at[k].no - kn->at[i].no) > 0 ||
		    (kn->at[k].no == kn->at[i].no && k > i)))
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
region_set_get(const struct region_set *kn, struct wire_region *out)
{
	size_t n = 0;

	for (unsigned i = 0; i < kn->n && n < WIRE_REGIONS_MAX; i++)
		if (!is_covered(kn, i))
			out[n++] = kn->at[i].region;
	if (n > 1)
		qsort(out, n, sizeof *out, by_base);
	return n;
}

bool
region_set_is_valid(const struct region_set *kn)
{
	for (unsigned i = 0; i < kn->n && kn->n <= REGION_SET_MAX; i++)
		if (kn->at[i].region.size == 0 || memchr(kn->at[i].region.name,
		    '\0', sizeof kn->at[i].region.name) == NULL)
			return false;
	return kn->n <= REGION_SET_MAX && kn->nended <= REGION_SET_MAX;
}
