#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "app.h"
#include "pages.h"

_Static_assert((int)APP_HELP == (int)PAGES, "panels begin with the pages");

#define PAGE(action, letter, key, bar, rank, name, title) \
	extern const struct page_ops page_##name;
#include "../picture/pages.def"
#undef PAGE

const struct page_row pages[PAGES] = {
#define PAGE(action, letter_, key_, bar, rank, name, title_) \
	[PAGE_##letter_] = { \
		.letter = #letter_, \
		.key = #key_, \
		.title = title_, \
		.ops = &page_##name, \
	},
#include "../picture/pages.def"
#undef PAGE
};

static const struct panel_ops *const overlays[APP_PANELS] = {
	[APP_HELP] = &overlay_help,
	[APP_TARGETS] = &overlay_targets,
	[APP_MARKS] = &overlay_marks,
	[APP_DETAIL] = &overlay_detail,
	[APP_CALLERS] = &overlay_callers,
	[APP_DIAGNOSTICS] = &overlay_diagnostics,
	[APP_SETTINGS] = &overlay_settings,
	[APP_SORT] = &overlay_sort,
};

static bool
is_page(enum app_panel p)
{
	return p < APP_HELP;
}

static const struct panel_ops *
ops_of(enum app_panel p)
{
	return is_page(p) ? &pages[p].ops->panel : overlays[p];
}

int
app_panels_init(struct app *app)
{
	struct app_panels *ps = &app->panels;
	size_t size;
	int p;

	ps->stack[0] = APP_PAGE_K;
	ps->n = 1;
	for (p = 0; p < APP_PANELS; p++) {
		size = ops_of((enum app_panel)p)->state_size;
		if (size == 0)
			continue;
		ps->state[p] = calloc(1, size);
		if (ps->state[p] == NULL)
			return -ENOMEM;
	}
	return 0;
}

void
app_panels_fini(struct app *app)
{
	const struct panel_ops *ops;
	int p;

	for (p = 0; p < APP_PANELS; p++) {
		ops = ops_of((enum app_panel)p);
		if (ops->fini != NULL && app->panels.state[p] != NULL)
			ops->fini(app);
		free(app->panels.state[p]);
		app->panels.state[p] = NULL;
	}
}

enum app_panel
app_panel_top(const struct app *app)
{
	return app->panels.stack[app->panels.n - 1];
}

bool
app_panel_is_open(const struct app *app, enum app_panel p)
{
	int i;

	for (i = 0; i < app->panels.n; i++)
		if (app->panels.stack[i] == p)
			return true;
	return false;
}

void *
app_panel_state(const struct app *app, enum app_panel p)
{
	return app->panels.state[p];
}

bool
app_panels_need(const struct app *app, enum panel_blocks blocks)
{
	int i;

	for (i = 0; i < app->panels.n; i++)
		if (ops_of(app->panels.stack[i])->blocks >= blocks)
			return true;
	return false;
}

/* A page closes the picker of orders: the page that comes to be under it may have none. */
void
app_panel_open(struct app *app, enum app_panel p)
{
	struct app_panels *ps = &app->panels;
	int i, n = 1;

	if (p == APP_PAGE_K) {
		app_panel_close_all(app);
		return;
	}
	for (i = 1; i < ps->n; i++)
		if (ps->stack[i] != p && (ps->stack[i] != APP_SORT || !is_page(p)))
			ps->stack[n++] = ps->stack[i];
	ps->stack[n++] = p;
	ps->n = n;
	ps->scroll = (struct page_scroll){ 0 };
}

void
app_panel_close(struct app *app)
{
	if (app->panels.n > 1)
		app->panels.n--;
	app->panels.scroll = (struct page_scroll){ 0 };
}

void
app_panel_close_all(struct app *app)
{
	app->panels.n = 1;
}

void
app_panel_close_node(struct app *app)
{
	enum app_panel top = app_panel_top(app);

	app->panels.n = 1;
	if (ops_of(top)->any_node)
		app->panels.stack[app->panels.n++] = top;
}

void
app_page_open(struct app *app, enum page_letter p, bool first)
{
	const struct page_ops *ops = pages[p].ops;

	if (ops->open == NULL || ops->open(app, first))
		app_panel_open(app, (enum app_panel)p);
}

static void
open_page_of_key(struct app *app, enum page_letter p)
{
	if (app_panel_top(app) == (enum app_panel)p)
		app_say(app, "this is page %s", pages[p].letter);
	else
		app_page_open(app, p, false);
}

void
app_pages_tick(struct app *app)
{
	int p;

	for (p = 0; p < PAGES; p++)
		if (pages[p].ops->tick != NULL)
			pages[p].ops->tick(app);
}

enum page_letter
app_page_top(const struct app *app)
{
	int i = app->panels.n - 1;

	while (!is_page(app->panels.stack[i]))
		i--;
	return (enum page_letter)app->panels.stack[i];
}

const struct page_ops *
app_page_shown(const struct app *app)
{
	enum app_panel top = app_panel_top(app);

	return pages[is_page(top) ? top : APP_PAGE_K].ops;
}

bool
app_panel_covers(const struct app *app)
{
	return is_page(app_panel_top(app)) && app->panels.n > 1;
}

/* A prompt or a message covers the last row. */
static int
page_height(const struct app *app)
{
	bool said =
	    app->page->prompt.text != NULL || app->page->message[0] != '\0';

	return said && app->rows > 1 ? app->rows - 1 : app->rows;
}

bool
app_panel_compose(struct app *app, struct page_picture *pic)
{
	const struct panel_ops *ops = ops_of(app_panel_top(app));

	if (app->panels.n == 1)
		return false;
	if (app_panel_covers(app))
		return ops->compose(app, page_height(app), pic) == 0;
	picture_begin(pic, app->cols, app->page->opts.ascii);
	return ops->compose(app, app->rows > 4 ? app->rows - 2 : 2, pic) == 0;
}

void
app_panel_keys_help(enum app_panel p, struct page_picture *pic)
{
	const struct panel_ops *ops = ops_of(p);
	size_t i;

	if (ops->title == NULL)
		return;
	page_keys_help_title(pic, ops->title);
	for (i = 0; i < ops->nkeys; i++)
		if (ops->keys[i].names != NULL)
			page_keys_help_line(pic, ops->keys[i].names,
			    ops->keys[i].help);
}

void
app_panel_scroll(struct app *app, int rows, bool scroll)
{
	(void)scroll;
	app->panels.scroll.top += rows;
}

int
app_panel_scroll_window(const struct app *app)
{
	return app->panels.scroll.window;
}

void
app_panel_select(struct app *app, size_t *selected, size_t n, int rows,
    bool scroll)
{
	struct page_scroll *s = &app->panels.scroll;
	int64_t at = (int64_t)*selected + rows;

	/* A row may take several lines. */
	if (scroll && n > 0)
		s->top += rows * (s->lines / (int)n);

	if (at >= (int64_t)n)
		at = (int64_t)n - 1;
	*selected = at > 0 ? (size_t)at : 0;
}

#define FAR (1 << 24)		/* more rows than there are */

static void
enter_panel(struct app *app)
{
	ops_of(app_panel_top(app))->enter(app);
}

static void
go_back(struct app *app)
{
	const struct panel_ops *ops = ops_of(app_panel_top(app));

	if (ops->back == NULL || !ops->back(app))
		app_panel_close(app);
}

static void
toggle_help(struct app *app)
{
	if (app_panel_top(app) == APP_HELP)
		app_panel_close(app);
	else
		app_panel_open(app, APP_HELP);
}

static void
save_picture(struct app *app)
{
	char path[256];
	int r = app_save(app, path, sizeof path);

	if (r < 0)
		app_say(app, "cannot save %s: %s", path, strerror(-r));
	else
		app_say(app, "saved as %s", path);
}

static void
request_suspend(struct app *app)
{
	app->requests.suspend = true;
}

static void
request_repaint(struct app *app)
{
	app->requests.repaint = true;
}

static bool
can_sort(const struct app *app)
{
	return app_page_sorts(app) != NULL;
}

static bool
can_save(const struct app *app)
{
	return app_page_shown(app)->save != NULL;
}

enum {
	ON_PAGES = 1,
	ON_OVERLAYS = 2,
	ON_ALL = ON_PAGES | ON_OVERLAYS,
};

static const struct {
	unsigned on;
	int rows, halves;	/* rows to move by; half screens to scroll by */
	void (*run)(struct app *);
	bool (*can)(const struct app *);	/* NULL: always */
} meanings[PAGE_ACTIONS] = {
	[PAGE_DO_DOWN] = { ON_ALL, .rows = 1 },
	[PAGE_DO_UP] = { ON_ALL, .rows = -1 },
	[PAGE_DO_PAGE_DOWN] = { ON_ALL, .halves = 2 },
	[PAGE_DO_PAGE_UP] = { ON_ALL, .halves = -2 },
	[PAGE_DO_HALF_DOWN] = { ON_ALL, .halves = 1 },
	[PAGE_DO_HALF_UP] = { ON_ALL, .halves = -1 },
	[PAGE_DO_FIRST] = { ON_ALL, .rows = -FAR },
	[PAGE_DO_LAST] = { ON_ALL, .rows = FAR },
	[PAGE_DO_OPEN] = { ON_ALL, .run = enter_panel },
	[PAGE_DO_CLOSE] = { ON_ALL, .run = go_back },
	[PAGE_DO_HELP] = { ON_ALL, .run = toggle_help },
	[PAGE_DO_QUIT] = { ON_ALL, .run = app_leave },
	[PAGE_DO_INTERRUPT] = { ON_ALL, .run = app_interrupt },
	[PAGE_DO_SUSPEND] = { ON_ALL, .run = request_suspend },
	[PAGE_DO_REPAINT] = { ON_ALL, .run = request_repaint },
	[PAGE_DO_PAUSE] = { ON_OVERLAYS, .run = app_pause },
	[PAGE_DO_COPY] = { ON_OVERLAYS, .run = app_show_address },
	[PAGE_DO_LISTING] = { ON_OVERLAYS, .run = app_listing },
	[PAGE_DO_OUTPUT] = { ON_ALL, .run = app_output },
	[PAGE_DO_COMMAND] = { ON_PAGES, .run = app_command_open },
	[PAGE_DO_TARGETS] = { ON_PAGES, .run = app_list_targets },
	[PAGE_DO_SORT] = { ON_PAGES, .run = app_sort_open, .can = can_sort },
	[PAGE_DO_SORT_LEFT] = { ON_PAGES, .run = app_sort_left,
	    .can = can_sort },
	[PAGE_DO_SORT_RIGHT] = { ON_PAGES, .run = app_sort_right,
	    .can = can_sort },
	[PAGE_DO_REVERSE] = { ON_PAGES, .run = app_sort_reverse,
	    .can = can_sort },
	[PAGE_DO_SAVE] = { ON_PAGES, .run = save_picture, .can = can_save },
};

static void
say_no_meaning(struct app *app, int code)
{
	enum app_panel top = app_panel_top(app);
	char name[16];

	page_key_name(code, name);
	if (top == APP_PAGE_K)
		app_say(app, "%s means nothing here; ? lists the keys", name);
	else if (!is_page(top))
		app_say(app, "%s means nothing here; Esc closes", name);
	else if (page_key_action(code) == PAGE_DO_NOTHING)
		app_say(app, "%s means nothing on page %s", name,
		    pages[top].letter);
	else
		app_say(app, "%s is none of page %s; %s: page K", name,
		    pages[top].letter, pages[APP_PAGE_K].key);
}

static bool
has_meaning(const struct app *app, enum page_action action)
{
	unsigned on = is_page(app_panel_top(app)) ? ON_PAGES : ON_OVERLAYS;

	return (meanings[action].on & on) != 0 && (meanings[action].can ==
	    NULL || meanings[action].can(app));
}

static void
scroll_panel(struct app *app, int halves)
{
	const struct panel_ops *ops = ops_of(app_panel_top(app));
	int shown = ops->window(app);
	int rows = halves * (shown > 1 ? shown : 1) / 2;

	ops->move(app, rows != 0 ? rows : halves < 0 ? -1 : 1, true);
}

static void
do_meaning(struct app *app, int code)
{
	enum page_action action = page_key_action(code);
	const struct panel_ops *ops = ops_of(app_panel_top(app));

	if (page_key_page(action) != PAGES)
		open_page_of_key(app, page_key_page(action));
	else if (!has_meaning(app, action))
		say_no_meaning(app, code);
	else if (meanings[action].run != NULL)
		meanings[action].run(app);
	else if (meanings[action].halves != 0)
		scroll_panel(app, meanings[action].halves);
	else
		ops->move(app, meanings[action].rows, false);
}

static const struct panel_key *
own_key(const struct panel_ops *ops, int code)
{
	enum page_action action = page_key_action(code);
	size_t i, n;

	for (n = 0; n < ops->nkeys; n++) {
		const struct panel_key *k = &ops->keys[n];

		for (i = 0; i < BASE_NELEM(k->code); i++)
			if (k->code[i] != PAGE_KEY_NONE && k->code[i] == code)
				return k;
		if (action != PAGE_DO_NOTHING && k->action == action)
			return k;
	}
	return NULL;
}

void
app_panel_key(struct app *app, int code)
{
	const struct panel_ops *ops = ops_of(app_panel_top(app));
	const struct panel_key *k;

	if (ops->key != NULL && ops->key(app, code))
		return;
	k = own_key(ops, code);
	if (k != NULL)
		k->run(app);
	else if (code == 'q' && app->panels.n > 1)
		app_panel_close(app);
	else
		do_meaning(app, code);
}

bool
app_panel_click(struct app *app, int row, int col)
{
	const struct panel_ops *ops = ops_of(app_panel_top(app));

	if (ops->click == NULL)
		return false;
	ops->click(app, row, col);
	return true;
}

void
app_panel_want(const struct app *app, struct nodes_view *view)
{
	const struct panel_ops *ops = ops_of(app_panel_top(app));

	if (ops->want != NULL)
		ops->want(app, view);
}
