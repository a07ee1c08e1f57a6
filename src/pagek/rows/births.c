/* See births.h. */
#include <stdlib.h>

#include "../../nodes/nodes.h"
#include "births.h"

#define SECOND_MS 1000
#define PORTION 4096		/* blocks of each side looked at for one picture */
#define WALK_ROWS 256
#define AGAIN_MS 2000

/*
 * Records are numbered as they are taken out of many rings, and each has the
 * time of its own thread: so far out of order those of one cycle may be.
 */
#define SLACK_CYCLES 3

int64_t
page_born_cycle(const struct blk *b)
{
	/* Seconds apart from the rest: no time is too far away to be multiplied. */
	int64_t s = b->ms / SECOND_MS, rest = b->ms % SECOND_MS;

	/* Division goes towards 0, cycles go down. */
	if (rest < 0) {
		rest += SECOND_MS;
		s--;
	}
	return s * NODES_HZ + rest * NODES_HZ / SECOND_MS;
}

bool
page_born_together(const struct blk *a, const struct blk *b)
{
	return a->thread == b->thread && a->caller == b->caller &&
	    page_born_cycle(a) == page_born_cycle(b);
}

/* One to one, and each bit of x moves about half of them. */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t
page_born_key(const struct blk *b)
{
	uint64_t who = b->caller | (uint64_t)b->thread << REC_ADDR_BITS;
	uint64_t key = mix(mix((uint64_t)page_born_cycle(b)) ^ mix(~who));

	return key != 0 ? key : 1;
}

/* --- who else was ------------------------------------------------------- */

void
page_born_begin(struct page_born *born, const struct blk *of)
{
	*born = (struct page_born){ .of = *of };
}

static void
find_near(struct page_born *born, const struct blk *b)
{
	struct page_born_found *f = &born->coming;

	if (b->addr == born->of.addr && b->seq == born->of.seq)
		return;
	if (page_born_together(b, &born->of)) {
		f->all++;
		if (f->n < PAGE_BORN_MAX)
			f->blk[f->n++] = *b;
	} else if (b->thread == born->of.thread &&
	    page_born_cycle(b) == page_born_cycle(&born->of)) {
		f->all_beside++;
		if (f->nbeside < PAGE_BORN_BESIDE)
			f->beside[f->nbeside++] = *b;
	}
}

const struct blk *
page_born_nth(const struct page_born_found *f, size_t i)
{
	if (i < f->n)
		return &f->blk[i];
	return i - f->n < f->nbeside ? &f->beside[i - f->n] : NULL;
}

static bool
is_beyond(const struct page_born *born, const struct blk *b)
{
	int64_t off = page_born_cycle(b) - page_born_cycle(&born->of);

	return off > SLACK_CYCLES || off < -SLACK_CYCLES;
}

/* True when all on this side of the block have been looked at. */
static bool
walk_side(struct page_born *born, const struct blklist *list)
{
	struct blk row[WALK_ROWS];
	size_t n, i;

	page_walk_portion(&born->walk, list, PORTION);
	while ((n = page_walk_next(&born->walk, list, row, WALK_ROWS)) > 0)
		for (i = 0; i < n; i++) {
			if (is_beyond(born, &row[i]))
				return true;
			find_near(born, &row[i]);
		}
	return born->walk.over;
}

static int
by_age(const void *a, const void *b)
{
	int64_t diff = (int64_t)(((const struct blk *)a)->seq -
	    ((const struct blk *)b)->seq);

	return (diff > 0) - (diff < 0);
}

static void
end(struct page_born *born, int64_t now_ms)
{
	struct page_born_found *f = &born->coming;

	qsort(f->blk, f->n, sizeof f->blk[0], by_age);
	qsort(f->beside, f->nbeside, sizeof f->beside[0], by_age);
	born->shown = *f;
	born->known = true;
	born->step = BORN_OVER;
	born->ended_ms = now_ms;
}

static void
step_search(struct page_born *born, const struct blklist *list, int64_t now_ms)
{
	bool begins = born->step == BORN_NEVER || born->step == BORN_OVER;

	if (begins) {
		born->coming.n = born->coming.nbeside = 0;
		born->coming.all = born->coming.all_beside = 0;
	} else if (born->step == BORN_YOUNGER) {
		end(born, now_ms);
		return;
	}
	born->step = begins ? BORN_OLDER : BORN_YOUNGER;
	page_walk_begin_behind(&born->walk, list, BLKLIST_BY_AGE, begins,
	    &born->of);
}

void
page_born_next(struct page_born *born, const struct blklist *list,
    int64_t now_ms)
{
	if (born->step == BORN_OVER && now_ms >= born->ended_ms &&
	    now_ms - born->ended_ms < AGAIN_MS)
		return;
	if (born->step == BORN_NEVER || born->step == BORN_OVER)
		step_search(born, list, now_ms);
	while (born->step != BORN_OVER && walk_side(born, list))
		step_search(born, list, now_ms);
}
