/* Keys for mark and drain.  They wait until the session has the whole list. */
#include <errno.h>
#include <string.h>

#include "../difference/difference.h"
#include "../history/history.h"
#include "app.h"

/* True, with a message: it waits for the list, or has failed. */
static bool
wait_or_fail(struct app *app, int r, const char *what, bool *waits)
{
	*waits = r == -EAGAIN;
	if (r == -EAGAIN)
		app_say(app, "%s when the whole list is here", what);
	else if (r == -ENOENT)
		app_say(app, "there is no list yet");
	else if (r < 0)
		app_say(app, "cannot do that: %s", strerror(-r));
	return r < 0;
}

void
app_mark(struct app *app)
{
	const struct page_marked *m;
	char at[PAGE_MOMENT_TEXT], blocks[32], bytes[24];
	const char *about;
	struct page_view v = app_view(app);

	if (wait_or_fail(app, page_mark_set(app->page, &v), "marks",
	    &app->waits.mark))
		return;
	m = app->page->marked;
	page_moment_text(app->page, &v, &m->mark, at);
	about = page_about(v.look->sample);
	base_group_digits(blocks, sizeof blocks, m->mark.est_blocks);
	base_human_bytes(bytes, sizeof bytes, m->mark.est_bytes);
	app_say(app, "marked %s, %s%s block%s, %s%s%s", at, about, blocks,
	    m->mark.est_blocks == 1 ? "" : "s", about, bytes, m->uncopied ?
	    ": too many to know which are freed" : "");
}

void
app_drain(struct app *app)
{
	struct page_view v = app_view(app);

	if (app->waits.drain) {
		app->waits.drain = false;
		app_say(app, "drain cancelled");
		return;
	}
	if (page_is_draining(app->page)) {
		page_drain_end(app->page);
		app_say(app, "all blocks are listed again");
		return;
	}
	if (!wait_or_fail(app, page_drain_begin(app->page, &v), "drains",
	    &app->waits.drain))
		app_say(app, "new blocks are not listed; D ends that");
}

void
app_mark_tick(struct app *app)
{
	const struct nodes_look *look;

	if (!app->waits.mark && !app->waits.drain)
		return;
	look = nodes_session_look(app->session);
	if (look->window || !look->settled || look->behind)
		return;
	if (app->waits.mark)
		app_mark(app);
	if (app->waits.drain) {
		app->waits.drain = false;
		app_drain(app);
	}
}
