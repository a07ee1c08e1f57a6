/* See belong.h. */
#include <stdlib.h>

#include "../base/hashmap.h"
#include "belong.h"

#define ANSWERS 1024

struct answer {
	uint64_t caller, of;
	bool known;
	bool in;		/* by any frame: the caller is in group `of` */
	uint64_t key;		/* else: the group of the caller */
};

struct page_belong {
	const struct page_groups *g;
	const struct page_view *v;
	const struct page_group_kind *kind[2];
	struct answer answer[2][ANSWERS];
};

struct page_belong *
page_belong_new(const struct page *page, const struct page_view *v)
{
	struct page_belong *b = calloc(1, sizeof *b);

	if (b == NULL)
		return NULL;
	b->g = page->groups;
	b->v = v;
	b->kind[0] = page_group_kind(page->group);
	b->kind[1] = page_group_kind(page_group_below(page));
	return b;
}

void
page_belong_free(struct page_belong *b)
{
	free(b);
}

static struct answer *
answer_of(struct page_belong *b, int level, uint64_t caller, uint64_t of)
{
	struct answer *got =
	    &b->answer[level][hash_of_key(caller ^ of) % ANSWERS];

	if (!got->known || got->caller != caller || got->of != of)
		*got = (struct answer){ .caller = caller, .of = of };
	return got;
}

bool
page_belong_in(struct page_belong *b, int level, uint64_t key,
    const struct blk *blk)
{
	const struct page_group_kind *k = b->kind[level];
	struct answer *got;

	if (k->tag != NULL)
		return profile_tag_key(k->tag(b->v, b->g->now_ms, blk)) == key;
	if (k->by == PROFILE_FRAME) {
		got = answer_of(b, level, blk->caller, key);
		if (!got->known)
			got->in = profile_in_group(b->g->profile, k->by, key,
			    blk->caller);
		got->known = true;
		return got->in;
	}
	got = answer_of(b, level, blk->caller, 0);
	if (!got->known)
		got->in = profile_key_of(b->g->profile, k->by, blk->caller,
		    &got->key) == 0;
	got->known = true;
	return got->in && got->key == key;
}
