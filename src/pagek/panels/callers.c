#include <errno.h>
#include <string.h>

#include "../layout/fields.h"
#include "detail.h"

#define INDENT 2

void
page_callers_open(struct page_callers *k, uint64_t caller,
    const struct page_call *c)
{
	char where[PAGE_NAME_MAX], name[PAGE_NAME_MAX];
	size_t len = 0;

	memset(k, 0, sizeof *k);
	page_call_function(c, name, sizeof name);
	page_call_where(c, false, where, sizeof where);
	base_append(k->step[0].name, sizeof k->step[0].name, &len, "%s%s%s",
	    name, where[0] != '\0' ? "  " : "", where);
	k->step[0].of = (struct page_group_ref){
		.key = profile_key(c->at, c->words, c->words != NULL &&
		    c->words->n > 0 ? c->words->n - 1 - c->outer : 0),
		.caller = caller,
		.frame = c->at,
	};
	k->steps = 1;
}

static int
rows_of(const struct page_callers *k)
{
	return (int)(k->callers + k->callees);
}

void
page_callers_move(struct page_callers *k, int delta)
{
	int *at = &k->step[k->steps - 1].selected;

	*at += delta;
	if (*at >= rows_of(k))
		*at = rows_of(k) - 1;
	if (*at < 0)
		*at = 0;
}

static const struct profile_group *
selected(const struct page_callers *k)
{
	int at = k->step[k->steps - 1].selected;

	if (at >= rows_of(k))
		return NULL;
	return at < (int)k->callers ? &k->row[at] :
	    &k->row[PAGE_CALLERS_ROWS + at - (int)k->callers];
}

/* The next picture reads those of the last step. */
static void
drop_rows(struct page_callers *k)
{
	k->callers = k->callees = 0;
	k->self = (struct profile_group){ 0 };
	k->serial = 0;
}

bool
page_callers_go(struct page_callers *k, const struct page_view *v)
{
	const struct profile_group *row = selected(k);
	int i;

	if (row == NULL)
		return false;
	/* The first step is forgotten. */
	if (k->steps == PAGE_CALLERS_DEPTH) {
		for (i = 1; i < PAGE_CALLERS_DEPTH; i++)
			k->step[i - 1] = k->step[i];
		k->steps--;
	}
	memset(&k->step[k->steps], 0, sizeof k->step[0]);
	page_group_ref_set(v, PROFILE_FRAME, row, &k->step[k->steps].of);
	page_group_name(row, k->step[k->steps].name,
	    sizeof k->step[0].name);
	k->steps++;
	k->scroll.top = 0;
	drop_rows(k);
	return true;
}

bool
page_callers_back(struct page_callers *k)
{
	if (k->steps <= 1)
		return false;
	k->steps--;
	drop_rows(k);
	return true;
}

static int
read_rows(struct page_callers *k, struct page_groups *g,
    const struct page_view *v)
{
	struct page_group_ref *of = &k->step[k->steps - 1].of;
	int r;

	drop_rows(k);
	page_group_ref_find(g, v, PROFILE_FRAME, of);
	/* -ENOENT: a wrapper is in no group, but has callers. */
	r = profile_group(g->profile, PROFILE_FRAME, of->key, PROFILE_BYTES,
	    g->now_ms, &k->self);
	if (r < 0 && r != -ENOENT)
		return r;
	r = profile_neighbours(g->profile, of->key, true, PROFILE_BYTES,
	    g->now_ms, k->row, PAGE_CALLERS_ROWS, &k->callers);
	if (r < 0)
		return r;
	return profile_neighbours(g->profile, of->key, false, PROFILE_BYTES,
	    g->now_ms, k->row + PAGE_CALLERS_ROWS, PAGE_CALLERS_ROWS,
	    &k->callees);
}

/* The cursor stays on its function, wherever that has moved. */
static void
follow_function(struct page_callers *k, uint64_t key, bool callee)
{
	int *at = &k->step[k->steps - 1].selected;
	size_t n = callee ? k->callees : k->callers, i;
	const struct profile_group *row = callee ? k->row + PAGE_CALLERS_ROWS :
	    k->row;

	for (i = 0; i < n; i++)
		if (row[i].key == key)
			*at = (int)(callee ? k->callers + i : i);
}

/* Once for each take of the groups. */
static int
refresh_sums(struct page_callers *k, struct page *page,
    const struct page_view *v)
{
	const struct profile_group *was = selected(k);
	uint64_t key = was != NULL ? was->key : 0;
	bool callee = was >= k->row + PAGE_CALLERS_ROWS;
	struct mono start;
	int r;

	r = page_groups_refresh(page, v);
	if (r < 0 || k->serial == page->groups->serial)
		return r;
	start = mono_now();
	r = read_rows(k, page->groups, v);
	scan_charge(&page->groups->pass.scan, mono_diff_ns(mono_now(), start));
	if (r < 0)
		return r;
	k->serial = page->groups->serial;
	if (was != NULL)
		follow_function(k, key, callee);
	return 0;
}

static const struct page_sum_form form = { .self = true };

static void
put_sum(const struct page_view *v, const struct profile_group *row,
    uint64_t of, int indent, struct page_picture *pic)
{
	struct page_sum sum = { .v = v, .g = row, .of = of };

	picture_printf(pic, "%*s", indent, "");
	page_sum_put(&sum, &form, row->name, row->where, pic);
}

static void
put_heading(const char *text, struct page_picture *pic)
{
	picture_line(pic);
	picture_put(pic, text);
	picture_mark(pic, 0, picture_col(pic), PAGE_NEW);
}

static void
put_callers(struct page_callers *k, const struct page_view *v, uint64_t of,
    const struct profile_group *row, size_t n, int first, int *line,
    struct page_picture *pic)
{
	const int *at = &k->step[k->steps - 1].selected;
	size_t i;

	for (i = 0; i < n; i++) {
		picture_line(pic);
		put_sum(v, &row[i], of, INDENT, pic);
		if (first + (int)i != *at)
			continue;
		*line = pic->rows - 1;
		picture_mark_line(pic, PAGE_CURSOR);
	}
	if (n == 0) {
		picture_line(pic);
		picture_printf(pic, "%*snone", INDENT, "");
		picture_mark_line(pic, PAGE_STALE);
	}
}

int
page_callers_compose(struct page_callers *k, struct page *page,
    const struct page_view *v, int cols, int rows, struct page_picture *pic)
{
	uint64_t of;
	int r, line = 0;

	r = refresh_sums(k, page, v);
	if (r < 0)
		return r;
	page_callers_move(k, 0);
	of = page->groups->total.bytes;
	picture_begin(pic, cols, page->opts.ascii);
	picture_line(pic);
	picture_put(pic, "CALLERS AND CALLEES");
	page_overlay_title("j k move  Enter go there  Esc back", pic);
	picture_line(pic);
	page_sum_heading("FUNCTION", v, &form, pic);
	picture_line(pic);
	if (k->self.name != NULL)
		put_sum(v, &k->self, of, 0, pic);
	else
		picture_text(pic, k->step[k->steps - 1].name, pic->cols,
		    PICTURE_FREE);
	picture_mark_line(pic, PAGE_NEW);
	put_heading("callers", pic);
	put_callers(k, v, of, k->row, k->callers, 0, &line, pic);
	put_heading("callees", pic);
	put_callers(k, v, of, k->row + PAGE_CALLERS_ROWS, k->callees,
	    (int)k->callers, &line, pic);
	r = picture_end(pic);
	if (r < 0)
		return r;
	page_scroll_to(&k->scroll, line, rows - 1 > 1 ? rows - 1 : 1);
	/* The headings above the first row are shown with it. */
	if (k->step[k->steps - 1].selected == 0)
		k->scroll.top = 0;
	page_scroll_cut(&k->scroll, pic, rows - 1);
	return 0;
}
