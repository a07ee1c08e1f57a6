/*
 * The picker of orders: what rows may be sorted by, as sorts.def has it.  Enter
 * takes the one under the cursor, a letter its own at once.
 */
#include <stdio.h>
#include <string.h>

#include "../page/choice.h"
#include "../page/columns.h"
#include "../page/order.h"
#include "app.h"

static void
say_order(struct app *app)
{
	bool reverse;
	enum page_sort sort = page_sorting_first(&app->page->opts, &reverse);

	app_say(app, "order: %s, %s%s", page_sort_rows[sort].word,
	    page_sort_rows[sort].help, reverse ? ", reversed" : "");
}

static void
sort_by(struct app *app, const struct page_sorting *sorting)
{
	page_choice_sort(app->page, sorting);
	say_order(app);
}

static void
sort_by_row(struct app *app, size_t row)
{
	struct page_sorting s = { .n = 1 };

	s.by[0].sort = (uint8_t)row;
	sort_by(app, &s);
}

bool
app_sort(struct app *app, const char *text)
{
	struct page_sorting s;

	if (!page_sorting_parse(text, &s)) {
		app_say(app, "no order is called '%.64s'; s lists them", text);
		return false;
	}
	sort_by(app, &s);
	return true;
}

void
app_sort_open(struct app *app)
{
	bool reverse;

	if (page_shows_groups(app->page)) {
		app_group_sort(app, 1);
		return;
	}
	app->sort = page_sorting_first(&app->page->opts, &reverse);
	app_overlay_open(app, APP_SORT);
}

void
app_sort_reverse(struct app *app)
{
	struct page_sorting s;

	if (page_shows_groups(app->page)) {
		app_group_reverse(app);
		return;
	}
	page_sorting_get(&app->page->opts, &s);
	s.by[0].reverse = !s.by[0].reverse;
	sort_by(app, &s);
}

static bool
is_wide(const struct app *app)
{
	return app->page->layout == PAGE_WIDE || (app->page->layout ==
	    PAGE_AUTO && app->cols >= PAGE_WIDE_COLS);
}

/* A narrow page shows no columns, but for its own few. */
static bool
is_shown(struct app *app, const struct page_view *v, size_t row)
{
	static const char *const classic[] = { "ADDRESS", "SIZE", "TY",
		"DESCR", "RNOD", "AGE" };
	const char *title = page_sort_rows[row].title;
	size_t i;

	if (title == NULL)
		return false;
	if (is_wide(app))
		return page_columns_show(v, app->cols, title);
	for (i = 0; i < BASE_NELEM(classic); i++)
		if (strcmp(classic[i], title) == 0)
			return true;
	return false;
}

/* To the next column that is shown, on its side. */
static void
sort_beside(struct app *app, bool right)
{
	/* As they stand from left to right. */
	static const enum page_sort at[] = { PAGE_SORT_ADDRESS,
		PAGE_SORT_SIZE, PAGE_SORT_USED, PAGE_SORT_TYPE,
		PAGE_SORT_DESCR, PAGE_SORT_THREAD, PAGE_SORT_RNOD,
		PAGE_SORT_AGE, PAGE_SORT_LEVEL, PAGE_SORT_FUNCTION };
	struct page_view v;
	enum page_sort now;
	size_t i, n;
	bool reverse;

	if (page_shows_groups(app->page)) {
		app_group_sort(app, right ? 1 : -1);
		return;
	}
	page_view_shown(&v, app->page, app->session);
	now = page_sorting_first(&app->page->opts, &reverse);
	for (i = 0; i < BASE_NELEM(at) - 1 && at[i] != now; i++)
		continue;
	for (n = 0; n < BASE_NELEM(at); n++) {
		i = (i + (right ? 1 : BASE_NELEM(at) - 1)) % BASE_NELEM(at);
		if (is_shown(app, &v, at[i])) {
			sort_by_row(app, at[i]);
			return;
		}
	}
}

void
app_sort_left(struct app *app)
{
	sort_beside(app, false);
}

void
app_sort_right(struct app *app)
{
	sort_beside(app, true);
}

/* Where no single column can be meant, all of them are offered. */
void
app_sort_at(struct app *app, int col)
{
	const char *title = NULL;
	struct page_view v;
	bool reverse;
	size_t i;

	page_view_shown(&v, app->page, app->session);
	if (is_wide(app) && !page_shows_groups(app->page))
		title = page_columns_title(&v, app->cols, col);
	for (i = 0; title != NULL && i < PAGE_SORTS; i++)
		if (page_sort_rows[i].title != NULL &&
		    strncmp(title + strspn(title, " "), page_sort_rows[i].title,
		    strcspn(title + strspn(title, " "), " ")) == 0)
			break;
	if (title == NULL || i == PAGE_SORTS)
		app_sort_open(app);
	else if (page_sorting_first(&app->page->opts, &reverse) == i)
		app_sort_reverse(app);
	else
		sort_by_row(app, i);
}

/* --- the picker --------------------------------------------------------- */

#define HELP_AT 16		/* behind letter and word */

/* A row may take some lines: those that it takes are marked, and in sight. */
static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	int window = rows > 2 ? rows - 1 : 1, from = 0, to = 0, r;
	char name[HELP_AT];
	size_t i;

	picture_line(pic);
	picture_printf(pic, "SORT");
	page_overlay_title("a letter or Enter picks  r reverses  Esc leaves",
	    pic);
	for (i = 0; i < PAGE_SORTS; i++) {
		snprintf(name, sizeof name, "%c  %s",
		    page_sort_rows[i].letters[0], page_sort_rows[i].word);
		/* The line that is open is not counted yet. */
		if (i == app->sort)
			from = pic->rows;
		picture_entry(pic, name, HELP_AT, page_sort_rows[i].help);
		if (i == app->sort) {
			to = pic->rows;
			picture_mark_line(pic, PAGE_CURSOR);
		}
	}
	r = picture_end(pic);
	if (r < 0)
		return r;
	page_scroll_to(&app->scroll, to, window);
	page_scroll_to(&app->scroll, from, window);
	page_scroll_cut(&app->scroll, pic, rows - 1);
	return 0;
}

static void
move(struct app *app, int delta)
{
	int64_t at = (int64_t)app->sort + delta;

	if (at >= PAGE_SORTS)
		at = PAGE_SORTS - 1;
	app->sort = at > 0 ? (size_t)at : 0;
}

static int
window(const struct app *app)
{
	return app->scroll.window;
}

static void
enter(struct app *app)
{
	app_overlay_close(app);
	sort_by_row(app, app->sort);
}

static bool
key(struct app *app, int code)
{
	char letter[2] = { code > ' ' && code < 0x7f ? (char)code : '\0' };
	struct page_sorting s;

	if (page_key_action(code) == PAGE_DO_REVERSE) {
		app_overlay_close(app);
		app_sort_reverse(app);
		return true;
	}
	if (!page_sorting_parse(letter, &s))
		return false;
	app_overlay_close(app);
	sort_by(app, &s);
	return true;
}

const struct app_overlay_ops app_overlay_sort = {
	.compose = compose,
	.move = move,
	.window = window,
	.enter = enter,
	.key = key,
};
