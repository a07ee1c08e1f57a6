/*
 * pages: the table of pages, and what each of them does.
 *
 * A page is a row of picture/pages.def and a file of pages/, which defines
 * page_NAME.  Its parts are those of a panel (panel.h), how its rows are
 * sorted, and its output: saved by e, exported by :export, printed by --once
 * and -b.  The command line, the keys, the help and all of these look into the
 * table; none of them knows a page by name.
 *
 *	pages.c			the table, and the way from one page to another
 *	pages/blocks.c		page K
 *	pages/difference.c	page H
 *	pages/nodes.c		page G
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

#include "../cli/options.h"
#include "../documents/export.h"
#include "../rows/order.h"
#include "batch.h"
#include "panel.h"

struct batch;

enum page_needs {
	PAGE_NEEDS_TARGET = 1,		/* a target is watched */
	PAGE_NEEDS_LIST = 2,		/* ... and its block list is shown */
	PAGE_NEEDS_INTERVAL = 4,	/* as text: one before the first picture */
};

/* How the rows of a page are sorted.  A key is an index into `keys`. */
struct page_sort_ops {
	const struct page_sort_row *keys;	/* that `s` offers; NULL: it goes to the next column */
	size_t n;
	void (*get)(const struct app *, struct page_sorting *);
	void (*set)(struct app *, const struct page_sorting *);
	/* The key of the next column on the screen, or the one before; n: none. */
	size_t (*beside)(struct app *, bool right);
	/* By a word that is no key; false: it means nothing.  NULL: no such word. */
	bool (*named)(struct app *, const char *word);
	const struct page_sort_ops *others;	/* other rows, whose keys `:sort` takes too */
};

/* The page as text, by --once and -b.  Each returns 0 or a negative errno. */
struct page_text_ops {
	int (*begin)(struct batch *);	/* NULL: nothing has to be done first */
	int (*print)(struct batch *);	/* a picture, or a document with --format */
	void (*end)(struct batch *);	/* whatever begin has returned */
	/* The exit status when all is printed; NULL: that of the session. */
	int (*status)(const struct batch *);
	const char *verb;		/* cannot ...: "make the picture" */
	const enum option_id *refuse;	/* options that this text has no use for */
	size_t nrefuse;
};

struct page_ops {
	struct panel_ops panel;
	unsigned needs;			/* of enum page_needs */
	/*
	 * Gets ready to be shown; first: when pagek starts, by --page.  False: it
	 * cannot be, and has said why.  NULL: always ready.
	 */
	bool (*open)(struct app *, bool first);
	/* Once a cycle, open or not. */
	void (*tick)(struct app *);
	/* How its rows are sorted now; NULL: they cannot be sorted. */
	const struct page_sort_ops *(*sorts)(const struct app *);
	/* Its picture without what only a screen needs; NULL: e does not save it. */
	int (*save)(struct app *, struct page_picture *);
	/* As page_export_begin(); NULL: :export writes page K. */
	int (*export_begin)(struct app *, const struct page_view *,
	    enum page_export_form, FILE *, struct page_export **);
	struct page_text_ops text;	/* print NULL: there is none */
};

extern const struct page_row {
	const char *letter;
	const char *key;		/* that opens it */
	const char *title;		/* "the blocks" */
	const struct page_ops *ops;
} pages[PAGES];

/* Opens it and says why if it cannot be. */
void app_page_open(struct app *, enum page_letter, bool first);
/* The same, for its key: says so when it is open on top. */
void app_page_key(struct app *, enum page_letter);
/* Once a cycle. */
void app_pages_tick(struct app *);
/* The page that is on top, below overlays. */
enum page_letter app_page_top(const struct app *);
/* The page that is the top panel, or page K. */
const struct page_ops *app_page_shown(const struct app *);

#endif
