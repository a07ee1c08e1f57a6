/*
 * app: the page as a program on a terminal, and what its keys do.  Free of
 * curses: the screen turns a key into a code, calls app_key() and paints what
 * has become of it.
 *
 *	screen.c	terminal, loop and paint, around one struct app
 *	act.c		what each key of keys.def does
 *	command.c	the line that `:` opens
 *	overlay.c	what lies over the page: help, targets
 *	save.c		the picture into a file
 */
#ifndef PAGEK_APP_H
#define PAGEK_APP_H

#include "groups.h"
#include "keys.h"

enum app_mode {
	APP_PAGE,
	APP_COMMAND,		/* typing behind the `:` */
	APP_CONFIRM,		/* "end target? y/n" */
};

enum app_overlay {
	APP_NO_OVERLAY,
	APP_HELP,
	APP_TARGETS,
};

struct app {
	struct page *page;
	struct nodes_session *session;
	struct nodes_link *link;
	int cols, rows;			/* of the terminal */

	enum app_mode mode;
	char typed[256];		/* UTF-8 */
	char prompt[320];		/* what page->prompt shows */

	enum app_overlay overlay;
	int overlay_top;		/* first line shown */
	int overlay_lines;		/* of the last one composed */
	int overlay_window;
	struct nodes_target *targets;	/* owned */
	size_t ntargets, selected;
	char wanted[128];		/* target that was asked for by word */
	char stream[128];		/* name the session was switched to */

	struct symbol_wrappers *wrappers;	/* of :skip, when the options had none; owned */

	bool ending;			/* the target was asked to end */
	struct mono ending_at;

	bool suspend;			/* ^Z is due */
	bool repaint;			/* ^L is due */
	bool over;
	struct page_result result;
};

void app_init(struct app *, struct page *, struct nodes_session *,
    struct nodes_link *);
void app_fini(struct app *);

void app_key(struct app *, int code);
/* Once a cycle. */
void app_tick(struct app *);
/* The process stood still for so long: it was stopped. */
void app_resumed(struct app *, int64_t gap_ms);
void app_quit(struct app *, enum page_end, int signal);

/* In the bottom line until the next key; outside text is welcome. */
void app_say(struct app *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A command without its `:`. */
void app_command(struct app *, const char *line);
void app_switch(struct app *, const struct nodes_target *);
/* No answer will be taken any more. */
void app_forget_targets(struct app *);
void app_commands_help(struct page_picture *);

void app_overlay_open(struct app *, enum app_overlay);
void app_overlay_key(struct app *, int code);
/* The whole overlay for app's size; nothing when there is none: false. */
bool app_overlay_compose(struct app *, struct page_picture *);

/* 0 with the file's name in path, or a negative errno. */
int app_save(struct app *, char *path, size_t cap);

#endif
