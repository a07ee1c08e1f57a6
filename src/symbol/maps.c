/*
 * A line of /proc/PID/maps, taken apart field by field.
 */
#include "maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DELETED " (deleted)"

/* A number and the one character that ends it; false if either is missing. */
static bool
take_number(char **at, int base, char end, uint64_t *n)
{
	static const char digits[] = "0123456789abcdef";
	char *after;

	if (**at == '\0' || strchr(digits, **at) == NULL)
		return false;
	*n = strtoull(*at, &after, base);
	if (*after != end)
		return false;
	*at = after + 1;
	return true;
}

/* Turns \012 back into the newline it stands for. */
static void
unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from != '\0'; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static bool
cut_deleted(char *path)
{
	size_t len = strlen(path), tail = strlen(DELETED);

	if (len <= tail || strcmp(path + len - tail, DELETED) != 0)
		return false;
	path[len - tail] = '\0';
	return true;
}

int
maps_parse(char *line, struct maps_line *out)
{
	struct maps_line m = { .path = "" };
	uint64_t major, minor;
	char *at = line, *perms;

	line[strcspn(line, "\n")] = '\0';
	if (!take_number(&at, 16, '-', &m.start) ||
	    !take_number(&at, 16, ' ', &m.end) || m.start >= m.end)
		return -EBADMSG;
	perms = at;
	if (strlen(perms) < 5 || perms[4] != ' ')
		return -EBADMSG;
	m.executable = perms[2] == 'x';
	at = perms + 5;
	if (!take_number(&at, 16, ' ', &m.offset) ||
	    !take_number(&at, 16, ':', &major) ||
	    !take_number(&at, 16, ' ', &minor))
		return -EBADMSG;
	/* Without a path the line may end right behind the inode. */
	if (at[strspn(at, "0123456789")] == '\0') {
		if (*at == '\0')
			return -EBADMSG;
		m.inode = strtoull(at, NULL, 10);
	} else {
		if (!take_number(&at, 10, ' ', &m.inode))
			return -EBADMSG;
		at += strspn(at, " ");
		m.deleted = cut_deleted(at);
		unescape(at);
		m.path = at;
	}
	*out = m;
	return 0;
}
