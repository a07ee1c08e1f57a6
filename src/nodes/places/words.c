#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/base.h"
#include "places.h"

#define BY_PID "pid:"

bool
nodes_parse_number(const char *text, size_t len, uint16_t *number)
{
	char digits[5] = "";

	if (len != 4)
		return false;
	memcpy(digits, text, 4);
	if (strspn(digits, "0123456789abcdefABCDEF") != 4)
		return false;
	*number = (uint16_t)strtoul(digits, NULL, 16);
	return true;
}

static const char *const forms[] = {
	[NODES_AT_LOCAL] = "local",
	[NODES_AT_UNIX] = "unix:",
	[NODES_AT_SSH] = "ssh:",
};

bool
nodes_parse_place(const char *word, enum nodes_at *at, const char **place)
{
	for (size_t i = 0; i < BASE_NELEM(forms); i++) {
		size_t len = strlen(forms[i]);

		if (i == NODES_AT_LOCAL ? strcmp(word, forms[i]) != 0 :
		    strncmp(word, forms[i], len) != 0)
			continue;
		*at = (enum nodes_at)i;
		*place = word + len;
		return true;
	}
	return false;
}

void
nodes_entry_where(const struct nodes_entry *e, char *out, size_t cap)
{
	snprintf(out, cap, "%s%s", forms[e->at], e->place);
}

bool
nodes_parse_pid(const char *text, pid_t *pid)
{
	unsigned long n;
	char *end;

	errno = 0;
	n = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0 ||
	    n == 0 || n > INT32_MAX)
		return false;
	*pid = (pid_t)n;
	return true;
}

bool
nodes_parse_target(const char *word, pid_t *pid)
{
	if (strncmp(word, BY_PID, strlen(BY_PID)) == 0)
		return nodes_parse_pid(word + strlen(BY_PID), pid);
	*pid = 0;
	return word[0] != '\0';
}

const char *
nodes_target_word(pid_t pid, const char *stream, char word[NODES_PID_WORD])
{
	if (pid == 0)
		return stream[0] != '\0' ? stream : NULL;
	snprintf(word, NODES_PID_WORD, BY_PID "%ld", (long)pid);
	return word;
}

const char *
nodes_pid_hint(const char *name, char hint[NODES_PID_HINT])
{
	pid_t pid;

	hint[0] = '\0';
	if (nodes_parse_pid(name, &pid))
		snprintf(hint, NODES_PID_HINT, ", for a process write pid:%ld",
		    (long)pid);
	return hint;
}

/*
 * No option to ssh, and one word to a shell: the user's ssh configuration may
 * use %h or %r in a command.
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

/* [USER@]HOST, both parts plain. */
static bool
is_host(const char *host)
{
	const char *at = strrchr(host, '@');

	return strlen(host) < SSH_WORD_MAX && is_plain(host) && at != host &&
	    (at == NULL || is_plain(at + 1));
}

/* Without control characters, which would break the remote shell's line. */
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
		return "ssh: needs the name of a host, as in ssh:linac-b or "
		    "ssh:anna@linac-b";
	if (where->program != NULL && !is_program(where->program))
		return "the path of pageknode at the other end is not valid";
	if (where->target != NULL && !is_program(where->target))
		return "after the host, write the name of a command, pid:N "
		    "or the name of a stream";
	return NULL;
}

void
nodes_ssh_quote(char *out, size_t cap, const char *path)
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
