/*
 * What the session has to bring: the rows on the screen, or all blocks.
 */
#include "../difference/marks.h"
#include "../rows/choice.h"
#include "../rows/find.h"
#include "../rows/free_blocks.h"
#include "../rows/frozen_order.h"
#include "../rows/rows.h"
#include "app.h"

/*
 * Sums of blocks are made of all of them, and so are a listing and a picture
 * that is about to stand still.  Once it does, nothing else is looked at.
 */
static bool
needs_all(const struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);
	bool large = look->keeper != NULL &&
	    look->keeper[WIRE_N_LIVE_BLOCKS] > NODES_MAX;

	if (app->waits.pause || app->waits.mark || app->waits.drain ||
	    app_jobs_want_all(app))
		return true;
	if (app->page->frozen != NULL)
		return false;
	if (app->page->group != 0 || app_panels_need(app, PANEL_BLOCKS_ALL) ||
	    page_choice_on(app->page) || page_marked_wants_all(app->page) ||
	    page_still_wants_all(app->page) || page_find_is_on(app->page))
		return true;
	if (app_panels_need(app, PANEL_BLOCKS_OF_FEW) && !large)
		return true;
	/* A gap is known by the blocks around it, wherever they are. */
	return page_free_wanted(app->page, look) && !large;
}

/* The block that the rows go with: in full above them, or under the cursor. */
static void
want_block(const struct app *app, struct nodes_view *view)
{
	const struct page *page = app->page;

	view->before = page->cursor.at > page->offs ?
	    (uint32_t)(page->cursor.at - page->offs) : 0;
	if (page->cursor.on && page->cursor.held) {
		view->layer = page->cursor.layer;
		view->addr = page->cursor.addr;
		view->seq = page->cursor.seq;
	}
	app_panel_want(app, view);
}

void
app_tell_view(struct app *app)
{
	struct page *page = app->page;
	struct nodes_view view = {
		.order = page_list_order(&page->opts),
		.reverse = page_list_reverse(&page->opts),
		.offset = page->offs,
		.rows = page->found.window > 0 ? (uint32_t)page->found.window : 1,
	};

	page->found.whole = needs_all(app);
	want_block(app, &view);
	nodes_session_view(app->session, page->found.whole ? NULL : &view);
}
