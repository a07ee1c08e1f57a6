#include <stdio.h>
#include <string.h>

#include "../cli/cli.h"
#include "app.h"

static void
show_prompt(struct app *app, bool open)
{
	struct page *page = app->page;

	app->mode = open ? APP_PROMPT : APP_PAGE;
	page->prompt.text = open ? app->prompt.ops->label : NULL;
	page->prompt.line = open ? &app->prompt.line : NULL;
	page->prompt.choices = open ? app->prompt.choices : NULL;
	app->prompt.choices[0] = '\0';
	app->prompt.recalled = false;
}

static void
load_history(struct app_prompt *p)
{
	if (p->loaded)
		return;
	p->loaded = true;
	/* app_prompt_fini() reports errors. */
	history_load(&p->history);
}

void
app_history_begin(struct app *app)
{
	load_history(&app->prompt);
	app->prompt.recalled = false;
}

void
app_history_add(struct app *app, const char *kind, const char *text)
{
	load_history(&app->prompt);
	history_add(&app->prompt.history, kind, text);
}

const char *
app_history_step(struct app *app, const char *kind, const char *typed,
    bool back)
{
	struct app_prompt *p = &app->prompt;
	const char *text;

	if (!back && !p->recalled)
		return NULL;
	if (!p->recalled) {
		snprintf(p->begun, sizeof p->begun, "%s", typed);
		p->at = p->history.n;
	}
	text = history_find(&p->history, kind, p->begun, back, &p->at);
	if (text == NULL && back)
		return NULL;
	p->recalled = text != NULL;
	return text != NULL ? text : p->begun;
}

void
app_prompt_fini(struct app *app)
{
	struct history *h = &app->prompt.history;
	int r = history_save(h);

	if (r < 0)
		complain("typed lines are not saved for the next page: %s",
		    base_file_words(r));
	history_fini(h);
}

void
app_prompt_open(struct app *app, const struct app_prompt_ops *ops)
{
	app->prompt.ops = ops;
	if (ops->history != NULL)
		load_history(&app->prompt);
	line_set(&app->prompt.line, "");
	show_prompt(app, true);
}

/* submit() may open another prompt, which then stays open. */
static void
submit_line(struct app *app)
{
	const struct app_prompt_ops *ops = app->prompt.ops;
	char text[LINE_TEXT];

	memcpy(text, app->prompt.line.text, sizeof text);
	if (ops->history != NULL)
		app_history_add(app, ops->history, text);
	show_prompt(app, false);
	if (!ops->submit(app, text) && app->mode == APP_PAGE) {
		app->prompt.ops = ops;
		show_prompt(app, true);
	}
}

static void
recall_line(struct app *app, bool back)
{
	struct app_prompt *p = &app->prompt;
	const char *text = p->ops->history == NULL ? NULL :
	    app_history_step(app, p->ops->history, p->line.text, back);

	if (text != NULL)
		line_set(&p->line, text);
}

static void
complete_word(struct app *app)
{
	struct app_prompt *p = &app->prompt;
	struct line_words words = { 0 };
	char before[LINE_TEXT];

	if (p->ops->complete == NULL)
		return;
	memcpy(before, p->line.text, p->line.at);
	before[p->line.at] = '\0';
	words.begun = before;
	p->ops->complete(app, before, &words);
	if (words.n == 0)
		app_say(app, "no completion");
	line_complete(&p->line, &words, p->choices, sizeof p->choices);
	line_words_fini(&words);
}

void
app_complete_from(struct line_words *words, const char *before, const char *at)
{
	words->from = (size_t)(at - before);
	words->begun = at;
}

void
app_complete_choices(struct line_words *words, const char *text)
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
	struct app_prompt *p = &app->prompt;

	p->choices[0] = '\0';
	switch (code) {
	case '\r':
	case '\n':
	case PAGE_KEY_ENTER:
		submit_line(app);
		return;
	case PAGE_CTRL('['):
		show_prompt(app, false);
		return;
	case '\t':
		complete_word(app);
		p->recalled = false;
		break;
	case PAGE_KEY_UP:
	case PAGE_CTRL('P'):
	case PAGE_KEY_DOWN:
	case PAGE_CTRL('N'):
		recall_line(app, code == PAGE_KEY_UP || code == PAGE_CTRL('P'));
		break;
	case PAGE_KEY_BACKSPACE:
	case PAGE_CTRL('H'):
	case 0x7f:
		/* Backspace in an empty line closes it. */
		if (p->line.text[0] == '\0') {
			show_prompt(app, false);
			return;
		}
		/* FALLTHROUGH */
	default:
		if (line_key(&p->line, code) == LINE_CHANGED)
			p->recalled = false;
		break;
	}
}
