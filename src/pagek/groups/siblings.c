#include <stdlib.h>

#include "../../nodes/nodes.h"
#include "siblings.h"

#define SECOND_MS 1000
#define PORTION 4096		/* blocks of each side looked at for one picture */
#define WALK_ROWS 256
#define AGAIN_MS 2000

/* Numbers follow the rings, times the threads: so far may the two orders differ. */
#define SLACK_CYCLES 3

int64_t
page_alloc_cycle(const struct blk *b)
{
	/* Seconds apart from milliseconds: the product cannot overflow. */
	int64_t s = b->ms / SECOND_MS, ms = b->ms % SECOND_MS;

	if (ms < 0) {
		ms += SECOND_MS;
		s--;
	}
	return s * NODES_HZ + ms * NODES_HZ / SECOND_MS;
}

bool
page_are_siblings(const struct blk *a, const struct blk *b)
{
	return a->thread == b->thread && a->caller == b->caller &&
	    page_alloc_cycle(a) == page_alloc_cycle(b);
}

/* A bijection; each bit of x changes about half of the result. */
static uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

uint64_t
page_sibling_key(const struct blk *b)
{
	uint64_t from = b->caller | (uint64_t)b->thread << REC_ADDR_BITS;
	uint64_t key = mix(mix((uint64_t)page_alloc_cycle(b)) ^ mix(~from));

	return key != 0 ? key : 1;
}

void
page_siblings_begin(struct page_siblings *s, const struct blk *of)
{
	*s = (struct page_siblings){ .of = *of };
}

static void
add_if_near(struct page_siblings *s, const struct blk *b)
{
	struct page_siblings_found *f = &s->coming;

	if (b->addr == s->of.addr && b->seq == s->of.seq)
		return;
	if (page_are_siblings(b, &s->of)) {
		f->all++;
		if (f->n < PAGE_SIBLINGS_MAX)
			f->blk[f->n++] = *b;
	} else if (b->thread == s->of.thread &&
	    page_alloc_cycle(b) == page_alloc_cycle(&s->of)) {
		f->all_beside++;
		if (f->nbeside < PAGE_BESIDE_MAX)
			f->beside[f->nbeside++] = *b;
	}
}

const struct blk *
page_siblings_nth(const struct page_siblings_found *f, size_t i)
{
	if (i < f->n)
		return &f->blk[i];
	return i - f->n < f->nbeside ? &f->beside[i - f->n] : NULL;
}

static bool
is_beyond(const struct page_siblings *s, const struct blk *b)
{
	int64_t off = page_alloc_cycle(b) - page_alloc_cycle(&s->of);

	return off > SLACK_CYCLES || off < -SLACK_CYCLES;
}

/* True when the search is through on this side of the block. */
static bool
walk_side(struct page_siblings *s, const struct blklist *list)
{
	struct blk row[WALK_ROWS];
	size_t n, i;

	page_walk_portion(&s->walk, list, PORTION);
	while ((n = page_walk_next(&s->walk, list, row, WALK_ROWS)) > 0)
		for (i = 0; i < n; i++) {
			if (is_beyond(s, &row[i]))
				return true;
			add_if_near(s, &row[i]);
		}
	return s->walk.over;
}

static int
by_age(const void *a, const void *b)
{
	int64_t diff = (int64_t)(((const struct blk *)a)->seq -
	    ((const struct blk *)b)->seq);

	return (diff > 0) - (diff < 0);
}

static void
end_search(struct page_siblings *s, int64_t now_ms)
{
	struct page_siblings_found *f = &s->coming;

	qsort(f->blk, f->n, sizeof f->blk[0], by_age);
	qsort(f->beside, f->nbeside, sizeof f->beside[0], by_age);
	s->shown = *f;
	s->known = true;
	s->step = SIBLINGS_OVER;
	s->ended_ms = now_ms;
}

static void
step_search(struct page_siblings *s, const struct blklist *list, int64_t now_ms)
{
	bool begins = s->step == SIBLINGS_NONE || s->step == SIBLINGS_OVER;

	if (begins) {
		s->coming.n = s->coming.nbeside = 0;
		s->coming.all = s->coming.all_beside = 0;
	} else if (s->step == SIBLINGS_YOUNGER) {
		end_search(s, now_ms);
		return;
	}
	s->step = begins ? SIBLINGS_OLDER : SIBLINGS_YOUNGER;
	page_walk_begin_behind(&s->walk, list, BLKLIST_BY_AGE, begins,
	    &s->of);
}

void
page_siblings_next(struct page_siblings *s, const struct blklist *list,
    int64_t now_ms)
{
	if (s->step == SIBLINGS_OVER && now_ms >= s->ended_ms &&
	    now_ms - s->ended_ms < AGAIN_MS)
		return;
	if (s->step == SIBLINGS_NONE || s->step == SIBLINGS_OVER)
		step_search(s, list, now_ms);
	while (s->step != SIBLINGS_OVER && walk_side(s, list))
		step_search(s, list, now_ms);
}
