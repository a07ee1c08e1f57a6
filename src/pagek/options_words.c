/*
 * The words of the command line that are no options: a command, and what it is
 * about.
 */
#include <ctype.h>
#include <string.h>

#include "../base/base.h"
#include "options_table.h"
#include "target_words.h"

static int
find_command(const char *word)
{
	int i;

	for (i = 0; i < COMMANDS; i++)
		if (strcmp(word, command_rows[i].name) == 0)
			return i;
	return -1;
}

static void
command_names(const char *names[COMMANDS])
{
	int i;

	for (i = 0; i < COMMANDS; i++)
		names[i] = command_rows[i].name;
}

static int
take_target(struct parse *p, const char *word)
{
	const char *names[COMMANDS];
	bool first = p->o->command == COMMAND_TOP;
	int r;

	/* Behind a command no other is meant. */
	command_names(names);
	p->o->aimed = true;
	r = target_parse(&p->o->target, word, names, first ? COMMANDS : 0,
	    p->why, p->cap);
	if (r == 0 || r == PAGEK_USAGE)
		return r;
	/* What is wrong with the words behind it is said first. */
	p->missed = r;
	return 0;
}

static int
take_topic(struct parse *p, const char *word)
{
	const char *names[COMMANDS], *near;
	int i = find_command(word);

	if (i >= 0) {
		p->o->topic = (enum command)i;
		return 0;
	}
	command_names(names);
	near = base_nearest(word, names, COMMANDS);
	return near != NULL ? option_fail(p,
	    "no command '%s': did you mean '%s'?",
	    words_shown(word), near) :
	    option_fail(p, "no command '%s'", words_shown(word));
}

/* A shell, or what it asks for while a line is completed. */
static int
take_shell(struct parse *p, const char *word)
{
	static const char *const names[] = { "bash", "zsh", "fish",
		"targets" };
	const char *near;
	size_t i;

	for (i = 0; i < BASE_NELEM(names); i++)
		if (strcmp(word, names[i]) == 0) {
			p->o->shell = names[i];
			return 0;
		}
	near = base_nearest(word, names, BASE_NELEM(names));
	return near != NULL ? option_fail(p,
	    "no completion for '%s': did you mean '%s'?", words_shown(word),
	    near) : option_fail(p, "no completion for '%s': there is bash, zsh "
	    "and fish", words_shown(word));
}

/* Listings have names of one form, which no target has. */
static bool
is_listing(const char *word)
{
	static const char form[] = "dddddddd-dddddd-dddd";
	size_t i;

	for (i = 0; form[i] != '\0' && word[i] != '\0'; i++)
		if (form[i] == 'd' ? !isdigit((unsigned char)word[i]) :
		    word[i] != form[i])
			return false;
	return form[i] == word[i];
}

/* A target, a listing of it, or both. */
static int
take_listing(struct parse *p, const char *word)
{
	struct options *o = p->o;

	if (o->name == NULL && (o->aimed || is_listing(word))) {
		o->name = word;
		return 0;
	}
	if (!o->aimed && o->name == NULL)
		return take_target(p, word);
	return option_fail(p, "one word too many: '%s'", words_shown(word));
}

int
option_word(struct parse *p, const char *word, unsigned *words)
{
	struct options *o = p->o;
	int i = find_command(word);

	if (!o->named && *words == 0 && i >= 0) {
		o->command = (enum command)i;
		o->named = true;
		return 0;
	}
	if (o->command == COMMAND_LISTINGS)
		return take_listing(p, word);
	if (++*words > 1)
		return option_fail(p, i >= 0 && !o->named ?
		    "the command goes first: 'pagek %s ...'" :
		    "one word too many: '%s'", words_shown(word));
	if (o->command == COMMAND_NODES || o->command == COMMAND_CONFIG)
		return option_fail(p, "'pagek %s' takes no word, and '%s' is "
		    "one too many", command_rows[o->command].name,
		    words_shown(word));
	if (o->command == COMMAND_COMPLETION)
		return take_shell(p, word);
	return o->command == COMMAND_HELP ? take_topic(p, word) :
	    take_target(p, word);
}
