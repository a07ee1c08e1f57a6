/* See marks.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "difference.h"

#define PORTION 40000	/* blocks that are copied for one picture: some ms at most */
#define WALK_ROWS 256

/* --- moments ------------------------------------------------------------ */

/* The list is one of all blocks, of one moment: the last, or one of before. */
static bool
is_whole(const struct page_view *v)
{
	return v->look->list != NULL && !v->look->window &&
	    (v->look->settled || v->look->listed);
}

/* --- the copy ----------------------------------------------------------- */

static void
no_copy(struct page_marked *m)
{
	page_since_free(m->since);
	page_since_free(m->by_time);
	m->since = m->by_time = NULL;
	page_chains_free(m->chains);
	m->chains = NULL;
	free(m->old);
	m->old = NULL;
	m->nold = m->cap = 0;
	m->old_est = m->old_est_bytes = 0;
	m->copying = m->uncopied = false;
}

/* In the order of age, so that those of after the mark come last. */
static void
begin_copy(struct page_marked *m, const struct page_view *v)
{
	no_copy(m);
	if (m->mark.blocks == 0)
		return;
	(void)page_chains_new(&m->chains, v->live->list != NULL ?
	    v->live->list : v->look->list, m->mark.seq);
	if (m->mark.blocks <= PAGE_MARKED_MAX)
		m->old = malloc(m->mark.blocks * sizeof *m->old);
	m->uncopied = m->old == NULL;
	if (m->uncopied)
		return;
	m->cap = (size_t)m->mark.blocks;
	m->list = v->look->list;
	m->copying = true;
	page_walk_begin(&m->walk, v->look->list, BLKLIST_BY_AGE, false);
}

/* False: that was the last one. */
static bool
copy_block(struct page_marked *m, const struct page_view *v,
    const struct blk *b)
{
	double weight = page_view_weight(v, b);

	if (page_moment_is_new(&m->mark, b) || m->nold == m->cap)
		return false;
	m->old[m->nold++] = (struct page_old){
		.seq = b->seq,
		.w0 = rec_w0(b->addr, b->flags, b->type),
		.w1 = rec_w1(b->size, b->thread),
		.caller = b->caller,
		.ms = b->ms,
		.overhead = b->overhead,
		.info = b->info,
	};
	m->old_est += weight;
	m->old_est_bytes += weight * (double)b->size;
	return true;
}

void
page_old_block(const struct page_marked *m, const struct page_old *o,
    const struct blklist *list, struct blk *b)
{
	struct rec r = { .w = { o->w0, o->w1 } };

	*b = (struct blk){
		.addr = rec_addr(&r),
		.size = rec_size(&r),
		.seq = o->seq,
		.ms = o->ms,
		.caller = o->caller,
		.thread = (uint16_t)rec_thread(&r),
		.overhead = o->overhead,
		.info = m->list == list ? o->info : 0,
		.flags = (uint8_t)rec_flags(&r),
		.type = (uint8_t)rec_type(&r),
	};
}

static void
copy_on(struct page_marked *m, const struct page_view *v)
{
	struct blk rows[WALK_ROWS];
	size_t n, i;

	page_walk_portion(&m->walk, v->look->list, PORTION);
	while (m->copying && (n = page_walk_next(&m->walk, v->look->list,
	    rows, WALK_ROWS)) > 0)
		for (i = 0; i < n && m->copying; i++)
			m->copying = copy_block(m, v, &rows[i]);
	if (m->walk.over)
		m->copying = false;
}

/* --- the mark ----------------------------------------------------------- */

int
page_mark_set(struct page *page, const struct page_view *v)
{
	struct page_moment now;
	struct page_marked *m;
	int r = page_moment_set(&now, v);

	if (r < 0)
		return r;
	if (page->marked == NULL)
		page->marked = calloc(1, sizeof *page->marked);
	m = page->marked;
	if (m == NULL)
		return -ENOMEM;
	m->mark = now;
	m->mark_no++;
	m->was_lost = false;
	begin_copy(m, v);
	if (m->copying)
		copy_on(m, v);
	return 0;
}

void
page_mark_clear(struct page *page)
{
	struct page_marked *m = page->marked;

	if (m == NULL)
		return;
	no_copy(m);
	m->mark = (struct page_moment){ 0 };
	m->was_lost = false;
}

bool
page_is_marked(const struct page *page)
{
	return page->marked != NULL && page->marked->mark.set;
}

bool
page_mark_counts(const struct page *page, const struct page_view *v,
    struct page_mark_counts *c)
{
	const struct page_marked *m = page->marked;
	uint64_t old;

	if (!page_is_marked(page) || !is_whole(v) ||
	    page_moment_is_ahead(&m->mark, v))
		return false;
	old = page_moment_count_old(&m->mark, v);
	*c = (struct page_mark_counts){
		.blocks = page_view_total(v),
		.bytes = v->counts->live_bytes,
		.came = page_view_total(v) - old,
		.went = m->mark.blocks > old ? m->mark.blocks - old : 0,
		.early = m->copying || m->uncopied ? 0 :
		    m->mark.blocks - m->nold,
	};
	return true;
}

void
page_mark_say(const struct page *page, const struct page_view *v,
    char out[PAGE_MARK_TEXT])
{
	struct page_mark_counts c;
	char at[12], came[32], went[32];
	size_t len = 0;

	out[0] = '\0';
	if (!page_is_marked(page))
		return;
	page_moment_text(page, v, &page->marked->mark, at);
	base_append(out, PAGE_MARK_TEXT, &len, "%s", at);
	if (page_mark_counts(page, v, &c)) {
		base_group_digits(came, sizeof came, c.came);
		base_group_digits(went, sizeof went, c.went);
		base_append(out, PAGE_MARK_TEXT, &len, " +%s -%s%s", came,
		    went, v->look->sample != 0 ? " sampled" : "");
	} else if (page_moment_is_ahead(&page->marked->mark, v)) {
		base_append(out, PAGE_MARK_TEXT, &len, ", later");
	}
	if (page_moment_is_incomplete(&page->marked->mark, v))
		base_append(out, PAGE_MARK_TEXT, &len, " INCOMPLETE");
}

void
page_marked_lose(struct page *page)
{
	struct page_marked *m = page->marked;

	page_drain_end(page);
	if (m == NULL)
		return;
	m->was_lost = m->mark.set || m->was_lost;
	no_copy(m);
	m->mark = (struct page_moment){ 0 };
}

void
page_marked_refresh(struct page *page, const struct page_view *v)
{
	struct page_marked *m = page->marked;
	const char *what;

	what = m != NULL && page_moment_is_void(&m->mark, v->look) ? "mark" :
	    page_is_draining(page) &&
	    page_moment_is_void(&page->drain->from, v->look) ? "drain" : NULL;
	if (what != NULL) {
		page_marked_lose(page);
		snprintf(page->message, sizeof page->message, "the %s is lost: "
		    "the list has begun anew", what);
	}
	if (m == NULL)
		return;
	if (m->chains != NULL && v->live->stream_no == m->mark.stream_no)
		page_chains_read(m->chains, v->live->list);
	/* What has been freed by the mark is no part of it. */
	if (page_moment_is_ahead(&m->mark, v))
		return;
	if (m->copying && is_whole(v))
		copy_on(m, v);
	else if (m->mark.set && is_whole(v))
		page_since_refresh(page, v);
}

bool
page_marked_wants_all(const struct page *page)
{
	return page_is_draining(page) ||
	    (page->marked != NULL && page->marked->copying);
}

void
page_marked_free(struct page_marked *m)
{
	if (m == NULL)
		return;
	no_copy(m);
	free(m);
}
