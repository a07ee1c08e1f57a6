/*
 * app: the page as a program on a terminal, and what its keys do.  Free of
 * curses: the screen turns a key into a code, calls app_key() and paints what
 * has become of it.
 *
 * Vocabulary
 *	panel	a page or an overlay (panel.h); page K is the lowest one.
 *	prompt	a line at the bottom that is typed into (prompt.c); `:`, a filter
 *		and a search have one each: *_prompt.c, prompt_commands.c.
 *	overlay	a panel over page K: *_overlay.c, overlays.c, sort_picker.c.
 *	job	rows on their way to a file, a node or a pager while the page
 *		goes on (job.h): *_job.c.
 *	row of pages[]	a page: its picture, keys and files (pages.h, pages/).
 *	batch	pages as text, without a terminal (batch.h).
 *
 * app.c has the cycle and gives each key to the panel or prompt that takes it;
 * *_keys.c, mouse.c and line2_editor.c do what keys of page K mean;
 * switch_target.c opens another node or target in place of the one watched;
 * visible_blocks.c tells the session which blocks it has to bring.
 *
 * Example: what the screen does with it
 *	app_init(&app, page, watch, loop);
 *	app_key(&app, 'j');			as keys come
 *	app_tick(&app);				once a cycle
 *	page_compose(page, app.session, app.cols, app.rows, &pic);
 *	app_panel_compose(&app, &over);	over that
 *	app_tell_view(&app);
 *	...
 *	app_fini(&app);				once app.over is true
 */
#ifndef PAGEK_APP_H
#define PAGEK_APP_H

#include "../cli/config.h"
#include "../panels/cycle_costs.h"
#include "../panels/diagnostics.h"
#include "../picture/keys.h"
#include "../picture/typed_line.h"
#include "panel.h"
#include "typed_history.h"

/* How a page on the screen came to its end. */
enum page_end {
	PAGE_QUIT,		/* q: target and keeper go on */
	PAGE_QUIT_TARGET,	/* Q, confirmed: the target was asked to end */
	PAGE_INTERRUPTED,	/* a signal: .signal says which; re-raise after cleaning up */
	PAGE_FAILED,		/* no terminal: nothing was drawn */
};

struct page_result {
	enum page_end end;
	int signal;
};

/*
 * What a page watches, over what.  A page on the screen may go to other nodes:
 * when it is left, session and link are those of the last one, and the caller's
 * to close.
 */
struct page_watch {
	struct nodes_session *session;
	struct nodes_link *link;
	/*
	 * They are never closed, and are there again in the end: for a node that
	 * ends with its link, or where the caller has to know what became of it.
	 */
	bool kept;
	bool away;		/* kept, and left while another node was watched */
	const struct target *target;	/* as it was asked for; NULL: by no word */
	const char *remote;	/* pageknode on other machines; NULL: in their PATH */
	const struct options *options;	/* where settings come from; NULL: there are none to show */
};

enum app_mode {
	APP_PAGE,
	APP_PROMPT,		/* typing into the line at the bottom */
	APP_FIELD,		/* typing into a field of line 2 */
	APP_CONFIRM,		/* "send SIGTERM? y/n" */
};

/* Another program may have the terminal for a while. */
enum app_lend {
	APP_LEND_NO,
	APP_LEND_DUE,		/* one wants it */
	APP_LENT,
};

struct app;
struct app_job;

/*
 * A line at the bottom that is typed into, as `:` opens one.  Enter submits,
 * Esc cancels, Tab completes; typed_line.h has the other keys.
 */
struct app_prompt_ops {
	const char *label;		/* stands before it: ":" */
	const char *history;		/* which lines Up and Down bring back: a word; NULL: none */
	/* The line is closed already; false: it is not good, and is open again. */
	bool (*submit)(struct app *, const char *text);
	/* NULL: nothing more than that it is closed. */
	void (*cancel)(struct app *);
	/* After each key that changed it; NULL: nothing. */
	void (*changed)(struct app *, const char *text);
	/*
	 * What could stand at the cursor, of which `before` is before:
	 * app_words_from() says where that begins, then line_words_add() for
	 * each.  NULL: Tab does nothing.
	 */
	void (*complete)(struct app *, const char *before, struct line_words *);
};

struct app_prompt {
	const struct app_prompt_ops *ops;	/* of the last one */
	struct line line;
	char choices[1024];
	struct history history;
	bool loaded;			/* it was tried to read it */
	bool back;			/* the line is one of the history's ... */
	size_t at;			/* ... that one */
	char begun[LINE_TEXT];		/* what had been typed before that */
};

/* What is or was watched, as far as it takes to come back to it. */
struct app_place {
	bool kept;			/* the caller's own, which is still there */
	struct nodes_entry entry;	/* number 0: not of the table */
	pid_t pid;			/* there; 0: what is most alive ... */
	bool chosen;			/* nobody asked for it: another one will do */
	char stream[128];		/* ... or the stream of that name; "" */
};

/* Another node on its way to the screen. */
struct app_going {
	struct nodes_session *session;	/* NULL: none is */
	struct nodes_link *link;
	struct app_place place;
	struct mono since, tried;	/* ... and at the last of several nodes */
	char **paths;			/* nodes of this user's that may have the process; owned, in one piece */
	size_t npaths, next;
};

/* Where the page is, was, and goes to (switch_target.c). */
struct app_places {
	bool away;			/* watch->kept, and another node is watched */
	struct app_place here, before;
	bool was_elsewhere;		/* there is a `before` */
	struct app_going going;
};

/* What waits until the whole list is there. */
struct app_waits {
	bool pause, mark, drain;
};

/* What the loop around the app is to do next. */
struct app_asks {
	bool suspend;			/* ^Z */
	bool repaint;			/* ^L */
	bool restyle;			/* colours may be others */
	enum app_lend lend;		/* the screen gives the terminal away, and takes it back */
};

/* A target that was asked to end (Q). */
struct app_ending {
	bool on;
	struct mono at;
};

/* For the terminal's clipboard. */
struct app_clip {
	bool taken;			/* the terminal is known to have one for us */
	char text[32];			/* for it, until the next paint; "" nothing */
};

struct app_click {
	int row;			/* where a mouse was pressed last, and when */
	struct mono at;
};

enum app_job_kind {
	APP_JOB_LISTING,
	APP_JOB_EXPORT,
	APP_JOBS
};

/* Rows on their way to a file or another place (job.h). */
struct app_jobs {
	struct app_job *job[APP_JOBS];	/* NULL: none */
	bool warned;			/* ... that leaving ends it */
};

/* The node's targets, as it listed them last (targets_overlay.c). */
struct app_targets {
	struct nodes_target *list;	/* owned */
	size_t n, selected;
	char wanted[128];		/* target that was asked for by word */
	char stream[128];		/* name the session was switched to */
};

struct app {
	struct page *page;
	struct nodes_session *session;	/* what is watched now; another one after app_go() */
	struct nodes_link *link;
	uv_loop_t *loop;
	struct page_watch *watch;	/* the caller's */
	struct app_places places;
	int cols, rows;			/* of the terminal */
	struct mono begun;

	enum app_mode mode;
	struct app_prompt asked;	/* in APP_PROMPT */
	char prompt[320];		/* what is asked in APP_CONFIRM */
	struct app_panels panels;
	struct app_targets targets;
	struct app_click clicked;
	struct app_clip clip;

	struct page_costs costs;	/* of the screen's cycles */
	struct page_diag diag;		/* beside those */
	struct symbol_wrappers *wrappers;	/* of :skip, when the options had none; owned */
	char *set[OPTIONS];		/* settings of this page's own; owned, NULL: none */

	struct app_ending ending;
	struct app_jobs jobs;
	struct app_waits waits;
	struct app_asks asks;
	bool over;
	struct page_result result;
};

/* -ENOMEM: app_fini() is due all the same. */
int app_init(struct app *, struct page *, struct page_watch *, uv_loop_t *);
void app_fini(struct app *);

void app_key(struct app *, int code);

enum app_mouse {
	APP_MOUSE_CLICK,
	APP_MOUSE_UP,		/* the wheel */
	APP_MOUSE_DOWN,
};
/* At that cell of the screen, from 0 on. */
void app_mouse(struct app *, enum app_mouse, int row, int col);
/* A click in that row is the second one there within a moment. */
bool app_click_is_double(struct app *, int row);
/* Once a cycle. */
void app_tick(struct app *);
/* The process stood still for so long: it was stopped. */
void app_resumed(struct app *, int64_t gap_ms);
void app_quit(struct app *, enum page_end, int signal);
void app_interrupt(struct app *);	/* ^C */
/* Q: asks first. */
void app_end_target(struct app *);
/* As somebody asks to: with a listing on its way only when asked again. */
void app_leave(struct app *);
/* What cycles cost is counted from here on. */
void app_count_anew(struct app *);
/* Once a cycle, so that it is known when numbers have moved. */
void app_diag_tick(struct app *);
/* Pauses the picture, or lets it go on. */
void app_pause(struct app *);
/* A paused one becomes that of one state before, or after. */
void app_step(struct app *, bool back);
/* The picture stays; false: no other one was on its way. */
bool app_step_stop(struct app *);
void app_pause_tick(struct app *);	/* once a cycle */

/* Tells the session what is looked at; after each paint. */
void app_tell_view(struct app *);

/* A mark on what is shown; rows only of what is there now, or no longer so. */
void app_mark(struct app *);
void app_drain(struct app *);
void app_mark_tick(struct app *);	/* once a cycle */

/* In the bottom line until the next key; outside text is welcome. */
void app_say(struct app *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* What is typed into is this line, in which `initial` stands; NULL: nothing. */
void app_prompt_open(struct app *, const struct app_prompt_ops *,
    const char *initial);
void app_prompt_close(struct app *);
void app_prompt_key(struct app *, int code);
/* Keeps what was typed, for the pages to come. */
void app_prompt_fini(struct app *);
/*
 * Lines of that kind that were typed before: after app_history_begin(), the one
 * before or behind the last one that was given and that begins as `typed` did,
 * or in the end `typed` itself; borrowed until the next call.  NULL: there is
 * none.
 */
void app_history_begin(struct app *);
const char *app_history_step(struct app *, const char *kind, const char *typed,
    bool back);
void app_history_add(struct app *, const char *kind, const char *text);
/* What is to be completed begins at `at`, which is within `before`. */
void app_words_from(struct line_words *, const char *before, const char *at);

/* `:group`: "type", or with a second level "site>type". */
void app_group_by(struct app *, const char *kinds);
/* Each of "age|address" that is a word, in small letters. */
void app_words_of(struct line_words *, const char *words);

/* What follows :set, and what could. */
void app_set(struct app *, const char *arg);
void app_set_complete(struct app *, const char *before, const char *arg,
    struct line_words *);
/* What was set into the user's file. */
void app_save_settings(struct app *);
/* As it holds on this page; borrowed until it is set. */
struct config_value app_setting(const struct app *, unsigned id);
void app_settings_fini(struct app *);

/* The line for one. */
void app_command_open(struct app *);
/* A command without its `:`. */
void app_command(struct app *, const char *line);

/* What follows :target: none lists them, else the one that is called so. */
void app_target(struct app *, const char *word);
void app_target_complete(struct app *, const char *before, const char *arg,
    struct line_words *);
void app_switch(struct app *, const struct nodes_target *);
/* The list of those that the node has told last. */
void app_targets_open(struct app *);

/*
 * What sorting keys do on the page that is on top (sort_picker.c); where it has no
 * order, `:sort` is for page K.  By a word or letters, as --sort takes them;
 * what is neither is said.
 */
void app_sort(struct app *, const char *text);
void app_sort_by(struct app *, size_t key);
void app_sort_open(struct app *);
void app_sort_reverse(struct app *);
/* By the next column that is shown. */
void app_sort_left(struct app *);
void app_sort_right(struct app *);
struct page_sort_ops;
/* NULL: the rows of that page cannot be sorted. */
const struct page_sort_ops *app_page_sorts(const struct app *);

/* The line for a filter. */
void app_filter_open(struct app *);
/* Tab, where an expression is typed. */
void app_filter_complete(struct app *, const char *before, struct line_words *);

/* The line for what is looked for; and the next row that matches. */
void app_find_open(struct app *);
void app_find_next(struct app *);
void app_find_back(struct app *);
void app_find_tick(struct app *);	/* once a cycle */
/* False: there was no search. */
bool app_find_stop(struct app *);

/* False: it is wrong, and that was said. */
bool app_filter(struct app *, const char *expression);

/* The page has another stream: what it shows of the old one is forgotten. */
void app_begin_anew(struct app *);
/* No answer will be taken any more. */
void app_forget_targets(struct app *);
void app_commands_help(struct page_picture *);

/* The cursor into the next field. */
void app_field_next(struct app *);
/* With the cursor in a field: true when the key was meant for that. */
bool app_field_key(struct app *, enum page_action);
/* A key while one is edited. */
void app_field_type(struct app *, int code);

/* Of the block in detail, or of the one under the cursor. */
void app_show_address(struct app *);

extern const struct panel_ops overlay_help, overlay_targets, overlay_detail,
    overlay_kin, overlay_costs, overlay_settings, overlay_sort;

/* The block under the cursor in full. */
void app_open_detail(struct app *);
/* Of any other that is there. */
void app_open_detail_of(struct app *, const struct page_view *,
    const struct blk *);

/*
 * Goes to the node that the word names, as NODE<> and page G do: a number, a
 * name, and perhaps /TARGET, or whatever else names a target on the command
 * line; "-" is where one was before.  What was watched before stays on the
 * screen until there is something to show, or a sentence says why there is not:
 * at once, if this returns false.  Session and link are other ones then, and the
 * old ones closed.
 */
bool app_go(struct app *, const char *word);
void app_go_init(struct app *);
/* Once a cycle: how far it has come. */
void app_go_tick(struct app *);
/* Stays where it is; false: it was going nowhere. */
bool app_go_stop(struct app *);
/* Session and link are the caller's again, and all others closed. */
void app_go_fini(struct app *);

/*
 * Sends the whole list, in the order shown, to where *L<> says; the page goes
 * on meanwhile, and the bottom line says what has become of it.
 */
void app_listing(struct app *);
/* The terminal that was wanted is free. */
void app_lent(struct app *);

/*
 * What is shown into that file, whose ending says as what; the page goes on
 * meanwhile, and the bottom line says what has become of it.
 */
void app_export(struct app *, const char *path);

/* Of both, with each cycle. */
void app_jobs_tick(struct app *);
/* "a listing", which is on its way; NULL: nothing is. */
const char *app_jobs_one(const struct app *);
/* False: none is on its way. */
bool app_jobs_cancel(struct app *);
bool app_jobs_want_all(const struct app *);
/* What is in a thread ends while the loop is run. */
void app_jobs_fini(struct app *);

/*
 * The picture of the page that is on top: 0 with the file's name in path, or a
 * negative errno.
 */
int app_save(struct app *, char *path, size_t cap);

#endif
