/*
 * pages: the table of pages.
 *
 * A page is a row of picture/pages.def and a file of pages/, which defines
 * page_NAME: a panel (panel.h), the order of its rows, and its output by e,
 * :export, --once and -b.  Command line, keys and help look into the table; none
 * of them knows a page by name.
 *
 *	panel.c		the table, and opening a page
 *	pages/NAME.c	page_NAME; pages.def has its letter
 *
 * Example: a page without keys of its own, order or export
 *	static int
 *	compose(struct app *app, int rows, struct page_picture *pic)
 *	{
 *		picture_begin(pic, app->cols, app->page->opts.ascii);
 *		...
 *		return picture_end(pic);
 *	}
 *
 *	const struct page_ops page_stress = {
 *		.panel = { .compose = compose, .move = move, .window = window },
 *		.needs = PAGE_NEEDS_TARGET,
 *		.text = { .print = print },
 *	};
 */
#ifndef PAGEK_PAGES_H
#define PAGEK_PAGES_H

#include "../batch/batch.h"
#include "../documents/shown_export.h"
#include "../blocks/order.h"
#include "panel.h"

/* The order of a page's rows.  A key is an index into `keys`. */
struct page_sort_ops {
	const struct page_sort_row *keys;	/* of the picker */
	size_t n;
	void (*get)(const struct app *, struct page_sorting *);
	void (*set)(struct app *, const struct page_sorting *);
	/* The key of the next or previous column; n: none. */
	size_t (*beside)(struct app *, bool right);
	/* For `:sort`: sorts by a word; false: unknown.  NULL: by the keys. */
	bool (*named)(struct app *, const char *word);
	const struct page_sort_ops *others;	/* of other rows, for `:sort` */
};

/* Functions may be NULL. */
struct page_ops {
	struct panel_ops panel;
	unsigned needs;			/* of enum page_needs */
	/* first: --page opens it.  False, with a message: it cannot be opened. */
	bool (*open)(struct app *, bool first);
	/* Once a cycle, open or not. */
	void (*tick)(struct app *);
	const struct page_sort_ops *(*sorts)(const struct app *);
	/* Its picture for a file. */
	int (*save)(struct app *, struct page_picture *);
	/* As page_export_begin(); NULL: :export writes page K. */
	int (*export_begin)(struct app *, const struct page_view *,
	    enum text_format, FILE *, struct page_export **);
	struct page_text_ops text;	/* print NULL: there is none */
};

extern const struct page_row {
	const char *letter;
	const char *key;		/* opens it */
	const char *title;		/* "the blocks" */
	const struct page_ops *ops;
} pages[PAGES];

void app_page_open(struct app *, enum page_letter, bool first);
void app_pages_tick(struct app *);
/* The top page, below overlays. */
enum page_letter app_page_top(const struct app *);
/* The top panel if it is a page, else page K. */
const struct page_ops *app_page_shown(const struct app *);

/* The order of the top page; NULL: it has none. */
const struct page_sort_ops *app_page_sorts(const struct app *);

#endif
