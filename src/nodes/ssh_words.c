/*
 * See ssh_words.h.
 */
#include <string.h>

#include "../base/base.h"
#include "ssh_words.h"

/*
 * Nothing that ssh would take for an option, or that a shell would for more
 * than a word where the user's configuration has %h or %r in a command.
 */
static bool
is_plain(const char *text)
{
	static const char special[] = "'`\"$\\;&<>|(){}*?!#~ ";

	if (text[0] == '-' || text[0] == '\0')
		return false;
	for (; *text != '\0'; text++)
		if ((unsigned char)*text <= ' ' || *text == 0x7f ||
		    strchr(special, *text) != NULL)
			return false;
	return true;
}

/* [USER@]HOST: the name behind the last '@' is looked at by itself too. */
static bool
is_host(const char *host)
{
	const char *at = strrchr(host, '@');

	return strlen(host) < SSH_WORD_MAX && is_plain(host) && at != host &&
	    (at == NULL || is_plain(at + 1));
}

/* Control characters would break the line that the other shell reads. */
static bool
is_program(const char *path)
{
	const char *c;

	if (path[0] == '-' || path[0] == '\0' ||
	    strlen(path) >= SSH_PROGRAM_MAX)
		return false;
	for (c = path; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return true;
}

const char *
nodes_ssh_check(const struct nodes_ssh *where)
{
	if (!is_host(where->host))
		return "the name of a host goes behind ssh:, as in "
		    "ssh:linac-b or ssh:anna@linac-b";
	if (where->program != NULL && !is_program(where->program))
		return "the path of pageknode at the other end is no path";
	if (where->target != NULL && !is_program(where->target))
		return "behind the host goes pid:N, or the name of a stream";
	return NULL;
}

void
ssh_quote(char *out, size_t cap, const char *path)
{
	size_t len = 0;

	if (strncmp(path, "~/", 2) == 0) {
		base_append(out, cap, &len, "~/");
		path += 2;
	}
	if (is_plain(path)) {
		base_append(out, cap, &len, "%s", path);
		return;
	}
	base_append(out, cap, &len, "'");
	for (; *path != '\0'; path++)
		if (*path == '\'')
			base_append(out, cap, &len, "'\\''");
		else
			base_append(out, cap, &len, "%c", *path);
	base_append(out, cap, &len, "'");
}
