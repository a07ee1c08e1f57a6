#include <errno.h>
#include <string.h>

#include "../history/history.h"
#include "app.h"

#define STEP_NS 16000000	/* of a cycle of 66 ms: the user waits */

static void
continue_pause(struct app *app)
{
	struct page_view v;
	int r;

	page_view_live(&v, app->session);
	if (v.live->window)
		return;
	r = page_pause(app->page, &v);
	if (r == -EAGAIN)
		app_say(app, "pausing: %u %% copied",
		    page_pause_percent(app->page));
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

	/* Time stands in a capture: there is no other picture to keep. */
	if (look->replay.on) {
		app_replay_pause(app);
		return;
	}
	if (app->page->paused != NULL || app->waits.pause) {
		page_resume(app->page);
		app->waits.pause = false;
		return;
	}
	app->waits.pause = true;
	/* A copy of a few rows could not be scrolled. */
	if (look->window)
		app_say(app, "pauses when the whole list is here");
	else
		continue_pause(app);
}

static void
continue_step(struct app *app)
{
	unsigned percent;
	char text[96];
	int r = page_step_advance(app->page, STEP_NS);

	page_step_text(app->page, text, sizeof text);
	if (r == 0)
		app_say(app, "%s", text);
	else if (r == -EAGAIN && page_step_percent(app->page, &percent))
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
		continue_step(app);
	} else if (r == -EINVAL) {
		app_say(app, "pause first (Space)");
	} else {
		app_say(app, back ? "there is no earlier picture" :
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

	if (app->waits.pause && (app->page->pausing != NULL ||
	    nodes_session_look(app->session)->settled))
		continue_pause(app);
	if (page_step_percent(app->page, &percent))
		continue_step(app);
}
