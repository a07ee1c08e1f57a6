/*
 * The set of a target's regions, and when it may be told.
 */
#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "keeper.h"
#include "known.h"
#include "node.h"

static void
overrun(struct known *kn)
{
	kn->overrun = true;
	kn->n = kn->nended = 0;
}

/* False: it is the end that came before this beginning, or there is none. */
static bool
take_ended(struct known *kn, uint32_t no)
{
	for (unsigned i = 0; i < kn->nended; i++)
		if (kn->ended[i] == no) {
			kn->ended[i] = kn->ended[--kn->nended];
			return true;
		}
	return false;
}

static void
begins(struct known *kn, uint32_t no, const struct rec *rec)
{
	struct wire_region *r;
	char name[9] = "";

	if (take_ended(kn, no) || rec_size(rec) == 0 ||
	    rec_size(rec) > REC_ADDR_MASK - rec_addr(rec))
		return;
	if (kn->n == KNOWN_MAX) {
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
ends(struct known *kn, uint32_t no)
{
	for (unsigned i = 0; i < kn->n; i++)
		if (kn->at[i].no == no) {
			kn->at[i] = kn->at[--kn->n];
			return;
		}
	if (kn->nended == KNOWN_MAX)
		overrun(kn);
	else
		kn->ended[kn->nended++] = no;
}

void
known_control(struct known *kn, const struct rec *rec)
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
is_covered(const struct known *kn, unsigned i)
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
known_get(const struct known *kn, struct wire_region *out)
{
	size_t n = 0;

	for (unsigned i = 0; i < kn->n && n < WIRE_REGIONS_MAX; i++)
		if (!is_covered(kn, i))
			out[n++] = kn->at[i].region;
	if (n > 1)
		qsort(out, n, sizeof *out, by_base);
	return n;
}

/* Why a block since the start may not be listed, or one that is none; "". */
static const char *
lack_of(const struct keeper *k)
{
	if (k->list == NULL)
		return "its list is gone";
	if (k->arming.asleep)
		return "it is not logged";
	if (k->sample != 0)
		return "only a sample of it is logged";
	if (keeper_counts(k)->full != 0)
		return "the node's list was full";
	if (keeper_lost(k) != 0 || k->bad != 0)
		return "records were lost";
	if (k->since_click || !keeper_complete(k))
		return "some of its blocks may not be listed";
	return k->known.overrun ? "it has registered too many regions" : "";
}

size_t
known_of(const struct keeper *k, struct wire_region *out, uint32_t *no,
    const char **why)
{
	*why = lack_of(k);
	*no = k->known.change << 1 | (*why[0] == '\0');
	if (*why[0] != '\0')
		return 0;
	return k == k->node->daemon.own ?
	    own_regions(k->node, out, WIRE_REGIONS_MAX) :
	    known_get(&k->known, out);
}

bool
known_is_whole(const struct known *kn)
{
	for (unsigned i = 0; i < kn->n && kn->n <= KNOWN_MAX; i++)
		if (kn->at[i].region.size == 0 || memchr(kn->at[i].region.name,
		    '\0', sizeof kn->at[i].region.name) == NULL)
			return false;
	return kn->n <= KNOWN_MAX && kn->nended <= KNOWN_MAX;
}
