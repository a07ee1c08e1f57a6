/*
 * The prompt of the filter.  What is wrong stays there to be mended, with the
 * cursor at the place, and what was there before stays in force until there is
 * better.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../rows/choice.h"
#include "app.h"

static bool
has_filter(struct app *app)
{
	if (app->page->layout != PAGE_CLASSIC_STRICT)
		return true;
	app_say(app, "strict has no filter; c leaves it");
	return false;
}

/* 0, or -EINVAL with the place. */
static int
apply(struct app *app, const char *expression, size_t *at)
{
	struct filter_error e;
	int r = page_choice_filter(app->page, expression, &e);

	if (r == -EINVAL) {
		*at = e.at;
		app_say(app, "column %zu: %s",
		    page_sieve_column(expression, e.at), e.why);
	} else if (r < 0) {
		app_say(app, "no filter: %s", strerror(-r));
	} else if (page_choice_filter_text(app->page) == NULL) {
		app_say(app, "no filter: all blocks are shown");
	}
	return r;
}

bool
app_filter(struct app *app, const char *expression)
{
	size_t at;

	return has_filter(app) && apply(app, expression, &at) == 0;
}

static bool
submit(struct app *app, const char *text)
{
	int r = apply(app, text, &app->asked.line.at);

	app->page->wrong = r == -EINVAL;
	return r != -EINVAL;
}

void
app_filter_complete(struct app *app, const char *before, struct line_words *words)
{
	const char *word;
	size_t k, from;

	(void)app;
	for (k = 0; (word = filter_complete(before, k, &from)) != NULL; k++) {
		app_words_from(words, before, before + from);
		line_words_add(words, word);
	}
}

static const struct app_prompt_ops filter_prompt = {
	.label = "filter: ",
	.history = "filter",
	.submit = submit,
	.complete = app_filter_complete,
};

void
app_filter_open(struct app *app)
{
	if (has_filter(app))
		app_prompt_open(app, &filter_prompt, NULL);
}
