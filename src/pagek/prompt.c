/*
 * The line at the bottom that somebody types into.  Who opens it says what
 * stands before it, what becomes of the text, and what Tab could put there.
 */
#include <stdio.h>
#include <string.h>

#include "app.h"

static void
show(struct app *app, bool open)
{
	struct page *page = app->page;

	app->mode = open ? APP_PROMPT : APP_PAGE;
	page->prompt = open ? app->asked.ops->label : NULL;
	page->line = open ? &app->asked.line : NULL;
	page->choices = open ? app->asked.choices : NULL;
	app->asked.choices[0] = '\0';
}

void
app_prompt_open(struct app *app, const struct app_prompt_ops *ops,
    const char *initial)
{
	app->asked.ops = ops;
	line_set(&app->asked.line, initial != NULL ? initial : "");
	show(app, true);
}

void
app_prompt_close(struct app *app)
{
	if (app->mode == APP_PROMPT)
		show(app, false);
}

static void
cancel(struct app *app)
{
	const struct app_prompt_ops *ops = app->asked.ops;

	show(app, false);
	if (ops->cancel != NULL)
		ops->cancel(app);
}

/* What is done with it may open another prompt, which then stays. */
static void
submit(struct app *app)
{
	const struct app_prompt_ops *ops = app->asked.ops;
	char text[LINE_TEXT];

	memcpy(text, app->asked.line.text, sizeof text);
	show(app, false);
	if (!ops->submit(app, text) && app->mode == APP_PAGE) {
		app->asked.ops = ops;
		show(app, true);
	}
}

static void
complete(struct app *app)
{
	struct app_prompt *p = &app->asked;
	struct line_words words = { 0 };
	char before[LINE_TEXT];

	if (p->ops->complete == NULL)
		return;
	memcpy(before, p->line.text, p->line.at);
	before[p->line.at] = '\0';
	words.begun = before;
	p->ops->complete(app, before, &words);
	if (words.n == 0)
		app_say(app, "nothing that is known begins like this");
	line_complete(&p->line, &words, p->choices, sizeof p->choices);
	line_words_fini(&words);
}

void
app_words_from(struct line_words *words, const char *before, const char *at)
{
	words->from = (size_t)(at - before);
	words->begun = at;
}

void
app_prompt_key(struct app *app, int code)
{
	struct app_prompt *p = &app->asked;

	p->choices[0] = '\0';
	switch (code) {
	case '\r':
	case '\n':
	case PAGE_KEY_ENTER:
		submit(app);
		return;
	case PAGE_CTRL('['):
		cancel(app);
		return;
	case '\t':
		complete(app);
		break;
	case PAGE_KEY_BACKSPACE:
	case PAGE_CTRL('H'):
	case 0x7f:
		/* Back out of an empty line. */
		if (p->line.text[0] == '\0') {
			cancel(app);
			return;
		}
		/* FALLTHROUGH */
	default:
		if (line_key(&p->line, code) != LINE_CHANGED)
			return;
		break;
	}
	if (p->ops->changed != NULL)
		p->ops->changed(app, p->line.text);
}
