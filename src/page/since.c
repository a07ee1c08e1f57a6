/* See since.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "since_parts.h"

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
int64_t
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
	s->tags = is_tagged ? page_group_kind(page->group) : NULL;
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
begin(struct page_since *s, struct page *page, const struct page_view *v)
{
	unsigned kind = since_kind_for(s, page);
	bool looked = s->watched || (s->tags == NULL && page->group == kind);
	bool due = scan_is_due(&s->scan, v->now);

	if (s->filter_no != page_choice_filter_no(page) ||
	    (s->tags != NULL && s->tags != page_group_kind(page->group)))
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
	s->tags = is_tagged ? page_group_kind(page->group) : NULL;
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
refresh(struct page_since *s, struct page *page, const struct page_view *v)
{
	int r;

	scan_portion(&s->scan, PORTION, 0);
	r = begin(s, page, v);
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
	r = refresh(s, page, v);
	/* The other one still takes its points. */
	if (s != page->marked->since && page->marked->since != NULL && r == 0)
		r = refresh(page->marked->since, page, v);
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
	    (s->tags == NULL || s->tags == page_group_kind(page->group));
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
