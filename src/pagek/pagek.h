/*
 * pagek: the terminal and the command line: what is done with a page.
 *
 *	main.c		from argv to a command, and its exit status
 *	app.h		the page on a terminal, and what its keys do
 *	commands.h	the commands of the command line
 *	options.h	what they can be told, by options ...
 *	config.h	... and by settings
 *	target.h	the words for whose memory is meant
 *
 * Curses is here alone, in screen.c, paint.c, gather.c and terminal.c.
 *
 * Example
 *	if (page_screen_check() < 0)
 *		return PAGEK_USAGE;
 *	page_init(&page, &opts);
 *	page_screen_run(loop, &watch, &page, &result);
 */
#ifndef PAGEK_H
#define PAGEK_H

#include <uv.h>

#include "../page/page.h"

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

/*
 * Runs page K on the terminal until it is left.  Sets up and restores the
 * terminal itself, on every way out, a crash included.  Everything that the
 * user has to read afterwards is the caller's to print.
 *
 * -ENOTTY when standard output or input is no terminal, -ENODEV when TERM is
 * dumb, unset or unknown: nothing has been written then.
 */
int page_screen_run(uv_loop_t *, struct page_watch *, struct page *,
    struct page_result *);

/*
 * What page_screen_run() would say of the terminal, 0, -ENOTTY or -ENODEV,
 * for who has to know before a target is started.  Writes nothing.
 */
int page_screen_check(void);

/* --- command line ------------------------------------------------------- */

/* The exit statuses of the manual. */
enum pagek_exit {
	PAGEK_OK = 0,
	PAGEK_FAILED = 1,
	PAGEK_USAGE = 2,
	PAGEK_NO_TARGET = 3,
	PAGEK_DENIED = 4,
	PAGEK_FORMAT = 5,
	PAGEK_INCOMPLETE = 6,
	PAGEK_EXCEEDED = 7,
	PAGEK_TIMEOUT = 8,
	PAGEK_RUN_FAILED = 125,
};

#endif
