/*
 * panel: what the screen shows and what keys go to: a page, or an overlay over
 * one.
 *
 * Vocabulary
 *	page	a row of pages.def.  It covers the whole screen; a line at the
 *		bottom stays for what is typed or said.
 *	overlay	help, targets, the detail of a block and their like.  Line 1 of
 *		page K and the last line stay visible.
 *	stack	open panels, page K at the bottom.  The top one is shown and
 *		takes the keys; Esc closes it.  Each panel is there once at most.
 *	state	what a panel keeps between two keys: a struct of its own, all
 *		zeros at first, that no other file knows.
 *
 * A panel is a struct panel_ops in the file of its name.  That of a page is
 * part of its struct page_ops (pages.h); those of overlays are in the
 * table of panel.c.
 */
#ifndef PAGEK_PANEL_H
#define PAGEK_PANEL_H

#include "../picture/keys.h"
#include "../picture/scroll.h"

struct app;

enum app_panel {
#define PAGE(action, letter, ...) APP_PAGE_##letter,
#include "../picture/pages.def"
#undef PAGE
	APP_HELP,
	APP_TARGETS,
	APP_DETAIL,
	APP_KIN,
	APP_COSTS,
	APP_SETTINGS,
	APP_SORT,		/* the picker of orders */
	APP_PANELS		/* one more than the last */
};

/* A key that means something else here than elsewhere. */
struct panel_key {
	const char *names;	/* as help and manual print them; NULL: they do not */
	const char *help;
	enum page_action action;	/* the key that this is bound to ... */
	int code[4];		/* ... or these, whatever they are bound to */
	void (*run)(struct app *);
};

/* Blocks that a panel needs beside those on the screen. */
enum panel_blocks {
	PANEL_BLOCKS_SHOWN,
	PANEL_BLOCKS_OF_FEW,	/* all, unless the list is large */
	PANEL_BLOCKS_ALL,
};

/* What a panel does; NULL: nothing. */
struct panel_ops {
	const char *title;	/* of its keys in the help: "on page G" */
	const struct panel_key *keys;
	size_t nkeys;
	size_t state_size;
	enum panel_blocks blocks;
	bool any_node;		/* stays open when another node is watched */
	/* All of it in so many rows, its title the first.  -ENOMEM. */
	int (*compose)(struct app *, int rows, struct page_picture *);
	/* The cursor, or the lines, by so many rows. */
	void (*move)(struct app *, int rows);
	int (*window)(const struct app *);	/* rows that PgDn goes */
	void (*enter)(struct app *);
	/* Esc: true when that led somewhere else within the panel. */
	bool (*back)(struct app *);
	/* Keys that no table can hold; false: not one of them. */
	bool (*key)(struct app *, int code);
	/* A click at that cell; else two clicks on one row are Enter. */
	void (*click)(struct app *, int row, int col);
	/* The block that the panel is about, for the session to bring. */
	void (*want)(const struct app *, struct nodes_view *);
	void (*fini)(struct app *);
};

struct app_panels {
	enum app_panel stack[APP_PANELS];	/* the top one last */
	int n;				/* 1 at least */
	struct page_scroll scroll;	/* of an overlay that is a list of lines */
	void *state[APP_PANELS];	/* owned; NULL: it keeps nothing */
};

/* Page K alone.  -ENOMEM. */
int app_panels_init(struct app *);
void app_panels_fini(struct app *);

enum app_panel app_panel_top(const struct app *);
bool app_panel_is_open(const struct app *, enum app_panel);
/* Borrowed until app_panels_fini(). */
void *app_panel_state(const struct app *, enum app_panel);
/* Some open panel needs so many blocks, or more. */
bool app_panels_need(const struct app *, enum panel_blocks);

/* On top of what is open; Esc goes back to that. */
void app_panel_open(struct app *, enum app_panel);
void app_panel_close(struct app *);
/* Back to page K. */
void app_panel_close_all(struct app *);
/* The same, but what is of no node stays open. */
void app_panel_close_node(struct app *);

void app_panel_key(struct app *, int code);
/* False: the top one has no use for it. */
bool app_panel_click(struct app *, int row, int col);
/* Names the block that the top one is about, if it is about one. */
void app_panel_want(const struct app *, struct nodes_view *);
/* For overlays that are a list of lines: they share app->panels.scroll. */
void app_panel_scroll(struct app *, int rows);
int app_panel_scroll_window(const struct app *);

/* The top one over page K's picture; false: page K is the top one. */
bool app_panel_compose(struct app *, struct page_picture *);
/* The top one is a page other than K. */
bool app_panel_covers(const struct app *);
/* Lines of the help: keys that mean something else in that panel. */
void app_panel_keys_help(enum app_panel, struct page_picture *);

#endif
