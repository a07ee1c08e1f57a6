/*
 * The line at the bottom that somebody types into.  Who opens it says what
 * stands before it, what becomes of the text, and what Tab could put there.
 */
#include <stdio.h>
#include <string.h>

#include "../cli/cli.h"
#include "app.h"

static void
show_prompt(struct app *app, bool open)
{
	struct page *page = app->page;

	app->mode = open ? APP_PROMPT : APP_PAGE;
	page->prompt = open ? app->asked.ops->label : NULL;
	page->line = open ? &app->asked.line : NULL;
	page->choices = open ? app->asked.choices : NULL;
	app->asked.choices[0] = '\0';
	app->asked.back = false;
}

/* --- what was typed before ---------------------------------------------- */

/* Who never types needs none. */
static void
load_history(struct app_prompt *p)
{
	if (p->loaded)
		return;
	p->loaded = true;
	/* What cannot be read is said when it should be written. */
	history_load(&p->history);
}

void
app_history_begin(struct app *app)
{
	load_history(&app->asked);
	app->asked.back = false;
}

void
app_history_add(struct app *app, const char *kind, const char *text)
{
	load_history(&app->asked);
	history_add(&app->asked.history, kind, text);
}

const char *
app_history_step(struct app *app, const char *kind, const char *typed,
    bool back)
{
	struct app_prompt *p = &app->asked;
	const char *text;

	if (!back && !p->back)
		return NULL;
	if (!p->back) {
		snprintf(p->begun, sizeof p->begun, "%s", typed);
		p->at = p->history.n;
	}
	text = back ? history_before(&p->history, kind, p->begun, &p->at) :
	    history_after(&p->history, kind, p->begun, &p->at);
	if (text == NULL && back)
		return NULL;
	p->back = text != NULL;
	return text != NULL ? text : p->begun;
}

/* --- the line ----------------------------------------------------------- */

void
app_prompt_fini(struct app *app)
{
	struct history *h = &app->asked.history;
	int r = history_save(h);

	if (r < 0)
		complain("what was typed is not kept for the next page: %s",
		    base_file_words(r));
	history_fini(h);
}

void
app_prompt_open(struct app *app, const struct app_prompt_ops *ops,
    const char *initial)
{
	app->asked.ops = ops;
	if (ops->history != NULL)
		load_history(&app->asked);
	line_set(&app->asked.line, initial != NULL ? initial : "");
	show_prompt(app, true);
}

void
app_prompt_close(struct app *app)
{
	if (app->mode == APP_PROMPT)
		show_prompt(app, false);
}

static void
cancel(struct app *app)
{
	const struct app_prompt_ops *ops = app->asked.ops;

	show_prompt(app, false);
	if (ops->cancel != NULL)
		ops->cancel(app);
}

/* What is done with it may open another prompt, which then stays. */
static void
submit_line(struct app *app)
{
	const struct app_prompt_ops *ops = app->asked.ops;
	char text[LINE_TEXT];

	memcpy(text, app->asked.line.text, sizeof text);
	if (ops->history != NULL)
		app_history_add(app, ops->history, text);
	show_prompt(app, false);
	if (!ops->submit(app, text) && app->mode == APP_PAGE) {
		app->asked.ops = ops;
		show_prompt(app, true);
	}
}

/* The line before or after that begins like what was typed. */
static void
go_back(struct app *app, bool back)
{
	struct app_prompt *p = &app->asked;
	const char *text = p->ops->history == NULL ? NULL :
	    app_history_step(app, p->ops->history, p->line.text, back);

	if (text != NULL)
		line_set(&p->line, text);
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
app_words_of(struct line_words *words, const char *text)
{
	char word[64];
	size_t n;

	for (; *text != '\0'; text += n + (text[n] != '\0')) {
		n = strcspn(text, "|");
		if (text[0] < 'a' || text[0] > 'z' || n >= sizeof word)
			continue;
		memcpy(word, text, n);
		word[n] = '\0';
		line_words_add(words, word);
	}
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
		submit_line(app);
		return;
	case PAGE_CTRL('['):
		cancel(app);
		return;
	case '\t':
		complete(app);
		p->back = false;
		break;
	case PAGE_KEY_UP:
	case PAGE_CTRL('P'):
	case PAGE_KEY_DOWN:
	case PAGE_CTRL('N'):
		go_back(app, code == PAGE_KEY_UP || code == PAGE_CTRL('P'));
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
		p->back = false;
		break;
	}
	if (p->ops->changed != NULL)
		p->ops->changed(app, p->line.text);
}
