/*
 * panel: what the screen shows and what takes the keys: a page, or an overlay.
 *
 * Vocabulary
 *	page	a row of pages.def.  It covers the screen, except a prompt or a
 *		message at the bottom.
 *	overlay	help, targets, the detail of a block and the like.  Line 1 of
 *		page K and the last line stay visible.
 *	stack	the open panels, each once, page K at the bottom.  The top one is
 *		shown and takes the keys; Esc closes it.
 *	state	a panel's own struct, zeroed at first.
 *
 * A panel is a struct panel_ops: that of a page is part of its struct page_ops
 * (pages.h); those of overlays are in the table of panel.c.
 */
#ifndef PAGEK_PANEL_H
#define PAGEK_PANEL_H

#include "../picture/keys.h"

struct app;

enum app_panel {
#define PAGE(action, letter, ...) APP_PAGE_##letter,
#include "../picture/pages.def"
#undef PAGE
	APP_HELP,
	APP_TARGETS,
	APP_MARKS,
	APP_DETAIL,
	APP_CALLERS,
	APP_DIAGNOSTICS,
	APP_SETTINGS,
	APP_SORT,		/* the picker of sort keys */
	APP_PANELS		/* one more than the last */
};

/* A key that has another meaning in this panel. */
struct panel_key {
	const char *names;	/* for help and manual, or NULL */
	const char *help;
	enum page_action action;	/* keys that are bound to this action */
	int code[4];		/* or these keys, whatever they are bound to */
	void (*run)(struct app *);
};

/* Blocks that a panel needs beside those on the screen. */
enum panel_blocks {
	PANEL_BLOCKS_SHOWN,
	PANEL_BLOCKS_OF_FEW,	/* all, unless the list is large */
	PANEL_BLOCKS_ALL,
};

/* Functions may be NULL, except compose, move, window and enter. */
struct panel_ops {
	const char *title;	/* of its keys in the help: "on page G" */
	const struct panel_key *keys;
	size_t nkeys;
	size_t state_size;
	enum panel_blocks blocks;
	bool any_node;		/* shows nothing of the node */
	/* In so many rows, the title first.  -ENOMEM. */
	int (*compose)(struct app *, int rows, struct page_picture *);
	/* scroll: the rows on the screen move by as many rows as the cursor. */
	void (*move)(struct app *, int rows, bool scroll);
	int (*window)(const struct app *);	/* rows that PgDn moves */
	void (*enter)(struct app *);
	/* Esc: true if there was something to go back to within the panel. */
	bool (*back)(struct app *);
	/* Before `keys`; false: not one of its keys. */
	bool (*key)(struct app *, int code);
	/* NULL: a double click is Enter. */
	void (*click)(struct app *, int row, int col);
	/* Sets the block that the session must bring. */
	void (*want)(const struct app *, struct nodes_view *);
	void (*fini)(struct app *);
};

struct app_panels {
	enum app_panel stack[APP_PANELS];	/* the top one last */
	int n;				/* 1 at least */
	struct page_scroll scroll;	/* of an overlay of lines */
	void *state[APP_PANELS];	/* owned; NULL: it has none */
};

/* -ENOMEM */
int app_panels_init(struct app *);
void app_panels_fini(struct app *);

enum app_panel app_panel_top(const struct app *);
bool app_panel_is_open(const struct app *, enum app_panel);
/* Borrowed until app_panels_fini(). */
void *app_panel_state(const struct app *, enum app_panel);
/* An open panel needs at least those blocks. */
bool app_panels_need(const struct app *, enum panel_blocks);

void app_panel_open(struct app *, enum app_panel);
void app_panel_close(struct app *);
void app_panel_close_all(struct app *);
/* The same, but a top panel of any_node stays open. */
void app_panel_close_node(struct app *);

void app_panel_key(struct app *, int code);
/* False: the top panel takes no clicks. */
bool app_panel_click(struct app *, int row, int col);
void app_panel_want(const struct app *, struct nodes_view *);
/* `move` and `window` of overlays that are a list of lines. */
void app_panel_scroll(struct app *, int rows, bool scroll);
int app_panel_scroll_window(const struct app *);
/* Moves the cursor of an overlay of n rows. */
void app_panel_select(struct app *, size_t *selected, size_t n, int rows,
    bool scroll);

/* The top panel, to be put over page K; false: page K is the top panel. */
bool app_panel_compose(struct app *, struct page_picture *);
/* The top panel is a page other than K. */
bool app_panel_covers(const struct app *);
void app_panel_keys_help(enum app_panel, struct page_picture *);

#endif
