#include "app.h"

#define WHEEL_ROWS 3
#define DOUBLE_MS 400

bool
app_click_is_double(struct app *app, int row)
{
	bool again = app->clicked.row == row &&
	    mono_ms_since(app->clicked.at) <= DOUBLE_MS;

	app->clicked.row = again ? -1 : row;
	app->clicked.at = mono_now();
	return again;
}

/* A message hides the key bar. */
static bool
click_bar(struct app *app, int row, int col)
{
	struct page *page = app->page;
	int code;

	if (row != page->found.spots.bar || page->message[0] != '\0')
		return false;
	code =
	    page_key_bar_code(page->found.spots.bar_cols, col, page->covered);
	if (code != PAGE_KEY_NONE)
		app_key(app, code);
	return true;
}

static void
click(struct app *app, int row, int col)
{
	if (!app_panel_covers(app) && click_bar(app, row, col))
		return;
	app->page->message[0] = '\0';
	if (!app_panel_click(app, row, col) && app_click_is_double(app, row))
		app_key(app, PAGE_KEY_ENTER);
}

static void
turn_wheel(struct app *app, int code)
{
	int i;

	for (i = 0; i < WHEEL_ROWS; i++)
		app_key(app, code);
}

void
app_mouse(struct app *app, enum app_mouse what, int row, int col)
{
	if (app->mode != APP_PAGE)
		return;
	switch (what) {
	case APP_MOUSE_CLICK:
		click(app, row, col);
		break;
	case APP_MOUSE_UP:
		turn_wheel(app, PAGE_KEY_UP);
		break;
	case APP_MOUSE_DOWN:
		turn_wheel(app, PAGE_KEY_DOWN);
		break;
	}
}
