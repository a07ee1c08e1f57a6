/*
 * The blocks of the open group: a filtered list, in the order of the page.
 *
 * The whole list is looked through for them behind each take, a portion at a
 * time, so on large lists they are as old as the groups; what has been freed
 * since is dimmed.
 */
#include <errno.h>
#include <stdlib.h>

#include "choice.h"
#include "groups.h"
#include "marked.h"

#define WALK_ROWS 256
#define NAME_KEEP 12	/* columns of the group's name */
#define ANSWERS 1024	/* a power of two */

struct found {
	struct blk *blk;
	size_t n, cap;
	uint64_t all;		/* with those beyond the limit */
	double blocks, bytes;	/* that these stand for */
	uint64_t of;		/* blocks looked through */
	double of_blocks;	/* of a sample: what those stand for */
	uint64_t sample;	/* its period; 0: all blocks are there */
};

struct page_members {
	struct found shown, coming;
	bool bare;		/* nothing is shown yet but what comes */
	struct page_walk walk;
};

void
page_members_free(struct page_members *m)
{
	if (m == NULL)
		return;
	free(m->shown.blk);
	free(m->coming.blk);
	free(m);
}

static void
empty(struct found *f, uint64_t sample)
{
	f->n = 0;
	f->all = f->of = 0;
	f->blocks = f->bytes = f->of_blocks = 0;
	f->sample = sample;
}

/* Blocks come in runs of few callers: the last answers are kept. */
struct asked {
	const struct page *page;
	struct page_groups *g;
	const struct page_view *v;
	const struct page_group_kind *kind[2];	/* of each level that counts; NULL */
	uint64_t key[2];
	struct {
		uint64_t caller;
		bool known, in;
	} answer[2][ANSWERS];
};

static bool
is_in(struct asked *a, int level, const struct blk *b)
{
	const struct page_group_kind *k = a->kind[level];
	uint64_t caller = b->caller;
	size_t i = (size_t)((caller * UINT64_C(0x9e3779b97f4a7c15)) >> 54) &
	    (ANSWERS - 1);

	if (k->tag != NULL)
		return profile_tag_key(k->tag(a->v, a->g->now_ms, b)) ==
		    a->key[level];
	if (!a->answer[level][i].known ||
	    a->answer[level][i].caller != caller) {
		a->answer[level][i].caller = caller;
		a->answer[level][i].known = true;
		a->answer[level][i].in = profile_in_group(a->g->profile,
		    k->by, a->key[level], caller);
	}
	return a->answer[level][i].in;
}

static bool
is_member(struct asked *a, const struct blk *b)
{
	return is_in(a, 0, b) && (a->kind[1] == NULL || is_in(a, 1, b));
}

static int
put_member(struct found *f, const struct blk *b, double weight)
{
	void *blks = f->blk;
	int r;

	f->all++;
	f->blocks += weight;
	f->bytes += weight * (double)b->size;
	if (f->n == PAGE_MEMBERS_MAX)
		return 0;
	r = base_grow(&blks, &f->cap, f->n + 1, sizeof *f->blk);
	if (r < 0)
		return r;
	f->blk = blks;
	f->blk[f->n++] = *b;
	return 0;
}

static int
walk(struct page_members *m, struct asked *a, const struct blklist *list,
    size_t at_most, bool *over)
{
	struct found *to = m->bare ? &m->shown : &m->coming;
	struct blk rows[WALK_ROWS];
	size_t n, kept, i, done = 0;
	double weight = 1;
	int r;

	page_walk_resume(&m->walk, list);
	while (done < at_most) {
		n = page_walk_next(&m->walk, list, rows, WALK_ROWS);
		if (n == 0) {
			*over = true;
			return 0;
		}
		kept = page_drain_keep(a->page, rows, n);
		for (i = 0; i < kept; i++) {
			if (to->sample != 0) {
				weight = blklist_weight(list, &rows[i]);
				to->of_blocks += weight;
			}
			if (!is_member(a, &rows[i]) ||
			    !page_choice_lets(a->page, &rows[i]))
				continue;
			r = put_member(to, &rows[i], weight);
			if (r < 0)
				return r;
		}
		to->of += kept;
		done += n;
	}
	*over = false;
	return 0;
}

int
page_members_begin(struct page *page, const struct page_view *v, bool bare)
{
	struct page_groups *g = page->groups;
	struct page_members *m = g->members;

	if (m == NULL)
		m = g->members = calloc(1, sizeof *m);
	if (m == NULL)
		return -ENOMEM;
	m->bare = bare;
	empty(bare ? &m->shown : &m->coming, v->look->sample);
	/* Gone: nobody is asked for its key again, so nothing is in it. */
	page_group_find(g, v, page_group_kind(page->group)->by, &g->open);
	if (g->open_second)
		page_group_find(g, v, page_group_kind(
		    page_group_below(page))->by, &g->open_below);
	if (v->look->list != NULL)
		page_walk_begin(&m->walk, v->look->list, page->opts.order,
		    page->opts.reverse);
	return 0;
}

int
page_members_next(struct page *page, const struct page_view *v, size_t at_most,
    bool *over)
{
	struct page_groups *g = page->groups;
	struct page_members *m = g->members;
	struct found was;
	struct asked *a;
	int r = 0;

	*over = true;
	if (v->look->list != NULL) {
		a = calloc(1, sizeof *a);
		if (a == NULL)
			return -ENOMEM;
		a->page = page;
		a->g = g;
		a->v = v;
		a->kind[0] = page_group_kind(page->group);
		a->key[0] = g->open.key;
		a->key[1] = g->open_below.key;
		if (g->open_second)
			a->kind[1] = page_group_kind(page_group_below(page));
		page_choice_begin(page, v);
		r = walk(m, a, v->look->list, at_most, over);
		free(a);
	}
	if (r < 0 || !*over || m->bare)
		return r;
	was = m->shown;
	m->shown = m->coming;
	m->coming = was;
	return 0;
}

size_t
page_members_window(const struct page_members *m, uint64_t at,
    struct blk *out, size_t n)
{
	size_t i;

	for (i = 0; i < n && m != NULL && at + i < m->shown.n; i++)
		out[i] = m->shown.blk[at + i];
	return i;
}

/* The longest sum that leaves the name its room. */
void
page_members_put(const struct page *page, struct page_picture *pic)
{
	static const struct found none;
	const struct page_groups *g = page->groups;
	const struct found *m = g->members != NULL ? &g->members->shown :
	    &none;
	char n[32], of[32], bytes[24], listed[32] = "", text[128];
	const char *about = page_about(m->sample);
	size_t len;
	int form;

	base_group_digits(n, sizeof n, (uint64_t)(m->blocks + 0.5));
	base_group_digits(of, sizeof of, m->sample != 0 ?
	    (uint64_t)(m->of_blocks + 0.5) : m->of);
	base_human_bytes(bytes, sizeof bytes, (uint64_t)(m->bytes + 0.5));
	/* Of a sample the rows are fewer than the blocks they stand for. */
	if (m->n < m->all || m->sample != 0)
		base_group_digits(listed, sizeof listed, m->n);
	for (form = 0; form < 3; form++) {
		len = 0;
		base_append(text, sizeof text, &len, "  %s%s", about, n);
		if (form < 2)
			base_append(text, sizeof text, &len, " of %s%s", about,
			    of);
		if (form < 1)
			base_append(text, sizeof text, &len, " blocks, %s%s",
			    about, bytes);
		if (listed[0] != '\0')
			base_append(text, sizeof text, &len, ", %s listed",
			    listed);
		if ((int)len + NAME_KEEP <= pic->cols)
			break;
	}
	page_put_name(g->open_words.name, g->open_words.where, pic->cols - (int)len, pic);
	picture_printf(pic, "%s", text);
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
}

/* --- the cursor --------------------------------------------------------- */

static uint64_t
members_total(const struct page *page, const struct page_view *v)
{
	(void)v;
	return page->groups != NULL && page->groups->members != NULL ?
	    page->groups->members->shown.n : 0;
}

static bool
members_hold(struct page *page, const struct page_view *v)
{
	struct blk b;

	(void)v;
	if (page->groups == NULL || page_members_window(page->groups->members,
	    page->cursor, &b, 1) == 0)
		return false;
	page_hold_block(page, &b);
	return true;
}

static bool
members_held(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	const struct page_members *m = page->groups != NULL ?
	    page->groups->members : NULL;
	size_t i;

	(void)v;
	(void)total;
	if (m == NULL)
		return false;
	/* Between two takes it has not moved. */
	if (page->cursor < m->shown.n &&
	    page_holds_block(page, &m->shown.blk[page->cursor])) {
		*offset = page->cursor;
		return true;
	}
	for (i = 0; i < m->shown.n; i++)
		if (page_holds_block(page, &m->shown.blk[i])) {
			*offset = i;
			return true;
		}
	return false;
}

static size_t
members_window(const struct page *page, const struct page_view *v, uint64_t at,
    struct blk *out, size_t n)
{
	(void)v;
	return page->groups != NULL ? page_members_window(
	    page->groups->members, at, out, n) : 0;
}

const struct page_rows_ops page_rows_members = {
	.total = members_total,
	.window = members_window,
	.hold = members_hold,
	.held = members_held,
};
