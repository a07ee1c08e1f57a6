/* The filter prompt.  The old filter stays until a correct one is submitted. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../blocks/choice.h"
#include "app.h"

static bool
has_filter(struct app *app)
{
	if (app->page->layout != PAGE_CLASSIC_STRICT)
		return true;
	app_say(app, "strict has no filter; c leaves it");
	return false;
}

/* -EINVAL: *at is the byte of the mistake. */
static int
apply_filter(struct app *app, const char *expression, size_t *at)
{
	struct filter_error e;
	int r = page_choice_filter(app->page, expression, &e);

	if (r == -EINVAL) {
		*at = e.at;
		app_say(app, "column %zu: %s",
		    page_filter_error_column(expression, e.at), e.why);
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

	return has_filter(app) && apply_filter(app, expression, &at) == 0;
}

static bool
submit_filter(struct app *app, const char *text)
{
	int r = apply_filter(app, text, &app->prompt.line.at);

	app->page->prompt.wrong = r == -EINVAL;
	return r != -EINVAL;
}

static void
suggest_words(const struct filter_table *table, const char *before,
    struct line_words *words)
{
	const char *word;
	size_t k, from;

	for (k = 0; (word = filter_complete(table, before, k, &from)) != NULL;
	    k++) {
		app_complete_from(words, before, before + from);
		line_words_add(words, word);
	}
}

void
app_filter_complete(
    struct app *app, const char *before, struct line_words *words)
{
	(void)app;
	suggest_words(&filter_blocks, before, words);
}

static const struct app_prompt_ops filter_prompt = {
	.label = "filter: ",
	.history = "filter",
	.submit = submit_filter,
	.complete = app_filter_complete,
};

void
app_filter_open(struct app *app)
{
	if (has_filter(app))
		app_prompt_open(app, &filter_prompt);
}

/* The first member of the page's ops is its prompt. */
static const struct app_filter_ops *
ops_of_prompt(const struct app *app)
{
	return (const struct app_filter_ops *)app->prompt.ops;
}

static void
replace_filter(struct app *app, const struct app_filter_ops *ops,
    struct filter *filter)
{
	struct filter **place = ops->filter(app);

	filter_free(*place);
	*place = filter;
	ops->changed(app);
}

bool
app_filter_submit(struct app *app, const char *text)
{
	const struct app_filter_ops *ops = ops_of_prompt(app);
	struct filter *filter = NULL;
	struct filter_error e;
	int r = text[strspn(text, " \t")] == '\0' ? 0 :
	    filter_new_of(&filter, ops->table, text, &e);

	app->page->prompt.wrong = r == -EINVAL;
	if (r == -EINVAL) {
		app->prompt.line.at = e.at;
		app_say(app, "column %zu: %s", page_filter_error_column(text,
		    e.at), e.why);
		return false;
	}
	if (r < 0) {
		app_say(app, "no filter: %s", strerror(-r));
		return true;
	}
	replace_filter(app, ops, filter);
	if (filter == NULL)
		app_say(app, "%s", ops->none);
	return true;
}

void
app_filter_suggest(struct app *app, const char *before, struct line_words *words)
{
	suggest_words(ops_of_prompt(app)->table, before, words);
}

bool
app_filter_drop(struct app *app, const struct app_filter_ops *ops)
{
	if (*ops->filter(app) == NULL)
		return false;
	replace_filter(app, ops, NULL);
	return true;
}
