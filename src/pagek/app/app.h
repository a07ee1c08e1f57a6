/*
 * app: the page as a program, without curses: the screen passes the code of a key
 * to app_key() and paints the new state.
 *
 * Vocabulary
 *	panel	a page or an overlay (panel.h); page K is the lowest one.
 *	prompt	a line at the bottom for `:`, a filter or a search.
 *	overlay	a panel over page K.
 *	row of pages[]	a page: its picture, keys and files (pages.h, pages/).
 *
 *	app.c		the cycle; keys; the blocks that the session is to bring
 *	panel.c		the stack of panels; keys of all pages
 *	prompt.c	the prompt: *_prompt.c for a filter and a search,
 *			prompt_commands.c for `:`, typed_history.h
 *	*_overlay.c	overlays; overlays.c has help and diagnostics
 *	sort_picker.c	the picker of sort keys
 *	line2_editor.c	editing the fields of line 2
 *	mark_keys.c, pause_keys.c, mouse.c	other keys, and clicks
 *	replay_keys.c	keys and commands for the time line of a capture
 *	source_line.c	the source of a call, and its editor
 *	switch_target.c	from one target to another
 *	save.c		a picture as a file
 *
 * A key becomes an action in ../picture/keys.def; an action becomes a function
 * in keys[] of its panel (page K: pages/blocks.c), else in meanings[] of
 * panel.c.
 *
 * Example: the screen
 *	app_init(&app, page, watch, loop);
 *	app_key(&app, 'j');			as keys come
 *	app_tick(&app);				once a cycle
 *	page_compose(page, app.session, app.cols, app.rows, &pic);
 *	app_panel_compose(&app, &over);		over that
 *	app_request_blocks(&app);
 *	...
 *	app_fini(&app);				once app.over is true
 */
#ifndef PAGEK_APP_H
#define PAGEK_APP_H

#include "../cli/config.h"
#include "../jobs/jobs.h"
#include "../page/view.h"
#include "../panels/detail.h"
#include "../panels/diagnostics.h"
#include "../picture/keys.h"
#include "../picture/typed_line.h"
#include "panel.h"
#include "typed_history.h"

enum page_end {
	PAGE_QUIT,		/* q */
	PAGE_QUIT_TARGET,	/* Q */
	PAGE_INTERRUPTED,	/* by .signal, to be raised again */
};

struct page_result {
	enum page_end end;
	int signal;
};

/* A page's target; in the end the caller closes the last session and link. */
struct page_watch {
	struct nodes_session *session;
	struct nodes_link *link;
	/*
	 * Never close session and link, and restore them in the end: the node
	 * ends with its link, or the caller needs its final state.
	 */
	bool keep_open;
	bool away;		/* result: keep_open, and the last node is another */
	const struct target *target;	/* of the command line; unless keep_open */
	const char *remote;	/* path of pageknode on other machines, or NULL */
	const struct options *options;	/* settings, or NULL */
};

enum app_mode {
	APP_PAGE,
	APP_PROMPT,		/* typing into the line at the bottom */
	APP_FIELD,		/* typing into a field of line 2 */
	APP_CONFIRM,		/* "send SIGTERM? y/n" */
};

struct app;

struct app_prompt_ops {
	const char *label;		/* before the line: ":" */
	const char *history;		/* kind of its lines; NULL: none are saved */
	/* The prompt is closed already; false: a mistake, reopen it. */
	bool (*submit)(struct app *, const char *text);
	/* NULL: Tab does nothing.  See app_complete_from(). */
	void (*complete)(struct app *, const char *before, struct line_words *);
};

struct app_prompt {
	const struct app_prompt_ops *ops;
	struct typed_line line;
	char choices[1024];
	struct history history;
	bool loaded;			/* the history's file has been read */
	bool recalled;			/* the line is history.line[at] */
	size_t at;
	char begun[LINE_TEXT];		/* the line before Up */
};

/* A node or target, to return to. */
struct app_place {
	bool initial;			/* page_watch's, with keep_open */
	struct nodes_entry entry;	/* number 0: not in the table */
	pid_t pid;			/* 0: by stream */
	bool chosen;			/* by the node: another target will do */
	char stream[128];		/* "": the node's default target */
	char command[64];		/* "": none; the node's newest of it is wanted */
	char unknown[256];		/* the message if no node here has it; "" */
};

/* A node that the page goes to, until it has something to show. */
struct app_pending {
	struct nodes_session *session;	/* NULL: there is none */
	struct nodes_link *link;
	struct app_place place;
	struct mono since, tried;	/* start, and start of the current path */
	char **paths;			/* sockets to try; owned, one block */
	size_t npaths, next;
	struct app_wanted *wanted;	/* of a command; owned, NULL: none */
};

struct app_places {
	bool away;			/* the initial place is kept open, and not shown */
	struct app_place here, before;
	bool has_before;
	struct app_pending pending;
};

/* Keys that wait for the whole list. */
struct app_waits {
	bool play;			/* a speed is on its way */
	bool pause, mark, drain;
};

/* The use of a node's mark, once the node has answered. */
enum app_mark_wish {
	APP_MARK_NOTHING,
	APP_MARK_SET,
	APP_MARK_COMPARE,
	APP_MARK_LIST,
};

struct app_marks {
	enum app_mark_wish wish;
	bool asked;			/* the node */
	char name[WIRE_MARK_NAME + 2];	/* one byte more than fits is refused */
	size_t selected;		/* of the list */
};

/* Requests to the screen. */
struct app_requests {
	bool suspend, repaint, restyle;
};

/* Keys since the page shows this stream. */
struct app_keys {
	bool pressed;
	uint32_t stream_no;
};

struct app_ending {
	bool on;			/* the target was told to end (Q) */
	struct mono at;
};

struct app_clip {
	bool available;			/* the terminal has a clipboard */
	char text[32];			/* to copy with the next paint, or "" */
};

struct app_click {
	int row;
	struct mono at;
};

/* The message in the bottom line, and since when it is shown. */
struct app_said {
	struct mono (*now)(void);	/* its clock */
	struct mono at;
	char text[256];
};

/* The node's targets, as it listed them last (targets_overlay.c). */
struct app_targets {
	struct nodes_target *list;	/* owned */
	size_t listed;
	struct nodes_branch *branch;	/* owned: a tree of the list */
	size_t *order;			/* owned: of the branches, as shown */
	size_t n, selected;		/* branches; of the order */
	bool flat;
	char wanted[128];		/* argument of :target */
	char stream[128];		/* of the target switched to */
};

struct app {
	struct page *page;
	struct nodes_session *session;	/* changed by app_go() */
	struct nodes_link *link;
	uv_loop_t *loop;
	struct page_watch *watch;
	struct app_places places;
	int cols, rows;
	struct mono begun;

	enum app_mode mode;
	struct app_prompt prompt;	/* in APP_PROMPT */
	char question[320];		/* in APP_CONFIRM */
	struct app_panels panels;
	struct app_targets targets;
	struct app_marks marks;
	struct app_click clicked;
	struct app_clip clip;

	struct page_costs costs;
	struct page_diag diag;
	struct symbol_wrappers *wrappers;	/* of :skip; owned, or NULL */
	char *set[OPTIONS];		/* values of :set; owned, NULL: none */

	struct app_said said;
	struct app_keys keys;
	struct app_ending ending;
	struct jobs jobs;
	struct app_waits waits;
	struct app_requests requests;
	bool over;
	struct page_result result;
};

/* -ENOMEM: call app_fini() all the same. */
int app_init(struct app *, struct page *, struct page_watch *, uv_loop_t *);
void app_fini(struct app *);

void app_key(struct app *, int code);
/* Once a cycle; calls the other app_*_tick(). */
void app_tick(struct app *);
/* After the process was stopped for gap_ms. */
void app_resumed(struct app *, int64_t gap_ms);
/* The list, or the paused picture. */
struct page_view app_view(const struct app *);
void app_quit(struct app *, enum page_end, int signal);
void app_interrupt(struct app *);	/* ^C */
/* Q: asks for confirmation. */
void app_end_target(struct app *);
/* q: with a job running, the second call quits. */
void app_leave(struct app *);
/* x */
void app_reset_costs(struct app *);
/* Tells the session which blocks to bring; after each paint. */
void app_request_blocks(struct app *);

/*
 * Shows a message for five seconds or until the next key; may be outside text.
 */
void app_say(struct app *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* l: see jobs_start_listing() and jobs_start_export(). */
void app_listing(struct app *);
/* o: shows the file with the command's output. */
void app_output(struct app *);
void app_export(struct app *, const char *path);

/* --- mouse.c ---------------------------------------------------------------- */

enum app_mouse {
	APP_MOUSE_CLICK,
	APP_MOUSE_UP,		/* the wheel */
	APP_MOUSE_DOWN,
};
void app_mouse(struct app *, enum app_mouse, int row, int col);
bool app_click_is_double(struct app *, int row);

/* --- pause_keys.c, mark_keys.c ---------------------------------------------- */

void app_pause(struct app *);
void app_step(struct app *, bool back);
/* Cancels a step; false: there was none. */
bool app_step_stop(struct app *);
void app_pause_tick(struct app *);

/* --- replay_keys.c ---------------------------------------------------------- */

bool app_is_replay(struct app *);
void app_replay_pause(struct app *);
void app_replay_step(struct app *, int64_t events);
void app_replay_back(struct app *);
void app_replay_forth(struct app *);
/* Stops on the way to a moment; false: it is on none. */
bool app_replay_stop(struct app *);
void app_replay_tick(struct app *);
/* The arguments of :at, :play and :step. */
void app_replay_at(struct app *, const char *);
void app_replay_play(struct app *, const char *);
void app_replay_steps(struct app *, const char *);

/* a, of page K: pages/refcnt.c */
void app_list_stale(struct app *);

void app_mark(struct app *);
void app_drain(struct app *);
void app_mark_tick(struct app *);

/* --- marks_overlay.c: marks of the node ------------------------------------- */

/* The argument of :mark; "" is the page's own mark. */
void app_mark_named(struct app *, const char *name);
/* The argument of :diff: page H since that mark; "" is the mark that is set. */
void app_compare(struct app *, const char *name);
/* :marks */
void app_list_marks(struct app *);
void app_marks_complete(struct app *, const char *before, const char *arg,
    struct line_words *);
/* Asks the node for its marks, so that they can be completed. */
void app_marks_prepare(struct app *);
void app_marks_tick(struct app *);

void app_prompt_open(struct app *, const struct app_prompt_ops *);
void app_prompt_key(struct app *, int code);
/* Saves the history. */
void app_prompt_fini(struct app *);
/*
 * Walks through the lines of that kind that begin with `typed`, after
 * app_history_begin(); the newest end is `typed` itself.  Borrowed until the next
 * call.  NULL: no more.
 */
void app_history_begin(struct app *);
const char *app_history_step(struct app *, const char *kind, const char *typed,
    bool back);
void app_history_add(struct app *, const char *kind, const char *text);
/* Sets the start of the word to complete; `at` is within `before`. */
void app_complete_from(struct line_words *, const char *before, const char *at);
/* Adds the lower-case words of "age|address". */
void app_complete_choices(struct line_words *, const char *words);

void app_command_open(struct app *);
void app_command(struct app *, const char *line);	/* without its `:` */
void app_commands_help(struct page_picture *);
/* `:group`: "type", or with a second level "site>type". */
void app_group_by(struct app *, const char *kinds);

void app_filter_open(struct app *);
/* False, with a message: the expression is wrong. */
bool app_filter(struct app *, const char *expression);
void app_filter_complete(struct app *, const char *before, struct line_words *);

/* The filter of a page whose rows have fields of their own. */
struct app_filter_ops {
	struct app_prompt_ops prompt;	/* APP_FILTER_PROMPT */
	const struct filter_table *table;
	const char *none;		/* the message when all rows are shown */
	struct filter **(*filter)(struct app *);	/* owned by the page; NULL: none */
	void (*changed)(struct app *);
};

#define APP_FILTER_PROMPT(kind) { .label = "filter: ", .history = kind, \
	.submit = app_filter_submit, .complete = app_filter_suggest }
bool app_filter_submit(struct app *, const char *text);
void app_filter_suggest(struct app *, const char *before, struct line_words *);
/* Removes the page's filter; false: there was none. */
bool app_filter_drop(struct app *, const struct app_filter_ops *);

void app_find_open(struct app *);
void app_find_next(struct app *);
void app_find_back(struct app *);
void app_find_tick(struct app *);
/* Cancels the search; false: there was none. */
bool app_find_stop(struct app *);

/* --- line2_editor.c --------------------------------------------------------- */

void app_field_next(struct app *);
/* While the cursor is in a field; false: the key is not for the field. */
bool app_field_key(struct app *, enum page_action);
/* While a field is edited. */
void app_field_type(struct app *, int code);

/* --- sort_picker.c ---------------------------------------------------------- */

/* Words or letters as --sort takes them; a key is an index as in pages.h. */
void app_sort(struct app *, const char *text);
void app_sort_by(struct app *, size_t key);
void app_sort_open(struct app *);
void app_sort_reverse(struct app *);
void app_sort_left(struct app *);
void app_sort_right(struct app *);

extern const struct panel_ops overlay_help, overlay_targets, overlay_marks,
    overlay_detail,
    overlay_callers, overlay_diagnostics, overlay_settings, overlay_sort;

void app_diag_tick(struct app *);

/* The source line of a call (source_line.c); all zeros: none. */
struct app_source {
	struct page_source shown;
	struct source_reading *reading;	/* NULL: nothing is being read */
};
/* Reads it in a thread, unless it is shown already; NULL: there is no call. */
void app_source_want(struct app *, struct app_source *,
    const struct page_call *);
/* E: opens it in the editor. */
void app_source_edit(struct app *, struct app_source *);
void app_source_drop(struct app_source *);

void app_open_detail(struct app *);
void app_open_detail_of(struct app *, const struct blk *);
/* y: of the block in detail, or under the cursor. */
void app_show_address(struct app *);

/* The argument of :set. */
void app_set(struct app *, const char *arg);
void app_set_complete(struct app *, const char *before, const char *arg,
    struct line_words *);
/* Writes the values of :set into the user's file. */
void app_save_settings(struct app *);
void app_settings_fini(struct app *);

/* The argument of :target; "" opens the list. */
void app_target(struct app *, const char *word);
void app_target_complete(struct app *, const char *before, const char *arg,
    struct line_words *);
/* Adds the commands of the node's targets. */
void app_target_commands(struct app *, struct line_words *);
/* Asks the node for its targets, so that :target can complete them. */
void app_target_prepare(struct app *);
/* A list to show and to complete, which is copied.  -ENOMEM. */
int app_targets_take(struct app *, const struct nodes_target *, size_t n);
void app_targets_open(struct app *);
/* T: asks the node, then opens the list. */
void app_list_targets(struct app *);
/* Cancels the request and drops the list. */
void app_forget_targets(struct app *);

/* --- switch_target.c -------------------------------------------------------- */

/* Drops what belongs to the old stream. */
void app_reset_stream(struct app *);

/*
 * Goes to a node: a number or a name, perhaps with /TARGET, or another word for a
 * target as on the command line; "-" is the previous place.  False, with a message:
 * the word is wrong.
 */
bool app_go(struct app *, const char *word);
void app_go_init(struct app *);
void app_go_tick(struct app *);
/* False: there was nothing to cancel. */
bool app_go_stop(struct app *);
/* Restores page_watch's session and link. */
void app_go_fini(struct app *);

/* Writes the top page's picture into a new file, whose name is in path. */
int app_save(struct app *, char *path, size_t cap);

#endif
