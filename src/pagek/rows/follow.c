/* See follow.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "follow.h"
#include "free_blocks.h"
#include "groups.h"
#include "rows.h"

struct page_followed {
	bool on;
	bool group;		/* ... and no block */
	bool free;		/* a free one, known by where it lies */
	struct blk blk;
	struct page_group_hold hold;
	char name[PAGE_NAME_MAX];	/* the group's; outside text */
	uint32_t stream_no;
};

void
page_followed_free(struct page_followed *f)
{
	free(f);
}

bool
page_followed_stop(struct page *page)
{
	if (page->followed == NULL || !page->followed->on)
		return false;
	page->followed->on = false;
	return true;
}

static int
take_group(struct page *page, const struct page_view *v,
    struct page_followed *f)
{
	struct page_groups *g = page->groups;
	const struct page_group_kind *k = page_group_kind(page->group);
	const struct profile_group *row;
	struct page_group_words w;
	struct page_group_at at;

	if (g == NULL || !page_groups_at(g, page->cursor.on ? page->cursor.at :
	    page->offs, &at))
		return -ENOENT;
	/* A group of the second level is followed with the one that it is in. */
	row = page_groups_row(g, at.what == ROW_GROUP ? at.index :
	    page_branch_rank(g, at.branch));
	if (row == NULL || k == NULL)
		return -ENOENT;
	f->group = true;
	f->hold = (struct page_group_hold){ 0 };
	page_group_hold(v, k->by, row, &f->hold);
	page_group_say(page, v, k, row, &w);
	snprintf(f->name, sizeof f->name, "%s", w.name);
	return 0;
}

int
page_followed_toggle(struct page *page, const struct page_view *v)
{
	struct page_followed *f = page->followed;
	int r = 0;

	if (page_followed_stop(page))
		return 0;
	if (f == NULL)
		f = page->followed = calloc(1, sizeof *f);
	if (f == NULL)
		return -ENOMEM;
	f->group = false;
	if (!page_block_at_cursor(page, v, &f->blk))
		r = page_shows_groups(page) ? take_group(page, v, f) :
		    -ENOENT;
	if (r < 0)
		return r;
	f->free = !f->group && page_is_free(&f->blk);
	f->stream_no = v->look->stream_no;
	f->on = true;
	if (!page->cursor.on) {
		page_move_to(page, page->offs);
		page_hold(page, v);
	}
	return 1;
}

void
page_followed_text(const struct page *page, char out[PAGE_FOLLOWED_TEXT])
{
	const struct page_followed *f = page->followed;
	char *c;

	out[0] = '\0';
	if (f == NULL || !f->on)
		return;
	if (f->group) {
		snprintf(out, PAGE_FOLLOWED_TEXT, "follow %.24s", f->name);
		for (c = out; *c != '\0'; c++)
			if (*c < ' ' || *c > '~')
				*c = '?';
	} else {
		snprintf(out, PAGE_FOLLOWED_TEXT, "follow %08llx",
		    (unsigned long long)f->blk.addr);
	}
}

/* --- its end ------------------------------------------------------------ */

/* What is not in some rows of a list may well be in the list. */
static bool
has_ended(const struct page_followed *f, const struct page_view *v)
{
	if (f->group || f->free || v->look != v->live || v->look->window ||
	    !v->look->settled || v->look->list == NULL)
		return false;
	return !blklist_has(v->look->list, &f->blk, NULL);
}

static void
say_end(struct page *page, const struct page_view *v,
    const struct page_followed *f)
{
	char when[16] = "";
	struct tm tm;

	page_wall(page, v->look, v->look->node_wall_ms, &tm);
	strftime(when, sizeof when, "%H:%M:%S", &tm);
	snprintf(page->message, sizeof page->message,
	    "%08llx was freed at %s: it is followed no longer",
	    (unsigned long long)f->blk.addr, when);
}

/* --- where it is -------------------------------------------------------- */

/* In the middle, unless it is to be seen where it is. */
static void
put_cursor(struct page *page, uint64_t at)
{
	uint64_t rows = page->found.window > 0 ? (uint64_t)page->found.window : 1;

	page->cursor.on = page->cursor.held = true;
	page->cursor.at = at;
	if (at < page->offs || at - page->offs >= rows)
		page->offs = at > rows / 2 ? at - rows / 2 : 0;
}

static void
seek_block(struct page *page, const struct page_view *v,
    const struct page_followed *f)
{
	const struct page_rows_ops *rows = page_rows_ops(page);
	struct page probe;
	uint64_t at;

	if (page->cursor.on && page->cursor.held &&
	    page_holds_block(page, &f->blk))
		return;
	probe = *page;
	page_hold_block(&probe, &f->blk);
	if (!rows->held(&probe, v, rows->total(page, v), &at))
		return;
	page_hold_block(page, &f->blk);
	put_cursor(page, at);
}

/* The group of this kind that it is in. */
static bool
find_group(const struct page_groups *g, const struct page_view *v,
    struct page_followed *f, uint64_t *key)
{
	const struct page_group_kind *k = page_group_kind(g->kind);
	struct page_group_hold hold = f->hold;

	if (f->group) {
		if (k->tag != NULL ? profile_ranking_find(g->shown,
		    hold.key) < 0 : !page_group_find(g, v, k->by, &hold))
			return false;
		*key = hold.key;
		return true;
	}
	if (k->tag != NULL) {
		*key = profile_tag_key(k->tag(v, g->now_ms, &f->blk));
		return true;
	}
	/* By any frame it is in several: that of who asked is meant. */
	return profile_key_of(g->profile, k->by == PROFILE_FRAME ?
	    PROFILE_FUNCTION : k->by, f->blk.caller, key) == 0;
}

static void
seek_group(struct page *page, const struct page_view *v,
    struct page_followed *f)
{
	struct page_groups *g = page->groups;
	const struct profile_group *row;
	uint64_t key, offset;
	int64_t at;

	if (g == NULL || g->nrow == 0 || g->kind != page->group ||
	    !find_group(g, v, f, &key))
		return;
	if (page->cursor.on && page->cursor.held && g->cursor.key == key)
		return;
	at = profile_ranking_find(g->shown, key);
	row = at >= 0 ? page_groups_row(g, (size_t)at) : NULL;
	if (row == NULL)
		return;
	page_group_hold(v, page_group_kind(g->kind)->by, row, &g->cursor);
	g->cursor_on = ROW_GROUP;
	if (page_groups_offset(g, ROW_GROUP, NULL, (size_t)at, &offset))
		put_cursor(page, offset);
}

void
page_followed_begin(struct page *page, const struct page_view *v)
{
	struct page_followed *f = page->followed;

	if (f == NULL || !f->on || !page->on_screen || page->bare)
		return;
	if (f->stream_no != v->look->stream_no) {
		f->on = false;
	} else if (has_ended(f, v)) {
		f->on = false;
		say_end(page, v, f);
	} else if (page_shows_groups(page)) {
		seek_group(page, v, f);
	} else if (!f->group && v->look->list != NULL) {
		seek_block(page, v, f);
	}
}
