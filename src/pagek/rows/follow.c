#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "follow.h"
#include "../blocks/free_blocks.h"
#include "../groups/groups.h"
#include "rows.h"

struct page_follow {
	bool on;
	bool group;		/* else a block */
	bool free;		/* a free block, known by its address */
	struct blk blk;
	struct page_group_ref ref;
	char name[PAGE_NAME_MAX];	/* of the group; outside text */
	uint32_t stream_no;
};

void
page_follow_free(struct page_follow *f)
{
	free(f);
}

bool
page_follow_stop(struct page *page)
{
	if (page->follow == NULL || !page->follow->on)
		return false;
	page->follow->on = false;
	return true;
}

static int
follow_group(struct page *page, const struct page_view *v,
    struct page_follow *f)
{
	struct page_groups *g = page->groups;
	const struct page_group_kind *k = page_group_kind(page->group.kind);
	const struct profile_group *row;
	struct page_group_words w;
	struct page_group_at at;

	if (g == NULL || !page_groups_at(g, page->cursor.on ? page->cursor.at :
	    page->offs, &at))
		return -ENOENT;
	row = page_groups_row(g, at.what == ROW_GROUP ? at.index :
	    page_branch_rank(g, at.branch));
	if (row == NULL || k == NULL)
		return -ENOENT;
	f->group = true;
	f->ref = (struct page_group_ref){ 0 };
	page_group_ref_set(v, k->by, row, &f->ref);
	page_group_say(page, v, k, row, &w);
	snprintf(f->name, sizeof f->name, "%s", w.name);
	return 0;
}

int
page_follow_toggle(struct page *page, const struct page_view *v)
{
	struct page_follow *f = page->follow;
	int r = 0;

	if (page_follow_stop(page))
		return 0;
	if (f == NULL)
		f = page->follow = calloc(1, sizeof *f);
	if (f == NULL)
		return -ENOMEM;
	f->group = false;
	if (!page_block_at_cursor(page, v, &f->blk))
		r = page_shows_groups(page) ? follow_group(page, v, f) :
		    -ENOENT;
	if (r < 0)
		return r;
	f->free = !f->group && page_is_free(&f->blk);
	f->stream_no = v->look->stream_no;
	f->on = true;
	if (!page->cursor.on) {
		page_move_to(page, page->offs);
		page_remember_cursor(page, v);
	}
	return 1;
}

#define FOLLOW_NAME 24

void
page_follow_text(const struct page *page, char out[PAGE_FOLLOW_TEXT])
{
	const struct page_follow *f = page->follow;
	char *c;

	out[0] = '\0';
	if (f == NULL || !f->on)
		return;
	if (f->group) {
		bool cut = strlen(f->name) > FOLLOW_NAME;

		snprintf(out, PAGE_FOLLOW_TEXT, "follow %.*s%s",
		    FOLLOW_NAME - cut, f->name, cut ? "~" : "");
		for (c = out; *c != '\0'; c++)
			if (*c < ' ' || *c > '~')
				*c = '?';
	} else {
		snprintf(out, PAGE_FOLLOW_TEXT, "follow %08llx",
		    (unsigned long long)f->blk.addr);
	}
}

/* The list has to be complete to tell. */
static bool
was_freed(const struct page_follow *f, const struct page_view *v)
{
	if (f->group || f->free || v->look != v->live || v->look->window ||
	    !v->look->settled || v->look->list == NULL)
		return false;
	return !page_is_listed(v, &f->blk);
}

static void
report_free(struct page *page, const struct page_view *v,
    const struct page_follow *f)
{
	char when[PAGE_CLOCK];

	page_clock(page, v->look, v->look->node_wall_ms, when);
	snprintf(page->message, sizeof page->message,
	    "%08llx was freed at %s: it is no longer followed",
	    (unsigned long long)f->blk.addr, when);
}

/* Scrolls it to the middle unless it is visible. */
static void
put_cursor(struct page *page, uint64_t at)
{
	uint64_t rows =
	    page->found.window > 0 ? (uint64_t)page->found.window : 1;

	page->cursor.on = page->cursor.known = true;
	page->cursor.at = at;
	if (at < page->offs || at - page->offs >= rows)
		page->offs = at > rows / 2 ? at - rows / 2 : 0;
}

static void
seek_block(struct page *page, const struct page_view *v,
    const struct page_follow *f)
{
	uint64_t at;

	if (page->cursor.on && page->cursor.known &&
	    page_cursor_is_on(page, &f->blk))
		return;
	if (!page_rows_find_block(page_rows_ops(page), page, v, &f->blk, &at))
		return;
	page_cursor_set(page, &f->blk);
	put_cursor(page, at);
}

static bool
find_group(const struct page_groups *g, const struct page_view *v,
    struct page_follow *f, uint64_t *key)
{
	const struct page_group_kind *k = page_group_kind(g->shown.kind);
	struct page_group_ref ref = f->ref;

	if (f->group) {
		if (k->tag != NULL ? profile_ranking_find(g->shown.groups,
		    ref.key) < 0 : !page_group_ref_find(g, v, k->by, &ref))
			return false;
		*key = ref.key;
		return true;
	}
	if (k->tag != NULL) {
		*key = profile_tag_key(k->tag(v, g->now_ms, &f->blk));
		return true;
	}
	/* By any frame it is in several groups: that of the origin is meant. */
	return profile_key_of(g->profile, k->by == PROFILE_FRAME ?
	    PROFILE_FUNCTION : k->by, f->blk.caller, key) == 0;
}

static void
seek_group(struct page *page, const struct page_view *v,
    struct page_follow *f)
{
	struct page_groups *g = page->groups;
	const struct profile_group *row;
	uint64_t key, offset;
	int64_t at;

	if (g == NULL || g->nrow == 0 || g->shown.kind != page->group.kind ||
	    !find_group(g, v, f, &key))
		return;
	if (page->cursor.on && page->cursor.known && g->cursor.group.key == key)
		return;
	at = profile_ranking_find(g->shown.groups, key);
	row = at >= 0 ? page_groups_row(g, (size_t)at) : NULL;
	if (row == NULL)
		return;
	page_group_ref_set(v, page_group_kind(g->shown.kind)->by, row,
	    &g->cursor.group);
	g->cursor.what = ROW_GROUP;
	if (page_groups_offset(g, ROW_GROUP, NULL, (size_t)at, &offset))
		put_cursor(page, offset);
}

void
page_follow_refresh(struct page *page, const struct page_view *v)
{
	struct page_follow *f = page->follow;

	if (f == NULL || !f->on || page->medium != PAGE_SCREEN)
		return;
	if (f->stream_no != v->look->stream_no) {
		f->on = false;
	} else if (was_freed(f, v)) {
		f->on = false;
		report_free(page, v, f);
	} else if (page_shows_groups(page)) {
		seek_group(page, v, f);
	} else if (!f->group && v->look->list != NULL) {
		seek_block(page, v, f);
	}
}
