/*
 * What there is to complete.
 */
#include <ctype.h>
#include <string.h>

#include "../base/base.h"
#include "completion.h"

/* Names of values are in capitals, values themselves in the letters they have. */
static bool
is_name(const char *argument)
{
	return strchr(argument, '|') == NULL &&
	    isupper((unsigned char)argument[0]);
}

enum completion_of
completion_of_option(const struct option_row *row)
{
	const char *argument = row->argument;

	if (argument == NULL)
		return COMPLETION_NOTHING;
	if (!is_name(argument))
		return COMPLETION_WORDS;
	return strcmp(argument, "FILE") == 0 || strcmp(argument, "PATH") == 0 ?
	    COMPLETION_FILE : COMPLETION_NOTHING;
}

enum completion_of
completion_of_command(enum command c)
{
	switch (c) {
	case COMMAND_RUN:
		return COMPLETION_PROGRAM;
	case COMMAND_HELP:
		return COMPLETION_COMMAND;
	case COMMAND_COMPLETION:
		return COMPLETION_WORDS;
	default:
		return strstr(command_rows[c].usage, "TARGET") != NULL ?
		    COMPLETION_TARGET : COMPLETION_NOTHING;
	}
}

void
completion_words(const char *alternatives, char out[COMPLETION_WORDS_MAX])
{
	size_t n = 0;

	/* Of a command's usage what stands behind its options. */
	if (strrchr(alternatives, ' ') != NULL)
		alternatives = strrchr(alternatives, ' ') + 1;
	for (; *alternatives != '\0' && n + 1 < COMPLETION_WORDS_MAX;
	    alternatives++) {
		if (*alternatives == '|')
			out[n++] = ' ';
		else if (strchr("[]", *alternatives) == NULL)
			out[n++] = *alternatives;
	}
	out[n] = '\0';
}

void
completion_escape(FILE *out, const char *text, const char *which,
    const char *escape)
{
	for (; *text != '\0'; text++) {
		if (strchr(which, *text) != NULL)
			fputs(escape, out);
		fputc(*text, out);
	}
}
