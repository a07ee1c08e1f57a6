#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "choice.h"
#include "drain.h"

int
page_moment_set(struct page_moment *m, const struct page_view *v)
{
	const struct nodes_look *look = v->look;
	struct blk youngest;

	if (look->list == NULL || look->state == NODES_DORMANT)
		return -ENOENT;
	if (look->window || !look->settled || look->behind)
		return -EAGAIN;
	*m = (struct page_moment){
		.set = true,
		.stream_no = look->stream_no,
		.armed_wall_ms = look->arming.since_wall_ms,
		.seq = look->as_of > 0 ? look->as_of : UINT64_MAX,
		.ms = look->now_ms,
		.wall_ms = look->node_wall_ms,
		.lost = page_lost_for_good(look),
		.full = look->loss.full,
		.blocks = v->counts->aRecActive,
		.bytes = v->counts->live_bytes,
		.est_blocks = page_view_blocks(v),
		.est_bytes = page_view_bytes(v),
	};
	/* The list may be ahead of that number. */
	if (blklist_window(look->list, BLKLIST_BY_AGE, true, 0, &youngest,
	    1) == 1 && (int64_t)(youngest.seq - m->seq) > 0)
		m->seq = youngest.seq;
	return 0;
}

bool
page_moment_is_ahead(const struct page_moment *m, const struct page_view *v)
{
	return v->look != v->live && v->look->now_ms < m->ms;
}

bool
page_moment_is_new(const struct page_moment *m, const struct blk *b)
{
	return (int64_t)(b->seq - m->seq) > 0;
}

uint64_t
page_moment_count_old(const struct page_moment *m, const struct page_view *v)
{
	return page_blocks_until(v, m->seq);
}

bool
page_moment_is_incomplete(const struct page_moment *m,
    const struct page_view *v)
{
	/* `full` falls when the node sends the list again. */
	return page_lost_for_good(v->look) > m->lost ||
	    v->look->loss.full != m->full;
}

void
page_moment_text(const struct page *page, const struct page_view *v,
    const struct page_moment *m, char out[PAGE_MOMENT_TEXT])
{
	struct tm tm, now;
	size_t len = 0;

	page_wall(page, v->look, m->wall_ms, &tm);
	page_wall(page, v->look, v->look->node_wall_ms, &now);
	out[0] = '\0';
	if (tm.tm_yday != now.tm_yday || tm.tm_year != now.tm_year)
		base_append(out, PAGE_MOMENT_TEXT, &len, "%04d-%02d-%02d ",
		    tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
	base_append(out, PAGE_MOMENT_TEXT, &len, "%02d:%02d:%02d", tm.tm_hour,
	    tm.tm_min, tm.tm_sec);
}

bool
page_moment_is_void(struct page_moment *m, const struct nodes_look *look)
{
	if (!m->set)
		return false;
	if (m->armed_wall_ms == 0)
		m->armed_wall_ms = look->arming.since_wall_ms;
	return m->stream_no != look->stream_no ||
	    look->state == NODES_DORMANT ||
	    (look->arming.since_wall_ms != 0 &&
	    m->armed_wall_ms != look->arming.since_wall_ms);
}

bool
page_is_draining(const struct page *page)
{
	return page->drain != NULL && page->drain->from.set;
}

int
page_drain_begin(struct page *page, const struct page_view *v)
{
	struct page_moment now;
	int r = page_moment_set(&now, v);

	if (r < 0)
		return r;
	if (page->drain == NULL)
		page->drain = calloc(1, sizeof *page->drain);
	if (page->drain == NULL)
		return -ENOMEM;
	page->drain->from = now;
	page_sorting_get(&page->opts, &page->drain->sorting);
	page_set_order(page, BLKLIST_BY_AGE, page_list_reverse(&page->opts));
	return 0;
}

void
page_drain_end(struct page *page)
{
	const struct page_sorting *was;

	if (!page_is_draining(page))
		return;
	was = &page->drain->sorting;
	page->drain->from = (struct page_moment){ 0 };
	if (page_list_order(&page->opts) != BLKLIST_BY_AGE ||
	    !page_sorting_native(&page->opts)) {
		page->round++;
		page_refreeze(page);
	} else if (was->by[0].sort == PAGE_SORT_AGE && was->n == 1) {
		page_set_order(page, BLKLIST_BY_AGE,
		    page_list_reverse(&page->opts));
	} else {
		page_choice_sort(page, was);
	}
}

void
page_drain_free(struct page_drain *drain)
{
	free(drain);
}

size_t
page_drain_keep(const struct page *page, struct blk *b, size_t n)
{
	size_t i, kept = 0;

	if (!page_is_draining(page))
		return n;
	for (i = 0; i < n; i++)
		if (!page_moment_is_new(&page->drain->from, &b[i]))
			b[kept++] = b[i];
	return kept;
}

void
page_drain_put(const struct page *page, const struct page_view *v,
    struct page_picture *pic)
{
	const struct page_moment *drain = &page->drain->from;
	char at[PAGE_MOMENT_TEXT], of[32], left[32] = "-", text[128];
	const char *lost = page_moment_is_incomplete(drain, v) ?
	    "  INCOMPLETE" : "";
	const char *sampled = v->look->sample != 0 ? " sampled" : "";
	size_t len;
	int form;

	page_moment_text(page, v, drain, at);
	base_group_digits(of, sizeof of, drain->blocks);
	if (!v->look->window)
		base_group_digits(left, sizeof left,
		    page_moment_count_old(drain, v));
	for (form = 0; form < 3; form++) {
		len = 0;
		if (page_moment_is_ahead(drain, v))
			base_append(text, sizeof text, &len, "drain %s%s",
			    form < 2 ? at : "", form == 0 ?
			    ", later than this picture: all are listed" :
			    form == 1 ? ", later" : "later");
		else if (form == 0)
			base_append(text, sizeof text, &len, "drain since %s: "
			    "%s left of %s%s%s%s", at, left, of, sampled,
			    sampled[0] != '\0' ? " blocks" : "", lost);
		else if (form == 1)
			base_append(text, sizeof text, &len, "drain %s: %s of "
			    "%s%s%s", at, left, of, sampled, lost);
		else
			base_append(text, sizeof text, &len, "drain: %s%s%s",
			    left, sampled, lost);
		if ((int)len <= pic->cols)
			break;
	}
	picture_put(pic, text);
	picture_mark(pic, 0, picture_col(pic), lost[0] != '\0' ? PAGE_WARN :
	    PAGE_NEW);
}

static uint64_t
drained_total(const struct page *page, const struct page_view *v)
{
	return v->look->window ? 0 :
	    page_moment_count_old(&page->drain->from, v);
}

static size_t
drained_window(const struct page *page, const struct page_view *v,
    uint64_t at, struct blk *out, size_t n)
{
	uint64_t total = drained_total(page, v);

	if (at >= total)
		return 0;
	if (n > total - at)
		n = (size_t)(total - at);
	/* From the youngest on, the new blocks come first. */
	if (page_list_reverse(&page->opts))
		at += page_view_total(v) - total;
	return blklist_window(v->look->list, BLKLIST_BY_AGE,
	    page_list_reverse(&page->opts), at, out, n);
}

static bool
drained_locate(struct page *page, const struct page_view *v, uint64_t total,
    uint64_t *offset)
{
	uint64_t rank;

	if (!page_cursor_rank(page, v, BLKLIST_BY_AGE, &rank) || rank >= total)
		return false;
	*offset = page_list_reverse(&page->opts) ? total - 1 - rank : rank;
	return true;
}

const struct page_rows_ops page_rows_drained = {
	.total = drained_total,
	.window = drained_window,
	.locate = drained_locate,
};
