#include <stdio.h>

#include "app.h"
#include "pages.h"

const struct page_sort_ops *
app_page_sorts(const struct app *app)
{
	const struct page_ops *ops = pages[app_page_top(app)].ops;

	return ops->sorts != NULL ? ops->sorts(app) : NULL;
}

static void
sort_by(struct app *app, const struct page_sort_ops *ops,
    const struct page_sorting *s)
{
	const struct page_sort_row *key;

	ops->set(app, s);
	if (ops->named != NULL)
		return;
	key = &ops->keys[s->by[0].sort];
	app_say(app, "order: %s, %s%s", key->word, key->help,
	    s->by[0].reverse ? ", reversed" : "");
}

void
app_sort_by(struct app *app, size_t key)
{
	struct page_sorting s = { .n = 1 };

	s.by[0].sort = (uint8_t)key;
	sort_by(app, app_page_sorts(app), &s);
}

void
app_sort(struct app *app, const char *text)
{
	const struct page_sort_ops *ops = app_page_sorts(app);
	struct page_sorting s;
	char words[200] = "";
	size_t i, len = 0;

	if (ops == NULL)
		ops = pages[PAGE_K].ops->sorts(app);
	for (; ops != NULL; ops = ops->others) {
		if (ops->named != NULL) {
			if (ops->named(app, text))
				return;
		} else if (page_sorting_parse_of(ops->keys, ops->n, text, &s)) {
			sort_by(app, ops, &s);
			return;
		}
	}
	ops = app_page_sorts(app);
	if (ops == NULL)
		ops = pages[PAGE_K].ops->sorts(app);
	for (i = 0; i < ops->n; i++)
		base_append(words, sizeof words, &len, "%s%s", i > 0 ? ", " :
		    ": there are ", ops->keys[i].word);
	app_say(app, "no order is called '%.32s'%s", base_shown(text), words);
}

static struct page_sorting
sorting_of(const struct app *app, const struct page_sort_ops *ops)
{
	struct page_sorting s;

	ops->get(app, &s);
	return s;
}

void
app_sort_reverse(struct app *app)
{
	const struct page_sort_ops *ops = app_page_sorts(app);
	struct page_sorting s = sorting_of(app, ops);

	s.by[0].reverse = !s.by[0].reverse;
	sort_by(app, ops, &s);
}

/* Groups keep the direction. */
static void
sort_beside(struct app *app, bool right)
{
	const struct page_sort_ops *ops = app_page_sorts(app);
	size_t key = ops->beside(app, right);
	struct page_sorting s = { .n = 1 };

	if (key >= ops->n)
		return;
	if (ops->named != NULL)
		s = sorting_of(app, ops);
	s.by[0].sort = (uint8_t)key;
	sort_by(app, ops, &s);
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

#define HELP_AT 16		/* column behind letter and word */

static size_t *
selected_key(const struct app *app)
{
	return app_panel_state(app, APP_SORT);
}

void
app_sort_open(struct app *app)
{
	*selected_key(app) = sorting_of(app, app_page_sorts(app)).by[0].sort;
	app_panel_open(app, APP_SORT);
}

/* A key may take several lines; all of them are marked and shown. */
static int
compose(struct app *app, int rows, struct page_picture *pic)
{
	const struct page_sort_ops *ops = app_page_sorts(app);
	struct page_scroll *scroll = &app->panels.scroll;
	int height = rows > 2 ? rows - 1 : 1, from = 0, to = 0, r;
	char name[HELP_AT];
	size_t i;

	picture_line(pic);
	picture_printf(pic, "SORT");
	page_overlay_title("a letter or Enter picks  r reverses  Esc leaves",
	    pic);
	for (i = 0; i < ops->n; i++) {
		snprintf(name, sizeof name, "%c  %s",
		    ops->keys[i].letters[0] != '\0' ?
		    ops->keys[i].letters[0] : ' ', ops->keys[i].word);
		/* pic->rows does not count the open line. */
		if (i == *selected_key(app))
			from = pic->rows;
		picture_entry(pic, name, HELP_AT, ops->keys[i].help);
		if (i == *selected_key(app)) {
			to = pic->rows;
			picture_mark_line(pic, PAGE_CURSOR);
		}
	}
	r = picture_end(pic);
	if (r < 0)
		return r;
	page_scroll_to(scroll, to, height);
	page_scroll_to(scroll, from, height);
	page_scroll_cut(scroll, pic, rows - 1);
	return 0;
}

static void
move(struct app *app, int rows, bool scroll)
{
	app_panel_select(app, selected_key(app), app_page_sorts(app)->n, rows,
	    scroll);
}

static int
window(const struct app *app)
{
	const struct page_scroll *s = &app->panels.scroll;
	int n = (int)app_page_sorts(app)->n;

	return s->lines > n ? s->window * n / s->lines : s->window;
}

static void
enter(struct app *app)
{
	app_panel_close(app);
	app_sort_by(app, *selected_key(app));
}

static void
reverse(struct app *app)
{
	app_panel_close(app);
	app_sort_reverse(app);
}

static bool
key(struct app *app, int code)
{
	char letter[2] = { code > ' ' && code < 0x7f ? (char)code : '\0' };
	const struct page_sort_ops *ops = app_page_sorts(app);
	struct page_sorting s;

	if (page_key_action(code) == PAGE_DO_REVERSE ||
	    !page_sorting_parse_of(ops->keys, ops->n, letter, &s))
		return false;
	app_panel_close(app);
	sort_by(app, ops, &s);
	return true;
}

static const struct panel_key keys[] = {
	{ .action = PAGE_DO_REVERSE, .run = reverse },
};

const struct panel_ops overlay_sort = {
	.keys = keys,
	.nkeys = BASE_NELEM(keys),
	.state_size = sizeof(size_t),
	.compose = compose,
	.move = move,
	.window = window,
	.enter = enter,
	.key = key,
};
