/*
 * The paused picture: how it comes to be, and the steps through the minutes
 * before it.  What takes long is done in portions, one in each cycle, and the
 * keys stay what they are meanwhile.
 */
#include <errno.h>
#include <string.h>

#include "../history/history.h"
#include "app.h"

#define STEP_NS 16000000	/* of a cycle of 66 ms: somebody waits for it */

/* A portion of the copy; a large list takes many of them. */
static void
pause_on(struct app *app)
{
	struct page_view v;
	int r;

	page_view_live(&v, app->session);
	if (v.live->window)
		return;
	r = page_freeze(app->page, &v);
	if (r == -EAGAIN)
		app_say(app, "pauses as it was at the key: %u %% copied",
		    page_freezing(app->page));
	if (r == -EAGAIN || r == -ESTALE)
		return;
	app->waits.pause = false;
	if (r < 0)
		app_say(app, "cannot pause: %s", strerror(-r));
	else
		app->page->message[0] = '\0';
}

void
app_pause(struct app *app)
{
	const struct nodes_look *look = nodes_session_look(app->session);

	if (app->page->frozen != NULL || app->waits.pause) {
		page_thaw(app->page);
		app->waits.pause = false;
		return;
	}
	app->waits.pause = true;
	/* One could not scroll in the copy of a few rows. */
	if (look->window)
		app_say(app, "pauses when the whole list is here");
	else
		pause_on(app);
}

/* A portion of the picture that was asked for; a large list takes many of them. */
static void
step_on(struct app *app)
{
	unsigned percent;
	char text[96];
	int r = page_step_on(app->page, STEP_NS);

	page_step_text(app->page, text, sizeof text);
	if (r == 0)
		app_say(app, "%s", text);
	else if (r == -EAGAIN && page_stepping(app->page, &percent))
		app_say(app, "stepping %u %% to %s; Esc stays", percent, text);
	else
		app_say(app, "cannot step: %s; the picture stays",
		    strerror(-r));
}

void
app_step(struct app *app, bool back)
{
	int r = page_step(app->page, back);

	if (r == 0) {
		step_on(app);
	} else if (r == -EINVAL) {
		app_say(app, "only what Space has paused can step");
	} else {
		app_say(app, back ? "nothing before this is kept" :
		    "nothing after the pause");
	}
}

bool
app_step_stop(struct app *app)
{
	char text[96];

	if (!page_step_stop(app->page))
		return false;
	page_step_text(app->page, text, sizeof text);
	app_say(app, "stays: %s", text);
	return true;
}

void
app_pause_tick(struct app *app)
{
	unsigned percent;

	if (app->waits.pause && (app->page->freezing != NULL ||
	    nodes_session_look(app->session)->settled))
		pause_on(app);
	if (page_stepping(app->page, &percent))
		step_on(app);
}
