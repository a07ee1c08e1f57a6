/* See difference.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "difference.h"

static void since_add_sum(struct page_since_sum *to, const struct page_since_sum *of);

/* The page's groups are made by when blocks were allocated. */
static bool since_by_time(const struct page *);
/* The kind that this one's groups have: the page's, or in its place functions. */
static unsigned since_kind_for(const struct page_since *, const struct page *);
/* The cell is in the group whose blocks are listed. */
static bool since_is_of(struct page_since *, struct page_since_cell *);

/* Which cell a block is summed in: its index, or -ENOMEM. */
static int64_t since_cell(struct page_since *, const struct blk *, uint64_t tag);

static void since_walk_begin(struct page_since *, const struct page_view *);
/* One step of two walks side by side, both by age; *over at the end of both. */
static int since_walk_step(struct page_since *, const struct page *,
    const struct page_view *, bool *over);
/* What was walked through is to be shown. */
static void since_walk_end(struct page_since *);
static void since_no_rows(struct page_since_found *);

/* Begins anew; next does a portion, and is SINCE_IDLE at the end.  -ENOMEM. */
static int since_fold_begin(struct page_since *, struct page *,
    const struct page_view *);
static int since_fold_next(struct page_since *, const struct page_view *);

#define PORTION 40000	/* blocks, and those of the copy, in one picture ... */
#define JUDGED 12000	/* ... while a filter is asked about each of them */
#define INTERVAL_MS 5000	/* at first */

/* --- cells -------------------------------------------------------------- */

struct cell_key {
	const struct blk *b;
	uint64_t tag;
};

static bool
is_same_cell(const void *of, uint32_t at, const void *sought)
{
	const struct page_since_cell *c = (const struct page_since_cell *)of +
	    at;
	const struct cell_key *key = sought;

	return c->caller == key->b->caller && c->type == key->b->type &&
	    c->thread == key->b->thread && c->tag == key->tag;
}

/* cell[0] has no blocks of its own: it collects what does not fit elsewhere. */
static int64_t
since_cell(struct page_since *s, const struct blk *b, uint64_t tag)
{
	struct cell_key key = { b, tag };
	uint32_t hash = hash_of_key(b->caller ^ tag ^
	    ((uint64_t)b->type << 16 | b->thread) << 40);
	int64_t at = hashindex_find(&s->cells, hash, is_same_cell, s->cell,
	    &key);
	void *cells = s->cell;

	if (at >= 0)
		return at;
	if (s->ncell == PAGE_SINCE_CELLS) {
		s->cut = true;
		return 0;
	}
	if (base_grow(&cells, &s->cap, s->ncell + 1, sizeof *s->cell) < 0)
		return -ENOMEM;
	s->cell = cells;
	if (hashindex_put(&s->cells, hash, (uint32_t)s->ncell) < 0)
		return -ENOMEM;
	s->cell[s->ncell] = (struct page_since_cell){
		.caller = b->caller,
		.type = b->type,
		.thread = b->thread,
		.tag = tag,
		.ms = b->ms,
	};
	return (int64_t)s->ncell++;
}

/* --- points --------------------------------------------------------------- */

/* Every other one goes, so that those left are twice as far apart. */
static void
thin(struct page_since *s)
{
	size_t i, k;

	for (i = 0; i < s->ncell; i++) {
		double *net = s->cell[i].net;

		for (k = 0; k < PAGE_SINCE_POINTS / 2; k++)
			net[k] = net[2 * k + 1];
		for (; k < PAGE_SINCE_POINTS; k++)
			net[k] = 0;
	}
	s->npoints = PAGE_SINCE_POINTS / 2;
	s->interval_ms *= 2;
}

static bool
point_is_due(const struct page_since *s, const struct page_view *v)
{
	/* By age or birth a group is another one each time. */
	return s->tags == NULL &&
	    v->look->now_ms - s->point_ms >= s->interval_ms;
}

static void
put_point(struct page_since *s)
{
	size_t i;

	if (s->npoints == PAGE_SINCE_POINTS)
		thin(s);
	for (i = 0; i < s->ncell; i++)
		s->cell[i].net[s->npoints] =
		    page_since_net(&s->cell[i].sum[s->at]);
	s->npoints++;
	s->point_ms = s->shown.ms;
}

/* --- comparisons ---------------------------------------------------------- */

static void
end_walk(struct page_since *s, const struct page_view *v)
{
	struct page_since_found was = s->shown;

	since_walk_end(s);
	s->shown = s->next;
	s->next = was;
	s->at = !s->at;
	if (point_is_due(s, v))
		put_point(s);
}

static int
do_walk(struct page_since *s, struct page *page, const struct page_view *v)
{
	bool over = false;
	int r = 0;

	if (s->filter_no != 0)
		s->scan.units = JUDGED;
	page_walk_resume(&s->walk, v->look->list);
	page_choice_begin(page, v);
	for (; r == 0 && !over && scan_has_budget(&s->scan);
	    scan_spend(&s->scan, 1))
		r = since_walk_step(s, page, v, &over);
	s->next.unsure += page_choice_unsure(page);
	if (r < 0 || !over)
		return r;
	end_walk(s, v);
	return since_fold_begin(s, page, v);
}

static bool
is_another_question(const struct page_since *s)
{
	return s->by_block && (!s->shown.by_block || s->shown.missed ||
	    s->of_key != s->shown.of_key);
}

/* A block may be judged otherwise by now: it is older, or names have come. */
static bool
is_judged_otherwise(const struct page_since *s, const struct page_view *v)
{
	return s->filter_no != 0 &&
	    (s->shown.ms / 1000 != v->look->now_ms / 1000 ||
	    (s->shown.unsure > 0 && s->asked_names_no != v->names_no));
}

/* Of another filter nothing is known yet, not even what was before. */
static void
begin_anew(struct page_since *s, const struct page *page)
{
	bool is_tagged = s->tags != NULL;
	size_t i;

	for (i = 0; i < s->ncell; i++) {
		memset(s->cell[i].sum, 0, sizeof s->cell[i].sum);
		memset(s->cell[i].net, 0, sizeof s->cell[i].net);
	}
	s->tags = is_tagged ? page_group_kind(page->group.kind) : NULL;
	/* What was told apart by something else is no cell of this. */
	if (is_tagged) {
		s->ncell = 1;
		s->cut = false;
		hashindex_clear(&s->cells);
	}
	s->filter_no = page_choice_filter_no(page);
	s->ngroup = 0;
	since_no_rows(&s->shown);
	s->taken = false;
	s->step = SINCE_IDLE;
	s->npoints = 0;
	s->interval_ms = INTERVAL_MS;
	s->point_ms = s->mark_ms = page->marked->mark.ms;
}

/* What is to be done that was not begun yet. */
static int
begin_due_step(struct page_since *s, struct page *page,
    const struct page_view *v)
{
	unsigned kind = since_kind_for(s, page);
	bool looked = s->watched || (s->tags == NULL && page->group.kind == kind);
	bool due = scan_is_due(&s->scan, v->now);

	if (s->filter_no != page_choice_filter_no(page) ||
	    (s->tags != NULL && s->tags != page_group_kind(page->group.kind)))
		begin_anew(s, page);
	if (s->step != SINCE_IDLE)
		return 0;
	if ((looked && (!s->taken || is_another_question(s))) ||
	    (due && point_is_due(s, v)) ||
	    (due && looked && (s->changes != page_view_changes(v) ||
	    is_judged_otherwise(s, v)))) {
		since_walk_begin(s, v);
		return 0;
	}
	if (looked && (s->kind != kind || s->round != page->round ||
	    (due && s->names_no != v->names_no))) {
		scan_begin(&s->scan);
		return since_fold_begin(s, page, v);
	}
	return 0;
}

static struct page_since *
since_new(struct page *page, bool is_tagged)
{
	static const struct blk nobody;
	struct page_since *s = calloc(1, sizeof *s);

	if (s == NULL)
		return NULL;
	s->coming.size = sizeof(struct page_since_group);
	if (profile_new(&s->profile) < 0 ||
	    profile_ranking_new(&s->names) < 0 ||
	    profile_ranking_new(&s->coming_names) < 0 ||
	    since_cell(s, &nobody, 0) != 0) {
		page_since_free(s);
		return NULL;
	}
	s->round = page->round - 1;
	s->tags = is_tagged ? page_group_kind(page->group.kind) : NULL;
	begin_anew(s, page);
	return s;
}

/* Where the one is, or is to be, that tells blocks apart by what groups are. */
static struct page_since **
place_of(const struct page *page)
{
	struct page_marked *m = page->marked;

	return since_by_time(page) ? &m->by_time : &m->since;
}

struct page_since *
page_since_made(const struct page *page)
{
	return page_is_marked(page) ? *place_of(page) : NULL;
}

struct page_since *
page_since_get(struct page *page)
{
	struct page_since **s;

	if (!page_is_marked(page))
		return NULL;
	s = place_of(page);
	if (*s == NULL)
		*s = since_new(page, since_by_time(page));
	return *s;
}

static int
refresh_difference(struct page_since *s, struct page *page,
    const struct page_view *v)
{
	int r;

	scan_portion(&s->scan, PORTION, 0);
	r = begin_due_step(s, page, v);
	s->watched = false;
	if (r == 0 && s->step == SINCE_IDLE)
		return 0;
	if (r == 0 && s->step == SINCE_WALK)
		r = do_walk(s, page, v);
	if (r == 0 && s->step == SINCE_FOLD)
		r = since_fold_next(s, v);
	/* What failed for want of memory is tried again when it is due. */
	if (r < 0) {
		s->step = SINCE_IDLE;
		s->ngroup = 0;
		s->taken = false;
	}
	scan_pause(&s->scan);
	if (s->step == SINCE_IDLE)
		scan_done(&s->scan, v->now);
	return r;
}

int
page_since_refresh(struct page *page, const struct page_view *v)
{
	struct page_since *s = page_since_get(page);
	int r;

	if (s == NULL)
		return page_is_marked(page) ? -ENOMEM : 0;
	r = refresh_difference(s, page, v);
	/* The other one still takes its points. */
	if (s != page->marked->since && page->marked->since != NULL && r == 0)
		r = refresh_difference(page->marked->since, page, v);
	return r;
}

/* What is under way comes to its end. */
static int
finish(struct page_since *s, struct page *page, const struct page_view *v)
{
	int r = 0;

	while (r == 0 && s->step != SINCE_IDLE)
		r = page_since_refresh(page, v);
	return r;
}

int
page_since_take(struct page *page, const struct page_view *v)
{
	struct page_mark_counts counts;
	struct page_since *s;
	int r;

	r = page_choice_ready(page);
	if (r < 0)
		return r;
	page_marked_refresh(page, v);
	while (page_mark_counts(page, v, &counts) && page->marked->copying)
		page_marked_refresh(page, v);
	if (!page_mark_counts(page, v, &counts))
		return page_is_marked(page) ? -EAGAIN : -ENODATA;
	s = page_since_get(page);
	if (s == NULL)
		return -ENOMEM;
	r = finish(s, page, v);
	if (r < 0)
		return r;
	if (s->filter_no != page_choice_filter_no(page))
		begin_anew(s, page);
	since_walk_begin(s, v);
	return finish(s, page, v);
}

int
page_since_name(struct page *page, const struct page_view *v)
{
	struct page_since *s = page_since_get(page);
	int r;

	if (s == NULL || !s->taken)
		return -ENODATA;
	/* Names may have said which blocks are meant. */
	if (s->shown.unsure > 0)
		return page_since_take(page, v);
	r = finish(s, page, v);
	if (r == 0)
		r = since_fold_begin(s, page, v);
	return r < 0 ? r : finish(s, page, v);
}

static void
free_rows(struct page_since_found *f)
{
	free(f->came.blk);
	free(f->grown.blk);
	free(f->other.blk);
	free(f->went.blk);
}

void
page_since_free(struct page_since *s)
{
	if (s == NULL)
		return;
	profile_ranking_free(s->names);
	profile_ranking_free(s->coming_names);
	profile_free(s->profile);
	free(s->cell);
	hashindex_fini(&s->cells);
	free(s->group);
	hashmap_fini(&s->coming);
	free_rows(&s->shown);
	free_rows(&s->next);
	free(s->trail);
	free(s);
}

/* --- what has been found -------------------------------------------------- */

uint64_t
page_since_early(const struct page *page)
{
	const struct page_marked *m = page->marked;
	const struct page_since *s = page_since_made(page);
	uint64_t early, moved;
	double est;

	if (m->copying || m->uncopied || m->mark.blocks < m->nold)
		return 0;
	early = m->mark.blocks - m->nold;
	/* Whole blocks less parts of some: none is none, and each is one at least. */
	est = early > 0 ? (double)m->mark.est_blocks - m->old_est + 0.5 : 0;
	if (est > (double)early)
		early = (uint64_t)est;
	moved = s != NULL ? s->shown.moved.early : 0;
	return early > moved ? early - moved : 0;
}

bool
page_since_known(const struct page *page, const struct page_since *s)
{
	return s->taken && s->filter_no == page_choice_filter_no(page) &&
	    s->shown_kind == since_kind_for(s, page) &&
	    (s->tags == NULL || s->tags == page_group_kind(page->group.kind));
}

void
page_since_chosen(const struct page *page, const struct page_since *s,
    struct page_chosen *out)
{
	const struct page_since_sum *t = &s->shown.total;

	*out = (struct page_chosen){
		.what = "new and freed",
		.known = page_since_known(page, s),
		.blocks = (uint64_t)(t->came + t->went + 0.5),
		.of = (uint64_t)(s->shown.of + 0.5),
		.bytes = (uint64_t)(t->came_bytes + t->went_bytes + 0.5),
		.unsure = s->shown.unsure,
		.percent = page_since_done(page, s),
	};
	/* Nobody has looked at those: they were freed before the copy came by. */
	if (page_since_early(page) > 0) {
		out->of += page_since_early(page);
		out->unsure += page_since_early(page);
	}
}

unsigned
page_since_done(const struct page *page, const struct page_since *s)
{
	uint64_t of = s->walk.blocks + page->marked->nold;
	uint64_t done = s->walk.passed + s->old;

	if (s->step != SINCE_WALK || of == 0)
		return s->step == SINCE_FOLD ? 99 : 0;
	return done < of ? (unsigned)(done * 99 / of) : 99;
}

/* --- the walk ------------------------------------------------------------- */

/*
 * The walk of a comparison: the list by age beside the mark's copy, step by
 * step, into cells and rows.
 */

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
		if (!page_choice_matches(page, &then))
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
	if (!page_choice_matches(page, b))
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
	if (left ? !t->chosen : !page_choice_matches(page, b))
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

static int
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

static void
since_no_rows(struct page_since_found *f)
{
	f->came.n = f->grown.n = f->other.n = f->went.n = 0;
	f->came.all = f->grown.all = f->other.all = f->went.all = 0;
}

static void
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

static void
since_walk_end(struct page_since *s)
{
	struct page_since_blocks *went = &s->next.went;
	size_t i, n = 0;

	for (i = 0; i < went->n; i++)
		if (went->blk[i].change == SINCE_FREED)
			went->blk[n++] = went->blk[i];
	went->n = n;
}

/* --- the groups ----------------------------------------------------------- */

/*
 * The groups of a difference: cells folded into them, a portion a picture, and
 * what they are called.  Names are those that page K's groups have, made in the
 * same way of the callers that are in them.
 */

#define FOLD_CELLS 8192		/* in one picture ... */
#define FOLD_FRAMES 1024	/* ... when they count with each of their frames */
#define NAMES_AT_ONCE 4096

double
page_since_net(const struct page_since_sum *sum)
{
	return sum->came_bytes - sum->went_bytes;
}

int64_t
page_since_net_listed(const struct page_since_sum *sum)
{
	return (int64_t)(sum->came_listed_bytes - sum->went_listed_bytes);
}

int64_t
page_since_rounded(double n)
{
	return (int64_t)(n < 0 ? n - 0.5 : n + 0.5);
}

static void
since_add_sum(struct page_since_sum *to, const struct page_since_sum *of)
{
	to->came += of->came;
	to->came_bytes += of->came_bytes;
	to->went += of->went;
	to->went_bytes += of->went_bytes;
	to->came_listed += of->came_listed;
	to->came_listed_bytes += of->came_listed_bytes;
	to->went_listed += of->went_listed;
	to->went_listed_bytes += of->went_listed_bytes;
	if (of->oldest_ms != 0 && (to->oldest_ms == 0 ||
	    of->oldest_ms < to->oldest_ms))
		to->oldest_ms = of->oldest_ms;
}

/* --- kinds ---------------------------------------------------------------- */

static bool
since_by_time(const struct page *page)
{
	const struct page_group_kind *k = page_group_kind(page->group.kind);

	return k != NULL && k->by_time;
}

static unsigned
since_kind_for(const struct page_since *s, const struct page *page)
{
	return page->group.kind != 0 && since_by_time(page) == (s->tags != NULL) ?
	    page->group.kind : page_group_kind_called("function");
}

static bool
since_is_of(struct page_since *s, struct page_since_cell *c)
{
	const struct page_group_kind *k = page_group_kind(s->kind);

	/* Where it belongs is known once it has been folded. */
	if (!c->named) {
		s->next.missed = true;
		return false;
	}
	if (k->by != PROFILE_FRAME)
		return c->key == s->next.of_key;
	if (c->asked != s->asked) {
		c->asked = s->asked;
		c->in = profile_in_group(s->profile, k->by, s->next.of_key,
		    c->caller);
	}
	return c->in;
}

/* --- the fold ------------------------------------------------------------- */

/* Callers of what differs now, for the others say nothing of a group's place. */
static int
name_cells(struct page_since *s, const struct page_view *v)
{
	struct page_since_cell *c;
	size_t i;
	int r;

	profile_restart(s->profile);
	for (i = 0; i < s->ncell; i++) {
		c = &s->cell[i];
		if (c->sum[s->at].came == 0 && c->sum[s->at].went == 0)
			continue;
		r = profile_add(s->profile, c->caller, 0, 0);
		if (r < 0)
			return r;
		c->named = true;
	}
	r = profile_resolve_some(s->profile, &v->words, NAMES_AT_ONCE);
	return r < 0 ? r : 0;
}

static int
since_fold_begin(struct page_since *s, struct page *page,
    const struct page_view *v)
{
	const struct page_group_kind *k;
	int r;

	if (s->round != page->round)
		profile_set_wrappers(s->profile, v->wrappers);
	s->round = page->round;
	s->names_no = v->names_no;
	s->kind = since_kind_for(s, page);
	s->folded = 0;
	hashmap_clear(&s->coming);
	r = name_cells(s, v);
	k = page_group_kind(s->kind);
	if (r == 0 && k->tag == NULL)
		r = profile_ranking_begin(s->coming_names, s->profile, k->by,
		    PROFILE_BYTES, 0);
	if (r == 0)
		s->step = SINCE_FOLD;
	return r;
}

static int
fold_into(struct page_since *s, const struct page_since_cell *c, uint64_t key,
    uint64_t tag)
{
	const struct page_since_sum *sum = &c->sum[s->at];
	struct page_since_group *g = hashmap_add(&s->coming, key);
	int k;

	if (g == NULL)
		return -ENOMEM;
	if (g->sum.came == 0 && g->sum.went == 0) {
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
	since_add_sum(&g->sum, sum);
	for (k = 0; k < PAGE_SINCE_POINTS; k++)
		g->net[k] += c->net[k];
	return 0;
}

/* By any frame a cell is in as many groups as its stack has functions. */
static int
fold_cell(struct page_since *s, const struct page_view *v,
    struct page_since_cell *c)
{
	const struct page_group_kind *k = page_group_kind(s->kind);
	const struct page_since_sum *sum = &c->sum[s->at];
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
	if (sum->came == 0 && sum->went == 0)
		return 0;
	for (i = 0; i < n && r == 0; i++)
		r = fold_into(s, c, key[i], tag);
	return r;
}

static int
by_net(const void *a, const void *b)
{
	const struct page_since_group *x = a, *y = b;
	double n = page_since_net(&x->sum), m = page_since_net(&y->sum);

	if (n != m)
		return n > m ? -1 : 1;
	if (x->sum.came != y->sum.came)
		return x->sum.came > y->sum.came ? -1 : 1;
	return x->key < y->key ? -1 : x->key > y->key;
}

/* The rows become those of this fold. */
static int
end_fold(struct page_since *s)
{
	struct page_since_group *sorted = NULL;
	struct profile_ranking *names = s->names;
	size_t n = s->coming.n;

	if (n > 0) {
		sorted = malloc(n * sizeof *sorted);
		if (sorted == NULL)
			return -ENOMEM;
		memcpy(sorted, s->coming.item, n * sizeof *sorted);
		qsort(sorted, n, sizeof *sorted, by_net);
	}
	free(s->group);
	s->group = sorted;
	s->ngroup = n;
	s->shown_kind = s->kind;
	s->names = s->coming_names;
	s->coming_names = names;
	s->taken = true;
	s->step = SINCE_IDLE;
	return 0;
}

static int
since_fold_next(struct page_since *s, const struct page_view *v)
{
	const struct page_group_kind *k = page_group_kind(s->kind);
	size_t some = k->by == PROFILE_FRAME ? FOLD_FRAMES : FOLD_CELLS;
	size_t end = s->folded + some, left = 0;
	int r = 0;

	for (; r == 0 && s->folded < s->ncell && s->folded < end; s->folded++)
		r = fold_cell(s, v, &s->cell[s->folded]);
	if (r < 0 || s->folded < s->ncell)
		return r;
	if (k->tag == NULL)
		r = profile_ranking_count(s->coming_names, some, &left);
	return r < 0 || left > 0 ? r : end_fold(s);
}

/* --- what has been found -------------------------------------------------- */

const struct page_since_group *
page_since_row(const struct page_since *s, size_t at)
{
	return at < s->ngroup ? &s->group[at] : NULL;
}

unsigned
page_since_ups(const struct page_since *s, const struct page_since_group *g,
    unsigned *n)
{
	unsigned i, ups = 0;

	for (i = 0; i < s->npoints; i++)
		if (g->net[i] > (i > 0 ? g->net[i - 1] : 0))
			ups++;
	*n = s->npoints;
	return ups;
}

const struct page_group_kind *
page_since_kind(const struct page_since *s)
{
	return page_group_kind(s->shown_kind);
}

bool
page_since_named(const struct page_since *s, const struct page_since_group *g,
    struct profile_group *out)
{
	const struct page_group_kind *k = page_since_kind(s);

	if (k->tag == NULL)
		return profile_ranking_group(s->names, g->key, out) == 0;
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
page_marked_change(const struct page *page, uint64_t key, enum profile_by by,
    struct page_since_sum *sum)
{
	const struct page_since *s = page_is_marked(page) ?
	    page->marked->since : NULL;
	const struct page_since_group *g;

	if (s == NULL || !page_since_known(page, s) || s->step == SINCE_FOLD ||
	    s->kind != page->group.kind || page_group_kind(s->kind)->by != by)
		return false;
	g = hashmap_get(&s->coming, key);
	*sum = g != NULL ? g->sum : (struct page_since_sum){ 0 };
	return true;
}
