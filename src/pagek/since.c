/* See since.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "since.h"

#define BUSY 10		/* a comparison may cost one part in so many of the time */
#define PORTION 40000	/* blocks, and those of the copy, in one picture */
#define FOLD_CELLS 8192	/* in one picture */
#define NAMES_AT_ONCE 4096
#define SLOTS (PAGE_SINCE_CELLS * 4)	/* a power of two */
#define INTERVAL_MS 5000	/* at first */

/* --- cells -------------------------------------------------------------- */

static size_t
home(uint64_t a, uint64_t b)
{
	return (size_t)(((a ^ (b << 40)) * UINT64_C(0x9e3779b97f4a7c15)) >>
	    40) & (SLOTS - 1);
}

/* The first cell, which is nobody's, has what there is no room for. */
static int64_t
cell_of(struct page_since *s, const struct blk *b)
{
	uint64_t caller = b->caller;
	uint32_t rest = (uint32_t)b->type << 16 | b->thread;
	void *cells = s->cell;
	size_t i = home(caller, rest);

	for (; s->slot[i] != 0; i = (i + 1) & (SLOTS - 1)) {
		const struct page_since_cell *c = &s->cell[s->slot[i] - 1];

		if (c->caller == caller && c->type == b->type &&
		    c->thread == b->thread)
			return s->slot[i] - 1;
	}
	if (s->ncell == PAGE_SINCE_CELLS) {
		s->cut = true;
		return 0;
	}
	if (base_grow(&cells, &s->cap, s->ncell + 1, sizeof *s->cell) < 0)
		return -ENOMEM;
	s->cell = cells;
	s->cell[s->ncell] = (struct page_since_cell){
		.caller = caller,
		.type = b->type,
		.thread = b->thread,
	};
	s->slot[i] = (uint32_t)++s->ncell;
	return (int64_t)s->ncell - 1;
}

double
page_since_net(const struct page_since_sum *sum)
{
	return sum->came_bytes - sum->went_bytes;
}

static void
add_sum(struct page_since_sum *to, const struct page_since_sum *of)
{
	to->came += of->came;
	to->came_bytes += of->came_bytes;
	to->went += of->went;
	to->went_bytes += of->went_bytes;
	if (of->oldest_ms != 0 && (to->oldest_ms == 0 ||
	    of->oldest_ms < to->oldest_ms))
		to->oldest_ms = of->oldest_ms;
}

/* --- the walk ------------------------------------------------------------ */

static int
list_block(struct page_since *s, struct page_since_blocks *to,
    const struct blk *b, uint32_t cell)
{
	void *blks = to->blk;
	int r;

	if (!s->next.by_block || (s->next.of_key != 0 &&
	    s->cell[cell].key != s->next.of_key))
		return 0;
	to->all++;
	if (to->n == PAGE_SINCE_BLOCKS)
		return 0;
	r = base_grow(&blks, &to->cap, to->n + 1, sizeof *to->blk);
	if (r < 0)
		return r;
	to->blk = blks;
	to->blk[to->n++] = (struct page_since_block){ .blk = *b, .cell = cell };
	return 0;
}

static int
found(struct page_since *s, const struct page_view *v, const struct blk *b,
    bool came)
{
	double weight = v->look->sample != 0 ?
	    blklist_weight(v->look->list, b) : 1;
	struct page_since_sum sum = came ? (struct page_since_sum){
		.came = weight,
		.came_bytes = weight * (double)b->size,
		.oldest_ms = b->ms,
	} : (struct page_since_sum){
		.went = weight,
		.went_bytes = weight * (double)b->size,
	};
	int64_t cell = cell_of(s, b);

	if (cell < 0)
		return (int)cell;
	add_sum(&s->cell[cell].sum[!s->at], &sum);
	add_sum(&s->next.total, &sum);
	return list_block(s, came ? &s->next.came : &s->next.went, b,
	    (uint32_t)cell);
}

static int
gone(struct page_since *s, const struct page_view *v,
    const struct page_old *o)
{
	struct rec r = { .w = { o->w0, o->w1 } };
	struct blk b = {
		.addr = rec_addr(&r),
		.size = rec_size(&r),
		.seq = o->seq,
		.caller = o->caller,
		.thread = (uint16_t)rec_thread(&r),
		.flags = (uint8_t)rec_flags(&r),
		.type = (uint8_t)rec_type(&r),
	};

	return found(s, v, &b, false);
}

static bool
is_same_block(const struct page_old *o, const struct blk *b)
{
	return o->seq == b->seq &&
	    o->w0 == rec_w0(b->addr, b->flags, b->type);
}

/* One step of two walks side by side, both by age; *over at the end of both. */
static int
step(struct page_since *s, const struct page_marked *m,
    const struct page_view *v, bool *over)
{
	const struct page_old *o = s->old < m->nold ? &m->old[s->old] : NULL;
	const struct blk *b;

	if (s->row == s->nrows) {
		s->row = 0;
		s->nrows = s->walk.over ? 0 : page_walk_next(&s->walk,
		    v->look->list, s->rows, BASE_NELEM(s->rows));
	}
	b = s->row < s->nrows ? &s->rows[s->row] : NULL;
	*over = b == NULL && o == NULL;
	if (*over)
		return 0;
	if (o != NULL && (b == NULL || (int64_t)(o->seq - b->seq) < 0)) {
		s->old++;
		return gone(s, v, o);
	}
	s->row++;
	if (page_moment_is_new(&m->mark, b))
		return found(s, v, b, true);
	/* One whose free was taken back since the copy is neither. */
	if (o != NULL && is_same_block(o, b))
		s->old++;
	return 0;
}

static void
begin_walk(struct page_since *s, const struct page_view *v)
{
	size_t i;

	for (i = 0; i < s->ncell; i++)
		s->cell[i].sum[!s->at] = (struct page_since_sum){ 0 };
	s->next.total = (struct page_since_sum){ 0 };
	s->next.came.n = s->next.went.n = 0;
	s->next.came.all = s->next.went.all = 0;
	s->next.blocks = page_view_total(v);
	s->next.bytes = v->counts->live_bytes;
	s->next.ms = v->look->now_ms;
	s->next.wall_ms = v->look->node_wall_ms;
	s->row = s->nrows = s->old = 0;
	s->changes = page_view_changes(v);
	s->next.by_block = s->by_block;
	s->next.of_key = s->of_key;
	page_walk_begin(&s->walk, v->look->list, BLKLIST_BY_AGE, false);
	s->step = SINCE_WALK;
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
	return v->look->now_ms - s->point_ms >= s->interval_ms;
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

/* --- the fold ------------------------------------------------------------- */

/* What a block's own time says is another thing for each; frames overlap. */
static bool
is_comparable(const struct page_group_kind *k)
{
	return k->by == PROFILE_TAG ? strcmp(k->word, "type") == 0 ||
	    strcmp(k->word, "thread") == 0 : k->by != PROFILE_FRAME;
}

static unsigned
kind_for(const struct page *page)
{
	const struct page_group_kind *k = page_group_kind(page->group);

	return k != NULL && is_comparable(k) ? page->group :
	    page_group_kind_called("function");
}

static int
key_of(struct page_since *s, const struct page_view *v,
    struct page_since_cell *c, uint64_t *tag)
{
	const struct page_group_kind *k = page_group_kind(s->kind);
	struct blk b = { .caller = c->caller, .type = c->type,
		.thread = c->thread };

	*tag = 0;
	if (k->tag == NULL)
		return profile_key_of(s->profile, k->by, c->caller, &c->key);
	*tag = k->tag(v, 0, &b);
	c->key = profile_tag_key(*tag);
	return 0;
}

static int
name_cells(struct page_since *s, const struct page_view *v)
{
	size_t i;
	int r;

	for (i = 0; i < s->ncell; i++) {
		if (s->cell[i].named)
			continue;
		r = profile_add(s->profile, s->cell[i].caller, 0, 0);
		if (r < 0)
			return r;
		s->cell[i].named = true;
	}
	r = profile_resolve_some(s->profile, &v->words, NAMES_AT_ONCE);
	return r < 0 ? r : 0;
}

static int
begin_fold(struct page_since *s, struct page *page, const struct page_view *v)
{
	int r;

	if (s->round != page->round)
		profile_set_wrappers(s->profile, v->wrappers);
	s->round = page->round;
	s->names_no = v->names_no;
	s->kind = kind_for(page);
	s->folded = s->ncoming = 0;
	memset(s->index, 0, SLOTS * sizeof *s->index);
	r = name_cells(s, v);
	if (r == 0)
		s->step = SINCE_FOLD;
	return r;
}

static struct page_since_group *
group_of(struct page_since *s, uint64_t key)
{
	void *groups = s->coming;
	size_t i = home(key, 0);

	for (; s->index[i] != 0; i = (i + 1) & (SLOTS - 1))
		if (s->coming[s->index[i] - 1].key == key)
			return &s->coming[s->index[i] - 1];
	if (base_grow(&groups, &s->coming_cap, s->ncoming + 1,
	    sizeof *s->coming) < 0)
		return NULL;
	s->coming = groups;
	s->coming[s->ncoming] = (struct page_since_group){ .key = key };
	s->index[i] = (uint32_t)++s->ncoming;
	return &s->coming[s->ncoming - 1];
}

static int
fold_cell(struct page_since *s, const struct page_view *v,
    struct page_since_cell *c)
{
	const struct page_since_sum *sum = &c->sum[s->at];
	struct page_since_group *g;
	uint64_t tag;
	int r, k;

	r = key_of(s, v, c, &tag);
	if (r < 0)
		return r;
	if (sum->came == 0 && sum->went == 0)
		return 0;
	g = group_of(s, c->key);
	if (g == NULL)
		return -ENOMEM;
	if (g->sum.came == 0 && g->sum.went == 0)
		g->type = c->type;
	else if (g->type != c->type)
		g->type = -1;
	g->caller = c->caller;
	g->cell = (uint32_t)(c - s->cell);
	g->tag = tag;
	add_sum(&g->sum, sum);
	for (k = 0; k < PAGE_SINCE_POINTS; k++)
		g->net[k] += c->net[k];
	return 0;
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

	if (s->ncoming > 0) {
		sorted = malloc(s->ncoming * sizeof *sorted);
		if (sorted == NULL)
			return -ENOMEM;
		memcpy(sorted, s->coming, s->ncoming * sizeof *sorted);
		qsort(sorted, s->ncoming, sizeof *sorted, by_net);
	}
	free(s->group);
	s->group = sorted;
	s->ngroup = s->ncoming;
	s->taken = true;
	s->step = SINCE_IDLE;
	return 0;
}

static int
do_fold(struct page_since *s, const struct page_view *v)
{
	size_t end = s->folded + FOLD_CELLS;
	int r = 0;

	for (; r == 0 && s->folded < s->ncell && s->folded < end; s->folded++)
		r = fold_cell(s, v, &s->cell[s->folded]);
	if (r < 0 || s->folded < s->ncell)
		return r;
	return end_fold(s);
}

/* --- comparisons ---------------------------------------------------------- */

static void
end_walk(struct page_since *s, const struct page_view *v)
{
	struct page_since_found was = s->shown;

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
	int i, r = 0;

	page_walk_resume(&s->walk, v->look->list);
	for (i = 0; i < PORTION && r == 0 && !over; i++)
		r = step(s, page->marked, v, &over);
	if (r < 0 || !over)
		return r;
	end_walk(s, v);
	return begin_fold(s, page, v);
}

static bool
is_another_question(const struct page_since *s)
{
	return s->by_block && (!s->shown.by_block ||
	    s->of_key != s->shown.of_key);
}

/* What is to be done that was not begun yet. */
static int
begin(struct page_since *s, struct page *page, const struct page_view *v)
{
	bool looked = s->watched || page->group != 0;
	bool due = mono_diff_ns(v->now, s->ended) >= BUSY * s->cost_ns;

	if (s->step != SINCE_IDLE)
		return 0;
	if ((looked && (!s->taken || is_another_question(s))) ||
	    (due && point_is_due(s, v)) ||
	    (due && looked && s->changes != page_view_changes(v))) {
		begin_walk(s, v);
		return 0;
	}
	if (looked && (s->kind != kind_for(page) ||
	    s->round != page->round || (due && s->names_no != v->names_no)))
		return begin_fold(s, page, v);
	return 0;
}

struct page_since *
page_since_get(struct page *page)
{
	static const struct blk nobody;
	struct page_marked *m = page->marked;
	struct page_since *s;

	if (!page_is_marked(page))
		return NULL;
	if (m->since != NULL)
		return m->since;
	s = calloc(1, sizeof *s);
	if (s == NULL)
		return NULL;
	s->slot = calloc(SLOTS, sizeof *s->slot);
	s->index = calloc(SLOTS, sizeof *s->index);
	if (s->slot == NULL || s->index == NULL ||
	    profile_new(&s->profile) < 0 || cell_of(s, &nobody) != 0) {
		page_since_free(s);
		return NULL;
	}
	s->round = page->round - 1;
	s->interval_ms = INTERVAL_MS;
	s->point_ms = m->mark.ms;
	m->since = s;
	return s;
}

int
page_since_refresh(struct page *page, const struct page_view *v)
{
	struct page_since *s = page_since_get(page);
	struct mono start = mono_now();
	int r;

	if (s == NULL)
		return page_is_marked(page) ? -ENOMEM : 0;
	r = begin(s, page, v);
	s->watched = false;
	if (r == 0 && s->step == SINCE_IDLE)
		return 0;
	if (r == 0 && s->step == SINCE_WALK)
		r = do_walk(s, page, v);
	if (r == 0 && s->step == SINCE_FOLD)
		r = do_fold(s, v);
	/* What could not be done for want of memory is not tried at once again. */
	if (r < 0) {
		s->step = SINCE_IDLE;
		s->ngroup = 0;
		s->taken = false;
	}
	s->spent_ns += mono_diff_ns(mono_now(), start);
	if (s->step != SINCE_IDLE)
		return r;
	s->cost_ns = s->spent_ns;
	s->ended = (struct mono){ .ns = v->now.ns + s->cost_ns };
	s->spent_ns = 0;
	return r;
}

void
page_since_free(struct page_since *s)
{
	if (s == NULL)
		return;
	profile_free(s->profile);
	free(s->cell);
	free(s->slot);
	free(s->group);
	free(s->coming);
	free(s->index);
	free(s->shown.came.blk);
	free(s->shown.went.blk);
	free(s->next.came.blk);
	free(s->next.went.blk);
	free(s);
}

/* --- what has been found -------------------------------------------------- */

const struct page_since_group *
page_since_row(const struct page_since *s, size_t at)
{
	return at < s->ngroup ? &s->group[at] : NULL;
}

const struct page_group_kind *
page_since_kind(const struct page_since *s)
{
	return page_group_kind(s->kind);
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

bool
page_marked_change(const struct page *page, uint64_t key, enum profile_by by,
    int64_t *bytes, int64_t *blocks)
{
	const struct page_since *s = page_is_marked(page) ?
	    page->marked->since : NULL;
	size_t i = home(key, 0);

	if (s == NULL || !s->taken || s->step == SINCE_FOLD ||
	    s->kind != page->group || page_group_kind(s->kind)->by != by)
		return false;
	*bytes = *blocks = 0;
	for (; s->index[i] != 0; i = (i + 1) & (SLOTS - 1)) {
		const struct page_since_group *g = &s->coming[s->index[i] - 1];

		if (g->key != key)
			continue;
		*bytes = (int64_t)page_since_net(&g->sum);
		*blocks = (int64_t)(g->sum.came - g->sum.went);
		break;
	}
	return true;
}
