/*
 * What is said to whoever has no terminal for the page.
 */
#include <errno.h>
#include <stdlib.h>

#include "commands.h"

int
tty_refuse(int err)
{
	const char *term = getenv("TERM");

	if (err == -ENOTTY)
		complain("the page needs a terminal; for text take "
		    "'pagek list' or option -b");
	else if (term == NULL || term[0] == '\0')
		complain("TERM is not set; for text take 'pagek list' or "
		    "option -b");
	else
		complain("the page cannot be drawn on a terminal of kind "
		    "'%s'; for text take 'pagek list' or option -b", term);
	return PAGEK_USAGE;
}
