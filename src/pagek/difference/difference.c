#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "difference.h"

#define WALK_PORTION 40000	/* blocks of list and copy in one picture ... */
#define JUDGE_PORTION 12000	/* ... while a filter judges each of them */
#define FOLD_PORTION 8192	/* cells in one picture ... */
#define FRAME_PORTION 1024	/* ... while each counts with all its frames */
#define NAMES_PORTION 4096
#define INTERVAL_MS 5000	/* between points, at first */

double
difference_net(const struct difference_sum *sum)
{
	return sum->new.bytes - sum->freed.bytes;
}

int64_t
difference_net_listed(const struct difference_sum *sum)
{
	return (int64_t)(sum->new.listed_bytes - sum->freed.listed_bytes);
}

int64_t
difference_round(double n)
{
	return (int64_t)(n < 0 ? n - 0.5 : n + 0.5);
}

static void
add_part(struct difference_part *to, const struct difference_part *of)
{
	to->blocks += of->blocks;
	to->bytes += of->bytes;
	to->listed += of->listed;
	to->listed_bytes += of->listed_bytes;
}

static void
add_sum(struct difference_sum *to, const struct difference_sum *of)
{
	add_part(&to->new, &of->new);
	add_part(&to->freed, &of->freed);
	if (of->oldest_ms != 0 && (to->oldest_ms == 0 ||
	    of->oldest_ms < to->oldest_ms))
		to->oldest_ms = of->oldest_ms;
}

static bool
is_empty(const struct difference_sum *sum)
{
	return sum->new.blocks == 0 && sum->freed.blocks == 0;
}

struct cell_key {
	const struct blk *b;
	uint64_t tag;
};

static bool
is_same_cell(const void *of, uint32_t at, const void *sought)
{
	const struct difference_cell *c =
	    (const struct difference_cell *)of + at;
	const struct cell_key *key = sought;

	return c->caller == key->b->caller && c->type == key->b->type &&
	    c->thread == key->b->thread && c->tag == key->tag;
}

/* The index of a block's cell, or -ENOMEM.  cell[0] collects what does not fit. */
static int64_t
ensure_cell(struct difference_cells *cells, const struct blk *b, uint64_t tag)
{
	struct cell_key key = { b, tag };
	uint32_t hash = hash_of_key(b->caller ^ tag ^
	    ((uint64_t)b->type << 16 | b->thread) << 40);
	int64_t at = hashindex_find(&cells->index, hash, is_same_cell,
	    cells->cell, &key);
	void *cell = cells->cell;

	if (at >= 0)
		return at;
	if (cells->n == DIFFERENCE_CELLS) {
		cells->cut = true;
		return 0;
	}
	if (base_grow(&cell, &cells->cap, cells->n + 1,
	    sizeof *cells->cell) < 0)
		return -ENOMEM;
	cells->cell = cell;
	if (hashindex_put(&cells->index, hash, (uint32_t)cells->n) < 0)
		return -ENOMEM;
	cells->cell[cells->n] = (struct difference_cell){
		.caller = b->caller,
		.type = b->type,
		.thread = b->thread,
		.tag = tag,
		.ms = b->ms,
	};
	return (int64_t)cells->n++;
}

static bool
is_by_time(const struct page *page)
{
	const struct page_group_kind *k = page_group_kind(page->group.kind);

	return k != NULL && k->by_time;
}

static unsigned
kind_for(const struct difference *s, const struct page *page)
{
	return page->group.kind != 0 && is_by_time(page) == (s->tags != NULL) ?
	    page->group.kind : page_group_kind_called("function");
}

const struct page_group_kind *
difference_group_kind(const struct difference *s)
{
	return page_group_kind(s->groups.kind);
}

static bool
is_listed(struct difference *s, struct difference_cell *c)
{
	const struct page_group_kind *k = page_group_kind(s->fold.kind);

	if (!s->next.by_block || s->next.of_key == 0)
		return s->next.by_block;
	/* A cell that was not folded yet has no group. */
	if (!c->named) {
		s->next.missed = true;
		return false;
	}
	if (k->by != PROFILE_FRAME)
		return c->key == s->next.of_key;
	if (c->listed_walk != s->walk.no) {
		c->listed_walk = s->walk.no;
		c->listed = profile_in_group(s->profile, k->by,
		    s->next.of_key, c->caller);
	}
	return c->listed;
}

static void
halve_points(struct difference *s)
{
	size_t i, k;

	for (i = 0; i < s->cells.n; i++) {
		double *net = s->cells.cell[i].net;

		for (k = 0; k < DIFFERENCE_POINTS / 2; k++)
			net[k] = net[2 * k + 1];
		for (; k < DIFFERENCE_POINTS; k++)
			net[k] = 0;
	}
	s->points.n = DIFFERENCE_POINTS / 2;
	s->points.interval_ms *= 2;
}

/* Groups by time have none: each time they are others. */
static bool
point_is_due(const struct difference *s, const struct page_view *v)
{
	return s->tags == NULL &&
	    v->look->now_ms - s->points.last_ms >= s->points.interval_ms;
}

static void
add_point(struct difference *s)
{
	struct difference_cell *c = s->cells.cell;
	size_t i;

	if (s->points.n == DIFFERENCE_POINTS)
		halve_points(s);
	for (i = 0; i < s->cells.n; i++)
		c[i].net[s->points.n] = difference_net(&c[i].sum[s->cells.at]);
	s->points.n++;
	s->points.last_ms = s->shown.ms;
}

unsigned
difference_rises(const struct difference *s, const struct difference_group *g,
    unsigned *n)
{
	unsigned i, first = s->points.since_first && s->points.n > 0;
	unsigned rises = 0;

	for (i = first; i < s->points.n; i++)
		if (g->net[i] > (i > 0 ? g->net[i - 1] : 0))
			rises++;
	*n = s->points.n - first;
	return rises;
}

static int
name_cells(struct difference *s, const struct page_view *v)
{
	struct difference_cell *c;
	size_t i;
	int r;

	profile_restart(s->profile);
	for (i = 0; i < s->cells.n; i++) {
		c = &s->cells.cell[i];
		if (is_empty(&c->sum[s->cells.at]))
			continue;
		r = profile_add(s->profile, c->caller, 0, 0);
		if (r < 0)
			return r;
		c->named = true;
	}
	r = profile_resolve_some(s->profile, &v->words, NAMES_PORTION);
	return r < 0 ? r : 0;
}

static int
begin_fold(struct difference *s, struct page *page, const struct page_view *v)
{
	const struct page_group_kind *k;
	int r;

	if (s->seen.round != page->round)
		profile_set_wrappers(s->profile, v->wrappers);
	s->seen.round = page->round;
	s->seen.names_no = v->names_no;
	s->fold.kind = kind_for(s, page);
	s->fold.cells = 0;
	hashmap_clear(&s->fold.groups);
	r = name_cells(s, v);
	k = page_group_kind(s->fold.kind);
	if (r == 0 && k->tag == NULL)
		r = profile_ranking_begin(s->fold.names, s->profile, k->by,
		    PROFILE_BYTES, 0);
	if (r == 0)
		s->step = COMPARE_FOLD;
	return r;
}

static int
add_to_group(struct difference *s, const struct difference_cell *c,
    uint64_t key, uint64_t tag)
{
	struct difference_group *g = hashmap_add(&s->fold.groups, key);
	int k;

	if (g == NULL)
		return -ENOMEM;
	if (is_empty(&g->sum)) {
		g->type = c->type;
		g->thread = c->thread;
		g->born_ms = c->ms;
	}
	if (g->type != c->type)
		g->type = -1;
	if (g->thread != c->thread)
		g->thread = -1;
	if (c->ms < g->born_ms)
		g->born_ms = c->ms;
	g->caller = c->caller;
	g->tag = tag;
	add_sum(&g->sum, &c->sum[s->cells.at]);
	for (k = 0; k < DIFFERENCE_POINTS; k++)
		g->net[k] += c->net[k];
	return 0;
}

/* By any frame a cell is in as many groups as its stack has functions. */
static int
fold_cell(struct difference *s, const struct page_view *v,
    struct difference_cell *c)
{
	const struct page_group_kind *k = page_group_kind(s->fold.kind);
	uint64_t key[PROFILE_LINES_MAX], tag = 0;
	struct blk b = { .type = c->type, .thread = c->thread };
	int n = 1, i, r = 0;

	if (!c->named)
		return 0;
	if (k->tag != NULL) {
		tag = s->tags != NULL ? c->tag : k->tag(v, 0, &b);
		key[0] = profile_tag_key(tag);
	} else {
		n = profile_keys_of(s->profile, k->by, c->caller, key,
		    BASE_NELEM(key));
		if (n < 0)
			return n;
	}
	c->key = k->by != PROFILE_FRAME ? key[0] : 0;
	if (is_empty(&c->sum[s->cells.at]))
		return 0;
	for (i = 0; i < n && r == 0; i++)
		r = add_to_group(s, c, key[i], tag);
	return r;
}

static int
by_net(const void *a, const void *b)
{
	const struct difference_group *x = a, *y = b;
	double n = difference_net(&x->sum), m = difference_net(&y->sum);

	if (n != m)
		return n > m ? -1 : 1;
	if (x->sum.new.blocks != y->sum.new.blocks)
		return x->sum.new.blocks > y->sum.new.blocks ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

static int
end_fold(struct difference *s)
{
	struct difference_group *sorted = NULL;
	struct profile_ranking *names = s->groups.names;
	size_t n = s->fold.groups.n;

	if (n > 0) {
		sorted = malloc(n * sizeof *sorted);
		if (sorted == NULL)
			return -ENOMEM;
		memcpy(sorted, s->fold.groups.item, n * sizeof *sorted);
		qsort(sorted, n, sizeof *sorted, by_net);
	}
	free(s->groups.row);
	s->groups.row = sorted;
	s->groups.n = n;
	s->groups.kind = s->fold.kind;
	s->groups.names = s->fold.names;
	s->fold.names = names;
	s->known = true;
	s->step = COMPARE_IDLE;
	return 0;
}

static int
fold_portion(struct difference *s, const struct page_view *v)
{
	const struct page_group_kind *k = page_group_kind(s->fold.kind);
	size_t some = k->by == PROFILE_FRAME ? FRAME_PORTION : FOLD_PORTION;
	size_t end = s->fold.cells + some, left = 0;
	int r = 0;

	for (; r == 0 && s->fold.cells < s->cells.n && s->fold.cells < end;
	    s->fold.cells++)
		r = fold_cell(s, v, &s->cells.cell[s->fold.cells]);
	if (r < 0 || s->fold.cells < s->cells.n)
		return r;
	if (k->tag == NULL)
		r = profile_ranking_count(s->fold.names, some, &left);
	return r < 0 || left > 0 ? r : end_fold(s);
}

static int
list_block(struct difference_blocks *to, const struct difference_block *b)
{
	void *blks = to->blk;
	int r;

	to->all++;
	if (to->n == DIFFERENCE_BLOCKS)
		return 0;
	r = base_grow(&blks, &to->cap, to->n + 1, sizeof *to->blk);
	if (r < 0)
		return r;
	to->blk = blks;
	to->blk[to->n++] = *b;
	return 0;
}

static bool
lets_old_block(struct difference *s, const struct page *page,
    const struct page_view *v, const struct blk *b)
{
	double weight = page_view_weight(v, b);

	if (s->filter_no != 0 &&
	    !page_choice_matches_at(page, b, page->marked->mark.ms))
		return false;
	s->next.was += weight;
	s->next.was_bytes += weight * (double)b->size;
	return true;
}

static void
count_now(struct difference *s, const struct page_view *v, const struct blk *b)
{
	double weight = page_view_weight(v, b);

	s->next.blocks += weight;
	s->next.bytes += weight * (double)b->size;
}

/* Adds a new or a freed block to its cell, whose index is returned; -ENOMEM. */
static int64_t
sum_block(struct difference *s, const struct page_view *v,
    const struct blk *b, bool is_new)
{
	double weight = page_view_weight(v, b);
	struct difference_part part = {
		.blocks = weight,
		.bytes = weight * (double)b->size,
		.listed = 1,
		.listed_bytes = b->size,
	};
	struct difference_sum sum = { .oldest_ms = is_new ? b->ms : 0 };
	uint64_t tag = s->tags == NULL ? 0 :
	    s->tags->tag(v, is_new ? s->next.ms : s->mark_ms, b);
	int64_t cell = ensure_cell(&s->cells, b, tag);

	if (cell < 0)
		return cell;
	*(is_new ? &sum.new : &sum.freed) = part;
	add_sum(&s->cells.cell[cell].sum[!s->cells.at], &sum);
	add_sum(&s->next.total, &sum);
	return cell;
}

static int
count_freed(struct difference *s, const struct page_view *v,
    const struct blk *b, struct difference_visit *visit)
{
	int64_t cell = sum_block(s, v, b, false);
	struct difference_blocks *rows = &s->next.freed;
	size_t n = rows->n;
	int r;

	if (cell < 0)
		return (int)cell;
	visit->listed = is_listed(s, &s->cells.cell[cell]);
	if (!visit->listed)
		return 0;
	r = list_block(rows, &(struct difference_block){
		.blk = *b,
		.cell = (uint32_t)cell,
		.root = b->seq,
		.was = b->size,
		.change = CHANGE_FREED,
	});
	visit->row = rows->n > n ? (uint32_t)rows->n : 0;
	return r;
}

static struct page_chain *
chain_of(const struct page *page, uint64_t seq)
{
	const struct page_chains *c = page->marked->chains;

	return c != NULL ? page_chains_find(c, seq) : NULL;
}

/* The part of a chain that the walk has met so far; NULL: no memory. */
static struct difference_visit *
visit_of(struct difference_walk *w, const struct page *page,
    const struct page_chain *chain)
{
	size_t i = (size_t)(chain - page->marked->chains->chain);
	void *visit = w->visit;

	if (i < w->nvisit)
		return &w->visit[i];
	if (base_grow(&visit, &w->visit_cap, i + 1, sizeof *w->visit) < 0)
		return NULL;
	w->visit = visit;
	memset(w->visit + w->nvisit, 0, (i + 1 - w->nvisit) *
	    sizeof *w->visit);
	w->nvisit = i + 1;
	return &w->visit[i];
}

static int
pass_freed(struct difference *s, const struct page *page,
    const struct page_view *v, const struct page_copied *o)
{
	const struct page_chain *chain = chain_of(page, o->seq);
	struct difference_visit visit = { .freed = s->walk.no }, *to = NULL;
	struct blk b;
	int r = 0;

	if (chain != NULL && (to = visit_of(&s->walk, page, chain)) == NULL)
		return -ENOMEM;
	page_copied_block(page->marked, o, v->look->list, &b);
	s->next.of += page_view_weight(v, &b);
	/* The list that knew its requester does not exist any more. */
	if (b.info != o->info && page_choice_wants_requester(page))
		s->next.unsure++;
	visit.chosen = lets_old_block(s, page, v, &b);
	if (visit.chosen)
		r = count_freed(s, v, &b, &visit);
	if (to != NULL)
		*to = visit;
	return r;
}

static int
pass_new(struct difference *s, const struct page *page,
    const struct page_view *v, const struct blk *b)
{
	int64_t cell;

	s->next.of += page_view_weight(v, b);
	if (!page_choice_matches(page, b))
		return 0;
	count_now(s, v, b);
	cell = sum_block(s, v, b, true);
	if (cell < 0 || !is_listed(s, &s->cells.cell[cell]))
		return cell < 0 ? (int)cell : 0;
	return list_block(&s->next.new, &(struct difference_block){
		.blk = *b,
		.cell = (uint32_t)cell,
		.root = b->seq,
		.change = CHANGE_NEW,
	});
}

static bool
is_copied(const struct page_marked *m, uint64_t seq)
{
	size_t i;

	BASE_FIND_FIRST(i, m->ncopy, (int64_t)(m->copy[i].seq - seq) >= 0);
	return i < m->ncopy && m->copy[i].seq == seq;
}

/* The root was not freed after all; end_walk() drops its row. */
static void
unlist_freed(struct difference *s, const struct difference_visit *visit)
{
	s->next.freed.all -= visit->listed;
	if (visit->row != 0)
		s->next.freed.blk[visit->row - 1].change = CHANGE_MOVED;
}

static void
count_moved(struct difference_moved *to, const struct page_chain *chain,
    const struct blk *b, bool early)
{
	to->blocks++;
	to->grown += b->size > chain->size;
	to->shrunk += b->size < chain->size;
	to->early += early;
	to->early_bytes += early ? chain->size : 0;
}

static int
list_moved(struct difference *s, const struct page_chain *chain,
    const struct blk *b, uint32_t cell)
{
	enum difference_change change = b->size > chain->size ? CHANGE_GROWN :
	    b->size < chain->size ? CHANGE_SHRUNK : CHANGE_MOVED;

	return list_block(change == CHANGE_GROWN ? &s->next.grown :
	    &s->next.other, &(struct difference_block){
		.blk = *b,
		.cell = cell,
		.root = chain->root,
		.was = chain->size,
		.change = change,
	});
}

/*
 * A block that was another one at the mark.  It is passed once, and after its
 * root was found to be freed, even if it moves behind the walk.  Of a root that
 * was never copied only the size is known, so the block is judged as it is now.
 */
static int
pass_moved(struct difference *s, const struct page *page,
    const struct page_view *v, const struct page_chain *chain,
    const struct blk *b)
{
	struct difference_visit *visit = visit_of(&s->walk, page, chain);
	bool freed = visit != NULL && visit->freed == s->walk.no;
	int64_t cell;

	if (visit == NULL)
		return -ENOMEM;
	if (visit->met == s->walk.no ||
	    (!freed && is_copied(page->marked, chain->root)))
		return 0;
	visit->met = s->walk.no;
	s->next.of += page_view_weight(v, b);
	if (freed ? !visit->chosen : !page_choice_matches(page, b))
		return 0;
	count_now(s, v, b);
	cell = sum_block(s, v, b, true);
	if (cell < 0)
		return (int)cell;
	count_moved(&s->next.moved, chain, b, !freed);
	if (freed)
		unlist_freed(s, visit);
	if (is_listed(s, &s->cells.cell[cell]) || (freed && visit->listed))
		return list_moved(s, chain, b, (uint32_t)cell);
	return 0;
}

/* The next chain whose root was freed and whose block was not met: it may have moved. */
static int
seek_moved(struct difference *s, const struct page *page,
    const struct page_view *v)
{
	const struct page_chain *chain;
	const struct difference_visit *visit = &s->walk.visit[s->walk.chain];
	struct blk b;

	chain = &page->marked->chains->chain[s->walk.chain++];
	if (visit->freed != s->walk.no || visit->met == s->walk.no ||
	    blklist_get(v->look->list, chain->layer, chain->addr, &b) != 0 ||
	    b.seq != chain->now)
		return 0;
	return pass_moved(s, page, v, chain, &b);
}

static void
clear_blocks(struct difference_found *f)
{
	f->new.n = f->grown.n = f->other.n = f->freed.n = 0;
	f->new.all = f->grown.all = f->other.all = f->freed.all = 0;
}

static void
begin_walk(struct difference *s, const struct page_view *v)
{
	struct difference_found was = s->next;
	struct difference_walk *w = &s->walk;
	size_t i;

	for (i = 0; i < s->cells.n; i++)
		s->cells.cell[i].sum[!s->cells.at] =
		    (struct difference_sum){ 0 };
	clear_blocks(&was);
	s->next = (struct difference_found){
		.new = was.new,
		.grown = was.grown,
		.other = was.other,
		.freed = was.freed,
		.ms = v->look->now_ms,
		.wall_ms = v->look->node_wall_ms,
		.by_block = s->wanted.by_block,
		.of_key = s->wanted.of_key,
	};
	w->at = w->nblock = w->copied = w->chain = 0;
	w->no++;
	s->seen.changes = page_view_changes(v);
	s->seen.walk_names_no = v->names_no;
	page_walk_begin(&w->list, v->look->list, BLKLIST_BY_AGE, false);
	s->step = COMPARE_WALK;
	scan_begin(&s->scan);
}

static bool
is_same_block(const struct page_copied *o, const struct blk *b)
{
	return o->seq == b->seq &&
	    o->w0 == rec_w0(b->addr, b->flags, b->type);
}

/* Passes the older of the next blocks of list and copy; *over: there is none. */
static int
walk_step(struct difference *s, const struct page *page,
    const struct page_view *v, bool *over)
{
	const struct page_marked *m = page->marked;
	struct difference_walk *w = &s->walk;
	const struct page_copied *o = w->copied < m->ncopy ?
	    &m->copy[w->copied] : NULL;
	const struct page_chain *chain;
	const struct blk *b;

	if (w->at == w->nblock) {
		w->at = 0;
		w->nblock = w->list.over ? 0 : page_walk_next(&w->list,
		    v->look->list, w->block, BASE_NELEM(w->block));
	}
	b = w->at < w->nblock ? &w->block[w->at] : NULL;
	if (b == NULL && o == NULL) {
		*over = w->chain == w->nvisit;
		return *over ? 0 : seek_moved(s, page, v);
	}
	if (o != NULL && (b == NULL || (int64_t)(o->seq - b->seq) < 0)) {
		w->copied++;
		return pass_freed(s, page, v, o);
	}
	w->at++;
	if (page_moment_is_new(&m->mark, b)) {
		chain = chain_of(page, b->seq);
		return chain != NULL ? pass_moved(s, page, v, chain, b) :
		    pass_new(s, page, v, b);
	}
	/* A block that is not in the copy was put back by an undone free. */
	if (o != NULL && is_same_block(o, b))
		w->copied++;
	if (lets_old_block(s, page, v, b))
		count_now(s, v, b);
	return 0;
}

static void
end_walk(struct difference *s, const struct page_view *v)
{
	struct difference_found was = s->shown;
	struct difference_blocks *freed = &s->next.freed;
	size_t i, n = 0;

	for (i = 0; i < freed->n; i++)
		if (freed->blk[i].change == CHANGE_FREED)
			freed->blk[n++] = freed->blk[i];
	freed->n = n;
	s->shown = s->next;
	s->next = was;
	s->cells.at = !s->cells.at;
	if (point_is_due(s, v))
		add_point(s);
}

static int
walk_portion(struct difference *s, struct page *page,
    const struct page_view *v)
{
	bool over = false;
	int r = 0;

	if (s->filter_no != 0)
		s->scan.units = JUDGE_PORTION;
	page_walk_resume(&s->walk.list, v->look->list);
	page_choice_begin(page, v);
	for (; r == 0 && !over && scan_has_budget(&s->scan);
	    scan_spend(&s->scan, 1))
		r = walk_step(s, page, v, &over);
	s->next.unsure += page_choice_unsure(page);
	if (r < 0 || !over)
		return r;
	end_walk(s, v);
	return begin_fold(s, page, v);
}

static bool
wants_other_blocks(const struct difference *s)
{
	return s->wanted.by_block && (!s->shown.by_block || s->shown.missed ||
	    s->wanted.of_key != s->shown.of_key);
}

/* Blocks get older, and names come: the filter may decide otherwise. */
static bool
may_judge_otherwise(const struct difference *s, const struct page_view *v)
{
	return s->filter_no != 0 &&
	    (s->shown.ms / 1000 != v->look->now_ms / 1000 ||
	    (s->shown.unsure > 0 && s->seen.walk_names_no != v->names_no));
}

static bool
has_other_tags(const struct difference *s, const struct page *page)
{
	return s->tags != NULL && s->tags != page_group_kind(page->group.kind);
}

static void
begin_anew(struct difference *s, const struct page *page)
{
	size_t i;

	for (i = 0; i < s->cells.n; i++) {
		struct difference_cell *c = &s->cells.cell[i];

		memset(c->sum, 0, sizeof c->sum);
		memset(c->net, 0, sizeof c->net);
	}
	if (s->tags != NULL) {
		s->tags = page_group_kind(page->group.kind);
		s->cells.n = 1;
		s->cells.cut = false;
		hashindex_clear(&s->cells.index);
	}
	s->filter_no = page_choice_filter_no(page);
	s->groups.n = 0;
	clear_blocks(&s->shown);
	s->known = false;
	s->step = COMPARE_IDLE;
	s->mark_ms = page->marked->mark.ms;
	s->points = (struct difference_points){
		.interval_ms = INTERVAL_MS,
		.last_ms = s->mark_ms,
		.since_first = page->marked->earlier,
	};
}

static int
begin_due_step(struct difference *s, struct page *page,
    const struct page_view *v)
{
	unsigned kind = kind_for(s, page);
	bool looked = s->wanted.watched ||
	    (s->tags == NULL && page->group.kind == kind);
	bool due = scan_is_due(&s->scan, v->now);

	if (s->filter_no != page_choice_filter_no(page) ||
	    has_other_tags(s, page))
		begin_anew(s, page);
	if (s->step != COMPARE_IDLE)
		return 0;
	if ((looked && (!s->known || wants_other_blocks(s))) ||
	    (due && point_is_due(s, v)) ||
	    (due && looked && (s->seen.changes != page_view_changes(v) ||
	    may_judge_otherwise(s, v)))) {
		begin_walk(s, v);
		return 0;
	}
	if (looked && (s->fold.kind != kind || s->seen.round != page->round ||
	    (due && s->seen.names_no != v->names_no))) {
		scan_begin(&s->scan);
		return begin_fold(s, page, v);
	}
	return 0;
}

static int
refresh_difference(struct difference *s, struct page *page,
    const struct page_view *v)
{
	int r;

	scan_portion(&s->scan, WALK_PORTION, 0);
	r = begin_due_step(s, page, v);
	s->wanted.watched = false;
	if (r == 0 && s->step == COMPARE_IDLE)
		return 0;
	if (r == 0 && s->step == COMPARE_WALK)
		r = walk_portion(s, page, v);
	if (r == 0 && s->step == COMPARE_FOLD)
		r = fold_portion(s, v);
	/* Without memory all is tried again when it is due. */
	if (r < 0) {
		s->step = COMPARE_IDLE;
		s->groups.n = 0;
		s->known = false;
	}
	scan_pause(&s->scan);
	if (s->step == COMPARE_IDLE)
		scan_done(&s->scan, v->now);
	return r;
}

int
difference_refresh(struct page *page, const struct page_view *v)
{
	struct difference *s = difference_ensure(page), *other;
	int r;

	if (s == NULL)
		return page_is_marked(page) ? -ENOMEM : 0;
	r = refresh_difference(s, page, v);
	other = page->marked->difference;
	if (other != s && other != NULL && r == 0)
		r = refresh_difference(other, page, v);
	return r;
}

static int
finish_step(struct difference *s, struct page *page, const struct page_view *v)
{
	int r = 0;

	while (r == 0 && s->step != COMPARE_IDLE)
		r = difference_refresh(page, v);
	return r;
}

int
difference_compare(struct page *page, const struct page_view *v)
{
	struct page_mark_counts counts;
	struct difference *s;
	int r;

	r = page_choice_ready(page);
	if (r < 0)
		return r;
	page_marked_refresh(page, v);
	while (page_mark_counts(page, v, &counts) && page->marked->copying)
		page_marked_refresh(page, v);
	if (!page_mark_counts(page, v, &counts))
		return page_is_marked(page) ? -EAGAIN : -ENODATA;
	s = difference_ensure(page);
	if (s == NULL)
		return -ENOMEM;
	r = finish_step(s, page, v);
	if (r < 0)
		return r;
	if (s->filter_no != page_choice_filter_no(page))
		begin_anew(s, page);
	begin_walk(s, v);
	return finish_step(s, page, v);
}

int
difference_update_names(struct page *page, const struct page_view *v)
{
	struct difference *s = difference_ensure(page);
	int r;

	if (s == NULL || !s->known)
		return -ENODATA;
	/* The filter may let other blocks through by their names. */
	if (s->shown.unsure > 0)
		return difference_compare(page, v);
	r = finish_step(s, page, v);
	if (r == 0)
		r = begin_fold(s, page, v);
	return r < 0 ? r : finish_step(s, page, v);
}

static struct difference *
new_difference(struct page *page)
{
	static const struct blk nobody;
	struct difference *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->fold.groups.size = sizeof(struct difference_group);
	if (profile_new(&s->profile) < 0 ||
	    profile_ranking_new(&s->groups.names) < 0 ||
	    profile_ranking_new(&s->fold.names) < 0 ||
	    ensure_cell(&s->cells, &nobody, 0) != 0) {
		difference_free(s);
		return NULL;
	}
	s->seen.round = page->round - 1;
	s->tags = is_by_time(page) ? page_group_kind(page->group.kind) : NULL;
	begin_anew(s, page);
	return s;
}

static struct difference **
place_of(const struct page *page)
{
	struct page_marked *m = page->marked;

	return is_by_time(page) ? &m->by_time : &m->difference;
}

struct difference *
difference_get(const struct page *page)
{
	return page_is_marked(page) ? *place_of(page) : NULL;
}

struct difference *
difference_ensure(struct page *page)
{
	struct difference **s;

	if (!page_is_marked(page))
		return NULL;
	s = place_of(page);
	if (*s == NULL)
		*s = new_difference(page);
	return *s;
}

static void
free_blocks(struct difference_found *f)
{
	free(f->new.blk);
	free(f->grown.blk);
	free(f->other.blk);
	free(f->freed.blk);
}

void
difference_free(struct difference *s)
{
	if (s == NULL)
		return;
	profile_ranking_free(s->groups.names);
	profile_ranking_free(s->fold.names);
	profile_free(s->profile);
	free(s->cells.cell);
	hashindex_fini(&s->cells.index);
	free(s->groups.row);
	hashmap_fini(&s->fold.groups);
	free_blocks(&s->shown);
	free_blocks(&s->next);
	free(s->walk.visit);
	free(s);
}

uint64_t
difference_freed_early(const struct page *page)
{
	const struct page_marked *m = page->marked;
	const struct difference *s = difference_get(page);
	uint64_t early, moved;
	double est;

	if (m->copying || m->uncopied || m->mark.blocks < m->ncopy)
		return 0;
	early = m->mark.blocks - m->ncopy;
	/* Of a sample more, but at least as many as are listed. */
	est = early > 0 ? (double)m->mark.est_blocks - m->copy_blocks + 0.5 : 0;
	if (est > (double)early)
		early = (uint64_t)est;
	moved = s != NULL ? s->shown.moved.early : 0;
	return early > moved ? early - moved : 0;
}

bool
difference_is_current(const struct page *page, const struct difference *s)
{
	return s->known && s->filter_no == page_choice_filter_no(page) &&
	    s->groups.kind == kind_for(s, page) && !has_other_tags(s, page);
}

void
difference_filter_sums(const struct page *page, const struct difference *s,
    struct page_chosen *out)
{
	const struct difference_sum *t = &s->shown.total;
	uint64_t early = difference_freed_early(page);

	/* The filter has judged no early block. */
	*out = (struct page_chosen){
		.what = "new and freed",
		.known = difference_is_current(page, s),
		.blocks = (uint64_t)(t->new.blocks + t->freed.blocks + 0.5),
		.of = (uint64_t)(s->shown.of + 0.5) + early,
		.bytes = (uint64_t)(t->new.bytes + t->freed.bytes + 0.5),
		.unsure = s->shown.unsure + early,
		.percent = difference_percent(page, s),
	};
}

unsigned
difference_percent(const struct page *page, const struct difference *s)
{
	uint64_t of = s->walk.list.blocks + page->marked->ncopy;
	uint64_t done = s->walk.list.passed + s->walk.copied;

	if (s->step != COMPARE_WALK || of == 0)
		return s->step == COMPARE_FOLD ? 99 : 0;
	return done < of ? (unsigned)(done * 99 / of) : 99;
}

const struct difference_group *
difference_group(const struct difference *s, size_t at)
{
	return at < s->groups.n ? &s->groups.row[at] : NULL;
}

bool
difference_name_group(const struct difference *s,
    const struct difference_group *g, struct profile_group *out)
{
	if (difference_group_kind(s)->tag == NULL)
		return profile_ranking_group(s->groups.names, g->key, out) == 0;
	*out = (struct profile_group){
		.name = "",
		.where = "",
		.file = "",
		.module = "",
		.key = g->key,
		.caller = g->caller,
		.tag = g->tag,
		.type = g->type,
		.thread = g->thread,
		.total = { .oldest_ms = g->born_ms },
	};
	return true;
}

bool
difference_of_group(const struct page *page, uint64_t key, enum profile_by by,
    struct difference_sum *sum)
{
	const struct difference *s = page_is_marked(page) ?
	    page->marked->difference : NULL;
	const struct difference_group *g;

	if (s == NULL || !difference_is_current(page, s) ||
	    s->step == COMPARE_FOLD || s->fold.kind != page->group.kind ||
	    page_group_kind(s->fold.kind)->by != by)
		return false;
	g = hashmap_get(&s->fold.groups, key);
	*sum = g != NULL ? g->sum : (struct difference_sum){ 0 };
	return true;
}
