/*
 * tui: the page on a terminal.  curses is in this room alone.
 *
 *	screen.c	the loop around one struct app
 *	paint.c		a picture onto the terminal
 *	terminal.c	the terminal taken over, and given back as it was
 *	gather.c	what curses writes for a picture, in one piece
 *
 * Example
 *	if (page_screen_check() < 0)
 *		return PAGEK_USAGE;
 *	page_init(&page, &opts);
 *	page_screen_run(loop, &watch, &page, &result);
 */
#ifndef PAGEK_TUI_H
#define PAGEK_TUI_H

#include <uv.h>

#include "../app/app.h"

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

#endif
