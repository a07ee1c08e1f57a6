/* The find prompt, `n` and `N`.  Each cycle searches a portion; Esc cancels. */
#include <errno.h>
#include <string.h>

#include "../rows/find.h"
#include "../rows/follow.h"
#include "app.h"

#define STEP_NS 4000000		/* of a cycle of 66 ms */

static void
say_none(struct app *app)
{
	const char *text = page_find_text(app->page);
	uint64_t unsure = page_find_unsure(app->page);

	if (page_shows_groups(app->page) && unsure > 0)
		app_say(app, "no group has '%s' in its name; %s stacks have "
		    "unknown names", text, base_digits(unsure).text);
	else if (page_shows_groups(app->page))
		app_say(app, "no group has '%s' in its name", text);
	else if (unsure > 0)
		app_say(app, "no row matches %s; %s rows have unknown names",
		    text, base_digits(unsure).text);
	else
		app_say(app, "no row matches %s", text);
}

static void
step_search(struct app *app)
{
	struct page_view v = app_view(app);

	switch (page_find_step(app->page, &v, STEP_NS)) {
	case PAGE_FIND_OFF:
		break;
	case PAGE_FIND_ON:
		app_say(app, "searching %u %%, Esc ends it",
		    page_find_percent(app->page));
		break;
	case PAGE_FIND_HERE:
		app_say(app, "found: %s%s", page_find_text(app->page),
		    page_find_went_round(app->page) ? ", from the first row "
		        "on" : "");
		break;
	case PAGE_FIND_NONE:
		say_none(app);
		break;
	}
}

/* -EINVAL: *at is the byte of the mistake. */
static int
begin_search(struct app *app, const char *text, bool back, size_t *at)
{
	struct filter_error e;
	struct page_view v = app_view(app);
	int r;

	r = page_find_begin(app->page, &v, text, back, &e);
	if (r == 0) {
		page_follow_stop(app->page);
		step_search(app);
	} else if (r == -EINVAL) {
		*at = e.at;
		app_say(app, "column %zu: %s",
		    page_filter_error_column(text, e.at), e.why);
	} else if (r == -ENOENT) {
		app_say(app, "nothing to find yet; / asks for it");
	} else {
		app_say(app, "no search: %s", strerror(-r));
	}
	return r;
}

static bool
submit_search(struct app *app, const char *text)
{
	bool again = text[0] == '\0' && page_find_text(app->page) != NULL;
	int r = begin_search(app, again ? NULL : text, false,
	    &app->prompt.line.at);

	app->page->prompt.wrong = r == -EINVAL;
	return r != -EINVAL;
}

static const struct app_prompt_ops find_prompt = {
	.label = "/",
	.history = "find",
	.submit = submit_search,
	.complete = app_filter_complete,
};

void
app_find_open(struct app *app)
{
	app_prompt_open(app, &find_prompt);
}

void
app_find_next(struct app *app)
{
	size_t at;

	begin_search(app, NULL, false, &at);
}

void
app_find_back(struct app *app)
{
	size_t at;

	begin_search(app, NULL, true, &at);
}

void
app_find_tick(struct app *app)
{
	if (page_find_is_on(app->page) && app->mode == APP_PAGE)
		step_search(app);
}

bool
app_find_stop(struct app *app)
{
	if (!page_find_is_on(app->page))
		return false;
	page_find_stop(app->page);
	app_say(app, "the search was ended");
	return true;
}
