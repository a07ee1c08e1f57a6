#include <errno.h>
#include <stdlib.h>

#include "../../base/base.h"
#include "realloc_chains.h"

static int
add_number(struct page_chains *c, uint64_t seq, uint32_t chain)
{
	struct page_chain_number *number = hashmap_add(&c->numbers, seq);

	if (number == NULL)
		return -ENOMEM;
	number->chain = chain;
	return 0;
}

static void
forget_number(struct page_chains *c, uint64_t seq)
{
	int64_t at = hashmap_find(&c->numbers, seq);

	if (at >= 0)
		hashmap_remove(&c->numbers, (size_t)at);
}

struct page_chain *
page_chains_find(const struct page_chains *c, uint64_t seq)
{
	const struct page_chain_number *number = hashmap_get(&c->numbers, seq);

	return number != NULL ? &c->chain[number->chain] : NULL;
}

static bool
is_after(const struct page_chains *c, uint64_t seq)
{
	return (int64_t)(seq - c->mark) > 0;
}

static int
add_chain(struct page_chains *c, const struct blklist_realloc *m)
{
	void *chains = c->chain;

	if (c->n == PAGE_CHAINS_MAX ||
	    base_grow(&chains, &c->cap, c->n + 1, sizeof *c->chain) < 0)
		return -ENOMEM;
	c->chain = chains;
	if (add_number(c, m->from, (uint32_t)c->n) < 0)
		return -ENOMEM;
	c->chain[c->n++] = (struct page_chain){
		.root = m->from,
		.size = m->from_size,
		.now = m->from,
	};
	return 0;
}

static int
add_earlier(struct page_chains *c, uint64_t seq)
{
	uint64_t *at;

	if (c->earlier == NULL)
		c->earlier = calloc(PAGE_CHAINS_EARLIER, sizeof *c->earlier);
	if (c->earlier == NULL)
		return -ENOMEM;
	at = &c->earlier[c->nearlier % PAGE_CHAINS_EARLIER];
	if (c->nearlier >= PAGE_CHAINS_EARLIER) {
		forget_number(c, *at);
		c->forgot = true;
	}
	*at = seq;
	c->nearlier++;
	return 0;
}

static int
follow_move(struct page_chains *c, const struct blklist_realloc *m)
{
	struct page_chain *chain = page_chains_find(c, m->from);
	int r;

	if (chain == NULL && is_after(c, m->from))
		return 0;
	if (chain == NULL) {
		r = add_chain(c, m);
		if (r < 0)
			return r;
		chain = &c->chain[c->n - 1];
	}
	/* A list that was read anew tells the move once more. */
	if (chain->now != m->from)
		return 0;
	r = add_number(c, m->to, (uint32_t)(chain - c->chain));
	if (r == 0 && chain->now != chain->root)
		r = add_earlier(c, chain->now);
	if (r < 0)
		return r;
	chain->now = m->to;
	chain->addr = m->addr;
	chain->layer = m->layer;
	return 0;
}

static void
read_last(struct page_chains *c, const struct blklist *list, uint64_t n)
{
	struct blklist_realloc m;

	for (; n > 0; n--) {
		if (n > UINT32_MAX ||
		    blklist_realloc_get(list, (uint32_t)n - 1, &m) < 0 ||
		    (is_after(c, m.to) && follow_move(c, &m) < 0))
			c->missed++;
	}
}

void
page_chains_read(struct page_chains *c, const struct blklist *list)
{
	uint64_t moves, untold;

	if (list == NULL)
		return;
	moves = blklist_reallocs(list);
	untold = blklist_reallocs_unmatched(list);
	if (blklist_reallocs_since(list) != c->since_ns) {
		c->blind = true;
		c->since_ns = blklist_reallocs_since(list);
		c->read = c->untold = 0;
	}
	read_last(c, list, moves - c->read);
	c->missed += untold - c->untold;
	c->read = moves;
	c->untold = untold;
}

/* Reads the moves after the mark: an older picture may have been marked. */
static void
begin_reading(struct page_chains *c, const struct blklist *list)
{
	struct blklist_realloc m;
	uint64_t n = 0;

	c->since_ns = blklist_reallocs_since(list);
	c->blind = c->since_ns == 0;
	c->read = blklist_reallocs(list);
	c->untold = blklist_reallocs_unmatched(list);
	while (n < c->read && blklist_realloc_get(list, (uint32_t)n, &m) == 0 &&
	    is_after(c, m.to))
		n++;
	if (n < c->read && blklist_realloc_get(list, (uint32_t)n, &m) < 0)
		c->blind = true;
	read_last(c, list, n);
}

int
page_chains_new(struct page_chains **out, const struct blklist *list,
    uint64_t mark)
{
	struct page_chains *c = calloc(1, sizeof *c);

	if (c == NULL)
		return -ENOMEM;
	c->numbers.size = sizeof(struct page_chain_number);
	c->mark = mark;
	begin_reading(c, list);
	*out = c;
	return 0;
}

void
page_chains_free(struct page_chains *c)
{
	if (c == NULL)
		return;
	free(c->chain);
	hashmap_fini(&c->numbers);
	free(c->earlier);
	free(c);
}
