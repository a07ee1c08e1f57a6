/*
 * Whether there is a terminal that a page can be drawn on, found out before a
 * target is started for it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

/* Last: these define short common words as macros. */
#include <curses.h>
#include <term.h>

int
tty_check(void)
{
	const char *term = getenv("TERM");
	int err = 0;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return -ENOTTY;
	if (term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0)
		return -ENODEV;
	if (setupterm(NULL, STDOUT_FILENO, &err) != OK)
		return -ENODEV;
	del_curterm(cur_term);
	return 0;
}

int
tty_refuse(int err)
{
	const char *term = getenv("TERM");

	if (err == -ENOTTY)
		complain("the page needs a terminal; for text take "
		    "'pagek list' or 'pagek -b'");
	else if (term == NULL || term[0] == '\0')
		complain("TERM is not set; for text take 'pagek list' or "
		    "'pagek -b'");
	else
		complain("the page cannot be drawn on a terminal of kind "
		    "'%s'; for text take 'pagek list' or 'pagek -b'", term);
	return PAGEK_USAGE;
}
