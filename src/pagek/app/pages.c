/* See pages.h. */
#include <string.h>

#include "app.h"
#include "pages.h"

#define PAGE(action, letter, key, bar, rank, name, title) \
	extern const struct page_ops page_##name;
#include "../picture/pages.def"
#undef PAGE

const struct page_row pages[PAGES] = {
#define PAGE(action, letter_, key_, bar, rank, name, title_) \
	[PAGE_##letter_] = { \
		.letter = #letter_, \
		.key = #key_, \
		.title = title_, \
		.ops = &page_##name, \
	},
#include "../picture/pages.def"
#undef PAGE
};

void
app_page_open(struct app *app, enum page_letter p, bool first)
{
	const struct page_ops *ops = pages[p].ops;

	if (ops->open == NULL || ops->open(app, first))
		app_panel_open(app, (enum app_panel)p);
}

void
app_page_key(struct app *app, enum page_letter p)
{
	if (app_panel_top(app) == (enum app_panel)p)
		app_say(app, "this is page %s", pages[p].letter);
	else
		app_page_open(app, p, false);
}

void
app_pages_tick(struct app *app)
{
	int p;

	for (p = 0; p < PAGES; p++)
		if (pages[p].ops->tick != NULL)
			pages[p].ops->tick(app);
}
