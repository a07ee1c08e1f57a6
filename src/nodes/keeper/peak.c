#include "keeper.h"
#include "node.h"

void
peak_begin(struct keeper *k)
{
	struct peak *p = &k->peak;

	if (p->begun)
		return;
	p->begun = true;
	/* What a fork has brought is there before the first record. */
	for (unsigned i = 0; i < PEAK_LOOKS; i++)
		p->base[i] = keeper_counts(k)->live_bytes;
}

static uint64_t
rise_of_look(const struct keeper *k)
{
	return k->peak.rise[0] + (k->list != NULL ? blklist_rises(k->list) : 0);
}

void
peak_looked(struct keeper *k)
{
	struct peak *p = &k->peak;
	uint64_t most = p->base[PEAK_LOOKS - 1];

	if (k->list == NULL)
		return;
	p->rise[0] = rise_of_look(k);
	blklist_rises_begin(k->list);
	for (unsigned i = 0; i < PEAK_LOOKS; i++)
		most += p->rise[i];
	/* Index 0 is nobody's. */
	p->several |= k->threads.n > 2;
	if (p->several && most > p->most)
		p->most = most;
	for (unsigned i = PEAK_LOOKS - 1; i > 0; i--) {
		p->base[i] = p->base[i - 1];
		p->rise[i] = p->rise[i - 1];
	}
	p->base[0] = keeper_counts(k)->live_bytes;
	p->rise[0] = 0;
}

struct peak
peak_kept(const struct keeper *k)
{
	struct peak kept = k->peak;

	kept.rise[0] = rise_of_look(k);
	return kept;
}

/* Of one thread the order is known, and so is its highest. */
uint64_t
peak_most(const struct keeper *k)
{
	uint64_t peak = keeper_counts(k)->peak_bytes;

	if (!k->node->opts.no_pairs || k->sample != 0)
		return 0;
	return k->peak.most > peak ? k->peak.most : peak;
}
