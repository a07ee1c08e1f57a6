/*
 * The walk of a comparison: the list by age beside the mark's copy, step by
 * step, into cells and rows.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "since_parts.h"

static struct page_chain *
chain_of(const struct page *page, uint64_t seq)
{
	const struct page_chains *c = page->marked->chains;

	return c != NULL ? page_chains_find(c, seq) : NULL;
}

static bool
is_asked(struct page_since *s, uint32_t cell)
{
	return s->next.by_block && (s->next.of_key == 0 ||
	    since_is_of(s, &s->cell[cell]));
}

static int
list_block(struct page_since_blocks *to, const struct page_since_block *b)
{
	void *blks = to->blk;
	int r;

	to->all++;
	if (to->n == PAGE_SINCE_BLOCKS)
		return 0;
	r = base_grow(&blks, &to->cap, to->n + 1, sizeof *to->blk);
	if (r < 0)
		return r;
	to->blk = blks;
	to->blk[to->n++] = *b;
	return 0;
}

/*
 * What was there at the mark is judged as it was then, and what has come as it
 * is now: so what is let through adds up, whatever ages are asked for.
 */
static bool
lets_old(struct page_since *s, const struct page *page,
    const struct page_view *v, const struct blk *b)
{
	double weight = page_view_weight(v, b);
	struct blk then;

	if (s->filter_no != 0) {
		then = *b;
		then.ms += v->look->now_ms - page->marked->mark.ms;
		if (!page_choice_lets(page, &then))
			return false;
	}
	s->next.was += weight;
	s->next.was_bytes += weight * (double)b->size;
	return true;
}

static void
count_now(struct page_since *s, const struct page_view *v, const struct blk *b)
{
	double weight = page_view_weight(v, b);

	s->next.blocks += weight;
	s->next.bytes += weight * (double)b->size;
}

/* Into the sums of its cell, which is returned; -ENOMEM. */
static int64_t
sum_block(struct page_since *s, const struct page_view *v,
    const struct blk *b, bool came)
{
	double weight = page_view_weight(v, b);
	struct page_since_sum sum = came ? (struct page_since_sum){
		.came = weight,
		.came_bytes = weight * (double)b->size,
		.came_listed = 1,
		.came_listed_bytes = b->size,
		.oldest_ms = b->ms,
	} : (struct page_since_sum){
		.went = weight,
		.went_bytes = weight * (double)b->size,
		.went_listed = 1,
		.went_listed_bytes = b->size,
	};
	uint64_t tag = s->tags == NULL ? 0 : s->tags->tag(v, came ?
	    s->next.ms : s->mark_ms, b);
	int64_t cell = since_cell(s, b, tag);

	if (cell < 0)
		return cell;
	since_add_sum(&s->cell[cell].sum[!s->at], &sum);
	since_add_sum(&s->next.total, &sum);
	return cell;
}

static int
went(struct page_since *s, const struct page_view *v, const struct blk *b,
    struct page_since_trail *t)
{
	int64_t cell = sum_block(s, v, b, false);
	struct page_since_blocks *rows = &s->next.went;
	size_t n = rows->n;
	int r;

	if (cell < 0)
		return (int)cell;
	t->cell = (uint32_t)cell;
	t->listed = is_asked(s, t->cell);
	if (!t->listed)
		return 0;
	r = list_block(rows, &(struct page_since_block){
		.blk = *b,
		.cell = t->cell,
		.root = b->seq,
		.was = b->size,
		.change = SINCE_FREED,
	});
	t->row = rows->n > n ? (uint32_t)rows->n : 0;
	return r;
}

/* What the walk has seen of a chain so far; NULL: no memory. */
static struct page_since_trail *
trail_of(struct page_since *s, const struct page *page,
    const struct page_chain *chain)
{
	size_t i = (size_t)(chain - page->marked->chains->chain);
	void *trail = s->trail;

	if (i < s->ntrail)
		return &s->trail[i];
	if (base_grow(&trail, &s->trail_cap, i + 1, sizeof *s->trail) < 0)
		return NULL;
	s->trail = trail;
	memset(s->trail + s->ntrail, 0, (i + 1 - s->ntrail) *
	    sizeof *s->trail);
	s->ntrail = i + 1;
	return &s->trail[i];
}

/*
 * With a chain it may be there yet, as another block, which is judged as this
 * one is.
 */
static int
gone(struct page_since *s, const struct page *page, const struct page_view *v,
    const struct page_old *o)
{
	const struct page_chain *chain = chain_of(page, o->seq);
	struct page_since_trail t = { .left = s->asked }, *to = NULL;
	struct blk b;
	int r = 0;

	if (chain != NULL && (to = trail_of(s, page, chain)) == NULL)
		return -ENOMEM;
	page_old_block(page->marked, o, v->look->list, &b);
	s->next.of += page_view_weight(v, &b);
	/* Who requested it was told in a list that is there no more. */
	if (b.info != o->info && page_choice_wants_requester(page))
		s->next.unsure++;
	t.chosen = lets_old(s, page, v, &b);
	if (t.chosen)
		r = went(s, v, &b, &t);
	if (to != NULL)
		*to = t;
	return r;
}

static int
come(struct page_since *s, const struct page *page, const struct page_view *v,
    const struct blk *b)
{
	int64_t cell;

	s->next.of += page_view_weight(v, b);
	if (!page_choice_lets(page, b))
		return 0;
	count_now(s, v, b);
	cell = sum_block(s, v, b, true);
	if (cell < 0 || !is_asked(s, (uint32_t)cell))
		return cell < 0 ? (int)cell : 0;
	return list_block(&s->next.came, &(struct page_since_block){
		.blk = *b,
		.cell = (uint32_t)cell,
		.root = b->seq,
		.change = SINCE_NEW,
	});
}

/* --- what realloc has moved ----------------------------------------------- */

static bool
is_copied(const struct page_marked *m, uint64_t seq)
{
	size_t lo = 0, hi = m->nold, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if ((int64_t)(m->old[mid].seq - seq) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < m->nold && m->old[lo].seq == seq;
}

/* It is none of those that went: its row is swept out at the end. */
static void
unlist(struct page_since *s, const struct page_since_trail *t)
{
	s->next.went.all -= t->listed;
	if (t->row != 0)
		s->next.went.blk[t->row - 1].change = SINCE_MOVED;
}

static void
count_moved(struct page_since_moved *to, const struct page_chain *chain,
    const struct blk *b, bool early)
{
	to->blocks++;
	to->grown += b->size > chain->size;
	to->shrunk += b->size < chain->size;
	to->early += early;
	to->early_bytes += early ? chain->size : 0;
}

static int
list_moved(struct page_since *s, const struct page_chain *chain,
    const struct blk *b, uint32_t cell)
{
	enum page_since_change change = b->size > chain->size ? SINCE_GROWN :
	    b->size < chain->size ? SINCE_SHRUNK : SINCE_MOVED;

	return list_block(change == SINCE_GROWN ? &s->next.grown :
	    &s->next.other, &(struct page_since_block){
		.blk = *b,
		.cell = cell,
		.root = chain->root,
		.was = chain->size,
		.change = change,
	});
}

/*
 * A block that is there now and was another one at the mark.  One that was
 * moved behind the walk's back is not looked at twice, nor before its root has
 * been seen to be gone.  Of one that was never copied no more is known than its
 * size, so it is judged as it is.
 */
static int
moved(struct page_since *s, const struct page *page, const struct page_view *v,
    const struct page_chain *chain, const struct blk *b)
{
	struct page_since_trail *t = trail_of(s, page, chain);
	bool left = t != NULL && t->left == s->asked;
	int64_t cell;

	if (t == NULL)
		return -ENOMEM;
	if (t->met == s->asked ||
	    (!left && is_copied(page->marked, chain->root)))
		return 0;
	t->met = s->asked;
	s->next.of += page_view_weight(v, b);
	if (left ? !t->chosen : !page_choice_lets(page, b))
		return 0;
	count_now(s, v, b);
	cell = sum_block(s, v, b, true);
	if (cell < 0)
		return (int)cell;
	count_moved(&s->next.moved, chain, b, !left);
	if (left)
		unlist(s, t);
	if (is_asked(s, (uint32_t)cell) || (left && t->listed))
		return list_moved(s, chain, b, (uint32_t)cell);
	return 0;
}

/* The next chain that left and was not met: its block may just have moved on. */
static int
seek(struct page_since *s, const struct page *page, const struct page_view *v)
{
	const struct page_chain *chain;
	const struct page_since_trail *t = &s->trail[s->chain];
	struct blk b;

	chain = &page->marked->chains->chain[s->chain++];
	if (t->left != s->asked || t->met == s->asked ||
	    blklist_get(v->look->list, chain->layer, chain->addr, &b) != 0 ||
	    b.seq != chain->now)
		return 0;
	return moved(s, page, v, chain, &b);
}

/* --- the walk itself ------------------------------------------------------ */

static bool
is_same_block(const struct page_old *o, const struct blk *b)
{
	return o->seq == b->seq &&
	    o->w0 == rec_w0(b->addr, b->flags, b->type);
}

int
since_walk_step(struct page_since *s, const struct page *page,
    const struct page_view *v, bool *over)
{
	const struct page_marked *m = page->marked;
	const struct page_old *o = s->old < m->nold ? &m->old[s->old] : NULL;
	const struct page_chain *chain;
	const struct blk *b;

	if (s->row == s->nrows) {
		s->row = 0;
		s->nrows = s->walk.over ? 0 : page_walk_next(&s->walk,
		    v->look->list, s->rows, BASE_NELEM(s->rows));
	}
	b = s->row < s->nrows ? &s->rows[s->row] : NULL;
	if (b == NULL && o == NULL) {
		*over = s->chain == s->ntrail;
		return *over ? 0 : seek(s, page, v);
	}
	if (o != NULL && (b == NULL || (int64_t)(o->seq - b->seq) < 0)) {
		s->old++;
		return gone(s, page, v, o);
	}
	s->row++;
	if (page_moment_is_new(&m->mark, b)) {
		chain = chain_of(page, b->seq);
		return chain != NULL ? moved(s, page, v, chain, b) :
		    come(s, page, v, b);
	}
	/* One whose free was taken back since the copy is neither. */
	if (o != NULL && is_same_block(o, b))
		s->old++;
	if (lets_old(s, page, v, b))
		count_now(s, v, b);
	return 0;
}

void
since_no_rows(struct page_since_found *f)
{
	f->came.n = f->grown.n = f->other.n = f->went.n = 0;
	f->came.all = f->grown.all = f->other.all = f->went.all = 0;
}

void
since_walk_begin(struct page_since *s, const struct page_view *v)
{
	struct page_since_found was = s->next;
	size_t i;

	for (i = 0; i < s->ncell; i++)
		s->cell[i].sum[!s->at] = (struct page_since_sum){ 0 };
	since_no_rows(&was);
	s->next = (struct page_since_found){
		.came = was.came,
		.grown = was.grown,
		.other = was.other,
		.went = was.went,
		.ms = v->look->now_ms,
		.wall_ms = v->look->node_wall_ms,
		.by_block = s->by_block,
		.of_key = s->of_key,
	};
	s->row = s->nrows = s->old = s->chain = 0;
	s->asked++;
	s->changes = page_view_changes(v);
	s->asked_names_no = v->names_no;
	page_walk_begin(&s->walk, v->look->list, BLKLIST_BY_AGE, false);
	s->step = SINCE_WALK;
	scan_begin(&s->scan);
}

void
since_walk_end(struct page_since *s)
{
	struct page_since_blocks *went = &s->next.went;
	size_t i, n = 0;

	for (i = 0; i < went->n; i++)
		if (went->blk[i].change == SINCE_FREED)
			went->blk[n++] = went->blk[i];
	went->n = n;
}
