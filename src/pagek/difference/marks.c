#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "difference.h"

#define PORTION 40000	/* blocks copied for one picture: some ms at most */
#define WALK_ROWS 256
#define NAME_SHOWN 20	/* characters of a name in a heading */

static bool
is_complete(const struct page_view *v)
{
	return v->look->list != NULL && !v->look->window &&
	    (v->look->settled || v->look->listed);
}

static void
drop_copy(struct page_marked *m)
{
	difference_free(m->difference);
	difference_free(m->by_time);
	m->difference = m->by_time = NULL;
	page_chains_free(m->chains);
	m->chains = NULL;
	free(m->copy);
	m->copy = NULL;
	m->ncopy = m->copy_cap = 0;
	m->copy_blocks = m->copy_bytes = 0;
	m->copying = m->uncopied = false;
}

/* The walk is by age, so that new blocks come last. */
static void
begin_copy(struct page_marked *m, const struct page_view *v)
{
	drop_copy(m);
	if (m->mark.blocks == 0)
		return;
	(void)page_chains_new(&m->chains, v->live->list != NULL ?
	    v->live->list : v->look->list, m->mark.seq);
	if (m->earlier && m->chains != NULL)
		m->chains->blind = true;
	if (m->mark.blocks <= PAGE_MARKED_MAX)
		m->copy = malloc(m->mark.blocks * sizeof *m->copy);
	m->uncopied = m->copy == NULL;
	if (m->uncopied)
		return;
	m->copy_cap = (size_t)m->mark.blocks;
	m->list = v->look->list;
	m->copying = true;
	page_walk_begin(&m->walk, v->look->list, BLKLIST_BY_AGE, false);
}

/* False: it is new, or there is no room; the copy is complete. */
static bool
copy_block(struct page_marked *m, const struct page_view *v,
    const struct blk *b)
{
	double weight = page_view_weight(v, b);

	if (page_moment_is_new(&m->mark, b) || m->ncopy == m->copy_cap)
		return false;
	m->copy[m->ncopy++] = (struct page_copied){
		.seq = b->seq,
		.w0 = rec_w0(b->addr, b->flags, b->type),
		.w1 = rec_w1(b->size, b->thread),
		.caller = b->caller,
		.ms = b->ms,
		.overhead = b->overhead,
		.info = b->info,
	};
	m->copy_blocks += weight;
	m->copy_bytes += weight * (double)b->size;
	return true;
}

void
page_copied_block(const struct page_marked *m, const struct page_copied *o,
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
copy_portion(struct page_marked *m, const struct page_view *v)
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

static int
set_mark(struct page *page, const struct page_view *v,
    const struct page_moment *at, const char *name, bool earlier)
{
	struct page_marked *m;

	if (page->marked == NULL)
		page->marked = calloc(1, sizeof *page->marked);
	m = page->marked;
	if (m == NULL)
		return -ENOMEM;
	m->mark = *at;
	m->mark_no++;
	m->was_lost = false;
	m->earlier = earlier;
	base_copy_text(m->name, sizeof m->name, name);
	begin_copy(m, v);
	if (m->copying)
		copy_portion(m, v);
	return 0;
}

int
page_mark_set(struct page *page, const struct page_view *v)
{
	struct page_moment now;
	int r = page_moment_set(&now, v);

	return r < 0 ? r : set_mark(page, v, &now, "", false);
}

int
page_mark_choose(struct page *page, const struct page_view *v,
    const struct wire_named_mark *mark, bool earlier)
{
	struct page_moment at;
	int r = v->look != v->live ? -ESRCH : page_moment_set(&at, v);

	if (r == 0 && (int64_t)(mark->seq - at.seq) > 0)
		r = -EAGAIN;
	if (r < 0)
		return r;
	at.seq = mark->seq;
	at.wall_ms -= at.ms - mark->ms;
	at.ms = mark->ms;
	at.lost = mark->lost;
	at.full = mark->full;
	at.blocks = mark->blocks;
	at.bytes = mark->bytes;
	at.est_blocks = mark->est_blocks;
	at.est_bytes = mark->est_bytes;
	return set_mark(page, v, &at, mark->name, earlier);
}

static void
forget_mark(struct page_marked *m, bool lost)
{
	m->was_lost = lost;
	m->mark = (struct page_moment){ 0 };
	m->name[0] = '\0';
	m->earlier = false;
	drop_copy(m);
}

void
page_mark_clear(struct page *page)
{
	if (page->marked != NULL)
		forget_mark(page->marked, false);
}

void
page_mark_lose(struct page *page)
{
	struct page_marked *m = page->marked;

	page_drain_end(page);
	if (m != NULL)
		forget_mark(m, m->mark.set || m->was_lost);
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

	if (!page_is_marked(page) || !is_complete(v) ||
	    page_moment_is_ahead(&m->mark, v))
		return false;
	old = page_moment_count_old(&m->mark, v);
	*c = (struct page_mark_counts){
		.blocks = page_view_total(v),
		.bytes = v->counts->live_bytes,
		.new = page_view_total(v) - old,
		.freed = m->mark.blocks > old ? m->mark.blocks - old : 0,
		.early = m->copying || m->uncopied ? 0 :
		    m->mark.blocks - m->ncopy,
	};
	return true;
}

void
page_mark_when(const struct page *page, const struct page_view *v,
    char out[PAGE_MARK_WHEN])
{
	const struct page_marked *m = page->marked;
	char at[PAGE_MOMENT_TEXT];
	size_t len = 0;

	page_moment_text(page, v, &m->mark, at);
	base_append(out, PAGE_MARK_WHEN, &len, "%s%s%s", m->name,
	    m->name[0] != '\0' ? " " : "", at);
}

static void
append_name(char *out, size_t *len, const char *name)
{
	size_t at = 0, left = strlen(name), n;
	unsigned characters = 0;

	while (left > 0 && ++characters < NAME_SHOWN &&
	    (n = base_utf8_char(name + at, left, NULL)) > 0) {
		at += n;
		left -= n;
	}
	/* The last one that fits is not cut off. */
	if (left > 0 && base_utf8_char(name + at, left, NULL) == left) {
		at += left;
		left = 0;
	}
	base_append(out, PAGE_MARK_TEXT, len, "%.*s%s", (int)at, name,
	    left > 0 ? "~" : "");
}

void
page_mark_text(const struct page *page, const struct page_view *v,
    char out[PAGE_MARK_TEXT])
{
	struct page_mark_counts c;
	char at[PAGE_MOMENT_TEXT], new[32], freed[32];
	size_t len = 0;

	out[0] = '\0';
	if (!page_is_marked(page))
		return;
	page_moment_text(page, v, &page->marked->mark, at);
	append_name(out, &len, page->marked->name[0] != '\0' ?
	    page->marked->name : at);
	if (page_mark_counts(page, v, &c)) {
		base_group_digits(new, sizeof new, c.new);
		base_group_digits(freed, sizeof freed, c.freed);
		base_append(out, PAGE_MARK_TEXT, &len, " +%s -%s%s", new,
		    freed, v->look->sample != 0 ? " sampled" : "");
	} else if (page_moment_is_ahead(&page->marked->mark, v)) {
		base_append(out, PAGE_MARK_TEXT, &len, ", later");
	}
	if (page_moment_is_incomplete(&page->marked->mark, v))
		base_append(out, PAGE_MARK_TEXT, &len, " INCOMPLETE");
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
		page_mark_lose(page);
		snprintf(page->message, sizeof page->message, "the %s is lost: "
		    "the list has begun again", what);
	}
	if (m == NULL)
		return;
	if (m->chains != NULL && v->live->stream_no == m->mark.stream_no)
		page_chains_read(m->chains, v->live->list);
	/* An older picture has blocks that were freed before the mark. */
	if (page_moment_is_ahead(&m->mark, v))
		return;
	if (m->copying && is_complete(v))
		copy_portion(m, v);
	else if (m->mark.set && is_complete(v))
		difference_refresh(page, v);
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
	drop_copy(m);
	free(m);
}
